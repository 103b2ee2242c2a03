/* A mergeable log-linear histogram of unsigned values, after HdrHistogram (Tene): 2^7 linear steps
 * in each power of two, so a reported percentile lies within 0.4 % above the true one, over the
 * whole 64-bit range, in a fixed 58 KiB. min, max, mean and the count are exact. */
#ifndef IOREEL_COMMON_HISTOGRAM_H
#define IOREEL_COMMON_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 7
#define HISTOGRAM_BUCKETS   ((64 - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

/* All zero is an empty histogram; the struct owns nothing. */
struct histogram {
    uint64_t count;
    uint64_t min;
    uint64_t max;
    double sum;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_clear(struct histogram *h);
void histogram_add(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The smallest recorded value that is at or above `percent` of all (nearest rank), as the middle of
 * its bucket, never beyond [min, max]. 0 if empty: ask count first. percent is in [0, 100]. */
uint64_t histogram_percentile(const struct histogram *h, double percent);
double histogram_mean(const struct histogram *h);

/* The share of values at or below `value`, in [0, 1]. */
double histogram_cdf(const struct histogram *h, uint64_t value);

/* For walking: the first value of bucket i, and the first value after it. */
uint64_t histogram_bucket_low(unsigned bucket);
uint64_t histogram_bucket_high(unsigned bucket);

#endif
