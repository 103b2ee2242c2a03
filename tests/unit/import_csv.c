/* The csv importer: heads, columns, units, separators, quotes, order, and rows that are wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/collect_sink.h"

static void collect_text(struct collected *c, const char *text, const char *columns)
{
    struct import_options options = {.columns = columns};
    collect(c, "csv", text, strlen(text), &options);
}

static void fails_with(const char *text, const char *columns, const char *wanted)
{
    struct collected c;
    collect_text(&c, text, columns);
    assert_true(c.rc < 0);
    if (!strstr(c.err.text, wanted))
        fail_msg("got '%s', wanted '%s'", c.err.text, wanted);
    assert_null(strchr(c.err.text, '\n'));
    collect_free(&c);
}

static void own_names_need_nothing_said(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c,
                 "issue_ns,op,offset_bytes,len_bytes,latency_ns,queue_ns,flags,status,raw_status,"
                 "depth,demand,device,process,pid,hw_queue,cpu\n"
                 "500,read,4096,8192,100000,7,sync|meta,5,130,3,9,sda,\"a, \"\"b\"\"\",12,1,2\n"
                 "900,write_zeroes,0,4096,,,,,,,,sdb,,,,\n",
                 NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    const struct io_record *r = &c.records[0];
    assert_int_equal(r->issue_ns, 500); /* the trace's own time is not moved */
    assert_int_equal(r->op, IO_READ);
    assert_int_equal(r->offset_bytes, 4096);
    assert_int_equal(r->len_bytes, 8192);
    assert_int_equal(r->latency_ns, 100000);
    assert_int_equal(r->queue_ns, 7);
    assert_int_equal(r->flags, IO_FLAG_SYNC | IO_FLAG_META);
    assert_int_equal(r->status, 5);
    assert_int_equal(r->raw_status, 130);
    assert_int_equal(r->depth, 3);
    assert_int_equal(r->demand, 9);
    assert_int_equal(r->hw_queue, 1);
    assert_int_equal(r->cpu, 2);
    assert_string_equal(c.meta.devices[r->device].name, "sda");
    assert_string_equal(c.meta.processes[r->process].name, "a, \"b\"");
    assert_int_equal(c.meta.processes[r->process].pid, 12);
    r = &c.records[1];
    assert_int_equal(r->has, IO_HAS_ISSUE | IO_HAS_OP | IO_HAS_OFFSET | IO_HAS_LEN | IO_HAS_DEVICE);
    assert_string_equal(c.meta.devices[r->device].name, "sdb");
    collect_free(&c);
}

static void columns_map_names_and_units(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c,
                 "When,LBA,Blocks,Type,Took\n1600000000.25,100,8,R,0.5\n1600000000.5,200,16,W,\n",
                 "issue_s=When,offset_sectors=lba,len_sectors=Blocks,op=Type,latency_ms=Took");
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.records[0].issue_ns, 0);
    assert_int_equal(c.records[1].issue_ns, 250000000);
    assert_int_equal(c.records[0].offset_bytes, 51200);
    assert_int_equal(c.records[1].len_bytes, 8192);
    assert_int_equal(c.records[0].latency_ns, 500000);
    assert_false(c.records[1].has & IO_HAS_LATENCY);
    assert_int_equal(c.meta.start_realtime_ns, 1600000000250000000ull);
    assert_int_equal(c.meta.time_resolution_ns, 10000000); /* two digits behind the point */
    collect_free(&c);
}

static void numbers_name_columns_of_a_table_without_head(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c,
                 "128166372003061629,usr,0,Read,7014609920,24576,41286\n"
                 "128166372003061630,usr,1,Write,0,4096,10\n",
                 "issue_filetime=1,device=3,op=4,offset_bytes=5,len_bytes=6,latency_100ns=7");
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.records[1].issue_ns, 100);
    assert_int_equal(c.records[0].latency_ns, 4128600);
    assert_int_equal(c.meta.time_resolution_ns, 100);
    /* 2007-02-22 17:00:00.3061629 UTC */
    assert_int_equal(c.meta.start_realtime_ns, 1172163600306162900ull);
    assert_int_equal(c.records[1].device, 1);
    collect_free(&c);
}

static void ops_as_numbers(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c, "0 1 264719034 16 0\n5 1 8 16 1\n",
                 "issue_ns=1,offset_sectors=3,len_sectors=4,op_1read=5");
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.records[0].op, IO_WRITE);
    assert_int_equal(c.records[1].op, IO_READ);
    collect_free(&c);
    fails_with("offset_bytes,op_0read\n0,2\n", NULL, "memory:2: op_0read 2 is over the limit of 1");
}

