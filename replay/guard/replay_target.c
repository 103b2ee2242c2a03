/* Identifies a target, asks for O_DIRECT, finds its holes and describes it from sysfs. Opens
 * nothing for writing. */
#include "replay/guard/replay_target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/units.h"

int replay_sysfs_read(dev_t device, const char *name, char *text, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(device), minor(device), name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got = read(fd, text, size - 1);
    int rc = got < 0 ? -errno : (int)got;
    close(fd);
    if (rc < 0)
        return rc;
    while (rc > 0 && isspace((unsigned char)text[rc - 1]))
        rc--;
    text[rc] = '\0';
    return rc;
}

static int identify_block(struct replay_target *target, struct error *err)
{
    uint64_t size;
    int align;
    if (ioctl(target->fd, BLKGETSIZE64, &size) != 0 || ioctl(target->fd, BLKSSZGET, &align) != 0)
        return error_errno(err, errno, "%s: cannot ask its size", target->path);
    target->align_bytes = align >= 512 ? (uint32_t)align : 512;
    target->size_bytes = size;
    char link[256];
    char path[64];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(target->device),
             minor(target->device));
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length > 0) {
        link[length] = '\0';
        const char *slash = strrchr(link, '/');
        snprintf(target->name, sizeof target->name, "%s", slash ? slash + 1 : link);
    }
    return 0;
}

static void identify_file(struct replay_target *target, uint64_t size)
{
    target->align_bytes = 512;
#ifdef STATX_DIOALIGN
    struct statx extended;
    if (statx(target->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &extended) == 0 &&
        (extended.stx_mask & STATX_DIOALIGN) && extended.stx_dio_offset_align > 512)
        target->align_bytes = extended.stx_dio_offset_align;
#endif
    target->size_bytes = size;
}

int replay_target_identify(struct replay_target *target, const char *path, int fd,
                           struct error *err)
{
    struct stat st;
    target->path = path;
    target->fd = fd;
    if (fstat(fd, &st) != 0)
        return error_errno(err, errno, "%s", path);
    target->is_block = S_ISBLK(st.st_mode);
    target->device = target->is_block ? st.st_rdev : st.st_dev;
    target->inode = target->is_block ? 0 : st.st_ino;
    snprintf(target->name, sizeof target->name, "%s", path);
    if (S_ISCHR(st.st_mode))
        return error_set(err, ENOTBLK,
                         "%s: is a character device; name the block device of the same disk", path);
    if (!target->is_block && !S_ISREG(st.st_mode))
        return error_set(err, ENOTBLK, "%s: is neither a block device nor a regular file", path);
    if (target->is_block) {
        int rc = identify_block(target, err);
        if (rc)
            return rc;
    } else {
        identify_file(target, (uint64_t)st.st_size);
    }
    /* Set here and not at open(), so that probing could read through the page cache before. */
    int flags = fcntl(fd, F_GETFL);
    target->direct = flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
    target->size_bytes -= target->size_bytes % target->align_bytes;
    if (target->size_bytes == 0)
        return error_set(err, ENOSPC, "%s: is smaller than one block of %u bytes", path,
                         target->align_bytes);
    return 0;
}

void replay_target_close(struct replay_target *target, bool undo)
{
    if (target->fd < 0)
        return;
    struct stat by_path;
    if (undo && target->created && stat(target->path, &by_path) == 0 &&
        by_path.st_dev == target->device && by_path.st_ino == target->inode)
        unlink(target->path);
    close(target->fd);
    target->fd = -1;
}

