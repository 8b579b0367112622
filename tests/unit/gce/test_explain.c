/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c: which nodes serve, and the way of a packet, in words: one text per kind. */
#include "tests/unit/gce/decide_rows.h"

#include "providers/gce/gce_explain_nodes.h"
#include "tests/support/unit.h"

#define ZONES 3

/* n-00 … in zones a, b, c by turns; the last one is excluded by a label, the one before
 * has no podCIDR. */
static const struct tt_node **make_nodes(struct arena *a, size_t n)
{
    const struct tt_node **nodes = ARENA_ARRAY(a, const struct tt_node *, n);
    for (size_t i = 0; i < n; i++) {
        const char *zone = arena_printf(a, "us-central1-%c", (char)('a' + (int)(i % ZONES)));
        const char *label =
            i + 1 == n ? ",\"node.kubernetes.io/exclude-from-external-load-balancers\":\"\"" : "";
        const char *cidr =
            i + 2 == n ? "" : ",\"podCIDR\":\"10.4.1.0/24\",\"podCIDRs\":[\"10.4.1.0/24\"]";
        nodes[i] = test_node_text(
            a, arena_printf(a,
                            "{\"metadata\":{\"name\":\"n-%02zu\",\"labels\":{"
                            "\"topology.kubernetes.io/zone\":\"%s\"%s}},\"spec\":{\"providerID\":"
                            "\"gce://p/%s/n-%02zu\"%s},\"status\":{\"conditions\":[{\"type\":"
                            "\"Ready\",\"status\":\"True\"}],\"addresses\":[{\"type\":"
                            "\"InternalIP\",\"address\":\"10.0.0.%zu\"}]}}",
                            i, zone, label, zone, i, cidr, i + 1));
    }
    return nodes;
}

static struct gce_explained facts(struct arena *a, const char *words, size_t n)
{
    return (struct gce_explained){
        .service = decide_service(a, words),
        .ip = "",
        .nodes = make_nodes(a, n),
        .n_nodes = n,
        .project = "p",
        .region = "us-central1",
        .subnetwork = "projects/p/regions/us-central1/subnetworks/default",
        .filter = {.default_subnet = "default", .needs_pod_cidr = true},
        .legacy_groups = true,
        .max_group = 1000,
    };
}

static const char *text_of(struct arena *a, const struct gce_explained *e)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct lb_explain x;
    lb_explain_init(&x, a);
    gce_explain_nodes(&x, a, e);
    lb_explain_text(&b, "", x.rows, x.n);
    const char *text = str_buf_to_arena(&b, a);
    size_t n;
    char **lines = str_split(a, text, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (str_columns(lines[i]) > 100) {
            fail_msg("too wide: %s", lines[i]);
        }
    }
    return text;
}

static void pool__members_and_who_is_left_out(void **state)
{
    struct gce_explained e = facts(*state, "", 5);
    e.kind = GCE_KIND_TARGET_POOL;
    e.ip = "203.0.113.10";
    same_text(
        "pool", text_of(*state, &e),
        "\nNodes: 4 of 5 take part\n"
        "  n-04       left out   label node.kubernetes.io/exclude-from-external-load-balancers\n"
        "Packet:  client → 203.0.113.10:0 → any of 4 instances, port 0 → kube-proxy → a pod "
        "(source address\n"
        "         is not kept: policy Cluster)\n"
        "Health:  GET http://node:10256/healthz every 8 s\n");
}

static void groups__one_line_per_zone(void **state)
{
    struct gce_explained e = facts(*state, "internal", 6);
    e.kind = GCE_KIND_ILB_GROUPS;
    same_text(
        "groups", text_of(*state, &e),
        "\nNodes: 5 of 6 are in the cluster's instance groups, one per zone\n"
        "  us-central1-a    2   n-00 n-03\n"
        "  us-central1-b    2   n-01 n-04\n"
        "  us-central1-c    1   n-02\n"
        "  n-05       left out   label node.kubernetes.io/exclude-from-external-load-balancers\n"
        "Packet:  client in the network → (new address):0 → any of 5 instances of the groups, port "
        "0 "
        "→\n"
        "         kube-proxy → a pod (source address is not kept: policy Cluster)\n"
        "Health:  GET http://node:10256/healthz every 8 s\n");
}

static void negs__chosen_members_by_zone(void **state)
{
    struct gce_explained e = facts(*state, "internal", 6);
    e.kind = GCE_KIND_ILB_NEGS;
    same_text(
        "few", text_of(*state, &e),
        "\nNodes: 4 of 6 are members of the NEGs, one NEG per zone\n"
        "  us-central1-a    2 of 2   n-00 n-03\n"
        "  us-central1-b    1 of 1   n-01\n"
        "  us-central1-c    1 of 1   n-02\n"
        "  at most 25; who is a member stays, who joins is chosen by a hash\n"
        "  n-04       left out   it has no spec.podCIDR (--gce-nodes-need-pod-cidr)\n"
        "  n-05       left out   label node.kubernetes.io/exclude-from-external-load-balancers\n"
        "Packet:  client in the network → (new address):0 → any of 4 members, port 0 → kube-proxy "
        "→ a "
        "pod\n"
        "         (source address is not kept: policy Cluster)\n"
        "Health:  GET http://node:10256/healthz every 8 s\n");
}

