#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole program on an AWS that is slow to agree with itself, refuses, throttles, or does not know who asks.

    aws_life_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

Each test is one trouble: what the Service's owner is told, that others are served meanwhile, and that nothing is left.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import aws_shapes  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
NLB = {"annotations": {PREFIX + "type": "nlb"}}
MANAGED = "\n[Global]\nNLBSecurityGroupMode = Managed\n"


class Cluster(World):
    """Three nodes; `settings` are those of the simulated AWS."""

    def __init__(self, *sim_flags, settings=None, config=""):
        super().__init__(PROGRAMS, "--nodes=3", *sim_flags, cloud="aws")
        self.changed = {}
        if settings:
            self.settings(**settings)
        if config:
            with open(f"{self.conf}/aws.conf", "a", encoding="utf-8") as f:
                f.write(config)
        self.empty = self.documents()

    def settings(self, **values):
        self.must("PUT", "/sim/settings/aws", values)

    def environment(self):
        env = super().environment()
        env.update((k, v) for k, v in self.changed.items() if v is not None)
        for name in [k for k, v in self.changed.items() if v is None]:
            env.pop(name, None)
        return env

    def documents(self):
        return aws_shapes.documents(self.must("GET", "/sim/state")["aws"])

    def count(self, op):
        return self.calls()["aws"].get(op, 0)

    def until_empty(self):
        """Nothing of ours is left; the log says what is."""
        self.until("the cloud is as it was", lambda: self.documents() == self.empty)

    def until_ready(self, *names):
        for name in names:
            self.until_made(name)


# --- whose Services -------------------------------------------------------------------------------------

def test_another_type__is_refused_with_its_event():
    for was, then in ((NLB, None), (None, "nlb")):
        with Cluster() as c:
            c.start()
            c.create("web", was)
            c.until_ready("web")
            before = c.documents()
            c.forget_calls()
            c.patch("web", {"metadata": {"annotations": {PREFIX + "type": then}}})
            c.until_event("web", "SyncLoadBalancerFailed", "aws-load-balancer-type")
            assert c.mutations() == {}, c.mutations()
            assert c.documents() == before
            c.delete("web")
            c.until_gone("web")
            c.until_empty()


def test_services_of_the_other_controller__are_left_alone():
    with Cluster() as c:
        c.start()
        c.create("class", NLB, loadBalancerClass="service.k8s.aws/nlb")
        c.create("external", {"annotations": {PREFIX + "type": "external"}})
        c.create("ip", {"annotations": {PREFIX + "type": "nlb-ip"}})
        c.create("web", NLB)
        c.until_ready("web")
        for name in ("class", "external", "ip"):
            service = c.get(name)
            assert not service["metadata"].get("finalizers") and not c.address(name), service
            assert c.events(name) == [], c.events(name)
        assert len([d for d in c.documents() if d.startswith("nlb ") and " attributes " not in d]) == 1


# --- a cloud that takes its time ------------------------------------------------------------------------

def test_groups_and_tags_that_are_seen_late__nothing_is_left():
    for config in ("", MANAGED):
        with Cluster(settings={"consistency_ms": 700}, config=config) as c:
            c.start()
            c.create("n", NLB)
            c.create("c")
            c.until_ready("n", "c")
            c.delete("n")
            c.delete("c")
            c.until_gone("n")
            c.until_gone("c")
            c.settings()
            c.until_empty()


def test_a_service_that_goes_at_once__leaves_nothing():
    for config in ("", MANAGED):
        with Cluster(settings={"consistency_ms": 300}, config=config) as c:
            c.start()
            for name, meta in (("n", NLB), ("c", None)):
                c.create(name, meta)
                c.until(f"{name} is begun", lambda name=name: c.get(name)["metadata"].get("finalizers"))
                c.delete(name)
            c.until_gone("n")
            c.until_gone("c")
            c.settings()
            c.until_empty()


