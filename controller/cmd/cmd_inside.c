/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inside.c: reads what trace and render look at, from files, a saved state or a cluster; see
 * the header.
 *
 * A cluster is listed page by page, and each page is decoded and given back before the next: what
 * stays are the library's compact structs.  Pods are not listed: slices name them, and the one that
 * --from names is read by itself. */
#include "controller/cmd/cmd_inside.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/net/url_build.h"
#include "common/services/slices/slices.h"
#include "controller/cmd/cmd_input.h"
#include "controller/cmd/cmd_load.h"

#define PAGE      "500"
#define PAGES_MAX 2000 /* a million objects of a kind */

#define OF_EACH_MAX 8 /* Services whose slices are listed one by one */

/* ---- a cluster ------------------------------------------------------------------------------- */

static int get(struct cmd_session *s, struct arena *a, const char *path, const char *query,
               struct json_object **ret, struct err *err)
{
    struct kube_response resp;
    int code = kube_client_do(s->client, a,
                              &(struct kube_request){.method = "GET", .path = path, .query = query},
                              cmd_wait_cancel(s->wait), &resp, err);
    return code == ERR_OK ? json_parse_arena(a, resp.body, resp.body_len, NULL, ret, err) : code;
}

/* All objects of a kind, or those that `labels` (NULL: all) selects, page by page. */
static int list_kind(struct cmd_inside *in, const char *path, const char *labels, const char *kind,
                     struct err *err)
{
    const char *token = "";
    struct arena *a = arena_new();
    int code = ERR_OK;
    for (int page = 0; page < PAGES_MAX && (page == 0 || *token != '\0'); page++) {
        struct json_object *list = NULL;
        _cleanup_(str_buf_done) struct str_buf query = STR_BUF_INIT;
        url_append_pair(&query, "limit", PAGE);
        if (labels != NULL) {
            url_append_pair(&query, "labelSelector", labels);
        }
        if (*token != '\0') {
            url_append_pair(&query, "continue", token);
        }
        code = get(in->s, a, path, str_buf_text(&query), &list, err);
        if (code != ERR_OK) {
            (void)err_prefix(err, "listing %s", path);
            break;
        }
        struct json_object *items = json_member(list, "items");
        for (size_t i = 0; i < json_len(items); i++) {
            cmd_inside_add(in, json_object_array_get_idx(items, i), kind, "the cluster");
        }
        const char *next = str_nonnull(json_str(json_member(list, "metadata"), "continue"));
        token = arena_strdup(in->s->a, next);
        arena_reset(a);
    }
    arena_free(a);
    return code;
}

/* An object that not every cluster has, or not every reader may see. */
static void get_proxy(struct cmd_inside *in)
{
    struct err err = ERR_INIT;
    struct arena *a = arena_new();
    struct json_object *o = NULL;
    int code =
        get(in->s, a, "/api/v1/namespaces/kube-system/configmaps/kube-proxy", NULL, &o, &err);
    if (code == ERR_OK) {
        cmd_inside_add(in, o, "ConfigMap", "the cluster");
    } else if (code != ERR_NOT_FOUND) {
        fprintf(stderr, "note: kube-proxy's configuration cannot be read: %s\n", err.message);
    }
    arena_free(a);
}

/* The pod of --from, which may be behind no Service. */
static void get_client(struct cmd_inside *in)
{
    const char *ns = NULL;
    const char *name = cmd_inside_client_pod(in, &ns);
    struct err err = ERR_INIT;
    struct arena *a = arena_new();
    struct json_object *o = NULL;
    char *path = NULL;
    int code =
        name == NULL ? ERR_NOT_FOUND : kube_path(a, "v1", ns, "pods", name, NULL, &path, &err);
    if (code == ERR_OK) {
        code = get(in->s, a, path, NULL, &o, &err);
    }
    if (code == ERR_OK) {
        cmd_inside_add(in, o, "Pod", "the cluster");
    } else if (code != ERR_NOT_FOUND) {
        fprintf(stderr, "note: --from=pod/%s/%s cannot be read: %s\n", ns, name, err.message);
    }
    arena_free(a);
}

