#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""IPVS mode on a real kernel: what is rendered is installed as it is, and packets go where the trace says.

    ipvs_test.py BUILD TRIMTAB_EVAL GUEST_INIT GUEST_PEER SAMPLES      (TAP; skipped where a piece of the guest is absent)

One boot for everything.  The worlds are those of cluster.py, and a part of the samples of services.ipvs, which are installed
only (TRIMTAB_SAMPLE=all takes every one).  Clients send each packet up to three times; what they heard is compared with services.ipvs_trace.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import cluster  # noqa: E402  pylint: disable=wrong-import-position
import guest  # noqa: E402  pylint: disable=wrong-import-position
import installed  # noqa: E402  pylint: disable=wrong-import-position
import network  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

# Refusals are ICMP, of which a kernel sends a limited number in a second.
RUN = """\
#!/bin/sh
echo 1000000 >/proc/sys/net/ipv4/icmp_msgs_per_sec
echo 1000000 >/proc/sys/net/ipv4/icmp_msgs_burst
"""
# Arguments: name of the world, "" or 6.  Runs in the namespace of the node.
INSTALL = """\
world=$1 six=$2
cd /t/$world || exit 1
step() { "$@" || echo "== $world broken: $*"; }
step ip -batch addresses
step ipset restore <sets
step ipvsadm -R <servers
step ip${six}tables-nft-restore --noflush <rules
echo "== $world sets"; ipset save
echo "== $world servers"; ipvsadm -S -n
echo "== $world addresses"; ip -o addr show dev kube-ipvs0
echo "== $world rules"; ip${six}tables-nft-save
"""


class Case:
    """One world: `name` for people, `room` as the prefix of its namespaces."""

    def __init__(self, number, name, world, sends):
        self.name, self.room, self.world, self.sends = name, f"w{number}", world, sends
        self.six = world["proxy"]["family"] == "IPv6"
        self.rendering, self.saved, self.traces, self.asks = None, None, [], []

    def packets(self):
        if not self.sends:
            return []
        rows = list(cluster.packets())
        return cluster.in_ipv6(rows) if self.six else rows

    def trace_questions(self):
        return [("services.ipvs_trace", {**self.world, "packet": {"source": source, "protocol": protocol, "dest": dest, "port": port}})
                for _, protocol, source, dest, port in self.packets()]

    def plan_asks(self):
        """Each packet as often as it may meet another endpoint, at most three times: others go to the same address."""
        self.asks = [(f"{i}.{k}", *packet) for i, (packet, trace) in enumerate(zip(self.packets(), self.traces))
                     for k in range(min(3, max(1, len(trace["outputs"]))))]

    def script(self):
        lines = network.script(self.room, self.six) if self.sends else f"ip netns add {self.room}-node\n"
        lines += f"ip netns exec {self.room}-node sh /t/install {self.room} {'6' if self.six else ''}\n"
        if self.sends:
            lines += f"echo '== {self.room} heard'; guest_peer </t/{self.room}/plan\n"
        return lines

    def files(self, jumps):
        parts = installed.files(self.rendering, jumps)
        if self.sends:
            parts["plan"] = network.plan(self.room, self.six, self.asks)
        return {f"{self.room}/{name}": text for name, text in parts.items()}


def all_cases(samples, chosen):
    worlds = [(name, world, True) for name, world in cluster.WORLDS.items()]
    with open(samples, encoding="utf-8") as f:
        for line in f:
            case = json.loads(line)
            name = f"sample {case['id']}"
            if case["fn"] == "services.ipvs" and "out" in case and chosen.takes(name):
                worlds.append((name, case["in"], False))
    return [Case(i, *row) for i, row in enumerate(worlds)]


def ask_everything(program, cases):
    """Fills the cases with renderings and traces; returns the jumps from the kernel's chains."""
    jumps, *renderings = installed.ask(program, [("services.ipvs_jumps", {})] + [("services.ipvs", c.world) for c in cases])
    saved = installed.ask(program, [("services.iptables_saved", {"family": c.world["proxy"]["family"], "tables": r["iptables"]})
                                    for c, r in zip(cases, renderings)])
    for case, rendering, as_saved in zip(cases, renderings, saved):
        case.rendering, case.saved = rendering, as_saved
        case.traces = installed.ask(program, case.trace_questions()) if case.sends else []
        case.plan_asks()
    return jumps


