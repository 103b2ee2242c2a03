/* The kernel's numbers for operations, request flags and completion statuses, in the record's
 * terms. The numbers move between kernels, the names do not: they are read from the kernel's own
 * BTF. */
#ifndef IOREEL_CAPTURE_REQUEST_CODES_H
#define IOREEL_CAPTURE_REQUEST_CODES_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

#define REQUEST_OPS       256
#define REQUEST_FLAG_BITS 32

struct request_codes {
    uint8_t op[REQUEST_OPS];          /* enum io_op by the low 8 bits of cmd_flags */
    uint16_t flag[REQUEST_FLAG_BITS]; /* enum io_flag by bit number of cmd_flags, or 0 */
    uint16_t op_flag[REQUEST_OPS];    /* passthrough */
    bool status_is_errno;             /* the tracepoint gives an errno */
};

/* kernel may be NULL: then the numbers of Linux 6.1. */
void request_codes_load(struct request_codes *codes, const struct btf *kernel);

uint16_t request_codes_flags(const struct request_codes *codes, uint32_t cmd_flags);

/* 0, or the errno that the kernel itself makes of the status (blk-core.c, blk_errors[]). */
uint8_t request_codes_errno(const struct request_codes *codes, uint8_t status);

#endif
