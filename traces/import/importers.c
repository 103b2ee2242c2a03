/* The table of formats, and the choice among them by bids. Adding a format is one file and one row.
 */
#include "traces/import/importers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

extern const struct importer import_blktrace;
extern const struct importer import_csv;
extern const struct importer import_vscsi;

const struct importer *const importers[] = {
    &import_blktrace,
    &import_csv,
    &import_vscsi,
    NULL,
};

const struct importer *importer_find(const char *name)
{
    for (size_t i = 0; importers[i]; i++)
        if (strcmp(importers[i]->name, name) == 0)
            return importers[i];
    return NULL;
}

const char *importer_names(char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; importers[i] && used < room; i++)
        used +=
            (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", importers[i]->name);
    return text;
}

/* The command that unpacks what these bytes are packed with, before the input's name; or NULL. */
static const char *unpacking(const uint8_t *bytes, size_t count)
{
    if (count >= 10 && memcmp(bytes, "BZh", 3) == 0 && memcmp(bytes + 4, "1AY&SY", 6) == 0)
        return "bzip2 -dc";
    if (count >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return "unzip -p";
    if (count >= 512 && memcmp(bytes + 257, "ustar", 5) == 0)
        return "tar -xOf";
    if (count >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        return "iconv -f UTF-16 -t UTF-8";
    return NULL;
}

const struct importer *importer_choose(struct import_input *in,
                                       const struct import_options *options, struct error *err)
{
    const uint8_t *bytes;
    size_t got;
    if (import_input_peek(in, IMPORT_PEEK_MAX, &bytes, &got, err) != 0)
        return NULL;
    if (got == 0) {
        const char *cut = import_input_cut_text(in);
        if (cut)
            error_set(err, EBADMSG, "%s; there is nothing to import", cut);
        else
            error_set(err, EBADMSG, "%s: is empty; there is nothing to import",
                      import_input_name(in));
        return NULL;
    }
    const struct importer *best = NULL;
    int best_bid = BID_NO;
    for (size_t i = 0; importers[i]; i++) {
        int bid = importers[i]->bid(bytes, got, options);
        if (bid > best_bid) {
            best = importers[i];
            best_bid = bid;
        }
    }
    const char *unpack = best ? NULL : unpacking(bytes, got);
    if (unpack) {
        error_set(err, EILSEQ,
                  "%s: is packed in a way that import does not read; %s %s | ioreel import - …",
                  import_input_name(in), unpack, import_input_name(in));
    } else if (!best && import_input_is_reel(in)) {
        error_set(err, EILSEQ, "%s: is a .reel trace already; there is nothing to import",
                  import_input_name(in));
    } else if (!best) {
        char names[128];
        error_set(
            err, EILSEQ,
            "%s: not a format that import knows; it knows %s, and --columns names the columns "
            "of any other table",
            import_input_name(in), importer_names(names, sizeof names));
    }
    return best;
}

/* Keeps the first text of a kind. */
static void keep_first(char *text, size_t room, const char *format, va_list args)
{
    if (text[0] == '\0')
        vsnprintf(text, room, format, args);
}

void import_sink_skip(struct import_sink *sink, const char *format, ...)
{
    sink->skipped++;
    va_list args;
    va_start(args, format);
    keep_first(sink->skipped_text, sizeof sink->skipped_text, format, args);
    va_end(args);
}

void import_sink_fault(struct import_sink *sink, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_first(sink->fault_text, sizeof sink->fault_text, format, args);
    va_end(args);
}

void import_sink_note(struct import_sink *sink, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_first(sink->note_text, sizeof sink->note_text, format, args);
    va_end(args);
}
