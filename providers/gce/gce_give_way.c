/* SPDX-License-Identifier: Apache-2.0 */
/* gce_give_way.c: the stage in which one of two Services that exchange ports or addresses gives up
 * its forwarding rule (gce_flow.h, gce_exchange_rules.h).
 *
 * The one that comes first by name gives way: its rule is deleted, and nothing replaces it yet.
 * The stage after this one refuses the Service for the other one's rule, as before, and it is tried
 * again with back-off; the other one finds nothing in its way, and then this one does not, either.
 * Both addresses are reserved by their owners, or one of the Services could not ask for the
 * other's, so none is lost.
 * Services that share an address at rest cost nothing here: their rules are known
 * to the snapshot. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_exchange_rules.h"
#include "providers/gce/ops/gce_ops.h"

#include <string.h>

#define RULES_MAX 4 /* names under which a Service may have a rule of IPv4 */

struct pair {
    const struct tt_service *self;
    const struct tt_service *rival;
    const char *self_ip;
    const char *rival_ip;
};

/* The IPv4 address that the Service asks for, as far as it is known without a request; "": none. */
static const char *asked_ip(const struct lb_sync *s, const struct tt_service *svc)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (!str_is_empty(svc->lb_ip)) {
        return svc->lb_ip;
    }
    struct gce_strs names = gce_l4_address_names(s->a, svc);
    for (size_t i = 0; i < names.n; i++) {
        struct json_object *o;
        if (gce_snapshot_get(p->cloud.snapshot, GCE_KEY(GCE_ADDRESSES, names.items[i]),
                             GCE_SNAPSHOT_ANY, s->a, &o) == GCE_PRESENT) {
            return str_nonnull(json_str(o, "address"));
        }
    }
    return "";
}

static bool has_ip(const struct tt_service *svc, const char *ip)
{
    for (uint32_t i = 0; i < svc->n_ingress; i++) {
        if (str_eq(svc->ingress[i].ip, ip)) {
            return true;
        }
    }
    return false;
}

static bool comes_first(const struct tt_service *x, const struct tt_service *y)
{
    int c = strcmp(x->ns, y->ns);
    return (c != 0 ? c : strcmp(x->name, y->name)) < 0;
}

/* Another Service that asks for the address which this one has, and has the one that this one asks
 * for.  `before`: this one comes first. */
static bool find_pair(const struct lb_sync *s, const struct tt_service *self, bool before,
                      struct pair *ret)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    if (self->n_ingress == 0) {
        return false;
    }
    const char *ip = asked_ip(s, self);
    if (*ip == '\0') {
        return false;
    }
    p->cloud.host->services(p->cloud.host->ctx, s->call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct tt_service *other = all[i];
        if (str_eq(other->uid, self->uid) || other->deleted_us != 0 || svc_is_unreadable(other) ||
            !str_eq(other->type, "LoadBalancer") || !has_ip(other, ip) ||
            (before && !comes_first(self, other))) {
            continue;
        }
        const char *theirs = asked_ip(s, other);
        if (*theirs != '\0' && has_ip(self, theirs)) {
            *ret = (struct pair){self, other, ip, theirs};
            return true;
        }
    }
    return false;
}

static bool is_asked(const struct lb_item *item)
{
    const struct gce_item *g = gce_item_of(item);
    return lb_item_is_active(item) && item->in->verb == TT_VERB_ENSURE && g->former == 0 &&
           !g->decision.teardown && g->decision.kind != GCE_KIND_NONE;
}

/* It may have to give way. */
static bool comes_before(const struct lb_sync *s, const struct lb_item *item, struct pair *ret)
{
    return is_asked(item) && find_pair(s, item->in->service, true, ret);
}

bool gce_give_way_needed(const struct lb_sync *s)
{
    struct pair pair;
    for (size_t i = 0; i < s->n_items; i++) {
        if (comes_before(s, &s->items[i], &pair)) {
            return true;
        }
    }
    return false;
}

/* Names of the IPv4 rules that a Service of any kind may have; `uid` of kube-system, "" where
 * it is not known. */
static size_t rule_names(struct arena *a, const char *uid, const struct tt_service *svc,
                         const char *ret[RULES_MAX])
{
    size_t n = 0;
    ret[n++] = svc_default_lb_name(a, str_nonnull(svc->uid));
    if (!str_is_empty(uid)) {
        struct gce_l4_names names;
        gce_l4_names_make(a, uid, svc->ns, svc->name, str_nonnull(svc->uid), &names);
        ret[n++] = names.rule_tcp;
        ret[n++] = names.rule_udp;
        ret[n++] = names.rule_l3;
    }
    return n;
}

/* At the rules of both. */
static int look(struct lb_sync *s, const char *uid, const struct pair *pair,
                struct gce_slots *slots, struct err *err)
{
    const struct tt_service *const both[] = {pair->self, pair->rival};
    gce_slots_init(slots, s->a);
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        const char *names[RULES_MAX];
        size_t n = rule_names(s->a, uid, both[i], names);
        for (size_t k = 0; k < n; k++) {
            gce_slots_add(slots, false, GCE_RULES, NULL, names[k]);
        }
    }
    return gce_slots_look(slots, s, err);
}

