/* SPDX-License-Identifier: Apache-2.0 */
/* compute_refusals.c: what the simulated Compute API refuses, with which status and reason.
 *
 * One table: each row is a request that must change nothing, on a cloud that has six nodes, an
 * external load balancer (fixture_make_external), an internal one and one firewall.  Source:
 * gce-cloud-provider.md §16, gce-l4.md §9. */
#include "tests/support/unit.h"
#include "tests/unit/sim/fixture.h"

#include <string.h>

struct row {
    const char *what;
    const char *method, *path, *body;
    int status;
    const char *reason;
    const char *text; /* must be in the message; NULL: not looked at */
};

static const struct row rows[] = {
    /* absent and present */
    {"get of nothing", "GET", R "/addresses/none", NULL, 404, "notFound", "addresses/none"},
    {"delete of nothing", "DELETE", G "/firewalls/none", NULL, 404, "notFound", "firewalls/none"},
    {"patch of nothing", "PATCH", G "/firewalls/none", "{\"name\":\"none\"}", 404, "notFound",
     NULL},
    {"insert of the same name", "POST", R "/addresses", "{\"name\":\"ip\"}", 409, "alreadyExists",
     NULL},
    {"unknown path", "GET", G "/urlMaps", NULL, 404, "notFound", NULL},
    {"unknown verb", "PUT", R "/addresses/ip", "{}", 404, "notFound", NULL},
    {"unknown project", "GET", "/compute/v1/projects/other/zones", NULL, 404, "notFound", NULL},
    {"unknown region", "GET", P "/regions/mars-north1/addresses", NULL, 400, "invalid",
     "Unknown region"},
    {"unknown zone", "GET", P "/zones/us-central1-z/instances", NULL, 400, "invalid",
     "Unknown zone"},
    {"unknown operation", "GET", G "/operations/operation-1", NULL, 404, "notFound", NULL},
    /* bodies */
    {"unknown member", "POST", R "/addresses", "{\"name\":\"x\",\"size\":1}", 400, "badRequest",
     "Unknown name \"size\""},
    {"unknown inner member", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"protocol\":\"tcp\"}]}", 400, "badRequest",
     "resource.allowed[0]"},
    {"wrong type", "POST", G "/httpHealthChecks", "{\"name\":\"x\",\"port\":\"80\"}", 400,
     "badRequest", "resource.port"},
    {"fraction", "POST", G "/httpHealthChecks", "{\"name\":\"x\",\"port\":80.5}", 400, "badRequest",
     NULL},
    {"wrong enum", "POST", R "/addresses", "{\"name\":\"x\",\"networkTier\":\"GOLD\"}", 400,
     "invalid", "GOLD"},
    {"no JSON", "POST", R "/addresses", "{\"name\":", 400, "parseError", NULL},
    {"no object", "POST", R "/addresses", "[]", 400, "parseError", NULL},
    {"twice the same member", "POST", R "/addresses", "{\"name\":\"x\",\"name\":\"y\"}", 400,
     "parseError", NULL},
    {"no body", "PUT", G "/httpHealthChecks/hc", NULL, 400, "required", "'resource'"},
    {"no name", "POST", R "/addresses", "{}", 400, "required", "resource.name"},
    {"no name for a pool", "POST", R "/targetPools", "{}", 400, "required", "resource.name"},
    {"upper case name", "POST", R "/addresses", "{\"name\":\"Web\"}", 400, "invalid", "Web"},
    {"name of 64", "POST", R "/addresses",
     "{\"name\":\"a123456789a123456789a123456789a123456789a123456789a123456789a123\"}", 400,
     "invalid", NULL},
    {"name ends in -", "POST", R "/addresses", "{\"name\":\"web-\"}", 400, "invalid", NULL},
    {"bad name in the path", "GET", R "/addresses/Web", NULL, 400, "invalid", NULL},
    {"body where none is taken", "POST", G "/operations/x/wait", "{\"a\":1}", 400, "badRequest",
     NULL},
    /* query */
    {"unknown parameter", "GET", R "/addresses?limit=5", NULL, 400, "badRequest", "\"limit\""},
    {"parameter twice", "GET", R "/addresses?maxResults=1&maxResults=2", NULL, 400, "badRequest",
     "maxResults"},
    {"maxResults too big", "GET", R "/addresses?maxResults=501", NULL, 400, "invalid",
     "maxResults"},
    {"maxResults no number", "GET", R "/addresses?maxResults=x", NULL, 400, "invalid", NULL},
    {"bad filter", "GET", R "/addresses?filter=name", NULL, 400, "invalid", "filter"},
    {"mixed filter", "GET", R "/addresses?filter=(name%20eq%20a)%20(name%20%3D%20a)", NULL, 400,
     "invalid", NULL},
    {"bad expression", "GET", R "/addresses?filter=name%20eq%20(", NULL, 400, "invalid", NULL},
    {"bad page token", "GET", R "/addresses?pageToken=xyz", NULL, 400, "invalid", "pageToken"},
    {"bad order", "GET", R "/addresses?orderBy=address", NULL, 400, "invalid", NULL},
    {"requestId no UUID", "DELETE", R "/addresses/ip?requestId=1", NULL, 400, "invalid",
     "requestId"},
    {"requestId all zero", "DELETE",
     R "/addresses/ip?requestId=00000000-0000-0000-0000-000000000000", NULL, 400, "invalid",
     "requestId"},
    /* in use */
    {"pool in use", "DELETE", R "/targetPools/tp", NULL, 400, "resourceInUseByAnotherResource",
     "being used by 'projects/trimtab-sim/regions/us-central1/forwardingRules/fr'"},
    {"check in use", "DELETE", G "/httpHealthChecks/hc", NULL, 400,
     "resourceInUseByAnotherResource", "being used by"},
    {"service in use", "DELETE", R "/backendServices/bs", NULL, 400,
     "resourceInUseByAnotherResource", "being used by"},
    {"typed check in use", "DELETE", G "/healthChecks/thc", NULL, 400,
     "resourceInUseByAnotherResource", NULL},
    {"group in use", "DELETE", Z "/instanceGroups/ig", NULL, 400, "resourceInUseByAnotherResource",
     NULL},
    /* addresses */
    {"address taken", "POST", R "/addresses", "{\"name\":\"x\",\"address\":\"203.0.113.77\"}", 400,
     "invalid", "already reserved"},
    {"address of nobody", "POST", R "/addresses", "{\"name\":\"x\",\"address\":\"8.8.8.8\"}", 400,
     "invalid", NULL},
    {"internal address outside", "POST", R "/addresses",
     "{\"name\":\"x\",\"address\":\"10.200.0.9\",\"addressType\":\"INTERNAL\"}", 400, "invalid",
     "outside the network/subnetwork range"},
    {"no address", "POST", R "/addresses", "{\"name\":\"x\",\"address\":\"1.2.3\"}", 400, "invalid",
     NULL},
    {"tier of an internal address", "POST", R "/addresses",
     "{\"name\":\"x\",\"addressType\":\"INTERNAL\",\"networkTier\":\"PREMIUM\"}", 400, "invalid",
     NULL},
    {"unknown subnetwork", "POST", R "/addresses",
     "{\"name\":\"x\",\"addressType\":\"INTERNAL\",\"subnetwork\":\"regions/us-central1/"
     "subnetworks/no\"}",
     400, "invalid", "cannot be found"},
    /* rules */
    {"no target", "POST", R "/forwardingRules", "{\"name\":\"x\",\"portRange\":\"80\"}", 400,
     "invalid", "Exactly one"},
    {"unknown target", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/no\"}", 400, "invalid",
     "cannot be found"},
    {"target elsewhere", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/europe-west1/targetPools/tp\"}", 400, "invalid",
     "Cross-region"},
    {"target of another kind", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/backendServices/bs\"}", 400, "invalid",
     NULL},
    {"target no link", "POST", R "/forwardingRules", "{\"name\":\"x\",\"target\":\"tp\"}", 400,
     "invalid", "malformed"},
    {"range backwards", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/tp\",\"portRange\":\"90-80\"}",
     400, "invalid", "portRange"},
    {"port 0", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/tp\",\"portRange\":\"0\"}", 400,
     "invalid", NULL},
    {"port 65536", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/tp\",\"portRange\":\"65536\"}",
     400, "invalid", NULL},
    {"same ports on one address", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/"
     "tp\",\"IPAddress\":\"203.0.113.77\","
     "\"portRange\":\"80-90\"}",
     400, "invalid", "in-use"},
    {"overlapping ports on one address", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/"
     "tp\",\"IPAddress\":\"203.0.113.77\","
     "\"portRange\":\"90-100\"}",
     400, "invalid", "in-use"},
    {"address not reserved", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/"
     "tp\",\"IPAddress\":\"203.0.113.5\"}",
     400, "invalid", "Invalid IP address specified"},
    {"address of the other tier", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/"
     "tp\",\"IPAddress\":\"203.0.113.77\","
     "\"portRange\":\"1\",\"networkTier\":\"STANDARD\"}",
     400, "invalid", "tier"},
    {"ports with a pool", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/tp\",\"ports\":[\"80\"]}", 400,
     NULL, NULL},
    {"six ports", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"backendService\":\"regions/us-central1/backendServices/bs\","
     "\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"]}",
     400, "invalid", "5 ports"},
    {"protocol of the service", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"backendService\":\"regions/us-central1/backendServices/"
     "bs\",\"ports\":[\"99\"],"
     "\"loadBalancingScheme\":\"INTERNAL\",\"IPProtocol\":\"UDP\"}",
     400, "invalid", "protocol TCP"},
    {"scheme of the service", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"backendService\":\"regions/us-central1/backendServices/"
     "bs\",\"ports\":[\"99\"]}",
     400, "invalid", "INTERNAL"},
    {"SCTP with a pool", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/tp\",\"IPProtocol\":\"SCTP\"}",
     400, "invalid", "IPProtocol"},
    {"global access of an external rule", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/"
     "tp\",\"allowGlobalAccess\":true}",
     400, "invalid", "allowGlobalAccess"},
    {"global access later", "PATCH", R "/forwardingRules/fr", "{\"allowGlobalAccess\":true}", 400,
     "invalid", "allowGlobalAccess"},
    {"range of an internal rule", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"backendService\":\"regions/us-central1/backendServices/"
     "bs\",\"portRange\":\"99\",\"loadBalancingScheme\":\"INTERNAL\"}",
     400, "invalid", "portRange"},
    {"tier of an internal rule", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"backendService\":\"regions/us-central1/backendServices/"
     "bs\",\"ports\":[\"99\"],\"loadBalancingScheme\":\"INTERNAL\",\"networkTier\":\"STANDARD\"}",
     400, "badRequest", "network tier"},
    {"L3_DEFAULT with ports", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"backendService\":\"regions/us-central1/backendServices/"
     "bs\",\"ports\":[\"99\"],\"loadBalancingScheme\":\"INTERNAL\",\"IPProtocol\":\"L3_DEFAULT\"}",
     400, "invalid", "allPorts"},
    {"IPv6 with a pool", "POST", R "/forwardingRules",
     "{\"name\":\"x\",\"target\":\"regions/us-central1/targetPools/"
     "tp\",\"IPAddress\":\"2001:db8::1/96\",\"ipVersion\":\"IPV6\"}",
     400, "invalid", "IPv4"},
    {"patch of a fixed member", "PATCH", R "/forwardingRules/fr", "{\"portRange\":\"1-2\"}", 400,
     "invalid", "cannot be changed"},
    {"patch of the tier", "PATCH", R "/forwardingRules/fr", "{\"networkTier\":\"STANDARD\"}", 400,
     "invalid", NULL},
    /* pools */
    {"two checks", "POST", R "/targetPools",
     "{\"name\":\"x\",\"healthChecks\":[\"global/httpHealthChecks/hc\",\"global/httpHealthChecks/"
     "hc\"]}",
     400, "invalid", "at most one"},
    {"affinity that pools have not", "POST", R "/targetPools",
     "{\"name\":\"x\",\"sessionAffinity\":\"HTTP_COOKIE\"}", 400, "invalid", "sessionAffinity"},
    {"unknown check", "POST", R "/targetPools",
     "{\"name\":\"x\",\"healthChecks\":[\"global/httpHealthChecks/no\"]}", 400, "invalid", NULL},
    {"check of the other kind", "POST", R "/targetPools",
     "{\"name\":\"x\",\"healthChecks\":[\"global/healthChecks/thc\"]}", 400, "invalid", NULL},
    {"unknown instance", "POST", R "/targetPools/tp/addInstance",
     "{\"instances\":[{\"instance\":\"/zones/us-central1-a/instances/node-99\"}]}", 400, "invalid",
     NULL},
    {"no instance at all", "POST", R "/targetPools/tp/removeInstance", "{\"instances\":[]}", 400,
     "required", "resource.instances"},
    {"no check at all", "POST", R "/targetPools/tp/removeHealthCheck", "{}", 400, "required",
     "resource.healthChecks"},
    {"second check", "POST", R "/targetPools/tp/addHealthCheck",
     "{\"healthChecks\":[{\"healthCheck\":\"global/httpHealthChecks/hc\"}]}", 400, "invalid", NULL},
    {"health of no member", "POST", R "/targetPools/tp/getHealth",
     "{\"instance\":\"zones/us-central1-b/instances/node-1\"}", 400, "invalid", NULL},
    /* health checks */
    {"time-out over interval", "POST", G "/httpHealthChecks",
     "{\"name\":\"x\",\"checkIntervalSec\":3,\"timeoutSec\":4}", 400, "invalid", "timeoutSec"},
    {"time-out over the preset interval", "POST", G "/healthChecks",
     "{\"name\":\"x\",\"type\":\"TCP\",\"checkIntervalSec\":0,\"timeoutSec\":6}", 400, "invalid",
     "timeoutSec"},
    {"type INVALID", "POST", G "/healthChecks", "{\"name\":\"x\",\"type\":\"INVALID\"}", 400,
     "invalid", "type"},
    {"threshold 1e300", "POST", G "/httpHealthChecks",
     "{\"name\":\"x\",\"healthyThreshold\":1e300}", 400, "badRequest", NULL},
    {"threshold 11", "POST", G "/httpHealthChecks", "{\"name\":\"x\",\"healthyThreshold\":11}", 400,
     "invalid", NULL},
    {"path without /", "POST", G "/httpHealthChecks",
     "{\"name\":\"x\",\"requestPath\":\"healthz\"}", 400, "invalid", NULL},
    {"no type", "POST", G "/healthChecks", "{\"name\":\"x\"}", 400, "required", "type"},
    {"block of another type", "POST", G "/healthChecks",
     "{\"name\":\"x\",\"type\":\"TCP\",\"httpHealthCheck\":{\"port\":80}}", 400, "invalid", NULL},
    {"port 70000", "POST", G "/healthChecks",
     "{\"name\":\"x\",\"type\":\"HTTP\",\"httpHealthCheck\":{\"port\":70000}}", 400, "invalid",
     NULL},
    /* firewalls */
    {"nothing allowed", "POST", G "/firewalls", "{\"name\":\"x\"}", 400, "required", NULL},
    {"allowed and denied", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],\"denied\":[{\"IPProtocol\":\"udp\"}]"
     "}",
     400, "invalid", "not both"},
    {"unknown protocol", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"http\"}]}", 400, "invalid", NULL},
    {"ports of icmp", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"icmp\",\"ports\":[\"80\"]}]}", 400, "invalid",
     NULL},
    {"ports backwards", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"90-80\"]}]}", 400,
     "invalid", NULL},
    {"bad range", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],\"sourceRanges\":[\"10.0.0.0/33\"]}",
     400, "invalid", "CIDR"},
    {"both families", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],\"sourceRanges\":[\"10.0.0.0/8\",\"::/"
     "0\"]}",
     400, "invalid", "mixed"},
    {"families of sources and destinations", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],\"sourceRanges\":[\"0.0.0.0/0\"],"
     "\"destinationRanges\":[\"::/0\"]}",
     400, "invalid", "mixed"},
    {"bad tag", "POST", G "/firewalls",
     "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],\"targetTags\":[\"Node\"]}", 400,
     "invalid", "tag"},
    {"priority 65536", "POST", G "/firewalls",
     "{\"name\":\"x\",\"priority\":65536,\"allowed\":[{\"IPProtocol\":\"tcp\"}]}", 400, "invalid",
     NULL},
    {"unknown network", "POST", G "/firewalls",
     "{\"name\":\"x\",\"network\":\"global/networks/no\",\"allowed\":[{\"IPProtocol\":\"tcp\"}]}",
     400, "invalid", NULL},
    {"patch without a name", "PATCH", G "/firewalls/fw", "{\"priority\":5}", 400, "required", NULL},
    {"patch of another name", "PATCH", G "/firewalls/fw", "{\"name\":\"other\"}", 400, "invalid",
     NULL},
    {"patch of the direction", "PATCH", G "/firewalls/fw",
     "{\"name\":\"fw\",\"direction\":\"EGRESS\"}", 400, "invalid", "cannot be changed"},
    /* backend services and groups */
    {"PUT without fingerprint", "PUT", R "/backendServices/bs",
     "{\"name\":\"bs\",\"healthChecks\":[\"global/healthChecks/thc\"]}", 400, "required",
     "resource.fingerprint"},
    {"PUT with an old fingerprint", "PUT", R "/backendServices/bs",
     "{\"name\":\"bs\",\"fingerprint\":\"AAAA\",\"healthChecks\":[\"global/healthChecks/thc\"]}",
     412, "conditionNotMet", NULL},
    {"no check", "POST", R "/backendServices",
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\",\"protocol\":\"TCP\"}", 400, "invalid",
     "health check"},
    {"unknown group", "POST", R "/backendServices",
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\",\"healthChecks\":[\"global/healthChecks/"
     "thc\"],"
     "\"backends\":[{\"group\":\"zones/us-central1-a/instanceGroups/no\"}]}",
     400, "invalid", NULL},
    {"group with ports", "POST", R "/backendServices",
     "{\"name\":\"x\",\"loadBalancingScheme\":\"INTERNAL\",\"healthChecks\":[\"global/healthChecks/"
     "thc\"],\"backends\":[{\"group\":\"zones/us-central1-a/networkEndpointGroups/ports\"}]}",
     400, "invalid", "GCE_VM_IP"},
    {"patch of the scheme", "PATCH", R "/backendServices/bs",
     "{\"loadBalancingScheme\":\"EXTERNAL\"}", 400, "invalid", NULL},
    {"affinity of a proxy", "PATCH", R "/backendServices/bs",
     "{\"sessionAffinity\":\"GENERATED_COOKIE\"}", 400, "invalid", "sessionAffinity"},
    {"protocol while in use", "PATCH", R "/backendServices/bs", "{\"protocol\":\"UDP\"}", 400,
     "invalid", "used by"},
    {"member of another zone", "POST", Z "/instanceGroups/ig/addInstances",
     "{\"instances\":[{\"instance\":\"zones/us-central1-b/instances/node-1\"}]}", 400, "invalid",
     NULL},
    {"member twice", "POST", Z "/instanceGroups/ig/addInstances",
     "{\"instances\":[{\"instance\":\"zones/us-central1-a/instances/node-0\"}]}", 400,
     "memberAlreadyExists", NULL},
    {"no member at all", "POST", Z "/instanceGroups/ig/addInstances", "{}", 400, "required",
     "resource.instances"},
    {"the same new member twice", "POST", Z "/instanceGroups/ig/addInstances",
     "{\"instances\":[{\"instance\":\"zones/us-central1-a/instances/node-3\"},"
     "{\"instance\":\"/zones/us-central1-a/instances/node-3\"}]}",
     400, "invalid", "named twice"},
    {"old fingerprint of named ports", "POST", Z "/instanceGroups/ig/setNamedPorts",
     "{\"fingerprint\":\"AAAA\",\"namedPorts\":[{\"name\":\"web\",\"port\":80}]}", 412,
     "conditionNotMet", NULL},
    {"removing no member", "POST", Z "/instanceGroups/ig/removeInstances",
     "{\"instances\":[{\"instance\":\"zones/us-central1-a/instances/node-3\"}]}", 400, "invalid",
     "is not a member of"},
    {"members of no group", "POST", Z "/instanceGroups/no/addInstances", "{\"instances\":[]}", 404,
     "notFound", NULL},
    {"endpoint of no machine", "POST", Z "/networkEndpointGroups/neg/attachNetworkEndpoints",
     "{\"networkEndpoints\":[{\"instance\":\"node-1\"}]}", 400, "invalid", NULL},
    {"endpoint of another zone", "POST", Z "/networkEndpointGroups/neg/attachNetworkEndpoints",
     "{\"networkEndpoints\":[{\"instance\":\"zones/us-central1-b/instances/node-0\"}]}", 400,
     "invalid", "in the zone"},
    {"endpoint twice", "POST", Z "/networkEndpointGroups/neg/attachNetworkEndpoints",
     "{\"networkEndpoints\":[{\"instance\":\"node-0\"},{\"instance\":\"node-0\"}]}", 400, "invalid",
     "named twice"},
    {"endpoint with a port", "POST", Z "/networkEndpointGroups/neg/attachNetworkEndpoints",
     "{\"networkEndpoints\":[{\"instance\":\"node-0\",\"port\":80}]}", 400, "invalid", NULL},
    {"endpoint with another address", "POST", Z "/networkEndpointGroups/neg/attachNetworkEndpoints",
     "{\"networkEndpoints\":[{\"instance\":\"node-0\",\"ipAddress\":\"10.128.0.99\"}]}", 400,
     "invalid", NULL},
    {"detaching no endpoint", "POST", Z "/networkEndpointGroups/neg/detachNetworkEndpoints",
     "{\"networkEndpoints\":[{\"instance\":\"node-0\"}]}", 400, "invalid", "not attached"},
};

