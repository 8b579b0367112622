/* SPDX-License-Identifier: Apache-2.0 */
/* world_aws_whole.c: each Service has all that belongs to it in AWS, and nothing is without an
 * owner (world_internal.h).
 *
 * A Service has a balancer of the kind that its annotation says, a listener per port that leads to
 * all nodes, and rules that let clients in (world_aws_admits.c).  Whatever is neither of a Service
 * nor foreign nor of the cluster's installer is left behind.  Names are written down again, as the
 * cluster's user would check them: nothing is shared with the provider.
 * Source: docs/spec/aws.md 4.4, 4.5, 4.13, 5.1, 5.6, 5.7. */
#include "tests/fault/world_aws_whole.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/strset.h"

const char *aws_note_of(struct json_object *service, const char *suffix)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    return json_str(json_path(service, "metadata.annotations"),
                    arena_printf(a, "service.beta.kubernetes.io/aws-load-balancer-%s", suffix));
}

static const char *name_of(struct json_object *service)
{
    return str_nonnull(json_str(json_member(service, "metadata"), "name"));
}

void aws_want(struct aws_whole *w, const char *id)
{
    map_set(w->wanted, id, NULL);
}

static struct json_object *find(struct aws_whole *w, const char *prefix, const char *id)
{
    return json_member(w->v->docs, arena_printf(w->v->a, "%s%s", prefix, id));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Instance ids of the cluster's nodes: the last word of their provider ids. */
static struct str_set instances_of_nodes(const struct world_view *v)
{
    struct json_object *nodes = json_path(v->world, "kubernetes.nodes");
    const char **ids = ARENA_ARRAY(v->a, const char *, json_len(nodes) + 1);
    for (size_t i = 0; i < json_len(nodes); i++) {
        struct json_object *spec = json_member(json_object_array_get_idx(nodes, i), "spec");
        const char *slash = strrchr(str_nonnull(json_str(spec, "providerID")), '/');
        ids[i] = slash == NULL ? "" : slash + 1;
    }
    return str_set_make(v->a, ids, json_len(nodes));
}

static int check_members(struct aws_whole *w, const char *where, const char **ids, size_t n)
{
    struct arena *a = w->v->a;
    struct str_set there = str_set_make(a, ids, n);
    return str_set_eq(&there, &w->nodes)
               ? ERR_OK
               : err_set(w->err, ERR_CONFLICT, "in %s are %s, the nodes are %s", where,
                         str_set_text(a, &there, ","), str_set_text(a, &w->nodes, ","));
}

/* ---- classic balancers ----------------------------------------------------------------------- */

static struct json_object *classic_listener(struct json_object *lb, int64_t port)
{
    struct json_object *list = json_member(lb, "ListenerDescriptions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *l = json_member(json_object_array_get_idx(list, i), "Listener");
        if (json_int(l, "LoadBalancerPort", 0) == port) {
            return l;
        }
    }
    return NULL;
}

static int check_classic_ports(struct aws_whole *w, struct json_object *service,
                               struct json_object *lb)
{
    struct json_object *ports = json_path(service, "spec.ports");
    size_t n = json_len(json_member(lb, "ListenerDescriptions"));
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        struct json_object *l = classic_listener(lb, json_int(p, "port", 0));
        if (l == NULL || json_int(l, "InstancePort", 0) != json_int(p, "nodePort", 0)) {
            return err_set(w->err, ERR_CONFLICT, "%s: no listener leads port %lld to the nodes",
                           name_of(service), (long long)json_int(p, "port", 0));
        }
    }
    return n == json_len(ports)
               ? ERR_OK
               : err_set(w->err, ERR_CONFLICT, "%s: %zu listeners", name_of(service), n);
}

