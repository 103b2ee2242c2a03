/* The machine that a trace was recorded on, as the object that goes into its header. */
#ifndef IOREEL_CAPTURE_ENVIRONMENT_H
#define IOREEL_CAPTURE_ENVIRONMENT_H

#include <jansson.h>

/* Host, kernel, machine, CPUs and frequency governor; what is not known is left out. New reference,
 * NULL when out of memory. */
json_t *environment_describe(void);

#endif
