/* Damerau-Levenshtein distance in its restricted form (optimal string alignment). */
#include "common/nearest.h"

#include <string.h>

#define LENGTH_MAX 63
#define TAIL_COST  0.01 /* of a letter that an abbreviation leaves away */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

double nearest_distance(const char *word, const char *name)
{
    size_t m = strnlen(word, LENGTH_MAX), n = strnlen(name, LENGTH_MAX);
    if (m > 0 && m <= n && memcmp(word, name, m) == 0)
        return TAIL_COST * (double)(n - m);
    size_t rows[3][LENGTH_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= n; j++)
        last[j] = j;
    memset(before, 0, sizeof rows[0]);
    for (size_t i = 1; i <= m; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            now[j] =
                least(last[j - 1] + (word[i - 1] != name[j - 1]), least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return (double)last[n];
}
