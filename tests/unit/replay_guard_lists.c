/* The guard's readers of mountinfo and swaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "replay/guard/guard.h"

static int mounts(const char *text, dev_t device, char *found)
{
    FILE *file = fmemopen((void *)text, strlen(text), "r");
    assert_non_null(file);
    int rc = guard_find_mount(file, &device, 1, found, 512);
    fclose(file);
    return rc;
}

static void finds_mounts(void **state)
{
    (void)state;
    static const char *text = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
                              "23 22 0:21 / /proc rw - proc proc rw\n"
                              "odd line\n"
                              "\n"
                              "30 22 8:17 /sub /mnt/with\\040blank rw,relatime - xfs /dev/sdb1 rw\n"
                              "31 22 8:33 / /last rw";
    char found[512];
    assert_int_equal(mounts(text, makedev(254, 0), found), 1);
    assert_string_equal(found, "mounted on /");
    assert_int_equal(mounts(text, makedev(8, 17), found), 1);
    assert_string_equal(found, "mounted on /mnt/with blank");
    assert_int_equal(mounts(text, makedev(8, 33), found), 1);
    assert_int_equal(mounts(text, makedev(8, 16), found), 0);
    assert_int_equal(mounts(text, makedev(8, 1), found), 0);
}

/* A swap file is found by what it is, not by its name. */
static void finds_swap_files(void **state)
{
    (void)state;
    char path[] = "/tmp/ioreel-unit-XXXXXX";
    char text[256];
    char found[512];
    struct stat st;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    snprintf(text, sizeof text, "Filename\tType\tSize\n%s file 1024 0 -2\n", path);
    for (int inode_off = 0; inode_off < 2; inode_off++) {
        FILE *file = fmemopen(text, strlen(text), "r");
        assert_non_null(file);
        assert_int_equal(guard_find_swap(file, NULL, 0, st.st_dev, st.st_ino + (ino_t)inode_off,
                                         found, sizeof found),
                         !inode_off);
        fclose(file);
    }
    close(fd);
    unlink(path);
}

/* Regular files: refused without being named; kept as they are. */
static void refuses_what_exists(void **state)
{
    (void)state;
    char path[] = "/tmp/ioreel-unit-XXXXXX";
    struct error err = {""};
    struct replay_target target;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    struct guard_request request = {.path = path, .write = true};
    assert_true(guard_open(&request, &target, &err) < 0);
    assert_int_equal(target.fd, -1);
    assert_non_null(strstr(err.text, path));
    request.create_bytes = 1 << 20;
    assert_true(guard_open(&request, &target, &err) < 0);
    request.create_bytes = 0;
    request.write = false;
    assert_int_equal(guard_open(&request, &target, &err), 0);
    assert_false(target.writable);
    assert_int_equal(write(target.fd, path, 1), -1);
    replay_target_close(&target, true);
    assert_int_equal(access(path, F_OK), 0);
    close(fd);
    request.write = true;
    request.overwrite = path;
    assert_int_equal(guard_open(&request, &target, &err), 0);
    assert_true(target.writable);
    replay_target_close(&target, true);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    request.create_bytes = 1 << 20;
    assert_int_equal(guard_open(&request, &target, &err), 0);
    replay_target_close(&target, true);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_mounts),
        cmocka_unit_test(finds_swap_files),
        cmocka_unit_test(refuses_what_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
