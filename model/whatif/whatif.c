/* Answering what-ifs: which sweep answers, what it is multiplied with, where the slots cut in. */
#include "model/whatif/private/whatif.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit/fit_report.h"
#include "model/whatif/private/percentiles.h"

/* Rates scale with nodes up to what their network takes: some 5 % lost at each doubling at worst.
 */
#define NODE_LOSS 0.05
#define SMALL_MAX 16384
/* Below this utilization a station holds nothing up. */
#define BUSY 0.7
/* Ratios between controllers that differ by more than this from source to source give no number. */
#define RATIO_SPREAD 1.2

struct whatif {
    const struct model *model;
    struct whatif_question q;
    const struct fit *base;
    struct predictor *predictor;
    struct whatif_factor shallow, deep; /* size and mix, at the sweep's ends */
    double depth_shallow, depth_deep;
    struct whatif_factor flat; /* protection, nodes, another controller */
    bool as_measured, beyond;
    double service_us; /* predicted latency at depth 1 */
    char notes[WHATIF_NOTES_MAX][200];
    size_t note_count;
};

static void note(struct whatif *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct whatif *w, const char *format, ...)
{
    if (w->note_count == WHATIF_NOTES_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(w->notes[w->note_count++], sizeof w->notes[0], format, args);
    va_end(args);
}

static struct whatif_factor times(struct whatif_factor a, struct whatif_factor b)
{
    return (struct whatif_factor){a.point * b.point, a.low * b.low, a.high * b.high};
}

static bool agrees(double asked, double has, double tolerance)
{
    return isnan(asked) || fabs(asked - has) <= tolerance;
}

/* How well a sweep suits the question: exact in size and mix beats exact in one of them. */
static int suits(const struct whatif_question *q, const struct fit *f)
{
    if (q->workload && strcmp(q->workload, f->key.workload) != 0)
        return -1;
    if (q->pattern != PATTERN_UNKNOWN && f->key.pattern != PATTERN_UNKNOWN &&
        q->pattern != f->key.pattern)
        return -1;
    int score = 0;
    score += agrees(q->block_bytes, f->key.block_bytes, 0.01 * f->key.block_bytes) ? 4 : 0;
    score += agrees(q->read_pct, f->key.read_pct, 1) ? 2 : 0;
    score += q->protect && f->key.read_pct >= 99 ? 2 : 0;
    return score;
}

static int choose_base(struct whatif *w, struct error *err)
{
    int best = -1;
    for (size_t i = 0; i < w->model->count; i++) {
        const struct fit *f = &w->model->fits[i];
        int score = suits(&w->q, f);
        bool better =
            score > best || (score == best && w->base && score >= 0 && i == w->model->main);
        if (score >= 0 && better) {
            best = score;
            w->base = f;
        }
    }
    if (!w->base)
        return error_set(err, EDOM, "the model has no sweep of that workload and pattern");
    return 0;
}

/* Size and mix: factors at the sweep's two ends, and in between on a line over log depth. */
static int set_load(struct whatif *w, struct error *err)
{
    const struct fit *f = w->base;
    const struct whatif_factor one = {1, 1, 1};
    w->shallow = w->deep = one;
    w->depth_shallow = isnan(f->points[0].depth) ? 1 : f->points[0].depth;
    w->depth_deep = isnan(f->points[0].depth) ? 1 : f->points[f->count - 1].depth;
    bool size = !agrees(w->q.block_bytes, f->key.block_bytes, 0.01 * f->key.block_bytes);
    bool mix = !agrees(w->q.read_pct, f->key.read_pct, 1) && !w->q.protect;
    for (int end = 0; end < 2; end++) {
        struct whatif_factor *to = end ? &w->deep : &w->shallow, factor;
        double depth = end ? w->depth_deep : w->depth_shallow;
        int rc = size ? whatif_size_factor(w->model, f, w->q.block_bytes, depth, &factor, err) : 0;
        if (rc)
            return rc;
        if (size)
            *to = times(*to, factor);
        rc = mix ? whatif_mix_factor(w->model, f, w->q.read_pct, depth, &factor, err) : 0;
        if (rc)
            return rc;
        if (mix)
            *to = times(*to, factor);
    }
    w->as_measured = !size && !mix;
    if (size)
        note(w, "the size was not measured: the size law of the model's sweeps gives it");
    if (mix)
        note(w, "the mix was not measured: the mix law of the model's sweeps gives it");
    return 0;
}

static int set_protection(struct whatif *w, struct error *err)
{
    if (!w->q.protect)
        return 0;
    double share = (isnan(w->q.read_pct) ? 100 : w->q.read_pct) / 100;
    if (!(w->base->key.read_pct >= 99))
        return error_set(
            err, EDOM,
            "--protection needs a row of reads alone on the protected volume; the model "
            "has %.3g %% reads",
            w->base->key.read_pct);
    double bytes = isnan(w->q.block_bytes) ? w->base->key.block_bytes : w->q.block_bytes;
    double penalty = law_protection_penalty(&w->q.protection, bytes, w->q.stripe_bytes);
    double factor = law_protected_iops(1, share, penalty);
    w->flat = times(w->flat, (struct whatif_factor){factor, factor, factor});
    w->as_measured = w->as_measured && share >= 0.99;
    note(w, "%s: a write costs %.3g device I/Os", w->q.protection.name, penalty);
    return 0;
}

static void set_nodes(struct whatif *w)
{
    double has = w->base->key.nodes >= 1 ? w->base->key.nodes : 1;
    if (!(w->q.nodes >= 1) || w->q.nodes == has)
        return;
    double ratio = w->q.nodes / has, loss = NODE_LOSS * fabs(log2(ratio));
    w->flat = times(w->flat, (struct whatif_factor){ratio, ratio * exp(-loss), ratio * exp(loss)});
    w->as_measured = false;
    w->beyond = true;
    note(w, "%.6g nodes from %.6g: taken as proportional; measure %.6g and %.6g nodes to be sure",
         w->q.nodes, has, has, 2 * has);
}

/* Another controller in this one's place: the ratios that were published, and nothing finer. */
static int set_controller(struct whatif *w, struct error *err)
{
    if (!w->q.controller || strcmp(w->q.controller, w->base->key.controller) == 0)
        return 0;
    double bytes = isnan(w->q.block_bytes) ? w->base->key.block_bytes : w->q.block_bytes;
    struct whatif_factor f;
    if (!profiles_ratio(w->base->key.controller, w->q.controller, bytes <= SMALL_MAX, &f.low,
                        &f.high))
        return error_set(err, EDOM,
                         "no published measurement has both '%s' and '%s' on one device at such "
                         "sizes; ioreel fit --list names what there is",
                         w->base->key.controller[0] ? w->base->key.controller : "no controller",
                         w->q.controller);
    f.point = f.high / f.low > RATIO_SPREAD ? NAN : sqrt(f.low * f.high);
    w->flat = times(w->flat, f);
    w->as_measured = false;
    w->beyond = true;
    note(w, "%s in place of %s: published ratios run from %.2f to %.2f%s", w->q.controller,
         w->base->key.controller, f.low, f.high,
         isnan(f.point) ? ", too far apart for a number; measure it" : "");
    return 0;
}

/* The number in flight behind the slots, at most. */
static double depth_inside(const struct whatif *w, double depth)
{
    double threads = isnan(w->q.threads) ? 1 : w->q.threads;
    return slot_path_depth(&w->q.path, depth * threads);
}

int whatif_create(const struct model *m, const struct whatif_question *q, double depth_max,
                  struct whatif **out, struct error *err)
{
    struct whatif *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, ENOMEM, "out of memory for a what-if");
    w->model = m;
    w->q = *q;
    w->flat = (struct whatif_factor){1, 1, 1};
    int rc = choose_base(w, err);
    if (rc == 0)
        rc = set_load(w, err);
    if (rc == 0)
        rc = set_protection(w, err);
    if (rc == 0) {
        set_nodes(w);
        rc = set_controller(w, err);
    }
    if (rc == 0)
        rc =
            predictor_create(w->base, (size_t)ceil(depth_inside(w, depth_max)), &w->predictor, err);
    if (rc) {
        whatif_free(w);
        return rc;
    }
    w->service_us = predictor_at(w->predictor, 1).latency_us;
    *out = w;
    return 0;
}

