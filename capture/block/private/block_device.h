/* A block device as the capture sees it: which whole disk a name means, and what sysfs says of it.
 * Nothing here opens a device node for reading or writing. */
#ifndef IOREEL_CAPTURE_BLOCK_DEVICE_H
#define IOREEL_CAPTURE_BLOCK_DEVICE_H

#include "common/error.h"
#include "traces/record/trace_meta.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCK_DEVICE_NAME 64

struct block_device {
    char name[BLOCK_DEVICE_NAME]; /* of the whole disk in sysfs: "sda", "nvme0n1" */
    unsigned major;
    unsigned minor;
    uint32_t hw_queues;
    uint32_t tags;  /* most requests one hardware queue can hold, the scheduler's included */
    bool partition; /* the user named a partition of it */
};

/* Takes a node ("/dev/sda1", "/dev/disk/by-id/...") or a disk's bare name ("sda") to its whole
 * disk, and checks that its requests can be watched. 0 or -errno with the reason. */
int block_device_find(const char *path, struct block_device *device, struct error *err);

/* Whether a file on the device number (a file's st_dev) lies on this disk or a partition of it. */
bool block_device_holds(const struct block_device *device, dev_t dev);

/* Fills what sysfs says; what it does not say stays unknown. */
void block_device_describe(const struct block_device *device, struct trace_device *into);

#endif
