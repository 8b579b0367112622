#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two Services on Google that exchange ports at a shared reserved address, or their addresses, do not refuse each other for ever.

    exchange_gce_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
RBS = {"annotations": {"cloud.google.com/l4-rbs": "enabled"}}
RBS_FLAGS = ["--run-l4-netlb-controller", "--enable-l4-netlb-neg", "--enable-l4-netlb-neg-default"]
ONE, OTHER = "203.0.113.200", "203.0.113.201"


class Cluster(World):
    def __init__(self, flags):
        self.own_flags = flags
        super().__init__(PROGRAMS, "--nodes=2")
        state = self.must("GET", "/sim/state")
        for i, ip in enumerate((ONE, OTHER)):
            name = f"mine-{i}"
            state["gce"][f"projects/trimtab-sim/regions/us-central1/addresses/{name}"] = {
                "name": name, "address": ip, "status": "RESERVED", "addressType": "EXTERNAL", "networkTier": "PREMIUM"}
        self.must("PUT", "/sim/state", state)

    def rules(self):
        """(address, ports) of every forwarding rule, by its Service."""
        found = {}
        for r in self.cloud("forwardingRules").values():
            ports = r.get("ports") or [r["portRange"].split("-")[0]]
            found[r["description"].split('service-name":"default/')[1].split('"')[0]] = (r["IPAddress"], ports)
        return found

    def plan(self):
        return subprocess.run([os.path.abspath(PROGRAMS[1]), "plan", "--cloud-provider=gce",
                               f"--cloud-config={self.conf}/gce.conf", f"--kubeconfig={self.kubeconfig}",
                               *self.own_flags], capture_output=True, text=True, check=False, timeout=120,
                              env=self.environment())


def exchange(meta, flags, first, second, running):
    """Each of `a` and `b` has one of these; then each asks for the other's."""
    with Cluster(flags) as c:
        c.start(*flags)
        for name, (ip, port) in (("a", first), ("b", second)):
            c.create(name, meta, loadBalancerIP=ip, ports=[{"port": port}])
        c.until("both have rules", lambda: c.rules() == {"a": (first[0], [str(first[1])]),
                                                         "b": (second[0], [str(second[1])])})
        for name in ("a", "b"):
            c.until_made(name)
        if not running:
            c.stop()
        for name, (ip, port) in (("a", second), ("b", first)):
            c.patch(name, {"spec": {"loadBalancerIP": ip, "ports": [{"port": port}]}})
        if not running:
            planned = c.plan()
            assert "Traffic stops until Service default/b has let go" in " ".join(planned.stdout.split()), planned
            c.start(*flags)
        c.until("they have exchanged", lambda: c.rules() == {"a": (second[0], [str(second[1])]),
                                                             "b": (first[0], [str(first[1])])})
        c.until("their statuses say so", lambda: (c.address("a"), c.address("b")) == (second[0], first[0]))


def test_target_pools__ports_at_one_address__exchanged():
    exchange({}, [], (ONE, 80), (ONE, 443), True)


def test_target_pools__addresses_while_no_controller_runs__exchanged_as_planned():
    exchange({}, [], (ONE, 80), (OTHER, 80), False)


def test_backend_services__ports_while_no_controller_runs__exchanged_as_planned():
    exchange(RBS, RBS_FLAGS, (ONE, 80), (ONE, 443), False)


def test_backend_services__addresses__exchanged():
    exchange(RBS, [*RBS_FLAGS, "--concurrent-service-syncs=4"], (ONE, 80), (OTHER, 80), True)


def test_both_ask_for_the_same_port__the_one_that_has_it_keeps_it():
    with Cluster([]) as c:
        c.start()
        c.create("a", loadBalancerIP=ONE, ports=[{"port": 80}])
        c.create("b", loadBalancerIP=ONE, ports=[{"port": 443}])
        c.until("both have rules", lambda: len(c.rules()) == 2)
        c.until("both have addresses", lambda: c.address("a") and c.address("b"))
        before = set(c.cloud("forwardingRules"))
        c.patch("a", {"spec": {"ports": [{"port": 443}]}})
        c.until_event("a", "SyncLoadBalancerFailed", "Conflicting ports")
        assert set(c.cloud("forwardingRules")) == before and c.rules()["a"] == (ONE, ["80"]), c.rules()


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
