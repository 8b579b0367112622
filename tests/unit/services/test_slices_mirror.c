/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices_mirror.c: Endpoints that people write, mirrored into slices. */
#include "tests/unit/services/slices_test.h"

#include "common/services/slices/mirror.h"
#include "tests/upstream/endpoints.h"

#define EP(meta, subsets)                                                                          \
    "{'metadata': {'name': 'db', 'namespace': 'ns', 'uid': 'u1'" meta "}, 'subsets': " subsets "}"
#define OWNER                                                                                      \
    "'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Endpoints', 'name': 'db', 'uid': 'u1'}]"
#define LABELS                                                                                     \
    "'labels': {'kubernetes.io/service-name': 'db', 'endpointslice.kubernetes.io/managed-by': "    \
    "'endpointslicemirroring-controller.k8s.io'}"
#define SLICE_OF(name, type, meta, ports, endpoints)                                               \
    "{'metadata': {'name': '" name "', 'namespace': 'ns', " meta "}, 'addressType': '" type        \
    "', 'ports': " ports ", 'endpoints': " endpoints "}"
#define SLICE(name, type, ports, endpoints)                                                        \
    SLICE_OF(name, type, LABELS ", " OWNER, ports, endpoints)
#define P80  "[{'name': '', 'protocol': 'TCP', 'port': 80}]"
#define P81  "[{'name': '', 'protocol': 'TCP', 'port': 81}]"
#define E1   "[{'addresses': ['10.0.0.1'], 'conditions': {'ready': true}}]"
#define SUB1 "[{'addresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80}]}]"

static struct ks_mirror_input input_of(struct arena *a, const char *endpoints, const char *slices)
{
    static const struct ks_service without_selector;
    struct ks_mirror_input in = {.service = &without_selector};
    struct err err = ERR_INIT;
    assert_int_equal(ks_endpoints_decode(a, tree_of(a, endpoints), "", &in.endpoints, &err),
                     ERR_OK);
    struct json_object *list = tree_of(a, slices);
    const struct ks_slice **decoded = ARENA_ARRAY(a, const struct ks_slice *, json_len(list));
    for (size_t i = 0; i < json_len(list); i++) {
        assert_int_equal(ks_slice_decode(a, json_object_array_get_idx(list, i), "",
                                         &decoded[in.n_slices++], &err),
                         ERR_OK);
    }
    in.slices = decoded;
    return in;
}

static void append_slice(struct str_buf *b, const char *name, const struct ks_slice *s)
{
    str_appendf(b, "%s%s[", b->len > 0 ? " " : "", name);
    for (size_t i = 0; i < s->n_endpoints; i++) {
        const struct ks_slice_endpoint *e = &s->endpoints[i];
        assert_int_equal(e->serving, KS_NIL);
        assert_int_equal(e->terminating, KS_NIL);
        assert_null(e->zone);
        str_appendf(b, "%s%s%s", i > 0 ? " " : "", e->addresses[0], e->ready == KS_TRUE ? "" : "!");
        str_appendf(b, "%s%s", e->hostname == NULL ? "" : ",h=", str_nonnull(e->hostname));
        str_appendf(b, "%s%s", e->node_name == NULL ? "" : ",n=", str_nonnull(e->node_name));
        str_appendf(b, "%s%s", e->ref == NULL ? "" : ",t=", e->ref == NULL ? "" : e->ref->name);
    }
    str_append(b, "]");
    for (size_t i = 0; i < s->n_ports; i++) {
        str_appendf(b, ":%s%d", s->ports[i].name, s->ports[i].port);
        assert_non_null(s->ports[i].name);
    }
}

