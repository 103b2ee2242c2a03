/* ioreel stat: what happened, on one screen or as JSON. */
#include "analysis/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analysis/stat/private/trace_stat.h"
#include "common/interrupt.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/text_table.h"
#include "common/units.h"

struct stat_options {
    bool json;
    uint64_t from_ns;
    uint64_t to_ns;
};

static const struct option_row rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(struct stat_options, json), "print one JSON document"},
    {0, "from", "TIME", OPTION_TIME, offsetof(struct stat_options, from_ns),
     "only records issued at TIME or later"},
    {0, "to", "TIME", OPTION_TIME, offsetof(struct stat_options, to_ns),
     "only records issued before TIME"},
};

static const struct stat_options defaults = {.to_ns = OPTION_UNSET};

static const char *const examples[] = {
    "ioreel stat traces/samples/sqlite.reel",
    "ioreel stat traces/samples/sqlite.reel --from 1s --to 2s",
    "ioreel stat traces/samples/sqlite.reel --json | jq .read.latency_us.p99",
    NULL,
};

static const char *const group_names[STAT_GROUPS] = {"read", "write", "other"};

static double per_second(double amount, const struct stat_scope *s)
{
    uint64_t span = stat_span_ns(s);
    return span ? amount / ((double)span / 1e9) : NAN;
}

