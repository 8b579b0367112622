# SPDX-License-Identifier: Apache-2.0
"""A real API server and replicas of trimtab as deploy/ runs them: who asked what, and when, is read from its audit log.

Each replica has a token of its own, whose id stands beside each of its requests.
"""
import base64
import http.client
import json
import os
import re
import signal
import subprocess

from controller_world import CONFIG, LIMIT_S  # real_kube_world.py put its folder on the path
from real_kube_world import USER, RealCluster

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/trimtab"
SERVICE_CONTROLLER = "system:serviceaccount:kube-system:service-controller"
SHORT = ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"]
DEPLOYED = ["--leader-elect=true", "--leader-elect-resource-name=trimtab", "--secure-port=0",
            "--concurrent-service-syncs=10"]
CREDENTIAL = "authentication.kubernetes.io/credential-id"


def token_id(token):
    """Its user name in the API server's audit log."""
    middle = token.split(".")[1]
    return "JTI=" + json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))["jti"]


class Replica:
    """One process, not started yet."""

    def __init__(self, world, name, flags, kubeconfig=None):
        self.world, self.name, self.process = world, name, None
        token = world.token()
        self.id = token_id(token)
        self.kubeconfig = kubeconfig or world.write_kubeconfig(
            f"{name}.kubeconfig", f"tokenFile: {world.write(name + '.token', token)}")
        world.runs += 1
        self.log_path = world.path(f"run-{world.runs}")
        self.command = [world.trimtab_exe, f"--cloud-provider={world.cloud_name}",
                        f"--cloud-config={world.conf}/{CONFIG[world.cloud_name]}", f"--kubeconfig={self.kubeconfig}",
                        "-v=2", *DEPLOYED, *flags]

    def run(self, **more_environment):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log,
                                            env={**self.world.environment(), **more_environment})
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return "\n".join(line for line in f.read().splitlines() if '"FLAG"' not in line)

    def until(self, *words):
        def said():
            assert self.process.poll() is None, f"{self.name} has ended\n{self.log()}"
            return [line for line in self.log().splitlines() if all(w in line for w in words)]
        try:
            return self.world.until(f"{self.name} says {words}", said)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()}") from error

    def leads(self):
        self.until("Successfully acquired lease")
        return self

    def stands_by(self):
        self.until("The lease is held by another process")
        self.until('"Watching"')
        return self

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)

    def troubles(self):
        return [line for line in self.log().splitlines() if re.match(r"[WE]\d{4} ", line)]

    def asked(self):
        """Its requests as the audit log has them."""
        return [e for e in self.world.entries() if e["user"].get("extra", {}).get(CREDENTIAL) == [self.id]]

    def connections(self):
        """How many it has to the API server."""
        links = set()
        for name in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                links.add(os.readlink(f"/proc/{self.process.pid}/fd/{name}"))
            except FileNotFoundError:
                pass
        with open("/proc/net/tcp", encoding="ascii") as f:
            rows = [line.split() for line in f.read().splitlines()[1:]]
        return sum(f"socket:[{row[9]}]" in links and int(row[2].split(":")[1], 16) == self.world.port
                   and row[3] == "01" for row in rows)


