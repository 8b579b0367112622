# SPDX-License-Identifier: Apache-2.0
"""Packets through what trimtab makes of Services in IPVS: modes, schedulers, affinity, ranges, drain, and a change of mode.

    o 203.0.113.10 ── d (director) 192.0.2.1 ── lan ─┬─ c 192.0.2.10, .77 (clients)
                                                     └─ n1 192.0.2.11, n2 192.0.2.12 (nodes; their default route is d)

Part of local_test.py, which boots the guest.  Each Service has the address 10.0.0.NUMBER or 2001:db8::NUMBER.
"""
import collections
import json
import re

CLIENT, STRANGER, OUTSIDE, DIRECTOR = "192.0.2.10", "192.0.2.77", "203.0.113.10", "192.0.2.1"
NODES = {"n1": "192.0.2.11", "n2": "192.0.2.12"}
CLIENT6, DIRECTOR6 = "fd00:1::10", "fd00:1::f"
NODES6 = {"n1": "fd00:1::1", "n2": "fd00:1::2"}
API = 8811
FULLNAT, DR, TUNNEL = {"mode": "ipvs-fullnat"}, {"mode": "ipvs-dr"}, {"mode": "ipvs-tunnel"}
GUE = "-i --tun-type gue --tun-port 6080 --tun-nocsum"
STICKY = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 600}}}
SIX = {"ipFamilies": ["IPv6"]}
STAY, STAY_DR, MOVE, SORRY = 114, 115, 116, 117
SORRY_PORT, SORRY_NODE_PORT = 30998, 30317


class Case:
    """A Service and what is asked of it: `asks` from `source`, and the sorted numbers of answers per node."""

    def __init__(self, number, name, wishes, how="-m", options="-s rr", asks=4, shares=(2, 2), source=CLIENT, seen=DIRECTOR, port=80,
                 protocol="TCP", weights=(1, 1), **spec):
        self.number, self.name, self.wishes, self.how, self.options = number, name, wishes, how, options
        self.asks, self.shares, self.source, self.seen, self.port, self.protocol = asks, shares, source, seen, port, protocol
        self.weights, self.spec, self.six = weights, spec, spec.get("ipFamilies") == ["IPv6"]
        self.node_port = 30200 + number + (50 if self.six else 0)
        self.address = f"2001:db8::{number}" if self.six else f"10.0.0.{number}"
        self.nodes = NODES6 if self.six else NODES

    def front(self):
        return f"-{self.protocol[0].lower()} " + (f"[{self.address}]" if self.six else self.address) + f":{self.port}"

    def pod(self, node):
        return (f"[{self.nodes[node]}]" if self.six else self.nodes[node]) + f":{self.node_port}"


CASES = [
    Case(101, "nat", {"mode": "ipvs-nat"}, source=OUTSIDE, seen=OUTSIDE),
    Case(102, "full", FULLNAT),
    Case(103, "datagrams", FULLNAT, port=53, protocol="UDP"),
    Case(104, "dr", DR, "-g", seen=CLIENT),
    Case(105, "gue", TUNNEL, GUE, seen=CLIENT),
    Case(106, "sticky", FULLNAT, options="-s rr -p 600", asks=8, shares=(0, 8), **STICKY),
    Case(107, "wrr", {**FULLNAT, "scheduler": "wrr"}, options="-s wrr", asks=12, shares=(4, 8), weights=(2, 1), externalTrafficPolicy="Local",
         healthCheckNodePort=32107),
    Case(108, "lc", {**FULLNAT, "scheduler": "lc"}, options="-s lc", asks=8, shares=(4, 4)),
    Case(109, "wlc", {**FULLNAT, "scheduler": "wlc"}, options="-s wlc", asks=12, shares=(4, 8), weights=(2, 1), externalTrafficPolicy="Local",
         healthCheckNodePort=32109),
    Case(110, "sh", {**FULLNAT, "scheduler": "sh"}, options="-s sh -b sh-fallback", asks=8, shares=(0, 8)),
    Case(111, "mh", {**FULLNAT, "scheduler": "mh"}, options="-s mh -b mh-fallback,mh-port", asks=40, shares=None),
    Case(112, "ranges", FULLNAT, loadBalancerSourceRanges=[CLIENT + "/32"]),
    Case(113, "mh, sticky", {**FULLNAT, "scheduler": "mh"}, options="-s mh -p 600 -b mh-fallback", asks=8, shares=(0, 8), **STICKY),
    Case(STAY, "stay", FULLNAT, asks=0),
    Case(STAY_DR, "stay, dr", DR, "-g", asks=0),
    Case(MOVE, "move", {"mode": "nft", "snat": "always", "drain-timeout": "600s"}, how=None, asks=0),
    Case(112, "IPv6", FULLNAT, source=CLIENT6, seen=DIRECTOR6, **SIX),
    Case(113, "IPv6, dr", DR, "-g", source=CLIENT6, seen=CLIENT6, **SIX),
]


