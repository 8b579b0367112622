/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_numbers.h: endpoints as numbers, so that a node in a thousand NEGs is kept once.
 *
 * An endpoint is (instance, IPv4, IPv6).  Each use is counted; with the last one the endpoint goes
 * and its number is free for another.  Not thread-safe: the mirror's lock is around it
 * (gce_neg_mirror.h). */
#ifndef TRIMTAB_GCE_NEG_NUMBERS_H
#define TRIMTAB_GCE_NEG_NUMBERS_H

#include "common/base/attr.h"
#include "providers/gce/model/gce_l4_resources.h"

#include <stdbool.h>
#include <stdint.h>

struct gce_numbers;
struct gce_numbers *gce_numbers_new(void) _warn_unused_;
void gce_numbers_free(struct gce_numbers *x); /* NULL is fine */
/* The endpoint's number, which is used once more. */
uint32_t gce_numbers_take(struct gce_numbers *x, const struct gce_endpoint *e);
/* Used once less. */
void gce_numbers_drop(struct gce_numbers *x, uint32_t id);
/* False: not in use. */
bool gce_numbers_find(const struct gce_numbers *x, const struct gce_endpoint *e, uint32_t *ret);
/* Its NEG; borrowed until it is dropped. */
struct gce_endpoint gce_numbers_get(const struct gce_numbers *x, uint32_t id);
/* How many are in use. */
uint32_t gce_numbers_count(const struct gce_numbers *x);

#endif
