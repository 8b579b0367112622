/* SPDX-License-Identifier: Apache-2.0 */
/* test_front_desired.c: frontends that a Service is to have in mode nft; rows are named after the
 * vectors of the provider's specification. */
#include "tests/unit/local/targets/targets_test.h"

#include "providers/local/plan/front_desired.h"

#define NFT      .pool = "mode: nft"
#define RANGE(r) ", 'loadBalancerSourceRanges': [" r "]"
#define POLICY   ", 'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 31000"
#define N(i)     NODE("n" #i, "10.1.0." #i, "")
#define EIGHT(t)                                                                                   \
    N(t##1)                                                                                        \
    ", " N(t##2) ", " N(t##3) ", " N(t##4) ", " N(t##5) ", " N(t##6) ", " N(t##7) ", " N(t##8)

/* "10.1.0.1:30080*2", by first slots. */
static void show_slots(struct str_buf *b, const struct local_front *f)
{
    char text[IP_TEXT_MAX];

    for (unsigned i = 0; i < f->m; i++) {
        unsigned n = 0;
        bool first = true;
        for (unsigned j = 0; j < f->m; j++) {
            bool same =
                ip_eq(&f->slots[j].addr, &f->slots[i].addr) && f->slots[j].port == f->slots[i].port;
            n += same;
            first = first && (!same || j >= i);
        }
        if (first) {
            ip_format(&f->slots[i].addr, text);
            str_appendf(b, " %s:%u*%u", text, f->slots[i].port, n);
        }
    }
}

static const char *front_text(struct arena *a, const struct local_wanted *w)
{
    struct str_buf b = STR_BUF_INIT;
    char text[LOCAL_FRONTEND_TEXT_MAX];

    for (size_t i = 0; i < w->n; i++) {
        const struct local_front *f = &w->fronts[i];
        str_appendf(&b, "%s%u/%s", i == 0 ? "" : "; ", f->id.port,
                    f->id.protocol == LOCAL_TCP ? "tcp" : "udp");
        str_appendf(&b, f->m == 0 ? " closed" : " %s%u", f->hash ? "hash" : "rr", f->m);
        show_slots(&b, f);
        str_append(&b, !f->all ? "" : f->id.vip.len == 4 ? " <0.0.0.0/0" : " <::/0");
        for (size_t k = 0; k < f->n_open; k++) {
            ip_net_format(&f->open[k], text);
            str_appendf(&b, " <%s", text);
        }
        str_append(&b, f->snat ? " snat" : "");
    }
    if (w->n_ranges_left > 0) {
        str_appendf(&b, " (%zu of another family)", w->n_ranges_left);
    }
    const char *ret = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return ret;
}

static void nodes_and_slices(struct arena *a, const struct scene *s, struct local_front_args *x)
{
    x->nodes = test_nodes(a, json_of(a, arena_printf(a, "[%s]", str_or(s->nodes, TWO_NODES))),
                          &x->n_nodes);
    x->has_slices = s->slices != NULL;
    x->slices = s->slices == NULL
                    ? NULL
                    : test_slices(a, json_of(a, arena_printf(a, "[%s]", s->slices)), &x->n_slices);
}

static const char *desired(struct arena *a, const struct scene *s, const struct local_wanted *have,
                           struct local_wanted *ret)
{
    struct local_front_args x = {.config = scene_config(a, s),
                                 .service = scene_service(a, s),
                                 .zone = s->zone,
                                 .have = have == NULL ? NULL : have->fronts,
                                 .n_have = have == NULL ? 0 : have->n};
    struct local_wish wish;
    struct err err = ERR_INIT;

    assert_true(ip_parse(s->family == 0 ? "10.0.0.0" : "2001:db8::", &x.vip));
    x.pool = &x.config->pools[0];
    x.wish = &wish;
    nodes_and_slices(a, s, &x);
    if (local_wish_read(a, x.config, x.service, &wish, &err) != ERR_OK ||
        local_fronts_desired(a, &x, ret, &err) != ERR_OK) {
        return arena_printf(a, "E %s", err.message);
    }
    return front_text(a, ret);
}

static const struct scene scenes[] = {
    {.name = "K08", NFT, .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <0.0.0.0/0"},
    {.name = "K09",
     NFT,
     .nodes = N(1) ", " N(2) ", " N(3),
     .want = "80/tcp rr16 10.1.0.1:30080*6 10.1.0.2:30080*5 10.1.0.3:30080*5 <0.0.0.0/0"},
    {.name = "K10",
     NFT,
     .spec = POLICY,
     .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.2", "n1", READY, "") ", " EP(
         "10.2.0.3", "n1", READY,
         "") ", " EP("10.2.0.4", "n1", READY,
                     "") ", " EP("10.2.0.5", "n1", READY,
                                 "") ", " EP("10.2.0.6", "n1", READY,
                                             "") ", " EP("10.2.0.7", "n1", READY,
                                                         "") ", " EP("10.2.0.8", "n1", READY,
                                                                     "") ", " EP("10.2.0.9", "n1",
                                                                                 READY,
                                                                                 "") ", " EP("10.2."
                                                                                             "1.1",
                                                                                             "n2",
                                                                                             READY,
                                                                                             "")),
     .want = "80/tcp rr64 10.1.0.1:30080*58 10.1.0.2:30080*6 <0.0.0.0/0"},
    {.name = "K11",
     NFT,
     .nodes = EIGHT(1) ", " EIGHT(2) ", " N(3),
     .want = "80/tcp rr256 10.1.0.3:30080*16 10.1.0.11:30080*15 10.1.0.12:30080*15 "
             "10.1.0.13:30080*15 10.1.0.14:30080*15 10.1.0.15:30080*15 10.1.0.16:30080*15 "
             "10.1.0.17:30080*15 10.1.0.18:30080*15 10.1.0.21:30080*15 10.1.0.22:30080*15 "
             "10.1.0.23:30080*15 10.1.0.24:30080*15 10.1.0.25:30080*15 10.1.0.26:30080*15 "
             "10.1.0.27:30080*15 10.1.0.28:30080*15 <0.0.0.0/0"},
    {.name = "K15",
     NFT,
     .wishes = "'local.trimtab.io/scheduler': 'lc'",
     .want = "E scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh"},
    {.name = "K20",
     NFT,
     .spec = ", 'sessionAffinity': 'ClientIP'",
     .want = "80/tcp hash4 10.1.0.2:30080*2 10.1.0.1:30080*2 <0.0.0.0/0"},
    {.name = "mh",
     NFT,
     .wishes = "'local.trimtab.io/scheduler': 'mh'",
     .want = "80/tcp hash4 10.1.0.2:30080*2 10.1.0.1:30080*2 <0.0.0.0/0"},
    {.name = "K21, K23",
     NFT,
     .ports = "{'name': 't', 'port': 53, 'protocol': 'TCP', 'nodePort': 30053}, {'name': 'u', "
              "'port': 53, 'protocol': 'UDP', 'nodePort': 30054}",
     .want = "53/tcp rr4 10.1.0.1:30053*2 10.1.0.2:30053*2 <0.0.0.0/0; 53/udp rr4 10.1.0.1:30054*2 "
             "10.1.0.2:30054*2 <0.0.0.0/0"},
    {.name = "K24",
     NFT,
     .ports = "{'port': 53, 'protocol': 'SCTP', 'nodePort': 30053}",
     .want = "E port 53: SCTP is not served"},
    {.name = "K25",
     NFT,
     .family = 10,
     .nodes = NODE("n1", "fd00::1", "") ", " NODE("n2", "fd00::2", ""),
     .want = "80/tcp rr4 fd00::1:30080*2 fd00::2:30080*2 <::/0"},
    {.name = "K26", NFT, .family = 10, .want = "80/tcp closed"},
    {.name = "K27",
     NFT,
     .spec = POLICY,
     .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.2", "n1", READY, "") ", " EP(
         "10.2.0.3", "n2", READY, "")),
     .want = "80/tcp rr16 10.1.0.1:30080*11 10.1.0.2:30080*5 <0.0.0.0/0"},
    {.name = "K28",
     NFT,
     .spec = POLICY,
     .slices = SLICE(EP("10.2.0.1", "n1", READY, "") ", " EP("10.2.0.3", "n2", DOWN, "")),
     .want = "80/tcp rr4 10.1.0.1:30080*4 <0.0.0.0/0"},
    {.name = "K29",
     NFT,
     .spec = POLICY,
     .slices = SLICE(EP("10.2.0.1", "n1", DOWN, "") ", " EP("10.2.0.2", "n2", ENDS, "")),
     .want = "80/tcp rr4 10.1.0.2:30080*4 <0.0.0.0/0"},
    {.name = "K30", NFT, .spec = POLICY, .slices = "", .want = "80/tcp closed"},
    {.name = "K31",
     NFT,
     .slices = "",
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <0.0.0.0/0"},
    {.name = "K31 pods",
     .pool = "mode: nft, targets: pod",
     .director = "podsRoutable: true",
     .slices = "",
     .want = "80/tcp closed snat"},
    {.name = "K32",
     .pool = "mode: nft, targets: pod",
     .director = "podsRoutable: true",
     .slices = SLICE(EP("10.2.0.2", "n1", READY, "") ", " EP("10.2.0.1", "n1", READY, "")),
     .want = "80/tcp rr4 10.2.0.1:8080*2 10.2.0.2:8080*2 <0.0.0.0/0 snat"},
    {.name = "K36",
     NFT,
     .wishes = "'local.trimtab.io/targets': 'pod'",
     .slices = SLICE(EP("10.2.0.2", "n1", READY, "")),
     .want = "E targets pod: the director does not reach pods (director.podsRoutable)"},
    {.name = "K37",
     NFT,
     .director = "podsRoutable: false",
     .ports = NO_NODE,
     .want = "E the Service has no node ports, and the director does not reach pods"},
    {.name = "K39",
     NFT,
     .nodes = N(1) ", " NODE(
         "n2", "10.1.0.2",
         ", 'labels': {'node.kubernetes.io/exclude-from-external-load-balancers': 'true'}"),
     .want = "80/tcp rr4 10.1.0.1:30080*4 <0.0.0.0/0"},
    {.name = "K46",
     NFT,
     .ports = "{'port': 81, 'protocol': 'TCP', 'nodePort': 30080}",
     .want = "81/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <0.0.0.0/0"},
    {.name = "no node at all", NFT, .nodes = NODE("n1", "fd00::1", ""), .want = "80/tcp closed"},
    {.name = "G02",
     NFT,
     .spec = RANGE("'198.51.100.7/32', '192.0.2.0/24'"),
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <192.0.2.0/24 <198.51.100.7/32"},
    {.name = "G03",
     NFT,
     .spec = RANGE("'192.0.2.128/25', '192.0.2.0/24', '192.0.2.0/24'"),
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <192.0.2.0/24"},
    {.name = "G03, all inside one",
     NFT,
     .spec = RANGE("'0.0.0.0/0', '192.0.2.0/24', '198.51.100.7/32'"),
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <0.0.0.0/0"},
    {.name = "G03, side by side",
     NFT,
     .spec = RANGE("'192.0.2.0/25', '192.0.2.128/25'"),
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <192.0.2.0/25 <192.0.2.128/25"},
    {.name = "G04",
     NFT,
     .spec = RANGE("'10.0.0.0/33'"),
     .want =
         "E service.Spec.LoadBalancerSourceRanges: [10.0.0.0/33] is not valid. Expecting a list of "
         "IP ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: 10.0.0.0/33"},
    {.name = "G05",
     NFT,
     .spec = RANGE("'2001:db8::/32'"),
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 (1 of another family)"},
    {.name = "G05, one of each",
     NFT,
     .spec = RANGE("'2001:db8::/32', '192.0.2.0/24'"),
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <192.0.2.0/24 (1 of another family)"},
    {.name = "snat never",
     NFT,
     .wishes = "'local.trimtab.io/snat': 'never'",
     .want = "80/tcp rr4 10.1.0.1:30080*2 10.1.0.2:30080*2 <0.0.0.0/0"},
};

static void frontends(void **state)
{
    unsigned failed = 0;

    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        struct local_wanted w;
        struct local_wanted again;
        const char *got = desired(*state, &scenes[i], NULL, &w);
        if (!str_eq(got, scenes[i].want)) {
            print_error("%s\n  want %s\n  got  %s\n", scenes[i].name, scenes[i].want, got);
            failed++;
        } else if (got[0] != 'E') { /* what stands stays */
            assert_string_equal(desired(*state, &scenes[i], &w, &again), got);
            for (size_t k = 0; k < w.n; k++) {
                assert_true(local_front_same_slots(&w.fronts[k], &again.fronts[k]));
                assert_true(local_front_same_open(&w.fronts[k], &again.fronts[k]));
            }
        }
    }
    assert_int_equal(failed, 0);
}

/* How many slots of the first frontend differ; -1: another map. */
static int moved(const struct local_wanted *a, const struct local_wanted *b)
{
    int n = 0;

    if (a->fronts[0].m != b->fronts[0].m) {
        return -1;
    }
    for (unsigned i = 0; i < a->fronts[0].m; i++) {
        n += !ip_eq(&a->fronts[0].slots[i].addr, &b->fronts[0].slots[i].addr);
    }
    return n;
}

#define SIX N(1) ", " N(2) ", " N(3) ", " N(4) ", " N(5) ", " N(6)
static const struct move {
    const char *name, *before, *after;
    int slots;
} moves[] = {
    {"K13", N(1) ", " N(2), N(1), 2},
    {"K14, one goes, another comes", N(1) ", " N(2) ", " N(3), N(1) ", " N(2) ", " N(4), 5},
    {"K14, to four of four slots", N(1) ", " N(2) ", " N(3), N(1) ", " N(2) ", " N(3) ", " N(4),
     -1},
    {"a seventh comes", SIX, SIX ", " N(7), 9},
    {"it goes", SIX ", " N(7), SIX, 9},
};

static void fewest_moves(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        const struct scene before = {NFT, .nodes = moves[i].before};
        const struct scene after = {NFT, .nodes = moves[i].after};
        struct local_wanted a;
        struct local_wanted b;
        (void)desired(*state, &before, NULL, &a);
        (void)desired(*state, &after, &a, &b);
        if (moved(&a, &b) != moves[i].slots) {
            fail_msg("%s: %d slots move, want %d", moves[i].name, moved(&a, &b), moves[i].slots);
        }
    }
}

/* Nodes first … last of 10.1.0.0/16. */
static const char *crowd(struct arena *a, unsigned first, unsigned last)
{
    struct str_buf b = STR_BUF_INIT;

    for (unsigned i = first; i <= last; i++) {
        const char *name = arena_printf(a, "n%u", i);
        const char *addr = arena_printf(a, "10.1.%u.%u", i / 250, i % 250 + 1);
        str_appendf(&b, "%s" NODE("%s", "%s", ""), i == first ? "" : ", ", name, addr);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static unsigned slots_of(const struct local_wanted *w, const char *text)
{
    struct ip_addr addr;
    unsigned n = 0;

    assert_true(ip_parse(text, &addr));
    for (unsigned i = 0; i < w->fronts[0].m; i++) {
        n += ip_eq(&w->fronts[0].slots[i].addr, &addr);
    }
    return n;
}

/* K12 when it serves already: nodes that are gone leave, those that stand stay, the first of the
 * others come; and nothing changes when it is planned again. */
static void more_targets_than_slots(void **state)
{
    const struct scene few = {NFT, .nodes = crowd(*state, 101, 350)};
    const struct scene many = {NFT, .nodes = crowd(*state, 1, 349)};
    struct local_wanted a;
    struct local_wanted b;
    struct local_wanted c;

    assert_true(strstr(desired(*state, &many, NULL, &b), "at most 256 targets") != NULL);
    (void)desired(*state, &few, NULL, &a);
    assert_int_equal(a.targets[0].n, 250);
    (void)desired(*state, &many, &a, &b);
    assert_int_equal(b.targets[0].n, 256);
    assert_int_equal(b.targets[0].n_over, 93);
    assert_int_equal(slots_of(&a, "10.1.1.101"), 1);
    assert_int_equal(slots_of(&b, "10.1.1.101"), 0);                               /* 350 is gone */
    assert_true(slots_of(&b, "10.1.0.102") == 1 && slots_of(&b, "10.1.0.8") == 1); /* 101, 7 */
    assert_int_equal(slots_of(&b, "10.1.0.9"), 0);                                 /* 8 */
    (void)desired(*state, &many, &b, &c);
    assert_int_equal(moved(&b, &c), 0);
}

UNIT_MAIN(front_desired)
{
    const struct CMUnitTest tests[] = {targets_test(frontends), targets_test(fewest_moves),
                                       targets_test(more_targets_than_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
