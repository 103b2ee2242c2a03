/* What a result trace says of how it came to be: where its I/Os come from and what the replay did to
 * their times, places and sizes, so that a comparison can undo it. It stands in the environment of
 * the trace's header; docs/replay.md names each key. */
#ifndef IOREEL_REPLAY_ORIGIN_H
#define IOREEL_REPLAY_ORIGIN_H

#include "replay/guard/replay_target.h"
#include "replay/pace/schedule.h"
#include "traces/record/trace_meta.h"

struct replay_origin {
    const char *trace;               /* path of the trace that is replayed */
    uint64_t trace_records;          /* of it, all */
    const struct trace_meta *source; /* of that trace */
    const struct schedule_rules *rules;
    const struct schedule_survey *survey;
    const struct replay_target *target;
    const char *engine; /* NULL: the best that opens */
    uint64_t depth;     /* with --timing fast */
    uint64_t seed;
};

/* Fills an unset *meta for the result trace: producer, vantage, clock, the target as its only
 * device, the machine, and the origin. 0 or -ENOMEM; the caller clears it in both cases. */
int replay_origin_describe(const struct replay_origin *origin, struct trace_meta *meta);

#endif
