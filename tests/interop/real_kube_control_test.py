#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab as a citizen of a real control plane: leases, streaming lists, credentials, manifests; the cloud is simulated.

    TRIMTAB_KUBE_APISERVER=PROGRAM TRIMTAB_ETCD=PROGRAM real_kube_control_test.py TRIMTAB_SIM TRIMTAB MANIFESTS [TEST…]
    (TAP on stdout; skipped when a variable is unset or kubectl is absent)

What took how long is printed and not asserted; asserted is who asked what, in which order, and what was answered.
"""
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from real_kube_world import APISERVER, ETCD, LIMIT_S, USER
from real_kube_control_world import LEASE, SERVICE_CONTROLLER, SHORT, ControlPlane, by_kind, lease_writes
import tap  # real_kube_world.py put its folder on the path

PROGRAMS, MANIFESTS = sys.argv[1:3], sys.argv[3]
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
CHANGES = ("create", "update", "patch", "delete")


def say(text):
    print(f"# {text}", flush=True)


def seconds_between(first, second):
    a, b = (datetime.datetime.fromisoformat(t.replace("Z", "+00:00")) for t in (first, second))
    return (b - a).total_seconds()


def changes(replica):
    """Its changes in the cluster, without its lease and its events."""
    return [k for k in by_kind(replica.asked()) if k[0] in CHANGES and k[1] not in ("leases", "events")]


def a_few(w, *names):
    for name in names:
        w.create(name)
    for name in names:
        w.until_address(name)


def until_synced(replica, *names):
    for name in names:
        replica.until(f'"Synced" service="default/{name}"')


# --- leases --------------------------------------------------------------------------------------------------------
def test_release__the_standby_takes_over_and_changes_nothing(w):
    a = w.launch().leads()
    a_few(w, "one", "two", "three")
    first = w.lease()
    assert first["holderIdentity"] and first["leaseDurationSeconds"] == 15 and first["leaseTransitions"] == 0, first
    assert all(MICRO_TIME.fullmatch(first[t]) for t in ("acquireTime", "renewTime")), first
    b = w.launch().stands_by()
    w.quiet()
    w.forget_calls()
    assert a.end() == 0
    b.leads()
    until_synced(b, "one", "two", "three")
    writes = lease_writes(w.entries())
    at = next(i for i, write in enumerate(writes) if not write[0])
    released, taken = writes[at], writes[at + 1]
    assert released[3] == taken[3] == 200 and taken[0] not in ("", first["holderIdentity"]), writes[at:]
    say(f"hand-over: {1000 * seconds_between(released[2], taken[1]):.0f} ms from the release's answer to the next one's write")
    now = w.lease()
    assert now["holderIdentity"] == taken[0] and now["leaseTransitions"] == 1, now
    assert w.mutations() == {} and changes(b) == [], (w.mutations(), changes(b))
    said = w.kubectl("-n", "kube-system", "describe", "lease", "trimtab")
    assert f"{first['holderIdentity']} stopped leading" in said and f"{taken[0]} became leader" in said, said
    assert re.search(rf"trimtab +{taken[0]} ", w.kubectl("-n", "kube-system", "get", "lease"))
    a_few(w, "later")
    assert b.end() == 0 and not w.lease().get("holderIdentity")
    assert a.troubles() == [] and b.troubles() == [], (a.troubles(), b.troubles())


def test_leader_killed__taken_over_when_the_lease_has_run_out(w):
    a = w.launch(*SHORT).leads()
    a_few(w, "one", "two")
    holder = w.lease()["holderIdentity"]
    b = w.launch(*SHORT).stands_by()
    w.quiet()
    w.forget_calls()
    a.end(signal.SIGKILL)
    b.leads()
    until_synced(b, "one", "two")
    writes = lease_writes(w.entries())
    at = next(i for i, write in enumerate(writes) if write[0] != holder)
    last = [write for write in writes[:at] if write[3] == 200][-1]  # one may have been cut off
    gap = seconds_between(last[1], writes[at][1])
    say(f"kill: taken over {gap:.1f} s after the last renewal (lease 4 s, retry 0.5 to 1.1 s)")
    assert gap >= 4, writes[at - 1:]
    assert w.mutations() == {} and changes(b) == [], (w.mutations(), changes(b))


def test_three_replicas_rolled__one_writer_at_a_time(w):
    """As a rollout does it: each one is replaced while Services are made."""
    alive, made = [w.launch(*SHORT) for _ in range(3)], []
    w.until("one of them leads", lambda: w.lease().get("holderIdentity"))
    for turn in range(3):
        made += [f"s{turn}-{i}" for i in range(5)]
        for name in made[-5:]:
            w.create(name)
        leader = next(r for r in alive if '"Successfully acquired lease"' in r.log())
        alive.remove(leader)
        alive.append(w.launch(*SHORT))
        assert leader.end() == 0, leader.log()
        w.until("the next one leads", lambda: any('"Successfully acquired lease"' in r.log() for r in alive))
    for name in made:
        w.until_address(name)
    assert len(w.cloud("forwardingRules")) == len(made) and w.cloud("addresses") == {}, w.cloud("addresses")
    wrong, holder, holders = [], None, {}
    mine = [e for e in w.entries() if e["user"]["username"] == USER]
    for e in sorted(mine, key=lambda e: e["requestReceivedTimestamp"]):
        who = e["user"].get("extra", {}).get("authentication.kubernetes.io/credential-id")
        kind = by_kind([e])[0]
        if kind[:2] in (("create", "leases"), ("update", "leases")) and kind[2] < 300:
            holder = who if e["requestObject"]["spec"].get("holderIdentity") else None
            holders[str(who)] = True
        elif kind[0] in CHANGES and kind[1] not in ("leases", "events") and who != holder:
            wrong.append((kind, who, holder))
    assert not wrong and len(holders) == 4, (wrong, holders)
    assert not w.refused_now(), w.refused_now()


def test_apiserver_away_for_longer_than_the_lease__ends_and_begins_again(w):
    a, b = w.launch(*SHORT).leads(), w.replica(*SHORT)
    a_few(w, "one")
    address = w.address("one")
    w.kill_apiserver()
    assert a.process.wait(180) == 1
    assert "\nerror: leaderelection lost" in a.log(), a.log()
    b.run().until("cannot reach")  # its supervisor began it while nobody answers
    w.restart_apiserver()
    b.leads()
    until_synced(b, "one")
    assert w.address("one") == address and w.mutations().get("compute.forwardingRules.insert") == 1, w.mutations()


def test_etcd_hangs__the_leader_ends_in_time(w):
    """Renewals are taken and never answered: nothing is sent after the renew deadline."""
    a = w.launch(*SHORT).leads()
    a_few(w, "one")
    w.etcd.send_signal(signal.SIGSTOP)
    try:
        assert a.process.wait(LIMIT_S) == 1
    finally:
        w.etcd.send_signal(signal.SIGCONT)
    assert "\nerror: leaderelection lost" in a.log(), a.log()
    w.wait_for_apiserver()
    w.launch(*SHORT).leads()
    a_few(w, "two")
    assert len(w.cloud("forwardingRules")) == 2 and w.cloud("addresses") == {}


def test_apiserver_rolled__the_leader_goes_on(w):
    """One server ends in order, another one is there already: requests go there, watches when they are cut."""
    a = w.launch().leads()
    a_few(w, "one")
    before = w.roll_apiserver()
    try:
        a_few(w, "two")
        before.wait(LIMIT_S + 30)                  # open watches may stay for a minute
        a_few(w, "three")
    finally:
        before.kill()
    assert a.process.poll() is None and len(w.cloud("forwardingRules")) == 3
    assert w.lease()["leaseTransitions"] == 0, w.lease()
    for line in a.troubles():
        say(line)


# --- lists and watches ----------------------------------------------------------------------------------------------
def crowd(w, count):
    """Nodes as kubelets make them, 40 images each, and as many Services, of which ten are ours."""
    images = [{"names": [f"registry.example.com/team/image-{i}@sha256:{i:064x}", f"registry.example.com/team/image-{i}:v1"],
               "sizeBytes": 1000000 + i} for i in range(40)]
    w.must("POST", "/sim/nodes", {"count": count - 6})
    there = {n["metadata"]["name"] for n in w.must("GET", "/api/v1/nodes")["items"]}
    nodes = [n for n in w.sim_nodes() if n["metadata"]["name"] not in there]
    w.bulk("POST", [("/api/v1/nodes", {
        "apiVersion": "v1", "kind": "Node", "spec": n["spec"], "status": {**n["status"], "images": images},
        "metadata": {k: n["metadata"][k] for k in ("name", "labels", "annotations") if k in n["metadata"]}}) for n in nodes])
    w.bulk("POST", [(w.services(), {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": f"c{i}"},
        "spec": {"type": "LoadBalancer" if i < 10 else "ClusterIP", "ports": [{"port": 80}], "selector": {"app": f"c{i}"}}})
        for i in range(count)])
    return [n["metadata"]["name"] for n in nodes]


def no_crowd(w, nodes):
    w.restart_with()
    w.bulk("DELETE", [(f"/api/v1/nodes/{name}", None) for name in nodes])
    for name in nodes:
        w.must("DELETE", f"/sim/nodes/{name}")
    w.bulk("DELETE", [(w.services(s["metadata"]["name"]), None) for s in w.all_services()
                      if s["spec"]["type"] == "ClusterIP"])


def asked_for(replica, resource):
    """How it read a resource: (verb or "streaming list", status)."""
    return [("streaming list" if "sendInitialEvents=true" in e["requestURI"] else e["verb"], e["responseStatus"]["code"])
            for e in replica.asked() if e.get("objectRef", {}).get("resource") == resource
            and e["verb"] in ("list", "watch") and not e["objectRef"].get("name")]


def encodings(w):
    return len(re.findall(r'server encoding header \\?"content-encoding\\?" = \\?"gzip', w.server_log()))


def connections_seen(w):
    return w.server_log().count("http2: server connection from")


def test_big_lists__streamed__or_listed_where_the_server_or_we_cannot(w):
    """The same 500 nodes and Services by each way, over HTTP/2; lists are compressed."""
    nodes = crowd(w, 500)
    try:
        for way, gates, environment, want in (
                ("streamed", [], {}, ["streaming list"]),
                ("refused by the server", ["--feature-gates=WatchList=false"], {}, ["streaming list", "list", "watch"]),
                ("switched off here", [], {"KUBE_FEATURE_WatchListClient": "false"}, ["list", "watch"])):
            w.restart_with(*gates, GODEBUG="http2debug=1")
            w.forget_audit()
            zipped, before = encodings(w), connections_seen(w)
            r = w.replica("--leader-elect=false", "--kube-api-qps=-1").run(**environment)
            r.until('"Watching"', "services=501", "nodes=500")
            until_synced(r, *[f"c{i}" for i in range(10)])
            for i in range(10):
                w.until_address(f"c{i}")
            w.patch("c20", {"metadata": {"labels": {"way": way.split(" ", maxsplit=1)[0]}}})
            r.world.quiet()
            used, new, open_now = encodings(w) - zipped, connections_seen(w) - before, r.connections()
            assert r.end() == 0
            w.until("its watches are in the log", lambda: all(
                len(asked_for(r, kind)) >= len(want) for kind in ("nodes", "services")))  # a watch is logged when it ends
            for kind in ("nodes", "services"):
                got = [a[0] for a in asked_for(r, kind)]
                got = [g for i, g in enumerate(got) if i == 0 or g != got[i - 1]]
                assert sorted(got) == sorted(want), (way, kind, asked_for(r, kind))
            say(f"{way}: {new} HTTP/2 connections were made, {open_now} open at rest; {used} answers were compressed")
            assert new >= 1 and (used > 0) == ("list" in want), (way, new, used)
            assert r.troubles() == [], r.troubles()
        assert len(w.cloud("forwardingRules")) == 10
    finally:
        no_crowd(w, nodes)


def test_goaway_often__nothing_is_lost(w):
    """The server ends every fiftieth request's connection, as servers behind a balancer do."""
    w.restart_with("--goaway-chance=0.02", GODEBUG="http2debug=1")
    try:
        before = connections_seen(w)
        r = w.launch().leads()
        names = [f"g{i}" for i in range(60)]
        for name in names:
            w.create(name)
        for name in names:
            w.until_address(name)
        w.quiet()
        assert len(w.cloud("forwardingRules")) == 60 and w.cloud("addresses") == {}
        for name in names:
            w.delete(name)
        w.until("all are gone", lambda: not w.all_services())
        say(f"{connections_seen(w) - before} connections for {len(r.asked())} requests")
        assert w.cloud("forwardingRules") == {} and r.troubles() == [], r.troubles()
    finally:
        w.restart_with()


