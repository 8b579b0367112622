/* SPDX-License-Identifier: Apache-2.0 */
/* test_access.c: who may reach a Service; rows G-40 to G-54 of docs/spec/azure.md 13.8. */
#include "tests/support/unit.h"
#include "tests/unit/azure/nsg.h"

#define ALLOWED "azure-allowed-ip-ranges"
#define SOURCES "load-balancer-source-ranges"
#define TAGS    "azure-allowed-service-tags"
#define MORE    "azure-additional-public-ips"
#define DENY    "azure-deny-all-except-load-balancer-source-ranges"
#define INNER   "azure-load-balancer-internal"

static const char *prefixes(struct arena *a, const struct azure_prefixes *p)
{
    const char **texts = ARENA_ARRAY(a, const char *, p->n);
    for (size_t i = 0; i < p->n; i++) {
        texts[i] = azure_prefix_text(a, &p->items[i]);
    }
    return str_join(a, texts, p->n, " ");
}

static const char *texts(struct arena *a, const struct azure_texts *t)
{
    return str_join(a, t->items, t->n, "|");
}

static void lists__are_trimmed_and_sorted_into_good_and_bad(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *ranges;
        const char *sources, *bad_sources, *allowed, *bad_allowed, *tags, *more;
    } rows[] = {
        {"nothing", "", "", "", "", "", "", "", ""},
        {"G-41", ANNOTATION(TAGS, " Microsoft.ContainerInstance/containerGroups, foo, bar "), "",
         "", "", "", "", "Microsoft.ContainerInstance/containerGroups|foo|bar", ""},
        {"G-42",
         ANNOTATION(ALLOWED, " 10.10.0.0/24, 2001:db8::/32 ") "," ANNOTATION(
             SOURCES, " 10.20.0.0/24, 2002:db8::/32 "),
         "", "", "", "10.10.0.0/24 2001:db8::/32 10.20.0.0/24 2002:db8::/32", "", "", ""},
        {"G-43",
         ANNOTATION(ALLOWED, "foobar,10.0.0.1/24") "," ANNOTATION(SOURCES, "barfoo,2002:db8::1/32"),
         "", "", "", "", "foobar|10.0.0.1/24|barfoo|2002:db8::1/32", "", ""},
        {"G-44", "", "\"foobar\",\"10.0.0.1/24\"", "", "foobar|10.0.0.1/24", "", "", "", ""},
        {"G-45", "", "\"10.10.0.0/16\",\" 2001:db8::/32 \",\"20.10.0.1/16\"",
         "10.10.0.0/16 2001:db8::/32", "20.10.0.1/16", "", "", "", ""},
        {"G-46", ANNOTATION(MORE, "10.10.0.1,2001:db8::1"), "", "", "", "", "", "",
         "10.10.0.1|2001:db8::1"},
        {"17 (7): blanks between items", ANNOTATION(MORE, "10.10.0.1, 2001:DB8:0::1 "), "", "", "",
         "", "", "", "10.10.0.1|2001:db8::1"},
        {"17 (7): blank means absent",
         ANNOTATION(ALLOWED, "") "," ANNOTATION(SOURCES, "  ") "," ANNOTATION(
             TAGS, "") "," ANNOTATION(MORE, " "),
         "", "", "", "", "", "", ""},
        {"an empty item counts", ANNOTATION(ALLOWED, "10.0.0.0/8,"), "", "", "", "10.0.0.0/8", "",
         "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_access *x =
            nsg_access(a, "web", rows[i].annotations, rows[i].ranges, TCP(80), NULL);
        same_text(rows[i].row, prefixes(a, &x->source_ranges), rows[i].sources);
        same_text(rows[i].row, texts(a, &x->bad_source_ranges), rows[i].bad_sources);
        same_text(rows[i].row, prefixes(a, &x->allowed_ranges), rows[i].allowed);
        same_text(rows[i].row, texts(a, &x->bad_allowed_ranges), rows[i].bad_allowed);
        same_text(rows[i].row, texts(a, &x->tags), rows[i].tags);
        same_text(rows[i].row, texts(a, &x->additional), rows[i].more);
    }
    const struct azure_access *x =
        nsg_access(a, "web", ANNOTATION(ALLOWED, "10.0.0.0/8,"), "", TCP(80), NULL);
    assert_int_equal(x->bad_allowed_ranges.n, 1); /* "" and no item print the same above */
}

