/* The skeleton of block.bpf.c with sizes, gates and memory maps around it. */
#include "capture/block/private/block_capture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "capture/block/private/block.skel.h"
#include "capture/block/private/capture_rights.h"
#include "common/log.h"
#include "common/units.h"

#define RING_BYTES_MAX (1 * GIB)
#define HASH_SPARE     4096 /* requests by address, beside those that have a tag's slot */

struct block_capture {
    struct block_bpf *skeleton;
    struct ring_buffer *ring;
    struct request_codes codes;
    size_t device_count;
    size_t cpu_rows;
    size_t slot_count;
    size_t ring_bytes;
    /* The maps, shared with the kernel: no system call is needed to look at them. */
    struct block_slot *slots;
    struct block_counts *counts;
    const uint64_t *producer;
    const uint64_t *consumer;
    size_t slots_bytes;
    size_t counts_bytes;
    bool can_sweep;
    /* Where drain() delivers to. */
    block_event_fn take;
    void *context;
};

/* What libbpf and the kernel's verifier have to say, which is many lines, is for -v alone. */
static int libbpf_talk(enum libbpf_print_level level, const char *format, va_list arguments)
{
    if (log_get_level() < LOG_VERBOSE || level == LIBBPF_DEBUG)
        return 0;
    return vfprintf(stderr, format, arguments);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* What a tracepoint passes, by the kernel's own BTF: the number of its arguments, and the name of
 * the type of one of them. 0 when the kernel has no such tracepoint. */
static unsigned tracepoint_arguments(const struct btf *kernel, const char *tracepoint,
                                     unsigned asked, const char **type_name)
{
    char name[64];
    snprintf(name, sizeof name, "btf_trace_%s", tracepoint);
    int id = btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF);
    const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(kernel, (uint32_t)id);
    while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
        type = btf__type_by_id(kernel, type->type);
    if (!type || !btf_is_func_proto(type) || btf_vlen(type) == 0)
        return 0;
    unsigned count = btf_vlen(type) - 1u; /* the first is the tracepoint's own */
    if (type_name && asked < count) {
        const struct btf_type *argument = btf__type_by_id(kernel, btf_params(type)[1 + asked].type);
        *type_name = argument ? btf__name_by_offset(kernel, argument->name_off) : "";
    }
    return count;
}

/* Chooses the programs that fit this kernel's tracepoints. */
static int choose_programs(struct block_capture *c, const struct btf *kernel,
                           const struct block_capture_options *options, struct error *err)
{
    struct block_bpf *skeleton = c->skeleton;
    const char *status_type = "";
    unsigned issue = tracepoint_arguments(kernel, "block_rq_issue", 0, NULL);
    unsigned requeue = tracepoint_arguments(kernel, "block_rq_requeue", 0, NULL);
    unsigned complete = tracepoint_arguments(kernel, "block_rq_complete", 1, &status_type);
    if (issue < 1 || issue > 2 || requeue < 1 || requeue > 2 || complete != 3)
        return error_set(err, EOPNOTSUPP,
                         "this kernel's block_rq_* tracepoints pass %u, %u and %u arguments, which "
                         "this program does not know; import a blktrace recording instead",
                         issue, requeue, complete);
    c->codes.status_is_errno = strcmp(status_type, "int") == 0;
    bpf_program__set_autoload(skeleton->progs.on_issue, issue == 1);
    bpf_program__set_autoload(skeleton->progs.on_issue_with_queue, issue == 2);
    bpf_program__set_autoload(skeleton->progs.on_requeue, requeue == 1);
    bpf_program__set_autoload(skeleton->progs.on_requeue_with_queue, requeue == 2);
    bool bio_times =
        !options->no_bio_times && tracepoint_arguments(kernel, "block_bio_queue", 0, NULL) == 1;
    bpf_program__set_autoload(skeleton->progs.on_bio_queue, bio_times);
    skeleton->rodata->bio_times = bio_times;
    c->can_sweep = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 1;
    bpf_program__set_autoload(skeleton->progs.sweep, c->can_sweep);
    return 0;
}

static void place_devices(struct block_capture *c, const struct block_device *devices,
                          const struct block_capture_options *options)
{
    struct block_bpf__rodata *settings = c->skeleton->rodata;
    uint32_t slots = 0;
    for (size_t i = 0; i < c->device_count; i++) {
        settings->targets[i].dev = devices[i].major << 20 | devices[i].minor;
        settings->targets[i].base = slots;
        settings->targets[i].hw_queues = devices[i].hw_queues;
        settings->targets[i].tags = devices[i].tags;
        slots += devices[i].hw_queues * devices[i].tags;
    }
    settings->target_count = (uint32_t)c->device_count;
    settings->slots_by_tag = !options->slots_by_hash;
    settings->cpu_rows = (uint32_t)c->cpu_rows;
    c->slot_count = options->slots_by_hash ? 1 : slots;
    bpf_map__set_max_entries(c->skeleton->maps.tag_slots, (uint32_t)c->slot_count);
    bpf_map__set_max_entries(c->skeleton->maps.hash_slots,
                             options->slots_by_hash ? slots + HASH_SPARE : HASH_SPARE);
    bpf_map__set_max_entries(c->skeleton->maps.counts,
                             (uint32_t)(c->cpu_rows + 1) * BLOCK_DEVICES_MAX);
    c->ring_bytes = (size_t)sysconf(_SC_PAGESIZE);
    while (c->ring_bytes < options->ring_bytes && c->ring_bytes < RING_BYTES_MAX)
        c->ring_bytes *= 2;
    bpf_map__set_max_entries(c->skeleton->maps.ring, (uint32_t)c->ring_bytes);
}

