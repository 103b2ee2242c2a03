/* The commands of this room, for main.c's table. */
#ifndef IOREEL_TRACES_COMMANDS_H
#define IOREEL_TRACES_COMMANDS_H

#include "common/command.h"

extern const struct command cmd_import;
extern const struct command cmd_info;
extern const struct command cmd_cat;

#endif
