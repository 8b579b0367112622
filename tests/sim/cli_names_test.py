#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A name that leads nowhere is an error, wherever a person can write one: exit 1, stderr, the nearest names.

    cli_names_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import http.client
import json
import os
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
ADMIN = "sim-admin"


class Cluster(World):
    def cli(self, *args):
        return subprocess.run([os.path.abspath(PROGRAMS[1]), *args], capture_output=True, text=True, check=False,
                              timeout=120, env=self.environment(), cwd=self.folder)

    def cloud(self, command, *args):
        return self.cli(command, "--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf",
                        f"--kubeconfig={self.kubeconfig}", *args)


def refused(r, *lines):
    """Nothing on stdout, exactly these lines on stderr, exit 1."""
    assert (r.returncode, r.stdout, r.stderr) == (1, "", "".join(f"error: {line}\n" for line in lines)), (lines, r)


def misused(r, line):
    """A bad command line also says where to look."""
    assert r.returncode == 1 and r.stdout == "", r
    first, second = r.stderr.splitlines()
    assert first.startswith(f"error: {line}") and second.startswith("Run 'trimtab "), (line, r)


def test_words_of_the_command_line():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        misused(w.cli("plna"), 'unknown command "plna" for "trimtab"; did you mean "plan"?')
        misused(w.cli("help", "statsu"), 'unknown command "statsu" for "trimtab"; did you mean "status"?')
        misused(w.cli("completion", "bsah"), 'unknown shell "bsah"; allowed: bash, zsh, fish')
        for command in ("plan", "explain", "trace", "orphans", "check-config", "rbac"):
            misused(w.cli(command, "--cloud-provder=gce"),
                    "unknown flag: --cloud-provder; did you mean --cloud-provider?")
            r = w.cli(command, "--cloud-provider=gec")
            assert r.returncode == 1 and r.stdout == "" and r.stderr.endswith("gec.so; did you mean gce?\n"), r
        for command in ("status", "version", "completion", "render"):
            misused(w.cli(command, "--hlep"), "unknown flag: --hlep; did you mean --help?")
        r = w.cli("--cloud-provder=gce")
        assert r.returncode == 1 and "did you mean --cloud-provider?" in r.stderr, r
        r = w.cli("--cloud-provider=gec")
        assert r.returncode == 1 and "did you mean gce?" in r.stderr, r
        for command in ("version", "check-config", "rbac"):
            provider = [] if command == "version" else ["--cloud-provider=gce"]
            misused(w.cli(command, *provider, "word"), 'unknown argument "word": only flags are taken here')
        misused(w.cli("render", "--node=n", "word"), 'unknown argument "word": only flags are taken here')
        misused(w.cli("trace", "a", "b"), '"b": only one Service can be traced at a time')
        misused(w.cli("trace", "a", "--node=n", "--all-nodes"), "--node is one node, --all-nodes all of them")
        misused(w.cli("trace", "a", "--protocol=udp"), "--protocol belongs to --to")
        misused(w.cli("trace", "--to=10.0.0.1"), "--to=10.0.0.1: the port is missing: want ADDRESS:PORT")
        misused(w.cli("rbac", "--cloud-provider=gce", "--service-account=trimtab"),
                "--service-account=trimtab: want NAMESPACE/NAME")
        misused(w.cli("plan", "--cloud-provider=gce", "-o", "yaml"), "-o yaml: unknown output format; allowed: json")


def test_contexts_and_files():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        kc = w.kubeconfig
        for command in ("plan", "orphans", "explain"):
            args = [command, *(["web"] if command == "explain" else []), "--context=smi"]
            refused(w.cloud(*args), "invalid configuration: context was not found for specified context: smi; did you mean "
                    f"sim?; look into {kc}")
            refused(w.cloud(*args[:-1], "--kubeconfig=absent"), "kubeconfig: stat absent: no such file or directory")
        refused(w.cli("status", f"--kubeconfig={kc}", "--context=smi"),
                f"invalid configuration: context was not found for specified context: smi; did you mean sim?; look into {kc}")
        refused(w.cloud("plan", "--cloud-config=absent"), "--cloud-config: stat absent: no such file or directory")
        refused(w.cloud("plan", "--cloud-config-secret-name=absent"), "cannot read the cloud provider configuration in the "
                'secret kube-system/absent: secrets "absent" not found')


