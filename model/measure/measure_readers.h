/* Readers of measurements: one file and one row in measure_readers.c's table a format.
 *
 * A reader gets the whole file (capped) as bytes that need not end in NUL, and adds rows to the
 * table. Formats bid for the bytes; the best bid wins. Every byte is untrusted. */
#ifndef IOREEL_MODEL_MEASURE_READERS_H
#define IOREEL_MODEL_MEASURE_READERS_H

#include "model/measure/measurement.h"

#include <stddef.h>
#include <stdint.h>

#define MEASURE_FILE_MAX (256u << 20)

struct measure_input {
    const char *name; /* for errors */
    const char *text;
    size_t length;
};

struct measure_reader {
    const char *name;
    const char *summary;
    int (*bid)(const struct measure_input *in); /* 0: not mine, to 100: surely mine */
    /* 0 or -errno: -EBADMSG with "file:line: what" for bytes that cannot be. */
    int (*read)(const struct measure_input *in, struct measurements *table, struct error *err);
};

extern const struct measure_reader *const measure_readers[]; /* NULL-terminated */

/* Reads one file of whatever format, settles its units and notes. A .reel trace is read too: as its
 * windows by depth. 0 or -errno with the text. */
int measurements_read_file(const char *path, struct measurements *table, struct error *err);

/* The same for bytes in memory, .reel excepted. */
int measurements_read_bytes(const struct measure_input *in, struct measurements *table,
                            struct error *err);

/* Walks lines: sets *line and *length (without the ending \r and \n) and moves *at; false at the
 * end. Start with *at = 0. */
bool measure_next_line(const struct measure_input *in, size_t *at, const char **line,
                       size_t *length);

/* Case-insensitive search of a NUL-terminated word in text[0..length); NULL when absent. */
const char *measure_find(const char *text, size_t length, const char *word);

extern const struct measure_reader measure_csv;
extern const struct measure_reader measure_fio;
extern const struct measure_reader measure_diskspd;
extern const struct measure_reader measure_diskspd_xml;
extern const struct measure_reader measure_crystaldiskmark;
extern const struct measure_reader measure_vdbench;
extern const struct measure_reader measure_article;

/* .reel: windows of the trace, each a row with the depth that was observed. */
int measurements_read_reel(const char *path, struct measurements *table, struct error *err);

#endif
