/* fio's JSON: jobs of any number, reads, writes and mixes, from version 2 on. Real files carry
 * fio's warnings before, between and after the document, and "nan" where JSON has none: both are
 * stepped over. Latency is fio's total latency (submission included), not clat. */
#include "model/measure/measure_readers.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/measure/private/number_text.h"

#define JOBS_MAX 65536

static double real(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    double value = json_is_number(v) ? json_number_value(v) : NAN;
    return value >= 0 && value < 1e18 ? value : NAN;
}

/* A job option, from the job or from the file's global options; NULL when neither has it. */
static const char *option(const json_t *document, const json_t *job, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(job, "job options"), key));
    if (text)
        return text;
    return json_string_value(json_object_get(json_object_get(document, "global options"), key));
}

static double option_number(const json_t *document, const json_t *job, const char *key, double none)
{
    const char *text = option(document, job, key);
    struct stated value;
    if (!text || number_read_all(text, strlen(text), &value, NULL) || value.value < 1 ||
        value.value > 1e6)
        return none;
    return value.value;
}

/* Engines whose threads wait for each I/O: the depth is the number of jobs, whatever iodepth says.
 */
static bool is_synchronous(const char *engine)
{
    static const char *const names[] = {"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"};
    for (size_t i = 0; engine && i < sizeof names / sizeof *names; i++)
        if (strcmp(engine, names[i]) == 0)
            return true;
    return engine == NULL;
}

/* One direction of one job, in microseconds. */
struct direction {
    double ios, iops, bytes, bytes_per_s, mean_us, sd_us, max_us;
    const json_t *percentiles;
    double percentile_unit; /* to microseconds */
};

/* Before version 2.99 fio's io_bytes counted KiB, and io_kbytes and bw_bytes did not exist. */
static bool counts_kib(const json_t *document)
{
    const char *version = json_string_value(json_object_get(document, "fio version"));
    if (!version || strncmp(version, "fio-", 4) != 0)
        return false;
    char *end;
    unsigned long major = strtoul(version + 4, &end, 10);
    if (end == version + 4 || major != 2)
        return end != version + 4 && major < 2;
    return *end != '.' || strtoul(end + 1, NULL, 10) < 99;
}

static void read_direction(const json_t *document, const json_t *job, const char *name,
                           struct direction *d, struct measurements *table)
{
    const json_t *o = json_object_get(job, name);
    d->ios = real(o, "total_ios");
    d->iops = real(o, "iops");
    d->bytes = real(o, "io_bytes");
    double kib = real(o, "io_kbytes");
    if (isnan(d->bytes) && !isnan(kib))
        d->bytes = kib * 1024;
    else if (isnan(kib) && counts_kib(document))
        d->bytes *= 1024;
    d->bytes_per_s = real(o, "bw_bytes");
    if (isnan(d->bytes_per_s))
        d->bytes_per_s = real(o, "bw") * 1024;
    const json_t *lat = json_object_get(o, "lat_ns"), *clat = json_object_get(o, "clat_ns");
    double unit = 1e-3;
    if (!lat && json_object_get(o, "lat")) {
        lat = json_object_get(o, "lat");
        clat = json_object_get(o, "clat");
        unit = 1;
    }
    if (!(real(lat, "mean") > 0) && real(clat, "mean") > 0) {
        lat = clat;
        measurements_note(table, "fio gives no total latency; completion latency is used");
    }
    d->mean_us = real(lat, "mean") * unit;
    d->sd_us = real(lat, "stddev") * unit;
    d->max_us = real(clat, "max") * unit;
    d->percentiles = json_object_get(clat, "percentile");
    if (!d->percentiles)
        d->percentiles = json_object_get(lat, "percentile");
    d->percentile_unit = unit;
}

/* A percentile is used only where the list rises with the percent and stays below the maximum:
 * some versions print left-over values. */
static double percentile(const struct direction *d, double want, struct measurements *table)
{
    const char *key;
    json_t *value;
    double found = NAN, below = 0, above = INFINITY;
    json_object_foreach ((json_t *)d->percentiles, key, value) {
        double percent = strtod(key, NULL);
        double us = json_is_number(value) ? json_number_value(value) * d->percentile_unit : NAN;
        if (!(percent > 0))
            continue;
        if (fabs(percent - want) < 1e-6)
            found = us;
        else if (percent < want && us > below)
            below = us;
        else if (percent > want && us < above)
            above = us;
    }
    if (isnan(found))
        return NAN;
    /* 5 %: fio's buckets are coarse. */
    if (!(found > 0) || found < below * 0.95 || found > above * 1.05 || found > d->max_us * 1.05 ||
        found > 1e12) {
        measurements_note(table, "fio percentiles that do not rise, or pass the maximum, are left "
                                 "out");
        return NAN;
    }
    return found;
}

