#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/: made files are fresh, manifests say what they must.  Alerts and dashboard: monitoring_test.py, alerts_test.py.

    manifests_test.py TRIMTAB_SIM TRIMTAB TREE     (TAP on stdout)

helm and kubectl are used where they are on the PATH (TRIMTAB_HELM names another helm); each test says so where
its program is absent.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import tree  # noqa: E402  pylint: disable=wrong-import-position
from fake_discovery import Discovery  # noqa: E402  pylint: disable=wrong-import-position

try:
    import yaml
except ImportError:
    sys.exit(tap.skip("python3-yaml is not installed"))

SIM, TRIMTAB, TREE = sys.argv[1:4]
DEPLOY = os.path.join(TREE, "deploy")
CHART = os.path.join(DEPLOY, "helm", "trimtab")
CLOUDS = ("gce", "azure", "aws")
PROVIDERS = (*CLOUDS, "local")
HELM = os.environ.get("TRIMTAB_HELM") or shutil.which("helm")
CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding")


def read(*path):
    return tree.read(TREE, *path)


def objects(cloud):
    found = []
    for path in sorted(glob.glob(os.path.join(DEPLOY, "manifests", cloud, "*.yaml"))):
        found += [o for o in yaml.safe_load_all(read(path)) if o]
    return found


def deployment(items):
    found, = (o for o in items if o["kind"] == "Deployment")
    return found


def rendered(*flags):
    text = tree.run(tap.need(HELM, "helm is not installed"), "template", "trimtab", CHART, "--namespace=kube-system", "--kube-version=1.36.0",
               *flags).stdout
    return [o for o in yaml.safe_load_all(text) if o]


def helm_refuses(words, *flags):
    done = tree.run(tap.need(HELM, "helm is not installed"), "template", "trimtab", CHART, "--kube-version=1.36.0", *flags, code=1)
    assert words in done.stderr, done.stderr


# --- made files ----------------------------------------------------------------------------------------------------

def test_roles__are_those_that_the_program_prints():
    tree.run(sys.executable, os.path.join(DEPLOY, "generate"), "--check", TRIMTAB)


def test_manifests__are_what_helm_makes_of_the_chart():
    tree.run(sys.executable, os.path.join(DEPLOY, "generate"), "--check", TRIMTAB, tap.need(HELM, "helm is not installed"))


def test_version__is_the_projects():
    version = re.search(r"version: '([^']+)'", read("meson.build")).group(1)
    chart = yaml.safe_load(read("deploy", "helm", "trimtab", "Chart.yaml"))
    assert (chart["version"], chart["appVersion"]) == (version, version), chart


# --- plain manifests -----------------------------------------------------------------------------------------------

def test_every_object__has_its_place_and_is_there_once():
    for cloud in PROVIDERS:
        names = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects(cloud)]
        assert len(names) == len(set(names)), names
        for kind, ns, name in names:
            assert ns == (None if kind in CLUSTER_WIDE else "kube-system"), (kind, ns, name)
        for kind in ("Deployment", "ServiceAccount", "PodDisruptionBudget", "Service"):
            assert kind in {n[0] for n in names}, (cloud, kind)
        # A policy does not hold for pods on the host's network.
        assert ("NetworkPolicy" in {n[0] for n in names}) == (cloud != "local"), cloud


def test_bindings__give_roles_that_are_there_to_the_account_that_runs():
    for cloud in PROVIDERS:
        items = objects(cloud)
        account = deployment(items)["spec"]["template"]["spec"]["serviceAccountName"]
        roles = {(o["kind"], o["metadata"]["name"]) for o in items if o["kind"] in ("Role", "ClusterRole")}
        roles |= {("ClusterRole", "system:auth-delegator"), ("Role", "extension-apiserver-authentication-reader")}
        bindings = [o for o in items if o["kind"].endswith("Binding")]
        assert len(bindings) == 4, bindings
        for binding in bindings:
            assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in roles, binding
            assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}], binding


def test_pods__may_do_nothing_that_they_need_not():
    for cloud in PROVIDERS:
        local = cloud == "local"
        spec = deployment(objects(cloud))["spec"]
        pod = spec["template"]["spec"]
        assert (spec["replicas"], pod.get("hostNetwork", False)) == ((1, True) if local else (2, False))
        assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["priorityClassName"] == "system-cluster-critical"
        capabilities = {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_RAW"]} if local else {"drop": ["ALL"]}
        for container in pod["containers"] + pod.get("initContainers", []):
            assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                    "capabilities": capabilities}, container
            assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"]
            assert "cpu" not in container["resources"]["limits"], "a limit of CPU delays lease renewals"
        tolerated = {t.get("key") for t in pod["tolerations"]}  # None: each
        assert None in tolerated or {"node-role.kubernetes.io/control-plane", "node.cloudprovider.kubernetes.io/uninitialized"} <= tolerated
        assert pod["affinity"]["podAntiAffinity"] and pod["topologySpreadConstraints"]
        selector = spec["selector"]["matchLabels"]
        assert selector.items() <= spec["template"]["metadata"]["labels"].items()
        for kind, at in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector"))[:1 if local else 2]:
            other, = (o for o in objects(cloud) if o["kind"] == kind)
            assert other["spec"][at]["matchLabels"] == selector, other


