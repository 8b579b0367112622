#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Google Services of class standalone-passthrough-lb-neg: NEGs for a load balancer that their owner makes himself, and his
forwarding rules in the Service's status.  The whole program against the simulator.

    gce_standalone_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
from controller_world import World  # noqa: E402

PROGRAMS = sys.argv[1:3]
CLASS = "networking.gke.io/standalone-passthrough-lb-neg"
NEGS, STATUS = "--enable-l4-standalone-negs", "--run-l4-standalone-neg-controller"
RULES = "networking.gke.io/custom-forwarding-rule"
NEG_STATUS = "cloud.google.com/neg-status"
SVCNEGS = "/apis/networking.gke.io/v1beta1/servicenetworkendpointgroups"
LINKS = "https://www.googleapis.com/compute/v1/"


class Owner(World):
    """A cluster whose owner makes load balancers himself."""

    def region(self):
        path = next(iter(self.cloud("subnetworks")))
        return path[:path.index("/subnetworks/")]

    def compute(self, method, path, body=None):
        """One mutation of the region's resources, as its owner makes it; waits for the operation and returns it."""
        self.headers = {"Metadata-Flavor": "Google"}
        token = self.must("GET", "/computeMetadata/v1/instance/service-accounts/default/token")["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        try:
            op = self.must(method, f"/compute/v1/{self.region()}/{path}", body)
            return self.must("POST", f"/compute/v1/{self.region()}/operations/{op['name']}/wait")
        finally:
            self.headers = {}

    def post(self, kind, body):
        done = self.compute("POST", kind, body)
        assert "error" not in done, done

    def remove(self, kind, name):
        done = self.compute("DELETE", f"{kind}/{name}")
        assert "error" not in done, done

    def balancer(self, name="mine", groups=None, **rule):
        """A health check, a backend service with these groups (all NEGs there are), a forwarding rule to it."""
        groups = [n["selfLink"] for n in self.negs()] if groups is None else groups
        at = f"{LINKS}{self.region()}"
        self.post("healthChecks", {"name": name, "type": "TCP", "tcpHealthCheck": {"port": 10256}})
        self.post("backendServices", {"name": name, "protocol": rule.get("IPProtocol", "TCP"),
                                      "loadBalancingScheme": rule.get("loadBalancingScheme", "EXTERNAL"),
                                      "healthChecks": [f"{at}/healthChecks/{name}"],
                                      "backends": [{"group": g, "balancingMode": "CONNECTION"} for g in groups]})
        return self.rule(name, name, **rule)

    def rule(self, name, service, **more):
        body = {"name": name, "IPProtocol": "TCP", "loadBalancingScheme": "EXTERNAL",
                "backendService": f"{LINKS}{self.region()}/backendServices/{service}", **more}
        self.post("forwardingRules", body if "allPorts" in more else {"portRange": "80-80", **body})
        return self.cloud("forwardingRules")[f"{self.region()}/forwardingRules/{name}"]["IPAddress"]

    def trimtab_says(self, *args):
        """The output of a sub-command, its lines joined."""
        done = subprocess.run([self.trimtab_exe, *args, f"--kubeconfig={self.kubeconfig}", "--cloud-provider=gce",
                               f"--cloud-config={self.conf}/gce.conf"],
                              env=self.environment(), capture_output=True, text=True, check=False)
        assert done.returncode in (0, 2), done
        return " ".join(done.stdout.split())

    def forbid(self, op):
        self.fault(match={"op": op}, do="refuse", status=403, count=0)

    def negs(self):
        return list(self.cloud("networkEndpointGroups").values())

    def sizes(self):
        return sorted(n["size"] for n in self.negs())

    def until_negs(self, sizes):
        self.until(f"NEGs hold {sizes}", lambda: self.sizes() == sizes)

    def condition(self, name):
        found = [c for c in self.get(name)["status"].get("conditions", []) if c["type"] == "ExternalIPProgrammed"]
        return (found[0]["status"], found[0]["reason"]) if found else None

    def until_condition(self, name, status, reason):
        self.until(f"{name} says {reason}", lambda: self.condition(name) == (status, reason))

    def ingress(self, name):
        return self.get(name)["status"]["loadBalancer"].get("ingress", [])

    def standalone(self, name, rules=None, **spec):
        meta = {} if rules is None else {"annotations": {RULES: rules}}
        return self.create(name, meta, loadBalancerClass=CLASS, **spec)

    def name_rules(self, name, rules):
        self.patch(name, {"metadata": {"annotations": {RULES: rules}}})


def test_service__gets_negs_and_nothing_else():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS)
        w.standalone("web")
        w.until_negs([2, 2, 2])
        w.until("the Service names them", lambda: NEG_STATUS in w.get("web")["metadata"].get("annotations", {}))
        meta, names = w.get("web")["metadata"], {n["name"] for n in w.negs()}
        said = json.loads(meta["annotations"][NEG_STATUS])
        assert said["network_endpoint_groups"] == {"0": next(iter(names))} and len(names) == 1, (said, names)
        assert said["zones"] == sorted(n["zone"].split("/")[-1] for n in w.negs()), said
        assert not meta.get("finalizers"), meta
        svcneg, = w.must("GET", SVCNEGS)["items"]
        assert {ref["selfLink"] for ref in svcneg["status"]["networkEndpointGroups"]} == {n["selfLink"] for n in w.negs()}
        about = json.loads(w.negs()[0]["description"])
        assert (about["namespace"], about["service-name"], about["port"]) == ("default", "web", "0"), about
        assert w.negs()[0]["networkEndpointType"] == "GCE_VM_IP"
        for kind in ("forwardingRules", "backendServices", "healthChecks", "addresses", "instanceGroups"):
            assert not w.cloud(kind), (kind, w.cloud(kind))
        assert w.condition("web") is None and not w.ingress("web"), w.get("web")["status"]


