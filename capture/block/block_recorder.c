/* Events into records, batches and blocks. */
#include "capture/block/private/block_recorder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/units.h"

#define BATCH_RECORDS 4096
#define LATE_RECORDS  4096
#define PROCESS_CACHE 256 /* a power of two */
#define SECTOR_BYTES  512
#define BLOCK_NS      NS_PER_S
#define LATE_NS       (2 * NS_PER_S) /* issued so long before: kept out of the block's time range */
#define FLOOR_NS      (100 * NS_PER_MS)
#define FLOOR_MARGIN_NS                                                                            \
    (250 * NS_PER_MS) /* an issue program may be held up between clock and slot */
#define SWEEP_NS        NS_PER_S
#define SWEEP_AGE_NS    (100 * NS_PER_MS)
#define FAST_SCAN_SLOTS 16384
#define NO_PROCESS      UINT32_MAX

struct cached_process {
    uint32_t pid;
    uint32_t index;
    char comm[BLOCK_COMM_BYTES];
};

struct block_recorder {
    struct block_capture *capture;
    const struct request_codes *codes;
    struct trace_meta *meta;
    struct trace_writer *writer;
    size_t device_count;
    uint64_t zero_ns;  /* of the trace's time */
    uint64_t start_ns; /* the gate was opened */
    uint64_t stop_ns;
    uint64_t block_start_ns;
    uint64_t next_floor_ns;
    uint64_t next_sweep_ns;
    uint64_t floor_ns;      /* promised to the writer, in the trace's time */
    uint64_t late_limit_ns; /* events issued before it are late */
    bool at_end;            /* events are requests that are still open */
    int rc;
    struct error error;
    struct block_totals device[BLOCK_DEVICES_MAX]; /* records, open and dropped ones only */
    struct cached_process processes[PROCESS_CACHE];
    size_t count;
    size_t late_count;
    struct io_record records[BATCH_RECORDS];
    struct io_record late[LATE_RECORDS];
};

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct block_recorder *block_recorder_create(struct block_capture *capture, struct trace_meta *meta,
                                             struct trace_writer *writer, size_t device_count,
                                             uint64_t zero_ns)
{
    struct block_recorder *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->capture = capture;
    r->codes = block_capture_codes(capture);
    r->meta = meta;
    r->writer = writer;
    r->device_count = device_count;
    r->zero_ns = zero_ns;
    for (size_t i = 0; i < PROCESS_CACHE; i++)
        r->processes[i].index = NO_PROCESS;
    return r;
}

void block_recorder_free(struct block_recorder *r)
{
    free(r);
}

/* A few processes do most of the I/O: the last one in each place is kept at hand. */
static uint32_t process_index(struct block_recorder *r, const struct block_event *event)
{
    struct cached_process *cached = &r->processes[event->pid & (PROCESS_CACHE - 1)];
    if (cached->index != NO_PROCESS && cached->pid == event->pid &&
        memcmp(cached->comm, event->comm, BLOCK_COMM_BYTES) == 0)
        return cached->index;
    char name[BLOCK_COMM_BYTES + 1] = "";
    memcpy(name, event->comm, BLOCK_COMM_BYTES);
    int64_t index = trace_meta_process(r->meta, event->pid, name);
    if (index < 0)
        return NO_PROCESS;
    cached->pid = event->pid;
    cached->index = (uint32_t)index;
    memcpy(cached->comm, event->comm, BLOCK_COMM_BYTES);
    return cached->index;
}

static void flush_batch(struct block_recorder *r)
{
    if (r->rc == 0 && r->count > 0)
        r->rc = trace_writer_add(r->writer, r->records, r->count, &r->error);
    r->count = 0;
}

static void put(struct block_recorder *r, const struct io_record *record)
{
    r->records[r->count++] = *record;
    if (r->count == BATCH_RECORDS)
        flush_batch(r);
}

