/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owned.c: everything in the cloud that has a name or tag of ours (list_owned, provider.h),
 * for `trimtab orphans`.
 *
 * Balancers, public IPs and the security group are read as a sync without Services reads them;
 * azure_owned_rules.h says whose their parts are.  Reads only. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/azure/azure_owned_rules.h"
#include "providers/azure/azure_session.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/sync/azure_observe.h"

/* A class is another controller's; what this one has of it is an orphan as soon as it holds
 * it no more. */
static void count_service(void *arg, const struct tt_service *svc)
{
    azure_owned_count(arg, svc);
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

static const char *command_of(const void *arg, const struct inventory_item *item)
{
    const struct azure_owned_list *l = arg;
    return azure_owned_command(l->a, item);
}

static const struct tt_service *remover_of(const void *arg, const struct inventory_unit *unit)
{
    return azure_owned_service(arg, unit->items[0]);
}

static void tell(const struct azure_session *x, struct azure_owned_list *l)
{
    const struct inventory_report r = {
        .host = x->s.host,
        .call = x->s.call,
        .words = azure_owned_words,
        .command = command_of,
        .remover = remover_of,
        .arg = l,
    };
    azure_owned_settle(l);
    inventory_report(&l->inv, &r);
}

static void take(struct azure_owned_list *l, const struct azure_sync *y)
{
    for (size_t i = 0; i < y->pips.n; i++) {
        azure_owned_pip(l, y->pips.items[i]);
    }
    for (size_t i = 0; i < y->lbs.n; i++) {
        azure_owned_lb(l, y->lbs.items[i]);
    }
    if (y->nsg != NULL) {
        azure_owned_nsg(l, y->nsg);
    }
}

int32_t azure_list_owned(void *provider, const struct tt_call *call)
{
    struct azure_provider *p = provider;
    const struct tt_batch none = {.size = sizeof(none), .key = ""};
    struct azure_session x;
    struct azure_owned_list l;
    struct err err = ERR_INIT;
    azure_session_begin(&x, p, call, &none, true);
    azure_owned_init(&l, x.s.a, &p->naming);
    inventory_each_service(&tt_azure_provider, p->host, call, count_service, &l);
    int rc = look(&x, &err);
    if (rc == ERR_OK) {
        take(&l, &x.y);
        rc = inventory_check(&l.inv, &err);
    }
    if (rc != ERR_OK) {
        p->host->report_finding(p->host->ctx, TT_LOG_ERROR, "", err.message);
    } else {
        tell(&x, &l);
    }
    azure_owned_done(&l);
    azure_session_end(&x);
    return rc;
}
