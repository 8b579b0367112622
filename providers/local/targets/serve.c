/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c: how a Service is served: its wishes, else the pool's settings, else what follows from
 * the mode.
 *
 * A wish that does not go with the mode is refused; a setting of the pool that does not is left
 * aside when the Service chose another mode, because the pool did not mean that one.  Pure. */
#include "providers/local/targets/targets.h"

#include "common/base/str.h"

struct chooser {
    const struct local_config *config;
    const struct local_service_defaults *pool;
    const struct tt_service *s;
    const struct local_wish *w;
    struct local_serve *ret;
    struct err *err;
    bool other_mode; /* than the pool's */
};

static bool has_node_ports(const struct tt_service *s)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].node_port == 0) {
            return false;
        }
    }
    return true;
}

static bool is_local(const struct tt_service *s)
{
    return str_eq(s->external_traffic_policy, "Local");
}

static int check_protocols(const struct chooser *c)
{
    for (size_t i = 0; i < c->s->n_ports; i++) {
        const struct tt_port *p = &c->s->ports[i];
        if (!str_eq(p->protocol, "TCP") && !str_eq(p->protocol, "UDP")) {
            return err_set(c->err, ERR_INVALID, "port %d: %.20s is not served", (int)p->port,
                           str_nonnull(p->protocol));
        }
    }
    return ERR_OK;
}

static int choose_snat(const struct chooser *c)
{
    struct local_serve *r = c->ret;
    enum local_snat snat = c->w->has_snat ? c->w->snat : c->pool->snat;
    bool wished = c->w->has_snat && snat != LOCAL_SNAT_AUTO;
    if (local_mode_keeps_vip(r->mode)) {
        r->snat = false;
        return !wished ? ERR_OK
                       : err_set(c->err, ERR_INVALID, "snat has no meaning with %s",
                                 local_mode_word(r->mode));
    }
    if (r->mode == LOCAL_MODE_IPVS_FULLNAT) {
        r->snat = true;
        return !wished || snat == LOCAL_SNAT_ALWAYS
                   ? ERR_OK
                   : err_set(c->err, ERR_INVALID, "snat never has no meaning with ipvs-fullnat");
    }
    r->snat =
        snat == LOCAL_SNAT_ALWAYS || (snat == LOCAL_SNAT_AUTO && !c->config->director.is_gateway);
    if (r->mode == LOCAL_MODE_IPVS_NAT && r->snat) {
        r->mode = LOCAL_MODE_IPVS_FULLNAT; /* it is that, and is shown as that */
    }
    return ERR_OK;
}

/* AUTO, or what fits the mode. */
static enum local_targets wanted_targets(const struct chooser *c)
{
    enum local_targets pool = c->pool->targets;
    bool fits = local_fits(c->ret->mode, LOCAL_SCHED_AUTO, pool, true, NULL) == ERR_OK;
    if (c->w->targets != LOCAL_TARGETS_AUTO) {
        return c->w->targets;
    }
    return c->other_mode && !fits ? LOCAL_TARGETS_AUTO : pool;
}

