/* SPDX-License-Identifier: Apache-2.0 */
/* guards.c: locks and policies of settings, as they refuse requests, and when they do not.
 *
 * Source: learn.microsoft.com, "Lock your resources to protect your infrastructure", "Azure Policy
 * definitions deny effect". */
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define LOCK(scope, level) "{\"locks\":[{\"scope\":\"" scope "\",\"level\":\"" level "\"}]}"
#define POLICY(type, more)                                                                         \
    "{\"policies\":[{\"type\":\"Microsoft.Network/" type "\",\"name\":\"no-public\"" more "}]}"
#define TAGGED                                                                                     \
    "{\"location\":\"eastus\",\"sku\":{\"name\":\"Standard\"},\"tags\":{\"Owner\":\"x\"}}"

/* A request under some settings, and its answer. */
static const struct {
    const char *what, *settings;
    const char *method, *id, *body;
    int status;
    const char *code, *text;
} rows[] = {
    {"a locked address cannot be deleted", LOCK(PIP "9", "CanNotDelete"), "DELETE", PIP "9", NULL,
     409, "ScopeLocked", "cannot perform delete operation because following scope(s) are locked"},
    {"but changed", LOCK(PIP "9", "CanNotDelete"), "PUT", PIP "9", PIP_BODY, 200, NULL, NULL},
    {"read", LOCK(PIP "9", "ReadOnly"), "GET", PIP "9", NULL, 200, NULL, NULL},
    {"not changed", LOCK(PIP "9", "ReadOnly"), "PUT", PIP "9", PIP_BODY, 409, "ScopeLocked",
     "cannot perform write operation"},
    {"nor deleted", LOCK(PIP "9", "ReadOnly"), "DELETE", PIP "9", NULL, 409, "ScopeLocked",
     "cannot perform delete operation"},
    {"nor its tags", LOCK(PIP "9", "ReadOnly"), "PATCH", PIP "9", "{\"tags\":{\"a\":\"b\"}}", 409,
     "ScopeLocked", NULL},
    {"a neighbour of a longer name", LOCK(PIP, "CanNotDelete"), "DELETE", PIP "9", NULL, 200, NULL,
     NULL},
    {"what stands in a locked group", LOCK(RG, "CanNotDelete"), "DELETE", PIP "9", NULL, 409,
     "ScopeLocked", "are locked: '" RG "'"},
    {"what would come into a locked group", LOCK(RG, "ReadOnly"), "PUT", PIP "10", PIP_BODY, 409,
     "ScopeLocked", NULL},
    {"a locked subscription, in other letters", LOCK(SUB, "CanNotDelete"), "DELETE",
     SUB "/RESOURCEGROUPS/RG/providers/microsoft.network/publicipaddresses/PIP9" NET_V, NULL, 409,
     "ScopeLocked", NULL},
    {"a part of a locked balancer", LOCK(LB, "CanNotDelete"), "DELETE", POOL, NULL, 409,
     "ScopeLocked", "backendAddressPools/k' cannot perform delete"},
    {"the neighbour of a locked balancer", LOCK(LB, "ReadOnly"), "PUT", PIP "9", PIP_BODY, 200,
     NULL, NULL},
    {"a denied type", POLICY("publicIPAddresses", ""), "PUT", PIP "10", PIP_BODY, 403,
     "RequestDisallowedByPolicy", "Resource 'pip10' was disallowed by policy. Policy identifiers"},
    {"with a reason", POLICY("publicIPAddresses", ",\"reason\":\"No address is to be had.\""),
     "PUT", PIP "10", PIP_BODY, 403, "RequestDisallowedByPolicy",
     "Reasons: 'No address is to be had.'"},
    {"that is there already", POLICY("publicIPAddresses", ""), "PUT", PIP "9", PIP_BODY, 403,
     "RequestDisallowedByPolicy", NULL},
    {"deleted all the same", POLICY("publicIPAddresses", ""), "DELETE", PIP "9", NULL, 200, NULL,
     NULL},
    {"another type", POLICY("loadBalancers", ""), "PUT", PIP "9", PIP_BODY, 200, NULL, NULL},
    {"in another group", POLICY("publicIPAddresses", ",\"scope\":\"" RG "x\""), "PUT", PIP "9",
     PIP_BODY, 200, NULL, NULL},
    {"without the tag", POLICY("publicIPAddresses", ",\"required_tag\":\"owner\""), "PUT", PIP "9",
     PIP_BODY, 403, "RequestDisallowedByPolicy", NULL},
    {"with the tag", POLICY("publicIPAddresses", ",\"required_tag\":\"owner\""), "PUT", PIP "9",
     TAGGED, 200, NULL, NULL},
    {"other tags", POLICY("publicIPAddresses", ",\"required_tag\":\"owner\""), "PATCH", PIP "9",
     "{\"tags\":{\"a\":\"b\"}}", 403, "RequestDisallowedByPolicy", NULL},
};

