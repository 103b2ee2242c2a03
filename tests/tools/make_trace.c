/* Writes a synthetic .reel for tests and benchmarks.
 *
 *   make_trace OUT key=value...
 *
 * count=N, iops=R with arrivals=poisson|even|none (none: a trace without times), bytes=SIZE of the
 * footprint, len=SIZE, read=PERCENT, discard=PERCENT, zeroes=PERCENT, flush=PERCENT,
 * pattern=random|sequential|once (once: every place at most once, in random order), seed=N,
 * resolution=NS, fua=PERCENT of the writes, base=SIZE. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "traces/reel/trace_writer.h"

struct recipe {
    uint64_t count, bytes, len, base, seed, resolution;
    double iops, read, discard, zeroes, flush, fua;
    const char *arrivals, *pattern;
};

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static int parse(struct recipe *r, const char *argument)
{
    const char *value = strchr(argument, '=');
    size_t length = value ? (size_t)(value - argument) : 0;
    struct {
        const char *name;
        uint64_t *count, *size;
        double *real;
        const char **text;
    } keys[] = {
        {"count", &r->count, NULL, NULL, NULL},
        {"bytes", NULL, &r->bytes, NULL, NULL},
        {"len", NULL, &r->len, NULL, NULL},
        {"base", NULL, &r->base, NULL, NULL},
        {"seed", &r->seed, NULL, NULL, NULL},
        {"resolution", &r->resolution, NULL, NULL, NULL},
        {"iops", NULL, NULL, &r->iops, NULL},
        {"read", NULL, NULL, &r->read, NULL},
        {"discard", NULL, NULL, &r->discard, NULL},
        {"zeroes", NULL, NULL, &r->zeroes, NULL},
        {"flush", NULL, NULL, &r->flush, NULL},
        {"fua", NULL, NULL, &r->fua, NULL},
        {"arrivals", NULL, NULL, NULL, &r->arrivals},
        {"pattern", NULL, NULL, NULL, &r->pattern},
    };
    for (size_t i = 0; value && i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i].name) != length || strncmp(keys[i].name, argument, length) != 0)
            continue;
        if (keys[i].count)
            return units_parse_count(value + 1, keys[i].count);
        if (keys[i].size)
            return units_parse_size(value + 1, keys[i].size);
        if (keys[i].real)
            return units_parse_real(value + 1, keys[i].real);
        *keys[i].text = value + 1;
        return 0;
    }
    return -1;
}

static uint8_t pick_op(const struct recipe *r)
{
    double at = uniform() * 100;
    if ((at -= r->read) < 0)
        return IO_READ;
    if ((at -= r->discard) < 0)
        return IO_DISCARD;
    if ((at -= r->zeroes) < 0)
        return IO_WRITE_ZEROES;
    return (at -= r->flush) < 0 ? IO_FLUSH : IO_WRITE;
}

/* The places in random order, for pattern=once. */
static uint64_t *shuffle(uint64_t places)
{
    uint64_t *order = malloc(places * sizeof *order);
    for (uint64_t i = 0; order && i < places; i++)
        order[i] = i;
    for (uint64_t i = places; order && i > 1; i--) {
        uint64_t other = (uint64_t)(uniform() * (double)i);
        uint64_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    return order;
}

static int write_records(const struct recipe *r, struct trace_writer *writer, struct error *err)
{
    uint64_t places = r->bytes / r->len;
    uint64_t *order = strcmp(r->pattern, "once") == 0 ? shuffle(places) : NULL;
    bool timed = strcmp(r->arrivals, "none") != 0;
    bool poisson = strcmp(r->arrivals, "poisson") == 0;
    double now_ns = 0;
    int rc = 0;
    for (uint64_t i = 0; i < r->count && rc == 0; i++) {
        uint64_t place = order ? order[i % places]
                         : strcmp(r->pattern, "sequential") == 0
                             ? i % places
                             : (uint64_t)(uniform() * (double)places);
        struct io_record record = {
            .issue_ns = timed ? (uint64_t)(now_ns / (double)r->resolution) * r->resolution : 0,
            .op = pick_op(r),
            .has = (timed ? IO_HAS_ISSUE : 0) | IO_HAS_OP | IO_HAS_FLAGS | IO_HAS_OFFSET |
                   IO_HAS_LEN | IO_HAS_DEVICE,
        };
        if (record.op != IO_FLUSH) {
            record.offset_bytes = r->base + place * r->len;
            record.len_bytes = r->len;
        }
        if (record.op == IO_WRITE && uniform() * 100 < r->fua)
            record.flags = IO_FLAG_FUA;
        rc = trace_writer_add(writer, &record, 1, err);
        now_ns += (poisson ? -log(1 - uniform()) : 1) * 1e9 / r->iops;
    }
    free(order);
    return rc;
}

int main(int argc, char **argv)
{
    struct recipe r = {.count = 1000,
                       .bytes = 64 * MIB,
                       .len = 4096,
                       .seed = 1,
                       .resolution = 1,
                       .iops = 2000,
                       .read = 100,
                       .arrivals = "poisson",
                       .pattern = "random"};
    struct error err = {""};
    for (int i = 2; i < argc; i++)
        if (parse(&r, argv[i]) != 0) {
            fprintf(stderr, "make_trace: '%s' is not understood\n", argv[i]);
            return 2;
        }
    if (argc < 2 || r.len == 0 || r.bytes < r.len || r.iops <= 0 || r.resolution == 0)
        return 2;
    state = 0x9e3779b97f4a7c15ull * (r.seed + 1);
    struct trace_meta meta;
    struct trace_writer *writer;
    struct trace_writer_options options = {.overwrite = true};
    if (trace_meta_init(&meta) != 0 || trace_meta_device(&meta, "synthetic") < 0)
        return 1;
    meta.time_resolution_ns = r.resolution;
    trace_set_text(&meta.producer, "make_trace");
    int rc = trace_writer_open(argv[1], &meta, &options, &writer, &err);
    if (rc == 0) {
        rc = write_records(&r, writer, &err);
        int closed = trace_writer_close(writer, &err);
        rc = rc ? rc : closed;
    }
    if (rc)
        fprintf(stderr, "make_trace: %s\n", err.text);
    trace_meta_clear(&meta);
    return rc ? 1 : 0;
}
