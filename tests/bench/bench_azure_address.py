# SPDX-License-Identifier: Apache-2.0
"""How long a user of Azure's balancers waits: from the first write of a flow to its end, beside the longest chain of it.

As bench_gce_address.py.  Azure takes one write of a document after the other: public IP, balancer, security group.  Models of scale
sets go before their instances (docs/spec/azure.md, row 18 of the pitfalls).  The group is written beside the pools where a Service is
new or changes sides.  What an address or a port needs that a Service leaves is taken away after the status is written; an edit that
leaves the status as it is ends with its sync, and so does its chain.  Of many Services that come at once the slowest write of each
step counts.  Rigs run at the same time, since they wait and do not work.
"""
import concurrent.futures
import json
import os

from bench_gce_address import longest, of_service
from bench_rig import READ, WAIT, took_ms

MANY = 20
PREFIX = "service.beta.kubernetes.io/azure-"
IP, LB, GROUP = "public IP address", "load balancer", "change network security group"
EXTERNAL, INSIDE = rf"(create|change) {LB} (?!.*-internal$)", rf"(create|change) {LB} .*-internal$"
MODEL = r"change scale set (?!instance )"
INSTANCE = r"change (scale set instance|network interface|backend pool)"
CREATE = (
    (f"create {IP}", EXTERNAL, GROUP),
    (f"create {IP}", EXTERNAL, MODEL, INSTANCE),
)
TO_INTERNAL = ((INSIDE, MODEL, INSTANCE),)  # clients of the network need no rule of ours; the group is closed at the former address after
EDIT = ((f"change {LB}", GROUP),)  # what is let in at the new port does not arrive before
NODE_PORTS = ((GROUP, f"change {LB}", GROUP),)  # the nodes are open before, and closed after
RANGES = ((GROUP,),)
OTHER_ADDRESS = ((f"change {IP}", GROUP, f"change {LB}"),)  # open there before it is used
PRIVATE = ((INSIDE, INSIDE),)  # the frontend leaves its address, and gets the other
LABEL = ((f"change {IP}",),)
MOVE = ((f"change {LB} kubernetes$", f"create {LB} lb-b$", INSTANCE),)
DELETE = ((GROUP, MODEL, INSTANCE, f"(change|delete) {LB}", f"delete {IP}"),)
INTERNAL = {PREFIX + "load-balancer-internal": "true"}
TWO = {"loadBalancerBackendPoolConfigurationType": "nodeIP", "multipleStandardLoadBalancerConfigurations": [
    {"name": "kubernetes", "primaryVMSet": "vmss"}, {"name": "lb-b", "primaryVMSet": "vmssb"}]}


def ports(port, **more):
    return {"spec": {"ports": [{"port": port, "protocol": "TCP", **more}]}}


def notes(**annotations):
    return {"metadata": {"annotations": {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}}}


def timed_many(rig, names, chains, act, until_status):
    """Seconds from the first write until all have their status, or until nothing is left."""
    def count(message):
        return {name: len(of_service(rig, message, name)) for name in names}

    synced, done, patched, requests = count("Synced"), count("Done"), count("Patching status for service"), len(rig.messages("Cloud request"))
    act()
    rig.until("syncs with operations", lambda: all(len(of_service(rig, "Synced", n)) > synced[n] for n in names) and
              any(len(of_service(rig, "Done", n)) > done[n] for n in names))
    mine = [line for line in rig.messages("Cloud request")[requests:] if line["api"] == "azure"]
    begun = min(line["ts"] - took_ms(line) for line in mine if not READ.search(line["operation"]) and not WAIT.search(line["operation"]))
    end = max(line["ts"] for n in names for line in of_service(rig, "Synced", n)[synced[n]:])
    written = [lines[0]["ts"] for n in names for lines in [of_service(rig, "Patching status for service", n)[patched[n]:]] if lines]
    serves = (max(written) if until_status and written else end) - begun
    chain = longest([line for n in names for line in of_service(rig, "Done", n)[done[n]:]], chains)
    return (f"chain {chain:.1f} s; today {serves / 1000:.1f} s; ratio {serves / 1000 / chain:.2f}; "
            f"whole sync {(end - begun) / 1000:.1f} s")


