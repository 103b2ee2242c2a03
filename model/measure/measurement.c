/* The table of measurements: growing it, naming its rows, settling what its units meant. */
#include "model/measure/measurement.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

static const struct stated unknown = {NAN, 0};

void measurement_clear(struct measurement *m)
{
    memset(m, 0, sizeof *m);
    m->read_pct = m->block_bytes = m->threads = m->iodepth = NAN;
    m->iops = m->throughput = m->latency_us = m->cpu_pct = unknown;
    m->latency_sd_us = m->p50_us = m->p90_us = m->p99_us = NAN;
    m->cores = m->nodes = m->usd_per_gb = m->usd_per_iops = NAN;
}

double measurement_depth(const struct measurement *m)
{
    if (isnan(m->threads) && isnan(m->iodepth))
        return NAN;
    return (isnan(m->threads) ? 1 : m->threads) * (isnan(m->iodepth) ? 1 : m->iodepth);
}

const char *measurement_label(const struct measurement *m, char out[MEASUREMENT_LABEL])
{
    const char *parts[] = {m->source, m->device, m->controller, m->workload, m->run};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][0] && used < MEASUREMENT_LABEL) {
            int n =
                snprintf(out + used, MEASUREMENT_LABEL - used, "%s%s", used ? ", " : "", parts[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    return out;
}

void measurements_init(struct measurements *table)
{
    memset(table, 0, sizeof *table);
}

void measurements_free(struct measurements *table)
{
    free(table->rows);
    for (size_t i = 0; i < table->note_count; i++)
        free(table->notes[i]);
    measurements_init(table);
}

int measurements_add(struct measurements *table, const struct measurement *row, struct error *err)
{
    if (table->count >= MEASUREMENT_ROWS_MAX)
        return error_set(err, EFBIG, "more than %u rows of measurements; split the table",
                         MEASUREMENT_ROWS_MAX);
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 32;
        struct measurement *rows = realloc(table->rows, capacity * sizeof *rows);
        if (!rows)
            return error_set(err, ENOMEM, "out of memory for %zu rows of measurements", capacity);
        table->rows = rows;
        table->capacity = capacity;
    }
    table->rows[table->count++] = *row;
    return 0;
}

void measurements_note(struct measurements *table, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < table->note_count; i++)
        if (strcmp(table->notes[i], text) == 0)
            return;
    if (table->note_count == MEASUREMENT_NOTES_MAX)
        return;
    char *copy = strdup(text);
    if (copy)
        table->notes[table->note_count++] = copy;
}

void measurements_settle(struct measurements *table, size_t first)
{
    size_t decimal = 0, binary = 0;
    for (size_t i = first; i < table->count; i++) {
        const struct measurement *m = &table->rows[i];
        double expected = m->iops.value * m->block_bytes;
        if (!m->throughput_unit_open || !(expected > 0) || !(m->throughput.value > 0))
            continue;
        double ratio = expected / m->throughput.value;
        decimal += fabs(ratio - 1) < 0.01;
        binary += fabs(ratio / 1.048576 - 1) < 0.01;
    }
    for (size_t i = first; i < table->count; i++) {
        struct measurement *m = &table->rows[i];
        if (m->throughput_unit_open && binary > decimal) {
            m->throughput.value *= 1.048576;
            m->throughput.half_digit *= 1.048576;
        }
        m->throughput_unit_open = false;
    }
    if (table->decimal_commas)
        measurements_note(table,
                          "%zu numbers have a decimal comma and are read as such (0,832 is "
                          "0.832)",
                          table->decimal_commas);
    table->decimal_commas = 0;
    if (binary > decimal)
        measurements_note(table,
                          "MB/s is read as MiB/s: %zu rows agree with IOPS x size that way, %zu as "
                          "10^6 bytes",
                          binary, decimal);
}

void measurement_set_text(char to[MEASUREMENT_TEXT], const char *from, size_t length)
{
    while (length && (unsigned char)from[0] <= ' ') {
        from++;
        length--;
    }
    while (length && (unsigned char)from[length - 1] <= ' ')
        length--;
    size_t used = 0;
    for (size_t i = 0; i < length && used < MEASUREMENT_TEXT - 1; i++)
        to[used++] = (unsigned char)from[i] < ' ' || from[i] == 127 ? ' ' : from[i];
    /* Not half of a UTF-8 character at the cut. */
    if (used == MEASUREMENT_TEXT - 1)
        while (used && ((unsigned char)to[used - 1] & 0xc0) == 0x80)
            used--;
    if (used == MEASUREMENT_TEXT - 1 || (used && ((unsigned char)to[used - 1] & 0xc0) == 0xc0))
        used--;
    to[used] = '\0';
}

const char *measurement_pattern_name(unsigned pattern)
{
    return pattern == PATTERN_RANDOM ? "random" : pattern == PATTERN_SEQUENTIAL ? "sequential" : "";
}
