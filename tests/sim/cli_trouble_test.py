#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command that answers once meets trouble: one sentence, at once, with what to do.

    cli_trouble_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

"At once" is counted, not timed: lines on stderr, connections and requests that a server saw.  Where the trouble may pass,
--timeout ends the wait.
"""
import http.server
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CONFIG, World  # noqa: E402  pylint: disable=wrong-import-position
from free_port import free_port  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
KINDS = 2                # Services and Nodes: one request of each
COMMANDS = (["plan"], ["explain", "web"], ["orphans"])


class Server:
    """Counts connections and requests.  `status` is the answer to each request; None: no answer ever."""

    def __init__(self, status=None):
        self.connections, self.requests = 0, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self):
                outer.connections += 1
                super().setup()

            def do_GET(self):  # pylint: disable=invalid-name
                outer.requests.append(self.path)
                if status is None:
                    outer.ends.wait()
                    return
                body = json.dumps({"kind": "Status", "status": "Failure", "code": status, "message": "no, says the test",
                                   "reason": {401: "Unauthorized", 403: "Forbidden"}.get(status, "InternalError")}).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args):  # pylint: disable=arguments-differ
                pass
        self.ends = threading.Event()
        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.server.shutdown()
        self.server.server_close()


class Cluster(World):
    def __init__(self, *flags, **kwargs):
        super().__init__(PROGRAMS, "--nodes=1", *flags, **kwargs)
        with open(self.kubeconfig, encoding="utf-8") as f:
            self.text = f.read()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return name

    def kubeconfig_for(self, server=None, user="token: sim-admin"):
        text = re.sub(r"server: \S+", f"server: {server}", self.text) if server else self.text
        return self.write("kc", text.replace("token: sim-admin", user))

    def argv(self, *command, kubeconfig="kc"):
        if command[0] == "status":
            return [os.path.abspath(PROGRAMS[1]), *command, f"--kubeconfig={kubeconfig}"]
        return [os.path.abspath(PROGRAMS[1]), *command, "--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf",
                f"--kubeconfig={kubeconfig}"]

    def run(self, *command, kubeconfig="kc"):
        env = {k: v for k, v in self.environment().items() if k != "SSL_CERT_FILE"}     # trusts the simulator's CA
        return subprocess.run(self.argv(*command, kubeconfig=kubeconfig), capture_output=True, text=True, check=False,
                              timeout=120, env=env, cwd=self.folder)


def one_sentence(r, *words):
    """Exit 1, an empty stdout, one line on stderr that has all the words."""
    assert r.returncode == 1 and r.stdout == "", r
    lines = r.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), r.stderr
    for word in words:
        assert word in lines[0], (word, r.stderr)


def plugin(command, *args):
    return ("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
            f"command: {command}, args: {json.dumps(list(args))}}}")


def test_cluster__refused_and_unknown_host():
    with Cluster() as w:
        url = f"http://127.0.0.1:{free_port()}"
        w.kubeconfig_for(url)
        for command in COMMANDS:
            one_sentence(w.run(*command), f"cannot reach the API server {url}: connection refused; check the server address in kc, "
                         'context "sim"')
        w.kubeconfig_for("http://no-such-host.invalid:1")
        for command in COMMANDS:
            one_sentence(w.run(*command), "cannot resolve the name of http://no-such-host.invalid:1",
                         'check the server address in kc, context "sim"')


def test_cloud__refused__one_sentence_of_every_provider():
    built = json.loads(subprocess.run([PROGRAMS[1], "version", "-o", "json"], capture_output=True, check=True).stdout)["providers"]
    for cloud, config in CONFIG.items():
        if cloud not in built:
            continue
        with Cluster(cloud=cloud) as w:
            w.create("web")
            w.kubeconfig_for(None)
            path, port = f"{w.conf}/{config}", free_port()
            with open(path, encoding="utf-8") as f:
                text = f.read()
            with open(path, "w", encoding="utf-8") as f:
                f.write(re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", text))
            for command in (["explain", "web"], ["orphans"]):
                argv = [a if not a.startswith(("--cloud-provider", "--cloud-config")) else
                        {"--cloud-p": f"--cloud-provider={cloud}", "--cloud-c": f"--cloud-config={path}"}[a[:9]]
                        for a in w.argv(*command)]
                r = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, env=w.environment(),
                                   cwd=w.folder)
                one_sentence(r, f"cannot reach http://127.0.0.1:{port}: connection refused")


def test_cluster__401_and_403__asked_once_per_kind():
    for status, words in ((401, ['check the token or client-certificate of user "admin" in kc']), (403, ["failed to list"])):
        for command in COMMANDS:
            with Cluster() as w, Server(status) as s:
                w.kubeconfig_for(s.url)
                one_sentence(w.run(*command), "no, says the test", *words)
                assert 1 <= len(s.requests) <= KINDS and len(set(s.requests)) == len(s.requests), s.requests
                assert 1 <= s.connections <= KINDS, s.connections


def test_cluster__credential_plugin__nothing_is_asked_without_it():
    for user, words in ((plugin("/nowhere/plugin"), "executable /nowhere/plugin not found"),
                        (plugin("/bin/sh", "-c", "echo please log in >&2; exit 3"),
                         "executable /bin/sh failed with exit code 3: please log in; look at"),
                        (plugin("/bin/sh", "-c", "echo Bearer secret >&2; exit 3"),
                         "executable /bin/sh failed with exit code 3; look at")):
        for command in COMMANDS:
            with Cluster() as w, Server(200) as s:
                # Credentials go over TLS only; this server would see the connection.
                w.kubeconfig_for(s.url.replace("http:", "https:"), user)
                one_sentence(w.run(*command), words, 'look at user "admin"', "kc")
                assert s.connections == 0, s.connections


def test_cluster__certificates_and_files():
    with Cluster("--tls") as w, Cluster("--tls") as other:
        w.write("wrong.crt", open(f"{other.conf}/ca.crt", encoding="utf-8").read())
        w.write("kc", re.sub(r"certificate-authority: \S+", "certificate-authority: wrong.crt", w.text))
        for command in COMMANDS:
            one_sentence(w.run(*command), "certificate of https://127.0.0.1", "check certificate-authority", "wrong.crt",
                         'of cluster "sim" in kc, context "sim"')
        w.write("kc", re.sub(r"certificate-authority: \S+", "certificate-authority: absent.crt", w.text))
        for command in COMMANDS:
            one_sentence(w.run(*command), "absent.crt", "no such file")
        w.write("kc", w.text.replace("token: sim-admin", "tokenFile: absent"))
        for command in COMMANDS:
            one_sentence(w.run(*command), "unable to read tokenFile absent for admin", "look into kc")
        for command in COMMANDS:
            one_sentence(w.run(*command, kubeconfig="absent"), "absent", "no such file")


def test_timeout__says_what_it_waited_for():
    with Cluster() as w, Server() as s:
        w.kubeconfig_for(s.url)
        for command in COMMANDS:
            one_sentence(w.run(*command, "--timeout=1s"), "timed out after 1s (--timeout) while reading the cluster")
        w.kubeconfig_for(None)
        w.create("web")
        w.fault(match={"api": "gce"}, do="hang", count=0)
        r = w.run("plan", "--timeout=2s")
        assert r.returncode == 1 and len(r.stderr.splitlines()) == 1, r
        assert r.stderr.startswith("error: timed out after 2s (--timeout) while "), r
        r = w.run("orphans", "--timeout=2s")
        one_sentence(r, "timed out after 2s (--timeout) while ")
        for bad in ("1", "-1s", "0s", "soon"):
            for command in (*COMMANDS, ["status"]):
                r = w.run(*command, f"--timeout={bad}")
                assert r.returncode == 1 and f'error: invalid argument "{bad}" for "--timeout"' in r.stderr, r


def test_timeout__begins_after_standard_input():
    """A pipe that ends later than the deadline would be: the answer of the server is told, not a timeout.  A busy machine
    may need longer for the answer: then it is given more."""
    with Cluster() as w, Server(403) as s:
        w.kubeconfig_for(s.url)
        env = {k: v for k, v in w.environment().items() if k != "SSL_CERT_FILE"}
        for seconds in (3, 30):
            with subprocess.Popen(w.argv("plan", f"--timeout={seconds}s", "-f", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=env, cwd=w.folder) as p:
                try:
                    p.wait(timeout=seconds + 0.5)      # reads its standard input meanwhile
                    raise AssertionError(p.communicate())
                except subprocess.TimeoutExpired:
                    pass
                out, errors = p.communicate("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n", timeout=120)
            if "timed out" not in errors:
                break
        assert p.returncode == 1 and out == "" and "timed out" not in errors and "no, says the test" in errors, errors


def test_log_lines__only_when_asked_for():
    with Cluster() as w, Server(403) as s:
        w.kubeconfig_for(s.url)
        assert len(w.run("plan").stderr.splitlines()) == 1
        lines = w.run("plan", "--v=4").stderr.splitlines()
        assert len(lines) > 1 and any(re.match(r"[IWE]\d{4} ", line) for line in lines), lines
        assert lines[-1].startswith("error: "), lines


def test_progress__only_on_a_terminal():
    with Cluster() as w, Server() as s:
        w.kubeconfig_for(s.url)
        for command, words in ((["plan"], rb"reading the cluster, [0-9]+ s"),
                               (["status", f"--server={s.url}"], rb"asking http://127\.0\.0\.1:[0-9]+, [0-9]+ s")):
            argv = w.argv(*command, "--timeout=100s")
            pid, fd = pty.fork()
            if pid == 0:
                os.chdir(w.folder)
                os.execve(argv[0], argv, {**w.environment(), "TERM": "xterm"})
            seen = b""
            while not re.search(words, seen):       # it waits for the server until then
                seen += os.read(fd, 4096)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(fd)
        assert w.run("plan", "--timeout=3s").stderr.count("reading the cluster") == 1


def test_status__the_same_for_the_process_that_is_asked():
    with Cluster() as w:
        w.kubeconfig_for(None)
        url = f"https://127.0.0.1:{free_port()}"
        one_sentence(w.run("status", f"--server={url}"), f"cannot reach {url}: connection refused; is trimtab running there")
        one_sentence(w.run("status", "--server=https://no-such-host.invalid"), "cannot resolve the name of https://no-such-host.invalid")
        for seconds in (1, 20):         # in which the request must have come to the server
            with Server() as s:
                one_sentence(w.run("status", f"--server={s.url}", f"--timeout={seconds}s"),
                             f"timed out after {seconds}s (--timeout) while asking {s.url}")
            if s.requests:
                break
        assert s.connections == 1 and len(s.requests) == 1, (s.connections, s.requests)
        for status in (401, 403):
            with Server(status) as s:
                one_sentence(w.run("status", f"--server={s.url}"), f"{s.url}/status: no, says the test",
                             "needs the right to get the nonResourceURL /status")
                assert s.connections == 1 and len(s.requests) == 1, (s.connections, s.requests)
        w.kubeconfig_for(None, plugin("/nowhere/plugin"))
        with Server(200) as s:
            one_sentence(w.run("status", "--server=" + s.url.replace("http:", "https:")),
                         "executable /nowhere/plugin not found", 'look at user "admin"')
            assert s.connections == 0, s.connections
    with Cluster("--tls") as w:
        w.kubeconfig_for(None)
        one_sentence(w.run("status", f"--server={w.url}"), "certificate of ", "--certificate-authority")
        one_sentence(w.run("status", f"--server={w.url}", "--certificate-authority=absent.crt"), "absent.crt")
        one_sentence(w.run("status", "--server=https://127.0.0.1:1", kubeconfig="absent"), "absent")


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
