# Devices that fail, stall, and vanish: errors are counted with their status, traces stay valid.
# lab: devices=pull-lsi pull-nvme
# lab: limit=240

debug=/sys/bus/pseudo/drivers/scsi_debug

# faulty_disk: scsi_debug's disk.
faulty_disk() {
    local path
    for path in /sys/block/*; do
        grep -qs scsi_debug "$path/device/model" && echo "${path##*/}"
    done
}

# read_past NAME COUNT: sequential 4 KiB reads that go on past errors, which are in NAME.errors.
read_past() {
    dd if="/dev/$disk" of=/dev/null bs=4k count="$2" iflag=direct conv=noerror 2>"$1.errors"
    sed -i '/records/d; /copied/d' "$1.errors"
}

# records_of FILE CONDITION: how many records meet an awk condition on the columns, by name.
records_of() {
    ioreel cat --csv "$1" | awk -F, -v n=0 "
        NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next }
        { status = \$at[\"status\"]; latency = \$at[\"latency_ns\"]; flags = \$at[\"flags\"]
            queue = \$at[\"queue_ns\"] }
        flags !~ /passthrough/ && ($2) { n++ }
        END { print n }"
}

# fault NAME COUNT OPTS EVERY_NTH: reads COUNT blocks while the disk misbehaves, captured, and checks
# the accounting against the kernel's.
fault() {
    local before after name=$1
    settle "$disk"
    echo "$4" >$debug/every_nth
    echo "$3" >$debug/opts
    before=$(completed "$disk")
    with_capture "$name" "$disk" read_past "$name" "$2"
    echo 0 >$debug/opts
    echo 0 >$debug/every_nth
    settle "$disk"
    after=$(completed "$disk")
    check_exit "$name: the capture" "$capture_exit" 0
    check "$name: the trace is complete" "$(ioreel info --json "$name.reel" | jq .complete)" true
    check "$name: captured + lost = completed" \
        "$(($(records_of "$name.reel" 1) + $(jq .lost "$name.json")))" "$((after - before))"
    check "$name: every read is there" "$(records_of "$name.reel" 1)" "$2"
}

scsi_faults() {
    local failed
    modprobe scsi_debug dev_size_mb=16 ndelay=100000 max_queue=32 medium_error_start=2048 \
        medium_error_count=64 || fail "scsi_debug does not load"
    wait_for 20 "scsi_debug's disk" faulty_disk_is_there
    disk=$(faulty_disk)
    echo none >"/sys/block/$disk/queue/scheduler"
    echo 2 >"/sys/block/$disk/device/timeout"

    # Sectors 2048 to 2111 are bad: 8 of the 4 KiB reads.
    fault medium 512 2 0
    failed=$(records_of medium.reel "status != 0 && status != \"\"")
    [ "$LAB_BREAK" != hide-error ] || failed=$((failed - 1))
    check "medium: errors in the trace" "$failed" 8
    check "medium: errors that the reader saw" "$(wc -l <medium.errors)" 8
    check "medium: their status is ENODATA, the block layer's word for it" \
        "$(records_of medium.reel "status == 61")" 8

    echo 5000000 >$debug/ndelay
    fault delays 64 0 0
    check "delays: no read took less than the disk's 5 ms" \
        "$(records_of delays.reel "latency < 5000000")" 0
    echo 100000 >$debug/ndelay

    # Every 50th command is swallowed: it times out after 2 s, is aborted and tried again. The record
    # has the last try's latency, and the time before it as queue_ns.
    fault timeouts 60 4 50
    check_true "timeouts: a read that took its timeout of 2 s, marked as requeued" \
        "$(records_of timeouts.reel "queue + latency >= 2000000000 && flags ~ /requeued/") >= 1"
    check "timeouts: none failed" "$(records_of timeouts.reel "status > 0")" 0

    # Every 10th command meets a busy host and is given back.
    fault busy 60 0x8000 10
    check_true "busy: reads that were given back" "$(records_of busy.reel "flags ~ /requeued/") >= 3"
    check "busy: none failed" "$(records_of busy.reel "status > 0")" 0
    # Every 20th is aborted by the disk while its answer is on the way: whichever comes first. Only
    # answers from a workqueue (a delay of -1) can be aborted.
    echo -1 >$debug/delay
    dmesg -c >/dev/null
    fault aborts 200 0x10000 20
    check_true "aborts: requested by the disk" "$(dmesg | grep -c 'abort request') >= 5"
    check "aborts: none failed" "$(records_of aborts.reel "status > 0")" 0
}
faulty_disk_is_there() { [ -n "$(faulty_disk)" ]; }

# replay_trace COUNT: COUNT 4 KiB reads from the disk's start on, one every 4 ms.
replay_trace() {
    awk -v count="$1" 'BEGIN {
        print "issue_ns,op,offset_bytes,len_bytes"
        for (k = 0; k < count; k++)
            print k * 4000000 ",read," k * 4096 ",4096"
    }' >reads.csv
    ioreel import reads.csv -o "$2" --overwrite-output 2>/dev/null || fail "import: exit $?"
}

# replay_errors: a replay onto the disk with bad sectors.
replay_errors() {
    local code
    replay_trace 512 reads.reel
    # A late replay issues neighbours together; merged, they would fail together.
    echo 2 >"/sys/block/$disk/queue/nomerges"
    echo 2 >$debug/opts
    ioreel replay reads.reel --target "/dev/$disk" --unwritten-ok --tolerance 60 --keep-going \
        -o errors.reel --json >errors.json 2>errors.talk
    code=$?
    echo 0 >$debug/opts
    check_exit "replay with I/O errors" "$code" 3
    check "replay: errors counted" "$(jq .errors errors.json)" 8
    check "replay: errors with their status in the result" "$(records_of errors.reel "status > 0")" 8
    check "replay: all were issued" "$(jq .issued errors.json)" 512
}

# pulled DEVICE LOAD: a load while QEMU takes the disk away.
pulled() {
    local device=$1
    disk=$(node "$device")
    with_capture "$device" "$disk" pull_during "$@"
    check_exit "$device: the capture" "$capture_exit" 0 3
    check "$device: the trace is complete" "$(ioreel info --json "$device.reel" | jq .complete)" true
    check "$device: records + lost = issued" \
        "$(jq '.records + .lost' "$device.json")" "$(jq .issued "$device.json")"
    check_true "$device: reads before the disk went" "$(records_of "$device.reel" "status == 0") > 0"
    echo "$device: $(jq -c '{issued, records, lost, open, before_attach}' "$device.json")," \
        "$(records_of "$device.reel" "status > 0") with an error"
}

fio_reads() {
    fio --name=pulled --filename="/dev/$disk" --direct=1 --ioengine=libaio --iodepth=8 --rw=randread \
        --bs=4k --time_based --runtime=60 --size=64m --thread --output=/dev/null >/dev/null 2>&1
}

replay_reads() {
    replay_trace 2500 long.reel
    ioreel replay long.reel --target "/dev/$disk" --unwritten-ok --tolerance 60 --keep-going \
        -o long-result.reel --json >long.json 2>long.talk
    echo $? >long.exit
}

pull_during() { # DEVICE LOAD
    local pid
    "$2" &
    pid=$!
    sleep 2.5
    tell qmp "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"$1\"}}"
    wait_for 90 "$1: the end of the load on the vanished disk" gone "$pid"
}
gone() { ! kill -0 "$1" 2>/dev/null; }

guest() {
    scsi_faults
    replay_errors
    pulled pull-lsi fio_reads
    pulled pull-nvme replay_reads
    check_exit "replay on a disk that vanished" "$(cat long.exit)" 3
    check "replay on a disk that vanished: its result is a complete trace" \
        "$(ioreel info --json long-result.reel | jq .complete)" true
    check_true "replay on a disk that vanished: errors are counted" "$(jq .errors long.json) > 0"
}
