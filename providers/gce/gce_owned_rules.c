/* SPDX-License-Identifier: Apache-2.0 */
/* gce_owned_rules.c: see gce_owned_rules.h. */
#include "providers/gce/gce_owned_rules.h"

#include "common/base/hash.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_ilb_names.h"
#include "providers/gce/model/gce_l4_names.h"
#include "providers/gce/model/gce_names.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

#define LB_BYTES 32 /* "a" and 31 digits of a uid */

/* ---- names of Services that count ------------------------------------------------------------ */

static void add(struct gce_owned_facts *f, const char *name)
{
    if (!str_is_empty(name)) {
        map_set(f->used, name, f);
    }
}

static void add_l4(struct gce_owned_facts *f, const struct tt_service *s, const char *uid)
{
    struct gce_l4_names n;
    gce_l4_names_make(f->a, uid, s->ns, s->name, str_nonnull(s->uid), &n);
    const char *const names[] = {n.backend,
                                 n.legacy,
                                 n.legacy_v6,
                                 n.rule_tcp,
                                 n.rule_udp,
                                 n.rule_l3,
                                 n.rule_tcp_v6,
                                 n.rule_udp_v6,
                                 n.rule_l3_v6,
                                 n.firewall,
                                 n.firewall_v6,
                                 n.deny,
                                 n.deny_v6,
                                 n.local_check,
                                 n.local_check_firewall,
                                 n.local_check_firewall_v6};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        add(f, names[i]);
    }
}

void gce_owned_facts_add(struct gce_owned_facts *f, const struct tt_service *svc,
                         const char *kube_system_uid)
{
    f->any_counts = true;
    const char *key = arena_printf(f->a, "%s/%s", svc->ns, svc->name);
    bool marked = svc_has_finalizer(svc, GCE_FINALIZER_ILB_V2) ||
                  svc_has_finalizer(svc, GCE_FINALIZER_NETLB_V2) ||
                  svc_has_finalizer(svc, GCE_FINALIZER_NETLB_V3);
    map_set(f->lbs, svc_default_lb_name(f->a, str_nonnull(svc->uid)), marked ? "" : (void *)key);
    map_set(f->used, key, f);
    if (!str_is_empty(kube_system_uid)) {
        add_l4(f, svc, kube_system_uid);
    }
}

/* ---- what a name says ------------------------------------------------------------------------ */

/* "a<uid>" in a name of the schemes without a cluster; NULL if it is not one. */
static const char *lb_in(struct arena *a, const char *name)
{
    static const char *const around[][2] = {
        {"", ""},    {"k8s-fw-", ""}, {"k8s-fw-", "-deny"}, {"k8s-", "-http-hc"},
        {"", "-hc"}, {"", "-ipv6"},   {"", "-former"},      {"", "-former-ipv6"}};
    size_t n = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(around); i++) {
        size_t before = strlen(around[i][0]);
        size_t behind = strlen(around[i][1]);
        if (n == before + LB_BYTES + behind && strncmp(name, around[i][0], before) == 0 &&
            strcmp(name + before + LB_BYTES, around[i][1]) == 0 &&
            inventory_is_lb_name(name + before, LB_BYTES)) {
            return arena_strndup(a, name + before, LB_BYTES);
        }
    }
    return NULL;
}

/* "k8s2-<hash>-…" and "k8s2-tcp-<hash>-…": one of ingress-gce's L4 names, of our cluster. */
static bool is_l4(const struct gce_owned_facts *f, const char *name)
{
    static const char *const words[] = {"", "tcp-", "udp-", "l3-"};
    for (size_t i = 0; !str_is_empty(f->l4_hash) && i < ARRAY_LEN(words); i++) {
        if (str_has_prefix(name, arena_printf(f->a, "k8s2-%s%s-", words[i], f->l4_hash))) {
            return true;
        }
    }
    return false;
}

static bool is_shared(const struct gce_owned_facts *f, enum gce_collection c, const char *name)
{
    if (c == GCE_GROUPS) {
        return str_eq(name, f->group);
    }
    if (is_l4(f, name)) {
        return str_has_prefix(name, arena_printf(f->a, "k8s2-%s-l4-shared-hc", f->l4_hash));
    }
    const char *node = arena_printf(f->a, "k8s-%s-node", f->cluster_id);
    return !str_is_empty(f->cluster_id) &&
           (str_eq(name, node) || str_eq(name, arena_printf(f->a, "%s-http-hc", node)) ||
            str_eq(name, arena_printf(f->a, "%s-hc", node)) ||
            str_has_prefix(name, arena_printf(f->a, "k8s-%s-internal-", f->cluster_id)));
}

