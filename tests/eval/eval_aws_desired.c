/* SPDX-License-Identifier: Apache-2.0 */
/* eval_aws_desired.c: the functions aws.* of trimtab-eval about load balancers: listeners, health
 * checks, attributes, and the whole of what a first sync makes. */
#include "tests/eval/eval_aws.h"

#include "providers/aws/model/aws_service_rules.h"
#include "providers/aws/rules/aws_attribute_rules.h"
#include "providers/aws/rules/aws_health_rules.h"

#define CREATED "sg-created"

static void add_filled(struct json_object *o, const char *name, const char *value)
{
    if (!str_is_empty(value)) {
        json_add_str(o, name, value);
    }
}

static struct json_object *listener_array(const struct aws_classic_listener *items, size_t n)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(array, eval_aws_listener(&items[i]));
    }
    return array;
}

/* ---- listeners ------------------------------------------------------------------------------- */

RUN(listeners)
{
    const struct tt_service *s;
    const struct aws_classic_listener *items;
    size_t n = 0;
    int rc = eval_service(a, json_member(in, "service"), &s, err);
    if (rc == ERR_OK) {
        rc = aws_service_check_protocols(s, AWS_CLASSIC, err);
    }
    if (rc == ERR_OK) {
        const struct aws_service_port *ports = aws_service_ports(a, s, AWS_CLASSIC, &n);
        rc = aws_service_listeners(a, s, ports, n, &items, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add(*ret, "listeners", listener_array(items, n));
    }
    return rc;
}

RUN(listeners_sync)
{
    size_t n_desired;
    size_t n_actual;
    struct aws_classic_listener *desired =
        eval_aws_listeners(a, json_member(in, "desired"), &n_desired);
    struct aws_classic_listener *actual =
        eval_aws_listeners(a, json_member(in, "actual"), &n_actual);
    struct aws_listener_diff d = aws_listeners_diff(a, desired, n_desired, actual, n_actual);
    struct json_object *removed = json_object_new_array();
    for (size_t i = 0; i < d.n_remove; i++) {
        json_object_array_add(removed, json_object_new_int(d.remove[i]));
    }
    *ret = json_object_new_object();
    json_add(*ret, "create", listener_array(d.create, d.n_create));
    json_add(*ret, "delete", removed);
    return ERR_OK;
}

/* ---- health checks, attributes --------------------------------------------------------------- */

RUN(nlb_health_check)
{
    struct aws_naming n = eval_aws_naming(in);
    const struct tt_service *s;
    struct aws_target_health_check c;
    int rc = eval_service(a, json_member(in, "service"), &s, err);
    if (rc == ERR_OK) {
        rc = aws_nlb_health(a, &n, s, &c, err);
    }
    if (rc == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "protocol", c.protocol);
        json_add_str(*ret, "port", c.port);
        json_add_str(*ret, "path", c.path);
        json_add_int(*ret, "interval", c.interval);
        json_add_int(*ret, "healthyThreshold", c.healthy);
        json_add_int(*ret, "unhealthyThreshold", c.unhealthy);
    }
    return rc;
}

RUN(nlb_attributes)
{
    _cleanup_(json_putp) struct json_object *service = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *given = json_member(in, "annotations");
    const struct tt_service *s;
    struct aws_tags wanted;
    if (given != NULL) {
        json_add(meta, "annotations", json_copy(given));
    }
    json_add(service, "metadata", meta);
    int rc = eval_service(a, service, &s, err);
    if (rc == ERR_OK) {
        rc = aws_nlb_attributes(a, s, &wanted, err);
    }
    if (rc == ERR_OK) {
        struct aws_tags current = eval_aws_tag_map(a, json_member(in, "current"));
        struct aws_tags modify = aws_nlb_attributes_diff(a, &wanted, &current);
        *ret = json_object_new_object();
        json_add(*ret, "modify", eval_aws_tags(&modify));
    }
    return rc;
}

