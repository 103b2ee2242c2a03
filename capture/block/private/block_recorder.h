/* From a capture's events to a .reel: times since the start, operations and processes by the
 * record's own terms, a block a second, and the promise of the lowest issue time still to come. */
#ifndef IOREEL_CAPTURE_BLOCK_RECORDER_H
#define IOREEL_CAPTURE_BLOCK_RECORDER_H

#include "capture/block/private/block_capture.h"
#include "common/error.h"
#include "traces/record/trace_meta.h"
#include "traces/reel/trace_writer.h"

#include <stddef.h>
#include <stdint.h>

struct block_recorder;

/* Borrows the capture, the meta and the writer; device i of the capture is device i of the meta.
 * NULL when out of memory. */
struct block_recorder *block_recorder_create(struct block_capture *capture, struct trace_meta *meta,
                                             struct trace_writer *writer, size_t device_count,
                                             uint64_t zero_ns);
void block_recorder_free(struct block_recorder *r);

/* Opens the gate. */
void block_recorder_start(struct block_recorder *r);

/* Takes what has completed, and ends the block when it is a second old. 0 or -errno. */
int block_recorder_step(struct block_recorder *r, struct error *err);

/* Closes the gate for new requests, waits at most `drain_ns` for those in flight, and writes what
 * is still open without latency. 0 or -errno. */
int block_recorder_finish(struct block_recorder *r, uint64_t drain_ns, struct error *err);

/* What happened, in all or for one device. issued = records + lost. */
struct block_totals {
    uint64_t issued;
    uint64_t records;
    uint64_t lost;
    uint64_t lost_ring_full;
    uint64_t lost_unseen;
    uint64_t lost_untracked;
    uint64_t before_attach;
    uint64_t open;
    uint64_t empty_flushes;
    uint64_t first_lost_ns; /* in the trace's time; valid when lost > 0 */
    uint64_t last_lost_ns;
};

void block_recorder_totals(const struct block_recorder *r, struct block_totals *all);
void block_recorder_device_totals(const struct block_recorder *r, size_t device,
                                  struct block_totals *one);
/* From the start to the moment new requests were shut out, or to now. */
uint64_t block_recorder_elapsed_ns(const struct block_recorder *r);

#endif
