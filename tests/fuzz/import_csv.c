/* Fuzzes the csv importer, with columns named by the head and by numbers. */
#include "tests/fuzz/main/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {
        .columns = size % 2 ? "issue_s=1,op=2,offset_sectors=3,len_bytes=4" : NULL};
    return fuzz_import("csv", &options, data, size);
}
