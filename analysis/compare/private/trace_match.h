/* Matching the I/Os of two traces: the k-th occurrence of (device, op, offset, len) in A is the
 * k-th in B. Both are fed in the order of issue; only what has no partner yet is held. */
#ifndef IOREEL_ANALYSIS_TRACE_MATCH_H
#define IOREEL_ANALYSIS_TRACE_MATCH_H

#include "traces/record/record.h"

#include <stddef.h>
#include <stdint.h>

/* What is kept of a record for its comparison. */
struct match_side {
    uint64_t index; /* in its own trace */
    uint64_t issue_ns;
    uint64_t latency_ns; /* or MATCH_NO_LATENCY */
};

/* The latency is unknown, or is that of an I/O that failed. */
#define MATCH_NO_LATENCY UINT64_MAX

struct match_pair {
    struct match_side a;
    struct match_side b;
    uint8_t op;
};

struct trace_match;

/* Records without partner that are held at most; 64 bytes each. */
#define MATCH_WAITING_MAX (16u << 20)

struct trace_match *trace_match_create(void); /* NULL when out of memory */
void trace_match_free(struct trace_match *m);

/* Feeds one record of A (from_b 0) or B (1), with its device already numbered alike for both.
 * 1: *pair is complete. 0: it waits. -ENOMEM, or -E2BIG beyond MATCH_WAITING_MAX. */
int trace_match_add(struct trace_match *m, int from_b, unsigned device, const struct io_record *r,
                    uint64_t index, struct match_pair *pair);

/* How many of A and of B wait still: at the end, those that are in one trace only. */
uint64_t trace_match_waiting(const struct trace_match *m, int from_b);

#endif
