/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_churn.c: what a choice of nodes may change, on 10,000 random clusters.
 *
 * Each cluster is chosen from twice: with nothing known, and from what is in the NEGs, after nodes
 * came and went.  What must hold (gce-l4.md §3.4): a node that may stay leaves only when the share
 * of the zone shrinks, and then the last by name; the shares are those of the division; the same
 * input gives the same answer, whatever the order of the nodes; and who is not chosen may come and
 * go unnoticed where there are enough.  TRIMTAB_TEST_SEED repeats a run. */
#include "tests/unit/gce/neg_kit.h"

#include "common/base/clock.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

#include <stdlib.h>

#define CLUSTERS  500 /* in a part */
#define PARTS     20  /* one of which a run plays */
#define ZONES_MAX 5
#define NODES_MAX 40 /* in a zone */

struct world {
    struct arena *a;
    struct rng *rng;
    const char *about; /* seed and number, for messages */
    struct kit_nodes nodes;
    struct gce_neg_wish w;
};

static size_t below(struct world *x, size_t n)
{
    return n == 0 ? 0 : (size_t)rng_below(x->rng, n);
}

static bool chance(struct world *x, size_t percent)
{
    return below(x, 100) < percent;
}

/* ---- clusters -------------------------------------------------------------------------------- */

static const struct tt_node *new_node(struct world *x, size_t zone, size_t number)
{
    struct arena *a = x->a;
    return kit_node(a, (struct kit_node){
                           .name = arena_printf(a, "gke-%zu-%zu", zone, number),
                           .zone = arena_printf(a, "zone%zu", zone),
                           .ip = arena_printf(a, "10.%zu.%zu.%zu", zone, number >> 8, number & 255),
                           .ready = chance(x, 10) ? "False" : NULL,
                           .label = chance(x, 5) ? "operation.gke.io/type" : NULL,
                           .value = "drain",
                       });
}

static void make_cluster(struct world *x)
{
    size_t zones = 1 + below(x, ZONES_MAX);
    x->nodes.items = ARENA_ARRAY(x->a, const struct tt_node *, ZONES_MAX *NODES_MAX);
    x->nodes.n = 0;
    for (size_t z = 0; z < zones; z++) {
        size_t n = below(x, chance(x, 30) ? 10 : NODES_MAX);
        for (size_t i = 0; i < n; i++) {
            x->nodes.items[x->nodes.n++] = new_node(x, z, i);
        }
    }
}

/* Some go, some come, some change. */
static void shake_cluster(struct world *x)
{
    const struct tt_node **more =
        ARENA_ARRAY(x->a, const struct tt_node *, x->nodes.n + ZONES_MAX * 8);
    size_t n = 0;
    size_t leave = below(x, 30);
    for (size_t i = 0; i < x->nodes.n; i++) {
        if (!chance(x, leave)) {
            more[n++] = x->nodes.items[i];
        }
    }
    for (size_t z = 0; z < ZONES_MAX; z++) {
        for (size_t i = 0; chance(x, 50) && i < below(x, 8); i++) {
            more[n++] = new_node(x, z, NODES_MAX + i);
        }
    }
    x->nodes.items = more;
    x->nodes.n = n;
}

static void shuffle(struct world *x)
{
    for (size_t i = x->nodes.n; i > 1; i--) {
        size_t k = below(x, i);
        const struct tt_node *other = x->nodes.items[k];
        x->nodes.items[k] = x->nodes.items[i - 1];
        x->nodes.items[i - 1] = other;
    }
}

