/* SPDX-License-Identifier: Apache-2.0 */
/* azure_errors.h: what an answer of Azure means: {"error":{"code","message","details"}} and a
 * status.
 *
 * The code of the error is what a caller can act on; err->reason keeps Azure's own code, the
 * message quotes Azure.
 * Source: docs/spec/azure.md 3.2, 3.8.  Pure. */
#ifndef TRIMTAB_AZURE_ERRORS_H
#define TRIMTAB_AZURE_ERRORS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>

/* Fills *err from a status that is no success. Returns the code. */
int azure_error_of_answer(int status, const char *body, size_t n, struct err *err);
/* A bad request with a code of Azure's that stands in no table: ERR_TRANSIENT, because another
 * program may fix it, but the same request is not sent again at once. */
bool azure_error_is_refusal(const struct err *err);
/* The same for {"code","message"} of an operation that ended Failed or Canceled. */
int azure_error_of_operation(struct json_object *error, const char *status, struct err *err);

/* A balancer cannot go, because the model of a scale set still names its pools: the ID of that set;
 * NULL: it is another error, or the set is of another resource group, which is none of
 * our business (6.11). */
const char *azure_error_clinging_set(struct arena *a, const struct err *err, const char *group);
/* A frontend cannot go, because a private link service stands on it: the ID of that one; NULL: the
 * message names none. */
const char *azure_error_clinging_link(struct arena *a, const struct err *err);

/* Returns how many load balancing rules a network interface may carry, where the refusal says so;
 * else 0. */
size_t azure_error_rules_per_nic(const struct err *err);

#endif
