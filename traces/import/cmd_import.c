/* ioreel import: another tool's trace into a .reel. Chooses the format, writes what the importer
 * gives, says what came of it. A file that turns out to be bad leaves no output behind. */
#include "traces/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/progress.h"
#include "common/units.h"
#include "traces/import/importers.h"
#include "traces/import/private/import_inputs.h"
#include "traces/reel/trace_writer.h"

#define BATCH     1024u
#define LEVEL_MAX 19u

struct import_command_options {
    const char *output;
    const char *format;
    const char *columns;
    const char *device;
    const char *vantage;
    const char *default_op;
    const char *latency_unit;
    uint64_t level;
    bool overwrite;
    bool json;
};

static const struct option_row rows[] = {
    {'o', "output", "FILE", OPTION_STRING, offsetof(struct import_command_options, output),
     "the .reel to write; - is stdout"},
    {0, "format", "NAME", OPTION_STRING, offsetof(struct import_command_options, format),
     "blktrace, csv or vscsi, instead of finding out"},
    {0, "columns", "LIST", OPTION_STRING, offsetof(struct import_command_options, columns),
     "what a table's columns are: FIELD=NAME,… or FIELD=NUMBER,… without a head"},
    {0, "device", "NAME", OPTION_STRING, offsetof(struct import_command_options, device),
     "what to call the device, where the format does not say"},
    {0, "vantage", "WHERE", OPTION_STRING, offsetof(struct import_command_options, vantage),
     "where it was recorded: app, bio, request, driver or wire"},
    {0, "default-op", "OP", OPTION_STRING, offsetof(struct import_command_options, default_op),
     "the op of a table's rows that tell none: read, write, …"},
    {0, "latency-unit", "UNIT", OPTION_STRING,
     offsetof(struct import_command_options, latency_unit),
     "the unit of vscsi v2's response times: ns, us or ms"},
    {0, "level", "LEVEL", OPTION_COUNT, offsetof(struct import_command_options, level),
     "zstd's compression level, 1 to 19 (3)"},
    {0, "overwrite-output", NULL, OPTION_FLAG, offsetof(struct import_command_options, overwrite),
     "replace an output that exists"},
    {0, "json", NULL, OPTION_FLAG, offsetof(struct import_command_options, json),
     "print the result as JSON"},
};

static const char *const examples[] = {
    "ioreel import tests/golden/small.vscsi -o small.reel",
    "ioreel import tests/golden/msr.csv -o msr.reel --columns "
    "issue_filetime=1,device=3,op=4,offset_bytes=5,len_bytes=6,latency_100ns=7",
    "ioreel import tests/golden/vda.blktrace.0 -o vda.reel   # and the other CPUs' files beside it",
    NULL,
};

static const struct import_command_options defaults = {.level = 3};

/* ---- the output
 * ---------------------------------------------------------------------------------------- */

struct output {
    const char *written_path; /* path, or beside it */
    char beside[4096];
    const char *path;
    struct trace_writer_options writing;
    struct trace_writer *writer; /* opened with the first records */
    bool made;                   /* there is a file that this run made */
    bool tells_loss;             /* the format says what was lost; else 0 would be a guess */
    const struct import_inputs *inputs;
    struct progress progress;
    struct io_record batch[BATCH];
    size_t count;
    uint64_t floor_ns; /* under all records after those in the batch */
    uint64_t records;
    uint64_t ops[IO_OP_COUNT + 1]; /* the last: op not known */
    uint64_t first_ns;
    uint64_t last_ns;
    bool timed;
};

static void show_progress(struct output *out)
{
    uint64_t done = 0;
    uint64_t total = 0;
    bool known = true;
    if (!out->progress.enabled)
        return;
    for (size_t i = 0; i < out->inputs->count; i++) {
        uint64_t input_done;
        uint64_t input_total;
        import_input_progress(out->inputs->open[i], &input_done, &input_total);
        done += input_done;
        total += input_total;
        known = known && input_total;
    }
    progress_update(&out->progress, done, known ? total : 0);
}