def test_without_flag__the_service_is_left_alone():
    with Owner(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.standalone("web")
        w.create("other")
        w.until_address("other")
        assert not w.negs() and not w.get("web")["metadata"].get("finalizers")


def test_members__follow_nodes_and_restart_writes_nothing():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS)
        w.standalone("web")
        w.until_negs([2, 2, 2])
        w.must("POST", "/sim/nodes", {"count": 1})
        w.until_negs([2, 2, 3])
        w.until_at_rest("default/web")
        assert NEG_STATUS in w.get("web")["metadata"]["annotations"]
        w.stop()
        w.forget_calls()
        w.start(NEGS)
        w.until("it was looked at", lambda: w.logged('"Synced"', 'service="default/web"'))
        assert not w.mutations() and not w.service_writes(), w.calls()


def test_status__follows_the_owners_load_balancer():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS, "--sync-period=1s")
        w.standalone("web")
        w.until_condition("web", "False", "NoForwardingRuleRef")
        w.until_event("web", "NoForwardingRuleRef")
        w.until_negs([2, 2, 2])
        w.name_rules("web", "mine")
        w.until_condition("web", "False", "InvalidForwardingRule")
        w.until_event("web", "ForwardingRuleUnusable", "mine")
        ip = w.balancer("mine")
        w.until_condition("web", "True", "IPProgrammed")
        assert w.ingress("web") == [{"ip": ip, "ipMode": "VIP"}], w.get("web")["status"]
        w.until_event("web", "SyncLoadBalancerSuccessful")
        w.remove("forwardingRules", "mine")
        w.until_condition("web", "False", "InvalidForwardingRule")
        assert not w.ingress("web"), w.get("web")["status"]
        w.name_rules("web", None)
        w.until_condition("web", "False", "NoForwardingRuleRef")


def test_status__what_is_wrong_with_a_rule_is_its_reason():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS, "--sync-period=1s")
        w.standalone("web", rules="bare")
        w.standalone("other")
        w.until_negs([2] * 6)
        theirs = [n["selfLink"] for n in w.negs() if '"other"' in n["description"]]
        w.balancer("bare", groups=theirs)
        w.until_condition("web", "False", "BackendNotAttached")
        w.balancer("inner", loadBalancingScheme="INTERNAL", allPorts=True, groups=[
            n["selfLink"] for n in w.negs() if '"web"' in n["description"]],
            subnetwork=f"{LINKS}{next(iter(w.cloud('subnetworks')))}")
        w.name_rules("web", "inner")
        w.until_condition("web", "False", "UnsupportedLBType")
        w.forbid("compute.forwardingRules.get")
        w.name_rules("web", "inner, bare")
        w.until_condition("web", "False", "ProviderError")
        w.heal()
        w.until_condition("web", "False", "BackendNotAttached")


