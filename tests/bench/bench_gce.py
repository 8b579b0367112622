# SPDX-License-Identifier: Apache-2.0
"""Figures of Google's balancers with a backend service: internal ones on NEGs and on instance groups, external ones (RBS).
Rows for bench.py.

What upstream takes is told in docs/performance.md.
"""
import json
import os
import urllib.error

from bench_gce_address import bench_address
from bench_rig import Timeline, at_once, cpu_s, slice_of, took_ms

L4 = ["--controllers=-service-lb-controller", "--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg",
      "--gate-l4-by-lock=false"]  # calls are counted
INTERNAL_CLASS = "networking.gke.io/l4-regional-internal"
INTERNAL = {"networking.gke.io/load-balancer-type": "Internal"}
RBS = {"cloud.google.com/l4-rbs": "enabled"}
MEMBERS = ("compute.networkEndpointGroups.listNetworkEndpoints", "compute.instanceGroups.listInstances")
HEALTHY = 1000
NODE_EVENT = 500
MANY = 5000


def members(calls):
    return sum(calls.counts.get(op, 0) for op in MEMBERS)


def service_writes(rig):
    return sum(n for op, n in rig.calls("kubernetes").counts.items()
               if op.startswith("services") and op.split(".")[-1] in ("create", "update", "patch", "delete"))


def internal(rig, name, **spec):
    """Whose pods stand already."""
    rig.slice(name, "node-0", "node-1")
    rig.create(name, INTERNAL, **spec)


def external(rig, name, **spec):
    rig.slice(name, "node-0", "node-1")
    rig.create(name, RBS, **spec)


def settled(rig):
    rig.until_quiet()
    return rig.calls()


def waves_of(rig, act, synced=1):
    """Does it while each call of the cloud takes its time; what was sent together is seen in the log."""
    rig.slow_cloud()
    before, n = len(rig.messages("Cloud request")), len(rig.messages("Synced"))
    act()
    rig.until_synced(n + synced)
    rig.until_quiet()
    rig.fast_cloud()
    return Timeline(rig.messages("Cloud request")[before:])


def created(rig, create, name):
    """Calls of one more, then the waves of another one."""
    n = len(rig.messages("Synced"))
    rig.forget_calls()
    create(rig, name)
    rig.until_synced(n + 1)
    c = settled(rig)
    waves, idle_ms = waves_of(rig, lambda: create(rig, name + "-slow")).until_address()
    return (f"{c.all} requests: {c.reads} reads, {c.mutations} mutations, {c.waits} waits; {waves} mutation waves until the "
            f"address; nothing under way for {idle_ms:.0f} ms")


def touched(rig, name, value):
    rig.patch({"namespace": "default", "name": name}, {"metadata": {"annotations": {"touched": value}}})


def untouched(rig, name):
    """An annotation that means nothing, after what was written last has been seen once, and a minute later."""
    figures = []
    for value in ("a", "b"):
        rig.forget_calls()
        t = waves_of(rig, lambda value=value: touched(rig, name, value))
        c = rig.calls()
        figures.append(f"{c.reads} reads in {t.read_waves()} wave, {c.mutations} mutations")
    return figures[0] + " after a write; " + figures[1] + " within a minute of the last look"


def delete(rig, name):
    rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)


def gone(rig, name):
    def check():
        try:
            rig.call("GET", "/api/v1/namespaces/default/services/" + name)
        except urllib.error.HTTPError as e:
            return e.code == 404
        return False
    return check


def deleted(rig, name, again):
    rig.forget_calls()
    delete(rig, name)
    rig.until("deleted", gone(rig, name))
    c = settled(rig)
    rig.slow_cloud()
    before = len(rig.messages("Cloud request"))
    delete(rig, again)
    rig.until("deleted", gone(rig, again))
    rig.fast_cloud()
    t = Timeline(rig.messages("Cloud request")[before:])
    return (f"{c.all} requests, NEGs included: {c.reads} reads in {t.read_waves()} wave, {c.mutations} mutations, {c.waits} "
            f"waits; NEGs {t.ms_between('compute.regionBackendServices.delete', 'compute.networkEndpointGroups.delete'):.0f} ms after the backend service")


