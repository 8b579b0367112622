/* SPDX-License-Identifier: Apache-2.0 */
/* test_l4_address_rules.c: which address a side of a balancer gets, who holds it, and which rules
 * go for it; rows V67–V86 of gce-l4.md §11.8 and §11.9. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/backend/gce_l4_address_rules.h"
#include "tests/support/unit.h"

#define RESERVED_V4 "35.193.28.0"
#define RULE_V4     "35.193.28.1"
#define ANNOTATION  "networking.gke.io/load-balancer-ip-addresses"

/* Addresses of the project. */
static const struct gce_address addresses[] = {
    {.name = "reserved-ipv4", .ip = RESERVED_V4, .ip_version = "IPV4", .tier = "PREMIUM"},
    {.name = "reserved-ipv6", .ip = "2001:db8::1", .ip_version = "IPV6", .tier = "PREMIUM"},
    {.name = "old", .ip = "2.2.2.2", .ip_version = "", .tier = ""},
};

static const struct tt_service *service(struct arena *a, const char *annotation, const char *ip)
{
    return test_service_text(a, arena_printf(a,
                                             "{\"metadata\":{\"namespace\":\"d\",\"annotations\":{"
                                             "\"%s\":\"%s\"}},\"spec\":{%s%s%s}}",
                                             ANNOTATION, annotation,
                                             *ip == '\0' ? "" : "\"loadBalancerIP\":\"", ip,
                                             *ip == '\0' ? "" : "\""));
}

static struct gce_bs_user_address user_of(struct arena *a, const struct tt_service *s, bool v6,
                                          bool *ret_both)
{
    const struct gce_address *found[ARRAY_LEN(addresses)];
    struct gce_bs_user_address user;
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        found[i] = &addresses[i];
    }
    gce_l4_user_address(a, s, found, ARRAY_LEN(found), v6, &user, ret_both);
    return user;
}

static void choose__V67_to_V79(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotation, *lb_ip;
        bool v6;
        const char *rule_ip; /* NULL: no rule */
        const char *rule_subnet, *ip, *name;
        bool both, managed;
    } rows[] = {
        {"V67", "", "", false, NULL, "", "", "", false, true},
        {"V68", "", "", false, RULE_V4, "", RULE_V4, "", false, true},
        {"V69", "", RESERVED_V4, false, RULE_V4, "", RESERVED_V4, "", false, true},
        {"V70", "reserved-ipv4", "", false, RULE_V4, "", RESERVED_V4, "reserved-ipv4", false,
         false},
        {"V71", "reserved-ipv4", RULE_V4, false, NULL, "", RESERVED_V4, "reserved-ipv4", true,
         false},
        {"V72", "", "", false, RULE_V4, "other-subnetwork", "", "", false, true},
        {"V73", "missing", "", false, NULL, "", "", "", false, true},
        {"V73, then what the Service says", "missing", RESERVED_V4, false, NULL, "", RESERVED_V4,
         "", false, true},
        {"V74", "reserved-ipv6", "", true, "2001:db8::2/96", "", "2001:db8::1", "reserved-ipv6",
         false, false},
        {"V74, without", "", "", true, "2001:db8::2/96", "", "2001:db8::2", "", false, true},
        {"V75", "reserved-ipv4, reserved-ipv4", "", true, NULL, "", "", "", false, true},
        {"V76", "reserved-ipv4, reserved-ipv6", "", false, NULL, "", RESERVED_V4, "reserved-ipv4",
         false, false},
        {"V76", "reserved-ipv4, reserved-ipv6", "", true, NULL, "", "2001:db8::1", "reserved-ipv6",
         false, false},
        {"V77", "a,b,reserved-ipv4,c", "", false, NULL, "", "", "", false, true},
        {"V79", "old", "", false, NULL, "", "2.2.2.2", "old", false, false},
        {"4.4: not for IPv6", "", RESERVED_V4, true, NULL, "", "", "", false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_rule rule = {.ip = rows[i].rule_ip, .subnetwork = rows[i].rule_subnet};
        const struct gce_rule *rules[] = {&rule};
        bool both;
        struct gce_bs_user_address user =
            user_of(a, service(a, rows[i].annotation, rows[i].lb_ip), rows[i].v6, &both);
        struct gce_l4_address_choice c;
        gce_l4_address_choose(a,
                              &(struct gce_l4_address_question){
                                  .user = &user,
                                  .internal = true,
                                  .v6 = rows[i].v6,
                                  .subnetwork = "",
                                  .rules = rules,
                                  .n_rules = rows[i].rule_ip != NULL ? 1 : 0,
                              },
                              &c);
        same_text(rows[i].row, c.ip, rows[i].ip);
        same_text(rows[i].row, c.ask, rows[i].ip);
        same_text(rows[i].row, c.name, rows[i].name);
        assert_int_equal(both, rows[i].both);
        assert_int_equal(c.managed, rows[i].managed);
    }
}

