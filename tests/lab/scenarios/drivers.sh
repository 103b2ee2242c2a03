# Every controller is there with its own driver, and grants the slots that it is known for.
# lab: devices=nvme pvscsi lsi ahci virtio-blk virtio-scsi
# lab: kernels=6.1 6.12
# lab: limit=30
# Needs nothing of ioreel: when this fails, the lab is at fault.

# driver NODE: of the nearest PCI device above it.
driver() {
    local path
    path=$(readlink -f "/sys/block/$1")
    while [ "$path" != / ]; do
        if [ -e "$path/vendor" ] && [ -e "$path/driver" ] && [ -e "$path/irq" ]; then
            basename "$(readlink "$path/driver")"
            return
        fi
        path=$(dirname "$path")
    done
}

one_driver() { # DEVICE DRIVER DEPTH
    local device
    device=$(node "$1") || {
        fail "$1: no block device"
        return
    }
    check "$1: driver" "$(driver "$device")" "$2"
    [ -z "$3" ] || check "$1: slots" "$(cat "/sys/block/$device/device/queue_depth")" "$3"
    check "$1: reads 1 MiB" "$(dd if="/dev/$device" bs=64k count=16 iflag=direct 2>/dev/null | wc -c)" 1048576
}

guest() {
    case $LAB_BREAK in
        hang) sleep 1000 ;;
        panic) echo c >/proc/sysrq-trigger ;;
    esac
    one_driver nvme nvme ''
    one_driver pvscsi vmw_pvscsi 254
    one_driver lsi mptsas "$([ "$LAB_BREAK" = slots ] && echo 65 || echo 64)"
    one_driver ahci ahci 32
    one_driver virtio-blk virtio-pci ''
    one_driver virtio-scsi virtio-pci 128
    check "BTF of the kernel" "$([ -s /sys/kernel/btf/vmlinux ] && echo there)" there
}
