/* The universal scalability law: contention and coherency. */
#include "model/network/laws.h"

#include <math.h>

double law_usl(double depth, double lambda, double sigma, double kappa)
{
    if (!(depth > 0) || !(lambda > 0) || !(sigma >= 0) || !(kappa >= 0))
        return NAN;
    return lambda * depth / (1 + sigma * (depth - 1) + kappa * depth * (depth - 1));
}

double law_usl_peak(double sigma, double kappa)
{
    if (!(sigma >= 0) || !(sigma <= 1) || !(kappa >= 0))
        return NAN;
    return kappa > 0 ? sqrt((1 - sigma) / kappa) : INFINITY;
}
