# SPDX-License-Identifier: Apache-2.0
"""Bursts: many new Services at once, in a cloud that takes as long and as many requests as the real ones.

The limits are those that the clouds document as defaults; without them the same burst shows what they cost.  Rows for
bench.py; BURST=1000 in the environment makes the bursts larger.
"""
import concurrent.futures
import os
import re

from bench_rig import at_once

N = int(os.environ.get("BURST", "100"))
NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
EC2 = {"reads": {"bucket": 100, "per_second": 20}, "unfiltered": {"bucket": 50, "per_second": 10}}
EC2.update({cost: {"bucket": 50, "per_second": 5} for cost in ("writes", "heavy", "creates")})
ELB = {cost: {"bucket": 40, "per_second": 10} for cost in ("reads", "writes", "heavy", "creates")}
LIMITS = {
    "gce": {"throttle": {"per_minute": 1500}},
    "aws": {"throttle": {"ec2": EC2, "elb": ELB, "elbv2": ELB}},
    "azure": {"throttle": {"reads": {"bucket": 250, "per_second": 25}, "writes": {"bucket": 200, "per_second": 10},
                           "deletes": {"bucket": 200, "per_second": 10}}},
}
QUOTAS = [f"--quota={name}=1000000" for name in ("targets_per_group", "targets_per_nlb", "targets_per_zone", "rules_per_group", "groups_per_vpc")]
KINDS = (("gce", "target pools", None, []), ("aws", "NLBs", NLB, QUOTAS), ("azure", "external", None, []))
REFUSED = re.compile(r'trimtab_cloud_requests_refused_total\{[^}]*\} ([0-9.]+)')


def threads(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"Threads:\s+(\d+)", f.read()).group(1))


def at(sorted_ms, part):
    return sorted_ms[min(len(sorted_ms) - 1, int(len(sorted_ms) * part))] / 1000


def burst(programs, kind, in_flight, limited):
    cloud, title, annotations, quotas = kind
    with programs.rig("--nodes=3", "--latency=cloud", *quotas, cloud=cloud) as rig:
        if limited:
            rig.call("PUT", "/sim/settings/" + cloud, LIMITS[cloud])
        rig.start("-v=2", f"--concurrent-service-syncs={in_flight}")
        begun = rig.lines()[-1]["ts"]
        at_once(lambda i: rig.create(f"s{i}", annotations), range(N))
        most, first = 0, {}

        def synced():
            nonlocal most
            most = max(most, threads(rig.child.pid))
            for line in rig.messages("Synced"):
                first.setdefault(line["service"], line["ts"])
            return len(first) == N

        rig.until(f"{N} Services", synced)
        waits = sorted(ms - begun for ms in first.values())
        calls = rig.calls()
        refused = sum(1 for line in rig.lines() if "throttled" in line.get("msg", "").lower())
        peak = rig.peak_mib()
        rig.stop()
    what = f"{title}: burst of {N}, {in_flight} in flight, {'with' if limited else 'without'} the cloud's limits"
    return what, (f"{waits[-1] / 1000:.1f} s in all, p50 {at(waits, 0.5):.1f}, p95 {at(waits, 0.95):.1f}; {calls.all} calls, "
                  f"{refused} logged as throttled; {most} threads, {peak:.1f} MiB")


def bench_bursts(row, programs):
    runs = [(kind, n, limited) for kind in KINDS for n in (10, 50) for limited in (True, False)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for what, here in pool.map(lambda run: burst(programs, *run), runs):
            row(what, "–", here)


BURST = {"limits": bench_bursts}
