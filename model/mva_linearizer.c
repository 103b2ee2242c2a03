/* Linearizer: Schweitzer's estimate, corrected by how the share of each queue really changes when
 * one I/O leaves (Chandy & Neuse 1982; one class). */
#include "model/network.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/network_check.h"

#define STEPS_MAX   20000
#define CORRECTIONS 30
#define CLOSE       1e-13

/* The core: solves for population n given the fractions' change delta. */
static bool solve(const struct station *stations, size_t count, double delay_s, double n,
                  const double *delta, double *queue, double *iops)
{
    for (int step = 0; step < STEPS_MAX; step++) {
        double wait[NETWORK_STATIONS_MAX], total = delay_s, moved = 0;
        for (size_t k = 0; k < count; k++) {
            double seen = n > 1 ? (n - 1) * (queue[k] / n + delta[k]) : 0;
            wait[k] = stations[k].demand_s * (1 + fmax(seen, 0) / stations[k].copies);
            total += wait[k];
        }
        *iops = n / total;
        for (size_t k = 0; k < count; k++) {
            double next = *iops * wait[k];
            moved = fmax(moved, fabs(next - queue[k]));
            queue[k] = next;
        }
        if (moved <= CLOSE * n)
            return true;
    }
    return false;
}

int network_linearizer(const struct station *stations, size_t count, double delay_s,
                       double population, struct network_result *result, struct error *err)
{
    int rc = network_check(stations, count, delay_s, population, err);
    if (rc)
        return rc;
    *result = (struct network_result){.iops = 0};
    if (population < 1)
        return 0;
    double n = population, delta[NETWORK_STATIONS_MAX] = {0};
    double all[NETWORK_STATIONS_MAX], fewer[NETWORK_STATIONS_MAX], unused;
    for (size_t k = 0; k < count; k++) {
        all[k] = n / (double)count;
        fewer[k] = (n - 1) / (double)count;
    }
    for (int i = 0; i < CORRECTIONS; i++) {
        bool settled = solve(stations, count, delay_s, n, delta, all, &result->iops);
        if (n > 1)
            settled = solve(stations, count, delay_s, n - 1, delta, fewer, &unused) && settled;
        if (!settled)
            return error_set(err, EDOM, "Linearizer's iteration did not settle in %d steps",
                             STEPS_MAX);
        double moved = 0;
        for (size_t k = 0; k < count && n > 1; k++) {
            double next = fewer[k] / (n - 1) - all[k] / n;
            moved = fmax(moved, fabs(next - delta[k]));
            delta[k] = next;
        }
        if (moved < 1e-12)
            break;
    }
    result->latency_s = n / result->iops - delay_s;
    for (size_t k = 0; k < count; k++) {
        result->queue[k] = all[k];
        result->utilization[k] = result->iops * stations[k].demand_s / stations[k].copies;
    }
    return 0;
}
