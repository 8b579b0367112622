#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures: calls, waves, memory, sizes, times, instructions.  Prints a table, never a verdict on a figure.

    bench.py TRIMTAB-SIM SOURCE FOLDER [ROW…]     rows: calls create adopt big big-list node-list changes size instructions heap
                                                  gce-… azure-… aws-… burst-… local-… inside-…; edits=300000 sets the size of `changes`

Builds trimtab as it is released (--buildtype=release) in FOLDER/release, and measures that.  FOLDER also keeps the world
of 1,000 load balancers that `create` leaves and `adopt` takes over.  It fails only when a run itself breaks.
docs/performance.md says how each figure is counted and where upstream's come from.
"""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error

from bench_aws import AWS
from bench_azure import AZURE
from bench_burst import BURSTS
from bench_gce import GCE
from bench_inside import INSIDE
from bench_kube import KUBE
from bench_local import LOCAL
from bench_rig import Broken, Rig, Timeline, cpu_s, took_ms

MANY = 1000
TOUCHES = 100
ROWS = []


def row(what, upstream, here):
    ROWS.append((what, upstream, here))


class Programs:
    def __init__(self, sim, source, folder):
        self.sim, self.folder = os.path.abspath(sim), os.path.abspath(folder)
        self.trimtab = self.release(os.path.abspath(source))
        self.world = os.path.join(self.folder, f"world-{MANY}.json")

    def release(self, source):
        build = os.path.join(self.folder, "release")
        if not os.path.exists(os.path.join(build, "build.ninja")):
            self.run("meson", "setup", "--buildtype=release", "-Dsim=false", "-Dtests=false", build, source)
        self.run("ninja", "-C", build, "trimtab")
        return os.path.join(build, "trimtab")

    @staticmethod
    def run(*args):
        done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"{' '.join(args)}: {done.stdout[-500:]}")

    def rig(self, *flags, cloud="gce"):
        return Rig(self.sim, self.trimtab, *flags, cloud=cloud)

    @staticmethod
    def has_valgrind(what):
        if shutil.which("valgrind") is None:
            row(what, "–", "valgrind is not installed")
            return False
        return True

    def many(self):
        """A rig in which 1,000 Services have their load balancers already."""
        if not os.path.exists(self.world):
            bench_create(self)
        return self.rig("--world=" + self.world)


# --- calls and waves ---------------------------------------------------------------------------------------------

def create_one(programs, rig, name, what, upstream):
    """Counted with a cloud that answers at once; the waves of the same flow are seen in one that takes its time."""
    n = len(rig.messages("Synced"))
    rig.forget_calls()
    rig.create(name)
    rig.until_synced(n + 1)
    c, took = rig.calls(), rig.messages("Synced")[-1]["took"]
    with programs.rig("--nodes=6") as slow:
        slow.start("-v=4")
        if n > 0:
            slow.create("before")
            slow.until_synced(1)
        slow.slow_cloud()
        before = len(slow.messages("Cloud request"))
        slow.create(name)
        slow.until_synced(min(n, 1) + 1)
        t = Timeline(slow.messages("Cloud request")[before:])
        slow.stop()
    waves, idle_ms = t.until_address()
    row(what, upstream, f"{c.all} calls, {c.mutations} mutations; {t.first_reads()} reads in the first wave, then {waves} "
                        f"mutation waves until the address; nothing under way for {idle_ms:.0f} ms; {took}")


def touch(rig, name, value):
    n = len(rig.messages("Synced"))
    rig.forget_calls()
    rig.patch({"namespace": "default", "name": name}, {"metadata": {"annotations": {"touched": value}}})
    rig.until_synced(n + 1)
    return rig.calls()


def bench_calls(programs):
    with programs.rig("--nodes=6") as rig:
        rig.start("-v=4")
        create_one(programs, rig, "first", "external create, first in the cluster", "26 calls, serial, 7.8 s")
        create_one(programs, rig, "further", "external create, a further one", "21 calls, serial, 5.7 s")
        # What was just made is not in the snapshot, so the next sync reads; the one after it need not.
        rig.slow_cloud()
        before = len(rig.messages("Cloud request"))
        c = touch(rig, "first", "a")
        waves = Timeline(rig.messages("Cloud request")[before:]).read_waves()
        again = touch(rig, "first", "b")
        row("no-op re-sync (an annotation touched)", "13 reads + 2 waits, 2 mutations",
            f"{c.reads} reads in {waves} wave, {c.mutations} mutations; {again.reads} reads, {again.mutations} mutations "
            "within a minute of the last look")
        rig.stop()


# --- a thousand Services -----------------------------------------------------------------------------------------

def bench_create(programs):
    with programs.rig("--nodes=250", f"--services={MANY}") as rig:
        before = cpu_s(rig.sim.pid)
        begun = time.monotonic()
        rig.start()
        rig.until_synced(MANY)
        took = time.monotonic() - begun
        ours, sims = cpu_s(rig.child.pid), cpu_s(rig.sim.pid) - before
        gce = rig.calls()
        total = gce.all + rig.calls("kubernetes").all
        rig.until_quiet()
        row(f"{MANY} Services created at once, 250 nodes, 10 workers", "–",
            f"{gce.all / MANY:.1f} cloud calls each; {took:.1f} s, {total / took:.0f} calls/s, of which CPU: trimtab {ours:.1f} s, "
            f"simulator {sims:.1f} s; peak RSS {rig.peak_mib():.1f} MiB")
        rig.stop()
        os.makedirs(programs.folder, exist_ok=True)
        with open(programs.world, "w", encoding="utf-8") as f:
            json.dump(rig.call("GET", "/sim/state"), f)


def bench_adopt(programs):
    with programs.many() as rig:
        rig.start("-v=2")
        rig.until_synced(MANY)
        rig.until_quiet()
        c = rig.calls()
        writes = sum(n for op, n in rig.calls("kubernetes").counts.items()
                     if op.split(".")[-1] in ("create", "update", "patch", "delete"))
        row(f"restart with {MANY} healthy Services", "17 reads, 2 mutations each",
            f"{c.reads / MANY:.3f} reads each, {c.mutations} mutations, {writes} writes to the cluster")
        row(f"peak RSS, {MANY} Services adopted, 250 nodes", "–", f"{rig.peak_mib():.1f} MiB")
        rig.forget_calls()
        begun = time.monotonic()
        rig.call("POST", "/sim/nodes", {"count": 1})
        rig.until_synced(2 * MANY)
        took = time.monotonic() - begun
        c = rig.calls()
        row(f"node added, {MANY} Services", "7 calls each, serial",
            f"{c.mutations / MANY:.3f} mutations, {c.reads / MANY:.3f} reads each, {c.lists} lists; {took:.1f} s with 10 workers; "
            f"peak RSS then {rig.peak_mib():.1f} MiB")
        rig.stop()


# --- a big cluster -----------------------------------------------------------------------------------------------

def lists_there(rig):
    """When the first lists were in."""
    return max(line["ts"] for line in rig.messages("Listed")[:2])


def bench_big(programs):
    flags = ["--nodes=5000", "--node-images=40", "--services=5000:example.com/x"]
    with programs.rig(*flags) as rig:
        rig.start()
        rig.until_quiet()
        row("peak RSS, 5,000 nodes of 40 images, 5,000 Services of another class", "307–400 MiB", f"{rig.peak_mib():.1f} MiB")
        rig.stop()
        rig.create("own")
        rig.start("-v=6")
        rig.until_logged("Cloud request")
        first = min(line["ts"] - took_ms(line) for line in rig.messages("Cloud request"))
        there = lists_there(rig)
        row("start to first cloud call on that cluster", "0.95 s",
            f"{(first - rig.begun_ms) / 1000:.2f} s: lists {there - rig.begun_ms:.0f} ms + {first - there:.0f} ms")
        rig.until_synced(1)
        rig.stop()


# --- the program -------------------------------------------------------------------------------------------------

def bench_size(programs):
    out = os.path.join(programs.folder, "trimtab-stripped")
    Programs.run("strip", "-s", "-o", out, programs.trimtab)
    row("stripped binary (--buildtype=release)", "84–112 MB", f"{os.path.getsize(out) / 1e6:.2f} MB")


def instructions(rig, services, touches):
    """Counting begins after the start, which at this pace may take longer than what is listed counts as young."""
    out = os.path.join(rig.folder, f"callgrind.{touches}")
    rig.start("-v=2", wrapper=["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=" + out])
    rig.until_synced(services)
    Programs.run("callgrind_control", "--instr=on", str(rig.child.pid))
    svc = rig.own_services()[0]
    for i in range(touches):
        rig.patch(svc, {"metadata": {"annotations": {"touched": f"{touches}-{i}"}}})
        rig.until_synced(services + i + 1)
    rig.stop()
    with open(out, encoding="utf-8") as f:
        return int(re.search(r"^(?:totals|summary): (\d+)", f.read(), re.M).group(1))


def bench_instructions(programs):
    what = "instructions per no-op sync (callgrind)"
    if not programs.has_valgrind(what):
        return
    figures = []
    with programs.rig("--nodes=250", "--services=10") as rig:
        rig.start()
        rig.until_synced(10)
        rig.stop()
        figures.append((instructions(rig, 10, 2 * TOUCHES) - instructions(rig, 10, TOUCHES)) / TOUCHES)
    with programs.many() as rig:
        figures.append((instructions(rig, MANY, 2 * TOUCHES) - instructions(rig, MANY, TOUCHES)) / TOUCHES)
    with programs.rig("--nodes=30", "--services=10") as rig:
        rig.start()
        rig.until_synced(10)
        rig.stop()
        figures.append((instructions(rig, 10, 2 * TOUCHES) - instructions(rig, 10, TOUCHES)) / TOUCHES)
    row(what, "–", f"{figures[0] / 1e6:.2f} million with 10 Services, {figures[1] / 1e6:.2f} with {MANY}; 250 nodes, watch and log included; "
                   f"{figures[2] / 1e6:.3f} with 30 nodes")


def bench_heap(programs):
    what = "heap blocks left at exit (valgrind, SIGTERM)"
    if not programs.has_valgrind(what):
        return
    with programs.rig("--nodes=6") as rig:
        rig.start("-v=2", wrapper=["valgrind", "--leak-check=no"])
        for i, policy in enumerate(("Cluster", "Local", "Cluster")):
            rig.create(f"s{i}", externalTrafficPolicy=policy)
        rig.until_synced(3)
        rig.patch({"namespace": "default", "name": "s0"}, {"spec": {"sessionAffinity": "ClientIP"}})
        rig.until_synced(4)
        rig.call("DELETE", "/api/v1/namespaces/default/services/s1")
        rig.until_synced(5)
        rig.stop()
        with open(rig.log, encoding="utf-8", errors="replace") as f:
            left = re.search(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks", f.read())
    if left is None:
        raise Broken("valgrind did not say what is in use at exit")
    row(what, "–", f"{left.group(2)} blocks, {left.group(1)} bytes, after creates, an edit and a delete")


# --- the table ---------------------------------------------------------------------------------------------------

def show():
    width = [max(len(r[i]) for r in ROWS) for i in range(2)] if ROWS else [0, 0]
    for what, upstream, here in [("what", "upstream", "here"), *ROWS]:
        print(f"{what:{width[0]}} | {upstream:{width[1]}} | {here}")


def main(sim, source, folder, *wanted):
    rows = {n: globals()["bench_" + n] for n in ("size", "calls", "create", "adopt", "big", "instructions", "heap")}
    edits = [int(w.split("=")[1]) for w in wanted if w.startswith("edits=")]
    wanted = [w for w in wanted if not w.startswith("edits=")]
    rows.update({n: functools.partial(fn, row) for n, fn in KUBE.items()})
    if edits:
        rows["changes"] = functools.partial(rows["changes"], edits=edits[0])
    rows.update({"gce-" + n: functools.partial(fn, row) for n, fn in GCE.items()})
    rows.update({"azure-" + n: functools.partial(fn, row) for n, fn in AZURE.items()})
    rows.update({"aws-" + n: functools.partial(fn, row) for n, fn in AWS.items()})
    rows.update({"burst-" + n: functools.partial(fn, row) for n, fn in BURSTS.items()})
    rows.update({"local-" + n: functools.partial(fn, row) for n, fn in LOCAL.items()})
    rows.update({"inside-" + n: functools.partial(fn, row) for n, fn in INSIDE.items()})
    names = list(rows)
    names = [n for n in names if not wanted or n in wanted]
    programs, broken = Programs(sim, source, folder), 0
    for name in names:
        try:
            rows[name](programs)
            print(f"{name}: done", flush=True)
        except (Broken, OSError, subprocess.SubprocessError, urllib.error.URLError, ValueError, StopIteration) as e:
            broken += 1
            print(f"{name}: broken: {type(e).__name__}: {e}", flush=True)
    show()
    return broken > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
