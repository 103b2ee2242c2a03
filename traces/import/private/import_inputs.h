/* The inputs of one import, opened. Private to the import command. */
#ifndef IOREEL_TRACES_IMPORT_INPUTS_H
#define IOREEL_TRACES_IMPORT_INPUTS_H

#include "traces/import/importers.h"

#define INPUTS_MAX 4096u

/* Zero-initialised on the heap; import_inputs_close() frees it and what it holds. */
struct import_inputs {
    char *paths[INPUTS_MAX];
    struct import_input *open[INPUTS_MAX];
    size_t count;
};

/* The operands and the other files of their traces; `only` (may be NULL) is the format that the
 * user named. 0 or -errno. */
int import_inputs_open(struct import_inputs *inputs, int argc, char **argv,
                       const struct importer *only, struct error *err);
/* The output must not be one of the inputs, whatever they are called. 0 or -EINVAL. */
int import_inputs_check_output(const struct import_inputs *inputs, const char *output,
                               struct error *err);
void import_inputs_close(struct import_inputs *inputs);

#endif
