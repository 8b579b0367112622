/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_backend_plan.c: the backend service, and the groups or NEGs that it refers to.
 *
 * It is made with its backends at once: links are known before what they lead to exists, and that
 * is made in the wave before.  A write starts from what was read, so nothing that another program
 * set is lost, and no write takes backends away by accident (gce-l4.md §9.5 rule 6): NEGs stay
 * linked when a zone has gone, instance groups are unlinked where the Service has other zones
 * still.  A backend service cannot change its scheme: then it goes, after the rules that refer to
 * it.  Source: gce-l4.md §4.6, §4.9, §5.1 step 13, §6.5, A25; gce-cloud-provider.md §5.3, §5.5,
 * §15 rows 19, 20.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"

/* ---- backends -------------------------------------------------------------------------------- */

static bool strs_have_link(const struct gce_strs *links, const char *link)
{
    for (size_t i = 0; i < links->n; i++) {
        if (gce_link_same(links->items[i], link)) {
            return true;
        }
    }
    return false;
}

static bool is_linked(const struct gce_bservice *is, const char *link)
{
    for (size_t i = 0; i < is->n_backends; i++) {
        if (gce_link_same(is->backends[i].group, link)) {
            return true;
        }
    }
    return false;
}

/* How backends are to be. */
struct links {
    const struct gce_strs *groups;
    const char *mode;
    bool unlink; /* those that are not in `groups` go */
    bool repair; /* a mode that upstream left out is put in */
};
struct backends {
    struct gce_backend *items;
    size_t n;
    bool changed;
};

/* The kept ones, then the new ones.  Without any group none is unlinked: an empty list of nodes
 * must not drop all traffic. */
static struct backends backends_of(struct arena *a, const struct gce_bservice *is,
                                   const struct links *l)
{
    size_t n_is = is == NULL ? 0 : is->n_backends;
    struct backends out = {.items = ARENA_ARRAY(a, struct gce_backend, n_is + l->groups->n)};
    bool unlinks = l->unlink && l->groups->n > 0;
    for (size_t i = 0; i < n_is; i++) {
        const struct gce_backend *b = &is->backends[i];
        bool wanted = strs_have_link(l->groups, b->group);
        if (unlinks && !wanted) {
            out.changed = true;
            continue;
        }
        bool mends = l->repair && wanted && !str_is_empty(l->mode) && !str_eq(b->mode, l->mode);
        out.changed = out.changed || mends;
        out.items[out.n] = *b;
        out.items[out.n++].mode = mends ? l->mode : b->mode;
    }
    for (size_t i = 0; i < l->groups->n; i++) {
        if (is == NULL || !is_linked(is, l->groups->items[i])) {
            out.changed = true;
            out.items[out.n++] =
                (struct gce_backend){.group = l->groups->items[i], .mode = str_nonnull(l->mode)};
        }
    }
    return out;
}

/* "us-central1-a/k8s-ig--1": what people know a group by. */
static const char *short_link(struct arena *a, const char *link)
{
    struct gce_link l;
    if (gce_link_parse(a, link, &l, NULL) != ERR_OK || str_is_empty(l.zone)) {
        return gce_link_last(link);
    }
    return arena_printf(a, "%s/%s", l.zone, l.name);
}

static struct str_set names_of(struct arena *a, const struct gce_backend *items, size_t n)
{
    const char **names = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = short_link(a, items[i].group);
    }
    return str_set_make(a, names, n);
}

