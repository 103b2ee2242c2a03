/* One column of a block: 64-bit values to a zstd frame and back.
 *
 * A column is described by its transform (what the stored numbers are), its encoding (how they are
 * laid out before zstd) and scale and base. docs/format.md gives the bytes. */
#ifndef IOREEL_TRACES_REEL_COLUMN_H
#define IOREEL_TRACES_REEL_COLUMN_H

#include "common/error.h"
#include "traces/reel/private/reel_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* value = base + scale * x, where x comes from the stored numbers s by the transform. */
enum reel_transform {
    REEL_PLAIN = 0,  /* x[i] = s[i] */
    REEL_DELTA = 1,  /* x[i] = x[i-1] + s[i], x[-1] = 0 */
    REEL_ZIGZAG = 2, /* x[i] = x[i-1] + unzigzag(s[i]) */
    REEL_SEEK = 3,   /* value[i] = end of the device's previous record + scale * unzigzag(s[i]) */
};

enum reel_encoding {
    REEL_CONSTANT = 0,   /* no frame: every value is base */
    REEL_PLANES = 1,     /* a byte w, then w planes of one byte a number, lowest first */
    REEL_SPLIT = 2,      /* a byte a number: its bit length; then the bits below the leading one */
    REEL_DICTIONARY = 3, /* u32 k, k u64 values rising, then planes of indexes */
};

#define REEL_FIELD_NAMES 255u /* the block's names, not a field of the record */

#define REEL_COLUMN_PRESENCE 1u /* flag: a bitmap of the records that have it comes first */

struct reel_column {
    uint8_t field;
    uint8_t flags;
    uint8_t transform;
    uint8_t encoding;
    uint32_t compressed_bytes; /* of the zstd frame; 0 for a constant */
    uint32_t decoded_bytes;
    uint64_t scale;
    uint64_t base;
    uint64_t hash; /* XXH64 of the frame's bytes */
};

#define REEL_COLUMN_BYTES 36u /* in the block header */

/* Work memory of a coder or decoder: zstd contexts and buffers for one block. */
struct reel_codec;

struct reel_codec *reel_codec_create(int level); /* NULL when out of memory */
void reel_codec_free(struct reel_codec *codec);

/* Values of the current column, REEL_BLOCK_RECORDS_MAX of room. */
uint64_t *reel_codec_values(struct reel_codec *codec);
/* The presence bitmap's place, REEL_BLOCK_RECORDS_MAX / 8 bytes. */
uint8_t *reel_codec_presence(struct reel_codec *codec);

/* Encodes `count` stored numbers (already transformed) as column->encoding says and appends the
 * frame to `out`, filling sizes and hash. `records` is the block's count, for the bitmap. -ENOMEM.
 */
int reel_column_encode(struct reel_codec *codec, struct reel_column *column,
                       const uint64_t *numbers, size_t count, size_t records,
                       struct reel_bytes *out);

/* Decodes a frame into numbers (not yet transformed). With a presence bitmap, it is copied to
 * reel_codec_presence() and *count is the number of set bits; else *count = records. -EBADMSG with
 * the reason. */
int reel_column_decode(struct reel_codec *codec, const struct reel_column *column,
                       const uint8_t *frame, size_t records, uint64_t *numbers, size_t *count,
                       struct error *err);

/* The names of a block are plain bytes in one frame. */
int reel_bytes_compress(struct reel_codec *codec, const uint8_t *bytes, size_t size,
                        struct reel_column *column, struct reel_bytes *out);
int reel_bytes_decompress(struct reel_codec *codec, const struct reel_column *column,
                          const uint8_t *frame, struct reel_bytes *into, struct error *err);

static inline uint64_t reel_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t reel_unzigzag(uint64_t number)
{
    return (number >> 1) ^ (uint64_t)(-(int64_t)(number & 1));
}

#endif
