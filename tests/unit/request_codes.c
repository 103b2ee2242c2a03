/* The kernel's numbers in the record's terms, with the numbers of 6.1 and with this kernel's own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/block/private/request_codes.h"
#include "traces/record/record.h"

static void ops_without_btf(void **state)
{
    (void)state;
    struct request_codes codes;
    request_codes_load(&codes, NULL);
    assert_int_equal(codes.op[0], IO_READ);
    assert_int_equal(codes.op[1], IO_WRITE);
    assert_int_equal(codes.op[2], IO_FLUSH);
    assert_int_equal(codes.op[3], IO_DISCARD);
    assert_int_equal(codes.op[9], IO_WRITE_ZEROES);
    assert_int_equal(codes.op[13], IO_ZONE_APPEND);
    assert_int_equal(codes.op[15], IO_ZONE_MGMT);
    assert_int_equal(codes.op[34], IO_OTHER);
    assert_int_equal(codes.op[255], IO_OTHER);
}

static void flags_without_btf(void **state)
{
    (void)state;
    struct request_codes codes;
    request_codes_load(&codes, NULL);
    assert_int_equal(request_codes_flags(&codes, 0), 0);
    assert_int_equal(request_codes_flags(&codes, 1u | 1u << 11 | 1u << 17),
                     IO_FLAG_SYNC | IO_FLAG_FUA);
    assert_int_equal(request_codes_flags(&codes, 1u | 1u << 18), IO_FLAG_PREFLUSH);
    assert_int_equal(request_codes_flags(&codes, 1u << 19), IO_FLAG_READAHEAD);
    assert_int_equal(request_codes_flags(&codes, 34u), IO_FLAG_PASSTHROUGH);
    /* The bits that ioreel has no name for are let go. */
    assert_int_equal(request_codes_flags(&codes, 1u << 8 | 1u << 31), 0);
}

static void statuses(void **state)
{
    (void)state;
    struct request_codes codes;
    request_codes_load(&codes, NULL);
    assert_int_equal(request_codes_errno(&codes, 0), 0);
    assert_int_equal(request_codes_errno(&codes, 1), EOPNOTSUPP);
    assert_int_equal(request_codes_errno(&codes, 2), ETIMEDOUT);
    assert_int_equal(request_codes_errno(&codes, 7), ENODATA);
    assert_int_equal(request_codes_errno(&codes, 10), EIO);
    assert_int_equal(request_codes_errno(&codes, 200), EIO);
    codes.status_is_errno = true;
    assert_int_equal(request_codes_errno(&codes, 28), ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_without_btf),
        cmocka_unit_test(flags_without_btf),
        cmocka_unit_test(statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
