# Controllers over a medium of known latency: rates, slots and depths come out as they must.
# lab: devices=known-nvme known-pvscsi known-lsi known-ahci
# lab: limit=400
#
# The medium takes 400 ms for any request and any number at once, so a load of depth N gives
# min(N, slots) / 400 ms: the emulation's own speed drops out. Each point of a sweep reads its own
# 128 MiB of the disk, by which it is found again in the trace.

depths='1 2 4 8 16 32 64 128 256 512'
region_bytes=134217728
latency_ns=400000000

sweep() { # NODE
    local depth point=0
    for depth in $depths; do
        fio --name="depth$depth" --filename="/dev/$1" --direct=1 --ioengine=io_uring --thread \
            --rw=randread --bs=4k --iodepth="$depth" --offset=$((point * region_bytes)) \
            --size=$region_bytes --time_based --runtime=2400ms --randseed=11 --norandommap \
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

# points NODE: for each point "depth records deepest mean-latency-ns iops". The rate is taken over two
# whole rounds: with n requests in flight, request i + n is issued when request i is answered, so
# 2 n / (t[i + 2 n] - t[i]) does not depend on where in a round it starts. Of all i the 90th percentile:
# on a busy host the emulation stalls now and then, which can only lower a rate and never raise it.
points() {
    ioreel cat --csv --device "$1" sweeps.reel | awk -F, -v region=$region_bytes '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["op"] == "read" && $at["flags"] !~ /passthrough/ && $at["latency_ns"] != "" {
            print int($at["offset_bytes"] / region), $at["issue_ns"], $at["latency_ns"], $at["depth"]
        }' | sort -k1,1n -k2,2n | awk -v depths="$depths" '
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
        function finish(   i, count, span) {
            if (n == 0)
                return
            span = 2 * deepest
            for (i = 1; i + span <= n; i++)
                v[++count] = span / (t[i + span] - t[i]) * 1e9
            print depth[point + 1], n, deepest, sum / n, count ? rate(count) : 0
        }
        BEGIN { split(depths, depth, " "); point = -1 }
        $1 != point { finish(); point = $1; n = 0; deepest = 0; sum = 0 }
        { t[++n] = $2; sum += $3; if ($4 > deepest) deepest = $4 }
        END { finish() }'
}

# seen_latency NODE DEPTH: the mean that fio saw, in us; nothing when the run was too short for it to
# be that of a steady state.
seen_latency() {
    jq '.jobs[0].read.lat_ns.mean | if . < 600e6 then . / 1000 else empty end' "fio-$1-$2.json"
}

host_controller() { # NAME SLOTS ("" has more than any depth here)
    local device depth records deepest latency iops wanted in_flight
    device=$(cat "node-$1")
    points "$device" >"$1.points"
    {
        echo source,device,controller,pattern,read_pct,block_bytes,threads,iodepth,iops,latency_us
        while read -r depth records deepest latency iops; do
            echo "lab,null-co-400ms,$1,random,100,4096,1,$depth,$iops,$(seen_latency "$device" "$depth")"
        done <"$1.points"
    } >"$1.csv"
    check "$1: points in the trace" "$(wc -l <"$1.points")" "$(wc -w <<<"$depths")"
    while read -r depth records deepest latency iops; do
        in_flight=$(((${2:-0} > 0) && depth > ${2:-0} ? ${2:-0} : depth))
        check "$1: deepest at depth $depth" "$deepest" "$in_flight"
        wanted=$(awk "BEGIN { print $in_flight / ($latency_ns / 1e9) }")
        [ "$LAB_BREAK" != wrong-rate ] || wanted=$(awk "BEGIN { print $wanted * 1.04 }")
        awk "BEGIN { printf \"$1 %d %d %.2f\\n\", $depth, $in_flight, 100 * ($iops / $wanted - 1) }" >>deviation
        check_true "$1: depth $depth: IOPS within 3 % of $wanted" \
            "$iops > $wanted * 0.97 && $iops < $wanted * 1.03"
    done <"$1.points"
    [ -z "$2" ] || check "$1: slots that the driver grants" "$(cat "slots-$1")" "$2"
}

host() {
    rm -f deviation
    host_controller nvme ''
    host_controller pvscsi 254
    host_controller lsi 64
    host_controller ahci 32
}
