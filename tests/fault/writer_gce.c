/* SPDX-License-Identifier: Apache-2.0 */
/* writer_gce.c: see writer_gce.h.  All but the list of unsteady nodes is touched in
 * the simulator's thread only. */
#include "tests/fault/writer_gce.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "sim/compute/compute.h"
#include "sim/kube/kube.h"

#define ATTACH    "compute.networkEndpointGroups.attachNetworkEndpoints"
#define DETACH    "compute.networkEndpointGroups.detachNetworkEndpoints"
#define UPDATE    "compute.regionBackendServices.update"
#define OURS      "k8s2-"
#define MINE      "writer-"
#define FIREWALLS "projects/trimtab-sim/global/firewalls/"
#define WALLS_MAX 40
#define MADE_BY   "made by hand"

struct writer_gce {
    struct rng *rng;
    bool busy;
    bool paused;
    unsigned n_walls;     /* firewalls that it made */
    unsigned n_edits;     /* of backend services */
    unsigned n_members;   /* of NEGs */
    unsigned n_seen;      /* detaches that were judged */
    struct map *edited;   /* names of NEGs */
    struct map *timeouts; /* id of a backend service → int64_t * */
    char *violation;      /* the first; NULL: none */
    struct mutex lock;
    struct map *unsteady; /* names of nodes */
};

struct writer_gce *writer_gce_new(uint64_t seed, bool busy)
{
    struct writer_gce *w = xcalloc(1, sizeof(*w));
    w->rng = rng_seeded_new(seed);
    w->busy = busy;
    w->edited = map_new(NULL);
    w->timeouts = map_new(free);
    w->unsteady = map_new(NULL);
    mutex_init(&w->lock);
    return w;
}

void writer_gce_free(struct writer_gce *w)
{
    if (w != NULL) {
        rng_free(w->rng);
        map_free(w->edited);
        map_free(w->timeouts);
        map_free(w->unsteady);
        mutex_done(&w->lock);
        free(w->violation);
        free(w);
    }
}

void writer_gce_unsteady(struct writer_gce *w, const char *node)
{
    mutex_lock(&w->lock);
    map_set(w->unsteady, node, NULL);
    mutex_unlock(&w->lock);
}

static bool is_unsteady(struct writer_gce *w, const char *node)
{
    mutex_lock(&w->lock);
    bool is = map_has(w->unsteady, node);
    mutex_unlock(&w->lock);
    return is;
}

static bool one_in(struct writer_gce *w, uint64_t n)
{
    return rng_below(w->rng, n) == 0;
}

/* ---- edits ----------------------------------------------------------------------------------- */

static void edit_service(struct writer_gce *w, struct compute *c, struct arena *a, const char *path)
{
    struct resource *res = ce_store_get(c, path);
    if (res == NULL || !str_has_prefix(ce_path_name(path), OURS)) {
        return;
    }
    struct json_object *body = json_copy(res->body);
    int64_t *timeout = xcalloc(1, sizeof(*timeout));
    *timeout = 31 + w->n_edits++ % 50;
    json_add_int(body, "timeoutSec", *timeout);
    json_add_str(body, "fingerprint", compute_fingerprint(c, a));
    if (one_in(w, 2)) {
        json_add_str(body, "description", MADE_BY);
    }
    map_set(w->timeouts, str_nonnull(json_str(body, "id")), timeout);
    (void)ce_store_put(c, path, body);
}

static void make_wall(struct writer_gce *w, struct compute *c, struct arena *a)
{
    const char *path = arena_printf(a, FIREWALLS MINE "%u", w->n_walls);
    struct json_object *o = ce_seed_body(c, a, "compute#firewall", path);
    json_add_str(o, "description", arena_printf(a, "wall %u", w->n_walls++));
    json_add_str(
        o, "network",
        "https://www.googleapis.com/compute/v1/projects/trimtab-sim/global/networks/default");
    (void)ce_store_put(c, path, o);
}

static void note_size(struct resource *neg)
{
    json_add_int(neg->body, "size", (int64_t)json_len(neg->members));
}

static bool is_member(const struct resource *neg, const char *instance)
{
    for (size_t i = 0; i < json_len(neg->members); i++) {
        struct json_object *m = json_object_array_get_idx(neg->members, i);
        if (str_eq(ce_path_name(str_nonnull(json_str(m, "instance"))), instance)) {
            return true;
        }
    }
    return false;
}