def test_a_group_that_is_held__does_not_hold_a_worker():
    with Cluster() as c:
        c.start("--concurrent-service-syncs=1")
        c.create("old")
        c.until_ready("old")
        c.fault(match={"op": "ec2.DeleteSecurityGroup"}, count=0, do="refuse", status=400,
                body={"Code": "DependencyViolation", "Message": "resource has a dependent object"})
        c.delete("old")
        c.until("the group is held", lambda: c.logged("k8s-elb-", "Service waits for the cloud"))
        c.create("new", NLB)
        c.until_ready("new")
        assert c.get("old") is not None    # it still waits
        c.heal()
        c.until_gone("old")
        told = [e[2] for e in c.events("old") if e[0] == "Warning"]
        assert not told, told              # ordinary waiting is no failure
        c.delete("new")
        c.until_gone("new")
        c.until_empty()


# --- refusals -------------------------------------------------------------------------------------------

def test_a_missing_permission__is_named():
    for op, permission, meta in (
            ("elbv2.CreateTargetGroup", "elasticloadbalancing:CreateTargetGroup", NLB),
            ("elb.CreateLoadBalancer", "elasticloadbalancing:CreateLoadBalancer", None),
            ("ec2.AuthorizeSecurityGroupIngress", "ec2:AuthorizeSecurityGroupIngress", None)):
        code = "UnauthorizedOperation" if op.startswith("ec2") else "AccessDenied"
        with Cluster() as c:
            c.fault(match={"op": op}, count=0, do="refuse", status=403, body={"Code": code, "Message": "You are not authorized"})
            c.start()
            c.create("web", meta)
            found = c.until_event("web", "SyncLoadBalancerFailed", permission)
            assert all(e[0] == "Warning" and code in e[2] for e in found), found
            c.heal()
            c.delete("web")
            c.until_gone("web")
            c.until_empty()


def test_a_stopped_instance__is_left_out_and_told():
    with Cluster() as c:
        state = c.must("GET", "/sim/state")
        bad = state["aws"]["ec2"]["Reservations"][0]["Instances"][0]["InstanceId"]
        c.fault(match={"op": "elbv2.RegisterTargets"}, count=1, do="refuse", status=400,
                body={"Code": "InvalidTarget", "Message": f"The following targets are not in a running state and cannot be registered: '{bad}'"})
        c.start()
        c.create("web", NLB)
        c.until_ready("web")
        targets = [d["all"] for n, d in c.documents().items() if n.startswith("targets ")]
        assert len(targets) == 1 and len(targets[0]) == 2 and not any(bad in t for t in targets[0]), targets
        c.until("its owner is told", lambda: [e for e in c.events("web") if e[0] == "Warning" and bad in e[2]])


def test_throttling__is_waited_for():
    for code, status in (("RequestLimitExceeded", 503), ("Throttling", 400)):
        with Cluster() as c:
            op = "ec2.AuthorizeSecurityGroupIngress" if status == 503 else "elbv2.CreateListener"
            c.fault(match={"op": op}, count=2, do="refuse", status=status, body={"Code": code, "Message": "Rate exceeded"})
            c.start()
            c.create("web", NLB)
            c.until_ready("web")
            assert c.count(op) == 3, c.calls()["aws"]
            assert not [e for e in c.events("web") if e[0] == "Warning"], c.events("web")


# --- who asks -------------------------------------------------------------------------------------------

def is_edited_to(c, cidr):
    return any(cidr in rule for rule in c.documents()["group nodes"]["IpPermissions"])


def test_instance_credentials__are_taken_and_renewed():
    with Cluster() as c:
        c.changed = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
        c.start()
        c.create("web", NLB)
        c.until_ready("web")
        assert c.calls()["metadata"], c.calls()
        before = sum(c.calls()["metadata"].values())
        c.fault(match={"op": "elbv2.DescribeLoadBalancers"}, count=1, do="refuse", status=403,
                body={"Code": "ExpiredToken", "Message": "The security token included in the request is expired"})
        c.patch("web", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}})
        c.until("it is edited", lambda: is_edited_to(c, "10.0.0.0/8"))
        assert sum(c.calls()["metadata"].values()) > before, c.calls()["metadata"]
        assert not [e for e in c.events("web") if e[0] == "Warning"], c.events("web")


