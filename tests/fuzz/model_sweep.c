/* Fuzzes the fit: any sweep that a table can hold is fitted or refused, its predictions are
 * ordered, and no library aborts. Two bytes a point: a depth, and a rate on a logarithmic scale. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/fit/fit.h"
#include "model/fit/predict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define POINTS_MAX 6

static void check_predictions(const struct fit *f)
{
    struct predictor *p;
    struct error err;
    if (predictor_create(f, 512, &p, &err))
        return;
    for (double depth = 1; depth <= 512; depth *= 1.5) {
        struct prediction x = predictor_at(p, depth);
        if (!(x.iops_low <= x.iops_high) || !(x.iops_low <= x.iops * (1 + 1e-9)) ||
            !(x.iops <= x.iops_high * (1 + 1e-9)))
            abort();
    }
    predictor_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sweep_point points[POINTS_MAX];
    struct sweep sweep = {.points = points, .count = 0};
    measurement_clear(&sweep.key);
    double depth = 0;
    for (size_t i = 0; i + 1 < size && sweep.count < POINTS_MAX; i += 2) {
        depth += 1 + data[i] / 4;
        points[sweep.count++] = (struct sweep_point){.depth = depth,
                                                     .iops = exp(data[i + 1] / 10.0),
                                                     .latency_us = NAN,
                                                     .sd_us = NAN,
                                                     .p50_us = NAN,
                                                     .p90_us = NAN,
                                                     .p99_us = NAN,
                                                     .cpu_us_per_io = NAN,
                                                     .runs = 1};
    }
    struct fit f;
    struct error err;
    if (sweep.count == 0 || fit_sweep(&sweep, &f, &err))
        return 0;
    check_predictions(&f);
    fit_free(&f);
    return 0;
}
