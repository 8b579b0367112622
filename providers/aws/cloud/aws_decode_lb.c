/* SPDX-License-Identifier: Apache-2.0 */
/* aws_decode_lb.c: the items of the load balancers' answers, of both generations (aws_decode.h). */
#include "common/base/str.h"
#include "providers/aws/cloud/aws_cloud.h"
#include "providers/aws/cloud/aws_decode.h"

/* NULL when it is missing, which is not "". */
static const char *text_or_null(struct aws_decode *d, const struct aws_node *n, const char *path)
{
    return aws_xml_find(n, path) != NULL ? aws_decode_shared(d, n, path) : NULL;
}

/* ---- classic --------------------------------------------------------------------------------- */

static void decode_listeners(struct aws_decode *d, const struct aws_node *n, struct aws_classic *c)
{
    static const char path[] = "ListenerDescriptions";
    struct aws_classic_listener *items =
        ARENA_ARRAY(d->a, struct aws_classic_listener, aws_xml_count(n, path));
    AWS_XML_EACH(item, n, path)
    {
        items[c->n_listeners++] = (struct aws_classic_listener){
            .protocol = text_or_null(d, item, "Listener/Protocol"),
            .instance_protocol = text_or_null(d, item, "Listener/InstanceProtocol"),
            .port = aws_decode_int(item, "Listener/LoadBalancerPort", 0),
            .instance_port = aws_decode_int(item, "Listener/InstancePort", 0),
            .certificate = text_or_null(d, item, "Listener/SSLCertificateId"),
            .policies = aws_decode_texts(d, item, "PolicyNames", NULL, false),
        };
    }
    c->listeners = items;
}

static void decode_backends(struct aws_decode *d, const struct aws_node *n, struct aws_classic *c)
{
    static const char path[] = "BackendServerDescriptions";
    struct aws_classic_backend *items =
        ARENA_ARRAY(d->a, struct aws_classic_backend, aws_xml_count(n, path));
    AWS_XML_EACH(item, n, path)
    {
        items[c->n_backends++] = (struct aws_classic_backend){
            .port = aws_decode_int(item, "InstancePort", 0),
            .policies = aws_decode_texts(d, item, "PolicyNames", NULL, false),
        };
    }
    c->backends = items;
}

bool aws_decode_classic(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_classic *c = ret;
    const struct aws_node *health = aws_xml_find(n, "HealthCheck");
    c->name = aws_decode_text(d, n, "LoadBalancerName");
    c->dns = aws_decode_text(d, n, "DNSName");
    c->scheme = aws_decode_shared(d, n, "Scheme");
    c->vpc = aws_decode_shared(d, n, "VPCId");
    c->subnets = aws_decode_texts(d, n, "Subnets", NULL, true);
    c->zones = aws_decode_shared_texts(d, n, "AvailabilityZones", "");
    c->groups = aws_decode_texts(d, n, "SecurityGroups", NULL, false);
    c->instances = aws_decode_shared_texts(d, n, "Instances", "InstanceId");
    decode_listeners(d, n, c);
    decode_backends(d, n, c);
    c->health = (struct aws_classic_health){
        .known = health != NULL && !str_is_empty(aws_xml_text(health, "Target")),
        .target = aws_decode_shared(d, health, "Target"),
        .interval = aws_decode_int(health, "Interval", 0),
        .timeout = aws_decode_int(health, "Timeout", 0),
        .unhealthy = aws_decode_int(health, "UnhealthyThreshold", 0),
        .healthy = aws_decode_int(health, "HealthyThreshold", 0),
    };
    c->other_policies = aws_decode_texts(d, n, "Policies/OtherPolicies", NULL, false);
    return *c->name != '\0';
}

/* 1, 0, or -1 when it is missing. */
static int tristate(const struct aws_node *n, const char *path)
{
    return aws_xml_bool(n, path, false) ? 1 : aws_xml_bool(n, path, true) ? -1 : 0;
}

bool aws_decode_classic_attributes(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    *(struct aws_classic_attributes *)ret = (struct aws_classic_attributes){
        .access_log = tristate(n, "AccessLog/Enabled"),
        .emit_interval = aws_decode_int(n, "AccessLog/EmitInterval", -1),
        .bucket = text_or_null(d, n, "AccessLog/S3BucketName"),
        .prefix = text_or_null(d, n, "AccessLog/S3BucketPrefix"),
        .draining = tristate(n, "ConnectionDraining/Enabled"),
        .draining_timeout = aws_decode_int(n, "ConnectionDraining/Timeout", -1),
        .idle_timeout = aws_decode_int(n, "ConnectionSettings/IdleTimeout", -1),
        .cross_zone = tristate(n, "CrossZoneLoadBalancing/Enabled"),
    };
    return true;
}

