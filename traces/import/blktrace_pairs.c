/* Pairing: a table of requests in flight, hashed by device and sector and linked in order of issue,
 * so that the oldest one gives the floor under all records to come. */
#include "traces/import/private/blktrace_pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/import/private/blktrace_queue.h"
#include "traces/import/private/u64_map.h"

#define SECTOR_SHIFT 9
#define BUCKETS      16384u
#define NONE         UINT32_MAX
#define CHAIN_MAX    1024u /* in flight at one place; more are of a recording without completions */
#define FLOOR_EVERY  1024u /* events */
#define SECTOR_LIMIT ((UINT64_MAX >> SECTOR_SHIFT) - (UINT32_MAX >> SECTOR_SHIFT))

/* A request between its issue and its completion; also a slot of the free list, by `chain`. */
struct request {
    struct io_record record; /* as it will be written, but for the latency */
    uint64_t key_sector;     /* where its next completion begins */
    uint64_t queued_ns;      /* since the start; valid with IO_HAS_QUEUE */
    uint64_t first_issue_ns;
    uint32_t left_bytes; /* not completed yet */
    uint32_t device;     /* the kernel's number */
    uint32_t chain;      /* next of the bucket */
    uint32_t older;      /* in order of issue */
    uint32_t newer;
    bool in_flight; /* false between a requeue and the issue that follows */
};

struct device_state {
    uint16_t index; /* in the meta */
    uint32_t in_flight;
};

struct blktrace_pairs {
    struct blktrace_stream *stream;
    const struct blktrace_facts *facts;
    struct import_sink *sink;
    const char *device_name;
    const char *const *names;
    struct blktrace_queue *queue;
    struct request *requests;
    size_t request_room;
    size_t request_used; /* slots that were ever taken */
    uint32_t free_slot;
    uint32_t buckets[BUCKETS];
    uint32_t oldest;
    uint32_t newest;
    size_t open_count;
    struct u64_map device_map; /* the kernel's number to index in `devices` */
    struct device_state *devices;
    size_t device_count;
    size_t device_room;
    bool saw_queue_events;
    bool saw_requeues;
    uint64_t now_ns; /* since the start */
    uint64_t events;
    struct blktrace_counts counts;
};

/* ---- the table
 * ------------------------------------------------------------------------------------ */

static uint32_t *bucket_of(struct blktrace_pairs *p, uint32_t device, uint64_t sector)
{
    uint64_t mixed = (sector ^ (uint64_t)device << 40) * 0x9e3779b97f4a7c15ull;
    return &p->buckets[(mixed >> 40) & (BUCKETS - 1)];
}

/* New ones go to the end of their chain, so that the oldest of equals is found first. Returns how
 * many stand before it. */
static size_t chain_add(struct blktrace_pairs *p, uint32_t slot)
{
    struct request *r = &p->requests[slot];
    uint32_t *link = bucket_of(p, r->device, r->key_sector);
    size_t before = 0;
    for (; *link != NONE; link = &p->requests[*link].chain)
        before++;
    r->chain = NONE;
    *link = slot;
    return before;
}

static void chain_remove(struct blktrace_pairs *p, uint32_t slot)
{
    struct request *r = &p->requests[slot];
    uint32_t *link = bucket_of(p, r->device, r->key_sector);
    while (*link != slot)
        link = &p->requests[*link].chain;
    *link = r->chain;
}

static void list_add(struct blktrace_pairs *p, uint32_t slot)
{
    struct request *r = &p->requests[slot];
    r->older = p->newest;
    r->newer = NONE;
    if (p->newest != NONE)
        p->requests[p->newest].newer = slot;
    else
        p->oldest = slot;
    p->newest = slot;
}

static void list_remove(struct blktrace_pairs *p, uint32_t slot)
{
    struct request *r = &p->requests[slot];
    if (r->older != NONE)
        p->requests[r->older].newer = r->newer;
    else
        p->oldest = r->newer;
    if (r->newer != NONE)
        p->requests[r->newer].older = r->older;
    else
        p->newest = r->older;
}

