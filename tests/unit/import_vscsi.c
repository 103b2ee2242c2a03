/* The vscsi importer: both layouts, opcodes, order, cuts, and rows that cannot be. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "tests/collect_sink.h"

#define START_US 5633898368802ull

struct row {
    uint16_t opcode;
    uint32_t len;
    uint64_t block;
    uint64_t us; /* after the start */
};

static void store_row(uint8_t *at, bool v2, const struct row *row, uint32_t serial)
{
    store_le32(at + (v2 ? 4 : 0), serial);
    store_le32(at + (v2 ? 8 : 4), row->len);
    store_le32(at + (v2 ? 12 : 8), 1);
    store_le16(at + (v2 ? 0 : 12), row->opcode);
    store_le16(at + (v2 ? 2 : 14), v2 ? 0x200 : 0x100);
    store_le64(at + 16, row->block);
    store_le64(at + 24, START_US + row->us);
    if (v2)
        store_le64(at + 32, 250 + row->us);
}

static size_t store_rows(uint8_t *at, bool v2, const struct row *rows, size_t count)
{
    size_t bytes = v2 ? 40 : 32;
    for (size_t i = 0; i < count; i++)
        store_row(at + i * bytes, v2, &rows[i], 7 + (uint32_t)i);
    return count * bytes;
}

static const struct row plain[] = {
    {0x28, 4096, 2048, 0}, {0x2a, 8192, 4096, 17}, {0x12, 36, 0, 20}, {0x35, 0, 0, 30}};

static void both_layouts_give_the_same(void **state)
{
    (void)state;
    for (int v2 = 0; v2 < 2; v2++) {
        uint8_t bytes[400];
        size_t size = store_rows(bytes, v2, plain, 4);
        struct collected c;
        collect(&c, "vscsi", bytes, size, NULL);
        assert_int_equal(c.rc, 0);
        assert_int_equal(c.count, 3);
        assert_int_equal(c.records[0].op, IO_READ);
        assert_int_equal(c.records[0].issue_ns, 0);
        assert_int_equal(c.records[0].offset_bytes, 2048 * 512);
        assert_int_equal(c.records[1].op, IO_WRITE);
        assert_int_equal(c.records[1].issue_ns, 17000);
        assert_int_equal(c.records[1].len_bytes, 8192);
        assert_int_equal(c.records[2].op, IO_FLUSH);
        assert_int_equal(c.records[2].has,
                         IO_HAS_ISSUE | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_OP | IO_HAS_DEVICE);
        assert_int_equal(c.sink.skipped, 1);
        assert_int_equal(c.meta.vantage, VANTAGE_DRIVER);
        assert_int_equal(c.meta.time_resolution_ns, 1000);
        /* Only version 2 has response times, and says no unit. */
        assert_int_equal(c.sink.note_text[0] != '\0', v2);
        collect_free(&c);
    }
}

static void response_times_need_a_unit(void **state)
{
    (void)state;
    uint8_t bytes[400];
    size_t size = store_rows(bytes, true, plain, 4);
    struct import_options options = {.latency_unit_ns = 1000, .vantage = VANTAGE_APP};
    struct collected c;
    collect(&c, "vscsi", bytes, size, &options);
    assert_int_equal(c.rc, 0);
    assert_true(c.records[1].has & IO_HAS_LATENCY);
    assert_int_equal(c.records[1].latency_ns, 267000);
    assert_int_equal(c.meta.vantage, VANTAGE_APP);
    assert_int_equal(c.sink.note_text[0], '\0');
    collect_free(&c);
}

