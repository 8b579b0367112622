#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab takes over what the Go controller left in AWS, builds it anew, and edits it as it was edited under Go.

    aws_adoption_test.py TRIMTAB_SIM TRIMTAB DATA [TEST…]     (TAP on stdout)

The recorded world has three network balancers and two classic ones.  Taken over, nothing is written.  Built from nothing, all
at once, every document is as it was.  Played again, each recorded scenario says the same as the Go controller said, parameter by
parameter; what differs stands in a table with its reason, and a reason that is not met any more is a failure.
"""
import copy
import fnmatch
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import aws_shapes  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CLEANUP, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, DATA = sys.argv[1:3], sys.argv[3]
with open(f"{DATA}/aws/world.json", encoding="utf-8") as world_file:
    RECORDED = json.load(world_file)
FLAGS = RECORDED["flags"]
SERVICES = {s["metadata"]["name"]: s for s in RECORDED["kubernetes"]["services"]}
NODE = "i-68c9f5160ea427f60"    # the instance of the node that one scenario adds


def before_any(*services):
    """The recorded cluster and cloud before a controller did anything, with Services as their owners wrote them."""
    world = copy.deepcopy(RECORDED)
    ec2 = world["aws"]["ec2"]
    ec2["SecurityGroups"] = [g for g in ec2["SecurityGroups"] if not g["GroupName"].startswith("k8s-elb-")]
    for group in ec2["SecurityGroups"]:
        group["IpPermissions"] = []
    world["aws"] = {"ec2": ec2}
    world["kubernetes"]["services"] = [as_written(SERVICES[s]) for s in services]
    return world


def as_written(service, **spec):
    service = copy.deepcopy(service)
    service["metadata"].pop("finalizers", None)
    service["spec"].update(spec)
    service["status"] = {"loadBalancer": {}}
    return service


CHANGED, NODES = '"Service changed" service="default/{}"', '"Syncing backends for all LB services"'
DELETES = '"Deleting existing load balancer for service"'
BEGINS = ('"Ensuring load balancer for service"', '"Updating backends for load balancer"')


class Cluster(World):
    """A World from a document, with a traffic log that is read in pieces.  Ten seconds after a write trimtab looks again: on a busy
    machine such a sync may come at any time, and is not the one that an edit causes."""

    def __init__(self, world):
        self.document = tempfile.NamedTemporaryFile("w", suffix=".json")  # pylint: disable=consider-using-with
        json.dump(world, self.document)
        self.document.flush()
        self.traffic = self.document.name + ".log"
        self.read_to, self.begun = 0, 0
        super().__init__(PROGRAMS, f"--world={self.document.name}", f"--traffic-log={self.traffic}", cloud="aws")

    def __exit__(self, *args):
        super().__exit__(*args)
        os.unlink(self.traffic)
        self.document.close()

    def start(self, *flags):
        self.begun = 0
        return super().start(*FLAGS, *flags)

    def begin(self, at):
        """Lines logged from there on belong to the next step."""
        self.begun = at

    def until_synced(self, *names, cause=""):
        """Each of them by a sync that began after the log line `cause` of this step ended."""
        def ended(name):
            log = self.log()
            at = log.find(cause.format(name), self.begun)
            begins = [log.find(f'{line} service="default/{name}"', at) for line in BEGINS] if at >= 0 else []
            return any(b >= 0 and log.find(f'"Synced" service="default/{name}"', b) >= 0 for b in begins)
        for name in names:
            self.until(f"{name} is synced", lambda n=name: ended(n))

    def until_nodes_synced(self):
        """Each of them in this step, and as many after the pass as it found.  A look that began a moment before the pass may have
        taken the nodes as they are now; then the pass leaves its Service out."""
        def ended():
            log = self.log()[self.begun:]
            at = log.find(NODES)
            if at < 0:
                return False
            last = {n: max(log.rfind(f'{line} service="default/{n}"') for line in BEGINS) for n in SERVICES}
            over = [b >= 0 and log.find(f'"Synced" service="default/{n}"', b) >= 0 for n, b in last.items()]
            found = max(int(n) for n in re.findall(NODES + r" changed=(\d+)", log))
            return all(over) and sum(b > at for b in last.values()) >= found
        self.until("all are synced with the nodes", ended)

    def syncs(self):
        """How many have begun or ended in this step."""
        log = self.log()
        return max(log.count('"Synced"', self.begun), sum(log.count(line, self.begun) for line in (*BEGINS, DELETES)))

    def said(self):
        """The requests to AWS since the last call: (action, params, gave)."""
        with open(self.traffic, encoding="utf-8") as f:
            f.seek(self.read_to)
            lines = f.readlines()
            self.read_to = f.tell()
        return [aws_shapes.logged(json.loads(line)) for line in lines]

    def state(self):
        return self.must("GET", "/sim/state")


# --- taking over ----------------------------------------------------------------------------------------

def test_recorded_world__is_taken_over_without_a_write():
    with Cluster(RECORDED) as c:
        before = c.state()
        for _ in range(2):
            c.forget_calls()
            c.start()
            c.until_synced(*SERVICES)
            assert c.stop()[0] == 0    # events may come late
            calls = c.calls()
            assert c.mutations() == {}, calls["aws"]
            assert c.service_writes() == {}, calls["kubernetes"]
            assert not [op for op in calls["kubernetes"] if op.startswith("events")], calls["kubernetes"]
            assert sum(calls["aws"].values()) <= 20, calls["aws"]
        after = c.state()
        assert after["aws"] == before["aws"]
        assert after["kubernetes"]["services"] == before["kubernetes"]["services"]


# --- building -------------------------------------------------------------------------------------------

def differences(want, got):
    """Members of recorded documents that ours have otherwise, and documents that only one side has."""
    wrong = [f"{name}: {'missing' if name in want else 'not wanted'}" for name in sorted(want.keys() ^ got.keys())]
    for name in sorted(want.keys() & got.keys()):
        for member, value in want[name].items():
            if got[name].get(member) != value:
                wrong.append(f"{name}: {member}\n    want {json.dumps(value)}\n    got  {json.dumps(got[name].get(member))}")
    return wrong


def without_attributes(aws):
    """Attributes that nobody set are the cloud's, and moto's others; of listeners no tags were recorded."""
    return {name: d for name, d in aws_shapes.documents(aws).items()
            if not name.startswith(("nlb attr", "classic attr")) and not (name.startswith("tags ") and ":" in name)}


def test_recorded_services__are_built_as_they_were():
    with Cluster(before_any(*SERVICES)) as c:
        empty = aws_shapes.documents(c.state()["aws"])
        c.start()
        c.until_synced(*SERVICES)
        built = c.state()
        wrong = differences(without_attributes(RECORDED["aws"]), without_attributes(built["aws"]))
        assert not wrong, "\n".join(wrong)
        for service in built["kubernetes"]["services"]:
            assert service["metadata"]["finalizers"] == [CLEANUP], service
            assert service["status"]["loadBalancer"]["ingress"][0]["hostname"].endswith(".amazonaws.com"), service
        for name in SERVICES:
            c.delete(name)
        for name in SERVICES:
            c.until_gone(name)
        left = differences(empty, aws_shapes.documents(c.state()["aws"]))
        assert not left, "\n".join(left)


# --- playing again --------------------------------------------------------------------------------------

def first_ports(name):
    """Both kinds' first Service had port 443, until a scenario made it 8443."""
    ports = copy.deepcopy(SERVICES[name]["spec"]["ports"])
    for port in ports:
        port["port"] = 443 if port["port"] == 8443 else port["port"]
    return ports


