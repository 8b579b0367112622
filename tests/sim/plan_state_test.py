#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab plan --state: a recorded cluster and cloud as a file, in place of both, without any network.

    plan_state_test.py TRIMTAB DATA      (TAP on stdout)

Every address that a provider could ask (API, metadata server) is a closed port, so whatever asked one would fail.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM, DATA = sys.argv[1:3]
NOWHERE = "http://127.0.0.1:1"
WORLD = os.path.join(DATA, "gce", "world-legacy.json")
with open(WORLD, encoding="utf-8") as world_file:
    RECORDED = json.load(world_file)
SERVICES = {s["metadata"]["name"]: s for s in RECORDED["kubernetes"]["services"]}
EXTERNAL = sorted(n for n in SERVICES if n.startswith("ext-"))


def address(name):
    return SERVICES[name]["status"]["loadBalancer"]["ingress"][0]["ip"]


def plan(*args, world=None, manifest=None):
    """(exit status, stdout, stderr); `world` and `manifest` are trees that are written to files."""
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return path
        command = [PROGRAM, "plan", "--cloud-provider=gce", "--cluster-name=c1",
                   "--cloud-config=" + write("gce.conf", RECORDED["cloud_config"].replace("<endpoint>", NOWHERE)),
                   "--state=" + (WORLD if world is None else write("world.json", json.dumps(world)))]
        if manifest is not None:
            command += ["-f", write("edit.json", json.dumps(manifest))]
        env = {"PATH": os.environ["PATH"], "HOME": folder, "GCE_METADATA_HOST": "127.0.0.1:1"}
        done = subprocess.run(command + list(args), env=env, capture_output=True, text=True, timeout=180, check=False)
        return done.returncode, done.stdout, done.stderr


def edited(name, **spec):
    service = json.loads(json.dumps(SERVICES[name]))
    service.update(apiVersion="v1", kind="Service")
    service["spec"].update(spec)
    return service


def operations(*args, **kwargs):
    status, out, err = plan("-o", "json", *args, **kwargs)
    assert status in (0, 2), err
    document = json.loads(out)
    changes = [(o["verb"], o["kind"], o["name"]) for s in document["services"] for o in s["operations"] or []
               if o["verb"] != "keep"]
    assert status == (2 if changes else 0), (status, changes)
    return document, changes


def test_recorded_services__are_up_to_date():
    status, out, err = plan()
    assert status == 0, (status, err)
    lines = out.splitlines()
    assert re.fullmatch(r"%d Services are up to date \(\d+ resources checked\)\." % len(SERVICES), lines[0]), out
    assert lines[-1] == "Plan: nothing to do.", out


def test_the_world_of_both_controllers__is_up_to_date():
    with open(os.path.join(DATA, "gce", "world-both.json"), encoding="utf-8") as f:
        document, changes = operations(world=json.load(f))
    assert changes == []
    planned = {s["service"] for s in document["services"] if "left_alone" not in s}
    assert planned == {"default/ext-cluster", "default/ext-local", "default/ext-standard-tier"}, planned


def test_an_edit__is_shown_as_a_diff():
    status, out, err = plan(manifest=edited("ext-ranges", loadBalancerSourceRanges=["172.16.0.0/12"]))
    assert status == 2, (status, err)
    before = SERVICES["ext-ranges"]["spec"]["loadBalancerSourceRanges"]
    assert out.splitlines()[0].startswith("Service default/ext-ranges") and address("ext-ranges") in out, out
    assert "because spec.loadBalancerSourceRanges changed" in " ".join(out.split()), out
    for item in ["- " + r for r in before] + ["+ 172.16.0.0/12"]:
        assert item in out, (item, out)
    assert "0 to create, 1 to change, 0 to delete" in out and "The address stays." in " ".join(out.split()), out
    assert "ext-cluster" not in out, out


def test_an_edit_of_a_port__keeps_the_address_by_holding_it():
    ports = json.loads(json.dumps(SERVICES["ext-cluster"]["spec"]["ports"]))
    ports[0]["port"] = 8080
    _, changes = operations(manifest=edited("ext-cluster", ports=ports))
    kinds = [(verb, kind) for verb, kind, _ in changes]
    assert sorted(kinds) == sorted([("create", "address"), ("change", "firewall"), ("delete", "forwarding rule"),
                                    ("create", "forwarding rule"), ("delete", "address")]), kinds
    assert kinds.index(("create", "address")) < kinds.index(("delete", "forwarding rule")), kinds
    assert kinds.index(("create", "forwarding rule")) < kinds.index(("delete", "address")), kinds


def test_a_cloud_without_load_balancers__has_all_of_them_to_be_made():
    world = json.loads(json.dumps(RECORDED))
    lost = ("forwardingRules", "targetPools", "firewalls", "httpHealthChecks")
    world["gce"] = {p: r for p, r in world["gce"].items() if p.split("/")[-2] not in lost}
    world["kubernetes"]["services"] = [SERVICES["ext-local"]]
    document, changes = operations(world=world)
    kinds = sorted(kind for verb, kind, _ in changes if verb == "create")
    assert kinds == ["address", "firewall", "firewall", "forwarding rule", "health check", "target pool"], changes
    assert document["services"][0]["service"] == "default/ext-local"


