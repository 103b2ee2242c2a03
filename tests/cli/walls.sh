# The check of the walls sees what it must: a room that includes another's headers against the arrows, a
# private header from outside, a library out of its room, a name used twice.
source "$(dirname "$0")/lib.sh"
tree=$scratch/tree
broken() { # NAME PATTERN FILE LINE
    rm -rf "$tree"
    mkdir "$tree"
    for room in common traces capture replay model analysis; do
        cp -r "$IOREEL_SOURCE/$room" "$tree/"
    done
    cp "$IOREEL_SOURCE/main.c" "$tree/"
    [ -z "${3:-}" ] || echo "$4" >>"$tree/$3"
    out=$(bash "$IOREEL_SOURCE/tests/walls.sh" "$tree")
    code=$?
    check "$1: exit" "$code" "$([ -z "${3:-}" ] && echo 0 || echo 1)"
    check_match "$1" "$out" "$2"
}
broken "the tree as it is" ', 0 faults'
broken "an arrow the wrong way" 'traces may not use analysis' traces/record.c '#include "analysis/trace_stat.h"'
broken "a sideways arrow" 'replay may not use capture' replay/guard.c '#include "capture/commands.h"'
broken "a private header" 'private to traces' analysis/cmd_stat.c '#include "traces/reel_frame.h"'
broken "a library elsewhere" 'does not belong in common' common/log.c '#include <zstd.h>'
broken "a name twice" 'record.c is used by more than one file' model/record.c '/* again */'
finish
