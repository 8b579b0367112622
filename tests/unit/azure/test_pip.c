/* SPDX-License-Identifier: Apache-2.0 */
/* test_pip.c: public IPs: whose they are, which one a Service uses, what is made, changed and let
 * go: rows P of docs/spec/azure.md 13.6, and 8. */
#include "tests/unit/azure/lb.h"

#include "providers/azure/pip/azure_pip_rules.h"
#include "providers/azure/pip/azure_pip_tags.h"
#include "tests/support/unit.h"

#define GROUP    "/subscriptions/subscription/resourceGroups/rg/providers/Microsoft.Network"
#define ID(name) GROUP "/publicIPAddresses/" name
#define V4       "\"ipFamilies\":[\"IPv4\"]"
#define V6       "\"ipFamilies\":[\"IPv6\"]"
#define DUAL     "\"ipFamilies\":[\"IPv4\",\"IPv6\"]"
#define PIN      "\"azure-load-balancer-ipv4\":"
#define INTERNAL "\"azure-load-balancer-internal\":\"true\""
#define IP       "\"ipAddress\":\"1.2.3.4\",\"publicIPAddressVersion\":\"IPv4\""

static const struct azure_naming *naming_of(struct arena *a, const char *cluster, bool standard,
                                            bool mutate)
{
    struct azure_config *config = ARENA_NEW(a, struct azure_config);
    struct azure_naming *n = ARENA_NEW(a, struct azure_naming);
    *config = azure_test_config();
    config->standard_sku = standard;
    config->mutate_ip_tags = mutate;
    *n = (struct azure_naming){.config = config, .cluster = cluster};
    return n;
}

static const struct azure_service *service(struct arena *a, const struct azure_naming *n,
                                           const char *name, const char *annotations,
                                           const char *spec)
{
    return azure_service_read(
        a, n, azure_test_service(a, name, arena_printf(a, "{%s}", annotations), spec));
}

/* A public IP; `tags` and `props` are the insides of objects, NULL leaves the member out. */
static const char *pip_text(struct arena *a, const char *name, const char *tags, const char *props)
{
    return arena_printf(a, "{\"name\":\"%s\",\"id\":\"" ID("%s") "\"%s%s%s%s%s%s}", name, name,
                        tags != NULL ? ",\"tags\":{" : "", str_nonnull(tags),
                        tags != NULL ? "}" : "", props != NULL ? ",\"properties\":{" : "",
                        str_nonnull(props), props != NULL ? "}" : "");
}

static const struct azure_pips *pips(struct arena *a, const char *text)
{
    struct azure_pips *p = ARENA_NEW(a, struct azure_pips);
    p->items = azure_test_docs(a, arena_printf(a, "[%s]", text), &p->n);
    return p;
}

/* ---- whose ----------------------------------------------------------------------------------- */

#define TAG(services)        "\"k8s-azure-service\":\"" services "\""
#define TAGS(services, name) TAG(services) ",\"k8s-azure-cluster-name\":\"" name "\""

