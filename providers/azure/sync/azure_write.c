/* SPDX-License-Identifier: Apache-2.0 */
/* azure_write.c: carries out one operation of a plan: a PUT or DELETE with its waiting, and what it
 * means for the snapshot.
 *
 * One write is one azure_call.  What came back replaces what the snapshot knew; what failed, or
 * went stale because another document changed (docs/spec/azure.md 3.4), is forgotten, so that the
 * next stage reads it again. */
#include "providers/azure/sync/azure_sync.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/lb/exec.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_errors.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_COUNTS_MS 3600000 /* of a limit that Azure has told */

struct azure_write *azure_write_new(struct azure_sync *y, const struct azure_call_spec *spec)
{
    struct azure_write *w = ARENA_NEW(y->s->a, struct azure_write);
    *w = (struct azure_write){
        .arm = &y->p->arm, .call = y->s->call, .spec = *spec, .etag = LB_VALUE(NULL)};
    return w;
}

/* The plan is const to the executor, but what came back is kept beside what was sent. */
static struct azure_write *write_of(const struct lb_op *op)
{
    return (struct azure_write *)(uintptr_t)op->arg;
}

void azure_write_failed(const struct azure_write *w, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    bool is_lb = w->spec.kind == AZURE_LBS;
    bool clings = is_lb && w->spec.verb == AZURE_DELETE &&
                  azure_error_clinging_set(a, err, w->arm->config->resource_group) != NULL;
    if (clings || (w->doubtful && err->code == ERR_IN_USE) ||
        (is_lb && azure_error_clinging_link(a, err) != NULL)) {
        err->code = ERR_CONFLICT;
    }
}

static enum http_next write_step(struct lb_op_run *run, const struct http_response *resp)
{
    struct azure_call *c = run->state;
    struct azure_write *w = write_of(run->op);
    if (c->arm == NULL) {
        const char *etag = lb_run_value(run, w->etag);
        w->spec.if_match = etag != NULL ? etag : w->spec.if_match;
        azure_call_begin(c, w->arm, w->call, run->a, &w->spec);
    }
    enum http_next next = azure_call_step(c, run->req, resp, run->err);
    w->sent = next == HTTP_DONE ? c->body : NULL;
    if (next == HTTP_DONE && run->err->code == ERR_OK) {
        w->answer = c->answer;
        const char *address = azure_prop_str(c->answer, "ipAddress");
        const char *etag = azure_doc_etag(c->answer);
        if (address != NULL) {
            lb_run_output(run, "address", address);
        }
        if (etag != NULL) {
            lb_run_output(run, "etag", etag);
        }
    } else if (next == HTTP_DONE) {
        azure_write_failed(w, run->err);
    }
    return next;
}

const struct lb_op_type azure_put_type = {
    .name = "put", .state_size = sizeof(struct azure_call), .step = write_step};
const struct lb_op_type azure_delete_type = {
    .name = "delete", .state_size = sizeof(struct azure_call), .step = write_step};

/* ---- the snapshot ---------------------------------------------------------------------------- */

static void forget(struct azure_sync *y, enum azure_kind k)
{
    azure_snapshot_forget(y->p->snapshot, k, NULL);
    for (size_t i = 0; i < y->n_seen; i++) {
        if (y->seen[i].kind == k) {
            y->seen[i].read = false;
        }
    }
}

/* Failures that cause the events of upstream (4.5); a conflict is none,
 * it is tried again. */
static const struct {
    enum azure_kind kind;
    enum azure_verb verb;
    const char *reason;
} told[] = {
    {AZURE_LBS, AZURE_DELETE, "DeleteLoadBalancer"},
    {AZURE_PIPS, AZURE_PUT, "CreateOrUpdatePublicIPAddress"},
    {AZURE_PIPS, AZURE_DELETE, "DeletePublicIPAddress"},
    {AZURE_NICS, AZURE_PUT, "CreateOrUpdateInterface"},
};

static void tell(const struct azure_sync *y, const struct lb_op *op, const struct err *err)
{
    const struct azure_write *w = op->arg;
    const struct tt_host *host = y->p->host;
    for (size_t i = 0; err->code != ERR_CONFLICT && i < ARRAY_LEN(told); i++) {
        bool is_it = told[i].kind == w->spec.kind && told[i].verb == w->spec.verb;
        for (size_t k = 0; is_it && k < y->s->n_items; k++) {
            const struct azure_item *it = &y->items[k];
            if (it->service != NULL && str_set_has(&op->owners, it->item->key)) {
                host->event(host->ctx, it->service->in, TT_EVENT_WARNING, told[i].reason,
                            err->message);
            }
        }
    }
}

/* Azure knows nothing of a machine that a node names: it has gone, and its node will go; or Azure
 * has not come to know of it yet.  Nothing else would bring the Services up again then. */
