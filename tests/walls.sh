#!/usr/bin/env bash
# The walls between the rooms and their sub-rooms: who may include whose headers, that each room links
# what it includes, which library stays where, and that a private header is included from its own
# sub-room only. A sub-room is ROOM/NAME with a CMakeLists.txt; its private headers lie in
# ROOM/NAME/private. What stands directly in a room (its commands.h, a command that uses all of its
# sub-rooms) is called ROOM/. Argument: the project folder.
set -u
cd "${1:-.}" || exit 2
rooms="common traces capture replay model analysis"
faults=0
fault() {
    echo "$1"
    faults=$((faults + 1))
}

# May include: a place, then the places whose public headers it may use; its own, common and its
# room's commands.h are always allowed.
allowed() {
    case $1 in
        main) echo "traces/ capture/ replay/ model/ analysis/" ;;
        common) echo "" ;;
        traces/record) echo "" ;;
        traces/reel) echo "traces/record" ;;
        traces/import | traces/export | traces/edit) echo "traces/record traces/reel" ;;
        capture/*) echo "traces/record traces/reel" ;;
        replay/guard | replay/engines) echo "traces/record" ;;
        replay/pace) echo "traces/record traces/reel replay/engines replay/guard" ;;
        replay/) echo "traces/record traces/reel replay/engines replay/guard replay/pace" ;;
        model/measure) echo "traces/record traces/reel" ;;
        model/network | model/profiles) echo "" ;;
        model/fit) echo "model/measure model/network model/profiles" ;;
        model/whatif) echo "model/measure model/network model/fit" ;;
        model/sim) echo "traces/record traces/reel model/measure model/network model/fit" ;;
        analysis/stat | analysis/compare) echo "traces/record traces/reel" ;;
        analysis/report) echo "traces/record traces/reel analysis/stat analysis/compare model/fit" ;;
        *) echo "" ;;
    esac
}

# Third-party headers, and the one place where each is known.
library_home() {
    case $1 in
        bpf/* | sys/capability.h) echo "capture/block" ;;
        pcap*) echo "capture/wire" ;;
        liburing*) echo "replay/engines" ;;
        blkid/*) echo "replay/guard" ;;
        gsl/*) echo "model/.*" ;;
        zstd*) echo "traces/(reel|import)" ;;
        xxhash*) echo "traces/reel" ;;
        lzma* | zlib* | bzlib*) echo "traces/import" ;;
    esac
}

# The answer is in $place_found, since a subshell for each include would take most of the time.
place_of() { # FILE: common, main, ROOM/ or ROOM/NAME
    local room=${1%%/*} rest=${1#*/}
    case $1 in
        main.c) place_found=main ;;
        common/*) place_found=common ;;
        *) case $rest in
            */*) place_found=$room/${rest%%/*} ;;
            *) place_found=$room/ ;;
        esac ;;
    esac
}

includes() { # FILE PATTERN: what it includes, quoted or in angles
    grep -hoE "^#include $2" "$1" | sed 's/^#include .\(.*\).$/\1/'
}

check_file() { # FILE
    local place include other home places
    place_of "$1"
    place=$place_found
    places=$(allowed "$place")
    while read -r include; do
        case " $rooms " in
            *" ${include%%/*} "*) ;;
            *) continue ;;
        esac
        place_of "$include"
        other=$place_found
        [ "$other" = "$place" ] && continue
        case $include in
            */private/*) fault "$1 includes $include, which is private to $other" ;;
        esac
        [ "$other" = common ] && [ "$place" != common ] && continue
        [ "$include" = "${place%%/*}/commands.h" ] && continue
        case " $places " in
            *" $other "*) ;;
            *) fault "$1 includes $include: $place may not use $other" ;;
        esac
    done < <(includes "$1" '"[^"]+"')
    while read -r include; do
        [[ $include =~ ^(bpf/|sys/capability|pcap|liburing|blkid/|gsl/|zstd|xxhash|lzma|zlib|bzlib) ]] || continue
        home=$(library_home "$include")
        [ -z "$home" ] || [[ $place =~ ^$home$ ]] ||
            fault "$1 includes <$include>, which does not belong in $place"
    done < <(includes "$1" '<[^>]+>')
}

# What a place links, directly or through what it links publicly, must reach all that it may use and
# nothing else of ours: the arrows in CMake are the arrows above.
links_of() { # PLACE
    local target=${1%/} list
    list=$1/CMakeLists.txt
    target=${target//\//_}
    tr '\n' ' ' <"${list//\/\//\/}" | grep -oE "target_link_libraries\($target [^)]*\)" |
        grep -oE "\b(common|($(tr ' ' '|' <<<"$rooms"))(_[a-z]+)?)\b" | grep -vx "$target" | sort -u
}

check_links() { # PLACE
    local link other
    for link in $(links_of "$1"); do
        [ "$link" = common ] && continue
        other=${link/_//}
        [[ $other == */* ]] || other=$other/
        case " $(allowed "$1") " in
            *" $other "*) ;;
            *) fault "$1/CMakeLists.txt links $link: $1 may not use $other" ;;
        esac
    done
}

files=0
while read -r file; do
    check_file "$file"
    files=$((files + 1))
done < <(find main.c $rooms -name '*.[ch]' ! -name '*.skel.h')

# Each sub-room has its target, its half page, and its place in the table above.
for list in $(find $rooms -mindepth 2 -name CMakeLists.txt | sort); do
    place=$(dirname "$list")
    [ -e "$place/README.md" ] || fault "$place has no README.md"
    check_links "$place"
done
for folder in $(find $rooms -mindepth 1 -maxdepth 1 -type d | sort); do
    [ -e "$folder/CMakeLists.txt" ] || [ -z "$(find "$folder" -name '*.c')" ] ||
        fault "$folder has sources and no CMakeLists.txt"
done

# File names are unique across the tree (commands.h is one a room, on purpose).
while read -r name; do
    fault "the name $name is used by more than one file"
done < <(find $rooms -name '*.[ch]' ! -name commands.h -printf '%f\n' | sort | uniq -d)

echo "$files files, $faults faults"
[ "$faults" = 0 ]
