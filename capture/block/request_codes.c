/* Names of the kernel's enums against the record's. */
#include "capture/block/private/request_codes.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <bpf/btf.h>

#include "traces/record/record.h"

struct code_row {
    const char *name;
    uint32_t value; /* in Linux 6.1 */
    uint16_t meaning;
};

static const struct code_row op_rows[] = {
    {"REQ_OP_READ", 0, IO_READ},
    {"REQ_OP_WRITE", 1, IO_WRITE},
    {"REQ_OP_FLUSH", 2, IO_FLUSH},
    {"REQ_OP_DISCARD", 3, IO_DISCARD},
    {"REQ_OP_SECURE_ERASE", 5, IO_DISCARD},
    {"REQ_OP_WRITE_ZEROES", 9, IO_WRITE_ZEROES},
    {"REQ_OP_ZONE_OPEN", 10, IO_ZONE_MGMT},
    {"REQ_OP_ZONE_CLOSE", 11, IO_ZONE_MGMT},
    {"REQ_OP_ZONE_FINISH", 12, IO_ZONE_MGMT},
    {"REQ_OP_ZONE_APPEND", 13, IO_ZONE_APPEND},
    {"REQ_OP_ZONE_RESET", 15, IO_ZONE_MGMT},
    {"REQ_OP_ZONE_RESET_ALL", 17, IO_ZONE_MGMT},
};

static const struct code_row passthrough_rows[] = {
    {"REQ_OP_DRV_IN", 34, IO_FLAG_PASSTHROUGH},
    {"REQ_OP_DRV_OUT", 35, IO_FLAG_PASSTHROUGH},
};

static const struct code_row flag_rows[] = {
    {"__REQ_SYNC", 11, IO_FLAG_SYNC},        {"__REQ_META", 12, IO_FLAG_META},
    {"__REQ_PRIO", 13, IO_FLAG_PRIO},        {"__REQ_IDLE", 15, IO_FLAG_IDLE},
    {"__REQ_FUA", 17, IO_FLAG_FUA},          {"__REQ_PREFLUSH", 18, IO_FLAG_PREFLUSH},
    {"__REQ_RAHEAD", 19, IO_FLAG_READAHEAD}, {"__REQ_BACKGROUND", 20, IO_FLAG_BACKGROUND},
};

/* blk_status_t has been stable at the low end; what lies above 13 is EIO or told apart nowhere. */
static const uint8_t status_errno[] = {
    [1] = EOPNOTSUPP, [2] = ETIMEDOUT, [3] = ENOSPC, [4] = ENOLINK, [5] = EREMOTEIO,
    [6] = EBADE,      [7] = ENODATA,   [8] = EILSEQ, [9] = ENOMEM,  [10] = EIO,
    [11] = EREMCHG,   [12] = EAGAIN,   [13] = EBUSY,
};

/* The value of a member of the enum, or of the enum under its older name. */
static uint32_t value_of(const struct btf *kernel, const char *const *enums,
                         const struct code_row *row)
{
    for (; kernel && *enums; enums++) {
        int id = btf__find_by_name_kind(kernel, *enums, BTF_KIND_ENUM);
        if (id < 0)
            continue;
        const struct btf_type *type = btf__type_by_id(kernel, (uint32_t)id);
        const struct btf_enum *member = btf_enum(type);
        for (unsigned i = 0; i < btf_vlen(type); i++) {
            const char *name = btf__name_by_offset(kernel, member[i].name_off);
            if (name && strcmp(name, row->name) == 0)
                return (uint32_t)member[i].val;
        }
        return UINT32_MAX; /* this kernel does not have it */
    }
    return row->value;
}

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

void request_codes_load(struct request_codes *codes, const struct btf *kernel)
{
    static const char *const op_enums[] = {"req_op", "req_opf", NULL};
    static const char *const flag_enums[] = {"req_flag_bits", NULL};
    *codes = (struct request_codes){0};
    memset(codes->op, IO_OTHER, sizeof codes->op);
    for (size_t i = 0; i < COUNT(op_rows); i++) {
        uint32_t value = value_of(kernel, op_enums, &op_rows[i]);
        if (value < REQUEST_OPS)
            codes->op[value] = (uint8_t)op_rows[i].meaning;
    }
    for (size_t i = 0; i < COUNT(passthrough_rows); i++) {
        uint32_t value = value_of(kernel, op_enums, &passthrough_rows[i]);
        if (value < REQUEST_OPS)
            codes->op_flag[value] = passthrough_rows[i].meaning;
    }
    for (size_t i = 0; i < COUNT(flag_rows); i++) {
        uint32_t value = value_of(kernel, flag_enums, &flag_rows[i]);
        if (value < REQUEST_FLAG_BITS)
            codes->flag[value] = flag_rows[i].meaning;
    }
}

uint16_t request_codes_flags(const struct request_codes *codes, uint32_t cmd_flags)
{
    uint16_t flags = codes->op_flag[cmd_flags % REQUEST_OPS];
    for (uint32_t bits = cmd_flags & ~(REQUEST_OPS - 1u); bits; bits &= bits - 1)
        flags |= codes->flag[__builtin_ctz(bits)];
    return flags;
}

uint8_t request_codes_errno(const struct request_codes *codes, uint8_t status)
{
    if (status == 0 || codes->status_is_errno)
        return status;
    return status < sizeof status_errno ? status_errno[status] : EIO;
}
