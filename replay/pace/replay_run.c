/* The two timing loops and what they share: slots, submission, completion.
 *
 * Nothing here allocates, locks or decodes once the loop runs. An I/O is prepared (buffer stamped,
 * request filled) before its deadline; at the deadline there is only the clock and the kernel. */
#include "replay/pace/replay_run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "common/interrupt.h"
#include "common/units.h"
#include "replay/pace/replay_data.h"
#include "replay/pace/private/replay_priority.h"

#define BURST   16u             /* I/Os that are due at once go in one call, up to this */
#define SPIN_NS (5 * NS_PER_US) /* gaps that sleeping would not shorten are spun through */
/* How long before a deadline to wake up is learned: the WAKE_QUANTILE of what timers are late by:
 * half of the I/Os are in time for a short spin, and the rest late by how much a timer varies
 * (measured by tests/bench/replay_disturbs.sh; 0.9 costs 10 us of CPU an I/O more). */
#define WAKE_FIRST_NS (60 * NS_PER_US)
#define WAKE_MIN_NS   (2 * NS_PER_US)
#define WAKE_MAX_NS   (100 * NS_PER_US)
#define WAKE_STEP_NS  NS_PER_US
#define WAKE_QUANTILE 0.5
/* A busy machine: of so many I/Os so many are issued later than this. */
#define BUSY_WINDOW     256u
#define BUSY_COUNT      16u
#define BUSY_LATE_NS    (200 * NS_PER_US)
#define SLEEP_MAX_NS    (100 * NS_PER_MS) /* so that an interrupt is seen */
#define LEAD_NS         (1 * NS_PER_MS)   /* from the start of the loop to time 0 */
#define READ_POOL_BYTES (8 * MIB)
#define SATURATED_NS    NS_PER_S
#define NO_CHUNK        UINT32_MAX
#define REAP_MAX        64u

struct slot {
    uint64_t wanted_ns; /* since the start, as all times here */
    uint64_t issued_ns;
    uint64_t offset_bytes;
    uint64_t len_bytes;
    uint32_t chunk; /* of replay_data, or NO_CHUNK */
    uint16_t depth;
    uint16_t flags;
    uint8_t op;
    bool in_flight;
};

struct run {
    const struct replay_plan *plan;
    struct replay_outcome *outcome;
    struct replay_result *result;
    const struct engine *engine;
    void *state;
    struct schedule *schedule;
    const struct schedule_batch *batch;
    size_t at; /* next I/O of the batch */
    bool ended;
    int rc;
    bool timed;
    bool stop;
    bool broken;       /* the engine failed: what is queued may never complete */
    uint64_t start_ns; /* CLOCK_MONOTONIC of time 0 */
    uint64_t wake_ns;  /* timers are late by this, at most times */
    uint32_t window_count, window_late;
    uint64_t last_done_ns;
    uint64_t first_issued_ns, last_issued_ns;
    uint64_t first_wanted_ns, last_wanted_ns;
    /* the run of late I/Os */
    bool is_late;
    uint64_t late_from_wanted_ns;
    uint64_t late_window_ns; /* when the second that is being watched began */
    uint64_t late_base_ns;   /* lateness then */
    struct slot *slots;
    uint32_t *free_slots;
    uint32_t slot_count, free_count;
    uint32_t in_flight;
    uint32_t queued[REPLAY_IN_FLIGHT_MAX];
    uint32_t queued_count;
    struct replay_data *data;
    struct replay_priority priority;
    unsigned char *read_pool;
    size_t read_pool_bytes, read_pool_used;
};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* The next I/O to issue, or NULL: at the end (run->ended), or the loader is behind. */
static const struct scheduled_io *next_io(struct run *r)
{
    for (;;) {
        while (r->batch && r->at < r->batch->count) {
            const struct scheduled_io *io = &r->batch->ios[r->at];
            if (io->skip == SKIP_NOT)
                return io;
            r->outcome->skipped[io->skip]++;
            r->at++;
        }
        if (r->batch && r->batch->last) {
            r->ended = true;
            r->rc = r->batch->rc;
            return NULL;
        }
        r->at = 0;
        r->batch = schedule_next(r->schedule);
        if (!r->batch)
            return NULL;
    }
}

