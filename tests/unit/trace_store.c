/* The store: what is written is read back, in order, from files and pipes, whole, cut and damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/reel/trace_reader.h"
#include "traces/reel/trace_writer.h"

static char folder[64];
static char path[128];
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/ioreel-unit.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.reel", folder);
    random_state = 88172645463325252ull;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    rmdir(folder);
    return 0;
}

/* A record whose every field is drawn at random, each present or not. */
static struct io_record random_record(uint64_t issue_ns, uint32_t always)
{
    struct io_record r = {.has = ((uint32_t)next_random() & IO_HAS_ALL) | always};
    uint32_t has = r.has;
    r.issue_ns = has & IO_HAS_ISSUE ? issue_ns : 0;
    r.queue_ns = has & IO_HAS_QUEUE ? next_random() % 1000000 : 0;
    r.latency_ns = has & IO_HAS_LATENCY ? next_random() >> (next_random() % 64) : 0;
    r.offset_bytes = has & IO_HAS_OFFSET ? next_random() >> 8 : 0;
    r.len_bytes = has & IO_HAS_LEN ? (1 + next_random() % 256) * 512 : 0;
    r.think_ns = has & IO_HAS_THINK ? next_random() % 100000 : 0;
    r.demand = has & IO_HAS_DEMAND ? (uint32_t)next_random() % 2000 : 0;
    r.process = has & IO_HAS_PROCESS ? (uint32_t)next_random() % 5 : 0;
    r.raw_status = has & IO_HAS_RAW_STATUS ? (uint32_t)next_random() : 0;
    r.parent = has & IO_HAS_PARENT ? (uint32_t)next_random() : 0;
    r.depth = has & IO_HAS_DEPTH ? (uint16_t)next_random() : 0;
    r.device = has & IO_HAS_DEVICE ? (uint16_t)(next_random() % 3) : 0;
    r.hw_queue = has & IO_HAS_HW_QUEUE ? (uint16_t)(next_random() % 8) : 0;
    r.cpu = has & IO_HAS_CPU ? (uint16_t)(next_random() % 2) : 0;
    r.flags = has & IO_HAS_FLAGS ? (uint16_t)(next_random() % (1u << IO_FLAG_COUNT)) : 0;
    r.op = has & IO_HAS_OP ? (uint8_t)(next_random() % IO_OP_COUNT) : 0;
    r.status = has & IO_HAS_STATUS ? (uint8_t)(next_random() % 140) : 0;
    return r;
}