/* Ours: the same subnetwork in two spellings keeps the address. */
static void choose__subnetwork_in_two_spellings__keeps_the_address(void **state)
{
    struct arena *a = *state;
    const struct gce_rule rule = {
        .ip = "10.0.0.9",
        .subnetwork = "https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/s"};
    const struct gce_rule *rules[] = {&rule};
    const struct gce_bs_user_address nobody = {.name = "", .ip = "", .tier = ""};
    struct gce_l4_address_choice c;
    gce_l4_address_choose(
        a,
        &(struct gce_l4_address_question){.user = &nobody,
                                          .internal = true,
                                          .subnetwork = "projects/p/regions/r/subnetworks/s",
                                          .rules = rules,
                                          .n_rules = 1},
        &c);
    assert_string_equal(c.ip, "10.0.0.9");
    assert_true(c.from_rule);
}

struct hold_row {
    const char *row, *annotation, *ip; /* of the rules, "": there are none */
    size_t n;                          /* of rules */
    const char *has;                   /* their tier */
    bool set;                          /* the annotation's tier is valid */
    const char *tier, *want;
    bool managed, teardown;
    const char *ask;
};

static const struct hold_row hold_rows[] = {
    {"V80", "", "", 0, "", false, "PREMIUM", "", true, false, ""},
    {"V81", "reserved-ipv4", "", 0, "", false, "PREMIUM", RESERVED_V4, false, false, RESERVED_V4},
    {"V82", "", "1.1.1.1", 1, "PREMIUM", false, "PREMIUM", "1.1.1.1", true, false, "1.1.1.1"},
    {"V83", "", "1.1.1.1", 2, "PREMIUM", false, "PREMIUM", "1.1.1.1", true, false, "1.1.1.1"},
    {"V84", "", "1.1.1.1", 1, "PREMIUM", true, "PREMIUM", "1.1.1.1", true, false, "1.1.1.1"},
    /* Torn down; upstream then asks for an address that the new tier cannot have (A4). */
    {"V85", "", "1.1.1.1", 1, "STANDARD", true, "PREMIUM", "1.1.1.1", true, true, ""},
    {"V86", "", "1.1.1.1", 1, "PREMIUM", true, "STANDARD", "1.1.1.1", true, true, ""},
    {"5.6, not set", "", "1.1.1.1", 1, "STANDARD", false, "PREMIUM", "1.1.1.1", true, false,
     "1.1.1.1"},
};

static void hold__V80_to_V86__external(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(hold_rows); i++) {
        const struct hold_row *r = &hold_rows[i];
        const struct gce_rule rule = {.ip = r->ip, .tier = r->has};
        const struct gce_rule *rules[] = {&rule, &rule};
        struct gce_bs_user_address user = user_of(a, service(a, r->annotation, ""), false, NULL);
        const struct gce_l4_address_question q = {.user = &user,
                                                  .tier_is_set = r->set,
                                                  .subnetwork = "",
                                                  .tier = r->tier,
                                                  .rules = rules,
                                                  .n_rules = r->n};
        struct gce_l4_address_choice c;
        gce_l4_address_choose(a, &q, &c);
        same_text(r->row, c.ip, r->want);
        same_text(r->row, c.ask, r->ask);
        assert_int_equal(c.managed, r->managed);
        assert_int_equal(r->n > 0 && gce_l4_rule_is_of_other_tier(&rule, &q), r->teardown);
    }
}

