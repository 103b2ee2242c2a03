/* Writes blktrace recordings with known content: versions 7 and 8, both byte orders, a file a CPU
 * or one file with all CPUs' events as they were flushed, with or without gaps in the sequence.
 *
 *   make_blktrace [-8] [-b] [-m] [-g] [-n COUNT] PREFIX
 *
 * PREFIX.blktrace.0 and .1 are written, or with -m PREFIX alone. -g leaves out four events whose
 * sequence numbers pass. Without -n it is the small scenario below, each request of which is a case
 * of its own; with -n it is COUNT reads of 4 KiB, 17 in flight. Knows nothing of the importer. */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Q = 1, M = 2, F = 3, G = 4, R = 6, D = 7, C = 8, P = 9, I = 12, X = 13, A = 15 };

enum {
    RD = 1 << 0,
    WR = 1 << 1,
    FL = 1 << 2,
    SY = 1 << 3,
    QU = 1 << 4,
    RQ = 1 << 5,
    IS = 1 << 6,
    CO = 1 << 7,
    FS = 1 << 8,
    PC = 1 << 9,
    NO = 1 << 10,
    DI = 1 << 13,
    FU = 1 << 15,
    ZA = 1 << 16, /* version 8 from here */
    ZR = 1 << 17,
    WZ = 1 << 22,
};

#define CGROUP 0x100u

struct event {
    uint32_t us;
    uint32_t act;
    uint32_t categories;
    uint32_t cpu;
    uint64_t sector;
    uint32_t bytes;
    uint32_t pid;
    int error;
    uint64_t pdu; /* of a split: the second part's sector */
};

/* Sorted by time. Reader 200, writer 100, the kernel's worker 300 issues. */
static const struct event small[] = {
    {0, Q, RD, 0, 1000, 8192, 200, 0, 0}, /* a read: waits 10 us, takes 100 */
    {1, G, RD, 0, 1000, 8192, 200, 0, 0},
    {3, I, RD, 0, 1000, 8192, 200, 0, 0},
    {5, C, RD, 1, 99992, 4096, 0, 0, 0}, /* issued before the recording */
    {10, D, RD, 0, 1000, 8192, 300, 0, 0},
    {20, Q | CGROUP, WR, 0, 2000, 4096, 100, 0, 0}, /* a write with a bio merged at its back */
    {21, G, WR, 0, 2000, 4096, 100, 0, 0},
    {22, Q, WR, 0, 2008, 4096, 100, 0, 0},
    {23, M, WR, 0, 2008, 4096, 100, 0, 0},
    {30, D, WR | FS, 0, 2000, 8192, 300, 0, 0},
    {40, Q, WR, 1, 3008, 4096, 100, 0, 0}, /* a write with a bio merged at its front */
    {41, G, WR, 1, 3008, 4096, 100, 0, 0},
    {42, Q, WR, 1, 3000, 4096, 100, 0, 0},
    {43, F, WR, 1, 3000, 4096, 100, 0, 0},
    {50, D, WR, 1, 3000, 8192, 300, 0, 0},
    {60, A, RD, 1, 500, 4096, 200, 0, 0}, /* remapped from a partition: says nothing to us */
    {110, C, RD, 1, 1000, 8192, 0, 0, 0},
    {130, C, WR, 1, 2000, 8192, 0, 0, 0},
    {150, C, WR, 0, 3000, 8192, 0, 0, 0},
    {200, Q, RD, 0, 4000, 4096, 200, 0, 0}, /* given back by the driver, issued again */
    {210, D, RD, 0, 4000, 4096, 300, 0, 0},
    {215, R, RD, 0, 4000, 4096, 300, 0, 0},
    {230, D, RD, 1, 4000, 4096, 300, 0, 0},
    {330, C, RD, 1, 4000, 4096, 0, 0, 0},
    {400, Q, RD, 0, 5000, 16384, 200, 0, 0}, /* completes in two parts */
    {405, D, RD, 0, 5000, 16384, 200, 0, 0},
    {450, C, RD, 1, 5000, 8192, 0, 0, 0},
    {460, C, RD, 1, 5016, 8192, 0, 0, 0},
    {500, Q, WR, 0, 6000, 4096, 100, 0, 0}, /* fails with EIO */
    {505, D, WR, 0, 6000, 4096, 100, 0, 0},
    {520, C, WR, 0, 6000, 4096, 0, -5, 0},
    {600, Q, WR | FL | SY, 0, 0, 0, 100, 0, 0}, /* a flush: completes twice, the second is empty */
    {601, G, WR | FL | SY, 0, 0, 0, 100, 0, 0},
    {610, D, RD | FL, 0, 0, 0, 300, 0, 0},
    {700, C, RD | FL, 1, 0, 0, 0, 0, 0},
    {701, C, WR | SY, 1, 0, 0, 0, 0, 0},
    {800, Q, WR | DI, 0, 8000, 1048576, 100, 0, 0}, /* a discard */
    {805, D, WR | DI, 0, 8000, 1048576, 100, 0, 0},
    {900, C, WR | DI, 0, 8000, 1048576, 0, 0, 0},
    {1000, Q, RD, 0, 9000, 4096, 200, 0, 0}, /* two reads of one place at once */
    {1001, G, RD, 0, 9000, 4096, 200, 0, 0},
    {1002, D, RD, 0, 9000, 4096, 200, 0, 0},
    {1010, Q, RD, 1, 9000, 4096, 201, 0, 0},
    {1011, G, RD, 1, 9000, 4096, 201, 0, 0},
    {1012, D, RD, 1, 9000, 4096, 201, 0, 0},
    {1100, C, RD, 0, 9000, 4096, 0, 0, 0},
    {1120, C, RD, 0, 9000, 4096, 0, 0, 0},
    {1200, Q, WR | SY | FU, 0, 7000, 4096, 100, 0, 0}, /* never completes */
    {1205, D, WR | SY | FU, 0, 7000, 4096, 100, 0, 0},
    {1300, D, RD | PC, 1, 0, 96, 100, 0, 0}, /* a passthrough command */
    {1310, C, RD | PC, 1, 0, 96, 0, 0, 0},
    {1400, Q, WR, 0, 10000, 65536, 100, 0, 0}, /* a bio that is split in two */
    {1401, X, WR, 0, 10000, 32768, 100, 0, 10064},
    {1402, D, WR, 0, 10000, 32768, 100, 0, 0},
    {1410, D, WR, 0, 10064, 32768, 100, 0, 0},
    {1500, C, WR, 1, 10000, 32768, 0, 0, 0},
    {1510, C, WR, 1, 10064, 32768, 0, 0, 0},
};

