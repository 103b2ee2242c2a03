/* A progress line on stderr: only on a terminal, not with -q, at most five times a second. */
#ifndef IOREEL_COMMON_PROGRESS_H
#define IOREEL_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* "replayed", static text */
    bool enabled;
    bool shown;
    uint64_t next_ns; /* CLOCK_MONOTONIC of the next line */
};

void progress_start(struct progress *p, const char *what);
/* total 0: unknown. Cheap when it is not yet time; call it once a batch, not once a record. */
void progress_update(struct progress *p, uint64_t done, uint64_t total);
/* Wipes the line. */
void progress_end(struct progress *p);

#endif
