/* SPDX-License-Identifier: Apache-2.0 */
/* azure_flow.c: the flow of Azure: a batch of Services from facts to results.
 *
 * The order of the stages is the safety of the whole (docs/spec/azure.md 4.2, 4.4, 12.6): an
 * address exists before the balancer uses it, the balancer before the security group lets traffic
 * in, and it is the other way round when a Service goes; the other kind of balancer is tidied after
 * the new one is up; an address is released last.  azure_stages.h has the stages; this file begins
 * and ends a sync. */
#include "providers/azure/arm/azure_metrics.h"
#include "providers/azure/azure_findings.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/azure_lb_moves.h"
#include "providers/azure/azure_provider.h"
#include "providers/azure/azure_retreat.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_access_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_idle_rules.h"
#include "providers/azure/model/azure_name_rules.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_MS 60000 /* until a machine that was not found is looked for again */

/* ---- the beginning --------------------------------------------------------------------------- */

/* The plan has the findings that do not stop a sync, and the controller reports them; those that
 * stop an ENSURE are reported here, beside its failure. */
static void tell(struct azure_sync *y, const struct azure_item *it,
                 const struct azure_finding *findings, size_t n)
{
    const struct tt_host *host = y->p->host;
    bool ensure = it->item->in->verb == TT_VERB_ENSURE;
    for (size_t i = 0; i < n; i++) {
        if (!findings[i].fatal) {
            lb_finding(y->s, it->item, findings[i].reason, findings[i].field, "%s",
                       findings[i].message);
        } else if (ensure && !y->s->planning) {
            host->event(host->ctx, it->service->in, TT_EVENT_WARNING, findings[i].reason,
                        findings[i].message);
        }
    }
}

/* Annotations without effect, and in the sync of an edit settings that stay all the same. */
static void tell_idle(struct azure_sync *y, const struct azure_item *it)
{
    struct arena *a = y->s->a;
    const struct tt_service *before = it->item->in->previous;
    struct azure_finding found[LB_FINDINGS_MAX];
    size_t n = azure_idle_findings(a, &y->p->naming, it->service, found, ARRAY_LEN(found));
    tell(y, it, found, n);
    if (before != NULL) {
        n = azure_kept_findings(a, &y->p->naming, it->service,
                                azure_service_read(a, &y->p->naming, before), found,
                                ARRAY_LEN(found));
        tell(y, it, found, n);
    }
}

/* An invalid Service is reported, and refused before anything is read for it.  A deleted one is
 * cleaned up regardless of its settings. */
