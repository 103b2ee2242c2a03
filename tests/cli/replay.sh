# Replay on files and loop devices: figures, result traces, timings, exits and bad input.
. "$(dirname "$0")/lib.sh"
need_command jq
tools=$IOREEL_BUILD/tests
trace=$scratch/t.reel
target=$scratch/target
"$tools/make_trace" "$trace" count=2000 iops=4000 bytes=8m
head -c 8M /dev/urandom >"$target"

# Timing original: everything is issued, in the trace's order, with its lateness in the result. The
# tolerance is wide: this is no benchmark.
expect 0 "$IOREEL" replay "$trace" --target "$target" -o "$scratch/r.reel" --tolerance 100s --json
check "all issued" "$(json '[.issued, .completed, .errors, .skipped] | @csv' <<<"$out")" "2000,2000,0,0"
check "keys" "$(json 'keys | join(" ")' <<<"$out")" \
    "bytes_per_s completed cpu drift_ns elapsed_ns engine errors faithful iops issued late_us latency_us moved partial reasons response_us rounded saturated_at_ns skipped timing writes_as_reads"
check "latency keys" "$(json '[.latency_us, .response_us] | map(keys | join(" ")) | unique | .[]' <<<"$out")" \
    "max mean p50 p90 p99 p999"
check "late keys" "$(json '.late_us | keys | join(" ")' <<<"$out")" "max p50 p99"
check "cpu keys" "$(json '.cpu | keys | join(" ")' <<<"$out")" "system_pct us_per_io user_pct"
check "verdict" "$(json '[.faithful, .partial, .timing, .saturated_at_ns] | @csv' <<<"$out")" 'true,false,"original",'
check_true "it took the trace's time" "$(json .elapsed_ns <<<"$out") > 0.4e9"
rows() { # FILE COLUMNS: those columns of cat --csv, by name
    "$IOREEL" cat "$1" --csv | awk -F, -v names="$2" '
        NR == 1 { n = split(names, want, ","); for (i = 1; i <= NF; i++) at[$i] = i; next }
        { line = ""; for (i = 1; i <= n; i++) line = line "," $(at[want[i]]); print line }'
}
check "records keep order, op, offset and size" \
    "$(rows "$scratch/r.reel" op,offset_bytes,len_bytes | md5sum)" \
    "$(rows "$trace" op,offset_bytes,len_bytes | md5sum)"
# wanted = issue - queue is the trace's own time, to the nanosecond, from the first record on.
check "wanted times are the trace's" \
    "$(rows "$scratch/r.reel" issue_ns,queue_ns | awk -F, '{ printf "%d\n", $2 - $3 }' | md5sum)" \
    "$(rows "$trace" issue_ns | awk -F, 'NR == 1 { first = $2 } { printf "%d\n", $2 - first }' | md5sum)"
check "result is complete" "$("$IOREEL" info "$scratch/r.reel" --json | json '[.complete, .vantage, .records] | @csv')" 'true,"app",2000'
check "the settings stand in the result" \
    "$("$IOREEL" info "$scratch/r.reel" | grep -c '^replay_\(trace\|timing\|engine\|speed\|seed\) ')" 5

# An output that exists is kept.
before=$(md5sum <"$scratch/r.reel")
expect 1 "$IOREEL" replay "$trace" --target "$target" -o "$scratch/r.reel"
check_one_line "existing output"
check "existing output is kept" "$(md5sum <"$scratch/r.reel")" "$before"
expect 0 "$IOREEL" replay "$trace" --target "$target" -o "$scratch/r.reel" --overwrite-output --timing fast

# Timing fast: closed loop, no wanted times.
for engine in io_uring threads; do
    expect 0 "$IOREEL" replay "$trace" --target "$target" --timing fast --depth 16 --engine $engine \
        -o "$scratch/$engine.reel" --json
    check "$engine: fast figures" "$(json '[.issued, .timing, .engine, .response_us, .late_us, .drift_ns] | @csv' <<<"$out")" \
        "2000,\"fast\",\"$engine\",,,"
    check "$engine: depth is kept" "$(rows "$scratch/$engine.reel" depth | sort -t, -k2n | tail -1)" ",16"
    check "$engine: no lateness in the result" "$(rows "$scratch/$engine.reel" queue_ns | sort -u)" ","
done

# Speed, limit, duration, device.
expect 0 "$IOREEL" replay "$trace" --target "$target" --speed 4 --tolerance 100s --json
check_true "speed 4 takes a quarter" "$(json .elapsed_ns <<<"$out") < 0.4e9"
expect 0 "$IOREEL" replay "$trace" --target "$target" --limit 10 --tolerance 100s --json
check "limit" "$(json .issued <<<"$out")" 10
expect 0 "$IOREEL" replay "$trace" --target "$target" --duration 100ms --tolerance 100s --json
check "duration" "$(json .issued <<<"$out")" \
    "$(rows "$trace" issue_ns | awk -F, 'NR == 1 { first = $2 } $2 - first < 100000000' | wc -l)"