static void decisions__internet_and_deny_all(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *ranges;
        bool internet, deny;
    } rows[] = {
        {"external", "", "", true, false},
        {"G-40 true", ANNOTATION(INNER, "true"), "", false, false},
        {"G-40 TRUE", ANNOTATION(INNER, "TRUE"), "", false, false},
        {"G-40 foobar", ANNOTATION(INNER, "foobar"), "", true, false},
        {"internal, everything allowed", ANNOTATION(INNER, "true"), "\"0.0.0.0/0\"", true, false},
        {"internal, a range", ANNOTATION(INNER, "true"), "\"10.0.0.0/8\"", false, false},
        {"a tag", ANNOTATION(TAGS, "AzureCloud"), "", false, false},
        {"ranges", "", "\"10.0.0.0/8\"", false, false},
        {"G-51 some /0", "", "\"10.0.0.0/8\",\"::/0\"", true, false},
        {"G-47", ANNOTATION(DENY, "true"), "", true, false},
        {"G-48 spec", ANNOTATION(DENY, "True"), "\"10.0.0.0/8\"", false, true},
        {"G-48 annotation", ANNOTATION(DENY, "true") "," ANNOTATION(ALLOWED, "10.0.0.0/8"), "",
         false, true},
        {"not trimmed", ANNOTATION(DENY, " true"), "\"10.0.0.0/8\"", false, false},
        {"G-49", "", "\"foobar\"", false, true},
        {"G-49 annotation", ANNOTATION(ALLOWED, "foobar"), "", false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_access *x =
            nsg_access(a, "web", rows[i].annotations, rows[i].ranges, TCP(80), NULL);
        if (x->allow_internet != rows[i].internet || x->deny_all != rows[i].deny) {
            fail_msg("%s: internet %d, deny %d; want %d, %d", rows[i].row, x->allow_internet,
                     x->deny_all, rows[i].internet, rows[i].deny);
        }
    }
}

static void findings__say_what_is_wrong(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *ranges, *ports, *reason, *message;
        bool fatal;
    } rows[] = {
        {"ranges of the spec", "", "\"foobar\",\"10.0.0.1/24\"", TCP(80), "InvalidSourceRanges",
         "Found invalid spec.LoadBalancerSourceRanges [\"foobar\" \"10.0.0.1/24\"], ignoring and "
         "adding a default DenyAll rule in security group.",
         false},
        {"ranges of the annotation", ANNOTATION(ALLOWED, "foobar"), "", TCP(80),
         "InvalidAllowedIPRanges",
         "Found invalid service.beta.kubernetes.io/azure-allowed-ip-ranges [\"foobar\"], ignoring "
         "and adding a default DenyAll rule in security group.",
         false},
        {"ranges and tags", ANNOTATION(TAGS, "foo"), "\"10.0.0.0/8\"", TCP(80),
         "ConflictConfiguration",
         "Please use annotation service.beta.kubernetes.io/azure-allowed-ip-ranges instead of "
         "spec.loadBalancerSourceRanges while using "
         "service.beta.kubernetes.io/azure-allowed-service-tags annotation at the same time.",
         false},
        {"G-28", ANNOTATION(ALLOWED, "10.0.0.0/8"), "\"10.0.0.0/8\"", TCP(80),
         "ConflictConfiguration",
         "cannot set both spec.LoadBalancerSourceRanges and service annotation "
         "service.beta.kubernetes.io/azure-allowed-ip-ranges",
         true},
        {"G-46", ANNOTATION(MORE, "10.0.0.1,foobar"), "", TCP(80), "InvalidAnnotation",
         "annotation service.beta.kubernetes.io/azure-additional-public-ips: \"foobar\" is not an "
         "IP address",
         true},
        {"a trailing comma", ANNOTATION(TAGS, "foo,"), "", TCP(80), "InvalidAnnotation",
         "annotation service.beta.kubernetes.io/azure-allowed-service-tags has an empty item "
         "between its commas, which Azure refuses",
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        const struct azure_access *x =
            nsg_access(a, "web", rows[i].annotations, rows[i].ranges, rows[i].ports, NULL);
        if (x->n_findings != 1) {
            fail_msg("%s: %zu findings, want 1", rows[i].row, x->n_findings);
        }
        same_text(rows[i].row, x->findings[0].reason, rows[i].reason);
        same_text(rows[i].row, x->findings[0].message, rows[i].message);
        assert_int_equal(azure_access_check(x, &err), rows[i].fatal ? ERR_INVALID : ERR_OK);
        same_text(rows[i].row, err.message, rows[i].fatal ? rows[i].message : "");
    }
}

static void ports__service_port_or_node_port(void **state)
{
    struct arena *a = *state;
    const char *ports = TCP(443) "," TCP(80) "," UDP(
        53) ",{\"name\":\"s\",\"protocol\":\"SCTP\",\"port\":9,\"nodePort\":30009}";
    const struct azure_access *x = nsg_access(a, "web", "", "", ports, NULL);
    assert_int_equal(x->ports[AZURE_TCP].n, 2);
    assert_int_equal(x->ports[AZURE_TCP].items[0], 443); /* in order of the spec */
    assert_int_equal(x->ports[AZURE_UDP].items[0], 53);
    assert_int_equal(x->ports[AZURE_ANY].items[0], 9);
    x = nsg_access(a, "web", ANNOTATION("azure-disable-load-balancer-floating-ip", "true"), "",
                   ports, NULL);
    assert_int_equal(x->ports[AZURE_TCP].items[0], 3443);
    struct str_set set = azure_access_ports(a, x, AZURE_TCP);
    same_text("as texts", str_set_text(a, &set, " "), "3443 380"); /* sorted as texts */
}

