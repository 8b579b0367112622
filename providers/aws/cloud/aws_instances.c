/* SPDX-License-Identifier: Apache-2.0 */
/* aws_instances.c: instances by id, read once for all who ask (docs/spec/aws.md 6.3).
 *
 * Up to 200 unknown ids are asked for by a filter; of more, all of the cluster's instances are
 * listed.  Running ones are believed for ten minutes; those that are absent, lack the cluster's
 * tag, or are on their way somewhere, for one.  Each is one block of memory, counted: ten syncs
 * that look at two thousand instances share them. */
#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/aws/cloud/aws_cloud_parts.h"
#include "providers/aws/model/aws_rules.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_MS       600000
#define KEEP_OTHER_MS 60000
#define BY_ID_MAX     200u

struct aws_known_instance {
    atomic_uint refs;
    bool present;
    int64_t read_ms;
    uint64_t seq;
    struct aws_instance i; /* of a present one; groups and texts stand behind */
    struct aws_group_ref groups[];
};

void aws_known_instance_free(void *known)
{
    struct aws_known_instance *k = known;
    if (atomic_fetch_sub(&k->refs, 1) == 1) {
        free(k);
    }
}

static size_t size_of(const char *text)
{
    return strlen(text) + 1;
}

static const char *pack(char **at, const char *text)
{
    size_t n = size_of(text);
    char *to = *at;
    memcpy(to, text, n);
    *at += n;
    return to;
}

/* `i` NULL: absent. */
static struct aws_known_instance *known_new(const struct aws_instance *i)
{
    struct aws_known_instance *k;
    if (i == NULL) {
        k = xcalloc(1, sizeof(*k));
        atomic_init(&k->refs, 1);
        return k;
    }
    size_t n = sizeof(*k) + i->n_groups * sizeof(k->groups[0]) + size_of(i->id) +
               size_of(i->state) + size_of(i->zone) + size_of(i->vpc);
    for (size_t g = 0; g < i->n_groups; g++) {
        n += size_of(i->groups[g].id) + size_of(i->groups[g].name);
    }
    k = xcalloc(1, n);
    char *at = (char *)(k->groups + i->n_groups);
    atomic_init(&k->refs, 1);
    k->present = true;
    k->i = *i;
    k->i.id = pack(&at, i->id);
    k->i.state = pack(&at, i->state);
    k->i.zone = pack(&at, i->zone);
    k->i.vpc = pack(&at, i->vpc);
    for (size_t g = 0; g < i->n_groups; g++) {
        k->groups[g].id = pack(&at, i->groups[g].id);
        k->groups[g].name = pack(&at, i->groups[g].name);
    }
    k->i.groups = k->groups;
    return k;
}

/* Those that a sync looks at, for as long as its arena lives. */
struct looked_at {
    size_t n;
    struct aws_known_instance *items[];
};

static void let_go(void *arg)
{
    struct looked_at *l = arg;
    for (size_t i = 0; i < l->n; i++) {
        aws_known_instance_free(l->items[i]);
    }
}

static const struct aws_instance *look_at(struct looked_at *l, struct aws_known_instance *k)
{
    (void)atomic_fetch_add(&k->refs, 1);
    l->items[l->n++] = k;
    return &k->i;
}

/* ---- what is known --------------------------------------------------------------------------- */

struct sweep {
    struct arena *a;
    const char **keys;
    size_t n;
    int64_t before_ms;
};

static bool collect_old(const char *key, void *value, void *arg)
{
    struct sweep *s = arg;
    if (((const struct aws_known_instance *)value)->read_ms < s->before_ms) {
        s->keys[s->n++] = arena_strdup(s->a, key);
    }
    return true;
}

static void sweep(struct aws_cloud *c, int64_t now_ms) _requires_(c->lock)
{
    if (now_ms - c->instances_swept_ms < KEEP_MS) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct sweep s = {.a = a, .before_ms = now_ms - KEEP_MS};
    s.keys = ARENA_ARRAY(a, const char *, map_size(c->instances));
    map_each(c->instances, collect_old, &s);
    for (size_t i = 0; i < s.n; i++) {
        (void)map_remove(c->instances, s.keys[i]);
    }
    c->instances_swept_ms = now_ms;
}

