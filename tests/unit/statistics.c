/* The statistics against results worked out by hand or by brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/stat/private/size_counts.h"
#include "analysis/stat/private/trace_stat.h"
#include "analysis/stat/private/working_set.h"
#include "common/histogram.h"
#include "common/units.h"
#include "traces/reel/trace_writer.h"

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void test_histogram(void **unused)
{
    (void)unused;
    static struct histogram h, even, odd;
    enum { COUNT = 20001 };
    static uint64_t values[COUNT];
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        values[i] = next_random() >> (next_random() % 60);
        sum += (double)values[i];
        histogram_add(&h, values[i]);
        histogram_add(i % 2 ? &odd : &even, values[i]);
    }
    qsort(values, COUNT, sizeof *values, compare_u64);
    static const double percents[] = {0, 1, 50, 90, 99, 99.9, 100};
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        size_t rank = (size_t)ceil(percents[i] / 100 * COUNT);
        double exact = (double)values[rank ? rank - 1 : 0];
        double got = (double)histogram_percentile(&h, percents[i]);
        assert_true(fabs(got - exact) <= 0.004 * exact + 0.5);
    }
    assert_true(fabs(histogram_mean(&h) - sum / COUNT) <= 1e-9 * sum / COUNT);
    histogram_merge(&even, &odd);
    even.sum = h.sum; /* a sum of doubles depends on the order */
    assert_memory_equal(&even, &h, sizeof h);
    for (unsigned b = 0; b + 1 < HISTOGRAM_BUCKETS; b++)
        assert_true(histogram_bucket_high(b) == histogram_bucket_low(b + 1) &&
                    histogram_bucket_high(b) > histogram_bucket_low(b));
}

static void test_sizes(void **unused)
{
    (void)unused;
    static struct size_counts s;
    for (int i = 0; i < 90; i++)
        size_counts_add(&s, 4096);
    for (int i = 0; i < 10; i++)
        size_counts_add(&s, 1052672);
    assert_int_equal(size_counts_percentile(&s, 50), 4096);
    assert_int_equal(size_counts_percentile(&s, 90), 4096);
    assert_int_equal(size_counts_percentile(&s, 91), 1052672);
    assert_true(size_counts_mean(&s) == (90 * 4096 + 10 * 1052672) / 100.0);
    /* More distinct sizes than it keeps: still every one is counted. */
    for (uint64_t i = 1; i <= 5000; i++)
        size_counts_add(&s, 512 * i);
    assert_int_equal(s.count, 5100);
    assert_true(size_counts_percentile(&s, 100) >= 512 * 2500);
}

static void test_working_set(void **unused)
{
    (void)unused;
    struct working_set *set = working_set_create(WORKING_SET_EXACT_MAX);
    double error;
    working_set_add(set, 0, 0, 4096);
    working_set_add(set, 0, 100, 200);
    working_set_add(set, 0, 4095, 2); /* touches blocks 0 and 1 */
    working_set_add(set, 1, 0, 8192); /* another device */
    working_set_add(set, 0, 0, 0);
    assert_int_equal(working_set_bytes(set, &error), 4 * 4096);
    assert_true(error == 0);
    working_set_free(set);

    set = working_set_create(WORKING_SET_EXACT_MAX);
    for (uint64_t i = 0; i < 3000000; i++)
        working_set_add(set, 0, i * 7 % 3000000 * 4096, 4096);
    double estimate = (double)working_set_bytes(set, &error) / 4096;
    assert_true(error > 0.5 && error < 1);
    assert_true(fabs(estimate / 3000000 - 1) < 4 * error / 100);
    working_set_free(set);
}

/* A closed loop on one device: 8 in flight at all times, 100 us each, every depth recorded. */
static void closed_loop(const char *path, unsigned skip)
{
    struct trace_meta meta;
    struct trace_writer *w;
    struct error err = {""};
    struct trace_writer_options options = {.overwrite = true};
    assert_int_equal(trace_meta_init(&meta), 0);
    assert_int_equal(trace_meta_device(&meta, "d"), 0);
    assert_int_equal(trace_writer_open(path, &meta, &options, &w, &err), 0);
    for (uint64_t i = 0; i < 80000; i++) {
        /* Slot i % 8 issues at once when its last one is done; slots are 12.5 us apart. */
        struct io_record r = {
            .has = IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_DEPTH | IO_HAS_DEVICE | IO_HAS_OP |
                   IO_HAS_LEN | IO_HAS_OFFSET,
            .issue_ns = i / 8 * 100000 + i % 8 * 12500,
            .latency_ns = 100000,
            .depth = i < 8 ? (uint16_t)(i + 1) : 8,
            .offset_bytes = i * 4096,
            .len_bytes = 4096,
            .op = i % 4 ? IO_READ : IO_WRITE,
        };
        if (skip && i % skip == 0)
            continue;
        assert_int_equal(trace_writer_add(w, &r, 1, &err), 0);
    }
    assert_int_equal(trace_writer_close(w, &err), 0);
    trace_meta_clear(&meta);
}

