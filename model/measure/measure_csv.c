/* CSV with a line of column names: commas, semicolons or tabs, quoted fields, any column absent. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "model/measure/private/number_text.h"

#define COLUMNS_MAX 64
#define FIELD_MAX   4096

enum column_kind { COL_TEXT, COL_REAL, COL_STATED, COL_PATTERN, COL_UNIT, COL_IGNORED };

struct column {
    const char *name;
    enum column_kind kind;
    size_t offset;
    double factor; /* into the struct's unit */
};

#define AT(field) offsetof(struct measurement, field)

static const struct column columns[] = {
    {"source", COL_TEXT, AT(source), 0},
    {"device", COL_TEXT, AT(device), 0},
    {"mode", COL_TEXT, AT(device), 0},
    {"controller", COL_TEXT, AT(controller), 0},
    {"protection", COL_TEXT, AT(controller), 0},
    {"workload", COL_TEXT, AT(workload), 0},
    {"pattern", COL_PATTERN, 0, 0},
    {"read_pct", COL_REAL, AT(read_pct), 1},
    {"block_bytes", COL_REAL, AT(block_bytes), 1},
    {"threads", COL_REAL, AT(threads), 1},
    {"jobs", COL_REAL, AT(threads), 1},
    {"numjobs", COL_REAL, AT(threads), 1},
    {"iodepth", COL_REAL, AT(iodepth), 1},
    {"qd", COL_REAL, AT(iodepth), 1},
    {"depth", COL_REAL, AT(iodepth), 1},
    {"iops", COL_STATED, AT(iops), 1},
    {"throughput", COL_STATED, AT(throughput), 1},
    {"throughput_unit", COL_UNIT, 0, 0},
    {"bytes_per_s", COL_STATED, AT(throughput), 1},
    {"latency_ns", COL_STATED, AT(latency_us), 1e-3},
    {"latency_us", COL_STATED, AT(latency_us), 1},
    {"latency_ms", COL_STATED, AT(latency_us), 1e3},
    {"latency_sd_us", COL_REAL, AT(latency_sd_us), 1},
    {"latency_p50_us", COL_REAL, AT(p50_us), 1},
    {"latency_p90_us", COL_REAL, AT(p90_us), 1},
    {"latency_p99_us", COL_REAL, AT(p99_us), 1},
    {"cpu_pct", COL_STATED, AT(cpu_pct), 1},
    {"cores", COL_REAL, AT(cores), 1},
    {"nodes", COL_REAL, AT(nodes), 1},
    {"usd_per_gb", COL_REAL, AT(usd_per_gb), 1},
    {"usd_per_iops", COL_REAL, AT(usd_per_iops), 1},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

static const struct column *find_column(const char *text, size_t length)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (strlen(columns[i].name) == length && strncasecmp(columns[i].name, text, length) == 0)
            return &columns[i];
    return NULL;
}

/* The next field of the line into `field`; false when the line is at its end. */
static bool next_field(const char *line, size_t length, size_t *at, char delimiter,
                       char field[FIELD_MAX], size_t *count)
{
    if (*at > length)
        return false;
    *count = 0;
    size_t i = *at;
    bool quoted = i < length && line[i] == '"';
    i += quoted;
    while (i < length) {
        char c = line[i++];
        if (quoted && c == '"') {
            if (i < length && line[i] == '"')
                i++;
            else {
                quoted = false;
                continue;
            }
        } else if (!quoted && c == delimiter) {
            *at = i;
            return true;
        }
        if (*count < FIELD_MAX - 1)
            field[(*count)++] = c;
    }
    *at = length + 1;
    return true;
}

static void trim(const char **text, size_t *length)
{
    while (*length && (unsigned char)**text <= ' ') {
        (*text)++;
        (*length)--;
    }
    while (*length && (unsigned char)(*text)[*length - 1] <= ' ')
        (*length)--;
}

