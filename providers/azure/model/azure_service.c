/* SPDX-License-Identifier: Apache-2.0 */
/* azure_service.c: see azure_service.h.
 *
 * One function per group of annotations fills struct azure_service and adds what it finds wrong.  A
 * finding is fatal where upstream's ensure ends in an error, or would build something other than
 * what was asked for.  Nothing is refused here: deletion reads the same Service. */
#include "providers/azure/model/azure_service.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"
#include "providers/azure/model/azure_name_rules.h"
#include "providers/azure/model/azure_text.h"

#define FINDINGS_MAX       24
#define PLS_IP_COUNT_MAX   8
#define REASON_ANNOTATION  "InvalidAnnotation"
#define CONFIGURATIONS_KEY AZURE_ANNOTATION_PREFIX "azure-load-balancer-configurations"

struct reader {
    struct arena *arena;
    const struct azure_naming *naming;
    const struct tt_service *in;
    struct azure_service *out;
    struct azure_finding findings[FINDINGS_MAX];
};

static void add_finding(struct reader *r, bool fatal, const char *reason, const char *field,
                        const char *message)
{
    if (r->out->n_findings < FINDINGS_MAX) {
        r->findings[r->out->n_findings++] = (struct azure_finding){
            .reason = reason, .field = field, .message = message, .fatal = fatal};
    }
}

static void mark_if_new(struct reader *r, bool if_new)
{
    if (r->out->n_findings > 0) {
        r->findings[r->out->n_findings - 1].if_new = if_new;
    }
}

static void bad_annotation(struct reader *r, bool fatal, const char *name, const char *allowed)
{
    const char *value = str_nonnull(azure_annotation(r->in, name));
    add_finding(r, fatal, REASON_ANNOTATION,
                arena_printf(r->arena, "%s%s", AZURE_ANNOTATION_PREFIX, name),
                arena_printf(r->arena, "annotation %s%s: \"%s\": want %s", AZURE_ANNOTATION_PREFIX,
                             name, value, allowed));
}

/* ---- kinds of values ------------------------------------------------------------------------- */

/* The annotation without blanks at its ends; NULL when absent or blank. */
static const char *filled(struct reader *r, const char *name)
{
    const char *value = azure_annotation(r->in, name);
    const char *trimmed = value == NULL ? "" : str_trim_unicode(r->arena, value);
    return trimmed[0] == '\0' ? NULL : trimmed;
}

/* The same for a name; one that cannot be a segment of an ID counts as absent, so that what stands
 * can be taken down.  A Service that is wanted is refused for it (azure_names_check()). */
static const char *name_of(struct reader *r, const char *name)
{
    const char *value = filled(r, name);
    return azure_name_is_segment(value) ? value : NULL;
}

/* Anything but "true" is false; azure_annotation_hints() tells what is neither. */
static bool flag(const struct reader *r, const char *name)
{
    return azure_text_true(azure_annotation(r->in, name));
}

/* A whole number within bounds; `otherwise` when absent, 0 with a finding if it is not one. */
static int32_t number(struct reader *r, const char *name, int32_t min, int32_t max,
                      int32_t otherwise, bool fatal)
{
    const char *value = azure_annotation(r->in, name);
    int32_t n;
    if (value == NULL) {
        return otherwise;
    }
    if (azure_text_i32(r->arena, value, &n) && n >= min && n <= max) {
        return n;
    }
    bad_annotation(r, fatal, name,
                   arena_printf(r->arena, "a whole number from %d to %d", min, max));
    return 0;
}

/* Words between blanks. */
static const char *const *words(struct reader *r, const char *name, size_t *ret_n)
{
    size_t n = 0;
    size_t used = 0;
    const char *value = azure_annotation(r->in, name);
    char **items = str_split(r->arena, str_nonnull(value), ' ', &n);
    for (size_t i = 0; i < n; i++) {
        const char *word = str_trim_unicode(r->arena, items[i]);
        if (word[0] != '\0') {
            items[used++] = (char *)word;
        }
    }
    *ret_n = used;
    return (const char *const *)items;
}

/* ---- addresses and public IPs ---------------------------------------------------------------- */

static enum azure_family family_of(const struct ip_addr *ip)
{
    return ip->len == 4 ? AZURE_IPV4 : AZURE_IPV6;
}

/* spec.loadBalancerIP counts where no annotation of its family is given; the API server
 * takes any text for it. */
