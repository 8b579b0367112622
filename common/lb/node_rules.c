/* SPDX-License-Identifier: Apache-2.0 */
/* node_rules.c: which nodes take part in load balancing, and which changes of nodes matter.
 *
 * One node set serves all Services, whatever their traffic policy: not being deleted, not excluded
 * by label, not about to be removed by the autoscaler.  Readiness does not count (controller.md
 * §1.14): a load balancer finds out by its own health checks, faster and without a write.  The
 * decoder computes node_flags() once per object; everything else reads the
 * flags.  Pure; thread-safe. */
#include "common/lb/node_rules.h"
#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/service_rules.h"

#include <string.h>

#define LOGGABLE_MAX 20 /* upstream's maxNodeNamesToLog */

/* ---- predicates, §1.14 ----------------------------------------------------------------------- */
static const char *label_of(const struct tt_node *n, const char *key)
{
    for (uint32_t i = 0; i < n->n_labels; i++) {
        if (strcmp(n->labels[i].key, key) == 0) {
            return str_nonnull(n->labels[i].value);
        }
    }
    return NULL;
}

bool node_is_included(const struct tt_node *n)
{
    const char *value = label_of(n, LB_EXCLUDE_LABEL);
    bool excluded;
    return value == NULL || (str_to_go_bool(value, &excluded) && !excluded);
}

static bool is_tainted(const struct tt_node *n)
{
    for (uint32_t i = 0; i < n->n_taints; i++) {
        if (strcmp(n->taints[i].key, LB_AUTOSCALER_TAINT) == 0) {
            return true; /* whatever its value and effect */
        }
    }
    return false;
}

/* The first condition of type Ready decides. */
static bool is_ready(const struct tt_node *n)
{
    for (uint32_t i = 0; i < n->n_conditions; i++) {
        if (str_eq(n->conditions[i].type, "Ready")) {
            return str_eq(n->conditions[i].status, "True");
        }
    }
    return false;
}

uint32_t node_flags(const struct tt_node *n)
{
    uint32_t flags = 0;
    flags |= n->deleted_us != 0 ? TT_NODE_DELETING : 0;
    flags |= node_is_included(n) ? 0 : TT_NODE_EXCLUDED;
    flags |= is_tainted(n) ? TT_NODE_TAINTED : 0;
    flags |= flags == 0 ? TT_NODE_ELIGIBLE : 0;
    flags |= is_ready(n) ? TT_NODE_READY : 0;
    return flags;
}

const struct tt_node **nodes_eligible(struct arena *a, const struct tt_node *const *nodes, size_t n,
                                      size_t *ret_n)
{
    const struct tt_node **kept = ARENA_ARRAY(a, const struct tt_node *, n);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if ((nodes[i]->flags & TT_NODE_ELIGIBLE) != 0) {
            kept[count++] = nodes[i];
        }
    }
    *ret_n = count;
    return kept;
}

const char *node_left_out_because(struct arena *a, const struct tt_node *n)
{
    if ((n->flags & TT_NODE_DELETING) != 0) {
        return "it is being deleted (deletionTimestamp)";
    }
    if ((n->flags & TT_NODE_EXCLUDED) != 0) {
        const char *value = label_of(n, LB_EXCLUDE_LABEL);
        return str_is_empty(value) ? "label " LB_EXCLUDE_LABEL
                                   : arena_printf(a, "label %s=%s", LB_EXCLUDE_LABEL, value);
    }
    return (n->flags & TT_NODE_TAINTED) != 0 ? "taint " LB_AUTOSCALER_TAINT : NULL;
}

/* ---- changes, §1.15 -------------------------------------------------------------------------- */
bool node_should_sync(const struct tt_node *old_node, const struct tt_node *cur)
{
    return node_is_included(old_node) != node_is_included(cur) ||
           strcmp(str_nonnull(old_node->provider_id), str_nonnull(cur->provider_id)) != 0;
}

/* A sum of one hash per node, so that the order of the list does not matter. */
uint64_t nodes_fingerprint(const struct tt_node *const *nodes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if ((nodes[i]->flags & TT_NODE_ELIGIBLE) != 0) {
            const char *id = str_nonnull(nodes[i]->provider_id);
            uint64_t name = hash_bytes(0, nodes[i]->name, strlen(nodes[i]->name));
            sum += hash_bytes(name, id, strlen(id)) | 1; /* never 0: one node is not no node */
        }
    }
    return sum;
}

/* ---- names for logs and events, §1.15 -------------------------------------------------------- */
const char **nodes_loggable(struct arena *a, const char *const *names, size_t n, size_t *ret_n)
{
    size_t shown = n > LOGGABLE_MAX ? LOGGABLE_MAX : n;
    struct str_set unique = str_set_make(a, names, shown);
    const char **list = ARENA_ARRAY(a, const char *, unique.n + 1);
    for (size_t i = 0; i < unique.n; i++) {
        list[i] = unique.items[i];
    }
    *ret_n = unique.n;
    if (n > shown) {
        list[(*ret_n)++] = arena_printf(a, "<%zu more>", n - shown);
    }
    return list;
}

char *nodes_loggable_text(struct arena *a, const struct tt_node *const *nodes, size_t n)
{
    const char **names = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = nodes[i]->name;
    }
    size_t count;
    const char **list = nodes_loggable(a, names, n, &count);
    return arena_printf(a, "[%s]", str_join(a, list, count, " "));
}
