/* SPDX-License-Identifier: Apache-2.0 */
/* aws_annotations.c: the annotations of a Service that AWS knows, one row each, and those that only
 * aws-load-balancer-controller knows.
 *
 * The provider's page is printed from these tables, and a test holds it to them.  They also tell
 * annotations that do nothing: an unknown name (with the nearest known one),
 * one of the other controller, one of the other kind.  Rows stand in the order of docs/spec/aws.md
 * 8.2 and 8.3.  Pure. */
#include "providers/aws/model/aws_annotations.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"

#define BOTH     (AWS_ON_CLASSIC | AWS_ON_NLB)
#define REFUSED  "the Service is refused"
#define NAME     "what cannot be such a name: the Service is refused; else AWS refuses it"
#define APPLIED  "applied"
#define CREATION "only at creation"
#define BOOL     "true, false"

const struct aws_annotation aws_annotation_table[] = {
    {"type", 0, "nlb; nlb-ip or external: aws-load-balancer-controller's", "classic load balancer",
     "Which kind of load balancer the Service gets.", "any other text means classic",
     "refused while a load balancer of the other kind exists"},
    {"handed-over", 0, "true", "false",
     "With type external: the load balancer that is there may go, another one serves.",
     "any other text means false", APPLIED},
    {"internal", BOTH, "any text but false", "internet-facing",
     "The load balancer has private addresses only.", "any text but false means internal",
     "only at creation; with ReplaceOnSchemeChange the load balancer is made anew"},
    {"proxy-protocol", AWS_ON_CLASSIC, "*", "off",
     "Connections to nodes begin with the proxy protocol, on all ports.", REFUSED, APPLIED},
    {"access-log-enabled", BOTH, BOOL, "false", "Access logs are written to S3.",
     "the Service is refused; also true without the name of a bucket", APPLIED},
    {"access-log-emit-interval", AWS_ON_CLASSIC, "5, 60 (minutes)", "AWS' (60)",
     "How often logs are written.", REFUSED, APPLIED},
    {"access-log-s3-bucket-name", BOTH, "name of a bucket", "none", "Where logs go.", NAME,
     "applied; on an NLB while access logs are on"},
    {"access-log-s3-bucket-prefix", BOTH, "path", "none", "Where in the bucket.", NAME,
     "applied; on an NLB while access logs are on"},
    {"connection-draining-enabled", AWS_ON_CLASSIC, BOOL, "false",
     "Connections of a node that leaves may end.", REFUSED, APPLIED},
    {"connection-draining-timeout", AWS_ON_CLASSIC, "1 to 3600 seconds", "AWS' (300)",
     "How long they may take.", REFUSED, APPLIED},
    {"connection-idle-timeout", AWS_ON_CLASSIC, "1 to 4000 seconds", "60",
     "Idle connections are closed after it.", REFUSED, APPLIED},
    {"cross-zone-load-balancing-enabled", BOTH, BOOL, "false",
     "Each zone's address serves the nodes of all zones.", REFUSED, APPLIED},
    {"security-groups", BOTH, "ids with commas between them",
     "a group of its own (an NLB: with NLBSecurityGroupMode Managed)",
     "Security groups of the load balancer; their rules are yours.", NAME,
     "applied; an NLB needs NLBSecurityGroupMode Managed"},
    {"extra-security-groups", AWS_ON_CLASSIC, "ids with commas between them", "none",
     "Further security groups beside those it has.", "on an NLB the Service is refused", APPLIED},
    {"ssl-cert", BOTH, "ARN of a certificate (ACM or IAM)", "none",
     "Selected ports take TLS with this certificate.", NAME,
     "changed in place; a classic listener that had none is made anew, after the certificate was "
     "tried "
     "on a spare port"},
    {"ssl-ports", BOTH, "port numbers and names with commas between them, or *", "all ports",
     "Ports that take TLS; a classic load balancer compares names in lower case.",
     "names that no port has are ignored", APPLIED},
    {"ssl-negotiation-policy", BOTH, "name of a policy of AWS", "AWS' default",
     "Ciphers and protocols of TLS ports.", NAME,
     "applied; removed from a classic load balancer: the last one stays"},
    {"backend-protocol", BOTH, "tcp, ssl, http, https; on an NLB only ssl has an effect", "tcp",
     "Protocol of the connections to nodes.",
     "a classic load balancer with a certificate is refused; else ignored",
     "applied; NLB: target groups are made anew"},
    {"additional-resource-tags", BOTH, "key=value, ...; 50 with those of the controller", "none",
     "Further tags of resources made for the Service.",
     "pieces without a key are left out; a key of AWS (aws:…), too long or too many: the Service "
     "is "
     "refused",
     "added, never removed; NLB: only at creation, or with NLBTags"},
    {"healthcheck-protocol", BOTH, "HTTP, HTTPS, TCP; classic: SSL, too",
     "TCP; HTTP with externalTrafficPolicy Local or in probe mode Shared",
     "Protocol of health checks.", REFUSED, APPLIED},
    {"healthcheck-port", BOTH, "1 to 65535, or traffic-port",
     "the node port; spec.healthCheckNodePort with externalTrafficPolicy Local",
     "Port of health checks.", REFUSED, APPLIED},
    {"healthcheck-path", BOTH, "path that begins with /, at most 1024 characters",
     "/; /healthz with externalTrafficPolicy Local", "Path of HTTP and HTTPS health checks.",
     REFUSED, APPLIED},
    {"healthcheck-healthy-threshold", BOTH, "2 to 10 checks",
     "classic: 2; NLB: 3, 2 with externalTrafficPolicy Local",
     "So many good checks bring a node in.", REFUSED, APPLIED},
    {"healthcheck-unhealthy-threshold", BOTH, "2 to 10 checks",
     "classic: 6; NLB: 3, 2 with externalTrafficPolicy Local",
     "So many failed checks take a node out.", REFUSED, APPLIED},
    {"healthcheck-timeout", BOTH,
     "2 to 120 seconds, at most the interval; classic: 2 to 299, less than the interval",
     "classic: 5; NLB: AWS'", "Time for an answer.", REFUSED, APPLIED},
    {"healthcheck-interval", BOTH, "5 to 300 seconds",
     "classic: 10; NLB: 30, 10 with externalTrafficPolicy Local", "Time between checks.", REFUSED,
     APPLIED},
    {"target-group-attributes", AWS_ON_NLB,
     "preserve_client_ip.enabled=, proxy_protocol_v2.enabled= with true or false", "AWS' defaults",
     "Attributes of all target groups.", "the Service is refused; also on a classic load balancer",
     "applied; removed: AWS' own values come back"},
    {"eip-allocations", AWS_ON_NLB, "allocation ids with commas between them, one per subnet",
     "AWS chooses", "Elastic IPs of an internet-facing NLB, in the order of subnets.",
     "the Service is refused; also with another number than that of subnets", CREATION},
    {"private-ipv4-addresses", AWS_ON_NLB, "addresses with commas between them, one per subnet",
     "AWS chooses", "Addresses of an internal NLB, in the order of subnets.",
     "the Service is refused; also with another number than that of subnets", CREATION},
    {"target-node-labels", BOTH, "key=value, ...; key= for any value", "all nodes",
     "Only nodes with all of these labels are targets.",
     "pieces without a key are left out; labels that no node has: the targets stay", APPLIED},
    {"subnets", BOTH, "ids and Name tags with commas between them",
     "one per zone is found by tags and routes", "Subnets of the load balancer.",
     "the Service is refused; an NLB that is there stays in its subnets",
     "classic: applied; NLB: only at creation, or with NLBSubnets"},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct aws_elsewhere aws_elsewhere_table[] = {
    {"nlb-target-type", "targets are nodes or pods; here always nodes"},
    {"name", "the load balancer's own name"},
    {"scheme", "internal or internet-facing; here internal"},
    {"proxy-protocol-per-target-group", "proxy protocol v2 on listed ports; here "
                                        "target-group-attributes, for all"},
    {"ip-address-type", "dual stack"},
    {"ipv6-addresses", "addresses of a dual-stack NLB"},
    {"enable-prefix-for-ipv6-source-nat", "UDP over IPv6"},
    {"source-nat-ipv6-prefixes", "UDP over IPv6"},
    {"healthcheck-success-codes", "which HTTP answers are healthy"},
    {"alpn-policy", "ALPN on TLS listeners"},
    {"attributes", "any attribute of the load balancer"},
    {"target-group-attributes.PORT", "attributes of one port's target group"},
    {"listener-attributes.PROTOCOL-PORT", "attributes of one listener"},
    {"manage-backend-security-group-rules", "node rules although own groups are given"},
    {"inbound-sg-rules-on-private-link-traffic", "group rules for private link"},
    {"security-group-prefix-lists", "prefix lists as sources"},
    {"disable-nlb-sg", "no group although that is the default there"},
    {"multi-cluster-target-group", "target groups that several clusters share"},
    {"minimum-load-balancer-capacity", "reserved capacity"},
    {"enable-icmp-for-path-mtu-discovery", "the ICMP rule, which is always there here"},
    {"enable-tcp-udp-listener", "TCP and UDP on one port"},
    {"quic-enabled-ports", "QUIC"},
    {"quic-enabled-containers", "QUIC"},
    {NULL, NULL},
};

/* ---- what has no effect ---------------------------------------------------------------------- */

static const struct aws_annotation *known(const char *name)
{
    for (const struct aws_annotation *row = aws_annotation_table; row->name != NULL; row++) {
        if (str_eq(row->name, name)) {
            return row;
        }
    }
    return NULL;
}

/* Rows with a part in capitals stand for all names that begin alike. */
static bool is_elsewhere(const char *name)
{
    for (const struct aws_elsewhere *row = aws_elsewhere_table; row->name != NULL; row++) {
        const char *dot = strchr(row->name, '.');
        size_t n = dot == NULL ? 0 : (size_t)(dot - row->name) + 1;
        if (dot == NULL ? str_eq(row->name, name) : strncmp(row->name, name, n) == 0) {
            return true;
        }
    }
    return false;
}

/* NULL: it has its effect. */
static const char *why_not(struct arena *a, const char *name, enum aws_kind kind)
{
    const struct aws_annotation *row = known(name);
    unsigned on = kind == AWS_NLB ? AWS_ON_NLB : AWS_ON_CLASSIC;
    if (row != NULL) {
        return row->on == 0 || (row->on & on) != 0
                   ? NULL
                   : arena_printf(a, "has no effect on %s %s", kind == AWS_NLB ? "an" : "a",
                                  aws_kind_text(kind));
    }
    if (is_elsewhere(name)) {
        return "is known to aws-load-balancer-controller only and has no effect here";
    }
    return NULL;
}

/* ---- slips ----------------------------------------------------------------------------------- */

/* Of controllers for other clouds, which a manifest may carry beside ours: the Service page of
 * Kubernetes' documentation ("internal load balancer") and the pages of these controllers. */
static const char *const other_clouds[] = {
    "service.beta.kubernetes.io/alibaba-cloud-*",
    "service.beta.kubernetes.io/alicloud-*",
    "service.beta.kubernetes.io/azure-*",
    "service.beta.kubernetes.io/brightbox-*",
    "service.beta.kubernetes.io/cce-*",
    "service.beta.kubernetes.io/cpx-*",
    "service.beta.kubernetes.io/do-*",
    "service.beta.kubernetes.io/exoscale-*",
    "service.beta.kubernetes.io/gcp-*",
    "service.beta.kubernetes.io/hcloud-*",
    "service.beta.kubernetes.io/ibm-*",
    "service.beta.kubernetes.io/linode-*",
    "service.beta.kubernetes.io/oci-*",
    "service.beta.kubernetes.io/openstack-*",
    "service.beta.kubernetes.io/ovh-*",
    "service.beta.kubernetes.io/scw-*",
    "service.beta.kubernetes.io/upcloud-*",
    "service.beta.kubernetes.io/vultr-*",
};
/* Of aws-load-balancer-controller on a Service, whatever follows: its
 * page "Service annotations". */
static const char *elsewhere_key(struct arena *a, const struct aws_elsewhere *row)
{
    const char *dot = strchr(row->name, '.');
    return dot == NULL
               ? arena_printf(a, AWS_ANNOTATION "%s", row->name)
               : arena_printf(a, AWS_ANNOTATION "%.*s*", (int)(dot - row->name) + 1, row->name);
}

const struct lb_annotation_keys *aws_annotation_keys(struct arena *a)
{
    static const char *const prefixes[] = {AWS_ANNOTATION, "service.beta.kubernetes.io/", NULL};
    struct lb_annotation_keys *keys = ARENA_NEW(a, struct lb_annotation_keys);
    const char **known = ARENA_ARRAY(a, const char *, ARRAY_LEN(aws_annotation_table) + 2);
    const char **others =
        ARENA_ARRAY(a, const char *, ARRAY_LEN(aws_elsewhere_table) + ARRAY_LEN(other_clouds) + 1);
    size_t n = 0;
    for (const struct aws_annotation *row = aws_annotation_table; row->name != NULL; row++) {
        known[n++] = arena_printf(a, AWS_ANNOTATION "%s", row->name);
    }
    known[n] = LB_SOURCE_RANGES_ANNOTATION;
    n = 0;
    for (const struct aws_elsewhere *row = aws_elsewhere_table; row->name != NULL; row++) {
        others[n++] = elsewhere_key(a, row);
    }
    for (size_t i = 0; i < ARRAY_LEN(other_clouds); i++) {
        others[n++] = other_clouds[i];
    }
    *keys = (struct lb_annotation_keys){.prefixes = prefixes, .known = known, .others = others};
    return keys;
}

static bool is_ours(const char *key)
{
    const char *name = str_has_prefix(key, AWS_ANNOTATION) ? key + strlen(AWS_ANNOTATION) : NULL;
    return name != NULL && (known(name) != NULL || is_elsewhere(name));
}

/* False for most keys: the lists of keys are not made for these. */
static bool may_be_slip(const char *key)
{
    const char *slash = strchr(key, '/');
    return str_has_prefix(key, "service.beta.kubernetes.io/") ||
           (slash != NULL && (str_has_prefix(slash, "/aws-load-balancer-") ||
                              str_eq(slash, "/load-balancer-source-ranges")));
}

static const char *finding_of(struct arena *a, const char *key, enum aws_kind kind)
{
    if (is_ours(key)) {
        const char *why = why_not(a, key + strlen(AWS_ANNOTATION), kind);
        return why == NULL ? NULL : arena_printf(a, "annotation %s %s", key, why);
    }
    if (!may_be_slip(key)) {
        return NULL;
    }
    const char *meant = lb_annotation_meant(a, aws_annotation_keys(a), key);
    return meant == NULL ? NULL : lb_annotation_meant_text(a, key, meant);
}

size_t aws_annotation_findings(struct arena *a, const struct tt_service *s, enum aws_kind kind,
                               struct aws_finding *ret, size_t most)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_annotations && n < most; i++) {
        const char *key = s->annotations[i].key;
        const char *message = finding_of(a, key, kind);
        if (message != NULL) {
            ret[n++] = (struct aws_finding){
                .reason = "AnnotationIgnored", .message = message, .field = key};
        }
    }
    return n;
}
