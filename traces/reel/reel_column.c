/* Columns: byte planes, split numbers and dictionaries, each in one zstd frame.
 *
 * Planes suit numbers whose high bytes repeat; split numbers suit smooth distributions such as gaps
 * and seek distances, whose bit length is skewed and whose lower bits are noise that no entropy
 * coder shortens. Streams of different nature are kept in zstd blocks of their own (a flush between
 * them), so that each gets its own Huffman table. */
#include "traces/reel/private/reel_column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/bytes.h"

/* Numbers of 8 bytes, or a dictionary as long as the block and its indexes, and the bitmap. */
#define WORK_BYTES       (REEL_BLOCK_RECORDS_MAX * 11u + REEL_BLOCK_RECORDS_MAX / 8 + 64)
#define DICTIONARY_MAX   4096u
#define DICTIONARY_SLOTS (4 * DICTIONARY_MAX)
/* Streams shorter than this share a zstd block: its table would cost more than it saves. */
#define FLUSH_BYTES 512u

_Static_assert(WORK_BYTES <= REEL_COLUMN_MAX, "a column fits its cap");

struct reel_codec {
    ZSTD_CCtx *coder;
    ZSTD_DCtx *decoder;
    uint8_t *work; /* one column, not compressed */
    uint64_t *values;
    uint8_t presence[REEL_BLOCK_RECORDS_MAX / 8];
    uint64_t dictionary[DICTIONARY_MAX];
    uint32_t slots[DICTIONARY_SLOTS];
};

struct reel_codec *reel_codec_create(int level)
{
    struct reel_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return NULL;
    codec->coder = ZSTD_createCCtx();
    codec->decoder = ZSTD_createDCtx();
    codec->work = malloc(WORK_BYTES);
    codec->values = malloc(REEL_BLOCK_RECORDS_MAX * sizeof *codec->values);
    if (!codec->coder || !codec->decoder || !codec->work || !codec->values) {
        reel_codec_free(codec);
        return NULL;
    }
    ZSTD_CCtx_setParameter(codec->coder, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(codec->coder, ZSTD_c_checksumFlag, 1);
    return codec;
}

void reel_codec_free(struct reel_codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->coder);
    ZSTD_freeDCtx(codec->decoder);
    free(codec->work);
    free(codec->values);
    free(codec);
}

uint64_t *reel_codec_values(struct reel_codec *codec)
{
    return codec->values;
}

uint8_t *reel_codec_presence(struct reel_codec *codec)
{
    return codec->presence;
}

static unsigned bit_length(uint64_t value)
{
    return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

/* The layouts write to `to` and note where a stream ends, so that zstd can be flushed there. */
struct layout {
    uint8_t *to;
    size_t size;
    size_t ends[12];
    size_t end_count;
};

static void end_stream(struct layout *out)
{
    out->ends[out->end_count++] = out->size;
}

static void lay_planes(struct layout *out, const uint64_t *numbers, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= numbers[i];
    unsigned width = (bit_length(all) + 7) / 8;
    out->to[out->size++] = (uint8_t)width;
    for (unsigned plane = 0; plane < width; plane++) {
        uint8_t *to = out->to + out->size;
        unsigned shift = 8 * plane;
        for (size_t i = 0; i < count; i++)
            to[i] = (uint8_t)(numbers[i] >> shift);
        out->size += count;
        end_stream(out);
    }
}

static void lay_split(struct layout *out, const uint64_t *numbers, size_t count)
{
    uint8_t *lengths = out->to + out->size;
    for (size_t i = 0; i < count; i++)
        lengths[i] = (uint8_t)bit_length(numbers[i]);
    out->size += count;
    end_stream(out);
    uint8_t *to = out->to + out->size;
    unsigned __int128 bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] < 2)
            continue;
        unsigned wide = lengths[i] - 1u;
        bits |= (unsigned __int128)(numbers[i] ^ (1ull << wide)) << held;
        held += wide;
        while (held >= 8) {
            *to++ = (uint8_t)bits;
            bits >>= 8;
            held -= 8;
        }
    }
    if (held)
        *to++ = (uint8_t)bits;
    out->size = (size_t)(to - out->to);
    end_stream(out);
}

static uint32_t dictionary_slot(const struct reel_codec *codec, uint64_t value)
{
    uint32_t slot = (uint32_t)((value * 0x9e3779b97f4a7c15ull) >> 40) % DICTIONARY_SLOTS;
    while (codec->slots[slot] && codec->dictionary[codec->slots[slot] - 1] != value)
        slot = (slot + 1) % DICTIONARY_SLOTS;
    return slot;
}

