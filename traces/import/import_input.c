/* The bytes below every importer: opens a file, stdin or memory, tells gzip, xz and zstd by their
 * magic and hands out decompressed bytes through one fixed window. Knows no trace format. */
#include "traces/import/importers.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "common/interrupt.h"

#define RAW_BYTES       (128u * 1024)
#define WINDOW_BYTES    (256u * 1024)
#define LZMA_MEMORY_MAX (256ull << 20)
#define ZSTD_WINDOW_LOG 27 /* 128 MiB, zstd's own limit for streams that nobody vouches for */

enum coding { CODING_PLAIN, CODING_GZIP, CODING_XZ, CODING_ZSTD };

static const char *const coding_names[] = {"plain", "gzip", "xz", "zstd"};

struct import_input {
    char *name;
    int fd;                /* -1: memory */
    const uint8_t *memory; /* the caller's */
    size_t memory_count;
    uint64_t raw_done; /* bytes taken from the file or memory */
    uint64_t raw_total;
    enum coding coding;
    bool raw_ended; /* the file gave all it has */
    bool ended;     /* the window will not grow */
    bool is_reel;
    bool mid_frame; /* the decoder has begun a member that it has not finished */
    uint8_t *raw;   /* compressed bytes: [raw_at, raw_end) */
    size_t raw_at;
    size_t raw_end;
    uint8_t *window; /* decompressed bytes: [at, end), one byte more for a NUL */
    size_t at;
    size_t end;
    uint64_t consumed;
    uint64_t lines;
    z_stream zlib;
    lzma_stream lzma;
    ZSTD_DStream *zstd;
    char cut_text[512];
};

/* Up to `room` raw bytes; *got 0 at the end. -EINTR, without text, once Ctrl-C was seen: a pipe
 * that says nothing must not hold the program. */