def name_of(case):
    return "p" + re.sub("[^a-z0-9]+", "-", case.name.lower())


def services():
    """(name, annotations, spec, address) as local_test.py has them."""
    for c in CASES:
        port = {"name": "p", "port": c.port, "nodePort": c.node_port, "protocol": c.protocol}
        yield name_of(c), c.wishes, {"ports": [port], **c.spec}, c.address


def saved():
    """What `ipvsadm -Sn` prints of them."""
    lines = []
    for c in CASES:
        if c.how is None:
            continue
        lines.append(f"-A {c.front()} {c.options}")
        for (node, _), weight in zip(c.nodes.items(), c.weights):
            real = c.pod(node) if c.how == "-m" else c.pod(node).rsplit(":", 1)[0] + f":{c.port}"
            way, _, more = c.how.partition(" ")
            lines.append(f"-a {c.front()} -r {real} {way} -w {weight}{' ' + more if more else ''}")
    return lines


def slices():
    """Of the Services with policy Local: two pods on n1, one on n2."""
    return [{"metadata": {"namespace": "demo", "name": name_of(c) + "-x", "labels": {"kubernetes.io/service-name": name_of(c)}}, "addressType": "IPv4",
             "ports": [{"name": "p", "port": 8080, "protocol": "TCP"}],
             "endpoints": [{"addresses": [f"10.2.0.{i}"], "nodeName": node, "conditions": {"ready": True}} for i, node in enumerate(("n1", "n1", "n2"), 1)]}
            for c in CASES if c.spec.get("externalTrafficPolicy") == "Local"]


NETWORK = f"""\
ip netns add p-o; ip -n p-o link set lo up
ip link add eth1 netns p-d type veth peer name eth0 netns p-o
ip -n p-d addr add 203.0.113.1/24 dev eth1 && ip -n p-d link set eth1 up
ip -n p-o addr add {OUTSIDE}/24 dev eth0 && ip -n p-o link set eth0 up && ip -n p-o route add default via 203.0.113.1 || exit 1
ip -n p-d addr add {DIRECTOR6}/64 dev eth0 nodad; ip -n p-c addr add {CLIENT6}/64 dev eth0 nodad; ip -n p-c addr add {STRANGER}/24 dev eth0
for n in 1 2; do
    ip -n p-n$n addr add fd00:1::$n/64 dev eth0 nodad && ip -n p-n$n route add default via {DIRECTOR} || exit 1
    ip -n p-n$n fou add port 6080 gue && ip netns exec p-n$n nft -f /t/pods-n$n || exit 1
done
ip -n p-c route add 10.0.0.0/24 via {DIRECTOR}; ip -n p-c route add 2001:db8::/64 via {DIRECTOR6}
"""
# `await PATTERN N`: until N lines of IPVS, or slots of nftables, match.
AWAIT = """#!/bin/sh
tries=0
until [ "$({ ipvsadm -Sn; nft list map inet trimtab f4_rr_4 | sed 's/ : /\\n/g'; } | grep -c -e "$1")" = "$2" ] || [ $tries -ge 240 ]; do
    tries=$((tries + 1)); sleep 0.5
done
[ $tries -lt 240 ] || { echo "awaited $1 $2"; ipvsadm -Sn | grep -e "$1"; }
"""


