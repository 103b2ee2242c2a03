/* The data of writes: unique, checkable, and never reused while in flight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "replay/pace/replay_data.h"

static void every_block_checks(void **state)
{
    (void)state;
    struct replay_data *d = replay_data_create(7, 64 * KIB, 100 * MIB);
    assert_non_null(d);
    for (uint64_t write = 0; write < 5000; write++) {
        uint32_t chunk;
        uint64_t len = (write % 128 + 1) * 512;
        uint64_t offset = write * MIB;
        unsigned char *buffer = replay_data_take(d, len, write, offset, &chunk);
        assert_non_null(buffer);
        assert_int_equal((uintptr_t)buffer % 4096, 0);
        for (uint64_t at = 0; at < len; at += 512) {
            uint64_t number = 0;
            assert_true(replay_data_check(buffer + at, 7, offset + at, &number));
            assert_int_equal(number, write);
            assert_false(replay_data_check(buffer + at, 7, offset + at + 512, &number));
            assert_false(replay_data_check(buffer + at, 8, offset + at, &number));
        }
        buffer[len - 1] ^= 1;
        uint64_t number;
        assert_false(replay_data_check(buffer + len - 512, 7, offset + len - 512, &number));
        buffer[len - 1] ^= 1;
        replay_data_give(d, chunk);
    }
    replay_data_free(d);
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, 512);
}

/* Two writes to one place differ in every block; so do all blocks of one write. */
static void blocks_are_unique(void **state)
{
    (void)state;
    enum { WRITES = 200, BLOCKS = 8 };
    struct replay_data *d = replay_data_create(1, 4096, 10 * MIB);
    unsigned char *all = malloc(WRITES * BLOCKS * 512);
    assert_non_null(all);
    for (uint64_t write = 0; write < WRITES; write++) {
        uint32_t chunk;
        void *buffer = replay_data_take(d, BLOCKS * 512, write, 0, &chunk);
        assert_non_null(buffer);
        memcpy(all + write * BLOCKS * 512, buffer, BLOCKS * 512);
        replay_data_give(d, chunk);
    }
    qsort(all, WRITES * BLOCKS, 512, by_bytes);
    for (size_t i = 1; i < WRITES * BLOCKS; i++)
        assert_int_not_equal(memcmp(all + (i - 1) * 512, all + i * 512, 512), 0);
    free(all);
    replay_data_free(d);
}

/* One write that never completes pins its chunk and nothing else; when all are pinned, none is
 * given out twice. */
static void in_flight_is_never_reused(void **state)
{
    (void)state;
    struct replay_data *d = replay_data_create(3, MIB, 1000 * MIB);
    uint32_t pinned;
    unsigned char *kept = replay_data_take(d, MIB, 0, 0, &pinned);
    unsigned char *copy = malloc(MIB);
    assert_non_null(kept);
    assert_non_null(copy);
    memcpy(copy, kept, MIB);
    for (uint64_t write = 1; write < 2000; write++) {
        uint32_t chunk;
        assert_non_null(replay_data_take(d, 128 * KIB, write, write * MIB, &chunk));
        replay_data_give(d, chunk);
    }
    assert_memory_equal(copy, kept, MIB);
    uint32_t chunks[1000];
    size_t taken = 0;
    while (replay_data_take(d, MIB, taken + 5000, 0, &chunks[taken]))
        taken++;
    assert_true(taken > 0 && taken < 1000);
    assert_memory_equal(copy, kept, MIB);
    replay_data_give(d, chunks[0]);
    assert_non_null(replay_data_take(d, MIB, 9999, 0, &chunks[0]));
    free(copy);
    replay_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_checks),
        cmocka_unit_test(blocks_are_unique),
        cmocka_unit_test(in_flight_is_never_reused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
