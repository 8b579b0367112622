# SPDX-License-Identifier: Apache-2.0
"""How long a user of Google's balancers waits: from the first write of a flow to its end, beside the longest chain of it.

A chain is what must follow one after the other, from the cloud's documentation and docs/spec, and not from the plan: a plan that
waits for too much is longer than it.  That of a create is the one without a reservation, so one with it may be shorter.  Its operations
take what they took in that very run.  Kinds run at the same time, each with a simulator of its own, since they wait and do not work.
"""
import concurrent.futures
import os
import re

from bench_rig import READ, WAIT, took_ms

INTERNAL = {"networking.gke.io/load-balancer-type": "Internal"}
RBS = {"cloud.google.com/l4-rbs": "enabled"}
L4 = ["--controllers=-service-lb-controller", "--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg",
      "--gate-l4-by-lock=false"]
NETLB_NEGS = [*L4, "--enable-l4-netlb-neg", "--enable-l4-netlb-neg-default"]
KINDS = (
    ("target pool", None, []),
    ("internal, groups", INTERNAL, []),
    ("internal, NEGs", INTERNAL, L4),
    ("external, groups", RBS, L4),
    ("external, NEGs", RBS, NETLB_NEGS),
)

CHECK = r"(HTTP )?health check"
GROUP = r"instance group"
TRAFFIC = r"firewall (?!.*-hc$)(?!.*-fw$)"
CHECK_WALL = r"firewall .*(-hc|-fw)$"
NEED = rf"(backend service|target pool)"
# The order of operations on resources; steps that a flow does not have count nothing.
CREATE = (
    (f"create {GROUP}", f"change {GROUP}", f"create {NEED}", "create forwarding rule", f"create {TRAFFIC}"),
    (f"create ({CHECK}|NEG)", f"create {NEED}", "create forwarding rule", f"create {TRAFFIC}"),
    (f"create {CHECK_WALL}",),
)
CREATE_HELD = ( # the firewall needs no address, or that of a reservation
    ("create address", f"create {TRAFFIC}"),
    (f"create {CHECK}", f"create {NEED}", "create forwarding rule", "delete address"),
    ("create address", "create forwarding rule", "delete address"),
    (f"create {CHECK_WALL}",),
)
POLICY = ((f"create ({CHECK}|firewall)", f"change {NEED}", f"delete {CHECK}", f"delete {CHECK_WALL}"),)
PORTS = (("(create address|change firewall)", "delete forwarding rule", "create forwarding rule", "delete address"),)
DELETE = (
    ("delete forwarding rule", f"delete {NEED}", f"delete {CHECK}", f"delete {CHECK_WALL}"),
    ("delete forwarding rule", f"delete {NEED}", f"delete (NEG|{GROUP})"),
    (f"delete {TRAFFIC}",),
)


def longest(done, chains):
    """The chain of most seconds: of what one step names, the slowest counts."""
    def step_s(step):
        took = [took_ms(line) for line in done if re.match(step, f"{line['operation']} {line['resource']}")]
        return max(took, default=0) / 1000
    return max(sum(step_s(step) for step in chain) for chain in chains)


def of_service(rig, message, name):
    return [line for line in rig.messages(message) if line.get("service") == "default/" + name]


def timed(rig, name, chains, act, apis=("gce",)):
    """Does it; seconds from the first write to the end of the sync that made it, and the chain."""
    synced, requests, done = len(of_service(rig, "Synced", name)), len(rig.messages("Cloud request")), len(of_service(rig, "Done", name))
    act()
    rig.until("a sync with operations", lambda: len(of_service(rig, "Done", name)) > done and len(of_service(rig, "Synced", name)) > synced)
    begun = min(line["ts"] - took_ms(line) for line in rig.messages("Cloud request")[requests:]
                if line["api"] in apis and not READ.search(line["operation"]) and not WAIT.search(line["operation"]))
    end = max(line["ts"] for line in of_service(rig, "Synced", name)[synced:])
    took, chain = (end - begun) / 1000, longest(of_service(rig, "Done", name)[done:], chains)
    return f"{took:.1f} s; chain {chain:.1f} s; {took / chain:.2f}"


def figures_of(programs, kind, held=True):
    title, annotations, flags = kind
    create = CREATE_HELD if title == "target pool" else CREATE
    rows = []

    def row(what, name, chains, act):
        rows.append((f"{title}: {what}" + ("" if held else ", hold-address-first = false"), timed(rig, name, chains, act)))

    def edit(name, spec):
        rig.patch({"namespace": "default", "name": name}, {"spec": spec})

    def made(name):
        rig.slice(name, "node-0", "node-1")
        rig.create(name, annotations)

    def gone(name):
        rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)

    with programs.rig("--nodes=6", "--zones=us-central1-a,us-central1-b,us-central1-c", "--latency=cloud") as rig:
        if not held:
            with open(os.path.join(rig.folder, rig.config), "a", encoding="utf-8") as f:
                f.write("\n[global]\nhold-address-first = false\n")
        rig.start("-v=4", *flags)
        row("create, first", "a", create, lambda: made("a"))
        row("create, a further one", "b", create, lambda: made("b"))
        if not held:
            rig.stop()
            return rows
        row("policy Local", "b", POLICY, lambda: edit("b", {"externalTrafficPolicy": "Local"}))
        row("policy Cluster", "b", POLICY, lambda: edit("b", {"externalTrafficPolicy": "Cluster"}))
        row("another port", "b", PORTS, lambda: edit("b", {"ports": [{"port": 81, "protocol": "TCP"}]}))
        row("delete", "b", DELETE, lambda: gone("b"))
        row("delete, last", "a", DELETE, lambda: gone("a"))
        rig.stop()
    return rows


def bench_address(row, programs):
    """With the simulator's cloud-like latency."""
    runs = [(kind, True) for kind in KINDS] + [(kind, False) for kind in KINDS if kind[0] != "target pool"]
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        for rows in pool.map(lambda run: figures_of(programs, *run), runs):
            for what, here in rows:
                row(what + ", seconds from the first write", "–", here)
