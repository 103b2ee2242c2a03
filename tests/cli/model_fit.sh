# fit: held-out depths, leave-one-out, refusals with their cure, known answers, bad model files.
source "$(dirname "$0")/lib.sh"
need_command jq
data=$IOREEL_SOURCE/model/data

# Held out: fitted from three depths, compared at those between.
expect 0 "$IOREEL" fit "$data/sweeps.csv" --qd 1,8,32 --validate --json
check_true "median error at most 5 %" "$(json .interpolation.median_error_pct <<<"$out") <= 5"
check_true "90 % inside" "$(json .interpolation.inside_pct <<<"$out") >= 90"
check_true "median width at most 20 %" "$(json .interpolation.median_width_pct <<<"$out") <= 20"
# The same without the sweep that lacks depth 32.
grep -v '^D' "$data/sweeps.csv" >"$scratch/four.csv"
expect 0 "$IOREEL" fit "$scratch/four.csv" --qd 1,8,32 --validate --json
check_true "four: 90 % inside" "$(json .interpolation.inside_pct <<<"$out") >= 90"
check_true "four: median width at most 20 %" "$(json .interpolation.median_width_pct <<<"$out") <= 20"

# Leave-one-out over whole sweeps.
expect 0 "$IOREEL" fit "$data/sweeps.csv" --validate --json
check_true "leave-one-out: median at most 4 %" "$(json .loo_median_pct <<<"$out") <= 4"
check "warned of by rule" "$(json '[.sweeps[] | select(.warnings | length > 0) | .source[0:1]] | join("")' <<<"$out")" BCE

# A model file and its keys.
expect 0 "$IOREEL" fit "$data/sweeps.csv" --source A -o "$scratch/a.json"
for key in model parameters valid_range fit source; do
    check "model file has $key" "$(jq "has(\"$key\")" "$scratch/a.json")" true
done
check "range" "$(jq -c '[.valid_range.qd_min, .valid_range.qd_max] | map(floor)' "$scratch/a.json")" "[1,128]"
check "each parameter is inside its interval" "$(jq '[.parameters[] | (.low <= .value and .value <= .high)] | all' "$scratch/a.json")" true
expect 1 "$IOREEL" fit "$data/sweeps.csv" --source A -o "$scratch/a.json"
check_one_line "an output that exists"

# What the data cannot carry is refused, with the measurement that would cure it.
row() { printf 'x,random,100,4096,1,%s,%s\n' "$@"; }
head='source,pattern,read_pct,block_bytes,threads,iodepth,iops'
{ echo "$head"; row 8 50000; } >"$scratch/one.csv"
expect 1 "$IOREEL" fit "$scratch/one.csv" -o "$scratch/x.json"
check_match "one depth" "$talk" "measure QD 1 and QD 64"
check_one_line "one depth"
{ echo "$head"; row 64 50000 128 50200 256 50100; } >"$scratch/plateau.csv"
expect 1 "$IOREEL" fit "$scratch/plateau.csv" -o "$scratch/x.json"
check_match "plateau alone" "$talk" "measure QD 1 and QD 4"
{ echo "$head"; row 8 50000 12 60000; } >"$scratch/near.csv"
expect 1 "$IOREEL" fit "$scratch/near.csv" -o "$scratch/x.json"
check_match "too near" "$talk" "too close"
check "nothing was written" "$([ -e "$scratch/x.json" ] && echo yes)" ""
# Two depths: a bracket, and no interval for a parameter.
{ echo "$head"; row 1 3646.2 32 22187; } >"$scratch/two.csv"
expect 0 "$IOREEL" fit "$scratch/two.csv" -o "$scratch/two.json"
check "two points" "$(jq -r .fit.basis "$scratch/two.json")" bracket
check "no interval" "$(jq '[.parameters[].low] | unique' -c "$scratch/two.json")" "[null]"
expect 1 "$IOREEL" fit "$data/sweeps.csv" -o "$scratch/x.json"
check_match "several systems" "$talk" "several systems"

# Known answers: min(N, slots) / latency, a few per cent of noise on each point.
known() { # SLOTS LATENCY_S NOISE
    echo "$head"
    awk -v slots="$1" -v r="$2" -v noise="$3" 'BEGIN {
        split("1 8 32 128", n, " "); srand(slots)
        for (i = 1; i <= 4; i++) {
            held = n[i] < slots ? n[i] : slots
            printf "x,random,100,4096,1,%d,%.1f\n", n[i], held / r * (1 + noise * (2 * rand() - 1))
        }
    }'
}
for slots in 32 64; do
    for noise in 0 0.01 0.02; do
        known $slots 0.0514 $noise >"$scratch/known.csv"
        expect 0 "$IOREEL" fit "$scratch/known.csv" -o "$scratch/known.json" --overwrite-output
        check "slots of $slots, noise $noise" "$(jq '.parameters.slots.value | floor' "$scratch/known.json")" $slots
        expect 0 "$IOREEL" whatif "$scratch/known.json" --qd 100,128 --json
        check_true "plateau of $slots within 3 %" \
            "($(json '.points[1].iops' <<<"$out") / ($slots / 0.0514) - 1)^2 < 0.03^2"
    done
