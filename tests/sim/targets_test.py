#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab status and orphans, asked about Services by name, by namespace and by manifest.

    targets_test.py TRIMTAB_SIM TRIMTAB DATA [TEST…]     (TAP on stdout)

The same forms in plan and explain are in manifest_test.py.  Orphans come from a recorded cloud whose Services are gone.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
DATA = sys.argv[3]


def manifest(name, namespace=None, **spec):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"misspelt": 1, **spec}})


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


# --- orphans ---------------------------------------------------------------------------------------------------

class Orphans:
    """A saved state without Services, and the command."""

    def __init__(self, folder):
        with open(os.path.join(DATA, "gce", "world-legacy.json"), encoding="utf-8") as f:
            world = json.load(f)
        world["kubernetes"]["services"] = []
        world["cloud_config"] = world["cloud_config"].replace("<endpoint>", "http://127.0.0.1:1")
        self.folder, self.state = folder, write(folder, "world.json", json.dumps(world))

    def run(self, *args, stdin=""):
        command = [PROGRAMS[1], "orphans", "--cloud-provider=gce", "--cluster-name=c1", f"--state={self.state}", *args]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=180,
                              cwd=self.folder, env={"PATH": os.environ["PATH"], "HOME": self.folder,
                                                    "GCE_METADATA_HOST": "127.0.0.1:1"})

    def found(self, *args, **kw):
        r = self.run("-o", "json", *args, **kw)
        assert r.returncode in (0, 2) and r.stderr == "", r
        return [{k: v for k, v in x.items() if k != "age_seconds"} for x in json.loads(r.stdout)["orphans"]]


def test_orphans__of_services_by_every_name():
    with tempfile.TemporaryDirectory() as folder:
        o = Orphans(folder)
        everything = o.found()
        owners = {x["service"] for x in everything}
        assert {"default/ext-local", "default/ext-cluster"} <= owners, owners
        of_local = [x for x in everything if x["service"] == "default/ext-local"]
        assert 0 < len(of_local) < len(everything)
        write(folder, "k/a.yaml", manifest("ext-local"))
        for args in (["default/ext-local"], ["ext-local"], ["svc/ext-local"], ["-n", "default", "service/ext-local"],
                     ["-f", "k/a.yaml"], ["-f", "k"], ["-n", "default", "-f", "k"]):
            assert o.found(*args) == of_local, args
        assert o.found("-f", "-", stdin=manifest("ext-local", "default")) == of_local
        assert o.found(of_local[0]["name"])[0]["service"] == "default/ext-local"       # a resource's name, as ever
        both = o.found("svc/ext-local", "default/ext-cluster")
        assert {x["service"] for x in both} == {"default/ext-local", "default/ext-cluster"}, both


def test_orphans__namespaces_and_contradictions():
    with tempfile.TemporaryDirectory() as folder:
        o = Orphans(folder)
        owned = [x for x in o.found() if x["service"]]
        assert o.found("-A") == o.found()
        assert o.found("-n", "default") == [x for x in owned if x["service"].startswith("default/")]
        r = o.run("-n", "empty")
        assert (r.returncode, r.stdout) == (0, "There is no Service of the namespace empty in the cluster, and nothing of one in the cloud.\n"), r
        for args, error in (
                (["-n", "other", "default/ext-local"], '"default/ext-local" is of the namespace default, and -n says other'),
                (["-A", "-n", "default"], "-A is for all namespaces, -n for the namespace default: give one of them"),
                (["default/ext-lokal"], "there is no Service default/ext-lokal in the cluster, and nothing of one in the "
                 "cloud; did you mean default/ext-local or default/int-local?"),
                (["-f", "absent.yaml"], "stat absent.yaml: no such file or directory")):
            r = o.run(*args)
            assert (r.returncode, r.stdout, r.stderr) == (1, "", f"error: {error}\n"), r


# --- status ----------------------------------------------------------------------------------------------------

