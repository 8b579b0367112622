/* SPDX-License-Identifier: Apache-2.0 */
/* service_cache.c: see service_cache.h. */
#include "controller/service_cache.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

struct known {
    struct service_known k; /* owns k.state */
    char *foreign_uid;
    char *let_go_uid;
    char *marked_uid;
    enum mark mark;      /* that was written to it */
    uint64_t unreadable; /* as last told, 0: it could be read */
    uint64_t *findings;  /* n_findings of them; NULL: none */
    size_t n_findings;
    uint64_t nobody;
    bool has_findings;
};

struct service_cache {
    struct mutex lock;
    struct map *entries _guarded_by_(lock);
    bool has_passed _guarded_by_(lock);
    struct node_digests passed _guarded_by_(lock); /* of the last pass over all entries */
};

static void known_free(void *p)
{
    struct known *e = p;

    kube_object_unref(e->k.state);
    kube_object_unref(e->k.accepted);
    free(e->foreign_uid);
    free(e->let_go_uid);
    free(e->findings);
    free(e->marked_uid);
    free(e);
}

static struct known *entry_get(struct service_cache *c, const char *key) _requires_(c->lock)
{
    struct known *e = map_get(c->entries, key);

    if (e == NULL) {
        e = xcalloc(1, sizeof(*e));
        e->k.cached = true;
        map_set(c->entries, key, e);
    }
    return e;
}

struct service_cache *service_cache_new(void)
{
    struct service_cache *c = xcalloc(1, sizeof(*c));

    mutex_init(&c->lock);
    mutex_lock(&c->lock);
    c->entries = map_new(known_free);
    mutex_unlock(&c->lock);
    return c;
}

void service_cache_free(struct service_cache *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    map_free(c->entries);
    mutex_unlock(&c->lock);
    mutex_done(&c->lock);
    free(c);
}

void service_known_done(struct service_known *k)
{
    kube_object_unref(STEAL(k->state));
    kube_object_unref(STEAL(k->accepted));
}

struct service_known service_cache_get(struct service_cache *c, const char *key)
{
    struct service_known ret = {0};

    mutex_lock(&c->lock);
    const struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        ret = e->k;
        if (ret.state != NULL) {
            ret.state = kube_object_ref(ret.state);
        }
        if (ret.accepted != NULL) {
            ret.accepted = kube_object_ref(ret.accepted);
        }
    }
    mutex_unlock(&c->lock);
    return ret;
}

void service_cache_set(struct service_cache *c, const char *key, struct kube_object *state,
                       bool ours)
{
    mutex_lock(&c->lock);
    struct known *e = entry_get(c, key);
    struct kube_object *old = e->k.state;
    struct kube_object *accepted = NULL; /* that goes */
    bool same = old != NULL && str_eq(old->uid, state->uid);

    e->k.ours = ours || (same && e->k.ours);
    e->k.foreign = str_eq(e->foreign_uid, state->uid);
    if (!same) {
        accepted = STEAL(e->k.accepted);
        e->k.stuck = false;
        e->k.refused = false;
        e->k.half = false;
        e->k.replacing = false;
        e->k.behind = false;
        e->k.waits_ms = 0;
        e->k.wait_told = false;
        e->k.has_nodes = false;
        e->k.by_own = false;
        e->k.has_endpoints = false;
        e->k.drift = 0;
        e->n_findings = 0;
        e->nobody = 0;
        e->has_findings = false;
    }
    e->unreadable = same && state->unreadable != NULL ? e->unreadable : 0;
    e->k.state = kube_object_ref(state);
    mutex_unlock(&c->lock);
    kube_object_unref(old);
    kube_object_unref(accepted);
}

void service_cache_note_replacing(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.replacing = true;
    }
    mutex_unlock(&c->lock);
}

void service_cache_set_behind(struct service_cache *c, const char *key, bool behind)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.behind = behind;
    }
    mutex_unlock(&c->lock);
}

