/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_load.c: Services and Nodes for a sub-command, from where the flags say; see cmd_session.h.
 *
 * A live cluster is read once, by the controller's own reflectors, which end when the first lists
 * are in.  Decoding is the controller's own, so what is planned here is what the
 * controller would see. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/strset.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "controller/cmd/cmd_input.h"
#include "controller/cmd/cmd_load.h"
#include "controller/cmd/cmd_session.h"
#include "controller/kube/watch/reflector.h"
#include "controller/metrics/client_metrics.h"

#define REACH_MS  10000 /* for a server that has trouble which may pass */
#define SLICE_MS  500   /* how often that is checked */
#define STATE_MAX (512u << 20)

static void unref_object(void *o)
{
    kube_object_unref(o);
}

int cmd_load_decode(struct cmd_session *s, enum kube_kind kind, struct json_object *o,
                    struct kube_object **ret, struct err *err)
{
    struct json_object *meta = json_member(o, "metadata");
    if (json_object_is_type(meta, json_type_object) &&
        json_member(meta, "resourceVersion") == NULL) {
        json_add_str(meta, "resourceVersion", "0");
    }
    int code = kube_object_decode(kind, o, ret, err);
    if (code == ERR_OK) {
        arena_defer(s->a, unref_object, *ret);
    }
    return code;
}

/* ---- lists of the session -------------------------------------------------------------------- */

static int cmp_node(const void *a, const void *b)
{
    return strcmp((*(const struct tt_node *const *)a)->name,
                  (*(const struct tt_node *const *)b)->name);
}

static int cmp_service(const struct tt_service *x, const struct tt_service *y)
{
    int c = strcmp(x->ns, y->ns);
    return c != 0 ? c : strcmp(x->name, y->name);
}

void cmd_load_service(struct cmd_session *s, const struct tt_service *svc)
{
    s->services =
        cmd_grow(s->a, s->services, s->n_services, &s->cap_services, sizeof(*s->services));
    s->services[s->n_services++] = svc;
}

void cmd_load_node(struct cmd_session *s, const struct tt_node *node)
{
    s->nodes = cmd_grow(s->a, s->nodes, s->n_nodes, &s->cap_nodes, sizeof(*s->nodes));
    s->nodes[s->n_nodes++] = node;
}

void cmd_load_want(struct cmd_session *s, const char *key)
{
    s->wanted = cmd_grow(s->a, s->wanted, s->n_wanted, &s->cap_wanted, sizeof(*s->wanted));
    s->wanted[s->n_wanted++] = key;
}

void cmd_load_sort_wanted(struct cmd_session *s)
{
    struct str_set once = str_set_make(s->a, s->wanted, s->n_wanted);
    s->wanted = (const char **)once.items;
    s->n_wanted = s->cap_wanted = once.n;
}

struct placed {
    const struct tt_service *svc;
    size_t at;
};

static int cmp_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    int c = cmp_service(x->svc, y->svc);
    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

/* By key; of several with the same key the one that was pushed last stays: a manifest beats the
 * cluster, whose object is kept among the replaced ones. */
static void sort_services(struct cmd_session *s)
{
    struct placed *all = ARENA_ARRAY(s->a, struct placed, s->n_services);
    for (uint32_t i = 0; i < s->n_services; i++) {
        all[i] = (struct placed){s->services[i], i};
    }
    qsort(all, s->n_services, sizeof(*all), cmp_placed);
    s->replaced = ARENA_ARRAY(s->a, const struct tt_service *, s->n_services);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_services; i++) {
        bool same = n > 0 && cmp_service(s->services[n - 1], all[i].svc) == 0;
        if (same) {
            s->replaced[s->n_replaced++] = s->services[--n];
        }
        s->services[n++] = all[i].svc;
    }
    s->n_services = n;
}

/* ---- the cluster ----------------------------------------------------------------------------- */

bool cmd_load_names_no_cluster(const struct cmd_args *a)
{
    return str_is_empty(a->kubeconfig) && str_is_empty(a->master) && str_is_empty(a->context);
}

static bool wants_cluster(const struct cmd_args *a)
{
    return !cmd_load_names_no_cluster(a) ||
           (str_is_empty(a->nodes_file) && str_is_empty(a->state_file));
}

/* As a warning on stderr; of Services it is remembered. */
static void note_unreadable(struct cmd_session *s, const struct kube_object *o)
{
    if (o->unreadable == NULL) {
        return;
    }
    fprintf(stderr, "warning: %s %s: part of it cannot be read: %s\n", kube_kind_name(o->kind),
            str_clean(s->a, o->key), str_clean(s->a, o->unreadable));
    if (o->kind == KUBE_SERVICE) {
        s->unreadable = cmd_grow(s->a, s->unreadable, s->n_unreadable, &s->cap_unreadable,
                                 sizeof(*s->unreadable));
        s->unreadable[s->n_unreadable++] = (struct cmd_note){o->key, o->unreadable};
    }
}

