/* SPDX-License-Identifier: Apache-2.0 */
/* test_nsg.c: the rules of one security group; rows G-01 to G-35 of docs/spec/azure.md 13.8 but
 * those that need a cloud (G-29), and rows 1, 12 and 13 of 18. */
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/nsg/azure_nsg_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/azure/nsg.h"

#define TAGS  "azure-allowed-service-tags"
#define MORE  "azure-additional-public-ips"
#define DENY  "azure-deny-all-except-load-balancer-source-ranges"
#define INNER "azure-load-balancer-internal"

/* ---- helpers --------------------------------------------------------------------------------- */

/* One Service, alone in its cluster, on the rules given. */
struct alone {
    const struct azure_access *x;
    bool want;
    const char *lb_ips;
    const char *backend_ips;
    const char *rules; /* inside of the array */
};

static struct azure_nsg_result plan_alone(struct arena *a, const struct alone *t)
{
    struct azure_nsg_member member = {.access = t->x};
    struct azure_nsg_change change = {
        .access = t->x,
        .want = t->want,
        .lb_ips = nsg_texts(a, t->lb_ips),
        .backend_ips = nsg_texts(a, t->backend_ips),
    };
    struct azure_nsg_input in = {
        .rules = pure_json(a, arena_printf(a, "[%s]", str_nonnull(t->rules))),
        .members = &member,
        .n_members = 1,
        .changes = &change,
        .n_changes = 1,
        .node_ips = nsg_texts(a, t->backend_ips),
    };
    return nsg_plan(a, &in);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void name__G01_to_G12(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        enum azure_protocol protocol;
        const char *sources, *ports, *md5;
    } rows[] = {
        {"G-01", AZURE_TCP, "Internet", "80", "d39272f7f57ed937951650d93992ad77"},
        {"G-02", AZURE_TCP, "Internet", "80 443", "556f7044ec033071ec0dfcf7cd85bc93"},
        {"G-03", AZURE_UDP, "Internet", "53", "eacf5e21d4ad7b5345009ad51af9d388"},
        {"G-04", AZURE_ANY, "Internet", "30102", "87a33204daff45b0362ae61f94926f53"},
        {"G-05", AZURE_TCP, "0.0.0.0/0", "80", "171627efadb2d53e9804aac21fa6e380"},
        {"G-06", AZURE_TCP, "192.168.0.0/16 10.0.0.0/8", "80 8080 443",
         "b910e14f8b72dd88d882f65b21eb1fd2"},
        {"G-07", AZURE_TCP, "AzureCloud", "80", "802088238045253e1bed2dc8730b6bcd"},
        {"G-08", AZURE_TCP, "::/0", "80", "8b7e409c9ffd6856fc36d3835448b3a8"},
        {"G-09", AZURE_TCP, "foo bar", "443", "b5ae07e8a4177ea2d37162cdf2badf8b"},
        {"G-10", AZURE_TCP, "Internet", "9 80 443 8080", "e14140a7560af8a53ea95e6782e2fe4c"},
        {"G-11", AZURE_TCP, "10.0.0.1/32", "80", "e21add10b44b2d67a30bbfb3c495ae12"},
        {"G-12", AZURE_UDP, "Internet", "80", "6b4085dfd0882976b170baf495eeb088"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_texts sources = nsg_texts(a, rows[i].sources);
        struct azure_texts ports = nsg_texts(a, rows[i].ports);
        struct azure_nsg_want w = {.protocol = rows[i].protocol,
                                   .sources = str_set_make(a, sources.items, sources.n),
                                   .ports = str_set_make(a, ports.items, ports.n)};
        const char *name;
        assert_int_equal(azure_nsg_allow_name(a, &w, AZURE_IPV4, &name, NULL), ERR_OK);
        same_text(rows[i].row, name, arena_printf(a, "k8s-azure-lb_allow_IPv4_%s", rows[i].md5));
    }
    same_text("deny", azure_nsg_deny_name(AZURE_IPV4), "k8s-azure-lb_deny-all_IPv4");
    same_text("deny", azure_nsg_deny_name(AZURE_IPV6), "k8s-azure-lb_deny-all_IPv6");
}

/* ---- one Service ----------------------------------------------------------------------------- */

static void ensure__G20_to_G27(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *ranges, *ports, *lb_ips, *backend_ips, *rules, *want;
    } rows[] = {
        {"G-20", "", "", UDP(53) "," TCP(80) "," TCP(443), "20.1.2.3 2603::1", NULL, NULL,
         "500 Allow Tcp Internet > 20.1.2.3 : 443,80\n"
         "501 Allow Tcp Internet > 2603::1 : 443,80\n"
         "502 Allow Udp Internet > 20.1.2.3 : 53\n"
         "503 Allow Udp Internet > 2603::1 : 53"},
        {"G-21", ANNOTATION(INNER, "true"), "", TCP(80), "10.0.0.9", NULL, NULL, ""},
        {"G-22", ANNOTATION(INNER, "true"), "\"0.0.0.0/0\",\"::/0\"", TCP(80), "10.0.0.9 fd00::9",
         NULL, NULL,
         "500 Allow Tcp 0.0.0.0/0 > 10.0.0.9 : 80\n"
         "501 Allow Tcp ::/0 > fd00::9 : 80"},
        {"G-23", ANNOTATION(TAGS, "foo,bar"), "", TCP(80) "," UDP(53), "20.1.2.3 2603::1", NULL,
         NULL,
         "500 Allow Tcp foo > 20.1.2.3 : 80\n"
         "501 Allow Tcp bar > 20.1.2.3 : 80\n"
         "502 Allow Tcp foo > 2603::1 : 80\n"
         "503 Allow Tcp bar > 2603::1 : 80\n"
         "504 Allow Udp foo > 20.1.2.3 : 53\n"
         "505 Allow Udp bar > 20.1.2.3 : 53\n"
         "506 Allow Udp foo > 2603::1 : 53\n"
         "507 Allow Udp bar > 2603::1 : 53"},
        {"G-24", ANNOTATION(DENY, "true"),
         "\"10.0.0.0/9\",\"10.128.0.0/9\",\"192.168.0.0/16\",\"2001:db8::/32\"",
         TCP(80) "," UDP(53), "20.1.2.3 2603::1", NULL, NULL,
         "500 Allow Tcp 10.0.0.0/8,192.168.0.0/16 > 20.1.2.3 : 80\n"
         "501 Allow Tcp 2001:db8::/32 > 2603::1 : 80\n"
         "502 Allow Udp 10.0.0.0/8,192.168.0.0/16 > 20.1.2.3 : 53\n"
         "503 Allow Udp 2001:db8::/32 > 2603::1 : 53\n"
         "4094 Deny * * > 2603::1 : *\n"
         "4095 Deny * * > 20.1.2.3 : *"},
        {"G-25", ANNOTATION(MORE, "20.9.9.9, 2603::9"), "", TCP(80), "20.1.2.3", NULL, NULL,
         "500 Allow Tcp Internet > 20.1.2.3,20.9.9.9 : 80\n"
         "501 Allow Tcp Internet > 2603::9 : 80"},
        {"G-26", ANNOTATION("azure-disable-load-balancer-floating-ip", "true"), "", TCP(80),
         "20.1.2.3", "10.0.0.5 10.0.0.4", NULL, "500 Allow Tcp Internet > 10.0.0.4,10.0.0.5 : 380"},
        {"G-27", ANNOTATION("azure-disable-load-balancer-nsg-rule", "true"), "", TCP(80),
         "20.1.2.3", NULL,
         RULE("k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77", 500, "Tcp",
              "\"Internet\"", "\"20.1.2.3\"", "\"80\""),
         ""},
        {"priorities that others have", "", "", TCP(80), "20.1.2.3", NULL,
         RULE("user", 500, "Udp", "\"*\"", "\"20.9.9.9\"", "\"80\""),
         "500 Allow Udp * > 20.9.9.9 : 80\n501 Allow Tcp Internet > 20.1.2.3 : 80"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct alone t = {
            .x = nsg_access(a, "web", rows[i].annotations, rows[i].ranges, rows[i].ports, NULL),
            .want = true,
            .lb_ips = rows[i].lb_ips,
            .backend_ips = rows[i].backend_ips,
            .rules = rows[i].rules};
        struct azure_nsg_result r = plan_alone(a, &t);
        same_text(rows[i].row, r.errs[0].message, "");
        same_text(rows[i].row, nsg_show(a, r.rules), rows[i].want);
        assert_int_equal(r.changed, *rows[i].want != '\0' || rows[i].rules != NULL);
    }
}

static void ensure__wire_form(void **state)
{
    struct arena *a = *state;
    struct alone t = {.x = nsg_access(a, "web", "", "", TCP(80) "," TCP(443), NULL),
                      .want = true,
                      .lb_ips = "20.1.2.3"};
    struct azure_nsg_result r = plan_alone(a, &t);
    same_text("9.1", json_text(a, r.rules, JSON_SORTED),
              "[{\"name\":\"k8s-azure-lb_allow_IPv4_556f7044ec033071ec0dfcf7cd85bc93\","
              "\"properties\":{\"access\":\"Allow\",\"destinationAddressPrefix\":\"20.1.2.3\","
              "\"destinationPortRanges\":[\"443\",\"80\"],\"direction\":\"Inbound\","
              "\"priority\":500,\"protocol\":\"Tcp\",\"sourceAddressPrefix\":\"Internet\","
              "\"sourcePortRange\":\"*\"}}]");
    assert_int_equal(r.n_diff, 1);
    assert_int_equal(r.diff[0].verb, LB_CREATE);
    same_text("owner", str_set_text(a, &r.diff[0].owners, " "), "ns/web");
}

static void refusal__leaves_everything(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *lb_ips;
        bool want;
        int code;
    } rows[] = {
        {"G-28", ANNOTATION("azure-allowed-ip-ranges", "10.0.0.0/8"), "20.1.2.3", true,
         ERR_INVALID},
        {"G-35", ANNOTATION("azure-allowed-ip-ranges", "10.0.0.0/8"), "20.1.2.3", false, ERR_OK},
        {"G-46", ANNOTATION(MORE, "foobar"), "20.1.2.3", true, ERR_INVALID},
        {"G-35 addresses", ANNOTATION(MORE, "foobar"), "20.1.2.3", false, ERR_OK},
        {"no address yet", "", NULL, true, ERR_TRANSIENT},
        {"no address any more", "", NULL, false, ERR_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct alone t = {
            .x = nsg_access(a, "web", rows[i].annotations, "\"10.0.0.0/8\"", TCP(80), "20.1.2.3"),
            .want = rows[i].want,
            .lb_ips = rows[i].lb_ips,
            .rules = RULE("k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77", 500, "Tcp",
                          "\"Internet\"", "\"20.1.2.3\"", "\"80\"")};
        struct azure_nsg_result r = plan_alone(a, &t);
        if (r.errs[0].code != rows[i].code) {
            fail_msg("%s: %d, want %d: %s", rows[i].row, r.errs[0].code, rows[i].code,
                     r.errs[0].message);
        }
        bool cleaned = rows[i].code == ERR_OK && rows[i].lb_ips != NULL;
        assert_int_equal(r.changed, cleaned);
    }
}

static void limits__G30(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        str_appendf(&b,
                    "%s{\"name\":\"u%d\",\"properties\":{\"priority\":%d,\"direction\":\"Inbound\","
                    "\"destinationAddressPrefix\":\"*\"}}",
                    i > 0 ? "," : "", i, 1000 + i);
    }
    const char *stale = RULE("k8s-azure-lb_x", 600, "Tcp", "\"Internet\"", "\"20.9.9.9\"", "\"1\"");
    struct alone t = {.x = nsg_access(a, "web", "", "", TCP(80), NULL),
                      .want = true,
                      .lb_ips = "20.1.2.3",
                      .rules = str_buf_text(&b)};
    struct azure_nsg_result r = plan_alone(a, &t);
    assert_int_equal(r.errs[0].code, ERR_QUOTA);
    same_text("G-30", r.errs[0].message,
              "the security group exceeds the maximum number of rules (1001 > 1000)");
    assert_false(r.changed);
    /* One that is too large already may still shrink. */
    t.want = false;
    t.rules = arena_printf(a, "%s,%s", str_buf_text(&b), stale);
    r = plan_alone(a, &t);
    assert_int_equal(r.errs[0].code, ERR_OK);
    assert_int_equal(json_len(r.rules), 1000);
}

