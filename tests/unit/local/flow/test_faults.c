/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c: the fault sweep (flow_faults.h) over flows of mode nft. */
#include "tests/unit/local/flow/flow_faults.h"

#include "tests/support/unit.h"

#define ROUTES "pool [10.0.0.0/29], announce: {by: routes}; "
static const struct flow_row flows[] = {
    {"the first one", "", "svc d/a"},
    {"create", "svc d/b; idle", "svc d/a"},
    {"create, two families, two ports", "svc d/b; idle",
     "svc d/a fam=46 ports=80/TCP/30080,53/UDP/30053"},
    {"add a target", "svc d/a; svc d/b; idle", "nodes n1 n2 n3"},
    {"remove a target", "svc d/a ports=53/UDP/30053; svc d/b; idle", "nodes n1"},
    {"no target is left", "svc d/a local; eps d/a n1; idle", "eps d/a"},
    {"the first target", "svc d/a local; eps d/a; idle", "eps d/a n1"},
    {"ranges", "svc d/a; idle", "svc d/a ranges=192.0.2.0/24,198.51.100.0/24"},
    {"ranges that overlap", "svc d/a ranges=192.0.2.0/24,198.51.100.0/24; idle",
     "svc d/a ranges=192.0.2.128/25,203.0.113.0/24"},
    {"ranges that overlap, and others before it is done",
     "svc d/a ranges=192.0.2.0/24; idle; svc d/a ranges=192.0.2.0/25; kill 10; sync; restart",
     "svc d/a ranges=192.0.2.0/26"},
    {"another map", "svc d/a; svc d/b ports=53/UDP/30053; idle", "nodes n1 n2 n3"},
    {"another map and back", "svc d/a; idle; nodes n1 n2 n3; kill 8; sync; restart", "nodes n1 n2"},
    {"another map, and a third one before it is done",
     "svc d/a; idle; nodes n1 n2 n3; kill 8; sync; restart", "nodes n1 n2 n3 n4 n5"},
    {"another map, and deleted before it is done",
     "svc d/a; idle; nodes n1 n2 n3; kill 8; sync; restart", "delete d/a"},
    {"everybody again", "svc d/a ranges=192.0.2.0/24; idle", "svc d/a"},
    {"another port", "svc d/a; idle", "svc d/a ports=81/TCP/30081"},
    {"affinity", "svc d/a; idle", "svc d/a affinity"},
    {"move", "svc d/a; idle", "svc d/a ask=10.0.0.5"},
    {"move of IPv6", "svc d/a fam=6; idle", "svc d/a fam=6 ask=fd00::5"},
    {"delete", "svc d/a; svc d/b; idle", "delete d/a"},
    {"delete, IPv6", "svc d/a fam=6; idle", "delete d/a"},
    {"delete a sharer", "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle",
     "delete d/a"},
    {"delete both sharers", "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle",
     "delete d/a; delete d/b"},
    {"another sharer", "svc d/a share=k; idle", "svc d/b share=k ports=81/TCP/30081 created=2"},
    {"type", "svc d/a; idle", "svc d/a type=ClusterIP"},
    {"create, routes", ROUTES "svc d/b; idle", "svc d/a"},
    {"delete, routes", ROUTES "svc d/a; svc d/b; idle", "delete d/a"},
    {"move, routes", ROUTES "svc d/a; idle", "svc d/a ask=10.0.0.5"},
    {"adopt", "svc d/a; svc d/b; idle", "restart"},
    {"adopt, and a node has gone", "svc d/a; svc d/b; idle", "restart; nodes n1"},
    {"after a flush", "svc d/a; svc d/b; idle", "foreign flush"},
};
static void every_step_of_every_flow(void **state)
{
    const struct sample every = {.parts = 1};

    (void)state;
    assert_int_equal(flow_faults_sweep(flows, ARRAY_LEN(flows), &every), 0);
}

UNIT_MAIN(faults)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step_of_every_flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
