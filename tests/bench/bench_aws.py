# SPDX-License-Identifier: Apache-2.0
"""Figures of AWS: many balancers with all nodes behind each, restarts, single flows, mass creation.  Rows for bench.py.

The worlds come about by trimtab itself: a first process creates, a second one adopts.  What upstream takes is told in
docs/performance.md.
"""
import time

from bench_aws_address import bench_aws_address
from bench_rig import READ, Timeline, at_once, cpu_s

MANY = 1000
INSTANCES = 2000
FEW_INSTANCES = 250
HEALTHY = 500
NODE_EVENT = 100
NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
ZONES = "--zones=us-east-1a,us-east-1b,us-east-1c"
# Real accounts have these raised who run so much; what is measured is trimtab, not AWS' patience.
QUOTAS = [f"--quota={name}=1000000" for name in ("targets_per_group", "targets_per_nlb", "targets_per_zone", "rules_per_group", "groups_per_vpc")]
KINDS = {"one-port NLBs": lambda i: NLB, "classic ones": lambda i: {}, "half of each": lambda i: NLB if i % 2 else {}}

KIND_OF = {"NLB": "one-port NLBs", "classic one": "classic ones"}


def rig_of(programs, nodes):
    return programs.rig(f"--nodes={nodes}", ZONES, *QUOTAS, cloud="aws")


def create_all(rig, n, kind):
    at_once(lambda i: rig.create(f"s{i}", KINDS[kind](i)), range(n))


def settled(rig):
    """A late Service may be synced once more for an event: counts are read when all is quiet."""
    rig.until_quiet()
    return rig.calls()


def by_name(calls):
    return ", ".join(f"{n} {op}" for op, n in sorted(calls.counts.items()))


def service_writes(rig):
    return sum(n for op, n in rig.calls("kubernetes").counts.items()
               if op.startswith("services") and op.split(".")[-1] in ("create", "update", "patch", "delete"))


def made(rig, n, kind):
    """All at once before the start, so that ten workers have as much to do as they can take."""
    create_all(rig, n, kind)
    rig.forget_calls()
    begun = time.monotonic()
    sims = cpu_s(rig.sim.pid)
    rig.start("-v=2")
    rig.until_synced(n)
    return time.monotonic() - begun, cpu_s(rig.child.pid), cpu_s(rig.sim.pid) - sims


def created(rig, n, kind, nodes, row):
    took, ours, sims = made(rig, n, kind)
    c = settled(rig)
    row(f"AWS: {n} {kind} created at once by ten workers, {nodes} instances", "–",
        f"peak RSS {rig.peak_mib():.1f} MiB; {c.all / n:.1f} calls each ({c.reads / n:.1f} reads); {took:.0f} s, of which CPU: "
        f"trimtab {ours:.1f} s, simulator {sims:.1f} s")
    rig.stop()


def adopted(rig, n):
    rig.forget_calls()
    begun = time.monotonic()
    rig.start("-v=2")
    rig.until_synced(n)
    took, cpu = time.monotonic() - begun, cpu_s(rig.child.pid)
    c = settled(rig)
    return (f"peak RSS {rig.peak_mib():.1f} MiB; {c.all / n:.2f} calls each, lists included; {c.mutations} mutations, "
            f"{service_writes(rig)} writes on Services; {took:.1f} s, of which CPU {cpu:.1f} s")


# --- many --------------------------------------------------------------------------------------------------------

def bench_many(row, programs):
    for kind in KINDS:
        with rig_of(programs, INSTANCES) as rig:
            created(rig, MANY, kind, INSTANCES, row)
            row(f"AWS: {MANY} {kind} adopted, {INSTANCES} instances behind each", "–", adopted(rig, MANY))
            rig.stop()


def bench_create(row, programs):
    for kind in KINDS:
        with rig_of(programs, FEW_INSTANCES) as rig:
            created(rig, MANY, kind, FEW_INSTANCES, row)


def bench_restart(row, programs):
    for kind in ("one-port NLBs", "classic ones"):
        with rig_of(programs, 6) as rig:
            made(rig, HEALTHY, kind)
            rig.until_quiet()
            rig.stop()
            row(f"AWS: restart with {HEALTHY} healthy {kind}", "–", adopted(rig, HEALTHY))
            rig.stop()


# --- single flows ------------------------------------------------------------------------------------------------

def waves_of(rig, act):
    """How many mutations were sent together, one wave after the other; each call takes its time meanwhile."""
    rig.slow_cloud()
    before, n = len(rig.messages("Cloud request")), len(rig.messages("Synced"))
    act()
    rig.until_synced(n + 1)
    rig.until_quiet()
    rig.fast_cloud()
    t = Timeline(rig.messages("Cloud request")[before:])
    return len(t.waves([r for r in t.requests if not READ.search(r[2])]))


def flow(rig, act, again):
    rig.forget_calls()
    n = len(rig.messages("Synced"))
    act()
    rig.until_synced(n + 1)
    c = settled(rig)
    return f"{c.all} calls: {c.reads} reads, {c.mutations} mutations in {waves_of(rig, again)} waves"


def touch(rig, name, value):
    rig.patch({"namespace": "default", "name": name}, {"metadata": {"annotations": {"touched": value}}})


def bench_flows(row, programs):
    for kind, annotations in (("NLB", NLB), ("classic one", {})):
        with rig_of(programs, 6) as rig:
            rig.start("-v=4")
            rig.create("first", annotations)
            rig.until_synced(1)
            rig.until_quiet()
            row(f"AWS: create, a further {kind}", "–",
                flow(rig, lambda: rig.create("a", annotations), lambda: rig.create("b", annotations)))
            row(f"AWS: no-op re-sync, {kind} (an annotation touched)", "–",
                flow(rig, lambda: touch(rig, "a", "1"), lambda: touch(rig, "b", "1")))
            rig.stop()
        with rig_of(programs, 6) as rig:
            made(rig, NODE_EVENT, KIND_OF[kind])
            rig.until_quiet()
            rig.forget_calls()
            rig.call("POST", "/sim/nodes", {"count": 1})
            c = settled(rig)
            row(f"AWS: node added, {NODE_EVENT} Services, each {kind}", "–", f"{c.all / NODE_EVENT:.2f} calls each: {by_name(c)}")
            rig.stop()


AWS = {"address": bench_aws_address, "many": bench_many, "create": bench_create, "restart": bench_restart, "flows": bench_flows}
