#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process and the system: files that it reads, core dumps, and its messages to the service manager.

    process_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import fcntl
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import LIMIT_S, World  # noqa: E402  pylint: disable=wrong-import-position

SIM, TRIMTAB = (os.path.abspath(path) for path in sys.argv[1:3])
WITHOUT_REQUESTS = (["version"], ["version", "-o", "json"], ["--version"], ["--help"], ["help", "plan"], ["plan", "--help"],
                    ["--cloud-provider=gce", "--help"], ["completion", "bash"], ["rbac", "--cloud-provider=gce"],
                    ["check-config", "--cloud-provider=gce", "--cloud-config=gce.conf"])


def test_commands_without_requests__read_no_configuration_of_libraries():
    """Reading one of these files would block for ever: they are pipes that have no writer."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ldaprc", "ldap.conf", "openssl.cnf", "krb5.conf"):
            os.mkfifo(os.path.join(folder, name))
        with open(os.path.join(folder, "gce.conf"), "w", encoding="utf-8") as f:
            f.write("[global]\nproject-id = p1\n")
        env = {**os.environ, "HOME": folder, "LDAPCONF": os.path.join(folder, "ldap.conf"),
               "OPENSSL_CONF": os.path.join(folder, "openssl.cnf"), "KRB5_CONFIG": os.path.join(folder, "krb5.conf")}
        for command in WITHOUT_REQUESTS:
            try:
                done = subprocess.run([TRIMTAB, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S,
                                      check=False)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"trimtab {' '.join(command)} reads the configuration of a library") from None
            assert done.returncode == 0, (command, done.stderr)


class Managed(World):
    """trimtab with a service manager that allows it two seconds between two signs of life."""

    def __init__(self, *programs):
        super().__init__(*programs)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(os.path.join(self.folder, "notify"))
        self.manager.settimeout(LIMIT_S)

    def environment(self):
        return {**super().environment(), "NOTIFY_SOCKET": os.path.join(self.folder, "notify"), "WATCHDOG_USEC": "2000000"}

    def told(self):
        return self.manager.recv(4096).decode()

    def __exit__(self, *args):
        super().__exit__(*args)
        self.manager.close()


def test_service_manager__hears_ready_then_signs_of_life_then_stopping():
    with Managed((SIM, TRIMTAB), "--nodes=1") as w:
        w.start()
        assert w.told() == "READY=1"
        assert [w.told() for _ in range(3)] == ["WATCHDOG=1"] * 3
        w.stop()
        rest = [w.told()]
        while rest[-1] == "WATCHDOG=1":
            rest.append(w.told())
        assert rest[-1] == "STOPPING=1", rest


class Unread(World):
    """trimtab whose log goes into a pipe that nobody reads."""

    def __enter__(self):
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, 4096)
        return self

    def flags(self):
        return [f for f in super().flags() if f != "--leader-elect=false"]

    def launch(self):
        self.trimtab = subprocess.Popen([self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}", "-v=9"],
                                        stderr=self.writer, env=self.environment())
        os.close(self.writer)

    def is_full(self):
        return int.from_bytes(fcntl.ioctl(self.reader, termios.FIONREAD, b"\0" * 4), sys.byteorder) > 3500

    def lease(self):
        return self.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager")[1]

    def rest(self):
        """The content of the pipe when the process has ended."""
        with os.fdopen(self.reader, "rb") as f:
            return f.read().decode()

    def read_into(self, lines):
        """Appends each line until the process has ended."""
        with os.fdopen(self.reader, encoding="utf-8", errors="replace") as f:
            lines.extend(f)


def test_log_that_nobody_reads__stops_neither_work_nor_end():
    with Unread((SIM, TRIMTAB), "--nodes=1") as w:
        w.launch()
        w.until("the pipe is full", w.is_full)
        w.create("web")
        w.until_address("web")
        renewed = w.lease()["spec"]["renewTime"]
        w.until("the lease is renewed", lambda: w.lease()["spec"]["renewTime"] != renewed)
        code, _ = w.stop()
        assert code == 0, code
        assert not w.lease()["spec"].get("holderIdentity")
        assert len(w.rest()) <= 4096


def test_log_that_is_read_late__says_what_was_dropped_or_is_whole():
    with Unread((SIM, TRIMTAB), "--nodes=1") as w:
        w.launch()
        w.until("the pipe is full", w.is_full)
        for name in ("web", "later"):  # one after the other: with the second address the sync of the first is over
            w.create(name)
            w.until_address(name)
        lines = []
        reader = threading.Thread(target=lambda: w.read_into(lines))
        reader.start()
        w.until("the reader has caught up", lambda: any('"Synced"' in line or "lines were dropped" in line for line in lines))
        w.stop()
        reader.join(LIMIT_S)
        assert any("Signal received" in line for line in lines), lines[-5:]


def test_failed_start_whose_log_nobody_reads__ends():
    """The pipe is full from the beginning: the last error must not wait for room in it."""
    for flags in (["--cloud-config=absent.conf"], ["--kubeconfig=absent"]):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b"x" * 4096)
        program = subprocess.Popen([TRIMTAB, "--cloud-provider=gce", "--leader-elect=false", "--secure-port=0", *flags],
                                   stderr=writer, stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
        try:
            assert program.wait(LIMIT_S) == 1, (flags, program.returncode)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
            raise AssertionError(f"trimtab {' '.join(flags)} waits for a reader of its log") from None
        finally:
            os.close(reader)
            os.close(writer)


class Leading(World):
    """trimtab that takes part in the election."""

    def flags(self):
        return [f for f in super().flags() if f != "--leader-elect=false"]

    def holder(self):
        _, lease = self.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager")
        return lease.get("spec", {}).get("holderIdentity")


def test_leader_that_does_not_come_to_work__ends():
    """Its first list of nodes is never answered.  The deadline is the shortest that is allowed; an idle minute is all it costs."""
    with Leading((SIM, TRIMTAB), "--nodes=1") as w:
        for op in ("nodes.list", "nodes.watch"):
            w.fault(match={"api": "kubernetes", "op": op}, count=0, do="hang")
        w.runs += 1
        w.trimtab = subprocess.Popen([w.trimtab_exe, *w.flags(), f"--kubeconfig={w.kubeconfig}", "--progress-deadline=1m"],
                                     stderr=w.file(f"run-{w.runs}"), env=w.environment())
        w.until("it leads", w.holder)
        assert w.trimtab.wait(LIMIT_S) == 1
        assert "no cloud request was answered and no sync has ended for" in w.log(), w.log()


def limits(pid):
    with open(f"/proc/{pid}/limits", encoding="ascii") as f:
        return re.search(r"(?m)^Max core file size +(\S+) +(\S+)", f.read()).groups()


def test_core__is_never_written_whatever_the_limit_was():
    allowed = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (allowed[1], allowed[1]))
    try:
        with World((SIM, TRIMTAB), "--nodes=1") as w:
            signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell's background jobs ignore it, and so would trimtab
            w.start()
            assert limits(w.trimtab.pid) == ("0", "0"), limits(w.trimtab.pid)
            w.trimtab.send_signal(signal.SIGQUIT)  # whose default is a core
            ended = os.waitid(os.P_PID, w.trimtab.pid, os.WEXITED | os.WNOWAIT)
            assert (ended.si_code, ended.si_status) == (os.CLD_KILLED, signal.SIGQUIT), ended  # not CLD_DUMPED
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, allowed)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
