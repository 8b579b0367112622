/* SPDX-License-Identifier: Apache-2.0 */
/* test_storm.c: Services come, change, share, move and go in any order, among them faults of the kernel, others who write, and
 * restarts; now and then all settles.  Then nothing is planned any more, and the kernel has the addresses of the statuses and no other. */
#include "tests/unit/local/flow/flow_kit.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define STORMS 60
#define BLOWS  24

static const char *const words[] = {
    "",
    "share=k ports=8%d/TCP/30080",
    "share=k ports=8%d/UDP/30080 ranges=192.0.2.0/24",
    "ask=10.0.0.%d",
    "fam=46",
    "fam=6 ports=8%d/TCP/30080,53/UDP/30053",
    "affinity ranges=192.0.2.0/24,2001:db8::/32",
    "type=ClusterIP",
    "ports=80/TCP/3008%d",
};
static const char *const others[] = {
    "restart",        "restart",           "nodes n1 n2",
    "nodes n2 n3 n4", "nodes n1",          "foreign guard",
    "foreign open",   "foreign slots",     "foreign bump",
    "foreign flush",  "lose %d",           "refuse transient %d",
    "refuse auth %d", "refuse invalid %d", "kill %d; sync; sync; restart",
};

static void blow(struct flow_kit *k)
{
    unsigned what = (unsigned)rng_below(k->rng, 10);
    int number = (int)rng_below(k->rng, 6);
    const char *key = arena_printf(k->a, "d/%c", (int)('a' + rng_below(k->rng, 5)));
    struct kit_service *s = flow_world_service(k, key);

    k->conflicts = true;
    if (what < 4 && !s->deleting) {
        const char *w = str_replace(k->a, words[rng_below(k->rng, ARRAY_LEN(words))], "%d",
                                    arena_printf(k->a, "%d", s->key[2] - 'a'));
        (void)flow_kit_run(k,
                           arena_printf(k->a, "svc %s %s created=%d", key, w, s->key[2] - 'a' + 1));
    } else if (what < 6 && s->made && !s->gone) {
        (void)flow_kit_run(k, arena_printf(k->a, "delete %s", key));
    } else if (what < 8) {
        (void)flow_kit_run(k,
                           rng_below(k->rng, 2) == 0 ? "sync" : arena_printf(k->a, "sync %s", key));
    } else {
        (void)flow_kit_run(k, str_replace(k->a, others[rng_below(k->rng, ARRAY_LEN(others))], "%d",
                                          arena_printf(k->a, "%d", number * 4 + 1)));
    }
}

/* Every address of the kernel is in the status of a Service, and the other way round. */
static const char *strays(struct flow_kit *k)
{
    const char *state = flow_kit_state(k);

    for (size_t i = 0; i < k->n_services; i++) {
        size_t n = 0;
        char **addrs = str_split(k->a, k->services[i].status, ' ', &n);
        for (size_t j = 0; j < n && !k->services[i].gone; j++) {
            const char *at = arena_printf(k->a, "%s[", addrs[j]);
            if (*addrs[j] != '\0' && strstr(state, at) == NULL) {
                return arena_printf(k->a, "%s of %s is missing", addrs[j], k->services[i].key);
            }
        }
    }
    for (const char *at = state; *at != '\0'; at = strstr(at, "; ") + 2) {
        const char *addr = arena_strndup(k->a, at, strcspn(at, "["));
        bool found = false;
        for (size_t i = 0; i < k->n_services; i++) {
            const struct kit_service *s = &k->services[i];
            size_t n = 0;
            char **addrs = str_split(k->a, s->status, ' ', &n);
            for (size_t j = 0; j < n && s->made && !s->gone; j++) {
                found = found || str_eq(addrs[j], addr);
            }
        }
        if (!found) {
            return arena_printf(k->a, "%s is left over", addr);
        }
    }
    return NULL;
}

/* Wishes that contradict each other fail for ever, and change nothing. */
static bool settle(struct flow_kit *k)
{
    for (int i = 0; i < 9; i++) {
        unsigned writes = k->writes;
        flow_kit_sync(k, NULL, 0);
        if (!k->moved && writes == k->writes) {
            return true;
        }
    }
    return false;
}

static bool storm(unsigned seed)
{
    static struct flow_kit k;

    flow_kit_begin(&k);
    rng_free(k.rng);
    k.rng = rng_seeded_new(seed);
    for (unsigned i = 0; i < BLOWS && !k.broken; i++) {
        blow(&k);
    }
    str_buf_reset(&k.out);
    (void)flow_kit_run(&k, "well; sync");
    bool settled = settle(&k);
    bool refused =
        k.failures > 0; /* what is refused keeps what it has, even what others made of it */
    str_buf_reset(&k.out);
    const char *said = flow_kit_run(&k, "check; left");
    const char *stray = strays(&k);
    uint32_t planned = flow_kit_second_plan(&k);
    bool clean = !k.broken && strstr(said, "BROKEN") == NULL && strstr(said, "left(") == NULL &&
                 stray == NULL && planned == 0;
    bool well = settled && (clean || refused);
    if (!well) {
        print_error("seed %u: %u are planned; %s; %s\n  %s\n", seed, planned,
                    str_or(stray, "no strays"), said, flow_kit_state(&k));
    }
    flow_kit_end(&k);
    return well;
}

static void storms(void **state)
{
    unsigned failed = 0;

    (void)state;
    for (unsigned seed = 1; seed <= STORMS; seed++) {
        failed += !storm(seed);
    }
    assert_int_equal(failed, 0);
}

UNIT_MAIN(storm)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