static void owner__P_01_to_P_18(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *tags, *props, *service, *annotations, *cluster;
        bool owns, user;
    } rows[] = {
        {"P-02", TAG("default/nginx"), IP, "web", "", "kubernetes", false, false},
        {"P-03", TAG("default/nginx"), IP, "nginx", "", "kubernetes", true, false},
        {"P-04", TAGS("default/nginx", "kubernetes"), IP, "nginx", "", "k8s", false, false},
        {"P-05", TAGS("default/web", "kubernetes"), IP, "nginx", "", "kubernetes", false, false},
        {"P-06", TAGS("default/nginx", "kubernetes"), IP, "nginx", "", "kubernetes", true, false},
        {"P-06 case", TAGS("Default/NGINX", "Kubernetes"), IP, "nginx", "", "kubernetes", true,
         false},
        {"P-07", TAGS("", "kubernetes"), IP, "nginx", "", "kubernetes", false, true},
        {"P-08", TAGS("default/nginx1,default/nginx2", "kubernetes"), IP, "nginx1", "",
         "kubernetes", true, false},
        {"P-09", TAGS("default/nginx1,default/nginx2", "kubernetes"), IP, "nginx3", "",
         "kubernetes", false, false},
        {"P-10", TAGS("", "kubernetes"), IP, "nginx3", PIN "\"1.2.3.4\"", "kubernetes", true, true},
        {"P-11", TAGS("default/nginx1,default/nginx2", "kubernetes"), IP, "nginx1",
         PIN "\"1.1.1.1\"", "kubernetes", true, false},
        {"P-12", NULL, IP, "nginx", PIN "\"1.2.3.4\"", "kubernetes", true, true},
        {"P-13 no tags", NULL, IP, "nginx", "\"azure-pip-name\":\"pip1\"", "kubernetes", true,
         true},
        {"P-13 empty tags", "", IP, "nginx", "\"azure-pip-name\":\"PIP1\"", "kubernetes", true,
         true},
        {"P-14", TAG("default/web"), IP, "nginx", "\"azure-pip-name\":\"pip1\"", "kubernetes", true,
         false},
        {"P-15", TAGS("default/nginx", "kubernetes"), "", "nginx", "", "kubernetes", true, false},
        {"P-16", TAGS("default/other", "kubernetes"), "", "nginx", "", "kubernetes", false, false},
        {"P-17", "", "", "nginx", "", "kubernetes", false, true},
        {"P-18", TAGS("default/nginx", "kubernetes"), NULL, "nginx", "", "kubernetes", true, false},
        {"8.4 old tags", "\"service\":\"default/nginx\",\"kubernetes-cluster-name\":\"kubernetes\"",
         IP, "nginx", "", "kubernetes", true, false},
        {"8.4 old tag of another cluster",
         "\"service\":\"default/nginx\",\"kubernetes-cluster-name\":\"other\"", IP, "nginx", "",
         "kubernetes", false, false},
        {"8.4 the modern tag counts", "\"service\":\"default/nginx\"," TAG("default/web"), IP,
         "nginx", "", "kubernetes", false, false},
        {"17 row 11", TAG("default/web"),
         "\"ipAddress\":\"2603:1030::eef0\",\"publicIPAddressVersion\":\"IPv6\"", "nginx",
         "\"azure-load-balancer-ipv6\":\"2603:1030:0::EEF0\"", "kubernetes", true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_naming *n = naming_of(a, rows[i].cluster, true, false);
        struct azure_pip_ownership o =
            azure_pip_owner(a, n, service(a, n, rows[i].service, rows[i].annotations, DUAL),
                            pure_json(a, pip_text(a, "pip1", rows[i].tags, rows[i].props)));
        if (o.owns != rows[i].owns || o.user_assigned != rows[i].user) {
            fail_msg("%s: got owns %d, the user's %d", rows[i].row, o.owns, o.user_assigned);
        }
    }
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    struct azure_pip_ownership o = azure_pip_owner(a, n, service(a, n, "web", "", V4), NULL);
    assert_false(o.owns || o.user_assigned); /* P-01 */
}

/* ---- letting go ------------------------------------------------------------------------------ */

#define IP_TAGS "\"ipTags\":[{\"ipTagType\":\"tag1\",\"tag\":\"tag1value\"}]"

