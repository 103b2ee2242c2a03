/* Reading a model back. Nothing of it is trusted: a number that is not finite, a model that is not
 * known, or a list that is too long ends it with a line that names the place. */
#include "model/fit/model_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/profiles/profiles.h"

static double real(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    double value = json_is_number(v) ? json_number_value(v) : NAN;
    return isfinite(value) && fabs(value) < 1e30 ? value : NAN;
}

static void text(const json_t *o, const char *key, char to[MEASUREMENT_TEXT])
{
    const char *t = json_string_value(json_object_get(o, key));
    if (t)
        measurement_set_text(to, t, strlen(t));
}

static void read_key(const json_t *o, struct measurement *k)
{
    measurement_clear(k);
    text(o, "source", k->source);
    text(o, "device", k->device);
    text(o, "controller", k->controller);
    text(o, "workload", k->workload);
    const char *pattern = json_string_value(json_object_get(o, "pattern"));
    if (pattern)
        k->pattern = strcmp(pattern, "random") == 0       ? PATTERN_RANDOM
                     : strcmp(pattern, "sequential") == 0 ? PATTERN_SEQUENTIAL
                                                          : PATTERN_UNKNOWN;
    k->read_pct = real(o, "read_pct");
    k->block_bytes = real(o, "block_bytes");
    k->nodes = real(o, "nodes");
    k->cores = real(o, "cores");
    k->usd_per_gb = real(o, "usd_per_gb");
    k->usd_per_iops = real(o, "usd_per_iops");
}

static bool read_point(const json_t *o, struct sweep_point *p, double after)
{
    *p = (struct sweep_point){
        .depth = real(o, "depth"),
        .iops = real(o, "iops"),
        .latency_us = real(o, "latency_us"),
        .sd_us = NAN,
        .p50_us = NAN,
        .p90_us = NAN,
        .p99_us = real(o, "latency_p99_us"),
        .cpu_us_per_io = NAN,
        .rounding = real(o, "rounding"),
        .runs = 1,
    };
    double runs = real(o, "runs");
    if (runs >= 1 && runs <= 1e6)
        p->runs = (unsigned)runs;
    if (!(p->rounding >= 0 && p->rounding < 1))
        p->rounding = 0;
    bool depth = isnan(p->depth) || (p->depth >= 0.5 && p->depth <= FIT_DEPTH_MAX);
    return p->iops > 0 && depth && !(p->depth <= after);
}

static bool read_numbers(const json_t *list, size_t count, double *out)
{
    if (json_array_size(list) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, i);
        out[i] = json_is_number(v) ? json_number_value(v) : NAN;
        if (!isfinite(out[i]) || fabs(out[i]) > 1e12)
            return false;
    }
    return true;
}

static bool read_member(const json_t *o, struct fit_member *m)
{
    const char *name = json_string_value(json_object_get(o, "model"));
    *m = (struct fit_member){.model = name ? station_model_find(name) : NULL};
    if (!m->model)
        return false;
    size_t n = m->model->parameters;
    m->weight = real(o, "weight");
    m->mape_pct = real(o, "mape_pct");
    m->loo_mape_pct = real(o, "loo_mape_pct");
    m->loo_median_pct = real(o, "loo_median_pct");
    if (!read_numbers(json_object_get(o, "log_parameters"), n, m->theta) ||
        !read_numbers(json_object_get(o, "covariance"), n * n, m->covariance))
        return false;
    for (size_t i = 0; i < n; i++)
        if (fabs(m->theta[i]) > 40)
            return false;
    return m->weight >= 0 && m->weight <= 1;
}

static int read_points(const json_t *list, const char *name, struct fit *f, struct error *err)
{
    f->count = json_array_size(list);
    if (f->count == 0 || f->count > FIT_POINTS_MAX)
        return error_set(err, EBADMSG, "%s: a sweep of %zu points; 1 to %d are possible", name,
                         f->count, FIT_POINTS_MAX);
    f->points = calloc(f->count, sizeof *f->points);
    if (!f->points)
        return error_set(err, ENOMEM, "%s: out of memory", name);
    for (size_t i = 0; i < f->count; i++)
        if (!read_point(json_array_get(list, i), &f->points[i],
                        i ? f->points[i - 1].depth : -INFINITY) ||
            (f->count > 1 && isnan(f->points[i].depth)))
            return error_set(err, EBADMSG, "%s: point %zu has no valid depth and rate", name,
                             i + 1);
    return 0;
}

