/* Exact percentiles of I/O sizes: traces use few distinct sizes, so they are counted one by one;
 * past SIZE_COUNTS_MAX distinct ones a histogram takes the rest. */
#ifndef IOREEL_ANALYSIS_SIZE_COUNTS_H
#define IOREEL_ANALYSIS_SIZE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_COUNTS_MAX 1024u

struct size_count {
    uint64_t bytes;
    uint64_t count; /* 0: free */
};

/* All zero is empty; owns nothing. */
struct size_counts {
    uint64_t count;
    double sum;
    uint32_t distinct;
    uint32_t last;        /* slot of the last size added: most repeat */
    uint64_t other_count; /* of sizes that found no slot; kept by power of two */
    uint64_t other[65];
    struct size_count slots[2 * SIZE_COUNTS_MAX];
};

void size_counts_add(struct size_counts *s, uint64_t bytes);
double size_counts_mean(const struct size_counts *s);
/* Nearest rank. Exact while at most SIZE_COUNTS_MAX sizes are distinct. */
uint64_t size_counts_percentile(const struct size_counts *s, double percent);

#endif
