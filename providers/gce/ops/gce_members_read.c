/* SPDX-License-Identifier: Apache-2.0 */
/* gce_members_read.c: see gce_members_read.h. */
#include "providers/gce/ops/gce_members_read.h"

#include "common/base/str.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/cache/gce_cluster_id.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/ops/gce_ops.h"

#include <string.h>

#define MEMBERS_MAX 20000 /* more than Google puts into one; a list that never ends is refused */

/* One list in progress. */
struct reading {
    struct gce_members_list *list;
    struct arena *a;
    struct gce_read read;
    struct gce_splitter cutter;
    struct json_object *body;
    size_t cap;
    struct err bad; /* an item that is no member */
};

static bool endpoint_of(const struct reading *r, struct json_object *o, struct gce_endpoint *ret)
{
    struct json_object *e = r->list->c == GCE_NEGS ? json_member(o, "networkEndpoint") : o;
    const char *instance = json_str(e, "instance");
    if (str_is_empty(instance) || str_is_empty(gce_link_last(instance))) {
        return false;
    }
    /* The name comes as name or as link (§9.2). */
    ret->instance = arena_strdup(r->a, gce_link_last(instance));
    ret->ip = arena_strdup(r->a, str_nonnull(json_str(e, "ipAddress")));
    ret->ipv6 = arena_strdup(r->a, str_nonnull(json_str(e, "ipv6Address")));
    return true;
}

static void take(void *arg, const char *text, size_t n)
{
    struct reading *r = arg;
    struct gce_members_list *l = r->list;
    struct gce_endpoint e;
    _cleanup_(json_putp) struct json_object *o = NULL;
    if (r->bad.code != ERR_OK) {
        return;
    }
    if (l->n >= MEMBERS_MAX) {
        (void)err_set(&r->bad, ERR_TRANSIENT, "it has more than %d members", MEMBERS_MAX);
        return;
    }
    if (json_parse(text, n, NULL, &o, NULL) != ERR_OK || !endpoint_of(r, o, &e)) {
        (void)err_set(&r->bad, ERR_TRANSIENT, "one of its members is not readable");
        return;
    }
    if (l->n == r->cap) {
        r->cap = r->cap == 0 ? 32 : r->cap * 2;
        struct gce_endpoint *more = ARENA_ARRAY(r->a, struct gce_endpoint, r->cap);
        if (l->n > 0) {
            memcpy(more, l->items, l->n * sizeof(*more));
        }
        l->items = more;
    }
    l->items[l->n++] = e;
}

static int compare(const void *x, const void *y)
{
    const struct gce_endpoint *a = x;
    const struct gce_endpoint *b = y;
    int order = strcmp(a->instance, b->instance);
    order = order != 0 ? order : strcmp(a->ip, b->ip);
    return order != 0 ? order : strcmp(a->ipv6, b->ipv6);
}

/* Pages may overlap when members change between them. */
static void sort_and_unique(struct gce_members_list *l)
{
    size_t kept = 0;
    if (l->n > 0) {
        qsort(l->items, l->n, sizeof(*l->items), compare);
    }
    for (size_t i = 0; i < l->n; i++) {
        if (kept == 0 || compare(&l->items[kept - 1], &l->items[i]) != 0) {
            l->items[kept++] = l->items[i];
        }
    }
    l->n = kept;
}

static void begin(struct reading *r, struct lb_sync *s, struct gce_members_list *l)
{
    const struct gce_cloud *cloud = gce_cloud_of(s);
    bool neg = l->c == GCE_NEGS;
    *r = (struct reading){.list = l, .a = s->a, .body = json_object_new_object()};
    l->absent = false;
    l->items = NULL;
    l->n = 0;
    err_clear(&l->err);
    json_add_str(r->body, neg ? "healthStatus" : "instanceState", neg ? "SKIP" : "ALL");
    gce_splitter_init(&r->cutter, take, r);
    const struct gce_call_spec spec = {
        .collection = l->c,
        .verb = neg ? GCE_LIST_ENDPOINTS : GCE_LIST_INSTANCES,
        .zone = l->zone,
        .name = l->name,
        .body = r->body,
        .cutter = &r->cutter,
    };
    gce_read_init(&r->read, &cloud->api, s->call, s->a, &spec);
    r->read.job.cancel = s->cancel;
}

static void end(struct reading *r, struct lb_sync *s)
{
    struct gce_members_list *l = r->list;
    const struct err *err = &r->read.job.err;
    s->reads += r->read.call.requests;
    gce_splitter_done(&r->cutter);
    json_object_put(r->body);
    if (err->code == ERR_NOT_FOUND) {
        l->absent = true;
        l->n = 0;
        return;
    }
    if (err->code != ERR_OK || r->bad.code != ERR_OK) {
        (void)err_copy(&l->err, err->code != ERR_OK ? err : &r->bad);
        (void)err_prefix(&l->err, "error listing the members of %s %s in zone %s",
                         gce_collection_word(l->c), l->name, l->zone);
        return;
    }
    sort_and_unique(l);
}

/* A group that bears the id of a cluster that is not chosen yet. */
static void none_yet(struct gce_members_list *l)
{
    l->absent = true;
    l->items = NULL;
    l->n = 0;
    err_clear(&l->err);
}

void gce_members_read(struct lb_sync *s, struct gce_members_list *lists, size_t n)
{
    struct reading *r = ARENA_ARRAY(s->a, struct reading, n);
    struct http_job **jobs = ARENA_ARRAY(s->a, struct http_job *, n);
    if (n == 0) {
        return;
    }
    size_t asked = 0;
    for (size_t i = 0; i < n; i++) {
        if (strstr(lists[i].name, GCE_CLUSTER_ID_UNKNOWN) != NULL) {
            none_yet(&lists[i]);
            continue;
        }
        begin(&r[asked], s, &lists[i]);
        jobs[asked] = &r[asked].read.job;
        asked++;
    }
    if (asked > 0) {
        http_run(s->http, jobs, asked);
    }
    for (size_t i = 0; i < asked; i++) {
        end(&r[i], s);
    }
}
