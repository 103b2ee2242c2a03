/* Options of a command: one const table of rows, from which getopt_long's tables, the help text and
 * the checks of the manual come. Values land in the command's own options struct. */
#ifndef IOREEL_COMMON_OPTIONS_H
#define IOREEL_COMMON_OPTIONS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a row's value is, and the type of the struct's field. */
enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_STRING,   /* const char *, points into argv */
    OPTION_STRINGS,  /* struct option_strings: the option is repeated */
    OPTION_SIZE,     /* uint64_t bytes: 4k 1m 2g */
    OPTION_TIME,     /* uint64_t ns: 100us 10ms 1s 5m; bare is seconds */
    OPTION_COUNT,    /* uint64_t: 128, 1k, 2M */
    OPTION_POSITIVE, /* the same, 1 or more */
    OPTION_REAL,     /* double */
    OPTION_NUMBERS,  /* struct option_numbers: 1,2,4..64 (doubling) or 1..8 (with one bound:
                        doubling) */
};

#define OPTION_LIST_MAX 256

struct option_strings {
    size_t count;
    const char *values[OPTION_LIST_MAX];
};

struct option_numbers {
    size_t count;
    uint64_t values[OPTION_LIST_MAX];
};

struct option_row {
    char letter; /* 0: none */
    const char *name;
    const char *argument; /* what help calls the value; NULL for a flag */
    enum option_kind kind;
    size_t offset; /* offsetof the field in the options struct */
    const char *help;
};

#define OPTION_UNSET UINT64_MAX /* a default for SIZE, TIME and COUNT that no user can type */

struct command;

/* Parses argv into `options` (already holding the defaults). Sets *first to the first operand.
 * Names are taken whole, never abbreviated; what takes one value is given once. Returns 0, 1 when
 * -h was asked for, or -EINVAL with the text. -q and -v act at once. */
int options_parse(const struct command *command, void *options, int argc, char **argv, int *first,
                  struct error *err);

/* A window of time as --from and --to give it, to_ns OPTION_UNSET where there is no --to: EXIT_DONE,
 * or EXIT_USAGE with the text when nothing lies between the two. */
int options_check_window(uint64_t from_ns, uint64_t to_ns, struct error *err);

/* The option lines of the help. */
void options_print(const struct command *command, FILE *out);

#endif
