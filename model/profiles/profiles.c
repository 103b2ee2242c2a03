/* Finding a profile by its name. The table itself is generated. */
#include "model/profiles/profiles.h"

#include <string.h>

const char *profile_find(const char *name)
{
    for (size_t i = 0; i < profile_count; i++)
        if (strcmp(profiles[i].name, name) == 0)
            return profiles[i].json;
    return NULL;
}
