# stat: figures of traces that are small enough to work out by hand.
source "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# Failed I/Os, fast (a refusal) and slow (a timeout), are no service times: nine reads of 100 us
# stay 100 us. Writes: the only one failed. A flush without a latency failed too.
{
    echo issue_ns,op,offset_bytes,len_bytes,latency_ns,status
    for i in 0 1 2 3 4 5 6 7 8; do echo "$((i * 1000000)),read,$((i * 4096)),4096,100000,0"; done
    echo 9000000,read,65536,4096,5000,5
    echo 10000000,read,65536,4096,30000000000,110
    echo 11000000,write,65536,4096,7000,5
    echo 12000000,flush,,,,5
} >failed.csv
expect 0 "$IOREEL" import failed.csv -o failed.reel
expect 0 "$IOREEL" stat failed.reel --json
check "errors, in all and by op" \
    "$(jq -c '[.errors, .read.errors, .write.errors, .other.errors]' <<<"$out")" '[4,2,1,1]'
check "failed reads are counted as reads" "$(jq -c '[.records, .read.count]' <<<"$out")" '[13,11]'
check "but not in their latencies" \
    "$(jq -c '.read.latency_us | [.mean, .p50, .p99, .p999, .max]' <<<"$out")" '[100,100,100,100,100]'
check "no latency of writes is left" "$(jq -c '.write.latency_us | [.mean, .p50, .max]' <<<"$out")" \
    '[null,null,null]'
check "a device counts them too" "$(jq -c '.devices[0] | [.errors, .read.errors, .read.latency_us.max]' <<<"$out")" \
    '[4,2,100]'
expect 0 "$IOREEL" stat failed.reel
check_match "errors are said" "$out" '^errors +4 \(read 2, write 1, other 1\)'
finish