static void opcodes_become_ops(void **state)
{
    (void)state;
    static const struct {
        struct row row;
        uint8_t op;
        uint32_t has;
        uint64_t len;
    } cases[] = {
        {{0x08, 512, 8, 0}, IO_READ, IO_HAS_OFFSET | IO_HAS_LEN, 512},
        {{0xa8, 512, 8, 0}, IO_READ, IO_HAS_OFFSET | IO_HAS_LEN, 512},
        {{0x88, 512, 1ull << 40, 0}, IO_READ, IO_HAS_OFFSET | IO_HAS_LEN, 512},
        {{0x0a, 512, 8, 0}, IO_WRITE, IO_HAS_OFFSET | IO_HAS_LEN, 512},
        {{0x8e, 512, 8, 0}, IO_WRITE, IO_HAS_OFFSET | IO_HAS_LEN, 512},
        {{0x91, 0, 0, 0}, IO_FLUSH, IO_HAS_OFFSET | IO_HAS_LEN, 0},
        /* A list of ranges says neither where nor how much. */
        {{0x42, 24, 0, 0}, IO_DISCARD, 0, 0},
        {{0x42, 1048576, 4096, 0}, IO_DISCARD, IO_HAS_OFFSET | IO_HAS_LEN, 1048576},
        {{0x93, 512, 4096, 0}, IO_WRITE_ZEROES, IO_HAS_OFFSET, 0},
        {{0x41, 1048576, 4096, 0}, IO_WRITE_ZEROES, IO_HAS_OFFSET | IO_HAS_LEN, 1048576},
        {{0x89, 8192, 8, 0}, IO_COMPARE, IO_HAS_OFFSET | IO_HAS_LEN, 4096},
        {{0x94, 0, 8, 0}, IO_ZONE_MGMT, IO_HAS_OFFSET | IO_HAS_LEN, 0},
        {{0x8f, 0, 8, 0}, IO_OTHER, IO_HAS_OFFSET | IO_HAS_LEN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[32];
        size_t size = store_rows(bytes, false, &cases[i].row, 1);
        struct collected c;
        collect(&c, "vscsi", bytes, size, NULL);
        assert_int_equal(c.rc, 0);
        assert_int_equal(c.count, 1);
        assert_int_equal(c.records[0].op, cases[i].op);
        assert_int_equal(c.records[0].has & (IO_HAS_OFFSET | IO_HAS_LEN), cases[i].has);
        assert_int_equal(c.records[0].len_bytes, cases[i].len);
        collect_free(&c);
    }
}

/* A version 1 serial whose upper half looks like a version 2. */
static void serials_do_not_mislead(void **state)
{
    (void)state;
    uint8_t bytes[32 * 8];
    for (size_t i = 0; i < 8; i++) {
        struct row row = {0x28, 4096, i * 8, i};
        store_row(bytes + i * 32, false, &row, 0x02000028u + (uint32_t)i);
    }
    struct collected c;
    collect(&c, "vscsi", bytes, sizeof bytes, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 8);
    assert_int_equal(c.records[7].offset_bytes, 7 * 8 * 512);
    collect_free(&c);
}

static void times_may_go_back(void **state)
{
    (void)state;
    uint8_t bytes[32 * 4096];
    struct row row = {0x28, 4096, 8, 0};
    for (size_t i = 0; i < 4096; i++) {
        /* Every other row lies 50 us back; the very last is older than the first. */
        row.us = 1000 + i * 10 - (i % 2) * 50;
        if (i == 4095)
            row.us = 5;
        store_row(bytes + i * 32, false, &row, 1);
    }
    struct collected c;
    collect(&c, "vscsi", bytes, sizeof bytes, NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 4096);
    assert_int_equal(c.below_floor, 0);
    assert_int_equal(c.records[0].issue_ns, 995000);
    assert_int_equal(c.records[4095].issue_ns, 0);
    collect_free(&c);
}

static void a_cut_record_is_said(void **state)
{
    (void)state;
    for (int v2 = 0; v2 < 2; v2++) {
        uint8_t bytes[400];
        size_t size = store_rows(bytes, v2, plain, 4);
        struct collected c;
        collect(&c, "vscsi", bytes, size - 5, NULL);
        assert_int_equal(c.rc, 0);
        assert_int_equal(c.count, 2);
        assert_non_null(strstr(c.sink.fault_text, v2 ? "byte 120 (35 of 40" : "byte 96 (27 of 32"));
        collect_free(&c);
    }
}

static void what_cannot_be_is_an_error(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        const char *text;
    } cases[] = {
        {14, 0x0333, "record at byte 320: version 819 is not 256 to 511"},
        {16, 1ull << 56, "record at byte 320: block 72057594037927936 is over the limit"},
        {24, UINT64_MAX / 1000, "over the limit of 146 years"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[32 * 12];
        for (size_t k = 0; k < 12; k++)
            store_row(bytes + k * 32, false, &plain[0], 1);
        if (cases[i].at == 14)
            store_le16(bytes + 320 + 14, (uint16_t)cases[i].value);
        else
            store_le64(bytes + 320 + cases[i].at, cases[i].value);
        struct collected c;
        collect(&c, "vscsi", bytes, sizeof bytes, NULL);
        assert_int_equal(c.rc, -EBADMSG);
        if (!strstr(c.err.text, cases[i].text))
            fail_msg("%s", c.err.text);
        collect_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_layouts_give_the_same), cmocka_unit_test(response_times_need_a_unit),
        cmocka_unit_test(opcodes_become_ops),         cmocka_unit_test(serials_do_not_mislead),
        cmocka_unit_test(times_may_go_back),          cmocka_unit_test(a_cut_record_is_said),
        cmocka_unit_test(what_cannot_be_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
