/* SPDX-License-Identifier: Apache-2.0 */
/* test_bs_diff.c: is a resource of a balancer with a backend service as it should be?  Rows
 * V87–V114, V125–V144, V151–V177 of gce-l4.md §11; F7–F9, H1–H3, H5, W11, W12 of
 * gce-cloud-provider.md §9 for internal balancers on groups. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/backend/gce_bs.h"
#include "tests/support/gce_decode.h"
#include "tests/support/unit.h"

/* ---- forwarding rules ------------------------------------------------------------------------ */

#define BS "https://www.googleapis.com/compute/v1/projects/p/regions/r/backendServices/b"

/* A rule with these members besides its name, id and backend service. */
static struct gce_rule rule(struct arena *a, const char *members)
{
    const char *comma = *members == '\0' ? "" : ",";
    const char *backend =
        strstr(members, "backendService") != NULL ? "" : ",\"backendService\":\"" BS "\"";
    struct gce_rule r;
    assert_int_equal(gce_rule_decode(a,
                                     pure_json(a, arena_printf(a,
                                                               "{\"name\":\"fr\",\"id\":\"123\"%s%s"
                                                               "%s}",
                                                               backend, comma, members)),
                                     &r, NULL),
                     ERR_OK);
    return r;
}

#define BASE                                                                                       \
    "\"IPProtocol\":\"TCP\",\"loadBalancingScheme\":\"INTERNAL\",\"networkTier\":\"PREMIUM\","
#define NET(x) "\"network\":\"" x "\""
#define SUB(x) "\"subnetwork\":\"" x "\""

static void rule_compare__V87_to_V101(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *is, *want;
        bool discrete, equal;
    } rows[] = {
        {"V87", "", "\"IPAddress\":\"10.0.0.0\"", false, false},
        {"V88", "\"allowGlobalAccess\":true", "", false, false},
        {"V89", "\"IPProtocol\":\"TCP\"", "\"IPProtocol\":\"UDP\"", false, false},
        {"V89, case", "\"IPProtocol\":\"TCP\"", "\"IPProtocol\":\"tcp\"", false, true},
        {"V90", BASE "\"IPAddress\":\"10.0.0.0\",\"ports\":[\"80\"]",
         BASE "\"IPAddress\":\"10.0.0.0\",\"ports\":[\"80\"]", false, true},
        {"V90, scheme", "\"loadBalancingScheme\":\"INTERNAL\"",
         "\"loadBalancingScheme\":\"EXTERNAL\"", false, false},
        {"V91", "",
         "\"backendService\":\"https://compute.googleapis.com/compute/beta/projects/p/regions/r/"
         "backendServices/b\"",
         false, true},
        {"V91, another one", "",
         "\"backendService\":\"https://www.googleapis.com/compute/v1/projects/p/regions/r/"
         "backendServices/c\"",
         false, false},
        {"V92", "\"allPorts\":true,\"networkTier\":\"PREMIUM\"", "", false, false},
        {"V92, only that", "\"allPorts\":true", "", false, false},
        {"V93", "\"networkTier\":\"Standard\"", "\"networkTier\":\"PREMIUM\"", false, false},
        {"V94", "\"portRange\":\"1-2\"", "\"portRange\":\"2-3\"", false, false},
        {"V95", "\"ports\":[\"1\",\"2\"]", "\"ports\":[\"2\",\"3\"]", false, false},
        {"V95, order", "\"ports\":[\"1\",\"2\"]", "\"ports\":[\"2\",\"1\"]", false, true},
        {"V96", "\"portRange\":\"1-3\"", "\"ports\":[\"1\",\"3\"]", false, false},
        {"V97", "\"portRange\":\"1-3\"", "\"ports\":[\"1\",\"2\",\"3\"]", true, true},
        {"V97, beside ports", "\"portRange\":\"1-3\",\"ports\":[\"7\"]",
         "\"ports\":[\"1\",\"2\",\"3\"]", true, false},
        {"V98", "\"portRange\":\"1-3\"", "\"ports\":[\"1\",\"3\",\"5\"]", true, false},
        {"V99", "\"ports\":[\"1\",\"2\",\"3\"]", "\"portRange\":\"1-3\"", true, false},
        {"V100", NET("projects/p/global/networks/m"), NET("projects/p/global/networks/n"), false,
         false},
        {"V100", SUB("projects/p/regions/r/subnetworks/s"),
         SUB("projects/p/regions/r/subnetworks/t"), false, false},
        {"V100, one side only", SUB("projects/p/regions/r/subnetworks/s"), "", false, false},
        {"V101",
         NET("https://www.googleapis.com/compute/v1/projects/p/global/networks/n") "," SUB(
             "https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/s"),
         NET("projects/p/global/networks/n") "," SUB("projects/p/regions/r/subnetworks/s"), false,
         true},
        {"4.7: name and description do not count", "\"description\":\"x\"", "", false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_rule is = rule(a, rows[i].is);
        struct gce_rule want = rule(a, rows[i].want);
        struct gce_rule_change c;
        assert_int_equal(gce_l4_rule_compare(a, &is, &want, rows[i].discrete, &c, NULL), ERR_OK);
        same_text(rows[i].row, c.equal ? "equal" : "differs", rows[i].equal ? "equal" : "differs");
        assert_int_equal(c.because == NULL, rows[i].equal);
    }
}

