# whatif: protection, slots, sizes, mixes, other controllers, ranges that are marked, bad model files.
source "$(dirname "$0")/lib.sh"
need_command jq
data=$IOREEL_SOURCE/model/data

# 70/30 on the three protection modes, from each mode's row of reads.
while read -r mode measured; do
    expect 0 "$IOREEL" whatif "vsan62-nvme-$mode" --protection "$mode" --read-pct 70 --json
    check_true "$mode: $measured is inside the propagated rounding" \
        "$(json '.points[0].iops_low' <<<"$out") <= $measured && $measured <= $(json '.points[0].iops_high' <<<"$out")"
done <<'ROWS'
raid1 900000
raid5 495000
raid6 369000
ROWS
# A full stripe needs no old data: (k+m)/k instead of 2(m+1).
expect 0 "$IOREEL" whatif vsan62-nvme-raid5 --protection ec-4+2 --read-pct 0 --json
small=$(json '.points[0].iops' <<<"$out")
expect 0 "$IOREEL" whatif vsan62-nvme-raid5 --protection ec-4+2 --stripe 4k --read-pct 0 --json
check_true "full stripes" "($(json '.points[0].iops' <<<"$out") / $small / 4 - 1)^2 < 1e-9"
expect 2 "$IOREEL" whatif vsan62-nvme-raid5 --protection raid7
check_one_line "unknown protection"

# Another controller: an interval, no number.
expect 0 "$IOREEL" whatif esxi67-pm1725b-win10-lsi-sas --workload email --controller nvme --json
check "no number" "$(json '.points[0].iops' <<<"$out")" null
check_true "the interval holds what was measured" \
    "$(json '.points[0].iops_low' <<<"$out") < 236622 && 236622 < $(json '.points[0].iops_high' <<<"$out")"
check_true "and is wide" "$(json '.points[0].iops_high / .points[0].iops_low' <<<"$out") > 1.47"
check_match "it says so" "$(json '.assumed[]' <<<"$out")" "too far apart"

# Depths: keys, marks, widening.
expect 0 "$IOREEL" fit "$data/sweeps.csv" --source A --qd 1,8,32 -o "$scratch/a.json"
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd 1,2,4..64,512 --json
for key in qd iops iops_low iops_high latency_us latency_low_us latency_high_us p50_us p99_us bottleneck utilization cpu_pct extrapolated; do
    check "point has $key" "$(json ".points[0] | has(\"$key\")" <<<"$out")" true
done
check "extrapolated" "$(json '[.points[] | select(.extrapolated) | .qd | floor] | join(" ")' <<<"$out")" "64 512"
check_true "wider outside" "$(json '(.points[-1] | .iops_high / .iops_low) / (.points[3] | .iops_high / .iops_low)' <<<"$out") > 1.2"
check "Little holds" "$(json '[.points[] | (.iops * .latency_us / 1e6 / .qd - 1 | fabs) < 1e-6] | all' <<<"$out")" true
check "bounds hold" "$(json '.bounds.iops_upper >= .bounds.balanced_iops_upper and .bounds.balanced_iops_upper >= .bounds.balanced_iops_lower and .bounds.balanced_iops_lower >= .bounds.iops_lower' <<<"$out")" true

# Slots: 64 or 254 is the same while no more than 64 are in flight; fewer hold it back.
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd 32 --slots 254 --json
wide=$(json '.points[0].iops' <<<"$out")
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd 32 --slots 64 --json
check "slots that never fill" "$(json '.points[0].iops' <<<"$out")" "$wide"
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd 8,32 --slots 8 --json
check "slots that fill" "$(json '.points[1].iops' <<<"$out")" "$(json '.points[0].iops' <<<"$out")"
check "named" "$(json '.points[1].bottleneck' <<<"$out")" slots
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd 8 --disks 4 --lun-slots 64 --adapter-slots 16 --json
check "the adapter's slots are shared" "$(json '.points[0].in_flight | floor' <<<"$out")" 16

# A size and a mix from the model's other sweeps; without them, a refusal that says what to measure.
expect 1 "$IOREEL" whatif "$scratch/a.json" --qd 8 --size 64k
check_match "size" "$talk" "measure one more"
expect 1 "$IOREEL" whatif "$scratch/a.json" --qd 8 --read-pct 70
check_match "mix" "$talk" "measure 100 % and 0 % reads"
cat >"$scratch/mix.csv" <<'CSV'
pattern,read_pct,block_bytes,threads,iodepth,iops
random,100,4096,1,1,10000
random,100,4096,1,8,60000
random,100,4096,1,32,100000
random,0,4096,1,1,20000
random,0,4096,1,8,45000
random,0,4096,1,32,50000
random,100,65536,1,1,5000
random,100,65536,1,8,20000
random,100,65536,1,32,25000
CSV
expect 0 "$IOREEL" fit "$scratch/mix.csv" -o "$scratch/mix.json"
expect 0 "$IOREEL" whatif "$scratch/mix.json" --qd 32 --read-pct 50 --size 4k --json
check_true "mix: between harmonic bounds" "$(json '.points[0].iops' <<<"$out") > 60000 && $(json '.points[0].iops' <<<"$out") < 70000"
check_true "mix: widened without a mixed row" "$(json '.points[0] | .iops_high / .iops_low' <<<"$out") > 2"
expect 0 "$IOREEL" whatif "$scratch/mix.json" --qd 32 --size 16k --read-pct 100 --json
check_true "size: between the measured ones" "$(json '.points[0].iops' <<<"$out") > 25000 && $(json '.points[0].iops' <<<"$out") < 100000"

# Nodes, price, a drawing, many points.
expect 0 "$IOREEL" whatif vsan62-nvme-raid1 --nodes 16 --price-usd 552000 --json
check_true "nodes" "($(json '.points[0].iops' <<<"$out") / 2400000 - 1)^2 < 1e-6"
check_true "price" "($(json '.points[0].usd_per_iops' <<<"$out") / 0.23 - 1)^2 < 1e-6"
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd 1,2,4..64 --curve
check_match "curve" "$out" "o measured"
expect 0 "$IOREEL" whatif "$scratch/a.json" --qd-to 10000 --json
check "10,000 points" "$(json '.points | length' <<<"$out")" 10000

# Model files that are none.
echo '{"sweeps": []}' >"$scratch/none.json"
expect 1 "$IOREEL" whatif "$scratch/none.json"
check_one_line "no model"
echo '{"sweeps": [' >"$scratch/cut.json"
expect 1 "$IOREEL" whatif "$scratch/cut.json"
check_match "place" "$talk" "cut.json:"
expect 1 "$IOREEL" whatif "$scratch/no-such-model"
check_match "profiles are named" "$talk" "fit --list"
jq '.sweeps[0].members[0].log_parameters[0] = 1e9' "$scratch/a.json" >"$scratch/wild.json"
expect 1 "$IOREEL" whatif "$scratch/wild.json"
check_one_line "wild"
expect 1 "$IOREEL" whatif "$scratch/a.json" --qd 0
expect 2 "$IOREEL" whatif "$scratch/a.json" --read-pct 170
expect 2 "$IOREEL" whatif
finish
