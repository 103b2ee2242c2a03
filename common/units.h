/* Units at the edges: what people type and read, against bytes and nanoseconds inside. */
#ifndef IOREEL_COMMON_UNITS_H
#define IOREEL_COMMON_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define KIB       UINT64_C(1024)
#define MIB       (UINT64_C(1024) * KIB)
#define GIB       (UINT64_C(1024) * MIB)
#define TIB       (UINT64_C(1024) * GIB)

/* Each parser takes the whole text or refuses it: 0, -EINVAL (not of that form), -ERANGE (too big).
 * Sizes: 4096, 4k, 1m, 2g, 1t (powers of 1024; an ending b, B or iB is allowed; 1.5m too). */
int units_parse_size(const char *text, uint64_t *bytes);
/* Times: 100ns 100us 10ms 1s 5m 2h; a bare number is in seconds; 0.5s is allowed. */
int units_parse_time(const char *text, uint64_t *ns);
/* A count: 128, 1k = 1000, 2M = 2000000. */
int units_parse_count(const char *text, uint64_t *count);
int units_parse_real(const char *text, double *value);
/* Text of decimal digits only, within [0, max]. For fields of files, where "4k" is no number. */
int units_parse_digits(const char *text, size_t length, uint64_t max, uint64_t *value);

/* The formatters write into `out` and return it. UNITS_TEXT is always enough. */
#define UNITS_TEXT 32
char *units_format_size(uint64_t bytes, char out[UNITS_TEXT]); /* "4 KiB", "1.5 GiB" */
char *units_format_ns(double ns, char out[UNITS_TEXT]);        /* "71.5 us", "2.00 ms" */
char *units_format_rate(double per_s, char out[UNITS_TEXT]);   /* "195k", "1.20M" */
char *units_format_iops(double iops, char out[UNITS_TEXT]); /* "153318", "79.6", "1.25"; "-": NAN */
char *units_format_count(uint64_t count, char out[UNITS_TEXT]); /* "113,872" */

#endif