static void make_wish(struct world *x)
{
    size_t pods = below(x, 80);
    const char **hosts = ARENA_ARRAY(x->a, const char *, pods);
    for (size_t i = 0; i < pods; i++) {
        hosts[i] = x->nodes.n == 0 ? "ghost" : x->nodes.items[below(x, x->nodes.n)]->name;
    }
    const struct tt_slice **slices = ARENA_NEW(x->a, const struct tt_slice *);
    *slices = kit_slice(x->a, hosts, pods);
    x->w = (struct gce_neg_wish){
        .ns = "default",
        .name = arena_printf(x->a, "web-%zu", below(x, 1000)),
        .internal = chance(x, 70),
        .local = chance(x, 25),
        .filter = {.default_subnet = "default", .needs_pod_cidr = true},
        .subnetwork = KIT_SUBNET_URL,
        .slices = slices,
        .n_slices = 1,
    };
}

static struct gce_neg_members choose(struct world *x, const struct gce_neg_places *current)
{
    struct gce_neg_members got;
    struct err err = ERR_INIT;
    x->w.nodes = x->nodes.items;
    x->w.n_nodes = x->nodes.n;
    if (gce_neg_membership(x->a, &x->w, current, &got, &err) != ERR_OK) {
        fail_msg("%s: %s", x->about, err.message);
    }
    return got;
}

/* ---- what is known of a zone without asking the code under test ------------------------------ */

static bool is_host(const struct world *x, const char *node)
{
    const struct tt_slice *s = x->w.slices[0];
    for (uint32_t i = 0; i < s->n_endpoints; i++) {
        if (str_eq(s->endpoints[i].node_name, node)) {
            return true;
        }
    }
    return false;
}

static bool may_be_member(const struct world *x, const struct tt_node *n)
{
    return n->n_labels == 0 && (!x->w.local || is_host(x, n->name));
}

static struct gce_strs candidates(const struct world *x, const char *zone)
{
    struct gce_strs out = {.items = ARENA_ARRAY(x->a, const char *, x->nodes.n)};
    const char *part = arena_printf(x->a, "/%s/", zone);
    for (size_t i = 0; i < x->nodes.n; i++) {
        const struct tt_node *n = x->nodes.items[i];
        if (strstr(n->provider_id, part) != NULL && may_be_member(x, n)) {
            out.items[out.n++] = n->name;
        }
    }
    return kit_sorted(x->a, out);
}

static struct gce_strs members(const struct world *x, const struct gce_neg_places *p,
                               const char *zone)
{
    struct gce_strs out = {0};
    for (size_t i = 0; p != NULL && i < p->n; i++) {
        if (str_eq(p->items[i].zone, zone)) {
            out.items = ARENA_ARRAY(x->a, const char *, p->items[i].n);
            for (size_t k = 0; k < p->items[i].n; k++) {
                out.items[out.n++] = p->items[i].endpoints[k].instance;
            }
        }
    }
    return out;
}

static bool has(const struct gce_strs *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (str_eq(s->items[i], name)) {
            return true;
        }
    }
    return false;
}

static int ascending(const void *x, const void *y)
{
    const size_t *a = x;
    const size_t *b = y;
    return *a < *b ? -1 : *a > *b;
}

/* The shares, by §3.3 and §3.4 read once more; sorted.  Zones are "zone0"… */
static size_t shares(const struct world *x, const struct gce_neg_places *current,
                     size_t ret[ZONES_MAX])
{
    size_t n = 0;
    size_t all = 0;
    size_t is = 0;
    for (size_t z = 0; z < ZONES_MAX; z++) {
        size_t count = candidates(x, arena_printf(x->a, "zone%zu", z)).n;
        all += count;
        if (count > 0) {
            ret[n++] = count;
        }
    }
    for (size_t i = 0; current != NULL && i < current->n; i++) {
        is += current->items[i].n;
    }
    size_t pods = x->w.slices[0]->n_endpoints;
    size_t total = n != 0 && 24 % n == 0 ? 24 : 25;
    if (x->w.local) {
        total = x->w.internal ? 250 : 3000;
    } else if (!x->w.internal) {
        total = pods > 3 * n ? pods : 3 * n;
        total = total > 250 ? 250 : total;
        total = is > total ? is : total;
    } else if (all <= 25) {
        total = all;
    }
    qsort(ret, n, sizeof(*ret), ascending);
    for (size_t i = 0; i < n; i++) {
        size_t share = total / (n - i);
        ret[i] = ret[i] < share ? ret[i] : share;
        total -= ret[i];
    }
    qsort(ret, n, sizeof(*ret), ascending);
    return n;
}

