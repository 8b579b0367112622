/* SPDX-License-Identifier: Apache-2.0 */
/* slices_scene.h: a Service with pods, nodes and existing slices, one pass over it, and the world
 * after the pass.
 *
 * Existing slices are one item between semicolons, endpoints by names of pods:
 *
 *     NAME [v6] [foreign] [port=N] [noport] [label=V]: POD POD* POD>ZONE
 *     for instance "s-1 port=9090: p1 p2*; s-2: gone"
 *
 * POD* stands in the slice with another readiness than the pod has, POD>ZONE with a hint; a pod
 * that is not there has an address of its own.  `foreign`: owned by a Service with another uid;
 * `label`: the label "tier".  Included by test programs only; everything is static. */
#ifndef TRIMTAB_TESTS_UNIT_SLICES_SCENE_H
#define TRIMTAB_TESTS_UNIT_SLICES_SCENE_H

#include "common/services/slices/pod.h"
#include "tests/unit/services/slices_test.h"

struct scene {
    struct arena *a;
    const struct ks_service *service;
    struct node_list nodes;
    struct pod_list pods;
    struct slice_list slices;
    size_t max;
    const char *trigger;
    bool hints_before;
    size_t named; /* slices that got a name from next_scene() */
};

static inline const struct ks_node *scene_node(const struct scene *s, const char *name)
{
    for (size_t i = 0; i < s->nodes.n; i++) {
        if (str_eq(s->nodes.items[i]->meta.name, name)) {
            return s->nodes.items[i];
        }
    }
    return NULL;
}

static inline struct ks_slice_endpoint scene_endpoint(const struct scene *s, char *word,
                                                      enum ks_family family)
{
    char *hint = strchr(word, '>'), *star = strchr(word, '*');
    if (hint != NULL) {
        *hint++ = '\0';
    }
    if (star != NULL) {
        *star = '\0';
    }
    struct ks_slice_endpoint e = {.n_addresses = 0};
    for (size_t i = 0; i < s->pods.n; i++) {
        const struct ks_pod *pod = s->pods.items[i];
        if (str_eq(pod->meta.name, word)) {
            e = ks_pod_endpoint(s->a, s->service, pod, scene_node(s, pod->node_name), family);
        }
    }
    if (e.n_addresses == 0) {
        char *text = arena_printf(s->a, "%s 10.9.9.9 n1 r", word);
        const struct pod_list gone = pods_of(s->a, text);
        e = ks_pod_endpoint(s->a, s->service, gone.items[0], NULL, KS_IPV4);
    }
    if (star != NULL) {
        e.ready = e.ready == KS_TRUE ? KS_FALSE : KS_TRUE;
    }
    if (hint != NULL) {
        e.has_hints = true;
        e.zone_hints = (const char **)str_split(s->a, hint, '+', &e.n_zone_hints);
    }
    return e;
}

static inline const struct ks_slice *scene_slice(const struct scene *s, char *head, char *rest)
{
    struct arena *a = s->a;
    struct ks_slice *slice = ARENA_NEW(a, struct ks_slice);
    struct json_kv *labels = ARENA_ARRAY(a, struct json_kv, 4);
    struct ks_owner *owner = ARENA_NEW(a, struct ks_owner);
    struct ks_slice_port *port = ARENA_NEW(a, struct ks_slice_port);
    *owner = (struct ks_owner){"v1", "Service", "svc", s->service->meta.uid, true, true};
    *port = (struct ks_slice_port){.name = "", .protocol = "TCP", .port = 8080, .has_port = true};
    labels[0] = (struct json_kv){KS_LABEL_MANAGED_BY, KS_SLICE_CONTROLLER};
    labels[1] = (struct json_kv){KS_LABEL_SERVICE, "svc"};
    *slice = (struct ks_slice){.meta = {.ns = "ns",
                                        .name = next_word(&head),
                                        .generate_name = "svc-",
                                        .labels = labels,
                                        .n_labels = 2,
                                        .owners = owner,
                                        .n_owners = 1},
                               .address_type = "IPv4",
                               .ports = port,
                               .n_ports = 1,
                               .has_ports = true};
    for (const char *flag; (flag = next_word(&head)) != NULL;) {
        if (str_eq(flag, "v6")) {
            slice->address_type = "IPv6";
        } else if (str_eq(flag, "foreign")) {
            owner->uid = "another";
        } else if (str_has_prefix(flag, "port=")) {
            port->port = number_of(flag + 5);
        } else if (str_eq(flag, "noport")) {
            slice->n_ports = 0;
        } else if (str_has_prefix(flag, "label=")) {
            labels[slice->meta.n_labels++] = (struct json_kv){"tier", flag + 6};
        }
    }
    struct ks_slice_endpoint *endpoints = ARENA_ARRAY(a, struct ks_slice_endpoint, strlen(rest));
    enum ks_family family = str_eq(slice->address_type, "IPv6") ? KS_IPV6 : KS_IPV4;
    for (char *word; (word = next_word(&rest)) != NULL;) {
        endpoints[slice->n_endpoints++] = scene_endpoint(s, word, family);
    }
    slice->endpoints = endpoints;
    return slice;
}

