#!/usr/bin/env bash
# The lab's figures as Markdown tables, from the folder of results, for docs/validation.md. Called by
# lab.sh at the end of each run; a scenario that did not run has no table.
set -u
cd "$1" || exit

# table HEAD ROWS...: HEAD is "a|b|c", rows come on stdin in the same form.
table() {
    printf '| %s |\n' "${1//|/ | }"
    sed 's/[^|]*/---/g; s/|/ | /g; s/.*/| & |/' <<<"$1"
    sed 's/|/ | /g; s/.*/| & |/'
    echo
}

agreement() { # DEVICE: "matched|only ioreel|only blktrace|difference" of the scenario blktrace
    awk -F, -v device="$1" '$1 == device {
        printf "%d|%d|%d|%.1f us of %.0f us\n", $2, $3, $4, $5 / 1000, $7 / 1000
        found = 1
    } END { if (!found) print "not run|||" }' blktrace/agreement.csv 2>/dev/null || echo 'not run|||'
}

if [ -e capture/accounting.csv ]; then
    echo "Requests of a mixed load, as the kernel counted them completed, and as ioreel has them; then the"
    echo "same requests in ioreel's trace and in blktrace's, with the median difference of their latencies."
    echo "The disks are emulated: their rates say nothing about the controllers."
    echo
    tail -n +2 capture/accounting.csv | while IFS=, read -r device kernel completed captured lost _; do
        echo "$device|$completed|$captured|$lost|$(agreement "$device")"
    done | table 'controller|completed|captured|lost|matched with blktrace|only ioreel|only blktrace|latency differs by'
fi
if [ -e kernels/6.12/accounting.csv ]; then
    echo "One program on two kernels:"
    echo
    tail -q -n +2 kernels/6.1/accounting.csv kernels/6.12/accounting.csv |
        awk -F, '{ print $1 "|" $2 "|" $3 "|" $4 "|" $5 }' | table 'controller|kernel|completed|captured|lost'
fi
if [ -e known-answer/deviation ]; then
    echo "Rates over a medium of 800 ms, against min(depth, slots) / 800 ms:"
    echo
    awk '{
        d = $5 < 0 ? -$5 : $5
        if (d > worst[$1]) worst[$1] = d
        if ($3 > deepest[$1]) deepest[$1] = $3
        passed[$1] += $4
        points[$1]++
    } END { for (c in worst) printf "%s|%d|%d|%d|%.1f %%\n", c, points[c], deepest[c], passed[c], worst[c] }' known-answer/deviation |
        sort | table 'controller|points|deepest at depth 512|requests deeper than the slots|largest deviation'
fi
