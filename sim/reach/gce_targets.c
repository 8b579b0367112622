/* SPDX-License-Identifier: Apache-2.0 */
/* gce_targets.c: the machines behind a forwarding rule, and whether they are healthy.
 *
 * A target pool sends to nic0 of its instances; a backend service to the members of its instance
 * groups (nic0, or the interface in the network that service or internal rule name) and to the
 * endpoints of its NEGs (the interface in the group's network and subnetwork, whose address must
 * still be the endpoint's).  A deleted machine is not a target, nor is one whose interface lacks
 * the family of the rule.
 *
 * Probes go to the address of the rule and to the port of the check.  A target is healthy if its
 * machine runs, the firewalls let each range that the cloud probes from through to it, and the node
 * answers (answers.h).  Those ranges are, for
 *
 *     external rules   35.191.0.0/16, 209.85.152.0/22, 209.85.204.0/22; IPv6 2600:1901:8001::/48
 *     internal rules   35.191.0.0/16, 130.211.0.0/22; IPv6 2600:2d00:1:b029::/64
 *
 * The instances of a target pool without check are healthy if they run; a backend service must have
 * one.
 * Source: the documentation of health checks, target pools and pass-through load balancers;
 * gce-cloud-provider.md §4.7, §4.8, §5.4; gce-l4.md §0, §3.5, §4.3. */
#include <string.h>

#include "common/base/attr.h"
#include "common/base/str.h"
#include "sim/reach/checks.h"
#include "sim/reach/gce.h"

#define TCP 6

/* --- health ----------------------------------------------------------------------------------- */

static struct reach_ranges probe_sources(struct gce *g, const struct gce_rule *rule)
{
    static const char *const external[] = {"35.191.0.0/16", "209.85.152.0/22", "209.85.204.0/22",
                                           "2600:1901:8001::/48"};
    static const char *const internal[] = {"35.191.0.0/16", "130.211.0.0/22",
                                           "2600:2d00:1:b029::/64"};
    const char *const *texts = rule->internal ? internal : external;
    size_t n = rule->internal ? ARRAY_LEN(internal) : ARRAY_LEN(external);
    struct reach_ranges all = REACH_NOBODY;
    for (size_t i = 0; i < n; i++) {
        all = reach_ranges_or(g->a, all, reach_ranges_of(g->a, texts[i]));
    }
    return reach_ranges_family(g->a, all, rule->ipv6);
}

/* The node answers each check as its pods and its Node object are. */
static bool node_answers(struct gce *g, const struct gce_rule *rule, struct json_object *checks,
                         const char *holder, const char *node)
{
    bool answers = true;
    for (size_t i = 0; answers && i < json_len(checks); i++) {
        struct reach_probe probe =
            reach_gce_check(gce_find(g, gce_text_at(checks, i), holder, NULL));
        probe.node = node;
        probe.ipv6 = rule->ipv6;
        answers = reach_probe_succeeds(g->cluster, &probe);
    }
    return answers;
}

static bool probes_pass(struct gce *g, const struct gce_rule *rule, struct json_object *checks,
                        const char *holder, const struct gce_class *class)
{
    for (size_t i = 0; i < json_len(checks); i++) {
        const char *link = gce_text_at(checks, i);
        struct json_object *check = gce_find(g, link, holder, NULL);
        struct gce_packet probe = {TCP, check != NULL ? reach_gce_check(check).port : 0,
                                   rule->ipv6};
        if (probe.port == 0 ||
            !reach_ranges_within(g->a, probe_sources(g, rule),
                                 gce_permitted(g, rule->firewalls, class, &probe))) {
            return false;
        }
    }
    return true;
}

/* --- collecting ------------------------------------------------------------------------------- */

struct collector {
    struct gce *g;
    struct gce_rule *rule;
    struct json_object *checks;
    const char *holder;  /* path of the pool or service that has the checks */
    bool needs_check;    /* without any nothing is healthy */
    const char *network; /* of the interfaces of group members, or NULL: nic0 */
    bool *passes;        /* by class: do the probes get there? */
};

static size_t add_class(struct collector *c, const struct gce_class *class)
{
    size_t i = 0;
    while (i < c->rule->n_classes && c->rule->classes[i] != class) {
        i++;
    }
    if (i == c->rule->n_classes) {
        c->rule->classes[c->rule->n_classes++] = class;
        c->passes[i] = (json_len(c->checks) > 0 || !c->needs_check) &&
                       probes_pass(c->g, c->rule, c->checks, c->holder, class);
    }
    return i;
}

