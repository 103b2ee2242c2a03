/* The universal scalability law: the only model here whose throughput can fall as depth rises. */
#include "model/fit/station_models.h"

#include <math.h>

#include "model/network/laws.h"

/* Coherency is rare in storage: about 6e-6, give or take a factor of 4.5. */
#define KAPPA_LOG_MEAN (-12.0)
#define KAPPA_LOG_SD   1.5

static void start(const struct sweep_point *points, size_t count, double *theta)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].iops);
    double latency = points[0].depth / points[0].iops;
    theta[0] = -log(latency);
    theta[1] = log(fmin(0.9, 1 / (1.1 * most * latency)));
    theta[2] = KAPPA_LOG_MEAN;
}

static void curve(const double *theta, size_t depth_max, double *iops)
{
    double lambda = exp(theta[0]), sigma = exp(theta[1]), kappa = exp(theta[2]);
    iops[0] = 0;
    for (size_t n = 1; n <= depth_max; n++)
        iops[n] = law_usl((double)n, lambda, sigma, kappa);
}

static double value(const double *theta, size_t i)
{
    return exp(theta[i]);
}

static void prior(const double *theta, double *residuals)
{
    residuals[0] = (theta[2] - KAPPA_LOG_MEAN) / KAPPA_LOG_SD;
}

static double plateau_of(const double *theta)
{
    double peak = law_usl_peak(fmin(exp(theta[1]), 1), exp(theta[2]));
    return law_usl(fmax(peak, 1), exp(theta[0]), exp(theta[1]), exp(theta[2]));
}

static double base_latency_us(const double *theta)
{
    return 1e6 * exp(-theta[0]);
}

static size_t utilization(const double *theta, double iops, const char **names, double *shares)
{
    names[0] = "device";
    shares[0] = iops / plateau_of(theta);
    return 1;
}

const struct station_model station_usl = {
    .name = "usl",
    .summary = "the universal scalability law",
    .parameters = 3,
    .names = {"lambda_iops", "sigma", "kappa"},
    .start = start,
    .curve = curve,
    .value = value,
    .priors = 1,
    .prior = prior,
    .plateau = plateau_of,
    .base_latency_us = base_latency_us,
    .utilization = utilization,
};
