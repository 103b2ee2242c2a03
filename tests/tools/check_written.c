/* Checks that a device or file holds what a trace wrote: every 512-byte block bears the data of the
 * last write of the trace to it, zeros after a write_zeroes or discard, and "untouched" blocks
 * equal those of an image taken before. Offsets of the trace are taken as they are.
 *
 *   check_written TRACE TARGET SEED [BEFORE]
 *
 * Prints "blocks B written W zeroed Z untouched U wrong X"; exit 1 when X is not 0. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/pace/replay_data.h"
#include "traces/reel/trace_reader.h"

#define BLOCK     REPLAY_DATA_BLOCK
#define UNTOUCHED UINT64_MAX
#define ZEROED    (UINT64_MAX - 1)

static int note_writers(const char *path, uint64_t *writers, uint64_t blocks)
{
    struct error err = {""};
    struct trace_reader *reader;
    struct trace_reader_options options = {.in_order = true};
    struct trace_batch batch;
    if (trace_reader_open(path, &options, &reader, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    uint64_t number = 0;
    while (trace_reader_next(reader, &batch, &err) == 0)
        for (size_t i = 0; i < batch.count; i++, number++) {
            const struct io_record *record = &batch.records[i];
            if (record->op != IO_WRITE && record->op != IO_WRITE_ZEROES && record->op != IO_DISCARD)
                continue;
            uint64_t end = (record->offset_bytes + record->len_bytes) / BLOCK;
            for (uint64_t at = record->offset_bytes / BLOCK; at < end && at < blocks; at++)
                writers[at] = record->op == IO_WRITE ? number : ZEROED;
        }
    trace_reader_close(reader);
    return 0;
}

int main(int argc, char **argv)
{
    static const unsigned char zeros[BLOCK];
    unsigned char block[BLOCK];
    unsigned char old[BLOCK];
    if (argc < 4)
        return 2;
    int fd = open(argv[2], O_RDONLY);
    int before = argc > 4 ? open(argv[4], O_RDONLY) : -1;
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    uint64_t blocks = size < 0 ? 0 : (uint64_t)size / BLOCK;
    uint64_t seed = strtoull(argv[3], NULL, 10);
    uint64_t *writers = malloc((blocks + 1) * sizeof *writers);
    if (size <= 0 || !writers || (argc > 4 && before < 0))
        return 2;
    for (uint64_t i = 0; i < blocks; i++)
        writers[i] = UNTOUCHED;
    if (note_writers(argv[1], writers, blocks) != 0)
        return 2;
    uint64_t written = 0, zeroed = 0, untouched = 0, wrong = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t number = 0;
        off_t at = (off_t)(i * BLOCK);
        bool right = pread(fd, block, BLOCK, at) == BLOCK;
        if (writers[i] == UNTOUCHED) {
            untouched++;
            right = right && (before < 0 || (pread(before, old, BLOCK, at) == BLOCK &&
                                             memcmp(old, block, BLOCK) == 0));
        } else if (writers[i] == ZEROED) {
            zeroed++;
            right = right && memcmp(block, zeros, BLOCK) == 0;
        } else {
            written++;
            right = right && replay_data_check(block, seed, (uint64_t)at, &number) &&
                    number == writers[i];
        }
        if (!right && wrong++ == 0)
            fprintf(stderr, "first wrong block at byte %lld: wanted write %llu, holds %llu\n",
                    (long long)at, (unsigned long long)writers[i], (unsigned long long)number);
    }
    printf("blocks %llu written %llu zeroed %llu untouched %llu wrong %llu\n",
           (unsigned long long)blocks, (unsigned long long)written, (unsigned long long)zeroed,
           (unsigned long long)untouched, (unsigned long long)wrong);
    free(writers);
    return wrong ? 1 : 0;
}
