/* ioreel cat: the records as text, CSV or JSON, filtered. */
#include "traces/commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupt.h"
#include "common/log.h"
#include "traces/export/private/record_text.h"
#include "traces/reel/trace_reader.h"

struct cat_options {
    bool csv;
    bool json;
    bool jsonl;
    bool no_head;
    uint64_t from_ns;
    uint64_t to_ns;
    uint64_t min_latency_ns;
    uint64_t limit;
    struct option_strings ops;
    struct option_strings devices;
};

static const struct option_row rows[] = {
    {0, "csv", NULL, OPTION_FLAG, offsetof(struct cat_options, csv),
     "comma-separated, with a head"},
    {0, "json", NULL, OPTION_FLAG, offsetof(struct cat_options, json), "one JSON array"},
    {0, "jsonl", NULL, OPTION_FLAG, offsetof(struct cat_options, jsonl), "one JSON object a line"},
    {0, "no-head", NULL, OPTION_FLAG, offsetof(struct cat_options, no_head), "leave out the head"},
    {0, "from", "TIME", OPTION_TIME, offsetof(struct cat_options, from_ns),
     "records issued at TIME or later"},
    {0, "to", "TIME", OPTION_TIME, offsetof(struct cat_options, to_ns),
     "records issued before TIME"},
    {0, "op", "OP", OPTION_STRINGS, offsetof(struct cat_options, ops),
     "only this op (repeat for more): read, write, flush, discard, …"},
    {0, "device", "NAME", OPTION_STRINGS, offsetof(struct cat_options, devices),
     "only this device (repeat for more)"},
    {0, "min-latency", "TIME", OPTION_TIME, offsetof(struct cat_options, min_latency_ns),
     "only records that took TIME or longer"},
    {'n', "limit", "COUNT", OPTION_COUNT, offsetof(struct cat_options, limit),
     "stop after COUNT records"},
};

static const char *const examples[] = {
    "ioreel cat traces/samples/sqlite.reel --limit 10",
    "ioreel cat traces/samples/sqlite.reel --op write --min-latency 1ms",
    "ioreel cat traces/samples/sqlite.reel --csv --from 1s --to 2s > second.csv",
    NULL,
};

static const struct cat_options defaults = {.to_ns = OPTION_UNSET, .limit = OPTION_UNSET};

struct cat_filter {
    uint32_t ops; /* bits; 0: all */
    const struct option_strings *devices;
    uint64_t min_latency_ns;
};

static bool wanted(const struct cat_filter *filter, const struct io_record *r,
                   const struct trace_meta *meta)
{
    if (filter->ops && !(filter->ops & (1u << r->op)))
        return false;
    if (filter->min_latency_ns &&
        (!(r->has & IO_HAS_LATENCY) || r->latency_ns < filter->min_latency_ns))
        return false;
    if (filter->devices->count == 0)
        return true;
    for (size_t i = 0; i < filter->devices->count && r->has & IO_HAS_DEVICE; i++)
        if (strcmp(meta->devices[r->device].name, filter->devices->values[i]) == 0)
            return true;
    return false;
}

static int parse_filter(const struct cat_options *o, struct cat_filter *filter, struct error *err)
{
    *filter = (struct cat_filter){.devices = &o->devices, .min_latency_ns = o->min_latency_ns};
    for (size_t i = 0; i < o->ops.count; i++) {
        uint8_t op;
        const char *text = o->ops.values[i];
        if (io_op_parse(text, strlen(text), &op))
            return error_set(err, EINVAL,
                             "--op: '%s' is none of read, write, flush, discard, write_zeroes, "
                             "zone_append, zone_mgmt, compare, other",
                             text);
        filter->ops |= 1u << op;
    }
    return 0;
}

/* A name that no device of the trace has is a mistake, not an empty answer. Names come with the
 * blocks, so that all are known at the end alone. */
