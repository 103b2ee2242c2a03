/* Finding the blocks of a .reel, and where it ends: complete, cut, or damaged. */
#include "traces/reel/private/reel_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"

static int damaged(const struct reel_scan *scan, uint64_t at, const char *what, struct error *err)
{
    error_prefix(err, "%s: byte %llu: %s is damaged", scan->source.path, (unsigned long long)at,
                 what);
    return -EBADMSG;
}

/* Notes that the file is cut and says what is missing. */
static int cut(struct reel_scan *scan, uint64_t at)
{
    scan->ending = TRACE_CUT;
    snprintf(scan->cut_text, sizeof scan->cut_text,
             "%.160s: cut at byte %llu, without its end; the %llu whole blocks before that (%llu "
             "records) were read",
             scan->source.path, (unsigned long long)at, (unsigned long long)scan->blocks,
             (unsigned long long)scan->extent.records);
    return 1;
}

/* The most bytes that a frame of this kind may have, given what was seen before. */
static uint64_t frame_limit(const struct reel_scan *scan, unsigned kind)
{
    if (kind == REEL_HEADER)
        return REEL_HEADER_MAX;
    if (kind == REEL_BLOCK)
        return REEL_BLOCK_HEADER_MAX;
    return 4096 + scan->blocks * REEL_INDEX_ENTRY_BYTES;
}

/* Reads one of our frames whole into scan->frame. 0; 1 cut (noted); -EBADMSG. */
static int read_frame(struct reel_scan *scan, unsigned *kind, struct reel_cursor *payload,
                      struct error *err)
{
    uint64_t at = scan->source.position;
    scan->frame.size = 0;
    uint8_t *head = reel_bytes_extend(&scan->frame, REEL_FRAME_HEAD);
    if (!head)
        return error_set(err, ENOMEM, "%s: out of memory", scan->source.path);
    size_t got;
    int rc = reel_source_read(&scan->source, head, REEL_FRAME_HEAD, &got, err);
    if (rc)
        return rc;
    if (got >= 4 && load_le32(head) != REEL_SKIPPABLE_MAGIC) {
        error_set(err, EBADMSG, "no frame of a .reel stands there");
        return damaged(scan, at, "it", err);
    }
    if (got < REEL_FRAME_HEAD)
        return cut(scan, at);
    uint64_t size = 8ull + load_le32(head + 4);
    if (memcmp(head + 8, "REEL", 4) != 0 || size < REEL_FRAME_OVERHEAD ||
        size > frame_limit(scan, head[12])) {
        error_set(err, EBADMSG, "a frame of %llu bytes cannot be", (unsigned long long)size);
        return damaged(scan, at, "a frame's head", err);
    }
    uint8_t *rest = reel_bytes_extend(&scan->frame, size - REEL_FRAME_HEAD);
    if (!rest)
        return error_set(err, ENOMEM, "%s: out of memory", scan->source.path);
    rc = reel_source_read(&scan->source, rest, size - REEL_FRAME_HEAD, &got, err);
    if (rc)
        return rc;
    if (got < size - REEL_FRAME_HEAD)
        return cut(scan, at);
    if (reel_frame_check(scan->frame.data, size, kind, payload, err))
        return damaged(scan, at, "a frame", err);
    scan->frames++;
    return 0;
}

/* Is this the beginning of a .reel, as far as it goes? */
static bool looks_like_reel(const uint8_t *bytes, size_t count)
{
    static const uint8_t magic[4] = {0x50, 0x2A, 0x4D, 0x18};
    size_t first = count < 4 ? count : 4;
    if (memcmp(bytes, magic, first) != 0)
        return false;
    return count <= 8 || memcmp(bytes + 8, "REEL", count < 12 ? count - 8 : 4) == 0;
}

