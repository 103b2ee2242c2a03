/* Replay engines: how an I/O gets to the kernel and its completion back. One file and one row in
 * the table of engines.c each; all calls come from the one timing thread.
 *
 * The loop queues I/Os ahead of their time (no kernel call), stamps the time, and submits. A slot
 * is the loop's number for an I/O in flight; it comes back with the completion. */
#ifndef IOREEL_REPLAY_ENGINES_H
#define IOREEL_REPLAY_ENGINES_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct engine_setup {
    int fd;
    const char *path; /* of the target, for messages */
    bool is_block;
    uint32_t in_flight;     /* most I/Os at once; slots are below it */
    struct iovec memory[2]; /* all buffers lie in these; iov_len 0: not there */
};

struct engine_io {
    uint64_t offset_bytes;
    uint64_t len_bytes;
    void *buffer; /* of reads and writes */
    uint32_t slot;
    uint8_t memory; /* which of engine_setup.memory the buffer lies in */
    uint8_t op;     /* enum io_op, up to IO_WRITE_ZEROES */
    bool fua;       /* a write that is durable when it completes */
    bool preflush;  /* a write that comes after a flush */
};

struct engine_done {
    uint32_t slot;
    int32_t result; /* bytes of a read or write, 0 for the rest, or -errno */
};

struct engine {
    const char *name;
    const char *summary;
    /* 0 or -errno with a text that says what this machine lacks. */
    int (*open)(const struct engine_setup *setup, void **state, struct error *err);
    void (*close)(void *state); /* nothing is in flight any more; NULL is fine */
    /* What the kernel granted: "single_issuer,defer_taskrun,registered_file". */
    const char *(*granted)(void *state);
    /* Takes an I/O without a kernel call. false: no room, submit first. */
    bool (*queue)(void *state, const struct engine_io *io);
    /* Hands all that is queued to the kernel, and waits for `wait` completions (0: does not). 0 or
     * -errno. An interrupted wait is 0. */
    int (*submit)(void *state, unsigned wait);
    /* Completions that are there, without sleeping. */
    unsigned (*reap)(void *state, struct engine_done *done, unsigned max);
    /* Sleeps until a completion is there, the time is over, or a signal came. Submits nothing. */
    void (*sleep)(void *state, uint64_t timeout_ns);
};

/* NULL when there is no such engine. */
const struct engine *engine_find(const char *name);
/* "io_uring, threads" */
const char *engine_names(void);
/* The engine of that name, or the first of the table that opens on this machine when it is NULL. */
int engine_open(const char *name, const struct engine_setup *setup, const struct engine **engine,
                void **state, struct error *err);

extern const struct engine engine_uring;
extern const struct engine engine_threads;

#endif
