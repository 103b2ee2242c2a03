/* The mapping of trace records to I/Os of a replay, and the loader's batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay/pace/schedule.h"
#include "traces/reel/trace_writer.h"

#define KNOWN (IO_HAS_ISSUE | IO_HAS_OP | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_FLAGS | IO_HAS_DEVICE)

static const struct schedule_rules writable = {
    .allow_writes = true,
    .speed = 1,
    .place = {.target_bytes = 1 << 20, .align_bytes = 512, .source_bytes = 4 << 20},
    .limit = SCHEDULE_ALL,
    .duration_ns = SCHEDULE_ALL,
    .in_order = true,
    .timed = true,
};

static struct io_record record(uint8_t op, uint64_t offset, uint64_t len)
{
    return (struct io_record){.op = op, .offset_bytes = offset, .len_bytes = len, .has = KNOWN};
}

static enum schedule_skip map(const struct schedule_rules *rules, struct io_record r,
                              struct scheduled_io *io)
{
    unsigned changes;
    *io = (struct scheduled_io){0};
    return schedule_map(rules, &r, io, &changes);
}

static void maps_what_it_can(void **state)
{
    (void)state;
    struct scheduled_io io;
    for (uint8_t op = IO_READ; op <= IO_WRITE_ZEROES; op++) {
        assert_int_equal(map(&writable, record(op, 4096, 8192), &io), SKIP_NOT);
        assert_int_equal(io.op, op);
        assert_int_equal(io.len_bytes, op == IO_FLUSH ? 0 : 8192);
    }
    for (uint8_t op = IO_ZONE_APPEND; op < IO_OP_COUNT; op++)
        assert_int_equal(map(&writable, record(op, 0, 4096), &io), SKIP_OP);
    assert_int_equal(map(&writable, record(255, 0, 4096), &io), SKIP_OP);
    assert_int_equal(map(&writable, record(IO_READ, 0, 0), &io), SKIP_EMPTY);
    assert_int_equal(map(&writable, record(IO_WRITE, 0, SCHEDULE_IO_MAX + 1), &io), SKIP_LARGE);
    assert_int_equal(map(&writable, record(IO_DISCARD, 0, 5ull << 32), &io), SKIP_NOT);
    assert_int_equal(map(&writable, record(IO_READ, UINT64_MAX - 100, 4096), &io), SKIP_UNKNOWN);
    struct io_record unknown = record(IO_READ, 0, 4096);
    unknown.has &= ~(uint32_t)IO_HAS_OFFSET;
    assert_int_equal(map(&writable, unknown, &io), SKIP_UNKNOWN);
    struct io_record flush = record(IO_WRITE, 0, 0);
    flush.flags = IO_FLAG_PREFLUSH;
    assert_int_equal(map(&writable, flush, &io), SKIP_NOT);
    assert_int_equal(io.op, IO_FLUSH);
}

static void writes_need_leave(void **state)
{
    (void)state;
    struct scheduled_io io;
    struct schedule_rules rules = writable;
    rules.allow_writes = false;
    assert_int_equal(map(&rules, record(IO_READ, 0, 4096), &io), SKIP_NOT);
    for (uint8_t op = IO_WRITE; op <= IO_WRITE_ZEROES; op++)
        assert_int_equal(map(&rules, record(op, 0, 4096), &io), SKIP_WRITE);
    rules.writes_as_reads = true;
    struct io_record fua = record(IO_WRITE, 0, 4096);
    fua.flags = IO_FLAG_FUA;
    assert_int_equal(map(&rules, fua, &io), SKIP_NOT);
    assert_int_equal(io.op, IO_READ);
    assert_int_equal(io.flags, 0);
    assert_int_equal(map(&rules, record(IO_DISCARD, 0, 4096), &io), SKIP_WRITE);
}

static void rounds_to_blocks(void **state)
{
    (void)state;
    struct scheduled_io io;
    assert_int_equal(map(&writable, record(IO_READ, 1000, 1000), &io), SKIP_NOT);
    assert_int_equal(io.offset_bytes, 512);
    assert_int_equal(io.len_bytes, 1536);
    assert_int_equal(map(&writable, record(IO_DISCARD, 1000, 1100), &io), SKIP_NOT);
    assert_int_equal(io.offset_bytes, 1024);
    assert_int_equal(io.len_bytes, 1024);
    assert_int_equal(map(&writable, record(IO_DISCARD, 1000, 30), &io), SKIP_EMPTY);
}

static void remaps_into_the_target(void **state)
{
    (void)state;
    struct scheduled_io io;
    struct schedule_rules rules = writable;
    const uint64_t size = rules.place.target_bytes;
    for (int way = REMAP_WRAP; way <= REMAP_CLIP; way++) {
        rules.place.remap = (enum io_remap)way;
        for (uint64_t offset = 0; offset < 4 * size; offset += 5 * 512) {
            enum schedule_skip skip = map(&rules, record(IO_READ, offset, 4096), &io);
            if (way == REMAP_CLIP && offset + 4096 > size) {
                assert_int_equal(skip, SKIP_OUTSIDE);
                continue;
            }
            assert_int_equal(skip, SKIP_NOT);
            assert_true(io.offset_bytes + io.len_bytes <= size);
            assert_int_equal(io.offset_bytes % 512, 0);
        }
    }
    rules.place.remap = REMAP_WRAP;
    assert_int_equal(map(&rules, record(IO_READ, 3 * size + 8192, 4096), &io), SKIP_NOT);
    assert_int_equal(io.offset_bytes, 8192);
    rules.place.remap = REMAP_SCALE;
    assert_int_equal(map(&rules, record(IO_READ, 2 * size, 4096), &io), SKIP_NOT);
    assert_int_equal(io.offset_bytes, size / 2);
    assert_int_equal(map(&rules, record(IO_READ, 0, 2 * size), &io), SKIP_NOT);
    assert_int_equal(io.len_bytes, size);
}

/* A trace of n records, one each `gap_ns`, in a scratch file. */
static char *make_trace(uint64_t n, uint64_t gap_ns)
{
    static char path[] = "/tmp/ioreel-unit-XXXXXX";
    struct error err = {""};
    struct trace_meta meta;
    struct trace_writer *writer;
    struct trace_writer_options options = {.overwrite = true};
    snprintf(path, sizeof path, "/tmp/ioreel-unit-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(trace_meta_init(&meta), 0);
    assert_int_equal(trace_meta_device(&meta, "a"), 0);
    assert_int_equal(trace_writer_open(path, &meta, &options, &writer, &err), 0);
    for (uint64_t i = 0; i < n; i++) {
        struct io_record r = record(IO_READ, i % 256 * 4096, 4096);
        r.issue_ns = 1000 + i * gap_ns;
        assert_int_equal(trace_writer_add(writer, &r, 1, &err), 0);
    }
    assert_int_equal(trace_writer_close(writer, &err), 0);
    trace_meta_clear(&meta);
    return path;
}

static void surveys_and_loads(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct error err = {""};
    struct schedule_rules rules = writable;
    struct schedule_survey survey;
    struct schedule *schedule;
    struct replay_hole hole = {4096 * 10, 4096 * 12};
    rules.path = make_trace(COUNT, 500);
    rules.speed = 2;
    assert_int_equal(schedule_survey(&rules, &hole, 1, &survey, &err), 0);
    assert_int_equal(survey.records, COUNT);
    assert_int_equal(survey.issued, COUNT);
    assert_int_equal(survey.first_issue_ns, 1000);
    assert_int_equal(survey.max_end_bytes, 256 * 4096);
    assert_int_equal(survey.unwritten_at, 4096 * 10);
    assert_int_equal(survey.unwritten, 2 * (COUNT / 256) + 2);
    rules.first_issue_ns = survey.first_issue_ns;
    assert_int_equal(schedule_start(&rules, &schedule, &err), 0);
    uint64_t seen = 0;
    bool last = false;
    while (!last) {
        const struct schedule_batch *batch = schedule_next(schedule);
        if (!batch)
            continue;
        for (size_t i = 0; i < batch->count; i++, seen++) {
            assert_int_equal(batch->ios[i].number, seen);
            assert_int_equal(batch->ios[i].wanted_ns, seen * 250);
        }
        last = batch->last;
        assert_int_equal(batch->rc, 0);
    }
    assert_int_equal(seen, COUNT);
    assert_null(schedule_next(schedule));
    schedule_stop(schedule, &err);
    /* Stopping while the loader is ahead and waits. */
    assert_int_equal(schedule_start(&rules, &schedule, &err), 0);
    schedule_stop(schedule, &err);
    unlink(rules.path);
}

static void limits_hold(void **state)
{
    (void)state;
    struct error err = {""};
    struct schedule_rules rules = writable;
    struct schedule_survey survey;
    rules.path = make_trace(1000, 1000);
    rules.limit = 17;
    assert_int_equal(schedule_survey(&rules, NULL, 0, &survey, &err), 0);
    assert_int_equal(survey.records, 17);
    rules.limit = 0;
    assert_int_equal(schedule_survey(&rules, NULL, 0, &survey, &err), 0);
    assert_int_equal(survey.records, 0);
    rules.limit = SCHEDULE_ALL;
    rules.duration_ns = 100000;
    assert_int_equal(schedule_survey(&rules, NULL, 0, &survey, &err), 0);
    assert_int_equal(survey.records, 100);
    unlink(rules.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_what_it_can),  cmocka_unit_test(writes_need_leave),
        cmocka_unit_test(rounds_to_blocks),  cmocka_unit_test(remaps_into_the_target),
        cmocka_unit_test(surveys_and_loads), cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
