/* SPDX-License-Identifier: Apache-2.0 */
/* gce_rates.h: --gce-ratelimit: how many requests of single methods the operator lets us send.
 *
 * A rule is "VERSION.SERVICE.OPERATION,qps,RATE,BURST" ("ga.Addresses.Get,qps,1.5,5"), several follow one another.  The
 * names are those of ingress-gce: "Operations.Get" is the wait for an operation of any kind, a method of a region's health
 * checks is one of "RegionHealthChecks".  Beside the budgets of gce_budget.h: the later moment counts.
 * Rules of versions that are never called ("alpha") are taken and have no effect.  Pure; not thread-safe by itself.
 * Source: ingress-gce's flag of that name. */
#ifndef TRIMTAB_GCE_RATES_H
#define TRIMTAB_GCE_RATES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/net/budget.h"

#include <stddef.h>

struct gce_rate {
    const char *version;       /* "ga", "beta", "alpha" */
    const char *method;        /* "compute.addresses.get"; "operations": the wait for operations */
    struct budget_limit limit; /* its kind is the rule's own name */
};
struct gce_rates {
    struct gce_rate *items;
    struct budget_limit *limits; /* of the items, for budgets_new() */
    size_t n;
};

/* Texts live in `a`.  ERR_INVALID with the rule and how it should look. */
int gce_rates_parse(struct arena *a, const char *text, struct gce_rates *ret,
                    struct err *err) _warn_unused_;
/* Index of the rule for a method ("compute.addresses.get", "compute.regionOperations.wait") of a version ("v1", "beta");
 * rates->n: there is none. */
size_t gce_rates_find(const struct gce_rates *rates, const char *version, const char *method);

#endif
