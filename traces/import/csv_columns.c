/* The table of column kinds, the mapping of names, and the parsing of one row. */
#include "traces/import/private/csv_columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/units.h"
#include "traces/import/private/csv_ops.h"

__extension__ typedef unsigned __int128 uint128;

#define NAME_MAX_BYTES 255u
/* From 1601, where Windows counts from, to 1970, in units of 100 ns. */
#define FILETIME_UNIX 116444736000000000ull

#define TIME_MAX   UINT64_MAX, "2^64 ns"
#define SPAN_MAX   IMPORT_TIME_MAX, "146 years"
#define OFFSET_MAX UINT64_MAX, "2^64 bytes"
#define LEN_MAX    IMPORT_LEN_MAX, "1 TiB"

static const struct csv_kind kinds[] = {
    {"issue_ns", CSV_ISSUE, 1, TIME_MAX},
    {"issue_us", CSV_ISSUE, NS_PER_US, TIME_MAX},
    {"issue_ms", CSV_ISSUE, NS_PER_MS, TIME_MAX},
    {"issue_s", CSV_ISSUE, NS_PER_S, TIME_MAX},
    {"issue_filetime", CSV_ISSUE, 100, UINT64_MAX, "1970 to 2554"},
    {"queue_ns", CSV_QUEUE, 1, SPAN_MAX},
    {"queue_us", CSV_QUEUE, NS_PER_US, SPAN_MAX},
    {"queue_ms", CSV_QUEUE, NS_PER_MS, SPAN_MAX},
    {"queue_s", CSV_QUEUE, NS_PER_S, SPAN_MAX},
    {"latency_ns", CSV_LATENCY, 1, SPAN_MAX},
    {"latency_us", CSV_LATENCY, NS_PER_US, SPAN_MAX},
    {"latency_ms", CSV_LATENCY, NS_PER_MS, SPAN_MAX},
    {"latency_s", CSV_LATENCY, NS_PER_S, SPAN_MAX},
    {"latency_100ns", CSV_LATENCY, 100, SPAN_MAX},
    {"offset_bytes", CSV_OFFSET, 1, OFFSET_MAX},
    {"offset_sectors", CSV_OFFSET, 512, OFFSET_MAX},
    {"offset_kib", CSV_OFFSET, KIB, OFFSET_MAX},
    {"offset_4k", CSV_OFFSET, 4096, OFFSET_MAX},
    {"len_bytes", CSV_LEN, 1, LEN_MAX},
    {"len_sectors", CSV_LEN, 512, LEN_MAX},
    {"len_kib", CSV_LEN, KIB, LEN_MAX},
    {"len_4k", CSV_LEN, 4096, LEN_MAX},
    {"op", CSV_OP, 0, 0, NULL},
    {"op_0read", CSV_OP_0READ, 1, 1, "1"},
    {"op_1read", CSV_OP_1READ, 1, 1, "1"},
    {"flags", CSV_FLAGS, 0, 0, NULL},
    {"status", CSV_STATUS, 1, 255, "255"},
    {"raw_status", CSV_RAW_STATUS, 1, UINT32_MAX, "2^32 - 1"},
    {"depth", CSV_DEPTH, 1, UINT16_MAX, "65535"},
    {"demand", CSV_DEMAND, 1, UINT32_MAX, "2^32 - 1"},
    {"device", CSV_DEVICE, 0, 0, NULL},
    {"process", CSV_PROCESS, 0, 0, NULL},
    {"pid", CSV_PID, 1, UINT32_MAX, "2^32 - 1"},
    {"hw_queue", CSV_HW_QUEUE, 1, UINT16_MAX, "65535"},
    {"cpu", CSV_CPU, 1, UINT16_MAX, "65535"},
    {"parent", CSV_PARENT, 1, UINT32_MAX, "2^32 - 1"},
    {"think_ns", CSV_THINK, 1, SPAN_MAX},
};

#define KIND_COUNT (sizeof kinds / sizeof *kinds)

