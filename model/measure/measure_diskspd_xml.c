/* DiskSpd's XML (-Rxml). A small pull scanner over tags serves: the elements that matter hold plain
 * text, attributes and entities play no part, and nothing is kept but the path of open tags. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/measure/private/number_text.h"

#define NEST_MAX       32
#define NAME_MAX_BYTES 40

struct scan {
    char path[NEST_MAX][NAME_MAX_BYTES]; /* names of the open elements */
    size_t depth;
    struct measurement profile; /* what the targets ask for */
    struct measurement span;    /* the results of one time span */
    double seconds, ios, bytes, percentile;
    size_t targets;
    size_t rows_at_start;
};

static bool inside(const struct scan *s, const char *name)
{
    for (size_t i = 0; i < s->depth; i++)
        if (strcmp(s->path[i], name) == 0)
            return true;
    return false;
}

static void profile_element(struct scan *s, const char *name, const char *text, size_t length,
                            double value)
{
    struct measurement *p = &s->profile;
    if (strcmp(name, "Path") == 0)
        measurement_set_text(p->device, text, length);
    else if (strcmp(name, "BlockSize") == 0 && value >= 1)
        p->block_bytes = value;
    else if (strcmp(name, "Random") == 0)
        p->pattern = PATTERN_RANDOM;
    else if (strcmp(name, "StrideSize") == 0 && p->pattern == PATTERN_UNKNOWN)
        p->pattern = PATTERN_SEQUENTIAL;
    else if (strcmp(name, "WriteRatio") == 0 && value <= 100)
        p->read_pct = 100 - value;
    else if (strcmp(name, "RequestCount") == 0 && value >= 1 && value <= 1e6)
        p->iodepth = value;
    else if (strcmp(name, "ThreadsPerFile") == 0 && value >= 1 && value <= 1e6)
        p->threads = value;
}

static void latency_element(struct scan *s, const char *name, double value)
{
    struct measurement *m = &s->span;
    if (strcmp(name, "AverageTotalMilliseconds") == 0)
        m->latency_us = (struct stated){value * 1e3, 0.5};
    else if (strcmp(name, "LatencyStdev") == 0)
        m->latency_sd_us = value * 1e3;
    else if (strcmp(name, "Percentile") == 0)
        s->percentile = value;
    else if (strcmp(name, "TotalMilliseconds") == 0 && s->percentile == 50)
        m->p50_us = value * 1e3;
    else if (strcmp(name, "TotalMilliseconds") == 0 && s->percentile == 90)
        m->p90_us = value * 1e3;
    else if (strcmp(name, "TotalMilliseconds") == 0 && s->percentile == 99)
        m->p99_us = value * 1e3;
}

static void span_element(struct scan *s, const char *name, double value)
{
    if (inside(s, "Latency"))
        latency_element(s, name, value);
    else if (inside(s, "CpuUtilization")) {
        if (inside(s, "Average") && strcmp(name, "UsagePercent") == 0)
            s->span.cpu_pct = (struct stated){value, 0.005};
    } else if (strcmp(name, "TestTimeSeconds") == 0)
        s->seconds = value;
    else if (strcmp(name, "ThreadCount") == 0 && value >= 1 && value <= 1e6)
        s->span.threads = value;
    else if (strcmp(name, "ProcCount") == 0 && value >= 1)
        s->span.cores = value;
    else if (inside(s, "Thread") && strcmp(name, "IOCount") == 0)
        s->ios += value;
    else if (inside(s, "Thread") && strcmp(name, "BytesCount") == 0)
        s->bytes += value;
}

static void element(struct scan *s, const char *name, const char *text, size_t length)
{
    struct stated number = {0, 0};
    if (number_read_all(text, length, &number, NULL))
        number.value = 0;
    if (inside(s, "Profile"))
        profile_element(s, name, text, length, number.value);
    else if (inside(s, "TimeSpan"))
        span_element(s, name, number.value);
}

