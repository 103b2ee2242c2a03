/* ioreel info: what a trace says of itself, without its records being decoded. */
#include "traces/commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/units.h"
#include "traces/reel/trace_reader.h"

struct info_options {
    bool json;
};

static const struct option_row rows[] = {
    {0, "json", NULL, OPTION_FLAG, offsetof(struct info_options, json), "print one JSON document"},
};

static const char *const examples[] = {
    "ioreel info traces/samples/sqlite.reel",
    "ioreel info traces/samples/sqlite.reel --json",
    "cat traces/samples/sqlite.reel | ioreel info -",
    NULL,
};

static void format_time(uint64_t realtime_ns, char *out, size_t room)
{
    time_t seconds = (time_t)(realtime_ns / NS_PER_S);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t used = strftime(out, room, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + used, room - used, ".%06" PRIu64 "Z", realtime_ns % NS_PER_S / NS_PER_US);
}

static uint64_t span_of(const struct trace_summary *s)
{
    return s->last_ns > s->first_issue_ns ? s->last_ns - s->first_issue_ns : 0;
}

static int print_json(const struct trace_summary *s, const struct trace_meta *meta)
{
    json_t *root = json_object();
    json_object_set_new(root, "format_version", json_integer(s->format_version));
    json_object_set_new(root, "producer", json_text_or_null(meta->producer));
    json_object_set_new(root, "vantage", json_text_or_null(vantage_name(meta->vantage)));
    char start[64];
    bool has_start = meta->start_realtime_ns != TRACE_UNKNOWN;
    if (has_start)
        format_time(meta->start_realtime_ns, start, sizeof start);
    json_object_set_new(root, "start_time", json_text_or_null(has_start ? start : NULL));
    json_object_set_new(root, "records", json_u64(s->records));
    bool timed = s->fields & IO_HAS_ISSUE;
    json_object_set_new(root, "span_ns", json_u64_or_null(timed, span_of(s)));
    json_object_set_new(root, "lost",
                        json_u64_or_null(s->loss.lost != TRACE_UNKNOWN, s->loss.lost));
    json_object_set_new(root, "before_attach", json_u64(s->loss.before_attach));
    json_object_set_new(root, "open", json_u64(s->loss.open));
    json_object_set_new(root, "complete", json_boolean(s->complete));
    json_t *fields = json_array();
    for (unsigned i = 0; i < IO_FIELD_COUNT; i++)
        if (s->fields & (1u << i))
            json_array_append_new(fields, json_string(io_field_name(i)));
    json_object_set_new(root, "fields", fields);
    json_t *ops = json_object();
    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        if (s->op_count[op])
            json_object_set_new(ops, io_op_name(op), json_u64(s->op_count[op]));
    json_object_set_new(root, "ops", ops);
    json_t *devices = json_array();
    for (size_t i = 0; i < meta->device_count; i++)
        json_array_append_new(devices, trace_device_to_json(&meta->devices[i]));
    json_object_set_new(root, "devices", devices);
    json_object_set_new(root, "file_bytes", json_u64_or_null(s->file_bytes > 0, s->file_bytes));
    bool rated = s->file_bytes > 0 && s->records > 0;
    json_object_set_new(root, "bytes_per_record",
                        rated ? json_real((double)s->file_bytes / (double)s->records)
                              : json_null());
    json_object_set_new(root, "time_resolution_ns", json_u64(meta->time_resolution_ns));
    json_object_set_new(root, "blocks", json_u64(s->blocks));
    json_object_set(root, "environment", meta->environment);
    return json_print(root, false);
}

static void print_devices(const struct trace_meta *meta)
{
    for (size_t i = 0; i < meta->device_count; i++) {
        const struct trace_device *d = &meta->devices[i];
        char size[UNITS_TEXT];
        printf("device       %s", d->name);
        if (d->capacity_bytes != TRACE_UNKNOWN)
            printf(", %s", units_format_size(d->capacity_bytes, size));
        if (d->driver)
            printf(", driver %s", d->driver);
        if (d->model)
            printf(", %s", d->model);
        if (d->queue_depth != TRACE_UNKNOWN)
            printf(", queue depth %" PRIu64, d->queue_depth);
        if (d->hw_queues != TRACE_UNKNOWN)
            printf(" x %" PRIu64, d->hw_queues);
        if (d->scheduler)
            printf(", scheduler %s", d->scheduler);
        putchar('\n');
    }
}

