#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edits of Services in IPVS modes, and addresses that move between two directors, each with connections that stay open.

    edits_test.py BUILD GUEST_INIT GUEST_PEER TRIMTAB_SIM TRIMTAB      (TAP; each part one commit in six; skipped where a piece of the guest is absent)

Each part is a boot, on one LAN: client c, nodes n1 and n2, director e for the edits, directors d1 and d2 with the API server's
machine a.  ipvsadm and nft judge each edit; a message on each connection is the judge of a hand-over.
"""
import hashlib
import json
import os
import re
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import guest  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

HOSTS = {"c": "192.0.2.10", "d1": "192.0.2.1", "d2": "192.0.2.2", "e": "192.0.2.3", "a": "192.0.2.5", "n1": "192.0.2.11", "n2": "192.0.2.12"}
CLIENT, N1, N2 = HOSTS["c"], HOSTS["n1"], HOSTS["n2"]
PORT, TRIES, OPEN = 8811, 300, 4

NETWORK = "".join([
    "ip netns add p-lan; ip -n p-lan link set lo up; ip -n p-lan link add br0 type bridge; ip -n p-lan link set br0 up\n",
    *(f"ip netns add p-{n} && ip -n p-{n} link set lo up && ip link add to-{n} netns p-lan type veth peer name eth0 netns p-{n} && "
      f"ip -n p-lan link set to-{n} master br0 up && ip -n p-{n} addr add {a}/24 dev eth0 && ip -n p-{n} link set eth0 up || exit 1\n"
      for n, a in HOSTS.items()),
    f"ip -n p-c route add 10.0.0.0/24 via {HOSTS['e']}\n",
    *(f"ip netns exec p-{n} sh -c 'cd /proc/sys/net/ipv4; echo 1 >ip_forward; echo 0 >conf/all/send_redirects; for s in conntrack expire_nodest_conn "
      "expire_quiescent_template conn_reuse_mode sloppy_tcp; do echo 1 >vs/$s; done; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'\n"
      for n in ("d1", "d2", "e")),
    *(f"ip netns exec p-{n} nft -f /t/proxy-{n} || exit 1\n" for n in ("n1", "n2")),
    f"ip netns exec p-a sh -c 'echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet'; ip netns exec p-a nft -f /t/api || exit 1\n"])
# The simulator listens on loopback alone.
API = f"table ip api {{\n chain pre {{\n  type nat hook prerouting priority dstnat; policy accept;\n  ip daddr {HOSTS['a']} tcp dport {PORT} dnat to 127.0.0.1:{PORT}\n }}\n}}\n"


# --- the clusters -------------------------------------------------------------------------------------------------

def port_of(number, node_port, protocol="TCP"):
    return {"name": f"{protocol.lower()}{number}", "port": number, "nodePort": node_port, "protocol": protocol}


def service(name, address, wishes, ports, **spec):
    return {"metadata": {"namespace": "demo", "name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-02T03:04:05Z",
                         "annotations": {f"local.trimtab.io/{k}": v for k, v in {"addresses": address, **wishes}.items()}},
            "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0." + address.rsplit(".", 1)[1], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                     "clusterIPs": ["10.96.0." + address.rsplit(".", 1)[1]], "externalTrafficPolicy": "Cluster", "sessionAffinity": "None",
                     "ports": ports, **spec}}


def endpoints(*nodes):
    return [{"addresses": [f"10.2.0.{i}"], "nodeName": node, "conditions": {"ready": True}} for i, node in enumerate(nodes, 1)]


def world(services, slices=()):
    nodes = [{"metadata": {"name": n}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [
        {"type": "InternalIP", "address": HOSTS[n]}]}} for n in ("n1", "n2")]
    return json.dumps({"kubernetes": {"namespaces": [{"metadata": {"name": "demo"}}], "nodes": nodes, "services": services,
                                      "endpointslices": list(slices)}})


# --- edits --------------------------------------------------------------------------------------------------------

CONFIG_E = """apiVersion: local.trimtab.io/v1
pools:
- {name: p, addresses: [10.0.0.0/24], mode: ipvs-fullnat, announce: {by: none}}
director: {drainTimeout: 600s, checks: {cluster: none, local: none}}
"""
EDITED = [
    service("web", "10.0.0.1", {}, [port_of(80, 30400)]),
    service("dns", "10.0.0.2", {}, [port_of(53, 30402, "UDP")]),
    service("near", "10.0.0.3", {}, [port_of(80, 30403)], externalTrafficPolicy="Local", healthCheckNodePort=32403),
]
SLICE = {"metadata": {"namespace": "demo", "name": "near-x", "labels": {"kubernetes.io/service-name": "near"}}, "addressType": "IPv4",
         "ports": [{"name": "tcp80", "port": 8080, "protocol": "TCP"}], "endpoints": endpoints("n1", "n1", "n2")}
PATHS = {"service": "/api/v1/namespaces/demo/services/", "slice": "/apis/discovery.k8s.io/v1/namespaces/demo/endpointslices/",
         "node": "/api/v1/nodes/"}
EXCLUDED = {"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}}}
INCLUDED = {"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": None}}}


def wish(key, value):
    return {"metadata": {"annotations": {"local.trimtab.io/" + key: value}}}


def sticky(seconds):
    return {"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}}}}


def saved(front, options, node_port, weights):
    """Lines of `ipvsadm -Sn`; a weight None: not there."""
    return [f"-A {front} {options}"] + [f"-a {front} -r {a}:{node_port} -m -w {w}" for a, w in zip((N1, N2), weights) if w is not None]


def web(options, weights=(1, 1)):
    return saved("-t 10.0.0.1:80", options, 30400, weights)


RANGE = {"spec": {"loadBalancerSourceRanges": [CLIENT + "/32", "203.0.113.0/24"]}}
# (what is edited, [(kind, name, patch)], the address, lines of ipvsadm, ranges that open its port or None: not looked at)
EDITS = [
    ("made", [], "10.0.0.1", web("-s rr"), ["0.0.0.0/0"]),
    ("scheduler", [("service", "web", wish("scheduler", "wlc"))], "10.0.0.1", web("-s wlc"), None),
    ("affinity on", [("service", "web", sticky(600))], "10.0.0.1", web("-s wlc -p 600"), None),
    ("another timeout", [("service", "web", sticky(300))], "10.0.0.1", web("-s wlc -p 300"), None),
    ("affinity with mh", [("service", "web", wish("scheduler", "mh"))], "10.0.0.1", web("-s mh -p 300 -b mh-fallback"), None),
    ("affinity off", [("service", "web", {"spec": {"sessionAffinity": "None", "sessionAffinityConfig": None}})], "10.0.0.1",
     web("-s mh -b mh-fallback,mh-port"), None),
    ("scheduler back", [("service", "web", wish("scheduler", None))], "10.0.0.1", web("-s rr"), None),
    ("a port more", [("service", "web", {"spec": {"ports": [port_of(80, 30400), port_of(81, 30401)]}})], "10.0.0.1",
     web("-s rr") + saved("-t 10.0.0.1:81", "-s rr", 30401, (1, 1)), None),
    ("the port goes", [("service", "web", {"spec": {"ports": [port_of(80, 30400)]}})], "10.0.0.1", web("-s rr"), None),
    ("source ranges", [("service", "web", RANGE)], "10.0.0.1", web("-s rr"), [CLIENT, "203.0.113.0/24"]),
    ("no ranges", [("service", "web", {"spec": {"loadBalancerSourceRanges": None}})], "10.0.0.1", web("-s rr"), ["0.0.0.0/0"]),
    ("no target", [("node", n, EXCLUDED) for n in ("n1", "n2")], "10.0.0.1", web("-s rr", (0, 0)), []),
    ("targets back", [("node", n, INCLUDED) for n in ("n1", "n2")], "10.0.0.1", web("-s rr"), ["0.0.0.0/0"]),
    ("datagrams", [], "10.0.0.2", saved("-u 10.0.0.2:53", "-s rr", 30402, (1, 1)), None),
    ("one packet", [("service", "dns", wish("udp-one-packet", "true"))], "10.0.0.2", saved("-u 10.0.0.2:53", "-s rr -o", 30402, (1, 1)), None),
    ("connections again", [("service", "dns", wish("udp-one-packet", None))], "10.0.0.2", saved("-u 10.0.0.2:53", "-s rr", 30402, (1, 1)), None),
    ("weights", [], "10.0.0.3", saved("-t 10.0.0.3:80", "-s wrr", 30403, (2, 1)), None),
    ("other weights", [("slice", "near-x", {"endpoints": endpoints("n1", "n2", "n2", "n2")})], "10.0.0.3",
     saved("-t 10.0.0.3:80", "-s wrr", 30403, (1, 3)), None),
    ("equal weights", [("slice", "near-x", {"endpoints": endpoints("n1", "n2")})], "10.0.0.3", saved("-t 10.0.0.3:80", "-s rr", 30403, (1, 1)), None),
    ("no pod on a node", [("slice", "near-x", {"endpoints": endpoints("n1")})], "10.0.0.3", saved("-t 10.0.0.3:80", "-s rr", 30403, (1, None)), None),
    ("no pod", [("slice", "near-x", {"endpoints": []})], "10.0.0.3", None, []),
    ("pods again", [("slice", "near-x", {"endpoints": endpoints("n2", "n1")})], "10.0.0.3", saved("-t 10.0.0.3:80", "-s rr", 30403, (1, 1)),
     ["0.0.0.0/0"]),
]

# `same WORD ADDRESS`: until ipvsadm and nft show what the files want-WORD and open-WORD say.
SAME = f"""#!/bin/sh
tries=0
while :; do
    ip netns exec p-e ipvsadm -Sn | grep -F -e " $2:" | sort >/tmp/got
    {{
        ip netns exec p-e nft list set inet trimtab from4 | sed 's/[{{}},]/\\n/g' | sed -n "s/^.* *$2 \\. [a-z]* \\. [0-9]* \\. \\([0-9./]*\\).*$/\\1/p"
        ip netns exec p-e nft list set inet trimtab all4 | sed 's/[{{}},]/\\n/g' | sed -n "s/^.* *$2 \\. [a-z]* \\. [0-9]* *$/0.0.0.0\\/0/p"
    }} | sort >/tmp/open
    bad=
    [ ! -e /t/want-$1 ] || [ "$(cat /tmp/got)" = "$(cat /t/want-$1)" ] || bad=1
    [ ! -e /t/open-$1 ] || [ "$(cat /tmp/open)" = "$(cat /t/open-$1)" ] || bad=1
    [ "$bad" ] || exit 0
    tries=$((tries + 1))
    [ $tries -lt {TRIES} ] || break
    sleep 0.3
