/* Talk, on stderr. The level is the one piece of process-wide state in common/. */
#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
    current_level = level;
}

enum log_level log_get_level(void)
{
    return current_level;
}

static void print_line(const char *prefix, const char *format, va_list args)
{
    char line[2048];
    int used = snprintf(line, sizeof line, "%s", prefix);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    fprintf(stderr, "%s\n", line);
}

void log_warn(const char *format, ...)
{
    if (current_level < LOG_NORMAL)
        return;
    va_list args;
    va_start(args, format);
    print_line("ioreel: warning: ", format, args);
    va_end(args);
}

void log_info(const char *format, ...)
{
    if (current_level < LOG_NORMAL)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void log_detail(const char *format, ...)
{
    if (current_level < LOG_VERBOSE)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("ioreel: ", format, args);
    va_end(args);
}
