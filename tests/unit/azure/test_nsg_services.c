/* SPDX-License-Identifier: Apache-2.0 */
/* test_nsg_services.c: several Services and one security group: what they share, and what one batch
 * does to the others; docs/spec/azure.md 9.5, 12.5 (4), 18 row 2. */
#include "tests/support/unit.h"
#include "tests/unit/azure/nsg.h"

#define MORE "azure-additional-public-ips"
#define DENY "azure-deny-all-except-load-balancer-source-ranges"

/* 18 row 2: b shares the address of a, both deny all else on TCP; a goes. */
static void deny__stays_while_an_owner_wants_it(void **state)
{
    struct arena *a = *state;
    struct azure_nsg_member members[] = {
        {.access =
             nsg_access(a, "a", ANNOTATION(DENY, "true"), "\"10.0.0.0/8\"", TCP(80), "20.1.2.3")},
        {.access =
             nsg_access(a, "b", ANNOTATION(DENY, "true"), "\"10.0.0.0/8\"", TCP(443), "20.1.2.3")},
    };
    struct azure_nsg_change both[] = {
        {.access = members[0].access, .want = true, .lb_ips = nsg_texts(a, "20.1.2.3")},
        {.access = members[1].access, .want = true, .lb_ips = nsg_texts(a, "20.1.2.3")},
    };
    struct azure_nsg_input in = {.rules = pure_json(a, "[]"),
                                 .members = members,
                                 .n_members = 2,
                                 .changes = both,
                                 .n_changes = 2};
    struct azure_nsg_result r = nsg_plan(a, &in);
    same_text("both", nsg_show(a, r.rules),
              "500 Allow Tcp 10.0.0.0/8 > 20.1.2.3 : 80\n"
              "501 Allow Tcp 10.0.0.0/8 > 20.1.2.3 : 443\n"
              "4095 Deny * * > 20.1.2.3 : *");
    both[0].want = false;
    in.n_changes = 1;
    in.rules = r.rules;
    r = nsg_plan(a, &in);
    same_text("without a", nsg_show(a, r.rules),
              "501 Allow Tcp 10.0.0.0/8 > 20.1.2.3 : 443\n4095 Deny * * > 20.1.2.3 : *");
    same_text("caused by", str_set_text(a, &r.diff[0].owners, " "), "ns/a");
    assert_int_equal(r.diff[0].verb, LB_DELETE);
    members[0].cleaned = true;
    both[1].want = false;
    in.changes = &both[1];
    in.rules = r.rules;
    r = nsg_plan(a, &in);
    same_text("without both", nsg_show(a, r.rules), "");
}

/* The other half of 18 row 2: b is there, too, but only a wanted the deny rule. */
static void deny__goes_when_nobody_wants_it(void **state)
{
    struct arena *a = *state;
    static const char sctp[] = "{\"protocol\":\"SCTP\",\"port\":80,\"nodePort\":30009}";
    struct azure_nsg_member members[] = {
        {.access =
             nsg_access(a, "a", ANNOTATION(DENY, "true"), "\"10.0.0.0/8\"", TCP(80), "20.1.2.3")},
        {.access = nsg_access(a, "b", "", "", sctp, "20.1.2.3")},
    };
    struct azure_nsg_change change = {.access = members[0].access,
                                      .lb_ips = nsg_texts(a, "20.1.2.3")};
    struct azure_nsg_input in = {
        .rules = pure_json(a, "[{\"name\":\"k8s-azure-lb_deny-all_IPv4\",\"properties\":{"
                              "\"access\":\"Deny\",\"direction\":\"Inbound\",\"protocol\":\"*\","
                              "\"priority\":4095,\"sourcePortRange\":\"*\","
                              "\"sourceAddressPrefix\":\"*\",\"destinationPortRange\":\"*\","
                              "\"destinationAddressPrefix\":\"20.1.2.3\"}}]"),
        .members = members,
        .n_members = 2,
        .changes = &change,
        .n_changes = 1};
    struct azure_nsg_result r = nsg_plan(a, &in);
    same_text("without a", nsg_show(a, r.rules), "");
}

