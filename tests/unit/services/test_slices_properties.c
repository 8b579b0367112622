/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices_properties.c: what holds of every pass, over random worlds with a fixed seed, and one
 * large Service. */
#include "tests/unit/services/slices_scene.h"

#include <stdio.h>

#include "common/base/map.h"

static uint32_t random_state;

static uint32_t roll(uint32_t sides)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % sides;
}

/* ---- random worlds --------------------------------------------------------------------------- */

static const char *random_nodes(struct arena *a)
{
    struct str_buf b = STR_BUF_INIT;
    size_t zones = 1 + roll(4), n = 1 + roll(8);
    bool broken = roll(8) == 0;
    for (size_t i = 0; i < n; i++) {
        const char *zone =
            broken && roll(3) == 0 ? "-" : arena_printf(a, "zone-%u", roll((uint32_t)zones));
        str_appendf(&b, "n%zu %s %u00m%s;", i, zone, 1 + roll(90), roll(9) == 0 ? " notready" : "");
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static void append_pod(struct str_buf *b, size_t number)
{
    static const char *const flags[] = {"r", "r", "r", "r", "-", "t", "rt", "f"};
    static const char *const ports[] = {"", "", "", "", " 9090", " none"};
    char v6[32];
    snprintf(v6, sizeof(v6), ",fd00::%zx", number + 1);
    str_appendf(b, "p%03zu 10.0.%zu.%zu%s n%u %s%s;", number, number / 250, number % 250,
                roll(3) == 0 ? "" : v6, roll(9), flags[roll(8)], ports[roll(6)]);
}

/* A world with slices that hold some pods already, perhaps wrongly. */
static struct scene random_scene(struct arena *a)
{
    static const char *const meta[] = {
        "", ", 'annotations': {'service.kubernetes.io/topology-mode': 'Auto'}"};
    static const char *const spec[] = {"", ", 'trafficDistribution': 'PreferSameNode'",
                                       ", 'ipFamilies': ['IPv4', 'IPv6']",
                                       ", 'publishNotReadyAddresses': true"};
    struct str_buf pods = STR_BUF_INIT, slices = STR_BUF_INIT;
    size_t n = roll(30);
    for (size_t i = 0; i < n; i++) {
        append_pod(&pods, i);
    }
    size_t n_slices = roll(6);
    for (size_t i = 0; i < n_slices; i++) {
        str_appendf(&slices, "s%zu%s%s%s:", i, roll(9) == 0 ? " foreign" : "",
                    roll(5) == 0 ? " port=9090" : "", roll(9) == 0 ? " label=x" : "");
        for (size_t k = roll(8); k > 0; k--) {
            str_appendf(&slices, " p%03u%s%s", roll(40), roll(6) == 0 ? "*" : "",
                        roll(3) == 0 ? ">zone-0" : "");
        }
        str_append(&slices, ";");
    }
    struct scene s = scene_of(a, service_with(a, meta[roll(2)], spec[roll(4)]), random_nodes(a),
                              str_buf_text(&pods), str_buf_text(&slices));
    s.max = 1 + roll(8);
    s.hints_before = roll(2) == 0;
    str_buf_done(&pods);
    str_buf_done(&slices);
    return s;
}

/* ---- what holds ------------------------------------------------------------------------------ */

/* Each pod that counts is in exactly one slice of the family, and nothing else is. */
static void check_complete(const struct scene *s, const char *type, enum ks_family family)
{
    struct map *seen = map_new(NULL);
    size_t found = 0, wanted = 0;
    for (size_t i = 0; i < s->slices.n; i++) {
        const struct ks_slice *slice = s->slices.items[i];
        for (size_t k = 0; k < slice->n_endpoints && str_eq(slice->address_type, type); k++) {
            assert_false(map_has(seen, slice->endpoints[k].ref->name));
            map_set(seen, slice->endpoints[k].ref->name, NULL);
            found++;
        }
    }
    for (size_t i = 0; i < s->pods.n; i++) {
        const struct ks_pod *pod = s->pods.items[i];
        const struct ks_slice_endpoint e = ks_pod_endpoint(s->a, s->service, pod, NULL, family);
        if (ks_pod_counts(pod, true) && e.n_addresses > 0 &&
            (scene_node(s, pod->node_name) != NULL || s->service->publish_not_ready)) {
            assert_true(map_has(seen, pod->meta.name));
            wanted++;
        }
    }
    assert_int_equal(found, wanted);
    map_free(seen);
}

static void check_sizes(const struct scene *s, const struct ks_slice_pass *p)
{
    const struct ks_slice *const lists[] = {p->create, p->update};
    const size_t sizes[] = {p->n_create, p->n_update};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < sizes[l]; i++) {
            size_t was = 0;
            for (size_t k = 0; k < s->slices.n; k++) {
                bool same = str_eq(s->slices.items[k]->meta.name, lists[l][i].meta.name);
                was = same ? s->slices.items[k]->n_endpoints : was;
            }
            size_t limit = was > s->max ? was : s->max;
            assert_true(lists[l][i].n_endpoints <= limit);
        }
    }
}

