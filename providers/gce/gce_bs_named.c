/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_named.c: what a Service with a backend service names in the cloud: a subnetwork, reserved
 * addresses (gce_flow.h).
 *
 * They are looked at in the wave that looks at the balancer itself.  Where something would be
 * written before that wave, a balancer of another kind taken away or instance groups made, they are
 * looked at ahead: a Service that cannot be served must be refused while everything stands. */
#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/cache/gce_shared_ip.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

static const char *subnetwork_link(const struct gce_bs_item *b)
{
    return str_nonnull(str_is_empty(b->in.subnetwork) ? b->facts.subnetwork : b->in.subnetwork);
}

static const struct gce_slot *subnetwork_slot(const struct gce_bs_item *b)
{
    return gce_slots_find(&b->slots, GCE_SUBNETWORKS, NULL, gce_link_last(subnetwork_link(b)));
}

/* cloud-provider-gcp takes no notice of the annotation on a network without subnetworks. */
static bool asks_for_subnetwork(const struct gce_bs_item *b)
{
    return !str_is_empty(b->in.subnetwork) &&
           (b->in.kind != GCE_KIND_ILB_GROUPS || !str_is_empty(b->facts.subnetwork));
}

/* spec.loadBalancerIP names an address that the Service does not have yet: the cloud would say only
 * with the forwarding rule, which is made last, that it cannot be had. */
static bool asks_for_number(const struct gce_bs_item *b)
{
    const struct tt_service *svc = b->in.service;
    bool has = false;
    for (uint32_t i = 0; i < svc->n_ingress; i++) {
        has = has || str_eq(svc->ingress[i].ip, svc->lb_ip);
    }
    return b->in.verb == TT_VERB_ENSURE && !has && !str_is_empty(svc->lb_ip) && b->d.v4.wanted;
}

void gce_bs_named_slots(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_strs names = gce_l4_address_names(s->a, b->in.service);
    for (size_t i = 0; b->in.kind != GCE_KIND_ILB_GROUPS && i < names.n; i++) {
        gce_slots_add(&b->slots, true, GCE_ADDRESSES, NULL, names.items[i]);
    }
    const char *subnet = subnetwork_link(b);
    bool needed = asks_for_subnetwork(b) || b->d.v6.wanted || (b->d.internal && asks_for_number(b));
    if (*subnet != '\0' && needed) {
        gce_slots_add(&b->slots, true, GCE_SUBNETWORKS, NULL, gce_link_last(subnet));
    }
}

static bool forget_if_missed(struct lb_sync *s, const struct gce_slot *slot)
{
    if (slot == NULL || slot->known != GCE_ABSENT) {
        return false;
    }
    gce_snapshot_forget(gce_cloud_of(s)->snapshot, GCE_KEY(slot->c, slot->name));
    return true;
}

/* The owner may have made it since. */
bool gce_bs_named_forget_miss(struct lb_sync *s, const struct gce_bs_item *b)
{
    struct gce_strs names = gce_l4_address_names(s->a, b->in.service);
    if (gce_cloud_of(s)->offline || !b->slots.from_snapshot) {
        return false;
    }
    bool any = forget_if_missed(s, subnetwork_slot(b));
    for (size_t i = 0; i < names.n; i++) {
        any = forget_if_missed(s, gce_slots_find(&b->slots, GCE_ADDRESSES, NULL, names.items[i])) ||
              any;
    }
    return any;
}

void gce_bs_named_take(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b)
{
    struct gce_strs names = gce_l4_address_names(s->a, b->in.service);
    const struct gce_address **found = ARENA_ARRAY(s->a, const struct gce_address *, names.n);
    size_t n = 0;
    bool both = false;
    for (size_t i = 0; b->in.kind != GCE_KIND_ILB_GROUPS && i < names.n; i++) {
        const struct gce_address *one = gce_slots_address(&b->slots, names.items[i]);
        if (one != NULL) {
            found[n++] = one;
        }
    }
    gce_l4_user_address(s->a, b->in.service, found, n, false, &b->in.user_v4, &both);
    gce_l4_user_address(s->a, b->in.service, found, n, true, &b->in.user_v6, NULL);
    if (both && b->in.verb == TT_VERB_ENSURE) {
        gce_flow_event_once(
            s, item, TT_EVENT_NORMAL, "MixedStaticIP",
            "The address of the annotation networking.gke.io/load-balancer-ip-addresses is "
            "used; spec.loadBalancerIP is not.");
    }
}

/* gce-l4.md §4.1 E4, E6; §5.1 step 7.  An absent subnetwork is not a fault in the Service's text:
 * it may be about to be made. */
