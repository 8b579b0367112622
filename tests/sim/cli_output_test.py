#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An answer that cannot be written is an error, for every command of every program.

    cli_output_test.py TRIMTAB_SIM TRIMTAB TRIMTAB_EVAL DATA [TEST…]     (TAP on stdout)

The full disk is /dev/full.  A pipe whose reader has gone is quiet and ends the program by SIGPIPE, as it ends every other
program of a pipeline.  The commands are those that --help lists, so that a new one is tested without a line here.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, TRIMTAB, EVAL = (os.path.abspath(p) for p in sys.argv[1:4])
DATA = sys.argv[4]
WORLD = os.path.join(DATA, "gce", "world-legacy.json")
STATE = ["--cloud-provider=gce", "--cluster-name=c1", f"--state={WORLD}"]
FULL = "error: cannot write the output: No space left on device\n"
BAD_EVAL = b'{"id": 1, "fn": "no.such", "in": {}}\n' * 3


def without_services(folder):
    """WORLD, all of whose load balancers are orphans."""
    with open(WORLD, encoding="utf-8") as f:
        world = json.load(f)
    world["kubernetes"]["services"] = []
    path = os.path.join(folder, "orphaned.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(world, f)
    return path


def first_service():
    with open(WORLD, encoding="utf-8") as f:
        found = json.load(f)["kubernetes"]["services"][0]["metadata"]
    return f"{found['namespace']}/{found['name']}"


def answers(folder):
    """Command lines that print an answer; their exit code is 0 or 2."""
    text = subprocess.run([TRIMTAB, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z-]+) +\w", text.split("\nCommands:\n")[1].split("\n\n")[0], re.M)
    assert {"plan", "rbac", "version", "status"} <= set(commands), commands
    orphaned = [a if not a.startswith("--state=") else f"--state={without_services(folder)}" for a in STATE]
    lines = [[TRIMTAB, "--help"], [TRIMTAB, "-h"], [TRIMTAB, "help"], [TRIMTAB, "--version"], [SIM, "--help"],
             [SIM, "--version"], *([TRIMTAB, c, "--help"] for c in commands), *([TRIMTAB, c, "-h"] for c in commands),
             *([TRIMTAB, "help", c] for c in commands)]
    for output in ([], ["-o", "json"]):
        lines += [[TRIMTAB, *command, *output] for command in (
            ["version"], ["rbac", "--cloud-provider=gce"], ["check-config", "--cloud-provider=gce"], ["plan", *STATE],
            ["orphans", *orphaned], ["explain", first_service(), *STATE], ["trace", first_service(), *STATE])]
    return lines + [[TRIMTAB, "completion", shell] for shell in ("bash", "zsh", "fish")]


def run(argv, stdout, ignore_pipe=False, stdin=b""):
    def prepare():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignore_pipe else signal.SIG_DFL)
    return subprocess.run(argv, stdout=stdout, stderr=subprocess.PIPE, input=stdin, check=False, timeout=120,
                          restore_signals=False, preexec_fn=prepare)


def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_the_answers__are_answers():
    with tempfile.TemporaryDirectory() as folder:
        for argv in answers(folder):
            r = run(argv, subprocess.PIPE)
            assert r.returncode in (0, 2) and r.stdout and r.stderr == b"", (argv, r)


def test_a_full_disk__is_told_and_exit_1():
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "wb") as full:
        for argv in answers(folder):
            r = run(argv, full)
            assert (r.returncode, r.stderr.decode()) == (1, FULL), (argv, r)
        r = run([EVAL], full, stdin=BAD_EVAL)
        assert (r.returncode, r.stderr.decode()) == (1, FULL), r
        r = run([SIM, "--port=0"], full)        # nobody would learn where it listens
        assert (r.returncode, r.stderr.decode()) == (1, FULL), r