done
echo "edit $1 is not done: ipvsadm $(cat /tmp/got), open for $(cat /tmp/open)"
"""


def word(name):
    return name.replace(" ", "-")


def edit_files():
    files = {"same": SAME}
    for name, _, _, lines, ranges in EDITS:
        if lines is not None:
            files["want-" + word(name)] = "".join(line + "\n" for line in sorted(lines))
        if ranges is not None:
            files["open-" + word(name)] = "".join(line + "\n" for line in sorted(ranges))
    return files


def edit_plan():
    lines = [f"stay p-{n} {HOSTS[n]} {p}" for n in ("n1", "n2") for p in (30400, 30403)] + [f"listen p-n1 tcp {N1} 30499"]
    lines += ["run sh /t/same made 10.0.0.1", "run sh /t/same weights 10.0.0.3"]
    lines += [f"open web-{i} p-c {CLIENT} 10.0.0.1 80" for i in range(2)]
    lines += [f"talk web-{i} first" for i in range(2)]
    for name, patches, address, _, _ in EDITS:
        lines += [f"api {word(name)}.patched p-e {PORT} PATCH {PATHS[kind]}{which} {json.dumps(patch)}" for kind, which, patch in patches]
        lines.append(f"run sh /t/same {word(name)} {address}")
        if address == "10.0.0.1" and name != "targets back":
            lines += [f"talk web-{i} {word(name)}.goes-on" for i in range(2)]
        if name == "no target":
            lines.append(f"ask none.0 p-c tcp {CLIENT} 10.0.0.1 80")
    lines += [f"open late-{i} p-c {CLIENT} 10.0.0.1 80" for i in range(2)] + [f"talk late-{i} late.{i}" for i in range(2)]
    return lines + [f"probe p-c tcp {CLIENT} {N1} 30499"]


# --- two directors ------------------------------------------------------------------------------------------------

def owner(address, directors=("d1", "d2")):
    """The rule of §10.2 of the provider's specification."""
    bucket = hashlib.sha256(bytes(10) + b"\xff\xff" + socket.inet_aton(address)).digest()[0]
    return max(directors, key=lambda d: hashlib.sha256(f"{d}/{bucket}".encode()).digest())


