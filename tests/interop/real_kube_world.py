# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver with etcd, and the simulated cloud: what trimtab does to Kubernetes is judged by Kubernetes.

The programs come from the environment variables TRIMTAB_KUBE_APISERVER and TRIMTAB_ETCD.  trimtab is a ServiceAccount
with exactly the roles that deploy/manifests ships; every request of it lands in the API server's audit log.
"""
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import FLAGS, LIMIT_S, World  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

APISERVER = os.environ.get("TRIMTAB_KUBE_APISERVER", "")
ETCD = os.environ.get("TRIMTAB_ETCD", "")
KUBERNETES = ("/api", "/apis", "/version", "/readyz")
USER = "system:serviceaccount:kube-system:trimtab"
AUDIT = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, users: ["%s"]}
- level: None
"""
ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: trimtab, namespace: kube-system}
"""


class RealCluster(World):
    """World, but Services and nodes live in a real API server."""

    audited = (USER,)  # whose requests are in the audit log

    def __init__(self, programs, manifests, *apiserver_flags, cloud="gce"):
        self.server, self.restarted = None, False
        self.all_audit, self.refused = [], []
        super().__init__(programs, "--nodes=6", cloud=cloud)
        self.extra = apiserver_flags
        self.server_env = {}  # what the next API server has more in its environment
        self.apiserver = None
        self.etcd_url = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        self.port = free_port()
        self.certs = self.path("certs")
        self.run_openssl()
        self.write("tokens.csv", "admin-token,admin,admin,system:masters\n")
        self.write("audit.yaml", AUDIT % '", "'.join(self.audited))
        self.etcd = subprocess.Popen(
            [ETCD, "--data-dir", self.path("etcd"), "--listen-client-urls", self.etcd_url,
             "--advertise-client-urls", self.etcd_url, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
            stdout=self.file("etcd.log"), stderr=self.file("etcd.log"))
        try:
            self.start_apiserver()
            authority = f"{self.certs}/apiserver.crt"
            self.until("there is a certificate", lambda: os.path.exists(authority) and os.path.getsize(authority))
            self.tls = ssl.create_default_context(cafile=authority)
            self.server = f"https://127.0.0.1:{self.port}"
            self.wait_for_apiserver()
            self.furnish(manifests)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    # --- files ---
    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def run_openssl(self):
        os.mkdir(self.certs)
        for command in (["genrsa", "-out", "sa.key", "2048"], ["rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub"]):
            subprocess.run(["openssl", *command], cwd=self.certs, check=True, capture_output=True)

    # --- the API server ---
    def start_apiserver(self):
        self.apiserver = subprocess.Popen(
            [APISERVER, f"--etcd-servers={self.etcd_url}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
             f"--cert-dir={self.certs}", f"--service-account-key-file={self.certs}/sa.pub",
             f"--service-account-signing-key-file={self.certs}/sa.key",
             "--service-account-issuer=https://kubernetes.default", "--service-cluster-ip-range=10.0.0.0/16",
             f"--token-auth-file={self.path('tokens.csv')}", "--authorization-mode=RBAC",
             "--disable-admission-plugins=ServiceAccount", f"--audit-policy-file={self.path('audit.yaml')}",
             f"--audit-log-path={self.path('audit.log')}", "--audit-log-mode=blocking", *self.extra],
            env={**os.environ, **self.server_env}, stdout=self.file("api.log"), stderr=self.file("api.log"))

    def kill_apiserver(self):
        self.apiserver.kill()
        self.apiserver.wait(LIMIT_S)

    def restart_apiserver(self):
        """Ready is said before the roles are in its memory: for a moment even permitted requests are 403."""
        self.restarted = True
        if self.apiserver.poll() is None:
            self.kill_apiserver()
        self.start_apiserver()
        self.wait_for_apiserver()

    def wait_for_apiserver(self):
        def ready():
            assert self.apiserver.poll() is None, "the API server has ended"
            try:
                return self.call("GET", "/readyz?verbose")[0] == 200
            except (OSError, urllib.error.URLError):
                return False
        self.until("the API server is ready", ready)

    def __exit__(self, kind, value, trace):
        try:
            super().__exit__(kind, value, trace)
        finally:
            for process in (self.apiserver, self.etcd):
                if process is not None and process.poll() is None:
                    process.kill()
                process.wait(LIMIT_S)
        subprocess.run(["rm", "-rf", self.folder], check=False)

    def call(self, method, path, body=None, content_type="application/json"):
        if self.server is None or not path.startswith(KUBERNETES):
            return super().call(method, path, body, content_type)
        headers = {"Content-Type": content_type, "Authorization": "Bearer admin-token"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S, context=self.tls) as answer:
                text = answer.read().decode()
                return answer.status, json.loads(text) if text.startswith("{") else text
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text

    def sim_nodes(self):
        return super().call("GET", "/api/v1/nodes")[1]["items"]

    def furnish(self, manifests):
        """Nodes as the simulator has them; trimtab's ServiceAccount with the roles that are shipped for it."""
        for node in self.sim_nodes():
            meta = {k: node["metadata"][k] for k in ("name", "labels", "annotations") if k in node["metadata"]}
            self.must("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": meta,
                                                "spec": node["spec"]})
        with open(os.path.join(manifests, self.cloud_name, "rbac.yaml"), encoding="utf-8") as f:
            roles = f.read()
        self.admin_config = self.write_kubeconfig("admin.kubeconfig", "token: admin-token")
        self.kubectl("apply", "-f", self.write("rbac.yaml", roles + "---\n" + ACCOUNT))
        self.write("token", self.token())
        self.kubeconfig = self.write_kubeconfig("trimtab.kubeconfig", f"tokenFile: {self.path('token')}")

    def write_kubeconfig(self, name, user, authority=None):
        return self.write(name, f"""\
apiVersion: v1
kind: Config
clusters: [{{name: real, cluster: {{server: "https://127.0.0.1:{self.port}",
  certificate-authority: "{authority or self.certs + '/apiserver.crt'}"}}}}]
users: [{{name: me, user: {{{user}}}}}]
contexts: [{{name: real, context: {{cluster: real, user: me}}}}]
current-context: real
""")

    def token(self, secret=None):
        """A token of trimtab's; one that dies with a Secret if that is given."""
        spec = {"expirationSeconds": 3600}
        if secret is not None:
            made = self.must("POST", "/api/v1/namespaces/kube-system/secrets", {
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret}})
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Secret", "name": secret,
                                      "uid": made["metadata"]["uid"]}
        return self.must("POST", "/api/v1/namespaces/kube-system/serviceaccounts/trimtab/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})["status"]["token"]

    def kubectl(self, *args):
        run = subprocess.run(["kubectl", f"--kubeconfig={self.admin_config}", *args], capture_output=True, text=True,
                             check=False, timeout=LIMIT_S, env={**os.environ, "HOME": self.folder})
        assert run.returncode == 0, (args, run.stderr)
        return run.stdout

    def compact(self):
        """Makes etcd forget everything but the present."""
        def etcd(path, body):
            request = urllib.request.Request(self.etcd_url + path, json.dumps(body).encode(), method="POST")
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return json.loads(answer.read())
        revision = etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    # --- what trimtab did ---
    def audit(self):
        """trimtab's requests: (verb, resource, status, URI, body)."""
        found = []
        with open(self.path("audit.log"), encoding="utf-8") as f:
            for line in f:
                e = json.loads(line)
                ref = e.get("objectRef", {})
                resource = "/".join(filter(None, (ref.get("resource"), ref.get("subresource"))))
                found.append((e["verb"], resource, e.get("responseStatus", {}).get("code"), e["requestURI"],
                              e.get("requestObject")))
        return found

    def forget_audit(self):
        with open(self.path("audit.log"), "r+", encoding="utf-8") as f:
            f.truncate(0)

    def writes(self):
        return [a for a in self.audit() if a[0] not in ("get", "list", "watch") and a[1] != "events"]

    def troubles(self):
        """Warnings and errors in trimtab's log."""
        return [line for line in self.log().splitlines() if re.match(r"[WE]\d{4} ", line)]

    def all_services(self):
        return [s for s in self.must("GET", self.services())["items"] if s["metadata"]["name"] != "kubernetes"]

    def quiet(self):
        """Waits until trimtab has called nobody for a second."""
        before, since = None, time.monotonic()
        while before is None or time.monotonic() - since < 1:
            now = (self.calls()[self.cloud_name], len(self.writes()))
            if now != before:
                before, since = now, time.monotonic()
            time.sleep(0.05)

    def pause(self):
        self.trimtab.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.trimtab.send_signal(signal.SIGCONT)

    def tidy_up(self):
        """Between two tests: trimtab has ended, no Service is left, nothing is counted."""
        if self.trimtab is not None and self.trimtab.poll() is None:
            self.go_on()
            self.stop()
        if self.apiserver.poll() is not None:
            self.restart_apiserver()
        self.restarted = False
        for svc in self.all_services():
            name = svc["metadata"]["name"]
            self.patch(name, {"metadata": {"finalizers": None}})
            self.call("DELETE", self.services(name))
        self.forget_audit()
        self.forget_calls()
        self.heal()

    def with_books(self, test):
        """The test; behind it, what was asked of the API server is added up and the cluster is tidied."""
        def run():
            try:
                test(self)
            except Exception as error:
                error.log = [line for line in self.log().splitlines() if '"FLAG"' not in line]
                raise
            finally:
                self.all_audit += self.audit()
                self.refused += [a for a in self.audit() if a[2] == 403 and not self.restarted]
                self.tidy_up()
        return run


def run_tests(scope, cloud="gce"):
    """Runs the functions test_* of `scope` on one cluster; the words of the command line after the manifests choose some."""
    programs, manifests, words = sys.argv[1:3], sys.argv[3], sys.argv[4:]
    if not (APISERVER and ETCD and shutil.which("kubectl")):
        return tap.skip("TRIMTAB_KUBE_APISERVER and TRIMTAB_ETCD do not name programs, or kubectl is absent")
    with RealCluster(programs, manifests, cloud=cloud) as w:
        return tap.run([(name, w.with_books(test)) for name, test in tap.tests_of(scope, words)])
