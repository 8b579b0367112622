/* SPDX-License-Identifier: Apache-2.0 */
/* test_pls.c: private link services: what they have to be, whose they are, when they come and go;
 * section 10.6 of the Azure specification, hazard 17 of its section 17. */
#include "tests/unit/azure/members.h"

#include "providers/azure/azure_stages.h"
#include "providers/azure/pls/azure_pls_rules.h"
#include "tests/support/unit.h"

#define PLS(n)    RG "Microsoft.Network/privateLinkServices/" n
#define FIP(n)    LB("kubernetes-internal") "/frontendIPConfigurations/" n
#define SUBNET(n) RG "Microsoft.Network/virtualNetworks/vnet/subnets/" n
#define MINE      "\"k8s-azure-cluster-name\":\"kubernetes\",\"k8s-azure-owner-service\":\"default/web\""
#define CREATE    "\"azure-load-balancer-internal\":\"true\",\"azure-pls-create\":\"true\""
#define DYNAMIC(name, subnet, primary)                                                             \
    "{\"name\":\"" name "\",\"properties\":{\"privateIPAllocationMethod\":\"Dynamic\","            \
    "\"privateIPAddressVersion\":\"IPv4\",\"primary\":" primary                                    \
    ",\"subnet\":{\"id\":\"" SUBNET(subnet) "\"}}}"
#define STATIC(name, ip, primary)                                                                  \
    "{\"name\":\"" name "\",\"properties\":{\"privateIPAddress\":\"" ip "\","                      \
    "\"privateIPAllocationMethod\":\"Static\",\"privateIPAddressVersion\":\"IPv4\","               \
    "\"primary\":" primary ",\"subnet\":{\"id\":\"" SUBNET("subnet") "\"}}}"
#define SETTLED(tags)                                                                              \
    "{\"name\":\"pls-fip\",\"id\":\"" PLS(                                                         \
        "pls-fip") "\",\"etag\":\"e\",\"tags\":{" tags                                             \
                   "},\"properties\":{\"loadBalancerFrontendIpConfigurations\":[{\"id\":\"" FIP(   \
                       "fip") "\"}],\"ipConfigurations\":[" DYNAMIC("any", "subnet",               \
                                                                    "true") "],"                   \
                                                                            "\"privateEndpointCon" \
                                                                            "nections\":["         \
                                                                            "{\"name\":\"c1\","    \
                                                                            "\"id\":\"" PLS(       \
                                                                                "pls-fip") "/priv" \
                                                                                           "ateEn" \
                                                                                           "dpoin" \
                                                                                           "tConn" \
                                                                                           "ectio" \
                                                                                           "ns/"   \
                                                                                           "c1\"}" \
                                                                                           "]"     \
                                                                                           "%s}}"

static const struct azure_service *service(struct world *w, const char *annotations)
{
    return azure_service_read(w->a, &w->p.naming,
                              azure_test_service(w->a, "web", annotations, NULL));
}

static struct azure_pls_ask ask(struct world *w, const char *annotations, const char *existing)
{
    return (struct azure_pls_ask){
        .naming = &w->p.naming,
        .service = service(w, annotations),
        .frontend_id = FIP("fip"),
        .frontend_name = "fip",
        .existing = existing != NULL ? pure_json(w->a, existing) : NULL,
    };
}

static struct world *world(struct arena *a)
{
    struct world *w = world_new(a);
    world_settle(w);
    return w;
}

static void document__new(void **state)
{
    struct world *w = world(*state);
    struct azure_pls_ask x =
        ask(w,
            "{" CREATE ",\"azure-pls-proxy-protocol\":\"true\",\"azure-pls-fqdns\":\"a.b c.d\","
            "\"azure-pls-visibility\":\"s1 * s2\",\"azure-pls-auto-approval\":\"s1\"}",
            NULL);
    struct json_object *doc = NULL;
    assert_int_equal(azure_pls_plan(w->a, &x, &doc, NULL), ERR_OK);
    same_text(
        "3.10", json_text(w->a, doc, JSON_COMPACT),
        "{\"name\":\"pls-fip\",\"location\":\"westus\",\"properties\":{"
        "\"loadBalancerFrontendIpConfigurations\":[{\"id\":\"" FIP(
            "fip") "\"}],"
                   "\"ipConfigurations\":[" DYNAMIC(
                       "subnet-pls-fip-dynamic-0", "subnet",
                       "true") "],"
                               "\"enableProxyProtocol\":true,\"fqdns\":[\"a.b\",\"c.d\"],"
                               "\"visibility\":{\"subscriptions\":[\"*\"]},"
                               "\"autoApproval\":{\"subscriptions\":[\"s1\"]}},\"tags\":{" MINE
                               "}}");
}

