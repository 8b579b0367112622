/* SPDX-License-Identifier: Apache-2.0 */
/* lease_body.h: Leases as JSON: read leniently, written as the API server wants them.
 *
 * An update sends the whole object as it was read, only its spec is replaced, so that labels and
 * members that we do not know survive, and with the resourceVersion that makes two writers collide.
 * Times have six fraction digits, or the server refuses them.  Source: controller.md §4.9, §5.5;
 * recorded answers 106–118.  Pure. */
#ifndef TRIMTAB_KUBE_LEASE_BODY_H
#define TRIMTAB_KUBE_LEASE_BODY_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "controller/kube/lease/lease_rules.h"

/* Contents of a Lease; missing or invalid members are 0 or "". */
void lease_body_read(struct json_object *lease, struct lease_record *ret);
/* The body of a POST; text in the arena. */
const char *lease_body_create(struct arena *a, const struct lease_terms *terms,
                              const struct lease_record *wanted);
/* The body of a PUT of `lease`, which stays as it is. */
const char *lease_body_update(struct arena *a, struct json_object *lease,
                              const struct lease_record *wanted);

#endif
