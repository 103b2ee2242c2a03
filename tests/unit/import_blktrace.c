/* The blktrace importer: the golden recording request by request, then cases that it does not hold:
 * traces without queue events, devices without requests, lost completions, damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "tests/collect_sink.h"
#include "traces/import/private/blktrace_events.h"
#include "traces/import/private/blktrace_pairs.h"

#define EVENT_BYTES 48u
#define START_NS    5000000000ull

/* A version 7 recording in memory, one CPU. */
struct recording {
    uint8_t bytes[64 * EVENT_BYTES];
    size_t size;
    uint32_t sequence;
};

static void record(struct recording *r, uint64_t us, uint32_t act, uint32_t categories,
                   uint64_t sector, uint32_t bytes)
{
    uint8_t *at = r->bytes + r->size;
    memset(at, 0, EVENT_BYTES);
    store_le32(at, 0x65617407);
    store_le32(at + 4, ++r->sequence);
    store_le64(at + 8, START_NS + us * 1000);
    store_le64(at + 16, sector);
    store_le32(at + 24, bytes);
    store_le32(at + 28, categories << 16 | act);
    store_le32(at + 32, 42);
    store_le32(at + 36, 8u << 20 | 16);
    r->size += EVENT_BYTES;
}

static void import_golden(struct collected *c)
{
    struct import_input *inputs[2] = {NULL, NULL};
    const char *source = getenv("IOREEL_SOURCE");
    for (int i = 0; i < 2; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/tests/golden/vda.blktrace.%d", source ? source : ".", i);
        assert_int_equal(import_input_open(path, &inputs[i], &c->err), 0);
    }
    collect_inputs(c, "blktrace", inputs, 2, NULL);
    for (int i = 0; i < 2; i++)
        import_input_close(inputs[i]);
}

static int by_issue(const void *a, const void *b)
{
    const struct io_record *left = a;
    const struct io_record *right = b;
    return left->issue_ns < right->issue_ns ? -1 : left->issue_ns > right->issue_ns;
}

static void every_request_of_the_golden_recording(void **state)
{
    (void)state;
    /* In us, of tests/tools/make_blktrace.c's scenario. */
    static const struct {
        uint32_t issue, latency, queue;
        uint8_t op;
        uint64_t sector;
        uint32_t len, depth, pid;
        uint16_t flags;
        uint8_t status;
    } wanted[] = {
        {10, 100, 10, IO_READ, 1000, 8192, 1, 200, 0, 0},
        {30, 100, 10, IO_WRITE, 2000, 8192, 2, 100, 0, 0},
        {50, 100, 10, IO_WRITE, 3000, 8192, 3, 100, 0, 0},
        {230, 100, 30, IO_READ, 4000, 4096, 1, 200, IO_FLAG_REQUEUED, 0},
        {405, 55, 5, IO_READ, 5000, 16384, 1, 200, 0, 0},
        {505, 15, 5, IO_WRITE, 6000, 4096, 1, 100, 0, 5},
        {610, 90, 10, IO_FLUSH, 0, 0, 1, 100, 0, 0},
        {805, 95, 5, IO_DISCARD, 8000, 1048576, 1, 100, 0, 0},
        {1002, 98, 2, IO_READ, 9000, 4096, 1, 200, 0, 0},
        {1012, 108, 2, IO_READ, 9000, 4096, 2, 201, 0, 0},
        {1205, 0, 5, IO_WRITE, 7000, 4096, 1, 100, IO_FLAG_SYNC | IO_FLAG_FUA | IO_FLAG_OPEN_AT_END,
         0},
        {1300, 10, 0, IO_OTHER, 0, 96, 2, 100, IO_FLAG_PASSTHROUGH, 0},
        {1402, 98, 2, IO_WRITE, 10000, 32768, 2, 100, 0, 0},
        {1410, 100, 10, IO_WRITE, 10064, 32768, 3, 100, 0, 0},
    };
    struct collected c;
    import_golden(&c);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, sizeof wanted / sizeof *wanted);
    assert_int_equal(c.below_floor, 0);
    qsort(c.records, c.count, sizeof *c.records, by_issue);
    for (size_t i = 0; i < c.count; i++) {
        const struct io_record *r = &c.records[i];
        assert_int_equal(r->issue_ns, wanted[i].issue * 1000);
        assert_int_equal(r->latency_ns, wanted[i].latency * 1000);
        assert_int_equal(r->queue_ns, wanted[i].queue * 1000);
        assert_int_equal(r->op, wanted[i].op);
        assert_int_equal(r->offset_bytes, wanted[i].sector * 512);
        assert_int_equal(r->len_bytes, wanted[i].len);
        assert_int_equal(r->depth, wanted[i].depth);
        assert_int_equal(c.meta.processes[r->process].pid, wanted[i].pid);
        assert_int_equal(r->flags, wanted[i].flags);
        assert_int_equal(r->status, wanted[i].status);
    }
    assert_string_equal(c.meta.devices[0].name, "vda");
    assert_string_equal(c.meta.processes[c.records[0].process].name, "reader");
    assert_int_equal(c.meta.start_realtime_ns, 1700000000123461789ull);
    assert_int_equal(c.meta.vantage, VANTAGE_REQUEST);
    assert_int_equal(c.sink.loss.before_attach, 1);
    assert_int_equal(c.sink.loss.open, 1);
    assert_int_equal(c.sink.loss.lost, 0);
    assert_false(c.records[11].has & IO_HAS_OFFSET); /* a passthrough command has no place */
    collect_free(&c);
}

