#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""IPVS as the provider local writes it, on a real kernel: ipvsadm judges it, and packets go through it.

    local_test.py BUILD KERNEL_TOOL GUEST_INIT GUEST_PEER TRIMTAB_SIM TRIMTAB      (TAP; skipped where a piece of the guest is absent)

One boot for everything.  In each case kernel-tool does what its lines say; the same lines are given to the kernel in memory, which must
answer the same and print the same services.  At the end trimtab itself serves Services of trimtab-sim in all modes.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import beside  # noqa: E402  pylint: disable=wrong-import-position
import guest  # noqa: E402  pylint: disable=wrong-import-position
import packets  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

PERSISTENT, ONE_PACKET, FALLBACK, PORT = 1, 4, 8, 16
FRONT = "10.0.0.0 tcp 80"


def service(front=FRONT, scheduler="rr", flags=0, timeout=0):
    return f"add {front} {scheduler} {flags} {timeout}"


def dests(how, front=FRONT, port=None, weights=(1, 1)):
    port = port or (30080 if how == "nat" else front.split()[2])
    six = ":" in front
    return "".join(f" + add-dest {front} {'fd00:1::' if six else '10.1.0.'}{i + 1} {port} {how} {w}" for i, w in enumerate(weights))


def saved(how, port, at="-t 10.0.0.0:80", node="10.1.0.{}", weights=(1, 1)):
    where, _, more = how.partition(" ")
    return [f"-a {at} -r {node.format(i + 1)}:{port} {where} -w {w}{' ' + more if more else ''}" for i, w in enumerate(weights)]


