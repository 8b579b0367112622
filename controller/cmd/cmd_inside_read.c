/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inside_read.c: objects of documents, Lists and saved states; see cmd_inside.h.
 *
 * A dump of a large cluster is larger than a manifest may be, so that JSON is read here up to 256
 * MiB; YAML up to what yaml.h allows. */
#include <stdio.h>
#include <string.h>

#include "common/data/yaml.h"
#include "controller/cmd/cmd_input.h"
#include "controller/cmd/cmd_inside.h"
#include "controller/cmd/cmd_load.h"

#define DUMP_MAX       ((size_t)256 << 20)
#define DUMP_VALUES    ((size_t)40000000)
#define YAML_MAX       ((size_t)64 << 20)
#define WARNINGS_MAX   5
#define LIST_DEPTH_MAX 8

static const struct {
    const char *kind;
    const char *plural;
    const char *group; /* of apiVersion; "": core */
} kinds[CMD_INSIDE_KINDS] = {
    [CMD_INSIDE_SERVICE] = {"Service", "services", ""},
    [CMD_INSIDE_SLICE] = {"EndpointSlice", "endpointslices", "discovery.k8s.io/"},
    [CMD_INSIDE_NODE] = {"Node", "nodes", ""},
    [CMD_INSIDE_POD] = {"Pod", "pods", ""},
    [CMD_INSIDE_CONFIG_MAP] = {"ConfigMap", "configmaps", ""},
    [CMD_INSIDE_SERVICE_CIDR] = {"ServiceCIDR", "servicecidrs", "networking.k8s.io/"},
};

static enum cmd_inside_kind kind_of(struct json_object *o, const char *otherwise)
{
    const char *kind = json_str(o, "kind");
    const char *version = str_nonnull(json_str(o, "apiVersion"));
    for (int k = 0; k < CMD_INSIDE_KINDS; k++) {
        bool core = *kinds[k].group == '\0' && strchr(version, '/') == NULL;
        bool ours = *kinds[k].group != '\0' && str_has_prefix(version, kinds[k].group);
        if (str_eq(str_or(kind, otherwise), kinds[k].kind) && (core || ours || *version == '\0')) {
            return (enum cmd_inside_kind)k;
        }
    }
    return CMD_INSIDE_KINDS;
}

static void warn_unread(struct cmd_inside *in, const char *place, const char *what, const char *why)
{
    struct arena *a = in->s->a;
    if (in->n_unread++ < WARNINGS_MAX) {
        fprintf(stderr, "warning: %s: %s cannot be read and is left out: %s\n", str_clean(a, place),
                str_clean(a, what), str_clean(a, why));
    }
}

/* The same port of the Service that stands: by name, else by number. */
static const struct ks_service_port *port_of(const struct ks_service *live,
                                             const struct ks_service_port *port)
{
    for (size_t i = 0; i < live->n_ports; i++) {
        bool named = *port->name != '\0' && str_eq(live->ports[i].name, port->name);
        if (named || (live->ports[i].port == port->port &&
                      str_eq(live->ports[i].protocol, port->protocol))) {
            return &live->ports[i];
        }
    }
    return NULL;
}

/* A manifest has no addresses: it keeps those that the API server and the controller gave the
 * Service that stands. */
