# compare finds what a replay changed: remapped, rounded, faster, on another device, all are matched.
. "$(dirname "$0")/lib.sh"
need_command jq
target=$scratch/target
head -c 8M /dev/urandom >"$target"
awk 'BEGIN { srand(3); print "issue_ns,device,op,offset_bytes,len_bytes"
    for (i = 0; i < 300; i++)
        printf "%d,%s,read,%d,%d\n", i * 200000, i % 3 ? "a" : "b", int(rand() * 70000) * 512, (1 + i % 9) * 512 }' \
    >"$scratch/t.csv"
expect 0 "$IOREEL" import "$scratch/t.csv" -o "$scratch/t.reel" --vantage app
run=0
same() { # WANTED MATCHES, OPTIONS of the replay
    local wanted=$1
    shift
    run=$((run + 1))
    "$IOREEL" replay -q "$scratch/t.reel" --target "$target" -o "$scratch/$run.reel" --tolerance 100s "$@" >/dev/null 2>&1
    expect 0 "$IOREEL" compare "$scratch/t.reel" "$scratch/$run.reel" --json
    check "matched after $*" "$(json '[.matched, .only_b] | @csv' <<<"$out")" "$wanted,0"
    expect 0 "$IOREEL" compare "$scratch/$run.reel" "$scratch/t.reel" --json
    check "and the other way round after $*" "$(json '[.matched, .only_a] | @csv' <<<"$out")" "$wanted,0"
}
same 300 --remap wrap
same 300 --remap scale
same 300 --remap wrap --timing fast --depth 4
same 200 --remap wrap --device a
same 300 --remap wrap --device a --device b
same 300 --remap wrap --speed 2
expect 0 "$IOREEL" compare "$scratch/t.reel" "$scratch/$run.reel"
check_match "what was undone is said" "$out" "^replayed +A's I/Os are taken as B's replay issued them: remap wrap, speed 2"
# At speed 2 the trace's 59.8 ms take 29.9: taken as they are, the last would be 29.9 ms off. A busy
# machine may be late, but not early, so the least of some runs is looked at.
least=1e9
for try in 1 2 3 4 5; do
    "$IOREEL" replay -q "$scratch/t.reel" --target "$target" -o "$scratch/s$try.reel" --remap wrap --speed 2 --tolerance 100s >/dev/null 2>&1
    error=$("$IOREEL" compare "$scratch/t.reel" "$scratch/s$try.reel" --json 2>/dev/null | jq .timing_error_us.p50)
    least=$(awk "BEGIN { print ($error < $least) ? $error : $least }")
done
check_true "times are divided by the speed ($least us)" "$least < 5000"
# Two replays of one trace, at two speeds.
expect 0 "$IOREEL" compare "$scratch/1.reel" "$scratch/s1.reel" --json
check "two replays" "$(json .matched <<<"$out")" 300
# Another trace than the one that was replayed is not bent to fit.
head -200 "$scratch/t.csv" >"$scratch/part.csv"
expect 0 "$IOREEL" import "$scratch/part.csv" -o "$scratch/part.reel" --vantage app
"$IOREEL" compare "$scratch/part.reel" "$scratch/1.reel" >"$scratch/part.txt" 2>&1
check "not another trace" "$(grep -c '^replayed' "$scratch/part.txt")" 0
finish
