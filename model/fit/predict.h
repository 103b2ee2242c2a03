/* What a fitted sweep says of any depth: a rate, its interval, the latency that follows.
 *
 * The point is the ensemble's, led through the measured points by what the models leave over; the
 * interval (90 %) adds up what the models disagree on, what their parameters are unsure of, how far
 * from the next measurement the depth lies, and the noise of a measurement. Concavity and rising
 * latency say where a curve can be at all; the interval leans towards those limits. */
#ifndef IOREEL_MODEL_PREDICT_H
#define IOREEL_MODEL_PREDICT_H

#include "common/error.h"
#include "model/fit/fit.h"
#include "model/network/laws.h"

#include <stdbool.h>

struct predictor; /* owns its tables; refers to the fit, which must outlive it */

struct prediction {
    double iops, iops_low, iops_high;
    double latency_us, latency_low_us, latency_high_us;
    bool extrapolated; /* outside the measured depths */
};

/* Depths up to depth_max (at most FIT_DEPTH_MAX) can be asked for. 0 or -errno. */
int predictor_create(const struct fit *f, size_t depth_max, struct predictor **p,
                     struct error *err);
void predictor_free(struct predictor *p);
struct prediction predictor_at(const struct predictor *p, double depth);

/* Bounds from the fit: base latency and plateau of the ensemble. */
double predictor_plateau(const struct predictor *p);
double predictor_base_latency_us(const struct predictor *p);

#endif
