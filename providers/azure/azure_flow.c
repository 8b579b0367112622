/* SPDX-License-Identifier: Apache-2.0 */
/* azure_flow.c: the flow of Azure: a batch of Services from facts to results.
 *
 * The order of the stages is the safety of the whole (docs/spec/azure.md 4.2, 4.4, 12.6): an address exists before the
 * balancer uses it, the balancer before the security group lets traffic in, and it is the other way round when a Service
 * goes; the other kind of balancer is tidied after the new one is up; an address is released last.  azure_sync.h tells
 * the stages; this file begins and ends a sync. */
#include "providers/azure/azure_access_rules.h"
#include "providers/azure/azure_doc.h"
#include "providers/azure/azure_frontend_rules.h"
#include "providers/azure/azure_members.h"
#include "providers/azure/azure_sync.h"

#include "common/base/str.h"

struct azure_sync *azure_sync_of(struct lb_sync *s)
{
    return s->data;
}

bool azure_item_takes_part(const struct azure_item *it)
{
    return it->service != NULL && !it->left && lb_item_is_active(it->item);
}

struct json_object *azure_sync_lb(const struct azure_sync *y, const char *name)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (azure_eq(azure_doc_name(y->lbs.items[i]), name)) {
            return y->lbs.items[i];
        }
    }
    return NULL;
}

/* ---- the beginning ------------------------------------------------------------------------------------- */

static void tell(struct azure_sync *y, const struct azure_item *it,
                 const struct azure_finding *findings, size_t n)
{
    const struct tt_host *host = y->p->host;
    for (size_t i = 0; it->want && !y->s->planning && i < n; i++) {
        host->event(host->ctx, it->service->in, TT_EVENT_WARNING, findings[i].reason,
                    findings[i].message);
    }
}

/* What is wrong with a Service that is wanted is told, and refused before anything is read for it.  One that goes is
 * cleaned up whatever it says. */
static void item_begin(struct azure_sync *y, struct azure_item *it, struct lb_item *item)
{
    struct arena *a = y->s->a;
    it->item = item;
    it->want = item->in->verb != TT_VERB_DELETE;
    it->service = azure_service_read(a, &y->p->naming, item->in->service);
    it->flip = azure_service_flip(a, &y->p->naming, it->service);
    if (item->in->verb != TT_VERB_ENSURE) {
        return; /* an UPDATE was told already */
    }
    const struct azure_access *access = azure_access_read(a, it->service);
    tell(y, it, it->service->findings, it->service->n_findings);
    tell(y, it, access->findings, access->n_findings);
    if (azure_service_check(it->service, &item->err) != ERR_OK ||
        azure_access_check(access, &item->err) != ERR_OK) {
        return; /* its error is its result */
    }
}

static int facts(struct lb_sync *s, struct err *err)
{
    struct azure_provider *p = s->provider;
    struct azure_sync *y = ARENA_NEW(s->a, struct azure_sync);
    *y = (struct azure_sync){.s = s, .p = p};
    s->data = y;
    if (p->config.security_group_name[0] == '\0') {
        return err_set(err, ERR_INVALID,
                       "securityGroupName is not configured: set it in the cloud config");
    }
    /* Here, so that the jobs of the first wave do not each fetch one of their own. */
    int rc = p->offline ? ERR_OK : azure_auth_ready_all(p->auth, s->http, s->cancel, err);
    if (rc != ERR_OK) {
        return rc;
    }
    y->items = ARENA_ARRAY(s->a, struct azure_item, s->n_items);
    for (size_t i = 0; i < s->n_items; i++) {
        if (lb_item_is_active(&s->items[i])) {
            item_begin(y, &y->items[i], &s->items[i]);
        }
    }
    return ERR_OK;
}

/* ---- addresses ------------------------------------------------------------------------------------------ */

struct addresses {
    struct azure_sync *y;
    const struct azure_service *service;
    const char **items;
    size_t n;
};

static void add_address(struct addresses *x, const char *ip)
{
    if (!str_is_empty(ip)) {
        x->items[x->n++] = ip;
    }
}

static void add_of_lb(struct addresses *x, struct json_object *lb)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        if (!azure_frontend_owner(x->y->s->a, x->service, o, &x->y->pips).owns) {
            continue;
        }
        const char *pip = azure_ref(o, "publicIPAddress");
        if (pip != NULL) {
            struct json_object *doc = azure_pip_by_id(&x->y->pips, pip);
            add_address(x, doc != NULL ? azure_pip_address(doc) : NULL);
        } else {
            add_address(x, azure_prop_str(o, "privateIPAddress"));
        }
    }
}

struct azure_texts azure_addresses_of(struct azure_sync *y, const struct azure_service *service)
{
    size_t most = 1;
    for (size_t i = 0; i < y->lbs.n; i++) {
        most += json_len(azure_array(y->lbs.items[i], "frontendIPConfigurations"));
    }
    struct addresses x = {
        .y = y, .service = service, .items = ARENA_ARRAY(y->s->a, const char *, most)};
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (azure_lb_is_internal(azure_doc_name(y->lbs.items[i])) == service->internal) {
            add_of_lb(&x, y->lbs.items[i]);
        }
    }
    return (struct azure_texts){.items = x.items, .n = x.n};
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static void remember(struct azure_provider *p, const char *key, const struct azure_texts *ips)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < ips->n; i++) {
        str_appendf(&b, "%s%s", i > 0 ? " " : "", ips->items[i]);
    }
    map_set(p->assigned, key, xstrdup(str_buf_text(&b)));
}

static void status(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_item *it = &y->items[item - s->items];
    if (it->left) {
        return;
    }
    if (!it->want) {
        (void)map_remove(y->p->assigned, item->key);
        return;
    }
    struct azure_texts ips = azure_addresses_of(y, it->service);
    const struct azure_access *access = azure_access_read(s->a, it->service);
    struct tt_ingress *ingress =
        ARENA_ARRAY(s->a, struct tt_ingress, ips.n + access->additional.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < ips.n; i++) {
        ingress[n++].ip = ips.items[i];
    }
    for (size_t i = 0; i < access->additional.n; i++) {
        ingress[n++].ip = access->additional.items[i];
    }
    remember(y->p, item->key, &ips);
    s->host->result_ingress(item->in->result, ingress, (uint32_t)n);
}

static const struct lb_stage stages[] = {
    {"withdraw", azure_observe_withdraw, azure_plan_withdraw},
    {"addresses", azure_observe_addresses, azure_plan_addresses},
    {"balancers", azure_observe_balancers, azure_plan_balancers},
    {"members", azure_observe_members, azure_plan_members},
    {"security", azure_observe_security, azure_plan_security},
    {"tidy", azure_observe_tidy, azure_plan_tidy},
    {"release", azure_observe_release, azure_plan_release},
};

const struct lb_flow azure_flow = {
    .name = "azure",
    .facts = facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .status = status,
    .culprits = azure_culprits,
    .wrote = azure_wrote,
};
