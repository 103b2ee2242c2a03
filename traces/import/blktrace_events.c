/* Decoding, notes, sequence gaps, and the merge of several inputs into one order of time by a heap
 * that holds one event of each per-CPU input, or a window of an input that mixes CPUs. */
#include "traces/import/private/blktrace_events.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/units.h"
#include "traces/import/private/u64_map.h"

#define MAGIC        0x65617400u /* the low byte is the version */
#define V7_BYTES     48u
#define V8_BYTES     64u
#define ACT_CGROUP   0x100u /* a cgroup id leads the bytes after the record */
#define CGROUP_BYTES 8u
#define RESTART_GAP  (1u << 30) /* a jump of the sequence as large as this is another recording */

enum note { NOTE_PROCESS = 0, NOTE_CLOCK = 1, NOTE_MESSAGE = 2 };

struct source {
    struct import_input *in;
    bool big_endian;
    bool ended;
    unsigned version;
    size_t window; /* events of this source that the heap holds */
};

struct heap_entry {
    uint64_t time_ns;
    uint64_t serial; /* keeps equal times in the order in which they were read */
    struct blktrace_event event;
};

struct blktrace_stream {
    struct import_sink *sink;
    struct source *sources;
    size_t source_count;
    struct heap_entry *heap;
    size_t heap_count;
    size_t heap_room;
    uint64_t serial;
    uint64_t reached_ns;
    uint64_t clock_ns; /* of the wall-clock note, the kernel's clock; its wall clock beside it */
    uint64_t clock_realtime_ns;
    struct u64_map sequences; /* device and CPU to the last sequence number */
    struct u64_map sequence_times;
    struct u64_map processes; /* pid to index in the meta */
    struct blktrace_facts facts;
};

/* Whether a name may end so after its CPU's number: plain or packed. */
static bool is_ending(const char *text)
{
    return !text[0] || !strcmp(text, ".gz") || !strcmp(text, ".xz") || !strcmp(text, ".zst");
}

bool blktrace_stem(const char *path, char *stem, size_t room)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *mark = strstr(base, ".blktrace.");
    if (!mark || mark == base || (size_t)(mark - base) >= room)
        return false;
    const char *digits = mark + strlen(".blktrace.");
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || !is_ending(digits + length))
        return false;
    memcpy(stem, base, (size_t)(mark - base));
    stem[mark - base] = '\0';
    return true;
}

/* ---- one record ---------------------------------------------------------------------------------
 */

static uint16_t get16(const struct source *s, const uint8_t *at)
{
    return s->big_endian ? load_be16(at) : load_le16(at);
}

static uint32_t get32(const struct source *s, const uint8_t *at)
{
    return s->big_endian ? load_be32(at) : load_le32(at);
}

static uint64_t get64(const struct source *s, const uint8_t *at)
{
    return s->big_endian ? load_be64(at) : load_le64(at);
}

struct raw_record {
    struct blktrace_event event;
    uint32_t sequence;
    uint32_t action; /* the low 16 bits: what, and whether a cgroup id follows */
    uint16_t pdu_bytes;
};

/* The kernel stores a negative errno, or in old versions a positive one, in 16 bits. */
static uint8_t status_of(uint16_t error)
{
    int value = error >= 0x8000 ? 0x10000 - error : error;
    return value > 255 ? 255 : (uint8_t)value;
}

static void load_record(const struct source *s, const uint8_t *at, struct raw_record *raw)
{
    struct blktrace_event *e = &raw->event;
    *e = (struct blktrace_event){0};
    raw->sequence = get32(s, at + 4);
    e->time_ns = get64(s, at + 8);
    e->sector = get64(s, at + 16);
    e->bytes = get32(s, at + 24);
    const uint8_t *tail; /* device, cpu, error, pdu_len: the same in both versions */
    if (s->version == 7) {
        uint32_t action = get32(s, at + 28);
        raw->action = action & 0xffff;
        e->categories = action >> 16;
        e->pid = get32(s, at + 32);
        tail = at + 36;
    } else {
        e->pid = get32(s, at + 28);
        uint64_t action = get64(s, at + 32);
        raw->action = action & 0xffff;
        e->categories = (uint32_t)(action >> 16);
        tail = at + 40;
    }
    e->device = get32(s, tail);
    e->cpu = get32(s, tail + 4);
    e->status = status_of(get16(s, tail + 8));
    raw->pdu_bytes = get16(s, tail + 10);
    e->act = raw->action & 0xff;
}

