/* SPDX-License-Identifier: Apache-2.0 */
/* opened.c: see opened.h. */
#include "tests/edits/opened.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/base/strset.h"
#include "tests/edits/served.h"

/* The addresses and host names that the status of a Service names, as reach writes them. */
static struct str_set hosts_of(struct arena *a, struct json_object *service)
{
    struct json_object *all = json_path(service, "status.loadBalancer.ingress");
    size_t n = json_len(all);
    const char **hosts = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = json_object_array_get_idx(all, i);
        const char *host = str_or(json_str(one, "ip"), str_nonnull(json_str(one, "hostname")));
        hosts[i] = served_host(a, host);
    }
    return str_set_make(a, hosts, n);
}

static struct str_set keys_of(struct arena *a, struct json_object *o)
{
    size_t n = 0;
    const char **keys = ARENA_ARRAY(a, const char *, (size_t)json_object_object_length(o) + 1);
    json_object_object_foreach(o, key, value)
    {
        (void)value;
        keys[n++] = key;
    }
    return str_set_make(a, keys, n);
}

static bool is_ipv6(const char *host)
{
    return strchr(host, ':') != NULL;
}

/* Of these the one of that family; NULL: none. */
static const char *of_family(const struct str_set *hosts, bool ipv6)
{
    for (size_t i = 0; i < hosts->n; i++) {
        if (is_ipv6(hosts->items[i]) == ipv6) {
            return hosts->items[i];
        }
    }
    return NULL;
}

/* ---- ports where an answer begins ------------------------------------------------------------ */

struct points {
    struct served_port *at;
    size_t n;
};

/* "TCP/80-90": answers change at 80 and at 91. */
static void add_key(struct arena *a, struct points *p, const char *key)
{
    const char *slash = strchr(key, '/');
    if (slash == NULL) {
        return; /* "*": an address without a listener */
    }
    const char *protocol = arena_strndup(a, key, (size_t)(slash - key));
    char *end = NULL;
    long low = strtol(slash + 1, &end, 10); /* 0 of a star */
    long high = *end == '-' ? strtol(end + 1, NULL, 10) : low;
    p->at[p->n++] = (struct served_port){protocol, low > 0 ? (int)low : 1};
    if (high > 0 && high < UINT16_MAX) {
        p->at[p->n++] = (struct served_port){protocol, (int)high + 1};
    }
}

/* Between two of these ports both answers are the same. */
static struct points points_of(struct arena *a, struct json_object *one, struct json_object *other)
{
    struct json_object *both[] = {one, other};
    size_t max = 0;
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        max += both[i] == NULL ? 0 : 2 * (size_t)json_object_object_length(both[i]);
    }
    struct points p = {ARENA_ARRAY(a, struct served_port, max + 1), 0};
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        if (both[i] != NULL) {
            json_object_object_foreach(both[i], key, entry)
            {
                (void)entry;
                add_key(a, &p, key);
            }
        }
    }
    return p;
}

/* Has no client been served there? */
static bool is_closed(struct json_object *ports)
{
    bool closed = true;
    if (ports != NULL) {
        json_object_object_foreach(ports, key, entry)
        {
            (void)key;
            closed = closed && json_len(json_member(entry, "clients")) == 0;
        }
    }
    return closed;
}

/* ---- the course ------------------------------------------------------------------------------ */

struct course {
    const struct judge *j;
    struct json_object *after, *reach_after;
    struct str_set before_hosts, after_hosts, mine;
};

/* Clients that one of these addresses serves at the port. */
static struct reach_ranges at_any(struct arena *a, struct json_object *reach,
                                  const struct str_set *hosts, const struct served_port *p)
{
    struct reach_ranges all = REACH_NOBODY;
    for (size_t i = 0; i < hosts->n; i++) {
        all = reach_ranges_or(a, all, served_clients(a, reach, hosts->items[i], p));
    }
    return all;
}

/* Clients that the Service lets in there. */
static struct reach_ranges asked(struct arena *a, struct json_object *service,
                                 const struct served_port *p)
{
    struct served_port ports[SERVED_PORTS_MAX];
    size_t n = served_ports(service, ports);
    for (size_t i = 0; i < n; i++) {
        if (ports[i].port == p->port && str_eq(ports[i].protocol, p->protocol)) {
            return served_allowed(a, service, reach_ranges_all(a, true, true));
        }
    }
    return REACH_NOBODY;
}

static struct reach_ranges may_be(const struct course *c, const struct served_port *p)
{
    struct arena *a = c->j->a;
    struct reach_ranges may = at_any(a, c->j->reach_before, &c->before_hosts, p);
    may = reach_ranges_or(a, may, at_any(a, c->reach_after, &c->after_hosts, p));
    may = reach_ranges_or(a, may, asked(a, c->after, p));
    /* A cloud lets clients of the network in by rules of its own (judge.c). */
    return reach_ranges_empty(may) ? may
                                   : reach_ranges_or(a, may, reach_ranges_of(a, "10.0.0.0/8"));
}

static void more_at(const struct course *c, const struct moment *m, const char *host,
                    const struct served_port *p, struct reach_ranges more)
{
    if (!reach_ranges_empty(more)) {
        const struct judge *j = c->j;
        j->report(j->arg,
                  arena_printf(j->a, "E1: %s of %s is open to %s after %s, which was not asked",
                               served_port_text(j->a, p), host, served_ranges_text(j->a, more),
                               m->after));
    }
}

