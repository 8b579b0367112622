/* SPDX-License-Identifier: Apache-2.0 */
/* test_neg_cost.c: what a change of nodes costs 500 Services on 5,000 nodes, counted.
 *
 * Looks at a node and hashes of a name are counted by the linker's --wrap (meson.build), so the
 * code under test is the one that runs.  Upstream looks at every node and hashes every name for
 * every Service at each change. */
#include "tests/unit/gce/neg_kit.h"

#include "common/base/clock.h"
#include "providers/gce/cache/gce_neg_mirror.h"
#include "providers/gce/groups/gce_node_cache.h"
#include "tests/support/unit.h"

#include <malloc.h>
#include <openssl/evp.h>

#define NODES    5000
#define SERVICES 500
#define ZONES    3

struct counts {
    unsigned judged;
    unsigned hashed;
};
static struct counts *counts(void)
{
    static struct counts all; /* there is no way to hand something to a wrapped function */
    return &all;
}

void __real_gce_node_judge(struct arena *a, const struct gce_node_filter *f,
                           const struct tt_node *n, struct gce_node_verdict *ret);
void __wrap_gce_node_judge(struct arena *a, const struct gce_node_filter *f,
                           const struct tt_node *n, struct gce_node_verdict *ret);
void __wrap_gce_node_judge(struct arena *a, const struct gce_node_filter *f,
                           const struct tt_node *n, struct gce_node_verdict *ret)
{
    counts()->judged++;
    __real_gce_node_judge(a, f, n, ret);
}

int __real_EVP_DigestFinal_ex(EVP_MD_CTX *c, unsigned char *md, unsigned int *n);
int __wrap_EVP_DigestFinal_ex(EVP_MD_CTX *c, unsigned char *md, unsigned int *n);
int __wrap_EVP_DigestFinal_ex(EVP_MD_CTX *c, unsigned char *md, unsigned int *n)
{
    counts()->hashed++;
    return __real_EVP_DigestFinal_ex(c, md, n);
}

/* ---- the cluster ----------------------------------------------------------------------------- */

struct world {
    struct arena *a;
    struct kit_nodes nodes;
    struct gce_node_filter filter;
    const struct tt_slice *slice;
    struct gce_neg_places *chosen; /* of each Service */
};

static void world_make(struct world *x, struct arena *a)
{
    *x = (struct world){.a = a,
                        .filter = {.default_subnet = "default", .needs_pod_cidr = true},
                        .slice = kit_slice(a, NULL, 0),
                        .chosen = ARENA_ARRAY(a, struct gce_neg_places, SERVICES)};
    x->nodes.items = ARENA_ARRAY(a, const struct tt_node *, NODES + 2);
    for (size_t i = 0; i < NODES; i++) {
        x->nodes.items[x->nodes.n++] = kit_node(
            a, (struct kit_node){.name = arena_printf(a, "gke-cluster-1-pool-1-%05zu", i),
                                 .zone = arena_printf(a, "us-central1-%c", (char)('a' + i % ZONES)),
                                 .ip = arena_printf(a, "10.0.%zu.%zu", i >> 8, i & 255)});
    }
}

/* All Services look at the nodes, as one sync after another does. */
static unsigned choose_all(struct world *x)
{
    unsigned changed = 0;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct gce_node_table *table =
        gce_node_table_make(a, &x->filter, x->nodes.items, x->nodes.n);
    for (size_t i = 0; i < SERVICES; i++) {
        _cleanup_(arena_freep) struct arena *own = arena_new();
        struct gce_neg_members got;
        const struct gce_neg_wish w = {
            .ns = "default",
            .name = arena_printf(own, "web-%zu", i),
            .internal = true,
            .filter = x->filter,
            .subnetwork = KIT_SUBNET_URL,
            .slices = &x->slice,
            .n_slices = 1,
            .table = table,
        };
        assert_int_equal(gce_neg_membership(own, &w, &x->chosen[i], &got, NULL), ERR_OK);
        const char *before = kit_places(own, &x->chosen[i], true);
        if (!str_eq(before, kit_places(own, &got.places, true))) {
            changed++;
            struct gce_neg_places *keep = &x->chosen[i];
            keep->n = got.places.n;
            keep->items = ARENA_ARRAY(x->a, struct gce_neg_place, keep->n);
            for (size_t k = 0; k < keep->n; k++) {
                const struct gce_neg_place *p = &got.places.items[k];
                keep->items[k] = (struct gce_neg_place){
                    .zone = arena_strdup(x->a, p->zone),
                    .subnet = arena_strdup(x->a, p->subnet),
                    .endpoints = ARENA_ARRAY(x->a, struct gce_endpoint, p->n),
                    .n = p->n};
                for (size_t e = 0; e < p->n; e++) {
                    keep->items[k].endpoints[e] = (struct gce_endpoint){
                        .instance = arena_strdup(x->a, p->endpoints[e].instance),
                        .ip = arena_strdup(x->a, p->endpoints[e].ip),
                        .ipv6 = ""};
                }
            }
        }
    }
    return changed;
}