bool cmd_session_can_read(const struct cmd_session *s, const char *key, struct err *err)
{
    const struct tt_service *svc = cmd_session_service(s, key);
    bool is_left = svc_is_unreadable(svc) && svc->deleted_us == 0; /* a manifest may fix it */
    for (size_t i = 0; is_left && i < s->n_unreadable; i++) {
        if (str_eq(s->unreadable[i].key, key)) {
            (void)err_set(
                err, ERR_INVALID,
                "part of the Service cannot be read: %s; its load balancer is left as it is "
                "until that is mended or the Service is deleted",
                s->unreadable[i].text);
            return false;
        }
    }
    return true;
}

static void take_services(struct cmd_session *s, const struct kube_snapshot *all)
{
    for (size_t i = 0; i < all->n; i++) {
        arena_defer(s->a, unref_object, kube_object_ref(all->objects[i]));
        note_unreadable(s, all->objects[i]);
        cmd_load_service(s, all->views[i]);
    }
}

static void take_nodes(struct cmd_session *s, const struct kube_snapshot *all)
{
    s->nodes = ARENA_ARRAY(s->a, const struct tt_node *, all->n);
    s->n_nodes = (uint32_t)all->n;
    for (size_t i = 0; i < all->n; i++) {
        arena_defer(s->a, unref_object, kube_object_ref(all->objects[i]));
        note_unreadable(s, all->objects[i]);
        s->nodes[i] = all->views[i];
    }
}

/* The controller would wait forever; a person wants to hear soon what is wrong. */
static int wait_for_lists(struct cmd_session *s, struct kube_reflectors *r, struct err *err)
{
    const int64_t began = clock_now_ms(clock_real());
    for (;;) {
        int64_t now = clock_now_ms(clock_real());
        struct err trouble = ERR_INIT;
        if (kube_reflectors_wait_synced(r, now + SLICE_MS, err) == ERR_OK) {
            return ERR_OK;
        }
        int64_t took = clock_now_ms(clock_real()) - began;
        int code = kube_reflectors_trouble(r, &trouble);
        bool lasts = code != ERR_OK && took >= REACH_MS;
        if (lasts || kube_reflectors_gave_up(r) || cmd_wait_expired(s->wait)) {
            return code != ERR_OK ? err_copy(err, &trouble) : err->code;
        }
        err_clear(err);
    }
}

/* Lists everything of the stores' kinds, once. */
static int read_lists(struct cmd_session *s, struct kube_store *const *stores, size_t n,
                      struct err *err)
{
    struct kube_reflectors *r = kube_reflectors_new(&(struct kube_reflectors_args){
        .config = s->config,
        .user_agent = "trimtab/" TRIMTAB_VERSION,
        .clock = clock_real(),
        .rng = rng_real(),
        .cancel = cmd_wait_cancel(s->wait),
        .observe = client_metrics_log,
        .gives_up = true,
    });
    for (size_t i = 0; i < n; i++) {
        kube_reflectors_add(r, stores[i], NULL);
    }
    cmd_wait_for(s->wait, "reading the cluster");
    int code = kube_reflectors_start(r, err);
    if (code == ERR_OK) {
        code = wait_for_lists(s, r, err);
    }
    kube_reflectors_free(r);
    cmd_wait_end(s->wait);
    if (code != ERR_OK) {
        err_prefix(err, "reading the cluster");
    }
    return code;
}

static int read_cluster(struct cmd_session *s, struct err *err)
{
    struct kube_store *services = kube_store_new(KUBE_SERVICE);
    struct kube_store *nodes = kube_store_new(KUBE_NODE);
    int code = read_lists(s, (struct kube_store *const[]){services, nodes}, 2, err);
    if (code == ERR_OK) {
        struct kube_snapshot *all_services = kube_store_snapshot(services);
        struct kube_snapshot *all_nodes = kube_store_snapshot(nodes);
        take_services(s, all_services);
        if (str_is_empty(s->args.nodes_file)) {
            take_nodes(s, all_nodes);
        }
        kube_snapshot_unref(all_services);
        kube_snapshot_unref(all_nodes);
    }
    kube_store_free(services);
    kube_store_free(nodes);
    return code;
}