static int flush_batch(struct import_sink *sink, struct error *err)
{
    struct output *out = sink->context;
    if (out->count == 0)
        return 0;
    if (!out->writer) {
        int rc = trace_writer_open(out->written_path, sink->meta, &out->writing, &out->writer, err);
        if (rc)
            return rc;
        out->made = true;
    }
    int rc = trace_writer_add(out->writer, out->batch, out->count, err);
    if (rc)
        return rc;
    out->count = 0;
    trace_writer_set_floor(out->writer, out->floor_ns);
    show_progress(out);
    return interrupt_seen() ? -EINTR : 0;
}

static int add_record(struct import_sink *sink, const struct io_record *record, struct error *err)
{
    struct output *out = sink->context;
    out->batch[out->count++] = *record;
    out->records++;
    out->ops[record->has & IO_HAS_OP ? record->op : IO_OP_COUNT]++;
    if (record->has & IO_HAS_ISSUE) {
        uint64_t end_ns = record->issue_ns + record->latency_ns;
        if (!out->timed || record->issue_ns < out->first_ns)
            out->first_ns = record->issue_ns;
        if (end_ns > out->last_ns)
            out->last_ns = end_ns;
        out->timed = true;
    }
    return out->count == BATCH ? flush_batch(sink, err) : 0;
}

static void set_floor(struct import_sink *sink, uint64_t issue_ns)
{
    struct output *out = sink->context;
    out->floor_ns = issue_ns;
}

/* Completes the file. An interrupted import leaves what it has, complete in itself. */
static int finish_output(struct import_sink *sink, const char *first_input, struct error *err)
{
    struct output *out = sink->context;
    int rc = flush_batch(sink, err);
    if (rc && rc != -EINTR)
        return rc;
    if (!out->writer)
        return error_set(err, ENODATA, "%s: holds no I/O; no output was written", first_input);
    if (!out->tells_loss && sink->loss.lost == 0)
        sink->loss.lost = TRACE_UNKNOWN;
    trace_writer_set_loss(out->writer, &sink->loss);
    struct trace_writer *writer = out->writer;
    out->writer = NULL;
    rc = trace_writer_close(writer, err);
    if (!rc && out->written_path != out->path && rename(out->written_path, out->path) != 0)
        rc = error_errno(err, errno, "%s: cannot take the place of %s", out->written_path,
                         out->path);
    return rc;
}

