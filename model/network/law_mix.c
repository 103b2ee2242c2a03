/* Reads and writes mixed: times add up, and a term for how they disturb each other. */
#include "model/network/laws.h"

#include <math.h>

double law_mix(double read_iops, double write_iops, double gamma, double read_share)
{
    if (!(read_share >= 0) || !(read_share <= 1))
        return NAN;
    double r = read_share, seconds = gamma * r * (1 - r);
    if (r > 0)
        seconds += r / read_iops;
    if (r < 1)
        seconds += (1 - r) / write_iops;
    return seconds > 0 ? 1 / seconds : NAN;
}

double law_mix_gamma(double read_iops, double write_iops, double mix_iops, double read_share)
{
    double r = read_share;
    if (!(r > 0) || !(r < 1))
        return NAN;
    return (1 / mix_iops - r / read_iops - (1 - r) / write_iops) / (r * (1 - r));
}
