/* The fit on sweeps that were made up from other curves with noise: how often the intervals hold,
 * how wide they are, and that a model file predicts what its fit did. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/fit/model_file.h"
#include "model/whatif/private/percentiles.h"
#include "model/fit/predict.h"

#define DEPTHS 8
#define SWEEPS 150

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

static struct sweep_point point(double depth, double iops)
{
    return (struct sweep_point){.depth = depth,
                                .iops = iops,
                                .latency_us = NAN,
                                .sd_us = NAN,
                                .p50_us = NAN,
                                .p90_us = NAN,
                                .p99_us = NAN,
                                .cpu_us_per_io = NAN,
                                .runs = 1};
}

/* A device of a kind that the fit does not have in so many words: channels whose number in use is
 * capped by slots, a corner of any sharpness, a second level of slower channels. */
static void make_up(double true_iops[DEPTHS])
{
    double service = exp(log(50e-6) + uniform() * log(10)), m = exp(1 + uniform() * 3.3);
    double sharp = exp(0.1 + 1.6 * uniform()), slow = 1 + 0.5 * uniform();
    int kind = (int)(uniform() * 4);
    for (int i = 0; i < DEPTHS; i++) {
        double n = pow(2, i);
        double hyperbola = n * m / (service * (m + n - 1));
        double corner = pow(pow(n / service, -sharp) + pow(m / service, -sharp), -1 / sharp);
        double two = n / (service * (1 + (n - 1) / m * (n > m ? slow : 1)));
        double held = fmin(n, 2 * m);
        double slots = held * m / (service * (m + held - 1));
        true_iops[i] = kind == 0   ? hyperbola
                       : kind == 1 ? corner
                       : kind == 2 ? fmax(two, 1)
                                   : slots;
    }
}

