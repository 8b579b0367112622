/* SPDX-License-Identifier: Apache-2.0 */
/* objects.h: Services, Nodes and EndpointSlices for tests, from JSON as the API server writes it.
 *
 * Uses the real decoder (controller/kube/store/object.h), so a test sees what a provider sees.
 * What the server would never leave out (metadata.name, resourceVersion) is filled in, so that a
 * test says only what it is about.  The objects live as long as the arena.  A JSON text or tree
 * that does not decode fails the process with its path: it is the test that is wrong. */
#ifndef TRIMTAB_TESTS_SUPPORT_OBJECTS_H
#define TRIMTAB_TESTS_SUPPORT_OBJECTS_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stddef.h>
#include <trimtab/types.h>

const struct tt_service *test_service(struct arena *a, struct json_object *tree);
const struct tt_node *test_node(struct arena *a, struct json_object *tree);
/* Every Node of an array. */
const struct tt_node **test_nodes(struct arena *a, struct json_object *array, size_t *ret_n);
/* Every EndpointSlice of an array. */
const struct tt_slice **test_slices(struct arena *a, struct json_object *array, size_t *ret_n);
/* From text. */
const struct tt_service *test_service_text(struct arena *a, const char *json);
const struct tt_node *test_node_text(struct arena *a, const char *json);

#endif
