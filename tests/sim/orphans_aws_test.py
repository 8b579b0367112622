#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab orphans on AWS: what is ours there without a Service, and its deletion.

    orphans_aws_test.py TRIMTAB_SIM TRIMTAB DATA [TEST…]     (TAP on stdout)

A cloud that the Go controller left, and clouds that trimtab itself was killed in.  What is listed must be all of it and nothing
else; deleting leaves exactly the rest, the rules in the groups of nodes included.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import aws_client  # noqa: E402  pylint: disable=wrong-import-position
import aws_shapes  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, DATA = sys.argv[1:3], sys.argv[3]
WORLD = os.path.join(DATA, "aws", "world.json")
NLB = {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}}


class Cluster(World):
    """A World with the command at hand."""

    def __init__(self, *sim_flags):
        self.own_flags = []
        if not sim_flags:
            sim_flags, self.own_flags = (f"--world={WORLD}",), ["--cluster-name=c1"]
        super().__init__(PROGRAMS, *sim_flags, cloud="aws")

    def cli(self, name, *args):
        command = [os.path.abspath(PROGRAMS[1]), name, "--cloud-provider=aws", f"--cloud-config={self.conf}/aws.conf",
                   f"--kubeconfig={self.kubeconfig}", *self.own_flags, *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=self.environment())

    def orphans(self, *args):
        done = self.cli("orphans", "-o", "json", *args)
        assert done.returncode in (0, 2), (done.returncode, done.stdout, done.stderr)
        document = json.loads(done.stdout)
        assert document["summary"]["orphans"] == len(document["orphans"]), document["summary"]
        assert (done.returncode == 2) == bool(document["orphans"]), done.returncode
        return document["orphans"], document["summary"]

    def documents(self):
        return aws_shapes.documents(self.must("GET", "/sim/state")["aws"])

    def drop_services(self, wanted=lambda name: True):
        """Services vanish as if somebody had taken their finalizers off."""
        state = self.must("GET", "/sim/state")
        services = state["kubernetes"]["services"]
        services[:] = [s for s in services if not wanted(s["metadata"]["name"])]
        self.must("PUT", "/sim/state", state)


def balancers(documents):
    """Everything that a balancer consists of; other groups, and rules in them, are not."""
    return {name for name in documents if not name.startswith("group ") or name.startswith("group k8s-")}


def node_rules(documents):
    return documents["group nodes"]["IpPermissions"]


def test_an_adopted_world__has_no_orphans():
    with Cluster() as c:
        c.forget_calls()
        done = c.cli("orphans")
        assert done.returncode == 0 and done.stdout.startswith("No orphans: "), done
        assert c.mutations() == {}, c.mutations()


def test_a_warning_about_the_cloud_config__does_not_count_as_a_kind_that_was_not_read():
    with Cluster() as c:
        with open(f"{c.conf}/aws.conf", "a", encoding="utf-8") as f:
            f.write("\n[Global]\nNoSuchKey = 1\n")
        done = c.cli("orphans")
        assert done.returncode == 0 and "NoSuchKey" in done.stderr, done
        assert done.stdout == "No orphans: all that is ours in the cloud has its Service.\n", done


def test_a_world_without_services__has_nothing_else():
    with Cluster() as c:
        before = c.documents()
        c.drop_services()
        found, summary = c.orphans()
        want = {n.split()[-1] for n in before if n.split()[0] in ("nlb", "classic") or n.startswith(("target group", "group k8s-"))}
        assert want <= {o["name"].split()[0] for o in found}, (want, [o["name"] for o in found])
        assert all(o["service"] for o in found if o["kind"] == "load balancer"), found
        assert summary["billed"] == 5, summary


def test_one_service_is_gone__its_resources_and_no_others():
    for name in ("nlb1", "clb2"):
        with Cluster() as c:
            before = c.documents()
            c.drop_services(lambda n, name=name: n == name)
            found, _ = c.orphans()
            assert found and {o["service"] for o in found} <= {f"default/{name}", None}, found
            left, _ = c.orphans("--delete", "--yes")
            assert left == [], left
            after = c.documents()
            gone = balancers(before) - balancers(after)
            assert gone and balancers(after) <= balancers(before), gone
            own = next(s["metadata"]["uid"] for s in json.load(open(WORLD, encoding="utf-8"))["kubernetes"]["services"]
                       if s["metadata"]["name"] == name)
            lb = ("a" + own.replace("-", ""))[:32]
            assert all(lb in n or f"k8s-default-{name}-" in n for n in gone), gone
            assert not any(lb in rule for rule in node_rules(after)), node_rules(after)
            planned = c.cli("plan")
            assert planned.returncode == 0, planned.stdout


def test_all_are_deleted__nothing_of_ours_is_left():
    with Cluster() as c:
        c.drop_services()
        left, _ = c.orphans("--delete", "--yes")
        assert left == [], left
        after = c.documents()
        assert balancers(after) == set(), balancers(after)
        assert node_rules(after) == [], node_rules(after)


def killed_after(action, meta, *, name="web"):
    """A cluster in which trimtab died after its Service's balancer was begun, and the Service is gone."""
    c = Cluster("--nodes=3")
    c.rules_before = node_rules(c.documents())
    c.fault(match={"op": action}, count=0, do="refuse", status=400, body={"code": "ValidationError"})
    c.start()
    c.create(name, meta)
    c.until_event(name, "SyncLoadBalancerFailed")
    c.kill()
    c.patch(name, {"metadata": {"finalizers": None}})
    c.delete(name)
    c.until_gone(name)
    c.heal()
    return c


def by_hand(c, orphan):
    """Does what the printed command of aws would do."""
    assert orphan["service"] is None and not orphan["deletable"], orphan
    words = orphan["command"].split()
    options = dict(zip(words[3::2], words[4::2]))
    params = {"GroupId": options["--group-id"]}
    if "--source-group" in options:
        params.update({"IpPermissions.1.IpProtocol": options["--protocol"],
                       "IpPermissions.1.Groups.1.GroupId": options["--source-group"]})
    elif "--port" in options:
        port = options["--port"].split("-")
        params.update({"IpPermissions.1.IpProtocol": options["--protocol"], "IpPermissions.1.FromPort": port[0],
                       "IpPermissions.1.ToPort": port[-1], "IpPermissions.1.IpRanges.1.CidrIp": options["--cidr"]})
    env = c.environment()
    client = aws_client.Client(c.url, env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"])
    status, answer = client.call(words[1], "".join(w.capitalize() for w in words[2].split("-")), params)
    assert status == 200, (orphan, answer.raw)


def test_killed_creates__are_found_and_deleted():
    for action, meta in (("elbv2.CreateListener", NLB), ("elbv2.CreateLoadBalancer", NLB), ("elb.CreateLoadBalancer", None),
                         ("elb.ConfigureHealthCheck", None)):
        with killed_after(action, meta) as c:
            assert balancers(c.documents()), action
            found, _ = c.orphans()
            assert found, action
            left, _ = c.orphans("--delete", "--yes")
            # Nobody can tell whose they were; a group goes when no rule names it.
            for o in sorted(left, key=lambda o: o["kind"] != "security group rule"):
                by_hand(c, o)
            assert balancers(c.documents()) == set(), (action, balancers(c.documents()))
            rules = [r for r in node_rules(c.documents()) if not r.endswith("/mtu")]    # all NLBs' together
            assert rules == c.rules_before, (action, rules)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
