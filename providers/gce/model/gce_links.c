/* SPDX-License-Identifier: Apache-2.0 */
/* gce_links.c: see gce_links.h. */
#include "providers/gce/model/gce_links.h"

#include "common/base/ip.h"
#include "common/base/str.h"

#include <string.h>

#define AUTO_SUBNET_RANGE "10.128.0.0/9"
#define PROVIDER_PREFIX   "gce://"

/* The slash of the first "/VERSION/projects", or NULL. */
static const char *find_version(const char *url)
{
    static const char *const words[] = {"v1", "alpha", "beta", "v1beta1", "v1alpha1"};
    for (const char *slash = strchr(url, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            if (str_has_prefix(slash + 1, words[i]) &&
                str_has_prefix(slash + 1 + strlen(words[i]), "/projects")) {
                return slash;
            }
        }
    }
    return NULL;
}

/* Any text may precede "/projects/"; but where that is "/VERSION", the letters before it (and
 * before ".googleapis.com") must be an API group that is known. */
static bool api_group_is_known(struct arena *a, const char *url)
{
    const char *slash = find_version(url);
    if (slash == NULL) {
        return true;
    }
    char *group = arena_strndup(a, url, (size_t)(slash - url));
    size_t n = strlen(group);
    if (str_has_suffix(group, ".googleapis.com")) {
        n -= strlen(".googleapis.com");
        group[n] = '\0';
    }
    while (n > 0 && group[n - 1] >= 'a' && group[n - 1] <= 'z') {
        n--;
    }
    return str_eq(group + n, "compute") || str_eq(group + n, "networkservices");
}

/* parts[0] is "regions" or "zones": a place itself, or something in it. */
static bool parse_place(char **parts, size_t n, struct gce_link *ret)
{
    bool zonal = str_eq(parts[0], "zones");
    if (n == 2) {
        ret->resource = parts[0];
        ret->name = parts[1];
        return true;
    }
    if (n != 4) {
        return false;
    }
    *(zonal ? &ret->zone : &ret->region) = parts[1];
    ret->resource = parts[2];
    ret->name = parts[3];
    return true;
}

static bool parse_scoped(char **parts, size_t n, struct gce_link *ret)
{
    if (str_eq(parts[0], "global") && n == 3) {
        ret->resource = parts[1];
        ret->name = parts[2];
        return true;
    }
    if (str_eq(parts[0], "regions") || str_eq(parts[0], "zones")) {
        return parse_place(parts, n, ret);
    }
    return false;
}

int gce_link_parse(struct arena *a, const char *url, struct gce_link *ret, struct err *err)
{
    const char *tail = str_nonnull(url);
    const char *at = strstr(tail, "/projects/");
    bool ok = api_group_is_known(a, tail);
    if (at != NULL) {
        tail = at + 1;
    }
    size_t n;
    char **parts = str_split(a, tail, '/', &n);
    struct gce_link link = {.project = "", .resource = "", .name = "", .zone = "", .region = ""};
    ok = ok && n >= 2 && n <= 6;
    if (ok && str_eq(parts[0], "projects")) {
        link.project = parts[1];
        link.resource = "projects";
        parts += 2;
        n -= 2;
    }
    if (ok && n > 0) {
        ok = parse_scoped(parts, n, &link);
    }
    if (!ok) {
        return err_set(err, ERR_INVALID, "\"%s\" is not a link to a Compute resource",
                       str_nonnull(url));
    }
    *ret = link;
    return ERR_OK;
}

bool gce_link_same(const char *a, const char *b)
{
    _cleanup_(arena_freep) struct arena *m = arena_new();
    struct gce_link x;
    struct gce_link y;
    if (gce_link_parse(m, a, &x, NULL) != ERR_OK || gce_link_parse(m, b, &y, NULL) != ERR_OK) {
        return str_eq(str_nonnull(a), str_nonnull(b));
    }
    return str_eq(x.project, y.project) && str_eq(x.resource, y.resource) &&
           str_eq(x.name, y.name) && str_eq(x.zone, y.zone) && str_eq(x.region, y.region);
}

const char *gce_link_last(const char *url)
{
    const char *slash = strrchr(str_nonnull(url), '/');
    return slash == NULL ? str_nonnull(url) : slash + 1;
}

const char *gce_link_zonal_tail(const char *url)
{
    const char *at = strstr(str_nonnull(url), "/zones/");
    return at == NULL ? "" : at;
}

/* The text after the next slash, or NULL. */
static const char *after_slash(const char *s)
{
    const char *slash = s == NULL ? NULL : strchr(s, '/');
    return slash == NULL ? NULL : slash + 1;
}

int gce_instance_from_provider_id(struct arena *a, const char *provider_id,
                                  struct gce_instance_id *ret, struct err *err)
{
    const char *project = NULL;
    if (str_has_prefix(str_nonnull(provider_id), PROVIDER_PREFIX)) {
        project = provider_id + strlen(PROVIDER_PREFIX);
    }
    const char *zone = after_slash(project);
    const char *name = after_slash(zone);
    if (name == NULL || *project == '/' || *zone == '/' || *name == '\0' ||
        after_slash(name) != NULL) {
        return err_set(err, ERR_INVALID, "error splitting providerID \"%s\"",
                       str_nonnull(provider_id));
    }
    *ret = (struct gce_instance_id){
        .project = arena_strndup(a, project, (size_t)(zone - 1 - project)),
        .zone = arena_strndup(a, zone, (size_t)(name - 1 - zone)),
        .name = arena_strdup(a, name),
    };
    return ERR_OK;
}

int gce_region_of_zone(struct arena *a, const char *zone, const char **ret, struct err *err)
{
    const char *dash = strrchr(str_nonnull(zone), '-');
    if (dash == NULL) {
        return err_set(err, ERR_INVALID, "unexpected zone: %s", str_nonnull(zone));
    }
    *ret = arena_strndup(a, zone, (size_t)(dash - zone));
    return ERR_OK;
}

char *gce_projects_base(struct arena *a, const char *base)
{
    const char *slashed = str_has_suffix(base, "/") ? base : arena_printf(a, "%s/", base);
    if (str_has_suffix(slashed, "/projects/")) {
        return arena_strdup(a, slashed);
    }
    return arena_printf(a, "%sprojects/", slashed);
}

char *gce_canonical_name(struct arena *a, const char *name)
{
    return arena_strndup(a, name, strcspn(name, "."));
}

int gce_subnets_in_auto_range(struct arena *a, const char *const *names, const char *const *cidrs,
                              size_t n, const char ***ret, size_t *ret_n, struct err *err)
{
    struct ip_net range;
    if (!ip_net_parse(AUTO_SUBNET_RANGE, &range)) {
        return err_set(err, ERR_BUG, "the auto-mode range does not parse");
    }
    const char **out = ARENA_ARRAY(a, const char *, n);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        if (!ip_net_parse_sloppy(cidrs[i], &net)) { /* as upstream: leading zeros are fine */
            return err_set(err, ERR_INVALID, "subnetwork %s: invalid CIDR address: %s", names[i],
                           cidrs[i]);
        }
        struct ip_addr last = ip_net_last(&net);
        if (ip_net_contains(&range, &net.addr) && ip_net_contains(&range, &last)) {
            out[k++] = names[i];
        }
    }
    *ret = out;
    *ret_n = k;
    return ERR_OK;
}
