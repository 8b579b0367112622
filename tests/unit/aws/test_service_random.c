/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_random.c: what must hold for every plan of a Service, on 10,000 random pairs of what
 * is there and what is wanted, a third of them NLBs:
 *
 *     AWS refuses no call and no call is without effect (aws_world.h); afterwards there is nothing
 *     to do; what is there before and after is there all the time: rules, instances, listeners,
 *     subnets; rules of others stay; a process that is killed after any call comes to the same end,
 *     whatever the order inside a wave (numbers in names of an NLB's parts may differ); a deletion,
 *     tried from any such moment, leaves nothing behind.
 *
 * Every pair begins where the one before it ended, after people have edited the world.  A failure
 * prints its number; the numbers are all that is random. */
#include "tests/support/sample.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/rule_same.h"
#include "tests/unit/aws/service_kit.h"

#include <stdio.h>
#include <string.h>

#define PARTS   20  /* one of which a run plays */
#define PAIRS   500 /* in a part */
#define CHAIN   10  /* pairs in one world */
#define LB      "a5f3a7c9e0b1d4e2f8a6b1c2d3e4f5a6"
#define CLASSIC "k8s-elb-" LB

struct random {
    uint64_t state;
    bool options; /* those of [Trimtab] are on by chance */
};

static uint32_t below(struct random *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33) % n;
}

static bool chance(struct random *r, uint32_t percent)
{
    return below(r, 100) < percent;
}

static const char *one_of(struct random *r, const char *const *items, uint32_t n)
{
    return items[below(r, n)];
}

static bool is_nlb(const struct service_kit *s)
{
    return str_eq(s->k->kind, "nlb");
}

/* ---- a world --------------------------------------------------------------------------------- */

static const char *const foreign_rules[][2] = {
    {"sg-nodes", "tcp 22 10.0.0.0/8;ssh"},
    {"sg-nodes", "-1 sg-nodes"},
    {"sg-nodes", "tcp 443 sg-a"},
    {"sg-pool", "-1 sg-other"},
    {"sg-pool", "udp 53 10.0.0.0/8"},
    {"sg-pool", "-1 sg-a;by hand"},
    {"sg-plain", "tcp 5432 172.16.0.0/12"},
    {"sg-a", "tcp 80 0.0.0.0/0"},
    {"sg-other", "tcp 80 0.0.0.0/0;theirs"},
    {"sg-nodes", "tcp 30080 10.7.0.0/16;kubernetes.io/rule/nlb/client=aother"},
};

static struct service_kit *world_new(bool nlb)
{
    static const struct aws_group_ref refs[] = {
        {"sg-nodes", "nodes"}, {"sg-pool", "pool"}, {"sg-plain", "plain"}};
    struct service_kit *s = service_kit_new();
    struct aws_world *w = &s->k->world;
    s->k->kind = nlb ? "nlb" : "";
    w->n_subnets = 3;
    for (int i = 0; i < 3; i++) {
        struct aws_subnet twin = w->subnets[i];
        twin.id = arena_printf(s->k->a, "subnet-%d", i + 4);
        w->subnets[w->n_subnets++] = twin;
    }
    (void)service_group(s, "sg-pool", "pool", "owned");
    (void)service_group(s, "sg-plain", "plain", NULL);
    (void)service_group(s, "sg-a", "a", NULL);
    (void)service_group(s, "sg-b", "b", "shared");
    (void)service_group(s, "sg-other", "other", NULL);
    for (size_t i = 0; i < 4; i++) {
        struct aws_instance twin = w->instances[i];
        twin.id = arena_printf(s->k->a, "i-%zu", i + 5);
        twin.groups = &refs[i % 3];
        w->instances[w->n_instances++] = twin;
    }
    for (size_t i = 0; i < ARRAY_LEN(foreign_rules); i++) {
        service_add_rule(s, foreign_rules[i][0], foreign_rules[i][1]);
    }
    return s;
}

