/* ioreel check: lints measured tables by Little's law, by throughput = IOPS × size, and sweeps by
 * the rules that every queueing network keeps. */
#include "model/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/text_table.h"
#include "common/units.h"
#include "model/measure/private/lint.h"
#include "model/measure/measure_readers.h"
#include "model/measure/sweep.h"

#define FINDINGS_MAX 256

struct check_options {
    bool json;
    bool all;
};

static const struct option_row option_rows[] = {
    {'a', "all", NULL, OPTION_FLAG, offsetof(struct check_options, all),
     "print the rows that are in order, too"},
    {0, "json", NULL, OPTION_FLAG, offsetof(struct check_options, json),
     "print one JSON document instead of text"},
};

static const char *const examples[] = {
    "ioreel check model/data/controllers-crystaldiskmark.csv",
    "ioreel check --all model/data/controllers-wiki.csv",
    "ioreel check --json model/data/sweeps.csv | jq .worst_error_pct",
    NULL,
};

struct report {
    const struct check_options *options;
    struct text_table *table;
    json_t *rows, *sweeps;
    size_t checked, errors, not_reached, notable, broken;
    size_t incomplete; /* rows that lack what their tool always prints */
    size_t swept;      /* sweeps of two depths or more */
    double worst_pct;
};

static void add_json_row(struct report *r, const char *path, const struct measurement *m,
                         size_t row, const struct lint_result *result)
{
    char label[MEASUREMENT_LABEL];
    json_t *o = json_object();
    json_object_set_new(o, "source", json_string(m->source));
    json_object_set_new(o, "label", json_string(measurement_label(m, label)));
    json_object_set_new(o, "file", json_string(path));
    json_object_set_new(o, "row", json_u64(row));
    json_object_set_new(o, "line", json_u64_or_null(m->line > 0, m->line));
    json_object_set_new(o, "law", json_string(lint_law_name(result->law)));
    json_object_set_new(o, "expected", json_double(result->expected));
    json_object_set_new(o, "stated", json_double(result->stated));
    json_object_set_new(o, "error_pct", json_double(result->error_pct));
    json_object_set_new(o, "verdict", json_string(lint_verdict_name(result->verdict)));
    json_object_set_new(o, "effective_depth", json_double(result->effective_depth));
    json_object_set_new(o, "depth", json_double(measurement_depth(m)));
    json_array_append_new(r->rows, o);
}

/* "random 4 KiB, 100 % read, depth 32" */
static const char *describe(const struct measurement *m, char out[128])
{
    char size[UNITS_TEXT] = "";
    int used = snprintf(out, 128, "%s", measurement_pattern_name(m->pattern));
    if (m->block_bytes > 0)
        used += snprintf(out + used, 128 - (size_t)used, " %s",
                         units_format_size((uint64_t)m->block_bytes, size));
    if (!isnan(m->read_pct))
        used += snprintf(out + used, 128 - (size_t)used, " %.3g%% read", m->read_pct);
    if (!isnan(measurement_depth(m)))
        snprintf(out + used, 128 - (size_t)used, " QD %.6g", measurement_depth(m));
    return out;
}

static void add_text_row(struct report *r, const struct measurement *m,
                         const struct lint_result *result)
{
    char label[MEASUREMENT_LABEL];
    char what[128];
    text_table_cell(r->table, "%.70s", measurement_label(m, label));
    text_table_cell(r->table, "%s", describe(m, what));
    text_table_cell(r->table, "%llu", (unsigned long long)m->line);
    text_table_cell(r->table, "%s", lint_law_name(result->law));
    text_table_cell(r->table, "%.6g", result->expected);
    text_table_cell(r->table, "%.6g", result->stated);
    text_table_cell(r->table, "%+.2f %%", result->error_pct);
    if (result->verdict == LINT_DEPTH_NOT_REACHED)
        text_table_cell(r->table, "depth not reached: %.1f of %.6g", result->effective_depth,
                        measurement_depth(m));
    else if (result->law == LINT_LITTLE && result->verdict == LINT_ERROR)
        text_table_cell(r->table, "error: X*R is %.4g, over %.6g in flight",
                        result->effective_depth, measurement_depth(m));
    else
        text_table_cell(r->table, "%s", lint_verdict_name(result->verdict));
}

static void report_result(struct report *r, const char *path, const struct measurement *m,
                          size_t row, const struct lint_result *result)
{
    r->checked++;
    r->errors += result->verdict == LINT_ERROR;
    r->not_reached += result->verdict == LINT_DEPTH_NOT_REACHED;
    r->notable += result->verdict == LINT_INFO || result->verdict == LINT_WARN;
    if (fabs(result->error_pct) > fabs(r->worst_pct))
        r->worst_pct = result->error_pct;
    if (r->options->json)
        add_json_row(r, path, m, row, result);
    else if (r->options->all || result->verdict != LINT_OK)
        add_text_row(r, m, result);
}

