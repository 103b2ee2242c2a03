/* A .reel of a later writer: columns of fields that this reader does not know are stepped over, and
 * what would change the meaning of a field that it does know is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "traces/reel/private/reel_block.h"
#include "traces/reel/private/reel_tail.h"
#include "traces/reel/trace_reader.h"

#define RECORDS 500u

static char path[] = "/tmp/ioreel-later.XXXXXX";

/* A block as today's writer makes it, and its column frames. */
struct made {
    struct trace_meta meta;
    struct reel_codec *codec;
    struct io_record records[RECORDS];
    struct reel_block block;
    struct reel_bytes columns;
};

static int set_up(void **state)
{
    struct made *m = calloc(1, sizeof *m);
    struct reel_choices choices = {{0}, {0}};
    struct error err = {""};
    if (!m || trace_meta_init(&m->meta) || trace_meta_device(&m->meta, "sda") != 0)
        return -1;
    for (uint32_t i = 0; i < RECORDS; i++)
        m->records[i] = (struct io_record){
            .has = IO_HAS_ISSUE | IO_HAS_LATENCY | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP |
                   IO_HAS_DEVICE,
            .issue_ns = 1000ull * i,
            .latency_ns = 50000 + 7919 * i % 4001,
            .offset_bytes = 4096ull * (i * 31 % 257),
            .len_bytes = 4096 * (1 + i % 3),
            .op = i % 2 ? IO_WRITE : IO_READ,
        };
    m->codec = reel_codec_create(3);
    if (!m->codec || reel_block_encode(m->codec, &choices, &m->meta, m->records, RECORDS, &m->block,
                                       &m->columns, &err))
        return -1;
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    *state = m;
    return 0;
}

static int tear_down(void **state)
{
    struct made *m = *state;
    unlink(path);
    strcpy(path + strlen(path) - 6, "XXXXXX");
    reel_codec_free(m->codec);
    reel_bytes_free(&m->columns);
    trace_meta_clear(&m->meta);
    free(m);
    return 0;
}

/* Puts a column of an unknown field before the column at `place`. The layout is one that nobody
 * knows today; a size of 0 makes a column without a frame. */
static void insert_column(struct made *m, uint32_t place, uint8_t field, size_t size)
{
    struct reel_column column = {.field = field, .flags = 0xfe, .transform = 99, .encoding = 77};
    struct reel_bytes frame = {0};
    uint8_t text[300];
    memset(text, 'x', sizeof text);
    if (size)
        assert_int_equal(reel_bytes_compress(m->codec, text, size, &column, &frame), 0);
    size_t at = 0;
    for (uint32_t i = 0; i < place; i++)
        at += m->block.columns[i].compressed_bytes;
    size_t behind = m->columns.size - at;
    if (frame.size) {
        assert_non_null(reel_bytes_extend(&m->columns, frame.size));
        memmove(m->columns.data + at + frame.size, m->columns.data + at, behind);
        memcpy(m->columns.data + at, frame.data, frame.size);
    }
    reel_bytes_free(&frame);
    memmove(&m->block.columns[place + 1], &m->block.columns[place],
            (m->block.column_count - place) * sizeof column);
    m->block.columns[place] = column;
    m->block.column_count++;
}

/* Whole: with the end and the seek table. `trailing` bytes follow the column directory. */
static void write_file(const struct made *m, bool whole, size_t trailing)
{
    static const char header[] =
        "{\"producer\":\"later\",\"vantage\":null,\"time_resolution_ns\":1,\"new\":[1],"
        "\"devices\":[{\"name\":\"sda\",\"colour\":\"red\"}]}";
    struct reel_bytes out = {0};
    struct reel_seek_table seek = {{0}};
    size_t start = reel_frame_begin(&out, REEL_HEADER);
    reel_put_bytes(&out, header, strlen(header));
    reel_frame_finish(&out, start);
    reel_seek_add(&seek, out.size, 0);

    struct reel_index_entry entry = {.file_offset = out.size, .records = RECORDS};
    entry.last_issue_ns = m->block.extent.last_issue_ns;
    entry.max_end_bytes = m->block.extent.max_end_bytes;
    start = out.size;
    reel_block_put_header(&out, &m->block);
    if (trailing) { /* the frame is made anew, longer */
        out.size -= REEL_FRAME_TAIL;
        memset(reel_bytes_extend(&out, trailing), 0xa5, trailing);
        reel_frame_finish(&out, start);
    }
    entry.header_bytes = (uint32_t)(out.size - start);
    reel_seek_add(&seek, entry.header_bytes, 0);
    for (uint32_t i = 0; i < m->block.column_count; i++)
        if (m->block.columns[i].compressed_bytes)
            reel_seek_add(&seek, m->block.columns[i].compressed_bytes,
                          m->block.columns[i].decoded_bytes);
    reel_put_bytes(&out, m->columns.data, m->columns.size);
    struct reel_index index = {.entries = &entry, .count = 1};
    struct trace_loss loss = {0};
    if (whole)
        reel_tail_put(&out, &m->block.extent, &loss, &index, &seek);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(out.data, 1, out.size, file), out.size);
    assert_int_equal(fclose(file), 0);
    reel_bytes_free(&out);
    reel_bytes_free(&seek.entries);
}

