/* Turns a trace into the I/Os of a replay: what each record becomes on this target, when it is due,
 * and why some are skipped.
 *
 * The trace is read twice. schedule_survey() looks at every record once before anything is issued,
 * so that a trace that does not fit, is damaged, or reads what was never written is refused while
 * nothing has happened yet. schedule_start() then reads it again in a thread of its own, which
 * stays ahead of the replay by a fixed number of batches; the timing loop never decodes anything.
 */
#ifndef IOREEL_REPLAY_SCHEDULE_H
#define IOREEL_REPLAY_SCHEDULE_H

#include "common/error.h"
#include "replay/pace/private/replay_ring.h"
#include "replay/guard/replay_target.h"
#include "traces/record/placement.h"
#include "traces/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Larger reads and writes are skipped and counted: they do not occur below the block layer. */
#define SCHEDULE_IO_MAX (16ull << 20)

#define SCHEDULE_ALL UINT64_MAX

/* Why a record is not issued. */
enum schedule_skip {
    SKIP_NOT,     /* it is */
    SKIP_WRITE,   /* writes are not allowed */
    SKIP_OP,      /* an operation that is not replayed: zone management, compare, other */
    SKIP_EMPTY,   /* length 0, or nothing left of a discard once rounded to whole blocks */
    SKIP_LARGE,   /* over SCHEDULE_IO_MAX */
    SKIP_UNKNOWN, /* the trace does not know its offset, length or operation */
    SKIP_OUTSIDE, /* past the target's end, with --remap clip */
    SKIP_TARGET,  /* the target answered that it cannot do that operation */
    SKIP_REASONS,
};

const char *schedule_skip_text(unsigned reason);

struct scheduled_io {
    uint64_t wanted_ns; /* since the replay's start */
    uint64_t offset_bytes;
    uint64_t len_bytes;
    uint64_t number; /* of the record in the trace, from 0 */
    uint16_t flags;  /* IO_FLAG_FUA, IO_FLAG_PREFLUSH */
    uint8_t op;      /* enum io_op */
    uint8_t skip;    /* enum schedule_skip */
};

/* How records become I/Os. Plain data; the caller fills it once. */
struct schedule_rules {
    const char *path; /* of the trace */
    bool in_order;    /* by issue time: always, but for a trace without times */
    bool timed;       /* --timing original */
    bool allow_writes;
    bool writes_as_reads;
    struct io_placement place; /* its target_bytes is known once the target is open */
    double speed;            /* 2 is twice as fast */
    uint64_t first_issue_ns; /* of the first record that is taken */
    const bool *devices;     /* by index, those to take; NULL: all */
    uint64_t limit;          /* records to take; SCHEDULE_ALL: all */
    uint64_t duration_ns;    /* of the trace's time to take; SCHEDULE_ALL: all */
};

/* What the survey found. */
struct schedule_survey {
    uint64_t records; /* taken */
    uint64_t issued;  /* of them, those that will be issued */
    uint64_t skipped[SKIP_REASONS];
    uint64_t rounded;          /* moved or grown to whole blocks of the target */
    uint64_t moved;            /* to another place or cut by --remap wrap or scale */
    uint64_t turned;           /* writes that became reads */
    uint64_t ops[IO_OP_COUNT]; /* of those issued */
    uint64_t write_bytes;
    uint64_t max_write_bytes; /* of one write */
    uint64_t max_read_bytes;
    uint64_t max_end_bytes; /* before any remapping */
    uint64_t first_issue_ns;
    uint64_t last_issue_ns;
    uint64_t without_time;
    uint64_t unwritten;    /* reads that touch a hole */
    uint64_t unwritten_at; /* where the first of them is */
    size_t devices;        /* of the trace that have records */
    bool cut;              /* the trace ended early */
    char cut_text[256];
};

/* What the target made of a record that is issued; bits. */
enum schedule_change {
    CHANGE_ROUNDED = 1, /* to whole blocks */
    CHANGE_MOVED = 2,   /* to another place, or cut, by a remap */
    CHANGE_TURNED = 4,  /* a write into a read */
};

/* Maps one record by the rules. Returns why it is skipped, or SKIP_NOT with *io filled and *changes
 * the schedule_change bits. io->number and wanted_ns are not touched. */
enum schedule_skip schedule_map(const struct schedule_rules *rules, const struct io_record *record,
                                struct scheduled_io *io, unsigned *changes);

/* Reads the whole trace once. `holes` are the target's, sorted; reads that touch one are counted.
 */
int schedule_survey(const struct schedule_rules *rules, const struct replay_hole *holes,
                    size_t hole_count, struct schedule_survey *survey, struct error *err);

#define SCHEDULE_BATCH 4096u

struct schedule_batch {
    size_t count;
    bool last; /* no batch follows */
    int rc;    /* with last: 0, or why the trace could not be read to its end */
    struct scheduled_io ios[SCHEDULE_BATCH];
};

struct schedule;

/* Starts the loader thread; the rules must outlive it. The first batches are ready on return. */
int schedule_start(const struct schedule_rules *rules, struct schedule **schedule,
                   struct error *err);
/* The next batch, or NULL when the loader has not got it ready yet. It never enters the kernel. The
 * batch before is given back by it. */
const struct schedule_batch *schedule_next(struct schedule *s);
/* Stops the thread, wherever it is. On a loader's error err gets its text. NULL is fine. */
void schedule_stop(struct schedule *s, struct error *err);

#endif