/* ---- up to date ------------------------------------------------------------------------------ */

static void same__arms_spelling_is_no_change(void **state)
{
    struct arena *a = *state;
    static const char *const spellings[] = {
        /* G-34: any priority */
        RULE("k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77", 777, "Tcp", "\"Internet\"",
             "\"20.1.2.3\"", "\"80\""),
        /* 9.6: empty arrays beside the singular members */
        "{\"name\":\"k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77\",\"etag\":\"W/1\","
        "\"properties\":{\"access\":\"Allow\",\"direction\":\"Inbound\",\"protocol\":\"Tcp\","
        "\"priority\":500,\"sourcePortRange\":\"*\",\"sourcePortRanges\":[],"
        "\"sourceAddressPrefix\":\"Internet\",\"sourceAddressPrefixes\":[],"
        "\"destinationAddressPrefix\":\"20.1.2.3\",\"destinationAddressPrefixes\":[],"
        "\"destinationPortRange\":\"\",\"destinationPortRanges\":[\"80\"],"
        "\"provisioningState\":\"Succeeded\"}}",
        /* null */
        "{\"name\":\"k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77\","
        "\"properties\":{\"access\":\"Allow\",\"direction\":\"Inbound\",\"protocol\":\"TCP\","
        "\"priority\":500,\"sourcePortRange\":\"*\",\"sourceAddressPrefix\":null,"
        "\"sourceAddressPrefixes\":[\"Internet\"],\"destinationAddressPrefixes\":[\"20.1.2.3\"],"
        "\"destinationPortRange\":\"80\"}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        struct alone t = {.x = nsg_access(a, "web", "", "", TCP(80), NULL),
                          .want = true,
                          .lb_ips = "20.1.2.3",
                          .rules = spellings[i]};
        struct azure_nsg_result r = plan_alone(a, &t);
        assert_false(r.changed);
        assert_int_equal(r.n_diff, 0);
        same_text("unchanged", json_text(a, r.rules, JSON_COMPACT),
                  json_text(a, pure_json(a, arena_printf(a, "[%s]", spellings[i])), JSON_COMPACT));
    }
}

