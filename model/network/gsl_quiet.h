/* GSL's own error handler aborts the process. Every entry of this room that reaches GSL calls this
 * first; it turns the handler off once, and statuses are looked at instead. */
#ifndef IOREEL_MODEL_GSL_QUIET_H
#define IOREEL_MODEL_GSL_QUIET_H

void gsl_quiet(void);

#endif
