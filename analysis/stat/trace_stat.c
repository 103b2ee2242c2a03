/* Gathering a trace's statistics in one ordered pass. */
#include "analysis/stat/private/trace_stat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/progress.h"

static enum stat_group group_of(unsigned op)
{
    return op == IO_READ ? STAT_READ : op == IO_WRITE ? STAT_WRITE : STAT_OTHER;
}

/* Beyond a few devices their working sets are estimated sooner, so that all of them fit. */
#define EXACT_DEVICES 4u
#define SMALL_SET     (1u << 15)

static int prepare_scope(struct stat_scope *s, bool detail, uint32_t exact_max)
{
    s->detail = detail;
    s->next_offset = UINT64_MAX;
    if (!detail)
        return 0;
    s->working_set = working_set_create(exact_max);
    return s->working_set ? 0 : -ENOMEM;
}

static void clear_scope(struct stat_scope *s)
{
    for (unsigned g = 0; g < STAT_GROUPS; g++) {
        free(s->op[g].sizes);
        free(s->op[g].latency);
    }
    free(s->intervals);
    free(s->depth.done);
    working_set_free(s->working_set);
}

void trace_stat_clear(struct trace_stat *stat)
{
    clear_scope(&stat->all);
    for (size_t i = 0; i < stat->device_count; i++)
        clear_scope(&stat->devices[i]);
    free(stat->devices);
    *stat = (struct trace_stat){0};
}

/* Memory for what a record brings that the scope has not seen yet; outside of the hot path. */
static int prepare_op(struct stat_scope *s, struct stat_op *op, uint32_t has)
{
    if (has & IO_HAS_LEN && !op->sizes) {
        op->sizes = calloc(1, sizeof *op->sizes);
        if (!op->sizes)
            return -ENOMEM;
    }
    if (has & IO_HAS_LATENCY && !op->latency) {
        op->latency = calloc(1, sizeof *op->latency);
        if (!op->latency)
            return -ENOMEM;
    }
    if (has & IO_HAS_ISSUE && !s->intervals) {
        s->intervals = calloc(1, sizeof *s->intervals);
        if (!s->intervals)
            return -ENOMEM;
    }
    return 0;
}

static void swap_times(uint64_t *a, uint64_t *b)
{
    uint64_t held = *a;
    *a = *b;
    *b = held;
}

static int push_done(struct stat_depth *d, uint64_t done_ns)
{
    if (d->done_count == d->done_room) {
        if (d->done_room == STAT_IN_FLIGHT_MAX)
            return 0;
        uint32_t room = d->done_room ? 2 * d->done_room : 64;
        uint64_t *done = realloc(d->done, room * sizeof *done);
        if (!done)
            return -ENOMEM;
        d->done = done;
        d->done_room = room;
    }
    uint32_t at = d->done_count++;
    d->done[at] = done_ns;
    for (; at > 0 && d->done[at] < d->done[(at - 1) / 2]; at = (at - 1) / 2)
        swap_times(&d->done[at], &d->done[(at - 1) / 2]);
    return 0;
}

static void pop_done(struct stat_depth *d)
{
    d->done[0] = d->done[--d->done_count];
    for (uint32_t at = 0;;) {
        uint32_t least = at, left = 2 * at + 1;
        if (left < d->done_count && d->done[left] < d->done[least])
            least = left;
        if (left + 1 < d->done_count && d->done[left + 1] < d->done[least])
            least = left + 1;
        if (least == at)
            return;
        swap_times(&d->done[at], &d->done[least]);
        at = least;
    }
}

/* Lets the completions up to `now` take the depth down. */
static void advance_depth(struct stat_depth *d, uint64_t now)
{
    while (d->done_count && d->done[0] <= now) {
        uint64_t done = d->done[0] > d->at_ns ? d->done[0] : d->at_ns;
        d->integral += d->level * (double)(done - d->at_ns);
        d->level = d->level >= 1 ? d->level - 1 : 0;
        d->at_ns = done;
        pop_done(d);
    }
    d->integral += d->level * (double)(now - d->at_ns);
    d->at_ns = now;
}

static int add_depth(struct stat_depth *d, const struct io_record *r)
{
    if (!d->any)
        d->at_ns = r->issue_ns;
    d->any = true;
    advance_depth(d, r->issue_ns);
    d->level = r->depth;
    d->last_ns = r->issue_ns;
    if (r->depth > d->max)
        d->max = r->depth;
    return r->has & IO_HAS_LATENCY ? push_done(d, r->issue_ns + r->latency_ns) : 0;
}

static void add_time(struct stat_scope *s, const struct io_record *r)
{
    uint64_t done = r->issue_ns + r->latency_ns;
    if (!s->timed) {
        s->timed = true;
        s->first_ns = r->issue_ns;
    } else if (s->detail) {
        uint64_t interval = r->issue_ns - s->last_issue_ns;
        histogram_add(s->intervals, interval);
        s->interval_sum_sq += (double)interval * (double)interval;
    }
    s->last_issue_ns = r->issue_ns;
    s->last_ns = done > s->last_ns ? done : s->last_ns;
}

