/* Fitting a sweep: refusals, the race of the models, the ensemble's weights. */
#include "model/fit/fit.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far apart in chi² two models are told apart: the noise is a guess and the points are few. */
#define WEIGHT_TEMPERATURE 4.0
#define WEIGHT_MIN         0.02
/* Standard deviation of the steps that real curves take away from any model (see predict.c). */
#define MISFIT 0.02

void fit_warn(struct fit *f, const char *format, ...)
{
    if (f->warning_count == FIT_WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(f->warnings[f->warning_count++], sizeof f->warnings[0], format, args);
    va_end(args);
}

static const char *label_of(const struct sweep *s, char out[MEASUREMENT_LABEL])
{
    return measurement_label(&s->key, out);
}

/* Data that no model can be had from, and the measurement that would cure it. */
static int refuse(const struct sweep *s, struct error *err)
{
    char label[MEASUREMENT_LABEL];
    label_of(s, label);
    const struct sweep_point *first = &s->points[0], *last = &s->points[s->count - 1];
    if (s->count > FIT_POINTS_MAX)
        return error_set(err, E2BIG, "%s: %zu depths are over the limit of %d", label, s->count,
                         FIT_POINTS_MAX);
    if (!(first->depth >= 0.5) || last->depth > FIT_DEPTH_MAX)
        return error_set(err, EDOM, "%s: depth %.6g is not within 1 and %d", label,
                         first->depth >= 0.5 ? last->depth : first->depth, FIT_DEPTH_MAX);
    if (s->count == 1)
        return error_set(err, EDOM,
                         "%s: one depth alone (%.6g) says nothing of any other; measure QD %d and "
                         "QD %.0f as well",
                         label, first->depth, first->depth > 2 ? 1 : 8, fmax(64, 2 * first->depth));
    if (last->depth < 4 * first->depth)
        return error_set(
            err, EDOM,
            "%s: depths %.6g to %.6g are too close to tell latency from limit; measure "
            "QD %d and QD %.0f",
            label, first->depth, last->depth, first->depth > 2 ? 1 : 4, fmax(64, 4 * last->depth));
    if (first->depth > 1.5 && first->iops > 0.93 * last->iops)
        return error_set(
            err, EDOM,
            "%s: all depths from %.6g to %.6g lie on the plateau, the latency below it "
            "is unknown; measure QD 1 and QD 4",
            label, first->depth, last->depth);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Every point predicted from the others. */
static void leave_one_out(const struct sweep *s, struct fit_member *m)
{
    double errors[FIT_POINTS_MAX], sum = 0;
    double *iops = malloc((size_t)(s->points[s->count - 1].depth + 3) * sizeof *iops);
    for (size_t i = 0; i < s->count && iops; i++) {
        struct fit_member other;
        if (fit_member(m->model, s->points, s->count, i, &other, NULL)) {
            free(iops);
            return;
        }
        size_t depth_max = (size_t)ceil(s->points[i].depth);
        m->model->curve(other.theta, depth_max, iops);
        double predicted = station_curve_at(iops, depth_max, s->points[i].depth);
        errors[i] = 100 * fabs(predicted / s->points[i].iops - 1);
        sum += errors[i];
    }
    if (!iops)
        return;
    free(iops);
    qsort(errors, s->count, sizeof *errors, by_value);
    size_t middle = s->count / 2;
    m->loo_mape_pct = sum / (double)s->count;
    m->loo_median_pct = s->count % 2 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
}

static void weigh(struct fit *f)
{
    double least = INFINITY, sum = 0;
    for (size_t i = 0; i < f->member_count; i++)
        least = fmin(least, f->members[i].chi2);
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        for (size_t i = 0; i < f->member_count; i++) {
            struct fit_member *m = &f->members[i];
            /* Throughput that falls with depth is believed only where it is measured: the USL bends
             * its extrapolation down on noise alone. */
            if (pass == 0)
                m->weight = m->model == &station_usl && i != f->best
                                ? 0
                                : exp(-(m->chi2 - least) / (2 * WEIGHT_TEMPERATURE));
            else if (m->weight < WEIGHT_MIN)
                m->weight = 0;
            sum += m->weight;
        }
        for (size_t i = 0; i < f->member_count; i++)
            f->members[i].weight /= sum;
    }
}

/* The best by leave-one-out; by fit where the points are too few for it. */
static size_t choose(const struct fit *f)
{
    size_t best = 0;
    for (size_t i = 1; i < f->member_count; i++) {
        const struct fit_member *m = &f->members[i], *b = &f->members[best];
        if (f->count >= 4 ? m->loo_mape_pct < b->loo_mape_pct : m->chi2 < b->chi2 - 1e-6)
            best = i;
    }
    return best;
}

/* How much larger than FIT_NOISE the disagreement with the models is, pooled with the guess. */
static void set_scale(struct fit *f)
{
    double chi2 = 0, spread = 0, runs = 0;
    for (size_t i = 0; i < f->member_count; i++)
        chi2 += f->members[i].weight * f->members[i].chi2;
    for (size_t i = 0; i < f->count; i++) {
        spread += f->points[i].log_spread;
        runs += f->points[i].runs - 1;
    }
    double own = f->count > 2 ? (double)f->count - 2 : 0;
    double unit = FIT_NOISE * FIT_NOISE + MISFIT * MISFIT;
    double squares = chi2 * FIT_NOISE * FIT_NOISE / unit + spread / (FIT_NOISE * FIT_NOISE);
    f->freedom = FIT_NOISE_RUNS + own + runs;
    f->scale = fmax(1, (FIT_NOISE_RUNS + squares) / f->freedom);
}

static void describe_faults(const struct sweep *s, struct fit *f)
{
    struct sweep_finding found[FIT_WARNINGS_MAX];
    size_t count = sweep_check(s, found, FIT_WARNINGS_MAX);
    for (size_t i = 0; i < count && i < FIT_WARNINGS_MAX; i++)
        fit_warn(f, "%s at depth %.6g: %.6g IOPS against %.6g; intervals are widened",
                 sweep_fault_name(found[i].fault), found[i].depth, found[i].stated, found[i].limit);
}

/* The variability of the service, from what is stated at the lowest depth (at most 2). */
static void set_service(struct fit *f)
{
    const struct sweep_point *p = &f->points[0];
    f->service_cv = f->cpu_us_per_io = NAN;
    if (p->depth <= 2 && p->latency_us > 0) {
        if (p->p99_us > p->latency_us)
            f->service_cv = (p->p99_us / p->latency_us - 1) / 2.3263478740408408; /* z(0.99) */
        else if (p->sd_us > 0)
            f->service_cv = p->sd_us / p->latency_us;
    }
    for (size_t i = 0; i < f->count; i++)
        if (f->points[i].cpu_us_per_io > 0)
            f->cpu_us_per_io = f->points[i].cpu_us_per_io; /* at the deepest */
}

static int copy_points(const struct sweep *s, struct fit *f, struct error *err)
{
    *f = (struct fit){.key = s->key, .count = s->count, .scale = 1, .freedom = FIT_NOISE_RUNS};
    f->slots = f->slots_low = f->slots_high = NAN;
    f->points = malloc(s->count * sizeof *f->points);
    if (!f->points)
        return error_set(err, ENOMEM, "out of memory for %zu points", s->count);
    memcpy(f->points, s->points, s->count * sizeof *f->points);
    return 0;
}

static int race(const struct sweep *s, struct fit *f, struct error *err)
{
    struct error first = {""};
    for (size_t i = 0; station_models[i] && f->member_count < FIT_MEMBERS_MAX; i++) {
        struct fit_member *m = &f->members[f->member_count];
        /* Three parameters through two points would be the priors' own shape; the USL's fall needs
         * a point to show it. */
        if (f->count < 3 && station_models[i]->parameters > 2)
            continue;
        if (f->count < 4 && station_models[i] == &station_usl)
            continue;
        if (fit_member(station_models[i], f->points, f->count, SIZE_MAX, m, &first))
            continue; /* the others go on; the last one standing wins */
        if (f->count >= 3)
            leave_one_out(s, m);
        if (f->count >= 4 && isnan(m->loo_mape_pct))
            continue;
        f->member_count++;
    }
    if (f->member_count == 0)
        return error_set(err, EDOM, "no model fits: %s", first.text);
    return 0;
}

int fit_capacity(const struct sweep *s, struct fit *f, struct error *err)
{
    int rc = copy_points(s, f, err);
    if (rc)
        return rc;
    f->basis = FIT_CAPACITY;
    set_service(f);
    f->service_cv = NAN;
    return 0;
}

int fit_sweep(const struct sweep *s, struct fit *f, struct error *err)
{
    *f = (struct fit){.count = 0};
    if (s->count == 0)
        return error_set(err, EDOM, "a sweep without points");
    if (isnan(s->points[0].depth))
        return fit_capacity(s, f, err);
    int rc = refuse(s, err);
    if (rc)
        return rc;
    rc = copy_points(s, f, err);
    if (rc)
        return rc;
    f->basis = f->count <= 2 ? FIT_BRACKET : FIT_INTERVAL;
    rc = race(s, f, err);
    if (rc) {
        fit_free(f);
        return rc;
    }
    f->best = choose(f);
    weigh(f);
    set_scale(f);
    set_service(f);
    if (f->basis == FIT_INTERVAL)
        fit_find_slots(f);
    describe_faults(s, f);
    return 0;
}

void fit_free(struct fit *f)
{
    free(f->points);
    f->points = NULL;
    f->count = 0;
}