static void addresses__static_and_dynamic(void **state)
{
    static const struct {
        const char *what, *annotations, *want;
    } rows[] = {
        {"default", "", DYNAMIC("subnet-pls-fip-dynamic-0", "subnet", "true")},
        {"two", ",\"azure-pls-ip-configuration-ip-address-count\":\"2\"",
         DYNAMIC("subnet-pls-fip-dynamic-0", "subnet",
                 "true") "," DYNAMIC("subnet-pls-fip-dynamic-1", "subnet", "false")},
        {"one of each",
         ",\"azure-pls-ip-configuration-ip-address-count\":\"2\","
         "\"azure-pls-ip-configuration-ip-address\":\"10.2.0.4\"",
         STATIC("subnet-pls-fip-static-10.2.0.4", "10.2.0.4",
                "true") "," DYNAMIC("subnet-pls-fip-dynamic-0", "subnet", "false")},
        {"its own subnet before that of the Service",
         ",\"azure-pls-ip-configuration-subnet\":\"s2\",\"azure-load-balancer-internal-subnet\":"
         "\"s3\"",
         DYNAMIC("s2-pls-fip-dynamic-0", "s2", "true")},
        {"names are cut at 80 with their ends",
         ",\"azure-pls-name\":"
         "\"p12345678901234567890123456789012345678901234567890123456789012345678\"",
         DYNAMIC("subnet-p12345678901234567890123456789012345678901234567890123456789012-dynamic-0",
                 "subnet", "true")},
    };
    struct world *w = world(*state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_pls_ask x =
            ask(w, arena_printf(w->a, "{" CREATE "%s}", rows[i].annotations), NULL);
        struct json_object *doc = NULL;
        assert_int_equal(azure_pls_plan(w->a, &x, &doc, NULL), ERR_OK);
        same_text(rows[i].what, json_text(w->a, azure_array(doc, "ipConfigurations"), JSON_COMPACT),
                  arena_printf(w->a, "[%s]", rows[i].want));
    }
}

static void existing__kept_changed_shared_refused(void **state)
{
    static const struct {
        const char *what, *annotations, *tags, *more;
        int code;
        bool written;
    } rows[] = {
        {"as it should be", "", MINE, "", ERR_OK, false},
        {"absent lists are empty", "", MINE, ",\"visibility\":{\"subscriptions\":[]},\"fqdns\":[]",
         ERR_OK, false},
        {"lists are multisets", ",\"azure-pls-fqdns\":\"a b\"", MINE, ",\"fqdns\":[\"b\",\"a\"]",
         ERR_OK, false},
        {"another list", ",\"azure-pls-fqdns\":\"a a\"", MINE, ",\"fqdns\":[\"b\",\"a\"]", ERR_OK,
         true},
        {"failed", "", MINE, ",\"provisioningState\":\"Failed\"", ERR_OK, true},
        {"proxy protocol goes", "", MINE, ",\"enableProxyProtocol\":true", ERR_OK, true},
        {"one address more", ",\"azure-pls-ip-configuration-ip-address-count\":\"2\"", MINE, "",
         ERR_OK, true},
        {"without tags", "", "", "", ERR_EXISTS, false},
        {"another cluster", "", "\"k8s-azure-cluster-name\":\"c2\"", "", ERR_EXISTS, false},
        {"another Service's is shared", "",
         "\"k8s-azure-cluster-name\":\"kubernetes\",\"k8s-azure-owner-service\":\"default/api\"",
         "", ERR_OK, false},
        {"but not configured", ",\"azure-pls-fqdns\":\"a\"",
         "\"k8s-azure-cluster-name\":\"kubernetes\",\"k8s-azure-owner-service\":\"default/api\"",
         "", ERR_EXISTS, false},
        {"M-12", ",\"azure-pls-name\":\"other\"", MINE, "", ERR_INVALID, false},
    };
    struct world *w = world(*state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *existing = str_replace(w->a, str_replace(w->a, SETTLED("@"), "@", rows[i].tags),
                                           "%s", rows[i].more);
        struct azure_pls_ask x =
            ask(w, arena_printf(w->a, "{" CREATE "%s}", rows[i].annotations), existing);
        struct json_object *doc = NULL;
        struct err err = ERR_INIT;
        int code = azure_pls_plan(w->a, &x, &doc, &err);
        if (code != rows[i].code || (doc != NULL) != rows[i].written) {
            fail_msg("%s: got %s, written %d: %s", rows[i].what, err_code_name(code), doc != NULL,
                     err.message);
        }
        assert_true(doc == NULL || azure_doc_etag(doc) == NULL);
    }
}