def identity_token(path, subject, life_s=3600):
    with open(path, "w", encoding="utf-8") as f:
        f.write(aws_shapes.identity_token(subject, life_s))


def test_a_web_identity__is_read_again_when_its_keys_end():
    with Cluster() as c:
        path = os.path.join(c.folder, "token")
        identity_token(path, "system:serviceaccount:kube-system:first")
        c.changed = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "AWS_WEB_IDENTITY_TOKEN_FILE": path,
                     "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/trimtab"}
        c.start()
        c.create("web", NLB)
        c.until_ready("web")
        before = c.calls()["metadata"]
        assert any("AssumeRoleWithWebIdentity" in op for op in before), before
        identity_token(path, "system:serviceaccount:kube-system:second")
        c.fault(match={"op": "elbv2.DescribeLoadBalancers"}, count=1, do="refuse", status=403,
                body={"Code": "ExpiredToken", "Message": "The security token included in the request is expired"})
        c.patch("web", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}})
        c.until("it is edited", lambda: is_edited_to(c, "10.0.0.0/8"))
        after = c.calls()["metadata"]
        assert sum(after.values()) == sum(before.values()) + 1, (before, after)
        assert not [e for e in c.events("web") if e[0] == "Warning"], c.events("web")
        with open(path, encoding="utf-8") as f:
            assert f.read() not in c.log()


def edited_calls(c, cidr):
    """The calls of an edit; no event reports a refused call."""
    c.forget_calls()
    c.edit("web", {"spec": {"loadBalancerSourceRanges": [cidr]}})
    assert is_edited_to(c, cidr), c.documents()["group nodes"]
    assert not [e for e in c.events("web") if e[0] == "Warning"], c.events("web")
    return sum(c.calls()["aws"].values())


def run_with_clock(offset, way):
    """(calls of a creation, of an edit, of an edit after AWS' clock was set right)"""
    keys = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
    with Cluster(settings={"clock_offset_s": offset}) as c:
        if way == "web":
            path = os.path.join(c.folder, "token")
            identity_token(path, "system:serviceaccount:kube-system:trimtab", life_s=7200)
            keys.update(AWS_WEB_IDENTITY_TOKEN_FILE=path, AWS_ROLE_ARN="arn:aws:iam::123456789012:role/trimtab")
        c.changed = {} if way == "environment" else keys
        c.start()
        c.create("web", NLB)
        c.until_ready("web")
        made = sum(c.calls()["aws"].values())
        edited = edited_calls(c, "10.0.0.0/8")
        c.settings()
        return made, edited, edited_calls(c, "10.1.0.0/16")


def test_a_clock_that_is_off__is_found_out_and_kept_in_mind():
    """Ours is an hour behind or before AWS'; later AWS' is set right."""
    for way in ("environment", "instance", "web"):
        made, edited, again = run_with_clock(0, way)
        for offset in (3600, -3600):
            found = run_with_clock(offset, way)
            assert found[0] <= 2 * made, (way, offset, found, made)    # a refusal for each call that was under way at most
            assert found[1] == edited, (way, offset, found, edited)    # it is known by now
            assert found[2] <= 2 * again, (way, offset, found, again)


def test_keys_that_are_refused__are_told_without_their_secret():
    with Cluster() as c:
        c.changed = {"AWS_SECRET_ACCESS_KEY": "hunter2/not/the/secret"}
        c.start()
        c.create("web", NLB)
        c.until_event("web", "SyncLoadBalancerFailed")
        told = [e[2] for e in c.events("web") if e[0] == "Warning"]
        assert all("AuthFailure" in t or "SignatureDoesNotMatch" in t for t in told), told    # EC2 and the others
        assert "hunter2" not in c.log() and not any("hunter2" in e[2] for e in c.events("web"))
        assert not c.mutations(), c.mutations()


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