static inline struct scene scene_of(struct arena *a, const struct ks_service *service,
                                    const char *nodes, const char *pods, const char *slices)
{
    struct scene s = {
        .a = a, .service = service, .nodes = nodes_of(a, nodes), .pods = pods_of(a, pods)};
    size_t n = 0;
    char **items = str_split(a, slices, ';', &n);
    s.slices.items = ARENA_ARRAY(a, const struct ks_slice *, n);
    for (size_t i = 0; i < n; i++) {
        char *rest = strchr(items[i], ':');
        if (rest != NULL) {
            *rest++ = '\0';
            s.slices.items[s.slices.n++] = scene_slice(&s, items[i], rest);
        }
    }
    return s;
}

static inline struct ks_slice_pass scene_pass(const struct scene *s)
{
    const struct ks_slice_input in = {.service = s->service,
                                      .pods = s->pods.items,
                                      .nodes = s->nodes.items,
                                      .slices = s->slices.items,
                                      .n_pods = s->pods.n,
                                      .n_nodes = s->nodes.n,
                                      .n_slices = s->slices.n,
                                      .max_endpoints = s->max,
                                      .trigger_time = s->trigger,
                                      .hints_before = s->hints_before};
    return ks_slices_pass(s->a, &in);
}

static inline void append_slice(struct str_buf *b, const struct ks_slice *s)
{
    str_append(b, "[");
    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct ks_slice_endpoint *e = &s->endpoints[i];
        str_appendf(b, "%s%s", i > 0 ? " " : "", e->ref->name);
        for (size_t k = 0; k < e->n_zone_hints; k++) {
            str_appendf(b, ">%s", e->zone_hints[k]);
        }
    }
    str_append(b, "]");
    if (str_eq(s->address_type, "IPv6")) {
        str_append(b, "v6");
    }
    if (s->n_ports != 1 || s->ports[0].port != 8080) {
        str_appendf(b, ":%d", s->n_ports == 0 ? 0 : s->ports[0].port);
    }
}

/* "+[p1 p2] ~s-1[p3] -s-2": created, updated, deleted; behind a slice v6, and the port when
 * it is not 8080. */
static inline const char *pass_text(struct arena *a, const struct ks_slice_pass *p)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < p->n_create; i++) {
        assert_string_equal(p->create[i].meta.name, "");
        str_append(&b, b.len > 0 ? " +" : "+");
        append_slice(&b, &p->create[i]);
    }
    for (size_t i = 0; i < p->n_update; i++) {
        assert_string_not_equal(p->update[i].meta.name, "");
        str_appendf(&b, "%s~%s", b.len > 0 ? " " : "", p->update[i].meta.name);
        append_slice(&b, &p->update[i]);
    }
    for (size_t i = 0; i < p->n_remove; i++) {
        str_appendf(&b, "%s-%s", b.len > 0 ? " " : "", p->remove[i]);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* The world after the API server did what the pass asks for. */
static inline void scene_apply(struct scene *s, const struct ks_slice_pass *p)
{
    const struct ks_slice **now =
        ARENA_ARRAY(s->a, const struct ks_slice *, s->slices.n + p->n_create);
    size_t n = 0;
    for (size_t i = 0; i < s->slices.n; i++) {
        const struct ks_slice *slice = s->slices.items[i];
        for (size_t k = 0; k < p->n_update; k++) {
            slice = str_eq(p->update[k].meta.name, slice->meta.name) ? &p->update[k] : slice;
        }
        for (size_t k = 0; k < p->n_remove && slice != NULL; k++) {
            slice = str_eq(p->remove[k], slice->meta.name) ? NULL : slice;
        }
        if (slice != NULL) {
            now[n++] = slice;
        }
    }
    for (size_t i = 0; i < p->n_create; i++) {
        struct ks_slice *slice = arena_memdup(s->a, &p->create[i], sizeof(*slice));
        slice->meta.name = arena_printf(s->a, "svc-%04zu", s->named++);
        now[n++] = slice;
    }
    s->slices = (struct slice_list){.items = now, .n = n};
    s->hints_before = p->hints_on;
}

#endif