static const struct aws_group *own_group(const struct service_kit *s)
{
    const char *name = is_nlb(s) && s->k->service != NULL ? s->k->service->nlb_group : CLASSIC;
    return service_named(s, name);
}

/* Changes of the state by people and by AWS. */
static void disturb(struct service_kit *s, struct random *r)
{
    struct aws_world *w = &s->k->world;
    const struct aws_group *own = own_group(s);
    struct aws_classic *b = w->n_classics > 0 ? &w->classics[0] : NULL;
    if (own != NULL && chance(r, 20)) {
        static const char *const rules[] = {"tcp 8080 0.0.0.0/0", "tcp 80 sg-nodes", "udp 1 ::/0"};
        const char *rule = one_of(r, rules, 3);
        if (strstr(service_rules(s, own->id), rule) == NULL) {
            service_add_rule(s, own->id, rule);
        }
    }
    if (b != NULL && chance(r, 10)) {
        b->n_listeners -= b->n_listeners > 0;
    }
    if (b != NULL && chance(r, 10)) {
        b->health.known = false;
    }
    if (b != NULL && chance(r, 10)) {
        b->instances.n -= b->instances.n > 0;
    }
    if (b != NULL && chance(r, 5)) {
        w->n_classics = 0;
    }
    if (w->n_nlbs > 0 && chance(r, 5)) {
        w->n_nlbs = 0;
        w->n_listeners = 0;
    }
    for (size_t i = 0; i < w->n_groups; i++) {
        if (str_eq(w->groups[i].group.id, "sg-nodes") && chance(r, 5)) {
            w->groups[i].group.rules.n = 0;
            for (size_t k = 0; k < ARRAY_LEN(foreign_rules); k++) {
                if (str_eq(foreign_rules[k][0], "sg-nodes")) {
                    service_add_rule(s, "sg-nodes", foreign_rules[k][1]);
                }
            }
        }
    }
}

/* ---- a Service ------------------------------------------------------------------------------- */

static void line(struct str_buf *b, struct random *r, uint32_t percent, const char *const *items,
                 uint32_t n)
{
    if (chance(r, percent)) {
        str_appendf(b, "%s\n", one_of(r, items, n));
    }
}

#define LINE(b, r, percent, ...)                                                                   \
    line(b, r, percent, (const char *const[]){__VA_ARGS__},                                        \
         ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

/* At least two zones: a balancer with one cannot be moved inside of it. */
static void subnets(struct str_buf *b, struct random *r)
{
    uint32_t left_out = below(r, 6);
    str_append(b, "subnets=");
    for (uint32_t zone = 0, n = 0; zone < 3; zone++) {
        if (zone != left_out) {
            str_appendf(b, "%ssubnet-%u", n++ > 0 ? "," : "", zone + 1 + 3 * below(r, 2));
        }
    }
    str_append(b, "\n");
}

static const char *lines(struct service_kit *s, struct random *r)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    subnets(&b, r);
    LINE(&b, r, 30, "security-groups=sg-a", "security-groups=sg-b,sg-a", "security-groups=sg-b");
    if (is_nlb(s)) {
        LINE(&b, r, 40, "ssl-cert=arn:one\nssl-ports=443",
             r->options ? "ssl-cert=arn:two\nssl-ports=443" : "ssl-cert=arn:two");
        LINE(&b, r, 30, "healthcheck-protocol=http", "healthcheck-port=10256");
        LINE(&b, r, r->options ? 20 : 0, "internal=true");
        LINE(&b, r, r->options ? 50 : 0, "additional-resource-tags=a=1,b=2",
             "additional-resource-tags=a=2",
             "additional-resource-tags=kubernetes.io/service-name=x");
        return str_buf_to_arena(&b, s->k->a);
    }
    LINE(&b, r, 30, "extra-security-groups=sg-a", "extra-security-groups=sg-b");
    LINE(&b, r, 40, "ssl-cert=arn:one\nssl-ports=443", "ssl-cert=arn:two");
    LINE(&b, r, 30, "backend-protocol=http", "backend-protocol=ssl", "backend-protocol=https");
    LINE(&b, r, 40, "ssl-negotiation-policy=one", "ssl-negotiation-policy=two");
    LINE(&b, r, 40, "proxy-protocol=*");
    LINE(&b, r, 20, "internal=true");
    LINE(&b, r, 20, "connection-idle-timeout=100", "connection-idle-timeout=60");
    LINE(&b, r, 20, "connection-draining-enabled=true\nconnection-draining-timeout=9",
         "connection-draining-enabled=true");
    LINE(&b, r, 20, "access-log-enabled=true\naccess-log-s3-bucket-name=logs");
    LINE(&b, r, 20, "cross-zone-load-balancing-enabled=true");
    LINE(&b, r, 20, "healthcheck-protocol=http", "healthcheck-interval=20", "healthcheck-port=99");
    LINE(&b, r, 30, "additional-resource-tags=a=1,b=2", "additional-resource-tags=a=2");
    return str_buf_to_arena(&b, s->k->a);
}

