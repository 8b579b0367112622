/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_security.c: the cluster's network security group: one write for all Services of the
 * batch.
 *
 *     withdraw   what Services that go take away, before their balancers change
 *     admit      what Services that serve already will need, before their balancers send traffic
 *                elsewhere (azure_admit.h)
 *     security   what the others need once their addresses are known, and what edits have left; for
 *                Services that are new or change sides it is written beside the members of their
 *                pools, where its rules name no node
 *     close      what Services that have moved have left, once their status tells the new address
 *
 * Most batches write it once.  What the rules become is decided in azure_nsg_plan.h.
 * Source: docs/spec/azure.md 9, 4.2 (3), 4.4 (2), 12.6 (6). */
#include "providers/azure/azure_additional_rules.h"
#include "providers/azure/azure_admit.h"
#include "providers/azure/azure_join.h"
#include "providers/azure/azure_retreat.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/azure_standing.h"
#include "providers/azure/azure_told.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/nsg/azure_nsg_desired.h"
#include "providers/azure/nsg/azure_nsg_fields.h"
#include "providers/azure/nsg/azure_nsg_plan.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"

enum phase { WITHDRAW, ADMIT, BESIDE, SETTLE, CLOSE };

struct batch {
    struct azure_sync *y;
    enum phase phase;
    bool at_once; /* the group has no room for old and new rules together */
    struct lb_plan *plan;
    struct azure_nsg_input in;
    struct azure_nsg_member *members;
    struct azure_nsg_change *changes;
    struct azure_item **items; /* of the changes */
    struct str_set left;       /* CLOSE: addresses that Services of the batch have left */
    struct azure_owners owners;
    struct azure_owners unknown; /* planning: whose rules are known after their addresses */
};

/* Phases that let in what Services need that stay. */
static bool opens(enum phase phase)
{
    return phase == BESIDE || phase == SETTLE;
}

/* ---- of all Services ------------------------------------------------------------------------- */

static bool is_going(const struct azure_sync *y, const struct azure_service *s)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (y->items[i].service != NULL && !y->items[i].want &&
            y->items[i].item->err.code == ERR_OK && azure_service_is(y->items[i].service, s)) {
            return true;
        }
    }
    return false;
}

/* The batch's new addresses supersede a status: an address that a Service has left is closed with
 * this sync, not with the next one.  While changes only add, it counts. */
static const struct azure_service *up_to_date(struct batch *b, const struct azure_service *s,
                                              bool *ret_known)
{
    struct arena *a = b->y->s->a;
    *ret_known = false;
    for (size_t i = 0; i < b->in.n_changes; i++) {
        const struct azure_nsg_change *c = &b->changes[i];
        if (!c->want || !azure_service_is(c->access->service, s)) {
            continue;
        }
        struct tt_service *in = ARENA_NEW(a, struct tt_service);
        size_t n_told = opens(b->phase) && c->adds_only ? s->in->n_ingress : 0;
        struct tt_ingress *ingress = ARENA_ARRAY(a, struct tt_ingress, c->lb_ips.n + n_told + 1);
        for (size_t k = 0; k < c->lb_ips.n; k++) {
            ingress[k].ip = c->lb_ips.items[k];
        }
        for (size_t k = 0; k < n_told; k++) {
            ingress[c->lb_ips.n + k] = s->in->ingress[k];
        }
        *in = *s->in;
        in->ingress = ingress;
        in->n_ingress = (uint32_t)(c->lb_ips.n + n_told);
        *ret_known = true;
        return azure_service_read(a, &b->y->p->naming, in);
    }
    return s;
}

static void gather_members(struct batch *b, bool cleaned)
{
    struct azure_sync *y = b->y;
    size_t most = y->n_services + 1;
    for (size_t i = 0; i < y->lbs.n; i++) {
        most += json_len(azure_array(y->lbs.items[i], "loadBalancingRules"));
    }
    b->members = ARENA_ARRAY(y->s->a, struct azure_nsg_member, most);
    for (size_t i = 0; i < y->n_services; i++) {
        bool known;
        const struct azure_service *s = up_to_date(b, y->services[i], &known);
        b->members[b->in.n_members++] = (struct azure_nsg_member){
            .access = azure_additional_access(y, s),
            .assigned = known ? (struct azure_texts){0} : azure_assigned(y, s->key),
            .cleaned = cleaned && is_going(y, s),
        };
    }
    b->in.members = b->members;
    if (b->phase != ADMIT) {
        azure_standing_gather(y, &b->in, b->members);
    }
}

