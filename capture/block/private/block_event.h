/* What block.bpf.c and block_capture.c share: the events in the ring, the slots of requests in
 * flight, and the counters. Fixed-width types only, since the two sides are built for different
 * machines. All times are CLOCK_MONOTONIC in ns. */
#ifndef IOREEL_CAPTURE_BLOCK_EVENT_H
#define IOREEL_CAPTURE_BLOCK_EVENT_H

#include <linux/types.h>

#define BLOCK_DEVICES_MAX  32
#define BLOCK_COMM_BYTES   16
#define BLOCK_UNKNOWN_TIME (~0ull)
#define BLOCK_BIO_TABLE    4096 /* a power of two */

enum block_phase {
    BLOCK_OFF,   /* nothing is looked at */
    BLOCK_ON,    /* issues and completions */
    BLOCK_DRAIN, /* completions of what was issued before, no new issues */
};

enum block_event_flag {
    BLOCK_EVENT_REQUEUED = 1,
};

/* One finished request. */
struct block_event {
    __u64 issue_ns;
    __u64 latency_ns;
    __u64 queue_ns; /* BLOCK_UNKNOWN_TIME where the kernel keeps no times */
    __u64 sector;   /* of 512 bytes */
    __u32 len_bytes;
    __u32 cmd_flags; /* the kernel's own bits; request_codes.c reads them */
    __u32 pid;
    __u32 depth;
    char comm[BLOCK_COMM_BYTES];
    __u16 device;
    __u16 hw_queue;
    __u16 cpu;
    __u8 status; /* blk_status_t, or an errno from kernels whose tracepoint gives that */
    __u8 flags;  /* enum block_event_flag */
};

/* A request in flight. open_ns is its issue time while it is open and 0 while the slot is free; it
 * is unique, so that a slot is closed exactly once by whoever compares and swaps it. */
struct block_slot {
    __u64 open_ns;
    __u64 request;       /* its address in the kernel, to tell whose slot it is */
    __u64 start_time_ns; /* the kernel's own mark on the request: another one is another request */
    struct block_event event;
    __u32 given_back; /* requeued by the driver and not issued again yet */
    __u32 padding[7];
};

/* Counters of one device on one CPU, so that no two CPUs write one cache line. */
struct block_counts {
    __u64 issued;
    __u64 before_attach;
    __u64 lost_ring_full;
    __u64 lost_unseen;    /* completion unseen: the slot was used again, or the request is idle */
    __u64 lost_untracked; /* no slot was left, or the issue itself was not seen */
    __u64 empty_flushes;  /* flushes without data, which the kernel completes twice */
    __u64 first_lost_ns;  /* 0: none */
    __u64 last_lost_ns;
};

struct block_inflight {
    __s64 count;
    __u64 padding[7];
};

/* A device to watch, and its share of the slots: base + hw_queue * tags + tag. */
struct block_target {
    __u32 dev; /* major << 20 | minor of the whole disk */
    __u32 base;
    __u32 hw_queues;
    __u32 tags;
};

/* In and out of the sweep, which finds requests that completed without a completion seen. */
struct block_sweep {
    __u64 issued_before_ns; /* leave younger ones alone */
    __u32 found;
    __u32 padding;
};

#endif
