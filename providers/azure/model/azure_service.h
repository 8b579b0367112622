/* SPDX-License-Identifier: Apache-2.0 */
/* azure_service.h: what a Service asks of Azure: its annotations and spec, read once, by one parser
 * each.
 *
 * Every annotation is a row of azure_annotation_table: its key, allowed values, default, and what a
 * wrong value does.  The reference page (docs/providers/azure.md) is printed from the same table.
 * azure_service_read() never fails:  what is wrong is kept as findings, because a Service that is
 * deleted must be cleaned up whatever it says.
 * Source: docs/spec/azure.md 6.2, 10.1, 11; 18 for what is ours.  Pure. */
#ifndef TRIMTAB_AZURE_SERVICE_H
#define TRIMTAB_AZURE_SERVICE_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/azure/model/azure_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/types.h>

#define AZURE_PROVIDER          "azure" /* its name, in marks, too (common/lb/mark_rules.h) */
#define AZURE_ANNOTATION_PREFIX "service.beta.kubernetes.io/"
#define AZURE_IDLE_TIMEOUT      "azure-load-balancer-tcp-idle-timeout"
#define AZURE_IDLE_TIMEOUT_MIN  4 /* minutes, as Azure has it; also the default */
#define AZURE_IDLE_TIMEOUT_MAX  100

/* Invalid values that only lose their effect; other kinds are checked where they are read. */
enum azure_value {
    AZURE_VALUE_OTHER,
    AZURE_VALUE_SWITCH,         /* true, or it counts as false */
    AZURE_VALUE_SWITCH_TRIMMED, /* the same, and blanks around it do not count */
    AZURE_VALUE_PROBE,          /* a probe's protocol, or it counts as tcp */
    AZURE_VALUE_PAIRS,          /* key=value, ...; what is no pair is left out */
};
struct azure_annotation {
    const char *name;    /* without the prefix; "port_<port>_…" stands for every port */
    const char *values;  /* for people: "true", "4-100", "CIDR, …" */
    const char *initial; /* when absent */
    const char *effect;  /* one sentence */
    const char *invalid; /* what a wrong value does */
    enum azure_value value;
};
extern const struct azure_annotation azure_annotation_table[]; /* ends with name NULL */

/* The value of an annotation by its name without prefix; NULL when absent. */
const char *azure_annotation(const struct tt_service *s, const char *name);
/* "port_80_<name>". */
const char *azure_port_annotation(const struct tt_service *s, int32_t port, const char *name);

/* The questions that names depend on, answered straight from the Service; azure_service_read() asks
 * the same ones. */
bool azure_service_is_internal(const struct tt_service *s); /* without case */
/* No families at all count as IPv4. */
bool azure_service_has_family(const struct tt_service *s, enum azure_family f);
bool azure_service_is_dual_stack(const struct tt_service *s); /* two entries in spec.ipFamilies */
/* The subnet that an internal Service names, trimmed; NULL for external ones, and when blank. */
const char *azure_service_subnet(struct arena *a, const struct tt_service *s);
/* By the family rules of 10.1; NULL = none. */
const char *azure_service_pip_name(const struct tt_service *s, enum azure_family f);
const char *azure_service_pip_prefix_id(const struct tt_service *s, enum azure_family f);

/* Something the owner of the Service should fix. */
struct azure_finding {
    const char *reason;  /* of the event: "InvalidAnnotation", "InvalidSourceRanges" … */
    const char *message; /* names annotation, value and what is allowed */
    bool fatal;          /* an ENSURE is refused: ERR_INVALID with this message */
    const char *field;   /* the annotation's whole key, or "spec.…"; NULL: none by itself */
    /* fatal on a new Service or an edit alone: upstream passes over it, and serves what stands */
    bool if_new;
};

/* Values that lose their effect, by the table: at most `most` findings, none of them fatal. */
size_t azure_annotation_hints(struct arena *a, const struct tt_service *s,
                              struct azure_finding *ret, size_t most);

