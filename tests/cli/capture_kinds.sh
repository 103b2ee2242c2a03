# The accounting under I/O schedulers, which give requests other tags, and with flushes, FUA writes and
# discards mixed in, which the kernel takes apart and counts in its own way.
source "$(dirname "$0")/lib.sh"
need_loop
need_bpf
need_command fio
need_command jq
make_loop 256M filled
disk=$(basename "$loop_device")
queue=/sys/block/$disk/queue

completed() { awk '{ print $1 + $5 + $12 + $16 }' "/sys/block/$disk/stat"; }

# load ARGUMENTS...: one job of fio, quietly.
load() {
    fio --name=load --filename="$loop_device" --ioengine=libaio --direct=1 --bs=4k --iodepth=16 \
        --output-format=terse "$@" >/dev/null 2>&1
}

# mixed: reads and writes at depth, synced writes, FUA writes and discards at once.
mixed() {
    load --rw=randrw --runtime=1 --time_based &
    load --rw=randwrite --fsync=4 --iodepth=1 --runtime=1 --time_based &
    load --rw=randwrite --sync=dsync --iodepth=4 --runtime=1 --time_based &
    load --rw=randtrim --bs=64k --iodepth=2 --runtime=1 --time_based &
    wait $(jobs -p | grep -vx "$capture")
}

# recorded NAME COMMAND... ; runs it under a capture and checks the accounting.
recorded() {
    local name=$1 before after
    shift
    before=$(completed)
    rm -f "$scratch/talk"
    "$IOREEL" capture -d "$loop_device" -o "$scratch/kinds.reel" --overwrite-output --json \
        "${arguments[@]}" >"$scratch/out.json" 2>"$scratch/talk" &
    capture=$!
    for ((i = 0; i < 200; i++)); do
        grep -qs recording "$scratch/talk" && break
        sleep 0.05
    done
    sleep 0.2
    "$@"
    sleep 0.2
    kill -INT "$capture"
    wait "$capture"
    after=$(completed)
    check "$name: records + lost = issued" "$(json '.records + .lost - .issued' <"$scratch/out.json")" 0
    # An empty flush is known by its completion alone; one of those that the kernel shows to nobody (a
    # few in some runs) leaves no trace, so only there the device may have counted a few more.
    local counted empty unseen=0
    counted=$(json '.issued + .empty_flushes' <"$scratch/out.json")
    empty=$(json .empty_flushes <"$scratch/out.json")
    [ "$empty" = 0 ] || unseen=64
    check_true "$name: issued ($counted with $empty empty flushes) = the device's own count" \
        "$after - $before - $counted >= 0 && $after - $before - $counted <= $unseen"
    check "$name: every issue was seen" "$(json .lost_issue_unseen <"$scratch/out.json")" 0
    check_true "$name: something happened" "$(json .records <"$scratch/out.json") > 100"
}

switch_midway() {
    load --rw=randread --runtime=2 --time_based &
    local job=$!
    sleep 0.5
    echo mq-deadline >"$queue/scheduler"
    sleep 0.5
    echo 200 >"$queue/nr_requests"
    sleep 0.5
    echo none >"$queue/scheduler"
    wait "$job"
}

for scheduler in none mq-deadline bfq kyber; do
    grep -qw "$scheduler" "$queue/scheduler" || continue
    echo "$scheduler" >"$queue/scheduler"
    for accounting in slots hash; do
        arguments=(--accounting "$accounting")
        recorded "$scheduler, $accounting" mixed
    done
done
expect 0 "$IOREEL" info --json "$scratch/kinds.reel"
for op in read write flush discard; do
    check_true "ops: $op" "$(json ".ops.$op" <<<"$out") > 0"
done
expect 0 "$IOREEL" cat --csv "$scratch/kinds.reel"
check_match "FUA or flushed writes" "$out" "fua|flush"
echo none >"$queue/scheduler"
arguments=(--accounting slots)
recorded "scheduler switched midway" switch_midway
# A buffer that is far too small loses, and says how many.
arguments=(--buffer 4k)
recorded "tiny buffer" load --rw=randread --bs=4k --iodepth=32 --runtime=1 --time_based
check_true "tiny buffer: loss is counted" "$(json .lost_buffer_full <"$scratch/out.json") > 0"
finish