class Running(World):
    """A cluster with a trimtab that serves its status, and three Services."""

    def begin(self):
        self.port = free_port()
        self.must("POST", "/api/v1/namespaces", {"metadata": {"name": "prod"}})
        for name in ("a", "b"):
            self.create(name)
        self.must("POST", "/api/v1/namespaces/prod/services",
                  {"metadata": {"name": "a"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
        self.start(f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                   f"--authentication-kubeconfig={self.kubeconfig}", f"--authorization-kubeconfig={self.kubeconfig}",
                   "--authentication-tolerate-lookup-failure")
        self.until("all are ready", lambda: self.services_shown() == ["default/a", "default/b", "prod/a"]
                   and json.loads(self.status("-o", "json").stdout)["summary"]["Ready"] == 3)

    def status(self, *args, stdin=""):
        return subprocess.run([self.trimtab_exe, "status", f"--server=https://127.0.0.1:{self.port}",
                               "--insecure-skip-tls-verify", f"--kubeconfig={self.kubeconfig}", *args], input=stdin,
                              capture_output=True, text=True, check=False, timeout=180, cwd=self.folder,
                              env=self.environment())

    def services_shown(self, *args, **kw):
        r = self.status("-o", "json", *args, **kw)
        assert r.returncode in (0, 1, 2), r
        return sorted(s["service"] for s in json.loads(r.stdout)["services"]) if r.stdout else None


def test_status__broken_kubeconfig_of_the_environment__is_an_error():
    with tempfile.TemporaryDirectory() as folder:
        for text in ("{", "clusters: 3\n"):
            path = write(folder, "broken", text)
            r = subprocess.run([PROGRAMS[1], "status", "--server=https://127.0.0.1:1"], capture_output=True, text=True,
                               check=False, timeout=180, env={"HOME": folder, "KUBECONFIG": path})
            assert r.returncode == 1 and path in r.stderr and "127.0.0.1" not in r.stderr, (text, r)


def test_status__by_name_namespace_and_manifest():
    with Running(PROGRAMS, "--nodes=2") as w:
        w.begin()
        write(w.folder, "k/a.yaml", manifest("a", "prod"))
        write(w.folder, "k/b.yaml", manifest("b"))
        write(w.folder, "k/other.yaml", "apiVersion: apps/v1\nkind: Deployment\n")
        for args, want in ((["-A"], ["default/a", "default/b", "prod/a"]), (["-n", "prod"], ["prod/a"]),
                           (["prod/a"], ["prod/a"]), (["a"], ["default/a"]), (["svc/a", "b"], ["default/a", "default/b"]),
                           (["-n", "prod", "services/a"], ["prod/a"]), (["-f", "k"], ["default/b", "prod/a"]),
                           (["-f", "k/a.yaml", "a"], ["default/a", "prod/a"])):
            assert w.services_shown(*args) == want, args
        assert w.services_shown("-f", "-", stdin=manifest("a")) == ["default/a"]
        one = w.status("svc/a")
        assert one.stdout.startswith("Service default/a  Ready"), one
        r = w.status("-f", "k")
        assert r.returncode == 0 and "prod/a" in r.stdout and "default/a" not in r.stdout, r
        assert r.stderr == "note: left out of the folder: 1 object of other kinds (Deployment 1)\n", r
        write(w.folder, "app/a.yaml", manifest("a", "prod", type="LoadBalancer"))
        write(w.folder, "app/cache.yaml", manifest("cache", type="ClusterIP"))
        write(w.folder, "app/db.yaml", manifest("db"))
        r = w.status("-f", "app")
        assert r.returncode == 0 and "prod/a" in r.stdout, r
        assert r.stderr == "note: without a load balancer: default/cache, default/db\n", r
        r = w.status("-f", "app/cache.yaml", "-f", "app/db.yaml")
        assert (r.returncode, r.stdout, r.stderr) == \
            (1, "", "error: no Service of the manifests has a load balancer: default/cache, default/db\n"), r
        r = w.status("-f", "-", "a", stdin=manifest("absent", type="LoadBalancer"))
        assert r.returncode == 1 and "error: Service default/absent not found, or not managed by trimtab" in r.stderr, r
        r = w.status("a", "prod/b")
        assert (r.returncode, r.stdout) == (1, "") and \
            "error: Service prod/b not found, or not managed by trimtab; did you mean " in r.stderr, r
        r = w.status("-n", "absent")
        assert (r.returncode, r.stdout) == (1, "") and "there is no Service in namespace absent" in r.stderr, r
        r = w.status("-A", "a")
        assert (r.returncode, r.stdout, r.stderr) == \
            (1, "", 'error: -A is for all Services, "a" is one of them: give one of the two\n'), r


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
