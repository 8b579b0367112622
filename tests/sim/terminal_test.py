#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every text of trimtab on terminals of several widths, and on one that shows bytes and nothing else.

    terminal_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

Commands run with their stdout on a pseudo-terminal whose width the test sets.
"""
import fcntl
import json
import os
import pty
import re
import ssl
import struct
import subprocess
import sys
import termios
import unicodedata
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
TRIMTAB = os.path.abspath(sys.argv[2])
COMMANDS = ("plan", "explain", "check-config", "orphans", "status", "rbac", "version", "completion")
# A line that is one word behind the sign of an operation or of a field, or a flag with the type of its value.
NAMES_ONLY = re.compile(r"^([-+~=!→ ]*\S*| +(-\w, )?--\S+ \w+)$")


def screen(columns, words, env, cwd, errors_too=False):
    """Exit status and what a terminal of that many columns gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([TRIMTAB, *words], stdout=theirs, stderr=theirs if errors_too else subprocess.PIPE, env=env,
                          cwd=cwd) as program:
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not piece:
                break
            out += piece
        os.close(ours)
        errors = b"" if errors_too else program.stderr.read()
        return program.wait(), out.decode().replace("\r\n", "\n"), errors.decode()


def too_wide(text, columns):
    return [line for line in text.splitlines() if len(line) > columns and not NAMES_ONLY.match(line)]


class Desk(World):
    """A cluster and a cloud in which every command has something to say; the process that `status` asks runs."""

    def __enter__(self):
        super().__enter__()
        self.port = free_port()
        with open(os.path.join(self.folder, "slip.conf"), "w", encoding="utf-8") as f:
            f.write("[global]\nnode-tag = t\nregionl = maybe\n")
        self.start()
        self.create("web")
        self.create("left")
        for name in ("web", "left"):
            self.until_made(name)
        self.stop()
        self.patch("left", {"metadata": {"finalizers": None}})
        self.delete("left")
        self.must("PATCH", "/api/v1/nodes/node-1", {"metadata": {"labels": {
            "node.kubernetes.io/exclude-from-external-load-balancers": ""}}},
                  content_type="application/merge-patch+json")
        self.create("bad", {"annotations": {"cloud.google.com/network-tier": "Gold"}})
        self.start(f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                   "--authorization-always-allow-paths=/healthz,/status")
        self.until("it is refused", lambda: self.logged('"Error syncing service"', "default/bad"))
        self.create("lan", {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}})
        self.until_address("lan")
        self.until("all is quiet", lambda: self.logged('"Synced"', "default/web") and self.logged('"Synced"', "default/lan"))
        return self

    def commands(self):
        """{name: words} of everything that prints text."""
        gce = ["--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf", f"--kubeconfig={self.kubeconfig}"]
        status = [f"--server=https://127.0.0.1:{self.port}", "--insecure-skip-tls-verify", f"--kubeconfig={self.kubeconfig}"]
        found = {
            "plan": ["plan", *gce, "-v"],
            "plan of a new Service": ["plan", *gce, "-f", self.manifest()],
            "explain": ["explain", "web", "bad", *gce],
            "explain NEGs": ["explain", "lan", *gce, "--run-l4-controller", "--enable-l4-neg"],
            "orphans": ["orphans", *gce],
            "check-config": ["check-config", "--cloud-provider=gce", "--cloud-config=slip.conf"],
            "status": ["status", *status],
            "status of one": ["status", "default/bad", *status],
            "plan --help with a provider": ["plan", "--cloud-provider=gce", "--help"],
            "--help": ["--help"],
        }
        return found | {f"{command} --help": [command, "--help"] for command in COMMANDS}

    @staticmethod
    def exit_status(name):
        """One Service is refused and waits for an edit; there is a new one, and what another left."""
        return {"plan": 1, "plan of a new Service": 2, "orphans": 2, "status": 2, "status of one": 2}.get(name, 0)

    def manifest(self):
        path = os.path.join(self.folder, "new.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new", "namespace": "default"},
                       "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}, f)
        return path

    def screen(self, columns, name, errors_too=False, **env):
        code, text, errors = screen(columns, self.commands()[name], {**self.environment(), **env}, self.folder, errors_too)
        assert code == self.exit_status(name) and text.strip(), (name, columns, code, text, errors)
        return text


def test_every_width__nothing_but_a_name_is_wider():
    with Desk(PROGRAMS, "--nodes=4") as w:
        for name in w.commands():
            for columns in (60, 100, 160):
                text = w.screen(columns, name, TERM="xterm", NO_COLOR="1")
                assert "\x1b" not in text and "\r" not in text, (name, columns, text)
                assert not too_wide(text, columns), (name, columns, too_wide(text, columns), text)


def test_dumb_terminals__no_colour_and_no_moves():
    """Progress is a move; the API server is slow enough for it."""
    with Desk(PROGRAMS, "--nodes=2") as w:
        for env in ({"TERM": "dumb"}, {}):
            w.fault(match={"api": "kubernetes", "op": "services.list"}, do="delay", ms=2500, count=1)
            for name in ("plan", "orphans", "explain", "status", "--help"):
                text = w.screen(60, name, errors_too=True, **env)
                assert "\x1b" not in text and "\r" not in text, (name, env, text)
                assert not too_wide(text, 60), (name, env, text)
        assert "\x1b[" in w.screen(60, "plan of a new Service", TERM="xterm")