static const char *ports(struct service_kit *s, struct random *r)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    static const int all[] = {80, 443, 8080, 9000};
    uint32_t sure = below(r, 4);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == sure || chance(r, 40)) {
            uint32_t node_port = 30000 + 10 * i + below(r, 2);
            bool mixed = s->k->naming.options.mixed_protocols && is_nlb(s) && all[i] > 443;
            uint32_t how = mixed ? below(r, 3) : 0;
            str_appendf(&b, "%s%d:%u%s", b.len > 0 ? " " : "", all[i], node_port,
                        how == 1 ? "/UDP" : "");
            if (how == 2) {
                str_appendf(&b, " %d:%u/UDP", all[i], node_port);
            }
        }
    }
    return str_buf_to_arena(&b, s->k->a);
}

/* Some, or so many that the group has no room for old and new ones together. */
static const char *ranges(struct service_kit *s, struct random *r)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    if (chance(r, 30)) {
        return "";
    }
    uint32_t most = !is_nlb(s)   ? 12
                    : r->options ? 5
                                 : 7; /* with options a port may have two rules */
    uint32_t n = chance(r, 10) ? most : 1 + below(r, 3);
    uint32_t net = below(r, 4);
    for (uint32_t i = 0; i < n; i++) {
        str_appendf(&b, "%s\"10.%u.%u.0/24\"", i > 0 ? "," : "", net, i + below(r, 2));
    }
    return arena_printf(s->k->a, ",\"loadBalancerSourceRanges\":[%s]", str_buf_text(&b));
}

static void edit(struct service_kit *s, struct random *r)
{
    struct kit *k = s->k;
    const char **ids = ARENA_ARRAY(k->a, const char *, k->world.n_instances);
    size_t n = 0;
    k->repairs = chance(r, 70);
    k->naming.options = (struct aws_options){
        .nlb_tags = r->options && chance(r, 70),
        .nlb_subnets = r->options && chance(r, 70),
        .mixed_protocols = r->options, /* never off again: the Service would be refused */
        .replaces_scheme = r->options && chance(r, 50),
    };
    k->lines = lines(s, r);
    k->ports = ports(s, r);
    k->spec = ranges(s, r);
    for (size_t i = 0; i < k->world.n_instances; i++) {
        if (chance(r, 60)) {
            ids[n++] = k->world.instances[i].id;
        }
    }
    k->instances = (struct aws_texts){ids, n};
    k->naming.no_node_rules = chance(r, 10);
    k->naming.nlb_group_mode = chance(r, 60) ? "Managed" : "";
    k->naming.shared_group = chance(r, 10) ? "sg-b" : "";
    s->referring = chance(r, 50);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static void broken(const struct service_kit *s, uint32_t pair, const char *what)
{
    fprintf(stderr, "pair %u: %s\nports %s\n%s%s\nplan: %s\n%s", pair, what, s->k->ports,
            s->k->lines, s->k->spec, kit_waves(s->k), aws_world_text(&s->k->world, s->k->a));
    fail_msg("pair %u", pair);
}

static bool have_rule(const struct aws_rules *rules, const struct aws_rule *r)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (aws_rule_same(&rules->items[i], r) &&
            str_eq(rules->items[i].description, r->description)) {
            return true;
        }
    }
    return false;
}

