/* For tests of importers: a sink that keeps the records in memory and checks the floor's promise.
 */
#ifndef IOREEL_TESTS_COLLECT_SINK_H
#define IOREEL_TESTS_COLLECT_SINK_H

#include "traces/import/importers.h"

#include <stdlib.h>
#include <string.h>

#define COLLECT_MAX (1u << 16)

struct collected {
    struct import_sink sink;
    struct trace_meta meta;
    struct io_record *records; /* the first COLLECT_MAX */
    size_t count;
    uint64_t floor_ns;
    size_t below_floor; /* records that broke the promise */
    struct error err;
    int rc;
};

static inline int collect_add(struct import_sink *sink, const struct io_record *record,
                              struct error *err)
{
    struct collected *c = sink->context;
    (void)err;
    if (record->has & IO_HAS_ISSUE && record->issue_ns < c->floor_ns)
        c->below_floor++;
    if (c->count < COLLECT_MAX)
        c->records[c->count++] = *record;
    return 0;
}

static inline void collect_floor(struct import_sink *sink, uint64_t issue_ns)
{
    struct collected *c = sink->context;
    if (issue_ns > c->floor_ns)
        c->floor_ns = issue_ns;
}

/* Runs the importer over open inputs; the result stands in c->rc and c->err. */
static inline void collect_inputs(struct collected *c, const char *format,
                                  struct import_input **inputs, size_t count,
                                  const struct import_options *options)
{
    static const struct import_options none = {0};
    *c = (struct collected){0};
    trace_meta_init(&c->meta);
    c->records = calloc(COLLECT_MAX, sizeof *c->records);
    c->sink = (struct import_sink){
        .meta = &c->meta, .add = collect_add, .set_floor = collect_floor, .context = c};
    c->rc =
        importer_find(format)->read(inputs, count, options ? options : &none, &c->sink, &c->err);
}

/* The same over bytes. */
static inline void collect(struct collected *c, const char *format, const void *bytes, size_t size,
                           const struct import_options *options)
{
    struct import_input *in = NULL;
    struct error err;
    if (import_input_open_memory("memory", bytes, size, &in, &err) != 0) {
        *c = (struct collected){.rc = -1, .err = err};
        return;
    }
    collect_inputs(c, format, &in, 1, options);
    import_input_close(in);
}

static inline void collect_free(struct collected *c)
{
    free(c->records);
    trace_meta_clear(&c->meta);
}

#endif