static json_t *latency_json(const struct histogram *h)
{
    json_t *object = json_object();
    static const struct {
        const char *key;
        double percent;
    } points[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p999", 99.9}};
    bool known = h && h->count;
    json_object_set_new(object, "mean", known ? json_real(histogram_mean(h) / 1e3) : json_null());
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        json_object_set_new(
            object, points[i].key,
            known ? json_real((double)histogram_percentile(h, points[i].percent) / 1e3)
                  : json_null());
    json_object_set_new(object, "max", known ? json_real((double)h->max / 1e3) : json_null());
    return object;
}

static json_t *sizes_json(const struct size_counts *sizes)
{
    json_t *object = json_object();
    bool known = sizes && sizes->count;
    json_object_set_new(object, "mean", known ? json_real(size_counts_mean(sizes)) : json_null());
    json_object_set_new(object, "p50",
                        known ? json_u64(size_counts_percentile(sizes, 50)) : json_null());
    json_object_set_new(object, "p99",
                        known ? json_u64(size_counts_percentile(sizes, 99)) : json_null());
    return object;
}

static json_t *op_json(const struct stat_scope *s, enum stat_group group)
{
    const struct stat_op *op = &s->op[group];
    json_t *object = json_object();
    json_object_set_new(object, "count", json_u64(op->count));
    json_object_set_new(object, "iops", json_double(per_second((double)op->count, s)));
    json_object_set_new(object, "bytes_per_s", json_double(per_second((double)op->bytes, s)));
    json_object_set_new(object, "errors", json_u64(op->errors));
    json_object_set_new(object, "len_bytes", sizes_json(op->sizes));
    json_object_set_new(object, "latency_us", latency_json(op->latency));
    return object;
}

/* Recorded depth, averaged over time, against throughput times latency. */
static void littles_law(const struct stat_scope *s, double *depth, double *product)
{
    uint64_t span = stat_span_ns(s);
    *depth = stat_depth_mean(s);
    *product = s->latency_count && span ? s->latency_sum_ns / (double)span : NAN;
}

static double little_error_pct(double depth, double product)
{
    return depth > 0 ? 100 * (product / depth - 1) : NAN;
}

static json_t *littles_law_json(const struct stat_scope *s)
{
    double depth, product;
    littles_law(s, &depth, &product);
    json_t *object = json_object();
    json_object_set_new(object, "depth_mean", json_double(depth));
    json_object_set_new(object, "iops_times_latency", json_double(product));
    json_object_set_new(object, "error_pct", json_double(little_error_pct(depth, product)));
    return object;
}

static json_t *depth_json(const struct stat_scope *s)
{
    json_t *object = json_object();
    json_object_set_new(object, "mean", json_double(stat_depth_mean(s)));
    json_object_set_new(object, "max", json_u64_or_null(s->depth.any, s->depth.max));
    return object;
}

/* Mean and squared coefficient of variation of the times between issues: 1 is Poisson. */
static void arrivals(const struct stat_scope *s, double *mean_ns, double *scv)
{
    *mean_ns = *scv = NAN;
    if (!s->intervals || s->intervals->count == 0)
        return;
    double count = (double)s->intervals->count;
    *mean_ns = s->intervals->sum / count;
    if (*mean_ns > 0)
        *scv = (s->interval_sum_sq / count - *mean_ns * *mean_ns) / (*mean_ns * *mean_ns);
}

static json_t *arrivals_json(const struct stat_scope *s)
{
    double mean, scv;
    arrivals(s, &mean, &scv);
    const struct histogram *h = s->intervals;
    bool known = h && h->count;
    json_t *object = json_object();
    json_object_set_new(object, "interval_mean_us", json_double(mean / 1e3));
    json_object_set_new(object, "interval_p50_us",
                        known ? json_real((double)histogram_percentile(h, 50) / 1e3) : json_null());
    json_object_set_new(object, "interval_p99_us",
                        known ? json_real((double)histogram_percentile(h, 99) / 1e3) : json_null());
    json_object_set_new(object, "scv", json_double(scv));
    return object;
}

static void scope_json(json_t *object, const struct stat_scope *s)
{
    json_object_set_new(object, "records", json_u64(s->records));
    json_object_set_new(object, "span_ns", json_u64_or_null(s->timed, stat_span_ns(s)));
    json_object_set_new(object, "errors", json_u64(s->errors));
    for (unsigned g = 0; g < STAT_GROUPS; g++)
        json_object_set_new(object, group_names[g], op_json(s, g));
    json_object_set_new(object, "depth", depth_json(s));
    json_object_set_new(object, "littles_law", littles_law_json(s));
    json_object_set_new(object, "arrivals", arrivals_json(s));
    json_object_set_new(object, "sequential_pct",
                        s->located ? json_real(100.0 * (double)s->sequential / (double)s->located)
                                   : json_null());
    double error_pct = 0;
    uint64_t bytes = s->working_set ? working_set_bytes(s->working_set, &error_pct) : 0;
    json_object_set_new(object, "working_set_bytes", json_u64_or_null(s->working_set, bytes));
    json_object_set_new(object, "working_set_error_pct",
                        s->working_set ? json_real(error_pct) : json_null());
}

static int print_json(const struct trace_stat *stat, const struct trace_meta *meta,
                      const struct trace_loss *loss, bool complete, bool partial)
{
    json_t *root = json_object();
    scope_json(root, &stat->all);
    json_object_set_new(root, "lost", json_u64_or_null(loss->lost != TRACE_UNKNOWN, loss->lost));
    json_object_set_new(root, "open", json_u64(loss->open));
    json_object_set_new(root, "complete", json_boolean(complete));
    if (partial)
        json_object_set_new(root, "partial", json_true());
    json_t *devices = json_array();
    for (size_t i = 0; i < stat->device_count; i++) {
        if (stat->devices[i].records == 0)
            continue;
        json_t *device = json_object();
        json_object_set_new(
            device, "name",
            json_text_or_null(i < meta->device_count ? meta->devices[i].name : NULL));
        scope_json(device, &stat->devices[i]);
        json_array_append_new(devices, device);
    }
    json_object_set_new(root, "devices", devices);
    return json_print(root, false);
}

static void latency_cells(struct text_table *table, const struct histogram *h)
{
    static const double percents[] = {50, 90, 99, 99.9};
    char text[UNITS_TEXT];
    bool known = h && h->count;
    text_table_cell(table, "%s", known ? units_format_ns(histogram_mean(h), text) : "-");
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        text_table_cell(table, "%s",
                        known ? units_format_ns((double)histogram_percentile(h, percents[i]), text)
                              : "-");
    text_table_cell(table, "%s", known ? units_format_ns((double)h->max, text) : "-");
}

static void op_row(struct text_table *table, const char *name, const struct stat_scope *s,
                   const struct stat_op *op)
{
    char a[UNITS_TEXT];
    double iops = per_second((double)op->count, s), rate = per_second((double)op->bytes, s);
    text_table_cell(table, "%s", name);
    text_table_cell(table, "%s", units_format_count(op->count, a));
    text_table_cell(table, "%s", isnan(iops) ? "-" : units_format_rate(iops, a));
    if (isnan(rate))
        text_table_cell(table, "-");
    else
        text_table_cell(table, "%s/s", units_format_size((uint64_t)rate, a));
    bool sized = op->sizes && op->sizes->count;
    text_table_cell(table, "%s",
                    sized ? units_format_size((uint64_t)size_counts_mean(op->sizes), a) : "-");
    text_table_cell(table, "%s",
                    sized ? units_format_size(size_counts_percentile(op->sizes, 99), a) : "-");
    latency_cells(table, op->latency);
}

static void print_scope(const struct stat_scope *s)
{
    static const char *const heads[] = {"op",   "count", "IOPS", "rate", "size",  "size p99",
                                        "mean", "p50",   "p90",  "p99",  "p99.9", "max"};
    struct text_table *table = text_table_create(sizeof heads / sizeof *heads, heads);
    if (!table)
        return;
    for (unsigned g = 0; g < STAT_GROUPS; g++)
        if (s->op[g].count)
            op_row(table, group_names[g], s, &s->op[g]);
    text_table_print(table, stdout);
    text_table_free(table);

    double depth, product, mean, scv, error_pct = 0;
    char a[UNITS_TEXT];
    littles_law(s, &depth, &product);
    if (!isnan(depth))
        printf("depth        mean %.2f, max %" PRIu32 "\n", depth, s->depth.max);
    if (!isnan(depth) && !isnan(product))
        printf("Little's law recorded depth %.2f, IOPS x latency %.2f: %+.2f %%\n", depth, product,
               little_error_pct(depth, product));
    arrivals(s, &mean, &scv);
    if (!isnan(mean))
        printf("arrivals     every %s on average, squared variation %.2f (1 is Poisson)\n",
               units_format_ns(mean, a), scv);
    if (s->located)
        printf("sequential   %.1f %% of reads and writes begin where the one before ended\n",
               100.0 * (double)s->sequential / (double)s->located);
    if (s->working_set) {
        printf("working set  %s",
               units_format_size(working_set_bytes(s->working_set, &error_pct), a));
        printf(error_pct > 0 ? " (estimated, standard error %.1f %%)\n" : "\n", error_pct);
    }
    if (s->errors)
        printf("errors       %" PRIu64 " (read %" PRIu64 ", write %" PRIu64 ", other %" PRIu64
               "), not in the latencies above\n",
               s->errors, s->op[STAT_READ].errors, s->op[STAT_WRITE].errors,
               s->op[STAT_OTHER].errors);
}

static void print_text(const char *path, const struct trace_stat *stat,
                       const struct trace_meta *meta, const struct trace_loss *loss)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    printf("%s: %s records", path, units_format_count(stat->all.records, a));
    if (stat->all.timed)
        printf(" in %s", units_format_ns((double)stat_span_ns(&stat->all), b));
    if (vantage_name(meta->vantage))
        printf(", seen at the %s level", vantage_name(meta->vantage));
    putchar('\n');
    if (loss->lost != TRACE_UNKNOWN && loss->lost)
        printf("lost         %" PRIu64 " more I/Os happened that are not in the trace\n",
               loss->lost);
    print_scope(&stat->all);
    size_t shown = 0;
    for (size_t i = 0; i < stat->device_count; i++)
        shown += stat->devices[i].records > 0;
    for (size_t i = 0; i < stat->device_count && shown > 1; i++) {
        if (stat->devices[i].records == 0)
            continue;
        printf("\n%s: %s records\n", i < meta->device_count ? meta->devices[i].name : "-",
               units_format_count(stat->devices[i].records, a));
        print_scope(&stat->devices[i]);
    }
}