/* True when hints for a zone are such that its slices are never right: no counted node is there, or
 * it kept more than its maximum when exchanging stopped. */
static bool is_never_right(const struct scene *s, const struct ks_zone_counts *counts)
{
    const struct ks_zone_shares shares = ks_zone_shares(s->a, s->nodes.items, s->nodes.n);
    const struct ks_allocation *zones;
    int64_t all = 0;
    for (size_t i = 0; i < counts->n; i++) {
        all += counts->zones[i].hints;
    }
    if (counts->n == 0 || ks_allocate(s->a, &shares, all, &zones) != KS_HINTS_FINE) {
        return false;
    }
    for (size_t i = 0; i < counts->n; i++) {
        bool fits = false;
        for (size_t k = 0; k < shares.n; k++) {
            fits = fits || (str_eq(zones[k].zone, counts->zones[i].zone) &&
                            counts->zones[i].hints <= zones[k].maximum);
        }
        if (!fits) {
            return true;
        }
    }
    return false;
}

/* True when the pass writes the same slices again and again, as upstream does: besides, when an
 * endpoint without a zone is found after slices were taken for wrong. */
static bool writes_for_ever(const struct scene *s, const struct ks_slice_pass *p)
{
    return p->hints_off_ipv4 == KS_HINTS_NO_ZONE || p->hints_off_ipv6 == KS_HINTS_NO_ZONE ||
           is_never_right(s, &p->hints_ipv4) || is_never_right(s, &p->hints_ipv6);
}

static void pass__any_world__complete_and_settled(void **state)
{
    random_state = 1;
    size_t settled = 0;
    for (size_t round = 0; round < 600; round++) {
        arena_reset(*state);
        struct scene s = random_scene(*state);
        struct ks_slice_pass p = scene_pass(&s);
        check_sizes(&s, &p);
        scene_apply(&s, &p);
        check_complete(&s, "IPv4", KS_IPV4);
        if (s.service->n_ip_families == 2) {
            check_complete(&s, "IPv6", KS_IPV6);
        }
        const struct ks_slice_pass again = scene_pass(&s);
        const char *text = pass_text(*state, &again);
        if (!writes_for_ever(&s, &again)) {
            assert_string_equal(text, "");
            settled++;
        }
        assert_int_equal(again.n_create + again.n_remove, 0);
        scene_apply(&s, &again);
        p = scene_pass(&s);
        assert_string_equal(pass_text(*state, &p), text); /* nothing but what was written before */
    }
    assert_true(settled > 400);
}

static void shuffle(const void **items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = roll((uint32_t)i);
        const void *was = items[i - 1];
        items[i - 1] = items[k];
        items[k] = was;
    }
}

static void pass__any_order__same_answer(void **state)
{
    random_state = 2;
    for (size_t round = 0; round < 200; round++) {
        arena_reset(*state);
        struct scene s = random_scene(*state);
        const struct ks_slice_pass p = scene_pass(&s);
        const char *text = pass_text(*state, &p);
        shuffle((const void **)s.pods.items, s.pods.n);
        shuffle((const void **)s.nodes.items, s.nodes.n);
        shuffle((const void **)s.slices.items, s.slices.n);
        const struct ks_slice_pass q = scene_pass(&s);
        assert_string_equal(pass_text(*state, &q), text);
        assert_string_equal(events_text(*state, q.events, q.n_events),
                            events_text(*state, p.events, p.n_events));
    }
}

