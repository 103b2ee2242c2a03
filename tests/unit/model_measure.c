/* The readers of measurements: values, units, depths, from small texts as the tools print them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/measure/measure_readers.h"
#include "model/measure/private/number_text.h"
#include "model/measure/sweep.h"

static void near_relative(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("got %.12g, wanted %.12g within %g", got, want, tolerance);
}

static void read_seed(const char *path, struct measurements *table)
{
    char full[512];
    const char *source = getenv("IOREEL_SOURCE");
    snprintf(full, sizeof full, "%s/tests/fuzz/seeds/%s", source ? source : ".", path);
    struct error err;
    measurements_init(table);
    if (measurements_read_file(full, table, &err))
        fail_msg("%s", err.text);
}

static bool has_note(const struct measurements *table, const char *part)
{
    for (size_t i = 0; i < table->note_count; i++)
        if (strstr(table->notes[i], part))
            return true;
    return false;
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value, half;
    } good[] = {
        {"0,832", 0.832, 0.0005},  {"325,79", 325.79, 0.005},   {"1.633", 1.633, 0.0005},
        {"1,234.5", 1234.5, 0.05}, {"1.234,5", 1234.5, 0.05},   {"1,234,567", 1234567, 0.5},
        {"36457", 36457, 0.5},     {"1200000", 1200000, 50000}, {"900000", 900000, 5000},
        {"10", 10, 0.5},           {"1.5e3", 1500, 50},         {"48%", 48, 0.5},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct stated s;
        assert_int_equal(number_read_all(good[i].text, strlen(good[i].text), &s, NULL), 0);
        near_relative(s.value, good[i].value, 1e-12);
        near_relative(s.half_digit, good[i].half, 1e-9);
    }
    static const char *const bad[] = {"", "abc", "-5", "1.2.3x", "nan", "inf", "1e999", "0x10"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct stated s;
        assert_int_not_equal(number_read_all(bad[i], strlen(bad[i]), &s, NULL), 0);
    }
    double bytes;
    size_t used;
    assert_int_equal(number_read_size("64 KiB", 6, &bytes, &used), 0);
    near_relative(bytes, 65536, 1e-12);
}

static void diskspd(void **state)
{
    (void)state;
    struct measurements t;
    read_seed("measure_diskspd/mix.txt", &t);
    assert_int_equal(t.count, 1);
    near_relative(measurement_depth(&t.rows[0]), 64, 1e-12);
    near_relative(t.rows[0].iops.value, 36457.33, 1e-12);
    near_relative(t.rows[0].latency_us.value, 1755, 1e-12);
    near_relative(t.rows[0].throughput.value, 284.82 * 1048576, 1e-12);
    near_relative(t.rows[0].read_pct, 70, 1e-12);
    near_relative(t.rows[0].cpu_pct.value, 48, 1e-12);
    near_relative(t.rows[0].p99_us, 3300, 1e-12);
    assert_int_equal(t.rows[0].pattern, PATTERN_SEQUENTIAL);
    measurements_free(&t);
    read_seed("measure_diskspd_xml/one.xml", &t);
    assert_int_equal(t.count, 1);
    near_relative(measurement_depth(&t.rows[0]), 64, 1e-12);
    near_relative(t.rows[0].iops.value, 36457.33, 1e-6);
    near_relative(t.rows[0].latency_us.value, 1755, 1e-12);
    near_relative(t.rows[0].read_pct, 70, 1e-12);
    near_relative(t.rows[0].p99_us, 3300, 1e-12);
    assert_int_equal(t.rows[0].pattern, PATTERN_RANDOM);
    measurements_free(&t);
}

static void crystaldiskmark(void **state)
{
    (void)state;
    struct measurements t;
    read_seed("measure_cdm/two.txt", &t);
    assert_int_equal(t.count, 3);
    assert_string_equal(t.rows[0].device, "E: 1 GiB");
    assert_string_equal(t.rows[0].source, "Test 1");
    near_relative(t.rows[1].iodepth, 32, 1e-12);
    near_relative(t.rows[1].block_bytes, 4096, 1e-12);
    near_relative(t.rows[2].iops.value, 863.6, 1e-12);
    near_relative(t.rows[2].throughput.value, 623.469e6, 1e-12);
    assert_true(t.rows[2].read_pct == 0);
    measurements_free(&t);
}

static void articles_and_vdbench(void **state)
{
    (void)state;
    struct measurements t;
    read_seed("measure_article/tables.txt", &t);
    assert_int_equal(t.count, 3);
    near_relative(t.rows[1].latency_us.value, 832, 1e-12);
    near_relative(t.rows[1].throughput.value, 1200.96 * 1048576, 1e-12);
    near_relative(t.rows[2].throughput.value, 325.79 * 1048576, 1e-12);
    near_relative(measurement_depth(&t.rows[2]), 128, 1e-12);
    assert_int_equal(t.rows[2].pattern, PATTERN_RANDOM);
    near_relative(t.rows[2].read_pct, 60, 1e-12);
    assert_true(has_note(&t, "decimal comma"));
    assert_true(has_note(&t, "MiB/s"));
    measurements_free(&t);
    read_seed("measure_vdbench/flatfile.html", &t);
    assert_int_equal(t.count, 1);
    near_relative(t.rows[0].iops.value, 12300, 1e-12);
    near_relative(t.rows[0].latency_us.value, 648, 1e-12);
    near_relative(measurement_depth(&t.rows[0]), 8, 1e-12);
    measurements_free(&t);
}

static void fio(void **state)
{
    (void)state;
    struct measurements t;
    read_seed("measure_fio/two.json", &t);
    assert_int_equal(t.count, 1);
    near_relative(t.rows[0].iops.value, 1000.5, 1e-12);
    near_relative(t.rows[0].latency_us.value, 7990.1, 1e-12);
    near_relative(measurement_depth(&t.rows[0]), 8, 1e-12);
    near_relative(t.rows[0].block_bytes, 4096, 1e-12);
    assert_true(isnan(t.rows[0].p99_us)); /* beyond the maximum: left over from something */
    near_relative(t.rows[0].p50_us, 7900, 1e-12);
    assert_true(has_note(&t, "percentiles"));
    measurements_free(&t);
    read_seed("measure_fio/mix.json", &t);
    assert_int_equal(t.count, 1);
    near_relative(measurement_depth(&t.rows[0]), 8, 1e-12); /* 2 jobs of depth 4 in one entry */
    assert_true(t.rows[0].read_pct > 65 && t.rows[0].read_pct < 75);
    assert_true(has_note(&t, "stepped over"));
    measurements_free(&t);
}