static void make_internal(struct fixture *f)
{
    fixture_must(f, "POST", G "/healthChecks",
                 "{\"name\":\"thc\",\"type\":\"HTTP\",\"httpHealthCheck\":{\"port\":10256}}");
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig\"}");
    fixture_must(f, "POST", Z "/instanceGroups/ig/addInstances",
                 "{\"instances\":[{\"instance\":\"zones/us-central1-a/instances/node-0\"}]}");
    fixture_must(f, "POST", Z "/networkEndpointGroups",
                 "{\"name\":\"neg\",\"networkEndpointType\":\"GCE_VM_IP\"}");
    fixture_must(f, "POST", Z "/networkEndpointGroups",
                 "{\"name\":\"ports\",\"networkEndpointType\":\"GCE_VM_IP_PORT\"}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"bs\",\"loadBalancingScheme\":\"INTERNAL\",\"protocol\":\"TCP\","
                 "\"healthChecks\":[\"global/healthChecks/thc\"],"
                 "\"backends\":[{\"group\":\"zones/us-central1-a/instanceGroups/ig\"}]}");
    fixture_must(f, "POST", R "/addresses",
                 "{\"name\":\"vip\",\"addressType\":\"INTERNAL\",\"address\":\"10.128.9.9\"}");
    fixture_must(f, "POST", R "/forwardingRules",
                 "{\"name\":\"ilb\",\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"80\"],"
                 "\"IPAddress\":\"10.128.9.9\","
                 "\"backendService\":\"regions/us-central1/backendServices/bs\"}");
    fixture_must(f, "POST", G "/firewalls",
                 "{\"name\":\"fw\",\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"80\"]}]}");
}

