/* The mapping of records, the survey before a replay, and the loader thread during one. */
#include "replay/pace/schedule.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "traces/reel/trace_reader.h"

#define AHEAD 16u /* batches that the loader is ahead */
#define WANTED_FIELDS                                                                              \
    (IO_HAS_ISSUE | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP | IO_HAS_FLAGS | IO_HAS_DEVICE)

const char *schedule_skip_text(unsigned reason)
{
    static const char *const texts[SKIP_REASONS] = {
        "issued",
        "writes (add --allow-writes or --writes-as-reads)",
        "of an operation that is not replayed",
        "empty",
        "over 16 MiB",
        "with an unknown offset, length or operation",
        "past the target's end (--remap clip)",
        "that the target cannot do",
    };
    return reason < SKIP_REASONS ? texts[reason] : "unknown";
}

static bool is_write(uint8_t op)
{
    return op == IO_WRITE || op == IO_DISCARD || op == IO_WRITE_ZEROES;
}

enum schedule_skip schedule_map(const struct schedule_rules *rules, const struct io_record *record,
                                struct scheduled_io *io, unsigned *changes)
{
    *changes = 0;
    io->op = record->op;
    io->flags = record->flags & (IO_FLAG_FUA | IO_FLAG_PREFLUSH);
    io->offset_bytes = record->offset_bytes;
    io->len_bytes = record->len_bytes;
    if (!(record->has & IO_HAS_OP))
        return SKIP_UNKNOWN;
    if (io->op > IO_WRITE_ZEROES)
        return SKIP_OP;
    /* A write without data that asks for a flush is one. */
    if (io->op == IO_FLUSH ||
        (io->op == IO_WRITE && io->len_bytes == 0 && (io->flags & IO_FLAG_PREFLUSH))) {
        *io = (struct scheduled_io){.op = IO_FLUSH, .number = io->number};
        return rules->allow_writes ? SKIP_NOT : SKIP_WRITE;
    }
    if (is_write(io->op)) {
        if (rules->writes_as_reads && io->op == IO_WRITE) {
            io->op = IO_READ;
            io->flags = 0;
            *changes |= CHANGE_TURNED;
        } else if (!rules->allow_writes) {
            return SKIP_WRITE;
        }
    }
    if ((record->has & (IO_HAS_OFFSET | IO_HAS_LEN)) != (IO_HAS_OFFSET | IO_HAS_LEN) ||
        io->len_bytes > UINT64_MAX - io->offset_bytes)
        return SKIP_UNKNOWN;
    if (io->len_bytes == 0)
        return SKIP_EMPTY;
    if (io->op <= IO_WRITE && io->len_bytes > SCHEDULE_IO_MAX)
        return SKIP_LARGE;
    static const enum schedule_skip skips[] = {
        [PLACED] = SKIP_NOT,
        [PLACED_EMPTY] = SKIP_EMPTY,
        [PLACED_OUTSIDE] = SKIP_OUTSIDE,
        [PLACED_OVERFLOW] = SKIP_UNKNOWN,
    };
    struct io_placing placing;
    enum io_placed placed =
        io_place(&rules->place, io->op, &io->offset_bytes, &io->len_bytes, &placing);
    *changes |= (placing.rounded ? CHANGE_ROUNDED : 0) | (placing.moved ? CHANGE_MOVED : 0);
    return skips[placed];
}

/* Is the record one to take at all? */
static bool is_taken(const struct schedule_rules *rules, const struct io_record *record)
{
    return !rules->devices || ((record->has & IO_HAS_DEVICE) && rules->devices[record->device]);
}

static int open_reader(const struct schedule_rules *rules, struct trace_reader **reader,
                       struct error *err)
{
    struct trace_reader_options options = {
        .fields = WANTED_FIELDS,
        .in_order = rules->in_order,
    };
    return trace_reader_open(rules->path, &options, reader, err);
}

/* Does [start, end) touch a hole? The first hole that ends after start is found by halving. */
static bool touches_hole(const struct replay_hole *holes, size_t count, uint64_t start,
                         uint64_t end)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (holes[middle].end_bytes <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && holes[low].start_bytes < end;
}

