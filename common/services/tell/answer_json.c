/* SPDX-License-Identifier: Apache-2.0 */
/* answer_json.c: an answer as JSON, with the members of docs/interfaces.md; see answer.h. */
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"

static const char *outcome_word(enum ks_outcome outcome)
{
    static const char *const words[] = {"delivered", "rejected", "dropped", "unreachable"};
    return words[outcome];
}

static const char *source_word(enum ks_source source)
{
    static const char *const words[] = {"kept", "node", "director", "load balancer"};
    return words[source];
}

static const char *topology_word(enum ks_topology topology)
{
    static const char *const words[] = {"none", "zone", "node"};
    return words[topology];
}

/* "chain", "set" or "map", by the names that the modes have. */
static const char *step_kind(enum ks_mode mode, const char *name)
{
    static const char *const ipsets[] = {
        "KUBE-LOOP-BACK",   "KUBE-6-LOOP-BACK",   "KUBE-CLUSTER-IP",     "KUBE-6-CLUSTER-IP",
        "KUBE-EXTERNAL-IP", "KUBE-6-EXTERNAL-IP", "KUBE-LOAD-BALANCER-", "KUBE-6-LOAD-BALANCER",
        "KUBE-NODE-PORT-",  "KUBE-6-NODE-PORT-",  "KUBE-HEALTH-CHECK",   "KUBE-6-HEALTH-CHECK",
        "KUBE-IPVS-IPS",    "KUBE-6-IPVS-IPS"};
    static const char *const maps[] = {"service-ips", "service-nodeports", "no-endpoint-services",
                                       "no-endpoint-nodeports", "firewall-ips"};
    static const char *const sets[] = {"cluster-ips", "nodeport-ips", "hairpin-connections",
                                       "affinity-"};
    for (size_t i = 0; mode == KS_IPVS && i < ARRAY_LEN(ipsets); i++) {
        if (str_has_prefix(name, ipsets[i])) {
            return "set";
        }
    }
    for (size_t i = 0; mode == KS_NFTABLES && i < ARRAY_LEN(maps); i++) {
        if (str_eq(name, maps[i])) {
            return "map";
        }
    }
    for (size_t i = 0; mode == KS_NFTABLES && i < ARRAY_LEN(sets); i++) {
        if (str_has_suffix(sets[i], "-") ? str_has_prefix(name, sets[i]) : str_eq(name, sets[i])) {
            return "set";
        }
    }
    return str_eq(name, "ip_vs") ? "map" : "chain"; /* the table of virtual servers */
}

static void add_hop(struct json_object *hops, const char *at, const char *name, const char *rule,
                    const char *why)
{
    struct json_object *hop = json_object_new_object();
    json_add_str(hop, "at", at);
    json_add_str(hop, "name", name);
    json_add(hop, "rule", rule == NULL ? NULL : json_object_new_string(rule));
    json_add(hop, "why", str_is_empty(why) ? NULL : json_object_new_string(why));
    json_object_array_add(hops, hop);
}

static void add_steps(struct json_object *hops, const struct ks_answer *x, const struct ks_way *way)
{
    for (size_t i = 0; i < way->n_steps; i++) {
        const struct ks_met met = way->met == NULL ? (struct ks_met){0} : way->met[i];
        add_hop(hops, step_kind(x->question->mode, way->steps[i]), way->steps[i], met.rule,
                met.why);
    }
}

static struct json_object *steps_of(const struct ks_answer *x, const struct ks_way *way)
{
    struct json_object *steps = json_object_new_array();
    add_steps(steps, x, way);
    return steps;
}

/* "probability 0.5, source kept". */
static void add_pod(struct json_object *hops, const struct ks_pod_share *s)
{
    _cleanup_(str_buf_done) struct str_buf why = STR_BUF_INIT;
    str_appendf(&why, "probability %.4g, source %s%s", s->probability, source_word(s->source),
                s->source == KS_SOURCE_KEPT ? "" : "'s");
    add_hop(hops, "pod", str_or(s->pod, s->address), NULL, str_buf_text(&why));
}

/* The way of a packet over one node: where several may get it, the hops within them stand
 * with the nodes. */
