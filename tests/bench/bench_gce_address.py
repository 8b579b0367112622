# SPDX-License-Identifier: Apache-2.0
"""How long a user of Google's balancers waits: from the first write of a flow until it serves, beside the longest chain of it.

A chain is what must follow one after the other, from the cloud's documentation and docs/spec, and not from the plan: a plan that
waits for too much is longer than it.  That of a create is the one without a reservation; where one is made, the chain with it stands
beside.  Its operations take what they took in that very run.  Kinds run at the same time, each with a simulator of its own, since
they wait and do not work.
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
# The order until clients are served, as operations on resources; steps that a flow does not have count nothing.
MADE = ( # what a rule needs
    (f"create {GROUP}", f"change {GROUP}", f"create {NEED}", "create forwarding rule"),
    (f"create ({CHECK}|NEG)", f"create {NEED}", "create forwarding rule"),
    (f"create {CHECK_WALL}",),
)
CREATE = tuple((*chain, f"create {TRAFFIC}") for chain in MADE[:2]) + MADE[2:]
CREATE_HELD = (*MADE, ("create address", f"create {TRAFFIC}"), ("create address", "create forwarding rule"))
POLICY = ((f"create ({CHECK}|firewall)", f"change {NEED}"),)
PORTS = (("(create address|change firewall)", "delete forwarding rule", "create forwarding rule"),)
RANGES = (("change firewall",),)
POOL = ("create address", "delete forwarding rule", "delete target pool", "create target pool", "create forwarding rule")  # one name
AFFINITY = (("change backend service",),)
GLOBAL = (("change forwarding rule",),)
TIER = (("create address", "change firewall", "delete forwarding rule", "create forwarding rule"),)  # what may be refused goes first
PROTOCOL = (("(create address|change firewall)", "delete forwarding rule", "change backend service", "create forwarding rule"),)
# Another kind that shares names: what can stand beside the former one is there before its rule goes.
FLIP = (
    (f"create {GROUP}", f"change {GROUP}", f"create {NEED}", "delete forwarding rule", "create forwarding rule"),
    (f"create ({CHECK}|NEG)", f"create {NEED}", "delete forwarding rule", "create forwarding rule"),
    (f"create {CHECK_WALL}", "delete forwarding rule", "create forwarding rule"),
    ("create address", "change firewall", "delete forwarding rule", "create forwarding rule"),
)
AGAIN = ("delete forwarding rule", "delete backend service", "create backend service", "create forwarding rule")  # one name
FLIP_SERVICE = ((f"create ({CHECK}|{CHECK_WALL})", *AGAIN), (f"create (NEG|{GROUP})", f"change (NEG|{GROUP})", *AGAIN),
                ("create address", "change firewall", *AGAIN))
# Until nothing is left.
DELETE = (
    ("delete forwarding rule", f"delete {NEED}", f"delete {CHECK}", f"delete {CHECK_WALL}"),
    ("delete forwarding rule", f"delete {NEED}", f"delete (NEG|{GROUP})"),
    (f"delete {TRAFFIC}",),
)
NOTE = "networking.gke.io/"
UDP, TWO_RANGES = {"spec": {"ports": [{"port": 81, "protocol": "UDP"}]}}, {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}}
STICKY = {"spec": {"sessionAffinity": "ClientIP"}}
EVERYWHERE = {"metadata": {"annotations": {NOTE + "internal-load-balancer-allow-global-access": "true"}}}
STANDARD = {"metadata": {"annotations": {"cloud.google.com/network-tier": "Standard"}}}
BOTH = (("source ranges", RANGES, TWO_RANGES), ("session affinity", AFFINITY, STICKY))
INSIDE = (*BOTH, ("global access", GLOBAL, EVERYWHERE), ("UDP", PROTOCOL, UDP))
OUTSIDE = (*BOTH, ("network tier", TIER, STANDARD), ("UDP", PROTOCOL, UDP))
EDITS = {
    "target pool": (("source ranges", RANGES, TWO_RANGES), ("session affinity", (POOL,), STICKY), ("network tier", TIER, STANDARD),
                    ("UDP", PORTS, UDP)),
    "internal, groups": INSIDE, "internal, NEGs": INSIDE, "external, groups": OUTSIDE, "external, NEGs": OUTSIDE,
}
TYPE, RBS_NOTE = NOTE + "load-balancer-type", "cloud.google.com/l4-rbs"


def of_kind(internal, rbs=None):
    return {"metadata": {"annotations": {TYPE: internal, RBS_NOTE: rbs}}}


FLIPS = {
    "target pool": (("to internal on groups", FLIP, of_kind("Internal")), ("back", FLIP, of_kind(None))),
    "external, groups": (("to internal on NEGs", FLIP_SERVICE, of_kind("Internal")), ("back", FLIP_SERVICE, of_kind(None, "enabled"))),
    "external, NEGs": (("to internal on NEGs", FLIP_SERVICE, of_kind("Internal")), ("back", FLIP_SERVICE, of_kind(None, "enabled"))),
}
# The first request that tidies up: what serves stood when it was sent.
TIDIES = re.compile(r"\.(healthChecks|httpHealthChecks|regionHealthChecks|addresses)\.delete$")


def matches(step, line):
    """A step is a pattern of "operation resource", or that and one of the reason, where the former says too little."""
    what, why = (step, "") if isinstance(step, str) else step
    return re.match(what, f"{line['operation']} {line['resource']}") and re.search(why, line["why"])


def longest(done, chains):
    """The chain of most seconds: of what one step names, the slowest counts that no earlier step of the chain is."""
    def chain_s(chain):
        total_ms, rest = 0, list(done)
        for step in chain:
            mine = [line for line in rest if matches(step, line)]
            if mine:
                slowest = max(mine, key=took_ms)
                total_ms += took_ms(slowest)
                rest.remove(slowest)
        return total_ms / 1000
    return max(chain_s(chain) for chain in chains)


def of_service(rig, message, name):
    return [line for line in rig.messages(message) if line.get("service") == "default/" + name]


def served_at(rig, name, patched, requests, end):
    """When the status was written, or, where it stays as it is, when tidying began; else the end."""
    status = of_service(rig, "Patching status for service", name)[patched:]
    tidied = [line["ts"] - took_ms(line) for line in rig.messages("Cloud request")[requests:] if TIDIES.search(line["operation"])]
    return status[0]["ts"] if status else min(tidied, default=end)


def timed(rig, name, flow, act, apis=("gce",)):
    """Does it; seconds from the first write until it serves, beside the chain of that, and to the end of the sync that made it."""
    chains, held = flow
    synced, done = len(of_service(rig, "Synced", name)), len(of_service(rig, "Done", name))
    requests, patched = len(rig.messages("Cloud request")), len(of_service(rig, "Patching status for service", name))
    act()
    rig.until("a sync with operations", lambda: len(of_service(rig, "Done", name)) > done and len(of_service(rig, "Synced", name)) > synced)
    begun = min(line["ts"] - took_ms(line) for line in rig.messages("Cloud request")[requests:]
                if line["api"] in apis and not READ.search(line["operation"]) and not WAIT.search(line["operation"]))
    end = max(line["ts"] for line in of_service(rig, "Synced", name)[synced:])
    ended = of_service(rig, "Done", name)[done:]
    serves = (end if chains is DELETE else served_at(rig, name, patched, requests, end)) - begun
    chain = longest(ended, chains)
    best = min(chain, longest(ended, held)) if held else chain
    return (f"chain {chain:.1f} s" + (f", held {best:.1f} s" if held else "") +
            f"; today {serves / 1000:.1f} s; ratio {serves / 1000 / best:.2f}; whole sync {(end - begun) / 1000:.1f} s")


def without_rule_s(rig):
    """From the last request that deletes a forwarding rule until the last one that is made is there."""
    def sent_ms(operation):
        return max(line["ts"] - took_ms(line) for line in rig.messages("Cloud request") if line["operation"].endswith(operation))
    made = [line for line in rig.messages("Done") if f"{line['operation']} {line['resource']}".startswith("create forwarding rule ")]
    return (sent_ms("forwardingRules.insert") + took_ms(made[-1]) - sent_ms("forwardingRules.delete")) / 1000


def figures_of(programs, kind, held=True):
    title, annotations, flags = kind
    create = (CREATE_HELD, None) if title == "target pool" else (CREATE, CREATE_HELD if held else None)
    rows = []

    def row(what, name, flow, act):
        rows.append((f"{title}: {what}" + ("" if held else ", hold-address-first = false"), timed(rig, name, flow, act)))

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
        row("policy Local", "b", (POLICY, None), lambda: edit("b", {"externalTrafficPolicy": "Local"}))
        row("policy Cluster", "b", (POLICY, None), lambda: edit("b", {"externalTrafficPolicy": "Cluster"}))
        row("another port", "b", (PORTS, None), lambda: edit("b", {"ports": [{"port": 81, "protocol": "TCP"}]}))
        for what, chains, body in EDITS.get(title, ()):
            row(what, "b", (chains, None), lambda: rig.patch({"namespace": "default", "name": "b"}, body))
            rig.until_quiet()
        for what, chains, body in FLIPS.get(title, ()):
            row(what, "b", (chains, None), lambda: rig.patch({"namespace": "default", "name": "b"}, body))
            rows[-1] = (rows[-1][0], f"{rows[-1][1]}; no rule for {without_rule_s(rig):.1f} s")
            rig.until_quiet()
        row("delete", "b", (DELETE, None), lambda: gone("b"))
        row("delete, last", "a", (DELETE, None), lambda: gone("a"))
        rig.stop()
    return rows


def bench_address(row, programs):
    """With the simulator's cloud-like latency."""
    runs = [(kind, True) for kind in KINDS] + [(kind, False) for kind in KINDS if kind[0] != "target pool"]
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        for rows in pool.map(lambda run: figures_of(programs, *run), runs):
            for what, here in rows:
                row(what + ", seconds from the first write", "–", here)
