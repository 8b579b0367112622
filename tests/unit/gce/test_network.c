/* SPDX-License-Identifier: Apache-2.0 */
/* test_network.c: Services of other networks: which one they name, where it is, what is wrong with
 * it, what is made there, and what stands elsewhere; gce-l4.md §4.13, row V150, and upstream's
 * texts, which users may have alerts on. */
#include "tests/unit/gce/kube_fake.h"

#include "providers/gce/backend/gce_bs.h"
#include "providers/gce/cache/gce_network.h"
#include "tests/support/unit.h"

#define BASE "https://www.googleapis.com/compute/v1/projects/"
#define VPC  BASE "host/global/networks/blue-vpc"

static const struct gce_network_links links = {
    .projects_base = BASE, .project = "host", .region = "r1"};

/* ---- which network --------------------------------------------------------------------------- */

static void of_service__selector__name_or_the_clusters_own(void **state)
{
    static const struct {
        struct tt_kv selector[2];
        uint32_t n;
        const char *want;
    } rows[] = {
        {{{"app", "web"}}, 0, NULL},
        {{{"app", "web"}}, 1, NULL},
        {{{"app", "web"}, {"networking.gke.io/network", "blue"}}, 2, "blue"},
        {{{"networking.gke.io/network", "default"}}, 1, NULL},
        {{{"networking.gke.io/network", ""}}, 1, NULL},
        {{{"networking.gke.io/networks", "blue"}}, 1, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tt_service s = {
            .size = sizeof(s), .selector = rows[i].selector, .n_selector = rows[i].n};
        same_text("name", gce_network_of_service(&s), rows[i].want);
    }
}

/* ---- what objects say ------------------------------------------------------------------------ */

#define REF(more) "{\"group\":\"networking.gke.io\",\"kind\":\"GKENetworkParamSet\"" more "}"
#define NO_REF    "network.Spec.ParametersRef does not refer a GKENetworkParamSet resource"
#define ONLY_L3                                                                                    \
    " is not supported for multinetwork LoadBalancer services, the only supported network type "   \
    "is L3"

static void params_name__rows__name_or_upstreams_words(void **state)
{
    static const struct {
        const char *spec; /* NULL: there is no object */
        const char *want; /* name, or the message */
        int rc;
    } rows[] = {
        {NULL, "network blue does not exist", ERR_INVALID},
        {"{\"type\":\"L3\",\"parametersRef\":" REF(",\"name\":\"p\"") "}", "p", ERR_OK},
        {"{\"type\":\"L3\",\"parametersRef\":" REF(",\"name\":\"p\",\"namespace\":null") "}", "p",
         ERR_OK},
        {"{\"type\":\"L3\",\"parametersRef\":{\"group\":\"networking.gke.io\",\"kind\":"
         "\"gKeNeTwOrkParamSet\",\"name\":\"p\"}}",
         "p", ERR_OK},
        {"{\"type\":\"L2\"}", "network.Spec.Type=L2" ONLY_L3, ERR_INVALID},
        {"{\"type\":\"Device\"}", "network.Spec.Type=Device" ONLY_L3, ERR_INVALID},
        {"{}", "network.Spec.Type=" ONLY_L3, ERR_INVALID},
        {"{\"type\":\"L3\"}", NO_REF, ERR_INVALID},
        {"{\"type\":\"L3\",\"parametersRef\":" REF("") "}", NO_REF, ERR_INVALID},
        {"{\"type\":\"L3\",\"parametersRef\":" REF(",\"name\":\"\"") "}", NO_REF, ERR_INVALID},
        {"{\"type\":\"L3\",\"parametersRef\":{\"group\":\"networking.gke.io\",\"kind\":\"Other\","
         "\"name\":\"p\"}}",
         NO_REF, ERR_INVALID},
        {"{\"type\":\"L3\",\"parametersRef\":{\"group\":\"k8s.io\",\"kind\":"
         "\"GKENetworkParamSet\",\"name\":\"p\"}}",
         NO_REF, ERR_INVALID},
        {"{\"type\":\"L3\",\"parametersRef\":" REF(",\"name\":\"p\",\"namespace\":\"demo\"") "}",
         "network.Spec.ParametersRef.namespace must not be set for GKENetworkParamSet reference "
         "as it is a cluster scope resource",
         ERR_INVALID},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *o = rows[i].spec == NULL
                                    ? NULL
                                    : pure_json(a, arena_printf(a, "{\"spec\":%s}", rows[i].spec));
        const char *name = NULL;
        struct err err = ERR_INIT;
        print_message("# %s\n", str_nonnull(rows[i].spec));
        assert_int_equal(gce_network_params_name(a, "blue", o, &name, &err), rows[i].rc);
        same_text("says", rows[i].rc == ERR_OK ? name : err.message, rows[i].want);
    }
}

static void place_of__rows__links_in_the_network_project(void **state)
{
    static const struct {
        const char *spec; /* NULL: there is no object */
        const char *want; /* "network subnetwork", or the message */
        int rc;
    } rows[] = {
        {NULL, "GKENetworkParamSet p was not found", ERR_INVALID},
        {"{\"vpc\":\"blue-vpc\",\"vpcSubnet\":\"blue-sub\"}",
         VPC " " BASE "host/regions/r1/subnetworks/blue-sub", ERR_OK},
        {"{\"vpc\":\"blue-vpc\"}", "GKENetworkParamSet p: spec.vpcSubnet \"\" is no name",
         ERR_INVALID},
        {"{\"vpcSubnet\":\"s\"}", "GKENetworkParamSet p: spec.vpc \"\" is no name", ERR_INVALID},
        {"{\"vpc\":\"x/../y\",\"vpcSubnet\":\"s\"}",
         "GKENetworkParamSet p: spec.vpc \"x/../y\" is no name", ERR_INVALID},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct json_object *o = rows[i].spec == NULL
                                    ? NULL
                                    : pure_json(a, arena_printf(a, "{\"spec\":%s}", rows[i].spec));
        struct gce_network_place place = {0};
        struct err err = ERR_INIT;
        assert_int_equal(gce_network_place_of(a, &links, "p", o, &place, &err), rows[i].rc);
        same_text("says",
                  rows[i].rc == ERR_OK ? arena_printf(a, "%s %s", place.network, place.subnetwork)
                                       : err.message,
                  rows[i].want);
    }
}

/* ---- what stands elsewhere ------------------------------------------------------------------- */

static void check_seen__elsewhere__refused_never_remade(void **state)
{
    static const struct {
        const char *selected;
        bool enabled;
        bool groups_instead_negs;
        const char *seen; /* network of a forwarding rule */
        const char *want; /* the message; NULL: nothing against it */
    } rows[] = {
        {NULL, false, false, VPC, NULL}, /* as ever: no network was asked for */
        {"red", false, false, "", NULL},
        {"red", false, false, BASE "host/global/networks/red-vpc", NULL},
        {"red", false, false, VPC,
         "forwarding rule fr is in network blue-vpc, and the Service selects network red, but "
         "--enable-multi-networking is off: nothing is changed"},
        {"red", false, true, "",
         "its backends are NEGs, and the Service selects network red, but "
         "--enable-multi-networking is off: nothing is changed"},
        {NULL, false, true, "", NULL},
        {"red", true, true, "", NULL},
        {"red", true, false, "projects/host/global/networks/red-vpc", NULL},
        {"red", true, false, VPC,
         "forwarding rule fr is in network blue-vpc, not in red-vpc: a load balancer cannot move "
         "to another network; make the Service anew"},
        {NULL, true, false, VPC,
         "forwarding rule fr is in network blue-vpc, not in red-vpc: a load balancer cannot move "
         "to another network; make the Service anew"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_network_seen seen[] = {
            {.what = "backend service", .name = "bs", .network = ""},
            {.what = "forwarding rule", .name = "fr", .network = rows[i].seen}};
        const struct gce_network_case c = {.selected = rows[i].selected,
                                           .enabled = rows[i].enabled,
                                           .wanted = BASE "host/global/networks/red-vpc",
                                           .groups_instead_negs = rows[i].groups_instead_negs,
                                           .seen = seen,
                                           .n = ARRAY_LEN(seen)};
        struct err err = ERR_INIT;
        int rc = gce_network_check_seen(&c, &err);
        print_message("# row %zu\n", i);
        assert_int_equal(rc, rows[i].want == NULL ? ERR_OK : ERR_INVALID);
        same_text("says", rc == ERR_OK ? NULL : err.message, rows[i].want);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

#define NETWORK "{\"spec\":{\"type\":\"L3\",\"parametersRef\":" REF(",\"name\":\"p\"") "}}"
#define PARAMS  "{\"spec\":{\"vpc\":\"blue-vpc\",\"vpcSubnet\":\"blue-sub\"}}"

/* One question; the network's link, or what is wrong. */
static const char *find(struct arena *a, struct kube_fake *f, struct gce_kube_texts *t, int want)
{
    const struct gce_network_reads r = {.texts = t, .host = &f->host, .a = a};
    struct gce_network_place place = {0};
    struct err err = ERR_INIT;
    assert_int_equal(gce_network_find(&r, &links, "blue", &place, &err), want);
    return want == ERR_OK ? place.network : arena_strdup(a, err.message);
}

static void find__both_there__asked_once(void **state)
{
    struct kube_fake *f = kube_fake_new(*state);
    struct gce_kube_texts *t = gce_kube_texts_new();
    kube_fake_put(f, "/blue", NETWORK);
    kube_fake_put(f, "/p", PARAMS);
    for (int i = 0; i < 3; i++) {
        same_text("network", find(*state, f, t, ERR_OK), VPC);
    }
    same_text("requests", kube_fake_story(f), "get /blue · get /p");
    f->now_ms += GCE_KUBE_TEXTS_AGE_MS;
    same_text("network", find(*state, f, t, ERR_OK), VPC);
    same_text("requests", kube_fake_story(f), "get /blue · get /p");
    gce_kube_texts_free(t);
    kube_fake_free(f);
}

static void find__missing__asked_again_until_it_is_there(void **state)
{
    struct kube_fake *f = kube_fake_new(*state);
    struct gce_kube_texts *t = gce_kube_texts_new();
    same_text("none", find(*state, f, t, ERR_INVALID), "network blue does not exist");
    kube_fake_put(f, "/blue", NETWORK);
    same_text("one", find(*state, f, t, ERR_INVALID), "GKENetworkParamSet p was not found");
    kube_fake_put(f, "/p", PARAMS);
    same_text("both", find(*state, f, t, ERR_OK), VPC);
    gce_kube_texts_free(t);
    kube_fake_free(f);
}

static void find__not_readable__no_users_error(void **state)
{
    struct kube_fake *f = kube_fake_new(*state);
    struct gce_kube_texts *t = gce_kube_texts_new();
    f->refuse[0].request = "get /blue";
    f->refuse[0].code = TT_FORBIDDEN;
    same_text("forbidden", find(*state, f, t, ERR_FORBIDDEN),
              "networks blue could not be read: forbidden");
    kube_fake_put(f, "/blue", NETWORK);
    f->refuse[0].request = "get /p";
    f->refuse[0].code = TT_TRANSIENT;
    same_text("down", find(*state, f, t, ERR_TRANSIENT),
              "gkenetworkparamsets p could not be read: transient");
    gce_kube_texts_free(t);
    kube_fake_free(f);
}

/* ---- what is made there ---------------------------------------------------------------------- */

#define OWN BASE "host/global/networks/own"
#define H   "axyqjz2d-test-namespace-test-name-yuvhdy7i"

/* A Service of both families and policy Cluster; `network` NULL: of the cluster's own. */
static void make(struct arena *a, enum gce_kind kind, const char *network,
                 struct gce_bs_desired *ret)
{
    const struct gce_bs_facts facts = {
        .project = "p",
        .network_project = "host",
        .region = "r1",
        .projects_base = BASE,
        .network = network != NULL ? VPC : OWN,
        .subnetwork = BASE "host/regions/r1/subnetworks/sub",
        .network_name = network,
        .home_subnetwork = network != NULL ? BASE "host/regions/r1/subnetworks/home" : NULL,
        .kube_system_uid = "ksuid123",
        .cluster_id = "cid",
        .check_sources = gce_strs_one(a, "35.191.0.0/16"),
        .check_sources_v6_ilb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_ILB),
        .check_sources_v6_netlb = gce_strs_one(a, GCE_CHECK_SOURCE_V6_NETLB),
        .flags = {.dual_stack_ilb = true, .dual_stack_netlb = true, .pinhole = true},
    };
    const struct gce_bs_user_address none = {.name = "", .ip = "", .tier = ""};
    const struct gce_bs_input in = {
        .service = test_service_text(
            a, "{\"metadata\":{\"namespace\":\"test-namespace\",\"name\":\"test-name\",\"uid\":"
               "\"1234567890\"},\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilies\":[\"IPv4\","
               "\"IPv6\"],\"ports\":[{\"protocol\":\"TCP\",\"port\":80}]}}"),
        .key = "test-namespace/test-name",
        .verb = TT_VERB_ENSURE,
        .kind = kind,
        .tags_known = true,
        .user_v4 = none,
        .user_v6 = none,
        .subnetwork = "",
    };
    struct err err = ERR_INIT;
    if (gce_bs_desired_make(a, &facts, &in, ret, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
}

/* The check is shared, its firewall the Service's own, because firewalls are
 * of one network. */
static void desired__V150__check_firewall_of_its_own_in_that_network(void **state)
{
    struct gce_bs_desired d;
    make(*state, GCE_KIND_ILB_NEGS, "blue", &d);
    assert_true(d.check_shared);
    assert_false(d.check_firewall_shared);
    same_text("V150 check", d.check.name, "k8s2-axyqjz2d-l4-shared-hc");
    same_text("V150 name", d.v4.check_firewall.name, "k8s2-" H "-fw");
    same_text("V150 network", d.v4.check_firewall.network, VPC);
    same_text("V150 port", d.v4.check_firewall.allowed.items[0].ports.items[0], "10256");
    same_text("whose it is", d.v4.check_firewall.description, d.v4.firewall.description);
    assert_int_equal(d.v6.check_firewall.sources.n,
                     1); /* only the shared one has those of both schemes */
    same_text("IPv6 sources", d.v6.check_firewall.sources.items[0], GCE_CHECK_SOURCE_V6_ILB);
    make(*state, GCE_KIND_ILB_NEGS, NULL, &d);
    assert_true(d.check_firewall_shared);
    same_text("own network", d.v4.check_firewall.name, "k8s2-axyqjz2d-l4-shared-hc-fw");
    same_text("own network", d.v4.check_firewall.network, OWN);
}

static void desired__other_network__service_and_rules_by_scheme(void **state)
{
    struct gce_bs_desired d;
    make(*state, GCE_KIND_ILB_NEGS, "blue", &d);
    same_text("4.6", d.service.network, VPC);
    same_text("4.7 network", d.v4.rules[0].network, VPC);
    same_text("4.7 subnetwork", d.v4.rules[0].subnetwork, BASE "host/regions/r1/subnetworks/sub");
    same_text("IPv6, ours", d.v6.rules[0].network, VPC);
    same_text("4.8", d.v4.firewall.network, VPC);
    make(*state, GCE_KIND_NETLB_NEGS, "blue", &d);
    same_text("5.1 step 10", d.service.network, "");
    same_text("5.2 network", str_nonnull(d.v4.rules[0].network), "");
    same_text("5.2 subnetwork", str_nonnull(d.v4.rules[0].subnetwork), "");
    same_text("4.8 external", d.v4.firewall.network, VPC);
    make(*state, GCE_KIND_ILB_NEGS, NULL, &d);
    same_text("4.6 own network", d.service.network, "");
}

UNIT_MAIN(network)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(of_service__selector__name_or_the_clusters_own),
        PURE_TEST(params_name__rows__name_or_upstreams_words),
        PURE_TEST(place_of__rows__links_in_the_network_project),
        PURE_TEST(check_seen__elsewhere__refused_never_remade),
        PURE_TEST(find__both_there__asked_once),
        PURE_TEST(find__missing__asked_again_until_it_is_there),
        PURE_TEST(find__not_readable__no_users_error),
        PURE_TEST(desired__V150__check_firewall_of_its_own_in_that_network),
        PURE_TEST(desired__other_network__service_and_rules_by_scheme),
    };
    return cmocka_run_group_tests_name("gce-network", tests, NULL, NULL);
}
