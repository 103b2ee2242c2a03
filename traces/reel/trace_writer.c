/* Writing a .reel: one block of records is held, sorted, encoded and written with one write. */
#include "traces/reel/trace_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/output_file.h"
#include "traces/reel/private/reel_block.h"
#include "traces/reel/private/reel_column.h"
#include "traces/reel/private/reel_frame.h"
#include "traces/reel/private/reel_tail.h"

#define DEFAULT_LEVEL 3

struct trace_writer {
    char *path;
    int fd;
    const struct trace_meta *meta;
    struct reel_codec *codec;
    struct reel_choices choices;
    struct io_record *records; /* the block being filled */
    size_t count;
    size_t capacity;
    bool sorted; /* the records so far are */
    uint64_t floor_ns;
    uint64_t promised_ns; /* the floor that stands in the last block */
    struct trace_loss loss;
    struct trace_loss written_loss;
    uint64_t bytes;
    struct reel_extent extent;
    struct reel_index index;
    struct reel_seek_table seek;
    struct reel_bytes columns;
    struct reel_bytes out;
};

static void free_writer(struct trace_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    reel_codec_free(w->codec);
    free(w->path);
    free(w->records);
    free(w->index.entries);
    reel_bytes_free(&w->seek.entries);
    reel_bytes_free(&w->columns);
    reel_bytes_free(&w->out);
    free(w);
}

static int write_out(struct trace_writer *w, struct error *err)
{
    if (w->out.failed)
        return error_set(err, ENOMEM, "%s: out of memory", w->path);
    int rc = output_file_write(w->fd, w->out.data, w->out.size);
    if (rc)
        return error_errno(err, -rc, "%s: cannot write", w->path);
    w->bytes += w->out.size;
    w->out.size = 0;
    return 0;
}

static int write_header(struct trace_writer *w, struct error *err)
{
    json_t *object = trace_meta_to_json(w->meta);
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (!text || strlen(text) > REEL_HEADER_MAX - REEL_FRAME_OVERHEAD) {
        free(text);
        return error_set(err, EINVAL, "%s: the trace's header is over the limit of %u bytes",
                         w->path, REEL_HEADER_MAX);
    }
    size_t start = reel_frame_begin(&w->out, REEL_HEADER);
    reel_put_bytes(&w->out, text, strlen(text));
    free(text);
    reel_frame_finish(&w->out, start);
    reel_seek_add(&w->seek, w->out.size, 0);
    return write_out(w, err);
}

int trace_writer_open(const char *path, const struct trace_meta *meta,
                      const struct trace_writer_options *options, struct trace_writer **writer,
                      struct error *err)
{
    static const struct trace_writer_options defaults = {0};
    const struct trace_writer_options *o = options ? options : &defaults;
    struct trace_writer *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, ENOMEM, "%s: out of memory", path);
    w->fd = -1;
    w->meta = meta;
    w->sorted = true;
    w->capacity = o->block_records && o->block_records < REEL_BLOCK_RECORDS_MAX
                      ? o->block_records
                      : REEL_BLOCK_RECORDS_MAX;
    reel_extent_clear(&w->extent);
    w->path = strdup(strcmp(path, "-") == 0 ? "stdout" : path);
    w->codec = reel_codec_create(o->level ? o->level : DEFAULT_LEVEL);
    w->records = malloc(w->capacity * sizeof *w->records);
    int rc = w->path && w->codec && w->records ? 0 : error_set(err, ENOMEM, "out of memory");
    if (!rc) {
        w->fd = output_file_open(path, o->overwrite, err);
        rc = w->fd < 0 ? w->fd : write_header(w, err);
    }
    if (rc) {
        free_writer(w);
        return rc;
    }
    *writer = w;
    return 0;
}

/* A stable merge sort by issue time: blocks are nearly sorted, so runs are found first and merged.
 */
static int sort_records(struct trace_writer *w, struct error *err)
{
    if (w->sorted)
        return 0;
    struct io_record *spare = malloc(w->count * sizeof *spare);
    if (!spare)
        return error_set(err, ENOMEM, "%s: out of memory", w->path);
    struct io_record *from = w->records, *to = spare;
    for (bool merged = true; merged;) {
        merged = false;
        size_t at = 0;
        while (at < w->count) {
            size_t middle = at + 1;
            while (middle < w->count && from[middle - 1].issue_ns <= from[middle].issue_ns)
                middle++;
            size_t end = middle < w->count ? middle + 1 : middle;
            while (end < w->count && from[end - 1].issue_ns <= from[end].issue_ns)
                end++;
            size_t left = at, right = middle;
            for (size_t k = at; k < end; k++) {
                bool take_left =
                    left < middle && (right >= end || from[left].issue_ns <= from[right].issue_ns);
                to[k] = take_left ? from[left++] : from[right++];
            }
            merged |= at > 0 || end < w->count;
            at = end;
        }
        struct io_record *swap = from;
        from = to;
        to = swap;
    }
    if (from != w->records)
        memcpy(w->records, from, w->count * sizeof *from);
    free(spare);
    w->sorted = true;
    return 0;
}

