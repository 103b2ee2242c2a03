#!/usr/bin/env bash
# ioreel import: what it says and leaves behind, with good files and bad ones of every kind.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
golden=$IOREEL_SOURCE/tests/golden

# The result as text and as JSON.
expect 0 "$IOREEL" import "$golden/small.vscsi" -o a.reel
check_match "text" "$out" '^a.reel: 11 records from vscsi \(3 read, 4 write, .*\) over 16.5. ms'
check_match "what is left out is said" "$talk" 'no I/O: 1; the first: .*SCSI opcode 0x12'
expect 0 "$IOREEL" import "$golden/small.vscsi" -o b.reel --json -q
check "JSON records" "$(json .records <<<"$out")" 11
check "JSON reads" "$(json .ops.read <<<"$out")" 3
check "JSON skipped" "$(json .skipped <<<"$out")" 1
check "JSON format" "$(json .format <<<"$out")" vscsi
check "JSON vantage" "$(json .vantage <<<"$out")" driver
check "JSON fault" "$(json .fault <<<"$out")" null
check "JSON span" "$(json .span_ns <<<"$out")" 16514000
check "quiet" "$talk" ""
check "the file says the same" "$("$IOREEL" info a.reel --json | json '[.records, .ops.read, .time_resolution_ns] | join(" ")')" "11 3 1000"

# An output is never lost, an input never written.
expect 1 "$IOREEL" import "$golden/small.vscsi" -o a.reel
check_one_line "exists"
check_match "exists" "$talk" 'a.reel: exists already.*--overwrite-output'
expect 0 "$IOREEL" import "$golden/small.vscsi" -o a.reel --overwrite-output -q
check "what was lost is not told by vscsi" "$("$IOREEL" info a.reel --json | jq -c .lost)" null
# A bad input does not cost the user the output that was there.
cp a.reel before.reel
printf 'issue_ns,op,offset_bytes,len_bytes\n1,R,0,512\n2,R,zero,512\n' >wrong.csv
expect 1 "$IOREEL" import wrong.csv -o a.reel --overwrite-output
check "the old output is still there" "$(cmp a.reel before.reel && echo same)" same
check "and nothing beside it" "$(ls a.reel.* 2>/dev/null)" ""
cp "$golden/small.vscsi" in.vscsi
ln in.vscsi hard.reel
for name in in.vscsi hard.reel; do
    expect 1 "$IOREEL" import in.vscsi -o $name --overwrite-output
    check_one_line "input as output"
    check_match "input as output" "$talk" 'is the input too'
done
check "the input is as it was" "$(cksum <in.vscsi)" "$(cksum <"$golden/small.vscsi")"

# Pipes, both ways, and compression below every format.
expect 0 bash -c "cat in.vscsi | '$IOREEL' import - -o - -q > piped.reel"
check "through pipes" "$("$IOREEL" cat --csv piped.reel | cksum)" "$("$IOREEL" cat --csv a.reel | cksum)"
for tool in "gzip" "xz" "zstd -q"; do
    need_command "${tool%% *}"
    (head -c 128 in.vscsi | $tool -c; tail -c +129 in.vscsi | $tool -c) >packed
    expect 0 "$IOREEL" import packed -o packed.reel --overwrite-output -q
    check "$tool" "$("$IOREEL" cat --csv packed.reel | cksum)" "$("$IOREEL" cat --csv a.reel | cksum)"
done