static void negs__more_than_fit__the_chosen_24(void **state)
{
    struct gce_explained e = facts(*state, "internal", 62);
    e.kind = GCE_KIND_ILB_NEGS;
    const char *text = text_of(*state, &e);
    assert_non_null(strstr(text, "\nNodes: 24 of 62 are members of the NEGs, one NEG per zone\n"));
    assert_non_null(strstr(text, "\n  us-central1-a    8 of 20   "));
    assert_non_null(strstr(text, "\n  us-central1-c    8 of 20   "));
    assert_non_null(strstr(text, "any of 24 members"));
}

/* Present members stay. */
static void negs__members_now__stay(void **state)
{
    struct arena *a = *state;
    struct gce_explained e = facts(a, "internal", 62);
    struct gce_endpoint now[8];
    for (size_t i = 0; i < ARRAY_LEN(now); i++) {
        now[i] = (struct gce_endpoint){.instance = arena_printf(a, "n-%02zu", 36 + i * ZONES),
                                       .ip = arena_printf(a, "10.0.0.%zu", 37 + i * ZONES),
                                       .ipv6 = ""};
    }
    struct gce_neg_place place = {"us-central1-a", "default", now, ARRAY_LEN(now)};
    const struct gce_neg_places current = {&place, 1};
    e.kind = GCE_KIND_ILB_NEGS;
    e.current = &current;
    assert_non_null(strstr(text_of(a, &e), "\n  us-central1-a    8 of 20   n-36 n-39 n-42 n-45 "
                                           "n-48 n-51 n-54 n-57\n"));
}

static void negs__policy_local__those_with_an_endpoint(void **state)
{
    struct arena *a = *state;
    struct gce_explained e = facts(a, "internal", 6);
    struct tt_service *s = arena_memdup(a, e.service, sizeof(*e.service));
    s->external_traffic_policy = "Local";
    s->health_check_node_port = 30100;
    e.service = s;
    e.kind = GCE_KIND_ILB_NEGS;
    assert_non_null(strstr(text_of(a, &e), "\nNodes: those with an endpoint of the Service (policy "
                                           "Local); endpoints are not known here\n"));
    const struct tt_endpoint pods[] = {{.address = "10.4.1.7",
                                        .node_name = "n-01",
                                        .target_kind = "Pod",
                                        .target_name = "p",
                                        .flags = 3},
                                       {.address = "10.4.1.8",
                                        .node_name = "n-05",
                                        .target_kind = "Pod",
                                        .target_name = "p",
                                        .flags = 3}};
    const struct tt_slice slice = {.size = sizeof(slice),
                                   .ns = "demo",
                                   .name = "web-1",
                                   .service = "web",
                                   .address_type = "IPv4",
                                   .endpoints = pods,
                                   .n_endpoints = ARRAY_LEN(pods)};
    const struct tt_slice *slices[] = {&slice};
    e.slices = slices;
    e.n_slices = 1;
    e.has_slices = true;
    e.n_slices = 0;
    assert_non_null(strstr(text_of(a, &e), "there is no EndpointSlice yet: members stay"));
    e.n_slices = 1;
    const char *text = text_of(a, &e);
    assert_non_null(strstr(text, "\nNodes: 1 of 6 are members of the NEGs, one NEG per zone\n"));
    assert_non_null(strstr(text, "\n  us-central1-b    1 of 1   n-01\n"));
    assert_non_null(strstr(text, "those with an endpoint of the Service: policy Local\n"));
    assert_non_null(strstr(text, "one with a ready pod of 1 members"));
    assert_non_null(strstr(text, "Health:  GET http://node:30100/healthz every 3 s\n"));
}

static void negs__without_a_subnetwork__says_so(void **state)
{
    struct gce_explained e = facts(*state, "internal", 6);
    e.kind = GCE_KIND_ILB_NEGS;
    e.subnetwork = "";
    assert_non_null(strstr(text_of(*state, &e), "\nNodes: none can be chosen: "));
}

UNIT_MAIN(explain)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(pool__members_and_who_is_left_out),
        PURE_TEST(groups__one_line_per_zone),
        PURE_TEST(negs__chosen_members_by_zone),
        PURE_TEST(negs__more_than_fit__the_chosen_24),
        PURE_TEST(negs__members_now__stay),
        PURE_TEST(negs__policy_local__those_with_an_endpoint),
        PURE_TEST(negs__without_a_subnetwork__says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
