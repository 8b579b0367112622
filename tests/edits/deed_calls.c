/* SPDX-License-Identifier: Apache-2.0 */
/* deed_calls.c: the operations of the clouds' APIs in the words of a plan (deed.h).
 *
 * Runs in the simulator's thread before a call has its effect, while the resource of a deletion
 * still exists.  An operation without a row is reported by its id, so that a plan without it is
 * noticed. */
#include "tests/edits/deed.h"

#include <string.h>

#include "common/base/str.h"
#include "common/net/url.h"
#include "sim/arm/arm.h"
#include "sim/aws/aws.h"

struct row {
    const char *op;   /* glob over operation ids; NULL ends the table */
    const char *kind; /* as plans say it */
    const char *verb; /* AWS: its verb; else NULL */
    const char *name; /* AWS: the parameter that names the resource; else NULL */
};

static const struct row *row_of(const struct row *table, const char *op)
{
    while (table->op != NULL && !str_glob(table->op, op)) {
        table++;
    }
    return table;
}

/* ---- Google ---------------------------------------------------------------------------------- */

static const struct row google[] = {
    {.op = "compute.*.list*"}, /* members are read by POST */
    {.op = "compute.addresses.*", .kind = "address"},
    {.op = "compute.forwardingRules.*", .kind = "forwarding rule"},
    {.op = "compute.globalForwardingRules.*", .kind = "forwarding rule"},
    {.op = "compute.targetPools.*", .kind = "target pool"},
    {.op = "compute.firewalls.*", .kind = "firewall"},
    {.op = "compute.httpHealthChecks.*", .kind = "health check"},
    {.op = "compute.healthChecks.*", .kind = "health check"},
    {.op = "compute.regionHealthChecks.*", .kind = "health check"},
    {.op = "compute.backendServices.*", .kind = "backend service"},
    {.op = "compute.regionBackendServices.*", .kind = "backend service"},
    {.op = "compute.networkEndpointGroups.*", .kind = "NEG"},
    {.op = "compute.instanceGroups.*", .kind = "instance group"},
    {NULL},
};

/* The part of the path behind the collection: ".../collection/name/method" and
 * ".../collection/name". */
static const char *google_name(const struct sim_call *c, const char *collection)
{
    size_t n = 0;
    char **parts = str_split(c->arena, c->path, '/', &n);
    for (size_t i = 0; i + 1 < n; i++) {
        if (str_eq(parts[i], collection)) {
            return parts[i + 1];
        }
    }
    return "";
}

static const char *of_google(const struct sim_call *c, const struct row *r)
{
    if (str_has_suffix(c->op, ".insert")) {
        struct json_object *body = NULL;
        if (json_parse_arena(c->arena, c->body, c->body_len, NULL, &body, NULL) != ERR_OK) {
            return NULL;
        }
        return arena_printf(c->arena, "create %s %s", r->kind, json_str(body, "name"));
    }
    size_t n = 0;
    char **words = str_split(c->arena, c->op, '.', &n); /* "compute", collection, method */
    const char *collection = words[1];
    static const char *const regional[] = {"regionHealthChecks", "regionBackendServices",
                                           "globalForwardingRules"};
    static const char *const plain[] = {"healthChecks", "backendServices", "forwardingRules"};
    for (size_t i = 0; i < ARRAY_LEN(regional); i++) {
        collection = str_eq(collection, regional[i]) ? plain[i] : collection;
    }
    return arena_printf(c->arena, "%s %s %s",
                        str_has_suffix(c->op, ".delete") ? "delete" : "change", r->kind,
                        google_name(c, collection));
}

/* ---- Azure ----------------------------------------------------------------------------------- */

static const struct row azure[] = {
    {.op = "LoadBalancers.MigrateToIPBased", .kind = "load balancer"},
    {.op = "LoadBalancers.*", .kind = "load balancer"},
    {.op = "LoadBalancerBackendAddressPools.*", .kind = "backend address pool"},
    {.op = "PublicIPAddresses.*", .kind = "public IP address"},
    {.op = "SecurityGroups.*", .kind = "network security group"},
    {.op = "Subnets.*", .kind = "subnet"},
    {.op = "PrivateLinkServices.*PrivateEndpointConnection", .kind = "private endpoint connection"},
    {.op = "PrivateLinkServices.*", .kind = "private link service"},
    {.op = "Interfaces.*", .kind = "network interface"},
    {.op = "VirtualMachineScaleSetVMs.*", .kind = "scale set instance"},
    {.op = "VirtualMachineScaleSets.*", .kind = "scale set"},
    {.op = "VirtualMachines.*", .kind = "virtual machine"},
    {NULL},
};

static const char *of_azure(const struct sim_call *c, const struct row *r)
{
    const struct arm *arm = c->module_state;
    size_t n = 0;
    char **parts = str_split(c->arena, c->path, '/', &n);
    bool action = str_eq(c->method, "POST"); /* ".../loadBalancers/NAME/migrateToIpBased" */
    const char *name = parts[n - 1 - action];
    bool part = str_glob("LoadBalancerBackend*", c->op) ||
                str_glob("VirtualMachineScaleSetVMs.*", c->op) || str_glob("*Connection", c->op);
    if (part && n > 3) {
        name = arena_printf(c->arena, "%s/%s", parts[n - 3], name);
    }
    bool stands =
        part || action || str_has_prefix(c->op, "Virtual") || arm_get(arm, c->path) != NULL;
    const char *verb = str_eq(c->method, "DELETE") ? "delete" : stands ? "change" : "create";
    return arena_printf(c->arena, "%s %s %s", verb, r->kind, name);
}

/* ---- AWS ------------------------------------------------------------------------------------- */

#define CLASSIC "classic load balancer"

