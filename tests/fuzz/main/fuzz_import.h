/* What every importer's fuzz target does: the bytes go through import_input, decompression
 * included, to the importer; nothing is kept, but what a record points at must be there and the
 * floor hold. */
#ifndef IOREEL_TESTS_FUZZ_IMPORT_H
#define IOREEL_TESTS_FUZZ_IMPORT_H

#include "tests/collect_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fuzz_add(struct import_sink *sink, const struct io_record *record, struct error *err)
{
    struct collected *c = sink->context;
    (void)err;
    if (record->has & IO_HAS_ISSUE && record->issue_ns < c->floor_ns)
        abort();
    if (record->has & IO_HAS_DEVICE && record->device >= c->meta.device_count)
        abort();
    if (record->has & IO_HAS_PROCESS && record->process >= c->meta.process_count)
        abort();
    if (record->offset_bytes > UINT64_MAX - record->len_bytes || record->op >= IO_OP_COUNT)
        abort();
    return 0;
}

static int fuzz_import(const char *format, const struct import_options *options,
                       const uint8_t *data, size_t size)
{
    struct collected c = {0};
    struct import_input *in = NULL;
    if (import_input_open_memory("fuzz", data, size, &in, &c.err) != 0)
        return 0;
    c.sink = (struct import_sink){
        .meta = &c.meta, .add = fuzz_add, .set_floor = collect_floor, .context = &c};
    if (trace_meta_init(&c.meta) == 0 && importer_choose(in, options, &c.err))
        importer_find(format)->read(&in, 1, options, &c.sink, &c.err);
    trace_meta_clear(&c.meta);
    import_input_close(in);
    return 0;
}

#endif