static int check_classic(struct aws_whole *w, struct json_object *service, struct json_object *lb)
{
    struct json_object *list = json_member(lb, "Instances");
    const char **ids = ARENA_ARRAY(w->v->a, const char *, json_len(list) + 1);
    for (size_t i = 0; i < json_len(list); i++) {
        ids[i] = str_nonnull(json_str(json_object_array_get_idx(list, i), "InstanceId"));
    }
    int rc = check_classic_ports(w, service, lb);
    rc = rc == ERR_OK ? check_members(w, name_of(service), ids, json_len(list)) : rc;
    return rc == ERR_OK ? aws_admit_classic(w, service, lb) : rc;
}

/* ---- network balancers ----------------------------------------------------------------------- */

static bool is_tls(struct json_object *service, struct json_object *port)
{
    const char *only = aws_note_of(service, "ssl-ports");
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *number = arena_printf(a, "%lld", (long long)json_int(port, "port", 0));
    bool chosen = str_is_empty(only) || str_eq(only, "*") || str_eq(only, number) ||
                  str_eq(only, json_str(port, "name"));
    return chosen && aws_note_of(service, "ssl-cert") != NULL &&
           !str_eq(json_str(port, "protocol"), "UDP");
}

static const char *target_group_of(struct json_object *listener)
{
    struct json_object *actions = json_member(listener, "DefaultActions");
    struct json_object *first =
        json_len(actions) > 0 ? json_object_array_get_idx(actions, 0) : NULL;
    return str_nonnull(json_str(first, "TargetGroupArn"));
}

static int check_targets(struct aws_whole *w, struct json_object *service, const char *arn,
                         int64_t node_port)
{
    struct json_object *list = find(w, AWS_HEALTH, arn);
    const char **ids = ARENA_ARRAY(w->v->a, const char *, json_len(list) + 1);
    size_t n = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        struct json_object *t = json_member(item, "Target");
        if (aws_is_draining(item)) {
            continue;
        }
        ids[n++] = str_nonnull(json_str(t, "Id"));
        if (json_int(t, "Port", 0) != node_port) {
            return err_set(w->err, ERR_CONFLICT, "%s: target %s has port %lld", name_of(service),
                           json_str(t, "Id"), (long long)json_int(t, "Port", 0));
        }
    }
    return check_members(w, arn, ids, n);
}

bool aws_serves_both(struct json_object *service, struct json_object *port)
{
    struct json_object *ports = json_path(service, "spec.ports");
    size_t n = 0;
    for (size_t i = 0; i < json_len(ports); i++) {
        n += json_int(json_object_array_get_idx(ports, i), "port", 0) == json_int(port, "port", 0);
    }
    return n > 1;
}

static int check_listener(struct aws_whole *w, struct json_object *service,
                          struct json_object *port, struct json_object *lb,
                          struct json_object *listener)
{
    const char *want = aws_serves_both(service, port) ? "TCP_UDP"
                       : is_tls(service, port)        ? "TLS"
                                                      : str_or(json_str(port, "protocol"), "TCP");
    const char *arn = target_group_of(listener);
    struct json_object *group = find(w, AWS_TARGETS, arn);
    int64_t node_port = json_int(port, "nodePort", 0);
    if (!str_eq(json_str(listener, "Protocol"), want)) {
        return err_set(w->err, ERR_CONFLICT, "%s: the listener of port %lld speaks %s",
                       name_of(service), (long long)json_int(port, "port", 0),
                       json_str(listener, "Protocol"));
    }
    if (group == NULL || json_int(group, "Port", 0) != node_port) {
        return err_set(w->err, ERR_CONFLICT, "%s: no target group for node port %lld",
                       name_of(service), (long long)node_port);
    }
    aws_want(w, arena_printf(w->v->a, AWS_TARGETS "%s", arn));
    aws_want(w, arena_printf(w->v->a, AWS_LISTENER "%s", json_str(listener, "ListenerArn")));
    int rc = check_targets(w, service, arn, node_port);
    return rc == ERR_OK ? aws_admit_nlb(w, service, port, lb, group) : rc;
}