static const struct row aws[] = {
    {"ec2.CreateSecurityGroup", "security group", "create", "GroupName"},
    {"ec2.DeleteSecurityGroup", "security group", "delete", "GroupId"},
    {"ec2.*SecurityGroupIngress", "security group", "change", "GroupId"},
    {"ec2.CreateTags", "security group", "change", "ResourceId.1"},
    {"elb.CreateLoadBalancer", CLASSIC, "create", "LoadBalancerName"},
    {"elb.DeleteLoadBalancer", CLASSIC, "delete", "LoadBalancerName"},
    {"elb.CreateLoadBalancerPolicy", "load balancer policy", "create", "PolicyName"},
    {"elb.DeleteLoadBalancerPolicy", "load balancer policy", "delete", "PolicyName"},
    {"elb.AddTags", CLASSIC, "change", "LoadBalancerNames.member.1"},
    {"elb.*", CLASSIC, "change", "LoadBalancerName"},
    {"elbv2.CreateLoadBalancer", "load balancer", "create", "Name"},
    {"elbv2.DeleteLoadBalancer", "load balancer", "delete", "LoadBalancerArn"},
    {"elbv2.CreateTargetGroup", "target group", "create", "Name"},
    {"elbv2.DeleteTargetGroup", "target group", "delete", "TargetGroupArn"},
    {"elbv2.ModifyTargetGroup*", "target group", "change", "TargetGroupArn"},
    {"elbv2.RegisterTargets", "targets", "create", "TargetGroupArn"},
    {"elbv2.DeregisterTargets", "targets", "delete", "TargetGroupArn"},
    {"elbv2.CreateListener", "listener", "create", "Port"},
    {"elbv2.DeleteListener", "listener", "delete", "ListenerArn"},
    {"elbv2.ModifyListener*", "listener", "change", "ListenerArn"},
    {"elbv2.AddTags", "load balancer", "change", "ResourceArns.member.1"}, /* and of its parts */
    {"elbv2.*", "load balancer", "change", "LoadBalancerArn"},
    {NULL},
};

/* The parameter of a form, decoded; NULL: it is not there. */
static const char *form_value(const struct sim_call *c, const char *name)
{
    size_t n = 0;
    const char *text = arena_strndup(c->arena, str_nonnull(c->body), c->body_len);
    char **pairs = str_split(c->arena, text, '&', &n);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(name);
        if (strncmp(pairs[i], name, len) == 0 && pairs[i][len] == '=') {
            const char *value = str_replace(c->arena, pairs[i] + len + 1, "%3A", ":");
            return str_replace(c->arena, value, "%2F", "/");
        }
    }
    return NULL;
}

/* A listener is known by its port; a plan may change its protocol. */
static const char *listener_port(const struct sim_call *c, const char *arn)
{
    const struct amz_resource *res = amz_get(c->module_state, AMZ_LISTENER, arn);
    return res == NULL ? "?" : arena_printf(c->arena, "%d", (int)json_int(res->body, "Port", 0));
}

static const char *group_name(const struct sim_call *c, const char *id)
{
    const struct amz_resource *res = amz_get(c->module_state, AMZ_SECURITY_GROUP, id);
    return res == NULL ? id : str_nonnull(json_str(res->body, "GroupName"));
}

static const char *of_aws(const struct sim_call *c, const struct row *r)
{
    const char *name = str_nonnull(form_value(c, r->name));
    size_t n = 0;
    char **parts = str_split(c->arena, name, '/', &n);
    if (str_has_prefix(name, "sg-")) {
        name = group_name(c, name);
    } else if (str_eq(r->kind, "listener") && n > 1) {
        name = listener_port(c, name);
    } else if (n > 2) { /* "arn:…:loadbalancer/net/NAME/ID", a listener's as well */
        name = strstr(name, ":targetgroup/") != NULL ? parts[1] : parts[2];
    }
    return arena_printf(c->arena, "%s %s %s", r->verb, r->kind, name);
}

/* "TLS:443" is "443", "k8s-elb-x (sg-1)" is "k8s-elb-x". */
static const char *aws_planned_name(struct arena *a, const char *kind, const char *name)
{
    const char *port = str_eq(kind, "listener") ? strrchr(name, ':') : NULL;
    const char *id = str_eq(kind, "security group") ? strstr(name, " (sg-") : NULL;
    if (port != NULL) {
        return port + 1;
    }
    return id == NULL ? name : arena_strndup(a, name, (size_t)(id - name));
}

/* ---- all ------------------------------------------------------------------------------------- */

const char *deed_of_call(const struct sim_call *call)
{
    const char *api = call->module->name;
    const struct row *r = row_of(str_eq(api, "gce")     ? google
                                 : str_eq(api, "azure") ? azure
                                                        : aws,
                                 call->op);
    if (r->op == NULL) {
        return arena_printf(call->arena, "change %s", call->op);
    }
    if (r->kind == NULL && str_eq(api, "gce")) {
        return NULL;
    }
    return str_eq(api, "gce")     ? of_google(call, r)
           : str_eq(api, "azure") ? of_azure(call, r)
                                  : of_aws(call, r);
}

const char *deed_of_operation(struct arena *a, const char *cloud, struct json_object *op)
{
    const char *verb = json_str(op, "verb");
    const char *kind = json_str(op, "kind");
    const char *name = str_nonnull(json_str(op, "name"));
    if (str_eq(verb, "keep")) {
        return NULL;
    }
    if (str_eq(cloud, "gce") && str_eq(kind, "HTTP health check")) {
        kind = "health check"; /* as plans of target pools have it */
    }
    if (str_eq(cloud, "aws")) {
        name = aws_planned_name(a, kind, name);
    }
    return arena_printf(a, "%s %s %s", verb, kind, name);
}
