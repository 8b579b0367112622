/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_index.h: the elements of one load balancer by whose they are and what they hang on.
 *
 * A balancer has up to 1,500 rules, and a batch a thousand Services: a search through the
 * whole document for each of them would take millions of looks.  An index is made once per
 * document, follows additions and removals, and gives candidates: all that belong to the
 * Service are among them, and the rules that know (azure_frontend_rules.h) say which do.  Without
 * an index everything is a candidate, so that the rules are the same for one Service and for many.
 * Everything lives in the arena.  Pure. */
#ifndef TRIMTAB_AZURE_LB_INDEX_H
#define TRIMTAB_AZURE_LB_INDEX_H

#include "providers/azure/lb/azure_frontend_rules.h"

enum azure_lb_part {
    AZURE_LB_FRONTENDS = 0,
    AZURE_LB_RULES,
    AZURE_LB_PROBES,
    AZURE_LB_PARTS,
};
struct azure_lb_index;
/* In the order of the document. */
struct azure_elements {
    struct json_object **items;
    size_t n;
};
/* Of a document that is not edited but by those who tell the index. */
struct azure_lb_index *azure_lb_index_new(struct arena *a, struct json_object *lb);
void azure_lb_index_add(struct azure_lb_index *ix, enum azure_lb_part part, struct json_object *o);
void azure_lb_index_drop(struct azure_lb_index *ix, enum azure_lb_part part, struct json_object *o);
/* Name of the part's array in a document. */
const char *azure_lb_part_name(enum azure_lb_part part);

/* `ix` NULL: all elements of `lb`.  The result lives in `a`. */
/* Rules, probes or frontends by the Service's base name, and those called as the shared probe. */
struct azure_elements azure_lb_named(struct arena *a, const struct azure_lb_index *ix,
                                     struct json_object *lb, enum azure_lb_part part,
                                     const struct azure_service *s);
/* Frontends by the base name, or by an address that the Service pins. */
struct azure_elements azure_lb_claimed(struct arena *a, const struct azure_lb_index *ix,
                                       struct json_object *lb, const struct azure_claim *c);
/* Frontends with that public IP; rules of that frontend. */
struct azure_elements azure_lb_with_pip(struct arena *a, const struct azure_lb_index *ix,
                                        struct json_object *lb, const char *pip_id);
struct azure_elements azure_lb_rules_at(struct arena *a, const struct azure_lb_index *ix,
                                        struct json_object *lb, const char *frontend_id);
/* Probes and rules of exactly that name. */
struct azure_elements azure_lb_called(struct arena *a, const struct azure_lb_index *ix,
                                      struct json_object *lb, enum azure_lb_part part,
                                      const char *name);

#endif
