#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One cluster, two processes: trimtab on a simulated Google cloud, and trimtab with the provider local on a real kernel.

    mixed_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

Services without a class are the cloud's, those of class trimtab.io/local are the machine's (`defaultClass: false`).  Judges are the
simulator's dump of the cloud, its list of calls, nft, ip and curl.  The nodes of world.py have the addresses of the cloud's nodes, too.
"""
import contextlib
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import product  # noqa: E402  pylint: disable=wrong-import-position
import controller_world  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_MIXED_TEST"
CLASS = "trimtab.io/local"
DONE = "trimtab.io/carried-out"
BY = "trimtab.io/carried-out-by"
POOL_FIRST = "192.0.2.48"
CLOUD_NODES = "10.128.0.1"  # and 0, 1, 2 behind it
ALL = {"n1", "n2", "n3"}
OURS = ("forwardingRules", "targetPools", "addresses", "firewalls", "healthChecks", "httpHealthChecks", "backendServices")


class Cloud(controller_world.World):
    """The cluster with its cloud, and the trimtab that is the cloud's."""

    def __init__(self, programs):
        super().__init__(programs, "--nodes=3", cloud="gce")
        self.machine = Machine(programs, self)

    def serve(self, name, lb_class=None):
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
        if lb_class:
            spec["loadBalancerClass"] = lb_class
        if name in ("mine", "cloudy") and lb_class:
            spec["ports"] = product.ports_of([(80, world.TCP_PORT)])  # where the nodes' servers are
        self.must("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": name}, "spec": spec})

    def service(self, name):
        return self.call("GET", f"/api/v1/namespaces/default/services/{name}")[1]

    def address(self, name):
        def have():
            ingress = self.service(name).get("status", {}).get("loadBalancer", {}).get("ingress", [])
            return ingress and ingress[0]["ip"]
        return self.until(f"{name} has an address", have)

    def remove(self, name):
        self.must("DELETE", f"/api/v1/namespaces/default/services/{name}")
        self.until(f"{name} is gone", lambda: self.call("GET", f"/api/v1/namespaces/default/services/{name}")[0] == 404)

    def resources(self):
        """Names of what a load balancer is made of, in the cloud."""
        return sorted(path for path in self.must("GET", "/sim/state")["gce"] if path.split("/")[-2] in OURS)

    def writes(self):
        """Calls of both processes that changed the cloud."""
        calls = self.must("GET", "/sim/calls")
        return sum(n for op, n in calls["gce"].items() if op.endswith(controller_world.MUTATIONS))


