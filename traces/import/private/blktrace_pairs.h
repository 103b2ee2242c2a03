/* From a blktrace's events in order of time to records: queue, issue and completion of the same
 * request brought together. Private to the blktrace importer.
 *
 * A request is known by its device and sector, which a partial completion moves on. Its wait runs
 * from the queue event (of the earliest bio that was merged into it) to the last issue, its latency
 * from the last issue to the completion. Memory: the requests in flight, at most BLKTRACE_OPEN_MAX,
 * and a fixed table of queue events. */
#ifndef IOREEL_TRACES_BLKTRACE_PAIRS_H
#define IOREEL_TRACES_BLKTRACE_PAIRS_H

#include "traces/import/private/blktrace_events.h"

#define BLKTRACE_OPEN_MAX (1u << 20)
/* A request without completion is given up after this: its completion was lost, or the device was.
 * SCSI's own timeout is 30 s, and 180 s with its retries. */
#define BLKTRACE_GIVE_UP_NS (300ull * 1000000000ull)

struct blktrace_pairs;

/* Borrows stream and sink; `device_name` (NULL: none) is what the user calls the first device, and
 * `names[input]` what the inputs call theirs ("" where they do not). */
int blktrace_pairs_create(struct blktrace_stream *stream, struct import_sink *sink,
                          const char *device_name, const char *const *names,
                          struct blktrace_pairs **pairs, struct error *err);
void blktrace_pairs_free(struct blktrace_pairs *p); /* NULL is fine */

int blktrace_pairs_feed(struct blktrace_pairs *p, const struct blktrace_event *event,
                        struct error *err);
/* Writes what is still open, flagged. */
int blktrace_pairs_finish(struct blktrace_pairs *p, struct error *err);

struct blktrace_counts {
    uint64_t issues;      /* or, of bios, queueings */
    uint64_t completions; /* 0: not recorded, so that latency and depth are not known */
    uint64_t requeues;
    uint64_t partial;   /* completions of a part */
    uint64_t empty;     /* zero-byte completions of no request: the second of a flush */
    uint64_t unmatched; /* completions whose issue is not in the trace */
    uint64_t given_up;  /* open for BLKTRACE_GIVE_UP_NS, or too many at one place */
};

const struct blktrace_counts *blktrace_pairs_counts(const struct blktrace_pairs *p);

#endif
