/* SPDX-License-Identifier: Apache-2.0 */
/* targets_test.h: what the tests of this room share: a Service with nodes and slices from short
 * texts, and results as text.
 *
 * Texts are JSON with single quotes.  Unless a scene says otherwise there is one pool p with
 * mode ipvs-nat, the director is the targets' gateway, and Service d/a has TCP 80 with node port
 * 30080, as in the vectors of the provider's specification. */
#ifndef TRIMTAB_TESTS_UNIT_LOCAL_TARGETS_TEST_H
#define TRIMTAB_TESTS_UNIT_LOCAL_TARGETS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "providers/local/targets/slots.h"
#include "providers/local/targets/targets.h"
#include "tests/support/objects.h"
#include "tests/support/unit.h"

#define NAT     "mode: ipvs-nat"
#define GATEWAY "directorIsGateway: true"
#define TCP80   "{'port': 80, 'protocol': 'TCP', 'targetPort': 8080, 'nodePort': 30080}"
#define NO_NODE "{'port': 80, 'protocol': 'TCP', 'targetPort': 8080}"
#define NODE(name, address, meta)                                                                  \
    "{'metadata': {'name': '" name "'" meta                                                        \
    "}, 'status': {'addresses': [{'type': 'InternalIP', 'address': '" address "'}]}}"
#define TWO_NODES NODE("n1", "10.1.0.1", "") ", " NODE("n2", "10.1.0.2", "")
#define SLICE_OF(name, type, port, endpoints)                                                      \
    "{'metadata': {'namespace': 'd', 'name': '" name                                               \
    "', 'labels': {'kubernetes.io/service-name': 'a'}}, 'addressType': '" type                     \
    "', 'ports': [" port "], 'endpoints': [" endpoints "]}"
#define PORT8080         "{'name': '', 'protocol': 'TCP', 'port': 8080}"
#define SLICE(endpoints) SLICE_OF("s", "IPv4", PORT8080, endpoints)
#define EP(address, node, conditions, more)                                                        \
    "{'addresses': ['" address "'], 'nodeName': '" node "', 'conditions': {" conditions "}" more "}"
#define READY "'ready': true"
#define DOWN  "'ready': false, 'serving': false"
#define ENDS  "'ready': false, 'serving': true, 'terminating': true"

struct scene {
    const char *name;
    const char *pool;     /* keys of the pool; NULL: NAT */
    const char *director; /* keys of the director; NULL: GATEWAY */
    const char *top;      /* further keys of the configuration; NULL: none */
    const char *wishes;   /* annotations; NULL: none */
    const char *ports;    /* NULL: TCP80 */
    const char *spec;     /* begins with a comma; NULL: nothing */
    const char *nodes;    /* NULL: TWO_NODES */
    const char *slices;   /* NULL: not known */
    const char *zone;
    int family; /* 0: IPv4 */
    const char *want;
};

static inline int arena_setup(void **state)
{
    *state = arena_new();
    return 0;
}

static inline int arena_teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define targets_test(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

static inline struct json_object *json_of(struct arena *a, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const char *quoted = str_replace(a, text, "'", "\"");
    if (json_parse_arena(a, quoted, strlen(quoted), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return o;
}

static inline const struct local_config *scene_config(struct arena *a, const struct scene *s)
{
    const struct local_config *config = NULL;
    struct local_config_findings findings;
    struct err err = ERR_INIT;
    const char *text = arena_printf(
        a,
        "apiVersion: local.trimtab.io/v1\npools: [{name: p, addresses: [10.0.0.0/29, "
        "\"2001:db8::/120\"], %s}]\ndirector: {%s}\n%s\n",
        str_or(s->pool, NAT), s->director != NULL ? s->director : GATEWAY, str_nonnull(s->top));
    if (local_config_read(a, "local.yaml", text, strlen(text), NULL, &config, &findings, &err) !=
        ERR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return config;
}

static inline const struct tt_service *scene_service(struct arena *a, const struct scene *s)
{
    return test_service(
        a, json_of(a, arena_printf(a,
                                   "{'metadata': {'namespace': 'd', 'name': 'a', 'annotations': "
                                   "{%s}}, 'spec': {'type': 'LoadBalancer', 'ports': [%s]%s}}",
                                   str_nonnull(s->wishes), str_or(s->ports, TCP80),
                                   str_nonnull(s->spec))));
}

/* ERR_OK, or the code with `err`. */
static inline int scene_serve(struct arena *a, const struct scene *s,
                              const struct local_config **ret_config,
                              const struct tt_service **ret_service, struct local_serve *ret,
                              struct err *err)
{
    struct local_wish wish;
    *ret_config = scene_config(a, s);
    *ret_service = scene_service(a, s);
    int rc = local_wish_read(a, *ret_config, *ret_service, &wish, err);
    return rc != ERR_OK ? rc
                        : local_serve_of(*ret_config, &(*ret_config)->pools[0], *ret_service, &wish,
                                         ret, err);
}

/* `with`: what stands of the frontend. */
static inline int scene_targets_with(struct arena *a, const struct scene *s,
                                     const struct local_target_args *with,
                                     struct local_serve *serve, struct local_target_set *ret,
                                     struct err *err)
{
    struct local_target_args args = *with;
    args.serve = serve;
    int rc = scene_serve(a, s, &args.config, &args.service, serve, err);
    if (rc != ERR_OK) {
        return rc;
    }
    size_t n_nodes;
    size_t n_slices = 0;
    const struct tt_node **nodes = test_nodes(
        a, json_of(a, arena_printf(a, "[%s]", s->nodes != NULL ? s->nodes : TWO_NODES)), &n_nodes);
    const struct tt_slice **slices =
        s->slices == NULL
            ? NULL
            : test_slices(a, json_of(a, arena_printf(a, "[%s]", s->slices)), &n_slices);
    args.port = &args.service->ports[0];
    args.family = s->family != 0 ? s->family : 2; /* AF_INET */
    args.nodes = nodes;
    args.n_nodes = n_nodes;
    args.slices = slices;
    args.n_slices = n_slices;
    args.has_slices = s->slices != NULL;
    args.zone = s->zone;
    return local_targets_of(a, &args, ret, err);
}

static inline int scene_targets(struct arena *a, const struct scene *s, struct local_serve *serve,
                                struct local_target_set *ret, struct err *err)
{
    const struct local_target_args none = {.served = false};
    return scene_targets_with(a, s, &none, serve, ret, err);
}

/* "10.1.0.1:30080*1 10.1.0.2:30080*1" and, for each that is left out, " -NAME". */
static inline const char *targets_text(struct arena *a, const struct local_target_set *t)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < t->n; i++) {
        char addr[IP_TEXT_MAX];
        ip_format(&t->items[i].addr, addr);
        assert_true(!str_is_empty(t->items[i].why));
        str_appendf(&b, "%s%s:%u*%u", i > 0 ? " " : "", addr, t->items[i].port, t->items[i].weight);
    }
    for (size_t i = 0; i < t->n_left_out; i++) {
        assert_true(!str_is_empty(t->left_out[i].why));
        str_appendf(&b, " -%s", t->left_out[i].who);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

#endif