static void item_begin(struct azure_sync *y, struct azure_item *it, struct lb_item *item)
{
    struct arena *a = y->s->a;
    it->item = item;
    it->want = item->in->verb != TT_VERB_DELETE;
    it->service = azure_service_read(a, &y->p->naming, item->in->service);
    it->flip = azure_service_flip(a, &y->p->naming, it->service);
    if (!it->want) {
        return;
    }
    const struct azure_access *access = azure_access_read(a, it->service);
    tell(y, it, it->service->findings, it->service->n_findings);
    tell(y, it, access->findings, access->n_findings);
    tell_idle(y, it);
    lb_findings_unknown(y->s, item, azure_annotation_keys(a));
    it->too_early = azure_first_check(y, it, &item->err) != ERR_OK;
    if (it->too_early) {
        return;
    }
    if (azure_item_is_unproven(it)) {
        return; /* nothing of what it says is carried out, so nothing of it is in the way */
    }
    /* Nodes follow whatever it says: what reads a name takes an impossible one for absent. */
    bool named = item->in->verb != TT_VERB_ENSURE ||
                 azure_names_check(a, &y->p->config, item->in->service, item->in->previous,
                                   &item->err) == ERR_OK;
    named = named && (item->in->verb != TT_VERB_ENSURE ||
                      azure_internal_check(a, item->in->service, y->p->config.lenient_internal,
                                           &item->err) == ERR_OK);
    if (!named ||
        azure_service_check_edit(it->service, item->in->previous,
                                 y->p->repair_adopted || lb_was_made(item->in),
                                 &item->err) != ERR_OK ||
        azure_access_check(access, &item->err) != ERR_OK ||
        (item->in->verb == TT_VERB_ENSURE &&
         azure_refused_tags_check(y, access, &item->err) != ERR_OK) ||
        azure_lb_check(&y->p->naming, it->service, &item->err) != ERR_OK) {
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
    azure_services_read(y);
    return ERR_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void note_told(struct azure_sync *y, const struct azure_item *it,
                      const struct tt_ingress *ingress, size_t n)
{
    const char **ips = ARENA_ARRAY(y->s->life, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        ips[i] = arena_strdup(y->s->life, ingress[i].ip);
    }
    y->items[it - y->items].told = (struct azure_texts){.items = ips, .n = n};
}

void azure_tell_addresses(struct azure_sync *y, const struct azure_item *it,
                          const struct azure_texts *ips)
{
    struct arena *a = y->s->a;
    const struct azure_access *access = azure_access_read(a, it->service);
    struct tt_ingress *ingress =
        ARENA_ARRAY(a, struct tt_ingress, ips->n + access->additional.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < ips->n; i++) {
        ingress[n++].ip = ips->items[i];
    }
    for (size_t i = 0; i < access->additional.n; i++) {
        ingress[n++].ip = access->additional.items[i];
    }
    note_told(y, it, ingress, n);
    y->s->host->result_ingress(it->item->in->result, ingress, (uint32_t)n);
}

/* The addresses by which the Service is reached, on the side where it is now. */
static void serves(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_item *it = &y->items[item - s->items];
    if (!it->left && it->want) {
        azure_first_served(y, it);
        struct azure_texts ips = azure_addresses_of(y, it->service);
        azure_tell_addresses(y, it, &ips);
    }
}

static void status(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_item *it = &y->items[item - s->items];
    if (it->left) {
        return;
    }
    (void)map_remove(y->p->redirected, item->key);
    (void)map_remove(y->p->retreated, item->key);
    if (y->p->forbidden != NULL) {
        (void)map_remove(y->p->forbidden, item->key);
    }
    azure_first_served(y, it);
    if (y->p->unlooked != NULL && (!it->want || it->saw_links)) {
        (void)map_remove(y->p->unlooked, item->key);
    }
    if (!it->want) {
        if (azure_sync_namesake(y, it->service) == NULL) {
            (void)map_remove(y->p->assigned, item->key);
        }
        return;
    }
    serves(s, item);
    if (it->looks_again && TT_HAS(s->host, result_again)) {
        int64_t jitter_ms = (int64_t)(rng_unit(s->rng) * (double)LOOK_MS / 5);
        s->host->result_again(item->in->result, LOOK_MS + jitter_ms);
    }
}

/* A cancelled Service, or one that another program serves, has not failed. */
void azure_name_owner(struct azure_sync *y, struct lb_item *item)
{
    const struct err was = item->err;
    /* A sync that failed before its facts has no items. */
    bool read = y != NULL && y->items != NULL;
    const struct azure_service *mine = read ? y->items[item - y->s->items].service : NULL;
    for (size_t i = 0; mine != NULL && i < y->n_services; i++) {
        const struct azure_service *other = y->services[i];
        bool named = !str_is_empty(other->base) && !azure_service_is(other, mine) &&
                     strstr(was.message, other->base) != NULL;
        if (named && strstr(was.message, other->key) == NULL) {
            (void)err_set(&item->err, was.code, "%s (%s is of Service %s)", was.message,
                          other->base, other->key);
            item->err.http_status = was.http_status;
            item->err.retry_after_ms = was.retry_after_ms;
            memcpy(item->err.reason, was.reason, sizeof was.reason);
            return;
        }
    }
}

static void failed(struct lb_sync *s, const struct lb_item *item)
{
    int code = item->err.code;
    struct azure_sync *y = azure_sync_of(s);
    azure_name_owner(y, &s->items[item - s->items]);
    if (y != NULL && y->items != NULL) {
        azure_first_say(y, &y->items[item - s->items], &s->items[item - s->items].err);
    }
    if (!s->planning && code != ERR_CANCELLED && code != ERR_IMPLEMENTED_ELSEWHERE) {
        const struct azure_provider *p = azure_sync_of(s)->p;
        azure_metrics_failed(p->host, &p->config, item->in);
    }
}

/* A refused part is reported when all else is done. */
static int fail_for_part(struct lb_sync *s, struct lb_item *item, struct err *err)
{
    const struct azure_sync *y = azure_sync_of(s);
    const struct err *why = y->items[item - s->items].refused_part;
    return why != NULL ? err_copy(err, why) : ERR_OK;
}

static int plan_members(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    int rc = azure_plan_members(s, plan, err);
    rc = rc == ERR_OK ? azure_plan_security_beside(s, plan, err) : rc;
    for (size_t i = 0; rc == ERR_OK && i < s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it) && it->want) {
            lb_serves_nobody(s, it->item, azure_nobody(y, it));
        }
    }
    return rc;
}

