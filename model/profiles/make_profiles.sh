#!/usr/bin/env bash
# Makes the profiles from the published tables in model/data/: PROGRAM is the built ioreel. Run it when
# the tables or the fit change, and build again.
set -eu
cd "$(dirname "$0")/.."
ioreel=${1:?usage: make_profiles.sh PROGRAM}
out=profiles

make() { # NAME TITLE URL CONDITIONS INPUT SELECTION...
    local name=$1 title=$2 url=$3 conditions=$4
    shift 4
    "$ioreel" fit -q --capacity --name "$name" --title "$title" --url "$url" \
        --conditions "$conditions" -o "$out/$name.json" --overwrite-output "$@" >/dev/null
}

for controller in lsi-sas pvscsi nvme; do
    make "esxi67-pm1725b-win10-$controller" \
        "VMware Performance Comparison SCSI Controller and NVMe Controller (Sebastian Köbke)" "" \
        "ESXi 6.7 U2, PM1725b NVMe, Windows 10, 8 vCPU, 8 threads" \
        data/controllers-wiki.csv --controller "$controller"
done

set -- ahci 5 lsi-sas 6 pvscsi 7 nvme 8
while [ $# -gt 0 ]; do
    make "esxi8-nested-win10-$1" \
        "Performance perspective on virtual disk controllers in VMware environments" "" \
        "nested ESXi 8.0, Samsung NVMe, Windows 10, 4 vCPU, CrystalDiskMark 8.0.4, 8 GiB" \
        data/controllers-crystaldiskmark.csv --source "crystaldiskmark-test$2"
    shift 2
done

while read -r mode name; do
    make "vsan62-nvme-$name" \
        "Intel: all-flash vSAN on NVMe SSDs, 150 thousand IOPS a node (from a VMworld talk)" \
        "https://blog.csdn.net/urh3t1/article/details/78100323" \
        "vSAN 6.2, 8 nodes, P3700 + P3520 NVMe, 2000 Windows VMs, mode $mode" \
        data/vsan-cluster.csv --device "$mode"
done <<'MODES'
performance raid1
balanced raid1-dedup
capacity raid5
availability raid6
MODES
