/* Copies a trace with known changes, for tests of compare:
 *
 *   shift_trace IN OUT delay=NS stretch=FACTOR latency=FACTOR drop=N swap=N vantage=NAME
 *
 * Every issue time is moved by delay and stretched; latencies are multiplied (absent ones become
 * 100 us first); each N-th record is left out (drop), or exchanged with its neighbour (swap). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/reel/trace_reader.h"
#include "traces/reel/trace_writer.h"

struct changes {
    double delay_ns, stretch, latency, drop, swap;
    unsigned vantage;
};

static int parse(struct changes *c, const char *argument)
{
    const char *value = strchr(argument, '=');
    struct {
        const char *name;
        double *field;
    } keys[] = {{"delay", &c->delay_ns},
                {"stretch", &c->stretch},
                {"latency", &c->latency},
                {"drop", &c->drop},
                {"swap", &c->swap}};
    if (value && strncmp(argument, "vantage", 7) == 0)
        return vantage_parse(value + 1, &c->vantage);
    for (size_t i = 0; value && i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == (size_t)(value - argument) &&
            strncmp(argument, keys[i].name, strlen(keys[i].name)) == 0) {
            *keys[i].field = atof(value + 1);
            return 0;
        }
    return -1;
}

static struct io_record change(const struct changes *c, const struct io_record *from)
{
    struct io_record r = *from;
    uint64_t latency = r.has & IO_HAS_LATENCY ? r.latency_ns : 100000;
    r.issue_ns = (uint64_t)((double)r.issue_ns * c->stretch + c->delay_ns);
    r.latency_ns = (uint64_t)((double)latency * c->latency);
    r.has |= IO_HAS_LATENCY;
    r.has &= ~(uint32_t)IO_HAS_PROCESS;
    r.process = 0;
    return r;
}

int main(int argc, char **argv)
{
    struct changes c = {.stretch = 1, .latency = 1};
    struct error err = {""};
    for (int i = 3; i < argc; i++)
        if (parse(&c, argv[i])) {
            fprintf(stderr, "shift_trace: %s is not understood\n", argv[i]);
            return 2;
        }
    struct trace_reader_options reading = {.in_order = true};
    struct trace_reader *in;
    if (argc < 3 || trace_reader_open(argv[1], &reading, &in, &err)) {
        fprintf(stderr, "shift_trace: %s\n", err.text);
        return 1;
    }
    struct trace_meta meta = *trace_reader_meta(in);
    if (c.vantage)
        meta.vantage = c.vantage;
    struct trace_writer_options writing = {.overwrite = true};
    struct trace_writer *out;
    int rc = trace_writer_open(argv[2], &meta, &writing, &out, &err);
    struct trace_batch batch;
    uint64_t count = 0;
    while (!rc && trace_reader_next(in, &batch, &err) == 0) {
        for (size_t i = 0; i < batch.count && !rc; i++) {
            count++;
            if (c.drop > 0 && count % (uint64_t)c.drop == 0)
                continue;
            struct io_record r = change(&c, &batch.records[i]);
            /* Exchanged: this one takes the time of the next, which keeps its own. */
            if (c.swap > 0 && count % (uint64_t)c.swap == 0 && i + 1 < batch.count)
                r.issue_ns = change(&c, &batch.records[i + 1]).issue_ns + 1;
            rc = trace_writer_add(out, &r, 1, &err);
        }
    }
    if (!rc)
        rc = trace_writer_close(out, &err);
    if (rc)
        fprintf(stderr, "shift_trace: %s\n", err.text);
    trace_reader_close(in);
    return rc != 0;
}
