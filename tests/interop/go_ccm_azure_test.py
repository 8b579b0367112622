#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handing a cluster in Azure over: from the Go cloud-controller-manager to trimtab and back.

    TRIMTAB_GO_CCM_AZURE=PROGRAM go_ccm_azure_test.py TRIMTAB_SIM TRIMTAB DATA [FLAVOUR…]
                                                      (TAP on stdout; skipped when the variable is unset)

For each flavour (scale set; availability sets with standard and with basic balancers) two simulated clusters get the same
Services from the Go program.  In the first trimtab takes over; then the same edits are made in both, one under trimtab, one
under Go, and traffic must end alike; then Go takes the first one back, and trimtab takes it over again; at last half of the
Services are deleted under each, and nothing may be left.  Whoever writes, nothing that got through may be cut off by it.

With the provider that Kubernetes had until 1.29 taking over is an upgrade, not only an adoption.  What is written then, each
document once: the modern tags of public addresses, `probeThreshold`, the names of Local Services' probes, and the security
rules in their present form, in exchange for those of the old one (docs/spec/azure.md §6.6, §8.6, §9.9).  The second time only
rules of the old form are new; what of them says the same as the present ones stays until the Service changes.
"""
import json
import os
import subprocess
import sys
import tempfile
import traceback

from go_ccm_azure_services import BASIC, MOVES, RESERVED, SERVICES
from go_ccm_azure_world import ADDRESSES, BALANCERS, GO_CCM_AZURE, GROUPS, AzureCluster, kind, last
from go_ccm_world import differences
import tap  # go_ccm_world.py put its folder on the path

PROGRAMS, DATA = sys.argv[1:3], sys.argv[3]
STANDARD = {"loadBalancerSku": "standard"}
AVAILABILITY = {"vmType": "standard", "primaryAvailabilitySetName": "as-a"}
FLAVOURS = {
    "scale set": (None, STANDARD),
    "availability sets, standard": ("world-availability-sets", {**AVAILABILITY, **STANDARD}),
    "availability sets, basic": ("world-availability-sets", {**AVAILABILITY, "loadBalancerSku": "basic"}),
}


def empty_world(name):
    """A file with the machines of a recorded world, before any controller did anything."""
    def bare(value):
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if k not in ("loadBalancerBackendAddressPools", "securityRules")}
        return [bare(v) for v in value] if isinstance(value, list) else value
    with open(f"{DATA}/azure/{name}.json", encoding="utf-8") as f:
        world = json.load(f)
    azure = {i: bare(d) for i, d in world["azure"].items() if kind(i) not in (BALANCERS, ADDRESSES)}
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False, encoding="utf-8") as f:
        json.dump({"azure": azure, "cloud_config": world["cloud_config"],
                   "kubernetes": {"nodes": world["kubernetes"]["nodes"]}}, f)
    return f.name


def populate(cluster, sku):
    numbers = {f"{{{name}}}": cluster.reserve(name, sku) for name in RESERVED}
    cluster.table = {**SERVICES, **(BASIC if sku == "Basic" else {})}
    for name, (notes, spec, _) in cluster.table.items():
        spec = {k: numbers.get(v, v) if isinstance(v, str) else v for k, v in spec.items()}
        cluster.create(name, {"annotations": notes} if notes else None, **spec)


def edit(cluster):
    for name, (_, _, change) in cluster.table.items():
        if change is not None:
            cluster.patch(name, change)


def of_old(cluster):
    """Security rules that are named after a Service."""
    prefixes = tuple(cluster.lb_name(name) + "-" for name in cluster.all_services())
    return [r["name"] for i, d in cluster.documents().items() if kind(i) == GROUPS
            for r in d["properties"].get("securityRules", []) if r["name"].startswith(prefixes)]


def bare_services(cluster):
    return {name: {"spec": s["spec"], "status": s["status"], "finalizers": s["metadata"].get("finalizers")}
            for name, s in cluster.all_services().items()}


def expected(line):
    """The old Go program looks only at name and port of a probe, so that another path has no effect (§6.6)."""
    return line.startswith("probe Tcp 80.probe:")


# --- steps -------------------------------------------------------------------------------------------

def taking_over(t, what, one, first=True):
    before, services, served = one.documents(), bare_services(one), one.served()
    one.stop_go()
    one.forget_calls()
    mark = one.log_size()
    one.start()
    one.at_rest()
    after, writes = one.documents(), one.writes_since(mark)
    t.check(f"{what}: nothing that got through was cut off at any moment", one.interruptions(before, mark))
    t.check(f"{what}: nothing is made, nothing deleted", sorted(set(before) ^ set(after)))
    t.check(f"{what}: Services are as they were, not one write", [
        *differences(services, bare_services(one)), *one.service_writes()])
    t.check(f"{what}: each Service is served as it was", differences(served, one.served()))
    names = [(k, n) for _, k, n, _ in writes]
    t.check(f"{what}: {len(names)} writes for {len(services)} Services: each document once, no machine", [
        f"{n} writes of {k}" for k in sorted(set(names)) for n in [names.count(k)]
        if n > 1 or k[0] not in (ADDRESSES, BALANCERS, GROUPS)])
    if first:
        t.check(f"{what}: no security rule of the old form is left", of_old(one))
    else:
        t.check(f"{what}: no write", [f"{method} {k}/{n}" for method, k, n, _ in writes])
    again(t, what, one)


def again(t, what, one):
    """The controller that has taken over finds nothing to do after a restart, and reports it."""
    one.stop()
    one.forget_calls()
    one.start()
    one.at_rest()
    t.check(f"{what}: a restart writes nothing", [f"{op}: {n}" for op, n in one.mutations().items()])
    plan = subprocess.run([PROGRAMS[1], "plan", "--cloud-provider=azure", f"--cloud-config={one.conf}/azure.json",
                           f"--kubeconfig={one.kubeconfig}"], capture_output=True, text=True, check=False,
                          env=one.environment())
    t.check(f"{what}: the plan is empty", [] if plan.returncode == 0 else (plan.stdout + plan.stderr).splitlines())


def editing(t, what, one, two):
    addresses = {name: one.address(name) for name in one.table}
    edit(one)
    edit(two)
    one.at_rest()
    two.at_rest()
    lines = differences(one.served(), two.served())
    t.check(f"{what}: edits of {sum(row[2] is not None for row in one.table.values())} Services end under trimtab as under Go",
            [line for line in lines if not expected(line)])
    t.check(f"{what}: the deviation is there", [] if any(expected(line) for line in lines) else ["it is not"])
    t.check(f"{what}: addresses stay where nothing asked for another", [
        f"{n}: {addresses[n]} / {one.address(n)}" for n in one.table if n not in MOVES and addresses[n] != one.address(n)])


def changing_nodes(t, what, one, two):
    """Two nodes come and one goes, under trimtab and under Go."""
    for cluster in (one, two):
        cluster.must("POST", "/sim/nodes", {"count": 2})
        cluster.must("DELETE", "/sim/nodes/node-1")
    for cluster in (one, two):
        cluster.at_rest()
    lines = differences(one.served(), two.served())
    t.check(f"{what}: nodes come and go under trimtab as under Go", [line for line in lines if not expected(line)])
    members = {len(how["members"]) for how in one.served().values()}
    t.check(f"{what}: all nodes that are left take part", [] if max(members) == len(one.nodes()) - spread(one) else [members])


def spread(cluster):
    """Nodes that are not behind the greatest balancer: with basic ones those of other availability sets."""
    return len(cluster.nodes()) // 2 if "basic" in cluster.label else 0


def going_back(t, what, one):
    before, served, services = one.documents(), one.served(), bare_services(one)
    one.stop()
    mark = one.log_size()
    one.start_go()
    one.at_rest()
    t.check(f"{what}: nothing that got through was cut off at any moment", one.interruptions(before, mark))
    t.check(f"{what}: each Service is served as it was", differences(served, one.served()))
    t.check(f"{what}: Services are as they were", differences(services, bare_services(one)))


def deleting(t, what, one):
    """One half under Go, the other under trimtab."""
    first = [name for name in sorted(one.table)[::2] if name not in MOVES]
    one.stop()
    one.start_go()
    for name in first:
        one.delete(name)
    one.until("the first half is gone", lambda: not set(first) & set(one.all_services()))
    one.at_rest()
    one.stop_go()
    one.start()
    for name in one.all_services():
        one.delete(name)
    one.until("the second half is gone", lambda: not one.all_services())
    one.at_rest()
    left = one.documents()
    t.check(f"{what}: only the user's own addresses are left",
            [i for i in left if kind(i) != GROUPS and last(i) not in RESERVED])
    t.check(f"{what}: no security rule is left",
            [r["name"] for i, d in left.items() if kind(i) == GROUPS for r in d["properties"].get("securityRules", [])])
    one.stop()


def check_traffic(t, what, log):
    """In the simulator's own api-version: the Go program asks in those of its day."""
    with open(log, encoding="utf-8") as f, tempfile.NamedTemporaryFile("w", suffix=".log", encoding="utf-8") as today:
        for line in f:
            entry = json.loads(line)
            path, _, query = entry["path"].partition("?")
            version = "2018-10-01" if "/networkInterfaces" in path and "virtualMachineScaleSets" in path else \
                "2021-04-01" if "/providers/Microsoft.Compute?" in entry["path"] else \
                "2025-05-01" if "Microsoft.Network" in path else "2025-04-01"
            rest = [q for q in query.split("&") if not q.startswith("api-version=")]
            today.write(json.dumps({**entry, "path": path + "?" + "&".join([*rest, "api-version=" + version])}) + "\n")
        today.flush()
        run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", today.name], capture_output=True,
                             text=True, check=False)
    words = (run.stdout + run.stderr).strip().splitlines()
    t.check(f"{what}: {words[-1]}", words if run.returncode == 1 else [],
            "SKIP python3-jsonschema is not installed" if run.returncode == 2 else "")