def node_rules(node):
    """As kube-proxy has them for the ports of the modes that keep the destination."""
    text = ""
    for family in (4, 6):
        text += f"table ip{6 if family == 6 else ''} pods {{\n chain pre {{\n  type nat hook prerouting priority dstnat; policy accept;\n"
        text += "".join(f"  ip{'6' if c.six else ''} daddr {c.address} tcp dport {c.port} dnat to {c.pod(node)}\n"
                        for c in CASES if c.six == (family == 6) and (c.how != "-m" or c.number == MOVE))
        text += " }\n}\n"
    return text


# Connections of these modes go on in every later one; those of a tunnel may end with nft (docs/providers/local.md).
LASTING = {"ipvs-fullnat": ("ipvs-fullnat",), "ipvs-dr": ("ipvs-fullnat", "ipvs-dr"), "ipvs-tunnel": ("ipvs-fullnat", "ipvs-dr", "ipvs-tunnel"),
           "nft": ("ipvs-fullnat",)}
WAYS = [("ipvs-fullnat", "-m", DIRECTOR), ("ipvs-dr", "-g", CLIENT), ("ipvs-tunnel", "-i", CLIENT), ("nft", None, DIRECTOR)]


def move_lines():
    """The Service changes its mode while connections are open."""
    move = next(c for c in CASES if c.number == MOVE)
    lines = [f"open m-nft p-c {CLIENT} {move.address} 80", "talk m-nft move.before"]
    for mode, how, _ in WAYS:
        snat = "always" if mode == "nft" else None  # which goes with no other mode but those that have it anyway
        body = json.dumps({"metadata": {"annotations": {"local.trimtab.io/mode": mode, "local.trimtab.io/snat": snat}}})
        lines.append(f"api move.{mode}.patched p-d {API} PATCH /api/v1/namespaces/demo/services/pmove {body}")
        if how:
            lines += [f"run ip netns exec p-d sh /t/await '-t {move.address}:80 .*{how} -w 1' 2",
                      f"run ip netns exec p-d sh /t/await '{move.address} . tcp . 80' 0"]
        else:
            lines += [f"run ip netns exec p-d sh /t/await '{move.address} . tcp . 80' 4",
                      f"run ip netns exec p-d sh /t/await '-t {move.address}:80 .* -w 1' 0"]
        lines += [f"open m-{mode}-{i} p-c {CLIENT} {move.address} 80" for i in range(4)]
        lines += [f"talk m-{mode}-{i} move.{mode}.new" for i in range(4)]
        lines += ["talk m-nft move.first"] + [f"talk m-{m}-0 move.{mode}.old" for m in LASTING[mode]]
    return lines + [f"api move.status p-d {API} GET /api/v1/namespaces/demo/services/pmove"]


def drain_lines():
    """A node goes: its open connections go on, new ones go elsewhere; then it has none."""
    cases = {c.number: c for c in CASES if not c.six}
    lines = []
    for number in (STAY, STAY_DR):
        lines += [f"open s-{number}-{i} p-c {CLIENT} {cases[number].address} 80" for i in range(4)]
        lines += [f"talk s-{number}-{i} stay.{number}.before" for i in range(4)]
    lines += ["run echo up.begin $(cat /proc/uptime)", f"api stay.deleted p-d {API} DELETE /sim/nodes/n2"]
    for number in (STAY, STAY_DR):
        where = cases[number].address.replace(".", "\\.")
        lines.append(f"run ip netns exec p-d sh /t/await '{where}:80 -r 192.0.2.12:.* -w 0' 1")
        lines += [f"talk s-{number}-{i} stay.{number}.during" for i in range(4)]
        lines += [f"open t-{number}-{i} p-c {CLIENT} {cases[number].address} 80" for i in range(4)]
        lines += [f"talk t-{number}-{i} stay.{number}.new" for i in range(4)]
    lines += [f"run ip netns exec p-d sh /t/await '{cases[102].address}:80 -r 192.0.2.12:' 0", "run echo up.idle $(cat /proc/uptime)"]
    lines += [f"run ip netns exec p-d sh /t/await '10.0.0.11[45]:80 -r 192.0.2.12:' 2"]
    lines += [f"shut s-{number}-{i}" for number in (STAY, STAY_DR) for i in range(4)]
    return lines + ["run ip netns exec p-d sh /t/await '10.0.0.11[45]:80 -r 192.0.2.12:' 0"]


