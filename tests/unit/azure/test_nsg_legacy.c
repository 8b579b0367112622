/* SPDX-License-Identifier: Apache-2.0 */
/* test_nsg_legacy.c: security rules that releases before 1.29 made: when they are taken out, and
 * what stays (docs/spec/azure.md 9.9); and that splitting a rule opens nothing that it had
 * not open (9.5). */
#include "tests/support/unit.h"
#include "tests/unit/azure/nsg.h"

#define IP "20.1.2.3"
/* As today's release has it for TCP 80. */
#define TODAY                                                                                      \
    RULE("k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77", 600, "Tcp", "\"Internet\"",   \
         "\"" IP "\"", "\"80\"")
/* The Service "web" has the UID "uid-web", so its names begin with "auidweb". */
#define OWN RULE("auidweb-TCP-80-Internet", 500, "Tcp", "\"Internet\"", "\"" IP "\"", "\"80\"")
#define OWN_V6                                                                                     \
    RULE("auidweb-TCP-80-Internet-IPv6", 501, "Tcp", "\"Internet\"", "\"" IP "\"", "\"80\"")
#define DENY                                                                                       \
    "{\"name\":\"auidweb-TCP-80-deny_all\",\"properties\":{\"access\":\"Deny\","                   \
    "\"direction\":\"Inbound\",\"protocol\":\"Tcp\",\"priority\":502,\"sourcePortRange\":\"*\","   \
    "\"sourceAddressPrefix\":\"*\",\"destinationAddressPrefix\":\"" IP                             \
    "\",\"destinationPortRange\":\"80\"}}"
#define SHARED(dst) RULE("shared-TCP-80-Internet", 503, "Tcp", "\"Internet\"", dst, "\"80\"")
#define FOREIGN     RULE("mine", 510, "Tcp", "\"Internet\"", "\"" IP "\"", "\"22\"")
#define OTHER                                                                                      \
    RULE("auidother-TCP-80-Internet", 511, "Tcp", "\"Internet\"", "\"20.9.9.9\"", "\"80\"")
#define OUT_OF_RANGE                                                                               \
    RULE("auidweb-TCP-80-Internet", 400, "Tcp", "\"Internet\"", "\"" IP "\"", "\"80\"")
#define NO_RULE_OF_OURS                                                                            \
    RULE("auidweb-backup", 520, "Tcp", "\"Internet\"", "\"" IP "\"", "\"80\"")                     \
    "," RULE("shared-files", 521, "Tcp", "\"Internet\"", "\"" IP "\"", "\"445\"") "," RULE(        \
        "shared-TCP-http-x", 522, "Tcp", "\"Internet\"", "\"" IP "\"", "\"80\"")

#define SHOW_TODAY "600 Allow Tcp Internet > " IP " : 80"
#define SHOW_MADE  "500 Allow Tcp Internet > " IP " : 80"

struct row {
    const char *name;
    const char *rules;
    bool want;
    bool repair;
    const char *annotations;
    const char *result; /* NULL: not written */
};

static void legacy__9_9__taken_out_when_the_group_is_written(void **state)
{
    static const struct row rows[] = {
        {"up to date: what is there is taken over without a write", TODAY "," OWN "," DENY, true,
         false, "", NULL},
        {"the same with --repair-adopted", TODAY "," OWN "," OWN_V6 "," DENY, true, true, "",
         SHOW_TODAY},
        {"the first sync after an upgrade: today's rule comes, the old ones go, in one write",
         OWN "," DENY, true, false, "", "501 Allow Tcp Internet > " IP " : 80"},
        {"a Service that goes takes its old rules along", OWN "," DENY, false, false, "", ""},
        {"with today's", TODAY "," OWN "," FOREIGN, false, false, "",
         "510 Allow Tcp Internet > " IP " : 22"},
        {"other Services' old rules stay", OWN "," OTHER, false, false, "",
         "511 Allow Tcp Internet > 20.9.9.9 : 80"},
        {"names that no release gave stay", NO_RULE_OF_OURS, false, false, "", NULL},
        {"priorities that no release gave stay", OUT_OF_RANGE, false, false, "", NULL},
        {"a shared rule loses the address", SHARED("\"" IP "\",\"20.9.9.9\""), false, false, "",
         "503 Allow Tcp Internet > 20.9.9.9 : 80"},
        {"and goes with the last one", SHARED("\"" IP "\""), false, false, "", ""},
        {"a shared rule after an upgrade", SHARED("\"" IP "\",\"20.9.9.9\""), true, false, "",
         SHOW_MADE "\n503 Allow Tcp Internet > 20.9.9.9 : 80"},
        {"who manages the rules by hand keeps them", OWN, true, true,
         ANNOTATION("azure-disable-load-balancer-nsg-rule", "true"), NULL},
    };
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct azure_access *x = nsg_access(a, "web", rows[i].annotations, "", TCP(80), IP);
        struct azure_nsg_member member = {.access = x};
        struct azure_nsg_change change = {
            .access = x, .want = rows[i].want, .lb_ips = nsg_texts(a, IP)};
        struct azure_nsg_input in = {
            .rules = pure_json(a, arena_printf(a, "[%s]", rows[i].rules)),
            .members = &member,
            .n_members = 1,
            .changes = &change,
            .n_changes = 1,
            .repair_adopted = rows[i].repair,
        };
        struct azure_nsg_result r = nsg_plan(a, &in);
        if (r.changed != (rows[i].result != NULL)) {
            fail_msg("%s: %s", rows[i].name, r.changed ? nsg_show(a, r.rules) : "not written");
        }
        if (r.changed) {
            same_text(rows[i].name, nsg_show(a, r.rules), rows[i].result);
            in.rules = r.rules;
            assert_false(nsg_plan(a, &in).changed); /* and then it is at rest */
        }
    }
}

