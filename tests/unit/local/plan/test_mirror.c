/* SPDX-License-Identifier: Apache-2.0 */
/* test_mirror.c: the mirror in random lives, against arrays; and what it keeps of
 * many addresses, in bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/keep.h"
#include "common/base/str.h"
#include "providers/local/plan/mirror.h"
#include "tests/support/unit.h"

#define STEPS   20000
#define VIPS    3
#define PORTS   3
#define RANGES  4
#define TARGETS 5

/* ---- a random life --------------------------------------------------------------------------- */

/* A frontend as it is to be: what the mirror says of it must be the same. */
struct model_front {
    struct model_map {
        uint16_t m;
        bool hash;
        uint8_t slots[256]; /* 1 + number of the target; 0: none */
    } maps[2];              /* the second one while it moves */
    bool snat, all;
    bool open[RANGES], also[RANGES];
    bool served;
    uint16_t weights[TARGETS]; /* of destinations, + 1; 0: none */
};
struct model_vip {
    struct ip_addr addr;
    bool guarded, held;
    char comment[16];
    struct model_front fronts[PORTS];
};
struct life {
    struct rng *rng;
    struct local_mirror *m;
    struct model_vip vips[VIPS];
};

static struct ip_addr target_at(const struct ip_addr *vip, unsigned i)
{
    struct ip_addr addr = *vip;

    addr.bytes[addr.len - 1] = (uint8_t)(100 + i);
    return addr;
}

static struct ip_net range_at(const struct ip_addr *vip, unsigned i)
{
    struct ip_net net = {.addr.len = vip->len, .prefix = (uint8_t)(8 * i)};

    net.addr.bytes[0] = (uint8_t)(i == 0 ? 0 : 200 + i);
    return net;
}

static struct local_frontend_id id_of(const struct model_vip *v, unsigned port)
{
    return (struct local_frontend_id){.vip = v->addr,
                                      .protocol = port % 2 == 0 ? LOCAL_TCP : LOCAL_UDP,
                                      .port = (uint16_t)(80 + port / 2)};
}

static bool has_slots(const struct model_map *map)
{
    for (unsigned i = 0; i < map->m; i++) {
        if (map->slots[i] != 0) {
            return true;
        }
    }
    return false;
}

/* Of a frontend in two maps the first one lives as long as it has a slot; a third one takes the
 * place of the second. */
static void model_slot(struct model_front *f, const struct local_nft_element *e, uint8_t value)
{
    struct model_map *map = f->maps;

    while (map < f->maps + 2 && (map->m != e->m || map->hash != e->hash)) {
        map++;
    }
    if (map == f->maps + 2 && value == 0) {
        return;
    }
    if (map == f->maps + 2) {
        map = &f->maps[f->maps[0].m != 0];
        *map = (struct model_map){.m = e->m, .hash = e->hash};
    }
    map->slots[e->slot] = value;
    if (!has_slots(map)) {
        *map = (struct model_map){.m = 0};
    }
    if (f->maps[0].m == 0) {
        f->maps[0] = f->maps[1];
        f->maps[1] = (struct model_map){.m = 0};
    }
}

static void change_slot(struct life *l, struct model_vip *v, unsigned port, bool gone)
{
    static const uint16_t sizes[] = {4, 16, 64, 256};
    struct model_front *f = &v->fronts[port];
    const struct model_map *map = &f->maps[rng_below(l->rng, 2)];
    bool other = rng_below(l->rng, 20) == 0 || map->m == 0;
    uint16_t m = other ? sizes[rng_below(l->rng, 4)] : map->m;
    bool hash = other ? rng_below(l->rng, 2) == 0 : map->hash;
    unsigned target = (unsigned)rng_below(l->rng, TARGETS);
    const struct local_nft_element e = {.set = LOCAL_NFT_SLOT,
                                        .id = id_of(v, port),
                                        .m = m,
                                        .hash = hash,
                                        .slot = (uint16_t)rng_below(l->rng, m),
                                        .target = target_at(&v->addr, target),
                                        .target_port = (uint16_t)(1000 + target)};

    local_mirror_element(l->m, &e, gone);
    model_slot(f, &e, (uint8_t)(gone ? 0 : target + 1));
}