VIPS = [a for a in (f"192.0.2.{i}" for i in range(64, 80)) if owner(a) == "d1"][:2]
WAYS = {"mh": VIPS[0], "rr": VIPS[1]}
CONFIG_D = """apiVersion: local.trimtab.io/v1
reuseDelay: 0s
pools:
- {name: p, addresses: [192.0.2.64-192.0.2.79], mode: ipvs-dr}
director:
  redundancy: lease
  leaseDuration: 10s
  renew: 1s
  checks: {cluster: none, local: none}
  connSync: {interface: eth0, syncid: 7}
"""
DIRECT = f"""#!/bin/sh
ip netns exec p-$1 trimtab --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config-d --kubeconfig=/tmp/kubeconfig-d \\
    --local-role=director --local-director-name=$1 >>/tmp/log-$1 2>&1 &
echo $! >/tmp/pid-$1
"""
END = """#!/bin/sh
kill -$2 $(cat /tmp/pid-$1)
while kill -0 $(cat /tmp/pid-$1) 2>/dev/null && [ "$(cat /proc/$(cat /tmp/pid-$1)/cmdline)" ]; do sleep 0.1; done
"""
HELD = f"""#!/bin/sh
here=$1; other=$2; shift 2; tries=0
while :; do
    bad=
    for a; do
        ip -n p-$here -4 addr show dev lo | grep -q "inet $a/32" || bad=1
        ! ip -n p-$other -4 addr show dev lo | grep -q "inet $a/32" || bad=1
    done
    [ "$bad" ] || exit 0
    tries=$((tries + 1))
    [ $tries -lt {TRIES} ] || break
    sleep 0.3
done
echo "$here does not hold $*"; ip -n p-$here -4 addr show dev lo; ip -n p-$other -4 addr show dev lo
"""
SHOWN = f"""#!/bin/sh
tries=0
while [ "$(ip netns exec p-$1 ipvsadm -Lnc | grep -c "ESTABLISHED .*$2:80")" -lt {OPEN} ]; do
    tries=$((tries + 1))
    [ $tries -lt {TRIES} ] || {{ echo "$1 has not heard of connections to $2"; ip netns exec p-$1 ipvsadm -Lnc; exit 0; }}
    sleep 0.3
done
"""