static int compare_values(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* -E2BIG when there are more distinct values than a dictionary is worth. */
static int lay_dictionary(struct reel_codec *codec, struct layout *out, const uint64_t *numbers,
                          size_t count)
{
    memset(codec->slots, 0, sizeof codec->slots);
    uint32_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = dictionary_slot(codec, numbers[i]);
        if (codec->slots[slot])
            continue;
        if (distinct == DICTIONARY_MAX)
            return -E2BIG;
        codec->dictionary[distinct++] = numbers[i];
        codec->slots[slot] = distinct;
    }
    qsort(codec->dictionary, distinct, sizeof *codec->dictionary, compare_values);
    memset(codec->slots, 0, sizeof codec->slots);
    for (uint32_t i = 0; i < distinct; i++)
        codec->slots[dictionary_slot(codec, codec->dictionary[i])] = i + 1;

    store_le32(out->to + out->size, distinct);
    out->size += 4;
    for (uint32_t i = 0; i < distinct; i++, out->size += 8)
        store_le64(out->to + out->size, codec->dictionary[i]);
    unsigned width = (bit_length(distinct - 1) + 7) / 8;
    out->to[out->size++] = (uint8_t)width;
    end_stream(out);
    uint8_t *low = out->to + out->size, *high = low + count;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = codec->slots[dictionary_slot(codec, numbers[i])] - 1;
        if (width > 0)
            low[i] = (uint8_t)index;
        if (width > 1)
            high[i] = (uint8_t)(index >> 8);
    }
    for (unsigned plane = 0; plane < width; plane++) {
        out->size += count;
        end_stream(out);
    }
    return 0;
}

/* Compresses `size` bytes into one frame at the end of `out`, flushing at the given places. */
static int compress_frame(struct reel_codec *codec, const uint8_t *bytes, size_t size,
                          const size_t *ends, size_t end_count, struct reel_column *column,
                          struct reel_bytes *out)
{
    size_t start = out->size;
    size_t bound = ZSTD_compressBound(size) + 16 * (end_count + 1);
    uint8_t *to = reel_bytes_extend(out, bound);
    if (!to)
        return -ENOMEM;
    ZSTD_CCtx_reset(codec->coder, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(codec->coder, size);
    ZSTD_outBuffer output = {to, bound, 0};
    ZSTD_inBuffer input = {bytes, 0, 0};
    size_t left = 1;
    for (size_t i = 0; i < end_count; i++) {
        if (ends[i] >= size || ends[i] - input.size < FLUSH_BYTES)
            continue;
        input.size = ends[i];
        left = ZSTD_compressStream2(codec->coder, &output, &input, ZSTD_e_flush);
        if (ZSTD_isError(left) || left != 0)
            return -ENOMEM;
    }
    input.size = size;
    left = ZSTD_compressStream2(codec->coder, &output, &input, ZSTD_e_end);
    if (ZSTD_isError(left) || left != 0)
        return -ENOMEM;
    out->size = start + output.pos;
    column->compressed_bytes = (uint32_t)output.pos;
    column->decoded_bytes = (uint32_t)size;
    column->hash = reel_hash(to, output.pos);
    return 0;
}

int reel_column_encode(struct reel_codec *codec, struct reel_column *column,
                       const uint64_t *numbers, size_t count, size_t records,
                       struct reel_bytes *out)
{
    struct layout layout = {.to = codec->work};
    if (column->flags & REEL_COLUMN_PRESENCE) {
        layout.size = (records + 7) / 8;
        memcpy(layout.to, codec->presence, layout.size);
        end_stream(&layout);
    }
    if (column->encoding == REEL_PLANES)
        lay_planes(&layout, numbers, count);
    else if (column->encoding == REEL_SPLIT)
        lay_split(&layout, numbers, count);
    else if (column->encoding == REEL_DICTIONARY) {
        int rc = lay_dictionary(codec, &layout, numbers, count);
        if (rc)
            return rc;
    }
    return compress_frame(codec, codec->work, layout.size, layout.ends, layout.end_count, column,
                          out);
}

static int bad_column(struct error *err, const char *why)
{
    return error_set(err, EBADMSG, "%s", why);
}

static int decompress_frame(struct reel_codec *codec, const struct reel_column *column,
                            const uint8_t *frame, uint8_t *to, struct error *err)
{
    if (!reel_hash_matches(frame, column->compressed_bytes, column->hash))
        return bad_column(err, "its checksum does not match");
    size_t got = ZSTD_decompressDCtx(codec->decoder, to, column->decoded_bytes, frame,
                                     column->compressed_bytes);
    if (ZSTD_isError(got))
        return error_set(err, EBADMSG, "zstd: %s", ZSTD_getErrorName(got));
    if (got != column->decoded_bytes)
        return bad_column(err, "it decodes to another size than it says");
    return 0;
}

static int read_planes(struct reel_cursor *in, uint64_t *numbers, size_t count, struct error *err)
{
    unsigned width = reel_get_u8(in);
    if (width > 8 || in->failed || in->left != width * count)
        return bad_column(err, "its planes are of another size than they say");
    memset(numbers, 0, count * sizeof *numbers);
    for (unsigned plane = 0; plane < width; plane++) {
        const uint8_t *from = reel_get_bytes(in, count);
        unsigned shift = 8 * plane;
        for (size_t i = 0; i < count; i++)
            numbers[i] |= (uint64_t)from[i] << shift;
    }
    return 0;
}

static int read_split(struct reel_cursor *in, uint64_t *numbers, size_t count, struct error *err)
{
    const uint8_t *lengths = reel_get_bytes(in, count);
    if (!lengths)
        return bad_column(err, "its bit lengths are cut");
    uint64_t bits_needed = 0;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] > 64)
            return bad_column(err, "a bit length is over 64");
        bits_needed += lengths[i] > 1 ? lengths[i] - 1u : 0;
    }
    if ((bits_needed + 7) / 8 != in->left)
        return bad_column(err, "its bits are of another size than they say");
    const uint8_t *from = in->at;
    unsigned __int128 bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] < 2) {
            numbers[i] = lengths[i];
            continue;
        }
        unsigned wide = lengths[i] - 1u;
        while (held < wide) {
            bits |= (unsigned __int128)*from++ << held;
            held += 8;
        }
        numbers[i] = (uint64_t)(bits & ((1ull << wide) - 1)) | 1ull << wide;
        bits >>= wide;
        held -= wide;
    }
    return 0;
}