def sorry_lines():
    """A Service whose targets all fail their check: the sorry server answers alone, until a target is well (vectors L04, L05)."""
    front = f"-t 10.0.0.{SORRY}:80 -r"
    wishes = {"addresses": f"10.0.0.{SORRY}", **FULLNAT, "sorry": f"{NODES['n1']}:{SORRY_PORT}", "health-check": "tcp",
              "health-check-interval": "1s", "health-check-timeout": "900ms", "health-check-fall": "2", "health-check-rise": "1"}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "psorry", "annotations": {f"local.trimtab.io/{k}": v for k, v in wishes.items()}},
            "spec": {"type": "LoadBalancer", "ports": [{"name": "p", "port": 80, "nodePort": SORRY_NODE_PORT, "protocol": "TCP"}]}}
    ask = f"p-c tcp {CLIENT} 10.0.0.{SORRY} 80"
    lines = [f"listen p-n1 tcp {NODES['n1']} {SORRY_PORT}", f"api sorry.made p-d {API} POST /api/v1/namespaces/demo/services {json.dumps(body)}",
             f"run ip netns exec p-d sh /t/await '{front} {NODES['n1']}:{SORRY_PORT} -m -w 1' 1",
             f"run ip netns exec p-d sh /t/await '{front} .*:{SORRY_NODE_PORT} -m -w 1' 0"]
    lines += [line for i in range(4) for line in (f"ask sorryalone.{i} {ask}", f"asked sorryalone.{i}")]
    lines += [f"listen p-n1 tcp {NODES['n1']} {SORRY_NODE_PORT}",
              f"run ip netns exec p-d sh /t/await '{front} {NODES['n1']}:{SORRY_NODE_PORT} -m -w 1' 1"]
    lines += [line for i in range(4) for line in (f"ask sorryback.{i} {ask}", f"asked sorryback.{i}")]
    lines.append(f"run ip netns exec p-d sh /t/await '{front} {NODES['n1']}:{SORRY_PORT} ' 0")
    # It goes: nobody listens on its node port when this program has ended.
    lines.append(f"api sorry.gone p-d {API} DELETE /api/v1/namespaces/demo/services/psorry")
    return lines + [f"run ip netns exec p-d sh /t/await '-t 10.0.0.{SORRY}:80' 0"]


def sorry_differences(found):
    wrong = []
    for name, port in (("sorryalone", SORRY_PORT), ("sorryback", SORRY_NODE_PORT)):
        if found[name] != 4 * [f"answered {NODES['n1']}:{port} {DIRECTOR}"]:
            wrong.append(f"{name}: {found[name]}")
    return wrong


def plan():
    """The input of guest_peer."""
    lines = []
    for c in CASES:
        for node, address in c.nodes.items():
            if c.asks:
                lines.append(f"listen p-{node} {c.protocol.lower()} {address} {c.node_port}")
            else:
                lines.append(f"stay p-{node} {address} {c.node_port}")
    lines.append("listen p-d tcp 0.0.0.0 22")
    for c in CASES:
        room = "p-o" if c.source == OUTSIDE else "p-c"
        lines += [f"ask {name_of(c)}.{i} {room} {c.protocol.lower()} {c.source} {c.address} {c.port}" for i in range(c.asks)]
    lines += [f"ask stranger.{i} p-c tcp {STRANGER} 10.0.0.112 80" for i in range(2)]
    lines += ["ask closed.0 p-c tcp " + f"{CLIENT} 10.0.0.102 81", f"ask own.0 p-c tcp {CLIENT} 10.0.0.102 22"]
    lines += [f"ask hairpin.{i} p-n1 tcp {NODES['n1']} 10.0.0.102 80" for i in range(4)]
    answered = [f"{name_of(c)}.{i}" for c in CASES for i in range(c.asks)] + [f"hairpin.{i}" for i in range(4)]
    lines += [f"asked {name}" for name in answered]  # before anything is edited
    lines += move_lines() + sorry_lines() + drain_lines()
    full = next(c for c in CASES if c.number == 102)
    lines += [f"probe p-c tcp {CLIENT} {a} {full.node_port}" for a in NODES.values()]
    return "".join(line + "\n" for line in lines)


# --- judgement ------------------------------------------------------------------------------------------------

