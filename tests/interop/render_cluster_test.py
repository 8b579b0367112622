#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From kubectl to a real kernel: Services and Pods made with kubectl in a simulated cluster, a node's rules by `trimtab render`,
loaded in a network namespace; TCP goes where `trimtab trace` says, and `render --diff` finds the kernel's own print equal.

    render_cluster_test.py TRIMTAB_SIM TRIMTAB      (TAP on stdout; skipped where kubectl, a tool or the right is absent)

The pods have the addresses of kernel_node.py; node-0 is the node of the kernel, web-1 runs on it, web-2 on node-1.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import kernel_node  # noqa: E402  pylint: disable=wrong-import-position
import render_kernel_test as kernel  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
CLIENT = kernel_node.CLIENT[4]
PODS = {addresses[4]: pod for pod, addresses in kernel_node.PODS.items()}
TIMES = 30  # each of two pods is met, but for one run in half a billion
LOAD = {"iptables": (["--form=load"], ["iptables-restore", "--noflush"], "iptables-restore --noflush\niptables-save"),
        "nftables": ([], ["nft", "-f", "-"], "nft -f -\nnft -j list table ip kube-proxy")}


def pod(name, node, ip):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 3600, "containers": [{"name": "c", "image": "web:1"}]},
            "status": {"podIP": ip, "podIPs": [{"ip": ip}]}}


class Cluster(World):
    """A simulated cluster with one Service, and what three ways say of it."""

    def __init__(self):
        super().__init__(PROGRAMS, "--nodes=2")
        self.to = None

    def kubectl(self, *args, stdin=None):
        done = subprocess.run(["kubectl", f"--kubeconfig={self.kubeconfig}", *args], input=stdin, capture_output=True, text=True,
                              check=False, timeout=120, env={"PATH": os.environ["PATH"], "HOME": self.folder})
        assert done.returncode == 0, (args, done)
        return done.stdout

    def ready(self, name, status):
        self.kubectl("patch", "pod", name, "--subresource=status", "-p",
                     json.dumps({"status": {"conditions": [{"type": "Ready", "status": status}]}}))

    def traced(self, mode):
        """The end of a connection from outside to node-0: the pods and whether they see the client, or its failure."""
        done = subprocess.run([self.trimtab_exe, "trace", f"--kubeconfig={self.kubeconfig}", f"--from={CLIENT}", f"--to={self.to}:80",
                               "--node=node-0", f"--mode={mode}", "-o", "json"], capture_output=True, text=True, check=False, timeout=120)
        said = json.loads(done.stdout)
        if said["verdict"] != "delivered":
            return {{"dropped": "silent", "rejected": "refused"}[said["verdict"]]}
        return {(PODS[e["address"].rsplit(":", 1)[0]], e["source"] == "kept") for e in said["endpoints"]}

    def in_kernel(self, mode, rules):
        """The same of a kernel."""
        load = [[*LOAD[mode][1], rules]]
        tries = [{"from": "client", "to": self.to, "port": 80, "protocol": "tcp", "times": TIMES}]
        done = subprocess.run(["unshare", "-rnm", sys.executable, kernel_node.__file__], capture_output=True, text=True, check=False,
                              input=json.dumps({"family": 4, "port": 8080, "load": load, "tries": tries}))
        assert done.returncode == 0, done.stderr
        return {(a[0], a[1] == CLIENT) if a[0] else a[1] for a in json.loads(done.stdout)["tries"][0]}

    def check(self, *wanted, modes=("iptables",)):
        """Slices, rules, kernel and trace agree on what a client meets."""
        for mode in modes:
            form, _, show = LOAD[mode]
            rendered = subprocess.run(self.render(mode, *form), capture_output=True, text=True, check=False, timeout=120)
            assert rendered.returncode == 0, rendered
            assert self.traced(mode) == set(wanted), (mode, self.traced(mode))
            met = self.in_kernel(mode, rendered.stdout)
            assert met == set(wanted), (mode, met, rendered.stdout)
            diff = subprocess.run(self.render(mode, "--diff=-"), input=kernel.alone(show, rendered.stdout), capture_output=True, text=True,
                                  check=False, timeout=120)
            assert diff.returncode == 0 and diff.stdout.startswith("node-0 has what kube-proxy would install"), diff
            assert "not compared" not in diff.stdout, diff.stdout

    def render(self, mode, *more):
        return [self.trimtab_exe, "render", "--node=node-0", f"--mode={mode}", f"--kubeconfig={self.kubeconfig}", *more]


def test_objects_of_kubectl__kernel_and_trace_agree():
    with Cluster() as w:
        w.start()
        items = [pod("web-1", "node-0", kernel_node.PODS["pod-1"][4]), pod("web-2", "node-1", kernel_node.PODS["pod-2"][4])]
        w.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        w.kubectl("create", "service", "loadbalancer", "web", "--tcp=80:8080")
        w.kubectl("patch", "service", "web", "-p", '{"spec":{"externalTrafficPolicy":"Local"}}')
        w.to = w.until_address("web")
        w.check(("pod-1", True), modes=LOAD)
        w.ready("web-1", "False")
        w.check("silent")
        w.kubectl("patch", "service", "web", "-p", '{"spec":{"externalTrafficPolicy":"Cluster"}}')
        w.check(("pod-2", False))
        w.ready("web-1", "True")
        w.check(("pod-1", False), ("pod-2", False), modes=LOAD)
        w.kubectl("delete", "pod", "web-1", "web-2", "--wait=false")   # both end slowly, and serve until then
        w.check(("pod-1", False), ("pod-2", False))
        w.kubectl("delete", "pod", "web-1", "web-2", "--force", "--grace-period=0")
        w.check("refused")


def main():
    why = "kubectl is not installed" if not shutil.which("kubectl") else kernel.absent()
    return tap.skip(why) if why else tap.run(tap.tests_of(globals(), sys.argv[3:]))


if __name__ == "__main__":
    sys.exit(main())
