# Builds the guest that the lab boots, from Debian's packages alone: a kernel and its modules
# unpacked into the build tree, busybox, the programs that scenarios use with their shared libraries.
# Sourced by lab.sh. Nothing is installed but the host's own tools (lab_packages), nothing outside
# $lab_build is written, and what was built from the same inputs is not built again.
#
#   $lab_build/kernel-6.1/        vmlinuz, version, modules/ (just those that are needed)
#   $lab_build/base-6.1.cpio      the root file system without our own program

# What the lab needs of the host, as "program package".
lab_needs='
qemu-system-x86_64 qemu-system-x86
busybox busybox-static
cpio cpio
depmod kmod
xz xz-utils
fio fio
blktrace blktrace
jq jq
mke2fs e2fsprogs
bash bash
cmp diffutils
'

# The programs that go into the guest.
guest_programs='bash fio blktrace blkparse jq mke2fs'

# Of our own build, beside ioreel itself.
lab_helpers='check_written'

# Modules that the guest loads at boot, and those that it has for scenarios to load.
guest_boot_modules='virtio_pci virtio_blk virtio_scsi nvme vmw_pvscsi mptsas ahci sd_mod sg'
guest_spare_modules='scsi_debug null_blk ext4 loop nvmet nvmet-tcp nvme-tcp'

# lab_packages: installs what is missing of the host's tools, and says what.
lab_packages() {
    local program package missing=
    while read -r program package; do
        [ -n "$program" ] || continue
        command -v "$program" >/dev/null 2>&1 || missing="$missing $package"
    done <<<"$lab_needs"
    # The guest's busybox must need no libraries.
    if command -v busybox >/dev/null 2>&1 && ldd "$(command -v busybox)" >/dev/null 2>&1; then
        missing="$missing busybox-static"
    fi
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "lab: needs the packages$missing; install them as root: apt-get install$missing" >&2
        return 1
    fi
    echo "lab: installing$missing" >&2
    # shellcheck disable=SC2086
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install -y --no-install-recommends $missing; } >&2
}

# hash_of TEXT...: names what was built from these inputs.
hash_of() { printf '%s\n' "$@" | sha256sum | cut -c1-16; }