def heard(lines):
    found = collections.defaultdict(list)
    for line in lines:
        name, _, what = line.partition(" ")
        found[re.sub(r"\.\d+$", "", name) if not name.startswith(("stay", "move", "up")) else name].append(what)
    return found


def shares_of(c, answers):
    counts = [sum(a == f"answered {c.pod(n)} {c.seen}" for a in answers) for n in c.nodes]
    others = [a for a in answers if a not in [f"answered {c.pod(n)} {c.seen}" for n in c.nodes]]
    return counts, others


def case_differences(c, found):
    counts, others = shares_of(c, found.get(name_of(c), []))
    if c.shares is None:
        return others + ([] if min(counts) > 0 and sum(counts) == c.asks else [f"shares {counts} of {c.asks}"])
    wanted = sorted(c.shares)
    more_first = c.weights[0] > c.weights[1] and counts[0] < counts[1]
    return others + ([] if sorted(counts) == wanted and not more_first else [f"shares {counts}, not {wanted}"])


def guard_differences(found):
    full = next(c for c in CASES if c.number == 102)
    wanted = {"stranger": ["refused"] * 2, "closed": ["refused"], "own": ["refused"],
              "hairpin": sorted(2 * [f"answered {full.pod(n)} {DIRECTOR}" for n in NODES])}
    return [f"{name}: {sorted(found.get(name, []))}, not {want}" for name, want in wanted.items() if sorted(found.get(name, [])) != want]


def both(number, seen, times):
    c = next(c for c in CASES if c.number == number and not c.six)
    return sorted(times * [f"answered {c.pod(n)} {seen}" for n in NODES])


def move_differences(found):
    wrong = []
    for mode, _, seen in WAYS:
        if sorted(found[f"move.{mode}.new"]) != both(MOVE, seen, 2):
            wrong.append(f"new connections in {mode}: {sorted(found[f'move.{mode}.new'])}")
        wrong += [f"an older connection in {mode}: {a}" for a in found[f"move.{mode}.old"] if not a.startswith("answered")]
    wrong += [f"the first connection: {a}" for a in found["move.before"] + found["move.first"] if not a.startswith("answered")]
    code, _, body = " ".join(found["move.status"]).partition(" ")
    ingress = json.loads(body)["status"]["loadBalancer"]["ingress"] if code == "200" else body
    return wrong + ([] if [i["ip"] for i in ingress] == ["10.0.0.116"] else [f"status: {ingress}"])


def drain_differences(found):
    wrong = []
    for number, seen in ((STAY, DIRECTOR), (STAY_DR, CLIENT)):
        one = next(c for c in CASES if c.number == number and not c.six)
        if sorted(found[f"stay.{number}.before"]) != both(number, seen, 2) or found[f"stay.{number}.during"] != found[f"stay.{number}.before"]:
            wrong.append(f"{number}: open connections: {found[f'stay.{number}.before']}, then {found[f'stay.{number}.during']}")
        if found[f"stay.{number}.new"] != 4 * [f"answered {one.pod('n1')} {seen}"]:
            wrong.append(f"{number}: new connections: {found[f'stay.{number}.new']}")
    times = [float(found[name][0].split()[0]) if found[name] else 0.0 for name in ("up.begin", "up.idle")]
    if times[1] - times[0] < 3:
        wrong.append(f"an idle target was deleted after {times[1] - times[0]:.1f} s, not 3")
    return wrong


def check(report, lines):
    found = heard(lines)
    for c in CASES:
        if c.asks:
            report.check(f"packets of the product: {c.name}: {c.asks} connections, shares {c.shares or 'of both'}", case_differences(c, found))
    report.check("packets of the product: ranges, a closed port, the director's own daemon, a node that is its own client", guard_differences(found))
    report.check("packets of the product: nft to full nat, dr, tunnel and back with open connections", move_differences(found))
    report.check("packets of the product: a node goes; connections go on, new ones go elsewhere, at least 3 s", drain_differences(found))
    report.check("packets of the product: all targets fail, the sorry server answers alone, a target is back", sorry_differences(found))
    said = [line for name in ("awaited", "run", "probe") for line in found.get(name, [])]
    report.check("packets of the product: all that was awaited came", said)
