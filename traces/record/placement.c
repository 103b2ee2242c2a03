/* Placing I/Os on another target. */
#include "traces/record/placement.h"

#include <string.h>

#include "traces/record/record.h"

static const char *const names[REMAP_COUNT] = {"none", "wrap", "scale", "clip"};

const char *io_remap_name(unsigned remap)
{
    return remap < REMAP_COUNT ? names[remap] : "unknown";
}

enum io_remap io_remap_find(const char *name)
{
    unsigned i = 0;
    while (i < REMAP_COUNT && strcmp(name, names[i]) != 0)
        i++;
    return (enum io_remap)i;
}

static enum io_placed align(uint64_t mask, uint8_t op, uint64_t *offset_bytes, uint64_t *len_bytes,
                            bool *rounded)
{
    uint64_t start = *offset_bytes;
    uint64_t end = start + *len_bytes;
    if (((start | end) & mask) == 0)
        return PLACED;
    if (end > UINT64_MAX - mask)
        return PLACED_OVERFLOW;
    *rounded = true;
    if (op == IO_READ || op == IO_WRITE) {
        start &= ~mask;
        end = (end + mask) & ~mask;
    } else {
        start = (start + mask) & ~mask;
        end &= ~mask;
    }
    *offset_bytes = start;
    *len_bytes = end > start ? end - start : 0;
    return *len_bytes ? PLACED : PLACED_EMPTY;
}

static enum io_placed remap(const struct io_placement *p, uint64_t *offset_bytes,
                            uint64_t *len_bytes)
{
    uint64_t size = p->target_bytes;
    uint64_t mask = p->align_bytes - 1;
    bool fits = *offset_bytes <= size && *len_bytes <= size - *offset_bytes;
    if (p->remap == REMAP_NONE || (p->remap != REMAP_SCALE && fits))
        return PLACED;
    if (p->remap == REMAP_CLIP)
        return PLACED_OUTSIDE;
    if (*len_bytes > size)
        *len_bytes = size;
    if (p->remap == REMAP_WRAP) {
        *offset_bytes %= size;
    } else if (p->source_bytes > 0) {
        __extension__ unsigned __int128 scaled = *offset_bytes;
        scaled = scaled * size / p->source_bytes;
        *offset_bytes = (uint64_t)scaled & ~mask;
    }
    uint64_t last = (size - *len_bytes) & ~mask; /* the last place at which it fits */
    if (*offset_bytes > last)
        *offset_bytes = last;
    return PLACED;
}

enum io_placed io_place(const struct io_placement *p, uint8_t op, uint64_t *offset_bytes,
                        uint64_t *len_bytes, struct io_placing *placing)
{
    *placing = (struct io_placing){0};
    enum io_placed placed =
        align(p->align_bytes - 1, op, offset_bytes, len_bytes, &placing->rounded);
    if (placed != PLACED)
        return placed;
    uint64_t offset = *offset_bytes;
    uint64_t len = *len_bytes;
    placed = remap(p, offset_bytes, len_bytes);
    placing->moved = *offset_bytes != offset || *len_bytes != len;
    return placed;
}
