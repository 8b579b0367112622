/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services.h: what several functions services.* of trimtab-eval read from a request.
 *
 * A *world* of a request is a node, its proxy's configuration, Services and slices; absent members
 * have no effect. */
#ifndef TRIMTAB_TESTS_EVAL_SERVICES_H
#define TRIMTAB_TESTS_EVAL_SERVICES_H

#include "common/services/node/world.h"
#include "tests/eval/eval.h"

/* Reads `node` and `proxy`.  ERR_INVALID for a family, a detector or a bit that does not exist. */
int eval_node_config(struct arena *a, struct json_object *in, struct ks_node_config *ret,
                     struct err *err);
/* The objects of an array member, through the library's own decoder; none when it is absent. */
int eval_ks_services(struct arena *a, struct json_object *in, const char *member,
                     const struct ks_service *const **ret, size_t *ret_n, struct err *err);
int eval_ks_slices(struct arena *a, struct json_object *in, const char *member,
                   const struct ks_slice *const **ret, size_t *ret_n, struct err *err);
/* The whole world of a request. */
int eval_world(struct arena *a, struct json_object *in, const struct ks_world **ret,
               struct err *err);

#endif
