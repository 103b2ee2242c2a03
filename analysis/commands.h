/* The commands of this room, for main.c's table. */
#ifndef IOREEL_ANALYSIS_COMMANDS_H
#define IOREEL_ANALYSIS_COMMANDS_H

#include "common/command.h"

extern const struct command cmd_stat;
extern const struct command cmd_compare;

#endif
