/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h: what is inside the cluster behind one Service: pods per node, shares of traffic, zones,
 * hints, source address.
 *
 *     Service + its EndpointSlices + Nodes + the load balancer's nodes ──▶ one report per family
 *
 * trace answers for one packet of one client; this is the whole picture for clients outside, which
 * come by the load balancer: it chooses a node, and the node chooses one of the pods that it uses,
 * each with the same probability.  Only the first port of the Service that has endpoints is
 * checked.  Pure; all in the arena, texts are borrowed from the input. */
#ifndef TRIMTAB_SERVICES_TELL_INSIDE_H
#define TRIMTAB_SERVICES_TELL_INSIDE_H

#include "common/services/slices/explain.h"
#include "common/services/tell/answer.h"
#include "common/services/topology/explain.h"

struct ks_inside_input {
    const struct ks_service *service;
    const struct ks_slice *const *slices; /* the Service's own */
    const struct ks_node *const *nodes;   /* all of the cluster, sorted by name */
    const struct ks_pod *const *pods;     /* read only when has_pods */
    const struct ks_backend *backends;    /* sorted by node; none: every node takes part */
    size_t n_slices;
    size_t n_nodes;
    size_t n_pods;
    size_t n_backends;
    bool has_pods;  /* false: Pods are not at hand */
    bool has_hints; /* false: hints and CPU are not at hand, so that hints are taken for absent */
    struct ks_balance balance; /* how the load balancer divides traffic among nodes */
};

/* One node with pods of the Service. */
struct ks_inside_node {
    const char *name;
    const char *zone;     /* "" when not known */
    const char *left_out; /* why the load balancer sends it nothing; NULL: it does */
    size_t ready;         /* pods that get traffic while they are ready */
    size_t draining;      /* pods that terminate and still serve */
    int64_t weight;       /* ready addresses by its health check; -1: there is no such check */
    double traffic;       /* the load balancer's share for this node, 0…1 */
    double pods;          /* the shares of its pods together, 0…1 */
};
struct ks_inside_pod {
    const char *address; /* "ip:port" */
    const char *pod;     /* "" when not known */
    const char *node;    /* "" when not known */
    double share;        /* of the Service's traffic, 0…1 */
    bool draining;       /* it terminates and still serves */
};
struct ks_inside_family {
    enum ks_family family;
    const char *port; /* "http", "80/TCP": the port that was looked at; NULL: none */
    const struct ks_inside_node *nodes; /* with pods; sorted by name */
    const struct ks_inside_pod *pods;   /* ready, or terminating and serving; sorted by address */
    size_t n_nodes;
    size_t n_pods;
    size_t ready;
    size_t draining;
    size_t not_ready;        /* endpoints that get no traffic */
    size_t n_empty;          /* nodes that take part and have no ready pod */
    size_t n_serving;        /* nodes that get traffic from the load balancer */
    enum ks_weighed weighed; /* how nodes come to their traffic */
    bool has_shares;         /* some node gets traffic, and has a pod for it */
    bool differs;            /* another port of the Service has other endpoints */
    bool has_topology;       /* has_hints of the input */
    struct ks_topology_report topology;
    struct ks_pods_report roles; /* with has_pods of the input */
};
struct ks_inside {
    const struct ks_service *service;
    const struct ks_inside_family *families; /* IPv4, then IPv6, where there are slices */
    size_t n_families;
    bool local;            /* policy Local */
    bool weighted;         /* as the input says */
    bool has_pods;         /* as the input says */
    enum ks_source source; /* what pods see of the client's address, as far as nodes change it */
    const char *source_text;
};

/* Returns NULL when there are no slices: nothing is known.  Never fails otherwise.  Costs O(n log
 * n) of nodes, endpoints and hints together. */
const struct ks_inside *ks_inside_make(struct arena *a, const struct ks_inside_input *input);

/* The summary of a family: "3 pods on 2 nodes get traffic". */
const char *ks_inside_summary(struct arena *a, const struct ks_inside_family *f);
/* "33.3 %", "<0.1 %". */
const char *ks_inside_percent(struct arena *a, double share);
/* The answer of a node's health check: "200, weight 2", "503"; NULL: there is no such check. */
const char *ks_inside_health(struct arena *a, int64_t weight);

/* As text with headings; at most `rows` nodes per family (0: all). */
void ks_inside_text(struct str_buf *b, struct arena *a, const struct ks_inside *x, size_t rows);
/* A list of families, as docs/interfaces.md has it; the caller owns it. */
struct json_object *ks_inside_json(const struct ks_inside *x);
/* The way back, without hints and what is said of Pods.  NULL when the list is empty, or is no
 * list.  Texts are borrowed from `list`. */
const struct ks_inside *ks_inside_read(struct arena *a, struct json_object *list);
/* Sets what the policy means for the source address.  For those who make a report. */
void ks_inside_set_source(struct ks_inside *x, bool local);

#endif
