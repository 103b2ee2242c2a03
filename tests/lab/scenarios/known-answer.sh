# Controllers over a medium of known latency: rates, slots and depths come out as they must.
# lab: devices=known-nvme known-pvscsi known-lsi known-ahci
# lab: limit=400
# lab: tries=2
#
# The medium takes 800 ms for any request and any number at once, so a load of depth N gives
# min(N, slots) / 800 ms: the emulation's own speed drops out. Each point of a sweep reads its own
# 128 MiB of the disk, by which it is found again in the trace.

depths='1 2 4 8 16 32 64 128 256 512'
region_bytes=134217728
latency_ns=800000000

sweep() { # NODE
    local depth point=0 runtime
    for depth in $depths; do
        # Few requests are in few rounds: a stall must leave some of them alone.
        runtime=$((depth <= 16 ? 3400 : 2500))
        fio --name="depth$depth" --filename="/dev/$1" --direct=1 --ioengine=io_uring --thread \
            --rw=randread --bs=4k --iodepth="$depth" --offset=$((point * region_bytes)) \
            --size=$region_bytes --time_based --runtime=${runtime}ms --randseed=11 --norandommap \
            --registerfiles --fixedbufs \
            --output-format=json --output="fio-$1-$depth.json" || fail "fio at depth $depth: exit $?"
        point=$((point + 1))
    done
}

all_sweeps() {
    local device pids=()
    for device; do
        sweep "$(node "$device")" &
        pids+=($!)
    done
    wait "${pids[@]}"
}

# NVMe has the rates of all the others together, so it goes by itself.
two_rounds() {
    all_sweeps known-nvme
    all_sweeps known-pvscsi known-lsi known-ahci
}

guest() {
    local device nodes=
    for device in nvme pvscsi lsi ahci; do
        node "known-$device" >"node-$device"
        nodes="$nodes $(cat "node-$device")"
        cp "/sys/block/$(cat "node-$device")/device/queue_depth" "slots-$device" 2>/dev/null
    done
    with_capture sweeps "$nodes" two_rounds
    check_exit "the capture" "$capture_exit" 0
}

# points NODE SLOTS: for each point "depth records deepest passed iops", passed being the records whose
# depth is beyond n = min(depth, slots). The rate is taken over two whole rounds: with n requests in
# flight, request i + n is issued when request i is answered, so 2 n / (t[i + 2 n] - t[i]) does not
# depend on where in a round it starts. Of all i the 90th percentile: on a busy host the emulation
# stalls now and then, which can only lower a rate and never raise it.
points() {
    ioreel cat --csv --device "$1" sweeps.reel | awk -F, -v region=$region_bytes '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["op"] == "read" && $at["flags"] !~ /passthrough/ && $at["latency_ns"] != "" {
            print int($at["offset_bytes"] / region), $at["issue_ns"], $at["depth"]
        }' | sort -k1,1n -k2,2n | awk -v depths="$depths" -v slots="$2" '
        function rate(count,   i, gap, j, x) { # of v[1..count]
            for (gap = int(count / 2); gap > 0; gap = int(gap / 2))
                for (i = gap + 1; i <= count; i++) {
                    x = v[i]
                    for (j = i - gap; j > 0 && v[j] > x; j -= gap)
                        v[j + gap] = v[j]
                    v[j + gap] = x
                }
            return v[int(count * 0.9 + 0.999)]
        }
        function finish(   i, count, n, passed) {
            if (total == 0)
                return
            n = depth[point + 1] < slots ? depth[point + 1] : slots
            for (i = 1; i + 2 * n <= total; i++)
                v[++count] = 2 * n / (t[i + 2 * n] - t[i]) * 1e9
            for (i = n + 1; i <= deepest; i++)
                passed += at_depth[i]
            print depth[point + 1], total, deepest, passed + 0, count ? rate(count) : 0
            delete at_depth
        }
        BEGIN { split(depths, depth, " "); point = -1 }
        $1 != point { finish(); point = $1; total = 0; deepest = 0 }
        { t[++total] = $2; at_depth[$3]++; if ($3 > deepest) deepest = $3 }
        END { finish() }'
}

# seen_latency NODE DEPTH: the mean that fio saw, in us; nothing when the run was too short for it to
# be that of a steady state.
seen_latency() {
    jq '.jobs[0].read.lat_ns.mean | if . < 1200e6 then . / 1000 else empty end' "fio-$1-$2.json"
}

# A depth of slots + 1 is no mistake: SCSI gives a slot back before the block layer's completion is
# seen, so that another CPU can issue in between. With two CPUs that is one more, and rare.
host_controller() { # NAME SLOTS
    local device depth records deepest passed iops wanted in_flight
    device=$(cat "node-$1")
    points "$device" "$2" >"$1.points"
    {
        echo source,device,controller,pattern,read_pct,block_bytes,threads,iodepth,iops,latency_us
        while read -r depth records deepest passed iops; do
            echo "lab,null-co-800ms,$1,random,100,4096,1,$depth,$iops,$(seen_latency "$device" "$depth")"
        done <"$1.points"
    } >"$1.csv"
    check "$1: points in the trace" "$(wc -l <"$1.points")" "$(wc -w <<<"$depths")"
    while read -r depth records deepest passed iops; do
        in_flight=$((depth < $2 ? depth : $2))
        [ "$LAB_BREAK" != deeper ] || deepest=$((deepest + 2))
        check_true "$1: deepest at depth $depth: $deepest of $in_flight, passed by $passed of $records" \
            "$deepest >= $in_flight && $deepest <= $in_flight + ($2 < $depth) && $passed <= $records / 100"
        wanted=$(awk "BEGIN { print $in_flight / ($latency_ns / 1e9) }")
        [ "$LAB_BREAK" != wrong-rate ] || wanted=$(awk "BEGIN { print $wanted * 1.04 }")
        awk "BEGIN { printf \"$1 %d %d %d %.2f\\n\", $depth, $deepest, $passed, 100 * ($iops / $wanted - 1) }" >>deviation
        check_true "$1: depth $depth: IOPS within 3 % of $wanted" \
            "$iops > $wanted * 0.97 && $iops < $wanted * 1.03"
    done <"$1.points"
    [ ! -s "slots-$1" ] || check "$1: slots that the driver grants" "$(cat "slots-$1")" "$2"
}

host() {
    rm -f deviation
    host_controller nvme 1023
    host_controller pvscsi 254
    host_controller lsi 64
    host_controller ahci 32
}