static void put(struct aws_cloud *c, const char *id, const struct aws_instance *i, int64_t read_ms,
                uint64_t seq) _requires_(c->lock)
{
    struct aws_known_instance *k = known_new(i);
    k->read_ms = read_ms;
    k->seq = seq;
    map_set(c->instances, id, k);
}

void aws_cloud_put_instances(struct aws_cloud *c, const struct aws_instance *items, size_t n,
                             struct aws_texts ids, int64_t read_ms, uint64_t seq)
{
    mutex_lock(&c->lock);
    for (size_t i = 0; i < n; i++) {
        put(c, items[i].id, &items[i], read_ms, seq);
    }
    for (size_t i = 0; i < ids.n; i++) {
        const struct aws_known_instance *k = map_get(c->instances, ids.items[i]);
        if (k == NULL || k->seq < seq) {
            put(c, ids.items[i], NULL, read_ms, seq);
        }
    }
    sweep(c, clock_now_ms(c->clock));
    mutex_unlock(&c->lock);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct asking {
    struct aws_cloud *c;
    struct http *http;
    struct cancel *cancel;
    struct arena *a;
    struct str_set ids;
    uint64_t seq; /* when it was asked */
    bool fresh;
    unsigned requests;
};

static bool is_good(const struct asking *s, const struct aws_known_instance *k, int64_t now_ms)
{
    if (k == NULL) {
        return false;
    }
    if (k->seq > s->seq || s->c->client == NULL) {
        return true;
    }
    bool steady = k->present && k->i.in_cluster;
    bool runs = steady && str_eq(k->i.state, "running");
    return now_ms - k->read_ms <= (runs ? KEEP_MS : KEEP_OTHER_MS) && (steady || !s->fresh);
}

static struct aws_texts unknown_ids(const struct asking *s) _requires_(s->c->lock)
{
    const char **items = NULL; /* most often there are none */
    int64_t now_ms = clock_now_ms(s->c->clock);
    size_t n = 0;
    for (size_t i = 0; i < s->ids.n; i++) {
        if (!is_good(s, map_get(s->c->instances, s->ids.items[i]), now_ms)) {
            items = items != NULL ? items : ARENA_ARRAY(s->a, const char *, s->ids.n);
            items[n++] = s->ids.items[i];
        }
    }
    return (struct aws_texts){items, n};
}

/* True: no other caller reads; this one does, what *ret says (n 0: nothing). */
static bool look(struct asking *s, struct aws_texts *ret, uint64_t *ret_seq)
{
    int hook = cancel_hook(s->cancel, aws_cloud_wake, s->c);
    mutex_lock(&s->c->lock);
    *ret = unknown_ids(s);
    bool mine = ret->n == 0 || !s->c->reads_instances;
    if (ret->n > 0 && mine) {
        s->c->reads_instances = true;
        *ret_seq = ++s->c->seq;
    } else if (!mine && !cancel_fired(s->cancel)) {
        clock_wait(s->c->clock, &s->c->changed, &s->c->lock, CLOCK_NEVER);
    }
    mutex_unlock(&s->c->lock);
    cancel_unhook(s->cancel, hook);
    return mine;
}

static int read_ids(struct asking *s, struct aws_texts ids, uint64_t seq, struct err *err)
{
    struct aws_cloud *c = s->c;
    bool all = ids.n > BY_ID_MAX;
    struct aws_reading reading = {
        .kind = all ? AWS_DOC_TAGGED_INSTANCES : AWS_DOC_INSTANCES,
        .key = all ? "" : str_join(s->a, ids.items, ids.n, ","),
        .began_ms = clock_now_ms(c->clock),
        .seq = seq,
    };
    struct aws_readings r = {
        .cloud = c, .http = s->http, .cancel = s->cancel, .items = &reading, .n = 1};
    aws_readings_run(&r);
    s->requests += r.requests;
    if (reading.doc != NULL) {
        aws_cloud_put_instances(c, reading.doc->pub.items, reading.doc->pub.n, ids,
                                reading.began_ms, seq);
        aws_doc_unref(&reading.doc->pub);
    }
    mutex_lock(&c->lock);
    c->reads_instances = false;
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
    return reading.err.code == ERR_OK ? ERR_OK : err_copy(err, &reading.err);
}

static int learn(struct asking *s, struct err *err)
{
    for (;;) {
        struct aws_texts ids;
        uint64_t seq = 0;
        bool mine = look(s, &ids, &seq);
        if (mine && ids.n == 0) {
            return ERR_OK;
        }
        int rc = ERR_OK;
        if (mine) {
            rc = read_ids(s, ids, seq, err);
        } else if (cancel_fired(s->cancel)) {
            rc = err_set(err, ERR_CANCELLED, "cancelled before AWS was asked about instances");
        }
        if (rc != ERR_OK) {
            return rc;
        }
    }
}

/* Why it is left out; NULL: it is not. */
static const char *why_not(struct asking *s, const char *id, const struct aws_known_instance *k)
{
    if (k == NULL || !k->present || !k->i.in_cluster) {
        return arena_printf(s->a, "instance %s %s the tag " AWS_CLUSTER_TAG_PREFIX "%s", id,
                            k != NULL && k->present ? "lacks" : "is not there, or lacks",
                            str_nonnull(s->c->naming->cluster_id));
    }
    bool gone = str_eq(k->i.state, "terminated") || str_eq(k->i.state, "shutting-down");
    return gone ? arena_printf(s->a, "instance %s is %s", id, k->i.state) : NULL;
}

static int compare_ids(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* told[i] belongs to the i-th of the set. */
static bool is_repeated(const struct str_set *ids, bool *told, const char *id)
{
    const char *const *at = bsearch(&id, ids->items, ids->n, sizeof(id), compare_ids);
    bool *is_told = &told[at - ids->items];
    bool before = *is_told;
    *is_told = true;
    return before;
}

static void tell(struct asking *s, struct aws_instances_need *need)
{
    struct aws_instance *items = ARENA_ARRAY(s->a, struct aws_instance, s->ids.n);
    const char **left_out = ARENA_ARRAY(s->a, const char *, s->ids.n);
    const char **left_out_ids = ARENA_ARRAY(s->a, const char *, s->ids.n);
    struct looked_at *held = arena_alloc(s->a, sizeof(*held) + s->ids.n * sizeof(held->items[0]));
    arena_defer(s->a, let_go, held);
    bool *told = ARENA_ARRAY(s->a, bool, s->ids.n);
    need->n = need->left_out.n = 0;
    mutex_lock(&s->c->lock);
    for (size_t i = 0; i < need->ids.n; i++) {
        const char *id = need->ids.items[i];
        struct aws_known_instance *k = map_get(s->c->instances, id);
        const char *why = why_not(s, id, k);
        if (is_repeated(&s->ids, told, id)) {
            continue;
        }
        if (why != NULL) {
            left_out_ids[need->left_out.n] = id;
            left_out[need->left_out.n++] = why;
        } else {
            items[need->n++] = *look_at(held, k);
        }
    }
    mutex_unlock(&s->c->lock);
    need->items = items;
    need->left_out.items = left_out;
    need->left_out_ids = (struct aws_texts){.items = left_out_ids, .n = need->left_out.n};
}

int aws_cloud_instances(struct aws_cloud *c, struct http *http, struct cancel *cancel,
                        struct arena *a, struct aws_instances_need *need, unsigned *ret_reads,
                        struct err *err)
{
    struct asking s = {.c = c, .http = http, .cancel = cancel, .a = a, .fresh = need->fresh};
    s.ids = str_set_make(a, need->ids.items, need->ids.n);
    mutex_lock(&c->lock);
    s.seq = c->seq;
    mutex_unlock(&c->lock);
    int rc = c->client == NULL ? ERR_OK : learn(&s, err);
    *ret_reads += s.requests;
    if (rc == ERR_OK) {
        tell(&s, need);
    }
    return rc;
}
