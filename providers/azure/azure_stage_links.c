/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_links.c: private link services: taken away before their frontend goes, made once it
 * is there.
 *
 * Two stages, because a balancer cannot lose a frontend that a private link service stands on, and
 * each of these writes changes the balancer's etag (3.4).  Nothing is listed unless a Service asks
 * for a link, asked for one before, or a frontend goes.  What another cluster, another Service or a
 * person made is never deleted (17 row 17).
 * Source: docs/spec/azure.md 6.1 (11a), 10.6. */
#include "providers/azure/azure_join.h"
#include "providers/azure/azure_links.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/azure_taken_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/pls/azure_pls_rules.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/mark_rules.h"

#define LOOKS 5 /* at links of all groups, a minute apart, that Azure does not show */

/* ---- what must be known ---------------------------------------------------------------------- */

static const char *links_scope(struct azure_sync *y, const struct azure_service *s)
{
    return azure_arm_collection(y->s->a, &y->p->arm, AZURE_PLSS, s->pls_group);
}

/* Another process may have made the Service's link in a group that no annotation names any more.
 * Without the right to read those of all groups: in the one that is asked for, in the one before an
 * edit, and, when a frontend goes, in the cluster's. */
void azure_links_look(struct azure_sync *y, const struct azure_item *it, bool goes)
{
    const struct azure_naming *naming = &y->p->naming;
    const struct tt_service *before = it->item->in->previous;
    if (azure_need_all_links(y)) {
        return;
    }
    azure_need(y, AZURE_PLSS, links_scope(y, it->service));
    if (before != NULL) {
        azure_need(y, AZURE_PLSS, links_scope(y, azure_service_read(y->s->a, naming, before)));
    }
    if (goes) {
        azure_need(
            y, AZURE_PLSS,
            azure_arm_collection(y->s->a, &y->p->arm, AZURE_PLSS, y->p->config.pls_resource_group));
    }
}

static bool is_unlooked(const struct azure_sync *y, const struct azure_item *it)
{
    return y->p->unlooked != NULL && map_has(y->p->unlooked, it->item->key);
}

/* The create annotation was there when this process looked last: upstream leaves the link then, we
 * take it away.  A new process cannot know, and looks once at what trimtab has made: what upstream
 * left of others may be in use. */
static bool asked_before(const struct azure_sync *y, const struct azure_item *it)
{
    const struct tt_service *before = it->item->in->previous;
    if (is_unlooked(y, it)) {
        return true;
    }
    return before != NULL ? azure_annotation(before, "azure-pls-create") != NULL
                          : lb_was_made(it->item->in) &&
                                (it->service->internal || it->service->disable_floating_ip);
}

/* It is on a balancer of its kind that is not the one where it has to be. */
static bool is_moving(const struct azure_item *it, struct json_object *lb)
{
    return it->want && it->target != NULL && !azure_eq(azure_doc_name(lb), it->target);
}

/* Will the balancer lose this frontend, as far as is known before balancers are planned?  A
 * frontend of the same name on the balancer where the Service has to be is another one. */
static bool is_leaving(struct azure_sync *y, const struct azure_item *it,
                       const struct azure_service *s, struct json_object *lb,
                       struct json_object *frontend)
{
    struct azure_ownership o = azure_sync_owner(y, s, frontend);
    if (!o.owns || (!it->want && !o.primary)) {
        return false;
    }
    if (!it->want || s->internal != it->service->internal || is_moving(it, lb)) {
        return o.primary;
    }
    enum azure_family f = azure_frontend_family(s, frontend, &o);
    return o.primary && !azure_is_interim(s->base, azure_doc_name(frontend)) &&
           !azure_eq(azure_doc_name(frontend), azure_frontend_name(y->s->a, s->in, f));
}

struct visit {
    struct azure_sync *y;
    const struct azure_lb_edits *after; /* what becomes of the balancers, or NULL: not known */
    const struct azure_item *item;
    void (*each)(struct visit *v, struct json_object *lb, struct json_object *frontend);
    bool found;
    void *arg;
};

