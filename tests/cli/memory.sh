# Memory does not grow with the trace: 20 million records go through stat within 256 MiB, from a file
# and from a pipe.
source "$(dirname "$0")/lib.sh"
[ -z "${IOREEL_SANITIZED:-}" ] || skip "memory is measured in the release build"
tools=$IOREEL_BUILD/tests
limit_kib=$((256 * 1024))

"$tools/make_capture_like" "$scratch/large.reel" 20M || exit 1
expect 0 "$tools/peak_memory" "$scratch/file.kib" "$IOREEL" stat "$scratch/large.reel" --json
check "records" "$(jq .records <<<"$out")" 20000000
kib=$(cat "$scratch/file.kib")
echo "stat of 20 million records: peak memory $kib KiB"
check_true "stat of a file within 256 MiB" "$kib < $limit_kib"

mkfifo "$scratch/pipe"
cat "$scratch/large.reel" >"$scratch/pipe" &
expect 0 "$tools/peak_memory" "$scratch/pipe.kib" "$IOREEL" stat "$scratch/pipe" --json
check "records from a pipe" "$(jq .records <<<"$out")" 20000000
kib=$(cat "$scratch/pipe.kib")
echo "the same from a pipe: peak memory $kib KiB"
check_true "stat of a pipe within 256 MiB" "$kib < $limit_kib"
finish
