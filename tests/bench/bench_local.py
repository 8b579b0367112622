#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of bench.py about the provider local with many Services: load, one change, restart, memory.

    bench_local.py SIM TRIMTAB [made] [N…]  a table of load, restart and change with N Services (20000); made: of their creation, too
    bench_local.py SIM TRIMTAB ROW N        prints the row's figures as JSON (load, many, rules); bench.py calls it

Runs itself in namespaces of its own (unshare -Urnm), as any user: one link that the addresses are announced on, four nodes whose
kube-proxy is well, trimtab-sim without a cloud, and trimtab with real nftables and routes.  Judges are the kernel's own counters
and the process' status in /proc.
"""
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import types

from bench_ipvs import bench_ipvs
from bench_nft import bench_nft
from bench_rig import Broken, Rig, cpu_s

SMALL, LARGE = 1000, 20000
TARGETS = 4
CHANGES = 200
IDLE_S = 20  # figures are set each ten seconds
STILL_S = 5
RULE_SIZES = 1000, 2000, 5000, 20000
HEALTH_PORT = 10256
CONFIG = """apiVersion: local.trimtab.io/v1
pools:
- name: public
  addresses: [10.64.0.0-10.64.127.255]
director:
  checks: {interval: 10s, timeout: 9s}
"""  # nodes stay well on a machine whose processors others have


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


# --- the network ---------------------------------------------------------------------------------------------------

def answer_health_checks():
    """kube-proxy's health port: 200.  A process of its own: this one reads tens of thousands of log lines meanwhile."""
    asleep, awake = os.pipe()
    listener = socket.create_server(("0.0.0.0", HEALTH_PORT), backlog=128)
    if os.fork():
        os.close(asleep)
        listener.close()
        return
    os.close(awake)
    while asleep not in select.select([listener, asleep], [], [])[0]:
        with listener.accept()[0] as client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    os._exit(0)  # whoever made it is gone


def build_network():
    with open("/proc/self/uid_map", encoding="ascii") as f:
        if f.read().split() == ["0", "0", "4294967295"]:
            raise Broken("this changes mounts and links: run it inside unshare -Urnm")
    command("mount", "-t", "tmpfs", "none", "/run")
    command("ip", "netns", "add", "far")
    command("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", "far")
    for link in ("lo", "eth0"):
        command("ip", "link", "set", link, "up")
    command("ip", "-n", "far", "link", "set", "eth0", "up")
    command("ip", "addr", "add", "10.64.255.254/16", "dev", "eth0")
    for i in range(TARGETS):
        command("ip", "addr", "add", f"10.1.0.{i + 1}/32", "dev", "lo")
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as f:
        f.write("1")
    answer_health_checks()


# --- the cluster ---------------------------------------------------------------------------------------------------

def node(i):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"},
            "status": {"addresses": [{"type": "InternalIP", "address": f"10.1.0.{i}"}],
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def uid(i):
    return f"{i:08x}-5f2e-4a6b-9c3d-{i * 40503 & 0xffffffffffff:012x}"


def address(i):
    return f"10.64.{i >> 8}.{i & 255}"


def service(i, served):
    """As the API server keeps it, without a status or as trimtab leaves it."""
    ip = f"10.{96 + (i >> 16)}.{i >> 8 & 255}.{i & 255}"
    done = {"annotations": {"local.trimtab.io/ip-allocated-from-pool": "public", "trimtab.io/carried-out": f"{uid(i)} {address(i)}",
                            "trimtab.io/carried-out-by": f"local {uid(i)} {address(i)}"},
            "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]} if served else {}
    status = {"status": {"loadBalancer": {"ingress": [{"ip": address(i), "ipMode": "Proxy"}]}}} if served else {}
    return {"apiVersion": "v1", "kind": "Service", **status,
            "metadata": {"name": f"s{i:05}", "namespace": "default", "uid": uid(i), "creationTimestamp": "2026-01-02T03:04:05Z", **done},
            "spec": {"type": "LoadBalancer", "clusterIP": ip, "clusterIPs": [ip], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                     "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
                     "allocateLoadBalancerNodePorts": True, "selector": {"app": f"s{i}"},
                     "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP", "nodePort": 10000 + i}]}}


