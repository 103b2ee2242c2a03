/* The vscsi trace of ESXi's virtual SCSI layer (vscsiStats and its kin), little-endian, in two
 * layouts. There is no file header: both layouts are told by a version number in every record.
 *
 *   v1, 32 bytes: u32 serial, u32 length in bytes, u32 scatter-gather count, u16 SCSI opcode,
 *                 u16 version (0x01xx), u64 block of 512 bytes, u64 time in us
 *   v2, 40 bytes: u16 SCSI opcode, u16 version (0x02xx), u32 serial, u32 length, u32 count,
 *                 u64 block, u64 time in us, u64 response time, its unit not written anywhere
 *
 * The recorder stands where commands arrive from the guest's driver, below the guest's block layer:
 * VANTAGE_DRIVER. Serial numbers and scatter-gather counts are not kept. */
#include "traces/import/importers.h"

#include <errno.h>

#include "common/bytes.h"
#include "common/units.h"

#define V1_BYTES     32u
#define V2_BYTES     40u
#define SECTOR_SHIFT 9

struct vscsi_row {
    uint16_t opcode;
    uint16_t version;
    uint32_t len_bytes;
    uint64_t block;
    uint64_t time_us;
    uint64_t response;
};

struct opcode_row {
    uint8_t opcode;
    uint8_t op;
};

/* SCSI commands that move data or change what is stored (SBC-4, SPC-5, SSC; table of T10's
 * operation codes). Others, INQUIRY or TEST UNIT READY, are no I/O to replay. 0x7f, the
 * variable-length commands, hides its service action from this format: IO_OTHER. */
static const struct opcode_row opcodes[] = {
    {0x08, IO_READ},         /* READ(6) */
    {0x28, IO_READ},         /* READ(10) */
    {0xa8, IO_READ},         /* READ(12) */
    {0x88, IO_READ},         /* READ(16) */
    {0x0a, IO_WRITE},        /* WRITE(6) */
    {0x2a, IO_WRITE},        /* WRITE(10) */
    {0xaa, IO_WRITE},        /* WRITE(12) */
    {0x8a, IO_WRITE},        /* WRITE(16) */
    {0x2e, IO_WRITE},        /* WRITE AND VERIFY(10) */
    {0xae, IO_WRITE},        /* WRITE AND VERIFY(12) */
    {0x8e, IO_WRITE},        /* WRITE AND VERIFY(16) */
    {0x9c, IO_WRITE},        /* WRITE ATOMIC(16) */
    {0x35, IO_FLUSH},        /* SYNCHRONIZE CACHE(10) */
    {0x91, IO_FLUSH},        /* SYNCHRONIZE CACHE(16) */
    {0x42, IO_DISCARD},      /* UNMAP */
    {0x41, IO_WRITE_ZEROES}, /* WRITE SAME(10) */
    {0x93, IO_WRITE_ZEROES}, /* WRITE SAME(16) */
    {0x89, IO_COMPARE},      /* COMPARE AND WRITE */
    {0x94, IO_ZONE_MGMT},    /* ZBC OUT */
    {0x2f, IO_OTHER},        /* VERIFY(10) */
    {0xaf, IO_OTHER},        /* VERIFY(12) */
    {0x8f, IO_OTHER},        /* VERIFY(16) */
    {0x34, IO_OTHER},        /* PRE-FETCH(10) */
    {0x90, IO_OTHER},        /* PRE-FETCH(16) */
    {0x83, IO_OTHER},        /* EXTENDED COPY */
    {0x7f, IO_OTHER},        /* variable-length CDB */
};

#define OP_NONE 0xff

/* The length is that of the data that moved, which for two commands is not what they touch: UNMAP
 * moves its list of ranges (8 bytes and 16 a range), WRITE SAME one block. Then offset or length
 * are not known. COMPARE AND WRITE moves twice what it touches. */
