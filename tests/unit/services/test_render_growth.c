/* SPDX-License-Identifier: Apache-2.0 */
/* test_render_growth.c: how the rules of the three modes grow with the cluster: those of iptables
 * with every endpoint, those around IPVS's sets and on nftables' hooks not at all; memory grows no
 * faster than the cluster. */
#include <string.h>

#include "tests/support/unit.h"
#include "tests/unit/services/render_kit.h"

#define ENDPOINTS 5 /* of each Service */

struct counts {
    size_t iptables;     /* rules, both tables */
    size_t walked;       /* rules of KUBE-SERVICES in nat, which a packet walks one by one */
    size_t ipvs;         /* rules, both tables */
    size_t ipvs_entries; /* of all sets */
    size_t nft_hooks;    /* base chains */
    size_t nft_fixed;    /* rules that are not of a Service's chains */
    size_t nft_elements;
    size_t memory[3]; /* bytes: iptables, IPVS, nftables */
};

static size_t rules_of(const struct ks_tables *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_tables; i++) {
        for (size_t c = 0; c < t->tables[i].n_chains; c++) {
            n += t->tables[i].chains[c].n_rules;
        }
    }
    return n;
}

static void count_nft(const struct ks_lines *l, struct counts *ret)
{
    for (size_t i = 0; i < l->n; i++) {
        bool service = str_has_prefix(l->items[i], "add rule ip kube-proxy service-") &&
                       !str_has_prefix(l->items[i], "add rule ip kube-proxy service-endpoints");
        bool external = str_has_prefix(l->items[i], "add rule ip kube-proxy external-");
        ret->nft_hooks += str_glob("add chain *{ type *", l->items[i]);
        ret->nft_fixed += str_has_prefix(l->items[i], "add rule ") && !service && !external;
        ret->nft_elements += str_has_prefix(l->items[i], "add element ");
    }
}

static struct counts count(size_t services)
{
    struct counts n = {0};
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct ks_world *w = kit_many(a, services, ENDPOINTS);
    size_t before = arena_used(a);
    struct ks_tables t = ks_render_iptables(a, w);
    n.memory[0] = arena_used(a) - before;
    n.iptables = rules_of(&t);
    n.walked = t.tables[1].chains[0].n_rules;
    before = arena_used(a);
    struct ks_ipvs v = ks_render_ipvs(a, w);
    n.memory[1] = arena_used(a) - before;
    n.ipvs = rules_of(&v.tables);
    for (size_t i = 0; i < v.n_sets; i++) {
        n.ipvs_entries += v.sets[i].n_entries;
    }
    before = arena_used(a);
    struct ks_lines l = ks_render_nftables(a, w);
    n.memory[2] = arena_used(a) - before;
    count_nft(&l, &n);
    return n;
}

static void growth__twenty_thousand_services__cost_what_the_mode_says(void **state)
{
    static const size_t sizes[] = {100, 5000, 20000};
    struct counts c[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        c[i] = count(sizes[i]);
        print_message("# %zu Services: iptables %zu rules (%zu walked), ipvs %zu rules and %zu "
                      "entries, nftables %zu fixed rules and %zu elements; %zu, %zu, %zu kB\n",
                      sizes[i], c[i].iptables, c[i].walked, c[i].ipvs, c[i].ipvs_entries,
                      c[i].nft_fixed, c[i].nft_elements, c[i].memory[0] / 1000,
                      c[i].memory[1] / 1000, c[i].memory[2] / 1000);
    }
    const size_t fixed = c[0].iptables % sizes[0]; /* fewer than a hundred are always there */
    const size_t each = c[0].iptables / sizes[0];
    assert_in_range(each, 3 * ENDPOINTS, 3 * ENDPOINTS + 10);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(c[i].iptables, fixed + each * sizes[i]);
        assert_int_equal(c[i].walked, 1 + 2 * sizes[i]); /* cluster IP, load balancer; the last */
        assert_int_equal(c[i].ipvs, c[0].ipvs);
        assert_int_equal(c[i].nft_hooks, 8);
        assert_int_equal(c[i].nft_fixed, c[0].nft_fixed);
        assert_int_equal(c[i].ipvs_entries * sizes[0], c[0].ipvs_entries * sizes[i]);
        assert_int_equal(c[i].nft_elements * sizes[0], c[0].nft_elements * sizes[i]);
    }
    for (size_t m = 0; m < 3; m++) {
        assert_in_range(c[2].memory[m], 3 * c[1].memory[m], 5 * c[1].memory[m]);
    }
}

static size_t bytes_of(const struct ks_tables *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_tables; i++) {
        for (size_t c = 0; c < t->tables[i].n_chains; c++) {
            for (size_t r = 0; r < t->tables[i].chains[c].n_rules; r++) {
                n += strlen(t->tables[i].chains[c].rules[r]) + 1;
            }
        }
    }
    return n;
}

/* The buffers to read a rule with are used again for the next one. */
static void growth__saved_form__takes_the_memory_of_its_text(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct ks_world *w = kit_many(a, 1000, ENDPOINTS);
    struct ks_tables t = ks_render_iptables(a, w);
    size_t before = arena_used(a);
    struct ks_tables saved = ks_iptables_saved(a, &t, KS_IPV4);
    size_t memory = arena_used(a) - before;
    (void)state;
    assert_int_equal(rules_of(&saved), rules_of(&t));
    assert_in_range(memory, bytes_of(&saved), 2 * bytes_of(&saved));
}

/* One Service with as many endpoints as slices may list. */
static void growth__twenty_thousand_endpoints__take_linear_memory(void **state)
{
    size_t memory[2][3];
    static const size_t sizes[] = {5000, 20000};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        const struct ks_world *w = kit_many(a, 1, sizes[i]);
        size_t before = arena_used(a);
        struct ks_tables t = ks_render_iptables(a, w);
        memory[i][0] = arena_used(a) - before;
        before = arena_used(a);
        struct ks_ipvs v = ks_render_ipvs(a, w);
        memory[i][1] = arena_used(a) - before;
        before = arena_used(a);
        struct ks_lines l = ks_render_nftables(a, w);
        memory[i][2] = arena_used(a) - before;
        assert_int_equal(w->ports[0].n_endpoints, sizes[i]);
        assert_in_range(rules_of(&t), 3 * sizes[i], 3 * sizes[i] + 20);
        assert_int_equal(v.servers[0].n_real, sizes[i]);
        assert_in_range(l.n, 50, 80);
    }
    for (size_t m = 0; m < 3; m++) {
        assert_in_range(memory[1][m], 3 * memory[0][m], 5 * memory[0][m]);
    }
}

UNIT_MAIN(render_growth)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth__twenty_thousand_services__cost_what_the_mode_says),
        cmocka_unit_test(growth__saved_form__takes_the_memory_of_its_text),
        cmocka_unit_test(growth__twenty_thousand_endpoints__take_linear_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