class ControlPlane(RealCluster):
    """Several replicas; certificates of a cluster's CA."""

    audited = (USER, SERVICE_CONTROLLER, "certified")

    def __init__(self, programs, manifests, cloud="gce"):
        self.replicas = []
        super().__init__(programs, manifests, cloud=cloud)
        self.empty = self.must("GET", "/sim/state")

    def run_openssl(self):
        super().run_openssl()
        for authority in ("clients", "proxies"):
            self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{authority}.key", "-out",
                         f"{authority}.pem", "-subj", f"/CN={authority}", "-days", "2")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.certs, check=True, capture_output=True)

    def client_pair(self, name, subject, authority="clients"):
        """Paths of certificate and key."""
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                     "-subj", subject)
        self.write("certs/usage", "extendedKeyUsage=clientAuth\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                     "-CAcreateserial", "-days", "2", "-extfile", "usage", "-out", f"{name}.pem")
        return f"{self.certs}/{name}.pem", f"{self.certs}/{name}.key"

    def start_apiserver(self):
        mine = (f"--client-ca-file={self.certs}/clients.pem", f"--requestheader-client-ca-file={self.certs}/proxies.pem",
                "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-allowed-names=front",
                "--permit-port-sharing=true")
        common, self.extra = self.extra, (*mine, *self.extra)
        try:
            super().start_apiserver()
        finally:
            self.extra = common

    def roll_apiserver(self):
        """Another one behind the same port, as behind a balancer; the one before ends in order, with GOAWAYs."""
        before, self.restarted = self.apiserver, True
        count = self.server_log().count("Serving securely on")
        self.start_apiserver()
        try:
            self.until("the other one serves", lambda: self.server_log().count("Serving securely on") > count)
            before.terminate()
            self.until("the first one has closed its port", lambda: "Stopped listening on" in self.server_log())
            self.wait_for_apiserver()
        except BaseException:
            before.kill()
            raise
        return before

    def restart_with(self, *flags, **environment):
        """The same API server with more flags; none: as it was."""
        self.extra, self.server_env = flags, environment
        self.restart_apiserver()

    # --- replicas ---
    def replica(self, *flags, kubeconfig=None):
        r = Replica(self, f"replica-{len(self.replicas)}", flags, kubeconfig)
        self.replicas.append(r)
        return r

    def launch(self, *flags, kubeconfig=None):
        return self.replica(*flags, kubeconfig=kubeconfig).run()

    def end_replicas(self):
        for r in self.replicas:
            if r.process is not None and r.process.poll() is None:
                r.process.send_signal(signal.SIGCONT)
                r.process.kill()
                r.process.wait(LIMIT_S)

    def tidy_up(self):
        self.end_replicas()
        super().tidy_up()
        self.call("DELETE", LEASE)
        self.must("PUT", "/sim/state", self.empty)
        self.replicas = []

    def log(self):
        """Of all that ran in this test."""
        return "\n".join(f"--- {r.name}\n{r.log()}" for r in self.replicas) or super().log()

    def __exit__(self, kind, value, trace):
        self.end_replicas()
        super().__exit__(kind, value, trace)

    # --- what there is ---
    def writes(self):
        """Those that tell of work: a leader renews its lease for ever."""
        return [a for a in super().writes() if a[1] != "leases"]

    def lease(self):
        status, found = self.call("GET", LEASE)
        return found["spec"] if status == 200 else {}

    def entries(self):
        with open(self.path("audit.log"), encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def refused_now(self):
        return [k for k in by_kind(self.entries()) if k[2] == 403] if not self.restarted else []

    def server_log(self):
        with open(self.path("api.log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def bulk(self, method, requests):
        """(path, body) of each, over one connection."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=LIMIT_S, context=self.tls)
        for path, body in requests:
            connection.request(method, path, json.dumps(body) if body else None,
                               {"Authorization": "Bearer admin-token", "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status < 300, (method, path, text)
        connection.close()


def lease_writes(entries):
    """(holder, when asked, when answered, status) of each, in order."""
    found = [((e.get("requestObject") or {}).get("spec", {}).get("holderIdentity") or "",
              e["requestReceivedTimestamp"], e["stageTimestamp"], e["responseStatus"]["code"])
             for e in entries if e.get("objectRef", {}).get("resource") == "leases" and e["verb"] in ("create", "update")]
    return sorted(found, key=lambda w: w[1])


def by_kind(entries):
    """(verb, resource, status) of each; resource with its subresource."""
    return [(e["verb"], "/".join(filter(None, (e.get("objectRef", {}).get("resource"),
                                               e.get("objectRef", {}).get("subresource")))),
             e.get("responseStatus", {}).get("code")) for e in entries]
