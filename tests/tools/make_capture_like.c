/* Writes a trace as a capture would: records in the order of completion, every field that a capture
 * has, blocks that overlap, a few I/Os that take 30 s, several devices and processes.
 *
 *   make_capture_like OUT COUNT [SEED] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "traces/reel/trace_writer.h"

#define STEP_NS    5000ull /* between two completions: 200k IOPS */
#define SLOW_NS    (30 * NS_PER_S)
#define SLOW_EVERY 1000000u
#define DEVICES    4u
#define PROCESSES  40u
#define BLOCKS     (1ull << 26) /* of 4 KiB on each device */
#define FIELDS                                                                                     \
    (IO_HAS_ISSUE | IO_HAS_QUEUE | IO_HAS_LATENCY | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP |       \
     IO_HAS_FLAGS | IO_HAS_STATUS | IO_HAS_DEPTH | IO_HAS_DEVICE | IO_HAS_PROCESS |                \
     IO_HAS_HW_QUEUE | IO_HAS_CPU)

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static struct io_record make_record(uint64_t i)
{
    uint64_t done = SLOW_NS + NS_PER_MS + i * STEP_NS;
    uint64_t latency = 20000 + (next_random() & 0xffff) + (next_random() & 0x1fff);
    if (i % SLOW_EVERY == SLOW_EVERY / 2)
        latency = SLOW_NS;
    return (struct io_record){
        .has = FIELDS,
        .issue_ns = done - latency,
        .latency_ns = latency,
        .queue_ns = next_random() & 0x3ff,
        .offset_bytes = next_random() % BLOCKS * 4096,
        .len_bytes = 4096ull << (next_random() % 16 ? 0 : next_random() % 5),
        .op = next_random() % 10 < 7 ? IO_READ : IO_WRITE,
        .flags = IO_FLAG_SYNC,
        .depth = (uint16_t)(4 + next_random() % 12),
        .device = (uint16_t)(next_random() % DEVICES),
        .process = (uint32_t)(next_random() % PROCESSES),
        .hw_queue = (uint16_t)(i & 1),
        .cpu = (uint16_t)(i & 1),
    };
}

int main(int argc, char **argv)
{
    uint64_t count, seed = 1;
    if (argc < 3 || units_parse_count(argv[2], &count) ||
        (argc > 3 && units_parse_count(argv[3], &seed))) {
        fprintf(stderr, "usage: make_capture_like OUT COUNT [SEED]\n");
        return 2;
    }
    state = seed * 0x9e3779b97f4a7c15ull | 1;
    struct error err = {""};
    struct trace_meta meta;
    struct trace_writer *w = NULL;
    struct trace_writer_options options = {.overwrite = true};
    int rc = trace_meta_init(&meta);
    meta.vantage = VANTAGE_REQUEST;
    trace_set_text(&meta.producer, "make_capture_like");
    char name[32];
    for (unsigned i = 0; i < DEVICES && !rc; i++) {
        snprintf(name, sizeof name, "nvme%un1", i);
        rc = trace_meta_device(&meta, name) < 0;
    }
    for (unsigned i = 0; i < PROCESSES && !rc; i++) {
        snprintf(name, sizeof name, "worker-%u", i % 8);
        rc = trace_meta_process(&meta, 1000 + i, name) < 0;
    }
    if (!rc)
        rc = trace_writer_open(argv[1], &meta, &options, &w, &err);
    for (uint64_t i = 0; i < count && !rc; i++) {
        struct io_record record = make_record(i);
        rc = trace_writer_add(w, &record, 1, &err);
        /* What a capture knows: the slowest I/O still in flight. */
        if (i % 1000 == 0)
            trace_writer_set_floor(w, i * STEP_NS);
    }
    if (w && !rc)
        rc = trace_writer_close(w, &err);
    if (rc)
        fprintf(stderr, "make_capture_like: %s\n", err.text);
    trace_meta_clear(&meta);
    return rc != 0;
}
