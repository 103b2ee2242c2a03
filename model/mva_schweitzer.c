/* The fixed point of Bard and Schweitzer: Q_k(N-1) is taken as Q_k(N) (N-1)/N. Its cost does not
 * grow with the depth; it errs by some 5 % about the knee and is exact at both ends. */
#include "model/network.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "model/network_check.h"

#define STEPS_MAX 10000
#define CLOSE     1e-12

int network_schweitzer(const struct station *stations, size_t count, double delay_s,
                       double population, struct network_result *result, struct error *err)
{
    int rc = network_check(stations, count, delay_s, population, err);
    if (rc)
        return rc;
    *result = (struct network_result){.iops = 0};
    if (population < 1)
        return 0;
    double share = (population - 1) / population;
    for (size_t k = 0; k < count; k++)
        result->queue[k] = population / (double)count;
    for (int step = 0; step < STEPS_MAX; step++) {
        double wait[NETWORK_STATIONS_MAX], total = delay_s, moved = 0;
        for (size_t k = 0; k < count; k++) {
            wait[k] = stations[k].demand_s * (1 + share * result->queue[k] / stations[k].copies);
            total += wait[k];
        }
        result->iops = population / total;
        result->latency_s = total - delay_s;
        for (size_t k = 0; k < count; k++) {
            double queue = result->iops * wait[k];
            moved = fmax(moved, fabs(queue - result->queue[k]));
            result->queue[k] = queue;
        }
        if (moved <= CLOSE * population)
            break;
        if (step + 1 == STEPS_MAX)
            return error_set(err, EDOM, "Schweitzer's iteration did not settle in %d steps",
                             STEPS_MAX);
    }
    for (size_t k = 0; k < count; k++)
        result->utilization[k] = result->iops * stations[k].demand_s / stations[k].copies;
    return 0;
}
