/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4lb_config.c: see gce_l4lb_config.h.  Texts are kept, not trees: a tree belongs to one thread. */
#include "providers/gce/gce_l4lb_config.h"

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 1000 /* configs; more than that: begin anew */

struct kept {
    int64_t read_ms;
    int32_t code; /* of the request */
    char *text;   /* TT_OK */
};

struct gce_l4lb_config {
    struct mutex lock;
    struct map *kept _guarded_by_(lock); /* by "namespace/name" */
};

static void kept_free(void *p)
{
    struct kept *k = p;
    free(k->text);
    free(k);
}

struct gce_l4lb_config *gce_l4lb_config_new(void)
{
    struct gce_l4lb_config *c = xcalloc(1, sizeof(*c));
    mutex_init(&c->lock);
    mutex_lock(&c->lock);
    c->kept = map_new(kept_free);
    mutex_unlock(&c->lock);
    return c;
}

void gce_l4lb_config_free(struct gce_l4lb_config *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    map_free(c->kept);
    mutex_unlock(&c->lock);
    mutex_done(&c->lock);
    free(c);
}

/* One answer, in the arena. */
struct answer {
    int32_t code;
    const char *text;
};

static bool recall(struct gce_l4lb_config *c, const char *key, int64_t now_ms, struct arena *a,
                   struct answer *ret)
{
    mutex_lock(&c->lock);
    const struct kept *k = map_get(c->kept, key);
    bool young = k != NULL && now_ms - k->read_ms < GCE_L4LB_CONFIG_AGE_MS;
    if (young) {
        *ret = (struct answer){.code = k->code, .text = arena_strdup(a, k->text)};
    }
    mutex_unlock(&c->lock);
    return young;
}

static void keep(struct gce_l4lb_config *c, const char *key, int64_t now_ms,
                 const struct answer *answer)
{
    struct kept *k = xcalloc(1, sizeof(*k));
    *k = (struct kept){.read_ms = now_ms, .code = answer->code};
    k->text = answer->text != NULL ? xstrdup(answer->text) : NULL;
    mutex_lock(&c->lock);
    if (map_size(c->kept) >= KEPT_MAX) {
        map_clear(c->kept);
    }
    map_set(c->kept, key, k);
    mutex_unlock(&c->lock);
}

static void put_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

static struct answer ask(const struct tt_host *host, const struct tt_call *call, struct arena *a,
                         const char *ns, const char *name)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    const struct tt_kube_ref ref = {.api_version = GCE_L4LB_CONFIG_VERSION,
                                    .resource = GCE_L4LB_CONFIG_RESOURCE,
                                    .ns = ns,
                                    .name = name};
    struct answer answer = {.code = host->kube_get(host->ctx, call, &ref, &sink)};
    answer.text = answer.code == TT_OK ? arena_strdup(a, str_buf_text(&b)) : NULL;
    return answer;
}

static void judge(struct arena *a, const struct answer *answer, struct gce_log_verdict *ret)
{
    struct json_object *o = NULL;
    if (answer->code == TT_NOT_FOUND) {
        *ret = (struct gce_log_verdict){.state = GCE_LOG_MISSING, .message = "it does not exist"};
    } else if (answer->code != TT_OK) {
        *ret = (struct gce_log_verdict){
            .state = GCE_LOG_FETCH_FAILED,
            .message = arena_printf(a, "it could not be read: %s", err_code_name(answer->code))};
    } else if (json_parse_arena(a, answer->text, strlen(answer->text), NULL, &o, NULL) != ERR_OK) {
        *ret = (struct gce_log_verdict){.state = GCE_LOG_FETCH_FAILED,
                                        .message = "it was answered with no JSON"};
    } else {
        gce_log_read(a, o, ret);
    }
}

void gce_l4lb_config_get(struct gce_l4lb_config *c, const struct tt_host *host,
                         const struct tt_call *call, struct arena *a, const struct tt_service *s,
                         struct gce_log_verdict *ret)
{
    const char *name = gce_log_config_name(s);
    struct answer answer;
    *ret = (struct gce_log_verdict){0};
    if (name == NULL) {
        return;
    }
    int64_t now_ms = host->now_ms(host->ctx);
    const char *key = arena_printf(a, "%s/%s", s->ns, name);
    if (!recall(c, key, now_ms, a, &answer)) {
        answer = ask(host, call, a, s->ns, name);
        if (answer.code != TT_CANCELLED) {
            keep(c, key, now_ms, &answer);
        }
    }
    judge(a, &answer, ret);
    ret->config = name;
}
