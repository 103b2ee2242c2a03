/* Both traces are read in order, A a little ahead, so that nearly every match is made when B's
 * record comes, in B's order. */
#include "analysis/compare/private/trace_compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/private/trace_match.h"
#include "common/interrupt.h"
#include "common/progress.h"

#define LEAD_RECORDS  65536u /* how far A is read ahead of B */
#define FIRST_MATCHES 65536u /* among these the first match is looked for */

/* One trace being fed. */
struct feed {
    struct trace_reader *reader;
    struct trace_batch batch;
    size_t at;
    uint64_t index;
    bool end;
    unsigned *device_map; /* own index to the common one */
    size_t device_count;
};

struct comparing {
    struct trace_compare *result;
    struct trace_match *match;
    struct feed feeds[2];
    struct match_pair *first; /* kept until it is known which is the earliest */
    size_t first_count;
    bool aligned;
    uint64_t zero[2]; /* issue times of the first match */
    uint64_t last_a_ns;
    uint64_t max_index_a;
    bool any;
};

void trace_compare_clear(struct trace_compare *c)
{
    free(c->latency);
    free(c->timing_error);
    *c = (struct trace_compare){0};
}

/* Devices match by name where B has A's name, else by their order: a replay runs elsewhere. */
static int map_devices(struct comparing *c)
{
    const struct trace_meta *a = trace_reader_meta(c->feeds[0].reader);
    const struct trace_meta *b = trace_reader_meta(c->feeds[1].reader);
    bool all_named = b->device_count > 0;
    for (size_t i = 0; i < b->device_count; i++) {
        size_t k = 0;
        while (k < a->device_count && strcmp(a->devices[k].name, b->devices[i].name) != 0)
            k++;
        all_named = all_named && k < a->device_count;
    }
    for (int side = 0; side < 2; side++) {
        const struct trace_meta *meta = side ? b : a;
        struct feed *feed = &c->feeds[side];
        if (feed->device_map && feed->device_count == meta->device_count)
            continue;
        size_t count = meta->device_count ? meta->device_count : 1;
        unsigned *map = realloc(feed->device_map, count * sizeof *map);
        if (!map)
            return -ENOMEM;
        feed->device_map = map;
        feed->device_count = meta->device_count;
        const struct replay_undo *undo = &c->result->undo[side];
        for (size_t i = 0; i < count; i++)
            map[i] = (unsigned)i;
        /* All that a replay took went to its one target, which is 0; the rest went nowhere. */
        for (size_t i = 0; undo->active && i < meta->device_count; i++)
            map[i] = replay_undo_takes(undo, meta->devices[i].name) ? 0 : (unsigned)i + 1;
        if (undo->active || c->result->undo[!side].active)
            continue;
        for (size_t i = 0; side && all_named && i < b->device_count; i++)
            for (size_t k = 0; k < a->device_count; k++)
                if (strcmp(a->devices[k].name, b->devices[i].name) == 0)
                    map[i] = (unsigned)k;
    }
    return 0;
}

static void add_latency(struct trace_compare *r, const struct match_pair *pair)
{
    if (pair->a.latency_ns == MATCH_NO_LATENCY || pair->b.latency_ns == MATCH_NO_LATENCY)
        return;
    unsigned group = pair->op == IO_READ    ? COMPARE_READ
                     : pair->op == IO_WRITE ? COMPARE_WRITE
                                            : COMPARE_OTHER;
    histogram_add(&r->latency[group].a, pair->a.latency_ns);
    histogram_add(&r->latency[group].b, pair->b.latency_ns);
    histogram_add(&r->latency[COMPARE_ALL].a, pair->a.latency_ns);
    histogram_add(&r->latency[COMPARE_ALL].b, pair->b.latency_ns);
}

/* Time since the first match, at the speed of the other's replay. */
static int64_t played_ns(const struct replay_undo *undo, uint64_t issue_ns, uint64_t zero_ns)
{
    int64_t since = (int64_t)(issue_ns - zero_ns);
    return undo->speed == 1 ? since : (int64_t)((double)since / undo->speed);
}

