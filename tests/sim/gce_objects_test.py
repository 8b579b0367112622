#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects of a Google Service that has a backend service: finalizers, annotations, events, conditions,
ServiceNetworkEndpointGroups.  The whole program against the simulator.

    gce_objects_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
from controller_world import CLEANUP, World  # noqa: E402

PROGRAMS = sys.argv[1:3]
FLAGS = ["--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg", "--manage-l4lb-logging"]
INTERNAL = {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}
RBS = {"annotations": {"cloud.google.com/l4-rbs": "enabled"}}
V2 = "gke.networking.io/l4-ilb-v2"
NEG_STATUS = "cloud.google.com/neg-status"
SVCNEGS = "/apis/networking.gke.io/v1beta1/servicenetworkendpointgroups"
CONFIGS = "/apis/networking.gke.io/v1/namespaces/default/l4lbconfigs"
NETWORKS = "/apis/networking.gke.io/v1/"
LOGGING = "networking.gke.io/l4lb-config"


def svcnegs(w):
    return w.must("GET", SVCNEGS)["items"]


def reasons(w, name):
    return {reason for _, reason, _ in w.events(name)}


def condition(w, name):
    found = [c for c in w.get(name)["status"].get("conditions", []) if c["type"] == "LoggingConfigManaged"]
    return (found[0]["status"], found[0]["reason"]) if found else None


def synced(w, name, verb="ensure"):
    return len(w.logged('"Synced"', f'service="default/{name}"', f'verb="{verb}"'))


def test_internal_service__finalizer_annotations_and_events_are_the_l4_controllers():
    with World(PROGRAMS, "--nodes=6") as w:
        w.start(*FLAGS)
        w.create("web", INTERNAL)
        w.until_made("web")
        w.until_event("web", "SyncLoadBalancerSuccessful")
        meta = w.get("web")["metadata"]
        assert meta["finalizers"] == [V2], meta
        assert NEG_STATUS in meta["annotations"] and "service.kubernetes.io/backend-service" in meta["annotations"], meta
        assert not reasons(w, "web") & {"EnsuringLoadBalancer", "EnsuredLoadBalancer"}, w.events("web")
        writes = w.calls()["kubernetes"]
        assert writes["services.status.patch"] == 2, writes  # the finalizer, and all the rest
        w.delete("web")
        w.until_gone("web")
        w.until_event("web", "DeletedLoadBalancer")
        said = [reason for _, reason, _ in w.events("web")]
        assert said.count("DeletingLoadBalancer") == 1 and said.count("DeletedLoadBalancer") == 1, said


def test_internal_service__its_owner_hears_of_negs_endpoints_and_rules():
    with World(PROGRAMS, "--nodes=6") as w:
        w.start(*FLAGS)
        w.create("web", INTERNAL)
        w.until_event("web", "SyncLoadBalancerSuccessful")
        said = [(reason, text) for _, reason, text in w.events("web")]
        for name in {n["name"] for n in w.cloud("networkEndpointGroups").values()}:
            for reason in ("Create", "Attach"):
                zones = [text for r, text in said if r == reason and f'"{name}"' in text]
                assert len(zones) == 3 and len(set(zones)) == 3, (reason, said)
        rule, = (r["name"] for r in w.cloud("forwardingRules").values())
        assert ("Sync", f'ForwardingRule "{rule}" created') in said, said
        w.delete("web")
        w.until_gone("web")
        w.until_event("web", "DeletedLoadBalancer")
        said = [(reason, text) for _, reason, text in w.events("web")]
        assert [reason for reason, _ in said].count("Delete") == 3, said
        assert ("Sync", f'ForwardingRule "{rule}" deleted') in said, said


def test_internal_service__its_object_names_the_negs_and_goes_with_them():
    with World(PROGRAMS, "--nodes=6") as w:
        w.start(*FLAGS)
        w.create("web", INTERNAL)
        w.until_made("web")
        one, = svcnegs(w)
        links = {ref["selfLink"] for ref in one["status"]["networkEndpointGroups"]}
        negs = w.cloud("networkEndpointGroups")
        assert links == {n["selfLink"] for n in negs.values()} and len(links) == 3, (links, negs)
        assert {ref["id"] for ref in one["status"]["networkEndpointGroups"]} == {n["id"] for n in negs.values()}
        assert one["metadata"]["ownerReferences"][0]["uid"] == w.get("web")["metadata"]["uid"]
        w.delete("web")
        w.until_gone("web")
        assert not svcnegs(w) and not w.cloud("networkEndpointGroups")


