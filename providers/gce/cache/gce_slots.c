/* SPDX-License-Identifier: Apache-2.0 */
/* gce_slots.c: slots, their resources as structs, and how they are found (gce_slots.h).  Pure; who
 * fills them is gce_slots_look.c. */
#include "providers/gce/cache/gce_slots.h"

#include "common/base/str.h"

#include <string.h>

void gce_slots_init(struct gce_slots *s, struct arena *a)
{
    *s = (struct gce_slots){.a = a};
}

static struct gce_slot *find(const struct gce_slots *s, enum gce_collection c, const char *zone,
                             const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        struct gce_slot *slot = &s->items[i];
        if (slot->c == c && str_eq(slot->name, name) &&
            (!gce_api_is_zonal(c) || str_eq(slot->zone, zone))) {
            return slot;
        }
    }
    return NULL;
}

void gce_slots_add(struct gce_slots *s, bool main, enum gce_collection c, const char *zone,
                   const char *name)
{
    struct gce_slot *old = find(s, c, zone, name);
    if (old != NULL) {
        old->main = old->main || main;
        return;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
        struct gce_slot *more = ARENA_ARRAY(s->a, struct gce_slot, cap);
        if (s->n > 0) {
            memcpy(more, s->items, s->n * sizeof(*more));
        }
        s->items = more;
        s->cap = cap;
    }
    s->items[s->n++] = (struct gce_slot){
        .c = c,
        .zone = gce_api_is_zonal(c) ? arena_strdup(s->a, zone) : NULL,
        .name = arena_strdup(s->a, name),
        .main = main,
    };
}

void gce_slots_add_rare(struct gce_slots *s, enum gce_collection c, const char *name)
{
    gce_slots_add(s, false, c, NULL, name);
    find(s, c, NULL, name)->rare = true;
}

const struct gce_slot *gce_slots_find(const struct gce_slots *s, enum gce_collection c,
                                      const char *zone, const char *name)
{
    return find(s, c, zone, name);
}

static const void *present(const struct gce_slots *s, enum gce_collection c, const char *zone,
                           const char *name)
{
    const struct gce_slot *slot = find(s, c, zone, name);
    return slot != NULL && slot->known == GCE_PRESENT ? slot->as : NULL;
}

const struct gce_rule *gce_slots_rule(const struct gce_slots *s, const char *name)
{
    return present(s, GCE_RULES, NULL, name);
}

const struct gce_address *gce_slots_address(const struct gce_slots *s, const char *name)
{
    return present(s, GCE_ADDRESSES, NULL, name);
}

const struct gce_firewall *gce_slots_firewall(const struct gce_slots *s, const char *name)
{
    return present(s, GCE_FIREWALLS, NULL, name);
}

const struct gce_hc *gce_slots_hc(const struct gce_slots *s, bool regional, const char *name)
{
    return present(s, regional ? GCE_REGION_HCS : GCE_HCS, NULL, name);
}

const struct gce_bservice *gce_slots_bservice(const struct gce_slots *s, const char *name)
{
    return present(s, GCE_BACKENDS, NULL, name);
}

const struct gce_neg *gce_slots_neg(const struct gce_slots *s, const char *zone, const char *name)
{
    return present(s, GCE_NEGS, zone, name);
}

/* ---- decoding -------------------------------------------------------------------------------- */

#define DECODE(type, function)                                                                     \
    {                                                                                              \
        struct type *as = ARENA_NEW(a, struct type);                                               \
        rc = function(a, v, as, err);                                                              \
        decoded = as;                                                                              \
        break;                                                                                     \
    }

/* Its tree is kept: what is written back is laid over it. */
static int decode_backend(struct arena *a, struct json_object *o, const void **ret, struct err *err)
{
    struct gce_bservice *as = ARENA_NEW(a, struct gce_bservice);
    int rc = gce_bservice_decode(a, o, as, err);
    *ret = rc == ERR_OK ? as : *ret;
    return rc;
}

int gce_slot_decode(struct arena *a, enum gce_collection c, struct json_object *o, const void **ret,
                    struct err *err)
{
    const struct json_view v = json_view_of_tree(o);
    return c == GCE_BACKENDS ? decode_backend(a, o, ret, err)
                             : gce_slot_decode_view(a, c, &v, ret, err);
}

int gce_slot_decode_view(struct arena *a, enum gce_collection c, const struct json_view *v,
                         const void **ret, struct err *err)
{
    const void *decoded = NULL;
    int rc = ERR_BUG;
    switch (c) {
    case GCE_RULES:
        DECODE(gce_rule, gce_rule_decode_view)
    case GCE_ADDRESSES:
        DECODE(gce_address, gce_address_decode_view)
    case GCE_POOLS:
        DECODE(gce_pool, gce_pool_decode_view)
    case GCE_FIREWALLS:
        DECODE(gce_firewall, gce_firewall_decode_view)
    case GCE_CHECKS:
        DECODE(gce_check, gce_check_decode_view)
    case GCE_HCS:
    case GCE_REGION_HCS:
        DECODE(gce_hc, gce_hc_decode_view)
    case GCE_NEGS:
        DECODE(gce_neg, gce_neg_decode_view)
    case GCE_GROUPS:
        DECODE(gce_group, gce_group_decode_view)
    case GCE_SUBNETWORKS:
        DECODE(gce_subnetwork, gce_subnetwork_decode_view)
    default:
        return err_set(err, ERR_BUG, "no slot holds a resource of collection %d", (int)c);
    }
    if (rc == ERR_OK) {
        *ret = decoded;
    }
    return rc;
}
