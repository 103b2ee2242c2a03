/* The network's solvers against brute-force Markov chains of small networks, and against each
 * other. */
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/network.h"

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

/* Throughput past station 0. The last station is a delay where `delay` is set: each I/O there
 * leaves on its own. */
static double brute_force(int stations, int population, double rates[STATIONS][16], bool delay)
{
    static struct chain c;
    memset(&c, 0, sizeof c);
    c.stations = stations;
    c.population = population;
    int now[STATIONS] = {0};
    enumerate(&c, now, 0, population);
    for (int i = 0; i < c.count; i++)
        for (int k = 0; k < stations; k++) {
            int n = c.state[i][k];
            if (n == 0)
                continue;
            double rate = delay && k == stations - 1 ? n * rates[k][1] : rates[k][n];
            int next[STATIONS];
            memcpy(next, c.state[i], sizeof next);
            next[k]--;
            next[(k + 1) % stations]++;
            int j = find_state(&c, next);
            c.matrix[j][i] += rate;
            c.matrix[i][i] -= rate;
        }
    for (int i = 0; i <= c.count; i++)
        c.matrix[0][i] = 1; /* the probabilities add to one */
    eliminate(&c);
    double x = 0;
    for (int i = 0; i < c.count; i++)
        if (c.state[i][0] > 0)
            x += c.matrix[i][c.count] / c.matrix[i][i] * rates[0][c.state[i][0]];
    return x;
}

static void exact_against_markov(void **state)
{
    (void)state;
    const struct station stations[] = {{"a", 1e-3, 1}, {"b", 3e-3, 1}, {"c", 0.4e-3, 1}};
    double rates[STATIONS][16];
    for (int k = 0; k < 3; k++)
        for (int n = 0; n < 16; n++)
            rates[k][n] = 1 / stations[k].demand_s;
    for (int n = 0; n < 16; n++)
        rates[3][n] = 1 / 5e-3;
    for (int population = 1; population <= 8; population++) {
        struct network_result r;
        assert_int_equal(network_exact(stations, 3, 0, (size_t)population, NULL, &r, NULL), 0);
        near_relative(r.iops, brute_force(3, population, rates, false), 1e-9);
        assert_int_equal(network_exact(stations, 3, 5e-3, (size_t)population, NULL, &r, NULL), 0);
        near_relative(r.iops, brute_force(4, population, rates, true), 1e-9);
        near_relative(r.iops * (r.latency_s + 5e-3), population, 1e-12); /* Little */
    }
}

static void convolution_against_markov(void **state)
{
    (void)state;
    double rates[STATIONS][16];
    for (int n = 0; n < 16; n++) {
        rates[0][n] = 400 + 150.0 * n;       /* speeds up with its load */
        rates[1][n] = 500 * (n < 3 ? n : 3); /* three servers */
        rates[2][n] = 900;
        rates[3][n] = 250;
    }
    const struct rate_station stations[] = {{rates[0], 15}, {rates[1], 15}, {rates[2], 15}};
    for (int population = 1; population <= 8; population++) {
        double x[16];
        assert_int_equal(network_convolution(stations, 3, 0, (size_t)population, x, NULL), 0);
        near_relative(x[population], brute_force(3, population, rates, false), 1e-9);
        assert_int_equal(network_convolution(stations, 3, 1 / 250.0, (size_t)population, x, NULL),
                         0);
        near_relative(x[population], brute_force(4, population, rates, true), 1e-9);
    }
}

/* m equal channels taken at random, one by one, are one station of m copies. */
static void channels_collapse(void **state)
{
    (void)state;
    const struct station one[] = {{"channels", 2e-3, 4}, {"controller", 0.3e-3, 1}};
    const struct station four[] = {{"1", 0.5e-3, 1},
                                   {"2", 0.5e-3, 1},
                                   {"3", 0.5e-3, 1},
                                   {"4", 0.5e-3, 1},
                                   {"controller", 0.3e-3, 1}};
    struct network_result a, b;
    for (size_t n = 1; n <= 200; n += 13) {
        assert_int_equal(network_exact(one, 2, 1e-4, n, NULL, &a, NULL), 0);
        assert_int_equal(network_exact(four, 5, 1e-4, n, NULL, &b, NULL), 0);
        near_relative(a.iops, b.iops, 1e-12);
        near_relative(a.queue[0], 4 * b.queue[0], 1e-9);
        near_relative(a.utilization[0], b.utilization[0], 1e-12);
    }
}

static void large_populations(void **state)
{
    (void)state;
    const struct station stations[] = {{"a", 1e-3, 1}, {"b", 0.97e-3, 1}, {"c", 0.4e-3, 1}};
    static double fixed[3][2];
    struct rate_station rates[3];
    for (int k = 0; k < 3; k++) {
        fixed[k][1] = 1 / stations[k].demand_s;
        rates[k] = (struct rate_station){fixed[k], 1};
    }
    static double mva[4097], conv[4097];
    struct network_result r;
    assert_int_equal(network_exact(stations, 3, 2e-3, 4096, mva, &r, NULL), 0);
    assert_int_equal(network_convolution(rates, 3, 2e-3, 4096, conv, NULL), 0);
    for (size_t n = 1; n <= 4096; n *= 2)
        near_relative(conv[n], mva[n], 1e-9);
}

