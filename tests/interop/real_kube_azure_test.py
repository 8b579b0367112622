#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab against a real kube-apiserver and simulated Azure: batches, as kubectl sees them.

    TRIMTAB_KUBE_APISERVER=PROGRAM TRIMTAB_ETCD=PROGRAM real_kube_azure_test.py TRIMTAB_SIM TRIMTAB MANIFESTS [TEST…]
    (TAP on stdout; skipped when a variable is unset or kubectl is absent)
"""
import sys

from real_kube_world import run_tests

INTERNAL = "service.beta.kubernetes.io/azure-load-balancer-internal"
MANIFEST = """\
apiVersion: v1
kind: Service
metadata: {name: %s, annotations: {service.beta.kubernetes.io/azure-pip-tags: "team=%s"}}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: x}}
"""


def rules(w):
    return sorted(rule["name"] for lb in w.cloud("loadBalancers").values()
                  for rule in lb["properties"].get("loadBalancingRules", []))


def count(w, operation):
    return w.calls()["azure"].get(operation, 0)


def test_life__as_kubectl_sees_it(w):
    w.start()
    w.create("web")
    address = w.until_address("web")
    w.until_event("web", "EnsuredLoadBalancer")
    text = w.kubectl("describe", "service", "web")
    for words in (f"LoadBalancer Ingress:     {address} (VIP)", "EnsuringLoadBalancer", "service-controller"):
        assert words in text, (words, text)
    w.patch("web", {"metadata": {"annotations": {INTERNAL: "true"}}})
    private = w.until("it is internal", lambda: w.address("web") != address and w.address("web"))
    assert private.startswith("10.") and w.cloud("publicIPAddresses") == {}, private
    w.patch("web", {"spec": {"type": "ClusterIP"}})
    w.until("the finalizers are gone", lambda: not w.get("web")["metadata"].get("finalizers"))
    assert w.cloud("loadBalancers") == {} and w.address("web") is None
    w.delete("web")
    w.until_gone("web")


def test_wrong_annotation__told_to_the_owner(w):
    w.start()
    w.create("bad", {"annotations": {"service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout": "3"}})
    event = w.until_event("bad", "SyncLoadBalancerFailed", "azure-load-balancer-tcp-idle-timeout")
    print("#", event)
    w.patch("bad", {"metadata": {"annotations": None}})
    w.until_address("bad")
    w.delete("bad")
    w.until_gone("bad")


def test_many__few_writes(w):
    """The calls for 100 Services of one `kubectl apply`, for a restart, and for their deletion."""
    w.start()
    names = [f"s{i}" for i in range(100)]
    w.forget_calls()
    w.kubectl("apply", "-f", w.write("many.yaml", "---\n".join(MANIFEST % (n, n) for n in names)))
    w.until("all have an address", lambda: all(
        s.get("status", {}).get("loadBalancer", {}).get("ingress") for s in w.all_services()))
    w.quiet()
    print("#", w.calls()["azure"])
    assert len(rules(w)) == 100 and len(w.cloud("publicIPAddresses")) == 100
    assert count(w, "PublicIPAddresses.CreateOrUpdate") == 100     # each once, however kubectl paced itself
    addresses = {w.address(n) for n in names}
    assert len(addresses) == 100
    w.stop()
    w.forget_calls()
    w.forget_audit()
    w.start()
    w.until("all are synced", lambda: len(w.logged('"Synced"')) == 100)
    w.quiet()
    assert w.mutations() == {} and w.writes() == [], (w.mutations(), w.writes()[:3])
    assert sum(w.calls()["azure"].values()) <= 20, w.calls()
    w.forget_calls()
    w.kubectl("delete", "svc", "--wait=false", *names)
    w.until("all are gone", lambda: not w.all_services())
    print("#", w.calls()["azure"])
    assert w.cloud("loadBalancers") == {} and w.cloud("publicIPAddresses") == {}
    assert count(w, "PublicIPAddresses.Delete") == 100


def test_apiserver_killed__everything_goes_on_when_it_is_back(w):
    w.start()
    w.create("old")
    address = w.until_address("old")
    w.kill_apiserver()
    w.until("it is noticed", lambda: any("127.0.0.1" in line for line in w.troubles()))
    w.restart_apiserver()
    w.create("new")
    w.until_address("new")
    w.quiet()
    assert w.address("old") == address and len(rules(w)) == 2
    for name in ("old", "new"):
        w.delete(name)
        w.until_gone(name)


def test_permissions__nothing_more_was_asked_for(w):
    """The last one: what all of the tests before needed."""
    assert not w.refused, w.refused[:5]
    used = sorted({(a[0], a[1]) for a in w.all_audit if a[1]})
    print("#", used)
    assert set(used) <= {
        ("list", "nodes"), ("watch", "nodes"), ("list", "services"), ("watch", "services"), ("get", "services"),
        ("patch", "services/status"), ("create", "events"), ("patch", "events")}, used


if __name__ == "__main__":
    sys.exit(run_tests(globals(), cloud="azure"))
