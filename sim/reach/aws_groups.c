/* SPDX-License-Identifier: Apache-2.0 */
/* aws_groups.c: the rules of security groups, and whose packets pass them.
 *
 * A group allows and never denies; several groups of an interface are a union.  Protocol -1 is every protocol and port.  A
 * rule that refers to a group is about the interfaces that bear it, which only the caller knows.  A group whose document says
 * nothing of outgoing rules lets everything out, as a new one does.
 * Nodes' groups have rules for hundreds of Services: rules for one port are sorted by it, the few wider ones are walked. */
#include "sim/reach/aws.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define PORT_MAX 65535
#define KEPT_MAX 4 /* answers that a set remembers: traffic and health check, both protocols */

struct rule {
    unsigned protocols;
    int64_t low, high;
    struct reach_ranges ranges; /* empty: see group_id */
    const char *group_id;       /* NULL: see ranges */
};
struct rules {
    struct rule *single; /* of one port each, sorted by it */
    struct rule *wide;
    size_t n_single, n_wide;
};
struct group {
    struct json_object *document;
    const struct rules *rules[2]; /* by direction; NULL: not read yet */
};
struct reach_aws_groups {
    struct arena *a;
    struct map *by_id; /* → struct group */
    struct map *sets;  /* ids with blanks between → struct reach_aws_set */
};
struct answer {
    enum reach_aws_direction direction;
    enum reach_aws_protocol protocol; /* 0: the place is free */
    int64_t port;
    struct reach_aws_peers peers;
};
struct reach_aws_set {
    struct reach_aws_groups *all;
    const char **ids;
    size_t n;
    struct answer kept[KEPT_MAX];
    size_t next_kept;
};

static void free_map(void *m)
{
    map_free(m);
}

static struct map *arena_map(struct arena *a)
{
    struct map *m = map_new(NULL);
    arena_defer(a, free_map, m);
    return m;
}

struct reach_aws_groups *reach_aws_groups_new(struct arena *a, struct json_object *documents)
{
    struct reach_aws_groups *g = ARENA_NEW(a, struct reach_aws_groups);
    *g = (struct reach_aws_groups){a, arena_map(a), arena_map(a)};
    for (size_t i = 0; i < json_len(documents); i++) {
        struct json_object *document = json_object_array_get_idx(documents, i);
        const char *id = json_str(document, "GroupId");
        if (id != NULL) {
            struct group *one = ARENA_NEW(a, struct group);
            one->document = document;
            map_set(g->by_id, id, one);
        }
    }
    return g;
}

static int compare_ids(const void *x, const void *y)
{
    const char *const *p = x;
    const char *const *q = y;
    return strcmp(*p, *q);
}

struct reach_aws_set *reach_aws_set_of(struct reach_aws_groups *g, struct json_object *list)
{
    struct arena *a = g->a;
    const char **ids = ARENA_ARRAY(a, const char *, json_len(list) + 1);
    size_t n = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *id = json_object_is_type(item, json_type_string) ? json_object_get_string(item)
                                                                     : json_str(item, "GroupId");
        if (id != NULL) {
            ids[n++] = id;
        }
    }
    qsort(ids, n, sizeof(ids[0]), compare_ids);
    const char *key = str_join(a, ids, n, " ");
    struct reach_aws_set *s = map_get(g->sets, key);
    if (s == NULL) {
        s = ARENA_NEW(a, struct reach_aws_set);
        *s = (struct reach_aws_set){.all = g, .ids = ids, .n = n};
        map_set(g->sets, key, s);
    }
    return s;
}

/* --- reading ---------------------------------------------------------------------------------------- */

static unsigned protocols_of(const char *text)
{
    if (str_eq(text, "-1")) {
        return REACH_AWS_TCP | REACH_AWS_UDP;
    }
    if (str_eq_nocase(text, "tcp") || str_eq(text, "6")) {
        return REACH_AWS_TCP;
    }
    return str_eq_nocase(text, "udp") || str_eq(text, "17") ? REACH_AWS_UDP : 0;
}

/* Protocol and ports of a permission; protocols 0: it is about neither TCP nor UDP. */
static struct rule head_of(struct json_object *permission)
{
    const char *protocol = json_str(permission, "IpProtocol");
    struct rule r = {.protocols = protocols_of(protocol), .low = 0, .high = PORT_MAX};
    int64_t from = json_int(permission, "FromPort", -1);
    int64_t to = json_int(permission, "ToPort", -1);
    if (!str_eq(protocol, "-1") && from >= 0 && to >= 0) {
        r.low = from;
        r.high = to;
    }
    return r;
}

static const struct {
    const char *list, *member;
} sources[] = {
    {"IpRanges", "CidrIp"},
    {"Ipv6Ranges", "CidrIpv6"},
    {"UserIdGroupPairs", "GroupId"},
};

static size_t count_sources(struct json_object *permissions)
{
    size_t n = 0;
    for (size_t i = 0; i < json_len(permissions); i++) {
        for (size_t k = 0; k < ARRAY_LEN(sources); k++) {
            n += json_len(json_member(json_object_array_get_idx(permissions, i), sources[k].list));
        }
    }
    return n;
}

static void read_permission(struct arena *a, struct json_object *permission, struct rules *rules)
{
    struct rule rule = head_of(permission);
    for (size_t k = 0; rule.protocols != 0 && k < ARRAY_LEN(sources); k++) {
        struct json_object *list = json_member(permission, sources[k].list);
        for (size_t i = 0; i < json_len(list); i++) {
            const char *text = json_str(json_object_array_get_idx(list, i), sources[k].member);
            bool by_group = str_eq(sources[k].member, "GroupId");
            rule.group_id = by_group ? text : NULL;
            rule.ranges = by_group ? REACH_NOBODY : reach_ranges_of(a, text);
            if (rule.low == rule.high) {
                rules->single[rules->n_single++] = rule;
            } else {
                rules->wide[rules->n_wide++] = rule;
            }
        }
    }
}

