/* vdbench's flat file (flatfile.html): a line of column names, then one line an interval; the
 * avg_ lines are the measurements. Its MB/sec are MiB/s; its threads each keep one I/O. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "model/measure/private/number_text.h"

#define COLUMNS_MAX 128

enum vd_column {
    VD_RUN,
    VD_INTERVAL,
    VD_RATE,
    VD_MIB,
    VD_BYTES,
    VD_READ,
    VD_RESP,
    VD_STD,
    VD_THREADS,
    VD_SEEK,
    VD_CPU,
    VD_COUNT,
    VD_OTHER
};

static const char *const names[VD_COUNT] = {
    "run",  "interval", "rate",    "mb/sec",  "bytes/io", "read%",
    "resp", "resp_std", "threads", "seekpct", "cpu_used",
};

struct word {
    const char *text;
    size_t length;
};

static size_t words(const char *line, size_t length, struct word out[COLUMNS_MAX])
{
    size_t count = 0, i = 0;
    while (i < length && count < COLUMNS_MAX) {
        while (i < length && (unsigned char)line[i] <= ' ')
            i++;
        size_t start = i;
        while (i < length && (unsigned char)line[i] > ' ')
            i++;
        if (i > start)
            out[count++] = (struct word){line + start, i - start};
    }
    return count;
}

static bool is(struct word w, const char *name)
{
    return strlen(name) == w.length && strncasecmp(w.text, name, w.length) == 0;
}

static bool header(const char *line, size_t length, enum vd_column map[COLUMNS_MAX], size_t *count)
{
    struct word list[COLUMNS_MAX];
    size_t n = words(line, length, list);
    if (n < 6 || !is(list[0], "tod") || !is(list[1], "Run"))
        return false;
    for (size_t i = 0; i < n; i++) {
        map[i] = VD_OTHER;
        for (unsigned c = 0; c < VD_COUNT; c++)
            if (is(list[i], names[c]))
                map[i] = (enum vd_column)c;
    }
    *count = n;
    return true;
}

static int bid(const struct measure_input *in)
{
    enum vd_column map[COLUMNS_MAX];
    const char *line;
    size_t length, at = 0, count;
    for (int i = 0; i < 400 && measure_next_line(in, &at, &line, &length); i++)
        if (header(line, length, map, &count))
            return 90;
    return 0;
}

static void store(struct measurement *m, enum vd_column column, struct stated value)
{
    switch (column) {
    case VD_RATE:
        m->iops = value;
        break;
    case VD_MIB:
        m->throughput = (struct stated){value.value * 1048576, value.half_digit * 1048576};
        break;
    case VD_BYTES:
        m->block_bytes = value.value >= 1 ? value.value : NAN;
        break;
    case VD_READ:
        m->read_pct = value.value <= 100 ? value.value : NAN;
        break;
    case VD_RESP:
        m->latency_us = (struct stated){value.value * 1000, value.half_digit * 1000};
        break;
    case VD_STD:
        m->latency_sd_us = value.value * 1000;
        break;
    case VD_THREADS:
        m->threads = value.value >= 1 && value.value <= 1e6 ? value.value : NAN;
        break;
    case VD_SEEK:
        m->pattern = value.value > 0 ? PATTERN_RANDOM : PATTERN_SEQUENTIAL;
        break;
    case VD_CPU:
        m->cpu_pct = value;
        break;
    default:
        break;
    }
}

static int read_vdbench(const struct measure_input *in, struct measurements *table,
                        struct error *err)
{
    enum vd_column map[COLUMNS_MAX];
    size_t columns = 0;
    const char *line;
    size_t length, at = 0;
    uint64_t number = 0;
    while (measure_next_line(in, &at, &line, &length)) {
        number++;
        if (header(line, length, map, &columns) || columns == 0)
            continue;
        struct word list[COLUMNS_MAX];
        size_t n = words(line, length, list);
        if (n < 6 || n > columns)
            continue;
        struct measurement m;
        measurement_clear(&m);
        bool average = false;
        for (size_t i = 0; i < n; i++) {
            struct stated value;
            if (map[i] == VD_INTERVAL)
                average = list[i].length >= 4 && strncasecmp(list[i].text, "avg_", 4) == 0;
            else if (map[i] == VD_RUN)
                measurement_set_text(m.run, list[i].text, list[i].length);
            else if (map[i] != VD_OTHER &&
                     !number_read_all(list[i].text, list[i].length, &value, NULL))
                store(&m, map[i], value);
        }
        m.line = number;
        if (!average || isnan(m.iops.value))
            continue;
        int rc = measurements_add(table, &m, err);
        if (rc)
            return rc;
    }
    return 0;
}

const struct measure_reader measure_vdbench = {"vdbench", "vdbench flat file", bid, read_vdbench};