static const struct csv_kind *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strlen(kinds[i].name) == length && strncasecmp(kinds[i].name, name, length) == 0)
            return &kinds[i];
    return NULL;
}

void csv_kinds_list(char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < KIND_COUNT && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", kinds[i].name);
}

size_t csv_columns_known(const struct csv_rows *row)
{
    size_t known = 0;
    for (size_t i = 0; i < row->count; i++)
        known += find_kind(row->fields[i].text, row->fields[i].length) != NULL;
    return known;
}

/* ---- the mapping
 * ------------------------------------------------------------------------------------ */

static uint32_t target_bit(const struct csv_kind *kind)
{
    bool is_op = kind->field == CSV_OP_0READ || kind->field == CSV_OP_1READ;
    return 1u << (is_op ? CSV_OP : kind->field);
}

static int add_column(struct csv_columns *columns, const struct csv_kind *kind, size_t index,
                      bool by_user, const char *file, struct error *err)
{
    if (columns->fields & target_bit(kind)) {
        /* What the user names comes first; a named column of the head gives way to it. */
        for (size_t i = 0; i < columns->count && !by_user; i++)
            if (target_bit(columns->list[i].kind) == target_bit(kind) && columns->list[i].by_user)
                return 0;
        return error_set(err, by_user ? EINVAL : EBADMSG,
                         "%s: two columns give %s; name one of them with --columns", file,
                         kind->name);
    }
    columns->fields |= target_bit(kind);
    columns->list[columns->count++] = (struct csv_column){kind, index, by_user};
    return 0;
}

/* The place of the column that the user named: its number, or its name in the head. */
static int locate(const struct csv_rows *first, bool numbers, const char *name, size_t length,
                  size_t *index, struct error *err)
{
    uint64_t number;
    if (numbers) {
        if (units_parse_digits(name, length, CSV_FIELDS_MAX, &number) || number == 0)
            return error_set(err, EINVAL, "--columns: column %.*s is not in 1 to %u", (int)length,
                             name, CSV_FIELDS_MAX);
        *index = (size_t)number - 1;
        return 0;
    }
    for (size_t i = 0; i < first->count; i++)
        if (first->fields[i].length == length &&
            strncasecmp(first->fields[i].text, name, length) == 0) {
            *index = i;
            return 0;
        }
    char names[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < first->count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", i ? ", " : "",
                                 first->fields[i].text);
    return error_set(err, EINVAL, "%s:%llu: no column is named '%.*s'; they are named: %s",
                     import_input_name(first->in), (unsigned long long)first->line, (int)length,
                     name, names);
}

/* Whether every column is given by its number: then the table has no head. */
static bool all_numbers(const char *option)
{
    bool numbers = false;
    for (const char *at = option; at && *at;) {
        at += strcspn(at, "=");
        if (*at == '=')
            at++;
        size_t length = strcspn(at, ",");
        if (strspn(at, "0123456789") != length)
            return false;
        numbers = numbers || length > 0;
        at += length;
        if (*at == ',')
            at++;
    }
    return numbers;
}

static int map_option(struct csv_columns *columns, const struct csv_rows *first, const char *option,
                      bool numbers, uint32_t *left_out, struct error *err)
{
    for (const char *at = option; *at;) {
        size_t pair = strcspn(at, ",");
        const char *equals = memchr(at, '=', pair);
        const struct csv_kind *kind = equals ? find_kind(at, (size_t)(equals - at)) : NULL;
        if (!kind) {
            char list[640];
            csv_kinds_list(list, sizeof list);
            return error_set(err, EINVAL,
                             "--columns: '%.*s' is not FIELD=COLUMN; the fields are %s", (int)pair,
                             at, list);
        }
        size_t length = pair - (size_t)(equals - at) - 1;
        size_t index = 0;
        int rc = 0;
        if (length == 0) {
            *left_out |= target_bit(kind);
        } else {
            rc = locate(first, numbers, equals + 1, length, &index, err);
            if (rc == 0)
                rc = add_column(columns, kind, index, true, import_input_name(first->in), err);
        }
        if (rc)
            return rc;
        at += pair;
        if (*at == ',')
            at++;
    }
    return 0;
}

