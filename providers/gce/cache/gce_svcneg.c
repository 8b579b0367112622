/* SPDX-License-Identifier: Apache-2.0 */
/* gce_svcneg.c: see gce_svcneg.h.
 *
 * The first caller makes the list; the others wait for it, so that none makes an object
 * that is there.  What is written is known from then on; after a failed write nothing is known of
 * that object, and it is read before it is written again. */
#include "providers/gce/cache/gce_svcneg.h"

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "providers/gce/api/gce_neg_metrics.h"
#include "providers/gce/model/gce_digests.h"
#include "providers/gce/model/gce_l4_rules.h"

#include <stdlib.h>

#define MERGE_PATCH "application/merge-patch+json"
#define JSON_PATCH  "application/json-patch+json"
#define AGAIN_MS    (10 * 60 * 1000) /* until an absent kind is looked for again */
#define UNSURE      0                /* digest of an object whose content is not known */

enum list_state {
    NOT_LISTED = 0,
    LISTING,
    LISTED,
    ABSENT, /* there is no such kind, or we may not see it */
};

struct gce_svcneg {
    bool with_states;
    struct mutex lock;
    struct cond changed; /* a list has ended */
    enum list_state state _guarded_by_(lock);
    int64_t again_ms _guarded_by_(lock); /* ABSENT: when to look again */
    bool said_refused _guarded_by_(lock);
    bool forbidden _guarded_by_(lock);           /* ABSENT is a 403: there may be objects */
    int64_t refused_until_ms _guarded_by_(lock); /* so long nothing new is made; 0: it may be */
    struct gce_digests known _guarded_by_(lock);
};

struct gce_svcneg *gce_svcneg_new(bool with_states)
{
    struct gce_svcneg *c = xcalloc(1, sizeof(*c));
    c->with_states = with_states;
    mutex_init(&c->lock);
    cond_init(&c->changed);
    return c;
}

void gce_svcneg_free(struct gce_svcneg *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    gce_digests_done(&c->known);
    mutex_unlock(&c->lock);
    cond_done(&c->changed);
    mutex_done(&c->lock);
    free(c);
}

/* ---- what is known --------------------------------------------------------------------------- */
static void note(struct gce_svcneg *c, const char *key, uint64_t digest)
{
    mutex_lock(&c->lock);
    gce_digests_set(&c->known, key, digest);
    mutex_unlock(&c->lock);
}

static void drop(struct gce_svcneg *c, const char *key)
{
    mutex_lock(&c->lock);
    gce_digests_remove(&c->known, key);
    mutex_unlock(&c->lock);
}

static bool is_known(struct gce_svcneg *c, const char *key, uint64_t *ret)
{
    mutex_lock(&c->lock);
    bool known = gce_digests_get(&c->known, key, ret);
    mutex_unlock(&c->lock);
    return known;
}

static uint64_t never_unsure(uint64_t digest)
{
    return digest != UNSURE ? digest : 1;
}

/* ---- the list -------------------------------------------------------------------------------- */
static void learn(void *arg, const char *text, size_t n)
{
    struct gce_svcneg *c = arg;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *o = NULL;
    if (json_parse_arena(a, text, n, NULL, &o, NULL) != ERR_OK) {
        return; /* it will be found when it is to be made */
    }
    struct json_object *meta = json_member(o, "metadata");
    const char *key = arena_printf(a, "%s/%s", str_nonnull(json_str(meta, "namespace")),
                                   str_nonnull(json_str(meta, "name")));
    note(c, key, never_unsure(gce_svcneg_digest_found(a, o, c->with_states)));
}

static void say_absent(const struct tt_host *host, int32_t code)
{
    const struct tt_kv values[] = {{"resource", GCE_SVCNEG_RESOURCE},
                                   {"reason", err_code_name(code)}};
    host->log(host->ctx, TT_LOG_WARNING, 0,
              "Objects beside NEGs are neither read nor written: the API server does not have this "
              "kind, or does not let us",
              values, ARRAY_LEN(values));
}

static int list(struct gce_svcneg *c, const struct gce_svcneg_call *k, struct err *err)
{
    const struct tt_kube_ref ref = {.api_version = GCE_SVCNEG_VERSION,
                                    .resource = GCE_SVCNEG_RESOURCE};
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = learn, .arg = c};
    int64_t began_ms = k->host->now_ms(k->host->ctx);
    int32_t code = k->host->kube_each(k->host->ctx, k->call, &ref, GCE_SVCNEG_SELECTOR, &sink);
    gce_neg_metrics_kube(k->host, "List", began_ms, code);
    bool absent = code == TT_NOT_FOUND || code == TT_FORBIDDEN;
    mutex_lock(&c->lock);
    bool was_absent = c->again_ms != 0;
    c->state = absent ? ABSENT : code == TT_OK ? LISTED : NOT_LISTED;
    c->forbidden = code == TT_FORBIDDEN;
    c->again_ms = absent ? k->host->now_ms(k->host->ctx) + AGAIN_MS : 0;
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
    if (absent && !was_absent) {
        say_absent(k->host, code);
    }
    if (code == TT_OK || absent) {
        return ERR_OK;
    }
    (void)err_set(err, code, "objects %s could not be listed: %s", GCE_SVCNEG_RESOURCE,
                  err_code_name(code));
    (void)gce_l4_error_of_kube(err, code);
    return code;
}

