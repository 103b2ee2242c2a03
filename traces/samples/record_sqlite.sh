#!/usr/bin/env bash
# Records traces/samples/sqlite.reel: SQLite on ext4 on a loop device, captured by ioreel. Needs root,
# sqlite3 and e2fsprogs. Argument: the output (default traces/samples/sqlite.reel).
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(readlink -f "${1:-traces/samples/sqlite.reel}")
ioreel=$PWD/build/release/ioreel
work=$(mktemp -d /dev/shm/ioreel-sample.XXXXXX)
device=
clean_up() {
    mountpoint -q "$work/mnt" 2>/dev/null && umount "$work/mnt"
    [ -z "$device" ] || losetup -d "$device"
    rm -rf "$work"
}
trap clean_up EXIT

truncate -s 512M "$work/disk"
device=$(losetup -f --show "$work/disk")
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device"
mkdir "$work/mnt"
mount -o noatime "$device" "$work/mnt"
database=$work/mnt/orders.db

# A table of 60 MB, filled before the recording.
sqlite3 "$database" <<'SQL' >/dev/null
PRAGMA journal_mode = wal;
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, placed TEXT, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO orders SELECT i, i * 7919 % 5000, datetime(1700000000 + i, 'unixepoch'),
    randomblob(500) FROM n;
CREATE INDEX by_customer ON orders (customer);
SQL
sync
echo 3 >/proc/sys/vm/drop_caches

# The work: many short transactions that read one customer's orders and write one, each made durable.
workload() {
    awk 'BEGIN {
        srand(42)
        print "PRAGMA synchronous = full; PRAGMA cache_size = 200; PRAGMA mmap_size = 0;"
        for (i = 0; i < 3000; i++) {
            customer = int(rand() * 5000)
            printf "SELECT sum(length(body)) FROM orders WHERE customer = %d;\n", customer
            printf "INSERT INTO orders (customer, placed, body) VALUES (%d, datetime(), randomblob(400));\n", customer
            if (i % 500 == 499)
                print "PRAGMA wal_checkpoint(truncate);"
        }
    }' | sqlite3 "$database" >/dev/null
}

rm -f "$out"
"$ioreel" capture -d "$device" -o "$out" --level 19 &
capture=$!
while [ ! -s "$out" ]; do sleep 0.05; done
workload
sync
sleep 1
kill -INT "$capture"
wait "$capture" || [ $? = 3 ]