/* ---- what it refers to ----------------------------------------------------------------------- */

static const char *last_part(const char *link)
{
    const char *slash = strrchr(link, '/');
    return slash == NULL ? link : slash + 1;
}

/* The name of a shared check, a group, or a backend service of ingress-gce's, or of a NEG. */
static unsigned vouch_of_name(const struct gce_owned_facts *f, const char *name)
{
    size_t n = strlen(name);
    bool check = str_has_prefix(name, "k8s-") && n > 5 && strcmp(name + n - 5, "-node") == 0;
    if (is_l4(f, name) || is_shared(f, GCE_CHECKS, name) || str_eq(name, f->group)) {
        return GCE_VOUCH_ID_OURS;
    }
    return check || str_has_prefix(name, "k8s-ig") || str_has_prefix(name, "k8s2-")
               ? GCE_VOUCH_ID_OTHERS
               : 0;
}

static unsigned vouch_of_links(const struct gce_owned_facts *f, struct json_object *list,
                               const char *member)
{
    unsigned v = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *link = member != NULL ? json_str(one, member) : json_object_get_string(one);
        v |= vouch_of_name(f, last_part(str_nonnull(link)));
    }
    return v;
}

/* Instances: one of our nodes makes it ours; others without any of ours, another cluster's. */
static unsigned vouch_of_nodes(const struct str_set *ours, struct json_object *list)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_object_array_get_idx(list, i));
        if (str_set_has(ours, last_part(str_nonnull(one)))) {
            return GCE_VOUCH_NODES_OURS;
        }
    }
    return json_len(list) > 0 && ours->n > 0 ? GCE_VOUCH_NODES_OTHERS : 0;
}

static unsigned vouch_of(const struct gce_owned_facts *f, enum gce_collection c,
                         struct json_object *o)
{
    switch (c) {
    case GCE_POOLS:
        return vouch_of_links(f, json_member(o, "healthChecks"), NULL) |
               vouch_of_nodes(&f->nodes, json_member(o, "instances"));
    case GCE_BACKENDS:
        return vouch_of_links(f, json_member(o, "backends"), "group");
    case GCE_RULES:
        return vouch_of_name(f, last_part(str_nonnull(json_str(o, "backendService"))));
    case GCE_FIREWALLS:
        /* Two clusters may have one tag: it is no proof. */
        return vouch_of_nodes(&f->tags, json_member(o, "targetTags")) & ~GCE_VOUCH_NODES_OURS;
    default:
        return 0;
    }
}

static unsigned pieces_of(enum gce_collection c, struct json_object *o)
{
    const char *scheme = str_nonnull(json_str(o, "loadBalancingScheme"));
    bool internal = str_eq(scheme, "INTERNAL");
    struct json_object *backends = json_member(o, "backends");
    const char *group =
        json_len(backends) > 0 ? json_str(json_object_array_get_idx(backends, 0), "group") : NULL;
    unsigned bits = 0;
    if (c == GCE_POOLS || c == GCE_CHECKS ||
        (c == GCE_RULES && strstr(str_nonnull(json_str(o, "target")), "/targetPools/") != NULL)) {
        bits |= GCE_PIECE_POOL;
    } else if (c == GCE_RULES || c == GCE_BACKENDS) {
        bits |= internal ? GCE_PIECE_INTERNAL : GCE_PIECE_EXTERNAL;
    } else if (c == GCE_ADDRESSES && str_eq(json_str(o, "addressType"), "INTERNAL")) {
        bits |= GCE_PIECE_INTERNAL;
    }
    if (c == GCE_NEGS || strstr(str_nonnull(group), "/networkEndpointGroups/") != NULL) {
        bits |= GCE_PIECE_NEGS;
    }
    return bits;
}

/* ---- what it says of itself ------------------------------------------------------------------ */

/* "ns/name" by the description; NULL if it is not one of trimtab, or names no Service. */
static const char *key_of(struct arena *a, struct json_object *o)
{
    const char *text = json_str(o, "description");
    struct json_object *d = NULL;
    if (str_is_empty(text) || json_parse_arena(a, text, strlen(text), NULL, &d, NULL) != ERR_OK ||
        !json_object_is_type(d, json_type_object)) {
        return NULL;
    }
    const char *key = str_or(json_str(d, "networking.gke.io/service-name"),
                             json_str(d, "kubernetes.io/service-name"));
    if (key == NULL && json_str(d, "namespace") != NULL && json_str(d, "service-name") != NULL) {
        key = arena_printf(a, "%s/%s", json_str(d, "namespace"), json_str(d, "service-name"));
    }
    const char *slash = key != NULL ? strchr(key, '/') : NULL;
    bool whole = slash != NULL && slash > key && slash[1] != '\0' && strchr(slash + 1, '/') == NULL;
    return whole ? arena_strdup(a, key) : NULL;
}