static bool have_text(const struct aws_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], text)) {
            return true;
        }
    }
    return false;
}

static bool have_listener(const struct aws_classic *b, const struct aws_classic_listener *l)
{
    for (size_t i = 0; i < b->n_listeners; i++) {
        const struct aws_classic_listener *x = &b->listeners[i];
        if (x->port == l->port && x->instance_port == l->instance_port &&
            str_eq(x->protocol, l->protocol) && str_eq(x->certificate, l->certificate) &&
            str_eq(x->instance_protocol, l->instance_protocol)) {
            return true;
        }
    }
    return false;
}

/* Elements of both `before` and `after` are in `now`; NULL if so. */
static const char *lost_rule(const struct aws_world *before, const struct aws_world *now,
                             const struct aws_world *after)
{
    for (size_t i = 0; i < before->n_groups; i++) {
        const struct aws_group *b = &before->groups[i].group;
        const struct aws_world_group *n = aws_world_group(now, b->id);
        const struct aws_world_group *a = aws_world_group(after, b->id);
        for (size_t k = 0; a != NULL && k < b->rules.n; k++) {
            const struct aws_rule *r = &b->rules.items[k];
            if (have_rule(&a->group.rules, r) && (n == NULL || !have_rule(&n->group.rules, r))) {
                return "a rule is gone for a while";
            }
        }
    }
    return NULL;
}

static const char *lost_part(const struct aws_classic *before, const struct aws_classic *now,
                             const struct aws_classic *after)
{
    for (size_t i = 0; i < before->instances.n; i++) {
        const char *id = before->instances.items[i];
        if (have_text(&after->instances, id) && !have_text(&now->instances, id)) {
            return "an instance is gone for a while";
        }
    }
    for (size_t i = 0; i < before->subnets.n; i++) {
        const char *id = before->subnets.items[i];
        if (have_text(&after->subnets, id) && !have_text(&now->subnets, id)) {
            return "a subnet is gone for a while";
        }
    }
    for (size_t i = 0; i < before->n_listeners; i++) {
        const struct aws_classic_listener *l = &before->listeners[i];
        if (have_listener(after, l) && !have_listener(now, l)) {
            return "a listener is gone for a while";
        }
    }
    return NULL;
}

static void check_between(struct service_kit *s, uint32_t pair, const struct aws_world *before,
                          const struct aws_world *after)
{
    const struct aws_world *now = &s->k->world;
    const char *lost = lost_rule(before, now, after);
    bool same = before->n_classics > 0 && now->n_classics > 0 && after->n_classics > 0 &&
                str_eq(before->classics[0].scheme, after->classics[0].scheme);
    if (lost == NULL && same) {
        lost = lost_part(&before->classics[0], &now->classics[0], &after->classics[0]);
    }
    if (lost != NULL) {
        broken(s, pair, lost);
    }
}

static void check_foreign(struct service_kit *s, uint32_t pair)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign_rules); i++) {
        struct aws_rule r = service_rule(s, foreign_rules[i][1]);
        if (!have_rule(&aws_world_group(&s->k->world, foreign_rules[i][0])->group.rules, &r)) {
            broken(s, pair, foreign_rules[i][1]);
        }
    }
}