# --- as whom --------------------------------------------------------------------------------------------------------
def test_service_account_credentials__two_identities(w):
    """Requests for Services come from kube-system/service-controller, which has its rights from Kubernetes itself."""
    with open(w.write("more.yaml", MORE), encoding="utf-8") as f:
        assert f.read()
    w.kubectl("apply", "-f", w.path("more.yaml"))
    roles = subprocess.run([PROGRAMS[1], "rbac", "--cloud-provider=gce", "--leader-elect-resource-name=trimtab",
                            "--service-account=kube-system/service-controller"], check=True, capture_output=True, text=True)
    both = roles.stdout.replace("name: trimtab,", "name: trimtab-services,").replace("name: trimtab}", "name: trimtab-services}")
    w.kubectl("apply", "-f", w.write("both.yaml", re.sub(r"name: trimtab-(auth[a-z-]*)", r"name: trimtab-services-\1", both)))
    r = w.launch("--use-service-account-credentials").leads()
    a_few(w, "one")
    w.until_event("one", "EnsuredLoadBalancer")
    w.delete("one")
    w.until_gone("one")
    done = {user: {(k[0], k[1]) for k in by_kind(e for e in w.entries() if e["user"]["username"] == user)}
            for user in (USER, SERVICE_CONTROLLER)}
    assert ("patch", "services/status") in done[SERVICE_CONTROLLER] and ("create", "events") in done[SERVICE_CONTROLLER], done
    assert ("patch", "services/status") not in done[USER] and ("create", "serviceaccounts/token") in done[USER], done
    assert not {k for k in done[SERVICE_CONTROLLER] if k[0] in ("list", "watch")}, done
    assert w.call("GET", "/api/v1/namespaces/kube-system/serviceaccounts/service-controller")[0] == 200
    assert not w.refused_now() and r.troubles() == [], (w.refused_now(), r.troubles())


