/* What a replay prints: one screen for people, or one JSON document. */
#ifndef IOREEL_REPLAY_REPORT_H
#define IOREEL_REPLAY_REPORT_H

#include "replay/pace/replay_result.h"
#include "replay/pace/replay_run.h"

#include "replay/pace/schedule.h"

#include <stdbool.h>
#include <stdio.h>

struct replay_report {
    const char *trace;
    const char *target;
    const char *timing;
    bool timed;
    const struct schedule_survey *survey;
    enum io_remap remap;
    uint32_t align_bytes;
    uint64_t tolerance_ns;
    const struct replay_outcome *outcome;
    const struct replay_totals *totals;
};

/* No error, nothing skipped, the whole trace, every I/O where and as large as the trace has it, and
 * the 99th percentile of lateness within the tolerance. */
bool replay_report_faithful(const struct replay_report *report);
/* Interrupted, or stopped when the target could not keep up. */
bool replay_report_partial(const struct replay_report *report);

int replay_report_json(const struct replay_report *report);
void replay_report_text(const struct replay_report *report, FILE *out);

#endif