/* An address of the Service, or one that serves for it for the time of the edit. */
static bool look_at_mine(const struct course *c, const struct moment *m, const char *host)
{
    struct arena *a = c->j->a;
    struct points points = points_of(a, json_member(m->reach, host), NULL);
    for (size_t i = 0; i < points.n; i++) {
        const struct served_port *p = &points.at[i];
        struct reach_ranges are = served_clients(a, m->reach, host, p);
        struct reach_ranges more = reach_ranges_minus(a, are, may_be(c, p));
        more_at(c, m, host, p, more);
        if (!reach_ranges_empty(more)) {
            return true;
        }
    }
    return false;
}

/* One of another Service or of a user, or that no program has asked for. */
static bool look_at_other(const struct judge *j, struct json_object *reach, const char *host,
                          const char *after)
{
    struct json_object *was = json_member(j->reach_before, host);
    struct json_object *is = json_member(reach, host);
    if (json_equal(was, is)) {
        return false;
    }
    struct points points = points_of(j->a, was, is);
    for (size_t i = 0; i < points.n; i++) {
        const struct served_port *p = &points.at[i];
        struct reach_ranges then = served_clients(j->a, j->reach_before, host, p);
        struct reach_ranges now = served_clients(j->a, reach, host, p);
        if (!reach_ranges_equal(then, now)) {
            j->report(j->arg,
                      arena_printf(j->a,
                                   "E1: %s of %s, which is not the Service's, is "
                                   "served to %s after %s, and was to %s",
                                   served_port_text(j->a, p), host, served_ranges_text(j->a, now),
                                   after, served_ranges_text(j->a, then)));
            return true;
        }
    }
    return false;
}

static bool look_at(const struct course *c, const struct moment *m)
{
    struct arena *a = c->j->a;
    struct str_set then = keys_of(a, c->j->reach_before);
    struct str_set now = keys_of(a, m->reach);
    struct str_set all = str_set_union(a, &then, &now);
    bool found = false;
    for (size_t i = 0; !found && i < all.n; i++) {
        const char *host = all.items[i];
        bool mine = str_set_has(&c->mine, host) || is_closed(json_member(c->j->reach_before, host));
        found = mine ? look_at_mine(c, m, host) : look_at_other(c->j, m->reach, host, m->after);
    }
    return found;
}

void opened_course(const struct judge *j, struct json_object *after,
                   struct json_object *reach_after)
{
    struct course c = {.j = j, .after = after, .reach_after = reach_after};
    c.before_hosts = hosts_of(j->a, j->before);
    c.after_hosts = hosts_of(j->a, after);
    c.mine = str_set_union(j->a, &c.before_hosts, &c.after_hosts);
    bool found = false;
    for (size_t i = 0; !found && i < history_len(j->history); i++) {
        found = look_at(&c, history_at(j->history, i));
    }
}

/* Former addresses, and those that served meanwhile. */
void opened_end(const struct judge *j, struct json_object *after, struct json_object *reach_after)
{
    struct str_set before = hosts_of(j->a, j->before);
    struct str_set told = hosts_of(j->a, after);
    struct str_set now = keys_of(j->a, reach_after);
    for (size_t i = 0; i < now.n; i++) {
        const char *host = now.items[i];
        bool mine = str_set_has(&before, host) || is_closed(json_member(j->reach_before, host));
        struct points points = points_of(j->a, json_member(reach_after, host), NULL);
        for (size_t k = 0; mine && !str_set_has(&told, host) && k < points.n; k++) {
            struct reach_ranges are = served_clients(j->a, reach_after, host, &points.at[k]);
            if (!reach_ranges_empty(are)) {
                j->report(j->arg, arena_printf(j->a,
                                               "E6: in the end %s of %s, which the status "
                                               "does not name, is served to %s",
                                               served_port_text(j->a, &points.at[k]), host,
                                               served_ranges_text(j->a, are)));
                return;
            }
        }
    }
}

/* ---- taken back ------------------------------------------------------------------------------ */

/* The address of before that is to be compared with this one of now: its own, or that which it
 * replaces; NULL: none. */
static const char *was_of(const char *host, const struct str_set *before, const struct str_set *now)
{
    const char *old = of_family(before, is_ipv6(host));
    bool replaces = str_set_has(now, host) && !str_set_has(before, host);
    bool gone = str_set_has(before, host) && !str_set_has(now, host);
    return gone ? NULL : replaces ? old : host;
}

static void compare_ports(const struct judge *j, struct json_object *reach, const char *host,
                          const char *was)
{
    struct points points = points_of(j->a, json_member(reach, host),
                                     was == NULL ? NULL : json_member(j->reach_before, was));
    for (size_t i = 0; i < points.n; i++) {
        const struct served_port *p = &points.at[i];
        struct reach_ranges then = served_clients(j->a, j->reach_before, was, p);
        struct reach_ranges now = served_clients(j->a, reach, host, p);
        if (!reach_ranges_equal(then, now)) {
            j->report(j->arg,
                      arena_printf(j->a,
                                   "E2: taken back, %s of %s is served to %s, and "
                                   "was to %s",
                                   served_port_text(j->a, p), host, served_ranges_text(j->a, now),
                                   served_ranges_text(j->a, then)));
            return;
        }
    }
}

void opened_back(const struct judge *j, struct json_object *after, struct json_object *reach_after)
{
    struct str_set before = hosts_of(j->a, j->before);
    struct str_set now = hosts_of(j->a, after);
    struct str_set then_keys = keys_of(j->a, j->reach_before);
    struct str_set now_keys = keys_of(j->a, reach_after);
    struct str_set all = str_set_union(j->a, &then_keys, &now_keys);
    for (size_t i = 0; i < all.n; i++) {
        compare_ports(j, reach_after, all.items[i], was_of(all.items[i], &before, &now));
    }
}