def test_credential_plugin__its_tokens_are_taken(w):
    """kubectl makes the tokens, as a cloud's helper would."""
    runs = w.path("runs")
    plugin = w.write("helper", f"""#!/bin/sh
echo run >>{runs}
token=$(kubectl --kubeconfig={w.admin_config} -n kube-system create token trimtab --duration=10m)
printf '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{"token": "%s"}}}}' "$token"
""")
    os.chmod(plugin, 0o700)
    config = w.write_kubeconfig("plugin.kubeconfig", "exec: {apiVersion: client.authentication.k8s.io/v1, "
                                f"command: {plugin}, interactiveMode: Never}}")
    r = w.launch(kubeconfig=config).leads()
    a_few(w, "one")
    with open(runs, encoding="utf-8") as f:
        assert f.read() == "run\n"
    assert not w.refused_now() and r.troubles() == [], (w.refused_now(), r.troubles())


def test_client_certificate__and_impersonation(w):
    """A certificate of the cluster's CA may act as trimtab's account, and does."""
    cert, key = w.client_pair("certified", "/CN=certified/O=operators")
    w.kubectl("apply", "-f", w.write("may.yaml", MAY_IMPERSONATE))
    config = w.write_kubeconfig("certified.kubeconfig", f'client-certificate: "{cert}", client-key: "{key}", as: "{USER}"')
    r = w.launch(kubeconfig=config).leads()
    a_few(w, "one")
    mine = [e for e in w.entries() if e["user"]["username"] == "certified"]
    assert mine and {e.get("impersonatedUser", {}).get("username") for e in mine} == {USER}, mine[:2]
    assert not w.refused_now() and r.troubles() == [], (w.refused_now(), r.troubles())


