/* A model as JSON: writing it. Reading is in model_read.c. */
#include "model/fit/model_file.h"

#include <errno.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "model/network/gsl_quiet.h"

int model_begin(struct model *m, const char *name, struct error *err)
{
    *m = (struct model){.about = json_object(), .source = json_array()};
    measurement_set_text(m->name, name, strlen(name));
    return m->about && m->source ? 0 : error_set(err, ENOMEM, "out of memory for a model");
}

int model_add(struct model *m, const struct fit *f, struct error *err)
{
    if (m->count == MODEL_SWEEPS_MAX)
        return error_set(err, EFBIG, "a model holds at most %d sweeps; select some",
                         MODEL_SWEEPS_MAX);
    struct fit *more = realloc(m->fits, (m->count + 1) * sizeof *more);
    if (!more)
        return error_set(err, ENOMEM, "out of memory for a model's sweep");
    m->fits = more;
    m->fits[m->count++] = *f;
    if (f->count > m->fits[m->main].count)
        m->main = m->count - 1;
    return 0;
}

void model_free(struct model *m)
{
    for (size_t i = 0; i < m->count; i++)
        fit_free(&m->fits[i]);
    free(m->fits);
    json_decref(m->about);
    json_decref(m->source);
    *m = (struct model){.count = 0};
}

static json_t *triple(double value, double low, double high)
{
    json_t *o = json_object();
    json_object_set_new(o, "value", json_double(value));
    json_object_set_new(o, "low", json_double(low));
    json_object_set_new(o, "high", json_double(high));
    return o;
}

/* 90 % intervals by the delta method; none where the points are no more than the parameters. */
static json_t *parameters(const struct fit *f)
{
    json_t *o = json_object();
    if (f->basis == FIT_CAPACITY) {
        double r = f->points[0].rounding;
        json_object_set_new(
            o, "iops",
            triple(f->points[0].iops, f->points[0].iops * (1 - r), f->points[0].iops * (1 + r)));
        return o;
    }
    const struct fit_member *m = &f->members[f->best];
    const struct station_model *model = m->model;
    double t = gsl_cdf_tdist_Pinv(0.95, f->freedom);
    for (size_t i = 0; i < model->parameters; i++) {
        double theta[STATION_PARAMETERS_MAX];
        double se = sqrt(f->scale * m->covariance[i * model->parameters + i]);
        bool interval = f->count > model->parameters;
        double bound[2] = {NAN, NAN};
        for (int side = 0; side < 2 && interval; side++) {
            memcpy(theta, m->theta, sizeof theta);
            theta[i] += (side ? t : -t) * se;
            bound[side] = model->value(theta, i);
        }
        json_object_set_new(o, model->names[i],
                            triple(model->value(m->theta, i), bound[0], bound[1]));
    }
    if (!isnan(f->slots_low))
        json_object_set_new(o, "slots", triple(f->slots, f->slots_low, f->slots_high));
    return o;
}

/* A depth or a size: an integer where it is one. */
static json_t *json_whole(double value)
{
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value)
                                                       : json_double(value);
}

static json_t *range(const struct fit *f)
{
    json_t *o = json_object();
    json_object_set_new(o, "qd_min", json_whole(f->points[0].depth));
    json_object_set_new(o, "qd_max", json_whole(f->points[f->count - 1].depth));
    json_object_set_new(o, "block_bytes", json_whole(f->key.block_bytes));
    json_object_set_new(o, "read_pct", json_double(f->key.read_pct));
    const char *pattern = measurement_pattern_name(f->key.pattern);
    json_object_set_new(o, "pattern", json_text_or_null(pattern[0] ? pattern : NULL));
    return o;
}

static const char *basis_name(enum fit_basis basis)
{
    return basis == FIT_CAPACITY ? "capacity" : basis == FIT_BRACKET ? "bracket" : "interval";
}

static json_t *quality(const struct fit *f)
{
    const struct fit_member *m = f->basis == FIT_CAPACITY ? NULL : &f->members[f->best];
    json_t *o = json_object();
    json_object_set_new(o, "mape_pct", json_double(m ? m->mape_pct : NAN));
    json_object_set_new(o, "loo_mape_pct", json_double(m ? m->loo_mape_pct : NAN));
    json_object_set_new(o, "loo_median_pct", json_double(m ? m->loo_median_pct : NAN));
    json_object_set_new(o, "n", json_u64(f->count));
    json_object_set_new(o, "basis", json_string(basis_name(f->basis)));
    return o;
}

static json_t *text(const char *t)
{
    return json_text_or_null(t[0] ? t : NULL);
}