expect 0 "$IOREEL" replay "$trace" --target "$target" --device synthetic --limit 5 --tolerance 100s
expect 1 "$IOREEL" replay "$trace" --target "$target" --device sdz
check_one_line "unknown device"
expect 0 "$IOREEL" replay "$trace" --target "$target" --device synthetic --device synthetic --limit 5 --tolerance 100s
expect 1 "$IOREEL" replay "$trace" --target "$target" --device synthetic --device sdz
check_match "the unknown one of two devices" "$talk" "no device 'sdz'"
expect 2 "$IOREEL" replay "$trace" --target "$target" --limit 0
expect 2 "$IOREEL" replay "$trace" --target "$target" --duration 0
check_match "no duration" "$talk" "--duration"

# A tolerance that no machine meets: done, not faithful.
expect 3 "$IOREEL" replay "$trace" --target "$target" --tolerance 0ns --json
check "not faithful" "$(json .faithful <<<"$out")" false

# A mixed trace without permission to write: reads are replayed, writes counted, nothing written.
"$tools/make_trace" "$scratch/mixed.reel" count=1000 iops=100000 bytes=8m read=50
reads=$("$IOREEL" info "$scratch/mixed.reel" --json | json .ops.read)
before=$(md5sum <"$target")
expect 3 "$IOREEL" replay "$scratch/mixed.reel" --target "$target" --tolerance 100s --json
check "reads only" "$(json '[.issued, .skipped, .faithful] | @csv' <<<"$out")" "$reads,$((1000 - reads)),false"
expect 0 "$IOREEL" replay "$scratch/mixed.reel" --target "$target" --tolerance 100s --writes-as-reads --json
check "writes as reads" "$(json '[.issued, .skipped] | @csv' <<<"$out")" "1000,0"
check "nothing was written" "$(md5sum <"$target")" "$before"

# Larger than its target.
"$tools/make_trace" "$scratch/large.reel" count=1000 iops=100000 bytes=32m
expect 1 "$IOREEL" replay "$scratch/large.reel" --target "$target"
check_one_line "larger than the target"
check_match "both sizes are named" "$talk" "large.reel.*[0-9]+ bytes.*target.*8388608 bytes.*--remap"
for way in wrap scale; do
    expect 3 "$IOREEL" replay "$scratch/large.reel" --target "$target" --remap $way --timing fast --json
    check_match "remap $way is a reason" "$(json '.reasons[0]' <<<"$out")" "^[0-9,]+ I/Os went to another place .*--remap $way"
    check "remap $way issues all" "$(json '[.issued, .errors] | @csv' <<<"$out")" "1000,0"
done
expect 3 "$IOREEL" replay "$scratch/large.reel" --target "$target" --remap clip --timing fast --json
check_true "remap clip skips what lies outside" "$(json .skipped <<<"$out") > 600"

# Reads of what was never written.
truncate -s 8M "$scratch/sparse"
expect 1 "$IOREEL" replay "$trace" --target "$scratch/sparse"
check_one_line "unwritten"
check_match "unwritten names the way out" "$talk" "--unwritten-ok"
expect 0 "$IOREEL" replay "$trace" --target "$scratch/sparse" --unwritten-ok --timing fast

# Lengths and offsets that are no whole blocks are rounded, and said.
"$tools/make_trace" "$scratch/odd.reel" count=100 iops=10000 bytes=1m len=1000
expect 3 "$IOREEL" replay "$scratch/odd.reel" --target "$target" --timing fast
check_match "rounding is said" "$talk" "rounded"
check_match "rounding is a reason" "$out" "faithful: no"
check_match "rounding is a reason" "$out" "^  100 I/Os were rounded to whole blocks of [0-9]+ bytes"

# A trace without times, or with whole seconds, has no original timing.
"$tools/make_trace" "$scratch/timeless.reel" arrivals=none count=100 bytes=8m
"$tools/make_trace" "$scratch/seconds.reel" resolution=1000000000 iops=50 count=100 bytes=8m
for name in timeless seconds; do
    expect 1 "$IOREEL" replay "$scratch/$name.reel" --target "$target"
    check_one_line "$name"
    check_match "$name: says what to do" "$talk" "$name.reel.*--timing fast"
    expect 0 "$IOREEL" replay "$scratch/$name.reel" --target "$target" --timing fast
done

# Bad input: one line, and no result file is left.
: >"$scratch/empty"
head -c 100000 /dev/urandom >"$scratch/noise"
"$tools/make_trace" "$scratch/none.reel" count=0
size=$(stat -c %s "$trace")
cp "$trace" "$scratch/flipped.reel"
printf '\x5a\xa5\x5a' | dd of="$scratch/flipped.reel" bs=1 seek=$((size / 2)) conv=notrunc status=none
for name in empty noise none.reel flipped.reel missing.reel; do
    expect 1 "$IOREEL" replay "$scratch/$name" --target "$target" -o "$scratch/bad.reel"
    check_one_line "$name"
    check_match "$name is named" "$talk" "$name"
    check "$name leaves no result" "$(ls "$scratch/bad.reel" 2>/dev/null)" ""
