/* A curve for the terminal: rate against depth. */
#ifndef IOREEL_MODEL_WHATIF_CURVE_H
#define IOREEL_MODEL_WHATIF_CURVE_H

#include <stdio.h>

#include "model/whatif/private/whatif.h"

/* Draws the points (by rising depth), their intervals, the asymptotic bound and, where it is the
 * measured load, the measured points. ASCII only. */
void whatif_draw(const struct whatif *w, const struct whatif_point *points, size_t count,
                 FILE *out);

#endif
