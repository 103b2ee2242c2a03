/* Where a reader gets its bytes: a file that can be sought in, or a pipe read once. Private. */
#ifndef IOREEL_TRACES_REEL_SOURCE_H
#define IOREEL_TRACES_REEL_SOURCE_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_source {
    char *path;
    int fd;
    bool seekable;
    uint64_t size; /* of a seekable file, when it was opened */
    uint64_t position;
};

int reel_source_open(struct reel_source *s, const char *path, struct error *err);
void reel_source_close(struct reel_source *s);

/* Reads up to `count` bytes on from the position; fewer only at the end. *got or -errno. */
int reel_source_read(struct reel_source *s, void *to, size_t count, size_t *got, struct error *err);
/* At a place of a seekable file, without moving the position. */
int reel_source_read_at(struct reel_source *s, uint64_t at, void *to, size_t count, size_t *got,
                        struct error *err);
/* Moves on by `count`; *moved is less at the end. */
int reel_source_skip(struct reel_source *s, uint64_t count, uint64_t *moved, struct error *err);

#endif
