/* Output files: refused when they exist, unless asked. */
#include "common/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int output_file_open(const char *path, bool overwrite, struct error *err)
{
    if (strcmp(path, "-") == 0) {
        if (isatty(STDOUT_FILENO))
            return error_set(err, EINVAL,
                             "-o -: a trace is not written to a terminal; "
                             "redirect stdout or name a file");
        int fd = dup(STDOUT_FILENO);
        return fd < 0 ? error_errno(err, errno, "stdout") : fd;
    }
    struct stat st;
    if (stat(path, &st) == 0) {
        /* A pipe made by the user, and /dev/null, are fine; a disk given as output is a mistake. */
        if (S_ISBLK(st.st_mode))
            return error_set(err, EINVAL, "%s: is a block device; an output is a file", path);
        if (S_ISREG(st.st_mode) && !overwrite)
            return error_set(err, EEXIST,
                             "%s: exists already; choose another name or add --overwrite-output",
                             path);
    }
    int exclusive = overwrite || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) ? O_TRUNC : O_EXCL;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | exclusive, 0666);
    return fd < 0 ? error_errno(err, errno, "%s", path) : fd;
}

int output_file_write(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = write(fd, at, length);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        at += written;
        length -= (size_t)written;
    }
    return 0;
}