static void compute__bad_requests__are_refused_and_change_nothing(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_make_external(f);
    make_internal(f);
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = f->text;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        int status = fixture_call(f, r->method, r->path, r->body);
        fixture_expect(f, r->what, status, r->status, r->reason);
        assert_int_equal(json_int(json_member(f->answer, "error"), "code", 0), r->status);
        if (r->text && !strstr(fixture_text(f, "error.message"), r->text)) {
            fail_msg("%s: \"%s\" is not in: %s", r->what, r->text,
                     fixture_text(f, "error.message"));
        }
    }
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(before, f->text);
    fixture_stop(f);
}

static void compute__instance_in_two_balanced_groups__fails_in_the_operation(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    make_internal(f);
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig2\"}");
    fixture_must(f, "POST", Z "/instanceGroups/ig2/addInstances",
                 "{\"instances\":[{\"instance\":\"zones/us-central1-a/instances/node-0\"}]}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"bs2\",\"loadBalancingScheme\":\"INTERNAL\",\"protocol\":\"TCP\","
                 "\"healthChecks\":[\"global/healthChecks/thc\"],"
                 "\"backends\":[{\"group\":\"zones/us-central1-a/instanceGroups/ig2\"}]}");
    struct json_object *errors = json_path(f->answer, "error.errors");
    assert_int_equal(json_len(errors), 1);
    assert_string_equal(json_str(json_object_array_get_idx(errors, 0), "code"),
                        "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS");
    assert_int_equal(json_int(f->answer, "httpErrorStatusCode", 0), 400);
    assert_int_equal(fixture_call(f, "GET", R "/backendServices/bs2", NULL), 404);
    fixture_stop(f);
}

