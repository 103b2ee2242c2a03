# One replay right after the other on the same file and the same device: the kernel still takes down what
# the first one used, and that is not "in use by another program".
source "$(dirname "$0")/lib.sh"
"$IOREEL_BUILD/tests/make_trace" "$scratch/w.reel" count=2000 iops=100000 arrivals=poisson bytes=8m \
    len=4096 read=0 seed=1 || exit 1
head -c 8388608 /dev/urandom >"$scratch/target"
for run in 1 2 3 4 5 6; do
    expect 0 "$IOREEL" replay "$scratch/w.reel" --target "$scratch/target" --timing fast --depth 64 \
        --allow-writes --overwrite "$scratch/target" --json
done
# But a file that someone keeps open is refused.
exec 9<"$scratch/target"
expect 1 "$IOREEL" replay "$scratch/w.reel" --target "$scratch/target" --timing fast \
    --allow-writes --overwrite "$scratch/target" --json
check_match "held open" "$talk" 'another program has it open'
exec 9<&-
[ "$(id -u)" = 0 ] || finish
make_loop 8M filled
for run in 1 2 3 4 5 6; do
    expect 0 "$IOREEL" replay "$scratch/w.reel" --target "$loop_device" --timing fast --depth 64 \
        --allow-writes --json
done
finish
