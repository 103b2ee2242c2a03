/* A bounded ring of slots between exactly one producer thread and one consumer thread, without a
 * lock: the indexes are atomics on cache lines of their own. It hands out slot numbers; the slots
 * themselves belong to the caller.
 *
 * Each side may poll (replay_ring_can_*), which never enters the kernel, or wait. The timing loop
 * polls; the loader and the writer, at the other ends, wait. A post costs a system call only when
 * somebody sleeps at the other end. */
#ifndef IOREEL_REPLAY_RING_H
#define IOREEL_REPLAY_RING_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct replay_ring {
    size_t slots;
    sem_t free;                      /* waited on by a sleeping producer */
    sem_t filled;                    /* waited on by a sleeping consumer */
    _Alignas(64) atomic_size_t head; /* slots ever consumed */
    _Alignas(64) atomic_size_t tail; /* slots ever produced */
};

static inline void replay_ring_init(struct replay_ring *ring, size_t slots)
{
    ring->slots = slots;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    sem_init(&ring->free, 0, (unsigned)slots);
    sem_init(&ring->filled, 0, 0);
}

static inline void replay_ring_destroy(struct replay_ring *ring)
{
    sem_destroy(&ring->free);
    sem_destroy(&ring->filled);
}

/* Producer: is there a slot to fill? Its number is replay_ring_fill_slot(). */
static inline bool replay_ring_can_fill(struct replay_ring *ring)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    return tail - atomic_load_explicit(&ring->head, memory_order_acquire) < ring->slots;
}

static inline size_t replay_ring_fill_slot(struct replay_ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_relaxed) % ring->slots;
}

/* Producer: hands the filled slot over. */
static inline void replay_ring_filled(struct replay_ring *ring)
{
    atomic_fetch_add_explicit(&ring->tail, 1, memory_order_release);
    sem_post(&ring->filled);
}

/* Consumer: is there a slot to take? Its number is replay_ring_take_slot(). */
static inline bool replay_ring_can_take(struct replay_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    return atomic_load_explicit(&ring->tail, memory_order_acquire) != head;
}

static inline size_t replay_ring_take_slot(struct replay_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_relaxed) % ring->slots;
}

/* Consumer: gives the slot back. */
static inline void replay_ring_taken(struct replay_ring *ring)
{
    atomic_fetch_add_explicit(&ring->head, 1, memory_order_release);
    sem_post(&ring->free);
}

/* The waits, each for the side that sleeps. A side that waits must do so before every slot: the
 * semaphore counts slots. A side that polls leaves its semaphore alone. */
static inline void replay_ring_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        continue;
}

#endif
