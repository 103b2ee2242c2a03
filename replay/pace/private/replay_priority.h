/* Who runs when a deadline comes: the timing thread asks to be the one. */
#ifndef IOREEL_REPLAY_PRIORITY_H
#define IOREEL_REPLAY_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

struct replay_priority {
    int policy; /* before */
    int niceness;
    const char *granted; /* "fifo", "nice" or "normal" */
};

/* Raises the calling thread as far as allowed: the lowest real-time priority where there is another
 * CPU for the rest and mean_gap_ns leaves the thread time to sleep, else the highest niceness. Its
 * timers become exact. Threads that it starts from now on do not inherit. */
void replay_priority_raise(struct replay_priority *priority, uint64_t mean_gap_ns);
/* Back to what it was. */
void replay_priority_restore(struct replay_priority *priority);

#endif
