/* Decoding a block: its names, then columns into records. Nothing in a column is trusted: every
 * size, index and value is checked before it is used. */
#include "traces/reel/private/reel_block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void reel_names_free(struct reel_names *names)
{
    reel_bytes_free(&names->bytes);
    free(names->devices);
    free(names->processes);
    *names = (struct reel_names){0};
}

/* A name of the names column, NUL-terminated into `text`. */
static bool get_name(struct reel_cursor *in, char *text, size_t room)
{
    uint32_t length = reel_get_u32(in);
    const uint8_t *bytes = length < room ? reel_get_bytes(in, length) : NULL;
    if (!bytes)
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return strlen(text) == length;
}

int reel_names_decode(struct reel_codec *codec, const struct reel_column *column,
                      const uint8_t *frame, struct trace_meta *meta, struct reel_names *names,
                      struct error *err)
{
    int rc = reel_bytes_decompress(codec, column, frame, &names->bytes, err);
    if (rc)
        return rc;
    struct reel_cursor in = {.at = names->bytes.data, .left = column->decoded_bytes};
    names->device_count = reel_get_u32(&in);
    if (names->device_count > TRACE_DEVICES_MAX || names->device_count * 4 > in.left)
        return error_set(err, EBADMSG, "its device names are cut");
    free(names->devices);
    names->devices = malloc((names->device_count + 1) * sizeof *names->devices);
    if (!names->devices)
        return error_set(err, ENOMEM, "out of memory");
    char text[4096];
    for (size_t i = 0; i < names->device_count; i++) {
        int index = get_name(&in, text, sizeof text) ? trace_meta_device(meta, text) : -EBADMSG;
        if (index < 0)
            return error_set(err, -index, "its device names cannot be read");
        names->devices[i] = (uint16_t)index;
    }
    names->process_count = reel_get_u32(&in);
    if (names->process_count > REEL_BLOCK_RECORDS_MAX || names->process_count * 8 > in.left)
        return error_set(err, EBADMSG, "its process names are cut");
    free(names->processes);
    names->processes = malloc((names->process_count + 1) * sizeof *names->processes);
    if (!names->processes)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < names->process_count; i++) {
        uint32_t pid = reel_get_u32(&in);
        int64_t index =
            get_name(&in, text, sizeof text) ? trace_meta_process(meta, pid, text) : -EBADMSG;
        if (index < 0)
            return error_set(err, (int)-index, "its process names cannot be read");
        names->processes[i] = (uint32_t)index;
    }
    return in.failed ? error_set(err, EBADMSG, "its names are cut") : 0;
}

/* Undoes PLAIN, DELTA and ZIGZAG in place: numbers become values. */
static void undo_transform(const struct reel_column *column, uint64_t *numbers, size_t count)
{
    uint64_t base = column->base, scale = column->scale, sum = 0;
    if (column->transform == REEL_PLAIN) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = base + scale * numbers[i];
    } else if (column->transform == REEL_DELTA) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = base + scale * (sum += numbers[i]);
    } else if (column->transform == REEL_ZIGZAG) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = base + scale * (sum += reel_unzigzag(numbers[i]));
    }
}

static bool within(const uint64_t *values, size_t count, uint64_t max)
{
    uint64_t high = 0;
    for (size_t i = 0; i < count; i++)
        high = values[i] > high ? values[i] : high;
    return high <= max;
}

/* One loop a field again: the values of the present records, in order. */
#define SET_PRESENT(member, cast)                                                                  \
    for (size_t i = 0; i < n; i++)                                                                 \
        if (!bitmap || bitmap[i / 8] >> (i % 8) & 1) {                                             \
            records[i].member = (cast)(*values);                                                   \
            records[i].has |= bit;                                                                 \
            values += step;                                                                        \
        }

/* step is 0 for a constant: the one value serves all. */
static void set_field(uint32_t bit, const uint64_t *values, size_t step, const uint8_t *bitmap,
                      struct io_record *records, size_t n)
{
    switch (bit) {
    case IO_HAS_ISSUE:
        SET_PRESENT(issue_ns, uint64_t);
        break;
    case IO_HAS_QUEUE:
        SET_PRESENT(queue_ns, uint64_t);
        break;
    case IO_HAS_LATENCY:
        SET_PRESENT(latency_ns, uint64_t);
        break;
    case IO_HAS_OFFSET:
        SET_PRESENT(offset_bytes, uint64_t);
        break;
    case IO_HAS_LEN:
        SET_PRESENT(len_bytes, uint64_t);
        break;
    case IO_HAS_OP:
        SET_PRESENT(op, uint8_t);
        break;
    case IO_HAS_FLAGS:
        SET_PRESENT(flags, uint16_t);
        break;
    case IO_HAS_STATUS:
        SET_PRESENT(status, uint8_t);
        break;
    case IO_HAS_RAW_STATUS:
        SET_PRESENT(raw_status, uint32_t);
        break;
    case IO_HAS_DEPTH:
        SET_PRESENT(depth, uint16_t);
        break;
    case IO_HAS_DEMAND:
        SET_PRESENT(demand, uint32_t);
        break;
    case IO_HAS_DEVICE:
        SET_PRESENT(device, uint16_t);
        break;
    case IO_HAS_PROCESS:
        SET_PRESENT(process, uint32_t);
        break;
    case IO_HAS_HW_QUEUE:
        SET_PRESENT(hw_queue, uint16_t);
        break;
    case IO_HAS_CPU:
        SET_PRESENT(cpu, uint16_t);
        break;
    case IO_HAS_PARENT:
        SET_PRESENT(parent, uint32_t);
        break;
    case IO_HAS_THINK:
        SET_PRESENT(think_ns, uint64_t);
        break;
    }
}