static void survey_issued(struct schedule_survey *survey, const struct scheduled_io *io,
                          const struct replay_hole *holes, size_t hole_count)
{
    survey->issued++;
    survey->ops[io->op]++;
    if (io->op == IO_WRITE) {
        survey->write_bytes += io->len_bytes;
        if (io->len_bytes > survey->max_write_bytes)
            survey->max_write_bytes = io->len_bytes;
    }
    if (io->op == IO_READ) {
        if (io->len_bytes > survey->max_read_bytes)
            survey->max_read_bytes = io->len_bytes;
        if (hole_count > 0 &&
            touches_hole(holes, hole_count, io->offset_bytes, io->offset_bytes + io->len_bytes)) {
            if (survey->unwritten++ == 0)
                survey->unwritten_at = io->offset_bytes;
        }
    }
}

static void survey_record(const struct schedule_rules *rules, const struct io_record *record,
                          const struct replay_hole *holes, size_t hole_count,
                          struct schedule_survey *survey)
{
    struct scheduled_io io = {0};
    unsigned changes;
    if (!(record->has & IO_HAS_ISSUE))
        survey->without_time++;
    else if (survey->records == 0 || record->issue_ns < survey->first_issue_ns)
        survey->first_issue_ns = record->issue_ns;
    if (record->issue_ns > survey->last_issue_ns)
        survey->last_issue_ns = record->issue_ns;
    survey->records++;
    enum schedule_skip skip = schedule_map(rules, record, &io, &changes);
    if (skip) {
        survey->skipped[skip]++;
        return;
    }
    survey->rounded += (changes & CHANGE_ROUNDED) != 0;
    survey->moved += (changes & CHANGE_MOVED) != 0;
    survey->turned += (changes & CHANGE_TURNED) != 0;
    if (io.op != IO_FLUSH && record->offset_bytes + record->len_bytes > survey->max_end_bytes)
        survey->max_end_bytes = record->offset_bytes + record->len_bytes;
    survey_issued(survey, &io, holes, hole_count);
}

/* Is the walk over, by count or by the trace's time? */
static bool is_past(const struct schedule_rules *rules, uint64_t taken, uint64_t issue_ns,
                    uint64_t first_issue_ns)
{
    return taken >= rules->limit ||
           (issue_ns > first_issue_ns && issue_ns - first_issue_ns >= rules->duration_ns);
}

int schedule_survey(const struct schedule_rules *rules, const struct replay_hole *holes,
                    size_t hole_count, struct schedule_survey *survey, struct error *err)
{
    struct trace_reader *reader;
    struct trace_batch batch;
    static bool seen[TRACE_DEVICES_MAX + 1];
    *survey = (struct schedule_survey){0};
    memset(seen, 0, sizeof seen);
    int rc = open_reader(rules, &reader, err);
    if (rc)
        return rc;
    bool past = false;
    while (!past && (rc = trace_reader_next(reader, &batch, err)) == 0) {
        for (size_t i = 0; i < batch.count; i++) {
            const struct io_record *record = &batch.records[i];
            if (!is_taken(rules, record))
                continue;
            uint64_t first = survey->records ? survey->first_issue_ns : record->issue_ns;
            past = is_past(rules, survey->records, record->issue_ns, first);
            if (past)
                break;
            if ((record->has & IO_HAS_DEVICE) && !seen[record->device]) {
                seen[record->device] = true;
                survey->devices++;
            }
            survey_record(rules, record, holes, hole_count, survey);
        }
    }
    if (rc == 1 && trace_reader_ending(reader) == TRACE_CUT) {
        const char *text = trace_reader_cut_text(reader);
        survey->cut = true;
        strncpy(survey->cut_text, text ? text : rules->path, sizeof survey->cut_text - 1);
    }
    trace_reader_close(reader);
    return rc < 0 ? rc : 0;
}

struct schedule {
    const struct schedule_rules *rules;
    struct replay_ring ring;
    struct schedule_batch *batches;
    struct trace_reader *reader;
    pthread_t thread;
    atomic_bool stop;
    bool taken;    /* the consumer holds a slot */
    bool finished; /* the consumer saw the last batch */
    sem_t ready;   /* posted when the ring is full or the trace at its end for the first time */
    bool is_ready;
    struct error err;
};

