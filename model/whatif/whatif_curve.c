/* Drawing rate against depth in characters: depth on a logarithmic axis, rate from zero. */
#include "model/whatif/private/whatif_curve.h"

#include <math.h>
#include <string.h>

#include "common/units.h"

#define COLUMNS 64
#define ROWS    18

struct canvas {
    char cell[ROWS][COLUMNS + 1];
    double depth_low, depth_high, top;
};

static int column_of(const struct canvas *c, double depth)
{
    double span = log(c->depth_high / c->depth_low);
    double u = span > 0 ? log(depth / c->depth_low) / span : 0.5;
    int column = (int)lround(u * (COLUMNS - 1));
    return column < 0 || column >= COLUMNS ? -1 : column;
}

static int row_of(const struct canvas *c, double iops)
{
    int row = ROWS - 1 - (int)lround(iops / c->top * (ROWS - 1));
    return row < 0 || row >= ROWS ? -1 : row;
}

static void put(struct canvas *c, double depth, double iops, char mark)
{
    int column = column_of(c, depth), row = isfinite(iops) ? row_of(c, iops) : -1;
    if (column >= 0 && row >= 0)
        c->cell[row][column] = mark;
}

static void put_interval(struct canvas *c, const struct whatif_point *p)
{
    int column = column_of(c, p->depth);
    int from = row_of(c, fmin(p->iops_high, c->top)), to = row_of(c, p->iops_low);
    for (int row = from; column >= 0 && row >= 0 && row <= to; row++)
        if (c->cell[row][column] == ' ' || c->cell[row][column] == '-')
            c->cell[row][column] = ':';
}

static void put_bound(struct canvas *c, const struct whatif *w)
{
    for (int column = 0; column < COLUMNS; column++) {
        double u = (double)column / (COLUMNS - 1);
        double depth = c->depth_low * pow(c->depth_high / c->depth_low, u);
        double bound = whatif_bounds(w, fmax(depth, 1)).upper;
        if (bound <= c->top)
            put(c, depth, bound, '-');
    }
}

void whatif_draw(const struct whatif *w, const struct whatif_point *points, size_t count, FILE *out)
{
    struct canvas c = {.depth_low = points[0].depth, .depth_high = points[count - 1].depth};
    const struct fit *base = whatif_base(w);
    bool measured = whatif_is_as_measured(w);
    memset(c.cell, ' ', sizeof c.cell);
    for (size_t i = 0; i < count; i++)
        c.top = fmax(c.top, points[i].iops_high);
    for (size_t i = 0; i < base->count && measured; i++)
        if (column_of(&c, base->points[i].depth) >= 0)
            c.top = fmax(c.top, base->points[i].iops);
    if (!(c.top > 0) || !isfinite(c.top))
        return;
    c.top *= 1.05;
    put_bound(&c, w);
    for (size_t i = 0; i < count; i++)
        put_interval(&c, &points[i]);
    for (size_t i = 0; i < count; i++)
        put(&c, points[i].depth, points[i].iops, '*');
    for (size_t i = 0; i < base->count && measured; i++)
        put(&c, base->points[i].depth, base->points[i].iops, 'o');
    for (int row = 0; row < ROWS; row++) {
        char label[UNITS_TEXT] = "";
        c.cell[row][COLUMNS] = '\0';
        if (row % 4 == 0 || row == ROWS - 1)
            units_format_rate(c.top * (ROWS - 1 - row) / (ROWS - 1), label);
        fprintf(out, "%8s |%s\n", label, c.cell[row]);
    }
    fprintf(out, "%8s +%.*s\n", "IOPS", COLUMNS,
            "----------------------------------------------------------------");
    fprintf(out, "%10s%-*.6g%.6g   depth\n", "", COLUMNS - 6, c.depth_low, c.depth_high);
    fprintf(out, "%10so measured  * predicted  : interval  - asymptotic bound\n", "");
}
