/* The events of a blktrace recording, in the order of time, whatever files they lie in. Private to
 * the blktrace importer: reads the binary records of versions 7 and 8 in either byte order, counts
 * gaps in the sequence numbers, keeps the notes (process names, wall clock), merges the inputs.
 *
 * The layout is that of Linux's include/uapi/linux/blktrace_api.h. */
#ifndef IOREEL_TRACES_BLKTRACE_EVENTS_H
#define IOREEL_TRACES_BLKTRACE_EVENTS_H

#include "traces/import/importers.h"

/* What happened: the low byte of the action. Others (plug, unplug, insert, sleep, …) are handed out
 * too and mean nothing to us. */
enum blktrace_act {
    BLKTRACE_QUEUE = 1,
    BLKTRACE_BACK_MERGE = 2,
    BLKTRACE_FRONT_MERGE = 3,
    BLKTRACE_GET_REQUEST = 4,
    BLKTRACE_REQUEUE = 6,
    BLKTRACE_ISSUE = 7,
    BLKTRACE_COMPLETE = 8,
    BLKTRACE_SPLIT = 13,
    BLKTRACE_REMAP = 15,
};

/* Of what kind: the action's bits from 16 on. */
enum blktrace_category {
    BLKTRACE_READ = 1u << 0,
    BLKTRACE_WRITE = 1u << 1,
    BLKTRACE_FLUSH = 1u << 2,
    BLKTRACE_SYNC = 1u << 3,
    BLKTRACE_PASSTHROUGH = 1u << 9,
    BLKTRACE_NOTIFY = 1u << 10,
    BLKTRACE_AHEAD = 1u << 11,
    BLKTRACE_META = 1u << 12,
    BLKTRACE_DISCARD = 1u << 13,
    BLKTRACE_DRIVER_DATA = 1u << 14,
    BLKTRACE_FUA = 1u << 15,
    /* version 8 only */
    BLKTRACE_ZONE_APPEND = 1u << 16,
    BLKTRACE_ZONE_MGMT = 0x1fu << 17, /* reset, reset all, finish, open, close */
    BLKTRACE_WRITE_ZEROES = 1u << 22,
};

struct blktrace_event {
    uint64_t time_ns;      /* the kernel's monotonic clock */
    uint64_t sector;       /* of 512 bytes */
    uint64_t split_sector; /* of a split: where its second part begins */
    uint32_t bytes;
    uint32_t categories;
    uint32_t pid;
    uint32_t device; /* major << 20 | minor */
    uint32_t cpu;
    uint16_t input; /* which of the inputs it came from */
    uint8_t act;
    uint8_t status; /* 0 or a positive errno */
};

struct blktrace_stream;

/* Looks at each input's first bytes, and reads up to the first event of each. Several
 * inputs named *.blktrace.N, each with one CPU at its start, hold that CPU's events in order; any
 * other may hold several CPUs' interleaved, and is ordered within a window of BLKTRACE_WINDOW events. Borrows the inputs, the sink and its meta. */
#define BLKTRACE_WINDOW (1u << 18)
int blktrace_stream_open(struct import_input **inputs, size_t input_count, struct import_sink *sink,
                         struct blktrace_stream **stream, struct error *err);
void blktrace_stream_close(struct blktrace_stream *s); /* NULL is fine */

/* 0, 1 at the end, -EBADMSG. Times never go back. */
int blktrace_stream_next(struct blktrace_stream *s, struct blktrace_event *event,
                         struct error *err);

struct blktrace_facts {
    unsigned version;
    bool big_endian;
    uint64_t start_ns;          /* time of the first event */
    uint64_t start_realtime_ns; /* wall clock then; TRACE_UNKNOWN */
    bool bios_only;             /* queue events, no issues: a device without requests (dm, md) */
    uint64_t lost_events;       /* gaps in the sequence numbers; all that follows is so far */
    uint64_t first_lost_ns;     /* the kernel's clock; valid when lost_events > 0 */
    uint64_t last_lost_ns;
    uint64_t disordered; /* events beyond the window, taken as of the time that was reached */
};

const struct blktrace_facts *blktrace_stream_facts(const struct blktrace_stream *s);
/* The index, in the meta, of the process that last bore this pid; its name may be "". -errno. */
int64_t blktrace_stream_process(struct blktrace_stream *s, uint32_t pid);

/* "sda" of "/tmp/sda.blktrace.0" or its .gz, .xz, .zst, into `stem`; false for another name. */
bool blktrace_stem(const char *path, char *stem, size_t room);

#endif
