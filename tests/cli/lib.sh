# Sourced by every script in tests/cli: a scratch folder, loop devices that are always detached, and
# checks that print what differs. $IOREEL is the program, $IOREEL_SOURCE the project's folder.
set -u
: "${IOREEL:?set IOREEL to the program under test}"
: "${IOREEL_SOURCE:?set IOREEL_SOURCE to the project folder}"
shared=${IOREEL_SHARED:-$IOREEL_SOURCE/../shared}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ioreel-test.XXXXXX")
loop_devices=()
scratch_files=()
checks=0
failures=0

clean_up() {
    local device
    for device in ${loop_devices[@]+"${loop_devices[@]}"}; do
        losetup -d "$device" 2>/dev/null
    done
    [ ${#scratch_files[@]} -eq 0 ] || rm -f "${scratch_files[@]}"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# skip REASON: ends the script as skipped.
skip() {
    echo "SKIP: $*"
    exit 77
}

need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
need_command() { command -v "$1" >/dev/null 2>&1 || skip "needs $1"; }
need_loop() {
    need_root
    need_command losetup
    [ -e /dev/loop-control ] || skip "needs loop devices"
}
need_bpf() {
    need_root
    [ -e /sys/kernel/btf/vmlinux ] || skip "needs a kernel with BTF"
}
need_shared() { [ -e "$shared/$1" ] || skip "needs $1 in IOREEL_SHARED"; }

# make_loop SIZE [filled]: a loop device over a new file in memory, in $loop_device, its backing file
# in $loop_file. "filled" writes every byte, so that reads touch data.
make_loop() {
    loop_file=$(mktemp /dev/shm/ioreel-test.XXXXXX)
    scratch_files+=("$loop_file")
    if [ "${2:-}" = filled ]; then
        head -c "$(numfmt --from=iec "$1")" /dev/urandom >"$loop_file"
    else
        truncate -s "$1" "$loop_file"
    fi
    loop_device=$(losetup -f --show "$loop_file") || skip "cannot make a loop device"
    loop_devices+=("$loop_device")
}

# expect CODE COMMAND...: runs it, keeps stdout in $out and stderr in $talk, checks the exit code.
expect() {
    local want=$1
    shift
    "$@" >"$scratch/.out" 2>"$scratch/.err"
    code=$?
    out=$(tr -d '\0' <"$scratch/.out")
    talk=$(cat "$scratch/.err")
    checks=$((checks + 1))
    if [ "$code" != "$want" ]; then
        failures=$((failures + 1))
        printf 'FAILED: %s\n  exit %s, wanted %s\n  stdout: %.600s\n  stderr: %.600s\n' \
            "$*" "$code" "$want" "$out" "$talk"
    fi
}

# check NAME GOT WANTED: equal texts.
check() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] && return
    failures=$((failures + 1))
    printf 'FAILED: %s\n  got:    %s\n  wanted: %s\n' "$1" "$2" "$3"
}

# check_match NAME TEXT PATTERN: an extended regular expression anywhere in the text.
check_match() {
    checks=$((checks + 1))
    grep -Eq -- "$3" <<<"$2" && return
    failures=$((failures + 1))
    printf 'FAILED: %s\n  got:     %.800s\n  pattern: %s\n' "$1" "$2" "$3"
}

# check_true NAME EXPRESSION: an awk expression, for numbers.
check_true() {
    checks=$((checks + 1))
    awk "BEGIN { exit !($2) }" && return
    failures=$((failures + 1))
    printf 'FAILED: %s\n  does not hold: %s\n' "$1" "$2"
}

# json KEY < document: a value by path, such as .read.latency_us.p50 (jq).
json() { jq -r "$1"; }

# check_one_line NAME: $talk is one line, as every error is.
check_one_line() {
    check "$1: stderr is one line" "$(wc -l <<<"$talk" | tr -d ' ')" 1
}

# finish: the last line of every script.
finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" = 0 ]
    exit
}
