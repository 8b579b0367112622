/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws_admits.c: what security groups let in: clients into balancers, balancers and clients
 * into nodes (world_aws_whole.h).
 *
 * The group of the nodes is to hold exactly what its Services and its users want; a network
 * balancer's probes need no rules of their own if all clients are allowed.  Source:
 * docs/spec/aws.md 4.10, 4.11, 5.9, 5.11. */
#include "tests/fault/world_aws_whole.h"

#include <stdlib.h>
#include <string.h>

#define CLIENT "kubernetes.io/rule/nlb/client="
#define MTU    "kubernetes.io/rule/nlb/mtu"
#define ALL    "0.0.0.0/0"

static const char *name_of(struct json_object *service)
{
    return str_nonnull(json_str(json_member(service, "metadata"), "name"));
}

static const char *text_at(struct json_object *list, size_t i)
{
    return str_nonnull(json_object_get_string(json_object_array_get_idx(list, i)));
}

static struct str_set clients_of(struct arena *a, struct json_object *service)
{
    struct json_object *ranges = json_path(service, "spec.loadBalancerSourceRanges");
    size_t n = json_len(ranges);
    const char **items = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        items[i] = text_at(ranges, i);
    }
    items[n] = ALL;
    return str_set_make(a, items, n > 0 ? n : 1);
}

static const char *rule_text(struct arena *a, const char *protocol, int64_t from, int64_t to,
                             const char *source, const char *description)
{
    const struct aws_atom atom = {protocol, from, to, source, description};
    return aws_atom_text(a, &atom);
}

/* ---- groups of balancers --------------------------------------------------------------------- */

static struct json_object *group_by_id(struct aws_whole *w, const char *group_id, const char **key)
{
    json_object_object_foreach(w->v->docs, id, doc)
    {
        if (str_has_prefix(id, AWS_GROUP) && str_eq(json_str(doc, "GroupId"), group_id)) {
            *key = id;
            return doc;
        }
    }
    return NULL;
}

/* A group that was made for the Service admits exactly its clients to its ports, and ICMP for
 * smaller packets. */
static int check_own_rules(struct aws_whole *w, struct json_object *service,
                           struct json_object *group)
{
    struct arena *a = w->v->a;
    struct json_object *ports = json_path(service, "spec.ports");
    struct str_set clients = clients_of(a, service);
    size_t n = 0;
    struct aws_atom *atoms = aws_atoms_of(a, group, &n);
    struct map *want = map_new(NULL);
    for (size_t c = 0; c < clients.n; c++) {
        map_set(want, rule_text(a, "icmp", 3, 4, clients.items[c], ""), NULL);
        for (size_t i = 0; i < json_len(ports); i++) {
            struct json_object *p = json_object_array_get_idx(ports, i);
            const char *protocol = str_lower(a, str_or(json_str(p, "protocol"), "TCP"));
            int64_t port = json_int(p, "port", 0);
            map_set(want, rule_text(a, protocol, port, port, clients.items[c], ""), NULL);
        }
    }
    bool same = n == map_size(want);
    for (size_t i = 0; i < n; i++) {
        same = same && map_has(want, aws_atom_text(a, &atoms[i]));
    }
    map_free(want);
    return same ? ERR_OK
                : err_set(w->err, ERR_CONFLICT, "%s: the rules of %s are %s", name_of(service),
                          json_str(group, "GroupName"),
                          json_text(a, json_member(group, "IpPermissions"), JSON_SORTED));
}

/* *ret_main is the id of the first group that was made for it, or of the first at all; NULL:
 * it has none. */
static int check_groups(struct aws_whole *w, struct json_object *service, struct json_object *lb,
                        const char **ret_main)
{
    struct json_object *ids = json_member(lb, "SecurityGroups");
    int rc = ERR_OK;
    *ret_main = json_len(ids) > 0 ? text_at(ids, 0) : NULL;
    for (size_t i = 0; i < json_len(ids) && rc == ERR_OK; i++) {
        const char *key = NULL;
        struct json_object *group = group_by_id(w, text_at(ids, i), &key);
        if (group == NULL) {
            return err_set(w->err, ERR_CONFLICT, "%s: the group %s is gone", name_of(service),
                           text_at(ids, i));
        }
        if (json_member(w->v->foreign, key) == NULL) {
            aws_want(w, key);
            *ret_main = text_at(ids, i);
            rc = check_own_rules(w, service, group);
        }
    }
    return rc;
}

/* The annotation's first group is the main one. */
int aws_admit_classic(struct aws_whole *w, struct json_object *service, struct json_object *lb)
{
    const char *main_group = NULL;
    const char *noted = aws_note_of(service, "security-groups");
    int rc = check_groups(w, service, lb, &main_group);
    if (rc == ERR_OK && main_group == NULL) {
        rc = err_set(w->err, ERR_CONFLICT, "%s: the balancer has no group", name_of(service));
    }
    if (rc == ERR_OK) {
        main_group =
            noted == NULL ? main_group : arena_strndup(w->v->a, noted, strcspn(noted, ","));
        map_set(w->rules, rule_text(w->v->a, "-1", -1, -1, main_group, ""), NULL);
    }
    return rc;
}

