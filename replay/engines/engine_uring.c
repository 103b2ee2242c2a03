/* The io_uring engine. The ring is set up with every flag that makes completions cheap, and with
 * fewer when the kernel is older; file and buffers are registered when the limits allow.
 *
 * Completions are run by this thread when it asks (DEFER_TASKRUN), so nothing interrupts the wait
 * for a deadline; the kernel raises a flag in shared memory when there is something to run. A flush
 * is an fdatasync, write_zeroes a fallocate; a discard of a block device is the block layer's own
 * command (Linux 6.12), and a blocking ioctl in a thread before that. Where a file system cannot
 * zero a range, a hole is punched, which reads as zeros too. */
#include "replay/engines/engines.h"

#include <errno.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/log.h"
#include "common/units.h"
#include "replay/engines/private/engine_pool.h"
#include "traces/record/record.h"

#define SQ_ENTRIES   256u
#define POOL_THREADS 8u
#define POOL_POLL_NS (200 * NS_PER_US)
#define NOT_A_SLOT   UINT64_MAX /* user_data of the flush before a write */

/* BLOCK_URING_CMD_DISCARD of linux/blkdev.h, which Debian 12's headers do not have yet. */
#define URING_CMD_DISCARD _IO(0x12, 0)

struct uring_state {
    struct io_uring ring;
    struct engine_setup setup;
    bool file_registered;
    bool memory_registered;
    bool discard_by_pool; /* this kernel has no discard command */
    bool zeroes_by_punch; /* this file system has no zero range */
    struct engine_pool *pool;
    struct engine_io pool_queue[SQ_ENTRIES];
    unsigned pool_queued;
    struct engine_io *retries; /* by slot, to be tried again by the pool; len_bytes 0: none */
    char granted[160];
};

/* From the most to the least that kernels may grant. */
struct setup_flags {
    unsigned flags;
    const char *text;
};

static const struct setup_flags setup_flags[] = {
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
         IORING_SETUP_SUBMIT_ALL,
     "single_issuer,defer_taskrun"},
    {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
     "coop_taskrun"},
    {0, "plain"},
};

static int set_up_ring(struct uring_state *s, struct error *err)
{
    unsigned cq_entries = SQ_ENTRIES * 2;
    while (cq_entries < s->setup.in_flight * 2)
        cq_entries *= 2;
    int rc = -EINVAL;
    for (size_t i = 0; i < sizeof setup_flags / sizeof *setup_flags && rc == -EINVAL; i++) {
        struct io_uring_params params = {
            .flags = setup_flags[i].flags | IORING_SETUP_CQSIZE,
            .cq_entries = cq_entries,
        };
        rc = io_uring_queue_init_params(SQ_ENTRIES, &s->ring, &params);
        snprintf(s->granted, sizeof s->granted, "%s", setup_flags[i].text);
    }
    if (rc)
        return error_errno(err, -rc,
                           "io_uring: this kernel or container does not allow it "
                           "(/proc/sys/kernel/io_uring_disabled, seccomp)");
    return 0;
}

static void grant(struct uring_state *s, const char *what)
{
    size_t used = strlen(s->granted);
    snprintf(s->granted + used, sizeof s->granted - used, ",%s", what);
}

static void uring_close(void *state)
{
    struct uring_state *s = state;
    if (!s)
        return;
    engine_pool_free(s->pool);
    io_uring_queue_exit(&s->ring);
    free(s->retries);
    free(s);
}

static int uring_open(const struct engine_setup *setup, void **state, struct error *err)
{
    struct uring_state *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, ENOMEM, "out of memory");
    s->setup = *setup;
    int rc = set_up_ring(s, err);
    if (rc) {
        free(s);
        return rc;
    }
    s->pool = engine_pool_create(setup, POOL_THREADS);
    s->retries = calloc(setup->in_flight, sizeof *s->retries);
    if (!s->pool || !s->retries) {
        uring_close(s);
        return error_set(err, ENOMEM, "out of memory");
    }
    s->file_registered = io_uring_register_files(&s->ring, &setup->fd, 1) == 0;
    if (s->file_registered)
        grant(s, "registered_file");
    struct iovec memory[2];
    unsigned count = 0;
    for (unsigned i = 0; i < 2; i++)
        if (setup->memory[i].iov_len > 0)
            memory[count++] = setup->memory[i];
    /* Both or none: the index of a buffer is its place in the setup. */
    if (count > 0 && setup->memory[0].iov_len > 0)
        s->memory_registered = io_uring_register_buffers(&s->ring, memory, count) == 0;
    if (s->memory_registered)
        grant(s, "registered_buffers");
    log_detail("io_uring: %s", s->granted);
    *state = s;
    return 0;
}

static const char *uring_granted(void *state)
{
    return ((struct uring_state *)state)->granted;
}

static void fill_discard(struct uring_state *s, struct io_uring_sqe *sqe,
                         const struct engine_io *io, int fd)
{
    if (!s->setup.is_block) {
        io_uring_prep_fallocate(sqe, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                (off_t)io->offset_bytes, (off_t)io->len_bytes);
        return;
    }
    memset(sqe, 0, sizeof *sqe);
    sqe->opcode = IORING_OP_URING_CMD;
    sqe->fd = fd;
    sqe->cmd_op = URING_CMD_DISCARD;
    sqe->addr = io->offset_bytes;
    sqe->addr3 = io->len_bytes;
    s->retries[io->slot] = *io;
}

