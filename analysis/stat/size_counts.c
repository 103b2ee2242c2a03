/* Counting I/O sizes one by one. */
#include "analysis/stat/private/size_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * SIZE_COUNTS_MAX)

static uint32_t find_slot(const struct size_counts *s, uint64_t bytes)
{
    uint32_t slot = (uint32_t)((bytes * 0x9e3779b97f4a7c15ull) >> 48) % SLOTS;
    while (s->slots[slot].count && s->slots[slot].bytes != bytes)
        slot = (slot + 1) % SLOTS;
    return slot;
}

void size_counts_add(struct size_counts *s, uint64_t bytes)
{
    s->count++;
    s->sum += (double)bytes;
    if (s->slots[s->last].count && s->slots[s->last].bytes == bytes) {
        s->slots[s->last].count++;
        return;
    }
    uint32_t slot = find_slot(s, bytes);
    if (s->slots[slot].count == 0) {
        if (s->distinct == SIZE_COUNTS_MAX) {
            s->other_count++;
            s->other[bytes ? 64 - __builtin_clzll(bytes) : 0]++;
            return;
        }
        s->distinct++;
        s->slots[slot].bytes = bytes;
    }
    s->slots[slot].count++;
    s->last = slot;
}

double size_counts_mean(const struct size_counts *s)
{
    return s->count ? s->sum / (double)s->count : 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct size_count *left = a, *right = b;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

uint64_t size_counts_percentile(const struct size_counts *s, double percent)
{
    struct size_count sorted[SIZE_COUNTS_MAX + 65];
    size_t used = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        if (s->slots[i].count)
            sorted[used++] = s->slots[i];
    for (unsigned bits = 0; bits <= 64; bits++)
        if (s->other[bits])
            sorted[used++] = (struct size_count){bits ? 1ull << (bits - 1) : 0, s->other[bits]};
    qsort(sorted, used, sizeof *sorted, by_bytes);
    double wanted = ceil(percent / 100.0 * (double)s->count);
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted, seen = 0;
    for (size_t i = 0; i < used; i++) {
        seen += sorted[i].count;
        if (seen >= rank)
            return sorted[i].bytes;
    }
    return 0;
}
