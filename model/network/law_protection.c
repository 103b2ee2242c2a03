/* What mirrors, parity and erasure codes cost: a small write reads and writes old data and parity,
 * a full stripe only writes. */
#include "model/network/laws.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EC_MAX 255

/* m parities of k data: read the old data and parities, write the new ones: 2(m+1). */
static void set_code(struct law_protection *p, const char *name, unsigned k, unsigned m)
{
    *p = (struct law_protection){name, k, m, 2.0 * (m + 1), (double)(k + m) / k};
}

int law_protection_parse(const char *text, unsigned data, struct law_protection *p)
{
    unsigned k, m;
    char rest;
    if (data > EC_MAX)
        return -EINVAL;
    if (strcasecmp(text, "none") == 0) {
        *p = (struct law_protection){"none", 0, 0, 1, 1};
    } else if (strcasecmp(text, "raid1") == 0) {
        *p = (struct law_protection){"raid1", 0, 0, 2, 2};
    } else if (strcasecmp(text, "raid5") == 0) {
        set_code(p, "raid5", data ? data : 3, 1);
    } else if (strcasecmp(text, "raid6") == 0) {
        set_code(p, "raid6", data ? data : 4, 2);
    } else if (strncasecmp(text, "ec-", 3) == 0 &&
               sscanf(text + 3, "%3u+%3u%c", &k, &m, &rest) == 2 && k >= 1 && m >= 1 &&
               k <= EC_MAX && m <= EC_MAX) {
        set_code(p, "ec", k, m);
    } else {
        return -EINVAL;
    }
    return 0;
}

double law_protection_penalty(const struct law_protection *p, double write_bytes,
                              double stripe_bytes)
{
    bool full =
        stripe_bytes > 0 && write_bytes >= stripe_bytes && fmod(write_bytes, stripe_bytes) == 0;
    return full ? p->stripe_penalty : p->small_penalty;
}

double law_protected_iops(double read_iops, double read_share, double penalty)
{
    if (!(read_share >= 0) || !(read_share <= 1) || !(penalty >= 1))
        return NAN;
    return read_iops / (read_share + (1 - read_share) * penalty);
}