static void ops_as_tools_print_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned op;
        unsigned flags;
    } cases[] = {
        {"WS", IO_WRITE, IO_FLAG_SYNC},
        {"RA", IO_READ, IO_FLAG_READAHEAD},
        {"FWFS", IO_WRITE, IO_FLAG_PREFLUSH | IO_FLAG_FUA | IO_FLAG_SYNC},
        {"WFSM", IO_WRITE, IO_FLAG_FUA | IO_FLAG_SYNC | IO_FLAG_META},
        {"DS", IO_DISCARD, IO_FLAG_SYNC},
        {"DE", IO_DISCARD, 0},
        {"FN", IO_FLUSH, 0},
        {"RD", IO_READ, 0},
        {"2a", IO_WRITE, 0},
        {"0x28", IO_READ, 0},
        {"28", IO_READ, 0},
        {"0X42", IO_DISCARD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "op,offset_bytes\n%s,0\n", cases[i].text);
        struct collected c;
        collect_text(&c, text, NULL);
        if (c.rc || c.records[0].op != cases[i].op || c.records[0].flags != cases[i].flags)
            fail_msg("%s: %s", cases[i].text, c.err.text);
        assert_int_equal(!!(c.records[0].has & IO_HAS_FLAGS), cases[i].flags != 0);
        collect_free(&c);
    }
    static const char *const wrong[] = {"WX", "WSS", "N", "42", "0x12", "SW"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[64];
        snprintf(text, sizeof text, "op,offset_bytes\n%s,0\n", wrong[i]);
        fails_with(text, NULL, "is none of read, write");
    }
}

static void separators_are_found(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "issue_us,op,offset_bytes,len_bytes\n0,R,0,512\n12.5,W,512,512\n",
        "issue_us;op;offset_bytes;len_bytes\r\n0;R;0;512\r\n12,5;W;512;512\r\n",
        "issue_us\top\toffset_bytes\tlen_bytes\n0\tR\t0\t512\n12,5\tW\t512\t512\n",
        "  issue_us   op offset_bytes len_bytes\n 0  R 0 512\n12.5 W 512 512  \n",
        ("\xef\xbb\xbf# a comment\n\n\"issue_us\",\"op\" , offset_bytes,len_bytes\n"
         "# another\n0,R,0,512\n\"12.5\", W ,512,512"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct collected c;
        collect_text(&c, texts[i], NULL);
        if (c.rc)
            fail_msg("%zu: %s", i, c.err.text);
        assert_int_equal(c.count, 2);
        assert_int_equal(c.records[1].issue_ns, 12500);
        assert_int_equal(c.records[1].op, IO_WRITE);
        assert_int_equal(c.records[1].offset_bytes, 512);
        assert_int_equal(c.meta.time_resolution_ns, 100);
        collect_free(&c);
    }
}

static void quotes_go_over_lines(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c, "process,offset_bytes,op\n\"two\nlines\",1,R\n\"a\"\"b\",2,W\n", NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    assert_string_equal(c.meta.processes[0].name, "two\nlines");
    assert_string_equal(c.meta.processes[1].name, "a\"b");
    collect_free(&c);
    fails_with("process,offset_bytes,op\nx,0,R\n\"two,1,R\n", NULL, "memory:3: a quote is opened");
    /* The line of an error is where the row began. */
    fails_with("process,offset_bytes,op\n\"two\nlines\",1,R\nx,y,R\n", NULL, "memory:4: ");
}

static void rows_come_in_any_order(void **state)
{
    (void)state;
    char *text = malloc(1u << 20);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "t,offset_bytes,len_bytes,op\n");
    for (unsigned i = 0; i < 5000; i++)
        used += (size_t)sprintf(text + used, "%u,%u,512,R\n", 1000000 + i * 7919 % 5000, i * 512);
    struct collected c;
    collect_text(&c, text, "issue_us=t");
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 5000);
    assert_int_equal(c.below_floor, 0);
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < c.count; i++)
        if (c.records[i].issue_ns < least)
            least = c.records[i].issue_ns;
    assert_int_equal(least, 0);
    collect_free(&c);
    free(text);
}

