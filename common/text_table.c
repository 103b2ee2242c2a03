/* Aligned text tables: cells are kept until the widths are known. */
#include "common/text_table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct text_table {
    size_t columns;
    bool has_head;
    size_t count;
    size_t capacity;
    char **cells;
};

struct text_table *text_table_create(size_t columns, const char *const *headers)
{
    struct text_table *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->columns = columns;
    if (headers) {
        t->has_head = true;
        for (size_t i = 0; i < columns; i++)
            text_table_cell(t, "%s", headers[i]);
    }
    return t;
}

void text_table_free(struct text_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t);
}

void text_table_cell(struct text_table *t, const char *format, ...)
{
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        char **cells = realloc(t->cells, capacity * sizeof *cells);
        if (!cells)
            return;
        t->cells = cells;
        t->capacity = capacity;
    }
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    t->cells[t->count++] = strdup(text);
}

/* Columns on the screen, not bytes: UTF-8 continuation bytes take none. */
static int width_of(const char *text)
{
    int width = 0;
    for (; text && *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

void text_table_print(const struct text_table *t, FILE *out)
{
    for (size_t start = 0; start < t->count; start += t->columns) {
        for (size_t c = 0; c < t->columns && start + c < t->count; c++) {
            int width = 0;
            for (size_t i = c; i < t->count; i += t->columns) {
                int w = width_of(t->cells[i]);
                width = w > width ? w : width;
            }
            const char *text = t->cells[start + c] ? t->cells[start + c] : "";
            int pad = width - width_of(text);
            bool last = c + 1 == t->columns;
            if (c == 0)
                fprintf(out, "%s%*s", text, last ? 0 : pad, "");
            else
                fprintf(out, "  %*s%s", pad, "", text);
        }
        fputc('\n', out);
    }
}
