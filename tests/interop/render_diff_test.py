#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`trimtab render --diff` against a real kernel: what it prints after the rules were loaded is equal, and a rule or an
element that a hand deleted or added is told in words.

    render_diff_test.py TRIMTAB SAMPLES.jsonl      (TAP on stdout; skipped where a tool or the right is absent)

The kernel of a namespace has no IPVS: of that mode the sets and the rules around them are loaded.
"""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import kernel_node  # noqa: E402  pylint: disable=wrong-import-position
import render_kernel_test as kernel  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

TRIMTAB = os.path.abspath(sys.argv[1])
POD = {4: "10.244.1.10", 6: "fd00:244:1::a"}
PREFIX = {4: "ip", 6: "ip6"}


def dump_of(world, mode, addresses, services=(), slices=()):
    """A world, and further objects, with its nodes and kube-proxy's configuration, as `kubectl get -o json` writes them."""
    local = world["proxy"].get("detect_local", {})
    config = {"mode": mode}
    if local.get("mode") == "ClusterCIDR":
        config["clusterCIDR"] = local["value"]
    elif local.get("mode"):
        config.update(detectLocalMode=local["mode"], detectLocal={"bridgeInterface": local["value"], "interfaceNamePrefix": local["value"]})
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "kube-proxy"},
              "data": {"config.conf": json.dumps(config)}},
             *({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                "status": {"addresses": [{"type": "InternalIP", "address": a} for a in found]}} for name, found in addresses.items())]
    items += [{"apiVersion": "v1", "kind": "Service", **s} for s in (*world["services"], *services)]
    items += [{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", **s} for s in (*world["slices"], *slices)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def objects(family, mode):
    """The Services of the traffic test, and one with affinity."""
    world = kernel.world_of(family)
    sticky = kernel.service("sticky", 40, family, sessionAffinity="ClientIP",
                            sessionAffinityConfig={"clientIP": {"timeoutSeconds": 600}})
    slices = json.loads(json.dumps(world["slices"][:1]))
    slices[0]["metadata"].update(name="sticky", labels={"kubernetes.io/service-name": "sticky"})
    return dump_of(world, mode, {"node-a": [kernel_node.NODE[family]], "node-b": [], "node-c": []}, [sticky], slices)


class Node:
    """Rules for one mode and family, and the comparison of what a kernel then prints."""

    def __init__(self, family, mode, dump=None):
        self.family, self.dump = family, dump or objects(family, mode)
        self.path = f"/dev/fd/{self._memory()}"

    def _memory(self):
        self.fd = os.memfd_create("dump")
        os.write(self.fd, self.dump.encode())
        return self.fd

    def trimtab(self, *args, text=""):
        os.lseek(self.fd, 0, os.SEEK_SET)
        return subprocess.run([TRIMTAB, "render", "--node=node-a", f"--family=IPv{self.family}", "-f", self.path, *args], input=text,
                              capture_output=True, text=True, check=False, pass_fds=[self.fd], timeout=120)

    def rendered(self, *args):
        r = self.trimtab(*args)
        assert r.returncode == 0, r
        return r.stdout

    def equal(self, text, *notes):
        r = self.trimtab("--diff=-", text=text)
        assert r.returncode == 0 and r.stdout.startswith("node-a has what kube-proxy would install"), r.stdout + r.stderr
        for note in notes:
            assert plain(r.stdout).count(note) == 1, (note, r.stdout)

    def differs(self, text, *words):
        """Each difference begins with one of the words, and each of the words is met."""
        r = self.trimtab("--diff=-", text=text)
        found = [line.strip() for line in r.stdout.splitlines() if re.match(r"  [-+~] ", line)]
        assert r.returncode == 2, r.stdout + r.stderr
        assert len(found) == len(words) and all(any(f.startswith(w) for f in found) for w in words), (words, r.stdout)


def plain(text):
    return " ".join(text.split())


# --- mode nftables ---
def nft(node, text, edits=""):
    table = f"{PREFIX[node.family]} kube-proxy"
    return kernel.alone(f"nft -f -\nnft -f - <<'END'\n{edits.replace('TABLE', table)}\nEND\nnft -j list table {table}", text)


def chain_of(text, kind, service):
    return re.search(rf"add chain \S+ kube-proxy ({kind}-\S+default/{service}/\S*)", text).group(1)


def check_nftables(family):
    node = Node(family, "nftables")
    text = node.rendered()
    node.equal(nft(node, text))
    bit = text.replace("0x00004000", "0x00000400")
    node.equal(nft(node, bit), "the node marks with 0x400: masqueradeBit is 10 there, 14 in the configuration")
    node.equal(nft(node, text.replace(" fully-random", "")), "the node masquerades without fully-random")
    ip, pod = {4: "10.11.0.11", 6: "fd00:172::11"}[family], POD[family]
    where = f"{pod} . {pod} . tcp . 80"
    service, external, sticky = (chain_of(text, kind, name) for kind, name in
                                 (("service", "cluster"), ("external", "cluster"), ("service", "sticky")))
    rule = next(line.split(" ", 5)[5] for line in text.splitlines() if line.startswith("add rule") and f" {service} " in line)
    fewer = re.sub(r"mod 2 map \{ 0 : (.*?) , 1 : .* \}", r"mod 1 map { 0 : \1 }", rule)
    turned = re.sub(r"\{ 0 : (.*?) , 1 : (.*?) \}", r"{ 0 : \2 , 1 : \1 }", rule)
    assert len({rule, fewer, turned}) == 3, rule
    gone = re.search(r", 1 : (\S+) . 80 ", rule).group(1)
    shown = f"[{gone}]:80" if family == 6 else f"{gone}:80"
    rows = (
        (f"delete element TABLE service-ips {{ {ip} . tcp . 80 }}", f"- missing on the node: {ip} . tcp . 80 in the map service-ips"),
        (f"delete element TABLE hairpin-connections {{ {where} }}", f"- missing on the node: {where} in the set hairpin-connections"),
        (f"add element TABLE service-nodeports {{ tcp . 31999 : goto {external} }}",
         "+ only on the node: tcp . 31999 in the map service-nodeports"),
        ("add chain TABLE mine\nadd rule TABLE mine drop", "+ only on the node: chain mine"),
        ("flush chain TABLE nat-prerouting", "- missing on the node: rule of nat-prerouting"),
        (f"flush chain TABLE {service}\nadd rule TABLE {service} {fewer}",
         f"- missing on the node: endpoint {shown} of chain {service}"),
        (f"add rule TABLE {external} counter drop", f"+ only on the node: rule of {external}"),
    )
    for edits, words in rows:
        node.differs(nft(node, text, edits), words)
    node.equal(nft(node, text, f"flush chain TABLE {service}\nadd rule TABLE {service} {turned}"))
    node.equal(nft(node, text, "add chain TABLE stale"))
    endpoint = chain_of(text, "endpoint", "sticky")
    at = endpoint.rsplit("__", 1)[1].split("/")[0]
    shown_sticky = f"[{at.replace('.', ':')}]:80" if family == 6 else f"{at}:80"
    clients = endpoint.replace("endpoint-", "affinity-", 1)
    node.equal(nft(node, text, f"add element TABLE {clients} {{ {kernel_node.CLIENT[family]} }}"))
    node.differs(nft(node, text.replace("timeout 600s", "timeout 300s")), "~ changed on the node: session affinity")
    left = [line for line in text.splitlines() if endpoint not in line and clients not in line]
    choice = next(line for line in text.splitlines() if line.startswith("add rule") and f" {sticky} numgen" in line)
    other = re.search(r"goto (\S+) [,}]", choice.replace(f"goto {endpoint} ", "")).group(1)
    left.append(choice.split(" numgen")[0] + f" numgen random mod 1 vmap {{ 0 : goto {other} }}")
    node.differs(nft(node, "\n".join(left) + "\n"), f"- missing on the node: endpoint {shown_sticky} ({endpoint})")


def test_nftables_over_ipv4(_):
    check_nftables(4)


def test_nftables_over_ipv6(_):
    check_nftables(6)


# --- mode iptables ---
def iptables(node, text, edits=""):
    """The output of iptables-save after the rules, the jumps to them and the edits; `iptables` in these is the family's program."""
    name = PREFIX[node.family] + "tables"
    return kernel.alone(f"""{name}-restore --noflush
{name}-restore --noflush <<'END'
{kernel.JUMPS}END
{edits.replace('iptables ', name + ' ')}
{name}-save""", text)


def hashed(*words):
    return base64.b32encode(hashlib.sha256("".join(words).encode()).digest()).decode()[:16]


def with_old_names(text, node):
    """The rules as releases up to 1.19 named them: the display name of an unnamed port ends in a colon."""
    for item in json.loads(node.dump)["items"]:
        if item["kind"] != "Service":
            continue
        name = "default/" + item["metadata"]["name"]
        proto = item["spec"]["ports"][0]["protocol"].lower()
        for end in ("", *(f"[{p[6]}]:80" if node.family == 6 else f"{p[4]}:80" for p in kernel_node.PODS.values())):
            text = text.replace(hashed(name, proto, end), hashed(name, ":", proto, end))
        text = re.sub(rf'("| ){name}("| )', rf"\1{name}:\2", text)
    return text


def check_iptables(family):
    node = Node(family, "iptables")
    text = node.rendered("--form=restore")
    node.equal(iptables(node, text))
    node.equal(iptables(node, text.replace("0x00004000", "0x00000400")), "the node marks with 0x400: masqueradeBit is 10 there, 14 in")
    node.equal(iptables(node, text.replace(" --random-fully", "")), "the node masquerades without --random-fully")
    old = with_old_names(text, node)
    assert old.count("default/cluster:") > 5, old
    node.equal(iptables(node, old), "display names end in ':'")
    shown = f"[{POD[family]}]:80" if family == 6 else f"{POD[family]}:80"
    service, endpoint = "KUBE-SVC-" + hashed("default/cluster", "tcp"), "KUBE-SEP-" + hashed("default/cluster", "tcp", shown)
    mine = "iptables -t nat -N KUBE-SEP-AAAAAAAAAAAAAAAA\niptables -t nat -A KUBE-SEP-AAAAAAAAAAAAAAAA -j RETURN"
    rows = (
        (f"iptables -t nat -F {service}", *[f"- missing on the node: rule of {service} (nat)"] * 3),
        ("iptables -t nat -D KUBE-SERVICES 1", "- missing on the node: rule of KUBE-SERVICES (nat)"),
        ("iptables -t nat -D PREROUTING 1", "- missing on the node: jump from PREROUTING (nat) to KUBE-SERVICES: no packet from outside"),
        ("iptables -A KUBE-FORWARD -j DROP", "+ only on the node: rule of KUBE-FORWARD (filter)"),
        (mine, "+ only on the node: chain KUBE-SEP-AAAAAAAAAAAAAAAA"),
        (f"iptables -t nat -D {service} 2\niptables -t nat -F {endpoint}\niptables -t nat -X {endpoint}",
         f"- missing on the node: endpoint {shown} ({endpoint})"),
    )
    for edits, *words in rows:
        node.differs(iptables(node, text, edits), *words)


def test_iptables_over_ipv4(_):
    check_iptables(4)


def test_iptables_over_ipv6(_):
    check_iptables(6)


# --- mode ipvs ---
def ipvs(node, text, edits=""):
    """Sets and rules as the kernel prints them, with the virtual servers and the rules that ask ip_vs as they were rendered."""
    name = PREFIX[node.family] + "tables"
    sets = "\n".join(line for line in text.splitlines() if line.split(" ")[0] in ("create", "add"))
    servers = "\n".join(line for line in text[:text.index("*nat")].splitlines() if line.split(" ")[0] in ("-A", "-a"))
    asking = [line for line in text.splitlines() if "-m ipvs" in line]
    rules = "\n".join(line for line in text[text.index("*nat"):].splitlines() if line not in asking) + "\n"
    jumps = [f"-A {chain} -j {target}" for chain, target in
             (("FORWARD", "KUBE-FORWARD"), ("INPUT", "KUBE-NODE-PORT"), ("INPUT", "KUBE-PROXY-FIREWALL"), ("FORWARD", "KUBE-PROXY-FIREWALL"),
              ("INPUT", "KUBE-IPVS-FILTER"), ("OUTPUT", "KUBE-IPVS-OUT-FILTER"))]
    nat = kernel.JUMPS[kernel.JUMPS.index("*nat"):]
    out = kernel.alone(f"""ipset restore <<'END'
{sets}
END
{name}-restore --noflush
{name}-restore --noflush <<'END'
*filter
{chr(10).join(jumps)}
COMMIT
{nat}END
{edits.replace('iptables ', name + ' ')}
{name}-save; ipset save""", rules)
    at = out.index("COMMIT", out.index("*filter"))
    return out[:at] + "".join(line + "\n" for line in asking) + out[at:] + servers + "\n"


def check_ipvs(family):
    node = Node(family, "ipvs")
    text = node.rendered()
    assert "-m ipvs" in text
    node.equal(ipvs(node, text))
    node.equal(ipvs(node, text.replace("0x4000", "0x400")), "the node marks with 0x400: masqueradeBit is 10 there, 14 in")
    node.equal(ipvs(node, text.replace(" --random-fully", "")), "the node masquerades without --random-fully")
    names = "KUBE-6-" if family == 6 else "KUBE-"
    ip = {4: "10.11.0.11", 6: "fd00:172::11"}[family]
    rows = (
        (f"ipset del {names}CLUSTER-IP {ip},tcp:80", f"- missing on the node: entry {ip},tcp:80 of the set {names}CLUSTER-IP"),
        (f"ipset add {names}NODE-PORT-TCP 31999", f"+ only on the node: entry 31999 of the set {names}NODE-PORT-TCP"),
        ("iptables -t nat -D KUBE-LOAD-BALANCER 1", "- missing on the node: rule of KUBE-LOAD-BALANCER (nat)"),
        ("iptables -D INPUT -j KUBE-IPVS-FILTER", "- missing on the node: jump from INPUT (filter) to KUBE-IPVS-FILTER: other ports"),
        ("iptables -t nat -I KUBE-SERVICES 2 -j RETURN", "+ only on the node: rule of KUBE-SERVICES (nat)"),
    )
    for edits, words in rows:
        node.differs(ipvs(node, text, edits), words)


def test_ipvs_over_ipv4(_):
    check_ipvs(4)


def test_ipvs_over_ipv6(_):
    check_ipvs(6)


# --- all modes ---
def test_worlds_of_samples(samples):
    """A kernel prints the same rules, in each mode, without edits."""
    count = 0
    for number, world in (w for function in ("nftables", "iptables", "ipvs") for w in kernel.worlds(samples, function)):
        if not world["slices"]:
            continue  # of files without slices the command says that it knows no pods
        family = 6 if world["proxy"]["family"] == "IPv6" else 4
        for mode, load, args in (("nftables", nft, ()), ("iptables", iptables, ("--form=restore",)), ("ipvs", ipvs, ())):
            node = Node(family, mode, dump_of(world, mode, {"node-a": [world["node"]["ip"]]}))
            try:
                node.equal(load(node, node.rendered(*args)))
            except AssertionError as error:
                raise AssertionError(f"sample {number}, mode {mode}: {error}") from error
            os.close(node.fd)
            count += 1
    assert count > 100, count


def main():
    why = kernel.absent()
    if why:
        return tap.skip(why)
    return tap.run(tap.tests_of(globals(), sys.argv[3:]), sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