static void gather_nodes(struct batch *b)
{
    struct azure_sync *y = b->y;
    const struct tt_batch *batch = y->s->batch;
    size_t most = 1;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        most += batch->nodes[i]->n_addresses;
    }
    const char **ips = ARENA_ARRAY(y->s->a, const char *, most);
    size_t n = 0;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        size_t k = 0;
        const char **of_node = azure_node_internal_ips(y->s->a, batch->nodes[i], &k);
        for (size_t j = 0; azure_node_is_managed(batch->nodes[i]) && j < k; j++) {
            ips[n++] = of_node[j];
        }
    }
    b->in.node_ips = (struct azure_texts){.items = ips, .n = n};
}

/* ---- the batch's ----------------------------------------------------------------------------- */

/* Known after the plan: the rules of a Service for an address that Azure has yet to give. */
static void note_unknown(struct batch *b, const struct azure_item *it)
{
    const struct azure_service *s = azure_admit_service(b->y, it);
    if (!s->disable_nsg_rule && !s->disable_floating_ip &&
        azure_nsg_wants_any(b->y->s->a, azure_access_read(b->y->s->a, s))) {
        azure_owners_add(b->y->s->a, &b->unknown, it->item->key);
    }
}

/* A Service whose address is not known yet.  In a sync it is tried again, because a status without
 * an address, or without one of its families, would look like success; a plan says that rules will
 * follow, and goes on with what is known: what the Service had opened before goes away. */
static bool is_refused(struct batch *b, struct azure_item *it)
{
    struct azure_sync *y = b->y;
    if (!it->want || b->phase == CLOSE || !azure_lacks_address(y, it->service)) {
        return false;
    }
    if (!y->s->planning) {
        (void)err_set(&it->item->err, ERR_TRANSIENT,
                      "the load balancer has no address yet, so no traffic is let in");
        return true;
    }
    if (!it->admitted) { /* else the stage "admit" has said so */
        note_unknown(b, it);
    }
    return false;
}

/* The nodes behind the Service; those of all balancers where it is, so that one that goes leaves
 * nothing behind. */
static struct azure_texts backends(struct batch *b, const struct azure_item *it)
{
    struct azure_sync *y = b->y;
    struct azure_texts all = {0};
    if (!it->service->disable_floating_ip) {
        return all;
    }
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        const char *name = azure_doc_name(lb);
        bool mine = it->want ? it->target != NULL && azure_eq(it->target, name)
                             : azure_lb_has_pieces(y, it->service, lb) ||
                                   azure_lb_has_pieces(y, it->flip, lb);
        if (mine) {
            struct azure_texts more = azure_members_ips(y, lb);
            all = azure_texts_joined(y->s->a, &all, &more);
        }
    }
    return all.n > 0 || it->want ? all : b->in.node_ips;
}

/* The group takes the new rules only in the write that takes the old ones away, after
 * the balancer has changed. */
static bool waits_for_room(struct batch *b, const struct azure_item *it)
{
    const char *key = it->item->key;
    bool waits = lb_plan_makes_room(b->plan, key, azure_arm_word(AZURE_NSGS));
    if (waits) {
        lb_plan_effect(b->plan, key,
                       "Traffic is interrupted for a moment: security group %s has no room for old "
                       "and new rules together.",
                       azure_doc_name(b->y->nsg));
    }
    return waits;
}

/* Before its balancer changes: where its traffic will go. */
static void gather_admitted(struct batch *b, struct azure_item *it)
{
    struct azure_sync *y = b->y;
    bool unknown = false;
    it->redirected = it->redirected || !y->interim;
    struct azure_texts ips = azure_admit_addresses(y, it, &unknown);
    azure_remember_admitted(y, it, &ips);
    if (waits_for_room(b, it)) {
        return;
    }
    it->admitted = it->admitted || !y->interim;
    if (unknown) {
        note_unknown(b, it);
    }
    b->items[b->in.n_changes] = it;
    b->changes[b->in.n_changes++] = (struct azure_nsg_change){
        .access = azure_additional_access(y, azure_admit_service(y, it)),
        .want = true,
        .planned = true,
        .lb_ips = ips,
        .backend_ips = backends(b, it),
        .adds_only = true,
    };
}

/* The status tells of an address that the Service leaves, or may: an interim frontend stands.
 * Clients use it until the status tells the new one, and so long it stays open. */
static bool leaves_told(struct batch *b, const struct azure_item *it)
{
    return !b->at_once && it->want &&
           !lb_plan_makes_room(b->plan, it->item->key, azure_arm_word(AZURE_NSGS)) &&
           (azure_interim_left(b->y, it->service).n > 0 || azure_leaves_told(b->y, it));
}

