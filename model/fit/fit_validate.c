/* Predictions against the measured depths that the fit did not see. */
#include "model/fit/fit_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/text_table.h"
#include "common/units.h"
#include "model/fit/predict.h"

struct held_out {
    char label[MEASUREMENT_LABEL];
    double depth, measured;
    struct prediction predicted;
};

struct validation {
    struct held_out *rows;
    size_t count, capacity, refused;
    json_t *refusals;
    double loo[4096]; /* median leave-one-out error of each fit that saw its whole sweep */
    json_t *sweeps;   /* what leave-one-out says of those */
    size_t loo_count;
};

struct validation *validation_begin(void)
{
    struct validation *v = calloc(1, sizeof *v);
    if (v) {
        v->refusals = json_array();
        v->sweeps = json_array();
    }
    return v;
}

void validation_end(struct validation *v)
{
    free(v->rows);
    json_decref(v->refusals);
    json_decref(v->sweeps);
    free(v);
}

void validation_refused(struct validation *v, const struct sweep *s, const char *reason)
{
    (void)s;
    v->refused++;
    json_array_append_new(v->refusals, json_string(reason));
}

static bool was_seen(const struct fit *f, double depth)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->points[i].depth == depth)
            return true;
    return false;
}

static int keep(struct validation *v, const struct held_out *row, struct error *err)
{
    if (v->count == v->capacity) {
        size_t capacity = v->capacity ? 2 * v->capacity : 64;
        struct held_out *rows = realloc(v->rows, capacity * sizeof *rows);
        if (!rows)
            return error_set(err, ENOMEM, "out of memory for a comparison");
        v->rows = rows;
        v->capacity = capacity;
    }
    v->rows[v->count++] = *row;
    return 0;
}

static void add_leave_one_out(struct validation *v, const struct sweep *s, const struct fit *f)
{
    char label[MEASUREMENT_LABEL];
    const struct fit_member *m = &f->members[f->best];
    if (v->loo_count < sizeof v->loo / sizeof *v->loo)
        v->loo[v->loo_count++] = m->loo_median_pct;
    json_t *o = json_object(), *warnings = json_array();
    for (size_t i = 0; i < f->warning_count; i++)
        json_array_append_new(warnings, json_string(f->warnings[i]));
    json_object_set_new(o, "source", json_string(measurement_label(&s->key, label)));
    json_object_set_new(o, "model", json_string(m->model->name));
    json_object_set_new(o, "n", json_u64(f->count));
    json_object_set_new(o, "loo_mape_pct", json_double(m->loo_mape_pct));
    json_object_set_new(o, "loo_median_pct", json_double(m->loo_median_pct));
    json_object_set_new(o, "warnings", warnings);
    json_array_append_new(v->sweeps, o);
}

int validation_add(struct validation *v, const struct sweep *s, const struct fit *f,
                   struct error *err)
{
    if (f->basis == FIT_INTERVAL && f->count == s->count)
        add_leave_one_out(v, s, f);
    struct predictor *p;
    double deepest = s->points[s->count - 1].depth;
    if (isnan(deepest))
        return 0;
    int rc = predictor_create(f, (size_t)ceil(deepest), &p, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < s->count && rc == 0; i++) {
        if (was_seen(f, s->points[i].depth))
            continue;
        struct held_out row = {.depth = s->points[i].depth, .measured = s->points[i].iops};
        measurement_label(&s->key, row.label);
        row.predicted = predictor_at(p, row.depth);
        rc = keep(v, &row, err);
    }
    predictor_free(p);
    return rc;
}