static void compute__71_target_tags__are_refused(void **state)
{
    (void)state;
    struct fixture *f = fixture_start(NULL);
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < 71; i++) {
        str_appendf(&b, "%s\"t%d\"", i ? "," : "", i);
    }
    const char *body = arena_printf(f->a,
                                    "{\"name\":\"x\",\"allowed\":[{\"IPProtocol\":\"tcp\"}],"
                                    "\"targetTags\":[%s]}",
                                    str_buf_text(&b));
    str_buf_done(&b);
    fixture_expect(f, "71 tags", fixture_call(f, "POST", G "/firewalls", body), 400, "invalid");
    fixture_stop(f);
}

static void compute__two_groups_of_one_service__may_not_share_an_instance(void **state)
{
    (void)state;
    static const char *const groups[] = {"ig", "ig2"};
    struct fixture *f = fixture_start(&(struct sim_config){.nodes = 6});
    fixture_must(f, "POST", G "/healthChecks", "{\"name\":\"thc\",\"type\":\"TCP\"}");
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        fixture_must(f, "POST", Z "/instanceGroups",
                     arena_printf(f->a, "{\"name\":\"%s\"}", groups[i]));
        fixture_must(f, "POST", arena_printf(f->a, Z "/instanceGroups/%s/addInstances", groups[i]),
                     "{\"instances\":[{\"instance\":\"zones/us-central1-a/instances/node-0\"}]}");
    }
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"bs\",\"loadBalancingScheme\":\"INTERNAL\","
                 "\"healthChecks\":[\"global/healthChecks/thc\"],"
                 "\"backends\":[{\"group\":\"zones/us-central1-a/instanceGroups/ig\"},"
                 "{\"group\":\"zones/us-central1-a/instanceGroups/ig2\"}]}");
    struct json_object *errors = json_path(f->answer, "error.errors");
    assert_int_equal(json_len(errors), 1);
    assert_string_equal(json_str(json_object_array_get_idx(errors, 0), "code"),
                        "INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS");
    assert_int_equal(fixture_call(f, "GET", R "/backendServices/bs", NULL), 404);
    fixture_stop(f);
}

