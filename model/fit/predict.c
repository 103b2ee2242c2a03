/* Predictions with their intervals. All of it is in the logarithm of the rate, over log2 of depth.
 */
#include "model/fit/predict.h"

#include <errno.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/network/gsl_quiet.h"

/* Real curves leave every model by steps of about 2 %, related over some two doublings of depth. */
#define MISFIT          0.02
#define MISFIT_RANGE    2.0
#define POINT_NOISE     0.02 /* of one measured point about its own curve */
#define PARAMETER_SHARE 0.5  /* of the parameters' variance; the rest is in the misfit already */
#define COVERAGE        0.95 /* one-sided */
#define INTERVAL_FACTOR 0.95
/* How far the interval leans towards the limits of physics. */
#define LEAN_JUMP   1.35 /* down, to the chord: latency may jump at a low depth */
#define LEAN_CORNER 0.35 /* up, to the asymptotes: the corner may be sharper */
#define CORNER_SHIFT                                                                               \
    0.12                  /* of the room under the corner: where it lies in that gap, it is sharp  \
                           */
#define LEAN_PLATEAU 0.80 /* down, beyond the last point: the plateau may be there already */
#define LEAN_BELOW   0.15 /* up, for each halving of depth below the first point */
#define JUMP_SIGN    0.06 /* latency so far above its neighbours' chord is a jump */
#define BRACKET      0.05
#define STEP         1e-4

struct member_table {
    const struct fit_member *member;
    double *iops[1 + STATION_PARAMETERS_MAX];     /* as fitted, then with one theta moved */
    double *residual[1 + STATION_PARAMETERS_MAX]; /* log(measured / curve) at the points */
};

struct predictor {
    const struct fit *fit;
    size_t depth_max;
    struct member_table tables[FIT_MEMBERS_MAX];
    size_t table_count;
    double *memory;
    double *inverse; /* of the points' covariance */
    double misfit2, noise2, quantile;
    bool jumps;
    double plateau, base_latency_us;
};

static double kernel(const struct predictor *p, double a, double b)
{
    return p->misfit2 * exp(-fabs(log2(a) - log2(b)) / MISFIT_RANGE);
}

static int invert(struct predictor *p, struct error *err)
{
    size_t n = p->fit->count;
    gsl_matrix_view k = gsl_matrix_view_array(p->inverse, n, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double noise = i == j ? p->noise2 / p->fit->points[i].runs : 0;
            gsl_matrix_set(&k.matrix, i, j,
                           kernel(p, p->fit->points[i].depth, p->fit->points[j].depth) + noise);
        }
    int status = gsl_linalg_cholesky_decomp1(&k.matrix);
    if (status == GSL_SUCCESS)
        status = gsl_linalg_cholesky_invert(&k.matrix);
    if (status)
        return error_set(err, EDOM, "the measured depths cannot be told apart: %s",
                         gsl_strerror(status));
    return 0;
}

/* A jump: the latency of a measured point far above the chord of its neighbours, or falling. */
static bool point_jumps(const struct fit *f, size_t i)
{
    if (i == 0 || i + 1 >= f->count)
        return false;
    const struct sweep_point *a = &f->points[i - 1], *b = a + 1, *c = b + 1;
    double ra = a->depth / a->iops, rb = b->depth / b->iops, rc = c->depth / c->iops;
    double chord = ra + (rc - ra) * (b->depth - a->depth) / (c->depth - a->depth);
    return rb > chord * (1 + JUMP_SIGN);
}

static void fill_table(struct predictor *p, struct member_table *t, size_t variant, double *iops,
                       double *residual)
{
    const struct station_model *model = t->member->model;
    double theta[STATION_PARAMETERS_MAX];
    memcpy(theta, t->member->theta, sizeof theta);
    if (variant)
        theta[variant - 1] += STEP;
    model->curve(theta, p->depth_max, iops);
    for (size_t i = 0; i < p->fit->count; i++) {
        const struct sweep_point *m = &p->fit->points[i];
        residual[i] = log(m->iops / station_curve_at(iops, p->depth_max, m->depth));
    }
    t->iops[variant] = iops;
    t->residual[variant] = residual;
}

static int fill_tables(struct predictor *p, struct error *err)
{
    const struct fit *f = p->fit;
    size_t curves = 0, width = p->depth_max + 2 + f->count;
    for (size_t i = 0; i < f->member_count; i++)
        curves += f->members[i].weight > 0 ? 1 + f->members[i].model->parameters : 0;
    p->memory = malloc((curves ? curves : 1) * width * sizeof *p->memory);
    p->inverse = malloc((f->count * f->count + 1) * sizeof *p->inverse);
    if (!p->memory || !p->inverse)
        return error_set(err, ENOMEM, "out of memory for curves to depth %zu", p->depth_max);
    double *at = p->memory;
    for (size_t i = 0; i < f->member_count; i++) {
        const struct fit_member *m = &f->members[i];
        if (!(m->weight > 0))
            continue;
        struct member_table *t = &p->tables[p->table_count++];
        t->member = m;
        for (size_t v = 0; v <= m->model->parameters; v++, at += width)
            fill_table(p, t, v, at, at + p->depth_max + 2);
        p->plateau += m->weight * log(m->model->plateau(m->theta));
        p->base_latency_us += m->weight * log(m->model->base_latency_us(m->theta));
    }
    p->plateau = exp(p->plateau);
    p->base_latency_us = exp(p->base_latency_us);
    return 0;
}

