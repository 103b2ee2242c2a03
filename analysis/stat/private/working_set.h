/* How many distinct 4 KiB blocks were touched: exact up to a million, beyond that estimated with a
 * HyperLogLog of 2^14 registers (Flajolet, Fusy, Gandouet and Meunier, 2007; standard error
 * 1.04 / sqrt(2^14) = 0.81 %). */
#ifndef IOREEL_ANALYSIS_WORKING_SET_H
#define IOREEL_ANALYSIS_WORKING_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKING_SET_BLOCK_BYTES 4096u
#define WORKING_SET_EXACT_MAX   (1u << 20) /* 16 MiB of memory when full */

struct working_set;

/* Exact up to `exact_max` blocks, at most WORKING_SET_EXACT_MAX. NULL when out of memory. */
struct working_set *working_set_create(uint32_t exact_max);
void working_set_free(struct working_set *set);

/* Adds the blocks that [offset, offset + len) touches on a device. */
void working_set_add(struct working_set *set, unsigned device, uint64_t offset_bytes,
                     uint64_t len_bytes);

/* Bytes of the distinct blocks; *error_pct is 0 when exact, else the standard error. */
uint64_t working_set_bytes(const struct working_set *set, double *error_pct);

#endif