static void visit_kind(struct visit *v, const struct azure_service *s)
{
    struct azure_sync *y = v->y;
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        if (azure_lb_is_internal(azure_doc_name(lb)) != s->internal) {
            continue;
        }
        struct azure_elements mine = azure_sync_frontends(y, s, lb);
        for (size_t k = 0; k < mine.n; k++) {
            if (is_leaving(y, v->item, s, lb, mine.items[k])) {
                v->found = true;
                v->each(v, lb, mine.items[k]);
            }
        }
    }
}

/* All frontends that go, of the Service as it is and as it was on the other side. */
static void visit_leaving(struct visit *v)
{
    visit_kind(v, v->item->service);
    visit_kind(v, v->item->flip);
}

static void need_list(struct visit *v, struct json_object *lb, struct json_object *frontend)
{
    (void)lb;
    (void)frontend;
    azure_links_look(v->y, v->item, true);
}

int azure_observe_unlink(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    bool more = false;
    azure_need_nothing(y);
    azure_need_balancers(y);
    int rc = azure_see(y, err);
    for (size_t i = 0; rc == ERR_OK && i < s->n_items; i++) {
        struct visit v = {.y = y, .item = &y->items[i], .each = need_list};
        if (azure_item_is_carried_out(v.item)) {
            visit_leaving(&v);
            more = more || v.found;
        }
    }
    rc = rc == ERR_OK && more ? azure_see(y, err) : rc;
    if (rc != ERR_OK || !more || azure_seen_all_links(y)) {
        return rc;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        struct visit v = {.y = y, .item = &y->items[i], .each = need_list};
        if (azure_item_is_carried_out(v.item)) {
            visit_leaving(&v);
        }
    }
    return azure_see(y, err);
}

bool azure_links_has(const struct azure_sync *y, const struct azure_item *it)
{
    return azure_item_is_carried_out(it) && it->want && it->target != NULL &&
           (it->service->pls_create || asked_before(y, it));
}

/* ---- what Azure would refuse ----------------------------------------------------------------- */

static struct json_object *subnet_of(struct azure_sync *y, const struct azure_item *it,
                                     const char **ret_id)
{
    *ret_id = azure_subnet_id(y->s->a, &y->p->naming, azure_pls_subnet(&y->p->config, it->service));
    struct json_object *list = azure_seen_list(y, AZURE_SUBNETS, *ret_id);
    return json_len(list) > 0 ? json_object_array_get_idx(list, 0) : NULL;
}

static int check_subnet(struct azure_sync *y, const struct azure_item *it,
                        struct json_object **ret_subnet, const char **ret_id, struct err *err)
{
    *ret_subnet = subnet_of(y, it, ret_id);
    return *ret_subnet != NULL
               ? ERR_OK
               : err_set(err, ERR_NOT_FOUND, "subnet %s of the private link service does not exist",
                         azure_id_last(*ret_id));
}

/* Known from the list of its links, which is read for a group that an annotation names. */
static int check_group(struct azure_sync *y, const struct azure_item *it, struct err *err)
{
    return azure_seen_no_group(y, AZURE_PLSS, links_scope(y, it->service))
               ? err_set(err, ERR_NOT_FOUND,
                         "resource group %s of the private link service does not exist",
                         it->service->pls_group)
               : ERR_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Services of which this process does not know yet whether another one has left a link: while the
 * list of all groups is refused, they look again, some times. */
static void note_unlooked(struct azure_sync *y, struct azure_item *it)
{
    bool seen = azure_seen_all_links(y);
    bool open = it->item->in->previous == NULL || is_unlooked(y, it);
    it->saw_links = seen || it->service->pls_create;
    if (!it->saw_links && open && !y->s->planning) {
        y->p->unlooked = y->p->unlooked != NULL ? y->p->unlooked : map_new(NULL);
        map_set(y->p->unlooked, it->item->key, NULL);
        it->looks_again = it->looks_again || y->p->links_refused < LOOKS;
    }
}

/* Whether a group that an annotation names is there, only the list of that group tells. */
void azure_links_need(struct azure_sync *y, const struct azure_item *it)
{
    azure_links_look(y, it, false);
    if (it->service->pls_create) {
        if (!azure_eq(it->service->pls_group, y->p->config.pls_resource_group)) {
            azure_need(y, AZURE_PLSS, links_scope(y, it->service));
        }
        const char *subnet = azure_pls_subnet(&y->p->config, it->service);
        azure_need(y, AZURE_SUBNETS, azure_subnet_id(y->s->a, &y->p->naming, subnet));
    }
}

int azure_observe_links(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    bool some = false;
    azure_need_nothing(y);
    for (size_t i = 0; i < s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_links_has(y, it)) {
            continue;
        }
        some = true;
        azure_need_balancers(y);
        azure_links_need(y, it);
    }
    int rc = azure_see(y, err);
    if (rc != ERR_OK || !some) {
        return rc;
    }
    for (size_t i = 0; i < s->n_items; i++) {
        if (azure_links_has(y, &y->items[i])) {
            note_unlooked(y, &y->items[i]);
            azure_links_look(y, &y->items[i], false);
        }
    }
    return azure_seen_all_links(y) ? ERR_OK : azure_see(y, err);
}