/* What is read is thrown away, so reads share one pool in turns. */
static void *read_buffer(struct run *r, uint64_t len_bytes)
{
    size_t pages = (len_bytes + 4095) & ~(size_t)4095;
    if (r->read_pool_used + pages > r->read_pool_bytes)
        r->read_pool_used = 0;
    void *buffer = r->read_pool + r->read_pool_used;
    r->read_pool_used += pages;
    return buffer;
}

/* Takes a slot and memory, and queues the I/O with the engine. false: no room before a completion
 * or a submission. */
static bool prepare(struct run *r, const struct scheduled_io *io)
{
    if (r->free_count == 0)
        return false;
    uint32_t number = r->free_slots[r->free_count - 1];
    struct engine_io request = {
        .offset_bytes = io->offset_bytes,
        .len_bytes = io->len_bytes,
        .slot = number,
        .op = io->op,
        .fua = (io->flags & IO_FLAG_FUA) != 0,
        .preflush = io->op == IO_WRITE && (io->flags & IO_FLAG_PREFLUSH) != 0,
    };
    uint32_t chunk = NO_CHUNK;
    if (io->op == IO_READ) {
        request.buffer = read_buffer(r, io->len_bytes);
    } else if (io->op == IO_WRITE) {
        request.memory = 1;
        request.buffer =
            replay_data_take(r->data, io->len_bytes, io->number, io->offset_bytes, &chunk);
        if (!request.buffer)
            return false;
    }
    if (!r->engine->queue(r->state, &request)) {
        if (chunk != NO_CHUNK)
            replay_data_give(r->data, chunk);
        return false;
    }
    r->free_count--;
    r->slots[number] = (struct slot){
        .wanted_ns = io->wanted_ns,
        .offset_bytes = io->offset_bytes,
        .len_bytes = io->len_bytes,
        .chunk = chunk,
        .flags = io->flags,
        .op = io->op,
    };
    r->queued[r->queued_count++] = number;
    r->at++;
    return true;
}

/* No later record is issued before this. */
static uint64_t floor_ns(const struct run *r, uint64_t now)
{
    uint64_t floor = now;
    for (uint32_t i = 0; i < r->slot_count; i++)
        if (r->slots[i].in_flight && r->slots[i].issued_ns < floor)
            floor = r->slots[i].issued_ns;
    return floor;
}

static int status_of(const struct slot *slot, int32_t result)
{
    if (result < 0)
        return -result > 254 ? 255 : -result;
    bool is_transfer = slot->op == IO_READ || slot->op == IO_WRITE;
    return is_transfer && (uint64_t)result != slot->len_bytes ? EIO : 0;
}

static void complete(struct run *r, const struct engine_done *done, uint64_t now)
{
    struct slot *slot = &r->slots[done->slot];
    int status = status_of(slot, done->result);
    slot->in_flight = false;
    r->in_flight--;
    r->free_slots[r->free_count++] = done->slot;
    if (slot->chunk != NO_CHUNK)
        replay_data_give(r->data, slot->chunk);
    r->last_done_ns = now;
    if (status == EOPNOTSUPP && (slot->op == IO_DISCARD || slot->op == IO_WRITE_ZEROES)) {
        r->outcome->skipped[SKIP_TARGET]++;
        r->outcome->issued--;
        return;
    }
    struct io_record *record = replay_result_record(r->result);
    *record = (struct io_record){
        .issue_ns = slot->issued_ns,
        .queue_ns = r->timed ? slot->issued_ns - slot->wanted_ns : 0,
        .latency_ns = now > slot->issued_ns ? now - slot->issued_ns : 0,
        .offset_bytes = slot->offset_bytes,
        .len_bytes = slot->len_bytes,
        .has = IO_HAS_ISSUE | (r->timed ? IO_HAS_QUEUE : 0) | IO_HAS_LATENCY | IO_HAS_OFFSET |
               IO_HAS_LEN | IO_HAS_OP | IO_HAS_FLAGS | IO_HAS_STATUS | IO_HAS_DEPTH | IO_HAS_DEVICE,
        .depth = slot->depth,
        .flags = slot->flags,
        .op = slot->op,
        .status = (uint8_t)status,
    };
    if (replay_result_filled(r->result) && !replay_result_hand_over(r->result, floor_ns(r, now)))
        r->stop = true;
}

