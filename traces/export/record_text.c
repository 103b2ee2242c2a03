/* Records as text, CSV and JSON lines. Written by hand and not through a JSON tree, since `cat`
 * prints millions of them. */
#include "traces/export/private/record_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"

/* A line being built; the end is never passed. */
struct line {
    char *at;
    char *end;
    bool first;
};

static void put_char(struct line *l, char c)
{
    if (l->at < l->end)
        *l->at++ = c;
}

static void put_text(struct line *l, const char *text)
{
    for (; *text; text++)
        put_char(l, *text);
}

static void put_u64(struct line *l, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        put_char(l, digits[--count]);
}

/* CSV: quoted when it must be. JSON: always quoted, with escapes; bytes that are no UTF-8 text were
 * written by some kernel or file, so control bytes are escaped and bytes from 0x80 on are kept only
 * when the whole name is valid UTF-8. */
static void put_csv_text(struct line *l, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        put_text(l, text);
        return;
    }
    put_char(l, '"');
    for (; *text; text++) {
        if (*text == '"')
            put_char(l, '"');
        put_char(l, *text);
    }
    put_char(l, '"');
}

static bool is_utf8(const unsigned char *text)
{
    while (*text) {
        unsigned more = *text < 0x80                     ? 0
                        : *text >= 0xc2 && *text < 0xe0  ? 1
                        : (*text & 0xf0) == 0xe0         ? 2
                        : *text >= 0xf0 && *text <= 0xf4 ? 3
                                                         : 9;
        if (more == 9)
            return false;
        /* Over-long forms, surrogates and beyond U+10FFFF. */
        if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) ||
            (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
            return false;
        for (text++; more; more--, text++)
            if ((*text & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static void put_json_text(struct line *l, const char *text)
{
    bool plain = is_utf8((const unsigned char *)text);
    put_char(l, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') {
            put_char(l, '\\');
            put_char(l, (char)*at);
        } else if (*at < 0x20 || *at == 0x7f || (*at >= 0x80 && !plain)) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", *at);
            put_text(l, escape);
        } else {
            put_char(l, (char)*at);
        }
    }
    put_char(l, '"');
}

static const char *device_name(const struct io_record *r, const struct trace_meta *meta)
{
    bool known = r->has & IO_HAS_DEVICE && r->device < meta->device_count;
    return known ? meta->devices[r->device].name : NULL;
}

static const struct trace_process *process_of(const struct io_record *r,
                                              const struct trace_meta *meta)
{
    bool known = r->has & IO_HAS_PROCESS && r->process < meta->process_count;
    return known ? &meta->processes[r->process] : NULL;
}

/* The numeric fields in the order of the columns; texts are handled on their own. */
struct number_field {
    const char *name;
    uint32_t bit;
};

static uint64_t number_of(const struct io_record *r, uint32_t bit)
{
    switch (bit) {
    case IO_HAS_ISSUE:
        return r->issue_ns;
    case IO_HAS_OFFSET:
        return r->offset_bytes;
    case IO_HAS_LEN:
        return r->len_bytes;
    case IO_HAS_LATENCY:
        return r->latency_ns;
    case IO_HAS_QUEUE:
        return r->queue_ns;
    case IO_HAS_STATUS:
        return r->status;
    case IO_HAS_RAW_STATUS:
        return r->raw_status;
    case IO_HAS_DEPTH:
        return r->depth;
    case IO_HAS_DEMAND:
        return r->demand;
    case IO_HAS_HW_QUEUE:
        return r->hw_queue;
    case IO_HAS_CPU:
        return r->cpu;
    default:
        return 0;
    }
}

static const struct number_field after_op[] = {{"offset_bytes", IO_HAS_OFFSET},
                                               {"len_bytes", IO_HAS_LEN},
                                               {"latency_ns", IO_HAS_LATENCY},
                                               {"queue_ns", IO_HAS_QUEUE}};
static const struct number_field after_flags[] = {{"status", IO_HAS_STATUS},
                                                  {"raw_status", IO_HAS_RAW_STATUS},
                                                  {"depth", IO_HAS_DEPTH},
                                                  {"demand", IO_HAS_DEMAND}};
static const struct number_field at_end[] = {{"hw_queue", IO_HAS_HW_QUEUE}, {"cpu", IO_HAS_CPU}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void csv_numbers(struct line *l, const struct io_record *r,
                        const struct number_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put_char(l, ',');
        if (r->has & fields[i].bit)
            put_u64(l, number_of(r, fields[i].bit));
    }
}

size_t record_csv_head(char *out)
{
    static const char head[] =
        "issue_ns,op,offset_bytes,len_bytes,latency_ns,queue_ns,flags,status,"
        "raw_status,depth,demand,device,process,pid,hw_queue,cpu";
    memcpy(out, head, sizeof head);
    return sizeof head - 1;
}

size_t record_csv_line(const struct io_record *r, const struct trace_meta *meta, char *out)
{
    struct line l = {.at = out, .end = out + RECORD_TEXT_MAX - 1};
    char flags[IO_FLAGS_TEXT];
    if (r->has & IO_HAS_ISSUE)
        put_u64(&l, r->issue_ns);
    put_char(&l, ',');
    if (r->has & IO_HAS_OP)
        put_text(&l, io_op_name(r->op));
    csv_numbers(&l, r, after_op, COUNT(after_op));
    put_char(&l, ',');
    if (r->has & IO_HAS_FLAGS)
        put_text(&l, io_flags_format(r->flags, flags));
    csv_numbers(&l, r, after_flags, COUNT(after_flags));
    put_char(&l, ',');
    const char *device = device_name(r, meta);
    if (device)
        put_csv_text(&l, device);
    const struct trace_process *process = process_of(r, meta);
    put_char(&l, ',');
    if (process)
        put_csv_text(&l, process->name);
    put_char(&l, ',');
    if (process)
        put_u64(&l, process->pid);
    csv_numbers(&l, r, at_end, COUNT(at_end));
    *l.at = '\0';
    return (size_t)(l.at - out);
}

static void json_key(struct line *l, const char *name)
{
    put_text(l, l->first ? "\"" : ",\"");
    put_text(l, name);
    put_text(l, "\":");
    l->first = false;
}

/* Unknown is null, integers over 2^53 are strings. */
static void json_number(struct line *l, const char *name, bool known, uint64_t value)
{
    json_key(l, name);
    if (!known) {
        put_text(l, "null");
        return;
    }
    bool quoted = value > 1ull << 53;
    if (quoted)
        put_char(l, '"');
    put_u64(l, value);
    if (quoted)
        put_char(l, '"');
}

static void json_text(struct line *l, const char *name, const char *text)
{
    json_key(l, name);
    if (text)
        put_json_text(l, text);
    else
        put_text(l, "null");
}

static void json_numbers(struct line *l, const struct io_record *r,
                         const struct number_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_number(l, fields[i].name, r->has & fields[i].bit, number_of(r, fields[i].bit));
}

size_t record_json_line(const struct io_record *r, const struct trace_meta *meta, char *out)
{
    struct line l = {.at = out, .end = out + RECORD_TEXT_MAX - 1, .first = true};
    char flags[IO_FLAGS_TEXT];
    const struct trace_process *process = process_of(r, meta);
    put_char(&l, '{');
    json_number(&l, "issue_ns", r->has & IO_HAS_ISSUE, r->issue_ns);
    json_text(&l, "op", r->has & IO_HAS_OP ? io_op_name(r->op) : NULL);
    json_numbers(&l, r, after_op, COUNT(after_op));
    json_text(&l, "flags", r->has & IO_HAS_FLAGS ? io_flags_format(r->flags, flags) : NULL);
    json_numbers(&l, r, after_flags, COUNT(after_flags));
    json_text(&l, "device", device_name(r, meta));
    json_text(&l, "process", process ? process->name : NULL);
    json_number(&l, "pid", process != NULL, process ? process->pid : 0);
    json_numbers(&l, r, at_end, COUNT(at_end));
    put_char(&l, '}');
    *l.at = '\0';
    return (size_t)(l.at - out);
}

#define TEXT_FORMAT_HEAD "%14s  %-12s %-12s %16s %9s %11s %6s  %-16s %s"

size_t record_text_head(char *out)
{
    return (size_t)snprintf(out, RECORD_TEXT_MAX, TEXT_FORMAT_HEAD, "time_s", "device", "op",
                            "offset_bytes", "len_bytes", "latency_us", "depth", "process", "flags");
}

size_t record_text_line(const struct io_record *r, const struct trace_meta *meta, char *out)
{
    char time[24] = "-", latency[24] = "-", depth[8] = "-", process[64] = "-", offset[24] = "-";
    char len[24] = "-", flags[IO_FLAGS_TEXT + 32] = "";
    if (r->has & IO_HAS_ISSUE)
        snprintf(time, sizeof time, "%" PRIu64 ".%09" PRIu64, r->issue_ns / NS_PER_S,
                 r->issue_ns % NS_PER_S);
    if (r->has & IO_HAS_LATENCY)
        snprintf(latency, sizeof latency, "%.3f", (double)r->latency_ns / 1e3);
    if (r->has & IO_HAS_DEPTH)
        snprintf(depth, sizeof depth, "%u", r->depth);
    if (r->has & IO_HAS_OFFSET)
        snprintf(offset, sizeof offset, "%" PRIu64, r->offset_bytes);
    if (r->has & IO_HAS_LEN)
        snprintf(len, sizeof len, "%" PRIu64, r->len_bytes);
    const struct trace_process *p = process_of(r, meta);
    if (p)
        snprintf(process, sizeof process, "%s/%u", p->name, p->pid);
    size_t used = 0;
    if (r->has & IO_HAS_STATUS && r->status)
        used = (size_t)snprintf(flags, sizeof flags, "status=%u ", r->status);
    if (r->has & IO_HAS_FLAGS)
        io_flags_format(r->flags, flags + used);
    const char *device = device_name(r, meta);
    int length = snprintf(out, RECORD_TEXT_MAX, TEXT_FORMAT_HEAD, time, device ? device : "-",
                          r->has & IO_HAS_OP ? io_op_name(r->op) : "-", offset, len, latency, depth,
                          process, flags);
    while (length > 0 && out[length - 1] == ' ')
        out[--length] = '\0';
    return (size_t)length;
}
