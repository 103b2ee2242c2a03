/* The table of measurement readers, and what they share: the file in memory, lines, the bids. */
#include "model/measure/measure_readers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct measure_reader *const measure_readers[] = {
    &measure_fio,
    &measure_diskspd_xml,
    &measure_crystaldiskmark,
    &measure_diskspd,
    &measure_vdbench,
    &measure_article,
    &measure_csv,
    NULL,
};

bool measure_next_line(const struct measure_input *in, size_t *at, const char **line,
                       size_t *length)
{
    if (*at >= in->length)
        return false;
    const char *start = in->text + *at;
    const char *end = memchr(start, '\n', in->length - *at);
    size_t count = end ? (size_t)(end - start) : in->length - *at;
    *at += count + 1;
    if (count && start[count - 1] == '\r')
        count--;
    *line = start;
    *length = count;
    return true;
}

const char *measure_find(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if (strncasecmp(text + i, word, n) == 0)
            return text + i;
    return NULL;
}

int measurements_read_bytes(const struct measure_input *in, struct measurements *table,
                            struct error *err)
{
    const struct measure_reader *best = NULL;
    int best_bid = 0;
    for (size_t i = 0; measure_readers[i]; i++) {
        int bid = measure_readers[i]->bid(in);
        if (bid > best_bid) {
            best_bid = bid;
            best = measure_readers[i];
        }
    }
    if (in->length == 0)
        return error_set(err, EBADMSG, "%s: the file is empty", in->name);
    if (!best)
        return error_set(
            err, EBADMSG,
            "%s: no table of measurements that ioreel knows (CSV with a line of column "
            "names, fio JSON, DiskSpd text or XML, CrystalDiskMark text, vdbench flat "
            "file, .reel)",
            in->name);
    size_t first = table->count;
    int rc = best->read(in, table, err);
    if (rc)
        return rc;
    if (table->count == first)
        return error_set(err, EBADMSG, "%s: read as %s, but it holds no row of measurements",
                         in->name, best->summary);
    measurements_settle(table, first);
    return 0;
}

static int load(FILE *file, const char *path, char **text, size_t *length, struct error *err)
{
    size_t capacity = 1 << 16, used = 0;
    char *bytes = malloc(capacity);
    while (bytes) {
        used += fread(bytes + used, 1, capacity - used, file);
        if (ferror(file)) {
            free(bytes);
            return error_errno(err, EIO, "%s: cannot read", path);
        }
        if (used < capacity)
            break;
        if (capacity >= MEASURE_FILE_MAX) {
            free(bytes);
            return error_set(err, EFBIG, "%s: larger than the limit of %u MiB for a table", path,
                             MEASURE_FILE_MAX >> 20);
        }
        capacity *= 2;
        char *more = realloc(bytes, capacity);
        if (!more)
            free(bytes);
        bytes = more;
    }
    if (!bytes)
        return error_set(err, ENOMEM, "%s: out of memory", path);
    *text = bytes;
    *length = used;
    return 0;
}

int measurements_read_file(const char *path, struct measurements *table, struct error *err)
{
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".reel") == 0)
        return measurements_read_reel(path, table, err);
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_errno(err, errno, "%s: cannot open", path);
    struct measure_input in = {.name = path};
    char *text = NULL;
    int rc = load(file, path, &text, &in.length, err);
    fclose(file);
    if (rc)
        return rc;
    in.text = text;
    rc = measurements_read_bytes(&in, table, err);
    free(text);
    return rc;
}