static void print_text(const char *path, const struct trace_summary *s,
                       const struct trace_meta *meta)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], start[64];
    printf("%s: .reel version %u%s\n", path, s->format_version, s->complete ? "" : ", cut short");
    if (meta->producer)
        printf("producer     %s\n", meta->producer);
    printf("records      %s in %s blocks\n", units_format_count(s->records, a),
           units_format_count(s->blocks, b));
    if (s->fields & IO_HAS_ISSUE)
        printf("span         %s, resolution %s\n", units_format_ns((double)span_of(s), a),
               units_format_ns((double)meta->time_resolution_ns, b));
    if (meta->start_realtime_ns != TRACE_UNKNOWN) {
        format_time(meta->start_realtime_ns, start, sizeof start);
        printf("started      %s\n", start);
    }
    const char *vantage = vantage_name(meta->vantage);
    printf("vantage      %s\n", vantage ? vantage : "unknown");
    printf("ops         ");
    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        if (s->op_count[op])
            printf(" %s %s", io_op_name(op), units_format_count(s->op_count[op], a));
    printf("\nfields      ");
    for (unsigned i = 0; i < IO_FIELD_COUNT; i++)
        if (s->fields & (1u << i))
            printf(" %s", io_field_name(i));
    putchar('\n');
    if (s->loss.lost == TRACE_UNKNOWN)
        printf("loss         unknown\n");
    else
        printf("loss         %" PRIu64 " lost, %" PRIu64 " from before the start, %" PRIu64
               " open at the end\n",
               s->loss.lost, s->loss.before_attach, s->loss.open);
    if (s->file_bytes && s->records)
        printf("size         %s, %.2f bytes a record\n", units_format_size(s->file_bytes, a),
               (double)s->file_bytes / (double)s->records);
    print_devices(meta);
    const char *key;
    json_t *value;
    json_object_foreach (meta->environment, key, value) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        printf("%-12s %s\n", key, json_is_string(value) ? json_string_value(value) : text);
        free(text);
    }
}

/* A pipe has no index to ask: it is read to its end, still without decoding more than it must. */
static int drain(struct trace_reader *reader, struct error *err)
{
    struct trace_batch batch;
    int rc;
    while ((rc = trace_reader_next(reader, &batch, err)) == 0)
        ;
    return rc < 0 ? rc : 0;
}

static int run_info(void *options, int argc, char **argv, struct error *err)
{
    const struct info_options *o = options;
    if (argc != 1)
        return error_usage(err, "info takes one trace; see ioreel info -h");
    struct trace_reader_options reading = {.fields = IO_HAS_OP};
    struct trace_reader *reader;
    if (trace_reader_open(argv[0], &reading, &reader, err))
        return EXIT_FAILED;
    struct trace_summary summary;
    int rc = trace_reader_summary(reader, &summary, err);
    if (!rc && !summary.complete && summary.file_bytes == 0) {
        rc = drain(reader, err);
        if (!rc)
            rc = trace_reader_summary(reader, &summary, err);
    }
    int exit_code = EXIT_FAILED;
    if (!rc) {
        const struct trace_meta *meta = trace_reader_meta(reader);
        if (o->json)
            print_json(&summary, meta);
        else
            print_text(argv[0], &summary, meta);
        exit_code = EXIT_DONE;
        if (!summary.complete) {
            log_warn("%s", summary.cut_text);
            exit_code = EXIT_UNFAITHFUL;
        }
    }
    trace_reader_close(reader);
    return exit_code;
}

const struct command cmd_info = {
    .name = "info",
    .summary = "what a trace says of itself, without decoding it",
    .usage = "FILE [--json]",
    .examples = examples,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .options_size = sizeof(struct info_options),
    .run = run_info,
};
