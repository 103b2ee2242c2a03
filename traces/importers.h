/* Importers: one file and one row in importers.c's table a format.
 *
 * Every importer reads through an import_input (decompressed bytes, by name), and writes records to
 * an import_sink. Formats bid for the first bytes; the best bid wins, `--format` overrides. */
#ifndef IOREEL_TRACES_IMPORTERS_H
#define IOREEL_TRACES_IMPORTERS_H

#include "common/error.h"
#include "traces/record.h"
#include "traces/trace_meta.h"
#include "traces/trace_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decompressed byte stream (plain, gzip, xz or zstd by its magic). Owned by the caller of
 * import_input_open(). */
struct import_input;

int import_input_open(const char *path, struct import_input **input, struct error *err);
void import_input_close(struct import_input *in);
const char *import_input_name(const struct import_input *in); /* for errors */

/* Looks at up to `want` bytes ahead without consuming them; *got is less only at the end. want is
 * at most IMPORT_PEEK_MAX. 0 or -errno. */
#define IMPORT_PEEK_MAX 65536u
int import_input_peek(struct import_input *in, size_t want, const uint8_t **bytes, size_t *got,
                      struct error *err);
void import_input_skip(struct import_input *in, size_t count); /* count <= what was peeked */
/* The next line without its newline, NUL-terminated, valid until the next call. 0, 1 at the end,
 * -EMSGSIZE beyond IMPORT_PEEK_MAX - 1 bytes. *number counts from 1. */
int import_input_line(struct import_input *in, char **line, size_t *length, uint64_t *number,
                      struct error *err);
uint64_t import_input_offset(const struct import_input *in); /* bytes consumed, decompressed */

struct import_options {
    const char *columns; /* --columns, csv only; NULL */
    const char *device;  /* name for the device of a format that has none; NULL */
    unsigned vantage;    /* what the user says it is; VANTAGE_UNKNOWN takes the format's own */
};

/* What an importer fills. The meta is complete before the first record is added. */
struct import_sink {
    struct trace_meta *meta;
    /* Adds a record; buffers and forwards to the writer (opened with the first one). 0 or -errno.
     */
    int (*add)(struct import_sink *sink, const struct io_record *record, struct error *err);
    void (*set_floor)(struct import_sink *sink, uint64_t issue_ns);
    struct trace_loss loss;
    uint64_t skipped;       /* rows that were no I/O, or broken and stepped over */
    char skipped_text[256]; /* the first of them, for the user */
    void *context;
};

enum import_bid { BID_NO = 0, BID_MAYBE = 10, BID_LIKELY = 50, BID_SURE = 100 };

struct importer {
    const char *name; /* for --format */
    const char *summary;
    /* How sure it is that these first bytes (at most 64 KiB) are its own: enum import_bid. */
    int (*bid)(const uint8_t *bytes, size_t count, const char *path);
    /* Reads all inputs (one trace; several files where the format splits itself). 0 or -errno;
     * -EBADMSG for bytes that cannot be, with name and place in the text. */
    int (*read)(struct import_input **inputs, size_t input_count,
                const struct import_options *options, struct import_sink *sink, struct error *err);
    /* Finds the other files of the trace that `path` belongs to; NULL where one file is one trace.
     * Adds paths (malloc'd) to `more`, at most `room`; returns how many, or -errno. */
    int (*siblings)(const char *path, char **more, size_t room);
};

extern const struct importer *const importers[]; /* NULL-terminated */

const struct importer *importer_find(const char *name);

#endif
