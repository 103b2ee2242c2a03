# The guard: whatever is in use or bears data is refused for writing, with one line, and not one byte
# of it changes.
. "$(dirname "$0")/lib.sh"
need_loop
need_command mkfs.ext4
tools=$IOREEL_BUILD/tests
writes=$scratch/w.reel
reads=$scratch/r.reel
"$tools/make_trace" "$writes" count=200 iops=10000 bytes=8m read=0
"$tools/make_trace" "$reads" count=200 iops=10000 bytes=8m
mounts=()
undo=()
leave() {
    local at
    for at in ${mounts[@]+"${mounts[@]}"}; do umount "$at" 2>/dev/null; done
    for at in ${undo[@]+"${undo[@]}"}; do $at >/dev/null 2>&1; done
    clean_up
}
trap leave EXIT

# refused NAME PATTERN FILE ARGUMENT...: exit 1, one line like the pattern, FILE unchanged.
refused() {
    local name=$1 pattern=$2 file=$3 before
    shift 3
    before=$(md5sum <"$file")
    expect 1 "$IOREEL" replay "$writes" --allow-writes --timing fast "$@"
    check_one_line "$name"
    check_match "$name says why" "$talk" "$pattern"
    check "$name: no byte changed" "$(md5sum <"$file")" "$before"
}

# A file system, not mounted; then named by its backing file.
make_loop 16M
mkfs.ext4 -q "$loop_device"
ext4=$loop_device ext4_file=$loop_file
refused "a file system" "ext4.*--overwrite $ext4_file" "$ext4_file" --target "$ext4"
refused "another name" "--overwrite /dev/shm/other names another device" "$ext4_file" \
    --target "$ext4" --overwrite /dev/shm/other
refused "its device name is no id" "names another" "$ext4_file" --target "$ext4" --overwrite "$ext4"

# Mounted: refused even when named; reading is allowed.
mkdir "$scratch/mnt"
if mount "$ext4" "$scratch/mnt" 2>/dev/null; then
    mounts+=("$scratch/mnt")
    sync
    refused "mounted" "mounted on $scratch/mnt" "$ext4_file" --target "$ext4"
    refused "mounted and named" "mounted on" "$ext4_file" --target "$ext4" --overwrite "$ext4_file"
    expect 0 "$IOREEL" replay "$reads" --target "$ext4" --timing fast --unwritten-ok
    # The same backing file behind a second loop device is a second path to the same disk.
    sibling=$(losetup -f --show "$ext4_file" 2>/dev/null)
    if [ -n "$sibling" ]; then
        loop_devices+=("$sibling")
        refused "mounted by another path" "mounted on" "$ext4_file" --target "$sibling" --overwrite "$ext4_file"
        losetup -d "$sibling"
    fi
    umount "$scratch/mnt"
fi
expect 0 "$IOREEL" replay "$writes" --allow-writes --timing fast --target "$ext4" --overwrite "$ext4_file"

# Held exclusively by a mount that this process cannot see in its own mount table.
make_loop 16M
mkfs.ext4 -q "$loop_device"
mkfifo "$scratch/go"
unshare -m sh -c "mount '$loop_device' '$scratch/mnt' && echo yes >'$scratch/mounted'; cat '$scratch/go' >/dev/null" &
hidden=$!
for _ in $(seq 100); do [ -s "$scratch/mounted" ] || sleep 0.05; done
if [ -s "$scratch/mounted" ]; then
    sync
    refused "mounted in another namespace" "held exclusively" "$loop_file" --target "$loop_device" \
        --overwrite "$loop_file"
    echo >"$scratch/go"
else
    kill $hidden 2>/dev/null # no namespaces here: nothing waits at the pipe
fi
wait $hidden

# Signatures of other kinds.
make_loop 16M
printf '\x55\xaa' | dd of="$loop_file" bs=1 seek=510 conv=notrunc status=none
printf '\x80\x20\x21\x00\x83\x00\x00\x00\x00\x08\x00\x00\x00\x40\x00\x00' |
    dd of="$loop_file" bs=1 seek=446 conv=notrunc status=none
refused "a partition table" "partition table" "$loop_file" --target "$loop_device"
make_loop 16M
printf '\x0d\xd0\x01\xc0' | dd of="$loop_file" bs=1 seek=1048576 conv=notrunc status=none
refused "VMFS" "VMFS" "$loop_file" --target "$loop_device"
make_loop 16M
mkswap "$loop_device" >/dev/null 2>&1
refused "a swap signature" "swap" "$loop_file" --target "$loop_device"
if swapon "$loop_device" 2>/dev/null; then
    undo+=("swapoff $loop_device")
    refused "swap in use" "in use as swap" "$loop_file" --target "$loop_device" --overwrite "$loop_file"
    swapoff "$loop_device"
fi

# Under a device-mapper device.
make_loop 16M
# (no kernel module, no test)
if command -v dmsetup >/dev/null && dmsetup create ioreel-test-$$ --table "0 32768 linear $loop_device 0" 2>/dev/null; then
    undo+=("dmsetup remove ioreel-test-$$")
    refused "a part of a mapped device" "a part of dm-" "$loop_file" --target "$loop_device"
    dmsetup remove ioreel-test-$$
fi

# The backing file of a loop device, and files that exist.
refused "a backing file" "backing file of loop" "$loop_file" --target "$loop_file" --overwrite "$loop_file"
head -c 8M /dev/urandom >"$scratch/precious"
refused "a file that exists" "--create SIZE, or add --overwrite" "$scratch/precious" --target "$scratch/precious"
refused "another file named" "names another file" "$scratch/precious" --target "$scratch/precious" --overwrite "$writes"
refused "create over a file" "exists already" "$scratch/precious" --target "$scratch/precious" --create 8m
exec 9<"$scratch/precious"
refused "a file in use" "has it open" "$scratch/precious" --target "$scratch/precious" --overwrite "$scratch/precious"
exec 9<&-
expect 0 "$IOREEL" replay "$writes" --allow-writes --timing fast --target "$scratch/precious" --overwrite "$scratch/precious"

# --create: a trace that does not fit, or an output that exists, leaves no file behind.
expect 1 "$IOREEL" replay "$writes" --allow-writes --target "$scratch/new" --create 1m
check "too small a file is taken away" "$(ls "$scratch/new" 2>/dev/null)" ""
expect 1 "$IOREEL" replay "$writes" --allow-writes --target "$scratch/new" --create 8m -o "$reads"
check "a file without use is taken away" "$(ls "$scratch/new" 2>/dev/null)" ""

# A clean device needs no name.
make_loop 16M
expect 0 "$IOREEL" replay "$writes" --allow-writes --timing fast --target "$loop_device"

# Without --allow-writes nothing is opened for writing, whatever it bears.
make_loop 16M filled
mkfs.ext4 -q "$loop_device" 2>/dev/null
before=$(md5sum <"$loop_file")
expect 3 "$IOREEL" replay "$writes" --target "$loop_device" --timing fast
expect 0 "$IOREEL" replay "$writes" --target "$loop_device" --timing fast --writes-as-reads --unwritten-ok
check "reading changes nothing" "$(md5sum <"$loop_file")" "$before"
finish