int gce_bs_named_check(const struct gce_bs_item *b, struct err *err)
{
    const struct gce_slot *slot = subnetwork_slot(b);
    if (slot == NULL) {
        return ERR_OK;
    }
    if (slot->known == GCE_ABSENT) {
        return err_set(err, ERR_NOT_FOUND, "Subnetwork \"%s\" can't be found for project %s",
                       slot->name, b->facts.network_project);
    }
    const struct gce_subnetwork *n = slot->as;
    return n == NULL || !b->d.v6.wanted
               ? ERR_OK
               : gce_l4_subnetwork_check(n, gce_kind_is_internal(b->in.kind), err);
}

/* ---- who has the address --------------------------------------------------------------------- */

/* Rules that an older Service of this name left go before the new ones are made. */
static void leave_out_older(struct arena *a, const struct gce_bs_item *b, struct gce_ip_uses *uses)
{
    const struct gce_rule **others = ARENA_ARRAY(a, const struct gce_rule *, uses->n_rules);
    size_t n = 0;
    for (size_t i = 0; i < uses->n_rules; i++) {
        bool goes = false;
        for (size_t k = 0; k < b->in.older_rules.n && !goes; k++) {
            goes = str_eq(uses->rules[i]->name, b->in.older_rules.items[k]);
        }
        if (!goes) {
            others[n++] = uses->rules[i];
        }
    }
    uses->rules = others;
    uses->n_rules = n;
}

static int check_rules(struct lb_sync *s, const struct gce_bs_item *b, const char *ip,
                       const struct gce_rule *rules, size_t n, struct gce_ip_uses *ret,
                       struct err *err)
{
    int rc = gce_ip_look(s, ip, ret, err);
    if (rc != ERR_OK) {
        return rc;
    }
    leave_out_older(s->a, b, ret);
    gce_give_way_leave_out(s, b->in.service, b->facts.kube_system_uid, ret);
    return gce_ip_check_rules(s->a, ret, b->in.service, b->d.internal, rules, n, err);
}

/* Can the address be had, which no rule has? */
static int check_free(const struct gce_bs_item *b, const struct gce_ip_uses *uses, struct err *err)
{
    const struct gce_slot *slot = subnetwork_slot(b);
    const struct gce_subnetwork *subnet = slot != NULL ? slot->as : NULL;
    struct ip_addr ip;
    struct ip_net range;
    if (uses->reserved || !ip_parse(uses->ip, &ip)) {
        return ERR_OK;
    }
    if (!b->d.internal) {
        return err_set(err, ERR_NOT_FOUND, "IP configuration error: \"%s\" is not reserved",
                       uses->ip);
    }
    bool outside =
        subnet != NULL && ip_net_parse(subnet->range, &range) && !ip_net_contains(&range, &ip);
    return outside ? err_set(err, ERR_INVALID,
                             "IP configuration error: \"%s\" is outside the range %s of "
                             "subnetwork %s",
                             uses->ip, subnet->range, subnet->name)
                   : ERR_OK;
}

/* An address that its owner has reserved cannot be lost, so it needs no hold; the cloud would
 * refuse one.  A hold of ours, which an interrupted run left, is no reservation of the owner's. */
static void note_reserved(struct lb_sync *s, struct gce_bs_item *b, const struct gce_ip_uses *uses)
{
    const char *ours = gce_l4_address_description(s->a, b->in.key);
    bool asked = str_eq(uses->ip, b->in.service->lb_ip) && str_is_empty(b->in.user_v4.name);
    if (asked && uses->reserved && !str_eq(uses->address.description, ours)) {
        b->in.user_v4.reserved = true;
        b->d.v4.user.reserved = true;
    }
}

int gce_bs_named_check_ip(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    struct gce_bs_asked asked;
    struct gce_ip_uses uses;
    if (!gce_ip_may_look(s)) {
        return ERR_OK;
    }
    gce_bs_plan_asked(s->a, &b->facts, &b->in, &b->d, &b->slots, &asked);
    bool first = asks_for_number(b) && !b->in.user_v4.reserved;
    bool doubtful = asked.replaces || first || gce_ip_is_anothers(s, b->in.service, asked.ip);
    if (*asked.ip == '\0' || !doubtful) {
        return ERR_OK;
    }
    int rc = check_rules(s, b, asked.ip, asked.rules, asked.n, &uses, err);
    if (rc == ERR_OK) {
        note_reserved(s, b, &uses);
    }
    return rc == ERR_OK && first && uses.n_rules == 0 ? check_free(b, &uses, err) : rc;
}

/* A Service of another kind now will have none of its rules when the new ones are made. */
static int check_ip_ahead(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    const struct gce_bs_user_address *user = &b->in.user_v4;
    struct gce_ip_uses uses;
    struct ip_addr ip;
    if (!b->d.v4.wanted || !ip_parse(user->ip, &ip)) {
        return ERR_OK;
    }
    int rc = check_rules(s, b, user->ip, b->d.v4.rules, b->d.v4.n_rules, &uses, err);
    return rc == ERR_OK ? check_free(b, &uses, err) : rc;
}

