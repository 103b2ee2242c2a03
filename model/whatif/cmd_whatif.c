/* ioreel whatif: asks a fitted model for other depths, slots, sizes, mixes, protection, nodes. */
#include "model/commands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/text_table.h"
#include "common/units.h"
#include "model/whatif/private/whatif.h"
#include "model/whatif/private/whatif_curve.h"

#define POINTS_MAX 65536

struct whatif_options {
    struct option_numbers qd;
    uint64_t qd_to;
    uint64_t threads;
    uint64_t slots, host_slots, lun_slots, adapter_slots, disks;
    uint64_t size, stripe;
    double read_pct;
    const char *pattern;
    const char *workload;
    const char *protection;
    uint64_t data_disks;
    uint64_t nodes, cores;
    const char *controller;
    double price_usd, capacity_gb;
    bool json;
    bool curve;
};

#define AT(field) offsetof(struct whatif_options, field)

static const struct whatif_options defaults = {
    .qd_to = OPTION_UNSET,
    .threads = OPTION_UNSET,
    .size = OPTION_UNSET,
    .read_pct = -1,
    .price_usd = -1,
    .capacity_gb = -1,
};

static const struct option_row option_rows[] = {
    {0, "qd", "LIST", OPTION_NUMBERS, AT(qd),
     "depths to predict, each thread's: 1,2,4..64 (the fitted range and its double)"},
    {0, "qd-to", "N", OPTION_POSITIVE, AT(qd_to), "every depth from 1 to N"},
    {0, "threads", "N", OPTION_POSITIVE, AT(threads), "threads of that depth each (1)"},
    {0, "slots", "N", OPTION_POSITIVE, AT(slots),
     "slots of the disk's queue; the same as --lun-slots"},
    {0, "lun-slots", "N", OPTION_POSITIVE, AT(lun_slots),
     "slots of each disk's queue (ESXi: DQLEN)"},
    {0, "host-slots", "N", OPTION_POSITIVE, AT(host_slots),
     "what the host lets through to each disk (ESXi: DSNRO)"},
    {0, "adapter-slots", "N", OPTION_POSITIVE, AT(adapter_slots), "slots that the disks share"},
    {0, "disks", "N", OPTION_POSITIVE, AT(disks), "disks on the adapter, loaded alike (1)"},
    {0, "size", "BYTES", OPTION_SIZE, AT(size), "another I/O size"},
    {0, "read-pct", "PCT", OPTION_REAL, AT(read_pct), "another share of reads"},
    {0, "pattern", "TEXT", OPTION_STRING, AT(pattern), "random or sequential"},
    {0, "workload", "TEXT", OPTION_STRING, AT(workload), "the model's sweep of that workload"},
    {0, "protection", "KIND", OPTION_STRING, AT(protection),
     "the model is of reads on raid1, raid5, raid6 or ec-K+M; with --read-pct"},
    {0, "stripe", "BYTES", OPTION_SIZE, AT(stripe),
     "data of a full stripe: writes of whole stripes need no old data"},
    {0, "data-disks", "K", OPTION_POSITIVE, AT(data_disks), "data disks of raid5 (3) or raid6 (4)"},
    {0, "nodes", "N", OPTION_POSITIVE, AT(nodes), "nodes of the cluster"},
    {0, "cores", "N", OPTION_POSITIVE, AT(cores), "cores of the host, for its CPU share"},
    {0, "controller", "NAME", OPTION_STRING, AT(controller),
     "another controller in place of the model's, by the published ratios"},
    {0, "price-usd", "USD", OPTION_REAL, AT(price_usd), "price of the whole, for USD per IOPS"},
    {0, "capacity-gb", "GB", OPTION_REAL, AT(capacity_gb), "capacity of it, for USD per GB"},
    {0, "curve", NULL, OPTION_FLAG, AT(curve), "draw the curve, with the measured points"},
    {0, "json", NULL, OPTION_FLAG, AT(json), "print one JSON document"},
};

static const char *const examples[] = {
    "ioreel whatif esxi8-nested-win10-pvscsi --pattern random --read-pct 100 --qd 1,2,4..32",
    "ioreel whatif vsan62-nvme-raid5 --protection raid5 --read-pct 70",
    "ioreel fit model/data/sweeps.csv --source A -q -o - | ioreel whatif - --qd 1..256 --curve",
    NULL,
};

static double or_nan(uint64_t value)
{
    return value == OPTION_UNSET || value == 0 ? NAN : (double)value;
}