/* True: the caller is to list.  Waits for the caller that lists. */
static bool claim(struct gce_svcneg *c, int64_t now_ms)
{
    mutex_lock(&c->lock);
    while (c->state == LISTING) { /* the caller that lists has a deadline of its own */
        clock_wait(clock_real(), &c->changed, &c->lock, CLOCK_NEVER);
    }
    bool mine = c->state == NOT_LISTED || (c->state == ABSENT && now_ms >= c->again_ms);
    c->state = mine ? LISTING : c->state;
    mutex_unlock(&c->lock);
    return mine;
}

/* *ret_absent: there is nothing to do for want of the kind. */
static int get_ready(struct gce_svcneg *c, const struct gce_svcneg_call *k, bool *ret_absent,
                     struct err *err)
{
    int rc = ERR_OK;
    if (claim(c, k->host->now_ms(k->host->ctx))) {
        rc = list(c, k, err);
    }
    mutex_lock(&c->lock);
    *ret_absent = c->state == ABSENT;
    mutex_unlock(&c->lock);
    return rc;
}

/* ---- requests -------------------------------------------------------------------------------- */
static void put_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

/* INVALID would mean that the Service is at fault; here it is said of an object that is another one
 * by now (its uid). */
static int failed(const struct tt_kube_ref *ref, int32_t answer, const char *verb, struct err *err)
{
    int32_t code = answer == TT_INVALID ? TT_TRANSIENT : answer;
    (void)err_set(err, code, "ServiceNetworkEndpointGroup %s/%s could not be %s: %s", ref->ns,
                  ref->name, verb, err_code_name(code));
    (void)gce_l4_error_of_kube(err, answer);
    return code;
}

static struct tt_kube_ref ref_of(const char *ns, const char *name)
{
    return (struct tt_kube_ref){
        .api_version = GCE_SVCNEG_VERSION, .resource = GCE_SVCNEG_RESOURCE, .ns = ns, .name = name};
}

/* *ret NULL if there is none. */
static int read_one(const struct gce_svcneg_call *k, const struct tt_kube_ref *ref, struct arena *a,
                    struct json_object **ret, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    int64_t began_ms = k->host->now_ms(k->host->ctx);
    int32_t code = k->host->kube_get(k->host->ctx, k->call, ref, &sink);
    gce_neg_metrics_kube(k->host, "Get", began_ms, code);
    *ret = NULL;
    if (code == TT_NOT_FOUND) {
        return ERR_OK;
    }
    if (code != TT_OK) {
        return failed(ref, code, "read", err);
    }
    if (json_parse_arena(a, str_buf_text(&b), b.len, NULL, ret, NULL) != ERR_OK) {
        return err_set(err, ERR_TRANSIENT,
                       "ServiceNetworkEndpointGroup %s/%s was answered with no JSON", ref->ns,
                       ref->name);
    }
    return ERR_OK;
}

static int32_t patch(const struct gce_svcneg_call *k, const struct tt_kube_ref *ref,
                     const char *type, const char *body)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    int64_t began_ms = k->host->now_ms(k->host->ctx);
    int32_t code = k->host->kube_patch(k->host->ctx, k->call, ref, type, body, &sink);
    gce_neg_metrics_kube(k->host, "Patch", began_ms, code);
    return code;
}

static int32_t create(const struct gce_svcneg_call *k, const struct tt_kube_ref *ref,
                      const char *body)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    struct tt_kube_ref list = *ref;
    list.name = NULL;
    int64_t began_ms = k->host->now_ms(k->host->ctx);
    int32_t code = k->host->kube_create(k->host->ctx, k->call, &list, body, &sink);
    gce_neg_metrics_kube(k->host, "Create", began_ms, code);
    return code;
}

/* ---- ensure ---------------------------------------------------------------------------------- */
/* One object on its way. */
struct task {
    struct gce_svcneg *c;
    const struct gce_svcneg_call *k;
    const struct gce_svcneg_wish *w;
    struct tt_kube_ref ref;
    struct arena *a;
    const char *key;
    const char *now;
    uint64_t wanted;
    bool refused; /* it could not be made */
};

