#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods move behind a Service of each cloud: GET /sim/reach and trimtab trace say after each step which nodes get traffic.

    pods_reach_test.py TRIMTAB_SIM TRIMTAB CLOUD… [-- TEST…]     (TAP on stdout)

The two share no code: /sim/reach asks what the simulated nodes answer the cloud's health check, trace computes it.  What the
cloud's own API says about the health of its targets is the third.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from aws_client import Client  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CONFIG, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
CUT = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
CLOUDS = sys.argv[3:CUT]
LONG_S = 3600  # a pod that is seen while it ends has longer than any test
LOCAL = {"externalTrafficPolicy": "Local", "ports": [{"port": 80, "targetPort": 8080}]}
NLB = {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}}
RBS = {"annotations": {"cloud.google.com/l4-rbs": "enabled"}}
INTERNAL = {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}
# The server of a Service: cloud, flags of trimtab and of its sub-commands, metadata of the Service.
KINDS = {
    "target pool": ("gce", [], {}),
    "groups": ("gce", ["--run-l4-netlb-controller"], RBS),
    "NEGs": ("gce", ["--run-l4-controller", "--controllers=-service-lb-controller"], INTERNAL),
    "azure": ("azure", [], {}),
    "NLB": ("aws", [], NLB),
    "classic": ("aws", [], {}),
}


