/* The part of the capture that runs in the kernel: one program on each of the block layer's request
 * tracepoints. It keeps a slot for each request in flight, and when the request completes puts one
 * event into the ring. It wakes nobody: block_capture.c drains the ring on its own clock.
 *
 * A request is counted once when it is issued, and once when it leaves: as an event, or in one of
 * the lost_* counters. Only tracepoints are used, since some kernels load nothing else. */
#include "capture/block/private/kernel_types.h"
#include "capture/block/private/block_event.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

#define NO_DEVICE (~0u)
#define OP_MASK   0xffu
#define OP_WRITE  1

/* Set before loading. */
const volatile struct block_target targets[BLOCK_DEVICES_MAX];
const volatile __u32 target_count = 0;
const volatile __u32 slots_by_tag = 1;
const volatile __u32 bio_times = 0; /* on_bio_queue is attached */

/* Written by user space while running. */
volatile __u32 phase = BLOCK_OFF;
volatile __u64 attached_ns =
    BLOCK_UNKNOWN_TIME; /* requests begun after it had their issue watched */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct block_slot);
} tag_slots SEC(".maps");

/* By address of the request. Entries are never deleted: the kernel allocates a queue's requests
 * once and uses them again and again, so that after the first lap nothing is inserted either. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, struct block_slot);
} hash_slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value,
           struct block_counts); /* [cpu * BLOCK_DEVICES_MAX + device]; one row more: sweep */
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, BLOCK_DEVICES_MAX);
    __type(key, __u32);
    __type(value, struct block_inflight);
} inflight SEC(".maps");

/* When a bio entered the block layer. A lossy table: a newer bio takes the place of an older one,
 * whose queue time then starts at its request's allocation. */
struct bio_entry {
    __u64 bio;
    __u64 sector;
    __u64 ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, BLOCK_BIO_TABLE);
    __type(key, __u32);
    __type(value, struct bio_entry);
} bio_table SEC(".maps");

static const struct block_slot empty_slot;
const volatile __u32 cpu_rows = 1; /* possible CPUs */

static __always_inline __u32 device_of_disk(const struct gendisk *disk)
{
    __u32 dev = (__u32)disk->major << 20 | (__u32)disk->first_minor;
    for (__u32 i = 0; i < BLOCK_DEVICES_MAX && i < target_count; i++)
        if (targets[i].dev == dev)
            return i;
    return NO_DEVICE;
}

static __always_inline __u32 device_of(const struct request *rq)
{
    if (bpf_core_field_exists(rq->q->disk))
        return device_of_disk(rq->q->disk);
    return device_of_disk(((const struct request___before_5_17 *)rq)->rq_disk);
}

static __always_inline struct block_counts *counts_row(__u32 row, __u32 device)
{
    __u32 index = row * BLOCK_DEVICES_MAX + device;
    return bpf_map_lookup_elem(&counts, &index);
}

static __always_inline struct block_slot *find_slot(const struct request *rq, __u32 device)
{
    if (slots_by_tag && device < BLOCK_DEVICES_MAX) {
        int tag = rq->internal_tag;
        if (tag < 0)
            tag = rq->tag;
        __u32 queue = rq->mq_hctx->queue_num;
        if ((__u32)tag < targets[device].tags && queue < targets[device].hw_queues) {
            __u32 index = targets[device].base + queue * targets[device].tags + (__u32)tag;
            return bpf_map_lookup_elem(&tag_slots, &index);
        }
    }
    __u64 key = (__u64)rq;
    return bpf_map_lookup_elem(&hash_slots, &key);
}

static __always_inline struct block_slot *find_or_add_slot(const struct request *rq, __u32 device)
{
    struct block_slot *slot = find_slot(rq, device);
    if (slot)
        return slot;
    __u64 key = (__u64)rq;
    bpf_map_update_elem(&hash_slots, &key, &empty_slot, BPF_NOEXIST);
    return bpf_map_lookup_elem(&hash_slots, &key);
}

static __always_inline void note_lost(struct block_counts *row, __u64 *counter, __u64 issue_ns)
{
    *counter += 1;
    if (row->first_lost_ns == 0 || issue_ns < row->first_lost_ns)
        row->first_lost_ns = issue_ns;
    if (issue_ns > row->last_lost_ns)
        row->last_lost_ns = issue_ns;
}

static __always_inline __u32 enter_device(__u32 device)
{
    struct block_inflight *in = bpf_map_lookup_elem(&inflight, &device);
    if (!in)
        return 0;
    return (__u32)__sync_fetch_and_add(&in->count, 1) + 1;
}

static __always_inline void leave_device(__u32 device)
{
    struct block_inflight *in = bpf_map_lookup_elem(&inflight, &device);
    if (in)
        __sync_fetch_and_add(&in->count, -1);
}