static void changed_rule__keeps_what_we_do_not_know(void **state)
{
    struct arena *a = *state;
    struct alone t = {
        .x = nsg_access(a, "web", "", "", TCP(80), NULL),
        .want = true,
        .lb_ips = "20.1.2.3 20.1.2.4",
        .rules = "{\"name\":\"k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77\",\"x\":[1],"
                 "\"properties\":{\"access\":\"Allow\",\"direction\":\"Inbound\","
                 "\"protocol\":\"Tcp\",\"priority\":500,\"description\":\"mine\","
                 "\"sourcePortRange\":\"*\",\"sourceAddressPrefix\":\"Internet\","
                 "\"destinationAddressPrefix\":\"20.1.2.3\",\"destinationAddressPrefixes\":[],"
                 "\"destinationPortRanges\":[\"80\"]}}"};
    struct azure_nsg_result r = plan_alone(a, &t);
    assert_true(r.changed);
    same_text("one member changes", json_text(a, r.rules, JSON_COMPACT),
              "[{\"name\":\"k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77\",\"x\":[1],"
              "\"properties\":{\"access\":\"Allow\",\"direction\":\"Inbound\","
              "\"protocol\":\"Tcp\",\"priority\":500,\"description\":\"mine\","
              "\"sourcePortRange\":\"*\",\"sourceAddressPrefix\":\"Internet\","
              "\"destinationPortRanges\":[\"80\"],"
              "\"destinationAddressPrefixes\":[\"20.1.2.3\",\"20.1.2.4\"]}}]");
    assert_int_equal(r.n_diff, 1);
    assert_int_equal(r.diff[0].verb, LB_CHANGE);
    assert_int_equal(r.diff[0].n_fields, 1);
    same_text("field", r.diff[0].fields[0].path, "destinationAddressPrefixes");
    same_text("field", r.diff[0].fields[0].new_value.text, "20.1.2.4");
}

