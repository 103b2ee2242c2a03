/* JSON results, on jansson: unknown is null and never 0, integers beyond 2^53 are strings so that
 * no reader rounds them, and one valid document goes to stdout. */
#ifndef IOREEL_COMMON_JSON_OUT_H
#define IOREEL_COMMON_JSON_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A number, or a string when it is over 2^53. New reference. */
json_t *json_u64(uint64_t value);
json_t *json_u64_or_null(bool known, uint64_t value);
/* null when the value is not finite. New reference. */
json_t *json_double(double value);
json_t *json_text_or_null(const char *text);

/* Prints the document with a newline and frees it: indented, or in one line (for --jsonl).
 * Returns 0 or -EIO. */
int json_print(json_t *document, bool one_line);

/* Reading back: 0 or -EINVAL when the key is absent or of another type. */
int json_get_u64(const json_t *object, const char *key, uint64_t *value);

#endif
