#!/usr/bin/env bash
# The controller lab: boots a guest that has every storage controller with its real driver, runs
# scenarios in it, and says of each whether it passed.
#
#   lab.sh [SCENARIO…]      all scenarios, or these
#   lab.sh list             what there is
#   lab.sh build            builds the guest (a run does it by itself)
#   lab.sh shell [KERNEL]   a shell in the guest, with all devices
#   lab.sh result SCENARIO  what the last run said of it, and its exit status
#   lab.sh packages         installs what the host lacks
#
# $IOREEL is the program under test (build/release/ioreel), $LAB_BREAK breaks what a scenario checks,
# $LAB_BUILD is where the guest and the results go (build/lab). Exit: 0 all passed, 1 one failed,
# 2 usage, 77 the lab cannot run here.
set -u
export PATH="$PATH:/usr/sbin:/sbin"
lab_source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab_root=$(cd "$lab_source/../.." && pwd)
lab_build=${LAB_BUILD:-$lab_root/build/lab}
lab_program=${IOREEL:-$lab_root/build/release/ioreel}
export LAB_BREAK=${LAB_BREAK:-}
# What a broken run finds must not stand in for a real one's results.
lab_results=$lab_build/results${LAB_BREAK:+-broken}
default_kernel=6.1
boot_limit=120
# shellcheck source=guest_build.sh
. "$lab_source/guest_build.sh"
# shellcheck source=machine.sh
. "$lab_source/machine.sh"
lab_ran=
declare -A job_status job_seconds guest_status host_status
trap machine_stop EXIT
trap 'exit 130' INT TERM

