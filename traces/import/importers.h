/* Importers: one file and one row in importers.c's table a format.
 *
 * Every importer reads through an import_input (decompressed bytes, by name), and writes records to
 * an import_sink. Formats bid for the first bytes; the best bid wins, `--format` overrides.
 * Functions return 0, 1 at an end, or a negative errno with the text in `err`. */
#ifndef IOREEL_TRACES_IMPORTERS_H
#define IOREEL_TRACES_IMPORTERS_H

#include "common/error.h"
#include "traces/record/record.h"
#include "traces/record/trace_meta.h"
#include "traces/reel/trace_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the bytes below an importer ---------------------------------------------------------------
 *
 * A stream of decompressed bytes: plain, gzip, xz or zstd, told by its magic, members and frames
 * one after another included. Holds a fixed buffer, never the file. Owned by the caller of open. */
struct import_input;

/* path "-" is stdin. A folder, a device or a file that is not there is an error. */
int import_input_open(const char *path, struct import_input **input, struct error *err);
/* The same over bytes that the caller keeps until close; `name` is for errors, and is copied. */
int import_input_open_memory(const char *name, const void *bytes, size_t count,
                             struct import_input **input, struct error *err);
void import_input_close(struct import_input *in);             /* NULL is fine */
const char *import_input_name(const struct import_input *in); /* for errors */

/* Looks at up to `want` bytes ahead without consuming them; *got is less only at the end. want is
 * at most IMPORT_PEEK_MAX. The bytes are valid until the next call. 0 or -errno. */
#define IMPORT_PEEK_MAX 65536u
int import_input_peek(struct import_input *in, size_t want, const uint8_t **bytes, size_t *got,
                      struct error *err);
void import_input_skip(struct import_input *in, size_t count); /* count <= what was peeked */
/* The next line without its newline (and carriage return), NUL-terminated, writable, valid until
 * the next call. 0, 1 at the end, -EMSGSIZE beyond IMPORT_PEEK_MAX - 1 bytes. *number counts from
 * 1. Where the compressed stream was cut, the unfinished last line is not handed out. */
int import_input_line(struct import_input *in, char **line, size_t *length, uint64_t *number,
                      struct error *err);
uint64_t import_input_offset(const struct import_input *in); /* bytes consumed, decompressed */

/* Back to the first byte, for formats that look twice. 0, or -ESPIPE on a pipe (nothing changes).
 */
int import_input_rewind(struct import_input *in, struct error *err);
/* For progress: bytes read from the file as it lies there, and its size (0: not known). */
void import_input_progress(const struct import_input *in, uint64_t *done, uint64_t *total);
/* A compressed stream that ended too early gives the bytes that are there, then this line: "x.gz:
 * the gzip stream ends early at byte N". NULL when all was well so far. */
const char *import_input_cut_text(const struct import_input *in);
/* Whether the file begins as a .reel does (which is a zstd stream too). */
bool import_input_is_reel(const struct import_input *in);

/* ---- what an importer is told, and what it fills -----------------------------------------------
 */

struct import_options {
    const char *columns; /* --columns, csv only; NULL */
    const char *device;  /* name for the device of a format that has none; NULL */
    unsigned vantage;    /* what the user says it is; VANTAGE_UNKNOWN takes the format's own */
    const uint8_t *default_op; /* csv only: the op of rows that tell none; NULL: stays unknown */
    uint64_t latency_unit_ns;  /* of a format that does not say its latency's unit; 0: not known */
};

/* The meta is complete before the first record is added, except that devices and processes may
 * grow. Times are rebased by the importer: issue_ns counts from the trace's start. */
struct import_sink {
    struct trace_meta *meta;
    /* Adds a record; buffers and forwards to the writer (opened with the first one). 0 or -errno.
     */
    int (*add)(struct import_sink *sink, const struct io_record *record, struct error *err);
    void (*set_floor)(struct import_sink *sink, uint64_t issue_ns);
    struct trace_loss loss;
    uint64_t skipped;       /* rows that are no I/O */
    char skipped_text[256]; /* the first of them, for the user */
    char fault_text[512];   /* why the result is not all there was (cut, dropped), one line */
    char note_text[512];    /* something to know about the result that is no fault, one line */
    void *context;
};

/* Counts a row that is no I/O, and keeps the words for the first. */
void import_sink_skip(struct import_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Keeps the line, unless one is there: the import ends well, but with exit code 3. */
void import_sink_fault(struct import_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Keeps the line, unless one is there. */
void import_sink_note(struct import_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Limits that hold for every format: what lies outside is no I/O but a broken row. */
#define IMPORT_LEN_MAX  (1ull << 40) /* 1 TiB */
#define IMPORT_TIME_MAX (1ull << 62) /* 146 years from the trace's start */

/* ---- formats ------------------------------------------------------------------------------------
 */

enum import_bid { BID_NO = 0, BID_MAYBE = 10, BID_LIKELY = 50, BID_SURE = 100 };

struct importer {
    const char *name; /* for --format */
    const char *summary;
    bool tells_loss; /* its files say what was lost */
    /* How sure it is that these first bytes (at most 64 KiB) are its own: enum import_bid.
     * `count` is less than 64 KiB only when the file is. */
    int (*bid)(const uint8_t *bytes, size_t count, const struct import_options *options);
    /* Reads all inputs (one trace; several files where the format splits itself). 0 or -errno;
     * -EBADMSG for bytes that cannot be, with name and place in the text. */
    int (*read)(struct import_input **inputs, size_t input_count,
                const struct import_options *options, struct import_sink *sink, struct error *err);
    /* Finds the other files of the trace that `path` belongs to; NULL where one file is one trace.
     * Adds paths (malloc'd) to `more`, at most `room`; returns how many, or -errno. `path` may also
     * be the common name of files that exist only with their endings ("sda"). */
    int (*siblings)(const char *path, char **more, size_t room);
};

extern const struct importer *const importers[]; /* NULL-terminated */

const struct importer *importer_find(const char *name);
/* The names, "blktrace, csv, vscsi", for messages. */
const char *importer_names(char *text, size_t room);
/* The best bidder for this input, or NULL with the text: what it is not, and what to do. */
const struct importer *importer_choose(struct import_input *in,
                                       const struct import_options *options, struct error *err);

#endif
