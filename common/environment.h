/* The machine that a trace comes from, as the object that goes into its header. */
#ifndef IOREEL_COMMON_ENVIRONMENT_H
#define IOREEL_COMMON_ENVIRONMENT_H

#include <jansson.h>

/* Host, kernel, machine, CPUs and frequency governor; what is not known is left out. New reference,
 * NULL when out of memory. */
json_t *environment_describe(void);

#endif