static void a_table_without_times_is_a_trace(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c, "op,offset_bytes,len_bytes\nread,0,4096\nwrite,4096,4096\n", NULL);
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.records[1].has, IO_HAS_OP | IO_HAS_OFFSET | IO_HAS_LEN);
    assert_non_null(strstr(c.sink.note_text, "no column is a time"));
    collect_free(&c);
}

static void absolute_times_are_rebased(void **state)
{
    (void)state;
    struct collected c;
    collect_text(&c, "issue_ns,op,offset_bytes\n1700000000000000500,R,0\n1700000000000000900,R,0\n",
                 NULL);
    assert_int_equal(c.records[1].issue_ns, 400);
    assert_int_equal(c.meta.start_realtime_ns, 1700000000000000500ull);
    collect_free(&c);
}

static void a_column_can_be_left_out(void **state)
{
    (void)state;
    struct collected c;
    fails_with("op,offset_bytes,status\nread,0,OK\n", NULL, "memory:2: status 'OK' is no number");
    collect_text(&c, "op,offset_bytes,status\nread,0,OK\n", "status=");
    assert_int_equal(c.rc, 0);
    assert_int_equal(c.count, 1);
    collect_free(&c);
}

static void wrong_rows_are_named(void **state)
{
    (void)state;
    static const char head[] = "issue_ns,op,offset_bytes,len_bytes\n0,read,0,4096\n";
    static const struct {
        const char *row;
        const char *text;
    } cases[] = {
        {"1,read,0,9000000000000\n",
         "memory:3: len_bytes 9000000000000 is over the limit of 1 TiB"},
        {"1,read,18446744073709551615,4096\n",
         "memory:3: offset 18446744073709551615 + length 4096"},
        {"1,read,99999999999999999999,4096\n",
         "memory:3: offset_bytes 99999999999999999999 is over"},
        {"1,swim,0,4096\n", "memory:3: op 'swim' is none of read, write"},
        {"-1,read,0,4096\n", "memory:3: issue_ns '-1' is no number"},
        {"1,read,0x10,4096\n", "memory:3: offset_bytes '0x10' is no number"},
        {"1,read,0.5,4096\n", "memory:3: offset_bytes '0.5' is no number"},
        {"1,read\n", "memory:3: has 2 columns, offset_bytes is column 3"},
        {"9000000000000000000,read,0,0\n", "over the limit of 146 years"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", head, cases[i].row);
        fails_with(text, NULL, cases[i].text);
    }
}

static void wrong_columns_are_named(void **state)
{
    (void)state;
    fails_with("a,b\n1,2\n", "issue_s=T", "no column is named 'T'; they are named: a, b");
    fails_with("a,b\n1,2\n", "when=a", "'when=a' is not FIELD=COLUMN");
    fails_with("a,b\n1,2\n", "issue_s=a", "no column is an offset, a length or an op");
    fails_with("a,b,c\n1,2,3\n", "offset_bytes=a,offset_sectors=b", "two columns give");
    fails_with("a,b,c\n1,2,3\n", "offset_bytes=0", "column 0 is not in 1 to 256");
}

static void bids(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *columns;
        bool known;
    } cases[] = {
        {"issue_ns,op,offset_bytes,len_bytes\n", NULL, true},
        {"# x\nop;offset_sectors\n", NULL, true},
        {"source,device,workload,iops\n", NULL, false}, /* a table of measurements */
        {"a,b,c\n", NULL, false},
        {"a,b,c\n", "offset_bytes=a", true},
        {"hello", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct import_options options = {.columns = cases[i].columns};
        const uint8_t *bytes = (const uint8_t *)cases[i].text;
        int bid = importer_find("csv")->bid(bytes, strlen(cases[i].text), &options);
        assert_int_equal(bid > 0, cases[i].known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_names_need_nothing_said),
        cmocka_unit_test(columns_map_names_and_units),
        cmocka_unit_test(numbers_name_columns_of_a_table_without_head),
        cmocka_unit_test(ops_as_numbers),
        cmocka_unit_test(ops_as_tools_print_them),
        cmocka_unit_test(separators_are_found),
        cmocka_unit_test(quotes_go_over_lines),
        cmocka_unit_test(rows_come_in_any_order),
        cmocka_unit_test(a_table_without_times_is_a_trace),
        cmocka_unit_test(absolute_times_are_rebased),
        cmocka_unit_test(a_column_can_be_left_out),
        cmocka_unit_test(wrong_rows_are_named),
        cmocka_unit_test(wrong_columns_are_named),
        cmocka_unit_test(bids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
