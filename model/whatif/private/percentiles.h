/* Percentiles of latency from its mean and from how much the service varies at depth 1.
 *
 * Of the N-1 other I/Os a binomial number is ahead at the same server, so many that the mean wait
 * is the one that the model predicts; each holds it for a service of mean S and coefficient of
 * variation cv, the one in service for what is left of it. A FIFO station has no other sources of
 * tail: retries, garbage collection and priorities are not in it, and deep in saturation measured
 * p99s reached twice these. A discrete-event simulator takes this over where it is at hand.
 */
#ifndef IOREEL_MODEL_PERCENTILES_H
#define IOREEL_MODEL_PERCENTILES_H

/* The latency below which `percent` of the I/Os end, in microseconds. service_us: latency at depth
 * 1; mean_us: at `depth`. NAN when cv is unknown or the numbers are out of range. */
double percentile_latency_us(double depth, double service_us, double mean_us, double cv,
                             double percent);

#endif