static void wants__10_6(void **state)
{
    static const struct {
        const char *what, *annotations, *spec;
        enum azure_family f;
        int code;
        bool want;
    } rows[] = {
        {"internal", "{" CREATE "}", NULL, AZURE_IPV4, ERR_OK, true},
        {"not asked for", NULL, NULL, AZURE_IPV4, ERR_OK, false},
        {"external", "{\"azure-pls-create\":\"true\"}", NULL, AZURE_IPV4, ERR_INVALID, true},
        {"external without floating IP",
         "{\"azure-pls-create\":\"true\",\"azure-disable-load-balancer-floating-ip\":\"true\"}",
         NULL, AZURE_IPV4, ERR_OK, true},
        {"IPv6 of two", "{" CREATE "}", "\"ipFamilies\":[\"IPv4\",\"IPv6\"]", AZURE_IPV6, ERR_OK,
         false},
        {"IPv6 alone", "{" CREATE "}", "\"ipFamilies\":[\"IPv6\"]", AZURE_IPV6, ERR_INVALID, false},
        {"IPv6 alone, not asked for", NULL, "\"ipFamilies\":[\"IPv6\"]", AZURE_IPV6, ERR_OK, false},
    };
    struct world *w = world(*state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_service *s = azure_service_read(
            w->a, &w->p.naming, azure_test_service(w->a, "web", rows[i].annotations, rows[i].spec));
        bool want = false;
        int code = azure_pls_wants(s, rows[i].f, &want, NULL);
        if (code != rows[i].code || (code == ERR_OK && want != rows[i].want)) {
            fail_msg("%s: got %s, %d", rows[i].what, err_code_name(code), want);
        }
    }
}

/* ---- the stages ------------------------------------------------------------------------------ */

/* The internal balancer with one frontend of the Service "web" (UID web, so base name aweb). */
static void build(struct world *w, const char *annotations, const char *frontend, const char *links,
                  const char *policies)
{
    world_settle(w);
    world_service(w, "web", annotations, NULL, "kubernetes-internal");
    w->lbs[w->y.lbs.n++] = pure_json(
        w->a,
        arena_printf(w->a,
                     "{\"name\":\"kubernetes-internal\",\"id\":\"" LB(
                         "kubernetes-internal") "\",\"properties\":{\"frontendIPConfigurations\":[{"
                                                "\"name\":\"%s\","
                                                "\"id\":\"" FIP("%s") "\",\"properties\":{}}]}}",
                     frontend, frontend));
    world_see(w, AZURE_PLSS, links);
    w->seen[0].scope = RG "Microsoft.Network/privateLinkServices";
    world_see(w, AZURE_SUBNETS,
              arena_printf(w->a,
                           "[{\"name\":\"subnet\",\"etag\":\"s\",\"properties\":{"
                           "\"privateLinkServiceNetworkPolicies\":\"%s\",\"other\":1}}]",
                           policies));
    w->seen[1].scope = SUBNET("subnet");
}

static const char *planned(struct world *w,
                           int (*stage)(struct lb_sync *s, struct lb_plan *plan, struct err *err),
                           struct lb_plan *plan)
{
    lb_plan_init(plan, w->a);
    assert_int_equal(stage(&w->s, plan, NULL), ERR_OK);
    return world_show(w, plan);
}

static const char *link_of(struct arena *a, const char *frontend, const char *tags)
{
    const char *text = str_replace(a, SETTLED("@"), "@", tags);
    return arena_printf(a, "[%s]",
                        str_replace(a, str_replace(a, text, "%s", ""), FIP("fip"),
                                    arena_printf(a, FIP("%s"), frontend)));
}

