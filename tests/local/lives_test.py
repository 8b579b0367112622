#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random lives of Services through the whole product on a real kernel: edits, restarts, kills, changed pools, and other programs' hands.

    lives_test.py TRIMTAB_SIM TRIMTAB [--seed N] [--verbose]      (TAP; skipped only where `unshare -Urnm` is not allowed)

A life is a seed: some dozen steps by chance, a few of them at once, with the process killed, stopped for a while or started with
another configuration among them.  Whenever all is done, nft and ip say what the kernel has, and it must be what follows from the
Services' specs and statuses, computed here: open ports, targets, source ranges, held addresses.  At every moment a held address has
its guard, and a Service that nobody edits answers each connection.  In the end all Services go, and nothing may be left.
"""
import ipaddress
import itertools
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LIVES_TEST"
LIVES, STEPS, AT_ONCE = 40, 24, 4
NAMES = [f"s{i}" for i in range(9)]
ANCHOR = "anchor"
EVERYBODY = "everybody"  # in place of a source range
PORTS = [("TCP", 80), ("UDP", 80), ("TCP", 443), ("TCP", 53), ("UDP", 53)]
KEYS = [None, None, "k", "l", "*/m"]
RANGES = [None, None, ["192.0.2.0/24"], ["192.0.2.10/32", "2001:db8:2::/64"], ["10.0.0.0/8", "10.1.0.0/16"], ["2001:db8:9::/48"]]
FAMILIES = [("SingleStack", ["IPv4"]), ("SingleStack", ["IPv6"]), ("PreferDualStack", ["IPv4", "IPv6"]), ("RequireDualStack", ["IPv6", "IPv4"])]
# Pools of few addresses, so that they run out.  The anchor's is in each of them.
POOLS = {
    "small": ["192.0.2.48-192.0.2.55", "2001:db8:2::30-2001:db8:2::33"],
    "smaller": ["192.0.2.48-192.0.2.50", "2001:db8:2::30"],
    "moved": ["192.0.2.48", "192.0.2.60-192.0.2.63", "2001:db8:2::40-2001:db8:2::43"],
    "v4 alone": ["192.0.2.48-192.0.2.55"],
}
HOSTILE = [
    {"local.trimtab.io/mode": "warp\n\x00\x1b[31mx"}, {"local.trimtab.io/addresses": "192.0.2.51\n"}, {"local.trimtab.io/addresses": "999.1.1.1,"},
    {"local.trimtab.io/share": "k" * 200000}, {"local.trimtab.io/pool": "'; drop"}, {"local.trimtab.io/drain-timeout": "9" * 40 + "s"},
    {"local.trimtab.io/source-ranges": "10.0.0.0/8," * 9000}, {"local.trimtab.io/sorry": "[::1]:0"}, {"local.trimtab.io/scheduler": "wlc"},
    {"local.trimtab.io/nonsense\u00e9".encode("ascii", "ignore").decode(): "1"}, {"local.trimtab.io/interfaces": "*,?,[a-"},
    {"local.trimtab.io/addresses": "192.0.2.51", "metallb.io/loadBalancerIPs": "192.0.2.52"}, {"local.trimtab.io/health-check-interval": "1ns"},
]


class Life(product.Cluster):
    """A cluster with a seed."""

    def __init__(self, programs, folder, seed, verbose):
        super().__init__(programs, folder)
        self.rng, self.verbose, self.told = random.Random(seed), verbose, []
        self.pool, self.pods, self.nodes, self.tampered = "small", {}, set(world.NODES), False
        self.stopped = False
        self.write_config()

    def tell(self, *words):
        self.told.append(" ".join(map(str, words))[:300])
        if self.verbose:
            print("#", self.told[-1], flush=True)

    def write_config(self):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write("apiVersion: local.trimtab.io/v1\nreuseDelay: 0s\ndirector: {drainTimeout: 0s}\npools:\n- name: public\n  addresses: "
                    + json.dumps(POOLS[self.pool]) + "\n")

    # --- steps: what people, and other programs, do ---
    def wish(self):
        r = self.rng
        policy, families = r.choice(FAMILIES)
        meta = {}
        if r.random() < .2:
            meta = dict(r.choice(HOSTILE))
        elif r.random() < .3:
            meta["local.trimtab.io/addresses"] = "192.0.2.%d" % r.choice([49, 50, 51, 60, 61, 99])
        if r.random() < .15:
            meta["local.trimtab.io/move"] = "true"
        key = r.choice(KEYS)
        if key:
            meta.setdefault("local.trimtab.io/share", key)
        spec = {"ipFamilyPolicy": policy, "ipFamilies": families, "loadBalancerSourceRanges": r.choice(RANGES),
                "externalTrafficPolicy": r.choice(["Cluster", "Cluster", "Local"]),
                "ports": [{"name": f"{p.lower()}{n}", "port": n, "protocol": p} for p, n in r.sample(PORTS, r.randint(1, 3))]}
        return meta, spec

    def names(self):
        return [s["metadata"]["name"] for s in self.services_now() if s["metadata"]["name"] != ANCHOR and "deletionTimestamp" not in s["metadata"]]

    def services_now(self):
        return self.must("GET", "/api/v1/namespaces/demo/services")["items"]

    def step_make(self):
        free = [n for n in NAMES if self.call("GET", self.path(n))[0] == 404]
        if free:
            meta, spec = self.wish()
            name = self.rng.choice(free)
            self.tell("make", name, meta, spec)
            self.attempt("POST", "/api/v1/namespaces/demo/services",
                         {"metadata": {"name": name, "annotations": meta}, "spec": {"type": "LoadBalancer", **spec}})

    def attempt(self, method, path, body, **kw):
        """The API server may refuse it: that is its affair."""
        status, answer = self.call(method, path, body, **kw)
        if status >= 300:
            self.tell("  refused:", answer.get("message"))

    def step_edit(self):
        names = self.names()
        if names:
            name, (meta, spec) = self.rng.choice(names), self.wish()
            part = self.rng.choice(["all", "meta", "spec", *spec])
            body = {"spec": spec if part in ("all", "spec") else {part: spec[part]} if part in spec else {}}
            if part == "ipFamilyPolicy":  # the second family comes or goes
                body["spec"] = {"ipFamilyPolicy": self.rng.choice(["SingleStack", "PreferDualStack", "RequireDualStack"])}
            if part in ("all", "meta"):
                old = self.must("GET", self.path(name))["metadata"].get("annotations", {})
                body["metadata"] = {"annotations": {**{k: None for k in old if not k.endswith("ip-allocated-from-pool")}, **meta}}
            self.tell("edit", name, json.dumps(body)[:250])
            self.attempt("PATCH", self.path(name), body, content_type="application/merge-patch+json")

    def step_remove(self):
        names = self.names()
        if names:
            name = self.rng.choice(names)
            self.tell("remove", name)
            self.must("DELETE", self.path(name))

    def step_type(self):
        names = self.names()
        if names:
            name = self.rng.choice(names)
            kind = self.rng.choice(["ClusterIP", "LoadBalancer"])
            self.tell("type", name, kind)
            body = {"type": kind} | ({"externalTrafficPolicy": None, "loadBalancerSourceRanges": None} if kind == "ClusterIP" else {})
            self.attempt("PATCH", self.path(name), {"spec": body}, content_type="application/merge-patch+json")

    def step_pods(self):
        names = self.names()
        if names:
            name = self.rng.choice(names)
            pods = {n: self.rng.choice([0, 0, 1, 2]) for n in sorted(self.nodes)}
            self.tell("pods", name, pods)
            self.must("PUT", f"/sim/pods/demo/{name}", pods)

    def step_node(self):
        name = self.rng.choice(["n2", "n3"])  # the anchor keeps one
        self.tell("node", name, "goes" if name in self.nodes else "comes")
        if name in self.nodes:
            self.must("DELETE", f"/sim/nodes/{name}")
        else:
            self.must("POST", "/api/v1/nodes", product.node(name))
        self.nodes ^= {name}

    def step_kill(self):
        self.tell("kill -9")
        self.resume()
        self.kill()
        if self.rng.random() < .5:
            self.pool = self.rng.choice(list(POOLS))
            self.tell("pool", self.pool)
            self.write_config()
        self.start()

    def step_restart(self):
        self.tell("SIGTERM")
        self.resume()
        self.stop()
        self.start()

    def step_tamper(self):
        """Another program takes something away while trimtab is not there; the anchor's and guards stay, or I1 would be its fault."""
        self.resume()
        self.kill()
        [address] = self.addresses(ANCHOR)
        ports = sorted(o for o in opened() if o[0] != address)
        routes = [a for a in product.held() if a != address]
        if ports and self.rng.random() < .7:
            a, protocol, port, sources = self.rng.choice(ports)
            self.tell("somebody closes", a, protocol, port, sources)
            close(a, protocol, port, sources)
        elif routes:
            gone = self.rng.choice(routes)
            self.tell("somebody lets go", gone)
            world.command("ip", "route", "del", "local", gone, "dev", "lo", "table", "local", "proto", "116")
        self.start()

    def step_pause(self):
        if not self.stopped:
            self.tell("SIGSTOP")
            self.trimtab.send_signal(signal.SIGSTOP)
            self.stopped = True

    def resume(self):
        if self.stopped:
            self.tell("SIGCONT")
            self.trimtab.send_signal(signal.SIGCONT)
            self.stopped = False

    CHOICES = [(step_make, 6), (step_edit, 8), (step_remove, 3), (step_type, 1), (step_pods, 3), (step_node, 2), (step_kill, 2), (step_restart, 1),
               (step_tamper, 1), (step_pause, 1)]

    def step(self):
        functions, weights = zip(*self.CHOICES)
        self.rng.choices(functions, weights)[0](self)

    # --- when all is done ---
    def pending(self):
        """Operations that a plan still has, by Service; {} when none.  A Service that is refused has a sentence in place of a plan."""
        code, text = self.run_command("plan", "-o", "json")
        plan = json.loads(text[text.index("{"):])
        self.refused = {s["service"].split("/")[1]: s["error"]["message"] for s in plan["services"] if s.get("error")}
        assert code in (0, 1, 2), text
        return {s["service"]: s["operations"] for s in plan["services"] if s["operations"]}

    def settle(self):
        self.resume()
        left = {}

        def done():
            left.clear()
            left.update(self.pending())
            return not left and not self.deleting()
        try:
            self.until("nothing is left to do", done)
        except AssertionError as error:
            raise AssertionError(f"{error}; a plan would still do: {json.dumps(left)[:3000]}") from error
        assert self.trimtab.poll() is None, "trimtab has ended"

    def deleting(self):
        return [s for s in self.services_now() if "deletionTimestamp" in s["metadata"]]

    def judge(self):
        """Looks again as long as something moves: a Service that waits for an address may get one at any time."""
        last = []

        def agrees():
            last[:] = differences(self)
            return not last
        try:
            self.until("the kernel has what follows from the Services", agrees)
        except AssertionError as error:
            raise AssertionError("\n".join(last)) from error


