/* Exact mean value analysis, one class: R_k(n) = D_k (1 + Q_k(n-1)). */
#include "model/network.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/network_check.h"

int network_exact(const struct station *stations, size_t count, double delay_s, size_t population,
                  double *iops, struct network_result *result, struct error *err)
{
    int rc = network_check(stations, count, delay_s, (double)population, err);
    if (rc)
        return rc;
    *result = (struct network_result){.iops = 0};
    if (iops)
        iops[0] = 0;
    double per_copy[NETWORK_STATIONS_MAX], queue[NETWORK_STATIONS_MAX] = {0};
    for (size_t k = 0; k < count; k++)
        per_copy[k] = stations[k].demand_s / stations[k].copies;
    for (size_t n = 1; n <= population; n++) {
        double total = delay_s;
        double wait[NETWORK_STATIONS_MAX];
        for (size_t k = 0; k < count; k++) {
            wait[k] = stations[k].demand_s + per_copy[k] * queue[k];
            total += wait[k];
        }
        double x = (double)n / total;
        for (size_t k = 0; k < count; k++)
            queue[k] = x * wait[k];
        if (iops)
            iops[n] = x;
        result->iops = x;
        result->latency_s = total - delay_s;
    }
    for (size_t k = 0; k < count; k++) {
        result->queue[k] = queue[k];
        result->utilization[k] = result->iops * per_copy[k];
    }
    return 0;
}