struct azure_service {
    const struct tt_service *in;
    const char *key;  /* "ns/name" */
    const char *base; /* azure_base_name() */
    bool internal;    /* without case: see docs/deviations.md */
    bool has_family[AZURE_FAMILIES];
    bool dual_stack;
    bool local;                         /* externalTrafficPolicy: Local */
    const char *subnet;                 /* internal only, trimmed; NULL = configured one */
    const char *lb_ip[AZURE_FAMILIES];  /* NULL = none */
    const char *lb_ips[AZURE_FAMILIES]; /* all, in order of 10.1 */
    size_t n_lb_ips;
    const char *pip_name[AZURE_FAMILIES];      /* NULL = none */
    const char *pip_prefix_id[AZURE_FAMILIES]; /* NULL = none */
    const char *pip_group;                     /* effective resource group of public IPs (8.1) */
    const char *mode;                          /* trimmed; NULL = absent */
    const char *dns_label;                     /* NULL = absent, "" = to be taken away */
    const char *pip_tags;                      /* raw, or NULL */
    const char *ip_tags;                       /* raw, or NULL */
    bool ha_ports;
    bool disable_floating_ip;
    bool disable_nsg_rule;
    bool disable_tcp_reset;
    int32_t idle_timeout_min; /* 4…100; 4 by default, 0 = the annotation says something else */
    const char *const *configurations; /* lower case, trimmed; n 0 = all */
    size_t n_configurations;
    bool has_configurations;
    /* private link service (10.6) */
    bool pls_create;
    /* probes stand as upstream leaves them, which reads the annotation as no (azure_sides.h) */
    bool pls_unprobed;
    bool pls_proxy_protocol;
    const char *pls_group; /* effective */
    const char *pls_name;  /* NULL = default */
    /* its annotation, else the subnet of an internal Service; NULL = configured one */
    const char *pls_subnet;
    int32_t pls_ip_count;    /* 1…8; 0 = the annotation says something else (a finding tells) */
    bool pls_static_ips_bad; /* the list is none of IPv4 addresses: pls_static_ips is empty */
    const char *const *pls_static_ips;
    size_t n_pls_static_ips;
    const char *pls_primary_ip; /* or NULL */
    const char *const *pls_fqdns;
    size_t n_pls_fqdns;
    const char *const *pls_visibility;
    size_t n_pls_visibility;
    bool pls_visible_to_all;
    const char *const *pls_auto_approval;
    size_t n_pls_auto_approval;
    bool pls_configured; /* any PLS annotation but create and resource group */
    const struct azure_finding *findings;
    size_t n_findings;
};
/* Everything lives in the arena; `s` is borrowed for as long. */
const struct azure_service *azure_service_read(struct arena *a, const struct azure_naming *n,
                                               const struct tt_service *s);
/* ERR_INVALID with the first fatal finding, else ERR_OK. */
int azure_service_check(const struct azure_service *s, struct err *err) _warn_unused_;
/* One rule for all ports and protocols, in place of a rule for each port (6.5). */
bool azure_service_takes_all_ports(const struct azure_naming *n, const struct azure_service *s);
/* The same for a Service of a sync: what stands and was not edited is not refused for what upstream
 * passes over.  `previous` NULL: this process has not synced it before.  `strict`: it is refused
 * all the same: trimtab made what stands, or --repair-adopted is on. */
int azure_service_check_edit(const struct azure_service *s, const struct tt_service *previous,
                             bool strict, struct err *err) _warn_unused_;
/* A copy with one annotation (without the prefix) set, or taken away where `value` is NULL. */
const struct azure_service *azure_service_with(struct arena *a, const struct azure_naming *n,
                                               const struct azure_service *s, const char *name,
                                               const char *value);
/* The name of its private link service: the annotation, the existing one's (NULL = none), or one
 * made from the frontend's.  ERR_INVALID: the existing one has another name, and
 * names cannot change. */
int azure_pls_name(struct arena *a, const struct azure_service *s, const char *existing,
                   const char *frontend, const char **ret, struct err *err) _warn_unused_;
/* The same Service with these addresses in the annotations of their families, as its own (4.2 step
 * 5).  What is no address is left out. */
const struct azure_service *azure_service_pin(struct arena *a, const struct azure_naming *n,
                                              const struct azure_service *s, const char *const *ips,
                                              size_t n_ips);
/* The same Service as if `internal` had the other value ("flipped", 4.2). */
const struct azure_service *azure_service_flip(struct arena *a, const struct azure_naming *n,
                                               const struct azure_service *s);

/* Is it the same Service?  One that came back with the name of another one has names of its
 * own in the cloud. */
bool azure_service_is(const struct azure_service *x, const struct azure_service *y);
/* Text that is the same for those alone. */
const char *azure_service_identity(struct arena *a, const struct azure_service *s);

#endif
