/* Spellings of ops in tables. Private to the csv importer. */
#ifndef IOREEL_TRACES_CSV_OPS_H
#define IOREEL_TRACES_CSV_OPS_H

#include <stddef.h>
#include <stdint.h>

/* The op, and the flags that its spelling tells ("FWFS" is write, preflush|fua|sync; 0 where none
 * is told). `text` is NUL-terminated. 0 or -EINVAL. */
int csv_op_parse(const char *text, size_t length, uint8_t *op, uint16_t *flags);

#endif