static void rule_compare__C6__a_link_that_is_none__is_an_error(void **state)
{
    struct arena *a = *state;
    struct gce_rule good = rule(a, "");
    struct gce_rule bad = rule(a, "\"backendService\":\"garbage\"");
    struct gce_rule_change c;
    bool same;
    struct err err = ERR_INIT;
    assert_int_equal(gce_l4_rule_compare(a, &bad, &good, false, &c, &err), ERR_INVALID);
    assert_int_equal(gce_l4_rule_compare(a, &good, &bad, false, &c, NULL), ERR_INVALID);
    assert_int_equal(gce_l4_rule_equal_v6(a, &good, &bad, false, &same, NULL), ERR_INVALID);
    assert_true(*err.message != '\0');
}

static void rule_equal_v6__V102_to_V109(void **state)
{
    struct arena *a = *state;
#define COLLECTION(x) "\"ipCollection\":\"projects/p/regions/r/publicDelegatedPrefixes/" x "\""
    static const struct {
        const char *row, *is, *want;
        bool equal;
    } rows[] = {
        {"V102", "", "\"IPAddress\":\"2600::/96\"", true},
        {"V103", "\"IPAddress\":\"2601::/96\"", "\"IPAddress\":\"2600::/96\"", true},
        {"V104", "\"allowGlobalAccess\":true", "", false},
        {"V105", "\"IPProtocol\":\"TCP\"", "\"IPProtocol\":\"UDP\"", false},
        {"V106", "\"allPorts\":true", "", false},
        {"V107", "\"networkTier\":\"STANDARD\"", "\"networkTier\":\"PREMIUM\"", false},
        {"V108", COLLECTION("x"), COLLECTION("y"), false},
        {"V108", COLLECTION("x"), "", false},
        {"V108", "", COLLECTION("x"), false},
        {"V108, same", COLLECTION("x"), COLLECTION("x"), true},
        {"V109", "",
         "\"backendService\":\"https://compute.googleapis.com/compute/v1/projects/p/regions/r/"
         "backendServices/b\"",
         true},
        {"4.7", SUB("projects/p/regions/r/subnetworks/s"),
         SUB("projects/p/regions/r/subnetworks/t"), false},
        {"4.7, network does not count", NET("m"), NET("n"), true},
    };
#undef COLLECTION
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_rule is = rule(a, rows[i].is);
        struct gce_rule want = rule(a, rows[i].want);
        bool equal = !rows[i].equal;
        assert_int_equal(gce_l4_rule_equal_v6(a, &is, &want, false, &equal, NULL), ERR_OK);
        same_text(rows[i].row, equal ? "equal" : "differs", rows[i].equal ? "equal" : "differs");
    }
}