static void take_event(void *context, const struct block_event *event)
{
    struct block_recorder *r = context;
    struct block_totals *totals = &r->device[event->device % BLOCK_DEVICES_MAX];
    struct io_record record = {
        .issue_ns = event->issue_ns - r->zero_ns,
        .offset_bytes = event->sector * SECTOR_BYTES,
        .len_bytes = event->len_bytes,
        .op = r->codes->op[event->cmd_flags % REQUEST_OPS],
        .flags = request_codes_flags(r->codes, event->cmd_flags),
        .depth = event->depth > UINT16_MAX ? UINT16_MAX : (uint16_t)event->depth,
        .device = event->device,
        .hw_queue = event->hw_queue,
        .cpu = event->cpu,
        .has = IO_HAS_ISSUE | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP | IO_HAS_FLAGS | IO_HAS_DEPTH |
               IO_HAS_DEVICE | IO_HAS_HW_QUEUE | IO_HAS_CPU,
    };
    if (record.op == IO_FLUSH)
        record.offset_bytes = 0; /* the kernel leaves it undefined */
    if (event->queue_ns != BLOCK_UNKNOWN_TIME) {
        record.queue_ns = event->queue_ns;
        record.has |= IO_HAS_QUEUE;
    }
    if (event->flags & BLOCK_EVENT_REQUEUED)
        record.flags |= IO_FLAG_REQUEUED;
    if (r->at_end) {
        record.flags |= IO_FLAG_OPEN_AT_END;
        totals->open++;
    } else {
        record.latency_ns = event->latency_ns;
        record.status = request_codes_errno(r->codes, event->status);
        record.has |= IO_HAS_LATENCY | IO_HAS_STATUS;
    }
    uint32_t process = process_index(r, event);
    if (process != NO_PROCESS) {
        record.process = process;
        record.has |= IO_HAS_PROCESS;
    }
    if (event->issue_ns < r->zero_ns || record.issue_ns < r->floor_ns) {
        totals->lost++; /* older than what was promised to readers; see FLOOR_MARGIN_NS */
        return;
    }
    totals->records++;
    if (record.issue_ns < r->late_limit_ns && r->late_count < LATE_RECORDS)
        r->late[r->late_count++] = record;
    else
        put(r, &record);
}

static void set_loss(struct block_recorder *r)
{
    struct block_totals all;
    block_recorder_totals(r, &all);
    struct trace_loss loss = {
        .lost = all.lost,
        .before_attach = all.before_attach,
        .open = all.open,
        .first_lost_ns = all.first_lost_ns,
        .last_lost_ns = all.last_lost_ns,
    };
    trace_writer_set_loss(r->writer, &loss);
}

static void raise_floor(struct block_recorder *r, uint64_t floor_ns)
{
    if (floor_ns <= r->floor_ns)
        return;
    r->floor_ns = floor_ns;
    trace_writer_set_floor(r->writer, floor_ns);
}

/* Late records get a block of their own, so that the others' keeps a short time range. Both may
 * hold what is older than the new floor, which is promised for what follows. */
static void end_block(struct block_recorder *r, uint64_t floor_ns)
{
    flush_batch(r);
    set_loss(r);
    if (r->late_count > 0 && r->rc == 0) {
        r->rc = trace_writer_end_block(r->writer, &r->error);
        if (r->rc == 0)
            r->rc = trace_writer_add(r->writer, r->late, r->late_count, &r->error);
        r->late_count = 0;
    }
    raise_floor(r, floor_ns);
    if (r->rc == 0)
        r->rc = trace_writer_end_block(r->writer, &r->error);
}

static void drain(struct block_recorder *r)
{
    int taken = block_capture_drain(r->capture, take_event, r);
    if (taken < 0 && r->rc == 0)
        r->rc = error_errno(&r->error, -taken, "the capture's ring cannot be read");
}

/* What later blocks can still hold: requests that are open now, or issued from now on. Looked up
 * before the ring is drained, and promised after it, when all that closed meanwhile was taken. */
static uint64_t lowest_to_come(struct block_recorder *r, uint64_t now_ns)
{
    uint64_t lowest_ns = now_ns - FLOOR_MARGIN_NS;
    uint64_t oldest_ns = block_capture_oldest(r->capture, NULL, NULL, NULL);
    if (oldest_ns < lowest_ns)
        lowest_ns = oldest_ns;
    return lowest_ns > r->zero_ns ? lowest_ns - r->zero_ns : 0;
}

void block_recorder_start(struct block_recorder *r)
{
    r->start_ns = block_capture_start(r->capture);
    r->block_start_ns = r->start_ns;
    r->next_sweep_ns = r->start_ns + SWEEP_NS;
    r->next_floor_ns = r->start_ns + FLOOR_NS;
}

