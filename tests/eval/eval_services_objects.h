/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_objects.h: objects of the functions services.*, by the decoder of common/services,
 * and slices as API JSON. */
#ifndef TRIMTAB_TESTS_EVAL_SERVICES_OBJECTS_H
#define TRIMTAB_TESTS_EVAL_SERVICES_OBJECTS_H

#include "common/services/decode/objects.h"
#include "common/services/topology/topology.h"
#include "tests/eval/eval.h"

extern const struct eval_fn eval_services_slices[];   /* pods, slices, mirrors, Endpoints */
extern const struct eval_fn eval_services_topology[]; /* zones' shares, hints */

/* A member of `in` that is one object; ERR_INVALID when it is not one.  `what` is also the
 * path in errors. */
int eval_sl_service(struct arena *a, struct json_object *in, const char *what,
                    const struct ks_service **ret, struct err *err);
/* Lists: none when the member is absent. */
int eval_sl_services(struct arena *a, struct json_object *in, const char *what,
                     const struct ks_service *const **ret, size_t *ret_n, struct err *err);
int eval_sl_pods(struct arena *a, struct json_object *in, const char *what,
                 const struct ks_pod *const **ret, size_t *ret_n, struct err *err);
int eval_sl_nodes(struct arena *a, struct json_object *in, const char *what,
                  const struct ks_node *const **ret, size_t *ret_n, struct err *err);
int eval_sl_slices(struct arena *a, struct json_object *in, const char *what,
                   const struct ks_slice *const **ret, size_t *ret_n, struct err *err);

/* New arrays: events as [type, reason, message]; a slice and its parts as the API shows them, lists
 * sorted as JSON. */
struct json_object *eval_sl_events(const struct ks_event *events, size_t n);
struct json_object *eval_sl_slice(struct arena *a, const struct ks_slice *s);
struct json_object *eval_sl_endpoint(const struct ks_slice_endpoint *e);
struct json_object *eval_sl_slice_ports(const struct ks_slice_port *ports, size_t n);
struct json_object *eval_sl_map(const struct json_kv *kvs, size_t n);
struct json_object *eval_sl_ref(const struct ks_ref *ref);
/* Sorts the items of an array by the bytes of their compact JSON text, members in byte order. */
struct json_object *eval_sl_sorted(struct arena *a, struct json_object *array);

#endif
