/* What every fuzz target of a measurement reader does: whatever it takes must be settled, grouped
 * into sweeps and checked without a fault. */
#ifndef IOREEL_TESTS_FUZZ_MEASURE_H
#define IOREEL_TESTS_FUZZ_MEASURE_H

#include <stdint.h>

#include "model/measure/private/lint.h"
#include "model/measure/measure_readers.h"
#include "model/measure/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fuzz_measure(const struct measure_reader *reader, const uint8_t *data, size_t size)
{
    struct measure_input in = {.name = "fuzz", .text = (const char *)data, .length = size};
    struct measurements table;
    struct sweeps sweeps;
    struct error err;
    measurements_init(&table);
    reader->bid(&in);
    if (reader->read(&in, &table, &err) == 0) {
        measurements_settle(&table, 0);
        if (sweeps_build(&table, &sweeps, &err) == 0) {
            struct sweep_finding findings[4];
            for (size_t i = 0; i < sweeps.count; i++)
                sweep_check(&sweeps.list[i], findings, 4);
            sweeps_free(&sweeps);
        }
        struct lint_result result;
        for (size_t i = 0; i < table.count; i++) {
            lint_little(&table.rows[i], &result);
            lint_throughput(&table.rows[i], &result);
        }
    }
    measurements_free(&table);
    return 0;
}

#endif