/* Takes the completions that are there. */
static void reap(struct run *r)
{
    struct engine_done done[REAP_MAX];
    unsigned count;
    while (r->in_flight > 0 && (count = r->engine->reap(r->state, done, REAP_MAX)) > 0) {
        uint64_t now = clock_ns() - r->start_ns;
        for (unsigned i = 0; i < count; i++)
            complete(r, &done[i], now);
        if (count < REAP_MAX)
            break;
    }
}

/* Where other work keeps the thread from its deadlines, it takes the priority that it does without
 * elsewhere: a thread that submits in real time moves the device's own workers to other CPUs. */
static void note_busy(struct run *r, uint64_t late_ns)
{
    r->window_late += late_ns > BUSY_LATE_NS;
    if (++r->window_count < BUSY_WINDOW)
        return;
    if (r->window_late >= BUSY_COUNT && !r->outcome->saturated)
        replay_priority_force(&r->priority);
    r->window_count = 0;
    r->window_late = 0;
}

static void note_lateness(struct run *r, uint64_t wanted_ns, uint64_t now)
{
    uint64_t late = now - wanted_ns;
    note_busy(r, late);
    if (late <= r->plan->tolerance_ns) {
        r->is_late = false;
        return;
    }
    if (!r->is_late) {
        r->is_late = true;
        r->late_from_wanted_ns = wanted_ns;
        r->late_window_ns = now;
        r->late_base_ns = late;
        return;
    }
    if (now - r->late_window_ns < SATURATED_NS)
        return;
    if (late >= r->late_base_ns + r->plan->tolerance_ns && !r->outcome->saturated) {
        r->outcome->saturated = true;
        r->outcome->saturated_at_ns = r->late_from_wanted_ns;
        r->outcome->stopped = !r->plan->keep_going;
        /* A loop that is always late never sleeps; the device's own threads need the CPU more. */
        replay_priority_restore(&r->priority);
        r->stop = r->stop || r->outcome->stopped;
    }
    r->late_window_ns = now;
    r->late_base_ns = late;
}

/* Stamps all that is queued and hands it to the kernel. What goes in one call is a nanosecond
 * apart, so that its order stands in the result. */
static void submit_queued(struct run *r, unsigned wait)
{
    uint64_t now = clock_ns() - r->start_ns;
    if (r->queued_count > 0) {
        if (r->outcome->issued == 0) {
            r->first_issued_ns = now;
            r->first_wanted_ns = r->slots[r->queued[0]].wanted_ns;
        }
        r->last_issued_ns = now;
        r->last_wanted_ns = r->slots[r->queued[r->queued_count - 1]].wanted_ns;
    }
    for (uint32_t i = 0; i < r->queued_count; i++) {
        struct slot *slot = &r->slots[r->queued[i]];
        slot->issued_ns = now + i;
        slot->in_flight = true;
        slot->depth = (uint16_t)++r->in_flight;
    }
    r->outcome->issued += r->queued_count;
    r->queued_count = 0;
    int rc = r->engine->submit(r->state, wait);
    if (rc) {
        r->rc = rc;
        r->broken = true;
        r->stop = true;
    }
    if (r->timed)
        note_lateness(r, r->last_wanted_ns, now);
}

static bool should_stop(struct run *r)
{
    if (interrupt_seen()) {
        r->outcome->interrupted = true;
        r->stop = true;
    }
    return r->stop;
}

