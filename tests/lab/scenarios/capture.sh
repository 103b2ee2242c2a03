# Each controller under a mixed load: captured + lost is what the kernel completed.
# lab: devices=nvme pvscsi lsi ahci virtio-blk virtio-scsi
# lab: limit=240

guest() {
    . /lab/captures.sh
    local device
    echo device,kernel,completed,captured,lost,passthrough >accounting.csv
    for device in nvme pvscsi lsi ahci virtio-blk virtio-scsi; do
        capture_one "$device" 2
    done
    describes nvme nvme 1023 'QEMU NVMe Ctrl'
    describes pvscsi vmw_pvscsi 254 'QEMU HARDDISK'
    describes lsi mptsas 64 'QEMU HARDDISK'
    describes ahci ahci 32 'QEMU HARDDISK'
    describes virtio-blk virtio_blk 256 null
    describes virtio-scsi virtio_scsi 128 'QEMU HARDDISK'
}
