/* ioreel compare: the same workload, two runs. */
#include "analysis/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/private/trace_compare.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/text_table.h"
#include "common/units.h"

struct compare_options {
    bool json;
    uint64_t tolerance_ns;
};

static const struct option_row rows[] = {
    {0, "tolerance", "TIME", OPTION_TIME, offsetof(struct compare_options, tolerance_ns),
     "exit 3 when the timing error's p99 is beyond TIME"},
    {0, "json", NULL, OPTION_FLAG, offsetof(struct compare_options, json),
     "print one JSON document"},
};

static const struct compare_options defaults = {.tolerance_ns = OPTION_UNSET};

static const char *const examples[] = {
    "ioreel compare traces/samples/sqlite.reel traces/samples/sqlite.reel",
    "ioreel compare recorded.reel replayed.reel --tolerance 1ms",
    "ioreel compare recorded.reel replayed.reel --json | jq .timing_error_us",
    NULL,
};

static const char *const group_names[COMPARE_GROUPS] = {"read", "write", "other", "all"};
static const double percents[] = {50, 90, 99, 99.9};
#define PERCENTS (sizeof percents / sizeof *percents)

/* B's percentile over A's; NAN when there is none, or when the two clocks stood elsewhere. */
static double ratio_at(const struct compare_latency *l, double percent, bool comparable)
{
    if (!comparable || l->a.count == 0)
        return NAN;
    uint64_t a = histogram_percentile(&l->a, percent);
    return a ? (double)histogram_percentile(&l->b, percent) / (double)a : NAN;
}

static json_t *side_json(const char *path, const struct trace_meta *meta, uint64_t records,
                         uint64_t errors, const struct histogram *h)
{
    json_t *object = json_object();
    json_object_set_new(object, "file", json_string(path));
    json_object_set_new(object, "records", json_u64(records));
    json_object_set_new(object, "errors", json_u64(errors));
    json_object_set_new(object, "vantage", json_text_or_null(vantage_name(meta->vantage)));
    json_t *latency = json_object();
    static const char *const keys[PERCENTS] = {"p50", "p90", "p99", "p999"};
    for (size_t i = 0; i < PERCENTS; i++)
        json_object_set_new(latency, keys[i],
                            h->count ? json_real((double)histogram_percentile(h, percents[i]) / 1e3)
                                     : json_null());
    json_object_set_new(object, "latency_us", latency);
    return object;
}

static json_t *latency_json(const struct compare_latency *l, bool comparable)
{
    json_t *object = json_object();
    json_object_set_new(object, "p50_ratio", json_double(ratio_at(l, 50, comparable)));
    json_object_set_new(object, "p99_ratio", json_double(ratio_at(l, 99, comparable)));
    json_object_set_new(object, "ks", json_double(comparable ? compare_ks(l) : NAN));
    json_object_set_new(object, "ks_error", json_double(comparable ? compare_ks_error(l) : NAN));
    json_object_set_new(object, "wasserstein_us",
                        json_double(comparable ? compare_wasserstein_ns(l) / 1e3 : NAN));
    json_object_set_new(object, "wasserstein_error_us",
                        json_double(comparable ? compare_wasserstein_error_ns(l) / 1e3 : NAN));
    return object;
}

static json_t *timing_json(const struct trace_compare *c)
{
    const struct histogram *h = c->timing_error;
    json_t *object = json_object();
    json_object_set_new(object, "p50",
                        h->count ? json_real((double)histogram_percentile(h, 50) / 1e3)
                                 : json_null());
    json_object_set_new(object, "p99",
                        h->count ? json_real((double)histogram_percentile(h, 99) / 1e3)
                                 : json_null());
    json_object_set_new(object, "max", h->count ? json_real((double)h->max / 1e3) : json_null());
    return object;
}