/* ---- what must hold -------------------------------------------------------------------------- */

static void check_sizes(const struct world *x, const struct gce_neg_members *got,
                        const struct gce_neg_places *current)
{
    size_t want[ZONES_MAX];
    size_t is[ZONES_MAX] = {0};
    size_t n_is = 0;
    size_t n = shares(x, current, want);
    for (size_t z = 0; z < ZONES_MAX; z++) {
        const char *zone = arena_printf(x->a, "zone%zu", z);
        if (candidates(x, zone).n > 0) {
            is[n_is++] = members(x, &got->places, zone).n;
        }
    }
    qsort(is, n_is, sizeof(*is), ascending);
    for (size_t i = 0; i < n; i++) {
        if (is[i] != want[i]) {
            fail_msg("%s: share %zu is %zu, want %zu", x->about, i, is[i], want[i]);
        }
    }
}

static void check_who_left(const struct world *x, const char *zone, const struct gce_strs *was,
                           const struct gce_strs *now)
{
    struct gce_strs can = candidates(x, zone);
    size_t could_stay = 0;
    const char *first_left = NULL;
    for (size_t i = 0; i < was->n; i++) {
        bool could = has(&can, was->items[i]);
        could_stay += could;
        if (could && !has(now, was->items[i]) && first_left == NULL) {
            first_left = was->items[i];
        }
    }
    for (size_t i = 0; i < now->n; i++) {
        if (!has(&can, now->items[i])) {
            fail_msg("%s: %s in %s is no candidate", x->about, now->items[i], zone);
        }
        if (first_left != NULL && strcmp(now->items[i], first_left) > 0) {
            fail_msg("%s: %s left %s, but %s did not", x->about, first_left, zone, now->items[i]);
        }
        if (first_left != NULL && !has(was, now->items[i])) {
            fail_msg("%s: %s left %s and %s came", x->about, first_left, zone, now->items[i]);
        }
    }
    if (first_left != NULL && now->n >= could_stay) {
        fail_msg("%s: %s left %s although its share did not shrink", x->about, first_left, zone);
    }
}

static void check_churn(const struct world *x, const struct gce_neg_places *current,
                        const struct gce_neg_members *got)
{
    for (size_t z = 0; z < ZONES_MAX; z++) {
        const char *zone = arena_printf(x->a, "zone%zu", z);
        struct gce_strs was = members(x, current, zone);
        struct gce_strs now = members(x, &got->places, zone);
        check_who_left(x, zone, &was, &now);
    }
    check_sizes(x, got, current);
}

static void check_same(const struct world *x, const char *about, const struct gce_neg_members *p,
                       const struct gce_neg_members *q)
{
    const char *left = kit_places(x->a, &p->places, true);
    const char *right = kit_places(x->a, &q->places, true);
    if (!str_eq(left, right)) {
        fail_msg("%s: %s:\n%s\n%s", x->about, about, left, right);
    }
}

static size_t count_all(const struct world *x)
{
    size_t n = 0;
    for (size_t z = 0; z < ZONES_MAX; z++) {
        n += candidates(x, arena_printf(x->a, "zone%zu", z)).n;
    }
    return n;
}

