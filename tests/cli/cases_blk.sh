#!/usr/bin/env bash
# ioreel import of blktrace recordings that lie beside the project: packed sets, one file that is
# named like one CPU's, a partner of another kind, one kind of event only.
. "$(dirname "$0")/lib.sh"
need_shared data/cases/traces
cases=$shared/data/cases/traces
cd "$scratch" || exit 1

summary() { "$IOREEL" stat all.reel --json | jq -c '[.records, .read.latency_us.max, .depth.max]'; }

for file in "$cases"/T01*/sda.blktrace.0.gz "$cases"/T09*/sda.blktrace.0 "$cases"/T09*/same-bytes.bin; do
    expect 0 "$IOREEL" import "$file" -o all.reel --overwrite-output --json
    check "$file" "$(json '[.records, .open, .before_attach] | join(" ")' <<<"$out")" "200 0 0"
    check_true "$file: latency" "$(summary | jq .[1]) <= 119.5"
done
expect 0 "$IOREEL" import "$cases"/T08*/sda.blktrace.2 -o all.reel --overwrite-output --json
check "another kind" "$(json '[.records, .open, .before_attach] | join(" ")' <<<"$out")" "2 1 1"
for file in "$cases"/T12*/*only.blktrace.0; do
    expect 0 "$IOREEL" import "$file" -o all.reel --overwrite-output
    check_match "$file" "$talk" 'no completion events'
    check "$file" "$(summary)" "[300,null,null]"
done

finish