static int read_header(struct reel_scan *scan, struct trace_meta *meta, struct error *err)
{
    unsigned kind = 0;
    struct reel_cursor payload;
    int rc = read_frame(scan, &kind, &payload, err);
    if (rc < 0 && scan->frame.size >= 4 && !looks_like_reel(scan->frame.data, scan->frame.size))
        return error_set(err, EILSEQ,
                         "%s: not a .reel; if it is another tool's trace, ioreel import reads it",
                         scan->source.path);
    if (rc == 1 && scan->source.position == 0)
        return error_set(err, EILSEQ, "%s: is empty; there is no trace in it", scan->source.path);
    if (rc == 1 &&
        !looks_like_reel(scan->frame.data, scan->source.position < 16 ? scan->source.position : 16))
        return error_set(err, EILSEQ,
                         "%s: not a .reel; if it is another tool's trace, ioreel import reads it",
                         scan->source.path);
    if (rc)
        return rc < 0 ? rc : 0; /* cut within the header: a trace of no blocks */
    if (kind != REEL_HEADER) {
        error_set(err, EBADMSG, "it does not begin with a header");
        return damaged(scan, 0, "the file", err);
    }
    json_error_t where;
    json_t *object = json_loadb((const char *)payload.at, payload.left, 0, &where);
    if (!object) {
        error_set(err, EBADMSG, "its JSON cannot be read: %s", where.text);
        return damaged(scan, 0, "the header", err);
    }
    rc = trace_meta_from_json(meta, object, err);
    json_decref(object);
    return rc ? damaged(scan, 0, "the header", err) : 0;
}

static int prepare_index(struct reel_scan *scan, struct error *err)
{
    size_t count = scan->index.count;
    scan->later_first = malloc((count + 1) * sizeof *scan->later_first);
    if (!scan->later_first)
        return error_set(err, ENOMEM, "%s: out of memory for its index", scan->source.path);
    uint64_t first = UINT64_MAX;
    for (size_t i = count; i-- > 0;) {
        scan->later_first[i] = first;
        if (scan->index.entries[i].records && scan->index.entries[i].first_issue_ns < first)
            first = scan->index.entries[i].first_issue_ns;
    }
    scan->floor_ns = first == UINT64_MAX ? 0 : first;
    return 0;
}

int reel_scan_open(struct reel_scan *scan, const char *path, struct trace_meta *meta,
                   struct error *err)
{
    *scan = (struct reel_scan){.to_ns = UINT64_MAX};
    reel_extent_clear(&scan->extent);
    int rc = reel_source_open(&scan->source, path, err);
    if (rc)
        return rc;
    rc = read_header(scan, meta, err);
    if (!rc && scan->source.seekable && scan->ending == TRACE_OPEN) {
        rc = reel_tail_find(&scan->source, &scan->extent, &scan->loss, &scan->index, err);
        scan->indexed = rc == 0;
        if (rc == 1)
            reel_extent_clear(&scan->extent);
        rc = rc < 0 ? rc : scan->indexed ? prepare_index(scan, err) : 0;
    }
    if (rc)
        reel_scan_close(scan);
    return rc;
}

void reel_scan_close(struct reel_scan *scan)
{
    reel_source_close(&scan->source);
    free(scan->index.entries);
    free(scan->later_first);
    reel_bytes_free(&scan->frame);
    *scan = (struct reel_scan){.source.fd = -1};
}

void reel_found_free(struct reel_found *found)
{
    if (!found)
        return;
    free(found->column_bytes);
    free(found->records);
    free(found);
}

/* After the end frame: the seek table, of the size and hash that are known by now, then nothing. */
static int read_seek_table(struct reel_scan *scan, uint64_t want_hash, struct error *err)
{
    uint64_t at = scan->source.position;
    size_t size = 8 + 8 * scan->frames + REEL_SEEKTABLE_FOOTER;
    scan->frame.size = 0;
    uint8_t *table = reel_bytes_extend(&scan->frame, size + 1);
    if (!table)
        return error_set(err, ENOMEM, "%s: out of memory", scan->source.path);
    size_t got;
    int rc = reel_source_read(&scan->source, table, size + 1, &got, err);
    if (rc)
        return rc;
    if (got < size)
        return cut(scan, at);
    if (got > size) {
        error_set(err, EBADMSG, "more bytes follow its end");
        return damaged(scan, at + size, "the file", err);
    }
    if (!reel_hash_matches(table, size, want_hash)) {
        error_set(err, EBADMSG, "its checksum does not match");
        return damaged(scan, at, "the seek table", err);
    }
    scan->ending = TRACE_COMPLETE;
    return 1;
}