# --- what follows from the objects ---------------------------------------------------------------------------------

def served(life):
    """[(name, spec, [address], refused)] of Services that have addresses."""
    found = []
    for s in life.services_now():
        addresses = [i["ip"] for i in s.get("status", {}).get("loadBalancer", {}).get("ingress", [])]
        found.append((s["metadata"]["name"], s["spec"], addresses, s["metadata"].get("annotations", {})))
    return found


def has_targets(life, name, spec):
    if spec.get("externalTrafficPolicy") != "Local":
        return bool(life.nodes)
    slices = life.must("GET", "/apis/discovery.k8s.io/v1/namespaces/demo/endpointslices")["items"]
    ready = {e.get("nodeName") for s in slices if s["metadata"]["labels"].get("kubernetes.io/service-name") == name
             for e in s["endpoints"] or [] if e["conditions"].get("ready", True)}
    return bool(ready & life.nodes)


def wanted_open(life, name, spec, addresses):
    """{(address, protocol, port, range or EVERYBODY)}"""
    ranges = [ipaddress.ip_network(r, strict=False) for r in spec.get("loadBalancerSourceRanges") or ["0.0.0.0/0", "::/0"]]
    found = set()
    if has_targets(life, name, spec):
        for a, p in itertools.product(addresses, spec["ports"]):
            mine = [r for r in ranges if r.version == ipaddress.ip_address(a).version]
            for r in mine:
                if not any(r != o and r.subnet_of(o) for o in mine):
                    found.add((a, p.get("protocol", "TCP").lower(), p["port"], str(r) if r.prefixlen else EVERYBODY))
    return found