static void read_spec_ip(struct reader *r)
{
    struct azure_service *out = r->out;
    struct ip_addr ip;
    const char *text = str_nonnull(r->in->lb_ip);
    if (text[0] == '\0') {
        return;
    }
    if (!ip_parse(text, &ip)) {
        add_finding(
            r, true, "InvalidLoadBalancerIP", "spec.loadBalancerIP",
            arena_printf(r->arena, "spec.loadBalancerIP: \"%s\": want an IP address", text));
        /* Upstream takes it for an IPv6 address, so it says nothing to a Service of IPv4. */
        mark_if_new(r, !out->has_family[AZURE_IPV6]);
        return;
    }
    if (out->lb_ip[family_of(&ip)] == NULL) {
        out->lb_ip[family_of(&ip)] = text;
    }
    if (out->n_lb_ips == 0) {
        out->lb_ips[out->n_lb_ips++] = text;
    }
}

static void read_ips(struct reader *r)
{
    static const char *const names[] = {"azure-load-balancer-ipv4", "azure-load-balancer-ipv6"};
    struct azure_service *out = r->out;
    for (size_t f = 0; f < AZURE_FAMILIES; f++) {
        struct ip_addr ip;
        const char *value = azure_annotation(r->in, names[f]);
        if (str_is_empty(value)) {
            continue;
        }
        if (!ip_parse(value, &ip)) {
            bad_annotation(r, true, names[f],
                           f == AZURE_IPV4 ? "an IPv4 address" : "an IPv6 address");
        }
        out->lb_ip[f] = value;
        out->lb_ips[out->n_lb_ips++] = value;
    }
    read_spec_ip(r);
}

static void read_public_ips(struct reader *r)
{
    struct azure_service *out = r->out;
    for (size_t f = 0; f < AZURE_FAMILIES; f++) {
        out->pip_name[f] = azure_service_pip_name(r->in, (enum azure_family)f);
        out->pip_prefix_id[f] = azure_service_pip_prefix_id(r->in, (enum azure_family)f);
    }
    out->pip_group =
        str_or(name_of(r, "azure-load-balancer-resource-group"), r->naming->config->resource_group);
    out->dns_label = azure_annotation(r->in, "azure-dns-label-name");
    out->pip_tags = azure_annotation(r->in, "azure-pip-tags");
    out->ip_tags = azure_annotation(r->in, "azure-pip-ip-tags");
}

/* ---- the balancer ---------------------------------------------------------------------------- */

/* Upstream matches this key, and no other, without case. */
static const char *configurations(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (azure_eq(s->annotations[i].key, CONFIGURATIONS_KEY)) {
            return s->annotations[i].value;
        }
    }
    return NULL;
}

static void read_configurations(struct reader *r)
{
    const char *value = configurations(r->in);
    if (value == NULL) {
        return;
    }
    size_t n;
    char **items = str_split(r->arena, value, ',', &n);
    for (size_t i = 0; i < n; i++) {
        items[i] = str_lower(r->arena, str_trim_unicode(r->arena, items[i]));
    }
    r->out->has_configurations = true;
    r->out->configurations = (const char *const *)items;
    r->out->n_configurations = n;
}

static void read_balancer(struct reader *r)
{
    struct azure_service *out = r->out;
    const char *mode = azure_annotation(r->in, "azure-load-balancer-mode");
    out->internal = flag(r, "azure-load-balancer-internal");
    out->subnet = azure_service_subnet(r->arena, r->in);
    out->mode = mode == NULL ? NULL : str_trim_unicode(r->arena, mode);
    out->ha_ports = flag(r, "azure-load-balancer-enable-high-availability-ports");
    out->disable_floating_ip = flag(r, "azure-disable-load-balancer-floating-ip");
    out->disable_nsg_rule = flag(r, "azure-disable-load-balancer-nsg-rule");
    out->disable_tcp_reset = flag(r, "azure-load-balancer-disable-tcp-reset");
    out->idle_timeout_min = number(r, AZURE_IDLE_TIMEOUT, AZURE_IDLE_TIMEOUT_MIN,
                                   AZURE_IDLE_TIMEOUT_MAX, AZURE_IDLE_TIMEOUT_MIN, true);
    read_configurations(r);
}

/* ---- private link service -------------------------------------------------------------------- */

static const char *const pls_settings[] = {
    "azure-pls-name",
    "azure-pls-ip-configuration-subnet",
    "azure-pls-ip-configuration-ip-address-count",
    "azure-pls-ip-configuration-ip-address",
    "azure-pls-fqdns",
    "azure-pls-proxy-protocol",
    "azure-pls-visibility",
    "azure-pls-auto-approval",
};

