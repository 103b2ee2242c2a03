/* DiskSpd's text output: the "Input parameters" of each time span, its totals, and its percentiles.
 * What it calls MB/s in old versions is MiB/s. Depth = thread count × outstanding I/Os. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "model/measure/private/number_text.h"

#define CELLS_MAX 16

enum spd_column { SPD_BYTES, SPD_IOS, SPD_MIB, SPD_RATE, SPD_LATENCY, SPD_SD, SPD_OTHER };

struct spd {
    struct measurement m;
    enum spd_column map[CELLS_MAX];
    size_t columns;
    bool in_total;       /* inside the "Total IO" table */
    bool in_percentiles; /* inside the %-ile table */
    bool open;           /* a time span's totals were read and not yet added */
    size_t paths;
    double per_file; /* threads of each target; 0: not said */
};

static bool starts(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length >= n && strncasecmp(text, word, n) == 0;
}

/* The number after the first ':' of the line. */
static bool value_after_colon(const char *text, size_t length, struct stated *value)
{
    const char *colon = memchr(text, ':', length);
    if (!colon)
        return false;
    size_t used, rest = length - (size_t)(colon + 1 - text);
    return number_read(colon + 1, rest, value, &used, NULL) == 0;
}

static size_t split_bars(const char *line, size_t length, const char *cells[CELLS_MAX],
                         size_t lengths[CELLS_MAX])
{
    size_t count = 0, start = 0;
    for (size_t i = 0; i <= length && count < CELLS_MAX; i++)
        if (i == length || line[i] == '|') {
            size_t from = start, to = i;
            while (from < to && (unsigned char)line[from] <= ' ')
                from++;
            while (to > from && (unsigned char)line[to - 1] <= ' ')
                to--;
            cells[count] = line + from;
            lengths[count++] = to - from;
            start = i + 1;
        }
    return count;
}

static void input_line(struct spd *s, const char *text, size_t length)
{
    struct stated value;
    if (starts(text, length, "block size:")) {
        const char *colon = memchr(text, ':', length);
        size_t used;
        double bytes;
        if (number_read_size(colon + 1, length - (size_t)(colon + 1 - text), &bytes, &used) == 0)
            s->m.block_bytes = bytes;
    } else if (starts(text, length, "using random")) {
        s->m.pattern = PATTERN_RANDOM;
    } else if (starts(text, length, "using sequential") ||
               starts(text, length, "using interlocked")) {
        s->m.pattern = PATTERN_SEQUENTIAL;
    } else if (starts(text, length, "performing read test")) {
        s->m.read_pct = 100;
    } else if (starts(text, length, "performing write test")) {
        s->m.read_pct = 0;
    } else if (starts(text, length, "performing mix test")) {
        if (value_after_colon(text, length, &value) && value.value <= 100)
            s->m.read_pct = value.value;
    } else if (starts(text, length, "number of outstanding")) {
        if (value_after_colon(text, length, &value) && value.value >= 1 && value.value <= 1e6)
            s->m.iodepth = value.value;
    } else if (starts(text, length, "threads per file:")) {
        if (value_after_colon(text, length, &value) && value.value >= 1 && value.value <= 1e6)
            s->per_file = value.value;
    } else if (starts(text, length, "thread count:")) {
        if (value_after_colon(text, length, &value) && value.value >= 1 && value.value <= 1e6)
            s->m.threads = value.value;
    } else if (starts(text, length, "proc count:")) {
        if (value_after_colon(text, length, &value) && value.value >= 1)
            s->m.cores = value.value;
    } else if (starts(text, length, "path:")) {
        const char *open = memchr(text, '\'', length);
        const char *end = open ? memchr(open + 1, '\'', length - (size_t)(open + 1 - text)) : NULL;
        if (end)
            measurement_set_text(s->m.device, open + 1, (size_t)(end - open - 1));
        s->paths++;
    }
}

static void total_header(struct spd *s, const char *line, size_t length)
{
    const char *cells[CELLS_MAX];
    size_t lengths[CELLS_MAX];
    s->columns = split_bars(line, length, cells, lengths);
    for (size_t i = 0; i < s->columns; i++)
        s->map[i] = starts(cells[i], lengths[i], "bytes")       ? SPD_BYTES
                    : starts(cells[i], lengths[i], "I/Os")      ? SPD_IOS
                    : starts(cells[i], lengths[i], "MiB/s")     ? SPD_MIB
                    : starts(cells[i], lengths[i], "MB/s")      ? SPD_MIB
                    : starts(cells[i], lengths[i], "I/O per s") ? SPD_RATE
                    : starts(cells[i], lengths[i], "AvgLat")    ? SPD_LATENCY
                    : starts(cells[i], lengths[i], "LatStdDev") ? SPD_SD
                                                                : SPD_OTHER;
}

/* "total:  17921212416 | 2187648 | 284.82 | 36457.10 | 1.755 | …": one cell fewer than the header,
 * whose first is the thread. */