void service_cache_end_ensure(struct service_cache *c, const char *key,
                              const struct ensure_end *end)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    struct kube_object *old = NULL;
    bool good = end->good;
    if (e != NULL) {
        e->k.stuck = end->stuck;
        e->k.half = !good && (e->k.half || end->touched);
        e->k.refused = end->refused || (!good && !e->k.half);
        e->k.replacing = !good && e->k.replacing;
    }
    if (e != NULL && good && e->k.state != NULL) {
        old = e->k.accepted;
        e->k.accepted = kube_object_ref(e->k.state);
    }
    mutex_unlock(&c->lock);
    kube_object_unref(old);
}

int64_t service_cache_note_wait(struct service_cache *c, const char *key, int64_t now_ms)
{
    int64_t since_ms = 0;

    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.waits_ms = e->k.waits_ms == 0 ? now_ms : e->k.waits_ms;
        since_ms = e->k.waits_ms;
    }
    mutex_unlock(&c->lock);
    return since_ms;
}

void service_cache_end_wait(struct service_cache *c, const char *key, bool told)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.waits_ms = told ? e->k.waits_ms : 0;
        e->k.wait_told = told;
    }
    mutex_unlock(&c->lock);
}

void service_cache_set_findings(struct service_cache *c, const char *key,
                                const struct service_findings *now, bool part,
                                struct service_findings *ret_was)
{
    *ret_was = (struct service_findings){0};
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        for (size_t i = 0; i < e->n_findings; i++) {
            ret_was->items[i] = e->findings[i];
        }
        ret_was->n = e->n_findings;
        ret_was->nobody = e->nobody;
        ret_was->known = e->has_findings;
        if (!part) {
            free(e->findings);
            e->findings = now->n == 0 ? NULL : xcalloc(now->n, sizeof(e->findings[0]));
            for (size_t i = 0; i < now->n; i++) {
                e->findings[i] = now->items[i];
            }
            e->n_findings = now->n;
        }
        e->nobody = now->nobody;
        e->has_findings = true;
    }
    mutex_unlock(&c->lock);
}

bool service_cache_set_drift(struct service_cache *c, const char *key, uint64_t digest)
{
    bool news = false;

    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        news = e->k.drift != digest;
        e->k.drift = digest;
    }
    mutex_unlock(&c->lock);
    return news;
}

bool service_cache_set_unreadable(struct service_cache *c, const char *key, uint64_t digest)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    bool news = e != NULL && e->unreadable != digest;
    if (e != NULL) {
        e->unreadable = digest;
    }
    mutex_unlock(&c->lock);
    return news;
}

bool service_known_has_nodes(const struct service_known *k, const struct node_digests *nodes)
{
    return k->nodes.eligible == nodes->eligible && (!k->by_own || k->nodes.own == nodes->own);
}

bool service_cache_set_nodes(struct service_cache *c, const char *key,
                             const struct node_digests *nodes)
{
    bool is_latest = true;

    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.nodes = *nodes;
        e->k.has_nodes = true;
        is_latest = !c->has_passed || service_known_has_nodes(&e->k, &c->passed);
    }
    mutex_unlock(&c->lock);
    return is_latest;
}

bool service_cache_set_by_own(struct service_cache *c, const char *key, bool by_own)
{
    bool is_latest = true;

    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL && e->k.by_own != by_own) {
        e->k.by_own = by_own;
        is_latest = !c->has_passed || !e->k.has_nodes || service_known_has_nodes(&e->k, &c->passed);
    }
    mutex_unlock(&c->lock);
    return is_latest;
}

void service_cache_set_endpoints(struct service_cache *c, const char *key, uint64_t fingerprint)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.endpoints = fingerprint;
        e->k.has_endpoints = true;
    }
    mutex_unlock(&c->lock);
}

void service_cache_set_addresses(struct service_cache *c, const char *key, uint64_t fingerprint)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        e->k.addresses = fingerprint;
    }
    mutex_unlock(&c->lock);
}

bool service_cache_has_other_addresses(struct service_cache *c, const char *key,
                                       uint64_t fingerprint)
{
    mutex_lock(&c->lock);
    const struct known *e = map_get(c->entries, key);
    bool others = e != NULL && e->k.addresses != 0 && e->k.addresses != fingerprint;
    mutex_unlock(&c->lock);
    return others;
}