done
expect 1 "$IOREEL" replay "$trace" --target /dev/nonesuch
check_one_line "no such device"
check_match "no such device is named" "$talk" "/dev/nonesuch"
expect 1 "$IOREEL" replay "$trace" --target /dev/null
check_match "a character device" "$talk" "character device"
expect 1 "$IOREEL" replay "$trace" --target "$scratch"

# A trace cut short: what is there is read, the exit says so; it is not written from.
head -c $((size - 20)) "$trace" >"$scratch/cut.reel"
expect 3 "$IOREEL" replay "$scratch/cut.reel" --target "$target" --timing fast --json
check "cut: what is there is replayed" "$(json '[.issued, .faithful] | @csv' <<<"$out")" "2000,false"
check_one_line "cut"
"$tools/make_trace" "$scratch/w.reel" count=2000 iops=100000 bytes=8m read=0
head -c $(($(stat -c %s "$scratch/w.reel") - 20)) "$scratch/w.reel" >"$scratch/cutw.reel"
expect 3 "$IOREEL" replay "$scratch/cutw.reel" --target "$target" --timing fast --allow-writes --overwrite "$target"
check_one_line "cut writes"
check "cut: nothing was written" "$(md5sum <"$target")" "$before"

# Called the wrong way.
expect 2 "$IOREEL" replay
expect 2 "$IOREEL" replay "$trace"
expect 2 "$IOREEL" replay "$trace" --target "$target" --target "$target"
expect 2 "$IOREEL" replay "$trace" --target "$target" --timing dependent
check_match "unknown timing" "$talk" "--timing takes original or fast"
expect 2 "$IOREEL" replay "$trace" --target "$target" --depth 4
expect 2 "$IOREEL" replay "$trace" --target "$target" --timing fast --depth 0
expect 2 "$IOREEL" replay "$trace" --target "$target" --speed 0
expect 2 "$IOREEL" replay "$trace" --target "$target" --engine spdk
expect 2 "$IOREEL" replay "$trace" --target "$target" --remap fold
expect 2 "$IOREEL" replay "$trace" --target "$target" --allow-writes --writes-as-reads
expect 2 "$IOREEL" replay "$trace" --target "$scratch/new" --create 8m
expect 2 "$IOREEL" replay - --target "$target"
expect 2 "$IOREEL" replay "$trace" --target "$target" --json -o -
expect 0 "$IOREEL" replay -h
check_match "help starts with examples" "$(sed -n 3p <<<"$out")" "Examples"

# The result goes to a pipe, the talk to stderr.
"$IOREEL" replay "$trace" --target "$target" --timing fast -o - 2>"$scratch/talk" >"$scratch/piped.reel"
check "result through a pipe" "$("$IOREEL" info "$scratch/piped.reel" --json | json .records)" 2000
check_match "talk on stderr" "$(cat "$scratch/talk")" "faithful: yes"

# More than any memory moves: the replay stops, names the moment, and says that it is partial.
"$tools/make_trace" "$scratch/flood.reel" count=120000 iops=40000 bytes=8m len=1m
memory=$(mktemp /dev/shm/ioreel-test.XXXXXX)
scratch_files+=("$memory")
head -c 8M /dev/urandom >"$memory"
expect 3 "$IOREEL" replay "$scratch/flood.reel" --target "$memory" --json
check "saturated" "$(json '[.partial, .faithful, (.saturated_at_ns != null)] | @csv' <<<"$out")" "true,false,true"
check_true "stopped early" "$(json .issued <<<"$out") < 120000"
expect 3 "$IOREEL" replay "$scratch/flood.reel" --target "$memory" --json --keep-going --limit 60000
check "kept going" "$(json '[.issued, .partial, (.saturated_at_ns != null)] | @csv' <<<"$out")" "60000,false,true"

# Ctrl-C: 130, a valid partial result that says so.
"$tools/make_trace" "$scratch/long.reel" count=2000 iops=20 bytes=8m
"$IOREEL" replay "$scratch/long.reel" --target "$target" -o "$scratch/partial.reel" --json >"$scratch/partial.json" 2>/dev/null &
pid=$!
while ! [ -s "$scratch/partial.reel" ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
sleep 0.5
kill -INT $pid
wait $pid
check "interrupted" "$?" 130
check "partial" "$(json '[.partial, .faithful] | @csv' <"$scratch/partial.json")" "true,false"
check "the partial result is whole" "$("$IOREEL" info "$scratch/partial.reel" --json | json '[.complete, .records] | @csv')" \
    "true,$(json .completed <"$scratch/partial.json")"
finish
