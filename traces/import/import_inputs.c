/* The inputs of one import: the operands, and the files beside them that are of the same trace. */
#include "traces/import/private/import_inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

void import_inputs_close(struct import_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        import_input_close(inputs->open[i]);
        free(inputs->paths[i]);
    }
    free(inputs);
}

static bool has_path(const struct import_inputs *inputs, const char *path)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->paths[i], path) == 0)
            return true;
    return false;
}

static int add_path(struct import_inputs *inputs, const char *path, struct error *err)
{
    if (has_path(inputs, path))
        return 0;
    if (inputs->count == INPUTS_MAX)
        return error_set(err, E2BIG, "more than the limit of %u inputs", INPUTS_MAX);
    inputs->paths[inputs->count] = strdup(path);
    if (!inputs->paths[inputs->count])
        return error_set(err, ENOMEM, "out of memory");
    inputs->count++;
    return 0;
}

/* By length, then by text: x.2 before x.10. */
static int by_number(const void *a, const void *b)
{
    const char *left = *(char *const *)a;
    const char *right = *(char *const *)b;
    size_t m = strlen(left);
    size_t n = strlen(right);
    return m != n ? (m < n ? -1 : 1) : strcmp(left, right);
}

/* The operand and the other files of its trace. An operand that is no file may stand for several.
 */
static int add_operand(struct import_inputs *inputs, const char *path, const struct importer *only,
                       struct error *err)
{
    bool there = strcmp(path, "-") == 0 || access(path, F_OK) == 0;
    int rc = there ? add_path(inputs, path, err) : 0;
    char **more = calloc(INPUTS_MAX, sizeof *more);
    if (!more)
        return error_set(err, ENOMEM, "out of memory");
    int found = 0;
    for (size_t i = 0; importers[i] && rc == 0 && found == 0; i++)
        if (importers[i]->siblings && (!only || only == importers[i]))
            found = importers[i]->siblings(path, more, INPUTS_MAX);
    if (found > 0)
        qsort(more, (size_t)found, sizeof *more, by_number);
    for (int i = 0; i < found; i++) {
        if (rc == 0 && there && !has_path(inputs, more[i]))
            log_detail("%s: is of the same trace and taken too", more[i]);
        if (rc == 0)
            rc = add_path(inputs, more[i], err);
        free(more[i]);
    }
    free(more);
    if (rc == 0 && !there && found <= 0)
        return error_errno(err, ENOENT, "%s", path);
    return rc;
}

int import_inputs_open(struct import_inputs *inputs, int argc, char **argv,
                       const struct importer *only, struct error *err)
{
    int rc = 0;
    for (int i = 0; i < argc && rc == 0; i++)
        rc = add_operand(inputs, argv[i], only, err);
    for (size_t i = 0; i < inputs->count && rc == 0; i++)
        rc = import_input_open(inputs->paths[i], &inputs->open[i], err);
    return rc;
}

/* The output must not be one of the inputs, whatever they are called. */
int import_inputs_check_output(const struct import_inputs *inputs, const char *output,
                               struct error *err)
{
    struct stat out;
    if (strcmp(output, "-") == 0 || stat(output, &out) != 0)
        return 0;
    for (size_t i = 0; i < inputs->count; i++) {
        struct stat in;
        int rc = strcmp(inputs->paths[i], "-") == 0 ? fstat(STDIN_FILENO, &in)
                                                    : stat(inputs->paths[i], &in);
        if (rc == 0 && S_ISREG(in.st_mode) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return error_set(err, EINVAL, "%s: is the input too; choose another output", output);
    }
    return 0;
}