static void approximations(void **state)
{
    (void)state;
    const struct station stations[] = {{"a", 1e-3, 1}, {"b", 0.8e-3, 1}, {"c", 4e-3, 8}};
    for (size_t n = 1; n <= 512; n *= 2) {
        struct network_result exact, schweitzer, linearizer;
        assert_int_equal(network_exact(stations, 3, 3e-3, n, NULL, &exact, NULL), 0);
        assert_int_equal(network_schweitzer(stations, 3, 3e-3, (double)n, &schweitzer, NULL), 0);
        assert_int_equal(network_linearizer(stations, 3, 3e-3, (double)n, &linearizer, NULL), 0);
        near_relative(schweitzer.iops, exact.iops, 0.06);
        near_relative(linearizer.iops, exact.iops, 0.005);
        assert_true(fabs(linearizer.iops - exact.iops) <=
                    fabs(schweitzer.iops - exact.iops) + 1e-9 * exact.iops);
    }
}

static void classes(void **state)
{
    (void)state;
    /* Equal classes are one class split in two. */
    const struct station stations[] = {{"a", 1e-3, 1}, {"b", 3e-3, 1}};
    const double equal[] = {1e-3, 3e-3, 1e-3, 3e-3}, delay[] = {2e-3, 2e-3};
    const unsigned population[] = {3, 5};
    double x[2], r[2];
    struct network_result one;
    assert_int_equal(network_classes(equal, 2, delay, population, 2, x, r, NULL), 0);
    assert_int_equal(network_exact(stations, 2, 2e-3, 8, NULL, &one, NULL), 0);
    near_relative(x[0] + x[1], one.iops, 1e-12);
    near_relative(x[0] / x[1], 3.0 / 5, 1e-12);
    /* Two classes that differ, one I/O each, two stations (processor sharing): by hand. The state
     * is where each of them is; class c moves from station k at 1/D_ck, halved when they share it.
     */
    const double demand[] = {1, 2, 3, 0.5}, none[] = {0, 0};
    const unsigned single[] = {1, 1};
    assert_int_equal(network_classes(demand, 2, none, single, 2, x, r, NULL), 0);
    double a = 1 + 2, b = 3 + 0.5;
    double g = 2 * 1 * 3 + 1 * 0.5 + 2 * 3 + 2 * 2 * 0.5; /* Σ over states of the products */
    near_relative(x[0], b / g, 1e-12);
    near_relative(x[1], a / g, 1e-12);
}

static void slots(void **state)
{
    (void)state;
    double inner[301], x[301];
    const struct station stations[] = {{"channels", 100e-6, 20}, {"controller", 4e-6, 1}};
    struct network_result r;
    assert_int_equal(network_exact(stations, 2, 0, 300, inner, &r, NULL), 0);
    /* 64 slots or 254: nothing changes while no more than 64 are wanted. */
    for (size_t n = 1; n <= 300; n++) {
        assert_int_equal(network_slots(inner, 300, 64, 0, n, x, NULL), 0);
        near_relative(x[n], inner[n < 64 ? n : 64], 1e-15);
    }
    /* Slots that never fill leave the network as it was, the delay included. */
    assert_int_equal(network_slots(inner, 300, 300, 50e-6, 100, x, NULL), 0);
    assert_int_equal(network_exact(stations, 2, 50e-6, 100, NULL, &r, NULL), 0);
    near_relative(x[100], r.iops, 1e-9);
    const struct slot_path path = {.lun_slots = 64, .adapter_slots = 128, .disks = 4};
    near_relative(network_slot_depth(&path, 16), 64, 1e-15);
    near_relative(network_slot_depth(&path, 128), 128, 1e-15);
}

static void refusals(void **state)
{
    (void)state;
    struct network_result r;
    struct error err;
    const struct station bad = {"bad", -1, 1}, good = {"good", 1e-3, 1};
    assert_true(network_exact(&bad, 1, 0, 1, NULL, &r, &err) < 0);
    assert_true(network_exact(&good, 1, 0, 2000000, NULL, &r, &err) < 0);
    assert_true(network_exact(NULL, 0, 0, 1, NULL, &r, &err) < 0);
    assert_true(network_schweitzer(&good, 1, NAN, 4, &r, &err) < 0);
    double x[4], rate[2] = {0, 0};
    const struct rate_station stopped = {rate, 1};
    assert_true(network_convolution(&stopped, 1, 0, 3, x, &err) < 0);
    assert_true(network_convolution(NULL, 0, 0, 3, x, &err) < 0);
    assert_true(network_slots(NULL, 0, 4, 0, 3, x, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_against_markov),
        cmocka_unit_test(convolution_against_markov),
        cmocka_unit_test(channels_collapse),
        cmocka_unit_test(large_populations),
        cmocka_unit_test(approximations),
        cmocka_unit_test(classes),
        cmocka_unit_test(slots),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