void service_cache_mark_foreign(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    struct known *e = entry_get(c, key);
    free(e->foreign_uid);
    e->foreign_uid = xstrdup(uid);
    e->k.foreign = true;
    mutex_unlock(&c->lock);
}

void service_cache_note_let_go(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    struct known *e = entry_get(c, key);
    free(e->let_go_uid);
    e->let_go_uid = xstrdup(uid);
    mutex_unlock(&c->lock);
}

bool service_cache_has_let_go(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    const struct known *e = map_get(c->entries, key);
    bool let_go = e != NULL && e->let_go_uid != NULL && str_eq(e->let_go_uid, uid);
    mutex_unlock(&c->lock);
    return let_go;
}

void service_cache_clear_let_go(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        free(STEAL(e->let_go_uid));
    }
    if (e != NULL && e->k.state == NULL && e->foreign_uid == NULL) {
        (void)map_remove(c->entries, key);
    }
    mutex_unlock(&c->lock);
}

void service_cache_note_marked(struct service_cache *c, const char *key, const char *uid,
                               enum mark mark)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL) {
        free(e->marked_uid);
        e->marked_uid = uid == NULL ? NULL : xstrdup(uid);
        e->mark = mark;
    }
    mutex_unlock(&c->lock);
}

enum mark service_cache_marked(struct service_cache *c, const char *key, const char *uid)
{
    mutex_lock(&c->lock);
    const struct known *e = map_get(c->entries, key);
    bool marked = e != NULL && e->marked_uid != NULL && str_eq(e->marked_uid, uid);
    enum mark mark = marked ? e->mark : MARK_NONE;
    mutex_unlock(&c->lock);
    return mark;
}

void service_cache_drop(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    (void)map_remove(c->entries, key); /* absent is fine */
    mutex_unlock(&c->lock);
}

void service_cache_drop_known(struct service_cache *c, const char *key)
{
    mutex_lock(&c->lock);
    struct known *e = map_get(c->entries, key);
    if (e != NULL && (e->foreign_uid != NULL || e->let_go_uid != NULL)) {
        service_known_done(&e->k);
        free(STEAL(e->marked_uid));
        e->k = (struct service_known){.cached = true, .foreign = e->foreign_uid != NULL};
    } else {
        (void)map_remove(c->entries, key); /* absent is fine */
    }
    mutex_unlock(&c->lock);
}

static bool count_synced(const char *key, void *value, void *arg)
{
    const struct known *e = value;
    size_t *n = arg;

    (void)key;
    *n += e->k.state != NULL;
    return true;
}

size_t service_cache_count(struct service_cache *c)
{
    size_t n = 0;

    mutex_lock(&c->lock);
    map_each(c->entries, count_synced, &n);
    mutex_unlock(&c->lock);
    return n;
}

size_t service_cache_size(struct service_cache *c)
{
    mutex_lock(&c->lock);
    size_t n = map_size(c->entries);
    mutex_unlock(&c->lock);
    return n;
}

struct collect {
    const struct node_digests *nodes;
    char **keys;
    size_t n;
};

static bool collect_other(const char *key, void *value, void *arg)
{
    const struct known *e = value;
    struct collect *out = arg;

    if (e->k.ours && e->k.state != NULL &&
        (!e->k.has_nodes || !service_known_has_nodes(&e->k, out->nodes))) {
        out->keys[out->n++] = xstrdup(key);
    }
    return true;
}

char **service_cache_with_other_nodes(struct service_cache *c, const struct node_digests *nodes,
                                      size_t *ret_n)
{
    struct collect out = {.nodes = nodes};

    mutex_lock(&c->lock);
    c->has_passed = true;
    c->passed = *nodes;
    out.keys = xcalloc(map_size(c->entries) + 1, sizeof(*out.keys));
    map_each(c->entries, collect_other, &out);
    mutex_unlock(&c->lock);
    *ret_n = out.n;
    return out.keys;
}
