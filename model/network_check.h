/* What every solver asks of a network before it starts. */
#ifndef IOREEL_MODEL_NETWORK_CHECK_H
#define IOREEL_MODEL_NETWORK_CHECK_H

#include <errno.h>
#include <math.h>

#include "model/network.h"

static inline int network_check(const struct station *stations, size_t count, double delay_s,
                                double population, struct error *err)
{
    if (count > NETWORK_STATIONS_MAX)
        return error_set(err, E2BIG, "the network has %zu stations; the limit is %d", count,
                         NETWORK_STATIONS_MAX);
    if (!(population >= 0) || population > NETWORK_POPULATION_MAX)
        return error_set(err, ERANGE, "a depth of %g is not within 0 and %d", population,
                         NETWORK_POPULATION_MAX);
    double total = delay_s;
    for (size_t k = 0; k < count; k++) {
        if (!(stations[k].demand_s >= 0) || !isfinite(stations[k].demand_s) ||
            !(stations[k].copies >= 1))
            return error_set(err, EDOM, "station %s has no valid demand or number of copies",
                             stations[k].name ? stations[k].name : "without a name");
        total += stations[k].demand_s;
    }
    if (!(delay_s >= 0) || !(total > 0) || !isfinite(total))
        return error_set(err, EDOM, "the network holds an I/O for no time at all");
    return 0;
}

#endif
