/* Aligned text tables for people. Numbers are right-aligned, the first column is left-aligned.
 * The table owns copies of its cells. */
#ifndef IOREEL_COMMON_TEXT_TABLE_H
#define IOREEL_COMMON_TEXT_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct text_table;

/* Headers may be NULL for a table without a head. NULL when out of memory. */
struct text_table *text_table_create(size_t columns, const char *const *headers);
void text_table_free(struct text_table *t);

/* Adds the next cell, left to right, top to bottom. Out of memory leaves the cell empty. */
void text_table_cell(struct text_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void text_table_print(const struct text_table *t, FILE *out);

#endif
