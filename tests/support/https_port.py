# SPDX-License-Identifier: Apache-2.0
"""The HTTPS port of one trimtab, and a client: for whole-program tests."""
import hashlib
import http.client
import json
import socket
import ssl

import schemas
from free_port import free_port

ADMIN = "sim-admin"  # whom the simulator's API server takes for a member of system:masters


class Port:
    """One process's HTTPS port, and a client."""

    def __init__(self, kubeconfig=None, number=None):
        self.number = number or free_port()
        self.flags = [f"--secure-port={self.number}", "--bind-address=127.0.0.1"]
        if kubeconfig:
            self.flags += [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}",
                           "--authentication-tolerate-lookup-failure"]
        self.context = ssl._create_unverified_context()  # pylint: disable=protected-access

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.number, context=self.context, timeout=180)

    def ask(self, path, token=None, method="GET", connection=None):
        """Status and text; None while nobody listens."""
        c = connection or self.connect()
        try:
            c.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = c.getresponse()
            text = answer.read().decode()
            if answer.status == 200 and method == "GET" and path.startswith("/status?") and "o=json" in path:
                schemas.check("status", text)
            return answer.status, text
        except ConnectionRefusedError:
            return None, ""
        finally:
            if connection is None:
                c.close()

    def get(self, path, token=ADMIN):
        status, text = self.ask(path, token)
        assert status == 200, (path, status, text)
        return text

    def is_up(self):
        return self.ask("/healthz")[0] == 200

    def status(self):
        return json.loads(self.get("/status?o=json"))

    def metric(self, line):
        """The value of the series that is printed as `line`; None: it is not there."""
        values = [text.rsplit(" ", 1)[1] for text in self.get("/metrics").splitlines() if text.startswith(line + " ")]
        return float(values[0]) if values else None

    def certificate(self):
        with socket.create_connection(("127.0.0.1", self.number)) as raw, self.context.wrap_socket(raw) as tls:
            return hashlib.sha256(tls.getpeercert(True)).hexdigest()
