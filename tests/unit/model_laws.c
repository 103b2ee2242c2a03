/* The laws against closed forms and published figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/network/laws.h"

static void near_relative(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("got %.12g, wanted %.12g within %g", got, want, tolerance);
}

static void bounds(void **state)
{
    (void)state;
    /* Two balanced stations of 1 ms, no delay: X(N) = N / ((N+1) · 1 ms) is known exactly, and the
     * balanced-job bounds must close on it. */
    for (double n = 1; n <= 64; n *= 2) {
        struct law_bounds b = law_closed_bounds(n, 2e-3, 1e-3, 2, 0);
        double exact = n / ((n + 1) * 1e-3);
        near_relative(b.balanced_upper, exact, 1e-12);
        near_relative(b.balanced_lower, exact, 1e-12);
        assert_true(b.lower <= exact && exact <= b.upper);
        near_relative(b.knee, 2, 1e-12);
    }
    /* Unbalanced with a delay: ordered, and N = 1 exact on every side. */
    struct law_bounds one = law_closed_bounds(1, 5e-3, 3e-3, 2, 10e-3);
    near_relative(one.upper, 1 / 15e-3, 1e-12);
    near_relative(one.balanced_upper, 1 / 15e-3, 1e-12);
    near_relative(one.balanced_lower, 1 / 15e-3, 1e-12);
    for (double n = 2; n < 40; n++) {
        struct law_bounds b = law_closed_bounds(n, 5e-3, 3e-3, 2, 10e-3);
        assert_true(b.lower <= b.balanced_lower && b.balanced_lower <= b.balanced_upper &&
                    b.balanced_upper <= b.upper);
    }
    assert_true(isnan(law_closed_bounds(1, -1, 1, 1, 0).upper));
}

static void scalability(void **state)
{
    (void)state;
    near_relative(law_usl(8, 1000, 0, 0), 8000, 1e-12);
    near_relative(law_usl(8, 1000, 0.1, 0), 8000 / 1.7, 1e-12);
    near_relative(law_usl_peak(0.1, 0.001), 30, 1e-12);
    assert_true(isinf(law_usl_peak(0.1, 0)));
}

static void mixes_and_protection(void **state)
{
    (void)state;
    near_relative(law_mix(100, 50, 0, 0.5), 1 / 0.015, 1e-12);
    double gamma = law_mix_gamma(100, 50, 60, 0.5);
    near_relative(law_mix(100, 50, gamma, 0.5), 60, 1e-12);
    near_relative(law_mix(100, 50, gamma, 1), 100, 1e-12);
    struct law_protection p;
    assert_int_equal(law_protection_parse("raid6", 0, &p), 0);
    near_relative(p.small_penalty, 6, 1e-12);
    near_relative(p.stripe_penalty, 1.5, 1e-12);
    assert_int_equal(law_protection_parse("ec-8+3", 0, &p), 0);
    near_relative(p.small_penalty, 8, 1e-12);
    near_relative(p.stripe_penalty, 11.0 / 8, 1e-12);
    near_relative(law_protection_penalty(&p, 4096, 524288), 8, 1e-12);
    near_relative(law_protection_penalty(&p, 1048576, 524288), 11.0 / 8, 1e-12);
    assert_int_not_equal(law_protection_parse("ec-0+1", 0, &p), 0);
    assert_int_not_equal(law_protection_parse("ec-4+2x", 0, &p), 0);
    /* The published cluster: read rows of 1.2M, 936k and 912k against 0.90M, 0.495M, 0.369M at 70 %
     * reads, all of two digits. */
    near_relative(law_protected_iops(1.2e6, 0.7, 2), 0.90e6, 0.042);
    near_relative(law_protected_iops(0.936e6, 0.7, 4), 0.495e6, 0.042);
    near_relative(law_protected_iops(0.912e6, 0.7, 6), 0.369e6, 0.042);
}

static void sizes(void **state)
{
    (void)state;
    const double bytes[] = {4096, 8192, 65536, 1048576, 5242880};
    double sum[5], max[5];
    for (int i = 0; i < 5; i++) {
        sum[i] = 50e-6 + bytes[i] * 0.5e-9;
        max[i] = fmax(50e-6, bytes[i] * 0.5e-9);
    }
    struct law_size law;
    assert_int_equal(law_size_fit(bytes, sum, 5, &law), 0);
    assert_int_equal(law.kind, LAW_SIZE_SUM);
    near_relative(law.fixed_s, 50e-6, 1e-3);
    near_relative(law.s_per_byte, 0.5e-9, 1e-3);
    assert_int_equal(law_size_fit(bytes, max, 5, &law), 0);
    assert_int_equal(law.kind, LAW_SIZE_MAX);
    near_relative(law.fixed_s, 50e-6, 1e-3);
    near_relative(law_size_time(&law, 2097152), 2097152 * 0.5e-9, 1e-3);
    assert_int_not_equal(law_size_fit(bytes, sum, 1, &law), 0);
}

static void cpu(void **state)
{
    (void)state;
    near_relative(law_cpu_pct(20, 100000, 8), 25, 1e-12);
    near_relative(law_cpu_limit(10, 4), 400000, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(scalability),
        cmocka_unit_test(mixes_and_protection),
        cmocka_unit_test(sizes),
        cmocka_unit_test(cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
