/* The asymptotic and balanced-job bounds of a closed network. */
#include "model/network/laws.h"

#include <math.h>

struct law_bounds law_closed_bounds(double depth, double demand_s, double max_demand_s,
                                    double stations, double delay_s)
{
    struct law_bounds b = {NAN, NAN, NAN, NAN, NAN};
    if (!(depth >= 1) || !(demand_s > 0) || !(max_demand_s > 0) || !(stations >= 1) ||
        !(delay_s >= 0))
        return b;
    double total = demand_s + delay_s;
    b.knee = total / max_demand_s;
    b.upper = fmin(depth / total, 1 / max_demand_s);
    b.lower = depth / (depth * demand_s + delay_s);
    double average = demand_s / stations;
    b.balanced_lower =
        depth / (total + (depth - 1) * max_demand_s / (1 + delay_s / (depth * demand_s)));
    b.balanced_upper =
        fmin(1 / max_demand_s, depth / (total + (depth - 1) * average / (1 + delay_s / demand_s)));
    return b;
}
