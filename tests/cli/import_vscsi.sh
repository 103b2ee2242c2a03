#!/usr/bin/env bash
# ioreel import of a real vscsi trace: every row's time, op, offset and size comes back exactly.
. "$(dirname "$0")/lib.sh"
need_shared data/public/cloudPhysicsIO.vscsi
need_command python3
cd "$scratch" || exit 1
trace=$shared/data/public/cloudPhysicsIO.vscsi

expect 0 "$IOREEL" import "$trace" -o c.reel --json
check "counts" "$(json '[.records, .ops.read, .ops.write, .span_ns] | join(" ")' <<<"$out")" \
    "113872 46974 66898 7200089885000"
check_true "bytes a record" "$(json .bytes_per_record <<<"$out") <= 3.6"
check "fields" "$("$IOREEL" info c.reel --json | json '.fields | sort | join(" ")')" \
    "device issue_ns len_bytes offset_bytes op"
if command -v zstd >/dev/null; then
    expect 0 zstd -q -t c.reel
fi
python3 - "$trace" >wanted.csv <<'P'
import struct, sys
data = open(sys.argv[1], 'rb').read()
start = struct.unpack_from('<Q', data, 24)[0]
for at in range(0, len(data), 32):
    _, length, _, opcode, _, block, time = struct.unpack_from('<IIIHHQQ', data, at)
    op = {0x28: 'read', 0x2a: 'write'}[opcode]
    print(f'{(time - start) * 1000},{op},{block * 512},{length}')
P
check "every row" "$("$IOREEL" cat --csv --no-head c.reel | cut -d, -f1-4 | cmp - wanted.csv 2>&1)" ""

finish
