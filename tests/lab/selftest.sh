#!/usr/bin/env bash
# Breaks what each scenario checks, and wants the scenario to fail and to say what differs: a check
# that cannot fail checks nothing. Takes as long as the lab itself, so it runs on demand.
#
#   selftest.sh [SCENARIO…]
set -u
lab=$(dirname "${BASH_SOURCE[0]}")/lab.sh
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# The scenario, what LAB_BREAK breaks in it, and a pattern of what it must say.
breaks='
drivers       slots          FAILED: lsi: slots: got 64, wanted 65
drivers       panic          the guest died in drivers
drivers       hang           the guest hung in drivers
capture       drop-event     captured \+ lost = completed .*: got [0-9]+, wanted [0-9]+
kernels       drop-event     captured \+ lost = completed .*: got [0-9]+, wanted [0-9]+
blktrace      drop-event     requests that only blktrace has: got 1 
blktrace      wrong-latency  latency differs by less than 20 us
replay        flip-byte      the data on the disk .*wrong [1-9]
replay        drop-event     the disk saw and the trace has not, and the reverse: got 1,
known-answer  wrong-rate     IOPS within 3 %
known-answer  deeper         deepest at depth 64: 66 of 64
faults        hide-error     errors in the trace: got 7, wanted 8
powercut      flip-byte      reading the cut trace: exit 1, wanted 3
'

failed=0
while read -r scenario what pattern; do
    [ -n "$scenario" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $scenario "* ]] || continue
    if LAB_BREAK=$what bash "$lab" "$scenario" >"$results/log" 2>&1 </dev/null; then
        echo "FAILED: $scenario passes although $what breaks what it checks"
        failed=$((failed + 1))
    elif ! grep -Eq -- "$pattern" "$results/log"; then
        echo "FAILED: $scenario with $what does not say '$pattern':"
        grep -m 5 FAILED "$results/log" | sed 's/^/    /'
        failed=$((failed + 1))
    else
        echo "ok: $scenario fails with $what: $(grep -Eom 1 -- "$pattern" "$results/log")"
    fi
done <<<"$breaks"
echo "$failed failed"
[ "$failed" = 0 ]
