/* The word that someone meant: for refusals that name the nearest of what exists. */
#ifndef IOREEL_COMMON_NEAREST_H
#define IOREEL_COMMON_NEAREST_H

#include <stddef.h>

/* How far `word` is from `name`: Damerau and Levenshtein's distance (insert, drop, change, swap of
 * neighbours: 1 each), where what is missing behind a whole beginning of the name counts a
 * fraction, so that an abbreviation is nearest to what it abbreviates. Looks at 63 bytes of each.
 */
double nearest_distance(const char *word, const char *name);

#endif
