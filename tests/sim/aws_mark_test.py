#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An edit is carried out whenever it was made, on what trimtab made or edited; on what it only took over it is named.

    aws_mark_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

The unhealthy threshold of an NLB's health check stands for all values that upstream's controller would not see.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CLEANUP, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
THRESHOLD = PREFIX + "healthcheck-unhealthy-threshold"
MARK = "trimtab.io/carried-out"


class Cluster(World):
    def __init__(self):
        super().__init__(PROGRAMS, "--nodes=2", cloud="aws")

    def make(self):
        self.create("web", {"annotations": {PREFIX + "type": "nlb", THRESHOLD: "4"}})
        self.until_made("web")
        assert self.threshold() == 4

    def threshold(self):
        found = []

        def walk(o):
            if isinstance(o, dict):
                found.extend(v for k, v in o.items() if k == "UnhealthyThresholdCount")
                o = list(o.values())
            for v in o if isinstance(o, list) else []:
                walk(v)
        walk({k: v for k, v in self.must("GET", "/sim/state")["aws"].items() if k == "elbv2"})
        assert len(found) == 1, found
        return int(found[0])

    def annotate(self, **values):
        names = {"threshold": THRESHOLD, "mark": MARK, "kind": PREFIX + "type"}
        self.patch("web", {"metadata": {"annotations": {names[k]: v for k, v in values.items()}}})

    def mark(self):
        return self.get("web")["metadata"].get("annotations", {}).get(MARK)

    def own_mark(self):
        return f'{self.get("web")["metadata"]["uid"]} {self.address("web")}'

    def restart(self, **values):
        """Edits while no controller runs."""
        self.stop()
        self.annotate(**values)
        self.forget_calls()
        self.start("-v=4")
        self.until("web was synced", lambda: self.logged("Finished syncing service", "default/web"))

    def ask(self, command, *args):
        return subprocess.run([self.trimtab_exe, command, "default/web", "--cloud-provider=aws",
                               f"--cloud-config={self.conf}/aws.conf", f"--kubeconfig={self.kubeconfig}", *args],
                              capture_output=True, text=True, check=False, timeout=120, env=self.environment())


def test_made_here__edit_while_no_controller_ran_is_carried_out():
    with Cluster() as c:
        c.start()
        c.forget_calls()
        c.make()
        assert c.service_writes() == {"services.create": 1, "services.status.patch": 2}, c.service_writes()
        assert c.mark() == c.own_mark(), c.mark()
        c.restart(threshold="5")
        assert c.threshold() == 5
        assert c.service_writes() == {}, c.service_writes()
        c.restart()
        assert c.mutations() == {} and c.service_writes() == {}, (c.mutations(), c.service_writes())
        c.stop()
        c.annotate(threshold="6")
        plan = c.ask("plan")
        assert plan.returncode == 2 and "because its health check is not the one" in " ".join(plan.stdout.split()), plan


def test_only_taken_over__it_is_named_and_an_edit_puts_it_right():
    with Cluster() as c:
        c.start()
        c.make()
        c.restart(threshold="5", mark=None)
        assert c.threshold() == 4
        assert c.mutations() == {} and c.service_writes() == {}, (c.mutations(), c.service_writes())
        said = "The health check has unhealthy threshold 4, and 5 is asked for"
        plan = c.ask("plan")
        assert plan.returncode == 0 and f"! {said}" in " ".join(plan.stdout.split()), plan
        assert "up to date" not in plan.stdout and "nothing to do, 1 value left as it is." in " ".join(plan.stdout.split()), plan
        assert said in json.loads(c.ask("plan", "-o", "json").stdout)["services"][0]["left"][0]
        assert said in " ".join(c.ask("explain").stdout.split()), c.ask("explain")
        c.forget_calls()
        c.annotate(threshold="6")
        c.until("the edit is carried out", lambda: c.threshold() == 6)
        c.until("its mark says so", lambda: c.mark() == c.own_mark() + " edited")
        c.restart(threshold="7")
        assert c.threshold() == 7
        assert said not in " ".join(c.ask("explain").stdout.split())


def test_edit_whose_call_failed_before_a_restart__is_carried_out():
    with Cluster() as c:
        c.start()
        c.make()
        c.restart(mark=None)
        c.fault(match={"op": "elbv2.ModifyTargetGroup"}, count=0, do="refuse", status=400,
                body={"Code": "ServiceUnavailable", "Message": "later"})
        c.annotate(threshold="5")
        c.until_event("web", "SyncLoadBalancerFailed")
        c.kill()
        c.heal()
        c.start()
        c.until("the edit is carried out", lambda: c.threshold() == 5)


def test_load_balancer_goes__mark_goes_with_the_finalizer():
    with Cluster() as c:
        c.start()
        c.make()
        c.forget_calls()
        c.patch("web", {"spec": {"type": "ClusterIP"}})
        c.until("its finalizer is gone", lambda: CLEANUP not in c.get("web")["metadata"].get("finalizers", []))
        assert c.mark() is None, c.get("web")


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