static void rule_patch__V110_to_V114(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *is, *want, *patch; /* NULL: none will do */
    } rows[] = {
        {"V110", "\"allowGlobalAccess\":true", "",
         "{\"id\":\"123\",\"name\":\"fr\",\"allowGlobalAccess\":false}"},
        {"V111", "", "\"allowGlobalAccess\":true",
         "{\"id\":\"123\",\"name\":\"fr\",\"allowGlobalAccess\":true}"},
        {"V112", "\"allowGlobalAccess\":true,\"networkTier\":\"STANDARD\"",
         "\"allowGlobalAccess\":true,\"networkTier\":\"PREMIUM\"",
         "{\"id\":\"123\",\"name\":\"fr\",\"allowGlobalAccess\":true,\"networkTier\":\"PREMIUM\"}"},
        {"V113", "\"networkTier\":\"PREMIUM\"", "\"networkTier\":\"STANDARD\"",
         "{\"id\":\"123\",\"name\":\"fr\",\"allowGlobalAccess\":false,\"networkTier\":"
         "\"STANDARD\"}"},
        {"V114", "\"IPAddress\":\"10.0.0.1\"", "\"IPAddress\":\"10.0.0.2\"", NULL},
        {"V114, access too", "\"IPAddress\":\"10.0.0.1\"",
         "\"IPAddress\":\"10.0.0.2\",\"allowGlobalAccess\":true", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_rule is = rule(a, rows[i].is);
        struct gce_rule want = rule(a, rows[i].want);
        struct gce_rule_change c;
        assert_int_equal(gce_l4_rule_compare(a, &is, &want, false, &c, NULL), ERR_OK);
        assert_false(c.equal);
        assert_int_equal(c.patch, rows[i].patch != NULL);
        if (c.patch) {
            _cleanup_(json_putp) struct json_object *body = gce_rule_patch_body(&c.wanted);
            same_text(rows[i].row, json_text(a, body, JSON_COMPACT), rows[i].patch);
        }
    }
}

static void ilb_rule_equal__F7_to_F9_and_5_6(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *is, *want;
        bool equal;
    } rows[] = {
        {"F7", "", "\"IPAddress\":\"10.0.0.0\"", true},
        {"F7, both", "\"IPAddress\":\"10.0.0.1\"", "\"IPAddress\":\"10.0.0.0\"", false},
        {"F8", "\"allowGlobalAccess\":true", "", false},
        {"F8", "\"IPProtocol\":\"TCP\"", "\"IPProtocol\":\"UDP\"", false},
        {"F8", "\"allPorts\":true", "", false},
        {"F9", "",
         "\"backendService\":\"https://compute.googleapis.com/compute/v1/projects/p/regions/r/"
         "backendServices/b\"",
         true},
        {"5.6, both none", "\"backendService\":\"\"", "\"backendService\":\"garbage\"", true},
        {"5.6, one none", "", "\"backendService\":\"garbage\"", false},
        {"5.6, ports", "\"ports\":[\"80\",\"81\"]", "\"ports\":[\"81\",\"80\"]", true},
        {"5.6, ports", "\"ports\":[\"80\"]", "\"ports\":[\"81\"]", false},
        {"15 row 10",
         SUB("https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/s"),
         SUB("projects/p/regions/r/subnetworks/s"), true},
        {"15 row 10: none wanted", SUB("projects/p/regions/r/subnetworks/s"), "", true},
        {"5.6", SUB("projects/p/regions/r/subnetworks/s"),
         SUB("projects/p/regions/r/subnetworks/t"), false},
        {"5.6: not compared", "\"description\":\"x\"," NET("m"), NET("n"), true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_rule is = rule(a, rows[i].is);
        struct gce_rule want = rule(a, rows[i].want);
        same_text(rows[i].row, gce_ilb_rule_equal(a, &is, &want) ? "equal" : "differs",
                  rows[i].equal ? "equal" : "differs");
    }
}

/* ---- backend services ------------------------------------------------------------------------ */

static struct gce_bservice bservice(struct arena *a, const char *members)
{
    struct gce_bservice b;
    assert_int_equal(
        gce_bservice_decode(a, pure_json(a, arena_printf(a, "{%s}", members)), &b, NULL), ERR_OK);
    return b;
}

