/* Spellings of ops, flags and fields. */
#include "traces/record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const op_names[IO_OP_COUNT] = {
    "read",        "write",     "flush",   "discard", "write_zeroes",
    "zone_append", "zone_mgmt", "compare", "other",
};

static const char *const flag_names[IO_FLAG_COUNT] = {
    "fua",  "sync", "preflush",    "meta",     "readahead",   "background",
    "prio", "idle", "passthrough", "requeued", "open_at_end",
};

static const char *const field_names[IO_FIELD_COUNT] = {
    "issue_ns", "queue_ns", "latency_ns", "offset_bytes", "len_bytes", "op",
    "flags",    "status",   "raw_status", "depth",        "demand",    "device",
    "process",  "hw_queue", "cpu",        "parent",       "think_ns",
};

const char *io_op_name(unsigned op)
{
    return op < IO_OP_COUNT ? op_names[op] : "other";
}

int io_op_parse(const char *text, size_t length, uint8_t *op)
{
    if (length == 1 && strchr("rRwW", text[0])) {
        *op = text[0] == 'r' || text[0] == 'R' ? IO_READ : IO_WRITE;
        return 0;
    }
    for (unsigned i = 0; i < IO_OP_COUNT; i++)
        if (strlen(op_names[i]) == length && strncasecmp(op_names[i], text, length) == 0) {
            *op = (uint8_t)i;
            return 0;
        }
    return -EINVAL;
}

char *io_flags_format(unsigned flags, char out[IO_FLAGS_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < IO_FLAG_COUNT; i++)
        if (flags & (1u << i))
            used += (size_t)snprintf(out + used, IO_FLAGS_TEXT - used, "%s%s", used ? "|" : "",
                                     flag_names[i]);
    return out;
}

int io_flags_parse(const char *text, size_t length, uint16_t *flags)
{
    *flags = 0;
    while (length > 0) {
        const char *bar = memchr(text, '|', length);
        size_t word = bar ? (size_t)(bar - text) : length;
        unsigned i = 0;
        while (i < IO_FLAG_COUNT &&
               (strlen(flag_names[i]) != word || strncmp(flag_names[i], text, word) != 0))
            i++;
        if (i == IO_FLAG_COUNT)
            return -EINVAL;
        *flags |= (uint16_t)(1u << i);
        size_t step = word + (bar ? 1 : 0);
        text += step;
        length -= step;
    }
    return 0;
}

const char *io_field_name(unsigned field_number)
{
    return field_number < IO_FIELD_COUNT ? field_names[field_number] : "unknown";
}
