# The power goes during a capture onto ext4: after the next boot the trace reads to its last whole block.
# lab: devices=virtio-blk keep
# lab: limit=120

first_boot() {
    local device synced
    device=$(node virtio-blk)
    modprobe ext4
    mke2fs -q -t ext4 "/dev/$(node keep)" || fail "mke2fs: exit $?"
    mount -t ext4 -o commit=1 "/dev/$(node keep)" /mnt || fail "mount: exit $?"
    # Written back all the time, so that the cut falls anywhere and not where the sync was.
    echo 20 >/proc/sys/vm/dirty_writeback_centisecs
    echo 20 >/proc/sys/vm/dirty_expire_centisecs
    load "$device" 30 >/dev/null 2>&1 &
    ioreel capture -d "/dev/$device" -o /mnt/cut.reel >/dev/null 2>&1 &
    sleep 4
    # What is on the disk for certain, and what a reader makes of it while the file still grows.
    sync -f /mnt/cut.reel 2>/dev/null || sync
    synced=$(stat -c %s /mnt/cut.reel)
    echo "$synced" >/mnt/synced
    cp /mnt/cut.reel /mnt/then.reel
    sync
    sleep 2
    tell cut
    sleep 60
}

second_boot() {
    local synced code whole
    modprobe ext4
    mount -t ext4 "/dev/$(node keep)" /mnt || fail "the disk does not mount after the power cut: exit $?"
    synced=$(cat /mnt/synced)
    cp /mnt/cut.reel .
    [ "$LAB_BREAK" != flip-byte ] || printf '\377' |
        dd of=cut.reel bs=1 seek=$((synced / 2)) conv=notrunc 2>/dev/null
    check_true "no synced byte is gone" "$(stat -c %s cut.reel) >= $synced && $synced > 0"
    ioreel info --json /mnt/then.reel >then.json 2>then.talk
    whole=$(jq .records then.json)
    ioreel cat --csv cut.reel >cut.csv 2>cut.talk
    code=$?
    cat cut.talk
    check_exit "reading the cut trace" "$code" 3
    check "what is missing is said in one line" "$(wc -l <cut.talk)" 1
    check_true "the records that were synced are there, and more than none" \
        "$(($(wc -l <cut.csv) - 1)) >= $whole && $whole > 0"
    ioreel info --json cut.reel >cut.json 2>/dev/null
    check_exit "info of the cut trace" $? 3
    check "info and cat agree" "$(jq .records cut.json)" "$(($(wc -l <cut.csv) - 1))"
    check "the trace says it is not complete" "$(jq .complete cut.json)" false
    umount /mnt
}

guest() {
    if [ "$LAB_PHASE" = 1 ]; then
        first_boot
    else
        second_boot
    fi
}
