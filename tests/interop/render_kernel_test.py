#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rendered rules in a real kernel, in network namespaces of their own: they load, they print as we say, and TCP and UDP go
where the trace says.

    render_kernel_test.py TRIMTAB_EVAL SAMPLES.jsonl      (TAP on stdout; skipped where a tool or the right is absent)

The kernel does not need IPVS: of that mode the sets and the rules around them are loaded, without rules that ask for it.
Jumps from the kernel's chains are written here once more, for they are what kube-proxy makes beside its rules.
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import kernel_node  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

TOOLS = ("unshare", "ip", "mount", "iptables-restore", "ip6tables-restore", "iptables-save", "ip6tables-save", "ipset", "nft")
JUMPS = """*filter
-A INPUT -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL
-A INPUT -j KUBE-NODEPORTS
-A INPUT -m conntrack --ctstate NEW -j KUBE-EXTERNAL-SERVICES
-A FORWARD -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL
-A FORWARD -j KUBE-FORWARD
-A FORWARD -m conntrack --ctstate NEW -j KUBE-SERVICES
-A FORWARD -m conntrack --ctstate NEW -j KUBE-EXTERNAL-SERVICES
-A OUTPUT -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL
-A OUTPUT -m conntrack --ctstate NEW -j KUBE-SERVICES
COMMIT
*nat
-A PREROUTING -j KUBE-SERVICES
-A OUTPUT -j KUBE-SERVICES
-A POSTROUTING -j KUBE-POSTROUTING
COMMIT
"""


class Eval:
    """trimtab-eval, asked one question at a time."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, function, asked):
        self.process.stdin.write(json.dumps({"id": 1, "fn": "services." + function, "in": asked}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "out" not in answer:
            raise AssertionError(f"{function}: {answer}")
        return answer["out"]


def alone(script, text):
    """Runs a shell script in a network namespace of its own; its output."""
    done = subprocess.run(["unshare", "-rn", "sh", "-ec", script], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}: {done.stderr}\n{text}"
    return done.stdout


def absent():
    """Why nothing can be tested here, or None."""
    missing = [t for t in TOOLS if not shutil.which(t)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    probe = ("iptables -t nat -N X; ip6tables -N X; iptables -A OUTPUT -m recent --name x --set; ipset create x hash:ip;"
             "iptables -A OUTPUT -m set --match-set x dst; iptables -A OUTPUT -m statistic --mode random --probability 0.5;"
             "nft add table ip x; ip link add v0 type veth peer name v1; mount -t tmpfs none /run")
    done = subprocess.run(["unshare", "-rnm", "sh", "-ec", probe], capture_output=True, text=True, check=False)
    return f"no rules in a namespace: {done.stderr.strip()}" if done.returncode else None


def worlds(samples, function):
    """The worlds of a function's samples; counters of nfacct would have to exist before rules name them."""
    with open(samples, encoding="utf-8") as f:
        for line in f:
            sample = json.loads(line)
            if sample["fn"] == "services." + function:
                sample["in"]["proxy"].pop("nfacct", None)
                yield sample["id"], sample["in"]


def tables_of(text):
    """{table: {chain: [rule]}} of kube-proxy's chains."""
    tables, table = {}, None
    for line in text.splitlines():
        if line.startswith("*"):
            table = tables.setdefault(line[1:], {})
        elif line.startswith(":KUBE-"):
            table[line[1:].split(" ")[0]] = []
        elif line.startswith("-A KUBE-"):
            _, chain, rule = (line + " ").split(" ", 2)
            table[chain].append(rule.strip())
    return tables


def text_of(tables):
    lines = []
    for table, chains in tables.items():
        lines += [f"*{table}", *(f":{c} - [0:0]" for c in chains), *(f"-A {c} {r}" for c, rules in chains.items() for r in rules),
                  "COMMIT"]
    return "\n".join(lines) + "\n"


def prefix(world):
    return "ip6tables" if world["proxy"]["family"] == "IPv6" else "iptables"


def same_tables(number, ours, kernels):
    """`kernels` has further tables, of the kernel's own chains alone."""
    for table, chains in ours.items():
        for chain, rules in chains.items():
            has = kernels.get(table, {}).get(chain)
            assert has == rules, f"sample {number}: {table} {chain}:\nours   {rules}\nkernel {has}"
        assert set(kernels[table]) == set(chains), f"sample {number}: {set(kernels[table]) ^ set(chains)}"


def test_iptables_rules_are_saved_as_we_say(ask, samples):
    for number, world in worlds(samples, "iptables"):
        text = "\n".join(ask("iptables_text", world)) + "\n"
        family = world["proxy"]["family"]
        saved = alone(f"{prefix(world)}-restore --noflush --counters && {prefix(world)}-save", text)
        same_tables(number, ask("iptables_saved", {"family": family, "tables": tables_of(text)}), tables_of(saved))


