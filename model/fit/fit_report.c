/* Printing a fitted model for people. */
#include "model/fit/fit_report.h"

#include <math.h>
#include <string.h>

#include "common/units.h"

static void print_key(const struct fit *f, FILE *out)
{
    char label[MEASUREMENT_LABEL], size[UNITS_TEXT];
    fprintf(out, "%s", measurement_label(&f->key, label));
    const char *pattern = measurement_pattern_name(f->key.pattern);
    if (pattern[0])
        fprintf(out, ", %s", pattern);
    if (f->key.block_bytes >= 1)
        fprintf(out, ", %s", units_format_size((uint64_t)f->key.block_bytes, size));
    if (!isnan(f->key.read_pct))
        fprintf(out, ", %.4g %% reads", f->key.read_pct);
    if (f->count > 1)
        fprintf(out, ", depths %.6g to %.6g", f->points[0].depth, f->points[f->count - 1].depth);
    fputc('\n', out);
}

static void print_parameters(const struct fit *f, FILE *out)
{
    json_t *document, *parameters, *value;
    const char *name;
    struct model one = {.fits = (struct fit *)f, .count = 1, .main = 0};
    one.about = json_object();
    one.source = json_array();
    document = model_to_json(&one);
    parameters = json_object_get(document, "parameters");
    json_object_foreach (parameters, name, value) {
        double v = json_number_value(json_object_get(value, "value"));
        const json_t *low = json_object_get(value, "low"), *high = json_object_get(value, "high");
        fprintf(out, "  %-16s ", name);
        if (json_is_null(json_object_get(value, "value")))
            fprintf(out, "not seen");
        else
            fprintf(out, "%.5g", v);
        if (json_is_number(low) && json_is_number(high))
            fprintf(out, "   [%.5g, %.5g]", json_number_value(low), json_number_value(high));
        else if (json_is_number(low))
            fprintf(out, "   at least %.5g", json_number_value(low));
        fputc('\n', out);
    }
    json_decref(document);
    json_decref(one.about);
    json_decref(one.source);
}

static void print_fit(const struct fit *f, FILE *out)
{
    print_key(f, out);
    if (f->basis == FIT_CAPACITY) {
        fprintf(out, "  a stated rate, %s; other depths get limits, not numbers\n",
                isnan(f->points[0].depth) ? "without a depth" : "at one depth");
        print_parameters(f, out);
        return;
    }
    const struct fit_member *m = &f->members[f->best];
    fprintf(out, "  model %s: %s; error %.1f %%", m->model->name, m->model->summary, m->mape_pct);
    if (!isnan(m->loo_mape_pct))
        fprintf(out, ", left-out points %.1f %% (median %.1f %%)", m->loo_mape_pct,
                m->loo_median_pct);
    fputc('\n', out);
    if (f->basis == FIT_BRACKET)
        fprintf(out,
                "  two depths carry no interval and cannot rank the models: predictions are a "
                "bracket; measure QD %.0f as well\n",
                fmax(2, round(sqrt(f->points[0].depth * f->points[f->count - 1].depth))));
    print_parameters(f, out);
    for (size_t i = 0; i < f->warning_count; i++)
        fprintf(out, "  note: %s\n", f->warnings[i]);
}

void fit_print_model(const struct model *m, FILE *out)
{
    for (size_t i = 0; i < m->count; i++)
        print_fit(&m->fits[i], out);
}