def test_a_reader_that_left__is_quiet_and_the_signal_ends_it():
    with tempfile.TemporaryDirectory() as folder:
        for argv in answers(folder):
            for ignored in (False, True):
                pipe = closed_pipe()
                r = run(argv, pipe, ignored)
                os.close(pipe)
                assert (r.returncode, r.stderr) == (-signal.SIGPIPE, b""), (argv, ignored, r)
        pipe = closed_pipe()
        r = run([EVAL], pipe, True, stdin=BAD_EVAL)
        assert (r.returncode, r.stderr) == (1, b""), r
        r = run([SIM, "--port=0"], pipe)
        assert (r.returncode, r.stderr) == (1, b""), r
        os.close(pipe)
        shell = f"set -o pipefail; '{TRIMTAB}' completion bash | head -1; echo $?"
        r = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
        assert r.stdout.splitlines()[1] in ("0", "141") and r.stderr == "", r   # 0: it was done before head was


def test_an_error__stays_the_error_that_it_was():
    with open("/dev/full", "wb") as full:
        r = run([TRIMTAB, "plna"], full)
        assert r.returncode == 1 and r.stderr.startswith(b'error: unknown command "plna"') and b"output" not in r.stderr, r
    r = run(["sh", "-c", f"exec '{TRIMTAB}' plna >&-"], None)
    assert r.returncode == 1 and r.stderr.startswith(b'error: unknown command "plna"') and b"output" not in r.stderr, r
    r = run(["sh", "-c", f"exec '{TRIMTAB}' version >&-"], None)
    assert (r.returncode, r.stderr) == (1, b"error: cannot write the output: Bad file descriptor\n"), r


def test_orphans__nothing_is_deleted_when_the_list_is_lost():
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "wb") as full:
        conf = os.path.join(folder, "conf")
        with subprocess.Popen([SIM, "--port=0", f"--world={without_services(folder)}", f"--write-cloud-config={conf}",
                               f"--write-kubeconfig={folder}/kc"], stdout=subprocess.PIPE, text=True) as sim:
            url = sim.stdout.readline().split()[-1]
            with open(f"{conf}/env-gce", encoding="utf-8") as f:
                env = {**os.environ, **dict(line.strip().split("=", 1) for line in f)}
            argv = [TRIMTAB, "orphans", "--cloud-provider=gce", "--cluster-name=c1", f"--cloud-config={conf}/gce.conf",
                    f"--kubeconfig={folder}/kc", "--delete", "--yes"]

            def cloud():
                with urllib.request.urlopen(url + "/sim/state") as answer:
                    return json.load(answer)["gce"]
            before = cloud()
            r = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120, env=env)
            assert r.returncode == 1 and r.stderr == "error: the list cannot be shown, so nothing has been deleted\n" + FULL, r
            assert cloud() == before
            r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
                               env=env)
            assert r.returncode in (0, 2) and cloud() != before, r
            sim.terminate()


def test_files_that_the_simulator_writes__are_checked():
    for flag in ("--traffic-log", "--kube-log"):
        with subprocess.Popen([SIM, "--port=0", f"{flag}=/dev/full"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as sim:
            url = sim.stdout.readline().split()[-1]
            path = "/compute/v1/projects/p/zones" if flag == "--traffic-log" else "/api/v1/services"
            try:
                urllib.request.urlopen(url + path).close()
            except urllib.error.HTTPError:
                pass        # a refused call is logged, too
            sim.terminate()
            out, trouble = sim.communicate(timeout=180)
            assert sim.returncode == 1 and trouble == "error: cannot write /dev/full: No space left on device\n", (out, trouble)
    with tempfile.TemporaryDirectory() as folder:
        for flag in ("--write-kubeconfig", "--state"):
            path = os.path.join(folder, "absent", "file")
            with subprocess.Popen([SIM, "--port=0", f"{flag}={path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as sim:
                if flag == "--state":
                    assert sim.stdout.readline().startswith("listening")
                    sim.terminate()
                out, trouble = sim.communicate(timeout=180)
                assert sim.returncode == 1 and trouble.startswith(f"error: create {path}: "), (flag, out, trouble)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[5:])))