/* The address of a shared rule that two Services share stays for the other one. */
static void legacy__shared_address__stays_for_the_other_service(void **state)
{
    struct arena *a = *state;
    const struct azure_access *web = nsg_access(a, "web", "", "", TCP(80), IP);
    const struct azure_access *more = nsg_access(a, "more", "", "", TCP(81), IP);
    struct azure_nsg_member members[] = {{.access = web}, {.access = more}};
    struct azure_nsg_change change = {.access = web, .lb_ips = nsg_texts(a, IP)};
    struct azure_nsg_input in = {
        .rules = pure_json(a, "[" OWN "," SHARED("\"" IP "\"") "]"),
        .members = members,
        .n_members = 2,
        .changes = &change,
        .n_changes = 1,
    };
    struct azure_nsg_result r = nsg_plan(a, &in);
    assert_true(r.changed);
    same_text("result", nsg_show(a, r.rules), "503 Allow Tcp Internet > " IP " : 80");
    assert_int_equal(r.n_diff, 1);
    assert_int_equal(r.diff[0].verb, LB_DELETE);
    same_text("name", r.diff[0].name, "auidweb-TCP-80-Internet");
    same_text("why", r.diff[0].why, "a release before 1.29 made it; today's rules do its work");
    same_text("owner", str_set_text(a, &r.diff[0].owners, ","), "ns/web");
}

/* 9.5: `web` has an address of its own and one that it shares with `other`, which needs port 443
 * there.  The rule has only the shared one, so what is split off must not open 443 at the address
 * that was never open. */
static void split__only_addresses_that_the_rule_had(void **state)
{
    struct arena *a = *state;
    const struct azure_access *web = nsg_access(
        a, "web", ANNOTATION("azure-additional-public-ips", "20.5.5.5"), "", TCP(80), IP);
    const struct azure_access *other = nsg_access(a, "other", "", "\"10.0.0.0/8\"", TCP(443), IP);
    struct azure_nsg_member members[] = {{.access = web}, {.access = other}};
    struct azure_nsg_change change = {.access = web, .want = true, .lb_ips = nsg_texts(a, IP)};
    struct azure_nsg_input in = {
        .rules = pure_json(a, "[" RULE("k8s-azure-lb_allow_IPv4_x", 500, "Tcp", "\"10.0.0.0/8\"",
                                       "\"" IP "\"", "\"443\",\"80\"") "]"),
        .members = members,
        .n_members = 2,
        .changes = &change,
        .n_changes = 1,
    };
    struct azure_nsg_result r = nsg_plan(a, &in);
    same_text("result", nsg_show(a, r.rules),
              "501 Allow Tcp 10.0.0.0/8 > " IP " : 443\n"
              "502 Allow Tcp Internet > 20.1.2.3,20.5.5.5 : 80");
}

UNIT_MAIN(nsg_legacy)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(legacy__9_9__taken_out_when_the_group_is_written),
        PURE_TEST(legacy__shared_address__stays_for_the_other_service),
        PURE_TEST(split__only_addresses_that_the_rule_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