static void change_dest(struct life *l, struct model_vip *v, unsigned port, bool gone)
{
    struct model_front *f = &v->fronts[port];
    unsigned target = (unsigned)rng_below(l->rng, TARGETS);
    struct local_ipvs_change c = {.what = gone ? LOCAL_IPVS_DEL_DEST : LOCAL_IPVS_ADD_DEST,
                                  .service = {.id = id_of(v, port)},
                                  .dest = {.addr = target_at(&v->addr, target),
                                           .port = 80,
                                           .weight = (uint16_t)rng_below(l->rng, 3)}};

    if (!f->served || rng_below(l->rng, 30) == 0) {
        c.what = f->served ? LOCAL_IPVS_DEL_SERVICE : LOCAL_IPVS_ADD_SERVICE;
        f->served = !f->served;
        memset(f->weights, 0, sizeof f->weights);
    } else {
        f->weights[target] = gone ? 0 : (uint16_t)(c.dest.weight + 1);
    }
    local_mirror_ipvs_change(l->m, &c, 5);
}

static void change_vip(struct life *l, struct model_vip *v, bool gone)
{
    struct local_nft_element e = {.set = LOCAL_NFT_VIP, .id.vip = v->addr};

    if (rng_below(l->rng, 2) == 0) {
        local_mirror_hold(l->m, &v->addr, LOCAL_ROUTE_HOLD, 0, gone);
        v->held = !gone;
        return;
    }
    (void)snprintf(v->comment, sizeof v->comment, "d/s%u", (unsigned)rng_below(l->rng, 3));
    v->comment[gone ? 0 : sizeof v->comment - 1] = '\0';
    e.comment = v->comment;
    local_mirror_element(l->m, &e, gone);
    v->guarded = !gone;
}

static void forget(struct life *l, struct model_vip *v)
{
    local_mirror_forget(l->m, &v->addr);
    v->guarded = false;
    v->comment[0] = '\0';
    for (unsigned i = 0; i < PORTS; i++) {
        struct model_front *f = &v->fronts[i];
        memset(f->maps, 0, sizeof f->maps);
        f->snat = f->all = false;
        memset(f->open, 0, sizeof f->open);
        memset(f->also, 0, sizeof f->also);
    }
}

static void step(struct life *l)
{
    struct model_vip *v = &l->vips[rng_below(l->rng, VIPS)];
    unsigned port = (unsigned)rng_below(l->rng, PORTS);
    struct model_front *f = &v->fronts[port];
    bool gone = rng_below(l->rng, 2) == 0;
    unsigned range = (unsigned)rng_below(l->rng, RANGES);
    struct local_nft_element e = {.id = id_of(v, port), .net = range_at(&v->addr, range)};

    switch (rng_below(l->rng, 8)) {
    case 7:
        e.set = LOCAL_NFT_ALSO;
        local_mirror_element(l->m, &e, gone);
        f->also[range] = !gone;
        break;
    case 6:
        e.set = LOCAL_NFT_ALL;
        local_mirror_element(l->m, &e, gone);
        f->all = !gone;
        break;
    case 0:
        e.set = LOCAL_NFT_FROM;
        local_mirror_element(l->m, &e, gone);
        f->open[range] = !gone;
        break;
    case 1:
        e.set = LOCAL_NFT_SNAT;
        local_mirror_element(l->m, &e, gone);
        f->snat = !gone;
        break;
    case 2:
        change_dest(l, v, port, gone);
        break;
    case 3:
        if (rng_below(l->rng, 10) == 0) {
            forget(l, v);
        } else {
            change_vip(l, v, gone);
        }
        break;
    default:
        change_slot(l, v, port, gone);
    }
}

static const struct local_front *front_in(const struct local_mirror_vip *v,
                                          const struct local_frontend_id *id)
{
    for (size_t i = 0; v != NULL && i < v->n_fronts; i++) {
        if (local_frontend_cmp(&v->fronts[i].id, id) == 0) {
            return &v->fronts[i];
        }
    }
    return NULL;
}

