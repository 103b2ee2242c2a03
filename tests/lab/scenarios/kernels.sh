# The same capture program on Linux 6.1 and 6.12, with the accounting of both.
# lab: devices=nvme pvscsi lsi ahci virtio-blk virtio-scsi
# lab: kernels=6.1 6.12
# lab: limit=240

guest() {
    . /lab/captures.sh
    local device
    sha256sum <"$(command -v ioreel)" >program
    echo device,kernel,completed,captured,lost,passthrough >accounting.csv
    for device in nvme pvscsi lsi ahci virtio-blk virtio-scsi; do
        capture_one "$device" 1
    done
}

host() {
    check "the program is the same on both" "$(cat 6.12/program)" "$(cat 6.1/program)"
    check "controllers counted" "$(cat 6.*/accounting.csv | grep -vc ^device)" 12
}
