#!/usr/bin/env bash
# Does a replay leave its device as it was? Recording and replay of the demo's load on one loop device in
# memory, both seen by capture, in the order ABBA: recording, replay, replay, recording. KS is of the
# latencies of the matched I/Os: the replays' against the first recording, and the second recording's
# against the first. Each round is printed, then medians.
#
#   tests/bench/replay_disturbs.sh [ROUNDS]      (8 rounds of 4 x 4 s)
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${IOREEL_BUILD:-$source/build/release}
ioreel=${IOREEL:-$build/ioreel}
rounds=${1:-8}
[ "$(id -u)" = 0 ] || { echo "needs root, for the loop device and the capture"; exit 77; }
command -v fio >/dev/null || { echo "needs fio"; exit 77; }
dir=$(mktemp -d /dev/shm/ioreel-bench.XXXXXX)
device=
clean_up() {
    [ -z "$device" ] || losetup -d "$device"
    rm -rf "$dir"
}
trap clean_up EXIT
head -c 256M /dev/urandom >"$dir/image"
device=$(losetup -f --show "$dir/image") || exit 77

record() { # FILE; the CPU time of fio an I/O, in us, goes to FILE.cpu
    "$ioreel" capture -q -d "$device" -o "$1" -- fio --name=load --filename="$device" --direct=1 \
        --ioengine=libaio --rw=randrw --rwmixread=70 --bsrange=4k-64k --iodepth=16 --rate_iops=1400,600 \
        --rate_process=poisson --runtime=4 --time_based --size=256m --randseed=7 --output="$1.fio" \
        --output-format=json >/dev/null 2>&1
    jq '.jobs[0] | (.usr_cpu + .sys_cpu) / 100 * .job_runtime * 1000 / (.read.total_ios + .write.total_ios)' \
        "$1.fio" >"$1.cpu"
}
replay() { # RECORDING FILE
    "$ioreel" capture -q -d "$device" -o "$2" -- bash -c '"$@" >"$0.json" 2>/dev/null' "$2" \
        "$ioreel" replay "$1" --target "$device" --allow-writes --json >/dev/null 2>&1
}
ks() { "$ioreel" compare "$1" "$2" --json 2>/dev/null | jq .latency.ks; }
p() { "$ioreel" compare "$1" "$2" --json 2>/dev/null | jq -r "[.$3.latency_us.p50, .$3.latency_us.p99] | @tsv"; }
column() { cut -f"$1" "$dir/rounds.tsv" | sort -g | awk '{ v[NR] = $1 } END { printf "%.3g\t", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

heads="KS replay\tKS again\trec p50\trec p99\treplay p50\treplay p99\tlate p50\tlate p99\tCPU/IO\tfio CPU"
echo -e "$heads    (us; KS replay is the mean of two)"
for _ in $(seq "$rounds"); do
    rm -f "$dir"/*.reel*
    record "$dir/a.reel"
    replay "$dir/a.reel" "$dir/p.reel"
    replay "$dir/a.reel" "$dir/q.reel"
    record "$dir/b.reel"
    {
        echo "($(ks "$dir/a.reel" "$dir/p.reel") + $(ks "$dir/a.reel" "$dir/q.reel")) / 2" | sed 's/.*/jq -n "&"/' | bash | tr '\n' '\t'
        ks "$dir/a.reel" "$dir/b.reel" | tr '\n' '\t'
        p "$dir/a.reel" "$dir/p.reel" a | tr '\n' '\t'
        p "$dir/a.reel" "$dir/p.reel" b | tr '\n' '\t'
        jq -s -r '[([.[].late_us.p50] | add / 2), ([.[].late_us.p99] | add / 2), ([.[].cpu.us_per_io] | add / 2)] | @tsv' \
            "$dir/p.reel.json" "$dir/q.reel.json" | tr '\n' '\t'
        cat "$dir/a.reel.cpu"
    } | awk '{ for (i = 1; i <= NF; i++) printf "%.3g\t", $i; print "" }' | tee -a "$dir/rounds.tsv"
done
echo "medians"
for i in 1 2 3 4 5 6 7 8 9 10; do column "$i"; done
echo