static bool has_l4_description(struct json_object *o)
{
    return strstr(str_nonnull(json_str(o, "description")), "networking.gke.io/service-name") !=
           NULL;
}

bool gce_owned_read(const struct gce_owned_facts *f, enum gce_collection c, struct json_object *o,
                    struct gce_owned *ret)
{
    struct arena *a = f->a;
    const char *name = str_nonnull(json_str(o, "name"));
    const char *zone = json_str(o, "zone");
    const char *lb = lb_in(a, name);
    bool l4 = is_l4(f, name);
    bool shared = is_shared(f, c, name);
    if (lb == NULL && !l4 && !shared) {
        return false;
    }
    *ret = (struct gce_owned){
        .item = {.kind = c,
                 .name = arena_strdup(a, name),
                 .place = zone != NULL ? arena_strdup(a, last_part(zone)) : NULL,
                 .key = key_of(a, o),
                 .unit = ""},
        .vouch = lb != NULL && !l4 ? vouch_of(f, c, o) : GCE_VOUCH_ID_OURS,
        .pieces = pieces_of(c, o),
    };
    struct inventory_item *item = &ret->item;
    ret->l4 = l4 || (lb != NULL && has_l4_description(o));
    const char *served = lb != NULL && c == GCE_RULES ? map_get(f->lbs, lb) : NULL;
    if (!str_is_empty(served) && (ret->pieces & GCE_PIECE_POOL) != 0) {
        map_set(f->pools, served, NULL);
    }
    (void)time_parse_rfc3339(str_nonnull(json_str(o, "creationTimestamp")), &item->created_us);
    if (shared) {
        item->key = NULL;
        item->used = f->any_counts;
    } else if (lb != NULL) {
        /* A rule of ingress-gce's belongs to what else that made for the Service. */
        item->unit = ret->l4 && item->key != NULL ? item->key : lb;
        item->used = map_has(f->lbs, lb);
    } else {
        item->unit = str_nonnull(item->key);
        item->used = map_has(f->used, name) || (item->key != NULL && map_has(f->used, item->key));
    }
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct gce_owned *owned_of(const struct inventory_item *item)
{
    return CONTAINER_OF((void *)(uintptr_t)item, struct gce_owned, item);
}

static bool is_others(unsigned vouch)
{
    if ((vouch & (GCE_VOUCH_ID_OTHERS | GCE_VOUCH_ID_OURS)) != 0) {
        return (vouch & GCE_VOUCH_ID_OTHERS) != 0;
    }
    return (vouch & GCE_VOUCH_NODES_OURS) == 0 && (vouch & GCE_VOUCH_NODES_OTHERS) != 0;
}

/* The pieces of one load balancer: all that one of them says goes for all. */
static void settle_unit(const struct gce_owned_facts *f, const struct inventory_unit *u)
{
    unsigned vouch = 0;
    for (size_t i = 0; i < u->n; i++) {
        vouch |= owned_of(u->items[i])->vouch;
    }
    for (size_t i = 0; i < u->n; i++) {
        struct inventory_item *item = u->items[i];
        owned_of(item)->vouch = vouch;
        item->unsure = vouch == 0 && !item->used;
        item->used = item->used || (item->kind == GCE_GROUPS && f->in_use_elsewhere);
    }
}

static bool is_kept(const struct inventory_item *item)
{
    return item->used || !is_others(owned_of(item)->vouch);
}

void gce_owned_settle(const struct gce_owned_facts *f, struct inventory *inv)
{
    struct inventory_unit u;
    for (size_t i = 0; i < inv->n; i++) {
        struct inventory_item *item = inv->items[i];
        bool of_pool = item->key != NULL && map_has(f->pools, item->key);
        item->used = item->used && !(of_pool && is_l4(f, item->name));
    }
    inventory_settle(inv);
    for (size_t at = 0; inventory_next(inv, &at, &u);) {
        settle_unit(f, &u);
    }
    inventory_filter(inv, is_kept);
}

/* ---- words ----------------------------------------------------------------------------------- */

#define FREE "free"
const struct inventory_words gce_owned_words[GCE_COLLECTION_MAX] = {
    [GCE_ADDRESSES] = {"address", "billed by the hour while nothing uses it"},
    [GCE_RULES] = {"forwarding rule", "billed by the hour"},
    [GCE_POOLS] = {"target pool", FREE},
    [GCE_FIREWALLS] = {"firewall", FREE},
    [GCE_CHECKS] = {"health check", FREE},
    [GCE_BACKENDS] = {"backend service", FREE},
    [GCE_HCS] = {"health check", FREE},
    [GCE_REGION_HCS] = {"health check", FREE},
    [GCE_NEGS] = {"NEG", FREE},
    [GCE_GROUPS] = {"instance group", FREE},
};
static const char *const commands[GCE_COLLECTION_MAX] = {
    [GCE_ADDRESSES] = "addresses",
    [GCE_RULES] = "forwarding-rules",
    [GCE_POOLS] = "target-pools",
    [GCE_FIREWALLS] = "firewall-rules",
    [GCE_CHECKS] = "http-health-checks",
    [GCE_BACKENDS] = "backend-services",
    [GCE_HCS] = "health-checks",
    [GCE_REGION_HCS] = "health-checks",
    [GCE_NEGS] = "network-endpoint-groups",
    [GCE_GROUPS] = "instance-groups unmanaged",
};

const char *gce_owned_command(const struct gce_owned_facts *f, const struct inventory_item *item)
{
    unsigned c = item->kind;
    bool global = c == GCE_HCS;
    bool anywhere = c == GCE_FIREWALLS || c == GCE_CHECKS;
    const char *project = c == GCE_FIREWALLS ? f->network_project : f->project;
    const char *place = item->place != NULL ? arena_printf(f->a, " --zone=%s", item->place)
                        : global            ? " --global"
                        : anywhere          ? ""
                                            : arena_printf(f->a, " --region=%s", f->region);
    if (commands[c] == NULL) {
        return NULL;
    }
    return arena_printf(f->a, "gcloud compute %s delete %s --project=%s%s", commands[c], item->name,
                        project, place);
}

/* ---- by which Service it can be deleted ------------------------------------------------------ */

/* Of a Service whose UID is not known any more. */
static const char *some_uid(struct arena *a, const char *key)
{
    uint64_t x = hash_bytes(1, key, strlen(key));
    uint64_t y = hash_bytes(2, key, strlen(key));
    return arena_printf(a, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(x >> 32),
                        (unsigned)(x >> 16 & 0xffff), (unsigned)(x & 0xffff), (unsigned)(y >> 48),
                        (unsigned long long)(y & 0xffffffffffffULL));
}

/* The kinds whose pieces these are, as the finalizers that identify them. */
static size_t finalizers_of(unsigned pieces, bool l4, bool legacy, const char **ret)
{
    size_t n = 0;
    if (l4 && (pieces & GCE_PIECE_EXTERNAL) != 0) {
        ret[n++] = (pieces & GCE_PIECE_NEGS) != 0 ? GCE_FINALIZER_NETLB_V3 : GCE_FINALIZER_NETLB_V2;
    } else if (l4) {
        ret[n++] = GCE_FINALIZER_ILB_V2;
    }
    if (legacy && !l4 && (pieces & GCE_PIECE_INTERNAL) != 0) {
        ret[n++] = GCE_FINALIZER_ILB_V1;
    }
    if ((legacy && !l4 && (pieces & GCE_PIECE_INTERNAL) == 0) || (pieces & GCE_PIECE_POOL) != 0) {
        ret[n++] = GCE_FINALIZER_NETLB_V1;
    }
    return n;
}

const struct tt_service *gce_owned_service(const struct gce_owned_facts *f,
                                           const struct inventory_unit *unit)
{
    struct arena *a = f->a;
    const char *key = unit->items[0]->key;
    const char *lb = NULL;
    unsigned pieces = 0;
    bool l4 = false;
    for (size_t i = 0; i < unit->n; i++) {
        const struct gce_owned *o = owned_of(unit->items[i]);
        lb = lb == NULL ? lb_in(a, o->item.name) : lb;
        pieces |= o->pieces;
        l4 = l4 || o->l4;
        if (o->item.used) {
            return NULL;
        }
    }
    /* Names of ingress-gce's are those of any Service of that namespace and name: one that is there
     * would lose its own. */
    if (key == NULL || unit->items[0]->unit[0] == '\0' ||
        (l4 && map_has(f->used, key) && !map_has(f->pools, key))) {
        return NULL;
    }
    const char **finalizers = ARENA_ARRAY(a, const char *, 3);
    struct tt_service *s =
        inventory_service(a, key, lb != NULL ? inventory_uid_of(a, lb) : some_uid(a, key));
    if (s != NULL) {
        s->finalizers = finalizers;
        s->n_finalizers = (uint32_t)finalizers_of(pieces, l4, lb != NULL, finalizers);
    }
    return s;
}