static void release__P_30_to_P_41(void **state)
{
    struct arena *a = *state;
    static const char one[] = TAGS("default/svc1", "kubernetes");
    static const char two[] = TAGS("default/svc1,default/svc2", "kubernetes");
    static const char other[] = "\"azure-pip-ip-tags\":\"tag2=tag2value\"";
    static const struct {
        const char *row, *name, *tags, *props, *annotations, *desired;
        bool want, mutate, release;
    } rows[] = {
        {"P-30", "testPIP", one, IP_TAGS, "\"azure-pip-ip-tags\":\"tag1=tag1value\"", "testPIP",
         true, false, false},
        {"P-30 no annotation", "testPIP", one, IP_TAGS, "", "testPIP", true, false, false},
        {"P-31", "testPIP", one, NULL, "", "testPIP", true, false, false},
        {"P-32", "testPIP", one, IP_TAGS, "", NULL, false, false, true},
        {"P-33", "testPIP", one, IP_TAGS, INTERNAL, NULL, true, false, true},
        {"P-34", "testPIP", one, IP_TAGS, "", "otherName", true, false, true},
        {"P-35", "testPIP", one, IP_TAGS, other, "testPIP", true, true, false},
        {"P-36", "testPIP", one, IP_TAGS, other, "testPIP", true, false, true},
        {"P-37", "testPIP-IPv6", one, IP_TAGS, "", "testPIP", true, false, true},
        {"P-37 case", "testpip", one, IP_TAGS, "", "testPIP", true, false, true},
        {"P-38", "testPIP", TAG("default/svc1"), IP_TAGS, "", NULL, false, false, true},
        {"P-39", "testPIP", two, IP_TAGS, "", NULL, false, false, false},
        {"18 row 9", "testPIP", TAG("default/svc1, ,"), IP_TAGS, "", NULL, false, false, true},
        {"P-40", "testPIP", "", IP "," IP_TAGS, PIN "\"1.2.3.4\"", NULL, false, false, false},
        {"P-41", "testPIP", two, IP_TAGS, other, "testPIP", true, false, false},
        {"8.8 another's", "testPIP", TAG("default/svc2"), IP_TAGS, "", NULL, false, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_naming *n = naming_of(a, "kubernetes", true, rows[i].mutate);
        const struct azure_pips *list =
            pips(a, pip_text(a, rows[i].name, rows[i].tags, rows[i].props));
        const char *before = json_text(a, list->items[0], JSON_SORTED);
        const struct azure_pip_ask ask = {
            .naming = n,
            .service = service(a, n, "svc1", rows[i].annotations, V4),
            .pips = list,
            .want = rows[i].want,
            .desired = rows[i].desired,
        };
        struct azure_pip_releases r;
        struct err err = ERR_INIT;
        if (azure_pip_releases(a, &ask, &r, &err) != ERR_OK) {
            fail_msg("%s: %s", rows[i].row, err.message);
        }
        bool gone = r.n == 1 && r.items[0].doc == NULL;
        if (gone != rows[i].release) {
            fail_msg("%s: want %d", rows[i].row, rows[i].release);
        }
        same_text(rows[i].row, json_text(a, list->items[0], JSON_SORTED), before);
    }
}

static void release__shared_address__loses_only_the_name(void **state)
{
    struct arena *a = *state;
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    const struct azure_pip_ask ask = {
        .naming = n,
        .service = service(a, n, "svc1", "", V4),
        .pips = pips(
            a,
            pip_text(
                a, "p",
                TAG("default/svc1,default/svc2") ",\"mine\":\"x\","
                                                 "\"k8s-azure-dns-label-service\":\"default/svc1\"",
                IP)),
    };
    struct azure_pip_releases r;
    struct err err = ERR_INIT;
    assert_int_equal(azure_pip_releases(a, &ask, &r, &err), ERR_OK);
    assert_int_equal(r.n, 1);
    same_text("tags", json_text(a, json_member(r.items[0].doc, "tags"), JSON_SORTED),
              "{\"k8s-azure-service\":\"default/svc2\",\"mine\":\"x\"}");
}

/* A public IP that does not say its family is an IPv4 one (8.8): the pass over IPv6
 * leaves it alone. */
static void release__no_version__counts_as_IPv4(void **state)
{
    struct arena *a = *state;
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    static const struct {
        const char *row, *version;
        enum azure_family family;
        size_t want;
    } rows[] = {
        {"none, IPv4", "\"x\":1", AZURE_IPV4, 1},
        {"none, IPv6", "\"x\":1", AZURE_IPV6, 0},
        {"IPv4", "\"publicIPAddressVersion\":\"IPv4\"", AZURE_IPV6, 0},
        {"IPv6", "\"publicIPAddressVersion\":\"ipv6\"", AZURE_IPV6, 1},
        {"IPv6 of IPv4", "\"publicIPAddressVersion\":\"IPv6\"", AZURE_IPV4, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_pips *list =
            pips(a, pip_text(a, "p", TAG("default/svc1"), rows[i].version));
        const struct azure_pips mine = azure_pips_of_family(a, list, rows[i].family);
        const struct azure_pip_ask ask = {
            .naming = n,
            .service = service(a, n, "svc1", "", DUAL),
            .family = rows[i].family,
            .pips = &mine,
            .want = true,
            .desired = "kubernetes-asvc1-IPv6",
        };
        struct azure_pip_releases r;
        struct err err = ERR_INIT;
        assert_int_equal(azure_pip_releases(a, &ask, &r, &err), ERR_OK);
        if (r.n != rows[i].want || mine.n != r.n) {
            fail_msg("%s: got %zu", rows[i].row, r.n);
        }
    }
}

static void release__P_94_two_unwanted__both_go(void **state)
{
    struct arena *a = *state;
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    const char *text = arena_printf(a, "%s,%s,%s", pip_text(a, "p1", TAG("default/svc1"), IP),
                                    pip_text(a, "p2", TAG("default/svc1"), IP),
                                    pip_text(a, "foreign", "\"mine\":\"x\"", IP));
    const struct azure_pip_ask ask = {.naming = n,
                                      .service = service(a, n, "svc1", "", V4),
                                      .pips = pips(a, text),
                                      .want = true,
                                      .desired = "kubernetes-asvc1"};
    struct azure_pip_releases r;
    struct azure_pip_want w;
    struct err err = ERR_INIT;
    assert_int_equal(azure_pip_releases(a, &ask, &r, &err), ERR_OK);
    assert_int_equal(r.n, 2);
    assert_null(r.items[0].doc);
    assert_null(r.items[1].doc);
    assert_false(r.found_desired || r.deleted_desired);
    assert_int_equal(azure_pip_ensure(a, &ask, &w, &err), ERR_OK);
    assert_null(w.was);
    same_text("P-94", w.name, "kubernetes-asvc1");
}

/* ---- names and addresses --------------------------------------------------------------------- */

static void name__P_50_to_P_54(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *pip_name, *ip;
        enum azure_family family;
        const char *want; /* or the error */
        bool must_exist;
    } rows[] = {
        {"P-50", "", V4, "pipName", "1.2.3.4", AZURE_IPV4, "testCluster-atest1", false},
        {"P-51", PIN "\"1.2.3.4\"", V4, "pipName", "1.2.3.5", AZURE_IPV4,
         "findMatchedPIPByLoadBalancerIP: cannot find public IP with IP address 1.2.3.4 in "
         "resource group rg",
         false},
        {"P-52", PIN "\"10.0.0.5\"", V4, "pipName", "10.0.0.5", AZURE_IPV4,
         "external Service \"default/test1\" cannot use non-public LoadBalancer IP \"10.0.0.5\"; "
         "use an internal LoadBalancer annotation or a valid Azure Public IP address",
         false},
        {"P-53", PIN "\"1.2.3.4\"", V4, "pipName", "1.2.3.4", AZURE_IPV4, "pipName", false},
        {"P-54", "\"azure-pip-name-ipv6\":\"six\"", V6, "pipName", "1.2.3.4", AZURE_IPV6, "six",
         true},
        {"8.2 dual, IPv6", "", DUAL, "pipName", "1.2.3.4", AZURE_IPV6, "testCluster-atest1-IPv6",
         false},
        {"8.2 (2)", "\"azure-pip-prefix-id\":\"/x/prefix\"," PIN "\"1.2.3.4\"", V4, "pipName",
         "1.2.3.4", AZURE_IPV4, "testCluster-atest1-prefix", false},
        {"17 row 11", "\"azure-load-balancer-ipv6\":\"2603:0::1\"", V6, "pipName", "2603::1",
         AZURE_IPV6, "pipName", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_naming *n = naming_of(a, "testCluster", true, false);
        const struct azure_pips *list =
            pips(a, pip_text(a, rows[i].pip_name, "",
                             arena_printf(a, "\"ipAddress\":\"%s\"", rows[i].ip)));
        const char *name;
        bool must_exist = false;
        struct err err = ERR_INIT;
        int rc =
            azure_pip_determine(a, n, service(a, n, "test1", rows[i].annotations, rows[i].spec),
                                rows[i].family, list, &name, &must_exist, &err);
        same_text(rows[i].row, rc == ERR_OK ? name : err.message, rows[i].want);
        assert_true(rc != ERR_OK || must_exist == rows[i].must_exist);
    }
}

/* P-55 is what is no address, P-56 what is not public; P-57, what Azure keeps for itself,
 * is part of that here. */
static void candidate__P_55_to_P_57(void **state)
{
    (void)state;
    static const struct {
        const char *ip;
        enum azure_candidate want;
    } rows[] = {
        {"not-an-ip", AZURE_IP_INVALID},
        {"", AZURE_IP_INVALID},
        {"1.2.3", AZURE_IP_INVALID},
        {"01.2.3.4", AZURE_IP_INVALID},
        {"1.2.3.4%eth0", AZURE_IP_INVALID},
        {"2603::1%", AZURE_IP_INVALID},
        {"2603::1%eth0", AZURE_IP_OK},
        {"10.0.0.5", AZURE_IP_NON_PUBLIC},
        {"172.16.0.5", AZURE_IP_NON_PUBLIC},
        {"172.32.0.5", AZURE_IP_OK},
        {"192.168.0.5", AZURE_IP_NON_PUBLIC},
        {"fd00::5", AZURE_IP_NON_PUBLIC},
        {"100.100.0.202", AZURE_IP_NON_PUBLIC},
        {"100.128.0.1", AZURE_IP_OK},
        {"168.63.129.16", AZURE_IP_NON_PUBLIC},
        {"168.63.129.17", AZURE_IP_OK},
        {"::ffff:a00:5", AZURE_IP_NON_PUBLIC},
        {"::ffff:100.100.0.202", AZURE_IP_NON_PUBLIC},
        {"::ffff:168.63.129.16", AZURE_IP_NON_PUBLIC},
        {"::ffff:1.2.3.4", AZURE_IP_OK},
        {"127.0.0.1", AZURE_IP_NON_PUBLIC},
        {"224.0.0.1", AZURE_IP_NON_PUBLIC},
        {"169.254.1.1", AZURE_IP_NON_PUBLIC},
        {"0.0.0.0", AZURE_IP_NON_PUBLIC},
        {"255.255.255.255", AZURE_IP_NON_PUBLIC},
        {"240.0.0.1", AZURE_IP_OK},
        {"::", AZURE_IP_NON_PUBLIC},
        {"::1", AZURE_IP_NON_PUBLIC},
        {"fe80::1", AZURE_IP_NON_PUBLIC},
        {"ff02::1", AZURE_IP_NON_PUBLIC},
        {"1.2.3.4", AZURE_IP_OK},
        {"2001:4860:4860::8888", AZURE_IP_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (azure_public_ip_candidate(rows[i].ip) != rows[i].want) {
            fail_msg("%s: want %d", rows[i].ip, (int)rows[i].want);
        }
    }
}

static void group__P_82(void **state)
{
    struct arena *a = *state;
    static const char *const rows[][2] = {
        {"", "rg"},
        {"\"azure-load-balancer-resource-group\":\"\"", "rg"},
        {"\"azure-load-balancer-resource-group\":\" rg2 \"", "rg2"},
    };
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text("P-82", service(a, n, "test1", rows[i][0], V4)->pip_group, rows[i][1]);
    }
}

/* ---- as it must be --------------------------------------------------------------------------- */

#define OURS "\"k8s-azure-service\":\"default/test1\",\"k8s-azure-cluster-name\":\"kubernetes\""

static void ensure__P_60_to_P_63_and_P_90_to_P_93(void **state)
{
    struct arena *a = *state;
#define DNS(label) ",\"dnsSettings\":{\"domainNameLabel\":\"" label "\"}"
#define DNS_TAG(s) ",\"k8s-azure-dns-label-service\":\"" s "\""
    static const char four[] = "\"publicIPAddressVersion\":\"IPv4\",\"publicIPAllocationMethod\":"
                               "\"Static\"";
#define FOUR     "\"publicIPAddressVersion\":\"IPv4\",\"publicIPAllocationMethod\":\"Static\""
#define SIX(how) "\"publicIPAddressVersion\":\"IPv6\",\"publicIPAllocationMethod\":\"" how "\""
    static const struct {
        const char *row;
        bool standard;
        const char *spec, *annotations, *more_tags, *props;
        const char *want; /* properties afterwards; NULL: nothing changes, or the error's name */
    } rows[] = {
        {"P-60", true, V4, "", "", four, NULL},
        {"P-61", true, V4, "", "", SIX("Static"), "{" FOUR "}"},
        {"P-62", true, V6, "", "", SIX("Dynamic"), "{" SIX("Static") "}"},
        {"P-63", false, V6, "", "", SIX("Static"), "{" SIX("Dynamic") "}"},
        {"P-90", true, V4, "\"azure-dns-label-name\":\"TEST\"", DNS_TAG("default/test1"),
         FOUR DNS("test"), NULL},
        {"P-91", true, V4, "\"azure-dns-label-name\":\"test\"", DNS_TAG("default/other"),
         FOUR DNS("test"), "in-use"},
        {"P-92", true, V4, "\"azure-dns-label-name\":\"\"", DNS_TAG("default/test1"),
         FOUR DNS("test"), "{" FOUR "}"},
        {"P-93", true, V4, "", "", FOUR DNS("test"), NULL},
        {"8.5 another label", true, V4, "\"azure-dns-label-name\":\"new\"",
         DNS_TAG("default/test1"), FOUR DNS("test"),
         "{\"dnsSettings\":{\"domainNameLabel\":\"new\"}," FOUR "}"},
        {"8.7 unchangeable", true, V4, "\"azure-pip-ip-tags\":\"a=b\"", "", FOUR, NULL},
        {"3.8 Failed is written again", true, V4, "", "", FOUR ",\"provisioningState\":\"Failed\"",
         "{" FOUR ",\"provisioningState\":\"Failed\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_naming *n = naming_of(a, "kubernetes", rows[i].standard, false);
        struct json_object *pip = pure_json(
            a, arena_printf(a,
                            "{\"name\":\"kubernetes-atest1\",\"id\":\"" ID(
                                "kubernetes-atest1") "\",\"sku\":{\"name\":\"Standard\"},"
                                                     "\"tags\":{" OURS "%s},\"properties\":{%s}}",
                            rows[i].more_tags, rows[i].props));
        const char *before = json_text(a, pip, JSON_SORTED);
        const struct azure_pips list = {.items = &pip, .n = 1};
        const struct azure_pip_ask ask = {
            .naming = n,
            .service = service(a, n, "test1", rows[i].annotations, rows[i].spec),
            .family = strstr(rows[i].spec, "IPv6") != NULL ? AZURE_IPV6 : AZURE_IPV4,
            .pips = &list,
        };
        struct azure_pip_want w = {0};
        struct err err = ERR_INIT;
        const char *got = err_code_name(azure_pip_ensure(a, &ask, &w, &err));
        if (err.code == ERR_OK) {
            got = w.changed ? json_text(a, azure_props(w.doc), JSON_SORTED) : NULL;
            assert_true(w.changed == (w.why != NULL));
        }
        const char *want = rows[i].want;
        if (want != NULL && want[0] == '{') {
            want = json_text(a, pure_json(a, want), JSON_SORTED);
        }
        same_text(rows[i].row, got, want);
        same_text(rows[i].row, json_text(a, pip, JSON_SORTED), before);
    }
}

static void ensure__P_95_named_one_is_missing__refused(void **state)
{
    struct arena *a = *state;
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    const struct azure_pip_ask ask = {
        .naming = n,
        .service = service(a, n, "test1", "\"azure-pip-name\":\"testPIP\"", V4),
        .pips = pips(a, pip_text(a, "pip1", TAG("default/test1"), IP)),
        .want = true,
        .desired = "testPIP",
    };
    struct azure_pip_want w = {0};
    struct err err = ERR_INIT;
    assert_int_equal(azure_pip_ensure(a, &ask, &w, &err), ERR_NOT_FOUND);
    same_text("P-95", err.message,
              "PublicIP from annotation azure-pip-name=testPIP for service default/test1 doesn't "
              "exist");
    assert_null(w.doc);
}

static void ensure__missing__made_whole(void **state)
{
    struct arena *a = *state;
    static const char *const zones[] = {"1", "2"};
    const struct azure_naming *n = naming_of(a, "kubernetes", true, false);
    const struct azure_pip_ask ask = {
        .naming = n,
        .service = service(a, n, "test1",
                           "\"azure-pip-ip-tags\":\"b=2,a=1\",\"azure-pip-tags\":\"team=web\","
                           "\"azure-dns-label-name\":\"web\","
                           "\"azure-pip-prefix-id-ipv6\":\"/x/prefix\"",
                           V6),
        .family = AZURE_IPV6,
        .pips = pips(a, ""),
        .zones = zones,
        .n_zones = 2,
    };
    struct azure_pip_want w = {0};
    struct err err = ERR_INIT;
    assert_int_equal(azure_pip_ensure(a, &ask, &w, &err), ERR_OK);
    same_text(
        "8.3", json_text(a, w.doc, JSON_SORTED),
        "{\"location\":\"westus\",\"name\":\"kubernetes-atest1-prefix\",\"properties\":{"
        "\"dnsSettings\":{\"domainNameLabel\":\"web\"},"
        "\"ipTags\":[{\"ipTagType\":\"a\",\"tag\":\"1\"},{\"ipTagType\":\"b\",\"tag\":\"2\"}],"
        "\"publicIPAddressVersion\":\"IPv6\",\"publicIPAllocationMethod\":\"Static\","
        "\"publicIPPrefix\":{\"id\":\"/x/prefix\"}},\"sku\":{\"name\":\"Standard\"},\"tags\":{"
        "\"k8s-azure-cluster-name\":\"kubernetes\",\"k8s-azure-dns-label-service\":"
        "\"default/test1\",\"k8s-azure-service\":\"default/test1\",\"team\":\"web\"},"
        "\"zones\":[\"1\",\"2\"]}");
    same_text("id", w.id, ID("kubernetes-atest1-prefix"));
}

/* ---- tags ------------------------------------------------------------------------------------ */

static void service_tag__P_70_to_P_73(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *text;
        size_t n;
    } parse[] = {
        {"P-70", "ns1/svc1,ns2/svc2", 2}, {"P-70", " ns1/svc1, ns2/svc2 ", 2},
        {"P-70", "ns1/svc1,", 1},         {"P-70", "", 0},
        {"18 row 9", "ns1/svc1, ,", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(parse); i++) {
        size_t n;
        struct json_object *tags =
            pure_json(a, arena_printf(a, "{\"k8s-azure-service\":\"%s\"}", parse[i].text));
        (void)azure_pip_services(a, tags, &n);
        assert_int_equal(n, parse[i].n);
    }
    static const char *const names[] = {"ns2/svc2", "ns3/svc3"};
    static const struct {
        const char *row, *tags, *want;
        bool changed;
    } bind[] = {
        {"P-71 none", "{}", "ns2/svc2,ns3/svc3", true},
        {"P-71 one", "{" TAG("ns1/svc1") "}", "ns1/svc1,ns2/svc2,ns3/svc3", true},
        {"P-71 two", "{" TAG("ns1/svc1,ns2/svc2") "}", "ns1/svc1,ns2/svc2,ns3/svc3", true},
        {"P-71 all", "{" TAG("ns2/svc2,ns3/svc3") "}", "ns2/svc2,ns3/svc3", false},
        {"8.4 old tag", "{\"service\":\"ns2/svc2\"}", "ns2/svc2,ns3/svc3", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(bind); i++) {
        struct json_object *tags = azure_copy(a, pure_json(a, bind[i].tags));
        assert_true(azure_pip_bind(a, tags, names, 2) == bind[i].changed);
        same_text(bind[i].row, json_str(tags, AZURE_TAG_SERVICE), bind[i].want);
    }
    const char *const *left;
    size_t n;
    struct err err = ERR_INIT;
    struct json_object *tags =
        azure_copy(a, pure_json(a, "{" TAG("ns1/svc1,ns2/svc2,ns3/svc3") "}"));
    assert_int_equal(azure_pip_unbind(a, tags, "NS2/svc2", false, &left, &n, &err), ERR_OK);
    assert_int_equal(n, 2);
    same_text("P-72", json_str(tags, AZURE_TAG_SERVICE), "ns1/svc1,ns3/svc3");
    assert_int_equal(azure_pip_unbind(a, NULL, "ns2/svc2", false, &left, &n, &err),
                     ERR_INVALID); /* P-73 */
}

static void ip_tags__P_80_and_P_81(void **state)
{
    struct arena *a = *state;
#define T(type, tag) "{\"ipTagType\":\"" type "\",\"tag\":\"" tag "\"}"
    static const char *const parse[][2] = {
        {"", "[]"},
        {" tag1 = tagvalue1 ", "[" T("tag1", "tagvalue1") "]"},
        {"tag1=a,tag1=b", "[" T("tag1", "b") "]"},
        {"tag2=b,tag1=a,tag3malformed", "[" T("tag1", "a") "," T("tag2", "b") "]"},
        {"tag1=a,tag2=", "[" T("tag1", "a") "," T("tag2", "") "]"},
        {"=v", "[" T("", "v") "]"},
        {"a=b=c", "[]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(parse); i++) {
        same_text("P-80", json_text(a, azure_ip_tags_parse(a, parse[i][0]), JSON_SORTED),
                  parse[i][1]);
    }
    struct json_object *x = pure_json(a, "[" T("B", "A") "," T("A", "B") "]");
    struct json_object *y = pure_json(a, "[" T("A", "B") "," T("B", "A") "]");
    assert_true(azure_ip_tags_eq(a, x, y)); /* P-81 */
    assert_true(azure_ip_tags_eq(a, NULL, pure_json(a, "[]")));
    assert_false(azure_ip_tags_eq(a, x, pure_json(a, "[" T("A", "B") "]")));
#undef T
}

UNIT_MAIN(pip)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(owner__P_01_to_P_18),
        PURE_TEST(release__P_30_to_P_41),
        PURE_TEST(release__shared_address__loses_only_the_name),
        PURE_TEST(release__no_version__counts_as_IPv4),
        PURE_TEST(release__P_94_two_unwanted__both_go),
        PURE_TEST(name__P_50_to_P_54),
        PURE_TEST(candidate__P_55_to_P_57),
        PURE_TEST(group__P_82),
        PURE_TEST(ensure__P_60_to_P_63_and_P_90_to_P_93),
        PURE_TEST(ensure__P_95_named_one_is_missing__refused),
        PURE_TEST(ensure__missing__made_whole),
        PURE_TEST(service_tag__P_70_to_P_73),
        PURE_TEST(ip_tags__P_80_and_P_81),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