static int make_question(const struct whatif_options *o, struct whatif_question *q,
                         struct error *err)
{
    *q = (struct whatif_question){
        .threads = or_nan(o->threads),
        .block_bytes = or_nan(o->size),
        .read_pct = o->read_pct < 0 ? NAN : o->read_pct,
        .workload = o->workload,
        .path = {.host_slots = (double)o->host_slots,
                 .lun_slots = (double)(o->lun_slots ? o->lun_slots : o->slots),
                 .adapter_slots = (double)o->adapter_slots,
                 .disks = (double)(o->disks ? o->disks : 1)},
        .stripe_bytes = (double)o->stripe,
        .nodes = or_nan(o->nodes),
        .cores = or_nan(o->cores),
        .price_usd = o->price_usd > 0 ? o->price_usd : NAN,
        .capacity_gb = o->capacity_gb > 0 ? o->capacity_gb : NAN,
        .controller = o->controller,
    };
    if (o->read_pct > 100)
        return error_usage(err, "--read-pct %g is over 100", o->read_pct);
    if (o->slots && o->lun_slots && o->slots != o->lun_slots)
        return error_usage(err, "--slots and --lun-slots are the same thing; give one of them");
    if (o->pattern) {
        q->pattern = strcmp(o->pattern, "random") == 0       ? PATTERN_RANDOM
                     : strcmp(o->pattern, "sequential") == 0 ? PATTERN_SEQUENTIAL
                                                             : PATTERN_UNKNOWN;
        if (q->pattern == PATTERN_UNKNOWN)
            return error_usage(err, "--pattern '%s' is not random or sequential", o->pattern);
    }
    if (o->protection) {
        q->protect = true;
        if (law_protection_parse(o->protection, (unsigned)fmin((double)o->data_disks, 256),
                                 &q->protection))
            return error_usage(
                err,
                "--protection '%s' is not none, raid1, raid5, raid6 or ec-K+M such as "
                "ec-4+2 (K and M up to 255)",
                o->protection);
    }
    return 0;
}

/* The depths: as asked, or the main sweep's own range and its double. */
static double *make_depths(const struct whatif_options *o, const struct model *m, size_t *count)
{
    double *depths = malloc(POINTS_MAX * sizeof *depths);
    *count = 0;
    if (!depths)
        return NULL;
    if (o->qd_to != OPTION_UNSET) {
        for (uint64_t i = 1; i <= o->qd_to && i <= POINTS_MAX; i++)
            depths[(*count)++] = (double)i;
    } else if (o->qd.count) {
        for (size_t i = 0; i < o->qd.count; i++)
            depths[(*count)++] = (double)o->qd.values[i];
    } else {
        const struct fit *f = &m->fits[m->main];
        const struct sweep_point *last = &f->points[f->count - 1];
        if (isnan(last->depth) || f->count == 1)
            depths[(*count)++] = isnan(last->depth) ? 1 : last->depth;
        else
            for (double d = 1; d <= 2 * last->depth && d <= FIT_DEPTH_MAX; d *= 2)
                depths[(*count)++] = d;
    }
    return depths;
}

static json_t *point_json(const struct whatif_point *x)
{
    json_t *o = json_object(), *u = json_object();
    json_object_set_new(o, "qd",
                        isnan(x->depth) ? json_null() : json_integer((json_int_t)x->depth));
    json_object_set_new(o, "iops", json_double(x->iops));
    json_object_set_new(o, "iops_low", json_double(x->iops_low));
    json_object_set_new(o, "iops_high", json_double(x->iops_high));
    json_object_set_new(o, "latency_us", json_double(x->latency_us));
    json_object_set_new(o, "latency_low_us", json_double(x->latency_low_us));
    json_object_set_new(o, "latency_high_us", json_double(x->latency_high_us));
    json_object_set_new(o, "p50_us", json_double(x->p50_us));
    json_object_set_new(o, "p90_us", json_double(x->p90_us));
    json_object_set_new(o, "p99_us", json_double(x->p99_us));
    json_object_set_new(o, "bottleneck", json_text_or_null(x->bottleneck));
    for (size_t i = 0; i < x->utilization_count; i++)
        json_object_set_new(u, x->names[i], json_double(x->utilization[i]));
    json_object_set_new(o, "utilization", u);
    json_object_set_new(o, "cpu_pct", json_double(x->cpu_pct));
    json_object_set_new(o, "in_flight", json_double(x->inside));
    json_object_set_new(o, "usd_per_iops", json_double(x->usd_per_iops));
    json_object_set_new(o, "usd_per_gb", json_double(x->usd_per_gb));
    json_object_set_new(o, "extrapolated", json_boolean(x->extrapolated));
    return o;
}

static json_t *bounds_json(const struct whatif *w, double depth)
{
    struct law_bounds b = whatif_bounds(w, depth);
    json_t *o = json_object();
    json_object_set_new(o, "qd", json_integer((json_int_t)depth));
    json_object_set_new(o, "iops_upper", json_double(b.upper));
    json_object_set_new(o, "iops_lower", json_double(b.lower));
    json_object_set_new(o, "balanced_iops_upper", json_double(b.balanced_upper));
    json_object_set_new(o, "balanced_iops_lower", json_double(b.balanced_lower));
    json_object_set_new(o, "knee_qd", json_double(b.knee));
    json_object_set_new(o, "plateau_iops", json_double(whatif_plateau(w)));
    json_object_set_new(o, "base_latency_us", json_double(whatif_base_latency_us(w)));
    return o;
}