static const struct lb_stage stages[] = {
    {"withdraw", NULL, azure_observe_withdraw, azure_plan_withdraw},
    {"clean", NULL, azure_observe_clean, azure_plan_clean},
    {"addresses", NULL, azure_observe_addresses, azure_plan_addresses},
    {"interim", NULL, azure_observe_interim, azure_plan_interim},
    {"renew", NULL, azure_observe_renew, azure_plan_renew, .leaves = azure_leaves_for_interim},
    {"unlink", NULL, azure_observe_unlink, azure_plan_unlink},
    {"admit", NULL, azure_observe_admit, azure_plan_admit},
    {"leave", NULL, azure_observe_leave, azure_plan_leave},
    {"balancers", NULL, azure_observe_balancers, azure_plan_balancers},
    {"convert", NULL, azure_observe_convert, azure_plan_convert},
    {"members", NULL, azure_observe_members, plan_members},
    {"security", NULL, azure_observe_security, azure_plan_security},
    {"links", NULL, azure_observe_links, azure_plan_links},
    {"tidy", NULL, azure_observe_tidy, azure_plan_tidy, .tidies = true},
    {"close", NULL, azure_observe_close, azure_plan_close, .tidies = true},
    {"sever", NULL, azure_observe_sever, azure_plan_sever, .tidies = true},
    {"release", NULL, azure_observe_release, azure_plan_release, .tidies = true},
};

static uint32_t own(const struct lb_sync *s, const struct lb_item *item)
{
    (void)s, (void)item;
    return TT_OWN_NODES; /* labels and addresses of nodes decide on pools and balancers */
}

static void wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome,
                  const struct err *err)
{
    azure_wrote(s, op, outcome, err);
    azure_first_wrote(azure_sync_of(s), op, outcome, err);
    azure_lb_moves_wrote(azure_sync_of(s), op, outcome, err);
}

static const struct lb_retreat retreats[] = {
    {azure_first_stages, AZURE_FIRST_STAGES, azure_first_retreats, azure_first_ended},
    {azure_lb_moves_stages, AZURE_LB_MOVES_STAGES, azure_lb_moves_retreats, azure_lb_moves_ended},
    {&azure_retreat, 1, azure_retreats, NULL},
};

const struct lb_flow azure_flow = {
    .name = AZURE_PROVIDER,
    .facts = facts,
    .stages = stages,
    .n_stages = ARRAY_LEN(stages),
    .retreats = retreats,
    .n_retreats = ARRAY_LEN(retreats),
    .forgets = true,
    .own = own,
    .complete = fail_for_part,
    .window = 64, /* public IPs of a batch: each takes seconds, and ten a second may begin */
    .serves = serves,
    .status = status,
    .failed = failed,
    .stands = azure_stands,
    .culprits = azure_culprits,
    .wrote = wrote,
};