/* The delimiter under which most column names are known; 0 when fewer than two are. */
static char find_delimiter(const char *line, size_t length)
{
    static const char candidates[] = ",;\t|";
    char best = 0;
    int best_known = 1;
    for (const char *d = candidates; *d; d++) {
        char field[FIELD_MAX];
        size_t at = 0, count;
        int known = 0;
        while (next_field(line, length, &at, *d, field, &count)) {
            const char *name = field;
            trim(&name, &count);
            known += find_column(name, count) != NULL;
        }
        if (known > best_known) {
            best_known = known;
            best = *d;
        }
    }
    return best;
}

static void skip_mark(const char **line, size_t *length)
{
    if (*length >= 3 && memcmp(*line, "\xef\xbb\xbf", 3) == 0) {
        *line += 3;
        *length -= 3;
    }
}

static bool header_line(const struct measure_input *in, size_t *at, const char **line,
                        size_t *length, uint64_t *number)
{
    while (measure_next_line(in, at, line, length)) {
        (*number)++;
        skip_mark(line, length);
        const char *text = *line;
        size_t count = *length;
        trim(&text, &count);
        if (count && text[0] != '#')
            return true;
    }
    return false;
}

static int bid(const struct measure_input *in)
{
    const char *line;
    size_t length, at = 0;
    uint64_t number = 0;
    if (!header_line(in, &at, &line, &length, &number))
        return 0;
    return find_delimiter(line, length) ? 40 : 0;
}

struct csv_row {
    struct measurement m;
    double unit_bytes; /* of one unit of throughput; 0: no column says */
    bool unit_open;
};

static int store(const struct column *column, const char *text, size_t length, struct csv_row *row,
                 struct measurements *table)
{
    char *base = (char *)&row->m;
    if (length == 0)
        return 0;
    switch (column->kind) {
    case COL_TEXT:
        measurement_set_text(base + column->offset, text, length);
        return 0;
    case COL_PATTERN:
        row->m.pattern = strncasecmp(text, "ran", 3) == 0   ? PATTERN_RANDOM
                         : strncasecmp(text, "seq", 3) == 0 ? PATTERN_SEQUENTIAL
                                                            : PATTERN_UNKNOWN;
        return 0;
    case COL_UNIT:
        row->unit_bytes = number_throughput_unit(text, length, &row->unit_open);
        return row->unit_bytes > 0 ? 0 : -EINVAL;
    case COL_IGNORED:
        return 0;
    default:
        break;
    }
    struct stated value;
    struct number_form form = {false, false, false};
    int rc = number_read_all(text, length, &value, &form);
    if (rc && column->offset == AT(block_bytes)) {
        size_t used;
        rc = number_read_size(text, length, &value.value, &used);
        rc = rc ? rc : used == length ? 0 : -EINVAL;
    }
    if (rc)
        return rc;
    bool thousands = form.ambiguous && column->offset == AT(iops);
    if (thousands)
        number_as_thousands(&value, table);
    table->decimal_commas += form.decimal_comma && !thousands;
    if (strcmp(column->name, "bytes_per_s") == 0)
        row->unit_bytes = 1;
    value.value *= column->factor;
    value.half_digit *= column->factor;
    if (column->kind == COL_STATED)
        memcpy(base + column->offset, &value, sizeof value);
    else
        memcpy(base + column->offset, &value.value, sizeof value.value);
    return 0;
}

/* Limits that no real row passes; beyond them later arithmetic would mean nothing. */
static const char *check_limits(const struct measurement *m)
{
    if (m->read_pct > 100)
        return "read_pct is over 100";
    if (m->block_bytes > 1e12 || m->block_bytes < 1)
        return "block_bytes is not within 1 byte and 1 TB";
    if (m->threads > 1e6 || m->iodepth > 1e6 || m->threads < 1 || m->iodepth < 1)
        return "threads and iodepth must be from 1 to 1,000,000";
    return NULL;
}