static int end_span(struct scan *s, struct measurements *table, struct error *err)
{
    struct measurement m = s->profile;
    struct measurement span = s->span;
    double ios = s->ios, bytes = s->bytes, seconds = s->seconds;
    measurement_clear(&s->span);
    s->ios = s->bytes = s->seconds = 0;
    if (!(ios > 0) || !(seconds > 0))
        return 0;
    m.iops = (struct stated){ios / seconds, 0.5 / seconds};
    m.throughput = (struct stated){bytes / seconds, 0.5 / seconds};
    m.latency_us = span.latency_us;
    m.latency_sd_us = span.latency_sd_us;
    m.p50_us = span.p50_us;
    m.p90_us = span.p90_us;
    m.p99_us = span.p99_us;
    m.cpu_pct = span.cpu_pct;
    m.cores = span.cores;
    if (!isnan(span.threads))
        m.threads = span.threads;
    if (s->targets > 1)
        measurements_note(table, "a DiskSpd run used %zu targets; its totals are one row",
                          s->targets);
    return measurements_add(table, &m, err);
}

/* The name of the tag at `tag` (after '<' and any '/'); false when it is longer than any of ours.
 */
static bool tag_name(const char *tag, size_t length, char name[NAME_MAX_BYTES])
{
    size_t n = 0;
    while (n < length && (unsigned char)tag[n] > ' ' && tag[n] != '>' && tag[n] != '/')
        n++;
    if (n == 0 || n >= NAME_MAX_BYTES)
        return false;
    memcpy(name, tag, n);
    name[n] = '\0';
    return true;
}

static int close_tag(struct scan *s, const char *name, struct measurements *table,
                     struct error *err)
{
    if (s->depth && strcmp(s->path[s->depth - 1], name) == 0)
        s->depth--;
    if (strcmp(name, "Target") == 0 && inside(s, "Profile"))
        s->targets++;
    if (strcmp(name, "TimeSpan") == 0 && !inside(s, "Profile"))
        return end_span(s, table, err);
    return 0;
}

static int read_xml(const struct measure_input *in, struct measurements *table, struct error *err)
{
    struct scan s = {.depth = 0};
    measurement_clear(&s.profile);
    measurement_clear(&s.span);
    size_t at = 0;
    const char *text = in->text; /* what follows the last opened tag */
    while (at < in->length) {
        const char *tag = memchr(in->text + at, '<', in->length - at);
        if (!tag)
            break;
        size_t start = (size_t)(tag + 1 - in->text);
        const char *end = memchr(in->text + start, '>', in->length - start);
        if (!end)
            return error_set(err, EBADMSG, "%s: byte %zu: a tag without its end; the file is cut",
                             in->name, start);
        size_t length = (size_t)(end - in->text) - start;
        bool closing = length && in->text[start] == '/';
        bool alone = length && (end[-1] == '/' || in->text[start] == '?' || in->text[start] == '!');
        char name[NAME_MAX_BYTES];
        at = (size_t)(end - in->text) + 1;
        if (alone || !tag_name(in->text + start + closing, length - closing, name))
            continue;
        if (!closing) {
            if (s.depth == NEST_MAX)
                return error_set(err, EBADMSG, "%s: elements nested more than %d deep", in->name,
                                 NEST_MAX);
            memcpy(s.path[s.depth++], name, sizeof name);
            text = end + 1;
            continue;
        }
        if (s.depth && strcmp(s.path[s.depth - 1], name) == 0 && tag >= text)
            element(&s, name, text, (size_t)(tag - text));
        int rc = close_tag(&s, name, table, err);
        if (rc)
            return rc;
        text = end + 1;
    }
    return 0;
}

static int bid(const struct measure_input *in)
{
    size_t look = in->length < 65536 ? in->length : 65536;
    return measure_find(in->text, look, "<Results>") && measure_find(in->text, look, "<Profile>")
               ? 90
               : 0;
}

const struct measure_reader measure_diskspd_xml = {"diskspd-xml", "DiskSpd XML", bid, read_xml};