static void make_meta(struct trace_meta *meta)
{
    assert_int_equal(trace_meta_init(meta), 0);
    meta->vantage = VANTAGE_REQUEST;
    trace_set_text(&meta->producer, "unit test");
    /* Not in the order of their use, so that the block's own numbering differs. */
    static const char *const names[] = {"sdc", "sda", "nvme0n1"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(trace_meta_device(meta, names[i]), i);
    trace_set_text(&meta->devices[2].model, "a \"model\"");
    meta->devices[2].capacity_bytes = 1ull << 60;
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(trace_meta_process(meta, 100 + i, i % 2 ? "fio" : "postgres"), i);
}

static void assert_same(const struct io_record *a, const struct io_record *b)
{
    if (memcmp(a, b, sizeof *a) == 0)
        return;
    assert_int_equal(a->has, b->has);
    assert_int_equal(a->issue_ns, b->issue_ns);
    assert_int_equal(a->latency_ns, b->latency_ns);
    assert_int_equal(a->offset_bytes, b->offset_bytes);
    assert_int_equal(a->len_bytes, b->len_bytes);
    assert_int_equal(a->device, b->device);
    assert_int_equal(a->process, b->process);
    fail_msg("records differ in another field");
}

/* A reader numbers processes as it meets them; the tests' numbers are in the pids. */
static struct io_record with_own_process(const struct io_record *read,
                                         const struct trace_meta *meta)
{
    struct io_record r = *read;
    if (r.has & IO_HAS_PROCESS)
        r.process = meta->processes[r.process].pid - 100;
    return r;
}

static void write_trace(const struct io_record *records, size_t count, size_t block_records,
                        bool complete)
{
    struct error err = {""};
    struct trace_meta meta;
    struct trace_writer *w;
    make_meta(&meta);
    struct trace_writer_options options = {.overwrite = true, .block_records = block_records};
    assert_int_equal(trace_writer_open(path, &meta, &options, &w, &err), 0);
    assert_int_equal(trace_writer_add(w, records, count, &err), 0);
    if (complete) {
        assert_int_equal(trace_writer_close(w, &err), 0);
    } else {
        assert_int_equal(trace_writer_end_block(w, &err), 0);
        trace_writer_abandon(w);
    }
    trace_meta_clear(&meta);
}

/* Reads everything; compares with `wanted` (already in the order to come) and returns the count. */
static size_t read_trace(const char *from, bool in_order, const struct io_record *wanted,
                         size_t wanted_count, enum trace_ending ending)
{
    struct error err = {""};
    struct trace_reader *r;
    struct trace_reader_options options = {.in_order = in_order};
    if (trace_reader_open(from, &options, &r, &err))
        fail_msg("open: %s", err.text);
    const struct trace_meta *meta = trace_reader_meta(r);
    struct trace_batch batch;
    size_t seen = 0;
    int rc;
    while ((rc = trace_reader_next(r, &batch, &err)) == 0) {
        assert_true(batch.count > 0);
        for (size_t i = 0; i < batch.count; i++, seen++) {
            assert_true(seen < wanted_count);
            struct io_record got = with_own_process(&batch.records[i], meta);
            if (got.has & IO_HAS_DEVICE)
                assert_non_null(meta->devices[got.device].name);
            assert_same(&got, &wanted[seen]);
        }
    }
    if (rc != 1)
        fail_msg("read: %s", err.text);
    assert_int_equal(trace_reader_ending(r), ending);
    trace_reader_close(r);
    return seen;
}

static void test_round_trip(void **state)
{
    (void)state;
    /* Sizes around blocks and bitmaps; ordered, all fields at random. */
    static const size_t counts[] = {0, 1, 7, 8, 9, 500, 65536, 65537, 140000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t count = counts[c];
        struct io_record *records = calloc(count + 1, sizeof *records);
        uint64_t now = 0;
        for (size_t i = 0; i < count; i++)
            records[i] = random_record(now += next_random() % 5000, IO_HAS_ISSUE);
        write_trace(records, count, 0, true);
        assert_int_equal(read_trace(path, false, records, count, TRACE_COMPLETE), count);
        assert_int_equal(read_trace(path, true, records, count, TRACE_COMPLETE), count);
        free(records);
    }
}

static int by_issue(const void *a, const void *b)
{
    const struct io_record *left = a, *right = b;
    if (left->issue_ns != right->issue_ns)
        return left->issue_ns < right->issue_ns ? -1 : 1;
    return left->raw_status < right->raw_status ? -1 : left->raw_status > right->raw_status;
}

/* Records in the order of completion, so that blocks overlap; some 30 s late. */
static size_t make_overlapping(struct io_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t late = i % 1000 == 999 ? 30000000000ull : next_random() % 20000000;
        uint64_t done = 31000000000ull + i * 100000;
        records[i] = (struct io_record){
            .has = IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_RAW_STATUS | IO_HAS_OP,
            .issue_ns = done - late,
            .latency_ns = late,
            .raw_status = (uint32_t)i,
        };
    }
    return count;
}

static void test_order(void **state)
{
    (void)state;
    size_t count = 60000;
    struct io_record *records = calloc(count, sizeof *records);
    make_overlapping(records, count);
    write_trace(records, count, 1000, true);
    qsort(records, count, sizeof *records, by_issue);
    /* Equal times may come in either order; make_overlapping() leaves hardly any. */
    assert_int_equal(read_trace(path, true, records, count, TRACE_COMPLETE), count);
    free(records);
}

