#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab's commands on a recorded AWS: plan, explain, check-config, rbac.

    plan_aws_test.py TRIMTAB DATA [TEST…]      (TAP on stdout)

The cloud is a recorded world (--state); the endpoints of the configuration are a closed port, and there are no credentials.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM, DATA = os.path.abspath(sys.argv[1]), sys.argv[2]
WORLD = os.path.join(DATA, "aws", "world.json")
with open(WORLD, encoding="utf-8") as world_file:
    RECORDED = json.load(world_file)
PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
NLB = {PREFIX + "type": "nlb"}


def run(command, *args, manifests=(), config=RECORDED["cloud_config"]):
    """(exit status, stdout, stderr)"""
    with tempfile.TemporaryDirectory() as folder:
        argv = [PROGRAM, command, "--cloud-provider=aws", *args]
        if config is not None:
            path = os.path.join(folder, "aws.conf")
            with open(path, "w", encoding="utf-8") as f:
                f.write(config.replace("<endpoint>", "http://127.0.0.1:1"))
            argv.append("--cloud-config=" + path)
        for i, manifest in enumerate(manifests):
            path = os.path.join(folder, f"{i}.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(manifest, f)
            argv += ["-f", path]
        env = {"PATH": os.environ["PATH"], "HOME": folder}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=180, check=False, cwd=folder)
        return done.returncode, done.stdout, done.stderr


def plan(*args, **kw):
    return run("plan", "--state=" + os.path.abspath(WORLD), "--cluster-name=c1", *args, **kw)


def service(name, annotations=(), **spec):
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "default", "annotations": dict(annotations)},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}], **spec}}


def recorded(name, **spec):
    """A Service of the recorded cluster, edited."""
    found = next(s for s in RECORDED["kubernetes"]["services"] if s["metadata"]["name"] == name)
    found = json.loads(json.dumps(found))
    found["spec"].update(spec)
    return found


def operations(*args, manifests):
    """[(verb, kind, wave)] of the only Service, and the document."""
    status, out, err = plan("-o", "json", *args, manifests=manifests)
    assert status == 2, (status, out, err)
    document = json.loads(out)
    return [(o["verb"], o["kind"], o["wave"]) for o in document["services"][0]["operations"] if o["verb"] != "keep"], document


# --- plan -----------------------------------------------------------------------------------------------

def test_the_recorded_cluster__is_up_to_date():
    status, out, err = plan()
    assert status == 0, (status, out, err)
    lines = out.splitlines()
    assert lines[-1] == "Plan: nothing to do." and len(lines) == 6, out
    assert all("up to date (" in line and ".amazonaws.com " in line for line in lines[:-1]), out


def test_a_new_nlb__is_made_in_two_waves():
    found, document = operations(manifests=[service("one", NLB)])
    assert found == [("create", "load balancer", 1), ("create", "target group", 1), ("change", "security group", 1),
                     ("create", "targets", 2), ("create", "listener", 2)], found
    summary = document["summary"]
    assert (summary["create"], summary["change"], summary["delete"], summary["waves"], summary["calls"]) == (4, 1, 0, 2, 5), summary
    assert all(o["why"] and o["owners"] == ["default/one"] for o in document["services"][0]["operations"]), document


def test_a_new_classic_balancer__is_made_in_three_waves():
    found, document = operations(manifests=[service("one")])
    assert found == [("create", "security group", 1), ("change", "security group", 2), ("create", "classic load balancer", 2),
                     ("change", "security group", 2), ("change", "classic load balancer", 3),
                     ("change", "classic load balancer", 3)], found
    assert document["summary"]["waves"] == 3 and document["summary"]["calls"] == 6, document["summary"]


def test_every_flow__takes_five_waves_at_most():
    tls = {**NLB, PREFIX + "ssl-cert": "arn:aws:acm:us-east-1:123456789012:certificate/x"}
    for manifest in (service("a", tls, ports=[{"name": f"p{p}", "port": p, "nodePort": 30000 + p} for p in (80, 443, 8080)]),
                     service("b", {PREFIX + "internal": "true"}), service("c", {**NLB, PREFIX + "proxy-protocol": "*"}),
                     service("d", {PREFIX + "proxy-protocol": "*"}), recorded("nlb1", loadBalancerSourceRanges=["10.0.0.0/8"]),
                     recorded("nlb1", ports=[{"port": 80, "nodePort": 31000, "protocol": "TCP"}]),
                     recorded("clb1", ports=[{"port": 81, "nodePort": 31000, "protocol": "TCP"}])):
        _, document = operations(manifests=[manifest])
        assert 1 <= document["summary"]["waves"] <= 5, (manifest, document["summary"])


def test_edited_ranges__say_what_comes_and_goes():
    status, out, _ = plan(manifests=[recorded("nlb2", loadBalancerSourceRanges=["198.51.100.0/24"])])
    assert status == 2, out
    for line in ("+ tcp 30696 from 198.51.100.0/24", "- tcp 30696 from 10.0.0.0/8", "- tcp 30696 from 192.0.2.0/24"):
        assert re.search(re.escape(line), out), (line, out)
    assert "The DNS name stays. Nothing has been changed." in " ".join(out.split()), out


