/* The option table turned into getopt_long's, and values into the command's struct. */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "common/command.h"
#include "common/log.h"
#include "common/units.h"

#define ROWS_MAX 64

static int parse_number_list(const char *text, struct option_numbers *list)
{
    list->count = 0;
    const char *at = text;
    for (;;) {
        size_t length = strcspn(at, ",.");
        uint64_t value;
        int rc = units_parse_digits(at, length, UINT32_MAX, &value);
        if (rc || list->count == OPTION_LIST_MAX)
            return rc ? rc : -ERANGE;
        list->values[list->count++] = value;
        at += length;
        if (strncmp(at, "..", 2) == 0) {
            at += 2;
            length = strcspn(at, ",");
            uint64_t end;
            rc = units_parse_digits(at, length, UINT32_MAX, &end);
            if (rc || value == 0 || end < value)
                return rc ? rc : -EINVAL;
            for (uint64_t next = value * 2; next < end; next *= 2) {
                if (list->count == OPTION_LIST_MAX)
                    return -ERANGE;
                list->values[list->count++] = next;
            }
            if (end > value && list->count < OPTION_LIST_MAX)
                list->values[list->count++] = end;
            at += length;
        }
        if (*at == '\0')
            return 0;
        if (*at != ',')
            return -EINVAL;
        at++;
    }
}

static const char *form_of(enum option_kind kind)
{
    switch (kind) {
    case OPTION_SIZE:
        return "a size such as 4k, 1m or 2g";
    case OPTION_TIME:
        return "a time such as 100us, 10ms, 1s or 5m";
    case OPTION_COUNT:
        return "a count such as 128 or 10k";
    case OPTION_REAL:
        return "a number";
    case OPTION_NUMBERS:
        return "a list such as 1,2,4..64";
    default:
        return "text";
    }
}

static int store_value(const struct option_row *row, void *options, const char *text,
                       struct error *err)
{
    void *field = (char *)options + row->offset;
    int rc = 0;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        break;
    case OPTION_STRING:
        *(const char **)field = text;
        break;
    case OPTION_STRINGS: {
        struct option_strings *list = field;
        if (list->count == OPTION_LIST_MAX)
            return error_set(err, EINVAL, "--%s is given more than %d times", row->name,
                             OPTION_LIST_MAX);
        list->values[list->count++] = text;
        break;
    }
    case OPTION_SIZE:
        rc = units_parse_size(text, field);
        break;
    case OPTION_TIME:
        rc = units_parse_time(text, field);
        break;
    case OPTION_COUNT:
        rc = units_parse_count(text, field);
        break;
    case OPTION_REAL:
        rc = units_parse_real(text, field);
        break;
    case OPTION_NUMBERS:
        rc = parse_number_list(text, field);
        break;
    }
    if (rc == -ERANGE)
        return error_set(err, EINVAL, "--%s: '%s' is too large", row->name, text);
    if (rc)
        return error_set(err, EINVAL, "--%s: '%s' is not %s", row->name, text, form_of(row->kind));
    return 0;
}

enum { VALUE_BASE = 256, VALUE_HELP = 1, VALUE_QUIET = 2, VALUE_VERBOSE = 3 };

int options_parse(const struct command *command, void *options, int argc, char **argv, int *first,
                  struct error *err)
{
    struct option longs[ROWS_MAX + 4];
    char shorts[2 * ROWS_MAX + 16] = ":hqv";
    size_t used = strlen(shorts);
    size_t rows = 0;
    for (; rows < command->option_count && rows < ROWS_MAX; rows++) {
        const struct option_row *row = &command->options[rows];
        int has = row->kind == OPTION_FLAG ? no_argument : required_argument;
        longs[rows] = (struct option){row->name, has, NULL, (int)(VALUE_BASE + rows)};
        if (row->letter) {
            shorts[used++] = row->letter;
            if (has == required_argument)
                shorts[used++] = ':';
        }
    }
    shorts[used] = '\0';
    longs[rows] = (struct option){"help", no_argument, NULL, VALUE_HELP};
    longs[rows + 1] = (struct option){"quiet", no_argument, NULL, VALUE_QUIET};
    longs[rows + 2] = (struct option){"verbose", no_argument, NULL, VALUE_VERBOSE};
    longs[rows + 3] = (struct option){0};

    optind = 0; /* glibc: start afresh */
    opterr = 0;
    int value;
    while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct option_row *row = NULL;
        if (value == 'h' || value == VALUE_HELP)
            return 1;
        if (value == 'q' || value == VALUE_QUIET) {
            log_set_level(LOG_QUIET);
            continue;
        }
        if (value == 'v' || value == VALUE_VERBOSE) {
            log_set_level(LOG_VERBOSE);
            continue;
        }
        if (value == ':')
            return error_set(err, EINVAL, "%s needs a value; see ioreel %s -h", argv[optind - 1],
                             command->name);
        if (value == '?')
            return error_set(err, EINVAL, "unknown option %s; see ioreel %s -h", argv[optind - 1],
                             command->name);
        if (value >= VALUE_BASE) {
            row = &command->options[value - VALUE_BASE];
        } else {
            for (size_t i = 0; i < rows; i++)
                if (command->options[i].letter == value)
                    row = &command->options[i];
        }
        int rc = store_value(row, options, optarg, err);
        if (rc)
            return rc;
    }
    *first = optind;
    return 0;
}

static void print_row(FILE *out, char letter, const char *name, const char *argument,
                      const char *help)
{
    char head[64];
    snprintf(head, sizeof head, "%c%c%s--%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
             letter ? ", " : "  ", name, argument ? " " : "", argument ? argument : "");
    fprintf(out, strlen(head) <= 28 ? "  %-28s %s\n" : "  %s\n                               %s\n",
            head, help);
}

void options_print(const struct command *command, FILE *out)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];
        print_row(out, row->letter, row->name, row->argument, row->help);
    }
    print_row(out, 'q', "quiet", NULL, "only results and errors");
    print_row(out, 'v', "verbose", NULL, "say more on stderr");
    print_row(out, 'h', "help", NULL, "this text");
}