static void report_sweep(struct report *r, const struct sweep *s, const struct sweep_finding *f)
{
    char label[MEASUREMENT_LABEL];
    measurement_label(&s->key, label);
    r->broken++;
    if (r->options->json) {
        json_t *o = json_object();
        json_object_set_new(o, "source", json_string(s->key.source));
        json_object_set_new(o, "label", json_string(label));
        json_object_set_new(o, "rule", json_string(sweep_fault_name(f->fault)));
        json_object_set_new(o, "depth", json_double(f->depth));
        json_object_set_new(o, "stated", json_double(f->stated));
        json_object_set_new(o, "limit", json_double(f->limit));
        json_object_set_new(o, "excess_pct", json_double(f->excess_pct));
        json_array_append_new(r->sweeps, o);
        return;
    }
    static const char *const words[] = {
        [SWEEP_SUPERLINEAR] = "is above what the depth before it allows: latency fell",
        [SWEEP_NOT_CONCAVE] = "is below the chord of its neighbours: latency jumped early",
        [SWEEP_RETROGRADE] = "is below an earlier depth's: throughput fell",
        [SWEEP_FINE] = "",
    };
    printf("%s: at depth %.6g %.6g IOPS %s (%.6g, %+.1f %%)\n", label, f->depth, f->stated,
           words[f->fault], f->limit, f->excess_pct);
}

static int check_file(struct report *r, const char *path, struct error *err)
{
    struct measurements table;
    measurements_init(&table);
    int rc = measurements_read_file(path, &table, err);
    struct sweeps sweeps = {NULL, 0};
    if (rc == 0)
        rc = sweeps_build(&table, &sweeps, err);
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (size_t i = 0; i < table.count && rc == 0; i++)
        if (!table.rows[i].source[0])
            measurement_set_text(table.rows[i].source, base, strlen(base));
    r->incomplete += rc == 0 ? table.incomplete : 0;
    for (size_t i = 0; i < table.note_count && rc == 0; i++)
        log_info("%s: %s", path, table.notes[i]);
    for (size_t i = 0; i < table.count && rc == 0; i++) {
        struct lint_result result;
        if (lint_little(&table.rows[i], &result))
            report_result(r, path, &table.rows[i], i + 1, &result);
        if (lint_throughput(&table.rows[i], &result))
            report_result(r, path, &table.rows[i], i + 1, &result);
    }
    if (rc == 0 && !r->options->json) {
        text_table_print(r->table, stdout);
        text_table_free(r->table);
        r->table = NULL;
    }
    for (size_t i = 0; i < sweeps.count && rc == 0; i++) {
        struct sweep_finding findings[FINDINGS_MAX];
        r->swept += sweeps.list[i].count > 1;
        size_t count = sweep_check(&sweeps.list[i], findings, FINDINGS_MAX);
        for (size_t f = 0; f < count && f < FINDINGS_MAX; f++)
            report_sweep(r, &sweeps.list[i], &findings[f]);
    }
    sweeps_free(&sweeps);
    measurements_free(&table);
    return rc;
}

static int print_json(struct report *r)
{
    json_t *document = json_object();
    json_object_set_new(document, "rows", r->rows);
    json_object_set_new(document, "sweeps", r->sweeps);
    json_object_set_new(document, "worst_error_pct",
                        r->checked ? json_double(r->worst_pct) : json_null());
    json_object_set_new(document, "checked", json_u64(r->checked));
    json_object_set_new(document, "errors", json_u64(r->errors));
    json_object_set_new(document, "depth_not_reached", json_u64(r->not_reached));
    json_object_set_new(document, "incomplete", json_u64(r->incomplete));
    return json_print(document, false);
}

static int run(void *options, int argc, char **argv, struct error *err)
{
    static const char *const heads[] = {"row",           "what",   "line",  "law",
                                        "expected IOPS", "stated", "error", "verdict"};
    struct report r = {.options = options};
    if (argc < 1)
        return error_usage(err, "check needs a table of measurements; see ioreel check -h");
    if (r.options->json) {
        r.rows = json_array();
        r.sweeps = json_array();
    }
    for (int i = 0; i < argc; i++) {
        if (!r.options->json)
            r.table = text_table_create(8, heads);
        int rc = check_file(&r, argv[i], err);
        if (rc) {
            text_table_free(r.table);
            json_decref(r.rows);
            json_decref(r.sweeps);
            return EXIT_FAILED;
        }
    }
    bool found = r.errors || r.broken;
    if (r.options->json) {
        if (print_json(&r))
            return EXIT_FAILED;
    } else {
        printf("%zu checks: %zu errors, %zu rows that did not reach their depth, %zu notable, "
               "%zu breaks in sweeps\n",
               r.checked, r.errors, r.not_reached, r.notable, r.broken);
    }
    bool idle = r.checked == 0 && r.swept == 0;
    if (idle)
        log_warn("nothing was checked: no row states what a law needs (IOPS, latency and depth; or "
                 "IOPS, throughput and size)");
    return found || idle || r.incomplete ? EXIT_UNFAITHFUL : EXIT_DONE;
}

const struct command cmd_check = {
    .name = "check",
    .summary = "lints measured tables by Little's law and throughput = IOPS x size",
    .usage = "TABLE...",
    .examples = examples,
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .options_size = sizeof(struct check_options),
    .run = run,
};
