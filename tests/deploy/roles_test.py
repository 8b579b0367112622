#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The roles that deploy/ ships: enough for what trimtab does, and not more.

    roles_test.py CLOUD TRIMTAB_SIM TRIMTAB TREE     (TAP on stdout)

Whole-program tests run with the simulator enforcing the shipped manifest, trimtab being its service account.  What it asked
is then laid beside what the roles grant: a refusal means that one is missing, a grant that nobody used is one too many.
A flow that needs a right and is in no test yet belongs into FLOWS.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

ACCOUNT = "system:serviceaccount:kube-system:trimtab"
SECRET = "--cloud-config-secret-name=azure-cloud-provider"
REVIEWS = {("", "authentication.k8s.io", "tokenreviews", "", "create"),
           ("", "authorization.k8s.io", "subjectaccessreviews", "", "create")}
SETTINGS = ("kube-system", "", "configmaps", "extension-apiserver-authentication")
# (file below tests/, tests of it; none: all)
FLOWS = {
    "gce": [
        ("deploy/flows_test.py", ["test_gce__two_replicas_and_a_hand_over",
                                  "test_gce__a_lease_of_the_negs_is_anothers__watched",
                                  "test_gce__no_streaming_lists__lists_instead"]),
        ("sim/controller_test.py", ["test_create__address_finalizer_and_events", "test_restart__adopted_without_a_write",
                                    "test_delete__cloud_is_empty_again", "test_nodes__come_and_go"]),
        ("sim/gce_objects_test.py", []),
        ("sim/gce_leases_test.py", ["test_two_processes__one_writes_and_the_other_takes_over",
                                    "test_flags__say_which_are_needed"]),
        ("sim/gce_standalone_test.py", ["test_service__gets_negs_and_nothing_else",
                                        "test_deleted_while_nobody_watched__what_remembers_it_is_its_object"]),
    ],
    "azure": [
        ("deploy/flows_test.py", ["test_azure__two_replicas_and_a_hand_over",
                                  "test_azure__no_streaming_lists__lists_instead",
                                  "test_azure__repeated_trouble__its_event_is_patched",
                                  "test_azure__several_balancers_by_namespace__endpoints_followed"]),
        ("sim/config_secret_test.py", ["test_secret_alone__serves", "test_secret_changes__taken_over_without_a_restart"]),
    ],
    "aws": [
        ("deploy/flows_test.py", ["test_aws__two_replicas_and_a_hand_over",
                                  "test_aws__no_streaming_lists__lists_instead",
                                  "test_aws__repeated_trouble__its_event_is_patched"]),
    ],
}


