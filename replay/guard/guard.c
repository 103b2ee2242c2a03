/* Opens targets. The checks run on what the descriptor is, never on its path; the exclusive open
 * closes the window between check and use. */
#include "replay/guard/guard.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/guard/private/guard_use.h"

/* libblkid's names of all that it finds on the device: "ext4", "gpt". 1 found, 0 nothing, -errno.
 */
static int find_signature(int fd, char *text, size_t size)
{
    blkid_probe probe = blkid_new_probe();
    if (!probe)
        return -ENOMEM;
    int rc = -EIO;
    if (blkid_probe_set_device(probe, fd, 0, 0) != 0)
        goto out;
    blkid_probe_enable_superblocks(probe, 1);
    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
                                                 BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
    blkid_probe_enable_partitions(probe, 1);
    blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC);
    rc = blkid_do_safeprobe(probe);
    if (rc == -2) {
        snprintf(text, size, "several signatures at once");
        rc = 1;
        goto out;
    }
    if (rc < 0) {
        rc = -EIO;
        goto out;
    }
    if (rc == 1) {
        rc = 0;
        goto out;
    }
    const char *type = NULL;
    if (blkid_probe_lookup_value(probe, "TYPE", &type, NULL) == 0)
        snprintf(text, size, "a signature of %s", type);
    else if (blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL) == 0)
        snprintf(text, size, "a partition table (%s)", type);
    else
        snprintf(text, size, "a signature");
    rc = 1;
out:
    blkid_free_probe(probe);
    return rc;
}

/* A device that bears data is written to only when the user named exactly it. */
static int check_signature(const struct guard_request *request, const struct replay_target *target,
                           int fd, struct error *err)
{
    char found[128];
    int rc = find_signature(fd, found, sizeof found);
    if (rc < 0)
        return error_errno(err, -rc, "%s: cannot be searched for file systems and other signatures",
                           request->path);
    char id[4096];
    bool has_id = guard_device_id(target->device, id, sizeof id);
    if (request->overwrite && (!has_id || strcmp(request->overwrite, id) != 0))
        return error_set(err, EPERM, "%s: --overwrite %.200s names another device; %s%.300s",
                         request->path, request->overwrite,
                         has_id ? "this one is " : "this one has no WWID or serial to name it by",
                         has_id ? id : "");
    if (rc == 0 || request->overwrite)
        return 0;
    if (!has_id)
        return error_set(err, EPERM,
                         "%s: bears %s and has no WWID or serial by which --overwrite could name "
                         "it; wipe it yourself (wipefs) if it may be destroyed",
                         request->path, found);
    return error_set(err, EPERM, "%s: bears %s; to destroy it, add --overwrite %.400s",
                     request->path, found, id);
}

static int open_block_for_writing(const struct guard_request *request,
                                  const struct replay_target *seen, struct error *err)
{
    int read_only = 0;
    if (ioctl(seen->fd, BLKROGET, &read_only) == 0 && read_only)
        return error_set(err, EROFS,
                         "%s: is read-only; nothing can be written to it (blockdev --setrw, or "
                         "--writes-as-reads)",
                         request->path);
    int rc = guard_check_device(request->path, seen->device, seen->fd, err);
    if (rc)
        return rc;
    int fd = -1;
    for (int tries = 0; fd < 0 && tries < GUARD_TRIES; tries++) {
        if (tries > 0)
            guard_pause();
        fd = open(request->path, O_RDWR | O_EXCL | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && errno != EBUSY)
            break;
    }
    if (fd < 0 && errno == EBUSY)
        return error_set(err, EBUSY,
                         "%s: is held exclusively by another program or a mounted file system; "
                         "nothing is written to a device in use",
                         request->path);
    return fd < 0 ? error_errno(err, errno, "%s: cannot be opened for writing", request->path) : fd;
}

/* A file that exists holds something: it is written to only when named, never while in use. */
static int open_file_for_writing(const struct guard_request *request,
                                 const struct replay_target *seen, struct error *err)
{
    int rc = guard_check_file(request->path, seen->device, seen->inode, err);
    if (rc)
        return rc;
    if (!request->overwrite)
        return error_set(err, EPERM,
                         "%s: exists and would be overwritten; make a new file with --create SIZE, "
                         "or add --overwrite %.400s",
                         request->path, request->path);
    struct stat named;
    if (stat(request->overwrite, &named) != 0 || named.st_dev != seen->device ||
        named.st_ino != seen->inode)
        return error_set(err, EPERM, "%s: --overwrite %.400s names another file", request->path,
                         request->overwrite);
    int fd = open(request->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(err, errno, "%s: cannot be opened for writing", request->path);
    return fd;
}

static int open_for_writing(const struct guard_request *request, struct replay_target *target,
                            struct error *err)
{
    int fd = target->is_block ? open_block_for_writing(request, target, err)
                              : open_file_for_writing(request, target, err);
    if (fd < 0) {
        close(target->fd);
        target->fd = -1;
        return fd;
    }
    /* What was checked is what is open now, or nothing is. */
    struct stat st;
    bool same = fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) == target->is_block &&
                (target->is_block ? st.st_rdev == target->device
                                  : st.st_dev == target->device && st.st_ino == target->inode);
    int rc = same ? 0
                  : error_set(err, ESTALE, "%s: was replaced while it was being checked; try again",
                              request->path);
    close(target->fd);
    target->fd = -1;
    if (rc == 0)
        rc = target->is_block ? check_signature(request, target, fd, err)
                              : guard_check_unshared(request->path, fd, err);
    if (rc == 0)
        rc = replay_target_identify(target, request->path, fd, err);
    if (rc) {
        close(fd);
        target->fd = -1;
        return rc;
    }
    target->writable = true;
    return 0;
}

static int create_file(const struct guard_request *request, struct replay_target *target,
                       struct error *err)
{
    int fd = open(request->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return error_set(err, EEXIST, "%s: exists already; --create makes a new file only",
                         request->path);
    if (fd < 0)
        return error_errno(err, errno, "%s: cannot be created", request->path);
    int rc = 0;
    if (request->create_bytes > INT64_MAX || ftruncate(fd, (off_t)request->create_bytes) != 0)
        rc = error_errno(err, request->create_bytes > INT64_MAX ? EFBIG : errno,
                         "%s: cannot be made %llu bytes long", request->path,
                         (unsigned long long)request->create_bytes);
    if (rc == 0)
        rc = replay_target_identify(target, request->path, fd, err);
    if (rc) {
        unlink(request->path);
        close(fd);
        target->fd = -1;
        return rc;
    }
    target->created = true;
    target->writable = true;
    return 0;
}

int guard_open(const struct guard_request *request, struct replay_target *target, struct error *err)
{
    *target = (struct replay_target){.path = request->path, .fd = -1};
    if (request->create_bytes)
        return create_file(request, target, err);
    int fd = open(request->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return error_set(err, ENOENT, "%s: there is no such device or file%s", request->path,
                         request->write ? "; --create SIZE makes a new file" : "");
    if (fd < 0)
        return error_errno(err, errno, "%s", request->path);
    int rc = replay_target_identify(target, request->path, fd, err);
    if (rc == 0 && request->write)
        return open_for_writing(request, target, err);
    if (rc) {
        close(fd);
        target->fd = -1;
    }
    return rc;
}
