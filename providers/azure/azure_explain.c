/* SPDX-License-Identifier: Apache-2.0 */
/* azure_explain.c: which load balancer a Service gets, by which rule, and which nodes serve it
 * (explain, validate).
 *
 * For people (docs/ux.md): the answer first, then the facts that led to it in the order in which
 * they are asked. */
#include "common/base/str.h"
#include "common/lb/explain.h"
#include "common/lb/service_rules.h"
#include "providers/azure/azure_explain_nodes.h"
#include "providers/azure/azure_findings.h"
#include "providers/azure/azure_session.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_targets.h"
#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_name_rules.h"
#include "providers/azure/model/azure_text.h"

/* ---- the Service ----------------------------------------------------------------------------- */

static void because_of_service(struct lb_explain *b, const struct azure_item *it,
                               const struct azure_config *c)
{
    const struct azure_service *s = it->service; /* as it stands, where upstream reads it so */
    const char *internal = azure_annotation(it->item->in->service, "azure-load-balancer-internal");
    lb_explain_decision(b, "azure-load-balancer-internal", internal != NULL ? internal : "not set",
                        s->internal                 ? "internal"
                        : azure_text_true(internal) ? "stays external, as it stands"
                                                    : "external");
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

/* The present load balancer, and the source of its name. */
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

/* ---- both ------------------------------------------------------------------------------------ */

/* Reasons for which a sync would refuse it. */
static int check(struct arena *a, const struct azure_naming *naming, const struct azure_service *s,
                 struct err *err)
{
    int rc = azure_names_check(a, naming->config, s->in, NULL, err);
    rc = rc == ERR_OK ? azure_internal_check(a, s->in, naming->config->lenient_internal, err) : rc;
    rc = rc == ERR_OK ? azure_service_check(s, err) : rc;
    rc = rc == ERR_OK ? azure_access_check(azure_access_read(a, s), err) : rc;
    return rc == ERR_OK ? azure_lb_check(naming, s, err) : rc;
}

/* Basic balancers, of which there is one per VM set: where the Service is, or the primary set's. */
static void expect_basic(struct azure_session *x)
{
    const struct azure_provider *p = x->s.provider;
    for (size_t i = 0; !p->config.standard_sku && i < x->s.n_items; i++) {
        struct azure_item *it = &x->y.items[i];
        struct json_object *own = azure_session_lb(x, it->service, it->service->internal);
        it->target =
            own != NULL ? azure_doc_name(own)
                        : azure_lb_name(x->s.a, &p->naming, azure_config_primary_vm_set(&p->config),
                                        it->service->internal);
    }
}

/* By the same choice as a sync. */
static const char *expected_lb(const struct azure_item *it, struct err *err)
{
    (void)err_copy(err, &it->item->err);
    return it->item->err.code == ERR_OK ? it->target : NULL;
}

static bool is_refusal(int code)
{
    return code == ERR_INVALID || code == ERR_NOT_FOUND || code == ERR_IN_USE || code == ERR_QUOTA;
}

/* Members and candidates of the pools.  Without the right to read machines explain prints the
 * rules alone. */
struct who {
    bool known;
    struct azure_members members;
    struct err err;
};

static void look_at_members(struct azure_session *x, struct who *who)
{
    *who = (struct who){.err = ERR_INIT};
    who->known = azure_observe_members(&x->s, &who->err) == ERR_OK &&
                 azure_members_gather(&x->y, &who->members, &who->err) == ERR_OK;
}

static int explain_one(struct azure_session *x, struct azure_item *it, const struct who *who,
                       struct err *err)
{
    const struct azure_provider *p = x->s.provider;
    const struct azure_service *s = it->service;
    struct err refused = ERR_INIT;
    const char *name = NULL;
    if (check(x->s.a, &p->naming, s, &refused) == ERR_OK) {
        name = expected_lb(it, &refused);
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
    because_of_service(&b, it, &p->config);
    if (name != NULL) {
        because_of_balancer(&b, x, it, name);
        azure_explain_nodes(&b, &x->y, who->known ? &who->members : NULL, it);
        if (!who->known) {
            lb_explain_text_row(
                &b, TT_EXPLAIN_WARNING,
                arena_printf(x->s.a, "members of the pools are not known: %s", who->err.message));
        }
    }
    lb_explain_send(&b, p->host, it->item->in->result, s->key);
    return ERR_OK;
}

int32_t azure_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct azure_provider *p = provider;
    struct azure_session x;
    struct err looked = ERR_INIT;
    struct who who;
    int32_t first = TT_OK;
    azure_session_begin(&x, p, call, batch, true);
    int rc = azure_session_look(&x, &looked);
    if (rc == ERR_OK && p->config.standard_sku) {
        azure_services_read(&x.y);
        azure_sides_settle(&x.y);
        azure_targets_select(&x.y);
    }
    if (rc == ERR_OK) {
        expect_basic(&x);
        look_at_members(&x, &who);
    }
    for (uint32_t i = 0; i < batch->n_items; i++) {
        struct err err = looked;
        if (rc != ERR_OK || explain_one(&x, &x.y.items[i], &who, &err) != ERR_OK) {
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
