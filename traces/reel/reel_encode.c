/* Encoding a block: records to columns.
 *
 * For each field a few layouts are possible. The writer tries all of them on a block, keeps the
 * smallest, and stays with it for the next blocks: the workload rarely changes its nature. */
#include "traces/reel/private/reel_block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHOICE_BLOCKS 16 /* how long a choice of layout lasts */
#define SHIFT_MAX     12 /* offsets and sizes are whole sectors or 4 KiB blocks, mostly */

static void measure(const struct io_record *records, size_t count, struct reel_extent *extent)
{
    reel_extent_clear(extent);
    extent->records = count;
    for (size_t i = 0; i < count; i++) {
        const struct io_record *r = &records[i];
        uint64_t done = r->issue_ns + r->latency_ns; /* absent latency is 0 */
        uint64_t end = r->offset_bytes + r->len_bytes;
        extent->fields |= r->has;
        extent->op_count[r->op < IO_OP_COUNT ? r->op : IO_OTHER]++;
        extent->first_issue_ns =
            r->issue_ns < extent->first_issue_ns ? r->issue_ns : extent->first_issue_ns;
        extent->last_issue_ns =
            r->issue_ns > extent->last_issue_ns ? r->issue_ns : extent->last_issue_ns;
        extent->last_ns = done > extent->last_ns ? done : extent->last_ns;
        if (r->has & IO_HAS_OFFSET) {
            extent->min_offset_bytes = r->offset_bytes < extent->min_offset_bytes
                                           ? r->offset_bytes
                                           : extent->min_offset_bytes;
            extent->max_end_bytes = end > extent->max_end_bytes ? end : extent->max_end_bytes;
        }
    }
}

/* One loop a field, so that the field's test is outside of it. */
#define FOR_PRESENT(expression)                                                                    \
    for (size_t i = 0; i < count; i++)                                                             \
        if (records[i].has & bit)                                                                  \
    values[used++] = (expression)

static size_t extract(unsigned field, const struct io_record *records, size_t count,
                      uint64_t *values)
{
    uint32_t bit = 1u << field;
    size_t used = 0;
    switch (bit) {
    case IO_HAS_ISSUE:
        FOR_PRESENT(records[i].issue_ns);
        break;
    case IO_HAS_QUEUE:
        FOR_PRESENT(records[i].queue_ns);
        break;
    case IO_HAS_LATENCY:
        FOR_PRESENT(records[i].latency_ns);
        break;
    case IO_HAS_OFFSET:
        FOR_PRESENT(records[i].offset_bytes);
        break;
    case IO_HAS_LEN:
        FOR_PRESENT(records[i].len_bytes);
        break;
    case IO_HAS_OP:
        FOR_PRESENT(records[i].op);
        break;
    case IO_HAS_FLAGS:
        FOR_PRESENT(records[i].flags);
        break;
    case IO_HAS_STATUS:
        FOR_PRESENT(records[i].status);
        break;
    case IO_HAS_RAW_STATUS:
        FOR_PRESENT(records[i].raw_status);
        break;
    case IO_HAS_DEPTH:
        FOR_PRESENT(records[i].depth);
        break;
    case IO_HAS_DEMAND:
        FOR_PRESENT(records[i].demand);
        break;
    case IO_HAS_DEVICE:
        FOR_PRESENT(records[i].device);
        break;
    case IO_HAS_PROCESS:
        FOR_PRESENT(records[i].process);
        break;
    case IO_HAS_HW_QUEUE:
        FOR_PRESENT(records[i].hw_queue);
        break;
    case IO_HAS_CPU:
        FOR_PRESENT(records[i].cpu);
        break;
    case IO_HAS_PARENT:
        FOR_PRESENT(records[i].parent);
        break;
    case IO_HAS_THINK:
        FOR_PRESENT(records[i].think_ns);
        break;
    }
    return used;
}

/* The layouts that are worth a try for a field, ended by REEL_CONSTANT. */
struct candidate {
    uint8_t transform;
    uint8_t encoding;
};

static const struct candidate time_candidates[] = {
    {REEL_DELTA, REEL_SPLIT}, {REEL_DELTA, REEL_PLANES}, {0, REEL_CONSTANT}};
