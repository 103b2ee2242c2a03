# One trace is replayed on each controller: the disk holds what the trace wrote, and saw what it says.
# lab: devices=nvme pvscsi lsi ahci virtio-blk virtio-scsi
# lab: limit=240

footprint_bytes=33554432

# make_trace: 1000 I/Os, one every 2 ms: writes to places of their own, some of them written over later,
# zeroes, reads and flushes.
make_trace() {
    awk 'BEGIN {
        print "issue_ns,op,offset_bytes,len_bytes"
        for (k = 0; k < 1000; k++) {
            op = k % 10 < 6 ? "write" : k % 10 < 9 ? "read" : k % 50 == 9 ? "flush" : "write_zeroes"
            place = k < 900 ? k : k - 850
            offset = place * 7919 % 2048 * 16384
            len = k % 3 == 0 ? 4096 : k % 3 == 1 ? 8192 : 16384
            if (op == "flush")
                offset = len = 0
            print k * 2000000 "," op "," offset "," len
        }
    }' >trace.csv
    ioreel import trace.csv -o trace.reel >/dev/null 2>&1 || fail "import: exit $?"
}

run_replay() { # DEVICE NODE
    ioreel replay trace.reel --target "/dev/$2" --allow-writes --unwritten-ok --tolerance 60 --keep-going \
        --seed 5 -o "$1.result.reel" --json >"$1.replay.json" 2>"$1.replay.talk"
    replay_exit=$?
    sed "s/^/$1: /" "$1.replay.talk"
}

replay_one() {
    local device
    device=$(node "$1")
    dd if=/dev/zero of="/dev/$device" bs=1M count=32 oflag=direct 2>/dev/null
    with_capture "$1" "$device" run_replay "$1" "$device"
    check_exit "$1: replay" "$replay_exit" 0
    check "$1: issued, completed, errors, skipped" \
        "$(jq -r '"\(.issued) \(.completed) \(.errors) \(.skipped)"' "$1.replay.json")" "1000 1000 0 0"
    [ "$LAB_BREAK" != flip-byte ] || printf '\252' |
        dd of="/dev/$device" bs=1 seek=$((7919 % 2048 * 16384 + 700)) conv=notrunc,fsync 2>/dev/null
    dd if="/dev/$device" of=disk.img bs=1M count=$((footprint_bytes >> 20)) iflag=direct 2>/dev/null
    check_written trace.reel disk.img 5 >"$1.written"
    check_exit "$1: the data on the disk ($(cat "$1.written"))" $? 0
    rm -f disk.img
    # What the disk was asked for is the trace: reads and writes alike, each with place and size.
    columns trace.reel op offset_bytes len_bytes | grep -E '^(read|write),' | sort >wanted
    columns "$1.reel" op offset_bytes len_bytes | grep -E '^(read|write),' | sort >seen
    [ "$LAB_BREAK" != drop-event ] || sed -i 100d seen
    check "$1: reads and writes that the disk saw and the trace has not, and the reverse" \
        "$(diff wanted seen | grep -c '^[<>]')" 0
}

guest() {
    local device
    make_trace
    for device in nvme pvscsi lsi ahci virtio-blk virtio-scsi; do
        replay_one "$device"
    done
}