static void choose__rules_in_order__first_with_an_address(void **state)
{
    struct arena *a = *state;
    const struct gce_rule none = {.ip = ""};
    const struct gce_rule tcp = {.ip = "1.1.1.1"};
    const struct gce_rule udp = {.ip = "2.2.2.2"};
    const struct gce_rule *rules[] = {&none, &tcp, &udp};
    const struct gce_bs_user_address nobody = {.name = "", .ip = "", .tier = ""};
    struct gce_l4_address_choice c;
    gce_l4_address_choose(a,
                          &(struct gce_l4_address_question){
                              .user = &nobody, .subnetwork = "", .rules = rules, .n_rules = 3},
                          &c);
    assert_string_equal(c.ip, "1.1.1.1");
}

/* §5.4: a rule of another collection cannot keep its address. */
static void choose__another_collection__loses_the_address(void **state)
{
    struct arena *a = *state;
    const struct gce_rule rule = {.ip = "2600::/96", .ip_collection = "x"};
    const struct gce_rule *rules[] = {&rule};
    const struct gce_bs_user_address nobody = {.name = "", .ip = "", .tier = ""};
    struct gce_l4_address_question q = {.user = &nobody,
                                        .v6 = true,
                                        .subnetwork = "",
                                        .ip_collection = "y",
                                        .rules = rules,
                                        .n_rules = 1};
    struct gce_l4_address_choice c;
    gce_l4_address_choose(a, &q, &c);
    assert_string_equal(c.ip, "");
    q.ip_collection = "x";
    gce_l4_address_choose(a, &q, &c);
    assert_string_equal(c.ip, "2600::");
}

/* Ours: an address is reserved only where it could be lost, or where two rules share it. */
static void must_be_held__only_where_it_could_be_lost(void **state)
{
    (void)state;
    const struct gce_l4_address_choice rule_s = {
        .ip = "1.1.1.1", .ask = "1.1.1.1", .managed = true};
    const struct gce_l4_address_choice users = {.ip = "1.1.1.1", .ask = "1.1.1.1"};
    const struct gce_l4_address_choice any = {.ip = "", .ask = "", .managed = true};
    assert_false(gce_l4_address_must_be_held(&rule_s, false, 1, 0)); /* nothing changes */
    assert_true(gce_l4_address_must_be_held(&rule_s, true, 1, 1));   /* made again */
    assert_false(gce_l4_address_must_be_held(&users, true, 1, 1));   /* the user holds it */
    assert_false(gce_l4_address_must_be_held(&any, false, 1, 1));    /* a first rule takes any */
    assert_true(gce_l4_address_must_be_held(&any, false, 2, 2));     /* two must have the same */
    assert_true(gce_l4_address_must_be_held(&rule_s, false, 2, 1));  /* a second one comes */
    assert_false(gce_l4_address_must_be_held(&users, false, 2, 2));
}

static void user_address_check__another_tier__is_the_users_error(void **state)
{
    (void)state;
    const struct gce_bs_user_address reserved = {
        .name = "mine", .ip = "1.1.1.1", .tier = "STANDARD", .reserved = true};
    const struct gce_bs_user_address not_reserved = {
        .name = "", .ip = "1.1.1.1", .tier = "STANDARD"};
    struct err err = ERR_INIT;
    assert_int_equal(gce_l4_user_address_check(&reserved, "STANDARD", &err), ERR_OK);
    assert_int_equal(gce_l4_user_address_check(&not_reserved, "PREMIUM", &err), ERR_OK);
    assert_int_equal(gce_l4_user_address_check(&reserved, "PREMIUM", &err), ERR_INVALID);
    assert_string_equal(
        err.message,
        "Network tier mismatch for resource mine, desired: PREMIUM, received: STANDARD");
}

UNIT_MAIN(l4_address_rules)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(choose__V67_to_V79),
        PURE_TEST(choose__subnetwork_in_two_spellings__keeps_the_address),
        PURE_TEST(hold__V80_to_V86__external),
        PURE_TEST(choose__rules_in_order__first_with_an_address),
        PURE_TEST(choose__another_collection__loses_the_address),
        PURE_TEST(must_be_held__only_where_it_could_be_lost),
        PURE_TEST(user_address_check__another_tier__is_the_users_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