struct tally {
    size_t points, inside;
    double errors[SWEEPS * DEPTHS], widths[SWEEPS * DEPTHS];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void judge(const struct fit *f, const double measured[DEPTHS], struct tally *t)
{
    struct predictor *p;
    assert_int_equal(predictor_create(f, 128, &p, NULL), 0);
    for (int i = 1; i < 5; i++) {
        if (i == 3)
            continue; /* depth 8 was fitted */
        struct prediction x = predictor_at(p, pow(2, i));
        t->errors[t->points] = fabs(x.iops / measured[i] - 1);
        t->widths[t->points++] = (x.iops_high - x.iops_low) / x.iops;
        t->inside += x.iops_low <= measured[i] && measured[i] <= x.iops_high;
        assert_false(x.extrapolated);
    }
    assert_true(predictor_at(p, 64).extrapolated);
    predictor_free(p);
}

static void held_out_depths(void **state)
{
    (void)state;
    static struct tally t;
    for (int s = 0; s < SWEEPS; s++) {
        double measured[DEPTHS], noise = 0.01 + 0.02 * uniform();
        make_up(measured);
        for (int i = 0; i < DEPTHS; i++)
            measured[i] *= exp(noise * normal());
        struct sweep_point points[] = {point(1, measured[0]), point(8, measured[3]),
                                       point(32, measured[5])};
        struct sweep sweep = {.points = points, .count = 3};
        measurement_clear(&sweep.key);
        struct fit f;
        struct error err;
        if (fit_sweep(&sweep, &f, &err))
            fail_msg("%s", err.text);
        judge(&f, measured, &t);
        fit_free(&f);
    }
    qsort(t.errors, t.points, sizeof *t.errors, by_value);
    qsort(t.widths, t.points, sizeof *t.widths, by_value);
    print_message("%zu points: %.1f %% inside, median error %.1f %%, median width %.1f %%\n",
                  t.points, 100.0 * (double)t.inside / (double)t.points,
                  100 * t.errors[t.points / 2], 100 * t.widths[t.points / 2]);
    assert_true(t.inside >= 0.9 * (double)t.points);
    assert_true(t.errors[t.points / 2] <= 0.05);
    assert_true(t.widths[t.points / 2] <= 0.20);
}

static void file_keeps_the_fit(void **state)
{
    (void)state;
    struct sweep_point points[] = {point(1, 12552), point(4, 42195), point(16, 101941),
                                   point(64, 145073)};
    struct sweep sweep = {.points = points, .count = 4};
    measurement_clear(&sweep.key);
    struct model m, back;
    struct fit f;
    assert_int_equal(fit_sweep(&sweep, &f, NULL), 0);
    assert_int_equal(model_begin(&m, "test", NULL), 0);
    assert_int_equal(model_add(&m, &f, NULL), 0);
    json_t *document = model_to_json(&m);
    struct error err = {""};
    if (model_from_json(document, "test", &back, &err))
        fail_msg("%s", err.text);
    struct predictor *a, *b;
    assert_int_equal(predictor_create(&m.fits[0], 256, &a, NULL), 0);
    assert_int_equal(predictor_create(&back.fits[0], 256, &b, NULL), 0);
    for (double n = 1; n <= 256; n *= 1.7) {
        struct prediction x = predictor_at(a, n), y = predictor_at(b, n);
        assert_true(fabs(x.iops / y.iops - 1) < 1e-9);
        assert_true(fabs(x.iops_low / y.iops_low - 1) < 1e-9);
        assert_true(x.iops_low <= x.iops && x.iops <= x.iops_high);
    }
    predictor_free(a);
    predictor_free(b);
    json_decref(document);
    model_free(&m);
    model_free(&back);
}

/* Repeated runs that differ widen the interval. */
static void replicates(void **state)
{
    (void)state;
    struct sweep_point points[] = {point(1, 10000), point(4, 38000), point(16, 90000),
                                   point(64, 120000)};
    struct sweep sweep = {.points = points, .count = 4};
    measurement_clear(&sweep.key);
    struct fit calm, wild;
    assert_int_equal(fit_sweep(&sweep, &calm, NULL), 0);
    for (int i = 0; i < 4; i++) {
        points[i].runs = 3;
        points[i].log_spread = 2 * 0.2 * 0.2;
    }
    assert_int_equal(fit_sweep(&sweep, &wild, NULL), 0);
    assert_true(wild.scale > 4 * calm.scale);
    fit_free(&calm);
    fit_free(&wild);
}

/* Numbers that no solver likes end as an error, never as an abort. */
static void gsl_failures_are_errors(void **state)
{
    (void)state;
    struct sweep_point points[] = {point(1, 1e-300), point(8, 1e300), point(32, 1)};
    struct sweep sweep = {.points = points, .count = 3};
    measurement_clear(&sweep.key);
    struct fit f;
    struct error err = {""};
    int rc = fit_sweep(&sweep, &f, &err);
    if (rc == 0)
        fit_free(&f);
    else
        assert_true(err.text[0] != '\0');
}

static void percentiles(void **state)
{
    (void)state;
    /* Depth 1 is the service itself; the p99 of a gamma of cv 1 is that of an exponential. */
    assert_true(fabs(percentile_latency_us(1, 100, 100, 1, 99) / 460.517 - 1) < 1e-3);
    /* One server, all others ahead: about N services. */
    assert_true(fabs(percentile_latency_us(32, 100, 3200, 0.05, 50) / 3200 - 1) < 0.03);
    assert_true(isnan(percentile_latency_us(8, 100, 200, NAN, 99)));
    double last = 0;
    for (double n = 1; n <= 4096; n *= 2) {
        double p = percentile_latency_us(n, 80, 80 * (1 + (n - 1) / 15), 0.12, 99);
        assert_true(p > last);
        last = p;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_depths), cmocka_unit_test(file_keeps_the_fit),
        cmocka_unit_test(replicates),      cmocka_unit_test(gsl_failures_are_errors),
        cmocka_unit_test(percentiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
