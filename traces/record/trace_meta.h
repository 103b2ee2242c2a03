/* What a trace says of itself: where and how it was recorded, its devices and processes, its loss.
 */
#ifndef IOREEL_TRACES_TRACE_META_H
#define IOREEL_TRACES_TRACE_META_H

#include "common/error.h"
#include "traces/record/record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the clock stood. Latencies of unequal vantage are never divided by each other. */
enum vantage {
    VANTAGE_UNKNOWN,
    VANTAGE_APP,
    VANTAGE_BIO,
    VANTAGE_REQUEST,
    VANTAGE_DRIVER,
    VANTAGE_WIRE,
    VANTAGE_COUNT,
};

const char *vantage_name(unsigned vantage); /* NULL for unknown */
int vantage_parse(const char *text, unsigned *vantage);

/* A device of the trace. Numbers that are not known are TRACE_UNKNOWN, texts NULL. */
#define TRACE_UNKNOWN UINT64_MAX

struct trace_device {
    char *name; /* never NULL */
    char *driver;
    char *model;
    char *firmware;
    char *serial; /* WWID or serial number */
    char *scheduler;
    char *write_cache;
    uint64_t capacity_bytes;
    uint64_t logical_block_bytes;
    uint64_t physical_block_bytes;
    uint64_t queue_depth; /* what the driver grants, per hardware queue where it has several */
    uint64_t hw_queues;
    uint64_t nr_requests;
    uint64_t max_sectors_bytes;
    uint64_t wbt_lat_us;
    uint64_t rotational;
};

struct trace_process {
    uint32_t pid;
    char name[32]; /* the task's comm, NUL-terminated */
};

/* Interning tables, index = what records hold. Both are owned by the trace_meta. */
struct trace_meta {
    unsigned vantage;
    uint64_t time_resolution_ns; /* 1: nanoseconds; 1000000000: whole seconds; 0 is not allowed */
    uint64_t start_realtime_ns;  /* wall clock of time 0, since 1970; TRACE_UNKNOWN */
    char *producer;              /* "ioreel 0.1.0 capture" */
    json_t *environment;         /* object of texts and numbers: host, kernel, governor, … */
    struct trace_device *devices;
    size_t device_count;
    struct trace_process *processes;
    size_t process_count;
    /* hash from (pid, name) to index, of the size process_slots (a power of two) */
    uint32_t *process_hash;
    size_t process_slots;
    /* the same from a device's name; a device's name never changes */
    uint32_t *device_hash;
    size_t device_slots;
};

#define TRACE_DEVICES_MAX   65535u
#define TRACE_PROCESSES_MAX (1u << 20)

/* Resolution 1 ns, unknown start, empty environment, no devices. 0 or -ENOMEM. */
int trace_meta_init(struct trace_meta *meta);
void trace_meta_clear(struct trace_meta *meta);

/* The index of the device of that name, added when new (with everything else unknown), or -errno:
 * -ENOSPC beyond TRACE_DEVICES_MAX. Its strings are the meta's: set them with trace_set_text(). */
int trace_meta_device(struct trace_meta *meta, const char *name);
/* The same without adding it: -ENOENT when there is none. */
int trace_meta_find_device(const struct trace_meta *meta, const char *name);
/* The index of (pid, name), added when new, or -errno. */
int64_t trace_meta_process(struct trace_meta *meta, uint32_t pid, const char *name);

/* Replaces *field by a copy of text (NULL: unknown). Lets out-of-memory pass as unknown. */
void trace_set_text(char **field, const char *text);

/* All of it but the processes as a JSON object, and back; what the .reel header holds. */
json_t *trace_meta_to_json(const struct trace_meta *meta);
int trace_meta_from_json(struct trace_meta *meta, const json_t *object, struct error *err);
/* One device, as in the header and in `info`. New reference. */
json_t *trace_device_to_json(const struct trace_device *device);

/* What was lost and left over, beside the records. */
struct trace_loss {
    uint64_t lost;          /* I/Os that happened and are not in the trace */
    uint64_t before_attach; /* completed, but issued before the recording began: no records */
    uint64_t open;          /* records without latency since they were in flight at the end */
    uint64_t first_lost_ns; /* when, in the trace's time; valid when lost > 0 */
    uint64_t last_lost_ns;
};

#endif