def test_services__plan_and_explain():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.create("web")
        w.create("wep")
        w.create("plain", type="ClusterIP")
        w.create("other", loadBalancerClass="example.com/fast")
        for command in ("plan", "explain"):
            refused(w.cloud(command, "default/weg"), "there is no Service default/weg in the cluster; did you mean default/web "
                    "or default/wep?")
            refused(w.cloud(command, "weg"), "there is no Service default/weg in the cluster; did you mean default/web or "
                    "default/wep?")
            refused(w.cloud(command, "prod/web"),
                    "there is no Service prod/web in the cluster; did you mean default/web?")
            refused(w.cloud(command, "default/zzzzzzz"), "there is no Service default/zzzzzzz in the cluster")
        # One that exists is another answer.
        r = w.cloud("explain", "plain")
        assert (r.returncode, r.stdout, r.stderr) == (0, "default/plain is of type ClusterIP: it gets no load balancer.\n", ""), r
        r = w.cloud("explain", "other")
        assert r.returncode == 0 and r.stdout.startswith("default/other is served by another controller"), r
        for name in ("plain", "other"):
            r = w.cloud("plan", name)
            assert r.returncode == 0 and r.stdout.startswith(f"Service default/{name}") and r.stderr == "", r


def manifest(w, ns, more=""):
    """A file with a Service of that namespace; None: it names none."""
    path = os.path.join(w.folder, "web.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n" + (f"  namespace: {ns}\n" if ns else "") +
                "spec:\n  type: LoadBalancer\n  ports: [{port: 80}]\n" + more)
    return path


def test_namespaces_of_manifests__as_the_api_server_takes_them():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.create("web")
        for command in ("plan", "explain"):
            path = manifest(w, "defualt")
            refused(w.cloud(command, "-f", path), f"{path}:5: Service defualt/web: metadata.namespace: "
                    'namespaces "defualt" not found; did you mean default?')
            path = manifest(w, None)
            refused(w.cloud(command, "-n", "prod", "-f", path), f'{path}:1: Service web: namespaces "prod" not found')
            path = manifest(w, "prod", "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n")
            assert w.cloud(command, "-f", path).returncode in (0, 2)            # apply makes it first
            path = manifest(w, "kube-system")
            assert w.cloud(command, "-f", path).returncode in (0, 2)            # it has no Service yet
            refused(w.cloud(command, "-n", "defualt"), "there is no namespace defualt in the cluster; did you mean default?")
            assert w.cloud(command, "-n", "kube-system").returncode == 0
        w.fault(match={"op": "namespaces.get"}, count=0, do="refuse", status=403)
        path = manifest(w, "defualt")
        r = w.cloud("plan", "-f", path)
        assert r.returncode == 2 and r.stderr == "", r                          # it may not be asked
        w.heal()
        spaces = "/api/v1/namespaces"
        w.must("POST", spaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "goes"}})
        w.must("POST", f"{spaces}/goes/services", {"apiVersion": "v1", "kind": "Service", "metadata": {
            "name": "held", "finalizers": ["example.com/hold"]}, "spec": {"ports": [{"port": 80}]}})
        w.must("DELETE", f"{spaces}/goes")
        path = manifest(w, "goes")
        refused(w.cloud("plan", "-f", path), f"{path}:5: Service goes/web: metadata.namespace: unable to create new content in "
                "namespace goes because it is being terminated")