static unsigned services_with(const struct world *x, const char *node)
{
    unsigned n = 0;
    for (size_t i = 0; i < SERVICES; i++) {
        for (size_t k = 0; k < x->chosen[i].n; k++) {
            for (size_t e = 0; e < x->chosen[i].items[k].n; e++) {
                n += str_eq(x->chosen[i].items[k].endpoints[e].instance, node);
            }
        }
    }
    return n;
}

static void gce_neg_membership__500_services_5000_nodes__a_node_costs_one_look_at_each(void **state)
{
    struct world x;
    world_make(&x, *state);
    *counts() = (struct counts){0};
    assert_int_equal(choose_all(&x), SERVICES);
    assert_int_equal(counts()->judged, NODES);
    assert_int_equal(counts()->hashed, NODES * SERVICES); /* the only time */

    /* A node joins; all subsets are full. */
    *counts() = (struct counts){0};
    x.nodes.items[x.nodes.n++] =
        kit_node(x.a, (struct kit_node){.name = "new", .zone = "us-central1-a", .ip = "10.1.0.1"});
    assert_int_equal(choose_all(&x), 0);
    assert_int_equal(counts()->judged, NODES + 1);
    assert_int_equal(counts()->hashed, 0);

    /* A member goes: who had it hashes the others of its zone, the others nothing. */
    const char *gone = x.chosen[0].items[0].endpoints[0].instance;
    unsigned had = services_with(&x, gone);
    size_t zone = 1; /* "new" */
    for (size_t i = 0; i < x.nodes.n; i++) {
        if (str_eq(x.nodes.items[i]->name, gone)) {
            x.nodes.items[i] = x.nodes.items[--x.nodes.n];
        }
    }
    for (size_t i = 0; i < x.nodes.n; i++) {
        zone += strstr(x.nodes.items[i]->provider_id, "us-central1-a") != NULL &&
                !str_eq(x.nodes.items[i]->name, "new");
    }
    *counts() = (struct counts){0};
    assert_int_equal(choose_all(&x), had);
    assert_in_range(had, 1, SERVICES / 10);
    assert_int_equal(counts()->judged, NODES);
    assert_int_equal(counts()->hashed, had * (zone - 7)); /* 7 of the zone's 8 were kept */
}

/* The same for instance groups: one look at each node for all Services, by ingress-gce's rule. */
static void gce_node_cache_groups__500_services__one_look_at_each_node(void **state)
{
    struct world x;
    struct gce_node_cache *c = gce_node_cache_new();
    world_make(&x, *state);
    struct gce_groups_ask ask = {
        .filter = &x.filter, .nodes = x.nodes.items, .n = x.nodes.n, .max = 1000};
    *counts() = (struct counts){0};
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < SERVICES; i++) {
            _cleanup_(arena_freep) struct arena *own = arena_new();
            const struct gce_groups_want *want = gce_node_cache_groups(c, own, &ask);
            assert_int_equal(want->n, ZONES);
            assert_int_equal(want->zones[0].nodes.n, 1000);
        }
        assert_int_equal(counts()->judged, NODES + turn * (NODES + 1));
        x.nodes.items[x.nodes.n++] =
            kit_node(x.a, (struct kit_node){.name = "new", .zone = "us-central1-a"});
        ask.n = x.nodes.n;
    }
    gce_node_cache_free(c);
}