static int print_json(const struct whatif *w, const struct whatif_point *points, size_t count)
{
    json_t *document = json_object(), *list = json_array(), *assumed = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, point_json(&points[i]));
    const char *notes[WHATIF_NOTES_MAX];
    size_t note_count = whatif_notes(w, notes);
    for (size_t i = 0; i < note_count; i++)
        json_array_append_new(assumed, json_string(notes[i]));
    json_object_set_new(document, "points", list);
    json_object_set_new(document, "bounds", bounds_json(w, points[count - 1].depth));
    json_object_set_new(document, "assumed", assumed);
    return json_print(document, false);
}

static void number_cell(struct text_table *t, const char *format, double value)
{
    char text[UNITS_TEXT];
    snprintf(text, sizeof text, format, value);
    text_table_cell(t, "%s", isfinite(value) ? text : "-");
}

static int print_text(const struct whatif *w, const struct whatif_point *points, size_t count,
                      const struct whatif_options *o)
{
    static const char *const heads[] = {"depth",      "IOPS",       "low",    "high",
                                        "latency us", "p50 us",     "p99 us", "CPU %",
                                        "USD/IOPS",   "bottleneck", ""};
    struct text_table *t = text_table_create(11, heads);
    if (!t)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct whatif_point *x = &points[i];
        char text[UNITS_TEXT];
        number_cell(t, "%.6g", x->depth);
        text_table_cell(t, "%s", units_format_iops(x->iops, text));
        text_table_cell(t, "%s", units_format_iops(x->iops_low, text));
        text_table_cell(t, "%s", units_format_iops(x->iops_high, text));
        number_cell(t, "%.1f", x->latency_us);
        number_cell(t, "%.1f", x->p50_us);
        number_cell(t, "%.1f", x->p99_us);
        number_cell(t, "%.1f", x->cpu_pct);
        number_cell(t, "%.4g", x->usd_per_iops);
        text_table_cell(t, "%s", x->bottleneck ? x->bottleneck : "-");
        text_table_cell(t, "%s", x->extrapolated ? "extrapolated" : "");
    }
    text_table_print(t, stdout);
    text_table_free(t);
    if (o->curve)
        whatif_draw(w, points, count, stdout);
    struct law_bounds b = whatif_bounds(w, points[count - 1].depth);
    if (isfinite(b.knee) && isfinite(whatif_base_latency_us(w)))
        printf("knee at depth %.1f, plateau %.0f IOPS, latency at depth 1 %.1f us\n", b.knee,
               whatif_plateau(w), whatif_base_latency_us(w));
    const char *notes[WHATIF_NOTES_MAX];
    size_t note_count = whatif_notes(w, notes);
    for (size_t i = 0; i < note_count; i++)
        printf("note: %s\n", notes[i]);
    return 0;
}

static int answer(const struct model *m, const struct whatif_options *o,
                  const struct whatif_question *q, struct error *err)
{
    size_t count;
    double *depths = make_depths(o, m, &count);
    struct whatif_point *points = depths ? malloc((count + 1) * sizeof *points) : NULL;
    struct whatif *w = NULL;
    int rc = points ? 0 : error_set(err, ENOMEM, "out of memory for the points");
    double deepest = 1;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (depths[i] < 1)
            rc = error_set(err, EINVAL, "--qd: a depth of 0 keeps nothing in flight");
        deepest = fmax(deepest, depths[i]);
    }
    if (rc == 0)
        rc = whatif_create(m, q, deepest, &w, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        points[i] = whatif_at(w, depths[i]);
    if (rc == 0)
        rc = o->json ? print_json(w, points, count) : print_text(w, points, count, o);
    whatif_free(w);
    free(points);
    free(depths);
    return rc;
}

static int run(void *options, int argc, char **argv, struct error *err)
{
    const struct whatif_options *o = options;
    if (argc != 1)
        return error_usage(err, "whatif needs one model file or profile; see ioreel whatif -h");
    if (o->qd_to != OPTION_UNSET && (o->qd_to == 0 || o->qd_to > POINTS_MAX))
        return error_usage(err, "--qd-to %llu is not within 1 and %d", (unsigned long long)o->qd_to,
                           POINTS_MAX);
    struct whatif_question q;
    int rc = make_question(o, &q, err);
    if (rc)
        return rc;
    struct model m;
    if (model_open(argv[0], &m, err))
        return EXIT_FAILED;
    for (size_t i = 0; i < m.fits[m.main].warning_count; i++)
        log_info("%s", m.fits[m.main].warnings[i]);
    rc = answer(&m, o, &q, err);
    model_free(&m);
    return rc ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_whatif = {
    .name = "whatif",
    .summary = "predicts other depths, slots, sizes, mixes, protection and nodes from a model",
    .usage = "M.json|PROFILE [--qd LIST]",
    .examples = examples,
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .defaults = &defaults,
    .options_size = sizeof(struct whatif_options),
    .run = run,
};