/* Follows a quantile of what a timer was late by, a step at a time. */
static void learn_wake(struct run *r, uint64_t late_ns)
{
    const uint64_t up = (uint64_t)(WAKE_STEP_NS * WAKE_QUANTILE);
    const uint64_t down = WAKE_STEP_NS - up;
    if (late_ns > r->wake_ns)
        r->wake_ns = r->wake_ns + up > WAKE_MAX_NS ? WAKE_MAX_NS : r->wake_ns + up;
    else
        r->wake_ns = r->wake_ns < WAKE_MIN_NS + down ? WAKE_MIN_NS : r->wake_ns - down;
}

/* Reaps until the deadline. It sleeps as long as it can: the device's own threads need the CPU on
 * which the I/O was submitted, and a thread that stays on it drives them to another. */
static void wait_until(struct run *r, uint64_t deadline_ns)
{
    for (;;) {
        reap(r);
        uint64_t now = clock_ns();
        if (now >= deadline_ns || should_stop(r))
            return;
        uint64_t gap = deadline_ns - now;
        if (gap <= r->wake_ns + SPIN_NS) {
            relax();
            continue;
        }
        uint64_t sleep_ns = gap < SLEEP_MAX_NS ? gap - r->wake_ns : SLEEP_MAX_NS;
        r->engine->sleep(r->state, sleep_ns);
        uint64_t slept_ns = clock_ns() - now;
        if (slept_ns >= sleep_ns)
            learn_wake(r, slept_ns - sleep_ns);
    }
}

/* Prepares the next I/O, waiting for a free slot when all are in flight. */
static bool prepare_waiting(struct run *r, const struct scheduled_io *io)
{
    while (!prepare(r, io)) {
        if (should_stop(r))
            return false;
        r->engine->submit(r->state, 0);
        r->engine->sleep(r->state, NS_PER_MS);
        reap(r);
    }
    return true;
}

static void run_original(struct run *r)
{
    r->start_ns = clock_ns() + LEAD_NS;
    while (!should_stop(r)) {
        const struct scheduled_io *io = next_io(r);
        if (!io && r->ended)
            return;
        if (!io) {
            reap(r);
            relax();
            continue;
        }
        uint64_t deadline_ns = r->start_ns + io->wanted_ns;
        if (!prepare_waiting(r, io))
            return;
        wait_until(r, deadline_ns);
        if (r->stop)
            return;
        uint64_t now = clock_ns() - r->start_ns;
        while (r->queued_count < BURST && (io = next_io(r)) && io->wanted_ns <= now)
            if (!prepare(r, io))
                break;
        submit_queued(r, 0);
    }
}

static void run_fast(struct run *r)
{
    r->start_ns = clock_ns();
    while (!should_stop(r)) {
        const struct scheduled_io *io;
        while (r->in_flight + r->queued_count < r->plan->depth && (io = next_io(r)))
            if (!prepare(r, io))
                break;
        if (r->queued_count == 0 && r->in_flight == 0) {
            if (r->ended)
                return;
            sched_yield();
            continue;
        }
        submit_queued(r, r->ended ? 0 : 1);
        if (r->ended)
            return;
        reap(r);
    }
}

/* Waits for what is in flight; a second Ctrl-C ends the process, should the device never answer. */
static void drain(struct run *r)
{
    uint64_t end_ns = clock_ns() + NS_PER_S;
    while (r->in_flight > 0 && !(r->broken && clock_ns() > end_ns)) {
        if (!r->broken)
            r->engine->submit(r->state, 0);
        r->engine->sleep(r->state, 10 * NS_PER_MS);
        reap(r);
    }
}

