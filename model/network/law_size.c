/* Service time against size. Both laws are fitted in the logarithm, where a 4 KiB and a 5 MiB row
 * weigh the same; a golden-section search over one ratio leaves a closed form for the other. */
#include "model/network/laws.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#define SIZES_MAX 256

static double shape(enum law_size_kind kind, double fixed, double per_byte, double bytes)
{
    return kind == LAW_SIZE_SUM ? fixed + per_byte * bytes : fmax(fixed, per_byte * bytes);
}

double law_size_time(const struct law_size *law, double bytes)
{
    return shape(law->kind, law->fixed_s, law->s_per_byte, bytes);
}

/* With the ratio b/a = knee⁻¹ given, the best scale is the mean log difference. Returns the mean
 * square that is left. */
static double scale_for(enum law_size_kind kind, double knee, const double *bytes,
                        const double *seconds, size_t count, double *scale)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < count; i++)
        mean += log(seconds[i] / shape(kind, 1, 1 / knee, bytes[i]));
    mean /= (double)count;
    for (size_t i = 0; i < count; i++) {
        double d = log(seconds[i] / shape(kind, 1, 1 / knee, bytes[i])) - mean;
        square += d * d;
    }
    *scale = exp(mean);
    return square / (double)count;
}

int law_size_fit_kind(enum law_size_kind kind, const double *bytes, const double *seconds,
                      size_t count, struct law_size *law)
{
    if (count < 2 || count > SIZES_MAX)
        return -EINVAL;
    double low = bytes[0], high = bytes[0];
    for (size_t i = 0; i < count; i++) {
        if (!(bytes[i] > 0) || !(seconds[i] > 0))
            return -EINVAL;
        low = fmin(low, bytes[i]);
        high = fmax(high, bytes[i]);
    }
    if (low == high)
        return -EINVAL;
    /* The knee a/b lies somewhere about the sizes; the error may have several dips: a grid first.
     */
    double from = log(low) - 7, to = log(high) + 7, best = from, least = INFINITY, scale = 1;
    for (int i = 0; i <= 400; i++) {
        double at = from + (to - from) * i / 400;
        double square = scale_for(kind, exp(at), bytes, seconds, count, &scale);
        if (square < least) {
            least = square;
            best = at;
        }
    }
    double a = best - (to - from) / 400, b = best + (to - from) / 400;
    for (int i = 0; i < 60; i++) {
        double c = a + (b - a) / 3, d = b - (b - a) / 3;
        if (scale_for(kind, exp(c), bytes, seconds, count, &scale) <
            scale_for(kind, exp(d), bytes, seconds, count, &scale))
            b = d;
        else
            a = c;
    }
    double knee = exp((a + b) / 2);
    least = scale_for(kind, knee, bytes, seconds, count, &scale);
    *law = (struct law_size){kind, scale, scale / knee, NAN, sqrt(least)};
    return 0;
}

static double leave_one_out(enum law_size_kind kind, const double *bytes, const double *seconds,
                            size_t count)
{
    double error = 0;
    for (size_t skip = 0; skip < count; skip++) {
        double b[SIZES_MAX], s[SIZES_MAX];
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (i != skip) {
                b[kept] = bytes[i];
                s[kept++] = seconds[i];
            }
        struct law_size law;
        if (law_size_fit_kind(kind, b, s, kept, &law))
            return NAN;
        error += fabs(log(law_size_time(&law, bytes[skip]) / seconds[skip]));
    }
    return error / (double)count;
}

int law_size_fit(const double *bytes, const double *seconds, size_t count, struct law_size *law)
{
    struct law_size sum, max;
    if (law_size_fit_kind(LAW_SIZE_SUM, bytes, seconds, count, &sum) ||
        law_size_fit_kind(LAW_SIZE_MAX, bytes, seconds, count, &max))
        return -EINVAL;
    if (count >= 3) {
        sum.loo_error = leave_one_out(LAW_SIZE_SUM, bytes, seconds, count);
        max.loo_error = leave_one_out(LAW_SIZE_MAX, bytes, seconds, count);
    }
    bool by_loo = count >= 4 && !isnan(sum.loo_error) && !isnan(max.loo_error);
    *law = (by_loo ? sum.loo_error <= max.loo_error : sum.fit_error <= max.fit_error) ? sum : max;
    return 0;
}
