/* m equal channels, each I/O on one at random: R = S (1 + (N-1)/m), so X = N m / (S (m + N - 1)).
 * It is the USL without coherency, with sigma = 1/m. */
#include "model/fit/station_models.h"

#include <math.h>

static void start(const struct sweep_point *points, size_t count, double *theta)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].iops);
    double latency = points[0].depth / points[0].iops;
    theta[0] = log(latency);
    theta[1] = log(fmax(1.1 * most * latency - 1, 0.1));
}

static void curve(const double *theta, size_t depth_max, double *iops)
{
    double service = exp(theta[0]), m = 1 + exp(theta[1]);
    iops[0] = 0;
    for (size_t n = 1; n <= depth_max; n++)
        iops[n] = (double)n / (service * (1 + ((double)n - 1) / m));
}

static double value(const double *theta, size_t i)
{
    return i == 0 ? 1e6 * exp(theta[0]) : 1 + exp(theta[1]);
}

static double plateau_of(const double *theta)
{
    return (1 + exp(theta[1])) * exp(-theta[0]);
}

static double base_latency_us(const double *theta)
{
    return 1e6 * exp(theta[0]);
}

static size_t utilization(const double *theta, double iops, const char **names, double *shares)
{
    names[0] = "channels";
    shares[0] = iops / plateau_of(theta);
    return 1;
}

const struct station_model station_hyperbolic = {
    .name = "hyperbolic",
    .summary = "channels picked at random: N m / (S (m + N - 1))",
    .parameters = 2,
    .names = {"service_us", "channels"},
    .start = start,
    .curve = curve,
    .value = value,
    .plateau = plateau_of,
    .base_latency_us = base_latency_us,
    .utilization = utilization,
};