def test_restart__one_list_and_no_write():
    with World(PROGRAMS, "--nodes=6") as w:
        w.start(*FLAGS)
        for name in ("a", "b", "c"):
            w.create(name, INTERNAL)
            w.until_made(name)
        w.stop()
        w.forget_calls()
        w.start(*FLAGS)
        w.until("all are looked at", lambda: all(synced(w, n) for n in ("a", "b", "c")))
        calls = w.calls()["kubernetes"]
        assert not w.mutations() and not w.service_writes(), w.calls()
        assert calls.get("servicenetworkendpointgroups.list") == 1, calls
        assert not [op for op in calls if op.startswith("servicenetworkendpointgroups.") and not op.endswith("list")]


def test_type_changed__nothing_speaks_of_it_any_more():
    with World(PROGRAMS, "--nodes=6") as w:
        w.start(*FLAGS)
        w.create("web", {"annotations": {**INTERNAL["annotations"], LOGGING: "none", "mine": "1"}})
        w.until_made("web")
        w.until("the condition is there", lambda: condition(w, "web") == ("False", "Missing"))
        w.forget_calls()
        w.patch("web", {"spec": {"type": "ClusterIP"}})
        w.until("the finalizer is gone", lambda: not w.get("web")["metadata"].get("finalizers"))
        web = w.get("web")
        assert web["metadata"]["annotations"] == {**INTERNAL["annotations"], LOGGING: "none", "mine": "1"}, web
        assert not web["status"]["loadBalancer"] and condition(w, "web") is None, web
        assert not svcnegs(w)
        assert w.calls()["kubernetes"]["services.status.patch"] == 1, w.calls()


def test_logging_config__condition_events_and_the_backend_service_follow():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*FLAGS)
        w.create("web", {"annotations": {**INTERNAL["annotations"], LOGGING: "absent"}})
        w.until_made("web")
        w.until_event("web", "L4LBConfigNotFound", "default/absent")
        w.until("the condition is there", lambda: condition(w, "web") == ("False", "Missing"))
        w.must("POST", CONFIGS, {
            "apiVersion": "networking.gke.io/v1", "kind": "L4LBConfig", "metadata": {"name": "half"},
            "spec": {"logging": {"enabled": True, "sampleRate": 500000}}})
        w.patch("web", {"metadata": {"annotations": {LOGGING: "half"}}})
        w.until("it is managed", lambda: condition(w, "web") == ("True", "Reconciled"))
        backend, = w.cloud("backendServices").values()
        assert backend["logConfig"]["enable"] and backend["logConfig"]["sampleRate"] == 0.5, backend
        w.patch("web", {"metadata": {"annotations": {LOGGING: None}}})
        w.until_event("web", "L4LBConfigAnnotationRemoved")
        w.until("it is not", lambda: condition(w, "web") == ("False", "Unmanaged"))
        backend, = w.cloud("backendServices").values()
        assert backend["logConfig"]["sampleRate"] == 0.5, backend  # stays as it is


def test_own_writes__wake_nobody():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*FLAGS)
        w.create("web", RBS)
        w.until("it is done", lambda: synced(w, "web"))
        w.create("later", RBS)
        w.until_made("later")  # what the first one's writes had woken would have come before
        assert synced(w, "web") == 1, w.logged("Synced")
        w.patch("web", {"metadata": {"annotations": {"service.kubernetes.io/backend-service": "wrong"}}})
        w.patch("web", {"metadata": {"annotations": {"mine": "1"}}})
        w.until("an edit of the user's is a reason", lambda: synced(w, "web") >= 2)
        assert w.get("web")["metadata"]["annotations"]["service.kubernetes.io/backend-service"] != "wrong"


def test_both_parts__target_pool_keeps_the_service_controllers_finalizer_and_events():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*FLAGS)
        w.create("pool")
        w.until_made("pool")
        w.until_event("pool", "EnsuredLoadBalancer")
        assert CLEANUP in w.get("pool")["metadata"]["finalizers"]
        assert not svcnegs(w)


def test_service_controller_off__target_pools_are_left_alone():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*FLAGS, "--controllers=*,-service-lb-controller")
        w.create("pool")
        w.create("web", INTERNAL)
        w.until_made("web")
        pool = w.get("pool")
        assert not pool["metadata"].get("finalizers") and not pool["status"]["loadBalancer"], pool
        assert not w.cloud("targetPools") and not w.events("pool")


def test_node_turns_unready__only_who_has_negs_is_looked_at():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*FLAGS)
        w.create("pool")
        w.create("web", INTERNAL)
        w.until_made("pool")
        w.until_made("web")
        w.forget_calls()
        path = "/api/v1/nodes/node-1/status"
        node = w.must("GET", "/api/v1/nodes/node-1")
        for c in node["status"]["conditions"]:
            if c["type"] == "Ready":
                c["status"] = "False"
        w.must("PUT", path, node)
        w.until("the nodes are compared", lambda: w.logged("Syncing backends for all LB services"))
        w.create("last", INTERNAL)
        w.until_made("last")
        assert not w.logged("Updating backends", "default/pool"), w.logged("Updating backends")