/* A machine of the NEG's zone that is not in it. */
struct guest {
    const char *folder; /* "projects/p/zones/z/instances/" */
    const struct resource *neg;
    struct resource *vm;
};

static bool find_guest(struct resource *vm, void *arg)
{
    struct guest *g = arg;
    if (str_has_prefix(vm->path, g->folder) && !is_member(g->neg, ce_path_name(vm->path))) {
        g->vm = vm;
    }
    return g->vm == NULL;
}

static void add_guest(struct compute *c, struct arena *a, struct resource *neg)
{
    const char *end = strstr(neg->path, "/networkEndpointGroups/");
    struct guest g = {.neg = neg};
    g.folder = arena_printf(a, "%.*s/instances/", (int)(end - neg->path), neg->path);
    ce_store_each(c, "instances", find_guest, &g);
    if (g.vm == NULL) {
        return;
    }
    struct json_object *nics = json_member(g.vm->body, "networkInterfaces");
    _cleanup_(json_putp) struct json_object *e = json_object_new_object();
    json_add_str(e, "instance", ce_path_name(g.vm->path));
    json_add_str(e, "ipAddress", json_str(json_object_array_get_idx(nics, 0), "networkIP"));
    if (neg->members == NULL) {
        neg->members = json_object_new_array();
    }
    json_object_array_add(neg->members, ce_endpoint_intern(c, e));
}

static void edit_neg(struct writer_gce *w, struct compute *c, struct arena *a, struct resource *neg)
{
    size_t n = json_len(neg->members);
    if (n > 0 && one_in(w, 2)) {
        json_object_array_del_idx(neg->members, rng_below(w->rng, n), 1);
    } else {
        add_guest(c, a, neg);
    }
    note_size(neg);
    map_set(w->edited, ce_path_name(neg->path), NULL);
}

/* Any NEG of ours. */
struct pick {
    struct writer_gce *w;
    struct resource *neg;
    uint64_t n;
};

static bool pick_neg(struct resource *res, void *arg)
{
    struct pick *p = arg;
    if (str_has_prefix(ce_path_name(res->path), OURS) && one_in(p->w, ++p->n)) {
        p->neg = res;
    }
    return true;
}

static void meddle(struct sim *s, void *arg)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct compute *c = sim_module_state(s, "gce");
    struct pick p = {.w = arg};
    ce_store_each(c, "networkEndpointGroups", pick_neg, &p);
    if (p.neg != NULL && p.w->busy && !p.w->paused) {
        edit_neg(arg, c, a, p.neg);
    }
}

void writer_gce_meddle(struct writer_gce *w, struct rig *r)
{
    rig_in_sim(r, meddle, w);
}

/* ---- the order of calls ---------------------------------------------------------------------- */

/* All NEGs of one name. */
struct family {
    const char *name;
    size_t members;
};

static bool count_members(struct resource *neg, void *arg)
{
    struct family *f = arg;
    f->members += str_eq(ce_path_name(neg->path), f->name) ? json_len(neg->members) : 0;
    return true;
}

static struct json_object *object(const struct kube_state *st, const char *plural, const char *ns,
                                  const char *name)
{
    struct kube_obj *o = kube_db_get(st->store, kube_kind_by_plural(plural)->store, ns, name);
    return o == NULL ? NULL : kube_obj_tree(o);
}

/* A node that is there and was never taken away, nor shut out. */
static bool is_steady(struct writer_gce *w, const struct kube_state *st, const char *node)
{
    _cleanup_(json_putp) struct json_object *o = object(st, "nodes", "", node);
    return o != NULL && !is_unsteady(w, node);
}

/* The Service of a NEG, by its description; new reference, NULL if there is none. */
static struct json_object *service_of(const struct kube_state *st, struct arena *a,
                                      const struct resource *neg)
{
    const char *text = str_nonnull(json_str(neg->body, "description"));
    struct json_object *o = NULL;
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return NULL;
    }
    return object(st, "services", str_nonnull(json_str(o, "namespace")),
                  str_nonnull(json_str(o, "service-name")));
}

static const char *neg_path(struct arena *a, const char *path)
{
    const char *from = strstr(path, "projects/");
    const char *to = strrchr(path, '/');
    return from == NULL ? "" : arena_strndup(a, from, (size_t)(to - from));
}

