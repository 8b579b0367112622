#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab's watches over HTTP/2: nghttpx, which ends TLS and speaks HTTP/2, stands before the simulator.

    http2_test.py TRIMTAB_SIM TRIMTAB      (TAP on stdout; skipped where nghttpx (Debian: nghttp2-proxy) is absent)

nghttpx's access log has a line for each request when it is over, with the client's port: requests with the same port
shared a connection.  A streaming list says sendInitialEvents; what begins without it resumed from a version.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import LIMIT_S, World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

L4 = ["--run-l4-controller", "--enable-l4-neg", "--gate-l4-by-lock=false"]  # endpoint slices are watched, too
KINDS = ("services", "nodes", "endpointslices")


def is_process(pid):
    """Still runs, not counting one that nobody has waited for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Proxied(World):
    """A world whose API server is reached through nghttpx."""

    def __init__(self, programs):
        super().__init__(programs, "--nodes=3")
        self.port, self.pids, self.children = free_port(), [], []
        self.key, self.cert = (os.path.join(self.folder, n) for n in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.cert],
                       check=True, capture_output=True)
        with open(self.kubeconfig, encoding="utf-8") as f:
            text = f.read()
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            f.write(re.sub(r"    server: .*\n", f"    server: https://127.0.0.1:{self.port}\n"
                                                f"    certificate-authority: {self.cert}\n", text))

    def __exit__(self, kind, value, trace):
        if self.trimtab is not None and self.trimtab.poll() is None:
            self.stop()
        for pid in self.pids:
            if is_process(pid):
                os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.wait(LIMIT_S)
        super().__exit__(kind, value, trace)

    # --- nghttpx ---
    def pid(self):
        """The main process that listens; a successor writes itself into the same file."""
        try:
            with open(os.path.join(self.folder, "pid"), encoding="ascii") as f:
                return int(f.read())
        except (FileNotFoundError, ValueError):
            return None

    def take_pid(self, before=None):
        pid = self.until("nghttpx runs", lambda: self.pid() if self.pid() != before else None)
        self.pids.append(pid)
        return pid

    def listen(self, *flags):
        before = self.pid()
        child = subprocess.Popen(
            [shutil.which("nghttpx"), "--conf=/dev/null", f"--frontend=127.0.0.1,{self.port}",
             f"--backend=127.0.0.1,{self.url.rsplit(':', 1)[1]}", "--workers=1", "--no-ocsp",
             f"--pid-file={self.folder}/pid", f"--accesslog-file={self.folder}/access", f"--errorlog-file={self.folder}/errors",
             "--accesslog-format=$remote_port $alpn $status $request",
             "--backend-read-timeout=1h", "--frontend-http2-read-timeout=1h", *flags, self.key, self.cert],
            stdout=subprocess.DEVNULL, stderr=self.file("nghttpx"))
        self.children.append(child)
        self.until("nghttpx listens", self.answers)
        return self.take_pid(before)

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def hand_over(self, old):
        """A successor takes the listening socket; the old one says GOAWAY and ends when its last request is over."""
        os.kill(old, signal.SIGUSR2)
        new = self.take_pid(before=old)
        os.kill(old, signal.SIGQUIT)
        return new

    def die(self, pid):
        """With all connections, its worker's too."""
        workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
        for one in [pid, *map(int, workers.stdout.split())]:
            os.kill(one, signal.SIGKILL)
        for child in self.children:
            if child.pid == pid:
                child.wait(LIMIT_S)

    def watches(self):
        """(port, alpn, path) of every watch that is over."""
        with open(os.path.join(self.folder, "access"), encoding="utf-8") as f:
            lines = [line.split(" ") for line in f if "watch=true" in line]
        return [(port, alpn, path) for port, alpn, _, _, path, *_ in lines]

    # --- what is looked at ---
    def lists(self):
        """LISTs by trimtab: tests ask for single objects only."""
        return {k: n for k, n in self.calls()["kubernetes"].items() if k.split(".")[0] in KINDS and k.endswith(".list")}

    def opened(self, kind):
        return self.calls()["kubernetes"].get(kind + ".watch", 0)

    def end_watches(self):
        """As a server does with each of them every five to ten minutes; until they are open again."""
        before = {kind: self.opened(kind) for kind in KINDS}
        self.fault(do="watch-cut")
        for kind in KINDS:
            self.until(f"{kind} are watched again", lambda k=kind: self.opened(k) > before[k])

    def check_resumed(self, streamed=len(KINDS)):
        """Every kind came as one streaming list at the start, and was resumed from a version ever after."""
        streams = [path for _, _, path in self.watches() if "sendInitialEvents=true" in path]
        assert len(streams) == streamed, streams
        assert not self.lists(), self.lists()


def test_watches__one_connection(world):
    world.listen()
    world.start(*L4)
    world.create("first")
    world.until_address("first")
    world.end_watches()
    seen = world.watches()
    assert len(seen) >= len(KINDS), seen
    assert {alpn for _, alpn, _ in seen} == {"h2"}, seen
    assert len({port for port, _, _ in seen}) == 1, seen
    world.check_resumed()


def test_goaway__streams_finish_and_new_ones_go_elsewhere(world):
    old = world.listen()
    world.start(*L4)
    world.create("first")
    world.until_address("first")
    new = world.hand_over(old)
    # Its streams go on: what changes now comes over the connection that is being given up.
    world.create("second")
    world.until_address("second")
    assert is_process(old), "the old one ended before its streams"
    assert not world.watches(), world.watches()
    world.end_watches()
    world.until("the old one has ended", lambda: not is_process(old))
    world.create("third")
    world.until_address("third")
    world.end_watches()
    assert is_process(new)
    assert len({port for port, _, _ in world.watches()}) == 2, world.watches()
    world.check_resumed()


def test_goaway__after_so_many_streams(world):
    """A proxy that lets a connection carry four streams: every hand-over is resumed."""
    world.listen("--frontend-max-requests=4")
    world.start(*L4)
    for i in range(6):
        world.create(f"s{i}")
        world.until_address(f"s{i}")
        world.end_watches()
    assert len({port for port, _, _ in world.watches()}) >= 3, world.watches()
    world.check_resumed()


def test_killed_and_back__nothing_is_lost(world):
    first = world.listen()
    world.start(*L4)
    world.create("first")
    world.until_address("first")
    world.die(first)
    world.create("second")                             # while nobody can see it
    world.delete("first")
    world.until("trimtab has noticed", lambda: world.logged("cannot be reached"))
    world.listen()
    world.until_address("second")
    world.until_gone("first")
    world.end_watches()
    world.check_resumed(streamed=0)                    # what was killed has logged nothing


def main():
    if shutil.which("nghttpx") is None or shutil.which("openssl") is None:
        return tap.skip("nghttpx is not installed (Debian: apt-get install nghttp2-proxy)")
    programs = sys.argv[1:3]
    report = tap.Report()
    for name, test in tap.tests_of(globals(), sys.argv[3:]):
        def run(test=test):
            with Proxied(programs) as world:
                test(world)
        try:
            run()
            report.check(name)
        except Exception:  # pylint: disable=broad-except
            report.check(name, traceback.format_exc())
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
