/* SPDX-License-Identifier: Apache-2.0 */
/* sync_rules.c: the decisions behind sync_rules.h, first hit wins. */
#include "controller/sync/sync_rules.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "controller/queue/queue_rules.h"

#define BACKEND_REASONS (TT_REASON_NODES | TT_REASON_ENDPOINTS)

struct sync_scope sync_scope_of(const struct tt_provider *desc)
{
    return (struct sync_scope){.classes = desc->classes,
                               .n_classes = desc->n_classes,
                               .finalizers = desc->finalizers,
                               .n_finalizers = desc->n_finalizers,
                               .own_annotations = desc->own_annotations,
                               .n_own_annotations = desc->n_own_annotations,
                               .wishes = desc->wish_annotations,
                               .n_wishes = desc->n_wish_annotations,
                               .provider = desc->name,
                               .follows_ingress =
                                   (desc->capabilities & TT_CAP_FOLLOWS_INGRESS) != 0};
}

bool scope_wants(const struct sync_scope *scope, const struct tt_service *s)
{
    return svc_wants_lb_of(s, scope->classes, scope->n_classes);
}

bool scope_is_foreign(const struct sync_scope *scope, const struct tt_service *s)
{
    return str_eq(s->type, "LoadBalancer") && !scope_wants(scope, s);
}

bool scope_holds(const struct sync_scope *scope, const struct tt_service *s)
{
    if (svc_has_finalizer(s, LB_CLEANUP_FINALIZER)) {
        return true;
    }
    for (size_t i = 0; i < scope->n_finalizers; i++) {
        if (svc_has_finalizer(s, scope->finalizers[i])) {
            return true;
        }
    }
    return false;
}

static bool goes_away(const struct tt_service *s)
{
    return s->deleted_us != 0 || !str_eq(s->type, "LoadBalancer");
}

/* The status is as it was when the Service was marked. */
static bool is_published(const struct sync_scope *scope, const struct tt_service *s)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return s->n_ingress > 0 && mark_of(a, s, scope->provider) != MARK_NONE;
}

bool scope_made(const struct sync_scope *scope, const struct tt_service *s)
{
    return mark_is_by(s, scope->provider) &&
           (goes_away(s) || !scope_is_foreign(scope, s) || !is_published(scope, s));
}

bool scope_needs_cleanup(const struct sync_scope *scope, const struct tt_service *s)
{
    bool marked = scope_made(scope, s);
    bool goes = goes_away(s);
    return goes ? marked || scope_holds(scope, s) : marked && scope_is_foreign(scope, s);
}

static struct svc_scope ours_of(const struct sync_scope *scope)
{
    return (struct svc_scope){.classes = scope->classes,
                              .n_classes = scope->n_classes,
                              .own_annotations = scope->own_annotations,
                              .n_own_annotations = scope->n_own_annotations,
                              .follows_distribution = true,
                              .skips_reports = true};
}

struct svc_scope scope_of_wishes(const struct sync_scope *scope)
{
    struct svc_scope wishes = ours_of(scope);
    wishes.wishes = scope->wishes;
    wishes.n_wishes = scope->n_wishes;
    return wishes;
}

bool scope_is_edit(const struct sync_scope *scope, const struct tt_service *was,
                   const struct tt_service *is)
{
    const struct svc_scope wishes = scope_of_wishes(scope);
    return svc_needs_update_in(&wishes, was, is, NULL);
}

static bool lost(const struct tt_service *was, const struct tt_service *is, const char *finalizer)
{
    return svc_has_finalizer(was, finalizer) && !svc_has_finalizer(is, finalizer);
}

static bool stays_wanted(const struct sync_scope *scope, const struct tt_service *was,
                         const struct tt_service *is)
{
    return str_eq(was->uid, is->uid) && is->deleted_us == 0 && scope_wants(scope, is);
}

const char *scope_finalizer(const struct sync_scope *scope, unsigned bit)
{
    return bit == 0 ? LB_CLEANUP_FINALIZER
                    : (bit <= scope->n_finalizers ? scope->finalizers[bit - 1] : NULL);
}

uint32_t scope_lost_finalizers(const struct sync_scope *scope, const struct tt_service *was,
                               const struct tt_service *is)
{
    uint32_t bits = 0;

    for (unsigned i = 0; scope_finalizer(scope, i) != NULL; i++) {
        bits |= lost(was, is, scope_finalizer(scope, i)) ? 1u << i : 0;
    }
    return stays_wanted(scope, was, is) ? bits : 0;
}

bool scope_changed_addresses(const struct sync_scope *scope, const struct tt_service *was,
                             const struct tt_service *is)
{
    return addresses_fingerprint(was->ingress, was->n_ingress) !=
               addresses_fingerprint(is->ingress, is->n_ingress) &&
           stays_wanted(scope, was, is);
}

