/* Open addressing with linear probing, at most half full; keys are mixed by a multiplication. */
#include "traces/import/private/u64_map.h"

#include <stdbool.h>
#include <stdlib.h>

struct u64_map_slot {
    uint64_t key;
    uint64_t value;
    bool taken;
};

static size_t home_of(const struct u64_map *map, uint64_t key)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high half of the product. */
    return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (map->slot_count - 1);
}

static struct u64_map_slot *slot_of(const struct u64_map *map, uint64_t key)
{
    size_t i = home_of(map, key);
    while (map->slots[i].taken && map->slots[i].key != key)
        i = (i + 1) & (map->slot_count - 1);
    return &map->slots[i];
}

uint64_t *u64_map_find(const struct u64_map *map, uint64_t key)
{
    if (map->slot_count == 0)
        return NULL;
    struct u64_map_slot *slot = slot_of(map, key);
    return slot->taken ? &slot->value : NULL;
}

static bool grow(struct u64_map *map)
{
    struct u64_map bigger = {.slot_count = map->slot_count ? map->slot_count * 2 : 64};
    bigger.slots = calloc(bigger.slot_count, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].taken)
            *slot_of(&bigger, map->slots[i].key) = map->slots[i];
    bigger.used = map->used;
    free(map->slots);
    *map = bigger;
    return true;
}

uint64_t *u64_map_insert(struct u64_map *map, uint64_t key, uint64_t value)
{
    uint64_t *found = u64_map_find(map, key);
    if (found)
        return found;
    if (map->used >= U64_MAP_MAX || (2 * map->used >= map->slot_count && !grow(map)))
        return NULL;
    struct u64_map_slot *slot = slot_of(map, key);
    *slot = (struct u64_map_slot){.key = key, .value = value, .taken = true};
    map->used++;
    return &slot->value;
}

void u64_map_clear(struct u64_map *map)
{
    free(map->slots);
    *map = (struct u64_map){0};
}
