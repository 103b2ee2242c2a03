/* Prints the figures of a replay. */
#include "replay/replay_report.h"

#include <stdarg.h>
#include <string.h>

#include "common/json_out.h"
#include "common/text_table.h"
#include "common/units.h"

static uint64_t skipped_of(const struct replay_report *report)
{
    uint64_t sum = 0;
    for (unsigned i = 1; i < SKIP_REASONS; i++)
        sum += report->outcome->skipped[i];
    return sum;
}

bool replay_report_partial(const struct replay_report *report)
{
    const struct replay_outcome *outcome = report->outcome;
    return outcome->interrupted || outcome->stopped;
}

static bool is_late(const struct replay_report *report)
{
    return report->timed && histogram_percentile(&report->totals->late, 99) > report->tolerance_ns;
}

bool replay_report_faithful(const struct replay_report *report)
{
    return report->totals->errors == 0 && skipped_of(report) == 0 && !report->survey->cut &&
           report->survey->rounded == 0 && report->survey->moved == 0 && !replay_report_partial(report) && !report->outcome->saturated && !is_late(report);
}

static double per_second(uint64_t count, uint64_t elapsed_ns)
{
    return elapsed_ns ? (double)count * (double)NS_PER_S / (double)elapsed_ns : 0;
}

static double percent_of(uint64_t part_ns, uint64_t whole_ns)
{
    return whole_ns ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

static double us(uint64_t ns)
{
    return (double)ns / (double)NS_PER_US;
}

/* {mean, p50, p90, p99, p999, max}, in us; null when there is nothing in it. */
static json_t *latency_json(const struct histogram *h)
{
    if (h->count == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "mean", histogram_mean(h) / 1000, "p50",
                     us(histogram_percentile(h, 50)), "p90", us(histogram_percentile(h, 90)), "p99",
                     us(histogram_percentile(h, 99)), "p999", us(histogram_percentile(h, 99.9)),
                     "max", us(h->max));
}

static json_t *late_json(const struct histogram *h)
{
    if (h->count == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "p50", us(histogram_percentile(h, 50)), "p99",
                     us(histogram_percentile(h, 99)), "max", us(h->max));
}

static json_t *cpu_json(const struct replay_report *report)
{
    const struct replay_outcome *outcome = report->outcome;
    uint64_t cpu_ns = outcome->user_ns + outcome->system_ns;
    return json_pack("{s:o, s:f, s:f}", "us_per_io",
                     outcome->issued ? json_double(us(cpu_ns) / (double)outcome->issued)
                                     : json_null(),
                     "user_pct", percent_of(outcome->user_ns, outcome->elapsed_ns), "system_pct",
                     percent_of(outcome->system_ns, outcome->elapsed_ns));
}

#define REASON_BYTES 200u

/* Adds one reason, as a text, to the list. */
__attribute__((format(printf, 2, 3))) static void add_reason(json_t *list, const char *format, ...)
{
    char text[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_array_append_new(list, json_string(text));
}

/* The I/Os were issued otherwise than the trace has them. */
static void add_changes(json_t *list, const struct replay_report *report)
{
    char text[UNITS_TEXT];
    const struct schedule_survey *survey = report->survey;
    if (survey->rounded)
        add_reason(list, "%s I/Os were rounded to whole blocks of %u bytes",
                   units_format_count(survey->rounded, text), report->align_bytes);
    if (survey->moved)
        add_reason(list, "%s I/Os went to another place of the target (--remap %s)",
                   units_format_count(survey->moved, text), io_remap_name(report->remap));
    for (unsigned i = 1; i < SKIP_REASONS; i++)
        if (report->outcome->skipped[i])
            add_reason(list, "skipped %s: %s",
                       units_format_count(report->outcome->skipped[i], text), schedule_skip_text(i));
}

/* Why the replay is not faithful; empty when it is. A new reference. */
static json_t *reasons(const struct replay_report *report)
{
    char text[UNITS_TEXT];
    char limit[UNITS_TEXT];
    const struct replay_outcome *outcome = report->outcome;
    const struct replay_totals *totals = report->totals;
    json_t *list = json_array();
    if (outcome->interrupted)
        add_reason(list, "interrupted");
    if (report->survey->cut)
        add_reason(list, "the trace is cut short");
    if (outcome->saturated)
        add_reason(list, "the target stopped keeping up with the trace at %s%s",
                   units_format_ns((double)outcome->saturated_at_ns, text),
                   outcome->stopped ? "; stopped there (--keep-going goes on)" : "");
    if (is_late(report))
        add_reason(list, "lateness p99 of %s is over the tolerance of %s",
                   units_format_ns((double)histogram_percentile(&totals->late, 99), text),
                   units_format_ns((double)report->tolerance_ns, limit));
    add_changes(list, report);
    for (int i = 1; i < 256; i++)
        if (totals->error_count[i])
            add_reason(list, "%s failed: %s", units_format_count(totals->error_count[i], text),
                       i == 255 ? "unknown error" : strerror(i));
    return list;
}

int replay_report_json(const struct replay_report *report)
{
    const struct replay_outcome *outcome = report->outcome;
    const struct replay_totals *totals = report->totals;
    json_t *root = json_object();
    json_object_set_new(root, "issued", json_u64(outcome->issued));
    json_object_set_new(root, "completed", json_u64(totals->completed));
    json_object_set_new(root, "errors", json_u64(totals->errors));
    json_object_set_new(root, "skipped", json_u64(skipped_of(report)));
    json_object_set_new(root, "elapsed_ns", json_u64(outcome->elapsed_ns));
    json_object_set_new(root, "iops",
                        json_double(per_second(totals->completed, outcome->elapsed_ns)));
    json_object_set_new(root, "bytes_per_s",
                        json_double(per_second(totals->bytes, outcome->elapsed_ns)));
    json_object_set_new(root, "latency_us", latency_json(&totals->latency));
    json_object_set_new(root, "response_us", latency_json(&totals->response));
    json_object_set_new(root, "late_us", late_json(&totals->late));
    json_object_set_new(root, "drift_ns",
                        outcome->has_drift ? json_integer(outcome->drift_ns) : json_null());
    json_object_set_new(root, "saturated_at_ns",
                        json_u64_or_null(outcome->saturated, outcome->saturated_at_ns));
    json_object_set_new(root, "cpu", cpu_json(report));
    json_object_set_new(root, "engine", json_string(outcome->engine));
    json_object_set_new(root, "timing", json_string(report->timing));
    json_object_set_new(root, "faithful", json_boolean(replay_report_faithful(report)));
    json_object_set_new(root, "reasons", reasons(report));
    json_object_set_new(root, "rounded", json_u64(report->survey->rounded));
    json_object_set_new(root, "moved", json_u64(report->survey->moved));
    json_object_set_new(root, "writes_as_reads", json_u64(report->survey->turned));
    json_object_set_new(root, "partial", json_boolean(replay_report_partial(report)));
    return json_print(root, false);
}

static void time_cell(struct text_table *table, double ns)
{
    char text[UNITS_TEXT];
    text_table_cell(table, "%s", units_format_ns(ns, text));
}

static void latency_row(struct text_table *table, const char *name, const struct histogram *h)
{
    if (h->count == 0)
        return;
    text_table_cell(table, "%s", name);
    time_cell(table, histogram_mean(h));
    time_cell(table, (double)histogram_percentile(h, 50));
    time_cell(table, (double)histogram_percentile(h, 90));
    time_cell(table, (double)histogram_percentile(h, 99));
    time_cell(table, (double)histogram_percentile(h, 99.9));
    time_cell(table, (double)h->max);
}

static void print_times(const struct replay_report *report, FILE *out)
{
    static const char *const headers[] = {"", "mean", "p50", "p90", "p99", "p99.9", "max"};
    struct text_table *table = text_table_create(sizeof headers / sizeof *headers, headers);
    if (!table)
        return;
    latency_row(table, "latency", &report->totals->latency);
    latency_row(table, "response", &report->totals->response);
    latency_row(table, "lateness", &report->totals->late);
    text_table_print(table, out);
    text_table_free(table);
}

static void print_reasons(const struct replay_report *report, FILE *out)
{
    char text[UNITS_TEXT];
    json_t *list = reasons(report);
    fprintf(out, "faithful: %s\n", replay_report_faithful(report) ? "yes" : "no");
    for (size_t i = 0; i < json_array_size(list); i++)
        fprintf(out, "  %s\n", json_string_value(json_array_get(list, i)));
    json_decref(list);
    if (report->survey->turned)
        fprintf(out, "%s writes were issued as reads, as asked\n",
                units_format_count(report->survey->turned, text));
}

void replay_report_text(const struct replay_report *report, FILE *out)
{
    const struct replay_outcome *outcome = report->outcome;
    const struct replay_totals *totals = report->totals;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    fprintf(out, "%s on %s: %s I/Os in %s (timing %s, engine %s)\n", report->trace, report->target,
            units_format_count(outcome->issued, a), units_format_ns((double)outcome->elapsed_ns, b),
            report->timing, outcome->engine);
    fprintf(out, "completed %s, errors %s, skipped %s", units_format_count(totals->completed, a),
            units_format_count(totals->errors, b), units_format_count(skipped_of(report), c));
    fprintf(out, "; %s IOPS, %s/s\n",
            units_format_rate(per_second(totals->completed, outcome->elapsed_ns), a),
            units_format_size((uint64_t)per_second(totals->bytes, outcome->elapsed_ns), d));
    if (totals->completed > 0)
        print_times(report, out);
    if (outcome->has_drift)
        fprintf(out, "drift %s%s\n", outcome->drift_ns < 0 ? "-" : "+",
                units_format_ns(outcome->drift_ns < 0 ? -(double)outcome->drift_ns
                                                      : (double)outcome->drift_ns,
                                a));
    if (outcome->issued)
        fprintf(out, "CPU %.2f us an I/O (user %.0f %%, system %.0f %%)\n",
                us(outcome->user_ns + outcome->system_ns) / (double)outcome->issued,
                percent_of(outcome->user_ns, outcome->elapsed_ns),
                percent_of(outcome->system_ns, outcome->elapsed_ns));
    print_reasons(report, out);
}