static const struct candidate offset_candidates[] = {{REEL_SEEK, REEL_PLANES},
                                                     {REEL_SEEK, REEL_SPLIT},
                                                     {REEL_PLAIN, REEL_PLANES},
                                                     {0, REEL_CONSTANT}};
static const struct candidate duration_candidates[] = {
    {REEL_PLAIN, REEL_SPLIT}, {REEL_PLAIN, REEL_PLANES}, {0, REEL_CONSTANT}};
static const struct candidate walk_candidates[] = {
    {REEL_PLAIN, REEL_PLANES}, {REEL_ZIGZAG, REEL_PLANES}, {0, REEL_CONSTANT}};
static const struct candidate choice_candidates[] = {
    {REEL_PLAIN, REEL_PLANES}, {REEL_PLAIN, REEL_DICTIONARY}, {0, REEL_CONSTANT}};

static const struct candidate *candidates_of(unsigned field)
{
    switch (1u << field) {
    case IO_HAS_ISSUE:
        return time_candidates;
    case IO_HAS_OFFSET:
        return offset_candidates;
    case IO_HAS_QUEUE:
    case IO_HAS_LATENCY:
    case IO_HAS_THINK:
        return duration_candidates;
    case IO_HAS_DEPTH:
    case IO_HAS_DEMAND:
    case IO_HAS_PARENT:
        return walk_candidates;
    default:
        return choice_candidates;
    }
}

/* The largest of 1 s, 1 ms, 1 us that divides every value, or 1. */
static uint64_t time_scale(const uint64_t *values, size_t count, uint64_t base)
{
    static const uint64_t scales[] = {1000000000, 1000000, 1000};
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        size_t i = 0;
        while (i < count && (values[i] - base) % scales[s] == 0)
            i++;
        if (i == count)
            return scales[s];
    }
    return 1;
}

static uint64_t power_scale(uint64_t all_bits)
{
    unsigned shift = all_bits ? (unsigned)__builtin_ctzll(all_bits) : 0;
    return 1ull << (shift < SHIFT_MAX ? shift : SHIFT_MAX);
}

/* Everything that encoding one field of a block needs. */
struct field_coder {
    struct reel_codec *codec;
    const struct io_record *records;
    size_t records_count;
    uint32_t bit;
    const uint64_t *values;
    size_t count;
    uint64_t *numbers; /* scratch: transformed */
    uint64_t *ends;    /* scratch: the previous end of each device of the meta */
    size_t devices;
};

static void transform_seek(const struct field_coder *f, struct reel_column *column)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < f->records_count; i++)
        if (f->records[i].has & f->bit)
            bits |= f->records[i].offset_bytes | f->records[i].len_bytes;
    column->base = 0;
    column->scale = power_scale(bits);
    unsigned shift = (unsigned)__builtin_ctzll(column->scale);
    memset(f->ends, 0, (f->devices + 1) * sizeof *f->ends);
    size_t used = 0;
    for (size_t i = 0; i < f->records_count; i++) {
        const struct io_record *r = &f->records[i];
        if (!(r->has & f->bit))
            continue;
        uint64_t *end = &f->ends[r->has & IO_HAS_DEVICE ? r->device : f->devices];
        /* The distance is a multiple of the scale; keep its sign through the shift. */
        int64_t distance = (int64_t)(r->offset_bytes - *end) >> shift;
        f->numbers[used++] = reel_zigzag((uint64_t)distance);
        *end = r->offset_bytes + r->len_bytes;
    }
}

static void transform_plain(const struct field_coder *f, struct reel_column *column)
{
    uint64_t low = UINT64_MAX, bits = 0;
    for (size_t i = 0; i < f->count; i++)
        low = f->values[i] < low ? f->values[i] : low;
    for (size_t i = 0; i < f->count; i++)
        bits |= f->values[i] - low;
    column->base = low;
    bool is_time = f->bit & (IO_HAS_QUEUE | IO_HAS_LATENCY | IO_HAS_THINK);
    column->scale = is_time ? time_scale(f->values, f->count, low) : power_scale(bits);
    if (column->scale == 1) {
        for (size_t i = 0; i < f->count; i++)
            f->numbers[i] = f->values[i] - low;
    } else {
        for (size_t i = 0; i < f->count; i++)
            f->numbers[i] = (f->values[i] - low) / column->scale;
    }
}

