/* Grouping rows into depth sweeps, and the rules that a sweep must keep. */
#include "model/measure/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double measurement_concurrency(const struct measurement *m)
{
    return m->iops.value * m->latency_us.value / 1e6;
}

double measurement_reached_depth(const struct measurement *m)
{
    double depth = measurement_depth(m);
    double seen = measurement_concurrency(m);
    double most = (m->iops.value + m->iops.half_digit) *
                  (m->latency_us.value + m->latency_us.half_digit) / 1e6;
    return seen > 0 && most <= depth - 1 && most < 0.99 * depth ? seen : depth;
}

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

/* fio derives the size and the mix from counts: nearly equal is equal. */
static bool near_number(double a, double b, double tolerance)
{
    return same_number(a, b) || fabs(a - b) <= tolerance;
}

static bool same_sweep(const struct measurement *a, const struct measurement *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->controller, b->controller) == 0 && strcmp(a->workload, b->workload) == 0 &&
           a->pattern == b->pattern && near_number(a->read_pct, b->read_pct, 1) &&
           near_number(a->block_bytes, b->block_bytes, 0.01 * a->block_bytes) &&
           same_number(a->nodes, b->nodes);
}

static void fill_point(struct sweep_point *p, const struct measurement *m, size_t row)
{
    *p = (struct sweep_point){
        .depth = measurement_reached_depth(m),
        .iops = m->iops.value,
        .latency_us = m->latency_us.value,
        .sd_us = m->latency_sd_us,
        .p50_us = m->p50_us,
        .p90_us = m->p90_us,
        .p99_us = m->p99_us,
        .rounding = m->iops.half_digit / m->iops.value,
        .cpu_us_per_io = NAN,
        .runs = 1,
        .row = row,
    };
    if (isnan(p->iops) && p->latency_us > 0) {
        p->iops = p->depth * 1e6 / p->latency_us;
        p->rounding = m->latency_us.half_digit / m->latency_us.value;
    }
    if (isnan(p->iops) && m->throughput.value > 0) {
        p->iops = m->throughput.value / m->block_bytes;
        p->rounding = m->throughput.half_digit / m->throughput.value;
    }
    if (m->cpu_pct.value > 0 && m->cores > 0)
        p->cpu_us_per_io = m->cpu_pct.value / 100 * m->cores / p->iops * 1e6;
}

/* Averages a repeated run into the point: the geometric mean of the rates. */
static void merge_point(struct sweep_point *into, const struct sweep_point *p)
{
    double old = log(into->iops), delta = log(p->iops) - old;
    into->runs++;
    double mean = old + delta / into->runs;
    into->log_spread += delta * (log(p->iops) - mean);
    into->iops = exp(mean);
    into->latency_us += (p->latency_us - into->latency_us) / into->runs;
    into->cpu_us_per_io += (p->cpu_us_per_io - into->cpu_us_per_io) / into->runs;
}

static int by_depth(const void *a, const void *b)
{
    double x = ((const struct sweep_point *)a)->depth, y = ((const struct sweep_point *)b)->depth;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* Sorts the points and averages those of one depth. */
static void settle_points(struct sweep *s)
{
    qsort(s->points, s->count, sizeof *s->points, by_depth);
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct sweep_point *last = kept ? &s->points[kept - 1] : NULL;
        if (last && s->points[i].depth == last->depth)
            merge_point(last, &s->points[i]);
        else
            s->points[kept++] = s->points[i];
    }
    s->count = kept;
}

int sweeps_build(const struct measurements *table, struct sweeps *sweeps, struct error *err)
{
    *sweeps = (struct sweeps){NULL, 0};
    struct sweep *list = calloc(table->count ? table->count : 1, sizeof *list);
    if (!list)
        return error_set(err, ENOMEM, "out of memory for the sweeps of %zu rows", table->count);
    sweeps->list = list;
    for (size_t row = 0; row < table->count; row++) {
        const struct measurement *m = &table->rows[row];
        struct sweep_point point;
        fill_point(&point, m, row);
        if (!(point.iops > 0) || !isfinite(point.iops))
            continue;
        struct sweep *s = NULL;
        /* Rows of one sweep stand together in every format, so the last ones are looked at first;
         * the bound keeps a table of a million different rows from taking forever. */
        for (size_t back = 1; back <= sweeps->count && back <= 4096 && !s; back++) {
            struct sweep *candidate = &list[sweeps->count - back];
            bool capacity = isnan(candidate->points[0].depth);
            if (capacity == (isnan(point.depth) != 0) && same_sweep(&candidate->key, m) &&
                !capacity)
                s = candidate;
        }
        if (!s) {
            s = &list[sweeps->count++];
            s->key = *m;
        }
        struct sweep_point *more = realloc(s->points, (s->count + 1) * sizeof *more);
        if (!more) {
            sweeps_free(sweeps);
            return error_set(err, ENOMEM, "out of memory for the points of a sweep");
        }
        s->points = more;
        s->points[s->count++] = point;
        if (!same_number(s->key.iodepth, m->iodepth))
            s->key.iodepth = NAN;
        if (!same_number(s->key.threads, m->threads))
            s->key.threads = NAN;
    }
    for (size_t i = 0; i < sweeps->count; i++)
        settle_points(&list[i]);
    return 0;
}

void sweeps_free(struct sweeps *sweeps)
{
    for (size_t i = 0; i < sweeps->count; i++)
        free(sweeps->list[i].points);
    free(sweeps->list);
    *sweeps = (struct sweeps){NULL, 0};
}

static void found(struct sweep_finding *list, size_t room, size_t *count, struct sweep_finding f)
{
    f.excess_pct = 100 * (f.stated / f.limit - 1);
    if (*count < room)
        list[*count] = f;
    (*count)++;
}

size_t sweep_check(const struct sweep *s, struct sweep_finding *list, size_t room)
{
    size_t count = 0;
    double peak = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sweep_point *p = &s->points[i];
        double slack = 1 + SWEEP_TOLERANCE + 2 * p->rounding;
        if (i > 0) {
            const struct sweep_point *q = p - 1;
            double ray = q->iops / q->depth * p->depth;
            if (p->iops > ray * slack)
                found(list, room, &count,
                      (struct sweep_finding){SWEEP_SUPERLINEAR, p->depth, p->iops, ray, 0});
            /* A plateau wavers; a fall from the highest by more than twice the tolerance is one. */
            if (p->iops * (slack + SWEEP_TOLERANCE) < peak)
                found(list, room, &count,
                      (struct sweep_finding){SWEEP_RETROGRADE, p->depth, p->iops, peak, 0});
        }
        if (i > 0 && i + 1 < s->count) {
            const struct sweep_point *a = p - 1, *b = p + 1;
            double u = (p->depth - a->depth) / (b->depth - a->depth);
            double chord = a->iops + u * (b->iops - a->iops);
            if (p->iops * slack < chord)
                found(list, room, &count,
                      (struct sweep_finding){SWEEP_NOT_CONCAVE, p->depth, p->iops, chord, 0});
        }
        peak = p->iops > peak ? p->iops : peak;
    }
    return count;
}

const char *sweep_fault_name(enum sweep_fault fault)
{
    switch (fault) {
    case SWEEP_SUPERLINEAR:
        return "superlinear";
    case SWEEP_NOT_CONCAVE:
        return "not_concave";
    case SWEEP_RETROGRADE:
        return "retrograde";
    case SWEEP_FINE:
        break;
    }
    return "fine";
}