def fresh_world():
    """A cluster that no controller has served: without load balancers, and without the ConfigMap of the cluster's id."""
    world = json.loads(json.dumps(RECORDED))
    kept = ("networks", "subnetworks", "instances", "zones", "regions")
    world["gce"] = {p: r for p, r in world["gce"].items() if len(p.split("/")) < 2 or p.split("/")[-2] in kept}
    world.pop("members", None)
    world["kubernetes"].pop("configmaps", None)
    world["kubernetes"]["services"] = []
    return world


def internal_service(name):
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "demo", "uid": "00000000-0000-4000-8000-%012d" % len(name),
                         "annotations": {"networking.gke.io/load-balancer-type": "Internal"}},
            "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80, "nodePort": 30000 + len(name)}]}}


def test_a_fresh_cluster__does_not_ask_for_the_stand_in_of_its_id():
    document, changes = operations(world=fresh_world(), manifest=internal_service("web"))
    kinds = sorted({kind for verb, kind, _ in changes if verb == "create"})
    assert kinds == ["address", "backend service", "firewall", "forwarding rule", "health check"], changes
    assert any("(new-cluster-id)" in name for _, _, name in changes), changes
    assert "error" not in document["services"][0], document


def test_many_services__count_what_they_share_once():
    services = [internal_service("w" * n) for n in range(1, 41)]
    one, _ = operations(world=fresh_world(), manifest=services[0])
    many, changes = operations(world=fresh_world(), manifest={"apiVersion": "v1", "kind": "List", "items": services})
    shared = {c for c in changes if "(new-cluster-id)" in c[2]}
    own = one["summary"]["create"] - len(shared)
    assert many["summary"]["create"] == len(shared) + own * len(services), (one["summary"], many["summary"])
    check = next(o for o in many["services"][7]["operations"] if o["kind"] == "health check")
    assert len(check["owners"]) == len(services), check


def test_shared_checks_of_both_scopes__count_as_two():
    flags = ["--run-l4-controller", "--enable-l4-neg", "--run-l4-netlb-controller"]
    outside = internal_service("outside")
    outside["metadata"]["annotations"] = {"cloud.google.com/l4-rbs": "enabled"}
    services = [internal_service("web"), outside]
    _, changes = operations(*flags, world=fresh_world(), manifest={"apiVersion": "v1", "kind": "List", "items": services})
    shared = {c for c in changes if c[:2] == ("create", "firewall") and c[2].endswith("l4-shared-hc-fw")}
    checks = [c for c in changes if c[1] == "health check"]
    assert len(checks) == 2 and len(set(checks)) == 1 and len(shared) == 1, changes


def test_json__has_the_shape_that_is_promised():
    document, _ = operations(manifest=edited("ext-ranges", loadBalancerSourceRanges=["172.16.0.0/12"]))
    assert set(document) >= {"services", "summary"}, document
    assert all(isinstance(document["summary"][m], int) for m in ("create", "change", "delete", "waves", "calls"))
    assert document["summary"]["change"] == 1 and document["summary"]["waves"] == 1, document["summary"]
    for service in document["services"]:
        assert set(service) >= {"service", "address", "because", "operations"}, service
        assert service["address"] == address("ext-ranges")
        assert service["because"] and all(isinstance(b, str) for b in service["because"])
        for operation in service["operations"]:
            assert set(operation) >= {"n", "verb", "kind", "name", "wave", "why", "owners", "fields"}, operation
            assert operation["verb"] in ("create", "change", "delete", "keep"), operation
            assert operation["owners"] == ["default/ext-ranges"], operation
            assert operation["verb"] == "keep" or (operation["why"] and operation["wave"] >= 1), operation
            for field in operation["fields"]:
                assert set(field) >= {"path", "old", "new"}, field
    fields = [f for s in document["services"] for o in s["operations"] for f in o["fields"]]
    before = SERVICES["ext-ranges"]["spec"]["loadBalancerSourceRanges"]
    assert {f["path"] for f in fields} == {"sourceRanges"}, fields
    assert sorted(f["old"] for f in fields if f["old"] is not None) == sorted(before), fields
    assert [f["new"] for f in fields if f["new"] is not None] == ["172.16.0.0/12"], fields


def test_services_of_other_controllers__have_no_operations():
    with open(os.path.join(DATA, "gce", "world-both.json"), encoding="utf-8") as f:
        document, _ = operations(world=json.load(f))
    for service in document["services"]:
        external = service["service"].split("/")[1].startswith("ext-")
        assert ("left_alone" not in service) == external, service
        assert external or service["operations"] == [], service


def test_a_state_that_is_none__is_an_error_of_one_line():
    for text, word in (("{", "line 1"), ("[]", "want a saved state"), ("{}", "project-id and local-zone")):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write(text)
            f.flush()
            done = subprocess.run([PROGRAM, "plan", "--cloud-provider=gce", "--state=" + f.name], capture_output=True,
                                  text=True, timeout=180, check=False)
        assert done.returncode == 1, (text, done)
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
        assert word in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
