/* A git-style command: one row of main.c's table. Owns nothing; everything is static. */
#ifndef IOREEL_COMMON_COMMAND_H
#define IOREEL_COMMON_COMMAND_H

#include "common/error.h"
#include "common/options.h"

struct command {
    const char *name;
    const char *summary;         /* one line, lower case, for the list of commands */
    const char *usage;           /* operands and main options: "FILE... -o OUT" */
    const char *const *examples; /* NULL-terminated; each works when pasted */
    const struct option_row *options;
    size_t option_count;
    const void *defaults; /* an options struct to start from */
    size_t options_size;
    /* Returns an exit_code. On EXIT_FAILED or EXIT_USAGE, err->text says why and main prints it. */
    int (*run)(void *options, int argc, char **argv, struct error *err);
};

/* Help starts with the examples. */
void command_print_help(const struct command *command, FILE *out);

/* Parses the arguments (argv[0] is the command's name) and runs it. Prints the error, if any. */
int command_main(const struct command *command, int argc, char **argv);

#endif
