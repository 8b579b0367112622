/* SPDX-License-Identifier: Apache-2.0 */
/* aws_cloud.c: documents by question and age, one reader for each question; see aws_cloud.h.
 *
 * A caller claims all questions that are not being read, reads them side by side, and only then
 * waits for those that others read; so no reader that others wait for waits itself.  When a reader
 * fails, its waiters look again and read. */
#include "common/base/str.h"
#include "providers/aws/cloud/aws_cloud_parts.h"

#include <stdlib.h>

#define KEEP_LIST_MS  900000 /* longer than any caller asks for */
#define KEEP_THING_MS 60000  /* a thousand Services have some five thousand of them; likewise */
#define KEEP_BYTES                                                                                 \
    8192 /* of a thing: thousands of targets of each of a thousand groups are not kept */
#define SWEEP_MS 15000

struct entry {
    struct aws_document *doc; /* a reference, or NULL */
    bool busy;                /* a caller reads it */
    bool spoilt;              /* dropped since that reading began */
    int64_t began_ms;
    uint64_t began_seq;
    int64_t dropped_ms;
    uint64_t dropped_seq; /* lists that were read before do not answer it; 0: never */
};

static void entry_free(void *arg)
{
    struct entry *e = arg;
    aws_doc_unref(e->doc != NULL ? &e->doc->pub : NULL);
    free(e);
}

struct aws_cloud *aws_cloud_new(const struct aws_cloud_config *cfg)
{
    struct aws_cloud *c = xcalloc(1, sizeof(*c));
    c->client = cfg->client;
    c->clock = cfg->clock;
    c->rng = cfg->rng != NULL ? cfg->rng : rng_real();
    c->host = cfg->host;
    c->naming = cfg->naming;
    mutex_init(&c->lock);
    cond_init(&c->changed);
    mutex_lock(&c->lock);
    c->entries = map_new(entry_free);
    c->instances = map_new(aws_known_instance_free);
    c->swept_ms = c->instances_swept_ms = clock_now_ms(c->clock);
    mutex_unlock(&c->lock);
    return c;
}

void aws_cloud_free(struct aws_cloud *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    map_free(c->entries);
    map_free(c->instances);
    mutex_unlock(&c->lock);
    cond_done(&c->changed);
    mutex_done(&c->lock);
    free(c);
}

void aws_cloud_wake(void *cloud)
{
    struct aws_cloud *c = cloud;
    mutex_lock(&c->lock);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct entry *entry_of(struct aws_cloud *c, int kind, const char *key, bool make)
    _requires_(c->lock)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%d %s", kind, str_nonnull(key));
    struct entry *e = map_get(c->entries, str_buf_text(&b));
    if (e == NULL && make) {
        e = xcalloc(1, sizeof(*e));
        map_set(c->entries, str_buf_text(&b), e);
    }
    return e;
}

static void replace(struct entry *e, struct aws_document *doc)
{
    aws_doc_unref(e->doc != NULL ? &e->doc->pub : NULL);
    e->doc = doc;
}

void aws_cloud_put(struct aws_cloud *c, struct aws_document *doc)
{
    mutex_lock(&c->lock);
    replace(entry_of(c, (int)doc->pub.kind, doc->pub.key, true), doc);
    mutex_unlock(&c->lock);
}

void aws_cloud_drop(struct aws_cloud *c, enum aws_doc_kind kind, const char *key)
{
    mutex_lock(&c->lock);
    struct entry *e = entry_of(c, (int)kind, key, true);
    replace(e, NULL);
    e->spoilt = e->busy;
    e->dropped_ms = clock_now_ms(c->clock);
    e->dropped_seq = ++c->seq;
    mutex_unlock(&c->lock);
}

uint64_t aws_cloud_mark(struct aws_cloud *c)
{
    mutex_lock(&c->lock);
    uint64_t mark = ++c->seq;
    mutex_unlock(&c->lock);
    return mark;
}

bool aws_doc_is_after(const struct aws_doc *d, uint64_t mark)
{
    return ((const struct aws_document *)(const void *)d)->seq > mark;
}

struct sweep {
    struct aws_cloud *c;
    int64_t now_ms;
    struct arena *a;
    const char **keys;
    size_t n;
};

static bool collect_old(const char *key, void *value, void *arg)
{
    struct sweep *s = arg;
    const struct entry *e = value;
    int64_t keep_ms = e->doc != NULL && aws_questions[e->doc->pub.kind].per_call > 0 ? KEEP_THING_MS
                                                                                     : KEEP_LIST_MS;
    int64_t at_ms = e->doc != NULL ? e->doc->pub.read_ms : e->dropped_ms;
    if (!e->busy && at_ms < s->now_ms - keep_ms) {
        s->keys[s->n++] = arena_strdup(s->a, key);
    }
    return true;
}

