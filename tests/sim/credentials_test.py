#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As whom trimtab speaks to the API server: plugins, files that rotate, service accounts; with TLS, as it must be.

    credentials_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

A relay with TLS stands between trimtab and the simulator and remembers what each request carried.
"""
import http.client
import os
import shutil
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position
from kube_recorder import Recorder  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
SECRET = "hunter2"
PLUGIN = """#!/bin/sh
echo run >>"$RUNS"
echo "using the helper" >&2
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "hunter2-plugin"}}'
"""


class Scene:
    """A simulator, a relay, and a kubeconfig for `user`."""

    def __init__(self, user):
        self.world, self.user, self.relay = World(PROGRAMS, "--nodes=2"), user, None

    def __enter__(self):
        w = self.world.__enter__()
        self.relay = Recorder(w.url, tls_folder=w.folder).__enter__()
        user = self.user(w) if callable(self.user) else self.user
        w.kubeconfig = self.relay.kubeconfig(os.path.join(w.folder, "relay.kc"), user)
        return self

    def __exit__(self, *why):
        log = self.world.log()
        self.relay.__exit__(*why)
        self.world.__exit__(*why)
        if why[0] is None:
            assert SECRET not in log, "a secret in the log"

    def bearers(self, agent=""):
        return {r["headers"].get("authorization") for r in self.relay.seen() if agent in r["headers"]["user-agent"]}


def plugin_user(w):
    path = os.path.join(w.folder, "helper")
    with open(path, "w", encoding="utf-8") as f:
        f.write(PLUGIN)
    os.chmod(path, 0o700)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./helper", "interactiveMode": "Never",
                     "env": [{"name": "RUNS", "value": os.path.join(w.folder, "runs")}]}}


def token_file_user(w):
    path = os.path.join(w.folder, "token")
    with open(path, "w", encoding="utf-8") as f:
        f.write(SECRET + "-filed\n")
    return {"tokenFile": path, "as": "boss", "as-groups": ["g1"]}


def test_plugin__run_once_for_watches_requests_and_events():
    with Scene(plugin_user) as s:
        w = s.world
        w.start("-v=9")
        w.create("web")
        w.until_address("web")
        w.until_event("web", "EnsuredLoadBalancer")
        assert s.bearers() == {"Bearer hunter2-plugin"}, s.bearers()
        with open(os.path.join(w.folder, "runs"), encoding="utf-8") as f:
            assert f.read() == "run\n"
        assert w.logged("The credential plugin says", "using the helper")
        assert w.stop()[0] == 0


def test_plugin__run_once_for_the_https_port_too():
    with Scene(plugin_user) as s:
        w = s.world
        port = free_port()
        w.start(f"--secure-port={port}", "--bind-address=127.0.0.1", f"--authentication-kubeconfig={w.kubeconfig}",
                f"--authorization-kubeconfig={w.kubeconfig}")
        w.until("callers are known", lambda: w.logged("authentication settings were read"))
        w.until("the port is open", lambda: w.logged("Serving securely"))
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        c = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=180)
        c.request("GET", "/metrics")
        assert c.getresponse().status == 200  # this API server allows everything
        c.close()
        asked = [r for r in s.relay.seen() if r["path"].endswith("/subjectaccessreviews")
                 or "extension-apiserver-authentication" in r["path"]]
        assert len(asked) >= 2 and s.bearers() == {"Bearer hunter2-plugin"}, asked
        with open(os.path.join(w.folder, "runs"), encoding="utf-8") as f:
            assert f.read() == "run\n"


def test_plugin_missing__start_ends_with_its_name_and_hint():
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "trimtab-no-such-helper",
                     "interactiveMode": "Never", "installHint": "Get it from us."}}
    with Scene(user) as s:
        w = s.world
        w.runs += 1
        r = subprocess.run([w.trimtab_exe, *w.flags(), f"--kubeconfig={w.kubeconfig}"], timeout=180, capture_output=True,
                           text=True, check=False, env=w.environment())
        assert r.returncode == 1, r
        last = r.stderr.strip().splitlines()[-1]
        assert "exec: executable trimtab-no-such-helper not found" in r.stderr, r.stderr
        assert "Get it from us" in r.stderr and 'user "u"' in last, r.stderr
        assert not s.relay.seen()


def test_token_file_and_impersonation__on_every_request():
    with Scene(token_file_user) as s:
        w = s.world
        w.start()
        w.create("web")
        w.until_address("web")
        assert s.bearers() == {"Bearer hunter2-filed"}
        for r in s.relay.seen():
            assert r["headers"].get("impersonate-user") == "boss" and r["headers"].get("impersonate-group") == "g1", r
        assert w.stop()[0] == 0


def test_service_account__speaks_for_services_only():
    with Scene({"token": "hunter2-main", "as": "boss"}) as s:
        w = s.world
        w.start("--use-service-account-credentials")
        w.create("web")
        w.until_address("web")
        w.until_event("web", "EnsuredLoadBalancer")
        account = "Bearer sa:kube-system:service-controller"
        assert s.bearers("/service-controller") == {account}, s.bearers("/service-controller")
        assert s.bearers("/shared-informers") == {"Bearer hunter2-main"}
        asked = [(r["method"], r["path"]) for r in s.relay.seen()
                 if r["headers"]["user-agent"].endswith("/cloud-controller-manager")]
        path = "/api/v1/namespaces/kube-system/serviceaccounts"
        assert asked == [("GET", path + "/service-controller"), ("POST", path),
                         ("POST", path + "/service-controller/token")], asked
        for r in s.relay.seen():
            speaks_as_account = r["headers"].get("authorization") == account
            assert ("impersonate-user" in r["headers"]) != speaks_as_account, r
        assert "sa:kube-system:service-controller" not in w.log()
        assert w.stop()[0] == 0


def test_service_account__has_the_roles_that_are_printed():
    """An API server that enforces them: two accounts, and neither is refused anything."""
    with tempfile.TemporaryDirectory() as folder:
        roles = os.path.join(folder, "roles.yaml")
        with open(roles, "w", encoding="utf-8") as f:
            subprocess.run([PROGRAMS[1], "rbac", "--cloud-provider=gce", "--use-service-account-credentials"], stdout=f,
                           check=True, timeout=180)
        with World(PROGRAMS, "--nodes=2", "--tls", f"--rbac={roles}") as w:
            w.sim_tls = ssl.create_default_context(cafile=os.path.join(w.conf, "ca.crt"))
            w.headers = {"Authorization": "Bearer sim-admin"}
            w.be_service_account()
            w.start("--leader-elect=true", "--use-service-account-credentials")
            w.create("web")
            w.until_address("web")
            w.until_event("web", "EnsuredLoadBalancer")
            w.delete("web")
            w.until_gone("web")
            assert w.stop()[0] == 0
            assert not w.logged("forbidden") and not w.logged("(403)"), w.log()


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("1..0 # SKIP no openssl program to make the relay's certificate with")
        sys.exit(0)
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
