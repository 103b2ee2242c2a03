/* Bytes of the .reel's own frames: a growing buffer, a careful cursor, and the skippable frame. */
#include "traces/reel/private/reel_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/bytes.h"

void reel_bytes_free(struct reel_bytes *b)
{
    free(b->data);
    *b = (struct reel_bytes){0};
}

uint8_t *reel_bytes_extend(struct reel_bytes *b, size_t count)
{
    if (b->failed)
        return NULL;
    if (count > b->capacity - b->size) {
        size_t capacity = b->capacity ? b->capacity : 4096;
        while (capacity - b->size < count)
            capacity *= 2;
        uint8_t *data = realloc(b->data, capacity);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    uint8_t *at = b->data + b->size;
    b->size += count;
    return at;
}

void reel_put_u8(struct reel_bytes *b, uint8_t value)
{
    uint8_t *at = reel_bytes_extend(b, 1);
    if (at)
        *at = value;
}

void reel_put_u32(struct reel_bytes *b, uint32_t value)
{
    uint8_t *at = reel_bytes_extend(b, 4);
    if (at)
        store_le32(at, value);
}

void reel_put_u64(struct reel_bytes *b, uint64_t value)
{
    uint8_t *at = reel_bytes_extend(b, 8);
    if (at)
        store_le64(at, value);
}

void reel_put_bytes(struct reel_bytes *b, const void *bytes, size_t count)
{
    uint8_t *at = reel_bytes_extend(b, count);
    if (at && count)
        memcpy(at, bytes, count);
}

const uint8_t *reel_get_bytes(struct reel_cursor *c, size_t count)
{
    if (c->failed || c->left < count) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *at = c->at;
    c->at += count;
    c->left -= count;
    return at;
}

uint8_t reel_get_u8(struct reel_cursor *c)
{
    const uint8_t *at = reel_get_bytes(c, 1);
    return at ? *at : 0;
}

uint32_t reel_get_u32(struct reel_cursor *c)
{
    const uint8_t *at = reel_get_bytes(c, 4);
    return at ? load_le32(at) : 0;
}

uint64_t reel_get_u64(struct reel_cursor *c)
{
    const uint8_t *at = reel_get_bytes(c, 8);
    return at ? load_le64(at) : 0;
}

uint64_t reel_hash(const void *bytes, size_t count)
{
    return XXH64(bytes, count, 0);
}

#ifdef IOREEL_FUZZING
bool reel_hash_matches(const void *bytes, size_t count, uint64_t wanted)
{
    (void)bytes, (void)count, (void)wanted;
    return true;
}
#else
bool reel_hash_matches(const void *bytes, size_t count, uint64_t wanted)
{
    return reel_hash(bytes, count) == wanted;
}
#endif

size_t reel_frame_begin(struct reel_bytes *b, enum reel_kind kind)
{
    size_t start = b->size;
    reel_put_u32(b, REEL_SKIPPABLE_MAGIC);
    reel_put_u32(b, 0); /* the size, set at the end */
    reel_put_bytes(b, "REEL", 4);
    reel_put_u8(b, (uint8_t)kind);
    reel_put_u8(b, REEL_VERSION);
    reel_put_u8(b, 0);
    reel_put_u8(b, 0);
    return start;
}

void reel_frame_finish(struct reel_bytes *b, size_t start)
{
    if (b->failed)
        return;
    size_t total = b->size - start + REEL_FRAME_TAIL;
    store_le32(b->data + start + 4, (uint32_t)(total - 8));
    reel_put_u64(b, reel_hash(b->data + start, b->size - start));
}

int reel_frame_check(const uint8_t *frame, size_t size, unsigned *kind, struct reel_cursor *payload,
                     struct error *err)
{
    if (size < REEL_FRAME_OVERHEAD || load_le32(frame) != REEL_SKIPPABLE_MAGIC ||
        memcmp(frame + 8, "REEL", 4) != 0)
        return error_set(err, EBADMSG, "no frame of a .reel stands there");
    if (!reel_hash_matches(frame, size - REEL_FRAME_TAIL,
                           load_le64(frame + size - REEL_FRAME_TAIL)))
        return error_set(err, EBADMSG, "its checksum does not match");
    if (frame[13] != REEL_VERSION)
        return error_set(err, EBADMSG, "it is of format version %u, this program reads version %u",
                         frame[13], REEL_VERSION);
    if (frame[14] || frame[15])
        return error_set(err, EBADMSG, "its reserved bytes are 0x%02x 0x%02x, not 0", frame[14],
                         frame[15]);
    *kind = frame[12];
    *payload =
        (struct reel_cursor){.at = frame + REEL_FRAME_HEAD, .left = size - REEL_FRAME_OVERHEAD};
    return 0;
}