/* A rule by our name is what its name says: who widened it by hand is corrected. */
static void tampered_rule__is_put_right(void **state)
{
    struct arena *a = *state;
    struct alone t = {.x = nsg_access(a, "web", "", "", TCP(80), NULL),
                      .want = true,
                      .lb_ips = "20.1.2.3",
                      .rules = RULE("k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77", 500,
                                    "Tcp", "\"Internet\",\"VirtualNetwork\"", "\"20.1.2.3\"",
                                    "\"80\",\"22\"")};
    struct azure_nsg_result r = plan_alone(a, &t);
    same_text("as named", nsg_show(a, r.rules), "500 Allow Tcp Internet > 20.1.2.3 : 80");
}

/* ---- clean and retain ------------------------------------------------------------------------ */

/* Clean and retain for addresses 10.0.0.1 and 10.0.0.2 on `rules`. */
static const char *clean(struct arena *a, const char *rules, const char *retained,
                         const char *allowed, bool *ret_changed)
{
    static const char *const gone[] = {"10.0.0.1", "10.0.0.2"};
    struct azure_nsg g;
    struct azure_texts ports = nsg_texts(a, retained);
    struct azure_texts stay = nsg_texts(a, allowed);
    struct azure_nsg_pass pass = {.access = nsg_access(a, "web", "", "", TCP(1), NULL)};
    pass.destinations[AZURE_IPV4] = str_set_make(a, gone, ARRAY_LEN(gone));
    pass.shared.ports[AZURE_TCP] = str_set_make(a, ports.items, ports.n);
    pass.shared.addresses = pass.destinations[AZURE_IPV4];
    pass.allowed = str_set_make(a, stay.items, stay.n);
    assert_int_equal(azure_nsg_read(a, pure_json(a, rules), &g, NULL), ERR_OK);
    assert_int_equal(azure_nsg_apply(&g, &pass, NULL), ERR_OK);
    *ret_changed = azure_nsg_changed(&g);
    return nsg_show(a, azure_nsg_write(&g));
}