static void read_stat(const char *path, struct trace_stat *stat)
{
    struct trace_reader *reader;
    struct error err = {""};
    struct trace_reader_options options = {.in_order = true};
    assert_int_equal(trace_reader_open(path, &options, &reader, &err), 0);
    assert_int_equal(trace_stat_read(stat, reader, &err), 1);
    trace_reader_close(reader);
}

static void test_littles_law(void **unused)
{
    (void)unused;
    char path[64] = "/tmp/ioreel-stat.XXXXXX";
    close(mkstemp(path));
    struct trace_stat stat = {0};
    closed_loop(path, 0);
    read_stat(path, &stat);
    double span = (double)stat_span_ns(&stat.all);
    double product = stat.all.latency_sum_ns / span;
    assert_true(fabs(stat_depth_mean(&stat.all) / 8 - 1) < 1e-3);
    assert_true(fabs(product / 8 - 1) < 1e-3);
    assert_int_equal(stat.all.depth.max, 8);
    assert_int_equal(stat.all.op[STAT_WRITE].count, 20000);
    assert_int_equal(stat.all.sequential, 79999);
    trace_stat_clear(&stat);

    /* One in ten lost: the recorded depth says that they were there, the latencies do not. */
    closed_loop(path, 10);
    read_stat(path, &stat);
    product = stat.all.latency_sum_ns / (double)stat_span_ns(&stat.all);
    double error_pct = 100 * (product / stat_depth_mean(&stat.all) - 1);
    assert_true(error_pct < -5);
    trace_stat_clear(&stat);
    unlink(path);
}

static void test_units(void **unused)
{
    (void)unused;
    uint64_t v;
    char text[UNITS_TEXT];
    static const struct {
        const char *text;
        int rc;
        uint64_t value;
    } sizes[] = {
        {"4096", 0, 4096},
        {"4k", 0, 4096},
        {"1.5m", 0, 1572864},
        {"2GiB", 0, 2 * GIB},
        {"1t", 0, TIB},
        {"", -22, 0},
        {"k", -22, 0},
        {"4kk", -22, 0},
        {"-1", -22, 0},
        {"1e3", -22, 0},
        {"0x10", -22, 0},
        {"99999999t", -34, 0},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -34, 0},
        {"inf", -22, 0},
        {" 4k", -22, 0},
        {"4k ", -22, 0},
        {"1.2.3k", -22, 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int rc = units_parse_size(sizes[i].text, &v);
        if (rc != sizes[i].rc || (rc == 0 && v != sizes[i].value))
            fail_msg("size '%s': %d, %llu", sizes[i].text, rc, (unsigned long long)v);
    }
    assert_int_equal(units_parse_time("100us", &v), 0);
    assert_int_equal(v, 100000);
    assert_int_equal(units_parse_time("1.5", &v), 0);
    assert_int_equal(v, 1500000000);
    assert_int_equal(units_parse_time("5m", &v), 0);
    assert_int_equal(v, 300 * NS_PER_S);
    assert_int_equal(units_parse_time("5 m", &v), -22);
    assert_int_equal(units_parse_count("10k", &v), 0);
    assert_int_equal(v, 10000);
    assert_string_equal(units_format_count(113872, text), "113,872");
    assert_string_equal(units_format_count(7, text), "7");
    assert_string_equal(units_format_size(4096, text), "4 KiB");
    assert_string_equal(units_format_ns(71500, text), "71.5 us");
    assert_string_equal(units_format_iops(1.25, text), "1.25");
    assert_string_equal(units_format_iops(79.63, text), "79.6");
    assert_string_equal(units_format_iops(153318.4, text), "153318");
    assert_string_equal(units_format_iops(NAN, text), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram),   cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_working_set), cmocka_unit_test(test_littles_law),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
