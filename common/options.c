/* The option table turned into getopt_long's, and values into the command's struct. */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "common/command.h"
#include "common/log.h"
#include "common/nearest.h"
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
    case OPTION_POSITIVE:
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
    case OPTION_POSITIVE:
        rc = units_parse_count(text, field);
        if (rc == 0 && row->kind == OPTION_POSITIVE && *(uint64_t *)field == 0)
            return error_set(err, EINVAL, "--%s: 0 is under the limit of 1", row->name);
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

/* The same option on every command. */
static const struct {
    const char *name;
    char letter;
    int value;
} common_options[] = {
    {"help", 'h', VALUE_HELP}, {"quiet", 'q', VALUE_QUIET}, {"verbose", 'v', VALUE_VERBOSE}};

#define COMMON_OPTIONS (sizeof common_options / sizeof *common_options)

/* What getopt_long wants to know of a command. */
struct getopt_tables {
    struct option longs[ROWS_MAX + COMMON_OPTIONS + 1];
    char shorts[2 * (ROWS_MAX + COMMON_OPTIONS) + 2];
    size_t rows;
};

static void make_tables(const struct command *command, struct getopt_tables *t)
{
    size_t used = 0;
    t->shorts[used++] = ':';
    for (t->rows = 0; t->rows < command->option_count && t->rows < ROWS_MAX; t->rows++) {
        const struct option_row *row = &command->options[t->rows];
        int has = row->kind == OPTION_FLAG ? no_argument : required_argument;
        t->longs[t->rows] = (struct option){row->name, has, NULL, (int)(VALUE_BASE + t->rows)};
        if (row->letter) {
            t->shorts[used++] = row->letter;
            if (has == required_argument)
                t->shorts[used++] = ':';
        }
    }
    for (size_t i = 0; i < COMMON_OPTIONS; i++) {
        t->longs[t->rows + i] =
            (struct option){common_options[i].name, no_argument, NULL, common_options[i].value};
        t->shorts[used++] = common_options[i].letter;
    }
    t->shorts[used] = '\0';
    t->longs[t->rows + COMMON_OPTIONS] = (struct option){0};
}

static int refuse_unknown(const struct command *command, const char *word, struct error *err)
{
    size_t length = strcspn(word + 2, "=");
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(length < 63 ? length : 63), word + 2);
    const char *nearest = NULL;
    double distance = 0;
    for (size_t i = 0; i < command->option_count + COMMON_OPTIONS; i++) {
        const char *name = i < command->option_count
                               ? command->options[i].name
                               : common_options[i - command->option_count].name;
        double d = nearest_distance(typed, name);
        if (!nearest || d < distance) {
            nearest = name;
            distance = d;
        }
    }
    return error_set(err, EINVAL, "unknown option --%s; the nearest is --%s, see ioreel %s -h",
                     typed, nearest, command->name);
}

static int refuse_letter(const struct command *command, int letter, struct error *err)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].name[0] == letter)
            return error_set(err, EINVAL,
                             "unknown option -%c; the nearest is --%s, see ioreel %s -h", letter,
                             command->options[i].name, command->name);
    return error_set(err, EINVAL, "unknown option -%c; see ioreel %s -h", letter, command->name);
}

/* The name of a value that getopt_long gave; NULL for a letter that nobody has. */
static const char *name_of(const struct command *command, int value)
{
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        if (value == common_options[i].value || value == common_options[i].letter)
            return common_options[i].name;
    if (value >= VALUE_BASE)
        return command->options[value - VALUE_BASE].name;
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == value)
            return command->options[i].name;
    return NULL;
}

/* What was typed, where getopt_long took a long option. */
static const char *typed_word(char *const *argv)
{
    return optarg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1];
}

/* getopt_long takes any beginning of a name. Nobody meant --tolerance who typed --to. */
static bool is_abbreviated(const char *name, int value, char *const *argv)
{
    bool is_long = value >= VALUE_BASE || value <= VALUE_VERBOSE;
    return is_long && strcspn(typed_word(argv) + 2, "=") != strlen(name);
}

static int refuse(const struct command *command, int value, char *const *argv, struct error *err)
{
    const char *name = optopt ? name_of(command, optopt) : NULL;
    if (!optopt || (name && is_abbreviated(name, optopt, argv)))
        return refuse_unknown(command, argv[optind - 1], err);
    if (!name)
        return refuse_letter(command, optopt, err);
    return error_set(err, EINVAL, "--%s %s; see ioreel %s -h", name,
                     value == ':' ? "needs a value" : "takes no value", command->name);
}

static size_t row_index(const struct command *command, int value)
{
    if (value >= VALUE_BASE)
        return (size_t)(value - VALUE_BASE);
    size_t index = 0;
    while (command->options[index].letter != value)
        index++;
    return index;
}

int options_parse(const struct command *command, void *options, int argc, char **argv, int *first,
                  struct error *err)
{
    struct getopt_tables tables;
    bool given[ROWS_MAX] = {false};
    make_tables(command, &tables);
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    optarg = NULL;
    int value;
    while ((value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (value == ':' || value == '?')
            return refuse(command, value, argv, err);
        if (is_abbreviated(name_of(command, value), value, argv))
            return refuse_unknown(command, typed_word(argv), err);
        if (value == 'h' || value == VALUE_HELP)
            return 1;
        if (value == 'q' || value == VALUE_QUIET || value == 'v' || value == VALUE_VERBOSE) {
            log_set_level(value == 'q' || value == VALUE_QUIET ? LOG_QUIET : LOG_VERBOSE);
            continue;
        }
        size_t index = row_index(command, value);
        const struct option_row *row = &command->options[index];
        if (given[index] && row->kind != OPTION_FLAG && row->kind != OPTION_STRINGS)
            return error_set(err, EINVAL, "--%s is given twice; it takes one %s", row->name,
                             row->kind == OPTION_NUMBERS ? "list, such as 1,2,4..64" : "value");
        given[index] = true;
        int rc = store_value(row, options, optarg, err);
        if (rc)
            return rc;
    }
    *first = optind;
    return 0;
}

int options_check_window(uint64_t from_ns, uint64_t to_ns, struct error *err)
{
    if (from_ns < to_ns)
        return EXIT_DONE;
    return error_usage(err, "--to %.9g s is not after --from %.9g s: nothing lies between",
                       (double)to_ns / 1e9, (double)from_ns / 1e9);
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
