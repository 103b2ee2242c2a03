/* Reading a .reel in batches, as the blocks stand or merged by issue time.
 *
 * The merge holds the blocks whose time ranges overlap, decoded, and nothing else: a block that is
 * only found waits undecoded (as its place in the file; as compressed bytes when it came from a
 * pipe) until the merge reaches its first record. So one I/O of 30 s among millions, which makes a
 * block reach 30 s back, costs one decoded block and not 30 s of records. */
#include "traces/reel/trace_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/reel/private/reel_scan.h"

#define MERGE_RECORDS 4096u /* interleaved blocks are copied together in pieces of this */
#define SLICE_MIN     128u  /* a run at least this long is handed out in place */

struct trace_reader {
    char *path;
    struct trace_reader_options options;
    struct trace_meta meta;
    struct reel_scan scan;
    struct reel_codec *codec;
    struct reel_names names;
    struct reel_found **pending; /* blocks found and not used up */
    size_t pending_count;
    size_t pending_room;
    struct reel_found *retired; /* used up, but the last batch may point into it */
    struct io_record *spare;    /* a buffer of REEL_BLOCK_RECORDS_MAX to decode into */
    struct io_record *merged;
    bool end;
};

int trace_reader_open(const char *path, const struct trace_reader_options *options,
                      struct trace_reader **reader, struct error *err)
{
    struct trace_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, ENOMEM, "%s: out of memory", path);
    if (options)
        r->options = *options;
    if (r->options.fields == 0)
        r->options.fields = IO_HAS_ALL;
    bool by_time = r->options.in_order || r->options.from_ns || r->options.to_ns;
    if (by_time)
        r->options.fields |= IO_HAS_ISSUE;
    r->scan.source.fd = -1;
    r->path = strdup(path);
    r->codec = reel_codec_create(1);
    int rc = r->path && r->codec && trace_meta_init(&r->meta) == 0
                 ? 0
                 : error_set(err, ENOMEM, "%s: out of memory", path);
    if (!rc)
        rc = reel_scan_open(&r->scan, path, &r->meta, err);
    if (rc) {
        trace_reader_close(r);
        return rc;
    }
    r->scan.from_ns = r->options.from_ns;
    r->scan.to_ns = r->options.to_ns ? r->options.to_ns : UINT64_MAX;
    *reader = r;
    return 0;
}

void trace_reader_close(struct trace_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->pending_count; i++)
        reel_found_free(r->pending[i]);
    reel_found_free(r->retired);
    free(r->pending);
    free(r->spare);
    free(r->merged);
    reel_names_free(&r->names);
    reel_codec_free(r->codec);
    if (r->scan.source.fd >= 0)
        reel_scan_close(&r->scan);
    trace_meta_clear(&r->meta);
    free(r->path);
    free(r);
}

const struct trace_meta *trace_reader_meta(const struct trace_reader *r)
{
    return &r->meta;
}

enum trace_ending trace_reader_ending(const struct trace_reader *r)
{
    return r->end ? r->scan.ending : TRACE_OPEN;
}

const char *trace_reader_cut_text(const struct trace_reader *r)
{
    return r->scan.cut_text;
}

/* Cuts the decoded records to [from, to); they are sorted. */
static void trim(const struct trace_reader *r, struct reel_found *f)
{
    if (r->options.from_ns == 0 && r->options.to_ns == 0)
        return;
    while (f->cursor < f->end && f->records[f->cursor].issue_ns < r->scan.from_ns)
        f->cursor++;
    while (f->end > f->cursor && f->records[f->end - 1].issue_ns >= r->scan.to_ns)
        f->end--;
}