static void total_line(struct spd *s, const char *line, size_t length)
{
    const char *cells[CELLS_MAX];
    size_t lengths[CELLS_MAX];
    size_t count = split_bars(line + 6, length - 6, cells, lengths);
    for (size_t i = 0; i < count && i + 1 < s->columns; i++) {
        struct stated value;
        if (number_read_all(cells[i], lengths[i], &value, NULL))
            continue;
        switch (s->map[i + 1]) {
        case SPD_MIB:
            s->m.throughput = (struct stated){value.value * 1048576, value.half_digit * 1048576};
            break;
        case SPD_RATE:
            s->m.iops = value;
            break;
        case SPD_LATENCY:
            s->m.latency_us = (struct stated){value.value * 1e3, value.half_digit * 1e3};
            break;
        case SPD_SD:
            s->m.latency_sd_us = value.value * 1e3;
            break;
        default:
            break;
        }
    }
    s->open = !isnan(s->m.iops.value);
    s->in_total = false;
}

static void percentile_line(struct spd *s, const char *line, size_t length)
{
    const char *cells[CELLS_MAX];
    size_t lengths[CELLS_MAX];
    size_t count = split_bars(line, length, cells, lengths);
    struct stated value;
    if (count < 2 || number_read_all(cells[count - 1], lengths[count - 1], &value, NULL))
        return;
    if (starts(cells[0], lengths[0], "50th"))
        s->m.p50_us = value.value * 1e3;
    else if (starts(cells[0], lengths[0], "90th"))
        s->m.p90_us = value.value * 1e3;
    else if (starts(cells[0], lengths[0], "99th"))
        s->m.p99_us = value.value * 1e3;
}

/* What a run does not say of itself stays unknown, and is said: no other run's parameters fill in.
 */
static void note_missing(const struct spd *s, struct measurements *table)
{
    bool size = !(s->m.block_bytes > 0), depth = !(s->m.iodepth > 0), threads = !(s->m.threads > 0);
    if (!size && !depth && !threads)
        return;
    table->incomplete++;
    measurements_note(table,
                      "the DiskSpd run with its totals in line %llu lacks parameters:%s%s%s; it is "
                      "held against no law that needs them",
                      (unsigned long long)s->m.line, size ? " (block size)" : "",
                      depth ? " (outstanding I/Os)" : "", threads ? " (thread count)" : "");
}

static void start_run(struct spd *s)
{
    measurement_clear(&s->m);
    s->open = s->in_total = s->in_percentiles = false;
    s->paths = 0;
    s->per_file = 0;
}

static int flush(struct spd *s, struct measurements *table, struct error *err)
{
    if (!s->open)
        return 0;
    if (s->paths > 1)
        measurements_note(table, "a DiskSpd run used %zu targets; its totals are one row",
                          s->paths);
    if (isnan(s->m.threads) && s->per_file > 0 && s->paths > 0)
        s->m.threads = s->per_file * (double)s->paths;
    note_missing(s, table);
    /* One that is unknown would count as 1: half a depth is none. */
    if (isnan(s->m.threads) || isnan(s->m.iodepth))
        s->m.threads = s->m.iodepth = NAN;
    int rc = measurements_add(table, &s->m, err);
    start_run(s);
    return rc;
}

/* Lines that stand before a run's totals: after totals they belong to the next run, even when the
 * head of that run was cut off. */
static bool precedes_totals(const char *text, size_t length)
{
    static const char *const words[] = {
        "Results for timespan",
        "actual test time",
        "thread count:",
        "proc count:",
        "CPU |",
        "timespan:",
        "duration:",
        "path:",
        "block size:",
        "avg.|",
        "number of outstanding",
        "threads per file:",
        "performing ",
        "using random",
        "using seq",
        "Total IO",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts(text, length, words[i]))
            return true;
    return false;
}

static int read_line(struct spd *s, const char *text, size_t length, uint64_t number,
                     struct measurements *table, struct error *err)
{
    if (starts(text, length, "Input parameters") || starts(text, length, "Command Line")) {
        int rc = flush(s, table, err);
        start_run(s);
        return rc;
    }
    if (s->open && precedes_totals(text, length)) {
        int rc = flush(s, table, err);
        if (rc)
            return rc;
    }
    if (starts(text, length, "Total IO")) {
        s->in_total = true;
        s->columns = 0;
    } else if (s->in_total && starts(text, length, "thread |")) {
        total_header(s, text, length);
    } else if (s->in_total && s->columns && starts(text, length, "total:")) {
        total_line(s, text, length);
        s->m.line = number;
    } else if (starts(text, length, "%-ile")) {
        s->in_percentiles = true;
    } else if (s->in_percentiles) {
        percentile_line(s, text, length);
    } else if (starts(text, length, "avg.|")) {
        struct stated value;
        size_t used;
        if (number_read(text + 5, length - 5, &value, &used, NULL) == 0)
            s->m.cpu_pct = value;
    } else {
        input_line(s, text, length);
    }
    return 0;
}

static int read_diskspd(const struct measure_input *in, struct measurements *table,
                        struct error *err)
{
    struct spd s = {.columns = 0};
    start_run(&s);
    const char *line;
    size_t length, at = 0;
    uint64_t number = 0;
    while (measure_next_line(in, &at, &line, &length)) {
        number++;
        while (length && (unsigned char)*line <= ' ') {
            line++;
            length--;
        }
        int rc = read_line(&s, line, length, number, table, err);
        if (rc)
            return rc;
    }
    return flush(&s, table, err);
}

static int bid(const struct measure_input *in)
{
    return measure_find(in->text, in->length, "Total IO\n") ||
                   measure_find(in->text, in->length, "Total IO\r")
               ? measure_find(in->text, in->length, "I/O per s") ? 85 : 0
               : 0;
}

const struct measure_reader measure_diskspd = {"diskspd", "DiskSpd text", bid, read_diskspd};