static void judge_detach(struct writer_gce *w, const struct sim_call *call)
{
    struct arena *a = call->arena;
    struct compute *c = sim_module_state(call->sim, "gce");
    const struct kube_state *st = sim_module_state(call->sim, "kubernetes");
    struct resource *neg = ce_store_get(c, neg_path(a, call->path));
    struct json_object *body = NULL;
    if (neg == NULL ||
        json_parse_arena(a, call->body, call->body_len, NULL, &body, NULL) != ERR_OK) {
        return;
    }
    _cleanup_(json_putp) struct json_object *service = service_of(st, a, neg);
    struct family f = {.name = ce_path_name(neg->path)};
    ce_store_each(c, "networkEndpointGroups", count_members, &f);
    struct json_object *list = json_member(body, "networkEndpoints");
    bool steady = service != NULL && !map_has(w->edited, f.name);
    size_t leave = 0; /* one that is asked for again names who has left */
    for (size_t i = 0; i < json_len(list) && steady; i++) {
        const char *link = str_nonnull(json_str(json_object_array_get_idx(list, i), "instance"));
        steady = is_steady(w, st, ce_path_name(link));
        leave += is_member(neg, ce_path_name(link));
    }
    if (steady && leave > 0 && leave == f.members && w->violation == NULL) {
        w->violation = xasprintf("a detach empties the NEGs of %s before anybody was attached",
                                 json_str(json_member(service, "metadata"), "name"));
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

void writer_gce_before_call(void *arg, const struct sim_call *call)
{
    struct writer_gce *w = arg;
    struct compute *c = sim_module_state(call->sim, "gce");
    struct arena *a = call->arena;
    bool members = str_eq(call->op, ATTACH) || str_eq(call->op, DETACH);
    if (str_eq(call->op, DETACH)) {
        judge_detach(w, call);
    }
    if (!w->busy || w->paused) {
        return;
    }
    if (str_eq(call->op, UPDATE) && one_in(w, 2)) {
        edit_service(w, c, a, strstr(call->path, "projects/"));
    } else if (members && one_in(w, 6)) {
        struct resource *neg = ce_store_get(c, neg_path(a, call->path));
        if (neg != NULL) {
            edit_neg(w, c, a, neg);
        }
    } else if (str_eq(call->op, "compute.firewalls.insert") && one_in(w, 3) &&
               w->n_walls < WALLS_MAX) {
        make_wall(w, c, a);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void set_paused(struct sim *s, void *arg)
{
    (void)s;
    ((struct writer_gce *)arg)->paused = true;
}

static void set_resumed(struct sim *s, void *arg)
{
    (void)s;
    ((struct writer_gce *)arg)->paused = false;
}

void writer_gce_pause(struct writer_gce *w, struct rig *r, bool paused)
{
    rig_in_sim(r, paused ? set_paused : set_resumed, w);
}

struct end {
    struct writer_gce *w;
    struct arena *a;
    const char *wrong; /* NULL: nothing */
    struct compute *c;
};

static bool check_timeout(struct resource *res, void *arg)
{
    struct end *e = arg;
    const int64_t *timeout = map_get(e->w->timeouts, str_nonnull(json_str(res->body, "id")));
    if (timeout != NULL && json_int(res->body, "timeoutSec", 0) != *timeout) {
        e->wrong = arena_printf(e->a, "another writer's timeout of %s is gone", res->path);
    }
    if (timeout != NULL) {
        json_add_int(res->body, "timeoutSec", 30); /* the cloud's own */
    }
    return true;
}

static void check(struct sim *s, void *arg)
{
    struct end *e = arg;
    e->c = sim_module_state(s, "gce");
    for (unsigned i = 0; i < e->w->n_walls; i++) {
        const char *path = arena_printf(e->a, FIREWALLS MINE "%u", i);
        const struct resource *res = ce_store_get(e->c, path);
        const char *want = arena_printf(e->a, "wall %u", i);
        if (res == NULL || !str_eq(json_str(res->body, "description"), want)) {
            e->wrong = arena_printf(e->a, "another writer's %s was touched", path);
        }
        if (res != NULL) {
            ce_store_remove(e->c, path);
        }
    }
    ce_store_each(e->c, "backendServices", check_timeout, e);
    if (e->w->violation != NULL) {
        e->wrong = arena_strdup(e->a, e->w->violation);
    }
}

int writer_gce_check(struct writer_gce *w, struct rig *r, struct arena *a, struct err *err)
{
    struct end e = {.w = w, .a = a};
    rig_in_sim(r, check, &e);
    return e.wrong == NULL ? ERR_OK : err_set(err, ERR_CONFLICT, "%s", e.wrong);
}
