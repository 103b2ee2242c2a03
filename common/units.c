/* Parsing and printing of sizes, times and counts. */
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix size_suffixes[] = {
    {"", 1},      {"b", 1},   {"k", KIB},  {"kb", KIB},  {"kib", KIB}, {"m", MIB},  {"mb", MIB},
    {"mib", MIB}, {"g", GIB}, {"gb", GIB}, {"gib", GIB}, {"t", TIB},   {"tb", TIB}, {"tib", TIB},
};

static const struct suffix time_suffixes[] = {
    {"", NS_PER_S},           {"ns", 1},       {"us", NS_PER_US},
    {"ms", NS_PER_MS},        {"s", NS_PER_S}, {"m", 60.0 * NS_PER_S},
    {"h", 3600.0 * NS_PER_S},
};

static const struct suffix count_suffixes[] = {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}};

/* A plain decimal number without sign, exponent, hex or "inf", then a suffix of the table. */
static int parse_with_suffix(const char *text, const struct suffix *table, size_t rows,
                             uint64_t *value)
{
    size_t digits = strspn(text, "0123456789.");
    if (digits == 0 || digits > 40 || !isdigit((unsigned char)text[0]))
        return -EINVAL;
    char *end;
    double number = strtod(text, &end);
    if (end != text + digits)
        return -EINVAL;
    for (size_t i = 0; i < rows; i++) {
        if (strcasecmp(text + digits, table[i].text) != 0)
            continue;
        /* Whole numbers without a factor keep all 64 bits; strtod() would round them. */
        if (table[i].factor == 1 && memchr(text, '.', digits) == NULL) {
            errno = 0;
            unsigned long long exact = strtoull(text, NULL, 10);
            if (errno == ERANGE)
                return -ERANGE;
            *value = exact;
            return 0;
        }
        double scaled = number * table[i].factor;
        if (scaled >= 18446744073709551615.0)
            return -ERANGE;
        *value = (uint64_t)llround(scaled);
        return 0;
    }
    return -EINVAL;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
    return parse_with_suffix(text, size_suffixes, sizeof size_suffixes / sizeof *size_suffixes,
                             bytes);
}

int units_parse_time(const char *text, uint64_t *ns)
{
    return parse_with_suffix(text, time_suffixes, sizeof time_suffixes / sizeof *time_suffixes, ns);
}

int units_parse_count(const char *text, uint64_t *count)
{
    return parse_with_suffix(text, count_suffixes, sizeof count_suffixes / sizeof *count_suffixes,
                             count);
}

int units_parse_real(const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number))
        return -EINVAL;
    *value = number;
    return 0;
}

int units_parse_digits(const char *text, size_t length, uint64_t max, uint64_t *value)
{
    if (length == 0)
        return -EINVAL;
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9)
            return -EINVAL;
        if (number > (UINT64_MAX - digit) / 10)
            return -ERANGE;
        number = number * 10 + digit;
    }
    if (number > max)
        return -ERANGE;
    *value = number;
    return 0;
}

char *units_format_size(uint64_t bytes, char out[UNITS_TEXT])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof names / sizeof *names) {
        value /= 1024;
        unit++;
    }
    bool whole = value == floor(value);
    snprintf(out, UNITS_TEXT,
             whole        ? "%.0f %s"
             : value < 10 ? "%.2f %s"
                          : "%.1f %s",
             value, names[unit]);
    return out;
}

char *units_format_ns(double ns, char out[UNITS_TEXT])
{
    double magnitude = fabs(ns);
    if (magnitude < 1e3)
        snprintf(out, UNITS_TEXT, "%.0f ns", ns);
    else if (magnitude < 1e6)
        snprintf(out, UNITS_TEXT, magnitude < 1e5 ? "%.1f us" : "%.0f us", ns / 1e3);
    else if (magnitude < 1e9)
        snprintf(out, UNITS_TEXT, magnitude < 1e8 ? "%.2f ms" : "%.0f ms", ns / 1e6);
    else
        snprintf(out, UNITS_TEXT, "%.2f s", ns / 1e9);
    return out;
}

char *units_format_rate(double per_s, char out[UNITS_TEXT])
{
    if (per_s < 10)
        snprintf(out, UNITS_TEXT, "%.2f", per_s);
    else if (per_s < 1e4)
        snprintf(out, UNITS_TEXT, "%.0f", per_s);
    else if (per_s < 1e6)
        snprintf(out, UNITS_TEXT, "%.1fk", per_s / 1e3);
    else
        snprintf(out, UNITS_TEXT, "%.2fM", per_s / 1e6);
    return out;
}

char *units_format_iops(double iops, char out[UNITS_TEXT])
{
    if (!isfinite(iops))
        snprintf(out, UNITS_TEXT, "-");
    else
        snprintf(out, UNITS_TEXT, "%.*f", iops < 10 ? 2 : iops < 1000 ? 1 : 0, iops);
    return out;
}

char *units_format_count(uint64_t count, char out[UNITS_TEXT])
{
    char digits[UNITS_TEXT];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}
