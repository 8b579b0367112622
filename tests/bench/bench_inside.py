# SPDX-License-Identifier: Apache-2.0
"""Rows of bench.py about what happens inside the cluster: rules of each mode, render, trace over all nodes, hints.

The commands read one file and end, so that a row is a child process: its CPU time and its highest memory, as ratios to
the smallest size.
"""
import json
import os
import subprocess
import sys

from bench_rig import Broken

SIZES = 100, 5000, 20000
PODS = 5               # behind each Service
SMALL, LARGE = (50, 200), (5000, 20000)    # nodes, endpoints of one Service


def node(i):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"node-{i:05}", "labels": {"topology.kubernetes.io/zone": f"zone-{i % 3}"}},
            "status": {"addresses": [{"type": "InternalIP", "address": f"172.16.{i >> 8}.{i & 255}"}],
                       "allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}}


def service(i, **spec):
    ip = f"10.{96 + (i >> 16)}.{i >> 8 & 255}.{i & 255}"
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": f"s{i}", "namespace": "default", "annotations": {}},
            "spec": {"type": "ClusterIP", "clusterIP": ip, "clusterIPs": [ip], "ipFamilies": ["IPv4"], "selector": {"app": "a"},
                     "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}], **spec},
            "status": {"loadBalancer": {"ingress": [{"ip": f"203.0.{i >> 8 & 255}.{i & 255}"}]}}}


def pod_ip(i):
    return f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"


def slice_of(s, number, pods, nodes):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"s{s}-{number}", "namespace": "default", "labels": {"kubernetes.io/service-name": f"s{s}"}},
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "endpoints": [{"addresses": [pod_ip(p)], "nodeName": f"node-{p % nodes:05}", "zone": f"zone-{p % nodes % 3}",
                           "conditions": {"ready": True, "serving": True, "terminating": False}} for p in pods]}


def pod(i, nodes):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"pod-{i}", "namespace": "default", "labels": {"app": "a"}},
            "spec": {"nodeName": f"node-{i % nodes:05}", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "podIP": pod_ip(i), "podIPs": [{"ip": pod_ip(i)}],
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def many_services(n):
    return [node(i) for i in range(10)] + [
        o for i in range(n) for o in (service(i), slice_of(i, 0, range(i * PODS, i * PODS + PODS), 10))]


def local_service(nodes, endpoints):
    return [node(i) for i in range(nodes)] + [
        service(0, type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=32000)] + [
        slice_of(0, at, range(at, at + 100), nodes) for at in range(0, endpoints, 100)]


def hinted_pods(nodes, endpoints):
    one = service(0, type="LoadBalancer")
    one["metadata"]["annotations"]["service.kubernetes.io/topology-mode"] = "Auto"
    return [node(i) for i in range(nodes)] + [one] + [pod(i, nodes) for i in range(endpoints)]


# A process counts the memory of the one that it was forked from, so that a small one stands between: it writes the output of
# a command into a file, and prints the exit status, CPU seconds and KiB.
BETWEEN = """import posix, sys
pid = posix.fork()
if pid == 0:
    posix.dup2(posix.open(sys.argv[1], posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC), 1)
    posix.execv(sys.argv[2], sys.argv[2:])
_, status, used = posix.wait4(pid, 0)
print(status, used.ru_utime + used.ru_stime, used.ru_maxrss)"""


class Cost:
    """One run: CPU seconds, peak memory in MiB, the lines that it printed."""

    def __init__(self, programs, dump, *args):
        out = os.path.join(programs.folder, "inside-out.txt")
        said = subprocess.run([sys.executable, "-S", "-E", "-c", BETWEEN, out, programs.trimtab, *args, "-f", dump],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.split()
        if said[0] != "0":
            raise Broken(f"trimtab {' '.join(args)} ends with status {said[0]}")
        self.cpu_s, self.mib = float(said[1]), int(said[2]) / 1024
        with open(out, encoding="utf-8") as f:
            self.lines = f.read().splitlines()

    def count(self, *prefixes):
        return sum(line.startswith(prefixes) for line in self.lines)

    def against(self, first):
        return f"CPU ×{self.cpu_s / first.cpu_s:.0f} ({self.cpu_s:.2f} s), memory ×{self.mib / first.mib:.0f} ({self.mib:.0f} MiB)"


def written(programs, name, items):
    os.makedirs(programs.folder, exist_ok=True)
    path = os.path.join(programs.folder, name + ".json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": items}, f)
    return path


def counts_of(mode, cost):
    if mode == "iptables":
        return f"{cost.count('-A ')} rules, of which a packet walks up to {cost.count('-A KUBE-SERVICES ')}"
    if mode == "ipvs":
        rules = cost.count("-A KUBE-")
        return f"{rules} rules, {cost.count('add ')} entries of ipsets, {cost.count('-A -')} virtual servers"
    rules = [line for line in cost.lines if line.startswith("add rule ")]
    own = sum("/" in line.split()[4] for line in rules)  # chains of Services bear their names
    return f"{len(rules) - own} rules in chains that every packet may walk, {own} in those of Services, " \
           f"{cost.count('add element ')} elements of maps and sets"


def bench_rules(row, programs):
    first = {}
    for n in SIZES:
        dump = written(programs, f"inside-{n}", many_services(n))
        for mode in ("iptables", "ipvs", "nftables"):
            cost = Cost(programs, dump, "render", "--node=node-00001", "--mode=" + mode)
            row(f"render, {mode}, {n} Services of {PODS} pods", "–",
                f"{counts_of(mode, cost)}; {cost.against(first.setdefault(mode, cost))}")
        cost = Cost(programs, dump, "trace", "--to=10.96.0.7:80", "--mode=iptables")
        row(f"trace of one cluster IP, {n} Services of {PODS} pods", "–", cost.against(first.setdefault("trace", cost)))


def pair(row, programs, name, what, make):
    first = None
    for nodes, endpoints in (SMALL, LARGE):
        dump = written(programs, f"{name}-{nodes}", make(nodes, endpoints))
        cost = Cost(programs, dump, "trace", "--to=203.0.0.0:80", "--mode=iptables")
        first = first or cost
        row(f"trace over all nodes, {what}, {nodes} nodes, {endpoints} pods", "–", cost.against(first))


def bench_nodes(row, programs):
    pair(row, programs, "inside-local", "policy Local", local_service)


def bench_hints(row, programs):
    pair(row, programs, "inside-hints", "hints by zones' CPU computed of Pods", hinted_pods)


INSIDE = {"rules": bench_rules, "nodes": bench_nodes, "hints": bench_hints}