static int compare_rules(const void *x, const void *y)
{
    const struct rule *p = x;
    const struct rule *q = y;
    return (p->low > q->low) - (p->low < q->low);
}

static const struct rules *read_rules(struct arena *a, struct json_object *permissions)
{
    struct rules *rules = ARENA_NEW(a, struct rules);
    size_t n = count_sources(permissions);
    rules->single = ARENA_ARRAY(a, struct rule, n);
    rules->wide = ARENA_ARRAY(a, struct rule, n);
    for (size_t i = 0; i < json_len(permissions); i++) {
        read_permission(a, json_object_array_get_idx(permissions, i), rules);
    }
    qsort(rules->single, rules->n_single, sizeof(struct rule), compare_rules);
    return rules;
}

static const struct rules *any_peers(struct arena *a)
{
    struct rules *rules = ARENA_NEW(a, struct rules);
    rules->wide = ARENA_NEW(a, struct rule);
    rules->n_wide = 1;
    *rules->wide = (struct rule){REACH_AWS_TCP | REACH_AWS_UDP, 0, PORT_MAX,
                                 reach_ranges_all(a, true, true), NULL};
    return rules;
}

static const struct rules *rules_of(struct arena *a, struct group *g,
                                    enum reach_aws_direction direction)
{
    if (g->rules[direction] == NULL) {
        const char *member = direction == REACH_AWS_OUT ? "IpPermissionsEgress" : "IpPermissions";
        struct json_object *permissions = json_member(g->document, member);
        g->rules[direction] = direction == REACH_AWS_OUT && permissions == NULL
                                  ? any_peers(a)
                                  : read_rules(a, permissions);
    }
    return g->rules[direction];
}

/* --- asking ----------------------------------------------------------------------------------------- */

/* Rules that apply to one packet. */
struct matches {
    const struct rule **at;
    size_t n;
};

static size_t first_at(const struct rules *rules, int64_t port)
{
    size_t low = 0;
    size_t high = rules->n_single;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rules->single[middle].low < port) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void match(struct arena *a, const struct rules *rules, enum reach_aws_protocol protocol,
                  int64_t port, struct matches *m)
{
    size_t first = first_at(rules, port);
    size_t end = first;
    while (end < rules->n_single && rules->single[end].low == port) {
        end++;
    }
    const struct rule **at =
        ARENA_ARRAY(a, const struct rule *, m->n + end - first + rules->n_wide);
    for (size_t i = 0; i < m->n; i++) {
        at[i] = m->at[i];
    }
    m->at = at;
    for (size_t i = first; i < end; i++) {
        if ((rules->single[i].protocols & protocol) != 0) {
            at[m->n++] = &rules->single[i];
        }
    }
    for (size_t i = 0; i < rules->n_wide; i++) {
        const struct rule *r = &rules->wide[i];
        if ((r->protocols & protocol) != 0 && r->low <= port && port <= r->high) {
            at[m->n++] = r;
        }
    }
}

/* Joins halves, so that many ranges do not cost their square. */
static struct reach_ranges ranges_of(struct arena *a, const struct rule *const *at, size_t n)
{
    if (n <= 1) {
        return n == 0 ? REACH_NOBODY : at[0]->ranges;
    }
    return reach_ranges_or(a, ranges_of(a, at, n / 2), ranges_of(a, at + n / 2, n - n / 2));
}

static struct reach_aws_peers peers_of(struct reach_aws_set *s, enum reach_aws_direction direction,
                                       enum reach_aws_protocol protocol, int64_t port)
{
    struct arena *a = s->all->a;
    struct matches m = {NULL, 0};
    for (size_t i = 0; i < s->n; i++) {
        struct group *g = map_get(s->all->by_id, s->ids[i]);
        if (g != NULL) {
            match(a, rules_of(a, g, direction), protocol, port, &m);
        }
    }
    const char **ids = ARENA_ARRAY(a, const char *, m.n);
    struct reach_aws_peers peers = {ranges_of(a, m.at, m.n), ids, 0};
    for (size_t i = 0; i < m.n; i++) {
        if (m.at[i]->group_id != NULL) {
            ids[peers.n_groups++] = m.at[i]->group_id;
        }
    }
    return peers;
}

struct reach_aws_peers reach_aws_set_peers(struct reach_aws_set *s,
                                           enum reach_aws_direction direction,
                                           enum reach_aws_protocol protocol, int64_t port)
{
    for (size_t i = 0; i < KEPT_MAX; i++) {
        const struct answer *k = &s->kept[i];
        if (k->direction == direction && k->protocol == protocol && k->port == port) {
            return k->peers;
        }
    }
    struct answer *k = &s->kept[s->next_kept++ % KEPT_MAX];
    *k = (struct answer){direction, protocol, port, peers_of(s, direction, protocol, port)};
    return k->peers;
}

bool reach_aws_refers_to(const struct reach_aws_peers *peers, const struct reach_aws_set *s)
{
    for (size_t i = 0; s != NULL && i < peers->n_groups; i++) {
        for (size_t k = 0; k < s->n; k++) {
            if (str_eq(peers->group_ids[i], s->ids[k])) {
                return true;
            }
        }
    }
    return false;
}
