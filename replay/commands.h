/* The commands of this room, for main.c's table. */
#ifndef IOREEL_REPLAY_COMMANDS_H
#define IOREEL_REPLAY_COMMANDS_H

#include "common/command.h"

extern const struct command cmd_replay;

#endif
