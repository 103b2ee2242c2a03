/* A model: fitted sweeps with what is known of where they come from, as JSON on disk.
 *
 * The file holds the measured points, the members of the ensemble and all that a prediction needs,
 * so nothing is fitted again when it is read. A model owns its fits and its `about`. Files are
 * untrusted: sizes are capped, numbers must be finite, models must be known ones. */
#ifndef IOREEL_MODEL_MODEL_FILE_H
#define IOREEL_MODEL_MODEL_FILE_H

#include "common/error.h"
#include "model/fit/fit.h"

#include <jansson.h>
#include <stddef.h>

#define MODEL_SWEEPS_MAX 256

struct model {
    char name[MEASUREMENT_TEXT];
    json_t *about;  /* object: title, url, conditions, …; never NULL once read or begun */
    json_t *source; /* array of texts */
    struct fit *fits;
    size_t count;
    size_t main; /* the fit that speaks for the model: the one with most points */
};

/* An empty model. 0 or -ENOMEM. */
int model_begin(struct model *m, const char *name, struct error *err);
/* Takes the fit over. 0, -EFBIG or -ENOMEM (the fit stays the caller's). */
int model_add(struct model *m, const struct fit *f, struct error *err);
void model_free(struct model *m);

/* The document: `model`, `parameters`, `valid_range`, `fit`, `source` speak of the main sweep;
 * `sweeps` holds them all. New reference, NULL when out of memory. */
json_t *model_to_json(const struct model *m);
/* `name` is for errors. 0 or -errno: -EBADMSG when it is no model. */
int model_from_json(const json_t *document, const char *name, struct model *m, struct error *err);

/* Reads a file, or a profile of that name (see profiles.h). */
int model_open(const char *path_or_profile, struct model *m, struct error *err);

#endif
