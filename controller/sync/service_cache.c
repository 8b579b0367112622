/* SPDX-License-Identifier: Apache-2.0 */
/* service_cache.c: see service_cache.h. */
#include "controller/sync/service_cache.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/index.h"
#include "common/base/keep.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "controller/kube/store/held.h"
#include "controller/sync/service_cache_internal.h"

static void rare_free(struct rare *r)
{
    if (r != NULL) {
        free(r->foreign_uid);
        free(r->let_go_uid);
        free(r->findings);
        free(r->marked_uid);
        free(r->refusal);
        free(r);
    }
}

static void known_free(struct known *e)
{
    if (e != NULL) {
        kube_held_unref(e->state);
        kube_held_unref(e->accepted);
        rare_free(e->rare);
        keep_free(e, offsetof(struct known, key) + strlen(e->key) + 1);
    }
}

static const void *known_key(const void *record)
{
    return ((const struct known *)record)->key;
}

static const struct index_kind by_key = {known_key, index_text_hash, index_text_cmp};

/* All members but its key. */
static void known_set(struct known *e, const struct known *members)
{
    memcpy(e, members, offsetof(struct known, key));
}

struct rare *service_cache_rare_of(struct known *e)
{
    if (e->rare == NULL) {
        e->rare = xcalloc(1, sizeof(*e->rare));
    }
    return e->rare;
}

void service_cache_tidy_rare(struct known *e)
{
    const struct rare *r = e->rare;

    if (r != NULL && r->foreign_uid == NULL && r->let_go_uid == NULL && r->marked_uid == NULL &&
        r->unreadable == 0 && r->waits_ms == 0 && r->n_findings == 0 && r->nobody == 0 &&
        r->refusal == NULL && r->futile.words == 0 && r->own_nodes == 0 && r->lost == 0) {
        rare_free(STEAL(e->rare));
    }
}

static struct known *entry_get(struct service_cache *c, const char *key) _requires_(c->lock)
{
    struct known *e = index_get(&c->entries, key);

    if (e == NULL) {
        size_t size = strlen(key) + 1;
        e = keep_alloc(offsetof(struct known, key) + size);
        memcpy(e->key, key, size);
        (void)index_put(&c->entries, e); /* it was not there */
    }
    return e;
}

struct service_cache *service_cache_new(void)
{
    struct service_cache *c = xcalloc(1, sizeof(*c));

    mutex_init(&c->lock);
    mutex_lock(&c->lock);
    index_init(&c->entries, &by_key);
    mutex_unlock(&c->lock);
    return c;
}

void service_cache_free(struct service_cache *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    for (size_t i = 0; i < c->entries.cap; i++) {
        known_free(c->entries.at[i]);
    }
    index_done(&c->entries);
    mutex_unlock(&c->lock);
    mutex_done(&c->lock);
    free(c);
}

void service_known_done(struct service_known *k)
{
    kube_object_unref(STEAL(k->state));
    kube_object_unref(STEAL(k->accepted));
}

static bool is_foreign_uid(const struct known *e, const char *uid)
{
    return e->rare != NULL && str_eq(e->rare->foreign_uid, uid);
}

static struct service_known copy_of(const struct known *e)
{
    return (struct service_known){
        .cached = true,
        .ours = e->ours,
        .foreign = e->foreign,
        .stuck = e->stuck,
        .half = e->half,
        .refused = e->refused,
        .replacing = e->replacing,
        .whole = e->whole,
        .gone = e->gone,
        .behind = e->behind,
        .nobody = e->rare != NULL && e->rare->nobody != 0,
        .waits_ms = e->rare == NULL ? 0 : e->rare->waits_ms,
        .wait_told = e->wait_told,
        .has_nodes = e->has_nodes,
        .by_own = e->by_own,
        .nodes = e->nodes,
        .own_nodes = e->rare == NULL ? 0 : e->rare->own_nodes,
        .has_endpoints = e->has_endpoints,
        .endpoints = e->endpoints,
        .addresses = e->addresses,
        .drift = e->drift,
    };
}

/* The object of a reference that this takes over; NULL of none. */
static struct kube_object *object_of(struct kube_held h)
{
    struct kube_object *o = kube_held_is_none(h) ? NULL : kube_held_object(h);

    kube_held_unref(h);
    return o;
}