/* Do endpoints concern any of the Services that the command is about? */
static bool wants_endpoints(const struct cmd_session *s)
{
    const struct tt_provider *d = &s->plugin->desc;
    if ((d->capabilities & TT_CAP_WANTS_ENDPOINTS) == 0 || s->config == NULL) {
        return false;
    }
    bool any = d->endpoints_delay_ms == NULL;
    for (size_t i = 0; !any && i < s->n_wanted; i++) {
        any = d->endpoints_delay_ms(s->provider, cmd_session_service(s, s->wanted[i])) >= 0;
    }
    return any;
}

int cmd_session_load_slices(struct cmd_session *s, struct err *err)
{
    if (!wants_endpoints(s)) {
        return ERR_OK;
    }
    s->slices = kube_store_new(KUBE_SLICE);
    host_set_slices(s->host, s->slices);
    return read_lists(s, &s->slices, 1, err);
}

int cmd_load_connect(struct cmd_session *s, struct err *err)
{
    int code = kube_config_load(&(struct kube_config_args){.kubeconfig = s->args.kubeconfig,
                                                           .master = s->args.master,
                                                           .context = s->args.context,
                                                           .use_environment = true,
                                                           .clock = clock_real()},
                                &s->config, err);
    if (code != ERR_OK && cmd_load_names_no_cluster(&s->args)) {
        struct err why = *err;
        return err_set(err, code,
                       "%.700s; name a cluster with --kubeconfig=FILE, or do without one: "
                       "--nodes=FILE with -f FILE, or --state=WORLD",
                       why.message);
    }
    if (code != ERR_OK) {
        return kube_config_blame(s->args.kubeconfig, err);
    }
    s->client = kube_client_new(&(struct kube_client_args){.config = s->config,
                                                           .user_agent = "trimtab/" TRIMTAB_VERSION,
                                                           .qps = -1,
                                                           .cancel = cmd_wait_cancel(s->wait),
                                                           .observe = client_metrics_log,
                                                           .clock = clock_real()});
    return ERR_OK;
}

static int open_cluster(struct cmd_session *s, struct err *err)
{
    int code = cmd_load_connect(s, err);
    return code == ERR_OK ? read_cluster(s, err) : code;
}

/* ---- files ----------------------------------------------------------------------------------- */

int cmd_load_state(struct cmd_session *s, struct err *err)
{
    char *text;
    size_t n;
    const struct json_limits limits = {.max_bytes = STATE_MAX, .max_values = 50000000};
    int code = cmd_input_read(s->a, s->args.state_file, STATE_MAX, &text, &n, err);
    if (code == ERR_OK) {
        code = json_parse_arena(s->a, text, n, &limits, &s->world, err);
        if (code == ERR_OK && !json_object_is_type(s->world, json_type_object)) {
            code = err_set(err, ERR_INVALID, "want a saved state: an object");
        }
        if (code != ERR_OK) {
            err_prefix(err, "%s", s->args.state_file);
        }
    }
    return code;
}

/* One of many objects of a saved state or a list: a warning names what cannot be read, and the
 * others are used. */
static int load_one_of_many(struct cmd_session *s, enum kube_kind kind, struct json_object *o,
                            struct kube_object **ret, struct err *err)
{
    const struct json_view tree = json_view_of_tree(o);
    const struct kube_salvage how = {0};
    if (json_path(o, "metadata.resourceVersion") == NULL) {
        return cmd_load_decode(s, kind, o, ret, err);
    }
    struct kube_object *object =
        kube_object_take(kind, s->a, json_view_whole(s->a, &tree), &how, err);
    if (object == NULL) {
        return err->code;
    }
    arena_defer(s->a, unref_object, object);
    note_unreadable(s, object);
    *ret = object;
    return ERR_OK;
}

static int take_node_objects(struct cmd_session *s, const char *file, struct json_object **items,
                             size_t n, struct err *err)
{
    const struct tt_node **nodes = ARENA_ARRAY(s->a, const struct tt_node *, n);
    int code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        struct kube_object *o = NULL;
        code = load_one_of_many(s, KUBE_NODE, items[i], &o, err);
        if (code == ERR_OK) {
            nodes[i] = o->node;
        } else {
            err_prefix(err, "%s", file);
        }
    }
    s->nodes = nodes;
    s->n_nodes = code == ERR_OK ? (uint32_t)n : 0;
    return code;
}

static int read_nodes(struct cmd_session *s, const char *file, struct err *err)
{
    struct json_object **items = NULL;
    struct cmd_faults faults = {.a = s->a};
    size_t n = 0;
    int code = cmd_nodes_read(s->a, file, &faults, &items, &n, err);
    if (code == ERR_OK) {
        code = cmd_faults_settle(&faults, s->targets.validate, err);
    }
    return code == ERR_OK ? take_node_objects(s, file, items, n, err) : code;
}

