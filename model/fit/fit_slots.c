/* The slots that a plateau shows: where latency stays what it is and throughput suddenly stops, the
 * plateau times the latency is how many I/Os got through at a time (Little). */
#include "model/fit/fit.h"

#include <math.h>

#define LINEAR     0.06 /* latency may rise so much and still count as flat */
#define PLATEAU    0.03 /* a point that near the highest lies on the plateau */
#define SNAP       0.05 /* a usual number of slots that near is taken */
#define SNAP_EXACT 0.005

/* Queue depths that drivers and protocols are known to have: AHCI 32, the LSI Logic adapters 32, 64
 * and 128, PVSCSI 64 and 254, powers of two elsewhere. Latency rises a little as slots fill, so the
 * plateau times the latency below it comes out low by some per cent. */
static const double usual[] = {1, 2, 4, 8, 16, 32, 64, 128, 254, 256, 512, 1024, 2048};

/* scatter: how much the latencies below the plateau differ. Where they do not, the number that
 * comes out is exact by itself. */
static double snap(double slots, double scatter)
{
    double best = round(slots), distance = scatter < 0.001 ? SNAP_EXACT : SNAP;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        double off = fabs(log(slots / usual[i]));
        if (off < distance) {
            distance = off;
            best = usual[i];
        }
    }
    return best;
}

void fit_find_slots(struct fit *f)
{
    double most = 0, latency = 0, scatter = 0;
    for (size_t i = 0; i < f->count; i++)
        most = fmax(most, f->points[i].iops);
    /* The deepest point below the plateau, and every one above it, must show one latency. */
    size_t below = f->count;
    double first = f->points[0].depth / f->points[0].iops;
    for (size_t i = 0; i < f->count && f->points[i].iops < (1 - PLATEAU) * most; i++) {
        latency = f->points[i].depth / f->points[i].iops;
        scatter = fmax(scatter,
                       fabs(log(latency / first)) - f->points[0].rounding - f->points[i].rounding);
        if (latency > first * (1 + LINEAR))
            return;
        below = i;
    }
    if (below == f->count)
        return;
    const struct sweep_point *last = &f->points[f->count - 1];
    double reached = last->depth / (last->iops * latency);
    if (below + 1 == f->count - 1 && reached < 1 + LINEAR) {
        f->slots_low = last->depth; /* still linear at the deepest measurement */
        return;
    }
    double plateau = 0, seen = 0;
    for (size_t i = below + 1; i < f->count; i++) {
        double held = f->points[i].depth / (f->points[i].iops * latency);
        if (f->points[i].iops < (1 - 2 * PLATEAU) * most)
            return; /* it falls again: no plateau */
        if (held > 1 + LINEAR) {
            plateau += log(f->points[i].iops);
            seen++;
        }
    }
    if (seen == 0) {
        f->slots_low = last->depth;
        return;
    }
    double slots = exp(plateau / seen) * latency;
    double spread = 2 * FIT_NOISE * sqrt(1 + 1 / seen) / 1.4142135623730951;
    f->slots = snap(slots, scatter);
    f->slots_low = fmin(f->slots, floor(slots * exp(-spread)));
    f->slots_high = fmax(f->slots, ceil(slots * exp(spread)));
}