def test_pod__of_the_provider_local_stays_on_its_node_and_is_alone():
    """Two would answer for the same addresses: the next one starts when the last one has ended."""
    spec = deployment(objects("local"))["spec"]
    pod = spec["template"]["spec"]
    assert (spec["replicas"], spec["strategy"], pod["dnsPolicy"]) == (1, {"type": "Recreate"}, "ClusterFirstWithHostNet")
    assert pod["nodeSelector"] == {"trimtab.io/director": "true"} and {"operator": "Exists"} in pod["tolerations"]


def test_allocator_and_director__two_releases_with_the_rights_of_each():
    items = {role: objects(f"local-{role}") for role in ("allocator", "director")}
    names = [(o["kind"], o["metadata"]["name"]) for part in items.values() for o in part if o["metadata"]["name"] != "trimtab-metrics-reader"]
    assert len(names) == len(set(names)), "the two releases share an object"
    allocator = deployment(items["allocator"])["spec"]
    [director] = [o["spec"] for o in items["director"] if o["kind"] == "DaemonSet"]
    args = {"allocator": allocator, "director": director}
    args = {role: spec["template"]["spec"]["containers"][0]["args"] for role, spec in args.items()}
    assert {"--local-role=allocator", "--leader-elect=true"} <= set(args["allocator"])
    assert {"--local-role=director", "--leader-elect=false", "--local-director-name=$(NODE_NAME)"} <= set(args["director"])
    pods = [spec["template"]["spec"] for spec in (allocator, director)]
    assert [pod.get("hostNetwork", False) for pod in pods] == [False, True]
    assert ["add" in pod["containers"][0]["securityContext"]["capabilities"] for pod in pods] == [False, True]
    assert all(pod["securityContext"]["runAsNonRoot"] for pod in pods) and allocator["replicas"] == 2
    for role, part in items.items():
        granted = {(r, verb) for o in part if o["kind"] in ("Role", "ClusterRole") for rule in o["rules"] for r in rule.get("resources", [])
                   for verb in rule["verbs"]}
        assert (("services/status", "patch") in granted) == (role == "allocator"), granted
        known = {(o["kind"], o["metadata"]["name"]) for o in part}
        for binding in (o for o in part if o["kind"].endswith("Binding")):
            ref = binding["roleRef"]
            assert (ref["kind"], ref["name"]) in known or ref["name"].startswith(("system:", "extension-")), binding
            assert binding["subjects"][0]["name"] == f"trimtab-{role}", binding


def allowed_out(items):
    """{(address, port)} that pods may call by TCP; None: every address."""
    policy, = (o for o in items if o["kind"] == "NetworkPolicy")
    assert "Egress" in policy["spec"]["policyTypes"]
    return {(to.get("ipBlock", {}).get("cidr"), port["port"]) for rule in policy["spec"]["egress"]
            for to in rule.get("to", [{}]) for port in rule["ports"] if port["protocol"] == "TCP"}


def test_policy__lets_pods_reach_the_metadata_server_where_the_cloud_has_it():
    common = {(None, 53), (None, 443), (None, 6443), ("169.254.169.254/32", 80)}
    for cloud, more in {"gce": {("169.254.169.252/32", 988)}, "azure": set(), "aws": {("169.254.170.23/32", 80)}}.items():
        assert allowed_out(objects(cloud)) == common | more, (cloud, allowed_out(objects(cloud)))


def test_policy__of_the_chart_has_no_metadata_server_where_none_is_named():
    found = allowed_out(rendered("--set-json=networkPolicy.metadata=[]"))
    assert found == {(None, 53), (None, 443), (None, 6443)}, found


def test_probes__ask_pages_that_need_no_permission():
    for cloud in PROVIDERS:
        container, = deployment(objects(cloud))["spec"]["template"]["spec"]["containers"]
        port, = container["ports"]
        assert f"--secure-port={port['containerPort']}" in container["args"]
        for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
            get = container[probe]["httpGet"]
            assert get == {"path": path, "port": port["name"], "scheme": "HTTPS"}, get


