/* A trace's metadata: interning of devices and processes, and its JSON form. */
#include "traces/record/trace_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/json_out.h"

static const char *const vantage_names[VANTAGE_COUNT] = {
    NULL, "app", "bio", "request", "driver", "wire",
};

const char *vantage_name(unsigned vantage)
{
    return vantage < VANTAGE_COUNT ? vantage_names[vantage] : NULL;
}

int vantage_parse(const char *text, unsigned *vantage)
{
    for (unsigned i = 1; i < VANTAGE_COUNT; i++)
        if (strcasecmp(text, vantage_names[i]) == 0) {
            *vantage = i;
            return 0;
        }
    return -EINVAL;
}

int trace_meta_init(struct trace_meta *meta)
{
    *meta = (struct trace_meta){.time_resolution_ns = 1, .start_realtime_ns = TRACE_UNKNOWN};
    meta->environment = json_object();
    return meta->environment ? 0 : -ENOMEM;
}

static void clear_device(struct trace_device *device)
{
    free(device->name);
    free(device->driver);
    free(device->model);
    free(device->firmware);
    free(device->serial);
    free(device->scheduler);
    free(device->write_cache);
}

void trace_meta_clear(struct trace_meta *meta)
{
    for (size_t i = 0; i < meta->device_count; i++)
        clear_device(&meta->devices[i]);
    free(meta->devices);
    free(meta->processes);
    free(meta->process_hash);
    free(meta->device_hash);
    free(meta->producer);
    json_decref(meta->environment);
    *meta = (struct trace_meta){0};
}

void trace_set_text(char **field, const char *text)
{
    free(*field);
    *field = text ? strdup(text) : NULL;
}

/* Grows an array to a power of two of elements when `count` has filled it. */
static int make_room(void **array, size_t count, size_t element_size)
{
    if (count != 0 && (count < 8 || (count & (count - 1)) != 0))
        return 0;
    size_t capacity = count < 8 ? 8 : 2 * count;
    void *grown = realloc(*array, capacity * element_size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    return 0;
}

static uint64_t name_key(uint64_t seed, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325ull ^ seed; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3ull;
    return hash ^ (hash >> 29);
}

static void insert_device(struct trace_meta *meta, size_t index)
{
    size_t mask = meta->device_slots - 1;
    size_t slot = name_key(0, meta->devices[index].name) & mask;
    while (meta->device_hash[slot] != 0)
        slot = (slot + 1) & mask;
    meta->device_hash[slot] = (uint32_t)index + 1;
}

static int grow_device_hash(struct trace_meta *meta)
{
    if (meta->device_count * 2 < meta->device_slots)
        return 0;
    size_t slots = meta->device_slots ? 2 * meta->device_slots : 16;
    uint32_t *hash = calloc(slots, sizeof *hash);
    if (!hash)
        return -ENOMEM;
    free(meta->device_hash);
    meta->device_hash = hash;
    meta->device_slots = slots;
    for (size_t i = 0; i < meta->device_count; i++)
        insert_device(meta, i);
    return 0;
}

int trace_meta_find_device(const struct trace_meta *meta, const char *name)
{
    if (!meta->device_slots)
        return -ENOENT;
    size_t mask = meta->device_slots - 1;
    size_t slot = name_key(0, name) & mask;
    for (; meta->device_hash[slot]; slot = (slot + 1) & mask)
        if (strcmp(meta->devices[meta->device_hash[slot] - 1].name, name) == 0)
            return (int)meta->device_hash[slot] - 1;
    return -ENOENT;
}

int trace_meta_device(struct trace_meta *meta, const char *name)
{
    int known = trace_meta_find_device(meta, name);
    if (known >= 0)
        return known;
    if (meta->device_count == TRACE_DEVICES_MAX)
        return -ENOSPC;
    if (grow_device_hash(meta) ||
        make_room((void **)&meta->devices, meta->device_count, sizeof *meta->devices))
        return -ENOMEM;
    struct trace_device device = {
        .capacity_bytes = TRACE_UNKNOWN,
        .logical_block_bytes = TRACE_UNKNOWN,
        .physical_block_bytes = TRACE_UNKNOWN,
        .queue_depth = TRACE_UNKNOWN,
        .hw_queues = TRACE_UNKNOWN,
        .nr_requests = TRACE_UNKNOWN,
        .max_sectors_bytes = TRACE_UNKNOWN,
        .wbt_lat_us = TRACE_UNKNOWN,
        .rotational = TRACE_UNKNOWN,
    };
    device.name = strdup(name);
    if (!device.name)
        return -ENOMEM;
    meta->devices[meta->device_count] = device;
    insert_device(meta, meta->device_count);
    return (int)meta->device_count++;
}

static void insert_process(struct trace_meta *meta, size_t index)
{
    const struct trace_process *p = &meta->processes[index];
    size_t mask = meta->process_slots - 1;
    size_t slot = name_key(p->pid, p->name) & mask;
    while (meta->process_hash[slot] != 0)
        slot = (slot + 1) & mask;
    meta->process_hash[slot] = (uint32_t)index + 1;
}

static int grow_process_hash(struct trace_meta *meta)
{
    if (meta->process_count * 2 < meta->process_slots)
        return 0;
    size_t slots = meta->process_slots ? 2 * meta->process_slots : 64;
    uint32_t *hash = calloc(slots, sizeof *hash);
    if (!hash)
        return -ENOMEM;
    free(meta->process_hash);
    meta->process_hash = hash;
    meta->process_slots = slots;
    for (size_t i = 0; i < meta->process_count; i++)
        insert_process(meta, i);
    return 0;
}

int64_t trace_meta_process(struct trace_meta *meta, uint32_t pid, const char *name)
{
    struct trace_process wanted = {.pid = pid};
    snprintf(wanted.name, sizeof wanted.name, "%s", name);
    if (meta->process_slots) {
        size_t mask = meta->process_slots - 1;
        size_t slot = name_key(pid, wanted.name) & mask;
        for (; meta->process_hash[slot]; slot = (slot + 1) & mask) {
            size_t index = meta->process_hash[slot] - 1;
            const struct trace_process *p = &meta->processes[index];
            if (p->pid == pid && strcmp(p->name, wanted.name) == 0)
                return (int64_t)index;
        }
    }
    if (meta->process_count == TRACE_PROCESSES_MAX)
        return -ENOSPC;
    if (grow_process_hash(meta) ||
        make_room((void **)&meta->processes, meta->process_count, sizeof *meta->processes))
        return -ENOMEM;
    meta->processes[meta->process_count] = wanted;
    insert_process(meta, meta->process_count);
    return (int64_t)meta->process_count++;
}

/* The texts and numbers of a device, for both directions of its JSON form. */
struct device_text {
    const char *key;
    size_t offset;
};

static const struct device_text device_texts[] = {
    {"driver", offsetof(struct trace_device, driver)},
    {"model", offsetof(struct trace_device, model)},
    {"firmware", offsetof(struct trace_device, firmware)},
    {"serial", offsetof(struct trace_device, serial)},
    {"scheduler", offsetof(struct trace_device, scheduler)},
    {"write_cache", offsetof(struct trace_device, write_cache)},
};

static const struct device_text device_numbers[] = {
    {"capacity_bytes", offsetof(struct trace_device, capacity_bytes)},
    {"logical_block_bytes", offsetof(struct trace_device, logical_block_bytes)},
    {"physical_block_bytes", offsetof(struct trace_device, physical_block_bytes)},
    {"queue_depth", offsetof(struct trace_device, queue_depth)},
    {"hw_queues", offsetof(struct trace_device, hw_queues)},
    {"nr_requests", offsetof(struct trace_device, nr_requests)},
    {"max_sectors_bytes", offsetof(struct trace_device, max_sectors_bytes)},
    {"wbt_lat_us", offsetof(struct trace_device, wbt_lat_us)},
    {"rotational", offsetof(struct trace_device, rotational)},
};

#define TEXT_COUNT   (sizeof device_texts / sizeof *device_texts)
#define NUMBER_COUNT (sizeof device_numbers / sizeof *device_numbers)

json_t *trace_device_to_json(const struct trace_device *device)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", json_text_or_null(device->name));
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        char *const *text = (char *const *)((const char *)device + device_texts[i].offset);
        json_object_set_new(object, device_texts[i].key, json_text_or_null(*text));
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        const uint64_t *number =
            (const uint64_t *)((const char *)device + device_numbers[i].offset);
        json_object_set_new(object, device_numbers[i].key,
                            json_u64_or_null(*number != TRACE_UNKNOWN, *number));
    }
    return object;
}

