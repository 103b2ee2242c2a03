/* Exact mean value analysis for several classes: the recursion walks all populations below the
 * wanted one. */
#include "model/network.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STATES_MAX (1u << 22)

static int check(const double *demand_s, size_t count, const double *delay_s,
                 const unsigned *population, size_t classes, size_t *states, struct error *err)
{
    if (classes == 0 || classes > NETWORK_CLASSES_MAX || count > NETWORK_STATIONS_MAX)
        return error_set(err, E2BIG, "%zu classes at %zu stations; the limits are %d and %d",
                         classes, count, NETWORK_CLASSES_MAX, NETWORK_STATIONS_MAX);
    *states = 1;
    for (size_t c = 0; c < classes; c++) {
        double total = delay_s[c];
        for (size_t k = 0; k < count; k++)
            total += demand_s[c * count + k] >= 0 ? demand_s[c * count + k] : NAN;
        if (!(total > 0) || !isfinite(total))
            return error_set(err, EDOM, "class %zu has no valid demands", c + 1);
        if (population[c] >= STATES_MAX || *states > STATES_MAX / (population[c] + 1))
            return error_set(err, ERANGE, "the classes' populations have more than %u combinations",
                             STATES_MAX);
        *states *= population[c] + 1;
    }
    return 0;
}

/* One step: the population `n` from those with one I/O of a class fewer. queue is indexed by state,
 * then station. */
static void step(const double *demand_s, size_t count, const double *delay_s, const unsigned *n,
                 const size_t *stride, size_t classes, size_t state, double *queue, double *iops,
                 double *latency_s)
{
    double *mine = queue + state * count;
    for (size_t c = 0; c < classes; c++) {
        iops[c] = latency_s[c] = 0;
        if (n[c] == 0)
            continue;
        const double *fewer = queue + (state - stride[c]) * count;
        const double *demand = demand_s + c * count;
        for (size_t k = 0; k < count; k++)
            latency_s[c] += demand[k] * (1 + fewer[k]);
        iops[c] = n[c] / (delay_s[c] + latency_s[c]);
        for (size_t k = 0; k < count; k++)
            mine[k] += iops[c] * demand[k] * (1 + fewer[k]);
    }
}

int network_classes(const double *demand_s, size_t count, const double *delay_s,
                    const unsigned *population, size_t classes, double *iops, double *latency_s,
                    struct error *err)
{
    size_t states = 0;
    int rc = check(demand_s, count, delay_s, population, classes, &states, err);
    if (rc)
        return rc;
    double *queue = calloc(states * (count ? count : 1), sizeof *queue);
    if (!queue)
        return error_set(err, ENOMEM, "out of memory for %zu combinations of populations", states);
    size_t stride[NETWORK_CLASSES_MAX];
    unsigned n[NETWORK_CLASSES_MAX] = {0};
    size_t width = 1;
    for (size_t c = 0; c < classes; c++) {
        stride[c] = width;
        width *= population[c] + 1;
        iops[c] = latency_s[c] = 0;
    }
    for (size_t state = 1; state < states; state++) {
        for (size_t c = 0; c < classes; c++) { /* counts up, class 0 the fastest */
            if (++n[c] <= population[c])
                break;
            n[c] = 0;
        }
        step(demand_s, count, delay_s, n, stride, classes, state, queue, iops, latency_s);
    }
    free(queue);
    return 0;
}
