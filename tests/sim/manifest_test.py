#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How trimtab plan and explain take manifests: strict fields, pipes, folders, namespaces, names.

    manifest_test.py TRIMTAB DATA [TEST…]     (TAP on stdout)

A recorded cluster and cloud stand in for live ones (--state), so that nothing is asked of any network.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WORLD = os.path.join(DATA, "gce", "world-legacy.json")
with open(WORLD, encoding="utf-8") as world_file:
    RECORDED = json.load(world_file)
NAMES = sorted(s["metadata"]["namespace"] + "/" + s["metadata"]["name"] for s in RECORDED["kubernetes"]["services"]
               if s["spec"]["type"] == "LoadBalancer")

GOOD = """apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: demo
spec:
  type: LoadBalancer
  ports:
  - port: 80
"""


class Folder:
    """A folder with files, in which commands run."""

    def __init__(self, path):
        self.path = path
        self.write("gce.conf", RECORDED["cloud_config"].replace("<endpoint>", "http://127.0.0.1:1"))

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text if isinstance(text, str) else json.dumps(text))
        return name

    def argv(self, command, *args):
        return [PROGRAM, command, "--cloud-provider=gce", "--cloud-config=gce.conf", "--cluster-name=c1",
                "--state=" + WORLD, *args]

    def run(self, command, *args, stdin="", argv=None):
        return subprocess.run(argv or self.argv(command, *args), input=stdin, capture_output=True, text=True,
                              check=False, timeout=180, cwd=self.path,
                              env={"PATH": os.environ["PATH"], "HOME": self.path, "GCE_METADATA_HOST": "127.0.0.1:1"})

    def services(self, *args, stdin=""):
        """Names of the Services of a plan."""
        r = self.run("plan", "-o", "json", *args, stdin=stdin)
        assert r.returncode in (0, 2) and r.stderr == "", r
        return [s["service"] for s in json.loads(r.stdout)["services"]]


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield Folder(path)


def refused(r, *lines):
    """Exit 1, nothing on stdout, these lines on stderr."""
    assert r.returncode == 1 and r.stdout == "" and r.stderr == "".join(line + "\n" for line in lines), r


# --- strict fields -------------------------------------------------------------------------------------------

