# SPDX-License-Identifier: Apache-2.0
"""How long a user of Azure's balancers waits: from the first write of a flow to its end, beside the longest chain of it.

As bench_gce_address.py.  Azure takes one write of a document after the other: public IP, balancer, security group.  Models of scale
sets go before their instances (docs/spec/azure.md, row 18 of the pitfalls).  The group is written beside the pools where a Service is
new; where it closes an address that a Service leaves, it follows the pools of the other side.  Of many Services that come at once the
slowest write of each step counts.
"""
from bench_gce_address import longest, of_service
from bench_rig import READ, WAIT, took_ms

MANY = 20
IP, LB, GROUP = "public IP address", "load balancer", "change network security group"
MODEL = r"change scale set (?!instance )"
INSTANCE = r"change (scale set instance|network interface|backend pool)"
CREATE = (
    (f"create {IP}", f"(create|change) {LB}", GROUP),
    (f"create {IP}", f"(create|change) {LB}", MODEL, INSTANCE),
)
EDIT = ((f"change {LB}", GROUP),)  # what is let in at the new port does not arrive before
SIDES = ((f"create {LB}", MODEL, INSTANCE, GROUP),)  # until the other side serves
DELETE = ((GROUP, MODEL, INSTANCE, f"(change|delete) {LB}", f"delete {IP}"),)
INTERNAL = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}


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


def bench_azure_address(row, programs):
    """With the simulator's cloud-like latency."""
    with programs.rig("--nodes=6", "--latency=cloud", cloud="azure") as rig:
        rig.start("-v=4")

        def measure(what, names, chains, act, until_status=True):
            row(f"Azure: {what}, seconds from the first write", "–", timed_many(rig, names, chains, act, until_status))
            rig.until_quiet()

        def edit(name, body):
            rig.patch({"namespace": "default", "name": name}, body)

        def gone(name):
            rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)

        many = [f"m{i}" for i in range(MANY)]
        measure("create, first", ["a"], CREATE, lambda: rig.create("a"))
        measure("create, a further one", ["b"], CREATE, lambda: rig.create("b"))
        measure(f"create of {MANY}", many, CREATE, lambda: [rig.create(n) for n in many])
        measure("another port", ["b"], EDIT, lambda: edit("b", {"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}}))
        measure("policy Local", ["b"], EDIT, lambda: edit("b", {"spec": {"externalTrafficPolicy": "Local"}}))
        measure("external to internal", ["b"], SIDES, lambda: edit("b", {"metadata": {"annotations": INTERNAL}}))
        measure("delete", ["a"], DELETE, lambda: gone("a"), until_status=False)
        measure(f"delete of {MANY}", many, DELETE, lambda: [gone(n) for n in many], until_status=False)
        rig.stop()
