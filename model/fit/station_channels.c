/* A controller (one server) and m channels picked at random, by exact MVA: the network's default.
 */
#include "model/fit/station_models.h"

#include <math.h>

/* log of (what the channels can do / what the controller can do): neither is known to be the
 * tighter one. */
#define BALANCE_SD 1.2

static void start(const struct sweep_point *points, size_t count, double *theta)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].iops);
    double latency = points[0].depth / points[0].iops;
    theta[0] = log(0.9 * latency);
    theta[1] = log(fmax(2.2 * most * latency - 1, 0.1));
    theta[2] = log(1 / (1.1 * most));
}

static void curve(const double *theta, size_t depth_max, double *iops)
{
    double service = exp(theta[0]), share = 1 / (1 + exp(theta[1])), controller = exp(theta[2]);
    double channels = 0, queue = 0;
    iops[0] = 0;
    for (size_t n = 1; n <= depth_max; n++) {
        double a = service * (1 + channels * share), b = controller * (1 + queue);
        iops[n] = (double)n / (a + b);
        channels = iops[n] * a;
        queue = iops[n] * b;
    }
}

static double value(const double *theta, size_t i)
{
    return i == 1 ? 1 + exp(theta[1]) : 1e6 * exp(theta[i]);
}

static void prior(const double *theta, double *residuals)
{
    double channels = log1p(exp(theta[1])) - theta[0];
    residuals[0] = (channels + theta[2]) / BALANCE_SD;
}

static double plateau_of(const double *theta)
{
    return fmin((1 + exp(theta[1])) * exp(-theta[0]), exp(-theta[2]));
}

static double base_latency_us(const double *theta)
{
    return 1e6 * (exp(theta[0]) + exp(theta[2]));
}

static size_t utilization(const double *theta, double iops, const char **names, double *shares)
{
    names[0] = "channels";
    shares[0] = iops * exp(theta[0]) / (1 + exp(theta[1]));
    names[1] = "controller";
    shares[1] = iops * exp(theta[2]);
    return 2;
}

const struct station_model station_channels = {
    .name = "channels",
    .summary = "a controller and m channels picked at random",
    .parameters = 3,
    .names = {"service_us", "channels", "controller_us"},
    .start = start,
    .curve = curve,
    .value = value,
    .priors = 1,
    .prior = prior,
    .plateau = plateau_of,
    .base_latency_us = base_latency_us,
    .utilization = utilization,
};
