/* The progress line. */
#include "common/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/units.h"

#define PERIOD_NS (NS_PER_S / 5)

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void progress_start(struct progress *p, const char *what)
{
    *p = (struct progress){.what = what};
    p->enabled = log_get_level() >= LOG_NORMAL && isatty(STDERR_FILENO);
    p->next_ns = p->enabled ? now_ns() + PERIOD_NS : 0;
}

void progress_update(struct progress *p, uint64_t done, uint64_t total)
{
    if (!p->enabled)
        return;
    uint64_t now = now_ns();
    if (now < p->next_ns)
        return;
    p->next_ns = now + PERIOD_NS;
    p->shown = true;
    char count[UNITS_TEXT];
    units_format_count(done, count);
    if (total)
        fprintf(stderr, "\r\033[K%s %s (%.0f %%)", p->what, count,
                100.0 * (double)done / (double)total);
    else
        fprintf(stderr, "\r\033[K%s %s", p->what, count);
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
