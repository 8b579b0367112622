#!/usr/bin/env python3
"""The demonstration of scripts/quickstart: a Service's life against the simulator, told as it happens.

    quickstart.py TOP [--cloud gce|azure|aws] [--keep]

Starts trimtab-sim and trimtab from TOP/build with the flags, kubeconfig and cloud-config that a real cluster would give them,
applies examples/*.yaml, and reports each cloud call with its reason from the controller's own log (--logging-format=json). Waits for
what the log or the API server says, never for a fixed time. Ends the processes that it started, by their ids.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

STEPS = 7
PATIENCE = 120  # seconds for one step, then the logs' names are printed

# Differences from cloud to cloud: words, names, and the recorded scenarios (`recorded`, tests/data/CLOUD/README.md) in which
# a Go controller did the same.
CLOUDS = {
    "gce": {
        "config": "gce.conf", "place": "3 zones, 30 nodes", "nodes": 30,
        "zones": ["--zones=us-central1-a,us-central1-b,us-central1-c"],
        "flags": ["--run-l4-controller", "--enable-l4-neg"],
        "recorded": ["gce/requests-cloud-provider.jsonl", "gce/requests-l4.jsonl"],
        "create": {"web": "external-first-create", "game": "external-local-create"}, "internal": "l4-ilb-first-create",
        "edit": "external-source-ranges", "leaves": lambda demo: demo.leaves_pools(),
        "ours": r"/(forwardingRules|targetPools|backendServices|networkEndpointGroups|addresses|firewalls|httpHealthChecks|healthChecks)/",
        "empty": "no rule, pool, backend service, NEG, address, firewall or health check is left",
        "annotate": "cloud.google.com/network-tier=Standard",
        "list": "gcloud compute forwarding-rules list      # see docs/simulator.md", "fault": "compute.firewalls.*",
    },
    "azure": {
        "config": "azure.json", "place": "3 zones, a scale set of 6 nodes", "nodes": 6, "zones": [], "flags": [],
        "recorded": ["azure/requests.jsonl"],
        "create": {"web": "external-first-create", "game": "external-local-create"},
        "edit": "source-ranges", "leaves": lambda demo: demo.leaves_scale_set(),
        "ours": r"/(loadBalancers|publicIPAddresses|privateLinkServices)/",
        "empty": "no load balancer, public IP or private link service is left",
        "annotate": "service.beta.kubernetes.io/azure-load-balancer-internal=true",
        "list": "curl -s -H \"Authorization: Bearer $(cat {folder}/access-token)\" '{url}/subscriptions/00000000-0000-4000-8000-"
                "000000000001/resourceGroups/rg/providers/Microsoft.Network/loadBalancers?api-version=2025-05-01'",
        "fault": "LoadBalancers.CreateOrUpdate",
    },
    "aws": {
        "config": "aws.conf", "place": "3 zones, 6 nodes", "nodes": 6, "zones": [], "flags": [], "examples": "examples/aws",
        "recorded": ["aws/requests.jsonl"],
        "create": {"web": "nlb-first-create-2-ports", "game": "nlb-local-create", "shop": "clb-first-create-2-ports"},
        "edit": "nlb-source-ranges", "leaves": lambda demo: demo.leaves_targets(),
        "ours": r"/(LoadBalancers|LoadBalancerDescriptions|Listeners|TargetGroups)/|/SecurityGroups/k8s-|kubernetes.io/rule/nlb",
        "empty": "no load balancer, listener, target group, security group or rule is left",
        "annotate": "service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled=true",
        "list": "aws elbv2 describe-load-balancers --endpoint-url {url} --region us-east-1      # see docs/simulator.md",
        "fault": "elbv2.CreateListener",
    },
}


WAITS = re.compile(r"Operation(s|Results)\.(wait|[gG]et)$")  # how long a cloud takes decides how many there are


class Failure(Exception):
    pass


# A write to Azure that is not done at once is polled, and ends with one read of the resource, with every client.  The recorded
# cloud was done at once.
ENDS_WITH_READ = re.compile(r"\.(CreateOrUpdate|Update)$")


def without_waits(counts):
    """Requests of {operation id: number} that do not wait for an operation, nor read what became of it."""
    waits = sum(n for operation, n in counts.items() if WAITS.search(operation))
    last_reads = sum(n for operation, n in counts.items() if ENDS_WITH_READ.search(operation))
    return sum(counts.values()) - waits - min(waits, last_reads)


def recorded(top, cloud, scenario):
    """How many requests a Go controller sent in a recorded scenario; the recordings hold no waits and no tokens."""
    found = 0
    for name in CLOUDS[cloud]["recorded"]:
        with open(os.path.join(top, "tests", "data", name), encoding="utf-8") as f:
            found += sum(json.loads(line)["scenario"] == scenario for line in f)
    return found


class Demo:
    def __init__(self, top, cloud, keep, words=None):
        self.top, self.cloud, self.keep, self.port = top, cloud, keep, 0
        self.words = words or CLOUDS[cloud]
        self.folder = tempfile.mkdtemp(prefix="trimtab-quickstart-")
        self.children = []
        self.lines, self.arrived = [], threading.Condition()
        self.started = time.monotonic()
        self.kubectl = shutil.which("kubectl")
        self.services = list(self.words["create"])

    # --- processes ---------------------------------------------------------------------------------
    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, args, env=None, stdout=None):
        err = open(self.path(name + ".log"), "wb")
        child = subprocess.Popen(args, stdout=stdout or err, stderr=err if stdout else subprocess.STDOUT, env=env,
                                 start_new_session=self.keep)
        self.children.append((name, child))
        return child

    def stop(self):
        for _, child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for name, child in reversed(self.children):
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                say("      %s did not end within 10 s; killing process %d" % (name, child.pid))
                child.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def follow(self):
        """Reads the controller's log as it grows, in a thread."""
        with open(self.path("trimtab.log"), encoding="utf-8", errors="replace") as f:
            rest = ""
            while True:
                piece = f.readline()
                if not piece:
                    if self.controller.poll() is not None:
                        break
                    time.sleep(0.02)  # polls a file; nothing is asserted on it
                    continue
                rest += piece
                if not rest.endswith("\n"):
                    continue
                try:
                    line = json.loads(rest)
                except ValueError:
                    line = {"msg": rest.strip()}
                rest = ""
                with self.arrived:
                    self.lines.append(line)
                    self.arrived.notify_all()

    # --- the API server and the simulator -----------------------------------------------------------
    def call(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(self.url + path, method=method, data=body,
                                         headers={"Content-Type": content_type} if body else {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                text = answer.read()
        except urllib.error.HTTPError as e:
            raise Failure("%s %s: %d %s" % (method, path, e.code, e.read().decode(errors="replace")[:300])) from None
        return json.loads(text) if text else None

    def apply(self, file):
        """kubectl apply, or the same request without kubectl."""
        if self.kubectl:
            run = subprocess.run([self.kubectl, "--kubeconfig", self.path("kubeconfig"), "apply", "-f", file],
                                 capture_output=True, text=True)
            if run.returncode != 0:
                raise Failure("kubectl apply: " + run.stderr.strip())
            return run.stdout.strip()
        with open(file, encoding="utf-8") as f:
            text = f.read()
        kind = re.search(r"^kind: *(\S+)", text, re.M).group(1)
        name = re.search(r"^  name: *(\S+)", text, re.M).group(1)
        ns = re.search(r"^  namespace: *(\S+)", text, re.M)
        path = "/api/v1/" + ("namespaces/%s/" % ns.group(1) if ns else "") + kind.lower() + "s/" + name
        self.call("PATCH", path + "?fieldManager=quickstart&force=true", text.encode(), "application/apply-patch+yaml")
        return "%s/%s applied" % (kind.lower(), name)

    def calls(self):
        counts = self.call("GET", "/sim/calls").get(self.cloud, {})
        return without_waits(counts)

    def upstream(self, scenario):
        return recorded(self.top, self.cloud, scenario)

    # --- telling --------------------------------------------------------------------------------------
    def tell_until(self, since, done, what):
        """Prints operations of the log from index `since` on until done(line) holds; returns that line."""
        begin = time.monotonic()
        end = begin + PATIENCE
        i = since
        while True:
            with self.arrived:
                while i >= len(self.lines):
                    if self.controller.poll() is not None:
                        raise Failure("trimtab ended with code %d while waiting for %s" % (self.controller.returncode, what))
                    if self.arrived.wait(timeout=0.5):
                        continue
                    progress("        … %d s, waiting for %s" % (time.monotonic() - begin, what))
                    if time.monotonic() > end:
                        raise Failure("waited %d s for %s" % (PATIENCE, what))
                line = self.lines[i]
            i += 1
            show(line)
            if done(line):
                return line

    def mark(self):
        with self.arrived:
            return len(self.lines)

    def synced(self, service, verb=None):
        return lambda l: l.get("msg") == "Synced" and l.get("service") == service and verb in (None, l.get("verb"))

    def plan(self, *args):
        command = [os.path.join(self.top, "build/trimtab"), "plan", "--cloud-provider=" + self.cloud,
                   "--cloud-config=" + self.path(self.words["config"]), "--kubeconfig=" + self.path("kubeconfig")] + self.words["flags"] + list(args)
        run = subprocess.run(command, capture_output=True, text=True, env=self.env)
        if run.returncode not in (0, 2):
            raise Failure("trimtab plan: exit %d: %s" % (run.returncode, run.stderr.strip()))
        return run.stdout

    def example(self, name):
        return os.path.join(self.top, self.words.get("examples", "examples"), name + ".yaml")

    # --- the seven steps ---------------------------------------------------------------------------------
    def simulator(self):
        begin = time.monotonic()
        child = self.start("trimtab-sim", [
            os.path.join(self.top, "build/trimtab-sim"), "--port=0", "--cloud=" + self.cloud, "--nodes=%d" % self.words["nodes"], "--latency=cloud", "--write-kubeconfig=" + self.path("kubeconfig"),
            "--write-cloud-config=" + self.folder] + self.words["zones"], stdout=subprocess.PIPE)
        ready = child.stdout.readline().decode()
        m = re.search(r"http://\S+", ready)
        if not m:
            raise Failure("the simulator did not start: %s" % tail(self.path("trimtab-sim.log")))
        self.url = m.group(0)
        self.env = dict(os.environ)
        with open(self.path("env-" + self.cloud), encoding="utf-8") as f:
            for line in f:
                name, _, value = line.strip().partition("=")
                if name and not name.startswith("#"):
                    self.env[name] = value
        head(3, "simulator", "%s, %s, as slow as the cloud (%.1f s)" % (self.url, self.words["place"], time.monotonic() - begin))

    def trimtab(self):
        begin = time.monotonic()
        self.place = socket.socket()  # stays bound, so that no other program gets the port before trimtab listens
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(("127.0.0.1", 0))
        self.port = self.place.getsockname()[1]
        args = ["--cloud-provider=" + self.cloud, "--cloud-config=" + self.path(self.words["config"]), "--kubeconfig=" + self.path("kubeconfig"),
                "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=%d" % self.port,
                "--authentication-kubeconfig=" + self.path("kubeconfig"), "--authorization-kubeconfig=" + self.path("kubeconfig"), "--logging-format=json", "--concurrent-service-syncs=4"] + self.words["flags"]
        self.controller = self.start("trimtab", [os.path.join(self.top, "build/trimtab")] + args, env=self.env)
        threading.Thread(target=self.follow, daemon=True).start()
        self.tell_until(0, lambda l: l.get("msg") in ("Watching", "Caches are synced", "Started"), "trimtab to start")
        head(4, "trimtab", "watching (%.1f s)" % (time.monotonic() - begin))

    def create(self):
        examples = self.words.get("examples", "examples")
        head(5, "kubectl apply" if self.kubectl else "apply", ", ".join("%s/%s.yaml" % (examples, name) for name in self.words["create"]))
        self.apply(os.path.join(self.top, "examples/namespace.yaml"))
        for name in self.words["create"]:
            file = self.example(name)
            say("\n      $ trimtab plan -f %s/%s.yaml" % (examples, name)) if name == "web" else None
            if name == "web":
                indent(self.plan("-f", file))
            since, before, begin = self.mark(), self.calls(), time.monotonic()
            say("\n      $ kubectl apply -f %s/%s.yaml" % (examples, name))
            self.apply(file)
            line = self.tell_until(since, self.synced("demo/" + name), "demo/%s to get its address" % name)
            self.tell_created(name, line, time.monotonic() - begin, self.calls() - before)

        if "internal" in self.words:
            self.create_internal()

    def tell_created(self, name, line, seconds, calls):
        say("      demo/%s has %s after %.1f s, %d calls (the Go controller: %d)" % (
            name, line.get("address"), seconds, calls, self.upstream(self.words["create"][name])))

    def create_internal(self):
        """An internal Service: NEGs of a subset of the nodes, and who was chosen."""
        file = os.path.join(self.top, "examples/internal.yaml")
        since, before, begin = self.mark(), self.calls(), time.monotonic()
        say("\n      $ kubectl apply -f examples/internal.yaml")
        self.apply(file)
        self.services.append("internal")
        line = self.tell_until(since, self.synced("demo/internal"), "demo/internal to get its address")
        say("      demo/internal has %s after %.1f s, %d calls (ingress-gce: %d)" % (
            line.get("address"), time.monotonic() - begin, self.calls() - before, self.upstream(self.words["internal"])))
        negs = {path.split("/zones/")[1].split("/")[0]: sorted((m["instance"].split("/")[-1] for m in members), key=number)
                for path, members in self.call("GET", "/sim/state")["members"].items() if "/networkEndpointGroups/" in path}
        say("      %d of %d nodes serve it (subsetting: at most 25, the same number in each zone, chosen by a hash):" % (
            sum(len(n) for n in negs.values()), self.words["nodes"]))
        for zone, nodes in sorted(negs.items()):
            say("        %s  %s" % (zone, " ".join(nodes)))

    def edit(self):
        head(6, "an edit", "planned first, then made; then a node leaves")
        with open(self.example("web"), encoding="utf-8") as f:
            text = f.read()
        text = text.replace("  type: LoadBalancer\n",
                            "  type: LoadBalancer\n  loadBalancerSourceRanges:\n  - 10.0.0.0/8\n  - 192.0.2.0/24\n")
        with open(self.path("web.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        say("      web.yaml now has loadBalancerSourceRanges: [10.0.0.0/8, 192.0.2.0/24]\n\n      $ trimtab plan -f web.yaml")
        indent(self.plan("-f", self.path("web.yaml")))
        say("\n      $ kubectl apply -f web.yaml")
        since, before = self.mark(), self.calls()
        self.apply(self.path("web.yaml"))
        line = self.tell_until(since, self.synced("demo/web"), "the edit of demo/web")
        say("      demo/web is in sync again, %d calls (the Go controller: %d); the address is still %s" % (
            self.calls() - before, self.upstream(self.words["edit"]), line.get("address")))
        say("\n      $ trimtab plan")
        indent(self.plan())
        self.words["leaves"](self)

    def leaves_pools(self):
        say("\n      node-5 leaves the cluster")
        since, before = self.mark(), self.calls()
        self.call("DELETE", "/sim/nodes/node-5")
        waiting = {"demo/web", "demo/game"}

        def gone(line):
            if line.get("msg") == "Synced":
                waiting.discard(line.get("service"))
            return not waiting
        self.tell_until(since, gone, "the node to leave the target pools")
        say("      both target pools are without it, %d calls (the Go controller: %d for three Services)" % (
            self.calls() - before, self.upstream("external-node-removed-3-services")))

    def leaves_scale_set(self):
        say("\n      vmss000005 leaves the cluster, and the scale set takes it out of the pool: nothing is left to do")
        self.call("DELETE", "/sim/nodes/vmss000005")
        say("\n      $ trimtab plan")
        indent(self.plan())

    def leaves_targets(self):
        say("\n      node-5 leaves the cluster")
        since, before = self.mark(), self.calls()
        self.call("DELETE", "/sim/nodes/node-5")
        waiting = {"demo/" + name for name in self.services}

        def gone(line):
            if line.get("msg") == "Synced":
                waiting.discard(line.get("service"))
            return not waiting
        self.tell_until(since, gone, "the node to leave the target groups")
        say("      no load balancer has it any more, %d calls (the Go controller: %d for three NLBs and two classic ones)" % (
            self.calls() - before, self.upstream("node-removed-3-nlb-2-clb")))

    def resources(self):
        """Paths of what is in the cloud; of AWS' groups their names, and descriptions of rules."""
        state = self.call("GET", "/sim/state").get(self.cloud, {})
        if self.cloud != "aws":
            return list(state)
        paths = []
        for api, kinds in state.items():
            for kind, items in (kinds.items() if isinstance(kinds, dict) else []):
                for item in items if isinstance(items, list) else []:
                    name = item.get("GroupName") or item.get("TargetGroupName") or item.get("LoadBalancerName") or item.get("ListenerArn") or ""
                    paths.append("/%s/%s" % (kind, name))
                    paths += re.findall(r"kubernetes.io/rule/nlb[^\"]*", json.dumps(item))
        return paths

    def delete(self):
        head(7, "kubectl delete", ", ".join("demo/" + name for name in self.services))
        since = self.mark()
        waiting = {"demo/" + name for name in self.services}
        for name in self.services:
            self.call("DELETE", "/api/v1/namespaces/demo/services/" + name)

        def gone(line):
            if line.get("msg") == "Synced" and line.get("verb") == "delete":
                waiting.discard(line.get("service"))
            return not waiting
        self.tell_until(since, gone, "the Services to go")
        left = [p for p in self.resources() if re.search(self.words.get("ours", ""), p)]
        if left:
            raise Failure("left: " + ", ".join(left))
        self.empty()

    def empty(self):
        say("      the cloud is empty again: " + self.words["empty"])

    def run(self):
        self.simulator()
        self.trimtab()
        self.create()
        self.edit()
        if self.keep:
            self.leave()
            return
        self.delete()
        self.end()

    def end(self):
        say("\nCalls are requests to the cloud's API without waits for operations (and the read that ends one) and without tokens, of both alike; the Go controllers' were\n"
            "recorded (tests/data/%s/README.md) in a cluster of six nodes in three zones." % self.cloud)
        say("That was %.0f s. Try it yourself: scripts/quickstart%s --keep" % (
            time.monotonic() - self.started, "" if self.cloud == "gce" else " --cloud " + self.cloud))

    def leave(self):
        pids = " ".join(str(child.pid) for _, child in self.children)
        flags = " ".join(["--cloud-provider=" + self.cloud, "--cloud-config=" + self.path(self.words["config"]),
                          "--kubeconfig=" + self.path("kubeconfig")] + self.words["flags"])
        https = "https://127.0.0.1:%d" % self.port
        fault = {"match": {"api": self.cloud, "op": self.words["fault"]}, "do": "refuse", "status": 503, "count": 3}
        say("\nEverything keeps running; %s are there. Their logs and files: %s\n" % (
            ", ".join("demo/" + name for name in self.services), self.folder))
        for line in ("export KUBECONFIG=%s; set -a; . %s; set +a" % (self.path("kubeconfig"), self.path("env-" + self.cloud)),
                     "kubectl -n demo get services -w",
                     "kubectl -n demo describe service web",
                     "kubectl -n demo annotate service web " + self.words["annotate"],
                     "tail -f " + self.path("trimtab.log"),
                     "build/trimtab plan " + flags,
                     "build/trimtab explain demo/web " + flags,
                     "kubectl -n demo create deployment web --image=web --replicas=3",
                     "build/trimtab trace demo/web " + flags,
                     "build/trimtab render --node=$(kubectl get nodes -o name | head -n 1 | cut -d/ -f2)",
                     "build/trimtab status --insecure-skip-tls-verify --server=%s" % https,
                     "curl -sk %s/metrics; and in a browser: %s/status" % (https, https),
                     self.words["list"].format(folder=self.folder, url=self.url),
                     "curl -s %s/sim/reach; curl -s %s/sim/calls; curl -s %s/sim/state" % (self.url, self.url, self.url),
                     "curl -s -X POST %s/sim/nodes -d '{\"count\": 2}'" % self.url,
                     "curl -s -X POST %s/sim/faults -d '%s'" % (self.url, json.dumps(fault))):
            say("  " + line)
        say("\nStop it: kill %s; rm -r %s" % (pids, self.folder))


def say(text):
    progress("")
    print(text, flush=True)


def progress(text):
    """A line that the next one replaces; only on a terminal."""
    if sys.stdout.isatty():
        print("\r\033[K" + text, end="", flush=True)


def head(n, title, text):
    say("[%d/%d] %-15s %s" % (n, STEPS, title, text))


def indent(text):
    say("\n".join("      " + line if line else "" for line in text.rstrip("\n").split("\n")))


def number(name):
    return int(re.search(r"\d+$", name).group(0))


SYMBOL = {"create": "+", "change": "~", "delete": "-", "insert": "+", "patch": "~", "update": "~"}


def show(line):
    """One line of the controller's log, as a reader wants it."""
    if line.get("msg") == "Done":
        clock = time.strftime("%H:%M:%S", time.localtime(line["ts"] / 1000)) if "ts" in line else ""
        took = line.get("took", "")
        say("        %s  %s %-62s because %s (%s)" % (clock, SYMBOL.get(line.get("operation"), "·"), line.get("resource"),
                                                      line.get("why"), took))
    elif line.get("msg") in ("Not done", "Sync failed") or line.get("err"):
        say("        !  %s %s %s" % (line.get("msg"), line.get("resource", ""), line.get("message") or line.get("err") or ""))


def tail(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-5:]).strip()


def main(argv):
    rest = argv[2:]
    cloud = rest[rest.index("--cloud") + 1] if "--cloud" in rest else "gce"
    return tell(Demo(argv[1], cloud, "--keep" in rest))


def tell(demo):
    """Runs the demonstration and cleans up; returns the exit status."""
    status, kept = 1, False
    try:
        demo.run()
        status, kept = 0, demo.keep
    except Failure as e:
        print("error: %s" % e, file=sys.stderr)
        for name, _ in demo.children:
            print("--- the end of %s's log\n%s" % (name, tail(demo.path(name + ".log"))), file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted; cleaning up", file=sys.stderr)
        status = 130
    finally:
        if not kept:
            demo.stop()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv))
