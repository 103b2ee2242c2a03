/* The command `replay`: checks what was asked, surveys the trace, opens the target through the
 * guard, runs the loop and prints what came of it. */
#include "replay/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"
#include "replay/guard/guard.h"
#include "replay/replay_origin.h"
#include "replay/replay_report.h"
#include "replay/pace/replay_run.h"
#include "traces/reel/trace_reader.h"
#include "traces/reel/trace_writer.h"

#define DEPTH_DEFAULT 32u

struct replay_options {
    struct option_strings targets;
    const char *output;
    const char *timing;
    uint64_t depth;
    double speed;
    const char *engine;
    uint64_t tolerance_ns;
    bool keep_going;
    bool allow_writes;
    bool writes_as_reads;
    const char *overwrite;
    uint64_t create_bytes;
    const char *remap;
    bool unwritten_ok;
    struct option_strings devices;
    uint64_t limit;
    uint64_t duration_ns;
    uint64_t seed;
    bool overwrite_output;
    bool json;
};

#define AT(field) offsetof(struct replay_options, field)

static const struct option_row rows[] = {
    {'t', "target", "DEV", OPTION_STRINGS, AT(targets), "block device or file to replay on"},
    {'o', "output", "FILE", OPTION_STRING, AT(output), "result trace: what the target did"},
    {0, "timing", "HOW", OPTION_STRING, AT(timing),
     "original: at the trace's times; fast: as fast as --depth allows"},
    {0, "depth", "N", OPTION_COUNT, AT(depth), "I/Os in flight with --timing fast (32)"},
    {0, "speed", "X", OPTION_REAL, AT(speed), "2 replays the original times twice as fast"},
    {0, "engine", "NAME", OPTION_STRING, AT(engine), "io_uring or threads; by default what works"},
    {0, "tolerance", "TIME", OPTION_TIME, AT(tolerance_ns),
     "lateness whose 99th percentile is still faithful (1ms)"},
    {0, "keep-going", NULL, OPTION_FLAG, AT(keep_going),
     "go on when the target cannot keep up with the trace"},
    {0, "allow-writes", NULL, OPTION_FLAG, AT(allow_writes),
     "write to the target; without it writes are skipped"},
    {0, "writes-as-reads", NULL, OPTION_FLAG, AT(writes_as_reads), "read where the trace writes"},
    {0, "overwrite", "ID", OPTION_STRING, AT(overwrite),
     "destroy what the target bears: its WWID, serial, backing file or path"},
    {0, "create", "SIZE", OPTION_SIZE, AT(create_bytes),
     "make the target, a new file of this size"},
    {0, "remap", "HOW", OPTION_STRING, AT(remap),
     "fit a larger trace: wrap, scale or clip its offsets"},
    {0, "unwritten-ok", NULL, OPTION_FLAG, AT(unwritten_ok),
     "read space of the target that was never written"},
    {0, "device", "NAME", OPTION_STRINGS, AT(devices), "only this device of the trace; repeated"},
    {0, "limit", "N", OPTION_POSITIVE, AT(limit), "only the first N I/Os"},
    {0, "duration", "TIME", OPTION_TIME, AT(duration_ns), "only so much of the trace's time"},
    {0, "seed", "N", OPTION_COUNT, AT(seed), "of the data that is written (1)"},
    {0, "overwrite-output", NULL, OPTION_FLAG, AT(overwrite_output), "replace the result trace"},
    {0, "json", NULL, OPTION_FLAG, AT(json), "print one JSON document"},
};

static const char *const examples[] = {
    "ioreel replay recorded.reel --target /dev/sdX -o replayed.reel --writes-as-reads   # reads "
    "only, harmless",
    "ioreel replay recorded.reel --target /dev/sdX -o replayed.reel --allow-writes      # sdX "
    "loses its data",
    "ioreel replay recorded.reel --target /dev/sdX --timing fast --depth 128",
    "ioreel replay traces/samples/sqlite.reel --target scratch.img --create 512m --allow-writes "
    "--unwritten-ok --timing fast; rm scratch.img",
    NULL,
};

static const struct replay_options defaults = {
    .timing = "original",
    .depth = OPTION_UNSET,
    .speed = 1,
    .tolerance_ns = NS_PER_MS,
    .limit = OPTION_UNSET,
    .duration_ns = OPTION_UNSET,
    .create_bytes = OPTION_UNSET,
    .seed = 1,
};

/* All that one replay holds. */
struct replay {
    const struct replay_options *options;
    const char *path;
    struct trace_reader *reader; /* for the meta */
    const struct trace_meta *source;
    struct trace_summary summary;
    bool *devices; /* of the trace, by index, those to take; NULL: all */
    struct schedule_rules rules;
    struct schedule_survey survey;
    struct replay_target target;
    struct trace_meta meta; /* of the result */
    struct trace_writer *writer;
    struct replay_result *result;
    struct replay_outcome outcome;
    bool ran;
};