static int read_members(const json_t *o, const char *name, struct fit *f, struct error *err)
{
    const json_t *list = json_object_get(o, "members");
    const char *best = json_string_value(json_object_get(o, "model"));
    f->member_count = json_array_size(list);
    if (f->member_count == 0 || f->member_count > FIT_MEMBERS_MAX)
        return error_set(err, EBADMSG, "%s: an ensemble of %zu models; 1 to %d are possible", name,
                         f->member_count, FIT_MEMBERS_MAX);
    double sum = 0;
    for (size_t i = 0; i < f->member_count; i++) {
        if (!read_member(json_array_get(list, i), &f->members[i]))
            return error_set(err, EBADMSG, "%s: member %zu of an ensemble is no valid model", name,
                             i + 1);
        sum += f->members[i].weight;
        if (best && strcmp(best, f->members[i].model->name) == 0)
            f->best = i;
    }
    if (!(fabs(sum - 1) < 1e-6))
        return error_set(err, EBADMSG, "%s: the weights of an ensemble add to %g, not 1", name,
                         sum);
    return 0;
}

static int read_fit(const json_t *o, const char *name, struct fit *f, struct error *err)
{
    const char *basis = json_string_value(json_object_get(o, "basis"));
    if (!basis)
        return error_set(err, EBADMSG, "%s: a sweep without its basis", name);
    f->basis = strcmp(basis, "capacity") == 0  ? FIT_CAPACITY
               : strcmp(basis, "bracket") == 0 ? FIT_BRACKET
                                               : FIT_INTERVAL;
    read_key(json_object_get(o, "key"), &f->key);
    f->scale = real(o, "scale");
    f->freedom = real(o, "freedom");
    f->slots = real(o, "slots");
    f->slots_low = real(o, "slots_low");
    f->slots_high = real(o, "slots_high");
    f->service_cv = real(o, "service_cv");
    f->cpu_us_per_io = real(o, "cpu_us_per_io");
    if (!(f->scale >= 1 && f->scale < 1e9) || !(f->freedom >= 1 && f->freedom < 1e9))
        return error_set(err, EBADMSG, "%s: a sweep without valid scale and freedom", name);
    int rc = read_points(json_object_get(o, "points"), name, f, err);
    if (rc == 0 && (f->basis == FIT_CAPACITY) != (f->count == 1))
        rc = error_set(err, EBADMSG, "%s: %zu points do not suit the basis '%s'", name, f->count,
                       basis);
    if (rc == 0 && f->basis != FIT_CAPACITY)
        rc = read_members(o, name, f, err);
    const json_t *warnings = json_object_get(o, "warnings");
    for (size_t i = 0; i < json_array_size(warnings) && rc == 0; i++) {
        const char *t = json_string_value(json_array_get(warnings, i));
        if (t)
            fit_warn(f, "%s", t);
    }
    return rc;
}

int model_from_json(const json_t *document, const char *name, struct model *m, struct error *err)
{
    *m = (struct model){.count = 0};
    const json_t *sweeps = json_object_get(document, "sweeps");
    const char *own = json_string_value(json_object_get(document, "name"));
    size_t count = json_array_size(sweeps);
    if (count == 0 || count > MODEL_SWEEPS_MAX)
        return error_set(err, EBADMSG,
                         "%s: no model file of ioreel (it holds %zu sweeps, 1 to %d are possible); "
                         "make one with ioreel fit",
                         name, count, MODEL_SWEEPS_MAX);
    int rc = model_begin(m, own ? own : name, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct fit f = {.count = 0};
        rc = read_fit(json_array_get(sweeps, i), name, &f, err);
        if (rc == 0)
            rc = model_add(m, &f, err);
        if (rc)
            fit_free(&f);
    }
    const json_t *about = json_object_get(document, "about");
    const json_t *source = json_object_get(document, "source");
    if (rc == 0 && json_is_object(about))
        json_object_update(m->about, (json_t *)about);
    if (rc == 0 && json_is_array(source))
        json_array_extend(m->source, (json_t *)source);
    if (rc)
        model_free(m);
    return rc;
}

int model_open(const char *path, struct model *m, struct error *err)
{
    json_error_t fault;
    const char *embedded = profile_find(path);
    json_t *document = embedded                 ? json_loads(embedded, 0, &fault)
                       : strcmp(path, "-") == 0 ? json_loadf(stdin, 0, &fault)
                                                : json_load_file(path, 0, &fault);
    if (!document && fault.line < 0)
        return error_set(
            err, ENOENT,
            "%s: cannot read it, and no profile has that name; ioreel fit --list names "
            "them",
            path);
    if (!document)
        return error_set(err, EBADMSG, "%s:%d: %s", path, fault.line, fault.text);
    int rc = model_from_json(document, path, m, err);
    json_decref(document);
    return rc;
}