static void add_machine(struct collector *c, const struct gce_machine *m, const struct gce_nic *nic)
{
    if (m == NULL || nic == NULL || !(c->rule->ipv6 ? nic->has_ipv6 : nic->has_ipv4)) {
        return;
    }
    size_t class = add_class(c, nic->class);
    bool healthy =
        m->runs && c->passes[class] && node_answers(c->g, c->rule, c->checks, c->holder, m->name);
    c->rule->targets[c->rule->n_targets++] = (struct gce_target){m->name, healthy, class};
}

static void make_room(struct collector *c, size_t n)
{
    c->rule->targets = ARENA_ARRAY(c->g->a, struct gce_target, n + 1);
    c->rule->classes = ARENA_ARRAY(c->g->a, const struct gce_class *, n + 1);
    c->passes = ARENA_ARRAY(c->g->a, bool, n + 1);
}

static void add_pool(struct collector *c, struct json_object *pool)
{
    struct json_object *instances = json_member(pool, "instances");
    make_room(c, json_len(instances));
    for (size_t i = 0; i < json_len(instances); i++) {
        const char *link = gce_text_at(instances, i);
        const struct gce_machine *m = gce_machine(c->g, link, c->holder);
        add_machine(c, m, m != NULL ? gce_machine_nic(m, NULL, NULL) : NULL);
    }
}

/* A member of an instance group: a link, or a name in the group's zone. */
static void add_member(struct collector *c, const char *group, struct json_object *member)
{
    const struct gce_machine *m = gce_machine(c->g, json_object_get_string(member), group);
    add_machine(c, m, m != NULL ? gce_machine_nic(m, c->network, NULL) : NULL);
}

static void add_endpoint(struct collector *c, const char *path, struct json_object *group,
                         struct json_object *endpoint)
{
    const struct gce_machine *m = gce_machine(c->g, json_str(endpoint, "instance"), path);
    const char *network = gce_path(c->g, json_str(group, "network"), path);
    const char *subnetwork = gce_path(c->g, json_str(group, "subnetwork"), path);
    const struct gce_nic *nic = m != NULL ? gce_machine_nic(m, network, subnetwork) : NULL;
    const char *address = json_str(endpoint, "ipAddress");
    if (nic != NULL && address != NULL && nic->ipv4 != NULL && !str_eq(address, nic->ipv4)) {
        nic = NULL;
    }
    add_machine(c, m, nic);
}

static void add_service(struct collector *c, struct json_object *service)
{
    struct json_object *backends = json_member(service, "backends");
    size_t n = 0;
    for (int counted = 0; counted < 2; counted++) {
        if (counted) {
            make_room(c, n);
        }
        for (size_t i = 0; i < json_len(backends); i++) {
            const char *path = NULL;
            const char *link = json_str(json_object_array_get_idx(backends, i), "group");
            struct json_object *group = gce_find(c->g, link, c->holder, &path);
            struct json_object *members = group != NULL ? json_member(c->g->members, path) : NULL;
            n += json_len(members);
            for (size_t k = 0; counted && k < json_len(members); k++) {
                struct json_object *member = json_object_array_get_idx(members, k);
                if (json_object_is_type(member, json_type_object)) {
                    add_endpoint(c, path, group, member);
                } else {
                    add_member(c, path, member);
                }
            }
        }
    }
}

/* Does this backend service take what the rule gives? */
static bool goes_with(const struct gce_rule *rule, struct json_object *service)
{
    const char *theirs = str_or(json_str(service, "protocol"), "TCP");
    const char *ours = str_or(json_str(rule->body, "IPProtocol"), "TCP");
    const char *scheme = str_or(json_str(service, "loadBalancingScheme"), "EXTERNAL");
    return (str_eq(theirs, "UNSPECIFIED") || str_eq_nocase(theirs, ours)) &&
           str_eq(scheme, "INTERNAL") == rule->internal;
}

void gce_targets_read(struct gce *g, struct gce_rule *rule)
{
    struct collector c = {.g = g, .rule = rule};
    struct json_object *pool = gce_find(g, json_str(rule->body, "target"), rule->path, &c.holder);
    struct json_object *service =
        gce_find(g, json_str(rule->body, "backendService"), rule->path, &c.holder);
    struct json_object *behind = pool != NULL ? pool : service;
    if (behind == NULL || (pool == NULL && !goes_with(rule, service))) {
        rule->why = REACH_NO_RULE;
        return;
    }
    c.checks = json_member(behind, "healthChecks");
    c.needs_check = pool == NULL;
    c.network = gce_path(g, json_str(behind, "network"), c.holder);
    c.network = c.network != NULL ? c.network : rule->network;
    if (pool != NULL) {
        add_pool(&c, pool);
    } else {
        add_service(&c, service);
    }
}
