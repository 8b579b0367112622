#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds traces of packets against the rules that upstream's own proxies wrote (TAP, one test per mode).

    eval_traces_test.py TRIMTAB_EVAL SAMPLES.jsonl

The samples of services.iptables, services.ipvs and services.nftables hold worlds and upstream's rules for them.  For each,
packets to its addresses, nearly all to its ports, go through those rules (packet_walk.py) and through services.*_trace.
The seed is fixed, so a failure comes back.
"""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import packet_walk  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

MODES = {"iptables": packet_walk.iptables, "ipvs": packet_walk.ipvs, "nftables": packet_walk.nftables}
PACKETS = 50  # for each world
SOURCES = ["203.0.113.70", "192.0.2.9", "1.2.3.4", "10.0.0.9", "10.244.1.77", "172.30.0.1", "127.0.0.1",
           "2001:db8:99::7", "fd00:10:244::77", "::1"]


def destinations(world):
    """(address, port, protocol) of all that the Services of a world may answer, and some that they do not."""
    own = world["node"].get("addresses", []) + ["127.0.0.1", "127.0.0.5", "::1"]
    for service in world["services"]:
        spec = service["spec"]
        ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress", [])
        addresses = [spec.get("clusterIP"), *spec.get("clusterIPs", []), *spec.get("externalIPs", []),
                     *(i.get("ip") for i in ingress)]
        for port in spec.get("ports", []):
            protocol = port["protocol"].lower()
            yield from ((ip, port["port"], protocol) for ip in addresses if ip and ip != "None")
            yield from ((ip, port["nodePort"], protocol) for ip in own if port.get("nodePort"))
        yield from ((ip, spec["healthCheckNodePort"], "tcp") for ip in own[:-3] if spec.get("healthCheckNodePort"))


def packets(world, rng):
    is_ipv6 = world["proxy"]["family"] == "IPv6"
    to = [d for d in destinations(world) if (":" in d[0]) == is_ipv6]
    pods = [e["addresses"][0] for s in world["slices"] for e in s.get("endpoints", []) if e.get("addresses")]
    sources = [s for s in SOURCES + world["node"].get("addresses", []) + pods + [d[0] for d in to]
               if (":" in s) == is_ipv6]
    for _ in range(PACKETS if to else 0):
        dest, port, protocol = rng.choice(to)
        if rng.random() < 0.07:
            port += 1
        yield {"source": rng.choice(sources), "dest": dest, "port": port, "protocol": protocol}


def ask(program, requests):
    run = subprocess.run([program], input="".join(json.dumps(r) + "\n" for r in requests), capture_output=True, check=True,
                         text=True)
    return [json.loads(line).get("out") for line in run.stdout.splitlines()]


def compare(program, mode, cases):
    """Lines that say what differs, and how often packets ended in which way."""
    rng, requests, wants, ends = random.Random(22), [], [], {}
    for case in cases:
        for packet in packets(case["in"], rng):
            wants.append(MODES[mode](case["in"], case["out"], packet))
            requests.append({"id": case["id"], "fn": f"services.{mode}_trace", "in": {**case["in"], "packet": packet}})
            kind = (wants[-1]["outputs"] or ["none"])[0]
            kind = kind if kind.isalpha() else "endpoint"
            ends[kind] = ends.get(kind, 0) + 1
    wrong = []
    for request, want, got in zip(requests, wants, ask(program, requests)):
        if mode == "ipvs" and got:
            got["outputs"].sort()  # real servers have no order
        if got is None or {name: got.get(name) for name in want} != want:  # IPVS has members of our own
            wrong.append(f"sample {request['id']}, {request['in']['packet']}: rules {want}, trace {got}")
    return wrong, ends


def main(program, samples):
    with open(samples, encoding="utf-8") as f:
        cases = [json.loads(line) for line in f]
    report = tap.Report(2 * len(MODES))
    for mode in MODES:
        own = [c for c in cases if c["fn"] == "services." + mode]
        wrong, ends = compare(program, mode, own)
        report.check(f"{mode}: {sum(ends.values())} packets end where upstream's rules lead them", wrong[:20])
        want = {"endpoint", "REJECT", "none"} | ({"DROP", "ACCEPT"} if mode == "iptables" else set())
        few = sorted(kind for kind in want if ends.get(kind, 0) < 10)
        report.check(f"{mode}: packets end in every way", [f"fewer than ten: {few}, of {ends}"] if few else [])
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
