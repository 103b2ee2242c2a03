/* Fitting a depth sweep: every station model by weighted least squares on log X, the best by leave-
 * one-out, and all that the data do not rule out as an ensemble for the intervals.
 *
 * A struct fit owns its copy of the points and nothing else. Everything that a prediction needs is
 * in it, so that it can be written to a model file and read back. */
#ifndef IOREEL_MODEL_FIT_H
#define IOREEL_MODEL_FIT_H

#include "common/error.h"
#include "model/fit/station_models.h"
#include "model/measure/sweep.h"

#include <stdbool.h>
#include <stddef.h>

#define FIT_MEMBERS_MAX  8
#define FIT_POINTS_MAX   256
#define FIT_DEPTH_MAX    65536
#define FIT_WARNINGS_MAX 8

/* Repeatability of a published measurement that says nothing of it, one standard deviation of log
 * X, and how many measurements that guess weighs. */
#define FIT_NOISE      0.03
#define FIT_NOISE_RUNS 4

/* What stands behind a prediction's interval. */
enum fit_basis {
    FIT_INTERVAL, /* more points than parameters of the simplest models */
    FIT_BRACKET,  /* two points: between the hyperbolic and the asymptotic curve, no interval */
    FIT_CAPACITY, /* one stated rate, at one depth or without any */
};

struct fit_member {
    const struct station_model *model;
    double theta[STATION_PARAMETERS_MAX];
    double covariance[STATION_PARAMETERS_MAX * STATION_PARAMETERS_MAX]; /* row by row */
    double chi2;   /* weighted squares and priors, in units of FIT_NOISE */
    double weight; /* in the ensemble; they add to one */
    double mape_pct;
    double loo_mape_pct, loo_median_pct; /* NAN below three points */
};

struct fit {
    struct measurement key;
    struct sweep_point *points;
    size_t count;
    enum fit_basis basis;
    struct fit_member members[FIT_MEMBERS_MAX];
    size_t member_count;
    size_t best;                         /* the member that leave-one-out prefers */
    double scale;                        /* variance against that of FIT_NOISE, at least 1 */
    double freedom;                      /* degrees of freedom of the scale, the prior's included */
    double slots, slots_low, slots_high; /* NAN: not seen; value NAN with low: at least so many */
    double service_cv;    /* coefficient of variation of the service at depth 1; NAN */
    double cpu_us_per_io; /* NAN */
    char warnings[FIT_WARNINGS_MAX][200];
    size_t warning_count;
};

/* 0, -EDOM when the data cannot carry a model (the text says which measurement would cure it), or
 * another -errno. On failure *f holds nothing. */
int fit_sweep(const struct sweep *sweep, struct fit *f, struct error *err);
void fit_free(struct fit *f);

/* A sweep of one depth is kept as a stated rate instead of being refused. */
int fit_capacity(const struct sweep *sweep, struct fit *f, struct error *err);

/* fit_nls.c: one model on points; 0 or -errno. `skip` < count leaves that point out. */
int fit_member(const struct station_model *model, const struct sweep_point *points, size_t count,
               size_t skip, struct fit_member *out, struct error *err);

/* fit_slots.c: the slots that a plateau shows. */
void fit_find_slots(struct fit *f);

void fit_warn(struct fit *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
