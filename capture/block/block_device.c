/* Devices by name, and their sysfs folders read. */
#include "capture/block/private/block_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/units.h"

#define SYSFS_TEXT 512

/* A sysfs file of the disk without its newline and outer blanks; false when absent or empty. */
static bool read_text(const char *name, const char *file, char text[SYSFS_TEXT])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/block/%s/%s", name, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, SYSFS_TEXT - 1);
    close(fd);
    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' ' || text[got - 1] == '\0'))
        got--;
    if (got <= 0)
        return false;
    text[got] = '\0';
    size_t blanks = strspn(text, " ");
    memmove(text, text + blanks, (size_t)got - blanks + 1);
    return text[0] != '\0';
}

static uint64_t read_number(const char *name, const char *file)
{
    char text[SYSFS_TEXT];
    uint64_t value;
    if (!read_text(name, file, text) ||
        units_parse_digits(text, strlen(text), UINT64_MAX - 1, &value))
        return TRACE_UNKNOWN;
    return value;
}

static uint64_t scaled(uint64_t value, uint64_t unit)
{
    return value == TRACE_UNKNOWN || value > UINT64_MAX / unit ? TRACE_UNKNOWN : value * unit;
}

/* The last part of what a link points to: a driver's name. */
static bool read_link_name(const char *name, const char *link, char text[SYSFS_TEXT])
{
    char path[PATH_MAX];
    char target[PATH_MAX];
    snprintf(path, sizeof path, "/sys/block/%s/%s", name, link);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    snprintf(text, SYSFS_TEXT, "%s", basename(target));
    return true;
}

/* "/dev/sda, /dev/sdb" of the devices that this one is made of. */
static void list_slaves(const char *name, char *text, size_t room)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/block/%s/slaves", name);
    text[0] = '\0';
    DIR *folder = opendir(path);
    if (!folder)
        return;
    size_t used = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        int added =
            snprintf(text + used, room - used, "%s/dev/%s", used ? ", " : "", entry->d_name);
        if (added < 0 || (size_t)added >= room - used)
            break;
        used += (size_t)added;
    }
    closedir(folder);
}

static int refuse_without_requests(const char *path, const char *name, struct error *err)
{
    char slaves[256];
    list_slaves(name, slaves, sizeof slaves);
    if (slaves[0])
        return error_set(err, EOPNOTSUPP,
                         "%s: %s passes its I/O on and has no requests of its own; "
                         "capture what lies beneath it: %s",
                         path, name, slaves);
    return error_set(err, EOPNOTSUPP,
                     "%s: %s handles its I/O without block requests and names no device beneath; "
                     "there is nothing that a capture could see",
                     path, name);
}

/* The whole disk of a device number, by its folder in sysfs. */
static int find_disk(const char *path, dev_t dev, struct block_device *device, struct error *err)
{
    char link[64];
    char folder[PATH_MAX];
    char part[PATH_MAX + 16];
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
    if (!realpath(link, folder))
        return error_errno(err, errno, "%s: device %u:%u is not in /sys/dev/block", path,
                           major(dev), minor(dev));
    snprintf(part, sizeof part, "%s/partition", folder);
    device->partition = access(part, F_OK) == 0;
    char *disk = device->partition ? dirname(folder) : folder;
    snprintf(device->name, sizeof device->name, "%s", basename(disk));
    return 0;
}

/* Room for a tag of either kind, with some to spare for a scheduler that is switched on later. */
static uint32_t tags_of(const char *name)
{
    uint64_t most = 256;
    uint64_t tags = read_number(name, "mq/0/nr_tags");
    uint64_t requests = read_number(name, "queue/nr_requests");
    if (tags != TRACE_UNKNOWN && tags > most)
        most = tags;
    if (requests != TRACE_UNKNOWN && requests > most)
        most = requests;
    return most > 65536 ? 65536 : (uint32_t)most;
}

static uint32_t count_hw_queues(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/block/%s/mq", name);
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    uint32_t queues = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        queues += entry->d_name[0] != '.';
    closedir(folder);
    return queues;
}

