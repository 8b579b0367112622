#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTTPS port of the whole program: on a standby and on the leader, who may see what, certificates, a reload, its end.

    serving_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

What single pages print is the unit tests'; here it is asked for as a probe, Prometheus or a person would.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
from controller_world import World  # noqa: E402
from https_port import ADMIN, Port  # noqa: E402
from kube_recorder import make_certificate  # noqa: E402
from replicas import SHORT, Replicas  # noqa: E402

PROGRAMS = sys.argv[1:3]


def launch(w):
    """A replica and its port."""
    port = Port(w.kubeconfig)
    return w.launch(*SHORT, *port.flags), port


LEADS = 'leader_election_master_status{name="cloud-controller-manager"}'
RUNS = 'running_managed_controllers{name="service",manager="cloud-controller-manager"}'


def test_standby__answers_and_takes_over():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a, first = launch(w)
        a.until_logged("Successfully acquired lease")
        w.until("the leader's controller runs", lambda: "service-lb-controller" in first.get("/healthz?verbose"))
        b, second = launch(w)
        b.stands_by()
        w.create("web")
        w.until_address("web")
        assert first.get("/healthz?verbose") == ("[+]leaderElection ok\n[+]service-lb-controller ok\n"
                                                 "healthz check passed\n")
        assert second.get("/healthz?verbose") == "[+]leaderElection ok\nhealthz check passed\n"
        assert second.ask("/readyz") == (200, "ok") and second.ask("/livez") == (200, "ok")
        lease = w.must("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager")
        holder = lease["spec"]["holderIdentity"]
        w.until("the leader shows the Service", lambda: first.status()["summary"]["Ready"] == 1)
        leader, standby = first.status(), second.status()
        assert leader["running"] and leader["leader"] == {
            "elects": True, "leads": True, "lease": "kube-system/cloud-controller-manager", "holder": holder}, leader
        assert not standby["running"] and not standby["leader"]["leads"], standby
        assert standby["leader"]["holder"] == holder and standby["services"] == [], standby
        assert (first.metric(LEADS), second.metric(LEADS), first.metric(RUNS)) == (1, 0, 1)
        assert {b["api"]: b["requests"] > 0 for b in leader["budget"]} == {"kubernetes": True, "gce": True}, leader
        assert a.end() == 0 and first.ask("/healthz") == (None, "")
        w.until("the other one leads", lambda: second.status()["running"])
        w.until("it knows the Service", lambda: second.status()["summary"]["Ready"] == 1)
        assert second.metric(LEADS) == 1 and w.mutations_of(b) == []


def roles(folder):
    """The file with the roles that we ask for, for an API server that enforces them."""
    path = os.path.join(folder, "roles.yaml")
    with open(path, "w", encoding="utf-8") as f:
        subprocess.run([PROGRAMS[1], "rbac", "--cloud-provider=gce"], stdout=f, check=True, timeout=180)
    return path


def test_callers__only_those_who_may():
    with tempfile.TemporaryDirectory() as folder, World(PROGRAMS, "--tls", f"--rbac={roles(folder)}") as w:
        port = Port(w.kubeconfig)  # tokens go over TLS alone
        w.start(*port.flags)
        w.until("the port is open", port.is_up)
        for path in ("/healthz", "/readyz", "/livez"):
            assert port.ask(path) == (200, "ok"), path
        for path in ("/metrics", "/status", "/configz", "/flagz", "/statusz", "/debug/flags/v", "/nothing"):
            status, text = port.ask(path)
            assert status == 403, (path, status, text[:300])
            refusal = json.loads(text)
            assert (status, refusal["reason"]) == (403, "Forbidden"), (path, text)
            assert refusal["message"] == f'forbidden: User "system:anonymous" cannot get path "{path}"', text
            assert port.ask(path, "nobody-knows-it")[0] == 401, path
            assert "nobody-knows-it" not in w.log()
        for path in ("/metrics", "/status", "/configz", "/flagz", "/statusz", "/debug/flags/v"):
            port.get(path)
        assert port.ask("/nothing", ADMIN)[0] == 404
        assert port.ask("/status", ADMIN, "POST")[0] == 405


