/* The station of channels against brute-force Markov chains of small networks, and the slots of a
 * path. */
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/fit/station_models.h"
#include "model/network/slot_path.h"

static void near_relative(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("got %.15g, wanted %.15g within %g", got, want, tolerance);
}

#define STATIONS 4
#define STATES   400

/* A cycle of exponential stations with rates rate[k][n]: all states, the generator, elimination. */
struct chain {
    int stations, population, count;
    int state[STATES][STATIONS];
    double matrix[STATES][STATES + 1];
};

static void enumerate(struct chain *c, int *now, int station, int left)
{
    if (station == c->stations - 1) {
        now[station] = left;
        memcpy(c->state[c->count++], now, sizeof c->state[0]);
        return;
    }
    for (int n = 0; n <= left; n++) {
        now[station] = n;
        enumerate(c, now, station + 1, left - n);
    }
}

static int find_state(const struct chain *c, const int *wanted)
{
    for (int i = 0; i < c->count; i++)
        if (memcmp(c->state[i], wanted, sizeof c->state[0]) == 0)
            return i;
    return -1;
}

static void eliminate(struct chain *c)
{
    int n = c->count;
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int j = i; j < n; j++)
            if (fabs(c->matrix[j][i]) > fabs(c->matrix[pivot][i]))
                pivot = j;
        for (int k = 0; k <= n; k++) {
            double t = c->matrix[i][k];
            c->matrix[i][k] = c->matrix[pivot][k];
            c->matrix[pivot][k] = t;
        }
        for (int j = 0; j < n; j++) {
            double f = j == i ? 0 : c->matrix[j][i] / c->matrix[i][i];
            for (int k = i; f != 0 && k <= n; k++)
                c->matrix[j][k] -= f * c->matrix[i][k];
        }
    }
}

/* Throughput of a cycle whose station k serves at rate[k]. */
static double brute_force(int stations, int population, const double *rate)
{
    static struct chain c;
    memset(&c, 0, sizeof c);
    c.stations = stations;
    c.population = population;
    int now[STATIONS] = {0};
    enumerate(&c, now, 0, population);
    for (int i = 0; i < c.count; i++)
        for (int k = 0; k < stations; k++) {
            if (c.state[i][k] == 0)
                continue;
            int next[STATIONS];
            memcpy(next, c.state[i], sizeof next);
            next[k]--;
            next[(k + 1) % stations]++;
            int j = find_state(&c, next);
            c.matrix[j][i] += rate[k];
            c.matrix[i][i] -= rate[k];
        }
    for (int i = 0; i <= c.count; i++)
        c.matrix[0][i] = 1; /* the probabilities add to one */
    eliminate(&c);
    double x = 0;
    for (int i = 0; i < c.count; i++)
        if (c.state[i][0] > 0)
            x += c.matrix[i][c.count] / c.matrix[i][i] * rate[0];
    return x;
}

/* An I/O that picks one of m channels at random loads each with 1/m of its service: the network has
 * the product form of a cycle of stations with those demands. */
static void channels_against_markov(void **state)
{
    (void)state;
    const double service_s = 3e-3, controller_s = 0.4e-3;
    for (int m = 2; m <= 3; m++) {
        double rate[STATIONS] = {1 / controller_s}, iops[9];
        for (int k = 1; k <= m; k++)
            rate[k] = m / service_s;
        const double theta[] = {log(service_s), log(m - 1.0), log(controller_s)};
        station_channels.curve(theta, 8, iops);
        for (int population = 1; population <= 8; population++)
            near_relative(iops[population], brute_force(m + 1, population, rate), 1e-9);
    }
}

static void slots(void **state)
{
    (void)state;
    const struct slot_path path = {.lun_slots = 64, .adapter_slots = 128, .disks = 4};
    near_relative(slot_path_depth(&path, 16), 64, 1e-15);
    near_relative(slot_path_depth(&path, 128), 128, 1e-15);
    const struct slot_path host = {.host_slots = 32, .lun_slots = 64, .disks = 1};
    near_relative(slot_path_depth(&host, 128), 32, 1e-15);
    near_relative(slot_path_depth(&(struct slot_path){0}, 128), 128, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_against_markov),
        cmocka_unit_test(slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
