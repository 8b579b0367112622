/* SPDX-License-Identifier: Apache-2.0 */
/* sync_findings.c: events for findings of a plan: settings without effect, and a load balancer that
 * serves no client.
 *
 * Each state gets one event.  A finding gets it if a creation or an edit that this process saw
 * (TT_REASON_SPEC) brought it up; after a start only plan, explain and the status page show it.  A
 * load balancer that stops serving gets an event and a condition; the condition goes when it serves
 * again.  Source: docs/operations.md. */
#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/status_rules.h"
#include "controller/sync/sync_internal.h"

#define NOBODY "LoadBalancerServesNobody"

static uint64_t digest(const char *text)
{
    return hash_bytes(1, text, strlen(text)) | 1;
}

static const char *text_of(const struct tt_result *r)
{
    return r == NULL ? NULL : str_nonnull(r->serves_nobody);
}

/* A plan says what will be.  When it has failed, what stands is what the provider has found since;
 * leading back to the former settings comes last. */
const char *sync_stands_nobody(const struct sync_item *item)
{
    const struct tt_result *r = item->result;

    if (item->err.code == ERR_OK) {
        return r != NULL && r->has_plan ? text_of(r) : NULL;
    }
    return item->stands_nobody != NULL || r == NULL ? item->stands_nobody : r->stands_nobody;
}

static struct service_findings findings_of(const struct tt_result *r)
{
    struct service_findings now = {.known = true};

    for (size_t i = 0; i < r->n_findings && now.n < SERVICE_FINDINGS_MAX; i++) {
        now.items[now.n++] = digest(r->findings[i].message);
    }
    return now;
}

static bool has(const struct service_findings *f, uint64_t one)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->items[i] == one) {
            return true;
        }
    }
    return false;
}

static const struct tt_condition *condition_now(const struct sync_item *item)
{
    for (uint32_t i = 0; i < item->svc->n_conditions; i++) {
        if (str_eq(item->svc->conditions[i].type, NOBODY)) {
            return &item->svc->conditions[i];
        }
    }
    return NULL;
}

/* Something is written for the Service, or trimtab has made or edited its load balancer before:
 * nothing is written to one that was only taken over.  A process that died behind its last write to
 * the cloud has told nothing. */
static bool is_ours(const struct sync_item *item)
{
    return item->result->planned > 0 || (item->reasons & TT_REASON_SPEC) != 0 ||
           mark_of(item->a, item->svc, item->s->desc->name) != MARK_NONE;
}

/* A process before this one may have told it: then the condition stands there. */
static bool is_news(const struct sync_item *item, const struct service_findings *was,
                    uint64_t nobody)
{
    const struct tt_condition *c = condition_now(item);

    if (nobody == 0 || was->nobody == nobody || (!was->known && !is_ours(item))) {
        return false;
    }
    return was->known || c == NULL || !str_eq(c->message, sync_stands_nobody(item));
}

/* It gets its first load balancer: all of its wishes are new, also those of a Service that was made
 * while no controller ran. */
static bool is_first(const struct sync_item *item)
{
    return item->svc->n_ingress == 0 && item->result->planned > 0;
}

void sync_findings_tell(const struct sync_item *item)
{
    const struct tt_result *r = item->result;
    struct service_findings was;
    bool backends = item->todo == SYNC_ENSURE || item->todo == SYNC_UPDATE;
    const char *nobody = sync_stands_nobody(item);

    if (r == NULL || r->broken || (!r->has_plan && nobody == NULL) || !backends ||
        item->svc == NULL) {
        return;
    }
    struct service_findings now = findings_of(r);
    now.nobody_unknown = nobody == NULL;
    now.nobody = str_is_empty(nobody) ? 0 : digest(nobody);
    bool part = item->todo == SYNC_UPDATE || !r->has_plan;
    service_cache_set_findings(item->s->cache, item->key, &now, part, &was);
    bool edited = !part && ((item->reasons & TT_REASON_SPEC) != 0 || is_first(item));
    for (size_t i = 0; edited && i < now.n; i++) {
        if (!has(&was, now.items[i])) {
            sync_event_finding(item, r->findings[i].reason, r->findings[i].message);
        }
    }
    if (!item->s->strict_events && is_news(item, &was, now.nobody)) {
        sync_event_finding(item, NOBODY, nobody);
    }
}

/* The last sync may have written the condition after this one's view of the Service, and nothing
 * would take it back. */
static const char *nobody_gone_body(const struct sync_item *item)
{
    const struct tt_condition c = {.type = NOBODY};

    return item->known.nobody ? condition_patch_remove(item->a, NOBODY)
                              : sync_condition_body(item, &c);
}

const char *sync_nobody_body(const struct sync_item *item)
{
    const char *nobody = sync_stands_nobody(item);

    if (nobody == NULL || item->s->strict_events) {
        return NULL;
    }
    struct tt_condition c = {.type = NOBODY};
    if (*nobody != '\0') {
        c.status = "True";
        c.reason = "ServesNobody";
        c.message = report_cut(item->a, nobody, REPORT_TEXT_MAX);
    }
    if (c.status == NULL && is_ours(item)) {
        return nobody_gone_body(item);
    }
    /* A condition that is not true any more goes from all. */
    return c.status != NULL && !is_ours(item) ? NULL : sync_condition_body(item, &c);
}

const char *sync_nobody_gone_body(const struct sync_item *item)
{
    return nobody_gone_body(item);
}