/* Only version 8 can say these. */
static const struct event zoned[] = {
    {1600, D, WR | ZA, 0, 524288, 4096, 100, 0, 0}, {1650, C, WR | ZA, 0, 524288, 4096, 0, 0, 0},
    {1700, D, WR | ZR, 0, 1048576, 0, 100, 0, 0},   {1750, C, WR | ZR, 0, 1048576, 0, 0, 0, 0},
    {1800, D, WR | WZ, 0, 12000, 65536, 100, 0, 0}, {1850, C, WR | WZ, 0, 12000, 65536, 0, 0, 0},
};

#define BASE_NS 1000000000000ull
#define DEVICE  (254u << 20)

struct writer {
    FILE *files[2];
    bool big;
    bool v8;
    bool gaps;
    bool mixed;
    uint32_t sequence[2];
    uint64_t written;
};

static uint8_t *put(const struct writer *w, uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[w->big ? bytes - 1 - i : i] = (uint8_t)(value >> (8 * i));
    return at + bytes;
}

static void put_be64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        at[7 - i] = (uint8_t)(value >> (8 * i));
}

static void write_record(struct writer *w, const struct event *e, uint64_t time_ns,
                         uint32_t sequence, const void *pdu, size_t pdu_bytes)
{
    uint8_t record[64] = {0};
    uint8_t *at = put(w, record, 0x65617400u | (w->v8 ? 8 : 7), 4);
    at = put(w, at, sequence, 4);
    at = put(w, at, time_ns, 8);
    at = put(w, at, e->sector, 8);
    at = put(w, at, e->bytes, 4);
    if (w->v8) {
        at = put(w, at, e->pid, 4);
        at = put(w, at, (uint64_t)e->categories << 16 | e->act, 8);
    } else {
        at = put(w, at, (uint32_t)(e->categories << 16 | e->act), 4);
        at = put(w, at, e->pid, 4);
    }
    at = put(w, at, DEVICE, 4);
    at = put(w, at, e->cpu, 4);
    at = put(w, at, (uint16_t)e->error, 2);
    put(w, at, pdu_bytes, 2);
    FILE *file = w->files[w->mixed ? 0 : e->cpu];
    fwrite(record, 1, w->v8 ? 64 : 48, file);
    fwrite(pdu, 1, pdu_bytes, file);
}

static uint32_t extra_category(uint32_t act)
{
    switch (act & 0xff) {
    case D:
        return IS;
    case C:
        return CO;
    case R:
        return RQ;
    default:
        return QU;
    }
}