def set_lines(name, one):
    kind = f"family {one['family']} hashsize 1024 maxelem 65536" if "family" in one else "range 0-65535"
    return [f"create {name} {one['type']} {kind}", *(f"add {name} {e}" for e in one["entries"])]


def test_ipvs_sets_and_rules_load(ask, samples):
    for number, world in worlds(samples, "ipvs"):
        v = ask("ipvs", world)
        tables = {t: {c: [r for r in rules if "-m ipvs" not in r] for c, rules in chains.items()}
                  for t, chains in v["iptables"].items()}
        sets = "\n".join(line for name, one in v["sets"].items() for line in set_lines(name, one))
        out = alone(f"ipset restore <<'END'\n{sets}\nEND\n{prefix(world)}-restore --noflush --counters\n"
                    f"{prefix(world)}-save\nipset save", text_of(tables))
        ours = ask("iptables_saved", {"family": world["proxy"]["family"], "tables": tables})
        same_tables(number, ours, tables_of(out))
        for name, one in v["sets"].items():
            entries = sorted(re.findall(rf"(?m)^add {re.escape(name)} (\S+)$", out))
            assert entries == sorted(one["entries"]), f"sample {number}: set {name}: {entries}, ours {one['entries']}"


def nft_names(lines):
    """(kind, name) of what the lines declare, with the number of rules or elements; elements of sets and maps alike."""
    found = {}
    for line in lines:
        _, kind, _, _, name, *_ = line.split(" ")
        if kind != "table":
            key = ("chain" if kind in ("chain", "rule") else "set", name)
            found[key] = found.get(key, 0) + (kind in ("rule", "element"))
    return found


def nft_found(text):
    found = {}
    for item in json.loads(text)["nftables"]:
        (kind, o), = item.items()
        if kind in ("set", "map"):
            found["set", o["name"]] = len(o.get("elem", []))
        elif kind in ("chain", "rule"):
            key = ("chain", o["name" if kind == "chain" else "chain"])
            found[key] = found.get(key, 0) + (kind == "rule")
    return found


def test_nftables_lines_load(ask, samples):
    for function in ("nftables", "iptables"):
        for number, world in worlds(samples, function):
            lines = ask("nftables", world)
            found = nft_found(alone("nft -f - && nft -j list ruleset", "\n".join(lines) + "\n"))
            assert found == nft_names(lines), f"sample {number}: {found}, ours {nft_names(lines)}"


# --- traffic ---
def service(name, number, family, **spec):
    ip = {4: "10.11.0.{}", 6: "fd00:172::{}"}[family].format(number)
    spec = {"type": "LoadBalancer", "clusterIP": ip, "clusterIPs": [ip], "ipFamilies": [f"IPv{family}"],
            "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80, "nodePort": 30000 + number}],
            "externalIPs": [{4: "198.51.100.{}", 6: "2001:db8:e::{}"}[family].format(number)], **spec}
    vip = {4: "203.0.113.{}", 6: "2001:db8:f::{}"}[family].format(number)
    return {"metadata": {"namespace": "default", "name": name}, "spec": spec, "status": {"loadBalancer": {"ingress": [{"ip": vip}]}}}


def world_of(family):
    """A Service for each policy; two have no pod on this node, one has no pod at all."""
    client, elsewhere = {4: ("192.168.0.8/30", "203.0.113.64/26"), 6: ("2001:db8::8/125", "2001:db8:f:1::/64")}[family]
    local = {"externalTrafficPolicy": "Local", "healthCheckNodePort": 32000}
    kinds = {"cluster": {}, "local": local, "local-away": local, "internal": {"internalTrafficPolicy": "Local"},
             "internal-away": {"internalTrafficPolicy": "Local"}, "none": {}, "range": {"loadBalancerSourceRanges": [client]},
             "other-range": {"loadBalancerSourceRanges": [elsewhere]}, "datagrams": {}, "datagrams-none": {}}
    services = [service(name, 11 + i, family, **spec) for i, (name, spec) in enumerate(kinds.items())]
    for i, s in enumerate(services):
        if "datagrams" in s["metadata"]["name"]:
            s["spec"]["ports"][0]["protocol"] = "UDP"
        if "healthCheckNodePort" in s["spec"]:
            s["spec"] = {**s["spec"], "healthCheckNodePort": 32000 + i}
    slices = []
    for name in kinds:
        node = "node-c" if name.endswith("away") else "node-a"
        pods = [] if name.endswith("none") else [("pod-1", node), ("pod-2", "node-b")]
        slices.append({"metadata": {"namespace": "default", "name": name, "labels": {"kubernetes.io/service-name": name}},
                       "addressType": f"IPv{family}", "ports": [{"name": "", "protocol": "UDP" if "datagrams" in name else "TCP", "port": 80}],
                       "endpoints": [{"addresses": [kernel_node.PODS[pod][family]], "nodeName": node,
                                      "conditions": {"ready": True}} for pod, node in pods]})
    node_ip = kernel_node.NODE[family]
    return {"node": {"name": "node-a", "ip": node_ip, "addresses": [node_ip, *(kernel_node.gateway(family, p) for p in kernel_node.PODS)]},
            "proxy": {"family": f"IPv{family}", "masquerade_bit": 14, "random_fully": True,
                      "detect_local": {"mode": "ClusterCIDR", "value": {4: "10.244.1.0/24", 6: "fd00:244:1::/64"}[family]}},
            "services": services, "slices": slices}


