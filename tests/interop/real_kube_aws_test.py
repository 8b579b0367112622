#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab against a real kube-apiserver and simulated AWS: NLBs and classic load balancers, as kubectl sees them.

    TRIMTAB_KUBE_APISERVER=PROGRAM TRIMTAB_ETCD=PROGRAM real_kube_aws_test.py TRIMTAB_SIM TRIMTAB MANIFESTS [TEST…]
    (TAP on stdout; skipped when a variable is unset or kubectl is absent)
"""
import sys

from real_kube_world import run_tests
import aws_shapes  # real_kube_world.py put its folder on the path

PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
NLB = {"annotations": {PREFIX + "type": "nlb"}}
MANIFEST = """\
apiVersion: v1
kind: Service
metadata: {name: %s, annotations: {%s}}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: x}}
"""


def documents(w):
    return aws_shapes.documents(w.must("GET", "/sim/state")["aws"])


def count(w, operation):
    return w.calls()["aws"].get(operation, 0)


def writes_to_cloud(w):
    return {op: n for op, n in w.calls()["aws"].items() if ".Describe" not in op}


def ends_empty(w, empty, *names):
    for name in names:
        w.delete(name)
    for name in names:
        w.until_gone(name)
    assert documents(w) == empty


def test_life__as_kubectl_sees_it(w):
    empty = documents(w)
    w.start()
    for name, meta in (("web", NLB), ("classic", None)):
        w.create(name, meta)
        address = w.until_address(name)
        assert address.endswith(".amazonaws.com"), address
        w.until_event(name, "EnsuredLoadBalancer")
        text = w.kubectl("describe", "service", name)
        for words in (f"LoadBalancer Ingress:     {address}", "EnsuringLoadBalancer", "service-controller"):
            assert words in text, (words, text)
    w.patch("web", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}})
    w.until("it is narrowed", lambda: any("10.0.0.0/8" in r for r in documents(w)["group nodes"]["IpPermissions"]))
    w.patch("web", {"spec": {"type": "ClusterIP", "loadBalancerSourceRanges": None}})
    w.until("the finalizers are gone", lambda: not w.get("web")["metadata"].get("finalizers"))
    assert w.address("web") is None
    ends_empty(w, empty, "web", "classic")


def test_another_type__is_refused_and_told(w):
    empty = documents(w)
    w.start()
    w.create("web", NLB)
    w.until_address("web")
    w.patch("web", {"metadata": {"annotations": {PREFIX + "type": None}}})
    print("#", w.until_event("web", "SyncLoadBalancerFailed", "aws-load-balancer-type"))
    ends_empty(w, empty, "web")


def test_wrong_annotation__told_to_the_owner(w):
    empty = documents(w)
    w.start()
    w.create("bad", {"annotations": {PREFIX + "connection-idle-timeout": "soon"}})
    print("#", w.until_event("bad", "SyncLoadBalancerFailed", "connection-idle-timeout"))
    w.patch("bad", {"metadata": {"annotations": None}})
    w.until_address("bad")
    ends_empty(w, empty, "bad")


def test_the_other_controllers__are_left_alone(w):
    w.start()
    w.create("external", {"annotations": {PREFIX + "type": "external"}})
    w.create("class", NLB, loadBalancerClass="service.k8s.aws/nlb")
    w.create("web", NLB)
    w.until_address("web")
    for name in ("external", "class"):
        assert not w.get(name)["metadata"].get("finalizers") and not w.address(name), w.get(name)
    w.delete("web")
    w.until_gone("web")


def test_many__restart_and_end(w):
    """25 of each kind that one `kubectl apply` makes; a restart, and all of them gone."""
    empty = documents(w)
    w.start()
    names = [f"s{i}" for i in range(50)]
    w.forget_calls()
    w.must("PUT", "/sim/settings/aws", {"quotas": {"rules_per_group": 200}})
    w.kubectl("apply", "-f", w.write("many.yaml", "---\n".join(
        MANIFEST % (n, f'{PREFIX}type: "nlb"' if i % 2 else "") for i, n in enumerate(names))))
    w.until("all have an address", lambda: all(
        s.get("status", {}).get("loadBalancer", {}).get("ingress") for s in w.all_services()))
    w.quiet()
    print("#", w.calls()["aws"])
    assert count(w, "elb.CreateLoadBalancer") == count(w, "elbv2.CreateLoadBalancer") == 25
    before = documents(w)
    w.stop()
    w.forget_calls()
    w.forget_audit()
    w.start()
    w.until("all are synced", lambda: len(w.logged('"Synced"')) == 50)
    w.quiet()
    assert writes_to_cloud(w) == {} and w.writes() == [], (writes_to_cloud(w), w.writes()[:3])
    print("#", sum(w.calls()["aws"].values()), "calls of a restart")
    assert documents(w) == before
    w.kubectl("delete", "svc", "--wait=false", *names)
    w.until("all are gone", lambda: not w.all_services())
    w.quiet()
    assert documents(w) == empty
    w.must("PUT", "/sim/settings/aws", {})


def test_apiserver_killed__everything_goes_on_when_it_is_back(w):
    empty = documents(w)
    w.start()
    w.create("old", NLB)
    address = w.until_address("old")
    w.kill_apiserver()
    w.until("it is noticed", lambda: any("127.0.0.1" in line for line in w.troubles()))
    w.restart_apiserver()
    w.create("new")
    w.until_address("new")
    w.quiet()
    assert w.address("old") == address
    ends_empty(w, empty, "old", "new")


def test_permissions__nothing_more_was_asked_for(w):
    """The last one: what all of the tests before needed."""
    assert not w.refused, w.refused[:5]
    used = sorted({(a[0], a[1]) for a in w.all_audit if a[1]})
    print("#", used)
    assert set(used) <= {
        ("list", "nodes"), ("watch", "nodes"), ("list", "services"), ("watch", "services"), ("get", "services"),
        ("patch", "services"), ("patch", "services/status"), ("create", "events"), ("patch", "events")}, used


if __name__ == "__main__":
    sys.exit(run_tests(globals(), cloud="aws"))