static void *map_memory(const struct bpf_map *map, size_t *bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t length = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7u) & ~7u);
    *bytes = (length + page - 1) / page * page;
    void *memory = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int on_event(void *context, void *data, size_t length)
{
    struct block_capture *c = context;
    if (length >= sizeof(struct block_event))
        c->take(c->context, data);
    return 0;
}

static int map_all(struct block_capture *c, struct error *err)
{
    struct bpf_map *ring = c->skeleton->maps.ring;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    c->slots = map_memory(c->skeleton->maps.tag_slots, &c->slots_bytes);
    c->counts = map_memory(c->skeleton->maps.counts, &c->counts_bytes);
    c->ring = ring_buffer__new(bpf_map__fd(ring), on_event, c, NULL);
    if (!c->slots || !c->counts || !c->ring)
        return error_errno(err, errno, "the capture's maps cannot be mapped into memory");
    void *consumer = mmap(NULL, page, PROT_READ, MAP_SHARED, bpf_map__fd(ring), 0);
    if (consumer == MAP_FAILED)
        return error_errno(err, errno, "the capture's ring cannot be mapped into memory");
    c->consumer = consumer;
    void *producer = mmap(NULL, page, PROT_READ, MAP_SHARED, bpf_map__fd(ring), (off_t)page);
    if (producer == MAP_FAILED)
        return error_errno(err, errno, "the capture's ring cannot be mapped into memory");
    c->producer = producer;
    return 0;
}

static int load(struct block_capture *c, const struct block_device *devices,
                const struct block_capture_options *options, struct error *err)
{
    struct btf *kernel = btf__load_vmlinux_btf();
    if (!kernel)
        return error_set(err, EOPNOTSUPP,
                         "this kernel says nothing of its types in /sys/kernel/btf/vmlinux; "
                         "capture needs a kernel built with CONFIG_DEBUG_INFO_BTF, "
                         "or import a blktrace recording instead");
    request_codes_load(&c->codes, kernel);
    c->skeleton = block_bpf__open();
    int rc = c->skeleton ? choose_programs(c, kernel, options, err)
                         : error_errno(err, errno, "the capture's programs cannot be opened");
    btf__free(kernel);
    if (rc)
        return rc;
    place_devices(c, devices, options);
    rc = block_bpf__load(c->skeleton);
    if (rc)
        return error_errno(err, -rc, "the kernel refused the capture's programs (-v says more)");
    return 0;
}

int block_capture_open(const struct block_device *devices, size_t count,
                       const struct block_capture_options *options, struct block_capture **capture,
                       struct error *err)
{
    *capture = NULL;
    if (count == 0 || count > BLOCK_DEVICES_MAX)
        return error_set(err, EINVAL, "%zu devices; one capture takes 1 to %d", count,
                         BLOCK_DEVICES_MAX);
    if (options->ring_bytes > RING_BYTES_MAX)
        return error_set(err, EINVAL, "a buffer of %zu bytes is over the limit of 1 GiB",
                         options->ring_bytes);
    int rc = capture_rights_check(err);
    if (rc)
        return rc;
    struct block_capture *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(err, ENOMEM, "out of memory");
    libbpf_set_print(libbpf_talk);
    int cpus = libbpf_num_possible_cpus();
    c->cpu_rows = cpus > 0 ? (size_t)cpus : 1;
    c->device_count = count;
    rc = load(c, devices, options, err);
    if (rc == 0)
        rc = map_all(c, err);
    if (rc == 0) {
        /* The skeleton attaches in the order of block.bpf.c: completion before issue. */
        rc = block_bpf__attach(c->skeleton);
        if (rc)
            error_errno(err, -rc, "the kernel's block tracepoints cannot be attached to");
    }
    if (rc) {
        block_capture_close(c);
        return rc;
    }
    *capture = c;
    return 0;
}

void block_capture_close(struct block_capture *c)
{
    if (!c)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (c->slots)
        munmap(c->slots, c->slots_bytes);
    if (c->counts)
        munmap(c->counts, c->counts_bytes);
    if (c->consumer)
        munmap((void *)(uintptr_t)c->consumer, page);
    if (c->producer)
        munmap((void *)(uintptr_t)c->producer, page);
    ring_buffer__free(c->ring);
    block_bpf__destroy(c->skeleton);
    free(c);
}

