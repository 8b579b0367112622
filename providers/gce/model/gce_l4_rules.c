/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_rules.c: what a Service asks of a balancer with a backend service: see gce_l4_rules.h.
 *
 * The meaning of an error is in gce_l4_error_rules.c. */
#include "providers/gce/model/gce_l4_rules.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/service_rules.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

/* ---- ports and protocols --------------------------------------------------------------------- */

static const char *protocol_of(const struct tt_port *p)
{
    return str_or(p->protocol, "TCP");
}

/* Ports of one protocol (NULL: of all) in spec order, as text. */
static struct gce_strs ports_of(struct arena *a, const struct tt_service *s, const char *protocol)
{
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, s->n_ports)};
    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (protocol == NULL || str_eq(protocol_of(&s->ports[i]), protocol)) {
            out.items[out.n++] = arena_printf(a, "%d", s->ports[i].port);
        }
    }
    return out;
}

/* Number of a port that we printed. */
static int32_t port_number(const char *text)
{
    int64_t v = 0;
    return str_to_i64(text, &v) ? (int32_t)v : 0;
}

static int32_t *port_numbers(struct arena *a, const struct gce_strs *ports)
{
    int32_t *out = ARENA_ARRAY(a, int32_t, ports->n);
    for (size_t i = 0; i < ports->n; i++) {
        out[i] = port_number(ports->items[i]);
    }
    return out;
}

const char *gce_l4_range_of(struct arena *a, const struct gce_strs *ports)
{
    if (ports->n == 0) {
        return "";
    }
    int32_t low = INT32_MAX;
    int32_t high = INT32_MIN;
    for (size_t i = 0; i < ports->n; i++) {
        int32_t p = port_number(ports->items[i]);
        low = p < low ? p : low;
        high = p > high ? p : high;
    }
    return arena_printf(a, "%d-%d", low, high);
}

/* §4.8: with mixed protocols on, an entry each, in lower case, UDP first; else one of the first
 * port's protocol. */
static struct gce_allows allowed_of(struct arena *a, const struct gce_l4_ports *p, bool mixed_on)
{
    struct gce_allows out = {.items = ARENA_ARRAY(a, struct gce_allow, 2)};
    const struct {
        const char *protocol;
        const struct gce_strs *ports;
    } entries[] = {{mixed_on ? "udp" : p->rule_protocol, mixed_on ? &p->udp : &p->all},
                   {"tcp", &p->tcp}};
    for (size_t i = 0; i < (mixed_on ? 2u : 1u); i++) {
        const struct gce_strs *ports = entries[i].ports;
        if (ports->n > 0) {
            out.items[out.n++] = (struct gce_allow){
                .protocol = entries[i].protocol,
                .ports = gce_port_ranges(a, port_numbers(a, ports), ports->n),
            };
        }
    }
    return out;
}

void gce_l4_ports_of(struct arena *a, const struct tt_service *s, bool mixed_on,
                     struct gce_l4_ports *ret)
{
    const char *first = s->n_ports == 0 ? "TCP" : protocol_of(&s->ports[0]);
    struct gce_l4_ports p = {
        .rule_protocol = first,
        .service_protocol = first,
        .tcp = ports_of(a, s, "TCP"),
        .udp = ports_of(a, s, "UDP"),
        .all = ports_of(a, s, NULL),
    };
    p.mixed = p.tcp.n > 0 && p.udp.n > 0;
    if (mixed_on) { /* what is neither counts as TCP; it is refused before anything is made of it */
        p.rule_protocol = p.mixed ? "L3_DEFAULT" : p.udp.n > 0 ? "UDP" : "TCP";
        p.service_protocol = p.mixed ? "UNSPECIFIED" : p.rule_protocol;
    }
    p.range = gce_l4_range_of(a, &p.all);
    p.allowed = allowed_of(a, &p, mixed_on);
    *ret = p;
}

int gce_l4_ports_check(const struct tt_service *s, bool mixed_on, struct err *err)
{
    if (s->n_ports == 0) {
        return err_set(err, ERR_INVALID, "no ports: a load balancer needs at least one");
    }
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const char *protocol = protocol_of(&s->ports[i]);
        if (!str_eq(protocol, "TCP") && !str_eq(protocol, "UDP")) {
            return err_set(err, ERR_INVALID,
                           "spec.ports[%u]: protocol %s is not supported, only TCP and UDP are", i,
                           protocol);
        }
        if (!mixed_on && !str_eq(protocol, protocol_of(&s->ports[0]))) {
            return err_set(err, ERR_INVALID,
                           "spec.ports[%u]: TCP and UDP ports in one Service are not enabled here",
                           i);
        }
    }
    return ERR_OK;
}

