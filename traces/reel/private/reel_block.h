/* A block: its header (ranges, counts, floor, loss, column directory) and its records to columns
 * and back. */
#ifndef IOREEL_TRACES_REEL_BLOCK_H
#define IOREEL_TRACES_REEL_BLOCK_H

#include "common/error.h"
#include "traces/record/record.h"
#include "traces/reel/private/reel_column.h"
#include "traces/reel/private/reel_frame.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a block: the fields that are known today, the names, and room for those of later writers. */
#define REEL_COLUMNS_MAX 64u

/* What both a block and a whole file say of their records. */
struct reel_extent {
    uint64_t records;
    uint64_t first_issue_ns;
    uint64_t last_issue_ns;
    uint64_t last_ns; /* last issue or known completion */
    uint64_t min_offset_bytes;
    uint64_t max_end_bytes;
    uint64_t op_count[IO_OP_COUNT];
    uint32_t fields;
};

/* An extent of no records; extent_add() takes another's into it. */
void reel_extent_clear(struct reel_extent *extent);
void reel_extent_merge(struct reel_extent *into, const struct reel_extent *from);
void reel_put_extent(struct reel_bytes *b, const struct reel_extent *extent);
void reel_get_extent(struct reel_cursor *c, struct reel_extent *extent);
void reel_put_loss(struct reel_bytes *b, const struct trace_loss *loss);
void reel_get_loss(struct reel_cursor *c, struct trace_loss *loss);

struct reel_block {
    struct reel_extent extent;
    uint64_t floor_ns;      /* no record of a later block is issued before this */
    struct trace_loss loss; /* totals up to here */
    uint32_t column_count;
    struct reel_column columns[REEL_COLUMNS_MAX];
};

/* Which layout served each column best, kept from block to block by a writer. All zero to begin. */
struct reel_choices {
    uint8_t candidate[IO_FIELD_COUNT];
    uint8_t blocks_left[IO_FIELD_COUNT]; /* until the candidates are tried again */
};

/* Encodes records, which are sorted by issue time, into `columns` (frames, appended) and fills
 * `block` but for floor_ns and loss. device and process index the meta. 0, -ENOMEM. */
int reel_block_encode(struct reel_codec *codec, struct reel_choices *choices,
                      const struct trace_meta *meta, const struct io_record *records, size_t count,
                      struct reel_block *block, struct reel_bytes *columns, struct error *err);

/* Appends the header's frame. */
void reel_block_put_header(struct reel_bytes *out, const struct reel_block *block);

/* A field of today's record. Columns of other fields, of later writers, are stepped over; ask
 * before shifting by a field's number. */
static inline bool reel_field_known(uint8_t field)
{
    return field < IO_FIELD_COUNT;
}

/* Reads a header's payload; every number is checked. -EBADMSG. */
int reel_block_get_header(struct reel_cursor *payload, struct reel_block *block, struct error *err);

/* The bytes of all column frames together. */
uint64_t reel_block_column_bytes(const struct reel_block *block);

/* Fields a reader must decode to give `wanted`: a seek distance needs sizes and devices. */
uint32_t reel_block_needed(const struct reel_block *block, uint32_t wanted);

/* Maps the names of one block to the reader's own tables. Reused from block to block. */
struct reel_names {
    struct reel_bytes bytes;
    uint16_t *devices;
    uint32_t *processes;
    size_t device_count;
    size_t process_count;
};

void reel_names_free(struct reel_names *names);
/* Decodes the names column, interning into `meta`. */
int reel_names_decode(struct reel_codec *codec, const struct reel_column *column,
                      const uint8_t *frame, struct trace_meta *meta, struct reel_names *names,
                      struct error *err);

/* Takes one column into the records (block.extent.records of them, zeroed before the first).
 * Columns must come in the order of the directory. */
int reel_block_decode_column(struct reel_codec *codec, const struct reel_block *block,
                             const struct reel_column *column, const uint8_t *frame,
                             const struct reel_names *names, struct io_record *records,
                             struct error *err);

#endif
