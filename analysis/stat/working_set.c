/* Distinct blocks: a hash set that gives way to a HyperLogLog when it is full. */
#include "analysis/stat/private/working_set.h"

#include <math.h>
#include <stdlib.h>

#define REGISTER_BITS 14
#define REGISTERS     (1u << REGISTER_BITS)
#define SLOTS_FIRST   4096u
#define SLOTS_MAX     (2 * WORKING_SET_EXACT_MAX)

struct working_set {
    uint64_t *slots; /* key + 1, 0: free; NULL once it gave way */
    uint32_t slot_count;
    uint32_t used;
    uint32_t exact_max;
    uint64_t last_key;
    bool has_last;
    uint8_t registers[REGISTERS];
};

struct working_set *working_set_create(uint32_t exact_max)
{
    struct working_set *set = calloc(1, sizeof *set);
    if (!set)
        return NULL;
    set->exact_max = exact_max < WORKING_SET_EXACT_MAX ? exact_max : WORKING_SET_EXACT_MAX;
    set->slot_count = SLOTS_FIRST;
    set->slots = calloc(set->slot_count, sizeof *set->slots);
    if (!set->slots) {
        free(set);
        return NULL;
    }
    return set;
}

void working_set_free(struct working_set *set)
{
    if (set)
        free(set->slots);
    free(set);
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): all bits depend on all bits. */
static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
    return key ^ (key >> 31);
}

static void insert(uint64_t *slots, uint32_t count, uint64_t hash, uint64_t stored, bool *is_new)
{
    uint32_t slot = (uint32_t)hash & (count - 1);
    while (slots[slot] && slots[slot] != stored)
        slot = (slot + 1) & (count - 1);
    *is_new = slots[slot] == 0;
    slots[slot] = stored;
}

/* Doubles the table, or gives it up at the limit (or without memory): the registers go on. */
static void grow(struct working_set *set)
{
    uint32_t count = set->slot_count * 2;
    uint64_t *slots = count <= SLOTS_MAX ? calloc(count, sizeof *slots) : NULL;
    for (uint32_t i = 0; slots && i < set->slot_count; i++) {
        bool is_new;
        if (set->slots[i])
            insert(slots, count, mix(set->slots[i] - 1), set->slots[i], &is_new);
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = slots ? count : 0;
}

static void add_key(struct working_set *set, uint64_t key)
{
    uint64_t hash = mix(key);
    uint32_t index = (uint32_t)(hash >> (64 - REGISTER_BITS));
    uint64_t rest = hash << REGISTER_BITS;
    uint8_t rank = (uint8_t)(rest ? __builtin_clzll(rest) + 1 : 64 - REGISTER_BITS + 1);
    if (rank > set->registers[index])
        set->registers[index] = rank;
    if (!set->slots)
        return;
    bool is_new;
    insert(set->slots, set->slot_count, hash, key + 1, &is_new);
    set->used += is_new;
    if (set->used > set->exact_max) {
        free(set->slots);
        set->slots = NULL;
    } else if (is_new && set->used * 2 >= set->slot_count) {
        grow(set);
    }
}

void working_set_add(struct working_set *set, unsigned device, uint64_t offset_bytes,
                     uint64_t len_bytes)
{
    if (len_bytes == 0)
        return;
    uint64_t first = offset_bytes / WORKING_SET_BLOCK_BYTES;
    uint64_t last = (offset_bytes + len_bytes - 1) / WORKING_SET_BLOCK_BYTES;
    /* 12 of the 64 bits are free, since a block is 2^12 bytes; the device goes there (and hashes
     * with it beyond 4096 devices). */
    uint64_t top = (uint64_t)device << 52;
    for (uint64_t block = first; block <= last; block++)
        add_key(set, block ^ top);
}

uint64_t working_set_bytes(const struct working_set *set, double *error_pct)
{
    *error_pct = 0;
    if (set->slots)
        return (uint64_t)set->used * WORKING_SET_BLOCK_BYTES;
    double sum = 0;
    for (uint32_t i = 0; i < REGISTERS; i++)
        sum += ldexp(1.0, -set->registers[i]);
    double alpha = 0.7213 / (1 + 1.079 / REGISTERS);
    double estimate = alpha * REGISTERS * REGISTERS / sum;
    *error_pct = 104.0 / sqrt(REGISTERS);
    return (uint64_t)(estimate * WORKING_SET_BLOCK_BYTES);
}