/* An output that is to be replaced stays until the new one is whole: that is written beside it. */
static void choose_written_path(struct output *out)
{
    struct stat st;
    out->written_path = out->path;
    if (!out->writing.overwrite || stat(out->path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    int length = snprintf(out->beside, sizeof out->beside, "%s.partial", out->path);
    if (length > 0 && (size_t)length < sizeof out->beside)
        out->written_path = out->beside;
    out->writing.overwrite = out->written_path == out->path;
}

/* Removes what this run made of a bad input; a pipe or a device stays. */
static void discard_output(struct output *out)
{
    struct stat st;
    trace_writer_abandon(out->writer);
    out->writer = NULL;
    if (out->made && strcmp(out->path, "-") != 0 && lstat(out->written_path, &st) == 0 &&
        S_ISREG(st.st_mode))
        unlink(out->written_path);
}

/* ---- the result
 * ------------------------------------------------------------------------------------------ */

struct result {
    const struct importer *importer;
    const struct import_sink *sink;
    const struct output *out;
    uint64_t output_bytes; /* 0: not known */
    bool partial;
};

static json_t *result_json(const struct result *r)
{
    const struct output *out = r->out;
    const struct trace_meta *meta = r->sink->meta;
    const struct trace_loss *loss = &r->sink->loss;
    json_t *root = json_object();
    json_object_set_new(root, "format", json_string(r->importer->name));
    json_t *names = json_array();
    for (size_t i = 0; i < out->inputs->count; i++)
        json_array_append_new(names, json_string(out->inputs->paths[i]));
    json_object_set_new(root, "inputs", names);
    json_object_set_new(root, "output", json_string(out->path));
    json_object_set_new(root, "records", json_u64(out->records));
    json_t *ops = json_object();
    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        json_object_set_new(ops, io_op_name(op), json_u64(out->ops[op]));
    json_object_set_new(root, "ops", ops);
    json_object_set_new(root, "span_ns",
                        json_u64_or_null(out->timed, out->last_ns - out->first_ns));
    json_object_set_new(root, "lost", json_u64_or_null(loss->lost != TRACE_UNKNOWN, loss->lost));
    json_object_set_new(root, "before_attach", json_u64(loss->before_attach));
    json_object_set_new(root, "open", json_u64(loss->open));
    json_object_set_new(root, "skipped", json_u64(r->sink->skipped));
    json_object_set_new(root, "fault",
                        json_text_or_null(r->sink->fault_text[0] ? r->sink->fault_text : NULL));
    json_object_set_new(root, "note",
                        json_text_or_null(r->sink->note_text[0] ? r->sink->note_text : NULL));
    json_object_set_new(root, "vantage", json_text_or_null(vantage_name(meta->vantage)));
    json_object_set_new(root, "time_resolution_ns",
                        json_u64_or_null(out->timed, meta->time_resolution_ns));
    json_object_set_new(root, "devices", json_u64(meta->device_count));
    json_object_set_new(root, "output_bytes",
                        json_u64_or_null(r->output_bytes > 0, r->output_bytes));
    json_object_set_new(root, "bytes_per_record",
                        r->output_bytes
                            ? json_double((double)r->output_bytes / (double)out->records)
                            : json_null());
    json_object_set_new(root, "partial", json_boolean(r->partial));
    return root;
}

/* "113,872 records (46,974 read, 66,898 write) over 7200.09 s" */
static void result_text(const struct result *r, FILE *to)
{
    const struct output *out = r->out;
    char text[UNITS_TEXT];
    fprintf(to, "%s: %s records from %s", out->path, units_format_count(out->records, text),
            r->importer->name);
    const char *before = " (";
    for (unsigned op = 0; op <= IO_OP_COUNT; op++)
        if (out->ops[op]) {
            fprintf(to, "%s%s %s", before, units_format_count(out->ops[op], text),
                    op < IO_OP_COUNT ? io_op_name(op) : "of unknown op");
            before = ", ";
        }
    fputs(out->records ? ")" : "", to);
    if (out->timed)
        fprintf(to, " over %s", units_format_ns((double)(out->last_ns - out->first_ns), text));
    if (r->output_bytes)
        fprintf(to, ", %s, %.2f bytes a record", units_format_size(r->output_bytes, text),
                (double)r->output_bytes / (double)out->records);
    const struct trace_loss *loss = &r->sink->loss;
    if (loss->lost && loss->lost != TRACE_UNKNOWN)
        fprintf(to, "\nlost: %s", units_format_count(loss->lost, text));
    if (loss->before_attach)
        fprintf(to, "\nissued before the recording: %s",
                units_format_count(loss->before_attach, text));
    if (loss->open)
        fprintf(to, "\nstill open at its end: %s", units_format_count(loss->open, text));
    fputc('\n', to);
}

static int print_result(const struct result *r, const struct import_command_options *o)
{
    const struct import_sink *sink = r->sink;
    char text[UNITS_TEXT];
    if (o->json)
        json_print(result_json(r), false);
    else
        result_text(r, strcmp(o->output, "-") == 0 ? stderr : stdout);
    if (sink->note_text[0])
        log_info("%s", sink->note_text);
    if (sink->skipped)
        log_info("left out since they are no I/O: %s; the first: %s",
                 units_format_count(sink->skipped, text), sink->skipped_text);
    if (sink->fault_text[0])
        log_warn("%s", sink->fault_text);
    if (r->partial)
        return EXIT_INTERRUPTED;
    bool lost = sink->loss.lost && sink->loss.lost != TRACE_UNKNOWN;
    return sink->fault_text[0] || lost ? EXIT_UNFAITHFUL : EXIT_DONE;
}

/* ---- the command
 * ------------------------------------------------------------------------------------------- */

/* Words of the options into what importers take. 0 or EXIT_USAGE. */
static int read_options(const struct import_command_options *o, struct import_options *options,
                        const struct importer **format, struct error *err)
{
    *options = (struct import_options){.columns = o->columns, .device = o->device};
    *format = NULL;
    if (!o->output)
        return error_usage(err, "import writes a trace: name it with -o FILE");
    if (o->json && strcmp(o->output, "-") == 0)
        return error_usage(err, "--json and -o - would both write to stdout; name a file with -o");
    if (o->format && !(*format = importer_find(o->format))) {
        char names[128];
        return error_usage(err, "--format: '%s' is none of %s", o->format,
                           importer_names(names, sizeof names));
    }
    if (o->columns && *format && strcmp((*format)->name, "csv") != 0)
        return error_usage(err, "--columns is for --format csv only");
    if (o->vantage && vantage_parse(o->vantage, &options->vantage))
        return error_usage(err, "--vantage: '%s' is none of app, bio, request, driver, wire",
                           o->vantage);
    if (o->default_op) {
        static uint8_t op;
        if (io_op_parse(o->default_op, strlen(o->default_op), &op))
            return error_usage(err, "--default-op: '%s' is no op; read and write are",
                               o->default_op);
        options->default_op = &op;
    }
    if (o->latency_unit) {
        static const struct {
            const char *name;
            uint64_t ns;
        } units[] = {{"ns", 1}, {"us", NS_PER_US}, {"ms", NS_PER_MS}};
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strcmp(o->latency_unit, units[i].name) == 0)
                options->latency_unit_ns = units[i].ns;
        if (!options->latency_unit_ns)
            return error_usage(err, "--latency-unit: '%s' is none of ns, us, ms", o->latency_unit);
    }
    if (o->level < 1 || o->level > LEVEL_MAX)
        return error_usage(err, "--level: %llu is not in 1 to %u", (unsigned long long)o->level,
                           LEVEL_MAX);
    return 0;
}

/* The format of the first input that is not empty: a CPU that saw nothing leaves an empty file. */
static const struct importer *choose(const struct import_inputs *inputs,
                                     const struct import_options *options,
                                     const struct importer *forced, struct error *err)
{
    const struct importer *importer = NULL;
    for (size_t i = 0; i < inputs->count; i++) {
        const uint8_t *bytes;
        size_t got;
        if (import_input_peek(inputs->open[i], 1, &bytes, &got, err))
            return NULL;
        if (got == 0 && i + 1 < inputs->count)
            continue;
        importer = got && forced ? forced : importer_choose(inputs->open[i], options, err);
        break;
    }
    if (importer && options->columns && importer != importer_find("csv")) {
        error_set(err, EINVAL, "%s: is a %s trace; --columns is for tables", inputs->paths[0],
                  importer->name);
        return NULL;
    }
    if (importer && options->default_op && importer != importer_find("csv")) {
        error_set(err, EINVAL, "%s: is a %s trace; --default-op is for tables", inputs->paths[0],
                  importer->name);
        return NULL;
    }
    if (importer && !importer->siblings && inputs->count > 1) {
        error_set(err, EINVAL, "%s: a %s trace is one file; import the %zu files one by one",
                  inputs->paths[1], importer->name, inputs->count);
        return NULL;
    }
    return importer;
}

/* Reads everything into the output. 0, -EINTR when interrupted, or -errno. */
static int import_all(const struct importer *importer, struct import_inputs *inputs,
                      const struct import_options *options, struct import_sink *sink,
                      struct error *err)
{
    int rc = importer->read(inputs->open, inputs->count, options, sink, err);
    for (size_t i = 0; i < inputs->count; i++) {
        const char *cut = import_input_cut_text(inputs->open[i]);
        if (cut)
            import_sink_fault(sink, "%s", cut);
    }
    if (rc && rc != -EINTR)
        return rc;
    struct output *out = sink->context;
    if (rc == -EINTR && out->records == 0)
        return error_set(err, ECANCELED,
                         "interrupted before the first record; no output was written");
    int closed = finish_output(sink, inputs->paths[0], err);
    return closed ? closed : rc;
}

static int import_into(struct import_inputs *inputs, const struct import_command_options *o,
                       const struct importer *importer, const struct import_options *options,
                       struct error *err)
{
    struct trace_meta meta;
    struct output *out = calloc(1, sizeof *out);
    if (!out || trace_meta_init(&meta)) {
        free(out);
        error_set(err, ENOMEM, "out of memory");
        return EXIT_FAILED;
    }
    char producer[64];
    snprintf(producer, sizeof producer, "ioreel %s import", IOREEL_VERSION);
    trace_set_text(&meta.producer, producer);
    out->path = o->output;
    out->writing = (struct trace_writer_options){.overwrite = o->overwrite, .level = (int)o->level};
    out->tells_loss = importer->tells_loss;
    choose_written_path(out);
    out->inputs = inputs;
    struct import_sink sink = {
        .meta = &meta, .add = add_record, .set_floor = set_floor, .context = out};
    progress_start(&out->progress, "read bytes");
    int rc = import_all(importer, inputs, options, &sink, err);
    progress_end(&out->progress);
    int exit_code = rc == -EINVAL && options->columns ? EXIT_USAGE : EXIT_FAILED;
    if (rc && rc != -EINTR) {
        discard_output(out);
    } else {
        struct stat st;
        struct result result = {importer, &sink, out, 0, rc == -EINTR};
        if (strcmp(o->output, "-") != 0 && stat(o->output, &st) == 0 && S_ISREG(st.st_mode))
            result.output_bytes = (uint64_t)st.st_size;
        exit_code = print_result(&result, o);
    }
    trace_meta_clear(&meta);
    free(out);
    return exit_code;
}

/* An output that is there is said before anything is read, not after the first records. */
static int check_exists(const struct import_command_options *o, struct error *err)
{
    struct stat st;
    if (o->overwrite || strcmp(o->output, "-") == 0 || stat(o->output, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return 0;
    return error_set(err, EEXIST,
                     "%s: exists already; choose another name or add --overwrite-output",
                     o->output);
}

static int run_import(void *options, int argc, char **argv, struct error *err)
{
    const struct import_command_options *o = options;
    struct import_options importing;
    const struct importer *format;
    if (argc == 0)
        return error_usage(err, "import reads a trace: name its file; see ioreel import -h");
    int usage = read_options(o, &importing, &format, err);
    if (usage)
        return usage;
    struct import_inputs *inputs = calloc(1, sizeof *inputs);
    if (!inputs) {
        error_set(err, ENOMEM, "out of memory");
        return EXIT_FAILED;
    }
    int exit_code = EXIT_FAILED;
    if (import_inputs_open(inputs, argc, argv, format, err) == 0 &&
        import_inputs_check_output(inputs, o->output, err) == 0 && check_exists(o, err) == 0) {
        const struct importer *importer = choose(inputs, &importing, format, err);
        if (importer)
            exit_code = import_into(inputs, o, importer, &importing, err);
    }
    import_inputs_close(inputs);
    return exit_code == EXIT_FAILED && interrupt_seen() ? EXIT_INTERRUPTED : exit_code;
}

const struct command cmd_import = {
    .name = "import",
    .summary = "turn another tool's trace into a .reel",
    .usage = "FILE... -o FILE",
    .examples = examples,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .run = run_import,
};
