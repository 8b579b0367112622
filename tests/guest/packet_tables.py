#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ways of packets through a director, as Debian's kernel shows them, and the table of them in docs/providers/local-packets.md.

    packet_tables.py BUILD KERNEL_TOOL GUEST_INIT GUEST_PEER [PAGE]      (TAP with a page, that must have the measured table; else prints it)

One network: a client, the director, a node.  For each mode the client sends one datagram to the Service's address and gets an answer.
Sets of nftables at the node and at the client note MACs and addresses of what arrives; counters at the director count what comes in
and what goes out.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import guest  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

VIP, PROBER, NODE_PORT = {4: "198.51.100.50", 6: "2001:db8::50"}, {4: "192.0.2.30", 6: "fd00:2::30"}, 30053
HOSTS = {"client": ("c", {4: "192.0.2.10", 6: "fd00:2::10"}, "02:00:00:00:00:0a"),
         "director": ("d", {4: "192.0.2.1", 6: "fd00:2::1"}, "02:00:00:00:00:01"),
         "node": ("n", {4: "192.0.2.11", 6: "fd00:2::11"}, "02:00:00:00:00:0b")}
CLIENT, DIRECTOR, NODE = (HOSTS[name][1] for name in HOSTS)
# Mode, port of the Service, how kernel-tool makes it, port that packets have at the node, the director is the client for the node, IP version.
MODES = [("`nft`, snat never", 60, "slots", NODE_PORT, False, 4), ("`nft`, snat", 61, "slots", NODE_PORT, True, 4),
         ("`ipvs-nat`", 62, "nat", NODE_PORT, False, 4), ("`ipvs-fullnat`", 63, "nat", NODE_PORT, True, 4),
         ("`ipvs-dr`", 64, "dr", 64, False, 4), ("`ipvs-tunnel` (ipip)", 65, "ipip", 65, False, 4),
         ("`ipvs-tunnel` (gre)", 66, "gre", 66, False, 4), ("`ipvs-tunnel` (gue)", 67, "gue", 67, False, 4),
         ("`ipvs-dr`, IPv6", 68, "dr", 68, False, 6), ("`ipvs-tunnel` (ipip), IPv6", 69, "ipip", 69, False, 6),
         ("`ipvs-tunnel` (gre), IPv6", 70, "gre", 70, False, 6), ("`ipvs-tunnel` (gue), IPv6", 71, "gue", 71, False, 6)]
NEAR = ("dr", "ipip", "gre", "gue")  # answers go by the node's own route
MTU, HEADERS = 1500, {4: 28, 6: 48}  # of IP and UDP

NETWORK = "".join([
    "ip netns add q-lan && ip -n q-lan link set lo up && ip -n q-lan link add br0 type bridge && ip -n q-lan link set br0 up\n",
    *(f"ip netns add q-{ns} && ip -n q-{ns} link set lo up && ip link add to-{ns} netns q-lan type veth peer name eth0 address {mac} "
      f"netns q-{ns} && ip -n q-lan link set to-{ns} master br0 up && ip -n q-{ns} addr add {at[4]}/24 dev eth0 && "
      f"ip -n q-{ns} addr add {at[6]}/64 dev eth0 nodad && ip -n q-{ns} link set eth0 up || exit 1\n" for ns, at, mac in HOSTS.values()),
    f"ip -n q-c addr add {PROBER[4]}/24 dev eth0\nip -n q-c addr add {PROBER[6]}/64 dev eth0 nodad\n",
    *(f"ip -n q-c route add {VIP[v]} via {DIRECTOR[v]}\n" for v in (4, 6)),
    "for link in tunl0 gre0 ip6tnl0 ip6gre0; do ip -n q-n link set $link up || exit 1; done\n",
    "ip -n q-n fou add port 6080 gue && ip -n q-n -6 fou add port 6080 gue || exit 1\n",
    "ip netns exec q-n sh -c 'for f in all default eth0 tunl0 gre0; do echo 0 >/proc/sys/net/ipv4/conf/$f/rp_filter; done'\n",
    "ip netns exec q-d sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; "
    "echo 1 >/proc/sys/net/ipv4/vs/conntrack; for f in all eth0; do echo 0 >/proc/sys/net/ipv4/conf/$f/send_redirects; done'\n",
    *(f"ip netns exec q-{ns} nft -f /t/watch || exit 1\n" for ns in "cdn"),
    "ip netns exec q-n nft -f /t/proxy || exit 1\necho '== tool made'\nip netns exec q-d kernel-tool real </t/ways\n",
    f"ip -n q-d addr add {VIP[6]}/128 dev lo\n"])