/* ---- taking away ----------------------------------------------------------------------------- */

void azure_links_doom(struct azure_sync *y, struct azure_doomed_list *list, struct json_object *pls,
                      const struct azure_item *it, const char *why)
{
    struct azure_doomed *d = &list->items[list->n++];
    *d = (struct azure_doomed){.pls = pls, .why = why};
    azure_owners_add(y->s->a, &d->owners, it->item->key);
}

struct json_object *azure_links_on(struct azure_sync *y, struct json_object *frontend)
{
    struct json_object *pls = NULL;
    for (size_t i = 0; i < y->n_seen && pls == NULL; i++) {
        bool links = y->seen[i].kind == AZURE_PLSS;
        pls = links ? azure_pls_on(y->seen[i].array, azure_doc_id(frontend)) : NULL;
    }
    return pls;
}

/* Rules of Services that go in this batch do not keep a frontend. */
static struct json_object *without_leavers(struct azure_sync *y, struct json_object *lb)
{
    struct json_object *doc = azure_copy(y->s->a, lb);
    struct json_object *rules = azure_array(doc, "loadBalancingRules");
    for (size_t i = json_len(rules); i > 0; i--) {
        const char *name = azure_doc_name(json_object_array_get_idx(rules, i - 1));
        bool goes = false;
        for (size_t k = 0; k < y->s->n_items && !goes; k++) {
            const struct azure_item *it = &y->items[k];
            goes = azure_item_takes_part(it) && !it->want && azure_owns_rule(it->service, name);
        }
        if (goes) {
            azure_array_drop(rules, i - 1);
        }
    }
    return doc;
}

/* It stays as a former one until the status tells another address, and its link with it. */
static bool outlives(const struct visit *v, struct json_object *lb, struct json_object *frontend)
{
    const struct azure_lb_edits *b = v->after;
    const struct azure_service *s = v->item->service;
    bool former = v->item->want && s->internal == azure_lb_is_internal(azure_doc_name(lb)) &&
                  azure_frontend_is_former(s, azure_doc_name(frontend));
    for (size_t i = 0; former && b != NULL && i < b->n; i++) {
        if (azure_eq(b->items[i].name, azure_doc_name(lb)) && b->items[i].doc != NULL) {
            return azure_find(azure_array(b->items[i].doc, "frontendIPConfigurations"),
                              azure_doc_name(frontend)) != NULL;
        }
    }
    return false;
}

static void doom_leaving(struct visit *v, struct json_object *lb, struct json_object *frontend)
{
    struct azure_sync *y = v->y;
    const struct azure_service *s = v->item->service;
    struct json_object *pls = azure_links_on(y, frontend);
    if (pls == NULL || !azure_pls_is_ours(pls, y->p->naming.cluster, s->key) ||
        outlives(v, lb, frontend)) {
        return;
    }
    struct json_object *rest = without_leavers(y, lb);
    if (azure_frontend_in_use(y->s->a, s, azure_doc_id(frontend), rest) == NULL) {
        azure_links_doom(y, v->arg, pls, v->item, "its frontend goes");
    }
}

