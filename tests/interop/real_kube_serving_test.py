#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab's HTTPS port where a real API server says who somebody is and what he may see.

    TRIMTAB_KUBE_APISERVER=PROGRAM TRIMTAB_ETCD=PROGRAM real_kube_serving_test.py TRIMTAB_SIM TRIMTAB MANIFESTS [TEST…]
    (TAP on stdout; skipped when a variable is unset or kubectl is absent)
"""
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys

from real_kube_world import APISERVER, ETCD, USER, free_port
from real_kube_control_world import ControlPlane, by_kind
import tap  # real_kube_world.py put its folder on the path

PROGRAMS, MANIFESTS = sys.argv[1:3], sys.argv[3]
READER = "system:serviceaccount:monitoring:prometheus"
FRESH = ["--authentication-token-webhook-cache-ttl=1ms", "--authorization-webhook-cache-authorized-ttl=1ms",
         "--authorization-webhook-cache-unauthorized-ttl=1ms"]
BOUND = """\
apiVersion: v1
kind: Namespace
metadata: {name: monitoring}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: monitoring}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus-reads-trimtab}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: trimtab-metrics-reader}
subjects:
- {kind: ServiceAccount, namespace: monitoring, name: prometheus}
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}
"""


# A pod's files, which only this process sees.
POD = """mount -t tmpfs none /run && d=/var/run/secrets/kubernetes.io/serviceaccount && mkdir -p $d && cp "$1" $d/token &&
cp "$2" $d/ca.crt && printf kube-system >$d/namespace && shift 2 && exec "$@"
"""


class Port:
    """A replica with its HTTPS port, and who calls it."""

    def __init__(self, w, *flags, pod=False):
        self.world, self.number = w, free_port()
        config = w.path("port.kubeconfig")
        if not os.path.exists(config):
            w.write("port.token", w.token())
            w.write_kubeconfig("port.kubeconfig", f"tokenFile: {w.path('port.token')}")
        whom = [] if pod else [f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}"]
        self.replica = r = w.replica(f"--secure-port={self.number}", "--bind-address=127.0.0.1", *whom, *flags)
        if pod:
            r.command = ["unshare", "-m", "sh", "-c", POD, "sh", w.path("port.token"), f"{w.certs}/apiserver.crt",
                         *(word for word in r.command if not word.startswith("--kubeconfig="))]
            r.run(KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=str(w.port))
        else:
            r.run()
        w.until("the port is open", lambda: self.ask("/readyz")[0] == 200)

    def ask(self, path, token=None, pair=None, headers=None, method="GET"):
        """Status and text; a status of 0: nobody listens."""
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        if pair:
            context.load_cert_chain(*pair)
        c = http.client.HTTPSConnection("127.0.0.1", self.number, context=context, timeout=180)
        try:
            c.request(method, path, headers={**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})})
            answer = c.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionRefusedError:
            assert self.replica.process.poll() is None, self.replica.log()
            return 0, ""
        finally:
            c.close()

    def refusal(self, *args, **kw):
        """Status and message of the Status that it answers."""
        code, text = self.ask(*args, **kw)
        said = json.loads(text)
        assert said["kind"] == "Status" and said["code"] == code, text
        return code, said["message"]


def account_token(w, secret=None):
    """A token of Prometheus'; one that dies with a Secret if that is given."""
    spec = {"expirationSeconds": 3600}
    if secret:
        made = w.must("POST", "/api/v1/namespaces/monitoring/secrets", {"apiVersion": "v1", "kind": "Secret",
                                                                        "metadata": {"name": secret}})
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made["metadata"]["uid"]}
    return w.must("POST", "/api/v1/namespaces/monitoring/serviceaccounts/prometheus/token", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})["status"]["token"]


def furnish(w):
    w.kubectl("apply", "-f", f"{MANIFESTS}/{w.cloud_name}/trimtab.yaml", "-l", "app.kubernetes.io/name=trimtab")
    w.kubectl("apply", "-f", w.write("bound.yaml", BOUND))


