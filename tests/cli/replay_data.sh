# What a replay writes: every block of the target is what the trace's last write to it made it.
. "$(dirname "$0")/lib.sh"
need_command jq
tools=$IOREEL_BUILD/tests
head -c 16M /dev/urandom >"$scratch/before"
"$tools/make_trace" "$scratch/once.reel" count=3500 iops=20000 bytes=16m len=4k pattern=once \
    read=10 discard=10 zeroes=10 flush=1 fua=5
"$tools/make_trace" "$scratch/small.reel" count=1000 iops=20000 bytes=16m len=512 pattern=once read=0
"$tools/make_trace" "$scratch/large.reel" count=16 iops=1000 bytes=16m len=1m pattern=once read=0

# written NAME TARGET SEED: the whole target, block by block.
written() {
    sync "$2" 2>/dev/null
    expect 0 "$tools/check_written" "$scratch/$1.reel" "$2" "$3" "$scratch/before"
    check_match "$1: no wrong block" "$out" " wrong 0$"
}

for engine in io_uring threads; do
    for name in once small large; do
        cp "$scratch/before" "$scratch/target"
        expect 0 "$IOREEL" replay "$scratch/$name.reel" --target "$scratch/target" --overwrite "$scratch/target" \
            --allow-writes --timing fast --engine $engine
        written $name "$scratch/target" 1
    done
done

# Another seed is other data; the check finds it.
expect 0 "$IOREEL" replay "$scratch/small.reel" --target "$scratch/target" --overwrite "$scratch/target" \
    --allow-writes --timing fast --seed 42 --limit 1000
expect 1 "$tools/check_written" "$scratch/small.reel" "$scratch/target" 1

# The data is incompressible.
"$tools/make_trace" "$scratch/all.reel" count=4096 iops=100000 bytes=16m len=4k pattern=once read=0
expect 0 "$IOREEL" replay "$scratch/all.reel" --target "$scratch/made" --create 16m --allow-writes --timing fast
check_true "gzip does not shrink it" "$(gzip -1 <"$scratch/made" | wc -c) > 16777216 * 0.99"

# The same on a loop device, with real discards.
if [ "$(id -u)" = 0 ] && [ -e /dev/loop-control ]; then
    for engine in io_uring threads; do
        make_loop 16M
        cp "$scratch/before" "$loop_file"
        losetup -c "$loop_device"
        expect 0 "$IOREEL" replay "$scratch/once.reel" --target "$loop_device" --allow-writes --timing fast \
            --engine $engine --json
        check "$engine: nothing skipped" "$(json '[.errors, .skipped] | @csv' <<<"$out")" "0,0"
        written once "$loop_device" 1
    done
else
    echo "loop devices: not tried, they need root and /dev/loop-control"
fi
finish
