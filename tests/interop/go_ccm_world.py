# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster that a Go cloud-controller-manager and trimtab serve in turns, and how its cloud is compared.

The Go program comes from an environment variable, TRIMTAB_GO_CCM for Google: any build of a cloud-controller-manager with
the public k8s.io/cloud-provider-gcp/providers module (for Azure see go_ccm_azure_world.py).  It does not say when it is at
rest, so that is inferred: it called neither cloud nor cluster for longer than its longest pause between two calls of one
sync (one second).
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from controller_world import CONFIG, World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

GO_CCM = os.environ.get("TRIMTAB_GO_CCM", "")
QUIET_S = 3.5
LIMIT_S = 300
EXTERNAL_FINALIZER = "gke.networking.io/l4-netlb-v1"
REGION = "projects/trimtab-sim/regions/us-central1"
# Resources of every project, and those that say nothing about a load balancer.
STANDING = ("networks", "subnetworks", "regions", "zones", "instances")
LATE = ("id", "creationTimestamp", "fingerprint", "labelFingerprint")


class GoWorld(World):
    """A simulator with both controllers at hand; only one of them runs at a time."""

    def __init__(self, programs, go_program, label, *flags, cloud):
        self.label, self.go, self.go_runs, self.go_program = label, None, 0, go_program
        super().__init__(programs, *flags, cloud=cloud)

    def __exit__(self, kind, value, trace):
        if self.go is not None and self.go.poll() is None:
            self.stop_go()
        super().__exit__(kind, value, trace)

    def go_flags(self):
        return [f"--cloud-provider={self.cloud_name}", f"--cloud-config={self.conf}/{CONFIG[self.cloud_name]}"]

    def start_go(self):
        self.go_runs += 1
        self.go = subprocess.Popen(
            # It listens for webhooks although it has none, and takes no 0; its default may be taken.
            [self.go_program, *self.go_flags(), f"--kubeconfig={self.kubeconfig}",
             "--leader-elect=false", "--secure-port=0", "--kube-api-content-type=application/json",
             "--webhook-bind-address=127.0.0.1", f"--webhook-secure-port={free_port()}",
             "--controllers=service,-route", "-v=2"],
            stderr=self.file(f"go-{self.go_runs}"), env=self.environment())
        self.until("the Go controller watches",
                   lambda: "Starting service controller" in self.go_log() or self.go.poll() is not None)
        assert self.go.poll() is None, self.go_log()

    def stop_go(self):
        self.go.send_signal(signal.SIGTERM)
        self.go.wait(180)

    def go_log(self):
        with open(os.path.join(self.folder, f"go-{self.go_runs}"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def at_rest(self):
        """Waits until nobody has called the cloud or written to a Service for QUIET_S."""
        deadline = time.monotonic() + LIMIT_S
        before, since = None, time.monotonic()
        while before is None or time.monotonic() - since < QUIET_S:
            calls = self.calls()
            now = (calls[self.cloud_name], calls["kubernetes"].get("services.status.patch"))
            if now != before:
                before, since = now, time.monotonic()
            assert time.monotonic() < deadline, f"{self.label}: still busy after {LIMIT_S} s"
            time.sleep(0.1)

    def all_services(self):
        return {s["metadata"]["name"]: s for s in self.must("GET", self.services())["items"]
                if s["metadata"]["name"] != "kubernetes"}

    def finalizers(self, name):
        return self.get(name)["metadata"].get("finalizers", [])

    def lb_name(self, name):
        return "a" + self.get(name)["metadata"]["uid"].replace("-", "")[:31]


class Cluster(GoWorld):
    """One in Google's cloud."""

    def __init__(self, programs, label, *flags):
        self.token = None
        super().__init__(programs, GO_CCM, label, *flags, cloud="gce")
        self.token = self.must("GET", "/computeMetadata/v1/instance/service-accounts/default/token")["access_token"]
        self.name_the_subnetwork()
        self.fix_the_cluster_id()

    def go_flags(self):
        return [*super().go_flags(), "--concurrent-service-syncs=15"]

    def name_the_subnetwork(self):
        """With only a name and an own api-endpoint the Go program would build every internal rule anew at each sync."""
        path = f"{self.conf}/gce.conf"
        with open(path, encoding="utf-8") as f:
            text = f.read()
        link = f"https://www.googleapis.com/compute/v1/{REGION}/subnetworks/default"
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^subnetwork-name = .*$", f"subnetwork-name = {link}", text))

    def fix_the_cluster_id(self):
        """Two clusters whose clouds are compared need the same one; else whoever comes first invents it."""
        self.must("POST", "/api/v1/namespaces/kube-system/configmaps", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ingress-uid", "namespace": "kube-system"},
            "data": {"uid": "0123456789abcdef", "provider-uid": "0123456789abcdef"}})

    def call(self, method, path, body=None, content_type="application/json"):
        """As in World, with the headers that the cloud's half of the simulator asks for."""
        headers = {"Content-Type": content_type, "Metadata-Flavor": "Google", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                text = answer.read().decode()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read().decode() or "null")

    # --- what is there ---
    def resources(self):
        """The load balancers' resources by path, and the members of instance groups, as they are."""
        state = self.must("GET", "/sim/state")
        kept = {path: r for path, r in state["gce"].items() if path.split("/")[-2] not in STANDING and path != REGION}
        kept.update({"members of " + group: sorted(m, key=str) for group, m in state.get("members", {}).items()})
        return kept

    def reserve(self, name, **body):
        """An address of the user's own; returns the number."""
        self.must("POST", f"/compute/v1/{REGION}/addresses", {"name": name, **body})
        return self.must("GET", f"/compute/v1/{REGION}/addresses/{name}")["address"]

    def comparable(self):
        """Resources and statuses without what two clusters cannot share: ids, times, and what chance handed out."""
        resources, services = self.resources(), self.all_services()
        names = {r["address"]: f"<{r['name']}>" for path, r in resources.items() if "/addresses/" in path}
        for name, svc in services.items():
            names[str(svc["spec"].get("healthCheckNodePort", ""))] = f"<check port of {name}>"
            for ingress in svc.get("status", {}).get("loadBalancer", {}).get("ingress", []):
                names.setdefault(ingress["ip"], f"<address of {name}>")
        names.pop("", None)
        found = {path: plain(r, names) for path, r in resources.items()}
        for name, svc in services.items():
            others = [f for f in svc["metadata"].get("finalizers", []) if f != EXTERNAL_FINALIZER]
            found[f"service {name}"] = {"status": plain(svc["status"], names), "finalizers": sorted(others)}
        return found


def plain(value, names):
    """value without its late members, with lists sorted and known addresses and ports by name."""
    if isinstance(value, dict):
        return {k: plain(v, names) for k, v in value.items() if k not in LATE and k != "lastTransitionTime"}
    if isinstance(value, list):
        return sorted((plain(v, names) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    if isinstance(value, int) and not isinstance(value, bool):
        return names.get(str(value), value)
    if isinstance(value, str) and value.startswith("{"):
        for number in sorted(names, key=len, reverse=True):
            value = value.replace(f'"{number}"', f'"{names[number]}"')
    return names.get(value, value) if isinstance(value, str) else value


def differences(left, right):
    """Lines that say where two sets of resources differ, field by field."""
    lines = []
    for path in sorted(left.keys() | right.keys()):
        a, b = left.get(path), right.get(path)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += [f"{path}.{field}: {a.get(field)} / {b.get(field)}"
                      for field in sorted(a.keys() | b.keys()) if a.get(field) != b.get(field)]
        elif a != b:
            lines.append(f"{path}: {a} / {b}")
    return lines
