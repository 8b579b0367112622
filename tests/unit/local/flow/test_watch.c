/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch.c: what others change in the kernel is found between syncs, told, and put right; the
 * vectors K52 to K55. */
#include "tests/unit/local/flow/flow_kit.h"

#include <string.h>

#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define TWO(ip) ip "[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
#define TOLD    "event(d/a LoadBalancerDrift: others changed this machine's kernel: "
#define GUARD   TOLD "guard 10.0.0.0 is missing"
#define OFTEN(n)                                                                                   \
    GUARD ", " n " times within a minute: a program on this machine works against trimtab (`nft "  \
          "monitor` and `ip monitor` show what it does)"
#define RIGHT      "; it is put right) "
#define LEFT_AS_IS "; left as it is (--drift=report)) "

#define ONE_OF_IPVS "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80g1 <0.0.0.0/0; "

static const struct row {
    const char *name, *script, *want;
} rows[] = {
    {"nothing changed", "director; svc d/a; idle; pass 10; writes; pass 5000; writes; drift",
     "writes(4) writes(0) drift(0) "},
    {"the guard", "director; svc d/a; idle; pass 2000; foreign guard; pass 1; check; state; drift",
     TOLD "guard 10.0.0.0 is missing" RIGHT TWO("10.0.0.0") "drift(1) "},
    {"who may come",
     "director; svc d/a; idle; pass 2000; foreign open; pass 1; check; state; drift",
     TOLD "source ranges 10.0.0.0:80/tcp is missing" RIGHT TWO("10.0.0.0") "drift(1) "},
    {"slots", "director; svc d/a; idle; pass 2000; foreign slots; pass 1; check; state; drift",
     TOLD "frontend 10.0.0.0:80/tcp is missing" RIGHT TWO("10.0.0.0") "drift(1) "},
    {"K55 the table",
     "director; svc d/a; idle; pass 2000; foreign flush; pass 1; check; state; drift; sync; "
     "writes; "
     "plan",
     TOLD "table inet trimtab is missing; guard 10.0.0.0 is missing; frontend 10.0.0.0:80/tcp is "
          "missing; source ranges 10.0.0.0:80/tcp is missing" RIGHT TWO(
              "10.0.0.0") "drift(4) "
                          "writes(6) plan(0) "},
    {"a hold",
     "director; svc d/a; idle; pass 9000; announced 10.0.0.0; foreign hold 10.0.0.0; pass 1; "
     "check; state; pass 9000; announced 10.0.0.0; drift",
     "announced(5) " TOLD
     "hold 10.0.0.0 is missing" RIGHT TWO("10.0.0.0") "announced(10) drift(1) "},
    {"an address on a link",
     "director; svc d/a fam=6; idle; pass 2000; foreign hold fd00::; pass 1; check; state; drift",
     TOLD "hold fd00:: is missing" RIGHT
          "fd00::[d/a] held on link 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; drift(1) "},
    {"reported alone, and once",
     "director report; svc d/a; idle; pass 2000; writes; foreign guard; pass 5000; foreign bump; "
     "pass 600000; writes; state; sync; check; state",
     "writes(4) " TOLD "guard 10.0.0.0 is missing" LEFT_AS_IS
     "writes(0) 10.0.0.0[not guarded] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; " TWO(
         "10.0.0.0")},
    {"the kernel told nothing: the round finds it",
     "director; svc d/a; idle; pass 2000; foreign slots quiet; pass 2000; drift; pass 600000; "
     "check; "
     "state; drift",
     "drift(0) " TOLD "frontend 10.0.0.0:80/tcp is missing" RIGHT TWO("10.0.0.0") "drift(1) "},
    {"a hold of which the kernel told nothing",
     "director; svc d/a; idle; pass 2000; foreign hold 10.0.0.0 quiet; pass 600000; check; state",
     TOLD "hold 10.0.0.0 is missing" RIGHT TWO("10.0.0.0")},
    {"a hold that two Services share",
     "director; svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; pass 2000; "
     "foreign hold 10.0.0.0; pass 1; check; drift",
     TOLD "hold 10.0.0.0 is missing" RIGHT
          "event(d/b LoadBalancerDrift: others changed this machine's kernel: hold 10.0.0.0 is "
          "missing" RIGHT "drift(1) "},
    {"a hold that has a lifetime",
     "director; spare 20000; svc d/a; idle; pass 2000; drift; foreign hold 10.0.0.0; pass 600; "
     "check; "
     "state; drift; pass 5000; drift",
     "drift(0) " TOLD "hold 10.0.0.0 is missing" RIGHT
     "10.0.0.0[d/a] held on link 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; drift(1) "
     "drift(0) "},
    {"rules",
     "director; svc d/a; idle; pass 2000; foreign rules; pass 1; check; state; drift; sync; writes",
     "event(d/a LoadBalancerDrift: others changed this machine's kernel: table inet trimtab "
     "differs" RIGHT TWO("10.0.0.0") "drift(1) writes(5) "},
    {"rules, without a director, found at the start",
     "svc d/a; idle; foreign rules; restart; order; sync; order; plan; state",
     "order(1:create table inet trimtab, 2:create guard 10.0.0.0, 2:create frontend "
     "10.0.0.0:80/tcp, 3:create source ranges 10.0.0.0:80/tcp, 4:create hold 10.0.0.0, 5:create "
     "announcement 10.0.0.0 on eth0, ) order(1:change table inet trimtab, 2:create announcement "
     "10.0.0.0 on eth0, ) plan(0) " TWO("10.0.0.0")},
    {"markBit of another configuration: the rules are made anew, with all that is there",
     "svc d/a; svc d/b; idle; config director: {markBit: 0x1000}; restart; plan; writes; sync d/a; "
     "writes; state; restart; idle; writes; plan",
     "plan(1) writes(4) writes(1) " TWO(
         "10.0.0.0") "10.0.0.1[d/b] held 80/tcp rr4 n1:30080*2 "
                     "n2:30080*2 <0.0.0.0/0 snat; writes(0) plan(0) "},
    {"closedPorts of another configuration",
     "svc d/a; idle; config director: {closedPorts: drop}; restart; writes; idle; writes; plan",
     "writes(4) writes(1) plan(0) "},
    {"L25 another layout: made anew with all that is there",
     "svc d/a; svc d/b; idle; foreign layout 7; restart; writes; sync d/a; writes; state; plan; "
     "sync; writes",
     "writes(4) writes(1) " TWO("10.0.0.0") "10.0.0.1[d/b] held 80/tcp rr4 n1:30080*2 "
                                            "n2:30080*2 <0.0.0.0/0 snat; plan(0) writes(0) "},
    {"another layout, refused: the old table stays, and it is tried again",
     "svc d/a; idle; foreign layout 7; restart; refuse transient 10; sync; state; well; sync; "
     "state; plan",
     "d/a!transient(table inet trimtab: refused by a test) " TWO("10.0.0.0")
         TWO("10.0.0.0") "plan(0) "},
    {"orphanGrace: what is left is told after it, and not before",
     "director; svc d/a; svc d/b; idle; vanish d/a; restart; sync; left; pass 29000; left; state; "
     "pass 1000; left",
     TWO("10.0.0.0") "10.0.0.1[d/b] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
                     "left(d/a) "},
    {"orphanGrace: an address without a name",
     "director; svc d/a; svc d/b; idle; vanish d/a; foreign guard quiet; restart; sync d/b; state; "
     "pass 30000; sync d/b; state",
     "10.0.0.0[not guarded] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] "
     "held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; 10.0.0.1[d/b] held 80/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"orphanGrace: an address without a name, and no Service is left",
     "director; svc d/a; idle; vanish d/a; foreign guard quiet; restart; left; pass 29000; state; "
     "pass 2000; state; drift",
     "10.0.0.0[not guarded] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; drift(0) "},
    {"orphanGrace: the same with IPVS, and an address on a link",
     "director; svc d/a fam=46 mode=ipvs-dr; idle; vanish d/a; foreign guard quiet; restart; left; "
     "pass 31000; state",
     ""},
    {"orphanGrace: the same, told in report mode",
     "director report; svc d/a; idle; vanish d/a; foreign guard quiet; restart; left; pass 31000; "
     "state; svc d/b; sync; state",
     "10.0.0.0[not guarded] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "
     "10.0.0.0[d/b] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"orphanGrace: refused once, and tried again",
     "director; svc d/a; idle; vanish d/a; foreign guard quiet; restart; left; pass 29000; refuse "
     "transient 3; pass 2000; well; pass 4000; state",
     ""},
    {"orphanGrace: others put an address into the table later",
     "director; svc d/a; idle; pass 40000; foreign stranger; pass 2000; state; plan",
     TWO("10.0.0.0") "plan(0) "},
    {"orphanGrace: what another instance holds stays",
     "director; svc d/a; idle; pass 40000; foreign instance 10.9.9.9; sync; pass 2000; sync; state",
     TWO("10.0.0.0") "10.9.9.9[not guarded] held; "},
    {"orphanGrace: without a director's thread",
     "svc d/a; idle; vanish d/a; foreign guard quiet; restart; left; state", ""},
    {"IPVS: destinations that a sync of another Service has not read are no drift",
     "director; svc d/a mode=ipvs-dr; svc d/b; idle; pass 2000; foreign slots quiet; sync d/b; "
     "foreign bump; pass 1; drift; check; state",
     "drift(0) 10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80g1 n2:80g1 <0.0.0.0/0; 10.0.0.1[d/b] held "
     "80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"a program that changes the same in a loop is told of once a minute, and put right each time",
     "director; svc d/a; idle; pass 2000; foreign guard; pass 2000; foreign guard; pass 2000; "
     "foreign guard; pass 2000; foreign guard; pass 2000; foreign guard; pass 2000; foreign guard; "
     "pass 2000; foreign guard; pass 2000; foreign guard; pass 2000; state; drift; pass 46000; "
     "foreign guard; pass 2000; foreign guard; pass 2000; drift; pass 200000; foreign guard; pass "
     "2000; state",
     GUARD RIGHT GUARD RIGHT GUARD RIGHT GUARD RIGHT GUARD RIGHT OFTEN("6") RIGHT TWO(
         "10.0.0.0") "drift(8) " OFTEN("8") RIGHT "drift(2) " GUARD RIGHT TWO("10.0.0.0")},
    {"A21 the pool shrinks: told once after the start",
     "director; svc d/a; idle; pool [10.0.0.4/30]; restart; sync; sync; state; plan",
     "event(d/a AddressOutsidePools: 10.0.0.0 is in no pool any more; it is kept until annotation "
     "local.trimtab.io/move is \"true\") " TWO("10.0.0.0") "plan(0) "},
    {"L28 another host answers",
     "director; neighbour 10.0.0.0 9; neighbour 10.1.0.1 7; svc d/a; sync; asked; pass 2000; "
     "asked; "
     "neighbour 10.0.0.0 0; pass 50000; asked; pass 15000; asked; pass 120000; asked",
     "event(d/a AddressInUse: 10.0.0.0 answers from 02:00:00:00:01:09; not announced) again(d/a) "
     "again(d/a) "},
    {"another host does not answer: no sync only to look",
     "director; svc d/a; sync; pass 600000; asked", ""},
    {"L29 a node answers",
     "director; neighbour 10.0.0.0 7; neighbour 10.1.0.1 7; svc d/a; sync; pass 2000",
     "event(d/a AddressInUse: 10.0.0.0 answers from 02:00:00:00:01:07; not announced; node "
     "10.1.0.1 "
     "answers ARP for it: set arp_ignore=1, arp_announce=2 there) "},
    {"F12 sysctls, at the start and every ten minutes",
     "director; svc d/a; idle; sysctl net.ipv4.conf.all.arp_ignore 1; pass 10; pass 599000; sysctl "
     "net.ipv4.ip_forward 0; pass 2000; pass 600000; sysctl net.ipv4.conf.all.arp_ignore 0; "
     "sysctl net.ipv4.ip_forward 1; pass 600000; sysctl net.ipv4.ip_forward 0; pass 600000",
     "log(net.ipv4.conf.all.arp_ignore is 1: the kernel does not answer ARP for addresses that are "
     "held, trimtab does while it runs (sysctl -w net.ipv4.conf.all.arp_ignore=0)) "
     "log(net.ipv4.ip_forward is 0: this machine "
     "forwards nothing (sysctl -w net.ipv4.ip_forward=1)) log(net.ipv4.ip_forward is 0: this "
     "machine forwards nothing (sysctl -w net.ipv4.ip_forward=1)) "},
    {"F12 sysctls of one link",
     "director; svc d/a; idle; sysctl net.ipv4.conf.eth0.arp_ignore 2; pass 10; pass 600000; "
     "sysctl "
     "net.ipv4.conf.eth0.arp_ignore 0; pass 600000",
     "log(net.ipv4.conf.eth0.arp_ignore is 2: the kernel does not answer ARP for addresses that "
     "are "
     "held, trimtab does while it runs (sysctl -w net.ipv4.conf.eth0.arp_ignore=0)) "},
    {"redirects, where clients and targets are on one network",
     "director; svc d/a; idle; sysctl net.ipv4.conf.eth0.send_redirects 1; pass 10; sysctl "
     "net.ipv4.conf.eth0.send_redirects 0; pass 600000",
     "log(net.ipv4.conf.eth0.send_redirects is 1: clients on the network of their targets are told "
     "to send past this machine (sysctl -w net.ipv4.conf.eth0.send_redirects=0)) "},
    {"… not with ipvs-dr, which rewrites nothing",
     "pool [10.0.0.0/29], mode: ipvs-dr; director; svc d/a; idle; sysctl "
     "net.ipv4.conf.eth0.send_redirects 1; pass 10",
     ""},
    {"F10 connection tracking is full",
     "director; svc d/a; idle; sysctl net.netfilter.nf_conntrack_max 100000; sysctl "
     "net.netfilter.nf_conntrack_count 50000; pass 11000; figures local_conntrack_ratio; sysctl "
     "net.netfilter.nf_conntrack_count 90000; pass 30000; figures local_conntrack_ratio",
     "local_conntrack_ratio=0.5 log(connection tracking is 90 % full: new connections will be "
     "dropped (sysctl -w net.netfilter.nf_conntrack_max=…)) local_conntrack_ratio=0.9 "},
    {"figures",
     "director; svc d/a; svc d/b fam=6; idle; pass 11000; figures local_addresses; figures "
     "local_frontends; figures local_targets; figures local_holds; figures "
     "local_addresses_outside_pools",
     "p IPv4 free=7 p IPv4 reserved=0 p IPv4 used=1 p IPv6 free=7 p IPv6 reserved=0 p IPv6 used=1 "
     "ipvs-dr=0 ipvs-fullnat=0 ipvs-nat=0 ipvs-tunnel=0 nft=2 draining=0 ejected=0 idle=0 up=4 "
     "announced=2 "
     "exported=0 offered=0 quiet=0 local_addresses_outside_pools=0 "},
    {"figures of what drains, and of what others may hold",
     "director; spare 20000; svc d/a mode=ipvs-nat; svc d/b; idle; pass 2000; active 3 10.1.0.2; "
     "nodes n1; sync; pass 11000; figures local_targets; figures local_holds; forbid; pass 40000; "
     "figures local_holds",
     "draining=2 ejected=0 idle=0 up=2 announced=2 exported=0 offered=0 quiet=0 announced=0 "
     "exported=0 offered=2 quiet=0 "},
    {"traffic of Services in ipvs modes",
     "director; svc d/a mode=ipvs-fullnat ports=80/TCP/30080,81/TCP/30081; svc d/b; idle; stats; "
     "traffic 10.0.0.0 80 3 300 900; traffic 10.0.0.0 81 1 50 60; pass 11000; figures "
     "local_service_bytes_total; figures local_service_connections_total; traffic 10.0.0.0 80 5 "
     "400 1000; pass 10000; figures local_service_bytes_total; figures "
     "local_service_connections_total",
     "d a in=350 d a out=960 d a=4 d a in=450 d a out=1060 d a=6 "},
    {"… a virtual service that was made anew counts from 0",
     "director; svc d/a mode=ipvs-fullnat; idle; stats; traffic 10.0.0.0 80 3 300 900; pass 11000; "
     "traffic 10.0.0.0 80 1 10 20; pass 10000; figures local_service_bytes_total; figures "
     "local_service_connections_total",
     "d a in=310 d a out=920 d a=4 "},
    {"… not without the flag, at no request",
     "director; svc d/a mode=ipvs-fullnat; idle; traffic 10.0.0.0 80 3 300 900; pass 11000; "
     "figures local_service_bytes_total",
     ""},
    {"figures of an allocator",
     "pool [10.0.0.0/29]; config role: allocator|releaseDelay: 0s; svc d/a; sync; figures "
     "local_addresses; delete d/a; sync; sync; figures local_addresses",
     "p IPv4 free=7 p IPv4 reserved=0 p IPv4 used=1 p IPv4 free=8 p IPv4 reserved=0 p IPv4 "
     "used=0 "},
    {"told again when it happens again",
     "director; svc d/a; idle; pass 2000; foreign guard; pass 2000; foreign guard; pass 2000; "
     "drift",
     TOLD "guard 10.0.0.0 is missing" RIGHT TOLD "guard 10.0.0.0 is missing" RIGHT "drift(2) "},
    {"events are lost",
     "director; svc d/a; idle; pass 2000; foreign hold 10.0.0.0; foreign open; foreign lost; "
     "pass 2000; check; state; drift",
     TOLD "source ranges 10.0.0.0:80/tcp is missing" RIGHT TOLD
          "hold 10.0.0.0 is missing" RIGHT TWO("10.0.0.0") "drift(2) "},
    {"another table", "director; svc d/a; idle; pass 2000; writes; foreign bump; pass 9000; writes",
     "writes(4) writes(0) "},
    {"the kernel refuses: tried again",
     "director; svc d/a; idle; pass 2000; foreign guard; refuse transient 4; pass 1; state; pass "
     "3000; check; state; drift",
     TOLD "guard 10.0.0.0 is missing" RIGHT
          "10.0.0.0[not guarded] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; " TWO(
              "10.0.0.0") "drift(1) "},
    {"two share an address; a hold and a guard go",
     "director; svc d/a share=k; svc d/b share=k ports=81/TCP/30081 created=2; idle; pass 2000; "
     "writes; foreign hold 10.0.0.0; pass 2000; foreign guard; pass 2000; check; state; writes; "
     "pass 600000; writes",
     "writes(4) " TOLD "hold 10.0.0.0 is missing" RIGHT
     "event(d/b LoadBalancerDrift: others changed this machine's kernel: hold 10.0.0.0 is "
     "missing" RIGHT TOLD "guard 10.0.0.0 is missing" RIGHT
     "event(d/b LoadBalancerDrift: others changed this machine's kernel: guard 10.0.0.0 is "
     "missing" RIGHT "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat 81/tcp "
     "rr4 n1:30081*2 n2:30081*2 <0.0.0.0/0 snat; writes(2) writes(0) "},
    {"other interfaces: announced there, and there alone",
     "director; svc d/a; svc d/b fam=6; sync; pass 10000; announced 10.0.0.0; announced fd00::; "
     "svc "
     "d/a @interfaces=eth7; svc d/b fam=6 @interfaces=eth7; sync; pass 130000; announced 10.0.0.0; "
     "announced fd00::; svc d/a; svc d/b fam=6; sync; pass 10000; announced 10.0.0.0; announced "
     "fd00::; state",
     "announced(5) announced(5) announced(5) announced(5) announced(10) announced(10) "
     "10.0.0.0[d/a] held 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; fd00::[d/b] held on "
     "link 80/tcp rr4 n1:30080*2 n2:30080*2 <::/0 snat; "},
    {"an INVALID Service keeps its guard",
     "director; svc d/a; idle; pass 2000; svc d/a sched=lc; sync; foreign guard; pass 2000; state",
     "d/a!invalid(scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh) " TOLD
     "guard 10.0.0.0 is missing" RIGHT TWO("10.0.0.0")},
    {"ipvs: of a refused edit destinations that go are deleted, too",
     "director; svc d/a mode=ipvs-dr; idle; pass "
     "2000; svc d/a mode=ipvs-dr pool=q; nodes n1; sync; upkeep; state; pass 5000; state; writes; "
     "pass 20000; writes",
     "d/a!invalid(pool \"q\" is not configured (there are: p)) 10.0.0.0[d/a] held 80/tcp ipvs-rr "
     "n1:80g1 n2:80g0 <0.0.0.0/0; " ONE_OF_IPVS "writes(10) writes(0) "},
    {"ipvs: they drain when the edit comes that is refused",
     "director; svc d/a mode=ipvs-dr; idle; nodes n1; "
     "sync; svc d/a mode=ipvs-dr pool=q; sync; pass 5000; state",
     "d/a!invalid(pool \"q\" is not configured (there are: p)) " ONE_OF_IPVS},
    {"ipvs: connections are waited for, and another process goes on",
     "director; svc d/a mode=ipvs-dr; idle; active 1 "
     "10.1.0.2; nodes n1; sync; pass 20000; state; svc d/a mode=ipvs-dr pool=q; restart; sync; "
     "upkeep; pass 20000; state; active 0 10.1.0.2; pass 3000; state",
     "10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80g1 n2:80g0 <0.0.0.0/0; d/a!invalid(pool \"q\" "
     "is not configured (there are: p)) 10.0.0.0[d/a] held 80/tcp ipvs-rr n1:80g1 n2:80g0 "
     "<0.0.0.0/0; " ONE_OF_IPVS},
    {"ipvs: a mode that is left behind",
     "director; svc d/a mode=ipvs-dr; idle; svc d/a; "
     "sync; svc d/a pool=q; sync; pass 5000; state",
     "d/a!invalid(pool \"q\" is not configured (there are: p)) 10.0.0.0[d/a] held 80/tcp rr4 "
     "n1:30080*2 n2:30080*2 <0.0.0.0/0 snat; "},
    {"others have a route: not tried again at once; another look when it goes",
     "director; foreign taken 10.0.0.0; svc d/a; sync; writes; sync; writes; state; pass 2000; "
     "foreign freed "
     "10.0.0.0; pass 10; state; idle; check; status d/a",
     "d/a!transient(hold 10.0.0.0: 10.0.0.0: another program has a route for it) writes(4) "
     "d/a!transient(10.0.0.0: "
     "another program has a route for it) writes(0) 10.0.0.0[d/a] 80/tcp rr4 n1:30080*2 n2:30080*2 "
     "<0.0.0.0/0 snat; " TWO("10.0.0.0") "d/a=10.0.0.0 "},
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

/* The allocator's wait: only where the directors are other processes. */
static void release__of_an_allocator__waits_for_directors(void **state)
{
    static struct flow_kit k;
    struct err err = ERR_INIT;

    (void)state;
    flow_kit_begin(&k);
    (void)flow_kit_run(&k, "svc d/a; idle");
    struct local_provider *p = k.p;
    assert_int_equal(local_release_wait(p, "d/a", &err), ERR_OK); /* role all */
    struct local_config config = *p->config;
    config.role = LOCAL_ROLE_ALLOCATOR;
    config.release_delay_ms = 2000;
    p->config = &config;
    assert_int_equal(local_release_wait(p, "d/a", &err), ERR_IN_PROGRESS);
    assert_int_equal(err.retry_after_ms, 2000);
    clock_fake_advance(k.clock, 1999);
    assert_int_equal(local_release_wait(p, "d/a", &err), ERR_IN_PROGRESS);
    assert_int_equal(err.retry_after_ms, 1);
    clock_fake_advance(k.clock, 1);
    assert_int_equal(local_release_wait(p, "d/a", &err), ERR_OK);
    local_release_over(p, "d/a"); /* it is made again, and goes again */
    assert_int_equal(local_release_wait(p, "d/a", &err), ERR_IN_PROGRESS);
    flow_kit_end(&k);
}

static void dump__says_what_the_kernel_has(void **state)
{
    static struct flow_kit k;
    struct err err = ERR_INIT;
    const char *text = NULL;

    (void)state;
    flow_kit_begin(&k);
    (void)flow_kit_run(&k, "svc d/a ranges=192.0.2.0/24; idle");
    assert_int_equal(local_state_dump(k.p, k.a, &text, &err), ERR_OK);
    static const char *const words[] = {
        "\"whole\":true",     "\"service\":\"d\\/a\"", "\"frontend\":\"10.0.0.0:80\\/tcp\"",
        "\"10.1.0.1:30080\"", "\"192.0.2.0\\/24\"",    "\"held\":true"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strstr(text, words[i]) == NULL) {
            fail_msg("no %s in %s", words[i], text);
        }
    }
    flow_kit_end(&k);
}