static void set_rate(struct measurement *m, const struct direction *r, const struct direction *w)
{
    double reads = r->iops > 0 ? r->iops : 0, writes = w->iops > 0 ? w->iops : 0;
    double bytes = (r->bytes_per_s > 0 && reads > 0 ? r->bytes_per_s : 0) +
                   (w->bytes_per_s > 0 && writes > 0 ? w->bytes_per_s : 0);
    m->iops = (struct stated){reads + writes, 1e-6 * (reads + writes)};
    if (bytes > 0)
        m->throughput = (struct stated){bytes, 512};
    m->read_pct = 100 * reads / (reads + writes);
    double ios = (reads > 0 ? r->ios : 0) + (writes > 0 ? w->ios : 0);
    double moved = (reads > 0 ? r->bytes : 0) + (writes > 0 ? w->bytes : 0);
    if (ios > 0 && moved / ios >= 1 && moved / ios <= 1e12)
        m->block_bytes = moved / ios;
    double mean = (reads > 0 ? reads * r->mean_us : 0) + (writes > 0 ? writes * w->mean_us : 0);
    mean /= reads + writes;
    double square = (reads > 0 ? reads * (r->sd_us * r->sd_us + r->mean_us * r->mean_us) : 0) +
                    (writes > 0 ? writes * (w->sd_us * w->sd_us + w->mean_us * w->mean_us) : 0);
    square /= reads + writes;
    m->latency_us = (struct stated){mean, 5e-4};
    m->latency_sd_us = square > mean * mean ? sqrt(square - mean * mean) : NAN;
}

static unsigned pattern_of(const char *rw)
{
    if (!rw)
        return PATTERN_UNKNOWN;
    return strncmp(rw, "rand", 4) == 0 ? PATTERN_RANDOM : PATTERN_SEQUENTIAL;
}

static const char *job_rw(const json_t *document, const json_t *job)
{
    const char *rw = option(document, job, "rw");
    return rw ? rw : option(document, job, "readwrite");
}

/* The read share of a job whose directions were reported as one: known only when it had one. */
static double unified_share(const json_t *document, const json_t *job)
{
    const char *rw = job_rw(document, job);
    if (!rw)
        return NAN;
    rw += strncmp(rw, "rand", 4) == 0 ? 4 : 0;
    size_t n = strcspn(rw, ":,");
    return n == 4 && strncmp(rw, "read", n) == 0    ? 100
           : n == 5 && strncmp(rw, "write", n) == 0 ? 0
                                                    : NAN;
}

static bool read_job(const json_t *document, const json_t *job, struct measurement *m,
                     struct measurements *table)
{
    struct direction r, w;
    read_direction(document, job, "read", &r, table);
    read_direction(document, job, "write", &w, table);
    bool unified = !(r.iops > 0) && !(w.iops > 0);
    if (unified) /* one entry for all directions, or none */
        read_direction(document, job, "mixed", &r, table);
    if (!(r.iops > 0) && !(w.iops > 0))
        return false;
    measurement_clear(m);
    set_rate(m, &r, &w);
    if (unified) {
        m->read_pct = unified_share(document, job);
        if (isnan(m->read_pct))
            measurements_note(table, "fio's unified_rw_reporting mixed reads and writes: the read "
                                     "share is unknown");
    }
    if (!(r.iops > 0) != !(w.iops > 0)) {
        const struct direction *d = r.iops > 0 ? &r : &w;
        m->p50_us = percentile(d, 50, table);
        m->p90_us = percentile(d, 90, table);
        m->p99_us = percentile(d, 99, table);
    }
    const char *name = json_string_value(json_object_get(job, "jobname"));
    if (name)
        measurement_set_text(m->run, name, strlen(name));
    const char *file = option(document, job, "filename");
    if (file)
        measurement_set_text(m->device, file, strlen(file));
    m->pattern = pattern_of(job_rw(document, job));
    m->threads = option_number(document, job, "numjobs", 1);
    double depth = option_number(document, job, "iodepth", 1);
    const char *engine = option(document, job, "ioengine");
    bool has_options = json_object_get(job, "job options") != NULL;
    m->iodepth = depth;
    if (has_options && depth > 1 && is_synchronous(engine)) {
        m->iodepth = 1;
        measurements_note(table,
                          "%s is a synchronous engine: depth is the number of jobs, iodepth has no "
                          "effect",
                          engine ? engine : "psync (fio's default)");
    }
    double cpu = real(job, "usr_cpu") + real(job, "sys_cpu");
    if (!isnan(cpu)) {
        m->cpu_pct = (struct stated){cpu, 0.005};
        m->cores = 1;
    }
    return !isnan(m->latency_us.value) || !isnan(m->iops.value);
}

/* Adds a job's figures to those of its clone (numjobs without group_reporting: one entry each). */
static void merge_clone(struct measurement *into, const struct measurement *m)
{
    double a = into->iops.value, b = m->iops.value, sum = a + b;
    into->latency_us.value = (a * into->latency_us.value + b * m->latency_us.value) / sum;
    into->read_pct = (a * into->read_pct + b * m->read_pct) / sum;
    into->iops.value = sum;
    into->throughput.value += m->throughput.value;
    into->cpu_pct.value += m->cpu_pct.value;
    into->latency_sd_us = into->p50_us = into->p90_us = into->p99_us = NAN;
}

