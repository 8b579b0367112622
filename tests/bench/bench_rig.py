# SPDX-License-Identifier: Apache-2.0
"""A simulator with a controller for the figures, and what can be read off them: calls, waves, memory, CPU.

Both are ended by their ids.  Waiting means asking again until a deadline; a run that takes too long is broken.
"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

PATIENCE_S = 900
QUIET_S = 10  # docs/interfaces.md, Counting
DELAY_MS = 200  # of every cloud call while waves are looked at: far more than a busy machine takes between two
FLAGS = ["--leader-elect=false", "--secure-port=0", "--logging-format=json", "--kube-api-qps=-1",
         "--concurrent-service-syncs=10"]
READ = re.compile(r"\.([gG]et|[lL]ist\w*|aggregatedList|Describe\w*)$")
WAIT = re.compile(r"Operations\.(wait|get)$")


class Broken(Exception):
    """The run itself, not its figures."""


def service(name, annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": [{"port": 80}], **spec}}


def slice_of(service, nodes, part=0):
    """One EndpointSlice of a Service with a pod on each of these nodes."""
    endpoints = [{"addresses": [f"10.{100 + part}.{i // 250}.{i % 250 + 1}"], "nodeName": node,
                  "conditions": {"ready": True, "serving": True, "terminating": False},
                  "targetRef": {"kind": "Pod", "namespace": "default", "name": f"{service}-{part}-{i}"}}
                 for i, node in enumerate(nodes)]
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"{service}-{part}", "namespace": "default",
                         "labels": {"kubernetes.io/service-name": service}},
            "endpoints": endpoints, "ports": [{"name": "", "protocol": "TCP", "port": 8080}]}


def at_once(fn, items):
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(fn, items))


def took_ms(line):
    """A log line's duration: "939ms", "1.465s", "1m2s"."""
    units = {"h": 3600000, "m": 60000, "s": 1000, "ms": 1}
    return sum(float(n) * units[unit] for n, unit in re.findall(r"([\d.]+)(ms|h|m|s)", line["took"]))


def cpu_s(pid):
    """Seconds that its threads were on a processor, to the nanosecond: the process' clock (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


class Calls:
    """Calls by what they are."""

    def __init__(self, counts):
        self.counts = counts
        self.all = sum(counts.values())
        self.waits = sum(n for op, n in counts.items() if WAIT.search(op))
        self.reads = sum(n for op, n in counts.items() if READ.search(op) and not WAIT.search(op))
        self.lists = sum(n for op, n in counts.items() if READ.search(op) and "ist" in op.split(".")[-1])
        self.mutations = self.all - self.reads - self.waits


class Timeline:
    """Cloud requests as the controller's log has them: when each was sent, and when its answer was there."""

    def __init__(self, lines):
        self.requests = sorted((line["ts"] - took_ms(line), line["ts"], line["operation"]) for line in lines)

    @staticmethod
    def waves(requests):
        """Together is what was sent before any answer can have come."""
        waves = []
        for request in requests:
            if waves and request[0] - waves[-1][0][0] < DELAY_MS / 2:
                waves[-1].append(request)
            else:
                waves.append([request])
        return waves

    def first_reads(self):
        wave = self.waves(self.requests)[0]
        return len([r for r in wave if READ.search(r[2])])

    def read_waves(self):
        return len(self.waves([r for r in self.requests if READ.search(r[2]) and not WAIT.search(r[2])]))

    def until_address(self):
        """Mutation waves until the forwarding rule is there, and for how long nothing was under way meanwhile (ms)."""
        sent = [r for r in self.requests if not READ.search(r[2]) and not WAIT.search(r[2])]
        rule = next(r for r in sent if r[2] == "compute.forwardingRules.insert")
        waves = len(self.waves([r for r in sent if r[0] <= rule[0]]))
        idle, busy_until = 0, self.requests[0][1]
        for start, end, _ in self.requests:
            if start <= rule[0]:
                idle += max(0, start - busy_until)
                busy_until = max(busy_until, end)
        return waves, idle

    def ms_between(self, done, sent):
        """From the last answer to one kind of request to the first sending of another."""
        done_ms = max(r[1] for r in self.requests if r[2] == done)
        return min(r[0] for r in self.requests if r[2] == sent) - done_ms