int aws_admit_to_nlb(struct aws_whole *w, struct json_object *service, struct json_object *lb)
{
    const char *main_group = NULL;
    return check_groups(w, service, lb, &main_group);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Probes come from the balancer's subnets.  Where several balancers probe the same port, AWS has
 * one rule for them. */
static void admit_probes(struct aws_whole *w, struct json_object *lb, bool needed, int64_t port)
{
    struct arena *a = w->v->a;
    struct json_object *zones = json_member(lb, "AvailabilityZones");
    const char *description = arena_printf(a, AWS_PROBES "%s", json_str(lb, "LoadBalancerName"));
    for (size_t i = 0; i < json_len(zones); i++) {
        const char *id = json_str(json_object_array_get_idx(zones, i), "SubnetId");
        struct json_object *subnet =
            json_member(w->v->docs, arena_printf(a, "ec2/Subnets/%s", str_nonnull(id)));
        const char *cidr = str_nonnull(json_str(subnet, "CidrBlock"));
        map_set(w->tolerated, rule_text(a, "tcp", port, port, cidr, description), NULL);
        if (needed) {
            map_set(w->probes, rule_text(a, "tcp", port, port, cidr, ""), NULL);
        }
    }
}

int aws_admit_nlb(struct aws_whole *w, struct json_object *service, struct json_object *port,
                  struct json_object *lb, struct json_object *target_group)
{
    struct arena *a = w->v->a;
    struct str_set clients = clients_of(a, service);
    const char *protocol = str_eq(json_str(port, "protocol"), "UDP") ? "udp" : "tcp";
    int64_t node_port = json_int(port, "nodePort", 0);
    const char *probed = str_nonnull(json_str(target_group, "HealthCheckPort"));
    int64_t health = str_eq(probed, "traffic-port") ? node_port : strtoll(probed, NULL, 10);
    bool local = str_eq(json_str(json_member(service, "spec"), "externalTrafficPolicy"), "Local");
    const char *description = arena_printf(a, CLIENT "%s", json_str(lb, "LoadBalancerName"));
    if (local && health != json_int(json_member(service, "spec"), "healthCheckNodePort", 0)) {
        return err_set(w->err, ERR_CONFLICT, "%s: port %lld is probed", name_of(service),
                       (long long)health);
    }
    for (size_t c = 0; c < clients.n; c++) {
        const char *from = clients.items[c];
        map_set(w->rules, rule_text(a, protocol, node_port, node_port, from, description), NULL);
        map_set(w->rules, rule_text(a, "icmp", 3, 4, from, MTU), NULL);
    }
    bool by_tcp = str_eq(protocol, "tcp") || aws_serves_both(service, port);
    bool anybody = clients.n == 1 && str_eq(clients.items[0], ALL) && by_tcp && health == node_port;
    admit_probes(w, lb, !anybody, health);
    return ERR_OK;
}

static int none_is_left(struct aws_whole *w, struct map *rules)
{
    size_t n = 0;
    const char **left = map_keys(rules, &n);
    int rc = n == 0 ? ERR_OK : err_set(w->err, ERR_CONFLICT, "the nodes do not admit %s", left[0]);
    free(left);
    return rc;
}

int aws_check_node_rules(struct aws_whole *w)
{
    struct arena *a = w->v->a;
    size_t n = 0;
    size_t n_users = 0;
    struct json_object *group = json_member(w->v->docs, AWS_GROUP AWS_NODES);
    struct aws_atom *atoms = aws_atoms_of(a, group, &n);
    struct aws_atom *users =
        aws_atoms_of(a, json_member(w->v->foreign, AWS_GROUP AWS_NODES), &n_users);
    if (w->v->deny) {
        map_clear(w->rules);
        map_clear(w->probes);
        map_clear(w->tolerated);
    }
    /* Nodes admit each other: the installer's rule. */
    map_set(w->tolerated, rule_text(a, "-1", -1, -1, json_str(group, "GroupId"), ""), NULL);
    for (size_t i = 0; i < n_users; i++) {
        map_set(w->tolerated, aws_atom_text(a, &users[i]), NULL);
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = aws_atom_text(a, &atoms[i]);
        bool probes = str_has_prefix(atoms[i].description, AWS_PROBES);
        atoms[i].description = "";
        /* The first user gave it its name, and may be gone. */
        bool needed = map_remove(w->probes, aws_atom_text(a, &atoms[i])) && probes;
        if (!map_remove(w->rules, text) && !needed && !map_has(w->tolerated, text)) {
            return err_set(w->err, ERR_CONFLICT, "the nodes still admit %s", text);
        }
    }
    int rc = none_is_left(w, w->rules);
    return rc == ERR_OK ? none_is_left(w, w->probes) : rc;
}