static void set_extent(const struct vscsi_row *row, struct io_record *record)
{
    record->has |= IO_HAS_OFFSET | IO_HAS_LEN;
    record->offset_bytes = row->block << SECTOR_SHIFT;
    record->len_bytes = row->len_bytes;
    if (row->opcode == 0x42 && row->block == 0 &&
        (row->len_bytes == 0 || row->len_bytes % 16 == 8)) {
        record->has &= ~(uint32_t)(IO_HAS_OFFSET | IO_HAS_LEN);
        record->len_bytes = 0;
    } else if ((row->opcode == 0x41 || row->opcode == 0x93) && row->len_bytes <= 4096) {
        record->has &= ~(uint32_t)IO_HAS_LEN;
        record->len_bytes = 0;
    } else if (row->opcode == 0x89) {
        record->len_bytes /= 2;
    }
}

static uint8_t op_of(uint16_t opcode)
{
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (opcodes[i].opcode == opcode)
            return opcodes[i].op;
    return OP_NONE;
}

static void load_row(const uint8_t *bytes, size_t row_bytes, struct vscsi_row *row)
{
    if (row_bytes == V1_BYTES) {
        row->len_bytes = load_le32(bytes + 4);
        row->opcode = load_le16(bytes + 12);
        row->version = load_le16(bytes + 14);
        row->block = load_le64(bytes + 16);
        row->time_us = load_le64(bytes + 24);
        row->response = 0;
    } else {
        row->opcode = load_le16(bytes);
        row->version = load_le16(bytes + 2);
        row->len_bytes = load_le32(bytes + 8);
        row->block = load_le64(bytes + 16);
        row->time_us = load_le64(bytes + 24);
        row->response = load_le64(bytes + 32);
    }
}

/* A row that this layout could hold: its version, an opcode of eight bits, a block that fits. */
static bool plausible(const struct vscsi_row *row, size_t row_bytes)
{
    return row->version >> 8 == (row_bytes == V1_BYTES ? 1 : 2) && row->opcode <= 0xff &&
           row->block < (UINT64_MAX >> SECTOR_SHIFT) && row->time_us <= UINT64_MAX / NS_PER_US;
}

/* How many of the first rows (at most 256) are plausible in this layout, in percent; 0 if none. */
static unsigned score(const uint8_t *bytes, size_t count, size_t row_bytes)
{
    size_t rows = count / row_bytes < 256 ? count / row_bytes : 256;
    size_t good = 0;
    struct vscsi_row row;
    for (size_t i = 0; i < rows; i++) {
        load_row(bytes + i * row_bytes, row_bytes, &row);
        good += plausible(&row, row_bytes);
    }
    /* The first row must be one, so that text that looks like one further on is not taken. */
    if (rows == 0)
        return 0;
    load_row(bytes, row_bytes, &row);
    return plausible(&row, row_bytes) ? (unsigned)(good * 100 / rows) : 0;
}

/* V1_BYTES, V2_BYTES or 0: the layout in which most rows can be. A v1 serial may look like a v2
 * version, which is why more than one row is asked. */
static size_t layout_of(const uint8_t *bytes, size_t count)
{
    unsigned v1 = score(bytes, count, V1_BYTES);
    unsigned v2 = score(bytes, count, V2_BYTES);
    if (v1 < 90 && v2 < 90)
        return 0;
    return v2 > v1 ? V2_BYTES : V1_BYTES;
}

static int vscsi_bid(const uint8_t *bytes, size_t count, const struct import_options *options)
{
    (void)options;
    size_t row_bytes = layout_of(bytes, count);
    if (row_bytes == 0)
        return BID_NO;
    return count >= 2 * row_bytes ? BID_LIKELY + 30 : BID_LIKELY;
}

/* What one pass learns before records can be written. */
struct vscsi_survey {
    uint64_t first_us; /* the lowest time that was seen */
    uint64_t late_us;  /* the most that a row lies behind a row before it */
    bool whole;        /* the whole file was seen, not only its first 64 KiB */
};

