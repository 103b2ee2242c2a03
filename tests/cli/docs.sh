# The manual is true: every example in the docs and in every command's help works when pasted, and every
# option of a command is on its page.
source "$(dirname "$0")/lib.sh"
need_command jq
mkdir "$scratch/bin" "$scratch/here"
ln -s "$IOREEL" "$scratch/bin/ioreel"
PATH=$scratch/bin:$PATH
cd "$scratch/here" || exit 1
for entry in "$IOREEL_SOURCE"/*; do # a copy that examples may write beside
    name=$(basename "$entry")
    [ "$name" = build ] || ln -s "$entry" "$name"
done

# The files that examples speak of besides the sample.
ln -s "$IOREEL_SOURCE/traces/samples/sqlite.reel" recorded.reel
ln -s "$IOREEL_SOURCE/traces/samples/sqlite.reel" mine.reel
"$IOREEL_BUILD/tests/shift_trace" recorded.reel replayed.reel latency=1.1

# Examples that write to devices or need one are run by the tests of their own command.
needs_device() { grep -Eq '/dev/|capture|sudo |git clone|\./run ' <<<"$1"; }

# What one page's examples wrote is in the way of the next one's.
fresh() { find . -maxdepth 1 -type f ! -name replayed.reel -delete; }

run_example() { # WHERE LINE
    checks=$((checks + 1))
    if needs_device "$2"; then
        bash -n <<<"$2" || failures=$((failures + 1))
        return
    fi
    bash -c "set -o pipefail; $2" >out.txt 2>err.txt </dev/null
    local rc=$?
    [ $rc = 0 ] || [ $rc = 3 ] && return
    failures=$((failures + 1))
    printf 'FAILED: %s: %s\n  exit %s: %s\n' "$1" "$2" "$rc" "$(head -3 err.txt)"
}

count=0
for page in README.md docs/*.md; do
    case $page in docs/design.md | docs/format.md | docs/lab.md) continue ;; esac
    fresh
    while IFS= read -r line; do
        run_example "$page" "$line"
        count=$((count + 1))
    done < <(awk '/^```/ { inside = !inside; next } inside && /^[a-z.\/]/' "$page" | grep -E 'ioreel')
done
echo "$count examples of the docs"

for command in $("$IOREEL" -h | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    page=$IOREEL_SOURCE/docs/$command.md
    checks=$((checks + 1))
    [ -f "$page" ] || { failures=$((failures + 1)); echo "FAILED: no page docs/$command.md"; continue; }
    check "$page begins as a manual page" "$(head -1 "$page")" "ioreel-$command(1)"
    help=$("$IOREEL" "$command" -h)
    while IFS= read -r option; do
        case $option in --help | --quiet | --verbose) continue ;; esac
        checks=$((checks + 1))
        grep -q -- "$option" "$page" ||
            { failures=$((failures + 1)); echo "FAILED: docs/$command.md does not name $option"; }
    done < <(grep -oE '^ +(-., +)?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+')
    fresh
    while IFS= read -r line; do
        run_example "ioreel $command -h" "$line"
    done < <(sed -n '/^Examples:/,/^$/p' <<<"$help" | sed -n 's/^  //p')
    if command -v scdoc >/dev/null; then
        checks=$((checks + 1))
        scdoc <"$page" >/dev/null 2>err.txt ||
            { failures=$((failures + 1)); echo "FAILED: scdoc docs/$command.md: $(cat err.txt)"; }
    fi
done
finish
