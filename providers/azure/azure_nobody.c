/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nobody.c: does any node answer behind the load balancer that is planned (azure_findings.h)?
 *
 * Whether a member is healthy Azure's probes know; the sentence follows from the Service, the
 * nodes, and the pools as they were read. */
#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "providers/azure/azure_findings.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/model/azure_text.h"
#include "providers/azure/sync/azure_sync.h"

const char *azure_node_left_out(struct arena *a, const struct azure_config *c,
                                const struct tt_node *node)
{
    const char *why = node_left_out_because(a, node);
    if (why != NULL) {
        return why;
    }
    if (c->exclude_masters && azure_node_is_control_plane(node)) {
        return "runs the control plane (excludeMasterFromStandardLB)";
    }
    if (!azure_node_is_managed(node)) {
        return "label kubernetes.azure.com/managed: false";
    }
    return azure_node_is_excluded(node, c->resource_group, false)
               ? "is of another resource group, or excluded by a label"
               : NULL;
}

/* A pool is never emptied: nodes that take no part any more stay in it when no other one comes. */
static bool has_members(const struct azure_sync *y, const struct azure_service *s)
{
    static const char *const lists[] = {"backendIPConfigurations", "loadBalancerBackendAddresses"};
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct json_object *pools = azure_array(lb, "backendAddressPools");
        bool ours = azure_lb_is_internal(azure_doc_name(lb)) == s->internal;
        for (size_t k = 0; ours && k < json_len(pools); k++) {
            struct json_object *pool = json_object_array_get_idx(pools, k);
            for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
                if (json_len(azure_array(pool, lists[l])) > 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool has_listener(const struct azure_service *s)
{
    bool has = s->in->n_ports == 0;
    for (uint32_t i = 0; i < s->in->n_ports; i++) {
        has = has ||
              !azure_text_true(azure_port_annotation(s->in, s->in->ports[i].port, "no_lb_rule"));
    }
    return has;
}

/* Ranges are given, and none is of a family of the Service's addresses. */
static bool is_closed_to_its_families(const struct azure_service *s, const struct azure_access *x)
{
    const struct azure_prefixes *lists[] = {&x->source_ranges, &x->allowed_ranges};
    size_t n = 0;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (size_t i = 0; i < lists[l]->n; i++, n++) {
            if (s->has_family[azure_addr_family(&lists[l]->items[i].addr)]) {
                return false;
            }
        }
    }
    /* Azure's own rules let the virtual network in, unless all that is not named is denied. */
    bool closes = !s->internal || x->deny_all;
    return n > 0 && x->tags.n == 0 && !s->disable_nsg_rule && closes;
}

/* Why a load balancer as the Service asks for it serves no client; NULL: nothing says so. */
static const char *by_wish(struct arena *a, const struct azure_item *it)
{
    const struct azure_access *x = azure_access_read(a, it->service);
    size_t n_ranges = x->source_ranges.n + x->allowed_ranges.n;
    if (!has_listener(it->service)) {
        return "no port has a rule: port_<port>_no_lb_rule is \"true\" for all of them";
    }
    if (n_ranges + x->tags.n == 0 && x->bad_source_ranges.n + x->bad_allowed_ranges.n > 0 &&
        !it->service->disable_nsg_rule) {
        return "the source ranges allow no client: none of them is valid";
    }
    if (is_closed_to_its_families(it->service, x)) {
        return "the source ranges allow no client: none is of the family of its addresses";
    }
    return NULL;
}

const char *azure_nobody(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    const struct tt_batch *batch = y->s->batch;
    const char *wish = azure_item_is_unproven(it) ? NULL : by_wish(a, it);
    bool takes_part = false;
    if (wish != NULL) {
        return wish;
    }
    const char **reasons = ARENA_ARRAY(a, const char *, batch->n_nodes + 1);
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        reasons[i] = azure_node_left_out(a, &y->p->config, batch->nodes[i]);
        takes_part = takes_part || reasons[i] == NULL;
    }
    if (!takes_part && !has_members(y, it->service)) {
        return lb_nobody_nodes(a, reasons, batch->n_nodes);
    }
    return it->bare
               ? arena_printf(a,
                              "no node is behind load balancer %s: those that take part are of "
                              "other VM sets, or behind other load balancers",
                              it->target)
               : NULL;
}