const struct request_codes *block_capture_codes(const struct block_capture *c)
{
    return &c->codes;
}

static void set_phase(struct block_capture *c, enum block_phase phase)
{
    __atomic_store_n(&c->skeleton->bss->phase, (uint32_t)phase, __ATOMIC_SEQ_CST);
}

uint64_t block_capture_start(struct block_capture *c)
{
    uint64_t start_ns = monotonic_ns();
    set_phase(c, BLOCK_ON);
    /* Only now: a request allocated after this has had its issue watched. */
    __atomic_store_n(&c->skeleton->data->attached_ns, monotonic_ns(), __ATOMIC_SEQ_CST);
    return start_ns;
}

void block_capture_stop_issues(struct block_capture *c)
{
    set_phase(c, BLOCK_DRAIN);
}

void block_capture_stop(struct block_capture *c)
{
    set_phase(c, BLOCK_OFF);
    /* Programs that read the gate before run to their end. */
    struct timespec wait = {.tv_nsec = 10 * NS_PER_MS};
    nanosleep(&wait, NULL);
}

int block_capture_drain(struct block_capture *c, block_event_fn take, void *context)
{
    c->take = take;
    c->context = context;
    return ring_buffer__consume(c->ring);
}

double block_capture_fill(const struct block_capture *c)
{
    uint64_t consumer = __atomic_load_n(c->consumer, __ATOMIC_ACQUIRE);
    uint64_t producer = __atomic_load_n(c->producer, __ATOMIC_ACQUIRE);
    return (double)(producer - consumer) / (double)c->ring_bytes;
}

int block_capture_sweep(struct block_capture *c, uint64_t age_ns)
{
    if (!c->can_sweep)
        return -EOPNOTSUPP;
    struct block_sweep work = {.issued_before_ns = monotonic_ns() - age_ns};
    LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &work,
                .ctx_size_in = sizeof work); /* the kernel copies it back, too */
    int rc = bpf_prog_test_run_opts(bpf_program__fd(c->skeleton->progs.sweep), &run);
    if (rc) {
        log_detail("requests whose completion was not seen cannot be looked for: %s",
                   strerror(-rc));
        c->can_sweep = false;
        return rc;
    }
    return (int)work.found;
}

struct oldest {
    uint64_t ns;
    size_t open;
    block_event_fn take;
    void *context;
};

static void look_at(const struct block_slot *slot, struct oldest *found)
{
    uint64_t open_ns = __atomic_load_n(&slot->open_ns, __ATOMIC_ACQUIRE);
    if (open_ns == 0)
        return;
    found->open++;
    if (open_ns < found->ns)
        found->ns = open_ns;
    if (found->take)
        found->take(found->context, &slot->event);
}

uint64_t block_capture_oldest(struct block_capture *c, size_t *open, block_event_fn take,
                              void *context)
{
    struct oldest found = {.ns = UINT64_MAX, .take = take, .context = context};
    for (size_t i = 0; i < c->slot_count; i++)
        look_at(&c->slots[i], &found);
    int fd = bpf_map__fd(c->skeleton->maps.hash_slots);
    uint64_t key;
    uint64_t *after = NULL;
    struct block_slot slot;
    while (bpf_map_get_next_key(fd, after, &key) == 0) {
        if (bpf_map_lookup_elem(fd, &key, &slot) == 0)
            look_at(&slot, &found);
        after = &key;
    }
    if (open)
        *open = found.open;
    return found.ns;
}

size_t block_capture_slots(const struct block_capture *c)
{
    return c->skeleton->rodata->slots_by_tag ? c->slot_count : SIZE_MAX;
}

void block_capture_counts(const struct block_capture *c, size_t device, struct block_counts *total)
{
    *total = (struct block_counts){0};
    for (size_t row = 0; row <= c->cpu_rows; row++) {
        const struct block_counts *one = &c->counts[row * BLOCK_DEVICES_MAX + device];
        total->issued += one->issued;
        total->before_attach += one->before_attach;
        total->lost_ring_full += one->lost_ring_full;
        total->lost_unseen += one->lost_unseen;
        total->lost_untracked += one->lost_untracked;
        total->empty_flushes += one->empty_flushes;
        if (one->first_lost_ns &&
            (total->first_lost_ns == 0 || one->first_lost_ns < total->first_lost_ns))
            total->first_lost_ns = one->first_lost_ns;
        if (one->last_lost_ns > total->last_lost_ns)
            total->last_lost_ns = one->last_lost_ns;
    }
}

uint64_t block_capture_missed_runs(const struct block_capture *c)
{
    uint64_t missed = 0;
    struct bpf_program *program;
    bpf_object__for_each_program(program, c->skeleton->obj)
    {
        struct bpf_prog_info info = {0};
        uint32_t length = sizeof info;
        int fd = bpf_program__fd(program);
        if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &length) == 0)
            missed += info.recursion_misses;
    }
    return missed;
}