static bool is_mapped(const struct csv_columns *columns, size_t index)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->list[i].index == index)
            return true;
    return false;
}

int csv_columns_map(struct csv_columns *columns, const struct csv_rows *first, const char *option,
                    struct error *err)
{
    bool numbers = all_numbers(option);
    columns->has_head = !numbers;
    uint32_t left_out = 0;
    int rc = option ? map_option(columns, first, option, numbers, &left_out, err) : 0;
    size_t used = 0;
    for (size_t i = 0; i < first->count && !numbers && rc == 0; i++) {
        if (is_mapped(columns, i))
            continue;
        const struct csv_kind *kind = find_kind(first->fields[i].text, first->fields[i].length);
        if (kind && !(left_out & target_bit(kind)))
            rc = add_column(columns, kind, i, false, import_input_name(first->in), err);
        else if (used < sizeof columns->left_out)
            used += (size_t)snprintf(columns->left_out + used, sizeof columns->left_out - used,
                                     "%s%.40s", used ? ", " : "", first->fields[i].text);
    }
    if (rc == 0 && !(columns->fields & (1u << CSV_OFFSET | 1u << CSV_LEN | 1u << CSV_OP)))
        return error_set(err, EBADMSG,
                         "%s:%llu: no column is an offset, a length or an op; --columns "
                         "offset_bytes=NAME,len_bytes=NAME,op=NAME says which they are",
                         import_input_name(first->in), (unsigned long long)first->line);
    return rc;
}

const struct csv_column *csv_columns_find(const struct csv_columns *columns, enum csv_target target)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->list[i].kind->field == target)
            return &columns->list[i];
    return NULL;
}

/* ---- values
 * ------------------------------------------------------------------------------------------- */

static bool is_unknown(const struct csv_field *field)
{
    static const char *const words[] = {"-", "null", "na", "nan", "none"};
    if (field->length == 0)
        return true;
    /* Most texts are digits; words are compared only where one can stand. */
    if (field->text[0] >= '0' && field->text[0] <= '9')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(field->text, words[i]) == 0)
            return true;
    return false;
}

/* The digits behind the point, as value and as how many count (at most 18). -EINVAL. */
static int parse_fraction(const char *text, size_t length, uint64_t *fraction, uint64_t *power,
                          unsigned *decimals)
{
    *decimals = 0;
    *fraction = 0;
    *power = 1;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9)
            return -EINVAL;
        if (*decimals == 18)
            continue;
        *fraction = *fraction * 10 + digit;
        *power *= 10;
        (*decimals)++;
    }
    return 0;
}

/* Only a file time counts in steps of 100 ns, and from 1601. */
static bool is_filetime(const struct csv_kind *kind)
{
    return kind->field == CSV_ISSUE && kind->scale == 100;
}

int csv_parse_number(const struct csv_field *field, const struct csv_kind *kind,
                     bool comma_is_point, uint64_t *value, unsigned *decimals)
{
    if (is_unknown(field))
        return 1;
    uint64_t whole = 0;
    size_t i = 0;
    for (; i < field->length; i++) {
        unsigned digit = (unsigned)(unsigned char)field->text[i] - '0';
        if (digit > 9)
            break;
        if (whole > (UINT64_MAX - digit) / 10)
            return -ERANGE;
        whole = whole * 10 + digit;
    }
    uint64_t fraction = 0;
    uint64_t power = 1;
    unsigned digits = 0;
    if (i < field->length) {
        char c = field->text[i];
        if (i == 0 || !(c == '.' || (c == ',' && comma_is_point)) ||
            parse_fraction(field->text + i + 1, field->length - i - 1, &fraction, &power, &digits))
            return -EINVAL;
        /* A byte or a count has no parts; 12.0, as some programs write it, is 12. */
        bool is_time = kind->field == CSV_ISSUE || kind->field == CSV_QUEUE ||
                       kind->field == CSV_LATENCY || kind->field == CSV_THINK;
        if (!is_time && (uint128)fraction * kind->scale % power != 0)
            return -EINVAL;
    }
    if (is_filetime(kind)) {
        if (whole < FILETIME_UNIX)
            return -ERANGE;
        whole -= FILETIME_UNIX;
    }
    uint128 scaled = (uint128)whole * kind->scale + (uint128)fraction * kind->scale / power;
    if (scaled > kind->max)
        return -ERANGE;
    *value = (uint64_t)scaled;
    if (decimals)
        *decimals = digits;
    return 0;
}