struct service_known service_cache_get(struct service_cache *c, const char *key)
{
    struct service_known ret = {0};
    struct kube_held state = kube_held_none();
    struct kube_held accepted = kube_held_none();

    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        ret = copy_of(e);
        state = kube_held_ref(e->state);
        accepted = kube_held_ref(e->accepted);
    }
    mutex_unlock(&c->lock);
    bool same = state.bits == accepted.bits;
    ret.state = object_of(state);
    if (same && ret.state != NULL) {
        ret.accepted = kube_object_ref(ret.state);
        kube_held_unref(accepted);
    } else {
        ret.accepted = object_of(accepted);
    }
    return ret;
}

void service_known_forget(struct service_known *k)
{
    struct kube_object *accepted = k->accepted;

    *k = (struct service_known){
        .cached = k->cached, .state = k->state, .ours = k->ours, .foreign = k->foreign};
    kube_object_unref(accepted);
}

bool service_cache_has(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    bool has = index_get(&c->entries, key) != NULL;
    mutex_unlock(&c->lock);
    return has;
}

/* Another object has the name: what was known of the old one says nothing about it.  Returns what
 * is to be unreferenced. */
static struct kube_held forget_object(struct known *e)
{
    struct rare *r = e->rare;
    struct kube_held accepted = e->accepted;

    known_set(
        e, &(struct known){.state = e->state, .ours = e->ours, .foreign = e->foreign, .rare = r});
    if (r != NULL) {
        r->waits_ms = 0;
        r->n_findings = 0;
        r->nobody = 0;
        r->own_nodes = 0;
        r->lost = 0;
        r->futile = (struct service_futile){0};
        free(STEAL(r->refusal));
    }
    return accepted;
}

void service_cache_set(struct service_cache *c, const char *key, struct kube_object *state,
                       bool ours)
{
    struct kube_held accepted = kube_held_none(); /* that goes */

    mutex_lock(&c->lock);
    struct known *e = entry_get(c, key);
    struct kube_held old = e->state;
    bool same = !kube_held_is_none(old) && kube_held_has_uid(old, state->uid);

    e->ours = ours || (same && e->ours);
    e->foreign = is_foreign_uid(e, state->uid);
    if (!same) {
        accepted = forget_object(e);
    }
    if (e->rare != NULL && !(same && state->unreadable != NULL)) {
        e->rare->unreadable = 0;
    }
    service_cache_tidy_rare(e);
    e->state = kube_held_of(state);
    mutex_unlock(&c->lock);
    kube_held_unref(old);
    kube_held_unref(accepted);
}

void service_cache_note_replacing(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->replacing = true;
    }
    mutex_unlock(&c->lock);
}

void service_cache_set_whole(struct service_cache *c, const char *key, bool whole)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->whole = whole;
    }
    mutex_unlock(&c->lock);
}

void service_cache_note_gone(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->gone = true;
    }
    mutex_unlock(&c->lock);
}

static void set_refusal(struct known *e, const char *text)
{
    if (text != NULL || (e->rare != NULL && e->rare->refusal != NULL)) {
        struct rare *r = service_cache_rare_of(e);
        free(r->refusal);
        r->refusal = text == NULL ? NULL : xstrdup(text);
        service_cache_tidy_rare(e);
    }
}

void service_cache_note_refusal(struct service_cache *c, const char *key, const char *text)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        set_refusal(e, text);
    }
    mutex_unlock(&c->lock);
}

const char *service_cache_refusal(struct service_cache *c, struct arena *a, const char *key)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    const char *text = e == NULL || e->rare == NULL ? NULL : arena_strdup(a, e->rare->refusal);
    mutex_unlock(&c->lock);
    return text;
}

static void set_futile(struct known *e, const struct service_futile *f)
{
    if (f->words != 0 || (e->rare != NULL && e->rare->futile.words != 0)) {
        service_cache_rare_of(e)->futile = *f;
        service_cache_tidy_rare(e);
    }
}

static void set_lost(struct known *e, uint32_t finalizers)
{
    if (finalizers != 0 || (e->rare != NULL && e->rare->lost != 0)) {
        service_cache_rare_of(e)->lost = finalizers;
        service_cache_tidy_rare(e);
    }
}

void service_cache_note_lost(struct service_cache *c, const char *key, uint32_t finalizers)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        set_lost(e, finalizers | (e->rare == NULL ? 0 : e->rare->lost));
    }
    mutex_unlock(&c->lock);
}

uint32_t service_cache_lost(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    uint32_t lost = e == NULL || e->rare == NULL ? 0 : e->rare->lost;
    mutex_unlock(&c->lock);
    return lost;
}

void service_cache_set_futile(struct service_cache *c, const char *key,
                              const struct service_futile *f)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        set_futile(e, f);
    }
    mutex_unlock(&c->lock);
}