def hand_over(t, flavour):
    world, config = FLAVOURS[flavour]
    path = empty_world(world) if world else None
    flags = [f"--world={path}"] if path else ["--nodes=4"]
    sku = config["loadBalancerSku"].capitalize()
    try:
        with AzureCluster(PROGRAMS, f"{flavour}: one", config, *flags) as one, \
                AzureCluster(PROGRAMS, f"{flavour}: two", config, *flags) as two:
            for cluster in (one, two):
                populate(cluster, sku)
                cluster.start_go()
            for cluster in (one, two):
                cluster.at_rest()
            t.check(f"{flavour}: Go serves {len(one.served())} ports alike in both clusters", differences(one.served(), two.served()))
            taking_over(t, f"{flavour}: trimtab takes over", one)
            editing(t, flavour, one, two)
            changing_nodes(t, flavour, one, two)
            going_back(t, f"{flavour}: Go takes over again", one)
            taking_over(t, f"{flavour}: trimtab takes over again", one, first=False)
            deleting(t, f"{flavour}: deleted", one)
            for cluster in (one, two):
                check_traffic(t, f"{cluster.label}: traffic of both programs", cluster.traffic_log)
    finally:
        if path:
            os.remove(path)


def main():
    if not GO_CCM_AZURE:
        return tap.skip("TRIMTAB_GO_CCM_AZURE does not name a Go cloud-controller-manager")
    t = tap.Report()
    for flavour in sys.argv[4:] or FLAVOURS:
        try:
            hand_over(t, flavour)
        except Exception:  # pylint: disable=broad-except  a flavour that breaks is one failed line
            t.check(flavour, traceback.format_exc().splitlines())
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