scenario_names() {
    local file
    for file in "$lab_source"/scenarios/*.sh; do
        basename "$file" .sh
    done
}

# scenario_header NAME KEY DEFAULT: a line "# lab: KEY=VALUE" of the scenario's head.
scenario_header() {
    local value
    value=$(sed -n "/^#/!q; s/^# lab: $2=//p" "$lab_source/scenarios/$1.sh")
    echo "${value:-$3}"
}

# result_folder NAME KERNEL: where in /results a job writes; a scenario that runs on several kernels
# has a folder for each.
result_folder() {
    case $(scenario_header "$1" kernels $default_kernel) in
        *' '*) echo "/$2" ;;
    esac
}

# union WORDS...: each word once.
union() { printf '%s\n' "$@" | awk '!seen[$0]++' | tr '\n' ' '; }

# write_jobs FILE KERNEL JOBS: what the guest sources.
write_jobs() {
    {
        printf 'lab_kernel=%q\nlab_slots=%q\nlab_modules=%q\nlab_jobs=%q\nlab_shell=%q\n' \
            "$2" "$slots" "$guest_boot_modules" "$3" "${4:-}"
        printf 'export LAB_BREAK=%q\n' "$LAB_BREAK"
    } >"$1"
}

# boot_once KERNEL RUN DEVICES JOBS: boots, watches, brings the results out. Jobs are NAME:PHASE:FOLDER.
boot_once() {
    local kernel=$1 run=$2 jobs=$4
    machine_prepare "$kernel" "$run" "$3" || return
    rm -f "$run/results.raw"
    truncate -s 512M "$run/results.raw"
    write_jobs "$run/jobs" "$kernel" "$jobs"
    write_initrd "$kernel" "$run/initrd" "$run/jobs" || return
    machine_start "$kernel" "$run" "file:$run/console" || return
    started_s=$SECONDS
    "${qemu[@]}" </dev/null >"$run/qemu.log" 2>&1 8>&- &
    machine_pid=$!
    machine_watch "$run"
    tar -xf "$run/results.raw" -C "$lab_results" 2>/dev/null
    [ ! -s "$run/qemu.log" ] || sed 's/^/lab: qemu: /' "$run/qemu.log" >&2
}

# run_boot KERNEL NAMES...: one guest for all of them; another one after a power cut, and for the rest
# after a scenario that took its guest down.
run_boot() {
    local kernel=$1 name jobs=() devices= run rest
    shift
    run=$lab_build/run/$kernel
    rm -rf "$run"
    mkdir -p "$run" "$lab_results"
    for name; do
        devices="$devices $(scenario_header "$name" devices '')"
        jobs+=("$name:1:$(result_folder "$name" "$kernel")")
        rm -rf "$lab_results/$name$(result_folder "$name" "$kernel")"
        job_status[$name]=
        : "${job_seconds[$name]:=0}"
    done
    # shellcheck disable=SC2086
    devices=$(union $devices)
    while [ ${#jobs[@]} -gt 0 ]; do
        boot_once "$kernel" "$run" "$devices" "${jobs[*]}" || return
        case $ending in
            done) jobs=() ;;
            *) next_jobs "$run" ;;
        esac
    done
}

# next_jobs RUN: after a guest that ended early, in $jobs what is still to do.
next_jobs() {
    local rest=("${jobs[@]}") name phase folder
    while [ ${#rest[@]} -gt 0 ] && [ -n "${job_status[${rest[0]%%:*}]}" ]; do
        rest=("${rest[@]:1}")
    done
    if [ ${#rest[@]} -eq 0 ]; then
        jobs=()
        return
    fi
    IFS=: read -r name phase folder <<<"${rest[0]}"
    if [ "$ending" = cut ] && [ "$job" = "$name" ]; then
        jobs=("$name:$((phase + 1)):$folder" "${rest[@]:1}")
        return
    fi
    if [ -z "$job" ]; then
        show_console "$1" "the guest $ending before $name"
    else
        show_console "$1" "the guest $ending in $name"
    fi
    job_status[$name]=$ending
    jobs=("${rest[@]:1}")
}

# run_host NAME: the part of a scenario that looks at the results from outside the guest.
run_host() {
    (
        cd "$lab_results/$1" || exit
        # shellcheck source=host_lib.sh
        . "$lab_source/host_lib.sh"
        # shellcheck disable=SC1090
        . "$lab_source/scenarios/$1.sh"
        declare -F host >/dev/null || exit 0
        host
        lab_end
    ) >"$lab_results/$1/host.log" 2>&1
}

# report NAME: its line, and on failure what differed. Writes the status for `lab.sh result`.
report() {
    local name=$1 folder=$lab_results/$1 word=passed log
    passed "$name" || word=FAILED
    {
        echo "$word: $name (guest: ${guest_status[$name]}, host: ${host_status[$name]}, ${job_seconds[$name]:-?} s in the guest)"
        for log in "$folder"/guest.log "$folder"/*/guest.log "$folder"/host.log; do
            [ -s "$log" ] || continue
            if [ $word = FAILED ]; then
                grep -v '^ok: ' "$log" | sed "s|^|    ${log#"$folder/"}: |"
            else
                tail -n 1 "$log" | sed "s|^|    ${log#"$folder/"}: |"
            fi
        done
    } | tee "$folder/report"
    echo "$word" >"$folder/status"
    [ $word = passed ]
}

# run_pass NAMES...: a boot for each kernel that they want, then what looks at the results.
run_pass() {
    local kernel name names kernels=()
    for name; do
        read -ra names <<<"$(scenario_header "$name" kernels $default_kernel)"
        kernels+=("${names[@]}")
        guest_status[$name]=0
        job_seconds[$name]=0
    done
    for kernel in $(union "${kernels[@]}"); do
        build_guest "$kernel" || return
        names=()
        for name; do
            case " $(scenario_header "$name" kernels $default_kernel) " in
                *" $kernel "*) names+=("$name") ;;
            esac
        done
        ready_s='?'
        echo "lab: kernel $kernel: ${names[*]}"
        run_boot "$kernel" "${names[@]}" || return
        echo "lab: kernel $kernel: up in $ready_s s, over after $((SECONDS - started_s)) s"
        for name in "${names[@]}"; do
            [ "${job_status[$name]}" = 0 ] || guest_status[$name]=${job_status[$name]:-1}
        done
    done
    for name; do
        mkdir -p "$lab_results/$name"
        run_host "$name"
        host_status[$name]=$?
    done
}