/* The regions of the cloud each have as many as the quota says; other kinds are counted
 * in the project. */
static void compute__quota__is_of_a_region_or_of_the_project(void **state)
{
    (void)state;
    static const char *const quotas[] = {"STATIC_ADDRESSES=1", "INTERNAL_ADDRESSES=1",
                                         "INSTANCE_GROUPS=1", "TARGET_POOLS=1"};
    static const char *const zones[] = {"us-central1-a", "us-central1-b", "europe-west1-b"};
    static const struct {
        const char *path, *name, *type; /* type NULL: none */
        int status;
        const char *text;
    } steps[] = {
        {R "/addresses", "a", "EXTERNAL", 200, NULL},
        {R "/addresses", "b", "EXTERNAL", 403,
         "'STATIC_ADDRESSES' exceeded.  Limit: 1.0 in region us-central1."},
        {R "/addresses", "b", "INTERNAL", 200, NULL},
        {R "/addresses", "c", "INTERNAL", 403, "'INTERNAL_ADDRESSES'"},
        {P "/regions/europe-west1/addresses", "a", "EXTERNAL", 200, NULL},
        {Z "/instanceGroups", "a", NULL, 200, NULL},
        {P "/zones/us-central1-b/instanceGroups", "b", NULL, 403, "in region us-central1."},
        {P "/zones/europe-west1-b/instanceGroups", "b", NULL, 200, NULL},
        {R "/targetPools", "a", NULL, 200, NULL},
        {P "/regions/europe-west1/targetPools", "b", NULL, 403, "Limit: 1.0 globally."},
    };
    struct fixture *f = fixture_start(&(struct sim_config){.zones = zones,
                                                           .n_zones = ARRAY_LEN(zones),
                                                           .quotas = quotas,
                                                           .n_quotas = ARRAY_LEN(quotas)});
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        const char *type =
            steps[i].type ? arena_printf(f->a, ",\"addressType\":\"%s\"", steps[i].type) : "";
        int status = fixture_call(f, "POST", steps[i].path,
                                  arena_printf(f->a, "{\"name\":\"%s\"%s}", steps[i].name, type));
        fixture_expect(f, steps[i].path, status, steps[i].status, NULL);
        if (steps[i].text && !strstr(fixture_text(f, "error.message"), steps[i].text)) {
            fail_msg("step %zu: \"%s\" is not in: %s", i, steps[i].text,
                     fixture_text(f, "error.message"));
        }
    }
    fixture_must(f, "GET", P "/regions/europe-west1", NULL);
    assert_int_equal(json_len(json_member(f->answer, "quotas")), 4);
    fixture_stop(f);
}

