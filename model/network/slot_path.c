/* Finite slots: what does not get one waits in front of them. */
#include "model/network/slot_path.h"

#include <math.h>

double slot_path_depth(const struct slot_path *path, double depth_per_disk)
{
    double disks = path->disks >= 1 ? path->disks : 1;
    double one = depth_per_disk;
    if (path->lun_slots > 0)
        one = fmin(one, path->lun_slots);
    if (path->host_slots > 0)
        one = fmin(one, path->host_slots);
    double all = one * disks;
    return path->adapter_slots > 0 ? fmin(all, path->adapter_slots) : all;
}
