/* ioreel fit: fits the queueing model to measurements or traces, and writes the model file. */
#include "model/commands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/output_file.h"
#include "common/text_table.h"
#include "common/units.h"
#include "model/fit/fit_report.h"
#include "model/measure/measure_readers.h"
#include "model/fit/model_file.h"

struct fit_options {
    const char *output;
    const char *name;
    const char *title;
    const char *url;
    const char *conditions;
    const char *source;
    const char *device;
    const char *controller;
    const char *workload;
    struct option_numbers qd;
    bool capacity;
    bool validate;
    bool list;
    bool json;
    bool overwrite;
};

#define AT(field) offsetof(struct fit_options, field)

static const struct option_row option_rows[] = {
    {'o', "output", "M.json", OPTION_STRING, AT(output), "write the model there; - is stdout"},
    {0, "source", "TEXT", OPTION_STRING, AT(source), "only rows of that source"},
    {0, "device", "TEXT", OPTION_STRING, AT(device), "only rows of that device"},
    {0, "controller", "TEXT", OPTION_STRING, AT(controller), "only rows of that controller"},
    {0, "workload", "TEXT", OPTION_STRING, AT(workload), "only rows of that workload"},
    {0, "qd", "LIST", OPTION_NUMBERS, AT(qd), "fit from these depths alone: 1,8,32"},
    {0, "validate", NULL, OPTION_FLAG, AT(validate),
     "compare with the measured depths that --qd left out"},
    {0, "capacity", NULL, OPTION_FLAG, AT(capacity),
     "keep rows of one depth as stated rates instead of refusing them"},
    {0, "name", "TEXT", OPTION_STRING, AT(name), "the model's name"},
    {0, "title", "TEXT", OPTION_STRING, AT(title), "where the measurements were published"},
    {0, "url", "TEXT", OPTION_STRING, AT(url), "and where to find that"},
    {0, "conditions", "TEXT", OPTION_STRING, AT(conditions), "host, guest, device, file system, …"},
    {0, "list", NULL, OPTION_FLAG, AT(list), "list the profiles of published controllers"},
    {0, "json", NULL, OPTION_FLAG, AT(json), "print the model (or the list) as JSON"},
    {0, "overwrite-output", NULL, OPTION_FLAG, AT(overwrite), "replace an output that exists"},
};

static const char *const examples[] = {
    "ioreel fit model/data/sweeps.csv --source A -o a.json",
    "ioreel fit model/data/sweeps.csv --qd 1,8,32 --validate",
    "ioreel fit --list",
    NULL,
};

static bool matches(const char *wanted, const char *text)
{
    return !wanted || strcmp(wanted, text) == 0;
}

/* Drops the rows that were not asked for. */
static void select_rows(struct measurements *table, const struct fit_options *o)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct measurement *m = &table->rows[i];
        if (matches(o->source, m->source) && matches(o->device, m->device) &&
            matches(o->controller, m->controller) && matches(o->workload, m->workload))
            table->rows[kept++] = *m;
    }
    table->count = kept;
}

static bool wanted_depth(const struct fit_options *o, double depth)
{
    for (size_t i = 0; i < o->qd.count; i++)
        if (fabs(depth / (double)o->qd.values[i] - 1) < 0.05)
            return true;
    return o->qd.count == 0;
}

/* The points of the sweep that the fit may see. The caller frees out->points. */
static int restrict_sweep(const struct sweep *s, const struct fit_options *o, struct sweep *out,
                          struct error *err)
{
    *out = *s;
    out->count = 0;
    out->points = malloc(s->count * sizeof *out->points);
    if (!out->points)
        return error_set(err, ENOMEM, "out of memory for a sweep");
    for (size_t i = 0; i < s->count; i++)
        if (isnan(s->points[i].depth) || wanted_depth(o, s->points[i].depth))
            out->points[out->count++] = s->points[i];
    return 0;
}

static int fit_one(const struct sweep *s, const struct fit_options *o, struct fit *f,
                   struct error *err)
{
    struct sweep seen;
    int rc = restrict_sweep(s, o, &seen, err);
    if (rc)
        return rc;
    if (seen.count == 0) {
        char label[MEASUREMENT_LABEL];
        rc = error_set(err, EDOM, "%s: none of the depths of --qd was measured",
                       measurement_label(&s->key, label));
    } else if (seen.count == 1 && o->capacity) {
        rc = fit_capacity(&seen, f, err);
    } else {
        rc = fit_sweep(&seen, f, err);
    }
    free(seen.points);
    return rc;
}

/* Sweeps of different things in one model would be mixed up by a what-if. */
static int one_system(const struct sweeps *sweeps, struct error *err)
{
    char first[MEASUREMENT_LABEL], other[MEASUREMENT_LABEL];
    for (size_t i = 1; i < sweeps->count; i++) {
        const struct measurement *a = &sweeps->list[0].key, *b = &sweeps->list[i].key;
        if (strcmp(a->source, b->source) == 0 && strcmp(a->device, b->device) == 0 &&
            strcmp(a->controller, b->controller) == 0)
            continue;
        return error_set(
            err, EINVAL,
            "the table holds several systems (%s; %s; …) and a model is of one; choose "
            "with --source, --device or --controller",
            measurement_label(a, first), measurement_label(b, other));
    }
    return 0;
}

static int read_inputs(int argc, char **argv, struct measurements *table, struct error *err)
{
    for (int i = 0; i < argc; i++) {
        size_t before = table->note_count;
        int rc = measurements_read_file(argv[i], table, err);
        if (rc)
            return rc;
        for (size_t n = before; n < table->note_count; n++)
            log_info("%s: %s", argv[i], table->notes[n]);
    }
    return 0;
}