def reviews(w):
    return [k[1] for k in by_kind(w.entries()) if k[0] == "create" and k[1] in ("tokenreviews", "subjectaccessreviews")]


def test_tokens__the_api_server_says_whose_and_what_for(w):
    p = Port(w, *FRESH)
    good, other = account_token(w), w.token()
    for path in ("/healthz", "/livez", "/readyz"):
        assert p.ask(path) == (200, "ok"), path
    assert p.refusal("/metrics") == (403, 'forbidden: User "system:anonymous" cannot get path "/metrics"')
    assert p.refusal("/metrics", other) == (403, f'forbidden: User "{USER}" cannot get path "/metrics"')
    assert p.refusal("/metrics", "nonsense")[0] == 401 and p.refusal("/healthz", "nonsense")[0] == 401
    status, text = p.ask("/metrics", good)
    assert status == 200 and "leader_election_master_status" in text, text[:300]
    assert p.refusal("/configz", good) == (403, f'forbidden: User "{READER}" cannot get path "/configz"')
    assert p.ask("/configz", "admin-token")[0] == 200
    assert p.refusal("/debug/flags/v", good, method="PUT") == (
        403, f'forbidden: User "{READER}" cannot put path "/debug/flags/v"')
    dying = account_token(w, "short")
    assert p.ask("/metrics", dying)[0] == 200
    w.must("DELETE", "/api/v1/namespaces/monitoring/secrets/short")
    w.until("its token is dead", lambda: p.ask("/metrics", dying)[0] == 401)  # the API server remembers for 10 s, too
    log = p.replica.log()
    assert good not in log and dying not in log and "nonsense" not in log
    assert all("Unable to authenticate the request" in line for line in p.replica.troubles()), p.replica.troubles()


def test_answers__are_remembered(w):
    p = Port(w)
    token = account_token(w)
    assert p.ask("/metrics", token)[0] == 200
    w.forget_audit()
    for _ in range(50):
        assert p.ask("/metrics", token)[0] == 200
    asked = reviews(w)
    print(f"# 50 scrapes asked the API server {len(asked)} times")
    assert len(asked) <= 8, asked                   # a yes lasts for ten seconds


def test_client_certificates__of_the_clusters_ca(w):
    """The CA comes from kube-system/extension-apiserver-authentication; another one that joins counts without a restart."""
    p = Port(w, *FRESH)
    boss, alice, bob = (w.client_pair(name, subject) for name, subject in (
        ("boss", "/O=system:masters/CN=boss"), ("alice", "/CN=alice"), ("bob", "/CN=bob")))
    assert p.ask("/flagz", pair=boss)[0] == 200 and p.ask("/metrics", pair=alice)[0] == 200
    assert p.refusal("/metrics", pair=bob) == (403, 'forbidden: User "bob" cannot get path "/metrics"')
    w.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "later.key", "-out", "later.pem", "-subj",
              "/CN=later", "-days", "2")
    carol = w.client_pair("carol", "/O=system:masters/CN=carol", "later")
    assert p.ask("/metrics", pair=carol)[0] == 401
    with open(f"{w.certs}/clients.pem", "a", encoding="utf-8") as f, open(f"{w.certs}/later.pem", encoding="utf-8") as more:
        f.write(more.read())                        # the API server sees it and writes the ConfigMap
    w.until("the new CA counts", lambda: p.ask("/metrics", pair=carol)[0] == 200)
    assert p.ask("/metrics", pair=alice)[0] == 200


def test_front_proxy__speaks_for_others(w):
    p = Port(w, *FRESH)
    front, back = (w.client_pair(name, f"/CN={name}", "proxies") for name in ("front", "back"))
    as_alice = {"X-Remote-User": "alice", "X-Remote-Group": "system:authenticated"}
    assert p.ask("/metrics", pair=front, headers=as_alice)[0] == 200
    assert p.refusal("/configz", pair=front, headers=as_alice) == (
        403, 'forbidden: User "alice" cannot get path "/configz"')
    assert p.ask("/configz", pair=front, headers={"X-Remote-User": "x", "X-Remote-Group": "system:masters"})[0] == 200
    assert p.ask("/metrics", pair=back, headers=as_alice)[0] == 401
    assert p.refusal("/metrics", headers=as_alice)[0] == 403  # headers without the proxy's certificate say nothing