static const struct ks_service *keep_allocated(struct arena *a, const struct ks_service *live,
                                               const struct ks_service *mine)
{
    struct ks_service *s = arena_memdup(a, mine, sizeof(*mine));
    if (*mine->cluster_ip != '\0' || mine->n_cluster_ips > 0 ||
        str_eq(mine->type, "ExternalName")) {
        return mine; /* it is what was stored */
    }
    s->cluster_ip = live->cluster_ip;
    s->cluster_ips = live->cluster_ips;
    s->n_cluster_ips = live->n_cluster_ips;
    if (s->n_ip_families == 0) {
        s->ip_families = live->ip_families;
        s->n_ip_families = live->n_ip_families;
    }
    if (s->n_ingress == 0 && str_eq(s->type, live->type)) {
        s->ingress = live->ingress;
        s->n_ingress = live->n_ingress;
    }
    if (s->health_check_node_port == 0 && str_eq(s->external_policy, "Local")) {
        s->health_check_node_port = live->health_check_node_port;
    }
    struct ks_service_port *ports = ARENA_ARRAY(a, struct ks_service_port, s->n_ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct ks_service_port *was = port_of(live, &mine->ports[i]);
        ports[i] = mine->ports[i];
        if (ports[i].node_port == 0 && was != NULL && !str_eq(s->type, "ClusterIP")) {
            ports[i].node_port = was->node_port;
        }
    }
    s->ports = ports;
    return s;
}

/* Puts `item` at the place of an earlier one of the same name, else behind the others. */
static void put(struct cmd_inside *in, enum cmd_inside_kind kind, const struct ks_meta *meta,
                const void *item)
{
    struct arena *a = in->s->a;
    struct cmd_inside_list *list = &in->lists[kind];
    const char *key = arena_printf(a, "%d/%s/%s", (int)kind, meta->ns, meta->name);
    size_t at = (size_t)(uintptr_t)map_get(in->seen, key);
    if (at != 0) {
        list->items[at - 1] =
            kind == CMD_INSIDE_SERVICE ? keep_allocated(a, list->items[at - 1], item) : item;
        return;
    }
    list->items = cmd_grow(a, (void *)list->items, list->n, &list->cap, sizeof(*list->items));
    list->items[list->n++] = item;
    map_set(in->seen, key, (void *)(uintptr_t)list->n);
}

/* For the provider, and for the rule which nodes take part: as the controller decodes it. */
static void add_for_controller(struct cmd_inside *in, enum cmd_inside_kind kind,
                               struct json_object *o)
{
    struct cmd_session *s = in->s;
    struct kube_object *object = NULL;
    struct err err =
        ERR_INIT; /* the library's decoder has read it: what the other refuses is left out */
    if (kind == CMD_INSIDE_SERVICE && s->plugin != NULL &&
        cmd_load_decode(s, KUBE_SERVICE, o, &object, &err) == ERR_OK) {
        cmd_load_service(s, object->service);
    } else if (kind == CMD_INSIDE_NODE &&
               cmd_load_decode(s, KUBE_NODE, o, &object, &err) == ERR_OK) {
        cmd_load_node(s, object->node);
    }
}

static void add_proxy(struct cmd_inside *in, struct json_object *o, const char *place)
{
    struct json_object *meta = json_member(o, "metadata");
    const char *text = ks_proxy_text(o);
    struct err err = ERR_INIT;
    if (!str_eq(json_str(meta, "name"), "kube-proxy") ||
        !str_eq(json_str(meta, "namespace"), "kube-system") || text == NULL) {
        return;
    }
    if (ks_proxy_parse(in->s->a, text, strlen(text), &in->proxy, &err) != ERR_OK) {
        warn_unread(in, place, "ConfigMap kube-system/kube-proxy", err.message);
        in->proxy_is_broken = true;
        return;
    }
    in->proxy.source = "ConfigMap kube-system/kube-proxy";
}

static void add_cidrs(struct cmd_inside *in, struct json_object *o)
{
    struct json_object *cidrs = json_path(o, "spec.cidrs");
    struct cmd_inside_list *list = &in->lists[CMD_INSIDE_SERVICE_CIDR];
    struct arena *a = in->s->a;
    for (size_t i = 0; i < json_len(cidrs); i++) {
        const char *cidr = json_object_get_string(json_object_array_get_idx(cidrs, i));
        list->items = cmd_grow(a, (void *)list->items, list->n, &list->cap, sizeof(*list->items));
        list->items[list->n++] = arena_strdup(a, str_nonnull(cidr));
    }
}

