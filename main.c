/* The table of commands, and nothing else: each command lives in its room's cmd_NAME.c. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/commands.h"
#include "capture/commands.h"
#include "common/command.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/nearest.h"
#include "model/commands.h"
#include "replay/commands.h"
#include "traces/commands.h"

/* One row a command. */
/* clang-format off */
static const struct command *const commands[] = {
    &cmd_capture,
    &cmd_import,
    &cmd_info,
    &cmd_cat,
    &cmd_stat,
    &cmd_replay,
    &cmd_compare,
    &cmd_check,
    &cmd_fit,
    &cmd_whatif,
};
/* clang-format on */

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static const char *nearest_command(const char *name)
{
    const char *nearest = commands[0]->name;
    for (size_t i = 1; i < COMMAND_COUNT; i++)
        if (nearest_distance(name, commands[i]->name) < nearest_distance(name, nearest))
            nearest = commands[i]->name;
    return nearest;
}

static void print_usage(FILE *out)
{
    fprintf(out, "ioreel records block I/O, plays it back and compares the two.\n\n"
                 "Usage: ioreel COMMAND [OPTIONS]   (ioreel COMMAND -h starts with examples)\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n  ioreel --version prints the version.\n");
}

/* A full disk behind stdout must not look like success. A pipe can only fail by being closed: its
 * reader (head, less) has what it wanted. */
static int flush_stdout(int exit_code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        struct stat st;
        if (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
            return exit_code;
        log_error("stdout: cannot write all of the output");
        return exit_code == EXIT_DONE ? EXIT_FAILED : exit_code;
    }
    return exit_code;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0 ||
        (strcmp(name, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return flush_stdout(EXIT_DONE);
    }
    if (strcmp(name, "--version") == 0) {
        printf("ioreel %s\n", IOREEL_VERSION);
        return flush_stdout(EXIT_DONE);
    }
    bool help = strcmp(name, "help") == 0;
    const struct command *command = find_command(help ? argv[2] : name);
    if (!command) {
        name = help ? argv[2] : name;
        log_error("there is no command '%s'; the nearest is %s, and ioreel -h lists them", name,
                  nearest_command(name));
        return EXIT_USAGE;
    }
    if (help) {
        command_print_help(command, stdout);
        return flush_stdout(EXIT_DONE);
    }
    interrupt_catch();
    return flush_stdout(command_main(command, argc - 1, argv + 1));
}
