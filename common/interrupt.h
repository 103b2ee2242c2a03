/* Ctrl-C as a flag that loops ask, so that every command ends cleanly with a valid file. */
#ifndef IOREEL_COMMON_INTERRUPT_H
#define IOREEL_COMMON_INTERRUPT_H

#include <stdbool.h>

/* SIGINT and SIGTERM set the flag from now on; a second one ends the process at once. SIGPIPE is
 * ignored, so that writing to a closed pipe is an error like any other. */
void interrupt_catch(void);
bool interrupt_seen(void);

#endif