static int read_end(struct reel_scan *scan, struct reel_cursor *payload, uint64_t at,
                    struct error *err)
{
    struct reel_extent extent;
    struct trace_loss loss;
    struct reel_index index = {0};
    uint64_t seek_hash = 0;
    int rc = reel_tail_get_end(payload, &extent, &loss, &index, &seek_hash, err);
    if (!rc && (extent.records != scan->extent.records || index.count != scan->blocks)) {
        error_set(err, EBADMSG, "it counts %llu records where %llu were read",
                  (unsigned long long)extent.records, (unsigned long long)scan->extent.records);
        rc = -EBADMSG;
    }
    free(index.entries);
    if (rc)
        return damaged(scan, at, "the end", err);
    scan->loss = loss;
    return read_seek_table(scan, seek_hash, err);
}

/* The columns that follow a header: stepped over in a file, kept from a pipe. 1 when they are cut.
 */
static int pass_columns(struct reel_scan *scan, struct reel_found *found, struct error *err)
{
    uint64_t bytes = reel_block_column_bytes(&found->block), moved = 0;
    found->columns_at = scan->source.position;
    for (uint32_t i = 0; i < found->block.column_count; i++)
        scan->frames += found->block.columns[i].compressed_bytes != 0;
    if (scan->source.seekable) {
        int rc = reel_source_skip(&scan->source, bytes, &moved, err);
        return rc ? rc : moved < bytes;
    }
    found->column_bytes = malloc(bytes ? bytes : 1);
    if (!found->column_bytes)
        return error_set(err, ENOMEM, "%s: out of memory for a block of %llu bytes",
                         scan->source.path, (unsigned long long)bytes);
    size_t got;
    int rc = reel_source_read(&scan->source, found->column_bytes, bytes, &got, err);
    return rc ? rc : got < bytes;
}

static int parse_block(struct reel_scan *scan, struct reel_cursor *payload, uint64_t at,
                       struct reel_found **found, struct error *err)
{
    struct reel_found *f = calloc(1, sizeof *f);
    if (!f)
        return error_set(err, ENOMEM, "%s: out of memory", scan->source.path);
    f->file_offset = at;
    if (reel_block_get_header(payload, &f->block, err)) {
        reel_found_free(f);
        return damaged(scan, at, "a block", err);
    }
    *found = f;
    return 0;
}

/* One step through the frames. 2: a block that is of no interest was passed. */
static int next_by_frames(struct reel_scan *scan, struct reel_found **found, struct error *err)
{
    unsigned kind = 0;
    struct reel_cursor payload;
    uint64_t at = scan->source.position;
    int rc = read_frame(scan, &kind, &payload, err);
    if (rc)
        return rc;
    if (kind == REEL_END)
        return read_end(scan, &payload, at, err);
    if (kind != REEL_BLOCK) {
        error_set(err, EBADMSG, "a frame of kind %u cannot stand there", kind);
        return damaged(scan, at, "the file", err);
    }
    struct reel_found *f;
    rc = parse_block(scan, &payload, at, &f, err);
    if (!rc) {
        rc = pass_columns(scan, f, err);
        if (rc) {
            reel_found_free(f);
            return rc == 1 ? cut(scan, at) : rc;
        }
    }
    if (rc)
        return rc;
    f->number = scan->blocks++;
    reel_extent_merge(&scan->extent, &f->block.extent);
    scan->loss = f->block.loss;
    scan->floor_ns = f->block.floor_ns > scan->floor_ns ? f->block.floor_ns : scan->floor_ns;
    bool inside = f->block.extent.records && f->block.extent.first_issue_ns < scan->to_ns &&
                  f->block.extent.last_issue_ns >= scan->from_ns;
    if (!inside) {
        reel_found_free(f);
        return 2;
    }
    *found = f;
    return 0;
}