class Flows:
    """One rig with its rows."""

    def __init__(self, rig):
        self.rig, self.rows = rig, []
        rig.start("-v=4")

    def measure(self, what, names, chains, act, until_status=True):
        self.rows.append((f"Azure: {what}, seconds from the first write", timed_many(self.rig, names, chains, act, until_status)))
        self.rig.until_quiet()

    def create(self, what, name, chains, annotations=None, **spec):
        self.measure(what, [name], chains, lambda: self.rig.create(name, annotations, **spec))

    def edit(self, what, name, chains, body):
        self.measure(what, [name], chains, lambda: self.rig.patch({"namespace": "default", "name": name}, body))

    def gone(self, what, names, chains):
        def delete():
            for name in names:
                self.rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)
        self.measure(what, names, chains, delete, until_status=False)

    def end(self):
        self.rig.stop()
        return self.rows


def of_many(programs):
    many = [f"m{i}" for i in range(MANY)]
    with programs.rig("--nodes=6", "--latency=cloud", cloud="azure") as rig:
        f = Flows(rig)
        f.create("create, first", "a", CREATE)
        f.create("create, a further one", "b", CREATE)
        f.measure(f"create of {MANY}", many, CREATE, lambda: [rig.create(n) for n in many])
        f.gone("delete", ["a"], DELETE)
        f.gone(f"delete of {MANY}", many, DELETE)
        return f.end()


def of_edits(programs):
    with programs.rig("--nodes=6", "--latency=cloud", cloud="azure") as rig:
        f = Flows(rig)
        for name in ("a", "b"):
            rig.create(name)
        rig.until_synced(2)
        rig.until_quiet()
        f.edit("another port", "b", EDIT, ports(81))
        f.edit("source ranges", "b", RANGES, {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})
        f.edit("policy Local", "b", ((f"change {LB}",),), {"spec": {"externalTrafficPolicy": "Local"}})
        f.edit("policy Cluster", "b", ((f"change {LB}",),), {"spec": {"externalTrafficPolicy": "Cluster"}})
        f.edit("a health probe by HTTP", "b", ((f"change {LB}",),), notes(load_balancer_health_probe_protocol="http"))
        f.edit("a DNS label", "b", LABEL, notes(dns_label_name="bench"))
        f.edit("no DNS label", "b", LABEL, notes(dns_label_name=""))
        f.edit("floating IP off", "b", NODE_PORTS, notes(disable_load_balancer_floating_ip="true"))
        f.edit("another node port", "b", NODE_PORTS, ports(81, nodePort=32001))
        f.edit("floating IP on", "b", NODE_PORTS, notes(disable_load_balancer_floating_ip=None))
        shared = next(i for i in rig.call("GET", "/api/v1/services")["items"] if i["metadata"]["name"] == "a")
        address = shared["status"]["loadBalancer"]["ingress"][0]["ip"]
        f.edit("to the address of another Service", "b", OTHER_ADDRESS, notes(load_balancer_ipv4=address))
        f.edit("back to an address of its own", "b", ((f"create {IP}", GROUP, f"change {LB}"),), notes(load_balancer_ipv4=None))
        return f.end()


def of_sides(programs):
    with programs.rig("--nodes=6", "--latency=cloud", cloud="azure") as rig:
        f = Flows(rig)
        for name in ("a", "b", "c"):
            rig.create(name)
        rig.until_synced(3)
        rig.until_quiet()
        f.edit("external to internal, the first internal one", "b", TO_INTERNAL, {"metadata": {"annotations": INTERNAL}})
        f.edit("external to internal, a further one", "c", TO_INTERNAL, {"metadata": {"annotations": INTERNAL}})
        f.edit("internal: another private address", "c", PRIVATE, notes(load_balancer_ipv4="10.240.200.9"))
        f.edit("internal to external", "c", CREATE, notes(load_balancer_internal=None, load_balancer_ipv4=None))
        f.create("internal: create, a further one", "d", ((INSIDE,),), INTERNAL)
        f.edit("internal to external, the last internal ones", "b", CREATE, notes(load_balancer_internal=None))
        return f.end()


def of_moves(programs):
    with programs.rig("--nodes=6", "--latency=cloud", cloud="azure") as rig:
        path = os.path.join(rig.folder, rig.config)
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**config, **TWO}, file)
        f = Flows(rig)
        for name in ("a", "b"):
            rig.create(name, {PREFIX + "load-balancer-configurations": "kubernetes"})
        rig.until_synced(2)
        rig.until_quiet()
        f.edit("to another balancer", "b", MOVE, notes(load_balancer_configurations="lb-b"))
        return f.end()


def bench_azure_address(row, programs):
    """With the simulator's cloud-like latency."""
    rigs = (of_many, of_edits, of_sides, of_moves)
    with concurrent.futures.ThreadPoolExecutor(len(rigs)) as pool:
        for rows in pool.map(lambda of: of(programs), rigs):
            for what, here in rows:
                row(what, "–", here)