static const char *estimation_among(struct flow_kit *k, unsigned dests)
{
    enum { EACH = 50 };

    flow_kit_begin(k);
    (void)flow_kit_run(k, "pool [10.0.0.0/29], mode: ipvs-fullnat; director; svc d/a; idle; sysctl "
                          "net.ipv4.vs.run_estimation 1");
    struct local_provider *p = k->p;
    for (unsigned i = 0; i < dests; i++) {
        struct local_ipvs_change c = {
            .what = LOCAL_IPVS_ADD_DEST,
            .service.id = {.vip = {.len = 4,
                                   .bytes = {10, 9, (uint8_t)(i / EACH / 256),
                                             (uint8_t)(i / EACH)}},
                           .protocol = LOCAL_TCP,
                           .port = 80},
            .dest = {.addr = {.len = 4, .bytes = {10, 1, 0, (uint8_t)(i % EACH)}}, .weight = 1}};
        if (i % EACH == 0) {
            local_mirror_ipvs_there(p->mirror, &c.service);
        }
        local_mirror_ipvs_change(p->mirror, &c, 0);
    }
    str_buf_reset(&k->out);
    local_machine_look(p);
    local_machine_look(p); /* said once */
    const char *said = str_buf_to_arena(&k->out, k->a);
    return said;
}

