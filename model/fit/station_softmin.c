/* X = ((N/R)^-k + C^-k)^(-1/k): the two asymptotes and how sharp the corner between them is. k = 1
 * is a hyperbola, k without end is the bound itself. */
#include "model/fit/station_models.h"

#include <math.h>

/* Device sweeps mostly fall between 1.3 and 3.7. */
#define SHARPNESS_LOG_MEAN 0.79
#define SHARPNESS_LOG_SD   0.5

static void start(const struct sweep_point *points, size_t count, double *theta)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].iops);
    theta[0] = log(points[0].depth / points[0].iops);
    theta[1] = log(most * 1.1);
    theta[2] = SHARPNESS_LOG_MEAN;
}

static void curve(const double *theta, size_t depth_max, double *iops)
{
    double plateau = exp(theta[1]), k = exp(fmin(fmax(theta[2], -4), 4)), rate = exp(-theta[0]);
    iops[0] = 0;
    for (size_t n = 1; n <= depth_max; n++) {
        double ray = (double)n * rate;
        double low = fmin(ray, plateau), high = fmax(ray, plateau);
        iops[n] = low * pow(1 + pow(low / high, k), -1 / k);
    }
}

static double value(const double *theta, size_t i)
{
    return i == 0 ? 1e6 * exp(theta[0]) : exp(theta[i]);
}

static void prior(const double *theta, double *residuals)
{
    residuals[0] = (theta[2] - SHARPNESS_LOG_MEAN) / SHARPNESS_LOG_SD;
}

static double plateau_of(const double *theta)
{
    return exp(theta[1]);
}

static double base_latency_us(const double *theta)
{
    double iops[2];
    curve(theta, 1, iops);
    return 1e6 / iops[1];
}

static size_t utilization(const double *theta, double iops, const char **names, double *shares)
{
    names[0] = "device";
    shares[0] = iops / exp(theta[1]);
    return 1;
}

const struct station_model station_softmin = {
    .name = "softmin",
    .summary = "the two asymptotes with a corner of free sharpness",
    .parameters = 3,
    .names = {"latency_us", "plateau_iops", "sharpness"},
    .start = start,
    .curve = curve,
    .value = value,
    .priors = 1,
    .prior = prior,
    .plateau = plateau_of,
    .base_latency_us = base_latency_us,
    .utilization = utilization,
};
