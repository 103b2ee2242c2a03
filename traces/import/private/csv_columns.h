/* What the columns of a table mean, and how their texts become a record's fields. Private to the
 * csv importer. */
#ifndef IOREEL_TRACES_CSV_COLUMNS_H
#define IOREEL_TRACES_CSV_COLUMNS_H

#include "traces/import/private/csv_rows.h"
#include "traces/import/private/u64_map.h"

/* A kind of column: the record's field, and the unit that its text has. */
struct csv_kind {
    const char *name; /* "issue_us" */
    uint8_t field;    /* enum csv_target */
    uint64_t scale;   /* ns or bytes a unit */
    uint64_t max;     /* of the value, in ns or bytes */
    const char *max_text;
};

enum csv_target {
    CSV_IGNORED,
    CSV_ISSUE,
    CSV_QUEUE,
    CSV_LATENCY,
    CSV_OFFSET,
    CSV_LEN,
    CSV_OP,
    CSV_OP_0READ, /* a number: 0 is read, 1 is write */
    CSV_OP_1READ, /* the other way round */
    CSV_FLAGS,
    CSV_STATUS,
    CSV_RAW_STATUS,
    CSV_DEPTH,
    CSV_DEMAND,
    CSV_DEVICE,
    CSV_PROCESS,
    CSV_PID,
    CSV_HW_QUEUE,
    CSV_CPU,
    CSV_PARENT,
    CSV_THINK,
};

struct csv_column {
    const struct csv_kind *kind;
    size_t index; /* of the row's fields */
    bool by_user; /* named by --columns */
};

/* Zero-initialised; freed with csv_columns_clear(). */
struct csv_columns {
    struct csv_column list[CSV_FIELDS_MAX];
    size_t count;
    bool has_head;          /* the first row holds names */
    uint32_t fields;        /* bits of enum csv_target */
    struct u64_map devices; /* hash of a name to its index in the meta */
    char left_out[160];     /* names of columns that mean nothing here, for the user */
};

/* From the first row (names), and --columns (NULL: none): "issue_s=Timestamp,op=Type", or numbers
 * from 1 for a table without names. -EINVAL, -EBADMSG. */
int csv_columns_map(struct csv_columns *columns, const struct csv_rows *first, const char *option,
                    struct error *err);
void csv_columns_clear(struct csv_columns *columns);
const struct csv_column *csv_columns_find(const struct csv_columns *columns,
                                          enum csv_target target);
/* How many of the names in this row are known, for a bid. */
size_t csv_columns_known(const struct csv_rows *row);
/* All kinds, for help: "issue_ns, issue_us, …". */
void csv_kinds_list(char *text, size_t room);

/* A time or size in its unit, exactly; `decimals` (may be NULL) is how many digits follow the
 * point. 0, 1 when the text says unknown (empty, null, NA, nan, -), -EINVAL, -ERANGE. */
int csv_parse_number(const struct csv_field *field, const struct csv_kind *kind,
                     bool comma_is_point, uint64_t *value, unsigned *decimals);
/* The record of a row, without rebasing its time (a file time is since 1970 then). Devices and
 * processes are added to the meta. -EBADMSG with file, line, value and limit. */
int csv_columns_record(struct csv_columns *columns, const struct csv_rows *row,
                       struct trace_meta *meta, struct io_record *record, struct error *err);

#endif
