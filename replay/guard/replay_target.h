/* What a trace is replayed on: a block device or a regular file, opened once and then known by its
 * file descriptor alone. Opening for writing goes through the guard and nowhere else. */
#ifndef IOREEL_REPLAY_TARGET_H
#define IOREEL_REPLAY_TARGET_H

#include "common/error.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct replay_target {
    const char *path; /* as the user gave it; not owned */
    int fd;
    bool is_block;
    bool writable;
    bool created;         /* by this run, with --create */
    bool direct;          /* O_DIRECT was granted */
    dev_t device;         /* of the block device itself; of a file the device it lies on */
    ino_t inode;          /* of a file */
    uint64_t size_bytes;  /* what I/O can use: whole blocks */
    uint32_t align_bytes; /* offsets and lengths are multiples of this; a power of two */
    char name[256];       /* "loop0", or the file's path */
};

/* A range of a file that was never written. */
struct replay_hole {
    uint64_t start_bytes;
    uint64_t end_bytes;
};

#define TARGET_HOLES_MAX 1000000u

/* Fills everything but writable and created from an open descriptor: fstat, sizes, alignment, and
 * O_DIRECT when the file system has it. 0 or -errno: what is neither block device nor regular file
 * is refused. */
int replay_target_identify(struct replay_target *target, const char *path, int fd,
                           struct error *err);

/* Closes it; a file that this run created and that nothing was written to is removed first when
 * `undo` is true. */
void replay_target_close(struct replay_target *target, bool undo);

/* The ranges never written, sorted, for a file or a loop device's backing file. *known says whether
 * that can be told at all; where it cannot there are no holes. The caller frees *holes. 0 or
 * -errno. */
int replay_target_holes(const struct replay_target *target, struct replay_hole **holes,
                        size_t *count, bool *known, struct error *err);

/* Driver, model, capacity, queue limits and so on, into the device of a trace. */
void replay_target_describe(const struct replay_target *target, struct trace_device *device);

/* Reads /sys/dev/block/MAJ:MIN/NAME without the newline. The length, or -errno. */
int replay_sysfs_read(dev_t device, const char *name, char *text, size_t size);

#endif
