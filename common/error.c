/* Error texts. Formats, never prints: main.c and the commands do that. */
#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void format_text(struct error *err, const char *format, va_list args)
{
    if (err)
        vsnprintf(err->text, sizeof err->text, format, args);
}

int error_set(struct error *err, int errnum, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_text(err, format, args);
    va_end(args);
    return -errnum;
}

int error_errno(struct error *err, int errnum, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_text(err, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errnum));
    }
    return -errnum;
}

void error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return;
    struct error inner = *err;
    va_list args;
    va_start(args, format);
    format_text(err, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", inner.text);
}

int error_usage(struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_text(err, format, args);
    va_end(args);
    return EXIT_USAGE;
}
