/* What an I/O costs in CPU time. */
#include "model/network/laws.h"

#include <math.h>

double law_cpu_pct(double us_per_io, double iops, double cores)
{
    return cores > 0 ? us_per_io * 1e-6 * iops / cores * 100 : NAN;
}

double law_cpu_limit(double us_per_io, double threads)
{
    return us_per_io > 0 ? threads * 1e6 / us_per_io : INFINITY;
}
