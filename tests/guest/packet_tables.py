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

VIP, PROBER, NODE_PORT = "198.51.100.50", "192.0.2.30", 30053
HOSTS = {"client": ("c", "192.0.2.10", "02:00:00:00:00:0a"), "director": ("d", "192.0.2.1", "02:00:00:00:00:01"),
         "node": ("n", "192.0.2.11", "02:00:00:00:00:0b")}
CLIENT, DIRECTOR, NODE = (HOSTS[name][1] for name in HOSTS)
# Mode, port of the Service, how kernel-tool makes it, port that packets have at the node, the director is the client for the node.
MODES = [("`nft`, snat never", 60, "slots", NODE_PORT, False), ("`nft`, snat", 61, "slots", NODE_PORT, True),
         ("`ipvs-nat`", 62, "nat", NODE_PORT, False), ("`ipvs-fullnat`", 63, "nat", NODE_PORT, True),
         ("`ipvs-dr`", 64, "dr", 64, False), ("`ipvs-tunnel` (ipip)", 65, "ipip", 65, False)]
NEAR = ("dr", "ipip")  # answers go by the node's own route

NETWORK = "".join([
    "ip netns add q-lan && ip -n q-lan link set lo up && ip -n q-lan link add br0 type bridge && ip -n q-lan link set br0 up\n",
    *(f"ip netns add q-{ns} && ip -n q-{ns} link set lo up && ip link add to-{ns} netns q-lan type veth peer name eth0 address {mac} "
      f"netns q-{ns} && ip -n q-lan link set to-{ns} master br0 up && ip -n q-{ns} addr add {address}/24 dev eth0 && "
      f"ip -n q-{ns} link set eth0 up || exit 1\n" for ns, address, mac in HOSTS.values()),
    f"ip -n q-c addr add {PROBER}/24 dev eth0\nip -n q-c route add {VIP}/32 via {DIRECTOR}\nip -n q-n link set tunl0 up\n",
    "ip netns exec q-n sh -c 'for f in all default eth0 tunl0; do echo 0 >/proc/sys/net/ipv4/conf/$f/rp_filter; done'\n",
    "ip netns exec q-d sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/vs/conntrack; "
    "for f in all eth0; do echo 0 >/proc/sys/net/ipv4/conf/$f/send_redirects; done'\n",
    *(f"ip netns exec q-{ns} nft -f /t/watch || exit 1\n" for ns in "cdn"),
    "ip netns exec q-n nft -f /t/proxy || exit 1\necho '== tool made'\nip netns exec q-d kernel-tool real </t/ways\n"])
# What arrives, and what leaves: addresses of the outermost header.  Probes have an address of their own, and are left out.
WATCH = f"""table netdev watch {{
 set seen {{ type ether_addr . ether_addr . ipv4_addr . ipv4_addr; flags dynamic; size 64; }}
 chain in {{
  type filter hook ingress device eth0 priority -500; policy accept;
  ip saddr {PROBER} accept
  ip daddr {PROBER} accept
  ip protocol {{ udp, 4 }} counter update @seen {{ ether saddr . ether daddr . ip saddr . ip daddr }}
 }}
 chain out {{
  type filter hook egress device eth0 priority 500; policy accept;
  ip protocol {{ udp, 4 }} counter
 }}
}}
"""
# As kube-proxy on a node, for what keeps the Service's address.
PROXY = f"""table ip proxy {{
 chain pre {{
  type nat hook prerouting priority dstnat; policy accept;
  ip daddr {VIP} meta l4proto udp dnat to {NODE}:{NODE_PORT}
 }}
}}
"""


def ways():
    lines = ["make", f"+ vip {VIP} d/a"]
    for _, port, how, node_port, snat in MODES:
        front = f"{VIP} udp {port}"
        if how == "slots":
            lines.append(f"+ slots {front} rr 4 {NODE} {node_port}")
        else:
            lines.append(f"ipvs add {front} rr 0 0 + add-dest {front} {NODE} {node_port} {how} 1")
        lines += [f"+ open {front} 0.0.0.0/0"] + [f"+ snat {front}"] * snat
    return "".join(line + "\n" for line in [*lines, "commit", f"hold {VIP}"])


def plan(port):
    return (f"listen q-n udp {NODE} {NODE_PORT}\nask {port} q-c udp {CLIENT} {VIP} {port}\n"
            f"probe q-c udp {PROBER} {NODE} {NODE_PORT}\n")


def script():
    """The lines for all modes, one after the other."""
    text = NETWORK
    for i, (_, port, how, _, snat) in enumerate(MODES):
        gateway = how not in NEAR and not snat
        text += f"ip -n q-n route {'replace' if gateway else 'flush'} {CLIENT}/32{f' via {DIRECTOR}' if gateway else ''}\n"
        text += "for ns in c n; do ip netns exec q-$ns nft flush set netdev watch seen; done\n"
        text += f"echo '== way{i} asked'\nguest_peer </t/way-{port}\n"
        for ns in "cn":
            text += f"echo '== way{i} {ns}'\nip netns exec q-{ns} nft list set netdev watch seen\n"
        text += f"echo '== way{i} d'\nip netns exec q-d nft list table netdev watch\n"
    return text


def files():
    return {"watch": WATCH, "proxy": PROXY, "ways": ways(), **{f"way-{port}": plan(port) for _, port, *_ in MODES}}


# --- what was seen ------------------------------------------------------------------------------------------------

def named(text):
    for name, (_, address, mac) in HOSTS.items():
        text = text.replace(mac, name) if text == mac else text.replace(address, name) if text == address else text
    return "Service" if text == VIP else text


def seen(lines):
    """[(from MAC, to MAC, source, destination)], in words."""
    found = re.findall(r"([0-9a-f:]{17}) \. ([0-9a-f:]{17}) \. ([0-9.]+) \. ([0-9.]+)", " ".join(lines))
    return [tuple(named(word) for word in words) for words in found]


def counters(said, i):
    """[received, sent] by the director up to the i-th mode; they are never reset."""
    return [int(n) for n in re.findall(r"counter packets (\d+)", " ".join(said[f"way{i}", "d"]))] if i >= 0 else [0, 0]


def row(i, said):
    """The table's row of one mode: what the node got, what its server saw, what the client got, packets at the director."""
    asked = " ".join(said.get((f"way{i}", "asked"), []))
    server = re.search(r"answered \S+ (\S+)", asked)
    there, back = seen(said[f"way{i}", "n"]), seen(said[f"way{i}", "c"])
    counts = [now - before for now, before in zip(counters(said, i), counters(said, i - 1))]
    if not server or len(there) != 1 or len(back) != 1 or len(counts) != 2:
        raise ValueError(f"{MODES[i][0]}: asked {asked!r}, at the node {there}, at the client {back}, counts {counts}")
    (mac, _, source, to), (answer_mac, _, answer_source, _) = there[0], back[0]
    return (f"| {MODES[i][0]} | {mac}'s MAC, {source} → {to} | {named(server[1])} | {answer_mac}'s MAC, from {answer_source} | "
            f"{counts[0]} in, {counts[1]} out |")


HEAD = ["| mode | the request at the node | its server sees | the answer at the client | packets at the director |", "|---|---|---|---|---|"]


def table(output):
    said = guest.sections(output)
    return HEAD + [row(i, said) for i in range(len(MODES))]


def main(build, tool, init, peer, page=None):
    turn = sample.from_env(ci=3, quick=3)
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