enum { READ = BLKTRACE_READ, WRITE = BLKTRACE_WRITE };

static void a_second_issue_without_queue_events_is_a_requeue(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 10, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 30, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.records[0].issue_ns, 10000);
    assert_int_equal(c.records[0].latency_ns, 20000);
    assert_int_equal(c.records[0].queue_ns, 10000); /* it wanted to go at the first issue */
    assert_int_equal(c.records[0].flags, IO_FLAG_REQUEUED);
    assert_int_equal(c.records[0].depth, 1);
    collect_free(&c);
}

static void where_requeues_are_traced_a_second_issue_is_another(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 800, 4096);
    record(&r, 1, BLKTRACE_REQUEUE, READ, 800, 4096);
    record(&r, 2, BLKTRACE_ISSUE, READ, 800, 4096);
    record(&r, 3, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 10, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 30, BLKTRACE_COMPLETE, READ, 8, 4096);
    record(&r, 31, BLKTRACE_COMPLETE, READ, 800, 4096);
    record(&r, 40, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.count, 3);
    assert_int_equal(c.records[0].latency_ns, 27000); /* the oldest of equals completes first */
    assert_int_equal(c.records[1].latency_ns, 29000);
    assert_int_equal(c.records[2].latency_ns, 30000);
    assert_int_equal(c.records[2].depth, 3);
    collect_free(&c);
}

static void completions_find_their_direction_and_size(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 1, BLKTRACE_ISSUE, READ, 8, 8192);
    record(&r, 2, BLKTRACE_ISSUE, WRITE, 8, 4096);
    record(&r, 10, BLKTRACE_COMPLETE, WRITE, 8, 4096);
    record(&r, 11, BLKTRACE_COMPLETE, READ, 8, 8192);
    record(&r, 12, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.count, 3);
    assert_int_equal(c.records[0].op, IO_WRITE);
    assert_int_equal(c.records[0].latency_ns, 8000);
    assert_int_equal(c.records[1].len_bytes, 8192);
    assert_int_equal(c.records[1].latency_ns, 10000);
    assert_int_equal(c.records[2].latency_ns, 12000);
    assert_int_equal(c.sink.loss.before_attach, 0);
    collect_free(&c);
}

static void a_read_never_completes_a_write(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, WRITE, 8, 4096);
    record(&r, 10, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.count, 1);
    assert_false(c.records[0].has & IO_HAS_LATENCY);
    assert_int_equal(c.sink.loss.open, 1);
    assert_int_equal(c.sink.loss.before_attach, 1);
    collect_free(&c);
}

static void queue_events_alone_have_no_depth(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_QUEUE, READ, 8, 4096);
    record(&r, 10, BLKTRACE_QUEUE, READ, 16, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.count, 2);
    assert_false(c.records[1].has & (IO_HAS_DEPTH | IO_HAS_LATENCY));
    assert_non_null(strstr(c.sink.note_text, "only queue events (Q)"));
    collect_free(&c);
}

static void bios_of_a_device_without_requests(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_QUEUE, READ, 8, 4096);
    record(&r, 5, BLKTRACE_QUEUE, READ, 8, 4096);
    record(&r, 10, BLKTRACE_COMPLETE, READ, 8, 4096);
    record(&r, 20, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.meta.vantage, VANTAGE_BIO);
    assert_int_equal(c.records[0].latency_ns, 10000);
    assert_int_equal(c.records[1].latency_ns, 15000);
    assert_int_equal(c.records[1].depth, 2);
    assert_false(c.records[0].has & IO_HAS_QUEUE);
    assert_string_equal(c.meta.devices[0].name, "8:16");
    collect_free(&c);
}

static void a_lost_completion_does_not_hold_the_trace(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 400000000, BLKTRACE_ISSUE, READ, 16, 4096);
    record(&r, 400000010, BLKTRACE_COMPLETE, READ, 16, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.records[0].issue_ns, 0);
    assert_false(c.records[0].has & IO_HAS_LATENCY);
    assert_int_equal(c.sink.loss.open, 1);
    collect_free(&c);
}