RR = ["-A -t 10.0.0.0:80 -s rr"]
# name: (commands, what `ipvsadm -Sn` prints)
CASES = {
    "nat": ([f"ipvs {service()}{dests('nat')}"], RR + saved("-m", 30080)),
    "dr": ([f"ipvs {service()}{dests('dr')}"], RR + saved("-g", 80)),
    "tunnel gue": ([f"ipvs {service()}{dests('gue')}"], RR + saved("-i --tun-type gue --tun-port 6080 --tun-nocsum", 80)),
    "tunnel ipip": ([f"ipvs {service()}{dests('ipip')}"], RR + saved("-i --tun-type ipip", 80)),
    "tunnel gre": ([f"ipvs {service()}{dests('gre')}"], RR + saved("-i --tun-type gre --tun-nocsum", 80)),
    "mh": ([f"ipvs {service(scheduler='mh', flags=FALLBACK | PORT)}"], ["-A -t 10.0.0.0:80 -s mh -b mh-fallback,mh-port"]),
    "mh with affinity": ([f"ipvs {service(scheduler='mh', flags=FALLBACK | PERSISTENT, timeout=10800)}"],
                         ["-A -t 10.0.0.0:80 -s mh -p 10800 -b mh-fallback"]),
    "sh": ([f"ipvs {service(scheduler='sh', flags=FALLBACK)}"], ["-A -t 10.0.0.0:80 -s sh -b sh-fallback"]),
    "affinity": ([f"ipvs {service(flags=PERSISTENT, timeout=60)}"], ["-A -t 10.0.0.0:80 -s rr -p 60"]),
    "udp": ([f"ipvs {service('10.0.0.0 udp 53')}"], ["-A -u 10.0.0.0:53 -s rr"]),
    "udp one packet": ([f"ipvs {service('10.0.0.0 udp 53', flags=ONE_PACKET)}"], ["-A -u 10.0.0.0:53 -s rr -o"]),
    "tcp and udp": ([f"ipvs {service('10.0.0.0 tcp 53')} + {service('10.0.0.0 udp 53')}"], ["-A -t 10.0.0.0:53 -s rr", "-A -u 10.0.0.0:53 -s rr"]),
    "IPv6": ([f"ipvs {service('2001:db8::100 tcp 80')}{dests('nat', '2001:db8::100 tcp 80', weights=(1, 3))}"],
             ["-A -t [2001:db8::100]:80 -s rr"] + saved("-m", 30080, "-t [2001:db8::100]:80", "[fd00:1::{}]", (1, 3))),
    "IPv6 affinity": ([f"ipvs {service('2001:db8::100 tcp 80', flags=PERSISTENT, timeout=60)}"], ["-A -t [2001:db8::100]:80 -s rr -p 60"]),
    "port of the node changes": ([f"ipvs {service()}{dests('nat')}", f"ipvs {dests('nat', port=30081)[3:]}",
                                  "ipvs " + " + ".join(f"set-dest {FRONT} 10.1.0.{i} 30080 nat 0" for i in (1, 2)),
                                  f"ipvs-read {FRONT}", f"ipvs del-dest {FRONT} 10.1.0.1 30080 + del-dest {FRONT} 10.1.0.2 30080"],
                                 RR + saved("-m", 30081)),
    "scheduler changes": ([f"ipvs {service()}{dests('nat')}", f"ipvs set {FRONT} wlc 0 0", f"ipvs-read {FRONT}"],
                          ["-A -t 10.0.0.0:80 -s wlc"] + saved("-m", 30080)),
    "method changes": ([f"ipvs {service()}{dests('nat', port=80)}", f"ipvs set-dest {FRONT} 10.1.0.1 80 dr 1", f"ipvs-read {FRONT}"],
                       RR + saved("-g", 80, weights=(1,)) + saved("-m", 80)[1:]),
    "refusals": ([f"ipvs-read {FRONT}", f"ipvs {service(scheduler='fo')}", f"ipvs set {FRONT} rr 0 0", f"ipvs del {FRONT}",
                  f"ipvs add-dest {FRONT} 10.1.0.1 80 nat 1", f"ipvs del-dest {FRONT} 10.1.0.1 80",
                  f"ipvs {service()}{dests('nat')}{dests('nat')} + {service()}", f"ipvs set-dest {FRONT} 10.1.0.9 80 nat 1",
                  f"ipvs add-dest {FRONT} 10.1.0.9 81 dr 1", f"ipvs add-dest {FRONT} fd00::1 80 nat 1",
                  f"ipvs add-dest {FRONT} 127.0.0.1 80 nat 1", "ipvs add 10.0.0.0 tcp 0 rr 0 0", f"ipvs del-dest {FRONT} 10.1.0.9 80",
                  f"ipvs-read {FRONT}", "ipvs-services", f"ipvs del {FRONT} + {service(scheduler='wrr')}", "ipvs-services", "ipvs-look"],
                 ["-A -t 10.0.0.0:80 -s wrr"]),
    "many": (["ipvs " + " + ".join(f"add 10.0.{i // 200}.{i % 200 + 1} tcp 80 rr 0 0" for i in range(300)),
              "ipvs " + " + ".join(f"del 10.0.{i // 200}.{i % 200 + 1} tcp 80" for i in range(1, 300)), "ipvs-services"],
             ["-A -t 10.0.0.1:80 -s rr"]),
    "connection sync": (["ipvs-daemons", "ipvs-daemon start master lo 7", "ipvs-daemon start backup lo 7", "ipvs-daemons",
                         "ipvs-daemon start master lo 8", "ipvs-daemon stop master lo 7", "ipvs-daemon stop master lo 7",
                         "ipvs-daemon start master lo 8", "ipvs-daemons"],
                        ["backup sync daemon (mcast=lo, syncid=7", "master sync daemon (mcast=lo, syncid=8"]),
    "table": (["make", "check", "check mark 4096", "remake mark 4096", "check mark 4096", "check", "remake drop", "check drop", "check", "remove"], []),
    "beside others": ([f"ipvs {service()}", "ipvs-services"], RR + ["-A -t 10.5.5.5:80 -s rr"] + saved("-m", 80, "-t 10.5.5.5:80", weights=(1,)) +
                      ["-A -f 7 -s rr"]),
}
BEFORE = {"connection sync": "ip addr add 192.0.2.99/32 dev lo\n",
          "beside others": "printf '%s\\n' '-A -t 10.5.5.5:80 -s rr' '-a -t 10.5.5.5:80 -r 10.1.0.1:80 -m -w 1' '-A -f 7 -s rr' | ipvsadm -R\n"}


# --- packets --------------------------------------------------------------------------------------------------