static int decode(struct arena *a, enum cmd_inside_kind kind, struct json_object *o,
                  const void **ret, const struct ks_meta **ret_meta, struct err *err)
{
    const struct ks_service *service = NULL;
    const struct ks_slice *slice = NULL;
    const struct ks_node *node = NULL;
    const struct ks_pod *pod = NULL;
    int code = ERR_OK;
    if (kind == CMD_INSIDE_SERVICE) {
        code = ks_service_decode(a, o, "", &service, err);
        *ret = service;
        *ret_meta = service == NULL ? NULL : &service->meta;
    } else if (kind == CMD_INSIDE_SLICE) {
        code = ks_slice_decode(a, o, "", &slice, err);
        *ret = slice;
        *ret_meta = slice == NULL ? NULL : &slice->meta;
    } else if (kind == CMD_INSIDE_NODE) {
        code = ks_node_decode(a, o, "", &node, err);
        *ret = node;
        *ret_meta = node == NULL ? NULL : &node->meta;
    } else {
        code = ks_pod_decode(a, o, "", &pod, err);
        *ret = pod;
        *ret_meta = pod == NULL ? NULL : &pod->meta;
    }
    return code;
}

static int check_word(const char *path, const char *value, struct err *err)
{
    return ks_is_rule_word(value)
               ? ERR_OK
               : err_set(err, ERR_INVALID,
                         "%s: \"%s\" has characters that the API server allows in no name", path,
                         value);
}

/* A file may hold what no API server stores; names stand in rules that render prints, and
 * may be loaded. */
static int check_names(enum cmd_inside_kind kind, const void *item, const struct ks_meta *meta,
                       struct err *err)
{
    const struct ks_service *s = kind == CMD_INSIDE_SERVICE ? item : NULL;
    if (*meta->name == '\0') {
        return err_set(err, ERR_INVALID, "metadata.name is missing");
    }
    int code = check_word("metadata.name", meta->name, err);
    if (code == ERR_OK) {
        code = check_word("metadata.namespace", meta->ns, err);
    }
    for (size_t i = 0; s != NULL && i < s->n_ports && code == ERR_OK; i++) {
        code = check_word("spec.ports: name", s->ports[i].name, err);
        if (code == ERR_OK) {
            code = check_word("spec.ports: protocol", s->ports[i].protocol, err);
        }
    }
    return code;
}

/* Remembers whose pods are not all known. */
static void doubt(struct cmd_inside *in, enum cmd_inside_kind kind, struct json_object *meta)
{
    const char *service = json_str(json_member(meta, "labels"), "kubernetes.io/service-name");
    if (kind == CMD_INSIDE_SLICE && service != NULL) {
        map_set(in->doubts,
                arena_printf(in->s->a, "%s/%s", str_nonnull(json_str(meta, "namespace")), service),
                NULL);
    }
}

void cmd_inside_add(struct cmd_inside *in, struct json_object *o, const char *kind,
                    const char *place)
{
    struct err err = ERR_INIT;
    const void *item = NULL;
    const struct ks_meta *meta = NULL;
    enum cmd_inside_kind k = kind_of(o, kind);
    if (k == CMD_INSIDE_KINDS) {
        in->n_other++;
        return;
    }
    in->n_seen[k]++;
    if (in->behind && k != CMD_INSIDE_SLICE && k != CMD_INSIDE_NODE && k != CMD_INSIDE_POD) {
        return;
    }
    if (k == CMD_INSIDE_CONFIG_MAP) {
        add_proxy(in, o, place);
        return;
    }
    if (k == CMD_INSIDE_SERVICE_CIDR) {
        add_cidrs(in, o);
        return;
    }
    struct json_object *m = json_member(o, "metadata");
    const char *ns = str_nonnull(json_str(m, "namespace"));
    const char *what =
        arena_printf(in->s->a, "%s %s%s%s", kinds[k].kind, ns, *ns == '\0' ? "" : "/",
                     str_or(json_str(m, "name"), "(no name)"));
    if (k != CMD_INSIDE_NODE && *ns == '\0' &&
        json_object_is_type(m, json_type_object)) { /* as kubectl apply would store it */
        json_object_object_del(m, "namespace");
        json_add_str(m, "namespace", str_or(in->s->args.ns, "default"));
    }
    int code = decode(in->s->a, k, o, &item, &meta, &err);
    if (code == ERR_OK) {
        code = check_names(k, item, meta, &err);
    }
    if (code != ERR_OK) {
        warn_unread(in, place, what, err.message);
        doubt(in, k, m);
        return;
    }
    put(in, k, meta, item);
    if (!in->behind) {
        add_for_controller(in, k, o);
    }
}