static void look_again(struct azure_sync *y, const struct lb_op *op)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (it->want && str_set_has(&op->owners, it->item->key)) {
            it->looks_again = true;
        }
    }
}

/* A pool that follows its endpoints: as upstream's updater, the first of its Services hears
 * of it (4.5). */
static void announce(const struct azure_sync *y, const struct lb_op *op, bool done,
                     const struct err *err)
{
    const struct tt_host *host = y->p->host;
    for (size_t i = 0; (done || err->code != ERR_CONFLICT) && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (it->service == NULL || !str_eq(it->item->key, op->owners.items[0])) {
            continue;
        }
        host->event(
            host->ctx, it->service->in, done ? TT_EVENT_NORMAL : TT_EVENT_WARNING,
            done ? "LoadBalancerBackendPoolUpdated" : "LoadBalancerBackendPoolUpdateFailed",
            done ? arena_printf(y->s->a, "backend pool %s: %s", op->name, str_nonnull(op->summary))
                 : err->message);
    }
}

/* A pool is a part of its balancer.  What is known of that stays good to look at; its etag is an
 * old one now (3.4), so it is read again before it is written. */
static void pool_written(struct azure_sync *y, const struct azure_write *w)
{
    struct arena *a = y->s->a;
    const char *end = strcasestr(w->spec.id, "/backendAddressPools/");
    const char *id = end != NULL ? arena_strndup(a, w->spec.id, (size_t)(end - w->spec.id)) : "";
    for (size_t i = 0; i < y->n_seen; i++) {
        struct json_object *o;
        if (y->seen[i].kind != AZURE_LBS) {
            continue;
        }
        y->seen[i].read = false;
        AZURE_EACH (o, azure_snapshot_last(y->p->snapshot, AZURE_LBS, y->seen[i].scope, a)) {
            if (!azure_id_eq(azure_doc_id(o), id)) {
                continue;
            }
            azure_snapshot_put(y->p->snapshot, AZURE_LBS, id,
                               azure_with_element(a, o, "backendAddressPools", w->answer));
            break; /* that was a list of its own */
        }
    }
}

static void remember(struct azure_sync *y, struct azure_clinging **list, const char *id)
{
    struct azure_clinging *one = ARENA_NEW(y->s->life, struct azure_clinging);
    *one = (struct azure_clinging){.id = id, .next = *list};
    *list = one;
}

static void remember_clinging(struct azure_sync *y, const struct azure_write *w,
                              const struct err *err)
{
    if (w->doubtful && err->code == ERR_CONFLICT) {
        remember(y, &y->clinging_pips, arena_strdup(y->s->life, w->spec.id));
    }
    if (w->spec.kind != AZURE_LBS) {
        return;
    }
    bool deleted = w->spec.verb == AZURE_DELETE;
    const char *set =
        deleted ? azure_error_clinging_set(y->s->life, err, y->p->config.resource_group) : NULL;
    const char *link = azure_error_clinging_link(y->s->life, err);
    if (set != NULL) {
        remember(y, &y->clinging, set);
        forget(y, AZURE_VMSSS);
    }
    if (link != NULL) {
        remember(y, &y->clinging_links, link);
    }
}

/* The next Service beyond it is refused before its first write; after that time one is tried
 * again, because limits are raised. */
static void remember_limit(struct azure_sync *y, const struct err *err)
{
    size_t most = azure_error_rules_per_nic(err);
    if (most > 0) {
        y->p->rules_per_nic = most;
        y->p->rules_per_nic_until_ms = clock_now_ms(y->s->clock) + LIMIT_COUNTS_MS;
    }
}

/* ---- service tags ---------------------------------------------------------------------------- */

/* "Security rule … has invalid Address prefix. Value provided: Nonsense" */
static bool refuses_tag(const struct err *err, const char *tag)
{
    static const char before[] = "Value provided: ";
    const char *at = strcasestr(err->message, "invalid Address prefix");
    at = at != NULL ? strcasestr(at, before) : NULL;
    at = at != NULL ? at + strlen(before) : NULL;
    size_t n = strlen(tag);
    return n > 0 && at != NULL && strncasecmp(at, tag, n) == 0 && strcspn(at + n, " .,;'\"") == 0;
}

static void remember_tags(struct azure_sync *y, const struct lb_op *op, const struct err *err)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (it->service == NULL || !it->want || !str_set_has(&op->owners, it->item->key)) {
            continue;
        }
        const struct azure_access *x = azure_access_read(y->s->a, it->service);
        for (size_t k = 0; k < x->tags.n; k++) {
            if (refuses_tag(err, x->tags.items[k])) {
                int64_t *until = xcalloc(1, sizeof(*until));
                *until = clock_now_ms(y->s->clock) + LIMIT_COUNTS_MS;
                y->p->refused_tags =
                    y->p->refused_tags != NULL ? y->p->refused_tags : map_new(free);
                map_set(y->p->refused_tags, str_lower(y->s->a, x->tags.items[k]), until);
            }
        }
    }
}