static void transform_steps(const struct field_coder *f, struct reel_column *column)
{
    bool zigzag = column->transform == REEL_ZIGZAG;
    column->base = zigzag ? 0 : f->values[0];
    column->scale = zigzag ? 1 : time_scale(f->values, f->count, f->values[0]);
    uint64_t before = column->base;
    for (size_t i = 0; i < f->count; i++) {
        uint64_t step = f->values[i] - before;
        before = f->values[i];
        f->numbers[i] = zigzag ? reel_zigzag(step) : step / column->scale;
    }
}

static int try_candidate(const struct field_coder *f, const struct candidate *candidate,
                         struct reel_column *column, struct reel_bytes *out)
{
    column->transform = candidate->transform;
    column->encoding = candidate->encoding;
    if (column->transform == REEL_SEEK)
        transform_seek(f, column);
    else if (column->transform == REEL_PLAIN)
        transform_plain(f, column);
    else
        transform_steps(f, column);
    return reel_column_encode(f->codec, column, f->numbers, f->count, f->records_count, out);
}

static bool all_equal(const uint64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

static void mark_presence(const struct field_coder *f)
{
    uint8_t *bitmap = reel_codec_presence(f->codec);
    memset(bitmap, 0, (f->records_count + 7) / 8);
    for (size_t i = 0; i < f->records_count; i++)
        if (f->records[i].has & f->bit)
            bitmap[i / 8] |= (uint8_t)(1u << (i % 8));
}

/* Appends the best of the candidates (or the kept one) to `out`. */
static int encode_field(struct field_coder *f, unsigned field, struct reel_choices *choices,
                        struct reel_column *column, struct reel_bytes *out)
{
    *column = (struct reel_column){.field = (uint8_t)field, .scale = 1};
    if (f->count == f->records_count && all_equal(f->values, f->count)) {
        column->base = f->values[0];
        return 0;
    }
    if (f->count != f->records_count) {
        column->flags = REEL_COLUMN_PRESENCE;
        mark_presence(f);
    }
    const struct candidate *candidates = candidates_of(field);
    size_t start = out->size;
    if (choices->blocks_left[field] > 0) {
        choices->blocks_left[field]--;
        if (try_candidate(f, &candidates[choices->candidate[field]], column, out) == 0)
            return 0;
        out->size = start; /* a dictionary that no longer fits */
    }
    choices->blocks_left[field] = CHOICE_BLOCKS - 1;
    struct reel_column best = {0};
    for (unsigned c = 0; candidates[c].encoding != REEL_CONSTANT; c++) {
        struct reel_column tried = *column;
        size_t at = out->size;
        int rc = try_candidate(f, &candidates[c], &tried, out);
        if (rc == -ENOMEM)
            return rc;
        if (rc || (best.compressed_bytes && tried.compressed_bytes >= best.compressed_bytes)) {
            out->size = at;
            continue;
        }
        memmove(out->data + start, out->data + at, tried.compressed_bytes);
        out->size = start + tried.compressed_bytes;
        best = tried;
        choices->candidate[field] = (uint8_t)c;
    }
    *column = best;
    return 0;
}

/* Devices and processes are renumbered for the block, in order of appearance; the names go with it.
 * Bytes: u32 devices, each u32 length and bytes; u32 processes, each u32 pid, u32 length and bytes.
 */
struct local_names {
    uint32_t *device_of; /* meta index to local, +1 */
    uint32_t *process_of;
    uint32_t device_count;
    uint32_t process_count;
};

static uint32_t local_index(uint32_t *table, uint32_t *count, uint32_t index)
{
    if (table[index] == 0)
        table[index] = ++*count;
    return table[index] - 1;
}

static int number_names(const struct trace_meta *meta, const struct io_record *records,
                        size_t count, struct io_record *renumbered, struct local_names *names,
                        struct reel_bytes *bytes, struct error *err)
{
    uint32_t *device_at = malloc((meta->device_count + 1) * sizeof *device_at);
    uint32_t *process_at = malloc((count + 1) * sizeof *process_at);
    int rc = device_at && process_at ? 0 : error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < count && !rc; i++) {
        struct io_record *r = &renumbered[i];
        *r = records[i];
        if ((r->has & IO_HAS_DEVICE && r->device >= meta->device_count) ||
            (r->has & IO_HAS_PROCESS && r->process >= meta->process_count)) {
            rc = error_set(err, EINVAL, "a record names a device or process that is not there");
            break;
        }
        if (r->has & IO_HAS_DEVICE) {
            uint32_t local = local_index(names->device_of, &names->device_count, r->device);
            device_at[local] = r->device;
            r->device = (uint16_t)local;
        }
        if (r->has & IO_HAS_PROCESS) {
            uint32_t local = local_index(names->process_of, &names->process_count, r->process);
            process_at[local] = r->process;
            r->process = local;
        }
    }
    if (!rc) {
        reel_put_u32(bytes, names->device_count);
        for (uint32_t i = 0; i < names->device_count; i++) {
            const char *name = meta->devices[device_at[i]].name;
            reel_put_u32(bytes, (uint32_t)strlen(name));
            reel_put_bytes(bytes, name, strlen(name));
        }
        reel_put_u32(bytes, names->process_count);
        for (uint32_t i = 0; i < names->process_count; i++) {
            const struct trace_process *p = &meta->processes[process_at[i]];
            reel_put_u32(bytes, p->pid);
            reel_put_u32(bytes, (uint32_t)strlen(p->name));
            reel_put_bytes(bytes, p->name, strlen(p->name));
        }
    }
    free(device_at);
    free(process_at);
    return rc;
}