void whatif_free(struct whatif *w)
{
    if (!w)
        return;
    predictor_free(w->predictor);
    free(w);
}

static struct whatif_factor load_factor(const struct whatif *w, double depth)
{
    double span = log(w->depth_deep / w->depth_shallow);
    double u = span > 0 ? log(depth / w->depth_shallow) / span : 0;
    u = fmin(fmax(u, 0), 1);
    const struct whatif_factor *a = &w->shallow, *b = &w->deep;
    return (struct whatif_factor){pow(a->point, 1 - u) * pow(b->point, u),
                                  pow(a->low, 1 - u) * pow(b->low, u),
                                  pow(a->high, 1 - u) * pow(b->high, u)};
}

/* More slots than the sweep showed: the plateau may have been theirs, or of what lies behind. */
static void lift_slots(const struct whatif *w, double inside, struct prediction *p)
{
    const struct fit *f = w->base;
    double more = fmax(w->q.path.lun_slots, w->q.path.adapter_slots);
    if (isnan(f->slots) || !(more > f->slots) || !(inside > f->slots))
        return;
    p->iops_high = fmax(p->iops_high, p->iops_high * fmin(inside, more) / f->slots);
    p->iops = NAN;
    p->latency_low_us = inside / p->iops_high * 1e6;
    p->extrapolated = true;
}

static void scale(struct whatif_point *x, const struct prediction *p, struct whatif_factor f,
                  double inside)
{
    x->iops = p->iops * f.point;
    x->iops_low = p->iops_low * f.low;
    x->iops_high = p->iops_high * f.high;
    x->latency_us = inside / x->iops * 1e6;
    x->latency_low_us = inside / x->iops_high * 1e6;
    x->latency_high_us = inside / x->iops_low * 1e6;
}