/* Reads the file and compares every record. 1 at its end, or the error, with its text in err. */
static int read_file(const char *from, const struct made *m, enum trace_ending *ending,
                     struct error *err)
{
    struct trace_reader *r;
    struct trace_batch batch;
    size_t seen = 0;
    int rc = trace_reader_open(from, NULL, &r, err);
    if (rc)
        return rc;
    while ((rc = trace_reader_next(r, &batch, err)) == 0)
        for (size_t i = 0; i < batch.count; i++, seen++) {
            assert_true(seen < RECORDS);
            assert_memory_equal(&batch.records[i], &m->records[seen], sizeof *m->records);
        }
    if (rc == 1)
        assert_int_equal(seen, RECORDS);
    *ending = trace_reader_ending(r);
    trace_reader_close(r);
    return rc;
}

/* By the index, frame by frame in a file, and from a pipe, which is read and not sought in. */
static void read_all_ways(const struct made *m, size_t trailing)
{
    struct error err = {""};
    enum trace_ending ending;
    char command[64];
    write_file(m, true, trailing);
    if (read_file(path, m, &ending, &err) != 1)
        fail_msg("by the index: %s", err.text);
    assert_int_equal(ending, TRACE_COMPLETE);
    snprintf(command, sizeof command, "cat %s", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    int old = dup(STDIN_FILENO);
    dup2(fileno(pipe), STDIN_FILENO);
    int rc = read_file("-", m, &ending, &err);
    dup2(old, STDIN_FILENO);
    close(old);
    pclose(pipe);
    if (rc != 1)
        fail_msg("from a pipe: %s", err.text);
    assert_int_equal(ending, TRACE_COMPLETE);
    write_file(m, false, trailing);
    if (read_file(path, m, &ending, &err) != 1)
        fail_msg("frame by frame: %s", err.text);
    assert_int_equal(ending, TRACE_CUT);
}

static void test_unknown_columns(void **state)
{
    struct made *m = *state;
    insert_column(m, 1, IO_FIELD_COUNT, 300);
    insert_column(m, 3, 31, 10);
    insert_column(m, 4, 32, 200);
    insert_column(m, 4, 33, 0);
    insert_column(m, m->block.column_count, 64, 300);
    insert_column(m, m->block.column_count, 254, 20);
    insert_column(m, 2, 254,
                  20); /* what a field means that is not known, and how often, is not ours */
    m->block.extent.fields |= 1u << IO_FIELD_COUNT | 1u << 31;
    read_all_ways(m, 0);
}

static void test_most_columns(void **state)
{
    struct made *m = *state;
    while (m->block.column_count < REEL_COLUMNS_MAX)
        insert_column(m, m->block.column_count, (uint8_t)(100 + m->block.column_count), 30);
    read_all_ways(m, 0);
}

static void test_trailing_bytes(void **state)
{
    read_all_ways(*state, 40);
}

static void refused(const struct made *m, const char *text)
{
    struct error err = {""};
    enum trace_ending ending;
    write_file(m, true, 0);
    assert_int_equal(read_file(path, m, &ending, &err), -EBADMSG);
    if (!strstr(err.text, text) || !strstr(err.text, path))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void test_refused(void **state)
{
    struct made *m = *state;
    struct reel_block good = m->block;
    struct reel_column *issue = NULL;
    for (uint32_t i = 0; i < m->block.column_count; i++)
        if (m->block.columns[i].field == 0)
            issue = &m->block.columns[i];
    assert_non_null(issue);
    issue->flags |= 0x82;
    refused(m, "the column issue_ns has flags 0x82");
    m->block = good;
    m->block.columns[0].flags = REEL_COLUMN_PRESENCE;
    refused(m, "the column names has flags 0x01");
    m->block = good;
    issue->transform = REEL_SEEK + 1;
    refused(m, "impossible");
    m->block = good;
    issue->encoding = REEL_DICTIONARY + 1;
    refused(m, "impossible");
    m->block = good;
    issue->field = 4;
    refused(m, "the column len_bytes twice");
    m->block = good;
    insert_column(m, 1, 200, 30);
    m->block.columns[1].decoded_bytes = REEL_COLUMN_MAX + 1;
    refused(m, "its column of field 200 is over 2097152 bytes");
}

static void test_too_many_columns(void **state)
{
    struct made *m = *state;
    write_file(m, true, 0);
    struct reel_bytes frame = {0};
    reel_block_put_header(&frame, &m->block);
    struct error err = {""};
    struct reel_cursor payload;
    unsigned kind;
    assert_int_equal(reel_frame_check(frame.data, frame.size, &kind, &payload, &err), 0);
    size_t count_at = frame.size - REEL_FRAME_TAIL - 4 - m->block.column_count * REEL_COLUMN_BYTES;
    assert_int_equal(load_le32(frame.data + count_at), m->block.column_count);
    store_le32(frame.data + count_at, REEL_COLUMNS_MAX + 1);
    struct reel_block block;
    assert_int_equal(reel_block_get_header(&payload, &block, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "64 columns"));
    reel_bytes_free(&frame);
}

static void test_reserved_bytes(void **state)
{
    (void)state;
    for (size_t at = 14; at < 16; at++) {
        struct reel_bytes frame = {0};
        struct error err = {""};
        struct reel_cursor payload;
        unsigned kind;
        size_t start = reel_frame_begin(&frame, REEL_HEADER);
        frame.data[at] = 3;
        reel_frame_finish(&frame, start);
        assert_int_equal(reel_frame_check(frame.data, frame.size, &kind, &payload, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "reserved bytes"));
        reel_bytes_free(&frame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unknown_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_most_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trailing_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many_columns, set_up, tear_down),
        cmocka_unit_test(test_reserved_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
