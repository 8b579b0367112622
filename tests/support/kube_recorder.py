# SPDX-License-Identifier: Apache-2.0
"""A relay between trimtab and the simulator's Kubernetes API that remembers requests with their headers, perhaps over TLS.

    with Recorder(sim_url, tls_folder=None) as r: … r.kubeconfig(path, user) … r.requests

Bytes pass as they are; each connection has two threads.  Only the client's side is read: heads, and bodies by their length.
"""
import json
import os
import socket
import ssl
import subprocess
import threading
from urllib.parse import urlsplit


def make_certificate(folder):
    """A certificate of its own for 127.0.0.1; returns the paths of it and its key."""
    cert, key = os.path.join(folder, "relay.crt"), os.path.join(folder, "relay.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=relay", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return cert, key


class Recorder:
    """Requests in the order in which their heads were complete: dicts of method, path, headers (lower case), body."""

    def __init__(self, sim_url, tls_folder=None):
        self.target = (urlsplit(sim_url).hostname, urlsplit(sim_url).port)
        self.requests, self.lock, self.context = [], threading.Lock(), None
        if tls_folder is not None:
            self.ca, key = make_certificate(tls_folder)
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(self.ca, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if self.context else 'http'}://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def kubeconfig(self, path, user):
        """Writes one that leads here, for a user of these members.  JSON is YAML."""
        cluster = {"server": self.url}
        if self.context:
            cluster["certificate-authority"] = self.ca
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                       "clusters": [{"name": "k", "cluster": cluster}], "users": [{"name": "u", "user": user}]}, f)
        return path

    def seen(self):
        with self.lock:
            return list(self.requests)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            if self.context:
                client = self.context.wrap_socket(client, server_side=True)
            server = socket.create_connection(self.target)
        except OSError:
            client.close()
            return
        threading.Thread(target=self._answers, args=(server, client), daemon=True).start()
        pending = b""
        try:
            while data := client.recv(65536):
                pending = self._remember(pending + data)
                server.sendall(data)
        except OSError:
            pass
        for s in (server, client):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    @staticmethod
    def _answers(server, client):
        try:
            while data := server.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _remember(self, pending):
        """Takes whole requests off; returns what is left."""
        while b"\r\n\r\n" in pending:
            head, rest = pending.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            headers = [(k.strip().lower(), v.strip()) for k, v in (line.split(":", 1) for line in lines[1:])]
            length = int(dict(headers).get("content-length", "0"))
            if len(rest) < length:
                break
            method, path, _ = lines[0].split(" ", 2)
            with self.lock:
                self.requests.append({"method": method, "path": path, "headers": dict(headers),
                                      "body": rest[:length].decode()})
            pending = rest[length:]
        return pending
