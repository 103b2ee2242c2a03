/* Bytes of a file or a pipe. */
#include "traces/reel/private/reel_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int reel_source_open(struct reel_source *s, const char *path, struct error *err)
{
    *s = (struct reel_source){.fd = -1};
    bool standard = strcmp(path, "-") == 0;
    s->path = strdup(standard ? "stdin" : path);
    s->fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (!s->path || s->fd < 0) {
        int rc = error_errno(err, errno, "%s", path);
        reel_source_close(s);
        return rc;
    }
    struct stat st;
    if (fstat(s->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        reel_source_close(s);
        return error_set(err, EISDIR, "%s: is a folder, not a trace", path);
    }
    /* A regular file that stands at its beginning; anything else is read once, from front to back.
     */
    s->seekable = S_ISREG(st.st_mode) && lseek(s->fd, 0, SEEK_CUR) == 0;
    s->size = s->seekable ? (uint64_t)st.st_size : 0;
    return 0;
}

void reel_source_close(struct reel_source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    *s = (struct reel_source){.fd = -1};
}

int reel_source_read_at(struct reel_source *s, uint64_t at, void *to, size_t count, size_t *got,
                        struct error *err)
{
    *got = 0;
    while (*got < count) {
        ssize_t n = pread(s->fd, (char *)to + *got, count - *got, (off_t)(at + *got));
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "%s: byte %llu", s->path,
                               (unsigned long long)(at + *got));
        *got += (size_t)n;
    }
    return 0;
}

int reel_source_read(struct reel_source *s, void *to, size_t count, size_t *got, struct error *err)
{
    if (s->seekable) {
        int rc = reel_source_read_at(s, s->position, to, count, got, err);
        s->position += *got;
        return rc;
    }
    *got = 0;
    while (*got < count) {
        ssize_t n = read(s->fd, (char *)to + *got, count - *got);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "%s: byte %llu", s->path,
                               (unsigned long long)s->position);
        *got += (size_t)n;
        s->position += (uint64_t)n;
    }
    return 0;
}

int reel_source_skip(struct reel_source *s, uint64_t count, uint64_t *moved, struct error *err)
{
    if (s->seekable) {
        uint64_t left = s->size > s->position ? s->size - s->position : 0;
        *moved = count < left ? count : left;
        s->position += *moved;
        return 0;
    }
    char buffer[16384];
    *moved = 0;
    while (*moved < count) {
        uint64_t want = count - *moved;
        size_t got;
        int rc =
            reel_source_read(s, buffer, want < sizeof buffer ? want : sizeof buffer, &got, err);
        if (rc)
            return rc;
        if (got == 0)
            return 0;
        *moved += got;
    }
    return 0;
}
