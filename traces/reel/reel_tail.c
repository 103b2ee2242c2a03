/* The tail: totals, block index and zstd's seek table (the published seekable format, with entries
 * of decompressed size 0 for skippable frames). */
#include "traces/reel/private/reel_tail.h"

#include <errno.h>
#include <stdlib.h>

#include "common/bytes.h"

void reel_seek_add(struct reel_seek_table *table, size_t compressed, size_t decompressed)
{
    reel_put_u32(&table->entries, (uint32_t)compressed);
    reel_put_u32(&table->entries, (uint32_t)decompressed);
}

static size_t end_frame_bytes(size_t blocks)
{
    struct reel_bytes probe = {0};
    struct reel_extent extent = {0};
    struct trace_loss loss = {0};
    reel_put_extent(&probe, &extent);
    reel_put_loss(&probe, &loss);
    size_t fixed = probe.size;
    reel_bytes_free(&probe);
    return REEL_FRAME_OVERHEAD + fixed + 8 + 8 + blocks * REEL_INDEX_ENTRY_BYTES;
}

static void put_seek_table(struct reel_bytes *out, const struct reel_seek_table *table)
{
    reel_put_u32(out, REEL_SEEKTABLE_MAGIC);
    reel_put_u32(out, (uint32_t)table->entries.size + REEL_SEEKTABLE_FOOTER);
    reel_put_bytes(out, table->entries.data, table->entries.size);
    reel_put_u32(out, (uint32_t)(table->entries.size / 8));
    reel_put_u8(out, 0); /* no checksums in the entries */
    reel_put_u32(out, REEL_SEEKABLE_MAGIC);
}

void reel_tail_put(struct reel_bytes *out, const struct reel_extent *extent,
                   const struct trace_loss *loss, const struct reel_index *index,
                   struct reel_seek_table *table)
{
    /* The end frame carries the hash of the seek table, which lists the end frame: its size is
     * known beforehand, so the table can be made first. */
    reel_seek_add(table, end_frame_bytes(index->count), 0);
    struct reel_bytes seek = {0};
    put_seek_table(&seek, table);
    if (seek.failed || table->entries.failed) {
        out->failed = true;
        reel_bytes_free(&seek);
        return;
    }
    size_t start = reel_frame_begin(out, REEL_END);
    reel_put_extent(out, extent);
    reel_put_loss(out, loss);
    reel_put_u64(out, reel_hash(seek.data, seek.size));
    reel_put_u64(out, index->count);
    for (size_t i = 0; i < index->count; i++) {
        const struct reel_index_entry *entry = &index->entries[i];
        reel_put_u64(out, entry->file_offset);
        reel_put_u64(out, entry->first_issue_ns);
        reel_put_u64(out, entry->last_issue_ns);
        reel_put_u64(out, entry->min_offset_bytes);
        reel_put_u64(out, entry->max_end_bytes);
        reel_put_u32(out, entry->records);
        reel_put_u32(out, entry->header_bytes);
    }
    reel_frame_finish(out, start);
    reel_put_bytes(out, seek.data, seek.size);
    reel_bytes_free(&seek);
}

int reel_tail_get_end(struct reel_cursor *payload, struct reel_extent *extent,
                      struct trace_loss *loss, struct reel_index *index, uint64_t *seek_hash,
                      struct error *err)
{
    reel_get_extent(payload, extent);
    reel_get_loss(payload, loss);
    *seek_hash = reel_get_u64(payload);
    uint64_t count = reel_get_u64(payload);
    if (payload->failed || payload->left % REEL_INDEX_ENTRY_BYTES != 0 ||
        count != payload->left / REEL_INDEX_ENTRY_BYTES)
        return error_set(err, EBADMSG, "its index is of another size than it says");
    index->count = count;
    index->entries = malloc((count + 1) * sizeof *index->entries);
    if (!index->entries)
        return error_set(err, ENOMEM, "out of memory for an index of %llu blocks",
                         (unsigned long long)count);
    for (size_t i = 0; i < index->count; i++) {
        struct reel_index_entry *entry = &index->entries[i];
        entry->file_offset = reel_get_u64(payload);
        entry->first_issue_ns = reel_get_u64(payload);
        entry->last_issue_ns = reel_get_u64(payload);
        entry->min_offset_bytes = reel_get_u64(payload);
        entry->max_end_bytes = reel_get_u64(payload);
        entry->records = reel_get_u32(payload);
        entry->header_bytes = reel_get_u32(payload);
    }
    return 0;
}