/* Members of target pools: the very same until a node is another one or has another version. */
static void gce_node_cache_members__same_nodes__made_once(void **state)
{
    struct arena *a = *state;
    struct arena *kept = arena_new();
    struct gce_node_cache *c = gce_node_cache_new();
    const struct tt_node *nodes[3];
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        struct tt_node *n = ARENA_NEW(a, struct tt_node);
        *n = *kit_node(a, (struct kit_node){.name = arena_printf(a, "n%zu", i), .zone = "r-a"});
        n->flags = TT_NODE_ELIGIBLE;
        n->resource_version = "1";
        nodes[i] = n;
    }
    const struct gce_members *first = gce_node_cache_members(c, kept, nodes, 3, "p", "r");
    assert_int_equal(first->n_ids, 3);
    for (int i = 0; i < SERVICES; i++) {
        _cleanup_(arena_freep) struct arena *own = arena_new();
        assert_ptr_equal(gce_node_cache_members(c, own, nodes, 3, "p", "r"), first);
    }
    struct tt_node edited = *nodes[0];
    edited.resource_version = "2";
    edited.provider_id = "";
    nodes[0] = &edited;
    const struct gce_members *then = gce_node_cache_members(c, kept, nodes, 3, "p", "r");
    assert_int_equal(then->n_ids, 2);
    assert_int_equal(then->n_left_out, 1);
    assert_int_equal(first->n_ids, 3); /* its holder keeps it */
    arena_free(kept);
    gce_node_cache_free(c);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t live_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks;
}

/* 5,000 NEGs of 25: 4 bytes for each of their 125,000 members, the rest for 5,000 names of
 * NEGs and of nodes. */
static void gce_neg_mirror__5000_negs_of_25__two_megabytes(void **state)
{
    struct arena *a = *state;
    const size_t negs = 5000;
    const size_t nodes = 5000;
    struct gce_endpoint *all = ARENA_ARRAY(a, struct gce_endpoint, nodes);
    for (size_t i = 0; i < nodes; i++) {
        all[i] = (struct gce_endpoint){.instance = arena_printf(a, "gke-cluster-1-pool-1-%05zu", i),
                                       .ip = arena_printf(a, "10.0.%zu.%zu", i >> 8, i & 255),
                                       .ipv6 = ""};
    }
    const char **names = ARENA_ARRAY(a, const char *, negs);
    for (size_t i = 0; i < negs; i++) {
        names[i] = arena_printf(a, "k8s2-7kpbhpki-default-web-%05zu-xxxxxxxx", i);
    }
    size_t before = live_bytes();
    struct gce_neg_mirror *m = gce_neg_mirror_new(clock_real(), rng_real(), 600000);
    for (size_t i = 0; i < negs; i++) {
        struct gce_endpoint some[25];
        for (size_t k = 0; k < 25; k++) {
            some[k] = all[(i * 7 + k * 200) % nodes];
        }
        gce_neg_mirror_set(m, "us-central1-a", names[i], some, 25);
    }
    size_t used = live_bytes() - before;
    for (size_t i = 0; i < negs; i += 999) {
        struct gce_endpoint *got = NULL;
        size_t n = 0;
        bool due = true;
        assert_int_equal(gce_neg_mirror_get(m, "us-central1-a", names[i], a, &got, &n, &due),
                         GCE_MIRROR_KNOWN);
        assert_int_equal(n, 25);
    }
    gce_neg_mirror_free(m);
    print_message("# %zu NEGs of 25 nodes take %zu KiB\n", negs, used / 1024);
    if (before > 0) { /* a sanitizer's allocator counts nothing */
        assert_in_range(used, negs * 25 * 4, 2000 * 1024);
    }
}

UNIT_MAIN(neg_cost)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(gce_neg_membership__500_services_5000_nodes__a_node_costs_one_look_at_each),
        PURE_TEST(gce_node_cache_groups__500_services__one_look_at_each_node),
        PURE_TEST(gce_node_cache_members__same_nodes__made_once),
        PURE_TEST(gce_neg_mirror__5000_negs_of_25__two_megabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
