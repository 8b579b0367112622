#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/quickstart compares calls like for like: neither our count nor the Go controllers' holds waits for operations.

    quickstart_test.py TRIMTAB_SIM TRIMTAB TREE     (TAP on stdout)
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, TREE = sys.argv[1:3], sys.argv[3]
sys.path.insert(0, os.path.join(TREE, "scripts", "lib"))
import quickstart  # noqa: E402  pylint: disable=wrong-import-position,import-error


def scenarios(words):
    return [*words["create"].values(), words["edit"], *([words["internal"]] if "internal" in words else [])]


def test_recordings__hold_every_scenario_that_is_named_and_no_wait():
    for cloud, words in quickstart.CLOUDS.items():
        for scenario in scenarios(words):
            assert quickstart.recorded(TREE, cloud, scenario) > 3, (cloud, scenario)
        for name in words["recorded"]:
            with open(os.path.join(TREE, "tests", "data", name), encoding="utf-8") as f:
                assert not [line for line in f if "/operations/" in json.loads(line).get("path", "").lower()], name
    assert quickstart.recorded(TREE, "gce", "external-node-removed-3-services") > 3
    assert quickstart.recorded(TREE, "aws", "node-removed-3-nlb-2-clb") > 3


def test_ours__holds_no_wait_however_slow_the_cloud_is():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.create("web")
        w.until_made("web")
        assert not w.cloud("addresses"), "the address is not given back"
        counts = w.calls()["gce"]
        waits = sum(n for operation, n in counts.items() if "Operations." in operation)
        mutations = sum(n for operation, n in counts.items() if operation.endswith((".insert", ".delete")))
        assert 0 < waits == mutations, counts
        assert quickstart.without_waits(counts) == sum(counts.values()) - waits, counts
    assert quickstart.without_waits({"LoadBalancers.CreateOrUpdate": 1, "LoadBalancers.Get": 1, "Operations.Get": 40,
                                     "OperationResults.Get": 7}) == 1


def test_ours_on_azure__the_same_with_and_without_operations():
    """The recorded cloud was done at once; the quickstart's is not, and each write ends with a read then."""
    seen = []
    for settings in ({}, {"async": "azure-async", "polls": 1}):
        with World(PROGRAMS, "--nodes=2", cloud="azure") as w:
            world = w.must("GET", "/sim/state")
            world.setdefault("sim", {}).setdefault("azure", {}).update(settings)
            w.must("PUT", "/sim/state", world)
            w.start()
            w.forget_calls()
            w.create("web")
            w.until_address("web")
            w.until("it is synced", lambda: w.logged('"Synced"'))
            counts = w.calls()["azure"]
            assert ("Operations.Get" in counts) == bool(settings), counts
            seen.append(quickstart.without_waits(counts))
    assert seen[0] == seen[1] > 10, seen


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