RUN(target_group_attributes)
{
    struct aws_tags wanted = aws_pairs_read(a, json_str(in, "annotation"));
    struct aws_tags current = eval_aws_tag_map(a, json_member(in, "current"));
    struct aws_tags modify = aws_group_attributes_diff(a, &wanted, &current, false);
    *ret = json_object_new_object();
    json_add(*ret, "modify", eval_aws_tags(&modify));
    return ERR_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The environment: two public subnets, in this order; the annotation may choose among them. */
static int choose_subnets(struct arena *a, const struct aws_naming *n, const struct aws_service *s,
                          struct aws_texts *ret, struct err *err)
{
    static const struct aws_subnet subnets[] = {
        {.id = "subnet-a", .vpc = "vpc-1", .zone = "a", .cidr = "10.0.0.0/24"},
        {.id = "subnet-b", .vpc = "vpc-1", .zone = "b", .cidr = "10.0.1.0/24"},
    };
    static const struct aws_route_table table = {.id = "rtb-1", .main = true, .to_internet = true};
    static const struct aws_zone zones[] = {{.name = "a", .type = "availability-zone"},
                                            {.name = "b", .type = "availability-zone"}};
    const struct aws_places places = {.subnets = subnets,
                                      .n_subnets = ARRAY_LEN(subnets),
                                      .tables = &table,
                                      .n_tables = 1,
                                      .zones = zones,
                                      .n_zones = ARRAY_LEN(zones),
                                      .own_subnet = "subnet-a"};
    return aws_subnets_choose(a, n, &places, s, ret, NULL, err);
}

static struct json_object *group_ids(bool own, struct aws_texts groups)
{
    struct json_object *array = json_object_new_array();
    if (own) {
        json_push_str(array, CREATED);
    }
    for (size_t i = 0; i < groups.n; i++) {
        json_push_str(array, groups.items[i]);
    }
    return array;
}

static void add_group(struct arena *a, struct json_object *o, const struct aws_group_want *g)
{
    if (g == NULL) {
        return;
    }
    struct json_object *group = json_object_new_object();
    json_add_str(group, "GroupName", g->name);
    json_add_str(group, "Description", g->description);
    json_add(group, "Tags", eval_aws_tags(&g->tags));
    json_add(group, "rules", eval_aws_tuples(a, &g->rules));
    json_add(o, "securityGroup", group);
}

static struct json_object *object_with(const char *name, struct json_object *value)
{
    struct json_object *o = json_object_new_object();
    json_add(o, name, value);
    return o;
}

static struct json_object *classic_attributes(const struct aws_classic_attributes *w)
{
    struct json_object *o = json_object_new_object();
    struct json_object *log = object_with("Enabled", json_object_new_boolean(w->access_log == 1));
    struct json_object *draining =
        object_with("Enabled", json_object_new_boolean(w->draining == 1));
    if (w->emit_interval >= 0) {
        json_add_int(log, "EmitInterval", w->emit_interval);
    }
    json_add_str(log, "S3BucketName", w->bucket);
    json_add_str(log, "S3BucketPrefix", w->prefix);
    if (w->draining_timeout >= 0) {
        json_add_int(draining, "Timeout", w->draining_timeout);
    }
    json_add(o, "AccessLog", log);
    json_add(o, "ConnectionDraining", draining);
    json_add(o, "ConnectionSettings",
             object_with("IdleTimeout", json_object_new_int(w->idle_timeout)));
    json_add(o, "CrossZoneLoadBalancing",
             object_with("Enabled", json_object_new_boolean(w->cross_zone == 1)));
    return o;
}

static struct json_object *classic_health(const struct aws_classic_health *h)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "Target", h->target);
    json_add_int(o, "HealthyThreshold", h->healthy);
    json_add_int(o, "UnhealthyThreshold", h->unhealthy);
    json_add_int(o, "Timeout", h->timeout);
    json_add_int(o, "Interval", h->interval);
    return o;
}

/* Listener ports (instance ports with `instance`); only those with TLS when `tls`. */
static struct json_object *listener_ports(const struct aws_classic_want *w, bool instance, bool tls)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < w->n_listeners; i++) {
        const struct aws_classic_listener *l = &w->listeners[i];
        bool is_tls = str_eq(l->protocol, "ssl") || str_eq(l->protocol, "https");
        if (!tls || is_tls) {
            json_object_array_add(array,
                                  json_object_new_int(instance ? l->instance_port : l->port));
        }
    }
    return array;
}

