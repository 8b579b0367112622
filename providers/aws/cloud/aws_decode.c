/* SPDX-License-Identifier: Apache-2.0 */
/* aws_decode.c: texts, numbers, lists and tags; and the items of EC2's answers (aws_decode.h).
 *
 * Those of the load balancers stand in aws_decode_lb.c. */
#include "providers/aws/cloud/aws_decode.h"

#include "common/base/hash.h"
#include "common/base/str.h"
#include "providers/aws/model/aws_rules.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_FIRST 16

/* ---- texts and numbers ----------------------------------------------------------------------- */

/* The arena's address: no peer knows which texts collide. */
static uint64_t seed_of(const struct aws_decode *d)
{
    return (uint64_t)(uintptr_t)d->a;
}

static const char **place_of(const struct aws_decode *d, const char *text)
{
    size_t i = hash_quick(seed_of(d), text, strlen(text)) & (d->n_places - 1);
    while (d->shared[i] != NULL && !str_eq(d->shared[i], text)) {
        i = (i + 1) & (d->n_places - 1);
    }
    return &d->shared[i];
}

/* Half of the places stay free. */
static void make_room(struct aws_decode *d)
{
    const char *const *old = d->shared;
    size_t n = d->n_places;
    if (2 * d->n_shared < n) {
        return;
    }
    d->n_places = n == 0 ? PLACES_FIRST : 4 * n;
    d->shared = ARENA_ARRAY(d->a, const char *, d->n_places);
    for (size_t i = 0; i < n; i++) {
        if (old[i] != NULL) {
            *place_of(d, old[i]) = old[i];
        }
    }
}

static const char *share(struct aws_decode *d, const char *text)
{
    if (str_is_empty(text)) {
        return "";
    }
    make_room(d);
    const char **place = place_of(d, text);
    if (*place == NULL) {
        *place = arena_strdup(d->a, text);
        d->n_shared++;
    }
    return *place;
}

const char *aws_decode_text(struct aws_decode *d, const struct aws_node *n, const char *path)
{
    const char *text = aws_xml_text(n, path);
    return str_is_empty(text) ? "" : arena_strdup(d->a, text);
}

const char *aws_decode_shared(struct aws_decode *d, const struct aws_node *n, const char *path)
{
    return share(d, aws_xml_text(n, path));
}

