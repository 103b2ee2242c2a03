/* Percentiles by mixing over how many I/Os are ahead. */
#include "model/whatif/private/percentiles.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "model/network/gsl_quiet.h"

#define TERMS_MAX 400
#define NORMAL_FROM                                                                                \
    60.0 /* variance of the number ahead from which the whole is taken as normal                   \
          */

struct mixture {
    double share[TERMS_MAX]; /* P(k ahead), k = first + i */
    double first;
    int count;
    double cv;
};

static double binomial_log(double n, double k, double q)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q) + (n - k) * log1p(-q);
}

/* The share of others ahead whose mean wait, in services, is `wait`: E[k] less half a service for
 * the one under way. Found by bisection. */
static double share_ahead(double others, double wait)
{
    double low = 0, high = 1;
    if (wait >= others - 0.5)
        return 1;
    for (int i = 0; i < 60; i++) {
        double q = (low + high) / 2;
        double mean = others * q - 0.5 * (1 - pow(1 - q, others));
        if (mean < wait)
            low = q;
        else
            high = q;
    }
    return (low + high) / 2;
}

static void fill(struct mixture *m, double others, double q)
{
    double middle = others * q, spread = sqrt(others * q * (1 - q));
    m->first = fmax(0, floor(middle - 8 * spread - 2));
    double last = fmin(others, ceil(middle + 8 * spread + 8));
    m->count = 0;
    for (double k = m->first; k <= last && m->count < TERMS_MAX; k++)
        m->share[m->count++] = q >= 1   ? k == others
                               : q <= 0 ? k == 0
                                        : exp(binomial_log(others, k, q));
}

/* P(latency <= x services): with k ahead, k full services and one that is under way for a uniform
 * part; their sum is taken as gamma for the first and as normal beyond. */
static double distribution(const struct mixture *m, double x)
{
    static const double nodes[] = {0.0694318442, 0.3300094782, 0.6699905218, 0.9305681558};
    static const double weights[] = {0.1739274226, 0.3260725774, 0.3260725774, 0.1739274226};
    double sum = 0;
    double variance = m->cv * m->cv;
    for (int i = 0; i < m->count; i++) {
        double k = m->first + i;
        if (m->share[i] < 1e-12)
            continue;
        if (k == 0) {
            sum += m->share[i] * gsl_cdf_gamma_P(x, 1 / variance, variance);
            continue;
        }
        double sd = m->cv * sqrt(k + 1), part = 0;
        for (int j = 0; j < 4; j++)
            part += weights[j] * 0.5 * erfc(-(x - (k + nodes[j])) / (sd * 1.4142135623730951));
        sum += m->share[i] * part;
    }
    return sum;
}

double percentile_latency_us(double depth, double service_us, double mean_us, double cv,
                             double percent)
{
    if (!(depth >= 1) || !(service_us > 0) || !(mean_us > 0) || !(cv > 0) || cv > 10 ||
        !(percent > 0) || !(percent < 100))
        return NAN;
    gsl_quiet();
    double others = depth - 1, wait = fmax(mean_us / service_us - 1, 0);
    /* Beyond this all others are ahead and the services themselves must have slowed down. */
    double stretch = wait > others - 0.5 && others > 0 ? (1 + wait) / (others + 0.5) : 1;
    double q = others > 0 ? share_ahead(others, wait / stretch) : 0;
    double variance = others * q * (1 - q);
    if (variance > NORMAL_FROM || others * q > TERMS_MAX / 2.0) {
        double sd = sqrt(variance + 1.0 / 12 + cv * cv * (1 + others * q)) * service_us * stretch;
        return fmax(mean_us + gsl_cdf_ugaussian_Pinv(percent / 100) * sd, 0);
    }
    struct mixture m = {.cv = fmax(cv, 1e-3)};
    fill(&m, others, q);
    double low = 0, high = 1 + others * q + 8 * sqrt(variance + cv * cv * (1 + others * q) + 1);
    while (distribution(&m, high) < percent / 100 && high < 1e6)
        high *= 2;
    for (int i = 0; i < 26; i++) {
        double x = (low + high) / 2;
        if (distribution(&m, x) < percent / 100)
            low = x;
        else
            high = x;
    }
    return (low + high) / 2 * service_us * stretch;
}
