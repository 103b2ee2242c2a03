/* Looks through /proc and /sys for users of a device. A whole disk is asked with all its
 * partitions, a partition with its disk; a disk that has several paths is asked by each. */
#include "replay/guard/private/guard_use.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "replay/guard/guard.h"

#define DEVICES_MAX 512

/* The devices whose use would be a use of the target. */
struct device_set {
    dev_t devices[DEVICES_MAX];
    size_t count;
};

static void set_add(struct device_set *set, dev_t device)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->devices[i] == device)
            return;
    if (set->count < DEVICES_MAX)
        set->devices[set->count++] = device;
}

static bool holds(const dev_t *devices, size_t count, dev_t device)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i] == device)
            return true;
    return false;
}

static void sysfs_path(dev_t device, char *path, size_t size, const char *name)
{
    snprintf(path, size, "/sys/dev/block/%u:%u/%s", major(device), minor(device), name);
}

static bool parse_device(const char *text, dev_t *device)
{
    unsigned int high;
    unsigned int low;
    if (sscanf(text, "%u:%u", &high, &low) != 2)
        return false;
    *device = makedev(high, low);
    return true;
}

static bool is_partition(dev_t device)
{
    char text[32];
    return replay_sysfs_read(device, "partition", text, sizeof text) > 0;
}

/* The disk of a partition; the device itself for a disk. */
static dev_t disk_of(dev_t device)
{
    char text[32];
    dev_t disk;
    if (is_partition(device) && replay_sysfs_read(device, "../dev", text, sizeof text) > 0 &&
        parse_device(text, &disk))
        return disk;
    return device;
}

/* Adds a disk and its partitions. */
static void add_disk(struct device_set *set, dev_t disk)
{
    char path[256];
    set_add(set, disk);
    sysfs_path(disk, path, sizeof path, "");
    DIR *dir = opendir(path);
    if (!dir)
        return;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char name[300];
        char text[32];
        dev_t device;
        snprintf(name, sizeof name, "%.200s/partition", entry->d_name);
        if (entry->d_name[0] == '.' || replay_sysfs_read(disk, name, text, sizeof text) <= 0)
            continue;
        snprintf(name, sizeof name, "%.200s/dev", entry->d_name);
        if (replay_sysfs_read(disk, name, text, sizeof text) > 0 && parse_device(text, &device))
            set_add(set, device);
    }
    closedir(dir);
}

static bool disk_id(dev_t disk, char *id, size_t size)
{
    static const char *const names[] = {
        "loop/backing_file", "wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (replay_sysfs_read(disk, names[i], id, size) > 0)
            return true;
    return false;
}

bool guard_device_id(dev_t device, char *id, size_t size)
{
    char number[32];
    if (!disk_id(disk_of(device), id, size))
        return false;
    if (replay_sysfs_read(device, "partition", number, sizeof number) > 0) {
        size_t used = strlen(id);
        snprintf(id + used, size - used, "-part%s", number);
    }
    return true;
}

/* Other disks of the same identity: multipath siblings, loop devices over one file. */
static void add_siblings(struct device_set *set, dev_t device)
{
    static char own[4096];
    static char other[4096];
    dev_t disk = disk_of(device);
    if (!disk_id(disk, own, sizeof own))
        return;
    DIR *dir = opendir("/sys/block");
    if (!dir)
        return;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char path[300];
        char text[32] = "";
        dev_t found;
        snprintf(path, sizeof path, "/sys/block/%.200s/dev", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!file)
            continue;
        bool parsed = fgets(text, sizeof text, file) && parse_device(text, &found);
        fclose(file);
        if (parsed && found != disk && disk_id(found, other, sizeof other) &&
            strcmp(own, other) == 0)
            add_disk(set, found);
    }
    closedir(dir);
}

/* mountinfo writes blanks and backslashes as octal escapes. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && isdigit((unsigned char)from[1]) && isdigit((unsigned char)from[2]) &&
            isdigit((unsigned char)from[3])) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

int guard_find_mount(FILE *mountinfo, const dev_t *devices, size_t count, char *text, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (!found && getline(&line, &room, mountinfo) > 0) {
        char number[64];
        int where_start = 0;
        int where_end = 0;
        dev_t device;
        if (sscanf(line, "%*s %*s %63s %*s %n%*s%n", number, &where_start, &where_end) != 1 ||
            where_end == 0 || !parse_device(number, &device))
            continue;
        /* btrfs and friends have a device number of their own: look at the source as well. */
        bool match = holds(devices, count, device);
        char *dash = strstr(line + where_end, " - ");
        line[where_end] = '\0';
        if (!match && dash) {
            char *source = strchr(dash + 3, ' ');
            char *end = source ? strpbrk(source + 1, " \n") : NULL;
            struct stat st;
            if (end) {
                *end = '\0';
                unescape(source + 1);
                match = source[1] == '/' && stat(source + 1, &st) == 0 && S_ISBLK(st.st_mode) &&
                        holds(devices, count, st.st_rdev);
            }
        }
        if (match) {
            unescape(line + where_start);
            snprintf(text, size, "mounted on %.300s", line + where_start);
            found = 1;
        }
    }
    free(line);
    return found;
}