int32_t aws_decode_int(const struct aws_node *n, const char *path, int32_t otherwise)
{
    int64_t v;
    bool fits = aws_xml_int(n, path, &v) && v >= INT32_MIN && v <= INT32_MAX;
    return fits ? (int32_t)v : otherwise;
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

struct aws_texts aws_decode_texts(struct aws_decode *d, const struct aws_node *n, const char *path,
                                  const char *member, bool sorted)
{
    const char **items = ARENA_ARRAY(d->a, const char *, aws_xml_count(n, path));
    size_t count = 0;
    AWS_XML_EACH(item, n, path)
    {
        const char *text = share(d, aws_xml_text(item, str_nonnull(member)));
        if (*text != '\0') {
            items[count++] = text;
        }
    }
    if (sorted && count > 1) {
        qsort(items, count, sizeof(items[0]), compare_texts);
    }
    return (struct aws_texts){items, count};
}

static struct aws_texts keep_list(struct aws_decode *d, const char *const *came, size_t n)
{
    const char **sorted = arena_memdup(d->a, came, n * sizeof(*came));
    qsort(sorted, n, sizeof(*sorted), compare_texts);
    return (struct aws_texts){sorted, n};
}

struct aws_texts aws_decode_shared_texts(struct aws_decode *d, const struct aws_node *n,
                                         const char *path, const char *member)
{
    size_t most = aws_xml_count(n, path);
    _cleanup_(xfreep) const char **came = xcalloc(most + 1, sizeof(*came));
    size_t count = 0;
    AWS_XML_EACH(item, n, path)
    {
        const char *text = share(d, aws_xml_text(item, member));
        if (*text != '\0') {
            came[count++] = text;
        }
    }
    if (count == 0) {
        return (struct aws_texts){0};
    }
    size_t bytes = count * sizeof(*came); /* shared texts: equal ones have one address */
    struct aws_decode_list *l = &d->lists[hash_quick(seed_of(d), came, bytes) % AWS_DECODE_LISTS];
    if (l->came == NULL || l->texts.n != count || memcmp(l->came, came, bytes) != 0) {
        l->came = arena_memdup(d->a, came, bytes);
        l->texts = keep_list(d, came, count);
    }
    return l->texts;
}

/* ---- tags ------------------------------------------------------------------------------------ */

static const char *tag_text(const struct aws_node *item, const char *ec2, const char *elb)
{
    const char *text = aws_xml_text(item, ec2);
    return text != NULL ? text : aws_xml_text(item, elb);
}

static int compare_tags(const void *x, const void *y)
{
    return strcmp(((const struct aws_tag *)x)->key, ((const struct aws_tag *)y)->key);
}

struct aws_tags aws_decode_tags(struct aws_decode *d, const struct aws_node *n, const char *path,
                                bool (*keep)(const char *key))
{
    struct aws_tag *items = ARENA_ARRAY(d->a, struct aws_tag, aws_xml_count(n, path));
    size_t count = 0;
    AWS_XML_EACH(item, n, path)
    {
        const char *key = tag_text(item, "key", "Key");
        if (!str_is_empty(key) && (keep == NULL || keep(key))) {
            items[count++] =
                (struct aws_tag){share(d, key), share(d, tag_text(item, "value", "Value"))};
        }
    }
    if (count > 1) {
        qsort(items, count, sizeof(items[0]), compare_tags);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) { /* AWS has no doubles */
        if (kept == 0 || !str_eq(items[kept - 1].key, items[i].key)) {
            items[kept++] = items[i];
        }
    }
    return (struct aws_tags){items, kept};
}

static bool matters_of_subnet(const char *key)
{
    return str_has_prefix(key, AWS_CLUSTER_TAG_PREFIX) || str_eq(key, AWS_LEGACY_CLUSTER_TAG) ||
           str_has_prefix(key, "kubernetes.io/role/") || str_eq(key, "Name");
}

static bool tells_cluster(const char *key)
{
    return str_has_prefix(key, AWS_CLUSTER_TAG_PREFIX) || str_eq(key, AWS_LEGACY_CLUSTER_TAG);
}

/* ---- places ---------------------------------------------------------------------------------- */

bool aws_decode_subnet(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_subnet *s = ret;
    s->id = aws_decode_text(d, n, "subnetId");
    s->vpc = aws_decode_shared(d, n, "vpcId");
    s->zone = aws_decode_shared(d, n, "availabilityZone");
    s->cidr = aws_decode_text(d, n, "cidrBlock");
    s->tags = aws_decode_tags(d, n, "tagSet", matters_of_subnet);
    return *s->id != '\0';
}

bool aws_decode_route_table(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_route_table *t = ret;
    t->id = aws_decode_text(d, n, "routeTableId");
    t->subnets = aws_decode_texts(d, n, "associationSet", "subnetId", false);
    AWS_XML_EACH(association, n, "associationSet")
    {
        t->main = t->main || aws_xml_bool(association, "main", false);
    }
    AWS_XML_EACH(route, n, "routeSet")
    {
        t->to_internet =
            t->to_internet || str_has_prefix(str_nonnull(aws_xml_text(route, "gatewayId")), "igw");
    }
    return *t->id != '\0';
}

bool aws_decode_zone(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_zone *z = ret;
    z->name = aws_decode_text(d, n, "zoneName");
    z->type = aws_decode_shared(d, n, "zoneType");
    return *z->name != '\0';
}

/* ---- instances ------------------------------------------------------------------------------- */

bool aws_decode_instance(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_instance *i = ret;
    struct aws_group_ref *groups =
        ARENA_ARRAY(d->a, struct aws_group_ref, aws_xml_count(n, "groupSet"));
    i->id = aws_decode_text(d, n, "instanceId");
    i->state = aws_decode_shared(d, n, "instanceState/name");
    i->zone = aws_decode_shared(d, n, "placement/availabilityZone");
    i->vpc = aws_decode_shared(d, n, "vpcId");
    AWS_XML_EACH(group, n, "groupSet")
    {
        groups[i->n_groups++] = (struct aws_group_ref){aws_decode_shared(d, group, "groupId"),
                                                       aws_decode_shared(d, group, "groupName")};
    }
    i->groups = groups;
    struct aws_tags tags = aws_decode_tags(d, n, "tagSet", tells_cluster);
    i->in_cluster = aws_tags_are_cluster(d->naming, &tags);
    return *i->id != '\0';
}

/* ---- security groups ------------------------------------------------------------------------- */

/* Members of an entry in each list of a permission. */
static const struct {
    const char *path;
    const char *source;
    enum aws_peer peer;
} peers[] = {
    {"ipRanges", "cidrIp", AWS_PEER_CIDR},
    {"ipv6Ranges", "cidrIpv6", AWS_PEER_CIDR6},
    {"groups", "groupId", AWS_PEER_GROUP},
    {"prefixListIds", "prefixListId", AWS_PEER_PREFIX_LIST},
};

static size_t count_rules(const struct aws_node *n)
{
    size_t count = 0;
    AWS_XML_EACH(permission, n, "ipPermissions")
    {
        for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
            count += aws_xml_count(permission, peers[i].path);
        }
    }
    return count;
}

static struct aws_rules decode_rules(struct aws_decode *d, const struct aws_node *n)
{
    struct aws_rule *items = ARENA_ARRAY(d->a, struct aws_rule, count_rules(n));
    size_t count = 0;
    AWS_XML_EACH(permission, n, "ipPermissions")
    {
        const struct aws_rule base = {
            .protocol = aws_decode_shared(d, permission, "ipProtocol"),
            .from = aws_decode_int(permission, "fromPort", AWS_NO_PORT),
            .to = aws_decode_int(permission, "toPort", AWS_NO_PORT),
        };
        for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
            AWS_XML_EACH(entry, permission, peers[i].path)
            {
                struct aws_rule *rule = &items[count++];
                *rule = base;
                rule->peer = peers[i].peer;
                rule->source = aws_decode_shared(d, entry, peers[i].source);
                rule->user =
                    rule->peer == AWS_PEER_GROUP ? aws_decode_shared(d, entry, "userId") : "";
                rule->description = aws_decode_shared(d, entry, "description");
            }
        }
    }
    return aws_rules_sorted(d->a, items, count);
}

bool aws_decode_group(struct aws_decode *d, const struct aws_node *n, void *ret)
{
    struct aws_group *g = ret;
    g->id = aws_decode_text(d, n, "groupId");
    g->name = aws_decode_text(d, n, "groupName");
    g->description = aws_decode_shared(d, n, "groupDescription");
    g->vpc = aws_decode_shared(d, n, "vpcId");
    g->tags = aws_decode_tags(d, n, "tagSet", NULL);
    g->rules = decode_rules(d, n);
    return *g->id != '\0';
}
