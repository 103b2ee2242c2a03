/* A record as one line of text: for people, as CSV, or as JSON. */
#ifndef IOREEL_TRACES_RECORD_TEXT_H
#define IOREEL_TRACES_RECORD_TEXT_H

#include "traces/record/record.h"
#include "traces/record/trace_meta.h"

#include <stddef.h>

/* Enough for any record: names are at most 4 KiB and can double when quoted. */
#define RECORD_TEXT_MAX 16384u

/* Each writes one line without its newline into `out` (RECORD_TEXT_MAX) and returns its length. */
size_t record_text_head(char *out);
size_t record_text_line(const struct io_record *r, const struct trace_meta *meta, char *out);
size_t record_csv_head(char *out);
size_t record_csv_line(const struct io_record *r, const struct trace_meta *meta, char *out);
size_t record_json_line(const struct io_record *r, const struct trace_meta *meta, char *out);

#endif
