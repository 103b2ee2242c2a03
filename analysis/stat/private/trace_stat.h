/* The statistics of a trace: rates, sizes, mix, latency, depth, arrivals, locality, Little's law.
 */
#ifndef IOREEL_ANALYSIS_TRACE_STAT_H
#define IOREEL_ANALYSIS_TRACE_STAT_H

#include "analysis/stat/private/size_counts.h"
#include "analysis/stat/private/working_set.h"
#include "common/error.h"
#include "common/histogram.h"
#include "traces/reel/trace_reader.h"

#include <stdbool.h>
#include <stdint.h>

enum stat_group { STAT_READ, STAT_WRITE, STAT_OTHER, STAT_GROUPS };

struct stat_op {
    uint64_t count;
    uint64_t bytes;
    uint64_t errors;
    struct size_counts *sizes; /* NULL until the first size, or when detail is off */
    struct histogram *latency; /* ns, of I/Os that succeeded; NULL until the first latency of any,
                                * or when detail is off */
};

/* The integral of the recorded depth over time. Depth is recorded at issues; from one issue to the
 * next it starts at what was recorded and falls with the completions that the trace knows, and the
 * next issue sets it again. So an I/O that the trace lost shows: the depth that was recorded counts
 * it, the latencies do not. */
struct stat_depth {
    bool any;
    uint64_t last_ns; /* the last issue */
    uint32_t max;
    double level;    /* depth since the last event */
    uint64_t at_ns;  /* of the last event */
    double integral; /* depth * ns */
    uint64_t *done;  /* completion times to come, a heap with the earliest first */
    uint32_t done_count;
    uint32_t done_room;
};

/* Completions to come that are kept for a device; with more in flight the depth is less exact. */
#define STAT_IN_FLIGHT_MAX (1u << 17)

/* One scope: the whole trace or one device. */
struct stat_scope {
    bool detail; /* has sizes, latencies and a working set */
    uint64_t records;
    uint64_t errors;
    uint64_t first_ns;
    uint64_t last_issue_ns;
    uint64_t last_ns; /* last issue or known completion */
    bool timed;
    struct stat_op op[STAT_GROUPS];
    struct stat_depth depth;
    uint64_t sequential;  /* of read and write, those that begin where the one before ended */
    uint64_t located;     /* read and write with an offset */
    uint64_t next_offset; /* end of the last one; per device */
    double latency_sum_ns; /* failed I/Os too: they were in flight like the others */
    uint64_t latency_count;
    struct working_set *working_set;
    struct histogram *intervals; /* between issues, ns */
    double interval_sum_sq;
};

struct trace_stat {
    struct stat_scope all;
    struct stat_scope *devices; /* by the trace's device index */
    size_t device_count;
};

/* Devices beyond this many are counted, without percentiles: their memory would grow with them. */
#define STAT_DETAILED_DEVICES 128u

/* Reads the trace to its end. 1 = done (ask the reader how it ended), 2 = interrupted, or -errno.
 * trace_stat_clear() in any case. */
int trace_stat_read(struct trace_stat *stat, struct trace_reader *reader, struct error *err);
void trace_stat_clear(struct trace_stat *stat);

/* From first issue to last completion; 0 when the trace has no times. */
uint64_t stat_span_ns(const struct stat_scope *s);
double stat_depth_mean(const struct stat_scope *s); /* NAN when unknown */

#endif