VIP, CLIENT, DIRECTOR = "198.51.100.50", "192.0.2.10", "192.0.2.1"
NODES = {"n1": "192.0.2.11", "n2": "192.0.2.12"}
# A port of the VIP for each mode; the ways that packets go are those of docs/providers/local.md.
WAYS = {80: "nat", 81: "dr", 82: "ipip"}
NETWORK = f"""\
for room in lan d c n1 n2; do ip netns add p-$room; ip -n p-$room link set lo up; done
ip -n p-lan link add br0 type bridge
ip -n p-lan link set br0 up
join() {{
    ip link add to-$1 netns p-lan type veth peer name eth0 netns p-$1 && ip -n p-lan link set to-$1 master br0 up &&
    ip -n p-$1 addr add $2/24 dev eth0 && ip -n p-$1 link set eth0 up
}}
join d {DIRECTOR} && join c {CLIENT} && join n1 {NODES["n1"]} && join n2 {NODES["n2"]} || exit 1
ip -n p-c route add {VIP}/32 via {DIRECTOR}
for n in n1 n2; do
    ip -n p-$n link set tunl0 up || exit 1
    ip netns exec p-$n nft -f /t/node-$n || exit 1
done
in="ip netns exec p-d"
$in sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/vs/conntrack; echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects'
echo "== packets tool"
$in kernel-tool real </t/packets
echo "== packets heard"
guest_peer </t/plan
# The kernel adds up its counters every two seconds.
tries=0
until $in ipvsadm -Ln --stats --exact | grep -q "^TCP.*:82  *4 " || [ $tries -ge 120 ]; do tries=$((tries + 1)); sleep 0.5; done
echo "== packets counted"
$in ipvsadm -Ln --stats --exact
echo "== packets traffic"
echo ipvs-traffic | $in kernel-tool real
"""
# As kube-proxy on a node: the VIP is translated before anybody asks whose it is.
NODE = """table ip proxy {{
 chain pre {{
  type nat hook prerouting priority dstnat; policy accept;
  ip daddr {} tcp dport {{ 81, 82 }} dnat to {}:30080
 }}
}}
"""


def packet_lines():
    lines = ["make", f"+ vip {VIP} d/a"]
    for port, how in WAYS.items():
        front = f"{VIP} tcp {port}"
        lines.append(f"ipvs {service(front)}" + "".join(f" + add-dest {front} {a} {30080 if how == 'nat' else port} {how} 1" for a in NODES.values()))
        lines.append(f"+ open {front} 0.0.0.0/0")
        if how == "nat":
            lines.append(f"+ snat {front}")
    return lines + ["commit", f"hold {VIP}"]


def packet_plan():
    lines = [f"listen p-{n} tcp {a} 30080" for n, a in NODES.items()]
    lines += [f"ask {port}.{i} p-c tcp {CLIENT} {VIP} {port}" for port in list(WAYS) + [83] for i in range(4)]
    lines += [f"probe p-c tcp {CLIENT} {a} 30080" for a in NODES.values()]
    return "".join(line + "\n" for line in lines)


def packet_differences(said):
    if ("packets", "traffic") not in said:
        return ["the script did not come that far"]
    wrong = [line for line in said["packets", "tool"] if line != "ok" and not re.fullmatch(r"ok( ok)*", line)]
    heard = {}
    for line in said["packets", "heard"]:
        name, _, what = line.partition(" ")
        heard.setdefault(int(name.split(".")[0]), []).append(what)
    for port, how in WAYS.items():
        seen = DIRECTOR if how == "nat" else CLIENT
        want = sorted(2 * [f"answered {a}:30080 {seen}" for a in NODES.values()])
        if sorted(heard.get(port, [])) != want:
            wrong.append(f"{how}: {sorted(heard.get(port, []))}, not {want}")
    if heard.get(83) != 4 * ["refused"]:
        wrong.append(f"a port that nobody opened: {heard.get(83)}")
    counted = set()
    for line in said["packets", "counted"]:  # connections, packets in, packets out, bytes in, bytes out
        found = re.match(rf"TCP +({VIP}:\d+) +(\d+) +\d+ +\d+ +(\d+) +(\d+)", line)
        counted |= {f"{found[1]}/tcp {found[2]} {found[3]} {found[4]}"} if found else set()
    if counted != set(said["packets", "traffic"]) - {"ok"} or not any(" 4 " in line for line in counted):
        wrong.append(f"ipvsadm counts {sorted(counted)}, ipvs_traffic {said['packets', 'traffic']}")
    for line in said["packets", "counted"]:
        found = re.match(rf"TCP +{VIP}:8([12]) +\d+ +\d+ +(\d+)", line)
        if found and found[2] != "0":
            wrong.append(f"answers of port 8{found[1]} pass the director: {line}")
    return wrong


