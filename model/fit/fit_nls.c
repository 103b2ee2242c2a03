/* One station model on one sweep: Levenberg-Marquardt on log X by GSL, with the model's priors as
 * further residuals. */
#include "model/fit/fit.h"

#include <errno.h>
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/network/gsl_quiet.h"

#define STEPS_MAX 200
#define THETA_MAX 40 /* |theta|: parameters from 4e-18 to 2e17 */
#define GUARD_SD  8  /* how far a parameter may wander from its first guess, in e-folds */

struct problem {
    const struct station_model *model;
    const struct sweep_point *points;
    size_t count, skip;
    size_t depth_max;
    double first[STATION_PARAMETERS_MAX];
    double *iops; /* scratch of depth_max + 1 */
};

static double deviation(const struct sweep_point *p)
{
    double variance = FIT_NOISE * FIT_NOISE + p->rounding * p->rounding / 3;
    return sqrt(variance / p->runs);
}

static int residuals(const gsl_vector *x, void *context, gsl_vector *f)
{
    struct problem *p = context;
    double theta[STATION_PARAMETERS_MAX] = {0};
    for (size_t j = 0; j < p->model->parameters; j++) {
        theta[j] = gsl_vector_get(x, j);
        if (!(fabs(theta[j]) <= THETA_MAX))
            return GSL_EDOM;
    }
    p->model->curve(theta, p->depth_max, p->iops);
    size_t row = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (i == p->skip)
            continue;
        double iops = station_curve_at(p->iops, p->depth_max, p->points[i].depth);
        if (!(iops > 0) || !isfinite(iops))
            return GSL_EDOM;
        gsl_vector_set(f, row++, log(iops / p->points[i].iops) / deviation(&p->points[i]));
    }
    double prior[STATION_PRIORS_MAX];
    if (p->model->priors)
        p->model->prior(theta, prior);
    for (size_t i = 0; i < p->model->priors; i++)
        gsl_vector_set(f, row++, prior[i]);
    for (size_t j = 0; j < p->model->parameters; j++)
        gsl_vector_set(f, row++, (theta[j] - p->first[j]) / GUARD_SD);
    return GSL_SUCCESS;
}

static int take_result(gsl_multifit_nlinear_workspace *w, const struct problem *p,
                       struct fit_member *out)
{
    size_t n = p->model->parameters;
    for (size_t j = 0; j < n; j++)
        out->theta[j] = gsl_vector_get(gsl_multifit_nlinear_position(w), j);
    gsl_vector *f = gsl_multifit_nlinear_residual(w);
    gsl_blas_ddot(f, f, &out->chi2);
    double space[STATION_PARAMETERS_MAX * STATION_PARAMETERS_MAX];
    gsl_matrix_view view = gsl_matrix_view_array(space, n, n);
    int status = gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(w), 0, &view.matrix);
    if (status)
        return status;
    for (size_t i = 0; i < n * n; i++) {
        out->covariance[i] = space[i];
        if (!isfinite(space[i]))
            return GSL_ESING;
    }
    return isfinite(out->chi2) ? GSL_SUCCESS : GSL_EFAILED;
}

static double mean_error_pct(const struct problem *p, const double *theta)
{
    double sum = 0;
    size_t used = 0;
    p->model->curve(theta, p->depth_max, p->iops);
    for (size_t i = 0; i < p->count; i++)
        if (i != p->skip) {
            double iops = station_curve_at(p->iops, p->depth_max, p->points[i].depth);
            sum += fabs(iops / p->points[i].iops - 1);
            used++;
        }
    return 100 * sum / (double)used;
}

static int solve(struct problem *p, size_t rows, struct fit_member *out)
{
    gsl_multifit_nlinear_parameters settings = gsl_multifit_nlinear_default_parameters();
    settings.trs = gsl_multifit_nlinear_trs_lm;
    settings.fdtype = GSL_MULTIFIT_NLINEAR_CTRDIFF;
    settings.h_df = 1e-5;
    gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &settings, rows, p->model->parameters);
    if (!w)
        return GSL_ENOMEM;
    gsl_multifit_nlinear_fdf fdf = {
        .f = residuals, .n = rows, .p = p->model->parameters, .params = p};
    gsl_vector_view first = gsl_vector_view_array(p->first, p->model->parameters);
    int status = gsl_multifit_nlinear_init(&first.vector, &fdf, w);
    if (status == GSL_SUCCESS) {
        int info;
        status = gsl_multifit_nlinear_driver(STEPS_MAX, 1e-10, 1e-10, 0, NULL, NULL, &info, w);
        /* "No progress" next to the minimum is an end, not a failure; take_result() checks. */
        if (status == GSL_ENOPROG || status == GSL_EMAXITER)
            status = GSL_SUCCESS;
    }
    if (status == GSL_SUCCESS)
        status = take_result(w, p, out);
    gsl_multifit_nlinear_free(w);
    return status;
}

int fit_member(const struct station_model *model, const struct sweep_point *points, size_t count,
               size_t skip, struct fit_member *out, struct error *err)
{
    gsl_quiet();
    struct problem p = {.model = model, .points = points, .count = count, .skip = skip};
    struct sweep_point used[FIT_POINTS_MAX];
    size_t kept = 0;
    for (size_t i = 0; i < count && i < FIT_POINTS_MAX; i++)
        if (i != skip) {
            used[kept++] = points[i];
            p.depth_max = (size_t)fmax((double)p.depth_max, ceil(points[i].depth));
        }
    if (kept == 0)
        return error_set(err, EINVAL, "no points to fit");
    p.iops = malloc((p.depth_max + 2) * sizeof *p.iops);
    if (!p.iops)
        return error_set(err, ENOMEM, "out of memory for a curve to depth %zu", p.depth_max);
    *out = (struct fit_member){.model = model, .loo_mape_pct = NAN, .loo_median_pct = NAN};
    model->start(used, kept, p.first);
    int status = solve(&p, kept + model->priors + model->parameters, out);
    if (status == GSL_SUCCESS)
        out->mape_pct = mean_error_pct(&p, out->theta);
    free(p.iops);
    if (status)
        return error_set(err, EDOM, "the %s model cannot be fitted: %s", model->name,
                         gsl_strerror(status));
    return 0;
}
