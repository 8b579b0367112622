#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab plan --server-dry-run: what the API server makes of a manifest, without storing it.

    dry_run_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

A webhook is a fault of the simulator: it answers in the API server's place, as the server would after the webhook.
"""
import json
import os
import re
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
READER = """apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [services, nodes, configmaps], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, namespace: default, name: reader}]
"""


class Cluster(World):
    def cli(self, command, *args, stdin=""):
        return subprocess.run([self.trimtab_exe, command, "--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf",
                               f"--kubeconfig={self.kubeconfig}", *args], input=stdin, capture_output=True, text=True,
                              check=False, timeout=180, cwd=self.folder, env=self.environment())

    def plan(self, body, *args):
        return self.cli("plan", "--server-dry-run", "-f", "-", *args, stdin=json.dumps(body))

    def because(self, body, *args):
        """The reasons of the plan's only Service, and the plan."""
        r = self.plan(body, "-o", "json", *args)
        assert r.returncode in (0, 2), r
        plan = json.loads(r.stdout)
        assert len(plan["services"]) == 1, plan
        return plan["services"][0]["because"], plan

    def synced(self, name, meta=None, **spec):
        self.start()
        self.create(name, meta, **spec)
        self.until_made(name)
        self.until("it is done", lambda: self.logged('"Synced"'))
        self.stop()


def service(name, meta=None, **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **(meta or {})},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": name}, **spec}}


def status(code, message, reason="Forbidden"):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": code}


def refused(r, *lines):
    assert r.returncode == 1 and r.stdout == "" and r.stderr == "".join(line + "\n" for line in lines), r


def test_new_service__defaults_and_ports_of_the_server__nothing_stored():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        before = w.must("GET", "/sim/state")
        version = w.must("GET", w.services())["metadata"]["resourceVersion"]
        w.forget_calls()
        because, plan = w.because(service("web"))
        calls = w.calls()["kubernetes"]
        assert calls["services.create"] == 1 and "services.patch" not in calls, calls
        assert plan["summary"]["create"] > 0 and w.mutations() == {}, plan["summary"]
        filled = [b for b in because if b.startswith("the API server's dry run fills in → ")]
        assert len(filled) == 1 and "spec.ports[0].nodePort 32769" in filled[0], because
        assert 'spec.internalTrafficPolicy "Cluster"' in filled[0], because
        assert not any("dry run changes" in b for b in because), because
        assert any("does not have it yet → its uid" in b for b in because), because
        assert w.get("web") is None and w.must("GET", "/sim/state") == before
        assert w.must("GET", w.services())["metadata"]["resourceVersion"] == version     # no event to any watcher
        assert w.plan(service("web")).stdout == w.plan(service("web")).stdout            # uids of a dry run are random
        r = w.cli("explain", "--server-dry-run", "-f", "-", stdin=json.dumps(service("web")))
        assert r.returncode == 0 and "default/web" in r.stdout, r


def test_edit__is_patched_as_kubectl_does_it():
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(service(
        "web", loadBalancerSourceRanges=["192.0.2.0/24"]))}
    with Cluster(PROGRAMS, "--nodes=2") as w:
        w.synced("web", {"annotations": last}, loadBalancerSourceRanges=["192.0.2.0/24"])
        live, address = w.get("web"), w.address("web")
        w.forget_calls()
        because, plan = w.because(service("web", {"annotations": {"mine": "1"}}, loadBalancerSourceRanges=["10.0.0.0/8"]))
        calls = w.calls()["kubernetes"]
        assert calls["services.patch"] == 1 and "services.create" not in calls, calls
        assert {o["verb"] for o in plan["services"][0]["operations"]} <= {"change", "keep"}, plan
        assert "10.0.0.0/8" in json.dumps(plan) and plan["services"][0]["address"] == address, plan
        _, plan = w.because(service("web"))                     # members of the last apply go
        assert "0.0.0.0/0" in json.dumps(plan) and plan["summary"]["change"] == 1, plan
        assert w.get("web") == live and w.mutations() == {}
        assert not any("stand" in b for b in because), because            # ports and uid are the cluster's
        # The plan without the server comes to the same.
        body = service("web", loadBalancerSourceRanges=["10.0.0.0/8"])
        local = w.cli("plan", "-f", "-", "-o", "json", stdin=json.dumps(body))
        assert json.loads(local.stdout)["summary"] == w.because(body)[1]["summary"], local


