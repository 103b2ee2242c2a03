/* Tables of text: a head in the record's own field names needs nothing said, --columns names the
 * columns of any other. Finds the start and the order of the times in a first pass where the input
 * can be read twice, then converts row by row. Rows may come in any order. */
#include "traces/import/importers.h"

#include <errno.h>
#include <string.h>

#include "common/units.h"
#include "traces/import/private/csv_columns.h"
#include "traces/import/private/csv_rows.h"

/* A time of day counts from 1970 and is far beyond this; a trace's own time is not. */
#define ABSOLUTE_NS (366ull * 86400 * NS_PER_S)
/* Between 2000 and 2100 a time is taken for a wall clock. */
#define WALL_FIRST_NS 946684800000000000ull
#define WALL_LAST_NS  4102444800000000000ull

struct csv_survey {
    uint64_t first_ns; /* the lowest time */
    uint64_t late_ns;  /* the most that a row lies behind a row before it */
    unsigned decimals; /* the most digits behind the point of a time */
    bool any;          /* there is a time */
    bool whole;        /* all rows were seen */
};

static int csv_bid(const uint8_t *bytes, size_t count, const struct import_options *options)
{
    if (memchr(bytes, '\0', count))
        return BID_NO;
    if (options->columns)
        return BID_LIKELY;
    struct import_input *in;
    struct csv_rows rows = {0};
    size_t known = 0;
    if (import_input_open_memory("", bytes, count, &in, NULL))
        return BID_NO;
    rows.in = in;
    if (csv_rows_next(&rows, NULL) == 0)
        known = csv_columns_known(&rows);
    csv_rows_clear(&rows);
    import_input_close(in);
    return known >= 2 ? BID_LIKELY : BID_NO;
}

/* Reads the times of all rows of `in`. What is wrong with a row is said in the second pass. */
static void survey_rows(struct import_input *in, const struct csv_columns *columns,
                        struct csv_survey *survey)
{
    const struct csv_column *issue = csv_columns_find(columns, CSV_ISSUE);
    struct csv_rows rows = {.in = in};
    uint64_t latest_ns = 0;
    bool head = columns->has_head;
    *survey = (struct csv_survey){.first_ns = UINT64_MAX};
    while (issue && csv_rows_next(&rows, NULL) == 0) {
        uint64_t time_ns;
        unsigned decimals;
        if (head || issue->index >= rows.count) {
            head = false;
            continue;
        }
        if (csv_parse_number(&rows.fields[issue->index], issue->kind, rows.separator != CSV_COMMA,
                             &time_ns, &decimals))
            continue;
        survey->any = true;
        if (decimals > survey->decimals)
            survey->decimals = decimals;
        if (time_ns < survey->first_ns)
            survey->first_ns = time_ns;
        if (time_ns > latest_ns)
            latest_ns = time_ns;
        else if (latest_ns - time_ns > survey->late_ns)
            survey->late_ns = latest_ns - time_ns;
    }
    csv_rows_clear(&rows);
    if (!survey->any)
        survey->first_ns = 0;
}

/* The whole lines among the bytes that can be looked at without consuming them. */
static int survey_ahead(struct import_input *in, const struct csv_columns *columns,
                        struct csv_survey *survey, struct error *err)
{
    const uint8_t *bytes;
    size_t got;
    int rc = import_input_peek(in, IMPORT_PEEK_MAX, &bytes, &got, err);
    if (rc)
        return rc;
    const uint8_t *last = got == IMPORT_PEEK_MAX ? memrchr(bytes, '\n', got) : bytes + got;
    struct import_input *ahead;
    rc = import_input_open_memory(import_input_name(in), bytes, last ? (size_t)(last - bytes) : got,
                                  &ahead, err);
    if (rc)
        return rc;
    survey_rows(ahead, columns, survey);
    import_input_close(ahead);
    return 0;
}

/* The steps in which the times are written: 0.25 s has a resolution of 10 ms. */
static uint64_t resolution_of(const struct csv_columns *columns, const struct csv_survey *survey)
{
    const struct csv_column *issue = csv_columns_find(columns, CSV_ISSUE);
    uint64_t resolution_ns = issue ? issue->kind->scale : 1;
    for (unsigned i = 0; i < survey->decimals && resolution_ns % 10 == 0; i++)
        resolution_ns /= 10;
    return resolution_ns;
}

/* What is taken off every time: a table with its own idea of time starts at 0 from then on. */
static uint64_t base_of(const struct csv_columns *columns, const struct csv_survey *survey)
{
    const struct csv_column *issue = csv_columns_find(columns, CSV_ISSUE);
    bool own_time = issue && !issue->by_user && survey->first_ns < ABSOLUTE_NS;
    return own_time ? 0 : survey->first_ns;
}

