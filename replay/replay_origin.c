/* The header of a result trace. */
#include "replay/replay_origin.h"

#include <errno.h>
#include <time.h>

#include "common/environment.h"
#include "common/json_out.h"
#include "common/units.h"

/* The devices of the source whose I/Os were taken; all of them go to the one target. */
static json_t *taken_devices(const struct replay_origin *origin)
{
    const bool *devices = origin->rules->devices;
    json_t *names = json_array();
    for (size_t i = 0; i < origin->source->device_count; i++)
        if (!devices || devices[i])
            json_array_append_new(names, json_text_or_null(origin->source->devices[i].name));
    return names;
}

static const char *writes_text(const struct schedule_rules *rules)
{
    if (rules->writes_as_reads)
        return "as_reads";
    return rules->allow_writes ? "as_writes" : "skipped";
}

static void describe_places(const struct replay_origin *origin, json_t *environment)
{
    const struct schedule_rules *rules = origin->rules;
    const struct schedule_survey *survey = origin->survey;
    uint64_t skipped = 0;
    for (unsigned i = 1; i < SKIP_REASONS; i++)
        skipped += survey->skipped[i];
    json_object_set_new(environment, "replay_remap",
                        json_string(io_remap_name(rules->place.remap)));
    json_object_set_new(environment, "replay_source_bytes", json_u64(rules->place.source_bytes));
    json_object_set_new(environment, "replay_target_bytes", json_u64(rules->place.target_bytes));
    json_object_set_new(environment, "replay_block_bytes", json_u64(rules->place.align_bytes));
    json_object_set_new(environment, "replay_rounded", json_u64(survey->rounded));
    json_object_set_new(environment, "replay_moved", json_u64(survey->moved));
    json_object_set_new(environment, "replay_clipped", json_u64(survey->skipped[SKIP_OUTSIDE]));
    json_object_set_new(environment, "replay_skipped", json_u64(skipped));
    json_object_set_new(environment, "replay_writes", json_string(writes_text(rules)));
    json_object_set_new(environment, "replay_devices", taken_devices(origin));
    json_object_set_new(environment, "replay_target", json_string(origin->target->name));
}

static void describe_times(const struct replay_origin *origin, json_t *environment)
{
    const struct schedule_rules *rules = origin->rules;
    json_object_set_new(environment, "replay_timing",
                        json_string(rules->timed ? "original" : "fast"));
    if (rules->timed) {
        json_object_set_new(environment, "replay_speed", json_real(rules->speed));
        json_object_set_new(environment, "replay_first_issue_ns", json_u64(rules->first_issue_ns));
    } else {
        json_object_set_new(environment, "replay_depth", json_u64(origin->depth));
    }
}

int replay_origin_describe(const struct replay_origin *origin, struct trace_meta *meta)
{
    struct timespec now;
    if (trace_meta_init(meta) != 0 || trace_meta_device(meta, origin->target->name) < 0)
        return -ENOMEM;
    meta->vantage = VANTAGE_APP;
    trace_set_text(&meta->producer, "ioreel " IOREEL_VERSION " replay");
    clock_gettime(CLOCK_REALTIME, &now);
    meta->start_realtime_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    replay_target_describe(origin->target, &meta->devices[0]);
    json_t *environment = environment_describe();
    if (environment) {
        json_decref(meta->environment);
        meta->environment = environment;
    }
    json_object_set_new(meta->environment, "replay_trace", json_string(origin->trace));
    json_object_set_new(meta->environment, "replay_trace_records", json_u64(origin->trace_records));
    json_object_set_new(meta->environment, "replay_engine",
                        json_string(origin->engine ? origin->engine : "best"));
    json_object_set_new(meta->environment, "replay_seed", json_u64(origin->seed));
    describe_times(origin, meta->environment);
    describe_places(origin, meta->environment);
    return 0;
}