class Moving(World):
    """A cluster whose pods carry the number of the node on which they run."""

    def __init__(self, cloud, flags):
        super().__init__(PROGRAMS, "--nodes=3", cloud=cloud)
        self.own = flags
        items = sorted(self.must("GET", "/api/v1/nodes")["items"], key=lambda n: n["metadata"]["name"])
        self.nodes = [n["metadata"]["name"] for n in items]
        self.machines = [n["spec"]["providerID"].split("/")[-1] for n in items]

    def pods(self, name=""):
        return "/api/v1/namespaces/default/pods" + (f"/{name}" if name else "")

    def run_pod(self, name, node):
        self.must("POST", self.pods(), {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": self.nodes[node], "terminationGracePeriodSeconds": LONG_S,
                     "containers": [{"name": "c", "image": "web:1"}]}})

    def ready_nodes(self):
        items = self.must("GET", self.pods())["items"]
        return {self.nodes.index(p["spec"]["nodeName"]) for p in items if "deletionTimestamp" not in p["metadata"]
                and {"type": "Ready", "status": "True"}.items() <= {c["type"]: c for c in p["status"]["conditions"]}["Ready"].items()}

    def reached(self):
        """Numbers of the nodes that answer the health check of web's address."""
        ports = self.must("GET", "/sim/reach").get(self.address("web"), {})
        return {self.nodes.index(t["target"].rsplit(":", 1)[0]) for p in ports.values() for t in p["targets"] if t["healthy"]}

    def traced(self):
        """The exit status of trace, and the numbers of the nodes to which the load balancer sends."""
        done = subprocess.run(
            [self.trimtab_exe, "trace", f"--to={self.address('web')}:80", "-o", "json", f"--kubeconfig={self.kubeconfig}",
             f"--cloud-provider={self.cloud_name}", f"--cloud-config={self.conf}/{CONFIG[self.cloud_name]}", *self.own],
            env=self.environment(), capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode in (0, 2), done
        said = json.loads(done.stdout)
        return done.returncode, {self.nodes.index(n["name"]) for n in said["nodes"] if n["weight"] > 0}

    def of_gce(self, path, body):
        with open(os.path.join(self.conf, "access-token"), encoding="utf-8") as f:
            self.headers = {"Authorization": f"Bearer {f.read().strip()}"}
        answer = self.must("POST", f"/compute/v1/{path}/getHealth", body)
        self.headers = {}
        return {s["instance"].split("/")[-1] for s in answer.get("healthStatus", ()) if s["healthState"] == "HEALTHY"}

    def of_aws(self):
        env = self.environment()
        client = Client(self.url, env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"])
        found = set()
        for arn in client.call("elbv2", "DescribeTargetGroups", {})[1].all(".//TargetGroupArn"):
            rows = client.call("elbv2", "DescribeTargetHealth", {"TargetGroupArn": arn})[1]
            found |= {i for i, s in zip(rows.all(".//Target/Id"), rows.all(".//TargetHealth/State")) if s == "healthy"}
        for name in client.call("elb", "DescribeLoadBalancers", {})[1].all(".//LoadBalancerDescriptions/member/LoadBalancerName"):
            rows = client.call("elb", "DescribeInstanceHealth", {"LoadBalancerName": name})[1]
            found |= {i for i, s in zip(rows.all(".//InstanceId"), rows.all(".//State")) if s == "InService"}
        return found

    def said_by_cloud(self):
        """Numbers of the nodes that the cloud's API calls healthy; Azure's has no such question."""
        if self.cloud_name == "azure":
            return self.reached()
        found = self.of_aws() if self.cloud_name == "aws" else set()
        for path, pool in (self.cloud("targetPools") if self.cloud_name == "gce" else {}).items():
            for link in pool.get("instances", ()):
                found |= self.of_gce(path, {"instance": link})
        for path, service in (self.cloud("backendServices") if self.cloud_name == "gce" else {}).items():
            for backend in service.get("backends", ()):
                found |= self.of_gce(path, {"group": backend["group"]})
        return {self.machines.index(name) for name in found}

    def expect(self, *nodes):
        """Once the cloud has followed, both say that these nodes get traffic, and nobody else does."""
        self.until(f"the nodes {nodes} are healthy", lambda: self.reached() == set(nodes))
        assert self.ready_nodes() == set(nodes), self.ready_nodes()
        assert self.said_by_cloud() == set(nodes), (nodes, self.said_by_cloud())
        status, traced = self.traced()
        assert traced == set(nodes), (nodes, traced)
        assert status == (0 if nodes else 2), status


def moves(kind):
    cloud, flags, meta = KINDS[kind]
    with Moving(cloud, flags) as w:
        w.start(*flags)
        w.run_pod("first", 0)
        w.create("web", meta, **LOCAL)
        w.until_address("web")
        w.expect(0)
        w.run_pod("second", 1)
        w.expect(0, 1)
        w.must("DELETE", w.pods("first"))        # it ends slowly: node 0 leaves at once, the pod stays for what is open
        w.expect(1)
        w.run_pod("third", 2)
        w.must("PATCH", w.pods("second") + "/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
               content_type="application/strategic-merge-patch+json")
        w.expect(2)


def cluster_policy(cloud):
    """Every node answers, wherever the pod is; one that is about to be removed only where the check is a connection."""
    with Moving(cloud, []) as w:
        w.start()
        w.run_pod("first", 0)
        w.create("web")
        w.until_made("web")
        w.until("all nodes are healthy", lambda: w.reached() == {0, 1, 2})
        assert w.traced() == (0, {0, 1, 2}), w.traced()
        # About to be removed: kube-proxy calls itself unfit, and nobody is left who takes the node out.
        w.stop()
        w.must("PATCH", f"/api/v1/nodes/{w.nodes[1]}", {"spec": {"taints": [
            {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}}, content_type="application/merge-patch+json")
        wanted = {0, 2} if cloud == "gce" else {0, 1, 2}
        assert w.reached() == wanted, w.reached()


def words():
    """A cluster without pods; then a client that is behind no Service, and destinations by name."""
    with Moving("gce", []) as w:
        def trace(*args):
            done = subprocess.run([w.trimtab_exe, "trace", f"--kubeconfig={w.kubeconfig}", *args], capture_output=True, text=True,
                                  check=False, timeout=120, env=w.environment())
            return done.returncode, done.stdout, " ".join((done.stdout + done.stderr).split())

        w.create("web", **LOCAL)
        status, _, said = trace("web")
        assert status == 2 and "the Service has no EndpointSlice: no pod matches its selector app=web" in said, said
        w.run_pod("first", 0)
        w.run_pod("client", 1)
        w.must("PATCH", w.pods("client"), {"metadata": {"labels": {"app": "client"}}}, content_type="application/merge-patch+json")
        w.until("web has its pod alone", lambda: len([e for s in w.must(
            "GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices")["items"] for e in s["endpoints"] or ()]) == 1)
        service = w.get("web")["spec"]
        port, ip = service["ports"][0]["nodePort"], service["clusterIP"]
        for to in ("web:80", "web.default:80", "web.default.svc:80", "web.default.svc.cluster.local:80"):
            status, out, said = trace("--from=pod/client", f"--to={to}", "-o", "json")
            assert status == 0, said
            answer = json.loads(out)
            assert (answer["to"], answer["from"]) == (f"{ip}:80/TCP", "pod default/client"), answer
            assert [n["name"] for n in answer["nodes"]] == [w.nodes[1]], answer["nodes"]
        assert trace(f"--to={w.nodes[0]}:{port}")[0] == 0
        status, _, said = trace(f"--to={w.nodes[1]}:{port}")
        assert status == 2 and "no pod of the Service is on node-1" in said, said
        status, _, said = trace("--to=other.default:80")
        assert status == 2 and "no Service has this host name" in said, said
        status, _, said = trace("web", "--from=pod/nosuch")
        assert status == 1 and said == "error: --from=pod/default/nosuch: no such pod with an address in the cluster", said
        w.create("headless", clusterIP="None", type="ClusterIP")
        status, _, said = trace("--to=headless:80")
        assert status == 1 and "--to=headless:80: Service headless has no cluster IP" in said, said


def tests():
    if "gce" in CLOUDS:
        yield "words", words
    for kind, (cloud, _, _) in KINDS.items():
        if cloud in CLOUDS:
            yield f"moves: {kind}", lambda kind=kind: moves(kind)
    for cloud in CLOUDS:
        yield f"policy Cluster: {cloud}", lambda cloud=cloud: cluster_policy(cloud)


if __name__ == "__main__":
    wanted = sys.argv[CUT + 1:]
    sys.exit(tap.run([(name, test) for name, test in tests() if not wanted or name in wanted]))
