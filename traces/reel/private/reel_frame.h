/* The frames of a .reel, as bytes: constants, the skippable frame around headers, block and end.
 * docs/format.md is the description for others; keep the two alike. */
#ifndef IOREEL_TRACES_REEL_FRAME_H
#define IOREEL_TRACES_REEL_FRAME_H

#include "common/error.h"
#include "traces/record/record.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REEL_VERSION 1u

#define REEL_SKIPPABLE_MAGIC  0x184D2A50u /* one of zstd's sixteen skippable magics */
#define REEL_SEEKTABLE_MAGIC  0x184D2A5Eu /* zstd's seekable format */
#define REEL_SEEKABLE_MAGIC   0x8F92EAB1u /* the last four bytes of a complete file */
#define REEL_SEEKTABLE_FOOTER 9u

enum reel_kind { REEL_HEADER = 1, REEL_BLOCK = 2, REEL_END = 3 };

/* magic, size, "REEL", kind, version, two reserved bytes of 0 … payload … XXH64 */
#define REEL_FRAME_HEAD     16u
#define REEL_FRAME_TAIL     8u
#define REEL_FRAME_OVERHEAD (REEL_FRAME_HEAD + REEL_FRAME_TAIL)

/* Caps, checked before any allocation. */
#define REEL_BLOCK_RECORDS_MAX 65536u
#define REEL_HEADER_MAX        (8u << 20)
#define REEL_BLOCK_HEADER_MAX  (64u << 10)
#define REEL_COLUMN_MAX        (2u << 20) /* of a column, compressed or not */
#define REEL_NAMES_MAX         (8u << 20) /* of a block's names, not compressed */
#define REEL_FRAMES_MAX        0x8000000u /* zstd's limit for a seek table */

/* A growing byte buffer. Zero is empty; `failed` sticks when memory ran out. */
struct reel_bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void reel_bytes_free(struct reel_bytes *b);
/* Room for `count` more bytes at the end, counted in; NULL when out of memory. */
uint8_t *reel_bytes_extend(struct reel_bytes *b, size_t count);
void reel_put_u8(struct reel_bytes *b, uint8_t value);
void reel_put_u32(struct reel_bytes *b, uint32_t value);
void reel_put_u64(struct reel_bytes *b, uint64_t value);
void reel_put_bytes(struct reel_bytes *b, const void *bytes, size_t count);

/* A cursor over bytes that never reads past their end: `failed` sticks, values are 0 then. */
struct reel_cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
};

uint8_t reel_get_u8(struct reel_cursor *c);
uint32_t reel_get_u32(struct reel_cursor *c);
uint64_t reel_get_u64(struct reel_cursor *c);
const uint8_t *reel_get_bytes(struct reel_cursor *c, size_t count);

/* Begins a frame at the end of `b` and returns where; reel_frame_finish() sets its size and hash.
 */
size_t reel_frame_begin(struct reel_bytes *b, enum reel_kind kind);
void reel_frame_finish(struct reel_bytes *b, size_t start);

/* Checks a whole frame (as read, with its magic): 0 and the payload, or -EBADMSG with the reason in
 * err ("its checksum does not match", …). */
int reel_frame_check(const uint8_t *frame, size_t size, unsigned *kind, struct reel_cursor *payload,
                     struct error *err);

uint64_t reel_hash(const void *bytes, size_t count);
/* True for any bytes in a fuzzing build, which could never get past a checksum. */
bool reel_hash_matches(const void *bytes, size_t count, uint64_t wanted);

#endif