/* Is the item one of this phase's? */
static bool has_phase(struct batch *b, struct azure_item *it)
{
    if (!azure_item_is_carried_out(it) || it->want != (b->phase != WITHDRAW)) {
        return false;
    }
    if (opens(b->phase)) {
        it->closes_later = leaves_told(b, it);
    }
    return b->phase != CLOSE || it->closes_later || azure_is_where_one_left(b->y, &b->left, it);
}

static void gather_changes(struct batch *b)
{
    struct azure_sync *y = b->y;
    bool want = b->phase != WITHDRAW;
    b->changes = ARENA_ARRAY(y->s->a, struct azure_nsg_change, y->s->n_items + 1);
    b->items = ARENA_ARRAY(y->s->a, struct azure_item *, y->s->n_items + 1);
    b->left = b->phase == CLOSE ? azure_left_addresses(y) : (struct str_set){0};
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (!has_phase(b, it)) {
            continue;
        }
        if (b->phase == ADMIT && azure_admit_needed(y, it)) {
            gather_admitted(b, it);
        }
        if (b->phase == ADMIT || is_refused(b, it)) {
            continue;
        }
        b->in.closes_nodes =
            b->in.closes_nodes || it->redirected || map_has(y->p->redirected, it->item->key);
        struct azure_texts ips = azure_nameable(y, it);
        struct azure_texts status = azure_told(y->s->a, it);
        struct azure_texts let_in = azure_admitted(y, it);
        struct azure_texts interim = azure_interim_left(y, it->service);
        let_in = azure_texts_joined(y->s->a, &let_in, &interim);
        b->items[b->in.n_changes] = it;
        b->changes[b->in.n_changes++] = (struct azure_nsg_change){
            .access = azure_additional_access(y, it->service),
            .want = want,
            .planned = b->y->s->planning,
            .lb_ips = want ? ips : azure_texts_joined(y->s->a, &ips, &let_in),
            .backend_ips = backends(b, it),
            .left = want ? azure_texts_joined(y->s->a, &status, &let_in) : (struct azure_texts){0},
            .adds_only = opens(b->phase) && it->closes_later,
            .has_left = b->phase == CLOSE && it->closes_later,
        };
    }
    b->in.changes = b->changes;
}

/* Ports on the nodes at which traffic of the Service arrives now, whatever it says. */
static struct str_set ports_that_stand(struct azure_sync *y, const struct azure_item *it,
                                       struct json_object *lb)
{
    struct azure_elements rules =
        azure_lb_named(y->s->a, azure_sync_index(y, lb), lb, AZURE_LB_RULES, it->service);
    const char **ports = ARENA_ARRAY(y->s->a, const char *, rules.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < rules.n; i++) {
        int64_t port = azure_prop_int(rules.items[i], "backendPort", 0);
        if (port > 0 && !azure_prop_bool(rules.items[i], "enableFloatingIP", false) &&
            azure_has_prefix(azure_doc_name(rules.items[i]), it->service->base)) {
            ports[n++] = arena_printf(y->s->a, "%lld", (long long)port);
        }
    }
    return str_set_make(y->s->a, ports, n);
}

/* Services whose wishes are not carried out: their nodes follow all the same. */
static void gather_nodes_that_join(struct batch *b)
{
    struct azure_sync *y = b->y;
    struct azure_nsg_standing *all =
        ARENA_ARRAY(y->s->a, struct azure_nsg_standing, y->s->n_items + 1);
    for (size_t i = 0; b->phase == SETTLE && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        struct json_object *lb =
            azure_item_takes_part(it) && azure_item_is_unproven(it) && it->target != NULL
                ? azure_sync_lb(y, it->target)
                : NULL;
        struct str_set ports = lb != NULL ? ports_that_stand(y, it, lb) : (struct str_set){0};
        if (ports.n > 0) {
            all[b->in.n_standing++] = (struct azure_nsg_standing){
                .key = it->item->key, .ports = ports, .node_ips = azure_members_ips(y, lb)};
        }
    }
    b->in.standing = all;
}

/* The owner of the address decides who comes in there; the other Service that wants it gets an
 * event. */