def test_one_rule_for_the_probes_of_two_services__is_counted_once():
    edited = [recorded(name) for name in ("nlb1", "nlb2")]
    for s in edited:
        s["metadata"]["annotations"][PREFIX + "healthcheck-port"] = "8081"
    status, out, _ = plan("-o", "json", manifests=edited)
    assert status == 2, out
    document = json.loads(out)
    found = {o["n"]: o for s in document["services"] for o in s["operations"] if o["verb"] == "change"}
    opens = [o["owners"] for o in found.values() if any("tcp 8081" in (f["new"] or "") for f in o["fields"])]
    assert opens == [["default/nlb1", "default/nlb2"]], found
    assert document["summary"]["change"] == len(found), document["summary"]


def test_a_refused_service__is_told_and_does_not_hold_up_the_other():
    bad = service("bad", {**NLB, PREFIX + "healthcheck-interval": "often"})
    status, out, err = plan("-o", "json", manifests=[bad, service("one", NLB)])
    assert status == 1, (status, out, err)
    found = {s["service"]: s for s in json.loads(out)["services"]}
    assert len(found["default/one"]["operations"]) == 5, found
    status, out, err = plan(manifests=[bad])
    assert status == 1 and "often" in out + err and "healthcheck-interval" in out + err, (out, err)


def test_another_type__is_refused_because_of_what_is_there():
    changed = recorded("nlb1")
    changed["metadata"]["annotations"] = {PREFIX + "type": "classic"}
    status, out, err = plan(manifests=[changed])
    assert status == 1, (out, err)
    assert "aws-load-balancer-type" in out + err and "aac38a41b51774156a521883cd38f69f" in out + err, (out, err)


def test_somebody_elses_service__is_left_alone():
    for other in (service("x", {PREFIX + "type": "external"}), service("x", {PREFIX + "type": "nlb-ip"}),
                  service("x", NLB, loadBalancerClass="service.k8s.aws/nlb")):
        status, out, err = plan(manifests=[other])
        assert status == 0, (other, status, out, err)
        assert "create" not in out or "0 to create" in out, out


# --- the other commands ---------------------------------------------------------------------------------

def test_explain__says_kind_and_nodes():
    state = "--state=" + os.path.abspath(WORLD)
    for name, words in (("nlb1", ("internet-facing NLB aac38a41b51774156a521883cd38f69f", "Nodes: 6 of 6 take part")),
                        ("clb1", ("classic load balancer a9f09016abc6f4ccdabfb4a6a4522c9f", "Nodes: 6 of 6 take part"))):
        status, out, err = run("explain", state, "--cluster-name=c1", "default/" + name)
        assert status == 0, (status, out, err)
        assert all(w in out for w in words), out


def test_check_config__names_the_line_and_what_is_known():
    status, out, err = run("check-config")
    assert status == 0 and "the controller would start with it" in out, (status, out, err)
    status, out, err = run("check-config", config=RECORDED["cloud_config"].replace("SubnetID", "SubnetIdd"))
    assert status == 0 and 'aws.conf:4: unknown key "SubnetIdd" in [Global] is ignored; did you mean "SubnetID"?' in out, out
    status, out, err = run("check-config", "--strict", config=RECORDED["cloud_config"].replace("SubnetID", "SubnetIdd"))
    assert status == 2, (status, out, err)
    status, out, err = run("check-config", config="[Global\nVPC = vpc-1\n")
    assert status == 1 and "aws.conf:1" in out + err, (status, out, err)
    _, out, err = run("check-config", config="[Global]\nNLBSecurityGroupMode = Sometimes\n")
    assert "aws.conf:2" in out + err and "Sometimes" in out + err, (out, err)


def test_rbac__asks_for_no_more_than_aws_needs():
    status, out, err = run("rbac", config=None)
    assert status == 0, err
    rules = re.findall(r"resources: \[([^]]*)\](?:, resourceNames: \[[^]]*\])?, verbs: \[([^]]*)\]", out)
    assert rules == [("events", "create, patch"), ("nodes, services", "list, watch"), ("services/status", "patch"),
                     ("leases", "create"), ("leases", "get, watch, update")], rules


def test_class_of_another_controller__plan_and_explain_say_whose_it_is():
    """It was "nothing to do", and explain described a load balancer that is never made."""
    theirs = service("theirs", NLB, loadBalancerClass="example.com/fast")
    status, out, err = plan(manifests=[theirs])
    assert status == 0, (status, out, err)
    assert "Service default/theirs  left alone: its loadBalancerClass example.com/fast is another controller's\n" in out, out
    status, out, err = run("explain", "--state=" + os.path.abspath(WORLD), "--cluster-name=c1", manifests=[theirs])
    assert status == 0, (status, out, err)
    assert out.splitlines()[0] == "default/theirs is served by another controller (loadBalancerClass).", out
    assert "NLB" not in out, out


def test_explain__served_but_refused_by_the_plan__says_why():
    edited = service("edited", {PREFIX + "subnets": "nope"})
    code, out, err = run("explain", "--state=" + os.path.abspath(WORLD), "--cluster-name=c1", manifests=[edited])
    assert code == 0, (code, out, err)
    text = " ".join(out.split())
    assert "! cannot be carried out: annotation " + PREFIX + "subnets: there is no subnet \"nope\"" in text, out


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