static void run_all(struct service_kit *s, uint32_t pair, int stop, bool backwards)
{
    struct err err = ERR_INIT;
    s->k->run = (struct aws_world_run){.stop_after = stop, .backwards = backwards};
    if (aws_world_run(&s->k->world, &s->k->plan, &s->k->run, &err) != ERR_OK) {
        broken(s, pair, err.message);
    }
}

/* Plans until nothing is left to do; it must be so at once. */
static void settle(struct service_kit *s, uint32_t pair, bool want, bool backwards)
{
    service_plan(s, want);
    run_all(s, pair, -1, backwards);
    service_plan(s, want);
    if (lb_plan_changes(&s->k->plan) != 0) {
        broken(s, pair, "it is not done");
    }
    check_foreign(s, pair);
}

/* Nothing of the Service. */
static void check_gone(struct service_kit *s, uint32_t pair)
{
    const struct aws_world *w = &s->k->world;
    if (w->n_classics + w->n_nlbs + w->n_target_groups > 0 || own_group(s) != NULL) {
        broken(s, pair, "something is left");
    }
}

/* One of the moments in which the process may be killed, and both ways from there. */
static void killed(struct service_kit *s, uint32_t pair, int stop, const char *end)
{
    struct kit *k = s->k;
    const struct aws_world before = k->world;
    service_plan(s, true);
    run_all(s, pair, stop, stop % 2 == 1);
    const struct aws_world here = k->world;
    settle(s, pair, true, stop % 2 == 0);
    if (!is_nlb(s) && !str_eq(aws_world_text(&k->world, k->a), end)) {
        broken(s, pair, arena_printf(k->a, "another end after call %d; wanted\n%s", stop, end));
    }
    k->world = here;
    settle(s, pair, false, false);
    check_gone(s, pair);
    k->world = before;
}

static void check_pair(struct service_kit *s, uint32_t pair, struct random *r)
{
    struct kit *k = s->k;
    const struct aws_world before = k->world;
    settle(s, pair, true, false);
    const struct aws_world after = k->world;
    const char *end = aws_world_text(&after, k->a);
    k->world = before;
    service_plan(s, true);
    int calls = (int)lb_plan_changes(&k->plan);
    for (int stop = 1; stop < calls && pair % 4 == 0; stop++) {
        k->world = before;
        service_plan(s, true);
        run_all(s, pair, stop, false);
        check_between(s, pair, &before, &after);
    }
    k->world = before;
    if (calls > 1) {
        killed(s, pair, 1 + (int)below(r, (uint32_t)calls - 1), end);
    }
    k->world = after;
}

/* One world in three has an NLB; with options, two. */
static void walk(struct random *r, uint32_t pairs)
{
    for (uint32_t pair = 0; pair < pairs;) {
        uint32_t kind = pair / CHAIN % 3;
        struct service_kit *s = world_new(kind == 2 || (r->options && kind == 1));
        for (int i = 0; i < CHAIN && pair < pairs; i++, pair++) {
            edit(s, r);
            disturb(s, r);
            check_pair(s, pair, r);
        }
        service_kit_free(s);
    }
}

/* A part begins where its own number says. */
static void walk_parts(uint64_t first, bool options, uint32_t pairs)
{
    const struct sample part = sample_of_test(PARTS);
    for (uint64_t i = 0; i < PARTS; i++) {
        struct random r = {.state = first + 100 * i, .options = options};
        if (sample_takes_number(&part, i)) {
            walk(&r, pairs);
        }
    }
}

static void plans__of_random_pairs__hold_what_they_promise(void **state)
{
    (void)state;
    walk_parts(7, false, PAIRS);
}

static void plans__of_random_pairs_with_options__hold_what_they_promise(void **state)
{
    (void)state;
    walk_parts(8, true, PAIRS / 2);
}

UNIT_MAIN(service_random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans__of_random_pairs__hold_what_they_promise),
        cmocka_unit_test(plans__of_random_pairs_with_options__hold_what_they_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
