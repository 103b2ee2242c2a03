/* CAP_BPF and CAP_PERFMON, with libcap. */
#include "capture/block/private/capture_rights.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/capability.h>

static bool has(cap_t held, cap_value_t right)
{
    cap_flag_value_t value = CAP_CLEAR;
    return cap_get_flag(held, right, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
}

int capture_rights_check(struct error *err)
{
    cap_t held = cap_get_proc();
    if (!held)
        return error_errno(err, errno, "this process's capabilities cannot be read");
    bool all = has(held, CAP_SYS_ADMIN);
    bool bpf = all || has(held, CAP_BPF);
    bool perfmon = all || has(held, CAP_PERFMON);
    cap_free(held);
    if (bpf && perfmon)
        return 0;
    return error_set(
        err, EPERM,
        "capture needs CAP_BPF and CAP_PERFMON, and %s missing; run it as root, or give "
        "the program both: setcap cap_bpf,cap_perfmon=ep FILE",
        bpf       ? "CAP_PERFMON is"
        : perfmon ? "CAP_BPF is"
                  : "both are");
}

int capture_rights_drop(struct error *err)
{
    cap_t none = cap_init();
    if (!none)
        return error_errno(err, errno, "capabilities cannot be dropped");
    int rc =
        cap_set_proc(none) == 0 ? 0 : error_errno(err, errno, "capabilities cannot be dropped");
    cap_free(none);
    return rc;
}