int block_recorder_step(struct block_recorder *r, struct error *err)
{
    uint64_t now_ns = monotonic_ns();
    bool block_is_over = now_ns - r->block_start_ns >= BLOCK_NS;
    if (now_ns >= r->next_sweep_ns) {
        block_capture_sweep(r->capture, SWEEP_AGE_NS);
        r->next_sweep_ns = now_ns + SWEEP_NS;
    }
    bool look = block_is_over ||
                (now_ns >= r->next_floor_ns && block_capture_slots(r->capture) <= FAST_SCAN_SLOTS);
    uint64_t floor_ns = look ? lowest_to_come(r, now_ns) : 0;
    r->late_limit_ns = now_ns - r->zero_ns > LATE_NS ? now_ns - r->zero_ns - LATE_NS : 0;
    drain(r);
    if (look)
        r->next_floor_ns = now_ns + FLOOR_NS;
    if (block_is_over) {
        end_block(r, floor_ns);
        r->block_start_ns = now_ns;
    } else if (look && r->late_count == 0) {
        flush_batch(r);
        raise_floor(r, floor_ns);
    }
    if (r->rc && err && err->text[0] == '\0')
        *err = r->error;
    return r->rc;
}

static void pause_ms(unsigned ms)
{
    struct timespec wait = {.tv_nsec = (long)ms * (long)NS_PER_MS};
    nanosleep(&wait, NULL);
}

int block_recorder_finish(struct block_recorder *r, uint64_t drain_ns, struct error *err)
{
    block_capture_stop_issues(r->capture);
    r->stop_ns = monotonic_ns();
    for (uint64_t end_ns = r->stop_ns + drain_ns; r->rc == 0;) {
        size_t open;
        block_capture_oldest(r->capture, &open, NULL, NULL);
        drain(r);
        if (open == 0 || monotonic_ns() >= end_ns)
            break;
        pause_ms(1);
    }
    block_capture_stop(r->capture);
    drain(r);
    block_capture_sweep(r->capture, 0);
    r->at_end = true;
    block_capture_oldest(r->capture, NULL, take_event, r);
    if (r->rc == 0)
        end_block(r, 0);
    if (r->rc)
        *err = r->error;
    return r->rc;
}

static uint64_t trace_time(const struct block_recorder *r, uint64_t ns)
{
    return ns > r->zero_ns ? ns - r->zero_ns : 0;
}

void block_recorder_device_totals(const struct block_recorder *r, size_t device,
                                  struct block_totals *one)
{
    struct block_counts counts;
    block_capture_counts(r->capture, device, &counts);
    *one = r->device[device];
    one->issued = counts.issued;
    one->lost_ring_full = counts.lost_ring_full;
    one->lost_unseen = counts.lost_unseen;
    one->lost_untracked = counts.lost_untracked + r->device[device].lost;
    one->lost = one->lost_ring_full + one->lost_unseen + one->lost_untracked;
    one->before_attach = counts.before_attach;
    one->empty_flushes = counts.empty_flushes;
    one->first_lost_ns = trace_time(r, counts.first_lost_ns);
    one->last_lost_ns = trace_time(r, counts.last_lost_ns);
}

void block_recorder_totals(const struct block_recorder *r, struct block_totals *all)
{
    *all = (struct block_totals){.first_lost_ns = UINT64_MAX};
    for (size_t i = 0; i < r->device_count; i++) {
        struct block_totals one;
        block_recorder_device_totals(r, i, &one);
        all->issued += one.issued;
        all->records += one.records;
        all->lost += one.lost;
        all->lost_ring_full += one.lost_ring_full;
        all->lost_unseen += one.lost_unseen;
        all->lost_untracked += one.lost_untracked;
        all->before_attach += one.before_attach;
        all->open += one.open;
        all->empty_flushes += one.empty_flushes;
        if (one.lost > 0 && one.first_lost_ns < all->first_lost_ns)
            all->first_lost_ns = one.first_lost_ns;
        if (one.last_lost_ns > all->last_lost_ns)
            all->last_lost_ns = one.last_lost_ns;
    }
    if (all->lost == 0)
        all->first_lost_ns = 0;
}

uint64_t block_recorder_elapsed_ns(const struct block_recorder *r)
{
    return (r->stop_ns ? r->stop_ns : monotonic_ns()) - r->start_ns;
}