int guard_find_swap(FILE *swaps, const dev_t *devices, size_t count, dev_t file_device,
                    ino_t file_inode, char *text, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (!found && getline(&line, &room, swaps) > 0) {
        char *end = strpbrk(line, " \t\n");
        struct stat st;
        if (!end || line[0] != '/')
            continue;
        *end = '\0';
        unescape(line);
        if (stat(line, &st) != 0)
            continue;
        if (S_ISBLK(st.st_mode)
                ? holds(devices, count, st.st_rdev)
                : count == 0 && st.st_dev == file_device && st.st_ino == file_inode) {
            snprintf(text, size, "in use as swap");
            found = 1;
        }
    }
    free(line);
    return found;
}

/* A device-mapper, MD or bcache device on top of one of the set. */
static bool find_holder(const struct device_set *set, char *text, size_t size)
{
    for (size_t i = 0; i < set->count; i++) {
        char path[256];
        sysfs_path(set->devices[i], path, sizeof path, "holders");
        DIR *dir = opendir(path);
        struct dirent *entry;
        bool found = false;
        while (dir && !found && (entry = readdir(dir))) {
            if (entry->d_name[0] == '.')
                continue;
            snprintf(text, size, "a part of %.100s (device mapper, RAID or cache)", entry->d_name);
            found = true;
        }
        if (dir)
            closedir(dir);
        if (found)
            return true;
    }
    return false;
}

int guard_check_device(const char *path, dev_t device, int fd, struct error *err)
{
    struct device_set set = {.count = 0};
    char text[512];
    if (is_partition(device)) {
        set_add(&set, device);
        set_add(&set, disk_of(device));
    } else {
        add_disk(&set, device);
    }
    add_siblings(&set, device);
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    if (!mountinfo)
        return error_errno(err, errno, "/proc/self/mountinfo: cannot tell what is mounted");
    int found = guard_find_mount(mountinfo, set.devices, set.count, text, sizeof text);
    fclose(mountinfo);
    FILE *swaps = found ? NULL : fopen("/proc/swaps", "re");
    if (swaps) {
        found = guard_find_swap(swaps, set.devices, set.count, 0, 0, text, sizeof text);
        fclose(swaps);
    }
    if (!found)
        found = find_holder(&set, text, sizeof text);
    if (!found)
        found = guard_reservation(fd, text, sizeof text) ? 2 : 0;
    if (!found)
        return 0;
    return error_set(err, EBUSY,
                     "%s: %s %s; nothing is written to a device in use, choose a scratch device",
                     path, found == 2 ? "has" : "is", text);
}

/* Which loop device has the file as its backing file? */
static bool find_loop(dev_t device, ino_t inode, char *name, size_t size)
{
    DIR *dir = opendir("/sys/block");
    struct dirent *entry;
    bool found = false;
    while (dir && !found && (entry = readdir(dir))) {
        char path[300];
        static char backing[4096];
        struct stat st;
        snprintf(path, sizeof path, "/sys/block/%.200s/loop/backing_file", entry->d_name);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        if (fgets(backing, sizeof backing, file)) {
            backing[strcspn(backing, "\n")] = '\0';
            found = stat(backing, &st) == 0 && st.st_dev == device && st.st_ino == inode;
        }
        fclose(file);
        if (found)
            snprintf(name, size, "%.200s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

int guard_check_file(const char *path, dev_t device, ino_t inode, struct error *err)
{
    char text[256];
    if (find_loop(device, inode, text, sizeof text))
        return error_set(err, EBUSY,
                         "%s: is the backing file of %s; detach that, or replay on /dev/%s", path,
                         text, text);
    FILE *swaps = fopen("/proc/swaps", "re");
    if (!swaps)
        return 0;
    int found = guard_find_swap(swaps, NULL, 0, device, inode, text, sizeof text);
    fclose(swaps);
    return found ? error_set(err, EBUSY, "%s: is %s; choose a scratch file", path, text) : 0;
}

void guard_pause(void)
{
    struct timespec pause = {.tv_nsec = 25000000};
    nanosleep(&pause, NULL);
}

int guard_check_unshared(const char *path, int fd, struct error *err)
{
    for (int tries = 0; tries < GUARD_TRIES; tries++) {
        if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0) {
            fcntl(fd, F_SETLEASE, F_UNLCK);
            return 0;
        }
        if (errno != EAGAIN && errno != EBUSY)
            return 0; /* a file system without leases */
        guard_pause();
    }
    return error_set(err, EBUSY,
                     "%s: another program has it open; nothing is written to a file in use", path);
}
