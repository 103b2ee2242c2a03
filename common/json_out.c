/* JSON results, on jansson. */
#include "common/json_out.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"

#define EXACT_MAX (1ull << 53)

json_t *json_u64(uint64_t value)
{
    if (value <= EXACT_MAX)
        return json_integer((json_int_t)value);
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return json_string(text);
}

json_t *json_u64_or_null(bool known, uint64_t value)
{
    return known ? json_u64(value) : json_null();
}

json_t *json_double(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

int json_print(json_t *document, bool one_line)
{
    size_t flags = JSON_REAL_PRECISION(12) | (one_line ? JSON_COMPACT : JSON_INDENT(2));
    int rc = json_dumpf(document, stdout, flags);
    putchar('\n');
    json_decref(document);
    return rc ? -EIO : 0;
}

int json_get_u64(const json_t *object, const char *key, uint64_t *value)
{
    const json_t *found = json_object_get(object, key);
    if (json_is_integer(found) && json_integer_value(found) >= 0) {
        *value = (uint64_t)json_integer_value(found);
        return 0;
    }
    if (json_is_string(found)) {
        const char *text = json_string_value(found);
        return units_parse_digits(text, strlen(text), UINT64_MAX, value) ? -EINVAL : 0;
    }
    return -EINVAL;
}