#define STRONG 0x1u
#define LOG    0x2u
#define HC(host, version)                                                                          \
    "\"healthChecks\":[\"https://" host "/compute/" version "/projects/p/global/healthChecks/h\"]"
#define TRACK(x)    "\"connectionTrackingPolicy\":{" x "}"
#define LOGGED(x)   "\"logConfig\":{" x "}"
#define LOCALITY(x) "\"localityLbPolicy\":\"" x "\""
#define SPILL(x)    "\"networkPassThroughLbTrafficPolicy\":{\"zonalAffinity\":{" x "}}"

static void bservice_equal__V151_to_V169(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *is, *want;
        unsigned how;
        bool equal;
    } rows[] = {
        {"V151", "", "", STRONG | LOG, true},
        {"V152", TRACK("\"idleTimeoutSec\":60"), TRACK("\"idleTimeoutSec\":61"), STRONG, false},
        {"V153", TRACK("\"enableStrongAffinity\":true"), "", STRONG, false},
        {"V154", TRACK(""), "", STRONG, false},
        {"V155", TRACK("\"idleTimeoutSec\":60"), "", 0, true},
        {"V156", "\"description\":\"a\"", "\"description\":\"b\"", 0, false},
        {"V156", "\"protocol\":\"TCP\"", "\"protocol\":\"UDP\"", 0, false},
        {"V156", HC("www.googleapis.com", "v1"), "", 0, false},
        {"V156", NET("projects/p/global/networks/n"), "", 0, false},
        {"V156", "\"sessionAffinity\":\"NONE\"", "\"sessionAffinity\":\"CLIENT_IP\"", 0, false},
        {"V156", "\"loadBalancingScheme\":\"INTERNAL\"", "\"loadBalancingScheme\":\"EXTERNAL\"", 0,
         false},
        {"V157, V158, ours: the same check", HC("www.googleapis.com", "v1"),
         HC("compute.googleapis.com", "beta"), 0, true},
        {"V159", LOGGED("\"enable\":true"), LOGGED("\"enable\":false"), 0, true},
        {"absent is off", "", LOGGED(""), LOG, true},
        {"absent is not on", "", LOGGED("\"enable\":true"), LOG, false},
        {"V160", LOGGED("\"enable\":true"), LOGGED("\"enable\":false"), LOG, false},
        {"V160", LOGGED("\"enable\":true,\"sampleRate\":0.2"),
         LOGGED("\"enable\":true,\"sampleRate\":0.3"), LOG, false},
        {"V160, the same rate", LOGGED("\"enable\":true,\"sampleRate\":0.2"),
         LOGGED("\"enable\":true,\"sampleRate\":0.20000001"), LOG, true},
        {"V160", LOGGED("\"enable\":true,\"optionalMode\":\"CUSTOM\""), LOGGED("\"enable\":true"),
         LOG, false},
        {"V160, no mode", LOGGED("\"enable\":true,\"optionalMode\":\"EXCLUDE_ALL_OPTIONAL\""),
         LOGGED("\"enable\":true"), LOG, true},
        {"V160", LOGGED("\"enable\":true,\"optionalFields\":[\"a\"]"), LOGGED("\"enable\":true"),
         LOG, false},
        {"V160, order", LOGGED("\"enable\":true,\"optionalFields\":[\"a\",\"b\"]"),
         LOGGED("\"enable\":true,\"optionalFields\":[\"b\",\"a\"]"), LOG, true},
        {"V161", "", LOGGED("\"enable\":true"), LOG, false},
        {"V162", "", "", LOG, true},
        {"V163", TRACK("\"connectionPersistenceOnUnhealthyBackends\":\"NEVER_PERSIST\""), "", 0,
         true},
        {"V164", "", LOCALITY("MAGLEV"), 0, true},
        {"V164", LOCALITY("MAGLEV"), "", 0, true},
        {"V165", "", LOCALITY("WEIGHTED_MAGLEV"), 0, false},
        {"V165", "", LOCALITY("WEIGHTED_GCP_RENDEZVOUS"), 0, false},
        {"V165", LOCALITY("WEIGHTED_MAGLEV"), LOCALITY("MAGLEV"), 0, false},
        {"V165", LOCALITY("WEIGHTED_GCP_RENDEZVOUS"), "", 0, false},
        {"V165", LOCALITY("WEIGHTED_GCP_RENDEZVOUS"), LOCALITY("GCP_RENDEZVOUS"), 0, false},
        {"V166", LOCALITY("GCP_RENDEZVOUS"), "", 0, true},
        {"V167", "", LOCALITY("GCP_RENDEZVOUS"), 0, false},
        {"V168", SPILL("\"spillover\":\"ZONAL_AFFINITY_DISABLED\""), "", 0, true},
        {"V169", SPILL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\",\"spilloverRatio\":0.1"),
         SPILL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\""), 0, false},
        {"V169", SPILL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\""),
         SPILL("\"spillover\":\"ZONAL_AFFINITY_DISABLED\""), 0, false},
        {"V169", SPILL("\"spillover\":\"ZONAL_AFFINITY_SPILL_CROSS_ZONE\""), "", 0, false},
        {"4.6: not compared", "\"connectionDraining\":{\"drainingTimeoutSec\":60}", "", 0, true},
        {"4.6: not compared", "\"backends\":[{\"group\":\"g\"}]", "", 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bservice is = bservice(a, rows[i].is);
        struct gce_bservice want = bservice(a, rows[i].want);
        struct gce_bservice_compare how = {
            .strong = (rows[i].how & STRONG) != 0,
            .log_managed = (rows[i].how & LOG) != 0,
        };
        bool equal = gce_l4_bservice_equal(a, &is, &want, &how);
        same_text(rows[i].row, equal ? "equal" : "differs", rows[i].equal ? "equal" : "differs");
        assert_int_equal(how.because == NULL, rows[i].equal);
    }
}