static int read_raw(struct import_input *in, uint8_t *to, size_t room, size_t *got,
                    struct error *err)
{
    if (in->fd < 0) {
        size_t left = in->memory_count - (size_t)in->raw_done;
        *got = left < room ? left : room;
        if (*got)
            memcpy(to, in->memory + in->raw_done, *got);
    } else {
        ssize_t n;
        do {
            if (interrupt_seen())
                return -EINTR;
            n = read(in->fd, to, room);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
            return error_errno(err, errno, "%s: cannot read at byte %llu", in->name,
                               (unsigned long long)in->raw_done);
        *got = (size_t)n;
    }
    in->raw_done += *got;
    if (*got == 0)
        in->raw_ended = true;
    return 0;
}

/* Fills the raw buffer's tail; used for the magic and by the decoders. */
static int fill_raw(struct import_input *in, struct error *err)
{
    if (in->raw_at == in->raw_end)
        in->raw_at = in->raw_end = 0;
    if (in->raw_ended || in->raw_end == RAW_BYTES)
        return 0;
    size_t got;
    int rc = read_raw(in, in->raw + in->raw_end, RAW_BYTES - in->raw_end, &got, err);
    if (rc == 0)
        in->raw_end += got;
    return rc;
}

static enum coding coding_of(const uint8_t *bytes, size_t count)
{
    static const struct {
        enum coding coding;
        size_t length;
        uint8_t magic[6];
    } table[] = {
        {CODING_GZIP, 3, {0x1f, 0x8b, 0x08}},
        {CODING_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0x00}},
        {CODING_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (count >= table[i].length && memcmp(bytes, table[i].magic, table[i].length) == 0)
            return table[i].coding;
    /* zstd's skippable frames: 50 to 5f, 2a 4d 18. */
    if (count >= 4 && (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0)
        return CODING_ZSTD;
    return CODING_PLAIN;
}

static int start_decoder(struct import_input *in, struct error *err)
{
    while (in->raw_end < 12 && !in->raw_ended) {
        int rc = fill_raw(in, err);
        if (rc)
            return rc;
    }
    in->coding = coding_of(in->raw, in->raw_end);
    in->is_reel =
        in->coding == CODING_ZSTD && in->raw_end >= 12 && memcmp(in->raw + 8, "REEL", 4) == 0;
    bool made = true;
    if (in->coding == CODING_GZIP) {
        made = inflateInit2(&in->zlib, 15 + 16) == Z_OK;
    } else if (in->coding == CODING_XZ) {
        in->lzma = (lzma_stream)LZMA_STREAM_INIT;
        made = lzma_stream_decoder(&in->lzma, LZMA_MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK;
    } else if (in->coding == CODING_ZSTD) {
        in->zstd = ZSTD_createDStream();
        made = in->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax,
                                                                ZSTD_WINDOW_LOG));
    }
    return made ? 0
                : error_set(err, ENOMEM, "%s: no memory to decompress %s", in->name,
                            coding_names[in->coding]);
}

static void stop_decoder(struct import_input *in)
{
    if (in->coding == CODING_GZIP)
        inflateEnd(&in->zlib);
    else if (in->coding == CODING_XZ)
        lzma_end(&in->lzma);
    ZSTD_freeDStream(in->zstd);
    in->zstd = NULL;
    in->coding = CODING_PLAIN;
}

static int damaged(struct import_input *in, const char *why, struct error *err)
{
    uint64_t place = in->raw_done - (in->raw_end - in->raw_at);
    return error_set(err, EBADMSG, "%s: the %s stream is damaged near byte %llu (%s)", in->name,
                     coding_names[in->coding], (unsigned long long)place, why);
}

/* The decoders: each turns raw bytes into at most `room` window bytes and says how many. */

static int decode_plain(struct import_input *in, uint8_t *to, size_t room, size_t *made,
                        struct error *err)
{
    size_t have = in->raw_end - in->raw_at;
    if (have == 0)
        return read_raw(in, to, room, made, err);
    *made = have < room ? have : room;
    memcpy(to, in->raw + in->raw_at, *made);
    in->raw_at += *made;
    return 0;
}

static int decode_gzip(struct import_input *in, uint8_t *to, size_t room, size_t *made,
                       struct error *err)
{
    size_t have = in->raw_end - in->raw_at;
    if (!in->mid_frame) {
        /* Between members: the next one, or zeros that pad a tape, or the end. */
        while (in->raw_at < in->raw_end && in->raw[in->raw_at] == 0)
            in->raw_at++;
        if (in->raw_at == in->raw_end)
            return 0;
        if (in->raw[in->raw_at] != 0x1f)
            return damaged(in, "bytes after its end", err);
        inflateReset(&in->zlib);
        in->mid_frame = true;
        have = in->raw_end - in->raw_at;
    }
    in->zlib.next_in = in->raw + in->raw_at;
    in->zlib.avail_in = (uInt)have;
    in->zlib.next_out = to;
    in->zlib.avail_out = (uInt)room;
    int rc = inflate(&in->zlib, Z_NO_FLUSH);
    in->raw_at = in->raw_end - in->zlib.avail_in;
    *made = room - in->zlib.avail_out;
    if (rc == Z_STREAM_END)
        in->mid_frame = false;
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
        return damaged(in, in->zlib.msg ? in->zlib.msg : "no gzip data", err);
    return 0;
}

static int decode_xz(struct import_input *in, uint8_t *to, size_t room, size_t *made,
                     struct error *err)
{
    in->lzma.next_in = in->raw + in->raw_at;
    in->lzma.avail_in = in->raw_end - in->raw_at;
    in->lzma.next_out = to;
    in->lzma.avail_out = room;
    lzma_ret rc = lzma_code(&in->lzma, in->raw_ended ? LZMA_FINISH : LZMA_RUN);
    in->raw_at = in->raw_end - in->lzma.avail_in;
    *made = room - in->lzma.avail_out;
    in->mid_frame = rc != LZMA_STREAM_END;
    if (rc == LZMA_MEMLIMIT_ERROR)
        return damaged(in, "it wants more than 256 MiB of memory", err);
    if (rc != LZMA_OK && rc != LZMA_STREAM_END && rc != LZMA_BUF_ERROR)
        return damaged(in, "checksum or structure", err);
    return 0;
}

static int decode_zstd(struct import_input *in, uint8_t *to, size_t room, size_t *made,
                       struct error *err)
{
    ZSTD_inBuffer from = {in->raw + in->raw_at, in->raw_end - in->raw_at, 0};
    ZSTD_outBuffer out = {to, room, 0};
    if (from.size == 0 && !in->mid_frame)
        return 0;
    size_t rc = ZSTD_decompressStream(in->zstd, &out, &from);
    in->raw_at += from.pos;
    *made = out.pos;
    if (ZSTD_isError(rc))
        return damaged(in, ZSTD_getErrorName(rc), err);
    in->mid_frame = rc != 0;
    return 0;
}

static int (*const decoders[])(struct import_input *, uint8_t *, size_t, size_t *,
                               struct error *) = {decode_plain, decode_gzip, decode_xz,
                                                  decode_zstd};

/* Adds at least one byte to the window or sets ended. The caller has made room. */
static int grow_window(struct import_input *in, struct error *err)
{
    for (;;) {
        if (in->coding != CODING_PLAIN && in->raw_at == in->raw_end) {
            int rc = fill_raw(in, err);
            if (rc)
                return rc;
        }
        size_t raw_before = in->raw_at;
        size_t made = 0;
        int rc = decoders[in->coding](in, in->window + in->end, WINDOW_BYTES - in->end, &made, err);
        if (rc)
            return rc;
        in->end += made;
        if (made)
            return 0;
        if (in->raw_ended && in->raw_at == in->raw_end && in->raw_at == raw_before) {
            in->ended = true;
            if (in->mid_frame && in->coding != CODING_PLAIN)
                snprintf(in->cut_text, sizeof in->cut_text,
                         "%.300s: the %s stream ends early, after byte %llu", in->name,
                         coding_names[in->coding], (unsigned long long)in->raw_done);
            return 0;
        }
    }
}

/* Makes [at, end) at least `want` bytes long, or all that is left. */
static int ensure(struct import_input *in, size_t want, struct error *err)
{
    if (in->end - in->at >= want || in->ended)
        return 0;
    if (in->at > 0) {
        memmove(in->window, in->window + in->at, in->end - in->at);
        in->end -= in->at;
        in->at = 0;
    }
    while (in->end < want && !in->ended) {
        int rc = grow_window(in, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int open_common(struct import_input **input, const char *name, struct error *err)
{
    struct import_input *in = calloc(1, sizeof *in);
    *input = in;
    if (!in)
        return error_set(err, ENOMEM, "%s: out of memory", name);
    in->fd = -1;
    in->name = strdup(name);
    in->raw = malloc(RAW_BYTES);
    in->window = malloc(WINDOW_BYTES + 1);
    if (!in->name || !in->raw || !in->window) {
        import_input_close(in);
        *input = NULL;
        return error_set(err, ENOMEM, "%s: out of memory", name);
    }
    return 0;
}

static int open_fd(struct import_input *in, const char *path, struct error *err)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        in->fd = dup(STDIN_FILENO);
    else
        in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return error_errno(err, errno, "%s", in->name);
    if (S_ISDIR(st.st_mode))
        return error_set(err, EISDIR, "%s: is a folder; name the trace file in it", in->name);
    if (S_ISBLK(st.st_mode))
        return error_set(err, EINVAL, "%s: is a block device; ioreel capture -d %s records it",
                         in->name, in->name);
    if (S_ISREG(st.st_mode))
        in->raw_total = (uint64_t)st.st_size;
    return 0;
}

int import_input_open(const char *path, struct import_input **input, struct error *err)
{
    int rc = open_common(input, strcmp(path, "-") == 0 ? "stdin" : path, err);
    if (rc)
        return rc;
    rc = open_fd(*input, path, err);
    if (rc == 0)
        rc = start_decoder(*input, err);
    if (rc) {
        import_input_close(*input);
        *input = NULL;
    }
    return rc;
}

int import_input_open_memory(const char *name, const void *bytes, size_t count,
                             struct import_input **input, struct error *err)
{
    int rc = open_common(input, name, err);
    if (rc)
        return rc;
    (*input)->memory = bytes;
    (*input)->memory_count = count;
    (*input)->raw_total = count;
    rc = start_decoder(*input, err);
    if (rc) {
        import_input_close(*input);
        *input = NULL;
    }
    return rc;
}

void import_input_close(struct import_input *in)
{
    if (!in)
        return;
    stop_decoder(in);
    if (in->fd >= 0)
        close(in->fd);
    free(in->window);
    free(in->raw);
    free(in->name);
    free(in);
}

const char *import_input_name(const struct import_input *in)
{
    return in->name;
}

int import_input_peek(struct import_input *in, size_t want, const uint8_t **bytes, size_t *got,
                      struct error *err)
{
    if (want > IMPORT_PEEK_MAX)
        want = IMPORT_PEEK_MAX;
    int rc = ensure(in, want, err);
    size_t have = in->end - in->at;
    *bytes = in->window + in->at;
    *got = have < want ? have : want;
    return rc;
}

void import_input_skip(struct import_input *in, size_t count)
{
    in->at += count;
    in->consumed += count;
}

int import_input_line(struct import_input *in, char **line, size_t *length, uint64_t *number,
                      struct error *err)
{
    size_t have = in->end - in->at;
    char *newline = have ? memchr(in->window + in->at, '\n', have) : NULL;
    if (!newline) {
        int rc = ensure(in, IMPORT_PEEK_MAX, err);
        if (rc)
            return rc;
        have = in->end - in->at;
        newline = have ? memchr(in->window + in->at, '\n', have) : NULL;
    }
    char *start = (char *)in->window + in->at;
    size_t taken = newline ? (size_t)(newline - start) : have;
    if (!newline && (have == 0 || in->cut_text[0]))
        return 1;
    if (taken >= IMPORT_PEEK_MAX)
        return error_set(err, EMSGSIZE, "%s:%llu: the line is over the limit of %u bytes", in->name,
                         (unsigned long long)in->lines + 1, IMPORT_PEEK_MAX - 1);
    import_input_skip(in, taken + (newline ? 1 : 0));
    if (taken > 0 && start[taken - 1] == '\r')
        taken--;
    start[taken] = '\0';
    *line = start;
    *length = taken;
    *number = ++in->lines;
    return 0;
}

uint64_t import_input_offset(const struct import_input *in)
{
    return in->consumed;
}

int import_input_rewind(struct import_input *in, struct error *err)
{
    if (in->fd >= 0 && lseek(in->fd, 0, SEEK_SET) != 0)
        return error_errno(err, ESPIPE, "%s: cannot be read twice", in->name);
    stop_decoder(in);
    in->raw_done = in->consumed = in->lines = 0;
    in->raw_at = in->raw_end = in->at = in->end = 0;
    in->raw_ended = in->ended = in->mid_frame = false;
    in->cut_text[0] = '\0';
    return start_decoder(in, err);
}

void import_input_progress(const struct import_input *in, uint64_t *done, uint64_t *total)
{
    *done = in->raw_done;
    *total = in->raw_total;
}

const char *import_input_cut_text(const struct import_input *in)
{
    return in->cut_text[0] ? in->cut_text : NULL;
}

bool import_input_is_reel(const struct import_input *in)
{
    return in->is_reel;
}
