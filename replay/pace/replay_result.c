/* The thread at the far end of a replay: counts and writes. */
#include "replay/pace/replay_result.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/progress.h"
#include "replay/pace/private/replay_ring.h"

#define BATCH   4096u
#define BATCHES 32u

struct result_batch {
    size_t count;
    uint64_t floor_ns;
    bool last;
    struct io_record records[BATCH];
};

struct replay_result {
    struct trace_writer *writer;
    bool timed;
    uint64_t expected;
    struct replay_ring ring;
    struct result_batch *batches;
    struct result_batch *filling; /* the timing thread's */
    pthread_t thread;
    bool finished;
    atomic_int rc; /* the writer's first error */
    struct error err;
    struct replay_totals totals;
};

static void count_record(struct replay_result *r, const struct io_record *record)
{
    struct replay_totals *totals = &r->totals;
    totals->completed++;
    if (r->timed)
        histogram_add(&totals->late, record->queue_ns);
    if (record->status) {
        totals->errors++;
        totals->error_count[record->status]++;
        return;
    }
    histogram_add(&totals->latency, record->latency_ns);
    if (r->timed)
        histogram_add(&totals->response, record->queue_ns + record->latency_ns);
    if (record->op == IO_READ || record->op == IO_WRITE)
        totals->bytes += record->len_bytes;
}

static void *result_main(void *argument)
{
    struct replay_result *r = argument;
    struct progress progress;
    bool last = false;
    progress_start(&progress, "replayed");
    while (!last) {
        replay_ring_wait(&r->ring.filled);
        struct result_batch *batch = &r->batches[replay_ring_take_slot(&r->ring)];
        for (size_t i = 0; i < batch->count; i++)
            count_record(r, &batch->records[i]);
        if (r->writer && atomic_load(&r->rc) == 0 && batch->count > 0) {
            int rc = trace_writer_add(r->writer, batch->records, batch->count, &r->err);
            if (rc)
                atomic_store(&r->rc, rc);
            else
                trace_writer_set_floor(r->writer, batch->floor_ns);
        }
        progress_update(&progress, r->totals.completed, r->expected);
        last = batch->last;
        replay_ring_taken(&r->ring);
    }
    progress_end(&progress);
    return NULL;
}

/* Signals belong to the main thread. */
static int start_thread(struct replay_result *r)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&r->thread, NULL, result_main, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int replay_result_start(struct trace_writer *writer, bool timed, uint64_t expected,
                        struct replay_result **result, struct error *err)
{
    struct replay_result *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, ENOMEM, "out of memory");
    r->writer = writer;
    r->timed = timed;
    r->expected = expected;
    r->batches = malloc(BATCHES * sizeof *r->batches);
    if (!r->batches) {
        free(r);
        return error_set(err, ENOMEM, "out of memory");
    }
    /* Touched now, so that no page fault happens between two deadlines. */
    memset(r->batches, 0, BATCHES * sizeof *r->batches);
    replay_ring_init(&r->ring, BATCHES);
    int rc = start_thread(r);
    if (rc) {
        replay_ring_destroy(&r->ring);
        free(r->batches);
        free(r);
        return error_errno(err, rc, "cannot start the thread that writes results");
    }
    *result = r;
    return 0;
}

struct io_record *replay_result_record(struct replay_result *r)
{
    if (!r->filling) {
        while (!replay_ring_can_fill(&r->ring))
            sched_yield();
        r->filling = &r->batches[replay_ring_fill_slot(&r->ring)];
        r->filling->count = 0;
        r->filling->last = false;
    }
    return &r->filling->records[r->filling->count];
}

bool replay_result_filled(struct replay_result *r)
{
    return ++r->filling->count == BATCH;
}

bool replay_result_hand_over(struct replay_result *r, uint64_t floor_ns)
{
    r->filling->floor_ns = floor_ns;
    r->filling = NULL;
    replay_ring_filled(&r->ring);
    return atomic_load_explicit(&r->rc, memory_order_relaxed) == 0;
}

int replay_result_finish(struct replay_result *r, struct error *err)
{
    if (!r->finished) {
        r->finished = true;
        replay_result_record(r);
        r->filling->last = true;
        replay_result_hand_over(r, 0);
        pthread_join(r->thread, NULL);
    }
    int rc = atomic_load(&r->rc);
    if (rc && err)
        *err = r->err;
    return rc;
}

const struct replay_totals *replay_result_totals(const struct replay_result *r)
{
    return &r->totals;
}

void replay_result_free(struct replay_result *r)
{
    if (!r)
        return;
    replay_result_finish(r, NULL);
    replay_ring_destroy(&r->ring);
    free(r->batches);
    free(r);
}
