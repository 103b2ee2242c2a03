/* Checking one row by Little's law and by throughput = IOPS × size. */
#include "model/measure/private/lint.h"

#include <math.h>

#include "model/measure/sweep.h"

static double low(struct stated s)
{
    return s.value > s.half_digit ? s.value - s.half_digit : 0;
}

static double high(struct stated s)
{
    return s.value + s.half_digit;
}

static enum lint_verdict grade(double beyond_pct)
{
    return beyond_pct >= LINT_ERROR_PCT  ? LINT_ERROR
           : beyond_pct >= LINT_WARN_PCT ? LINT_WARN
           : beyond_pct >= LINT_INFO_PCT ? LINT_INFO
                                         : LINT_OK;
}

bool lint_little(const struct measurement *m, struct lint_result *result)
{
    double depth = measurement_depth(m);
    if (!(depth > 0) || !(m->iops.value > 0) || !(m->latency_us.value > 0))
        return false;
    double seen = measurement_concurrency(m);
    double least = low(m->iops) * low(m->latency_us) / 1e6;
    double most = high(m->iops) * high(m->latency_us) / 1e6;
    *result = (struct lint_result){
        .law = LINT_LITTLE,
        .expected = depth * 1e6 / m->latency_us.value,
        .stated = m->iops.value,
        .error_pct = 100 * (seen / depth - 1),
        .effective_depth = seen,
    };
    if (least > depth) {
        /* Up to 1 % can come from the ends of a run, where I/Os are counted on one side only. */
        result->beyond_pct = 100 * (least / depth - 1);
        result->verdict = result->beyond_pct >= LINT_INFO_PCT ? LINT_ERROR : LINT_OK;
    } else if (most < depth) {
        result->beyond_pct = 100 * (1 - most / depth);
        result->verdict = grade(result->beyond_pct);
        /* A whole I/O was missing all the time: that is no gap between two I/Os of one thread. */
        if (measurement_reached_depth(m) < depth)
            result->verdict = LINT_DEPTH_NOT_REACHED;
        else if (result->verdict == LINT_ERROR)
            result->verdict = LINT_WARN;
    }
    return true;
}

bool lint_throughput(const struct measurement *m, struct lint_result *result)
{
    if (!(m->block_bytes > 0) || !(m->iops.value > 0) || !(m->throughput.value > 0))
        return false;
    double expected = m->throughput.value / m->block_bytes;
    double least = low(m->throughput) / m->block_bytes, most = high(m->throughput) / m->block_bytes;
    *result = (struct lint_result){
        .law = LINT_THROUGHPUT,
        .expected = expected,
        .stated = m->iops.value,
        .error_pct = 100 * (m->iops.value / expected - 1),
        .effective_depth = NAN,
    };
    if (low(m->iops) > most)
        result->beyond_pct = 100 * (low(m->iops) / most - 1);
    else if (high(m->iops) < least)
        result->beyond_pct = 100 * (1 - high(m->iops) / least);
    result->verdict = grade(result->beyond_pct);
    return true;
}

const char *lint_law_name(enum lint_law law)
{
    return law == LINT_LITTLE ? "little" : "throughput";
}

const char *lint_verdict_name(enum lint_verdict verdict)
{
    static const char *const names[] = {"ok", "info", "warn", "error", "depth_not_reached"};
    return names[verdict];
}
