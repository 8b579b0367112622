/* SPDX-License-Identifier: Apache-2.0 */
/* gce_kube_texts.c: see gce_kube_texts.h. */
#include "providers/gce/cache/gce_kube_texts.h"

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 1000 /* objects; more than that: begin again */

struct kept {
    int64_t read_ms;
    int32_t code; /* of the request */
    char *text;   /* TT_OK */
};

struct gce_kube_texts {
    struct mutex lock;
    struct map *kept _guarded_by_(lock); /* by "resource/namespace/name" */
};

static void kept_free(void *p)
{
    struct kept *k = p;
    free(k->text);
    free(k);
}

struct gce_kube_texts *gce_kube_texts_new(void)
{
    struct gce_kube_texts *t = xcalloc(1, sizeof(*t));
    mutex_init(&t->lock);
    mutex_lock(&t->lock);
    t->kept = map_new(kept_free);
    mutex_unlock(&t->lock);
    return t;
}

void gce_kube_texts_free(struct gce_kube_texts *t)
{
    if (t == NULL) {
        return;
    }
    mutex_lock(&t->lock);
    map_free(t->kept);
    mutex_unlock(&t->lock);
    mutex_done(&t->lock);
    free(t);
}

/* One answer, its text in the arena. */
struct answer {
    int32_t code;
    const char *text;
};

static bool recall(struct gce_kube_texts *t, const char *key, int64_t now_ms, struct arena *a,
                   struct answer *ret)
{
    mutex_lock(&t->lock);
    const struct kept *k = map_get(t->kept, key);
    bool young = k != NULL && now_ms - k->read_ms < GCE_KUBE_TEXTS_AGE_MS;
    if (young) {
        *ret = (struct answer){.code = k->code, .text = arena_strdup(a, k->text)};
    }
    mutex_unlock(&t->lock);
    return young;
}

static void keep(struct gce_kube_texts *t, const char *key, int64_t now_ms,
                 const struct answer *answer)
{
    struct kept *k = xcalloc(1, sizeof(*k));
    *k = (struct kept){.read_ms = now_ms, .code = answer->code};
    k->text = answer->text != NULL ? xstrdup(answer->text) : NULL;
    mutex_lock(&t->lock);
    if (map_size(t->kept) >= KEPT_MAX) {
        map_clear(t->kept);
    }
    map_set(t->kept, key, k);
    mutex_unlock(&t->lock);
}

static void put_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

static struct answer ask(const struct tt_host *host, const struct tt_call *call, struct arena *a,
                         const struct tt_kube_ref *ref)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    struct answer answer = {.code = host->kube_get(host->ctx, call, ref, &sink)};
    answer.text = answer.code == TT_OK ? arena_strdup(a, str_buf_text(&b)) : NULL;
    return answer;
}

struct gce_kube_text gce_kube_texts_get(struct gce_kube_texts *t, const struct tt_host *host,
                                        const struct tt_call *call, struct arena *a,
                                        const struct tt_kube_ref *ref, bool misses)
{
    int64_t now_ms = host->now_ms(host->ctx);
    const char *key = arena_printf(a, "%s/%s/%s", ref->resource, str_nonnull(ref->ns), ref->name);
    struct answer answer;
    if (!recall(t, key, now_ms, a, &answer)) {
        answer = ask(host, call, a, ref);
        if (answer.code == TT_OK || (misses && answer.code != TT_CANCELLED)) {
            keep(t, key, now_ms, &answer);
        }
    }
    struct gce_kube_text ret = {.code = answer.code};
    if (answer.code == TT_OK &&
        json_parse_arena(a, answer.text, strlen(answer.text), NULL, &ret.o, NULL) != ERR_OK) {
        ret.o = NULL;
    }
    return ret;
}
