/* SPDX-License-Identifier: Apache-2.0 */
/* test_nlb_random.c: from any state of an NLB to any other, with plans that are interrupted and
 * hands that meddle.
 *
 * A case: a random Service is served, perhaps not to the end; people edit things in AWS; the
 * Service becomes another random one; perhaps its plan is interrupted, too.  Then a plan is carried
 * out, its waves forwards or backwards.  Always true:
 *
 *     AWS refuses nothing, and no call is made that changes nothing
 *     a listener that has targets before and after has some after every call
 *     the nodes let in the clients of before that they shall let in afterwards
 *     the next plan is empty, and every port is served by all targets, and nothing is left over
 *     a deletion, tried from such a moment, leaves nothing behind, and rules of others */
#include "tests/support/sample.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/rule_same.h"
#include "tests/unit/aws/service_kit.h"

#include <string.h>

#define CASES   10000
#define PARTS   20 /* one of which a run plays */
#define FOREIGN "tcp 22 10.9.0.0/16;ssh"

struct dice {
    uint64_t state;
};
static uint32_t roll(struct dice *d, uint32_t sides)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(d->state >> 33) % sides;
}

static bool one_in(struct dice *d, uint32_t n)
{
    return roll(d, n) == 0;
}

/* ---- random Services ------------------------------------------------------------------------- */

static const char *random_ports(struct kit *k, struct dice *d, bool udp)
{
    static const int ports[] = {53, 80, 443, 8080};
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    uint32_t shift = roll(d, 4);
    for (uint32_t i = 0; i < 4; i++) {
        if (one_in(d, 2) || (i == 3 && b.len == 0)) {
            str_appendf(&b, "%s%d:%u%s", b.len > 0 ? " " : "", ports[i], 30000 + (i + shift) % 4,
                        udp ? "/UDP" : "");
        }
    }
    return str_buf_to_arena(&b, k->a);
}

static const char *random_lines(struct kit *k, struct dice *d, bool udp)
{
    static const char *const some[] = {
        "healthcheck-protocol=HTTP",
        "healthcheck-path=/a",
        "healthcheck-port=8080",
        "healthcheck-interval=10",
        "healthcheck-interval=6",
        "healthcheck-timeout=5",
        "healthcheck-healthy-threshold=4",
        "healthcheck-unhealthy-threshold=4",
        "cross-zone-load-balancing-enabled=true",
        "access-log-enabled=true\naccess-log-s3-bucket-name=logs",
        "target-group-attributes=proxy_protocol_v2.enabled=true",
        "target-group-attributes=proxy_protocol_v2.enabled=false",
    };
    static const char *const tls[] = {
        "ssl-cert=arn:one",     "ssl-cert=arn:two",          "ssl-ports=443",
        "backend-protocol=ssl", "ssl-negotiation-policy=P1", "ssl-negotiation-policy=P2",
    };
    const char *lines = "";
    for (size_t i = 0; i < ARRAY_LEN(some); i++) {
        lines = one_in(d, 4) ? arena_printf(k->a, "%s\n%s", lines, some[i]) : lines;
    }
    for (size_t i = 0; !udp && i < ARRAY_LEN(tls); i++) {
        lines = one_in(d, 2) ? arena_printf(k->a, "%s\n%s", lines, tls[i]) : lines;
    }
    return lines;
}

static void random_service(struct kit *k, struct dice *d)
{
    static const char *const nodes[] = {"i-1", "i-1 i-2", "i-2 i-3 i-4", "i-1 i-2 i-3 i-4", ""};
    bool udp = one_in(d, 4);
    k->ports = random_ports(k, d, udp);
    k->lines = random_lines(k, d, udp);
    k->spec =
        one_in(d, 4) ? ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":32000" : "";
    k->instances = kit_texts(k, nodes[roll(d, ARRAY_LEN(nodes))]);
    k->naming.nlb_group_mode = one_in(d, 2) ? "Managed" : "";
    k->naming.probe_mode = one_in(d, 6) ? AWS_PROBE_SHARED : AWS_PROBE_NODE_PORT;
    k->repairs = one_in(d, 2);
}

/* ---- hands ----------------------------------------------------------------------------------- */

