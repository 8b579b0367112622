/* SPDX-License-Identifier: Apache-2.0 */
/* kube_fake.h: an API server in memory for the Kubernetes objects of the provider, as a host offers
 * them.
 *
 * Keeps objects by "namespace/name" ("/name" of a whole cluster's) and carries out merge patches
 * and the one JSON patch that is used; finalizers hold what is deleted.  Each request is a word in
 * `story`: "list get a/n create a/n patch a/n delete a/n".  A request that is in `refuse` is
 * answered with its code, once.  One kind at a time; included by the tests that use it. */
#ifndef TRIMTAB_TESTS_UNIT_GCE_KUBE_FAKE_H
#define TRIMTAB_TESTS_UNIT_GCE_KUBE_FAKE_H

#include "tests/unit/gce/pure.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/data/json.h"

#include <stdlib.h>
#include <trimtab/provider.h>

#define KUBE_FAKE_REFUSALS 8

struct kube_fake {
    struct arena *a;
    struct tt_host host;
    struct map *objects; /* "ns/name" → struct json_object * */
    struct str_buf story;
    struct str_buf log;
    struct str_buf events; /* "Warning Reason message\n" */
    char *last_body;       /* of the last create or patch */
    int64_t now_ms;
    struct {
        const char *request; /* "list", "patch demo/x" */
        int32_t code;
    } refuse[KUBE_FAKE_REFUSALS];
};

static void kube_fake_put_object(void *o)
{
    json_object_put(o);
}

static struct kube_fake *kube_fake_of(struct tt_host_ctx *ctx)
{
    return (struct kube_fake *)ctx;
}

static int32_t kube_fake_request(struct kube_fake *f, const char *verb, const char *key)
{
    const char *request = key != NULL ? arena_printf(f->a, "%s %s", verb, key) : verb;
    str_appendf(&f->story, "%s%s", f->story.len > 0 ? " · " : "", request);
    for (size_t i = 0; i < KUBE_FAKE_REFUSALS; i++) {
        if (str_eq(f->refuse[i].request, request)) {
            f->refuse[i].request = NULL;
            return f->refuse[i].code;
        }
    }
    return TT_OK;
}

static const char *kube_fake_key(struct kube_fake *f, const struct tt_kube_ref *ref)
{
    return arena_printf(f->a, "%s/%s", str_nonnull(ref->ns), ref->name);
}

static void kube_fake_answer(const struct tt_text_sink *ret, struct json_object *o)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    json_print(&b, o, JSON_COMPACT);
    ret->put(ret->arg, str_buf_text(&b), b.len);
}

static struct json_object *kube_fake_parse(struct kube_fake *f, const char *text)
{
    struct json_object *o = NULL;
    free(f->last_body);
    f->last_body = xstrdup(text);
    assert_int_equal(json_parse(text, strlen(text), NULL, &o, NULL), ERR_OK);
    return o;
}

/* Puts an object there as another client would. */
static inline void kube_fake_put(struct kube_fake *f, const char *key, const char *json)
{
    map_set(f->objects, key, kube_fake_parse(f, json));
}

static inline struct json_object *kube_fake_get_object(struct kube_fake *f, const char *key)
{
    return map_get(f->objects, key);
}

static int32_t kube_fake_get(struct tt_host_ctx *ctx, const struct tt_call *call,
                             const struct tt_kube_ref *ref, const struct tt_text_sink *ret)
{
    struct kube_fake *f = kube_fake_of(ctx);
    const char *key = kube_fake_key(f, ref);
    (void)call;
    int32_t code = kube_fake_request(f, "get", key);
    struct json_object *o = map_get(f->objects, key);
    if (code != TT_OK || o == NULL) {
        return code != TT_OK ? code : TT_NOT_FOUND;
    }
    kube_fake_answer(ret, o);
    return TT_OK;
}

struct kube_fake_each {
    const struct tt_text_sink *sink;
};

static bool kube_fake_put_each(const char *key, void *value, void *arg)
{
    (void)key;
    kube_fake_answer(((struct kube_fake_each *)arg)->sink, value);
    return true;
}

static int32_t kube_fake_list(struct tt_host_ctx *ctx, const struct tt_call *call,
                              const struct tt_kube_ref *ref, const char *selector,
                              const struct tt_text_sink *each)
{
    struct kube_fake *f = kube_fake_of(ctx);
    struct kube_fake_each arg = {.sink = each};
    (void)call;
    (void)selector;
    assert_null(ref->ns);
    int32_t code = kube_fake_request(f, "list", NULL);
    if (code == TT_OK) {
        map_each(f->objects, kube_fake_put_each, &arg);
    }
    return code;
}

static int32_t kube_fake_create(struct tt_host_ctx *ctx, const struct tt_call *call,
                                const struct tt_kube_ref *ref, const char *json,
                                const struct tt_text_sink *ret)
{
    struct kube_fake *f = kube_fake_of(ctx);
    struct json_object *o = kube_fake_parse(f, json);
    struct json_object *meta = json_member(o, "metadata");
    const char *key = arena_printf(f->a, "%s/%s", ref->ns, json_str(meta, "name"));
    (void)call;
    int32_t code = kube_fake_request(f, "create", key);
    if (code == TT_OK && map_has(f->objects, key)) {
        code = TT_EXISTS;
    }
    if (code != TT_OK) {
        json_object_put(o);
        return code;
    }
    json_add_str(meta, "uid", "uid-of-object");
    map_set(f->objects, key, o);
    kube_fake_answer(ret, o);
    return TT_OK;
}

