/* What `fit` prints: a model, a comparison with what was held back, the list of profiles. */
#ifndef IOREEL_MODEL_FIT_REPORT_H
#define IOREEL_MODEL_FIT_REPORT_H

#include <stdio.h>

#include "model/fit/model_file.h"

void fit_print_model(const struct model *m, FILE *out);

/* fit_validate.c: predictions at the depths that a fit did not see. */
struct validation;

struct validation *validation_begin(void); /* NULL when out of memory */
void validation_end(struct validation *v);
int validation_add(struct validation *v, const struct sweep *s, const struct fit *f,
                   struct error *err);
void validation_refused(struct validation *v, const struct sweep *s, const char *reason);
/* A table and its summary; 0 or -errno. */
int validation_print(struct validation *v, FILE *out);
json_t *validation_to_json(struct validation *v);

/* fit_list.c: the profiles, and where their sources contradict each other. */
int fit_list_print(FILE *out, struct error *err);
json_t *fit_list_json(void);

/* The rate of one controller over another's, within each published set, for sweeps that differ in
 * nothing else: the lowest and the highest seen. False when none was published.
 * small_blocks: of at most 16 KiB, else above. */
bool profiles_ratio(const char *from, const char *to, bool small_blocks, double *low, double *high);

#endif