/* Reads `count` bytes at `at` into a new buffer. 0, 1 when the file is shorter. */
static int read_part(struct reel_source *s, uint64_t at, size_t count, uint8_t **bytes,
                     struct error *err)
{
    size_t got;
    *bytes = malloc(count ? count : 1);
    if (!*bytes)
        return error_set(err, ENOMEM, "%s: out of memory for its tail", s->path);
    int rc = reel_source_read_at(s, at, *bytes, count, &got, err);
    return rc ? rc : got != count;
}

/* The seek table's own consistency: its frames must fill the file up to the table. */
static int check_seek_table(const uint8_t *table, size_t table_bytes, uint64_t table_at,
                            uint64_t *end_bytes)
{
    uint64_t sum = 0;
    size_t frames = (table_bytes - 8 - REEL_SEEKTABLE_FOOTER) / 8;
    for (size_t i = 0; i < frames; i++)
        sum += load_le32(table + 8 + 8 * i);
    *end_bytes = frames ? load_le32(table + 8 * frames) : 0;
    return frames > 0 && sum == table_at && *end_bytes >= REEL_FRAME_OVERHEAD ? 0 : -EBADMSG;
}

int reel_tail_find(struct reel_source *s, struct reel_extent *extent, struct trace_loss *loss,
                   struct reel_index *index, struct error *err)
{
    uint8_t footer[REEL_SEEKTABLE_FOOTER];
    size_t got;
    if (s->size < REEL_FRAME_OVERHEAD + 8 + sizeof footer)
        return 1;
    int rc = reel_source_read_at(s, s->size - sizeof footer, footer, sizeof footer, &got, err);
    if (rc)
        return rc;
    uint64_t frames = load_le32(footer);
    uint64_t table_bytes = 8 + 8 * frames + sizeof footer;
    if (got != sizeof footer || load_le32(footer + 5) != REEL_SEEKABLE_MAGIC || footer[4] != 0 ||
        frames > REEL_FRAMES_MAX || table_bytes >= s->size)
        return 1;
    uint64_t table_at = s->size - table_bytes, end_bytes = 0, seek_hash = 0;
    uint8_t *table = NULL, *end = NULL;
    rc = read_part(s, table_at, table_bytes, &table, err);
    if (!rc &&
        (load_le32(table) != REEL_SEEKTABLE_MAGIC || load_le32(table + 4) != table_bytes - 8 ||
         check_seek_table(table, table_bytes, table_at, &end_bytes)))
        rc = 1; /* the reader goes through the file and finds out what is wrong */
    if (!rc)
        rc = read_part(s, table_at - end_bytes, end_bytes, &end, err);
    unsigned kind = 0;
    struct reel_cursor payload;
    if (!rc && (reel_frame_check(end, end_bytes, &kind, &payload, NULL) || kind != REEL_END))
        rc = 1;
    if (!rc)
        rc = reel_tail_get_end(&payload, extent, loss, index, &seek_hash, err);
    if (!rc && !reel_hash_matches(table, table_bytes, seek_hash))
        rc = 1;
    for (size_t i = 0; !rc && i < index->count; i++)
        if (index->entries[i].file_offset >= table_at ||
            index->entries[i].header_bytes > REEL_BLOCK_HEADER_MAX ||
            index->entries[i].header_bytes < REEL_FRAME_OVERHEAD)
            rc =
                error_set(err, EBADMSG, "%s: its index names a place outside of the file", s->path);
    if (rc) {
        free(index->entries);
        *index = (struct reel_index){0};
    }
    free(table);
    free(end);
    return rc;
}