uint32_t scope_reasons(const struct sync_scope *scope, const struct tt_service *old_svc,
                       const struct tt_service *cur, bool started, const char **ret_what)
{
    struct svc_scope ours = ours_of(scope);
    uint32_t reasons = 0;
    const char *what = NULL;

    ours.follows_ingress = scope->follows_ingress;
    if (old_svc == NULL) {
        if (scope_wants(scope, cur)) {
            reasons |= started ? TT_REASON_SPEC : TT_REASON_RESYNC;
        }
    } else if (svc_needs_update_in(&ours, old_svc, cur, &what)) {
        reasons |= TT_REASON_SPEC;
    }
    if (scope_needs_cleanup(scope, cur)) {
        reasons |= TT_REASON_CLEANUP;
    }
    if (ret_what != NULL) {
        *ret_what = what;
    }
    return reasons;
}

static enum sync_do decide_wanted(const struct sync_facts *f)
{
    if (f->deleting && !f->holds) {
        return SYNC_DELETE_IF_EXISTS; /* no finalizer can be added any more (§1.13, guard) */
    }
    if (f->cached && f->was_ours && (f->reasons & ~BACKEND_REASONS) == 0) {
        if (f->same_backends) {
            return SYNC_NOTHING;
        }
        return f->stuck ? SYNC_ENSURE : SYNC_UPDATE; /* other nodes may be what it waits for */
    }
    return SYNC_ENSURE;
}

static enum sync_do decide_unwanted(const struct sync_facts *f)
{
    bool others = f->foreign || f->not_our_finalizer;

    if (!others || f->was_ours || f->marked || f->strict) {
        return SYNC_DELETE;
    }
    return f->holds ? SYNC_DELETE_IF_EXISTS : SYNC_NOTHING;
}

/* Only its deletion is sure to be meant.  What it has is cleaned up then by its name and uid. */
static bool must_wait(const struct sync_facts *f)
{
    return f->found && f->unreadable && !f->deleting;
}

enum sync_do sync_decide(const struct sync_facts *f)
{
    if (must_wait(f)) {
        bool others = f->foreign || f->not_our_finalizer;
        bool concerns = (f->wants || f->holds || f->was_ours) && (!others || f->was_ours);
        return concerns ? SYNC_UNREADABLE : SYNC_NOTHING;
    }
    if (!f->found) {
        if (!f->cached) {
            return SYNC_NOTHING;
        }
        if (!f->was_ours) {
            return SYNC_FORGET;
        }
        return f->kept ? SYNC_KEEP : SYNC_DELETE_VANISHED;
    }
    if (f->wants && !f->cleanup) {
        return decide_wanted(f);
    }
    return decide_unwanted(f);
}

struct sync_outcome sync_outcome(int32_t code, int64_t retry_after_ms)
{
    struct sync_outcome o = {.retry = RETRY_BACK_OFF, .tell = true};

    switch (code) {
    case TT_OK:
    case TT_IMPLEMENTED_ELSEWHERE:
        return (struct sync_outcome){.retry = RETRY_NO};
    case TT_CANCELLED:
        o.tell = false;
        return o;
    case TT_INVALID:
        o.retry = RETRY_SLOW;
        return o;
    case TT_BUG:
        o.bug = true;
        return o;
    default:
        break;
    }
    o.waits = code == TT_IN_PROGRESS;
    o.tell = !o.waits;
    if (retry_after_ms > 0 || o.waits) {
        o.retry = RETRY_AFTER;
        o.after_ms = queue_retry_after_ms(retry_after_ms);
    }
    return o;
}

/* ---- fingerprints ---------------------------------------------------------------------------- */

static uint64_t mix_text(uint64_t h, const char *text)
{
    return text == NULL ? hash_bytes(h, "\1", 1) : hash_bytes(h, text, strlen(text) + 1);
}

static uint64_t mix_number(uint64_t h, int64_t n)
{
    return hash_bytes(h, &n, sizeof(n));
}

uint64_t addresses_fingerprint(const struct tt_ingress *ingress, size_t n)
{
    uint64_t h = mix_number(1, (int64_t)n);

    for (size_t i = 0; i < n; i++) {
        h = mix_text(mix_text(h, ingress[i].ip), ingress[i].hostname);
    }
    return h == 0 ? 1 : h;
}

uint64_t slices_fingerprint(const struct tt_slice *const *slices, size_t n)
{
    uint64_t h = mix_number(1, (int64_t)n);

    for (size_t i = 0; i < n; i++) {
        const struct tt_slice *s = slices[i];
        h = mix_text(mix_text(h, s->name), s->address_type);
        h = mix_number(mix_number(h, s->n_endpoints), s->n_ports);
        for (uint32_t k = 0; k < s->n_endpoints; k++) {
            const struct tt_endpoint *e = &s->endpoints[k];
            h = mix_text(mix_text(mix_text(h, e->address), e->node_name), e->zone);
            h = mix_number(mix_text(h, e->target_uid), e->flags);
        }
        for (uint32_t k = 0; k < s->n_ports; k++) {
            const struct tt_endpoint_port *p = &s->ports[k];
            h = mix_text(mix_text(h, p->name), p->protocol);
            h = mix_number(mix_text(h, p->app_protocol), p->port);
        }
    }
    return h;
}
