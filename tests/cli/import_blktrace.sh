#!/usr/bin/env bash
# ioreel import of blktrace recordings: all versions, byte orders and ways of splitting give the same
# records; gaps and cuts are said.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
golden=$IOREEL_SOURCE/tests/golden
make=${IOREEL_BUILD:-$IOREEL_SOURCE/build/release}/tests/make_blktrace
[ -x "$make" ] || skip "needs make_blktrace in the build folder"

expect 0 "$IOREEL" import "$golden/vda.blktrace.0" -o golden.reel --json
check "golden" "$(json '[.records, .lost, .before_attach, .open, .vantage] | join(" ")' <<<"$out")" "14 0 1 1 request"
check "both CPUs' files" "$(json '.inputs | length' <<<"$out")" 2
"$IOREEL" cat --csv golden.reel >golden.csv
check "records" "$(sed -n '2p;5p' golden.csv)" \
    "10000,read,512000,8192,100000,10000,,0,,1,,vda,reader,200,,0
230000,read,2048000,4096,100000,30000,requeued,0,,1,,vda,reader,200,,1"

for variant in "" -b -8 "-8 -b" -m "-m -8 -b"; do
    rm -f vda*
    "$make" $variant vda || exit 1
    first=vda.blktrace.0
    [[ $variant == *-m* ]] && first=vda
    expect 0 "$IOREEL" import $first -o v.reel --device vda --overwrite-output -q
    "$IOREEL" cat --csv v.reel >v.csv
    # Version 8 has three requests more, at the end, that version 7 cannot say.
    check "variant '$variant'" "$(head -15 v.csv | diff golden.csv -)" ""
    if [[ $variant == *-8* ]]; then
        check "variant '$variant': zones" "$(tail -3 v.csv | cut -d, -f2 | xargs)" "zone_append zone_mgmt write_zeroes"
    fi
done

# The common name stands for all files; naming each of them is the same; so is any order.
rm -f vda*
"$make" vda
for operands in vda "vda.blktrace.1" "vda.blktrace.1 vda.blktrace.0" "./vda.blktrace.0"; do
    expect 0 "$IOREEL" import $operands -o v.reel --overwrite-output -q
    check "operands '$operands'" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""
done

# Packed per-CPU files are a set too, and a packed copy beside its file is not read twice.
gzip -k vda.blktrace.0 vda.blktrace.1
expect 0 "$IOREEL" import vda.blktrace.1.gz -o v.reel --overwrite-output -q
check "a packed copy" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""
rm vda.blktrace.0 vda.blktrace.1
for operand in vda vda.blktrace.0.gz; do
    expect 0 "$IOREEL" import $operand -o v.reel --overwrite-output -q
    check "packed: $operand" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""
done
gunzip vda.blktrace.?.gz

# All CPUs in one file that is named like one CPU's.
mkdir one && cat vda.blktrace.0 vda.blktrace.1 >one/vda.blktrace.0
expect 0 "$IOREEL" import one/vda.blktrace.0 -o v.reel --overwrite-output -q
check "named like one CPU" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""
rm -r one

# A CPU that saw nothing leaves an empty file.
: >vda.blktrace.2
expect 0 "$IOREEL" import vda.blktrace.2 -o v.reel --overwrite-output -q
check "with an empty CPU" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""

# A pipe of all CPUs.
rm -f vda*
"$make" -m vda
expect 0 bash -c "gzip -c vda | '$IOREEL' import - -o v.reel --device vda --overwrite-output -q"
check "a pipe" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""

# Lost events.
rm -f vda*
"$make" -g vda
expect 3 "$IOREEL" import vda -o gap.reel --json
check "gap" "$(json '[.records, .lost] | join(" ")' <<<"$out")" "13 4"
check_match "gap" "$talk" '4 events are missing from the sequence'
check "gap: the file says so" "$("$IOREEL" info gap.reel --json | json .lost)" 4

# Cut within a record, and damaged.
cp "$golden"/vda.blktrace.? .
truncate -s -20 vda.blktrace.1
expect 3 "$IOREEL" import vda -o cut.reel
check_match "cut" "$talk" 'vda.blktrace.1: cut within the record at byte'
printf '\0' | dd of=vda.blktrace.1 bs=1 seek=67 conv=notrunc status=none
printf '\0' | dd of=vda.blktrace.1 bs=1 seek=131 conv=notrunc status=none
expect 3 "$IOREEL" import vda -o bad.reel
check_match "damaged" "$talk" 'vda.blktrace.1: no blktrace record at byte'
cp "$golden"/vda.blktrace.? .
size=$(stat -c %s vda.blktrace.1)
head -c 5000 /dev/zero >>vda.blktrace.1
expect 3 "$IOREEL" import vda -o v.reel --overwrite-output
check_match "zeros at its end" "$talk" "vda.blktrace.1: no blktrace record at byte $size "
check "zeros at its end: the rest is whole" "$("$IOREEL" cat --csv v.reel | diff golden.csv -)" ""

# A load of a million events: the same depth and latency throughout, through two files and through
# one, and nothing pairs wrongly.
"$make" -n 200000 load
expect 0 "$IOREEL" import load -o load.reel --json
check "load" "$(json '[.records, .open, .before_attach, .lost] | join(" ")' <<<"$out")" "200000 0 0 0"
check "load: all alike" "$("$IOREEL" cat --csv load.reel | awk -F, 'NR > 20 { print $2, $4, $5, $6, $10 }' | sort -u)" \
    "read 4096 161000 3000 17"
"$make" -m -n 200000 one
expect 0 "$IOREEL" import one -o one.reel --device load -q
check "load: one file" "$("$IOREEL" cat --csv one.reel | cksum)" "$("$IOREEL" cat --csv load.reel | cksum)"

finish