/* What differs between the two recordings' environments and devices, a pair of texts each. */
static json_t *differences(const struct trace_meta *a, const struct trace_meta *b)
{
    json_t *list = json_array();
    json_t *objects[2][2] = {{json_incref(a->environment), json_incref(b->environment)},
                             {NULL, NULL}};
    if (a->device_count && b->device_count) {
        objects[1][0] = trace_device_to_json(&a->devices[0]);
        objects[1][1] = trace_device_to_json(&b->devices[0]);
    }
    for (int kind = 0; kind < 2; kind++) {
        json_t *all = json_object();
        if (objects[kind][0]) {
            json_object_update(all, objects[kind][0]);
            json_object_update(all, objects[kind][1]);
        }
        const char *key;
        json_t *value;
        json_object_foreach (all, key, value) {
            json_t *left = json_object_get(objects[kind][0], key);
            json_t *right = json_object_get(objects[kind][1], key);
            if (left && right && json_equal(left, right))
                continue;
            json_array_append_new(list, json_pack("{s:s, s:s, s:O*, s:O*}", "of",
                                                  kind ? "device" : "environment", "what", key, "a",
                                                  left, "b", right));
        }
        json_decref(all);
        json_decref(objects[kind][0]);
        json_decref(objects[kind][1]);
    }
    return list;
}

struct compare_sides {
    const char *paths[2];
    const struct trace_meta *metas[2];
    bool comparable; /* latencies of equal vantage */
    bool partial;
};

static void print_json(const struct trace_compare *c, const struct compare_sides *s)
{
    const struct compare_latency *all = &c->latency[COMPARE_ALL];
    json_t *root = json_object();
    json_object_set_new(
        root, "a", side_json(s->paths[0], s->metas[0], c->records[0], c->errors[0], &all->a));
    json_object_set_new(
        root, "b", side_json(s->paths[1], s->metas[1], c->records[1], c->errors[1], &all->b));
    json_object_set_new(root, "matched", json_u64(c->matched));
    json_object_set_new(root, "only_a", json_u64(c->only_a));
    json_object_set_new(root, "only_b", json_u64(c->only_b));
    json_object_set_new(root, "latency", latency_json(all, s->comparable));
    json_t *groups = json_object();
    for (unsigned g = 0; g < COMPARE_ALL; g++)
        if (c->latency[g].a.count)
            json_object_set_new(groups, group_names[g],
                                latency_json(&c->latency[g], s->comparable));
    json_object_set_new(root, "latency_by_op", groups);
    json_object_set_new(root, "timing_error_us", timing_json(c));
    bool timed = c->timed && c->matched;
    json_object_set_new(root, "drift_ns", timed ? json_integer(c->drift_ns) : json_null());
    json_object_set_new(root, "reordered_pct",
                        c->matched ? json_real(100.0 * (double)c->reordered / (double)c->matched)
                                   : json_null());
    json_object_set_new(root, "differences", differences(s->metas[0], s->metas[1]));
    if (s->partial)
        json_object_set_new(root, "partial", json_true());
    json_print(root, false);
}

static void print_latencies(const struct trace_compare *c, bool comparable)
{
    static const char *const heads[] = {"latency", "I/Os", "p50 A",   "p50 B",   "B/A", "p99 A",
                                        "p99 B",   "B/A",  "p99.9 A", "p99.9 B", "KS"};
    struct text_table *table = text_table_create(sizeof heads / sizeof *heads, heads);
    for (unsigned g = 0; table && g < COMPARE_GROUPS; g++) {
        const struct compare_latency *l = &c->latency[g];
        char a[UNITS_TEXT], b[UNITS_TEXT];
        if (l->a.count == 0)
            continue;
        text_table_cell(table, "%s", group_names[g]);
        text_table_cell(table, "%s", units_format_count(l->a.count, a));
        static const double shown[] = {50, 99, 99.9};
        for (size_t i = 0; i < 3; i++) {
            text_table_cell(table, "%s",
                            units_format_ns((double)histogram_percentile(&l->a, shown[i]), a));
            text_table_cell(table, "%s",
                            units_format_ns((double)histogram_percentile(&l->b, shown[i]), b));
            double ratio = ratio_at(l, shown[i], comparable);
            if (i < 2)
                text_table_cell(table, isnan(ratio) ? "-" : "%.3f", ratio);
        }
        text_table_cell(table, comparable ? "%.3f" : "-", compare_ks(l));
    }
    text_table_print(table, stdout);
    text_table_free(table);
}

