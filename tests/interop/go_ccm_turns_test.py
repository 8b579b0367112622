#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Go cloud-controller-manager and trimtab serve the same Services in turns, with edits, kills and refusals in between.

    TRIMTAB_GO_CCM=PROGRAM go_ccm_turns_test.py TRIMTAB_SIM TRIMTAB CLOUD [STEP…]    (TAP on stdout; skipped when the variable is
                                                                          unset; TRIMTAB_GO_CCM_AWS for aws, …_AZURE for azure)

Each step changes something (under one controller, while neither runs, or while one is killed in the middle) and hands over.
After it GET /sim/reach must show what the Services ask for: exactly the ports, with nodes behind them, at the published address.
Where a step only takes over what is well, trimtab makes no write.  What it leaves on the Services must not disturb Go.
"""
import signal
import subprocess
import sys
import traceback

from go_ccm_aws_world import GO_CCM_AWS, AwsCluster
from go_ccm_azure_world import GO_CCM_AZURE, AzureCluster
from go_ccm_services import ports
from go_ccm_world import EXTERNAL_FINALIZER, GO_CCM, Cluster
import tap  # go_ccm_world.py put its folder on the path

PROGRAMS, CLOUD = sys.argv[1:3], sys.argv[3]
LOCAL = {"externalTrafficPolicy": "Local"}
RANGES = {"loadBalancerSourceRanges": ["192.0.2.0/24"]}
NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
ILB = {"networking.gke.io/load-balancer-type": "Internal"}
INTERNAL = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
REPLACING = "trimtab.io/LoadBalancerReplacing"

# For each cloud: the Go program, the clusters, the kinds, and the request that makes what serves a port.
CLOUDS = {
    "gce": (GO_CCM, lambda label: Cluster(PROGRAMS, label, "--nodes=4"), {
        "web": ({}, {}), "local": ({}, LOCAL), "ranges": ({}, RANGES), "udp": ({}, {"ports": ports(53, protocol="UDP")}),
        "internal": (ILB, {})}, "compute.forwardingRules.insert"),
    "aws": (GO_CCM_AWS, lambda label: AwsCluster(PROGRAMS, label, "", "--nodes=4"), {
        "web": (NLB, {}), "local": (NLB, LOCAL), "ranges": (NLB, RANGES), "classic": ({}, {}),
        "classic-ranges": ({}, RANGES)}, "*.Create*Listener*"),
    "azure": (GO_CCM_AZURE, lambda label: AzureCluster(PROGRAMS, label, {"loadBalancerSku": "standard"}, "--nodes=4"), {
        "web": ({}, {}), "local": ({}, LOCAL), "ranges": ({}, RANGES), "udp": ({}, {"ports": ports(53, protocol="UDP")}),
        "internal": (INTERNAL, {"ports": ports(90)})}, "LoadBalancers.CreateOrUpdate"),
}
GO_PROGRAM, MAKE, KINDS, CRITICAL = CLOUDS[CLOUD]
PERMISSION = {"gce": "compute.firewalls.*", "aws": "ec2.AuthorizeSecurityGroupIngress",
              "azure": "SecurityGroups.CreateOrUpdate"}[CLOUD]
CONFIG = {"gce": "gce.conf", "aws": "aws.conf", "azure": "azure.json"}[CLOUD]


def clients(how):
    """Clients of a port, without the cluster's own networks that an NLB's health checks come from."""
    return [c for c in how["clients"] if CLOUD != "aws" or not c.startswith("10.")]


class Turns:
    """The cluster, and who serves it."""

    def __init__(self, t, one):
        self.t, self.one, self.step, self.turns = t, one, "", 0

    # --- what is there ---
    def wrong(self):
        """Lines that say where the cloud is not what the Services ask for."""
        reach, lines = self.one.must("GET", "/sim/reach"), []
        for name, svc in self.one.all_services().items():
            if svc["metadata"].get("deletionTimestamp"):
                continue
            address = self.one.address(name)
            if svc["spec"]["type"] != "LoadBalancer":
                lines += [f"{name}: type {svc['spec']['type']} with the address {address}"] if address else []
                continue
            asked = {f"{p.get('protocol', 'TCP')}/{p['port']}" for p in svc["spec"]["ports"]}
            found = {port: how for port, how in reach.get(address, {}).items() if not how["why"]}
            served = {port for port, how in found.items() if any(x["healthy"] for x in how["targets"])}
            if served != asked:
                lines.append(f"{name} at {address}: asks for {sorted(asked)}, served are {sorted(served)}: {reach.get(address)}")
            want = svc["spec"].get("loadBalancerSourceRanges")
            lines += [f"{name} {port}: {how['clients']} may come, not {want}" for port, how in found.items()
                      if want and clients(how) != want]
        return lines

    def reach(self):
        return {address: {port: (how["clients"], how["why"], sorted(x["target"] for x in how["targets"]))
                          for port, how in found.items()} for address, found in self.one.must("GET", "/sim/reach").items()}

    def conditions(self, name):
        return {c["type"]: c for c in self.one.get(name)["status"].get("conditions", [])}

    def writes(self):
        return [f"{op}: {n}" for op, n in self.one.mutations().items()]

    # --- who serves ---
    def go(self):
        """Go serves from now on."""
        self.turns += 1
        self.one.start_go()
        self.one.at_rest()

    def trimtab(self):
        self.turns += 1
        self.one.start()
        self.one.at_rest()

    def end(self, kill=False):
        """Neither serves."""
        if self.one.go is not None and self.one.go.poll() is None:
            if kill:
                self.one.go.kill()
                self.one.go.wait(180)
            else:
                self.one.stop_go()
        if self.one.trimtab is not None and self.one.trimtab.poll() is None:
            self.one.stop(signal.SIGKILL if kill else signal.SIGTERM)

    def serves_trimtab(self):
        return self.one.trimtab is not None and self.one.trimtab.poll() is None

    def check(self, what, wrong):
        self.t.check(f"{self.step}: {what}", wrong)

    def well(self, what):
        self.check(f"{what}: each Service is served as it asks", self.wrong())

    def take_over(self, condition=0, edited=False):
        """trimtab takes over from Go what is well: not one write, but for a condition that it left itself."""
        self.end()
        before = self.reach()
        self.one.forget_calls()
        self.trimtab()
        writes = self.one.service_writes()
        if CLOUD == "gce":  # finalizers that this Go program does not know
            new = [n for n, s in self.one.all_services().items() if EXTERNAL_FINALIZER in s["metadata"].get("finalizers", [])]
            condition += len(new)
        # After edits under Go: on Azure both balancers and the group get the present form; on AWS a health rule that nobody needs
        # any more goes (docs/spec/aws.md, row 24).
        most = {"gce": 0, "azure": 2, "aws": 1}[CLOUD] if edited else 0
        self.check("trimtab takes over: no cloud write", [w for w in self.writes() if int(w.split()[-1]) > most])
        self.check("trimtab takes over: no Service write", [str(writes)] if sum(writes.values()) > condition else [])
        self.check("trimtab takes over: reach is as before", [] if before == self.reach() else [f"{before}", f"{self.reach()}"])
        self.well("trimtab takes over")
        self.planned_nothing()

    def planned_nothing(self):
        plan = subprocess.run([PROGRAMS[1], "plan", f"--cloud-provider={CLOUD}", f"--cloud-config={self.one.conf}/{CONFIG}",
                               f"--kubeconfig={self.one.kubeconfig}"], capture_output=True, text=True, check=False,
                              env=self.one.environment())
        self.check("the plan is empty", [] if plan.returncode == 0 else (plan.stdout + plan.stderr).splitlines())

    def hand_back(self, healthy=True):
        """Go takes over from trimtab; what is well stays reachable."""
        self.end()
        before = self.reach()
        self.one.forget_calls()
        self.go()
        if healthy:
            self.check("Go takes over: reach is as before", [] if before == self.reach() else [f"{before}", f"{self.reach()}"])
        self.well("Go takes over")

    def port(self, name, *numbers, protocol="TCP"):
        self.one.patch(name, {"spec": {"ports": ports(*numbers, protocol=protocol)}})


def other(name, number):
    """An edit of ports, for every kind."""
    return {"protocol": "UDP"} if name == "udp" else {}, number + list(KINDS).index(name)


def edit_all(w, number):
    for name in KINDS:
        how, value = other(name, number)
        w.port(name, value, **how)


# --- steps -------------------------------------------------------------------------------------------

def step_go_makes__trimtab_takes_over(w):
    for name, (notes, spec) in KINDS.items():
        w.one.create(name, {"annotations": notes} if notes else None, **spec)
    w.go()
    w.well("made by Go")
    if CLOUD == "azure":  # an upgrade, too: see go_ccm_azure_test.py
        w.end()
        w.trimtab()
        w.hand_back()
    w.take_over()


def step_refused_edit__go_carries_it_out__edited_again__back(w):
    """ADR 0050: the condition is in place while Go serves."""
    w.one.fault(match={"op": CRITICAL}, **{"from": 2 if CLOUD == "gce" else 1}, count=1 if CLOUD != "aws" else 0,
                do="refuse", status=403, body=quota())
    w.port("web", 8100)
    w.one.at_rest()
    w.one.heal()
    held = REPLACING in w.conditions("web")
    print(f"# the condition {REPLACING} is {'there' if held else 'not there'}: {w.one.events('web')[-2:]}")
    w.hand_back(healthy=False)
    w.port("web", 8200)
    w.one.at_rest()
    w.well("edited once more under Go")
    w.take_over(condition=1, edited=True)
    w.check("the condition is gone", [str(w.conditions("web"))] if REPLACING in w.conditions("web") else [])


def quota():
    return {"gce": {"error": {"code": 403, "message": "Quota 'FORWARDING_RULES' exceeded. Limit: 5.0 in region us-central1.",
                              "errors": [{"reason": "quotaExceeded", "domain": "usageLimits", "message": "Quota exceeded"}]}},
            "aws": {"Code": "TooManyListeners", "Message": "too many"},
            "azure": {"error": {"code": "SecurityRulesLimitReached", "message": "limit reached"}}}[CLOUD]


def step_refused_edit__taken_back_under_go__first_sync_fails(w):
    """The former settings that the condition keeps are not what Go has served since: no sync may lead back to them."""
    w.one.fault(match={"op": CRITICAL}, **{"from": 2 if CLOUD == "gce" else 1}, count=1 if CLOUD != "aws" else 0,
                do="refuse", status=403, body=quota())
    w.port("web", 8300)
    w.one.at_rest()
    w.one.heal()
    w.hand_back(healthy=False)
    w.port("web", 8400)
    w.one.at_rest()
    w.well("edited under Go")
    w.end()
    before = w.reach()
    w.one.fault(match={"op": PERMISSION}, count=0, do="refuse", status=403)
    w.one.patch("web", {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})
    w.trimtab()
    w.check("the sync fails", [] if any(kind == "Warning" for kind, _, _ in w.one.events("web")[-3:]) else [str(w.one.events("web"))])
    w.check("a sync that fails leads back to nothing", [] if before == w.reach() else [f"{before}", f"{w.reach()}"])
    w.one.heal()
    w.one.patch("web", {"spec": {"loadBalancerSourceRanges": None}})
    w.one.at_rest()
    w.well("corrected")
    w.check("the condition is gone", [str(w.conditions("web"))] if REPLACING in w.conditions("web") else [])


def killed_in_edit(w, port):
    """trimtab or Go dies while the request that serves is under way."""
    w.one.fault(match={"op": CRITICAL}, **{"from": 4 if CLOUD == "gce" and w.serves_trimtab() else 1}, count=0, do="hang")
    edit_all(w, port)
    w.one.at_rest()
    w.end(kill=True)
    w.one.heal()


def step_trimtab_killed_in_edits__go_finishes(w):
    killed_in_edit(w, 8500)
    w.hand_back(healthy=False)
    w.take_over(condition=len(KINDS), edited=True)


def step_trimtab_killed_in_edits__go_killed_too__trimtab_finishes(w):
    killed_in_edit(w, 8600)
    w.one.fault(match={"op": CRITICAL}, count=0, do="hang")
    w.one.start_go()
    w.one.at_rest()
    w.end(kill=True)
    w.one.heal()
    w.trimtab()
    w.well("trimtab finishes")
    w.planned_nothing()
    w.hand_back()


def step_go_killed_in_edits__trimtab_finishes(w):
    killed_in_edit(w, 8700)
    w.trimtab()
    w.well("trimtab finishes what Go began")
    w.planned_nothing()
    w.hand_back()
    w.take_over()


def step_edits_while_neither_runs__trimtab_first(w):
    w.end()
    edit_all(w, 8800)
    w.one.patch("web", {"spec": {"sessionAffinity": "None", "loadBalancerSourceRanges": ["198.51.100.0/24"]}})
    w.one.patch("ranges", {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/25"]}})
    w.one.patch("local", {"spec": {"externalTrafficPolicy": "Cluster"}})
    w.trimtab()
    w.well("trimtab carries out")
    w.hand_back()


def step_edits_while_neither_runs__go_first(w):
    w.end()
    edit_all(w, 8900)
    w.one.patch("web", {"spec": {"loadBalancerSourceRanges": None}})
    w.one.patch("local", {"spec": {"externalTrafficPolicy": "Local"}})
    w.go()
    w.well("Go carries out")
    w.take_over(edited=True)


def step_nodes_while_neither_runs(w):
    w.end()
    w.one.must("POST", "/sim/nodes", {"count": 2})
    gone = w.one.must("GET", "/api/v1/nodes")["items"][1]["metadata"]["name"]
    w.one.must("DELETE", f"/sim/nodes/{gone}")
    w.trimtab()
    w.well("trimtab")
    w.planned_nothing()
    w.hand_back()
    w.one.must("POST", "/sim/nodes", {"count": 1})
    w.one.at_rest()
    w.take_over()


def step_deleted_while_neither_runs__with_a_foreign_finalizer(w):
    """Either controller gives up what it owns, the object stays for its other owner."""
    foreign = "example.com/bookkeeping"
    for first, name in (("go", "held-by-go"), ("trimtab", "held-by-trimtab")):
        notes = KINDS["web"][0]
        w.one.create(name, {"annotations": notes, "finalizers": [foreign]}, ports=ports(9000 + len(name)))
        w.one.at_rest()
        address = w.one.address(name)
        w.end()
        w.one.delete(name)
        getattr(w, first)()
        reached = {p: how for p, how in w.one.must("GET", "/sim/reach").get(address, {}).items() if not how["why"]}
        w.check(f"{first} lets go of one that another program holds", [f"{address}: {reached}"] if reached else [])
        if first == "trimtab":  # on AWS with a second look, when lists show what was made before its start
            w.one.until(f"{name} has only the other's finalizer", lambda name=name: w.one.finalizers(name) == [foreign])
        w.end()
        left = w.one.finalizers(name)
        w.check(f"{first} leaves the other's finalizer", [] if foreign in left and len(left) < 3 else [str(left)])
        w.one.forget_calls()
        w.trimtab()
        if CLOUD != "azure" or first == "trimtab":  # the old Go program cannot read the tags of public addresses that trimtab made
            w.check("trimtab finds nothing left to do", w.writes())
        w.check(f"{name} has only the other's finalizer", [] if w.one.finalizers(name) == [foreign] else [str(w.one.finalizers(name))])
        w.one.patch(name, {"metadata": {"finalizers": None}})
        w.one.until_gone(name)


def step_killed_while_it_creates(w):
    for first, then, name in (("trimtab", "go", "new-a"), ("go", "trimtab", "new-b")):
        w.end()
        getattr(w, first)()
        w.one.fault(match={"op": CRITICAL}, count=0, do="hang")
        w.one.create(name, {"annotations": KINDS["web"][0]}, ports=ports(9100))
        w.one.at_rest()
        w.end(kill=True)
        w.one.heal()
        getattr(w, then)()
        w.well(f"{then} finishes what {first} began to make")


def step_killed_while_it_deletes(w):
    for first, then, name in (("trimtab", "go", "new-a"), ("go", "trimtab", "new-b")):
        if CLOUD == "azure" and then == "go":
            continue  # it would leave the public address, see above; trimtab deletes it below
        w.end()
        getattr(w, first)()
        w.one.fault(match={"op": "*elete*"}, **{"from": 2}, count=0, do="hang")
        w.one.delete(name)
        w.one.at_rest()
        w.end(kill=True)
        w.one.heal()
        getattr(w, then)()
        if CLOUD == "gce" and then == "go" and w.one.get(name):
            w.check("Go leaves trimtab's finalizer alone", [] if w.one.finalizers(name) == [EXTERNAL_FINALIZER] else [
                str(w.one.finalizers(name))])
        w.well(f"{then} deletes what {first} began to")
    w.end()
    w.trimtab()
    if CLOUD == "azure":
        w.one.delete("new-a")
    for name in ("new-a", "new-b"):
        w.one.until_gone(name)


def step_deleted_and_nothing_left(w):
    w.end()
    w.go()
    names = list(KINDS)
    for name in [] if CLOUD == "azure" else names[::2]:
        w.one.delete(name)
    w.one.at_rest()
    w.end()
    w.trimtab()
    for name in names if CLOUD == "azure" else names[1::2]:
        w.one.delete(name)
    w.one.until("all are gone", lambda: not w.one.all_services(), lambda: len(w.one.all_services()))
    w.one.at_rest()
    w.check("nothing is reached", [str(w.reach())] if w.reach() else [])
    w.check("no load balancer's resource is left", left(w.one, w.start))
    orphans = subprocess.run([PROGRAMS[1], "orphans", f"--cloud-provider={CLOUD}", f"--cloud-config={w.one.conf}/{CONFIG}",
                              f"--kubeconfig={w.one.kubeconfig}"], capture_output=True, text=True, check=False,
                             env=w.one.environment())
    w.check("trimtab orphans finds none", [] if orphans.returncode == 0 else (orphans.stdout + orphans.stderr).splitlines())
    w.end()


def left(one, start):
    """Resources that were not there at the start."""
    if CLOUD == "aws":
        return [line for line in one.view() if line not in start]
    if CLOUD == "azure":
        return [i for i in one.documents() if "/networkSecurityGroups/" not in i] + [
            r["name"] for i, d in one.documents().items() for r in d["properties"].get("securityRules", [])]
    return [path for path in one.resources() if path not in start]


STEPS = [f for name, f in list(globals().items()) if name.startswith("step_")]


def main():
    if not GO_PROGRAM:
        return tap.skip(f"no Go cloud-controller-manager for {CLOUD} is named")
    t = tap.Report()
    wanted = sys.argv[4:]
    with MAKE("one") as one:
        w = Turns(t, one)
        w.start = one.view() if CLOUD == "aws" else one.resources() if CLOUD == "gce" else None
        for step in STEPS:
            if wanted and step is not STEPS[0] and not any(x in step.__name__ for x in wanted):
                continue
            w.step = step.__name__[5:]
            try:
                step(w)
            except Exception:  # pylint: disable=broad-except  a step that breaks is one failed line
                t.check(w.step, traceback.format_exc().splitlines())
                one.heal()
        w.end()
        print(f"# {w.turns} turns")
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