static int parse_remap(const char *text, enum io_remap *remap)
{
    *remap = text ? io_remap_find(text) : REMAP_NONE;
    return *remap == REMAP_COUNT || (text && *remap == REMAP_NONE) ? -EINVAL : 0;
}

/* What can be refused without opening anything. */
static int check_usage(const struct replay_options *o, int argc, char **argv, struct error *err)
{
    enum io_remap remap;
    if (argc != 1)
        return error_usage(err, "replay takes one trace, not %d; see ioreel replay -h", argc);
    if (strcmp(argv[0], "-") == 0)
        return error_usage(err, "replay reads the trace twice and cannot take it from a pipe; "
                                "write it to a file first");
    if (o->targets.count != 1)
        return error_usage(err,
                           o->targets.count == 0
                               ? "--target is missing; it names the block device or file to "
                                 "replay on"
                               : "--target is given %zu times; a trace is replayed on one target",
                           o->targets.count);
    bool timed = strcmp(o->timing, "original") == 0;
    if (!timed && strcmp(o->timing, "fast") != 0)
        return error_usage(err, "--timing takes original or fast, not '%s'", o->timing);
    if (timed && o->depth != OPTION_UNSET)
        return error_usage(err, "--depth goes with --timing fast; the trace's own times decide how "
                                "much is in flight");
    if (o->depth != OPTION_UNSET && (o->depth < 1 || o->depth > REPLAY_IN_FLIGHT_MAX))
        return error_usage(err, "--depth: %llu is not within 1 to %u", (unsigned long long)o->depth,
                           REPLAY_IN_FLIGHT_MAX);
    if (!(o->speed >= 0.001 && o->speed <= 1000))
        return error_usage(err, "--speed: %g is not within 0.001 to 1000", o->speed);
    if (!timed && o->speed != 1)
        return error_usage(err, "--speed goes with --timing original");
    if (o->engine && !engine_find(o->engine))
        return error_usage(err, "--engine: there is no '%s'; there are %s", o->engine,
                           engine_names());
    if (parse_remap(o->remap, &remap))
        return error_usage(err, "--remap takes wrap, scale or clip, not '%s'", o->remap);
    if (o->allow_writes && o->writes_as_reads)
        return error_usage(err, "--allow-writes and --writes-as-reads exclude each other");
    if (o->create_bytes != OPTION_UNSET && !o->allow_writes)
        return error_usage(err, "--create makes a file to write to; add --allow-writes");
    if (o->create_bytes == 0)
        return error_usage(err, "--create: a target of 0 bytes holds nothing; give its size");
    if (o->duration_ns == 0)
        return error_usage(err, "--duration: nothing is issued in 0 s; give a time");
    if (o->json && o->output && strcmp(o->output, "-") == 0)
        return error_usage(err, "--json and -o - both want stdout; give the result trace a name");
    return 0;
}

/* Which devices of the trace are asked for. Each name has to be one of them. */
static int find_devices(struct replay *r, struct error *err)
{
    const struct option_strings *names = &r->options->devices;
    if (names->count == 0)
        return 0;
    r->devices = calloc(TRACE_DEVICES_MAX + 1, sizeof *r->devices);
    if (!r->devices)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t n = 0; n < names->count; n++) {
        bool found = false;
        for (size_t i = 0; i < r->source->device_count; i++)
            if (strcmp(r->source->devices[i].name, names->values[n]) == 0)
                r->devices[i] = found = true;
        if (!found)
            return error_set(err, ENOENT, "%s: has no device '%s'; ioreel info lists its devices",
                             r->path, names->values[n]);
    }
    r->rules.devices = r->devices;
    return 0;
}

/* Returns 0, -errno, or EXIT_UNFAITHFUL for a trace that was cut before its first I/O. */
static int open_trace(struct replay *r, struct error *err)
{
    int rc = trace_reader_open(r->path, NULL, &r->reader, err);
    if (rc == 0)
        rc = trace_reader_summary(r->reader, &r->summary, err);
    if (rc)
        return rc;
    r->source = trace_reader_meta(r->reader);
    if (r->summary.records == 0 && !r->summary.complete) {
        error_set(err, ENODATA, "%s; there is nothing to replay", r->summary.cut_text);
        return EXIT_UNFAITHFUL;
    }
    if (r->summary.records == 0)
        return error_set(err, ENODATA, "%s: holds no I/O; there is nothing to replay", r->path);
    bool has_times = (r->summary.fields & IO_HAS_ISSUE) != 0;
    if (r->rules.timed && !has_times)
        return error_set(err, EINVAL,
                         "%s: has no issue times; replay it with --timing fast --depth N", r->path);
    if (r->rules.timed && r->source->time_resolution_ns >= NS_PER_S)
        return error_set(err, EINVAL,
                         "%s: has times in whole seconds only, too coarse for --timing original; "
                         "replay it with --timing fast --depth N",
                         r->path);
    r->rules.in_order = has_times;
    return find_devices(r, err);
}

