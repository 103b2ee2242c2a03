/* Walking a .reel block by block: by its index where it is complete and can be sought in, else
 * frame by frame. Blocks are found without being decoded. */
#ifndef IOREEL_TRACES_REEL_SCAN_H
#define IOREEL_TRACES_REEL_SCAN_H

#include "common/error.h"
#include "traces/reel/private/reel_block.h"
#include "traces/reel/private/reel_source.h"
#include "traces/reel/private/reel_tail.h"
#include "traces/record/trace_meta.h"
#include "traces/reel/trace_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block that was found. Its column bytes are held only when they came from a pipe; its records
 * only once it is decoded. */
struct reel_found {
    struct reel_block block;
    uint64_t number;
    uint64_t file_offset;
    uint64_t columns_at;
    uint8_t *column_bytes;
    struct io_record *records;
    size_t cursor; /* next record to hand out */
    size_t end;
};

struct reel_scan {
    struct reel_source source;
    bool indexed; /* walked by the index */
    struct reel_index index;
    uint64_t *later_first; /* by block: the lowest first issue time of the blocks after it */
    size_t next_entry;
    uint64_t frames; /* seen so far, to check the seek table's size */
    uint64_t blocks;
    uint64_t floor_ns; /* no block that is still to be found holds an earlier record */
    uint64_t from_ns;  /* blocks outside are stepped over */
    uint64_t to_ns;
    struct reel_extent extent; /* of the blocks found; of the whole file when indexed */
    struct trace_loss loss;
    enum trace_ending ending;
    char cut_text[256];
    struct reel_bytes frame; /* scratch */
};

/* Opens, reads the header into `meta` and looks for the tail. -EILSEQ: no .reel. */
int reel_scan_open(struct reel_scan *scan, const char *path, struct trace_meta *meta,
                   struct error *err);
void reel_scan_close(struct reel_scan *scan);

/* 0 and the next block (the caller frees it), 1 at the end (scan->ending says which), -errno. */
int reel_scan_next(struct reel_scan *scan, struct reel_found **found, struct error *err);
void reel_found_free(struct reel_found *found);

/* Decodes the wanted columns into found->records (REEL_BLOCK_RECORDS_MAX of room, given). */
int reel_found_decode(struct reel_scan *scan, struct reel_found *found, struct reel_codec *codec,
                      struct reel_names *names, struct trace_meta *meta, uint32_t wanted,
                      struct io_record *records, struct error *err);

#endif
