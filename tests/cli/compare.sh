# compare: known changes between two traces are found again, to the figure.
source "$(dirname "$0")/lib.sh"
tools=$IOREEL_BUILD/tests
"$tools/make_trace" "$scratch/0.reel" count=20000 iops=10000 arrivals=poisson bytes=1g len=4096 read=70 \
    seed=5 || exit 1
shifted() { "$tools/shift_trace" "$scratch/0.reel" "$scratch/$1.reel" "${@:2}" || exit 1; }
shifted a

# The same trace: nothing differs.
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/a.reel" --json
check "keys" "$(jq -c '[has("a","b","matched","only_a","only_b","latency","timing_error_us","drift_ns","reordered_pct")] | all' <<<"$out")" true
check "latency keys" "$(jq -c '.latency | keys' <<<"$out")" '["ks","ks_error","p50_ratio","p99_ratio","wasserstein_error_us","wasserstein_us"]'
check "timing keys" "$(jq -c '.timing_error_us | keys' <<<"$out")" '["max","p50","p99"]'
check "identical" "$(jq -c '[.matched, .only_a, .only_b, .drift_ns, .reordered_pct, .latency.ks, .timing_error_us.max, .latency.p50_ratio]' <<<"$out")" \
    '[20000,0,0,0,0,0,0,1]'

# A constant delay is no timing error: time is aligned on the first match.
shifted late delay=5000000
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/late.reel" --json
check "a delay is aligned away" "$(jq -c '[.timing_error_us.max, .drift_ns]' <<<"$out")" '[0,0]'

# Stretched by 1 %: over 2 s it drifts by about 20 ms.
shifted slow stretch=1.01
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/slow.reel" --json
span=$("$IOREEL" stat "$scratch/0.reel" --json | jq .span_ns)
check_true "drift is 1 % of the span" \
    "$(jq .drift_ns <<<"$out") > 0.0099 * $span && $(jq .drift_ns <<<"$out") < 0.0101 * $span"
expect 3 "$IOREEL" compare "$scratch/a.reel" "$scratch/slow.reel" --tolerance 1ms
check_match "beyond the tolerance" "$talk" 'p99 .* is beyond the tolerance of 1.00 ms'

# Latencies doubled.
shifted double latency=2
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/double.reel" --json
check_true "ratio 2" "$(jq .latency.p50_ratio <<<"$out") > 1.98 && $(jq .latency.p50_ratio <<<"$out") < 2.02"
check "KS of two points is 1" "$(jq .latency.ks <<<"$out")" 1
check_true "Wasserstein is the distance of the two, 100 us" \
    "$(jq .latency.wasserstein_us <<<"$out") > 99 && $(jq .latency.wasserstein_us <<<"$out") < 101"

# Every 100th left out, every 50th exchanged with its neighbour.
shifted drop drop=100
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/drop.reel" --json
check "dropped" "$(jq -c '[.matched, .only_a, .only_b]' <<<"$out")" '[19800,200,0]'
expect 0 "$IOREEL" compare "$scratch/drop.reel" "$scratch/a.reel" --json
check "and the other way round" "$(jq -c '[.matched, .only_a, .only_b]' <<<"$out")" '[19800,0,200]'
shifted swap swap=50
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/swap.reel" --json
check_true "one in 50 is out of order" \
    "$(jq .reordered_pct <<<"$out") > 1.9 && $(jq .reordered_pct <<<"$out") < 2.1"

# Unequal vantage: no ratios.
shifted wire vantage=wire
expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/wire.reel" --json
check "no ratio" "$(jq -c '[.latency.p50_ratio, .latency.ks]' <<<"$out")" '[null,null]'
check_match "and why" "$talk" 'no ratios are made'

# An I/O that failed in one of the two has no part in the distributions: a refusal is not fast.
head='issue_ns,op,offset_bytes,len_bytes,latency_ns,status'
rows() { # LATENCY_NS STATUS of the tenth
    echo "$head"
    for i in 0 1 2 3 4 5 6 7 8; do echo "$((i * 1000000)),read,$((i * 4096)),4096,100000,0"; done
    echo "9000000,read,65536,4096,$1,$2"
}
rows 100000 0 >"$scratch/whole.csv"
rows 5000 5 >"$scratch/failed.csv"
for name in whole failed; do
    "$IOREEL" import "$scratch/$name.csv" -o "$scratch/$name.reel" 2>/dev/null || exit 1
done
expect 0 "$IOREEL" compare "$scratch/whole.reel" "$scratch/failed.reel" --json
check "failed in B" "$(jq -c '[.matched, .a.errors, .b.errors, .latency.ks, .b.latency_us.p50]' <<<"$out")" \
    '[10,0,1,0,100]'
expect 0 "$IOREEL" compare "$scratch/failed.reel" "$scratch/whole.reel"
check_match "errors are said" "$out" '^errors +A 1, B 0; their latencies are left out'

# Two different workloads.
"$tools/make_trace" "$scratch/other.reel" count=100 iops=100 arrivals=even bytes=1g base=4g len=8192 seed=9
expect 1 "$IOREEL" compare "$scratch/a.reel" "$scratch/other.reel"
check_match "not the same workload" "$talk" 'not two runs of one workload'
check_one_line "not the same workload"

expect 0 "$IOREEL" compare "$scratch/a.reel" "$scratch/double.reel"
check_match "text" "$out" 'matched +20,000, only in A 0, only in B 0'
expect 2 "$IOREEL" compare "$scratch/a.reel"
expect 1 "$IOREEL" compare "$scratch/a.reel" "$scratch/absent.reel"
finish
