/* What-ifs: a model asked for depths, slots, sizes, mixes, protection, nodes that were not
 * measured.
 *
 * A question is turned into one sweep's prediction and factors with intervals. Where the data
 * cannot carry a number it is NAN and only the interval is given; where they cannot carry even
 * that, the question is refused with the measurement that would answer it. */
#ifndef IOREEL_MODEL_WHATIF_H
#define IOREEL_MODEL_WHATIF_H

#include "common/error.h"
#include "model/network/laws.h"
#include "model/fit/model_file.h"
#include "model/network/slot_path.h"
#include "model/fit/predict.h"

#include <stdbool.h>

/* NAN or NULL: as the model has it. */
struct whatif_question {
    double threads; /* I/Os in flight = threads × depth */
    double block_bytes;
    double read_pct;
    unsigned pattern;
    const char *workload;
    struct slot_path path;
    bool protect; /* the model is of reads on a protected volume */
    struct law_protection protection;
    double stripe_bytes; /* data of a full stripe */
    double nodes;
    double cores;
    double price_usd, capacity_gb;
    const char *controller; /* another controller in place of the model's */
};

#define WHATIF_UTILIZATIONS 4

struct whatif_point {
    double depth;  /* of each thread and disk, as asked */
    double inside; /* in flight behind the slots */
    double iops, iops_low, iops_high;
    double latency_us, latency_low_us, latency_high_us;
    double p50_us, p90_us, p99_us;
    const char *bottleneck;
    const char *names[WHATIF_UTILIZATIONS];
    double utilization[WHATIF_UTILIZATIONS];
    size_t utilization_count;
    double cpu_pct;
    double usd_per_iops, usd_per_gb;
    bool extrapolated;
};

struct whatif; /* owns its predictors; refers to the model */

/* 0, -EDOM when the model cannot answer (the text says what would), -EINVAL, -ENOMEM. */
int whatif_create(const struct model *m, const struct whatif_question *q, double depth_max,
                  struct whatif **out, struct error *err);
void whatif_free(struct whatif *w);

struct whatif_point whatif_at(const struct whatif *w, double depth);

const struct fit *whatif_base(const struct whatif *w); /* the sweep that answers */
struct law_bounds whatif_bounds(const struct whatif *w, double depth);
double whatif_plateau(const struct whatif *w);
double whatif_base_latency_us(const struct whatif *w);
/* Whether the points are of the very load that was measured, so that they can be drawn together. */
bool whatif_is_as_measured(const struct whatif *w);

/* What was assumed, one line each, for the user. */
#define WHATIF_NOTES_MAX 8
size_t whatif_notes(const struct whatif *w, const char *notes[WHATIF_NOTES_MAX]);

/* A factor on the rate with its range; point NAN: only the range is known. */
struct whatif_factor {
    double point, low, high;
};

/* whatif_laws.c: factors on the base sweep's rate at a depth. 0 or -EDOM with what is missing. */
int whatif_size_factor(const struct model *m, const struct fit *base, double block_bytes,
                       double depth, struct whatif_factor *out, struct error *err);
int whatif_mix_factor(const struct model *m, const struct fit *base, double read_pct, double depth,
                      struct whatif_factor *out, struct error *err);

#endif