/* ---- notes and sequence numbers ----------------------------------------------------------------
 */

/* Process names: the same pid can bear another name later; records take the latest. */
static int note_process(struct blktrace_stream *s, uint32_t pid, const uint8_t *bytes, size_t count,
                        struct error *err)
{
    char name[17] = "";
    size_t length = count < 16 ? count : 16;
    for (size_t i = 0; i < length && bytes[i]; i++)
        name[i] = isprint(bytes[i]) ? (char)bytes[i] : '?';
    int64_t index = trace_meta_process(s->sink->meta, pid, name);
    if (index < 0)
        return error_errno(err, (int)-index, "process %u of the trace", pid);
    uint64_t *slot = u64_map_insert(&s->processes, pid, (uint64_t)index);
    if (!slot)
        return error_set(err, ENOMEM, "no memory for the trace's processes");
    *slot = (uint64_t)index;
    return 0;
}

static int take_note(struct blktrace_stream *s, const struct source *source,
                     const struct raw_record *raw, const uint8_t *pdu, size_t count,
                     struct error *err)
{
    unsigned kind = raw->action & 0xff;
    if (kind == NOTE_PROCESS)
        return note_process(s, raw->event.pid, pdu, count, err);
    if (kind == NOTE_CLOCK && count >= 8 && s->clock_realtime_ns == TRACE_UNKNOWN) {
        s->clock_ns = raw->event.time_ns;
        s->clock_realtime_ns = get32(source, pdu) * NS_PER_S + get32(source, pdu + 4);
    }
    return 0;
}

/* Counts what is missing before this event on its CPU. The number advances by one an event. */
static int check_sequence(struct blktrace_stream *s, const struct raw_record *raw,
                          struct error *err)
{
    uint64_t key = (uint64_t)raw->event.device << 32 | raw->event.cpu;
    uint64_t *last = u64_map_insert(&s->sequences, key, raw->sequence);
    uint64_t *time = u64_map_insert(&s->sequence_times, key, raw->event.time_ns);
    if (!last || !time)
        return error_set(err, ENOMEM, "more than %u CPUs and devices in one trace", U64_MAP_MAX);
    uint32_t step = raw->sequence - (uint32_t)*last;
    if (step > 1 && step < RESTART_GAP) {
        if (s->facts.lost_events == 0 || *time < s->facts.first_lost_ns)
            s->facts.first_lost_ns = *time;
        if (raw->event.time_ns > s->facts.last_lost_ns)
            s->facts.last_lost_ns = raw->event.time_ns;
        s->facts.lost_events += step - 1;
    }
    *last = raw->sequence;
    *time = raw->event.time_ns;
    return 0;
}

/* ---- one source ---------------------------------------------------------------------------------
 */

/* Version and byte order of a record's magic; false when it is none. */
static bool read_magic(const uint8_t *at, unsigned *version, bool *big_endian)
{
    uint32_t little = load_le32(at);
    uint32_t big = load_be32(at);
    *big_endian = (big & 0xffffff00u) == MAGIC;
    if (!*big_endian && (little & 0xffffff00u) != MAGIC)
        return false;
    *version = *big_endian ? big & 0xff : little & 0xff;
    return *version == 7 || *version == 8;
}

/* Zeros or garbage, as a crash leaves at a file's end: what stands before is whole and kept. */
static int not_a_record(struct blktrace_stream *s, struct source *source, const uint8_t *at)
{
    import_sink_fault(s->sink,
                      "%s: no blktrace record at byte %llu (its magic is 0x%08x, not 0x%08x); the "
                      "file is damaged there, and what follows in it is left out",
                      import_input_name(source->in),
                      (unsigned long long)import_input_offset(source->in), get32(source, at),
                      MAGIC | source->version);
    source->ended = true;
    return 1;
}

static int cut_here(struct blktrace_stream *s, struct source *source, size_t got)
{
    if (got)
        import_sink_fault(s->sink, "%s: cut within the record at byte %llu",
                          import_input_name(source->in),
                          (unsigned long long)import_input_offset(source->in));
    source->ended = true;
    return 1;
}

