/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c: gce.conf and flags; rows C1–C12 of §9.4 of the GCE specification. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/config/gce_config.h"
#include "providers/gce/config/gce_options.h"
#include "tests/support/unit.h"

static int parse(struct arena *a, const char *text, struct gce_config *c, struct err *err)
{
    struct gcfg_unknown *u;
    size_t n;
    return gce_config_parse(a, text, strlen(text), c, &u, &n, err);
}

static void config__C1__every_key(void **state)
{
    struct arena *a = *state;
    struct gce_config c;
    assert_int_equal(parse(a,
                           "[Global]\ntoken-url = my-token-url\ntoken-body = my-token-body\n"
                           "project-id = my-project\nnetwork-project-id = my-network-project\n"
                           "network-name = my-network\nsubnetwork-name = my-subnetwork\n"
                           "secondary-range-name = my-range\nnode-tags = my-tag\n"
                           "node-instance-prefix = my-prefix\nmultizone = true\nregional = true\n"
                           "stack-type = IPV4\napi-endpoint = https://x/compute/staging_v1/\n"
                           "container-api-endpoint = https://y/\nlocal-zone = us-central1-a\n \n",
                           &c, NULL),
                     ERR_OK);
    same_text("C1", c.token_url, "my-token-url");
    same_text("C1", c.token_body, "my-token-body");
    same_text("C1", c.project_id, "my-project");
    same_text("C1", c.network_project_id, "my-network-project");
    same_text("C1", c.network_name, "my-network");
    same_text("C1", c.subnetwork_name, "my-subnetwork");
    same_text("C1", c.secondary_range_name, "my-range");
    same_text("C1", c.node_instance_prefix, "my-prefix");
    same_text("C7", c.api_endpoint, "https://x/compute/staging_v1/");
    same_text("C1", c.stack_type, "IPV4");
    same_text("C1", c.container_api_endpoint, "https://y/");
    same_text("C1", c.local_zone, "us-central1-a");
    assert_int_equal(c.node_tags.n, 1);
    assert_true(c.multizone && c.regional);
}

static void config__C2__unknown_keys_are_told_with_line_and_likely_meaning(void **state)
{
    struct arena *a = *state;
    const char *text = "[global]\nproject-id = p\nunknown-key = abc\nsubnetwrk-name = s\n"
                       "network-name = n\n[other]\nx = y\n";
    struct gce_config c;
    struct gcfg_unknown *u;
    size_t n;
    assert_int_equal(gce_config_parse(a, text, strlen(text), &c, &u, &n, NULL), ERR_OK);
    same_text("C2", c.network_name, "n");
    assert_true(n >= 3);
    same_text("C2", u[1].key, "subnetwrk-name");
    same_text("C2", u[1].nearest, "subnetwork-name");
    assert_int_equal(u[1].line, 4);
}

static void config__hold_address_first__true_unless_it_says_no(void **state)
{
    struct gce_config c;
    assert_int_equal(parse(*state, "", &c, NULL), ERR_OK);
    assert_true(c.hold_address_first);
    assert_int_equal(parse(*state, "[global]\nhold-address-first = false\n", &c, NULL), ERR_OK);
    assert_false(c.hold_address_first);
}

static void config__C8_C9__lists_repeat_the_key(void **state)
{
    struct arena *a = *state;
    struct gce_config c;
    assert_int_equal(parse(a,
                           "[global]\nnode-tags = a\nnode-tags = b\nalpha-features = foo\n"
                           "alpha-features = bar\n",
                           &c, NULL),
                     ERR_OK);
    assert_int_equal(c.node_tags.n, 2);
    same_text("C9", c.node_tags.items[1], "b");
    assert_int_equal(c.alpha_features.n, 2);
    assert_int_equal(c.allowed_projects.n, 0);
    assert_int_equal(parse(a, "[global]\nallowed-projects = p\nAllowed-Projects = q\n", &c, NULL),
                     ERR_OK);
    assert_int_equal(c.allowed_projects.n, 2);
    same_text("allowed-projects", c.allowed_projects.items[1], "q");
    assert_int_equal(parse(a, "[global]\nnode-tags = a,b\n", &c, NULL), ERR_OK);
    assert_int_equal(c.node_tags.n, 1);
    same_text("C9", c.node_tags.items[0], "a,b");
}

static void config__C10_C11_C12__what_is_fatal_and_what_is_not(void **state)
{
    struct arena *a = *state;
    struct gce_config c;
    static const struct {
        const char *row, *text;
        bool fine;
    } rows[] = {
        {"C10", "[global]\nproject_id = x\n", false},
        {"C11 blank", "[global]\nmultizone\n", true},
        {"C11 empty", "[global]\nmultizone =\n", false},
        {"C11 maybe", "[global]\nmultizone = maybe\n", false},
        {"key before a section", "project-id = x\n", false},
        {"string without value", "[global]\nproject-id\n", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        if ((parse(a, rows[i].text, &c, &err) == ERR_OK) != rows[i].fine) {
            fail_msg("%s: %s", rows[i].row, err.message);
        }
    }
    assert_int_equal(parse(a, "[global]\nnetwork-name = \"a b\" ; c\n", &c, NULL), ERR_OK);
    same_text("C12", c.network_name, "a b");
}

static void config__absent__everything_empty(void **state)
{
    struct arena *a = *state;
    struct gce_config c;
    struct gcfg_unknown *u;
    size_t n;
    assert_int_equal(gce_config_parse(a, NULL, 0, &c, &u, &n, NULL), ERR_OK);
    same_text("absent", c.project_id, "");
    assert_int_equal(c.node_tags.n, 0);
}

static void options__deny_needs_its_cleanup(void **state)
{
    struct arena *a = *state;
    static const struct tt_kv deny[] = {{"enable-l4-deny-firewall", "true"}};
    static const struct tt_kv both[] = {{"enable-l4-deny-firewall", "true"},
                                        {"enable-l4-deny-firewall-rollback-cleanup", "true"}};
    static const struct tt_kv cidrs[] = {
        {"cloud-provider-gce-lb-src-cidrs", "10.0.0.0/8, 10.1.0.0/16"}};
    static const struct tt_kv bad[] = {{"cloud-provider-gce-lb-src-cidrs", "10.0.0.0"}};
    struct gce_options o;
    assert_int_equal(gce_options_parse(a, deny, 1, &o, NULL), ERR_INVALID);
    assert_int_equal(gce_options_parse(a, both, 2, &o, NULL), ERR_OK);
    assert_true(o.deny_firewall && o.deny_cleanup && !o.repair_adopted);
    assert_int_equal(o.n_lb_src_cidrs, 4);
    assert_int_equal(gce_options_parse(a, cidrs, 1, &o, NULL), ERR_OK);
    assert_int_equal(o.n_lb_src_cidrs, 2);
    same_text("cidr", o.lb_src_cidrs[1], "10.1.0.0/16");
    assert_int_equal(gce_options_parse(a, bad, 1, &o, NULL), ERR_INVALID);
}

UNIT_MAIN(config)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(config__C1__every_key),
        PURE_TEST(config__C2__unknown_keys_are_told_with_line_and_likely_meaning),
        PURE_TEST(config__hold_address_first__true_unless_it_says_no),
        PURE_TEST(config__C8_C9__lists_repeat_the_key),
        PURE_TEST(config__C10_C11_C12__what_is_fatal_and_what_is_not),
        PURE_TEST(config__absent__everything_empty),
        PURE_TEST(options__deny_needs_its_cleanup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
