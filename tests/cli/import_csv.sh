#!/usr/bin/env bash
# ioreel import of tables: what `cat --csv` prints comes back as it was, other tools' tables by
# --columns.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
golden=$IOREEL_SOURCE/tests/golden

# There and back: every field of a recording with processes, depths, flags and open requests.
expect 0 "$IOREEL" import "$golden/vda.blktrace.0" -o a.reel -q
"$IOREEL" cat --csv a.reel >a.csv
expect 0 "$IOREEL" import a.csv -o b.reel --vantage request
"$IOREEL" cat --csv b.reel >b.csv
check "there and back" "$(diff a.csv b.csv)" ""

# From a pipe, which cannot be read twice.
expect 0 bash -c "'$IOREEL' cat --csv a.reel | '$IOREEL' import - -o c.reel"
check "from a pipe" "$("$IOREEL" cat --csv c.reel | diff a.csv -)" ""

# Rows in any order, then sorted by the store.
(head -1 a.csv; tail -n +2 a.csv | tac) >reversed.csv
expect 0 "$IOREEL" import reversed.csv -o d.reel
check "reversed" "$("$IOREEL" cat --csv d.reel | diff a.csv -)" ""

# MSR Cambridge's layout: no head, file times, a device number.
expect 0 "$IOREEL" import "$golden/msr.csv" -o msr.reel --json \
    --columns issue_filetime=1,device=3,op=4,offset_bytes=5,len_bytes=6,latency_100ns=7
check "msr" "$(json '[.records, .ops.read, .ops.write, .devices, .span_ns, .time_resolution_ns] | join(" ")' <<<"$out")" \
    "5 3 2 2 3333588400 100"
check "msr: start" "$("$IOREEL" info msr.reel --json | json .start_time | cut -c1-19)" 2007-02-22T17:00:00

# Whole seconds are a resolution of a second, from a pipe too.
printf 'Timestamp,Offset,Size,IOType,VolumeID\n1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1088\n' >cbs.csv
columns=issue_s=Timestamp,offset_sectors=Offset,len_sectors=Size,op_0read=IOType,device=VolumeID
expect 0 "$IOREEL" import cbs.csv -o cbs.reel --columns $columns --json
check "seconds" "$(json '[.time_resolution_ns, .span_ns, .ops.read] | join(" ")' <<<"$out")" "1000000000 1000000000 1"
expect 0 bash -c "cat cbs.csv | '$IOREEL' import - -o cbs2.reel --columns $columns"
check "seconds from a pipe" "$("$IOREEL" info cbs2.reel --json | json .time_resolution_ns)" 1000000000

# Without times.
printf 'op,offset_bytes,len_bytes\nread,0,4096\nwrite,4096,4096\n' >timeless.csv
expect 0 "$IOREEL" import timeless.csv -o t.reel
check_match "timeless" "$talk" 'no column is a time'
check "timeless: no issue times" "$("$IOREEL" info t.reel --json | json '.fields | index("issue_ns")')" null

# Other separators are said.
printf 'issue_us;op;offset_bytes;len_bytes\r\n0;R;0;512\r\n12,5;W;512;512\r\n' >semi.csv
expect 0 "$IOREEL" import semi.csv -o semi.reel
check_match "semicolons" "$talk" 'separated by semicolons'
check "decimal comma" "$("$IOREEL" cat --csv semi.reel | tail -1 | cut -d, -f1)" 12500

# Without ops: unknown, unless the user says what they are.
printf '0,100,8\n0.001,300,16\n' >lba.csv
columns=issue_s=1,offset_sectors=2,len_sectors=3
expect 0 "$IOREEL" import lba.csv -o lba.reel --columns $columns --json
check "no ops: unknown" "$(json '[.records, .ops.read] | join(" ")' <<<"$out")" "2 0"
expect 0 "$IOREEL" import lba.csv -o lba2.reel --columns $columns --default-op read --json
check "no ops: taken as reads" "$(json '[.records, .ops.read] | join(" ")' <<<"$out")" "2 2"
expect 2 "$IOREEL" import lba.csv -o lba3.reel --columns $columns --default-op swim
expect 1 "$IOREEL" import "$golden/small.vscsi" -o lba3.reel --default-op read
check "--default-op refused: no output" "$(ls lba3.reel 2>/dev/null)" ""

# What is packed otherwise is refused with the command that unpacks it.
iconv -f UTF-8 -t UTF-16 timeless.csv >wide.csv
tar --format=ustar -cf timeless.tar timeless.csv
for packed in "wide.csv iconv -f UTF-16 -t UTF-8" "timeless.tar tar -xOf"; do
    file=${packed%% *}
    expect 1 "$IOREEL" import "$file" -o packed.reel
    check_match "$file: the command" "$talk" "${packed#* } $file [|] ioreel import -"
    expect 0 bash -c "${packed#* } $file | '$IOREEL' import - -o packed.reel --overwrite-output"
    rm packed.reel
done

# A wrong --columns is wrong usage, and writes nothing.
for wrong in when=op issue_s=T offset_bytes=op,offset_sectors=len_bytes; do
    expect 2 "$IOREEL" import timeless.csv -o wrong.reel --columns $wrong
    check "$wrong: no output" "$(ls wrong.reel 2>/dev/null)" ""
done

# Real tables of others, where they are at hand.
if [ -e "$shared/data/public/mqsim-tpcc-small.trace" ]; then
    mqsim=$shared/data/public/mqsim-tpcc-small.trace
    expect 0 "$IOREEL" import "$mqsim" -o m.reel --json \
        --columns issue_ns=1,offset_sectors=3,len_sectors=4,op_1read=5
    check "mqsim records" "$(json .records <<<"$out")" "$(grep -c . "$mqsim")"
    check "mqsim reads" "$(json .ops.read <<<"$out")" "$(awk '$5 == 1' "$mqsim" | wc -l)"
    check "mqsim bytes" "$("$IOREEL" cat --csv m.reel | awk -F, 'NR > 1 { s += $4 } END { print s }')" \
        "$(awk '{ s += $4 * 512 } END { print s }' "$mqsim")"
fi

finish