# --- the product ----------------------------------------------------------------------------------------------

CONFIG = """apiVersion: local.trimtab.io/v1
pools:
- name: p
  addresses: [10.0.0.0/24, "2001:db8::100/120"]
  mode: ipvs-nat
  announce: {by: none}
director: {directorIsGateway: true, tunnel: {type: gue, port: 6080}, checks: {cluster: none, local: none}}
"""
PRODUCT = """\
$in sh -c 'for s in expire_nodest_conn expire_quiescent_template conn_reuse_mode; do echo 1 >/proc/sys/net/ipv4/vs/$s; done'
$in sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
$in ipvsadm -C; $in nft delete table inet trimtab; ip -n p-d route flush table local proto 116
FOREIGN
KEEPALIVED BEFORE
: >/tmp/trimtab; : >/tmp/again  # there when the first look at them comes before the program that writes them
$in trimtab-sim --cloud=none --port=8811 --seed=1 --ip-families=IPv4,IPv6 --world=/t/world --write-kubeconfig=/tmp/kubeconfig >/tmp/sim 2>&1 &
until [ -s /tmp/kubeconfig ] || ! kill -0 $!; do sleep 0.1; done
echo "== product plan"
$in trimtab plan --cloud-provider=local --cloud-config=/t/config --kubeconfig=/tmp/kubeconfig -o json 2>/tmp/plan
$in trimtab --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config --kubeconfig=/tmp/kubeconfig >/tmp/trimtab 2>&1 &
trimtab=$!
tries=0
until [ "$(grep -c '"Synced"' /tmp/trimtab)" -ge SERVICES ] || ! kill -0 $trimtab || [ $tries -ge 60 ]; do tries=$((tries + 1)); sleep 0.5; done
KEEPALIVED AFTER
echo "== product saved"; $in ipvsadm -Sn
echo "== product table"; $in nft -j list table inet trimtab; ip -j -n p-d route show table local proto 116
echo "== product set"; $in nft list set inet trimtab scope4; $in nft list set inet trimtab snat4
echo "== product packets"; guest_peer </t/product
# A restart when all is in order: neither IPVS nor nf_tables nor routes are written.
tries=0
until $in trimtab plan --cloud-provider=local --cloud-config=/t/config --kubeconfig=/tmp/kubeconfig >/tmp/second 2>&1 || [ $tries -ge 20 ]; do
    tries=$((tries + 1)); sleep 0.5
done
echo "== restart plan"; tail -n 3 /tmp/second
kill $trimtab; wait $trimtab
looks() { $in ipvsadm -Sn; $in ipvsadm -Ln --stats; ip -n p-d route show table local proto 116; }
echo "== restart before"; looks
$in nft monitor >/tmp/changes 2>&1 &
monitor=$!
ip -n p-d monitor route address >>/tmp/routes 2>&1 &
routes=$!
$in trimtab -v=2 --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config --kubeconfig=/tmp/kubeconfig >/tmp/again 2>&1 &
trimtab=$!
tries=0
until [ "$(grep -c '"Synced"' /tmp/again)" -ge SERVICES ] || ! kill -0 $trimtab || [ $tries -ge 120 ]; do tries=$((tries + 1)); sleep 0.5; done
echo "== restart after"; looks
kill $monitor $routes $trimtab; wait $trimtab
echo "== restart synced"; grep -c '"Synced"' /tmp/again
echo "== restart changes"; grep -v '^# new generation' /tmp/changes; cat /tmp/routes
echo "== product log"; cat /tmp/plan /tmp/sim /tmp/trimtab /tmp/again
"""


def port_of(number, node_port, protocol="TCP"):
    return {"name": f"{protocol.lower()}{number}", "port": number, "nodePort": node_port, "protocol": protocol}


def sticky(seconds):
    return {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}}}


