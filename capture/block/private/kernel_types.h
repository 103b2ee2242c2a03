/* The few kernel types that block.bpf.c reads, by hand: libbpf moves every access to where the
 * running kernel keeps the field (CO-RE), so a field's place here means nothing and a type holds
 * only what is used. A name with three underscores is the shape an older kernel had. */
#ifndef IOREEL_CAPTURE_KERNEL_TYPES_H
#define IOREEL_CAPTURE_KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
    int major;
    int first_minor;
};

struct request_queue {
    struct gendisk *disk; /* since 5.17 */
};

struct block_device {
    struct gendisk *bd_disk;
};

struct bvec_iter {
    __u64 bi_sector;
};

struct bio {
    struct block_device *bi_bdev; /* since 5.12 */
    struct bvec_iter bi_iter;
    void *bi_io_vec;
};

struct blk_mq_hw_ctx {
    unsigned int queue_num;
};

enum mq_rq_state {
    MQ_RQ_IDLE = 0,
    MQ_RQ_IN_FLIGHT = 1,
    MQ_RQ_COMPLETE = 2,
};

struct request {
    struct request_queue *q;
    struct blk_mq_hw_ctx *mq_hctx;
    unsigned int cmd_flags;
    int tag;
    int internal_tag; /* the I/O scheduler's tag, which a request keeps when it is given back */
    unsigned int __data_len;
    __u64 __sector;
    struct bio *bio;
    struct bio *biotail;
    __u64 start_time_ns;
    enum mq_rq_state state;
};

struct request___before_5_17 {
    struct gendisk *rq_disk;
};

#pragma clang attribute pop

#endif
