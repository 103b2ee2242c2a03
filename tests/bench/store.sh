#!/usr/bin/env bash
# The store: how small, how fast, how much memory. A trace as a capture writes it (all fields), and, where
# it is present, a real vscsi trace against zstd on the raw file.
# Usage: tests/bench/store.sh [RECORDS]
set -u
IOREEL=${IOREEL:-build/release/ioreel}
IOREEL_SOURCE=${IOREEL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
IOREEL_BUILD=${IOREEL_BUILD:-$IOREEL_SOURCE/build/release}
source "$IOREEL_SOURCE/tests/cli/lib.sh"
records=${1:-20M}
tools=$IOREEL_BUILD/tests

# median COMMAND...: wall-clock seconds of five runs.
median() {
    local run start
    for run in 1 2 3 4 5; do
        start=$(date +%s%N)
        "$@" >/dev/null 2>&1
        echo $(($(date +%s%N) - start))
    done | sort -n | sed -n 3p | awk '{ printf "%.3f", $1 / 1e9 }'
}

trace=$scratch/large.reel
written=$(median "$tools/make_capture_like" "$trace" "$records")
count=$("$IOREEL" info "$trace" --json | jq .records)
echo "a trace as a capture writes it, $count records, $("$IOREEL" info "$trace" --json | jq .bytes_per_record) bytes a record"
rate() { awk -v n="$count" -v s="$1" 'BEGIN { printf "%.2f M records/s", n / s / 1e6 }'; }
echo "  write (with making them up)   $written s, $(rate "$written")"
for command in stat info; do
    seconds=$(median "$IOREEL" $command "$trace" --json)
    "$tools/peak_memory" "$scratch/kib" "$IOREEL" $command "$trace" --json >/dev/null
    pace=$([ $command = stat ] && echo ", $(rate "$seconds")")
    echo "  $command                          $seconds s$pace, peak memory $(($(cat "$scratch/kib") / 1024)) MiB"
done
seconds=$(median zstd -q -t "$trace")
echo "  zstd -t                       $seconds s, $(rate "$seconds")"

vscsi=$shared/data/public/cloudPhysicsIO.vscsi
[ -e "$vscsi" ] || exit 0
raw=$(stat -c %s "$vscsi")
rows=$((raw / 32))
echo "a real vscsi trace, $rows rows of 32 bytes; bytes a row:"
for level in 3 19; do
    "$IOREEL" import "$vscsi" -o "$scratch/v.reel" --overwrite-output --level $level -q >/dev/null
    zstd -q -$level -c "$vscsi" >"$scratch/v.zst"
    awk -v l=$level -v a="$(stat -c %s "$scratch/v.reel")" -v b="$(stat -c %s "$scratch/v.zst")" -v n="$rows" \
        'BEGIN { printf "  level %-2d   .reel %.2f   zstd on the raw file %.2f\n", l, a / n, b / n }'
done
