/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_endpoints.c: from slices to the endpoints of service ports. */
#include "tests/unit/services/services_test.h"

#include "common/services/node/endpoints.h"

/* "[PORT/PROTOCOL] ip:port flags …" of all groups, then the ready ones of the node.  Flags: L
 * local, r, s, t. */
static const char *groups_text(struct arena *a, const struct ks_service_endpoints *of)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t g = 0; g < of->n_groups; g++) {
        const struct ks_endpoint_group *group = &of->groups[g];
        str_appendf(&b, "[%s/%s]", group->port_name, group->protocol);
        for (size_t i = 0; i < group->n; i++) {
            const struct ks_endpoint *e = &group->items[i];
            str_appendf(&b, " %s=%s%s%s%s", e->text, e->local ? "L" : "", e->ready ? "r" : "",
                        e->serving ? "s" : "", e->terminating ? "t" : "");
        }
        str_append(&b, " ");
    }
    str_appendf(&b, "ready=%zu", of->local_ready);
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static const char *endpoints_text(struct arena *a, enum ks_family family,
                                  const struct ks_slice *const *slices, size_t n)
{
    struct ks_node_config config = config_of(family);
    const struct ks_slice **seen = ks_slices_sorted(a, family, slices, n, &n);
    struct ks_service_endpoints of = ks_service_endpoints(a, &config, seen, n, KS_ENDPOINTS_MAX);
    return groups_text(a, &of);
}

/* ---- one slice with an unnamed port ---------------------------------------------------------- */

static const struct {
    const char *endpoints;
    enum ks_family family;
    const char *want;
} rows[] = {
    /* sorted as text */
    {"10.0.0.2 n2 rs; 10.0.0.10 n1 rs", KS_IPV4, "[/TCP] 10.0.0.10:80=Lrs 10.0.0.2:80=rs ready=1"},
    {"fd00::2 n1 rs; fd00:0:0::1 - rs", KS_IPV6, "[/TCP] [fd00::1]:80=rs [fd00::2]:80=Lrs ready=1"},
    /* absent conditions: ready and serving, not terminating */
    {"10.0.0.1 n1 nil; 10.0.0.2 n1 -; 10.0.0.3 n1 st", KS_IPV4,
     "[/TCP] 10.0.0.1:80=Lrs 10.0.0.2:80=L 10.0.0.3:80=Lst ready=1"},
    /* canonical form; texts that are no address of the family are left out */
    {"010.0.0.1 n1 rs; x n1 rs; fd00::1 n1 rs", KS_IPV4, "[/TCP] 10.0.0.1:80=Lrs ready=1"},
    /* an empty node name is not local */
    {"10.0.0.1  rs", KS_IPV4, "[/TCP] 10.0.0.1:80=rs ready=0"},
    {"", KS_IPV4, "ready=0"},
    {"10.0.0.1 n1 rs", KS_IPV6, "ready=0"},
    /* one text twice: the last that does not terminate, else the first */
    {"10.0.0.1 n1 rs; 10.0.0.1 n2 rs", KS_IPV4, "[/TCP] 10.0.0.1:80=rs ready=0"},
    {"10.0.0.1 n1 rs; 10.0.0.1 n2 st", KS_IPV4, "[/TCP] 10.0.0.1:80=Lrs ready=1"},
    {"10.0.0.1 n1 st; 10.0.0.1 n2 rs", KS_IPV4, "[/TCP] 10.0.0.1:80=rs ready=0"},
    {"10.0.0.1 n1 st; 10.0.0.1 n2 t", KS_IPV4, "[/TCP] 10.0.0.1:80=Lst ready=0"},
    {"10.0.0.1 n1 st; 10.0.0.1 n2 -; 10.0.0.1 n2 st", KS_IPV4, "[/TCP] 10.0.0.1:80= ready=0"},
};

