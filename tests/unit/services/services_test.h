/* SPDX-License-Identifier: Apache-2.0 */
/* services_test.h: what the tests of common/services share: cmocka, an arena per test, objects from
 * short texts.
 *
 * Objects come from JSON with single quotes, through the library's decoder.  Lists of endpoints
 * have a shorter form, one endpoint between semicolons:
 *
 *     ADDRESS NODE CONDITIONS [z:ZONE,ZONE] [n:NODE,NODE]        "10.0.0.1 n1 r; 10.0.0.2 n2 st
 *                                                                z:a,b"
 *
 * CONDITIONS are the letters of ready, serving and terminating that are true (the others are
 * false); "-": all are false; "nil": all are absent.  NODE "-" is absent.  Included by test
 * programs only. */
#ifndef TRIMTAB_TESTS_UNIT_SERVICES_TEST_H
#define TRIMTAB_TESTS_UNIT_SERVICES_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/services/node/world.h"
#include "tests/support/unit.h"

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

#define services_test(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

/* A JSON tree, in the arena, of a text with single quotes. */
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

/* A Service in namespace "ns"; `members` are those of the object, without braces. */
static inline const struct ks_service *service_of(struct arena *a, const char *name,
                                                  const char *members)
{
    const struct ks_service *s = NULL;
    struct err err = ERR_INIT;
    struct json_object *o = json_of(
        a, arena_printf(a, "{'metadata': {'namespace': 'ns', 'name': '%s'}, %s}", name, members));
    if (ks_service_decode(a, o, "", &s, &err) != ERR_OK) {
        fail_msg("%s: %s", members, err.message);
    }
    return s;
}

/* One endpoint in the short form. */
static inline struct ks_slice_endpoint endpoint_of(struct arena *a, const char *text)
{
    size_t n;
    char **words = str_split(a, str_trim(a, text), ' ', &n);
    assert_true(n >= 3);
    bool nil = str_eq(words[2], "nil");
    const char *const *address = arena_memdup(a, &words[0], sizeof(words[0]));
    struct ks_slice_endpoint e = {.addresses = (const char **)address,
                                  .n_addresses = 1,
                                  .node_name = str_eq(words[1], "-") ? NULL : words[1],
                                  .ready = nil                             ? KS_NIL
                                           : strchr(words[2], 'r') != NULL ? KS_TRUE
                                                                           : KS_FALSE,
                                  .serving = nil                             ? KS_NIL
                                             : strchr(words[2], 's') != NULL ? KS_TRUE
                                                                             : KS_FALSE,
                                  .terminating = nil                             ? KS_NIL
                                                 : strchr(words[2], 't') != NULL ? KS_TRUE
                                                                                 : KS_FALSE};
    for (size_t i = 3; i < n; i++) {
        size_t n_names;
        const char **names = (const char **)str_split(a, words[i] + 2, ',', &n_names);
        if (words[i][0] == 'z') {
            e.zone_hints = names;
            e.n_zone_hints = n_names;
        } else {
            e.node_hints = names;
            e.n_node_hints = n_names;
        }
    }
    return e;
}

/* A slice of namespace "ns" with the unnamed port 80/TCP and endpoints in the short form. */
static inline struct ks_slice *slice_of(struct arena *a, const char *name, const char *service,
                                        const char *endpoints)
{
    struct ks_slice *s = ARENA_NEW(a, struct ks_slice);
    struct json_kv *label = ARENA_NEW(a, struct json_kv);
    struct ks_slice_port *port = ARENA_NEW(a, struct ks_slice_port);
    *label = (struct json_kv){"kubernetes.io/service-name", service};
    *port = (struct ks_slice_port){.name = "", .protocol = "TCP", .port = 80, .has_port = true};
    s->meta = (struct ks_meta){.ns = "ns", .name = name, .labels = label, .n_labels = 1};
    s->address_type =
        strchr(endpoints, ':') != NULL && strchr(endpoints, '.') == NULL ? "IPv6" : "IPv4";
    s->ports = port;
    s->n_ports = 1;
    s->has_ports = true;
    size_t n = 0;
    char **texts = str_split(a, endpoints, ';', &n);
    n = *endpoints == '\0' ? 0 : n;
    struct ks_slice_endpoint *items = ARENA_ARRAY(a, struct ks_slice_endpoint, n);
    for (size_t i = 0; i < n; i++) {
        items[i] = endpoint_of(a, texts[i]);
    }
    s->endpoints = items;
    s->n_endpoints = n;
    return s;
}

/* Node n1 in zone a with 192.168.0.2; no detector. */
static inline struct ks_node_config config_of(enum ks_family family)
{
    static const char *v4[] = {"192.168.0.2", "192.168.1.2"};
    static const char *v6[] = {"2001:db8::2"};
    struct ks_node_config c = ks_node_config_default(family);
    c.name = "n1";
    c.zone = "a";
    c.ip = family == KS_IPV6 ? v6[0] : v4[0];
    c.addresses = family == KS_IPV6 ? v6 : v4;
    c.n_addresses = family == KS_IPV6 ? 1 : 2;
    return c;
}

/* The texts of a list, joined with blanks. */
static inline const char *list_text(struct arena *a, struct ks_list list)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < list.n; i++) {
        str_appendf(&b, "%s%s", i > 0 ? " " : "", list.items[i]->text);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

#endif