def test_flags__are_the_programs_own():
    known = set(re.findall(r"--([a-z][a-z0-9-]*)", tree.run(TRIMTAB, "--help").stdout))
    for cloud in PROVIDERS:
        container, = deployment(objects(cloud))["spec"]["template"]["spec"]["containers"]
        used = [arg[2:].split("=")[0] for arg in container["args"]]
        assert len(used) == len(set(used)) and (set(used) - {"v"}) <= known, (used, set(used) - known)
        lease = [a.split("=")[1] for a in container["args"] if a.startswith("--leader-elect-resource-name=")]
        granted = {name for o in objects(cloud) if o["kind"] == "Role" for rule in o["rules"]
                   for name in rule.get("resourceNames", []) if "leases" in rule["resources"]}
        assert set(lease) <= granted, (lease, granted)


def test_cloud_config__is_mounted_where_the_flag_says_and_can_be_read():
    for cloud in PROVIDERS:
        items = objects(cloud)
        pod = deployment(items)["spec"]["template"]["spec"]
        volume, = (v for v in pod["volumes"] if v["name"] == "cloud-config")
        name = volume["secret"]["secretName"] if "secret" in volume else volume["configMap"]["name"]
        held, = (o for o in items if o["kind"] in ("Secret", "ConfigMap") and o["metadata"]["name"] == name)
        (key, text), = (held.get("stringData") or held["data"]).items()
        assert f"--cloud-config=/etc/trimtab/{key}" in pod["containers"][0]["args"]
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(text)
            f.flush()
            tree.run(TRIMTAB, "check-config", f"--cloud-provider={cloud}", f"--cloud-config={f.name}")


# --- the chart -----------------------------------------------------------------------------------------------------

def schema_says(values):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise tap.Absent("python3-jsonschema is not installed") from error
    schema = json.loads(read("deploy", "helm", "trimtab", "values.schema.json"))
    jsonschema.Draft7Validator.check_schema(schema)
    return [e.message for e in jsonschema.Draft7Validator(schema).iter_errors(values)]


def test_schema__knows_every_value_and_refuses_others():
    values = yaml.safe_load(read("deploy", "helm", "trimtab", "values.yaml"))
    assert schema_says(values) == []
    known = json.loads(read("deploy", "helm", "trimtab", "values.schema.json"))["properties"]
    assert set(known) - {"global", "nameOverride", "fullnameOverride"} == set(values), set(known) ^ set(values)
    for cloud in (*PROVIDERS, "local-allocator", "local-director"):
        assert schema_says(yaml.safe_load(read("deploy", "values", cloud + ".yaml"))) == []
    for wrong in ({"replicas": -1}, {"replica": 2}, {"cloud": "G C E"}, {"flags": ["run-l4-controller"]},
                  {"plugins": {"source": "image"}}, {"cloudConfig": {"kind": "File"}}, {"port": 80},
                  {"image": {"digest": "sha256:12"}}, {"logging": {"format": "xml"}}):
        assert schema_says(wrong), wrong


def test_schema__syncs_in_flight__as_many_as_the_program_takes():
    said = subprocess.run([TRIMTAB, "--concurrent-service-syncs=1000000"], capture_output=True, text=True, check=False).stderr
    most = int(re.search(r"concurrent-service-syncs must be at most (\d+)", said).group(1))
    assert schema_says({"concurrentServiceSyncs": most}) == []
    assert schema_says({"concurrentServiceSyncs": most + 1})
    assert schema_says({"concurrentServiceSyncs": 0})


def test_helm_lint():
    for cloud in PROVIDERS:
        tree.run(tap.need(HELM, "helm is not installed"), "lint", "--strict", CHART, "--values", os.path.join(DEPLOY, "values", cloud + ".yaml"))


def test_chart__plugins_by_an_image_or_an_init_container():
    flags = ["--set=cloud=vendor,rbac.create=false,plugins.image=example.com/vendor:1,plugins.path=/lib"]
    pod = deployment(rendered(*flags, "--set=plugins.source=initContainer"))["spec"]["template"]["spec"]
    assert pod["initContainers"][0]["image"] == "example.com/vendor:1"
    assert "--provider-plugin-dir=/plugins" in pod["containers"][0]["args"]
    pod = deployment(rendered(*flags, "--set=plugins.source=image"))["spec"]["template"]["spec"]
    assert {"name": "plugins", "image": {"reference": "example.com/vendor:1", "pullPolicy": "IfNotPresent"}} in pod["volumes"]
    assert "--provider-plugin-dir=/plugins/lib" in pod["containers"][0]["args"]
    helm_refuses("trimtab rbac --cloud-provider=vendor", "--set=cloud=vendor")
    helm_refuses("image", "--set=cloud=vendor,rbac.create=false,plugins.source=image")


def test_chart__what_could_make_two_writers_is_refused():
    helm_refuses("there can be one only", "--set=leaderElection.enabled=false")
    spec = deployment(rendered("--set=leaderElection.enabled=false,replicas=1"))["spec"]
    assert spec["strategy"] == {"type": "Recreate"}
    assert "--leader-elect=false" in spec["template"]["spec"]["containers"][0]["args"]