static void add_utilization(struct whatif_point *x, const char *name, double share)
{
    if (x->utilization_count < WHATIF_UTILIZATIONS && isfinite(share)) {
        x->names[x->utilization_count] = name;
        x->utilization[x->utilization_count++] = fmin(share, 1);
    }
}

static void set_cpu(const struct whatif *w, double wanted, struct whatif_point *x)
{
    double cost = w->base->cpu_us_per_io;
    double cores = w->q.cores > 0 ? w->q.cores : w->base->key.cores;
    double limit = w->q.threads >= 1 ? law_cpu_limit(cost, w->q.threads) : INFINITY;
    if (x->iops > limit) {
        double cut = limit / x->iops;
        x->iops = limit;
        x->iops_low = fmin(x->iops_low * cut, limit);
        x->iops_high = fmin(x->iops_high, limit * 1.05);
        x->latency_us = wanted / x->iops * 1e6;
        x->latency_low_us = wanted / x->iops_high * 1e6;
        x->latency_high_us = wanted / x->iops_low * 1e6;
        x->bottleneck = "host threads";
    }
    x->cpu_pct = law_cpu_pct(cost, x->iops, cores);
    if (isfinite(limit))
        add_utilization(x, "host threads", x->iops / limit);
}

static void set_stations(const struct whatif *w, double inside, struct whatif_point *x)
{
    const struct fit *f = w->base;
    double most = 0;
    if (f->basis != FIT_CAPACITY) {
        const struct fit_member *m = &f->members[f->best];
        double shares[3], factor = load_factor(w, inside).point * w->flat.point;
        const char *names[3];
        size_t count = m->model->utilization(m->theta, x->iops / factor, names, shares);
        for (size_t i = 0; i < count; i++) {
            add_utilization(x, names[i], shares[i]);
            if (shares[i] > most) {
                most = shares[i];
                x->bottleneck = names[i];
            }
        }
        if (isnan(x->iops))
            x->bottleneck = NULL;
        else if (most < BUSY)
            x->bottleneck = "depth"; /* nothing is busy: more in flight would give more */
    }
}

struct whatif_point whatif_at(const struct whatif *w, double depth)
{
    double inside = depth_inside(w, depth);
    struct prediction p = predictor_at(w->predictor, inside);
    struct whatif_point x = {.depth = depth, .inside = inside, .bottleneck = NULL};
    x.p50_us = x.p90_us = x.p99_us = NAN;
    lift_slots(w, inside, &p);
    struct whatif_factor factor = times(load_factor(w, inside), w->flat);
    double disks = w->q.path.disks >= 1 ? w->q.path.disks : 1;
    double wanted = depth * (isnan(w->q.threads) ? 1 : w->q.threads) * disks;
    scale(&x, &p, factor, wanted); /* latency counts the wait for a slot */
    x.extrapolated = p.extrapolated || w->beyond;
    set_stations(w, inside, &x);
    if (inside < wanted * (1 - 1e-9))
        x.bottleneck = "slots";
    if (w->base->basis == FIT_CAPACITY && isnan(w->base->points[0].depth))
        x.depth = x.latency_us = x.latency_low_us = x.latency_high_us = NAN;
    set_cpu(w, wanted, &x);
    if (w->as_measured && inside >= wanted * (1 - 1e-9)) {
        double service = w->service_us;
        x.p50_us = percentile_latency_us(inside, service, x.latency_us, w->base->service_cv, 50);
        x.p90_us = percentile_latency_us(inside, service, x.latency_us, w->base->service_cv, 90);
        x.p99_us = percentile_latency_us(inside, service, x.latency_us, w->base->service_cv, 99);
    }
    x.usd_per_iops = w->q.price_usd > 0 ? w->q.price_usd / x.iops : NAN;
    x.usd_per_gb = w->q.price_usd > 0 ? w->q.price_usd / w->q.capacity_gb : NAN;
    return x;
}

const struct fit *whatif_base(const struct whatif *w)
{
    return w->base;
}

double whatif_plateau(const struct whatif *w)
{
    return predictor_plateau(w->predictor) * w->deep.point * w->flat.point;
}

double whatif_base_latency_us(const struct whatif *w)
{
    return predictor_base_latency_us(w->predictor) / w->shallow.point;
}

/* From what is seen outside: base latency as the sum of demands, the plateau as the largest. */
struct law_bounds whatif_bounds(const struct whatif *w, double depth)
{
    double demand = whatif_base_latency_us(w) / 1e6, most = 1 / whatif_plateau(w);
    double stations = fmax(1, demand / most);
    if (isnan(demand))
        return law_closed_bounds(NAN, 1, 1, 1, 0);
    return law_closed_bounds(depth_inside(w, depth), fmax(demand, most), most, stations, 0);
}

bool whatif_is_as_measured(const struct whatif *w)
{
    return w->as_measured;
}

size_t whatif_notes(const struct whatif *w, const char *notes[WHATIF_NOTES_MAX])
{
    for (size_t i = 0; i < w->note_count; i++)
        notes[i] = w->notes[i];
    return w->note_count;
}