/* The same job as one entry a clone adds up to the same depth. */
static void fio_clones(void **state)
{
    (void)state;
    char text[2048];
    const char *job = "{\"jobname\":\"a\",\"groupid\":0,\"job options\":{\"iodepth\":\"4\","
                      "\"ioengine\":\"io_uring\",\"numjobs\":\"2\",\"rw\":\"randread\"},"
                      "\"read\":{\"iops\":500,\"total_ios\":500,\"io_bytes\":2048000,"
                      "\"bw_bytes\":2048000,\"lat_ns\":{\"mean\":8000000,\"stddev\":1}},"
                      "\"write\":{\"iops\":0}}";
    int n =
        snprintf(text, sizeof text, "{\"fio version\":\"fio-3.33\",\"jobs\":[%s,%s]}", job, job);
    struct measure_input in = {"memory", text, (size_t)n};
    struct measurements t;
    struct error err;
    measurements_init(&t);
    assert_int_equal(measurements_read_bytes(&in, &t, &err), 0);
    assert_int_equal(t.count, 1);
    near_relative(t.rows[0].iops.value, 1000, 1e-12);
    near_relative(measurement_depth(&t.rows[0]), 8, 1e-12);
    near_relative(measurement_concurrency(&t.rows[0]), 8, 1e-12);
    measurements_free(&t);
}

/* io_bytes counted KiB before version 2.99, and bytes from then on. */
static void fio_kib_before_2_99(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        double block_bytes;
    } cases[] = {{"fio-2.1.3", 524288},
                 {"fio-2.15", 524288},
                 {"fio-2.2.10-5-gabc", 524288},
                 {"fio-2.99", 512},
                 {"fio-3.1", 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        int n = snprintf(text, sizeof text,
                         "{\"fio version\":\"%s\",\"jobs\":[{\"jobname\":\"a\",\"read\":"
                         "{\"io_bytes\":51200,\"bw\":51200,\"iops\":100,\"total_ios\":100,"
                         "\"lat\":{\"mean\":10000,\"stddev\":1}},\"write\":{\"iops\":0}}]}",
                         cases[i].version);
        struct measure_input in = {"memory", text, (size_t)n};
        struct measurements t;
        struct error err;
        measurements_init(&t);
        assert_int_equal(measurements_read_bytes(&in, &t, &err), 0);
        assert_int_equal(t.count, 1);
        near_relative(t.rows[0].block_bytes, cases[i].block_bytes, 1e-12);
        near_relative(t.rows[0].throughput.value, 52428800, 1e-12);
        measurements_free(&t);
    }
}

static void read_text(const char *text, struct measurements *table)
{
    struct measure_input in = {"memory", text, strlen(text)};
    struct error err = {""};
    measurements_init(table);
    if (measurements_read_bytes(&in, table, &err))
        fail_msg("%s", err.text);
}

#define SPD_HEAD                                                                                   \
    "Input parameters:\n\n  timespan:   1\n  path: 'a'\n    performing read test\n"                \
    "    block size: 4096\n    using random I/O (alignment: 4096)\n"                               \
    "    number of outstanding I/O operations: 8\n    threads per file: 4\n\n"