def test_chart__of_the_provider_local_wants_a_node_and_pools():
    helm_refuses("nodeSelector: with cloud local", "--set=cloud=local")
    helm_refuses("needs pools of addresses", "--set=cloud=local,nodeSelector.lb=here")
    items = rendered("--set=cloud=local,nodeSelector.lb=here,cloudConfig.existing=its,replicas=3,plugins.source=none")
    assert deployment(items)["spec"]["replicas"] == 1 and "NetworkPolicy" not in {o["kind"] for o in items}


def test_chart__names_lease_certificate_and_host_network():
    items = rendered("--set=leaderElection.resourceName=mine,tls.secret=cert,hostNetwork=true,port=10358",
                     "--set=serviceAccount.name=robot,cloudConfig.existing=its,cloudConfig.kind=Secret")
    pod = deployment(items)["spec"]["template"]["spec"]
    args = pod["containers"][0]["args"]
    assert {"--leader-elect-resource-name=mine", "--secure-port=10358", "--tls-cert-file=/etc/trimtab-tls/tls.crt"} <= set(args)
    assert pod["serviceAccountName"] == "robot" and pod["hostNetwork"] and pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert not [o for o in items if o["kind"] in ("ConfigMap", "Secret")]
    assert [v["secret"]["secretName"] for v in pod["volumes"]] == ["its", "cert"]
    text = json.dumps(items)
    assert "x-" + "account-x" not in text and '"mine"' in text and '"name": "robot"' in text
    for cloud in ("azure", "aws", "local"):
        other = rendered("--values", os.path.join(DEPLOY, "values", cloud + ".yaml"))
        assert [o for o in other if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "trimtab"]


# --- kubectl -------------------------------------------------------------------------------------------------------

def kubectl(server, *args, folder, stdin=None):
    config = os.path.join(folder, "kubeconfig")
    if not os.path.exists(config):
        with open(config, "w", encoding="utf-8") as f:
            f.write(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                                "clusters": [{"name": "c", "cluster": {"server": server}}], "users": [],
                                "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}]}))
    return tree.run(tap.need(shutil.which("kubectl"), "kubectl is not installed"), f"--kubeconfig={config}", *args, input=stdin,
               env={**os.environ, "HOME": folder})


def test_kubectl__every_manifest_can_be_applied():
    """As far as kubectl judges itself; the kinds come from a stand-in for discovery."""
    with Discovery() as server, tempfile.TemporaryDirectory() as folder:
        for part in (*PROVIDERS, "local-allocator", "local-director", "monitoring"):
            said = kubectl(server.url, "apply", "--dry-run=client", "--validate=false", "-f",
                           os.path.join(DEPLOY, "manifests", part), folder=folder).stdout
            want = len(objects(part))
            assert said.count("(dry run)") == want, (part, want, said)


def server_takes(parts):
    """parts: name → objects.  The simulated API server takes each of them from kubectl, under strict validation, and has none afterwards."""
    tap.need(shutil.which("kubectl"), "kubectl is not installed")
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen([SIM, "--port=0"], stdout=subprocess.PIPE, text=True) as sim:
        try:
            url = sim.stdout.readline().split()[-1]
            for part, items in parts.items():
                said = kubectl(url, "apply", "--dry-run=server", "--validate=strict", "-f", "-", folder=folder, stdin=yaml.safe_dump_all(items)).stdout
                assert said.count("created (server dry run)") == len(items) > 0, (part, len(items), said)
            assert "trimtab" not in kubectl(url, "get", "deployments,daemonsets,clusterroles", "-A", "-o", "name", folder=folder).stdout
        finally:
            sim.terminate()
            sim.wait(180)


def test_kubectl__dry_run__the_api_server_takes_every_manifest():
    server_takes({part: objects(part) for part in (*PROVIDERS, "local-allocator", "local-director")})


def test_kubectl__dry_run__the_api_server_takes_the_chart():
    charts = {p: rendered("--values", os.path.join(DEPLOY, "values", p + ".yaml")) for p in (*PROVIDERS, "local-allocator", "local-director")}
    charts["options"] = rendered("--set=replicas=3,hostNetwork=true,tls.secret=cert,cloudConfig.existing=its,cloudConfig.kind=Secret")
    server_takes(charts)


def test_service_monitor__finds_the_service_and_the_job_of_the_alerts():
    monitor = yaml.safe_load(read("deploy", "manifests", "monitoring", "servicemonitor.yaml"))
    for cloud in PROVIDERS:
        service, = (o for o in objects(cloud) if o["kind"] == "Service")
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert monitor["spec"]["endpoints"][0]["port"] in [p["name"] for p in service["spec"]["ports"]]
        assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "trimtab"


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