struct service_futile service_cache_futile(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    struct service_futile f =
        e == NULL || e->rare == NULL ? (struct service_futile){0} : e->rare->futile;
    mutex_unlock(&c->lock);
    return f;
}

void service_cache_set_behind(struct service_cache *c, const char *key, bool behind)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->behind = behind;
    }
    mutex_unlock(&c->lock);
}

void service_cache_end_ensure(struct service_cache *c, const char *key,
                              const struct ensure_end *end)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    struct kube_held old = kube_held_none();
    bool good = end->good;
    if (e != NULL) {
        e->stuck = end->stuck;
        e->half = !good && (e->half || end->touched);
        e->refused = end->refused || (!good && !e->half);
        e->replacing = !good && e->replacing;
        e->whole = !good && e->whole;
        e->gone = !good && e->gone;
        if (good) {
            set_refusal(e, NULL);
            set_futile(e, &(struct service_futile){0});
            set_lost(e, 0);
        }
    }
    if (e != NULL && good && !kube_held_is_none(e->state)) {
        old = e->accepted;
        e->accepted = kube_held_ref(e->state);
    }
    mutex_unlock(&c->lock);
    kube_held_unref(old);
}

int64_t service_cache_note_wait(struct service_cache *c, const char *key, int64_t now_ms)
{
    int64_t since_ms = 0;

    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        struct rare *r = service_cache_rare_of(e);
        r->waits_ms = r->waits_ms == 0 ? now_ms : r->waits_ms;
        since_ms = r->waits_ms;
    }
    mutex_unlock(&c->lock);
    return since_ms;
}

void service_cache_end_wait(struct service_cache *c, const char *key, bool told)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->wait_told = told;
        if (e->rare != NULL && !told) {
            e->rare->waits_ms = 0;
            service_cache_tidy_rare(e);
        }
    }
    mutex_unlock(&c->lock);
}

static void keep_findings(struct rare *r, const struct service_findings *now)
{
    free(r->findings);
    r->findings = now->n == 0 ? NULL : xcalloc(now->n, sizeof(r->findings[0]));
    for (size_t i = 0; i < now->n; i++) {
        r->findings[i] = now->items[i];
    }
    r->n_findings = now->n;
}

void service_cache_set_findings(struct service_cache *c, const char *key,
                                const struct service_findings *now, bool part,
                                struct service_findings *ret_was)
{
    *ret_was = (struct service_findings){0};
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        struct rare *r = service_cache_rare_of(e);
        for (size_t i = 0; i < r->n_findings; i++) {
            ret_was->items[i] = r->findings[i];
        }
        ret_was->n = r->n_findings;
        ret_was->nobody = r->nobody;
        ret_was->known = e->has_findings;
        if (!part) {
            keep_findings(r, now);
        }
        r->nobody = now->nobody_unknown ? r->nobody : now->nobody;
        e->has_findings = true;
        service_cache_tidy_rare(e);
    }
    mutex_unlock(&c->lock);
}

bool service_cache_set_drift(struct service_cache *c, const char *key, uint64_t digest)
{
    bool news = false;

    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        news = e->drift != digest;
        e->drift = digest;
    }
    mutex_unlock(&c->lock);
    return news;
}

bool service_cache_set_unreadable(struct service_cache *c, const char *key, uint64_t digest)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    bool news = e != NULL && (e->rare == NULL ? 0 : e->rare->unreadable) != digest;
    if (e != NULL) {
        service_cache_rare_of(e)->unreadable = digest;
    }
    mutex_unlock(&c->lock);
    return news;
}

bool service_known_has_nodes(const struct service_known *k, const struct node_digests *nodes)
{
    return k->nodes.eligible == nodes->eligible && (!k->by_own || k->nodes.own == nodes->own);
}

static bool has_nodes(const struct known *e, const struct node_digests *nodes)
{
    return e->nodes.eligible == nodes->eligible && (!e->by_own || e->nodes.own == nodes->own);
}

bool service_cache_set_nodes(struct service_cache *c, const char *key,
                             const struct node_digests *nodes, uint64_t own_nodes)
{
    bool is_latest = true;

    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->nodes = *nodes;
        e->has_nodes = true;
        if (own_nodes != 0 || e->rare != NULL) {
            service_cache_rare_of(e)->own_nodes = own_nodes;
            service_cache_tidy_rare(e);
        }
        is_latest = !c->has_passed || has_nodes(e, &c->passed);
    }
    mutex_unlock(&c->lock);
    return is_latest;
}