def sections(output):
    """{(world, part): text} of what the guest printed; lines that no part has are under None."""
    found, part = {}, None
    for line in output.splitlines():
        head = re.match(r"== (\w+) (\w+)(.*)", line)
        if head:
            part = (head[1], head[2])
            line = head[3].strip(": ")
        if line:
            found.setdefault(part, []).append(line)
        elif part:
            found.setdefault(part, [])
    return {part: "\n".join(lines) for part, lines in found.items()}


def expected(case, packet, trace):
    """The answers that requests of one packet may get: a set of texts, and whether the endpoints take turns."""
    namespace, _, source, dest, _ = packet
    if trace["loses_answer"] or trace["outputs"] == ["DROP"]:
        return {"silent"}, False
    if trace["outputs"] == ["REJECT"]:
        return {"refused"}, False
    heard = set()
    for pod in trace["outputs"]:
        own = pod.rsplit(":", 1)[0].strip("[]") == source
        masqueraded = namespace == "node" or trace["every"] or (own and trace["masquerade"])
        heard.add(f"answered {pod} {'node' if masqueraded else 'client'}")
    sticky = any("persistent_s" in v for v in case.rendering["virtual_servers"] if v["address"] == dest)
    return heard, not sticky and not case.world["proxy"].get("scheduler")


def normal(case, packet, text):
    """A line that a client heard, with the address that the pod saw by its role."""
    words = text.split()
    if words[0] == "answered":
        nodes = case.world["node"]["addresses"] + case.rendering["bound"]
        seen = words[2]
        words[2] = "client" if seen == packet[2] and packet[0] != "node" else "node" if seen in nodes else seen
    return " ".join(words)


def packet_differences(case, text):
    """Lines; none when each packet met what the trace says, and the packets to one address together met all of it."""
    heard, together = {}, {}
    for line in text.splitlines():
        name, _, said = line.partition(" ")
        heard.setdefault(name.split(".")[0], []).append(said)
    wrong = [line for line in text.splitlines() if not re.match(r"\d+\.\d+ ", line)]
    for i, (packet, trace) in enumerate(zip(case.packets(), case.traces)):
        got = {normal(case, packet, said) for said in heard.get(str(i), ["nothing was printed"])}
        want, by_turns = expected(case, packet, trace)
        if not got <= want:
            wrong.append(f"{' '.join(map(str, packet))}: heard {sorted(got)}, the trace says {sorted(want)}")
        if by_turns:
            met = together.setdefault((packet[1], *packet[3:]), [0, set(), set()])
            met[0] += len(heard.get(str(i), ()))
            met[1].update(g.split()[1] for g in got if g.startswith("answered"))
            met[2].update(w.split()[1] for w in want if w.startswith("answered"))
    return wrong + [f"{' '.join(map(str, to))}: pods {sorted(got)} answered, the trace says {sorted(want)}"
                    for to, (n, got, want) in together.items() if n >= 2 * len(want) and got != want]


def main(build, program, init, peer, samples):
    try:
        machine = guest.Guest(build, init, [(peer, "/usr/bin/guest_peer")])
    except guest.Absent as why:
        return tap.skip(str(why))
    chosen = sample.from_env(ci=12, quick=12)
    print(chosen.line(), flush=True)
    cases = all_cases(samples, chosen)
    jumps = ask_everything(program, cases)
    files = {"run": RUN + "".join(c.script() for c in cases), "install": INSTALL}
    for case in cases:
        files.update(case.files(jumps))
    report = tap.Report()
    try:
        result = machine.run(files)
    except guest.Failed as error:
        report.check("the guest runs its script", [str(error), *error.log])
        return report.end()
    print(f"# the guest ran for {result.seconds:.1f} s, {result.cpu_seconds:.1f} s of a processor; "
          f"{sum(len(c.asks) for c in cases)} connections and datagrams")
    said = sections(result.output)
    report.check("the guest runs its script", [] if result.status == 0 else [f"exit {result.status}", *result.output.splitlines()[-40:]])
    for case in cases:
        texts = {part: said.get((case.room, part), "") for part in ("sets", "servers", "addresses", "rules")}
        broken = [said[case.room, "broken"]] if (case.room, "broken") in said else []
        report.check(f"{case.name}: the kernel has what was rendered",
                     broken + installed.differences(case.rendering, case.saved, jumps, texts))
    for case in filter(lambda c: c.sends, cases):
        report.check(f"{case.name}: {len(case.asks)} packets go where the trace says",
                     packet_differences(case, said.get((case.room, "heard"), "")))
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:6]))
