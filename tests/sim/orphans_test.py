#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab orphans: what is ours in a cloud without a Service, and its deletion.

    orphans_test.py TRIMTAB_SIM TRIMTAB DATA [TEST…]     (TAP on stdout)

Clouds that the Go controllers left, and clouds that trimtab itself was killed in.  What is listed must be all of it and
nothing else: an adopted world has no orphans; a world without its Services has nothing but orphans, its owner's own
addresses aside; and deleting leaves exactly the rest.
"""
import json
import os
import pty
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CONFIG, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
DATA = sys.argv[3]
WORLDS = {"gce": ("world-legacy", "world-both", "world-l4", "world-l4-netlb-neg", "world-l4-dual-internal",
                  "world-l4-dual-external"),
          "azure": ("world-nic", "world-availability-sets", "world-node-ip")}
PIECES = ("addresses", "forwardingRules", "targetPools", "firewalls", "httpHealthChecks", "backendServices",
          "healthChecks", "networkEndpointGroups", "instanceGroups")


class Cluster(World):
    """A World from a file, with its flags at hand."""

    def __init__(self, cloud, name=None, *sim_flags):
        self.own_flags = []
        if name is not None:
            path = os.path.join(DATA, cloud, name + ".json")
            with open(path, encoding="utf-8") as f:
                self.own_flags = json.load(f).get("flags", [])
            sim_flags = (f"--world={path}", *sim_flags)
        super().__init__(PROGRAMS, *sim_flags, cloud=cloud)

    def command(self, name, *args):
        return [os.path.abspath(PROGRAMS[1]), name, f"--cloud-provider={self.cloud_name}",
                f"--cloud-config={self.conf}/{CONFIG[self.cloud_name]}", f"--kubeconfig={self.kubeconfig}",
                *self.own_flags, *args]

    def cli(self, name, *args, stdin=""):
        return subprocess.run(self.command(name, *args), input=stdin, capture_output=True, text=True, check=False,
                              timeout=120, env=self.environment())

    def orphans(self, *args):
        """(exit status, list, summary)"""
        done = self.cli("orphans", "-o", "json", *args)
        assert done.returncode in (0, 2), (done.returncode, done.stdout, done.stderr)
        document = json.loads(done.stdout)
        assert document["summary"]["orphans"] == len(document["orphans"]), document["summary"]
        assert (done.returncode == 2) == bool(document["orphans"]), done.returncode
        return done.returncode, document["orphans"], document["summary"]

    def pieces(self):
        """Paths of all load-balancer resources of the project."""
        state = self.must("GET", "/sim/state")["gce"]
        return {path for path in state if path.split("/")[-2] in PIECES}

    def change(self, edit):
        state = self.must("GET", "/sim/state")
        edit(state)
        self.must("PUT", "/sim/state", state)

    def drop_services(self, wanted=lambda name: True):
        """Services vanish as if somebody had taken their finalizers off; returns how many are left."""
        def edit(state):
            services = state["kubernetes"]["services"]
            services[:] = [s for s in services if not wanted(s["metadata"]["name"])]
        self.change(edit)


def is_owners(path):
    return path.split("/")[-1].startswith("mine-")


# --- what is listed -------------------------------------------------------------------------------------

def test_adopted_worlds__have_no_orphans():
    for cloud, names in WORLDS.items():
        for name in names:
            with Cluster(cloud, name) as c:
                c.forget_calls()
                done = c.cli("orphans")
                assert done.returncode == 0, (name, done.stdout, done.stderr)
                assert done.stdout == "No orphans: all that is ours in the cloud has its Service.\n", done.stdout
                assert c.mutations() == {}, (name, c.mutations())
                assert not any(op.split(".")[-1] in ("create", "update", "patch", "delete")
                               for op in c.calls()["kubernetes"]), c.calls()["kubernetes"]


def test_kinds_that_may_not_be_read__are_not_said_to_have_none():
    with Cluster("gce", WORLDS["gce"][0]) as c:
        c.fault(match={"op": "compute.forwardingRules.list"}, count=0, do="refuse", status=403)
        done = c.cli("orphans")
        assert done.returncode == 0 and done.stderr.startswith("warning: not looked at: forwarding rule: "), done
        rest = " among what could be read; the warnings say what could not.\n"
        assert done.stdout == "No orphans" + rest, done
        done = c.cli("orphans", "default/ext-cluster")
        assert done.stdout == "No orphans of default/ext-cluster" + rest, done
        done = c.cli("orphans", "-n", "default")
        assert done.stdout == "No orphans of Services of the namespace default" + rest, done


def test_worlds_without_their_services__have_nothing_else():
    for name in WORLDS["gce"]:
        with Cluster("gce", name) as c:
            c.drop_services()
            _, found, summary = c.orphans()
            # There is no Ingress, so that the instance groups are nobody's, either.
            want = {path.split("/")[-1] for path in c.pieces() if not is_owners(path)}
            assert {o["name"] for o in found} == want, (name, want ^ {o["name"] for o in found})
            assert summary["unsure"] == 0, summary
            assert summary["billed"] == sum(o["kind"] in ("forwarding rule", "address") for o in found), summary


def test_one_service_is_gone__its_resources_and_no_others():
    with Cluster("gce", "world-legacy") as c:
        uid = c.get("ext-local")["metadata"]["uid"].replace("-", "")[:31]
        c.drop_services(lambda name: name == "ext-local")
        _, found, _ = c.orphans()
        assert found and all(uid in o["name"] and o["service"] == "default/ext-local" for o in found), found
        assert {o["kind"] for o in found} >= {"forwarding rule", "target pool", "firewall", "health check"}, found
        assert all(o["deletable"] and o["command"].startswith("gcloud compute ") for o in found), found
        for word in ("default/ext-cluster", "ext-cluster"):             # the cloud holds the orphans of another Service
            done = c.cli("orphans", word)
            assert (done.returncode, done.stdout) == (0, "No orphans of default/ext-cluster.\n"), (word, done)


def test_a_service_that_is_none_any_more__counts_until_it_is_cleaned_up():
    def edit(state):
        for s in state["kubernetes"]["services"]:
            if s["metadata"]["name"] in ("ext-local", "ext-cluster"):
                s["spec"]["type"] = "ClusterIP"
            if s["metadata"]["name"] == "ext-cluster":
                s["metadata"]["finalizers"] = []
    with Cluster("gce", "world-legacy") as c:
        c.change(edit)
        _, found, _ = c.orphans()
        assert {o["service"] for o in found} == {"default/ext-cluster"}, found


def test_a_service_came_back_as_a_target_pool__what_the_older_one_had_goes_and_nothing_else():
    flags = ["--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg", "--enable-l4-netlb-neg",
             "--enable-l4-netlb-neg-default"]
    for note in ("cloud.google.com/l4-rbs: enabled", "networking.gke.io/load-balancer-type: Internal"):
        with Cluster("gce", None, "--nodes=2") as c:
            c.own_flags = flags
            c.start(*flags).create("web", {"annotations": dict([note.split(": ")])})
            c.until_made("web")
            c.stop()
            older = c.pieces()
            c.drop_services()
            c.create("web")
            c.start(*flags).until_made("web")
            c.stop()
            own = c.pieces() - older
            _, found, _ = c.orphans()
            assert {o["service"] for o in found} == {"default/web"} and all(o["deletable"] for o in found), found
            assert not any(path.endswith("/" + o["name"]) for o in found for path in own), (found, own)
            done = c.cli("orphans", "--delete", "--yes")
            assert done.returncode == 0 and c.pieces() == own, (note, done, c.pieces() ^ own)


RBS = {"annotations": {"cloud.google.com/l4-rbs": "enabled"}}
INTERNAL = {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}
L4_FLAGS = ["--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg", "--enable-l4-netlb-neg",
            "--enable-l4-netlb-neg-default"]


def test_a_service_came_back__the_rule_of_the_older_one_goes_first_as_planned():
    for meta, protocol in ((RBS, "TCP"), (RBS, "UDP"), (INTERNAL, "TCP")):
        with Cluster("gce", None, "--nodes=2") as c:
            c.own_flags = L4_FLAGS
            c.start(*L4_FLAGS).create("web", RBS)
            older_ip = c.until_made("web")
            c.stop()
            older = set(c.cloud("forwardingRules"))
            c.drop_services()
            c.create("web", meta, ports=[{"port": 80, "protocol": protocol}])
            planned = c.cli("plan")
            assert f"The address {older_ip}, which an older Service of this name left, is given up." in planned.stdout, planned
            c.start(*L4_FLAGS)
            c.until_made("web")
            assert len(c.cloud("forwardingRules")) == 1 and not older & set(c.cloud("forwardingRules")), c.pieces()
            c.stop()
            assert c.orphans()[1] == [], (meta, c.orphans())
            assert c.cli("plan").returncode == 0, c.cli("plan")
            c.start(*L4_FLAGS)
            c.delete("web")
            c.until_gone("web")
            assert not c.cloud("forwardingRules") and not c.cloud("backendServices"), c.pieces()


def test_a_service_came_back__it_gets_the_reserved_address_of_the_older_one():
    ip = "203.0.113.200"

    def reserve(state):
        state["gce"]["projects/trimtab-sim/regions/us-central1/addresses/mine-static"] = {
            "name": "mine-static", "address": ip, "status": "RESERVED", "addressType": "EXTERNAL", "networkTier": "PREMIUM"}
    with Cluster("gce", None, "--nodes=2") as c:
        c.change(reserve)
        c.start(*L4_FLAGS).create("web", RBS, loadBalancerIP=ip)
        assert c.until_made("web") == ip
        c.stop()
        c.drop_services()
        c.create("web", RBS, loadBalancerIP=ip)
        c.start(*L4_FLAGS)
        assert c.until_made("web") == ip
        assert len(c.cloud("forwardingRules")) == 1, c.pieces()


def test_another_controller_left_the_older_ones_rule__it_does_not_hold_up_the_deletion():
    with Cluster("gce", None, "--nodes=2") as c:
        c.start(*L4_FLAGS).create("web", RBS)
        c.until_made("web")
        c.stop()

        def add_older(state):
            (path, rule), = ((p, r) for p, r in state["gce"].items() if "/forwardingRules/" in p)
            name = "a0123456789abcdef0123456789abcde"
            state["gce"][path.replace(rule["name"], name)] = {
                **rule, "name": name, "IPAddress": "203.0.113.77",
                **{key: rule[key].replace(rule["name"], name) for key in ("selfLink",) if key in rule}}
        c.change(add_older)
        assert len(c.cloud("forwardingRules")) == 2, c.pieces()
        c.start(*L4_FLAGS)
        c.delete("web")
        c.until_gone("web")
        assert not c.cloud("forwardingRules") and not c.cloud("backendServices"), c.pieces()


def test_another_clusters_resources__are_not_listed():
    def edit(state):
        kube = state["kubernetes"]
        kube["services"] = []
        for o in kube["configmaps"] + kube["namespaces"]:
            if o["metadata"]["name"] == "ingress-uid":
                o["data"] = {key: "0123456789abcdef" for key in o["data"]}
            if o["metadata"]["name"] == "kube-system":
                o["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
        kube["nodes"] = kube["nodes"][:1]
        kube["nodes"][0]["metadata"]["name"] = "somewhere-else"
    for name in WORLDS["gce"]:
        with Cluster("gce", name) as c:
            c.change(edit)
            _, found, _ = c.orphans()
            # A resource that names no cluster may be ours; it is reported as unsure, never as more.
            assert all(o["unsure"] for o in found), [o for o in found if not o["unsure"]]
            assert not any(o["name"].startswith("k8s2-") or "-node" in o["name"] for o in found), found


def azure_parts(c):
    """(kind of array, name) of every part of a balancer, and of public IPs."""
    found = set()
    for path, o in c.must("GET", "/sim/state")["azure"].items():
        kind = path.lower().split("/")[-2]
        if kind == "publicipaddresses":
            found.add(("pip", o["name"]))
        if kind == "loadbalancers":
            for array in ("frontendIPConfigurations", "loadBalancingRules", "probes"):
                found |= {(array, p["name"]) for p in o["properties"].get(array) or []}
    return found


def test_azure__worlds_without_their_services__have_nothing_else():
    words = {"frontend": "frontendIPConfigurations", "load-balancing rule": "loadBalancingRules",
             "health probe": "probes", "public IP": "pip"}
    for name in WORLDS["azure"]:
        with Cluster("azure", name) as c:
            c.drop_services()
            _, found, _ = c.orphans()
            got = {(words[o["kind"]], o["name"]) for o in found if o["kind"] != "security rule"}
            want = {(kind, n) for kind, n in azure_parts(c) if kind != "pip" or n.startswith("c1-a")}
            assert got == want, (name, got ^ want)
            assert all(o["command"].startswith("az network ") for o in found), found


def test_azure__delete__leaves_exactly_the_rest():
    for name in WORLDS["azure"]:
        with Cluster("azure", name) as c:
            services = sorted(s["metadata"]["name"] for s in c.must("GET", c.services())["items"]
                              if s["spec"]["type"] == "LoadBalancer")
            gone = set(services[::2])
            c.drop_services(lambda n, gone=gone: n in gone)
            before = azure_parts(c)
            _, found, _ = c.orphans()
            names = {o["name"] for o in found if o["deletable"]}
            assert names, found
            done = c.cli("orphans", "--delete", "--yes")
            assert done.returncode in (0, 2), (name, done.stdout, done.stderr)
            _, left, _ = c.orphans()
            assert all(not o["deletable"] for o in left), (name, [o for o in left if o["deletable"]])
            assert azure_parts(c) == {(k, n) for k, n in before if n not in names}, (name, azure_parts(c) ^ before)
            planned = c.cli("plan")
            assert planned.returncode == 0, (name, planned.stdout)


# --- deleting --------------------------------------------------------------------------------------------

def test_delete__leaves_exactly_the_rest():
    for name in WORLDS["gce"]:
        with Cluster("gce", name) as c:
            services = sorted(s["metadata"]["name"] for s in c.must("GET", c.services())["items"])
            gone = set(services[::2])
            before = c.pieces()
            c.drop_services(lambda n, gone=gone: n in gone)
            _, found, _ = c.orphans()
            names = {o["name"] for o in found}
            assert found and all(o["deletable"] for o in found), (name, [o for o in found if not o["deletable"]])
            _, left, summary = c.orphans("--delete", "--yes")
            assert left == [] and summary["deleted"] == len(found), (name, left, summary)
            rest = {p for p in before if p.split("/")[-1] not in names}
            assert c.pieces() <= rest, (name, c.pieces() - rest)
            # A shared resource goes with the last Service that needs it, as in the controller.
            shared = {p.split("/")[-1] for p in rest - c.pieces()}
            assert all("-node" in n or "-l4-shared-hc" in n for n in shared), (name, shared)
            planned = c.cli("plan")
            assert planned.returncode == 0, (name, planned.stdout)


def test_delete__all_services_gone__what_is_shared_is_told():
    with Cluster("gce", "world-legacy") as c:
        c.drop_services()
        _, left, _ = c.orphans("--delete", "--yes")
        assert all(not o["deletable"] and o["command"] and o["service"] is None for o in left), left
        rest = {p.split("/")[-1] for p in c.pieces() if not is_owners(p) and "/k8s-ig" not in p}
        assert rest == {o["name"] for o in left}, (rest, left)


def test_killed_create__is_found_and_deleted():
    with Cluster("gce", None, "--nodes=3") as c:
        c.fault(match={"op": "compute.forwardingRules.insert"}, count=0, do="refuse", status=400)
        c.start()
        c.create("web")
        c.until_event("web", "SyncLoadBalancerFailed")
        c.kill()
        c.patch("web", {"metadata": {"finalizers": None}})
        c.delete("web")
        c.until_gone("web")
        c.heal()
        before = {p.split("/")[-2] for p in c.pieces()}
        assert before >= {"targetPools", "firewalls", "httpHealthChecks"}, before
        _, found, _ = c.orphans()
        assert {o["kind"] for o in found if o["deletable"]} >= {"target pool", "firewall"}, found
        _, left, _ = c.orphans("--delete", "--yes")
        assert all(o["service"] is None for o in left), left
        assert {p.split("/")[-2] for p in c.pieces()} <= {"firewalls", "httpHealthChecks"}, c.pieces()


def test_a_lone_address__is_deleted_only_by_its_name():
    name = "a0123456789abcdef0123456789abcde"

    def edit(state):
        state["gce"]["projects/p1/regions/us-central1/addresses/" + name] = {
            "name": name, "address": "203.0.113.99", "status": "RESERVED", "addressType": "EXTERNAL",
            "networkTier": "PREMIUM", "creationTimestamp": "2026-01-02T03:04:05.000-00:00",
            "description": '{"kubernetes.io/service-name":"shop/old"}'}
    with Cluster("gce", "world-legacy") as c:
        c.change(edit)
        _, found, summary = c.orphans()
        assert [(o["name"], o["unsure"], o["service"]) for o in found] == [(name, True, "shop/old")], found
        assert summary["unsure"] == 1 and found[0]["created"] == "2026-01-02T03:04:05Z", found
        _, left, summary = c.orphans("--delete", "--yes")
        assert len(left) == 1 and summary["deleted"] == 0, left
        _, left, summary = c.orphans("--delete", "--yes", name)
        assert left == [] and summary["deleted"] == 1, left


def test_delete__asks_on_a_terminal_and_refuses_without_one():
    with Cluster("gce", "world-legacy") as c:
        c.drop_services(lambda name: name == "ext-local")
        _, found, _ = c.orphans()
        done = c.cli("orphans", "--delete")
        assert done.returncode == 1 and "pass --yes to skip the question" in done.stderr, done
        assert c.mutations() == {}, c.mutations()
        for answer, status, text in (("7777\n", 1, "nothing has been deleted"),
                                     (f"{len(found)}\n", 0, f"No orphans are left: {len(found)} deleted.")):
            pid, fd = pty.fork()
            if pid == 0:
                argv = c.command("orphans", "--delete", "--no-color")
                os.execve(argv[0], argv, c.environment())
            os.write(fd, answer.encode())
            out = b""
            while True:
                try:
                    piece = os.read(fd, 4096)
                except OSError:
                    break
                if not piece:
                    break
                out += piece
            os.close(fd)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status, out.decode()
            assert text in out.decode(), out.decode()


def test_delete__a_controller_that_runs_keeps_it_off():
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
             "spec": {"holderIdentity": "host-1_abc", "leaseDurationSeconds": 15,
                      "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2099-01-01T00:00:00.000000Z"}}
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    with Cluster("gce", "world-legacy") as c:
        c.drop_services(lambda name: name == "ext-local")
        c.must("POST", path, lease)
        done = c.cli("orphans", "--delete", "--yes")
        assert done.returncode == 1, done
        assert '"host-1_abc" holds the lease kube-system/cloud-controller-manager' in done.stderr, done.stderr
        assert c.mutations() == {}, c.mutations()
        _, left, _ = c.orphans("--delete", "--yes", "--force")
        assert left == [], left


def test_delete__what_fails_is_told_and_the_rest_is_deleted():
    with Cluster("gce", "world-legacy") as c:
        c.drop_services(lambda name: name in ("ext-local", "ext-ranges"))
        rule = [o for o in c.orphans()[1] if o["service"] == "default/ext-local" and o["kind"] == "forwarding rule"][0]
        c.fault(match={"op": "compute.forwardingRules.delete", "path": "*" + rule["name"]}, count=0, do="refuse",
                status=403)
        done = c.cli("orphans", "--delete", "--yes")
        assert done.returncode == 1, done
        assert "error: Service default/ext-local: " in done.stderr, done.stderr
        _, left, _ = c.orphans()
        assert {o["service"] for o in left} == {"default/ext-local"}, left


def test_a_saved_state__cannot_be_changed():
    world = os.path.join(DATA, "gce", "world-legacy.json")
    with open(world, encoding="utf-8") as f:
        tree = json.load(f)
    tree["kubernetes"]["services"] = []
    with Cluster("gce") as c:
        path = os.path.join(c.folder, "state.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(tree, f)
        command = [os.path.abspath(PROGRAMS[1]), "orphans", "--cloud-provider=gce", f"--state={path}",
                   f"--cloud-config={c.conf}/gce.conf"]
        env = {"PATH": os.environ["PATH"], "HOME": c.folder, "GCE_METADATA_HOST": "127.0.0.1:1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env=env)
        assert done.returncode == 2 and "have no Service" in done.stdout, done
        wide = [line for line in done.stdout.splitlines() if len(line) > 100 and "by hand:" not in line]
        assert not wide, wide
        done = subprocess.run([*command, "--delete", "--yes"], capture_output=True, text=True, check=False, timeout=180,
                              env=env)
        assert done.returncode == 1 and "a saved state cannot be changed" in done.stderr, done


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
