# SPDX-License-Identifier: Apache-2.0
"""Many Services at once in a cloud that takes its time: how long each waits, with how many threads.  Rows for bench.py.

All Services exist before trimtab starts; a wait is counted from its first request to the cloud until the Service's sync is logged.
Threads and memory are the most that was seen while the burst lasted, looked at ten times a second.

The memory of a Service in flight is the difference of two bursts, divided by that of the Services in flight.  Bytes of the
heap are counted by glibc's libmemusage.so; what the kernel counts (RssAnon) has stacks, buffers and what lies idle between
blocks as well.  The peak RSS of both would not do: with ten in flight it is that of the start, whatever ten Services take.
"""
import os
import re

from bench_gce_address import INTERNAL, L4, NETLB_NEGS, RBS
from bench_rig import Broken, at_once, took_ms

BURST = 100
BIG = 1000
BIG_AZURE = 500  # a balancer of Azure has room for 600 frontends
MEMUSAGE = f"/lib/{os.uname().machine}-linux-gnu/libmemusage.so"
PATIENCE_S = 3600  # with documented limits a thousand NLBs take a quarter of an hour and more
IN_FLIGHT = (10, 50, 100)
NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
INSIDE = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
# Title, annotations of each Service in turn, flags.
KINDS = {
    "gce": ("external Services of Google", (None,), []),
    "gce-internal": ("internal Services of Google on groups", (INTERNAL,), []),
    "gce-neg": ("internal Services of Google on NEGs", (INTERNAL,), L4),
    "gce-rbs": ("external Services of Google on groups with a backend service", (RBS,), L4),
    "gce-rbs-neg": ("external Services of Google on NEGs", (RBS,), NETLB_NEGS),
    "aws": ("NLBs", (NLB,), []),
    "azure": ("external Services of Azure", (None,), []),
    "azure-both": ("Services of Azure, half of them internal", (None, INSIDE), []),
}
BATCHES = ("azure",)  # one worker takes what waits as a batch: the number in flight says nothing
# The limits that the clouds document as defaults (docs/adr/0048-budgets-of-requests.md).
EC2 = {"reads": {"bucket": 100, "per_second": 20}, "unfiltered": {"bucket": 50, "per_second": 10},
       **{cost: {"bucket": 50, "per_second": 5} for cost in ("writes", "heavy", "creates")}}
ELB = {cost: {"bucket": 40, "per_second": 10} for cost in ("reads", "writes", "heavy", "creates")}
LIMITS = {"gce": {"throttle": {"per_minute": 1500}}, "aws": {"throttle": {"ec2": EC2, "elb": ELB, "elbv2": ELB}},
          "azure": {"throttle": {"reads": {"bucket": 250, "per_second": 25}, "writes": {"bucket": 200, "per_second": 10},
                                 "deletes": {"bucket": 200, "per_second": 10}}}}
REFUSED = ("403", "400", "429", "503")  # nothing else is refused in a burst
QUOTAS = [f"--quota={name}=1000000" for name in ("targets_per_group", "rules_per_group", "groups_per_vpc")]


def threads(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"Threads:\s+(\d+)", f.read()).group(1))


def anon_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))


def memory_of(programs, cloud, in_flight, counted):
    """KiB at the peak of a burst: of the heap, as counted, or of anonymous pages."""
    annotations, most = KINDS[cloud][1][0], 0
    with programs.rig("--nodes=6", "--latency=cloud", *(QUOTAS if cloud == "aws" else ()), cloud=cloud) as rig:
        at_once(lambda i: rig.create(f"s{i}", annotations), range(BURST))
        if counted:
            rig.env["LD_PRELOAD"] = MEMUSAGE
        rig.start("-v=2", f"--concurrent-service-syncs={in_flight}")

        def all_there():
            nonlocal most
            most = max(most, anon_kib(rig.child.pid))
            return len({line["service"] for line in rig.messages("Synced")}) >= BURST
        rig.until(f"{BURST} Services", all_there, PATIENCE_S)
        rig.stop()
        with open(rig.log, encoding="utf-8", errors="replace") as f:
            heap = re.search(r"heap peak:\D*?(\d+)", re.sub(r"\x1b\[[\d;]*m", "", f.read()))
    if counted and heap is None:
        raise Broken("libmemusage.so did not say the heap's peak")
    return int(heap.group(1)) / 1024 if counted else most


def bench_memory(row, programs):
    low, high = IN_FLIGHT[0], IN_FLIGHT[-1]
    for cloud in ("gce", "aws"):
        heap = "not counted, there is no libmemusage.so"
        if os.path.exists(MEMUSAGE):
            heap = f"{(memory_of(programs, cloud, high, True) - memory_of(programs, cloud, low, True)) / (high - low):.1f} KiB of the heap"
        anon = (memory_of(programs, cloud, high, False) - memory_of(programs, cloud, low, False)) / (high - low)
        row(f"memory for each of {BURST} {KINDS[cloud][0]} in flight, {high} against {low}", "–", f"{heap}; {anon:.0f} KiB of anonymous pages")


def at(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def burst(programs, kind, n, in_flight, limited):
    """One burst; the row's text."""
    _, annotations, flags = KINDS[kind]
    cloud, most = kind.split("-")[0], 0
    with programs.rig("--nodes=6", "--latency=cloud", *(QUOTAS if cloud == "aws" else ()), cloud=cloud) as rig:
        if limited:
            rig.call("PUT", "/sim/settings/" + cloud, LIMITS[cloud])

        def create(i):
            if flags:
                rig.slice(f"s{i}", "node-0", "node-1")
            rig.create(f"s{i}", annotations[i % len(annotations)])
        at_once(create, range(n))
        rig.start("-v=4", f"--concurrent-service-syncs={in_flight}", *flags)

        def all_there():
            nonlocal most
            most = max(most, threads(rig.child.pid))
            return len({line["service"] for line in rig.messages("Synced")}) >= n
        rig.until(f"{n} Services", all_there, PATIENCE_S)
        requests = [line for line in rig.messages("Cloud request") if line["api"] == cloud]
        begun = min(line["ts"] - took_ms(line) for line in requests)
        first = {}
        for line in rig.messages("Synced"):
            first.setdefault(line["service"], (line["ts"] - begun) / 1000)
        refused = sum(str(line.get("status")) in REFUSED for line in requests)
        text = (f"{max(first.values()):.1f} s; p50 {at(first.values(), 0.5):.1f} s, p95 {at(first.values(), 0.95):.1f} s; "
                f"{most} threads; peak RSS {rig.peak_mib():.1f} MiB; {len(requests)} requests, {refused} refused")
        rig.stop()
    return text


def rows_of(kind, n):
    def bench(row, programs):
        for limited in (False, True):
            for in_flight in IN_FLIGHT[:1] if kind.split("-")[0] in BATCHES else IN_FLIGHT:
                row(f"burst of {n} {KINDS[kind][0]}, {in_flight} in flight, cloud-like latency{', documented limits' if limited else ''}", "–",
                    burst(programs, kind, n, in_flight, limited))
    return bench


BURSTS = {f"{kind}{'' if n == BURST else f'-{n}'}": rows_of(kind, n)
          for kind in KINDS for n in (BURST, BIG_AZURE if kind == "azure" else BIG)}
BURSTS["memory"] = bench_memory
