/* Talk, on stderr: results go to stdout and never through here. */
#ifndef IOREEL_COMMON_LOG_H
#define IOREEL_COMMON_LOG_H

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

/* Set once by main() from -q and -v, before any thread starts. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* A warning is printed unless -q; an info line too; a detail only with -v. Each adds the newline.
 */
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Printed whatever the level is. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
