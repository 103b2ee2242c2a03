/* Open stations: M/M/1, M/G/1, M/M/c and M/M/c/K. */
#include "model/laws.h"

#include <math.h>

double law_mm1_response(double rate, double service_s)
{
    if (!(rate >= 0) || !(service_s > 0))
        return NAN;
    double load = rate * service_s;
    return load < 1 ? service_s / (1 - load) : INFINITY;
}

double law_mm1_percentile(double rate, double service_s, double percent)
{
    if (!(percent >= 0) || !(percent < 100))
        return NAN;
    return -log(1 - percent / 100) * law_mm1_response(rate, service_s);
}

double law_mg1_response(double rate, double service_s, double service_scv)
{
    if (!(rate >= 0) || !(service_s > 0) || !(service_scv >= 0))
        return NAN;
    double load = rate * service_s;
    if (load >= 1)
        return INFINITY;
    return service_s * (1 + load * (1 + service_scv) / (2 * (1 - load)));
}

/* By the recursion of Erlang B, which neither overflows nor cancels, then C = B / (1 - ρ(1 - B)).
 */
double law_erlang_c(double servers, double load)
{
    if (!(servers >= 1) || servers > 1e7 || floor(servers) != servers || !(load >= 0))
        return NAN;
    if (load >= servers)
        return 1;
    double b = 1;
    for (double k = 1; k <= servers; k++)
        b = load * b / (k + load * b);
    double rho = load / servers;
    return b / (1 - rho * (1 - b));
}

double law_mmc_response(double rate, double service_s, double servers)
{
    if (!(rate >= 0) || !(service_s > 0))
        return NAN;
    double load = rate * service_s;
    double wait = law_erlang_c(servers, load);
    if (isnan(wait))
        return NAN;
    if (load >= servers)
        return INFINITY;
    return service_s + wait * service_s / (servers - load);
}

struct law_mmck law_mmck(double rate, double service_s, unsigned servers, unsigned capacity)
{
    struct law_mmck r = {NAN, NAN, NAN, NAN};
    if (!(rate > 0) || !(service_s > 0) || servers == 0 || capacity < servers || capacity > 1000000)
        return r;
    /* Weights relative to the largest seen, so that none overflows. */
    double load = rate * service_s, weight = 1, sum = 1, mean = 0;
    for (unsigned n = 1; n <= capacity; n++) {
        weight *= load / (n < servers ? n : servers);
        sum += weight;
        mean += n * weight;
        if (weight > 1e200) {
            sum /= weight;
            mean /= weight;
            weight = 1;
        }
    }
    r.blocked = weight / sum;
    r.throughput = rate * (1 - r.blocked);
    r.mean_in_system = mean / sum;
    r.response_s = r.mean_in_system / r.throughput;
    return r;
}