/* ---- families, subnetwork, ranges ------------------------------------------------------------ */

static bool has_family(const struct tt_service *s, const char *family)
{
    for (uint32_t i = 0; i < s->n_ip_families; i++) {
        if (str_eq(s->ip_families[i], family)) {
            return true;
        }
    }
    return false;
}

bool gce_l4_wants_v4(const struct tt_service *s, bool dual_stack)
{
    return !dual_stack || s->n_ip_families == 0 || has_family(s, "IPv4");
}

bool gce_l4_wants_v6(const struct tt_service *s, bool dual_stack)
{
    return dual_stack && has_family(s, "IPv6");
}

const char *gce_l4_subnet(const struct tt_service *s, bool ilb)
{
    const char *value = svc_annotation(s, GCE_ANN_SUBNET_NEW);
    if (value == NULL && ilb) {
        value = svc_annotation(s, GCE_ANN_SUBNET);
    }
    /* An impossible name counts as absent where a Service is taken down; gce_names_check() refuses
     * one that is wanted. */
    return url_segment_fault(value) == NULL ? value : "";
}

int gce_l4_subnetwork_check(const struct gce_subnetwork *s, bool internal, struct err *err)
{
    bool has = str_eq(s->ipv6_access, internal ? "INTERNAL" : "EXTERNAL") &&
               (str_eq(s->stack, "IPV4_IPV6") || str_eq(s->stack, "IPV6_ONLY"));
    return has ? ERR_OK
               : err_set(err, ERR_INVALID,
                         "subnetwork %s has no %s IPv6 range (ipv6AccessType \"%s\", stackType "
                         "\"%s\"), so the Service cannot have an IPv6 address",
                         s->name, internal ? "internal" : "external", str_nonnull(s->ipv6_access),
                         str_nonnull(s->stack));
}

#define ALL_V4 "0.0.0.0/0"
#define ALL_V6 "0::0/0" /* upstream's spelling, which the API keeps */

/* The texts of ranges, split by family.  False: *ret_bad does not parse. */
static bool split_ranges(struct arena *a, const char *const *items, size_t n,
                         struct gce_l4_ranges *ret, const char **ret_bad)
{
    const char **v4 = ARENA_ARRAY(a, const char *, n);
    const char **v6 = ARENA_ARRAY(a, const char *, n);
    size_t n_v4 = 0;
    size_t n_v6 = 0;
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        char text[IP_TEXT_MAX];
        *ret_bad = str_trim_unicode(a, items[i]);
        if (!ip_net_parse_sloppy(*ret_bad, &net)) {
            return false;
        }
        ip_net_format(&net, text);
        if (net.addr.len == 4) {
            v4[n_v4++] = arena_strdup(a, text);
        } else {
            v6[n_v6++] = arena_strdup(a, text);
        }
    }
    struct str_set set_v4 = str_set_make(a, v4, n_v4);
    struct str_set set_v6 = str_set_make(a, v6, n_v6);
    *ret = (struct gce_l4_ranges){.v4 = gce_strs_of(a, set_v4.items, set_v4.n),
                                  .v6 = gce_strs_of(a, set_v6.items, set_v6.n),
                                  .v4_dropped = n_v4 == 0,
                                  .v6_dropped = n_v6 == 0};
    return true;
}

int gce_l4_source_ranges(struct arena *a, const struct tt_service *s, struct gce_l4_ranges *ret,
                         struct err *err)
{
    const char *annotation = svc_annotation(s, LB_SOURCE_RANGES_ANNOTATION);
    const char *bad = "";
    if (s->n_source_ranges > 0) { /* the annotation is not even looked at then */
        return split_ranges(a, s->source_ranges, s->n_source_ranges, ret, &bad)
                   ? ERR_OK
                   : err_set(err, ERR_INVALID,
                             "spec.loadBalancerSourceRanges: \"%s\" is not a range of addresses "
                             "(expecting, for example, 10.0.0.0/24)",
                             bad);
    }
    if (annotation == NULL) {
        *ret = (struct gce_l4_ranges){.v4 = gce_strs_one(a, ALL_V4), .v6 = gce_strs_one(a, ALL_V6)};
        return ERR_OK;
    }
    size_t n;
    char **items = str_split(a, annotation, ',', &n);
    return split_ranges(a, (const char *const *)items, n, ret, &bad)
               ? ERR_OK
               : err_set(err, ERR_INVALID,
                         "annotation %s: \"%s\" is not a range of addresses (expecting a "
                         "comma-separated list, for example 10.0.0.0/24,192.168.2.0/24)",
                         LB_SOURCE_RANGES_ANNOTATION, bad);
}

