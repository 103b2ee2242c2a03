/* A pool of threads with one queue in and one out. Both have room for every slot, so that neither
 * ever runs over. */
#include "replay/engines/private/engine_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"
#include "traces/record/record.h"

struct engine_pool {
    int fd;
    bool is_block;
    uint32_t room; /* of both queues, a power of two */
    struct engine_io *in;
    struct engine_done *out;
    uint32_t in_head, in_tail;   /* under the lock */
    uint32_t out_head, out_tail; /* under the lock */
    atomic_uint done;            /* entries of out, readable without the lock */
    unsigned pending;            /* of the timing thread alone */
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t completion;
    bool stop;
    unsigned idle;
    unsigned thread_count, thread_max;
    pthread_t *threads;
};

static int transfer(const struct engine_pool *pool, const struct engine_io *io)
{
    struct iovec vector = {io->buffer, io->len_bytes};
    off_t offset = (off_t)io->offset_bytes;
    if (io->op == IO_READ) {
        ssize_t got = preadv(pool->fd, &vector, 1, offset);
        return got < 0 ? -errno : (int)got;
    }
    if (io->preflush && fdatasync(pool->fd) != 0)
        return -errno;
    ssize_t put = pwritev2(pool->fd, &vector, 1, offset, io->fua ? RWF_DSYNC : 0);
    return put < 0 ? -errno : (int)put;
}

/* One I/O, start to end. Bytes, 0 or -errno. */
static int carry_out(const struct engine_pool *pool, const struct engine_io *io)
{
    uint64_t range[2] = {io->offset_bytes, io->len_bytes};
    int rc;
    switch (io->op) {
    case IO_READ:
    case IO_WRITE:
        return transfer(pool, io);
    case IO_FLUSH:
        rc = fdatasync(pool->fd);
        break;
    case IO_DISCARD:
        rc = pool->is_block ? ioctl(pool->fd, BLKDISCARD, range)
                            : fallocate(pool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                        (off_t)range[0], (off_t)range[1]);
        break;
    case IO_WRITE_ZEROES:
        rc = fallocate(pool->fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, (off_t)range[0],
                       (off_t)range[1]);
        if (rc != 0 && errno == EOPNOTSUPP && !pool->is_block)
            rc = fallocate(pool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)range[0],
                           (off_t)range[1]);
        break;
    default:
        return -EOPNOTSUPP;
    }
    return rc ? -errno : 0;
}

static void *pool_main(void *argument)
{
    struct engine_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->in_head == pool->in_tail && !pool->stop) {
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->idle--;
        }
        if (pool->in_head == pool->in_tail)
            break;
        struct engine_io io = pool->in[pool->in_head++ & (pool->room - 1)];
        pthread_mutex_unlock(&pool->lock);
        int result = carry_out(pool, &io);
        pthread_mutex_lock(&pool->lock);
        pool->out[pool->out_tail++ & (pool->room - 1)] = (struct engine_done){io.slot, result};
        atomic_fetch_add(&pool->done, 1);
        pthread_cond_signal(&pool->completion);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct engine_pool *engine_pool_create(const struct engine_setup *setup, unsigned threads)
{
    struct engine_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->fd = setup->fd;
    pool->is_block = setup->is_block;
    pool->thread_max = threads;
    for (pool->room = 1; pool->room < setup->in_flight;)
        pool->room *= 2;
    pool->in = calloc(pool->room, sizeof *pool->in);
    pool->out = calloc(pool->room, sizeof *pool->out);
    pool->threads = calloc(threads, sizeof *pool->threads);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->completion, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!pool->in || !pool->out || !pool->threads) {
        engine_pool_free(pool);
        return NULL;
    }
    return pool;
}

void engine_pool_free(struct engine_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->completion);
    free(pool->in);
    free(pool->out);
    free(pool->threads);
    free(pool);
}

/* One thread more; signals stay with the main thread. */
static int add_thread(struct engine_pool *pool)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&pool->threads[pool->thread_count], NULL, pool_main, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pool->thread_count++;
    return -rc;
}

int engine_pool_start(struct engine_pool *pool, const struct engine_io *ios, unsigned count)
{
    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < count; i++)
        pool->in[pool->in_tail++ & (pool->room - 1)] = ios[i];
    unsigned waiting = pool->in_tail - pool->in_head;
    unsigned idle = pool->idle;
    if (count > 1)
        pthread_cond_broadcast(&pool->work);
    else
        pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    pool->pending += count;
    int rc = 0;
    while (rc == 0 && waiting > idle && pool->thread_count < pool->thread_max) {
        rc = add_thread(pool);
        idle++;
    }
    return pool->thread_count ? 0 : rc;
}

unsigned engine_pool_reap(struct engine_pool *pool, struct engine_done *done, unsigned max)
{
    if (atomic_load_explicit(&pool->done, memory_order_relaxed) == 0)
        return 0;
    unsigned count = 0;
    pthread_mutex_lock(&pool->lock);
    while (count < max && pool->out_head != pool->out_tail)
        done[count++] = pool->out[pool->out_head++ & (pool->room - 1)];
    atomic_fetch_sub(&pool->done, count);
    pthread_mutex_unlock(&pool->lock);
    pool->pending -= count;
    return count;
}

void engine_pool_sleep(struct engine_pool *pool, uint64_t timeout_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t at = (uint64_t)until.tv_nsec + timeout_ns;
    until.tv_sec += (time_t)(at / NS_PER_S);
    until.tv_nsec = (long)(at % NS_PER_S);
    pthread_mutex_lock(&pool->lock);
    if (pool->out_head == pool->out_tail)
        pthread_cond_timedwait(&pool->completion, &pool->lock, &until);
    pthread_mutex_unlock(&pool->lock);
}

unsigned engine_pool_pending(const struct engine_pool *pool)
{
    return pool->pending;
}