static void requests__each_row__refused_or_not(void **state)
{
    (void)state;
    struct fixture *f = arm_start("guards", NULL);
    arm_make_balancer(f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_must(f, "PUT", "/sim/settings/azure", "{}");
        arm_must(f, "PUT", PIP "9", PIP_BODY);
        fixture_must(f, "PUT", "/sim/settings/azure", rows[i].settings);
        int status = arm_call(f, rows[i].method, rows[i].id, rows[i].body);
        arm_expect(f, rows[i].what, status, rows[i].status, rows[i].code);
        if (rows[i].text && !strstr(f->text, rows[i].text)) {
            fail_msg("%s: %s", rows[i].what, f->text);
        }
    }
    fixture_stop(f);
}

static void policy__of_a_refusal__is_named(void **state)
{
    (void)state;
    struct fixture *f = arm_start("policy", NULL);
    fixture_must(f, "PUT", "/sim/settings/azure", POLICY("publicIPAddresses", ""));
    (void)arm_call(f, "PUT", PIP, PIP_BODY);
    assert_string_equal(arm_text(f, "error.target"), "pip");
    assert_string_equal(arm_text(f, "error.additionalInfo.0.type"), "PolicyViolation");
    assert_string_equal(arm_text(f, "error.additionalInfo.0.info.policyAssignmentName"),
                        "no-public");
    fixture_stop(f);
}

static void settings__of_another_form__are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"locks\":{}}",
        "{\"locks\":[1]}",
        "{\"locks\":[{\"scope\":\"" RG "\"}]}",
        LOCK(RG, "Sometimes"),
        "{\"locks\":[{\"level\":\"ReadOnly\"}]}",
        "{\"locks\":[{\"scope\":\"" RG "\",\"level\":\"ReadOnly\",\"until\":\"noon\"}]}",
        "{\"policies\":[{\"type\":\"Microsoft.Network/publicIPAddresses\"}]}",
        "{\"policies\":[{\"name\":\"x\"}]}",
        POLICY("publicIPAddresses", ",\"effect\":\"deny\""),
        POLICY("publicIPAddresses", ",\"reason\":1"),
        "{\"limits\":{\"publicIPAddress\":1}}",
        "{\"limits\":{\"publicIPAddresses\":\"1\"}}",
        "{\"throttle\":{\"read\":{\"bucket\":1}}}",
        "{\"throttle\":{\"reads\":{\"buckets\":1}}}",
        "{\"identities\":[1]}",
    };
    struct fixture *f = arm_start(NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int status = fixture_call(f, "PUT", "/sim/settings/azure", wrong[i]);
        if (status != 400) {
            fail_msg("%s: %d", wrong[i], status);
        }
    }
    fixture_stop(f);
}

UNIT_MAIN(guards)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests__each_row__refused_or_not),
        cmocka_unit_test(policy__of_a_refusal__is_named),
        cmocka_unit_test(settings__of_another_form__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
