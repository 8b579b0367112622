/* SPDX-License-Identifier: Apache-2.0 */
/* azure_explain.c: which load balancer a Service gets, by which rule, and which nodes serve it (explain, validate).
 *
 * For people (docs/ux.md): the answer first, then the facts that led to it in the order in which they are asked. */
#include "common/base/str.h"
#include "common/lb/explain.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "providers/azure/azure_access_rules.h"
#include "providers/azure/azure_doc.h"
#include "providers/azure/azure_lb_desired.h"
#include "providers/azure/azure_name_rules.h"
#include "providers/azure/azure_node_rules.h"
#include "providers/azure/azure_session.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_targets.h"

/* ---- the Service ------------------------------------------------------------------------------------------- */

static void because_of_service(struct lb_explain *b, const struct azure_service *s,
                               const struct azure_config *c)
{
    const char *internal = azure_annotation(s->in, "azure-load-balancer-internal");
    lb_explain_decision(b, "azure-load-balancer-internal", internal != NULL ? internal : "not set",
                        s->internal ? "internal" : "external");
    lb_explain_decision(b, "loadBalancerSku", c->lb_sku_text,
                        c->standard_sku ? "Standard" : "Basic");
    lb_explain_decision(b, "ipFamilies",
                        s->dual_stack               ? "IPv4, IPv6"
                        : s->has_family[AZURE_IPV6] ? "IPv6"
                                                    : "IPv4",
                        NULL);
    if (s->internal) {
        lb_explain_decision(b, "subnet",
                            s->subnet != NULL ? s->subnet : str_or(c->subnet_name, "not set"),
                            s->subnet != NULL ? "by annotation" : "by the cloud config");
    } else {
        lb_explain_decision(b, "group of public IPs", s->pip_group, NULL);
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        if (s->lb_ip[f] != NULL) {
            lb_explain_decision(b, "address asked for", s->lb_ip[f], NULL);
        }
        if (s->pip_name[f] != NULL && !s->internal) {
            lb_explain_decision(b, "azure-pip-name", s->pip_name[f], "a public IP of yours");
        }
    }
}

/* What is there, and what its name follows from. */
static void because_of_balancer(struct lb_explain *b, struct azure_session *x,
                                const struct azure_item *it, const char *expected)
{
    const struct azure_provider *p = x->s.provider;
    const struct azure_service *s = it->service;
    bool multi = azure_config_is_multi_slb(&p->config);
    struct json_object *own = azure_session_lb(x, s, s->internal);
    struct json_object *other = azure_session_lb(x, it->flip, it->flip->internal);
    lb_explain_decision(b, "load balancer", expected,
                        multi                             ? "by its configuration"
                        : str_is_empty(p->config.lb_name) ? "named like the cluster"
                                                          : "by loadBalancerName");
    lb_explain_decision(b, "is on", own != NULL ? azure_doc_name(own) : "none", NULL);
    if (other != NULL) {
        lb_explain_decision(b, "also on", azure_doc_name(other), "will be taken off it");
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------- */

/* Why a node is in no pool, or NULL. */
static const char *node_left_out(struct arena *a, const struct azure_provider *p,
                                 const struct tt_node *n)
{
    const struct azure_config *c = &p->config;
    const char *why = node_left_out_because(a, n);
    if (why != NULL) {
        return why;
    }
    if (c->exclude_masters && azure_node_is_control_plane(n)) {
        return "runs the control plane (excludeMasterFromStandardLB)";
    }
    if (!azure_node_is_managed(n)) {
        return "label kubernetes.azure.com/managed: false";
    }
    return azure_node_is_excluded(n, c->resource_group, false)
               ? "is of another resource group, or excluded by a label"
               : NULL;
}

static void explain_nodes(struct lb_explain *b, struct azure_session *x)
{
    const struct tt_batch *batch = x->s.batch;
    uint32_t n = 0;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        n += node_left_out(x->s.a, x->s.provider, batch->nodes[i]) == NULL;
    }
    lb_explain_nodes(b, n, batch->n_nodes,
                     arena_printf(x->s.a, "%u of %u take part", n, batch->n_nodes));
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        const char *why = node_left_out(x->s.a, x->s.provider, batch->nodes[i]);
        if (why != NULL) {
            lb_explain_left_out(b, batch->nodes[i]->name, why);
        }
    }
}

