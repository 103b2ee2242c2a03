# The checks of the scenarios, in the guest and outside it. Each one that fails prints what differs;
# lab_end, called after the scenario's guest() and host(), gives the exit status.
lab_checks=0
lab_failures=0

fail() {
    lab_failures=$((lab_failures + 1))
    echo "FAILED: $*"
}

# check WHAT GOT WANTED
check() {
    lab_checks=$((lab_checks + 1))
    if [ "$2" = "$3" ]; then
        echo "ok: $1: $2"
    else
        fail "$1: got $2, wanted $3"
    fi
}

# check_true WHAT EXPRESSION: an awk expression.
check_true() {
    lab_checks=$((lab_checks + 1))
    if awk "BEGIN { exit !($2) }" </dev/null; then
        echo "ok: $1: $2"
    else
        fail "$1: does not hold: $2"
    fi
}

# check_exit WHAT GOT WANTED...: one of several exit codes.
check_exit() {
    local what=$1 got=$2 want
    shift 2
    lab_checks=$((lab_checks + 1))
    for want in "$@"; do
        [ "$got" = "$want" ] && echo "ok: $what: exit $got" && return
    done
    fail "$what: exit $got, wanted $*"
}

lab_end() {
    echo "$lab_checks checks, $lab_failures failed"
    [ "$lab_failures" = 0 ] && [ "$lab_checks" -gt 0 ]
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds; false and a line when it never does.
wait_for() {
    local seconds=$1 what=$2 end
    shift 2
    end=$((SECONDS + seconds))
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "FAILED: $what: not there after $seconds s"
            lab_failures=$((lab_failures + 1))
            return 1
        fi
        sleep 0.1
    done
}