static void edit_listener(struct kit *k, struct dice *d)
{
    struct aws_world *w = &k->world;
    if (w->n_listeners == 0) {
        return;
    }
    uint32_t at = roll(d, (uint32_t)w->n_listeners);
    struct aws_listener *l = &w->listeners[at];
    if (one_in(d, 2)) {
        memmove(l, l + 1, (w->n_listeners - at - 1) * sizeof *l);
        w->n_listeners--;
    } else if (str_eq(l->protocol, "TLS")) {
        l->certificate = "arn:by-hand";
    } else {
        l->port = 9999;
    }
}

static void edit_targets(struct kit *k, struct dice *d, struct aws_world_target_group *g)
{
    static const char drains[] = "Target.DeregistrationInProgress";
    struct aws_target *all = arena_memdup(k->a, g->targets.items, g->targets.n * sizeof *all);
    for (size_t i = 0; i < g->targets.n; i++) {
        if (one_in(d, 3)) {
            all[i].state = "draining";
            all[i].reason = drains;
        }
    }
    g->targets.items = all;
}

static void edit_group(struct kit *k, struct dice *d)
{
    struct aws_world *w = &k->world;
    if (w->n_target_groups == 0) {
        return;
    }
    struct aws_world_target_group *g = &w->target_groups[roll(d, (uint32_t)w->n_target_groups)];
    struct aws_target_health_check *h = &g->group.health;
    switch (roll(d, 4)) {
    case 0:
        g->targets = (struct aws_targets){0};
        break;
    case 1:
        edit_targets(k, d, g);
        break;
    case 2:
        h->unhealthy = 9;
        h->timeout = h->interval;
        break;
    default:
        h->healthy = 8;
        h->interval = 60;
    }
}

static void edit_balancer(struct kit *k, struct dice *d)
{
    if (one_in(d, 2)) {
        k->world.n_nlbs = 0;
        k->world.n_listeners = 0;
    }
}

static void meddle(struct kit *k, struct dice *d)
{
    for (uint32_t n = roll(d, 4); n > 0; n--) {
        switch (roll(d, 6)) {
        case 0:
            edit_balancer(k, d);
            break;
        case 1:
        case 2:
            edit_listener(k, d);
            break;
        default:
            edit_group(k, d);
        }
    }
}

/* ---- what is always true --------------------------------------------------------------------- */

static const struct aws_world_target_group *group_by_arn(const struct aws_world *w, const char *arn)
{
    for (size_t i = 0; i < w->n_target_groups; i++) {
        if (str_eq(w->target_groups[i].group.arn, arn)) {
            return &w->target_groups[i];
        }
    }
    return NULL;
}

static size_t serving(const struct aws_world *w, const struct aws_listener *l)
{
    const struct aws_world_target_group *g = group_by_arn(w, l->target_group);
    size_t n = 0;
    for (size_t i = 0; g != NULL && i < g->targets.n; i++) {
        n += str_is_empty(g->targets.items[i].reason);
    }
    return n;
}

static const struct aws_rules *node_rules(const struct aws_world *w)
{
    return &aws_world_group(w, "sg-nodes")->group.rules;
}

static bool lets_in(const struct aws_world *w, const struct aws_rule *rule)
{
    const struct aws_rules *rules = node_rules(w);
    for (size_t i = 0; i < rules->n; i++) {
        if (aws_rule_same(&rules->items[i], rule)) {
            return true;
        }
    }
    return false;
}

struct watch {
    struct kit *k;
    struct aws_world before;
    struct aws_world after; /* when the plan is carried out whole */
    bool whole;
};

/* Listeners that had targets have some, unless none are wanted. */
static void check_serving(struct watch *v)
{
    const struct aws_world *w = &v->k->world;
    for (size_t i = 0; v->k->instances.n > 0 && i < w->n_listeners; i++) {
        for (size_t b = 0; b < v->before.n_listeners; b++) {
            const struct aws_listener *was = &v->before.listeners[b];
            if (str_eq(w->listeners[i].arn, was->arn) && serving(&v->before, was) > 0 &&
                serving(w, &w->listeners[i]) == 0) {
                fail_msg("port %d serves nobody\n%s", (int)was->port, aws_world_text(w, v->k->a));
            }
        }
    }
}

static void check_rules(struct watch *v)
{
    const struct aws_rules *before = node_rules(&v->before);
    for (size_t i = 0; i < before->n; i++) {
        const struct aws_rule *rule = &before->items[i];
        if (lets_in(&v->after, rule) && !lets_in(&v->k->world, rule)) {
            fail_msg("%s is gone for a while\n%s", aws_rule_text(v->k->a, rule),
                     str_buf_text(&v->k->log));
        }
    }
}

