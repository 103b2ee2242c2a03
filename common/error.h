/* One error text that travels up to the one place that prints it (main.c).
 *
 * A function that can fail takes `struct error *err`, returns 0 (done), 1 (end, where there is one)
 * or a negative errno, and fills the text once, where it knows most: the object, the place, the
 * value, the limit, then what to do. */
#ifndef IOREEL_COMMON_ERROR_H
#define IOREEL_COMMON_ERROR_H

#include <stddef.h>

struct error {
    char text[1024];
};

/* Exit codes of the program, and what a command's run() returns. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_UNFAITHFUL = 3, /* done, but not faithful: lost, late, cut short, a lint found something */
    EXIT_INTERRUPTED = 130,
};

/* Writes the text and returns -errnum. err may be NULL. */
int error_set(struct error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and the errno's own words at the end. */
int error_errno(struct error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there; for naming the file around an inner error. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills the text and returns EXIT_USAGE, for a command that was called the wrong way. */
int error_usage(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