int gce_give_way_observe(struct lb_sync *s, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        struct gce_item *g = gce_item_of(item);
        struct pair pair;
        if (comes_before(s, item, &pair)) {
            item->err.code = look(s, g->bs.facts.kube_system_uid, &pair, &g->rival, &item->err);
        }
    }
    return ERR_OK;
}

/* One range from the lowest to the highest port: target pools, and external ones without
 * --enable-discrete-port-forwarding. */
static bool has_range(const struct gce_provider *p, const struct tt_service *svc)
{
    const struct gce_case c = {.service = svc, .flags = &p->options.switches};
    struct gce_decision d;
    gce_decide(&c, &d);
    return !gce_kind_has_service(d.kind) ||
           (!gce_kind_is_internal(d.kind) && !p->options.l4.discrete_ports);
}

static void party_of(struct lb_sync *s, const char *uid, const struct gce_slots *slots,
                     const struct tt_service *svc, const char *ip, struct gce_party *ret)
{
    const struct gce_rule **has = ARENA_ARRAY(s->a, const struct gce_rule *, RULES_MAX);
    const char *names[RULES_MAX];
    size_t n = rule_names(s->a, uid, svc, names);
    gce_party_init(s->a, svc, ip, has_range(gce_provider_of(s), svc), ret);
    for (size_t i = 0; i < n; i++) {
        const struct gce_rule *r = gce_slots_rule(slots, names[i]);
        if (r != NULL) {
            has[ret->n_has++] = r;
        }
    }
    ret->has = has;
}

static bool exchange(struct lb_sync *s, const char *uid, const struct gce_slots *slots,
                     const struct pair *pair, struct gce_party *ret_self,
                     struct gce_party *ret_rival)
{
    party_of(s, uid, slots, pair->self, pair->self_ip, ret_self);
    party_of(s, uid, slots, pair->rival, pair->rival_ip, ret_rival);
    return gce_parties_exchange(ret_self, ret_rival);
}

static void plan_item(struct lb_sync *s, struct lb_plan *plan, struct lb_item *item,
                      const struct pair *pair)
{
    const struct gce_item *g = gce_item_of(item);
    struct gce_party self;
    struct gce_party rival;
    if (!exchange(s, g->bs.facts.kube_system_uid, &g->rival, pair, &self, &rival)) {
        return;
    }
    for (size_t i = 0; i < self.n_has; i++) {
        if (!gce_party_asks_for(&rival, self.has[i])) {
            continue;
        }
        const struct gce_op arg = {
            .c = GCE_RULES, .verb = GCE_DELETE, .name = self.has[i]->name, .call = s->call};
        struct lb_op op =
            LB_OP(.verb = LB_DELETE, .kind = gce_collection_word(GCE_RULES), .name = arg.name,
                  .why = arena_printf(s->a,
                                      "Service %s/%s asks for its address and port, and "
                                      "has those that this one asks for",
                                      pair->rival->ns, pair->rival->name),
                  .tolerate = LB_TOLERATE_ABSENT, .type = &gce_op_type_delete,
                  .calls = gce_op_calls(&arg), .arg = arena_memdup(s->a, &arg, sizeof(arg)));
        op.ask = gce_flow_ask(s, GCE_RULES, self.has[i]->name, gce_rule_body(self.has[i]));
        (void)lb_plan_add(plan, item->key, &op);
    }
    lb_plan_effect(plan, item->key,
                   "Traffic stops until Service %s/%s has let go of the address and port that "
                   "this one asks for: the two exchange them.",
                   pair->rival->ns, pair->rival->name);
    gce_flow_note_gone(s, plan, item);
}

int gce_give_way_plan(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        struct lb_item *item = &s->items[i];
        struct pair pair;
        if (comes_before(s, item, &pair)) {
            plan_item(s, plan, item, &pair);
        }
    }
    return ERR_OK;
}

/* A plan that is only shown says what both of them end with: the one that gives way lets the other
 * one go on, and then that one has let go of what this one asks for. */
void gce_give_way_leave_out(struct lb_sync *s, const struct tt_service *svc, const char *uid,
                            struct gce_ip_uses *uses)
{
    struct pair pair;
    struct gce_slots slots;
    struct gce_party self;
    struct gce_party rival;
    struct err err = ERR_INIT;
    if (!s->planning || !find_pair(s, svc, false, &pair) ||
        look(s, uid, &pair, &slots, &err) != ERR_OK ||
        !exchange(s, uid, &slots, &pair, &self, &rival)) {
        return; /* without a look, the plan says who has it */
    }
    const struct gce_rule **others = ARENA_ARRAY(s->a, const struct gce_rule *, uses->n_rules);
    size_t n = 0;
    for (size_t i = 0; i < uses->n_rules; i++) {
        bool goes = false;
        for (size_t k = 0; k < rival.n_has && !goes; k++) {
            goes = str_eq(uses->rules[i]->name, rival.has[k]->name);
        }
        if (!goes) {
            others[n++] = uses->rules[i];
        }
    }
    uses->rules = others;
    uses->n_rules = n;
}