# K49, K50: services of others, outside the pools and by firewall mark.
FOREIGN = ["-A -t 10.5.5.5:80 -s rr", "-a -t 10.5.5.5:80 -r 192.0.2.11:80 -m -w 1", "-A -f 7 -s wlc", "-a -f 7 -r 192.0.2.12:0 -g -w 1"]
# (annotations below local.trimtab.io/, spec, mode of the lines, options of -A, port of the nodes)
SERVED = [
    ({}, {}, "-m", "-s rr", None),
    ({"mode": "ipvs-dr"}, {}, "-g", "-s rr", 80),
    ({"mode": "ipvs-tunnel"}, {}, "-i --tun-type gue --tun-port 6080 --tun-nocsum", "-s rr", 80),
    ({"mode": "ipvs-fullnat"}, {}, "-m", "-s rr", None),
    ({"scheduler": "mh"}, {}, "-m", "-s mh -b mh-fallback,mh-port", None),
    ({"scheduler": "mh"}, sticky(10800), "-m", "-s mh -p 10800 -b mh-fallback", None),
    ({"scheduler": "sh"}, {}, "-m", "-s sh -b sh-fallback", None),
    ({}, sticky(60), "-m", "-s rr -p 60", None),
]


def product_services():
    """(objects, lines that ipvsadm prints)"""
    objects, lines = [], []
    for i, (wishes, spec, how, options, port) in enumerate(SERVED):
        front = f"-t 10.0.0.{i + 1}:80"
        objects.append((f"s{i}", wishes, {"ports": [port_of(80, 30080 + i)], **spec}, f"10.0.0.{i + 1}"))
        lines += [f"-A {front} {options}"] + saved(how, port or 30080 + i, front, "192.0.2.1{}")
    for name, protocols, address, more, options in (("udp", ["UDP"], "10.0.0.21", {"udp-one-packet": "true"}, "-s rr -o"),
                                                    ("both", ["TCP", "UDP"], "10.0.0.22", {}, "-s rr")):
        objects.append((name, more, {"ports": [port_of(53, 30153 + len(objects) * 2 + k, p) for k, p in enumerate(protocols)]}, address))
        for port in objects[-1][2]["ports"]:
            front = f"-{port['protocol'][0].lower()} {address}:53"
            lines += [f"-A {front} {options}"] + saved("-m", port["nodePort"], front, "192.0.2.1{}")
    objects.append(("six", {}, {"ports": [port_of(80, 30190)], "ipFamilies": ["IPv6"]}, "2001:db8::101"))
    lines += ["-A -t [2001:db8::101]:80 -s rr"] + saved("-m", 30190, "-t [2001:db8::101]:80", "[fd00:1::{}]")
    objects += list(packets.services())
    lines += packets.saved()
    return objects, lines


def product_world():
    """Objects as an API server completes them."""
    services = [{"metadata": {"namespace": "demo", "name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-02T03:04:05Z", "annotations": {f"local.trimtab.io/{k}": v for k, v in
                                                                                {"addresses": address, **wishes}.items()}},
                 "spec": {"type": "LoadBalancer", "clusterIP": f"10.96.0.{i + 10}", "clusterIPs": [f"10.96.0.{i + 10}"], "ipFamilies": ["IPv4"],
                          "ipFamilyPolicy": "SingleStack", "externalTrafficPolicy": "Cluster", "sessionAffinity": "None", **spec}}
                for i, (name, wishes, spec, address) in enumerate(product_services()[0])]
    nodes = [{"metadata": {"name": f"n{i}"}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [
        {"type": "InternalIP", "address": f"192.0.2.1{i}"}, {"type": "InternalIP", "address": f"fd00:1::{i}"}]}} for i in (1, 2)]
    return json.dumps({"kubernetes": {"namespaces": [{"metadata": {"name": "demo"}}], "nodes": nodes, "services": services,
                                      "endpointslices": packets.slices()}})


def product_differences(said):
    if ("product", "log") not in said:
        return ["the script did not come that far"]
    want, got = sorted(product_services()[1] + FOREIGN), sorted(said["product", "saved"])
    wrong = [f"missing: {line}" for line in want if line not in got] + [f"too much: {line}" for line in got if line not in want]
    sets = " ".join(said["product", "set"])
    wrong += [f"not in the sets: {word}" for word in ("10.0.0.0/24", "10.0.0.4 . tcp . 80") if word not in sets]
    return wrong + ([f"sets: {sets}"] + shown(said["product", "log"][-30:]) if wrong else [])


def counters(lines):
    """({what is counted: its numbers}, the other lines) of `ipvsadm -L --stats`."""
    found = {}
    for line in lines:
        words = line.split()
        if words[:1] in (["TCP"], ["UDP"], ["->"]) and len(words) == 7 and all(word.isdigit() for word in words[2:]):
            found[" ".join(words[:2])] = [int(word) for word in words[2:]]
    return found, [line for line in lines if " ".join(line.split()[:2]) not in found]


