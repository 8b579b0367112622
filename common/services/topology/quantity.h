/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.h: quantities of Kubernetes ("4", "3920m", "1.93", "2Ki", "1e3") as exact numbers.
 *
 * A quantity is kept in thousand-millionths of its unit.  Sums are exact, rounding happens once,
 * when a sum is asked for in thousandths: as upstream adds quantities before it rounds.  Pure.
 * Source: Kubernetes 1.36, apimachinery, pkg/api/resource. */
#ifndef TRIMTAB_SERVICES_TOPOLOGY_QUANTITY_H
#define TRIMTAB_SERVICES_TOPOLOGY_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 ks_quantity_wide;

/* A value of zero or more.  Members belong to quantity.c. */
struct ks_quantity {
    ks_quantity_wide nano; /* each parsed one at most 2^63 - 1 whole units */
};

/* Reads all of `s`.  Digits below a thousand-millionth are rounded up, values above 2^63 - 1 become
 * that.  False, with *ret untouched, when `s` is NULL, not a quantity, or negative (no
 * resource of a node is). */
bool ks_quantity_parse(const char *s, struct ks_quantity *ret);
/* Adds `more` to *sum; good for 10^10 additions. */
void ks_quantity_add(struct ks_quantity *sum, const struct ks_quantity *more);
bool ks_quantity_is_zero(const struct ks_quantity *q);
/* In thousandths, rounded up; INT64_MAX when it is more. */
int64_t ks_quantity_milli(const struct ks_quantity *q);

#endif
