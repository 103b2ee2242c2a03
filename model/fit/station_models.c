/* The table of station models. */
#include "model/fit/station_models.h"

#include <math.h>
#include <string.h>

const struct station_model *const station_models[] = {
    &station_channels,
    &station_softmin,
    &station_hyperbolic,
    &station_delay_server,
    &station_asymptotic,
    &station_usl,
    NULL,
};

const struct station_model *station_model_find(const char *name)
{
    for (size_t i = 0; station_models[i]; i++)
        if (strcmp(station_models[i]->name, name) == 0)
            return station_models[i];
    return NULL;
}

double station_curve_at(const double *iops, size_t depth_max, double depth)
{
    if (!(depth > 0))
        return 0;
    if (depth >= (double)depth_max)
        return iops[depth_max];
    size_t below = (size_t)depth;
    double part = depth - (double)below;
    return iops[below] + part * (iops[below + 1] - iops[below]);
}