def restart_differences(said):
    """Counters of destinations that were deleted and added again would begin anew; open connections go on counting."""
    if ("restart", "changes") not in said:
        return ["the script did not come that far"]
    (counted, before), (still, after) = counters(said["restart", "before"]), counters(said["restart", "after"])
    anew = [f"counted anew: {key} {counted[key]} {still.get(key)}" for key in counted
            if key not in still or any(new < old for old, new in zip(counted[key], still[key]))]
    wrong = [f"only before: {line}" for line in before if line not in after] + [f"only after: {line}" for line in after if line not in before]
    wrong += anew + [f"written: {line}" for line in said["restart", "changes"] if line]
    synced = said["restart", "synced"]
    wrong += [] if synced and int(synced[0]) >= len(product_services()[0]) else [f"synced: {synced}"]
    wrong += [] if any("Plan: nothing to do" in line for line in said["restart", "plan"]) else said["restart", "plan"]
    return wrong + (shown(said["product", "log"][-20:]) if wrong else [])


def planned(document):
    """{kind: names that the plan makes}, and the lines of `ipvsadm -Sn` that its fields tell, as far as they do."""
    names, schedulers, weights = {}, {}, {}
    for op in (op for s in document["services"] for op in s["operations"] or []):
        fields = {f["path"]: f["new"] for f in op.get("fields", [])}
        names.setdefault(op["kind"], set()).add(op["name"])
        if op["kind"] == "virtual service":
            schedulers[op["name"]] = fields["scheduler"]
        elif op["kind"] == "destination":
            weights[op["name"]] = fields["weight"]
    return names, schedulers, weights


def front_name(words):
    return words[1] + ("/tcp" if words[0] == "-t" else "/udp")


def plan_differences(said):
    """The plan of a process that has written nothing yet, against what the kernel has when it is carried out."""
    if ("product", "table") not in said:
        return ["the script did not come that far"]
    text = "\n".join(said["product", "plan"])
    if not text.startswith("{"):
        return ["the plan is no document", *shown(said["product", "plan"][:5])]
    names, schedulers, weights = planned(json.loads(text))
    lines = [line.split() for line in said["product", "saved"] if line not in FOREIGN]
    table, routes = (json.loads(line) for line in said["product", "table"][:2])
    sets = {k["name"]: k.get("elem", []) for item in table["nftables"] for kind in ("set", "map") if (k := item.get(kind))}
    wrong = []

    def compare(what, plan, kernel):
        if plan != kernel:
            wrong.append(f"{what}: only planned {sorted(set(plan) - set(kernel))[:4]}, only there {sorted(set(kernel) - set(plan))[:4]}, or unequal")
    compare("virtual services", schedulers, {front_name(w[1:]): w[w.index("-s") + 1] for w in lines if w[0] == "-A"})
    compare("destinations", weights, {f"{front_name(w[1:])} → {w[4]}": w[w.index("-w") + 1] for w in lines if w[0] == "-a"})
    vips = {e["elem"]["val"] if isinstance(e, dict) else e for family in "46" for e in sets["vip" + family]}
    compare("guards", names["guard"], vips)
    opened = set()
    for element in sets["all4"] + sets["all6"] + sets["from4"] + sets["from6"]:
        [address, protocol, port] = (element if "concat" in element else element["elem"]["val"])["concat"][:3]
        opened.add(f"[{address}]:{port}/{protocol}" if ":" in address else f"{address}:{port}/{protocol}")
    compare("source ranges", names["source ranges"], opened)
    compare("holds", {n for n in names["hold"] if ":" not in n}, {r["dst"] for r in routes})
    return wrong


# --- the guest ------------------------------------------------------------------------------------------------

def script(keepalived):
    text = "#!/bin/sh\nexport PATH=$PATH:/usr/bin\necho 1000000 >/proc/sys/net/ipv4/icmp_msgs_per_sec\n"
    text += "ip netns add k && ip -n k link set lo up && ip netns exec k sh /t/cases || exit 1\n"
    lines = product_services()[1]
    text += beside.FUNCTIONS + beside.alone(lines) if keepalived else ""
    product = PRODUCT.replace("SERVICES", str(len(product_services()[0])))
    product = product.replace("FOREIGN", "printf '%s\\n' " + " ".join(f"'{line}'" for line in FOREIGN) + " | $in ipvsadm -R")
    product = product.replace("KEEPALIVED BEFORE\n", beside.before(len(FOREIGN)) if keepalived else "")
    return text + NETWORK + packets.NETWORK + product.replace("KEEPALIVED AFTER\n", beside.after(len(lines + FOREIGN)) if keepalived else "")