def connect_nodes(w, network, names):
    """A second VPC with a subnetwork; these machines have an interface there, of which their Nodes tell."""
    state = w.must("GET", "/sim/state")
    cloud = state["gce"]
    vm = next(o for path, o in cloud.items() if path.endswith(f"/instances/{names[0]}"))
    base, project = vm["selfLink"].split("projects/")[0], vm["selfLink"].split("projects/")[1].split("/")[0]
    vpc = f"projects/{project}/global/networks/{network}-vpc"
    region = next(path for path in cloud if "/subnetworks/" in path).rsplit("/subnetworks/", 1)[0]
    sub = f"{region}/subnetworks/{network}-sub"
    cloud[vpc] = {"kind": "compute#network", "id": "900001", "name": f"{network}-vpc", "selfLink": base + vpc}
    cloud[sub] = {"kind": "compute#subnetwork", "id": "900002", "name": f"{network}-sub", "selfLink": base + sub,
                  "network": base + vpc, "ipCidrRange": "172.16.0.0/20", "region": base + region}
    for i, name in enumerate(names):
        vm = next(o for path, o in cloud.items() if path.endswith(f"/instances/{name}"))
        vm["networkInterfaces"].append({"name": "nic1", "network": base + vpc, "subnetwork": base + sub,
                                        "networkIP": f"172.16.0.{i + 1}"})
    w.must("PUT", "/sim/state", state)
    for i, name in enumerate(names):
        node = w.must("GET", f"/api/v1/nodes/{name}")
        node["metadata"].setdefault("annotations", {})["networking.gke.io/north-interfaces"] = json.dumps(
            [{"network": network, "ipAddress": f"172.16.0.{i + 1}"}])
        w.must("PUT", f"/api/v1/nodes/{name}", node)


def add_network(w, network):
    w.must("POST", NETWORKS + "gkenetworkparamsets", {
        "apiVersion": "networking.gke.io/v1", "kind": "GKENetworkParamSet", "metadata": {"name": f"{network}-params"},
        "spec": {"vpc": f"{network}-vpc", "vpcSubnet": f"{network}-sub"}})
    w.must("POST", NETWORKS + "networks", {
        "apiVersion": "networking.gke.io/v1", "kind": "Network", "metadata": {"name": network},
        "spec": {"type": "L3", "parametersRef": {
            "group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": f"{network}-params"}}})


def test_other_network__told_until_it_is_there_then_made_there_and_taken_away():
    with World(PROGRAMS, "--nodes=3") as w:
        connect_nodes(w, "blue", ["node-0", "node-1"])
        w.start(*FLAGS, "--enable-multi-networking")
        for name, meta in (("inside", INTERNAL), ("outside", RBS)):
            w.create(name, meta, selector={"networking.gke.io/network": "blue"})
        w.until_event("inside", "SyncLoadBalancerFailed", "network blue does not exist")
        w.until_event("outside", "SyncExternalLoadBalancerFailed", "network blue does not exist")
        assert not w.mutations(), w.calls()
        add_network(w, "blue")
        for name in ("inside", "outside"):
            w.patch(name, {"metadata": {"annotations": {"mine": "1"}}})
            w.until_made(name)
        negs = w.cloud("networkEndpointGroups").values()
        assert len(negs) == 4 and all(n["network"].endswith("/blue-vpc") for n in negs), negs
        assert all(f["network"].endswith("/blue-vpc") for f in w.cloud("firewalls").values()), w.cloud("firewalls")
        assert not w.cloud("instanceGroups")
        assert w.get("outside")["metadata"]["finalizers"] == ["gke.networking.io/l4-netlb-v2"]
        assert len(svcnegs(w)) == 2
        w.stop()
        w.forget_calls()
        w.start(*FLAGS, "--enable-multi-networking")
        w.until("both are looked at", lambda: all(synced(w, n) for n in ("inside", "outside")))
        assert not w.mutations() and not w.service_writes(), w.calls()
        w.stop()
        w.start(*FLAGS)  # without the flag: refused, but taken away when it is to go
        w.until_event("inside", "SyncLoadBalancerFailed", "--enable-multi-networking is off")
        w.until_event("outside", "SyncExternalLoadBalancerFailed", "--enable-multi-networking is off")
        assert not w.mutations(), w.calls()
        for name in ("inside", "outside"):
            w.delete(name)
            w.until_gone(name)
        assert not svcnegs(w) and not w.cloud("networkEndpointGroups") and not w.cloud("firewalls")
        assert not w.cloud("backendServices") and not w.cloud("healthChecks")


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
