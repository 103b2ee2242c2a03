/* A delay Z and one server D, by exact MVA. */
#include "model/fit/station_models.h"

#include <math.h>

static void start(const struct sweep_point *points, size_t count, double *theta)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].iops);
    theta[0] = log(0.95 * points[0].depth / points[0].iops);
    theta[1] = log(1 / (1.1 * most));
}

static void curve(const double *theta, size_t depth_max, double *iops)
{
    double delay = exp(theta[0]), demand = exp(theta[1]), queue = 0;
    iops[0] = 0;
    for (size_t n = 1; n <= depth_max; n++) {
        double wait = demand * (1 + queue);
        iops[n] = (double)n / (delay + wait);
        queue = iops[n] * wait;
    }
}

static double value(const double *theta, size_t i)
{
    return 1e6 * exp(theta[i]);
}

static double plateau_of(const double *theta)
{
    return exp(-theta[1]);
}

static double base_latency_us(const double *theta)
{
    return 1e6 * (exp(theta[0]) + exp(theta[1]));
}

static size_t utilization(const double *theta, double iops, const char **names, double *shares)
{
    names[0] = "controller";
    shares[0] = iops * exp(theta[1]);
    return 1;
}

const struct station_model station_delay_server = {
    .name = "delay_server",
    .summary = "a delay and one server",
    .parameters = 2,
    .names = {"delay_us", "server_us"},
    .start = start,
    .curve = curve,
    .value = value,
    .plateau = plateau_of,
    .base_latency_us = base_latency_us,
    .utilization = utilization,
};