def test_webhook_that_changes__is_shown_and_planned():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        answer = w.must("POST", w.services() + "?dryRun=All", service("web"))
        answer["spec"]["loadBalancerSourceRanges"] = ["192.0.2.0/24"]
        answer["spec"]["ports"][0]["targetPort"] = 8080
        answer["metadata"]["annotations"] = {"policy.example.com/seen": "yes"}
        w.fault(match={"api": "kubernetes", "op": "services.create"}, do="refuse", status=201, body=answer, count=0)
        because, plan = w.because(service("web", loadBalancerSourceRanges=["0.0.0.0/0"]))
        text = " ".join(because)
        for change in ("the API server's dry run changes → spec.", "spec.ports[0].targetPort from 80 to 8080",
                       'spec.loadBalancerSourceRanges from ["0.0.0.0/0"] to ["192.0.2.0/24"]'):
            assert change in text, because
        assert 'metadata.annotations.policy.example.com/seen "yes"' in text, because
        shown = json.dumps(plan["services"][0]["operations"])
        assert "192.0.2.0/24" in shown and "0.0.0.0/0" not in shown.replace("192.0.2.0/24", ""), shown


def test_refusals_of_the_object__are_errors():
    denied = 'admission webhook "policy.example.com" denied the request: no open load balancers'
    quota = 'services "web" is forbidden: exceeded quota: lb, requested: services.loadbalancers=1'
    with Cluster(PROGRAMS, "--nodes=2") as w:
        refused(w.plan(service("web", ports=[{"port": 80, "nodePort": 80}])),
                'error: standard input:1: Service web: the API server refuses it: Service "web" is invalid: '
                'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. '
                'The range of valid ports is 30000-32767')
        refused(w.plan(service("web", {"namespace": "absent"})),
                'error: standard input:1: Service absent/web: the API server refuses it: '
                'namespaces "absent" not found')
        for code, message in ((400, denied), (403, denied), (403, quota)):
            w.fault(match={"api": "kubernetes", "op": "services.create"}, do="refuse", status=code,
                    body=status(code, message))
            refused(w.plan(service("web")),
                    f"error: standard input:1: Service web: the API server refuses it: {message}")
        w.synced("web", loadBalancerClass=None)
        w.fault(match={"api": "kubernetes", "op": "services.patch"}, do="refuse", status=403, body=status(403, denied))
        refused(w.plan(service("web")), f"error: standard input:1: Service web: the API server refuses it: {denied}")


def test_right_that_is_lacking__is_told_and_the_plan_goes_on():
    roles = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"trimtab-dry-run-{os.getpid()}.yaml")
    with open(roles, "w", encoding="utf-8") as f:
        f.write(READER)
    try:
        with Cluster(PROGRAMS, "--nodes=2", f"--rbac={roles}", "--tls") as w:
            w.sim_tls = ssl.create_default_context(cafile=os.path.join(w.conf, "ca.crt"))
            w.headers = {"Authorization": "Bearer sim-admin"}
            w.create("old")
            as_admin = w.plan(service("web"))
            assert as_admin.returncode == 2 and as_admin.stderr == "", as_admin
            with open(w.kubeconfig, encoding="utf-8") as f:
                text = f.read()
            with open(w.kubeconfig, "w", encoding="utf-8") as f:
                f.write(text.replace("sim-admin", "sa:default:reader"))
            without = w.cli("plan", "-f", "-", stdin=json.dumps(service("web")))
            r = w.plan(service("web"))
            assert (r.returncode, r.stdout) == (2, without.stdout), r
            assert re.fullmatch(
                r'note: --server-dry-run: services is forbidden: User "system:serviceaccount:default:reader" cannot '
                r'create resource "services" in API group "" in the namespace "default"; '
                r"the plan goes on without it\n", r.stderr), r
            three = {"apiVersion": "v1", "kind": "List", "items": [service("web"), service("more"), service("old")]}
            r = w.plan(three)
            assert r.returncode == 2 and [("cannot create" in line, "cannot patch" in line)
                                          for line in r.stderr.splitlines()] == [(True, False), (False, True)], r
    finally:
        os.unlink(roles)


def test_use__needs_a_manifest_and_a_cluster():
    want = "error: --server-dry-run asks the API server about manifests: it needs -f FILE, and a cluster " \
           "(--kubeconfig=FILE)"
    with Cluster(PROGRAMS, "--nodes=2") as w:
        refused(w.cli("plan", "--server-dry-run"), want)
        nodes = os.path.join(w.folder, "nodes.json")
        with open(nodes, "w", encoding="utf-8") as f:
            json.dump(w.must("GET", "/api/v1/nodes"), f)
        r = subprocess.run([w.trimtab_exe, "plan", "--cloud-provider=gce", f"--cloud-config={w.conf}/gce.conf",
                            f"--nodes={nodes}", "-f", "-", "--server-dry-run"], input=json.dumps(service("web")),
                           capture_output=True, text=True, check=False, timeout=180, env=w.environment())
        refused(r, want)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