static void pass__one_more_pod__two_slices_at_most(void **state)
{
    random_state = 3;
    for (size_t round = 0; round < 200; round++) {
        arena_reset(*state);
        struct scene s = random_scene(*state);
        s.service = service_with(*state, "", "");
        struct ks_slice_pass p = scene_pass(&s);
        scene_apply(&s, &p);
        struct pod_list more = {.items = ARENA_ARRAY(*state, const struct ks_pod *, s.pods.n + 1)};
        for (size_t i = 0; i < s.pods.n; i++) {
            more.items[more.n++] = s.pods.items[i];
        }
        char new_pod[] = "p999 10.1.1.1 n0 r";
        more.items[more.n++] = pod_of(*state, new_pod);
        s.pods = more;
        p = scene_pass(&s);
        assert_true(p.n_create + p.n_update + p.n_remove <= 2);
    }
}

/* Hints of a whole new Service: they add up, and no two zones could still exchange one.  A zone may
 * all the same miss its minimum (test_topology_hints.c has such a Service). */
static void pass__new_hints__all_exchanged(void **state)
{
    random_state = 4;
    size_t on = 0;
    for (size_t round = 0; round < 300; round++) {
        arena_reset(*state);
        struct str_buf pods = STR_BUF_INIT;
        size_t n = 2 + roll(40), nodes = 2 + roll(4);
        for (size_t i = 0; i < n; i++) {
            str_appendf(&pods, "p%03zu 10.0.0.%zu n%u r;", i, i + 1, roll((uint32_t)nodes));
        }
        struct str_buf text = STR_BUF_INIT;
        for (size_t i = 0; i < nodes; i++) {
            str_appendf(&text, "n%zu zone-%zu %u;", i, i, 1 + roll(3));
        }
        struct scene s = scene_of(
            *state,
            service_with(*state, ", 'annotations': {'service.kubernetes.io/topology-mode': 'Auto'}",
                         ""),
            str_buf_text(&text), str_buf_text(&pods), "");
        str_buf_done(&pods);
        str_buf_done(&text);
        const struct ks_slice_pass p = scene_pass(&s);
        const struct ks_zone_shares shares = ks_zone_shares(*state, s.nodes.items, s.nodes.n);
        const struct ks_allocation *zones;
        enum ks_hints_off off = ks_allocate(*state, &shares, (int64_t)n, &zones);
        assert_int_equal(p.hints_off_ipv4, off);
        int64_t have[8], give[8], receive[8], all = 0;
        for (size_t i = 0; i < shares.n && off == KS_HINTS_FINE; i++) {
            have[i] = p.hints_ipv4.zones[i].hints;
            all += have[i];
        }
        if (off == KS_HINTS_FINE) {
            assert_int_equal(all, n);
            ks_give_receive(*state, zones, shares.n, have, give, receive);
            for (size_t i = 0; i < shares.n; i++) {
                assert_int_equal(give[i] + receive[i], 0);
            }
            on++;
        }
    }
    assert_true(on > 50);
}

static void pass__large_service__whole(void **state)
{
    enum { PODS = 20000, NODES = 5000 };
    struct scene s = scene_of(
        *state,
        service_with(*state, ", 'annotations': {'service.kubernetes.io/topology-mode': 'Auto'}",
                     ""),
        "", "", "");
    s.nodes.items = ARENA_ARRAY(*state, const struct ks_node *, NODES);
    s.pods.items = ARENA_ARRAY(*state, const struct ks_pod *, PODS);
    for (size_t i = 0; i < NODES; i++) {
        char *text = arena_printf(*state, "node-%04zu zone-%zu 3920m", i, i % 3);
        s.nodes.items[s.nodes.n++] = nodes_of(*state, text).items[0];
    }
    for (size_t i = 0; i < PODS; i++) {
        char *text = arena_printf(*state, "p%05zu 10.%zu.%zu.%zu node-%04zu r", PODS - i, i / 62500,
                                  i / 250 % 250, i % 250, i % NODES);
        s.pods.items[s.pods.n++] = pod_of(*state, text);
    }
    struct ks_slice_pass p = scene_pass(&s);
    assert_int_equal(p.n_create, PODS / 100);
    assert_true(p.hints_on);
    scene_apply(&s, &p);
    p = scene_pass(&s);
    assert_int_equal(p.n_create + p.n_update + p.n_remove + p.n_events, 0);
}

UNIT_MAIN(slices_properties)
{
    const struct CMUnitTest tests[] = {
        slices_test(pass__any_world__complete_and_settled),
        slices_test(pass__any_order__same_answer),
        slices_test(pass__one_more_pod__two_slices_at_most),
        slices_test(pass__new_hints__all_exchanged),
        slices_test(pass__large_service__whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