static struct json_object *nlb_listener(struct aws_whole *w, const char *arn, int64_t port)
{
    json_object_object_foreach(w->v->docs, id, doc)
    {
        if (str_has_prefix(id, AWS_LISTENER) && str_eq(json_str(doc, "LoadBalancerArn"), arn) &&
            json_int(doc, "Port", 0) == port) {
            return doc;
        }
    }
    return NULL;
}

static int check_nlb(struct aws_whole *w, struct json_object *service, struct json_object *lb)
{
    struct json_object *ports = json_path(service, "spec.ports");
    const char *arn = str_nonnull(json_str(lb, "LoadBalancerArn"));
    int rc = str_eq(json_str(lb, "Type"), "network")
                 ? ERR_OK
                 : err_set(w->err, ERR_CONFLICT, "%s: no network balancer", name_of(service));
    for (size_t i = 0; i < json_len(ports) && rc == ERR_OK; i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        struct json_object *l = nlb_listener(w, arn, json_int(p, "port", 0));
        rc = l != NULL ? check_listener(w, service, p, lb, l)
                       : err_set(w->err, ERR_CONFLICT, "%s: no listener for port %lld",
                                 name_of(service), (long long)json_int(p, "port", 0));
    }
    return rc == ERR_OK ? aws_admit_to_nlb(w, service, lb) : rc;
}

/* ---- one Service ----------------------------------------------------------------------------- */

static int check_service(struct aws_whole *w, struct json_object *service)
{
    bool nlb = str_eq(aws_note_of(service, "type"), "nlb");
    const char *prefix = nlb ? AWS_NLB : AWS_CLASSIC;
    const char *uid = str_nonnull(json_str(json_member(service, "metadata"), "uid"));
    const char *lb_name = names_lb(w->v->a, uid);
    const char *published = world_published_address(service);
    struct json_object *lb = find(w, prefix, lb_name);
    if (lb == NULL || !str_eq(json_str(lb, "DNSName"), published)) {
        return err_set(w->err, ERR_CONFLICT, "%s publishes %s, its balancer has %s",
                       name_of(service), str_nonnull(published),
                       lb == NULL ? "gone" : str_nonnull(json_str(lb, "DNSName")));
    }
    aws_want(w, arena_printf(w->v->a, "%s%s", prefix, lb_name));
    return nlb ? check_nlb(w, service, lb) : check_classic(w, service, lb);
}

/* ---- nothing else ---------------------------------------------------------------------------- */

/* Owned resources: not the network, the nodes, nor descriptions of others. */
static bool is_owned_kind(const char *id)
{
    static const char *const kinds[] = {AWS_GROUP, AWS_CLASSIC, AWS_NLB, AWS_LISTENER, AWS_TARGETS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_has_prefix(id, kinds[i])) {
            return true;
        }
    }
    return false;
}

static bool is_of_installer(const char *id)
{
    return str_eq(id, AWS_GROUP AWS_NODES) || str_eq(id, AWS_GROUP "default");
}

static int check_nothing_else(struct aws_whole *w)
{
    json_object_object_foreach(w->v->docs, id, doc)
    {
        (void)doc;
        bool expected =
            is_of_installer(id) || json_member(w->v->foreign, id) != NULL || map_has(w->wanted, id);
        if (is_owned_kind(id) && !expected) {
            return err_set(w->err, ERR_CONFLICT, "%s is left behind", id);
        }
    }
    return aws_check_node_rules(w);
}

int aws_check_whole(const struct world_view *v, struct err *err)
{
    struct aws_whole w = {.v = v,
                          .nodes = instances_of_nodes(v),
                          .wanted = map_new(NULL),
                          .rules = map_new(NULL),
                          .tolerated = map_new(NULL),
                          .probes = map_new(NULL),
                          .err = err};
    int rc = ERR_OK;
    for (size_t i = 0; i < v->n_services && rc == ERR_OK; i++) {
        rc = check_service(&w, v->services[i]);
    }
    rc = rc == ERR_OK ? check_nothing_else(&w) : rc;
    map_free(w.wanted);
    map_free(w.rules);
    map_free(w.tolerated);
    map_free(w.probes);
    return rc;
}