static void links__made_changed_deleted(void **state)
{
    static const struct {
        const char *what, *annotations, *tags; /* NULL: no link yet */
        const char *policies;
        bool before; /* the annotation was there */
        const char *want;
        uint32_t flags;
    } rows[] = {
        {"new", "{" CREATE "}", NULL, "Disabled", false,
         "1 private link service pls-aweb: 1 NAT address\n"},
        {"the subnet first", "{" CREATE "}", NULL, "Enabled", false,
         "1 subnet subnet: network policies for private links off\n"
         "2 private link service pls-aweb: 1 NAT address\n"},
        {"as it should be", "{" CREATE "}", MINE, "Enabled", true, ""},
        {"not asked for", "{\"azure-load-balancer-internal\":\"true\"}", MINE, "Enabled", false,
         ""},
        {"17 row 17: no more asked for", "{\"azure-load-balancer-internal\":\"true\"}", MINE,
         "Enabled", true,
         "1 private endpoint connection c1: deleted\n2 private link service pls-fip: deleted\n"},
        {"no more asked for, while no controller ran",
         "{\"azure-load-balancer-internal\":\"true\"}", MINE, "Enabled", false,
         "1 private endpoint connection c1: deleted\n2 private link service pls-fip: deleted\n",
         TT_ITEM_PUT_RIGHT | TT_ITEM_MADE},
        {"the same, of what upstream made", "{\"azure-load-balancer-internal\":\"true\"}", MINE,
         "Enabled", false, "", TT_ITEM_PUT_RIGHT},
        {"17 row 17: another's stays", "{\"azure-load-balancer-internal\":\"true\"}",
         "\"k8s-azure-cluster-name\":\"kubernetes\"", "Enabled", true, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *w = world_new(*state);
        struct lb_plan plan;
        build(w, rows[i].annotations, "aweb",
              rows[i].tags != NULL ? link_of(w->a, "aweb", rows[i].tags) : "[]", rows[i].policies);
        w->in[0].previous =
            rows[i].before ? azure_test_service(w->a, "web", "{" CREATE "}", NULL) : NULL;
        w->in[0].flags = rows[i].flags;
        same_text(rows[i].what, planned(w, azure_plan_links, &plan), rows[i].want);
        assert_int_equal(w->items[0].err.code, ERR_OK);
    }
}

static void links__an_error_is_the_Service_s_own(void **state)
{
    struct world *w = world_new(*state);
    struct lb_plan plan;
    build(w, "{" CREATE "}", "aweb", link_of(*state, "aweb", ""), "Disabled");
    same_text("not ours", planned(w, azure_plan_links, &plan), "");
    assert_int_equal(w->items[0].err.code, ERR_EXISTS);
}

static void unlink__before_the_frontend_goes(void **state)
{
    static const struct {
        const char *what, *frontend, *tags;
        bool want;
        const char *ops;
        const char *target; /* NULL: the balancer where it is */
    } rows[] = {
        {"it moves to another balancer", "aweb", MINE, true,
         "1 private endpoint connection c1: deleted\n2 private link service pls-fip: deleted\n",
         "other-internal"},
        {"names without case are one balancer", "aweb", MINE, true, "", "KUBERNETES-Internal"},
        {"it moves, but the link is another's", "aweb", "\"k8s-azure-cluster-name\":\"c2\"", true,
         "", "other-internal"},
        {"the Service goes", "aweb", MINE, false,
         "1 private endpoint connection c1: deleted\n2 private link service pls-fip: deleted\n"},
        {"17 row 17: not ours", "aweb", "\"k8s-azure-cluster-name\":\"c2\"", false, ""},
        {"it stays", "aweb", MINE, true, ""},
        {"its frontend gets another name", "aweb-old", MINE, true,
         "1 private endpoint connection c1: deleted\n2 private link service pls-fip: deleted\n"},
        {"another Service's frontend", "aapi", MINE, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world *w = world_new(*state);
        struct lb_plan plan;
        build(w, "{" CREATE "}", rows[i].frontend, link_of(w->a, rows[i].frontend, rows[i].tags),
              "Disabled");
        w->azure_items[0].want = rows[i].want;
        w->azure_items[0].target =
            rows[i].target != NULL ? rows[i].target : w->azure_items[0].target;
        w->azure_items[0].flip = azure_service_flip(w->a, &w->p.naming, w->azure_items[0].service);
        same_text(rows[i].what, planned(w, azure_plan_unlink, &plan), rows[i].ops);
        for (size_t k = 0; k < plan.n_ops; k++) {
            assert_true(world_write(&plan, k)->touches_lbs);
        }
    }
}

UNIT_MAIN(pls)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(document__new),
        PURE_TEST(addresses__static_and_dynamic),
        PURE_TEST(existing__kept_changed_shared_refused),
        PURE_TEST(wants__10_6),
        PURE_TEST(links__made_changed_deleted),
        PURE_TEST(links__an_error_is_the_Service_s_own),
        PURE_TEST(unlink__before_the_frontend_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