/* The backend service after an ensure: equal values are not written, nor changed with others. */
static void bservice_locality__V170_to_V177(void **state)
{
    struct arena *a = *state;
    static const char *const rows[][4] = {
        {"V170", "", "MAGLEV", ""},
        {"V171", "MAGLEV", "", "MAGLEV"},
        {"V172", "MAGLEV", "WEIGHTED_MAGLEV", "WEIGHTED_MAGLEV"},
        {"V173", "WEIGHTED_MAGLEV", "MAGLEV", "MAGLEV"},
        {"V174", "WEIGHTED_MAGLEV", "", ""},
        {"V175", "GCP_RENDEZVOUS", "", "GCP_RENDEZVOUS"},
        {"V176", "GCP_RENDEZVOUS", "WEIGHTED_GCP_RENDEZVOUS", "WEIGHTED_GCP_RENDEZVOUS"},
        {"V177", "WEIGHTED_GCP_RENDEZVOUS", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *has =
            *rows[i][1] == '\0' ? "" : arena_printf(a, "\"localityLbPolicy\":\"%s\"", rows[i][1]);
        struct gce_bservice is = bservice(a, has);
        struct gce_bservice want = bservice(a, "");
        want.locality = rows[i][2];
        want.owns = GCE_BS_OWNS_LOCALITY;
        _cleanup_(json_putp) struct json_object *body = gce_bservice_body(&want, &is);
        same_text(rows[i][0], str_nonnull(json_str(body, "localityLbPolicy")), rows[i][3]);
    }
}

static void ilb_bservice_members_equal__5_5(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *is, *want;
        bool equal;
    } rows[] = {
        {"", "", true},
        {"\"protocol\":\"TCP\"", "\"protocol\":\"UDP\"", false},
        {"\"description\":\"a\"", "", false},
        {"\"sessionAffinity\":\"NONE\"", "\"sessionAffinity\":\"CLIENT_IP\"", false},
        {"\"loadBalancingScheme\":\"EXTERNAL\"", "\"loadBalancingScheme\":\"INTERNAL\"", false},
        {HC("www.googleapis.com", "v1"), HC("compute.googleapis.com", "v1"), true},
        {HC("www.googleapis.com", "v1"), "", false},
        {"\"connectionDraining\":{\"drainingTimeoutSec\":60}", "", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_bservice is = bservice(a, rows[i].is);
        struct gce_bservice want = bservice(a, rows[i].want);
        same_text(rows[i].is,
                  gce_ilb_bservice_members_equal(a, &is, &want, NULL) ? "equal" : "differs",
                  rows[i].equal ? "equal" : "differs");
    }
}

/* ---- health checks --------------------------------------------------------------------------- */

static struct gce_hc hc_like(struct arena *a, bool shared)
{
    return gce_l4_hc_make(a, &(struct gce_bs_check_wish){.name = "hc",
                                                         .key = "ns/name",
                                                         .path = "/healthz",
                                                         .port = 30000,
                                                         .shared = shared,
                                                         .internal = true});
}

static void hc_make__V123_V124(void **state)
{
    struct arena *a = *state;
    struct gce_hc shared = hc_like(a, true);
    struct gce_hc local = hc_like(a, false);
    assert_int_equal(shared.interval_s, 8);
    assert_int_equal(shared.unhealthy, 3);
    assert_int_equal(local.interval_s, 3);
    assert_int_equal(local.unhealthy, 2);
    for (int i = 0; i < 2; i++) {
        const struct gce_hc *c = i == 0 ? &shared : &local;
        assert_int_equal(c->timeout_s, 1);
        assert_int_equal(c->healthy, 1);
        assert_string_equal(c->type, "HTTP");
    }
}

static void hc_merge__V125_to_V137(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        bool shared;
        int32_t is[4]; /* interval, timeout, healthy, unhealthy */
        int32_t merged[4];
    } rows[] = {
        {"V125", false, {3, 1, 1, 2}, {3, 1, 1, 2}}, {"V126", false, {2, 1, 1, 2}, {3, 1, 1, 2}},
        {"V127", false, {3, 0, 1, 2}, {3, 1, 1, 2}}, {"V128", false, {3, 1, 0, 2}, {3, 1, 1, 2}},
        {"V129", false, {3, 1, 1, 1}, {3, 1, 1, 2}}, {"V130", false, {4, 1, 1, 2}, {4, 1, 1, 2}},
        {"V131", false, {3, 2, 1, 2}, {3, 2, 1, 2}}, {"V132", false, {3, 1, 2, 2}, {3, 1, 2, 2}},
        {"V133", false, {3, 1, 1, 3}, {3, 1, 1, 3}}, {"V134", true, {3, 1, 1, 2}, {8, 1, 1, 3}},
        {"V135", true, {7, 1, 1, 3}, {8, 1, 1, 3}},  {"V136", true, {9, 1, 1, 3}, {9, 1, 1, 3}},
        {"V137", true, {8, 1, 1, 4}, {8, 1, 1, 4}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const int32_t *w = rows[i].merged;
        struct gce_hc want = hc_like(a, rows[i].shared);
        struct gce_hc is = want;
        is.interval_s = rows[i].is[0];
        is.timeout_s = rows[i].is[1];
        is.healthy = rows[i].is[2];
        is.unhealthy = rows[i].is[3];
        struct gce_hc c = gce_hc_merge(&is, &want);
        same_text(rows[i].row,
                  arena_printf(a, "%d %d %d %d", c.interval_s, c.timeout_s, c.healthy, c.unhealthy),
                  arena_printf(a, "%d %d %d %d", w[0], w[1], w[2], w[3]));
    }
}

static void hc_needs_update__V138_to_V144_and_H1_to_H5(void **state)
{
    struct arena *a = *state;
    struct gce_hc want = hc_like(a, false);
    struct gce_hc is[6];
    const char *because = NULL;
    for (size_t i = 0; i < ARRAY_LEN(is); i++) {
        is[i] = want;
    }
    assert_false(gce_hc_needs_update(&is[0], &want, &because)); /* V138, H1 */
    is[1].has_http = false;                                     /* V139, H5 */
    is[2].description = "by hand";                              /* V140, H4 */
    is[3].port = 1;                                             /* V141, H4 */
    is[4].path = "/";                                           /* V142, H4 */
    is[5].type = "TCP";                                         /* never looked at */
    static const char *const whys[] = {"httpHealthCheck", "description", "port", "requestPath"};
    for (size_t i = 0; i < ARRAY_LEN(whys); i++) {
        assert_true(gce_hc_needs_update(&is[i + 1], &want, &because));
        assert_string_equal(because, whys[i]);
    }
    assert_false(gce_hc_needs_update(&is[5], &want, NULL));
    for (int member = 0; member < 4; member++) {
        struct gce_hc lower = want;
        struct gce_hc higher = want;
        int32_t *const low[] = {&lower.interval_s, &lower.timeout_s, &lower.healthy,
                                &lower.unhealthy};
        int32_t *const high[] = {&higher.interval_s, &higher.timeout_s, &higher.healthy,
                                 &higher.unhealthy};
        *low[member] -= 1;
        *high[member] += 1;
        assert_true(gce_hc_needs_update(&lower, &want, NULL));   /* V143, H2 */
        assert_false(gce_hc_needs_update(&higher, &want, NULL)); /* V144, H3 */
    }
}

/* ---- firewalls ------------------------------------------------------------------------------- */

static struct gce_firewall firewall(struct arena *a, const char *members)
{
    struct gce_firewall f;
    assert_int_equal(
        gce_firewall_decode(a, pure_json(a, arena_printf(a, "{%s}", members)), &f, NULL), ERR_OK);
    return f;
}

#define ALLOW(protocol, ports)                                                                     \
    "\"allowed\":[{\"IPProtocol\":\"" protocol "\",\"ports\":[" ports "]}]"
#define SOURCES(x) "\"sourceRanges\":[" x "]"

static void firewall_equal__4_8(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *x, *y;
        bool shared, equal;
    } rows[] = {
        {"same", ALLOW("tcp", "\"80\""), ALLOW("tcp", "\"80\""), false, true},
        {"ranges", ALLOW("tcp", "\"80\",\"81\",\"82\""), ALLOW("TCP", "\"80-82\""), false, true},
        {"ports", ALLOW("tcp", "\"80\""), ALLOW("tcp", "\"81\""), false, false},
        {"protocol", ALLOW("tcp", "\"80\""), ALLOW("udp", "\"80\""), false, false},
        {"IPv6 spelling", SOURCES("\"0::0/0\""), SOURCES("\"::/0\""), false, true},
        {"IPv6 destination", "\"destinationRanges\":[\"2600:0:0::1\"]",
         "\"destinationRanges\":[\"2600::1\"]", false, true},
        {"sources", SOURCES("\"10.0.0.0/8\""), SOURCES("\"11.0.0.0/8\""), false, false},
        {"order", SOURCES("\"10.0.0.0/8\",\"11.0.0.0/8\""),
         SOURCES("\"11.0.0.0/8\",\"10.0.0.0/8\""), false, true},
        {"destination", "\"destinationRanges\":[\"10.0.0.9\"]", "", false, false},
        {"tags", "\"targetTags\":[\"a\"]", "\"targetTags\":[\"a\",\"b\"]", false, false},
        {"V149", "\"priority\":1000", "\"priority\":999", false, false},
        {"description", "\"description\":\"a\"", "\"description\":\"b\"", false, false},
        {"description, shared", "\"description\":\"a\"", "\"description\":\"b\"", true, true},
        {"V148", SOURCES("\"2600:2d00:1:b029::/64\""),
         SOURCES("\"2600:2d00:1:b029::/64\",\"2600:1901:8001::/48\""), true, false},
        {"denied", "\"denied\":[{\"IPProtocol\":\"all\"}]", "", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_firewall x = firewall(a, rows[i].x);
        struct gce_firewall y = firewall(a, rows[i].y);
        bool equal = !rows[i].equal;
        assert_int_equal(gce_l4_firewall_equal(a, &x, &y, rows[i].shared, &equal, NULL), ERR_OK);
        same_text(rows[i].row, equal ? "equal" : "differs", rows[i].equal ? "equal" : "differs");
    }
    struct gce_firewall good = firewall(a, ALLOW("tcp", "\"80\""));
    struct gce_firewall bad = firewall(a, ALLOW("tcp", "\"a\""));
    bool equal = true;
    assert_int_equal(gce_l4_firewall_equal(a, &good, &bad, false, &equal, NULL), ERR_INVALID);
    bad.priority = 1; /* found before the port is reached */
    assert_int_equal(gce_l4_firewall_equal(a, &good, &bad, false, &equal, NULL), ERR_OK);
    assert_false(equal);
}

static void firewall_network__A7(void **state)
{
    struct arena *a = *state;
    struct gce_firewall is =
        firewall(a, NET("https://www.googleapis.com/compute/v1/projects/p/global/networks/n"));
    struct gce_firewall same = firewall(a, NET("projects/p/global/networks/n"));
    struct gce_firewall other = firewall(a, NET("projects/p/global/networks/m"));
    struct gce_firewall none = firewall(a, "");
    assert_false(gce_firewall_network_differs(&is, &same));
    assert_true(gce_firewall_network_differs(&is, &other));
    assert_false(gce_firewall_network_differs(&is, &none));
}

static void ilb_firewall_equal__W11_W12(void **state)
{
    struct arena *a = *state;
#define ONE ALLOW("tcp", "\"80\"") "," SOURCES("\"10.0.0.0/8\",\"11.0.0.0/8\"")
    static const struct {
        const char *row, *is;
        bool equal;
    } rows[] = {
        {"same", ONE, true},
        {"W11", ALLOW("tcp", "\"80\"") "," SOURCES("\"11.0.0.0/8\",\"10.0.0.0/8\""), true},
        {"5.8, priority", ONE ",\"priority\":7", true},
        {"W12", ALLOW("tcp", "\"80\"") "," SOURCES("\"10.0.0.0/9\",\"11.0.0.0/8\""), false},
        {"W12", ALLOW("udp", "\"80\"") "," SOURCES("\"10.0.0.0/8\",\"11.0.0.0/8\""), false},
        {"W12", ALLOW("tcp", "\"81\"") "," SOURCES("\"10.0.0.0/8\",\"11.0.0.0/8\""), false},
        {"W12", ALLOW("tcp", "\"80\",\"81\"") "," SOURCES("\"10.0.0.0/8\",\"11.0.0.0/8\""), false},
        {"W12", ONE ",\"description\":\"x\"", false},
        {"W12, W14", ONE ",\"destinationRanges\":[\"10.1.2.3\"]", false},
        {"15 row 7", ONE ",\"targetTags\":[\"a\"]", false},
        {"no entry", SOURCES("\"10.0.0.0/8\",\"11.0.0.0/8\""), false},
    };
    struct gce_firewall want = firewall(a, ONE);
#undef ONE
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_firewall is = firewall(a, rows[i].is);
        same_text(rows[i].row, gce_ilb_firewall_equal(a, &want, &is) ? "equal" : "differs",
                  rows[i].equal ? "equal" : "differs");
    }
}

UNIT_MAIN(bs_diff)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(rule_compare__V87_to_V101),
        PURE_TEST(rule_compare__C6__a_link_that_is_none__is_an_error),
        PURE_TEST(rule_equal_v6__V102_to_V109),
        PURE_TEST(rule_patch__V110_to_V114),
        PURE_TEST(ilb_rule_equal__F7_to_F9_and_5_6),
        PURE_TEST(bservice_equal__V151_to_V169),
        PURE_TEST(bservice_locality__V170_to_V177),
        PURE_TEST(ilb_bservice_members_equal__5_5),
        PURE_TEST(hc_make__V123_V124),
        PURE_TEST(hc_merge__V125_to_V137),
        PURE_TEST(hc_needs_update__V138_to_V144_and_H1_to_H5),
        PURE_TEST(firewall_equal__4_8),
        PURE_TEST(firewall_network__A7),
        PURE_TEST(ilb_firewall_equal__W11_W12),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