struct group {
    double id;
    size_t row;     /* index into the table */
    double entries; /* how many jobs of it were seen */
};

static int add_job(const json_t *job, const struct measurement *m, struct group *groups,
                   size_t *group_count, struct measurements *table, struct error *err)
{
    double id = json_number_value(json_object_get(job, "groupid"));
    struct group *last = *group_count ? &groups[*group_count - 1] : NULL;
    if (last && last->id == id && strcmp(table->rows[last->row].run, m->run) == 0 &&
        last->entries < m->threads) {
        merge_clone(&table->rows[last->row], m);
        last->entries++;
        return 0;
    }
    if (last && last->id == id)
        measurements_note(table, "fio jobs %s and %s ran at the same time; each is its own row",
                          table->rows[last->row].run, m->run);
    int rc = measurements_add(table, m, err);
    if (rc == 0)
        groups[(*group_count)++] = (struct group){id, table->count - 1, 1};
    return rc;
}

static int read_document(const struct measure_input *in, const json_t *document, uint64_t line,
                         struct measurements *table, struct error *err)
{
    const json_t *jobs = json_object_get(document, "jobs");
    if (!jobs)
        jobs = json_object_get(document, "client_stats");
    size_t count = json_array_size(jobs), group_count = 0;
    if (count > JOBS_MAX)
        return error_set(err, EFBIG, "%s: %zu jobs are over the limit of %d", in->name, count,
                         JOBS_MAX);
    struct group *groups = calloc(count ? count : 1, sizeof *groups);
    if (!groups)
        return error_set(err, ENOMEM, "%s: out of memory", in->name);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const json_t *job = json_array_get(jobs, i);
        struct measurement m;
        double fault = json_number_value(json_object_get(job, "error"));
        if (fault != 0)
            measurements_note(table, "a fio job ended with error %.0f; its row is kept", fault);
        if (!read_job(document, job, &m, table))
            continue;
        m.line = line;
        rc = add_job(job, &m, groups, &group_count, table, err);
    }
    free(groups);
    return rc;
}

/* fio prints nan and inf where a job did nothing: no JSON. They become 0, which counts as unknown.
 */
static void mend_numbers(char *text, size_t length)
{
    static const char *const words[] = {"-nan", "nan", "-inf", "inf"};
    for (size_t i = 0; i + 2 < length; i++) {
        if (text[i] != ':')
            continue;
        size_t at = i + 1;
        while (at < length && text[at] == ' ')
            at++;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            size_t n = strlen(words[w]);
            if (at + n > length || memcmp(text + at, words[w], n) != 0 ||
                (at + n < length && isalnum((unsigned char)text[at + n])))
                continue;
            memset(text + at, ' ', n);
            text[at] = '0';
            break;
        }
    }
}

/* Where the next document starts: a '{' that is the first thing on its line. */
static bool next_document(const char *text, size_t length, size_t *at)
{
    for (size_t i = *at; i < length; i++)
        if (text[i] == '{' && (i == 0 || text[i - 1] == '\n')) {
            *at = i;
            return true;
        }
    return false;
}

static int read_fio(const struct measure_input *in, struct measurements *table, struct error *err)
{
    char *copy = malloc(in->length ? in->length : 1);
    if (!copy)
        return error_set(err, ENOMEM, "%s: out of memory", in->name);
    memcpy(copy, in->text, in->length);
    mend_numbers(copy, in->length);
    size_t at = 0, counted = 0;
    uint64_t line = 1;
    int rc = 0;
    while (rc == 0 && next_document(copy, in->length, &at)) {
        json_error_t fault;
        json_t *document = json_loadb(copy + at, in->length - at,
                                      JSON_DISABLE_EOF_CHECK | JSON_DECODE_INT_AS_REAL, &fault);
        for (; counted < at; counted++)
            line += copy[counted] == '\n';
        if (!document) {
            rc = error_set(err, EBADMSG, "%s:%llu: %s", in->name,
                           (unsigned long long)line +
                               (unsigned)(fault.line > 0 ? fault.line - 1 : 0),
                           fault.text);
            break;
        }
        if (at > 0 && line > 1)
            measurements_note(table, "text around fio's JSON is stepped over");
        rc = read_document(in, document, line, table, err);
        json_decref(document);
        at += fault.position > 0 ? (size_t)fault.position : 1;
    }
    free(copy);
    return rc;
}

static int bid(const struct measure_input *in)
{
    size_t at = 0;
    if (!next_document(in->text, in->length, &at))
        return 0;
    size_t look = in->length - at < 65536 ? in->length - at : 65536;
    return measure_find(in->text + at, look, "\"fio version\"") ? 95
           : measure_find(in->text + at, look, "\"jobs\"")      ? 50
                                                                : 0;
}

const struct measure_reader measure_fio = {"fio", "fio JSON", bid, read_fio};