static void put_backends(struct json_object *body, const struct gce_bservice *is,
                         const struct backends *b)
{
    if (is == NULL || is->raw == NULL) {
        struct json_object *list = json_object_new_array();
        for (size_t i = 0; i < b->n; i++) {
            struct json_object *item = json_object_new_object();
            json_add_str(item, "group", b->items[i].group);
            json_add_str(item, "balancingMode",
                         str_is_empty(b->items[i].mode) ? NULL : b->items[i].mode);
            json_object_array_add(list, item);
        }
        json_add(body, "backends", list);
        return;
    }
    struct json_object *whole = gce_bservice_backends_body(is, b->items, b->n);
    struct json_object *list = json_copy(json_member(whole, "backends"));
    json_object_put(whole);
    for (size_t i = 0; i < b->n; i++) {
        if (!str_is_empty(b->items[i].mode)) {
            json_add_str(json_object_array_get_idx(list, i), "balancingMode", b->items[i].mode);
        }
    }
    json_add(body, "backends", list);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_fields(struct lb_diff *diff, const struct gce_bservice *is,
                       const struct gce_bservice *want)
{
    const char *old_check = is->checks.n > 0 ? gce_link_last(is->checks.items[0]) : NULL;
    const char *check = want->checks.n > 0 ? gce_link_last(want->checks.items[0]) : NULL;
    (void)lb_diff_text(diff, "protocol", is->protocol, want->protocol);
    (void)lb_diff_text(diff, "sessionAffinity", is->affinity, want->affinity);
    (void)lb_diff_text(diff, "healthChecks", old_check, check);
    (void)lb_diff_text(diff, "localityLbPolicy", is->locality, want->locality);
    (void)lb_diff_text(diff, "description", is->description, want->description);
    if (want->has_zonal) {
        (void)lb_diff_text(diff, "zonalAffinity", is->spillover, want->spillover);
    }
    (void)lb_diff_text(diff, "strongAffinity", is->strong ? "true" : "false",
                       want->strong ? "true" : "false");
    if (want->strong) {
        (void)lb_diff_int(diff, "idleTimeoutSec", is->idle_s, want->idle_s);
    }
    if (want->has_log) {
        (void)lb_diff_text(diff, "logConfig.enable", is->log_enable ? "true" : "false",
                           want->log_enable ? "true" : "false");
    }
}

static const char *words_of(const char *member)
{
    static const struct {
        const char *member;
        const char *because;
    } rows[] = {
        {"protocol", "spec.ports changed"},
        {"sessionAffinity", "spec.sessionAffinity changed"},
        {"healthChecks", "spec.externalTrafficPolicy changed"},
        {"logConfig", "its L4LBConfig changed"},
        {"connectionTrackingPolicy", "strong session affinity changed"},
        {"localityLbPolicy", "weighted load balancing changed"},
        {"networkPassThroughLbTrafficPolicy", "spec.trafficDistribution changed"},
    };
    for (size_t i = 0; member != NULL && i < ARRAY_LEN(rows); i++) {
        if (str_has_prefix(member, rows[i].member)) {
            return rows[i].because;
        }
    }
    return "it is not as it should be";
}

static const char *why_write(const struct gce_bservice *want, const char *because,
                             const struct links *l)
{
    if (want != NULL && because != NULL) {
        return because;
    }
    return l->unlink ? "the zones of the nodes changed" : "a zone has nodes now, or was not linked";
}

/* Returns the handle of the operation, in phase BACKEND; -1: it is kept. */
static int emit_write(struct bs_emit *e, const struct gce_bservice *is,
                      const struct gce_bservice *want, const struct links *l, const char *because)
{
    struct lb_diff diff;
    struct backends b = backends_of(e->a, is, l);
    if (want == NULL && !b.changed) {
        bs_keep(e, BS_BACKEND, GCE_BACKENDS, is->name);
        return -1;
    }
    lb_diff_init(&diff, e->a);
    if (want != NULL) {
        add_fields(&diff, is, want);
    }
    struct str_set now = names_of(e->a, is->backends, is->n_backends);
    struct str_set then = names_of(e->a, b.items, b.n);
    (void)lb_diff_set(&diff, "backends", &now, &then);
    struct json_object *body = want != NULL
                                   ? gce_bservice_body(want, is)
                                   : gce_bservice_backends_body(is, is->backends, is->n_backends);
    if (b.changed) {
        put_backends(body, is, &b);
    }
    struct lb_op op = LB_OP(.verb = LB_CHANGE, .name = is->name, .why = why_write(want, because, l),
                            .fields = diff.fields, .n_fields = diff.n);
    return bs_emit(
        e, BS_BACKEND, op,
        (struct gce_op){.c = GCE_BACKENDS, .verb = GCE_UPDATE, .body = gce_own(e->a, body)});
}

void bs_write_backends(struct bs_emit *e, const struct gce_bservice *is,
                       const struct gce_strs *groups, const char *mode, bool unlink)
{
    const struct links l = {
        .groups = groups, .mode = mode, .unlink = unlink, .repair = e->f->repair_adopted};
    (void)emit_write(e, is, NULL, &l, NULL);
}

static int emit_insert(struct bs_ensure *n, const struct links *l)
{
    struct bs_emit *e = &n->e;
    const struct gce_bservice *want = &n->d->service;
    struct backends b = backends_of(e->a, NULL, l);
    struct json_object *body = gce_bservice_body(want, NULL);
    if (b.n > 0) {
        put_backends(body, NULL, &b);
    }
    struct lb_op op =
        LB_OP(.verb = LB_CREATE, .name = want->name,
              .why = n->service_again ? "the Service was of another scheme, which cannot be changed"
                                      : "forwarding rules need it",
              .summary = arena_printf(e->a, "%s, nodes in %s", want->protocol,
                                      str_count(e->a, b.n, "zone")),
              .note = arena_printf(e->a, "affinity %s", want->affinity));
    /* Beside the rule of another kind, unless one of its name goes with that. */
    bool beside = e->in->way != NULL && !bs_deletes(e, GCE_BACKENDS, want->name);
    return bs_emit(
        e, beside ? BS_TURN : BS_BACKEND, op,
        (struct gce_op){.c = GCE_BACKENDS, .verb = GCE_INSERT, .body = gce_own(e->a, body)});
}

/* ---- deciding -------------------------------------------------------------------------------- */

static bool is_equal(const struct bs_ensure *n, const char **ret_because)
{
    const struct gce_bs_desired *d = n->d;
    struct gce_bservice_compare how = {.strong = d->strong_compared, .log_managed = d->log_managed};
    const char *member = NULL;
    bool same = false;
    if (d->legacy) {
        same = gce_ilb_bservice_members_equal(n->e.a, n->service, &d->service, &member);
    } else {
        same = gce_l4_bservice_equal(n->e.a, n->service, &d->service, &how);
        member = how.because;
    }
    *ret_because = same ? NULL : words_of(member);
    return same;
}

static bool checks_with(const struct bs_ensure *n, const char *check)
{
    for (size_t i = 0; i < n->service->checks.n; i++) {
        if (str_eq(gce_link_last(n->service->checks.items[i]), check)) {
            return true;
        }
    }
    return false;
}

void bs_decide_backend(struct bs_ensure *n)
{
    const struct gce_bs_desired *d = n->d;
    n->service = gce_slots_bservice(n->e.seen, d->service.name);
    if (n->service == NULL) {
        return;
    }
    n->service_again = !str_eq(n->service->scheme, d->service.scheme);
    n->protocol_changes = !str_eq(n->service->protocol, d->service.protocol);
    n->left_shared = n->has_names && !d->check_shared && checks_with(n, n->names.shared_check);
}

/* Behind the rule; or, where there is no room for two, between the rule that goes and the one that
 * comes.  `write` is the handle of the operation on the wanted one. */
static void drop_backend(struct bs_ensure *n, const char *name, const char *why, int write)
{
    const struct bs_rule *r = &n->sides[0].rules[0];
    bool free = r->is == NULL || r->remake;
    bool first = n->service == NULL && free &&
                 lb_plan_makes_room(n->e.p, n->e.in->key, gce_collection_word(GCE_BACKENDS));
    if (first) {
        bs_pending_of(&n->e, write)->draft.phase = BS_BACKEND;
    }
    int at = bs_delete(&n->e, first ? BS_UNBACK : BS_DROP, GCE_BACKENDS, name, why);
    bs_op(&n->e, at)->tolerate |= LB_TOLERATE_IN_USE;
    bs_op(&n->e, at)->shared = true;
}

/* The one that a shared or unshared name was before (another user of it keeps it,
 * gce-cloud-provider.md §5.3), and the Service's own one that an interrupted run left when its rule
 * referred to a shared one already. */
static void drop_former(struct bs_ensure *n, int write)
{
    const struct gce_rule *was = n->sides[0].rules[0].is;
    if (!n->d->legacy || !n->has_names) {
        return;
    }
    const char *name = was == NULL ? "" : gce_link_last(was->backend_service);
    bool ours = !str_is_empty(name) && gce_bs_names_backend(n->e.a, n->e.f, &n->names, name);
    if (ours && !str_eq(name, n->d->service.name)) {
        drop_backend(n, name, "the rule refers to another one now", write);
    }
    for (size_t i = 0; n->names.backends[i] != NULL; i++) {
        const char *left = n->names.backends[i];
        if (!str_eq(left, n->d->service.name) && gce_slots_bservice(n->e.seen, left) != NULL &&
            !bs_deletes(&n->e, GCE_BACKENDS, left)) {
            drop_backend(n, left, "an interrupted run left it, and no rule refers to it", write);
        }
    }
}

/* Rules that are made again are away for as short as can be: all that they lead to is written
 * before, unless the cloud refuses that while they refer to it. */
static bool is_written_early(const struct bs_ensure *n)
{
    bool loses = bs_side_loses_rules(&n->sides[0]) || bs_side_loses_rules(&n->sides[1]);
    return loses && !n->protocol_changes && !n->service_again;
}

void bs_plan_backend(struct bs_ensure *n)
{
    const struct gce_bs_desired *d = n->d;
    const char *because = NULL;
    int at;
    const struct links l = {.groups = &d->groups,
                            .mode = d->mode,
                            .unlink = d->unlink,
                            .repair = n->e.f->repair_adopted};
    if (n->service_again) {
        int gone = bs_delete(&n->e, BS_UNBACK, GCE_BACKENDS, n->service->name,
                             "the Service was of another scheme, which cannot be changed");
        bs_op(&n->e, gone)->ask = bs_ask_backend(n);
    }
    if (n->service == NULL || n->service_again) {
        at = emit_insert(n, &l);
    } else {
        bool same = is_equal(n, &because);
        at = emit_write(&n->e, n->service, same ? NULL : &d->service, &l, because);
        if (at >= 0) {
            struct gce_pending *one = bs_pending_of(&n->e, at);
            one->draft.op.undo = bs_undo_backend(n);
            one->turns = !checks_with(n, d->check.name);
            one->needs_members = one->turns && !d->check_shared;
        }
    }
    if (at >= 0 && is_written_early(n)) {
        bs_pending_of(&n->e, at)->draft.phase = BS_TURN;
    }
    drop_former(n, at);
}