# Packets that arrive and leave: addresses of the outermost header.  Probes have an address of their own, and are left out.
WATCH = f"""table netdev watch {{
 set seen4 {{ type ether_addr . ether_addr . ipv4_addr . ipv4_addr; flags dynamic; size 64; }}
 set seen6 {{ type ether_addr . ether_addr . ipv6_addr . ipv6_addr; flags dynamic; size 64; }}
 chain in {{
  type filter hook ingress device eth0 priority -500; policy accept;
  ip saddr {PROBER[4]} accept
  ip daddr {PROBER[4]} accept
  ip6 saddr {PROBER[6]} accept
  ip6 daddr {PROBER[6]} accept
  ip protocol {{ udp, 4, 47 }} counter update @seen4 {{ ether saddr . ether daddr . ip saddr . ip daddr }}
  ip6 nexthdr {{ udp, 41, 47 }} counter update @seen6 {{ ether saddr . ether daddr . ip6 saddr . ip6 daddr }}
 }}
 chain out {{
  type filter hook egress device eth0 priority 500; policy accept;
  ip protocol {{ udp, 4, 47 }} counter
  ip6 nexthdr {{ udp, 41, 47 }} counter
 }}
}}
"""
# As kube-proxy on a node, for what keeps the Service's address.
PROXY = "".join(f"""table ip{"6" if v == 6 else ""} proxy {{
 chain pre {{
  type nat hook prerouting priority dstnat; policy accept;
  ip{"6" if v == 6 else ""} daddr {VIP[v]} meta l4proto udp dnat to {to}:{NODE_PORT}
 }}
}}
""" for v, to in ((4, NODE[4]), (6, f"[{NODE[6]}]")))


def ways():
    lines = ["make", f"+ vip {VIP[4]} d/a", f"+ vip {VIP[6]} d/a"]
    for _, port, how, node_port, snat, v in MODES:
        front = f"{VIP[v]} udp {port}"
        if how == "slots":
            lines.append(f"+ slots {front} rr 4 {NODE[v]} {node_port}")
        else:
            lines.append(f"ipvs add {front} rr 0 0 + add-dest {front} {NODE[v]} {node_port} {how} 1")
        lines += [f"+ open {front} {'0.0.0.0/0' if v == 4 else '::/0'}"] + [f"+ snat {front}"] * snat
    return "".join(line + "\n" for line in [*lines, "commit", f"hold {VIP[4]}"])


def plan(port, v):
    return (f"listen q-n udp {NODE[v]} {NODE_PORT}\nask {port} q-c udp {CLIENT[v]} {VIP[v]} {port}\n"
            f"probe q-c udp {PROBER[v]} {NODE[v]} {NODE_PORT}\n")


def big_plan():
    """A datagram that fills the client's MTU, by each way that is not longer by a header."""
    lines = [f"listen q-n udp {NODE[v]} {NODE_PORT}" for v in (4, 6)]
    for _, port, how, _, _, v in MODES:
        if how in NEAR:
            lines += ["run ip -n q-c route flush cache; ip -n q-c -6 route flush cache",
                      f"big {port} q-c {CLIENT[v]} {VIP[v]} {port} {MTU - HEADERS[v]}"]
    return "".join(line + "\n" for line in lines)


def script():
    """The lines for all modes, one after the other."""
    text = NETWORK
    for i, (_, port, how, _, snat, v) in enumerate(MODES):
        gateway = how not in NEAR and not snat
        if v == 4:
            text += f"ip -n q-n route {'replace' if gateway else 'flush'} {CLIENT[4]}/32{f' via {DIRECTOR[4]}' if gateway else ''}\n"
        text += "for ns in c n; do for v in 4 6; do ip netns exec q-$ns nft flush set netdev watch seen$v; done; done\n"
        text += f"echo '== way{i} asked'\nguest_peer </t/way-{port}\n"
        for ns in "cnd":
            text += f"echo '== way{i} {ns}'\nip netns exec q-{ns} nft list table netdev watch\n"
    return text + "echo '== big heard'\nguest_peer </t/big\n"


