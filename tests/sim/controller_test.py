#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real trimtab against trimtab-sim: the life of a Service, restarts, signals, faults of the API server.

    controller_test.py TRIMTAB_SIM TRIMTAB HANG.so [TEST…]     (TAP on stdout)

HANG.so is a plugin whose ensure never returns.
"""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CLEANUP, FLAGS, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
HANG = sys.argv[3]


def ended(code, want, seconds):
    """The exit status, soon: the time is shown, and only a process that hangs breaks the bound."""
    print("# ended with %d after %.2f s" % (code, seconds))
    return code == want and seconds < 30


def finalizers(svc):
    return svc["metadata"].get("finalizers", [])


# --- the life of a Service -------------------------------------------------------------------------------------

def test_create__address_finalizer_and_events():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.create("web")
        address = w.until_address("web")
        assert CLEANUP in finalizers(w.get("web"))
        rules = w.cloud("forwardingRules")
        assert [r["IPAddress"] for r in rules.values()] == [address], rules
        assert w.members() == ["node-0", "node-1", "node-2"]
        w.until_event("web", "EnsuredLoadBalancer", "Ensured load balancer")
        assert ("Normal", "EnsuringLoadBalancer", "Ensuring load balancer") in w.events("web")
        assert w.service_writes() == {"services.create": 1, "services.status.patch": 2}
        w.until("it says so", lambda: w.logged('"Synced"', 'service="default/web"', f'address="{address}"'))
        assert w.logged('"Plan"', 'service="default/web"', "change=0")


def test_no_nodes_yet__served_as_soon_as_there_is_one():
    """A Service that is refused for lack of nodes waits for nodes, not for the next repetition minutes later."""
    with World(PROGRAMS, "--nodes=0") as w:
        w.start()
        w.create("web")
        w.until_event("web", "SyncLoadBalancerFailed", "with no hosts")
        w.must("POST", "/sim/nodes", {"count": 2})
        w.until_address("web")
        # One of the two may be seen first, and served with alone.
        w.until("both are members", lambda: w.members() == ["node-0", "node-1"])


def test_restart__adopted_without_a_write():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start()
        for name in ("a", "b", "c"):
            w.create(name)
        addresses = [w.until_made(n) for n in "abc"]
        assert w.stop()[0] == 0
        w.forget_calls()
        w.start()
        w.until("all are synced", lambda: all(w.logged('"Synced"', f"default/{n}") for n in "abc"))
        assert w.mutations() == {}
        assert w.service_writes() == {}
        assert "events.create" not in w.calls()["kubernetes"]
        assert [w.address(n) for n in "abc"] == addresses
        w.patch("a", {"metadata": {"labels": {"x": "y"}}})  # labels alone are no reason to sync
        w.patch("b", {"metadata": {"annotations": {"x": "y"}}})
        w.until("the other one is synced again", lambda: len(w.logged('"Synced"', "default/b")) == 2)
        assert len(w.logged('"Synced"', "default/a")) == 1
        assert w.mutations() == {}


def test_delete__cloud_is_empty_again():
    with World(PROGRAMS, "--nodes=2") as w:
        before = w.must("GET", "/sim/state")["gce"].keys()
        w.start()
        w.create("web")
        w.until_address("web")
        w.delete("web")
        w.until_gone("web")
        assert w.must("GET", "/sim/state")["gce"].keys() == before
        assert [e[1] for e in w.until_event("web", "DeletedLoadBalancer")] == ["DeletedLoadBalancer"]


def test_type_change__cleaned_up_and_the_service_stays():
    with World(PROGRAMS, "--nodes=2") as w:
        w.start()
        w.create("web")
        w.until_address("web")
        w.patch("web", {"spec": {"type": "ClusterIP"}})
        w.until("the finalizer is gone", lambda: not finalizers(w.get("web")))
        assert w.cloud("forwardingRules") == {}
        assert w.address("web") is None
        w.patch("web", {"spec": {"type": "LoadBalancer"}})
        w.until_address("web")


def test_edit__only_what_differs_is_changed():
    with World(PROGRAMS, "--nodes=2") as w:
        w.start()
        w.create("web")
        address = w.until_made("web")
        w.forget_calls()
        w.patch("web", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}})
        w.until("the firewall has it", lambda: any(
            f.get("sourceRanges") == ["10.0.0.0/8"] for f in w.cloud("firewalls").values()))
        w.until("it is done", lambda: w.logged('"Plan"', "change=1"))
        assert sum(w.mutations().values()) == 1, w.mutations()
        assert w.address("web") == address


def test_nodes__come_and_go():
    with World(PROGRAMS, "--nodes=2") as w:
        w.start()
        for name in ("a", "b"):
            w.create(name)
            w.until_made(name)
        w.forget_calls()
        w.must("POST", "/sim/nodes", {"count": 1})  # of two, each could be seen, and added, by itself
        w.until("both pools have three", lambda: w.members() == sorted(["node-0", "node-1", "node-2"] * 2))
        assert w.mutations() == {"compute.targetPools.addInstance": 2}, w.mutations()
        w.must("DELETE", "/sim/nodes/node-0")
        w.until("it is out of both", lambda: "node-0" not in w.members())
        w.until_event("a", "UpdatedLoadBalancer", "Updated load balancer with new hosts")
        w.forget_calls()
        w.must("PATCH", "/api/v1/nodes/node-1", {"metadata": {"labels": {"x": "y"}}},
               content_type="application/merge-patch+json")
        w.must("PATCH", "/api/v1/nodes/node-1", {"metadata": {"labels": {
            "node.kubernetes.io/exclude-from-external-load-balancers": ""}}},
               content_type="application/merge-patch+json")
        w.until("the excluded one is out", lambda: "node-1" not in w.members())
        assert w.mutations() == {"compute.targetPools.removeInstance": 2}, w.mutations()


def test_class_of_another__never_touched():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.create("other", {"finalizers": [CLEANUP]}, loadBalancerClass="example.com/x")
        w.create("web")
        w.until_address("web")
        w.delete("other")
        w.create("last")
        w.until_address("last")
        assert finalizers(w.get("other")) == [CLEANUP]
        assert len(w.cloud("forwardingRules")) == 2


def test_kind_of_another__left_alone():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.create("rbs", {"annotations": {"cloud.google.com/l4-rbs": "enabled"}})
        w.create("web")
        w.until_address("web")
        w.until("it was looked at", lambda: w.logged('"Synced"', "default/rbs"))
        assert finalizers(w.get("rbs")) == [] and w.address("rbs") is None
        assert len(w.cloud("forwardingRules")) == 1


def test_many__in_parallel():
    with World(PROGRAMS, "--nodes=2") as w:
        w.start("--concurrent-service-syncs=5")
        names = [f"s{i}" for i in range(20)]
        for name in names:
            w.create(name)
        for name in names:
            w.until_address(name)
        assert len({w.address(n) for n in names}) == len(names)
        for name in names:
            w.delete(name)
        for name in names:
            w.until_gone(name)
        assert w.cloud("forwardingRules") == {} and w.cloud("addresses") == {}


def test_cluster_id__ten_workers_on_an_empty_cluster__one_look_and_one_config_map():
    with World(PROGRAMS, "--nodes=2", "--services=20") as w:
        w.start("--concurrent-service-syncs=10")
        w.until("all are synced", lambda: len({line.split('service="')[1].split('"')[0] for line in w.logged('"Synced"')}) == 20)
        calls = w.calls()["kubernetes"]
        assert (calls["configmaps.get"], calls["configmaps.create"]) == (1, 1), calls
        assert len(w.cloud("httpHealthChecks")) == 1  # named by the id: nobody had another


def test_shared_check__who_has_nothing_to_do_with_it_does_not_wait():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start("--concurrent-service-syncs=5")
        for name, policy in (("cluster", "Cluster"), ("local", "Local"), ("other", "Local")):
            w.create(name, externalTrafficPolicy=policy)
            w.until_address(name)
        w.fault(match={"op": "compute.targetPools.delete"}, count=1, do="hang")
        w.delete("cluster")  # the last one that wants the shared check: holds it alone, and hangs
        w.until("it hangs", lambda: w.calls()["gce"].get("compute.targetPools.delete"))
        w.delete("local")
        w.until_gone("local")
        w.patch("other", {"spec": {"ports": [{"port": 81}]}})
        w.until("the other one is changed", lambda: [
            r for r in w.cloud("forwardingRules").values() if r["portRange"] == "81-81"])
        w.create("new", externalTrafficPolicy="Local")
        w.until_address("new")
        assert w.get("cluster") is not None


# --- trouble ---------------------------------------------------------------------------------------------------

def test_cloud_refuses__event_says_why_and_it_heals():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.fault(match={"op": "compute.forwardingRules.insert"}, count=1, do="refuse", status=403,
                body={"error": {"code": 403, "message": "no permission for you",
                                "errors": [{"reason": "forbidden", "message": "no permission for you"}]}})
        w.create("web")
        w.until_event("web", "SyncLoadBalancerFailed", "Error syncing load balancer: failed to ensure load balancer")
        w.until_made("web")
        assert len(w.cloud("forwardingRules")) == 1 and w.cloud("addresses") == {}


def test_status_patch_refused__written_later():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        # The one while the load balancer is tidied up, and the one at the end.
        w.fault(match={"op": "services.status.patch"}, **{"from": 2}, count=2, do="refuse", status=500)
        w.create("web")
        w.until_event("web", "SyncLoadBalancerFailed", "failed to update load balancer status")
        w.forget_calls()
        w.until_made("web")
        assert w.mutations() == {}


def test_finalizer_refused__nothing_is_made_before_it_is_there():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.fault(match={"op": "services.status.patch"}, count=0, do="refuse", status=500)
        w.create("web")
        w.until_event("web", "SyncLoadBalancerFailed", "failed to add load balancer cleanup finalizer")
        assert w.mutations() == {}
        w.heal()
        w.until_address("web")


def test_watches_cut_and_expired__nothing_is_missed():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        for kind in ("watch-cut", "watch-expire"):
            w.fault(match={"api": "kubernetes"}, do=kind)
            w.create(kind)
            w.until_address(kind)
        w.must("POST", "/sim/nodes", {"count": 1})
        w.until("the node is in both", lambda: w.members().count("node-1") == 2)


def test_killed_in_the_middle__the_next_one_finishes():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.fault(match={"op": "compute.forwardingRules.insert"}, count=1, do="hang")
        w.create("web")
        w.until("it hangs", lambda: w.calls()["gce"].get("compute.forwardingRules.insert"))
        held = [a["address"] for a in w.cloud("addresses").values()]
        w.kill()
        w.heal()
        w.start()
        assert [w.until_address("web")] == held
        assert w.cloud("addresses") == {} or len(w.cloud("forwardingRules")) == 1


def test_deleted_while_away__cleaned_up_at_the_next_start():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.create("web")
        w.until_address("web")
        w.stop()
        w.delete("web")
        assert w.get("web") is not None
        w.start()
        w.until_gone("web")
        assert w.cloud("forwardingRules") == {}


# --- signals ---------------------------------------------------------------------------------------------------

def test_signals__exit_0_at_once():
    for number in (signal.SIGTERM, signal.SIGINT):
        with World(PROGRAMS, "--nodes=1") as w:
            w.start()
            code, seconds = w.stop(number)
            assert ended(code, 0, seconds), (code, seconds)


def test_sigterm_while_a_call_hangs__within_two_seconds():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.fault(match={"op": "compute.firewalls.insert"}, count=0, do="hang")
        w.create("web")
        w.until("it hangs", lambda: w.calls()["gce"].get("compute.firewalls.insert"))
        code, seconds = w.stop()
        assert ended(code, 0, seconds), (code, seconds)
        assert not [e for e in w.events("web") if e[0] == "Warning"]


def threads(w):
    with open(f"/proc/{w.trimtab.pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Threads:"))


def test_forty_calls_hang__few_threads_and_sigterm_within_two_seconds():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start("--concurrent-service-syncs=40")
        w.create("first")  # makes what all of them share
        w.until_address("first")
        alone, before = threads(w), w.calls()["gce"]["compute.firewalls.insert"]
        w.fault(match={"op": "compute.firewalls.insert"}, count=0, do="hang")
        for i in range(40):
            w.create(f"s{i}")
        w.until("all hang", lambda: w.calls()["gce"]["compute.firewalls.insert"] == before + 40)
        assert threads(w) <= alone + 4, (threads(w), alone)
        code, seconds = w.stop()
        assert ended(code, 0, seconds), (code, seconds)


def test_sigterm_while_the_api_server_hangs__within_two_seconds():
    with World(PROGRAMS, "--nodes=1") as w:
        w.fault(match={"op": "healthz.get"}, count=0, do="hang")
        process = subprocess.Popen([PROGRAMS[1], *FLAGS, f"--kubeconfig={w.kubeconfig}",
                                    f"--cloud-config={w.conf}/gce.conf"], env=w.environment(),
                                   stderr=w.file("run-1"))
        w.trimtab = process
        w.until("it asks", lambda: w.calls()["kubernetes"].get("healthz.get"))
        code, seconds = w.stop()
        assert ended(code, 0, seconds), (code, seconds)


def hanging(w):
    w.start("--cloud-provider=hang", f"--provider-plugin-dir={os.path.dirname(os.path.abspath(HANG))}")
    w.create("web")
    w.until("it hangs", lambda: w.logged('"Hanging"'))


def test_sigterm_while_a_plugin_hangs__left_behind_within_two_seconds():
    with World(PROGRAMS, "--nodes=1") as w:
        hanging(w)
        code, seconds = w.stop()
        assert ended(code, 0, seconds), (code, seconds)
        assert w.logged("A call into the provider does not end", 'provider="hang"')


def test_second_signal__exit_1_at_once():
    with World(PROGRAMS, "--nodes=1") as w:
        w.leaves_threads = True
        hanging(w)
        w.trimtab.send_signal(signal.SIGTERM)
        w.until("it is stopping", lambda: w.logged("Signal received, stopping"))
        code, seconds = w.stop()
        assert ended(code, 1, seconds), (code, seconds)


# --- the command line ------------------------------------------------------------------------------------------

def run(*args, exe=None, **env):
    return subprocess.run([exe or PROGRAMS[1], *args], capture_output=True, text=True, check=False, timeout=180,
                          env={"PATH": os.environ["PATH"], **env})


def test_flags__faults_are_sentences_and_exit_1():
    fine = ["--cloud-provider=gce", "--leader-elect=false", "--secure-port=0"]
    for args, text in (
            (["--logtostderr"], "unknown flag: --logtostderr"),
            ([*fine, "--kube-api-qps=x"], 'invalid argument "x" for "--kube-api-qps" flag: '),
            (["--leader-elect=false", "--secure-port=0"], "--cloud-provider cannot be empty"),
            (["--cloud-provider=gce", "--secure-port=0", "--leader-elect-renew-deadline=15s"],
             "leaseDuration must be greater than renewDeadline"),
            (["--cloud-provider=gce", "--secure-port=0", "--kubeconfig=/nonexistent"], "/nonexistent"),
            ([*fine, "--controllers=*,route"], '"route" is not part of trimtab'),
            (["--cloud-provider=gce", "--leader-elect=false", "--secure-port=70000"], "--secure-port 70000 must be between 0 and 65535"),
            (["--cloud-provider=nope", *fine[1:]], 'unknown cloud provider "nope"'),
            ([*fine, "--concurrent-service-syncs=0"], "concurrent-service-syncs must be a positive number"),
            ([*fine, "--feature-gates=A"], "missing bool value for A"),
            ([*fine, "--kubeconfig=/nonexistent"], "/nonexistent"),
            ([*fine, "--vmodule=x"], "vmodule")):
        r = run(*args)
        assert r.returncode == 1 and text in r.stderr and r.stderr.count("error: ") == 1, (args, r)
        assert r.stdout == "", r


def test_missing_config_files__named():
    with World(PROGRAMS, "--nodes=1") as w:
        r = run(*FLAGS, f"--kubeconfig={w.kubeconfig}", "--cloud-config=/nonexistent/gce.conf")
        assert r.returncode == 1 and "/nonexistent/gce.conf" in r.stderr, r


def test_unreachable_api_server__says_where_and_what_to_check():
    with World(PROGRAMS, "--nodes=1") as w:
        with open(w.kubeconfig, encoding="utf-8") as f:
            text = f.read().replace(w.url, "http://127.0.0.1:1")
        with open(w.kubeconfig, "w", encoding="utf-8") as f:
            f.write(text)
        r = run(*FLAGS, f"--kubeconfig={w.kubeconfig}", f"--cloud-config={w.conf}/gce.conf", **w.environment())
        last = r.stderr.strip().splitlines()[-1]
        assert r.returncode == 1 and "cannot reach the API server http://127.0.0.1:1" in last, r.stderr
        assert "check the server address in" in last, last


def test_help_and_version__exit_0():
    r = run("--help")
    assert r.returncode == 0 and "--cloud-provider string" in r.stdout and r.stderr == "", r
    r = run("--cloud-provider=gce", "-h")
    assert r.returncode == 0 and "Flags of the provider" in r.stdout, r
    r = run("--version")
    assert r.returncode == 0 and r.stdout.startswith("Kubernetes v1.36."), r
    assert run("--version=v9.9.9").stdout == "Kubernetes v9.9.9\n"


def test_controller_turned_off__a_provider_without_more_does_not_start():
    with World(PROGRAMS, "--nodes=1", "--services=1") as w:
        flags = [f for f in FLAGS if not f.startswith("--cloud-provider=")]
        done = subprocess.run(
            [PROGRAMS[1], *flags, "--cloud-provider=hang", f"--provider-plugin-dir={os.path.dirname(HANG)}",
             f"--kubeconfig={w.kubeconfig}", "--controllers=-service,*"],
            capture_output=True, text=True, env=w.environment(), timeout=180, check=False)
        assert done.returncode == 1, done
        assert 'switches "service-lb-controller" off, and provider "hang" has nothing else' in done.stderr, done
        assert w.calls()["kubernetes"] == {}


def test_called_as_upstream__is_the_controller():
    with World(PROGRAMS, "--nodes=1") as w:
        link = os.path.join(w.folder, "cloud-controller-manager")
        os.symlink(os.path.abspath(PROGRAMS[1]), link)
        r = run("plan", exe=link)
        assert r.returncode == 1, r
        assert '"cloud-controller-manager" does not take any arguments, got ["plan"]' in r.stderr, r


def test_json_log__every_line_is_an_object():
    with World(PROGRAMS, "--nodes=1") as w:
        w.start("--logging-format=json")
        w.create("web")
        w.until_address("web")
        w.stop()
        text = re.sub(r"==\d+==WARNING: ASan doesn't fully support makecontext.*\n", "", w.log())  # the sanitizer's own line
        lines = [json.loads(line) for line in text.splitlines()]
        assert any(line["msg"] == "Plan" and line["service"] == "default/web" for line in lines)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
