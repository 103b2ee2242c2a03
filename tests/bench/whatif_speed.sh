#!/usr/bin/env bash
# How long a what-if over 10,000 depths takes, intervals and percentiles included: the median of five
# runs. Usage: whatif_speed.sh PROGRAM
set -u
cd "$(dirname "$0")/../.." || exit 1
ioreel=${1:-build/release/ioreel}
model=$(mktemp)
trap 'rm -f "$model"' EXIT
"$ioreel" fit -q model/data/sweeps.csv --source A -o "$model" --overwrite-output >/dev/null || exit 1
for run in 1 2 3 4 5; do
    start=$(date +%s%N)
    "$ioreel" whatif "$model" --qd-to 10000 --json >/dev/null
    echo $((($(date +%s%N) - start) / 1000000))
done | sort -n | sed -n 3p | sed 's/.*/10,000 points: & ms/'
