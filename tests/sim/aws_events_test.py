#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events of Services on AWS: the whole program against the simulator.

    aws_events_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
ANNOTATION = "service.beta.kubernetes.io/aws-load-balancer-"
NLB = {"annotations": {ANNOTATION + "type": "nlb"}}


def world():
    return World(PROGRAMS, "--nodes=2", cloud="aws")


def somebody_forwards_to_the_same_group(w):
    """A state that no request can make: a second balancer, and a listener of it that leads to the target group of the first."""
    state = w.must("GET", "/sim/state")
    elb = state["aws"]["elbv2"]
    text = elb["LoadBalancers"][0]["LoadBalancerArn"]
    other = text.replace("/net/a", "/net/b")
    elb["LoadBalancers"].append({**copy.deepcopy(elb["LoadBalancers"][0]), "LoadBalancerArn": other,
                                 "LoadBalancerName": "somebodys"})
    listener = copy.deepcopy(elb["Listeners"][0])
    elb["Listeners"].append({**listener, "LoadBalancerArn": other,
                             "ListenerArn": listener["ListenerArn"].replace("/net/a", "/net/b")})
    w.must("PUT", "/sim/state", state)


def test_deletion__a_target_group_that_others_use__stays_and_its_owner_hears_of_it():
    with world() as w:
        w.start()
        w.create("web", NLB)
        w.until_made("web")  # what it writes later would get lost
        somebody_forwards_to_the_same_group(w)
        w.delete("web")
        w.until_gone("web")
        (kind, _, text), = w.until_event("web", "TargetGroupKept")
        left = w.must("GET", "/sim/state")["aws"]["elbv2"]
        assert kind == "Warning" and left["TargetGroups"][0]["TargetGroupName"] in text and "/net/b" in text, text
        assert [b["LoadBalancerName"] for b in left["LoadBalancers"]] == ["somebodys"], left["LoadBalancers"]


def test_edit__what_has_no_effect_is_told_once():
    with world() as w:
        w.start()
        w.create("web", NLB)
        w.until_address("web")
        w.patch("web", {"metadata": {"annotations": {ANNOTATION + "internal": "true", ANNOTATION + "ssl-prts": "x"}}})
        scheme, = w.until_event("web", "SchemeNotChanged")
        ignored, = w.until_event("web", "AnnotationIgnored")
        assert "stays internet-facing" in scheme[2] and "ssl-prts" in ignored[2], (scheme, ignored)
        w.kill()
        w.start()
        w.create("later", NLB)
        w.until_address("later")
        assert len(w.until_event("web", "SchemeNotChanged")) == 1


def test_hand_over__events_say_what_is_done():
    with world() as w:
        w.start("--service-conditions")
        w.create("web", NLB)
        w.until_address("web")
        w.until("the condition", lambda: "LoadBalancerReady" in str(w.get("web")["status"]))
        w.patch("web", {"metadata": {"annotations": {ANNOTATION + "type": "external"}}})
        w.until_event("web", "NotHandedOver")
        w.patch("web", {"metadata": {"annotations": {ANNOTATION + "handed-over": "true"}}})
        w.until("the hand-over", lambda: not w.get("web")["metadata"].get("finalizers"))
        assert len(w.until_event("web", "DeletedLoadBalancer")) == 1
        assert "LoadBalancerReady" not in str(w.get("web")["status"]), w.get("web")["status"]
        events = w.must("GET", "/api/v1/namespaces/default/events")["items"]
        ensured = [e.get("count") for e in events if e["reason"] == "EnsuredLoadBalancer"]
        assert ensured == [1], events  # when it was made


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