static void survey_row(struct vscsi_survey *survey, uint64_t time_us, uint64_t *latest_us)
{
    if (time_us < survey->first_us)
        survey->first_us = time_us;
    if (time_us > *latest_us)
        *latest_us = time_us;
    else if (*latest_us - time_us > survey->late_us)
        survey->late_us = *latest_us - time_us;
}

/* Reads all times once where the input can be read twice, else those of the first 64 KiB. */
static int survey_input(struct import_input *in, size_t row_bytes, struct vscsi_survey *survey,
                        struct error *err)
{
    *survey = (struct vscsi_survey){.first_us = UINT64_MAX};
    uint64_t latest_us = 0;
    struct error ignored;
    survey->whole = import_input_rewind(in, &ignored) == 0;
    for (;;) {
        const uint8_t *bytes;
        size_t got;
        int rc = import_input_peek(in, IMPORT_PEEK_MAX, &bytes, &got, err);
        if (rc)
            return rc;
        size_t rows = got / row_bytes;
        for (size_t i = 0; i < rows; i++)
            survey_row(survey, load_le64(bytes + i * row_bytes + 24), &latest_us);
        if (!survey->whole)
            return 0;
        if (rows == 0)
            return import_input_rewind(in, err);
        import_input_skip(in, rows * row_bytes);
    }
}

/* All that the reading loop needs. */
struct vscsi_reader {
    struct import_input *in;
    struct import_sink *sink;
    size_t row_bytes;
    uint64_t latency_unit_ns; /* 0: leave the response time out */
    struct vscsi_survey survey;
    uint64_t latest_us;
};

static uint64_t place_of(const struct vscsi_reader *r, size_t row_index)
{
    return import_input_offset(r->in) + row_index * r->row_bytes;
}

static int broken(const struct vscsi_reader *r, size_t row_index, struct error *err,
                  const char *what, uint64_t value, const char *limit)
{
    return error_set(err, EBADMSG, "%s: record at byte %llu: %s %llu is %s; the file is damaged",
                     import_input_name(r->in), (unsigned long long)place_of(r, row_index), what,
                     (unsigned long long)value, limit);
}

/* One row into a record. 0, 1 when it is no I/O, -EBADMSG when it cannot be. */
static int convert(struct vscsi_reader *r, const struct vscsi_row *row, size_t row_index,
                   struct io_record *record, struct error *err)
{
    if (row->version >> 8 != (r->row_bytes == V1_BYTES ? 1 : 2))
        return broken(r, row_index, err, "version", row->version,
                      r->row_bytes == V1_BYTES ? "not 256 to 511" : "not 512 to 767");
    if (row->block >= (UINT64_MAX >> SECTOR_SHIFT) - (UINT32_MAX >> SECTOR_SHIFT))
        return broken(r, row_index, err, "block", row->block, "over the limit of 2^55");
    uint8_t op = op_of(row->opcode);
    if (op == OP_NONE) {
        import_sink_skip(r->sink, "%s: record at byte %llu: SCSI opcode 0x%02x moves no data",
                         import_input_name(r->in), (unsigned long long)place_of(r, row_index),
                         row->opcode);
        return 1;
    }
    if (row->time_us < r->survey.first_us) {
        r->sink->loss.lost++;
        import_sink_fault(r->sink,
                          "%s: record at byte %llu: time %llu us is before the first records' and "
                          "dropped; import it from a file, which can be read twice",
                          import_input_name(r->in), (unsigned long long)place_of(r, row_index),
                          (unsigned long long)row->time_us);
        return 1;
    }
    uint64_t since_us = row->time_us - r->survey.first_us;
    if (since_us > IMPORT_TIME_MAX / NS_PER_US)
        return broken(r, row_index, err, "time in us", row->time_us, "over the limit of 146 years");
    *record = (struct io_record){
        .has = IO_HAS_ISSUE | IO_HAS_OP | IO_HAS_DEVICE,
        .issue_ns = since_us * NS_PER_US,
        .op = op,
    };
    set_extent(row, record);
    if (r->latency_unit_ns) {
        if (row->response > IMPORT_TIME_MAX / r->latency_unit_ns)
            return broken(r, row_index, err, "response time", row->response,
                          "over the limit of 146 years");
        record->latency_ns = row->response * r->latency_unit_ns;
        record->has |= IO_HAS_LATENCY;
    }
    if (row->time_us > r->latest_us)
        r->latest_us = row->time_us;
    return 0;
}