static int set_up_memory(struct run *r, struct engine_setup *setup, struct error *err)
{
    const struct schedule_survey *survey = r->plan->survey;
    r->slot_count = r->timed ? REPLAY_IN_FLIGHT_MAX : r->plan->depth;
    r->slots = calloc(r->slot_count, sizeof *r->slots);
    r->free_slots = calloc(r->slot_count, sizeof *r->free_slots);
    r->read_pool_bytes =
        survey->max_read_bytes > READ_POOL_BYTES ? SCHEDULE_IO_MAX : READ_POOL_BYTES;
    void *pool = mmap(NULL, r->read_pool_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (!r->slots || !r->free_slots || pool == MAP_FAILED)
        return error_set(err, ENOMEM, "out of memory");
    r->read_pool = pool;
    setup->memory[0] = (struct iovec){pool, r->read_pool_bytes};
    for (uint32_t i = 0; i < r->slot_count; i++)
        r->free_slots[r->free_count++] = r->slot_count - 1 - i;
    if (survey->write_bytes > 0) {
        r->data = replay_data_create(r->plan->seed, survey->max_write_bytes, survey->write_bytes);
        if (!r->data)
            return error_set(err, ENOMEM, "out of memory");
        replay_data_memory(r->data, &setup->memory[1].iov_base, &setup->memory[1].iov_len);
    }
    return 0;
}

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * NS_PER_US;
}

static uint64_t mean_gap_ns(const struct replay_plan *plan)
{
    const struct schedule_survey *survey = plan->survey;
    double span_ns = (double)(survey->last_issue_ns - survey->first_issue_ns) / plan->rules->speed;
    return survey->issued ? (uint64_t)(span_ns / (double)survey->issued) : 0;
}

static void run_loop(struct run *r)
{
    struct rusage before;
    struct rusage after;
    struct replay_outcome *outcome = r->outcome;
    if (r->timed) {
        replay_priority_raise(&r->priority, mean_gap_ns(r->plan));
    }
    getrusage(RUSAGE_SELF, &before);
    if (r->timed)
        run_original(r);
    else
        run_fast(r);
    drain(r);
    getrusage(RUSAGE_SELF, &after);
    if (r->timed) {
        outcome->priority = r->priority.granted;
        replay_priority_restore(&r->priority);
    }
    outcome->user_ns = timeval_ns(after.ru_utime) - timeval_ns(before.ru_utime);
    outcome->system_ns = timeval_ns(after.ru_stime) - timeval_ns(before.ru_stime);
    outcome->elapsed_ns = r->last_done_ns;
    outcome->has_drift = r->timed && outcome->issued > 0;
    if (outcome->has_drift)
        outcome->drift_ns = (int64_t)(r->last_issued_ns - r->first_issued_ns) -
                            (int64_t)(r->last_wanted_ns - r->first_wanted_ns);
}

int replay_run(const struct replay_plan *plan, struct replay_result *result,
               struct replay_outcome *outcome, struct error *err)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, ENOMEM, "out of memory");
    r->plan = plan;
    r->outcome = outcome;
    r->result = result;
    r->timed = plan->rules->timed;
    r->wake_ns = WAKE_FIRST_NS;
    *outcome = (struct replay_outcome){.engine = plan->engine ? plan->engine : "none"};
    struct engine_setup setup = {
        .fd = plan->target->fd,
        .path = plan->target->path,
        .is_block = plan->target->is_block,
        .in_flight = r->timed ? REPLAY_IN_FLIGHT_MAX : plan->depth,
    };
    int rc = set_up_memory(r, &setup, err);
    if (rc == 0)
        rc = engine_open(plan->engine, &setup, &r->engine, &r->state, err);
    if (rc == 0)
        rc = schedule_start(plan->rules, &r->schedule, err);
    if (rc == 0) {
        outcome->engine = r->engine->name;
        strncpy(outcome->granted, r->engine->granted(r->state), sizeof outcome->granted - 1);
        run_loop(r);
        rc = r->rc;
        schedule_stop(r->schedule, err);
        if (rc && err->text[0] == '\0')
            error_errno(err, -rc, "%s: the kernel takes no more I/O", plan->target->path);
    }
    if (r->engine)
        r->engine->close(r->state);
    if (r->read_pool)
        munmap(r->read_pool, r->read_pool_bytes);
    replay_data_free(r->data);
    free(r->slots);
    free(r->free_slots);
    free(r);
    return rc;
}
