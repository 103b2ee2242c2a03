/* Approximations for general arrivals and services, with where they hold. */
#include "model/laws.h"

#include <math.h>

/* Simulation against these: deterministic service with 4 to 64 servers within 4.4 %; a service of
 * scv 4: +7 % with 4 servers, +12 % with 16 at load 0.9, +44 % with 16 at load 0.7. */
static bool holds(double load, double servers, double ca2, double cs2)
{
    if (ca2 > 4 || cs2 > 4)
        return false;
    return cs2 <= 1 || servers < 8 || load >= 0.9;
}

static double variability(double ca2, double cs2)
{
    return ca2 >= 0 && cs2 >= 0 ? (ca2 + cs2) / 2 : NAN;
}

double law_kingman_response(double rate, double service_s, double ca2, double cs2, bool *valid)
{
    double load = rate * service_s;
    if (valid)
        *valid = holds(load, 1, ca2, cs2);
    if (!(rate >= 0) || !(service_s > 0))
        return NAN;
    if (load >= 1)
        return INFINITY;
    return service_s * (1 + variability(ca2, cs2) * load / (1 - load));
}

double law_allen_cunneen_response(double rate, double service_s, double servers, double ca2,
                                  double cs2, bool *valid)
{
    if (valid)
        *valid = holds(rate * service_s / servers, servers, ca2, cs2);
    double exponential = law_mmc_response(rate, service_s, servers);
    return service_s + variability(ca2, cs2) * (exponential - service_s);
}

double law_sakasegawa_response(double rate, double service_s, double servers, double ca2,
                               double cs2, bool *valid)
{
    double load = rate * service_s / servers;
    if (valid)
        *valid = holds(load, servers, ca2, cs2);
    if (!(rate >= 0) || !(service_s > 0) || !(servers >= 1))
        return NAN;
    if (load >= 1)
        return INFINITY;
    double wait = pow(load, sqrt(2 * (servers + 1)) - 1) / (servers * (1 - load));
    return service_s * (1 + variability(ca2, cs2) * wait);
}