/* d/a has two more.  The estimator walks all destinations every two seconds. */
static void estimation__of_many_targets__is_advised_against(void **state)
{
    static struct flow_kit k;

    (void)state;
    assert_string_equal(estimation_among(&k, 49998), "");
    flow_kit_end(&k);
    assert_string_equal(estimation_among(&k, 49999),
                        "log(net.ipv4.vs.run_estimation is 1: the kernel estimates the rates of "
                        "all of more than 50,000 targets (sysctl -w "
                        "net.ipv4.vs.run_estimation=0)) ");
    /* With counters that are read it is needed. */
    ((struct local_provider *)k.p)->service_stats = true;
    fake_kernel_sysctl(k.kernel, "net.ipv4.vs.run_estimation", 0);
    str_buf_reset(&k.out);
    local_machine_look(k.p);
    assert_string_equal(str_buf_text(&k.out),
                        "log(net.ipv4.vs.run_estimation is 0: --local-service-stats counts nothing "
                        "(sysctl -w net.ipv4.vs.run_estimation=1)) ");
    flow_kit_end(&k);
}

UNIT_MAIN(watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_rows),
        cmocka_unit_test(release__of_an_allocator__waits_for_directors),
        cmocka_unit_test(estimation__of_many_targets__is_advised_against),
        cmocka_unit_test(dump__says_what_the_kernel_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
