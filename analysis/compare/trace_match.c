/* A hash table of waiting records. All that wait under one key come from the same trace, oldest
 * first, since the first of the other trace would have taken one away. */
#include "analysis/compare/private/trace_match.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct waiting {
    uint64_t offset_bytes;
    uint64_t len_bytes;
    struct match_side side;
    uint32_t device;
    uint8_t op;
    uint8_t from_b;
    uint32_t chain; /* next key in the bucket; in the free list the next free one */
    uint32_t next;  /* next of the same key */
    uint32_t last;  /* valid in the first of a key: its last */
};

struct trace_match {
    struct waiting *pool;
    uint32_t room;
    uint32_t used;
    uint32_t free_list;
    uint32_t *buckets;
    uint32_t bucket_count; /* a power of two */
    uint64_t waiting[2];
};

struct trace_match *trace_match_create(void)
{
    struct trace_match *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->free_list = NONE;
    m->bucket_count = 1u << 16;
    m->buckets = malloc(m->bucket_count * sizeof *m->buckets);
    if (!m->buckets) {
        free(m);
        return NULL;
    }
    for (uint32_t i = 0; i < m->bucket_count; i++)
        m->buckets[i] = NONE;
    return m;
}

void trace_match_free(struct trace_match *m)
{
    if (!m)
        return;
    free(m->pool);
    free(m->buckets);
    free(m);
}

static uint32_t bucket_of(const struct trace_match *m, unsigned device, const struct io_record *r)
{
    uint64_t key = r->offset_bytes * 0x9e3779b97f4a7c15ull;
    key ^=
        (r->len_bytes + ((uint64_t)device << 40) + ((uint64_t)r->op << 56)) * 0xbf58476d1ce4e5b9ull;
    key ^= key >> 29;
    return (uint32_t)key & (m->bucket_count - 1);
}

static bool same_key(const struct waiting *w, unsigned device, const struct io_record *r)
{
    return w->offset_bytes == r->offset_bytes && w->len_bytes == r->len_bytes && w->op == r->op &&
           w->device == device;
}

static struct match_side side_of(const struct io_record *r, uint64_t index)
{
    return (struct match_side){
        .index = index,
        .issue_ns = r->issue_ns,
        .latency_ns = r->has & IO_HAS_LATENCY && !r->status ? r->latency_ns : MATCH_NO_LATENCY,
    };
}

/* Twice the buckets, when there is a key for each: keys are moved by their first record. */
static void grow_buckets(struct trace_match *m)
{
    uint32_t count = m->bucket_count * 2;
    uint32_t *old = m->buckets, old_count = m->bucket_count;
    uint32_t *buckets = malloc(count * sizeof *buckets);
    if (!buckets)
        return; /* slower, not wrong */
    for (uint32_t i = 0; i < count; i++)
        buckets[i] = NONE;
    m->buckets = buckets;
    m->bucket_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        for (uint32_t at = old[i], chain; at != NONE; at = chain) {
            struct waiting *w = &m->pool[at];
            struct io_record key = {
                .offset_bytes = w->offset_bytes, .len_bytes = w->len_bytes, .op = w->op};
            uint32_t bucket = bucket_of(m, w->device, &key);
            chain = w->chain;
            w->chain = buckets[bucket];
            buckets[bucket] = at;
        }
    }
    free(old);
}

static int take_free(struct trace_match *m, uint32_t *at)
{
    if (m->free_list != NONE) {
        *at = m->free_list;
        m->free_list = m->pool[*at].chain;
        return 0;
    }
    if (m->used == m->room) {
        if (m->room == MATCH_WAITING_MAX)
            return -E2BIG;
        uint32_t room = m->room ? 2 * m->room : 4096;
        struct waiting *pool = realloc(m->pool, room * sizeof *pool);
        if (!pool)
            return -ENOMEM;
        m->pool = pool;
        m->room = room;
        if (room > m->bucket_count)
            grow_buckets(m);
    }
    *at = m->used++;
    return 0;
}

/* Takes the first of a key away; the next of the same key, if any, takes its place in the chain. */
static void take_first(struct trace_match *m, uint32_t *link)
{
    uint32_t at = *link;
    struct waiting *w = &m->pool[at];
    if (w->next == NONE) {
        *link = w->chain;
    } else {
        struct waiting *next = &m->pool[w->next];
        next->chain = w->chain;
        next->last = w->last;
        *link = w->next;
    }
    m->waiting[w->from_b]--;
    w->chain = m->free_list;
    m->free_list = at;
}

int trace_match_add(struct trace_match *m, int from_b, unsigned device, const struct io_record *r,
                    uint64_t index, struct match_pair *pair)
{
    uint32_t *link = &m->buckets[bucket_of(m, device, r)];
    while (*link != NONE && !same_key(&m->pool[*link], device, r))
        link = &m->pool[*link].chain;
    if (*link != NONE && m->pool[*link].from_b != from_b) {
        struct match_side mine = side_of(r, index);
        pair->op = r->op;
        pair->a = from_b ? m->pool[*link].side : mine;
        pair->b = from_b ? mine : m->pool[*link].side;
        take_first(m, link);
        return 1;
    }
    uint32_t at;
    int rc = take_free(m, &at); /* may move the pool and the buckets */
    if (rc)
        return rc;
    uint32_t *head = &m->buckets[bucket_of(m, device, r)];
    while (*head != NONE && !same_key(&m->pool[*head], device, r))
        head = &m->pool[*head].chain;
    m->pool[at] = (struct waiting){
        .offset_bytes = r->offset_bytes,
        .len_bytes = r->len_bytes,
        .side = side_of(r, index),
        .device = device,
        .op = r->op,
        .from_b = (uint8_t)from_b,
        .chain = NONE,
        .next = NONE,
        .last = at,
    };
    if (*head == NONE) {
        *head = at;
    } else {
        struct waiting *first = &m->pool[*head];
        m->pool[first->last].next = at;
        first->last = at;
    }
    m->waiting[from_b]++;
    return 0;
}

uint64_t trace_match_waiting(const struct trace_match *m, int from_b)
{
    return m->waiting[from_b];
}
