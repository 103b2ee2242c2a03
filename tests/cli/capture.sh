# A capture from end to end on a loop device: the accounting against the device's own count, what the
# records say, and the ways to end it.
source "$(dirname "$0")/lib.sh"
need_loop
need_bpf
need_command fio
need_command jq
make_loop 256M filled
disk=$(basename "$loop_device")

completed() { awk '{ print $1 + $5 + $12 + $16 }' "/sys/block/$disk/stat"; }

# start ARGUMENTS...: a capture in the background, its pid in $capture, ready to record.
start() {
    rm -f "$scratch/talk"
    "$IOREEL" capture -d "$loop_device" "$@" >"$scratch/out.json" 2>"$scratch/talk" &
    capture=$!
    for ((i = 0; i < 200; i++)); do
        grep -qs recording "$scratch/talk" && break
        sleep 0.05
    done
    sleep 0.2
}

stop() {
    kill -INT "$capture"
    wait "$capture"
    code=$?
}

accounted() { # NAME BEFORE AFTER
    check "$1: records + lost = issued" "$(json '.records + .lost - .issued' <"$scratch/out.json")" 0
    check "$1: issued = the device's own count" \
        "$(json '.issued + .empty_flushes' <"$scratch/out.json")" "$(($3 - $2))"
    check "$1: exit code tells of loss" "$code" "$(json 'if .lost > 0 then 3 else 0 end' <"$scratch/out.json")"
}

# A load that saturates the device.
before=$(completed)
start -o "$scratch/load.reel" --json
fio --name=busy --filename="$loop_device" --ioengine=io_uring --direct=1 --rw=randrw --bs=4k \
    --iodepth=32 --numjobs=2 --runtime=1 --time_based --output-format=terse >/dev/null 2>&1
stop
after=$(completed)
accounted "saturated" "$before" "$after"
check "saturated: nothing open" "$(json .open <"$scratch/out.json")" 0
check "saturated: nothing before" "$(json .before_attach <"$scratch/out.json")" 0
check "one device" "$(json '.devices | length' <"$scratch/out.json")" 1
check "its name" "$(json '.devices[0].name' <"$scratch/out.json")" "$disk"
check "its count" "$(json '.devices[0].issued - .issued' <"$scratch/out.json")" 0
check "every key" "$(json '[has("issued","records","lost","before_attach","open","elapsed_ns","devices")] | all' \
    <"$scratch/out.json")" true
records=$(json .records <"$scratch/out.json")
expect 0 "$IOREEL" info "$scratch/load.reel" --json
check "the file holds all records" "$(json .records <<<"$out")" "$records"
check "the file is complete" "$(json .complete <<<"$out")" true
check "the file's vantage" "$(json .vantage <<<"$out")" request
check "the file's device" "$(json '.devices[0].name' <<<"$out")" "$disk"

# Known I/O, one at a time.
start -o "$scratch/known.reel" --json
before=$(completed)
dd if=/dev/urandom of="$loop_device" bs=8k count=5 seek=3 oflag=direct 2>/dev/null
dd if="$loop_device" of=/dev/null bs=64k count=2 skip=1 iflag=direct 2>/dev/null
blkdiscard -o 1048576 -l 2097152 "$loop_device"
blkdiscard -z -o 8388608 -l 1048576 "$loop_device"
sync "$loop_device" 2>/dev/null
dd if=/dev/zero of="$loop_device" bs=4k count=1 seek=100 oflag=direct conv=fsync,notrunc 2>/dev/null
sleep 0.2
stop
after=$(completed)
accounted "known" "$before" "$after"
expect 0 "$IOREEL" cat "$scratch/known.reel" --jsonl
rows=$out
count() { jq -s "map(select($1)) | length" <<<"$rows"; }
check "writes of dd" "$(count '.op == "write" and .len_bytes == 8192 and .process == "dd"')" 5
check "where they went" "$(jq -s 'map(select(.op == "write" and .len_bytes == 8192) | .offset_bytes) | min' <<<"$rows")" 24576
check "reads of dd" "$(count '.op == "read" and .len_bytes == 65536 and .process == "dd"')" 2
check "a discard" "$(jq -s 'map(select(.op == "discard") | .len_bytes) | add' <<<"$rows")" 2097152
check "flushes" "$(jq -s 'map(select(.op == "flush")) | length > 0' <<<"$rows")" true
check "no depth below one" "$(count '.depth < 1')" 0
check "each has a latency" "$(count '.latency_ns == null or .latency_ns == 0')" 0
check "each has a queue time" "$(count '.queue_ns == null')" 0
# (a loop device may refuse to write zeroes, upon which the kernel writes them itself)
check "each has a status" "$(count '.status == null')" 0
check "none failed" "$(count '.status != 0 and .op != "write_zeroes"')" 0

# An end by itself, and a command's end.
expect 0 "$IOREEL" capture -d "$disk" -o "$scratch/short.reel" --duration 300ms --json
check "nothing happened" "$(json .issued <<<"$out")" 0
check_true "it lasted" "$(json .elapsed_ns <<<"$out") >= 300e6"
expect 0 "$IOREEL" info "$scratch/short.reel"
expect 0 "$IOREEL" capture -d "$loop_device" -o "$scratch/job.reel" --json -- \
    dd if="$loop_device" of=/dev/null bs=128k count=3 iflag=direct
check "the command's reads" "$(json .issued <<<"$out")" 3
expect 0 "$IOREEL" capture -d "$loop_device" -o "$scratch/text.reel" --duration 100ms
check_match "text summary" "$out" "$disk"

# Through a pipe; onto a full disk.
"$IOREEL" capture -d "$loop_device" -o - --duration 200ms -q 2>/dev/null | "$IOREEL" info --json - >"$scratch/pipe.json"
check "a pipe: complete" "$(json .complete <"$scratch/pipe.json")" true
expect 1 "$IOREEL" capture -d "$loop_device" -o /dev/full --duration 200ms -q
check_one_line "a full disk"
check_match "a full disk" "$talk" "/dev/full"

# Rights: dropped once attached, and two capabilities are enough.
start -o "$scratch/rights.reel"
check "capabilities are dropped" "$(awk '$1 == "CapEff:" { print $2 }' "/proc/$capture/status")" 0000000000000000
stop
if command -v setpriv >/dev/null 2>&1; then
    chmod 755 "$scratch"
    mkdir -m 777 "$scratch/open"
    cp "$IOREEL" "$scratch/open/ioreel"
    expect 0 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+bpf,+perfmon \
        --ambient-caps=+bpf,+perfmon "$scratch/open/ioreel" capture -d "$loop_device" \
        -o "$scratch/open/x.reel" --duration 100ms
fi

# Killed: what is a second old can be read.
start -o "$scratch/killed.reel" --json
fio --name=steady --filename="$loop_device" --ioengine=io_uring --direct=1 --rw=randread --bs=4k \
    --iodepth=4 --rate_iops=2000 --runtime=3 --time_based --output-format=terse >/dev/null 2>&1 &
load=$!
sleep 2.8
kill -KILL "$capture"
wait "$capture" 2>/dev/null
wait "$load"
expect 3 "$IOREEL" cat "$scratch/killed.reel" --jsonl
check_true "killed: most of it is there" "$(wc -l <<<"$out") > 1000"

finish
