/* What a replay did to its trace, done again. */
#include "analysis/compare/private/replay_undo.h"

#include <string.h>

#define BLOCK_MAX (1u << 24)

static const char *text_of(const json_t *environment, const char *key)
{
    const char *text = json_string_value(json_object_get(environment, key));
    return text ? text : "";
}

/* Numbers of a file are anything; over 2^53 they are texts, which here is too large. */
static uint64_t number_of(const json_t *environment, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(environment, key));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A result of a replay can be replayed itself, and two results of one trace are compared as they
 * are: then the name has to tell. */
static bool is_of(const json_t *environment, const struct trace_meta *meta, const char *path,
                  uint64_t records)
{
    const json_t *count = json_object_get(environment, "replay_trace_records");
    if (records != TRACE_UNKNOWN && json_is_integer(count) &&
        number_of(environment, "replay_trace_records") != records)
        return false;
    return !json_object_get(meta->environment, "replay_trace") ||
           strcmp(base_name(text_of(environment, "replay_trace")), base_name(path)) == 0;
}

struct replay_undo replay_undo_read(const struct trace_meta *result, const struct trace_meta *meta,
                                    const char *path, uint64_t records)
{
    const json_t *environment = result->environment;
    struct replay_undo undo = {.speed = 1};
    if (!json_object_get(environment, "replay_trace") || result->device_count != 1 ||
        !is_of(environment, meta, path, records))
        return undo;
    uint64_t block = number_of(environment, "replay_block_bytes");
    undo.place = (struct io_placement){
        .remap = io_remap_find(text_of(environment, "replay_remap")),
        .align_bytes = (uint32_t)block,
        .target_bytes = number_of(environment, "replay_target_bytes"),
        .source_bytes = number_of(environment, "replay_source_bytes"),
    };
    undo.as_reads = strcmp(text_of(environment, "replay_writes"), "as_reads") == 0;
    undo.devices = json_object_get(environment, "replay_devices");
    double speed = json_number_value(json_object_get(environment, "replay_speed"));
    if (speed > 0)
        undo.speed = speed;
    undo.active = undo.place.remap != REMAP_COUNT && block > 0 && block <= BLOCK_MAX &&
                  (block & (block - 1)) == 0 && undo.place.target_bytes >= block;
    return undo;
}

bool replay_undo_takes(const struct replay_undo *undo, const char *device)
{
    if (!json_is_array(undo->devices))
        return true;
    for (size_t i = 0; i < json_array_size(undo->devices); i++) {
        const char *name = json_string_value(json_array_get(undo->devices, i));
        if (name && device && strcmp(name, device) == 0)
            return true;
    }
    return false;
}

void replay_undo_place(const struct replay_undo *undo, struct io_record *record)
{
    struct io_placing placing;
    if (record->op == IO_FLUSH || (record->op == IO_WRITE && record->len_bytes == 0)) {
        record->op = IO_FLUSH;
        record->offset_bytes = 0;
        record->len_bytes = 0;
        return;
    }
    if (undo->as_reads && record->op == IO_WRITE)
        record->op = IO_READ;
    if (record->op <= IO_WRITE_ZEROES && (record->has & IO_HAS_LEN) &&
        record->len_bytes <= UINT64_MAX - record->offset_bytes)
        io_place(&undo->place, record->op, &record->offset_bytes, &record->len_bytes, &placing);
}
