/* Other sizes and other mixes than the base sweep's, from the model's other sweeps. */
#include "model/whatif/private/whatif.h"

#include <errno.h>
#include <math.h>

#include "common/units.h"

#define SIZES_MAX 32

/* The rate of a sweep at a depth, from its measured points or its prediction. */
static int rate_at(const struct fit *f, double depth, struct prediction *out, struct error *err)
{
    struct predictor *p;
    int rc = predictor_create(f, (size_t)ceil(depth), &p, err);
    if (rc)
        return rc;
    *out = predictor_at(p, depth);
    predictor_free(p);
    return 0;
}

static bool near(double a, double b, double tolerance)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance;
}

static double spread_of(const struct prediction *p)
{
    return log(p->iops_high / p->iops_low) / 2;
}

int whatif_size_factor(const struct model *m, const struct fit *base, double block_bytes,
                       double depth, struct whatif_factor *out, struct error *err)
{
    double bytes[SIZES_MAX], seconds[SIZES_MAX], spread = 0;
    size_t count = 0;
    for (size_t i = 0; i < m->count && count < SIZES_MAX; i++) {
        const struct fit *f = &m->fits[i];
        struct prediction p;
        if (!near(f->key.read_pct, base->key.read_pct, 1) || !(f->key.block_bytes >= 1))
            continue;
        int rc = rate_at(f, depth, &p, err);
        if (rc)
            return rc;
        double rate = isnan(p.iops) ? sqrt(p.iops_low * p.iops_high) : p.iops;
        bytes[count] = f->key.block_bytes;
        seconds[count++] = 1 / rate;
        spread = fmax(spread, spread_of(&p));
    }
    struct law_size sum, max, best;
    if (law_size_fit_kind(LAW_SIZE_SUM, bytes, seconds, count, &sum) ||
        law_size_fit_kind(LAW_SIZE_MAX, bytes, seconds, count, &max) ||
        law_size_fit(bytes, seconds, count, &best)) {
        char text[UNITS_TEXT];
        return error_set(
            err, EDOM,
            "the model knows no other size than %s at this mix; measure one more, such "
            "as 64 KiB, at the same depths",
            base->key.block_bytes >= 1 ? units_format_size((uint64_t)base->key.block_bytes, text)
                                       : "an unknown one");
    }
    double home = base->key.block_bytes;
    double by_sum = law_size_time(&sum, home) / law_size_time(&sum, block_bytes);
    double by_max = law_size_time(&max, home) / law_size_time(&max, block_bytes);
    double error = isnan(best.loo_error) ? spread : fmax(best.loo_error, spread);
    out->point = law_size_time(&best, home) / law_size_time(&best, block_bytes);
    out->low = fmin(by_sum, by_max) * exp(-error);
    out->high = fmax(by_sum, by_max) * exp(error);
    /* The law bends where it likes beyond the sizes that were measured. */
    if (count < 3)
        out->point = sqrt(by_sum * by_max);
    return 0;
}

/* The sweep of the base's size and pattern at a mix. */
static const struct fit *at_mix(const struct model *m, const struct fit *base, double low,
                                double high)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct fit *f = &m->fits[i];
        if (f->key.read_pct >= low && f->key.read_pct <= high &&
            near(f->key.block_bytes, base->key.block_bytes, 0.01 * base->key.block_bytes) &&
            (f->key.pattern == base->key.pattern || f->key.pattern == PATTERN_UNKNOWN))
            return f;
    }
    return NULL;
}

int whatif_mix_factor(const struct model *m, const struct fit *base, double read_pct, double depth,
                      struct whatif_factor *out, struct error *err)
{
    const struct fit *reads = at_mix(m, base, 99, 100), *writes = at_mix(m, base, 0, 1);
    const struct fit *middle = at_mix(m, base, 20, 80);
    if (!reads || !writes)
        return error_set(
            err, EDOM,
            "the model has no sweep of %s of this size; measure 100 %% and 0 %% reads, "
            "and 50 %% for how they disturb each other",
            !reads ? "reads alone" : "writes alone");
    struct prediction r, w, x, home;
    int rc = rate_at(reads, depth, &r, err);
    if (rc == 0)
        rc = rate_at(writes, depth, &w, err);
    if (rc == 0)
        rc = rate_at(base, depth, &home, err);
    if (rc)
        return rc;
    double share = read_pct / 100, gamma = 0, spread = fmax(spread_of(&r), spread_of(&w));
    if (middle) {
        rc = rate_at(middle, depth, &x, err);
        if (rc)
            return rc;
        gamma = law_mix_gamma(r.iops, w.iops, x.iops, middle->key.read_pct / 100);
        spread = fmax(spread, spread_of(&x));
    }
    double rate = law_mix(r.iops, w.iops, gamma, share);
    bool pure = share <= 0.01 || share >= 0.99;
    out->point = rate / home.iops;
    out->low = out->point * exp(-spread) * (middle || pure ? 1 : LAW_MIX_LOW);
    out->high = out->point * exp(spread) * (middle || pure ? 1 : LAW_MIX_HIGH);
    return rate > 0 ? 0
                    : error_set(err, EDOM,
                                "the measured mix is faster than reads and writes "
                                "allow; check the rows with ioreel check");
}