static int decode(struct trace_reader *r, struct reel_found *f, struct error *err)
{
    struct io_record *buffer = r->spare;
    if (!buffer)
        buffer = malloc(REEL_BLOCK_RECORDS_MAX * sizeof *buffer);
    if (!buffer)
        return error_set(err, ENOMEM, "%s: out of memory for a block", r->path);
    r->spare = NULL;
    int rc = reel_found_decode(&r->scan, f, r->codec, &r->names, &r->meta, r->options.fields,
                               buffer, err);
    if (rc) {
        r->spare = buffer;
        return rc;
    }
    for (size_t i = 1; r->options.in_order && i < f->end; i++)
        if (buffer[i].issue_ns < buffer[i - 1].issue_ns)
            return error_set(err, EBADMSG,
                             "%s: byte %llu: a block is damaged: its records are not "
                             "in the order of their times",
                             r->path, (unsigned long long)f->file_offset);
    trim(r, f);
    return 0;
}

/* Frees a block, keeping its buffer for the next one. */
static void retire(struct trace_reader *r, struct reel_found *f)
{
    if (f && !r->spare) {
        r->spare = f->records;
        f->records = NULL;
    }
    reel_found_free(f);
}

static int find_block(struct trace_reader *r, struct error *err)
{
    if (r->pending_count == r->pending_room) {
        size_t room = r->pending_room ? 2 * r->pending_room : 16;
        struct reel_found **pending = realloc(r->pending, room * sizeof *pending);
        if (!pending)
            return error_set(err, ENOMEM, "%s: out of memory", r->path);
        r->pending = pending;
        r->pending_room = room;
    }
    int rc = reel_scan_next(&r->scan, &r->pending[r->pending_count], err);
    if (rc == 0)
        r->pending_count++;
    return rc;
}

static int next_unordered(struct trace_reader *r, struct trace_batch *batch, struct error *err)
{
    for (;;) {
        int rc = find_block(r, err);
        if (rc)
            return rc;
        struct reel_found *f = r->pending[--r->pending_count];
        rc = decode(r, f, err);
        r->retired = f;
        if (rc)
            return rc;
        if (f->end > f->cursor) {
            *batch = (struct trace_batch){f->records + f->cursor, f->end - f->cursor};
            return 0;
        }
        retire(r, f);
        r->retired = NULL;
    }
}

/* When the next record of a pending block was issued, at the earliest. */
static uint64_t key_of(const struct reel_found *f)
{
    return f->records ? f->records[f->cursor].issue_ns : f->block.extent.first_issue_ns;
}

/* The pending block to take from: the lowest key, the earlier block among equals. *limit is the
 * lowest key of the others. */
static size_t lowest(const struct trace_reader *r, uint64_t *limit)
{
    size_t best = 0;
    uint64_t best_key = UINT64_MAX, second = UINT64_MAX;
    for (size_t i = 0; i < r->pending_count; i++) {
        uint64_t key = key_of(r->pending[i]);
        if (i == 0 || key < best_key) {
            second = best_key;
            best_key = key;
            best = i;
        } else if (key < second) {
            second = key;
        }
    }
    *limit = second;
    return best;
}

/* How many records from the cursor on were issued at or before `limit`. */
static size_t run_length(const struct reel_found *f, uint64_t limit)
{
    size_t low = f->cursor, high = f->end;
    if (f->records[high - 1].issue_ns <= limit)
        return high - low;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->records[middle].issue_ns <= limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low - f->cursor;
}

static void remove_pending(struct trace_reader *r, size_t at)
{
    /* Order is kept: among equal times the earlier block goes first. */
    memmove(&r->pending[at], &r->pending[at + 1], (--r->pending_count - at) * sizeof *r->pending);
}

/* Takes a run from the block: in place when it is long, else into the merge buffer. Returns true
 * when the batch is ready. */
static bool take_run(struct trace_reader *r, size_t at, uint64_t limit, size_t *merged,
                     struct trace_batch *batch)
{
    struct reel_found *f = r->pending[at];
    size_t run = run_length(f, limit);
    bool in_place = run >= SLICE_MIN;
    if (in_place && *merged == 0) {
        *batch = (struct trace_batch){f->records + f->cursor, run};
        f->cursor += run;
        if (f->cursor == f->end) {
            remove_pending(r, at);
            r->retired = f;
        }
        return true;
    }
    if (in_place || *merged == MERGE_RECORDS) {
        *batch = (struct trace_batch){r->merged, *merged};
        return true;
    }
    if (run > MERGE_RECORDS - *merged)
        run = MERGE_RECORDS - *merged;
    memcpy(r->merged + *merged, f->records + f->cursor, run * sizeof *f->records);
    *merged += run;
    f->cursor += run;
    if (f->cursor == f->end) {
        remove_pending(r, at);
        retire(r, f);
    }
    return false;
}