def test_api_server_away__who_was_known_is_known(w):
    # A leader ends when it cannot renew for ten seconds, and a new API server may take longer to be ready.
    p = Port(w, "--leader-elect=false", "--authentication-token-webhook-cache-ttl=10m",
             "--authorization-webhook-cache-authorized-ttl=10m", "--authorization-webhook-cache-unauthorized-ttl=1ms")
    token, other = account_token(w), account_token(w)
    assert p.ask("/metrics", token)[0] == 200
    w.kill_apiserver()
    assert p.ask("/metrics", token)[0] == 200
    status, text = p.ask("/metrics", other)
    print(f"# a caller who was not known before: {status} {text.strip()[:200]}")
    assert status in (401, 500) and other not in text, (status, text)
    w.restart_apiserver()
    w.until("everybody is known", lambda: p.ask("/metrics", other)[0] == 200)


def test_without_the_shipped_binding__does_not_start(w):
    """The ConfigMap with the CAs may not be read: said, with what to do about it."""
    w.kubectl("-n", "kube-system", "delete", "rolebinding", "trimtab-authentication-reader")
    try:
        r = w.launch(f"--secure-port={free_port()}", "--bind-address=127.0.0.1",
                     f"--authentication-kubeconfig={w.kubeconfig}", f"--authorization-kubeconfig={w.kubeconfig}")
        assert r.process.wait(180) == 1
        last = r.log().splitlines()[-1]
        print("#", last)
        assert last.startswith("error:") and "extension-apiserver-authentication" in last, last
        w.forget_audit()                            # its 403s were wanted
    finally:
        w.kubectl("apply", "-f", f"{MANIFESTS}/{w.cloud_name}/rbac.yaml")


def test_in_a_pod__its_files_are_enough(w):
    """Neither --kubeconfig nor --authentication-kubeconfig: as the shipped manifests run it."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        print("# not looked at: no mount namespaces may be made here")
        return
    p = Port(w, pod=True)
    p.replica.leads()
    w.create("web")
    w.until_address("web")
    assert p.ask("/metrics", account_token(w))[0] == 200 and p.ask("/metrics", w.token())[0] == 403
    assert p.replica.end() == 0 and p.replica.troubles() == [], p.replica.troubles()


def test_clients__kubectl_and_trimtab_itself(w):
    p = Port(w)
    w.create("web")
    w.until_address("web")
    base = f"--server=https://127.0.0.1:{p.number}"
    said = subprocess.run(["kubectl", base, "--insecure-skip-tls-verify", f"--token={account_token(w)}",
                           "--kubeconfig=/dev/null", "get", "--raw", "/metrics"], capture_output=True, text=True, check=False)
    assert said.returncode == 0 and "trimtab_services" in said.stdout, said
    w.until("it is Ready", lambda: json.loads(p.ask("/status?o=json", "admin-token")[1])["summary"]["Ready"] == 1)
    shown = subprocess.run([PROGRAMS[1], "status", base, "--insecure-skip-tls-verify", f"--kubeconfig={w.admin_config}"],
                           capture_output=True, text=True, check=False)
    assert shown.returncode == 0 and w.address("web") in shown.stdout, shown


def test_permissions__nothing_was_refused(w):
    """The last one: over all of the tests before."""
    assert not w.refused, w.refused[:5]


def main():
    if not (APISERVER and ETCD and shutil.which("kubectl")):
        return tap.skip("TRIMTAB_KUBE_APISERVER and TRIMTAB_ETCD do not name programs, or kubectl is absent")
    with ControlPlane(PROGRAMS, MANIFESTS) as w:
        furnish(w)
        return tap.run([(name, w.with_books(test)) for name, test in tap.tests_of(globals(), sys.argv[4:])])


if __name__ == "__main__":
    sys.exit(main())
