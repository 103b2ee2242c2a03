/* The bytes that a replay writes: seeded, incompressible, unique in every 512-byte block, and
 * checkable block by block by whoever knows the seed.
 *
 * A block is 64 little-endian words. Word 0 is the write's number in the trace, word 1 proves the
 * block's place on the device, word 2 the place in the random pool that words 3 to 63 come from,
 * all three mixed so that they look random too. So one write costs three stores a block, and no
 * copy: the pool is filled once and its memory is what the device reads.
 *
 * mix() is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014). */
#ifndef IOREEL_REPLAY_DATA_H
#define IOREEL_REPLAY_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_DATA_BLOCK 512u

/* Memory for the data of writes in flight. One thread uses it. */
struct replay_data;

/* max_len_bytes: of one write; total_bytes: of all writes, so that a small trace takes little.
 * NULL when out of memory. */
struct replay_data *replay_data_create(uint64_t seed, uint64_t max_len_bytes, uint64_t total_bytes);
void replay_data_free(struct replay_data *d); /* NULL is fine */

/* Where all of it is, for registering it with the kernel. */
void replay_data_memory(const struct replay_data *d, void **base, size_t *length);

/* A page-aligned buffer of len_bytes, stamped for write `number` at offset_bytes, which is the
 * device's until replay_data_give(*chunk). len_bytes is a multiple of 512 and within max_len_bytes.
 * NULL when all memory is in flight: give some back first. */
void *replay_data_take(struct replay_data *d, uint64_t len_bytes, uint64_t number,
                       uint64_t offset_bytes, uint32_t *chunk);
void replay_data_give(struct replay_data *d, uint32_t chunk);

/* Does this 512-byte block hold what a replay with `seed` wrote at offset_bytes, every bit of it?
 * Then *number is which write of the trace did. */
bool replay_data_check(const void *block, uint64_t seed, uint64_t offset_bytes, uint64_t *number);

#endif
