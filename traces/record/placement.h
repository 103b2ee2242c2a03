/* Where an I/O of a trace goes on a target with other blocks and another size. Replay places by it,
 * and compare finds a replay's I/Os again by it; docs/replay.md tells it for readers. */
#ifndef IOREEL_TRACES_PLACEMENT_H
#define IOREEL_TRACES_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

enum io_remap { REMAP_NONE, REMAP_WRAP, REMAP_SCALE, REMAP_CLIP, REMAP_COUNT };

/* "none", "wrap", "scale", "clip". */
const char *io_remap_name(unsigned remap);
/* The remap of that name; REMAP_COUNT when there is none. */
enum io_remap io_remap_find(const char *name);

struct io_placement {
    enum io_remap remap;
    uint32_t align_bytes;  /* the target's block: a power of two */
    uint64_t target_bytes; /* whole blocks, at least one */
    uint64_t source_bytes; /* where the trace ends, for REMAP_SCALE; 0: unknown, scale moves nothing */
};

enum io_placed {
    PLACED,
    PLACED_EMPTY,    /* nothing is left of a discard once rounded inwards */
    PLACED_OUTSIDE,  /* past the target's end, with REMAP_CLIP */
    PLACED_OVERFLOW, /* its end is no 64-bit number */
};

/* What placing changed. */
struct io_placing {
    bool rounded; /* to whole blocks */
    bool moved;   /* to another place, or cut, by the remap */
};

/* Places [*offset_bytes, + *len_bytes) of an operation (enum io_op): to whole blocks, outwards for
 * reads and writes and inwards for what destroys, then by the remap. */
enum io_placed io_place(const struct io_placement *placement, uint8_t op, uint64_t *offset_bytes,
                        uint64_t *len_bytes, struct io_placing *placing);

#endif