def test_resources__orphans():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.create("web")
        w.create("gone")
        w.until_made("web")
        w.until_made("gone")
        w.stop()
        state = w.must("GET", "/sim/state")
        services = state["kubernetes"]["services"]
        services[:] = [s for s in services if s["metadata"]["name"] != "gone"]
        w.must("PUT", "/sim/state", state)
        r = w.cloud("orphans", "-o", "json")
        found = {o["kind"]: o["name"] for o in json.loads(r.stdout)["orphans"]}
        assert r.returncode == 2 and found, r
        name = found["forwarding rule"]
        slip = name[:-1] + ("0" if name[-1] != "0" else "1")
        missing = "there is no resource {} among the resources of trimtab in the cloud{}"
        refused(w.cloud("orphans", slip), missing.format(slip, f"; did you mean {name}?"))
        refused(w.cloud("orphans", "TYPO"), missing.format("TYPO", ""))
        refused(w.cloud("orphans", "TYPO", name, slip), missing.format("TYPO", ""),
                missing.format(slip, f"; did you mean {name}?"))
        used = {path.split("/")[-1] for path in state["gce"] if "/forwardingRules/" in path} - {name}
        assert len(used) == 1, used
        in_use = used.pop()
        refused(w.cloud("orphans", in_use), f"{in_use} is not an orphan: Service default/web has it")
        before = w.must("GET", "/sim/state")["gce"]
        refused(w.cloud("orphans", name, "TYPO", "--delete", "--yes"), missing.format("TYPO", ""))
        assert w.must("GET", "/sim/state")["gce"] == before     # a slip deletes nothing
        r = w.cloud("orphans", name)
        assert r.returncode == 2 and name in r.stdout, r
        r = w.cloud("orphans", name, "--delete", "--yes", "--force")
        assert r.returncode in (0, 2) and r.stderr == "", r     # what was deleted is not missed afterwards


def test_services__status_and_its_page():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        number = free_port()
        w.create("web")
        w.create("plain", type="ClusterIP")
        w.create("other", loadBalancerClass="example.com/fast")
        w.start(f"--secure-port={number}", "--bind-address=127.0.0.1", f"--authentication-kubeconfig={w.kubeconfig}",
                f"--authorization-kubeconfig={w.kubeconfig}", "--authentication-tolerate-lookup-failure")
        w.until_address("web")

        def page(query):
            context = ssl._create_unverified_context()  # pylint: disable=protected-access
            c = http.client.HTTPSConnection("127.0.0.1", number, context=context, timeout=180)
            c.request("GET", f"/status?{query}", headers={"Authorization": f"Bearer {ADMIN}"})
            answer = c.getresponse()
            status, text = answer.status, answer.read().decode()
            c.close()
            return status, text

        def status(*args):
            return w.cli("status", f"--server=https://127.0.0.1:{number}", "--insecure-skip-tls-verify",
                         f"--kubeconfig={w.kubeconfig}", *args)
        w.until("it is known", lambda: "default/web" in page("o=json")[1])
        rows = (("default/wep", "there is no Service default/wep in the cluster; did you mean default/web?"),
                ("prod/web", "there is no Service prod/web in the cluster; did you mean default/web?"),
                ("default/zzzzzzz", "there is no Service default/zzzzzzz in the cluster"),
                ("default/plain", "Service default/plain is of type ClusterIP: it has no load balancer"),
                ("default/other",
                 "Service default/other is of type LoadBalancer, but another controller's (loadBalancerClass example.com/fast)"))
        for name, words in rows:
            refused(status(name), words)
            refused(status(name, "-o", "json"), words)
            code, text = page(f"service={name}&o=json")
            answer = json.loads(text)
            assert (code, answer["kind"], answer["code"], answer["reason"], answer["message"]) == \
                (404, "Status", 404, "NotFound", words), (code, text)
            code, text = page(f"service={name}")
            assert code == 404 and words.split(";")[0].replace("'", "&#39;") in text.replace("&apos;", "&#39;"), (code, text)
        refused(status("wep"), rows[0][1])
        for name in ("web", "default/web"):
            r = status(name)
            assert r.returncode == 0 and "default/web" in r.stdout and r.stderr == "", r
        assert page("service=default/web")[0] == 200 and page("ns=default")[0] == 200 and page("")[0] == 200
        code, text = page("ns=defualt&o=json")
        assert code == 404 and json.loads(text)["message"] == \
            "there is no Service in namespace defualt; did you mean default?", (code, text)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
