#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real kubectl against the simulated API server: every verb that people use on Services and Nodes.

    kubectl_test.py TRIMTAB_SIM TESTS      (TAP on stdout; skipped where kubectl is absent)

At the end all that was said is checked against the API's definitions.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, TESTS = sys.argv[1], sys.argv[2]
LIMIT_S = 120  # it bounds a hang only

MANIFEST = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {app: web}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: 8080}
"""
CHANGED = MANIFEST.replace("port: 80,", "port: 81,")
TYPO = MANIFEST.replace("selector:", "selektor:")

# Commands, and a pattern that the output must hold ("!": the command must fail with it).
STEPS = (
    ("version", r"Server Version: v1\.36"),
    ("cluster-info", r"control plane.* is running"),
    ("api-resources", r"(?m)^services +svc +v1 +true +Service$"),
    ("get --raw /livez?verbose", r"livez check passed"),
    ("get nodes", r"node-0 +Ready +<none>"),
    ("get nodes -o wide", r"10\.128\.0\.10"),
    ("get svc -A", r"default +kubernetes +ClusterIP +10\.0\.0\.1"),
    ("apply -f {manifest}", r"service/web created"),
    ("apply -f {manifest}", r"service/web unchanged"),
    ("apply -f {typo}", r'!unknown field "spec\.selektor"'),
    ("apply -f {changed} --dry-run=server", r"service/web configured \(server dry run\)"),
    ("diff -f {changed}", r"!\+    port: 81"),
    ("apply -f {changed}", r"service/web configured"),
    ("get svc web -o jsonpath={{.spec.ports[*].port}}", r"^81$"),
    ("get svc web -o yaml", r"externalTrafficPolicy: Cluster"),
    ("get svc web -o json", r'"kind": "Service"'),
    ("get svc web -o wide", r"app=web"),
    ("get svc -l app=web -o name", r"service/web"),
    ("get svc --field-selector metadata.name=web --no-headers", r"web +LoadBalancer .* <pending> "),
    ("annotate svc web note=one", r"annotated"),
    ("label svc web tier=front", r"labeled"),
    ("patch svc web -p {{\"spec\":{{\"externalTrafficPolicy\":\"Local\"}}}}", r"patched"),
    ("patch svc web --type=json -p [{{\"op\":\"test\",\"path\":\"/spec/type\",\"value\":\"ClusterIP\"}}]",
     r"!the server rejected our request"),
    ("patch svc web --type=merge --subresource=status "
     "-p {{\"status\":{{\"loadBalancer\":{{\"ingress\":[{{\"ip\":\"203.0.113.9\"}}]}}}}}}", r"patched"),
    ("describe svc web", r"LoadBalancer Ingress: +203\.0\.113\.9 \(VIP\)"),
    ("describe svc web", r"HealthCheck NodePort: +3\d{{4}}"),
    ("get svc web", r"203\.0\.113\.9"),
    ("patch svc web --type=merge -p {{\"spec\":{{\"type\":\"Nope\"}}}}", r"!spec\.type: Unsupported value"),
    ("edit svc web", r"service/web edited"),
    ("get svc web -o jsonpath={{.metadata.labels.tier}}", r"^back$"),
    ("apply --server-side --force-conflicts -f {changed}", r"serverside-applied"),
    ("replace -f {changed}", r"replaced"),
    ("explain service.spec.ports", r"targetPort"),
    ("patch svc web --type=merge -p {{\"metadata\":{{\"finalizers\":[\"example.com/hold\"]}}}}", r"patched"),
    ("delete svc web --wait=false", r"deleted"),
    ("get svc web -o jsonpath={{.metadata.deletionTimestamp}}", r"^20"),
    ("patch svc web --type=merge -p {{\"metadata\":{{\"finalizers\":null}}}}", r"patched"),
    ("get svc web", r'!services "web" not found'),
    ("create -f {manifest}", r"service/web created"),
    ("create -f {manifest}", r"!AlreadyExists"),
    ("delete -f {manifest}", r"deleted"),
    ("create namespace shop", r"namespace/shop created"),
    ("create configmap settings -n shop --from-literal=a=b", r"configmap/settings created"),
    ("get configmap settings -n shop -o jsonpath={{.data.a}}", r"^b$"),
    ("create service loadbalancer quick --tcp=80:8080 -n shop", r"service/quick created"),
    ("expose service quick --name=more --port=90 -n shop", r"service/more exposed"),
    ("get svc more -n shop -o jsonpath={{.spec.ports[0].port}}:{{.spec.selector.app}}", r"^90:quick$"),
    ("create secret generic pw -n shop --from-literal=p=x", r"secret/pw created"),
    ("delete namespace shop", r"deleted"),
    ("get namespace shop", r"!not found"),
    ("describe node node-0", r"ProviderID: +gce://"),
    ("cordon node-0", r"cordoned"),
    ("get node node-0", r"Ready,SchedulingDisabled"),
    ("uncordon node-0", r"uncordoned"),
    ("taint node node-0 key=value:NoSchedule", r"tainted"),
    ("wait --for=condition=Ready node/node-1 --timeout=120s", r"condition met"),
    ("auth can-i delete services", r"yes"),
    ("get events", r"No resources found"),
)


def watch_sees_changes(env, files):
    """get -w prints a line for each change."""
    watch = subprocess.Popen(["kubectl", "get", "svc", "-w", f"--request-timeout={LIMIT_S}s"], env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(watch.stdout.readline, "")))
    reader.start()
    give_up = time.monotonic() + LIMIT_S
    while not lines and time.monotonic() < give_up:
        reader.join(0.05)
    for command in (["apply", "-f", files["manifest"]], ["delete", "svc", "web"]):
        subprocess.run(["kubectl", *command], env=env, capture_output=True, check=False)
    while sum("web" in line for line in lines) < 2 and time.monotonic() < give_up:
        reader.join(0.05)
    watch.send_signal(signal.SIGINT)
    watch.wait(LIMIT_S)
    reader.join(LIMIT_S)
    text = "".join(lines)
    return len(re.findall(r"(?m)^web +LoadBalancer", text)) >= 2 and text.count("NAME") == 1, text


def main():
    if not shutil.which("kubectl"):
        return tap.skip("kubectl is not installed")
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, text in (("manifest", MANIFEST), ("changed", CHANGED), ("typo", TYPO)):
            files[name] = f"{folder}/{name}.yaml"
            with open(files[name], "w", encoding="utf-8") as f:
                f.write(text)
        log = f"{folder}/kube.log"
        sim = subprocess.Popen([SIM, "--port=0", "--nodes=2", f"--write-kubeconfig={folder}/kubeconfig",
                                f"--kube-log={log}"], stdout=subprocess.PIPE, text=True)
        sim.stdout.readline()
        env = dict(os.environ, KUBECONFIG=f"{folder}/kubeconfig", HOME=folder, EDITOR="sed -i s/front/back/")
        report = tap.Report(len(STEPS) + 2)
        for command, pattern in STEPS:
            words = [word.format(**files) for word in command.split()]
            run = subprocess.run(["kubectl", *words], env=env, capture_output=True, text=True, check=False)
            output = run.stdout + run.stderr
            fails = pattern.startswith("!")
            good = bool(re.search(pattern.lstrip("!").replace("{{", "{").replace("}}", "}"), output)) and fails == (
                run.returncode != 0)
            report.check(f"kubectl {command}", "" if good else f"exit {run.returncode}\n{output}")
        good, text = watch_sees_changes(env, files)
        report.check("kubectl get svc -w", "" if good else text or "it printed nothing")
        sim.send_signal(signal.SIGTERM)
        sim.wait(LIMIT_S)
        check = subprocess.run([sys.executable, f"{TESTS}/support/check_kube_log.py",
                                f"{TESTS}/data/schemas/kubernetes.json", log], capture_output=True, text=True, check=False)
        report.check("all objects are as defined", (check.stdout + check.stderr or "exit 1") if check.returncode == 1 else "",
                     "SKIP python3-jsonschema is not installed" if check.returncode == 2 else "")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