def test_status__tells_browsers_to_load_run_and_frame_nothing():
    with World(PROGRAMS, "--nodes=1") as w:
        port = Port(w.kubeconfig)
        w.start(*port.flags)
        w.until("the port is open", port.is_up)
        for path in ("/status", "/status?o=json", "/status?service=default/none"):
            c = port.connect()
            c.request("GET", path, headers={"Authorization": f"Bearer {ADMIN}"})
            headers = c.getresponse().headers
            c.close()
            policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
            assert policy == {"default-src": "'none'", "style-src": "'unsafe-inline'", "base-uri": "'none'",
                              "form-action": "'none'", "frame-ancestors": "'none'"}, (path, policy)
            assert headers["X-Content-Type-Options"] == "nosniff", (path, headers)
            assert headers["X-Frame-Options"] == "DENY", (path, headers)
            assert headers["Referrer-Policy"] == "no-referrer", (path, headers)


def test_command__asks_as_the_kubeconfig_says():
    with World(PROGRAMS, "--nodes=3") as w:
        port = Port(w.kubeconfig)
        w.start(*port.flags)
        w.create("web")
        w.until_address("web")
        w.until("it is shown", lambda: port.status()["summary"]["Ready"] == 1)
        done = subprocess.run([w.trimtab_exe, "status", f"--server=https://127.0.0.1:{port.number}",
                               "--insecure-skip-tls-verify", f"--kubeconfig={w.kubeconfig}"],
                              capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0 and done.stderr == "", done
        assert done.stdout.startswith("the load balancer is as it should be\n"), done.stdout
        assert "default/web" in done.stdout and w.address("web") in done.stdout, done.stdout


def test_port_in_use__says_which_and_ends():
    with World(PROGRAMS) as w, socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        done = subprocess.run([w.trimtab_exe, *w.flags(), f"--kubeconfig={w.kubeconfig}", *Port(number=number).flags],
                              capture_output=True, text=True, timeout=180, check=False, env=w.environment())
        assert done.returncode == 1, done
        assert done.stderr.splitlines()[-1].startswith(f"error: --secure-port: 127.0.0.1:{number} is in use"), done.stderr
        assert sum(w.calls().get("gce", {}).values()) == 0


def test_certificates__exchanged_on_a_hangup():
    with World(PROGRAMS) as w:
        cert, key = make_certificate(w.folder)
        port = Port()
        w.start(*port.flags, f"--tls-cert-file={cert}", f"--tls-private-key-file={key}")
        w.until("the port is open", port.is_up)
        before = port.certificate()
        other = os.path.join(w.folder, "other")
        os.mkdir(other)
        for new, old in zip(make_certificate(other), (cert, key)):
            shutil.move(new, old)
        w.trimtab.send_signal(signal.SIGHUP)
        w.until("the new one is shown", lambda: port.certificate() != before)
        assert w.trimtab.poll() is None


def test_reload__keeps_connections_and_the_lease():
    with World(PROGRAMS, "--nodes=3") as w:
        port = Port(w.kubeconfig)
        w.start("--enable-dynamic-reloading", "--leader-elect=true", *port.flags)
        w.until("the port is open", port.is_up)
        kept = port.connect()
        started = json.loads(port.ask("/status?o=json", ADMIN, connection=kept)[1])["started"]
        w.until("it runs", lambda: json.loads(port.ask("/status?o=json", ADMIN, connection=kept)[1])["running"])
        with open(f"{w.conf}/gce.conf", "a", encoding="utf-8") as f:
            f.write("; changed\n[global]\nnode-tags = other\n")
        w.until("it starts anew", lambda: len(w.logged('"Watching"')) == 2)
        w.until("it runs", lambda: json.loads(port.ask("/status?o=json", ADMIN, connection=kept)[1])["running"])
        assert json.loads(port.ask("/status?o=json", ADMIN, connection=kept)[1])["started"] == started
        assert port.metric(RUNS) == 1 and port.metric(LEADS) == 1
        assert len(w.logged("Successfully acquired lease")) == 1
        lease = w.must("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager")
        assert lease["spec"]["leaseTransitions"] in (0, 1) and lease["spec"]["holderIdentity"], lease
        kept.close()


def test_end__does_not_wait_for_clients():
    with World(PROGRAMS) as w:
        port = Port()
        w.start(*port.flags)
        w.until("the port is open", port.is_up)
        idle = port.connect()
        idle.request("GET", "/healthz")
        assert idle.getresponse().read() == b"ok"
        with socket.create_connection(("127.0.0.1", port.number)):  # and one that never says a word
            code, _ = w.stop()
        assert code == 0
        idle.close()


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