static void write_event(struct writer *w, const struct event *original, uint64_t time_ns)
{
    struct event e = *original;
    e.categories |= extra_category(e.act);
    uint8_t pdu[24] = {0};
    size_t pdu_bytes = 0;
    if (e.act & CGROUP)
        pdu_bytes = 8;
    if ((e.act & 0xff) == X) {
        put_be64(pdu + pdu_bytes, e.pdu);
        pdu_bytes += 8;
    } else if ((e.act & 0xff) == A) {
        put_be64(pdu + pdu_bytes + 8, e.sector - 500);
        pdu_bytes += 16;
    }
    uint32_t sequence = ++w->sequence[e.cpu];
    w->written++;
    /* The gap: the four events from the 27th on, all of the request that completes in parts. */
    if (w->gaps && w->written >= 25 && w->written < 29)
        return;
    write_record(w, &e, time_ns, sequence, pdu, pdu_bytes);
}

static void write_notes(struct writer *w)
{
    uint8_t clock[8];
    put(w, put(w, clock, 1700000000, 4), 123456789, 4);
    struct event e = {.act = 1, .categories = NO};
    write_record(w, &e, BASE_NS - 5000, 0, clock, sizeof clock);
    static const struct {
        uint32_t pid;
        char name[16];
    } names[] = {{100, "writer"}, {200, "reader"}, {201, "reader"}, {300, "kworker/0:1H"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        e = (struct event){.act = 0, .categories = NO, .pid = names[i].pid, .cpu = i % 2};
        write_record(w, &e, BASE_NS - 4000, 0, names[i].name, sizeof names[i].name);
    }
    char message[8 + 16] = "\1\2\3\4\5\6\7\0fio started";
    e = (struct event){.act = 2 | CGROUP, .categories = NO};
    write_record(w, &e, BASE_NS - 3000, 0, message, sizeof message);
}

/* With -m the events of a CPU come in chunks, so that they are out of order in the file. */
static void write_scenario(struct writer *w, const struct event *events, size_t count)
{
    if (!w->mixed) {
        for (size_t i = 0; i < count; i++)
            write_event(w, &events[i], BASE_NS + events[i].us * 1000ull);
        return;
    }
    for (size_t chunk = 0; chunk < count; chunk += 20)
        for (uint32_t cpu = 0; cpu < 2; cpu++)
            for (size_t i = chunk; i < chunk + 20 && i < count; i++)
                if (events[i].cpu == cpu)
                    write_event(w, &events[i], BASE_NS + events[i].us * 1000ull);
}

/* Reads in order of sector, one issued each 10 us, each completed 161 us after its issue: 17 in
 * flight. */
static void write_load(struct writer *w, uint64_t count)
{
    for (uint64_t i = 0; i < count + 16; i++) {
        uint64_t time_ns = BASE_NS + i * 10000;
        struct event e = {.categories = RD, .sector = i * 7919 % 1000000007 * 8, .bytes = 4096};
        e.cpu = (uint32_t)(i / 64 % 2);
        e.pid = 200;
        if (i < count) {
            static const uint32_t acts[] = {Q, G, I, D};
            for (size_t k = 0; k < sizeof acts / sizeof *acts; k++) {
                e.act = acts[k];
                write_event(w, &e, time_ns + k * 1000);
            }
        }
        if (i >= 16) {
            e.act = C;
            e.pid = 0;
            e.sector = (i - 16) * 7919 % 1000000007 * 8;
            write_event(w, &e, time_ns + 4000);
        }
    }
}

static FILE *open_file(const char *prefix, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", prefix, ending);
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

int main(int argc, char **argv)
{
    struct writer w = {0};
    uint64_t load = 0;
    int option;
    while ((option = getopt(argc, argv, "8bmgn:")) != -1) {
        w.v8 |= option == '8';
        w.big |= option == 'b';
        w.mixed |= option == 'm';
        w.gaps |= option == 'g';
        if (option == 'n')
            load = strtoull(optarg, NULL, 10);
        if (option == '?')
            return 2;
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: make_blktrace [-8] [-b] [-m] [-g] [-n COUNT] PREFIX\n");
        return 2;
    }
    w.files[0] = open_file(argv[optind], w.mixed ? "" : ".blktrace.0");
    if (!w.mixed)
        w.files[1] = open_file(argv[optind], ".blktrace.1");
    write_notes(&w);
    if (load) {
        write_load(&w, load);
    } else {
        write_scenario(&w, small, sizeof small / sizeof *small);
        if (w.v8)
            write_scenario(&w, zoned, sizeof zoned / sizeof *zoned);
    }
    bool failed = fclose(w.files[0]) != 0;
    if (w.files[1])
        failed |= fclose(w.files[1]) != 0;
    return failed;
}
