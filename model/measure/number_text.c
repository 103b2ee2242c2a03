/* Reading numbers as people print them. Nothing here looks at the locale. */
#include "model/measure/private/number_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX 1e15
#define DIGITS_MAX 40

/* Finds the run of digits, points and commas, and which separator is the decimal one. */
static int scan(const char *text, size_t length, size_t *end, char *decimal,
                struct number_form *form)
{
    size_t points = 0, commas = 0, last = 0, i = 0;
    char last_mark = 0;
    while (i < length && (isdigit((unsigned char)text[i]) || text[i] == '.' || text[i] == ',')) {
        bool mark = !isdigit((unsigned char)text[i]);
        if (mark && (i + 1 >= length || !isdigit((unsigned char)text[i + 1])))
            break; /* the point that ends a sentence */
        points += text[i] == '.';
        commas += text[i] == ',';
        if (mark) {
            last = i;
            last_mark = text[i];
        }
        i++;
    }
    if (i == 0 || i > DIGITS_MAX || !isdigit((unsigned char)text[0]))
        return -EINVAL;
    *end = i;
    *decimal = 0;
    if (points && commas) {
        form->thousands = true;
        *decimal = last_mark;
    } else if (points + commas > 1) {
        form->thousands = true;
    } else if (points == 1) {
        *decimal = '.';
    } else if (commas == 1) {
        *decimal = ',';
        form->ambiguous = i - last - 1 == 3 && last <= 3 && text[0] != '0';
    }
    form->decimal_comma = *decimal == ',';
    return 0;
}

int number_read(const char *text, size_t length, struct stated *out, size_t *used,
                struct number_form *form)
{
    struct number_form local;
    struct number_form *f = form ? form : &local;
    memset(f, 0, sizeof *f);
    size_t start = 0;
    while (start < length && (text[start] == ' ' || text[start] == '\t'))
        start++;
    size_t end;
    char decimal;
    if (scan(text + start, length - start, &end, &decimal, f))
        return -EINVAL;
    char plain[DIGITS_MAX + 1];
    size_t n = 0;
    int places = -1;
    for (size_t i = 0; i < end; i++) {
        char c = text[start + i];
        if (isdigit((unsigned char)c)) {
            plain[n++] = c;
            places += places >= 0;
        } else if (c == decimal && places < 0) {
            plain[n++] = '.';
            places = 0;
        }
    }
    plain[n] = '\0';
    double value = strtod(plain, NULL);
    size_t at = start + end;
    int exponent = 0, zeros = 0;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        size_t i = at + 1;
        bool negative = i < length && text[i] == '-';
        i += i < length && (text[i] == '-' || text[i] == '+');
        size_t first = i;
        while (i < length && isdigit((unsigned char)text[i]) && i - first < 3)
            exponent = exponent * 10 + (text[i++] - '0');
        if (i > first) {
            at = i;
            exponent = negative ? -exponent : exponent;
        }
    }
    /* Zeros that end a whole number are taken as rounding, but two digits always count: 1200000 is
     * within 50000 of what was meant, 900000 within 5000, 1505 within a half. */
    if (places < 0 && exponent == 0)
        for (size_t i = n; i > 2 && plain[i - 1] == '0'; i--)
            zeros++;
    zeros = zeros >= 2 ? zeros : 0;
    value *= pow(10, exponent);
    if (!(value <= NUMBER_MAX))
        return -ERANGE;
    out->value = value;
    out->half_digit = 0.5 * pow(10, exponent + zeros - (places > 0 ? places : 0));
    *used = at;
    return 0;
}

int number_read_all(const char *text, size_t length, struct stated *out, struct number_form *form)
{
    size_t used;
    int rc = number_read(text, length, out, &used, form);
    if (rc)
        return rc;
    while (used < length && (text[used] == ' ' || text[used] == '\t' || text[used] == '%'))
        used++;
    return used == length ? 0 : -EINVAL;
}

void number_as_thousands(struct stated *value, struct measurements *table)
{
    value->value = round(value->value * 1000);
    value->half_digit *= 1000;
    measurements_note(table, "a comma before three digits of a rate is read as thousands (%.0f)",
                      value->value);
}

int number_read_size(const char *text, size_t length, double *bytes, size_t *used)
{
    struct stated number;
    size_t at;
    int rc = number_read(text, length, &number, &at, NULL);
    if (rc)
        return rc;
    double factor = 1;
    size_t unit = at;
    while (unit < length && text[unit] == ' ')
        unit++;
    static const char letters[] = "kmgt";
    const char *found =
        unit < length && text[unit] ? strchr(letters, tolower((unsigned char)text[unit])) : NULL;
    if (found) {
        factor = pow(1024, (double)(found - letters + 1));
        at = unit + 1;
        at += at < length && (text[at] == 'i' || text[at] == 'I');
        at += at < length && (text[at] == 'B' || text[at] == 'b');
    } else if (unit < length && (text[unit] == 'B' || text[unit] == 'b')) {
        at = unit + 1;
    }
    *bytes = number.value * factor;
    *used = at;
    return *bytes >= 1 && *bytes <= 1e13 ? 0 : -ERANGE;
}

double number_throughput_unit(const char *text, size_t length, bool *open)
{
    static const struct {
        const char *name;
        double bytes;
        bool open;
    } units[] = {
        {"MiB/s", 1048576, false}, {"KiB/s", 1024, false},    {"GiB/s", 1073741824, false},
        {"MB/s", 1e6, true},       {"MByte/s", 1e6, true},    {"MBps", 1e6, true},
        {"kB/s", 1e3, false},      {"GB/s", 1e9, false},      {"B/s", 1, false},
        {"bytes/s", 1, false},     {"MiBps", 1048576, false}, {"兆字节/秒", 1e6, true},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == length && strncasecmp(text, units[i].name, length) == 0) {
            *open = units[i].open;
            return units[i].bytes;
        }
    return 0;
}
