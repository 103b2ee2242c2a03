/* Threads that carry out I/Os with blocking calls. What the engine `threads` is made of, and what
 * io_uring needs for discards on kernels that have no such request. */
#ifndef IOREEL_REPLAY_ENGINE_POOL_H
#define IOREEL_REPLAY_ENGINE_POOL_H

#include "replay/engines/engines.h"

struct engine_pool;

/* Threads are started as I/Os need them, up to `threads`. NULL when out of memory. */
struct engine_pool *engine_pool_create(const struct engine_setup *setup, unsigned threads);
/* Waits for what is in flight. NULL is fine. */
void engine_pool_free(struct engine_pool *pool);

/* Hands I/Os to the threads. 0, or -errno when not even one thread could be started. */
int engine_pool_start(struct engine_pool *pool, const struct engine_io *ios, unsigned count);
/* Completions that are there; no lock is taken when there are none. */
unsigned engine_pool_reap(struct engine_pool *pool, struct engine_done *done, unsigned max);
/* Sleeps until a completion is there, the time is over or a signal came. */
void engine_pool_sleep(struct engine_pool *pool, uint64_t timeout_ns);
/* I/Os given and not yet reaped. */
unsigned engine_pool_pending(const struct engine_pool *pool);

#endif