static struct json_object *hops_of(const struct ks_answer *x)
{
    struct json_object *hops = json_object_new_array();
    if (x->balancer != NULL) {
        add_hop(hops, "load balancer", x->target, NULL,
                x->balancer->said != NULL ? x->balancer->said : x->balancer->unknown);
    }
    if (x->n_ways != 1) {
        return hops;
    }
    const struct ks_way *way = &x->ways[0];
    add_hop(hops, "node", way->node->meta.name, NULL, ks_reason_text(way->reason));
    add_steps(hops, x, way);
    for (size_t i = 0; i < x->n_shares; i++) {
        add_pod(hops, &x->shares[i]);
    }
    return hops;
}

static struct json_object *nodes_of(const struct ks_answer *x)
{
    struct json_object *nodes = json_object_new_array();
    for (size_t i = 0; i < x->n_ways; i++) {
        const struct ks_way *way = &x->ways[i];
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", way->node->meta.name);
        json_add_str(o, "zone", way->node->zone);
        json_add(o, "weight", json_object_new_double(way->weight));
        json_add_str(o, "verdict", outcome_word(way->outcome));
        json_add_str(o, "because", ks_reason_text(way->reason));
        json_add_int(o, "endpoints", (int64_t)way->n_list);
        json_add_str(o, "topology", topology_word(way->topology));
        json_add_bool(o, "terminating_only", way->fell_back);
        json_add_bool(o, "masquerade", way->masquerade);
        json_add(o, "left_out",
                 way->left_out == NULL ? NULL : json_object_new_string(way->left_out));
        json_add(o, "ready", way->ready < 0 ? NULL : json_object_new_int64(way->ready));
        json_add(o, "hops", steps_of(x, way));
        json_object_array_add(nodes, o);
    }
    return nodes;
}

static struct json_object *endpoints_of(const struct ks_answer *x)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < x->n_shares; i++) {
        const struct ks_pod_share *s = &x->shares[i];
        struct json_object *o = json_object_new_object();
        json_add_str(o, "address", s->address);
        json_add_str(o, "pod", s->pod);
        json_add_str(o, "node", s->node);
        json_add_str(o, "zone", s->zone);
        json_add(o, "probability", json_object_new_double(s->probability));
        json_add_str(o, "source", source_word(s->source));
        json_add_bool(o, "terminating", s->terminating);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *balancer_of(const struct ks_answer *x)
{
    const struct ks_balancer *lb = x->balancer;
    struct json_object *o;
    struct json_object *left_out;
    if (lb == NULL) {
        return NULL;
    }
    o = json_object_new_object();
    left_out = json_object_new_array();
    json_add(o, "explanation", lb->said == NULL ? NULL : json_object_new_string(lb->said));
    json_add(o, "unknown_because",
             lb->unknown == NULL ? NULL : json_object_new_string(lb->unknown));
    json_add(o, "health_check", lb->health == NULL ? NULL : json_object_new_string(lb->health));
    json_add_bool(o, "proxies", x->proxied);
    json_add_bool(o, "weighted", lb->balance.weighted);
    json_add_bool(o, "fails_open", x->weighed == KS_WEIGHED_OPEN);
    for (size_t i = 0; i < lb->n_backends; i++) {
        if (lb->backends[i].left_out != NULL) {
            struct json_object *node = json_object_new_object();
            json_add_str(node, "name", lb->backends[i].node);
            json_add_str(node, "because", lb->backends[i].left_out);
            json_object_array_add(left_out, node);
        }
    }
    json_add_int(o, "nodes", (int64_t)lb->n_backends);
    json_add(o, "left_out", left_out);
    return o;
}

void ks_answer_json(struct json_object *o, const struct ks_answer *x, const struct ks_show *show)
{
    json_add_str(o, "from", x->client);
    json_add_str(o, "to", x->target);
    json_add(o, "service", x->service == NULL ? NULL : json_object_new_string(x->service));
    json_add(o, "kind", x->kind == NULL ? NULL : json_object_new_string(x->kind));
    json_add_str(o, "mode", ks_mode_name(x->question->mode));
    json_add_str(o, "mode_source", show->proxy_source);
    json_add_str(o, "verdict", outcome_word(x->outcome));
    json_add_bool(o, "partly", x->partly);
    json_add_str(o, "answer", x->line);
    json_add(o, "because", json_strs(x->because, x->n_because));
    json_add(o, "next", x->next == NULL ? NULL : json_object_new_string(x->next));
    json_add(o, "load_balancer", balancer_of(x));
    json_add(o, "hops", hops_of(x));
    json_add(o, "nodes", nodes_of(x));
    json_add(o, "endpoints", endpoints_of(x));
}
