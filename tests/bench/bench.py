#!/usr/bin/env python3
"""Figures: calls, waves, memory, sizes, instructions.  Prints a table; never a verdict on time or size (TAP).

    bench.py TRIMTAB-SIM TRIMTAB [ROW…]        rows: calls, thousand, big, size, instructions

Runs the real programs against each other on loopback.  Calls are counted by the simulator (GET /sim/calls), memory is VmHWM
from start until all is synced and quiet, instructions are callgrind's: the difference of two runs with N and 2N syncs, so
that the start cancels out.  It fails only when a run itself breaks.  docs/performance.md says what each row means.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

PATIENCE = 900
ROWS = []


class Rig:
    """A simulator with a controller; both are ended by their ids."""

    def __init__(self, sim, trimtab, *flags):
        self.trimtab, self.folder = trimtab, tempfile.mkdtemp(prefix="trimtab-bench-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.sim = subprocess.Popen([sim, "--port=0", "--write-kubeconfig=" + self.kubeconfig, "--write-cloud-config=" + self.folder]
                                    + list(flags), stdout=subprocess.PIPE)
        self.url = re.search(r"http://\S+", self.sim.stdout.readline().decode()).group(0)
        self.env = dict(os.environ)
        with open(os.path.join(self.folder, "env-gce"), encoding="utf-8") as f:
            self.env.update(line.strip().split("=", 1) for line in f if "=" in line)
        self.child = self.log = None

    def call(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Content-Type": kind})
        with urllib.request.urlopen(request, timeout=120) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def calls(self):
        counts = self.call("GET", "/sim/calls").get("gce", {})
        self.call("DELETE", "/sim/calls")
        reads = sum(n for op, n in counts.items() if re.search(r"\.(get|list|aggregatedList)$", op))
        waits = sum(n for op, n in counts.items() if op.endswith(".wait"))
        return {"all": sum(counts.values()), "reads": reads, "waits": waits, "mutations": sum(counts.values()) - reads - waits,
                "lists": sum(n for op, n in counts.items() if op.endswith("ist"))}

    def start(self, *flags, wrapper=()):
        self.log = os.path.join(self.folder, "log-%d" % time.monotonic_ns())
        args = ["--cloud-provider=gce", "--cloud-config=" + os.path.join(self.folder, "gce.conf"), "--kubeconfig=" + self.kubeconfig,
                "--leader-elect=false", "--secure-port=0", "--logging-format=json", "--kube-api-qps=-1",
                "--concurrent-service-syncs=10"] + list(flags)
        self.begun = time.time()
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(list(wrapper) + [self.trimtab] + args, env=self.env, stderr=log, stdout=log)

    def lines(self):
        out = []
        with open(self.log, encoding="utf-8", errors="replace") as f:
            for line in f:
                try:
                    out.append(json.loads(line))
                except ValueError:
                    pass
        return out

    def wait(self, what, done):
        """Polls the log until done(lines); a run that takes too long is broken."""
        end = time.monotonic() + PATIENCE
        while True:
            lines = self.lines()
            if done(lines):
                return lines
            if self.child.poll() is not None or time.monotonic() > end:
                raise RuntimeError("%s did not come; the log ends: %s" % (what, lines[-3:]))
            time.sleep(0.05)  # polls a file; nothing is asserted on it

    def synced(self, n, verb=None):
        self.wait("%d syncs" % n, lambda lines: sum(
            1 for l in lines if l.get("msg") == "Synced" and verb in (None, l.get("verb"))) >= n)

    def peak_mib(self):
        with open("/proc/%d/status" % self.child.pid, encoding="utf-8") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) / 1024

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        status = self.child.wait(timeout=300)
        if status != 0:
            raise RuntimeError("trimtab ended with status %d" % status)

    def close(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.sim.terminate()
        self.sim.wait()
        shutil.rmtree(self.folder)


def row(what, upstream, here):
    ROWS.append((what, upstream, here))


def manifest(name):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": [{"port": 80, "protocol": "TCP"}]}}


def bench_calls(sim, trimtab):
    rig = Rig(sim, trimtab, "--nodes=6")
    try:
        rig.start("--v=2")
        rig.wait("the watches", lambda lines: any(l.get("msg") == "Watching" for l in lines))
        n = 0
        for what, upstream in (("first", "26 calls, 7 s asleep"), ("a further", "21 calls, 5 s asleep")):
            rig.calls()
            rig.call("POST", "/api/v1/namespaces/default/services", manifest(what.replace(" ", "-")))
            n += 1
            rig.synced(n)
            c = rig.calls()
            plan = [l for l in rig.lines() if l.get("msg") == "Plan"][-1]
            row("external create, %s in the cluster" % what, upstream,
                "%(all)d calls: %(reads)d reads, %(mutations)d mutations, %(waits)d waits" % c
                + "; address after %d waves, no sleep" % (plan["waves"] - 1))
        rig.call("PATCH", "/api/v1/namespaces/default/services/first", {"metadata": {"annotations": {"a": "b"}}},
                 "application/merge-patch+json")
        rig.synced(n + 1)
        row("no-op re-sync", "13 reads + 2 waits, 2 mutations", "%(reads)d reads, %(mutations)d mutations" % rig.calls())
        rig.stop()
    finally:
        rig.close()


def bench_thousand(sim, trimtab):
    rig = Rig(sim, trimtab, "--nodes=250", "--services=1000")
    try:
        rig.start()
        rig.synced(1000)
        lines = rig.lines()
        seconds = ([l for l in lines if l.get("msg") == "Synced"][-1]["ts"] - lines[0]["ts"]) / 1000
        c, peak = rig.calls(), rig.peak_mib()
        row("1,000 Services created at once, 250 nodes", "–", "%.1f calls each, %.0f s with 10 workers, peak RSS %.1f MiB" % (
            c["all"] / 1000, seconds, peak))
        rig.stop()
        rig.start("--v=2")
        rig.synced(1000)
        c, peak = rig.calls(), rig.peak_mib()
        row("restart with 1,000 healthy Services", "17 reads, 2 mutations each", "%.3f reads each, %d mutations" % (
            c["reads"] / 1000, c["mutations"]))
        row("peak RSS, 1,000 Services adopted, 250 nodes", "–", "%.1f MiB" % peak)
        rig.call("POST", "/sim/nodes", {"count": 1})
        rig.synced(2000)
        c = rig.calls()
        row("node added, 1,000 Services", "7 calls each, serial", "%.3f mutations, %.3f reads each, %d lists; peak RSS %.1f MiB" % (
            c["mutations"] / 1000, c["reads"] / 1000, c["lists"], rig.peak_mib()))
        rig.stop()
    finally:
        rig.close()


def bench_big(sim, trimtab):
    rig = Rig(sim, trimtab, "--nodes=5000", "--node-images=40", "--services=5000:example.com/x")
    try:
        rig.start("--v=4")
        rig.wait("the watches", lambda lines: any(l.get("msg") == "Watching" for l in lines))
        rig.call("POST", "/api/v1/namespaces/default/services", manifest("own"))
        lines = rig.wait("a call", lambda lines: any(l.get("msg") == "Synced" and "own" in l.get("service", "") for l in lines))
        at = {l["msg"]: l["ts"] for l in reversed(lines)}
        row("peak RSS, 5,000 nodes × 40 images, 5,000 Services of another class", "307–400 MiB", "%.1f MiB" % rig.peak_mib())
        row("start until the lists are in, on that cluster", "0.95 s", "%.2f s" % ((at["Watching"] - at["Version"]) / 1000))
        rig.stop()
        rig.start("--v=4")
        lines = rig.wait("a call", lambda lines: any(l.get("msg") == "Cloud request" for l in lines))
        at = {l["msg"]: l["ts"] for l in reversed(lines)}
        row("first cloud call after the lists are in", "–", "%.0f ms" % (at["Cloud request"] - at["Watching"]))
        rig.stop()
    finally:
        rig.close()


def bench_size(sim, trimtab):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "trimtab")
        subprocess.run(["strip", "-s", "-o", out, trimtab], check=True)
        row("stripped binary", "84–112 MB", "%.2f MB" % (os.path.getsize(out) / 1e6))


def bench_instructions(sim, trimtab):
    if shutil.which("valgrind") is None:
        row("instructions per no-op sync", "–", "valgrind is not installed")
        return
    rig = Rig(sim, trimtab, "--nodes=6", "--services=10")
    try:
        rig.start()
        rig.synced(10)
        rig.stop()
        totals, names = [], []
        for touches in (20, 40):
            out = os.path.join(rig.folder, "callgrind.%d" % touches)
            rig.start("--v=2", wrapper=["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out])
            rig.synced(10)
            names = names or [i["metadata"]["name"] for i in rig.call("GET", "/api/v1/services")["items"]
                              if i["spec"]["type"] == "LoadBalancer"]
            for i in range(touches):
                svc = [s for s in rig.call("GET", "/api/v1/services")["items"] if s["metadata"]["name"] == names[i % 10]][0]["metadata"]
                rig.call("PATCH", "/api/v1/namespaces/%s/services/%s" % (svc["namespace"], svc["name"]),
                         {"metadata": {"annotations": {"touch": str(time.monotonic_ns())}}}, "application/merge-patch+json")
                rig.synced(10 + i + 1)
            rig.stop()
            with open(out, encoding="utf-8") as f:
                totals.append(int(re.search(r"^(?:totals|summary): (\d+)", f.read(), re.M).group(1)))
        row("instructions per no-op sync", "–", "%.2f million (events, watch and log included)" % (
            (totals[1] - totals[0]) / 20 / 1e6))
        rig.start("--v=2", wrapper=["valgrind", "--leak-check=full", "--show-leak-kinds=all"])
        rig.synced(10)
        rig.stop()
        with open(rig.log, encoding="utf-8", errors="replace") as f:
            m = re.search(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks", f.read())
        row("heap blocks left at exit", "–", "%s (%s bytes)" % (m.group(2), m.group(1)) if m else "not told")
    finally:
        rig.close()


def main(sim, trimtab, *wanted):
    names = ["calls", "thousand", "big", "size", "instructions"]
    names = [n for n in names if not wanted or n in wanted]
    print("1..%d" % len(names))
    bad = 0
    for i, name in enumerate(names, 1):
        try:
            globals()["bench_" + name](os.path.abspath(sim), os.path.abspath(trimtab))
            print("ok %d - %s" % (i, name), flush=True)
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            bad += 1
            print("not ok %d - %s\n# %s" % (i, name, e), flush=True)
    width = max((len(r[0]) for r in ROWS), default=0)
    print("#\n# %-*s | %-32s | here" % (width, "what", "upstream"))
    for r in ROWS:
        print("# %-*s | %-32s | %s" % (width, r[0], r[1], r[2]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