static int run_stat(void *options, int argc, char **argv, struct error *err)
{
    const struct stat_options *o = options;
    if (argc != 1)
        return error_usage(err, "stat takes one trace; see ioreel stat -h");
    if (options_check_window(o->from_ns, o->to_ns, err))
        return EXIT_USAGE;
    struct trace_reader_options reading = {
        .in_order = true,
        .from_ns = o->from_ns,
        .to_ns = o->to_ns == OPTION_UNSET ? 0 : o->to_ns,
        .fields = IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP |
                  IO_HAS_STATUS | IO_HAS_DEPTH | IO_HAS_DEVICE,
    };
    struct trace_reader *reader;
    if (trace_reader_open(argv[0], &reading, &reader, err))
        return EXIT_FAILED;
    struct trace_stat stat = {0};
    struct trace_summary summary = {0};
    int rc = trace_stat_read(&stat, reader, err);
    if (rc >= 0 && trace_reader_summary(reader, &summary, err))
        rc = -1;
    int exit_code = EXIT_FAILED;
    if (rc >= 0) {
        bool cut = rc == 1 && trace_reader_ending(reader) == TRACE_CUT;
        const struct trace_meta *meta = trace_reader_meta(reader);
        if (o->json)
            print_json(&stat, meta, &summary.loss, !cut, rc == 2);
        else
            print_text(argv[0], &stat, meta, &summary.loss);
        if (cut)
            log_warn("%s", trace_reader_cut_text(reader));
        exit_code = rc == 2 ? EXIT_INTERRUPTED : cut ? EXIT_UNFAITHFUL : EXIT_DONE;
    }
    trace_stat_clear(&stat);
    trace_reader_close(reader);
    return exit_code;
}

const struct command cmd_stat = {
    .name = "stat",
    .summary = "rates, sizes, latency, depth, arrivals, locality of a trace",
    .usage = "FILE [--from TIME] [--to TIME] [--json]",
    .examples = examples,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .defaults = &defaults,
    .options_size = sizeof(struct stat_options),
    .run = run_stat,
};
