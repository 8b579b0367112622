/* SPDX-License-Identifier: Apache-2.0 */
/* gce_errors.h: what an answer of the Compute API means.
 *
 * One place turns statuses, reasons and operation errors into the codes that a caller can act
 * on.  Upstream looks at the numeric code alone; a quota or rate limit that comes as 403 is then
 * taken for a lack of permission, and "in use" that comes as an operation error is missed.  Here
 * reasons count too.
 * Source: gce-cloud-provider.md §3.4, §3.5, §15 row 5; vectors §9.14 E5, E6.
 * Pure. */
#ifndef TRIMTAB_GCE_ERRORS_H
#define TRIMTAB_GCE_ERRORS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>

/* An answer with status >= 400; `body` may be no JSON at all.  err gets upstream's text:
 * `googleapi: Error 404: message, notFound`.  Returns err's code. */
int gce_error_of_answer(int status, const char *body, size_t n, struct err *err);
/* An operation that is DONE: ERR_OK, or its first error; an `error` member or an
 * httpErrorStatusCode without one is a failure, too. */
int gce_error_of_operation(struct json_object *op, struct err *err);
/* The code alone. */
int gce_error_code(int status, const char *reason, const char *message);
/* The instance that a message names as missing or unusable ("…/instances/NAME'"), or NULL. */
char *gce_error_instance(struct arena *a, const char *message);

#endif
