/* SPDX-License-Identifier: Apache-2.0 */
/* test_flow.c: the whole provider over a kernel in memory; rows are named after the vectors K…, G…,
 * L…, F… where there is one. */
#include "tests/unit/local/flow/flow_kit.h"

#include "tests/support/unit.h"

#define TWO(ip) ip "[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "

#define Q "invalid(pool \"q\" is not configured (there are: p)) "
/* It has left 10.0.0.0 for 10.0.0.8, or is about to. */
#define BOTH TWO("10.0.0.0") TWO("10.0.0.8")
#define MOVES                                                                                      \
    "pool [10.0.0.0/30]}, {name: q, addresses: [10.0.0.8/29]; svc d/a; idle; svc d/a pool=q; "     \
    "unwritten; "
#define UNWRITTEN "transient(the status could not be written, and what it names stays) "
#define LC        "d/a!invalid(scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh) "

static const struct row {
    const char *name, *script, *want;
} rows[] = {
    {"director: what the status says",
     "config role: director; svc d/a st=10.0.0.3; idle; state; plan; svc d/a st=10.0.0.5; idle; "
     "state; plan",
     TWO("10.0.0.3") "plan(0) " TWO("10.0.0.5") "plan(0) "},
    {"director: no status, no address", "config role: director; svc d/a; idle; state; status d/a",
     "d/a= "},
    {"director: the status goes",
     "config role: director; svc d/a st=10.0.0.3; idle; svc d/a st=; idle; state; plan",
     "plan(0) "},
    {"director: ignored, and the status names the address until the allocator has emptied it",
     "config role: director; svc d/a st=10.0.0.3; idle; svc d/a ignore st=10.0.0.3; sync; state; "
     "svc d/a ignore st=; sync; state",
     TWO("10.0.0.3")},
    {"director: two have one address",
     "config role: director; svc d/a st=10.0.0.3; svc d/b st=10.0.0.3 created=2; sync; state",
     "d/b!in-use(10.0.0.3 belongs to d/a (older); this Service gets another when its status is "
     "cleared or annotation local.trimtab.io/addresses is set) " TWO("10.0.0.3")},
    {"director: deleted",
     "config role: director; svc d/a st=10.0.0.3; idle; delete d/a; idle; state", ""},
    {"allocator: an address and no kernel",
     "config role: allocator; svc d/a; idle; status d/a; svc d/b; idle; status d/b; state; plan; "
     "order",
     "d/a=10.0.0.0 d/b=10.0.0.1 plan(0) order(1:create address 10.0.0.0, 1:create address "
     "10.0.0.1, ) "},
    {"allocator: another address",
     "config role: allocator; svc d/a; idle; svc d/a st=10.0.0.0 ask=10.0.0.4; idle; status d/a; "
     "explain d/a",
     "d/a=10.0.0.4 served local load balancer has the address 10.0.0.4; directors forward its "
     "traffic.; address 10.0.0.4 of pool p; it has it; - 10.0.0.4 -; "},
    {"allocator: what directors would refuse",
     "config role: allocator; svc d/a sched=lc; sync; state",
     "d/a!invalid(scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh) "},
    {"K08 G01 create", "svc d/a; idle; state; status d/a; plan; announced 10.0.0.0",
     TWO("10.0.0.0") "d/a=10.0.0.0 plan(0) announced(1) "},
    {"order of a creation", "svc d/a; sync; order",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0 on eth0, ) "},
    {"K13 node goes", "svc d/a; idle; nodes n1; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*4 <0.0.0.0/0 snat; plan(0) "},
    {"K14 node comes and goes",
     "nodes n1 n2 n3; svc d/a; idle; state; nodes n1 n2 n3 n4; idle; state; nodes n1 n2 n4; idle; "
     "state; plan",
     "10.0.0.0[d/a] held 80/tcp rr16 n1:30080*6 n2:30080*5 n3:30080*5 <0.0.0.0/0 snat; "
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*1 n2:30080*1 n3:30080*1 n4:30080*1 <0.0.0.0/0 snat; "
     "10.0.0.0[d/a] held 80/tcp rr16 n1:30080*6 n2:30080*5 n4:30080*5 <0.0.0.0/0 snat; plan(0) "},
    {"K15", "svc d/a sched=lc; sync; state",
     "d/a!invalid(scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh) "},
    {"K20", "svc d/a affinity; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp hash4 n2:30080*2 n1:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"K25", "svc d/a fam=6; idle; state; plan; announced fd00::",
     "fd00::[d/a] held on link 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; plan(0) announced(1) "},
    {"dual", "svc d/a fam=46; idle; state; status d/a; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; fd00::[d/a] held on "
     "link 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; d/a=10.0.0.0 fd00:: plan(0) "},
    {"K27", "svc d/a local; eps d/a n1 n1 n2; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr16 n1:30080*11 n2:30080*5 <0.0.0.0/0 snat; plan(0) "},
    {"K28", "svc d/a local; eps d/a n1 n2/down; idle; state",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*4 <0.0.0.0/0 snat; "},
    {"K30", "svc d/a local; eps d/a n1; idle; eps d/a; idle; state; plan; order",
     "10.0.0.0[d/a] held; plan(0) order(1:create table inet trimtab, 2:create guard 10.0.0.0, "
     "2:create frontend 10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold "
     "10.0.0.0, 5:create announcement 10.0.0.0 on eth0, 1:delete source ranges 10.0.0.0:80/tcp, "
     "2:delete frontend 10.0.0.0:80/tcp, ) "},
    {"K30 from the start",
     "svc d/a local; eps d/a; idle; state; plan; announced 10.0.0.0; eps d/a n2; idle; state; "
     "announced 10.0.0.0",
     "10.0.0.0[d/a]; plan(0) announced(0) 10.0.0.0[d/a] held 80/tcp rr4 n2:30080*4 <0.0.0.0/0 "
     "snat; announced(1) "},
    {"K45", "svc d/a; idle; svc d/a ports=80/TCP/30081; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) "},
    {"K46", "svc d/a; idle; order; svc d/a ports=81/TCP/30080; sync; order; idle; state; plan",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0 on eth0, ) order(1:create frontend 10.0.0.0:81/tcp, 2:create source "
     "ranges 10.0.0.0:81/tcp, 3:delete source ranges 10.0.0.0:80/tcp, 4:delete frontend "
     "10.0.0.0:80/tcp, 4:delete connections 10.0.0.0:80/tcp, ) 10.0.0.0[d/a] held 81/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"L14 UDP", "svc d/a ports=53/UDP/30053; idle; order; nodes n1; sync; order; idle; state",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:53/udp, 3:create source ranges 10.0.0.0:53/udp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0 on eth0, ) order(1:change frontend 10.0.0.0:53/udp, 2:delete "
     "connections 10.0.0.0:53/udp, ) 10.0.0.0[d/a] held 53/udp rr4 n1:30053*4 <0.0.0.0/0 snat; "},
    {"G02", "svc d/a ranges=192.0.2.0/24,198.51.100.7/32; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <192.0.2.0/24 <198.51.100.7/32 snat; "
     "plan(0) "},
    {"G03", "svc d/a ranges=192.0.2.0/24,192.0.2.128/25; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <192.0.2.0/24 snat; plan(0) "},
    {"G04",
     "svc d/a ranges=192.0.2.0/24; idle; svc d/a ranges=10.0.0.0/33; sync; state; svc d/b "
     "ranges=10.0.0.0/33; sync d/b; state",
     "d/a!invalid(service.Spec.LoadBalancerSourceRanges: [10.0.0.0/33] is not valid. Expecting a "
     "list of IP ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: 10.0.0.0/33) "
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <192.0.2.0/24 snat; "
     "d/b!invalid(service.Spec.LoadBalancerSourceRanges: [10.0.0.0/33] is not valid. Expecting a "
     "list of IP ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: 10.0.0.0/33) "
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <192.0.2.0/24 snat; "},
    {"G05", "svc d/a ranges=2001:db8::/32; idle; state; plan",
     "10.0.0.0[d/a] 80/tcp rr4 n1:30080*2 n2:30080*2; plan(0) "},
    {"G06", "svc d/a ranges=192.0.2.0/24; idle; svc d/a; writes; sync; writes; idle; state; plan",
     "writes(4) writes(2) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "plan(0) "},
    {"packets under way are waited for when ranges change",
     "svc d/a; idle; settles; nodes n1; sync; settles; svc d/a ranges=192.0.2.0/24; sync; settles; "
     "svc d/a ranges=192.0.2.0/25; sync; settles; svc d/a; sync; settles; idle; settles; delete "
     "d/a; idle; settles",
     "settles(0) settles(0) settles(0) settles(1) settles(1) settles(0) settles(0) "},
    {"… once for all Services, and when slots move to another map",
     "svc d/a; svc d/b; svc d/c; idle; settles; writes; nodes n1 n2 n3; sync; settles; writes; "
     "nodes n1 n2; sync; settles; order; plan",
     "settles(0) writes(4) settles(0) writes(2) settles(1) order("
     "1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend 10.0.0.0:80/tcp, "
     "2:create guard 10.0.0.1, 2:create frontend 10.0.0.1:80/tcp, 2:create guard 10.0.0.2, "
     "2:create frontend 10.0.0.2:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 3:create source "
     "ranges 10.0.0.1:80/tcp, 3:create source ranges 10.0.0.2:80/tcp, 4:create hold 10.0.0.0, "
     "4:create hold 10.0.0.1, 4:create hold 10.0.0.2, 5:create announcement 10.0.0.0 on eth0, "
     "5:create announcement 10.0.0.1 on eth0, 5:create announcement 10.0.0.2 on eth0, 1:change "
     "frontend 10.0.0.0:80/tcp, 1:change frontend 10.0.0.1:80/tcp, 1:change frontend "
     "10.0.0.2:80/tcp, 2:delete former slots 10.0.0.0:80/tcp, 2:delete former slots "
     "10.0.0.1:80/tcp, 2:delete former slots 10.0.0.2:80/tcp, 1:change frontend 10.0.0.0:80/tcp, "
     "1:change frontend 10.0.0.1:80/tcp, 1:change frontend 10.0.0.2:80/tcp, 2:delete former slots "
     "10.0.0.0:80/tcp, 2:delete former slots 10.0.0.1:80/tcp, 2:delete former slots "
     "10.0.0.2:80/tcp, ) plan(0) "},
    {"… and where the kernel refuses it goes on",
     "svc d/a ranges=192.0.2.0/24; idle; settles no; svc d/a; idle; settles; state; plan",
     "settles(0) settles(1) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "plan(0) "},
    {"G11",
     "svc d/a share=k ranges=192.0.2.0/24; svc d/b share=k ports=81/TCP/30081; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <192.0.2.0/24 snat 81/tcp rr4 n1:30081*2 "
     "n2:30081*2 <0.0.0.0/0 snat; plan(0) "},
    {"a sharer goes",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; delete d/a; idle; "
     "state; plan; left; owned",
     "10.0.0.0[d/b] held 81/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) guard 10.0.0.0 "
     "of d/b used; frontend 10.0.0.0:81/tcp of d/b used; "},
    {"a sharer goes, restart",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; delete d/a; idle; "
     "restart; idle; left; owned; svc d/a; idle; state",
     "guard 10.0.0.0 of d/b used; frontend 10.0.0.0:81/tcp of d/b used; 10.0.0.0[d/b] held 80/tcp "
     "rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat 81/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 "
     "snat; "},
    {"a sharer's edit to a port of another",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/a share=k "
     "ports=81/TCP/30080; sync d/a; sync d/b; state; plan",
     "d/a!in-use(port 81/TCP of 10.0.0.0 is d/b's) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 "
     "n2:30080*2 <0.0.0.0/0 snat 81/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) "},
    {"a sharer's edit to a port of another beside its own",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/a share=k "
     "ports=80/TCP/30080,81/TCP/30090; sync d/a; sync d/b; state; plan",
     "d/a!in-use(port 81/TCP of 10.0.0.0 is d/b's) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 "
     "n2:30080*2 <0.0.0.0/0 snat 81/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) "},
    {"a sharer's refused edit, the other one goes on",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/a share=k "
     "mode=nonsense ports=82/TCP/30080; sync d/a; svc d/b share=k ports=83/TCP/30081 created=2; "
     "sync d/b; state",
     "d/a!invalid(mode is \"nonsense\"; it can be auto, nft, ipvs-nat, ipvs-fullnat, ipvs-dr "
     "or ipvs-tunnel) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat "
     "83/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; "},
    {"a sharer's edit to a port of another, restart",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/a share=k "
     "ports=81/TCP/30080; sync d/a; restart; sync; state; plan; svc d/a share=k "
     "ports=82/TCP/30080; idle; state; plan",
     "d/a!in-use(port 81/TCP of 10.0.0.0 is d/b's) d/a!in-use(port 81/TCP of 10.0.0.0 is "
     "d/b's) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat 81/tcp rr4 "
     "n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) 10.0.0.0[d/a] held 81/tcp rr4 n1:30081*2 "
     "n2:30081*2 <0.0.0.0/0 snat 82/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"a sharer's edit to a port of another while no controller runs",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/b share=k "
     "ports=80/TCP/30081 created=2; restart; sync; state; plan; svc d/b share=k "
     "ports=82/TCP/30081 created=2; idle; state; plan",
     "d/b!in-use(port 80/TCP of 10.0.0.0 is d/a's) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 "
     "n2:30080*2 <0.0.0.0/0 snat 81/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) "
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat 82/tcp rr4 "
     "n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; plan(0) "},
    {"two sharers exchange their ports",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/a share=k "
     "ports=81/TCP/30080; svc d/b share=k ports=80/TCP/30081 created=2; sync; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat 81/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"both sharers go",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081; idle; delete d/a; delete d/b; idle; "
     "state",
     ""},
    {"A14 move",
     "svc d/a; idle; order; svc d/a ask=10.0.0.5; sync; state; order; sync; order; idle; state; "
     "plan; status d/a",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0 on eth0, ) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 "
     "<0.0.0.0/0 snat; 10.0.0.5[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "order(1:create guard 10.0.0.5, 1:create frontend 10.0.0.5:80/tcp, 2:create source ranges "
     "10.0.0.5:80/tcp, 3:create hold 10.0.0.5, 4:create announcement 10.0.0.5 on eth0, ) "
     "order(1:delete hold 10.0.0.0, 2:delete source ranges 10.0.0.0:80/tcp, 3:delete frontend "
     "10.0.0.0:80/tcp, 3:delete connections 10.0.0.0:80/tcp, 4:delete guard 10.0.0.0, ) "
     "10.0.0.5[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) d/a=10.0.0.5 "},
    {"Services that are planned together get addresses of their own",
     "svc d/a; svc d/b created=2; planned; idle; status d/a; status d/b",
     "planned(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 2:create guard 10.0.0.1, 2:create frontend 10.0.0.1:80/tcp, 3:create source "
     "ranges 10.0.0.0:80/tcp, 3:create source ranges 10.0.0.1:80/tcp, 4:create hold 10.0.0.0, "
     "4:create hold 10.0.0.1, 5:create announcement 10.0.0.0 on eth0, 5:create announcement "
     "10.0.0.1 on eth0, ) d/a=10.0.0.0 d/b=10.0.0.1 "},
    {"a pool is edited to another range: the address stays, and the plan does nothing",
     "svc d/a; idle; pool [10.0.0.8/29]; restart; planned; idle; status d/a; state",
     "planned(d/a: The address stays. ) d/a=10.0.0.0 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 "
     "n2:30080*2 <0.0.0.0/0 snat; "},
    {"a pool is edited to another range, and the Service asks for the move: the old address serves "
     "until the new one is in the status",
     "svc d/a; idle; pool [10.0.0.8/29]; restart; svc d/a move; planned; order; sync; order; "
     "state; "
     "status d/a; sync; order; state; plan",
     "planned(1:create guard 10.0.0.8, 1:create frontend 10.0.0.8:80/tcp, 2:create source ranges "
     "10.0.0.8:80/tcp, 3:create hold 10.0.0.8, 4:create announcement 10.0.0.8 on eth0, d/a: "
     "10.0.0.0 is served until the Service's status shows the new address; then it goes, and "
     "connections to it end. ) order() order(1:create guard 10.0.0.8, 1:create frontend "
     "10.0.0.8:80/tcp, 2:create source ranges 10.0.0.8:80/tcp, 3:create hold 10.0.0.8, 4:create "
     "announcement 10.0.0.8 on eth0, 4:create announcement 10.0.0.0 on eth0, ) 10.0.0.0[d/a] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.8[d/a] held 80/tcp rr4 n1:30080*2 "
     "n2:30080*2 <0.0.0.0/0 snat; d/a=10.0.0.8 order(1:delete hold 10.0.0.0, 2:delete source "
     "ranges 10.0.0.0:80/tcp, 3:delete frontend 10.0.0.0:80/tcp, 3:delete connections "
     "10.0.0.0:80/tcp, 4:delete guard 10.0.0.0, ) 10.0.0.8[d/a] held 80/tcp rr4 n1:30080*2 "
     "n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"A15 the Service asks for another pool",
     "config director: {drainTimeout: 0s}; pool [10.0.0.0/30]}, {name: q, addresses: "
     "[10.0.0.8/29]; "
     "svc d/a; idle; svc d/a pool=q; planned; order; sync; order; state; sync; state; plan",
     "planned(1:create guard 10.0.0.8, 1:create frontend 10.0.0.8:80/tcp, 2:create source ranges "
     "10.0.0.8:80/tcp, 3:create hold 10.0.0.8, 4:create announcement 10.0.0.8 on eth0, d/a: "
     "10.0.0.0 is served until the Service's status shows the new address; then it goes, and "
     "connections to it end. ) order() order(1:create guard 10.0.0.8, 1:create frontend "
     "10.0.0.8:80/tcp, 2:create source ranges 10.0.0.8:80/tcp, 3:create hold 10.0.0.8, 4:create "
     "announcement 10.0.0.8 on eth0, ) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 "
     "<0.0.0.0/0 snat; 10.0.0.8[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "10.0.0.8[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"orphans: a guard without a name goes by the Service that stands for it",
     "svc d/a; svc d/b created=2; idle; foreign stranger; restart; owned; cleanup -/10.0.0.7; "
     "state; "
     "owned",
     "guard 10.0.0.0 of d/a used; frontend 10.0.0.0:80/tcp of d/a used; guard 10.0.0.1 of d/b "
     "used; frontend 10.0.0.1:80/tcp of d/b used; guard 10.0.0.7 of - removable; 10.0.0.0[d/a] "
     "held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held 80/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; guard 10.0.0.0 of d/a used; frontend 10.0.0.0:80/tcp "
     "of d/a used; guard 10.0.0.1 of d/b used; frontend 10.0.0.1:80/tcp of d/b used; "},
    {"orphans: an address that a Service has does not go by its text",
     "svc d/a; idle; foreign guard; cleanup -/10.0.0.0; state",
     "10.0.0.0[not guarded] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"orphans: what another instance holds is not listed",
     "svc d/a; idle; foreign instance 10.9.9.9; restart; owned; cleanup -/10.9.9.9; state",
     "guard 10.0.0.0 of d/a used; frontend 10.0.0.0:80/tcp of d/a used; 10.0.0.0[d/a] held 80/tcp "
     "rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.9.9.9[not guarded] held; "},
    {"L17 delete", "svc d/a; idle; order; delete d/a; sync; order; state",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0 on eth0, ) order(1:delete hold 10.0.0.0, 2:delete source ranges "
     "10.0.0.0:80/tcp, 3:delete frontend 10.0.0.0:80/tcp, 3:delete connections 10.0.0.0:80/tcp, "
     "4:delete guard 10.0.0.0, ) "},
    {"type change", "svc d/a; idle; svc d/a type=ClusterIP; idle; state; status d/a", "d/a= "},
    {"no ctnetlink: a Service goes all the same, and that is logged once",
     "foreign ctnetlink off; svc d/a; svc d/b; idle; delete d/a; sync; delete d/b; sync; state",
     "log(" LOCAL_CT_NONE ") "},
    {"ignored, and the status cannot be written: what it names stays until it can",
     "svc d/a; idle; svc d/a ignore; unwritten; sync; state; status d/a; restart; sync; state; "
     "unwritten; sync; state; status d/a",
     "d/a!" UNWRITTEN TWO("10.0.0.0") "d/a=10.0.0.0 d/a!" UNWRITTEN TWO("10.0.0.0") "d/a= "},
    {"another pool, and the status cannot be written: both addresses serve, and no third one is "
     "given, whoever syncs",
     MOVES "sync; state; sync; state; update d/a; state; restart; sync; state; status d/a; "
           "unwritten; sync; status d/a; sync; state; plan",
     BOTH BOTH BOTH BOTH "d/a=10.0.0.0 d/a=10.0.0.8 10.0.0.8[d/a] held 80/tcp rr4 n1:30080*2 "
                         "n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"the same while its own range is gone, and it asks for the move",
     "svc d/a; idle; pool [10.0.0.8/29]; restart; svc d/a move; unwritten; sync; state; sync; "
     "update d/a; restart; sync; state; status d/a; unwritten; sync; sync; status d/a",
     BOTH BOTH "d/a=10.0.0.0 d/a=10.0.0.8 "},
    {"an address that it names, and the status cannot be written",
     "svc d/a; idle; svc d/a ask=10.0.0.8; pool [10.0.0.0/28]; restart; unwritten; sync; state; "
     "sync; update d/a; state; unwritten; sync; sync; status d/a",
     BOTH BOTH "d/a=10.0.0.8 "},
    {"a family fewer, and the status cannot be written",
     "svc d/a fam=46; idle; svc d/a fam=4; unwritten; sync; sync; update d/a; owned; unwritten; "
     "sync; sync; status d/a",
     "guard 10.0.0.0 of d/a used; frontend 10.0.0.0:80/tcp of d/a used; guard fd00:: of d/a used; "
     "frontend [fd00::]:80/tcp of d/a used; d/a=10.0.0.0 "},
    {"A39 served, then to be left alone: all of it goes, and then nothing is done",
     "svc d/a; idle; svc d/a ignore; sync; state; status d/a; writes; sync; writes; svc d/a; idle; "
     "state",
     "d/a= writes(8) d/a!implemented-elsewhere(annotation local.trimtab.io/ignore says so) "
     "writes(0) "
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"L18", "svc d/a; idle; delete d/a; refuse auth 5; sync; state; well; sync; state",
     "d/a!auth(source ranges 10.0.0.0:80/tcp: refused by a test) 10.0.0.0[d/a] 80/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"L20 L24 restart",
     "svc d/a; svc d/b; idle; writes; restart; plan; idle; writes; announced 10.0.0.0; plan",
     "writes(4) plan(0) writes(0) announced(2) plan(0) "},
    {"foreign bump", "svc d/a; idle; writes; foreign bump; idle; writes", "writes(4) writes(0) "},
    {"foreign guard", "svc d/a; svc d/b; idle; foreign guard; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"foreign guard, one after the other",
     "svc d/a; svc d/b; idle; foreign guard; sync d/a; sync d/b; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"foreign open", "svc d/a; svc d/b; idle; foreign open; sync d/a; sync d/b; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"foreign slots", "svc d/a; svc d/b; idle; foreign slots; sync d/b; sync d/a; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"K55 flush", "svc d/a; svc d/b; idle; foreign flush; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"K55 flush, one after the other",
     "svc d/a; svc d/b; idle; foreign flush; sync d/a; sync d/b; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"F02 auth", "svc d/a; refuse auth 8; sync; well; idle; state; plan",
     "d/a!auth(refused by a test) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 "
     "snat; plan(0) "},
    {"conflict", "svc d/a; sync; svc d/b; refuse conflict 7; sync; well; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"F05", "svc d/a; sync; svc d/b; lose 7; sync; well; idle; state; plan",
     "d/a!transient(the kernel's answers are lost (ENOBUFS)) d/b!transient(the kernel's answers "
     "are lost (ENOBUFS)) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "10.0.0.1[d/b] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"L21", "svc d/a; kill 11; sync; state; restart; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"vanished",
     "svc d/a; svc d/b; idle; vanish d/a; restart; left; owned; cleanup d/a; state; left; plan",
     "left(d/a) guard 10.0.0.0 of d/a removable; frontend 10.0.0.0:80/tcp of d/a removable; guard "
     "10.0.0.1 of d/b used; frontend 10.0.0.1:80/tcp of d/b used; 10.0.0.1[d/b] held 80/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; plan(0) "},
    {"another program empties a status: the address stays",
     "svc d/b; idle; svc d/b st=10.0.0.0; svc d/a; idle; svc d/a st=10.0.0.1; idle; delete d/b; "
     "idle; writes; svc d/a; idle; status d/a; writes; plan",
     "writes(11) d/a=10.0.0.1 writes(0) plan(0) "},
    {"statuses claim first",
     "svc d/a; svc d/b st=10.0.0.0 created=2; idle; status d/a; status d/b; state",
     "d/a=10.0.0.1 d/b=10.0.0.0 10.0.0.0[d/b] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 "
     "snat; 10.0.0.1[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"refused takes no address",
     "svc d/a share=k; idle; svc d/b share=k sched=wlc ports=81/TCP/30081; sync; delete d/a; sync; "
     "state; "
     "svc d/c; sync d/c; status d/c",
     "d/b!invalid(scheduler wlc needs an ipvs mode; nft has rr, wrr, sh and mh) "
     "d/b!invalid(scheduler "
     "wlc needs an ipvs mode; nft has rr, wrr, sh and mh) d/c=10.0.0.0 "},
    {"update takes no address",
     "pool [10.0.0.0/29, \"fd00::1\"]; svc d/b fam=46; svc d/a fam=~46 created=2; idle; delete "
     "d/b; "
     "sync d/b; nodes n1; update d/a; status d/a; state; idle; status d/a; state; plan",
     "d/a=10.0.0.1 10.0.0.1[d/a] held 80/tcp rr4 n1:30080*4 <0.0.0.0/0 snat; d/a=10.0.0.1 fd00::1 "
     "10.0.0.1[d/a] held 80/tcp rr4 n1:30080*4 <0.0.0.0/0 snat; fd00::1[d/a] held on link 80/tcp "
     "rr4 n1:30080*4 <::/0 snat; plan(0) "},
    {"A30 two have one address",
     "svc d/a st=10.0.0.3; svc d/b st=10.0.0.3 created=2; sync; state; status d/b",
     "d/b!in-use(10.0.0.3 belongs to d/a (older); this Service gets another when its status is "
     "cleared or annotation local.trimtab.io/addresses is set) 10.0.0.3[d/a] held 80/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; d/b=10.0.0.3 "},
    {"a sharer leaves for IPv6, with a port that the other has",
     "svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/b fam=6 "
     "ports=80/TCP/30081 created=2; idle; status d/b; state; plan",
     "d/b=fd00:: 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "fd00::[d/b] held on link 80/tcp rr4 n1:30081*2 n2:30081*2 <::/0 snat; plan(0) "},
    {"the same with ipvs",
     "config director: {directorIsGateway: true}; pool [10.0.0.0/29, \"fd00::/125\"], mode: "
     "ipvs-nat; svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; svc d/b fam=6 "
     "ports=80/TCP/30081 created=2; idle; status d/b; state; plan",
     "d/b=fd00:: 10.0.0.0[d/a] held 80/tcp ipvs-rr n1:30080m1 n2:30080m1 <0.0.0.0/0; fd00::[d/b] "
     "held on link 80/tcp ipvs-rr n1:30081m1 n2:30081m1 <::/0; plan(0) "},
    {"ipvs unknown after a restart, and a Service goes",
     "config director: {directorIsGateway: true}; svc d/a mode=ipvs-nat; svc d/b; idle; restart; "
     "delete d/a; refuse transient 7; sync; well; idle; state; owned",
     "d/a!transient(refused by a test) d/b!transient(refused by a test) 10.0.0.1[d/b] held 80/tcp "
     "rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0; guard 10.0.0.1 of d/b used; frontend 10.0.0.1:80/tcp "
     "of d/b used; "},
    {"explain", "svc d/a; idle; writes; explain d/a; writes",
     "writes(4) served local load balancer, nft is served by this machine at 10.0.0.0 (nft).; "
     "address 10.0.0.0 of pool p; it has it; - 10.0.0.0 -; mode nft this machine's nftables "
     "rewrite the destination; scheduler rr -; targets nodePort nodes' ports; snat always targets "
     "see this machine's address; announced on eth0 MAC 02:00:00:00:00:02; - 2 targets of port 80 "
     "-; client client -; load balancer 10.0.0.0 -; node node its source address becomes this "
     "machine's; writes(0) "},
    {"owned", "svc d/a; idle; owned; left",
     "guard 10.0.0.0 of d/a used; frontend 10.0.0.0:80/tcp of d/a used; "},
    {"F07 one wrong Service among 300",
     "pool [10.0.4.0/22]; many 300; refuse-address 10.0.4.7; sync; writes; status d/s006; status "
     "d/s008; refuse-address none; idle; plan",
     "d/s007!invalid(guard 10.0.4.7: the set is full) writes(25) d/s006=10.0.4.6 d/s008=10.0.4.8 "
     "plan(0) "},
    {"may not write", "svc d/a; forbid; sync; writes; state; forbid; idle; state",
     "d/a!cancelled(table inet trimtab: writing is not allowed now) writes(0) 10.0.0.0[d/a] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"C12", "spare 20000; config role: director; svc d/a; sync",
     "open!(role director runs on every director; start it with --leader-elect=false) "},
    {"H04",
     "svc d/a local share=k; eps d/a n1; svc d/b local share=k ports=81/TCP/30081 created=2; eps "
     "d/b n2; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*4 <0.0.0.0/0 snat 81/tcp rr4 n2:30081*4 <0.0.0.0/0 "
     "snat; plan(0) "},
    {"H09",
     "svc d/a share=k; svc d/b share=k mode=ipvs-dr ports=81/TCP/30081 created=2; idle; state; "
     "plan",
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat 81/tcp ipvs-rr n1:81g1 "
     "n2:81g1 <0.0.0.0/0; plan(0) "},
    {"K48",
     "config director: {directorIsGateway: true}; svc d/a mode=ipvs-nat; idle; state; svc d/a "
     "mode=ipvs-dr; idle; state; plan",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:30080m1 n2:30080m1 <0.0.0.0/0; 10.0.0.0[d/a] held "
     "80/tcp "
     "ipvs-rr n1:80g1 n2:80g1 <0.0.0.0/0; plan(0) "},
    {"F09",
     "svc d/a; svc d/b mode=ipvs-dr; idle; sysctl net.ipv4.ip_forward 0; sync; state; sysctl "
     "net.ipv4.ip_forward 1; sync; plan",
     "d/a!transient(net.ipv4.ip_forward is 0: this machine forwards nothing (sysctl -w "
     "net.ipv4.ip_forward=1)) 10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "10.0.0.1[d/b] held 80/tcp ipvs-rr n1:80g1 n2:80g1 <0.0.0.0/0; plan(0) "},
    {"somebody else's table", "foreign table; svc d/a; sync",
     "open!(table inet trimtab exists and is not ours; choose another instance) "},
    {"somebody else's table comes", "svc d/a; idle; foreign flush; foreign table; sync",
     "d/a!invalid(table inet trimtab exists and is not ours; choose another instance) "},
    {"upkeep: nothing of a refused edit",
     "svc d/a; idle; restart; svc d/a sched=lc ranges=192.0.2.0/24 "
     "ports=80/TCP/30081,81/TCP/30082; "
     "nodes n1 n3; sync; update; state; upkeep; state; writes; upkeep; writes",
     LC LC TWO("10.0.0.0") "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n3:30080*2 <0.0.0.0/0 snat; "
                           "writes(5) writes(0) "},
    {"upkeep: ranges stay, and a port that is not asked for any more",
     "svc d/a ranges=192.0.2.0/24; idle; restart; svc d/a sched=lc ports=81/TCP/30082; nodes n2 "
     "n3; "
     "sync; upkeep; state; svc d/a ranges=192.0.2.0/24; idle; state; plan",
     LC
     "10.0.0.0[d/a] held 80/tcp rr4 n2:30080*4 <192.0.2.0/24 snat; 10.0.0.0[d/a] held 80/tcp rr4 "
     "n2:30080*2 n3:30080*2 <192.0.2.0/24 snat; plan(0) "},
    {"upkeep: nodes with pods",
     "svc d/a local affinity; eps d/a n1 n1 n2; idle; restart; svc d/a local affinity pool=q; "
     "nodes "
     "n1 n2 n3; eps d/a n2 n3; sync; upkeep; state; eps d/a; upkeep; state",
     "d/a!" Q "10.0.0.0[d/a] held 80/tcp hash4 "
     "n2:30080*2 n3:30080*2 <0.0.0.0/0 snat; 10.0.0.0[d/a] held; "},
    {"upkeep: ipvs",
     "config director: {directorIsGateway: true}; svc d/a mode=ipvs-dr sched=mh; svc d/b "
     "mode=ipvs-nat affinity ports=53/UDP/30053; svc d/c mode=ipvs-fullnat local; eps d/c n1 n1 "
     "n2; "
     "idle; restart; svc d/a pool=q mode=nft; svc d/b pool=q; svc d/c local pool=q; nodes n1 n3; "
     "eps "
     "d/c n3 n3 n1; sync; upkeep; pass 70000; upkeep; state",
     "d/a!" Q "d/b!" Q "d/c!" Q "10.0.0.0[d/a] held 80/tcp ipvs-mh/18 n1:80g1 n3:80g1 <0.0.0.0/0; "
     "10.0.0.1[d/b] held 53/udp ipvs-rr/1/10800s n1:30053m1 <0.0.0.0/0; 10.0.0.2[d/c] held 80/tcp "
     "ipvs-wrr n1:30080m1 n3:30080m2 <0.0.0.0/0 snat; "},
    {"routes",
     "pool [10.0.0.0/29], announce: {by: routes}; svc d/a; idle; order; state; delete d/a; sync; "
     "order; state",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0, ) 10.0.0.0[d/a] held exported 80/tcp rr4 n1:30080*2 n2:30080*2 "
     "<0.0.0.0/0 snat; order(1:delete announcement 10.0.0.0, 2:delete hold 10.0.0.0, 3:delete "
     "source ranges 10.0.0.0:80/tcp, 4:delete frontend 10.0.0.0:80/tcp, 4:delete connections "
     "10.0.0.0:80/tcp, 5:delete guard 10.0.0.0, ) "},
};

static void run_rows(void **state)
{
    (void)state;
    static struct flow_kit k;
    unsigned failed = 0;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        flow_kit_begin(&k);
        const char *got = flow_kit_run(&k, rows[i].script);
        if (!str_eq(got, rows[i].want)) {
            print_error("%s\n  want %s\n  got  %s\n", rows[i].name, rows[i].want, got);
            failed++;
        }
        flow_kit_end(&k);
    }
    assert_int_equal(failed, 0);
}

UNIT_MAIN(flow)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