def held_back(name):
    """No load balancer's Service yet, but with the name, the uid and the node ports of one."""
    service = as_written(SERVICES[name], ports=first_ports(name), type="NodePort")
    for member in ("healthCheckNodePort", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts"):
        service["spec"].pop(member, None)
    return service


def create(name):
    def act(c):
        spec = {m: SERVICES[name]["spec"][m] for m in ("type", "healthCheckNodePort") if m in SERVICES[name]["spec"]}
        c.patch(name, {"spec": spec})
        c.until_synced(name)
    return act


def edit(name, member):
    def act(c):
        c.patch(name, {"spec": {member: SERVICES[name]["spec"][member]}})
        c.until_synced(name, cause=CHANGED)
    return act


def restart(c):
    assert c.stop()[0] == 0
    c.start()
    c.until_synced(*SERVICES)


def add_node(c):
    c.must("POST", "/sim/nodes", {"count": 1})
    c.until_nodes_synced()


def remove_node(c):
    names = {n["metadata"]["name"] for n in RECORDED["kubernetes"]["nodes"]}
    new = [n["metadata"]["name"] for n in c.must("GET", "/api/v1/nodes")["items"] if n["metadata"]["name"] not in names]
    c.must("DELETE", f"/api/v1/nodes/{new[0]}")
    c.until_nodes_synced()


def delete(*names):
    def act(c):
        for name in names:
            c.delete(name)
        for name in names:
            c.until_gone(name)
            c.until("its end is logged", lambda n=name: c.log().find(f'"Synced" service="default/{n}" verb="delete"', c.begun) >= 0)
    return act


SCENARIOS = {
    "nlb-first-create-2-ports": create("nlb1"), "nlb-second-create": create("nlb2"), "nlb-local-create": create("nlbl"),
    "clb-first-create-2-ports": create("clb1"), "clb-second-create": create("clb2"), "restart-3-nlb-2-clb": restart,
    "nlb-port-change": edit("nlb1", "ports"), "nlb-source-ranges": edit("nlb2", "loadBalancerSourceRanges"),
    "clb-port-change": edit("clb1", "ports"), "clb-source-ranges": edit("clb2", "loadBalancerSourceRanges"),
    "node-added-3-nlb-2-clb": add_node, "node-removed-3-nlb-2-clb": remove_node,
    "nlb-delete": delete("nlb2"), "clb-delete": delete("clb2"), "delete-rest": delete("nlb1", "nlbl", "clb1"),
}


def syncs_of(scenario):
    """How many it takes."""
    return {"delete-rest": 3}.get(scenario, len(SERVICES) if "-3-nlb-2-clb" in scenario else 1)


AS_RECORDED = "node-removed-3-nlb-2-clb"    # after it, all is as in the recorded world

# Intended differences: (scenario, action, member) as globs, and why (docs/spec/aws.md).
MEANT = [
    ("*-create*", "CreateLoadBalancer", "SecurityGroups", "3.1: an empty list is not sent"),
    ("nlb-*-create*", "ModifyLoadBalancerAttributes", "", "9.1: moto leaves the attribute out, AWS has it"),
    ("clb-*", "ModifyLoadBalancerAttributes", "", "13 row 10: nothing to modify"),
    ("restart-*", "ModifyLoadBalancerAttributes", "", "13 row 10: nothing to modify"),
    ("*", "ModifyListener", "", "10.4: moto does not say what a listener forwards to, AWS does: nothing to modify"),
    ("*", "ModifyTargetGroup", "", "13 row 7: the path is as it should be"),
]


def compare(scenario, theirs, ours, met):
    """Lines that say what differs and is not meant."""
    wrong = []

    def note(key, member, want, got):
        meant = [i for i, (s, action, m, _) in enumerate(MEANT)
                 if fnmatch.fnmatch(scenario, s) and fnmatch.fnmatch(key[0], action) and fnmatch.fnmatch(member, m)]
        met.update(meant)
        if not meant:
            wrong.append(f"{scenario}: {key[0]} {key[1]}: {member}\n    want {want}\n    got  {got}")

    for key in sorted(theirs.keys() | ours.keys()):
        if key not in ours or key not in theirs:
            note(key, "", theirs.get(key, "nothing"), ours.get(key, "nothing"))
            continue
        want, got = theirs[key], ours[key]
        for member in sorted(want.keys() | got.keys()):
            if want.get(member) != got.get(member):
                note(key, member, want.get(member), got.get(member))
    return wrong


def recorded_scenarios():
    found = {}
    with open(f"{DATA}/aws/requests.jsonl", encoding="utf-8") as f:
        for line in f:
            entry = json.loads(line)
            found.setdefault(entry["scenario"], []).append(aws_shapes.recorded(entry))
    return found


def test_recorded_scenarios__say_the_same():
    recorded, wrong, met, calls = recorded_scenarios(), [], set(), []
    assert list(recorded) == list(SCENARIOS)
    theirs, ours = aws_shapes.Names({NODE: "the new node"}), aws_shapes.Names()
    world = before_any()
    world["kubernetes"]["services"] = [held_back(name) for name in SERVICES]
    with Cluster(world) as c:
        empty = aws_shapes.documents(c.state()["aws"])
        known = {i["InstanceId"] for r in RECORDED["aws"]["ec2"]["Reservations"] for i in r["Instances"]}
        c.start()
        c.begin(len(c.log()))
        for scenario, act in SCENARIOS.items():
            act(c)
            end = len(c.log())
            said = c.said()
            looks = c.syncs() - syncs_of(scenario)
            c.begin(end)    # a look that comes meanwhile may have been heard in either step: it counts in both
            if scenario == AS_RECORDED:
                wrong += differences(without_attributes(RECORDED["aws"]), without_attributes(c.state()["aws"]))
            if act is add_node:
                now = {i["InstanceId"] for r in c.state()["aws"]["ec2"]["Reservations"] for i in r["Instances"]}
                ours.known.update((i, "the new node") for i in now - known)
            calls.append((scenario, len(recorded[scenario]), len(said), looks))
            wrong += compare(scenario, aws_shapes.statements(recorded[scenario], theirs), aws_shapes.statements(said, ours), met)
        left = differences(empty, aws_shapes.documents(c.state()["aws"]))
    print("".join(f"# {s}: {n} calls, the Go controller {t}" + (f"; not compared: {looks} looks beside\n" if looks else "\n")
                  for s, t, n, looks in calls), end="")
    wrong += [f"{MEANT[i]} is not met any more" for i in range(len(MEANT)) if i not in met]
    assert not wrong, "\n".join(wrong)
    assert not left, "\n".join(left)
    assert all(looks or n <= t for _, t, n, looks in calls), calls


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
