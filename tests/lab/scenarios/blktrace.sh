# ioreel and blktrace record the same run: the two traces agree request by request.
# lab: devices=nvme pvscsi lsi ahci virtio-blk virtio-scsi
# lab: limit=180

blktraces_are_on() {
    local name
    for name in $nodes; do
        [ -e "/sys/kernel/debug/block/$name/trace0" ] || return
    done
}

# all_loads: blktrace on all disks, and on one after the other a mixed load, discards and flushes.
all_loads() {
    local name pid arguments=()
    for name in $nodes; do
        arguments+=(-d "/dev/$name")
    done
    blktrace "${arguments[@]}" -b 1024 -n 8 >blktrace.talk 2>&1 &
    pid=$!
    wait_for 20 "blktrace" blktraces_are_on
    for name in $nodes; do
        load "$name" 1 --iodepth=8
        blkdiscard -o 16777216 -l 1048576 "/dev/$name" 2>/dev/null
        settle "$name"
    done
    kill -INT "$pid"
    wait "$pid"
}

guest() {
    local device
    nodes=
    for device in nvme pvscsi lsi ahci virtio-blk virtio-scsi; do
        node "$device" >"node-$device"
        nodes="$nodes $(cat "node-$device")"
        settle "$(cat "node-$device")"
    done
    with_capture both "$nodes" all_loads
    check_exit "the capture" "$capture_exit" 0
    check "requests that the capture lost" "$(jq .lost both.json)" 0
    check "disks on which blktrace dropped no event" "$(grep -c '(dropped 0)' blktrace.talk)" 6
}

# requests FILE [CAT OPTION...]: "op,offset,len,k latency": the k-th such request, by issue.
requests() {
    ioreel cat --csv "$@" | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["flags"] !~ /passthrough/ {
            # A flush has no place; what a tool writes there is its own affair.
            key = $at["op"] "," ($at["op"] == "flush" ? "," : $at["offset_bytes"] "," $at["len_bytes"])
            print key "," ++seen[key], $at["latency_ns"]
        }'
}

# agree DEVICE: one row of agreement.csv. The two read the clock in different tracepoint handlers, one
# after the other, so their latencies differ by what the emulator does in between.
agree() {
    local name only_a only_b matched half tail_ns
    name=$(cat "node-$1")
    ioreel import "$name.blktrace.0" -o "$1.blktrace.reel" --overwrite-output >/dev/null 2>&1 ||
        fail "$1: import: exit $?"
    requests both.reel --device "$name" | sort >"$1.a"
    requests "$1.blktrace.reel" | sort >"$1.b"
    [ "$LAB_BREAK" != drop-event ] || sed -i 100d "$1.a"
    if [ "$LAB_BREAK" = wrong-latency ]; then
        awk '{ print $1, $2 + 30000 }' "$1.a" >"$1.x"
        mv "$1.x" "$1.a"
    fi
    join -v 1 "$1.a" "$1.b" >"$1.only-ioreel"
    join -v 2 "$1.a" "$1.b" >"$1.only-blktrace"
    join "$1.a" "$1.b" | awk '{ d = $2 - $3; print (d < 0 ? -d : d), $0 }' | sort -n >"$1.differences"
    only_a=$(wc -l <"$1.only-ioreel")
    only_b=$(wc -l <"$1.only-blktrace")
    matched=$(wc -l <"$1.differences")
    half=$(percentile 50 "$1.differences")
    tail_ns=$(percentile 99 "$1.differences")
    check "$1: requests that only ioreel has" "$only_a $(head -n 3 "$1.only-ioreel" | tr '\n' ';')" "0 "
    check "$1: requests that only blktrace has" "$only_b $(head -n 3 "$1.only-blktrace" | tr '\n' ';')" "0 "
    check_true "$1: requests matched" "$matched > 50"
    # 20 us at the median: the clock's noise here, and far below the latencies.
    check_true "$1: latency differs by less than 20 us at the median" "$half < 20000"
    awk '{ print $3 }' "$1.differences" | sort -n >"$1.latencies"
    echo "$1,$matched,$only_a,$only_b,$half,$tail_ns,$(percentile 50 "$1.latencies")" >>agreement.csv
}

# percentile P FILE: of the first column, sorted.
percentile() { awk -v p="$1" '{ v[NR] = $1 } END { print v[int(NR * p / 100 + 0.999)] + 0 }' "$2"; }

host() {
    local device
    check "both stand at the same place" "$(ioreel info --json both.reel | jq -r .vantage)" request
    echo device,matched,only_ioreel,only_blktrace,difference_p50_ns,difference_p99_ns,latency_p50_ns >agreement.csv
    for device in nvme pvscsi lsi ahci virtio-blk virtio-scsi; do
        agree "$device"
    done
    check "and blktrace's" "$(ioreel info --json nvme.blktrace.reel | jq -r .vantage)" request
}
