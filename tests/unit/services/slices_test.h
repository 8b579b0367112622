/* SPDX-License-Identifier: Apache-2.0 */
/* slices_test.h: what the tests of common/services/slices and topology share: an arena per test,
 * objects from short texts.
 *
 * A Service is JSON with single quotes.  Lists are one item between semicolons:
 *
 *     nodes    NAME ZONE CPU [notready] [control]       "a1 zone-a 2; b1 zone-b 1900m"      "-" is
 *              absent
 *     pods     NAME ADDRESSES NODE FLAGS [PORT]         "p1 10.0.0.1,fd00::1 a1 r"
 *              FLAGS: r ready, t terminating, f Failed, s Succeeded, - none; PORT: container port
 *              "http" (8080 if absent)
 *     slices   NAME: ENDPOINTS                          "s1: r/zone-a>zone-a r/zone-b n/zone-a"
 *              ENDPOINT: r ready, n not ready, ? condition absent; /ZONE ("-": none); >HINT
 *              (perhaps none)
 *
 * Included by test programs only; everything is static. */
#ifndef TRIMTAB_TESTS_UNIT_SLICES_TEST_H
#define TRIMTAB_TESTS_UNIT_SLICES_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/services/slices/slices.h"
#include "tests/support/unit.h"

static inline int slices_setup(void **state)
{
    *state = arena_new();
    return 0;
}

static inline int slices_teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define slices_test(name) cmocka_unit_test_setup_teardown(name, slices_setup, slices_teardown)

