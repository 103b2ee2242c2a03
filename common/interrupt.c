/* Ctrl-C as a flag. */
#include "common/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t seen;

static void on_signal(int number)
{
    seen = 1;
    signal(number, SIG_DFL);
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool interrupt_seen(void)
{
    return seen != 0;
}
