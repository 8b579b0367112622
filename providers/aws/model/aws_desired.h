/* SPDX-License-Identifier: Apache-2.0 */
/* aws_desired.h: what a Service's load balancer should be, whole, whether or not it exists.  Pure.
 *
 * Two shapes: a classic load balancer (docs/spec/aws.md 4) and an NLB (5).  Planners compare them
 * with what is there.  Subnets and targets are given: aws_subnet_rules.h
 * and aws_target_rules.h choose them. */
#ifndef TRIMTAB_AWS_DESIRED_H
#define TRIMTAB_AWS_DESIRED_H

#include "providers/aws/model/aws_service.h"

/* A security group that is ours to make and to fill. */
struct aws_group_want {
    const char *name;
    const char *description;
    struct aws_tags tags;   /* at creation; cluster tags among them */
    struct aws_rules rules; /* exactly these */
};

struct aws_classic_want {
    const char *name;
    bool internal;
    struct aws_texts subnets; /* in the order of their choice */
    /* Security groups: `own` first when it is not NULL (its id is known when it
     * exists), then `groups`. */
    /* NULL: named by annotation or configuration, rules are not ours */
    const struct aws_group_want *own;
    struct aws_texts groups; /* security-groups or ElbSecurityGroup, then extra-security-groups */
    const struct aws_classic_listener *listeners; /* Service port order */
    size_t n_listeners;
    struct aws_classic_health health;
    struct aws_classic_attributes attributes; /* only what the controller sets */
    bool proxy_protocol;
    bool has_ssl_policy;        /* the annotation is there */
    const char *ssl_policy;     /* policy name: "k8s-SSLNegotiationPolicy-" + value */
    const char *ssl_reference;  /* the value */
    struct aws_tags tags;       /* at creation */
    struct aws_tags add_tags;   /* added later, too: additional-resource-tags alone */
    struct aws_texts instances; /* sorted ids */
};

struct aws_nlb_port {
    int32_t port;
    int32_t node_port;
    const char *protocol;         /* frontend: "TCP", "UDP", "TLS", "TCP_UDP" */
    const char *traffic_protocol; /* of the target group */
    const char *certificate;      /* TLS; else "" */
    const char *ssl_policy;       /* TLS; "" none asked for */
    const char *group_name;       /* 5.7 */
};
struct aws_subnet_mapping {
    const char *subnet;
    const char *allocation; /* or "" */
    const char *address;    /* or "" */
};
struct aws_nlb_want {
    const char *name;
    bool internal;
    const struct aws_subnet_mapping *mappings;
    size_t n_mappings;
    /* Of one that is there, set by the planner: it goes to these subnets, too (NLBSubnets),
     * or why not. */
    bool moves;
    const char *stays_because;
    const struct aws_nlb_port *ports; /* Service port order */
    size_t n_ports;
    struct aws_target_health_check health; /* of all target groups; timeout 0 unless annotated */
    bool managed_groups;                   /* NLBSecurityGroupMode Managed */
    const struct aws_group_want *own;      /* Managed without own groups; else NULL */
    struct aws_texts groups;               /* Managed with security-groups: these */
    /* load balancer attributes the controller sets; values as AWS spells them */
    struct aws_tags attributes;
    struct aws_tags group_attributes; /* as of the Service */
    size_t n_named_attributes;        /* the same */
    bool has_group_attributes;
    struct aws_tags tags;       /* of balancer, listeners, target groups */
    struct aws_texts instances; /* sorted ids */
};

/* Health checks, ports and all that needs no facts is checked here; ERR_INVALID as upstream refuses
 * (4.2 to 4.12, 5.1 to 5.10).  `subnets`: chosen ones in their order; `instances`:
 * ids, may repeat. */
int aws_classic_desired(struct arena *a, const struct aws_naming *naming,
                        const struct aws_service *s, struct aws_texts subnets,
                        struct aws_texts instances, struct aws_classic_want *ret, struct err *err);
int aws_nlb_desired(struct arena *a, const struct aws_naming *naming, const struct aws_service *s,
                    struct aws_texts subnets, struct aws_texts instances, struct aws_nlb_want *ret,
                    struct err *err);

#endif