def moves():
    """Each hand-over: what is done, and which director holds the addresses then."""
    return [("sigterm", ["run sh /t/end d1 TERM"], "d2", "d1"), ("back", ["run sh /t/direct d1"], "d1", "d2"),
            ("kill", ["run sh /t/end d1 KILL"], "d2", "d1")]


def director_plan():
    lines = [f"stay p-{n} {HOSTS[n]} 30080" for n in ("n1", "n2")]
    lines += ["run sh /t/held d1 d2 " + " ".join(VIPS)]
    for way, vip in WAYS.items():
        lines += [f"open {way}-{i} p-c {CLIENT} {vip} 80" for i in range(OPEN)]
        lines += [f"talk {way}-{i} {way}.begin" for i in range(OPEN)]
    for move, deeds, here, other in moves():
        lines += [f"run sh /t/shown {'d2' if move != 'back' else 'd1'} {WAYS['rr']}" if move != "back" else "run true"]
        lines += [f"run echo up.{move} $(cat /proc/uptime)", *deeds, f"run sh /t/held {here} {other} " + " ".join(VIPS),
                  f"run echo up.{move}.done $(cat /proc/uptime)"]
        lines += [f"talk {way}-{i} {way}.{move}" for way in WAYS for i in range(OPEN)]
    return lines


