# SPDX-License-Identifier: Apache-2.0
"""Figures of Azure: bursts, restarts, node changes and deletions of many Services on one balancer.  Rows for bench.py.

What upstream takes is told in docs/performance.md.
"""
import time

from bench_azure_address import bench_azure_address
from bench_rig import at_once

BURST = 100
HEALTHY = 500
SINGLES = 5  # one by one, for the pace
MANY = 1000
LB, NSG = "LoadBalancers.CreateOrUpdate", "SecurityGroups.CreateOrUpdate"


def delete(rig, name):
    rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)


def puts(calls):
    return f"{calls.counts.get(LB, 0)} / {calls.counts.get(NSG, 0)}"


def names(n):
    return [f"burst-{i}" for i in range(n)]


def settled(rig):
    """A Service late in a burst may be synced once more for an event: counts are read when all is quiet."""
    rig.until_quiet()
    return rig.calls()


def bench_burst(row, programs):
    with programs.rig("--nodes=6", cloud="azure") as rig:
        rig.start("-v=2")
        rig.forget_calls()
        begun = time.monotonic()
        at_once(rig.create, names(BURST))
        rig.until_synced(BURST)
        took = time.monotonic() - begun
        c = settled(rig)
        row(f"Azure: burst of {BURST} external Services, 6 nodes: LB PUTs / NSG PUTs / all calls", "100 / 100 / 1,200 and polls",
            f"{puts(c)} / {c.all}; {took:.1f} s with answers at once")
        rig.forget_calls()
        rig.call("POST", "/sim/nodes", {"count": 1})
        c = settled(rig)
        row(f"Azure: node added, {BURST} Services, VMSS", "≥ 500 calls",
            f"{c.all} calls, {c.mutations} of them writes: " + ", ".join(f"{n} {op}" for op, n in sorted(c.counts.items())))
        rig.forget_calls()
        at_once(lambda name: delete(rig, name), names(BURST))
        rig.until("all gone", lambda: not rig.own_services())
        c = settled(rig)
        row(f"Azure: delete of {BURST} Services at once: LB / NSG PUTs", "100 / 100", f"{puts(c)}; {c.all} calls in all")
        rig.stop()


def bench_latency(row, programs):
    """The first Service brings the instances in; its time counts for neither."""
    with programs.rig("--nodes=6", "--latency=cloud", cloud="azure") as rig:
        rig.start("-v=2")
        rig.create("first")
        rig.until_synced(1)
        rig.until_quiet()
        begun = time.monotonic()
        for i in range(SINGLES):
            rig.create(f"single-{i}")
            rig.until_synced(2 + i)
        each = (time.monotonic() - begun) / SINGLES
        begun = time.monotonic()
        at_once(rig.create, names(BURST))
        rig.until_synced(1 + SINGLES + BURST)
        took = time.monotonic() - begun
        row(f"Azure: burst of {BURST} with cloud-like latency, against one by one", "1",
            f"1/{each * BURST / took:.0f}: {took:.1f} s against {BURST} × {each:.1f} s")
        rig.stop()


def bench_restart(row, programs):
    with programs.rig("--nodes=6", f"--services={HEALTHY}", cloud="azure") as rig:
        rig.start("-v=2")
        rig.until_synced(HEALTHY)
        rig.until_quiet()
        rig.stop()
        rig.forget_calls()
        rig.start("-v=2")
        rig.until_synced(HEALTHY)
        c = settled(rig)
        writes = sum(n for op, n in rig.calls("kubernetes").counts.items()
                     if op.startswith("services") and op.split(".")[-1] in ("create", "update", "patch", "delete"))
        row(f"Azure: restart with {HEALTHY} healthy Services: calls / writes", "≈ 2,000 / 0",
            f"{c.all} / {c.mutations + writes}; peak RSS {rig.peak_mib():.1f} MiB")
        rig.stop()


def bench_many(row, programs):
    """Azure lets a balancer have 600 frontends, so two Services share an address."""
    half = MANY // 2
    with programs.rig(f"--nodes={MANY}", f"--services={half}", cloud="azure") as rig:
        rig.start()
        rig.until_synced(half)
        first = rig.peak_mib()
        items = rig.call("GET", "/api/v1/services")["items"]
        ips = [i["status"]["loadBalancer"]["ingress"][0]["ip"] for i in items if i["spec"]["type"] == "LoadBalancer"]
        at_once(lambda i: rig.create(f"second-{i}", loadBalancerIP=ips[i], ports=[{"port": 81}]), range(half))
        rig.until_synced(MANY)
        rig.until_quiet()
        row(f"Azure: peak RSS, {MANY} Services on one balancer, {MANY} VMSS instances", "–",
            f"{rig.peak_mib():.1f} MiB ({first:.1f} with {half} Services), all of them created")
        rig.stop()
        rig.start()
        rig.until_synced(MANY)
        rig.until_quiet()
        row("Azure: the same after a restart", "–", f"{rig.peak_mib():.1f} MiB")
        rig.stop()


AZURE = {"address": bench_azure_address, "burst": bench_burst, "latency": bench_latency, "restart": bench_restart, "many": bench_many}