/* The highest value that a field may have; device and process are indexes into the names. -ERANGE
 * when there is none. */
static int highest_value(unsigned field, const struct reel_names *names, uint64_t *limit)
{
    static const uint64_t limits[IO_FIELD_COUNT] = {
        UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, IO_OP_COUNT - 1,
        UINT16_MAX, UINT8_MAX,  UINT32_MAX, UINT16_MAX, UINT32_MAX, 0,
        0,          UINT16_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX};
    uint32_t bit = 1u << field;
    *limit = limits[field];
    if (bit == IO_HAS_DEVICE || bit == IO_HAS_PROCESS) {
        size_t known = bit == IO_HAS_DEVICE ? names->device_count : names->process_count;
        if (known == 0)
            return -ERANGE;
        *limit = known - 1;
    }
    return 0;
}

/* The block's own indexes become the reader's. */
static void map_names(uint32_t bit, const struct reel_names *names, struct io_record *records,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(records[i].has & bit))
            continue;
        if (bit == IO_HAS_DEVICE)
            records[i].device = names->devices[records[i].device];
        else
            records[i].process = names->processes[records[i].process];
    }
}

/* Values into the records that have them. -ERANGE when one does not fit. */
static int scatter(unsigned field, const uint64_t *values, size_t count, size_t step,
                   const uint8_t *bitmap, const struct reel_names *names, struct io_record *records,
                   size_t n)
{
    uint32_t bit = 1u << field;
    uint64_t limit;
    int rc = highest_value(field, names, &limit);
    if (rc)
        return rc;
    if (limit != UINT64_MAX && !within(values, step ? count : 1, limit))
        return -ERANGE;
    set_field(bit, values, step, bitmap, records, n);
    if (bit == IO_HAS_DEVICE || bit == IO_HAS_PROCESS)
        map_names(bit, names, records, n);
    return 0;
}

/* Offsets from seek distances: sizes and devices are in the records already. Devices have the
 * reader's numbers by now, so the ends are kept by those. */
static int scatter_seek(const struct reel_column *column, const uint64_t *numbers,
                        const uint8_t *bitmap, const struct reel_names *names,
                        struct io_record *records, size_t n)
{
    size_t top = 0;
    for (size_t i = 0; i < names->device_count; i++)
        top = names->devices[i] > top ? names->devices[i] : top;
    uint64_t *ends = calloc(top + 2, sizeof *ends); /* the last one: records without a device */
    if (!ends)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (bitmap && !(bitmap[i / 8] >> (i % 8) & 1))
            continue;
        struct io_record *r = &records[i];
        uint64_t *end = &ends[r->has & IO_HAS_DEVICE ? r->device : top + 1];
        r->offset_bytes = *end + column->scale * reel_unzigzag(*numbers++);
        r->has |= IO_HAS_OFFSET;
        *end = r->offset_bytes + r->len_bytes;
    }
    free(ends);
    return 0;
}

int reel_block_decode_column(struct reel_codec *codec, const struct reel_block *block,
                             const struct reel_column *column, const uint8_t *frame,
                             const struct reel_names *names, struct io_record *records,
                             struct error *err)
{
    size_t n = block->extent.records;
    int rc;
    if (column->encoding == REEL_CONSTANT) {
        rc = scatter(column->field, &column->base, n, 0, NULL, names, records, n);
    } else {
        uint64_t *numbers = reel_codec_values(codec);
        size_t count;
        rc = reel_column_decode(codec, column, frame, n, numbers, &count, err);
        if (rc)
            return rc;
        const uint8_t *bitmap =
            column->flags & REEL_COLUMN_PRESENCE ? reel_codec_presence(codec) : NULL;
        if (column->transform == REEL_SEEK) {
            rc = scatter_seek(column, numbers, bitmap, names, records, n);
        } else {
            undo_transform(column, numbers, count);
            rc = scatter(column->field, numbers, count, 1, bitmap, names, records, n);
        }
    }
    if (rc == -ENOMEM)
        return error_set(err, ENOMEM, "out of memory");
    if (rc)
        return error_set(err, EBADMSG, "a value of its column %s is out of range",
                         io_field_name(column->field));
    return 0;
}
