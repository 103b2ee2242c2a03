/* Linux's blktrace recordings (versions 7 and 8, either byte order), one file or all the per-CPU
 * files of a device: finds the files, fills the meta, says what was lost. Reading and ordering the
 * events is blktrace_events.c's, pairing them blktrace_pairs.c's.
 *
 * Issue and completion are the block layer's own: VANTAGE_REQUEST, or VANTAGE_BIO for a device
 * without requests (dm, md), whose bios are queued and completed but never issued. */
#include "traces/import/importers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/import/private/blktrace_events.h"
#include "traces/import/private/blktrace_pairs.h"

static int blktrace_bid(const uint8_t *bytes, size_t count, const struct import_options *options)
{
    (void)options;
    if (count < 4)
        return BID_NO;
    bool big = bytes[0] == 0x65 && bytes[1] == 0x61 && bytes[2] == 0x74;
    bool little = bytes[3] == 0x65 && bytes[2] == 0x61 && bytes[1] == 0x74;
    unsigned version = big ? bytes[3] : bytes[0];
    return (big || little) && (version == 7 || version == 8) ? BID_SURE : BID_NO;
}

/* Splits "x/sda.blktrace.3" or "x/sda" into the folder "x" and the name "sda". */
static bool split_path(const char *path, char *folder, char *name, size_t room)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= room)
        return false;
    memcpy(folder, path, length);
    folder[length] = '\0';
    if (!slash)
        snprintf(folder, room, ".");
    else if (length == 0)
        snprintf(folder, room, "/");
    if (blktrace_stem(path, name, room))
        return true;
    const char *base = slash ? slash + 1 : path;
    return base[0] && (size_t)snprintf(name, room, "%s", base) < room;
}

/* Whether `name` is the same CPU's file as `base`, or stands beside an unpacked (or else earlier
 * packed) one: the same events twice would be invented I/O. */