RUN(classic_desired)
{
    struct aws_naming n;
    const struct aws_service *s;
    struct aws_classic_want w;
    struct aws_texts subnets;
    int rc = eval_aws_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        rc = choose_subnets(a, &n, s, &subnets, err);
    }
    if (rc == ERR_OK) {
        rc = aws_classic_desired(a, &n, s, subnets, (struct aws_texts){0}, &w, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *lb = json_object_new_object();
    json_add_str(lb, "LoadBalancerName", w.name);
    json_add_str(lb, "Scheme", w.internal ? "internal" : NULL);
    json_add(lb, "Listeners", listener_array(w.listeners, w.n_listeners));
    json_add(lb, "Subnets", json_strs(w.subnets.items, w.subnets.n));
    json_add(lb, "SecurityGroups", group_ids(w.own != NULL, w.groups));
    json_add(lb, "Tags", eval_aws_tags(&w.tags));
    *ret = object_with("loadBalancer", lb);
    json_add(*ret, "attributes", classic_attributes(&w.attributes));
    json_add(*ret, "healthCheck", classic_health(&w.health));
    if (w.proxy_protocol && w.n_listeners > 0) {
        json_add(*ret, "proxyProtocolPorts", listener_ports(&w, true, false));
    }
    if (w.has_ssl_policy) {
        struct json_object *policy = json_object_new_object();
        json_add_str(policy, "PolicyName", w.ssl_policy);
        json_add_str(policy, "reference", w.ssl_reference);
        json_add(policy, "ports", listener_ports(&w, false, true));
        json_add(*ret, "sslPolicy", policy);
    }
    add_group(a, *ret, w.own);
    return ERR_OK;
}

static struct json_object *nlb_balancer(const struct aws_nlb_want *w)
{
    struct json_object *lb = json_object_new_object();
    struct json_object *mappings = json_object_new_array();
    for (size_t i = 0; i < w->n_mappings; i++) {
        struct json_object *m = json_object_new_object();
        json_add_str(m, "SubnetId", w->mappings[i].subnet);
        add_filled(m, "AllocationId", w->mappings[i].allocation);
        add_filled(m, "PrivateIPv4Address", w->mappings[i].address);
        json_object_array_add(mappings, m);
    }
    json_add_str(lb, "Name", w->name);
    json_add_str(lb, "Scheme", w->internal ? "internal" : NULL);
    json_add(lb, "SubnetMappings", mappings);
    json_add(lb, "SecurityGroups", group_ids(w->own != NULL, w->groups));
    json_add(lb, "Tags", eval_aws_tags(&w->tags));
    return lb;
}

static struct json_object *nlb_listener(const struct aws_nlb_port *p)
{
    struct json_object *o = json_object_new_object();
    json_add_int(o, "Port", p->port);
    json_add_str(o, "Protocol", p->protocol);
    add_filled(o, "SslPolicy", p->ssl_policy);
    add_filled(o, "Certificate", p->certificate);
    json_add_str(o, "targetGroup", p->group_name);
    return o;
}

static struct json_object *nlb_group(const struct aws_nlb_port *p,
                                     const struct aws_target_health_check *c)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "Name", p->group_name);
    json_add_int(o, "Port", p->node_port);
    json_add_str(o, "Protocol", p->traffic_protocol);
    json_add_str(o, "HealthCheckProtocol", c->protocol);
    json_add_str(o, "HealthCheckPort", c->port);
    if (!str_eq(c->protocol, "TCP")) {
        json_add_str(o, "HealthCheckPath", c->path);
    }
    json_add_int(o, "HealthCheckIntervalSeconds", c->interval);
    json_add_int(o, "HealthyThresholdCount", c->healthy);
    json_add_int(o, "UnhealthyThresholdCount", c->unhealthy);
    return o;
}

static void add_modified(struct json_object *o, const char *name, const struct aws_tags *tags)
{
    if (tags->n > 0) {
        json_add(o, name, eval_aws_tags(tags));
    }
}

RUN(nlb_desired)
{
    static const struct aws_tag fresh[] = {{AWS_ATTRIBUTE_BUCKET, ""},
                                           {AWS_ATTRIBUTE_LOGS, "false"},
                                           {AWS_ATTRIBUTE_PREFIX, ""},
                                           {AWS_ATTRIBUTE_CROSS_ZONE, "false"}};
    static const struct aws_tag fresh_group[] = {{"preserve_client_ip.enabled", "true"},
                                                 {"proxy_protocol_v2.enabled", "false"}};
    const struct aws_tags lb_now = {fresh, ARRAY_LEN(fresh)};
    const struct aws_tags group_now = {fresh_group, ARRAY_LEN(fresh_group)};
    struct aws_naming n;
    const struct aws_service *s;
    struct aws_nlb_want w;
    struct aws_texts subnets;
    int rc = eval_aws_service(a, in, &n, &s, err);
    if (rc == ERR_OK) {
        rc = choose_subnets(a, &n, s, &subnets, err);
    }
    if (rc == ERR_OK) {
        rc = aws_nlb_desired(a, &n, s, subnets, (struct aws_texts){0}, &w, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    struct json_object *listeners_out = json_object_new_array();
    struct json_object *groups = json_object_new_array();
    for (size_t i = 0; i < w.n_ports; i++) {
        json_object_array_add(listeners_out, nlb_listener(&w.ports[i]));
        json_object_array_add(groups, nlb_group(&w.ports[i], &w.health));
    }
    struct aws_tags lb_diff = aws_nlb_attributes_diff(a, &w.attributes, &lb_now);
    struct aws_tags group_diff =
        aws_group_attributes_diff(a, &w.group_attributes, &group_now, false);
    *ret = object_with("loadBalancer", nlb_balancer(&w));
    json_add(*ret, "listeners", listeners_out);
    json_add(*ret, "targetGroups", groups);
    add_modified(*ret, "attributes", &lb_diff);
    if (w.n_ports > 0) {
        add_modified(*ret, "targetGroupAttributes", &group_diff);
    }
    add_group(a, *ret, w.own);
    return ERR_OK;
}

const struct eval_fn eval_aws_desired[] = {
    {"aws.listeners", listeners},
    {"aws.listeners_sync", listeners_sync},
    {"aws.nlb_health_check", nlb_health_check},
    {"aws.nlb_attributes", nlb_attributes},
    {"aws.target_group_attributes", target_group_attributes},
    {"aws.classic.desired", classic_desired},
    {"aws.nlb.desired", nlb_desired},
    {NULL, NULL},
};
