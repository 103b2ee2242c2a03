/* Opening the file that a command writes, without ever losing one that is there. */
#ifndef IOREEL_COMMON_OUTPUT_FILE_H
#define IOREEL_COMMON_OUTPUT_FILE_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens `path` for writing and returns its file descriptor, which the caller closes; "-" is stdout.
 * An output that exists is refused unless `overwrite`; a device is refused always. -errno. */
int output_file_open(const char *path, bool overwrite, struct error *err);

/* Writes all of it, through short writes and EINTR. 0 or -errno. */
int output_file_write(int fd, const void *bytes, size_t length);

#endif