def test_status__one_rule_that_is_right_is_enough_and_links_are_read():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS)
        w.standalone("web")
        w.until_negs([2, 2, 2])
        first = w.balancer("b")
        second = w.rule("a", "b", portRange="443-443")
        w.forget_calls()
        w.name_rules("web", f"{LINKS}{w.region()}/forwardingRules/b, a,, gone")
        w.until_condition("web", "True", "IPProgrammed")
        assert {i["ip"] for i in w.ingress("web")} == {first, second} and all(i["ipMode"] == "VIP" for i in w.ingress("web"))
        w.until_event("web", "ForwardingRuleUnusable", "Some Forwarding Rules could not be used")
        calls = w.calls()["gce"]
        assert calls.get("compute.regionBackendServices.get") == 1, calls
        assert not w.mutations(), calls


def test_status__published_addresses_survive_what_cannot_be_read():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS, "--sync-period=1s")
        w.standalone("web", rules="mine")
        w.until_negs([2, 2, 2])
        ip = w.balancer("mine")
        w.until_condition("web", "True", "IPProgrammed")
        w.forbid("compute.forwardingRules.get")
        w.until_condition("web", "False", "ProviderError")
        assert w.ingress("web") == [{"ip": ip, "ipMode": "VIP"}], w.get("web")["status"]
        w.heal()
        w.until_condition("web", "True", "IPProgrammed")


def test_status_flag_off__the_status_is_somebody_elses():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, "--sync-period=1s")
        w.standalone("web", rules="mine")
        w.until_negs([2, 2, 2])
        w.balancer("mine")
        theirs = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7", "ipMode": "VIP"}]}}}
        w.must("PATCH", w.services("web") + "/status", theirs, content_type="application/merge-patch+json")
        seen = len(w.logged('"Synced"', 'service="default/web"'))
        w.until("it was looked at twice", lambda: len(w.logged('"Synced"', 'service="default/web"')) >= seen + 2)
        assert w.ingress("web") == theirs["status"]["loadBalancer"]["ingress"], w.get("web")["status"]
        assert w.condition("web") is None


def test_explain_and_plan__say_what_it_gets_and_how_its_status_stands():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.standalone("web", rules="mine")
        w.forget_calls()
        text = w.trimtab_says("explain", NEGS, STATUS, "default/web")
        assert "gets GCE_VM_IP NEGs, which wait for a load balancer of your own" in text, text
        assert "Nodes: 6 of 6 are members of the NEGs" in text, text
        assert "Status: False, InvalidForwardingRule: The custom forwarding rule reference is invalid" in text, text
        text = w.trimtab_says("explain", NEGS, "default/web")
        assert "Status: another program's (--run-l4-standalone-neg-controller is off)" in text, text
        text = w.trimtab_says("explain", STATUS, "default/web")
        assert "Nodes: another program makes the NEGs" in text, text
        text = w.trimtab_says("explain", "default/web")
        assert "is served by ingress-gce: GCE_VM_IP NEGs" in text, text
        text = w.trimtab_says("plan", NEGS, STATUS)
        assert "Service default/web GCE_VM_IP NEGs only, us-central1 because its loadBalancerClass is" in text, text
        assert "Plan: 3 to create, 3 to change, 0 to delete, in 2 waves" in text, text
        assert not w.mutations() and not w.service_writes(), w.calls()


def test_status_flag_alone__addresses_of_negs_that_another_makes():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS)
        w.standalone("web", rules="mine")
        w.until_negs([2, 2, 2])
        ip = w.balancer("mine")
        w.stop()
        w.forget_calls()
        w.start(STATUS)
        w.until_condition("web", "True", "IPProgrammed")
        assert w.ingress("web") == [{"ip": ip, "ipMode": "VIP"}], w.get("web")["status"]
        w.delete("web")
        w.until_gone("web")
        w.until("it was let go of", lambda: w.logged('"Synced"', 'service="default/web"', 'verb="delete"'))
        assert not w.mutations() and len(w.negs()) == 3, w.calls()


def test_deleted__negs_in_use_are_told_of_and_go_when_they_are_free():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS)
        w.standalone("web")
        w.until_negs([2, 2, 2])
        w.balancer("mine")
        w.delete("web")
        w.until_gone("web")
        w.until_event("web", "SyncNetworkEndpointGroupFailed", "mine")
        assert len(w.negs()) == 3 and w.must("GET", SVCNEGS)["items"]
        w.remove("forwardingRules", "mine")
        w.remove("backendServices", "mine")
        w.until("the NEGs are gone", lambda: not w.negs())
        w.until("their object is, too", lambda: not w.must("GET", SVCNEGS)["items"])


