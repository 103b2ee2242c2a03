/* Fuzz target: a .reel of any bytes is read in both ways, and nothing but an answer comes of it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "traces/reel/trace_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const char *path, bool in_order)
{
    struct error err;
    struct trace_reader *reader;
    struct trace_reader_options options = {.in_order = in_order};
    if (trace_reader_open(path, &options, &reader, &err))
        return;
    struct trace_summary summary;
    struct trace_batch batch;
    trace_reader_summary(reader, &summary, &err);
    const struct trace_meta *meta = trace_reader_meta(reader);
    while (trace_reader_next(reader, &batch, &err) == 0)
        for (size_t i = 0; i < batch.count; i++) {
            const struct io_record *r = &batch.records[i];
            if ((r->has & IO_HAS_DEVICE && r->device >= meta->device_count) ||
                (r->has & IO_HAS_PROCESS && r->process >= meta->process_count) ||
                r->op >= IO_OP_COUNT)
                abort();
        }
    trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("reel", MFD_CLOEXEC);
    char path[64];
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_all(path, true);
    read_all(path, false);
    close(fd);
    return 0;
}
