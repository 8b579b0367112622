/* SPDX-License-Identifier: Apache-2.0 */
/* health.h: what kube-proxy answers to health checks of load balancers.
 *
 * Two questions: has the node endpoints of one Service (healthCheckNodePort, policy Local), and is
 * kube-proxy itself up to date on a node that stays (port 10256, policy Cluster).  Pure: the time
 * comes in as an argument.
 * Source: kube-proxy 1.36, healthcheck/service_health.go, healthcheck/proxy_health.go. */
#ifndef TRIMTAB_TESTS_UPSTREAM_HEALTH_H
#define TRIMTAB_TESTS_UPSTREAM_HEALTH_H

#include "common/services/node/world.h"

/* ---- healthCheckNodePort --------------------------------------------------------------------- */

/* The answer to any method and path.  Texts are in the arena. */
struct ks_node_port_answer {
    int status;               /* 200 or 503 */
    const char *content_type; /* Content-Type */
    const char *nosniff;      /* X-Content-Type-Options */
    const char *weight; /* X-Load-Balancing-Endpoint-Weight: the number of ready local addresses */
    const char *body;
};
/* `local_ready` is ks_service_health.local_ready; `proxy_healthy` is ks_proxy_health(…).healthy,
 * which leaves the node's own state out. */
struct ks_node_port_answer ks_node_port_health(struct arena *a, const char *ns, const char *name,
                                               size_t local_ready, bool proxy_healthy);

/* ---- port 10256 ------------------------------------------------------------------------------ */

/* How far the proxy of one family is.  Times are whole seconds since 1970. */
struct ks_family_progress {
    int64_t queued_s;  /* the oldest change that is not in the rules yet */
    int64_t updated_s; /* the last time that rules were written */
    bool has_queued;   /* a change waits */
    bool has_updated;  /* rules were written before; a family without is not checked */
};
struct ks_proxy_progress {
    struct ks_family_progress ipv4;
    struct ks_family_progress ipv6;
};
/* A change is to be written; of several that wait the first counts. */
void ks_progress_queued(struct ks_proxy_progress *p, enum ks_family family, int64_t at_s);
/* Rules were written; nothing waits any more. */
void ks_progress_updated(struct ks_proxy_progress *p, enum ks_family family, int64_t at_s);

/* The answer of /healthz or /livez, as the members of its JSON document. */
struct ks_proxy_answer {
    int status;             /* 200 or 503 */
    int64_t last_updated_s; /* meaningless unless has_last_updated */
    int64_t current_s;
    bool has_last_updated; /* false: Go's zero time */
    bool has_eligible;     /* /healthz only */
    bool eligible;         /* the node is known, not being deleted, and not about to go */
    bool healthy;          /* no family is late */
    struct ks_proxy_progress progress;
    bool ipv4_healthy; /* meaningless unless that family has updated */
    bool ipv6_healthy;
};
/* `livez`: the path /livez, which does not look at the node.  `node` is NULL when kube-proxy does
 * not know its Node object.  A family is late when a change waits for timeout_s or longer. */
struct ks_proxy_answer ks_proxy_health(const struct ks_proxy_progress *p,
                                       const struct ks_node *node, bool livez, int64_t timeout_s,
                                       int64_t now_s);
/* The document, one line: times as RFC 3339 in UTC. */
const char *ks_proxy_answer_body(struct arena *a, const struct ks_proxy_answer *answer);

#endif