static void check_ipvs(const struct model_vip *v, const struct model_front *f,
                       const struct local_ipvs_front *is)
{
    size_t n = 0;

    assert_int_equal(f->served, is->served);
    for (unsigned i = 0; i < TARGETS; i++) {
        const struct local_ipvs_dest d = {.addr = target_at(&v->addr, i), .port = 80};
        const struct local_ipvs_real *real = local_ipvs_find(is, &d);
        assert_int_equal(f->weights[i], real == NULL ? 0 : real->dest.weight + 1);
        n += real != NULL;
    }
    assert_int_equal(n, is->n_reals);
}

static void check_slots(const struct model_vip *v, const struct model_map *map,
                        const struct local_dest *is)
{
    for (unsigned i = 0; i < map->m; i++) {
        struct ip_addr want = target_at(&v->addr, map->slots[i] - 1u);
        assert_int_equal(map->slots[i] != 0, is[i].addr.len != 0);
        assert_true(map->slots[i] == 0 ||
                    (ip_eq(&want, &is[i].addr) && is[i].port == 1000 + map->slots[i] - 1));
    }
}

static void check_front(const struct model_vip *v, unsigned port, const struct local_front *is)
{
    const struct model_front *f = &v->fronts[port];
    size_t n = 0;

    assert_int_equal(f->snat, is->snat);
    assert_int_equal(f->all, is->all);
    assert_int_equal(f->maps[0].m, is->m);
    assert_int_equal(f->maps[0].hash, is->hash);
    assert_int_equal(f->maps[1].m, is->other_m);
    assert_int_equal(f->maps[1].hash, is->other_hash);
    check_slots(v, &f->maps[0], is->slots);
    check_slots(v, &f->maps[1], is->other_slots);
    for (unsigned i = 0; i < RANGES; i++) {
        struct ip_net net = range_at(&v->addr, i);
        assert_true(!f->open[i] || ip_net_eq(&net, &is->open[n]));
        n += f->open[i];
    }
    assert_int_equal(n, is->n_open);
    n = 0;
    for (unsigned i = 0; i < RANGES; i++) {
        struct ip_net net = range_at(&v->addr, i);
        assert_true(!f->also[i] || ip_net_eq(&net, &is->also[n]));
        n += f->also[i];
    }
    assert_int_equal(n, is->n_also);
    check_ipvs(v, f, &is->ipvs);
}

static bool is_there(const struct model_front *f)
{
    bool open = f->all;

    for (unsigned i = 0; i < RANGES; i++) {
        open = open || f->open[i] || f->also[i];
    }
    return open || f->maps[0].m > 0 || f->snat || f->served;
}

static void check(struct life *l)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();

    for (size_t i = 0; i < VIPS; i++) {
        const struct model_vip *v = &l->vips[i];
        const struct local_mirror_vip *is = local_mirror_vip(l->m, a, &v->addr);
        size_t n = 0;
        for (unsigned k = 0; k < PORTS; k++) {
            const struct local_frontend_id id = id_of(v, k);
            const struct local_front *f = front_in(is, &id);
            const struct local_front alone = local_mirror_front(l->m, a, &id);
            assert_int_equal(is_there(&v->fronts[k]), f != NULL);
            assert_int_equal(local_frontend_cmp(&alone.id, &id), 0);
            check_front(v, k, &alone);
            if (f != NULL) {
                check_front(v, k, f);
                n++;
            }
        }
        assert_int_equal(n > 0 || v->guarded || v->held, is != NULL);
        if (is != NULL) {
            assert_int_equal(n, is->n_fronts);
            assert_int_equal(v->guarded, is->vip.guarded);
            assert_int_equal(v->held, is->vip.held);
            assert_true(str_eq(v->guarded ? v->comment : NULL, is->vip.comment));
        }
    }
}