static bool trace_writes(const struct replay *r)
{
    const uint64_t *count = r->summary.op_count;
    return count[IO_WRITE] || count[IO_FLUSH] || count[IO_DISCARD] || count[IO_WRITE_ZEROES];
}

static int open_target(struct replay *r, struct error *err)
{
    const struct replay_options *o = r->options;
    struct guard_request request = {
        .path = o->targets.values[0],
        .write = o->allow_writes && trace_writes(r),
        .create_bytes = o->create_bytes == OPTION_UNSET ? 0 : o->create_bytes,
        .overwrite = o->overwrite,
    };
    int rc = guard_open(&request, &r->target, err);
    if (rc)
        return rc;
    if (!r->target.direct)
        log_warn("%s: has no direct I/O here; the page cache takes part in what is measured",
                 request.path);
    r->rules.place.target_bytes = r->target.size_bytes;
    r->rules.place.align_bytes = r->target.align_bytes;
    return 0;
}

static int check_size(const struct replay *r, struct error *err)
{
    char reach[UNITS_TEXT];
    char size[UNITS_TEXT];
    if (r->rules.place.remap != REMAP_NONE || r->survey.max_end_bytes <= r->target.size_bytes)
        return 0;
    return error_set(err, ENOSPC,
                     "%s: reaches to %s (%llu bytes) and %s holds %s (%llu bytes); take a larger "
                     "target or add --remap wrap, scale or clip",
                     r->path, units_format_size(r->survey.max_end_bytes, reach),
                     (unsigned long long)r->survey.max_end_bytes, r->target.path,
                     units_format_size(r->target.size_bytes, size),
                     (unsigned long long)r->target.size_bytes);
}

/* Reads of space that was never written do not reach the media: refused where that can be known. */
static int check_unwritten(const struct replay *r, bool known, struct error *err)
{
    char count[UNITS_TEXT];
    if (r->options->unwritten_ok || r->survey.ops[IO_READ] == 0)
        return 0;
    if (!known) {
        log_warn("%s: whether the trace's reads find written data here cannot be told; reads of "
                 "unwritten space are faster than real ones (--unwritten-ok silences this)",
                 r->target.path);
        return 0;
    }
    if (r->survey.unwritten == 0)
        return 0;
    return error_set(err, ENODATA,
                     "%s: %s of the trace's reads touch space that was never written, the first at "
                     "offset %llu, and would not reach the media; write the target first or add "
                     "--unwritten-ok",
                     r->target.path, units_format_count(r->survey.unwritten, count),
                     (unsigned long long)r->survey.unwritten_at);
}

/* Returns 0, -errno, or EXIT_UNFAITHFUL for a cut trace that would write. */
static int survey(struct replay *r, struct error *err)
{
    struct replay_hole *holes = NULL;
    size_t hole_count = 0;
    bool known = true;
    char text[UNITS_TEXT];
    int rc = 0;
    if (!r->options->unwritten_ok)
        rc = replay_target_holes(&r->target, &holes, &hole_count, &known, err);
    if (rc == 0)
        rc = schedule_survey(&r->rules, holes, hole_count, &r->survey, err);
    free(holes);
    if (rc)
        return rc;
    if (r->survey.records == 0)
        return error_set(err, ENODATA, "%s: has no I/O of %s%s", r->path,
                         r->options->devices.count ? r->options->devices.values[0] : "any device",
                         r->options->devices.count > 1 ? " and the other devices given" : "");
    r->rules.first_issue_ns = r->survey.first_issue_ns;
    rc = check_size(r, err);
    if (rc == 0)
        rc = check_unwritten(r, known, err);
    if (rc)
        return rc;
    if (r->survey.cut && r->target.writable) {
        error_set(err, EIO, "%s; nothing was written to %s: make a whole trace of it first",
                  r->survey.cut_text, r->target.path);
        return EXIT_UNFAITHFUL;
    }
    if (r->survey.cut)
        log_warn("%s", r->survey.cut_text);
    if (r->survey.devices > 1)
        log_warn("%s: has I/Os of %zu devices; all of them go to %s (--device chooses)", r->path,
                 r->survey.devices, r->target.path);
    if (r->survey.rounded > 0)
        log_warn("%s: %s I/Os are not whole blocks of %u bytes and were rounded to them", r->path,
                 units_format_count(r->survey.rounded, text), r->target.align_bytes);
    return 0;
}

