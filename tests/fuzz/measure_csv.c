/* Fuzzes the CSV reader of measurements: whatever it takes must be settled, grouped and checked. */
#include <stdint.h>

#include "model/lint.h"
#include "model/measure_readers.h"
#include "model/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct measure_input in = {.name = "fuzz", .text = (const char *)data, .length = size};
    struct measurements table;
    struct sweeps sweeps;
    struct error err;
    measurements_init(&table);
    measure_csv.bid(&in);
    if (measure_csv.read(&in, &table, &err) == 0) {
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
