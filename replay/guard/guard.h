/* Everything about what a replay may write to.
 *
 * A target is opened for writing only when asked, exclusively, and the descriptor is kept until the
 * end. Never one that is mounted, swap, a part of a device-mapper or MD device, in use by another
 * program, reserved by another host, or the backing file of a loop device. One that bears data (a
 * file system, a partition table, any signature that libblkid knows; a file that exists) only when
 * the user names exactly it. */
#ifndef IOREEL_REPLAY_GUARD_H
#define IOREEL_REPLAY_GUARD_H

#include "common/error.h"
#include "replay/guard/replay_target.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct guard_request {
    const char *path;
    bool write;            /* the user allowed it and there is something to write */
    uint64_t create_bytes; /* make a new file of this size; 0: the target exists */
    const char *overwrite; /* the id that the user gave, or NULL */
};

/* Opens the target as the request allows; without request->write for reading only, and then without
 * any check but its kind. 0 or -errno with one line saying what is in the way; the target is closed
 * then. On success the caller calls replay_target_close(). */
int guard_open(const struct guard_request *request, struct replay_target *target,
               struct error *err);

/* The pieces, for tests. Each returns 1 when it found something, and says in `text` what. */

/* A mount in a mountinfo(5) text whose device is one of `devices`. */
int guard_find_mount(FILE *mountinfo, const dev_t *devices, size_t count, char *text, size_t size);
/* A swap area in the text of /proc/swaps that is one of `devices`, or the file `st_dev`, `inode`.
 */
int guard_find_swap(FILE *swaps, const dev_t *devices, size_t count, dev_t file_device,
                    ino_t file_inode, char *text, size_t size);

/* What --overwrite must say: WWID or serial of the disk, with "-partN" for a partition; the backing
 * file of a loop device. false when the device has none. */
bool guard_device_id(dev_t device, char *id, size_t size);

#endif
