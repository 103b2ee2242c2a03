/* Tables inside articles: a heading such as "Database Server (8K Random; 70% Read; 8 Threads; 16
 * Outstanding IO)", a line of column names, then rows of a name and numbers, between tabs or bars.
 * The words may be English or Chinese; the numbers may have decimal commas. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/measure/private/number_text.h"

#define CELLS_MAX 16

enum cell_kind { CELL_IOPS, CELL_THROUGHPUT, CELL_LATENCY, CELL_CPU, CELL_OTHER };

struct cell {
    const char *text;
    size_t length;
};

struct article {
    struct measurement heading; /* what the heading says of the rows below it */
    bool has_heading;
    enum cell_kind kinds[CELLS_MAX];
    double factors[CELLS_MAX];
    bool open[CELLS_MAX];
    size_t kind_count;
};

static bool has(struct cell c, const char *word)
{
    return measure_find(c.text, c.length, word) != NULL;
}

static bool has_either(struct cell c, const char *english, const char *chinese)
{
    return has(c, english) || has(c, chinese);
}

static struct cell trim_cell(struct cell c)
{
    while (c.length && (unsigned char)*c.text <= ' ') {
        c.text++;
        c.length--;
    }
    while (c.length && (unsigned char)c.text[c.length - 1] <= ' ')
        c.length--;
    return c;
}

/* Cells between tabs or bars, empty ones dropped. */
static size_t split(const char *line, size_t length, struct cell cells[CELLS_MAX])
{
    size_t count = 0, start = 0;
    for (size_t i = 0; i <= length && count < CELLS_MAX; i++) {
        if (i < length && line[i] != '\t' && line[i] != '|')
            continue;
        struct cell c = trim_cell((struct cell){line + start, i - start});
        if (c.length)
            cells[count++] = c;
        start = i + 1;
    }
    return count;
}

/* One part of the heading: a size and a pattern, a share of reads, threads, or outstanding I/Os. */
static void read_part(struct cell part, struct measurement *m)
{
    part = trim_cell(part);
    struct stated number;
    size_t used;
    if (number_read(part.text, part.length, &number, &used, NULL))
        return;
    if (has_either(part, "%", "％")) {
        m->read_pct = number.value <= 100 ? number.value : NAN;
    } else if (has_either(part, "thread", "线程")) {
        m->threads = number.value;
    } else if (has_either(part, "outstanding", "未完成")) {
        m->iodepth = number.value;
    } else if (has_either(part, "random", "随机") || has_either(part, "sequential", "顺序")) {
        if (number_read_size(part.text, part.length, &m->block_bytes, &used))
            m->block_bytes = NAN;
        m->pattern = has_either(part, "random", "随机") ? PATTERN_RANDOM : PATTERN_SEQUENTIAL;
    }
}

static bool read_heading(const char *line, size_t length, struct article *a)
{
    const char *open = measure_find(line, length, "（");
    size_t mark = 3;
    if (!open) {
        open = memchr(line, '(', length);
        mark = 1;
    }
    if (!open)
        return false;
    struct measurement m;
    measurement_clear(&m);
    const char *at = open + mark, *end = line + length, *start = at;
    for (; at < end; at++) {
        bool wide = end - at >= 3 && memcmp(at, "；", 3) == 0;
        if (*at != ';' && !wide && *at != ')')
            continue;
        read_part((struct cell){start, (size_t)(at - start)}, &m);
        start = at + (wide ? 3 : 1);
    }
    if (start < end)
        read_part((struct cell){start, (size_t)(end - start)}, &m);
    if (!(m.block_bytes >= 1) || !(m.threads >= 1) || !(m.iodepth >= 1) || m.threads > 1e6 ||
        m.iodepth > 1e6)
        return false;
    const char *name = line;
    while (name < open && (*name == '|' || *name == ' '))
        name++;
    measurement_set_text(m.workload, name, (size_t)(open - name));
    a->heading = m;
    a->has_heading = true;
    a->kind_count = 0;
    return true;
}

static bool read_columns(const struct cell *cells, size_t count, struct article *a)
{
    if (count < 2 || !has(cells[0], "IOPS"))
        return false;
    for (size_t i = 0; i < count; i++) {
        a->factors[i] = 1;
        a->kinds[i] = CELL_OTHER;
        double unit = number_throughput_unit(cells[i].text, cells[i].length, &a->open[i]);
        if (has(cells[i], "IOPS")) {
            a->kinds[i] = CELL_IOPS;
        } else if (unit > 0) {
            a->kinds[i] = CELL_THROUGHPUT;
            a->factors[i] = unit;
        } else if (has_either(cells[i], "(ms)", "毫秒")) {
            a->kinds[i] = CELL_LATENCY;
            a->factors[i] = 1000;
        } else if (has_either(cells[i], "(us)", "微秒")) {
            a->kinds[i] = CELL_LATENCY;
        } else if (has_either(cells[i], "%", "％")) {
            a->kinds[i] = CELL_CPU;
        }
    }
    a->kind_count = count;
    return true;
}

static bool read_row(const struct cell *cells, size_t count, const struct article *a,
                     struct measurement *m, struct measurements *table)
{
    if (!a->has_heading || a->kind_count == 0 || count < a->kind_count + 1)
        return false;
    *m = a->heading;
    measurement_set_text(m->controller, cells[0].text, cells[0].length);
    for (size_t i = 0; i < a->kind_count; i++) {
        struct stated value;
        struct number_form form;
        if (number_read_all(cells[i + 1].text, cells[i + 1].length, &value, &form))
            return false;
        bool thousands = form.ambiguous && a->kinds[i] == CELL_IOPS;
        if (thousands)
            number_as_thousands(&value, table);
        table->decimal_commas += form.decimal_comma && !thousands;
        value.value *= a->factors[i];
        value.half_digit *= a->factors[i];
        switch (a->kinds[i]) {
        case CELL_IOPS:
            m->iops = value;
            break;
        case CELL_THROUGHPUT:
            m->throughput = value;
            m->throughput_unit_open = a->open[i];
            break;
        case CELL_LATENCY:
            m->latency_us = value;
            break;
        case CELL_CPU:
            m->cpu_pct = value;
            break;
        case CELL_OTHER:
            break;
        }
    }
    return true;
}

static int read_article(const struct measure_input *in, struct measurements *table,
                        struct error *err)
{
    struct article a = {.has_heading = false};
    const char *line;
    size_t length, at = 0;
    uint64_t number = 0;
    while (measure_next_line(in, &at, &line, &length)) {
        number++;
        struct cell cells[CELLS_MAX];
        size_t count = length < 4096 ? split(line, length, cells) : 0;
        if (count == 0 || (count <= 2 && read_heading(line, length, &a)) ||
            read_columns(cells, count, &a))
            continue;
        struct measurement m;
        if (!read_row(cells, count, &a, &m, table))
            continue;
        m.line = number;
        int rc = measurements_add(table, &m, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int bid(const struct measure_input *in)
{
    struct article a = {.has_heading = false};
    const char *line;
    size_t length, at = 0;
    bool heading = false;
    while (measure_next_line(in, &at, &line, &length)) {
        struct cell cells[CELLS_MAX];
        size_t count = length < 4096 ? split(line, length, cells) : 0;
        if (count == 0)
            continue;
        if (count <= 2 && read_heading(line, length, &a))
            heading = true;
        else if (heading && read_columns(cells, count, &a))
            return 60;
    }
    return 0;
}

const struct measure_reader measure_article = {"article", "tables in an article", bid,
                                               read_article};