static void endpoints__of_one_slice__rows(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_slice *slice = slice_of(a, "s-1", "s", rows[i].endpoints);
        if (strchr(rows[i].endpoints, '.') != NULL) {
            slice->address_type = "IPv4";
        }
        const char *got =
            endpoints_text(a, rows[i].family, (const struct ks_slice *const[]){slice}, 1);
        if (!str_eq(got, rows[i].want)) {
            fail_msg("%s\n   got: %s\n  want: %s", rows[i].endpoints, got, rows[i].want);
        }
    }
}

/* ---- which slices and ports ------------------------------------------------------------------ */

#define META(labels)                                                                               \
    "{'metadata': {'namespace': 'ns', 'name': 's-1', 'labels': {" labels "}}, "                    \
    "'addressType': 'IPv4', 'endpoints': [{'addresses': ['10.0.0.1', '10.0.0.9'], 'nodeName': "    \
    "'n1'}], "
#define OF_S "'kubernetes.io/service-name': 's'"

static const struct {
    const char *slice;
    const char *want;
} slices[] = {
    /* only the first address counts */
    {META(OF_S) "'ports': [{'name': 'p', 'protocol': 'UDP', 'port': 5}]}",
     "[p/UDP] 10.0.0.1:5=Lrs ready=1"},
    {META(OF_S) "'ports': [{'name': '', 'port': 5}]}", "[/TCP] 10.0.0.1:5=Lrs ready=1"},
    {META(OF_S) "'ports': [{'port': 5}]}", "ready=0"},                      /* no name */
    {META(OF_S) "'ports': [{'name': 'p', 'protocol': 'TCP'}]}", "ready=0"}, /* all ports */
    {META(OF_S) "'ports': [{'name': 'p', 'port': 0}]}", "ready=0"},
    {META(OF_S) "'ports': []}", "ready=0"},
    {META(OF_S) "'ports': null}", "ready=0"},
    /* several ports: one address of the node, ready once */
    {META(OF_S) "'ports': [{'name': 'b', 'port': 5}, {'name': 'a', 'port': 7}, {'name': 'a', "
                "'port': "
                "6}, {'name': 'a', 'protocol': 'UDP', 'port': 5}]}",
     "[a/TCP] 10.0.0.1:6=Lrs 10.0.0.1:7=Lrs [a/UDP] 10.0.0.1:5=Lrs [b/TCP] 10.0.0.1:5=Lrs "
     "ready=1"},
    /* slices that are not checked */
    {META("") "'ports': [{'name': 'p', 'port': 5}]}", "ready=0"},
    {META("'kubernetes.io/service-name': ''") "'ports': [{'name': 'p', 'port': 5}]}", "ready=0"},
    {META(OF_S ", 'service.kubernetes.io/headless': ''") "'ports': [{'name': 'p', 'port': 5}]}",
     "ready=0"},
    {"{'metadata': {'namespace': 'ns', 'name': 's-1', 'labels': {" OF_S
     "}}, 'addressType': 'FQDN', "
     "'endpoints': [{'addresses': ['x.example']}], 'ports': [{'name': 'p', 'port': 5}]}",
     "ready=0"},
    {"{'metadata': {'name': 's-1', 'labels': {" OF_S "}}, 'addressType': 'IPv4', 'endpoints': "
     "[{'addresses': ['10.0.0.1']}], 'ports': [{'name': 'p', 'port': 5}]}",
     "ready=0"},
    {"{'metadata': {'namespace': 'ns', 'labels': {" OF_S "}}, 'addressType': 'IPv4', 'endpoints': "
     "[{'addresses': ['10.0.0.1']}], 'ports': [{'name': 'p', 'port': 5}]}",
     "ready=0"},
    /* an endpoint without address */
    {"{'metadata': {'namespace': 'ns', 'name': 's-1', 'labels': {" OF_S
     "}}, 'addressType': 'IPv4', "
     "'endpoints': [{'addresses': []}, {}], 'ports': [{'name': 'p', 'port': 5}]}",
     "ready=0"},
};