/* "+[10.0.0.1]:80 ~db-1[…]:80 -db-2"; "!" behind an address: not ready. */
static const char *mirror_text(struct arena *a, const struct ks_mirror_pass *p)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < p->n_create; i++) {
        assert_string_equal(p->create[i].meta.generate_name, "db-");
        append_slice(&b, "+", &p->create[i]);
    }
    for (size_t i = 0; i < p->n_update; i++) {
        append_slice(&b, arena_printf(a, "~%s", p->update[i].meta.name), &p->update[i]);
    }
    for (size_t i = 0; i < p->n_remove; i++) {
        str_appendf(&b, "%s-%s", b.len > 0 ? " " : "", p->remove[i]);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void mirror__objects__whether(void **state)
{
    static const struct {
        const char *meta;
        enum ks_mirror_off off;
    } rows[] = {
        {EP("", SUB1), KS_MIRROR_FINE},
        {EP(", 'labels': {'endpointslice.kubernetes.io/skip-mirror': 'true'}", SUB1),
         KS_MIRROR_SKIPPED},
        {EP(", 'labels': {'endpointslice.kubernetes.io/skip-mirror': 'True'}", SUB1),
         KS_MIRROR_FINE},
        {EP(", 'annotations': {'control-plane.alpha.kubernetes.io/leader': ''}", SUB1),
         KS_MIRROR_LEADER},
    };
    const char *slices = "[" SLICE("db-1", "IPv4", P80, E1) "]";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_mirror_input in = input_of(*state, rows[i].meta, slices);
        const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
        assert_int_equal(p.off, rows[i].off);
        assert_int_equal(p.n_remove, rows[i].off == KS_MIRROR_FINE ? 0 : 1);
        assert_int_equal(p.n_create + p.n_events, 0);
    }
    struct ks_mirror_input in = input_of(*state, EP("", SUB1), slices);
    in.service = NULL;
    assert_int_equal(ks_mirror_pass(*state, &in).off, KS_MIRROR_NO_SERVICE);
    const struct ks_service selecting = {.has_selector = true};
    in.service = &selecting;
    assert_int_equal(ks_mirror_pass(*state, &in).off, KS_MIRROR_SELECTOR);
    in.endpoints = NULL;
    const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
    assert_int_equal(p.off, KS_MIRROR_NO_ENDPOINTS);
    assert_string_equal(mirror_text(*state, &p), "-db-1");
}

