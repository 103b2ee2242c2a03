/* The tail that makes a file complete: the end frame (totals and an index of the blocks), then
 * zstd's seek table. */
#ifndef IOREEL_TRACES_REEL_TAIL_H
#define IOREEL_TRACES_REEL_TAIL_H

#include "common/error.h"
#include "traces/reel/private/reel_block.h"
#include "traces/reel/private/reel_frame.h"
#include "traces/reel/private/reel_source.h"

#include <stddef.h>
#include <stdint.h>

struct reel_index_entry {
    uint64_t file_offset; /* of the block's header frame */
    uint64_t first_issue_ns;
    uint64_t last_issue_ns;
    uint64_t min_offset_bytes;
    uint64_t max_end_bytes;
    uint32_t records;
    uint32_t header_bytes; /* of the header frame, whole */
};

#define REEL_INDEX_ENTRY_BYTES 48u

struct reel_index {
    struct reel_index_entry *entries;
    size_t count;
};

/* Every zstd frame written so far, for the seek table: 8 bytes a frame. */
struct reel_seek_table {
    struct reel_bytes entries;
};

void reel_seek_add(struct reel_seek_table *table, size_t compressed, size_t decompressed);

/* Appends the end frame and the seek table. Adds the end frame itself to the table. */
void reel_tail_put(struct reel_bytes *out, const struct reel_extent *extent,
                   const struct trace_loss *loss, const struct reel_index *index,
                   struct reel_seek_table *table);

/* Reads the end frame's payload: extent, loss, index (malloc'd into *index) and the hash that the
 * seek table must have. -EBADMSG. */
int reel_tail_get_end(struct reel_cursor *payload, struct reel_extent *extent,
                      struct trace_loss *loss, struct reel_index *index, uint64_t *seek_hash,
                      struct error *err);

/* Finds and checks the tail of a seekable file. 0; 1 when there is no whole tail (a cut file);
 * -EBADMSG when there is one and it contradicts the file. */
int reel_tail_find(struct reel_source *s, struct reel_extent *extent, struct trace_loss *loss,
                   struct reel_index *index, struct error *err);

#endif
