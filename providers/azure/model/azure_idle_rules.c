/* SPDX-License-Identifier: Apache-2.0 */
/* azure_idle_rules.c: see azure_idle_rules.h.  One row for each annotation and reason; those
 * of health probes are in azure_idle_probe_rules.c. */
#include "providers/azure/model/azure_idle_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"
#include "providers/azure/model/azure_idle_internal.h"
#include "providers/azure/model/azure_prefix.h"
#include "providers/azure/model/azure_tags_rules.h"
#include "providers/azure/model/azure_text.h"

const char *azure_idle_filled(const struct azure_service *s, const char *name)
{
    const char *value = azure_annotation(s->in, name);
    return str_is_empty(value) ? NULL : value;
}

static bool is_on(const struct azure_service *s, const char *name)
{
    return azure_text_true(azure_annotation(s->in, name));
}

static bool is_switch(const char *name)
{
    for (const struct azure_annotation *r = azure_annotation_table; r->name != NULL; r++) {
        if (str_eq(r->name, name)) {
            return r->value == AZURE_VALUE_SWITCH || r->value == AZURE_VALUE_SWITCH_TRIMMED;
        }
    }
    return false;
}

/* A switch that is off asks for nothing. */
static bool asks(const struct azure_service *s, const char *name)
{
    return azure_idle_filled(s, name) != NULL && (!is_switch(name) || is_on(s, name));
}

/* ---- conditions ------------------------------------------------------------------------------ */

static bool internal(const struct azure_idle_ask *q)
{
    return q->s->internal;
}

static bool external(const struct azure_idle_ask *q)
{
    return !q->s->internal;
}

static bool without_ipv4(const struct azure_idle_ask *q)
{
    return !q->s->has_family[AZURE_IPV4];
}

static bool without_ipv6(const struct azure_idle_ask *q)
{
    return !q->s->has_family[AZURE_IPV6];
}

/* The plain key speaks for a single family, unless the other one has a key of its own. */
static bool has_own_name(const struct azure_idle_ask *q)
{
    return without_ipv4(q) && azure_idle_filled(q->s, "azure-pip-name-ipv6") != NULL;
}

static bool has_own_prefix(const struct azure_idle_ask *q)
{
    return without_ipv4(q) && azure_idle_filled(q->s, "azure-pip-prefix-id-ipv6") != NULL;
}

static bool is_named(const struct azure_idle_ask *q)
{
    return q->s->pip_name[without_ipv4(q) ? AZURE_IPV6 : AZURE_IPV4] != NULL;
}

static bool is_named_ipv6(const struct azure_idle_ask *q)
{
    return q->s->pip_name[AZURE_IPV6] != NULL;
}

static bool is_basic(const struct azure_idle_ask *q)
{
    return !q->naming->config->standard_sku;
}

static bool is_standard(const struct azure_idle_ask *q)
{
    return q->naming->config->standard_sku;
}

static bool is_one_balancer(const struct azure_idle_ask *q)
{
    return q->naming->config->n_lbs == 0;
}

static bool without_rules(const struct azure_idle_ask *q)
{
    return q->s->disable_nsg_rule;
}

static bool without_ranges(const struct azure_idle_ask *q)
{
    return q->s->in->n_source_ranges == 0 &&
           azure_idle_filled(q->s, "azure-allowed-ip-ranges") == NULL &&
           azure_idle_filled(q->s, "load-balancer-source-ranges") == NULL;
}

/* Upstream's default for an internal one: the network's own rules decide (9.3). */
static bool admits_nothing(const struct azure_idle_ask *q)
{
    return q->s->internal && without_ranges(q) &&
           azure_idle_filled(q->s, "azure-allowed-service-tags") == NULL;
}

static bool without_link(const struct azure_idle_ask *q)
{
    return !q->s->pls_create;
}

static bool is_not_true(const struct azure_idle_ask *q)
{
    return !is_on(q->s, "azure-shared-securityrule");
}

/* ---- the table ------------------------------------------------------------------------------- */

#define INTERNAL "on an internal load balancer"
#define BASIC    "with loadBalancerSku basic of the cloud-config"
#define NO_RULES "while " KEY("azure-disable-load-balancer-nsg-rule") " is \"true\""
#define NO_RULE  "an internal load balancer without source ranges and service tags has no rule there"
#define NO_LINK  "unless " KEY("azure-pls-create") " is \"true\""
#define NO_IPV4  "on a Service without IPv4"
#define NO_IPV6  "on a Service without IPv6"

