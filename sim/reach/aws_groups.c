/* SPDX-License-Identifier: Apache-2.0 */
/* aws_groups.c: the rules of security groups, and whose packets pass them.
 *
 * A group allows and never denies; several groups of an interface are a union.  Protocol -1 is
 * every protocol and port.  A rule that refers to a group is about the interfaces that bear it,
 * which only the caller knows.  A group whose document says nothing of outgoing rules lets
 * everything out, as a new one does.
 * Nodes' groups have rules for hundreds of Services: rules for one port are sorted by it, those
 * that refer to a group are found by its id, and only the few others are walked. */
#include "sim/reach/aws.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define PORT_MAX 65535
#define KEPT_MAX 4 /* answers that a set remembers: traffic and health check, both protocols */

struct rule {
    unsigned protocols;
    int64_t low, high;
    struct reach_ranges ranges; /* of a rule with ranges */
    const struct rule *next; /* of a rule that refers to a group: the next one that refers to it */
};
struct rules {
    struct rule *single; /* of one port and with ranges, sorted by port */
    struct rule *wide;   /* of several ports and with ranges */
    size_t n_single, n_wide;
    struct map *by_group; /* id → struct rule that refers to it; NULL: none refers to a group */
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
    struct reach_aws_packet packet; /* protocol 0: the place is free */
    struct reach_ranges ranges;
};
struct reach_aws_set {
    struct reach_aws_groups *all;
    const char **ids;
    size_t n;
    struct answer kept[KEPT_MAX];
    size_t next_kept;
};

struct reach_aws_groups *reach_aws_groups_new(struct arena *a, struct json_object *documents)
{
    struct reach_aws_groups *g = ARENA_NEW(a, struct reach_aws_groups);
    *g = (struct reach_aws_groups){a, reach_map(a), reach_map(a)};
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

/* --- reading ---------------------------------------------------------------------------------- */

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

static size_t count_ranges(struct json_object *permissions)
{
    size_t n = 0;
    for (size_t i = 0; i < json_len(permissions); i++) {
        struct json_object *one = json_object_array_get_idx(permissions, i);
        n += json_len(json_member(one, "IpRanges")) + json_len(json_member(one, "Ipv6Ranges"));
    }
    return n;
}

static void add_ranges(struct arena *a, struct rules *rules, struct rule rule,
                       struct json_object *list, const char *member)
{
    for (size_t i = 0; i < json_len(list); i++) {
        rule.ranges = reach_ranges_of(a, json_str(json_object_array_get_idx(list, i), member));
        if (rule.low == rule.high) {
            rules->single[rules->n_single++] = rule;
        } else {
            rules->wide[rules->n_wide++] = rule;
        }
    }
}

static void add_references(struct arena *a, struct rules *rules, struct rule rule,
                           struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *id = str_nonnull(json_str(json_object_array_get_idx(list, i), "GroupId"));
        struct rule *one = ARENA_NEW(a, struct rule);
        *one = rule;
        if (rules->by_group == NULL) {
            rules->by_group = reach_map(a);
        }
        one->next = map_get(rules->by_group, id);
        map_set(rules->by_group, id, one);
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
    size_t n = count_ranges(permissions);
    rules->single = ARENA_ARRAY(a, struct rule, n);
    rules->wide = ARENA_ARRAY(a, struct rule, n);
    for (size_t i = 0; i < json_len(permissions); i++) {
        struct json_object *one = json_object_array_get_idx(permissions, i);
        struct rule head = head_of(one);
        if (head.protocols != 0) {
            add_ranges(a, rules, head, json_member(one, "IpRanges"), "CidrIp");
            add_ranges(a, rules, head, json_member(one, "Ipv6Ranges"), "CidrIpv6");
            add_references(a, rules, head, json_member(one, "UserIdGroupPairs"));
        }
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

/* --- asking ----------------------------------------------------------------------------------- */

static bool applies(const struct rule *r, struct reach_aws_packet p)
{
    return (r->protocols & p.protocol) != 0 && r->low <= p.port && p.port <= r->high;
}

/* The first rule of one port that is not below it. */
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

/* The union of those that apply.  Joins halves, so that many ranges do not cost their square. */
static struct reach_ranges join(struct arena *a, const struct rule *rules, size_t n,
                                struct reach_aws_packet p)
{
    if (n <= 1) {
        return n == 1 && applies(rules, p) ? rules->ranges : REACH_NOBODY;
    }
    struct reach_ranges left = join(a, rules, n / 2, p);
    struct reach_ranges right = join(a, rules + n / 2, n - n / 2, p);
    if (reach_ranges_empty(left) || reach_ranges_empty(right)) {
        return reach_ranges_empty(left) ? right : left;
    }
    return reach_ranges_or(a, left, right);
}

static struct reach_ranges ranges_of(struct reach_aws_set *s, struct reach_aws_packet p)
{
    struct arena *a = s->all->a;
    struct reach_ranges all = REACH_NOBODY;
    for (size_t i = 0; i < s->n; i++) {
        struct group *g = map_get(s->all->by_id, s->ids[i]);
        if (g != NULL) {
            const struct rules *rules = rules_of(a, g, p.direction);
            size_t first = first_at(rules, p.port);
            size_t n = first_at(rules, p.port + 1) - first;
            all = reach_ranges_or(a, all, join(a, rules->single + first, n, p));
            all = reach_ranges_or(a, all, join(a, rules->wide, rules->n_wide, p));
        }
    }
    return all;
}

struct reach_ranges reach_aws_set_ranges(struct reach_aws_set *s, struct reach_aws_packet p)
{
    for (size_t i = 0; i < KEPT_MAX; i++) {
        const struct answer *k = &s->kept[i];
        if (k->packet.direction == p.direction && k->packet.protocol == p.protocol &&
            k->packet.port == p.port) {
            return k->ranges;
        }
    }
    struct answer *k = &s->kept[s->next_kept++ % KEPT_MAX];
    *k = (struct answer){p, ranges_of(s, p)};
    return k->ranges;
}

static bool one_applies(const struct rule *r, struct reach_aws_packet p)
{
    while (r != NULL && !applies(r, p)) {
        r = r->next;
    }
    return r != NULL;
}

bool reach_aws_set_refers_to(struct reach_aws_set *s, struct reach_aws_packet p,
                             const struct reach_aws_set *peer)
{
    for (size_t i = 0; peer != NULL && i < s->n; i++) {
        struct group *g = map_get(s->all->by_id, s->ids[i]);
        for (size_t k = 0; g != NULL && k < peer->n; k++) {
            const struct map *by_group = rules_of(s->all->a, g, p.direction)->by_group;
            if (by_group != NULL && one_applies(map_get(by_group, peer->ids[k]), p)) {
                return true;
            }
        }
    }
    return false;
}

struct each {
    struct reach_aws_packet packet;
    void (*fn)(const char *group_id, void *arg);
    void *arg;
};

static bool each_one(const char *group_id, void *value, void *arg)
{
    const struct each *e = arg;
    if (one_applies(value, e->packet)) {
        e->fn(group_id, e->arg);
    }
    return true;
}

void reach_aws_set_each_group(struct reach_aws_set *s, struct reach_aws_packet p,
                              void (*fn)(const char *group_id, void *arg), void *arg)
{
    struct each e = {p, fn, arg};
    for (size_t i = 0; i < s->n; i++) {
        struct group *g = map_get(s->all->by_id, s->ids[i]);
        const struct map *by_group =
            g != NULL ? rules_of(s->all->a, g, p.direction)->by_group : NULL;
        if (by_group != NULL) {
            map_each(by_group, each_one, &e);
        }
    }
}