static int choose_targets(const struct chooser *c)
{
    struct local_serve *r = c->ret;
    bool pods = c->config->director.pods_routable;
    r->targets = wanted_targets(c);
    int rc = local_fits(r->mode, r->scheduler, r->targets, pods, c->err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (r->targets == LOCAL_TARGETS_NODE_PORT && !has_node_ports(c->s)) {
        return err_set(c->err, ERR_INVALID, "targets nodePort: the Service has no node ports");
    }
    if (r->targets != LOCAL_TARGETS_AUTO) {
        return ERR_OK;
    }
    if (local_mode_keeps_vip(r->mode)) {
        r->targets = LOCAL_TARGETS_NODE;
    } else if (has_node_ports(c->s)) {
        r->targets = LOCAL_TARGETS_NODE_PORT;
    } else if (pods) {
        r->targets = LOCAL_TARGETS_POD;
    } else {
        return err_set(c->err, ERR_INVALID,
                       "the Service has no node ports, and the director does not reach pods");
    }
    return ERR_OK;
}

static int choose_scheduler(const struct chooser *c)
{
    struct local_serve *r = c->ret;
    r->scheduler = c->w->scheduler != LOCAL_SCHED_AUTO ? c->w->scheduler : c->pool->scheduler;
    r->affinity = str_eq(c->s->session_affinity, "ClientIP");
    r->affinity_s = !r->affinity                   ? 0
                    : c->s->affinity_timeout_s > 0 ? c->s->affinity_timeout_s
                                                   : LOCAL_AFFINITY_DEFAULT_S;
    r->udp_one_packet = c->w->udp_one_packet;
    if (!r->udp_one_packet) {
        return ERR_OK;
    }
    if (!local_mode_is_ipvs(r->mode)) {
        return err_set(c->err, ERR_INVALID, "udp-one-packet needs an ipvs mode");
    }
    if (r->scheduler != LOCAL_SCHED_AUTO && r->scheduler != LOCAL_SCHED_RR) {
        return err_set(c->err, ERR_INVALID, "udp-one-packet needs scheduler rr, not %s",
                       local_scheduler_word(r->scheduler));
    }
    if (r->affinity) {
        return err_set(c->err, ERR_INVALID,
                       "udp-one-packet does not go with sessionAffinity ClientIP");
    }
    r->scheduler = LOCAL_SCHED_RR;
    return ERR_OK;
}

/* As the configuration refuses it of a pool. */
static int check_ip_mode(const struct chooser *c)
{
    if (c->config->ip_mode == LOCAL_IP_MODE_PROXY && local_mode_keeps_vip(c->ret->mode)) {
        return err_set(c->err, ERR_INVALID,
                       "ipMode Proxy with mode %s: nodes would not accept packets for the address",
                       local_mode_word(c->ret->mode));
    }
    return ERR_OK;
}

/* ---- health checks --------------------------------------------------------------------------- */

static int check_times(const struct chooser *c)
{
    const struct local_health_wish *h = &c->w->health;
    struct local_check_config *k = &c->ret->checks;
    char timeout[LOCAL_DURATION_TEXT_MAX];
    char interval[LOCAL_DURATION_TEXT_MAX];
    k->interval_ms = h->interval_ms != 0 ? h->interval_ms : k->interval_ms;
    k->timeout_ms = h->timeout_ms != 0 ? h->timeout_ms : k->timeout_ms;
    k->fall = h->fall != 0 ? h->fall : k->fall;
    k->rise = h->rise != 0 ? h->rise : k->rise;
    if (k->timeout_ms < k->interval_ms) {
        return ERR_OK;
    }
    local_duration_text(k->timeout_ms, timeout);
    local_duration_text(k->interval_ms, interval);
    return err_set(c->err, ERR_INVALID,
                   "health-check-timeout %s is not below health-check-interval %s", timeout,
                   interval);
}

static enum local_check default_check(const struct chooser *c)
{
    const struct local_check_config *k = &c->pool->checks;
    if (c->ret->targets == LOCAL_TARGETS_POD) {
        return k->pod;
    }
    if (!is_local(c->s)) {
        return k->cluster;
    }
    /* Without that port there is nothing to ask but whether the node's proxy is alive. */
    return k->local == LOCAL_CHECK_NODE_PORT && c->s->health_check_node_port == 0
               ? LOCAL_CHECK_KUBE_PROXY
               : k->local;
}

static int choose_check(const struct chooser *c)
{
    struct local_serve *r = c->ret;
    enum local_check wish = c->w->health.kind;
    bool of_nodes = wish == LOCAL_CHECK_KUBE_PROXY || wish == LOCAL_CHECK_NODE_PORT;
    r->health = c->w->health;
    r->check = wish != LOCAL_CHECK_AUTO ? wish : default_check(c);
    if (of_nodes && r->targets == LOCAL_TARGETS_POD) {
        return err_set(c->err, ERR_INVALID, "health-check %s asks nodes; the targets are pods",
                       local_check_word(wish));
    }
    if (wish == LOCAL_CHECK_NODE_PORT && c->s->health_check_node_port == 0) {
        return err_set(c->err, ERR_INVALID,
                       "health-check healthCheckNodePort: the Service has none (it gets one with "
                       "externalTrafficPolicy Local)");
    }
    bool connects = r->check == LOCAL_CHECK_TCP || r->check == LOCAL_CHECK_HTTP;
    if (connects && r->targets == LOCAL_TARGETS_NODE && r->health.port == 0 &&
        !has_node_ports(c->s)) {
        return err_set(c->err, ERR_INVALID, "%s check needs a node port in mode %s",
                       local_check_word(r->check), local_mode_word(r->mode));
    }
    return check_times(c);
}

static bool prefers_zone(const char *distribution)
{
    return str_eq(distribution, "PreferSameZone") || str_eq(distribution, "PreferClose") ||
           str_eq(distribution, "PreferSameNode");
}

int local_serve_of(const struct local_config *config, const struct local_pool *pool,
                   const struct tt_service *s, const struct local_wish *wish,
                   struct local_serve *ret, struct err *err)
{
    const struct local_service_defaults *from =
        pool != NULL ? &pool->serve : &config->director.serve;
    struct local_serve serve = {
        .mode = local_mode_of(wish->has_mode ? wish->mode : from->mode),
        .checks = from->checks,
        .drain_timeout_ms =
            wish->has_drain_timeout ? wish->drain_timeout_ms : from->drain_timeout_ms,
        .fail_open = from->fail_open,
        .sorry = wish->sorry.addr.len != 0 ? wish->sorry : from->sorry,
        .zone_only = prefers_zone(s->traffic_distribution),
    };
    const struct chooser c = {
        config, from, s, wish, &serve, err, serve.mode != local_mode_of(from->mode)};
    int (*const steps[])(const struct chooser *) = {check_protocols,  check_ip_mode,
                                                    choose_scheduler, choose_targets,
                                                    choose_snat,      choose_check};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int rc = steps[i](&c);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    *ret = serve;
    return ERR_OK;
}

void local_serve_standing(const struct local_config *config, const struct local_pool *pool,
                          const struct tt_service *s, const struct local_serve *stands,
                          struct local_serve *ret)
{
    const struct local_service_defaults *from =
        pool != NULL ? &pool->serve : &config->director.serve;
    const struct local_wish none = {.has_mode = false};
    const struct chooser c = {.config = config, .pool = from, .s = s, .w = &none, .ret = ret};

    *ret = *stands;
    ret->checks = from->checks;
    ret->check = default_check(&c);
    ret->drain_timeout_ms = from->drain_timeout_ms;
    ret->fail_open = from->fail_open;
    ret->sorry = from->sorry;
    ret->zone_only = prefers_zone(s->traffic_distribution);
}

enum local_scheduler local_scheduler_of(const struct local_serve *serve,
                                        const struct local_target_set *t)
{
    uint16_t first = 0;
    if (serve->scheduler != LOCAL_SCHED_AUTO) {
        return serve->scheduler;
    }
    for (size_t i = 0; i < t->n; i++) {
        uint16_t w = t->items[i].weight;
        if (first != 0 && w != 0 && w != first) {
            return LOCAL_SCHED_WRR;
        }
        first = first != 0 ? first : w;
    }
    return LOCAL_SCHED_RR;
}
