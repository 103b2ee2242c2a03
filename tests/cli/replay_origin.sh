# A result trace says what the replay changed, so that a comparison can undo it; and what a replay is
# asked to take is what it takes.
. "$(dirname "$0")/lib.sh"
need_command jq
target=$scratch/target
head -c 1M /dev/urandom >"$target"
origin() { "$IOREEL" info "$scratch/r.reel" --json | jq -c ".environment | [$1]"; }
{
    echo 'issue_s,device,op,offset_bytes,len_bytes'
    echo '5.000,a,R,0,4096'
    echo '5.010,b,R,2097152,4096'
    echo '5.020,c,R,3145728,1000'
    echo '5.030,a,R,4190208,4096'
} >"$scratch/t.csv"
expect 0 "$IOREEL" import "$scratch/t.csv" -o "$scratch/t.reel" --vantage app
replay() { # WANTED CODES as a pattern, OPTIONS: the result in r.reel
    local wanted=$1
    shift
    rm -f "$scratch/r.reel"
    "$IOREEL" replay -q "$scratch/t.reel" --target "$target" --tolerance 100s --json \
        -o "$scratch/r.reel" "$@" >"$scratch/out" 2>"$scratch/err"
    check_match "exit of $*" "$?" "$wanted"
    out=$(cat "$scratch/out")
}
for way in wrap scale clip; do
    replay '^[03]$' --remap $way
    check "$way: the sizes" "$(origin '.replay_remap, .replay_source_bytes, .replay_target_bytes')" \
        "[\"$way\",4194304,1048576]"
    check "$way: times" "$(origin '.replay_speed == 1, .replay_first_issue_ns, .replay_timing')" \
        "[true,$("$IOREEL" cat "$scratch/t.reel" --json | jq '.[0].issue_ns // .records[0].issue_ns'),\"original\"]"
    check "$way: devices" "$(origin '.replay_devices, .replay_target')" "[[\"a\",\"b\",\"c\"],\"$target\"]"
done
check "clip: left out" "$(origin '.replay_clipped, .replay_skipped, .replay_moved')" "[3,3,0]"
replay '^[03]$' --remap wrap --speed 2 --writes-as-reads
check "wrap: moved, rounded, faster" "$(origin '.replay_moved, .replay_rounded, .replay_speed == 2, .replay_writes')" \
    "[3,1,true,\"as_reads\"]"
check_true "a block is a power of two" "$(origin .replay_block_bytes | tr -d '[]') % 512 == 0"
replay '^[03]$' --remap wrap --timing fast --depth 3
check "fast has no times" "$(origin '.replay_timing, .replay_depth, .replay_speed, .replay_first_issue_ns')" '["fast",3,null,null]'

# Devices are those that are named, each of them.
replay '^[03]$' --remap wrap --device a --device c
check "two devices" "$(json .issued <<<"$out")" 3
check "two devices are named" "$(origin .replay_devices)" '[["a","c"]]'
replay '^[03]$' --remap wrap --device b
check "one device" "$(json .issued <<<"$out")" 1
expect 1 "$IOREEL" replay "$scratch/t.reel" --target "$target" --device a --device z
check_one_line "one of two is unknown"
check_match "the unknown one is named" "$talk" "no device 'z'"

# A limit or a window of nothing is refused.
for nothing in "--limit 0" "--duration 0" "--duration 0s"; do
    expect 2 "$IOREEL" replay "$scratch/t.reel" --target "$target" $nothing
    check_match "replay $nothing" "$talk" "${nothing% *}: "
done
finish