/* Walks SEEK_HOLE and SEEK_DATA over [start, start + size) of a file. */
static int collect_holes(int fd, uint64_t start, uint64_t size, struct replay_hole **holes,
                         size_t *count)
{
    size_t room = 0;
    uint64_t at = start;
    uint64_t end = start + size;
    while (at < end && *count < TARGET_HOLES_MAX) {
        off_t hole = lseek(fd, (off_t)at, SEEK_HOLE);
        if (hole < 0 || (uint64_t)hole >= end)
            return 0;
        off_t data = lseek(fd, hole, SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            return -errno;
        uint64_t hole_end = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
        if (*count == room) {
            room = room ? room * 2 : 64;
            struct replay_hole *grown = realloc(*holes, room * sizeof *grown);
            if (!grown)
                return -ENOMEM;
            *holes = grown;
        }
        (*holes)[(*count)++] = (struct replay_hole){(uint64_t)hole - start, hole_end - start};
        at = hole_end;
    }
    return 0;
}

/* The backing file of a loop device, opened for reading; -1 when it is none or cannot be seen. */
static int open_backing_file(const struct replay_target *target, uint64_t *offset)
{
    char path[4096];
    char text[32];
    if (replay_sysfs_read(target->device, "loop/backing_file", path, sizeof path) <= 0)
        return -1;
    *offset = 0;
    if (replay_sysfs_read(target->device, "loop/offset", text, sizeof text) > 0)
        units_parse_digits(text, strlen(text), INT64_MAX, offset);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

int replay_target_holes(const struct replay_target *target, struct replay_hole **holes,
                        size_t *count, bool *known, struct error *err)
{
    uint64_t offset = 0;
    *holes = NULL;
    *count = 0;
    int fd = target->is_block ? open_backing_file(target, &offset) : target->fd;
    *known = fd >= 0;
    if (fd < 0)
        return 0;
    int rc = collect_holes(fd, offset, target->size_bytes, holes, count);
    if (target->is_block)
        close(fd);
    if (rc) {
        free(*holes);
        *holes = NULL;
        *count = 0;
        return error_errno(err, -rc, "%s: cannot tell what was written of it", target->path);
    }
    return 0;
}

static void describe_text(dev_t device, const char *name, char **field)
{
    char text[256];
    if (replay_sysfs_read(device, name, text, sizeof text) > 0)
        trace_set_text(field, text);
}

static void describe_number(dev_t device, const char *name, uint64_t factor, uint64_t *field)
{
    char text[64];
    uint64_t value;
    int length = replay_sysfs_read(device, name, text, sizeof text);
    if (length > 0 && units_parse_digits(text, (size_t)length, UINT64_MAX / 1024, &value) == 0)
        *field = value * factor;
}

/* "none [mq-deadline] kyber": the one in brackets. */
static void describe_scheduler(dev_t device, char **field)
{
    char text[256];
    if (replay_sysfs_read(device, "queue/scheduler", text, sizeof text) <= 0)
        return;
    char *open = strchr(text, '[');
    char *end = open ? strchr(open, ']') : NULL;
    if (!end)
        return;
    *end = '\0';
    trace_set_text(field, open + 1);
}

void replay_target_describe(const struct replay_target *target, struct trace_device *device)
{
    device->capacity_bytes = target->size_bytes;
    device->logical_block_bytes = target->align_bytes;
    if (!target->is_block)
        return;
    dev_t id = target->device;
    describe_text(id, "device/model", &device->model);
    describe_text(id, "device/firmware_rev", &device->firmware);
    describe_text(id, "device/rev", &device->firmware);
    describe_text(id, "device/serial", &device->serial);
    describe_text(id, "device/wwid", &device->serial);
    describe_text(id, "wwid", &device->serial);
    describe_text(id, "queue/write_cache", &device->write_cache);
    describe_scheduler(id, &device->scheduler);
    describe_number(id, "queue/physical_block_size", 1, &device->physical_block_bytes);
    describe_number(id, "queue/nr_requests", 1, &device->nr_requests);
    describe_number(id, "device/queue_depth", 1, &device->queue_depth);
    describe_number(id, "queue/max_sectors_kb", KIB, &device->max_sectors_bytes);
    describe_number(id, "queue/wbt_lat_usec", 1, &device->wbt_lat_us);
    describe_number(id, "queue/rotational", 1, &device->rotational);
    char path[96];
    char link[512];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/device/driver", major(id), minor(id));
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length > 0) {
        link[length] = '\0';
        const char *slash = strrchr(link, '/');
        trace_set_text(&device->driver, slash ? slash + 1 : link);
    } else if (replay_sysfs_read(id, "loop/backing_file", link, sizeof link) > 0) {
        trace_set_text(&device->driver, "loop");
    }
}