static __always_inline __u32 bio_place(__u64 sector)
{
    return (__u32)(sector * 0x9e3779b97f4a7c15ull >> 40) & (BLOCK_BIO_TABLE - 1);
}

/* From the moment the I/O entered the block layer to now: that of its first bio where it was seen
 * (the wait for a free tag is in it), else that of the request's allocation. */
static __always_inline __u64 waited(const struct request *rq, __u64 now)
{
    __u64 from = rq->start_time_ns;
    __u64 bio = (__u64)rq->bio;
    if (bio_times && bio) {
        __u64 sector = rq->__sector;
        __u32 place = bio_place(sector);
        struct bio_entry *entry = bpf_map_lookup_elem(&bio_table, &place);
        if (entry && entry->bio == bio && entry->sector == sector) {
            from = entry->ns;
            entry->bio = 0;
        }
    }
    if (from == 0)
        return BLOCK_UNKNOWN_TIME;
    return now > from ? now - from : 0;
}

/* The driver gave the request back, whole or in part, and takes it again. Its time in the driver
 * starts anew, unless a part of it was already done. */
static __always_inline void issue_again(const struct request *rq, struct block_slot *slot,
                                        __u64 now, __u32 device)
{
    __u64 entered_ns = slot->event.issue_ns - slot->event.queue_ns;
    slot->given_back = 0;
    slot->event.flags |= BLOCK_EVENT_REQUEUED;
    slot->event.depth = enter_device(device);
    if (rq->__data_len != slot->event.len_bytes)
        return;
    if (slot->event.queue_ns != BLOCK_UNKNOWN_TIME)
        slot->event.queue_ns = now - entered_ns;
    slot->event.issue_ns = now;
}

static __always_inline int issued(const struct request *rq)
{
    if (phase != BLOCK_ON)
        return 0;
    __u32 device = device_of(rq);
    if (device >= BLOCK_DEVICES_MAX)
        return 0;
    __u32 cpu = bpf_get_smp_processor_id();
    struct block_counts *row = counts_row(cpu, device);
    if (!row)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    struct block_slot *slot = find_or_add_slot(rq, device);
    if (!slot) {
        row->issued++;
        note_lost(row, &row->lost_untracked, now);
        return 0;
    }
    __u64 open_ns = slot->open_ns;
    if (open_ns) {
        if (slot->given_back && slot->request == (__u64)rq &&
            slot->start_time_ns == rq->start_time_ns) {
            issue_again(rq, slot, now, device);
            return 0;
        }
        /* Someone else's, and still open: its completion reached no program. */
        if (__sync_val_compare_and_swap(&slot->open_ns, open_ns, 0) == open_ns) {
            note_lost(row, &row->lost_unseen, open_ns);
            if (!slot->given_back)
                leave_device(device);
        }
    }
    row->issued++;
    slot->request = (__u64)rq;
    slot->start_time_ns = rq->start_time_ns;
    slot->given_back = 0;
    struct block_event *event = &slot->event;
    event->issue_ns = now;
    event->queue_ns = waited(rq, now);
    event->sector = rq->__sector;
    event->len_bytes = rq->__data_len;
    event->cmd_flags = rq->cmd_flags;
    event->pid = bpf_get_current_pid_tgid() >> 32;
    event->depth = enter_device(device);
    bpf_get_current_comm(event->comm, sizeof event->comm);
    event->device = (__u16)device;
    event->hw_queue = (__u16)rq->mq_hctx->queue_num;
    event->cpu = (__u16)cpu;
    event->status = 0;
    event->flags = 0;
    slot->open_ns = now;
    return 0;
}

/* A completion whose issue has no slot. */
static __always_inline void count_stranger(const struct request *rq, struct block_counts *row,
                                           __u32 bytes)
{
    if (bytes == 0) {
        /* The end of an I/O that asked for a flush, whose work was seen before: the flush as the
         * queue's own request, the data as this one. The kernel's statistics count an I/O without
         * data beside its flush, so that it is counted here, too. */
        if (phase == BLOCK_ON && (rq->cmd_flags & OP_MASK) == OP_WRITE && rq->biotail &&
            !rq->biotail->bi_io_vec)
            row->empty_flushes++;
        return;
    }
    if (bytes < rq->__data_len)
        return;
    if (rq->start_time_ns < attached_ns) {
        row->before_attach++;
    } else if (phase == BLOCK_ON) {
        row->issued++;
        note_lost(row, &row->lost_untracked, bpf_ktime_get_ns());
    }
}

