/* What tables call ops: our names and other tools' words, the rwbs letters of blkparse, biosnoop
 * and perf, SCSI opcodes in hex. Knows neither columns nor rows. */
#include "traces/import/private/csv_ops.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "traces/record/record.h"

struct op_word {
    const char *word;
    uint8_t op;
};

/* What other tools call them; ours and R and W are io_op_parse()'s. */
static const struct op_word op_words[] = {
    {"rd", IO_READ},        {"wr", IO_WRITE},   {"trim", IO_DISCARD}, {"unmap", IO_DISCARD},
    {"d", IO_DISCARD},      {"sync", IO_FLUSH}, {"fsync", IO_FLUSH},  {"fdatasync", IO_FLUSH},
    {"datasync", IO_FLUSH}, {"f", IO_FLUSH},
};

/* SCSI opcodes that move or drop data. Without 0x a number is hex too, except 42, which is UNMAP in
 * hex and WRITE(10) in decimal. */
static const struct op_word opcodes[] = {
    {"08", IO_READ},  {"28", IO_READ},  {"a8", IO_READ},    {"88", IO_READ},    {"0a", IO_WRITE},
    {"2a", IO_WRITE}, {"aa", IO_WRITE}, {"8a", IO_WRITE},   {"2e", IO_WRITE},   {"8e", IO_WRITE},
    {"35", IO_FLUSH}, {"91", IO_FLUSH}, {"89", IO_COMPARE}, {"42", IO_DISCARD},
};

static int find_word(const struct op_word *words, size_t count, const char *text, uint8_t *op)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(text, words[i].word) == 0) {
            *op = words[i].op;
            return 0;
        }
    return -EINVAL;
}

/* As Linux's blk_fill_rwbs() writes them: [F] W|R|D|DE|N then any of F, A, S, M. */
static int parse_rwbs(const char *at, uint8_t *op, uint16_t *flags)
{
    bool preflush = *at == 'F';
    at += preflush;
    *flags = preflush ? IO_FLAG_PREFLUSH : 0;
    switch (*at) {
    case 'R':
        *op = IO_READ;
        break;
    case 'W':
        *op = IO_WRITE;
        break;
    case 'D':
        *op = IO_DISCARD;
        at += at[1] == 'E';
        break;
    case 'N':
        /* No data: with the leading F it is the flush itself, not a write behind one. */
        if (!preflush)
            return -EINVAL;
        *op = IO_FLUSH;
        *flags = 0;
        break;
    default:
        return -EINVAL;
    }
    while (*++at) {
        static const char letters[] = "FASM";
        static const uint16_t bits[] = {IO_FLAG_FUA, IO_FLAG_READAHEAD, IO_FLAG_SYNC, IO_FLAG_META};
        const char *letter = strchr(letters, *at);
        if (!letter || *flags & bits[letter - letters])
            return -EINVAL;
        *flags |= bits[letter - letters];
    }
    return 0;
}

int csv_op_parse(const char *text, size_t length, uint8_t *op, uint16_t *flags)
{
    *flags = 0;
    if (io_op_parse(text, length, op) == 0 ||
        find_word(op_words, sizeof op_words / sizeof *op_words, text, op) == 0 ||
        parse_rwbs(text, op, flags) == 0)
        return 0;
    *flags = 0;
    bool hex = strncasecmp(text, "0x", 2) == 0;
    if (!hex && strcmp(text, "42") == 0)
        return -EINVAL;
    return find_word(opcodes, sizeof opcodes / sizeof *opcodes, text + (hex ? 2 : 0), op);
}
