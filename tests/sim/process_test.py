#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the process asks of the system: files that it reads, core dumps, and what it tells the service manager.

    process_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile

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


def limits(pid):
    with open(f"/proc/{pid}/limits", encoding="ascii") as f:
        return re.search(r"(?m)^Max core file size +(\S+) +(\S+)", f.read()).groups()


def test_core__is_never_written_whatever_the_limit_was():
    allowed = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (allowed[1], allowed[1]))
    try:
        with World((SIM, TRIMTAB), "--nodes=1") as w:
            w.start()
            assert limits(w.trimtab.pid) == ("0", "0"), limits(w.trimtab.pid)
            w.trimtab.send_signal(signal.SIGQUIT)  # whose default is a core
            ended = os.waitid(os.P_PID, w.trimtab.pid, os.WEXITED | os.WNOWAIT)
            assert (ended.si_code, ended.si_status) == (os.CLD_KILLED, signal.SIGQUIT), ended  # not CLD_DUMPED
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, allowed)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