static int open_result(struct replay *r, struct error *err)
{
    const struct replay_options *o = r->options;
    if (!o->output)
        return 0;
    struct replay_origin origin = {
        .trace = r->path,
        .trace_records = r->summary.records,
        .source = r->source,
        .rules = &r->rules,
        .survey = &r->survey,
        .target = &r->target,
        .engine = o->engine,
        .depth = o->depth,
        .seed = o->seed,
    };
    if (replay_origin_describe(&origin, &r->meta))
        return error_set(err, ENOMEM, "out of memory");
    struct trace_writer_options options = {.overwrite = o->overwrite_output};
    return trace_writer_open(o->output, &r->meta, &options, &r->writer, err);
}

static int run(struct replay *r, struct error *err)
{
    const struct replay_options *o = r->options;
    struct replay_plan plan = {
        .rules = &r->rules,
        .survey = &r->survey,
        .target = &r->target,
        .engine = o->engine,
        .depth = (uint32_t)(o->depth == OPTION_UNSET ? DEPTH_DEFAULT : o->depth),
        .tolerance_ns = o->tolerance_ns,
        .keep_going = o->keep_going,
        .seed = o->seed,
    };
    int rc = replay_result_start(r->writer, r->rules.timed, r->survey.issued, &r->result, err);
    if (rc)
        return rc;
    rc = replay_run(&plan, r->result, &r->outcome, err);
    r->ran = r->outcome.issued > 0;
    log_detail("engine %s (%s), priority %s", r->outcome.engine, r->outcome.granted,
               r->outcome.priority ? r->outcome.priority : "unchanged");
    struct error finish_error = {""};
    int finished = replay_result_finish(r->result, &finish_error);
    if (rc == 0 && finished) {
        rc = finished;
        *err = finish_error;
    }
    return rc;
}

static int print(struct replay *r)
{
    struct replay_report report = {
        .trace = r->path,
        .target = r->target.path,
        .timing = r->options->timing,
        .timed = r->rules.timed,
        .survey = &r->survey,
        .remap = r->rules.place.remap,
        .align_bytes = r->rules.place.align_bytes,
        .tolerance_ns = r->options->tolerance_ns,
        .outcome = &r->outcome,
        .totals = replay_result_totals(r->result),
    };
    bool to_stdout = !r->options->output || strcmp(r->options->output, "-") != 0;
    if (r->options->json)
        replay_report_json(&report);
    else
        replay_report_text(&report, to_stdout ? stdout : stderr);
    if (r->outcome.interrupted)
        return EXIT_INTERRUPTED;
    return replay_report_faithful(&report) ? EXIT_DONE : EXIT_UNFAITHFUL;
}

static int run_replay(void *options, int argc, char **argv, struct error *err)
{
    struct replay_options *o = options;
    int usage = check_usage(o, argc, argv, err);
    if (usage)
        return usage;
    struct replay replay = {.options = o, .path = argv[0], .target = {.fd = -1}};
    struct replay *r = &replay;
    r->rules = (struct schedule_rules){
        .path = r->path,
        .timed = strcmp(o->timing, "original") == 0,
        .allow_writes = o->allow_writes,
        .writes_as_reads = o->writes_as_reads,
        .speed = o->speed,
        .limit = o->limit == OPTION_UNSET ? SCHEDULE_ALL : o->limit,
        .duration_ns = o->duration_ns == OPTION_UNSET ? SCHEDULE_ALL : o->duration_ns,
    };
    parse_remap(o->remap, &r->rules.place.remap);
    if (!r->rules.timed && o->depth == OPTION_UNSET)
        o->depth = DEPTH_DEFAULT;
    int rc = open_trace(r, err);
    r->rules.place.source_bytes = r->summary.max_end_bytes;
    if (rc == 0)
        rc = open_target(r, err);
    if (rc == 0)
        rc = survey(r, err);
    if (rc == 0)
        rc = open_result(r, err);
    if (rc == 0)
        rc = run(r, err);
    if (r->writer && rc == 0)
        rc = trace_writer_close(r->writer, err);
    else
        trace_writer_abandon(r->writer);
    int exit_code = rc == EXIT_UNFAITHFUL ? EXIT_UNFAITHFUL : EXIT_FAILED;
    if (rc == 0)
        exit_code = print(r);
    replay_result_free(r->result);
    replay_target_close(&r->target, !r->ran);
    if (o->output)
        trace_meta_clear(&r->meta);
    trace_reader_close(r->reader);
    free(r->devices);
    return exit_code;
}

const struct command cmd_replay = {
    .name = "replay",
    .summary = "reissues a trace on a device and records what it did",
    .usage = "TRACE --target DEV [-o RESULT]",
    .examples = examples,
    .options = rows,
    .option_count = sizeof rows / sizeof *rows,
    .defaults = &defaults,
    .options_size = sizeof(struct replay_options),
    .run = run_replay,
};