static int describe(struct model *m, const struct fit_options *o, int argc, char **argv)
{
    const struct {
        const char *key, *text;
    } about[] = {{"title", o->title}, {"url", o->url}, {"conditions", o->conditions}};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (about[i].text)
            json_object_set_new(m->about, about[i].key, json_string(about[i].text));
    for (int i = 0; i < argc; i++) {
        const char *base = strrchr(argv[i], '/');
        json_array_append_new(m->source, json_string(base ? base + 1 : argv[i]));
    }
    return 0;
}

static int write_model(const struct model *m, const struct fit_options *o, struct error *err)
{
    json_t *document = model_to_json(m);
    char *text = document ? json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(document);
    if (!text)
        return error_set(err, ENOMEM, "out of memory for the model file");
    int rc = 0, fd = output_file_open(o->output, o->overwrite, err);
    if (fd < 0) {
        rc = fd;
    } else {
        rc = output_file_write(fd, text, strlen(text));
        if (rc == 0)
            rc = output_file_write(fd, "\n", 1);
        if (fd != STDOUT_FILENO && close(fd) && rc == 0)
            rc = -errno;
        if (rc)
            error_errno(err, -rc, "%s: cannot write", o->output);
    }
    free(text);
    return rc;
}

/* Fits every sweep; those that cannot be are named, and fail the command only when none is left. */
static int fit_all(const struct sweeps *sweeps, const struct fit_options *o, struct model *m,
                   struct error *err)
{
    struct error last = {""};
    for (size_t i = 0; i < sweeps->count; i++) {
        struct fit f;
        int rc = fit_one(&sweeps->list[i], o, &f, &last);
        if (rc == 0)
            rc = model_add(m, &f, &last);
        if (rc == -EDOM && sweeps->count > 1)
            log_warn("not fitted: %s", last.text);
        else if (rc)
            return error_set(err, -rc, "%s", last.text);
    }
    if (m->count == 0)
        return error_set(err, EDOM, "%s", last.text[0] ? last.text : "no row of measurements");
    for (size_t i = 0; i < m->count; i++)
        for (size_t w = 0; w < m->fits[i].warning_count; w++)
            log_warn("%s", m->fits[i].warnings[w]);
    return 0;
}

static int fit_and_write(const struct sweeps *sweeps, const struct fit_options *o, int argc,
                         char **argv, struct error *err)
{
    struct model m;
    int rc = one_system(sweeps, err);
    if (rc)
        return rc;
    rc = model_begin(&m, o->name ? o->name : "model", err);
    if (rc == 0)
        rc = fit_all(sweeps, o, &m, err);
    if (rc == 0)
        describe(&m, o, argc, argv);
    if (rc == 0 && o->output)
        rc = write_model(&m, o, err);
    bool to_stdout = o->output && strcmp(o->output, "-") == 0;
    if (rc == 0 && o->json && !to_stdout)
        rc = json_print(model_to_json(&m), false);
    else if (rc == 0 && !to_stdout)
        fit_print_model(&m, stdout);
    model_free(&m);
    return rc;
}

/* Each sweep by itself: fitted from some depths, compared at the others. */
static int validate_all(const struct sweeps *sweeps, const struct fit_options *o, struct error *err)
{
    struct validation *v = validation_begin();
    if (!v)
        return error_set(err, ENOMEM, "out of memory for a comparison");
    for (size_t i = 0; i < sweeps->count; i++) {
        struct fit f;
        struct error reason = {""};
        if (fit_one(&sweeps->list[i], o, &f, &reason)) {
            validation_refused(v, &sweeps->list[i], reason.text);
            continue;
        }
        int rc = validation_add(v, &sweeps->list[i], &f, err);
        fit_free(&f);
        if (rc) {
            validation_end(v);
            return rc;
        }
    }
    int rc = o->json ? json_print(validation_to_json(v), false) : validation_print(v, stdout);
    validation_end(v);
    return rc;
}

static int run(void *options, int argc, char **argv, struct error *err)
{
    const struct fit_options *o = options;
    if (o->list) {
        int rc = o->json ? json_print(fit_list_json(), false) : fit_list_print(stdout, err);
        return rc ? EXIT_FAILED : EXIT_DONE;
    }
    if (argc < 1)
        return error_usage(err, "fit needs a table of measurements or a .reel; see ioreel fit -h");
    if (o->validate && o->output)
        return error_usage(err, "--validate writes no model; leave out -o");
    struct measurements table;
    measurements_init(&table);
    struct sweeps sweeps = {NULL, 0};
    int rc = read_inputs(argc, argv, &table, err);
    if (rc == 0) {
        select_rows(&table, o);
        rc = sweeps_build(&table, &sweeps, err);
    }
    if (rc == 0 && sweeps.count == 0)
        rc = error_set(err, ENODATA, "no row with a rate is left to fit; see ioreel check %s",
                       argv[0]);
    if (rc == 0)
        rc = o->validate ? validate_all(&sweeps, o, err)
                         : fit_and_write(&sweeps, o, argc, argv, err);
    sweeps_free(&sweeps);
    measurements_free(&table);
    return rc ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_fit = {
    .name = "fit",
    .summary = "fits the queueing model to measurements or traces",
    .usage = "INPUT... -o M.json",
    .examples = examples,
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .options_size = sizeof(struct fit_options),
    .run = run,
};