def test_throttled_by_the_server__waits_and_goes_on(w):
    """A priority level with hardly a seat and no queue: 429 with Retry-After."""
    r = w.launch("--kube-api-qps=-1").leads()
    w.kubectl("apply", "-f", w.write("flows.yaml", FLOWS))
    names = []

    def refused():
        return sum(k[2] == 429 for k in by_kind(r.asked()))
    try:
        while not refused():
            assert len(names) < 400, "nothing was refused"
            more = [f"t{len(names) + i}" for i in range(20)]
            w.bulk("POST", [(w.services(), {"apiVersion": "v1", "kind": "Service", "metadata": {"name": n}, "spec": {
                "type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": n}}}) for n in more])
            names += more
            w.until("they were tried", lambda: refused() or all(w.address(n) for n in names))
    finally:
        w.kubectl("delete", "-f", w.path("flows.yaml"))
    for name in names:
        w.until_address(name)
    say(f"{refused()} of {len(r.asked())} requests were answered 429")
    assert len(w.cloud("forwardingRules")) == len(names) and w.cloud("addresses") == {}
    for line in r.troubles()[:3]:
        say(line)


# --- what is written, and what is shipped ---------------------------------------------------------------------------
def test_condition_and_annotations__accepted_and_waited_for(w):
    r = w.launch("--service-conditions", "--service-annotations").leads()
    w.create("web")
    w.kubectl("wait", "--for=condition=trimtab.io/LoadBalancerReady", "service/web", "--timeout=30s")
    svc = w.get("web")
    condition, = svc["status"]["conditions"]
    assert condition["status"] == "True" and condition["reason"] == "Ready", condition
    assert "trimtab.io/last-plan" in svc["metadata"]["annotations"], svc
    w.patch("web", {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}]}})
    w.until("it says what is wrong", lambda: "trimtab.io/last-error" in w.get("web")["metadata"]["annotations"])
    w.kubectl("wait", "--for=condition=trimtab.io/LoadBalancerReady=false", "service/web", "--timeout=30s")
    w.patch("web", {"spec": {"ports": [{"name": "a", "port": 80}]}})
    w.kubectl("wait", "--for=condition=trimtab.io/LoadBalancerReady", "service/web", "--timeout=30s")
    w.until("the error is gone", lambda: "trimtab.io/last-error" not in w.get("web")["metadata"]["annotations"])
    w.quiet()
    count = len(changes(r))
    w.patch("web", {"metadata": {"labels": {"a": "b"}}})
    w.quiet()
    assert len(changes(r)) == count, changes(r)[count:]
    w.patch("web", {"spec": {"type": "ClusterIP"}})
    w.until("all of it is gone", lambda: not w.get("web")["metadata"].get("finalizers"))
    svc = w.get("web")
    kinds = [c["type"] for c in svc["status"].get("conditions", [])]  # the other one stays as False, as upstream leaves it
    assert not svc["metadata"].get("annotations") and kinds == ["LoadBalancerPortsError"], svc
    assert not [k for k in by_kind(r.asked()) if k[0] in CHANGES and k[2] >= 400], by_kind(r.asked())