static json_t *key_to_json(const struct measurement *k)
{
    json_t *o = json_object();
    json_object_set_new(o, "source", text(k->source));
    json_object_set_new(o, "device", text(k->device));
    json_object_set_new(o, "controller", text(k->controller));
    json_object_set_new(o, "workload", text(k->workload));
    json_object_set_new(o, "pattern", text(measurement_pattern_name(k->pattern)));
    json_object_set_new(o, "read_pct", json_double(k->read_pct));
    json_object_set_new(o, "block_bytes", json_whole(k->block_bytes));
    json_object_set_new(o, "nodes", json_double(k->nodes));
    json_object_set_new(o, "cores", json_double(k->cores));
    json_object_set_new(o, "usd_per_gb", json_double(k->usd_per_gb));
    json_object_set_new(o, "usd_per_iops", json_double(k->usd_per_iops));
    return o;
}

static json_t *points_to_json(const struct fit *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->count; i++) {
        const struct sweep_point *p = &f->points[i];
        json_t *o = json_object();
        json_object_set_new(o, "depth", json_whole(p->depth));
        json_object_set_new(o, "iops", json_double(p->iops));
        json_object_set_new(o, "rounding", json_double(p->rounding));
        json_object_set_new(o, "runs", json_u64(p->runs));
        json_object_set_new(o, "latency_us", json_double(p->latency_us));
        json_object_set_new(o, "latency_p99_us", json_double(p->p99_us));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *members_to_json(const struct fit *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->member_count; i++) {
        const struct fit_member *m = &f->members[i];
        size_t n = m->model->parameters;
        json_t *o = json_object(), *theta = json_array(), *covariance = json_array();
        for (size_t j = 0; j < n; j++)
            json_array_append_new(theta, json_double(m->theta[j]));
        for (size_t j = 0; j < n * n; j++)
            json_array_append_new(covariance, json_double(m->covariance[j]));
        json_object_set_new(o, "model", json_string(m->model->name));
        json_object_set_new(o, "weight", json_double(m->weight));
        json_object_set_new(o, "mape_pct", json_double(m->mape_pct));
        json_object_set_new(o, "loo_mape_pct", json_double(m->loo_mape_pct));
        json_object_set_new(o, "loo_median_pct", json_double(m->loo_median_pct));
        json_object_set_new(o, "log_parameters", theta);
        json_object_set_new(o, "covariance", covariance);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *fit_to_json(const struct fit *f)
{
    json_t *o = json_object(), *warnings = json_array();
    for (size_t i = 0; i < f->warning_count; i++)
        json_array_append_new(warnings, json_string(f->warnings[i]));
    json_object_set_new(o, "key", key_to_json(&f->key));
    json_object_set_new(o, "basis", json_string(basis_name(f->basis)));
    json_object_set_new(
        o, "model",
        json_string(f->basis == FIT_CAPACITY ? "capacity" : f->members[f->best].model->name));
    json_object_set_new(o, "parameters", parameters(f));
    json_object_set_new(o, "valid_range", range(f));
    json_object_set_new(o, "fit", quality(f));
    json_object_set_new(o, "scale", json_double(f->scale));
    json_object_set_new(o, "freedom", json_double(f->freedom));
    json_object_set_new(o, "slots", json_whole(f->slots));
    json_object_set_new(o, "slots_low", json_double(f->slots_low));
    json_object_set_new(o, "slots_high", json_double(f->slots_high));
    json_object_set_new(o, "service_cv", json_double(f->service_cv));
    json_object_set_new(o, "cpu_us_per_io", json_double(f->cpu_us_per_io));
    json_object_set_new(o, "points", points_to_json(f));
    json_object_set_new(o, "members", members_to_json(f));
    json_object_set_new(o, "warnings", warnings);
    return o;
}

json_t *model_to_json(const struct model *m)
{
    gsl_quiet();
    const struct fit *f = &m->fits[m->main];
    json_t *o = json_object(), *sweeps = json_array();
    for (size_t i = 0; i < m->count; i++)
        json_array_append_new(sweeps, fit_to_json(&m->fits[i]));
    json_object_set_new(o, "format", json_string("ioreel model 1"));
    json_object_set_new(o, "name", json_string(m->name));
    json_object_set_new(
        o, "model",
        json_string(f->basis == FIT_CAPACITY ? "capacity" : f->members[f->best].model->name));
    json_object_set_new(o, "parameters", parameters(f));
    json_object_set_new(o, "valid_range", range(f));
    json_object_set_new(o, "fit", quality(f));
    json_object_set(o, "source", m->source);
    json_object_set(o, "about", m->about);
    json_object_set_new(o, "sweeps", sweeps);
    return o;
}
