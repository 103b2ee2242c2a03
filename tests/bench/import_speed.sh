#!/usr/bin/env bash
# How fast import is: blktrace against blkparse printing the same recording, vscsi and csv by
# themselves. Medians of five runs each, both sides in turn. Prints records (and events) a second.
# Usage: tests/bench/import_speed.sh [IOREEL [MAKE_BLKTRACE]]
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
ioreel=${1:-$source/build/release/ioreel}
make=${2:-$source/build/release/tests/make_blktrace}
shared=${IOREEL_SHARED:-$source/../shared}
requests=400000
events=$((requests * 5))
scratch=$(mktemp -d /dev/shm/ioreel-bench.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

seconds() { # COMMAND...: its wall time in s
    local start=$EPOCHREALTIME
    "$@" >/dev/null 2>&1 || echo "failed: $*" >&2
    awk "BEGIN { print $EPOCHREALTIME - $start }"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
line() { awk "BEGIN { printf \"%-34s %8.3f s  %9.0f %s\\n\", \"$1\", $2, $3 / $2, \"$4\" }"; }

"$make" -n $requests sda
"$make" -m -n $requests mixed
for run in 1 2 3 4 5; do
    seconds "$ioreel" import sda -o b.reel --overwrite-output >>import
    seconds "$ioreel" import mixed -o m.reel --overwrite-output >>import_mixed
    if command -v blkparse >/dev/null; then
        seconds blkparse -i sda -o sda.txt >>blkparse
        seconds blkparse -q -i sda -a issue -a complete -o sda.txt >>blkparse_dc
    fi
done
echo "$requests requests, $events blktrace events on 2 CPUs:"
line "ioreel import, per-CPU files" "$(median <import)" $events "events/s"
line "ioreel import, one mixed file" "$(median <import_mixed)" $events "events/s"
if [ -e blkparse ]; then
    line "blkparse, all events" "$(median <blkparse)" $events "events/s"
    line "blkparse -a issue -a complete" "$(median <blkparse_dc)" $events "events/s"
fi

"$ioreel" cat --csv b.reel | cut -d, -f1-5 >sda.csv
for run in 1 2 3 4 5; do
    seconds "$ioreel" import sda.csv -o c.reel --overwrite-output >>import_csv
    seconds awk -F, '{ n++; s += $4 } END { print n, s }' sda.csv >>awk
done
line "ioreel import, csv of 5 columns" "$(median <import_csv)" $requests "rows/s"
line "awk adding up one column" "$(median <awk)" $requests "rows/s"

trace=$shared/data/public/cloudPhysicsIO.vscsi
if [ -e "$trace" ]; then
    for i in 1 2 3 4 5 6 7 8 9 10; do cat "$trace"; done >ten.vscsi
    for run in 1 2 3 4 5; do
        seconds "$ioreel" import ten.vscsi -o v.reel --overwrite-output >>import_vscsi
    done
    line "ioreel import, vscsi" "$(median <import_vscsi)" 1138720 "records/s"
fi
