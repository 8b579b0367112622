/* SPDX-License-Identifier: Apache-2.0 */
/* world_azure.h: what the two halves of Azure's rules for worlds share (world_internal.h).  Private
 * to them.  Pure. */
#ifndef TRIMTAB_TESTS_FAULT_WORLD_AZURE_H
#define TRIMTAB_TESTS_FAULT_WORLD_AZURE_H

#include "tests/fault/world_internal.h"

/* The name at the end of an id; "" for NULL. */
const char *azure_last_word(const char *id);
/* ".../loadBalancers/x" is of "loadBalancers". */
bool azure_is_of(const char *id, const char *collection);
struct json_object *azure_properties(struct json_object *o); /* or NULL */
/* The element of that name, or NULL. */
struct json_object *azure_named(struct json_object *array, const char *name);

/* As struct world_rules wants it. */
int azure_check_whole(const struct world_view *v, struct err *err);
/* Nodes are in the pools. */
int azure_check_members(const struct world_view *v, struct err *err);

#endif