def slice_of(i):
    """Four pods."""
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"s{i:05}-abcde", "namespace": "default", "labels": {"kubernetes.io/service-name": f"s{i:05}"}},
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "endpoints": [{"addresses": [f"10.{128 + k}.{i >> 8}.{i & 255}"], "nodeName": f"n{k + 1}",
                           "conditions": {"ready": True, "serving": True, "terminating": False}} for k in range(TARGETS)]}


class LocalRig(Rig):
    """trimtab-sim --cloud none and trimtab with the provider local."""

    def __init__(self, sim, trimtab, n, served=False, slices=True):
        world = {"kubernetes": {"namespaces": [{"metadata": {"name": "default"}}], "nodes": [node(i + 1) for i in range(TARGETS)],
                                "services": [service(i, served) for i in range(n)]}}
        if slices:
            world["kubernetes"]["endpointslices"] = [slice_of(i) for i in range(n)]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as f:
            json.dump(world, f)
            f.flush()
            super().__init__(sim, trimtab, "--world=" + f.name, cloud="none")
        with open(os.path.join(self.folder, "local.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)

    def status_mib(self, field):
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as f:
            return int(re.search(field + r":\s+(\d+)", f.read()).group(1)) / 1024

    def until_synced(self, n):
        """Of a log whose lines were dropped, since the machine had no time to write them: until it is still."""
        at, synced, lost, since = 0, 0, False, time.monotonic()

        def done():
            nonlocal at, synced, lost, since
            new = self.lines()[at:]
            if new:
                at, since = at + len(new), time.monotonic()
            synced += sum(line.get("msg") == "Synced" for line in new)
            lost = lost or any(line.get("msg", "").startswith("Log lines were dropped") for line in new)
            return synced >= n or (lost and time.monotonic() - since > STILL_S)

        self.until(f"{n} × Synced", done)

    def change(self, i, value):
        """Edits the source ranges of one Service and waits until that is in the kernel."""
        before = generation()
        self.patch({"namespace": "default", "name": f"s{i:05}"}, {"spec": {"loadBalancerSourceRanges": [value]}})
        self.until(f"the edit of s{i:05}", lambda: generation() != before)

    def end(self):
        """As kill -9 does, so that nothing is tidied up."""
        self.child.kill()
        self.child.wait()


# --- judges --------------------------------------------------------------------------------------------------------

def generation():
    """The number of transactions that nf_tables has seen in this namespace."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as s:
        s.send(struct.pack("=IHHIIBBH", 20, 10 << 8 | 16, 1, 1, 0, 0, 0, 0))
        return struct.unpack_from(">I", s.recv(4096), 24)[0]


class RouteWrites:
    """Counts changes of routes and addresses since it was made."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, 0x40 | 0x400 | 0x10 | 0x100))
        self.socket.setblocking(False)

    def count(self):
        n = 0
        while True:
            try:
                self.socket.recv(65536)
                n += 1
            except BlockingIOError:
                return n


class Requests:
    """Netlink messages that a process sends while this is open, seen by strace; None without strace."""

    def __init__(self, pid, folder):
        self.n, self.path, self.child = None, os.path.join(folder, "strace"), None
        if shutil.which("strace"):
            self.child = subprocess.Popen(["strace", "-f", "-q", "-e", "trace=sendto,sendmsg", "-o", self.path, "-p", str(pid)],
                                          stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child:
            self.child.send_signal(signal.SIGINT)
            self.child.wait()
            with open(self.path, encoding="utf-8") as f:
                self.n = sum("AF_NETLINK" in line or "nlmsg_len" in line for line in f)


# --- rows, inside the namespaces ------------------------------------------------------------------------------------

def load(rig, n):
    """Services come without addresses: all of it, statuses and events, too."""
    begun = time.monotonic()
    rig.start()
    rig.until_synced(n)
    took = time.monotonic() - begun
    cpu = cpu_s(rig.child.pid)
    rig.until_quiet()
    return {"s": took, "cpu_s": cpu, "peak_mib": rig.status_mib("VmHWM"), "rss_mib": rig.status_mib("VmRSS")}


def changes(rig, n):
    """Medians of one change; what it costs the process, and how many transactions it is."""
    before, wrote, took = cpu_s(rig.child.pid), generation(), []
    for k in range(CHANGES):
        begun = time.monotonic()
        rig.change(k * (n // CHANGES), f"192.0.{k & 255}.0/24")
        took.append(time.monotonic() - begun)
    found = {"cpu_ms": (cpu_s(rig.child.pid) - before) * 1000 / CHANGES, "transactions": (generation() - wrote) / CHANGES,
             "ms": sorted(took)[CHANGES // 2] * 1000}
    rig.until_quiet()
    before, begun = cpu_s(rig.child.pid), time.monotonic()
    time.sleep(IDLE_S)  # measured is what it does meanwhile
    found["idle_ms"] = (cpu_s(rig.child.pid) - before) * 1000 / (time.monotonic() - begun)
    with Requests(rig.child.pid, rig.folder) as requests:
        rig.change(1, "198.51.100.0/24")
        rig.change(2, "198.51.100.0/24")
        rig.until_quiet()
    found["sends"] = requests.n
    return found


def again(rig, n, writes_wanted):
    """A new process: until the last Service is in order; kernel writes."""
    wrote, routes, begun = generation(), None if writes_wanted else RouteWrites(), time.monotonic()
    rig.start()
    rig.until_synced(n)
    took = time.monotonic() - begun
    found = {"s": took, "cpu_s": cpu_s(rig.child.pid), "transactions": generation() - wrote, "routes": routes.count() if routes else 0,
             "peak_mib": rig.status_mib("VmHWM")}
    rig.until_quiet()
    found["rss_mib"] = rig.status_mib("VmRSS")
    if not writes_wanted and found["transactions"] + found["routes"] > 0:
        raise Broken(f"a restart over Services in order wrote to the kernel: {found}")
    return found


def made(sim, trimtab, n):
    with LocalRig(sim, trimtab, n) as rig:
        return load(rig, n)


def many(sim, trimtab, n):
    """After a boot of the machine: the Services have their addresses, the kernel is empty."""
    found = {}
    with LocalRig(sim, trimtab, n, served=True) as rig:
        found["boot"] = again(rig, n, True)
        found["change"] = changes(rig, n)
        rig.end()
        found["restart"] = again(rig, n, False)
        rig.end()
    return found


# --- the way of iptables: the whole table is read and written back for each rule --------------------------------------

def kube_proxy_rules(n):
    """Eight rules for each Service with two pods, as kube-proxy's iptables mode has them; a text for iptables-restore."""
    heads, rules = [], []
    for i in range(n):
        chain = f"{i:08X}"
        ip = f"10.{96 + (i >> 16)}.{i >> 8 & 255}.{i & 255}"
        heads += [f":KUBE-SVC-{chain} - [0:0]"] + [f":KUBE-SEP-{chain}{k} - [0:0]" for k in (0, 1)]
        rules += [f"-A KUBE-SERVICES -d {ip}/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-{chain}",
                  f"-A KUBE-SVC-{chain} ! -s 10.244.0.0/16 -d {ip}/32 -p tcp -m tcp --dport 80 -j MARK --set-xmark 0x4000/0x4000",
                  f"-A KUBE-SVC-{chain} -m statistic --mode random --probability 0.5 -j KUBE-SEP-{chain}0",
                  f"-A KUBE-SVC-{chain} -j KUBE-SEP-{chain}1"]
        for k in (0, 1):
            pod = f"10.244.{i >> 8 & 255}.{i & 255}" if k else f"10.245.{i >> 8 & 255}.{i & 255}"
            rules += [f"-A KUBE-SEP-{chain}{k} -s {pod}/32 -j MARK --set-xmark 0x4000/0x4000",
                      f"-A KUBE-SEP-{chain}{k} -p tcp -m tcp -j DNAT --to-destination {pod}:8080"]
    return "\n".join(["*nat", ":KUBE-SERVICES - [0:0]", *heads, *rules, "COMMIT", ""])


def child_cpu_s(*words, text=None):
    """CPU seconds of a command, and of the kernel for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rule_by_rule(_sim, _trimtab, n):
    """One rule more in a table of n Services by iptables-legacy, which reads and writes all of it."""
    found = {"rules": 8 * n, "load_s": child_cpu_s("iptables-legacy-restore", text=kube_proxy_rules(n))}
    took = [child_cpu_s("iptables-legacy", "-t", "nat", "-A", "KUBE-SERVICES", "-d", f"10.200.0.{k}/32", "-p", "tcp", "-j", "ACCEPT")
            for k in range(5)]
    found["one_ms"] = sorted(took)[2] * 1000
    return found


# --- rows, outside --------------------------------------------------------------------------------------------------

def inside(programs, row, n):
    """The result of `row` among n Services."""
    done = subprocess.run(["unshare", "-Urnm", "--kill-child", sys.executable, os.path.abspath(__file__), programs.sim, programs.trimtab,
                           row, str(n)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Broken(f"{row} with {n} Services ends with status {done.returncode}")
    return json.loads(done.stdout)


def all_of(programs, n):
    return {"load": inside(programs, "load", n), **inside(programs, "many", n)}


def bench_many(row, programs):
    small, large = all_of(programs, SMALL), all_of(programs, LARGE)
    for n, found in ((SMALL, small), (LARGE, large)):
        what = f"{n} Services × {TARGETS} targets"
        row(f"{what}: made at once", "–", "{cpu_s:.1f} s of CPU, {s:.1f} s, statuses and events included; peak RSS {peak_mib:.1f} MiB, then "
            "{rss_mib:.1f}".format(**found["load"]))
        row(f"{what}: loaded into an empty kernel, statuses there", "hours (iptables, rule by rule)",
            "{cpu_s:.1f} s of CPU, {s:.1f} s, {transactions} transactions; RSS {rss_mib:.1f} MiB, peak {peak_mib:.1f}".format(**found["boot"]))
        row(f"{what}: restart, all in order", "–", "0 kernel writes; {cpu_s:.1f} s of CPU, in sync after {s:.1f} s; RSS {rss_mib:.1f} MiB, peak "
            "{peak_mib:.1f}".format(**found["restart"]))
        row(f"{what}: one change (source ranges)", "linear (iptables)", "{transactions:.0f} transaction, {cpu_ms:.2f} ms of CPU, of all of the "
            "program; a second without changes {idle_ms:.2f} ms; two changes: {sends} netlink messages, those of the clock "
            "included".format(**found["change"]))
    if small["change"]["transactions"] != large["change"]["transactions"]:
        raise Broken(f"one change needs other transactions among many: {small['change']}, {large['change']}")


def bench_rules(row, programs):
    """The cost of a table that is written as a whole.  All rules one by one: the integral of what one costs."""
    if not shutil.which("iptables-legacy"):
        row("iptables, a rule more", "–", "iptables-legacy is not installed")
        return
    for n in RULE_SIZES:
        found = inside(programs, "rules", n)
        row(f"iptables, {n} Services, {found['rules']} rules: one rule more", "11 min at 5,000, 5 h at 20,000 (an article)",
            f"{found['one_ms']:.0f} ms of CPU; all of them at once, by iptables-restore: {found['load_s']:.1f} s")
        minutes = found["one_ms"] / 2 * found["rules"] / 60000
        row(f"iptables, {n} Services, computed: all rules one by one", "–", f"{minutes:.0f} min, as one costs {found['one_ms']:.0f} ms at the end, "
            "and on average half of it")


def table(sim, trimtab, sizes, made_too):
    """The figures of issue-sized clusters on their own, without the other rows of bench.py."""
    programs = types.SimpleNamespace(sim=sim, trimtab=trimtab)
    print(f"{'Services':>8}  {'what':32} {'CPU s':>6} {'s':>6} {'RSS MiB':>8} {'peak':>6}  transactions")
    for n in sizes:
        found = {**inside(programs, "many", n), **({"load": inside(programs, "load", n)} if made_too else {})}
        for what, row in (("into an empty kernel", "boot"), ("restart, all in order", "restart"), ("made at once", "load")):
            if row not in found:
                continue
            f = found[row]
            print(f"{n:8}  {what:32} {f['cpu_s']:6.1f} {f['s']:6.1f} {f['rss_mib']:8.1f} {f['peak_mib']:6.1f}  {f.get('transactions', '–')}")
        change = found["change"]
        print(f"{n:8}  {'one change, ms':32} {change['cpu_ms']:6.2f} {change['ms']:6.1f} {'':8} {'':6}  {change['transactions']:.0f}")
        print(f"{n:8}  {'a second without changes, ms':32} {change['idle_ms']:6.2f}", flush=True)


LOCAL = {"many": bench_many, "rules": bench_rules, "ipvs": bench_ipvs, "nft": bench_nft}


def main(sim, trimtab, *args):
    if not args or args[0].isdigit() or args[0] == "made":
        table(sim, trimtab, [int(n) for n in args if n.isdigit()] or [LARGE], "made" in args)
        return 0
    build_network()
    json.dump({"many": many, "load": made, "rules": rule_by_rule}[args[0]](sim, trimtab, int(args[1])), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
