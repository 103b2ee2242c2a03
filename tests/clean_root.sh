#!/usr/bin/env bash
# A newcomer's first minutes, on a machine with nothing: a fresh Debian 12 root (debootstrap minbase),
# a clone of the committed project in it, ./run demo and ./run test. Runs in its own mount and pid
# namespace, so that nothing stays mounted or running, and never inside itself.
# Usage: clean_root.sh [COMMAND of ./run ...], by default demo and test.
set -euo pipefail
source_folder=$(cd "$(dirname "$0")/.." && pwd)
[ -z "${IOREEL_CLEAN_ROOT:-}" ] || { echo "SKIP: already inside the clean root"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }

if [ "${1:-}" != --inside ]; then
    command -v debootstrap >/dev/null ||
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
            --no-install-recommends debootstrap; } >/dev/null
    exec unshare --mount --pid --fork --kill-child bash "$0" --inside "$@"
fi
shift
[ $# -gt 0 ] || set -- demo test

mount --make-rprivate /
root=$(mktemp -d /var/tmp/ioreel-clean-root.XXXXXX)
trap 'umount -R -l "$root" 2>/dev/null; rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root" # as / is; other users work in it too
echo "== debootstrap into $root"
if ! debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1; then
    tail -5 "$root.log" >&2
    rm -f "$root.log"
    echo "SKIP: debootstrap could not fetch Debian 12 (above)"
    exit 77
fi
rm -f "$root.log"

# Only what reaching the package archive may need on this machine.
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
    if [ -f "$file" ] && grep -qi proxy "$file"; then
        cp "$file" "$root/etc/apt/apt.conf.d/"
    fi
done

git clone -q "$source_folder" "$root/home/ioreel"
mount --bind "$root" "$root" # a mount of its own, as a root is
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
shared=${IOREEL_SHARED:-$source_folder/../shared}
if [ -d "$shared" ]; then
    mkdir "$root/home/shared"
    mount --bind -o ro "$shared" "$root/home/shared"
fi

for command; do
    echo "== ./run $command in the clean root"
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb IOREEL_CLEAN_ROOT=1 \
        ${http_proxy:+http_proxy="$http_proxy"} \
        chroot "$root" bash -c "cd /home/ioreel && ./run $command"
done
echo "== a second ./run build finds everything there"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb IOREEL_CLEAN_ROOT=1 \
    chroot "$root" bash -c "cd /home/ioreel && ./run build" | tee "$root/second"
! grep -q installing "$root/second"