static int bad_value(const struct csv_rows *row, const struct csv_kind *kind,
                     const struct csv_field *field, int rc, struct error *err)
{
    const char *file = import_input_name(row->in);
    unsigned long long line = row->line;
    if (rc == -ERANGE && kind->max_text)
        return error_set(err, EBADMSG, "%s:%llu: %s %.60s is over the limit of %s", file, line,
                         kind->name, field->text, kind->max_text);
    if (kind->field == CSV_OP)
        return error_set(err, EBADMSG,
                         "%s:%llu: op '%.60s' is none of read, write, flush, discard, "
                         "write_zeroes, zone_append, zone_mgmt, compare, other",
                         file, line, field->text);
    if (kind->field == CSV_FLAGS)
        return error_set(err, EBADMSG, "%s:%llu: flags '%.60s' are not flag|flag of fua, sync, …",
                         file, line, field->text);
    return error_set(err, EBADMSG,
                     "%s:%llu: %s '%.60s' is no number of that unit (--columns %s= leaves the "
                     "column out)",
                     file, line, kind->name, field->text, kind->name);
}

/* The device's index in the meta: by a hash of its name (FNV-1a), checked against the name. */
static int device_index(struct csv_columns *columns, const struct csv_field *field,
                        struct trace_meta *meta)
{
    char name[NAME_MAX_BYTES + 1];
    size_t length = field->length < NAME_MAX_BYTES ? field->length : NAME_MAX_BYTES;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)field->text[i]) * 0x100000001b3ull;
    memcpy(name, field->text, length);
    name[length] = '\0';
    const uint64_t *known = u64_map_find(&columns->devices, hash);
    if (known && strcmp(meta->devices[*known].name, name) == 0)
        return (int)*known;
    int index = trace_meta_device(meta, name);
    if (index >= 0)
        u64_map_insert(&columns->devices, hash, (uint64_t)index);
    return index;
}

/* Texts: op, flags and names. Returns the bit that it set, 0 or -errno. */
static int64_t store_text(struct csv_columns *columns, const struct csv_kind *kind,
                          const struct csv_field *field, struct trace_meta *meta,
                          struct io_record *record)
{
    int rc;
    uint16_t flags;
    switch (kind->field) {
    case CSV_OP:
        rc = csv_op_parse(field->text, field->length, &record->op, &flags);
        record->flags |= flags;
        return rc ? rc : IO_HAS_OP | (flags ? IO_HAS_FLAGS : 0);
    case CSV_FLAGS:
        rc = io_flags_parse(field->text, field->length, &flags);
        record->flags |= flags;
        return rc ? rc : IO_HAS_FLAGS;
    case CSV_DEVICE:
        rc = device_index(columns, field, meta);
        if (rc >= 0)
            record->device = (uint16_t)rc;
        return rc < 0 ? rc : IO_HAS_DEVICE;
    default:
        return 0;
    }
}

