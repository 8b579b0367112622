/* SPDX-License-Identifier: Apache-2.0 */
/* azure_names.c: see azure_names.h.
 *
 * Everything is printed into the arena; nothing is looked up.  Lengths leave room for the family
 * suffix, which is put behind a name that was cut already (docs/spec/azure.md 6.3, 6.5, 8.2). */
#include "providers/azure/model/azure_names.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "common/net/url_build.h"
#include "providers/azure/model/azure_service.h"

#define INTERNAL_SUFFIX  "-internal"
#define FAMILY_SUFFIX    "-IPv6"
#define NAME_MAX_BYTES   80 /* what ARM allows for frontends, rules and public IPs */
#define PLAIN_NAME_BYTES (NAME_MAX_BYTES - (sizeof(FAMILY_SUFFIX) - 1))

/* ---- comparison ------------------------------------------------------------------------------ */

bool azure_eq(const char *x, const char *y)
{
    return str_eq_nocase(x, y);
}

bool azure_has_prefix(const char *s, const char *prefix)
{
    return s != NULL && strncasecmp(s, prefix, strlen(prefix)) == 0;
}

bool azure_has_suffix(const char *s, const char *suffix)
{
    size_t n = s == NULL ? 0 : strlen(s);
    size_t n_suffix = strlen(suffix);
    return s != NULL && n >= n_suffix && strcasecmp(s + n - n_suffix, suffix) == 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Only the IPv6 twin of a dual-stack Service is distinguished (6.2). */
static const char *with_family(struct arena *a, const char *name, const struct tt_service *s,
                               enum azure_family f)
{
    bool suffix = f == AZURE_IPV6 && azure_service_is_dual_stack(s);
    return suffix ? arena_printf(a, "%s%s", name, FAMILY_SUFFIX) : name;
}

const char *azure_base_name(struct arena *a, const struct tt_service *s)
{
    return svc_default_lb_name(a, str_nonnull(s->uid));
}

const char *azure_service_name(struct arena *a, const struct tt_service *s)
{
    return arena_printf(a, "%s/%s", str_nonnull(s->ns), str_nonnull(s->name));
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

const char *azure_frontend_name(struct arena *a, const struct tt_service *s, enum azure_family f)
{
    const char *subnet = azure_service_subnet(a, s);
    const char *base = azure_base_name(a, s);
    if (subnet == NULL) {
        return with_family(a, base, s, f);
    }
    char *name = arena_printf(a, "%s-%s", base, subnet);
    if (strlen(name) > PLAIN_NAME_BYTES) {
        name[PLAIN_NAME_BYTES] = '\0';
        char *last = &name[PLAIN_NAME_BYTES - 1];
        if (!is_letter(*last)) { /* ARM refuses some ends; upstream counts digits among them */
            *last = '_';
        }
    }
    return with_family(a, name, s, f);
}

const char *azure_pool_name(struct arena *a, const struct azure_naming *n, enum azure_family f)
{
    return f == AZURE_IPV6 ? arena_printf(a, "%s%s", n->cluster, FAMILY_SUFFIX) : n->cluster;
}

const char *azure_local_pool_name(struct arena *a, const struct tt_service *s, enum azure_family f)
{
    const char *name = arena_printf(a, "%s-%s%s", str_nonnull(s->ns), str_nonnull(s->name),
                                    f == AZURE_IPV6 ? "-ipv6" : "");
    return str_lower(a, name);
}

bool azure_pool_is_ipv6(const char *pool)
{
    return azure_has_suffix(pool, FAMILY_SUFFIX);
}

const char *azure_rule_name(struct arena *a, const struct tt_service *s, const char *protocol,
                            int32_t port, enum azure_family f)
{
    const char *base = azure_base_name(a, s);
    const char *subnet = azure_service_subnet(a, s);
    const char *tail = arena_printf(a, "-%s-%d", protocol, port);
    if (subnet == NULL) {
        return with_family(a, arena_printf(a, "%s%s", base, tail), s, f);
    }
    size_t taken = strlen(base) + 1 + strlen(tail);
    int room = taken < PLAIN_NAME_BYTES ? (int)(PLAIN_NAME_BYTES - taken) : 0;
    return with_family(a, arena_printf(a, "%s-%.*s%s", base, room, subnet, tail), s, f);
}

const char *azure_pip_name(struct arena *a, const struct azure_naming *n,
                           const struct tt_service *s, enum azure_family f)
{
    char *name = arena_printf(a, "%s-%s", n->cluster, azure_base_name(a, s));
    const char *prefix = azure_id_last(azure_service_pip_prefix_id(s, f));
    if (!str_is_empty(prefix)) {
        name = arena_printf(a, "%s-%s", name, prefix);
    }
    if (strlen(name) > PLAIN_NAME_BYTES) {
        name[PLAIN_NAME_BYTES] = '\0';
    }
    return with_family(a, name, s, f);
}

bool azure_lb_is_internal(const char *lb)
{
    return azure_has_suffix(lb, INTERNAL_SUFFIX);
}

const char *azure_lb_base(struct arena *a, const char *lb)
{
    size_t n = strlen(lb);
    return arena_strndup(a, lb, azure_lb_is_internal(lb) ? n - strlen(INTERNAL_SUFFIX) : n);
}

/* ---- IDs ------------------------------------------------------------------------------------- */

/* A resource of `type` in a group of the networks' subscription. */
static const char *network_id(struct arena *a, const struct azure_naming *n, const char *group,
                              const char *type, const char *name)
{
    return URL_RESOURCE_PATH(a, "", "subscriptions", n->config->network_subscription_id,
                             "resourceGroups", group, "providers", "Microsoft.Network", type, name);
}

/* The parts of a balancer: "loadBalancers/LB/KIND/NAME". */
static const char *part_id(struct arena *a, const struct azure_naming *n, const char *lb,
                           const char *kind, const char *name)
{
    return URL_RESOURCE_PATH(a, network_id(a, n, n->config->lb_resource_group, "loadBalancers", lb),
                             kind, name);
}

const char *azure_frontend_id(struct arena *a, const struct azure_naming *n, const char *lb,
                              const char *frontend)
{
    return part_id(a, n, lb, "frontendIPConfigurations", frontend);
}

const char *azure_pool_id(struct arena *a, const struct azure_naming *n, const char *lb,
                          const char *pool)
{
    return part_id(a, n, lb, "backendAddressPools", pool);
}

const char *azure_probe_id(struct arena *a, const struct azure_naming *n, const char *lb,
                           const char *probe)
{
    return part_id(a, n, lb, "probes", probe);
}

const char *azure_pip_id(struct arena *a, const struct azure_naming *n, const char *group,
                         const char *pip)
{
    return network_id(a, n, group, "publicIPAddresses", pip);
}

const char *azure_vnet_id(struct arena *a, const struct azure_naming *n)
{
    return network_id(a, n, n->config->vnet_resource_group, "virtualNetworks",
                      n->config->vnet_name);
}

static const char interim[] = "-interim-";

/* Is it what follows a base name in that of an interim resource? */
static bool is_interim_end(const char *end)
{
    const char *digest = end + strlen(interim);
    if (strncasecmp(end, interim, strlen(interim)) != 0) {
        return false;
    }
    size_t digits = strspn(digest, "0123456789abcdefABCDEF");
    return digits == 8 && (digest[8] == '\0' || azure_eq(digest + 8, "-IPv6"));
}

bool azure_is_interim(const char *base, const char *name)
{
    return azure_has_prefix(name, base) && is_interim_end(name + strlen(base));
}

bool azure_is_interim_of_any(const char *name)
{
    const char *end = strcasestr(name, interim);
    return end != NULL && is_interim_end(end);
}

const char *azure_interim_name(struct arena *a, const char *base, uint64_t digest,
                               enum azure_family f)
{
    return arena_printf(a, "%s%s%08" PRIx32 "%s", base, interim, (uint32_t)digest,
                        f == AZURE_IPV6 ? "-IPv6" : "");
}

const char *azure_subnet_id(struct arena *a, const struct azure_naming *n, const char *subnet)
{
    return URL_RESOURCE_PATH(a, azure_vnet_id(a, n), "subnets", subnet);
}

bool azure_id_eq(const char *x, const char *y)
{
    /* IDs of one kind begin alike for a hundred bytes and differ in the name: look there first. */
    return x != NULL && y != NULL && azure_eq(azure_id_last(x), azure_id_last(y)) && azure_eq(x, y);
}

const char *azure_id_last(const char *id)
{
    const char *slash = id == NULL ? NULL : strrchr(id, '/');
    return slash == NULL ? str_nonnull(id) : slash + 1;
}

const char *azure_id_part(struct arena *a, const char *id, const char *type)
{
    size_t n_type = strlen(type);
    for (const char *p = id; p != NULL && *p != '\0';) {
        const char *segment = *p == '/' ? p + 1 : p;
        const char *end = strchrnul(segment, '/');
        bool found = (size_t)(end - segment) == n_type && strncasecmp(segment, type, n_type) == 0;
        if (found && end[0] == '/' && end[1] != '\0' && end[1] != '/') {
            return arena_strndup(a, end + 1, (size_t)(strchrnul(end + 1, '/') - end - 1));
        }
        p = end;
    }
    return NULL;
}

const char *azure_id_group(struct arena *a, const char *id)
{
    return azure_id_part(a, id, "resourceGroups");
}