SEC("tp_btf/block_rq_complete")
int on_complete(__u64 *ctx)
{
    const struct request *rq = (const struct request *)ctx[0];
    int error = (int)ctx[1];
    __u32 bytes = (__u32)ctx[2];
    if (phase == BLOCK_OFF)
        return 0;
    __u32 device = device_of(rq);
    if (device >= BLOCK_DEVICES_MAX)
        return 0;
    struct block_counts *row = counts_row(bpf_get_smp_processor_id(), device);
    if (!row)
        return 0;
    struct block_slot *slot = find_slot(rq, device);
    if (!slot || slot->open_ns == 0 || slot->request != (__u64)rq ||
        slot->start_time_ns != rq->start_time_ns) {
        count_stranger(rq, row, bytes);
        return 0;
    }
    if (bytes < rq->__data_len)
        return 0; /* only a part of it */
    __u64 now = bpf_ktime_get_ns();
    struct block_event *event = bpf_ringbuf_reserve(&ring, sizeof *event, 0);
    if (event) {
        *event = slot->event;
        event->latency_ns = now > slot->event.issue_ns ? now - slot->event.issue_ns : 0;
        event->status = (__u8)(error < 0 ? -error : error);
        bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
    } else {
        note_lost(row, &row->lost_ring_full, slot->event.issue_ns);
    }
    slot->open_ns = 0; /* after the event is in the ring: who sees the slot free finds it there */
    leave_device(device);
    return 0;
}

static __always_inline int given_back(const struct request *rq)
{
    if (phase == BLOCK_OFF)
        return 0;
    __u32 device = device_of(rq);
    if (device >= BLOCK_DEVICES_MAX)
        return 0;
    struct block_slot *slot = find_slot(rq, device);
    if (!slot || slot->open_ns == 0 || slot->request != (__u64)rq || slot->given_back)
        return 0;
    slot->given_back = 1;
    leave_device(device);
    return 0;
}

static __always_inline int bio_entered(const struct bio *bio)
{
    if (phase != BLOCK_ON || device_of_disk(bio->bi_bdev->bd_disk) == NO_DEVICE)
        return 0;
    __u64 sector = bio->bi_iter.bi_sector;
    __u32 place = bio_place(sector);
    struct bio_entry *entry = bpf_map_lookup_elem(&bio_table, &place);
    if (!entry)
        return 0;
    entry->ns = bpf_ktime_get_ns();
    entry->sector = sector;
    entry->bio = (__u64)bio;
    return 0;
}

/* Kernels before 5.11 pass the queue first; block_capture.c asks BTF and loads the pair that fits.
 */
SEC("tp_btf/block_rq_issue")
int on_issue(__u64 *ctx)
{
    return issued((const struct request *)ctx[0]);
}

SEC("?tp_btf/block_rq_issue")
int on_issue_with_queue(__u64 *ctx)
{
    return issued((const struct request *)ctx[1]);
}

SEC("tp_btf/block_rq_requeue")
int on_requeue(__u64 *ctx)
{
    return given_back((const struct request *)ctx[0]);
}

SEC("?tp_btf/block_rq_requeue")
int on_requeue_with_queue(__u64 *ctx)
{
    return given_back((const struct request *)ctx[1]);
}

SEC("tp_btf/block_bio_queue")
int on_bio_queue(__u64 *ctx)
{
    return bio_entered((const struct bio *)ctx[0]);
}

/* A request is idle once it has completed, and it is marked so only after the completion tracepoint
 * has run: a slot that is open while its request is idle, or is another request by now, has lost
 * its completion. The address may be stale; reading it through a probe is safe. */
static long sweep_slot(void *map, const void *key, struct block_slot *slot,
                       struct block_sweep *sweep)
{
    (void)map;
    (void)key;
    __u64 open_ns = slot->open_ns;
    if (open_ns == 0 || open_ns >= sweep->issued_before_ns || slot->given_back)
        return 0;
    __u64 issue_ns = slot->event.issue_ns;
    if (issue_ns >= sweep->issued_before_ns)
        return 0;
    const struct request *rq = (const struct request *)slot->request;
    __u64 start_time_ns = 0;
    enum mq_rq_state state = MQ_RQ_IN_FLIGHT;
    if (bpf_core_read(&start_time_ns, sizeof start_time_ns, &rq->start_time_ns) ||
        bpf_core_read(&state, sizeof state, &rq->state))
        return 0;
    if (state != MQ_RQ_IDLE && start_time_ns == slot->start_time_ns)
        return 0;
    if (__sync_val_compare_and_swap(&slot->open_ns, open_ns, 0) != open_ns)
        return 0;
    __u32 device = slot->event.device;
    struct block_counts *row = device < BLOCK_DEVICES_MAX ? counts_row(cpu_rows, device) : NULL;
    if (row)
        note_lost(row, &row->lost_unseen, open_ns);
    leave_device(device);
    sweep->found++;
    return 0;
}

SEC("syscall")
int sweep(struct block_sweep *args)
{
    struct block_sweep work = {.issued_before_ns = args->issued_before_ns};
    bpf_for_each_map_elem(&tag_slots, sweep_slot, &work, 0);
    bpf_for_each_map_elem(&hash_slots, sweep_slot, &work, 0);
    args->found = work.found;
    return 0;
}
