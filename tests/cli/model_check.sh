# check: the published tables, the law that is asymmetric, units and decimal commas, bad input.
source "$(dirname "$0")/lib.sh"
need_command jq
data=$IOREEL_SOURCE/model/data

# CrystalDiskMark's table: one row is wrong, by both laws; one did not reach its depth.
expect 3 "$IOREEL" check --json "$data/controllers-crystaldiskmark.csv"
check "checks" "$(json .checked <<<"$out")" 128
check "errors" "$(json '[.rows[] | select(.verdict == "error") | .stated] | unique | join(" ")' <<<"$out")" 863.6
check "by both laws" "$(json '[.rows[] | select(.verdict == "error") | .law] | sort | join(" ")' <<<"$out")" "little throughput"
check_true "its concurrency" "$(json '.rows[] | select(.verdict == "error" and .law == "little") | .effective_depth' <<<"$out") > 11.5"
check "depth not reached" "$(json '[.rows[] | select(.verdict == "depth_not_reached") | .source] | join(" ")' <<<"$out")" crystaldiskmark-test5
reached=$(json '.rows[] | select(.verdict == "depth_not_reached") | .effective_depth' <<<"$out")
check_true "30.7 of 32" "$reached > 30.65 && $reached < 30.75"
check_true "worst error" "$(json .worst_error_pct <<<"$out") > 45"

# The controller table: e-mail on LSI reached 125.6 of 128, throughput agrees within 0.01 %.
expect 0 "$IOREEL" check --json "$data/controllers-wiki.csv"
check "wiki: one row below its depth" "$(json '[.rows[] | select(.verdict != "ok")] | length' <<<"$out")" 1
reached=$(json '.rows[] | select(.verdict == "depth_not_reached") | .effective_depth' <<<"$out")
check_true "125.6 of 128" "$reached > 125.55 && $reached < 125.65"
check "wiki: throughput within 0.01 %" \
    "$(json '[.rows[] | select(.law == "throughput") | .error_pct | fabs | select(. < 0.01)] | length' <<<"$out")" 15

# Sweeps: three of five break a rule.
expect 3 "$IOREEL" check --json "$data/sweeps.csv"
check "sweeps that break a rule" "$(json '[.sweeps[].source] | unique | join("")' <<<"$out")" BCE
check "B is not concave at 4" "$(json '.sweeps[] | select(.source == "B") | "\(.rule) \(.depth)"' <<<"$out")" "not_concave 4"
check_match "C is superlinear" "$(json '.sweeps[] | select(.source == "C") | "\(.rule) \(.depth)"' <<<"$out")" "superlinear 2"
expect 3 "$IOREEL" check "$data/sweeps.csv"
check_match "said in words" "$out" "latency fell"

# Rounding is never blamed; more in flight than asked for is impossible; less is depth not reached.
cat >"$scratch/t.csv" <<'CSV'
source;threads;iodepth;block_bytes;iops;throughput;throughput_unit;latency_us
rounded;8;8;8k;140000;1147;MB/s;457,1
impossible;1;8;4096;8300,0;33,997;MB/s;1000,0
missing;1;32;4096;6060,3;24,823;MB/s;5071,45
CSV
expect 3 "$IOREEL" check --json "$scratch/t.csv"
check "verdicts by Little" "$(json '[.rows[] | select(.law == "little") | .verdict] | join(" ")' <<<"$out")" "ok error depth_not_reached"
check_match "decimal commas are said" "$talk" "decimal comma"
# MB/s that are MiB/s: seen and said.
printf 'iops,block_bytes,throughput,throughput_unit\n78210.16,8192,611.02,MB/s\n203612.54,8192,1590.72,MB/s\n' >"$scratch/mib.csv"
expect 0 "$IOREEL" check --json "$scratch/mib.csv"
check_match "MiB are said" "$talk" "MB/s is read as MiB/s"
check_true "and used" "$(json '[.rows[].error_pct | fabs] | max' <<<"$out") < 0.01"

