# SPDX-License-Identifier: Apache-2.0
"""Several replicas of trimtab against one simulator, each behind a proxy of its own, so that it is known who sent what and when.

A proxy forwards bytes and keeps a record of each request in one list with one clock; a hook may end its replica in the
middle of a call.  `overlaps()` reads from the records whether anybody changed something while another held the lease.
"""
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from controller_world import CONFIG, LIMIT_S, World

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAME = "cloud-controller-manager"
# For a leader that a busy machine must not make lose its lease, and for one that may lose it.
SHORT = ["--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=500ms"]
SHORTER = ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"]
WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Record:
    """One request: who, what, when its last byte went to the simulator, and the answer's status (None: none came)."""

    def __init__(self, who, method, path, body):
        self.who, self.method, self.path, self.body = who, method, path, body
        self.sent = self.answered = self.status = None

    def __repr__(self):
        return f"{self.sent or 0:.3f} {self.who} {self.method} {self.path} {self.status}"

    def is_lease(self):
        return self.path.startswith(LEASE)

    def is_lease_write(self):
        return self.is_lease() and self.method in WRITES

    def holder(self):
        """The holder that a write of the lease names; "" for none."""
        return json.loads(self.body)["spec"].get("holderIdentity") or ""

    def reign(self):
        """The holder that a write of the lease names, and since when it holds it."""
        return self.holder(), json.loads(self.body)["spec"].get("acquireTime")

    def is_mutation(self):
        """A change of the cloud or of the cluster, but for the lease, what is said about it, and tokens."""
        is_wait = "/operations/" in self.path and "/wait" in self.path  # reads, though it is a POST
        if self.method not in WRITES or self.is_lease() or is_wait or self.path.endswith("/token"):
            return False
        return not (self.path.endswith("/events") and b'"kind":"Lease"' in self.body.replace(b" ", b""))


class Proxy:
    """Between one replica and the simulator."""

    def __init__(self, world, who):
        self.world, self.who = world, who
        self.before = self.after = lambda record: None  # a true answer: the bytes go no further
        self.is_down = False  # connections are closed at once
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.upstream = ("127.0.0.1", int(world.url.rsplit(":", 1)[1]))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            if self.is_down:
                client.close()
                continue
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def close(self):
        self.server.close()

    def serve(self, client):
        try:
            upstream = socket.create_connection(self.upstream)
        except OSError:
            client.close()
            return
        for s in (client, upstream):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting = []  # the request whose answer is to come
        threading.Thread(target=self.answers, args=(upstream, client, waiting), daemon=True).start()
        data = b""
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    more = client.recv(65536)
                    if not more:
                        return
                    data += more
                head, rest = data.split(b"\r\n\r\n", 1)
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                size = int(length.group(1)) if length else 0
                while len(rest) < size:
                    more = client.recv(65536)
                    if not more:
                        return
                    rest += more
                method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
                record = Record(self.who, method, path, rest[:size])
                if self.before(record):
                    return
                waiting.append(record)
                with self.world.lock:  # the order of the list is the order of sending
                    record.sent = time.monotonic()
                    self.world.records.append(record)
                    upstream.sendall(head + b"\r\n\r\n" + rest[:size])
                data = rest[size:]
        except OSError:
            pass
        finally:
            for s in (client, upstream):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def answers(self, upstream, client, waiting):
        begun = b""
        try:
            while True:
                data = upstream.recv(65536)
                if not data:
                    break
                if waiting:
                    begun += data
                    if len(begun) < 12:
                        continue
                    data, begun = begun, b""
                    record = waiting.pop(0)
                    record.answered, record.status = time.monotonic(), int(data.split(b" ", 2)[1])
                    if self.after(record):
                        break
                client.sendall(data)
        except OSError:
            pass
        finally:
            for s in (client, upstream):
                s.close()


