# SPDX-License-Identifier: Apache-2.0
"""Rows of bench.py about IPVS: what the provider's writer costs in the guest of tests/guest.

kernel-tool hands 50 Services at a time to the provider's own functions, as a sync does.  Beside it stand ipvs-client, which sends the same
requests and does nothing else, and `ipvsadm -R`, which waits for each answer and asks the kernel for more than that.  The guest's
clock counts instructions: its seconds say nothing by themselves, and the rows have ratios.
"""
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import guest  # noqa: E402  pylint: disable=wrong-import-position
from bench_rig import Broken  # noqa: E402  pylint: disable=wrong-import-position

SIZES, TARGETS, PART, IN_FLIGHT = (1000, 20000), 4, 50, 128
IPVSADM_MAX = 1000  # ipvsadm is ten times as slow
LIMITS = 1200, 3600
CHANGES = 1000


def front(i):
    return f"10.0.{i // 200}.{i % 200 + 1}"


def tool_lines(n):
    lines = []
    for at in range(0, n, PART):
        changes = []
        for i in range(at, at + PART):
            changes.append(f"add {front(i)} tcp 80 rr 0 0")
            changes += [f"add-dest {front(i)} tcp 80 10.1.0.{k + 1} {10000 + i} nat 1" for k in range(TARGETS)]
        lines.append("ipvs " + " + ".join(changes))
    return "".join(line + "\n" for line in lines)


def change_lines():
    """One target of the first Service loses its weight, and gets it back."""
    return "".join(f"ipvs set-dest {front(0)} tcp 80 10.1.0.1 10000 nat {weight}\n" for weight in (0, 1) * (CHANGES // 2))


def ipset_lines(n):
    """An entry for each Service, as kube-proxy's sets have them."""
    return "create s hash:ip,port hashsize 1024 maxelem 65536\n" + "".join(f"add s {front(i)},tcp:80\n" for i in range(n))


def ipset_change_lines():
    return f"del s {front(0)},tcp:80\nadd s {front(0)},tcp:80\n" * (CHANGES // 2)


def ipvsadm_lines(n):
    return "".join(f"-A -t {front(i)}:80 -s rr\n" + "".join(f"-a -t {front(i)}:80 -r 10.1.0.{k + 1}:{10000 + i} -m -w 1\n" for k in range(TARGETS))
                   for i in range(n))


SCRIPT = """#!/bin/sh
export PATH=$PATH:/usr/bin
in="ip netns exec k"
# A namespace of its own for each writer: the kernel looks for each new destination among those that were deleted, one by one.
fresh() {
    ip netns del k 2>/dev/null
    ip netns add k && ip -n k link set lo up || exit 1
}
timed() {
    name=$1; shift
    read before rest </proc/uptime
    $in "$@" </t/input-$name >/tmp/said || { cat /tmp/said; exit 1; }
    read after rest </proc/uptime
    echo "$name $before $after $($in ipvsadm -Sn | wc -l) $(head -n 1 /tmp/said)"
}
for n in SIZES; do
    fresh
    timed client-$n ipvs-client $n TARGETS IN_FLIGHT
    fresh
    [ ! -e /t/input-ipvsadm-$n ] || { timed ipvsadm-$n ipvsadm -R; fresh; }
    timed tool-$n kernel-tool real
    timed change-$n kernel-tool real
    fresh
    timed ipset-$n ipset restore
    timed ipsetchange-$n ipset restore
    $in ipset destroy
done
"""


def run(programs, sizes):
    """{(what, n): seconds by the guest's clock}"""
    build = os.path.dirname(os.path.dirname(programs.folder))
    tests = os.path.join(build, "tests")
    machine = guest.Guest(build, os.path.join(tests, "guest", "guest_init"),
                          [(os.path.join(tests, "local", "kernel-tool"), "/usr/bin/kernel-tool"),
                           (os.path.join(tests, "bench", "ipvs-client"), "/usr/bin/ipvs-client")])
    files = {}
    for n in sizes:
        files.update({f"input-tool-{n}": tool_lines(n), f"input-client-{n}": "", f"input-change-{n}": change_lines(),
                      f"input-ipset-{n}": ipset_lines(n), f"input-ipsetchange-{n}": ipset_change_lines()})
        if n <= IPVSADM_MAX:
            files[f"input-ipvsadm-{n}"] = ipvsadm_lines(n)
    script = SCRIPT.replace("SIZES", " ".join(map(str, sizes))).replace("TARGETS", str(TARGETS)).replace("IN_FLIGHT", str(IN_FLIGHT))
    result = machine.run({"run": script, **files}, counted=True, limits=LIMITS)
    took = {}
    for what, n, before, after, lines in re.findall(r"^(\w+)-(\d+) ([\d.]+) ([\d.]+) (\d+) ", result.output, re.M):
        if what in ("client", "tool", "ipvsadm") and int(lines) != int(n) * (TARGETS + 1):
            raise Broken(f"{what} left {lines} lines, not {int(n) * (TARGETS + 1)}")
        took[what, int(n)] = float(after) - float(before)
    missing = [(what, n) for n in sizes for what in ("client", "tool", "change", "ipset", "ipsetchange") if (what, n) not in took]
    if missing:
        raise Broken(f"no {missing}; the guest said {result.output[-500:]}")
    return took


def bench_ipvs(row, programs):
    try:
        took = run(programs, SIZES)
    except guest.Absent as why:
        row("IPVS in the guest", "–", f"skipped: {why}")
        return
    except guest.Failed as error:
        raise Broken(f"{error}: {error.log[-5:]}") from error
    for n in SIZES:
        ours, least = took["tool", n], took["client", n]
        row(f"IPVS, {n} Services × {TARGETS} targets, guest: written by the provider / the same requests by a minimal client", "–",
            f"×{ours / least:.2f} ({ours:.2f} s / {least:.2f} s of emulated instructions)")
        if ("ipvsadm", n) in took:
            row(f"IPVS, {n} Services × {TARGETS} targets, guest: written by the provider / by ipvsadm -R", "–",
                f"×{ours / took['ipvsadm', n]:.2f} ({ours:.2f} s / {took['ipvsadm', n]:.2f} s)")
    for what, words in (("change", "IPVS, one change of a weight"), ("ipsetchange", "ipset, one entry out or in")):
        small, large = (took[what, n] for n in SIZES)
        row(f"{words}, guest: among {SIZES[1]} / among {SIZES[0]} Services", "linear (rules)",
            f"×{large / small:.2f} ({large / CHANGES * 1000:.2f} ms / {small / CHANGES * 1000:.2f} ms)")
    row(f"ipset, {SIZES[1]} entries, guest: by ipset restore", "–", f"{took['ipset', SIZES[1]]:.2f} s")