/* The bytes after a record: looks at the first of them, leaves them all behind. 1 when cut off. */
static int take_pdu(struct blktrace_stream *s, struct source *source, struct raw_record *raw,
                    struct error *err)
{
    size_t left = raw->pdu_bytes;
    const uint8_t *pdu;
    size_t got;
    int rc = import_input_peek(source->in, left, &pdu, &got, err);
    if (rc)
        return rc;
    if (got < left)
        return cut_here(s, source, 1);
    size_t prefix = raw->action & ACT_CGROUP ? CGROUP_BYTES : 0;
    if (prefix <= left) {
        if (raw->event.categories & BLKTRACE_NOTIFY)
            rc = take_note(s, source, raw, pdu + prefix, left - prefix, err);
        else if (raw->event.act == BLKTRACE_SPLIT && left - prefix >= 8)
            raw->event.split_sector = load_be64(pdu + prefix);
    }
    import_input_skip(source->in, left);
    return rc;
}

/* The next event of this source that is no note. 0, 1 at its end, -errno. */
static int next_of_source(struct blktrace_stream *s, size_t index, struct blktrace_event *event,
                          struct error *err)
{
    struct source *source = &s->sources[index];
    size_t want = source->version == 7 ? V7_BYTES : V8_BYTES;
    while (!source->ended) {
        const uint8_t *at;
        size_t got;
        int rc = import_input_peek(source->in, want, &at, &got, err);
        if (rc)
            return rc;
        if (got >= 4 && get32(source, at) != (MAGIC | source->version))
            return not_a_record(s, source, at);
        if (got < want)
            return cut_here(s, source, got);
        struct raw_record raw;
        load_record(source, at, &raw);
        import_input_skip(source->in, want);
        if (raw.pdu_bytes) {
            rc = take_pdu(s, source, &raw, err);
            if (rc)
                return rc;
        }
        /* Notes have no sequence number; driver data is the driver's own business. */
        if (raw.event.categories & BLKTRACE_NOTIFY)
            continue;
        rc = check_sequence(s, &raw, err);
        if (rc)
            return rc;
        *event = raw.event;
        event->input = (uint16_t)index;
        return 0;
    }
    return 1;
}

/* ---- the merge
 * ----------------------------------------------------------------------------------- */

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->serial < b->serial;
}

static int heap_push(struct blktrace_stream *s, const struct blktrace_event *event,
                     struct error *err)
{
    if (s->heap_count == s->heap_room) {
        size_t room = s->heap_room ? s->heap_room * 2 : 256;
        struct heap_entry *heap = realloc(s->heap, room * sizeof *heap);
        if (!heap)
            return error_set(err, ENOMEM, "no memory for %zu events", room);
        s->heap = heap;
        s->heap_room = room;
    }
    struct heap_entry entry = {event->time_ns, s->serial++, *event};
    size_t i = s->heap_count++;
    while (i > 0 && before(&entry, &s->heap[(i - 1) / 2])) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = entry;
    return 0;
}

static void heap_sift_down(struct blktrace_stream *s, const struct heap_entry *entry)
{
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_count)
            break;
        if (child + 1 < s->heap_count && before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!before(&s->heap[child], entry))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = *entry;
}

int blktrace_stream_next(struct blktrace_stream *s, struct blktrace_event *event, struct error *err)
{
    if (s->heap_count == 0)
        return 1;
    *event = s->heap[0].event;
    /* The same source's next event takes its place, so that the heap is sifted once an event. */
    struct heap_entry next = {0};
    int rc = next_of_source(s, event->input, &next.event, err);
    if (rc < 0)
        return rc;
    if (rc == 0) {
        next.time_ns = next.event.time_ns;
        next.serial = s->serial++;
        heap_sift_down(s, &next);
    } else if (--s->heap_count > 0) {
        next = s->heap[s->heap_count];
        heap_sift_down(s, &next);
    }
    if (event->time_ns < s->reached_ns) {
        s->facts.disordered++;
        event->time_ns = s->reached_ns;
    }
    if (event->time_ns - s->facts.start_ns > IMPORT_TIME_MAX)
        return error_set(err, EBADMSG,
                         "%s: an event's time, %llu ns, is over the limit of 146 years after the "
                         "first; the file is damaged",
                         import_input_name(s->sources[event->input].in),
                         (unsigned long long)event->time_ns);
    s->reached_ns = event->time_ns;
    return 0;
}

/* ---- opening
 * -------------------------------------------------------------------------------------- */

/* Counts issues and queue events among the first bytes: without one issue it is a device of bios.
 */
