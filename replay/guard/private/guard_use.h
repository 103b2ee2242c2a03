/* Who uses a device or file: mounts, swap, holders, loop devices, reservations, siblings by another
 * path. Part of the guard; reads only. */
#ifndef IOREEL_REPLAY_GUARD_USE_H
#define IOREEL_REPLAY_GUARD_USE_H

#include "common/error.h"

#include <sys/types.h>

/* 0 when nothing uses the block device, its partitions, or the same disk by another path; else
 * -EBUSY with the line. `fd` is open for reading and is asked for reservations. */
int guard_check_device(const char *path, dev_t device, int fd, struct error *err);

/* The same for a regular file: no swap area, no loop device's backing file. */
int guard_check_file(const char *path, dev_t device, ino_t inode, struct error *err);

/* Does another program have the file behind `fd` open? By asking for a write lease, which the
 * kernel grants to a sole opener (fcntl(2)). */
int guard_check_unshared(const char *path, int fd, struct error *err);

/* Is the disk behind `fd` reserved (SCSI persistent reservation, NVMe reservation)? Only reads the
 * report. 1 with the text, 0 when not or when it cannot be asked. */
int guard_reservation(int fd, char *text, size_t size);

/* A program that has just ended can hold what it used for a moment longer: the kernel takes an
 * io_uring down behind its back, and udev looks at what was written. So a refusal is only final
 * after this many tries, guard_pause() between them: a second in all. */
#define GUARD_TRIES 40
void guard_pause(void);

#endif