static int read_dictionary(struct reel_cursor *in, uint64_t *numbers, size_t count,
                           struct error *err)
{
    uint32_t distinct = reel_get_u32(in);
    if (distinct == 0 || distinct > DICTIONARY_MAX)
        return bad_column(err, "its dictionary is empty or too large");
    const uint8_t *values = reel_get_bytes(in, 8u * distinct);
    if (!values)
        return bad_column(err, "its dictionary is cut");
    int rc = read_planes(in, numbers, count, err);
    for (size_t i = 0; i < count && !rc; i++) {
        if (numbers[i] >= distinct)
            return bad_column(err, "an index is beyond its dictionary");
        numbers[i] = load_le64(values + 8 * numbers[i]);
    }
    return rc;
}

/* Copies the bitmap and counts its bits; bits beyond the last record must be 0. */
static int read_presence(struct reel_codec *codec, struct reel_cursor *in, size_t records,
                         size_t *count, struct error *err)
{
    size_t size = (records + 7) / 8;
    const uint8_t *from = reel_get_bytes(in, size);
    if (!from)
        return bad_column(err, "its presence bitmap is cut");
    memcpy(codec->presence, from, size);
    size_t set = 0;
    for (size_t i = 0; i < size; i++)
        set += (size_t)__builtin_popcount(from[i]);
    if (records % 8 && from[size - 1] >> (records % 8))
        return bad_column(err, "its presence bitmap goes beyond the last record");
    *count = set;
    return 0;
}

int reel_column_decode(struct reel_codec *codec, const struct reel_column *column,
                       const uint8_t *frame, size_t records, uint64_t *numbers, size_t *count,
                       struct error *err)
{
    if (column->decoded_bytes > WORK_BYTES)
        return bad_column(err, "it says that it decodes to more than any column may");
    int rc = decompress_frame(codec, column, frame, codec->work, err);
    if (rc)
        return rc;
    struct reel_cursor in = {.at = codec->work, .left = column->decoded_bytes};
    *count = records;
    if (column->flags & REEL_COLUMN_PRESENCE) {
        rc = read_presence(codec, &in, records, count, err);
        if (rc)
            return rc;
    }
    if (column->encoding == REEL_PLANES)
        return read_planes(&in, numbers, *count, err);
    if (column->encoding == REEL_SPLIT)
        return read_split(&in, numbers, *count, err);
    if (column->encoding == REEL_DICTIONARY)
        return read_dictionary(&in, numbers, *count, err);
    return bad_column(err, "its encoding is unknown");
}

int reel_bytes_compress(struct reel_codec *codec, const uint8_t *bytes, size_t size,
                        struct reel_column *column, struct reel_bytes *out)
{
    return compress_frame(codec, bytes, size, NULL, 0, column, out);
}

int reel_bytes_decompress(struct reel_codec *codec, const struct reel_column *column,
                          const uint8_t *frame, struct reel_bytes *into, struct error *err)
{
    if (column->decoded_bytes > REEL_NAMES_MAX)
        return bad_column(err, "it says that it decodes to more than names may");
    into->size = 0;
    uint8_t *to = reel_bytes_extend(into, column->decoded_bytes);
    if (!to)
        return error_set(err, ENOMEM, "out of memory");
    return decompress_frame(codec, column, frame, to, err);
}
