# SPDX-License-Identifier: Apache-2.0
"""A row of bench.py about IPVS: what the provider's writer costs in the guest of tests/guest, beside ipvsadm with the same objects.

kernel-tool hands 50 Services at a time to the provider's own functions, as a sync does; `ipvsadm -R` waits for each answer, and asks
the kernel for more than that, so that it is no minimal client.
Seconds of an emulated processor say nothing by themselves; the two take turns in one boot, and the row has their ratio.
"""
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import guest  # noqa: E402  pylint: disable=wrong-import-position
from bench_rig import Broken  # noqa: E402  pylint: disable=wrong-import-position

SERVICES, TARGETS, PART, ROUNDS = 500, 4, 50, 3


def front(i):
    return f"10.0.{i // 200}.{i % 200 + 1}"


def tool_lines():
    lines = []
    for at in range(0, SERVICES, PART):
        changes = []
        for i in range(at, at + PART):
            changes.append(f"add {front(i)} tcp 80 rr 0 0")
            changes += [f"add-dest {front(i)} tcp 80 10.1.0.{k + 1} {10000 + i} nat 1" for k in range(TARGETS)]
        lines.append("ipvs " + " + ".join(changes))
    return "".join(line + "\n" for line in lines)


def ipvsadm_lines():
    return "".join(f"-A -t {front(i)}:80 -s rr\n" + "".join(f"-a -t {front(i)}:80 -r 10.1.0.{k + 1}:{10000 + i} -m -w 1\n" for k in range(TARGETS))
                   for i in range(SERVICES))


SCRIPT = """#!/bin/sh
export PATH=$PATH:/usr/bin
ip netns add k && ip -n k link set lo up || exit 1
in="ip netns exec k"
for round in ROUNDS; do
    for what in tool ipvsadm; do
        read before rest </proc/uptime
        if [ $what = tool ]; then $in kernel-tool real </t/tool >/tmp/said; else $in ipvsadm -R </t/ipvsadm; fi
        read after rest </proc/uptime
        echo "$what $before $after $($in ipvsadm -Sn | wc -l)"
        $in ipvsadm -C
    done
done
"""


def bench_ipvs(row, programs):
    build = os.path.dirname(os.path.dirname(programs.folder))
    tests = os.path.join(build, "tests")
    try:
        machine = guest.Guest(build, os.path.join(tests, "guest", "guest_init"),
                              [(os.path.join(tests, "local", "kernel-tool"), "/usr/bin/kernel-tool")])
        result = machine.run({"run": SCRIPT.replace("ROUNDS", " ".join(map(str, range(ROUNDS)))), "tool": tool_lines(),
                              "ipvsadm": ipvsadm_lines()})
    except guest.Absent as why:
        row("IPVS in the guest", "–", f"skipped: {why}")
        return
    except guest.Failed as error:
        raise Broken(f"{error}: {error.log[-5:]}") from error
    took = {"tool": [], "ipvsadm": []}
    for what, before, after, n in re.findall(r"^(tool|ipvsadm) ([\d.]+) ([\d.]+) (\d+)$", result.output, re.M):
        if int(n) != SERVICES * (TARGETS + 1):
            raise Broken(f"{what} left {n} lines, not {SERVICES * (TARGETS + 1)}")
        took[what].append(float(after) - float(before))
    if min(map(len, took.values())) < ROUNDS:
        raise Broken(f"the guest said {result.output[-500:]}")
    ours, theirs = (sorted(took[what])[ROUNDS // 2] for what in ("tool", "ipvsadm"))
    row(f"IPVS, {SERVICES} Services × {TARGETS} targets, guest: written by the provider / by ipvsadm -R, the same objects", "–",
        f"×{ours / theirs:.2f} ({ours:.1f} s / {theirs:.1f} s, emulated)")
