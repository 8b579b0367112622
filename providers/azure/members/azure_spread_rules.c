/* SPDX-License-Identifier: Apache-2.0 */
/* azure_spread_rules.c: see azure_spread_rules.h.
 *
 * Two passes, as upstream: VM sets first, so that the counts by which the rest is
 * spread are settled. */
#include "providers/azure/members/azure_spread_rules.h"

#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"

struct spread {
    const struct azure_config *config;
    bool *present;  /* by configuration: it exists, or is about to */
    size_t *counts; /* nodes of each */
    size_t *new_lb; /* by node */
    bool *settled;  /* by node: its VM set has decided */
    bool *eligible; /* by configuration, for the node in hand */
};

static bool is_present(struct arena *a, const struct azure_lbs *lbs, const char *coming,
                       const char *name)
{
    if (coming != NULL && azure_eq(azure_lb_base(a, coming), name)) {
        return true;
    }
    for (size_t i = 0; i < lbs->n; i++) {
        if (azure_eq(azure_lb_base(a, azure_doc_name(lbs->items[i])), name)) {
            return true;
        }
    }
    return false;
}

static void move(struct spread *s, size_t node, size_t lb)
{
    if (s->new_lb[node] != AZURE_NO_LB) {
        s->counts[s->new_lb[node]]--;
    }
    if (lb != AZURE_NO_LB) {
        s->counts[lb]++;
    }
    s->new_lb[node] = lb;
}

static void settle_by_vm_set(struct spread *s, const struct azure_spread_node *node, size_t at)
{
    for (size_t i = 0; i < s->config->n_lbs; i++) {
        if (s->present[i] && azure_eq(s->config->lbs[i].primary_vm_set, node->vm_set)) {
            s->settled[at] = true;
            move(s, at, i);
            return;
        }
    }
}

/* Those whose selector matches; where none does, those without one. */
static int find_eligible(struct spread *s, const struct tt_node *node, struct err *err)
{
    size_t n = s->config->n_lbs;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct azure_selector *selector = &s->config->lbs[i].nodes;
        s->eligible[i] = false;
        if (selector->n == 0) {
            continue;
        }
        bool matches;
        int rc = azure_selector_matches(selector, node->labels, node->n_labels, &matches, err);
        if (rc != ERR_OK) {
            (void)err_prefix(err, "nodeSelector of load balancer \"%s\"", s->config->lbs[i].name);
            return rc;
        }
        s->eligible[i] = matches && s->present[i];
        any = any || matches;
    }
    for (size_t i = 0; i < n && !any; i++) {
        s->eligible[i] = s->config->lbs[i].nodes.n == 0 && s->present[i];
    }
    return ERR_OK;
}

static size_t fewest_nodes(const struct spread *s)
{
    size_t best = AZURE_NO_LB;
    for (size_t i = 0; i < s->config->n_lbs; i++) {
        if (s->eligible[i] && (best == AZURE_NO_LB || s->counts[i] < s->counts[best])) {
            best = i;
        }
    }
    return best;
}

static int settle_by_selector(struct spread *s, const struct azure_spread_node *node, size_t at,
                              struct err *err)
{
    int rc = find_eligible(s, node->node, err);
    if (rc != ERR_OK) {
        return rc;
    }
    size_t now = s->new_lb[at];
    if (now == AZURE_NO_LB || !s->eligible[now]) {
        move(s, at, fewest_nodes(s));
    }
    return ERR_OK;
}

int azure_spread_nodes(struct arena *a, const struct azure_config *c, const struct azure_lbs *lbs,
                       const char *coming, struct azure_spread_node *nodes, size_t n,
                       struct err *err)
{
    struct spread s = {
        .config = c,
        .present = ARENA_ARRAY(a, bool, c->n_lbs),
        .counts = ARENA_ARRAY(a, size_t, c->n_lbs),
        .new_lb = ARENA_ARRAY(a, size_t, n),
        .settled = ARENA_ARRAY(a, bool, n),
        .eligible = ARENA_ARRAY(a, bool, c->n_lbs),
    };
    for (size_t i = 0; i < c->n_lbs; i++) {
        s.present[i] = is_present(a, lbs, coming, c->lbs[i].name);
    }
    for (size_t i = 0; i < n; i++) {
        s.new_lb[i] = AZURE_NO_LB;
        move(&s, i, nodes[i].lb < c->n_lbs ? nodes[i].lb : AZURE_NO_LB);
    }
    for (size_t i = 0; i < n; i++) {
        settle_by_vm_set(&s, &nodes[i], i);
    }
    int rc = ERR_OK;
    for (size_t i = 0; i < n && rc == ERR_OK; i++) {
        rc = s.settled[i] ? ERR_OK : settle_by_selector(&s, &nodes[i], i, err);
    }
    for (size_t i = 0; i < n && rc == ERR_OK; i++) {
        nodes[i].lb = s.new_lb[i];
    }
    return rc;
}
