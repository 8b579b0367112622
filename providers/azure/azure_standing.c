/* SPDX-License-Identifier: Apache-2.0 */
/* azure_standing.c: see azure_standing.h. */
#include "providers/azure/azure_standing.h"
#include "providers/azure/azure_additional_rules.h"
#include "providers/azure/model/azure_doc.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"

/* ---- one rule -------------------------------------------------------------------------------- */

/* The Service that the rule was made for, as far as it tells: its port, its node port, and whether
 * traffic arrives at the nodes. */
static const struct azure_service *service_of_rule(struct azure_sync *y, struct json_object *rule)
{
    static const struct tt_kv on_nodes = {
        .key = "service.beta.kubernetes.io/azure-disable-load-balancer-floating-ip",
        .value = "true"};
    struct arena *a = y->s->a;
    struct tt_service *in = ARENA_NEW(a, struct tt_service);
    struct tt_port *port = ARENA_NEW(a, struct tt_port);
    bool floats = azure_prop_bool(rule, "enableFloatingIP", false);
    *port = (struct tt_port){
        .name = "",
        .protocol = str_upper(a, str_nonnull(azure_prop_str(rule, "protocol"))),
        .port = (int32_t)azure_prop_int(rule, "frontendPort", 0),
        .node_port = (int32_t)azure_prop_int(rule, "backendPort", 0),
    };
    *in = (struct tt_service){
        .size = sizeof(*in),
        .ns = "",
        .name = azure_doc_name(rule),
        .uid = azure_doc_name(rule),
        .type = "LoadBalancer",
        .lb_ip = "",
        .ports = port,
        .n_ports = 1,
        .annotations = &on_nodes,
        .n_annotations = floats ? 0 : 1,
        .has_annotations = 1,
    };
    return azure_service_read(a, &y->p->naming, in);
}

struct azure_nsg_member azure_standing_rule(struct azure_sync *y, struct json_object *lb,
                                            struct json_object *rule)
{
    const char *id = azure_ref(rule, "frontendIPConfiguration");
    const char **ip = ARENA_ARRAY(y->s->a, const char *, 1);
    ip[0] = id != NULL ? azure_additional_frontend(y, lb, id) : "";
    return (struct azure_nsg_member){
        .access = azure_access_read(y->s->a, service_of_rule(y, rule)),
        .assigned = {.items = ip, .n = ip[0][0] != '\0'},
    };
}

/* ---- those of the cluster -------------------------------------------------------------------- */

/* Does the Service ask for the port that the rule needs open? */
static bool asks_for(const struct azure_access *x, struct json_object *rule)
{
    bool floats = azure_prop_bool(rule, "enableFloatingIP", false);
    const char *protocol = str_nonnull(azure_prop_str(rule, "protocol"));
    int64_t port = azure_prop_int(rule, floats ? "frontendPort" : "backendPort", 0);
    bool asks = port == 0; /* all ports */
    for (int p = 0; floats != x->service->disable_floating_ip && p < AZURE_PROTOCOLS; p++) {
        for (size_t i = 0; azure_eq(azure_protocol_text((enum azure_protocol)p), protocol) &&
                           i < x->ports[p].n && !asks;
             i++) {
            asks = x->ports[p].items[i] == port;
        }
    }
    return asks;
}

/* Of one of the batch's changes, or of a Service that still asks for what the rule does?  The
 * address of a former frontend is none that a Service has. */
static bool is_cared_for(struct azure_sync *y, const struct azure_nsg_input *in,
                         struct json_object *rule)
{
    const char *name = azure_doc_name(rule);
    const char *frontend = azure_id_last(azure_ref(rule, "frontendIPConfiguration"));
    for (size_t i = 0; i < in->n_changes; i++) {
        const struct azure_nsg_change *c = &in->changes[i];
        if (azure_has_prefix(name, c->access->service->base)) {
            return !c->adds_only || !azure_frontend_is_former(c->access->service, frontend);
        }
    }
    for (size_t i = 0; i < y->n_services; i++) {
        const struct azure_service *s = y->services[i];
        if (!svc_is_unreadable(s->in) && azure_has_prefix(name, s->base)) {
            return in->members[i].cleaned || (!azure_frontend_is_former(s, frontend) &&
                                              asks_for(in->members[i].access, rule));
        }
    }
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (it->service != NULL && !azure_item_is_unproven(it) &&
            azure_has_prefix(name, it->service->base)) {
            return true;
        }
    }
    return false;
}

void azure_standing_gather(struct azure_sync *y, struct azure_nsg_input *in,
                           struct azure_nsg_member *members)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *rule;
        AZURE_EACH (rule, azure_array(y->lbs.items[i], "loadBalancingRules")) {
            if (azure_ref(rule, "frontendIPConfiguration") != NULL && !is_cared_for(y, in, rule)) {
                members[in->n_members++] = azure_standing_rule(y, y->lbs.items[i], rule);
            }
        }
    }
}