struct gce_strs gce_l4_address_names(struct arena *a, const struct tt_service *s)
{
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, GCE_L4_ADDRESS_NAMES_MAX)};
    const char *value = svc_annotation(s, GCE_ANN_IP_ADDRESSES);
    size_t n = 0;
    char **items = value == NULL ? NULL : str_split(a, value, ',', &n);
    for (size_t i = 0; i < n && i < GCE_L4_ADDRESS_NAMES_MAX; i++) {
        const char *name = str_trim_unicode(a, items[i]);
        if (url_segment_fault(name) == NULL) { /* as gce_l4_subnet() */
            out.items[out.n++] = name;
        }
    }
    return out;
}

/* ---- balancing ------------------------------------------------------------------------------- */

const char *gce_l4_affinity(const struct tt_service *s)
{
    return gce_svc_affinity(s);
}

const char *gce_l4_locality(const struct tt_service *s, bool ilb, const struct gce_l4_flags *f,
                            bool *ret_unsupported)
{
    bool on = ilb ? f->weighted_ilb : f->weighted_netlb;
    bool asked = str_eq(svc_annotation(s, GCE_ANN_WEIGHTED), "pods-per-node");
    bool local = svc_only_local_traffic(s);
    *ret_unsupported = on && asked && !local;
    if (!on) {
        return "";
    }
    if (asked && local) {
        return ilb ? "WEIGHTED_GCP_RENDEZVOUS" : "WEIGHTED_MAGLEV";
    }
    return ilb ? "" : "MAGLEV";
}

bool gce_l4_wants_zonal_affinity(const struct tt_service *s, const struct gce_l4_flags *f)
{
    return f->zonal_affinity && (str_eq(s->traffic_distribution, "PreferClose") ||
                                 str_eq(s->traffic_distribution, "PreferSameZone"));
}

#define STRONG_IDLE_MIN_S 60
#define STRONG_IDLE_MAX_S 57600

int gce_l4_strong_affinity(const struct tt_service *s, bool enabled, bool *ret_strong,
                           struct err *err)
{
    *ret_strong = false;
    if (!str_eq(svc_annotation(s, GCE_ANN_STRONG_AFFINITY), "enabled")) {
        return ERR_OK;
    }
    if (!enabled) {
        return err_set(err, ERR_INVALID,
                       "annotation %s: strong session affinity is not enabled here",
                       GCE_ANN_STRONG_AFFINITY);
    }
    if (!str_eq(s->session_affinity, "ClientIP")) {
        return err_set(err, ERR_INVALID,
                       "annotation %s: strong session affinity needs spec.sessionAffinity ClientIP",
                       GCE_ANN_STRONG_AFFINITY);
    }
    int32_t idle_s = s->affinity_timeout_s;
    if (idle_s < STRONG_IDLE_MIN_S || idle_s > STRONG_IDLE_MAX_S) {
        return err_set(err, ERR_INVALID,
                       "annotation %s: spec.sessionAffinityConfig.clientIP.timeoutSeconds must be "
                       "from %d to %d",
                       GCE_ANN_STRONG_AFFINITY, STRONG_IDLE_MIN_S, STRONG_IDLE_MAX_S);
    }
    *ret_strong = true;
    return ERR_OK;
}

const char *gce_l4_tier(const struct tt_service *s, bool *ret_set)
{
    const char *value = svc_annotation(s, GCE_ANN_TIER);
    bool standard = str_eq(value, "Standard");
    *ret_set = standard || str_eq(value, "Premium");
    return standard ? "STANDARD" : "PREMIUM";
}

/* ---- finalizers (§11.16) --------------------------------------------------------------------- */

static bool holds(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

bool gce_l4_finalizer_lost(const char *const *old_names, size_t n_old, const char *const *names,
                           size_t n, const char *finalizer, bool deleting)
{
    return !deleting && holds(old_names, n_old, finalizer) && !holds(names, n, finalizer);
}
