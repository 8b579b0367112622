# SPDX-License-Identifier: Apache-2.0
"""Figures of talking to the API server: big lists, and a stream of changes that concern nobody.  Rows for bench.py.

What upstream takes is told in docs/performance.md.
"""
import http.client
import itertools
import json
import os
import re
import subprocess
import threading
import urllib.parse
import urllib.request

from bench_gce import L4, with_slices
from bench_rig import Broken, cpu_s

NODES, SERVICES = 5000, 5000
OTHERS = "example.com/x"                                  # a class that is not ours
SMALL = 200                                               # nodes under callgrind; then twice as many
EDITS, BEATS_PER_EDIT = 3000, 6                           # the row's default; edits=300000 is the whole thing
WRITERS = 4
LISTS = ("/api/v1/nodes", "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices")


def list_bytes(rig):
    sizes = []
    for path in LISTS:
        with urllib.request.urlopen(rig.url + path) as answer:
            sizes.append(len(answer.read()))
    return sizes


def big(rig, nodes, services, slices):
    """Fills the rig's simulator; sizes of its lists in bytes."""
    if slices:
        rig.call("PUT", "/sim/state", with_slices(rig.call("GET", "/sim/state"), nodes))
    return list_bytes(rig)


def flags_of(nodes, services):
    return [f"--nodes={nodes}", "--node-images=40", f"--services={services}:{OTHERS}"]


def peak(rig, streams, *flags):
    rig.env["KUBE_FEATURE_WatchListClient"] = str(streams).lower()
    rig.start("-v=2", *flags)
    rig.until_quiet()
    mib = rig.peak_mib()
    rig.stop()
    return mib


def instructions(rig, streams, n):
    out = os.path.join(rig.folder, f"callgrind.{n}.{streams}")
    rig.env["KUBE_FEATURE_WatchListClient"] = str(streams).lower()
    rig.start("-v=2", *L4, wrapper=["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out])
    rig.stop()
    with open(out, encoding="utf-8") as f:
        return int(re.search(r"^(?:totals|summary): (\d+)", f.read(), re.M).group(1))


def per_byte(programs):
    """Instructions of the whole program per byte of list, as the difference of two sizes: streamed, listed."""
    totals = []
    for n in (SMALL, 2 * SMALL):
        with programs.rig(*flags_of(n, n)) as rig:
            size = sum(big(rig, n, n, slices=True))
            totals.append((size, instructions(rig, True, n), instructions(rig, False, n)))
    (b0, s0, l0), (b1, s1, l1) = totals
    return (s1 - s0) / (b1 - b0), (l1 - l0) / (b1 - b0)


def bench_node_list(row, programs):
    """Of a Node with 50 images, as the difference of two sizes."""
    what = "instructions per Node of 50 images in a list (callgrind, all of the program)"
    if not programs.has_valgrind(what):
        return
    totals = []
    for n in (SMALL, 2 * SMALL):
        with programs.rig(f"--nodes={n}", "--node-images=50") as rig:
            totals.append((instructions(rig, True, n), instructions(rig, False, n)))
    streamed, listed = ((totals[1][i] - totals[0][i]) / SMALL for i in range(2))
    row(what, "–", f"{streamed:,.0f} streamed, {listed:,.0f} by LIST")


def bench_big_list(row, programs):
    what = f"{NODES} nodes, {SERVICES} Services of another class"
    with programs.rig(*flags_of(NODES, SERVICES)) as rig:
        sizes = big(rig, NODES, SERVICES, slices=False)
        row(f"peak RSS, {what}: {sum(sizes) / 1e6:.0f} MB of lists", "307–400 MiB",
            f"{peak(rig, True):.1f} MiB streamed, {peak(rig, False):.1f} MiB by LIST")
        sizes = big(rig, NODES, SERVICES, slices=True)
        row(f"the same and {2 * SERVICES} slices: {sum(sizes) / 1e6:.0f} MB of lists", "–",
            f"{peak(rig, True, *L4):.1f} MiB streamed, {peak(rig, False, *L4):.1f} MiB by LIST")
    if programs.has_valgrind("instructions per byte of list"):
        streamed, listed = per_byte(programs)
        row("instructions per byte of these lists (callgrind, all of the program)", "–",
            f"{streamed:.1f} streamed, {listed:.1f} by LIST")


# --- changes -----------------------------------------------------------------------------------------------------

class Writer:
    """Sends requests over one connection, as fast as they are answered."""

    def __init__(self, rig):
        self.host = http.client.HTTPConnection(urllib.parse.urlsplit(rig.url).netloc)

    def patch(self, path, body):
        self.host.request("PATCH", path, json.dumps(body), {"Content-Type": "application/strategic-merge-patch+json"})
        answer = self.host.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Broken(f"{path}: {answer.status} {text[:200]}")


def in_parallel(rig, n, one):
    """one(writer, i) for each i below n."""
    numbers, failed = itertools.count(), []

    def work():
        writer = Writer(rig)
        try:
            while not failed and (i := next(numbers)) < n:
                one(writer, i)
        except (Broken, OSError) as e:
            failed.append(e)
    threads = [threading.Thread(target=work) for _ in range(WRITERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def beat(nodes):
    def one(writer, i):
        at = f"2026-12-01T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}Z"
        writer.patch(f"/api/v1/nodes/{nodes[i % len(nodes)]}/status",
                     {"status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": at}]}})
    return one


def edit(services):
    def one(writer, i):
        svc = services[i % len(services)]
        writer.patch(f"/api/v1/namespaces/{svc['namespace']}/services/{svc['name']}",
                     {"metadata": {"annotations": {"edited": str(i)}}})
    return one


def rss_mib(rig):
    with open(f"/proc/{rig.child.pid}/status", encoding="utf-8") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


def bench_changes(row, programs, edits=EDITS):
    beats = BEATS_PER_EDIT * edits
    with programs.many() as rig:
        rig.start("-v=2")
        services = rig.own_services()
        nodes = [n["metadata"]["name"] for n in rig.call("GET", "/api/v1/nodes")["items"]]
        rig.until_synced(len(services))
        rig.until_quiet()
        begin, cpu = rss_mib(rig), cpu_s(rig.child.pid)
        synced = len(rig.messages("Synced"))
        in_parallel(rig, beats, beat(nodes))
        rig.until_quiet()
        middle, beat_cpu = rss_mib(rig), cpu_s(rig.child.pid) - cpu
        idle = len(rig.messages("Synced")) - synced
        row(f"{beats} heartbeats of {len(nodes)} nodes, {len(services)} Services", "–",
            f"{idle} syncs, CPU {beat_cpu:.1f} s ({beat_cpu / beats * 1e6:.0f} µs each)")
        cpu = cpu_s(rig.child.pid)
        rig.forget_calls()
        in_parallel(rig, edits, edit(services))
        rig.until_quiet()
        c = rig.calls()
        synced = len(rig.messages("Synced")) - synced
        row(f"then {edits} edits of an annotation", "–",
            f"{synced} syncs, {c.mutations} mutations, {c.all / edits:.2f} cloud calls each, "
            f"CPU {cpu_s(rig.child.pid) - cpu:.1f} s; RSS {begin:.1f} → {middle:.1f} → {rss_mib(rig):.1f} MiB")
        rig.stop()


KUBE = {"big-list": bench_big_list, "node-list": bench_node_list, "changes": bench_changes}
