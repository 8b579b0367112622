/* SPDX-License-Identifier: Apache-2.0 */
/* aws_model.h: what AWS has, as structs: the members that a load-balancer controller reads, and no
 * more.
 *
 * Decoded from XML (aws_decode.h), or from a saved state (aws_state.h); compared with what is
 * wanted by the planners.  Text is never NULL where the API always answers it; where it may be
 * missing, the member says so.  All of it lives in the arena of the document that it belongs to and
 * is immutable there.  Lists keep the order of the answer unless noted.
 * Source: docs/spec/aws.md 3.5. */
#ifndef TRIMTAB_AWS_MODEL_H
#define TRIMTAB_AWS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aws_texts {
    const char *const *items;
    size_t n;
};
struct aws_tag {
    const char *key;
    const char *value; /* "" when absent */
};
/* Sorted by key, unique. */
struct aws_tags {
    const struct aws_tag *items;
    size_t n;
};
/* Of one resource of a balancers' API. */
struct aws_arn_tags {
    const char *arn; /* or the name of a classic balancer */
    struct aws_tags tags;
};

/* ---- EC2: places ----------------------------------------------------------------------------- */

struct aws_subnet {
    const char *id;
    const char *vpc;
    const char *zone;
    const char *cidr; /* IPv4; "" when it has none */
    struct aws_tags tags;
};
struct aws_route_table {
    const char *id;
    struct aws_texts subnets; /* explicitly associated ones */
    bool main;
    bool to_internet; /* a route goes to a gateway whose id begins with "igw" */
};
struct aws_zone {
    const char *name;
    const char *type; /* "availability-zone", "local-zone", "wavelength-zone"; "" unknown */
};
struct aws_group_ref {
    const char *id;
    const char *name;
};
struct aws_instance {
    const char *id;
    const char *state; /* "running" … */
    const char *zone;
    const char *vpc;
    bool in_cluster; /* carries the cluster tag (4.9 item 1's rule) */
    const struct aws_group_ref *groups;
    size_t n_groups;
};

/* ---- EC2: security groups -------------------------------------------------------------------- */

enum aws_peer {
    AWS_PEER_CIDR = 0,
    AWS_PEER_CIDR6,
    AWS_PEER_GROUP,
    AWS_PEER_PREFIX_LIST,
};
#define AWS_NO_PORT (-2) /* absent; -1 is "all ICMP types" */
/* One ingress rule: one protocol, port range and source.  What AWS shows as a permission with three
 * ranges is three. */
struct aws_rule {
    const char *protocol; /* "tcp", "udp", "icmp", "icmpv6", "-1", a number */
    int32_t from;         /* or AWS_NO_PORT */
    int32_t to;
    enum aws_peer peer;
    const char *source;      /* CIDR, group id, prefix list id */
    const char *user;        /* AWS_PEER_GROUP: account, or "" */
    const char *description; /* "" none */
};
/* Sorted by aws_rule_compare() (aws_group_rules.h), unique. */
struct aws_rules {
    const struct aws_rule *items;
    size_t n;
};
struct aws_group {
    const char *id;
    const char *name;
    const char *description;
    const char *vpc;
    struct aws_tags tags;
    struct aws_rules rules; /* ingress */
};

/* ---- Elastic Load Balancing, classic --------------------------------------------------------- */

struct aws_classic_listener {
    /* as AWS or the Service spells it; compared without case.  NULL: absent */
    const char *protocol;
    const char *instance_protocol; /* likewise */
    int32_t port;
    int32_t instance_port;
    const char *certificate;   /* NULL: absent, which is not "" */
    struct aws_texts policies; /* PolicyNames; what is there only */
};
struct aws_classic_health {
    bool known;         /* false: the answer has none, as moto's (10.4 row 22) */
    const char *target; /* "TCP:30080", "HTTP:32000/healthz" */
    int32_t interval;
    int32_t timeout;
    int32_t unhealthy;
    int32_t healthy;
};
struct aws_classic_backend {
    int32_t port;
    struct aws_texts policies;
};
struct aws_classic {
    const char *name;
    const char *dns; /* "" none yet */
    const char *scheme;
    const char *vpc;
    struct aws_texts subnets;   /* sorted */
    struct aws_texts zones;     /* of the subnets, as answered; n 0: not known */
    struct aws_texts groups;    /* as answered */
    struct aws_texts instances; /* sorted ids */
    const struct aws_classic_listener *listeners;
    size_t n_listeners;
    struct aws_classic_health health;
    const struct aws_classic_backend *backends;
    size_t n_backends;
    struct aws_texts other_policies; /* Policies/OtherPolicies: SSL and proxy policies */
};
/* Members that a Service may set; -1 and NULL: not set, or not answered. */
struct aws_classic_attributes {
    int access_log; /* 0, 1 */
    int32_t emit_interval;
    const char *bucket;
    const char *prefix;
    int draining; /* 0, 1 */
    int32_t draining_timeout;
    int32_t idle_timeout;
    int cross_zone; /* 0, 1 */
};

/* ---- Elastic Load Balancing v2 --------------------------------------------------------------- */

struct aws_nlb {
    const char *arn;
    const char *name;
    const char *dns;
    const char *type; /* "network"; others have taken the name */
    const char *scheme;
    const char *state; /* "provisioning", "active", "active_impaired", "failed" */
    const char *vpc;
    struct aws_texts subnets; /* of its zones */
    struct aws_texts zones;   /* names, as answered */
    struct aws_texts groups;
    /* of its zones, sorted; only those that were given at creation */
    struct aws_texts allocations;
    struct aws_texts addresses;
};
struct aws_listener {
    const char *arn;
    const char *balancer; /* ARN */
    int32_t port;
    const char *protocol;     /* "TCP", "UDP", "TLS" … */
    const char *ssl_policy;   /* "" none; moto says one for TCP, too (10.4 row 3) */
    const char *certificate;  /* ARN of the first, or "" */
    const char *target_group; /* ARN that the first default action forwards to, or "" */
};
struct aws_target_health_check {
    const char *protocol;
    const char *port; /* "traffic-port" or a number */
    const char *path; /* "" none */
    int32_t interval;
    int32_t timeout; /* 0: not answered; wanted: 0 = not set */
    int32_t healthy;
    int32_t unhealthy;
};
struct aws_target_group {
    const char *arn;
    const char *name;
    const char *protocol;
    int32_t port;
    const char *vpc;
    struct aws_target_health_check health;
    struct aws_texts balancers; /* ARNs of balancers that forward to it */
};
struct aws_target {
    const char *id; /* of the instance */
    int32_t port;
    const char *state;  /* "healthy", "draining" … */
    const char *reason; /* "Target.DeregistrationInProgress" … or "" */
};
struct aws_targets {
    const struct aws_target *items;
    size_t n;
};

#endif