/* A throughput without a unit: bytes per second when IOPS × size is near it, else MB/s. */
static void settle_unit(struct csv_row *row, struct measurements *table)
{
    struct measurement *m = &row->m;
    if (row->unit_bytes == 0) {
        double expected = m->iops.value * m->block_bytes;
        bool bytes = expected / m->throughput.value < 1000;
        row->unit_bytes = bytes ? 1 : 1e6;
        row->unit_open = !bytes;
        measurements_note(table, "throughput without a unit is read as %s",
                          bytes ? "bytes per second" : "MB/s");
    }
    m->throughput.value *= row->unit_bytes;
    m->throughput.half_digit *= row->unit_bytes;
    m->throughput_unit_open = row->unit_open;
}

static int finish_row(const struct measure_input *in, struct csv_row *row,
                      struct measurements *table, struct error *err)
{
    const char *fault = check_limits(&row->m);
    if (fault)
        return error_set(err, EBADMSG, "%s:%llu: %s", in->name, (unsigned long long)row->m.line,
                         fault);
    if (!isnan(row->m.throughput.value))
        settle_unit(row, table);
    return measurements_add(table, &row->m, err);
}

static int read_header(const char *line, size_t length, char delimiter,
                       const struct column *use[COLUMNS_MAX], size_t *count,
                       struct measurements *table)
{
    static const struct column ignored = {"", COL_IGNORED, 0, 0};
    char field[FIELD_MAX];
    size_t at = 0, n;
    while (next_field(line, length, &at, delimiter, field, &n)) {
        if (*count == COLUMNS_MAX)
            return -E2BIG;
        const char *name = field;
        trim(&name, &n);
        const struct column *found = find_column(name, n);
        if (!found && n)
            measurements_note(table, "column %.*s is not used", (int)(n > 60 ? 60 : n), name);
        use[(*count)++] = found ? found : &ignored;
    }
    return 0;
}

static int read_row(const struct measure_input *in, const char *line, size_t length, char delimiter,
                    const struct column *const *use, size_t count, uint64_t number,
                    struct measurements *table, struct error *err)
{
    struct csv_row row = {.unit_bytes = 0};
    measurement_clear(&row.m);
    row.m.line = number;
    char field[FIELD_MAX];
    size_t at = 0, n, column = 0;
    while (next_field(line, length, &at, delimiter, field, &n)) {
        const char *text = field;
        trim(&text, &n);
        if (column == count) {
            if (n == 0)
                continue;
            return error_set(
                err, EBADMSG,
                "%s:%llu: more fields than the %zu columns of the first line (a decimal "
                "comma needs quotes or another separator)",
                in->name, (unsigned long long)number, count);
        }
        if (store(use[column], text, n, &row, table))
            return error_set(err, EBADMSG, "%s:%llu: %s '%.*s' is not a number in range", in->name,
                             (unsigned long long)number, use[column]->name, (int)(n > 40 ? 40 : n),
                             text);
        column++;
    }
    return finish_row(in, &row, table, err);
}

static int read_csv(const struct measure_input *in, struct measurements *table, struct error *err)
{
    const char *line;
    size_t length, at = 0, count = 0;
    uint64_t number = 0;
    const struct column *use[COLUMNS_MAX];
    if (!header_line(in, &at, &line, &length, &number))
        return error_set(err, EBADMSG, "%s: no line of column names", in->name);
    char delimiter = find_delimiter(line, length);
    if (read_header(line, length, delimiter, use, &count, table))
        return error_set(err, EBADMSG, "%s:%llu: more than %d columns", in->name,
                         (unsigned long long)number, COLUMNS_MAX);
    while (measure_next_line(in, &at, &line, &length)) {
        number++;
        const char *text = line;
        size_t n = length;
        trim(&text, &n);
        if (n == 0 || text[0] == '#')
            continue;
        int rc = read_row(in, line, length, delimiter, use, count, number, table, err);
        if (rc)
            return rc;
    }
    return 0;
}

const struct measure_reader measure_csv = {"csv", "CSV with named columns", bid, read_csv};