static void check(void *arg)
{
    struct watch *v = arg;
    check_serving(v);
    if (v->whole) {
        check_rules(v);
    }
}

static void run(struct kit *k, struct dice *d, struct watch *v, int stop_after)
{
    struct err err = ERR_INIT;
    str_buf_reset(&k->log);
    k->run.log = &k->log;
    k->run.after = v != NULL ? check : NULL;
    k->run.arg = v;
    k->run.backwards = one_in(d, 2);
    k->run.stop_after = stop_after;
    if (aws_world_run(&k->world, &k->plan, &k->run, &err) != ERR_OK) {
        fail_msg("%s\n%s\n%s", err.message, str_buf_text(&k->log), aws_world_text(&k->world, k->a));
    }
}

/* Plans and carries out, all of it or some calls of it. */
static void go(struct service_kit *s, struct dice *d, bool want, bool to_the_end)
{
    struct kit *k = s->k;
    service_plan(s, want);
    struct watch *v = ARENA_NEW(k->a, struct watch);
    *v = (struct watch){.k = k, .before = k->world};
    run(k, d, NULL, -1); /* to know how it ends */
    v->after = k->world;
    v->whole = true;
    k->world = v->before;
    run(k, d, want ? v : NULL, to_the_end ? -1 : (int)roll(d, 10));
}

static void check_port(struct kit *k, const struct aws_nlb_port *port)
{
    const struct aws_world *w = &k->world;
    size_t found = 0;
    for (size_t i = 0; i < w->n_listeners; i++) {
        const struct aws_listener *l = &w->listeners[i];
        if (l->port != port->port) {
            continue;
        }
        const struct aws_world_target_group *g = group_by_arn(w, l->target_group);
        found++;
        assert_string_equal(l->protocol, port->protocol);
        assert_string_equal(l->certificate, port->certificate);
        assert_non_null(g);
        assert_int_equal(g->group.port, port->node_port);
        assert_string_equal(g->group.protocol, port->traffic_protocol);
        assert_int_equal(serving(w, l), k->instances.n);
    }
    assert_int_equal(found, 1);
}

static void check_settled(struct service_kit *s)
{
    struct kit *k = s->k;
    service_plan(s, true);
    if (lb_plan_changes(&k->plan) != 0) {
        fail_msg("not settled: %s\n%s", kit_waves(k), str_buf_text(&k->log));
    }
    struct aws_nlb_want want = kit_nlb_want(k);
    for (size_t i = 0; i < want.n_ports; i++) {
        check_port(k, &want.ports[i]);
    }
    assert_int_equal(k->world.n_nlbs, 1);
    assert_int_equal(k->world.n_listeners, want.n_ports);
    assert_int_equal(k->world.n_target_groups, want.n_ports);
}

static void check_gone(struct service_kit *s)
{
    const struct aws_world *w = &s->k->world;
    service_plan(s, false);
    assert_string_equal(kit_waves(s->k), "");
    assert_int_equal(w->n_nlbs + w->n_listeners + w->n_target_groups, 0);
    assert_int_equal(w->n_groups, 1);
    assert_string_equal(service_rules(s, "sg-nodes"), FOREIGN);
}

static void random__from_any_state_to_any_other__settles(void **state)
{
    (void)state;
    const struct sample part = sample_of_test(PARTS);
    for (uint64_t i = 0; i < CASES; i++) {
        if (!sample_takes_number(&part, i)) {
            continue;
        }
        struct dice d = {i * 7919 + 1};
        struct service_kit *s = service_kit_new();
        s->k->kind = "nlb";
        service_add_rule(s, "sg-nodes", FOREIGN);
        random_service(s->k, &d);
        go(s, &d, true, !one_in(&d, 3));
        meddle(s->k, &d);
        random_service(s->k, &d);
        if (one_in(&d, 3)) {
            go(s, &d, true, false);
        }
        if (one_in(&d, 4)) {
            go(s, &d, false, false);
            go(s, &d, false, true);
            check_gone(s);
        } else {
            go(s, &d, true, true);
            check_settled(s);
        }
        service_kit_free(s);
    }
}

UNIT_MAIN(nlb_random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__from_any_state_to_any_other__settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
