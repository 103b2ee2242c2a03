/* Fuzzes the blktrace importer. */
#include "tests/fuzz/main/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.device = NULL};
    return fuzz_import("blktrace", &options, data, size);
}
