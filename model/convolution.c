/* Buzen's convolution for stations with any rate function. The normalizing constants are kept as
 * logarithms: they span thousands of orders of magnitude at a few hundred I/Os. */
#include "model/network.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONVOLUTION_MAX 65536

/* log of the station's factor F(n) = 1 / (rate(1) … rate(n)). */
static void station_factors(const struct rate_station *s, size_t population, double *out)
{
    out[0] = 0;
    for (size_t n = 1; n <= population; n++)
        out[n] = out[n - 1] - log(s->rate[n < s->limit ? n : s->limit]);
}

/* log of Z^n / n!, the delay's factor. */
static void delay_factors(double delay_s, size_t population, double *out)
{
    for (size_t n = 0; n <= population; n++)
        out[n] = n == 0 ? 0 : (double)n * log(delay_s) - lgamma((double)n + 1);
}

/* into(n) = log Σ_j exp(a(j) + b(n-j)). */
static void convolve(const double *a, const double *b, size_t population, double *into)
{
    for (size_t n = 0; n <= population; n++) {
        double top = -INFINITY, sum = 0;
        for (size_t j = 0; j <= n; j++)
            top = fmax(top, a[j] + b[n - j]);
        for (size_t j = 0; j <= n; j++)
            sum += exp(a[j] + b[n - j] - top);
        into[n] = top + log(sum);
    }
}

static int check(const struct rate_station *stations, size_t count, double delay_s,
                 size_t population, struct error *err)
{
    if (population > CONVOLUTION_MAX)
        return error_set(err, ERANGE, "convolution over a depth of %zu is over the limit of %d",
                         population, CONVOLUTION_MAX);
    if (!(delay_s >= 0) || !isfinite(delay_s) || (count == 0 && delay_s == 0))
        return error_set(err, EDOM, "the network holds an I/O for no time at all");
    for (size_t k = 0; k < count; k++) {
        if (stations[k].limit == 0)
            return error_set(err, EDOM, "station %zu has no rates", k + 1);
        for (size_t n = 1; n <= stations[k].limit; n++)
            if (!(stations[k].rate[n] > 0) || !isfinite(stations[k].rate[n]))
                return error_set(err, EDOM, "station %zu has no positive rate for %zu I/Os", k + 1,
                                 n);
    }
    return 0;
}

int network_convolution(const struct rate_station *stations, size_t count, double delay_s,
                        size_t population, double *iops, struct error *err)
{
    int rc = check(stations, count, delay_s, population, err);
    if (rc)
        return rc;
    double *memory = malloc(3 * (population + 1) * sizeof *memory);
    if (!memory)
        return error_set(err, ENOMEM, "out of memory for a convolution over %zu I/Os", population);
    double *g = memory, *f = g + population + 1, *next = f + population + 1;
    size_t first = 0;
    if (delay_s > 0)
        delay_factors(delay_s, population, g);
    else
        station_factors(&stations[first++], population, g);
    for (size_t k = first; k < count; k++) {
        station_factors(&stations[k], population, f);
        convolve(g, f, population, next);
        memcpy(g, next, (population + 1) * sizeof *g);
    }
    iops[0] = 0;
    for (size_t n = 1; n <= population; n++)
        iops[n] = exp(g[n - 1] - g[n]);
    free(memory);
    return 0;
}