def element(e):
    e = e.get("elem", {}).get("val", e) if isinstance(e, dict) else e
    return [str(ipaddress.ip_network(f"{x['prefix']['addr']}/{x['prefix']['len']}")) if isinstance(x, dict) else x for x in e["concat"]]


def opened():
    """As wanted_open().  Everybody among the source ranges is not what a sync writes, and stays a range here."""
    found, sets = set(), product.elements()
    for v in "46":
        found |= {(*element(e), EVERYBODY) for e in sets.get(f"all{v}", [])}
        for e in sets.get(f"from{v}", []):
            a, protocol, port, sources = element(e)
            found.add((a, protocol, port, sources if "/" in str(sources) else f"{sources}/{32 if v == '4' else 128}"))
    return found


def close(address, protocol, port, sources):
    """Takes one of opened() away."""
    family, key = 6 if ":" in address else 4, f"{address} . {protocol} . {port}"
    name, key = (f"all{family}", key) if sources == EVERYBODY else (f"from{family}", f"{key} . {sources}")
    world.command("nft", "delete", "element", "inet", "trimtab", name, "{ %s }" % key)


def filled():
    """{(address, protocol, port)} that have slots."""
    return {tuple(element(key)[:3]) for name, items in product.elements().items() if name[:2] in ("f4", "f6") for key, _ in items}


