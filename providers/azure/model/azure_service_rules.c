/* SPDX-License-Identifier: Apache-2.0 */
/* azure_service_rules.c: questions that are answered straight from a Service, without the
 * configuration.
 *
 * Names are made of their answers (azure_names.c), azure_service_read() keeps them
 * (azure_service.c): one parser for each annotation, so that no two parts of the provider can
 * disagree about a Service.  Keys are matched with case, except the one that upstream matches
 * without.  Pure; docs/spec/azure.md 6.2, 10.1, 11. */
#include "providers/azure/model/azure_service.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_name_rules.h"

const char *azure_annotation(const struct tt_service *s, const char *name)
{
    size_t n_prefix = strlen(AZURE_ANNOTATION_PREFIX);
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        const char *key = s->annotations[i].key;
        if (str_has_prefix(key, AZURE_ANNOTATION_PREFIX) && str_eq(key + n_prefix, name)) {
            return s->annotations[i].value;
        }
    }
    return NULL;
}

const char *azure_port_annotation(const struct tt_service *s, int32_t port, const char *name)
{
    char text[128]; /* longer ones are in no table, so none is cut to a known one */
    int n = snprintf(text, sizeof(text), "port_%d_%s", port, name);
    return n > 0 && (size_t)n < sizeof(text) ? azure_annotation(s, text) : NULL;
}

bool azure_service_is_internal(const struct tt_service *s)
{
    return azure_eq(azure_annotation(s, "azure-load-balancer-internal"), "true");
}

bool azure_service_has_family(const struct tt_service *s, enum azure_family f)
{
    bool has[AZURE_FAMILIES] = {false, false};
    for (uint32_t i = 0; i < s->n_ip_families; i++) {
        has[AZURE_IPV4] = has[AZURE_IPV4] || str_eq(s->ip_families[i], "IPv4");
        has[AZURE_IPV6] = has[AZURE_IPV6] || str_eq(s->ip_families[i], "IPv6");
    }
    if (!has[AZURE_IPV6]) {
        has[AZURE_IPV4] = true;
    }
    return has[f];
}

bool azure_service_is_dual_stack(const struct tt_service *s)
{
    return s->n_ip_families == 2;
}

const char *azure_service_subnet(struct arena *a, const struct tt_service *s)
{
    const char *subnet = azure_annotation(s, "azure-load-balancer-internal-subnet");
    if (subnet == NULL || !azure_service_is_internal(s)) {
        return NULL;
    }
    const char *trimmed = str_trim_unicode(a, subnet);
    return azure_name_is_segment(trimmed) ? trimmed : NULL; /* an impossible one counts as absent */
}

/* The one of two annotations that speaks for a family.  A single-stack Service may use the plain
 * key whatever its family is; asked for IPv6, one of IPv4 has none. */
static const char *of_family(const struct tt_service *s, const char *plain, const char *ipv6,
                             enum azure_family f)
{
    const char *value = azure_annotation(s, plain);
    if (f == AZURE_IPV6) {
        bool single = !azure_service_is_dual_stack(s);
        const char *own = azure_annotation(s, ipv6);
        if (single && !azure_service_has_family(s, AZURE_IPV6)) {
            return NULL;
        }
        value = single && str_is_empty(own) ? value : own;
    }
    return str_is_empty(value) ? NULL : value;
}

const char *azure_service_pip_name(const struct tt_service *s, enum azure_family f)
{
    const char *name = of_family(s, "azure-pip-name", "azure-pip-name-ipv6", f);
    return azure_name_is_segment(name) ? name : NULL;
}

const char *azure_service_pip_prefix_id(const struct tt_service *s, enum azure_family f)
{
    const char *id = of_family(s, "azure-pip-prefix-id", "azure-pip-prefix-id-ipv6", f);
    return azure_name_is_id(id) ? id : NULL;
}

bool azure_service_is(const struct azure_service *x, const struct azure_service *y)
{
    return str_eq(x->key, y->key) && str_eq(x->base, y->base);
}

const char *azure_service_identity(struct arena *a, const struct azure_service *s)
{
    return arena_printf(a, "%s %s", s->key, s->base);
}