/* RFC 7386. */
static void kube_fake_merge(struct json_object *into, struct json_object *patch)
{
    json_object_object_foreach(patch, name, v)
    {
        struct json_object *was = json_member(into, name);
        if (v == NULL) {
            json_object_object_del(into, name);
        } else if (json_object_is_type(v, json_type_object) &&
                   json_object_is_type(was, json_type_object)) {
            kube_fake_merge(was, v);
        } else {
            json_object_object_del(into, name);
            json_add(into, name, json_copy(v));
        }
    }
}

/* Removes deleted objects without finalizers. */
static void kube_fake_collect(struct kube_fake *f, const char *key)
{
    struct json_object *meta = json_member(map_get(f->objects, key), "metadata");
    if (json_str(meta, "deletionTimestamp") != NULL &&
        json_len(json_member(meta, "finalizers")) == 0) {
        (void)map_remove(f->objects, key);
    }
}

static int32_t kube_fake_patch(struct tt_host_ctx *ctx, const struct tt_call *call,
                               const struct tt_kube_ref *ref, const char *type, const char *json,
                               const struct tt_text_sink *ret)
{
    struct kube_fake *f = kube_fake_of(ctx);
    const char *key = kube_fake_key(f, ref);
    struct json_object *patch = kube_fake_parse(f, json);
    struct json_object *o = map_get(f->objects, key);
    (void)call;
    int32_t code = kube_fake_request(f, "patch", key);
    code = code == TT_OK && o == NULL ? TT_NOT_FOUND : code;
    if (code == TT_OK && str_eq(type, "application/json-patch+json")) {
        /* [{test the finalizers}, {remove them}] */
        struct json_object *want = json_member(json_object_array_get_idx(patch, 0), "value");
        struct json_object *meta = json_member(o, "metadata");
        if (json_equal(json_member(meta, "finalizers"), want)) {
            json_object_object_del(meta, "finalizers");
        } else {
            code = TT_INVALID;
        }
    } else if (code == TT_OK) {
        kube_fake_merge(o, patch);
    }
    if (code == TT_OK) {
        kube_fake_answer(ret, o);
        kube_fake_collect(f, key);
    }
    json_object_put(patch);
    return code;
}

static int32_t kube_fake_delete(struct tt_host_ctx *ctx, const struct tt_call *call,
                                const struct tt_kube_ref *ref, const char *uid)
{
    struct kube_fake *f = kube_fake_of(ctx);
    const char *key = kube_fake_key(f, ref);
    (void)call;
    (void)uid;
    int32_t code = kube_fake_request(f, "delete", key);
    if (code != TT_OK || !map_has(f->objects, key)) {
        return code != TT_OK ? code : TT_NOT_FOUND;
    }
    json_add_str(json_member(map_get(f->objects, key), "metadata"), "deletionTimestamp",
                 "2026-01-02T03:04:05Z");
    kube_fake_collect(f, key);
    return TT_OK;
}

static void kube_fake_log(struct tt_host_ctx *ctx, uint32_t severity, int32_t v,
                          const char *message, const struct tt_kv *values, uint32_t n)
{
    (void)severity;
    (void)v;
    (void)values;
    (void)n;
    str_appendf(&kube_fake_of(ctx)->log, "%s\n", message);
}

static void kube_fake_event(struct tt_host_ctx *ctx, const struct tt_service *service,
                            uint32_t type, const char *reason, const char *message)
{
    (void)service;
    str_appendf(&kube_fake_of(ctx)->events, "%s %s %s\n",
                type == TT_EVENT_WARNING ? "Warning" : "Normal", reason, message);
}

static int64_t kube_fake_now_ms(struct tt_host_ctx *ctx)
{
    return kube_fake_of(ctx)->now_ms;
}

static int64_t kube_fake_wall_us(struct tt_host_ctx *ctx)
{
    return 1767323045000000 + kube_fake_of(ctx)->now_ms * 1000; /* 2026-01-02T03:04:05Z */
}

static struct kube_fake *kube_fake_new(struct arena *a)
{
    struct kube_fake *f = ARENA_NEW(a, struct kube_fake);
    f->a = a;
    f->objects = map_new(kube_fake_put_object);
    f->host = (struct tt_host){.size = sizeof(f->host),
                               .ctx = (struct tt_host_ctx *)f,
                               .log = kube_fake_log,
                               .event = kube_fake_event,
                               .now_ms = kube_fake_now_ms,
                               .wall_us = kube_fake_wall_us,
                               .kube_get = kube_fake_get,
                               .kube_each = kube_fake_list,
                               .kube_create = kube_fake_create,
                               .kube_patch = kube_fake_patch,
                               .kube_delete = kube_fake_delete};
    return f;
}

static void kube_fake_free(struct kube_fake *f)
{
    map_free(f->objects);
    str_buf_done(&f->story);
    str_buf_done(&f->log);
    str_buf_done(&f->events);
    free(f->last_body);
}

/* The requests since the last check. */
static const char *kube_fake_story(struct kube_fake *f)
{
    const char *story = arena_strdup(f->a, str_buf_text(&f->story));
    str_buf_reset(&f->story);
    return story;
}

#endif
