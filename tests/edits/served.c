/* SPDX-License-Identifier: Apache-2.0 */
/* served.c: see served.h. */
#include "tests/edits/served.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/strset.h"

#define RANGES_NOTE "service.beta.kubernetes.io/load-balancer-source-ranges"

size_t served_ports(struct json_object *service, struct served_port out[SERVED_PORTS_MAX])
{
    struct json_object *ports = json_path(service, "spec.ports");
    size_t n = 0;
    for (size_t i = 0; i < json_len(ports) && n < SERVED_PORTS_MAX; i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        out[n++] = (struct served_port){str_or(json_str(p, "protocol"), "TCP"),
                                        (int)json_int(p, "port", 0)};
    }
    return n;
}

size_t served_ports_join(struct served_port out[SERVED_PORTS_MAX], size_t n,
                         const struct served_port *more, size_t n_more)
{
    for (size_t i = 0; i < n_more; i++) {
        bool there = false;
        for (size_t k = 0; k < n && !there; k++) {
            there = out[k].port == more[i].port && str_eq(out[k].protocol, more[i].protocol);
        }
        if (!there && n < SERVED_PORTS_MAX) {
            out[n++] = more[i];
        }
    }
    return n;
}

/* Is the port one of "TCP/80", "TCP/80-90", a star? */
static bool covers(const char *key, const struct served_port *p)
{
    size_t n = strlen(p->protocol);
    if (strncmp(key, p->protocol, n) != 0 || key[n] != '/') {
        return false;
    }
    const char *range = key + n + 1;
    char *end = NULL;
    long low = strtol(range, &end, 10);
    long high = *end == '-' ? strtol(end + 1, NULL, 10) : low;
    return *range == '*' || (p->port >= low && p->port <= high);
}

const char *served_host(struct arena *a, const char *text)
{
    struct ip_addr ip;
    char canonical[IP_TEXT_MAX];
    if (!ip_parse(text, &ip)) {
        return arena_strdup(a, text);
    }
    ip_format(&ip, canonical);
    return arena_strdup(a, canonical);
}

struct reach_ranges served_clients(struct arena *a, struct json_object *reach, const char *host,
                                   const struct served_port *p)
{
    struct reach_ranges all = REACH_NOBODY;
    struct json_object *ports = host == NULL ? NULL : json_member(reach, served_host(a, host));
    if (ports == NULL) {
        return all;
    }
    json_object_object_foreach(ports, key, entry)
    {
        if (covers(key, p)) {
            all = reach_ranges_or(a, all, reach_ranges_of_list(a, json_member(entry, "clients")));
        }
    }
    return all;
}

const char *served_nodes(struct arena *a, struct json_object *reach, const char *host,
                         const struct served_port *p)
{
    struct str_set nodes = {0}; /* a port may be listed beside "all ports", with the same nodes */
    struct json_object *ports = host == NULL ? NULL : json_member(reach, served_host(a, host));
    if (ports == NULL) {
        return "";
    }
    json_object_object_foreach(ports, key, entry)
    {
        struct json_object *targets = covers(key, p) ? json_member(entry, "targets") : NULL;
        for (size_t i = 0; i < json_len(targets); i++) {
            const char *name = json_str(json_object_array_get_idx(targets, i), "target");
            const char *node = arena_printf(a, "%.*s", (int)(strrchr(name, ':') - name), name);
            struct str_set one = str_set_make(a, &node, 1);
            nodes = str_set_union(a, &nodes, &one);
        }
    }
    return str_set_text(a, &nodes, " ");
}

struct reach_ranges served_allowed(struct arena *a, struct json_object *service,
                                   struct reach_ranges all)
{
    struct json_object *ranges = json_path(service, "spec.loadBalancerSourceRanges");
    const char *note = json_str(json_path(service, "metadata.annotations"), RANGES_NOTE);
    struct reach_ranges allowed = REACH_NOBODY;
    if (json_len(ranges) > 0) {
        for (size_t i = 0; i < json_len(ranges); i++) {
            const char *one = json_object_get_string(json_object_array_get_idx(ranges, i));
            allowed = reach_ranges_or(a, allowed, reach_ranges_of(a, str_trim(a, one)));
        }
    } else if (note != NULL) {
        size_t n = 0;
        char **words = str_split(a, note, ',', &n);
        for (size_t i = 0; i < n; i++) {
            allowed = reach_ranges_or(a, allowed, reach_ranges_of(a, str_trim(a, words[i])));
        }
    }
    return reach_ranges_empty(allowed) ? all : reach_ranges_and(a, allowed, all);
}

bool served_says_nobody(struct json_object *service)
{
    struct json_object *list = json_path(service, "status.conditions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        if (str_eq(json_str(c, "type"), "LoadBalancerServesNobody")) {
            return str_eq(json_str(c, "status"), "True");
        }
    }
    return false;
}

const char *served_port_text(struct arena *a, const struct served_port *p)
{
    return arena_printf(a, "%s/%d", p->protocol, p->port);
}

const char *served_ranges_text(struct arena *a, struct reach_ranges x)
{
    struct json_object *list = reach_ranges_json(x);
    const char *text = json_len(list) == 0 ? "nobody" : json_text(a, list, JSON_COMPACT);
    json_object_put(list);
    return text;
}
