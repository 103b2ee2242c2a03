#!/usr/bin/env bash
# The walls between the rooms: which room may include whose headers, which library stays where, and
# that only the headers a room calls public are included from outside. Argument: the project folder.
set -u
cd "${1:-.}" || exit 2
faults=0
fault() {
    echo "$1"
    faults=$((faults + 1))
}

# May include: a room, then the rooms whose headers it may use (its own are always allowed).
allowed() {
    case $1 in
        main) echo "common traces capture replay model analysis" ;;
        analysis) echo "common traces model" ;;
        capture | replay | model) echo "common traces" ;;
        traces) echo "common" ;;
        common) echo "" ;;
    esac
}

# Headers a room keeps to itself, by pattern; everything else in it is public.
private_headers() {
    case $1 in
        traces) echo '(reel|blktrace|csv)_[a-z]*\.h' ;;
        capture) echo '[a-z_]*\.bpf\.h|capture_[a-z_]*\.h|wire/.*' ;;
        replay) echo 'engine[a-z_]*\.h|guard\.h|schedule\.h|replay_[a-z_]*\.h' ;;
        *) echo 'no-such-header' ;;
    esac
}

check_file() { # FILE ROOM
    local file=$1 room=$2 include other
    while read -r include; do
        other=${include%%/*}
        case " common traces capture replay model analysis " in
            *" $other "*) ;;
            *) continue ;;
        esac
        [ "$other" = "$room" ] && continue
        case " $(allowed "$room") " in
            *" $other "*) ;;
            *) fault "$file includes $include: $room may not use $other" ;;
        esac
        if grep -Eqx "$(private_headers "$other")" <<<"${include#*/}"; then
            fault "$file includes $include, which is private to $other"
        fi
    done < <(grep -hoE '^#include "[^"]+"' "$file" | sed 's/.*"\(.*\)"/\1/')
}

check_libraries() { # FILE ROOM
    local file=$1 room=$2 header
    while read -r header; do
        case $header in
            bpf/* | pcap*) [ "$room" = capture ] ;;
            liburing*) [ "$room" = replay ] ;;
            gsl/*) [ "$room" = model ] ;;
            zstd* | lzma* | zlib* | xxhash*) [ "$room" = traces ] ;;
            blkid/*) [ "$room" = replay ] ;;
            *) true ;;
        esac || fault "$file includes <$header>, which does not belong in $room"
    done < <(grep -hoE '^#include <[^>]+>' "$file" | sed 's/.*<\(.*\)>/\1/')
}

files=0
while read -r file; do
    room=${file%%/*}
    [ "$file" = main.c ] && room=main
    check_file "$file" "$room"
    check_libraries "$file" "$room"
    files=$((files + 1))
done < <(find main.c common traces capture replay model analysis -name '*.[ch]' ! -name '*.bpf.c' ! -name '*.skel.h')

# File names are unique across the tree (commands.h and README.md are one a room, on purpose).
while read -r name; do
    fault "the name $name is used by more than one file"
done < <(find common traces capture replay model analysis -name '*.[ch]' ! -name commands.h -printf '%f\n' | sort | uniq -d)

echo "$files files, $faults faults"
[ "$faults" = 0 ]
