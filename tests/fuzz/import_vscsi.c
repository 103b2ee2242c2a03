/* Fuzzes the vscsi importer, both layouts, with a latency unit and without. */
#include "tests/fuzz/main/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.latency_unit_ns = size % 2 ? 1000 : 0};
    return fuzz_import("vscsi", &options, data, size);
}