passed() { [ "${guest_status[$1]}" = 0 ] && [ "${host_status[$1]}" = 0 ]; }

# run_scenarios NAMES...: those that a busy host can disturb ("# lab: tries=2") have a second try, with
# the guest to themselves.
run_scenarios() {
    local name again=() failed=0
    take_lock
    run_pass "$@" || return
    for name; do
        passed "$name" || [ "$(scenario_header "$name" tries 1)" = 1 ] || [ -n "$LAB_BREAK" ] ||
            again+=("$name")
    done
    if [ ${#again[@]} -gt 0 ]; then
        for name in "${again[@]}"; do
            echo "lab: $name failed and is tried once more:"
            grep -h ^FAILED "$lab_results/$name/"*.log | sed 's/^/    /'
        done
        run_pass "${again[@]}" || return
    fi
    for name; do
        report "$name" || failed=$((failed + 1))
    done
    lab_ran=yes
    "$lab_source/summary.sh" "$lab_results" >"$lab_results/summary.md"
    echo "lab: $# scenarios, $failed failed; results in ${lab_results#"$lab_root/"}"
    echo "$(($# - failed)) passed, $failed failed, 0 skipped"
    [ "$failed" = 0 ]
}

# take_lock: two runs would write the same results.
take_lock() {
    mkdir -p "$lab_build"
    exec 8>"$lab_build/lock"
    flock -n 8 || {
        echo "lab: another run is on; waiting for it" >&2
        flock 8
    }
    rm -rf "$lab_build"/root.* "$lab_build"/unpack.* # of a run that was ended
}

# lab_shell KERNEL: the guest's console is this terminal.
lab_shell() {
    local kernel=$1 run=$lab_build/run/shell name devices=
    build_guest "$kernel" || return
    rm -rf "$run"
    mkdir -p "$run"
    for name in $(scenario_names); do
        devices="$devices $(scenario_header "$name" devices '')"
    done
    # shellcheck disable=SC2086
    machine_prepare "$kernel" "$run" "$(union $devices)" || return
    write_jobs "$run/jobs" "$kernel" '' shell
    write_initrd "$kernel" "$run/initrd" "$run/jobs" || return
    machine_start "$kernel" "$run" mon:stdio || return
    echo "lab: a shell in the guest; exit or Ctrl-A X ends it" >&2
    "${qemu[@]}"
}

result() {
    local folder=$lab_results/$1
    if [ ! -e "$folder/status" ]; then
        echo "SKIP: $1 has not run; lab.sh runs it"
        return 77
    fi
    cat "$folder/report"
    [ "$(cat "$folder/status")" = passed ]
}

usage() { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; }

check_scenarios() {
    local name
    [ -x "$lab_program" ] || {
        echo "lab: there is no $lab_program; ./run build makes it" >&2
        return 2
    }
    for name; do
        [ -e "$lab_source/scenarios/$name.sh" ] || {
            echo "lab: there is no scenario '$name'; lab.sh list names them" >&2
            return 2
        }
    done
}

list_scenarios() {
    local name
    for name in $(scenario_names); do
        printf '%-14s %s\n' "$name" "$(sed -n '1s/^# //p' "$lab_source/scenarios/$name.sh")"
    done
}

main() {
    case ${1:-} in
        -h | --help) usage ;;
        list) list_scenarios ;;
        result) result "${2:?a scenario}" ;;
        packages) lab_packages ;;
        run-all) # for ctest, which asks for each scenario's result afterwards
            check_scenarios || return
            lab_packages || return 77
            # shellcheck disable=SC2046
            run_scenarios $(scenario_names) || [ -n "$lab_ran" ]
            ;;
        build)
            lab_packages || return 77
            build_guest "${2:-$default_kernel}"
            ;;
        shell)
            lab_packages || return 77
            lab_shell "${2:-$default_kernel}"
            ;;
        *)
            check_scenarios "$@" || return
            lab_packages || return 77
            # shellcheck disable=SC2046
            [ $# -gt 0 ] || set -- $(scenario_names)
            run_scenarios "$@"
            ;;
    esac
}

main "$@"
