/* Turns the reads and writes of a trace into a binary blktrace file of queue events, which is what
 * fio's read_iolog and btrecord take: reel_to_blktrace TRACE OUT. */
#include <stdint.h>
#include <stdio.h>

#include "common/bytes.h"
#include "traces/reel/trace_reader.h"

#define MAGIC_V7     0x65617407u
#define ACTION_READ  ((1u << 16 | 1u << 20) | 1u) /* BLK_TC_READ, BLK_TC_QUEUE, __BLK_TA_QUEUE */
#define ACTION_WRITE ((1u << 17 | 1u << 20) | 1u)

int main(int argc, char **argv)
{
    struct error err = {""};
    struct trace_reader *reader;
    struct trace_reader_options options = {.in_order = true};
    struct trace_batch batch;
    if (argc != 3)
        return 2;
    FILE *out = fopen(argv[2], "wb");
    if (!out || trace_reader_open(argv[1], &options, &reader, &err) != 0) {
        fprintf(stderr, "reel_to_blktrace: %s\n", err.text);
        return 1;
    }
    uint32_t sequence = 0;
    while (trace_reader_next(reader, &batch, &err) == 0)
        for (size_t i = 0; i < batch.count; i++) {
            const struct io_record *record = &batch.records[i];
            unsigned char event[48] = {0};
            if (record->op > IO_WRITE)
                continue;
            store_le32(event, MAGIC_V7);
            store_le32(event + 4, ++sequence);
            store_le64(event + 8, record->issue_ns + 1000000);
            store_le64(event + 16, record->offset_bytes / 512);
            store_le32(event + 24, (uint32_t)record->len_bytes);
            store_le32(event + 28, record->op == IO_WRITE ? ACTION_WRITE : ACTION_READ);
            store_le32(event + 32, 1);
            store_le32(event + 36, 7u << 20);
            fwrite(event, sizeof event, 1, out);
        }
    trace_reader_close(reader);
    return fclose(out) == 0 ? 0 : 1;
}