/* ---- v2 -------------------------------------------------------------------------------------- */

bool aws_decode_nlb(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_nlb *b = ret;
    b->arn = aws_decode_text(d, n, "LoadBalancerArn");
    b->name = aws_decode_text(d, n, "LoadBalancerName");
    b->dns = aws_decode_text(d, n, "DNSName");
    b->type = aws_decode_shared(d, n, "Type");
    b->scheme = aws_decode_shared(d, n, "Scheme");
    b->state = aws_decode_shared(d, n, "State/Code");
    b->vpc = aws_decode_shared(d, n, "VpcId");
    b->subnets = aws_decode_texts(d, n, "AvailabilityZones", "SubnetId", false);
    b->zones = aws_decode_shared_texts(d, n, "AvailabilityZones", "ZoneName");
    b->groups = aws_decode_texts(d, n, "SecurityGroups", NULL, false);
    b->allocations = aws_decode_texts(d, n, "AvailabilityZones",
                                      "LoadBalancerAddresses/member/AllocationId", true);
    b->addresses = aws_decode_texts(d, n, "AvailabilityZones",
                                    "LoadBalancerAddresses/member/PrivateIPv4Address", true);
    return *b->arn != '\0';
}

bool aws_decode_listener(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_listener *l = ret;
    const struct aws_node *action = aws_xml_first(n, "DefaultActions");
    const struct aws_node *forwards = aws_xml_first(action, "ForwardConfig/TargetGroups");
    l->arn = aws_decode_text(d, n, "ListenerArn");
    l->balancer = aws_decode_shared(d, n, "LoadBalancerArn");
    l->port = aws_decode_int(n, "Port", 0);
    l->protocol = aws_decode_shared(d, n, "Protocol");
    l->ssl_policy = aws_decode_shared(d, n, "SslPolicy");
    l->certificate = aws_decode_shared(d, aws_xml_first(n, "Certificates"), "CertificateArn");
    l->target_group = aws_decode_text(d, action, "TargetGroupArn");
    if (*l->target_group == '\0') {
        l->target_group = aws_decode_text(d, forwards, "TargetGroupArn");
    }
    return *l->arn != '\0';
}

bool aws_decode_target_group(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_target_group *g = ret;
    g->arn = aws_decode_text(d, n, "TargetGroupArn");
    g->name = aws_decode_text(d, n, "TargetGroupName");
    g->protocol = aws_decode_shared(d, n, "Protocol");
    g->port = aws_decode_int(n, "Port", 0);
    g->vpc = aws_decode_shared(d, n, "VpcId");
    g->health = (struct aws_target_health_check){
        .protocol = aws_decode_shared(d, n, "HealthCheckProtocol"),
        .port = aws_decode_shared(d, n, "HealthCheckPort"),
        .path = aws_decode_shared(d, n, "HealthCheckPath"),
        .interval = aws_decode_int(n, "HealthCheckIntervalSeconds", 0),
        .timeout = aws_decode_int(n, "HealthCheckTimeoutSeconds", 0),
        .healthy = aws_decode_int(n, "HealthyThresholdCount", 0),
        .unhealthy = aws_decode_int(n, "UnhealthyThresholdCount", 0),
    };
    g->balancers = aws_decode_texts(d, n, "LoadBalancerArns", NULL, false);
    return *g->arn != '\0';
}

bool aws_decode_target(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_target *t = ret;
    t->id = aws_decode_text(d, n, "Target/Id");
    t->port = aws_decode_int(n, "Target/Port", 0);
    t->state = aws_decode_shared(d, n, "TargetHealth/State");
    t->reason = aws_decode_shared(d, n, "TargetHealth/Reason");
    return *t->id != '\0';
}

bool aws_decode_attribute(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_tag *t = ret;
    t->key = aws_decode_shared(d, n, "Key");
    t->value = aws_decode_shared(d, n, "Value");
    return *t->key != '\0';
}

bool aws_decode_arn_tags(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_arn_tags *t = ret;
    t->arn = aws_decode_text(d, n, "ResourceArn");
    if (*t->arn == '\0') {
        t->arn = aws_decode_text(d, n, "LoadBalancerName");
    }
    t->tags = aws_decode_tags(d, n, "Tags", NULL);
    return *t->arn != '\0';
}
