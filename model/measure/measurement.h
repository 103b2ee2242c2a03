/* A table of measurements: what a benchmark or an article states, one row a run.
 *
 * Unknown numbers are NAN, unknown texts are empty. Each number that was read from text carries
 * half a unit of its last printed digit, so that a check never blames rounding. The table owns its
 * rows and notes; rows move when the table grows, so keep indexes, not pointers. */
#ifndef IOREEL_MODEL_MEASUREMENT_H
#define IOREEL_MODEL_MEASUREMENT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEASUREMENT_ROWS_MAX  1000000u
#define MEASUREMENT_NOTES_MAX 64u
#define MEASUREMENT_TEXT      64

enum measurement_pattern { PATTERN_UNKNOWN, PATTERN_RANDOM, PATTERN_SEQUENTIAL };

/* A number and half a unit of the last digit that was printed. */
struct stated {
    double value;
    double half_digit;
};

struct measurement {
    uint64_t line; /* where it stands in its file; 0: nowhere in particular */
    char source[MEASUREMENT_TEXT];
    char device[MEASUREMENT_TEXT];
    char controller[MEASUREMENT_TEXT];
    char workload[MEASUREMENT_TEXT];
    char run[MEASUREMENT_TEXT]; /* a job's or a file's name: tells rows apart, not sweeps */
    unsigned pattern;           /* enum measurement_pattern */
    double read_pct;            /* share of reads, 0 to 100 */
    double block_bytes;         /* of one I/O */
    double threads;             /* or jobs, or workers */
    double iodepth;             /* outstanding I/Os of each thread */
    struct stated iops;         /* per second */
    struct stated throughput;   /* bytes per second */
    struct stated latency_us;   /* mean, submission to completion */
    double latency_sd_us;       /* standard deviation of the latency */
    double p50_us, p90_us, p99_us;
    struct stated cpu_pct; /* of the machine that submitted */
    double cores;          /* of that machine */
    double nodes;          /* of the cluster */
    double usd_per_gb, usd_per_iops;
    bool throughput_unit_open; /* "MB/s" that may mean MiB/s: measurements_settle() decides */
};

struct measurements {
    struct measurement *rows;
    size_t count;
    size_t capacity;
    char *notes[MEASUREMENT_NOTES_MAX]; /* what the reader found out and did not leave unsaid */
    size_t note_count;
    size_t incomplete;     /* rows without what their tool always prints; a note names each */
    size_t decimal_commas; /* numbers read with one; measurements_settle() says so */
};

void measurement_clear(struct measurement *m);

/* threads × iodepth, or NAN when neither is known; one that is unknown counts as 1. */
double measurement_depth(const struct measurement *m);

/* "source, device or controller, workload", for people. */
#define MEASUREMENT_LABEL 200
const char *measurement_label(const struct measurement *m, char out[MEASUREMENT_LABEL]);

void measurements_init(struct measurements *table);
void measurements_free(struct measurements *table);

/* 0, -ENOMEM or -EFBIG beyond MEASUREMENT_ROWS_MAX. */
int measurements_add(struct measurements *table, const struct measurement *row, struct error *err);

/* Keeps the first MEASUREMENT_NOTES_MAX different notes. */
void measurements_note(struct measurements *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Decides what an open "MB/s" meant: 10^6 or 2^20 bytes, whichever more of the rows from `first` on
 * agree with within 1 % by IOPS × size. Writes a note when it was not 10^6. */
void measurements_settle(struct measurements *table, size_t first);

/* Copies at most MEASUREMENT_TEXT - 1 bytes, control characters as spaces, trimmed. */
void measurement_set_text(char to[MEASUREMENT_TEXT], const char *from, size_t length);

const char *measurement_pattern_name(unsigned pattern); /* "random", "sequential", "" */

#endif
