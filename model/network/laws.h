/* Laws and bounds of queueing, each with its source. Times are seconds, rates per second, demands
 * seconds an I/O spends being served at a station in all its visits. All functions are pure; an
 * argument outside a law's range gives NAN, a queue without a steady state INFINITY.
 *
 * Sources: Muntz & Wong 1974 (asymptotic bounds); Zahorjan, Sevcik, Eager & Galler 1982 (balanced
 * job bounds), as in Lazowska et al., Quantitative System Performance, ch. 5; Gunther 1993 (USL).
 */
#ifndef IOREEL_MODEL_LAWS_H
#define IOREEL_MODEL_LAWS_H

#include <stddef.h>

/* law_bounds.c: bounds of a closed network. */
struct law_bounds {
    double upper; /* IOPS no network with these demands passes */
    double lower; /* nor stays below */
    double balanced_upper;
    double balanced_lower;
    double knee; /* N*: the depth where the two asymptotes meet, (D + Z) / Dmax */
};

/* D: sum of demands, Dmax: the largest, stations: how many queue, Z: delay outside. */
struct law_bounds law_closed_bounds(double depth, double demand_s, double max_demand_s,
                                    double stations, double delay_s);

/* law_usl.c: X(N) = lambda·N / (1 + sigma·(N-1) + kappa·N·(N-1)). */
double law_usl(double depth, double lambda, double sigma, double kappa);
double law_usl_peak(double sigma, double kappa); /* the depth of most throughput */

/* law_mix.c: reads and writes. 1/X(r) = r/Xr + (1-r)/Xw + gamma·r·(1-r), r in [0, 1]. */
double law_mix(double read_iops, double write_iops, double gamma, double read_share);
/* The gamma that puts the law through a measured mix. */
double law_mix_gamma(double read_iops, double write_iops, double mix_iops, double read_share);
/* Without a measured mix: the range seen, as factors on the law with gamma = 0. */
#define LAW_MIX_LOW  0.5
#define LAW_MIX_HIGH 1.1

/* law_protection.c: host IOPS of a protected volume: X = Xread / (r + (1-r)·p). */
struct law_protection {
    const char *name;
    unsigned data, parity; /* k+m of an erasure code; 0, 0 for a mirror */
    double small_penalty;  /* device I/Os a small random write costs */
    double stripe_penalty; /* device I/Os a full-stripe write costs, an I/O's worth: (k+m)/k */
};

/* "none", "raid1", "raid5", "raid6", "ec-4+2"; raid5 and raid6 take their data disks from `data`
 * (0: 3 and 4). 0 or -EINVAL. */
int law_protection_parse(const char *text, unsigned data, struct law_protection *p);
/* write_bytes against the data of a full stripe decides which penalty holds; stripe_bytes 0: small.
 */
double law_protection_penalty(const struct law_protection *p, double write_bytes,
                              double stripe_bytes);
double law_protected_iops(double read_iops, double read_share, double penalty);

/* law_cpu.c: CPU time an I/O costs, and the rate a number of cores can feed. */
double law_cpu_pct(double us_per_io, double iops, double cores);
double law_cpu_limit(double us_per_io, double threads);

/* law_size.c: service time against size: a + b·bytes, or max(a, b·bytes). */
enum law_size_kind { LAW_SIZE_SUM, LAW_SIZE_MAX };

struct law_size {
    enum law_size_kind kind;
    double fixed_s;    /* a */
    double s_per_byte; /* b */
    double loo_error;  /* mean |log error| of leave-one-out; NAN below three sizes */
    double fit_error;  /* root mean square of the log error */
};

double law_size_time(const struct law_size *law, double bytes);
/* Fits both to service times at `count` sizes (at least 2, different) in the logarithm, and takes
 * the better by leave-one-out (by fit, below four sizes). 0 or -EINVAL. */
int law_size_fit(const double *bytes, const double *seconds, size_t count, struct law_size *law);
int law_size_fit_kind(enum law_size_kind kind, const double *bytes, const double *seconds,
                      size_t count, struct law_size *law);

#endif