int azure_refused_tags_check(const struct azure_sync *y, const struct azure_access *x,
                             struct err *err)
{
    bool asks = y->p->refused_tags != NULL && !y->s->planning && !x->service->disable_nsg_rule;
    for (size_t i = 0; asks && i < x->tags.n; i++) {
        const char *tag = x->tags.items[i];
        const int64_t *until = map_get(y->p->refused_tags, str_lower(y->s->a, tag));
        if (until != NULL && clock_now_ms(y->s->clock) < *until) {
            return err_set(err, ERR_INVALID,
                           "annotation " AZURE_ANNOTATION_PREFIX
                           "azure-allowed-service-tags: Azure refuses \"%.200s\": want service "
                           "tags",
                           tag);
        }
    }
    return ERR_OK;
}

size_t azure_rules_per_nic(const struct azure_sync *y)
{
    bool counts = y->p->rules_per_nic > 0 && !y->s->planning &&
                  clock_now_ms(y->s->clock) < y->p->rules_per_nic_until_ms;
    return counts ? y->p->rules_per_nic : 0;
}

/* A write that Azure has refused has changed nothing; after another failure it may have.  Pools
 * have the members that machines name, and only the balancer shows them. */
static void note_unsure(struct azure_sync *y, const struct azure_write *w, unsigned outcome,
                        const struct err *err)
{
    bool machine = azure_arm_is_compute(w->spec.kind) || w->spec.kind == AZURE_NICS;
    bool refused = outcome != LB_DONE && err->http_status / 100 == 4;
    if (!refused && (machine || outcome != LB_DONE)) {
        y->unsure[machine ? AZURE_POOLS : w->spec.kind] = true;
    }
}

void azure_wrote(struct lb_sync *s, const struct lb_op *op, unsigned outcome, const struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    const struct azure_write *w = write_of(op);
    bool gone = w->spec.verb == AZURE_DELETE && (outcome == LB_DONE || err->code == ERR_NOT_FOUND);
    bool known = gone || (outcome == LB_DONE && w->answer != NULL);
    if (outcome != LB_DONE && !gone) {
        tell(y, op, err);
        remember_clinging(y, w, err);
        remember_limit(y, err);
        if (w->spec.kind == AZURE_NSGS) {
            remember_tags(y, op, err);
        }
    }
    bool machine = azure_arm_is_compute(w->spec.kind) || w->spec.kind == AZURE_NICS;
    note_unsure(y, w, outcome, err);
    if (outcome == LB_TOLERATED && w->spec.verb == AZURE_PUT && machine) {
        look_again(y, op);
    }
    if (w->announced && outcome != LB_TOLERATED) {
        announce(y, op, outcome == LB_DONE, err);
    }
    if (known && w->spec.kind == AZURE_PIPS) {
        azure_written_note(y->p->written, w->spec.id, gone ? NULL : w->answer, w->was);
    }
    if (known) {
        azure_snapshot_put(y->p->snapshot, w->spec.kind, w->spec.id, gone ? NULL : w->answer);
    } else {
        forget(y, w->spec.kind);
    }
    if (w->touches_pips) {
        forget(y, AZURE_PIPS);
    }
    if (known && w->spec.kind == AZURE_POOLS) {
        pool_written(y, w);
    } else if (w->touches_lbs) {
        forget(y, AZURE_LBS);
    }
    if (w->spec.kind == AZURE_VMSS_VMS) {
        forget(y, AZURE_VMSSS); /* a written instance changes its model's etag (3.4) */
    }
}

/* ---- whose failure --------------------------------------------------------------------------- */

/* Azure's messages name the element that it does not like; elements begin with their
 * owner's base name. */
struct str_set azure_culprits(const struct lb_sync *s, const struct lb_op *op,
                              const struct err *err)
{
    struct azure_sync *y = azure_sync_of((struct lb_sync *)(uintptr_t)s);
    const char **keys = ARENA_ARRAY(s->a, const char *, s->n_items + 1);
    const struct str_set *parties = &write_of(op)->parties;
    size_t n = 0;
    bool together = false;
    if (op->owners.n < 2 || azure_arm_is_compute(write_of(op)->spec.kind) ||
        write_of(op)->spec.kind == AZURE_POOLS) {
        return op->owners; /* machines serve all of them alike */
    }
    const char *text = str_lower(s->a, err->message);
    for (size_t i = 0; i < s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (it->service != NULL && str_set_has(&op->owners, it->item->key) &&
            strstr(text, str_lower(s->a, it->service->base)) != NULL) {
            keys[n++] = it->item->key;
            together = together || str_set_has(parties, it->item->key);
        }
    }
    struct str_set named = str_set_make(s->a, keys, n);
    if (n == 0 && parties->n > 0) {
        return op->owners; /* to find out by halves would part them */
    }
    return together ? str_set_union(s->a, &named, parties) : named;
}