# --- the guest ----------------------------------------------------------------------------------------------------

BEGIN = """#!/bin/sh
export PATH=$PATH:/usr/bin
NETWORK
until_written() { until [ -s $1 ] || ! kill -0 $2; do sleep 0.1; done; }
"""
EDIT = BEGIN + """\
ip netns exec p-e trimtab-sim --cloud=none --port=PORT --seed=1 --world=/t/world-e --write-kubeconfig=/tmp/kubeconfig-e >/tmp/sim-e 2>&1 &
until_written /tmp/kubeconfig-e $!
ip netns exec p-e trimtab --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config-e --kubeconfig=/tmp/kubeconfig-e >/tmp/log-e 2>&1 &
e=$!
echo "== edits heard"
guest_peer </t/edits
kill $e; wait $e
echo "== all log"
grep -v FLAG /tmp/log-e | tail -n 15
"""
MOVE = BEGIN + """\
ip netns exec p-a trimtab-sim --cloud=none --port=PORT --seed=1 --world=/t/world-d --write-kubeconfig=/tmp/kubeconfig-a >/tmp/sim-d 2>&1 &
until_written /tmp/kubeconfig-a $!
sed 's/127.0.0.1/API/' /tmp/kubeconfig-a >/tmp/kubeconfig-d
ip netns exec p-a trimtab --cloud-provider=local --leader-elect=false --secure-port=0 --cloud-config=/t/config-d --kubeconfig=/tmp/kubeconfig-a --local-role=allocator >/tmp/log-a 2>&1 &
a=$!
for d in d1 d2; do sh /t/direct $d; done
echo "== directors heard"
guest_peer </t/moves
sh /t/end d2 TERM; kill $a; wait $a
echo "== all log"
for l in a d1 d2; do echo "-- $l"; grep -v FLAG /tmp/log-$l | tail -n 15; done
"""


def files(script):
    found = {"run": script.replace("NETWORK", NETWORK).replace("PORT", str(PORT)).replace("API", HOSTS["a"]), "api": API, "direct": DIRECT, "end": END,
             "held": HELD, "shown": SHOWN, "config-e": CONFIG_E, "config-d": CONFIG_D, "world-e": world(EDITED, [SLICE]),
             "world-d": world([service(w, vip, {"scheduler": w}, [port_of(80, 30080 + i)]) for i, (w, vip) in enumerate(WAYS.items())]),
             "edits": "".join(line + "\n" for line in edit_plan()), "moves": "".join(line + "\n" for line in director_plan())}
    for n in ("n1", "n2"):
        found["proxy-" + n] = "table ip proxy {\n chain pre {\n  type nat hook prerouting priority dstnat; policy accept;\n" + "".join(
            f"  ip daddr {vip} tcp dport 80 dnat to {HOSTS[n]}:30080\n" for vip in VIPS) + " }\n}\n"
    return {**found, **edit_files()}