static int fill_meta(struct import_sink *sink, size_t row_bytes,
                     const struct import_options *options, struct error *err)
{
    struct trace_meta *meta = sink->meta;
    meta->vantage = options->vantage != VANTAGE_UNKNOWN ? options->vantage : VANTAGE_DRIVER;
    meta->time_resolution_ns =
        row_bytes == V2_BYTES && options->latency_unit_ns == 1 ? 1 : NS_PER_US;
    json_object_set_new(meta->environment, "source_format",
                        json_string(row_bytes == V1_BYTES ? "vscsi v1" : "vscsi v2"));
    int device = trace_meta_device(meta, options->device ? options->device : "vscsi");
    if (device < 0)
        return error_errno(err, -device, "device of the trace");
    if (row_bytes == V2_BYTES && !options->latency_unit_ns)
        import_sink_note(sink, "the response times are left out: the format does not say their "
                               "unit; --latency-unit us takes them as microseconds");
    return 0;
}

static int convert_rows(struct vscsi_reader *r, const uint8_t *bytes, size_t rows,
                        struct error *err)
{
    for (size_t i = 0; i < rows; i++) {
        struct vscsi_row row;
        struct io_record record;
        load_row(bytes + i * r->row_bytes, r->row_bytes, &row);
        int rc = convert(r, &row, i, &record, err);
        if (rc == 0)
            rc = r->sink->add(r->sink, &record, err);
        if (rc < 0)
            return rc;
    }
    /* No row lies further back than the survey saw. */
    uint64_t since_us = r->latest_us - r->survey.first_us;
    if (r->survey.whole && since_us > r->survey.late_us)
        r->sink->set_floor(r->sink, (since_us - r->survey.late_us) * NS_PER_US);
    return 0;
}

static int vscsi_read(struct import_input **inputs, size_t input_count,
                      const struct import_options *options, struct import_sink *sink,
                      struct error *err)
{
    (void)input_count;
    struct vscsi_reader r = {.in = inputs[0], .sink = sink};
    const uint8_t *bytes;
    size_t got;
    int rc = import_input_peek(r.in, IMPORT_PEEK_MAX, &bytes, &got, err);
    if (rc)
        return rc;
    r.row_bytes = layout_of(bytes, got);
    if (r.row_bytes == 0)
        return error_set(err, EBADMSG,
                         "%s: not a vscsi trace: the first records bear no version 1 or 2",
                         import_input_name(r.in));
    if (r.row_bytes == V2_BYTES)
        r.latency_unit_ns = options->latency_unit_ns;
    rc = survey_input(r.in, r.row_bytes, &r.survey, err);
    if (rc == 0)
        rc = fill_meta(sink, r.row_bytes, options, err);
    r.latest_us = r.survey.first_us;
    while (rc == 0) {
        rc = import_input_peek(r.in, IMPORT_PEEK_MAX, &bytes, &got, err);
        if (rc || got == 0)
            break;
        size_t rows = got / r.row_bytes;
        if (rows == 0) {
            import_sink_fault(sink, "%s: cut within the record at byte %llu (%zu of %zu bytes)",
                              import_input_name(r.in),
                              (unsigned long long)import_input_offset(r.in), got, r.row_bytes);
            break;
        }
        rc = convert_rows(&r, bytes, rows, err);
        import_input_skip(r.in, rows * r.row_bytes);
    }
    return rc;
}

const struct importer import_vscsi = {
    .name = "vscsi",
    .summary = "ESXi's virtual SCSI trace, versions 1 and 2",
    .bid = vscsi_bid,
    .read = vscsi_read,
};