static void survey(const struct source *source, const uint8_t *bytes, size_t count,
                   uint64_t *issues, uint64_t *queued, bool *one_cpu)
{
    bool seen = false;
    uint32_t cpu = 0;
    *one_cpu = true;
    size_t want = source->version == 7 ? V7_BYTES : V8_BYTES;
    while (count >= want && get32(source, bytes) == (MAGIC | source->version)) {
        struct raw_record raw;
        load_record(source, bytes, &raw);
        if (!(raw.event.categories & BLKTRACE_NOTIFY)) {
            *one_cpu = *one_cpu && (!seen || raw.event.cpu == cpu);
            seen = true;
            cpu = raw.event.cpu;
            *issues += raw.event.act == BLKTRACE_ISSUE;
            *queued += raw.event.act == BLKTRACE_QUEUE;
        }
        size_t step = want + raw.pdu_bytes;
        if (step > count)
            return;
        bytes += step;
        count -= step;
    }
}

static int open_source(struct blktrace_stream *s, size_t index, struct import_input *in,
                       uint64_t *issues, uint64_t *queued, struct error *err)
{
    struct source *source = &s->sources[index];
    source->in = in;
    const uint8_t *bytes;
    size_t got;
    int rc = import_input_peek(in, IMPORT_PEEK_MAX, &bytes, &got, err);
    if (rc)
        return rc;
    /* A CPU that saw nothing leaves an empty file. */
    if (got == 0) {
        source->ended = true;
        return 0;
    }
    if (got < 4 || !read_magic(bytes, &source->version, &source->big_endian))
        return error_set(err, EBADMSG, "%s: not a blktrace recording of version 7 or 8",
                         import_input_name(in));
    char stem[256];
    bool one_cpu;
    survey(source, bytes, got, issues, queued, &one_cpu);
    /* A file alone may hold all CPUs' events, whatever it is called and begins with. */
    bool in_order =
        s->source_count > 1 && one_cpu && blktrace_stem(import_input_name(in), stem, sizeof stem);
    source->window = in_order ? 1 : BLKTRACE_WINDOW;
    s->facts.version = source->version;
    s->facts.big_endian = source->big_endian;
    return 0;
}

/* Puts each source's first events into the heap, and learns the start. */
static int prime(struct blktrace_stream *s, struct error *err)
{
    for (size_t i = 0; i < s->source_count; i++)
        for (size_t n = 0; n < s->sources[i].window; n++) {
            struct blktrace_event event;
            int rc = next_of_source(s, i, &event, err);
            if (rc == 0)
                rc = heap_push(s, &event, err);
            if (rc < 0)
                return rc;
            if (rc == 1)
                break;
        }
    if (s->heap_count) {
        s->facts.start_ns = s->heap[0].time_ns;
        s->reached_ns = s->facts.start_ns;
    }
    if (s->clock_realtime_ns != TRACE_UNKNOWN &&
        s->clock_realtime_ns + s->facts.start_ns >= s->clock_ns)
        s->facts.start_realtime_ns = s->clock_realtime_ns + s->facts.start_ns - s->clock_ns;
    return 0;
}

int blktrace_stream_open(struct import_input **inputs, size_t input_count, struct import_sink *sink,
                         struct blktrace_stream **stream, struct error *err)
{
    struct blktrace_stream *s = calloc(1, sizeof *s);
    *stream = s;
    if (s)
        s->sources = calloc(input_count, sizeof *s->sources);
    if (!s || !s->sources || input_count > UINT16_MAX)
        return error_set(err, ENOMEM, "no memory for %zu inputs", input_count);
    s->sink = sink;
    s->source_count = input_count;
    s->facts.start_realtime_ns = s->clock_realtime_ns = TRACE_UNKNOWN;
    uint64_t issues = 0;
    uint64_t queued = 0;
    for (size_t i = 0; i < input_count; i++) {
        int rc = open_source(s, i, inputs[i], &issues, &queued, err);
        if (rc)
            return rc;
    }
    s->facts.bios_only = issues == 0 && queued > 0;
    return prime(s, err);
}

void blktrace_stream_close(struct blktrace_stream *s)
{
    if (!s)
        return;
    u64_map_clear(&s->sequences);
    u64_map_clear(&s->sequence_times);
    u64_map_clear(&s->processes);
    free(s->heap);
    free(s->sources);
    free(s);
}

const struct blktrace_facts *blktrace_stream_facts(const struct blktrace_stream *s)
{
    return &s->facts;
}

int64_t blktrace_stream_process(struct blktrace_stream *s, uint32_t pid)
{
    uint64_t *known = u64_map_find(&s->processes, pid);
    if (known)
        return (int64_t)*known;
    int64_t index = trace_meta_process(s->sink->meta, pid, "");
    if (index >= 0)
        u64_map_insert(&s->processes, pid, (uint64_t)index);
    return index;
}
