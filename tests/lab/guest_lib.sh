# What scenarios use inside the guest, beside checks.sh: devices by name, the kernel's own counts,
# loads, captures. A scenario's guest() runs in its own folder of results.
. /lab/checks.sh

# tell WORD...: one line to lab.sh, which acts on it: begin, end, qmp JSON, cut.
tell() { echo "$*" >&9; }

# node NAME: the block device (nvme0n1, sdb, …) of one of the lab's devices, by its PCI address.
node() {
    local device slot= path
    for device in $lab_slots results=1e; do
        [ "${device%=*}" = "$1" ] && slot=${device#*=}
    done
    [ -n "$slot" ] || return 1
    for path in /sys/block/*; do
        case $(readlink "$path") in
            */0000:00:$slot.0/*)
                echo "${path##*/}"
                return
                ;;
        esac
    done
    return 1
}
node_is_there() { node "$1" >/dev/null; }

# completed NODE: requests that the kernel counted as completed: reads, writes, discards, flushes.
completed() { awk '{ print $1 + $5 + $12 + $16 }' "/sys/block/$1/stat"; }

# quiet NODE: true when nothing is in flight.
quiet() { [ "$(awk '{ print $9 }' "/sys/block/$1/stat")" = 0 ]; }

# settle NODE: nothing is in flight, nothing cached is left to write.
settle() { wait_for 20 "$1: requests in flight end" quiet "$1"; }

# load NODE SECONDS [FIO OPTION...]: the mixed job of several scenarios, to fio.json; its own errors
# are a failure.
load() {
    local device=$1 seconds=$2
    shift 2
    fio --name=mixed --filename="/dev/$device" --direct=1 --ioengine=libaio --iodepth=16 \
        --rw=randrw --rwmixread=70 --bssplit=4k/50:8k/30:64k/20 --fsync=64 --size=192m \
        --time_based --runtime="$seconds" --randseed=7 --group_reporting --thread \
        --output-format=json --output="fio-$device.json" "$@" || fail "fio on $device: exit $?"
}

# with_capture NAME NODES COMMAND...: captures the devices (separated by spaces) into NAME.reel while
# the command runs. The accounting is NAME.json, the capture's exit code $capture_exit. The capture is
# on once the command that it was given has begun, and it ends by Ctrl-C, as with a user.
with_capture() {
    local name=$1 nodes=$2 device arguments=() pid
    shift 2
    for device in $nodes; do
        arguments+=(-d "/dev/$device")
    done
    # shellcheck disable=SC2086
    ioreel capture "${arguments[@]}" -o "$name.reel" --json ${capture_options:-} \
        -- bash -c 'echo $$ >"$0.on"; exec sleep 1000' "$name" >"$name.json" 2>"$name.talk" &
    pid=$!
    wait_for 30 "the capture $name" capture_is_on "$name" "$pid" || cat "$name.talk"
    "$@"
    kill -INT "$pid"
    wait "$pid"
    capture_exit=$?
    kill "$(cat "$name.on")" 2>/dev/null
    rm -f "$name.on"
    sed "s/^/$name: /" "$name.talk"
}

capture_is_on() { [ -s "$1.on" ] || ! kill -0 "$2" 2>/dev/null; }

# count_records FILE: the trace's records, passthrough commands (an inquiry, a health check) apart: the
# kernel keeps those out of its statistics. "REQUESTS PASSTHROUGH"
count_records() {
    ioreel cat "$1" --csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["flags"] ~ /passthrough/ { passthrough++; next }
        { requests++ }
        END { print requests + 0, passthrough + 0 }'
}

# columns FILE NAME...: those columns of the trace's records, with commas, passthrough commands apart.
columns() {
    local file=$1
    shift
    ioreel cat --csv "$file" | awk -F, -v names="$*" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; count = split(names, name, " "); next }
        $at["flags"] !~ /passthrough/ {
            line = $at[name[1]]
            for (i = 2; i <= count; i++) line = line "," $at[name[i]]
            print line
        }'
}