static void fill_sqe(struct uring_state *s, struct io_uring_sqe *sqe, const struct engine_io *io)
{
    int fd = s->file_registered ? 0 : s->setup.fd;
    unsigned length = (unsigned)io->len_bytes;
    switch (io->op) {
    case IO_READ:
        if (s->memory_registered)
            io_uring_prep_read_fixed(sqe, fd, io->buffer, length, io->offset_bytes, io->memory);
        else
            io_uring_prep_read(sqe, fd, io->buffer, length, io->offset_bytes);
        break;
    case IO_WRITE:
        if (s->memory_registered)
            io_uring_prep_write_fixed(sqe, fd, io->buffer, length, io->offset_bytes, io->memory);
        else
            io_uring_prep_write(sqe, fd, io->buffer, length, io->offset_bytes);
        sqe->rw_flags = io->fua ? RWF_DSYNC : 0;
        break;
    case IO_FLUSH:
        io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
        break;
    case IO_WRITE_ZEROES:
        io_uring_prep_fallocate(sqe, fd,
                                (s->zeroes_by_punch ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE) |
                                    FALLOC_FL_KEEP_SIZE,
                                (off_t)io->offset_bytes, (off_t)io->len_bytes);
        if (!s->setup.is_block && !s->zeroes_by_punch)
            s->retries[io->slot] = *io;
        break;
    default:
        fill_discard(s, sqe, io, fd);
    }
    sqe->flags = s->file_registered ? IOSQE_FIXED_FILE : 0;
    io_uring_sqe_set_data64(sqe, io->slot);
}

static bool uring_queue(void *state, const struct engine_io *io)
{
    struct uring_state *s = state;
    if (io->op == IO_DISCARD && s->setup.is_block && s->discard_by_pool) {
        if (s->pool_queued == SQ_ENTRIES)
            return false;
        s->pool_queue[s->pool_queued++] = *io;
        return true;
    }
    if (io_uring_sq_space_left(&s->ring) < 2)
        return false;
    if (io->preflush) {
        struct engine_io flush = {.op = IO_FLUSH};
        struct io_uring_sqe *first = io_uring_get_sqe(&s->ring);
        fill_sqe(s, first, &flush);
        first->flags |= IOSQE_IO_LINK;
        io_uring_sqe_set_data64(first, NOT_A_SLOT);
    }
    fill_sqe(s, io_uring_get_sqe(&s->ring), io);
    return true;
}

static int uring_submit(void *state, unsigned wait)
{
    struct uring_state *s = state;
    if (s->pool_queued > 0) {
        int rc = engine_pool_start(s->pool, s->pool_queue, s->pool_queued);
        if (rc)
            return rc;
        s->pool_queued = 0;
    }
    if (wait > 0 && engine_pool_pending(s->pool) > 0)
        wait = 0;
    int rc = wait > 0 ? io_uring_submit_and_wait(&s->ring, wait) : io_uring_submit(&s->ring);
    return rc >= 0 || rc == -EINTR || rc == -EAGAIN || rc == -EBUSY ? 0 : rc;
}

/* What this kernel or file system has no request for is tried again by the pool, which knows
 * another way; so are all that follow. */
static bool falls_back(struct uring_state *s, uint64_t slot, int result)
{
    struct engine_io io = s->retries[slot];
    if (io.len_bytes == 0)
        return false;
    s->retries[slot].len_bytes = 0;
    if (result != -EOPNOTSUPP && result != -EINVAL && result != -ENOTTY)
        return false;
    if (io.op == IO_DISCARD)
        s->discard_by_pool = true;
    else
        s->zeroes_by_punch = true;
    return engine_pool_start(s->pool, &io, 1) == 0;
}

static unsigned uring_reap(void *state, struct engine_done *done, unsigned max)
{
    struct uring_state *s = state;
    struct io_uring_cqe *cqes[64];
    unsigned count = io_uring_peek_batch_cqe(&s->ring, cqes, max < 64 ? max : 64);
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t slot = cqes[i]->user_data;
        if (slot == NOT_A_SLOT || falls_back(s, slot, cqes[i]->res))
            continue;
        done[kept++] = (struct engine_done){(uint32_t)slot, cqes[i]->res};
    }
    if (count > 0)
        io_uring_cq_advance(&s->ring, count);
    if (engine_pool_pending(s->pool) > 0 && kept < max)
        kept += engine_pool_reap(s->pool, done + kept, max - kept);
    return kept;
}

static void uring_sleep(void *state, uint64_t timeout_ns)
{
    struct uring_state *s = state;
    if (engine_pool_pending(s->pool) > 0 && timeout_ns > POOL_POLL_NS)
        timeout_ns = POOL_POLL_NS;
    struct __kernel_timespec timeout = {
        .tv_sec = (long long)(timeout_ns / NS_PER_S),
        .tv_nsec = (long long)(timeout_ns % NS_PER_S),
    };
    struct io_uring_cqe *cqe;
    io_uring_wait_cqes(&s->ring, &cqe, 1, &timeout, NULL);
}

const struct engine engine_uring = {
    .name = "io_uring",
    .summary = "one ring, registered file and buffers",
    .open = uring_open,
    .close = uring_close,
    .granted = uring_granted,
    .queue = uring_queue,
    .submit = uring_submit,
    .reap = uring_reap,
    .sleep = uring_sleep,
};