static int add_record(struct stat_scope *s, const struct io_record *r, bool one_device)
{
    struct stat_op *op = &s->op[group_of(r->op)];
    if (s->detail &&
        ((r->has & IO_HAS_LEN && !op->sizes) || (r->has & IO_HAS_LATENCY && !op->latency) ||
         (r->has & IO_HAS_ISSUE && !s->intervals)) &&
        prepare_op(s, op, r->has))
        return -ENOMEM;
    s->records++;
    op->count++;
    op->bytes += r->len_bytes;
    bool failed = r->status != 0;
    s->errors += failed;
    op->errors += failed;
    if (r->has & IO_HAS_ISSUE)
        add_time(s, r);
    if (r->has & IO_HAS_LATENCY) {
        s->latency_sum_ns += (double)r->latency_ns;
        s->latency_count++;
    }
    if (one_device && r->has & IO_HAS_DEPTH && r->has & IO_HAS_ISSUE && add_depth(&s->depth, r))
        return -ENOMEM;
    if (one_device && r->op <= IO_WRITE && r->has & IO_HAS_OFFSET) {
        s->located++;
        s->sequential += r->offset_bytes == s->next_offset;
        s->next_offset = r->offset_bytes + r->len_bytes;
    }
    if (!s->detail)
        return 0;
    if (r->has & IO_HAS_LEN)
        size_counts_add(op->sizes, r->len_bytes);
    /* How long a refusal took is no service time: an error of 5 us is not a fast disk. */
    if (r->has & IO_HAS_LATENCY && !failed)
        histogram_add(op->latency, r->latency_ns);
    if (r->op <= IO_WRITE && r->has & IO_HAS_OFFSET)
        working_set_add(s->working_set, r->device, r->offset_bytes, r->len_bytes);
    return 0;
}

static int make_devices(struct trace_stat *stat, size_t count)
{
    if (count <= stat->device_count)
        return 0;
    struct stat_scope *devices = realloc(stat->devices, count * sizeof *devices);
    if (!devices)
        return -ENOMEM;
    stat->devices = devices;
    while (stat->device_count < count) {
        struct stat_scope *s = &devices[stat->device_count];
        *s = (struct stat_scope){0};
        stat->device_count++;
        if (prepare_scope(s, stat->device_count <= STAT_DETAILED_DEVICES,
                          stat->device_count <= EXACT_DEVICES ? WORKING_SET_EXACT_MAX : SMALL_SET))
            return -ENOMEM;
    }
    return 0;
}

/* Depth and locality belong to devices; the whole is their sum. */
static void sum_devices(struct trace_stat *stat)
{
    for (size_t i = 0; i < stat->device_count; i++) {
        struct stat_scope *d = &stat->devices[i];
        if (d->depth.any && d->last_ns > d->depth.last_ns)
            advance_depth(&d->depth, d->last_ns);
        stat->all.sequential += d->sequential;
        stat->all.located += d->located;
        stat->all.depth.any |= d->depth.any;
        stat->all.depth.integral += d->depth.integral;
        if (d->depth.max > stat->all.depth.max)
            stat->all.depth.max = d->depth.max;
    }
}

static int add_batch(struct trace_stat *stat, const struct trace_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct io_record *r = &batch->records[i];
        if (add_record(&stat->all, r, false) || add_record(&stat->devices[r->device], r, true))
            return -ENOMEM;
    }
    return 0;
}

int trace_stat_read(struct trace_stat *stat, struct trace_reader *reader, struct error *err)
{
    struct trace_summary summary;
    struct progress progress;
    struct trace_batch batch;
    int rc = prepare_scope(&stat->all, true, WORKING_SET_EXACT_MAX) || make_devices(stat, 1)
                 ? -ENOMEM
                 : 0;
    if (!rc)
        rc = trace_reader_summary(reader, &summary, err);
    progress_start(&progress, "read");
    while (!rc && (rc = trace_reader_next(reader, &batch, err)) == 0) {
        if (make_devices(stat, trace_reader_meta(reader)->device_count) || add_batch(stat, &batch))
            rc = -ENOMEM;
        progress_update(&progress, stat->all.records, summary.records);
        if (interrupt_seen())
            rc = 2;
    }
    progress_end(&progress);
    sum_devices(stat);
    return rc == -ENOMEM ? error_set(err, ENOMEM, "out of memory for the statistics") : rc;
}

uint64_t stat_span_ns(const struct stat_scope *s)
{
    return s->last_ns > s->first_ns ? s->last_ns - s->first_ns : 0;
}

double stat_depth_mean(const struct stat_scope *s)
{
    uint64_t span = stat_span_ns(s);
    return s->depth.any && span ? s->depth.integral / (double)span : NAN;
}
