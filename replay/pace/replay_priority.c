/* Priority for the timing thread, as little as its deadlines allow.
 *
 * A thread that submits in real time keeps the device's own workers (the loop driver's, a software
 * RAID's) off its CPU: they start on another, sleeping one, and the latency that is measured grows,
 * 1.7 to 4 times on a loop device. At normal priority, sleeping between I/Os, it stays
 * (tests/bench/replay_disturbs.sh). But on two busy cores, with 10,000 Poisson arrivals a second,
 * the 99th percentile of lateness at normal priority is tens to hundreds of milliseconds, and with
 * SCHED_FIFO under 25 microseconds: so real time is for machines on which deadlines are missed. A
 * thread that spins at that priority without ever sleeping would be stopped for 50 ms in each
 * second (sched(7), "Limiting the CPU usage of real-time"), and starve the kernel's own threads on
 * its CPU; so it is only taken when the gaps between deadlines let the thread sleep. */
#include "replay/pace/private/replay_priority.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/units.h"

#define MEAN_GAP_MIN_NS (50 * NS_PER_US)

static int cpus_allowed(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void replay_priority_raise(struct replay_priority *priority, uint64_t mean_gap_ns)
{
    errno = 0;
    priority->policy = sched_getscheduler(0);
    priority->niceness = getpriority(PRIO_PROCESS, 0);
    priority->granted = "normal";
    priority->may_force =
        priority->policy == SCHED_OTHER && mean_gap_ns >= MEAN_GAP_MIN_NS && cpus_allowed() > 1;
    prctl(PR_SET_TIMERSLACK, 1);
}

void replay_priority_force(struct replay_priority *priority)
{
    struct sched_param lowest = {.sched_priority = 1};
    if (!priority->may_force)
        return;
    priority->may_force = false;
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0)
        priority->granted = "fifo";
    else if (setpriority(PRIO_PROCESS, 0, -20) == 0)
        priority->granted = "nice";
}

void replay_priority_restore(struct replay_priority *priority)
{
    struct sched_param none = {.sched_priority = 0};
    if (sched_getscheduler(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK) &&
        priority->policy == SCHED_OTHER)
        sched_setscheduler(0, SCHED_OTHER, &none);
    priority->may_force = false;
    setpriority(PRIO_PROCESS, 0, priority->niceness);
    prctl(PR_SET_TIMERSLACK, 0);
}