/* ---- both -------------------------------------------------------------------------------------------------- */

/* What a sync would refuse it for. */
static int check(struct arena *a, const struct azure_naming *naming, const struct azure_service *s,
                 struct err *err)
{
    int rc = azure_names_check(a, naming->config, s->in, NULL, err);
    rc = rc == ERR_OK ? azure_service_check(s, err) : rc;
    rc = rc == ERR_OK ? azure_access_check(azure_access_read(a, s), err) : rc;
    return rc == ERR_OK ? azure_lb_check(naming, s, err) : rc;
}

/* By the same choice as a sync; Basic balancers, of which there is one per VM set, only where the Service is on one or on
 * the primary set's: the sets of the nodes are not read here. */
static const char *expected_lb(struct azure_session *x, struct azure_item *it, struct err *err)
{
    const struct azure_provider *p = x->s.provider;
    const struct azure_config *c = &p->config;
    if (!c->standard_sku) {
        struct json_object *own = azure_session_lb(x, it->service, it->service->internal);
        return own != NULL ? azure_doc_name(own)
                           : azure_lb_name(x->s.a, &p->naming, azure_config_primary_vm_set(c),
                                           it->service->internal);
    }
    (void)err_copy(err, &it->item->err);
    return it->item->err.code == ERR_OK ? it->target : NULL;
}

static bool is_refusal(int code)
{
    return code == ERR_INVALID || code == ERR_NOT_FOUND || code == ERR_IN_USE || code == ERR_QUOTA;
}

static int explain_one(struct azure_session *x, struct azure_item *it, struct err *err)
{
    const struct azure_provider *p = x->s.provider;
    const struct azure_service *s = it->service;
    struct err refused = ERR_INIT;
    const char *name = NULL;
    if (check(x->s.a, &p->naming, s, &refused) == ERR_OK) {
        name = expected_lb(x, it, &refused);
    }
    if (refused.code != ERR_OK && !is_refusal(refused.code)) {
        return err_copy(err, &refused);
    }
    struct lb_explain b;
    lb_explain_init(&b, x->s.a);
    const char *kind = s->internal ? "internal load balancer" : "external load balancer";
    if (name == NULL) {
        lb_explain_answer(&b, "refused", kind,
                          arena_printf(x->s.a, "is refused: %s.", refused.message));
    } else {
        lb_explain_answer(&b, "served", kind,
                          arena_printf(x->s.a, "is served by the %s %s.", kind, name));
    }
    because_of_service(&b, s, &p->config);
    if (name != NULL) {
        because_of_balancer(&b, x, it, name);
        explain_nodes(&b, x);
    }
    lb_explain_send(&b, p->host, it->item->in->result, s->key);
    return ERR_OK;
}

int32_t azure_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct azure_provider *p = provider;
    struct azure_session x;
    struct err looked = ERR_INIT;
    int32_t first = TT_OK;
    azure_session_begin(&x, p, call, batch, true);
    int rc = azure_session_look(&x, &looked);
    if (rc == ERR_OK && p->config.standard_sku) {
        azure_services_read(&x.y);
        azure_sides_settle(&x.y);
        azure_targets_select(&x.y);
    }
    for (uint32_t i = 0; i < batch->n_items; i++) {
        struct err err = looked;
        if (rc != ERR_OK || explain_one(&x, &x.y.items[i], &err) != ERR_OK) {
            p->host->result_fail(batch->items[i]->result, err.code, err.message,
                                 err.retry_after_ms);
            first = first == TT_OK ? err.code : first;
        }
    }
    azure_session_end(&x);
    return first;
}

/* Pure: what can be said of a Service without looking at anything else. */
int32_t azure_validate(void *provider, const struct tt_item *item)
{
    const struct azure_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;
    if (check(a, &p->naming, azure_service_read(a, &p->naming, item->service), &err) != ERR_OK) {
        p->host->result_fail(item->result, err.code, err.message, 0);
        return err.code;
    }
    return TT_OK;
}