TYPES = '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
ROWS = (
    # what replaces what in GOOD, the error
    ("  type: LoadBalancer\n", "  type: LoadBalancer\n  loadBalancerSourceRange: [10.0.0.0/8]\n",
     'web.yaml:8: Service demo/web: unknown field "spec.loadBalancerSourceRange"; '
     'did you mean "loadBalancerSourceRanges"?'),
    ("type: LoadBalancer", "type: Loadbalancer",
     f'web.yaml:7: Service demo/web: spec.type: Unsupported value: "Loadbalancer": supported values: {TYPES}; '
     'did you mean "LoadBalancer"?'),
    ("type: LoadBalancer", "type: LoadBalancer\n  externalTrafficPolicy: local",
     'web.yaml:8: Service demo/web: spec.externalTrafficPolicy: Unsupported value: "local": supported values: '
     '"Cluster", "Local"; did you mean "Local"?'),
    ("type: LoadBalancer", "type: LoadBalancer\n  type: NodePort", 'web.yaml:8: key "type" is already set'),
    ("port: 80", 'port: "80"',
     'web.yaml:9: Service demo/web: spec.ports[0].port: want a whole number, got "80"'),
    ("  namespace: demo\n", "  namespace: demo\n  label: {a: b}\n",
     'web.yaml:6: Service demo/web: unknown field "metadata.label"; did you mean "labels"?'),
    ("  namespace: demo\n", "  namespace: demo\n  annotations:\n    a: yes\n",
     "web.yaml:7: Service demo/web: metadata.annotations.a: want a text (in quotes), got true"),
    ("kind: Service", "kind: Servise",
     'web.yaml:2: no matches for kind "Servise" in version "v1"; did you mean "Service"?'),
    ("  ports:\n  - port: 80\n", "", "web.yaml:6: Service demo/web: spec.ports: Required value"),
    ("port: 80", "port: 70000",
     "web.yaml:9: Service demo/web: spec.ports[0].port: Invalid value: 70000: "
     "must be between 1 and 65535, inclusive"),
    ("port: 80", "port: 80\n    nodePort: 99999",
     "web.yaml:10: Service demo/web: spec.ports[0].nodePort: Invalid value: 99999: "
     "must be between 1 and 65535, inclusive"),
    ("port: 80", "port: 80\n    nodePort: -5",
     "web.yaml:10: Service demo/web: spec.ports[0].nodePort: Invalid value: -5: "
     "must be between 1 and 65535, inclusive"),
    ("type: LoadBalancer", "type: LoadBalancer\n  externalTrafficPolicy: Local\n  healthCheckNodePort: -1",
     "web.yaml:9: Service demo/web: spec.healthCheckNodePort: Invalid value: -1: "
     "must be between 1 and 65535, inclusive"),
    ("type: LoadBalancer", "type: LoadBalancer\n  loadBalancerSourceRanges: [10.0.0.0]",
     'web.yaml:8: Service demo/web: spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid '
     "CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
    ("  namespace: demo\n", "  namespace: demo\n  creationTimestamp: yesterday\n",
     'web.yaml:6: Service demo/web: metadata.creationTimestamp: want a moment like "2026-01-02T15:04:05Z", got "yesterday"'),
    ("  namespace: demo\n", '  namespace: demo\n  managedFields: [{time: ""}]\n',
     'web.yaml:6: Service demo/web: metadata.managedFields[0].time: want a moment like "2026-01-02T15:04:05Z", got ""'),
    ("  namespace: demo\n", "  namespace: demo\n  finalizers: [web]\n",
     'web.yaml:6: Service demo/web: metadata.finalizers[0]: Invalid value: "web": '
     "name is neither a standard finalizer name nor is it fully qualified"),
    ("  namespace: demo\n", "  namespace: demo\n  finalizers: [example.com/foo bar]\n",
     'web.yaml:6: Service demo/web: metadata.finalizers: Invalid value: "example.com/foo bar": name part must consist of '
     "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
     "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"),
    ("  namespace: demo\n", "  namespace: demo\n  ownerReferences: [{apiVersion: v1, kind: Node, name: node-0}]\n",
     'web.yaml:6: Service demo/web: metadata.ownerReferences.uid: Invalid value: "": must not be empty'),
    ("  namespace: demo\n", "  namespace: demo\n  annotations: {a: " + "x" * 262144 + "}\n",
     "web.yaml:6: Service demo/web: metadata.annotations: Too long: may not be more than 262144 bytes"),
    ("  namespace: demo\n", '  namespace: demo\n  resourceVersion: "5"\n',
     "web.yaml:6: Service demo/web: metadata.resourceVersion: the cluster does not have this Service: "
     "resourceVersion should not be set on objects to be created"),
    ("  namespace: demo\n", "  namespace: demo\n  generation: -3\n",
     "web.yaml:6: Service demo/web: metadata.generation: Invalid value: -3: must be greater than or equal to 0"),
    ("type: LoadBalancer", "loadBalancerSourceRanges: [10.0.0.0/8]",
     "web.yaml:7: Service demo/web: spec.LoadBalancerSourceRanges: Forbidden: "
     "may only be used when `type` is 'LoadBalancer'"),
)


def test_fields__each_fault_is_an_error_with_its_line():
    with folder() as f:
        for old, new, error in ROWS:
            assert old in GOOD
            f.write("web.yaml", GOOD.replace(old, new, 1))
            for command in ("plan", "explain"):
                r = f.run(command, "-f", "web.yaml")
                if "want a whole number" in error or "70000" in error:      # targetPort follows port
                    assert "error: " + error in r.stderr.splitlines() and r.returncode == 1, r
                else:
                    refused(r, "error: " + error)


def test_metadata__as_the_cluster_prints_it_passes():
    """`kubectl get -o yaml` has times, a version and owners; finalizers of the API itself have no domain."""
    meta = """  creationTimestamp: "2026-01-02T15:04:05Z"
  deletionTimestamp: null
  finalizers: [foregroundDeletion, service.kubernetes.io/load-balancer-cleanup]
  generation: 2
  ownerReferences:
  - {apiVersion: example.com/v1, kind: Shop, name: shop, uid: 11111111-2222-4333-8444-555555555555, controller: true}
  resourceVersion: "0"
  managedFields: [{manager: kubectl, operation: Update, apiVersion: v1, time: 2026-01-02T15:04:05Z, fieldsType: FieldsV1}]
"""
    with folder() as f:
        r = f.run("plan", "-f", "-", stdin=GOOD.replace("spec:\n", meta + "spec:\n"))
        assert r.returncode == 2 and r.stderr == "", r


def test_fields__all_faults_of_all_files_are_told_and_capped():
    with folder() as f:
        f.write("one.yaml", GOOD + "    portt: 1\n---\n" + GOOD.replace("web", "shop").replace("spec:", "spec:\n  typ: x"))
        f.write("two.yaml", GOOD.replace("name: web", "name: Web"))
        refused(f.run("plan", "-f", "one.yaml", "-f", "two.yaml"),
                'error: one.yaml:10: document 1, Service demo/web: unknown field "spec.ports[0].portt"; '
                'did you mean "port"?',
                'error: one.yaml:18: document 2, Service demo/shop: unknown field "spec.typ"; did you mean "type"?',
                'error: two.yaml:4: Service demo/Web: metadata.name: Invalid value: "Web": a lowercase RFC 1123 label '
                "must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
                "character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                "error: 3 faults in the given files: nothing was changed; "
                "--validate=warn passes over unknown and duplicate fields")
        f.write("many.yaml", GOOD + "".join(f"  x{i}: 1\n" for i in range(25)))
        lines = f.run("plan", "-f", "many.yaml").stderr.splitlines()
        assert len(lines) == 12 and lines[-2] == "error: … and 15 more" and lines[-1].startswith("error: 25 faults"), lines


def test_fields__faults_are_told_before_the_cluster_is_asked():
    with folder() as f:
        f.write("kc", {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                       "users": [{"name": "u", "user": {"token": "t"}}]})
        cidr = GOOD + "  loadBalancerSourceRanges: [10.0.0.0]\n"
        said = ('Service demo/web: spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid '
                "CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
        f.write("web.yaml", cidr)
        argv = [a for a in f.argv("plan", "--kubeconfig=kc", "-f", "web.yaml") if not a.startswith("--state")]
        refused(f.run("plan", argv=argv), "error: web.yaml:10: " + said)
        # beside faults of fields, and of other files
        f.write("web.yaml", GOOD.replace("web", "shop").replace("spec:", "spec:\n  typ: x") + "---\n" + cidr)
        f.write("broken.yaml", "kind: Service\nmetadata: {name: a\n")
        r = f.run("plan", "-f", "broken.yaml", argv=argv + ["-f", "broken.yaml"])
        lines = r.stderr.splitlines()
        assert r.returncode == 1 and len(lines) == 4, r
        assert lines[0].startswith('error: web.yaml:7: document 1, Service demo/shop: unknown field "spec.typ"'), r
        assert lines[1].startswith("error: broken.yaml: line ") and lines[3].startswith("error: 3 faults in"), r
        assert lines[2] == "error: web.yaml:21: document 2, " + said, r
        # the cluster's object may have what makes it right: that needs the cluster
        f.write("web.yaml", GOOD.replace("type: LoadBalancer", "allocateLoadBalancerNodePorts: true"))
        r = f.run("plan", argv=argv)
        assert r.returncode == 1 and "Forbidden" not in r.stderr and "127.0.0.1:1" in r.stderr, r


def test_validate__as_kubectl_spells_it():
    with folder() as f:
        f.write("web.yaml", GOOD + "  loadBalancerSourceRange: [10.0.0.0/8]\n  type: LoadBalancer\n")
        good = f.run("plan", "-f", "-", stdin=GOOD).stdout
        unknown = ('web.yaml:10: Service demo/web: unknown field "spec.loadBalancerSourceRange"; '
                   'did you mean "loadBalancerSourceRanges"?')
        twice = 'web.yaml:11: key "type" is already set'
        for flag in ("--validate=true", "--validate=strict", "--validate"):
            r = f.run("plan", "-f", "web.yaml", flag)
            assert r.returncode == 1 and f"error: {twice}\nerror: {unknown}\n" in r.stderr, r
        r = f.run("plan", "-f", "web.yaml", "--validate=warn")
        assert r.returncode == 2 and r.stdout == good and r.stderr == f"warning: {twice}\nwarning: {unknown}\n", r
        for flag in ("--validate=false", "--validate=ignore"):
            r = f.run("plan", "-f", "web.yaml", flag)
            assert r.returncode == 2 and r.stdout == good and r.stderr == "", r
        r = f.run("plan", "-f", "web.yaml", "--validate=maybe")
        assert r.returncode == 1 and 'invalid argument "maybe" for "--validate"' in r.stderr, r
        # what the API server refuses is refused whatever --validate says
        f.write("web.yaml", GOOD.replace("LoadBalancer", "Loadbalancer"))
        assert f.run("plan", "-f", "web.yaml", "--validate=false").returncode == 1


def test_duplicate_keys__all_are_counted():
    with folder() as f:
        f.write("web.yaml", GOOD + "  type: LoadBalancer\n" * 30)
        r = f.run("plan", "-f", "web.yaml", "--validate=warn")
        assert r.stderr.splitlines()[-1] == "warning: … and 7 more" and r.stderr.count("already set") == 10, r
        r = f.run("plan", "-f", "web.yaml")
        assert r.stderr.splitlines()[-1].startswith("error: 17 faults in the given files"), r
        f.write("web.yaml", "a: 1\n" * 9 + "---\n" + GOOD)
        r = f.run("plan", "-f", "web.yaml", "--validate=warn")
        assert r.stderr.count("already set") == 8, r


def test_json_documents__one_behind_the_other():
    one, two = ({"kind": "Service", "apiVersion": "v1", "metadata": {"name": name, "namespace": "demo"},
                 "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}} for name in ("one", "two"))
    with folder() as f:
        text = json.dumps(one) + "\n" + json.dumps(two, indent=2) + "\n"
        assert f.services("-f", "-", stdin=text) == ["demo/one", "demo/two"]
        two["spec"]["type"] = "Loadbalancer"
        refused(f.run("plan", "-f", "-", stdin=json.dumps(one) + json.dumps(two)),
                f'error: standard input: document 2, Service demo/two: spec.type: Unsupported value: "Loadbalancer": supported '
                f'values: {TYPES}; did you mean "LoadBalancer"?')


def test_type__another_one_is_said_where_nothing_is_to_do():
    with folder() as f:
        for line, said in (("", "spec.type is not set, so it is of type ClusterIP"),
                           ("  type: NodePort\n", "it is of type NodePort")):
            text = GOOD.replace("  type: LoadBalancer\n", line)
            r = f.run("plan", "-f", "-", stdin=text)
            assert (r.returncode, r.stdout) == (0, f"Service demo/web  nothing to do: {said}.\n"), r
            because = json.loads(f.run("plan", "-f", "-", "-o", "json", stdin=text).stdout)["services"][0]["because"]
            assert because[-1] == said, because


def test_explain__a_refused_service_is_explained():
    with folder() as f:
        text = GOOD.replace("  name: web\n", "  name: web\n  annotations: {cloud.google.com/network-tier: Gold}\n")
        r = f.run("explain", "-f", "-", stdin=text)
        assert r.returncode == 0 and "Gold" in r.stdout and r.stderr == "", r
        assert "Exit status: 0 explained, also a Service that is refused, 1 error." in f.run("explain", "--help").stdout


def test_nodes__checked_too():
    with folder() as f:
        nodes = {"kind": "NodeList", "apiVersion": "v1", "items": RECORDED["kubernetes"]["nodes"]}
        f.write("nodes.json", nodes)
        good = f.run("plan", "-f", "-", "--nodes=nodes.json", stdin=GOOD)
        assert good.returncode == 2 and good.stderr == "", good
        nodes = json.loads(json.dumps(nodes))
        nodes["items"][0]["spec"]["unscheduleable"] = True
        f.write("nodes.json", nodes)
        name = nodes["items"][0]["metadata"]["name"]
        r = f.run("plan", "-f", "-", "--nodes=nodes.json", stdin=GOOD)
        assert r.returncode == 1 and re.fullmatch(
            rf'error: nodes.json:1: Node {name}: unknown field "spec.unscheduleable"; '
            r'did you mean "unschedulable"\?\n', r.stderr), r
        assert f.run("plan", "-f", "-", "--nodes=nodes.json", "--validate=false", stdin=GOOD).stdout == good.stdout


def test_examples__have_no_fault():
    root = os.path.join(DATA, "..", "..", "examples")
    with folder() as f:
        for name in ("web.yaml", "game.yaml", "internal.yaml"):
            r = f.run("plan", "-f", os.path.join(root, name))
            assert r.returncode == 2 and r.stderr == "", r


# --- where they come from ------------------------------------------------------------------------------------

def test_files__pipes_and_standard_input():
    with folder() as f:
        f.write("web.yaml", GOOD)
        want = f.run("plan", "-f", "web.yaml").stdout
        assert f.run("plan", "-f", "-", stdin=GOOD).stdout == want
        line = " ".join(f.argv("plan", "-f")) + " <(cat web.yaml)"
        r = f.run("plan", argv=["bash", "-c", line])
        assert r.returncode == 2 and r.stdout == want and r.stderr == "", r
        line = " ".join(f.argv("plan", "-f", "web.yaml", "--nodes")) + f" <(cat {WORLD})"
        r = f.run("plan", argv=["bash", "-c", line])
        assert r.returncode == 2 and r.stdout == want and r.stderr == "", r
        line = line.replace("--cloud-config=gce.conf", "--cloud-config <(cat gce.conf)").replace(
            f"--state={WORLD}", f"--state <(cat {WORLD})")
        r = f.run("plan", argv=["bash", "-c", line])
        assert r.returncode == 2 and r.stdout == want and r.stderr == "", r
        refused(f.run("plan", "-f", "-", "-f", "-", stdin=GOOD), "error: -f -: standard input can be read only once")
        refused(f.run("plan", "-f", ""), 'error: -f "": want a file, a folder, or - for standard input')
        url = "https://example.com/web.yaml"
        refused(f.run("plan", "-f", url), f"error: -f {url}: URLs are not read; let another program fetch it: "
                f"curl -sf {url} | trimtab … -f -")
        r = f.run("plan", "-f", "absent.yaml")
        assert r.returncode == 1 and r.stderr == "error: stat absent.yaml: no such file or directory\n", r


def test_files__the_same_service_twice():
    with folder() as f:
        f.write("a.yaml", "\n" + GOOD)
        f.write("b.yaml", GOOD.replace("web", "other") + "---\n" + GOOD.replace("80", "81"))
        refused(f.run("plan", "-f", "a.yaml", "-f", "b.yaml"),
                "error: b.yaml:11: document 2, Service demo/web: the same Service is in a.yaml:2")
        f.write("a.yaml", GOOD.replace("  namespace: demo\n", ""))       # of the kubeconfig's, which is default here
        f.write("b.yaml", GOOD.replace("demo", "default"))
        refused(f.run("plan", "-f", "a.yaml", "-f", "b.yaml"),
                "error: b.yaml:1: Service default/web: the same Service is in a.yaml:1")
        f.write("b.yaml", GOOD.replace("demo", "prod"))
        assert f.services("-f", "a.yaml", "-f", "b.yaml") == ["default/web", "prod/web"]


def test_files__folders():
    with folder() as f:
        f.write("k/b.yaml", GOOD)
        f.write("k/a.yml", GOOD.replace("web", "a") + "---\napiVersion: apps/v1\nkind: Deployment\n"
                "---\napiVersion: v1\nkind: Namespace\n---\napiVersion: apps/v1\nkind: Deployment\n")
        f.write("k/c.json", {"apiVersion": "v1", "kind": "ConfigMap"})
        f.write("k/notes.txt", "not: [a manifest")
        f.write("k/deeper/d.yaml", GOOD.replace("web", "d"))
        f.write("more/one.yaml", GOOD.replace("web", "one"))
        r = f.run("plan", "-f", "k", "-f", "more/", "-o", "json")
        assert r.returncode == 2, r
        assert [s["service"] for s in json.loads(r.stdout)["services"]] == ["demo/a", "demo/one", "demo/web"]
        assert r.stderr == "note: left out of the folder: 4 objects of other kinds " \
                           "(Deployment 2, Namespace 1, ConfigMap 1)\n", r
        f.write("k/b.yaml", GOOD.replace("port: 80", "prot: 80"))
        f.write("k/a.yml", GOOD.replace("port: 80", "prot: 80"))
        first = f.run("plan", "-f", "k").stderr.splitlines()
        assert [line.split(":")[1] for line in first[1:3]] == [" k/a.yml", " k/b.yaml"], first     # sorted
        os.mkdir(os.path.join(f.path, "empty"))
        refused(f.run("plan", "-f", "empty"), "error: empty: no file *.yaml, *.yml or *.json in the folder")
        f.write("none/c.json", {"apiVersion": "v1", "kind": "ConfigMap"})
        refused(f.run("plan", "-f", "none"),
                "note: left out of the folder: 1 object of other kinds (ConfigMap 1)",
                "error: none: no object of kind Service in the folder")


# --- names and namespaces ------------------------------------------------------------------------------------

def test_names__every_form():
    with folder() as f:
        ns, name = NAMES[0].split("/")
        for args in ([NAMES[0]], ["-n", ns, name], [f"--namespace={ns}", f"svc/{name}"],
                     ["-n", ns, f"service/{name}"], ["-n", ns, f"services/{name}"], ["-n", ns, NAMES[0]]):
            assert f.services(*args) == [NAMES[0]], args
            r = f.run("explain", *args)
            assert r.returncode == 0 and NAMES[0] in r.stdout, r
        refused(f.run("plan", "a/b/c"),
                'error: "a/b/c" is not a Service\'s name: want NAME, NAMESPACE/NAME or svc/NAME')
        refused(f.run("plan", "-n", "other", NAMES[0]),
                f'error: "{NAMES[0]}" is of the namespace {ns}, and -n says other')


def test_namespace__limits_and_fills_in():
    with folder() as f:
        assert f.services() == f.services("-A") == f.services("--all-namespaces")
        everything = f.services()
        assert len(everything) > 2
        for ns in {key.split("/")[0] for key in everything}:
            assert f.services("-n", ns) == [key for key in everything if key.startswith(ns + "/")]
        assert f.services("-n", "nothing-there") == []
        r = f.run("explain", "-A", "-o", "json")
        assert [x["service"] for x in json.loads(r.stdout)] == everything, r
        bare = GOOD.replace("  namespace: demo\n", "")
        assert f.services("-f", "-", stdin=bare) == ["default/web"]
        assert f.services("-f", "-", "-n", "prod", stdin=bare) == ["prod/web"]
        assert f.services("-f", "-", "-n", "demo", stdin=GOOD) == ["demo/web"]
        refused(f.run("plan", "-f", "-", "-n", "prod", stdin=GOOD),
                'error: standard input:5: Service demo/web: metadata.namespace: "demo" is not the namespace of -n prod')


def test_contradictions__refused():
    with folder() as f:
        f.write("web.yaml", GOOD)
        for args, error in (
                (["-A", "-n", "demo"], "-A is for all namespaces, -n for the namespace demo: give one of them"),
                (["-A", "web"], '-A is for all Services, "web" is one of them: give one of the two'),
                (["-A", "-f", "web.yaml"], "-A is for all Services, -f for those of files: give one of the two"),
                (["-n", "a/b"], '-n "a/b": want the name of a namespace')):
            refused(f.run("plan", *args), "error: " + error)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