int predictor_create(const struct fit *f, size_t depth_max, struct predictor **out,
                     struct error *err)
{
    gsl_quiet();
    size_t measured = f->basis == FIT_CAPACITY ? 1 : (size_t)ceil(f->points[f->count - 1].depth);
    if (depth_max > FIT_DEPTH_MAX)
        return error_set(err, ERANGE, "a depth of %zu is over the limit of %d", depth_max,
                         FIT_DEPTH_MAX);
    struct predictor *p = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, ENOMEM, "out of memory for a prediction");
    p->fit = f;
    p->depth_max = depth_max > measured ? depth_max : measured;
    p->misfit2 = MISFIT * MISFIT * f->scale;
    p->noise2 = POINT_NOISE * POINT_NOISE;
    p->quantile = INTERVAL_FACTOR * gsl_cdf_tdist_Pinv(COVERAGE, f->freedom);
    p->plateau = f->points[0].iops;
    p->base_latency_us = NAN;
    int rc = 0;
    if (f->basis != FIT_CAPACITY) {
        p->plateau = p->base_latency_us = 0;
        rc = fill_tables(p, err);
        if (rc == 0)
            rc = invert(p, err);
        for (size_t i = 0; i < f->count; i++)
            p->jumps = p->jumps || point_jumps(f, i);
    }
    if (rc) {
        predictor_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

void predictor_free(struct predictor *p)
{
    if (!p)
        return;
    free(p->memory);
    free(p->inverse);
    free(p);
}

double predictor_plateau(const struct predictor *p)
{
    return p->plateau;
}

double predictor_base_latency_us(const struct predictor *p)
{
    return p->base_latency_us;
}

/* Mean and variance of log X at a depth, before any leaning. */
static void ensemble(const struct predictor *p, double depth, double *mean, double *variance)
{
    size_t n = p->fit->count;
    double toward[FIT_POINTS_MAX], weight[FIT_POINTS_MAX], explained = 0;
    for (size_t i = 0; i < n; i++)
        toward[i] = kernel(p, depth, p->fit->points[i].depth);
    for (size_t i = 0; i < n; i++) {
        weight[i] = 0;
        for (size_t j = 0; j < n; j++)
            weight[i] += p->inverse[i * n + j] * toward[j];
        explained += weight[i] * toward[i];
    }
    double center = 0, square = 0, parameters = 0;
    for (size_t k = 0; k < p->table_count; k++) {
        const struct member_table *t = &p->tables[k];
        size_t count = t->member->model->parameters;
        double value[1 + STATION_PARAMETERS_MAX], slope[STATION_PARAMETERS_MAX];
        for (size_t v = 0; v <= count; v++) {
            value[v] = log(station_curve_at(t->iops[v], p->depth_max, depth));
            for (size_t i = 0; i < n; i++)
                value[v] += weight[i] * t->residual[v][i];
            if (v)
                slope[v - 1] = (value[v] - value[0]) / STEP;
        }
        double own = 0;
        for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b < count; b++)
                own += slope[a] * t->member->covariance[a * count + b] * slope[b];
        center += t->member->weight * value[0];
        square += t->member->weight * value[0] * value[0];
        parameters += t->member->weight * own;
    }
    *mean = center;
    *variance = fmax(square - center * center, 0) + PARAMETER_SHARE * p->fit->scale * parameters +
                fmax(p->misfit2 - explained, 0) + p->noise2;
}

/* Between the measured depths: how far the interval leans, down and up, and the mean with it. */
static void lean(const struct sweep_point *a, const struct sweep_point *b, double depth,
                 double *mean, double *down, double *up)
{
    double u = (depth - a->depth) / (b->depth - a->depth);
    double chord = log(a->iops + u * (b->iops - a->iops));
    /* A jump can sit anywhere in the gap, and matters less the deeper the gap begins. */
    double risk = LEAN_JUMP * 4 * u * (1 - u) / (1 + log2(fmax(a->depth, 1)));
    double ray = log(a->iops * depth / a->depth), top = log(fmax(a->iops, b->iops));
    if (top < ray && *mean < top)
        *mean += CORNER_SHIFT * (top - *mean);
    *down = risk * fmax(*mean - chord, 0);
    *up = LEAN_CORNER * fmax(fmin(ray, top) - *mean, 0);
}

