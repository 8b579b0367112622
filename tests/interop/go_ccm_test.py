#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handing a cluster over: from the Go cloud-controller-manager to trimtab and back.

    TRIMTAB_GO_CCM=PROGRAM go_ccm_test.py TRIMTAB_SIM TRIMTAB DATA     (TAP on stdout; skipped when the variable is unset)

Two simulated clusters get the same Services from the Go program.  In the first trimtab takes over: it must find
nothing to do.  Then the same edits are made in both, one under trimtab, one under Go; the clouds must end alike.
Then the Go program takes the first one back: it must find nothing to do either.  At last half of the Services are
deleted under each; nothing may be left.

The Go program may be older than the finalizer gke.networking.io/l4-netlb-v1.  Then trimtab adds it while taking over
(the one write that is allowed), and a Service that is deleted under that old program later waits for trimtab.
"""
import os
import subprocess
import sys
import traceback

from go_ccm_services import EXTERNAL, INTERNAL_KINDS, ODD, OTHERS, RESERVED
from go_ccm_world import EXTERNAL_FINALIZER, GO_CCM, Cluster, differences
import tap  # go_ccm_world.py put its folder on the path

PROGRAMS, DATA = sys.argv[1:3], sys.argv[3]
CLEANUP = "service.kubernetes.io/load-balancer-cleanup"


def fill(value, numbers):
    """Replaces "{name}" by the number of that reserved address."""
    if isinstance(value, dict):
        return {k: fill(v, numbers) for k, v in value.items()}
    if isinstance(value, list):
        return [fill(v, numbers) for v in value]
    return numbers[value[1:-1]] if isinstance(value, str) and value.startswith("{") else value


def populate(cluster):
    cluster.numbers = {name: cluster.reserve(name, **body) for name, body in RESERVED.items()}
    for table in (EXTERNAL, INTERNAL_KINDS, OTHERS, ODD):
        for name, row in table.items():
            cluster.create(name, {"annotations": row[0]} if row[0] else None, **fill(row[1], cluster.numbers))


def edit(cluster):
    for table in (EXTERNAL, ODD):
        for name, row in table.items():
            if row[2] is not None:
                cluster.patch(name, fill(row[2], cluster.numbers))


def not_ours(path, cluster):
    """The Go program never gets an SCTP Service done: it gives its leftovers a new address at every attempt."""
    return cluster.lb_name("odd-sctp") in path


def added_finalizers(before, after):
    """Services that differ in anything but the finalizer that older Go programs do not know."""
    wrong = []
    for name, svc in after.items():
        old = before[name]
        gone = set(old["metadata"].get("finalizers", [])) - set(svc["metadata"].get("finalizers", []))
        new = set(svc["metadata"].get("finalizers", [])) - set(old["metadata"].get("finalizers", []))
        if gone or new - {EXTERNAL_FINALIZER} or svc["status"] != old["status"] or svc["spec"] != old["spec"]:
            wrong.append(f"{name}: -{sorted(gone)} +{sorted(new)} {old['status']} / {svc['status']}")
        if new and not name.startswith("ext-"):
            wrong.append(f"{name} is not ours and got {sorted(new)}")
    return wrong


def taking_over(t, one):
    resources, services = one.resources(), one.all_services()
    one.stop_go()
    one.forget_calls()
    one.start()
    one.at_rest()
    t.check("trimtab takes over: no cloud write", [f"{op}: {n}" for op, n in one.mutations().items()])
    t.check("trimtab takes over: every resource is as it was", differences(resources, one.resources()))
    t.check("trimtab takes over: no Service write but the finalizer that this Go program does not set",
            added_finalizers(services, one.all_services()))
    writes = one.service_writes()
    t.check(f"trimtab takes over: {writes.get('services.status.patch', 0)} finalizers, each with one patch",
            [] if set(writes) <= {"services.status.patch"} and writes.get("services.status.patch", 0) <= len(EXTERNAL)
            else [str(writes)])
    reads = one.calls()["gce"]
    reserved = sum("loadBalancerIP" in row[1] for row in EXTERNAL.values())
    t.check(f"trimtab takes over: {len(services)} Services cost {sum(reads.values())} cloud reads",
            [str(reads)] if sum(reads.values()) > 5 + 6 * reserved else [])


# Differences that trimtab repairs and the Go program leaves (rows of docs/deviations.md): firewall rules follow a change of
# protocol, and the mixed-protocol condition goes when the ports are uniform again.
def expected_difference(line, one):
    return (line.startswith(f"projects/trimtab-sim/global/firewalls/k8s-fw-{one.lb_name('ext-protocol')}.allowed:")
            or line.startswith("service odd-mixed.status:"))


def editing(t, one, two):
    addresses = {name: one.address(name) for name in EXTERNAL}
    edit(one)
    edit(two)
    one.at_rest()
    two.at_rest()
    lines = [d for d in differences(one.comparable(), two.comparable()) if not not_ours(d, one)]
    t.check(f"edits of {len(EXTERNAL)} Services end under trimtab as under Go",
            [d for d in lines if not expected_difference(d, one)])
    t.check("the two deviations are there", [] if len([d for d in lines if expected_difference(d, one)]) == 2 else lines)
    moved = [f"{name}: {addresses[name]} / {one.address(name)}" for name, row in EXTERNAL.items()
             if addresses[name] and addresses[name] != one.address(name) and not may_move(name)]
    t.check("addresses stay where nothing asked for another", moved)
    t.check("internal Services are untouched", [
        name for name in INTERNAL_KINDS if one.finalizers(name) != ["gke.networking.io/l4-ilb-v1", CLEANUP]
        or not one.address(name)])


def may_move(name):
    return name in ("ext-static", "ext-static-later", "ext-standard", "ext-premium", "ext-goes")


def going_back(t, one):
    resources, services = one.resources(), one.all_services()
    one.stop()
    one.forget_calls()
    one.start_go()
    one.at_rest()
    lines = [d for d in differences(resources, one.resources()) if not not_ours(d, one)]
    t.check("Go takes over again: every resource is as it was", lines)
    known = ("compute.addresses.", "compute.firewalls.patch")        # the latter for odd-sctp
    t.check("Go takes over again: nothing but its reserving and releasing of addresses",
            [f"{op}: {n}" for op, n in one.mutations().items() if not op.startswith(known)])
    after = one.all_services()
    t.check("Go takes over again: Services are as they were", [
        name for name, svc in after.items() if svc["status"]["loadBalancer"] != services[name]["status"]["loadBalancer"]
        or svc["metadata"].get("finalizers") != services[name]["metadata"].get("finalizers")])


def deleting(t, one):
    """One half under Go, the other under trimtab."""
    names = sorted(one.all_services())
    first = [n for n in names[::2] if not n.startswith("odd-")]
    lb_names = {n: one.lb_name(n) for n in first}
    for name in first:
        one.delete(name)
    one.at_rest()
    left = one.resources()
    t.check(f"{len(first)} Services deleted under Go: nothing of them is left in the cloud",
            [path for path in left for n in first if lb_names[n] in path])
    waiting = [n for n in first if one.get(n) is not None]
    t.check("those that this Go program cannot let go wait with nothing but trimtab's finalizer",
            [f"{n}: {one.finalizers(n)}" for n in waiting if one.finalizers(n) != [EXTERNAL_FINALIZER]])
    one.stop_go()
    one.start()
    for name in names:
        if name not in first:
            one.delete(name)
    # The Go service controller adds its finalizer to regional-backend-service ones, too, and must remove it.
    kept = [n for n in names if n not in first and n == "other-rbs"]
    try:
        one.until("trimtab has let go of its own", lambda: set(one.all_services()) == set(kept))
    except AssertionError as error:
        left = [f"{n}: {one.finalizers(n)}" for n in sorted(set(one.all_services()) ^ set(kept)) if one.get(n)]
        raise AssertionError(f"still there: {left}; wanted: {kept}\n{error}") from error
    one.at_rest()
    for name in kept:
        one.until_event(name, "LoadBalancerServedElsewhere", "cloud-controller-manager of cloud-provider-gcp")
    t.check("one of another's kind, deleted under trimtab, keeps its finalizer and says who must finish",
            [f"{n}: {one.finalizers(n)}" for n in kept if one.finalizers(n) != [CLEANUP]])
    t.check("deleted under trimtab: nothing external or internal is left", [
        path for path in one.resources() if "/targetPools/" in path or "/httpHealthChecks/" in path
        or "-http-hc" in path or "/forwardingRules/" in path or "/backendServices/" in path])
    one.stop()
    one.start_go()
    one.until("Go has finished its own", lambda: not one.all_services())
    one.at_rest()
    t.check("at the end only the user's own addresses are left",
            [path for path in one.resources() if path.split("/")[-1] not in RESERVED])
    one.stop_go()


def many_nodes(t):
    """Above 200 nodes a pool is filled in steps."""
    with Cluster(PROGRAMS, "many nodes", "--nodes=230") as one:
        for name, spec in (("ext-tcp", {}), ("ext-local", {"externalTrafficPolicy": "Local"})):
            one.create(name, **spec)
        one.start_go()
        one.until("both have an address", lambda: one.address("ext-tcp") and one.address("ext-local"))
        one.at_rest()
        one.stop_go()
        one.forget_calls()
        one.start()
        one.at_rest()
        t.check("230 nodes: trimtab takes over without a cloud write", [str(one.mutations())] if one.mutations() else [])
        one.must("POST", "/sim/nodes", {"count": 5})
        for number in (3, 77, 201):
            one.must("DELETE", f"/sim/nodes/node-{number}")
        want = sorted(f"node-{n}" for n in range(235) if n not in (3, 77, 201))
        one.until("both pools follow", lambda: one.members() == sorted(want * 2))
        one.create("ext-late", ports=[{"port": 90}])
        one.until_made("ext-late")
        one.until("the new pool is full", lambda: one.members() == sorted(want * 3))
        one.at_rest()
        resources = one.resources()
        one.stop()
        one.forget_calls()
        one.start_go()
        one.at_rest()
        t.check("232 nodes: Go takes over again, every resource is as it was", differences(resources, one.resources()))
        t.check("232 nodes: and touches no pool", [op for op in one.mutations() if "targetPools" in op])


def check_traffic(t, folder, log):
    run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", log], capture_output=True, text=True,
                         check=False)
    words = (run.stdout + run.stderr).strip().splitlines()
    skip = " # SKIP python3-jsonschema is not installed" if run.returncode == 2 else ""
    t.check(f"traffic of {folder}: {words[-1]}{skip}", words if run.returncode == 1 else [])


def hand_over(t):
    log = "--traffic-log={}"
    logs = [os.path.join(os.environ.get("TMPDIR", "/tmp"), f"trimtab-go-{os.getpid()}-{n}.log") for n in (1, 2)]
    try:
        with Cluster(PROGRAMS, "one", "--nodes=6", log.format(logs[0])) as one, \
                Cluster(PROGRAMS, "two", "--nodes=6", log.format(logs[1])) as two:
            for cluster in (one, two):
                populate(cluster)
                cluster.start_go()
            for cluster in (one, two):
                cluster.at_rest()
            lines = [d for d in differences(one.comparable(), two.comparable()) if not not_ours(d, one)]
            t.check(f"Go builds the same for {len(one.all_services())} Services in both clusters", lines)
            t.check("every internal Service has an address", [n for n in INTERNAL_KINDS if not one.address(n)])
            taking_over(t, one)
            editing(t, one, two)
            going_back(t, one)
            deleting(t, one)
        for name, path in zip(("one", "two"), logs):
            check_traffic(t, f"cluster {name}, both programs", path)
    finally:
        for path in logs:
            if os.path.exists(path):
                os.remove(path)


def main():
    if not GO_CCM:
        return tap.skip("TRIMTAB_GO_CCM does not name a Go cloud-controller-manager")
    t = tap.Report()
    for part in (hand_over, many_nodes):
        try:
            part(t)
        except Exception:  # pylint: disable=broad-except  a part that breaks is one failed line
            t.check(part.__name__, traceback.format_exc().splitlines())
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
