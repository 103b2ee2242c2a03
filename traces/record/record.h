/* The record: one block I/O. Everything in ioreel that moves I/Os about moves these.
 *
 * Times are nanoseconds, sizes bytes, no pointers. A field can be unknown in one record and known
 * in the next: `has` says which ones hold; a field whose bit is absent is 0 and means nothing. */
#ifndef IOREEL_TRACES_RECORD_H
#define IOREEL_TRACES_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum io_op {
    IO_READ,
    IO_WRITE,
    IO_FLUSH,
    IO_DISCARD,
    IO_WRITE_ZEROES,
    IO_ZONE_APPEND,
    IO_ZONE_MGMT,
    IO_COMPARE,
    IO_OTHER,
    IO_OP_COUNT,
};

/* Bits of io_record.flags. */
enum io_flag {
    IO_FLAG_FUA = 1u << 0,
    IO_FLAG_SYNC = 1u << 1,
    IO_FLAG_PREFLUSH = 1u << 2,
    IO_FLAG_META = 1u << 3,
    IO_FLAG_READAHEAD = 1u << 4,
    IO_FLAG_BACKGROUND = 1u << 5,
    IO_FLAG_PRIO = 1u << 6,
    IO_FLAG_IDLE = 1u << 7,
    IO_FLAG_PASSTHROUGH = 1u << 8,
    IO_FLAG_REQUEUED = 1u << 9,     /* given back by the driver and issued again */
    IO_FLAG_OPEN_AT_END = 1u << 10, /* still in flight when the trace ended: no latency */
    IO_FLAG_COUNT = 11,
};

/* Fields, as bits: of io_record.has, of the masks that readers take, and of what a trace has. The
 * number of a bit is also the field's number in the .reel file: never reuse one. */
enum io_field {
    IO_HAS_ISSUE = 1u << 0,
    IO_HAS_QUEUE = 1u << 1,
    IO_HAS_LATENCY = 1u << 2,
    IO_HAS_OFFSET = 1u << 3,
    IO_HAS_LEN = 1u << 4,
    IO_HAS_OP = 1u << 5,
    IO_HAS_FLAGS = 1u << 6,
    IO_HAS_STATUS = 1u << 7,
    IO_HAS_RAW_STATUS = 1u << 8,
    IO_HAS_DEPTH = 1u << 9,
    IO_HAS_DEMAND = 1u << 10,
    IO_HAS_DEVICE = 1u << 11,
    IO_HAS_PROCESS = 1u << 12,
    IO_HAS_HW_QUEUE = 1u << 13,
    IO_HAS_CPU = 1u << 14,
    IO_HAS_PARENT = 1u << 15,
    IO_HAS_THINK = 1u << 16,
    IO_FIELD_COUNT = 17,
    IO_HAS_ALL = (1u << IO_FIELD_COUNT) - 1,
};

struct io_record {
    uint64_t issue_ns;     /* handed to the driver (or wire, or kernel: see vantage), since start */
    uint64_t queue_ns;     /* waited before that; in a replay's result the lateness */
    uint64_t latency_ns;   /* issue to completion */
    uint64_t offset_bytes; /* from the start of the device */
    uint64_t len_bytes;
    uint64_t think_ns;   /* reserved: from the parent's completion to this submission */
    uint32_t demand;     /* requests that wanted the device: waiting for a tag, queued, in flight */
    uint32_t process;    /* index into the trace's processes */
    uint32_t raw_status; /* the protocol's own status */
    uint32_t parent;     /* reserved: the completion whose wakeup led to this submission */
    uint32_t has;        /* IO_HAS_* */
    uint16_t depth;      /* in flight on the device at issue, this one included; 65535 and above */
    uint16_t device;     /* index into the trace's devices */
    uint16_t hw_queue;
    uint16_t cpu;
    uint16_t flags; /* IO_FLAG_* */
    uint8_t op;     /* enum io_op */
    uint8_t status; /* 0 or a positive errno; 255 for one above that */
};

_Static_assert(sizeof(struct io_record) == 80, "the record is 80 bytes");

/* Spellings, as in text, CSV and JSON. io_op_parse also takes R and W, any case. */
const char *io_op_name(unsigned op);
int io_op_parse(const char *text, size_t length, uint8_t *op);
/* "fua|sync", "" for none; out must hold IO_FLAGS_TEXT. */
#define IO_FLAGS_TEXT 128
char *io_flags_format(unsigned flags, char out[IO_FLAGS_TEXT]);
int io_flags_parse(const char *text, size_t length, uint16_t *flags);

/* The field's name in CSV, JSON and the manual: "issue_ns", "op", … */
const char *io_field_name(unsigned field_number);

#endif
