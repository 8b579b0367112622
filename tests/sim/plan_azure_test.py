#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab plan of Services that share documents: they are planned as the one batch that a sync makes of them.

    plan_azure_test.py TRIMTAB DATA      (TAP on stdout)

The cloud is a recorded world (--state); the credentials' address is a closed port.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM, DATA = sys.argv[1:3]
WORLD = os.path.join(DATA, "azure", "world-nic.json")
with open(WORLD, encoding="utf-8") as world_file:
    RECORDED = json.load(world_file)


def plan(*args, manifests=()):
    """(exit status, stdout, stderr)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "plan", "--cloud-provider=azure", "--state=" + WORLD, "--cluster-name=c1"]
        config = os.path.join(folder, "azure.json")
        with open(config, "w", encoding="utf-8") as f:
            f.write(RECORDED["cloud_config"].replace("<endpoint>", "http://127.0.0.1:1"))
        command.append("--cloud-config=" + config)
        for i, manifest in enumerate(manifests):
            path = os.path.join(folder, "%d.json" % i)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(manifest, f)
            command += ["-f", path]
        env = {"PATH": os.environ["PATH"], "HOME": folder}
        done = subprocess.run(command + list(args), env=env, capture_output=True, text=True, timeout=180, check=False)
        return done.returncode, done.stdout, done.stderr


def service(name, port, **annotations):
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "default",
                         "annotations": {"service.beta.kubernetes.io/" + k.replace("_", "-"): v
                                         for k, v in annotations.items()}},
            "spec": {"type": "LoadBalancer", "ports": [{"port": port, "nodePort": 30000 + port}]}}


def changes(document):
    """{(kind, name): (verb, owners)}; an operation of several stands with each of them under the same number."""
    found = {}
    numbers = {}
    for planned in document["services"]:
        for o in planned["operations"]:
            if o["verb"] != "keep":
                key = (o["kind"], o["name"])
                assert numbers.setdefault(key, o["n"]) == o["n"], (key, o)
                found[key] = (o["verb"], o["owners"])
    return found


def test_the_recorded_cluster__is_up_to_date():
    status, out, err = plan()
    assert status == 0, (status, out, err)
    assert out.splitlines()[-1] == "Plan: nothing to do.", out


def test_two_new_services__write_each_document_once():
    manifests = [service("one", 81), service("two", 82)]
    status, out, err = plan("-o", "json", manifests=manifests)
    assert status == 2, (status, err)
    document = json.loads(out)
    both = ["default/one", "default/two"]
    found = changes(document)
    assert found[("load balancer", "c1")] == ("change", both), found
    shared = [owners for (kind, _), (_, owners) in found.items() if kind == "network security group"]
    assert shared == [both], found
    assert sorted(verb for (kind, _), (verb, _) in found.items() if kind == "public IP address") == ["create"] * 2
    assert document["summary"]["create"] == 2 and document["summary"]["change"] == 2, document["summary"]


def test_text__shows_a_shared_write_once():
    _, out, _ = plan(manifests=[service("one", 81), service("two", 82)])
    assert out.count("load balancer           c1") == 1, out
    assert "for default/one, default/two" in out, out
    assert "~ and 2 shared with default/one\n" in out, out
    assert "Plan: 2 to create, 2 to change, 0 to delete, in 3 waves" in " ".join(out.split()), out


def test_one_that_is_refused__does_not_hold_up_the_other():
    bad = service("bad", 83, azure_load_balancer_tcp_idle_timeout="1")
    status, out, err = plan("-o", "json", manifests=[bad, service("one", 81)])
    assert status == 1, (status, err)
    by_name = {s["service"]: s for s in json.loads(out)["services"]}
    assert by_name["default/bad"]["operations"] in (None, []), by_name["default/bad"]
    assert [o["owners"] for o in by_name["default/one"]["operations"]] == [["default/one"]] * 3, by_name


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