class Machine(controller_world.World):
    """The trimtab that programs this machine's kernel, on the same cluster."""

    def __init__(self, programs, cloud):
        super().__init__(programs, cloud="local", simulator=cloud.sim)
        self.config = os.path.join(self.folder, "local.yaml")
        with open(self.config, "w", encoding="utf-8") as f:
            f.write("defaultClass: false\n" + product.CONFIG)

    def environment(self):
        return {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")}

    def flags(self):
        return ["--cloud-provider=local", *controller_world.ALONE, f"--cloud-config={self.config}"]

    def leave_simulator(self):
        """It is the cloud's."""


def expect(got, wanted):
    assert got == wanted, f"{got}, not {wanted}"


def of_service(w, name):
    """An object as a controller could have written it."""
    s = w.service(name)
    return {k: s["metadata"].get(k) for k in ("finalizers", "annotations", "resourceVersion")} | {"status": s.get("status")}


def both_idle(w):
    """Each has dealt with all Services that are there: a Service of its own, made now, goes through both queues."""
    for name, lb_class in (("tick", None), ("tock", CLASS)):
        w.serve(name, lb_class)
        w.address(name)
        w.remove(name)


def test_classes__each_serves_its_own_and_leaves_the_others_alone(w):
    w.serve("cloudy")
    w.serve("mine", CLASS)
    cloud, own = w.address("cloudy"), w.address("mine")
    expect(own, POOL_FIRST)
    assert not cloud.startswith("192.0.2."), cloud
    expect(set(product.curl(own, times=8)), ALL)
    expect(product.held(), [own])
    names, objects = w.resources(), [of_service(w, n) for n in ("cloudy", "mine")]
    assert names, "the cloud has no load balancer"
    both_idle(w)
    expect((w.resources(), [of_service(w, n) for n in ("cloudy", "mine")], product.held()), (names, objects, [own]))


def test_restart_of_both__writes_nothing(w):
    names, objects = w.resources(), [of_service(w, n) for n in ("cloudy", "mine")]
    before, generation, routes = w.writes(), product.generation(), product.RouteWrites()
    for process in (w, w.machine):
        process.stop()
        process.start()
    for process, name in ((w, "cloudy"), (w.machine, "mine")):
        process.until(f"{name} is synced", lambda p=process, n=name: p.logged("Synced", f"default/{n}"))
    expect((w.writes(), product.generation(), routes.count()), (before, generation, 0))
    expect((w.resources(), [of_service(w, n) for n in ("cloudy", "mine")]), (names, objects))


def test_finalizer_of_the_other__is_not_taken_off(w):
    """Both have one name for it: what a class says decides, not the finalizer."""
    before = [of_service(w, n)["finalizers"] for n in ("cloudy", "mine")]
    assert all(controller_world.CLEANUP in finalizers for finalizers in before), before
    for name in ("cloudy", "mine"):
        w.patch(name, {"spec": {"sessionAffinity": "ClientIP"}})
    both_idle(w)
    expect([of_service(w, n)["finalizers"] for n in ("cloudy", "mine")], before)


def test_events_and_log__are_of_the_one_that_serves(w):
    for process, others in ((w, "mine"), (w.machine, "cloudy")):
        said = [line for line in process.log().splitlines() if f'default/{others}"' in line and '"Event occurred"' in line]
        expect(said, [])


def test_marks__name_their_provider(w):
    for name, provider in (("cloudy", "gce"), ("mine", "local")):
        notes = w.service(name)["metadata"]["annotations"]
        expect(notes[BY], f"{provider} {notes[DONE]}")


def test_deleted__only_the_owner_gives_it_free(w):
    w.machine.stop()
    w.must("DELETE", "/api/v1/namespaces/default/services/mine")
    w.serve("tick")
    w.address("tick")
    w.remove("tick")
    expect((of_service(w, "mine")["finalizers"], product.held()), ([controller_world.CLEANUP], [POOL_FIRST]))
    w.machine.start()
    w.until("mine is gone", lambda: w.call("GET", "/api/v1/namespaces/default/services/mine")[0] == 404)
    expect((product.held(), product.elements()), ([], {}))


def test_changes_class__while_the_cloud_does_not_run__loses_what_it_has_there(w):
    """The one finds its load balancer by its mark, which the other leaves on the Service; then the other's follows."""
    before = w.resources()
    w.serve("moves")
    w.address("moves")
    w.stop()
    w.patch("moves", {"metadata": {"finalizers": None}, "spec": {"type": "ClusterIP"}})
    w.until("its status is empty", lambda: not w.service("moves").get("status", {}).get("loadBalancer", {}).get("ingress"))
    w.patch("moves", {"spec": {"type": "LoadBalancer", "loadBalancerClass": CLASS}})
    w.until("moves is served here", lambda: w.address("moves").startswith("192.0.2."))
    expect(w.service("moves")["metadata"]["annotations"][BY].split()[0], "gce")
    assert w.resources() != before, "the cloud has nothing of it"
    w.start()
    w.until("moves has nothing left in the cloud", lambda: w.resources() == before)
    w.patch("moves", {"spec": {"sessionAffinity": "ClientIP"}})  # else it comes with the finalizer, a minute later
    w.until("its mark is the other's", lambda: w.service("moves")["metadata"]["annotations"].get(BY, "").startswith("local "))
    assert w.address("moves").startswith("192.0.2."), w.address("moves")
    w.remove("moves")
    expect(w.resources(), before)


def test_changes_hands__deleted_and_made_with_the_other_class(w):
    names = w.resources()
    for lb_class, here in ((CLASS, True), (None, False), (CLASS, True)):
        w.remove("cloudy")
        w.serve("cloudy", lb_class)
        address = w.address("cloudy")
        expect((address == POOL_FIRST, product.held()), (here, [address] if here else []))
        assert bool(w.resources()) != here, w.resources()
        if here:
            expect(set(product.curl(address, times=8)), ALL)
    w.remove("cloudy")
    expect((w.resources(), product.elements(), product.held()), ([], {}, []))
    assert names


def main():
    programs, chosen = [os.path.abspath(p) for p in sys.argv[1:3]], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "curl"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    for i, name in enumerate(world.NODES):
        world.command("ip", "-n", name, "addr", "add", f"{CLOUD_NODES}{i}/24", "dev", "eth0")
    world.command("ip", "addr", "add", "10.128.0.254/24", "dev", "br0")
    world.Servers()
    with contextlib.ExitStack() as stack:
        cloud = stack.enter_context(Cloud(programs))
        machine = stack.enter_context(cloud.machine)
        cloud.start()
        machine.start()
        return tap.run(tap.tests_of(globals(), chosen), cloud)


if __name__ == "__main__":
    sys.exit(main())
