/* The profiles of published controllers, and where their sources contradict each other. */
#include "model/fit/fit_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/text_table.h"
#include "common/units.h"
#include "model/profiles/profiles.h"

#define SET_MAX   MEASUREMENT_TEXT
#define AGREEMENT 0.05 /* a ratio within 5 % of 1 takes no side */
#define SMALL_MAX 16384

/* A profile's name without its last part is the set it was measured in; the last is the controller.
 * "nvme" and "lsi-sas" both occur, so the controllers are known by name. */
static const char *const controllers[] = {"ahci", "lsi-sas", "pvscsi", "nvme"};

static const char *controller_of(const char *name, char set[SET_MAX])
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        size_t c = strlen(controllers[i]);
        if (n > c + 1 && n - c - 1 < SET_MAX && name[n - c - 1] == '-' &&
            strcmp(name + n - c, controllers[i]) == 0) {
            memcpy(set, name, n - c - 1);
            set[n - c - 1] = '\0';
            return controllers[i];
        }
    }
    return NULL;
}

static bool same_load(const struct measurement *a, const struct measurement *b)
{
    return a->pattern == b->pattern && a->read_pct == b->read_pct &&
           a->block_bytes == b->block_bytes && strcmp(a->workload, b->workload) == 0;
}

/* Calls back with the ratio of each pair of sweeps, at their deepest common depth. */
typedef void ratio_sink(void *context, const char *set, const struct measurement *load,
                        double depth, double ratio);

static void compare_models(const char *set, const struct model *from, const struct model *to,
                           ratio_sink *sink, void *context)
{
    for (size_t i = 0; i < from->count; i++)
        for (size_t j = 0; j < to->count; j++) {
            const struct fit *a = &from->fits[i], *b = &to->fits[j];
            const struct sweep_point *p = &a->points[a->count - 1], *q = &b->points[b->count - 1];
            if (same_load(&a->key, &b->key) && p->depth > 1 && fabs(p->depth / q->depth - 1) < 0.1)
                sink(context, set, &a->key, p->depth, q->iops / p->iops);
        }
}

static void each_ratio(const char *from, const char *to, ratio_sink *sink, void *context)
{
    for (size_t i = 0; i < profile_count; i++)
        for (size_t j = 0; j < profile_count; j++) {
            char a[SET_MAX], b[SET_MAX];
            const char *first = controller_of(profiles[i].name, a);
            const char *second = controller_of(profiles[j].name, b);
            if (!first || !second || strcmp(a, b) != 0 || strcmp(first, from) != 0 ||
                strcmp(second, to) != 0)
                continue;
            struct model x, y;
            if (model_open(profiles[i].name, &x, NULL))
                continue;
            if (model_open(profiles[j].name, &y, NULL) == 0) {
                compare_models(a, &x, &y, sink, context);
                model_free(&y);
            }
            model_free(&x);
        }
}

struct ratio_range {
    bool small;
    double low, high;
};

static void take_range(void *context, const char *set, const struct measurement *load, double depth,
                       double ratio)
{
    struct ratio_range *r = context;
    (void)set;
    (void)depth;
    if ((load->block_bytes <= SMALL_MAX) != r->small)
        return;
    r->low = fmin(r->low, ratio);
    r->high = fmax(r->high, ratio);
}

bool profiles_ratio(const char *from, const char *to, bool small, double *low, double *high)
{
    struct ratio_range r = {small, INFINITY, 0};
    each_ratio(from, to, take_range, &r);
    *low = r.low;
    *high = r.high;
    return r.high > 0;
}

struct contradiction {
    struct ratio_seen {
        char text[160];
        double ratio;
    } least, most;
};

static void take_extremes(void *context, const char *set, const struct measurement *load,
                          double depth, double ratio)
{
    struct contradiction *c = context;
    char size[UNITS_TEXT];
    struct ratio_seen seen = {.ratio = ratio};
    snprintf(seen.text, sizeof seen.text, "%.2f in %s (%s %s, %.3g %% reads, depth %.4g)", ratio,
             set, measurement_pattern_name(load->pattern),
             units_format_size((uint64_t)load->block_bytes, size), load->read_pct, depth);
    if (!c->least.text[0] || ratio < c->least.ratio)
        c->least = seen;
    if (!c->most.text[0] || ratio > c->most.ratio)
        c->most = seen;
}

/* One line a pair of controllers that are ahead of each other in turn. Returns how many. */
static size_t contradictions(json_t *list)
{
    size_t count = sizeof controllers / sizeof *controllers;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            struct contradiction c = {{"", 0}, {"", 0}};
            each_ratio(controllers[i], controllers[j], take_extremes, &c);
            if (!c.least.text[0] || c.least.ratio > 1 - AGREEMENT || c.most.ratio < 1 + AGREEMENT)
                continue;
            json_array_append_new(list, json_sprintf("%s over %s: %s, but %s", controllers[j],
                                                     controllers[i], c.least.text, c.most.text));
        }
    return json_array_size(list);
}

static json_t *profile_json(const char *name)
{
    struct model m;
    if (model_open(name, &m, NULL))
        return NULL;
    json_t *o = json_object(), *ranges = json_array();
    for (size_t i = 0; i < m.count; i++) {
        const struct fit *f = &m.fits[i];
        json_t *r = json_object();
        json_object_set_new(r, "pattern", json_string(measurement_pattern_name(f->key.pattern)));
        json_object_set_new(r, "block_bytes", json_double(f->key.block_bytes));
        json_object_set_new(r, "read_pct", json_double(f->key.read_pct));
        json_object_set_new(r, "qd_min", json_double(f->points[0].depth));
        json_object_set_new(r, "qd_max", json_double(f->points[f->count - 1].depth));
        json_array_append_new(ranges, r);
    }
    json_object_set_new(o, "name", json_string(name));
    json_object_set(o, "about", m.about);
    json_object_set(o, "source", m.source);
    json_object_set_new(o, "sweeps", ranges);
    model_free(&m);
    return o;
}

json_t *fit_list_json(void)
{
    json_t *document = json_object(), *list = json_array(), *against = json_array();
    for (size_t i = 0; i < profile_count; i++) {
        json_t *o = profile_json(profiles[i].name);
        if (o)
            json_array_append_new(list, o);
    }
    contradictions(against);
    json_object_set_new(document, "profiles", list);
    json_object_set_new(document, "contradictions", against);
    return document;
}

int fit_list_print(FILE *out, struct error *err)
{
    static const char *const heads[] = {"profile", "sweeps", "conditions"};
    struct text_table *t = text_table_create(3, heads);
    json_t *against = json_array();
    if (!t || !against) {
        text_table_free(t);
        json_decref(against);
        return error_set(err, ENOMEM, "out of memory for the list");
    }
    for (size_t i = 0; i < profile_count; i++) {
        json_t *o = profile_json(profiles[i].name);
        const json_t *about = json_object_get(o, "about");
        const char *conditions = json_string_value(json_object_get(about, "conditions"));
        text_table_cell(t, "%s", profiles[i].name);
        text_table_cell(t, "%zu", json_array_size(json_object_get(o, "sweeps")));
        text_table_cell(t, "%s", conditions ? conditions : "");
        json_decref(o);
    }
    text_table_print(t, out);
    text_table_free(t);
    if (contradictions(against))
        fprintf(out, "\nThe sources contradict each other:\n");
    for (size_t i = 0; i < json_array_size(against); i++)
        fprintf(out, "  %s\n", json_string_value(json_array_get(against, i)));
    json_decref(against);
    return 0;
}