/* A slot, or NONE when out of memory. */
static uint32_t take_slot(struct blktrace_pairs *p)
{
    if (p->free_slot != NONE) {
        uint32_t slot = p->free_slot;
        p->free_slot = p->requests[slot].chain;
        return slot;
    }
    if (p->request_used == p->request_room) {
        size_t room = p->request_room ? p->request_room * 2 : 1024;
        struct request *requests = realloc(p->requests, room * sizeof *requests);
        if (!requests)
            return NONE;
        p->requests = requests;
        p->request_room = room;
    }
    return (uint32_t)p->request_used++;
}

static void release(struct blktrace_pairs *p, uint32_t slot)
{
    struct request *r = &p->requests[slot];
    chain_remove(p, slot);
    list_remove(p, slot);
    if (r->in_flight)
        p->devices[r->record.device].in_flight--;
    r->chain = p->free_slot;
    p->free_slot = slot;
    p->open_count--;
}

/* ---- devices
 * --------------------------------------------------------------------------------------- */

/* What to call a device: the user's word for the first, else what its file is named after, else its
 * numbers. A name that another device of this trace bears already is not used again. */
static void name_device(const struct blktrace_pairs *p, const struct blktrace_event *event,
                        char *name, size_t room)
{
    const char *choice = "";
    if (p->device_name && p->device_count == 0)
        choice = p->device_name;
    else if (p->names)
        choice = p->names[event->input];
    if (choice[0] && trace_meta_find_device(p->sink->meta, choice) < 0)
        snprintf(name, room, "%s", choice);
    else
        snprintf(name, room, "%u:%u", event->device >> 20, event->device & 0xfffff);
}

/* The index in the meta and in `devices`, which are the same. -errno. */
static int device_of(struct blktrace_pairs *p, const struct blktrace_event *event,
                     struct error *err)
{
    uint64_t *known = u64_map_find(&p->device_map, event->device);
    if (known)
        return (int)*known;
    char name[256];
    name_device(p, event, name, sizeof name);
    int index = trace_meta_device(p->sink->meta, name);
    if (index < 0)
        return error_errno(err, -index, "device %s of the trace", name);
    if ((size_t)index >= p->device_room) {
        size_t room = 2 * ((size_t)index + 4);
        struct device_state *devices = realloc(p->devices, room * sizeof *devices);
        if (!devices)
            return error_set(err, ENOMEM, "no memory for device %s of the trace", name);
        p->devices = devices;
        p->device_room = room;
    }
    if (!u64_map_insert(&p->device_map, event->device, (uint64_t)index))
        return error_set(err, ENOMEM, "no memory for device %s of the trace", name);
    p->devices[index] = (struct device_state){.index = (uint16_t)index};
    p->device_count = (size_t)index + 1;
    return index;
}

/* ---- what an event says of its request
 * -------------------------------------------------------------- */

static uint8_t op_of(const struct blktrace_event *e)
{
    uint32_t c = e->categories;
    if (c & BLKTRACE_PASSTHROUGH)
        return IO_OTHER;
    if (c & BLKTRACE_DISCARD)
        return IO_DISCARD;
    if (c & BLKTRACE_ZONE_APPEND)
        return IO_ZONE_APPEND;
    if (c & BLKTRACE_ZONE_MGMT)
        return IO_ZONE_MGMT;
    if (c & BLKTRACE_WRITE_ZEROES)
        return IO_WRITE_ZEROES;
    if ((c & BLKTRACE_FLUSH) && e->bytes == 0)
        return IO_FLUSH;
    /* The direction is the operation's lowest bit: a flush bears READ, a discard WRITE. */
    return c & BLKTRACE_WRITE ? IO_WRITE : IO_READ;
}

static uint16_t flags_of(const struct blktrace_event *e)
{
    static const struct {
        uint32_t category;
        uint16_t flag;
    } table[] = {
        {BLKTRACE_SYNC, IO_FLAG_SYNC},
        {BLKTRACE_META, IO_FLAG_META},
        {BLKTRACE_FUA, IO_FLAG_FUA},
        {BLKTRACE_AHEAD, IO_FLAG_READAHEAD},
        {BLKTRACE_PASSTHROUGH, IO_FLAG_PASSTHROUGH},
    };
    uint16_t flags = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (e->categories & table[i].category)
            flags |= table[i].flag;
    if ((e->categories & BLKTRACE_FLUSH) && e->bytes)
        flags |= IO_FLAG_PREFLUSH;
    return flags;
}

