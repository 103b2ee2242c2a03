/* The rights that a capture needs, and giving them up once it has what it needs. */
#ifndef IOREEL_CAPTURE_RIGHTS_H
#define IOREEL_CAPTURE_RIGHTS_H

#include "common/error.h"

/* 0, or -EPERM with the capability that is missing. */
int capture_rights_check(struct error *err);

/* Drops every capability; the uid stays, so that files can still be written. 0 or -errno. */
int capture_rights_drop(struct error *err);

#endif