#define ALL_DESTINATIONS "10.0.0.1 10.0.0.2 192.168.0.1"
#define RULE0(name, priority)                                                                      \
    RULE(name, priority, "Tcp", "\"foo\",\"bar\"", "\"10.0.0.1\",\"10.0.0.2\",\"192.168.0.1\"",    \
         "\"443\",\"80\"")

static void clean__G31_to_G33(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *rules, *retained, *allowed, *want;
        bool changed;
    } rows[] = {
        {"G-31",
         "[" RULE0("k8s-azure-lb_rule0", 500) "," RULE("user", 501, "Udp", "\"*\"", "\"*\"",
                                                       "\"1\"") "]",
         "443", ALL_DESTINATIONS,
         "500 Allow Tcp bar,foo > 192.168.0.1 : 443,80\n"
         "501 Allow Udp * > * : 1\n"
         "502 Allow Tcp bar,foo > 10.0.0.1,10.0.0.2 : 443",
         true},
        {"nothing retained", "[" RULE0("k8s-azure-lb_rule0", 500) "]", NULL, ALL_DESTINATIONS,
         "500 Allow Tcp bar,foo > 192.168.0.1 : 443,80", true},
        {"G-32", "[" RULE0("k8s-azure-lb_rule0", 500) "]", "443 80 22", ALL_DESTINATIONS,
         "500 Allow Tcp bar,foo > 10.0.0.1,10.0.0.2,192.168.0.1 : 443,80", false},
        {"G-33 499", "[" RULE0("k8s-azure-lb_rule0", 499) "]", NULL, NULL,
         "499 Allow Tcp bar,foo > 10.0.0.1,10.0.0.2,192.168.0.1 : 443,80", false},
        {"G-33 4097", "[" RULE0("k8s-azure-lb_rule0", 4097) "]", NULL, NULL,
         "4097 Allow Tcp bar,foo > 10.0.0.1,10.0.0.2,192.168.0.1 : 443,80", false},
        {"foreign", "[" RULE0("user", 500) "]", NULL, NULL,
         "500 Allow Tcp bar,foo > 10.0.0.1,10.0.0.2,192.168.0.1 : 443,80", false},
        {"another protocol",
         "[" RULE("k8s-azure-lb_x", 500, "Icmp", "\"*\"", "\"10.0.0.1\"", "\"80\"") "]", NULL,
         ALL_DESTINATIONS, "500 Allow Icmp * > 10.0.0.1 : 80", false},
        {"a deny rule by hand",
         "[{\"name\":\"k8s-azure-lb_x\",\"properties\":{\"access\":\"Deny\",\"direction\":"
         "\"Inbound\",\"protocol\":\"Tcp\",\"priority\":500,\"sourceAddressPrefix\":\"*\","
         "\"destinationAddressPrefix\":\"10.0.0.1\",\"destinationPortRanges\":[\"80\",\"443\"]}}]",
         "443", ALL_DESTINATIONS, "500 Deny Tcp * > 10.0.0.1 : 443,80", false},
        {"a range of ports",
         "[" RULE("k8s-azure-lb_x", 500, "Tcp", "\"*\"", "\"10.0.0.1\"", "\"1-2\"") "]", NULL,
         ALL_DESTINATIONS, "500 Allow Tcp * > 10.0.0.1 : 1-2", false},
        {"stale", "[" RULE0("k8s-azure-lb_rule0", 500) "]", "443 80", "10.0.0.1",
         "500 Allow Tcp bar,foo > 10.0.0.1 : 443,80", true},
        {"the last one", "[" RULE0("k8s-azure-lb_rule0", 500) "]", NULL, NULL, "", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool changed;
        const char *got = clean(a, rows[i].rules, rows[i].retained, rows[i].allowed, &changed);
        same_text(rows[i].row, got, rows[i].want);
        assert_int_equal(changed, rows[i].changed);
    }
}