# fresh STAMP HASH OUTPUT: true when the output was built from the same inputs.
fresh() { [ -e "$3" ] && [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }

# apt_options: when the host's package lists lack a kernel (a minimal root has no security archive,
# where Debian 12 keeps 6.12), lists of our own are used, so the host's stay as they are.
own_apt_lists() {
    local apt=$lab_build/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    cat >"$apt/sources.list" <<LISTS
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security bookworm-security main
LISTS
    apt_options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
    apt-get "${apt_options[@]}" -qq update
}

# newest_kernel SERIES: the package of Debian's newest kernel of that series ("6.1", "6.12").
newest_kernel() {
    apt-cache "${apt_options[@]}" search --names-only "^linux-image-${1/./\\.}\.[0-9]+.*-amd64\$" |
        awk '{print $1}' | grep -Ev 'cloud|-rt-|unsigned|-dbg' | sort -V | tail -1
}

# build_kernel SERIES
build_kernel() {
    local series=$1 dir=$lab_build/kernel-$1 package deb work version module
    local hash
    hash=$(hash_of "kernel $series" "$guest_boot_modules" "$guest_spare_modules")
    fresh "$dir/stamp" "$hash" "$dir/vmlinuz" && return
    apt_options=(-o APT::Sandbox::User=root)
    package=$(newest_kernel "$series")
    if [ -z "$package" ]; then
        own_apt_lists || return
        package=$(newest_kernel "$series")
    fi
    [ -n "$package" ] || {
        echo "lab: no package linux-image-$series.*-amd64 in the archive; see 'apt-cache policy'" >&2
        return 1
    }
    echo "lab: unpacking $package" >&2
    work=$(mktemp -d "$lab_build/unpack.XXXXXX")
    (cd "$work" && apt-get "${apt_options[@]}" -qq download "$package") || return
    deb=$(echo "$work"/*.deb)
    dpkg --fsys-tarfile "$deb" | tar -x -C "$work" --wildcards './boot/vmlinuz*' './lib/modules/*' || return
    version=$(basename "$work"/lib/modules/*)
    depmod -b "$work" "$version" || return
    rm -rf "$dir"
    mkdir -p "$dir/modules/lib/modules/$version"
    cp "$work/lib/modules/$version/"modules.{order,builtin,builtin.modinfo} \
        "$dir/modules/lib/modules/$version/"
    for module in $guest_boot_modules $guest_spare_modules; do
        modprobe -d "$work" -S "$version" --show-depends "$module" || return
    done | awk '$1 == "insmod" {print $2}' | sort -u |
        while read -r module; do
            mkdir -p "$dir/modules/$(dirname "${module#"$work"}")"
            cp "$module" "$dir/modules/${module#"$work"}"
        done
    find "$dir/modules" -name '*.ko.xz' -exec xz -d {} +
    depmod -b "$dir/modules" "$version" || return
    mv "$work/boot/vmlinuz-$version" "$dir/vmlinuz"
    echo "$version" >"$dir/version"
    echo "$hash" >"$dir/stamp"
    rm -rf "$work"
}

# copy_program ROOT FILE [NAME]: the file, and the libraries that it loads, at their own paths.
copy_program() {
    local root=$1 file=$2 library
    cp -L "$file" "$root/bin/${3:-$(basename "$file")}" || return
    { ldd "$file" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        [ -e "$root$library" ] && continue
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
}

# build_base SERIES
build_base() {
    local series=$1 out=$lab_build/base-$1.cpio root program hash
    hash=$(hash_of "$(cat "$lab_build/kernel-$series/stamp" "$lab_source/guest_build.sh" | sha256sum)" \
        "$(for program in busybox $guest_programs; do sha256sum "$(command -v "$program")"; done)")
    fresh "$out.stamp" "$hash" "$out" && return
    echo "lab: building the guest for kernel $(cat "$lab_build/kernel-$series/version")" >&2
    root=$(mktemp -d "$lab_build/root.XXXXXX")
    mkdir -p "$root"/{bin,dev,etc,proc,sys,tmp,results,run,mnt,var,usr/bin} || return
    # Debian 12 has / and /usr merged; so has the guest, and a library has one place.
    mkdir -p "$root"/usr/{lib,lib64,sbin}
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    ln -s bin "$root/sbin"
    copy_program "$root" "$(command -v busybox)" || return
    while read -r program; do
        [ -e "$root/bin/$program" ] || ln -s busybox "$root/bin/$program"
    done < <(busybox --list)
    rm -f "$root/bin/bash"
    for program in $guest_programs; do
        rm -f "$root/bin/$program"
        copy_program "$root" "$(command -v "$program")" || return
    done
    cp -r "$lab_build/kernel-$series/modules/lib/." "$root/usr/lib/"
    echo 'root:x:0:0:root:/:/bin/bash' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    : >"$root/etc/mtab"
    (cd "$root" && find . | cpio -o -H newc --quiet) >"$out.new" || return
    mv "$out.new" "$out"
    echo "$hash" >"$out.stamp"
    rm -rf "$root"
}

# build_guest SERIES: prints nothing when there is nothing to do.
build_guest() {
    mkdir -p "$lab_build"
    build_kernel "$1" && build_base "$1"
}

# write_initrd SERIES OUT JOBFILE: the base, and after it an archive of what changes from run to run:
# our program, the guest's scripts, the scenarios and the list of jobs. The kernel unpacks both.
write_initrd() {
    local root program
    root=$(mktemp -d "$lab_build/root.XXXXXX")
    mkdir -p "$root"/{bin,lab} "$root/usr/lib" "$root/usr/lib64"
    if [ -x "$lab_program" ]; then
        ln -s usr/lib "$root/lib"
        ln -s usr/lib64 "$root/lib64"
        copy_program "$root" "$lab_program" ioreel || return
        for program in $lab_helpers; do
            copy_program "$root" "$(dirname "$lab_program")/tests/$program" || return
        done
    fi
    cp "$lab_source/guest_init.sh" "$root/init"
    chmod +x "$root/init"
    cp -r "$lab_source/scenarios" "$lab_source/guest_lib.sh" "$lab_source/checks.sh" "$lab_source/captures.sh" "$root/lab/"
    cp "$3" "$root/lab/jobs"
    (cd "$root" && find . | cpio -o -H newc --quiet | cat "$lab_build/base-$1.cpio" -) >"$2" || return
    rm -rf "$root"
}