done
# As an emulated controller of 64 slots over a device of 50 ms answers: latency grows by 3 %.
{ echo "$head"; row 1 19.76 8 157.2 32 622.6 128 1210; } >"$scratch/known.csv"
expect 0 "$IOREEL" fit "$scratch/known.csv" -o "$scratch/known.json" --overwrite-output
check "64 slots of a slowing device" "$(jq '.parameters.slots.value | floor' "$scratch/known.json")" 64
# Slots of no usual number, without noise, come out as they are.
known 62 0.0514 0 >"$scratch/known.csv"
expect 0 "$IOREEL" fit "$scratch/known.csv" -o "$scratch/known.json" --overwrite-output
check "62 slots" "$(jq '.parameters.slots.value | floor' "$scratch/known.json")" 62
known 254 0.0514 0.01 >"$scratch/known.csv"
expect 0 "$IOREEL" fit "$scratch/known.csv" -o "$scratch/known.json" --overwrite-output
check "254 slots are not seen to depth 128" "$(jq -c '[.parameters.slots.value, (.parameters.slots.low | floor)]' "$scratch/known.json")" "[null,128]"

# Percentiles: the p99 at depth 1 alone sets the variability.
awk -F, -v OFS=, 'NR == 1 || $1 == "A" { if (NR > 1 && $7 > 1) $NF = ""; print }' "$data/sweeps.csv" >"$scratch/p.csv"
expect 0 "$IOREEL" fit "$scratch/p.csv" -o "$scratch/p.json"
expect 0 "$IOREEL" whatif "$scratch/p.json" --qd 2,4,8,16,32 --json
i=0
for measured in 143 185 272 387 586; do
    got=$(json ".points[$i].p99_us" <<<"$out")
    check_true "p99 of $got against $measured within 20 %" "($got / $measured - 1)^2 <= 0.2^2"
    i=$((i + 1))
done

# A trace: windows of steady depth become the rows; the latency there gives the rate.
awk 'BEGIN {
    print "issue_ns,op,offset_bytes,len_bytes,latency_ns,depth"
    now = 0
    for (i = 0; i < 3; i++) {
        depth = 8 ^ i > 32 ? 32 : 8 ^ i
        latency = 80000 * (1 + (depth - 1) / 15)
        for (n = 0; n < 3000; n++) {
            printf "%d,read,%d,4096,%d,%d\n", now, n * 4096, latency, depth
            now += latency / depth
        }
    }
}' >"$scratch/trace.csv"
expect 0 "$IOREEL" import -q "$scratch/trace.csv" -o "$scratch/trace.reel"
expect 0 "$IOREEL" fit "$scratch/trace.reel" -o "$scratch/trace.json"
check "three depths" "$(jq -c '[.sweeps[0].points[].depth | round]' "$scratch/trace.json")" "[1,8,32]"
expect 0 "$IOREEL" whatif "$scratch/trace.json" --qd 16 --json
check_true "between them" "($(json '.points[0].iops' <<<"$out") / 100000 - 1)^2 < 0.08^2"
expect 1 "$IOREEL" fit "$IOREEL_SOURCE/traces/samples/sqlite.reel" -o "$scratch/t.json"
check_one_line "a trace without steady depths"

# fio, one file a depth.
if command -v fio >/dev/null; then
    for depth in 1 4 16; do
        fio --name="qd$depth" --filename="$scratch/f" --size=16m --rw=randread --bs=4k --direct=0 \
            --iodepth=1 --numjobs=$depth --thread --group_reporting --ioengine=psync \
            --rate_iops=200 --runtime=1 --time_based --output-format=json >"$scratch/qd$depth.json" 2>/dev/null
    done
    expect 0 "$IOREEL" check -q --json "$scratch"/qd1.json
    expect 1 "$IOREEL" fit "$scratch"/qd1.json
    check_match "one file, one depth" "$talk" "one depth alone|not within"
fi

# The list names what contradicts.
expect 0 "$IOREEL" fit --list
check_match "contradiction" "$out" "nvme over pvscsi: 0.6[0-9] in esxi8-nested"
check_match "a profile" "$out" "esxi67-pm1725b-win10-pvscsi"
expect 0 "$IOREEL" fit --list --json
check "profiles" "$(json '.profiles | length' <<<"$out")" 11
expect 2 "$IOREEL" fit
finish