/* ---- ahead ----------------------------------------------------------------------------------- */

static int look_ahead(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    gce_slots_init(&b->slots, s->a);
    gce_bs_named_slots(s, b);
    const char *subnet = subnetwork_link(b);
    if (b->d.internal && *subnet != '\0' && !str_is_empty(b->in.service->lb_ip)) {
        gce_slots_add(&b->slots, true, GCE_SUBNETWORKS, NULL, gce_link_last(subnet));
    }
    return b->slots.n == 0 ? ERR_OK : gce_slots_look(&b->slots, s, err);
}

/* Groups are made before the balancer is looked at, which finds out the same. */
static int check_reservation(const struct gce_bs_item *b, struct err *err)
{
    const struct gce_bs_user_address *user = &b->in.user_v4;
    bool set;
    const char *tier = gce_l4_tier(b->in.service, &set);
    if (!b->d.v4.wanted) {
        return ERR_OK;
    }
    int rc = gce_address_check_side(user->ip, user->type, b->d.internal, err);
    return rc == ERR_OK && !b->d.internal ? gce_l4_user_address_check(user, tier, err) : rc;
}

int gce_bs_named_check_ahead(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                             struct err *err)
{
    const struct gce_provider *p = gce_provider_of(s);
    bool flips = gce_item_of(item)->former != 0;
    bool new_groups = gce_kind_has_groups(b->in.kind) && item->in->service->n_ingress == 0;
    if (p->cloud.offline || b->in.verb != TT_VERB_ENSURE || (!flips && !new_groups)) {
        return ERR_OK;
    }
    int rc = look_ahead(s, b, err);
    if (rc == ERR_OK && gce_bs_named_forget_miss(s, b)) {
        rc = look_ahead(s, b, err);
    }
    rc = rc == ERR_OK ? gce_bs_named_check(b, err) : rc;
    if (rc == ERR_OK) {
        gce_bs_named_take(s, item, b);
        rc = check_reservation(b, err);
    }
    return rc == ERR_OK && (flips || asks_for_number(b)) ? check_ip_ahead(s, b, err) : rc;
}

/* ---- what cannot be lost --------------------------------------------------------------------- */

/* Is it a wish of this family that the rule has another address, network tier or place? */
static bool may_move(struct arena *a, const struct gce_bs_desired *d,
                     const struct gce_bs_side *side, const struct gce_rule *r)
{
    const struct gce_rule *want = &side->rules[0];
    const char *ip = gce_l4_ip_without_prefix(a, r->ip);
    bool other_ip = !str_is_empty(side->user.ip) && !str_eq(side->user.ip, ip);
    bool other_tier = d->tier_is_set && !str_eq(str_nonnull(r->tier), str_nonnull(want->tier));
    bool other_place = !str_eq(gce_link_last(str_nonnull(r->subnetwork)),
                               gce_link_last(str_nonnull(want->subnetwork))) ||
                       !str_eq(str_nonnull(r->ip_collection), str_nonnull(want->ip_collection));
    return side->wanted && side->v6 == (strchr(ip, ':') != NULL) &&
           (other_ip || other_tier || other_place);
}

/* A reservation that an interrupted run left, under the name of a rule, is given back, and does not
 * count. */
static bool is_reserved(struct lb_sync *s, const struct gce_slots *slots, const char *ip)
{
    struct json_object *json = NULL;
    enum gce_known known =
        gce_snapshot_address(gce_cloud_of(s)->snapshot, ip, GCE_SNAPSHOT_ANY, s->a, &json);
    return known == GCE_PRESENT &&
           gce_slots_find(slots, GCE_RULES, NULL, str_nonnull(json_str(json, "name"))) == NULL;
}

void gce_bs_named_reserved(struct lb_sync *s, struct gce_bs_item *b)
{
    const char **ips = ARENA_ARRAY(s->a, const char *, b->slots.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < b->slots.n; i++) {
        const struct gce_slot *slot = &b->slots.items[i];
        const struct gce_rule *r = slot->known == GCE_PRESENT ? slot->as : NULL;
        if (slot->c != GCE_RULES || r == NULL || str_is_empty(r->ip) ||
            (b->in.verb == TT_VERB_ENSURE && !may_move(s->a, &b->d, &b->d.v4, r) &&
             !may_move(s->a, &b->d, &b->d.v6, r))) {
            continue;
        }
        const char *ip = gce_l4_ip_without_prefix(s->a, r->ip);
        if (is_reserved(s, &b->slots, ip)) {
            ips[n++] = ip;
        }
    }
    b->in.reserved_ips = str_set_make(s->a, ips, n);
}
