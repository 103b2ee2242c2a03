/* Fuzzes the model file: what is taken must predict without a fault. */
#include <stdint.h>

#include "model/fit/model_file.h"
#include "model/fit/predict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_error_t fault;
    json_t *document = json_loadb((const char *)data, size, 0, &fault);
    struct model m;
    struct error err;
    if (document && model_from_json(document, "fuzz", &m, &err) == 0) {
        for (size_t i = 0; i < m.count; i++) {
            struct predictor *p;
            if (predictor_create(&m.fits[i], 64, &p, &err))
                continue;
            for (double depth = 1; depth <= 64; depth *= 2)
                predictor_at(p, depth);
            predictor_free(p);
        }
        json_decref(model_to_json(&m));
        model_free(&m);
    }
    json_decref(document);
    return 0;
}