static bool any_pls_setting(const struct tt_service *s)
{
    for (size_t i = 0; i < ARRAY_LEN(pls_settings); i++) {
        if (azure_annotation(s, pls_settings[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void read_pls_static_ips(struct reader *r)
{
    static const char name[] = "azure-pls-ip-configuration-ip-address";
    struct azure_service *out = r->out;
    size_t n;
    const char *const *ips = words(r, name, &n);
    for (size_t i = 0; i < n; i++) {
        struct ip_addr ip;
        if (!ip_parse(ips[i], &ip) || family_of(&ip) != AZURE_IPV4) {
            out->pls_static_ips_bad = true;
            bad_annotation(r, out->pls_create, name, "IPv4 addresses with blanks between them");
            return;
        }
    }
    struct str_set set = str_set_make(r->arena, ips, n);
    out->pls_static_ips = set.items;
    out->n_pls_static_ips = set.n;
    out->pls_primary_ip = n == 0 ? NULL : ips[0];
}

static void read_pls_visibility(struct reader *r)
{
    static const char *const everybody[] = {"*"};
    struct azure_service *out = r->out;
    out->pls_visibility = words(r, "azure-pls-visibility", &out->n_pls_visibility);
    for (size_t i = 0; i < out->n_pls_visibility; i++) {
        if (str_eq(out->pls_visibility[i], "*")) {
            out->pls_visible_to_all = true;
        }
    }
    if (out->pls_visible_to_all) {
        out->pls_visibility = everybody;
        out->n_pls_visibility = 1;
    }
}

static void check_pls(struct reader *r)
{
    struct azure_service *out = r->out;
    if (!out->pls_create) {
        return;
    }
    if (out->pls_ip_count != 0 && (size_t)out->pls_ip_count < out->n_pls_static_ips) {
        bad_annotation(
            r, true, "azure-pls-ip-configuration-ip-address-count",
            arena_printf(r->arena, "at least the %zu static addresses", out->n_pls_static_ips));
    }
    if (!out->has_family[AZURE_IPV4]) {
        bad_annotation(r, true, "azure-pls-create",
                       "a Service with IPv4: private link knows no IPv6");
    }
    if (!out->internal && !out->disable_floating_ip) {
        bad_annotation(r, true, "azure-pls-create",
                       "an internal Service, or one without floating IP");
    }
}

static void read_pls(struct reader *r)
{
    struct azure_service *out = r->out;
    out->pls_create = azure_text_true(filled(r, "azure-pls-create"));
    out->pls_proxy_protocol = flag(r, "azure-pls-proxy-protocol");
    out->pls_group =
        str_or(name_of(r, "azure-pls-resource-group"), r->naming->config->pls_resource_group);
    out->pls_name = name_of(r, "azure-pls-name");
    out->pls_subnet = name_of(r, "azure-pls-ip-configuration-subnet");
    if (out->pls_subnet == NULL) {
        out->pls_subnet = out->subnet;
    }
    out->pls_ip_count = number(r, "azure-pls-ip-configuration-ip-address-count", 1,
                               PLS_IP_COUNT_MAX, 1, out->pls_create);
    read_pls_static_ips(r);
    out->pls_fqdns = words(r, "azure-pls-fqdns", &out->n_pls_fqdns);
    read_pls_visibility(r);
    out->pls_auto_approval = words(r, "azure-pls-auto-approval", &out->n_pls_auto_approval);
    out->pls_configured = any_pls_setting(r->in);
    check_pls(r);
}

/* ---- the whole ------------------------------------------------------------------------------- */

const struct azure_service *azure_service_read(struct arena *a, const struct azure_naming *n,
                                               const struct tt_service *s)
{
    struct azure_service *out = ARENA_NEW(a, struct azure_service);
    struct reader r = {.arena = a, .naming = n, .in = s, .out = out};
    out->in = s;
    out->key = azure_service_name(a, s);
    out->base = azure_base_name(a, s);
    for (size_t f = 0; f < AZURE_FAMILIES; f++) {
        out->has_family[f] = azure_service_has_family(s, (enum azure_family)f);
    }
    out->dual_stack = azure_service_is_dual_stack(s);
    out->local = str_eq(s->external_traffic_policy, "Local");
    read_balancer(&r);
    read_ips(&r);
    read_public_ips(&r);
    read_pls(&r);
    out->n_findings +=
        azure_annotation_hints(a, s, &r.findings[out->n_findings], FINDINGS_MAX - out->n_findings);
    out->findings = arena_memdup(a, r.findings, out->n_findings * sizeof(r.findings[0]));
    return out;
}

int azure_service_check(const struct azure_service *s, struct err *err)
{
    for (size_t i = 0; i < s->n_findings; i++) {
        if (s->findings[i].fatal) {
            return err_set(err, ERR_INVALID, "%s", s->findings[i].message);
        }
    }
    return ERR_OK;
}

bool azure_service_takes_all_ports(const struct azure_naming *n, const struct azure_service *s)
{
    return s->internal && s->ha_ports && n->config->standard_sku && s->in->n_ports > 0;
}

/* spec.loadBalancerIP is the one field of findings that count for what is new alone. */
static bool is_as_before(const struct azure_service *s, const struct tt_service *previous)
{
    return lb_service_stands(s->in) &&
           (previous == NULL || str_eq(str_nonnull(previous->lb_ip), str_nonnull(s->in->lb_ip)));
}

int azure_service_check_edit(const struct azure_service *s, const struct tt_service *previous,
                             bool strict, struct err *err)
{
    bool tolerates = !strict && is_as_before(s, previous);
    for (size_t i = 0; i < s->n_findings; i++) {
        const struct azure_finding *f = &s->findings[i];
        if (f->fatal && !(f->if_new && tolerates)) {
            return err_set(err, ERR_INVALID, "%s", f->message);
        }
    }
    return ERR_OK;
}

int azure_pls_name(struct arena *a, const struct azure_service *s, const char *existing,
                   const char *frontend, const char **ret, struct err *err)
{
    bool exists = !str_is_empty(existing);
    if (exists && s->pls_name != NULL && !azure_eq(existing, s->pls_name)) {
        return err_set(err, ERR_INVALID,
                       "annotation %sazure-pls-name: \"%s\": the private link service exists as "
                       "\"%s\", and its name cannot change",
                       AZURE_ANNOTATION_PREFIX, s->pls_name, existing);
    }
    if (s->pls_name != NULL) {
        *ret = s->pls_name;
    } else {
        *ret = exists ? existing : arena_printf(a, "pls-%s", frontend);
    }
    return ERR_OK;
}

/* ---- the same Service, changed --------------------------------------------------------------- */

static int compare_keys(const void *x, const void *y)
{
    return strcmp(((const struct tt_kv *)x)->key, ((const struct tt_kv *)y)->key);
}

/* A copy with one annotation set, or taken away where `value` is NULL. */
static const struct tt_service *with_annotation(struct arena *a, const struct tt_service *s,
                                                const char *name, const char *value)
{
    const char *key = arena_printf(a, "%s%s", AZURE_ANNOTATION_PREFIX, name);
    struct tt_kv *items = ARENA_ARRAY(a, struct tt_kv, s->n_annotations + 1u);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (!str_eq(s->annotations[i].key, key)) {
            items[n++] = s->annotations[i];
        }
    }
    if (value != NULL) {
        items[n++] = (struct tt_kv){.key = key, .value = value};
    }
    qsort(items, n, sizeof(*items), compare_keys);
    struct tt_service *copy = ARENA_NEW(a, struct tt_service);
    *copy = *s;
    copy->annotations = items;
    copy->n_annotations = n;
    copy->has_annotations = 1;
    return copy;
}

const struct azure_service *azure_service_with(struct arena *a, const struct azure_naming *n,
                                               const struct azure_service *s, const char *name,
                                               const char *value)
{
    return azure_service_read(a, n, with_annotation(a, s->in, name, value));
}

const struct azure_service *azure_service_flip(struct arena *a, const struct azure_naming *n,
                                               const struct azure_service *s)
{
    const char *other = s->internal ? NULL : "true";
    return azure_service_read(a, n,
                              with_annotation(a, s->in, "azure-load-balancer-internal", other));
}

const struct azure_service *azure_service_pin(struct arena *a, const struct azure_naming *n,
                                              const struct azure_service *s, const char *const *ips,
                                              size_t n_ips)
{
    const struct tt_service *in = s->in;
    for (size_t i = 0; i < n_ips; i++) {
        struct ip_addr ip;
        if (ip_parse(ips[i], &ip)) {
            bool ipv4 = family_of(&ip) == AZURE_IPV4;
            in = with_annotation(
                a, in, ipv4 ? "azure-load-balancer-ipv4" : "azure-load-balancer-ipv6", ips[i]);
        }
    }
    return azure_service_read(a, n, in);
}
