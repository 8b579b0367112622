/* SPDX-License-Identifier: Apache-2.0 */
/* drift_rules.h: when a load balancer is compared with its Service, and the words for what differs.
 * Pure.
 *
 * Services are checked in rounds, so that one list of the cloud serves many: a period has one round
 * for each DRIFT_ROUND_KEYS Services, spread evenly over it, and a Service belongs to the round
 * that its key's hash says.
 * Source: docs/adr/0020. */
#ifndef TRIMTAB_CONTROLLER_DRIFT_RULES_H
#define TRIMTAB_CONTROLLER_DRIFT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"

#define DRIFT_ROUND_KEYS 250
#define DRIFT_PERIOD_LEAST_MS                                                                      \
    60000 /* as long as what was seen of the cloud counts as seen just now */

/* For how long a Service waits for its next round; half a period at least, one and a half at most.
 * `offset_ms` differs from process to process, so that those of many clusters do not ask
 * at the same moment. */
int64_t drift_delay_ms(const char *key, int64_t now_ms, int64_t period_ms, int64_t offset_ms,
                       size_t n_services);

/* The plan of one Service. */
struct drift {
    unsigned n;      /* operations that change something; 0: it is as it should be */
    uint64_t digest; /* of all of them; never 0 when n is not */
    /* "firewall k8s-fw-a1: sourceRanges is 0.0.0.0/0, should be 10.0.0.0/8; …"; bounded */
    const char *text;
};
#define DRIFT_TEXT_MAX 800
struct drift drift_of(struct arena *a, const struct tt_plan *plan, const char *key);
/* Is this operation of the plan about the Service, and does it change anything? */
bool drift_is_about(const struct tt_operation *op, const char *key);

#endif
