/* A small growing map from 64-bit keys to 64-bit values, for importers' tables (pid to process, CPU
 * to sequence, device number to index). Nothing is ever removed. Zero-initialised is empty; the
 * owner frees it with u64_map_clear(). */
#ifndef IOREEL_TRACES_U64_MAP_H
#define IOREEL_TRACES_U64_MAP_H

#include <stddef.h>
#include <stdint.h>

struct u64_map {
    struct u64_map_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;
};

#define U64_MAP_MAX (1u << 20) /* entries; keys come from untrusted files */

/* A pointer to the key's value, valid until the next insert; NULL when it is not there. */
uint64_t *u64_map_find(const struct u64_map *map, uint64_t key);
/* The same, added with `value` when new; NULL when out of memory or beyond U64_MAP_MAX. */
uint64_t *u64_map_insert(struct u64_map *map, uint64_t key, uint64_t value);
void u64_map_clear(struct u64_map *map);

#endif
