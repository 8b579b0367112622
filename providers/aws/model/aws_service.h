/* SPDX-License-Identifier: Apache-2.0 */
/* aws_service.h: what a Service asks of AWS: its annotations and ports, read once, and what follows
 * from them.  Pure.
 *
 * Reading never fails: what is wrong with a Service is kept as the first error in upstream's order
 * (4.1), because a Service that goes is cleaned up whatever it says, and a Service of another
 * controller is not an error here.  The two desired states need facts (instances, subnets) beside
 * it: aws_desired.h.
 * Source: docs/spec/aws.md 4.1 to 4.5, 5.1, 5.2, 8. */
#ifndef TRIMTAB_AWS_SERVICE_H
#define TRIMTAB_AWS_SERVICE_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/aws/model/aws_config.h"
#include "providers/aws/model/aws_model.h"

#include <trimtab/provider.h>

#define AWS_ANNOTATION "service.beta.kubernetes.io/aws-load-balancer-"

enum aws_kind {
    AWS_CLASSIC = 0,
    AWS_NLB,
    AWS_ELSEWHERE, /* nlb-ip, external: aws-load-balancer-controller's */
};
/* Names and modes that every Service shares; made from the configuration when
 * the provider opens. */
struct aws_naming {
    const char *cluster_id;   /* of the tags */
    const char *cluster_name; /* --cluster-name: hashed into names of managed groups (5.9) */
    bool legacy_tags;         /* KubernetesCluster is written, too */
    const char *region;
    const char *vpc;
    enum aws_probe_mode probe_mode;
    const char *probe_mode_text; /* as configured */
    int32_t probe_port;          /* 10256 unless configured */
    const char *probe_path;      /* "/healthz" unless configured */
    const char *nlb_group_mode;  /* as configured; "Managed" or "" are good */
    const char *shared_group;    /* ElbSecurityGroup or "" */
    bool no_node_rules;          /* DisableSecurityGroupIngress */
    struct aws_options options;  /* [Trimtab] */
};

/* A finding about a Service that does not stop its sync; becomes a Warning event. */
struct aws_finding {
    const char *reason;  /* CamelCase */
    const char *message; /* a sentence */
    const char *field;   /* the annotation's whole key, or "spec.…"; NULL: none by itself */
};

/* One port that has a node port. */
struct aws_service_port {
    const char *name;
    int32_t port;
    int32_t node_port;
    const char *protocol; /* "TCP", "UDP"; "TCP_UDP" where both meet (MixedProtocols) */
    bool tls; /* certificate and port selected, by the rule of the Service's kind (4.4, 5.1) */
    /* the same as upstream splits ssl-ports; differs from `tls` with blanks and
     * empty items alone */
    bool tls_upstream;
};

struct aws_service {
    const struct tt_service *in;
    const char *key; /* "namespace/name" */
    enum aws_kind kind;
    bool internal;
    const char *lb_name;                  /* "a" + UID */
    const char *classic_group;            /* "k8s-elb-" + lb_name */
    const char *nlb_group;                /* "k8s-NS8-SVC8-HASH10" */
    const struct aws_service_port *ports; /* those that have a node port, in the Service's order */
    size_t n_ports;
    struct aws_texts ranges;  /* IPv4, sorted, canonical */
    struct aws_texts ranges6; /* IPv6 likewise */
    bool local;               /* externalTrafficPolicy Local */
    /* annotations; NULL or n 0: absent */
    struct aws_tags extra_tags;       /* additional-resource-tags */
    bool has_group_attributes;        /* target-group-attributes is present */
    struct aws_tags group_attributes; /* … its pairs, and AWS' own values behind them */
    size_t n_named_attributes;        /* how many are pairs of the annotation */
    struct aws_tags node_labels;      /* target-node-labels */
    bool has_subnets;                 /* subnets is present */
    struct aws_texts subnets;         /* ids and names, trimmed, in order */
    struct aws_texts groups;          /* security-groups */
    struct aws_texts extra_groups;    /* extra-security-groups */
    struct aws_texts allocations;     /* eip-allocations, trimmed */
    bool has_allocations;
    struct aws_texts addresses; /* private-ipv4-addresses, trimmed */
    bool has_addresses;
    const char *certificate;      /* ssl-cert, or "" */
    const char *ssl_policy;       /* ssl-negotiation-policy; NULL absent, "" empty */
    const char *backend_protocol; /* or "" */
    bool proxy_protocol;          /* classic: "*" */
    struct err err; /* the first thing that is wrong (INVALID, IMPLEMENTED_ELSEWHERE); OK: none */
    const struct aws_finding *findings;
    size_t n_findings;
};
/* Borrowed: `s` and `naming`.  Lives in `a`. */
const struct aws_service *aws_service_read(struct arena *a, const struct aws_naming *naming,
                                           const struct tt_service *s);
/* Its target-node-labels alone; lives in `a`. */
struct aws_tags aws_node_labels_of(struct arena *a, const struct tt_service *s);
/* The fate of a load balancer of ours when the Service says that it is another controller's.  It
 * stays while the status names it, and until its owner says otherwise: what exists decides, not the
 * annotation of the moment. */
enum aws_claim {
    AWS_CLAIM_NONE = 0, /* it is another controller's, or it is an ordinary one of trimtab */
    AWS_CLAIM_STAYS,
    AWS_CLAIM_GOES, /* the status names another one, or the owner has annotated handed-over */
    /* The status names none any more: it stays if it is there, else what it left goes. */
    AWS_CLAIM_UNNAMED,
};
enum aws_claim aws_service_claim(struct arena *a, const struct aws_service *s);
/* Does its status name the load balancer that trimtab makes for it? */
bool aws_status_names_ours(const struct aws_service *s);
/* Its source ranges leave no client out. */
bool aws_lets_everybody_in(const struct aws_service *s);
/* "NLB" / "classic load balancer": in messages. */
const char *aws_kind_text(enum aws_kind kind);

#endif