static void emit_delete(struct azure_sync *y, struct lb_plan *plan, const struct azure_doomed *d,
                        enum azure_kind kind, struct json_object *doc, bool beside)
{
    const struct azure_emit e = {
        .kind = kind,
        .id = azure_doc_id(doc),
        .was = doc,
        .why = d->why,
        .owners = &d->owners,
        .beside = beside,
        .touches_lbs = true,
    };
    (void)azure_emit(y, plan, &e);
}

/* Connections first: a private link service with connections cannot go. */
void azure_links_emit_doomed(struct azure_sync *y, const struct azure_doomed_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(list->items[i].pls, "privateEndpointConnections")) {
            emit_delete(y, list->plan, &list->items[i], AZURE_PE_CONNECTIONS, o, n++ > 0);
        }
    }
    for (size_t i = 0; i < list->n; i++) {
        emit_delete(y, list->plan, &list->items[i], AZURE_PLSS, list->items[i].pls, i > 0);
    }
}

struct azure_doomed_list azure_links_doomed_new(struct azure_sync *y, struct lb_plan *plan)
{
    size_t most = 1;
    for (size_t i = 0; i < y->n_seen; i++) {
        most += y->seen[i].kind == AZURE_PLSS ? json_len(y->seen[i].array) : 0;
    }
    return (struct azure_doomed_list){.plan = plan,
                                      .items = ARENA_ARRAY(y->s->a, struct azure_doomed, most)};
}

static struct azure_doomed_list leaving_links(struct azure_sync *y, struct lb_plan *plan,
                                              const struct azure_lb_edits *after)
{
    struct azure_doomed_list list = azure_links_doomed_new(y, plan);
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct visit v = {
            .y = y, .item = &y->items[i], .after = after, .each = doom_leaving, .arg = &list};
        if (azure_item_is_carried_out(v.item)) {
            visit_leaving(&v);
        }
    }
    return list;
}

/* A Service that cannot be placed stays, with its link: it leaves the batch here, for the reason
 * for which it would leave it later. */
int azure_plan_unlink(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_doomed_list list = leaving_links(y, plan, NULL);
    struct azure_lb_edits after;
    (void)err;
    if (list.n > 0) {
        azure_join_foresee(y, plan, &after);
        list = leaving_links(y, plan, &after);
    }
    azure_links_emit_doomed(y, &list);
    return ERR_OK;
}

/* The Service of the batch whose link it is, or NULL. */
static const struct azure_item *owner_of(struct azure_sync *y, struct json_object *pls)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it) &&
            azure_pls_is_ours(pls, y->p->naming.cluster, it->service->key)) {
            return it;
        }
    }
    return NULL;
}