/* A flush and a passthrough request have no place; the kernel writes 0, older ones all bits. */
static uint64_t sector_of(const struct blktrace_event *e, uint8_t op)
{
    return (op == IO_FLUSH || op == IO_OTHER) && e->sector >= SECTOR_LIMIT ? 0 : e->sector;
}

/* ---- queue events
 * --------------------------------------------------------------------------------- */

static void take_queue_event(struct blktrace_pairs *p, const struct blktrace_event *e)
{
    struct queued_bio bio = {.time_ns = p->now_ns,
                             .sector = e->sector,
                             .device = e->device,
                             .pid = e->pid,
                             .empty = e->bytes == 0};
    struct queued_bio other;
    switch (e->act) {
    case BLKTRACE_GET_REQUEST:
        if (blktrace_queue_has(p->queue, e->device, e->sector, bio.empty))
            return;
        break;
    case BLKTRACE_BACK_MERGE: /* became the tail of a request that has its own entry */
        blktrace_queue_take(p->queue, e->device, e->sector, bio.empty, &other);
        return;
    case BLKTRACE_FRONT_MERGE: /* the request begins here now, but has waited for longer */
        if (!blktrace_queue_take(p->queue, e->device, e->sector + (e->bytes >> SECTOR_SHIFT), false,
                                 &bio))
            return;
        blktrace_queue_take(p->queue, e->device, e->sector, false, &other);
        bio.sector = e->sector;
        break;
    case BLKTRACE_SPLIT: /* the second part was queued when the first was */
        if (!blktrace_queue_take(p->queue, e->device, e->sector, false, &bio))
            return;
        blktrace_queue_put(p->queue, &bio);
        bio.sector = e->split_sector;
        break;
    default:
        break;
    }
    p->saw_queue_events = true;
    blktrace_queue_put(p->queue, &bio);
}

/* ---- issue, requeue, completion
 * -------------------------------------------------------------------- */

static int write_request(struct blktrace_pairs *p, uint32_t slot, struct error *err)
{
    struct io_record record = p->requests[slot].record;
    release(p, slot);
    return p->sink->add(p->sink, &record, err);
}

static int write_open(struct blktrace_pairs *p, uint32_t slot, struct error *err)
{
    struct io_record *record = &p->requests[slot].record;
    record->flags |= IO_FLAG_OPEN_AT_END;
    /* Where no completion is recorded, how many were in flight is not known. */
    if (p->counts.completions == 0) {
        record->has &= ~(uint32_t)IO_HAS_DEPTH;
        record->depth = 0;
    }
    p->sink->loss.open++;
    return write_request(p, slot, err);
}

static int give_up(struct blktrace_pairs *p, uint32_t slot, struct error *err)
{
    p->counts.given_up++;
    return write_open(p, slot, err);
}

/* Marks it as handed to the driver now. */
static void mark_issued(struct blktrace_pairs *p, struct request *r, uint32_t cpu)
{
    struct device_state *device = &p->devices[r->record.device];
    if (!r->in_flight)
        device->in_flight++;
    r->in_flight = true;
    r->record.issue_ns = p->now_ns;
    r->record.depth = device->in_flight < UINT16_MAX ? (uint16_t)device->in_flight : UINT16_MAX;
    r->record.cpu = cpu < UINT16_MAX ? (uint16_t)cpu : UINT16_MAX;
    if (r->record.has & IO_HAS_QUEUE)
        r->record.queue_ns = p->now_ns - r->queued_ns;
}

/* A second issue of the same place and size before the completion: the driver gave the request back
 * (1), or another one of the same place was issued (0). */
static bool is_reissue(const struct blktrace_pairs *p, const struct request *r,
                       const struct blktrace_event *e)
{
    if (p->facts->bios_only)
        return false;
    if (!r->in_flight)
        return true; /* its requeue was seen */
    if (p->saw_queue_events)
        return !blktrace_queue_has(p->queue, e->device, e->sector, e->bytes == 0);
    /* Without queue events: where the trace shows requeues, this was none. */
    return !p->saw_requeues;
}

/* The request that this event is about, by place and kind, then by size; NONE. A read never ends a
 * write: such a completion's own issue is missing. `parts`: a smaller size will do. */