static int read_cluster(struct cmd_inside *in, struct err *err)
{
    static const struct {
        const char *path;
        const char *kind;
    } lists[] = {
        {"/api/v1/services", "Service"},
        {"/apis/discovery.k8s.io/v1/endpointslices", "EndpointSlice"},
        {"/api/v1/nodes", "Node"},
    };
    struct cmd_session *s = in->s;
    int code = cmd_load_connect(s, err);
    if (code != ERR_OK) {
        return code;
    }
    cmd_wait_for(s->wait, "reading the cluster");
    for (size_t i = 0; code == ERR_OK && i < ARRAY_LEN(lists); i++) {
        code = list_kind(in, lists[i].path, NULL, lists[i].kind, err);
    }
    if (code == ERR_OK) {
        struct err none = ERR_INIT; /* an older cluster has no ServiceCIDRs */
        get_proxy(in);
        get_client(in);
        (void)list_kind(in, "/apis/networking.k8s.io/v1/servicecidrs", NULL, "ServiceCIDR", &none);
    }
    cmd_wait_end(s->wait);
    if (code != ERR_OK) {
        (void)err_prefix(err, "reading the cluster");
    }
    return code;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_files(struct cmd_inside *in, struct err *err)
{
    struct cmd_input *inputs = NULL;
    size_t n = 0;
    int code = cmd_input_expand(in->s->a, &in->s->args.files, &inputs, &n, err);
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        code = cmd_inside_read_file(in, inputs[i].path, err);
    }
    return code;
}

static int read_state(struct cmd_inside *in, struct err *err)
{
    int code = cmd_load_state(in->s, err);
    if (code == ERR_OK) {
        cmd_inside_read_world(in, in->s->world, cmd_input_name(in->s->args.state_file));
    }
    return code;
}