# --- one Service -------------------------------------------------------------------------------------------------

def bench_neg(row, programs):
    with programs.rig("--nodes=6", "--zones=us-central1-a,us-central1-b,us-central1-c") as rig:
        rig.start("-v=4", *L4)
        internal(rig, "first")
        rig.until_synced(1)
        rig.until_quiet()
        row("internal NEG create, warm", "74–79 requests, 12–14 mutations, 7–9 s", created(rig, internal, "further"))
        row("internal no-op (an unrelated annotation)", "17 requests, 2 mutations", untouched(rig, "further"))
        row("delete internal NEG", "25 requests, NEGs up to 120 s later", deleted(rig, "further", "further-slow"))
        rig.create("local", INTERNAL, externalTrafficPolicy="Local")
        rig.call("PUT", "/sim/pods/default/local", {"node-0": 1})
        rig.until_quiet()
        rig.forget_calls()
        rig.call("PUT", "/sim/pods/default/local", {"node-1": 1})
        c = settled(rig)
        row("pod moves, Local", "13", f"{c.all} requests: " + ", ".join(f"{n} {op}" for op, n in sorted(c.counts.items())))
        rig.stop()


def bench_rbs(row, programs):
    with programs.rig("--nodes=6") as rig:
        rig.start("-v=4", *L4)
        n = len(rig.messages("Synced"))
        external(rig, "first")
        rig.until_synced(n + 1)
        c = settled(rig)
        row("external RBS create, first", "68 requests, 15 mutations, 17.0 s", f"{c.all} requests, {c.mutations} mutations")
        row("external RBS create, a further one", "47 requests, 8 mutations, 9.4 s", created(rig, external, "further"))
        row("external RBS no-op", "17", untouched(rig, "further"))
        rig.stop()


# --- many --------------------------------------------------------------------------------------------------------

