/* The engine for machines without io_uring (old kernels, containers that filter it): a thread for
 * each I/O in flight, up to a limit, each in a blocking call. Deeper queues than THREADS_MAX wait
 * in this process, and are counted as in flight all the same. */
#include "replay/engines/engines.h"

#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "replay/engines/private/engine_pool.h"

#define THREADS_MAX 128u
#define QUEUE_MAX   256u

struct threads_state {
    struct engine_pool *pool;
    unsigned queued;
    struct engine_io queue[QUEUE_MAX];
};

static void threads_close(void *state)
{
    struct threads_state *s = state;
    if (!s)
        return;
    engine_pool_free(s->pool);
    free(s);
}

static int threads_open(const struct engine_setup *setup, void **state, struct error *err)
{
    struct threads_state *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, ENOMEM, "out of memory");
    unsigned threads = setup->in_flight < THREADS_MAX ? setup->in_flight : THREADS_MAX;
    s->pool = engine_pool_create(setup, threads);
    if (!s->pool) {
        free(s);
        return error_set(err, ENOMEM, "out of memory");
    }
    *state = s;
    return 0;
}

static const char *threads_granted(void *state)
{
    (void)state;
    return "";
}

static bool threads_queue(void *state, const struct engine_io *io)
{
    struct threads_state *s = state;
    if (s->queued == QUEUE_MAX)
        return false;
    s->queue[s->queued++] = *io;
    return true;
}

static int threads_submit(void *state, unsigned wait)
{
    struct threads_state *s = state;
    if (s->queued > 0) {
        int rc = engine_pool_start(s->pool, s->queue, s->queued);
        if (rc)
            return rc;
        s->queued = 0;
    }
    if (wait > 0)
        engine_pool_sleep(s->pool, 100 * NS_PER_MS);
    return 0;
}

static unsigned threads_reap(void *state, struct engine_done *done, unsigned max)
{
    struct threads_state *s = state;
    return engine_pool_reap(s->pool, done, max);
}

static void threads_sleep(void *state, uint64_t timeout_ns)
{
    struct threads_state *s = state;
    engine_pool_sleep(s->pool, timeout_ns);
}

const struct engine engine_threads = {
    .name = "threads",
    .summary = "blocking calls in up to 128 threads; works everywhere",
    .open = threads_open,
    .close = threads_close,
    .granted = threads_granted,
    .queue = threads_queue,
    .submit = threads_submit,
    .reap = threads_reap,
    .sleep = threads_sleep,
};