def roles_of(trimtab, cloud, *flags):
    text = subprocess.run([trimtab, "rbac", f"--cloud-provider={cloud}", "--leader-elect-resource-name=trimtab",
                           "-o", "json", *flags], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["items"]


def shipped(trimtab, tree, cloud):
    """The role that deploy/ ships, as text, with the right to one Secret that a flag adds."""
    with open(os.path.join(tree, "deploy", "manifests", cloud, "rbac.yaml"), encoding="utf-8") as f:
        text = f.read()
    if cloud == "azure":
        plain, more = roles_of(trimtab, cloud), roles_of(trimtab, cloud, SECRET)
        extra = grants(more) - grants(plain)
        assert extra == {("kube-system", "", "secrets", "azure-cloud-provider", "get")}, extra
        text = subprocess.run([trimtab, "rbac", f"--cloud-provider={cloud}", "--leader-elect-resource-name=trimtab", SECRET],
                              check=True, capture_output=True, text=True).stdout
    with open(os.path.join(tree, "deploy", "manifests", cloud, "trimtab.yaml"), encoding="utf-8") as f:
        text += "---\n" + f.read()  # the role for /metrics
    with open(os.path.join(HERE, "cluster_roles.yaml"), encoding="utf-8") as f:
        return text + "---\n" + f.read()


def grants(items):
    """(namespace or "", group, resource, name or "", verb), of roles and rules."""
    found = set()
    for role in items:
        ns = role["metadata"].get("namespace", "")
        for rule in role.get("rules", []):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in rule.get("resourceNames", [""]):
                        found |= {(ns, group, resource, name, verb) for verb in rule["verbs"]}
    return found


def asked(entry):
    """The target of a request: (namespace, group, resource, name, verb), or None for a path that is no object's."""
    url = urllib.parse.urlsplit(entry["path"])
    query = dict(urllib.parse.parse_qsl(url.query))
    parts = url.path.strip("/").split("/")
    if parts[0] not in ("api", "apis") or len(parts) < (3 if parts[0] == "api" else 4):
        return None
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    ns = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        ns, rest = rest[1], rest[2:]
    resource, name = rest[0], rest[1] if len(rest) > 1 else ""
    resource += "".join("/" + part for part in rest[2:])
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(entry["method"])
    if verb is None:
        verb = "get" if name else "watch" if query.get("watch") in ("true", "1") else "list"
    for term in query.get("fieldSelector", "").split(","):
        name = name or (term.split("=")[-1] if term.startswith("metadata.name=") else "")
    return ns, group, resource, name, verb


def uses(grant, request):
    return (grant[0] in ("", request[0]) and grant[1:3] == request[1:3] and grant[3] in ("", request[3])
            and grant[4] == request[4])


def calls_of_trimtab(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.calls"))):
        with open(path, encoding="utf-8") as f:
            for line in f:
                entry = json.loads(line)
                if entry.get("user") == ACCOUNT:
                    yield entry


def words(grant):
    ns, group, resource, name, verb = grant
    return f"{verb} {resource}{'.' + group if group else ''}{' ' + name if name else ''} {'in ' + ns if ns else 'everywhere'}"


def serves(trimtab):
    """Has this version the HTTPS port?"""
    text = subprocess.run([trimtab, "--help"], check=True, capture_output=True, text=True).stdout
    return "this version needs --secure-port=0" not in " ".join(text.split())


def run_flows(report, flows, programs, folder):
    for file, tests in flows:
        run = subprocess.run([sys.executable, os.path.join(HERE, "..", file), *programs, *extra_arguments(file), *tests],
                             env={**os.environ, "TRIMTAB_TEST_ROLES": folder}, capture_output=True, text=True, check=False)
        passed = sum(line.startswith("ok ") for line in run.stdout.splitlines())
        said = [line for line in (run.stdout + run.stderr).splitlines() if '"FLAG"' not in line]
        fine = run.returncode == 0 and passed >= max(1, len(tests))
        report.check(f"{file}: {passed} tests pass under the roles", [] if fine else said[-60:])


def extra_arguments(file):
    return ["-"] if file == "sim/controller_test.py" else []  # a plugin that none of these tests loads


def compare(report, granted, calls):
    requests = {asked(entry) for entry in calls} - {None}
    refused = sorted({f"{e['method']} {e['path']}" for e in calls if e["status"] == 403})
    report.check("nothing that trimtab asks for is refused", refused)
    unused = [words(g) for g in sorted(granted) if not any(uses(g, r) for r in requests)]
    report.check("every verb that is granted is used", unused)


def main():
    cloud, sim, trimtab, tree = sys.argv[1:5]
    report = tap.Report()
    with tempfile.TemporaryDirectory(prefix="trimtab-roles-") as folder:
        with open(os.path.join(folder, cloud + ".yaml"), "w", encoding="utf-8") as f:
            f.write(shipped(trimtab, tree, cloud))
        granted = grants(roles_of(trimtab, cloud, *([SECRET] if cloud == "azure" else [])))
        flows = FLOWS[cloud]
        if serves(trimtab):
            granted |= REVIEWS
            flows = [*flows, ("deploy/flows_test.py", [f"test_{cloud}__https_port__callers_are_asked_about"])]
        else:
            print("# this version has no HTTPS port: the two bindings for its callers are not compared")
        run_flows(report, flows, [sim, trimtab], folder)
        calls = list(calls_of_trimtab(folder))
        print(f"# {len(calls)} requests of trimtab, {len(granted)} grants")
        compare(report, granted, calls)
        if serves(trimtab):
            found = any(asked(e)[:4] == SETTINGS for e in calls if asked(e))
            report.check("the cluster's authentication settings are read", "" if found else "they are not")
        check_the_check(report, granted, calls)
    return report.end()


def check_the_check(report, granted, calls):
    """A right that is not needed is found, and so is one that is missing."""
    class Silent(tap.Report):
        @staticmethod
        def _print(line):
            pass
    silent = Silent()
    compare(silent, granted | {("", "", "secrets", "", "list")}, calls)
    compare(silent, granted, [*calls, {"method": "GET", "path": "/api/v1/secrets", "status": 403}])
    report.check("a grant too many and a refusal are found", "" if silent.failed >= 2 else f"{silent.failed} of 2 were")


if __name__ == "__main__":
    sys.exit(main())