def test_progress__of_manifests_too():
    with Desk(PROGRAMS, "--nodes=2") as w:
        w.fault(match={"api": "kubernetes", "op": "services.get"}, do="delay", ms=2500, count=1)
        text = w.screen(60, "plan of a new Service", errors_too=True, TERM="xterm")
        assert "\r\x1b[Kreading the Services of the manifests, " in text, text


def test_width__moves_words_to_other_lines_and_does_nothing_else():
    with Desk(PROGRAMS, "--nodes=4") as w:
        for name in ("plan", "plan of a new Service", "explain", "explain NEGs", "check-config", "--help", "plan --help"):
            narrow, wide = (w.screen(columns, name, TERM="dumb") for columns in (60, 160))
            assert narrow.replace(" \\\n", "\n").split() == wide.split(), (name, narrow, wide)
            assert len(narrow.splitlines()) > len(wide.splitlines()), (name, narrow, wide)


def test_columns_in_the_environment__count_on_a_terminal_only():
    with Desk(PROGRAMS, "--nodes=4") as w:
        name = "plan of a new Service"
        narrow, wide = (w.screen(columns, name, TERM="dumb") for columns in (60, 160))
        assert w.screen(160, name, TERM="dumb", COLUMNS="60") == narrow != wide
        assert not too_wide(w.screen(12, name, TERM="dumb"), 40)
        for columns in ("60", "x"):
            piped = subprocess.run([TRIMTAB, *w.commands()[name]], env={**w.environment(), "COLUMNS": columns}, check=False,
                                   cwd=w.folder, capture_output=True, text=True, timeout=180).stdout
            assert piped == w.screen(100, name, TERM="dumb"), piped


# Possible texts of an annotation, a manifest or a server: ESC, a line feed, CSI, right to left, a line separator, zero width.
FOREIGN = "a\x1b[31m\nb\u009b\u202e\u2028\u200bz"


def unseen(text):
    """Characters that show nothing, line feeds and blanks aside."""
    return [c for c in text if c not in "\n " and unicodedata.category(c)[0] in "CZ"]


def once(text):
    """A message with an escape, quoted by a log line or by JSON, has two backslashes."""
    return text.replace("\\\\", "\\")


def test_foreign_text__no_output_has_a_character_that_does_not_show():
    with Desk(PROGRAMS, "--nodes=2") as w:
        w.fault(match={"api": "gce", "method": "POST", "path": "*/forwardingRules"}, do="refuse", status=400, count=0,
                body=json.dumps({"error": {"code": 400, "message": FOREIGN, "errors": [{"reason": FOREIGN, "message": FOREIGN}]}}))
        w.create("odd", {"annotations": {"networking.gke.io/load-balancer-type": FOREIGN,
                                         "cloud.google.com/network-tier": FOREIGN}})
        w.create("sad")
        shown = "b\\u009b\\u202e\\u2028"
        messages = [w.until_event(name, "SyncLoadBalancerFailed")[0][2] for name in ("odd", "sad")]
        assert not unseen("".join(messages)) and "\n" not in "".join(messages), messages
        assert all(shown in message for message in messages), messages
        bad = os.path.join(w.folder, "bad.json")
        with open(bad, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new", FOREIGN: 1},
                       "spec": {"type": FOREIGN, "ports": [{"port": 80, "name": FOREIGN}]}}, f)
        commands = w.commands()
        status = commands["status"][1:]
        for words, where in ((["plan", *commands["plan"][1:]], "out"), (["plan", "-f", bad, *commands["plan"][1:]], "err"),
                             (["plan", "-f", bad, "--validate=warn", *commands["plan"][1:]], "err"),
                             (["explain", "odd", *commands["plan"][1:-1]], "out"), (["status", *status], "out"),
                             (["status", "default/sad", *status], "out"), (["status", "default/odd", *status], "out"),
                             (["status", "-o", "json", *status], "out")):
            r = subprocess.run([TRIMTAB, *words], env=w.environment(), cwd=w.folder, check=False, capture_output=True, text=True,
                               timeout=180)
            assert not unseen(r.stdout + r.stderr), (words, r)
            assert shown in once(r.stdout if where == "out" else r.stderr), (words, r)
            _, text, _ = screen(100, words, {**w.environment(), "TERM": "dumb"}, w.folder, errors_too=True)
            assert not unseen(text), (words, text)
        for query in ("", "?service=default/sad", "?service=default/odd", "?o=json"):
            with urllib.request.urlopen(f"https://127.0.0.1:{w.port}/status{query}", timeout=180,
                                        context=ssl._create_unverified_context()) as answer:  # pylint: disable=protected-access
                page = answer.read().decode()
            assert not unseen(page) and shown in once(page), (query, page)
        assert not unseen(w.log()) and shown in once(w.log())


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
