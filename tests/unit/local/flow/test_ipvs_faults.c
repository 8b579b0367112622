/* SPDX-License-Identifier: Apache-2.0 */
/* test_ipvs_faults.c: the fault sweep (flow_faults.h) over flows of the ipvs modes: targets, ports,
 * modes, schedulers, drain. */
#include "tests/unit/local/flow/flow_faults.h"

#include "tests/support/unit.h"

#define PARTS 4 /* of the points, a quarter in each of four consecutive commits */

#define POOL    "pool [10.0.0.0/29, \"fd00::/125\"], mode: "
#define GATEWAY "config director: {directorIsGateway: true}; "
#define NAT     GATEWAY POOL "ipvs-nat; "
#define FULLNAT POOL "ipvs-fullnat; "
#define DR      POOL "ipvs-dr; "
#define TUNNEL  "config director: {tunnel: {type: gue, port: 6080}}; " POOL "ipvs-tunnel; "
#define NFT     GATEWAY
#define BOTH    "ports=53/TCP/30053,53/UDP/30053"

static const struct flow_row flows[] = {
    {"ipvs: create, nat", NAT "svc d/b; idle", "svc d/a"},
    {"ipvs: the first one, full nat", FULLNAT, "svc d/a"},
    {"ipvs: create, dr", DR "svc d/b; idle", "svc d/a"},
    {"ipvs: create, tunnel", TUNNEL "svc d/b; idle", "svc d/a"},
    {"ipvs: create, two families, TCP and UDP", FULLNAT "svc d/b; idle", "svc d/a fam=46 " BOTH},
    {"ipvs: create, mh with affinity", NAT, "svc d/a sched=mh affinity"},
    {"ipvs: create, routes", GATEWAY "pool [10.0.0.0/29], mode: ipvs-nat, announce: {by: routes}; ",
     "svc d/a"},
    /* targets and weights */
    {"ipvs: a target joins", DR "svc d/a; svc d/b; idle", "nodes n1 n2 n3"},
    {"ipvs: a target leaves", NAT "svc d/a; idle", "nodes n1"},
    {"ipvs: a target with connections leaves",
     NAT "drains 5000; svc d/a drain=5s; idle; active 2 10.1.0.2", "nodes n1"},
    {"ipvs: a target leaves, no drain", NAT "drains 0; svc d/a drain=0s; idle", "nodes n1"},
    {"ipvs: a target of datagrams leaves", FULLNAT "svc d/a " BOTH "; idle", "nodes n1"},
    {"ipvs: a target is replaced", DR "svc d/a; idle", "nodes n2 n3"},
    {"ipvs: a target comes back", NAT "svc d/a; idle; nodes n1; sync", "nodes n1 n2"},
    {"ipvs: weights", NAT "svc d/a local; eps d/a n1 n2; idle", "eps d/a n1 n1 n2"},
    {"ipvs: weights, again", NAT "svc d/a local; eps d/a n1 n1 n2; idle", "eps d/a n2 n2 n2 n1"},
    {"ipvs: no target is left", NAT "svc d/a local; eps d/a n1; idle", "eps d/a"},
    {"ipvs: no target is left, full nat", FULLNAT "svc d/a local; eps d/a n1 n2; idle", "eps d/a"},
    {"ipvs: the first target", FULLNAT "svc d/a local; eps d/a; idle", "eps d/a n1"},
    /* ports and ranges */
    {"ipvs: a port is added", NAT "svc d/a; idle", "svc d/a ports=80/TCP/30080,81/TCP/30081"},
    {"ipvs: a port is removed", FULLNAT "svc d/a ports=80/TCP/30080,81/TCP/30081; idle", "svc d/a"},
    {"ipvs: another port", DR "svc d/a; idle", "svc d/a ports=81/TCP/30081"},
    {"ipvs: another port of the nodes", NAT "svc d/a; idle", "svc d/a ports=80/TCP/30081"},
    {"ipvs: another protocol", FULLNAT "svc d/a ports=53/TCP/30053; idle",
     "svc d/a ports=53/UDP/30053"},
    {"ipvs: ranges", FULLNAT "svc d/a; idle", "svc d/a ranges=192.0.2.0/24,198.51.100.0/24"},
    {"ipvs: no range of the family", NAT "svc d/a; idle", "svc d/a ranges=2001:db8::/32"},
    /* how connections are spread */
    {"ipvs: scheduler", NAT "svc d/a; idle", "svc d/a sched=wlc"},
    {"ipvs: scheduler with flags", DR "svc d/a sched=mh; idle", "svc d/a sched=sh"},
    {"ipvs: affinity on", NAT "svc d/a; idle", "svc d/a affinity"},
    {"ipvs: affinity off", FULLNAT "svc d/a sched=mh affinity; idle", "svc d/a sched=mh"},
    /* modes */
    {"ipvs: nat to full nat", NAT "svc d/a; idle", "svc d/a mode=ipvs-fullnat"},
    {"ipvs: full nat to nat", NAT "svc d/a mode=ipvs-fullnat; idle", "svc d/a"},
    {"ipvs: nat to dr", NAT "svc d/a; idle", "svc d/a mode=ipvs-dr"},
    {"ipvs: dr to nat", NAT "svc d/a mode=ipvs-dr; idle", "svc d/a"},
    {"ipvs: dr to nat on one port", NAT "svc d/a mode=ipvs-dr ports=80/TCP/80; idle",
     "svc d/a ports=80/TCP/80"},
    {"ipvs: full nat to dr", FULLNAT "svc d/a " BOTH "; idle", "svc d/a mode=ipvs-dr " BOTH},
    {"ipvs: dr to full nat", FULLNAT "svc d/a mode=ipvs-dr " BOTH "; idle", "svc d/a " BOTH},
    {"ipvs: dr to tunnel", TUNNEL "svc d/a mode=ipvs-dr; idle", "svc d/a"},
    {"ipvs: tunnel to dr", TUNNEL "svc d/a; idle", "svc d/a mode=ipvs-dr"},
    {"ipvs: tunnel to full nat", TUNNEL "svc d/a; idle", "svc d/a mode=ipvs-fullnat"},
    {"ipvs: nft to nat", NFT "svc d/a; idle", "svc d/a mode=ipvs-nat"},
    {"ipvs: nat to nft", NAT "svc d/a; idle", "svc d/a mode=nft"},
    {"ipvs: nft to dr", "svc d/a " BOTH "; idle", "svc d/a mode=ipvs-dr " BOTH},
    {"ipvs: dr to nft", DR "svc d/a " BOTH "; idle", "svc d/a mode=nft " BOTH},
    {"ipvs: nft to full nat, two families", "svc d/a fam=46; idle",
     "svc d/a fam=46 mode=ipvs-fullnat"},
    {"ipvs: full nat to nft, two families", FULLNAT "svc d/a fam=46; idle",
     "svc d/a fam=46 mode=nft"},
    {"ipvs: tunnel to nft", TUNNEL "svc d/a; idle", "svc d/a mode=nft"},
    {"ipvs: nat to nft with connections",
     NAT "drains 5000; svc d/a drain=5s; idle; active 1 10.1.0.1", "svc d/a mode=nft drain=5s"},
    {"ipvs: to nft and back while it drains", NAT "svc d/a; idle; svc d/a mode=nft; sync",
     "svc d/a"},
    {"ipvs: nft to nat, and a node has gone", NFT "svc d/a; idle",
     "svc d/a mode=ipvs-nat; nodes n1"},
    /* addresses and ends */
    {"ipvs: move", FULLNAT "svc d/a; idle", "svc d/a ask=10.0.0.5"},
    {"ipvs: move of IPv6", NAT "svc d/a fam=6; idle", "svc d/a fam=6 ask=fd00::5"},
    {"ipvs: move, and to nft", NAT "svc d/a; idle", "svc d/a ask=10.0.0.5 mode=nft"},
    {"ipvs: delete", NAT "svc d/a; svc d/b; idle", "delete d/a"},
    {"ipvs: delete, two families", FULLNAT "svc d/a fam=46 " BOTH "; idle", "delete d/a"},
    {"ipvs: delete with connections", DR "svc d/a; idle; active 3 10.1.0.1 10.1.0.2", "delete d/a"},
    {"ipvs: delete while it drains", NAT "svc d/a; idle; nodes n1; sync", "delete d/a"},
    {"ipvs: delete while it goes to nft", NAT "svc d/a; idle; svc d/a mode=nft; sync",
     "delete d/a"},
    {"ipvs: delete a sharer", NAT "svc d/a share=k; svc d/b share=k ports=81/TCP/30081; idle",
     "delete d/a"},
    {"ipvs: delete the sharer of another mode",
     NAT "svc d/a share=k mode=nft; svc d/b share=k ports=81/TCP/30081; idle", "delete d/b"},
    {"ipvs: type", DR "svc d/a; idle", "svc d/a type=ClusterIP"},
    {"ipvs: delete, routes",
     GATEWAY "pool [10.0.0.0/29], mode: ipvs-nat, announce: {by: routes}; svc d/a; idle",
     "delete d/a"},
    /* other processes, and others who write */
    {"ipvs: adopt", FULLNAT "svc d/a; svc d/b " BOTH "; idle", "restart"},
    {"ipvs: adopt, and a node has gone", NAT "svc d/a; idle", "restart; nodes n1"},
    {"ipvs: restart, and delete", NFT "svc d/a mode=ipvs-nat; svc d/b; idle",
     "restart; delete d/a"},
    {"ipvs: restart, and to nft", NFT "svc d/a mode=ipvs-fullnat; idle", "restart; svc d/a"},
    {"ipvs: restart while it drains", NAT "svc d/a; idle; nodes n1; sync; pass 2000", "restart"},
    {"ipvs: restart while it goes to nft", NAT "svc d/a; idle; svc d/a mode=nft; sync", "restart"},
    {"ipvs: the table is gone", FULLNAT "svc d/a; svc d/b; idle", "foreign flush"},
    {"ipvs: all of IPVS is gone", NAT "svc d/a; svc d/b " BOTH "; idle", "foreign ipvs"},
    {"ipvs: all is gone", DR "svc d/a; idle", "foreign ipvs; foreign flush"},
};

static void every_step_of_every_flow(void **state)
{
    const struct sample part = sample_of_test(PARTS);

    (void)state;
    assert_int_equal(flow_faults_sweep(flows, ARRAY_LEN(flows), &part), 0);
}

UNIT_MAIN(ipvs_faults)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_step_of_every_flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
