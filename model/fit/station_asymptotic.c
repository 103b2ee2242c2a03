/* X = min(N / R, C): so many slots, each busy for R. The corner is rounded by a hair, so that the
 * fit has a slope everywhere. */
#include "model/fit/station_models.h"

#include <math.h>

#define SHARPNESS 60

static void start(const struct sweep_point *points, size_t count, double *theta)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].iops);
    theta[0] = log(points[0].depth / points[0].iops);
    theta[1] = log(most * 1.05);
}

static void curve(const double *theta, size_t depth_max, double *iops)
{
    double plateau = exp(theta[1]);
    iops[0] = 0;
    for (size_t n = 1; n <= depth_max; n++) {
        double ray = (double)n * exp(-theta[0]);
        double low = fmin(ray, plateau), high = fmax(ray, plateau);
        iops[n] = low * pow(1 + pow(low / high, SHARPNESS), -1.0 / SHARPNESS);
    }
}

static double value(const double *theta, size_t i)
{
    return i == 0 ? 1e6 * exp(theta[0]) : exp(theta[1]);
}

static double plateau_of(const double *theta)
{
    return exp(theta[1]);
}

static double base_latency_us(const double *theta)
{
    return 1e6 * exp(theta[0]);
}

static size_t utilization(const double *theta, double iops, const char **names, double *shares)
{
    names[0] = "slots";
    shares[0] = iops / exp(theta[1]);
    return 1;
}

const struct station_model station_asymptotic = {
    .name = "asymptotic",
    .summary = "the bound itself: min(N / R, C)",
    .parameters = 2,
    .names = {"latency_us", "plateau_iops"},
    .start = start,
    .curve = curve,
    .value = value,
    .plateau = plateau_of,
    .base_latency_us = base_latency_us,
    .utilization = utilization,
};
