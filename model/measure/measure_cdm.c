/* CrystalDiskMark's text: its own file, or pasted into prose, several runs after each other. The
 * drive letter of a run becomes the device, "Test N" before it its source. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/measure/private/number_text.h"

#define CURSOR_MAX 4096

/* Walks one line by literal pieces and numbers; any miss makes the whole line no result line. */
struct cursor {
    const char *at;
    size_t left;
    bool lost;
};

/* Blanks, and the no-break spaces that web pages put in their place. */
static void skip_blanks(struct cursor *c)
{
    while (c->left) {
        size_t n = *c->at == ' ' || *c->at == '\t'                     ? 1
                   : c->left >= 2 && memcmp(c->at, "\xc2\xa0", 2) == 0 ? 2
                                                                       : 0;
        if (n == 0)
            return;
        c->at += n;
        c->left -= n;
    }
}

static void expect(struct cursor *c, const char *literal)
{
    skip_blanks(c);
    size_t n = strlen(literal);
    if (c->lost || c->left < n || strncasecmp(c->at, literal, n) != 0) {
        c->lost = true;
        return;
    }
    c->at += n;
    c->left -= n;
}

static struct stated number(struct cursor *c)
{
    struct stated value = {0, 0};
    size_t used;
    skip_blanks(c);
    if (c->lost || number_read(c->at, c->left, &value, &used, NULL)) {
        c->lost = true;
        return value;
    }
    c->at += used;
    c->left -= used;
    return value;
}

/* " SEQ  1MiB (Q= 8, T= 1):  983.059 MB/s [  937.5 IOPS] < 8497.49 us>" */
static bool result_line(const char *line, size_t length, struct measurement *m)
{
    struct cursor c = {line, length < CURSOR_MAX ? length : CURSOR_MAX, false};
    skip_blanks(&c);
    if (c.left < 4)
        return false;
    m->pattern = strncasecmp(c.at, "SEQ", 3) == 0   ? PATTERN_SEQUENTIAL
                 : strncasecmp(c.at, "RND", 3) == 0 ? PATTERN_RANDOM
                                                    : PATTERN_UNKNOWN;
    if (m->pattern == PATTERN_UNKNOWN)
        return false;
    c.at += 3;
    c.left -= 3;
    skip_blanks(&c);
    size_t used;
    if (number_read_size(c.at, c.left, &m->block_bytes, &used))
        return false;
    c.at += used;
    c.left -= used;
    expect(&c, "(Q=");
    m->iodepth = number(&c).value;
    expect(&c, ", T=");
    m->threads = number(&c).value;
    expect(&c, "):");
    m->throughput = number(&c);
    expect(&c, "MB/s");
    m->throughput.value *= 1e6;
    m->throughput.half_digit *= 1e6;
    expect(&c, "[");
    m->iops = number(&c);
    expect(&c, "IOPS]");
    if (c.lost || m->iodepth < 1 || m->threads < 1 || m->iodepth > 1e6 || m->threads > 1e6)
        return false;
    expect(&c, "<");
    struct stated latency = number(&c);
    expect(&c, "us>");
    if (!c.lost)
        m->latency_us = latency;
    return true;
}

static int bid(const struct measure_input *in)
{
    size_t look = in->length < 65536 ? in->length : 65536;
    return measure_find(in->text, look, "CrystalDiskMark ") &&
                   measure_find(in->text, in->length, "IOPS]")
               ? 90
               : 0;
}

/* "[E: 0% (0/10GiB)]" of the profile that follows a run names the drive of its rows. */
static void name_drive(const char *line, size_t length, struct measurements *table, size_t run)
{
    const char *open = memchr(line, '[', length);
    if (!open || (size_t)(open - line) + 2 >= length || open[2] != ':')
        return;
    char size[MEASUREMENT_TEXT] = "";
    const char *test = measure_find(line, length, "Test:");
    const char *end = test ? memchr(test, '(', length - (size_t)(test - line)) : NULL;
    if (end)
        measurement_set_text(size, test + 5, (size_t)(end - test - 5));
    for (size_t i = run; i < table->count; i++) {
        char drive[MEASUREMENT_TEXT + 8];
        int n = snprintf(drive, sizeof drive, "%c:%s%s", open[1], size[0] ? " " : "", size);
        measurement_set_text(table->rows[i].device, drive, n > 0 ? (size_t)n : 0);
    }
}

static int read_cdm(const struct measure_input *in, struct measurements *table, struct error *err)
{
    const char *line;
    size_t length, at = 0, run = table->count;
    uint64_t line_number = 0;
    double read_pct = 100;
    char source[MEASUREMENT_TEXT] = "";
    while (measure_next_line(in, &at, &line, &length)) {
        line_number++;
        struct cursor start = {line, length, false};
        skip_blanks(&start);
        const char *text = start.at;
        size_t n = start.left;
        if (n >= 6 && n < 40 && strncasecmp(text, "Test ", 5) == 0) {
            measurement_set_text(source, text, n);
            run = table->count;
        } else if (n >= 6 && strncasecmp(text, "[Read]", 6) == 0) {
            read_pct = 100;
        } else if (n >= 7 && strncasecmp(text, "[Write]", 7) == 0) {
            read_pct = 0;
        } else if (n >= 5 && strncasecmp(text, "[Mix]", 5) == 0) {
            read_pct = 70; /* CrystalDiskMark's default mix */
            measurements_note(table, "the rows under [Mix] are taken as 70 %% reads, the default");
        } else if (n >= 5 && strncasecmp(text, "Test:", 5) == 0) {
            name_drive(text, n, table, run);
            run = table->count;
        }
        struct measurement m;
        measurement_clear(&m);
        if (!result_line(text, n, &m))
            continue;
        m.line = line_number;
        m.read_pct = read_pct;
        memcpy(m.source, source, sizeof source);
        int rc = measurements_add(table, &m, err);
        if (rc)
            return rc;
    }
    return 0;
}

const struct measure_reader measure_crystaldiskmark = {"crystaldiskmark", "CrystalDiskMark text",
                                                       bid, read_cdm};
