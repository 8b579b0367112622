/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_older.c: finds the forwarding rules that an older Service of the same name left
 * (gce_flow.h).
 *
 * They refer to the Service's backend service under a name that cannot be derived, because it holds
 * the older uid.  The snapshot, whose lists hold all rules of the region, is searched where it
 * matters: before a balancer's first rule is made beside a backend service that stands already, and
 * before the balancer is deleted.  A rule that is found is a slot like any other, so the cloud is
 * asked about it before anything is done. */
#include "common/base/str.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

static bool has_rule(const struct gce_bs_item *b, const struct gce_bs_side *side)
{
    for (size_t i = 0; side->wanted && i < side->n_rules; i++) {
        if (gce_slots_rule(&b->slots, side->rules[i].name) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_worth_a_search(const struct gce_bs_item *b)
{
    if (b->in.kind == GCE_KIND_ILB_GROUPS || str_is_empty(b->facts.kube_system_uid)) {
        return false; /* all names hold the uid */
    }
    return b->in.verb == TT_VERB_DELETE ||
           (b->in.verb == TT_VERB_ENSURE && !has_rule(b, &b->d.v4) && !has_rule(b, &b->d.v6));
}

bool gce_bs_flow_find_older(struct lb_sync *s, struct gce_bs_item *b)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *svc = b->in.service;
    struct gce_l4_names names;
    if (!is_worth_a_search(b)) {
        return false;
    }
    gce_l4_names_make(s->a, b->facts.kube_system_uid, svc->ns, svc->name, str_nonnull(svc->uid),
                      &names);
    if (gce_slots_bservice(&b->slots, names.backend) == NULL) {
        return false;
    }
    const struct gce_strs found = gce_snapshot_rules_of(p->cloud.snapshot, names.backend, s->a);
    const char **older = ARENA_ARRAY(s->life, const char *, found.n);
    size_t n = 0;
    for (size_t i = 0; i < found.n; i++) {
        if (gce_rule_name_is_of_another_uid(s->a, found.items[i], svc)) {
            older[n++] = arena_strdup(s->life, found.items[i]);
        }
    }
    if (n == 0) {
        return false; /* what a refusal has told before stays */
    }
    b->in.older_rules = (struct gce_strs){.items = older, .n = n};
    for (size_t i = 0; i < n; i++) {
        gce_slots_add(&b->slots, true, GCE_RULES, NULL, older[i]);
        gce_slots_add(&b->slots, false, GCE_ADDRESSES, NULL, older[i]);
    }
    return true;
}
