/* A block's header: extents, loss and the column directory, to bytes and back, checked. */
#include "traces/reel/private/reel_block.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void reel_extent_clear(struct reel_extent *extent)
{
    *extent = (struct reel_extent){.first_issue_ns = UINT64_MAX, .min_offset_bytes = UINT64_MAX};
}

void reel_extent_merge(struct reel_extent *into, const struct reel_extent *from)
{
    if (from->records == 0)
        return;
    into->records += from->records;
    if (from->first_issue_ns < into->first_issue_ns)
        into->first_issue_ns = from->first_issue_ns;
    if (from->last_issue_ns > into->last_issue_ns)
        into->last_issue_ns = from->last_issue_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
    if (from->min_offset_bytes < into->min_offset_bytes)
        into->min_offset_bytes = from->min_offset_bytes;
    if (from->max_end_bytes > into->max_end_bytes)
        into->max_end_bytes = from->max_end_bytes;
    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        into->op_count[op] += from->op_count[op];
    into->fields |= from->fields;
}

void reel_put_extent(struct reel_bytes *b, const struct reel_extent *extent)
{
    reel_put_u64(b, extent->records);
    reel_put_u64(b, extent->first_issue_ns);
    reel_put_u64(b, extent->last_issue_ns);
    reel_put_u64(b, extent->last_ns);
    reel_put_u64(b, extent->min_offset_bytes);
    reel_put_u64(b, extent->max_end_bytes);
    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        reel_put_u64(b, extent->op_count[op]);
    reel_put_u32(b, extent->fields);
}

void reel_get_extent(struct reel_cursor *c, struct reel_extent *extent)
{
    extent->records = reel_get_u64(c);
    extent->first_issue_ns = reel_get_u64(c);
    extent->last_issue_ns = reel_get_u64(c);
    extent->last_ns = reel_get_u64(c);
    extent->min_offset_bytes = reel_get_u64(c);
    extent->max_end_bytes = reel_get_u64(c);
    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        extent->op_count[op] = reel_get_u64(c);
    extent->fields = reel_get_u32(c) & IO_HAS_ALL;
}

void reel_put_loss(struct reel_bytes *b, const struct trace_loss *loss)
{
    reel_put_u64(b, loss->lost);
    reel_put_u64(b, loss->before_attach);
    reel_put_u64(b, loss->open);
    reel_put_u64(b, loss->first_lost_ns);
    reel_put_u64(b, loss->last_lost_ns);
}

void reel_get_loss(struct reel_cursor *c, struct trace_loss *loss)
{
    loss->lost = reel_get_u64(c);
    loss->before_attach = reel_get_u64(c);
    loss->open = reel_get_u64(c);
    loss->first_lost_ns = reel_get_u64(c);
    loss->last_lost_ns = reel_get_u64(c);
}

void reel_block_put_header(struct reel_bytes *out, const struct reel_block *block)
{
    size_t start = reel_frame_begin(out, REEL_BLOCK);
    reel_put_extent(out, &block->extent);
    reel_put_u64(out, block->floor_ns);
    reel_put_loss(out, &block->loss);
    reel_put_u32(out, block->column_count);
    for (uint32_t i = 0; i < block->column_count; i++) {
        const struct reel_column *column = &block->columns[i];
        reel_put_u8(out, column->field);
        reel_put_u8(out, column->flags);
        reel_put_u8(out, column->transform);
        reel_put_u8(out, column->encoding);
        reel_put_u32(out, column->compressed_bytes);
        reel_put_u32(out, column->decoded_bytes);
        reel_put_u64(out, column->scale);
        reel_put_u64(out, column->base);
        reel_put_u64(out, column->hash);
    }
    reel_frame_finish(out, start);
}

/* Flags that a column of today does not have change what its numbers mean: such a one is refused.
 */