static void endpoints__by_label_and_port__rows(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        const struct ks_slice *slice = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(ks_slice_decode(a, json_of(a, slices[i].slice), "", &slice, &err), ERR_OK);
        const char *got = endpoints_text(a, KS_IPV4, &slice, 1);
        if (!str_eq(got, slices[i].want)) {
            fail_msg("%s\n   got: %s\n  want: %s", slices[i].slice, got, slices[i].want);
        }
    }
}

static void endpoints__in_several_slices__the_last_by_name_counts(void **state)
{
    struct arena *a = *state;
    const struct ks_slice *one = slice_of(a, "s-1", "s", "10.0.0.1 n1 rs; 10.0.0.2 n1 rs");
    const struct ks_slice *two = slice_of(a, "s-2", "s", "10.0.0.1 n2 s");
    const char *want = "[/TCP] 10.0.0.1:80=s 10.0.0.2:80=Lrs ready=1";
    assert_string_equal(endpoints_text(a, KS_IPV4, (const struct ks_slice *const[]){one, two}, 2),
                        want);
    assert_string_equal(endpoints_text(a, KS_IPV4, (const struct ks_slice *const[]){two, one}, 2),
                        want);
}

static void endpoints__hints__are_sets(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_slice *slice =
        slice_of(a, "s-1", "s", "10.0.0.1 n1 rs z:c,a,c n:n2,n1; 10.0.0.2 n1 rs");
    struct ks_service_endpoints of = ks_service_endpoints(a, &config, &slice, 1, KS_ENDPOINTS_MAX);
    const struct ks_endpoint *e = ks_endpoint_group(&of, "", "TCP")->items;
    assert_int_equal(e[0].n_zone_hints, 2);
    assert_string_equal(e[0].zone_hints[0], "a");
    assert_string_equal(e[0].zone_hints[1], "c");
    assert_int_equal(e[0].n_node_hints, 2);
    assert_string_equal(e[0].node_hints[0], "n1");
    assert_int_equal(e[1].n_zone_hints + e[1].n_node_hints, 0);
    assert_null(ks_endpoint_group(&of, "", "UDP"));
    assert_null(ks_endpoint_group(&of, "x", "TCP"));
}

static void endpoints__of_too_many_ports__leave_groups_out_and_say_so(void **state)
{
    struct arena *a = *state;
    struct ks_node_config config = config_of(KS_IPV4);
    const struct ks_slice *slice = NULL;
    struct err err = ERR_INIT;
    const char *text = META(OF_S) "'ports': [{'name': 'a', 'port': 1}, {'name': 'b', 'port': 2}, "
                                  "{'name': 'b', 'port': 3}, {'name': 'c', 'port': 4}]}";
    assert_int_equal(ks_slice_decode(a, json_of(a, text), "", &slice, &err), ERR_OK);
    struct ks_service_endpoints of = ks_service_endpoints(a, &config, &slice, 1, 2);
    assert_string_equal(groups_text(a, &of),
                        "[a/TCP] 10.0.0.1:1=Lrs [c/TCP] 10.0.0.1:4=Lrs ready=1");
    assert_int_equal(of.n_endpoints, 2);
    assert_int_equal(of.n_left_out, 2);
    of = ks_service_endpoints(a, &config, &slice, 1, 4);
    assert_int_equal(of.n_endpoints, 4);
    assert_int_equal(of.n_left_out, 0);
}

UNIT_MAIN(node_endpoints)
{
    const struct CMUnitTest tests[] = {
        services_test(endpoints__of_one_slice__rows),
        services_test(endpoints__by_label_and_port__rows),
        services_test(endpoints__in_several_slices__the_last_by_name_counts),
        services_test(endpoints__hints__are_sets),
        services_test(endpoints__of_too_many_ports__leave_groups_out_and_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