static int read_all(struct cmd_inside *in, struct err *err)
{
    const struct cmd_args *args = &in->s->args;
    bool has_state = !str_is_empty(args->state_file);
    bool alone = args->files.n == 0 && !has_state;
    int code = has_state ? read_state(in, err) : ERR_OK;
    in->source = args->files.n > 0 ? "the files" : has_state ? "the saved state" : "the cluster";
    if (code == ERR_OK && (alone || !cmd_load_names_no_cluster(args))) {
        code = read_cluster(in, err);
        in->source = "the cluster";
    }
    return code == ERR_OK ? read_files(in, err) : code;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* Files without Nodes: those that the slices name, with the zones that stand there. */
static void make_nodes(struct cmd_inside *in)
{
    struct ks_cluster *c = &in->cluster;
    struct arena *a = in->s->a;
    struct map *seen = map_new(NULL);
    struct cmd_inside_list *list = &in->lists[CMD_INSIDE_NODE];
    for (size_t i = 0; i < c->n_slices; i++) {
        for (size_t k = 0; k < c->slices[i]->n_endpoints; k++) {
            const struct ks_slice_endpoint *e = &c->slices[i]->endpoints[k];
            if (str_is_empty(e->node_name) || map_has(seen, e->node_name)) {
                continue;
            }
            struct ks_node *node = ARENA_NEW(a, struct ks_node);
            *node = (struct ks_node){.meta = {.ns = "",
                                              .name = e->node_name,
                                              .generate_name = "",
                                              .uid = "",
                                              .resource_version = ""},
                                     .zone = str_nonnull(e->zone),
                                     .cpu = "",
                                     .ready = true};
            map_set(seen, e->node_name, node);
            list->items =
                cmd_grow(a, (void *)list->items, list->n, &list->cap, sizeof(*list->items));
            list->items[list->n++] = node;
        }
    }
    map_free(seen);
    in->nodes_made = list->n > 0;
}

/* Adds the slices that the EndpointSlice controller would make for a Service of its Pods,
 * `pods` to `pods` + n. */
static void add_slices(struct cmd_inside *in, const struct ks_service *s,
                       const struct ks_pod *const *pods, size_t n)
{
    struct arena *a = in->s->a;
    struct cmd_inside_list *list = &in->lists[CMD_INSIDE_SLICE];
    const struct ks_slice_input input = {.service = s,
                                         .pods = pods,
                                         .nodes = in->cluster.nodes,
                                         .n_pods = n,
                                         .n_nodes = in->cluster.n_nodes};
    const struct ks_slice_pass pass = ks_slices_pass(a, &input);
    for (size_t i = 0; i < pass.n_create; i++) {
        struct ks_slice *slice = arena_memdup(a, &pass.create[i], sizeof(pass.create[i]));
        slice->meta.name = arena_printf(a, "%s%zu", slice->meta.generate_name, i);
        list->items = cmd_grow(a, (void *)list->items, list->n, &list->cap, sizeof(*list->items));
        list->items[list->n++] = slice;
    }
}

/* Files without EndpointSlices: those that the controller would make.  Pods and Services
 * are sorted by namespace. */
static void make_slices(struct cmd_inside *in)
{
    const struct ks_cluster *c = &in->cluster;
    size_t from = 0;
    for (size_t i = 0; i < c->n_services; i++) {
        const struct ks_service *s = c->services[i];
        while (from < c->n_pods && strcmp(c->pods[from]->meta.ns, s->meta.ns) < 0) {
            from++;
        }
        size_t to = from;
        while (to < c->n_pods && str_eq(c->pods[to]->meta.ns, s->meta.ns)) {
            to++;
        }
        add_slices(in, s, to > from ? &c->pods[from] : NULL, to - from);
    }
    fprintf(stderr,
            "note: there is no EndpointSlice in %s: slices made from the Pods are used instead\n",
            in->source);
}

static void fill_cluster(struct cmd_inside *in)
{
    struct ks_cluster *c = &in->cluster;
    struct cmd_inside_list *l = in->lists;
    c->services = (struct ks_service const **)l[CMD_INSIDE_SERVICE].items;
    c->n_services = l[CMD_INSIDE_SERVICE].n;
    c->nodes = (struct ks_node const **)l[CMD_INSIDE_NODE].items;
    c->n_nodes = l[CMD_INSIDE_NODE].n;
    c->pods = (struct ks_pod const **)l[CMD_INSIDE_POD].items;
    c->n_pods = l[CMD_INSIDE_POD].n;
    c->service_cidrs = (const char **)l[CMD_INSIDE_SERVICE_CIDR].items;
    c->n_service_cidrs = l[CMD_INSIDE_SERVICE_CIDR].n;
    c->n_slices = 0;
    c->slices = ARENA_ARRAY(in->s->a, const struct ks_slice *, l[CMD_INSIDE_SLICE].n);
    for (size_t i = 0; i < l[CMD_INSIDE_SLICE].n; i++) {
        const struct ks_slice *slice = l[CMD_INSIDE_SLICE].items[i];
        if (ks_slice_owner(slice) != NULL) {
            c->slices[c->n_slices++] = slice;
        }
    }
}

const char *cmd_inside_client_pod(const struct cmd_inside *in, const char **ret_ns)
{
    const struct cmd_session *s = in->s;
    const char *from = str_nonnull(s->args.from);
    if (!str_has_prefix(from, "pod/")) {
        return NULL;
    }
    const char *word = from + strlen("pod/");
    const char *slash = strchr(word, '/');
    const char *own = s->config != NULL ? str_or(s->config->ns, "default") : "default";
    *ret_ns =
        slash != NULL ? arena_strndup(s->a, word, (size_t)(slash - word)) : str_or(s->args.ns, own);
    return slash != NULL ? slash + 1 : word;
}

int cmd_inside_load(struct cmd_inside *in, struct cmd_session *s, struct err *err)
{
    *in = (struct cmd_inside){
        .s = s, .seen = map_new(NULL), .doubts = map_new(NULL), .proxy = ks_proxy_default()};
    int code = read_all(in, err);
    if (code != ERR_OK) {
        return code;
    }
    if (in->n_unread > 5) {
        fprintf(stderr, "warning: %zu objects in all cannot be read and are left out\n",
                in->n_unread);
    }
    if (in->lists[CMD_INSIDE_SERVICE].n == 0) {
        return err_set(err, ERR_INVALID,
                       "there is no Service that can be read in %s; this command needs Services, "
                       "EndpointSlices and Nodes: kubectl get "
                       "services,endpointslices,nodes,configmaps -A -o json",
                       in->source);
    }
    /* In a cluster no slices mean no pods; in files they may be missing. */
    const bool no_slices = in->n_seen[CMD_INSIDE_SLICE] == 0 && s->client == NULL;
    const bool can_make = in->lists[CMD_INSIDE_POD].n > 0 && in->lists[CMD_INSIDE_NODE].n > 0;
    if (no_slices && !can_make) {
        return err_set(err, ERR_INVALID,
                       "there is no EndpointSlice in %s, so that the pods behind Services are not "
                       "known%s: kubectl get services,endpointslices,nodes,configmaps -A -o json",
                       in->source,
                       in->n_seen[CMD_INSIDE_POD] > 0 ? " (Pods stand in for them with their Nodes)"
                                                      : "");
    }
    fill_cluster(in);
    if (no_slices) {
        ks_cluster_sort(in->s->a, &in->cluster);
        make_slices(in);
        fill_cluster(in);
    }
    if (in->cluster.n_nodes == 0) {
        make_nodes(in);
        fill_cluster(in);
    }
    ks_cluster_sort(in->s->a, &in->cluster);
    cmd_load_sort(s);
    return ERR_OK;
}

/* ---- behind Services that are known ---------------------------------------------------------- */

/* The slices of the Services at hand: of each by itself while they are few, else all
 * of the cluster. */
static int list_slices(struct cmd_inside *in, struct err *err)
{
    struct cmd_session *s = in->s;
    int code = ERR_OK;
    if (s->n_wanted > OF_EACH_MAX) {
        return list_kind(in, "/apis/discovery.k8s.io/v1/endpointslices", NULL, "EndpointSlice",
                         err);
    }
    for (size_t i = 0; code == ERR_OK && i < s->n_wanted; i++) {
        const struct tt_service *svc = cmd_session_service(s, s->wanted[i]);
        char *path = NULL;
        if (svc == NULL || !str_eq(svc->type, "LoadBalancer")) {
            continue;
        }
        code = kube_path(s->a, "discovery.k8s.io/v1", svc->ns, "endpointslices", NULL, NULL, &path,
                         err);
        if (code == ERR_OK) {
            code =
                list_kind(in, path, arena_printf(s->a, "kubernetes.io/service-name=%s", svc->name),
                          "EndpointSlice", err);
        }
    }
    return code;
}

/* A pipe was read already. */
static int read_regular(struct cmd_inside *in, const char *path, struct err *err)
{
    struct stat st;
    bool regular = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return regular ? cmd_inside_read_file(in, path, err) : ERR_OK;
}

static int read_behind(struct cmd_inside *in, struct err *err)
{
    struct cmd_session *s = in->s;
    struct cmd_input *inputs = NULL;
    size_t n = 0;
    int code = ERR_OK;
    if (s->world != NULL) {
        cmd_inside_read_world(in, s->world, cmd_input_name(s->args.state_file));
    }
    if (s->client != NULL) {
        cmd_wait_for(s->wait, "reading endpoints");
        code = list_slices(in, err);
        if (code == ERR_OK && in->lists[CMD_INSIDE_SLICE].n > 0) {
            code = list_kind(in, "/api/v1/nodes", NULL, "Node", err);
        }
        cmd_wait_end(s->wait);
    }
    if (code == ERR_OK && !str_is_empty(s->args.nodes_file)) {
        code = read_regular(in, s->args.nodes_file, err);
    }
    if (code == ERR_OK) {
        code = cmd_input_expand(s->a, &s->args.files, &inputs, &n, err);
    }
    for (size_t i = 0; code == ERR_OK && i < n; i++) {
        code = read_regular(in, inputs[i].path, err);
    }
    return code;
}

void cmd_inside_load_behind(struct cmd_inside *in, struct cmd_session *s)
{
    struct err err = ERR_INIT;
    *in = (struct cmd_inside){.s = s,
                              .seen = map_new(NULL),
                              .doubts = map_new(NULL),
                              .proxy = ks_proxy_default(),
                              .behind = true};
    if (read_behind(in, &err) != ERR_OK) {
        fprintf(stderr, "note: the backends of Services are not shown: %s\n", err.message);
        in->lists[CMD_INSIDE_SLICE].n = 0;
    }
    fill_cluster(in);
    ks_cluster_sort(in->s->a, &in->cluster);
}

void cmd_inside_done(struct cmd_inside *in)
{
    map_free(in->seen);
    map_free(in->doubts);
}