static int next_by_index(struct reel_scan *scan, struct reel_found **found, struct error *err)
{
    if (scan->next_entry == scan->index.count) {
        scan->ending = TRACE_COMPLETE;
        return 1;
    }
    size_t number = scan->next_entry++;
    const struct reel_index_entry *entry = &scan->index.entries[number];
    scan->floor_ns = scan->later_first[number];
    if (entry->records == 0 || entry->first_issue_ns >= scan->to_ns ||
        entry->last_issue_ns < scan->from_ns)
        return 2;
    scan->source.position = entry->file_offset;
    unsigned kind = 0;
    struct reel_cursor payload;
    int rc = read_frame(scan, &kind, &payload, err);
    if (rc == 1) {
        scan->ending = TRACE_OPEN;
        error_set(err, EBADMSG, "the file became shorter while it was read");
        return damaged(scan, entry->file_offset, "a block", err);
    }
    if (rc)
        return rc;
    if (kind != REEL_BLOCK) {
        error_set(err, EBADMSG, "the index says that a block begins there");
        return damaged(scan, entry->file_offset, "the file", err);
    }
    rc = parse_block(scan, &payload, entry->file_offset, found, err);
    if (rc)
        return rc;
    (*found)->number = number;
    (*found)->columns_at = scan->source.position;
    return 0;
}

int reel_scan_next(struct reel_scan *scan, struct reel_found **found, struct error *err)
{
    if (scan->ending != TRACE_OPEN)
        return 1;
    int rc;
    do
        rc = scan->indexed ? next_by_index(scan, found, err) : next_by_frames(scan, found, err);
    while (rc == 2);
    if (rc == 1)
        scan->floor_ns = UINT64_MAX;
    return rc;
}

/* A column's frame: from the kept bytes, or read from the file into scratch. */
static int column_frame(struct reel_scan *scan, const struct reel_found *found, uint64_t at,
                        size_t size, const uint8_t **frame, struct error *err)
{
    if (found->column_bytes) {
        *frame = found->column_bytes + at;
        return 0;
    }
    scan->frame.size = 0;
    uint8_t *to = reel_bytes_extend(&scan->frame, size);
    if (!to)
        return error_set(err, ENOMEM, "%s: out of memory", scan->source.path);
    size_t got;
    int rc = reel_source_read_at(&scan->source, found->columns_at + at, to, size, &got, err);
    if (!rc && got < size)
        rc = error_set(err, EBADMSG, "%s: became shorter while it was read", scan->source.path);
    *frame = to;
    return rc;
}

int reel_found_decode(struct reel_scan *scan, struct reel_found *found, struct reel_codec *codec,
                      struct reel_names *names, struct trace_meta *meta, uint32_t wanted,
                      struct io_record *records, struct error *err)
{
    const struct reel_block *block = &found->block;
    uint32_t needed = reel_block_needed(block, wanted);
    bool need_names = needed & (IO_HAS_DEVICE | IO_HAS_PROCESS);
    uint64_t at = 0;
    names->device_count = names->process_count = 0;
    memset(records, 0, block->extent.records * sizeof *records);
    for (uint32_t i = 0; i < block->column_count; i++) {
        const struct reel_column *column = &block->columns[i];
        bool is_names = column->field == REEL_FIELD_NAMES;
        bool known = reel_field_known(column->field);
        if (is_names ? need_names : known && needed & (1u << column->field)) {
            const uint8_t *frame = NULL;
            int rc = column_frame(scan, found, at, column->compressed_bytes, &frame, err);
            if (rc)
                return rc;
            rc = is_names
                     ? reel_names_decode(codec, column, frame, meta, names, err)
                     : reel_block_decode_column(codec, block, column, frame, names, records, err);
            if (rc == -ENOMEM)
                return rc;
            if (rc) {
                error_prefix(err, "column %s", is_names ? "names" : io_field_name(column->field));
                return damaged(scan, found->columns_at + at, "a block", err);
            }
        }
        at += column->compressed_bytes;
    }
    found->records = records;
    found->cursor = 0;
    found->end = block->extent.records;
    return 0;
}
