/* SPDX-License-Identifier: Apache-2.0 */
/* lb.c: what load balancers need of the rest of the cloud: subnets, groups, certificates,
 * instances, time.  See lb.h.
 *
 * Reads the store, changes nothing.  Source: docs/spec/aws.md §3.3, §4.9, §10.3. */
#include "sim/aws/elb/lb.h"

#include <string.h>

#define LB_GROUPS_MAX     5
#define LB_FREE_ADDRESSES 8 /* that a subnet must have left */

bool lb_find_place(struct amz_request *q, const char *subnet, bool stands, struct lb_place *ret)
{
    struct amz_ec2_subnet found;
    if (!amz_ec2_subnet(q->aws, subnet, &found)) {
        return amz_refuse(q, "SubnetNotFound", "The subnet ID '%s' does not exist", subnet);
    }
    if (!stands && found.free_addresses - amz_subnet_nodes(q->aws, subnet) < LB_FREE_ADDRESSES) {
        return amz_refuse(q, "InvalidSubnet",
                          "Not enough IP space available in %s. ELB requires at least %d free IP "
                          "addresses in each subnet.",
                          subnet, LB_FREE_ADDRESSES);
    }
    *ret = (struct lb_place){.subnet = subnet,
                             .vpc = found.vpc,
                             .zone = found.zone,
                             .cidr = found.cidr,
                             .ipv6_cidr = found.ipv6_cidr};
    return true;
}

static void put_world(void *world)
{
    json_object_put(world);
}

const struct reach_answers *lb_answers(struct amz_request *q)
{
    void *kube = sim_module_state(q->aws->sim, "kubernetes");
    struct json_object *behind = kube ? sim_kube_behind(kube) : NULL;
    if (!behind) {
        return NULL;
    }
    arena_defer(q->a, put_world, behind);
    return reach_answers_read(q->a, behind);
}

bool lb_answers_check(struct amz_request *q, const struct reach_answers *answers,
                      const char *instance, struct reach_probe check)
{
    check.node = amz_ec2_instance_dns(q->aws, instance);
    return reach_probe_succeeds(answers, &check);
}

int64_t amz_subnet_nodes(const struct aws *aws, const char *subnet)
{
    int64_t n = 0;
    for (struct amz_resource *r = amz_first(aws, AMZ_CLASSIC); r; r = r->next) {
        n += amz_has_text(json_member(r->body, "Subnets"), subnet);
    }
    for (struct amz_resource *r = amz_first(aws, AMZ_LOAD_BALANCER); r; r = r->next) {
        struct json_object *zones = json_member(r->body, "AvailabilityZones");
        n += amz_find(zones, "SubnetId", subnet, NULL) != NULL;
    }
    return n;
}

bool lb_check_places(struct amz_request *q, const struct lb_place *places, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!str_eq(places[i].vpc, places[j].vpc)) {
                return amz_refuse(q, "InvalidConfigurationRequest",
                                  "All subnets must belong to the same VPC: '%s, %s'",
                                  places[j].subnet, places[i].subnet);
            }
            if (str_eq(places[i].zone, places[j].zone)) {
                return amz_refuse(q, "InvalidConfigurationRequest",
                                  "A load balancer cannot be attached to multiple subnets in the "
                                  "same Availability Zone");
            }
        }
    }
    return true;
}

bool lb_check_gateway(struct amz_request *q, const char *vpc)
{
    return amz_ec2_vpc_has_gateway(q->aws, vpc)
               ? true
               : amz_refuse(q, "InvalidSubnet", "VPC %s has no internet gateway", vpc);
}

bool lb_check_groups(struct amz_request *q, struct json_object *groups, const char *vpc)
{
    for (size_t i = 0; i < json_len(groups); i++) {
        const char *id = json_object_get_string(json_object_array_get_idx(groups, i));
        const char *of = amz_ec2_group_vpc(q->aws, id);
        if (!of) {
            return amz_refuse(q, "InvalidSecurityGroup", "The security group '%s' does not exist",
                              id);
        }
        if (!str_eq(of, vpc)) {
            return amz_refuse(q, "InvalidSecurityGroup",
                              "The security group '%s' does not belong to VPC '%s'", id, vpc);
        }
    }
    int64_t most = amz_quota(q->aws, "groups_per_balancer", LB_GROUPS_MAX);
    if ((int64_t)json_len(groups) > most) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "A load balancer cannot have more than '%lld' security groups",
                          (long long)most);
    }
    return true;
}

/* A new certificate is known to ACM before Elastic Load Balancing knows it.  The time of its
 * creation is unknown, so the first request that names it starts the time. */
static bool is_visible(const struct aws *aws, const char *arn)
{
    int64_t ms = amz_setting(aws, "certificate_after_ms", 0);
    int64_t *named_ms = map_get(aws->certificates, arn);
    if (ms > 0 && !named_ms) {
        named_ms = xmalloc(sizeof(*named_ms));
        *named_ms = lb_now_ms(aws);
        map_set(aws->certificates, arn, named_ms);
    }
    return ms <= 0 || lb_now_ms(aws) - *named_ms >= ms;
}

bool lb_check_certificate(struct amz_request *q, const char *arn)
{
    bool acm = lb_arn_is(arn, "acm", "certificate");
    if (!acm && !lb_arn_is(arn, "iam", "server-certificate")) {
        return q->service == AMZ_ELBV2
                   ? amz_refuse_value(q, "Certificate ARN '%s' is not valid", arn)
                   : amz_refuse(q, "CertificateNotFound",
                                "Server Certificate not found for the key: %s", arn);
    }
    struct json_object *listed = json_member(q->aws->settings, "certificates");
    bool exists = amz_get(q->aws, AMZ_CERTIFICATE, arn) ||
                  (listed ? amz_has_text(listed, arn)
                          : strstr(arn, ":" AMZ_ACCOUNT ":") && !strstr(arn, "missing"));
    if (!exists || !is_visible(q->aws, arn)) {
        return amz_refuse(q, "CertificateNotFound", "Certificate '%s' not found", arn);
    }
    return true;
}

bool lb_check_bucket(struct amz_request *q, const char *bucket)
{
    struct json_object *listed = json_member(q->aws->settings, "buckets");
    if (listed ? !amz_has_text(listed, bucket) : strstr(bucket, "missing") != NULL) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "S3Bucket: %s is not located in the same region as the load balancer, or "
                          "does not exist",
                          bucket);
    }
    if (strstr(bucket, "denied")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Access Denied for bucket: %s. Please check S3bucket permission", bucket);
    }
    return true;
}

int64_t lb_now_ms(const struct aws *aws)
{
    return clock_now_ms(sim_clock(aws->sim));
}

int64_t lb_delay_ms(const struct aws *aws, const char *setting, int64_t cloud_ms)
{
    bool cloud = sim_cfg(aws->sim)->latency == SIM_LATENCY_CLOUD;
    return amz_setting(aws, setting, cloud ? cloud_ms : 0);
}
