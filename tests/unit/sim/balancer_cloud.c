/* SPDX-License-Identifier: Apache-2.0 */
/* balancer_cloud.c: see balancer_cloud.h. */
#include "tests/unit/sim/balancer_cloud.h"

#include <string.h>

#define PATH(rest) "projects/trimtab-sim/" rest

struct subnet {
    const char *name, *network, *range, *access, *prefix;
};

static const struct subnet subnets[] = {
    {"default", "default", "10.128.0.0/20", "INTERNAL", "fd20:0:0:1::/64"},
    {"second", "default", "10.64.0.0/20", NULL, NULL},
    {"public", "default", "10.65.0.0/20", "EXTERNAL", "2600:1900:4000:5::/64"},
    {"far", "far", "10.66.0.0/20", "INTERNAL", "fd20:0:0:6::/64"},
};

struct nic {
    const char *vm, *subnet, *network, *ip;
};

static const struct nic nics[] = {
    {"vm-second", "second", "default", "10.64.0.2"},
    {"vm-far", "far", "far", "10.66.0.2"},
    {"vm-two", "default", "default", "10.128.0.100"},
    {"vm-two", "second", "default", "10.64.0.3"},
};

static struct json_object *resource(struct json_object *gce, struct arena *a, const char *path,
                                    const char *name)
{
    struct json_object *o = json_member(gce, path);
    if (!o) {
        o = json_object_new_object();
        json_add_str(o, "name", name);
        json_add_str(o, "id", "7");
        json_add_str(o, "selfLink",
                     arena_printf(a, "https://www.googleapis.com/compute/v1/%s", path));
        json_add(gce, path, o);
    }
    return o;
}

static void add_link(struct json_object *o, struct arena *a, const char *member, const char *folder,
                     const char *name)
{
    json_add_str(o, member,
                 arena_printf(a, "https://www.googleapis.com/compute/v1/%s/%s", folder, name));
}

static void add_subnet(struct json_object *gce, struct arena *a, const struct subnet *s)
{
    const char *folder = PATH("regions/us-central1/subnetworks");
    resource(gce, a, arena_printf(a, PATH("global/networks/%s"), s->network), s->network);
    struct json_object *o = resource(gce, a, arena_printf(a, "%s/%s", folder, s->name), s->name);
    add_link(o, a, "network", PATH("global/networks"), s->network);
    json_add_str(o, "ipCidrRange", s->range);
    json_add_str(o, "stackType", s->access ? "IPV4_IPV6" : "IPV4_ONLY");
    if (s->access) {
        bool internal = str_eq(s->access, "INTERNAL");
        json_add_str(o, "ipv6AccessType", s->access);
        json_add_str(o, internal ? "internalIpv6Prefix" : "externalIpv6Prefix", s->prefix);
    }
}

static void add_nic(struct json_object *gce, struct arena *a, const struct nic *n)
{
    const char *path = arena_printf(a, PATH("zones/us-central1-a/instances/%s"), n->vm);
    struct json_object *vm = resource(gce, a, path, n->vm);
    struct json_object *nic = json_object_new_object();
    if (!json_member(vm, "networkInterfaces")) {
        json_add(vm, "networkInterfaces", json_object_new_array());
    }
    add_link(nic, a, "network", PATH("global/networks"), n->network);
    add_link(nic, a, "subnetwork", PATH("regions/us-central1/subnetworks"), n->subnet);
    json_add_str(nic, "networkIP", n->ip);
    json_object_array_add(json_member(vm, "networkInterfaces"), nic);
}

struct fixture *balancer_cloud_start(void)
{
    struct arena *a = arena_new();
    struct json_object *world = json_object_new_object(), *gce = json_object_new_object();
    json_add(world, "gce", gce);
    for (size_t i = 0; i < ARRAY_LEN(subnets); i++) {
        add_subnet(gce, a, &subnets[i]);
    }
    json_add_bool(resource(gce, a, PATH("global/networks/custom"), "custom"),
                  "autoCreateSubnetworks", false);
    for (size_t i = 0; i < ARRAY_LEN(nics); i++) {
        add_nic(gce, a, &nics[i]);
    }
    struct fixture *f =
        fixture_start(&(struct sim_config){.nodes = 6, .ipv4 = true, .ipv6 = true, .world = world});
    json_object_put(world);
    arena_free(a);
    return f;
}

