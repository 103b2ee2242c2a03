# The check of the walls sees what it must: a room that includes another's headers against the arrows, a
# private header from outside, a link that no arrow allows, a library out of its room, a name used twice.
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
broken "an arrow the wrong way" 'traces/record may not use analysis/stat' traces/record/record.c '#include "analysis/stat/stat.h"'
broken "a sideways arrow" 'replay/guard may not use capture/' replay/guard/guard.c '#include "capture/commands.h"'
broken "an arrow between sub-rooms" 'model/network may not use model/fit' model/network/law_usl.c '#include "model/fit/fit.h"'
broken "a private header" 'private to traces/reel' analysis/stat/cmd_stat.c '#include "traces/reel/private/reel_frame.h"'
broken "a private header of a sibling" 'private to model/whatif' model/fit/fit.c '#include "model/whatif/private/whatif.h"'
broken "a link the wrong way" 'links model_whatif' model/network/CMakeLists.txt 'target_link_libraries(model_network PUBLIC model_whatif)'
broken "a library elsewhere" 'does not belong in common' common/log.c '#include <zstd.h>'
broken "a library in a sibling" 'does not belong in replay/pace' replay/pace/schedule.c '#include <liburing.h>'
broken "a name twice" 'record.c is used by more than one file' model/fit/record.c '/* again */'
finish
