/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h: does a client reach an address, by which nodes and which pods, and if not, why.
 *
 *     question + cluster + kube-proxy's configuration + what is known of the load balancer
 *         ──▶ for each node: its world, the tracer (trace/trace.h) ──▶ one answer ──▶ text, JSON
 *
 * The answer is a struct, so that a command prints it as text or JSON and a page can show it.  Only
 * Services that have the address or the node port are checked, so that a trace costs their size and
 * the number of nodes, not the cluster's size.  Pure; all in the arena. */
#ifndef TRIMTAB_SERVICES_TELL_ANSWER_H
#define TRIMTAB_SERVICES_TELL_ANSWER_H

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/services/tell/cluster.h"
#include "common/services/tell/rules_met.h"
#include "common/services/tell/weights.h"
#include "common/services/trace/trace.h"

struct ks_question {
    /* the client */
    const char *from;                  /* as messages name it; "" for a client outside */
    struct ip_addr source;             /* len 0: an address outside is made up */
    const struct ks_node *client_node; /* the node that it is, or runs on; NULL: outside */
    bool from_node;                    /* it is a process of client_node */

    /* the destination: an address, the host name of a load balancer, or a port of every node */
    struct ip_addr dest; /* len 0: `host` or each_node */
    const char *host;    /* NULL: `dest` */
    bool each_node;      /* a node port, asked at the address of each node */
    int32_t port;
    const char *protocol; /* "TCP", "UDP", "SCTP" */

    /* the node that gets the packet; NULL: as client and destination say */
    const struct ks_node *node;
    bool any_node; /* any node may get it, whatever client and destination say */
    enum ks_mode mode;
    /* the answer holds the rules that are met; costs a rendering of the Service on each node */
    bool with_rules;
};

/* A node as the load balancer sees it. */
struct ks_backend {
    const char *node;
    const char *left_out; /* why it takes no part; NULL: it takes part */
};
/* Prints all that is known of the load balancer of the Service at hand. */
struct ks_balancer {
    const char *said; /* the provider's answer, behind the Service's name; NULL: it was not asked */
    const char *unknown;               /* why it was not asked; NULL: it was */
    const char *health;                /* its health check in words; NULL: not known */
    struct ks_balance balance;         /* how it divides traffic among nodes */
    const struct ks_backend *backends; /* sorted by node */
    size_t n_backends;
};

enum ks_outcome {
    KS_DELIVERED = 0,
    KS_REJECTED,
    KS_DROPPED,
    KS_UNREACHABLE, /* no rule takes it, or it ends before a node */
};

/* One node's decision. */
struct ks_way {
    const struct ks_node *node;
    enum ks_outcome outcome;
    enum ks_reason reason;
    enum ks_verdict verdict;
    double weight; /* the share of the traffic that comes to this node; 0: none does */
    size_t n_list; /* the endpoints that it uses */
    enum ks_topology topology;
    bool masquerade;
    bool hairpin;
    bool loses_answer;
    /* mode iptables, a process of the node: no rule of OUTPUT refuses the packet, so it
     * leaves the node */
    bool leaves;
    bool fell_back; /* only terminating endpoints are left */
    /* why the load balancer sends it nothing; NULL: it does, or there is none */
    const char *left_out;
    bool excluded;            /* left_out, and not for its health check's answer */
    int64_t ready;            /* ready pods by its health check; -1: there is no such check */
    const char *const *steps; /* chains, sets and maps */
    const struct ks_met *met; /* the rule of each step (rules_met.h); NULL: not asked for */
    size_t n_steps;
};
enum ks_source {
    KS_SOURCE_KEPT = 0,
    KS_SOURCE_NODE,
    KS_SOURCE_DIRECTOR, /* IPVS: the node that chose the pod */
    KS_SOURCE_BALANCER, /* a proxying load balancer's own address */
};
/* One endpoint's share. */
struct ks_pod_share {
    const char *address; /* "ip:port" */
    const char *pod;     /* "" when not known */
    const char *node;    /* "" when not known */
    const char *zone;    /* "" when not known */
    double probability;
    enum ks_source source;
    bool terminating;
};
struct ks_answer {
    const struct ks_question *question;
    const char *client;                 /* as the answer names it */
    const char *target;                 /* "203.0.113.10:80/TCP" */
    const char *service;                /* "ns/name"; NULL: no Service has the destination */
    const char *port;                   /* "ns/name" or "ns/name:port" */
    const char *kind;                   /* "load balancer address", "cluster IP", …; NULL */
    const char *health_port;            /* the health check node port in words; NULL: none */
    const struct ks_balancer *balancer; /* NULL: the destination has none */
    bool proxied; /* the load balancer sends to node ports from an address of its own */
    enum ks_outcome outcome;
    bool partly;             /* it is so only by some of the nodes */
    enum ks_weighed weighed; /* how nodes come to their weights, where several may get the packet */
    const char *line;        /* the first line */
    const char **because;
    const char *next; /* the step for the operator; NULL: nothing to do */
    struct ks_way *ways;
    struct ks_pod_share *shares; /* sorted by address */
    size_t n_because;
    size_t n_ways;
    size_t n_shares;
    size_t n_looked_at; /* endpoints that were looked at over all nodes: the work that it took */
};

/* Never fails: what is not known stands in the answer. */
const struct ks_answer *ks_answer_make(struct arena *a, const struct ks_cluster *cluster,
                                       const struct ks_proxy *proxy,
                                       const struct ks_balancer *balancer,
                                       const struct ks_question *question);

/* The Services that have the destination of the question: their address, host name or node port.
 * *ret_n items; sorted. */
const struct ks_service **ks_answer_services(struct arena *a, const struct ks_cluster *cluster,
                                             const struct ks_question *question, size_t *ret_n);

/* True when the health check of the Service's load balancer asks each node for its
 * ready pods: policy Local. */
bool ks_asks_for_pods(const struct ks_service *service);

/* How much is printed. */
struct ks_show {
    const char *proxy_source; /* where the mode comes from: "--mode", "ConfigMap …", "assumed: …" */
    size_t rows;              /* pods, and nodes, at most; 0: all */
};
/* As text of at most b->columns columns: the answer first, the next step last. */
void ks_answer_text(struct str_buf *b, const struct ks_answer *x, const struct ks_show *show);
/* Adds the members of docs/interfaces.md ("trimtab trace -o json"). */
void ks_answer_json(struct json_object *o, const struct ks_answer *x, const struct ks_show *show);

/* --- why there is nothing behind a Service (why.c) -------------------------------------------- */
struct ks_why {
    const char *because; /* a sentence without a stop */
    const char *next;    /* what to look at; NULL: nothing better is known */
};
/* Why a port of the Service has no endpoint in the family; port_name NULL: any port. */
struct ks_why ks_why_no_endpoints(struct arena *a, const struct ks_cluster *cluster,
                                  const struct ks_service *service, const char *port_name,
                                  const char *protocol, enum ks_family family);
/* Why kube-proxy does not serve the Service at all in the family; because NULL: it does. */
struct ks_why ks_why_not_proxied(struct arena *a, const struct ks_service *service,
                                 enum ks_family family);

#endif