/* a has no floating IP: its rules are about nodes, but for an additional address that it has in
 * common with b. */
static void no_floating_ip__additional_address_is_shared(void **state)
{
    struct arena *a = *state;
    static const char more[] = ANNOTATION("azure-disable-load-balancer-floating-ip",
                                          "true") "," ANNOTATION(MORE, "20.1.2.9");
    struct azure_nsg_member members[] = {
        {.access = nsg_access(a, "a", more, "", TCP(80), "20.1.2.3")},
        {.access = nsg_access(a, "b", "", "", UDP(53), "20.1.2.9")},
    };
    struct azure_nsg_change changes[] = {
        {.access = members[1].access, .want = true, .lb_ips = nsg_texts(a, "20.1.2.9")},
        {.access = members[0].access,
         .want = true,
         .lb_ips = nsg_texts(a, "20.1.2.3"),
         .backend_ips = nsg_texts(a, "10.0.0.4")},
    };
    struct azure_nsg_input in = {.rules = pure_json(a, "[]"),
                                 .members = members,
                                 .n_members = 2,
                                 .changes = changes,
                                 .n_changes = 2,
                                 .node_ips = nsg_texts(a, "10.0.0.4")};
    struct azure_nsg_result r = nsg_plan(a, &in);
    same_text("b keeps its port", nsg_show(a, r.rules),
              "500 Allow Udp Internet > 20.1.2.9 : 53\n"
              "501 Allow Tcp Internet > 10.0.0.4,20.1.2.9 : 380");
}

/* 12.5 (4), 17 row 20: the status of b does not show its address yet. */
static void sibling__address_of_the_batch_survives(void **state)
{
    struct arena *a = *state;
    struct azure_nsg_member members[] = {
        {.access = nsg_access(a, "a", "", "", TCP(80), NULL)},
        {.access = nsg_access(a, "b", "", "", TCP(443), NULL)},
        {.access = nsg_access(a, "c", "", "", UDP(53), NULL), .assigned = nsg_texts(a, "20.1.2.9")},
    };
    struct azure_nsg_change changes[] = {
        {.access = members[0].access, .want = true, .lb_ips = nsg_texts(a, "20.1.2.3")},
        {.access = members[1].access, .want = true, .lb_ips = nsg_texts(a, "20.1.2.4")},
    };
    struct azure_nsg_input in = {
        .rules = pure_json(a, "[" RULE("k8s-azure-lb_c", 600, "Udp", "\"Internet\"",
                                       "\"20.1.2.9\",\"20.1.2.10\"", "\"53\"") "]"),
        .members = members,
        .changes = changes,
        .n_changes = 2};
    static const char want[] = "500 Allow Tcp Internet > 20.1.2.3 : 80\n"
                               "501 Allow Tcp Internet > 20.1.2.4 : 443\n"
                               "600 Allow Udp Internet > 20.1.2.9 : 53";
    in.n_members = 3;
    struct azure_nsg_result r = nsg_plan(a, &in);
    same_text("in the list", nsg_show(a, r.rules), want);
    /* No list shows a and b yet. */
    in.members = &members[2];
    in.n_members = 1;
    r = nsg_plan(a, &in);
    same_text("not in the list", nsg_show(a, r.rules), want);
}

