/* Data for writes: a random pool in chunks, stamped in place. A chunk is reused once none of its
 * buffers is in flight, so one slow write pins one chunk and not the pool. */
#include "replay/pace/replay_data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bytes.h"
#include "common/units.h"

#define PAGE        4096u
#define CHUNK_MIN   MIB
#define CHUNKS_MAX  64u
#define POOL_WANTED (64 * MIB)
#define BLOCK_WORDS (REPLAY_DATA_BLOCK / 8)
#define STAMP_WORDS 3u
#define ODD         0x9e3779b97f4a7c15ull
#define ODD_INVERSE 0xf1de83e19937733dull /* ODD · ODD_INVERSE = 1 modulo 2^64 */

struct replay_data {
    uint64_t key;
    unsigned char *pool;
    size_t chunk_bytes;
    uint32_t chunk_count;
    uint32_t chunk; /* the one that is being handed out */
    size_t used;    /* of it */
    uint32_t in_flight[CHUNKS_MAX];
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t key_of(uint64_t seed)
{
    return mix(seed + ODD);
}

static uint64_t body_word(uint64_t key, uint64_t pool_word)
{
    return mix(key + ODD * (pool_word + 1));
}

static void fill_pool(unsigned char *pool, size_t length, uint64_t key)
{
    for (size_t word = 0; word < length / 8; word++)
        store_le64(pool + word * 8, body_word(key, word));
}

struct replay_data *replay_data_create(uint64_t seed, uint64_t max_len_bytes, uint64_t total_bytes)
{
    struct replay_data *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->key = key_of(seed);
    d->chunk_bytes = CHUNK_MIN;
    while (d->chunk_bytes < max_len_bytes)
        d->chunk_bytes *= 2;
    uint64_t wanted = total_bytes < POOL_WANTED ? total_bytes : POOL_WANTED;
    uint64_t count = wanted / d->chunk_bytes + 2;
    if (count < 8 && total_bytes > 8 * d->chunk_bytes)
        count = 8;
    d->chunk_count = (uint32_t)(count < CHUNKS_MAX ? count : CHUNKS_MAX);
    size_t length = d->chunk_count * d->chunk_bytes;
    void *pool = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) {
        free(d);
        return NULL;
    }
    d->pool = pool;
    fill_pool(d->pool, length, d->key);
    return d;
}

void replay_data_free(struct replay_data *d)
{
    if (!d)
        return;
    munmap(d->pool, d->chunk_count * d->chunk_bytes);
    free(d);
}

void replay_data_memory(const struct replay_data *d, void **base, size_t *length)
{
    *base = d->pool;
    *length = d->chunk_count * d->chunk_bytes;
}

/* Stamps each block: number, place on the device, place in the pool. */
static void stamp(const struct replay_data *d, unsigned char *buffer, uint64_t len_bytes,
                  uint64_t number, uint64_t offset_bytes)
{
    uint64_t word = (uint64_t)(buffer - d->pool) / 8;
    uint64_t first = (number * ODD) ^ d->key;
    for (uint64_t at = 0; at < len_bytes; at += REPLAY_DATA_BLOCK) {
        unsigned char *block = buffer + at;
        uint64_t second = mix(first ^ (offset_bytes + at));
        store_le64(block, first);
        store_le64(block + 8, second);
        store_le64(block + 16, (word + at / 8) ^ mix(second));
    }
}

void *replay_data_take(struct replay_data *d, uint64_t len_bytes, uint64_t number,
                       uint64_t offset_bytes, uint32_t *chunk)
{
    size_t pages = (len_bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (d->used + pages > d->chunk_bytes) {
        uint32_t tried = 0;
        uint32_t next = d->chunk;
        do {
            next = next + 1 == d->chunk_count ? 0 : next + 1;
            if (tried++ == d->chunk_count)
                return NULL;
        } while (d->in_flight[next] > 0);
        d->chunk = next;
        d->used = 0;
    }
    unsigned char *buffer = d->pool + d->chunk * d->chunk_bytes + d->used;
    d->used += pages;
    d->in_flight[d->chunk]++;
    *chunk = d->chunk;
    stamp(d, buffer, len_bytes, number, offset_bytes);
    return buffer;
}

void replay_data_give(struct replay_data *d, uint32_t chunk)
{
    d->in_flight[chunk]--;
}

bool replay_data_check(const void *block, uint64_t seed, uint64_t offset_bytes, uint64_t *number)
{
    const unsigned char *bytes = block;
    uint64_t key = key_of(seed);
    uint64_t first = load_le64(bytes);
    uint64_t second = load_le64(bytes + 8);
    if (second != mix(first ^ offset_bytes))
        return false;
    uint64_t word = load_le64(bytes + 16) ^ mix(second);
    for (unsigned i = STAMP_WORDS; i < BLOCK_WORDS; i++)
        if (load_le64(bytes + i * 8) != body_word(key, word + i))
            return false;
    *number = (first ^ key) * ODD_INVERSE;
    return true;
}