static void sweep(struct aws_cloud *c, int64_t now_ms) _requires_(c->lock)
{
    if (now_ms - c->swept_ms < SWEEP_MS) {
        return;
    }
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct sweep s = {.c = c, .now_ms = now_ms, .a = a};
    s.keys = ARENA_ARRAY(a, const char *, map_size(c->entries));
    map_each(c->entries, collect_old, &s);
    for (size_t i = 0; i < s.n; i++) {
        (void)map_remove(c->entries, s.keys[i]);
    }
    c->swept_ms = now_ms;
}

/* ---- answering ------------------------------------------------------------------------------- */

enum progress {
    OPEN = 0,
    MINE, /* claimed: to be read by this caller */
    DONE,
};
struct asking {
    struct aws_cloud *c;
    struct http *http;
    struct cancel *cancel;
    struct aws_need *needs;
    size_t n;
    enum progress *progress; /* of each need */
    int64_t now_ms;          /* when it was asked */
    uint64_t seq;
    struct aws_reading *mine;
    size_t n_mine;
    size_t n_waits;
    unsigned requests;
};

/* A reading that began then is young enough for the need. */
static bool will_do(const struct asking *s, const struct aws_need *need, int64_t began_ms,
                    uint64_t seq)
{
    if (need->after != 0) {
        return seq > need->after;
    }
    return need->not_older_ms == INT64_MAX ? seq > s->seq : began_ms >= need->not_older_ms;
}

static void settle(struct asking *s, size_t i, const struct aws_doc *doc)
{
    s->needs[i].doc = doc;
    s->progress[i] = DONE;
}

/* From a list, or by waiting for one.  False: it has to be read. */
static bool ask_list(struct asking *s, size_t i, const struct entry *own) _requires_(s->c->lock)
{
    const struct aws_need *need = &s->needs[i];
    int kind = aws_questions[need->kind].list;
    struct entry *list = kind >= 0 ? entry_of(s->c, kind, "", false) : NULL;
    uint64_t least = own != NULL ? own->dropped_seq : 0;
    bool whole = need->kind != AWS_DOC_GROUPS;
    if (list == NULL) {
        return false;
    }
    if (list->doc != NULL && list->doc->seq > least &&
        will_do(s, need, list->doc->pub.read_ms, list->doc->seq)) {
        struct aws_document *doc =
            aws_derive(list->doc, (int)need->kind, str_nonnull(need->key), whole);
        if (doc != NULL) {
            settle(s, i, &doc->pub);
        }
        return doc != NULL;
    }
    if (list->busy && !list->spoilt && list->began_seq > least &&
        will_do(s, need, list->began_ms, list->began_seq)) {
        s->n_waits++;
        return true;
    }
    return false;
}

static void claim(struct asking *s, size_t i) _requires_(s->c->lock)
{
    const struct aws_need *need = &s->needs[i];
    struct entry *e = entry_of(s->c, (int)need->kind, need->key, true);
    e->busy = true;
    e->spoilt = false;
    e->began_ms = clock_now_ms(s->c->clock);
    e->began_seq = ++s->c->seq;
    s->mine[s->n_mine++] = (struct aws_reading){.kind = (int)need->kind,
                                                .key = str_nonnull(need->key),
                                                .began_ms = e->began_ms,
                                                .seq = e->began_seq};
    s->progress[i] = MINE;
}

static void look_at(struct asking *s, size_t i) _requires_(s->c->lock)
{
    const struct aws_need *need = &s->needs[i];
    struct entry *e = entry_of(s->c, (int)need->kind, need->key, false);
    if (e != NULL && e->doc != NULL && will_do(s, need, e->doc->pub.read_ms, e->doc->seq)) {
        settle(s, i, aws_doc_ref(&e->doc->pub));
    } else if (e != NULL && e->busy) {
        s->n_waits++; /* should it turn out too old, it is read then */
    } else if (!ask_list(s, i, e)) {
        claim(s, i);
    }
}

/* True while something is left to do. */
static bool look(struct asking *s)
{
    bool cancelled = cancel_fired(s->cancel);
    s->n_mine = s->n_waits = 0;
    mutex_lock(&s->c->lock);
    for (size_t i = 0; i < s->n; i++) {
        if (s->progress[i] != DONE && cancelled) {
            (void)err_set(&s->needs[i].err, ERR_CANCELLED, "cancelled before AWS was asked");
            s->progress[i] = DONE;
        } else if (s->progress[i] != DONE) {
            look_at(s, i);
        }
    }
    mutex_unlock(&s->c->lock);
    return s->n_mine > 0 || s->n_waits > 0;
}