static const struct row {
    const char *name;
    bool (*is)(const struct azure_idle_ask *q);
    const char *why; /* follows "has no effect" */
} idle[] = {
    {"azure-load-balancer-internal-subnet", external, "unless the load balancer is internal"},
    {"azure-load-balancer-mode", is_standard, "with loadBalancerSku standard of the cloud-config"},
    {"azure-dns-label-name", internal, INTERNAL},
    {"azure-load-balancer-resource-group", internal, INTERNAL},
    {"azure-pip-name", internal, INTERNAL},
    {"azure-pip-name", has_own_name, "beside " KEY("azure-pip-name-ipv6")},
    {"azure-pip-name-ipv6", internal, INTERNAL},
    {"azure-pip-name-ipv6", without_ipv6, NO_IPV6},
    {"azure-pip-prefix-id", internal, INTERNAL},
    {"azure-pip-prefix-id", is_basic, BASIC},
    {"azure-pip-prefix-id", has_own_prefix, "beside " KEY("azure-pip-prefix-id-ipv6")},
    {"azure-pip-prefix-id", is_named, "beside a public IP that the Service names"},
    {"azure-pip-prefix-id-ipv6", internal, INTERNAL},
    {"azure-pip-prefix-id-ipv6", is_basic, BASIC},
    {"azure-pip-prefix-id-ipv6", without_ipv6, NO_IPV6},
    {"azure-pip-prefix-id-ipv6", is_named_ipv6, "beside a public IP that the Service names"},
    {"azure-pip-ip-tags", internal, INTERNAL},
    {"azure-pip-tags", internal, INTERNAL},
    {"azure-load-balancer-ipv4", without_ipv4, NO_IPV4},
    {"azure-load-balancer-ipv6", without_ipv6, NO_IPV6},
    {"azure-additional-public-ips", without_rules, "on the security group, " NO_RULES},
    {"azure-additional-public-ips", admits_nothing, "on the security group: " NO_RULE},
    {"azure-allowed-service-tags", without_rules, NO_RULES},
    {"azure-allowed-ip-ranges", without_rules, NO_RULES},
    {"load-balancer-source-ranges", without_rules, NO_RULES},
    {"azure-deny-all-except-load-balancer-source-ranges", without_rules, NO_RULES},
    {"azure-deny-all-except-load-balancer-source-ranges", without_ranges, "without source ranges"},
    {"azure-disable-load-balancer-nsg-rule", admits_nothing, "on the security group: " NO_RULE},
    {"azure-load-balancer-disable-tcp-reset", is_basic, BASIC},
    {"azure-load-balancer-enable-high-availability-ports", external,
     "unless the load balancer is internal"},
    {"azure-load-balancer-enable-high-availability-ports", is_basic, BASIC},
    {"azure-load-balancer-configurations", is_one_balancer,
     "without multipleStandardLoadBalancerConfigurations of the cloud-config"},
    {"azure-pls-resource-group", without_link, NO_LINK},
    {"azure-pls-name", without_link, NO_LINK},
    {"azure-pls-ip-configuration-subnet", without_link, NO_LINK},
    {"azure-pls-ip-configuration-ip-address-count", without_link, NO_LINK},
    {"azure-pls-ip-configuration-ip-address", without_link, NO_LINK},
    {"azure-pls-fqdns", without_link, NO_LINK},
    {"azure-pls-proxy-protocol", without_link, NO_LINK},
    {"azure-pls-visibility", without_link, NO_LINK},
    {"azure-pls-auto-approval", without_link, NO_LINK},
    {"azure-shared-securityrule", is_not_true, "any more: security rules are always shared"},
};

/* ---- findings -------------------------------------------------------------------------------- */

static void add(struct azure_idle *out, const char *key, const char *message)
{
    for (size_t i = 0; i < out->n; i++) {
        if (str_eq(out->items[i].field, key)) {
            return; /* one reason is enough */
        }
    }
    if (out->n < out->most) {
        out->items[out->n++] =
            (struct azure_finding){.reason = LB_FINDING_IGNORED, .field = key, .message = message};
    }
}

void azure_idle_add(struct azure_idle *out, const char *name, const char *why)
{
    const char *key = arena_printf(out->a, AZURE_ANNOTATION_PREFIX "%s", name);
    add(out, key, arena_printf(out->a, "annotation %s has no effect %s", key, why));
}

/* ---- source ranges --------------------------------------------------------------------------- */

/* The ranges of a family that the Service has not. */
struct absent {
    const char *names; /* joined by ", " */
    bool all;          /* each range is one of them */
};

static struct absent absent_of(const struct azure_idle_ask *q, const char *const *ranges, size_t n)
{
    struct absent ret = {"", n > 0};
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        const char *range = str_trim_unicode(q->a, ranges[i]);
        if (!azure_prefix_parse(range, &net) || q->s->has_family[azure_addr_family(&net.addr)]) {
            ret.all = false;
            continue;
        }
        ret.names = arena_printf(q->a, "%s%s%s", ret.names, *ret.names == '\0' ? "" : ", ", range);
    }
    return ret;
}