/* 18 row 12 */
static void split__priorities_by_name(void **state)
{
    struct arena *a = *state;
    bool changed;
    static const char *const documents[] = {
        "[" RULE("k8s-azure-lb_a", 600, "Tcp", "\"foo\"", "\"10.0.0.1\"",
                 "\"443\",\"80\"") "," RULE("k8s-azure-lb_b", 601, "Tcp", "\"bar\"", "\"10.0.0.1\"",
                                            "\"443\",\"80\"") "]",
        "[" RULE("k8s-azure-lb_b", 601, "Tcp", "\"bar\"", "\"10.0.0.1\"",
                 "\"443\",\"80\"") "," RULE("k8s-azure-lb_a", 600, "Tcp", "\"foo\"", "\"10.0.0.1\"",
                                            "\"443\",\"80\"") "]",
    };
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        same_text("either order", clean(a, documents[i], "443", ALL_DESTINATIONS, &changed),
                  "500 Allow Tcp foo > 10.0.0.1 : 443\n"
                  "501 Allow Tcp bar > 10.0.0.1 : 443");
    }
}

/* 18 row 13 */
static void priorities__are_apart_for_each_direction(void **state)
{
    struct arena *a = *state;
    struct alone t = {
        .x = nsg_access(a, "web", "", "", TCP(80), NULL),
        .want = true,
        .lb_ips = "20.1.2.3",
        .rules = "{\"name\":\"out\",\"properties\":{\"direction\":\"Outbound\",\"access\":"
                 "\"Allow\",\"protocol\":\"*\",\"priority\":500,\"sourceAddressPrefix\":\"*\","
                 "\"sourcePortRange\":\"*\",\"destinationAddressPrefix\":\"*\","
                 "\"destinationPortRange\":\"*\"}}"};
    struct azure_nsg_result r = plan_alone(a, &t);
    struct json_object *made = json_object_array_get_idx(r.rules, 1);
    assert_int_equal(azure_prop_int(made, "priority", 0), 500);
}