/* One line for what both know and differs, one for all that only one of them knows. */
static void print_differences(const struct compare_sides *s)
{
    json_t *list = differences(s->metas[0], s->metas[1]);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *row = json_array_get(list, i);
        json_t *left = json_object_get(row, "a"), *right = json_object_get(row, "b");
        if (!left || !right || json_is_null(left) || json_is_null(right))
            continue;
        char *a = json_dumps(left, JSON_ENCODE_ANY), *b = json_dumps(right, JSON_ENCODE_ANY);
        printf("differs      %s %s: %s, then %s\n", json_string_value(json_object_get(row, "of")),
               json_string_value(json_object_get(row, "what")), a ? a : "?", b ? b : "?");
        free(a);
        free(b);
    }
    for (int side = 0; side < 2; side++) {
        bool any = false;
        for (size_t i = 0; i < json_array_size(list); i++) {
            json_t *row = json_array_get(list, i);
            json_t *own = json_object_get(row, side ? "b" : "a");
            json_t *other = json_object_get(row, side ? "a" : "b");
            if (!own || json_is_null(own) || (other && !json_is_null(other)))
                continue;
            printf("%s %s",
                   any    ? ","
                   : side ? "known in B  "
                          : "known in A  ",
                   json_string_value(json_object_get(row, "what")));
            any = true;
        }
        if (any)
            putchar('\n');
    }
    json_decref(list);
}

static void print_distance(const struct compare_latency *l)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    printf("distance     KS %.4f (by chance up to %.4f), Wasserstein %s +- %s\n", compare_ks(l),
           compare_ks_error(l), units_format_ns(compare_wasserstein_ns(l), a),
           units_format_ns(compare_wasserstein_error_ns(l), b));
}

/* What was done to one side's records before they were matched. */
static void print_undo(const struct trace_compare *c)
{
    for (int i = 0; i < 2; i++) {
        const struct replay_undo *u = &c->undo[i];
        if (u->active && (u->place.remap != REMAP_NONE || u->speed != 1 || u->as_reads))
            printf("replayed     %c's I/Os are taken as %c's replay issued them: remap %s, speed "
                   "%g%s\n",
                   'A' + i, 'B' - i, io_remap_name(u->place.remap), u->speed,
                   u->as_reads ? ", writes as reads" : "");
        else if (!u->active && u->speed != 1)
            printf("replayed     %c's times are divided by %c's replay speed of %g\n", 'A' + i,
                   'B' - i, u->speed);
    }
}

static void print_text(const struct trace_compare *c, const struct compare_sides *s)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], d[UNITS_TEXT];
    printf("A %s: %s records\nB %s: %s records\n", s->paths[0],
           units_format_count(c->records[0], a), s->paths[1], units_format_count(c->records[1], b));
    printf("matched      %s, only in A %s, only in B %s\n", units_format_count(c->matched, a),
           units_format_count(c->only_a, b), units_format_count(c->only_b, d));
    print_undo(c);
    if (c->errors[0] || c->errors[1])
        printf("errors       A %s, B %s; their latencies are left out\n",
               units_format_count(c->errors[0], a), units_format_count(c->errors[1], b));
    if (c->latency[COMPARE_ALL].a.count) {
        print_latencies(c, s->comparable);
        if (s->comparable)
            print_distance(&c->latency[COMPARE_ALL]);
    }
    const struct histogram *h = c->timing_error;
    if (h->count) {
        printf("timing error p50 %s, p99 %s, max %s\n",
               units_format_ns((double)histogram_percentile(h, 50), a),
               units_format_ns((double)histogram_percentile(h, 99), b),
               units_format_ns((double)h->max, d));
        printf("drift        %s at the last match\n", units_format_ns((double)c->drift_ns, a));
    }
    if (c->matched)
        printf("reordered    %.2f %%\n", 100.0 * (double)c->reordered / (double)c->matched);
    print_differences(s);
}