static void say_refused(struct task *t, int32_t code)
{
    const struct tt_host *host = t->k->host;
    const struct tt_kv values[] = {{"object", t->key}, {"reason", err_code_name(code)}};
    mutex_lock(&t->c->lock);
    bool said = t->c->said_refused;
    t->c->said_refused = true;
    t->c->refused_until_ms = code == TT_FORBIDDEN ? host->now_ms(host->ctx) + AGAIN_MS : 0;
    mutex_unlock(&t->c->lock);
    if (!said) {
        host->log(
            host->ctx, TT_LOG_WARNING, 0,
            "A ServiceNetworkEndpointGroup could not be made; the load balancer works without",
            values, ARRAY_LEN(values));
    }
}

static int make(struct task *t, int32_t *ret_code, struct err *err)
{
    *ret_code = create(t->k, &t->ref, gce_svcneg_create(t->a, t->w, t->now));
    if (*ret_code == TT_EXISTS || *ret_code == TT_CONFLICT) {
        return ERR_OK; /* it was there, or comes from another client: it is read */
    }
    if (*ret_code == TT_NOT_FOUND || *ret_code == TT_FORBIDDEN) {
        say_refused(t, *ret_code); /* the namespace goes, or the kind went: it can do without */
        t->refused = true;
        return ERR_OK;
    }
    return *ret_code == TT_OK ? ERR_OK : failed(&t->ref, *ret_code, "made", err);
}

/* The one that is there is being deleted, but is wanted again (§3.10): it is let go
 * of, and recreated. */
static int replace(struct task *t, struct json_object *object, struct err *err)
{
    const char *body = gce_svcneg_release(t->a, object);
    int32_t code = body != NULL ? patch(t->k, &t->ref, MERGE_PATCH, body) : TT_OK;
    if (code != TT_OK && code != TT_NOT_FOUND && code != TT_CONFLICT) {
        return failed(&t->ref, code, "let go of", err);
    }
    int rc = make(t, &code, err);
    if (rc == ERR_OK && code == TT_EXISTS) { /* others hold it, too */
        return err_set(err, ERR_TRANSIENT,
                       "ServiceNetworkEndpointGroup %s/%s is still being deleted", t->ref.ns,
                       t->ref.name);
    }
    return rc;
}

static int mend(struct task *t, struct json_object *object, struct err *err)
{
    const char *service = gce_svcneg_service_of(object);
    if (!str_eq(service, t->w->service->name)) {
        return err_set(err, ERR_INVALID,
                       "ServiceNetworkEndpointGroup %s/%s is not this Service's: its labels say %s",
                       t->ref.ns, t->ref.name, str_or(service, "another kind"));
    }
    if (gce_svcneg_is_deleting(object)) {
        return replace(t, object, err);
    }
    if (never_unsure(gce_svcneg_digest_found(t->a, object, t->c->with_states)) == t->wanted) {
        return ERR_OK;
    }
    int32_t code = patch(t->k, &t->ref, MERGE_PATCH, gce_svcneg_patch(t->a, object, t->w, t->now));
    return code == TT_OK ? ERR_OK : failed(&t->ref, code, "written", err);
}

/* Two rounds: what is said to be there may have gone, and what is not may have come. */
static int bring_about(struct task *t, bool there, struct err *err)
{
    for (int round = 0; round < 2; round++) {
        struct json_object *object = NULL;
        if (there) {
            int rc = read_one(t->k, &t->ref, t->a, &object, err);
            if (rc != ERR_OK || object != NULL) {
                return rc != ERR_OK ? rc : mend(t, object, err);
            }
        }
        int32_t code = TT_OK;
        int rc = make(t, &code, err);
        there = code == TT_EXISTS || code == TT_CONFLICT;
        if (rc != ERR_OK || !there) {
            return rc;
        }
    }
    return err_set(err, ERR_TRANSIENT,
                   "ServiceNetworkEndpointGroup %s/%s comes and goes while it is made", t->ref.ns,
                   t->ref.name);
}

/* Making one was refused not long ago. */
static bool may_not_make(struct gce_svcneg *c, const struct gce_svcneg_call *k)
{
    int64_t now_ms = k->host->now_ms(k->host->ctx);
    mutex_lock(&c->lock);
    bool refused = now_ms < c->refused_until_ms;
    mutex_unlock(&c->lock);
    return refused;
}

