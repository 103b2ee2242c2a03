/* Depth sweeps: the rows of a table that differ in nothing but how many I/Os were in flight.
 *
 * A sweep owns its points, sorted by depth, one a depth (repeated runs are averaged). The depth of
 * a row whose X·R stays below threads × iodepth by a whole I/O is X·R: that is what was reached. */
#ifndef IOREEL_MODEL_SWEEP_H
#define IOREEL_MODEL_SWEEP_H

#include "common/error.h"
#include "model/measure/measurement.h"

#include <stdbool.h>
#include <stddef.h>

struct sweep_point {
    double depth;
    double iops;
    double latency_us; /* NAN: not stated */
    double sd_us;      /* standard deviation of the latency; NAN */
    double p50_us, p90_us, p99_us;
    double cpu_us_per_io; /* NAN */
    double rounding;      /* half a digit of the IOPS, as a share of it */
    unsigned runs;
    double log_spread; /* sum of squared deviations of log IOPS over the runs */
    size_t row;        /* the first row it came from */
};

struct sweep {
    struct measurement key; /* what all its rows share; numbers that differ are NAN */
    struct sweep_point *points;
    size_t count;
};

struct sweeps {
    struct sweep *list;
    size_t count;
};

/* Rows without a depth or a rate make sweeps of one point with depth NAN (a stated capacity).
 * 0 or -ENOMEM. */
int sweeps_build(const struct measurements *table, struct sweeps *sweeps, struct error *err);
void sweeps_free(struct sweeps *sweeps);

/* X·R, or NAN. */
double measurement_concurrency(const struct measurement *m);
/* The depth a row really had: see above. */
double measurement_reached_depth(const struct measurement *m);

/* What a sweep breaks that no queueing network can: a depth at which it does, or none. */
enum sweep_fault {
    SWEEP_FINE,
    SWEEP_SUPERLINEAR, /* X(N) > N/n · X(n): latency fell as depth rose */
    SWEEP_NOT_CONCAVE, /* X lies below the chord of its neighbours: latency jumped early */
    SWEEP_RETROGRADE,  /* X fell as depth rose */
};

struct sweep_finding {
    enum sweep_fault fault;
    double depth;      /* where */
    double stated;     /* IOPS there */
    double limit;      /* what it should not pass */
    double excess_pct; /* 100 · (stated / limit − 1) */
};

#define SWEEP_TOLERANCE 0.02 /* beyond rounding */

/* Fills at most `room` findings and returns how many there are in all. */
size_t sweep_check(const struct sweep *s, struct sweep_finding *findings, size_t room);
const char *sweep_fault_name(enum sweep_fault fault);

#endif
