/* The results of a replay: completions go in as records, in batches, to a thread that counts them
 * and writes the result trace, so that neither histogram nor compression runs in the timing loop.
 */
#ifndef IOREEL_REPLAY_RESULT_H
#define IOREEL_REPLAY_RESULT_H

#include "common/error.h"
#include "common/histogram.h"
#include "traces/record/record.h"
#include "traces/reel/trace_writer.h"

#include <stdbool.h>
#include <stdint.h>

struct replay_result;

/* What the thread counted. Times in ns. */
struct replay_totals {
    uint64_t completed; /* with and without error */
    uint64_t errors;
    uint64_t error_count[256]; /* by errno; 255 for one above that */
    uint64_t bytes;            /* read and written without error */
    struct histogram latency;  /* of completions without error */
    struct histogram response; /* latency and lateness together; timed replays only */
    struct histogram late;     /* timed replays only */
};

/* `writer` may be NULL: count only. It is the thread's until replay_result_finish(). `expected` is
 * for the progress line. 0 or -errno. */
int replay_result_start(struct trace_writer *writer, bool timed, uint64_t expected,
                        struct replay_result **result, struct error *err);

/* Timing thread: the record to fill next, waiting for the writer only when it is far behind. */
struct io_record *replay_result_record(struct replay_result *r);
/* Timing thread: the record is filled. True when the batch is full: hand it over. */
bool replay_result_filled(struct replay_result *r);
/* Timing thread: no record that follows is issued before floor_ns. false when writing failed, and
 * there is no sense in going on. */
bool replay_result_hand_over(struct replay_result *r, uint64_t floor_ns);

/* Hands the last batch over and waits for the thread. The totals are the caller's to read until
 * replay_result_free(). 0, or the writer's error. */
int replay_result_finish(struct replay_result *r, struct error *err);
const struct replay_totals *replay_result_totals(const struct replay_result *r);
void replay_result_free(struct replay_result *r); /* NULL is fine */

#endif
