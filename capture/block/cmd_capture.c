/* ioreel capture: options in, a .reel and its accounting out. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/block/private/block_capture.h"
#include "capture/block/private/block_device.h"
#include "capture/block/private/block_recorder.h"
#include "capture/block/private/capture_rights.h"
#include "capture/commands.h"
#include "common/environment.h"
#include "common/interrupt.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/progress.h"
#include "common/text_table.h"
#include "common/units.h"
#include "traces/record/trace_meta.h"
#include "traces/reel/trace_writer.h"

#define DRAIN_MS     20
#define DRAIN_MIN_MS 1
#define END_DRAIN_NS NS_PER_S

struct capture_options {
    struct option_strings devices;
    const char *output;
    uint64_t duration_ns;
    uint64_t buffer_bytes;
    const char *accounting;
    uint64_t level;
    bool request_time;
    bool overwrite;
    bool json;
};

static const struct capture_options capture_defaults = {
    .duration_ns = OPTION_UNSET,
    .buffer_bytes = 32 * MIB,
    .accounting = "slots",
    .level = 3,
};

#define ROW(field) offsetof(struct capture_options, field)
static const struct option_row capture_rows[] = {
    {'d', "device", "DEV", OPTION_STRINGS, ROW(devices), "disk to watch; repeat for more"},
    {'o', "output", "FILE", OPTION_STRING, ROW(output), "trace to write; - is stdout"},
    {'t', "duration", "TIME", OPTION_TIME, ROW(duration_ns), "end after this long (else Ctrl-C)"},
    {0, "buffer", "SIZE", OPTION_SIZE, ROW(buffer_bytes),
     "memory between kernel and program (32m; 1g at most)"},
    {0, "accounting", "HOW", OPTION_STRING, ROW(accounting),
     "how requests in flight are found: slots or hash"},
    {0, "request-time", NULL, OPTION_FLAG, ROW(request_time),
     "queue time from the request's allocation: cheaper, leaves out the wait for a tag"},
    {0, "level", "N", OPTION_COUNT, ROW(level), "zstd level of the trace (3)"},
    {0, "overwrite-output", NULL, OPTION_FLAG, ROW(overwrite), "replace an output that exists"},
    {0, "json", NULL, OPTION_FLAG, ROW(json), "print the accounting as JSON"},
};

static const char *const capture_examples[] = {
    "ioreel capture -d /dev/sda -o sda.reel                # until Ctrl-C",
    "ioreel capture -d /dev/sda -d /dev/sdb --duration 1m -o both.reel --json",
    "ioreel capture -d /dev/sda -o job.reel -- tar cf /dev/null /var/lib",
    NULL,
};

/* All that a capture holds, in the order in which it is taken; capture_release() gives it back. */
struct capture_run {
    const struct capture_options *options;
    struct block_device devices[BLOCK_DEVICES_MAX];
    size_t device_count;
    struct trace_meta meta;
    bool meta_ready;
    uint64_t zero_ns; /* CLOCK_MONOTONIC of the trace's time 0 */
    struct block_capture *capture;
    struct trace_writer *writer;
    struct block_recorder *recorder;
    pid_t child;
    int child_gate; /* the child waits until it is written to */
    int child_status;
};

static int check_options(const struct capture_options *o, int argc, struct error *err)
{
    if (o->devices.count == 0)
        return error_usage(err, "name a disk with -d, such as -d /dev/sda; lsblk lists them");
    if (o->devices.count > BLOCK_DEVICES_MAX)
        return error_usage(err, "%zu devices are named; one capture takes %d", o->devices.count,
                           BLOCK_DEVICES_MAX);
    if (!o->output)
        return error_usage(err, "name the trace to write with -o FILE");
    if (strcmp(o->output, "-") == 0 && o->json)
        return error_usage(err, "-o - and --json both want stdout; write the trace to a file");
    if (strcmp(o->accounting, "slots") != 0 && strcmp(o->accounting, "hash") != 0)
        return error_usage(err, "--accounting %s: it is slots or hash", o->accounting);
    if (o->level < 1 || o->level > 22)
        return error_usage(err, "--level %llu: zstd's levels are 1 to 22",
                           (unsigned long long)o->level);
    if (o->buffer_bytes < 4 * KIB || o->buffer_bytes > GIB)
        return error_usage(err, "--buffer: the memory is 4 KiB to 1 GiB");
    if (o->duration_ns == 0)
        return error_usage(err, "--duration 0 records nothing");
    if (argc > 0 && o->duration_ns != OPTION_UNSET)
        log_detail("the capture ends with the command or after --duration, whichever is first");
    return EXIT_DONE;
}