def guarded():
    return {(e["elem"]["val"] if isinstance(e, dict) else e) for v in "46" for e in product.elements().get(f"vip{v}", [])}


def held():
    """Addresses that are local by routes or on an interface, as ours."""
    on_links = {a["local"] for link in json.loads(world.command("ip", "-j", "-6", "addr", "show", "dev", "eth0")) for a in link["addr_info"]
                if a["prefixlen"] == 128}
    return set(product.held()) | on_links


def differences(life):
    wrong = []
    services = served(life)
    exact, loose = set(), set()
    for name, spec, addresses, _ in services:
        if spec["type"] != "LoadBalancer":
            if addresses:
                wrong.append(f"{name} is of type {spec['type']} and has {addresses}")
            continue
        if name in life.refused:
            loose |= set(addresses)  # what stood stands
        elif not addresses:
            wrong.append(f"{name} has no address, and no sentence says why")
        else:
            exact |= wanted_open(life, name, spec, addresses)
    now = opened()
    strict_now = {o for o in now if o[0] not in loose}
    strict_want = {o for o in exact if o[0] not in loose}
    wrong += [f"closed, or without a target: {o}" for o in sorted(strict_want - strict_now)]
    wrong += [f"open, and no Service asks for it: {o}" for o in sorted(strict_now - strict_want)]
    wrong += [f"not open: {o}" for o in sorted(exact - now)]
    fill = filled()
    wrong += [f"open without slots: {o}" for o in sorted(now) if o[:3] not in fill]
    in_statuses = {a for _, spec, addresses, _ in services for a in addresses}
    guard, hold = guarded(), held()
    wrong += [f"held without a guard: {a}" for a in sorted(hold - guard)]
    wrong += [f"guarded, and in no status: {a}" for a in sorted(guard - in_statuses)]
    wrong += [f"open and not held: {a}" for a in sorted({o[0] for o in now} - hold)]
    wrong += doubles(services)
    return wrong


def doubles(services):
    """Two Services at one address share a key, and no port."""
    wrong = []
    for (a, spec_a, ips_a, meta_a), (b, spec_b, ips_b, meta_b) in itertools.combinations(services, 2):
        both = set(ips_a) & set(ips_b)
        if both:
            ports = {(p.get("protocol", "TCP"), p["port"]) for p in spec_a["ports"]} & {(p.get("protocol", "TCP"), p["port"]) for p in spec_b["ports"]}
            if ports:
                wrong.append(f"{a} and {b} have {both}, and both have {ports}")
    return wrong