class Rig:
    """Use as a context manager."""

    def __init__(self, sim, trimtab, *flags, cloud="gce"):
        self.provider = "local" if cloud == "none" else cloud
        self.cloud, self.config = cloud, {"gce": "gce.conf", "azure": "azure.json", "aws": "aws.conf", "none": "local.yaml"}[cloud]
        self.trimtab, self.folder = trimtab, tempfile.mkdtemp(prefix="trimtab-bench-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.child, self.log, self.log_at, self.seen, self.runs, self.begun_ms = None, None, 0, [], 0, 0
        self.delays = []
        self.sim = subprocess.Popen([sim, "--port=0", "--seed=1", "--cloud=" + cloud, "--write-kubeconfig=" + self.kubeconfig,
                                     *([] if cloud == "none" else ["--write-cloud-config=" + self.folder]), *flags], stdout=subprocess.PIPE, text=True)
        first = self.sim.stdout.readline()
        if not first.startswith("listening on "):
            raise Broken("the simulator did not start")
        self.url = first.split()[-1]
        # meson test fills fresh memory with a pattern, which touches pages that nobody uses.
        self.env = {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"}
        if cloud != "none":
            with open(os.path.join(self.folder, "env-" + cloud), encoding="utf-8") as f:
                self.env.update(line.strip().split("=", 1) for line in f if "=" in line)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.sim.terminate()
        self.sim.wait()
        self.sim.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the simulator ---
    def call(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def create(self, name, annotations=None, **spec):
        self.call("POST", "/api/v1/namespaces/default/services", service(name, annotations, **spec))

    def slice(self, name, *nodes):
        self.call("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice_of(name, nodes))

    def patch(self, svc, body):
        self.call("PATCH", f"/api/v1/namespaces/{svc['namespace']}/services/{svc['name']}", body,
                  "application/merge-patch+json")

    def own_services(self):
        items = self.call("GET", "/api/v1/services")["items"]
        return [i["metadata"] for i in items if i["spec"]["type"] == "LoadBalancer"]

    def calls(self, api=None):
        return Calls(self.call("GET", "/sim/calls").get(api or self.cloud, {}))

    def forget_calls(self):
        self.call("DELETE", "/sim/calls")

    def slow_cloud(self):
        answer = self.call("POST", "/sim/faults", {"match": {"api": self.cloud}, "count": 0, "do": "delay", "ms": DELAY_MS})
        self.delays += answer["ids"]

    def fast_cloud(self):
        while self.delays:
            self.call("DELETE", f"/sim/faults/{self.delays.pop()}")

    # --- the controller ---
    def start(self, *flags, wrapper=()):
        self.runs += 1
        self.log, self.log_at, self.seen = os.path.join(self.folder, f"log-{self.runs}"), 0, []
        args = [*wrapper, self.trimtab, *FLAGS, "--cloud-provider=" + self.provider,
                "--cloud-config=" + os.path.join(self.folder, self.config),
                "--kubeconfig=" + self.kubeconfig, *flags]
        self.begun_ms = time.time() * 1000
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(args, env=self.env, stderr=log, stdout=log)
        self.until_logged("Watching")

    def lines(self):
        with open(self.log, "rb") as f:
            f.seek(self.log_at)
            text = f.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.log_at += len(whole)
        for line in whole.splitlines():
            if line.startswith(b"{"):
                self.seen.append(json.loads(line))
        return self.seen

    def messages(self, text):
        return [line for line in self.lines() if line.get("msg") == text]

    def until(self, what, check, patience_s=PATIENCE_S):
        end = time.monotonic() + patience_s
        while not check():
            if self.child.poll() is not None or time.monotonic() > end:
                raise Broken(f"{what} did not come; the log ends: {self.lines()[-3:]}")
            time.sleep(0.02)  # polls; nothing is asserted on it

    def until_logged(self, text, n=1):
        self.until(f"{n} × {text}", lambda: len(self.messages(text)) >= n)

    def until_synced(self, n):
        self.until_logged("Synced", n)

    def until_quiet(self):
        """Nothing was asked of the cloud or the cluster, and nothing logged, for QUIET_S."""
        last, since = None, time.monotonic()
        while last is None or time.monotonic() - since < QUIET_S:
            now = (self.call("GET", "/sim/calls"), len(self.lines()))
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.5)  # polls

    def peak_mib(self):
        with open(f"/proc/{self.child.pid}/status", encoding="utf-8") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) / 1024

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        status = self.child.wait(timeout=PATIENCE_S)
        if status != 0:
            raise Broken(f"trimtab ended with status {status}")
