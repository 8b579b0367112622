#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests of several directors: an allocator without a right over a kernel, directors without one over Services.

    roles_local_test.py TRIMTAB_SIM TRIMTAB TREE     (TAP on stdout)
"""
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, TRIMTAB, TREE = sys.argv[1:4]
ROLES = {"allocator": ["--leader-elect-resource-name=trimtab"], "director": ["--leader-elect=false"]}
# Kinds that the simulator keeps, and where.
PATHS = {"ServiceAccount": "api/v1/namespaces/kube-system/serviceaccounts", "ConfigMap": "api/v1/namespaces/kube-system/configmaps",
         "Service": "api/v1/namespaces/kube-system/services", "DaemonSet": "apis/apps/v1/namespaces/kube-system/daemonsets"}


def objects(role):
    with open(os.path.join(TREE, "deploy", "manifests", f"local-{role}", "trimtab.yaml"), encoding="utf-8") as f:
        return [o for o in yaml.safe_load_all(f) if o]


def workload(role):
    [found] = [o for o in objects(role) if o["kind"] in ("Deployment", "DaemonSet")]
    return found["kind"], found["spec"]["template"]["spec"]


def grants(items, account):
    """(namespace, group, resource, name, verb) of the roles that are bound to this account."""
    roles = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in items if o["kind"] in ("Role", "ClusterRole")}
    found = set()
    for o in items:
        if o["kind"] not in ("RoleBinding", "ClusterRoleBinding") or not any(s.get("name") == account for s in o["subjects"]):
            continue
        ns = o["metadata"].get("namespace", "")
        role = roles.get((o["roleRef"]["kind"], ns if o["roleRef"]["kind"] == "Role" else "", o["roleRef"]["name"]))
        for rule in role["rules"] if role else []:
            for resource in rule.get("resources", []):
                for name in rule.get("resourceNames", [""]):
                    found |= {(ns, group, resource, name, verb) for group in rule["apiGroups"] for verb in rule["verbs"]}
    return found


def test_args__say_the_role():
    for role, flags in ROLES.items():
        args = set(workload(role)[1]["containers"][0]["args"])
        assert {"--cloud-provider=local", f"--local-role={role}", *flags} <= args, (role, args)


def test_capabilities__are_those_of_the_role():
    kinds = {}
    for role in ROLES:
        kinds[role], pod = workload(role)
        context = pod["containers"][0]["securityContext"]
        assert pod.get("hostNetwork", False) == (role == "director"), role
        assert context["capabilities"].get("drop") == ["ALL"], context
        assert sorted(context["capabilities"].get("add", [])) == (["NET_ADMIN", "NET_RAW"] if role == "director" else []), context
        assert context.get("readOnlyRootFilesystem") and (context.get("runAsNonRoot") or pod["securityContext"].get("runAsNonRoot")), context
    assert kinds == {"allocator": "Deployment", "director": "DaemonSet"}, kinds


def test_roles__are_those_that_the_program_prints():
    for role, flags in ROLES.items():
        account = workload(role)[1]["serviceAccountName"]
        text = subprocess.run([TRIMTAB, "rbac", "--cloud-provider=local", f"--local-role={role}", *flags, f"--service-account=kube-system/{account}",
                               "-o", "json"], check=True, capture_output=True, text=True).stdout
        printed = grants(json.loads(text)["items"], account)
        shipped = grants(objects(role), account)
        assert printed and printed <= shipped, (role, sorted(printed - shipped))
        # Beside them who may call its HTTPS port is asked about.
        more = {(g[1], g[2]) for g in shipped - printed}
        assert more <= {("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews"), ("", "configmaps")}, (role, more)


def test_director__may_not_write_services__an_allocator_writes_their_statuses():
    written = {role: {(g[2], g[4]) for g in grants(objects(role), workload(role)[1]["serviceAccountName"])} for role in ROLES}
    assert not {(r, v) for r, v in written["director"] if r.startswith("services") and v in ("update", "patch", "create", "delete")}, written
    assert ("services/status", "patch") in written["allocator"], written


def test_objects__are_taken_by_the_simulator():
    with subprocess.Popen([SIM, "--cloud=none", "--port=0"], stdout=subprocess.PIPE, text=True) as sim:
        try:
            url = sim.stdout.readline().split()[-1]
            for role in ROLES:
                taken = 0
                for o in objects(role):
                    if o["kind"] not in PATHS:
                        continue
                    request = urllib.request.Request(f"{url}/{PATHS[o['kind']]}?dryRun=All", data=json.dumps(o).encode(), method="POST",
                                                     headers={"Content-Type": "application/json"})
                    try:
                        with urllib.request.urlopen(request, timeout=180) as answer:
                            assert answer.status == 201, (role, o["kind"], answer.status)
                    except urllib.error.HTTPError as why:
                        raise AssertionError((role, o["kind"], why.code, why.read().decode())) from why
                    taken += 1
                assert taken >= 2, (role, taken)
        finally:
            sim.terminate()
            sim.wait(180)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
