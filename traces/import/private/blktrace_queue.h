/* When, and by whom, the bios that wait for their issue were queued: a fixed table of a blktrace's
 * queue events, by device and sector. Private to the blktrace importer. Entries that are never
 * asked for (a bio whose merge was not traced) are pushed out by newer ones. */
#ifndef IOREEL_TRACES_BLKTRACE_QUEUE_H
#define IOREEL_TRACES_BLKTRACE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct blktrace_queue;

struct queued_bio {
    uint64_t time_ns;
    uint64_t sector;
    uint32_t device;
    uint32_t pid;
    bool empty; /* no data: a flush, which bears sector 0 too */
    bool taken;
};

struct blktrace_queue *blktrace_queue_create(void); /* NULL when out of memory */
void blktrace_queue_free(struct blktrace_queue *q); /* NULL is fine */

/* Keeps it beside others of the same sector; the oldest of its place makes room. */
void blktrace_queue_put(struct blktrace_queue *q, const struct queued_bio *bio);
/* The oldest of this device and sector, taken out into `bio`; false when there is none. */
bool blktrace_queue_take(struct blktrace_queue *q, uint32_t device, uint64_t sector, bool empty,
                         struct queued_bio *bio);
/* The same without taking it out. */
bool blktrace_queue_has(const struct blktrace_queue *q, uint32_t device, uint64_t sector,
                        bool empty);

#endif
