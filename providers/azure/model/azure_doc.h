/* SPDX-License-Identifier: Apache-2.0 */
/* azure_doc.h: ARM documents as JSON trees: what we do not know in them stays as it is.
 *
 * A load balancer or a security group is one document that many write.  So it is never decoded into
 * a struct and printed again: members are checked and edited in place, in a copy of what was read.
 * Trees given to an arena are put back with it; what these functions return is borrowed from the
 * tree.
 * ARM leaves out, nulls or empties what has no value; all three read the same here.
 * Source: docs/spec/azure.md 3.10.  Pure. */
#ifndef TRIMTAB_AZURE_DOC_H
#define TRIMTAB_AZURE_DOC_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How answers of ARM are parsed: documents are large, and say the same again and again.  No string
 * of such a tree is changed in place. */
extern const struct json_limits azure_doc_limits;
/* Gives `o` to the arena; returns it. */
struct json_object *azure_own(struct arena *a, struct json_object *o);
/* A copy that the arena owns: what is in it may be added, replaced and taken away
 * (json_share()). */
struct json_object *azure_copy(struct arena *a, struct json_object *o);

const char *azure_doc_name(struct json_object *o); /* "" when absent */
const char *azure_doc_id(struct json_object *o);   /* "" when absent */
const char *azure_doc_etag(struct json_object *o); /* NULL when absent */
/* An object whose properties, tags and sku are objects where they are there: what is not is no
 * answer of Azure. */
bool azure_doc_is_sound(struct json_object *o);
/* The member, made (also in place of what is no object) if it is not one. */
struct json_object *azure_object_make(struct json_object *o, const char *name);
/* o.properties, or NULL. */
struct json_object *azure_props(struct json_object *o);
/* The same, made when absent. */
struct json_object *azure_props_make(struct json_object *o);
/* properties.<name> when it is an array, else NULL. */
struct json_object *azure_array(struct json_object *o, const char *name);
struct json_object *azure_array_make(struct json_object *o, const char *name);
/* Text of properties.<name>; NULL when absent. */
const char *azure_prop_str(struct json_object *o, const char *name);
int64_t azure_prop_int(struct json_object *o, const char *name, int64_t otherwise);
bool azure_prop_bool(struct json_object *o, const char *name, bool otherwise);
/* properties.<name>.id; NULL when absent. */
const char *azure_ref(struct json_object *o, const char *name);
struct json_object *azure_ref_new(const char *id); /* {"id": …}, new reference */
/* The element of that name, compared without case, or NULL. */
struct json_object *azure_find(struct json_object *array, const char *name);
/* Removes the element at `i`. */
void azure_array_drop(struct json_object *array, size_t i);
/* `o` with `element` in place of the one of its name in properties.<array>; shares all else with
 * `o`, so neither may be edited.  Arena-owned. */
struct json_object *azure_with_element(struct arena *a, struct json_object *o, const char *array,
                                       struct json_object *element);

/* Each element; `array` is evaluated once.  Elements must not be removed meanwhile. */
#define AZURE_EACH(var, array)                                                                     \
    for (struct json_object *var##_in = (array); var##_in != NULL; var##_in = NULL)                \
        for (size_t var##_i = 0; var##_i < json_len(var##_in) &&                                   \
                                 ((var) = json_object_array_get_idx(var##_in, var##_i), 1);        \
             var##_i++)

#endif