static int device_from_json(struct trace_meta *meta, const json_t *object, struct error *err)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    if (!name || name[0] == '\0')
        return error_set(err, EBADMSG, "a device of the header has no name");
    int index = trace_meta_device(meta, name);
    if (index < 0)
        return error_set(err, -index, "the header has too many devices (limit %u)",
                         TRACE_DEVICES_MAX);
    struct trace_device *device = &meta->devices[index];
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        const char *text = json_string_value(json_object_get(object, device_texts[i].key));
        trace_set_text((char **)((char *)device + device_texts[i].offset), text);
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        uint64_t *number = (uint64_t *)((char *)device + device_numbers[i].offset);
        if (json_get_u64(object, device_numbers[i].key, number))
            *number = TRACE_UNKNOWN;
    }
    return 0;
}

json_t *trace_meta_to_json(const struct trace_meta *meta)
{
    json_t *object = json_object();
    json_object_set_new(object, "producer", json_text_or_null(meta->producer));
    json_object_set_new(object, "vantage", json_text_or_null(vantage_name(meta->vantage)));
    json_object_set_new(object, "time_resolution_ns", json_u64(meta->time_resolution_ns));
    json_object_set_new(
        object, "start_realtime_ns",
        json_u64_or_null(meta->start_realtime_ns != TRACE_UNKNOWN, meta->start_realtime_ns));
    json_object_set(object, "environment", meta->environment);
    json_t *devices = json_array();
    for (size_t i = 0; i < meta->device_count; i++)
        json_array_append_new(devices, trace_device_to_json(&meta->devices[i]));
    json_object_set_new(object, "devices", devices);
    return object;
}

int trace_meta_from_json(struct trace_meta *meta, const json_t *object, struct error *err)
{
    if (!json_is_object(object))
        return error_set(err, EBADMSG, "the header is no JSON object");
    trace_set_text(&meta->producer, json_string_value(json_object_get(object, "producer")));
    const char *vantage = json_string_value(json_object_get(object, "vantage"));
    if (!vantage || vantage_parse(vantage, &meta->vantage))
        meta->vantage = VANTAGE_UNKNOWN;
    if (json_get_u64(object, "time_resolution_ns", &meta->time_resolution_ns) ||
        meta->time_resolution_ns == 0)
        meta->time_resolution_ns = 1;
    if (json_get_u64(object, "start_realtime_ns", &meta->start_realtime_ns))
        meta->start_realtime_ns = TRACE_UNKNOWN;
    const json_t *environment = json_object_get(object, "environment");
    if (json_is_object(environment))
        json_object_update(meta->environment, (json_t *)environment);
    const json_t *devices = json_object_get(object, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        int rc = device_from_json(meta, json_array_get(devices, i), err);
        if (rc)
            return rc;
    }
    return 0;
}
