/* A .reel trace as measurements: one row for each depth at which the device worked long enough,
 * with the rate and the latency seen there. Windows in which the depth changed much are not used.
 */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "traces/reel/trace_reader.h"

#define DEPTH_CLASSES  17  /* 1, 2, 4, … 65536 */
#define WINDOW_RECORDS 256 /* I/Os in one window */
#define WINDOWS_MIN    4   /* fewer at a depth say nothing */
#define SPREAD_MAX                                                                                 \
    0.5 /* relative standard deviation of the depth inside a window: a load of a                   \
            fixed depth is seen to waver below it at the device */

struct depth_class {
    uint64_t windows;
    double ios, seconds, latency_ns, latency_square, bytes, reads;
};

struct window {
    uint64_t count, first_ns, last_ns;
    double depth, depth_square, latency_ns, latency_square, bytes, reads;
};

static void close_window(struct window *w, struct depth_class classes[DEPTH_CLASSES])
{
    double n = (double)w->count;
    double depth = w->depth / n;
    double variance = w->depth_square / n - depth * depth;
    double seconds = (double)(w->last_ns - w->first_ns) / 1e9 * n / (n - 1);
    if (depth >= 1 && seconds > 0 && variance <= SPREAD_MAX * SPREAD_MAX * depth * depth) {
        int index = (int)lround(log2(depth));
        struct depth_class *c = &classes[index < DEPTH_CLASSES ? index : DEPTH_CLASSES - 1];
        c->windows++;
        c->ios += n;
        c->seconds += seconds;
        c->latency_ns += w->latency_ns;
        c->latency_square += w->latency_square;
        c->bytes += w->bytes;
        c->reads += w->reads;
    }
    memset(w, 0, sizeof *w);
}

static void add_record(struct window *w, const struct io_record *r,
                       struct depth_class classes[DEPTH_CLASSES])
{
    if (w->count == 0)
        w->first_ns = r->issue_ns;
    double latency = (double)r->latency_ns;
    w->count++;
    w->last_ns = r->issue_ns;
    w->depth += r->depth;
    w->depth_square += (double)r->depth * r->depth;
    w->latency_ns += latency;
    w->latency_square += latency * latency;
    w->bytes += (double)r->len_bytes;
    w->reads += r->op == IO_READ;
    if (w->count == WINDOW_RECORDS)
        close_window(w, classes);
}

static int add_rows(const char *path, const struct depth_class classes[DEPTH_CLASSES],
                    struct measurements *table, struct error *err)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (int i = 0; i < DEPTH_CLASSES; i++) {
        const struct depth_class *c = &classes[i];
        if (c->windows < WINDOWS_MIN)
            continue;
        struct measurement m;
        measurement_clear(&m);
        measurement_set_text(m.run, base, strlen(base));
        double mean = c->latency_ns / c->ios;
        double variance = c->latency_square / c->ios - mean * mean;
        m.threads = 1;
        /* Averaged over time, as the laws want it: the latencies' integral over the windows. What
         * was recorded at issue chooses the windows; its mean is that of the arrivals only. */
        m.iodepth = c->latency_ns / 1e9 / c->seconds;
        m.iops = (struct stated){c->ios / c->seconds, 0.5 / c->seconds};
        m.latency_us = (struct stated){mean / 1e3, 5e-4};
        m.latency_sd_us = variance > 0 ? sqrt(variance) / 1e3 : NAN;
        m.block_bytes = c->bytes / c->ios >= 1 ? c->bytes / c->ios : NAN;
        m.read_pct = 100 * c->reads / c->ios;
        int rc = measurements_add(table, &m, err);
        if (rc)
            return rc;
    }
    return 0;
}

int measurements_read_reel(const char *path, struct measurements *table, struct error *err)
{
    const struct trace_reader_options options = {
        .fields =
            IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_DEPTH | IO_HAS_LEN | IO_HAS_OP | IO_HAS_DEVICE,
        .in_order = true,
    };
    struct trace_reader *reader;
    int rc = trace_reader_open(path, &options, &reader, err);
    if (rc)
        return rc;
    const uint32_t needed = IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_DEPTH;
    struct depth_class classes[DEPTH_CLASSES] = {{0}};
    struct window window = {0};
    struct trace_batch batch;
    size_t first = table->count;
    uint16_t device = 0;
    bool any = false, others = false;
    while ((rc = trace_reader_next(reader, &batch, err)) == 0)
        for (size_t i = 0; i < batch.count; i++) {
            const struct io_record *r = &batch.records[i];
            if ((r->has & needed) != needed || r->op > IO_WRITE)
                continue;
            if (!any) {
                device = r->device;
                any = true;
            } else if (r->device != device) {
                others = true;
                continue;
            }
            add_record(&window, r, classes);
        }
    if (rc == 1)
        rc = add_rows(path, classes, table, err);
    if (rc == 0 && others)
        measurements_note(table, "%s holds several devices; only the first is used", path);
    if (rc == 0 && trace_reader_ending(reader) == TRACE_CUT)
        measurements_note(table, "%s", trace_reader_cut_text(reader));
    trace_reader_close(reader);
    if (rc == 0 && table->count == first)
        return error_set(
            err, ENODATA,
            "%s: no depth was held for %d x %d I/Os with issue time, latency and depth; "
            "capture a steady load",
            path, WINDOWS_MIN, WINDOW_RECORDS);
    return rc;
}
