/* The commands of this room, for main.c's table. */
#ifndef IOREEL_MODEL_COMMANDS_H
#define IOREEL_MODEL_COMMANDS_H

#include "common/command.h"

extern const struct command cmd_check;
extern const struct command cmd_fit;
extern const struct command cmd_whatif;

#endif
