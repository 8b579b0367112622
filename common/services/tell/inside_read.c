/* SPDX-License-Identifier: Apache-2.0 */
/* inside_read.c: reads what ks_inside_json() wrote, perhaps in another version; see inside.h.
 *
 * Nothing is trusted but the form of the document.  Reports on hints and Pods are not read: the
 * process that writes the document for others keeps neither. */
#include "common/services/tell/inside.h"

#include "common/base/map.h"

static size_t count_of(struct json_object *o, const char *name)
{
    int64_t n = json_int(o, name, 0);
    return n < 0 || n > INT32_MAX ? 0 : (size_t)n;
}

/* A share of the whole. */
static double share_of(struct json_object *o, const char *name)
{
    double share = json_object_get_double(json_member(o, name));
    return share >= 0 && share <= 1 ? share : 0;
}

static const char *text_of(struct json_object *o, const char *name)
{
    return str_nonnull(json_str(o, name));
}

static void read_pods(struct json_object *list, struct arena *a, struct ks_inside_family *f)
{
    f->n_pods = json_len(list);
    struct ks_inside_pod *pods = ARENA_ARRAY(a, struct ks_inside_pod, f->n_pods);
    for (size_t i = 0; i < f->n_pods; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        pods[i] = (struct ks_inside_pod){.address = text_of(o, "address"),
                                         .pod = text_of(o, "pod"),
                                         .node = text_of(o, "node"),
                                         .share = share_of(o, "share"),
                                         .draining = json_bool(o, "terminating", false)};
        f->has_shares |= pods[i].share > 0;
    }
    f->pods = pods;
}

/* A node's pods together have what each of them has. */
static void add_pods(const struct ks_inside_family *f, struct ks_inside_node *nodes)
{
    struct map *at = map_new(NULL);
    for (size_t i = 0; i < f->n_nodes; i++) {
        map_set(at, nodes[i].name, &nodes[i]);
    }
    for (size_t i = 0; i < f->n_pods; i++) {
        struct ks_inside_node *node = map_get(at, f->pods[i].node);
        if (node != NULL) {
            node->pods += f->pods[i].share;
        }
    }
    map_free(at);
}

static void read_nodes(struct json_object *list, struct arena *a, struct ks_inside_family *f)
{
    f->n_nodes = json_len(list);
    struct ks_inside_node *nodes = ARENA_ARRAY(a, struct ks_inside_node, f->n_nodes);
    for (size_t i = 0; i < f->n_nodes; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        nodes[i] = (struct ks_inside_node){.name = text_of(o, "name"),
                                           .zone = text_of(o, "zone"),
                                           .left_out = json_str(o, "left_out"),
                                           .ready = count_of(o, "ready"),
                                           .draining = count_of(o, "terminating"),
                                           .weight = json_int(o, "health_weight", -1),
                                           .traffic = share_of(o, "traffic")};
        f->n_serving += nodes[i].traffic > 0;
    }
    add_pods(f, nodes);
    f->nodes = nodes;
}

static void read_family(struct json_object *o, struct arena *a, struct ks_inside_family *f)
{
    f->family = str_eq(json_str(o, "family"), "IPv6") ? KS_IPV6 : KS_IPV4;
    f->port = json_str(o, "port");
    f->ready = count_of(o, "ready");
    f->draining = count_of(o, "terminating");
    f->not_ready = count_of(o, "not_ready");
    f->n_empty = count_of(o, "nodes_without_pods");
    f->weighed = json_bool(o, "fails_open", false) ? KS_WEIGHED_OPEN : KS_WEIGHED_HEALTHY;
    read_pods(json_member(o, "pods"), a, f);
    read_nodes(json_member(o, "nodes"), a, f);
}

const struct ks_inside *ks_inside_read(struct arena *a, struct json_object *list)
{
    struct ks_inside *x = ARENA_NEW(a, struct ks_inside);
    x->n_families = json_len(list);
    struct ks_inside_family *families = ARENA_ARRAY(a, struct ks_inside_family, x->n_families);
    for (size_t i = 0; i < x->n_families; i++) {
        read_family(json_object_array_get_idx(list, i), a, &families[i]);
    }
    if (x->n_families == 0) {
        return NULL;
    }
    struct json_object *first = json_object_array_get_idx(list, 0);
    x->families = families;
    x->weighted = json_bool(first, "weighted", false);
    ks_inside_set_source(x, str_eq(json_str(first, "policy"), "Local"));
    return x;
}