class Replica:
    """One process."""

    def __init__(self, world, who, flags):
        self.world, self.who = world, who
        self.proxy = Proxy(world, who)
        folder = os.path.join(world.folder, f"replica-{who}")
        os.makedirs(folder)
        for name in (CONFIG["gce"], "env-gce"):
            self.rewrite(os.path.join(world.conf, name), os.path.join(folder, name))
        self.rewrite(world.kubeconfig, os.path.join(folder, "kubeconfig"))
        with open(os.path.join(folder, "env-gce"), encoding="utf-8") as f:
            env = {**world.environment(), **dict(line.strip().split("=", 1) for line in f)}
        world.runs += 1
        self.log_path = os.path.join(world.folder, f"run-{world.runs}")
        self.command = [world.trimtab_exe, "--cloud-provider=gce", "--secure-port=0", f"--cloud-config={folder}/gce.conf",
                        f"--kubeconfig={folder}/kubeconfig", *flags]
        self.env, self.process, self.starting = env, None, threading.Lock()

    def rewrite(self, source, target):
        with open(source, encoding="utf-8") as f, open(target, "w", encoding="utf-8") as to:
            to.write(f.read().replace(f":{self.proxy.upstream[1]}", f":{self.proxy.port}"))

    def run(self):
        with open(self.log_path, "ab") as log, self.starting:  # a hook may want to end it before we know it
            self.process = subprocess.Popen(self.command, stderr=log, env=self.env)
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def until_logged(self, text):
        self.world.until(f"{self.who} logs {text}", lambda: text in self.log())
        return self

    def leads(self):
        return "Successfully acquired lease" in self.log()

    def stands_by(self):
        return self.until_logged('"Standby').until_logged("The lease is held by another process")

    def send(self, number):
        with self.starting:
            self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        """The exit status."""
        self.send(number)
        return self.process.wait(LIMIT_S)


class Replicas(World):
    """A world for several."""

    def __init__(self, programs, *sim_flags):
        super().__init__(programs, *sim_flags)
        self.lock, self.records, self.all = threading.Lock(), [], []

    def launch(self, *flags, down=False, held=False):
        """`down`: its proxy takes no connection.  `held`: not started yet."""
        r = Replica(self, "abcdefghijklmnopqrstuvwxyz"[len(self.all) % 26] + str(len(self.all)), flags)
        r.proxy.is_down = down
        self.all.append(r)
        return r if held else r.run()

    def __exit__(self, kind, value, trace):
        for r in self.all:
            if r.process is not None and r.process.poll() is None:
                r.send(signal.SIGCONT)
                r.process.kill()
                r.process.wait(LIMIT_S)
            r.proxy.close()
        if kind is not None:
            for r in self.all:
                lines = [line for line in r.log().splitlines() if '"FLAG"' not in line]
                print("\n# ".join([f"# --- {r.who}", *lines]))
        super().__exit__(kind, value, trace)

    def sent(self, who=None, since=0.0):
        with self.lock:
            return [r for r in self.records if r.sent >= since and (who is None or r.who == who.who)]

    def mutations_of(self, who, since=0.0):
        return [r for r in self.sent(who, since) if r.is_mutation()]

    def lease(self):
        status, found = self.call("GET", f"{LEASE}/{NAME}")
        return found["spec"] if status == 200 else {}

    def overlaps(self):
        """Mutations that were sent while the last write of the lease was not the sender's; [] is what must be.  A write of
        the lease counts from when it was sent, unless it was refused.  Of one whose sender died before the answer that is not
        known, but by the holder before: it would not go on as if nothing had been."""
        wrong, holder, last_write = [], None, None
        records = self.sent()
        done = [r for r in records if r.is_lease_write() and r.status is not None and r.status < 300]
        for r in records:
            if r in done or r.is_lease_write() and r.status is None and not self.goes_on(last_write, r, done):
                holder, last_write = (r.who if r.holder() else None), r
            elif r.is_mutation() and r.who != holder:
                wrong.append(f"{r} while {holder} holds the lease by {last_write}")
        return wrong

    @staticmethod
    def goes_on(last, unanswered, done):
        """The next write that was answered continues the reign of the one before `unanswered`, and is no release."""
        after = next((r for r in done if r.sent > unanswered.sent), None)
        return bool(last and after and after.holder() and after.who == last.who and after.reign() == last.reign())