def heard(lines):
    found = {}
    for line in lines:
        name, _, what = line.partition(" ")
        found.setdefault(name, []).append(what)
    return found


def troubles(lines):
    return [line for line in lines if re.match(r"edit |run |.* does not hold|.* has not heard", line)]


def check_edits(report, lines):
    found = heard(lines)
    for name, patches, address, _, _ in EDITS:
        wrong = [line for line in lines if line.startswith(f"edit {word(name)} ")]
        wrong += [what[:200] for what in found.get(word(name) + ".patched", []) if not what.startswith("200 ")]
        if len(found.get(word(name) + ".patched", [])) != len(patches):
            wrong.append("it was not asked for")
        if address == "10.0.0.1" and name != "targets back":
            on = found.get(word(name) + ".goes-on", [])
            end = "failed" if name == "no target" else "answered"  # without a target the port is closed for all
            wrong += [what for what in on if not what.startswith(end)] + ([] if len(on) == 2 else [f"{len(on)} of 2 connections spoke"])
        report.check(f"edit: {name}: what ipvsadm and nft show, and what open connections get", wrong)
    wrong = [] if found.get("none.0") == ["refused"] else [f"without targets: {found.get('none.0')}"]
    late = sorted(found.get("late.0", []) + found.get("late.1", []))
    if late != [f"answered {a}:30400 {HOSTS['e']}" for a in (N1, N2)]:
        wrong.append(f"new connections: {late}")
    report.check("edits: without targets refused, at the end both nodes", wrong)


def check_moves(report, lines):
    """Open connections go on over each move of the addresses (vector R09: mh and sloppy_tcp, nothing shared)."""
    found, wrong = heard(lines), troubles(lines)
    times = {m: float(found[f"up.{m}.done"][0].split()[0]) - float(found[f"up.{m}"][0].split()[0]) for m, *_ in moves()
             if f"up.{m}.done" in found}
    print(f"# until the addresses were elsewhere, in the guest: {', '.join(f'{m} {s:.1f} s' for m, s in times.items())}")
    for way in WAYS:
        first = found.get(way + ".begin", [])
        more = wrong + ([] if len(first) == OPEN and all(re.fullmatch(rf"answered \S+:30080 {re.escape(CLIENT)}", a) for a in first) else [f"begin: {first}"])
        how = "the same hash on both, sloppy_tcp" if way == "mh" else "connSync"
        report.check(f"directors: {way}: connections are made", more)
        for move, *_ in moves():
            now = found.get(f"{way}.{move}", [])
            report.check(f"directors: {way}, {move}: open connections go on at their nodes ({how})", [] if now == first else [f"{first}, then {now}"])


def boot(report, machine, script, check):
    try:
        result = machine.run(files(script))
    except guest.Failed as error:
        report.check("the guest runs its script", [str(error), *error.log])
        return
    print(f"# the guest ran for {result.seconds:.1f} s, {result.cpu_seconds:.1f} s of a processor")
    said = guest.sections(result.output)
    check(report, next((lines for (_, what), lines in said.items() if what == "heard"), []))
    report.check("the guest runs its script", [] if result.status == 0 else [f"exit {result.status}", *result.output.splitlines()[-60:]])


def main(build, init, peer, *programs):
    turn = sample.from_env(ci=6, quick=6)
    parts = [part for i, part in enumerate(((EDIT, check_edits), (MOVE, check_moves))) if turn.parts == 1 or turn.turn % turn.parts == i]
    if not parts:
        return tap.skip(f"the turn of each part is one commit in {turn.parts}; TRIMTAB_SAMPLE=all takes every test")
    try:
        machine = guest.Guest(build, init, [(peer, "/usr/bin/guest_peer"), *[(p, "/usr/bin/" + os.path.basename(p)) for p in programs]])
    except guest.Absent as why:
        return tap.skip(str(why))
    report = tap.Report()
    for part in parts:
        boot(report, machine, *part)
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
