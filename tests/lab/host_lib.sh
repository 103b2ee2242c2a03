# What scenarios use in host(), beside checks.sh: it runs outside the guest, in the folder of results
# that guest() wrote, with the guest's disks still there.
# shellcheck source=checks.sh
. "$lab_source/checks.sh"

ioreel() { "$lab_program" "$@"; }

# disk DEVICE [KERNEL]: the file behind one of the guest's disks.
disk() { echo "$lab_build/run/${2:-$default_kernel}/$1.raw"; }