def tries_of(world, family):
    sources = {"client": kernel_node.CLIENT, "node": kernel_node.NODE, **kernel_node.PODS}
    for s in world["services"]:
        spec = s["spec"]
        places = [(spec["clusterIP"], 80), (spec["externalIPs"][0], 80), (s["status"]["loadBalancer"]["ingress"][0]["ip"], 80),
                  (kernel_node.NODE[family], spec["ports"][0]["nodePort"])]
        for to, port in places:
            for name, addresses in sources.items():
                yield {"service": s["metadata"]["name"], "from": name, "source": addresses[family], "to": to, "port": port,
                       "protocol": spec["ports"][0]["protocol"].lower()}


def wrong(one, trace, answers, family):
    """The difference from the trace, or None."""
    outputs = trace["outputs"]
    if outputs in (["REJECT"], ["DROP"]):
        want = "refused" if outputs == ["REJECT"] and not one["leaves"] else "silent"
        return None if answers == [["", want]] * one["times"] else f"{answers}, not {want}"
    pods = {addresses[family]: pod for pod, addresses in kernel_node.PODS.items()}
    allowed = [pods[o.rsplit(":", 1)[0].strip("[]")] for o in outputs]
    reached = {a[0] for a in answers}
    if not reached <= set(allowed) or (one["times"] > 10 and reached != set(allowed)):
        return f"reached {sorted(reached)}, not {allowed}"
    # upstream's tracer of nftables says what happens when the first endpoint is chosen, that of iptables what may happen
    masked = {pod: {a[1] != one["source"] for a in answers if a[0] == pod} for pod in reached}
    if one["from"] not in allowed and any(m != {trace["masquerade"]} for m in masked.values()):
        return f"masqueraded {masked}, not {trace['masquerade']}"
    if one["from"] in reached and masked[one["from"]] != {True}:
        return f"{one['from']} meets itself without a mask"
    return None


def check_traffic(ask, family, mode):
    world = world_of(family)
    tries = list(tries_of(world, family))
    external = {(t, 80) for s in world["services"] for t in (s["spec"]["externalIPs"][0], s["status"]["loadBalancer"]["ingress"][0]["ip"])}
    traces = []
    for one in tries:
        packet = {"source": one["source"], "dest": one["to"], "port": one["port"], "protocol": one["protocol"]}
        traces.append(ask(mode + "_trace", {**world, "packet": packet}))
        ends = traces[-1]["outputs"]
        # no jump leads from OUTPUT to KUBE-EXTERNAL-SERVICES: what the node itself sends there leaves it unseen
        one["leaves"] = mode == "iptables" and one["from"] == "node" and (one["to"], one["port"]) in external
        unheard = ends == ["DROP"] or (ends == ["REJECT"] and one["from"] == "node")  # by a sender of datagrams
        one["times"] = 0 if unheard and one["protocol"] == "udp" else 1 if ends in (["REJECT"], ["DROP"]) else 30 if one["from"] == "client" else 3
    if mode == "iptables":
        restore = [("ip6" if family == 6 else "ip") + "tables-restore", "--noflush"]
        load = [[*restore, "\n".join(ask("iptables_text", world)) + "\n"], [*restore, JUMPS]]
    else:
        load = [["nft", "-f", "-", "\n".join(ask("nftables", world)) + "\n"]]
    done = subprocess.run(["unshare", "-rnm", sys.executable, kernel_node.__file__], capture_output=True, text=True, check=False,
                          input=json.dumps({"family": family, "port": 80, "load": load, "tries": tries}))
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["tries"]
    faults = [f"{o['service']}: from {o['from']} to {o['to']} port {o['port']}: {why}"
              for o, t, a in zip(tries, traces, answers, strict=True) if (why := wrong(o, t, a, family))]
    assert not faults, "\n".join(faults)
    kinds = {str(t["outputs"]) if t["outputs"] in (["REJECT"], ["DROP"]) else "pods" for t in traces}
    assert len(kinds) == 3, f"not every end was met: {kinds}"


def test_traffic_over_ipv4_by_iptables(ask, _):
    check_traffic(ask, 4, "iptables")


def test_traffic_over_ipv6_by_iptables(ask, _):
    check_traffic(ask, 6, "iptables")


def test_traffic_over_ipv4_by_nftables(ask, _):
    check_traffic(ask, 4, "nftables")


def test_traffic_over_ipv6_by_nftables(ask, _):
    check_traffic(ask, 6, "nftables")


def main():
    why = absent()
    if why:
        return tap.skip(why)
    return tap.run(tap.tests_of(globals(), sys.argv[3:]), Eval(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
