/* The station models that a sweep is fitted with: throughput against depth, from one to three
 * positive parameters kept as logarithms. Adding one is one file and one row in station_models.c.
 */
#ifndef IOREEL_MODEL_STATION_MODELS_H
#define IOREEL_MODEL_STATION_MODELS_H

#include <stddef.h>

#include "model/measure/sweep.h"

#define STATION_PARAMETERS_MAX 3
#define STATION_PRIORS_MAX     1

struct station_model {
    const char *name;
    const char *summary;
    size_t parameters;
    const char *names[STATION_PARAMETERS_MAX]; /* with units */
    /* A first guess from the points (at least two, by rising depth). */
    void (*start)(const struct sweep_point *points, size_t count, double *theta);
    /* IOPS at the depths 1..depth_max into iops[1..depth_max]; iops[0] = 0. */
    void (*curve)(const double *theta, size_t depth_max, double *iops);
    /* Parameter i in its own unit. It rises with theta[i]. */
    double (*value)(const double *theta, size_t i);
    /* What is known of the shape before measuring: residuals in standard deviations. */
    size_t priors;
    void (*prior)(const double *theta, double *residuals);
    double (*plateau)(const double *theta);         /* IOPS as depth grows; INFINITY where none */
    double (*base_latency_us)(const double *theta); /* latency at depth 1 */
    /* Utilization at a rate, by station; returns how many names it set (at most 3). */
    size_t (*utilization)(const double *theta, double iops, const char **names, double *shares);
};

extern const struct station_model *const station_models[]; /* NULL-terminated */

const struct station_model *station_model_find(const char *name);

/* The curve at any depth in [0, depth_max], between whole depths on a straight line. */
double station_curve_at(const double *iops, size_t depth_max, double depth);

extern const struct station_model station_asymptotic;
extern const struct station_model station_hyperbolic;
extern const struct station_model station_delay_server;
extern const struct station_model station_channels;
extern const struct station_model station_softmin;
extern const struct station_model station_usl;

#endif
