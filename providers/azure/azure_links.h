/* SPDX-License-Identifier: Apache-2.0 */
/* azure_links.h: private link services under plan.
 *
 * Private to azure_stage_links.c, which makes and takes them away, azure_links_former.c, which
 * takes away those of former frontends, and azure_links_first.c, which asks before a Service gets
 * anything whether its link can be made.  Pure, but for what is noted as
 * needed.  Everything lives in the arena of the sync. */
#ifndef TRIMTAB_AZURE_LINKS_H
#define TRIMTAB_AZURE_LINKS_H

#include "providers/azure/sync/azure_emit.h"

struct azure_doomed {
    struct json_object *pls;
    struct azure_owners owners;
    const char *why;
};
struct azure_doomed_list {
    struct lb_plan *plan;
    struct azure_doomed *items;
    size_t n;
};
struct azure_linking {
    struct azure_sync *y;
    struct lb_plan *plan;
    struct map *subnets; /* lower-case ID → an operation of this plan switches its policies off */
    struct map *made; /* lower-case ID of a frontend → struct json_object: planned in this batch */
    struct azure_doomed_list doomed;
    struct azure_planned_link {
        const struct azure_item *item;
        const char *id;
        struct json_object *was;
        struct json_object *doc;
    } *links;
    size_t n;
};
struct azure_linking azure_linking_new(struct azure_sync *y, struct lb_plan *plan);
void azure_linking_done(struct azure_linking *l);
/* Adds the link of a frontend to those that are planned, if it is to be written; `was`: the link
 * that stands on it, or NULL.  ERR_EXISTS, ERR_INVALID, ERR_NOT_FOUND: it cannot be. */
int azure_linking_decide(struct azure_linking *l, const struct azure_item *it,
                         const char *frontend_id, struct json_object *was,
                         struct err *err) _warn_unused_;
/* Does the Service have or ask for one, or did it before? */
bool azure_links_has(const struct azure_sync *y, const struct azure_item *it);
/* Notes what the stage under way has to read for that. */
void azure_links_need(struct azure_sync *y, const struct azure_item *it);
/* Notes what is needed to know its links; `goes`: a frontend of it does. */
void azure_links_look(struct azure_sync *y, const struct azure_item *it, bool goes);
/* Links that go, and the operations for them: connections first. */
struct azure_doomed_list azure_links_doomed_new(struct azure_sync *y, struct lb_plan *plan);
void azure_links_doom(struct azure_sync *y, struct azure_doomed_list *list, struct json_object *pls,
                      const struct azure_item *it, const char *why);
void azure_links_emit_doomed(struct azure_sync *y, const struct azure_doomed_list *list);
/* A frontend has one link, in whatever group; NULL: none. */
struct json_object *azure_links_on(struct azure_sync *y, struct json_object *frontend);

#endif
