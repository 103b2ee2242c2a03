/* The log-linear histogram. Bucket of v: the position of its leading bit and the 7 bits after it;
 * values below 2^7 have a bucket each. */
#include "common/histogram.h"

#include <math.h>
#include <string.h>

#define STEPS (1u << HISTOGRAM_STEP_BITS)

static unsigned bucket_of(uint64_t value)
{
    if (value < STEPS)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_STEP_BITS;
    return ((shift + 1) << HISTOGRAM_STEP_BITS) + (unsigned)((value >> shift) & (STEPS - 1));
}

uint64_t histogram_bucket_low(unsigned bucket)
{
    if (bucket < STEPS)
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_STEP_BITS) - 1;
    return (uint64_t)(STEPS + (bucket & (STEPS - 1))) << shift;
}

uint64_t histogram_bucket_high(unsigned bucket)
{
    return bucket + 1 < HISTOGRAM_BUCKETS ? histogram_bucket_low(bucket + 1) : UINT64_MAX;
}

void histogram_clear(struct histogram *h)
{
    memset(h, 0, sizeof *h);
}

void histogram_add(struct histogram *h, uint64_t value)
{
    if (h->count == 0 || value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
    h->count++;
    h->sum += (double)value;
    h->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    if (h->count == 0)
        return 0;
    if (percent >= 100)
        return h->max;
    double wanted = ceil(percent / 100.0 * (double)h->count);
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted;
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen < rank)
            continue;
        uint64_t low = histogram_bucket_low(i);
        uint64_t middle = low + (histogram_bucket_high(i) - 1 - low) / 2;
        return middle < h->min ? h->min : middle > h->max ? h->max : middle;
    }
    return h->max;
}

double histogram_mean(const struct histogram *h)
{
    return h->count ? h->sum / (double)h->count : 0;
}

double histogram_cdf(const struct histogram *h, uint64_t value)
{
    if (h->count == 0)
        return 0;
    if (value >= h->max)
        return 1;
    unsigned last = bucket_of(value);
    uint64_t below = 0;
    for (unsigned i = 0; i <= last; i++)
        below += h->buckets[i];
    return (double)below / (double)h->count;
}
