# SPDX-License-Identifier: Apache-2.0
"""Figures of AWS: many balancers with all nodes behind each, restarts, single flows, mass creation.  Rows for bench.py.

The worlds come about by trimtab itself: a first process creates, a second one adopts.  What upstream takes is told in
docs/performance.md.
"""
import time

from bench_rig import at_once, cpu_s

MANY = 1000
INSTANCES = 2000
HEALTHY = 500
NODE_EVENT = 100
NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
ZONES = "--zones=us-east-1a,us-east-1b,us-east-1c"
# Real accounts have these raised who run so much; what is measured is trimtab, not AWS' patience.
QUOTAS = [f"--quota={name}=1000000" for name in ("targets_per_group", "targets_per_nlb", "rules_per_group", "groups_per_vpc")]
KINDS = {"one-port NLBs": lambda i: NLB, "classic ones": lambda i: {}, "half of each": lambda i: NLB if i % 2 else {}}


def rig_of(programs, nodes):
    return programs.rig(f"--nodes={nodes}", ZONES, *QUOTAS, cloud="aws")


def create_all(rig, n, kind):
    at_once(lambda i: rig.create(f"s{i}", KINDS[kind](i)), range(n))


def settled(rig):
    """Whoever comes late may be synced once more for the sake of an event: counts are read when all is quiet."""
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


# --- many --------------------------------------------------------------------------------------------------------

def adopted(rig, n):
    rig.forget_calls()
    begun = time.monotonic()
    rig.start("-v=2")
    rig.until_synced(n)
    took, cpu = time.monotonic() - begun, cpu_s(rig.child.pid)
    c = settled(rig)
    return c, f"{rig.peak_mib():.1f} MiB; {c.all / n:.2f} calls each, {c.mutations} of them writes, {service_writes(rig)} writes on Services; " \
              f"{took:.1f} s, of which CPU {cpu:.1f} s"


def bench_many(row, programs):
    for kind in KINDS:
        with rig_of(programs, INSTANCES) as rig:
            took, ours, sims = made(rig, MANY, kind)
            c = settled(rig)
            row(f"AWS: {MANY} {kind} created at once by ten workers, {INSTANCES} instances", "–",
                f"peak RSS {rig.peak_mib():.1f} MiB; {c.all / MANY:.1f} calls each ({c.reads / MANY:.1f} reads); {took:.0f} s, of which "
                f"CPU: trimtab {ours:.0f} s, simulator {sims:.0f} s")
            rig.stop()
            _, figures = adopted(rig, MANY)
            row(f"AWS: the same adopted by a new process: peak RSS", "–", figures)
            rig.stop()


AWS = {"many": bench_many}
