# Options do what was typed, on every command: no name is abbreviated, an unknown one names its nearest,
# what takes one value is given once, and no window or limit of nothing means everything.
source "$(dirname "$0")/lib.sh"
sample=$IOREEL_SOURCE/traces/samples/sqlite.reel

# What may be repeated; everything else with a value may not.
repeated=" capture:device replay:target replay:device cat:op cat:device "

names_of() { # COMMAND: its long options, one a line, with "=" behind those that take a value
    "$IOREEL" "$1" -h | sed -n 's/^  \(-., \|    \)--\([a-z-]*\)\( [A-Z0-9]\S*\)\?\( .*\)\?$/\2\3/p' |
        sed 's/ .*/=/'
}

for command in capture import info cat stat replay compare check fit whatif; do
    names=$(names_of "$command")
    check_true "$command has options" "$(wc -l <<<"$names") > 2"
    while read -r line; do
        name=${line%=}
        for length in 2 $((${#name} - 1)); do
            short=${name:0:length}
            [ "$short" != "$name" ] || continue
            grep -qx "$short=\?" <<<"$names" && continue
            if [ "$line" = "$name" ]; then
                expect 2 "$IOREEL" "$command" "--$short" "$scratch/none"
            else
                expect 2 "$IOREEL" "$command" "--$short" 1 "$scratch/none"
                check_match "$command --$short" "$talk" "unknown option --$short; the nearest is --"
                expect 2 "$IOREEL" "$command" "--$short=1" "$scratch/none"
            fi
            check_match "$command --$short" "$talk" "unknown option --$short; the nearest is --"
        done
        [ "$line" != "$name" ] || continue
        case $repeated in
            *" $command:$name "*) continue ;;
        esac
        expect 2 "$IOREEL" "$command" "--$name" 1 "--$name=1" "$scratch/none"
        check_match "$command --$name twice" "$talk" "^ioreel: --$name is given twice; it takes one"
    done <<<"$names"
done

expect 2 "$IOREEL" cat --limti 3 "$sample"
check_match "letters swapped" "$talk" 'unknown option --limti; the nearest is --limit,'
expect 2 "$IOREEL" stat --json=1 "$sample"
check_match "a flag with a value" "$talk" '--json takes no value'
expect 2 "$IOREEL" stat "$sample" --to
check_match "no value" "$talk" '--to needs a value'
expect 2 "$IOREEL" stat -z "$sample"
check_match "an unknown letter" "$talk" 'unknown option -z'
expect 2 "$IOREEL" stat -t 1 "$sample"
check_match "a letter that is none" "$talk" 'unknown option -t; the nearest is --to'
expect 2 "$IOREEL" cat -n 1 --limit 2 "$sample"
check_match "by letter and by name" "$talk" '--limit is given twice'
expect 2 "$IOREEL" stta "$sample"
check_match "an unknown command" "$talk" "no command 'stta'; the nearest is stat"

# Nothing is nothing.
expect 0 "$IOREEL" cat --limit 0 --csv --no-head "$sample"
check "cat --limit 0" "$out" ""
for command in cat stat; do
    expect 2 "$IOREEL" "$command" --to 0 "$sample"
    check_match "$command --to 0" "$talk" '--to 0 s is not after --from 0 s'
    expect 2 "$IOREEL" "$command" --from 2s --to 1s "$sample"
    check_match "$command: an empty window" "$talk" '--to 1 s is not after --from 2 s'
done
expect 2 "$IOREEL" capture -d sda -o "$scratch/c.reel" --duration 0
check_match "capture --duration 0" "$talk" '--duration'
"$IOREEL" fit -q "$IOREEL_SOURCE/model/data/sweeps.csv" --source A -o "$scratch/m.json"
for name in slots lun-slots host-slots adapter-slots disks threads nodes cores qd-to; do
    expect 2 "$IOREEL" whatif "$scratch/m.json" "--$name" 0
    check_match "whatif --$name 0" "$talk" "--$name: 0 is under the limit of 1"
done

# A device that the trace does not have is named, not answered with nothing.
expect 1 "$IOREEL" cat --device nosuch "$sample"
check_match "no such device" "$talk" "sqlite.reel has no device 'nosuch'"
finish
