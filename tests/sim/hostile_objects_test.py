#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One odd object in a cluster, of each kind that is watched: everybody else is served.

    hostile_objects_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

Unit tests have every cap of every kind (tests/unit/kube/test_hostile_objects.c, tests/unit/controller/test_sync_unreadable.c);
here the whole program meets what an editor of one namespace can store.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CLEANUP, World  # noqa: E402  pylint: disable=wrong-import-position

sys.setrecursionlimit(20000)  # for bodies that are nested deeply

PROGRAMS = sys.argv[1:3]
DEEP = 900
MERGE = "application/merge-patch+json"
REASON = "spec.loadBalancerSourceRanges: want at most 10000 items, got 10001"


def deep_fields():
    value = {}
    for _ in range(DEEP):
        value = {"f:a": value}
    return [{"manager": "editor", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": value}]


def many_ranges():
    return [f"10.{i // 65536}.{i // 256 % 256}.{i % 256}/32" for i in range(10001)]


class Cluster(World):
    def cli(self, name, *args):
        return subprocess.run(
            [os.path.abspath(PROGRAMS[1]), name, *args, "--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf",
             f"--kubeconfig={self.kubeconfig}"], capture_output=True, text=True, check=False, timeout=120,
            env=self.environment())

    def spoil(self, path):
        self.must("PATCH", path, {"metadata": {"managedFields": deep_fields()}}, content_type=MERGE)
        assert self.must("GET", path)["metadata"]["managedFields"] == deep_fields(), "the simulator stores it"

    def rules(self):
        return sorted(r["IPAddress"] for r in self.cloud("forwardingRules").values())

    def must_leave_alone(self, name):
        self.until_event(name, "SyncLoadBalancerFailed", f"part of the Service cannot be read: {REASON}; its load balancer "
                         "is left as it is until that is mended or the Service is deleted")


def test_deep_managed_fields__nobody_notices():
    with Cluster(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.create("odd")
        w.until_address("odd")
        slices = w.must("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices")["items"]
        w.spoil("/api/v1/namespaces/default/services/odd")
        w.spoil("/api/v1/nodes/node-1")
        for s in slices:
            w.spoil("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/" + s["metadata"]["name"])
        w.create("behind")  # as an event behind theirs
        w.until_address("behind")
        assert w.stop()[0] == 0
        w.start()           # and in a new list
        w.create("again")
        w.until_address("again")
        assert w.members() == sorted(["node-0", "node-1", "node-2"] * 3)
        w.delete("odd")
        w.until_gone("odd")
        assert len(w.rules()) == 2 and not w.logged("cannot be read"), w.log()


def test_unreadable_service__others_served_and_nothing_of_it_changed():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        w.start()
        for name in ("odd", "other"):
            w.create(name)
        address = w.until_address("odd")
        w.until_address("other")
        before = w.cloud("firewalls")
        w.patch("odd", {"spec": {"loadBalancerSourceRanges": many_ranges()}})
        w.must_leave_alone("odd")
        w.create("behind")
        w.until_address("behind")
        assert w.stop()[0] == 0
        w.start()           # it was never read whole now
        w.until("it says so again", lambda: w.logged("Error syncing service", 'service="default/odd"', REASON))
        done = w.cli("orphans")
        assert done.returncode == 0 and f"warning: Service default/odd: part of it cannot be read: {REASON}" in done.stderr, done
        done = w.cli("plan", "default/odd")
        assert done.returncode == 1 and REASON in " ".join(done.stdout.split()), done
        done = w.cli("explain", "default/odd")
        assert done.returncode == 1 and REASON in done.stderr, done
        for name in ("other", "behind"):  # who shares health check and firewall with it
            w.delete(name)
            w.until_gone(name)
        assert w.rules() == [address], w.rules()
        left = w.cloud("firewalls")
        assert all(left[path] == rule for path, rule in before.items() if path in left), left
        assert [path for path in left if path.endswith("-node-http-hc")], left
        assert w.cloud("httpHealthChecks"), "the shared check is odd's, too"
        assert CLEANUP in w.get("odd")["metadata"]["finalizers"]
        w.delete("odd")     # … and its deletion ends
        w.until_gone("odd")
        assert not w.rules() and not w.cloud("firewalls") and not w.cloud("httpHealthChecks")


def test_unreadable_service_mended__synced_with_the_same_address():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        w.start()
        w.create("odd")
        address = w.until_address("odd")
        w.patch("odd", {"spec": {"loadBalancerSourceRanges": many_ranges()}})
        w.must_leave_alone("odd")
        mended = os.path.join(w.folder, "mended.json")
        with open(mended, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "odd", "namespace": "default"},
                       "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerSourceRanges": ["192.0.2.0/24"]}}, f)
        done = w.cli("plan", "-f", mended)  # the manifest is whole
        assert done.returncode == 2 and "192.0.2.0/24" in done.stdout, done
        w.patch("odd", {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})
        w.until("its ranges are in the cloud", lambda: any(
            f.get("sourceRanges") == ["192.0.2.0/24"] for f in w.cloud("firewalls").values()))
        assert w.rules() == [address]


def test_unreadable_node__stays_a_member():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        w.start()
        w.create("web")
        w.until_address("web")
        addresses = [{"type": "ExternalIP", "address": f"192.0.2.{i}"} for i in range(10001)]
        w.must("PATCH", "/api/v1/nodes/node-1/status", {"status": {"addresses": addresses}}, content_type=MERGE)
        why = "status.addresses: want at most 10000 items, got 10001"
        w.until("it says so", lambda: w.logged("Part of an object cannot be read", 'object="node-1"', why))
        w.must("POST", "/sim/nodes", {"count": 1})
        w.until("the new node is a member", lambda: w.members() == ["node-0", "node-1", "node-2"])
        assert w.stop()[0] == 0
        w.start()           # never read whole
        w.create("next")
        w.until_address("next")
        assert w.members() == sorted(["node-0", "node-1", "node-2"] * 2)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
