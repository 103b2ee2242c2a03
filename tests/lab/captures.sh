# What the scenarios capture and kernels share: a mixed load on a controller, and the accounting of the
# capture against the kernel's own. Runs in the guest.

mixed_load() { # NODE SECONDS
    load "$1" "$2"
    # Discards and cache flushes beside the reads and writes.
    blkdiscard -o 16777216 -l 1048576 "/dev/$1" 2>/dev/null
    settle "$1"
}

# capture_one DEVICE SECONDS: one row of accounting.csv, and the checks.
capture_one() {
    local device before after completed_requests records passthrough lost open before_attach
    device=$(node "$1")
    settle "$device"
    before=$(completed "$device")
    with_capture "$1" "$device" mixed_load "$device" "$2"
    after=$(completed "$device")
    # The kernel's statistics hold a cache flush without data twice: the flush that the device got, and
    # the request without data that asked for it, which never left the block layer. fio counted those.
    completed_requests=$((after - before - $(jq .jobs[0].sync.total_ios "fio-$device.json")))
    [ "$LAB_BREAK" != drop-event ] || completed_requests=$((completed_requests + 1))
    check_exit "$1: the capture" "$capture_exit" 0 3
    read -r records passthrough < <(count_records "$1.reel")
    read -r lost open before_attach < <(jq -r '"\(.lost) \(.open) \(.before_attach)"' "$1.json")
    check "$1: captured + lost = completed of /sys/block/$device/stat" \
        "$((records + lost))" "$completed_requests"
    check "$1: lost none, exit 0; lost some, exit 3" "$((lost > 0 ? 3 : 0))" "$capture_exit"
    check "$1: open at the end, before the start" "$open $before_attach" "0 0"
    check "$1: the file's own count" "$(ioreel info --json "$1.reel" | jq .records)" \
        "$((records + passthrough))"
    echo "$1,$(uname -r),$completed_requests,$records,$lost,$passthrough" >>accounting.csv
}

# describes DEVICE DRIVER DEPTH MODEL: what the trace says of its device.
describes() {
    ioreel info --json "$1.reel" >"$1.info.json"
    check "$1: in the trace: driver, queue depth, model" \
        "$(jq -r '.devices[0] | "\(.driver) \(.queue_depth) \(.model)"' "$1.info.json" |
            sed 's/ *$//')" "$2 $3 $4"
}
