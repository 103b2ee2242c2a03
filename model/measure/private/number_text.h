/* Numbers as people print them: decimal points and commas, thousands, sizes, and how many digits
 * were given. Used by every reader of measurements. */
#ifndef IOREEL_MODEL_NUMBER_TEXT_H
#define IOREEL_MODEL_NUMBER_TEXT_H

#include "model/measure/measurement.h"

#include <stdbool.h>
#include <stddef.h>

/* How a number was written. */
struct number_form {
    bool decimal_comma; /* 0,832 */
    bool thousands;     /* 1,234.5 or 1.234,5 or 1 234 */
    bool ambiguous;     /* 1,234: read as one with a decimal comma; the caller says so */
};

/* Reads the number at the start of text[0..length), skipping blanks before it. *used is what was
 * consumed. 0, -EINVAL when there is none, -ERANGE beyond 1e15. `form` may be NULL. */
int number_read(const char *text, size_t length, struct stated *out, size_t *used,
                struct number_form *form);

/* The whole field must be a number (blanks and one ending % sign allowed). */
int number_read_all(const char *text, size_t length, struct stated *out, struct number_form *form);

/* "36,457" where a rate stands is thousands, not three decimals: corrects the reading and notes it.
 */
void number_as_thousands(struct stated *value, struct measurements *table);

/* A block size: "8K", "64 KiB", "1MiB", "4096": bytes, K and M as powers of 1024. */
int number_read_size(const char *text, size_t length, double *bytes, size_t *used);

/* Bytes per unit of a throughput: "MB/s" 1e6 (*open: it may be 2^20), "MiB/s", "kB/s", …;
 * 0 when it is no such unit. */
double number_throughput_unit(const char *text, size_t length, bool *open);

#endif
