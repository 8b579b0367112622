#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody wipes the status of Services that were taken over, and their finalizers: their addresses and kinds stay.

    wiped_status_test.py TRIMTAB_SIM TRIMTAB DATA [TEST…]     (TAP on stdout)

The worlds are those that the Go controllers left on Google, so that no Service bears a mark of trimtab.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CLEANUP, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
DATA = sys.argv[3]
L4 = ["--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg", "--enable-l4-netlb-neg",
      "--enable-l4-netlb-neg-default"]


class Cluster(World):
    def __init__(self, world, flags):
        path = os.path.join(DATA, "gce", world + ".json")
        with open(path, encoding="utf-8") as f:
            self.own_flags = [*json.load(f).get("flags", []), *flags]
        super().__init__(PROGRAMS, f"--world={path}")

    def wipe(self, kept, add_port):
        """Takes status and finalizers off; returns the former addresses by name."""
        state = self.must("GET", "/sim/state")
        was = {}
        for s in state["kubernetes"]["services"]:
            ingress = s.get("status", {}).get("loadBalancer", {}).get("ingress")
            if not ingress:
                continue
            was[s["metadata"]["name"]] = [i["ip"] for i in ingress]
            s["status"] = {"loadBalancer": {}}
            s["metadata"]["finalizers"] = [f for f in s["metadata"].get("finalizers", []) if f in kept]
            if add_port:
                first = s["spec"]["ports"][0]
                first.setdefault("name", "first")
                s["spec"]["ports"].append({"name": "extra", "port": 4443, "nodePort": 32700 + len(was),
                                           "protocol": first.get("protocol", "TCP")})
        self.must("PUT", "/sim/state", state)
        return was

    def plan(self):
        return subprocess.run([os.path.abspath(PROGRAMS[1]), "plan", "--cloud-provider=gce", "-o", "json",
                               f"--cloud-config={self.conf}/gce.conf", f"--kubeconfig={self.kubeconfig}", *self.own_flags],
                              capture_output=True, text=True, check=False, timeout=120, env=self.environment())

    def addresses(self, name):
        return [i["ip"] for i in self.get(name).get("status", {}).get("loadBalancer", {}).get("ingress") or []]

    def balancers(self):
        return {path for kind in ("forwardingRules", "backendServices", "targetPools") for path in self.cloud(kind)}


def check(world, kept, flags=(), add_port=False):
    with Cluster(world, flags) as c:
        was = c.wipe(kept, add_port)
        before = c.balancers()
        planned = c.plan()
        assert planned.returncode == (2 if add_port else 0), (world, planned)
        c.start(*c.own_flags)
        for name, ips in was.items():
            assert c.until(f"{name} has an address", lambda n=name: c.addresses(n)) == ips, (world, name, ips)
        assert c.balancers() == before, (world, before ^ c.balancers())


def test_without_the_kinds_finalizers__each_keeps_its_kind_and_address():
    check("world-legacy", {CLEANUP}, L4)


def test_without_any_finalizer_and_edited__each_keeps_its_kind_and_address():
    check("world-legacy", set(), L4, add_port=True)


def test_balancers_of_ingress_gces__keep_their_addresses():
    check("world-l4", set())
    check("world-l4-netlb-neg", set(), add_port=True)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