/* A rule that one Service of the batch gives up and the next one takes is not written at all. */
static void batch__what_undoes_itself_is_not_written(void **state)
{
    struct arena *a = *state;
    struct azure_nsg_member members[] = {
        {.access = nsg_access(a, "old", "", "", TCP(80), "20.1.2.3")},
        {.access = nsg_access(a, "new", "", "", TCP(80), NULL)},
    };
    struct azure_nsg_change changes[] = {
        {.access = members[0].access, .want = false, .lb_ips = nsg_texts(a, "20.1.2.3")},
        {.access = members[1].access, .want = true, .lb_ips = nsg_texts(a, "20.1.2.3")},
    };
    struct azure_nsg_input in = {
        .rules = pure_json(a, "[" RULE("k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77",
                                       678, "Tcp", "\"Internet\"", "\"20.1.2.3\"", "\"80\"") "]"),
        .members = members,
        .n_members = 2,
        .changes = changes,
        .n_changes = 2};
    struct azure_nsg_result r = nsg_plan(a, &in);
    assert_false(r.changed);
    assert_ptr_equal(r.rules, in.rules);
}

/* The one by which the group would become too large fails, those before and after it do not. */
static void batch__a_service_too_many_fails_alone(void **state)
{
    struct arena *a = *state;
    _cleanup_(str_buf_done) struct str_buf many = STR_BUF_INIT;
    for (int i = 0; i < 4000; i++) {
        str_appendf(&many, "%s10.0.%d.%d", i > 0 ? " " : "", i / 250, i % 250);
    }
    const struct azure_texts ips[] = {nsg_texts(a, "20.1.2.3"), nsg_texts(a, str_buf_text(&many)),
                                      nsg_texts(a, "20.1.2.4")};
    struct azure_nsg_change changes[3];
    for (size_t i = 0; i < 3; i++) {
        const char *name = arena_printf(a, "s%zu", i);
        changes[i] = (struct azure_nsg_change){
            .access = nsg_access(a, name, "", "", TCP(80), NULL), .want = true, .lb_ips = ips[i]};
    }
    struct azure_nsg_input in = {.rules = pure_json(a, "[]"), .changes = changes, .n_changes = 3};
    struct azure_nsg_result r = nsg_plan(a, &in);
    assert_int_equal(r.errs[1].code, ERR_QUOTA);
    same_text("limit", r.errs[1].message,
              "the security group exceeds the maximum number of destination IP addresses "
              "(4001 > 4000)");
    same_text("others", nsg_show(a, r.rules), "500 Allow Tcp Internet > 20.1.2.3,20.1.2.4 : 80");
    same_text("owners", str_set_text(a, &r.diff[0].owners, " "), "ns/s0 ns/s2");
}

/* One that cannot be served fails alone. */
static void batch__a_refused_service_blocks_nobody(void **state)
{
    struct arena *a = *state;
    struct azure_nsg_change changes[] = {
        {.access = nsg_access(a, "bad", ANNOTATION(MORE, "foobar"), "", TCP(80), NULL),
         .want = true,
         .lb_ips = nsg_texts(a, "20.1.2.3")},
        {.access = nsg_access(a, "good", "", "", TCP(443), NULL),
         .want = true,
         .lb_ips = nsg_texts(a, "20.1.2.4")},
    };
    struct azure_nsg_input in = {.rules = pure_json(a, "[]"), .changes = changes, .n_changes = 2};
    struct azure_nsg_result r = nsg_plan(a, &in);
    assert_int_equal(r.errs[0].code, ERR_INVALID);
    assert_int_equal(r.errs[1].code, ERR_OK);
    same_text("good", nsg_show(a, r.rules), "500 Allow Tcp Internet > 20.1.2.4 : 443");
}

UNIT_MAIN(nsg_services)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(deny__stays_while_an_owner_wants_it),
        PURE_TEST(deny__goes_when_nobody_wants_it),
        PURE_TEST(no_floating_ip__additional_address_is_shared),
        PURE_TEST(sibling__address_of_the_batch_survives),
        PURE_TEST(batch__what_undoes_itself_is_not_written),
        PURE_TEST(batch__a_service_too_many_fails_alone),
        PURE_TEST(batch__a_refused_service_blocks_nobody),
    };
    return cmocka_run_group_tests_name("azure_nsg_services", tests, NULL, NULL);
}