static void prefix__G50(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text, *canonical; /* NULL: refused */
    } rows[] = {
        {"10.10.10.0/24", "10.10.10.0/24"},
        {"", NULL}, /* G-50, with the next three and 10.10.10.0/24 */
        {"foo", NULL},
        {"10.10.10.1/24", NULL},
        {"2001:db8::5/32", NULL},
        {"10.0.0.0", NULL},
        {"10.0.0.0/", NULL},
        {"10.0.0.0/08", NULL},
        {"10.0.0.0/+8", NULL},
        {"10.0.0.0/33", NULL},
        {"010.0.0.0/8", NULL},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"::/0", "::/0"},
        {"2001:DB8:0:0::/48", "2001:db8::/48"},
        {"::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104"}, /* stays IPv6 */
        {"fe80::%eth0/64", NULL},
        {"1.2.3.4/32", "1.2.3.4/32"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip_net net;
        bool ok = azure_prefix_parse(rows[i].text, &net);
        same_text(rows[i].text, ok ? azure_prefix_text(a, &net) : NULL, rows[i].canonical);
    }
}

static void address__canonical(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *text, *canonical;
        enum azure_family family;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", AZURE_IPV4},
        {"2001:DB8:0:0::1", "2001:db8::1", AZURE_IPV6},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.1", AZURE_IPV6},
        {"fe80::1%eth0", NULL, 0},
        {"010.0.0.1", NULL, 0},
        {"", NULL, 0},
        {" 10.0.0.1", NULL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = azure_addr_canonical(a, rows[i].text);
        same_text(rows[i].text, text, rows[i].canonical);
        if (text != NULL) {
            assert_int_equal(azure_addr_text_family(text), rows[i].family);
        }
    }
}

static void aggregate__G52_to_G54(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *in, *out;
    } rows[] = {
        {"G-52",
         "192.168.0.0/24 192.168.1.0/24 192.168.2.0/24 192.168.3.0/24 192.168.4.0/24 "
         "192.168.5.0/24 10.0.0.0/8 172.16.0.0/12",
         "10.0.0.0/8 172.16.0.0/12 192.168.0.0/22 192.168.4.0/23"},
        {"G-53", "192.168.0.0/16 192.170.0.0/16 10.10.0.1/32 192.168.1.0/24 192.168.1.1/32",
         "10.10.0.1/32 192.168.0.0/16 192.170.0.0/16"},
        {"G-54",
         "2001:db8::/32 2001:db8:1::/48 2001:db8:2::/48 2001:db8:7::/48 2001:dbf::/32 "
         "2001:dba::/32",
         "2001:db8::/32 2001:dba::/32 2001:dbf::/32"},
        {"families", "::/1 8000::/1 10.0.0.0/8", "10.0.0.0/8 ::/0"},
        {"all of IPv4", "128.0.0.0/1 0.0.0.0/1", "0.0.0.0/0"},
        {"twice", "10.0.0.0/8 10.0.0.0/8", "10.0.0.0/8"},
        {"no halves of one", "10.0.1.0/24 10.0.2.0/24", "10.0.1.0/24 10.0.2.0/24"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct azure_texts in = nsg_texts(a, rows[i].in);
        struct ip_net *nets = ARENA_ARRAY(a, struct ip_net, in.n);
        for (size_t k = 0; k < in.n; k++) {
            assert_true(azure_prefix_parse(in.items[k], &nets[k]));
        }
        struct azure_prefixes given = {.items = nets, .n = in.n};
        struct azure_prefixes few = azure_prefixes_aggregate(a, &given);
        same_text(rows[i].row, prefixes(a, &few), rows[i].out);
    }
    struct azure_prefixes none = {0};
    assert_int_equal(azure_prefixes_aggregate(a, &none).n, 0);
}

UNIT_MAIN(access)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(lists__are_trimmed_and_sorted_into_good_and_bad),
        PURE_TEST(decisions__internet_and_deny_all),
        PURE_TEST(findings__say_what_is_wrong),
        PURE_TEST(ports__service_port_or_node_port),
        PURE_TEST(prefix__G50),
        PURE_TEST(address__canonical),
        PURE_TEST(aggregate__G52_to_G54),
    };
    return cmocka_run_group_tests_name("azure_access", tests, NULL, NULL);
}
