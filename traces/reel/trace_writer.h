/* Writing a .reel: records in, blocks out, append-only (a pipe will do).
 *
 * The writer owns its buffers and copies what it is given; it holds one block of records, never the
 * trace. It does not own the trace_meta, which must outlive it and may grow (devices, processes)
 * while it writes. Not thread-safe. */
#ifndef IOREEL_TRACES_TRACE_WRITER_H
#define IOREEL_TRACES_TRACE_WRITER_H

#include "common/error.h"
#include "traces/record/record.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_writer;

struct trace_writer_options {
    bool overwrite;       /* replace an output that exists */
    int level;            /* zstd's; 0 takes the default, 3 */
    size_t block_records; /* 0 takes the default and most, 65536 */
};

/* path "-" is stdout. `options` may be NULL. Writes the header at once. 0 or -errno. */
int trace_writer_open(const char *path, const struct trace_meta *meta,
                      const struct trace_writer_options *options, struct trace_writer **writer,
                      struct error *err);

/* Takes `count` records. Any order within a block is fine, it is sorted by issue time; across
 * blocks no record may be issued before the floor that was promised. device and process must be
 * indexes of the meta. 0 or -errno. */
int trace_writer_add(struct trace_writer *w, const struct io_record *records, size_t count,
                     struct error *err);

/* Promises that no later record is issued before `issue_ns`. Without a promise it is 0. It never
 * goes back. What the reader's memory on a pipe rests on: raise it when you can. */
void trace_writer_set_floor(struct trace_writer *w, uint64_t issue_ns);

/* Ends the block now, if it has a record (or loss to report); live capture does so each second. */
int trace_writer_end_block(struct trace_writer *w, struct error *err);

/* Totals so far; they go into the next block and into the end of the file. */
void trace_writer_set_loss(struct trace_writer *w, const struct trace_loss *loss);

/* Writes the rest, the index and the seek table, which is what makes the file complete. On an error
 * the file stays, cut at its last whole block. Frees the writer, whatever happens. */
int trace_writer_close(struct trace_writer *w, struct error *err);
/* Frees without completing: the file stays readable up to its last whole block. NULL is fine. */
void trace_writer_abandon(struct trace_writer *w);

uint64_t trace_writer_bytes(const struct trace_writer *w);
uint64_t trace_writer_records(const struct trace_writer *w);

#endif