static void mirror__endpoints__slices(void **state)
{
    static const struct {
        const char *endpoints, *slices, *want;
    } rows[] = {
        {EP("", SUB1), "[]", "+[10.0.0.1]:80"},
        {EP("", SUB1), "[" SLICE("db-1", "IPv4", P80, E1) "]", ""},
        {EP("", "[]"), "[]", ""},
        {EP("", "[]"), "[" SLICE("db-1", "IPv4", P80, E1) "]", "-db-1"},
        /* Members of an endpoint; addresses in canonical form. */
        {EP("", "[{'addresses': [{'ip': '::FFFF:10.0.0.1', 'hostname': 'h', 'nodeName': 'n', "
                "'targetRef': {'kind': 'Pod', 'name': 'p'}}], 'notReadyAddresses': [{'ip': "
                "'010.0.0.2'}], 'ports': [{'name': 'a', 'port': 80}]}]"),
         "[]", "+[10.0.0.1,h=h,n=n,t=p 10.0.0.2!]:a80"},
        /* One slice per family and list of ports. */
        {EP("",
            "[{'addresses': [{'ip': '10.0.0.1'}, {'ip': 'fd00::1'}], 'ports': [{'port': 80}]}]"),
         "[]", "+[10.0.0.1]:80 +[fd00::1]:80"},
        {EP("", "[{'addresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80}, {'name': 'b', "
                "'port': 81}]}, {'addresses': [{'ip': '10.0.0.2'}], 'ports': [{'port': 80}]}]"),
         "[]", "+[10.0.0.1 10.0.0.2]:80 +[10.0.0.1]:b81"},
        {EP("", "[{'addresses': [{'ip': '10.0.0.1'}]}]"), "[]", "+[10.0.0.1]"},
        /* Ready and not ready for one port: not ready. */
        {EP("", "[{'addresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80}]}, "
                "{'notReadyAddresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80}]}]"),
         "[]", "+[10.0.0.1!]:80"},
        /* All but the first existing slice of a group go. */
        {EP("", SUB1), "[" SLICE("db-2", "IPv4", P80, "[]") ", " SLICE("db-1", "IPv4", P80, E1) "]",
         "-db-2"},
        {EP("", SUB1), "[" SLICE("db-2", "IPv4", P80, E1) ", " SLICE("db-1", "IPv4", P80, "[]") "]",
         "~db-1[10.0.0.1]:80 -db-2"},
        /* Something differs. */
        {EP("", SUB1),
         "[" SLICE("db-1", "IPv4", P80,
                   "[{'addresses': ['10.0.0.1'], 'conditions': {'ready': false}}]") "]",
         "~db-1[10.0.0.1]:80"},
        {EP("", SUB1),
         "[" SLICE(
             "db-1", "IPv4", P80,
             "[{'addresses': ['10.0.0.1'], 'conditions': {'ready': true, 'serving': true}}]") "]",
         "~db-1[10.0.0.1]:80"},
        {EP(", 'labels': {'a': 'b'}", SUB1), "[" SLICE("db-1", "IPv4", P80, E1) "]",
         "~db-1[10.0.0.1]:80"},
        {EP(", 'annotations': {'a': 'b'}", SUB1), "[" SLICE("db-1", "IPv4", P80, E1) "]",
         "~db-1[10.0.0.1]:80"},
        {EP(", 'annotations': {'kubectl.kubernetes.io/last-applied-configuration': 'x', "
            "'endpoints.kubernetes.io/last-change-trigger-time': 'y'}",
            SUB1),
         "[" SLICE("db-1", "IPv4", P80, E1) "]", ""},
        {EP("", SUB1),
         "[" SLICE_OF("db-1", "IPv4",
                      LABELS ", 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Endpoints', "
                             "'name': 'db', 'uid': 'older'}]",
                      P80, E1) "]",
         "~db-1[10.0.0.1]:80"},
        /* A label of the controller's on the Endpoints makes labels differ forever. */
        {EP(", 'labels': {'endpointslice.kubernetes.io/managed-by': 'x'}", SUB1),
         "[" SLICE("db-1", "IPv4", P80, E1) "]", "~db-1[10.0.0.1]:80"},
        /* Another port: the new slice takes over the name, of its own family only. */
        {EP("", SUB1), "[" SLICE("db-1", "IPv4", P81, E1) "]", "~db-1[10.0.0.1]:80"},
        {EP("", SUB1), "[" SLICE("db-1", "IPv6", P80, "[]") "]", "+[10.0.0.1]:80 -db-1"},
        /* Being deleted: nothing new, but names are taken over. */
        {EP(", 'deletionTimestamp': '2026-01-01T00:00:00Z'", SUB1), "[]", ""},
        {EP(", 'deletionTimestamp': '2026-01-01T00:00:00Z'", SUB1),
         "[" SLICE("db-1", "IPv4", P81, E1) "]", "~db-1[10.0.0.1]:80"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_mirror_input in = input_of(*state, rows[i].endpoints, rows[i].slices);
        const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
        if (!str_eq(mirror_text(*state, &p), rows[i].want)) {
            fail_msg("row %zu: got \"%s\", want \"%s\"", i, mirror_text(*state, &p), rows[i].want);
        }
        assert_int_equal(p.n_events, 0);
    }
}

/* Upstream takes the first slice to create without looking at its family, so that one slice gets
 * lost here until the next pass and another is created and updated under one name. */
static void mirror__two_families_one_deletion__no_slice_lost(void **state)
{
    const char *both = EP("", "[{'addresses': [{'ip': '10.0.0.1'}, {'ip': 'fd00::1'}], 'ports': "
                              "[{'port': 80}]}]");
    static const struct {
        const char *slices, *want;
    } rows[] = {
        {"[" SLICE("db-1", "IPv6", P81, "[]") "]", "+[10.0.0.1]:80 ~db-1[fd00::1]:80"},
        {"[" SLICE("db-1", "IPv4", P81, "[]") "]", "+[fd00::1]:80 ~db-1[10.0.0.1]:80"},
        {"[" SLICE("db-1", "IPv4", P81, "[]") ", " SLICE("db-2", "IPv6", P81, "[]") "]",
         "~db-1[10.0.0.1]:80 ~db-2[fd00::1]:80"},
        {"[" SLICE("db-1", "FQDN", P81, "[]") "]", "+[10.0.0.1]:80 +[fd00::1]:80 -db-1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_mirror_input in = input_of(*state, both, rows[i].slices);
        const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
        assert_string_equal(mirror_text(*state, &p), rows[i].want);
        for (size_t k = 0; k < p.n_create; k++) {
            assert_string_equal(p.create[k].meta.name, "");
        }
    }
}

static void mirror__new_slice__metadata(void **state)
{
    const struct ks_mirror_input in = input_of(
        *state,
        EP(", 'labels': {'tier': 'x', 'kubernetes.io/service-name': 'y'}, 'annotations': {'a': "
           "'b', 'kubectl.kubernetes.io/last-applied-configuration': '{}'}",
           SUB1),
        "[]");
    const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
    const struct ks_meta *m = &p.create[0].meta;
    assert_int_equal(m->n_labels, 3);
    assert_string_equal(ks_kv(m->labels, 3, "endpointslice.kubernetes.io/managed-by"),
                        "endpointslicemirroring-controller.k8s.io");
    assert_string_equal(ks_kv(m->labels, 3, "kubernetes.io/service-name"), "db");
    assert_string_equal(ks_kv(m->labels, 3, "tier"), "x");
    assert_int_equal(m->n_annotations, 1);
    assert_string_equal(m->annotations[0].key, "a");
    assert_string_equal(m->owners[0].kind, "Endpoints");
    assert_string_equal(m->owners[0].uid, "u1");
    assert_true(m->owners[0].controller);
}

static void mirror__bad_and_many_addresses__events(void **state)
{
    static const struct {
        const char *subsets;
        size_t max;
        const char *want, *events;
    } rows[] = {
        {"[{'addresses': [{'ip': 'bad'}, {'ip': '10.0.0.1'}, {'ip': ''}], 'ports': [{'port': "
         "80}]}]",
         0, "+[10.0.0.1]:80",
         "Warning InvalidIPAddress Skipped 2 invalid IP addresses when mirroring to "
         "EndpointSlices"},
        {"[{'addresses': [{'ip': '10.0.0.1'}, {'ip': '10.0.0.2'}], 'notReadyAddresses': [{'ip': "
         "'10.0.0.3'}], 'ports': [{'port': 80}]}]",
         2, "+[10.0.0.1 10.0.0.2]:80",
         "Warning TooManyAddressesToMirror A max of 2 addresses can be mirrored to EndpointSlices "
         "per Endpoints subset. 1 addresses were skipped"},
        /* Invalid ones do not use up the maximum, and count among those skipped. */
        {"[{'addresses': [{'ip': '!'}, {'ip': '10.0.0.1'}, {'ip': '10.0.0.2'}], 'ports': "
         "[{'port': 80}]}]",
         1, "+[10.0.0.1]:80",
         "Warning InvalidIPAddress Skipped 1 invalid IP addresses when mirroring to EndpointSlices "
         "| Warning TooManyAddressesToMirror A max of 1 addresses can be mirrored to "
         "EndpointSlices per Endpoints subset. 2 addresses were skipped"},
        /* The maximum is per subset. */
        {"[{'addresses': [{'ip': '10.0.0.1'}], 'ports': [{'port': 80}]}, {'addresses': [{'ip': "
         "'10.0.0.2'}], 'ports': [{'port': 81}]}]",
         1, "+[10.0.0.1]:80 +[10.0.0.2]:81", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_mirror_input in = input_of(
            *state,
            arena_printf(*state, "{'metadata': {'name': 'db', 'namespace': 'ns'}, 'subsets': %s}",
                         rows[i].subsets),
            "[]");
        in.max_endpoints = rows[i].max;
        const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
        assert_string_equal(mirror_text(*state, &p), rows[i].want);
        assert_string_equal(events_text(*state, p.events, p.n_events), rows[i].events);
    }
}

static void mirror__its_own_result__nothing_to_do(void **state)
{
    struct ks_mirror_input in = input_of(
        *state,
        EP(", 'labels': {'a': 'b'}, 'annotations': {'c': 'd'}",
           "[{'addresses': [{'ip': '10.0.0.1'}, {'ip': 'fd00::1'}], 'ports': [{'port': 80}]}, "
           "{'notReadyAddresses': [{'ip': '10.0.0.2'}], 'ports': [{'name': 'x', 'port': 81, "
           "'appProtocol': 'h2c'}]}]"),
        "[]");
    const struct ks_mirror_pass p = ks_mirror_pass(*state, &in);
    assert_int_equal(p.n_create, 3);
    const struct ks_slice *now[3];
    for (size_t i = 0; i < 3; i++) {
        struct ks_slice *s = arena_memdup(*state, &p.create[i], sizeof(*s));
        s->meta.name = arena_printf(*state, "db-%zu", i);
        now[2 - i] = s;
    }
    in.slices = now;
    in.n_slices = 3;
    const struct ks_mirror_pass again = ks_mirror_pass(*state, &in);
    assert_string_equal(mirror_text(*state, &again), "");
}

UNIT_MAIN(slices_mirror)
{
    const struct CMUnitTest tests[] = {
        slices_test(mirror__objects__whether),
        slices_test(mirror__endpoints__slices),
        slices_test(mirror__two_families_one_deletion__no_slice_lost),
        slices_test(mirror__new_slice__metadata),
        slices_test(mirror__bad_and_many_addresses__events),
        slices_test(mirror__its_own_result__nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
