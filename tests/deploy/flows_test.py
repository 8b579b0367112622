#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole programs as the manifests of deploy/ run them: what no other suite does with roles that are enforced.

    flows_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout; roles_test.py says why)
"""
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CONFIG, LIMIT_S, World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/trimtab"


class Deployed(World):
    """With the flags of deploy/manifests; `config` edits the cloud-config."""

    def __init__(self, cloud, *flags, config=None):
        super().__init__(PROGRAMS, "--nodes=3", *flags, cloud=cloud)
        if config is not None:
            path = os.path.join(self.conf, CONFIG[cloud])
            with open(path, encoding="utf-8") as f:
                text = json.loads(f.read())
            config(text)
            with open(path, "w", encoding="utf-8") as f:
                f.write(json.dumps(text))

    def flags(self):
        return [f"--cloud-provider={self.cloud_name}", f"--cloud-config={self.conf}/{CONFIG[self.cloud_name]}",
                "--leader-elect=true", "--leader-elect-resource-name=trimtab", "--secure-port=0",
                "--concurrent-service-syncs=10"]

    def holder(self):
        status, lease = self.call("GET", LEASE)
        return lease["spec"].get("holderIdentity", "") if status == 200 else ""

    def starts(self, *flags):
        """A replica; returns when it runs, which a standby does without watching."""
        self.runs += 1
        self.trimtab = subprocess.Popen(  # pylint: disable=consider-using-with
            [self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}", "-v=2", *flags],
            stderr=self.file(f"run-{self.runs}"), env=self.environment())
        return self.trimtab


def hand_over(w):
    first = w.starts()
    holder = w.until("the first one leads", w.holder)
    w.create("web")
    w.until_address("web")
    second = w.starts()
    w.until("the second one stands by", lambda: w.logged("lock=\"kube-system/trimtab\""))
    try:
        w.until("it watches the lease", lambda: "leases.watch" in w.calls()["kubernetes"])
    finally:
        first.terminate()
        assert first.wait(LIMIT_S) == 0
    w.until("the second one leads", lambda: w.holder() not in ("", holder))
    w.create("later")
    w.until_address("later")
    w.delete("web")
    w.until_gone("web")
    assert second.poll() is None
    w.until("leadership is told of", lambda: [
        e for e in w.must("GET", "/api/v1/namespaces/kube-system/events")["items"]
        if e["reason"] == "LeaderElection" and e["involvedObject"]["name"] == "trimtab"])


def watched(w):
    """The requests of each provider to the API server."""
    return ("services", "nodes") if w.cloud_name == "aws" else ("services", "nodes", "endpointslices")


def knows_no_streaming_lists(w):
    """Its API server says no to the first question for each, as one without the feature does to all."""
    why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
    for resource in watched(w):
        w.fault(match={"api": "kubernetes", "op": f"{resource}.watch"}, do="refuse", status=422, count=1, body={
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
            "message": f'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: {why}'})


def lists_instead(w, *flags):
    knows_no_streaming_lists(w)
    w.starts(*flags)
    w.create("web")
    w.until_address("web")
    calls = w.calls()["kubernetes"]
    assert all(calls.get(f"{r}.list") == 1 for r in watched(w)), calls


def test_gce__two_replicas_and_a_hand_over():
    with Deployed("gce") as w:
        hand_over(w)


def test_gce__a_lease_of_the_negs_is_anothers__watched():
    with Deployed("gce") as w:
        lease = LEASE.replace("trimtab", "ingress-gce-neg-lock")
        w.must("POST", lease[:lease.rindex("/")], {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "ingress-gce-neg-lock"},
            "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}})
        w.starts("--run-l4-controller", "--enable-l4-neg", "--gate-neg-by-lock", "--leader-elect=false")
        w.until("it waits for it", lambda: w.logged('"The lease is held by another process"', "ingress-gce-neg-lock"))
        w.until("it watches it", lambda: "leases.watch" in w.calls()["kubernetes"])


def test_gce__no_streaming_lists__lists_instead():
    with Deployed("gce") as w:
        lists_instead(w, "--run-l4-controller", "--enable-l4-neg", "--gate-l4-by-lock=false")


def test_azure__two_replicas_and_a_hand_over():
    with Deployed("azure") as w:
        hand_over(w)


def repeated_trouble(w, annotation, wrong):
    w.starts()
    w.create("bad", {"annotations": {annotation: wrong}})
    w.until_event("bad", "SyncLoadBalancerFailed")
    for port in range(81, 84):
        w.patch("bad", {"spec": {"ports": [{"port": port}]}})
        w.until("it is tried again", lambda: w.calls()["kubernetes"].get("events.patch", 0) > 0
                or len(w.events("bad")) > 2)
    w.until("an event is patched", lambda: w.calls()["kubernetes"].get("events.patch", 0) > 0)
    w.patch("bad", {"metadata": {"annotations": {annotation: None}}})
    w.until_address("bad")


def test_azure__repeated_trouble__its_event_is_patched():
    with Deployed("azure") as w:
        repeated_trouble(w, "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout", "3")


def test_azure__no_streaming_lists__lists_instead():
    with Deployed("azure", config=several_balancers) as w:
        lists_instead(w)


def several_balancers(text):
    text["loadBalancerBackendPoolConfigurationType"] = "nodeIP"
    text["multipleStandardLoadBalancerConfigurations"] = [
        {"name": "kubernetes", "primaryVMSet": "vmss"},
        {"name": "lb2", "primaryVMSet": "x",
         "serviceNamespaceSelector": {"matchLabels": {"team": "two"}}}]


def test_azure__several_balancers_by_namespace__endpoints_followed():
    with Deployed("azure", config=several_balancers) as w:
        w.starts()
        w.create("local", externalTrafficPolicy="Local")
        w.until_address("local")
        w.must("PUT", "/sim/pods/default/local", {"node-1": 1})
        w.create("web")
        w.until_address("web")
        assert "namespaces.get" in w.calls()["kubernetes"], w.calls()


def test_aws__two_replicas_and_a_hand_over():
    with Deployed("aws") as w:
        hand_over(w)


def test_aws__repeated_trouble__its_event_is_patched():
    with Deployed("aws") as w:
        repeated_trouble(w, "service.beta.kubernetes.io/aws-load-balancer-connection-idle-timeout", "long")


def test_aws__no_streaming_lists__lists_instead():
    with Deployed("aws") as w:
        lists_instead(w)


def https_port(w):
    """Each caller is asked about with the roles that every cluster has; the shipped role for /metrics lets in."""
    port = free_port()
    process = w.starts(f"--secure-port={port}", "--bind-address=127.0.0.1",
                       f"--authentication-kubeconfig={w.kubeconfig}", f"--authorization-kubeconfig={w.kubeconfig}")

    def status(path, token=None):
        request = urllib.request.Request(f"https://127.0.0.1:{port}{path}",
                                         headers={"Authorization": f"Bearer {token}"} if token else {})
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S, context=context) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            assert process.poll() is None, w.log()
            return 0
    w.until("it is ready", lambda: status("/readyz") == 200)
    w.until("its settings are there", lambda: status("/metrics", "sa:monitoring:prometheus") == 200)
    got = [status("/metrics"), status("/metrics", "sa:default:other"), status("/metrics", "nonsense"), status("/livez")]
    assert got == [403, 403, 401, 200], got


def test_gce__https_port__callers_are_asked_about():
    with Deployed("gce") as w:
        https_port(w)


def test_azure__https_port__callers_are_asked_about():
    with Deployed("azure") as w:
        https_port(w)


def test_aws__https_port__callers_are_asked_about():
    with Deployed("aws") as w:
        https_port(w)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
