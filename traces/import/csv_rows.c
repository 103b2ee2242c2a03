/* Splits lines into fields in place; only a quoted field that goes over a line end is copied. */
#include "traces/import/private/csv_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char byte;
    const char *name;
} separators[CSV_SEPARATOR_COUNT] = {
    {',', "commas"},
    {';', "semicolons"},
    {'\t', "tabs"},
    {' ', "blanks"},
};

const char *csv_separator_name(enum csv_separator separator)
{
    return separators[separator].name;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static enum csv_separator separator_of(const char *line)
{
    static const enum csv_separator order[] = {CSV_TAB, CSV_SEMICOLON, CSV_COMMA, CSV_SPACE};
    bool seen[CSV_SEPARATOR_COUNT] = {false};
    bool quoted = false;
    while (*line == ' ' || *line == '\t')
        line++;
    for (; *line; line++) {
        if (*line == '"')
            quoted = !quoted;
        for (size_t i = 0; i < CSV_SEPARATOR_COUNT; i++)
            if (!quoted && *line == separators[i].byte)
                seen[i] = true;
    }
    for (size_t i = 0; i < CSV_SEPARATOR_COUNT; i++)
        if (seen[order[i]])
            return order[i];
    return CSV_COMMA;
}

static bool ends_quoted(const char *line)
{
    bool quoted = false;
    for (line = strchr(line, '"'); line; line = strchr(line + 1, '"'))
        quoted = !quoted;
    return quoted;
}

/* A quoted field at `at` (behind its opening quote): unquotes in place, returns where it ended. */
static char *unquote(char *at, struct csv_field *field)
{
    char *to = at;
    field->text = at;
    for (; *at; at++) {
        if (*at == '"') {
            if (at[1] != '"') {
                at++;
                break;
            }
            at++;
        }
        *to++ = *at;
    }
    field->length = (size_t)(to - field->text);
    /* `to` lies on the closing quote or before it, so ending the text here loses no byte. */
    if (to < at)
        *to = '\0';
    return at;
}

/* Cuts the line into fields. False when there are too many. */
static bool split(struct csv_rows *rows, char *at)
{
    char separator = separators[rows->separator].byte;
    bool blanks = rows->separator == CSV_SPACE;
    rows->count = 0;
    for (;;) {
        while (is_blank(*at) && (blanks || *at != separator))
            at++;
        if (blanks && *at == '\0' && rows->count > 0)
            return true;
        if (rows->count == CSV_FIELDS_MAX)
            return false;
        struct csv_field *field = &rows->fields[rows->count++];
        char *end;
        if (*at == '"') {
            end = unquote(at + 1, field);
            end += strcspn(end, blanks ? " \t" : (char[]){separator, '\0'});
        } else {
            size_t length = strcspn(at, blanks ? " \t" : (char[]){separator, '\0'});
            end = at + length;
            field->text = at;
            while (length > 0 && is_blank(at[length - 1]))
                length--;
            field->length = length;
        }
        bool last = *end == '\0';
        if (field->text[field->length] != '\0')
            field->text[field->length] = '\0';
        if (last)
            return true;
        at = end + 1;
    }
}

/* Appends the next lines while a quote is open. */
static int join(struct csv_rows *rows, char **line, size_t length, struct error *err)
{
    size_t used = 0;
    for (;;) {
        if (rows->joined_room < used + length + 2) {
            size_t room = used + length + 2 > 1024 ? 2 * (used + length) : 1024;
            char *joined = realloc(rows->joined, room);
            if (!joined)
                return error_set(err, ENOMEM, "no memory for a row of %zu bytes", room);
            rows->joined = joined;
            rows->joined_room = room;
        }
        memcpy(rows->joined + used, *line, length + 1);
        used += length;
        if (!ends_quoted(rows->joined)) {
            *line = rows->joined;
            return 0;
        }
        rows->joined[used++] = '\n';
        uint64_t number;
        int rc =
            used < IMPORT_PEEK_MAX ? import_input_line(rows->in, line, &length, &number, err) : 1;
        if (rc < 0)
            return rc;
        if (rc == 1)
            return error_set(err, EBADMSG, "%s:%llu: a quote is opened and never closed",
                             import_input_name(rows->in), (unsigned long long)rows->line);
    }
}

int csv_rows_next(struct csv_rows *rows, struct error *err)
{
    for (;;) {
        char *line;
        size_t length;
        int rc = import_input_line(rows->in, &line, &length, &rows->line, err);
        if (rc)
            return rc;
        if (rows->line == 1 && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
            line += 3;
            length -= 3;
        }
        if (memchr(line, '\0', length))
            return error_set(err, EBADMSG, "%s:%llu: holds a zero byte; a table of text does not",
                             import_input_name(rows->in), (unsigned long long)rows->line);
        size_t lead = strspn(line, " \t");
        if (line[lead] == '\0' || line[lead] == '#')
            continue;
        if (memchr(line, '"', length) && ends_quoted(line)) {
            rc = join(rows, &line, length, err);
            if (rc)
                return rc;
        }
        if (!rows->separator_known) {
            rows->separator = separator_of(line);
            rows->separator_known = true;
        }
        if (!split(rows, line))
            return error_set(err, EBADMSG, "%s:%llu: more than the limit of %u columns",
                             import_input_name(rows->in), (unsigned long long)rows->line,
                             CSV_FIELDS_MAX);
        return 0;
    }
}

void csv_rows_restart(struct csv_rows *rows)
{
    rows->line = 0;
    rows->count = 0;
}

void csv_rows_clear(struct csv_rows *rows)
{
    free(rows->joined);
    rows->joined = NULL;
    rows->joined_room = 0;
}