static int find_devices(struct capture_run *run, struct error *err)
{
    for (size_t i = 0; i < run->options->devices.count; i++) {
        const char *path = run->options->devices.values[i];
        struct block_device *device = &run->devices[run->device_count];
        int rc = block_device_find(path, device, err);
        if (rc)
            return rc;
        if (device->partition)
            log_info("%s is a part of %s: all of %s is recorded", path, device->name, device->name);
        bool known = false;
        for (size_t j = 0; j < run->device_count; j++)
            known |= strcmp(run->devices[j].name, device->name) == 0;
        run->device_count += !known;
    }
    return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int describe(struct capture_run *run, struct error *err)
{
    struct trace_meta *meta = &run->meta;
    if (trace_meta_init(meta))
        return error_set(err, ENOMEM, "out of memory");
    run->meta_ready = true;
    meta->vantage = VANTAGE_REQUEST;
    trace_set_text(&meta->producer, "ioreel " IOREEL_VERSION " capture");
    json_t *environment = environment_describe();
    if (environment) {
        json_decref(meta->environment);
        meta->environment = environment;
    }
    for (size_t i = 0; i < run->device_count; i++) {
        int index = trace_meta_device(meta, run->devices[i].name);
        if (index < 0)
            return error_set(err, ENOMEM, "out of memory");
        block_device_describe(&run->devices[i], &meta->devices[index]);
    }
    run->zero_ns = clock_ns(CLOCK_MONOTONIC);
    meta->start_realtime_ns = clock_ns(CLOCK_REALTIME);
    return 0;
}

/* The command to run, held back until the gate is open; it keeps the rights of the user. */
static int prepare_child(struct capture_run *run, char **argv, struct error *err)
{
    int gate[2];
    if (pipe(gate) != 0)
        return error_errno(err, errno, "pipe");
    run->child = fork();
    if (run->child < 0) {
        close(gate[0]);
        close(gate[1]);
        return error_errno(err, errno, "fork");
    }
    if (run->child == 0) {
        char go;
        close(gate[1]);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        if (read(gate[0], &go, 1) != 1)
            _exit(127);
        close(gate[0]);
        dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is for the result */
        execvp(argv[0], argv);
        log_error("%s: %s", argv[0], strerror(errno));
        _exit(127);
    }
    close(gate[0]);
    run->child_gate = gate[1];
    return 0;
}

static void release_child(struct capture_run *run)
{
    if (run->child_gate >= 0 && write(run->child_gate, "g", 1) != 1)
        log_warn("the command could not be started");
    if (run->child_gate >= 0)
        close(run->child_gate);
    run->child_gate = -1;
}

static bool child_ended(struct capture_run *run)
{
    if (run->child <= 0 || waitpid(run->child, &run->child_status, WNOHANG) != run->child)
        return false;
    run->child = 0;
    return true;
}

/* A capture that records its own writing is a fair capture, but its user should know. */
static void warn_of_own_writes(const struct capture_run *run)
{
    struct stat st;
    const char *output = run->options->output;
    if (strcmp(output, "-") == 0 || stat(output, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    for (size_t i = 0; i < run->device_count; i++)
        if (block_device_holds(&run->devices[i], st.st_dev))
            log_warn(
                "%s lies on %s, which is recorded: the writes of the trace itself will be in it",
                output, run->devices[i].name);
}

/* The output is made only when the capture can start, so that nothing is left behind. */
static int set_up(struct capture_run *run, int argc, char **argv, struct error *err)
{
    const struct capture_options *o = run->options;
    struct block_capture_options how = {
        .ring_bytes = o->buffer_bytes,
        .slots_by_hash = strcmp(o->accounting, "hash") == 0,
        .no_bio_times = o->request_time,
    };
    struct trace_writer_options writing = {.overwrite = o->overwrite, .level = (int)o->level};
    int rc = find_devices(run, err);
    if (rc == 0)
        rc = block_capture_open(run->devices, run->device_count, &how, &run->capture, err);
    if (rc == 0)
        rc = describe(run, err);
    if (rc == 0 && argc > 0)
        rc = prepare_child(run, argv, err);
    if (rc == 0)
        rc = trace_writer_open(o->output, &run->meta, &writing, &run->writer, err);
    if (rc == 0)
        rc = capture_rights_drop(err);
    if (rc == 0) {
        warn_of_own_writes(run);
        run->recorder = block_recorder_create(run->capture, &run->meta, run->writer,
                                              run->device_count, run->zero_ns);
        if (!run->recorder)
            rc = error_set(err, ENOMEM, "out of memory");
    }
    return rc;
}

static void sleep_ms(unsigned ms)
{
    struct timespec wait = {.tv_nsec = (long)ms * (long)NS_PER_MS};
    nanosleep(&wait, NULL);
}

/* Drains about every 20 ms, sooner when the ring fills faster than that. */
static int record(struct capture_run *run, struct error *err)
{
    struct progress progress;
    unsigned wait_ms = DRAIN_MS;
    progress_start(&progress, "recorded");
    block_recorder_start(run->recorder);
    release_child(run);
    int rc = 0;
    while (rc == 0 && !interrupt_seen() && !child_ended(run)) {
        uint64_t elapsed_ns = block_recorder_elapsed_ns(run->recorder);
        if (run->options->duration_ns != OPTION_UNSET) {
            if (elapsed_ns >= run->options->duration_ns)
                break;
            uint64_t left_ms = (run->options->duration_ns - elapsed_ns) / NS_PER_MS;
            sleep_ms(left_ms < wait_ms ? (unsigned)left_ms + 1 : wait_ms);
        } else {
            sleep_ms(wait_ms);
        }
        double fill = block_capture_fill(run->capture);
        if (fill > 0.25 && wait_ms > DRAIN_MIN_MS)
            wait_ms /= 2;
        else if (fill < 0.05 && wait_ms < DRAIN_MS)
            wait_ms++;
        rc = block_recorder_step(run->recorder, err);
        progress_update(&progress, trace_writer_records(run->writer), 0);
    }
    progress_end(&progress);
    int finished = block_recorder_finish(run->recorder, END_DRAIN_NS, err);
    return rc ? rc : finished;
}

static void capture_release(struct capture_run *run)
{
    block_recorder_free(run->recorder);
    trace_writer_abandon(run->writer);
    block_capture_close(run->capture);
    if (run->child_gate >= 0)
        close(run->child_gate); /* a child that was never started ends by itself */
    if (run->child > 0) {
        if (!run->recorder)
            waitpid(run->child, NULL, 0);
        else
            log_info("the command (pid %d) still runs", (int)run->child);
    }
    if (run->meta_ready)
        trace_meta_clear(&run->meta);
}

static json_t *totals_json(const struct block_totals *t)
{
    json_t *object = json_object();
    json_object_set_new(object, "issued", json_u64(t->issued));
    json_object_set_new(object, "records", json_u64(t->records));
    json_object_set_new(object, "lost", json_u64(t->lost));
    json_object_set_new(object, "lost_buffer_full", json_u64(t->lost_ring_full));
    json_object_set_new(object, "lost_completion_unseen", json_u64(t->lost_unseen));
    json_object_set_new(object, "lost_issue_unseen", json_u64(t->lost_untracked));
    json_object_set_new(object, "first_lost_ns", json_u64_or_null(t->lost > 0, t->first_lost_ns));
    json_object_set_new(object, "last_lost_ns", json_u64_or_null(t->lost > 0, t->last_lost_ns));
    json_object_set_new(object, "before_attach", json_u64(t->before_attach));
    json_object_set_new(object, "open", json_u64(t->open));
    json_object_set_new(object, "empty_flushes", json_u64(t->empty_flushes));
    return object;
}

static int print_json(const struct capture_run *run, const struct block_totals *all,
                      uint64_t elapsed_ns, uint64_t file_bytes)
{
    json_t *document = totals_json(all);
    json_object_set_new(document, "elapsed_ns", json_u64(elapsed_ns));
    json_object_set_new(document, "output", json_text_or_null(run->options->output));
    json_object_set_new(document, "file_bytes", json_u64(file_bytes));
    json_t *devices = json_array();
    for (size_t i = 0; i < run->device_count; i++) {
        struct block_totals one;
        block_recorder_device_totals(run->recorder, i, &one);
        json_t *object = totals_json(&one);
        json_object_set_new(object, "name", json_text_or_null(run->devices[i].name));
        json_array_append_new(devices, object);
    }
    json_object_set_new(document, "devices", devices);
    return json_print(document, false);
}

static void print_text(const struct capture_run *run, const struct block_totals *all,
                       uint64_t elapsed_ns, uint64_t file_bytes)
{
    static const char *const headers[] = {"device", "issued", "records", "lost",
                                          "open",   "before", NULL};
    char a[UNITS_TEXT];
    FILE *to = strcmp(run->options->output, "-") == 0 ? stderr : stdout;
    struct text_table *table = text_table_create(6, headers);
    for (size_t i = 0; table && i < run->device_count; i++) {
        struct block_totals one;
        block_recorder_device_totals(run->recorder, i, &one);
        const uint64_t cells[] = {one.issued, one.records, one.lost, one.open, one.before_attach};
        text_table_cell(table, "%s", run->devices[i].name);
        for (size_t j = 0; j < 5; j++)
            text_table_cell(table, "%s", units_format_count(cells[j], a));
    }
    if (table)
        text_table_print(table, to);
    text_table_free(table);
    double seconds = (double)elapsed_ns / (double)NS_PER_S;
    fprintf(to, "%s: %s records in %.1f s, ", run->options->output,
            units_format_count(all->records, a), seconds);
    fprintf(to, "%s", units_format_size(file_bytes, a));
    if (all->records)
        fprintf(to, " (%.2f bytes each)", (double)file_bytes / (double)all->records);
    fprintf(to, "\n");
}

static void say_loss(const struct block_totals *all)
{
    if (all->lost == 0)
        return;
    log_warn(
        "%llu requests are not in the trace, between %.3f s and %.3f s: %llu since the buffer "
        "was full, %llu since the kernel showed no completion, %llu since it showed no issue%s",
        (unsigned long long)all->lost, (double)all->first_lost_ns / 1e9,
        (double)all->last_lost_ns / 1e9, (unsigned long long)all->lost_ring_full,
        (unsigned long long)all->lost_unseen, (unsigned long long)all->lost_untracked,
        all->lost_ring_full ? "; a larger --buffer helps" : "");
}

/* Completes the file and prints the accounting. */
static int conclude(struct capture_run *run, struct error *err)
{
    struct block_totals all;
    block_recorder_totals(run->recorder, &all);
    uint64_t elapsed_ns = block_recorder_elapsed_ns(run->recorder);
    log_detail("the kernel skipped %llu program runs",
               (unsigned long long)block_capture_missed_runs(run->capture));
    struct trace_writer *writer = run->writer;
    run->writer = NULL;
    uint64_t file_bytes = trace_writer_bytes(writer);
    if (trace_writer_close(writer, err))
        return EXIT_FAILED;
    struct stat st;
    if (strcmp(run->options->output, "-") != 0 && stat(run->options->output, &st) == 0 &&
        S_ISREG(st.st_mode))
        file_bytes = (uint64_t)st.st_size; /* with the index, which is written last */
    if (run->options->json && print_json(run, &all, elapsed_ns, file_bytes))
        return EXIT_FAILED;
    if (!run->options->json)
        print_text(run, &all, elapsed_ns, file_bytes);
    say_loss(&all);
    if (all.records + all.lost != all.issued) {
        error_set(err, EPROTO,
                  "%s: %llu records and %llu lost are not the %llu requests that were issued; "
                  "please report this with the kernel's version",
                  run->options->output, (unsigned long long)all.records,
                  (unsigned long long)all.lost, (unsigned long long)all.issued);
        return EXIT_FAILED;
    }
    if (run->child_status != 0)
        log_warn("the command did not end well: %s %d",
                 WIFSIGNALED(run->child_status) ? "signal" : "exit",
                 WIFSIGNALED(run->child_status) ? WTERMSIG(run->child_status)
                                                : WEXITSTATUS(run->child_status));
    return all.lost ? EXIT_UNFAITHFUL : EXIT_DONE;
}

static int run_capture(void *options, int argc, char **argv, struct error *err)
{
    const struct capture_options *o = options;
    int code = check_options(o, argc, err);
    if (code != EXIT_DONE)
        return code;
    struct capture_run run = {.options = o, .child_gate = -1};
    code = EXIT_FAILED;
    if (set_up(&run, argc, argv, err) == 0) {
        log_info("recording %zu device%s; Ctrl-C ends it", run.device_count,
                 run.device_count == 1 ? "" : "s");
        if (record(&run, err) == 0)
            code = conclude(&run, err);
    }
    capture_release(&run);
    return code;
}

const struct command cmd_capture = {
    .name = "capture",
    .summary = "record block I/O live",
    .usage = "-d DEV... -o FILE [OPTIONS] [-- COMMAND...]",
    .examples = capture_examples,
    .options = capture_rows,
    .option_count = sizeof capture_rows / sizeof *capture_rows,
    .defaults = &capture_defaults,
    .options_size = sizeof(struct capture_options),
    .run = run_capture,
};