#define NEG_OF(name)                                                                               \
    "{\"name\":\"" name "\",\"networkEndpointType\":\"GCE_VM_IP\"," SUBNET("default") "}"

void balancer_cloud_fill(struct fixture *f)
{
    static const char http[] =
        "{\"name\":\"%s\",\"type\":\"HTTP\",\"httpHealthCheck\":{\"port\":10256}}";
    fixture_must(f, "POST", G "/healthChecks", arena_printf(f->a, http, "global"));
    fixture_must(f, "POST", R "/healthChecks", arena_printf(f->a, http, "own"));
    fixture_must(f, "POST", R "/healthChecks", "{\"name\":\"tcp\",\"type\":\"TCP\"}");
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"ig\"}");
    fixture_must(f, "POST", Z "/instanceGroups", "{\"name\":\"empty\"}");
    fixture_must(f, "POST", Z "/instanceGroups/ig/addInstances",
                 "{\"instances\":[" VM("node-0") "]}");
    fixture_must(f, "POST", Z "/networkEndpointGroups", NEG_OF("neg"));
    fixture_must(f, "POST", P "/zones/us-central1-b/networkEndpointGroups", NEG_OF("neg-b"));
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"int\",\"loadBalancingScheme\":\"INTERNAL\"," GLOBAL_CHECK
                 ",\"backends\":[{\"group\":\"zones/us-central1-a/networkEndpointGroups/neg\"}]}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"int-all\",\"loadBalancingScheme\":\"INTERNAL\","
                 "\"protocol\":\"UNSPECIFIED\"," GLOBAL_CHECK "}");
    fixture_must(f, "POST", R "/backendServices", "{\"name\":\"ext\"," OWN_CHECK "}");
    fixture_must(f, "POST", R "/backendServices",
                 "{\"name\":\"ext-all\",\"protocol\":\"UNSPECIFIED\"," OWN_CHECK "}");
    fixture_must(f, "POST", R "/forwardingRules",
                 "{\"name\":\"fr\",\"loadBalancingScheme\":\"INTERNAL\",\"ports\":[\"80\"],"
                 "\"IPAddress\":\"10.128.9.1\"," SERVICE("int") "}");
    fixture_must(f, "POST", R "/addresses", "{\"name\":\"ip\",\"address\":\"203.0.113.50\"}");
    fixture_must(
        f, "POST", R "/forwardingRules",
        "{\"name\":\"fre\",\"ports\":[\"80\"],\"IPAddress\":\"203.0.113.50\"," SERVICE("ext") "}");
}

/* Status, reason and message, be they of the answer or of the operation that failed. */
static int outcome(struct fixture *f, int status, const char **ret_reason, const char **ret_text)
{
    struct json_object *errors = json_path(f->answer, "error.errors");
    struct json_object *first = json_len(errors) > 0 ? json_object_array_get_idx(errors, 0) : NULL;
    bool failed = status == 200 && first;
    *ret_reason = str_nonnull(json_str(first, failed ? "code" : "reason"));
    *ret_text = str_nonnull(json_str(first, "message"));
    return failed ? (int)json_int(f->answer, "httpErrorStatusCode", 0) : status;
}

static void expect(struct fixture *f, const struct balancer_row *r)
{
    const char *reason, *text;
    int status = outcome(f, fixture_call(f, r->method, r->path, r->body), &reason, &text);
    if (status != r->status || (r->reason && !str_eq(r->reason, reason)) ||
        (r->text && !strstr(text, r->text))) {
        fail_msg("%s: got %d %s \"%s\", want %d %s \"%s\"", r->what, status, reason, text,
                 r->status, str_nonnull(r->reason), str_nonnull(r->text));
    }
}

void balancer_expect_refused(struct fixture *f, const struct balancer_row *rows, size_t n)
{
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = f->text;
    for (size_t i = 0; i < n; i++) {
        assert_int_not_equal(rows[i].status, 200);
        expect(f, &rows[i]);
    }
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(before, f->text);
}

void balancer_expect_taken(struct fixture *f, const struct balancer_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct balancer_row *r = &rows[i];
        expect(f, r);
        if (str_eq(r->method, "POST") && str_has_prefix(r->body, "{\"name\":\"x\"")) {
            fixture_must(f, "DELETE", arena_printf(f->a, "%s/x", r->path), NULL);
        }
    }
}