static void tell_withheld(const struct batch *b)
{
    const struct azure_sync *y = b->y;
    const struct tt_host *host = y->p->host;
    for (size_t i = 0; !y->s->planning && i < b->in.n_changes; i++) {
        const struct azure_nsg_change *c = &b->changes[i];
        const struct azure_texts *ips = &c->access->withheld;
        if (c->want && ips->n > 0 && b->items[i]->item->in->verb == TT_VERB_ENSURE) {
            host->event(host->ctx, c->access->service->in, TT_EVENT_WARNING, "InvalidAnnotation",
                        arena_printf(y->s->a,
                                     "annotation " AZURE_ANNOTATION_PREFIX
                                     "azure-additional-public-ips: %s: the address of another "
                                     "Service, which has these ports there; its own ranges decide "
                                     "who may come in",
                                     str_join(y->s->a, ips->items, ips->n, ", ")));
        }
    }
}

/* ---- the write ------------------------------------------------------------------------------- */

/* For whose sake the write is: those of the batch who caused a difference, else (what is stale has
 * no owner) all. */
static void find_owners(struct batch *b, const struct azure_nsg_result *r)
{
    struct arena *a = b->y->s->a;
    for (size_t i = 0; i < b->in.n_changes; i++) {
        for (size_t k = 0; k < r->n_diff; k++) {
            if (str_set_has(&r->diff[k].owners, b->items[i]->item->key)) {
                azure_owners_add(a, &b->owners, b->items[i]->item->key);
            }
        }
    }
    for (size_t i = 0; i < b->in.n_standing; i++) {
        for (size_t k = 0; k < r->n_diff; k++) {
            if (str_set_has(&r->diff[k].owners, b->in.standing[i].key)) {
                azure_owners_add(a, &b->owners, b->in.standing[i].key);
            }
        }
    }
    for (size_t i = 0; i < b->unknown.n; i++) {
        azure_owners_add(a, &b->owners, b->unknown.keys[i]);
    }
    bool nobodys = b->owners.n == 0;
    for (size_t i = 0; nobodys && i < b->in.n_standing; i++) {
        azure_owners_add(a, &b->owners, b->in.standing[i].key);
    }
    for (size_t i = 0; nobodys && i < b->in.n_changes; i++) {
        azure_owners_add(a, &b->owners, b->items[i]->item->key);
    }
}

static const char *why_of(struct batch *b, const struct azure_nsg_result *r)
{
    if (b->phase == ADMIT) {
        return "traffic that the load balancer will send elsewhere must be allowed there first";
    }
    if (r->n_diff == 0 && b->unknown.n > 0) {
        return "traffic to the new address has to be let in";
    }
    if (r->n_diff == 0) {
        return "its tags are not as configured";
    }
    return r->n_diff == 1 ? r->diff[0].why : azure_owners_why(b->y, &b->owners, false);
}

static const char *summary_of(struct batch *b, const struct azure_nsg_result *r)
{
    struct arena *a = b->y->s->a;
    const char *parts[2];
    size_t n = 0;
    if (r->n_diff > 0) {
        parts[n++] = arena_printf(a, "%s %s", str_count(a, r->n_diff, "rule"),
                                  r->n_diff == 1 ? "differs" : "differ");
    }
    if (b->unknown.n > 0) {
        parts[n++] = "rules known after the address";
    }
    return n > 0 ? str_join(a, parts, n, "; ") : NULL;
}

/* Does the stage say, once, of a group that need not change that it is as it should be? */
static bool decides(const struct batch *b)
{
    bool later = false;
    for (size_t i = 0; i < b->in.n_changes; i++) {
        later = later || b->changes[i].adds_only;
    }
    return b->phase == WITHDRAW || (b->phase == SETTLE && !later) ||
           (b->phase == CLOSE && !b->y->security_planned);
}

static void emit(struct batch *b, const struct azure_nsg_result *r)
{
    struct arena *a = b->y->s->a;
    struct json_object *doc = azure_copy(a, b->y->nsg);
    struct lb_diff diff;
    lb_diff_init(&diff, a);
    json_add(azure_props_make(doc), "securityRules", json_copy(r->rules));
    bool tagged = azure_tags_apply_config(a, doc, &b->y->p->config);
    bool says = decides(b) || r->changed || b->unknown.n > 0;
    b->y->security_planned = b->phase == SETTLE ? says : b->y->security_planned;
    if (!says) {
        return; /* the last stage that looks at the group keeps it, or writes its tags */
    }
    if (!r->changed && !tagged && b->unknown.n == 0) {
        for (size_t i = 0; i < b->in.n_changes; i++) {
            azure_emit_keep(b->y, b->plan, AZURE_NSGS, azure_doc_id(b->y->nsg),
                            b->items[i]->item->key);
        }
        return;
    }
    azure_nsg_result_fields(&diff, r);
    find_owners(b, r);
    const struct azure_emit op = {
        .kind = AZURE_NSGS,
        .id = azure_doc_id(b->y->nsg),
        .was = b->y->nsg,
        .doc = doc,
        .why = why_of(b, r),
        .summary = summary_of(b, r),
        .owners = &b->owners,
        .diff = &diff,
        .shared = true,
        .beside = b->phase == BESIDE,
    };
    (void)azure_emit(b->y, b->plan, &op);
}

