/* Reading a .reel in batches, only the columns that are wanted, from a file or a pipe.
 *
 * The reader owns all it hands out; batches are valid until the next call. It holds a few blocks,
 * never the trace. Not thread-safe; several readers of one file are independent. */
#ifndef IOREEL_TRACES_TRACE_READER_H
#define IOREEL_TRACES_TRACE_READER_H

#include "common/error.h"
#include "traces/record/record.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_reader;

struct trace_reader_options {
    uint32_t fields;  /* IO_HAS_* wanted; the others may be absent. 0 takes all */
    bool in_order;    /* records by issue time over the whole trace; else block by block */
    uint64_t from_ns; /* only records issued in [from_ns, to_ns); blocks outside are not opened */
    uint64_t to_ns;   /* 0: no end */
};

struct trace_batch {
    const struct io_record *records;
    size_t count;
};

/* How the file ended, once it has been read to its end. */
enum trace_ending {
    TRACE_OPEN,     /* not read to the end yet */
    TRACE_COMPLETE, /* with its index and seek table */
    TRACE_CUT,      /* ended early; every whole block was processed */
};

/* What the file says of itself without its records being decoded. */
struct trace_summary {
    uint32_t format_version;
    uint64_t records;
    uint64_t blocks;
    uint64_t first_issue_ns;
    uint64_t last_ns; /* last issue or known completion */
    uint64_t min_offset_bytes;
    uint64_t max_end_bytes;
    uint64_t op_count[IO_OP_COUNT];
    uint64_t file_bytes; /* 0 for a pipe */
    uint32_t fields;     /* IO_HAS_* that at least one record has */
    struct trace_loss loss;
    bool complete;
    char cut_text[256]; /* when not complete: what is missing, one line */
};

/* path "-" is stdin. `options` may be NULL. 0 or -errno: -EILSEQ when it is no .reel at all. */
int trace_reader_open(const char *path, const struct trace_reader_options *options,
                      struct trace_reader **reader, struct error *err);
void trace_reader_close(struct trace_reader *r); /* NULL is fine */

/* Devices and processes grow while the file is read; indexes stay. */
const struct trace_meta *trace_reader_meta(const struct trace_reader *r);

/* 0 with a batch of at least one record, 1 at the end, -errno on damage (-EBADMSG) or I/O errors.
 * At the end ask trace_reader_ending(): a cut file ends with 1 as well. */
int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct error *err);
enum trace_ending trace_reader_ending(const struct trace_reader *r);

/* The line to print for a cut file: "x.reel: cut at byte N; what came before it was read". */
const char *trace_reader_cut_text(const struct trace_reader *r);

/* Totals: from the index of a complete file at once; else from the block headers, which a seekable
 * file is walked for; on a pipe what was read so far. */
int trace_reader_summary(struct trace_reader *r, struct trace_summary *summary, struct error *err);

#endif