struct summary {
    size_t count, inside;
    double median_error_pct, median_width_pct;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static struct summary summarize(const struct validation *v, bool extrapolated)
{
    struct summary s = {.count = 0};
    double *errors = malloc((2 * v->count + 1) * sizeof *errors), *widths;
    if (!errors)
        return s;
    widths = errors + v->count;
    for (size_t i = 0; i < v->count; i++) {
        const struct held_out *r = &v->rows[i];
        if (r->predicted.extrapolated != extrapolated || isnan(r->predicted.iops))
            continue;
        errors[s.count] = 100 * fabs(r->predicted.iops / r->measured - 1);
        widths[s.count++] =
            100 * (r->predicted.iops_high - r->predicted.iops_low) / r->predicted.iops;
        s.inside += r->predicted.iops_low <= r->measured && r->measured <= r->predicted.iops_high;
    }
    s.median_error_pct = median(errors, s.count);
    s.median_width_pct = median(widths, s.count);
    free(errors);
    return s;
}

static void print_summary(const struct validation *v, bool extrapolated, FILE *out)
{
    struct summary s = summarize(v, extrapolated);
    if (s.count)
        fprintf(out,
                "%s: %zu points, median error %.1f %%, %zu (%.0f %%) inside the interval, median "
                "width %.1f %%\n",
                extrapolated ? "beyond the fitted depths" : "between the fitted depths", s.count,
                s.median_error_pct, s.inside, 100.0 * (double)s.inside / (double)s.count,
                s.median_width_pct);
}

static double loo_median(const struct validation *v)
{
    double copy[4096];
    memcpy(copy, v->loo, v->loo_count * sizeof *copy);
    return median(copy, v->loo_count);
}

static void print_leave_one_out(const struct validation *v, FILE *out)
{
    for (size_t i = 0; i < json_array_size(v->sweeps); i++) {
        const json_t *o = json_array_get(v->sweeps, i);
        const json_t *warnings = json_object_get(o, "warnings");
        fprintf(out, "%s: %s, %lld points, left-out points %.1f %% (median %.1f %%)\n",
                json_string_value(json_object_get(o, "source")),
                json_string_value(json_object_get(o, "model")),
                (long long)json_integer_value(json_object_get(o, "n")),
                json_number_value(json_object_get(o, "loo_mape_pct")),
                json_number_value(json_object_get(o, "loo_median_pct")));
        for (size_t w = 0; w < json_array_size(warnings); w++)
            fprintf(out, "  %s\n", json_string_value(json_array_get(warnings, w)));
    }
    if (v->loo_count)
        fprintf(out, "leave-one-out: %zu sweeps, median of their median errors %.1f %%\n",
                v->loo_count, loo_median(v));
}

int validation_print(struct validation *v, FILE *out)
{
    static const char *const heads[] = {"sweep", "depth", "measured", "predicted", "error",
                                        "low",   "high",  "inside",   ""};
    struct text_table *t = text_table_create(9, heads);
    if (!t)
        return -ENOMEM;
    for (size_t i = 0; i < v->count; i++) {
        const struct held_out *r = &v->rows[i];
        const struct prediction *p = &r->predicted;
        text_table_cell(t, "%.50s", r->label);
        text_table_cell(t, "%.6g", r->depth);
        char text[UNITS_TEXT];
        text_table_cell(t, "%s", units_format_iops(r->measured, text));
        text_table_cell(t, "%s", units_format_iops(p->iops, text));
        text_table_cell(t, isnan(p->iops) ? "-" : "%+.1f %%", 100 * (p->iops / r->measured - 1));
        text_table_cell(t, "%s", units_format_iops(p->iops_low, text));
        text_table_cell(t, "%s", units_format_iops(p->iops_high, text));
        text_table_cell(t,
                        p->iops_low <= r->measured && r->measured <= p->iops_high ? "yes" : "no");
        text_table_cell(t, p->extrapolated ? "extrapolated" : "");
    }
    if (v->count)
        text_table_print(t, out);
    text_table_free(t);
    print_summary(v, false, out);
    print_summary(v, true, out);
    print_leave_one_out(v, out);
    for (size_t i = 0; i < json_array_size(v->refusals); i++)
        fprintf(out, "refused: %s\n", json_string_value(json_array_get(v->refusals, i)));
    return 0;
}

static json_t *summary_json(struct summary s)
{
    json_t *o = json_object();
    json_object_set_new(o, "points", json_u64(s.count));
    json_object_set_new(o, "inside", json_u64(s.inside));
    json_object_set_new(o, "inside_pct",
                        json_double(s.count ? 100.0 * (double)s.inside / (double)s.count : NAN));
    json_object_set_new(o, "median_error_pct", json_double(s.median_error_pct));
    json_object_set_new(o, "median_width_pct", json_double(s.median_width_pct));
    return o;
}

json_t *validation_to_json(struct validation *v)
{
    json_t *document = json_object(), *rows = json_array();
    for (size_t i = 0; i < v->count; i++) {
        const struct held_out *r = &v->rows[i];
        json_t *o = json_object();
        json_object_set_new(o, "source", json_string(r->label));
        json_object_set_new(o, "qd", json_double(r->depth));
        json_object_set_new(o, "measured", json_double(r->measured));
        json_object_set_new(o, "iops", json_double(r->predicted.iops));
        json_object_set_new(o, "iops_low", json_double(r->predicted.iops_low));
        json_object_set_new(o, "iops_high", json_double(r->predicted.iops_high));
        json_object_set_new(o, "error_pct",
                            json_double(100 * (r->predicted.iops / r->measured - 1)));
        json_object_set_new(o, "extrapolated", json_boolean(r->predicted.extrapolated));
        json_array_append_new(rows, o);
    }
    json_object_set_new(document, "rows", rows);
    json_object_set_new(document, "interpolation", summary_json(summarize(v, false)));
    json_object_set_new(document, "extrapolation", summary_json(summarize(v, true)));
    json_object_set_new(document, "loo_median_pct", json_double(loo_median(v)));
    json_object_set(document, "sweeps", v->sweeps);
    json_object_set(document, "refused", v->refusals);
    return document;
}
