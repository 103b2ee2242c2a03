/* Runs one command: defaults, options, help, and the one place where its error is printed. */
#include "common/command.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

void command_print_help(const struct command *command, FILE *out)
{
    fprintf(out, "ioreel %s: %s\n\nExamples:\n", command->name, command->summary);
    for (size_t i = 0; command->examples[i]; i++)
        fprintf(out, "  %s\n", command->examples[i]);
    fprintf(out, "\nUsage: ioreel %s %s\n\nOptions:\n", command->name, command->usage);
    options_print(command, out);
    fprintf(out, "\nSizes: 4k 1m 2g.  Times: 100us 10ms 1s 5m; a bare number is in seconds.\n"
                 "Exit: 0 done, 1 failed, 2 usage, 3 done but not faithful, 130 interrupted.\n");
}

int command_main(const struct command *command, int argc, char **argv)
{
    struct error err = {""};
    void *options = calloc(1, command->options_size ? command->options_size : 1);
    if (!options) {
        log_error("out of memory");
        return EXIT_FAILED;
    }
    if (command->defaults)
        memcpy(options, command->defaults, command->options_size);
    int first = argc;
    int exit_code;
    int rc = options_parse(command, options, argc, argv, &first, &err);
    if (rc == 1) {
        command_print_help(command, stdout);
        exit_code = EXIT_DONE;
    } else if (rc < 0) {
        exit_code = EXIT_USAGE;
    } else {
        exit_code = command->run(options, argc - first, argv + first, &err);
    }
    if (err.text[0] != '\0')
        log_error("%s", err.text);
    free(options);
    return exit_code;
}
