/* Two laws that every measured row must keep: Little's (N = X·R) and throughput = IOPS × size.
 *
 * What rounding of the printed digits can explain is never blamed. Little's law is not symmetric in
 * practice: more in flight than threads × iodepth is impossible; less means the depth was not
 * reached. */
#ifndef IOREEL_MODEL_LINT_H
#define IOREEL_MODEL_LINT_H

#include "model/measure/measurement.h"

#include <stdbool.h>

enum lint_law { LINT_LITTLE, LINT_THROUGHPUT };

enum lint_verdict { LINT_OK, LINT_INFO, LINT_WARN, LINT_ERROR, LINT_DEPTH_NOT_REACHED };

#define LINT_INFO_PCT  1.0
#define LINT_WARN_PCT  2.0
#define LINT_ERROR_PCT 5.0

struct lint_result {
    enum lint_law law;
    double expected;   /* IOPS by the law: N / R, or throughput / size */
    double stated;     /* IOPS as stated */
    double error_pct;  /* 100 · (stated / expected − 1) */
    double beyond_pct; /* what of it rounding cannot explain, in size */
    enum lint_verdict verdict;
    double effective_depth; /* X·R; NAN for LINT_THROUGHPUT */
};

/* False when the row lacks what the law needs. */
bool lint_little(const struct measurement *m, struct lint_result *result);
bool lint_throughput(const struct measurement *m, struct lint_result *result);

const char *lint_law_name(enum lint_law law);             /* "little", "throughput" */
const char *lint_verdict_name(enum lint_verdict verdict); /* "ok", "info", … */

#endif
