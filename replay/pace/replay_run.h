/* The timing loops. Open loop (original): every I/O has an absolute deadline, which is never moved
 * by what came before. Closed loop (fast): a fixed number of I/Os is kept in flight. */
#ifndef IOREEL_REPLAY_RUN_H
#define IOREEL_REPLAY_RUN_H

#include "common/error.h"
#include "replay/engines/engines.h"
#include "replay/pace/replay_result.h"
#include "replay/guard/replay_target.h"
#include "replay/pace/schedule.h"

#include <stdbool.h>
#include <stdint.h>

/* Most I/Os in flight in open loop. A target that needs more is not keeping up. */
#define REPLAY_IN_FLIGHT_MAX 4096u

struct replay_plan {
    const struct schedule_rules *rules;
    const struct schedule_survey *survey;
    const struct replay_target *target;
    const char *engine;    /* NULL: the best that opens */
    uint32_t depth;        /* closed loop */
    uint64_t tolerance_ns; /* of lateness */
    bool keep_going;       /* past saturation */
    uint64_t seed;
};

/* What the loop knows; the rest is in replay_totals. */
struct replay_outcome {
    const char *engine;
    char granted[160];
    const char *priority; /* of the timing thread; NULL in closed loop */
    uint64_t issued;
    uint64_t skipped[SKIP_REASONS];
    uint64_t elapsed_ns; /* from the start to the last completion */
    bool has_drift;
    int64_t drift_ns; /* real span of submissions − wanted span */
    bool saturated;   /* in open loop; see saturated_at_ns */
    /* The wanted time of the first I/O of the run of late ones: each later than the tolerance, for
     * a second without exception, and the lateness grew in that second by at least the tolerance.
     */
    uint64_t saturated_at_ns;
    bool stopped; /* because it saturated */
    bool interrupted;
    uint64_t user_ns; /* CPU time of the process during the loop */
    uint64_t system_ns;
};

/* Replays. 0, or -errno when it could not start or the trace or the result failed on the way; the
 * outcome holds what was done until then. Completions go to `result`, which the caller finishes. */
int replay_run(const struct replay_plan *plan, struct replay_result *result,
               struct replay_outcome *outcome, struct error *err);

#endif