static int next_ordered(struct trace_reader *r, struct trace_batch *batch, struct error *err)
{
    size_t merged = 0;
    if (!r->merged)
        r->merged = malloc(MERGE_RECORDS * sizeof *r->merged);
    if (!r->merged)
        return error_set(err, ENOMEM, "%s: out of memory", r->path);
    bool found_all = r->scan.ending != TRACE_OPEN;
    for (;;) {
        uint64_t limit = UINT64_MAX;
        size_t best = r->pending_count ? lowest(r, &limit) : 0;
        if (!found_all && (r->pending_count == 0 || key_of(r->pending[best]) > r->scan.floor_ns)) {
            int rc = find_block(r, err);
            if (rc < 0)
                return rc;
            found_all = rc == 1;
            continue;
        }
        if (r->pending_count == 0) {
            *batch = (struct trace_batch){r->merged, merged};
            return merged ? 0 : 1;
        }
        struct reel_found *f = r->pending[best];
        if (!f->records) {
            int rc = decode(r, f, err);
            if (rc)
                return rc;
            if (f->cursor == f->end) {
                remove_pending(r, best);
                retire(r, f);
            }
            continue;
        }
        if (!found_all && r->scan.floor_ns < limit)
            limit = r->scan.floor_ns;
        if (take_run(r, best, limit, &merged, batch))
            return 0;
    }
}

int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct error *err)
{
    retire(r, r->retired);
    r->retired = NULL;
    int rc = r->options.in_order ? next_ordered(r, batch, err) : next_unordered(r, batch, err);
    r->end = rc == 1;
    return rc;
}

static void fill_summary(const struct reel_scan *scan, struct trace_summary *summary)
{
    const struct reel_extent *extent = &scan->extent;
    *summary = (struct trace_summary){
        .format_version = REEL_VERSION,
        .records = extent->records,
        .blocks = scan->indexed ? scan->index.count : scan->blocks,
        .first_issue_ns = extent->records ? extent->first_issue_ns : 0,
        .last_ns = extent->last_ns,
        .min_offset_bytes = extent->max_end_bytes ? extent->min_offset_bytes : 0,
        .max_end_bytes = extent->max_end_bytes,
        .file_bytes = scan->source.size,
        .fields = extent->fields,
        .loss = scan->loss,
        .complete = scan->indexed || scan->ending == TRACE_COMPLETE,
    };
    memcpy(summary->op_count, extent->op_count, sizeof summary->op_count);
    memcpy(summary->cut_text, scan->cut_text, sizeof summary->cut_text);
}

int trace_reader_summary(struct trace_reader *r, struct trace_summary *summary, struct error *err)
{
    if (r->scan.indexed || !r->scan.source.seekable || r->scan.ending != TRACE_OPEN) {
        fill_summary(&r->scan, summary);
        return 0;
    }
    /* Cut, in a file: another walk over the headers, which decodes nothing. */
    struct trace_meta meta;
    struct reel_scan walk;
    if (trace_meta_init(&meta))
        return error_set(err, ENOMEM, "%s: out of memory", r->path);
    int rc = reel_scan_open(&walk, r->path, &meta, err);
    if (!rc) {
        struct reel_found *found;
        while ((rc = reel_scan_next(&walk, &found, err)) == 0)
            reel_found_free(found);
        if (rc == 1)
            fill_summary(&walk, summary);
        reel_scan_close(&walk);
    }
    trace_meta_clear(&meta);
    return rc < 0 ? rc : 0;
}
