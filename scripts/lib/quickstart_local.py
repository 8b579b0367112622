#!/usr/bin/env python3
"""The demonstration of scripts/quickstart --cloud local: this machine is the load balancer, with real packets.

    quickstart_local.py TOP [--keep]

Starts itself again in namespaces of its own (unshare -Urnm), as an ordinary user, and builds a small network there: a client, two
nodes behind a bridge, and a director between them, where trimtab and trimtab-sim run.  Everything is gone when it ends; the
machine's own network and tables are not touched.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import time

import quickstart
from quickstart import Failure, head, indent, say

MARK = "TRIMTAB_QUICKSTART_LOCAL"
WORDS = {"config": "local.yaml", "flags": [], "examples": "examples/local", "create": {"web": None}}
CONNECTIONS = 30


class LocalDemo(quickstart.Demo):
    def __init__(self, top, keep, world):
        super().__init__(top, "local", keep, WORDS)
        self.world = world

    # --- the client, and the kernel ------------------------------------------------------------------
    def curl(self, address, *flags, source=None):
        """Prints the client's command and which nodes have answered."""
        words = ["curl", *flags, *(["--interface", source] if source else []), f"http://{address}/"]
        done = subprocess.run(["ip", "netns", "exec", "client", *words[:-1], "-sS", "--max-time", "10", *words[-1:] * (1 if source else CONNECTIONS)],
                              capture_output=True, text=True, check=False)
        say("\n      client$ %s%s" % (" ".join(words), "" if source else "      # %d times" % CONNECTIONS))
        counts = collections.Counter(line.split()[0] for line in done.stdout.splitlines())
        indent(", ".join("%s answered %d" % (name, n) for name, n in sorted(counts.items())) if counts else done.stderr.strip())
        return counts

    def kernel(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else done.stderr

    def table(self):
        """Sets of our table that hold something; the chains are the same for any number of Services."""
        say("\n      $ nft list table inet trimtab      # what it holds; its chains stay the same")
        parts = re.split(r"(?m)^(?=\t(?:set|map|chain) )", self.kernel("nft", "list", "table", "inet", "trimtab").rstrip().rstrip("}"))
        kept = [p.rstrip() for p in parts if not p.startswith("\tchain") and (not re.match(r"\t(set|map) ", p) or "elements = " in p)]
        indent("\n".join(kept).expandtabs(2) + "\n}")

    # --- the steps -----------------------------------------------------------------------------------
    def simulator(self):
        begin = time.monotonic()
        self.world.build()
        self.world.Servers()
        with open(self.path("world.json"), "w", encoding="utf-8") as f:
            json.dump({"kubernetes": {"nodes": [self.node(n) for n in self.world.NODES]}}, f)
        child = self.start("trimtab-sim", [os.path.join(self.top, "build/trimtab-sim"), "--port=0", "--cloud=none", "--world=" + self.path("world.json"),
                                           "--write-kubeconfig=" + self.path("kubeconfig")], stdout=subprocess.PIPE)
        found = re.search(r"http://\S+", child.stdout.readline().decode())
        if not found:
            raise Failure("the simulator did not start: %s" % quickstart.tail(self.path("trimtab-sim.log")))
        self.url, self.env = found.group(0), dict(os.environ)
        shutil.copy(os.path.join(self.top, "examples/local/local.yaml"), self.path("local.yaml"))
        head(3, "network", "in namespaces of its own (%.1f s); the Kubernetes API is simulated: %s" % (time.monotonic() - begin, self.url))
        say("""
      client 192.0.2.10 ── 192.0.2.1 director 10.1.0.254 ─┬─ 10.1.0.1 n1
                                     trimtab              └─ 10.1.0.2 n2
""")

    def node(self, name):
        return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [
            {"type": "InternalIP", "address": self.world.node_address(name)}]}}

    def create(self):
        super().create()
        self.address = self.call("GET", "/api/v1/namespaces/demo/services/web")["status"]["loadBalancer"]["ingress"][0]["ip"]
        if set(self.curl(self.address)) != set(self.world.NODES):
            raise Failure("not all nodes answer at %s" % self.address)

    def tell_created(self, name, line, seconds, calls):
        say("      demo/%s has %s after %.1f s" % (name, line.get("address"), seconds))

    def calls(self):
        return 0

    def edit(self):
        head(6, "an edit", "planned first, then made; then a node leaves")
        with open(self.example("web"), encoding="utf-8") as f:
            text = f.read()
        with open(self.path("web.yaml"), "w", encoding="utf-8") as f:
            f.write(text.replace("  type: LoadBalancer\n", "  type: LoadBalancer\n  loadBalancerSourceRanges:\n  - 192.0.2.77/32\n"))
        say("      web.yaml now has loadBalancerSourceRanges: [192.0.2.77/32]\n\n      $ trimtab plan -f web.yaml")
        indent(self.plan("-f", self.path("web.yaml")))
        say("\n      $ kubectl apply -f web.yaml")
        since = self.mark()
        self.apply(self.path("web.yaml"))
        self.tell_until(since, self.synced("demo/web"), "the edit of demo/web")
        refused = self.curl(self.address, source=self.world.CLIENT)
        if refused or not self.curl(self.address, source=self.world.CLIENT_TOO):
            raise Failure("the source ranges do not hold")
        self.open_again()
        self.leaves()
        say("\n      $ trimtab plan")
        indent(self.plan())
        say("\n      $ trimtab explain demo/web")
        indent(self.run_command("explain", "demo/web"))
        self.table()

    def open_again(self):
        say("\n      $ kubectl apply -f examples/local/web.yaml")
        since = self.mark()
        patch = json.dumps({"spec": {"loadBalancerSourceRanges": None}}).encode()
        self.apply(self.example("web"))
        self.call("PATCH", "/api/v1/namespaces/demo/services/web", patch, "application/merge-patch+json")
        opened, synced = [], self.synced("demo/web")

        def is_open(line):  # all of the edit, which opens and closes in two steps
            opened.extend([line] if line.get("msg") == "Done" and "source ranges" in line.get("resource", "") else [])
            return opened and synced(line)

        self.tell_until(since, is_open, "open source ranges")

    def leaves(self):
        say("\n      n2 leaves the cluster")
        since = self.mark()
        self.call("DELETE", "/sim/nodes/n2")
        self.tell_until(since, self.synced("demo/web"), "the node to leave")
        if set(self.curl(self.address)) != {"n1"}:
            raise Failure("not n1 alone answers at %s" % self.address)

    def run_command(self, *words):
        run = subprocess.run([os.path.join(self.top, "build/trimtab"), *words, "--cloud-provider=local", "--cloud-config=" + self.path("local.yaml"),
                              "--kubeconfig=" + self.path("kubeconfig")], capture_output=True, text=True, check=False)
        return run.stdout + run.stderr

    def delete(self):
        super().delete()
        say("\n      $ ip route show table local proto 116      # addresses that trimtab holds")
        indent(self.kernel("ip", "route", "show", "table", "local", "proto", "116") or "(none)")

    def resources(self):
        """Elements and held addresses."""
        items = json.loads(self.kernel("nft", "-j", "list", "table", "inet", "trimtab"))["nftables"]
        return ["/elements/" + body["name"] for item in items for kind, body in item.items() if kind in ("set", "map") and body.get("elem")] + [
            "/elements/" + line for line in self.kernel("ip", "route", "show", "table", "local", "proto", "116").splitlines()]

    def empty(self):
        say("      the table has no element and no address is held")

    def end(self):
        self.tell_cost()
        say("\nThat was %.0f s. Try it yourself: scripts/quickstart --cloud local --keep" % (time.monotonic() - self.started))

    def tell_cost(self):
        """Memory of trimtab, and the user that it is outside of these namespaces."""
        with open("/proc/%d/status" % self.controller.pid, encoding="utf-8") as f:
            status = dict(line.split(":", 1) for line in f if ":" in line)
        with open("/proc/self/uid_map", encoding="utf-8") as f:
            outside = f.read().split()[1]
        say("\ntrimtab took at most %.1f MiB of memory; outside of these namespaces it is user %s." % (
            int(status["VmHWM"].split()[0]) / 1024, outside))

    def leave(self):
        say("\nEverything keeps running until Ctrl-C; logs and files are in %s. In another terminal:\n" % self.folder)
        flags = "--cloud-provider=local --cloud-config=%s --kubeconfig=%s" % (self.path("local.yaml"), self.path("kubeconfig"))
        for line in ("nsenter --preserve-credentials -U -n -m -t %d bash      # then, in there:" % os.getpid(),
                     "cd %s" % self.top, "export KUBECONFIG=%s" % self.path("kubeconfig"), "kubectl -n demo get services -w",
                     "ip netns exec client curl -s http://%s/" % self.address, "nft list table inet trimtab",
                     "build/trimtab plan " + flags, "build/trimtab explain demo/web " + flags,
                     "build/trimtab status --insecure-skip-tls-verify --server=https://127.0.0.1:%d" % self.port):
            say("  " + line)
        self.controller.wait()
        self.keep = False


def main(argv):
    top = argv[1]
    if os.environ.get(MARK) != "1":
        trial = subprocess.run(["unshare", "-Urnm", "sh", "-c", "mount -t tmpfs none /run && nft list ruleset"], capture_output=True, text=True, check=False)
        if trial.returncode:
            print("error: this machine does not let you make network namespaces (unshare -Urnm: %s); allow it with "
                  "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000, or run this as root" %
                  (trial.stderr.strip() or "status %d" % trial.returncode), file=sys.stderr)
            return 1
        return subprocess.run(["unshare", "-Urnm", "--kill-child", "env", MARK + "=1", sys.executable, *argv], check=False).returncode
    sys.path.insert(0, os.path.join(top, "tests", "local"))
    import world  # pylint: disable=import-outside-toplevel,import-error
    world.NODES = ("n1", "n2")
    return quickstart.tell(LocalDemo(top, "--keep" in argv, world))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