static int fill_meta(struct import_sink *sink, const struct import_options *options,
                     const struct csv_columns *columns, const struct csv_rows *rows,
                     const struct csv_survey *survey, struct error *err)
{
    struct trace_meta *meta = sink->meta;
    meta->vantage = options->vantage;
    meta->time_resolution_ns = resolution_of(columns, survey);
    uint64_t base_ns = base_of(columns, survey);
    if (base_ns >= WALL_FIRST_NS && base_ns < WALL_LAST_NS)
        meta->start_realtime_ns = base_ns;
    json_object_set_new(meta->environment, "source_format", json_string("csv"));
    if (!csv_columns_find(columns, CSV_ISSUE))
        import_sink_note(sink, "no column is a time: the trace can be replayed with --timing fast "
                               "only");
    else if (columns->left_out[0])
        import_sink_note(sink, "separated by %s; columns left out: %s",
                         csv_separator_name(rows->separator), columns->left_out);
    else if (rows->separator != CSV_COMMA)
        import_sink_note(sink, "separated by %s", csv_separator_name(rows->separator));
    if (csv_columns_find(columns, CSV_DEVICE) || !options->device)
        return 0;
    int device = trace_meta_device(meta, options->device);
    return device < 0 ? error_errno(err, -device, "--device %s", options->device) : 0;
}

/* Takes the base off. 1 when the row lies before it (which only a pipe can show). */
static int rebase(struct io_record *record, uint64_t base_ns, const struct csv_rows *rows,
                  struct import_sink *sink, struct error *err)
{
    if (!(record->has & IO_HAS_ISSUE))
        return 0;
    if (record->issue_ns < base_ns) {
        sink->loss.lost++;
        import_sink_fault(sink,
                          "%s:%llu: is issued before the first rows and dropped; import it from a "
                          "file, which can be read twice",
                          import_input_name(rows->in), (unsigned long long)rows->line);
        return 1;
    }
    record->issue_ns -= base_ns;
    if (record->issue_ns > IMPORT_TIME_MAX)
        return error_set(err, EBADMSG, "%s:%llu: time %llu ns is over the limit of 146 years",
                         import_input_name(rows->in), (unsigned long long)rows->line,
                         (unsigned long long)record->issue_ns);
    return 0;
}

static int convert_rows(struct csv_rows *rows, struct csv_columns *columns,
                        const struct csv_survey *survey, const struct import_options *options,
                        struct import_sink *sink, struct error *err)
{
    struct io_record record = {0};
    uint64_t base_ns = base_of(columns, survey);
    uint64_t latest_ns = 0;
    bool one_device = options->device && !csv_columns_find(columns, CSV_DEVICE);
    bool head = columns->has_head;
    for (uint64_t count = 0;; count++) {
        int rc = csv_rows_next(rows, err);
        if (rc == 1)
            return 0;
        if (rc)
            return rc;
        if (head) {
            head = false;
            continue;
        }
        rc = csv_columns_record(columns, rows, sink->meta, &record, err);
        if (rc == 0)
            rc = rebase(&record, base_ns, rows, sink, err);
        if (rc < 0)
            return rc;
        if (rc == 1)
            continue;
        if (!(record.has & (IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP))) {
            import_sink_skip(sink, "%s:%llu: has neither offset nor length nor op",
                             import_input_name(rows->in), (unsigned long long)rows->line);
            continue;
        }
        if (one_device)
            record.has |= IO_HAS_DEVICE;
        if (options->default_op && !(record.has & IO_HAS_OP)) {
            record.op = *options->default_op;
            record.has |= IO_HAS_OP;
        }
        rc = sink->add(sink, &record, err);
        if (rc)
            return rc;
        if (record.issue_ns > latest_ns)
            latest_ns = record.issue_ns;
        if (count % 1024 == 0 && survey->whole && latest_ns > survey->late_ns)
            sink->set_floor(sink, latest_ns - survey->late_ns);
    }
}

static int csv_read(struct import_input **inputs, size_t input_count,
                    const struct import_options *options, struct import_sink *sink,
                    struct error *err)
{
    (void)input_count;
    struct import_input *in = inputs[0];
    /* The head is read from a copy of the first bytes, so that a pipe loses nothing. */
    const uint8_t *bytes;
    size_t got;
    int rc = import_input_peek(in, IMPORT_PEEK_MAX, &bytes, &got, err);
    if (rc)
        return rc;
    struct import_input *ahead;
    rc = import_input_open_memory(import_input_name(in), bytes, got, &ahead, err);
    if (rc)
        return rc;
    struct csv_rows first = {.in = ahead};
    struct csv_columns columns = {0};
    struct csv_survey survey = {0};
    rc = csv_rows_next(&first, err);
    if (rc == 1)
        rc = error_set(err, EBADMSG, "%s: holds no row", import_input_name(in));
    if (rc == 0)
        rc = csv_columns_map(&columns, &first, options->columns, err);
    struct csv_rows rows = {.in = in};
    if (rc == 0 && import_input_rewind(in, NULL) == 0) {
        survey_rows(in, &columns, &survey);
        survey.whole = true;
        rc = import_input_rewind(in, err);
    } else if (rc == 0) {
        rc = survey_ahead(in, &columns, &survey, err);
    }
    if (rc == 0)
        rc = fill_meta(sink, options, &columns, &first, &survey, err);
    csv_rows_clear(&first);
    import_input_close(ahead);
    if (rc == 0)
        rc = convert_rows(&rows, &columns, &survey, options, sink, err);
    csv_rows_clear(&rows);
    csv_columns_clear(&columns);
    return rc;
}

const struct importer import_csv = {
    .name = "csv",
    .summary = "a table of text whose head, or --columns, names the columns",
    .bid = csv_bid,
    .read = csv_read,
};
