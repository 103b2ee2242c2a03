#!/usr/bin/env bash
# Prediction against measurement, as one Markdown page: the public sweeps, a loop device that is
# measured here (root and fio), the controller sweeps of a lab where there are any (LAB_SWEEPS, a
# folder of CSVs). Usage: validation.sh PROGRAM > docs/validation.md
set -u
cd "$(dirname "$0")/../.." || exit 1
ioreel=${1:-build/release/ioreel}
scratch=$(mktemp -d)
loop=
memory=
clean_up() {
    [ -z "$loop" ] || losetup -d "$loop"
    [ -z "$memory" ] || rm -f "$memory"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

table() { # FILE DEPTHS
    "$ioreel" fit -q "$1" --qd "$2" --validate --json >"$scratch/v.json" || return
    echo "| sweep | depth | measured | predicted | error | interval | inside | |"
    echo "|---|---|---|---|---|---|---|---|"
    jq -r '.rows[] | "| \(.source) | \(.qd | floor) | \(.measured | floor) | \(.iops | floor) | \(.error_pct * 10 | round / 10) % | \(.iops_low | floor) to \(.iops_high | floor) | \(if .iops_low <= .measured and .measured <= .iops_high then "yes" else "no" end) | \(if .extrapolated then "extrapolated" else "" end) |"' "$scratch/v.json"
    echo
    jq -r 'def line(name): if .points > 0 then "\(name): \(.points) points, median error \(.median_error_pct * 10 | round / 10) %, \(.inside_pct | round) % inside the interval, median width of the intervals \(.median_width_pct * 10 | round / 10) %." else empty end; (.interpolation | line("Between the fitted depths")), (.extrapolation | line("Beyond them"))' "$scratch/v.json"
    jq -r '.refused[] | "Refused: \(.)."' "$scratch/v.json"
    echo
}

# Depths of 1 to 64 on a loop device in memory, five runs each, which the fit averages.
measure_loop() {
    [ "$(id -u)" = 0 ] && command -v fio >/dev/null && command -v losetup >/dev/null || return 1
    memory=$(mktemp /dev/shm/ioreel-validation.XXXXXX)
    head -c 256M /dev/urandom >"$memory"
    loop=$(losetup -f --show --direct-io=off "$memory") || return 1
    echo "source,pattern,read_pct,block_bytes,threads,iodepth,iops" >"$scratch/loop.csv"
    for run in 1 2 3 4 5; do # all depths in each round, so that a noisy minute spoils none alone
        for depth in 1 2 4 8 16 32 64; do
            fio --name=v --filename="$loop" --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
                --iodepth="$depth" --runtime=1 --time_based --readonly --output-format=json \
                2>/dev/null >"$scratch/fio.json"
            jq -r --arg depth "$depth" '"loop,random,100,4096,1,\($depth),\(.jobs[0].read.iops)"' \
                "$scratch/fio.json" >>"$scratch/loop.csv"
        done
    done
}

cat <<'HEAD'
# Prediction against measurement

Made by `tests/bench/validation.sh build/release/ioreel > docs/validation.md`.
Every model is fitted from three depths and compared at the others; intervals are of 90 %.

## Public sweeps

Five depth sweeps published on the web (model/data/sweeps.csv): an NVMe disk (A), another (B), a SATA disk (C), a virtual disk loaded by jobs (D), a RAID of four SATA disks (E).
B, C and E break a rule that every closed queueing network keeps, see `ioreel check model/data/sweeps.csv`.
D has no depth 32 and is fitted from two depths: a bracket.

HEAD
table model/data/sweeps.csv 1,8,32
echo "Leave-one-out, all depths:"
echo
"$ioreel" fit -q model/data/sweeps.csv --validate | grep -E 'left-out points|leave-one-out' | sed 's/^/- /'
echo
cat <<'PART'
## Protection

70 % reads on the published vSAN cluster, from each mode's row of reads alone.

| mode | published | predicted | interval | inside |
|---|---|---|---|---|
PART
while read -r mode published; do
    "$ioreel" whatif "vsan62-nvme-$mode" --protection "$mode" --read-pct 70 --json |
        jq -r --arg mode "$mode" --argjson it "$published" '.points[0] | "| \($mode) | \($it) | \(.iops | floor) | \(.iops_low | floor) to \(.iops_high | floor) | \(if .iops_low <= $it and $it <= .iops_high then "yes" else "no" end) |"'
done <<'ROWS'
raid1 900000
raid5 495000
raid6 369000
ROWS
cat <<'PART'

## Percentiles

The p99 of sweep A; the one at depth 1 alone sets the variability of the service.

| depth | measured us | predicted us | error |
|---|---|---|---|
PART
awk -F, -v OFS=, 'NR == 1 || $1 == "A" { if (NR > 1 && $7 > 1) $NF = ""; print }' \
    model/data/sweeps.csv >"$scratch/a.csv"
"$ioreel" fit -q "$scratch/a.csv" -o "$scratch/a.json" >/dev/null
"$ioreel" whatif "$scratch/a.json" --qd 2,4,8,16,32,64,128 --json |
    jq -r '[143, 185, 272, 387, 586, 1231, 3140] as $m | .points | to_entries[] | "| \(.value.qd) | \($m[.key]) | \(.value.p99_us | floor) | \(1000 * (.value.p99_us / $m[.key] - 1) | round / 10) % |"'
echo
echo "At depths 64 and 128 the device is saturated, where a queue served in order has too short a tail."
echo
echo "## A loop device"
echo
if measure_loop; then
    echo "4 KiB random reads on a loop device over memory, $(nproc) cores, five runs of one second at each depth; how much they differ goes into the intervals."
    echo
    table "$scratch/loop.csv" 1,8,32
else
    echo "Not measured: it needs root, fio and losetup."
    echo
fi
echo "## Controllers over a device of fixed latency"
echo
if [ -n "${LAB_SWEEPS:-}" ]; then
    for sweep in "$LAB_SWEEPS"/*.csv; do
        echo "$(basename "$sweep" .csv):"
        echo
        table "$sweep" 1,8,32,128
    done
else
    echo "Give the folder of the lab's sweeps as LAB_SWEEPS to have them here; tests/cli/model_fit.sh has the same curves with noise."
fi