static bool is_copy(const char *folder, const char *name, const char *base)
{
    static const char *const endings[] = {"", ".gz", ".xz", ".zst"};
    const char *digits = strrchr(name, '.');
    size_t bare = strlen(name);
    if (strspn(digits + 1, "0123456789") != strlen(digits + 1))
        bare = (size_t)(digits - name);
    if (strncmp(name, base, bare) == 0 && (base[bare] == '\0' || base[bare] == '.'))
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && strcmp(name + bare, endings[i]);
         i++) {
        char path[4608];
        snprintf(path, sizeof path, "%s/%.*s%s", folder, (int)bare, name, endings[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* All DEV.blktrace.N beside `path`, itself left out. */
static int blktrace_siblings(const char *path, char **more, size_t room)
{
    char folder[2048];
    char name[2048];
    if (strcmp(path, "-") == 0 || !split_path(path, folder, name, sizeof folder))
        return 0;
    DIR *entries = opendir(folder);
    if (!entries)
        return 0;
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t prefix = (size_t)(strlen(path) - strlen(base));
    int count = 0;
    for (struct dirent *entry; (entry = readdir(entries)) && (size_t)count < room;) {
        char stem[2048];
        if (!blktrace_stem(entry->d_name, stem, sizeof stem) || strcmp(stem, name) != 0 ||
            is_copy(folder, entry->d_name, base))
            continue;
        char *found = malloc(prefix + strlen(entry->d_name) + 1);
        if (!found)
            break;
        memcpy(found, path, prefix);
        strcpy(found + prefix, entry->d_name);
        more[count++] = found;
    }
    closedir(entries);
    return count;
}

static void fill_meta(struct import_sink *sink, const struct import_options *options,
                      const struct blktrace_facts *facts)
{
    struct trace_meta *meta = sink->meta;
    unsigned vantage = facts->bios_only ? VANTAGE_BIO : VANTAGE_REQUEST;
    meta->vantage = options->vantage != VANTAGE_UNKNOWN ? options->vantage : vantage;
    meta->time_resolution_ns = 1;
    meta->start_realtime_ns = facts->start_realtime_ns;
    char text[64];
    snprintf(text, sizeof text, "blktrace v%u, %s-endian", facts->version,
             facts->big_endian ? "big" : "little");
    json_object_set_new(meta->environment, "source_format", json_string(text));
}

/* Events that are missing from the sequence are lost; how many I/Os that were is not known, at most
 * one each. A completion without issue is older than the recording, unless an event was lost. */
static void fill_loss(struct import_sink *sink, const struct blktrace_facts *facts,
                      const struct blktrace_counts *counts)
{
    sink->loss.lost += facts->lost_events;
    if (facts->lost_events) {
        sink->loss.first_lost_ns =
            facts->first_lost_ns > facts->start_ns ? facts->first_lost_ns - facts->start_ns : 0;
        sink->loss.last_lost_ns =
            facts->last_lost_ns > facts->start_ns ? facts->last_lost_ns - facts->start_ns : 0;
    } else {
        sink->loss.before_attach = counts->unmatched;
    }
    if (counts->completions == 0)
        import_sink_note(sink,
                         "the recording has no completion events (C), only %s: latency and depth "
                         "are not known",
                         facts->bios_only ? "queue events (Q)" : "issues (D)");
    else if (facts->bios_only)
        import_sink_note(sink, "the device has no requests (dm or md): its bios are taken, from "
                               "their queueing to their completion");
    if (counts->given_up)
        import_sink_note(sink, "%llu requests never completed and were given up",
                         (unsigned long long)counts->given_up);
    if (facts->lost_events)
        import_sink_fault(sink, "%llu events are missing from the sequence: blktrace lost them",
                          (unsigned long long)facts->lost_events);
    if (facts->disordered)
        import_sink_fault(sink,
                          "%llu events lie further back than a window of %u events; import the "
                          "per-CPU files instead",
                          (unsigned long long)facts->disordered, BLKTRACE_WINDOW);
}

static int read_events(struct blktrace_stream *stream, struct blktrace_pairs *pairs,
                       struct error *err)
{
    for (;;) {
        struct blktrace_event event;
        int rc = blktrace_stream_next(stream, &event, err);
        if (rc == 1)
            return blktrace_pairs_finish(pairs, err);
        if (rc == 0)
            rc = blktrace_pairs_feed(pairs, &event, err);
        if (rc)
            return rc;
    }
}

/* What each input calls its device: "sda" of sda.blktrace.0. Two allocations, freed by the caller.
 */
static int name_inputs(struct import_input **inputs, size_t count, const char ***names,
                       char (**stems)[256], struct error *err)
{
    *names = calloc(count, sizeof **names);
    *stems = calloc(count, sizeof **stems);
    if (!*names || !*stems)
        return error_set(err, ENOMEM, "no memory for %zu inputs", count);
    for (size_t i = 0; i < count; i++) {
        blktrace_stem(import_input_name(inputs[i]), (*stems)[i], sizeof **stems);
        (*names)[i] = (*stems)[i];
    }
    return 0;
}

static int blktrace_read(struct import_input **inputs, size_t input_count,
                         const struct import_options *options, struct import_sink *sink,
                         struct error *err)
{
    struct blktrace_stream *stream = NULL;
    struct blktrace_pairs *pairs = NULL;
    const char **names = NULL;
    char(*stems)[256] = NULL;
    int rc = name_inputs(inputs, input_count, &names, &stems, err);
    if (rc == 0)
        rc = blktrace_stream_open(inputs, input_count, sink, &stream, err);
    if (rc == 0) {
        fill_meta(sink, options, blktrace_stream_facts(stream));
        rc = blktrace_pairs_create(stream, sink, options->device, names, &pairs, err);
    }
    if (rc == 0)
        rc = read_events(stream, pairs, err);
    if (rc == 0)
        fill_loss(sink, blktrace_stream_facts(stream), blktrace_pairs_counts(pairs));
    blktrace_pairs_free(pairs);
    blktrace_stream_close(stream);
    free(names);
    free(stems);
    return rc;
}

const struct importer import_blktrace = {
    .name = "blktrace",
    .summary = "Linux blktrace, one file or all DEV.blktrace.N of a device",
    .tells_loss = true,
    .bid = blktrace_bid,
    .read = blktrace_read,
    .siblings = blktrace_siblings,
};