bool service_cache_set_by_own(struct service_cache *c, const char *key, bool by_own)
{
    bool is_latest = true;

    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL && e->by_own != by_own) {
        e->by_own = by_own;
        is_latest = !c->has_passed || !e->has_nodes || has_nodes(e, &c->passed);
    }
    mutex_unlock(&c->lock);
    return is_latest;
}

void service_cache_set_endpoints(struct service_cache *c, const char *key, uint64_t fingerprint)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->endpoints = fingerprint;
        e->has_endpoints = true;
    }
    mutex_unlock(&c->lock);
}

void service_cache_set_addresses(struct service_cache *c, const char *key, uint64_t fingerprint,
                                 bool own)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL) {
        e->addresses = fingerprint;
        e->gave_addresses = own;
    }
    mutex_unlock(&c->lock);
}

bool service_cache_gave_addresses(struct service_cache *c, const char *key, uint64_t fingerprint)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    bool gave = e != NULL && e->gave_addresses && e->addresses == fingerprint;
    mutex_unlock(&c->lock);
    return gave;
}

bool service_cache_has_other_addresses(struct service_cache *c, const char *key,
                                       uint64_t fingerprint)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    bool others = e != NULL && e->addresses != 0 && e->addresses != fingerprint;
    mutex_unlock(&c->lock);
    return others;
}

void service_cache_mark_foreign(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    struct known *e = entry_get(c, key);
    struct rare *r = service_cache_rare_of(e);
    free(r->foreign_uid);
    r->foreign_uid = xstrdup(uid);
    e->foreign = true;
    mutex_unlock(&c->lock);
}

void service_cache_note_let_go(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    struct known *e = entry_get(c, key);
    struct rare *r = service_cache_rare_of(e);
    free(r->let_go_uid);
    r->let_go_uid = xstrdup(uid);
    r->lost = 0;
    mutex_unlock(&c->lock);
}

bool service_cache_has_let_go(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    const struct known *e = index_get(&c->entries, key);
    bool let_go = e != NULL && e->rare != NULL && e->rare->let_go_uid != NULL &&
                  str_eq(e->rare->let_go_uid, uid);
    mutex_unlock(&c->lock);
    return let_go;
}

void service_cache_clear_let_go(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    if (e != NULL && e->rare != NULL) {
        free(STEAL(e->rare->let_go_uid));
    }
    if (e != NULL && kube_held_is_none(e->state) &&
        (e->rare == NULL || e->rare->foreign_uid == NULL)) {
        known_free(index_take(&c->entries, key));
    } else if (e != NULL) {
        service_cache_tidy_rare(e);
    }
    mutex_unlock(&c->lock);
}

void service_cache_drop(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    known_free(index_take(&c->entries, key)); /* absent is fine */
    mutex_unlock(&c->lock);
}

void service_cache_drop_known(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = index_get(&c->entries, key);
    struct rare *r = e == NULL ? NULL : e->rare;
    if (r != NULL && (r->foreign_uid != NULL || r->let_go_uid != NULL)) {
        kube_held_unref(e->state);
        kube_held_unref(e->accepted);
        free(STEAL(r->marked_uid));
        r->lost = 0;
        r->waits_ms = 0;
        r->own_nodes = 0;
        known_set(e, &(struct known){.foreign = r->foreign_uid != NULL,
                                     .has_findings = e->has_findings,
                                     .rare = r});
    } else {
        known_free(index_take(&c->entries, key)); /* absent is fine */
    }
    mutex_unlock(&c->lock);
}

size_t service_cache_size(struct service_cache *c)
{
    mutex_lock(&c->lock);
    size_t n = c->entries.n;
    mutex_unlock(&c->lock);
    return n;
}

char **service_cache_with_other_nodes(struct service_cache *c, const struct node_digests *nodes,
                                      size_t *ret_n)
{
    size_t n = 0;

    mutex_lock(&c->lock);
    c->has_passed = true;
    c->passed = *nodes;
    char **keys = xcalloc(c->entries.n + 1, sizeof(*keys));
    void **sorted = index_sorted(&c->entries);
    for (size_t i = 0; sorted[i] != NULL; i++) {
        const struct known *e = sorted[i];
        if (e->ours && !kube_held_is_none(e->state) && (!e->has_nodes || !has_nodes(e, nodes))) {
            keys[n++] = xstrdup(e->key);
        }
    }
    free(sorted);
    mutex_unlock(&c->lock);
    *ret_n = n;
    return keys;
}
