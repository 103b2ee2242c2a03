/* Who runs when a deadline comes: the timing thread asks to be the one. */
#ifndef IOREEL_REPLAY_PRIORITY_H
#define IOREEL_REPLAY_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

struct replay_priority {
    int policy; /* before */
    int niceness;
    bool may_force;
    const char *granted; /* "fifo", "nice" or "normal" */
};

/* Makes the calling thread's timers exact, and remembers its priority. */
void replay_priority_raise(struct replay_priority *priority, uint64_t mean_gap_ns);
/* Takes the lowest real-time priority, once, where it is allowed, there is another CPU for the
 * rest, and mean_gap_ns leaves the thread time to sleep; else the highest niceness. Threads that it
 * starts do not inherit. */
void replay_priority_force(struct replay_priority *priority);
/* Back to what it was. */
void replay_priority_restore(struct replay_priority *priority);

#endif