static void add_timing(struct comparing *c, const struct match_pair *pair)
{
    int64_t a = played_ns(&c->result->undo[0], pair->a.issue_ns, c->zero[0]);
    int64_t b = played_ns(&c->result->undo[1], pair->b.issue_ns, c->zero[1]);
    int64_t error = b - a;
    histogram_add(c->result->timing_error, (uint64_t)(error < 0 ? -error : error));
    if (pair->a.issue_ns >= c->last_a_ns) {
        c->last_a_ns = pair->a.issue_ns;
        c->result->drift_ns = error;
    }
}

/* Aligns time on the earliest of the first matches and takes them in. */
static void align(struct comparing *c)
{
    if (c->aligned || c->first_count == 0)
        return;
    size_t earliest = 0;
    for (size_t i = 1; i < c->first_count; i++)
        if (c->first[i].a.index < c->first[earliest].a.index)
            earliest = i;
    c->zero[0] = c->first[earliest].a.issue_ns;
    c->zero[1] = c->first[earliest].b.issue_ns;
    c->aligned = true;
    for (size_t i = 0; i < c->first_count; i++)
        add_timing(c, &c->first[i]);
    c->first_count = 0;
}

static void add_pair(struct comparing *c, const struct match_pair *pair)
{
    struct trace_compare *r = c->result;
    r->matched++;
    add_latency(r, pair);
    if (c->any && pair->a.index < c->max_index_a)
        r->reordered++;
    else
        c->max_index_a = pair->a.index;
    c->any = true;
    if (!r->timed)
        return;
    if (c->aligned) {
        add_timing(c, pair);
        return;
    }
    c->first[c->first_count++] = *pair;
    if (c->first_count == FIRST_MATCHES)
        align(c);
}

/* Feeds up to `count` records of one side. */
static int feed_some(struct comparing *c, int side, uint64_t count, struct error *err)
{
    struct feed *feed = &c->feeds[side];
    while (count > 0 && !feed->end) {
        if (feed->at == feed->batch.count) {
            int rc = trace_reader_next(feed->reader, &feed->batch, err);
            if (rc < 0)
                return rc;
            feed->end = rc == 1;
            feed->at = 0;
            if (feed->end)
                return 0;
            if (map_devices(c))
                return error_set(err, ENOMEM, "out of memory");
        }
        const struct io_record *r = &feed->batch.records[feed->at++];
        struct match_pair pair;
        struct io_record placed;
        c->result->errors[side] += r->status != 0;
        if (c->result->undo[side].active) {
            placed = *r;
            replay_undo_place(&c->result->undo[side], &placed);
            r = &placed;
        }
        int rc =
            trace_match_add(c->match, side, feed->device_map[r->device], r, feed->index++, &pair);
        if (rc == -E2BIG)
            return error_set(err, E2BIG,
                             "over %u I/Os have no partner in the other trace; are these two runs "
                             "of one workload?",
                             MATCH_WAITING_MAX);
        if (rc < 0)
            return error_set(err, ENOMEM, "out of memory");
        if (rc == 1)
            add_pair(c, &pair);
        count--;
    }
    return 0;
}

static int feed_all(struct comparing *c, struct error *err)
{
    struct progress progress;
    progress_start(&progress, "compared");
    int rc = feed_some(c, 0, LEAD_RECORDS, err);
    while (!rc && !(c->feeds[0].end && c->feeds[1].end)) {
        rc = feed_some(c, 1, 4096, err);
        if (!rc)
            rc = feed_some(c, 0, c->feeds[1].end ? LEAD_RECORDS : 4096, err);
        progress_update(&progress, c->feeds[1].index, 0);
        if (!rc && interrupt_seen())
            rc = 2;
    }
    progress_end(&progress);
    return rc;
}

static bool knows_times(struct trace_reader *reader)
{
    struct trace_summary summary;
    struct error ignored;
    /* A pipe cannot tell beforehand; it is taken to know them. */
    if (trace_reader_summary(reader, &summary, &ignored) || summary.records == 0)
        return true;
    return summary.fields & IO_HAS_ISSUE;
}

/* What each side's replay did to the other; where both are replays, of one trace, only their speeds
 * differ from each other. */
