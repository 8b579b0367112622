#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingress-gce's own program (glbc) and trimtab build the same for Services with backend services, and take each other's over.

    TRIMTAB_GO_GLBC=PROGRAM go_glbc_test.py TRIMTAB_SIM TRIMTAB     (TAP on stdout; skipped when the variable is unset)

The program is `go build k8s.io/ingress-gce/cmd/glbc`; it was tried with v1.30.0.  In one cluster Go builds, trimtab takes over and
has nothing to do, and Go takes back.  In another one trimtab builds the same Services; both clouds are compared."""
import os
import re
import signal
import subprocess
import sys
import traceback

import go_ccm_world
from go_ccm_world import Cluster, differences
from free_port import free_port  # go_ccm_world.py put its folder on the path
import tap

GLBC = os.environ.get("TRIMTAB_GO_GLBC", "")
PROGRAMS = sys.argv[1:3]
FLAGS = ("--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg")
INTERNAL = {"networking.gke.io/load-balancer-type": "Internal"}
RBS = {"cloud.google.com/l4-rbs": "enabled"}
LOCAL = {"externalTrafficPolicy": "Local"}
SERVICES = {
    "rbs": (RBS, {}),
    "rbs-local": (RBS, LOCAL),
    "rbs-ranges": (RBS, {"loadBalancerSourceRanges": ["192.0.2.0/24"]}),
    "rbs-ports": (RBS, {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443}]}),
    "rbs-udp": (RBS, {"ports": [{"port": 53, "protocol": "UDP"}]}),
    "internal": (INTERNAL, {}),
    "internal-local": (INTERNAL, LOCAL),
    "internal-global": ({**INTERNAL, "networking.gke.io/internal-load-balancer-allow-global-access": "true"}, {}),
    "internal-affinity": (INTERNAL, {"sessionAffinity": "ClientIP"}),
}
NODES = [f"node-{n}" for n in range(4)]


class GlbcCluster(Cluster):
    def start_go(self):
        self.go_runs += 1
        self.go = subprocess.Popen(
            [GLBC, f"--kubeconfig={self.kubeconfig}", f"--config-file-path={self.conf}/gce.conf", "--running-in-cluster=false",
             "--leader-elect=false", f"--healthz-port={free_port()}", "--run-ingress-controller=false", "--enable-ig-controller",
             "--enable-pinhole", "--gke-cluster-name=c", "--gke-cluster-hash=h", "--gke-cluster-type=ZONAL", "-v=3", *FLAGS],
            stderr=self.file(f"go-{self.go_runs}"), env=self.environment())
        self.until("glbc works", lambda: "Starting L4 controller" in self.go_log() or "L4NetLBController" in self.go_log()
                   or self.go.poll() is not None)
        assert self.go.poll() is None, self.go_log()[-3000:]

    def stop_go(self):
        """It waits for a grace period of its own when it is asked."""
        self.go.send_signal(signal.SIGKILL)
        self.go.wait(180)

    def populate(self):
        self.must("POST", "/api/v1/namespaces/kube-system/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "default-http-backend"},
            "spec": {"type": "NodePort", "ports": [{"name": "http", "port": 80}]}})
        for name, (notes, spec) in SERVICES.items():
            self.create(name, {"annotations": notes}, **spec)
            self.must("PUT", f"/sim/pods/{self.services(name).split('/')[-3]}/{name}", {node: 1 for node in NODES})

    def built(self):
        self.until("each has an address", lambda: all(self.address(name) for name in SERVICES))
        self.at_rest()

    def load_balancers(self):
        """Resources of the load balancers.  The program builds instance groups whether or not something uses them."""
        return {path: r for path, r in self.comparable().items() if not re.search(r"instanceGroups|^service ", path)}


def hand_over(t, one):
    one.populate()
    one.start_go()
    one.built()
    one.stop_go()
    resources = one.resources()
    one.forget_calls()
    one.start(*FLAGS)
    one.at_rest()
    t.check("trimtab takes over from glbc: no cloud write", [f"{op}: {n}" for op, n in one.mutations().items()])
    t.check("trimtab takes over from glbc: every resource is as it was", differences(resources, one.resources()))
    one.stop()
    one.forget_calls()
    one.start_go()
    one.at_rest()
    t.check("glbc takes over again: every resource is as it was", differences(resources, one.resources()))
    t.check("glbc takes over again: nothing but its reserving and releasing of addresses",
            [f"{op}: {n}" for op, n in one.mutations().items() if not op.startswith("compute.addresses.")])


def expected(line):
    """v1.30.0 writes protocols of firewalls in small letters (the cloud compares them without case) and knows no zonal affinity.
    Its description names the address that it holds while it makes a rule; trimtab holds none then (docs/deviations.md, A6)."""
    field, values = line.split(": ", 1)
    left, right = values.split(" / ", 1)
    return (field.endswith("networkPassThroughLbTrafficPolicy") and left == "None" and "ZONAL_AFFINITY_DISABLED" in right
            or field.endswith(".allowed") and left.lower() == right.lower()
            or field.endswith(".description") and re.sub(r',"networking.gke.io/service-ip":"[^"]*"', "", left) == right)


def same(t, one, two):
    two.populate()
    two.start(*FLAGS)
    two.built()
    left, right = one.load_balancers(), two.load_balancers()
    uids = [{one.get(n)["metadata"]["uid"]: f"<uid of {n}>", two.get(n)["metadata"]["uid"]: f"<uid of {n}>",
             one.lb_name(n): f"<name of {n}>", two.lb_name(n): f"<name of {n}>"} for n in SERVICES]
    words = {old: new for row in uids for old, new in row.items()}
    t.check(f"glbc and trimtab build the same for {len(SERVICES)} Services",
            [d for d in differences(named(left, words), named(right, words)) if not expected(d)])
    two.stop()


def named(found, words):
    def text(value):
        if isinstance(value, dict):
            return {text(k): text(v) for k, v in value.items()}
        if isinstance(value, list):
            return [text(v) for v in value]
        for old, new in words.items():
            value = value.replace(old, new) if isinstance(value, str) else value
        return value
    return text(found)


def main():
    if not GLBC:
        return tap.skip("TRIMTAB_GO_GLBC does not name ingress-gce's program glbc")
    go_ccm_world.QUIET_S = 8  # its queues wait longer than those of a cloud-controller-manager
    t = tap.Report()
    try:
        with GlbcCluster(PROGRAMS, "one", "--nodes=4") as one, GlbcCluster(PROGRAMS, "two", "--nodes=4") as two:
            hand_over(t, one)
            same(t, one, two)
    except Exception:  # pylint: disable=broad-except  a part that breaks is one failed line
        t.check("both programs", traceback.format_exc().splitlines())
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
