/* The bytes below importers: compressions by magic, members in a row, cuts, lines, rewinding. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "traces/import/importers.h"

/* Compressed by the systems' own tools, so that no encoder of ours vouches for our decoder. */
struct packed {
    const char *tool;
    const char *coding;
};

static const struct packed tools[] = {
    {"cat", "plain"}, {"gzip -c", "gzip"}, {"xz -c", "xz"}, {"zstd -q -c", "zstd"}};

static uint8_t *read_pipe(const char *command, size_t *size)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    uint8_t *bytes = malloc(8u << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 8u << 20, pipe);
    assert_int_equal(pclose(pipe), 0);
    return bytes;
}

/* Two members of numbered lines, by the tool: seq 1 N, then seq N+1 2N. */
static uint8_t *pack(const char *tool, unsigned lines, size_t *size)
{
    char command[256];
    snprintf(command, sizeof command, "(seq 1 %u | %s; seq %u %u | %s)", lines, tool, lines + 1,
             2 * lines, tool);
    return read_pipe(command, size);
}

static void members_follow_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        size_t size;
        uint8_t *bytes = pack(tools[i].tool, 40000, &size);
        struct import_input *in;
        struct error err;
        assert_int_equal(import_input_open_memory("x", bytes, size, &in, &err), 0);
        for (int pass = 0; pass < 2; pass++) {
            char *line;
            size_t length;
            uint64_t number;
            uint64_t count = 0;
            while (import_input_line(in, &line, &length, &number, &err) == 0) {
                count++;
                assert_int_equal(number, count);
                assert_int_equal(strtoull(line, NULL, 10), count);
                assert_int_equal(strlen(line), length);
            }
            assert_int_equal(count, 80000);
            assert_null(import_input_cut_text(in));
            assert_int_equal(import_input_rewind(in, &err), 0);
            assert_int_equal(import_input_offset(in), 0);
        }
        import_input_close(in);
        free(bytes);
    }
}

static void a_cut_stream_gives_what_is_there(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof tools / sizeof *tools; i++) {
        char command[128];
        size_t size;
        snprintf(command, sizeof command, "seq 1 100000 | %s", tools[i].tool);
        uint8_t *bytes = read_pipe(command, &size);
        struct import_input *in;
        struct error err;
        assert_int_equal(import_input_open_memory("x.z", bytes, size * 3 / 4, &in, &err), 0);
        uint64_t count = 0;
        char *line;
        size_t length;
        uint64_t number;
        int rc;
        while ((rc = import_input_line(in, &line, &length, &number, &err)) == 0)
            assert_int_equal(strtoull(line, NULL, 10), ++count);
        assert_int_equal(rc, 1);
        assert_true(count < 100000);
        const char *cut = import_input_cut_text(in);
        assert_non_null(cut);
        assert_non_null(strstr(cut, tools[i].coding));
        assert_non_null(strstr(cut, "ends early"));
        import_input_close(in);
        free(bytes);
    }
}

static void a_damaged_stream_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof tools / sizeof *tools; i++) {
        char command[128];
        size_t size;
        snprintf(command, sizeof command, "seq 1 100000 | %s", tools[i].tool);
        uint8_t *bytes = read_pipe(command, &size);
        /* The checksum at the end: gzip's and zstd's last bytes, and xz's footer. */
        bytes[size - 6] ^= 0x55;
        bytes[size - 3] ^= 0x55;
        struct import_input *in;
        struct error err = {""};
        assert_int_equal(import_input_open_memory("x.z", bytes, size, &in, &err), 0);
        char *line;
        size_t length;
        uint64_t number;
        int rc;
        while ((rc = import_input_line(in, &line, &length, &number, &err)) == 0)
            ;
        assert_int_equal(rc, -EBADMSG);
        assert_non_null(strstr(err.text, "x.z: the "));
        assert_non_null(strstr(err.text, "damaged"));
        import_input_close(in);
        free(bytes);
    }
}

static void peek_consumes_nothing(void **state)
{
    (void)state;
    uint8_t bytes[100000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    struct import_input *in;
    struct error err;
    assert_int_equal(import_input_open_memory("x", bytes, sizeof bytes, &in, &err), 0);
    size_t at = 0;
    for (;;) {
        const uint8_t *ahead;
        size_t got;
        assert_int_equal(import_input_peek(in, 5000, &ahead, &got, &err), 0);
        assert_int_equal(got, sizeof bytes - at < 5000 ? sizeof bytes - at : 5000);
        if (got == 0)
            break;
        assert_memory_equal(ahead, bytes + at, got);
        size_t step = got < 777 ? got : 777;
        import_input_skip(in, step);
        at += step;
        assert_int_equal(import_input_offset(in), at);
    }
    import_input_close(in);
}

static void lines_end_in_every_way(void **state)
{
    (void)state;
    static const char text[] = "one\r\n\ntwo\nthree";
    static const char *const wanted[] = {"one", "", "two", "three"};
    struct import_input *in;
    struct error err;
    assert_int_equal(import_input_open_memory("x", text, sizeof text - 1, &in, &err), 0);
    char *line;
    size_t length;
    uint64_t number;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(import_input_line(in, &line, &length, &number, &err), 0);
        assert_string_equal(line, wanted[i]);
        assert_int_equal(number, i + 1);
    }
    assert_int_equal(import_input_line(in, &line, &length, &number, &err), 1);
    import_input_close(in);
}

static void a_line_has_a_limit(void **state)
{
    (void)state;
    char *text = malloc(IMPORT_PEEK_MAX + 10);
    assert_non_null(text);
    memset(text, 'x', IMPORT_PEEK_MAX + 10);
    for (unsigned extra = 0; extra < 2; extra++) {
        struct import_input *in;
        struct error err = {""};
        assert_int_equal(
            import_input_open_memory("x", text, IMPORT_PEEK_MAX - 1 + extra, &in, &err), 0);
        char *line;
        size_t length;
        uint64_t number;
        int rc = import_input_line(in, &line, &length, &number, &err);
        assert_int_equal(rc, extra ? -EMSGSIZE : 0);
        if (extra)
            assert_non_null(strstr(err.text, "x:1: the line is over the limit of 65535 bytes"));
        import_input_close(in);
    }
    free(text);
}

static void a_folder_is_no_trace(void **state)
{
    (void)state;
    struct import_input *in;
    struct error err = {""};
    assert_int_equal(import_input_open("/tmp", &in, &err), -EISDIR);
    assert_non_null(strstr(err.text, "/tmp: is a folder"));
    assert_int_equal(import_input_open("/nonexistent/x", &in, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/x"));
}

int main(void)
{
    for (size_t i = 1; i < sizeof tools / sizeof *tools; i++) {
        char command[64];
        snprintf(command, sizeof command, "%s </dev/null >/dev/null 2>&1", tools[i].tool);
        if (system(command) != 0) {
            printf("SKIP: needs gzip, xz and zstd\n");
            return 77;
        }
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_follow_each_other),
        cmocka_unit_test(a_cut_stream_gives_what_is_there),
        cmocka_unit_test(a_damaged_stream_is_an_error),
        cmocka_unit_test(peek_consumes_nothing),
        cmocka_unit_test(lines_end_in_every_way),
        cmocka_unit_test(a_line_has_a_limit),
        cmocka_unit_test(a_folder_is_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
