/* SPDX-License-Identifier: Apache-2.0 */
/* check_rules.h: which targets are asked for their health and how, and when they count as up or
 * down.  Pure.
 *
 * A check belongs to an address, not to a Service: all Services whose targets are asked the same
 * question share it.  `fall` failures in a row take a target out, `rise` good answers bring it
 * back.  A target that is new starts up. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_CHECK_RULES_H
#define TRIMTAB_LOCAL_DIRECTOR_CHECK_RULES_H

#include "providers/local/targets/targets.h"

#define LOCAL_KUBE_PROXY_PORT 10256
#define LOCAL_CHECK_WEIGHT    "X-Load-Balancing-Endpoint-Weight"

struct local_check_spec {
    enum local_check kind; /* TCP, HTTP, KUBE_PROXY or NODE_PORT */
    struct ip_addr addr;
    uint16_t port;
    const char *path; /* of HTTP, KUBE_PROXY and NODE_PORT */
    int64_t interval_ms;
    int64_t timeout_ms;
    unsigned fall;
    unsigned rise;
};
/* The check of one target of a frontend.  False: it is not checked (kind none; a datagram port,
 * to which no check can connect). */
bool local_check_spec_of(const struct local_serve *serve, const struct tt_service *service,
                         uint8_t protocol, const struct local_target *target,
                         struct local_check_spec *ret);
/* Equal for equal questions: "http 10.1.0.1:10256/healthz 2000 1000 3 2". */
char *local_check_key(struct arena *a, const struct local_check_spec *spec);
/* Is this status of HTTP a good answer? */
bool local_check_status_is_good(enum local_check kind, int status);
/* The time until the next probe: the interval, ±10 %; `unit` is random, [0, 1). */
int64_t local_check_after_ms(int64_t interval_ms, double unit);

struct local_check_verdict {
    bool down;
    unsigned row; /* answers in a row that speak against `down` as it is */
};
/* An answer, or a failure.  `frozen`: a verdict does not become "down" now.  Returns true when the
 * verdict has changed. */
bool local_check_heard(struct local_check_verdict *v, const struct local_check_spec *spec,
                       bool good, bool frozen);
/* The storm guard: so many of the checked nodes fail at once that the director itself may
 * be cut off. */
bool local_check_is_storm(size_t failing, size_t nodes);

struct local_health {
    bool down;
    uint16_t weight; /* that the target itself asks for; 0: it asks for none */
};
struct local_weighed {
    size_t n_down;    /* targets that a check took out */
    bool failed_open; /* all are down, and all keep their weights */
};
/* Takes the weight of targets that are down; health[i] is of t->items[i].  When all with weight are
 * down, targets of other zones get theirs; when these are down, too, and
 * `fail_open`, nothing changes. */
struct local_weighed local_check_weigh(struct local_target_set *t,
                                       const struct local_health *health, bool fail_open);

#endif