def bench_node_event(row, programs):
    """Every zone has more nodes than a subset takes; groups have room for one more."""
    for what, upstream, create, nodes in (
            ("node added, subsets full", "1,500–3,000 lists", internal, MANY),
            ("node added, instance groups (RBS)", "group calls + 1 + 2z reads each", external, MANY // 2)):
        with programs.rig(f"--nodes={nodes}") as rig:
            rig.start("-v=2", *L4)
            at_once(lambda i, create=create, rig=rig: create(rig, f"s{i}"), range(NODE_EVENT))
            rig.until_synced(NODE_EVENT)
            rig.until_quiet()
            n = len(rig.messages("Synced"))
            rig.forget_calls()
            before = cpu_s(rig.child.pid)
            rig.call("POST", "/sim/nodes", {"count": 1})
            rig.until_synced(n + NODE_EVENT)
            c = settled(rig)
            row(f"{what}, {NODE_EVENT} Services, {nodes} nodes", upstream,
                f"{c.all} requests" + "".join(f", {k} {op}" for op, k in sorted(c.counts.items())) +
                f"; CPU {cpu_s(rig.child.pid) - before:.2f} s")
            rig.stop()


def bench_node_latency(row, programs):
    """A node comes in a cloud that takes its time: until all Services have it, beside the slowest of their operations."""
    for n in (100, HEALTHY):
        for what, create, flags in (("internal NEG Services", internal, L4), ("target pools", lambda rig, name: rig.create(name), []),
                                    ("external Services on instance groups", external, L4)):
            path = os.path.join(programs.folder, f"world-node-{n}.json")
            with programs.rig("--nodes=6", "--zones=us-central1-a,us-central1-b,us-central1-c") as rig:
                rig.start("-v=2", *flags)
                at_once(lambda i, create=create, rig=rig: create(rig, f"s{i}"), range(n))
                rig.until_synced(n)
                rig.until_quiet()
                rig.stop()
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(rig.call("GET", "/sim/state"), f)
            with programs.rig("--world=" + path, "--latency=cloud") as rig:
                rig.start("-v=4", *flags)
                rig.until_synced(n)
                rig.until_quiet()
                synced, requests, done = (len(rig.messages(text)) for text in ("Synced", "Cloud request", "Done"))
                rig.call("POST", "/sim/nodes", {"count": 1})
                rig.until_synced(synced + n)
                begun = min(line["ts"] - took_ms(line) for line in rig.messages("Cloud request")[requests:])
                whole = max(line["ts"] for line in rig.messages("Synced")[synced:]) - begun
                one = max(took_ms(line) for line in rig.messages("Done")[done:])
                row(f"node added, {n} {what}, 10 in flight, cloud-like latency", "58 s with 100 and 5 workers; ingress-gce 11 s",
                    f"{whole / 1000:.1f} s; slowest operation {one / 1000:.1f} s; ratio {whole / one:.2f}; "
                    f"{len(rig.messages('Cloud request')) - requests} requests")
                rig.stop()


def with_slices(world, nodes):
    """Two slices to a Service, two pods in each."""
    names = [s["metadata"]["name"] for s in world["kubernetes"]["services"] if s["spec"]["type"] == "LoadBalancer"]
    slices = [slice_of(name, [f"node-{(7 * i + 3 * part + k) % nodes}" for k in range(2)], part)
              for i, name in enumerate(names) for part in range(2)]
    for i, one in enumerate(slices):
        one["metadata"].update(uid=f"5ce00000-0000-4000-8000-{i:012d}", resourceVersion=str(i + 1),
                               creationTimestamp="2026-01-01T00:00:00Z")
    world["kubernetes"]["endpointslices"] = slices
    return world


def world_of(row, programs, services, nodes):
    """A world in which so many internal Services have their balancers: made once, by trimtab."""
    path = os.path.join(programs.folder, f"world-neg-{services}-{nodes}.json")
    if os.path.exists(path):
        return path
    with programs.rig(f"--nodes={nodes}", f"--services={services}:{INTERNAL_CLASS}") as rig:
        rig.call("PUT", "/sim/state", with_slices(rig.call("GET", "/sim/state"), nodes))
        rig.start("-v=2", *L4)
        rig.until_synced(services)
        c = settled(rig)
        row(f"peak RSS, {services} internal NEG Services created at once, {nodes} nodes, {2 * services} slices", "–",
            f"{rig.peak_mib():.1f} MiB; {c.all / services:.1f} requests each")
        rig.stop()
        os.makedirs(programs.folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(rig.call("GET", "/sim/state"), f)
    return path


def adopted(row, programs, services, nodes, upstream):
    with programs.rig("--world=" + world_of(row, programs, services, nodes)) as rig:
        rig.start("-v=2", *L4)
        rig.until_synced(services)
        c = settled(rig)
        listed = members(c)
        row(f"restart with {services} internal NEG Services, {nodes} nodes", "17 requests, 2 mutations each",
            f"{(c.reads - listed) / services:.3f} reads each, {listed} lists of members, {c.mutations} mutations, "
            f"{service_writes(rig)} writes on Services; CPU {cpu_s(rig.child.pid):.1f} s")
        row(f"peak RSS, {services} internal NEG Services adopted, {nodes} nodes, {2 * services} slices", upstream,
            f"{rig.peak_mib():.1f} MiB")
        rig.stop()


def bench_restart(row, programs):
    adopted(row, programs, HEALTHY, 90, "–")


def bench_many(row, programs):
    adopted(row, programs, MANY, MANY, "314 MiB (legacy) and 249 MiB (L4 and NEGs)")


GCE = {"address": bench_address, "neg": bench_neg, "rbs": bench_rbs, "restart": bench_restart, "node-event": bench_node_event, "node-latency": bench_node_latency, "many": bench_many}
