/* SPDX-License-Identifier: Apache-2.0 */
/* gce_world.c: resources of a world by link, machines and their interfaces.
 *
 * Links come in any form that the cloud takes: full ones of any host and version, those from
 * "projects/", and partial ones from "global/", "regions/" or "zones/", which belong to the project
 * of what holds them.
 * Source: gce-cloud-provider.md §3.1; interfaces.md, "World". */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "sim/reach/gce.h"

/* --- links ------------------------------------------------------------------------------------ */

static const char *intern(struct gce *g, const char *text)
{
    const char *one = map_get(g->texts, text);
    if (one == NULL) {
        one = arena_strdup(g->a, text);
        map_set(g->texts, one, (void *)one);
    }
    return one;
}

const char *gce_path(struct gce *g, const char *link, const char *near)
{
    if (link == NULL) {
        return NULL;
    }
    const char *at = strstr(link, "/projects/");
    if (at != NULL || str_has_prefix(link, "projects/")) {
        return intern(g, at != NULL ? at + 1 : link);
    }
    const char *rest = link[0] == '/' ? link + 1 : link;
    if (!str_has_prefix(rest, "global/") && !str_has_prefix(rest, "regions/") &&
        !str_has_prefix(rest, "zones/")) {
        return NULL;
    }
    size_t prefix = strlen("projects/");
    int project = (int)(prefix + strcspn(near + prefix, "/"));
    return intern(g, arena_printf(g->a, "%.*s/%s", project, near, rest));
}

struct json_object *gce_find(struct gce *g, const char *link, const char *near,
                             const char **ret_path)
{
    const char *path = gce_path(g, link, near);
    struct json_object *body = path != NULL ? json_member(g->resources, path) : NULL;
    if (body != NULL && ret_path != NULL) {
        *ret_path = path;
    }
    return body;
}

const char *gce_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool gce_is(const char *path, const char *collection)
{
    size_t n = strlen(collection);
    const char *end = strrchr(path, '/');
    return end != NULL && (size_t)(end - path) > n && end[-(ptrdiff_t)n - 1] == '/' &&
           memcmp(end - n, collection, n) == 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

bool gce_address(struct arena *a, const char *text, struct ip_addr *ret)
{
    return text != NULL && ip_parse(arena_strndup(a, text, strcspn(text, "/")), ret);
}

const char *gce_address_text(struct arena *a, const struct ip_addr *ip)
{
    char text[IP_TEXT_MAX];
    ip_format(ip, text);
    return arena_strdup(a, text);
}

const char *gce_text_at(struct json_object *array, size_t i)
{
    return str_nonnull(json_object_get_string(json_object_array_get_idx(array, i)));
}

bool gce_has_text(struct json_object *array, const char *text)
{
    for (size_t i = 0; text != NULL && i < json_len(array); i++) {
        if (str_eq(gce_text_at(array, i), text)) {
            return true;
        }
    }
    return false;
}

bool gce_have_common(struct json_object *x, struct json_object *y)
{
    for (size_t i = 0; i < json_len(x); i++) {
        if (gce_has_text(y, gce_text_at(x, i))) {
            return true;
        }
    }
    return false;
}

/* --- machines --------------------------------------------------------------------------------- */

static const struct gce_class *class_of(struct gce *g, const struct gce_machine *m,
                                        const char *network)
{
    struct str_buf key = STR_BUF_INIT;
    struct json_object *accounts = json_member(m->body, "serviceAccounts");
    str_appendf(&key, "%s", str_nonnull(network));
    for (size_t i = 0; i < json_len(m->tags); i++) {
        str_appendf(&key, " %s", gce_text_at(m->tags, i));
    }
    for (size_t i = 0; i < json_len(accounts); i++) {
        str_appendf(&key, " @%s",
                    str_nonnull(json_str(json_object_array_get_idx(accounts, i), "email")));
    }
    struct gce_class *class = map_get(g->classes, str_buf_text(&key));
    if (class == NULL) {
        class = ARENA_NEW(g->a, struct gce_class);
        *class = (struct gce_class){network, m};
        map_set(g->classes, str_buf_text(&key), class);
    }
    str_buf_done(&key);
    return class;
}

static void read_nic(struct gce *g, const char *path, const struct gce_machine *m,
                     struct json_object *body, struct gce_nic *nic)
{
    const char *stack = json_str(body, "stackType");
    nic->subnetwork = gce_path(g, json_str(body, "subnetwork"), path);
    nic->network = gce_path(g, json_str(body, "network"), path);
    if (nic->network == NULL) {
        struct json_object *subnet = gce_find(g, nic->subnetwork, path, NULL);
        nic->network = gce_path(g, json_str(subnet, "network"), path);
    }
    nic->ipv4 = json_str(body, "networkIP");
    nic->has_ipv4 = !str_eq(stack, "IPV6_ONLY");
    nic->has_ipv6 = json_str(body, "ipv6Address") != NULL || str_eq(stack, "IPV6_ONLY") ||
                    str_eq(stack, "IPV4_IPV6") ||
                    json_len(json_member(body, "ipv6AccessConfigs")) > 0;
    nic->class = class_of(g, m, nic->network);
}

static void read_machine(struct gce *g, const char *path, struct json_object *body)
{
    struct gce_machine *m = ARENA_NEW(g->a, struct gce_machine);
    struct json_object *nics = json_member(body, "networkInterfaces");
    const char *status = json_str(body, "status");
    m->name = gce_name(path);
    m->body = body;
    m->tags = json_member(json_member(body, "tags"), "items");
    m->runs = status == NULL || str_eq(status, "RUNNING");
    m->n_nics = json_len(nics);
    m->nics = ARENA_ARRAY(g->a, struct gce_nic, m->n_nics + 1);
    for (size_t i = 0; i < m->n_nics; i++) {
        read_nic(g, path, m, json_object_array_get_idx(nics, i), &m->nics[i]);
    }
    map_set(g->machines, path, m);
}

void gce_machines_read(struct gce *g)
{
    json_object_object_foreach(g->resources, path, body)
    {
        if (gce_is(path, "instances")) {
            read_machine(g, path, body);
        }
    }
}

const struct gce_machine *gce_machine(struct gce *g, const char *link, const char *near)
{
    const char *path = gce_path(g, link, near);
    if (path == NULL && link != NULL) {
        /* A name alone: beside the group, "projects/p/zones/z/networkEndpointGroups/g". */
        const char *end = strrchr(near, '/');
        while (end > near && end[-1] != '/') {
            end--;
        }
        path = arena_printf(g->a, "%.*sinstances/%s", (int)(end - near), near, link);
    }
    return path != NULL ? map_get(g->machines, path) : NULL;
}

const struct gce_nic *gce_machine_nic(const struct gce_machine *m, const char *network,
                                      const char *subnetwork)
{
    for (size_t i = 0; i < m->n_nics; i++) {
        if ((network == NULL || m->nics[i].network == network) &&
            (subnetwork == NULL || m->nics[i].subnetwork == subnetwork)) {
            return &m->nics[i];
        }
    }
    return NULL;
}
