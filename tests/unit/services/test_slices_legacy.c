/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices_legacy.c: Endpoints of Services with a selector, their canonical form, truncation. */
#include "tests/unit/services/slices_test.h"

#include "common/services/slices/repack.h"
#include "tests/upstream/endpoints.h"
#include "tests/upstream/legacy.h"

static void append_addresses(struct str_buf *b, const struct ks_subset_address *list, size_t n,
                             const char *mark)
{
    for (size_t i = 0; i < n; i++) {
        str_appendf(b, "%s%s ", list[i].ip, mark);
    }
}

/* "10.0.0.1 10.0.0.2! :80 b81 | …": "!" is not ready. */
static const char *subsets_text(struct arena *a, const struct ks_subset *subsets, size_t n)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        str_append(&b, i > 0 ? "| " : "");
        append_addresses(&b, subsets[i].ready, subsets[i].n_ready, "");
        append_addresses(&b, subsets[i].not_ready, subsets[i].n_not_ready, "!");
        str_append(&b, ":");
        for (size_t k = 0; k < subsets[i].n_ports; k++) {
            const struct ks_subset_port *p = &subsets[i].ports[k];
            str_appendf(&b, "%s%d%s%s ", p->name, p->port, str_eq(p->protocol, "TCP") ? "" : "u",
                        str_nonnull(p->app_protocol));
        }
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* ---- canonical form -------------------------------------------------------------------------- */