/* ---- documents ------------------------------------------------------------------------------- */

static void add_document(struct cmd_inside *in, struct json_object *doc, const char *place,
                         int depth)
{
    struct json_object *items = json_member(doc, "items");
    const char *kind = str_nonnull(json_str(doc, "kind"));
    if (json_member(doc, "kubernetes") != NULL && *kind == '\0') {
        cmd_inside_read_world(in, doc, place);
        return;
    }
    if (!json_object_is_type(items, json_type_array) || depth > LIST_DEPTH_MAX) {
        cmd_inside_add(in, doc, NULL, place);
        return;
    }
    bool typed = str_has_suffix(kind, "List") && !str_eq(kind, "List");
    const char *of = typed ? arena_strndup(in->s->a, kind, strlen(kind) - strlen("List")) : NULL;
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        const char *at = arena_printf(in->s->a, "%s: items[%zu]", place, i);
        if (json_member(item, "items") != NULL) {
            add_document(in, item, at, depth + 1);
        } else {
            cmd_inside_add(in, item, of, at);
        }
    }
}

void cmd_inside_read_world(struct cmd_inside *in, struct json_object *world, const char *place)
{
    for (int k = 0; k < CMD_INSIDE_KINDS; k++) {
        struct json_object *items = json_member(json_member(world, "kubernetes"), kinds[k].plural);
        for (size_t i = 0; i < json_len(items); i++) {
            cmd_inside_add(
                in, json_object_array_get_idx(items, i), kinds[k].kind,
                arena_printf(in->s->a, "%s: kubernetes.%s[%zu]", place, kinds[k].plural, i));
        }
    }
}

/* A large JSON document is parsed by itself: yaml.h has a lower limit. */
static int parse_large(struct arena *a, const char *text, size_t n, struct yaml_docs *ret,
                       struct err *err)
{
    const struct json_limits limits = {
        .max_bytes = DUMP_MAX, .max_values = DUMP_VALUES, .share_strings = true};
    struct json_object **docs = ARENA_ARRAY(a, struct json_object *, 1);
    int code = json_parse_arena(a, text, n, &limits, docs, err);
    if (code == ERR_OK) {
        *ret = (struct yaml_docs){.items = docs, .n = 1};
    }
    return code;
}

int cmd_inside_read_file(struct cmd_inside *in, const char *path, struct err *err)
{
    struct arena *a = in->s->a;
    struct yaml_docs docs = {0};
    const char *place = cmd_input_name(path);
    char *text;
    size_t n;
    int code = cmd_input_read(a, path, DUMP_MAX, &text, &n, err);
    if (code != ERR_OK) {
        return code;
    }
    code = n > YAML_MAX ? parse_large(a, text, n, &docs, err)
                        : yaml_parse_lenient(a, text, n, &docs, err);
    if (code != ERR_OK) {
        (void)err_prefix(err, "%s", place);
        return code;
    }
    for (size_t i = 0; i < docs.n; i++) {
        add_document(in, docs.items[i], place, 0);
    }
    return ERR_OK;
}