static int finish(const struct trace_compare *c, struct trace_reader *const readers[2],
                  const struct compare_options *o, const struct compare_sides *s)
{
    int exit_code = s->partial ? EXIT_INTERRUPTED : EXIT_DONE;
    for (int i = 0; i < 2; i++)
        if (trace_reader_ending(readers[i]) == TRACE_CUT) {
            log_warn("%s", trace_reader_cut_text(readers[i]));
            exit_code = EXIT_UNFAITHFUL;
        }
    if (o->tolerance_ns != OPTION_UNSET && c->timing_error->count &&
        histogram_percentile(c->timing_error, 99) > o->tolerance_ns) {
        char a[UNITS_TEXT], b[UNITS_TEXT];
        log_warn("timing error p99 %s is beyond the tolerance of %s",
                 units_format_ns((double)histogram_percentile(c->timing_error, 99), a),
                 units_format_ns((double)o->tolerance_ns, b));
        exit_code = exit_code ? exit_code : EXIT_UNFAITHFUL;
    }
    return exit_code;
}

/* Unequal vantage: the latencies are shown side by side, and no ratio is made of them. */
static bool equal_vantage(const struct trace_meta *a, const struct trace_meta *b)
{
    if (a->vantage == b->vantage)
        return true;
    const char *left = vantage_name(a->vantage), *right = vantage_name(b->vantage);
    log_warn(
        "A's latencies are of the %s level and B's of the %s level; no ratios are made of them",
        left ? left : "unknown", right ? right : "unknown");
    return false;
}

static int run_compare(void *options, int argc, char **argv, struct error *err)
{
    const struct compare_options *o = options;
    if (argc != 2)
        return error_usage(err, "compare takes two traces; see ioreel compare -h");
    struct trace_reader_options reading = {
        .in_order = true,
        .fields =
            IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP |
            IO_HAS_STATUS | IO_HAS_DEVICE,
    };
    struct trace_reader *readers[2] = {NULL, NULL};
    struct trace_compare c = {0};
    int exit_code = EXIT_FAILED;
    if (trace_reader_open(argv[0], &reading, &readers[0], err) ||
        trace_reader_open(argv[1], &reading, &readers[1], err))
        goto out;
    int rc = trace_compare_read(&c, readers, (const char *const *)argv, err);
    if (rc < 0)
        goto out;
    if (c.matched == 0 && c.records[0] && c.records[1]) {
        error_set(err, 0, "no I/O of %s is in %s: these are not two runs of one workload", argv[0],
                  argv[1]);
        goto out;
    }
    struct compare_sides sides = {
        .paths = {argv[0], argv[1]},
        .metas = {trace_reader_meta(readers[0]), trace_reader_meta(readers[1])},
        .partial = rc == 2,
    };
    sides.comparable = equal_vantage(sides.metas[0], sides.metas[1]);
    if (o->json)
        print_json(&c, &sides);
    else
        print_text(&c, &sides);
    exit_code = finish(&c, readers, o, &sides);
out:
    trace_compare_clear(&c);
    trace_reader_close(readers[0]);
    trace_reader_close(readers[1]);
    return exit_code;
}

const struct command cmd_compare = {
    .name = "compare",
    .summary = "two runs of one workload: what changed, how faithful",
    .usage = "A B [--tolerance TIME] [--json]",
    .examples = examples,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .defaults = &defaults,
    .options_size = sizeof(struct compare_options),
    .run = run_compare,
};