static int encode_columns(struct field_coder *f, struct reel_choices *choices,
                          struct reel_block *block, struct reel_bytes *columns)
{
    /* Offsets as seek distances come after sizes and devices, which their decoding needs. */
    static const uint8_t order[IO_FIELD_COUNT] = {11, 4, 3,  0,  1,  2,  5,  6, 7,
                                                  8,  9, 10, 12, 13, 14, 15, 16};
    for (unsigned o = 0; o < IO_FIELD_COUNT; o++) {
        unsigned field = order[o];
        f->bit = 1u << field;
        if (!(block->extent.fields & f->bit))
            continue;
        f->values = reel_codec_values(f->codec);
        f->count = extract(field, f->records, f->records_count, reel_codec_values(f->codec));
        int rc = encode_field(f, field, choices, &block->columns[block->column_count++], columns);
        if (rc)
            return rc;
    }
    return 0;
}

int reel_block_encode(struct reel_codec *codec, struct reel_choices *choices,
                      const struct trace_meta *meta, const struct io_record *records, size_t count,
                      struct reel_block *block, struct reel_bytes *columns, struct error *err)
{
    memset(block, 0, sizeof *block);
    measure(records, count, &block->extent);
    if (count == 0)
        return 0;
    struct io_record *renumbered = malloc(count * sizeof *renumbered);
    uint64_t *numbers = malloc(count * sizeof *numbers);
    struct local_names names = {
        .device_of = calloc(meta->device_count + 1, sizeof *names.device_of),
        .process_of = calloc(meta->process_count + 1, sizeof *names.process_of),
    };
    uint64_t *ends = malloc((meta->device_count + 1) * sizeof *ends);
    struct reel_bytes name_bytes = {0};
    int rc = -ENOMEM;
    if (!renumbered || !numbers || !names.device_of || !names.process_of || !ends)
        goto out;
    rc = number_names(meta, records, count, renumbered, &names, &name_bytes, err);
    if (rc)
        goto out;
    struct reel_column *column = &block->columns[block->column_count++];
    *column = (struct reel_column){.field = REEL_FIELD_NAMES, .scale = 1};
    rc = name_bytes.failed
             ? -ENOMEM
             : reel_bytes_compress(codec, name_bytes.data, name_bytes.size, column, columns);
    struct field_coder coder = {
        .codec = codec,
        .records = renumbered,
        .records_count = count,
        .numbers = numbers,
        .ends = ends,
        .devices = names.device_count,
    };
    if (!rc)
        rc = encode_columns(&coder, choices, block, columns);
    if (!rc && columns->failed)
        rc = -ENOMEM;
out:
    if (rc == -ENOMEM)
        error_set(err, ENOMEM, "out of memory for a block of %zu records", count);
    free(renumbered);
    free(numbers);
    free(names.device_of);
    free(names.process_of);
    free(ends);
    reel_bytes_free(&name_bytes);
    return rc;
}