static inline struct json_object *tree_of(struct arena *a, const char *quoted)
{
    struct err err = ERR_INIT;
    struct json_object *o = NULL;
    const char *text = str_replace(a, quoted, "'", "\"");
    if (json_parse_arena(a, text, strlen(text), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return o;
}

static inline const struct ks_service *service_of(struct arena *a, const char *quoted)
{
    const struct ks_service *s = NULL;
    struct err err = ERR_INIT;
    if (ks_service_decode(a, tree_of(a, quoted), "", &s, &err) != ERR_OK) {
        fail_msg("%s: %s", quoted, err.message);
    }
    return s;
}

/* The Service ns/svc with port 80 → "http", selecting everything, plus members of spec
 * (", 'type': …"). */
static inline const struct ks_service *service_with(struct arena *a, const char *meta,
                                                    const char *spec)
{
    return service_of(a, arena_printf(a,
                                      "{'metadata': {'name': 'svc', 'namespace': 'ns', 'uid': 'u1'"
                                      "%s}, 'spec': {'selector': {}, 'clusterIP': '10.96.0.1', "
                                      "'ports': [{'port': 80, 'targetPort': 'http'}]%s}}",
                                      meta, spec));
}

/* A number of a row; fails the test when it is not one. */
static inline int32_t number_of(const char *text)
{
    int64_t n = 0;
    if (!str_to_i64(text, &n)) {
        fail_msg("%s is not a number", text);
    }
    return (int32_t)n;
}

/* The next word of *text, cut in place; NULL at its end. */
static inline char *next_word(char **text)
{
    char *word = strsep(text, " ");
    while (word != NULL && *word == '\0') {
        word = strsep(text, " ");
    }
    return word;
}

static inline const char *or_empty(const char *word)
{
    return word == NULL || str_eq(word, "-") ? "" : word;
}

struct node_list {
    const struct ks_node **items;
    size_t n;
};
static inline struct node_list nodes_of(struct arena *a, const char *text)
{
    size_t n = 0;
    char **items = str_split(a, text, ';', &n);
    struct node_list list = {.items = ARENA_ARRAY(a, const struct ks_node *, n)};
    for (size_t i = 0; i < n; i++) {
        char *rest = items[i];
        const char *name = next_word(&rest);
        if (name == NULL) {
            continue;
        }
        struct ks_node *node = ARENA_NEW(a, struct ks_node);
        node->meta.name = name;
        node->zone = or_empty(next_word(&rest));
        node->cpu = or_empty(next_word(&rest));
        node->ready = true;
        for (const char *flag; (flag = next_word(&rest)) != NULL;) {
            node->ready = node->ready && !str_eq(flag, "notready");
            node->control_plane = node->control_plane || str_eq(flag, "control");
        }
        list.items[list.n++] = node;
    }
    return list;
}

struct pod_list {
    const struct ks_pod **items;
    size_t n;
};
static inline const struct ks_pod *pod_of(struct arena *a, char *rest)
{
    const char *name = next_word(&rest), *addresses = or_empty(next_word(&rest));
    const char *node = or_empty(next_word(&rest)), *flags = next_word(&rest);
    const char *port = next_word(&rest);
    struct ks_pod *pod = ARENA_NEW(a, struct ks_pod);
    struct ks_container_port *http = ARENA_NEW(a, struct ks_container_port);
    *http = (struct ks_container_port){
        .name = "http",
        .protocol = "TCP",
        .port = port == NULL || str_eq(port, "none") ? 8080 : number_of(port)};
    *pod = (struct ks_pod){.meta = {.ns = "ns",
                                    .name = name,
                                    .uid = arena_printf(a, "uid-%s", name),
                                    .generate_name = "",
                                    .resource_version = "1"},
                           .phase = strchr(flags, 'f') != NULL   ? "Failed"
                                    : strchr(flags, 's') != NULL ? "Succeeded"
                                                                 : "Running",
                           .pod_ip = "",
                           .node_name = node,
                           .hostname = "",
                           .subdomain = "",
                           .ports = http,
                           .n_ports = port != NULL && str_eq(port, "none") ? 0 : 1,
                           .ready = strchr(flags, 'r') != NULL};
    if (strchr(flags, 't') != NULL) {
        pod->meta.deletion_timestamp = "2026-01-01T00:00:00Z";
    }
    if (*addresses != '\0') {
        pod->pod_ips = (const char **)str_split(a, addresses, ',', &pod->n_pod_ips);
        pod->pod_ip = pod->pod_ips[0];
    }
    return pod;
}

static inline struct pod_list pods_of(struct arena *a, const char *text)
{
    size_t n = 0;
    char **items = str_split(a, text, ';', &n);
    struct pod_list list = {.items = ARENA_ARRAY(a, const struct ks_pod *, n)};
    for (size_t i = 0; i < n; i++) {
        if (items[i][strspn(items[i], " ")] != '\0') {
            list.items[list.n++] = pod_of(a, items[i]);
        }
    }
    return list;
}

struct slice_list {
    const struct ks_slice **items;
    size_t n;
};
static inline struct ks_slice_endpoint endpoint_of(struct arena *a, char *word, size_t number)
{
    struct ks_slice_endpoint e = {.ready = *word == 'r'   ? KS_TRUE
                                           : *word == 'n' ? KS_FALSE
                                                          : KS_NIL};
    const char **address = ARENA_ARRAY(a, const char *, 1);
    address[0] =
        arena_printf(a, "10.%zu.%zu.%zu", number / 65536, number / 256 % 256, number % 256);
    e.addresses = address;
    e.n_addresses = 1;
    char *hint = strchr(word, '>'), *zone = strchr(word, '/');
    if (hint != NULL) {
        *hint++ = '\0';
        e.has_hints = true;
        e.zone_hints = (const char **)str_split(a, hint, '+', &e.n_zone_hints);
    }
    if (zone != NULL && !str_eq(zone + 1, "-")) {
        e.zone = zone + 1;
    }
    return e;
}

static inline struct slice_list slice_list_of(struct arena *a, const char *text)
{
    size_t n = 0, number = 0;
    char **items = str_split(a, text, ';', &n);
    struct slice_list list = {.items = ARENA_ARRAY(a, const struct ks_slice *, n)};
    for (size_t i = 0; i < n; i++) {
        char *rest = strchr(items[i], ':');
        if (rest == NULL) {
            continue;
        }
        *rest++ = '\0';
        struct ks_slice_endpoint *endpoints =
            ARENA_ARRAY(a, struct ks_slice_endpoint, strlen(rest));
        struct ks_slice *s = ARENA_NEW(a, struct ks_slice);
        s->meta.name = str_trim(a, items[i]);
        s->address_type = "IPv4";
        for (char *word; (word = next_word(&rest)) != NULL;) {
            endpoints[s->n_endpoints++] = endpoint_of(a, word, number++);
        }
        s->endpoints = endpoints;
        list.items[list.n++] = s;
    }
    return list;
}

/* The same form, hints only: "s1: r/zone-a>zone-a …"; slices are divided by "; ". */
static inline const char *slices_text(struct arena *a, const struct ks_slice *const *slices,
                                      size_t n)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "%s%s:", i > 0 ? "; " : "", slices[i]->meta.name);
        for (size_t k = 0; k < slices[i]->n_endpoints; k++) {
            const struct ks_slice_endpoint *e = &slices[i]->endpoints[k];
            str_appendf(&b, " %c/%s", "?nr"[e->ready], e -> zone == NULL ? "-" : e->zone);
            for (size_t h = 0; h < e->n_zone_hints; h++) {
                str_appendf(&b, "%c%s", h == 0 ? '>' : '+', e->zone_hints[h]);
            }
            for (size_t h = 0; h < e->n_node_hints; h++) {
                str_appendf(&b, "@%s", e->node_hints[h]);
            }
        }
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* "Type Reason Message", lines divided by " | ". */
static inline const char *events_text(struct arena *a, const struct ks_event *events, size_t n)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "%s%s %s %s", i > 0 ? " | " : "", events[i].type, events[i].reason,
                    events[i].message);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

#endif