/* Waits until something was read, unless it happened since look(). */
static void wait_for_others(struct asking *s)
{
    struct aws_cloud *c = s->c;
    int hook = cancel_hook(s->cancel, aws_cloud_wake, c);
    mutex_lock(&c->lock);
    bool still = false;
    for (size_t i = 0; i < s->n && !still; i++) {
        const struct aws_need *need = &s->needs[i];
        const struct entry *e = entry_of(c, (int)need->kind, need->key, false);
        int kind = aws_questions[need->kind].list;
        const struct entry *list = kind >= 0 ? entry_of(c, kind, "", false) : NULL;
        still = s->progress[i] != DONE && ((e != NULL && e->busy) || (list != NULL && list->busy));
    }
    if (still && !cancel_fired(s->cancel)) {
        clock_wait(c->clock, &c->changed, &c->lock, CLOCK_NEVER);
    }
    mutex_unlock(&c->lock);
    cancel_unhook(s->cancel, hook);
}

/* Big ones serve who has read them; who waited meanwhile reads for himself. */
static bool is_kept(const struct aws_document *doc)
{
    const struct aws_question *q = &aws_questions[doc->pub.kind];
    return q->per_call == 0 || doc->bytes + doc->pub.n * q->size <= KEEP_BYTES;
}

/* The reading's result is kept, and given to its need. */
static void publish(struct asking *s, size_t i, struct aws_reading *r) _requires_(s->c->lock)
{
    struct entry *e = entry_of(s->c, r->kind, r->key, true);
    e->busy = false;
    if (r->doc == NULL) {
        s->needs[i].err = r->err;
        s->progress[i] = DONE;
        return;
    }
    settle(s, i, aws_doc_ref(&r->doc->pub));
    if (!e->spoilt && is_kept(r->doc)) {
        replace(e, r->doc);
    } else {
        replace(e, NULL);
        aws_doc_unref(&r->doc->pub);
    }
    e->spoilt = false;
}

static void read_mine(struct asking *s)
{
    struct aws_readings r = {
        .cloud = s->c, .http = s->http, .cancel = s->cancel, .items = s->mine, .n = s->n_mine};
    aws_readings_run(&r);
    s->requests += r.requests;
    size_t k = 0;
    mutex_lock(&s->c->lock);
    for (size_t i = 0; i < s->n; i++) {
        if (s->progress[i] == MINE) {
            publish(s, i, &s->mine[k++]);
        }
    }
    sweep(s->c, clock_now_ms(s->c->clock));
    cond_broadcast(&s->c->changed);
    mutex_unlock(&s->c->lock);
}

/* Without a client there is what was put in, of any age, and nothing else. */
static void answer_offline(struct aws_cloud *c, struct aws_need *need)
{
    bool group = need->kind == AWS_DOC_GROUPS; /* its list when asking has only the cluster's */
    int kind = group ? AWS_DOC_ALL_GROUPS : aws_questions[need->kind].list;
    const char *key = str_nonnull(need->key);
    mutex_lock(&c->lock);
    struct entry *e = entry_of(c, (int)need->kind, key, false);
    struct entry *list = kind >= 0 ? entry_of(c, kind, "", false) : NULL;
    if (e != NULL && e->doc != NULL) {
        need->doc = aws_doc_ref(&e->doc->pub);
    } else if (list != NULL && list->doc != NULL && aws_questions[need->kind].per_call > 0) {
        need->doc = &aws_derive(list->doc, (int)need->kind, key, true)->pub;
    } else {
        struct aws_doc_draft d;
        aws_draft_doc_init(&d, (int)need->kind, c->naming);
        need->doc = &aws_draft_doc_take(&d, key, clock_now_ms(c->clock), 0)->pub;
        aws_draft_doc_done(&d);
    }
    mutex_unlock(&c->lock);
}

static void answer(struct asking *s)
{
    s->progress = xcalloc(s->n + 1, sizeof(*s->progress));
    s->mine = xcalloc(s->n + 1, sizeof(*s->mine));
    s->now_ms = clock_now_ms(s->c->clock);
    mutex_lock(&s->c->lock);
    s->seq = s->c->seq;
    mutex_unlock(&s->c->lock);
    while (look(s)) {
        if (s->n_mine > 0) {
            read_mine(s);
        } else {
            wait_for_others(s);
        }
    }
    free(s->progress);
    free(s->mine);
}

int aws_cloud_read(struct aws_cloud *c, struct http *http, struct cancel *cancel,
                   struct aws_need *needs, size_t n, unsigned *ret_reads, struct err *err)
{
    struct asking s = {.c = c, .http = http, .cancel = cancel, .needs = needs, .n = n};
    for (size_t i = 0; i < n; i++) {
        needs[i].doc = NULL;
        err_clear(&needs[i].err);
        if (c->client == NULL) {
            answer_offline(c, &needs[i]);
        }
    }
    if (c->client != NULL) {
        answer(&s);
    }
    *ret_reads += s.requests;
    for (size_t i = 0; i < n; i++) {
        if (needs[i].doc == NULL) {
            return err_copy(err, &needs[i].err);
        }
    }
    return ERR_OK;
}