/* Queue events and issues of one place, never a completion: memory and time stay bounded. */
static void a_recording_without_completions_is_read(void **state)
{
    (void)state;
    enum { WRITES = 5000 };
    uint8_t *bytes = malloc(2 * WRITES * EVENT_BYTES);
    assert_non_null(bytes);
    struct recording r = {0};
    for (uint32_t i = 0; i < WRITES; i++) {
        r.size = 0;
        record(&r, i * 10, BLKTRACE_QUEUE, WRITE, 8, 4096);
        record(&r, i * 10 + 5, BLKTRACE_ISSUE, WRITE, 8, 4096);
        memcpy(bytes + i * 2 * EVENT_BYTES, r.bytes, 2 * EVENT_BYTES);
    }
    struct collected c;
    collect(&c, "blktrace", bytes, 2 * WRITES * EVENT_BYTES, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, WRITES);
    assert_int_equal(c.sink.loss.open, WRITES);
    assert_int_equal(c.below_floor, 0);
    assert_false(c.records[WRITES - 1].has & (IO_HAS_DEPTH | IO_HAS_LATENCY));
    assert_non_null(strstr(c.sink.note_text, "no completion events (C), only issues (D)"));
    collect_free(&c);
    free(bytes);
}

static void gaps_are_loss_and_restarts_are_not(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 5, BLKTRACE_COMPLETE, READ, 8, 4096);
    r.sequence += 3;
    record(&r, 10, BLKTRACE_COMPLETE, READ, 16, 4096);
    r.sequence = 0;
    record(&r, 20, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 25, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.sink.loss.lost, 3);
    assert_int_equal(c.sink.loss.first_lost_ns, 5000);
    assert_int_equal(c.sink.loss.last_lost_ns, 10000);
    assert_int_equal(c.sink.loss.before_attach, 0); /* its issue may be what was lost */
    assert_non_null(strstr(c.sink.fault_text, "3 events are missing"));
    collect_free(&c);
}

static void damage_is_named(void **state)
{
    (void)state;
    struct recording r = {0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 8, 4096);
    record(&r, 5, BLKTRACE_COMPLETE, READ, 8, 4096);
    struct collected c;
    collect(&c, "blktrace", r.bytes, r.size - 10, NULL);
    assert_int_equal(c.rc, 0);
    assert_non_null(strstr(c.sink.fault_text, "memory: cut within the record at byte 48"));
    assert_int_equal(c.sink.loss.open, 1);
    collect_free(&c);

    r.bytes[EVENT_BYTES + 3] = 0;
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 1); /* what is whole is kept */
    assert_non_null(strstr(c.sink.fault_text, "memory: no blktrace record at byte 48"));
    collect_free(&c);

    r = (struct recording){0};
    record(&r, 0, BLKTRACE_ISSUE, READ, 1ull << 60, 4096);
    collect(&c, "blktrace", r.bytes, r.size, NULL);
    assert_int_equal(c.rc, -EBADMSG);
    assert_non_null(strstr(c.err.text, "sector 1152921504606846976"));
    collect_free(&c);
}

/* Each has a name and a state of its own, however many there are. */
static void many_devices(void **state)
{
    (void)state;
    enum { DEVICES = 5000 };
    struct recording one = {0};
    uint8_t *bytes = malloc(DEVICES * 2 * EVENT_BYTES);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < DEVICES; i++) {
        one.size = 0;
        record(&one, i * 10, BLKTRACE_ISSUE, READ, 8, 4096);
        record(&one, i * 10 + 5, BLKTRACE_COMPLETE, READ, 8, 4096);
        for (uint32_t k = 0; k < 2; k++) {
            store_le32(one.bytes + k * EVENT_BYTES + 4, k + 1);
            store_le32(one.bytes + k * EVENT_BYTES + 36, 8u << 20 | i);
        }
        memcpy(bytes + i * 2 * EVENT_BYTES, one.bytes, 2 * EVENT_BYTES);
    }
    struct collected c;
    collect(&c, "blktrace", bytes, DEVICES * 2 * EVENT_BYTES, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, DEVICES);
    assert_int_equal(c.meta.device_count, DEVICES);
    for (uint32_t i = 0; i < DEVICES; i++) {
        char name[32];
        snprintf(name, sizeof name, "8:%u", i);
        assert_int_equal(trace_meta_find_device(&c.meta, name), i);
        assert_int_equal(c.records[i].device, i);
        assert_int_equal(c.records[i].depth, 1);
    }
    assert_int_equal(trace_meta_find_device(&c.meta, "8:5000"), -ENOENT);
    collect_free(&c);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_of_the_golden_recording),
        cmocka_unit_test(a_second_issue_without_queue_events_is_a_requeue),
        cmocka_unit_test(where_requeues_are_traced_a_second_issue_is_another),
        cmocka_unit_test(completions_find_their_direction_and_size),
        cmocka_unit_test(a_read_never_completes_a_write),
        cmocka_unit_test(queue_events_alone_have_no_depth),
        cmocka_unit_test(bios_of_a_device_without_requests),
        cmocka_unit_test(a_lost_completion_does_not_hold_the_trace),
        cmocka_unit_test(a_recording_without_completions_is_read),
        cmocka_unit_test(gaps_are_loss_and_restarts_are_not),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(many_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
