# The machine that the lab boots: its devices, QEMU's life, the watchdog, and the guest's words on the
# control line. Sourced by lab.sh. QEMU emulates in software, always: KVM is never asked for.

# device_args NAME DISK: QEMU's options for a device, and in $slot its PCI address, by which the guest
# finds it whatever the kernel names it. Adding a device is adding a case.
#   known-*  the same controllers over a medium that takes 800 ms for any request, any number at once
#   pull-*   disks that a scenario removes in mid-run
device_args() {
    local drive="-drive if=none,id=d-$1,format=raw,cache=unsafe,aio=threads,discard=unmap,file=$2"
    local known="-blockdev driver=null-co,node-name=d-$1,size=2147483648,latency-ns=800000000"
    case $1 in
        nvme) slot=10 args="$drive -device nvme,addr=10,drive=d-$1,serial=lab-nvme" ;;
        pvscsi) slot=11 args="$drive -device pvscsi,addr=11,id=c-$1 -device scsi-hd,bus=c-$1.0,drive=d-$1,serial=lab-pvscsi" ;;
        lsi) slot=12 args="$drive -device mptsas1068,addr=12,id=c-$1 -device scsi-hd,bus=c-$1.0,drive=d-$1,serial=lab-lsi,wwn=0x5000c50000000001" ;;
        ahci) slot=13 args="$drive -device ahci,addr=13,id=c-$1 -device ide-hd,bus=c-$1.0,drive=d-$1,serial=lab-ahci" ;;
        virtio-blk) slot=14 args="$drive -device virtio-blk-pci,addr=14,drive=d-$1,serial=lab-virtio-blk" ;;
        virtio-scsi) slot=15 args="$drive -device virtio-scsi-pci,addr=15,id=c-$1 -device scsi-hd,bus=c-$1.0,drive=d-$1,serial=lab-virtio-scsi" ;;
        known-nvme) slot=16 args="$known -device nvme,addr=16,drive=d-$1,serial=lab-known-nvme" ;;
        known-pvscsi) slot=17 args="$known -device pvscsi,addr=17,id=c-$1 -device scsi-hd,bus=c-$1.0,drive=d-$1,serial=lab-known-pvscsi" ;;
        known-lsi) slot=18 args="$known -device mptsas1068,addr=18,id=c-$1 -device scsi-hd,bus=c-$1.0,drive=d-$1,serial=lab-known-lsi,wwn=0x5000c50000000002" ;;
        known-ahci) slot=19 args="$known -device ahci,addr=19,id=c-$1 -device ide-hd,bus=c-$1.0,drive=d-$1,serial=lab-known-ahci" ;;
        pull-lsi) slot=1a args="$drive -device mptsas1068,addr=1a,id=c-$1 -device scsi-hd,id=$1,bus=c-$1.0,drive=d-$1,serial=lab-pull-lsi,wwn=0x5000c50000000003" ;;
        pull-nvme) slot=1b args="$drive -device pcie-root-port,addr=1b,id=c-$1,chassis=1,slot=1 -device nvme,id=$1,bus=c-$1,drive=d-$1,serial=lab-pull-nvme" ;;
        keep) slot=1c args="$drive -device virtio-blk-pci,addr=1c,drive=d-$1,serial=lab-keep" ;;
        results) slot=1e args="$drive -device virtio-blk-pci,addr=1e,drive=d-$1,serial=lab-results" ;;
        *)
            echo "lab: there is no device '$1'; machine.sh has the table" >&2
            return 1
            ;;
    esac
}

# machine_prepare KERNEL RUN DEVICES: makes the disks that are not there yet, and sets $machine_args
# and $slots.
machine_prepare() {
    local run=$2 device slot args
    machine_args=() slots=
    for device in $3 results; do
        device_args "$device" "$run/$device.raw" || return
        case $device in
            known-*) ;;
            *) [ -e "$run/$device.raw" ] || truncate -s 256M "$run/$device.raw" ;;
        esac
        read -ra args <<<"$args"
        machine_args+=("${args[@]}")
        [ "$device" = results ] || slots="$slots $device=$slot"
        args=
    done
}

machine_pid=
helper_pid=

# machine_start KERNEL RUN SERIAL...: boots. Its serial lines are the console and the control line.
machine_start() {
    local kernel=$1 run=$2
    shift 2
    rm -f "$run"/qmp.in "$run"/qmp.out "$run/control"
    : >"$run/control"
    mkfifo "$run/qmp.in" "$run/qmp.out" || return
    cat "$run/qmp.out" >"$run/qmp.log" 8>&- &
    helper_pid=$!
    qemu=(qemu-system-x86_64 -M q35 -accel "tcg,thread=multi" -cpu max -smp 2 -m 2G -no-reboot
        -nodefaults -display none -kernel "$lab_build/kernel-$kernel/vmlinuz" -initrd "$run/initrd"
        -append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable"
        -serial "$1" -serial "file:$run/control" -qmp "pipe:$run/qmp" "${machine_args[@]}")
}

# machine_stop: ends QEMU as a power cut does; also on every way out of lab.sh.
machine_stop() {
    local pid
    for pid in $machine_pid $helper_pid; do
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    machine_pid= helper_pid=
}

# machine_qmp RUN JSON: one command to QEMU's monitor.
machine_qmp() {
    printf '{"execute":"qmp_capabilities"}\n%s\n' "$2" >"$1/qmp.in"
}

# show_console RUN WHY
show_console() {
    echo "lab: $2; the guest's console ends with:" >&2
    tail -n 40 "$1/console" | tr -d '\r' | sed 's/^/    /' >&2
}

# machine_watch RUN: reads the control line until the guest is gone. Sets $job (the one that was
# running, empty between jobs), $job_status[NAME], and $ending: done, cut (the guest asked for its
# power to be cut), hung, or died.
machine_watch() {
    local run=$1 lines=0 line words deadline=$((SECONDS + boot_limit))
    job= ending=
    while [ -z "$ending" ]; do
        kill -0 "$machine_pid" 2>/dev/null || ending=died
        [ "$SECONDS" -lt "$deadline" ] || ending=hung
        while IFS= read -r line; do
            lines=$((lines + 1))
            read -ra words <<<"${line%$'\r'}"
            case ${words[0]:-} in
                ready) ready_s=$((SECONDS - started_s)) ;;
                begin)
                    job=${words[1]}
                    job_started=$SECONDS
                    deadline=$((SECONDS + $(scenario_header "$job" limit 120)))
                    ;;
                end)
                    job_status[${words[1]}]=${words[2]}
                    job_seconds[${words[1]}]=$((${job_seconds[${words[1]}]:-0} + SECONDS - job_started))
                    job=
                    deadline=$((SECONDS + boot_limit))
                    ;;
                qmp) machine_qmp "$run" "${line#qmp }" ;;
                cut) ending=cut ;;
                done) ending=done ;;
            esac
        done < <(tail -n "+$((lines + 1))" "$run/control")
        [ -n "$ending" ] || sleep 0.1
    done
    # A guest that is done powers off by itself; its results are on the disk by then.
    local patience=50
    while [ "$ending" = done ] && kill -0 "$machine_pid" 2>/dev/null && [ $patience -gt 0 ]; do
        sleep 0.1
        patience=$((patience - 1))
    done
    machine_stop
}
