/* The closed queueing network: N I/Os circulate among stations and, between, a delay.
 *
 * Throughputs are per second, times seconds. Nothing here allocates beyond a call except where
 * said. Sources: Reiser & Lavenberg 1980 (exact MVA); Bard 1979, Schweitzer 1979 (fixed point);
 * Chandy & Neuse 1982 (Linearizer); Buzen 1973 (convolution); Chandy, Herzog & Woo 1975
 * (flow-equivalent server). */
#ifndef IOREEL_MODEL_NETWORK_H
#define IOREEL_MODEL_NETWORK_H

#include "common/error.h"

#include <stddef.h>

#define NETWORK_STATIONS_MAX   64
#define NETWORK_POPULATION_MAX 1000000
#define NETWORK_CLASSES_MAX    4

/* A station of `copies` equal servers with a queue each, of which an I/O picks one at random: each
 * has the demand demand_s / copies. copies may be fractional (an effective number of channels). */
struct station {
    const char *name;
    double demand_s;
    double copies; /* 1: one server */
};

struct network_result {
    double iops;
    double latency_s;                         /* without the delay */
    double queue[NETWORK_STATIONS_MAX];       /* mean number at the station, all copies */
    double utilization[NETWORK_STATIONS_MAX]; /* of one copy */
};

/* mva_exact.c. iops may be NULL, else takes X(0..population), population + 1 numbers. */
int network_exact(const struct station *stations, size_t count, double delay_s, size_t population,
                  double *iops, struct network_result *result, struct error *err);

/* mva_schweitzer.c: for large populations, where X(N-1) is not wanted. */
int network_schweitzer(const struct station *stations, size_t count, double delay_s,
                       double population, struct network_result *result, struct error *err);
/* mva_linearizer.c: closer than Schweitzer's, at some thirty times its cost. */
int network_linearizer(const struct station *stations, size_t count, double delay_s,
                       double population, struct network_result *result, struct error *err);

/* A station whose rate depends on how many are there: rate[n], n = 1..limit, stays at rate[limit].
 */
struct rate_station {
    const double *rate; /* per second; rate[0] is not used */
    size_t limit;
};

/* convolution.c: exact, with log scaling, to thousands of I/Os: X(0..population) into iops. */
int network_convolution(const struct rate_station *stations, size_t count, double delay_s,
                        size_t population, double *iops, struct error *err);

/* network_slots.c: `inner` is X of what lies behind the slots for 1..inner_count in flight; at most
 * `slots` get in, the others wait. Fills X(0..population). Exact without delay. */
int network_slots(const double *inner, size_t inner_count, size_t slots, double delay_s,
                  size_t population, double *iops, struct error *err);

/* How deep a path lets its disks' I/Os go: threads × iodepth on each of `disks`, cut by the slots
 * of the host's queue, of each disk (LUN) and of the adapter that they share. 0: no limit. */
struct slot_path {
    double host_slots;    /* a host-wide limit per disk, such as ESXi's DSNRO */
    double lun_slots;     /* the disk's own queue, such as ESXi's DQLEN or a guest driver's depth */
    double adapter_slots; /* shared by the disks */
    double disks;
};

double network_slot_depth(const struct slot_path *path, double depth_per_disk);

/* mva_classes.c: classes of I/O (reads, writes) with their own populations and demands
 * (demand_s[class * count + station]); processor-sharing or FCFS with equal means. Exact. The
 * product of (population + 1) is limited to 2^22. Fills iops[class] and latency_s[class]. */
int network_classes(const double *demand_s, size_t count, const double *delay_s,
                    const unsigned *population, size_t classes, double *iops, double *latency_s,
                    struct error *err);

#endif
