/* A set-associative table: a place of eight entries a hash value, the oldest gives way. */
#include "traces/import/private/blktrace_queue.h"

#include <stddef.h>
#include <stdlib.h>

#define SETS 8192u
#define WAYS 8u

struct blktrace_queue {
    struct queued_bio sets[SETS][WAYS];
};

static size_t set_of(uint32_t device, uint64_t sector)
{
    uint64_t mixed = (sector ^ (uint64_t)device << 40) * 0x9e3779b97f4a7c15ull;
    return (size_t)(mixed >> 40) & (SETS - 1);
}

struct blktrace_queue *blktrace_queue_create(void)
{
    return calloc(1, sizeof(struct blktrace_queue));
}

void blktrace_queue_free(struct blktrace_queue *q)
{
    free(q);
}

void blktrace_queue_put(struct blktrace_queue *q, const struct queued_bio *bio)
{
    struct queued_bio *set = q->sets[set_of(bio->device, bio->sector)];
    size_t way = 0;
    for (size_t i = 0; i < WAYS; i++) {
        if (!set[i].taken) {
            way = i;
            break;
        }
        if (set[i].time_ns < set[way].time_ns)
            way = i;
    }
    set[way] = *bio;
    set[way].taken = true;
}

static const struct queued_bio *find(const struct blktrace_queue *q, uint32_t device,
                                     uint64_t sector, bool empty)
{
    const struct queued_bio *set = q->sets[set_of(device, sector)];
    const struct queued_bio *oldest = NULL;
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].taken && set[i].sector == sector && set[i].device == device &&
            set[i].empty == empty && (!oldest || set[i].time_ns < oldest->time_ns))
            oldest = &set[i];
    return oldest;
}

bool blktrace_queue_has(const struct blktrace_queue *q, uint32_t device, uint64_t sector,
                        bool empty)
{
    return find(q, device, sector, empty) != NULL;
}

bool blktrace_queue_take(struct blktrace_queue *q, uint32_t device, uint64_t sector, bool empty,
                         struct queued_bio *bio)
{
    const struct queued_bio *found = find(q, device, sector, empty);
    if (!found)
        return false;
    *bio = *found;
    /* A way that is not `taken` may be written over. */
    q->sets[set_of(device, sector)][found - q->sets[set_of(device, sector)]].taken = false;
    return true;
}