def cases_script():
    """All in one namespace, emptied between them: one more namespace costs more than a case."""
    text = ""
    for i, name in enumerate(CASES):
        text += BEFORE.get(name, "")
        text += f"echo '== k{i} tool'\nkernel-tool real </t/k{i}\necho '== k{i} saved'\nipvsadm -Sn\nipvsadm -ln --daemon | sed 's/, maxlen.*//' | sort\nipvsadm -C\n"
        text += "for kind in master backup; do ipvsadm --stop-daemon $kind 2>/dev/null; done; true\n"
    return text


def shown(lines):
    return [line if len(line) < 300 else line[:300] + " …" for line in lines]


def in_memory(tool, lines):
    done = subprocess.run([tool, "fake"], input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def case_differences(tool, name, i, said):
    lines, want = CASES[name]
    real, memory = said[f"k{i}", "tool"], in_memory(tool, lines)
    if name == "beside others":
        memory = [*memory[:2], "10.0.0.0:80/tcp rr", "10.5.5.5:80/tcp rr", "ok"]
    wrong = [f"the kernel: {a!r}, in memory: {b!r}" for a, b in zip(real, memory) if a != b]
    if len(real) != len(memory):
        wrong.append(f"{len(real)} answers of the kernel, {len(memory)} in memory: {real[-3:]}, {memory[-3:]}")
    got = said[f"k{i}", "saved"]
    if sorted(got) != sorted(want):
        wrong += [f"ipvsadm: {line}" for line in got] + [f"wanted: {line}" for line in want]
    return wrong


def main(build, tool, init, peer, *programs):
    keepalived = beside.programs(build)
    try:
        machine = guest.Guest(build, init, [(peer, "/usr/bin/guest_peer"), (tool, "/usr/bin/kernel-tool"),
                                            *keepalived,
                                            *[(p, "/usr/bin/" + os.path.basename(p)) for p in programs]])
    except guest.Absent as why:
        return tap.skip(str(why))
    files = {"run": script(keepalived), "cases": cases_script(), "world": product_world(), "config": CONFIG, "plan": packet_plan(), "packets": "".join(line + "\n" for line in packet_lines())}
    files.update({f"k{i}": "".join(line + "\n" for line in lines) for i, (lines, _) in enumerate(CASES.values())})
    files.update({f"node-{n}": NODE.format(VIP, a) for n, a in NODES.items()})
    files.update({"keep-same": beside.config(product_services()[1]), "keep-others": beside.config(beside.OTHERS)})
    files.update({f"pods-{n}": packets.node_rules(n) for n in NODES}, product=packets.plan(), **{"await": packets.AWAIT})
    report = tap.Report()
    try:
        result = machine.run(files)
    except guest.Failed as error:
        report.check("the guest runs its script", [str(error), *error.log])
        return report.end()
    print(f"# the guest ran for {result.seconds:.1f} s, {result.cpu_seconds:.1f} s of a processor")
    said = guest.sections(result.output)
    report.check("the guest runs its script", [] if result.status == 0 else [f"exit {result.status}", *shown(result.output.splitlines()[-40:])])
    for i, name in enumerate(CASES):
        report.check(f"{name}: ipvsadm prints what was written, the kernel in memory answers the same", case_differences(tool, name, i, said))
    report.check("packets: nat with masquerade, dr, tunnel ipip", packet_differences(said))
    report.check("product: from Services to what ipvsadm prints", product_differences(said))
    report.check("product: a restart with everything in order writes nothing", restart_differences(said))
    report.check("product: the plan names what the kernel has afterwards", plan_differences(said))
    beside.check(report, said, product_services()[1], FOREIGN, not keepalived)
    packets.check(report, said.get(("product", "packets"), []))
    report.check("the kernel has nothing to say", [line for line in result.console.splitlines() if "IPVS:" in line and "scheduler" not in line and
                                                   "Registered" not in line and "onnection hash" not in line and "ipvs loaded" not in line])
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
