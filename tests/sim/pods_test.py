#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods of the simulated cluster, made and moved with kubectl, and what follows: slices, members, what trimtab says of them.

    pods_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout; skipped where kubectl is absent)

Nothing waits for a fixed time: a pod that must be seen while it ends has a grace period longer than any test.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
INTERNAL = {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}
FLAGS = ["--run-l4-controller", "--controllers=-service-lb-controller"]
LONG_S = 3600
MANIFESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "manifests")
KUBECTL = shutil.which("kubectl")


def pod(name, node, app="web"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": LONG_S,
                     "containers": [{"name": "c", "image": "web:1", "ports": [{"name": "http", "containerPort": 8080}]}]}}


class Cluster(World):
    """A World whose people use kubectl."""

    def __init__(self, *flags):
        tap.need(KUBECTL, "kubectl is not here")
        super().__init__(PROGRAMS, *flags)

    def kubectl(self, *args, stdin=None):
        done = subprocess.run([KUBECTL, f"--kubeconfig={self.kubeconfig}", *args], input=stdin, capture_output=True,
                              text=True, check=False, timeout=120, env={"PATH": os.environ["PATH"], "HOME": self.folder})
        assert done.returncode == 0, (args, done)
        return done.stdout

    def apply(self, *objects):
        return self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def endpoints(self, service):
        """{pod: "node rst"}: letters of the conditions that are true."""
        slices = json.loads(self.kubectl("get", "endpointslices", "-l", f"kubernetes.io/service-name={service}", "-o", "json"))
        return {e["targetRef"]["name"]: e["nodeName"] + " " + "".join(
            word[0] if e["conditions"][word] else "-" for word in ("ready", "serving", "terminating"))
                for s in slices["items"] for e in s.get("endpoints") or ()}

    def until_endpoints(self, service, wanted):
        self.until(f"{service} has {wanted}", lambda: self.endpoints(service) == wanted)

    def members(self):
        """Nodes in all NEGs."""
        state = self.must("GET", "/sim/state")
        return sorted(m["instance"].split("/")[-1] for path, group in state["members"].items()
                      if "/networkEndpointGroups/" in path for m in group)

    def until_members(self, wanted):
        self.until(f"NEGs hold {wanted}", lambda: self.members() == wanted)

    def ask(self, *args):
        done = subprocess.run([self.trimtab_exe, *args, f"--kubeconfig={self.kubeconfig}", "--cloud-provider=gce",
                               f"--cloud-config={self.conf}/gce.conf"],
                              env=self.environment(), capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done
        return done.stdout

    def explain(self, name):
        return " ".join(self.ask("explain", name, *FLAGS).split())


def nodes_and_names(w):
    """Of the pods that are not being deleted."""
    pods = json.loads(w.kubectl("get", "pods", "-o", "json"))["items"]
    return sorted((p["spec"]["nodeName"], p["metadata"]["name"]) for p in pods if "deletionTimestamp" not in p["metadata"])


def test_pods__kubectl__sees_them_live_and_end():
    with Cluster("--nodes=2") as w:
        w.create("web", ports=[{"name": "http", "port": 80, "targetPort": "http"}], type="ClusterIP")
        w.apply(pod("web-1", "node-0"))
        w.kubectl("wait", "--for=condition=Ready", "pod/web-1", "--timeout=60s")
        row = w.kubectl("get", "pods", "-o", "wide", "--no-headers").split()
        assert row[:4] == ["web-1", "1/1", "Running", "0"] and row[5:7] == ["10.64.0.2", "node-0"], row
        w.until_endpoints("web", {"web-1": "node-0 rs-"})
        w.kubectl("label", "pod", "web-1", "tier=front")
        w.kubectl("patch", "pod", "web-1", "--subresource=status", "-p",
                  '{"status":{"conditions":[{"type":"Ready","status":"False"}]}}')
        w.until_endpoints("web", {"web-1": "node-0 ---"})
        assert w.kubectl("get", "pods", "--no-headers").split()[1] == "0/1"
        w.kubectl("delete", "pod", "web-1", "--wait=false")
        w.until_endpoints("web", {"web-1": "node-0 --t"})
        assert w.kubectl("get", "pods", "--no-headers").split()[2] == "Terminating"
        w.kubectl("delete", "pod", "web-1", "--force", "--grace-period=0")
        w.until_endpoints("web", {})
        assert w.kubectl("get", "pods", "-o", "name") == ""
        w.apply(pod("web-2", "node-1"))
        w.kubectl("delete", "pod", "web-2", "--grace-period=1")  # waits until it is gone
        w.until_endpoints("web", {})


def test_local_service__members_follow_pods():
    with Cluster("--nodes=3") as w:
        w.start(*FLAGS)
        w.apply(pod("web-0", "node-0"), pod("web-1", "node-1"))
        w.create("web", INTERNAL, externalTrafficPolicy="Local", ports=[{"port": 80, "targetPort": 8080}])
        w.until_address("web")
        w.until_members(["node-0", "node-1"])
        assert "2 of 3" in w.explain("default/web"), w.explain("default/web")
        # web-1 moves: a pod of that name ends on one node and begins on another.
        w.kubectl("delete", "pod", "web-1", "--force", "--grace-period=0")
        w.apply(pod("web-1", "node-2"))
        w.until_endpoints("web", {"web-0": "node-0 rs-", "web-1": "node-2 rs-"})
        w.until_members(["node-0", "node-2"])
        # A node goes with its pod.
        w.must("DELETE", "/sim/nodes/node-0")
        w.until_endpoints("web", {"web-1": "node-2 rs-"})
        w.until_members(["node-2"])
        assert "1 of 2" in w.explain("default/web"), w.explain("default/web")


def test_deployment__scaled_and_rolled_over__trace_and_reach_follow():
    """kubectl alone: a Deployment is made, exposed, scaled, and rolled over to another node, where all its pods go."""
    with Cluster("--nodes=3") as w:
        def nodes_of_pods():
            pods = json.loads(w.kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
            return sorted(p["spec"]["nodeName"] for p in pods if "deletionTimestamp" not in p["metadata"])

        def expect(*nodes):
            """Pods run there, one a word; these nodes are healthy, and trace reaches those pods and no other."""
            w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
            assert nodes_of_pods() == sorted(nodes), nodes_of_pods()
            ports = w.must("GET", "/sim/reach")[address]["TCP/80"]
            assert sorted(t["target"][:-3] for t in ports["targets"] if t["healthy"]) == sorted(set(nodes)), ports
            said = json.loads(w.ask("trace", f"--to={address}:80", "-o", "json"))
            assert said["verdict"] == "delivered", said
            assert sorted(e["node"] for e in said["endpoints"]) == sorted(nodes), said["endpoints"]

        w.start()
        w.kubectl("cordon", "node-1", "node-2")
        w.kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2")
        w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        row = w.kubectl("get", "deployments", "--no-headers").split()
        assert row[:4] == ["web", "2/2", "2", "2"], row
        w.kubectl("expose", "deployment", "web", "--type=LoadBalancer", "--port=80", "--target-port=8080",
                  "--overrides", '{"spec":{"externalTrafficPolicy":"Local"}}')
        address = w.until_address("web")
        w.until("the load balancer has its nodes", lambda: len(w.must("GET", "/sim/reach").get(address, {})
                                                               .get("TCP/80", {}).get("targets", ())) == 3)
        expect("node-0", "node-0")
        w.kubectl("scale", "deployment/web", "--replicas=3")
        expect("node-0", "node-0", "node-0")
        w.kubectl("cordon", "node-0")
        w.kubectl("uncordon", "node-1")
        w.kubectl("delete", "pod", nodes_and_names(w)[0][1], "--wait=false")
        expect("node-0", "node-0", "node-1")
        w.kubectl("rollout", "restart", "deployment/web")
        expect("node-1", "node-1", "node-1")
        w.kubectl("scale", "deployment/web", "--replicas=0")
        w.until("no pod is left that runs", lambda: nodes_of_pods() == [])
        w.kubectl("delete", "deployment", "web", "--wait=false")
        assert w.kubectl("get", "deployments", "-o", "name") == ""


def test_deployment__refusals_and_recreate():
    with Cluster("--nodes=2") as w:
        w.kubectl("create", "deployment", "web", "--image=web:1")
        w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        path = "/apis/apps/v1/namespaces/default/deployments/web/scale"
        scale = w.must("GET", path)
        assert scale["kind"] == "Scale" and scale["spec"] == {"replicas": 1} and scale["status"]["selector"] == "app=web", scale
        for body, wanted in (({"spec": {"replicas": -1}}, 422), ({"spec": {"replicas": "2"}}, 400), ([], 400),
                             ({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 1}}, 409)):
            assert w.call("PATCH", path, body, content_type="application/merge-patch+json")[0] == wanted, body
        assert w.call("PUT", path.replace("/web/", "/other/"), scale)[0] == 404
        scale = w.must("GET", path)
        w.must("PUT", path, {**scale, "spec": {"replicas": 2}})
        w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        assert len(nodes_and_names(w)) == 2
        # Recreate: new pods are made when the old ones are gone, that is when their grace period is over or cut short.
        w.kubectl("patch", "deployment", "web", "-p", '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}')
        old = [name for _, name in nodes_and_names(w)]
        w.kubectl("set", "image", "deployment/web", "web=web:2")
        w.until("the old pods end", lambda: not nodes_and_names(w))
        w.kubectl("delete", "pod", old[0], "--force", "--grace-period=0")
        assert nodes_and_names(w) == [], nodes_and_names(w)
        w.kubectl("delete", "pod", old[1], "--force", "--grace-period=0")
        w.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        assert len(nodes_and_names(w)) == 2 and not {name for _, name in nodes_and_names(w)} & set(old)


def documents(cloud):
    """Objects in the manifests of a provider, counted by their kinds."""
    texts = [open(path, encoding="utf-8") for path in glob.glob(os.path.join(MANIFESTS, cloud, "*.yaml"))]
    return sum(line.startswith("kind: ") for text in texts for line in text)


def test_manifests_of_ours__dry_run_on_the_server():
    """Everything that deploy/manifests ships but the kinds of the Prometheus operator; a slip is refused."""
    with Cluster("--nodes=1") as w:
        for cloud in sorted(set(os.listdir(MANIFESTS)) - {"monitoring"}):
            said = w.kubectl("apply", "--dry-run=server", "-f", os.path.join(MANIFESTS, cloud)).splitlines()
            assert len(said) == documents(cloud) >= 10 and all(line.endswith(" created (server dry run)") for line in said), said
        with open(os.path.join(MANIFESTS, "gce", "trimtab.yaml"), encoding="utf-8") as f:
            slip = f.read().replace("maxUnavailable: 1\n", "maxUnavailble: 1\n", 1)
        try:
            w.kubectl("apply", "--dry-run=server", "-f", "-", stdin=slip)
            raise RuntimeError("the slip was taken")
        except AssertionError as error:
            assert 'unknown field "spec.maxUnavailble"' in str(error), error


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