static uint32_t store_number(const struct csv_kind *kind, uint64_t value, struct io_record *record)
{
    switch (kind->field) {
    case CSV_ISSUE:
        record->issue_ns = value;
        return IO_HAS_ISSUE;
    case CSV_QUEUE:
        record->queue_ns = value;
        return IO_HAS_QUEUE;
    case CSV_LATENCY:
        record->latency_ns = value;
        return IO_HAS_LATENCY;
    case CSV_OFFSET:
        record->offset_bytes = value;
        return IO_HAS_OFFSET;
    case CSV_LEN:
        record->len_bytes = value;
        return IO_HAS_LEN;
    case CSV_OP_0READ:
        record->op = value == 0 ? IO_READ : IO_WRITE;
        return IO_HAS_OP;
    case CSV_OP_1READ:
        record->op = value == 1 ? IO_READ : IO_WRITE;
        return IO_HAS_OP;
    case CSV_STATUS:
        record->status = (uint8_t)value;
        return IO_HAS_STATUS;
    case CSV_RAW_STATUS:
        record->raw_status = (uint32_t)value;
        return IO_HAS_RAW_STATUS;
    case CSV_DEPTH:
        record->depth = (uint16_t)value;
        return IO_HAS_DEPTH;
    case CSV_DEMAND:
        record->demand = (uint32_t)value;
        return IO_HAS_DEMAND;
    case CSV_HW_QUEUE:
        record->hw_queue = (uint16_t)value;
        return IO_HAS_HW_QUEUE;
    case CSV_CPU:
        record->cpu = (uint16_t)value;
        return IO_HAS_CPU;
    case CSV_PARENT:
        record->parent = (uint32_t)value;
        return IO_HAS_PARENT;
    case CSV_THINK:
        record->think_ns = value;
        return IO_HAS_THINK;
    default:
        return 0;
    }
}

/* The process of a row: its name and pid, of which either may be missing. */
static int store_process(const struct csv_rows *row, const struct csv_field *name, uint64_t pid,
                         bool pid_known, struct trace_meta *meta, struct io_record *record,
                         struct error *err)
{
    bool name_known = name && name->length > 0;
    if (!name_known && !pid_known)
        return 0;
    int64_t index = trace_meta_process(meta, (uint32_t)pid, name_known ? name->text : "");
    if (index < 0)
        return error_errno(err, (int)-index, "%s:%llu: process '%.60s'", import_input_name(row->in),
                           (unsigned long long)row->line, name_known ? name->text : "");
    record->process = (uint32_t)index;
    record->has |= IO_HAS_PROCESS;
    return 0;
}

void csv_columns_clear(struct csv_columns *columns)
{
    u64_map_clear(&columns->devices);
}

int csv_columns_record(struct csv_columns *columns, const struct csv_rows *row,
                       struct trace_meta *meta, struct io_record *record, struct error *err)
{
    *record = (struct io_record){0};
    const struct csv_field *process = NULL;
    uint64_t pid = 0;
    bool pid_known = false;
    bool comma_is_point = row->separator != CSV_COMMA;
    for (size_t i = 0; i < columns->count; i++) {
        const struct csv_kind *kind = columns->list[i].kind;
        if (columns->list[i].index >= row->count)
            return error_set(err, EBADMSG, "%s:%llu: has %zu columns, %s is column %zu",
                             import_input_name(row->in), (unsigned long long)row->line, row->count,
                             kind->name, columns->list[i].index + 1);
        const struct csv_field *field = &row->fields[columns->list[i].index];
        if (kind->field == CSV_PROCESS) {
            process = field;
            continue;
        }
        if (kind->max_text == NULL) {
            int64_t bit = field->length ? store_text(columns, kind, field, meta, record) : 0;
            if (bit < 0)
                return bad_value(row, kind, field, (int)bit, err);
            record->has |= (uint32_t)bit;
            continue;
        }
        uint64_t value = 0;
        int rc = csv_parse_number(field, kind, comma_is_point, &value, NULL);
        if (rc < 0)
            return bad_value(row, kind, field, rc, err);
        if (rc == 1)
            continue;
        if (kind->field == CSV_PID) {
            pid = value;
            pid_known = true;
        } else {
            record->has |= store_number(kind, value, record);
        }
    }
    if (record->offset_bytes > UINT64_MAX - record->len_bytes)
        return error_set(err, EBADMSG,
                         "%s:%llu: offset %llu + length %llu is over the limit of "
                         "2^64 bytes",
                         import_input_name(row->in), (unsigned long long)row->line,
                         (unsigned long long)record->offset_bytes,
                         (unsigned long long)record->len_bytes);
    return store_process(row, process, pid, pid_known, meta, record, err);
}