static void repack__subsets__canonical(void **state)
{
    static const struct {
        const char *subsets, *want;
    } rows[] = {
        {"[]", ""},
        {"[{'addresses': [{'ip': '10.0.0.2'}, {'ip': '10.0.0.1'}], 'ports': [{'name': 'b', "
         "'port': 81}, {'name': 'a', 'port': 80}]}]",
         "10.0.0.1 10.0.0.2 :a80 b81 "},
        /* By port, then ports with the same addresses together. */
        {"[{'addresses': [{'ip': '1'}], 'ports': [{'name': 'a', 'port': 80}]}, {'addresses': "
         "[{'ip': '1'}], 'ports': [{'name': 'b', 'port': 81}]}]",
         "1 :a80 b81 "},
        {"[{'addresses': [{'ip': '1'}, {'ip': '2'}], 'ports': [{'name': 'a', 'port': 80}]}, "
         "{'addresses': [{'ip': '2'}, {'ip': '3'}], 'ports': [{'name': 'b', 'port': 81}]}]",
         "1 2 :a80 | 2 3 :b81 "},
        {"[{'addresses': [{'ip': '1'}], 'ports': [{'port': 80}]}, {'addresses': [{'ip': '2'}], "
         "'ports': [{'port': 80}]}]",
         "1 2 :80 "},
        /* The same addresses in another order and from other subsets. */
        {"[{'addresses': [{'ip': '1'}, {'ip': '2'}], 'ports': [{'name': 'a', 'port': 80}]}, "
         "{'addresses': [{'ip': '2'}], 'ports': [{'name': 'b', 'port': 81}]}, {'addresses': "
         "[{'ip': '1'}], 'ports': [{'name': 'b', 'port': 81}]}]",
         "1 2 :a80 b81 "},
        /* Not ready wins, for each port by itself. */
        {"[{'addresses': [{'ip': '1'}], 'ports': [{'name': 'a', 'port': 80}, {'name': 'b', "
         "'port': 81}]}, {'notReadyAddresses': [{'ip': '1'}], 'ports': [{'name': 'b', 'port': "
         "81}]}]",
         "1 :a80 | 1! :b81 "},
        {"[{'notReadyAddresses': [{'ip': '1'}], 'ports': [{'port': 80}]}, {'addresses': [{'ip': "
         "'1'}], 'ports': [{'port': 80}]}]",
         "1! :80 "},
        /* The protocol is part of a port, the uid of the target part of an address. */
        {"[{'addresses': [{'ip': '1'}], 'ports': [{'port': 53}, {'port': 53, 'protocol': 'UDP'}]}]",
         "1 :53 53u "},
        {"[{'addresses': [{'ip': '1', 'targetRef': {'uid': 'b'}}, {'ip': '1', 'targetRef': {'uid': "
         "'a'}}, {'ip': '1'}, {'ip': '1', 'targetRef': {'uid': 'b'}}], 'ports': [{'port': 80}]}]",
         "1 1 1 :80 "},
        /* Subsets without ports are together, those without addresses vanish. */
        {"[{'addresses': [{'ip': '2'}]}, {'addresses': [{'ip': '1'}]}, {'ports': [{'port': 1}]}]",
         "1 2 :"},
        /* No ports, and a port with the same addresses. */
        {"[{'addresses': [{'ip': '1'}]}, {'addresses': [{'ip': '1'}], 'ports': [{'port': 80}]}]",
         "1 :80 "},
        /* appProtocol: together within one subset, apart between two. */
        {"[{'addresses': [{'ip': '1'}], 'ports': [{'name': 'a', 'port': 80, 'appProtocol': 'h'}, "
         "{'name': 'b', 'port': 81, 'appProtocol': 'h'}]}]",
         "1 :a80h b81h "},
        {"[{'addresses': [{'ip': '1'}], 'ports': [{'port': 80, 'appProtocol': 'h'}]}, "
         "{'addresses': [{'ip': '2'}], 'ports': [{'port': 80, 'appProtocol': 'h'}]}]",
         "1 :80h | 2 :80h "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_endpoints *e = NULL;
        struct err err = ERR_INIT;
        const char *text = arena_printf(*state, "{'subsets': %s}", rows[i].subsets);
        assert_int_equal(ks_endpoints_decode(*state, tree_of(*state, text), "", &e, &err), ERR_OK);
        size_t n = 0;
        const struct ks_subset *got = ks_subsets_repack(*state, e->subsets, e->n_subsets, &n);
        if (!str_eq(subsets_text(*state, got, n), rows[i].want)) {
            fail_msg("row %zu: got \"%s\", want \"%s\"", i, subsets_text(*state, got, n),
                     rows[i].want);
        }
    }
}

static void repack__many_subsets__no_square(void **state)
{
    enum { N = 20000 };
    struct ks_subset *subsets = ARENA_ARRAY(*state, struct ks_subset, N);
    struct ks_subset_address *at = ARENA_ARRAY(*state, struct ks_subset_address, N);
    struct ks_subset_port *ports = ARENA_ARRAY(*state, struct ks_subset_port, N);
    for (size_t i = 0; i < N; i++) {
        at[i] =
            (struct ks_subset_address){.ip = arena_printf(*state, "%05zu", N - i), .hostname = ""};
        ports[i] = (struct ks_subset_port){.name = "", .protocol = "TCP", .port = 80};
        subsets[i] =
            (struct ks_subset){.ready = &at[i], .n_ready = 1, .ports = &ports[i], .n_ports = 1};
    }
    size_t n = 0;
    const struct ks_subset *got = ks_subsets_repack(*state, subsets, N, &n);
    assert_int_equal(n, 1);
    assert_int_equal(got[0].n_ready, N);
    assert_string_equal(got[0].ready[0].ip, "00001");
    for (size_t i = 0; i < N; i++) {
        ports[i].port = (int32_t)i + 1; /* each port has other addresses */
    }
    (void)ks_subsets_repack(*state, subsets, N, &n);
    assert_int_equal(n, N);
}

/* ---- Endpoints of a Service ------------------------------------------------------------------ */

static const struct ks_endpoints *endpoints_of(struct arena *a, const char *spec, const char *pods)
{
    const struct pod_list list = pods_of(a, pods);
    const struct ks_service *s = service_of(
        a, arena_printf(a,
                        "{'metadata': {'name': 'svc', 'namespace': 'ns', 'labels': {'a': 'b', "
                        "'service.kubernetes.io/headless': 'x'}}, 'spec': {%s}}",
                        spec));
    return ks_legacy_endpoints(a, s, list.items, list.n);
}

static void legacy__pods__subsets(void **state)
{
#define SPEC "'selector': {}, 'clusterIP': '10.96.0.1'"
#define WEB  ", 'ports': [{'port': 80, 'targetPort': 'http'}]"
    static const struct {
        const char *spec, *pods, *want;
    } rows[] = {
        {SPEC WEB, "p2 10.0.0.2 n r; p1 10.0.0.1 n r; p3 10.0.0.3 n -",
         "10.0.0.1 10.0.0.2 10.0.0.3! :8080 "},
        /* Terminating ones only when not-ready addresses are published; all are ready then. */
        {SPEC WEB, "p1 10.0.0.1 n rt; p2 10.0.0.2 n f", ""},
        {SPEC WEB ", 'publishNotReadyAddresses': true",
         "p1 10.0.0.1 n t; p2 10.0.0.2 n f; p3 10.0.0.3 n -", "10.0.0.1 10.0.0.3 :8080 "},
        /* One family: the first of the Service, else that of its cluster IP. */
        {SPEC WEB ", 'ipFamilies': ['IPv6', 'IPv4']", "p1 10.0.0.1,FD00::1 n r; p2 10.0.0.2 n r",
         "fd00::1 :8080 "},
        {"'selector': {}, 'clusterIP': 'fd00::9'" WEB, "p1 10.0.0.1,fd00::1 n r", "fd00::1 :8080 "},
        {SPEC WEB, "p1 fd00::1,10.0.0.1 n r", "10.0.0.1 :8080 "},
        /* Headless: that of each pod. */
        {"'selector': {}, 'clusterIP': 'None'" WEB,
         "p1 fd00::1,10.0.0.1 n r; p2 10.0.0.2,fd00::2 n r", "10.0.0.2 fd00::1 :8080 "},
        /* Ports that a pod does not have are left out, of that pod. */
        {SPEC ", 'ports': [{'name': 'a', 'port': 80, 'targetPort': 'http'}, {'name': 'b', 'port': "
              "81}]",
         "p1 10.0.0.1 n r; p2 10.0.0.2 n r none; p3 10.0.0.3 n r 9090",
         "10.0.0.1 :a8080 | 10.0.0.3 :a9090 | 10.0.0.1 10.0.0.2 10.0.0.3 :b81 "},
        {SPEC WEB, "p1 10.0.0.1 n r none", ""},
        /* Without ports: nothing, but headless one subset without ports. */
        {SPEC, "p1 10.0.0.1 n r", ""},
        {"'selector': {}, 'clusterIP': 'None'", "p1 10.0.0.1 n r; p2 10.0.0.2 n -",
         "10.0.0.1 10.0.0.2! :"},
        /* One appProtocol of the Service is one port, whatever pods it is of. */
        {SPEC ", 'ports': [{'name': 'a', 'port': 80, 'targetPort': 'http', 'appProtocol': 'h'}, "
              "{'name': 'b', 'port': 81, 'appProtocol': 'h'}]",
         "p1 10.0.0.1 n r; p2 10.0.0.2 n r none", "10.0.0.1 :a8080h | 10.0.0.1 10.0.0.2 :b81h "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ks_endpoints *e = endpoints_of(*state, rows[i].spec, rows[i].pods);
        assert_string_equal(subsets_text(*state, e->subsets, e->n_subsets), rows[i].want);
        assert_string_equal(e->meta.name, "svc");
        assert_int_equal(e->meta.n_annotations, 0);
    }
    assert_null(endpoints_of(*state, "'clusterIP': '10.96.0.1'", ""));
    assert_null(endpoints_of(*state, "'selector': {}, 'type': 'ExternalName'", ""));
}

static void legacy__object__labels_and_members(void **state)
{
    const struct ks_endpoints *e = endpoints_of(*state, SPEC WEB, "p1 10.0.0.1 - r");
    assert_int_equal(e->meta.n_labels, 2);
    assert_string_equal(ks_kv(e->meta.labels, 2, "a"), "b");
    assert_string_equal(ks_kv(e->meta.labels, 2, "endpoints.kubernetes.io/managed-by"),
                        "endpoint-controller");
    const struct ks_subset_address *at = &e->subsets[0].ready[0];
    assert_string_equal(at->node_name, ""); /* present, though empty */
    assert_string_equal(at->hostname, "");
    assert_string_equal(at->ref->name, "p1");
    assert_string_equal(at->ref->uid, "uid-p1");
    e = endpoints_of(*state, "'selector': {}, 'clusterIP': 'None'", "");
    assert_int_equal(e->meta.n_labels, 3);
    assert_string_equal(ks_kv(e->meta.labels, 3, "service.kubernetes.io/headless"), "");
    assert_int_equal(e->n_subsets, 0);
}

/* ---- truncation ------------------------------------------------------------------------------ */

static void truncate__sizes__in_proportion(void **state)
{
    (void)state;
    static const struct {
        struct ks_subset_size sizes[3], want[3];
        bool truncated;
    } rows[] = {
        {{{0, 0}}, {{0, 0}}, false},
        {{{1000, 0}}, {{1000, 0}}, false},
        {{{400, 600}}, {{400, 600}}, false},
        {{{1001, 0}}, {{1000, 0}}, true},
        {{{1001, 500}}, {{1000, 0}}, true},
        {{{1000, 1}}, {{1000, 0}}, true},
        {{{999, 500}}, {{999, 1}}, true},
        {{{1127, 0}, {1, 242}}, {{1000, 0}, {0, 0}}, true},
        /* ceil(600/1201 · 1000) = 500, ceil(601/1201 · 1000) = 501, of which 500 fit. */
        {{{600, 0}, {601, 0}}, {{500, 0}, {500, 0}}, true},
        {{{100, 1000}, {100, 1000}, {0, 0}}, {{100, 400}, {100, 400}, {0, 0}}, true},
        {{{1, 700}, {1, 700}, {1, 700}}, {{1, 333}, {1, 333}, {1, 331}}, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_subset_size sizes[3];
        memcpy(sizes, rows[i].sizes, sizeof(sizes));
        assert_int_equal(ks_legacy_truncate(sizes, 3), rows[i].truncated);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(sizes[k].ready, rows[i].want[k].ready);
            assert_int_equal(sizes[k].not_ready, rows[i].want[k].not_ready);
        }
    }
}

static void legacy__many_pods__truncated_with_annotation(void **state)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < 1200; i++) {
        str_appendf(&b, "p%04zu 10.0.%zu.%zu n r;", i, i / 250, i % 250);
    }
    const struct ks_endpoints *e = endpoints_of(*state, SPEC WEB, str_buf_text(&b));
    str_buf_done(&b);
    assert_int_equal(e->n_subsets, 1);
    assert_int_equal(e->subsets[0].n_ready, 1000);
    assert_int_equal(e->meta.n_annotations, 1);
    assert_string_equal(e->meta.annotations[0].key, "endpoints.kubernetes.io/over-capacity");
    assert_string_equal(e->meta.annotations[0].value, "truncated");
}

UNIT_MAIN(slices_legacy)
{
    const struct CMUnitTest tests[] = {
        slices_test(repack__subsets__canonical),
        slices_test(repack__many_subsets__no_square),
        slices_test(legacy__pods__subsets),
        slices_test(legacy__object__labels_and_members),
        slices_test(truncate__sizes__in_proportion),
        slices_test(legacy__many_pods__truncated_with_annotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