int block_device_find(const char *path, struct block_device *device, struct error *err)
{
    struct stat st;
    char node[PATH_MAX];
    *device = (struct block_device){0};
    snprintf(node, sizeof node, "%s%s", strchr(path, '/') ? "" : "/dev/", path);
    if (stat(node, &st) != 0) {
        if (errno == ENOENT)
            return error_set(err, ENOENT, "%s: there is no such device; lsblk lists them", path);
        return error_errno(err, errno, "%s", path);
    }
    if (!S_ISBLK(st.st_mode))
        return error_set(err, ENOTBLK,
                         "%s: is not a block device; capture takes a disk such as /dev/sda", path);
    int rc = find_disk(path, st.st_rdev, device, err);
    if (rc)
        return rc;
    char text[SYSFS_TEXT];
    if (!read_text(device->name, "dev", text) ||
        sscanf(text, "%u:%u", &device->major, &device->minor) != 2)
        return error_set(err, ENODEV, "%s: /sys/block/%s/dev cannot be read", path, device->name);
    device->hw_queues = count_hw_queues(device->name);
    if (device->hw_queues == 0)
        return refuse_without_requests(path, device->name, err);
    device->tags = tags_of(device->name);
    return 0;
}

bool block_device_holds(const struct block_device *device, dev_t dev)
{
    struct block_device other = {0};
    struct error ignored;
    return find_disk("", dev, &other, &ignored) == 0 && strcmp(other.name, device->name) == 0;
}

/* "[none] mq-deadline" → "none". */
static void chosen(char *text)
{
    char *open = strchr(text, '[');
    char *close = open ? strchr(open, ']') : NULL;
    if (close) {
        *close = '\0';
        memmove(text, open + 1, strlen(open + 1) + 1);
    }
}

/* The driver of the controller: a SCSI disk's own driver is only "sd". */
static bool find_driver(const char *name, char text[SYSFS_TEXT])
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    snprintf(path, sizeof path, "/sys/block/%s/device", name);
    if (realpath(path, folder)) {
        const char *host = strstr(folder, "/host");
        unsigned number;
        if (host && sscanf(host, "/host%u/", &number) == 1) {
            snprintf(path, sizeof path, "/sys/class/scsi_host/host%u/proc_name", number);
            FILE *file = fopen(path, "re");
            bool got = file && fgets(text, SYSFS_TEXT, file);
            if (file)
                fclose(file);
            if (got) {
                text[strcspn(text, "\n")] = '\0';
                return text[0] != '\0' && strcmp(text, "<NULL>") != 0;
            }
        }
    }
    if (read_link_name(name, "device/device/driver", text) ||
        read_link_name(name, "device/driver", text))
        return true;
    snprintf(text, SYSFS_TEXT, "%.*s", (int)strcspn(name, "0123456789"), name);
    return text[0] != '\0';
}

static void set_first(char **field, const char *name, const char *const *files)
{
    char text[SYSFS_TEXT];
    for (; *files; files++) {
        if (read_text(name, *files, text)) {
            trace_set_text(field, text);
            return;
        }
    }
}

void block_device_describe(const struct block_device *device, struct trace_device *into)
{
    const char *name = device->name;
    char text[SYSFS_TEXT];
    if (find_driver(name, text))
        trace_set_text(&into->driver, text);
    set_first(&into->model, name, (const char *const[]){"device/model", NULL});
    set_first(&into->firmware, name,
              (const char *const[]){"device/firmware_rev", "device/rev", NULL});
    set_first(&into->serial, name,
              (const char *const[]){"wwid", "device/wwid", "device/serial", "serial",
                                    "loop/backing_file", NULL});
    if (read_text(name, "queue/scheduler", text)) {
        chosen(text);
        trace_set_text(&into->scheduler, text);
    }
    set_first(&into->write_cache, name, (const char *const[]){"queue/write_cache", NULL});
    into->capacity_bytes = scaled(read_number(name, "size"), 512);
    into->logical_block_bytes = read_number(name, "queue/logical_block_size");
    into->physical_block_bytes = read_number(name, "queue/physical_block_size");
    into->queue_depth = read_number(name, "device/queue_depth");
    if (into->queue_depth == TRACE_UNKNOWN)
        into->queue_depth = read_number(name, "mq/0/nr_tags");
    into->hw_queues = device->hw_queues;
    into->nr_requests = read_number(name, "queue/nr_requests");
    into->max_sectors_bytes = scaled(read_number(name, "queue/max_sectors_kb"), KIB);
    into->wbt_lat_us = read_number(name, "queue/wbt_lat_usec");
    into->rotational = read_number(name, "queue/rotational");
}