static int check_devices(const struct option_strings *names, const struct trace_meta *meta,
                         const char *path, struct error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        bool found = false;
        for (size_t d = 0; d < meta->device_count && !found; d++)
            found = strcmp(meta->devices[d].name, names->values[i]) == 0;
        if (!found)
            return error_set(err, ENODEV, "%s has no device '%s'; ioreel info lists them", path,
                             names->values[i]);
    }
    return 0;
}

/* Prints the records of all batches. Returns the reader's last answer: 1 at the end or at the
 * limit. */
static int print_records(struct trace_reader *reader, const struct cat_options *o,
                         const struct cat_filter *filter, char *line, struct error *err)
{
    const struct trace_meta *meta = trace_reader_meta(reader);
    size_t (*format)(const struct io_record *, const struct trace_meta *, char *) =
        o->csv                ? record_csv_line
        : o->json || o->jsonl ? record_json_line
                              : record_text_line;
    uint64_t printed = 0;
    struct trace_batch batch;
    int rc;
    while ((rc = trace_reader_next(reader, &batch, err)) == 0 && !interrupt_seen()) {
        for (size_t i = 0; i < batch.count; i++) {
            if (!wanted(filter, &batch.records[i], meta))
                continue;
            if (printed == o->limit)
                return 1;
            size_t length = format(&batch.records[i], meta, line);
            if (o->json)
                fputs(printed ? ",\n" : "\n", stdout);
            else
                line[length++] = '\n';
            fwrite(line, 1, length, stdout);
            printed++;
        }
        if (ferror(stdout))
            return 1; /* a closed pipe: main says so */
    }
    return rc;
}

static int run_cat(void *options, int argc, char **argv, struct error *err)
{
    struct cat_options *o = options;
    if (argc != 1)
        return error_usage(err, "cat takes one trace; see ioreel cat -h");
    if (o->csv + o->json + o->jsonl > 1)
        return error_usage(err, "--csv, --json and --jsonl exclude each other");
    struct cat_filter filter;
    if (parse_filter(o, &filter, err) || options_check_window(o->from_ns, o->to_ns, err))
        return EXIT_USAGE;
    struct trace_reader_options reading = {
        .in_order = true, .from_ns = o->from_ns, .to_ns = o->to_ns == OPTION_UNSET ? 0 : o->to_ns};
    struct trace_reader *reader;
    if (trace_reader_open(argv[0], &reading, &reader, err))
        return EXIT_FAILED;
    char *line = malloc(RECORD_TEXT_MAX + 2);
    if (!line) {
        trace_reader_close(reader);
        error_set(err, ENOMEM, "out of memory");
        return EXIT_FAILED;
    }
    if (!o->no_head && !o->json && !o->jsonl) {
        if (o->csv)
            record_csv_head(line);
        else
            record_text_head(line);
        puts(line);
    }
    if (o->json)
        putchar('[');
    int rc = print_records(reader, o, &filter, line, err);
    if (o->json)
        puts("\n]");
    if (rc >= 0 && !interrupt_seen() &&
        check_devices(&o->devices, trace_reader_meta(reader), argv[0], err))
        rc = -ENODEV;
    int exit_code = rc < 0 ? EXIT_FAILED : interrupt_seen() ? EXIT_INTERRUPTED : EXIT_DONE;
    if (rc == 1 && trace_reader_ending(reader) == TRACE_CUT) {
        log_warn("%s", trace_reader_cut_text(reader));
        exit_code = EXIT_UNFAITHFUL;
    }
    free(line);
    trace_reader_close(reader);
    return exit_code;
}

const struct command cmd_cat = {
    .name = "cat",
    .summary = "print records as text, CSV or JSON",
    .usage = "FILE [--csv|--json|--jsonl] [--from TIME] [--to TIME] [--op OP] [--device NAME]",
    .examples = examples,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .defaults = &defaults,
    .options_size = sizeof(struct cat_options),
    .run = run_cat,
};