# A rate with thousands, a throughput without a unit: read by what agrees, and said.
printf 'threads,iodepth,block_bytes,iops,throughput,latency_us\n8,8,8192,"36,457",298655744,1755.5\n' >"$scratch/thousands.csv"
expect 0 "$IOREEL" check --json "$scratch/thousands.csv"
check "thousands" "$(json '[.rows[].verdict] | join(" ")' <<<"$out")" "ok ok"
check_match "thousands are said" "$talk" "read as thousands"
check_match "the unit is said" "$talk" "bytes per second"

# The published texts themselves.
if [ -e "$shared/data/seeds" ]; then
    for text in "$shared"/data/seeds/000_*.txt "$shared"/data/seeds/001_*.txt; do
        expect 0 "$IOREEL" check --json "$text"
        check "$text: rows within 0.01 %" \
            "$(json '[.rows[] | select(.law == "throughput") | .error_pct | fabs | select(. < 0.01)] | length' <<<"$out")" 15
    done
    expect 3 "$IOREEL" check --json "$shared"/data/seeds/004_*.txt
    check "CrystalDiskMark's text" "$(json '"\(.checked) \(.errors) \(.depth_not_reached)"' <<<"$out")" "128 2 1"
fi

# fio itself, when it is here: engines that wait for each I/O have as many in flight as jobs.
if command -v fio >/dev/null; then
    fio --name=a --filename="$scratch/f" --size=16m --rw=randread --bs=4k --iodepth=8 --numjobs=2 \
        --group_reporting --ioengine=psync --runtime=1 --time_based --output-format=json \
        >"$scratch/fio.json" 2>/dev/null
    { echo "fio: a warning that stands in real files"; cat "$scratch/fio.json"; } >"$scratch/stray.json"
    expect 0 "$IOREEL" check --json "$scratch/stray.json"
    check "fio: depth is the jobs" "$(json '.rows[0].depth' <<<"$out")" 2
    check_match "fio: said" "$talk" "synchronous engine"
fi

# Bad input: one line that names the place.
: >"$scratch/empty.csv"
expect 1 "$IOREEL" check "$scratch/empty.csv"
check_one_line empty
printf 'iops,latency_us\n100,abc\n' >"$scratch/bad.csv"
expect 1 "$IOREEL" check "$scratch/bad.csv"
check_match "file:line" "$talk" 'bad.csv:2: latency_us .abc. is not a number'
check_one_line bad
head -c 4096 /dev/urandom >"$scratch/noise"
expect 1 "$IOREEL" check "$scratch/noise"
check_one_line noise
expect 1 "$IOREEL" check "$scratch/absent.csv"
check_one_line absent
expect 2 "$IOREEL" check
# A trace whose depth wavers, as that of a load of a fixed depth does at the device: one row, of the depth
# averaged over time.
awk 'BEGIN {
    print "issue_ns,op,offset_bytes,len_bytes,latency_ns,depth"
    for (i = 0; i < 4096; i++)
        printf "%d,read,%d,4096,30000,%d\n", i * 10000, i * 4096, 2 + i % 4 - (i % 4 == 3) * 2
}' >"$scratch/wavers.csv"
"$IOREEL" import -q "$scratch/wavers.csv" -o "$scratch/wavers.reel" >/dev/null || exit 1
expect 0 "$IOREEL" check "$scratch/wavers.reel" --json
check "a wavering depth gives a row that checks" "$(jq -c '[.rows[] | .verdict]' <<<"$out")" '["ok"]'
check_true "of the depth averaged over time" "$(jq '.rows[0].depth' <<<"$out") > 2.9 && $(jq '.rows[0].depth' <<<"$out") < 3.1"

# A table of which nothing can be checked is not a table without faults; a sweep is something to check.
printf 'iops,device\n1000,a\n2000,b\n' >"$scratch/unknown.csv"
expect 3 "$IOREEL" check "$scratch/unknown.csv"
expect 3 "$IOREEL" check --json "$scratch/unknown.csv"
check "nothing checked" "$(json '"\(.checked) \(.errors)"' <<<"$out")" "0 0"
printf 'iops,iodepth\n1000,1\n1900,2\n' >"$scratch/sweep_only.csv"
expect 0 "$IOREEL" check "$scratch/sweep_only.csv"

finish