static int read_world_nodes(struct cmd_session *s, struct err *err)
{
    struct json_object *list = json_path(s->world, "kubernetes.nodes");
    size_t n = json_len(list);
    struct json_object **items = ARENA_ARRAY(s->a, struct json_object *, n);
    for (size_t i = 0; i < n; i++) {
        items[i] = json_object_array_get_idx(list, i);
    }
    return take_node_objects(s, s->args.state_file, items, n, err);
}

/* Services of a world, when there is no cluster. */
static int read_world_services(struct cmd_session *s, struct err *err)
{
    struct json_object *items = json_path(s->world, "kubernetes.services");
    for (size_t i = 0; i < json_len(items); i++) {
        struct kube_object *o = NULL;
        int code = load_one_of_many(s, KUBE_SERVICE, json_object_array_get_idx(items, i), &o, err);
        if (code != ERR_OK) {
            (void)err_prefix(err, "%s", s->args.state_file);
            return code;
        }
        cmd_load_service(s, o->service);
    }
    return ERR_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_ours(const struct cmd_session *s, const struct tt_service *svc)
{
    const struct sync_scope scope = cmd_session_scope(s);
    return scope_wants(&scope, svc) || scope_needs_cleanup(&scope, svc);
}

static int no_such_service(struct cmd_session *s, const char *key, struct err *err)
{
    const char **keys = ARENA_ARRAY(s->a, const char *, s->n_services);
    for (uint32_t i = 0; i < s->n_services; i++) {
        keys[i] = svc_key(s->a, s->services[i]);
    }
    return err_set(err, ERR_NOT_FOUND, "there is no Service %s in %s%s", key,
                   s->client != NULL ? "the cluster"
                                     : str_or(s->args.state_file, "the given files"),
                   str_near_hint(s->a, key, keys, s->n_services));
}

static bool is_wanted(const struct cmd_session *s, const char *key)
{
    for (size_t i = 0; i < s->n_wanted; i++) {
        if (str_eq(s->wanted[i], key)) {
            return true;
        }
    }
    return false;
}

/* Words name Services; without words and manifests all that want a load balancer. */
static int choose(struct cmd_session *s, struct err *err)
{
    const struct cmd_targets *t = &s->targets;
    for (size_t i = 0; i < t->words.n; i++) {
        const char *key = NULL;
        int code = cmd_targets_key(s->a, t, t->words.items[i], cmd_load_config_ns(s), &key, err);
        if (code != ERR_OK) {
            return code;
        }
        const struct tt_service *svc = cmd_session_service(s, key);
        if (svc == NULL) {
            return no_such_service(s, key, err);
        }
        if (!str_eq(svc->type, "LoadBalancer") && !is_wanted(s, key)) {
            cmd_load_note_type(s, key, svc, false);
        }
        cmd_load_want(s, key);
    }
    for (uint32_t i = 0; t->all && i < s->n_services; i++) {
        bool in_scope = t->ns == NULL || str_eq(t->ns, s->services[i]->ns);
        if (in_scope && is_ours(s, s->services[i])) {
            cmd_load_want(s, svc_key(s->a, s->services[i]));
        }
    }
    cmd_load_sort_wanted(s);
    return ERR_OK;
}

/* Reads the files that are not manifests.  Then the patience for cluster and cloud begins:
 * a pipe may be slow. */
static int read_files(struct cmd_session *s, struct err *err)
{
    int code = ERR_OK;
    if (!str_is_empty(s->args.state_file)) {
        code = cmd_load_state(s, err);
    }
    if (code == ERR_OK && !str_is_empty(s->args.nodes_file)) {
        code = read_nodes(s, s->args.nodes_file, err);
    }
    cmd_wait_free(s->wait);
    s->wait = cmd_wait_new(s->args.timeout_ms);
    return code;
}

static int read_sources(struct cmd_session *s, struct err *err)
{
    int code = read_files(s, err);
    if (code == ERR_OK && wants_cluster(&s->args)) {
        code = open_cluster(s, err);
    } else if (code == ERR_OK && s->world != NULL) {
        code = read_world_services(s, err);
        if (code == ERR_OK && str_is_empty(s->args.nodes_file)) {
            code = read_world_nodes(s, err);
        }
    }
    return code == ERR_OK ? cmd_load_manifests(s, err) : code;
}

void cmd_load_sort(struct cmd_session *s)
{
    sort_services(s);
    if (s->n_nodes > 0) {
        qsort(s->nodes, s->n_nodes, sizeof(*s->nodes), cmp_node);
    }
}

int cmd_session_load(struct cmd_session *s, struct err *err)
{
    int code = cmd_targets_read_planned(s->a, &s->args, &s->targets, err);
    if (code == ERR_OK) {
        code = read_sources(s, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    cmd_load_sort(s);
    return choose(s, err);
}
