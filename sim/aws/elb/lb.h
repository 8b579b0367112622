/* SPDX-License-Identifier: Apache-2.0 */
/* lb.h: what both generations of load balancers share: names, subnets, groups, certificates, time.
 *
 * Checks refuse and return false, as everywhere in sim/aws; codes and statuses are those that the
 * action's pack declares.  A balancer's place is the list of its subnets: all of one VPC, at most
 * one in each zone.
 * Source: docs/spec/aws.md §3.3, §3.5, §10.4. */
#ifndef TRIMTAB_SIM_AWS_LB_H
#define TRIMTAB_SIM_AWS_LB_H

#include "sim/aws/aws.h"
#include "sim/aws/ec2/ec2.h"
#include "sim/reach/checks.h"

#define LB_SSL_POLICY "ELBSecurityPolicy-2016-08" /* of secure listeners that name none */

/* A subnet that a balancer is to stand in. */
struct lb_place {
    const char *subnet; /* id */
    const char *vpc;
    const char *zone;      /* "us-east-1a" */
    const char *cidr;      /* IPv4 */
    const char *ipv6_cidr; /* NULL: none */
};

/* --- lb_rules.c: pure ------------------------------------------------------------------------- */

/* At most 32 letters, digits and hyphens, no hyphen at either end, not "internal-…". */
bool lb_check_name(struct amz_request *q, const char *what, const char *name);
/* A security policy that AWS ships. */
bool lb_ssl_policy_is_known(const char *name);
/* "arn:aws…:SERVICE:…:KIND/…" with something behind it. */
bool lb_arn_is(const char *arn, const char *service, const char *kind);
/* The same texts, in any order. */
bool lb_same_texts(struct json_object *a, struct json_object *b);
/* The texts without repetitions; new reference. */
struct json_object *lb_unique(struct json_object *list);
/* The same tags, in any order; lists may be NULL. */
bool lb_same_tags(struct json_object *a, struct json_object *b);
/* "a, b" of a list of texts. */
const char *lb_joined(struct arena *a, struct json_object *list);

/* --- lb.c ------------------------------------------------------------------------------------- */

/* Looks up a subnet that has room for a balancer, unless it `stands` there already: SubnetNotFound,
 * InvalidSubnet. */
bool lb_find_place(struct amz_request *q, const char *subnet, bool stands, struct lb_place *ret);
/* These n places are in one VPC and each in a zone of its own: InvalidConfigurationRequest. */
bool lb_check_places(struct amz_request *q, const struct lb_place *places, size_t n);
/* A balancer that faces the internet needs a gateway there: InvalidSubnet. */
bool lb_check_gateway(struct amz_request *q, const char *vpc);
/* Groups exist in that VPC, and are not too many: InvalidSecurityGroup,
 * InvalidConfigurationRequest. */
bool lb_check_groups(struct amz_request *q, struct json_object *groups, const char *vpc);
/* The certificate is one of ACM or IAM and exists: CertificateNotFound.  There are those of the
 * world and of the setting "certificates"; without the setting also every other of this account,
 * unless its ARN says "missing".  One is found no earlier than setting "certificate_after_ms" after
 * the first request that named it. */
bool lb_check_certificate(struct amz_request *q, const char *arn);
/* Access logs can be written to the bucket: InvalidConfigurationRequest.  There are those of the
 * setting "buckets", without it all but those named "…missing…"; one named "…denied…" refuses all
 * writes. */
bool lb_check_bucket(struct amz_request *q, const char *bucket);
/* The cluster's nodes' answers to health checks, NULL if unknown; and whether this instance passes
 * this one. */
const struct reach_answers *lb_answers(struct amz_request *q);
bool lb_answers_check(struct amz_request *q, const struct reach_answers *answers,
                      const char *instance, struct reach_probe check);
int64_t lb_now_ms(const struct aws *aws);
/* A duration of the settings; without one: none at latency none, `cloud_ms` at latency cloud. */
int64_t lb_delay_ms(const struct aws *aws, const char *setting, int64_t cloud_ms);
#endif