# --- at every moment ------------------------------------------------------------------------------------------------

class Watch(threading.Thread):
    """Connects to the anchor, and looks whether an address is held without its guard, until it is ended."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.wrong, self.looks, self.connections, self.over = address, [], 0, 0, threading.Event()
        self.routes = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.routes.bind((0, product.RTMGRP))
        self.routes.setblocking(False)
        self.start()

    def moved(self):
        """Has any route or address changed since the last call?"""
        any_at_all = False
        while True:
            try:
                self.routes.recv(65536)
                any_at_all = True
            except BlockingIOError:
                return any_at_all
            except OSError:  # more than the socket holds
                any_at_all = True

    def look(self):
        self.moved()
        before = held()
        bare = before - guarded()
        if bare and not self.moved():
            self.wrong.append(f"held without a guard: {sorted(bare)}")
        said = world.tcp(self.address, 80)
        self.connections += 1
        if isinstance(said, str):
            self.wrong.append(f"a connection to {self.address}, which nobody edits, is {said}")

    def run(self):
        while not self.over.is_set():
            try:
                self.look()
            except Exception as error:  # pylint: disable=broad-except
                self.wrong.append(repr(error))
            self.looks += 1
            self.over.wait(.1)  # it must not be what the machine is busy with

    def end(self):
        self.over.set()
        self.join()
        assert not self.wrong, self.wrong[:5]


def settled():
    """Waits until the kernel has made its link-local addresses and their routes."""
    until = time.monotonic() + world.LIMIT_S * 3
    while world.command("ip", "-6", "addr", "show", "tentative") and time.monotonic() < until:
        time.sleep(.05)


def live(programs, seed, verbose):
    outside = product.outside()
    with tempfile.TemporaryDirectory() as folder, Life(programs, folder, seed, verbose) as life:
        life.start()
        [address] = life.serve(ANCHOR)
        life.settle()
        watch = Watch(address)
        try:
            left = STEPS
            while left > 0:
                some = min(left, life.rng.randint(1, AT_ONCE))
                for _ in range(some):
                    life.step()
                left -= some
                life.settle()
                life.judge()
                if life.addresses(ANCHOR) != [address]:
                    raise AssertionError(f"the anchor has {life.addresses(ANCHOR)}")
                assert not watch.wrong, watch.wrong
            watch.end()
            life.remove(*life.names(), ANCHOR)
            for name, _, _, _ in served(life):
                life.remove(name)
            life.until("nothing is left", lambda: not product.elements() and not held())
            for was, now in zip(outside, product.outside()):
                if was != now:
                    raise AssertionError(f"not ours, and changed: {[x for x in was if x not in now]} to {[x for x in now if x not in was]}")
        except BaseException as error:
            watch.over.set()
            raise AssertionError(f"seed {seed}: {error}\n" + "\n".join(life.told[-30:])) from error
        return watch


def main():
    arguments = sys.argv[1:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "curl"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), arguments, MARK)
        return tap.skip(status) if isinstance(status, str) else status
    programs, rest = [os.path.abspath(p) for p in arguments[:2]], arguments[2:]
    verbose = "--verbose" in rest
    seeds = [int(rest[rest.index("--seed") + 1])] if "--seed" in rest else None
    if seeds is None:
        chosen = sample.from_env(ci=40, quick=40)
        print(chosen.line(), flush=True)
        seeds = [n for n in range(LIVES) if n % chosen.parts == chosen.turn % chosen.parts]
    world.build()
    world.Servers()
    settled()
    report = tap.Report(len(seeds))
    for seed in seeds:
        began = time.process_time()
        try:
            watch = live(programs, seed, verbose)
            report.check(f"life {seed}: {watch.looks} looks, {watch.connections} connections, {time.process_time() - began:.1f} s of CPU here")
        except AssertionError as error:
            report.check(f"life {seed}; repeat: lives_test.py TRIMTAB_SIM TRIMTAB --seed {seed} --verbose", str(error))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