# Bad files: one line, exit 1, no output.
bad() { # NAME PATTERN FILE [OPTIONS]
    local name=$1 pattern=$2
    shift 2
    rm -f bad.reel
    expect 1 "$IOREEL" import "$@" -o bad.reel
    check_one_line "$name"
    check_match "$name" "$talk" "$pattern"
    check "$name: nothing is left behind" "$(ls bad.reel 2>/dev/null)" ""
}
: >empty
bad "empty" 'empty: is empty; there is nothing to import' empty
bad "absent" 'nowhere: No such file' nowhere
bad "folder" '/tmp: is a folder' /tmp
head -c 5000 "$IOREEL" >program
bad "another format" 'program: not a format that import knows; it knows blktrace, csv, vscsi' program
bad "a .reel" 'a.reel: is a .reel trace already' a.reel
printf 'hello\nworld\n' >text
bad "text" 'text: not a format' text
bad "columns of no table" 'in.vscsi: is a vscsi trace; --columns is for tables' in.vscsi --columns op=1
printf 'op,offset_bytes\n' >head.csv
bad "no row" 'head.csv: holds no I/O' head.csv
bad "two files of one-file formats" 'a vscsi trace is one file' in.vscsi "$golden/small-v2.vscsi"

# A bad row after good ones: a writer has begun by then, and its file is taken away again.
{
    echo issue_ns,op,offset_bytes,len_bytes
    seq 0 4999 | sed 's/$/,read,0,4096/'
    echo 5000,read,0,9000000000000
} >late.csv
bad "late" 'late.csv:5002: len_bytes 9000000000000 is over the limit of 1 TiB' late.csv
cp "$golden/small.vscsi" flipped
printf '\x07' | dd of=flipped bs=1 seek=303 conv=notrunc status=none
bad "flipped" 'flipped: record at byte 288: version 1792' flipped

# Cut files are imported to their last whole record, exit 3.
head -c 340 in.vscsi >cut.vscsi
expect 3 "$IOREEL" import cut.vscsi -o cut.reel
check_match "cut" "$talk" 'warning: cut.vscsi: cut within the record at byte 320 \(20 of 32 bytes\)'
check "cut: whole records are there" "$("$IOREEL" info cut.reel --json | json .records)" 9
gzip -c late.csv | head -c 6000 >late.csv.gz
expect 3 "$IOREEL" import late.csv.gz -o late.reel --json
check_match "cut gzip" "$(json .fault <<<"$out")" 'late.csv.gz: the gzip stream ends early, after byte 6000'

# Ctrl-C ends a pipe that says nothing more: what came until then is a valid trace, marked partial.
mkfifo pipe
"$IOREEL" import pipe -o partial.reel --json >partial.json 2>/dev/null &
import=$!
exec 9>pipe
{
    echo issue_ns,op,offset_bytes,len_bytes
    seq 0 99999 | sed 's/$/,read,0,4096/'
} >&9
kill -INT $import
wait $import
check "interrupted" $? 130
exec 9>&-
check "interrupted: JSON" "$(json .partial <partial.json)" true
check "interrupted: the file is whole" "$("$IOREEL" info partial.reel --json | json .complete)" true
check "interrupted: both say the same" "$("$IOREEL" info partial.reel --json | json .records)" "$(json .records <partial.json)"

# Usage.
expect 2 "$IOREEL" import
expect 2 "$IOREEL" import in.vscsi
check_match "no output" "$talk" 'name it with -o'
expect 2 "$IOREEL" import in.vscsi -o x.reel --format nonsense
check_match "format" "$talk" "'nonsense' is none of blktrace, csv, vscsi"
expect 2 "$IOREEL" import in.vscsi -o x.reel --vantage moon
expect 2 "$IOREEL" import in.vscsi -o x.reel --latency-unit h
expect 2 "$IOREEL" import in.vscsi -o x.reel --level 99
expect 2 "$IOREEL" import in.vscsi -o - --json
expect 2 "$IOREEL" import in.vscsi -o x.reel --format vscsi --columns op=1

# What the user says of a trace.
expect 0 "$IOREEL" import "$golden/small-v2.vscsi" -o v2.reel --latency-unit us --vantage wire --device lun3 -q
check "said" "$("$IOREEL" info v2.reel --json | json '[.vantage, .devices[0].name] | join(" ")')" "wire lun3"
check "latency" "$("$IOREEL" cat v2.reel --csv --limit 1 | tail -1 | cut -d, -f5)" 250000

finish
