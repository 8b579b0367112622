/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_index.h: public IPs by ID, name, address, and the Services that their tag names.
 *
 * Made once for a list, and told of each edit: a thousand Services that each look through a
 * thousand addresses would take a million looks.  What is found is what looking through the list
 * would find.  Internal to azure_pip_find.c and to those who make lists of public IPs.  Everything
 * lives in the arena.  Pure. */
#ifndef TRIMTAB_AZURE_PIP_INDEX_H
#define TRIMTAB_AZURE_PIP_INDEX_H

#include "common/base/arena.h"
#include "common/data/json.h"

#include <stddef.h>

struct azure_pip_index;
/* One public IP; `doc` NULL: it was taken away. */
struct azure_pip_slot {
    struct json_object *doc;
    size_t order; /* the first that was put has 0 */
};
/* Several, in the order in which they were put; some may be taken away, or not be what
 * is looked for any more. */
struct azure_pip_slots {
    struct azure_pip_slot **items;
    size_t n;
};
struct azure_pip_index *azure_pip_index_new(struct arena *a, struct json_object *const *items,
                                            size_t n);
/* New, changed, or (NULL) taken away. */
void azure_pip_index_put(struct azure_pip_index *ix, const char *id, struct json_object *doc);
struct json_object *azure_pip_index_by_id(const struct azure_pip_index *ix, const char *id);
/* All that are not taken away, in `a`; *ret_n of them. */
struct json_object **azure_pip_index_all(struct arena *a, const struct azure_pip_index *ix,
                                         size_t *ret_n);
/* Candidates: all that have that name, address, or the Service ("namespace/name") in their
 * tag are among them. */
struct azure_pip_slots azure_pip_index_by_name(const struct azure_pip_index *ix, const char *name);
struct azure_pip_slots azure_pip_index_by_ip(const struct azure_pip_index *ix, const char *ip);
struct azure_pip_slots azure_pip_index_by_service(const struct azure_pip_index *ix,
                                                  const char *key);

#endif
