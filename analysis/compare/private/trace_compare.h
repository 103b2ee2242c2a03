/* Comparing two runs of one workload: matched I/Os, latency distributions, timing, order. */
#ifndef IOREEL_ANALYSIS_TRACE_COMPARE_H
#define IOREEL_ANALYSIS_TRACE_COMPARE_H

#include "common/error.h"
#include "common/histogram.h"
#include "analysis/compare/private/replay_undo.h"
#include "traces/reel/trace_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* Latencies (ns) of matched I/Os that succeeded in both and whose latency both know; the last group is all of them. */
enum compare_group { COMPARE_READ, COMPARE_WRITE, COMPARE_OTHER, COMPARE_ALL, COMPARE_GROUPS };

struct compare_latency {
    struct histogram a;
    struct histogram b;
};

struct trace_compare {
    uint64_t records[2];
    uint64_t errors[2]; /* records with a status other than 0 */
    uint64_t matched;
    uint64_t only_a;
    uint64_t only_b;
    struct compare_latency *latency; /* COMPARE_GROUPS of them */
    bool timed;                      /* both traces know issue times */
    struct histogram *timing_error;  /* ns, absolute, after aligning on the first match */
    int64_t drift_ns;                /* of the match that A issued last */
    struct replay_undo undo[2]; /* what was done to A's and B's records, as the other's replay did */
    uint64_t reordered; /* in B's order, those that A issued before one already seen (RFC 4737) */
};

/* Reads both to their ends. 1 = done, 2 = interrupted, -errno. trace_compare_clear() in any case.
 */
int trace_compare_read(struct trace_compare *c, struct trace_reader *const readers[2],
                       const char *const paths[2], struct error *err);
void trace_compare_clear(struct trace_compare *c);

/* The largest distance of the two distribution functions (Kolmogorov-Smirnov), in [0, 1]. */
double compare_ks(const struct compare_latency *l);
/* How far from 0 that distance may be by chance alone when both are samples of one distribution: the
 * two-sample critical value of 5 %, 1.358 sqrt((n + m) / (n m)) (Smirnov 1948). Latencies within 0.4 % of
 * each other count as equal. NAN when there is none. */
double compare_ks_error(const struct compare_latency *l);
/* The area between them, in ns (Wasserstein's first distance); to the histograms' 0.4 %. */
double compare_wasserstein_ns(const struct compare_latency *l);
/* What it is off by: the expected distance of each sample from its own distribution, at most the
 * integral of sqrt(F (1 - F)) / sqrt(n) (Bobkov and Ledoux 2019, theorem 3.2), and half a bucket of
 * the histograms for each. NAN when there is none. */
double compare_wasserstein_error_ns(const struct compare_latency *l);

#endif