/* `subject` is the field as a message names it. */
static void add_absent(struct azure_idle *out, const struct azure_idle_ask *q, const char *field,
                       const char *subject, struct absent x)
{
    const char *family = without_ipv6(q) ? "IPv6" : "IPv4";
    if (x.all) {
        add(out, field,
            arena_printf(q->a, "%s admits no client: the Service has no %s", subject, family));
    } else if (*x.names != '\0') {
        add(out, field,
            arena_printf(q->a, "%s: %s has no effect: the Service has no %s", subject,
                         lb_finding_value(q->a, x.names), family));
    }
}

static void range_findings(struct azure_idle *out, const struct azure_idle_ask *q)
{
    static const char *const names[] = {"azure-allowed-ip-ranges", "load-balancer-source-ranges"};
    static const char field[] = "spec.loadBalancerSourceRanges";
    const struct tt_service *in = q->s->in;
    add_absent(out, q, field, field, absent_of(q, in->source_ranges, in->n_source_ranges));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t n = 0;
        char **pieces = str_split(q->a, str_nonnull(azure_annotation(in, names[i])), ',', &n);
        const char *key = arena_printf(q->a, AZURE_ANNOTATION_PREFIX "%s", names[i]);
        add_absent(out, q, key, arena_printf(q->a, "annotation %s", key),
                   absent_of(q, (const char *const *)pieces, n));
    }
}

/* Tags by which a public IP is known are written as they are, whatever the annotation says. */
static void tag_findings(struct azure_idle *out, const struct azure_idle_ask *q)
{
    static const char *const ours[] = {AZURE_TAG_SERVICE, AZURE_TAG_CLUSTER};
    static const char key[] = KEY("azure-pip-tags");
    const struct azure_tags tags = azure_tags_parse(q->a, str_nonnull(q->s->pip_tags), NULL, 0);
    for (size_t i = 0; i < tags.n * ARRAY_LEN(ours); i++) {
        const char *tag = ours[i % ARRAY_LEN(ours)];
        if (azure_eq(tags.items[i / ARRAY_LEN(ours)].key, tag)) {
            add(out, key,
                arena_printf(q->a, "annotation %s: tag %s has no effect: trimtab writes it itself",
                             key, tag));
        }
    }
}

/* ---- public functions ------------------------------------------------------------------------ */

size_t azure_idle_findings(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *s, struct azure_finding *ret, size_t most)
{
    struct azure_idle out = {.a = a, .items = ret, .most = most};
    const struct azure_idle_ask q = {a, n, s};
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        if (asks(s, idle[i].name) && idle[i].is(&q)) {
            azure_idle_add(&out, idle[i].name, idle[i].why);
        }
    }
    if (s->in->n_annotations > 0) {
        azure_idle_probes(&out, &q);
    }
    range_findings(&out, &q);
    tag_findings(&out, &q);
    return out.n;
}

/* ---- what is no longer asked for, and stays -------------------------------------------------- */

static bool lacks_key(struct arena *a, const char *now, const char *before)
{
    const struct azure_tags is = azure_tags_parse(a, str_nonnull(now), NULL, 0);
    const struct azure_tags was = azure_tags_parse(a, str_nonnull(before), NULL, 0);
    for (size_t i = 0; i < was.n; i++) {
        bool found = false;
        for (size_t k = 0; k < is.n; k++) {
            found = found || azure_eq(is.items[k].key, was.items[i].key);
        }
        if (!found) {
            return true;
        }
    }
    return false;
}

size_t azure_kept_findings(struct arena *a, const struct azure_naming *n,
                           const struct azure_service *now, const struct azure_service *before,
                           struct azure_finding *ret, size_t most)
{
    struct azure_idle out = {.a = a, .items = ret, .most = most};
    const struct {
        const char *name;
        bool stays;
        const char *text;
    } rows[] = {
        {"azure-dns-label-name", now->dns_label == NULL && !str_is_empty(before->dns_label),
         "the public IP keeps its DNS label; an empty value takes it away"},
        {"azure-pip-tags",
         str_is_empty(n->config->system_tags) && lacks_key(a, now->pip_tags, before->pip_tags),
         "the public IP keeps tags that it no longer names"},
        {"azure-pip-ip-tags", now->ip_tags == NULL && !str_is_empty(before->ip_tags),
         "the public IP keeps the IP tags that it named last"},
    };
    bool same = !now->internal && !before->internal && azure_eq(now->pip_group, before->pip_group);
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        same = same && str_eq(now->pip_name[f], before->pip_name[f]) &&
               str_eq(now->pip_prefix_id[f], before->pip_prefix_id[f]) &&
               str_eq(now->lb_ip[f], before->lb_ip[f]);
    }
    for (size_t i = 0; same && i < ARRAY_LEN(rows); i++) {
        if (rows[i].stays) {
            const char *key = arena_printf(a, AZURE_ANNOTATION_PREFIX "%s", rows[i].name);
            add(&out, key, arena_printf(a, "annotation %s: %s", key, rows[i].text));
        }
    }
    return out.n;
}