static void compute__quota_reached__is_403(void **state)
{
    (void)state;
    static const char *const quotas[] = {"FIREWALLS=1", "STATIC_ADDRESSES=0", "TARGET_POOLS=0",
                                         "FORWARDING_RULES=0"};
    struct fixture *f = fixture_start(
        &(struct sim_config){.nodes = 1, .quotas = quotas, .n_quotas = ARRAY_LEN(quotas)});
    static const char body[] = "{\"name\":\"a\",\"allowed\":[{\"IPProtocol\":\"tcp\"}]}";
    static const char second[] = "{\"name\":\"b\",\"allowed\":[{\"IPProtocol\":\"tcp\"}]}";
    fixture_must(f, "POST", G "/firewalls", body);
    int status = fixture_call(f, "POST", G "/firewalls", second);
    fixture_expect(f, "second firewall", status, 403, "quotaExceeded");
    status = fixture_call(f, "POST", R "/addresses", "{\"name\":\"a\"}");
    fixture_expect(f, "address", status, 403, "quotaExceeded");
    status = fixture_call(f, "POST", R "/targetPools", "{\"name\":\"a\"}");
    fixture_expect(f, "target pool", status, 403, "quotaExceeded");
    fixture_must(f, "DELETE", G "/firewalls/a", NULL);
    fixture_must(f, "POST", G "/firewalls", second);
    fixture_stop(f);
}