void azure_links_let_go(struct azure_sync *y, struct lb_plan *plan)
{
    struct azure_doomed_list list = azure_links_doomed_new(y, plan);
    for (const struct azure_clinging *c = y->clinging_links; c != NULL; c = c->next) {
        struct json_object *seen = azure_seen_list(y, AZURE_PLSS, c->id);
        struct json_object *pls = json_len(seen) > 0 ? json_object_array_get_idx(seen, 0) : NULL;
        const struct azure_item *it = pls != NULL ? owner_of(y, pls) : NULL;
        if (it != NULL) {
            azure_links_doom(y, &list, pls, it, "its frontend goes");
        }
    }
    azure_links_emit_doomed(y, &list);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* One after the other: all subnets lie in one network, which Azure writes as a whole. */
static void open_subnet(struct azure_linking *l, const struct azure_item *it,
                        struct json_object *subnet, const char *id)
{
    struct arena *a = l->y->s->a;
    struct json_object *doc = azure_pls_subnet_edit(a, subnet);
    if (doc == NULL || map_has(l->subnets, str_lower(a, id))) {
        return;
    }
    struct azure_owners owners = {0};
    azure_owners_add(a, &owners, it->item->key);
    const struct azure_emit e = {
        .kind = AZURE_SUBNETS,
        .id = id,
        .was = subnet,
        .doc = doc,
        .why = "a private link service takes addresses of it",
        .summary = "network policies for private links off",
        .owners = &owners,
        .shared = true,
        .unguarded = true,
    };
    (void)azure_emit(l->y, l->plan, &e);
    map_set(l->subnets, str_lower(a, id), NULL);
}

/* A link is written by PUT, which would point one of that name here, whatever made it.  One of this
 * Service's own that stands elsewhere may come. */
static int check_name_is_free(const struct azure_linking *l, const struct azure_item *it,
                              struct json_object *doc, const char *id, struct err *err)
{
    struct azure_sync *y = l->y;
    const char *name = azure_doc_name(doc);
    for (size_t i = 0; i < y->n_seen; i++) {
        struct json_object *o;
        AZURE_EACH (o, y->seen[i].kind == AZURE_PLSS ? y->seen[i].array : NULL) {
            if (azure_id_eq(azure_doc_id(o), id)) {
                return azure_taken_check_link(y->s->a, &y->p->naming, o, name, it->service->key,
                                              err);
            }
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        if (azure_id_eq(l->links[i].id, id)) {
            return err_set(err, ERR_EXISTS,
                           "private link service %s is being made for another frontend, of %s",
                           name, l->links[i].item->item->key);
        }
    }
    return ERR_OK;
}

/* A link cannot move, and making it anew would end its consumers' connections. */
static void tell_group(struct azure_sync *y, const struct azure_item *it, struct json_object *link)
{
    const char *group = link != NULL ? azure_id_group(y->s->a, azure_doc_id(link)) : NULL;
    if (group != NULL && !azure_eq(group, it->service->pls_group)) {
        lb_finding(y->s, it->item, LB_FINDING_IGNORED,
                   AZURE_ANNOTATION_PREFIX "azure-pls-resource-group",
                   "private link service %s exists in resource group %s and cannot move to %s: "
                   "take " AZURE_ANNOTATION_PREFIX "azure-pls-create away for a while to make it "
                   "anew, which ends its connections",
                   azure_doc_name(link), group, it->service->pls_group);
    }
}

int azure_linking_decide(struct azure_linking *l, const struct azure_item *it,
                         const char *frontend_id, struct json_object *was, struct err *err)
{
    struct azure_sync *y = l->y;
    struct arena *a = y->s->a;
    struct json_object *planned = map_get(l->made, str_lower(a, frontend_id));
    struct json_object *doc = NULL;
    const char *subnet_id;
    const struct azure_pls_ask ask = {
        .naming = &y->p->naming,
        .service = it->service,
        .frontend_id = frontend_id,
        .frontend_name = azure_id_last(frontend_id),
        .existing = planned != NULL ? planned : was,
    };
    int rc = azure_pls_plan(a, &ask, &doc, err);
    if (rc != ERR_OK || doc == NULL) {
        return rc;
    }
    const char *link_id = was != NULL ? azure_doc_id(was)
                                      : azure_arm_id(a, &y->p->arm, AZURE_PLSS,
                                                     it->service->pls_group, azure_doc_name(doc));
    if (ask.existing == NULL) {
        rc = check_group(y, it, err);
        rc = rc == ERR_OK ? check_name_is_free(l, it, doc, link_id, err) : rc;
    }
    struct json_object *subnet = NULL;
    rc = rc == ERR_OK ? check_subnet(y, it, &subnet, &subnet_id, err) : rc;
    rc = rc == ERR_OK ? azure_pls_check_addresses(a, it->service, subnet, err) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    map_set(l->made, str_lower(a, frontend_id), doc);
    l->links[l->n++] = (struct azure_planned_link){
        .item = it,
        .id = link_id,
        .was = was,
        .doc = doc,
    };
    return ERR_OK;
}

static int link_frontend(struct azure_linking *l, struct azure_item *it,
                         struct json_object *frontend, struct err *err)
{
    struct json_object *was = azure_links_on(l->y, frontend);
    size_t before = l->n;
    int rc = azure_linking_decide(l, it, azure_doc_id(frontend), was, err);
    tell_group(l->y, it, was);
    if (rc == ERR_OK && l->n > before) {
        const char *subnet_id;
        struct json_object *subnet = subnet_of(l->y, it, &subnet_id);
        open_subnet(l, it, subnet, subnet_id);
    }
    return rc;
}

/* All else that the Service asks for is carried out, also by the stages that follow; the Service
 * fails at the end.  A refusal on the word of a snapshot is the driver's to take back: it looks
 * again. */
static void refuse_alone(struct azure_sync *y, struct azure_item *it, const struct err *err)
{
    if (y->s->planning) {
        lb_finding(y->s, it->item, "SyncLoadBalancerFailed",
                   AZURE_ANNOTATION_PREFIX "azure-pls-create", "cannot be carried out: %s",
                   err->message);
    } else if (y->s->fresh || y->s->observed_fresh) {
        it->refused_part = arena_memdup(y->s->life, err, sizeof(*err));
    } else {
        (void)err_copy(&it->item->err, err);
    }
}

static void plan_item(struct azure_linking *l, struct azure_item *it)
{
    struct azure_sync *y = l->y;
    struct json_object *lb = azure_sync_lb(y, it->target);
    struct json_object *o;
    struct err err = ERR_INIT;
    int rc = ERR_OK;
    it->refused_part = NULL;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        struct azure_ownership own = azure_sync_owner(y, it->service, o);
        bool wanted = false;
        if (!own.owns || rc != ERR_OK || azure_lb_former_goes(y, it->service, lb, o)) {
            continue; /* the link of a former one goes before it, in the stage "sever" */
        }
        enum azure_family f = azure_frontend_family(it->service, o, &own);
        if (!azure_frontend_is_former(it->service, azure_doc_name(o))) { /* that one goes */
            rc = azure_pls_wants(it->service, f, &wanted, &err);
        }
        if (rc == ERR_OK && wanted) {
            rc = link_frontend(l, it, o, &err);
        } else if (rc == ERR_OK && !it->service->pls_create) {
            struct json_object *pls = azure_links_on(y, o);
            if (pls != NULL && azure_pls_is_ours(pls, y->p->naming.cluster, it->service->key)) {
                azure_links_doom(y, &l->doomed, pls, it, "its annotation was taken away");
            }
        }
    }
    if (rc != ERR_OK) {
        refuse_alone(y, it, &err);
    }
}

static void emit_links(struct azure_linking *l)
{
    struct arena *a = l->y->s->a;
    for (size_t i = 0; i < l->n; i++) {
        const struct azure_planned_link *x = &l->links[i];
        struct azure_owners owners = {0};
        azure_owners_add(a, &owners, x->item->item->key);
        const struct azure_emit e = {
            .kind = AZURE_PLSS,
            .id = x->id,
            .was = x->was,
            .doc = x->doc,
            .why = x->was != NULL ? "it differs from the Service's settings"
                                  : "the Service asks for a private link",
            .summary = arena_printf(
                a, "%zu NAT address%s", json_len(azure_array(x->doc, "ipConfigurations")),
                json_len(azure_array(x->doc, "ipConfigurations")) == 1 ? "" : "es"),
            .owners = &owners,
            .beside = i > 0,
            .touches_lbs = true,
            .unguarded = true,
        };
        (void)azure_emit(l->y, l->plan, &e);
    }
}

struct azure_linking azure_linking_new(struct azure_sync *y, struct lb_plan *plan)
{
    size_t most = 1;
    for (size_t i = 0; i < y->lbs.n; i++) {
        most += json_len(azure_array(y->lbs.items[i], "frontendIPConfigurations"));
    }
    size_t n_items = 1;
    for (size_t i = 0; i < y->s->n_items; i++) {
        n_items += azure_links_has(y, &y->items[i]);
    }
    return (struct azure_linking){
        .y = y,
        .plan = plan,
        .subnets = map_new(NULL),
        .made = map_new(NULL),
        .links = ARENA_ARRAY(y->s->a, struct azure_planned_link, (most + AZURE_FAMILIES) * n_items),
    };
}

void azure_linking_done(struct azure_linking *l)
{
    map_free(l->subnets);
    map_free(l->made);
}

int azure_plan_links(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_linking l = azure_linking_new(y, plan);
    (void)err;
    l.doomed = azure_links_doomed_new(y, plan);
    for (size_t i = 0; i < s->n_items; i++) {
        if (azure_links_has(y, &y->items[i])) {
            plan_item(&l, &y->items[i]);
        }
    }
    emit_links(&l);
    azure_links_emit_doomed(y, &l.doomed);
    azure_linking_done(&l);
    return ERR_OK;
}
