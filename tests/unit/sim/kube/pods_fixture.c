/* SPDX-License-Identifier: Apache-2.0 */
/* pods_fixture.c: see pods_fixture.h. */
#include "tests/unit/sim/kube/pods_fixture.h"

#include <stdlib.h>
#include <string.h>

const char *pf_pod(struct kf *f, const char *name, const char *more, const char *status)
{
    return kf_quoted(
        f, arena_printf(f->a,
                        "{'metadata':{'name':'%s','labels':{'app':'web'}},'spec':{'containers':[{"
                        "'name':'c','image':'i:1','ports':[{'name':'http','containerPort':8080}]}]"
                        "%s}%s%s}",
                        name, more, *status ? ",'status':" : "", status));
}

void pf_make(struct kf *f, const char *name, const char *more, const char *status)
{
    kf_expect(kf_do(f, "POST", PODS, pf_pod(f, name, more, status)), 201, name);
    kf_settle(f);
}

void pf_service(struct kf *f, const char *target, const char *more)
{
    const char *body = arena_printf(f->a,
                                    "{'metadata':{'name':'web'},'spec':{'selector':{'app':'web'},"
                                    "'ports':[{'name':'http','port':80,'targetPort':%s}]%s}}",
                                    target, more);
    kf_expect(kf_do(f, "POST", SERVICES, kf_quoted(f, body)), 201, "service");
    kf_settle(f);
}

/* --- slices as text --------------------------------------------------------------------------- */
static const char *first_name(struct json_object *list)
{
    return json_len(list) > 0 ? json_str(json_object_array_get_idx(list, 0), "name") : NULL;
}

static void append_endpoint(struct str_buf *b, struct json_object *e)
{
    static const struct {
        const char *name;
        char letter;
    } conditions[] = {{"ready", 'r'}, {"serving", 's'}, {"terminating", 't'}};
    struct json_object *addresses = json_member(e, "addresses");
    const char *zone = first_name(json_path(e, "hints.forZones"));
    const char *node = first_name(json_path(e, "hints.forNodes"));
    str_appendf(b, " %s", str_nonnull(json_str(json_member(e, "targetRef"), "name")));
    if (json_str(e, "hostname")) {
        str_appendf(b, "/%s", json_str(e, "hostname"));
    }
    str_appendf(b, "@%s=", str_nonnull(json_str(e, "nodeName")));
    for (size_t i = 0; i < json_len(addresses); i++) {
        str_appendf(b, "%s%s", i ? "," : "",
                    json_object_get_string(json_object_array_get_idx(addresses, i)));
    }
    str_append(b, "(");
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
        bool on = json_bool(json_member(e, "conditions"), conditions[i].name, false);
        str_append_c(b, on ? conditions[i].letter : '-');
    }
    str_appendf(b, ")%s%s%s%s", zone ? "^" : "", str_nonnull(zone), node ? "~" : "",
                str_nonnull(node));
}

static const char *slice_text(struct kf *f, struct json_object *slice)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *ports = json_member(slice, "ports");
    struct json_object *endpoints = json_member(slice, "endpoints");
    str_append(&b, json_str(slice, "addressType"));
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        str_appendf(&b, "%s%s:%lld/%s", i ? "," : " ", json_str(p, "name"),
                    (long long)json_int(p, "port", 0), json_str(p, "protocol"));
    }
    for (size_t i = 0; i < json_len(endpoints); i++) {
        append_endpoint(&b, json_object_array_get_idx(endpoints, i));
    }
    return str_buf_to_arena(&b, f->a);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct json_object *list_slices(struct kf *f, const char *service)
{
    struct kf_call *c =
        kf_do(f, "GET",
              arena_printf(f->a, SLICES "?labelSelector=kubernetes.io/service-name%%3D%s", service),
              NULL);
    kf_expect(c, 200, "slices");
    return json_member(c->json, "items");
}

const char *pf_slices(struct kf *f, const char *service)
{
    struct json_object *items = list_slices(f, service);
    size_t n = json_len(items);
    const char **texts = ARENA_ARRAY(f->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        texts[i] = slice_text(f, json_object_array_get_idx(items, i));
    }
    qsort(texts, n, sizeof(*texts), by_text);
    return str_join(f->a, texts, n, " | ");
}

static int larger_first(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

const char *pf_sizes(struct kf *f, const char *service)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct json_object *items = list_slices(f, service);
    size_t n = json_len(items);
    size_t *sizes = ARENA_ARRAY(f->a, size_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        sizes[i] = json_len(json_member(json_object_array_get_idx(items, i), "endpoints"));
    }
    qsort(sizes, n, sizeof(*sizes), larger_first);
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "%s%zu", i ? " " : "", sizes[i]);
    }
    return str_buf_to_arena(&b, f->a);
}
