/* Fuzzes the DiskSpd text reader of measurements. */
#include "tests/fuzz/main/fuzz_measure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_measure(&measure_diskspd, data, size);
}