def test_shipped_manifests__the_server_takes_them(w):
    """Server-side dry run with strict field validation; the pod also where only restricted ones may be."""
    w.must("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    for cloud in ("gce", "azure"):
        said = w.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", f"{MANIFESTS}/{cloud}")
        assert "deployment.apps/trimtab created (server dry run)" in said, said
        say(f"{cloud}: {len(said.splitlines())} objects taken")
        template = json.loads(w.kubectl("apply", "--dry-run=server", "-o", "json", "-l", "app.kubernetes.io/name=trimtab",
                                        "-f", f"{MANIFESTS}/{cloud}/trimtab.yaml"))["items"][-1]["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "t", "labels": template["metadata"]["labels"]},
               "spec": {k: v for k, v in template["spec"].items() if k != "priorityClassName"}}
        w.must("POST", "/api/v1/namespaces/strict/pods?dryRun=All&fieldValidation=Strict", pod)
    said = w.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", f"{MANIFESTS}/monitoring/dashboard.yaml")
    assert "created (server dry run)" in said, said


def test_permissions__nothing_was_refused(w):
    """The last one: over all of the tests before."""
    assert not w.refused, w.refused[:5]


MORE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: trimtab-accounts, namespace: kube-system}
rules:
- {apiGroups: [""], resources: [serviceaccounts], verbs: [create]}
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [service-controller], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [service-controller], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: trimtab-accounts, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: trimtab-accounts}
subjects: [{kind: ServiceAccount, name: trimtab, namespace: kube-system}]
"""
MAY_IMPERSONATE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: impersonator, namespace: kube-system}
rules: [{apiGroups: [""], resources: [serviceaccounts], resourceNames: [trimtab], verbs: [impersonate]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: impersonator, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: impersonator}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: operators}]
"""
FLOWS = """\
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: narrow}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: narrow}
spec:
  priorityLevelConfiguration: {name: narrow}
  matchingPrecedence: 100
  rules:
  - subjects: [{kind: ServiceAccount, serviceAccount: {name: trimtab, namespace: kube-system}}]
    resourceRules: [{apiGroups: [""], resources: ["services/status"], verbs: ["*"], namespaces: ["*"]}]
"""


def main():
    if not (APISERVER and ETCD and shutil.which("kubectl")):
        return tap.skip("TRIMTAB_KUBE_APISERVER and TRIMTAB_ETCD do not name programs, or kubectl is absent")
    with ControlPlane(PROGRAMS, MANIFESTS) as w:
        return tap.run([(name, w.with_books(test)) for name, test in tap.tests_of(globals(), sys.argv[4:])])


if __name__ == "__main__":
    sys.exit(main())