#define SPD_RESULTS "Results for timespan 1:\n\nactual test time: 10.00s\nthread count: 4\n\n"
#define SPD_CPU     "CPU |  Usage |  User\n avg.|  25.00%|  5.00%\n\n"
#define SPD_TOTAL(iops)                                                                            \
    "Total IO\nthread | bytes | I/Os | MiB/s | I/O per s | AvgLat | file\n"                        \
    "total:  40960000 | 10000 | 3.91 | " iops " | 32.000\n"
#define SPD_PERCENTILES "  %-ile |  Read (ms) | Total (ms)\n   50th | 30.000 | 30.000\n"

/* Whatever of the next run's head was cut off, the first run's figures stay its own. */
static void diskspd_pasted(void **state)
{
    (void)state;
    static const char *const between[] = {
        "\nanother:\n",      SPD_RESULTS,          SPD_CPU, "thread count: 2\n",
        SPD_RESULTS SPD_CPU, SPD_PERCENTILES "\n", "",
    };
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s", SPD_HEAD SPD_RESULTS SPD_TOTAL("1000.00"), between[i],
                 SPD_TOTAL("7.50"));
        struct measurements t;
        read_text(text, &t);
        assert_int_equal(t.count, 2);
        near_relative(t.rows[0].iops.value, 1000, 1e-12);
        near_relative(measurement_depth(&t.rows[0]), 32, 1e-12);
        assert_true(isnan(t.rows[0].cpu_pct.value));
        near_relative(t.rows[1].iops.value, 7.5, 1e-12);
        assert_true(isnan(measurement_depth(&t.rows[1])));
        assert_true(isnan(t.rows[1].block_bytes));
        assert_true(isnan(t.rows[1].read_pct));
        assert_string_equal(t.rows[1].device, "");
        assert_int_equal(t.incomplete, 1);
        assert_true(has_note(&t, "lacks parameters"));
        measurements_free(&t);
    }
    struct measurements t;
    read_text(SPD_HEAD SPD_TOTAL("1000.00") SPD_HEAD SPD_RESULTS SPD_TOTAL("900.00"), &t);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.incomplete, 0);
    near_relative(measurement_depth(&t.rows[0]), 32, 1e-12); /* from the threads of each file */
    near_relative(measurement_depth(&t.rows[1]), 32, 1e-12);
    measurements_free(&t);
}

/* One entry for reads and writes together: the share is known only when there was one direction. */
static void fio_unified(void **state)
{
    (void)state;
    static const struct {
        const char *rw;
        double read_pct;
    } cases[] = {{"randrw", NAN}, {"rw", NAN}, {"randread", 100}, {"write", 0}, {"trimwrite", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"fio version\":\"fio-3.30\",\"global options\":{\"rw\":\"%s\",\"iodepth\":"
                 "\"4\",\"ioengine\":\"libaio\"},\"jobs\":[{\"jobname\":\"a\",\"mixed\":{"
                 "\"io_bytes\":4096000,\"io_kbytes\":4000,\"bw_bytes\":2048000,\"iops\":500,"
                 "\"total_ios\":1000,\"lat_ns\":{\"mean\":8000000,\"stddev\":1}}}]}",
                 cases[i].rw);
        struct measurements t;
        read_text(text, &t);
        assert_int_equal(t.count, 1);
        near_relative(t.rows[0].iops.value, 500, 1e-12);
        near_relative(t.rows[0].block_bytes, 4096, 1e-12);
        near_relative(measurement_concurrency(&t.rows[0]), 4, 1e-12);
        if (isnan(cases[i].read_pct))
            assert_true(isnan(t.rows[0].read_pct) && has_note(&t, "share is unknown"));
        else
            assert_true(t.rows[0].read_pct == cases[i].read_pct);
        measurements_free(&t);
    }
}

static void faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "empty"},
        {"hello world\n", "no table"},
        {"iops,latency_us\n1,2,3\n", "memory:2: more fields"},
        {"iops,read_pct\n1,170\n", "memory:2: read_pct"},
        {"iops,iodepth\n1,0\n", "memory:2: threads and iodepth"},
        {"iops,iodepth\n", "no row"},
        {"{\n\"fio version\": \"fio-3\", \"jobs\": [\n}", "memory:3"},
        {"<Results><Profile><TimeSpan", "tag without its end"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct measure_input in = {"memory", bad[i].text, strlen(bad[i].text)};
        struct measurements t;
        struct error err = {""};
        measurements_init(&t);
        assert_true(measurements_read_bytes(&in, &t, &err) < 0);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
        measurements_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(diskspd),
        cmocka_unit_test(crystaldiskmark),
        cmocka_unit_test(articles_and_vdbench),
        cmocka_unit_test(fio),
        cmocka_unit_test(fio_clones),
        cmocka_unit_test(fio_kib_before_2_99),
        cmocka_unit_test(diskspd_pasted),
        cmocka_unit_test(fio_unified),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