/* A new batch to fill; waits for one. NULL when stopped. */
static struct schedule_batch *loader_batch(struct schedule *s)
{
    if (!s->is_ready && !replay_ring_can_fill(&s->ring)) {
        s->is_ready = true;
        sem_post(&s->ready);
    }
    replay_ring_wait(&s->ring.free);
    if (atomic_load(&s->stop))
        return NULL;
    struct schedule_batch *batch = &s->batches[replay_ring_fill_slot(&s->ring)];
    batch->count = 0;
    batch->last = false;
    batch->rc = 0;
    return batch;
}

/* Reads to the end or until stopped. Returns the batch that is being filled, NULL when stopped. */
static struct schedule_batch *load(struct schedule *s, int *rc)
{
    const struct schedule_rules *rules = s->rules;
    struct schedule_batch *batch = loader_batch(s);
    struct trace_batch records;
    uint64_t number = 0;
    uint64_t taken = 0;
    uint64_t wanted_ns = 0;
    double factor = 1 / rules->speed;
    while (batch && (*rc = trace_reader_next(s->reader, &records, &s->err)) == 0) {
        for (size_t i = 0; i < records.count; i++, number++) {
            const struct io_record *record = &records.records[i];
            if (!is_taken(rules, record))
                continue;
            if (is_past(rules, taken, record->issue_ns, rules->first_issue_ns)) {
                *rc = 1;
                return batch;
            }
            taken++;
            if (batch->count == SCHEDULE_BATCH) {
                replay_ring_filled(&s->ring);
                batch = loader_batch(s);
                if (!batch)
                    return NULL;
            }
            struct scheduled_io *io = &batch->ios[batch->count++];
            unsigned changes;
            io->number = number;
            io->skip = (uint8_t)schedule_map(rules, record, io, &changes);
            /* One record without a time goes with the one before it. */
            if (rules->timed && (record->has & IO_HAS_ISSUE) &&
                record->issue_ns >= rules->first_issue_ns) {
                uint64_t since_ns = record->issue_ns - rules->first_issue_ns;
                wanted_ns = rules->speed == 1 ? since_ns : (uint64_t)((double)since_ns * factor);
            }
            io->wanted_ns = wanted_ns;
        }
    }
    return batch;
}

static void *loader_main(void *argument)
{
    struct schedule *s = argument;
    int rc = 0;
    struct schedule_batch *batch = load(s, &rc);
    if (batch) {
        batch->last = true;
        batch->rc = rc < 0 ? rc : 0;
        replay_ring_filled(&s->ring);
    }
    if (!s->is_ready)
        sem_post(&s->ready);
    return NULL;
}

int schedule_start(const struct schedule_rules *rules, struct schedule **schedule,
                   struct error *err)
{
    struct schedule *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, ENOMEM, "out of memory");
    s->rules = rules;
    replay_ring_init(&s->ring, AHEAD);
    sem_init(&s->ready, 0, 0);
    s->batches = malloc(AHEAD * sizeof *s->batches);
    int rc =
        s->batches ? open_reader(rules, &s->reader, err) : error_set(err, ENOMEM, "out of memory");
    if (rc == 0) {
        /* Signals belong to the main thread. */
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        rc = pthread_create(&s->thread, NULL, loader_main, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (rc)
            rc = error_errno(err, rc, "cannot start the thread that reads the trace");
    }
    if (rc) {
        trace_reader_close(s->reader);
        free(s->batches);
        replay_ring_destroy(&s->ring);
        sem_destroy(&s->ready);
        free(s);
        return rc;
    }
    replay_ring_wait(&s->ready);
    *schedule = s;
    return 0;
}

const struct schedule_batch *schedule_next(struct schedule *s)
{
    if (s->taken) {
        s->taken = false;
        replay_ring_taken(&s->ring);
    }
    if (s->finished || !replay_ring_can_take(&s->ring))
        return NULL;
    const struct schedule_batch *batch = &s->batches[replay_ring_take_slot(&s->ring)];
    s->taken = true;
    s->finished = batch->last;
    return batch;
}

void schedule_stop(struct schedule *s, struct error *err)
{
    if (!s)
        return;
    atomic_store(&s->stop, true);
    sem_post(&s->ring.free);
    pthread_join(s->thread, NULL);
    if (err && err->text[0] == '\0' && s->err.text[0] != '\0')
        *err = s->err;
    trace_reader_close(s->reader);
    free(s->batches);
    replay_ring_destroy(&s->ring);
    sem_destroy(&s->ready);
    free(s);
}
