# info, cat and stat: what they print, what they refuse, and how they end on bad input.
source "$(dirname "$0")/lib.sh"
tools=$IOREEL_BUILD/tests
trace=$scratch/t.reel
"$tools/make_trace" "$trace" count=5000 iops=2000 arrivals=poisson bytes=64m len=4096 read=70 seed=3 ||
    exit 1

# --- a whole trace
expect 0 "$IOREEL" info "$trace" --json
for key in format_version producer vantage start_time records span_ns lost open complete fields ops \
    devices file_bytes bytes_per_record time_resolution_ns; do
    check "info has $key" "$(jq "has(\"$key\")" <<<"$out")" true
done
check "info counts" "$(jq -c '[.records, .complete, .ops.read + .ops.write]' <<<"$out")" \
    '[5000,true,5000]'
expect 0 "$IOREEL" info "$trace"
check_match "info text" "$out" 'records +5,000 in 1 blocks'
need_command zstd
check "zstd accepts the file" "$(zstd -q -t "$trace" && echo yes)" yes

expect 0 "$IOREEL" cat "$trace" --csv
check "cat has a head and every record" "$(wc -l <<<"$out" | tr -d ' ')" 5001
check "cat head" "$(head -1 <<<"$out" | cut -d, -f1-5)" "issue_ns,op,offset_bytes,len_bytes,latency_ns"
expect 0 "$IOREEL" cat "$trace" --jsonl
check "jsonl lines parse" "$(jq -s length <<<"$out")" 5000
check "unknown is null" "$(head -1 <<<"$out" | jq -c .latency_ns)" null
expect 0 "$IOREEL" cat "$trace" --json
check "json is one document" "$(jq length <<<"$out")" 5000
expect 0 "$IOREEL" cat "$trace" --json --op flush
check "an empty json is a document too" "$(jq -c . <<<"$out")" '[]'
expect 0 "$IOREEL" cat "$trace" --no-head --op write --from 1s --to 2s --csv
check "filters" "$(awk -F, '$2 != "write" || $1 < 1e9 || $1 >= 2e9' <<<"$out" | wc -l)" 0
check_true "and something is left" "$(wc -l <<<"$out") > 100"
expect 0 "$IOREEL" cat "$trace" --limit 7 --no-head
check "limit" "$(wc -l <<<"$out" | tr -d ' ')" 7
check "cat from a pipe is the same" \
    "$("$IOREEL" cat - --csv <"$trace" | md5sum)" "$(cat "$trace" | "$IOREEL" cat - --csv | md5sum)"

expect 0 "$IOREEL" stat "$trace" --json
for key in records span_ns lost read write other depth littles_law sequential_pct \
    working_set_bytes devices; do
    check "stat has $key" "$(jq "has(\"$key\")" <<<"$out")" true
done
check "stat group keys" "$(jq -c '.read | keys' <<<"$out")" \
    '["bytes_per_s","count","errors","iops","latency_us","len_bytes"]'
check "stat latency keys" "$(jq -c '.read.latency_us | keys' <<<"$out")" \
    '["max","mean","p50","p90","p99","p999"]'
check "unknown latency is null" "$(jq -c '.read.latency_us.p50' <<<"$out")" null
check "sizes are exact" "$(jq -c '.read.len_bytes | [.mean, .p50, .p99]' <<<"$out")" \
    '[4096,4096,4096]'
check_true "IOPS" "$(jq '.read.iops + .write.iops' <<<"$out") > 1900 &&
    $(jq '.read.iops + .write.iops' <<<"$out") < 2100"
# Distinct 4 KiB blocks, counted another way.
want=$("$IOREEL" cat "$trace" --csv --no-head | cut -d, -f3 | sort -u | wc -l)
check "working set" "$(jq .working_set_bytes <<<"$out")" $((want * 4096))
expect 0 "$IOREEL" stat "$trace"
check_match "stat text" "$out" 'read .*4 KiB'

# --- bad input: one line that names the file, the right exit code
: >"$scratch/empty"
head -c 5000 /dev/urandom >"$scratch/noise"
echo "hello, this is text" >"$scratch/text"
for command in info cat stat; do
    expect 1 "$IOREEL" $command "$scratch/empty"
    check_match "$command: empty" "$talk" "empty: is empty"
    check_one_line "$command: empty"
    for file in noise text; do
        expect 1 "$IOREEL" $command "$scratch/$file"
        check_match "$command: $file" "$talk" "$file: not a .reel"
        check_one_line "$command: $file"
    done
    expect 1 "$IOREEL" $command "$scratch/absent.reel"
    check_match "$command: absent" "$talk" "absent.reel: No such file"
    expect 1 "$IOREEL" $command "$scratch"
    check_match "$command: folder" "$talk" "is a folder"
    expect 2 "$IOREEL" $command
    expect 2 "$IOREEL" $command "$trace" --no-such-option
    expect 0 "$IOREEL" $command -h
    check_match "$command: help begins with examples" "$(sed -n 3p <<<"$out")" '^Examples:'
done

# Cut: everything before the cut, exit 3, one line.
"$tools/make_capture_like" "$scratch/long.reel" 300k
size=$(stat -c %s "$scratch/long.reel")
head -c $((size * 2 / 3)) "$scratch/long.reel" >"$scratch/cut.reel"
expect 3 "$IOREEL" stat "$scratch/cut.reel" --json
check_true "stat of a cut trace" "$(jq .records <<<"$out") > 60000"
check "it says that it is not complete" "$(jq .complete <<<"$out")" false
check_match "cut text" "$talk" 'cut at byte [0-9]+'
check_one_line "cut"
expect 3 "$IOREEL" info "$scratch/cut.reel" --json
check "info of a cut trace" "$(jq .complete <<<"$out")" false
expect 3 "$IOREEL" cat "$scratch/cut.reel" --csv
head -c 9 "$scratch/long.reel" >"$scratch/short.reel"
expect 3 "$IOREEL" stat "$scratch/short.reel" --json
check "a short one holds nothing" "$(jq .records <<<"$out")" 0

# A flipped byte in a block: exit 1, the place named.
cp "$scratch/long.reel" "$scratch/bad.reel"
printf '\xff' | dd of="$scratch/bad.reel" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s "$scratch/long.reel" "$scratch/bad.reel" &&
    printf '\x00' | dd of="$scratch/bad.reel" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
expect 1 "$IOREEL" cat "$scratch/bad.reel" --csv
check_match "damage is named" "$talk" 'bad.reel: byte [0-9]+: .* is damaged'
check_one_line "damage"

# A reader that has seen enough is no error; a full disk behind stdout is one.
"$IOREEL" cat "$trace" --csv 2>"$scratch/closed" | head -2 >/dev/null
check "a closed pipe: no word" "${PIPESTATUS[0]} $(cat "$scratch/closed")" "0 "
if [ -e /dev/full ]; then
    "$IOREEL" cat "$trace" --csv >/dev/full 2>"$scratch/full"
    check "a full stdout is no success" "$?" 1
fi

expect 2 "$IOREEL" nonsense
check_match "unknown command" "$talk" "no command 'nonsense'"
expect 0 "$IOREEL" --version
finish
