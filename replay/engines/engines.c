/* The table of engines, best first. */
#include "replay/engines/engines.h"

#include <errno.h>
#include <string.h>

#include "common/log.h"

static const struct engine *const engines[] = {&engine_uring, &engine_threads};

#define ENGINE_COUNT (sizeof engines / sizeof *engines)

const struct engine *engine_find(const char *name)
{
    for (size_t i = 0; i < ENGINE_COUNT; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

const char *engine_names(void)
{
    return "io_uring, threads";
}

int engine_open(const char *name, const struct engine_setup *setup, const struct engine **engine,
                void **state, struct error *err)
{
    if (name) {
        *engine = engine_find(name);
        if (!*engine)
            return error_set(err, EINVAL, "--engine: there is no '%s'; there are %s", name,
                             engine_names());
        return (*engine)->open(setup, state, err);
    }
    int rc = -ENOSYS;
    for (size_t i = 0; i < ENGINE_COUNT; i++) {
        rc = engines[i]->open(setup, state, err);
        if (rc == 0) {
            if (i > 0)
                log_warn("%s; using the engine %s", err->text, engines[i]->name);
            err->text[0] = '\0';
            *engine = engines[i];
            return 0;
        }
    }
    return rc;
}
