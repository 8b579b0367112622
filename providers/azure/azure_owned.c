/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owned.c: everything in the cloud that has a name or tag of ours (list_owned, provider.h), for `trimtab orphans`.
 *
 * Balancers, public IPs and the security group are read as a sync of nobody reads them; whose their parts are says
 * azure_owned_rules.h.  Reads only. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/azure/azure_observe.h"
#include "providers/azure/azure_owned_rules.h"
#include "providers/azure/azure_session.h"
#include "providers/azure/model/azure_doc.h"

static void count_services(struct azure_owned_list *l, const struct azure_provider *p,
                           const struct tt_call *call)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    p->host->services(p->host->ctx, call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        /* A class is another controller's; what this one has of it is an orphan as soon as it holds it no more. */
        if (svc_wants_lb(all[i]) || svc_has_finalizer(all[i], LB_CLEANUP_FINALIZER)) {
            azure_owned_count(l, all[i]);
        }
    }
}

static int look(struct azure_session *x, struct err *err)
{
    struct azure_provider *p = x->s.provider;
    const struct azure_config *c = &p->config;
    int rc = ERR_OK;
    if (!p->offline) {
        rc = azure_auth_ready_all(p->auth, x->s.http, x->s.cancel, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    azure_need_nothing(&x->y);
    azure_need_balancers(&x->y);
    if (!str_is_empty(c->security_group_name)) {
        azure_need(&x->y, AZURE_NSGS,
                   azure_arm_id(x->s.a, &p->arm, AZURE_NSGS, c->security_group_resource_group,
                                c->security_group_name));
    }
    return azure_see(&x->y, err);
}

static void tell(const struct azure_session *x, struct azure_owned_list *l)
{
    const struct tt_host *host = x->s.host;
    azure_owned_settle(l);
    for (size_t i = 0; i < l->n; i++) {
        const struct azure_owned *item = &l->items[i];
        const struct tt_owned owned = {
            .size = sizeof(owned),
            .kind = azure_owned_word(item->kind),
            .name = item->name,
            .place = item->in,
            .owner = item->key,
            .cost = azure_owned_cost(item->kind),
            .command = azure_owned_command(x->s.a, item),
            .remove_as = item->used ? NULL : azure_owned_service(l, item),
            .flags = (item->used ? TT_OWNED_USED : 0) | (item->unsure ? TT_OWNED_UNSURE : 0),
        };
        host->report_resource(host->ctx, x->s.call, &owned);
    }
}

int32_t azure_list_owned(void *provider, const struct tt_call *call)
{
    struct azure_provider *p = provider;
    const struct tt_batch nobody = {.size = sizeof(nobody), .key = ""};
    struct azure_session x;
    struct azure_owned_list l;
    struct err err = ERR_INIT;
    azure_session_begin(&x, p, call, &nobody, true);
    azure_owned_init(&l, x.s.a, &p->naming);
    int rc = look(&x, &err);
    if (rc != ERR_OK) {
        p->host->report_finding(p->host->ctx, TT_LOG_ERROR, "", err.message);
    } else if (TT_HAS(p->host, report_resource)) {
        count_services(&l, p, call);
        for (size_t i = 0; i < x.y.pips.n; i++) {
            azure_owned_pip(&l, x.y.pips.items[i]);
        }
        for (size_t i = 0; i < x.y.lbs.n; i++) {
            azure_owned_lb(&l, x.y.lbs.items[i]);
        }
        if (x.y.nsg != NULL) {
            azure_owned_nsg(&l, x.y.nsg);
        }
        tell(&x, &l);
    }
    azure_owned_done(&l);
    azure_session_end(&x);
    return rc;
}