def test_deleted_but_held_by_another__its_negs_go_when_it_goes():
    with Owner(PROGRAMS, "--nodes=3") as w:
        w.start(NEGS)
        w.create("web", {"finalizers": ["example.com/hold"]}, loadBalancerClass=CLASS)
        w.until_negs([1, 1, 1])
        w.until("the Service names them", lambda: NEG_STATUS in w.get("web")["metadata"].get("annotations", {}))
        w.delete("web")
        assert w.get("web")["metadata"]["finalizers"] == ["example.com/hold"], w.get("web")["metadata"]
        w.patch("web", {"metadata": {"finalizers": None}})
        w.until_gone("web")
        w.until("the NEGs are gone", lambda: not w.negs())
        w.until("their object is gone", lambda: not w.must("GET", SVCNEGS)["items"])


def test_deleted_while_nobody_watched__what_remembers_it_is_its_object():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS)
        for name in ("web", "plain", "other"):
            w.standalone(name)
        w.until_negs([2] * 9)
        w.until("all are named", lambda: len(w.must("GET", SVCNEGS)["items"]) == 3 and
                all(NEG_STATUS in w.get(n)["metadata"].get("annotations", {}) for n in ("web", "plain", "other")))
        w.kill()
        w.delete("web")
        w.until_gone("web")
        w.patch("plain", {"spec": {"type": "ClusterIP", "loadBalancerClass": None}})
        for node in ("node-2", "node-5"):  # a zone without nodes, in which there are NEGs
            w.must("DELETE", f"/sim/nodes/{node}")
        w.fault(match={"api": "kubernetes", "op": "servicenetworkendpointgroups.list"}, do="refuse", status=503, count=1)
        w.start(NEGS)
        w.until("theirs are gone", lambda: {json.loads(n["description"])["service-name"] for n in w.negs()} == {"other"})
        w.until("their objects are, too", lambda: len(w.must("GET", SVCNEGS)["items"]) == 1)
        w.until("nothing speaks of them", lambda: NEG_STATUS not in w.get("plain")["metadata"].get("annotations", {}))
        w.until_negs([0, 2, 2])


def test_made_again_under_its_name__takes_the_negs_over():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS)
        w.standalone("web")
        w.until_negs([2, 2, 2])
        ip = w.balancer("mine")
        before = sorted(n["id"] for n in w.negs())
        w.stop()
        w.delete("web")
        w.until_gone("web")
        w.standalone("web", rules="mine")
        w.start(NEGS, STATUS)
        w.until_condition("web", "True", "IPProgrammed")
        assert w.address("web") == ip
        w.delete("web")
        w.standalone("web", rules="mine", externalTrafficPolicy="Cluster")
        w.until_condition("web", "True", "IPProgrammed")
        uid = w.get("web")["metadata"]["uid"]
        w.until("its object is the new one's",
                lambda: [s["metadata"]["ownerReferences"][0]["uid"] for s in w.must("GET", SVCNEGS)["items"]] == [uid])
        assert sorted(n["id"] for n in w.negs()) == before and w.sizes() == [2, 2, 2], w.negs()


def test_type_changed_and_back__negs_go_and_come():
    with Owner(PROGRAMS, "--nodes=6") as w:
        w.start(NEGS, STATUS)
        w.standalone("web", rules="mine")
        w.until_condition("web", "False", "InvalidForwardingRule")
        w.until_negs([2, 2, 2])
        w.patch("web", {"spec": {"type": "ClusterIP", "loadBalancerClass": None}})
        w.until("the NEGs are gone", lambda: not w.negs())
        w.until("nothing speaks of them", lambda: NEG_STATUS not in w.get("web")["metadata"].get("annotations", {})
                and w.condition("web") is None)
        w.patch("web", {"spec": {"type": "LoadBalancer", "loadBalancerClass": CLASS}})
        w.until_negs([2, 2, 2])
        w.patch("web", {"spec": {"type": "ClusterIP", "loadBalancerClass": None}})
        w.until("the NEGs are gone again", lambda: not w.negs())
        w.patch("web", {"spec": {"type": "LoadBalancer"}})
        w.until_address("web")
        assert not w.negs() and len(w.cloud("targetPools")) == 1


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