static int check_flags(const struct reel_column *column, struct error *err)
{
    bool names = column->field == REEL_FIELD_NAMES;
    unsigned unknown = column->flags & (names ? 0xffu : 0xffu & ~REEL_COLUMN_PRESENCE);
    if (unknown)
        return error_set(err, EBADMSG, "the column %s has flags 0x%02x, which are unknown",
                         names ? "names" : io_field_name(column->field), unknown);
    return 0;
}

/* The fields that came before are in `seen`, as bits. */
static int check_column(const struct reel_block *block, const struct reel_column *column,
                        uint32_t seen, struct error *err)
{
    bool names = column->field == REEL_FIELD_NAMES;
    uint32_t limit = names ? REEL_NAMES_MAX : REEL_COLUMN_MAX;
    if (column->compressed_bytes > limit || column->decoded_bytes > limit)
        return error_set(err, EBADMSG, "its column of field %u is over %u bytes", column->field,
                         limit);
    if (!names && !reel_field_known(column->field))
        return 0; /* a later writer's: its layout may be anything, its bytes are stepped over */
    if (!names && seen & (1u << column->field))
        return error_set(err, EBADMSG, "it has the column %s twice", io_field_name(column->field));
    int rc = check_flags(column, err);
    if (rc)
        return rc;
    bool constant = column->encoding == REEL_CONSTANT && !names;
    if (column->transform > REEL_SEEK || column->encoding > REEL_DICTIONARY ||
        (constant && (column->compressed_bytes || column->flags)) ||
        (!constant && column->compressed_bytes == 0))
        return error_set(err, EBADMSG, "its column directory holds impossible numbers");
    uint32_t before = IO_HAS_LEN | IO_HAS_DEVICE;
    if (column->transform == REEL_SEEK &&
        (column->field != 3 || (block->extent.fields & before & ~seen)))
        return error_set(err, EBADMSG, "its offsets come before the sizes that they rest on");
    return 0;
}

int reel_block_get_header(struct reel_cursor *payload, struct reel_block *block, struct error *err)
{
    memset(block, 0, sizeof *block);
    reel_get_extent(payload, &block->extent);
    block->floor_ns = reel_get_u64(payload);
    reel_get_loss(payload, &block->loss);
    block->column_count = reel_get_u32(payload);
    if (payload->failed || block->extent.records > REEL_BLOCK_RECORDS_MAX ||
        block->column_count > REEL_COLUMNS_MAX)
        return error_set(err, EBADMSG, "its counts are over the limits (%u records, %u columns)",
                         REEL_BLOCK_RECORDS_MAX, REEL_COLUMNS_MAX);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < block->column_count; i++) {
        struct reel_column *column = &block->columns[i];
        column->field = reel_get_u8(payload);
        column->flags = reel_get_u8(payload);
        column->transform = reel_get_u8(payload);
        column->encoding = reel_get_u8(payload);
        column->compressed_bytes = reel_get_u32(payload);
        column->decoded_bytes = reel_get_u32(payload);
        column->scale = reel_get_u64(payload);
        column->base = reel_get_u64(payload);
        column->hash = reel_get_u64(payload);
        if (payload->failed)
            return error_set(err, EBADMSG, "its column directory is cut");
        int rc = check_column(block, column, seen, err);
        if (rc)
            return rc;
        if (reel_field_known(column->field))
            seen |= 1u << column->field;
        else if (column->field == REEL_FIELD_NAMES && i != 0)
            return error_set(err, EBADMSG, "its names do not come first");
    }
    return 0;
}

uint64_t reel_block_column_bytes(const struct reel_block *block)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < block->column_count; i++)
        sum += block->columns[i].compressed_bytes;
    return sum;
}

uint32_t reel_block_needed(const struct reel_block *block, uint32_t wanted)
{
    uint32_t needed = wanted;
    for (uint32_t i = 0; i < block->column_count; i++)
        if (block->columns[i].transform == REEL_SEEK && wanted & IO_HAS_OFFSET)
            needed |= IO_HAS_LEN | IO_HAS_DEVICE;
    return needed;
}
