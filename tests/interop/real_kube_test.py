#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab against a real kube-apiserver and the simulated cloud.

    TRIMTAB_KUBE_APISERVER=PROGRAM TRIMTAB_ETCD=PROGRAM real_kube_test.py TRIMTAB_SIM TRIMTAB MANIFESTS [TEST…]
    (TAP on stdout; skipped when a variable is unset or kubectl is absent)
"""
import subprocess
import sys
import time

from real_kube_world import FLAGS, run_tests

PROGRAMS = sys.argv[1:3]
CLEANUP = "service.kubernetes.io/load-balancer-cleanup"
V1 = "gke.networking.io/l4-netlb-v1"


def show(lines):
    for line in lines:
        print("#", line)


def test_life__as_kubectl_sees_it(w):
    w.start()
    w.create("web")
    address = w.until_address("web")
    w.until_event("web", "EnsuredLoadBalancer")
    assert sorted(w.get("web")["metadata"]["finalizers"]) == sorted([CLEANUP, V1])
    text = w.kubectl("describe", "service", "web")
    for words in (f"LoadBalancer Ingress:     {address} (VIP)", "EnsuringLoadBalancer", "EnsuredLoadBalancer",
                  "service-controller"):
        assert words in text, (words, text)
    assert address in w.kubectl("get", "svc", "web", "--no-headers")
    w.patch("web", {"spec": {"ports": [{"port": 81}], "loadBalancerSourceRanges": ["10.0.0.0/8"]}})
    w.until("the rule has the port", lambda: [r["portRange"] for r in w.cloud("forwardingRules").values()] == ["81-81"])
    w.until("the firewall has the range", lambda: any(
        f.get("sourceRanges") == ["10.0.0.0/8"] for f in w.cloud("firewalls").values()))
    assert w.address("web") == address
    w.patch("web", {"spec": {"type": "ClusterIP", "loadBalancerSourceRanges": None}})
    w.until("the finalizers are gone", lambda: not w.get("web")["metadata"].get("finalizers"))
    assert w.cloud("forwardingRules") == {} and w.address("web") is None
    w.patch("web", {"spec": {"type": "LoadBalancer"}})
    w.until_address("web")
    w.delete("web")
    w.until_gone("web")
    assert w.cloud("forwardingRules") == {} and w.cloud("addresses") == {}
    assert "DeletedLoadBalancer" in w.kubectl("get", "events")


def test_refused_spec__event_and_condition_as_the_api_allows(w):
    w.start()
    w.create("mixed", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}])
    w.until_event("mixed", "SyncLoadBalancerFailed", "mixed protocol")
    w.until("the condition is there", lambda: [
        c["status"] for c in w.get("mixed")["status"].get("conditions", [])] == ["True"])
    w.patch("mixed", {"spec": {"ports": [{"name": "a", "port": 80}]}})
    w.until_address("mixed")
    w.until("the condition is taken back", lambda: [
        c["status"] for c in w.get("mixed")["status"].get("conditions", [])] in ([], ["False"]))
    w.delete("mixed")
    w.until_gone("mixed")


def test_many__at_once(w):
    w.start("--concurrent-service-syncs=10")
    names = [f"s{i}" for i in range(300)]
    began = time.monotonic()
    for name in names:
        w.create(name)
    w.until("all have an address", lambda: all(
        s.get("status", {}).get("loadBalancer", {}).get("ingress") for s in w.all_services()))
    print(f"# 300 Services created, all have an address after {time.monotonic() - began:.1f} s")
    w.quiet()
    assert len(w.cloud("forwardingRules")) == 300 and w.cloud("addresses") == {}
    writes = [a for a in w.writes() if a[1] == "services/status"]
    assert len(writes) == 600, len(writes)
    w.stop()
    w.forget_calls()
    w.forget_audit()
    w.start()
    w.until("all are synced", lambda: len(w.logged('"Synced"')) == 300)
    assert w.mutations() == {} and w.writes() == [], (w.mutations(), w.writes()[:3])
    began = time.monotonic()
    w.kubectl("delete", "svc", "--wait=false", *names)
    print(f"# kubectl had deleted 300 after {time.monotonic() - began:.1f} s")
    w.until("all are gone", lambda: not w.all_services())
    print(f"# all gone after {time.monotonic() - began:.1f} s")
    assert w.cloud("forwardingRules") == {} and w.cloud("firewalls") == {}


def test_status__only_written_when_it_changes(w):
    w.start()
    w.create("web")
    w.until_address("web")
    w.quiet()
    w.forget_audit()
    w.patch("web", {"metadata": {"annotations": {"example.com/a": "b"}}})
    w.until("it is synced again", lambda: len(w.logged('"Synced"')) >= 2)
    w.patch("web", {"metadata": {"annotations": {"example.com/a": None}}})
    w.until("and again", lambda: len(w.logged('"Synced"')) >= 3)
    assert w.writes() == []
    w.delete("web")
    w.until_gone("web")
    w.quiet()
    assert [(a[0], a[1], a[2]) for a in w.writes()] == [("patch", "services/status", 200)], w.writes()


def test_starts__no_answer_is_left_lying(w):
    """Two lists over one HTTP/2 connection: libcurl 7.88 now and then forgot the second until something else came."""
    seconds = []
    for _ in range(150):
        began = time.monotonic()
        w.start()
        seconds.append(time.monotonic() - began)
        w.stop()
    print(f"# 150 starts: mean {sum(seconds) / 150:.2f} s, worst {max(seconds):.2f} s")
    assert max(seconds) < 5, seconds


def test_apiserver_killed__everything_goes_on_when_it_is_back(w):
    w.start("--concurrent-service-syncs=5")
    w.create("old")
    address = w.until_address("old")
    names = [f"s{i}" for i in range(20)]
    for name in names:
        w.create(name)
    w.until("some are made", lambda: len(w.cloud("forwardingRules")) > 4)
    w.kill_apiserver()
    w.until("it is noticed", lambda: any("127.0.0.1" in line for line in w.troubles()))
    w.restart_apiserver()
    for name in names:
        w.until_address(name)
    w.quiet()
    assert len(w.cloud("forwardingRules")) == 21 and w.cloud("addresses") == {}
    assert w.address("old") == address
    w.create("new")
    w.until_address("new")
    show(w.troubles())
    for name in [*names, "old", "new"]:
        w.delete(name)
    w.until("all are gone", lambda: not w.all_services())
    assert w.cloud("forwardingRules") == {}


def test_compaction__a_410_is_followed_by_a_list(w):
    w.start()
    w.create("before")
    w.until_address("before")
    w.kill_apiserver()
    w.until("it is noticed", w.troubles)
    w.pause()
    w.restart_apiserver()
    w.create("meanwhile")
    w.delete("before")
    for i in range(20):
        w.patch("meanwhile", {"metadata": {"labels": {"i": str(i)}}})
    w.compact()
    w.forget_audit()
    w.restart_apiserver()                           # its memory for watches begins after all of this
    w.go_on()
    w.until_address("meanwhile")
    w.until_gone("before")
    asked = [("streaming list" if "sendInitialEvents=true" in a[3] else a[0], a[2])
             for a in w.audit() if a[1] == "services"]
    print("#", asked)
    assert ("streaming list", 200) in asked and "list" not in [a[0] for a in asked], asked
    w.delete("meanwhile")
    w.until_gone("meanwhile")
    show(w.troubles())


def test_token_file__the_new_one_is_taken(w):
    w.write("token", w.token("first"))
    w.start()
    w.create("a")
    w.until_address("a")
    w.write("token", w.token("second"))
    w.must("DELETE", "/api/v1/namespaces/kube-system/secrets/first")
    w.restart_apiserver()                           # it remembers good tokens for a while
    w.create("b")
    w.until_address("b")
    w.patch("a", {"spec": {"ports": [{"port": 81}]}})
    w.until("a is changed", lambda: "81-81" in [r["portRange"] for r in w.cloud("forwardingRules").values()])
    show(w.troubles())
    for name in ("a", "b"):
        w.delete(name)
        w.until_gone(name)


def test_wrong_certificate__refused_and_said(w):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", w.path("k.pem"), "-out",
                    w.path("other.pem"), "-subj", "/CN=other", "-days", "2"], check=True, capture_output=True)
    config = w.write_kubeconfig("wrong.kubeconfig", f"tokenFile: {w.path('token')}", w.path("other.pem"))
    w.forget_audit()
    run = subprocess.run([PROGRAMS[1], *FLAGS, f"--kubeconfig={config}", f"--cloud-config={w.conf}/gce.conf"],
                         env=w.environment(), capture_output=True, text=True, timeout=180, check=False)
    last = run.stderr.strip().splitlines()[-1]
    print("#", last)
    assert run.returncode == 1 and "certificate" in last, run.stderr
    assert w.audit() == []


def test_permissions__nothing_more_was_asked_for(w):
    """The last one: what all of the tests before needed."""
    assert not w.refused, w.refused[:5]
    used = sorted({(a[0], a[1]) for a in w.all_audit if a[1]})
    print("#", used)
    assert set(used) <= {
        ("get", "configmaps"), ("create", "configmaps"), ("list", "nodes"), ("watch", "nodes"), ("list", "services"),
        ("watch", "services"), ("get", "services"), ("patch", "services/status"), ("create", "events"),
        ("patch", "events")}, used


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