static uint32_t find_request(struct blktrace_pairs *p, const struct blktrace_event *e, uint8_t op,
                             uint64_t sector, bool parts)
{
    uint32_t best = NONE;
    unsigned best_rank = 0;
    for (uint32_t i = *bucket_of(p, e->device, sector); i != NONE; i = p->requests[i].chain) {
        const struct request *r = &p->requests[i];
        if (r->key_sector != sector || r->device != e->device || r->record.op != op)
            continue;
        bool same_bytes = r->left_bytes == e->bytes;
        unsigned rank = 0;
        if (same_bytes)
            rank = r->in_flight ? 4 : 3;
        else if (parts && e->bytes && e->bytes < r->left_bytes)
            rank = 2;
        else if (parts && e->bytes && r->left_bytes)
            rank = 1;
        if (rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

static int reissue(struct blktrace_pairs *p, uint32_t slot, const struct blktrace_event *e)
{
    struct request *r = &p->requests[slot];
    if (!(r->record.has & IO_HAS_QUEUE)) {
        /* Since its first issue at the latest it was in the block layer. */
        r->queued_ns = r->first_issue_ns;
        r->record.has |= IO_HAS_QUEUE;
    }
    r->record.flags |= IO_FLAG_REQUEUED;
    list_remove(p, slot);
    list_add(p, slot);
    mark_issued(p, r, e->cpu);
    p->counts.requeues++;
    return 0;
}

static int bad_sector(const struct blktrace_event *e, struct error *err)
{
    return error_set(err, EBADMSG,
                     "device %u:%u: sector %llu at time %llu ns is over the limit of 2^55; the "
                     "recording is damaged",
                     e->device >> 20, e->device & 0xfffff, (unsigned long long)e->sector,
                     (unsigned long long)e->time_ns);
}

static int issue(struct blktrace_pairs *p, const struct blktrace_event *e, struct error *err)
{
    uint8_t op = op_of(e);
    uint64_t sector = sector_of(e, op);
    if (sector >= SECTOR_LIMIT)
        return bad_sector(e, err);
    uint32_t known = find_request(p, e, op, sector, false);
    if (known != NONE && is_reissue(p, &p->requests[known], e))
        return reissue(p, known, e);
    int rc = p->open_count == BLKTRACE_OPEN_MAX ? give_up(p, p->oldest, err) : 0;
    if (rc)
        return rc;
    int device = device_of(p, e, err);
    if (device < 0)
        return device;
    struct queued_bio bio = {.pid = e->pid};
    bool queued = blktrace_queue_take(p->queue, e->device, e->sector, e->bytes == 0, &bio);
    int64_t process = blktrace_stream_process(p->stream, bio.pid);
    uint32_t slot = take_slot(p);
    if (slot == NONE)
        return error_set(err, ENOMEM, "no memory for %zu requests in flight", p->open_count);
    struct request *r = &p->requests[slot];
    *r = (struct request){.key_sector = sector,
                          .queued_ns = bio.time_ns,
                          .first_issue_ns = p->now_ns,
                          .left_bytes = e->bytes,
                          .device = e->device};
    r->record = (struct io_record){
        .has = IO_HAS_ISSUE | IO_HAS_LEN | IO_HAS_OP | IO_HAS_FLAGS | IO_HAS_DEPTH | IO_HAS_DEVICE |
               IO_HAS_CPU | (queued ? IO_HAS_QUEUE : 0u) | (op != IO_OTHER ? IO_HAS_OFFSET : 0u) |
               (process >= 0 ? IO_HAS_PROCESS : 0u),
        .offset_bytes = op != IO_OTHER ? sector << SECTOR_SHIFT : 0,
        .len_bytes = e->bytes,
        .op = op,
        .flags = flags_of(e),
        .device = (uint16_t)device,
        .process = process >= 0 ? (uint32_t)process : 0,
    };
    list_add(p, slot);
    p->open_count++;
    p->counts.issues++;
    mark_issued(p, r, e->cpu);
    if (chain_add(p, slot) < CHAIN_MAX)
        return 0;
    return give_up(p, *bucket_of(p, e->device, sector), err);
}

static void requeue(struct blktrace_pairs *p, const struct blktrace_event *e)
{
    uint8_t op = op_of(e);
    p->saw_requeues = true;
    uint32_t slot = find_request(p, e, op, sector_of(e, op), false);
    if (slot == NONE || !p->requests[slot].in_flight)
        return;
    p->requests[slot].in_flight = false;
    p->devices[p->requests[slot].record.device].in_flight--;
}

static int complete(struct blktrace_pairs *p, const struct blktrace_event *e, struct error *err)
{
    uint8_t op = op_of(e);
    uint64_t sector = sector_of(e, op);
    p->counts.completions++;
    uint32_t slot = find_request(p, e, op, sector, true);
    if (slot == NONE) {
        if (e->bytes == 0)
            p->counts.empty++;
        else
            p->counts.unmatched++;
        return 0;
    }
    struct request *r = &p->requests[slot];
    if (r->record.status == 0)
        r->record.status = e->status;
    r->record.has |= IO_HAS_STATUS;
    if (e->bytes < r->left_bytes) {
        chain_remove(p, slot);
        r->key_sector += e->bytes >> SECTOR_SHIFT;
        r->left_bytes -= e->bytes;
        chain_add(p, slot);
        p->counts.partial++;
        return 0;
    }
    r->record.latency_ns = p->now_ns - r->record.issue_ns;
    r->record.has |= IO_HAS_LATENCY;
    return write_request(p, slot, err);
}

/* ---- the interface
 * ---------------------------------------------------------------------------------- */

int blktrace_pairs_feed(struct blktrace_pairs *p, const struct blktrace_event *event,
                        struct error *err)
{
    p->now_ns = event->time_ns - p->facts->start_ns;
    if (p->oldest != NONE &&
        p->now_ns - p->requests[p->oldest].record.issue_ns > BLKTRACE_GIVE_UP_NS) {
        int rc = give_up(p, p->oldest, err);
        if (rc)
            return rc;
    }
    if (p->events++ % FLOOR_EVERY == 0)
        p->sink->set_floor(p->sink,
                           p->oldest != NONE ? p->requests[p->oldest].record.issue_ns : p->now_ns);
    switch (event->act) {
    case BLKTRACE_QUEUE:
        if (p->facts->bios_only)
            return issue(p, event, err);
        take_queue_event(p, event);
        return 0;
    case BLKTRACE_GET_REQUEST:
    case BLKTRACE_BACK_MERGE:
    case BLKTRACE_FRONT_MERGE:
    case BLKTRACE_SPLIT:
        if (!p->facts->bios_only)
            take_queue_event(p, event);
        return 0;
    case BLKTRACE_ISSUE:
        return p->facts->bios_only ? 0 : issue(p, event, err);
    case BLKTRACE_REQUEUE:
        requeue(p, event);
        return 0;
    case BLKTRACE_COMPLETE:
        return complete(p, event, err);
    default:
        return 0;
    }
}

int blktrace_pairs_finish(struct blktrace_pairs *p, struct error *err)
{
    while (p->oldest != NONE) {
        int rc = write_open(p, p->oldest, err);
        if (rc)
            return rc;
    }
    return 0;
}

int blktrace_pairs_create(struct blktrace_stream *stream, struct import_sink *sink,
                          const char *device_name, const char *const *names,
                          struct blktrace_pairs **pairs, struct error *err)
{
    struct blktrace_pairs *p = calloc(1, sizeof *p);
    *pairs = p;
    if (p)
        p->queue = blktrace_queue_create();
    if (!p || !p->queue)
        return error_set(err, ENOMEM, "no memory to pair a blktrace's events");
    p->stream = stream;
    p->facts = blktrace_stream_facts(stream);
    p->sink = sink;
    p->device_name = device_name;
    p->names = names;
    p->free_slot = p->oldest = p->newest = NONE;
    for (size_t i = 0; i < BUCKETS; i++)
        p->buckets[i] = NONE;
    return 0;
}

void blktrace_pairs_free(struct blktrace_pairs *p)
{
    if (!p)
        return;
    blktrace_queue_free(p->queue);
    u64_map_clear(&p->device_map);
    free(p->devices);
    free(p->requests);
    free(p);
}

const struct blktrace_counts *blktrace_pairs_counts(const struct blktrace_pairs *p)
{
    return &p->counts;
}