static void mirror__random_life__as_arrays(void **state)
{
    static const char *const vips[VIPS] = {"10.0.0.1", "10.0.0.2", "fd00::1"};
    struct life *l = xcalloc(1, sizeof *l);

    (void)state;
    l->rng = rng_seeded_new(23);
    l->m = local_mirror_new(NULL);
    for (size_t i = 0; i < VIPS; i++) {
        assert_true(ip_parse(vips[i], &l->vips[i].addr));
    }
    for (unsigned i = 0; i < STEPS; i++) {
        step(l);
        check(l);
    }
    local_mirror_free(l->m);
    rng_free(l->rng);
    free(l);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

#define MANY 5000

static void element(struct local_mirror *m, const struct ip_addr *vip, enum local_nft_set set,
                    unsigned i)
{
    char comment[32];
    struct local_nft_element e = {.set = set,
                                  .id = {.vip = *vip, .protocol = LOCAL_TCP, .port = 80},
                                  .net.addr.len = vip->len,
                                  .m = 4,
                                  .slot = (uint16_t)i,
                                  .target = target_at(vip, i),
                                  .target_port = 30000,
                                  .comment = comment};

    (void)snprintf(comment, sizeof comment, "default/s%02x%02x", vip->bytes[2], vip->bytes[3]);
    local_mirror_element(m, &e, false);
}

/* A look compares each frontend with what it should be. */
static void mirror__address_with_many_ports__each_is_read_alone(void **state)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct local_mirror *m = local_mirror_new(NULL);
    struct ip_addr vip = {.bytes = {10}, .len = 4};
    struct local_frontend_id id = {.vip = vip, .protocol = LOCAL_TCP};
    const unsigned slots = 256;

    (void)state;
    for (id.port = 1; id.port <= 100; id.port++) {
        for (unsigned i = 0; i < slots; i++) {
            struct local_nft_element e = {.set = LOCAL_NFT_SLOT,
                                          .id = id,
                                          .m = 256,
                                          .slot = (uint16_t)i,
                                          .target = target_at(&vip, i),
                                          .target_port = 30000};
            local_mirror_element(m, &e, false);
        }
    }
    for (id.port = 1; id.port <= 100; id.port++) {
        assert_int_equal(local_mirror_front(m, a, &id).m, slots);
    }
    assert_true(arena_used(a) < 2 * 100 * slots * sizeof(struct local_dest));
    local_mirror_free(m);
}

static void count_vip(void *arg, const struct local_mirror_vip *v)
{
    (void)v;
    ++*(size_t *)arg;
}

static size_t count_vips(const struct local_mirror *m)
{
    size_t n = 0;
    local_mirror_each(m, count_vip, &n);
    return n;
}

/* Four targets, open for all.  A sanitizer's malloc counts nothing here. */
static void mirror__many_addresses__few_bytes_each(void **state)
{
    struct local_mirror *m = local_mirror_new(NULL);
    size_t before = mallinfo2().uordblks + keep_used();
    struct ip_addr vip = {.bytes = {10}, .len = 4};

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        vip.bytes[2] = (uint8_t)(i >> 8);
        vip.bytes[3] = (uint8_t)i;
        element(m, &vip, LOCAL_NFT_VIP, 0);
        element(m, &vip, LOCAL_NFT_ALL, 0);
        for (unsigned k = 0; k < 4; k++) {
            element(m, &vip, LOCAL_NFT_SLOT, k);
        }
        local_mirror_hold(m, &vip, LOCAL_ROUTE_HOLD, 0, false);
    }
    size_t bytes = (mallinfo2().uordblks + keep_used() - before) / MANY;
    assert_int_equal(MANY, count_vips(m));
    assert_in_range(bytes, 0, 195); /* 170 without its name, of which the provider has one */
    print_message("# an address with four slots: %zu bytes\n", bytes);
    local_mirror_free(m);
}

UNIT_MAIN(mirror)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirror__random_life__as_arrays),
        cmocka_unit_test(mirror__address_with_many_ports__each_is_read_alone),
        cmocka_unit_test(mirror__many_addresses__few_bytes_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
