/* Rows of a table of text: separators, quotes (RFC 4180), comments. Private to the csv importer. */
#ifndef IOREEL_TRACES_CSV_ROWS_H
#define IOREEL_TRACES_CSV_ROWS_H

#include "traces/import/importers.h"

#define CSV_FIELDS_MAX 256u

/* Between fields stands one of these; SPACE is any run of blanks. */
enum csv_separator { CSV_COMMA, CSV_SEMICOLON, CSV_TAB, CSV_SPACE, CSV_SEPARATOR_COUNT };

const char *csv_separator_name(enum csv_separator separator);

struct csv_field {
    char *text; /* NUL-terminated, trimmed of blanks, unquoted */
    size_t length;
};

/* Zero-initialised but for `in`; owns its buffers, freed with csv_rows_clear(). */
struct csv_rows {
    struct import_input *in; /* borrowed */
    bool separator_known;
    enum csv_separator separator;
    uint64_t line; /* of the row, where it began */
    char *joined;  /* a row that goes over several lines */
    size_t joined_room;
    size_t count;
    struct csv_field fields[CSV_FIELDS_MAX];
};

/* The next row that is neither empty nor a comment (#). The first one tells the separator: a tab,
 * else a semicolon, else a comma, else blanks. Fields are valid until the next call.
 * 0, 1 at the end, -EBADMSG with file and line. */
int csv_rows_next(struct csv_rows *rows, struct error *err);
/* From the start again, after the input was rewound. */
void csv_rows_restart(struct csv_rows *rows);
void csv_rows_clear(struct csv_rows *rows);

#endif
