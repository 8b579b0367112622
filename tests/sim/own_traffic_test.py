#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that trimtab says to the API server and to the cloud, and what it is answered, against both APIs' schemas.

    own_traffic_test.py TRIMTAB_SIM TRIMTAB TESTS      (TAP on stdout)

A scripted life: Services of every external kind, edits, nodes, refusals, deletions, a restart, a plan, and kubectl where it is
installed.  Then tests/support/check_kube_log.py and tests/data/schemas/check_traffic.py judge the logs; the last line
shows that what the script is about was really said.  Without python3-jsonschema the test is skipped.
"""
import collections
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, TESTS = sys.argv[1:3], sys.argv[3]
MANIFEST = """apiVersion: v1
kind: Service
metadata: {name: kubectl, namespace: default}
spec:
  type: LoadBalancer
  selector: {app: kubectl}
  ports: [{name: http, port: 80}, {name: https, port: 443}]
"""
# Calls without which the logs would show nothing.
SAID = {"PATCH services/status", "PATCH services", "POST events", "PATCH events", "POST configmaps", "LIST services", "LIST nodes",
        "WATCH services", "WATCH nodes"}


def scripted_life(w):
    w.start()
    w.create("web")
    w.create("local", externalTrafficPolicy="Local")
    w.create("sticky", sessionAffinity="ClientIP", loadBalancerSourceRanges=["10.0.0.0/8", "192.0.2.0/24"])
    w.create("udp", ports=[{"port": 53, "protocol": "UDP"}])
    w.create("standard", {"annotations": {"cloud.google.com/network-tier": "Standard"}})
    for name in ("web", "local", "sticky", "udp", "standard"):
        w.until_address(name)
    w.create("refused", {"annotations": {"cloud.google.com/network-tier": "Gold"}})
    w.until_event("refused", "SyncLoadBalancerFailed", "Gold")
    w.patch("refused", {"metadata": {"annotations": {"x": "y"}}})
    w.until("an event is counted up", lambda: "events.patch" in w.calls()["kubernetes"])
    w.create("internal", {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}})
    w.patch("web", {"spec": {"loadBalancerSourceRanges": ["198.51.100.0/24"]}})
    w.until("the edit is made", lambda: any(f.get("sourceRanges") == ["198.51.100.0/24"]
                                            for f in w.cloud("firewalls").values()))
    w.patch("web", {"spec": {"sessionAffinity": "ClientIP"}})
    w.until("the affinity is changed", lambda: len([p for p in w.cloud("targetPools").values()
                                                    if p.get("sessionAffinity") == "CLIENT_IP"]) == 2)
    w.must("POST", "/sim/nodes", {"count": 2})
    w.must("DELETE", "/sim/nodes/node-0")
    w.until("the node is gone", lambda: "node-0" not in w.members() and "node-4" in w.members())
    w.fault(match={"api": "gce", "op": "compute.targetPools.delete"}, do="refuse", status=403, count=1)
    w.delete("udp")
    w.until_gone("udp")


def with_kubectl(w):
    """The same through kubectl: its client-side patches carry directives."""
    if shutil.which("kubectl") is None:
        return
    def kubectl(*args, text=None):
        subprocess.run(["kubectl", f"--kubeconfig={w.kubeconfig}", *args], input=text, text=True, check=True,
                       capture_output=True, env={**os.environ, "HOME": w.folder})
    kubectl("apply", "-f", "-", text=MANIFEST)
    w.until_address("kubectl")
    kubectl("apply", "-f", "-", text=MANIFEST.replace("443", "8443"))
    kubectl("annotate", "service", "kubectl", "cloud.google.com/network-tier=Standard")
    kubectl("get", "services", "-o", "wide")
    kubectl("describe", "service", "kubectl")
    kubectl("delete", "service", "kubectl", "--wait=false")
    w.until_gone("kubectl")


def restart_and_end(w):
    assert w.stop()[0] == 0
    subprocess.run([w.trimtab_exe, "plan", "--cloud-provider=gce", f"--cloud-config={w.conf}/gce.conf",
                    f"--kubeconfig={w.kubeconfig}"], check=False, capture_output=True, env=w.environment())
    w.start()
    w.patch("sticky", {"spec": {"type": "ClusterIP", "loadBalancerSourceRanges": None}})
    for name in ("web", "local", "standard", "refused", "internal"):
        w.delete(name)
    for name in ("web", "local", "standard", "refused", "internal"):
        w.until_gone(name)
    w.until("it is no load balancer any more", lambda: not w.get("sticky")["metadata"].get("finalizers"))
    assert w.stop()[0] == 0


def said(entries):
    """"PATCH services/status" and the like, with how often."""
    counts = collections.Counter()
    for e in entries:
        path, _, query = e["path"].partition("?")
        parts = path.split("/")[3:] if path.startswith("/api/v1") else []
        if parts[:1] == ["namespaces"] and len(parts) > 2:
            parts = parts[2:]
        if not parts:
            continue
        verb = e["method"]
        if verb == "GET":
            verb = "WATCH" if "watch=" in query else "GET" if len(parts) > 1 else "LIST"
        counts[f"{verb} {'/'.join([parts[0], *parts[2:]])}"] += 1
    return counts


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def judge(*args):
    r = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)
    lines = (r.stdout + r.stderr).strip().splitlines()
    return lines[-1], lines[:-1] if r.returncode else []


def main():
    try:
        import jsonschema  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        return tap.skip("python3-jsonschema is not installed")
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"trimtab-own-traffic-{os.getpid()}")
    os.makedirs(folder)
    kube, cloud = f"{folder}/kube.log", f"{folder}/cloud.log"
    try:
        with World(PROGRAMS, "--nodes=3", f"--kube-log={kube}", f"--traffic-log={cloud}") as w:
            scripted_life(w)
            with_kubectl(w)
            restart_and_end(w)
        report = tap.Report()
        last, wrong = judge(f"{TESTS}/support/check_kube_log.py", f"{TESTS}/data/schemas/kubernetes.json", kube)
        report.check(f"the API server's traffic: {last}", wrong)
        last, wrong = judge(f"{TESTS}/data/schemas/check_traffic.py", cloud)
        report.check(f"the cloud's traffic: {last}", wrong)
        counts = said(read(kube))
        report.check(f"the script was played: {sum(counts.values())} calls", sorted(SAID - set(counts)))
    finally:
        shutil.rmtree(folder)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