static void read_undo(struct trace_compare *c, struct trace_reader *const readers[2],
                      const char *const paths[2])
{
    const struct trace_meta *metas[2];
    uint64_t records[2];
    for (int i = 0; i < 2; i++) {
        struct trace_summary summary;
        struct error ignored;
        metas[i] = trace_reader_meta(readers[i]);
        records[i] = TRACE_UNKNOWN;
        if (trace_reader_summary(readers[i], &summary, &ignored) == 0 && summary.complete)
            records[i] = summary.records;
    }
    for (int i = 0; i < 2; i++)
        c->undo[i] = replay_undo_read(metas[!i], metas[i], paths[i], records[i]);
    if (c->undo[0].active || c->undo[1].active)
        return;
    for (int i = 0; i < 2; i++) {
        const json_t *speed = json_object_get(metas[!i]->environment, "replay_speed");
        bool both = json_object_get(metas[i]->environment, "replay_speed") != NULL;
        c->undo[i].speed = both && json_number_value(speed) > 0 ? json_number_value(speed) : 1;
    }
}

int trace_compare_read(struct trace_compare *c, struct trace_reader *const readers[2],
                       const char *const paths[2], struct error *err)
{
    *c = (struct trace_compare){.timed = knows_times(readers[0]) && knows_times(readers[1])};
    read_undo(c, readers, paths);
    struct comparing work = {.result = c, .feeds = {{.reader = readers[0]}, {.reader = readers[1]}}};
    c->latency = calloc(COMPARE_GROUPS, sizeof *c->latency);
    c->timing_error = calloc(1, sizeof *c->timing_error);
    work.match = trace_match_create();
    work.first = malloc(FIRST_MATCHES * sizeof *work.first);
    int rc = c->latency && c->timing_error && work.match && work.first
                 ? 0
                 : error_set(err, ENOMEM, "out of memory");
    if (!rc)
        rc = feed_all(&work, err);
    if (rc >= 0) {
        align(&work);
        c->records[0] = work.feeds[0].index;
        c->records[1] = work.feeds[1].index;
        c->only_a = trace_match_waiting(work.match, 0);
        c->only_b = trace_match_waiting(work.match, 1);
        rc = rc == 2 ? 2 : 1;
    }
    trace_match_free(work.match);
    free(work.first);
    free(work.feeds[0].device_map);
    free(work.feeds[1].device_map);
    return rc;
}

double compare_ks(const struct compare_latency *l)
{
    if (l->a.count == 0 || l->b.count == 0)
        return NAN;
    double below_a = 0, below_b = 0, largest = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below_a += (double)l->a.buckets[i] / (double)l->a.count;
        below_b += (double)l->b.buckets[i] / (double)l->b.count;
        double distance = fabs(below_a - below_b);
        largest = distance > largest ? distance : largest;
    }
    return largest;
}

double compare_ks_error(const struct compare_latency *l)
{
    double n = (double)l->a.count, m = (double)l->b.count;
    return n > 0 && m > 0 ? 1.358 * sqrt((n + m) / (n * m)) : NAN;
}

/* The integral of sqrt(F (1 - F)) over sqrt(n), and half a bucket's width by its share. */
static double sample_error_ns(const struct histogram *h)
{
    double below = 0, spread = 0, width = 0, last_middle = 0;
    bool any = false;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (h->buckets[i] == 0)
            continue;
        uint64_t low = histogram_bucket_low(i);
        double half = (double)(histogram_bucket_high(i) - 1 - low) / 2;
        double middle = (double)low + half;
        double share = (double)h->buckets[i] / (double)h->count;
        if (any)
            spread += sqrt(fmax(0, below * (1 - below))) * (middle - last_middle);
        any = true;
        last_middle = middle;
        below += share;
        width += share * half;
    }
    return spread / sqrt((double)h->count) + width;
}

double compare_wasserstein_error_ns(const struct compare_latency *l)
{
    return l->a.count && l->b.count ? sample_error_ns(&l->a) + sample_error_ns(&l->b) : NAN;
}

double compare_wasserstein_ns(const struct compare_latency *l)
{
    if (l->a.count == 0 || l->b.count == 0)
        return NAN;
    double below_a = 0, below_b = 0, area = 0, last_middle = 0;
    bool any = false;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (l->a.buckets[i] == 0 && l->b.buckets[i] == 0)
            continue;
        uint64_t low = histogram_bucket_low(i);
        double middle = (double)low + (double)(histogram_bucket_high(i) - 1 - low) / 2;
        if (any)
            area += fabs(below_a - below_b) * (middle - last_middle);
        any = true;
        last_middle = middle;
        below_a += (double)l->a.buckets[i] / (double)l->a.count;
        below_b += (double)l->b.buckets[i] / (double)l->b.count;
    }
    return area;
}
