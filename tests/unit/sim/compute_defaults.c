/* SPDX-License-Identifier: Apache-2.0 */
/* compute_defaults.c: what the cloud makes of members that a request leaves out, or sends as zero
 * or null.
 *
 * Each row makes one resource and looks at one member of what is stored then.  Source:
 * gce-cloud-provider.md §16. */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

struct row {
    const char *what;
    const char *folder, *body; /* of the insert; its name is "x" */
    const char *member, *want; /* as text; want "": absent */
};

#define CHECK(type, more) "{\"name\":\"x\",\"type\":\"" type "\"" more "}"
#define ZEROS                                                                                      \
    ",\"checkIntervalSec\":0,\"timeoutSec\":0,\"healthyThreshold\":0,\"unhealthyThreshold\":0"
#define RULE(ports, more)                                                                          \
    "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"" ports "\"]}]" more "}"

#define DUAL "\"subnetwork\":\"regions/us-central1/subnetworks/default\""

static const struct row rows[] = {
    {"address: type", R "/addresses", "{\"name\":\"x\"}", "addressType", "EXTERNAL"},
    {"address: tier", R "/addresses", "{\"name\":\"x\"}", "networkTier", "PREMIUM"},
    {"address: IPv6 prefix", R "/addresses", "{\"name\":\"x\",\"ipVersion\":\"IPV6\"," DUAL "}",
     "prefixLength", "96"},
    {"address: IPv6 of the subnetwork", R "/addresses",
     "{\"name\":\"x\",\"ipVersion\":\"IPV6\"," DUAL "}", "ipVersion", "IPV6"},
    {"legacy check: interval left out", G "/httpHealthChecks", "{\"name\":\"x\"}",
     "checkIntervalSec", "5"},
    {"legacy check: interval 0", G "/httpHealthChecks", "{\"name\":\"x\"" ZEROS "}",
     "checkIntervalSec", "5"},
    {"legacy check: time-out 0", G "/httpHealthChecks", "{\"name\":\"x\"" ZEROS "}", "timeoutSec",
     "5"},
    {"legacy check: thresholds 0", G "/httpHealthChecks", "{\"name\":\"x\"" ZEROS "}",
     "unhealthyThreshold", "2"},
    {"legacy check: port 0", G "/httpHealthChecks", "{\"name\":\"x\",\"port\":0}", "port", "80"},
    {"legacy check: path", G "/httpHealthChecks", "{\"name\":\"x\"}", "requestPath", "/"},
    {"legacy check: what is sent stays", G "/httpHealthChecks",
     "{\"name\":\"x\",\"checkIntervalSec\":8,\"timeoutSec\":1}", "checkIntervalSec", "8"},
    {"check: interval 0", G "/healthChecks", CHECK("HTTP", ZEROS), "checkIntervalSec", "5"},
    {"check: thresholds 0", G "/healthChecks", CHECK("HTTP", ZEROS), "healthyThreshold", "2"},
    {"regional check: time-out 0", R "/healthChecks", CHECK("HTTP", ZEROS), "timeoutSec", "5"},
    {"check: port 0", G "/healthChecks", CHECK("HTTP", ",\"httpHealthCheck\":{\"port\":0}"),
     "httpHealthCheck.port", "80"},
    {"check: port of HTTPS", G "/healthChecks", CHECK("HTTPS", ""), "httpsHealthCheck.port", "443"},
    {"check: empty path", G "/healthChecks",
     CHECK("HTTP", ",\"httpHealthCheck\":{\"requestPath\":\"\"}"), "httpHealthCheck.requestPath",
     "/"},
    {"firewall: priority", G "/firewalls", RULE("80", ""), "priority", "1000"},
    {"firewall: priority 0 is one", G "/firewalls", RULE("80", ",\"priority\":0"), "priority", "0"},
    {"firewall: direction", G "/firewalls", RULE("80", ""), "direction", "INGRESS"},
    {"firewall: sources", G "/firewalls", RULE("80", ""), "sourceRanges", "[ \"0.0.0.0\\/0\" ]"},
    {"firewall: sources are normalised", G "/firewalls",
     RULE("80", ",\"sourceRanges\":[\"10.1.2.3/8\"]"), "sourceRanges", "[ \"10.0.0.0\\/8\" ]"},
    {"firewall: all ports from 0", G "/firewalls", RULE("0-65535", ""), "priority", "1000"},
    {"pool: affinity", R "/targetPools", "{\"name\":\"x\"}", "sessionAffinity", "NONE"},
};

static void compute__members_left_out__are_set(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 1, .ipv6 = true});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const char *path = arena_printf(f->a, "%s/x", r->folder);
        fixture_expect(f, r->what, fixture_call(f, "POST", r->folder, r->body), 200, NULL);
        fixture_must(f, "GET", path, NULL);
        struct json_object *value = json_path(f->answer, r->member);
        const char *got = value ? json_object_get_string(value) : "";
        if (strcmp(got, r->want) != 0) {
            fail_msg("%s: %s is %s, not %s", r->what, r->member, got, r->want);
        }
        fixture_must(f, "DELETE", path, NULL);
    }
    fixture_stop(f);
}

static void compute__patch_with_null__sets_back(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", G "/firewalls", RULE("80", ",\"priority\":5"));
    fixture_must(f, "PATCH", G "/firewalls/x", "{\"name\":\"x\",\"priority\":null}");
    fixture_must(f, "GET", G "/firewalls/x", NULL);
    assert_string_equal(fixture_text(f, "priority"), "1000");
    fixture_must(f, "POST", G "/healthChecks", CHECK("TCP", ",\"checkIntervalSec\":9"));
    fixture_must(f, "PATCH", G "/healthChecks/x", "{\"checkIntervalSec\":null}");
    fixture_must(f, "GET", G "/healthChecks/x", NULL);
    assert_string_equal(fixture_text(f, "checkIntervalSec"), "5");
    fixture_stop(f);
}

static void compute__patch__changes_only_what_it_names(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    fixture_must(f, "POST", G "/firewalls",
                 RULE("80", ",\"priority\":5,\"description\":\"mine\","
                            "\"sourceRanges\":[\"10.0.0.0/8\"]"));
    fixture_must(f, "PATCH", G "/firewalls/x",
                 "{\"name\":\"x\",\"sourceRanges\":[\"10.9.9.9/16\"]}");
    fixture_must(f, "GET", G "/firewalls/x", NULL);
    assert_string_equal(fixture_text(f, "priority"), "5");
    assert_string_equal(fixture_text(f, "description"), "mine");
    struct json_object *ranges = json_member(f->answer, "sourceRanges");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(ranges, 0)),
                        "10.9.0.0/16");
    fixture_stop(f);
}

UNIT_MAIN(compute_defaults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute__members_left_out__are_set),
        cmocka_unit_test(compute__patch_with_null__sets_back),
        cmocka_unit_test(compute__patch__changes_only_what_it_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
