/* A replay's result says what it did to its trace's places, sizes, devices and times (docs/replay.md).
 * The same is done to the trace's records here, so that one workload stays one workload. */
#ifndef IOREEL_ANALYSIS_REPLAY_UNDO_H
#define IOREEL_ANALYSIS_REPLAY_UNDO_H

#include "traces/record/placement.h"
#include "traces/record/record.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stdint.h>

struct replay_undo {
    bool active;
    struct io_placement place;
    bool as_reads;         /* its writes were issued as reads */
    const json_t *devices; /* names of the trace's devices that were taken; the result's own */
    double speed;          /* the trace's times were divided by it */
};

/* What has to be done to the records of the trace `meta` (at `path`, with `records` in it or
 * TRACE_UNKNOWN) to find them in `result`. Inactive when that is no replay of this trace, or when
 * what it says of itself makes no sense. */
struct replay_undo replay_undo_read(const struct trace_meta *result, const struct trace_meta *meta,
                                    const char *path, uint64_t records);

/* Whether the replay took the trace's device of that name. */
bool replay_undo_takes(const struct replay_undo *undo, const char *device);

/* Places a record as the replay did. */
void replay_undo_place(const struct replay_undo *undo, struct io_record *record);

#endif