static void compute__members_beyond_their_limit__are_403(void **state)
{
    (void)state;
#define INSTANCE "\"instance\":\"projects/trimtab-sim/zones/us-central1-a/instances/node-0\"}]}"
    static const char *const quotas[] = {"MAX_INSTANCES_IN_TARGET_POOL=0",
                                         "MAX_INSTANCES_IN_INSTANCE_GROUP=0",
                                         "MAX_ENDPOINTS_IN_NETWORK_ENDPOINT_GROUP=0"};
    static const struct {
        const char *collection, *make, *action, *body;
    } limits[] = {
        {R "/targetPools", "{\"name\":\"a\"}", "addInstance", "{\"instances\":[{" INSTANCE},
        {P "/zones/us-central1-a/instanceGroups", "{\"name\":\"a\"}", "addInstances",
         "{\"instances\":[{" INSTANCE},
        {P "/zones/us-central1-a/networkEndpointGroups",
         "{\"name\":\"a\",\"networkEndpointType\":\"GCE_VM_IP\","
         "\"network\":\"global/networks/default\","
         "\"subnetwork\":\"regions/us-central1/subnetworks/default\"}",
         "attachNetworkEndpoints", "{\"networkEndpoints\":[{" INSTANCE},
    };
    struct fixture *f = fixture_start(
        &(struct sim_config){.nodes = 1, .quotas = quotas, .n_quotas = ARRAY_LEN(quotas)});
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        fixture_must(f, "POST", limits[i].collection, limits[i].make);
        const char *path = arena_printf(f->a, "%s/a/%s", limits[i].collection, limits[i].action);
        int status = fixture_call(f, "POST", path, limits[i].body);
        fixture_expect(f, limits[i].action, status, 403, "limitExceeded");
    }
    fixture_stop(f);
}

UNIT_MAIN(compute_refusals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute__bad_requests__are_refused_and_change_nothing),
        cmocka_unit_test(compute__instance_in_two_balanced_groups__fails_in_the_operation),
        cmocka_unit_test(compute__71_target_tags__are_refused),
        cmocka_unit_test(compute__two_groups_of_one_service__may_not_share_an_instance),
        cmocka_unit_test(compute__quota_reached__is_403),
        cmocka_unit_test(compute__members_beyond_their_limit__are_403),
        cmocka_unit_test(compute__quota__is_of_a_region_or_of_the_project),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