int gce_svcneg_ensure(struct gce_svcneg *c, const struct gce_svcneg_call *k,
                      const struct gce_svcneg_wish *w, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    char now[32];
    bool absent = false;
    int rc = get_ready(c, k, &absent, err);
    if (rc != ERR_OK || absent) {
        return rc;
    }
    time_format_rfc3339(k->host->wall_us(k->host->ctx), now);
    struct gce_svcneg_wish wish = *w;
    wish.with_states = c->with_states;
    struct task t = {
        .c = c,
        .k = k,
        .w = &wish,
        .ref = ref_of(w->service->ns, w->name),
        .a = a,
        .key = arena_printf(a, "%s/%s", w->service->ns, w->name),
        .now = now,
        .wanted = never_unsure(gce_svcneg_digest_wanted(a, &wish)),
    };
    uint64_t is = UNSURE;
    bool there = is_known(c, t.key, &is);
    if ((there && is == t.wanted) || (!there && may_not_make(c, k))) {
        return ERR_OK;
    }
    rc = bring_about(&t, there, err);
    if (rc == ERR_OK && t.refused) { /* a refusal need not be forever */
        drop(c, t.key);
    } else {
        note(c, t.key, rc == ERR_OK ? t.wanted : UNSURE);
    }
    return rc;
}

/* ---- delete ---------------------------------------------------------------------------------- */
/* As a rule our finalizer is the only one. */
static int release(const struct gce_svcneg_call *k, const struct tt_kube_ref *ref, struct arena *a,
                   struct err *err)
{
    static const char only_ours[] =
        "[{\"op\":\"test\",\"path\":\"/metadata/finalizers\",\"value\":[\"" GCE_SVCNEG_FINALIZER
        "\"]},{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]";
    struct json_object *object = NULL;
    int32_t code = patch(k, ref, JSON_PATCH, only_ours);
    if (code == TT_OK || code == TT_NOT_FOUND) {
        return ERR_OK;
    }
    if (code != TT_INVALID && code != TT_CONFLICT) {
        return failed(ref, code, "let go of", err);
    }
    int rc = read_one(k, ref, a, &object, err);
    const char *body = object != NULL ? gce_svcneg_release(a, object) : NULL;
    if (rc != ERR_OK || body == NULL) {
        return rc;
    }
    code = patch(k, ref, MERGE_PATCH, body);
    return code == TT_OK || code == TT_NOT_FOUND ? ERR_OK : failed(ref, code, "let go of", err);
}

/* Objects that may not be listed now may still exist, and trimtab's finalizer would hold them
 * forever. */
static int delete_unseen(struct gce_svcneg *c, const struct gce_svcneg_call *k,
                         const struct tt_kube_ref *ref, struct arena *a, struct err *err)
{
    mutex_lock(&c->lock);
    bool forbidden = c->forbidden;
    mutex_unlock(&c->lock);
    if (!forbidden) {
        return ERR_OK;
    }
    int rc = release(k, ref, a, err);
    if (rc == ERR_FORBIDDEN) {
        err_clear(err);
        return ERR_OK;
    }
    int32_t code = rc == ERR_OK ? k->host->kube_delete(k->host->ctx, k->call, ref, NULL) : TT_OK;
    bool fine = code == TT_OK || code == TT_NOT_FOUND || code == TT_FORBIDDEN;
    return rc != ERR_OK || fine ? rc : failed(ref, code, "deleted", err);
}

int gce_svcneg_delete(struct gce_svcneg *c, const struct gce_svcneg_call *k, const char *ns,
                      const char *name, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_kube_ref ref = ref_of(ns, name);
    const char *key = arena_printf(a, "%s/%s", ns, name);
    uint64_t is = UNSURE;
    bool absent = false;
    int rc = get_ready(c, k, &absent, err);
    if (rc == ERR_OK && absent) {
        return delete_unseen(c, k, &ref, a, err);
    }
    if (rc != ERR_OK || !is_known(c, key, &is)) {
        return rc;
    }
    rc = release(k, &ref, a, err);
    if (rc != ERR_OK) {
        return rc;
    }
    int64_t began_ms = k->host->now_ms(k->host->ctx);
    int32_t code = k->host->kube_delete(k->host->ctx, k->call, &ref, NULL);
    gce_neg_metrics_kube(k->host, "Delete", began_ms, code);
    if (code != TT_OK && code != TT_NOT_FOUND) {
        return failed(&ref, code, "deleted", err);
    }
    drop(c, key);
    return ERR_OK;
}

int gce_svcneg_links(struct gce_svcneg *c, const struct gce_svcneg_call *k, struct arena *a,
                     const char *ns, const char *name, struct gce_strs *ret, struct err *err)
{
    const struct tt_kube_ref ref = ref_of(ns, name);
    struct json_object *object = NULL;
    uint64_t is = UNSURE;
    bool absent = false;
    *ret = (struct gce_strs){0};
    int rc = get_ready(c, k, &absent, err);
    if (rc != ERR_OK || absent || !is_known(c, arena_printf(a, "%s/%s", ns, name), &is)) {
        return rc;
    }
    rc = read_one(k, &ref, a, &object, err);
    if (rc == ERR_OK && object != NULL && gce_svcneg_service_of(object) != NULL) {
        *ret = gce_svcneg_links_of(a, object);
    }
    return rc;
}