/* Without a group nothing can be let in; but who goes is not held up by it (17 row 14). */
static void refuse_all(struct azure_sync *y)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (azure_item_is_carried_out(it) && it->want) {
            (void)err_set(&it->item->err, ERR_NOT_FOUND, "nsg \"%s\" not found",
                          y->p->config.security_group_name);
        }
    }
}

/* Traffic that cannot be let in before (by Azure's limits, which trimtab knows) is let in
 * after, or refused then. */
static void take_errors(struct batch *b, const struct azure_nsg_result *r)
{
    for (size_t i = 0; b->phase != ADMIT && i < b->in.n_changes; i++) {
        if (r->errs[i].code != ERR_OK) {
            (void)err_copy(&b->items[i]->item->err, &r->errs[i]);
        }
    }
}

/* Some rules cannot be added before others are taken away. */
static bool lacks_room(const struct batch *b, const struct azure_nsg_result *r)
{
    for (size_t i = 0; opens(b->phase) && i < b->in.n_changes; i++) {
        if (b->changes[i].adds_only && r->errs[i].code != ERR_OK) {
            return true;
        }
    }
    return false;
}

static int plan_rules(struct batch *b, struct azure_nsg_result *ret, struct err *err)
{
    b->in.rules = azure_array(b->y->nsg, "securityRules");
    if (b->in.rules == NULL) {
        b->in.rules = azure_own(b->y->s->a, json_object_new_array());
    }
    b->in.repair_adopted = b->y->p->repair_adopted;
    return azure_nsg_plan(b->y->s->a, &b->in, ret, err);
}

static int plan_with(struct batch b, struct err *err)
{
    enum phase phase = b.phase;
    if (b.y->nsg == NULL) {
        if (phase == SETTLE) {
            refuse_all(b.y);
        }
        return ERR_OK;
    }
    azure_sides_settle_ranges(b.y);
    gather_nodes(&b);
    gather_changes(&b);
    gather_nodes_that_join(&b);
    if (b.in.n_changes + b.in.n_standing + b.unknown.n == 0) {
        return ERR_OK;
    }
    gather_members(&b, phase >= BESIDE);
    struct azure_nsg_result r;
    int rc = plan_rules(&b, &r, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (lacks_room(&b, &r)) {
        if (phase == BESIDE) {
            return ERR_OK; /* what closes a former address waits for what serves */
        }
        return plan_with((struct batch){.y = b.y, .phase = phase, .plan = b.plan, .at_once = true},
                         err);
    }
    if (phase == SETTLE) {
        tell_withheld(&b);
    }
    take_errors(&b, &r);
    emit(&b, &r);
    return ERR_OK;
}

static int plan_group(struct lb_sync *s, struct lb_plan *plan, enum phase phase, struct err *err)
{
    return plan_with((struct batch){.y = azure_sync_of(s), .phase = phase, .plan = plan}, err);
}

int azure_plan_withdraw(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    return plan_group(s, plan, WITHDRAW, err);
}

/* A Service that cannot be put onto its balancer lets nothing in: it leaves the batch here, for the
 * reason for which it would leave it later.  Otherwise each of its tries would open what the next
 * sync of another Service closes as stale. */
int azure_plan_admit(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    if (azure_admit_any(y)) {
        azure_join_try(y, plan, false);
    }
    return plan_group(s, plan, ADMIT, err);
}

int azure_plan_security_beside(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    bool known = y->nsg != NULL && azure_security_goes_beside(y);
    for (size_t i = 0; known && i < s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        known = s->planning || !azure_item_takes_part(it) || !it->want ||
                !azure_lacks_address(y, it->service);
    }
    if (!known || y->stage_is_new) {
        return ERR_OK; /* no node joins or leaves a pool: nothing to be beside */
    }
    y->security_is_planned = s->planning;
    return plan_group(s, plan, BESIDE, err);
}

int azure_plan_security(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    if (azure_sync_of(s)->security_is_planned) {
        return ERR_OK;
    }
    return plan_group(s, plan, SETTLE, err);
}

int azure_plan_close(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    return plan_group(s, plan, CLOSE, err);
}
