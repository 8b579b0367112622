/* SPDX-License-Identifier: Apache-2.0 */
/* compute_texts.c: refusals whose words clients look for, word for word as Google's.
 *
 * Each row names the public report that quotes the text.  Names and numbers in them are ours. */
#include "tests/support/unit.h"
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define FR    R "/forwardingRules"
#define NAMED "{\"name\":\"x\","
#define POOL  "\"target\":\"regions/us-central1/targetPools/tp\""

static const struct row {
    const char *report;
    const char *method, *path, *body;
    int status;
    const char *reason; /* of the answer, or the code of a failed operation */
    const char *text;   /* all of it */
} rows[] = {
    {"k8s-multicluster-ingress pull 132, voyager issue 679", "POST", FR,
     NAMED POOL ",\"IPAddress\":\"203.0.113.77\",\"portRange\":\"85\"}", 400, "invalid",
     "Invalid value for field 'resource.IPAddress': '203.0.113.77'. Specified IP address is in-use "
     "and would result in a conflict."},
    {"ingress-gce pull 2735", "POST", FR,
     NAMED SERVICE("int") ",\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"81\"],"
                          "\"IPAddress\":\"10.128.9.1\"}",
     409, "IP_IN_USE_BY_ANOTHER_RESOURCE",
     "IP '10.128.9.1' is already being used by another resource."},
    {"ingress-gce pull 2735", "POST", R "/addresses",
     NAMED "\"addressType\":\"INTERNAL\",\"address\":\"10.128.9.7\"}", 409,
     "IP_IN_USE_BY_ANOTHER_RESOURCE", "IP '10.128.9.7' is already being used by another resource."},
    {"ingress-gce issue 1057, terraform issue 19231", "POST", FR,
     NAMED POOL ",\"IPAddress\":\"203.0.113.5\"}", 400, "invalid",
     "Invalid value for field 'resource.IPAddress': '203.0.113.5'. Invalid IP address specified."},
    {"cloud-provider-gcp issue 612", "POST", FR,
     NAMED SERVICE("int") ",\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"81\"],"
                          "\"network\":\"global/networks/custom\"}",
     400, "invalid",
     "Invalid value for field 'resource.subnetwork': ''. Network interface must specify a subnet "
     "if the network resource is in custom subnet mode."},
    {"terraform-provider-google issue 2140", "POST", R "/addresses",
     NAMED "\"addressType\":\"INTERNAL\",\"subnetwork\":\"regions/us-central1/subnetworks/no\"}",
     400, "invalid",
     "Invalid value for field 'resource.subnetwork': 'regions/us-central1/subnetworks/no'. The "
     "referenced subnetwork resource cannot be found."},
    {"openshift/installer issue 4380", "POST", FR,
     NAMED SERVICE("int") ",\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"81\"],"
                          "\"networkTier\":\"STANDARD\"}",
     400, "badRequest",
     "STANDARD network tier is not supported: Network tier other than PREMIUM is not supported for "
     "loadBalancingScheme=INTERNAL."},
    {"pulumi: Invalid fingerprint., conditionNotMet", "PUT", R "/backendServices/ext",
     "{\"name\":\"ext\",\"fingerprint\":\"AAAA\"," OWN_CHECK "}", 412, "conditionNotMet",
     "Invalid fingerprint."},
    {"ansible pull 70230, google.cloud issue 342", "PUT", R "/backendServices/ext",
     "{\"name\":\"ext\"," OWN_CHECK "}", 400, "required",
     "Required field 'resource.fingerprint' not specified"},
    {"cheap-gke-cluster issue 8 (of a network)", "DELETE", R "/backendServices/ext", NULL, 400,
     "resourceInUseByAnotherResource",
     "The backend_service resource 'projects/trimtab-sim/regions/us-central1/backendServices/ext' "
     "is already being used by 'projects/trimtab-sim/regions/us-central1/forwardingRules/fre'"},
    {"kubernetes issue 20646, terraform-dcos issue 61", "POST", R "/addresses", "{\"name\":\"x\"}",
     403, "quotaExceeded", "Quota 'STATIC_ADDRESSES' exceeded.  Limit: 1.0 in region us-central1."},
    {"kubernetes-engine-samples issue 143", "POST", FR, NAMED POOL ",\"portRange\":\"99\"}", 412,
     "conditionNotMet",
     "Constraint constraints/compute.restrictLoadBalancerCreationForTypes violated for "
     "projects/trimtab-sim. Forwarding Rule "
     "projects/trimtab-sim/regions/us-central1/forwardingRules/x of type EXTERNAL_NETWORK_TCP_UDP "
     "is not allowed."},
};

static const char *member_of_first(struct fixture *f, const char *list, const char *member)
{
    struct json_object *errors = json_path(f->answer, list);
    return json_len(errors) > 0 ? json_str(json_object_array_get_idx(errors, 0), member) : NULL;
}

static void check(struct fixture *f, const struct row *row)
{
    int status = fixture_call(f, row->method, row->path, row->body);
    bool failed = status == 200; /* the operation did */
    const char *reason = member_of_first(f, "error.errors", failed ? "code" : "reason");
    const char *text = member_of_first(f, "error.errors", "message");
    status = failed ? (int)json_int(f->answer, "httpErrorStatusCode", 0) : status;
    if (status != row->status || !str_eq(reason, row->reason) || !str_eq(text, row->text)) {
        fail_msg("%s: %d %s %s", row->report, status, str_nonnull(reason), str_nonnull(text));
    }
}

static void refusals__that_clients_read__have_googles_words(void **state)
{
    (void)state;
    struct fixture *f = balancer_cloud_start();
    balancer_cloud_fill(f);
    fixture_must(f, "POST", R "/targetPools", "{\"name\":\"tp\"}");
    fixture_must(f, "POST", R "/addresses",
                 "{\"name\":\"in\",\"addressType\":\"INTERNAL\",\"address\":\"10.128.9.7\"}");
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"pool\",\"address\":\"203.0.113.77\"}");
    fixture_must(f, "POST", FR,
                 "{\"name\":\"pool\"," POOL
                 ",\"IPAddress\":\"203.0.113.77\",\"portRange\":\"80-90\"}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].status == 403 || strstr(rows[i].text, "Constraint") != NULL) {
            fixture_must(f, "PUT", "/sim/settings/gce",
                         "{\"quotas\":{\"STATIC_ADDRESSES\":1},"
                         "\"denied_load_balancers\":[\"EXTERNAL_NETWORK_TCP_UDP\"]}");
        }
        check(f, &rows[i]);
    }
    fixture_stop(f);
}

UNIT_MAIN(compute_texts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals__that_clients_read__have_googles_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