/* Where latency jumped between measurements, all that rising latency allows is possible. */
static void widen_for_jump(const struct sweep_point *a, const struct sweep_point *b, double depth,
                           double *mean, double *low, double *high)
{
    double x = log(a->iops * depth / a->depth), y = log(b->iops * depth / b->depth);
    double top = log(fmax(a->iops, b->iops));
    *low = fmin(x, y) - 2 * FIT_NOISE;
    *high = fmin(fmax(x, y), top) + 2 * FIT_NOISE;
    *mean = fmin(fmax(*mean, *low + 2 * FIT_NOISE), *high - 2 * FIT_NOISE);
}

static void between(const struct predictor *p, double depth, double half, double *mean, double *low,
                    double *high)
{
    const struct fit *f = p->fit;
    for (size_t i = 0; i + 1 < f->count; i++) {
        const struct sweep_point *a = &f->points[i], *b = a + 1;
        if (!(a->depth < depth && depth < b->depth))
            continue;
        double down, up;
        lean(a, b, depth, mean, &down, &up);
        *low = *mean - hypot(half, down);
        *high = *mean + hypot(half, up);
        bool superlinear = b->iops / b->depth > a->iops / a->depth * (1 + JUMP_SIGN);
        if (point_jumps(f, i) || point_jumps(f, i + 1) || superlinear)
            widen_for_jump(a, b, depth, mean, low, high);
    }
}

/* Shallower than all that was measured: latency is no higher than at the first point, and how much
 * lower it is nobody knows. */
static void below(const struct fit *f, double depth, double half, double mean, double *low,
                  double *high)
{
    const struct sweep_point *first = &f->points[0];
    double ray = log(first->iops * depth / first->depth);
    *low = fmin(mean - half, ray - 2 * FIT_NOISE);
    *high = mean + hypot(half, LEAN_BELOW * log2(first->depth / depth));
}

/* Two points: hyperbola and asymptotes through both are all that can be said. */
static void bracket(const struct fit *f, double depth, double *mean, double *low, double *high)
{
    const struct sweep_point *a = &f->points[0], *b = &f->points[f->count - 1];
    double ra = a->depth / a->iops, rb = b->depth / b->iops;
    double slope = fmax(rb - ra, 0) / (b->depth - a->depth);
    double hyperbola = log(depth / fmax(ra + slope * (depth - a->depth), ra * 0.05));
    double ray = log(depth / ra), corner = fmin(ray, log(fmax(a->iops, b->iops)));
    if (depth > b->depth)
        corner = log(b->iops); /* the plateau may begin there */
    double least = fmin(hyperbola, corner), most = fmax(hyperbola, corner);
    if (depth > b->depth)
        most = fmax(most, log(depth / rb)); /* or not be near yet */
    *low = least + log(1 - BRACKET);
    *high = most + log(1 + BRACKET);
    *mean = fmin(fmax(*mean, least), most);
}

/* A single stated rate. At its own depth it holds; elsewhere nothing but its limits is known, so
 * there is no number: below it at worst a proportion, beyond it at best one. */
static struct prediction capacity(const struct fit *f, double depth)
{
    const struct sweep_point *p = &f->points[0];
    double spread = 1.645 * POINT_NOISE + p->rounding;
    double low = p->iops * exp(-spread), high = p->iops * exp(spread);
    bool known = isnan(p->depth) || fabs(depth / p->depth - 1) < 0.05;
    if (!known) {
        low *= fmin(1, depth / p->depth);
        high *= fmax(1, depth / p->depth);
    }
    return (struct prediction){
        .iops = known ? p->iops : NAN,
        .iops_low = low,
        .iops_high = high,
        .latency_us = known ? depth / p->iops * 1e6 : NAN,
        .latency_low_us = depth / high * 1e6,
        .latency_high_us = depth / low * 1e6,
        .extrapolated = !known,
    };
}

struct prediction predictor_at(const struct predictor *p, double depth)
{
    const struct fit *f = p->fit;
    if (f->basis == FIT_CAPACITY)
        return capacity(f, depth);
    double mean, variance;
    depth = fmin(depth, (double)p->depth_max);
    ensemble(p, depth, &mean, &variance);
    double half = p->quantile * sqrt(variance);
    double low = mean - half, high = mean + half;
    const struct sweep_point *last = &f->points[f->count - 1];
    if (f->basis == FIT_BRACKET)
        bracket(f, depth, &mean, &low, &high);
    else if (depth < f->points[0].depth)
        below(f, depth, half, mean, &low, &high);
    else if (depth > last->depth)
        low = mean - hypot(half, LEAN_PLATEAU * fmax(mean - log(last->iops), 0));
    else
        between(p, depth, half, &mean, &low, &high);
    struct prediction r = {.iops = exp(mean), .iops_low = exp(low), .iops_high = exp(high)};
    r.latency_us = depth / r.iops * 1e6;
    r.latency_low_us = depth / r.iops_high * 1e6;
    r.latency_high_us = depth / r.iops_low * 1e6;
    r.extrapolated = depth < f->points[0].depth * (1 - 1e-9) || depth > last->depth * (1 + 1e-9);
    return r;
}
