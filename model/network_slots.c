/* Finite slots: what lies behind them becomes one station whose rate at n is the inner network's
 * throughput at min(n, slots). */
#include "model/network.h"

#include <errno.h>
#include <math.h>

int network_slots(const double *inner, size_t inner_count, size_t slots, double delay_s,
                  size_t population, double *iops, struct error *err)
{
    size_t limit = slots && slots < inner_count ? slots : inner_count;
    if (limit == 0)
        return error_set(err, EDOM, "there is no slot for an I/O");
    if (delay_s == 0) {
        iops[0] = 0;
        for (size_t n = 1; n <= population; n++)
            iops[n] = inner[n < limit ? n : limit];
        return 0;
    }
    struct rate_station station = {inner, limit};
    return network_convolution(&station, 1, delay_s, population, iops, err);
}

double network_slot_depth(const struct slot_path *path, double depth_per_disk)
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