/* A node that is not chosen goes, or one comes, where there are more than are needed. */
static void check_bystanders(struct world *x, const struct gce_neg_members *now)
{
    size_t z = below(x, ZONES_MAX);
    const char *zone = arena_printf(x->a, "zone%zu", z);
    struct gce_strs can = candidates(x, zone);
    struct gce_strs in = members(x, &now->places, zone);
    if (x->w.local || can.n <= in.n || count_all(x) <= 26) {
        return; /* all are taken, or the rule of 25 comes into play */
    }
    struct kit_nodes before = x->nodes;
    x->nodes.items = ARENA_ARRAY(x->a, const struct tt_node *, before.n + 1);
    memcpy(x->nodes.items, before.items, before.n * sizeof(*before.items));
    if (chance(x, 50)) {
        x->nodes.items[x->nodes.n++] =
            kit_node(x->a, (struct kit_node){.name = "new", .zone = zone, .ip = "10.9.9.9"});
    } else {
        for (size_t i = 0; i < x->nodes.n; i++) {
            if (has(&can, x->nodes.items[i]->name) && !has(&in, x->nodes.items[i]->name)) {
                x->nodes.items[i] = x->nodes.items[--x->nodes.n];
                break;
            }
        }
    }
    struct gce_neg_members then = choose(x, &now->places);
    check_same(x, "a bystander was noticed", now, &then);
    x->nodes = before;
}

/* NEGs may contain anything: foreign nodes, one twice, too many. */
static struct gce_neg_places any_current(struct world *x)
{
    struct gce_neg_places p = {.items = ARENA_ARRAY(x->a, struct gce_neg_place, ZONES_MAX)};
    for (size_t z = 0; z < ZONES_MAX; z++) {
        struct gce_neg_place *one = &p.items[p.n++];
        *one = (struct gce_neg_place){.zone = arena_printf(x->a, "zone%zu", z),
                                      .subnet = "default",
                                      .endpoints = ARENA_ARRAY(x->a, struct gce_endpoint, 120)};
        for (size_t i = 0; i < 60; i++) {
            const char *name = arena_printf(x->a, "gke-%zu-%02zu", z, i);
            for (size_t k = chance(x, 30) ? 1 + below(x, 2) : 0; k > 0; k--) {
                one->endpoints[one->n++] = (struct gce_endpoint){
                    .instance = name, .ip = k == 1 ? "10.0.0.2" : "10.0.0.1", .ipv6 = ""};
            }
        }
    }
    return p;
}

static void run_one(struct world *x)
{
    make_cluster(x);
    make_wish(x);
    struct gce_neg_members fresh = choose(x, NULL);
    check_churn(x, NULL, &fresh);
    struct gce_neg_members again = choose(x, &fresh.places);
    check_same(x, "chosen again from itself", &fresh, &again);
    shuffle(x);
    again = choose(x, NULL);
    check_same(x, "in another order", &fresh, &again);

    shake_cluster(x);
    struct gce_neg_members later = choose(x, &fresh.places);
    check_churn(x, &fresh.places, &later);
    again = choose(x, &later.places);
    check_same(x, "settled", &later, &again);
    shuffle(x);
    again = choose(x, &fresh.places);
    check_same(x, "in another order, from what was there", &later, &again);
    check_bystanders(x, &later);

    struct gce_neg_places odd = any_current(x);
    struct gce_neg_members mended = choose(x, &odd);
    check_churn(x, &odd, &mended);
}

static void play_part(uint64_t seed)
{
    struct rng *rng = rng_seeded_new(seed);
    for (int i = 0; i < CLUSTERS; i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        struct world x = {.a = a, .rng = rng};
        x.about = arena_printf(a, "seed %llu, cluster %d", (unsigned long long)seed, i);
        run_one(&x);
    }
    rng_free(rng);
}

static void gce_neg_membership__random_clusters__churn_is_bounded(void **state)
{
    (void)state;
    const struct sample s = sample_of_test(PARTS);
    for (uint64_t part = 0; part < PARTS; part++) {
        if (sample_takes_number(&s, part)) {
            play_part(20261122 + part);
        }
    }
}

UNIT_MAIN(neg_churn)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gce_neg_membership__random_clusters__churn_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