def files():
    return {"watch": WATCH, "proxy": PROXY, "ways": ways(), "big": big_plan(), **{f"way-{port}": plan(port, v) for _, port, *_, v in MODES}}


# --- what was seen ------------------------------------------------------------------------------------------------

def named(text):
    for name, (_, addresses, mac) in HOSTS.items():
        if text == mac or text in addresses.values():
            return name
    return "Service" if text in VIP.values() else text


def seen(lines):
    """[(from MAC, to MAC, source, destination)], in words."""
    found = re.findall(r"([0-9a-f:]{17}) \. ([0-9a-f:]{17}) \. ([0-9a-f.:]+) \. ([0-9a-f.:]+)", " ".join(lines))
    return [tuple(named(word) for word in words) for words in found]


def counters(said, i, ns, unit="packets"):
    """[received, sent] up to the i-th mode, IPv4 and IPv6 together; they are never reset."""
    if i < 0:
        return [0, 0]
    found = [int(n) for n in re.findall(rf"counter packets {'(' if unit == 'packets' else ''}\d+{')' if unit == 'packets' else ' bytes ([0-9]+)'}",
                                        " ".join(said[f"way{i}", ns]))]
    return [found[0] + found[1], found[2] + found[3]]


def growth(said, i, ns, unit="packets"):
    return [now - before for now, before in zip(counters(said, i, ns, unit), counters(said, i - 1, ns, unit))]


def mtu_of(i, said):
    """The largest packet that passes whole, as the client has learned it."""
    _, port, how, _, _, v = MODES[i]
    if how not in NEAR:
        return str(MTU)
    line = next((line for line in said["big", "heard"] if line.startswith(f"{port} ")), "")
    found = re.fullmatch(rf"{port} (?:whole|mtu (\d+))", line)
    if not found:
        raise ValueError(f"{MODES[i][0]}: a big datagram: {said['big', 'heard']}")
    return found[1] or str(MTU)


def row(i, said):
    """The table's row of one mode: what the node got, what its server saw, what the client got, packets at the director."""
    asked = " ".join(said.get((f"way{i}", "asked"), []))
    server = re.search(r"answered \S+ (\S+)", asked)
    there, back = seen(said[f"way{i}", "n"]), seen(said[f"way{i}", "c"])
    counts = growth(said, i, "d")
    if not server or len(there) != 1 or len(back) != 1:
        raise ValueError(f"{MODES[i][0]}: asked {asked!r}, at the node {there}, at the client {back}, counts {counts}")
    (mac, _, source, to), (answer_mac, _, answer_source, _) = there[0], back[0]
    longer = growth(said, i, "n", "bytes")[0] - HEADERS[MODES[i][5]] - 1
    return (f"| {MODES[i][0]} | {mac}'s MAC, {source} → {to} | {named(server[1])} | {answer_mac}'s MAC, from {answer_source} | "
            f"{counts[0]} in, {counts[1]} out | {longer} | {mtu_of(i, said)} |")


HEAD = ["| mode | the request at the node | its server sees | the answer at the client | packets at the director | bytes added | MTU |",
        "|---|---|---|---|---|---|---|"]


def table(output):
    said = guest.sections(output)
    return HEAD + [row(i, said) for i in range(len(MODES))]


def main(build, tool, init, peer, page=None):
    turn = sample.from_env(ci=6, quick=6)
    if page and turn.turn % turn.parts:
        return tap.skip(f"its turn is one commit in {turn.parts}; TRIMTAB_SAMPLE=all takes every test")
    try:
        machine = guest.Guest(build, init, [(peer, "/usr/bin/guest_peer"), (tool, "/usr/bin/kernel-tool")])
    except guest.Absent as why:
        return tap.skip(str(why))
    result = machine.run({"run": "#!/bin/sh\nexport PATH=$PATH:/usr/bin\n" + script(), **files()})
    try:
        lines = table(result.output)
    except (KeyError, ValueError) as why:
        lines = [f"{type(why).__name__}: {why}", *result.output.splitlines()[-60:]]
    if page is None:
        print("\n".join(lines))
        return 0
    print(f"# the guest ran for {result.seconds:.1f} s, {result.cpu_seconds:.1f} s of a processor")
    report = tap.Report()
    with open(page, encoding="utf-8") as f:
        text = f.read().splitlines()
    report.check("the page has the table as it was measured", [line for line in lines if line not in text])
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
