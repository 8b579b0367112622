/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_observe.c: see gce_neg_observe.h. */
#include "providers/gce/negs/gce_neg_observe.h"

#include "common/base/str.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/ops/gce_members_read.h"
#include "providers/gce/ops/gce_ops.h"

#include <string.h>

bool gce_neg_is_known(struct gce_neg_mirror *m, const char *zone, const char *name,
                      struct gce_neg *ret)
{
    bool due;
    bool known = gce_neg_mirror_state(m, zone, name, &due) != GCE_MIRROR_UNKNOWN;
    if (known) {
        *ret = (struct gce_neg){
            .name = name,
            .zone = zone,
            .description = "",
            .type = "",
            .network = "",
            .subnetwork = "",
            .link = "",
            .id = "",
        };
    }
    return known;
}

static bool same(const struct gce_endpoint *x, size_t nx, const struct gce_endpoint *y, size_t ny)
{
    bool equal = nx == ny;
    for (size_t i = 0; equal && i < nx; i++) {
        equal = str_eq(x[i].instance, y[i].instance) && str_eq(x[i].ip, y[i].ip) &&
                str_eq(x[i].ipv6, y[i].ipv6);
    }
    return equal;
}

/* True when the mirror answers; else the NEG is to be listed. */
static bool from_mirror(struct lb_sync *s, bool compare, struct gce_neg_mirror *m,
                        struct gce_neg_one *one)
{
    struct gce_endpoint *is;
    bool due;
    enum gce_mirror_state state =
        gce_neg_mirror_get(m, one->zone, one->name, s->a, &is, &one->n_is, &due);
    one->is = is;
    if (state != GCE_MIRROR_UNKNOWN) {
        bool fits = same(one->is, one->n_is, one->want, one->n_want);
        return fits ? !due || !compare : !due && state == GCE_MIRROR_KNOWN;
    }
    if (one->seen->size < 0 || (size_t)one->seen->size != one->n_want ||
        gce_neg_mirror_is_forgotten(m, one->zone, one->name)) {
        return false;
    }
    gce_neg_mirror_assume(m, one->zone, one->name, one->want, one->n_want);
    one->is = one->want;
    one->n_is = one->n_want;
    return true;
}

static int take(struct lb_sync *s, struct gce_neg_mirror *m, struct gce_neg_one *one,
                const struct gce_members_list *list, struct err *err)
{
    if (list->err.code != ERR_OK) {
        gce_neg_mirror_forget(m, one->zone, one->name);
        one->unknown = true;
        one->n_is = 0;
        return s->planning ? ERR_OK : err_copy(err, &list->err);
    }
    if (list->absent) {
        gce_neg_mirror_drop(m, one->zone, one->name);
        return err_set(err, ERR_CONFLICT, "network endpoint group %s in zone %s has gone",
                       one->name, one->zone);
    }
    gce_neg_mirror_set(m, one->zone, one->name, list->items, list->n);
    one->is = list->items;
    one->n_is = list->n;
    return ERR_OK;
}

int gce_neg_observe(struct lb_sync *s, bool compare, struct gce_neg_one *items, size_t n,
                    struct err *err)
{
    struct gce_neg_mirror *m = gce_cloud_of(s)->negs;

    struct gce_members_list *lists = ARENA_ARRAY(s->a, struct gce_members_list, n);
    struct gce_neg_one **asked = ARENA_ARRAY(s->a, struct gce_neg_one *, n);
    size_t n_lists = 0;
    for (size_t i = 0; i < n; i++) {
        struct gce_neg_one *one = &items[i];
        one->unknown = false;
        if (one->seen != NULL && !one->foreign && !from_mirror(s, compare, m, one)) {
            asked[n_lists] = one;
            lists[n_lists++] =
                (struct gce_members_list){.c = GCE_NEGS, .zone = one->zone, .name = one->name};
        }
    }
    int rc = ERR_OK;
    gce_members_read(s, lists, n_lists);
    for (size_t i = 0; i < n_lists; i++) {
        struct err one = ERR_INIT;
        if (take(s, m, asked[i], &lists[i], &one) != ERR_OK && rc == ERR_OK) {
            rc = err_copy(err, &one);
        }
    }
    return rc;
}

static struct gce_endpoint *endpoints_of(struct arena *a, const struct gce_op *op, size_t *ret_n)
{
    struct json_object *list = json_member(op->body, "networkEndpoints");
    *ret_n = json_len(list);
    struct gce_endpoint *e = ARENA_ARRAY(a, struct gce_endpoint, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        e[i] = (struct gce_endpoint){
            .instance = gce_link_last(str_nonnull(json_str(o, "instance"))),
            .ip = str_nonnull(json_str(o, "ipAddress")),
            .ipv6 = str_nonnull(json_str(o, "ipv6Address")),
        };
    }
    return e;
}

static void wrote_well(struct gce_neg_mirror *m, const struct gce_op *op)
{
    size_t n = 0;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct gce_endpoint *e = endpoints_of(a, op, &n);
    switch (op->verb) {
    case GCE_INSERT:
        gce_neg_mirror_set(m, op->zone, op->name, NULL, 0);
        break;
    case GCE_ATTACH:
        gce_neg_mirror_add(m, op->zone, op->name, e, n);
        break;
    case GCE_DETACH:
        gce_neg_mirror_remove(m, op->zone, op->name, e, n);
        break;
    default:
        gce_neg_mirror_drop(m, op->zone, op->name);
        break;
    }
}

void gce_neg_wrote(struct gce_neg_mirror *m, const struct lb_op *op, unsigned outcome,
                   const struct err *err)
{
    const struct gce_op *arg = op->arg;
    if (op->verb == LB_KEEP || op->type != gce_op_type_of(arg->verb) || arg->c != GCE_NEGS) {
        return;
    }
    bool gone = arg->verb == GCE_DELETE && outcome == LB_TOLERATED && err != NULL &&
                err->code == ERR_NOT_FOUND;
    if (outcome == LB_DONE || gone) {
        wrote_well(m, arg);
    } else if (outcome == LB_FAILED) {
        gce_neg_mirror_forget(m, arg->zone, arg->name);
    }
}
