/* The kernel side of a capture, loaded, attached and drained: it hands out block_events as they
 * complete and knows what is in flight. It knows nothing of files. Not thread-safe.
 *
 * The order of use: open, start, any number of drains, stop_issues, drains until nothing is open,
 * stop, drain, each_open, close. */
#ifndef IOREEL_CAPTURE_BLOCK_CAPTURE_H
#define IOREEL_CAPTURE_BLOCK_CAPTURE_H

#include "capture/block/private/block_device.h"
#include "capture/block/private/block_event.h"
#include "capture/block/private/request_codes.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_capture;

struct block_capture_options {
    size_t ring_bytes;  /* rounded up to a power of two */
    bool slots_by_hash; /* find requests by address instead of by hardware queue and tag */
    bool no_bio_times;  /* queue time starts when the request is allocated */
};

/* Loads and attaches; nothing is recorded before the start. `devices` must outlive the capture. 0
 * or -errno: -EPERM names the capability that is missing. */
int block_capture_open(const struct block_device *devices, size_t count,
                       const struct block_capture_options *options, struct block_capture **capture,
                       struct error *err);
void block_capture_close(struct block_capture *c); /* detaches; NULL is fine */

/* How to read the events' ops, flags and statuses. */
const struct request_codes *block_capture_codes(const struct block_capture *c);

/* Opens the gate for issues and completions; returns the CLOCK_MONOTONIC ns before which no request
 * in the trace was issued. */
uint64_t block_capture_start(struct block_capture *c);
void block_capture_stop_issues(struct block_capture *c);
void block_capture_stop(struct block_capture *c); /* no event is made after it returns */

typedef void (*block_event_fn)(void *context, const struct block_event *event);

/* Hands out what is in the ring. Returns the number of events, or -errno. */
int block_capture_drain(struct block_capture *c, block_event_fn take, void *context);

/* The share of the ring that is filled, 0 to 1. */
double block_capture_fill(const struct block_capture *c);

/* Finds requests older than `age_ns` whose completion was never seen, counts them lost and frees
 * their slots. Returns how many, or -errno where the kernel cannot do it. */
int block_capture_sweep(struct block_capture *c, uint64_t age_ns);

/* The issue time of the oldest open request, or UINT64_MAX; *open counts them (NULL is fine). Calls
 * `take` for each, when given: an event without latency. */
uint64_t block_capture_oldest(struct block_capture *c, size_t *open, block_event_fn take,
                              void *context);
/* How many slots that looks at: a measure of its cost. SIZE_MAX when each takes a system call. */
size_t block_capture_slots(const struct block_capture *c);

/* The counters of one device over all CPUs. */
void block_capture_counts(const struct block_capture *c, size_t device,
                          struct block_counts *counts);

/* Times that the kernel did not run a program since it was running on that CPU already. */
uint64_t block_capture_missed_runs(const struct block_capture *c);

#endif