static void test_order_from_pipe(void **state)
{
    (void)state;
    size_t count = 60000;
    struct io_record *records = calloc(count, sizeof *records);
    make_overlapping(records, count);
    write_trace(records, count, 1000, true);
    qsort(records, count, sizeof *records, by_issue);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        FILE *in = fopen(path, "rb");
        char buffer[1000];
        for (size_t n; in && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
            if (write(ends[1], buffer, n) < 0)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    int old = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(read_trace("-", true, records, count, TRACE_COMPLETE), count);
    dup2(old, STDIN_FILENO);
    close(old);
    free(records);
}

static void test_range(void **state)
{
    (void)state;
    size_t count = 10000;
    struct io_record *records = calloc(count, sizeof *records);
    for (size_t i = 0; i < count; i++)
        records[i] = random_record(i * 1000, IO_HAS_ISSUE);
    write_trace(records, count, 512, true);
    struct error err = {""};
    struct trace_reader *r;
    struct trace_reader_options options = {.in_order = true, .from_ns = 2500500, .to_ns = 7000000};
    assert_int_equal(trace_reader_open(path, &options, &r, &err), 0);
    struct trace_batch batch;
    size_t seen = 0;
    while (trace_reader_next(r, &batch, &err) == 0)
        for (size_t i = 0; i < batch.count; i++) {
            struct io_record got = with_own_process(&batch.records[i], trace_reader_meta(r));
            assert_same(&got, &records[2501 + seen++]);
        }
    assert_int_equal(seen, 7000 - 2501);
    trace_reader_close(r);
    free(records);
}

static void test_fields(void **state)
{
    (void)state;
    size_t count = 3000;
    struct io_record *records = calloc(count, sizeof *records);
    for (size_t i = 0; i < count; i++)
        records[i] = random_record(i * 1000, IO_HAS_ALL);
    write_trace(records, count, 0, true);
    struct error err = {""};
    for (unsigned field = 0; field < IO_FIELD_COUNT; field++) {
        struct trace_reader *r;
        struct trace_reader_options options = {.fields = 1u << field};
        assert_int_equal(trace_reader_open(path, &options, &r, &err), 0);
        struct trace_batch batch;
        assert_int_equal(trace_reader_next(r, &batch, &err), 0);
        assert_int_equal(batch.count, count);
        for (size_t i = 0; i < count; i++)
            assert_true(batch.records[i].has & (1u << field));
        assert_int_equal(batch.records[77].offset_bytes, field == 3 ? records[77].offset_bytes : 0);
        trace_reader_close(r);
    }
    free(records);
}

/* Cut at any byte: every whole block before the cut comes out, and the reader says so. */
static void test_cut(void **state)
{
    (void)state;
    size_t count = 4000, block = 500;
    struct io_record *records = calloc(count, sizeof *records);
    for (size_t i = 0; i < count; i++)
        records[i] = random_record(i * 1000, IO_HAS_ISSUE);
    write_trace(records, count, block, true);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    size_t last = count;
    for (off_t size = st.st_size - 1; size > 0; size -= 1 + (off_t)(next_random() % 700)) {
        assert_int_equal(truncate(path, size), 0);
        size_t seen = read_trace(path, size % 2, records, count, TRACE_CUT);
        assert_int_equal(seen % block, 0);
        assert_true(seen <= last);
        last = seen;
    }
    assert_int_equal(last, 0);
    free(records);
}

/* Every byte of a file, header to seek table, flipped in turn: each flip is noticed, and no record
 * that differs comes out. */
static void test_flip(void **state)
{
    (void)state;
    size_t count = 90;
    struct io_record *records = calloc(count, sizeof *records);
    for (size_t i = 0; i < count; i++)
        records[i] = random_record(i * 1000, IO_HAS_ISSUE);
    write_trace(records, count, 30, true);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    int fd = open(path, O_RDWR);
    for (off_t at = 0; at < st.st_size; at++) {
        uint8_t old, flipped;
        assert_int_equal(pread(fd, &old, 1, at), 1);
        flipped = old ^ (uint8_t)(1u << next_random() % 8);
        assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
        struct error err = {""};
        struct trace_reader *r = NULL;
        size_t seen = 0;
        int rc = trace_reader_open(path, NULL, &r, &err);
        while (!rc) {
            struct trace_batch batch;
            rc = trace_reader_next(r, &batch, &err);
            for (size_t i = 0; rc == 0 && i < batch.count; i++) {
                struct io_record got = with_own_process(&batch.records[i], trace_reader_meta(r));
                assert_same(&got, &records[seen++]);
            }
        }
        if (rc == 1 && trace_reader_ending(r) != TRACE_CUT)
            fail_msg("a flipped bit at byte %lld was not noticed", (long long)at);
        if (rc < 0)
            assert_true(strlen(err.text) > 0 && strstr(err.text, path));
        trace_reader_close(r);
        assert_int_equal(pwrite(fd, &old, 1, at), 1);
    }
    close(fd);
    free(records);
}

/* A recording that was killed: no tail, all blocks. */
static void test_abandoned(void **state)
{
    (void)state;
    struct io_record *records = calloc(100, sizeof *records);
    for (size_t i = 0; i < 100; i++)
        records[i] = random_record(i, IO_HAS_ISSUE);
    write_trace(records, 100, 30, false);
    assert_int_equal(read_trace(path, true, records, 100, TRACE_CUT), 100);
    struct error err = {""};
    struct trace_reader *r;
    struct trace_summary summary;
    assert_int_equal(trace_reader_open(path, NULL, &r, &err), 0);
    assert_int_equal(trace_reader_summary(r, &summary, &err), 0);
    assert_int_equal(summary.records, 100);
    assert_false(summary.complete);
    trace_reader_close(r);
    free(records);
}

static void test_meta(void **state)
{
    (void)state;
    struct io_record record = random_record(5, IO_HAS_ALL);
    write_trace(&record, 1, 0, true);
    struct error err = {""};
    struct trace_reader *r;
    assert_int_equal(trace_reader_open(path, NULL, &r, &err), 0);
    const struct trace_meta *meta = trace_reader_meta(r);
    assert_int_equal(meta->device_count, 3);
    assert_string_equal(meta->devices[2].model, "a \"model\"");
    assert_int_equal(meta->devices[2].capacity_bytes, 1ull << 60);
    assert_int_equal(meta->devices[0].capacity_bytes, TRACE_UNKNOWN);
    assert_int_equal(meta->vantage, VANTAGE_REQUEST);
    struct trace_batch batch;
    assert_int_equal(trace_reader_next(r, &batch, &err), 0);
    const struct trace_process *p = &meta->processes[batch.records[0].process];
    assert_int_equal(p->pid, 100 + record.process);
    trace_reader_close(r);
}

static void test_promise(void **state)
{
    (void)state;
    struct error err = {""};
    struct trace_meta meta;
    struct trace_writer *w;
    make_meta(&meta);
    assert_int_equal(trace_writer_open(path, &meta, NULL, &w, &err), 0);
    struct io_record late = {.has = IO_HAS_ISSUE, .issue_ns = 100};
    assert_int_equal(trace_writer_add(w, &late, 1, &err), 0);
    trace_writer_set_floor(w, 90);
    assert_int_equal(trace_writer_end_block(w, &err), 0);
    late.issue_ns = 80;
    assert_int_equal(trace_writer_add(w, &late, 1, &err), 0);
    assert_int_equal(trace_writer_end_block(w, &err), -EINVAL);
    trace_writer_abandon(w);
    trace_meta_clear(&meta);
    assert_int_equal(trace_writer_open(path, &meta, NULL, &w, &err), -EEXIST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_from_pipe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_abandoned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_meta, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_promise, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