static int index_block(struct trace_writer *w, const struct reel_block *block, size_t header_bytes,
                       struct error *err)
{
    size_t count = w->index.count;
    if (count == 0 || (count >= 64 && (count & (count - 1)) == 0)) {
        size_t capacity = count ? 2 * count : 64;
        struct reel_index_entry *entries = realloc(w->index.entries, capacity * sizeof *entries);
        if (!entries)
            return error_set(err, ENOMEM, "%s: out of memory for its index", w->path);
        w->index.entries = entries;
    }
    w->index.entries[w->index.count++] = (struct reel_index_entry){
        .file_offset = w->bytes,
        .first_issue_ns = block->extent.first_issue_ns,
        .last_issue_ns = block->extent.last_issue_ns,
        .min_offset_bytes = block->extent.min_offset_bytes,
        .max_end_bytes = block->extent.max_end_bytes,
        .records = (uint32_t)block->extent.records,
        .header_bytes = (uint32_t)header_bytes,
    };
    reel_seek_add(&w->seek, header_bytes, 0);
    for (uint32_t i = 0; i < block->column_count; i++)
        if (block->columns[i].compressed_bytes)
            reel_seek_add(&w->seek, block->columns[i].compressed_bytes,
                          block->columns[i].decoded_bytes);
    return w->seek.entries.failed ? error_set(err, ENOMEM, "%s: out of memory", w->path) : 0;
}

int trace_writer_end_block(struct trace_writer *w, struct error *err)
{
    if (w->count == 0 && memcmp(&w->loss, &w->written_loss, sizeof w->loss) == 0)
        return 0;
    int rc = sort_records(w, err);
    if (rc)
        return rc;
    if (w->count && w->records[0].has & IO_HAS_ISSUE && w->records[0].issue_ns < w->promised_ns)
        return error_set(err, EINVAL,
                         "%s: a record issued at %llu ns comes after the promise of none before "
                         "%llu ns",
                         w->path, (unsigned long long)w->records[0].issue_ns,
                         (unsigned long long)w->promised_ns);
    struct reel_block block;
    w->columns.size = 0;
    rc = reel_block_encode(w->codec, &w->choices, w->meta, w->records, w->count, &block,
                           &w->columns, err);
    if (rc) {
        error_prefix(err, "%s", w->path);
        return rc;
    }
    block.floor_ns = w->floor_ns;
    block.loss = w->loss;
    reel_block_put_header(&w->out, &block);
    rc = index_block(w, &block, w->out.size, err);
    if (rc)
        return rc;
    reel_put_bytes(&w->out, w->columns.data, w->columns.size);
    reel_extent_merge(&w->extent, &block.extent);
    w->promised_ns = w->floor_ns;
    w->written_loss = w->loss;
    w->count = 0;
    w->sorted = true;
    return write_out(w, err);
}

int trace_writer_add(struct trace_writer *w, const struct io_record *records, size_t count,
                     struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (w->count == w->capacity) {
            int rc = trace_writer_end_block(w, err);
            if (rc)
                return rc;
        }
        if (w->count && records[i].issue_ns < w->records[w->count - 1].issue_ns)
            w->sorted = false;
        w->records[w->count++] = records[i];
    }
    return 0;
}

void trace_writer_set_floor(struct trace_writer *w, uint64_t issue_ns)
{
    if (issue_ns > w->floor_ns)
        w->floor_ns = issue_ns;
}

void trace_writer_set_loss(struct trace_writer *w, const struct trace_loss *loss)
{
    w->loss = *loss;
}

int trace_writer_close(struct trace_writer *w, struct error *err)
{
    int rc = trace_writer_end_block(w, err);
    if (!rc) {
        reel_tail_put(&w->out, &w->extent, &w->loss, &w->index, &w->seek);
        rc = write_out(w, err);
    }
    if (close(w->fd) != 0 && !rc)
        rc = error_errno(err, errno, "%s: cannot close", w->path);
    w->fd = -1;
    free_writer(w);
    return rc;
}

void trace_writer_abandon(struct trace_writer *w)
{
    if (w)
        free_writer(w);
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
    return w->bytes;
}

uint64_t trace_writer_records(const struct trace_writer *w)
{
    return w->extent.records + w->count;
}