/* 18 row 1: an address that is in the status and computed counts once, so the stale one
 * beside it goes. */
static void stale__goes_though_counts_are_equal(void **state)
{
    struct arena *a = *state;
    struct alone t = {.x = nsg_access(a, "web",
                                      ANNOTATION("azure-disable-load-balancer-nsg-rule", "true"),
                                      "", TCP(80), "20.1.2.3"),
                      .want = true,
                      .lb_ips = "20.1.2.3",
                      .rules = RULE("k8s-azure-lb_x", 500, "Udp", "\"Internet\"",
                                    "\"20.1.2.3\",\"20.1.2.4\"", "\"1-2\"")};
    struct azure_nsg_result r = plan_alone(a, &t);
    same_text("row 1", nsg_show(a, r.rules), "500 Allow Udp Internet > 20.1.2.3 : 1-2");
    same_text("why", r.diff[0].why, "it has a stale destination");
}

static void document__that_is_not_whole_is_refused(void **state)
{
    struct azure_nsg g;
    static const struct {
        const char *rules, *message;
    } rows[] = {
        {"{}", "the security group came without its rules"},
        {"[{},null]", "securityRules[1] of the security group is no rule"},
        {"[{\"properties\":5}]", "securityRules[0] of the security group is no rule"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct json_object *rules = pure_json(*state, rows[i].rules);
        assert_int_equal(azure_nsg_read(*state, rules, &g, &err), ERR_TRANSIENT);
        same_text(rows[i].rules, err.message, rows[i].message);
    }
    assert_int_equal(azure_nsg_read(*state, NULL, &g, NULL), ERR_TRANSIENT);
}

UNIT_MAIN(nsg)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(name__G01_to_G12),
        PURE_TEST(ensure__G20_to_G27),
        PURE_TEST(ensure__wire_form),
        PURE_TEST(refusal__leaves_everything),
        PURE_TEST(limits__G30),
        PURE_TEST(same__arms_spelling_is_no_change),
        PURE_TEST(changed_rule__keeps_what_we_do_not_know),
        PURE_TEST(tampered_rule__is_put_right),
        PURE_TEST(clean__G31_to_G33),
        PURE_TEST(split__priorities_by_name),
        PURE_TEST(priorities__are_apart_for_each_direction),
        PURE_TEST(stale__goes_though_counts_are_equal),
        PURE_TEST(document__that_is_not_whole_is_refused),
    };
    return cmocka_run_group_tests_name("azure_nsg", tests, NULL, NULL);
}
