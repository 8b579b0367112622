#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A vendor's plugin from an installed trimtab, and plugins that are wrong.

1  installs the built tree to a scratch prefix and builds examples/provider-pool there, with nothing but its own
   meson.build and pkg-config;
2  runs it under the installed controller against the simulator: addresses appear, survive a restart, are
   given back;
3  loads plugins/broken.c under the name of every way of being wrong: each is a clear error, never a crash.

TAP on stdout.  Waits for events (a watch, a process that ends), never for a fixed time; LIMIT_S only ends a test
that hangs.  usage: run_plugin_test.py BUILD_DIR SOURCE_DIR BROKEN_MODULE NO_SYMBOL_MODULE
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

LIMIT_S = 120
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"
BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(sys.argv[2])
BROKEN, NO_SYMBOL = (os.path.abspath(module) for module in sys.argv[3:5])
SERVICES = "/api/v1/namespaces/default/services"

# The outcome of a module: words of the error with which the controller refuses to start.
REFUSED = {
    "wrong-major": ["ABI", "2"],
    "too-small": ["mandatory members"],
    "size-zero": ["mandatory members"],
    "name-null": ["name"],
    "name-other": ["somebody-else"],
    "name-bad": ["[a-z0-9-]"],
    "version-long": ["version"],
    "no-open": ["open"],
    "no-close": ["close"],
    "no-get": ["get_load_balancer"],
    "no-ensure": ["ensure_load_balancer"],
    "no-update": ["update_load_balancer"],
    "no-delete": ["ensure_load_balancer_deleted"],
    "half-batch": ["reconcile_batch"],
    "options-null": ["options"],
    "option-nameless": ["option"],
    "option-type": ["option"],
    "option-binary": ["option"],
    "option-taken": ["option cloud-config"],
    "metric-blank": ["metric 1", "acme members", "is not [a-zA-Z_:]"],
    "descriptor-null": ["tt_provider_descriptor"],
    "no-symbol": ["tt_provider_descriptor"],
    "absent": ["absent.so"],
    "open-fails": ["the appliance has no licence"],
    "open-silent": ["open"],
    "open-garbage": ["99"],
    "open-long-message": ["open"],
}
# Words of the Warning event that a Service gets.
EVENT = {
    "code-garbage": ["99"],
    "code-negative": ["-1"],
    "code-undeclared": ["code 7"],
    "message-long": ["too long"],
    "message-binary": ["UTF-8"],
    "fail-silent": ["quota"],
    "ingress-none": ["nil"],
    "ingress-empty": ["ingress"],
    "ingress-long": ["ingress"],
    "ingress-mode": ["ipMode"],
    "ingress-many": ["ingress"],
    "ingress-word": ["999.1.1.1", "is not an IP address"],
    "condition-word": ["is ready", "type that is not"],
    "refused-spec": ["no port of that kind"],
    "result-missing": ["did not say"],
}
# The last words of a process that dies in ensure(), and its exit.
CRASH = {"crash-segv": ("SIGSEGV", -signal.SIGSEGV), "crash-stack": ("SIGSEGV", -signal.SIGSEGV),
         "crash-bus": ("SIGBUS", -signal.SIGBUS), "crash-fpe": ("SIGFPE", -signal.SIGFPE),
         "crash-abort": ("SIGABRT", -signal.SIGABRT), "crash-exit": ("exit(3)", 3)}
# Words of what `trimtab explain` says.
EXPLAIN_ERROR = {
    "right": ["cannot explain"],
    "explain-binary": ["UTF-8"],
    "explain-small": ["too small"],
    "explain-many": ["too many names"],
}
# The content of its document, of a plugin that gives rows and of one that gives a text.
EXPLAINED = {
    "explain-rows": {"explanation": ["default/one is served by a plugin.", "  ! look at this"], "verdict": "served",
                     "answer": "is served by a plugin.", "warnings": ["look at this"], "decisions": [], "backends": None},
    "explain-text": {"explanation": ["a text", "of two lines"], "verdict": None, "answer": None, "warnings": [],
                     "decisions": [], "backends": None},
}
# Nothing that a user would notice.
SERVED = ["right", "later", "older", "event-long"]


class Program:
    """A child whose stderr is kept; ends with the test."""

    def __init__(self, argv, first_line=False):
        self.process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.first = self.process.stdout.readline().strip() if first_line else ""

    def _read(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def wait(self):
        """Its exit code; None when it had to be killed."""
        try:
            code = self.process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        self.reader.join(timeout=LIMIT_S)
        return code

    def stop(self):
        self.process.send_signal(signal.SIGTERM)  # does nothing when it has ended
        return self.wait()

    def text(self):
        return "".join(self.errors)


class Cluster:
    """The simulator and its Kubernetes API."""

    def __init__(self, scratch):
        self.kubeconfig = os.path.join(scratch, "kubeconfig")
        self.sim = Program([os.path.join(BUILD, "trimtab-sim"), "--port", "0", "--nodes", "2",
                            "--write-kubeconfig", self.kubeconfig], first_line=True)
        self.url = self.sim.first.removeprefix("listening on ")

    def call(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Content-Type": content_type},
            data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.load(answer)

    def create(self, name, **spec):
        self.call("POST", SERVICES, {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], **spec}})

    def delete(self, name):
        self.call("DELETE", f"{SERVICES}/{name}")

    def until(self, path, wanted):
        """The first object, listed or watched, for which wanted(type, object) is true."""
        listed = self.call("GET", path)
        for item in listed["items"]:
            if wanted("ADDED", item):
                return item
        return self.watch(path, listed, wanted)

    def watch(self, path, listed, wanted):
        """The same of what happens after a list."""
        version = listed["metadata"]["resourceVersion"]
        watch = f"{self.url}{path}?watch=1&resourceVersion={version}&timeoutSeconds={LIMIT_S}"
        with urllib.request.urlopen(watch, timeout=LIMIT_S) as lines:
            for line in lines:
                event = json.loads(line)
                if wanted(event["type"], event["object"]):
                    return event["object"]
        raise TimeoutError(f"{path}: nothing that was waited for in {LIMIT_S} s")

    def address(self, name):
        def has_address(_, s):
            return s["metadata"]["name"] == name and s["status"]["loadBalancer"].get("ingress")
        found = self.until(SERVICES, has_address)
        return found["status"]["loadBalancer"]["ingress"][0]["ip"]

    def gone(self, name):
        listed = self.call("GET", SERVICES)
        if all(s["metadata"]["name"] != name for s in listed["items"]):
            return
        self.watch(SERVICES, listed,
                   lambda kind, s: kind == "DELETED" and s["metadata"]["name"] == name)

    def warning(self, name):
        def is_warning(_, e):
            about = e.get("involvedObject") or e.get("regarding") or {}
            return e.get("type") == "Warning" and about.get("name") == name
        found = self.until("/api/v1/namespaces/default/events", is_warning)
        return found.get("message") or found.get("note") or ""


def run(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def install_and_build(scratch):
    """Installs trimtab to scratch/root and builds the example against it; gives the two paths."""
    root = os.path.join(scratch, "root")
    run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root])
    found = {}
    for folder, _, files in os.walk(root):
        for name in files:
            found[name] = os.path.join(folder, name)
    example = os.path.join(scratch, "provider-pool")
    shutil.copytree(os.path.join(SOURCE, "examples", "provider-pool"), example)
    env = {key: value for key, value in os.environ.items() if not key.startswith("MESON")}
    env |= {"PKG_CONFIG_PATH": os.path.dirname(found["trimtab-provider.pc"]),
            "PKG_CONFIG_SYSROOT_DIR": root, "DESTDIR": ""}
    run(["meson", "setup", os.path.join(example, "build"), example, "--werror"], env=env)
    run(["ninja", "-C", os.path.join(example, "build")], env=env)
    return found["trimtab"], os.path.join(example, "build")


def make_modules(scratch):
    """A folder with a module for each way of being wrong; the module knows its way by the name of its file."""
    folder = os.path.join(scratch, "modules")
    os.mkdir(folder)
    for name in [*REFUSED, *EVENT, *CRASH, "call-hangs", *SERVED, *EXPLAINED, *EXPLAIN_ERROR, "own-affair", "small-batches"]:
        if name != "absent":
            shutil.copyfile(NO_SYMBOL if name == "no-symbol" else BROKEN, os.path.join(folder, name + ".so"))
    return folder


def controller(trimtab, cluster, provider, folder, *more):
    return Program([trimtab, f"--cloud-provider={provider}", f"--provider-plugin-dir={folder}",
                    f"--kubeconfig={cluster.kubeconfig}", "--leader-elect=false",
                    "--secure-port=0", *more])


def test_pool(report, trimtab, folder, cluster):
    """The life of two Services, with a restart of the controller in between."""
    config = "--cloud-config=" + os.path.join(SOURCE, "examples", "provider-pool", "pool.conf")
    program = controller(trimtab, cluster, "pool", folder, config)
    try:
        cluster.create("one")
        one = cluster.address("one")
        report.check("pool: a Service gets the first address",
                     None if one == "192.0.2.1" else f"want 192.0.2.1, got {one}")
        code = program.stop()
        report.check("pool: SIGTERM ends it with 0", None if code == 0 else f"{code}\n{program.text()}")
        program = controller(trimtab, cluster, "pool", folder, config)
        cluster.create("two")
        two = cluster.address("two")
        one_now = cluster.address("one")
        report.check("pool: a restart keeps addresses and gives none twice",
                     None if (one_now, two) == (one, "192.0.2.2") else f"got {one_now} and {two}")
        cluster.create("three", loadBalancerIP="192.0.2.9")
        three = cluster.address("three")
        report.check("pool: an address can be asked for",
                     None if three == "192.0.2.9" else f"want 192.0.2.9, got {three}")
        cluster.create("four", loadBalancerIP="203.0.113.1")
        said = cluster.warning("four")
        report.check("pool: a foreign address is refused with an event",
                     None if "not in the pool: 203.0.113.1" in said else f"event: {said}")
        for name in ("one", "four"):
            cluster.delete(name)
            cluster.gone(name)
        cluster.create("five")
        five = cluster.address("five")
        report.check("pool: what is given back is given out again",
                     None if five == one else f"want {one}, got {five}")
    except Exception as e:  # a test that could not go on is a failed test
        report.check("pool: all steps", f"{e}\n{program.text()}")
    finally:
        program.stop()


def test_pool_config(report, trimtab, folder, cluster, scratch):
    """The failure of a wrong configuration, and the provider's own flag."""
    rows = [("cidr = 192.0.2.0/28\nsider = 1\n", [], "wrong.conf:2"),
            ("cidr = 192.0.2.0/99\n", [], "want 16 to 30 bits"),
            ("# nothing\n", [], "set cidr in the cloud config, or --pool-cidr"),
            ("cidr = 192.0.2.0/28\n", ["--pool-cidr=x"], "want ADDRESS/BITS"),
            ("cidr = 192.0.2.0/28\n", ["--pool-cidre=x"], "pool-cidre")]
    path = os.path.join(scratch, "wrong.conf")
    for text, flags, words in rows:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        program = controller(trimtab, cluster, "pool", folder, f"--cloud-config={path}", *flags)
        code = program.wait()
        good = code == 1 and words in program.text()
        report.check(f"pool: refuses to start: {words}",
                     None if good else f"exit {code}\n{program.text()}")


def test_refused(report, trimtab, folder, cluster, name, words):
    program = controller(trimtab, cluster, name, folder)
    code = program.wait()
    good = code == 1 and all(word in program.text() for word in words)
    report.check(f"{name}: refused with exit 1",
                 None if good else f"exit {code}, want 1 and {words} in:\n{program.text()}")


def test_result(report, trimtab, folder, cluster, name, words):
    """`words` of the event; None: the Service gets its address."""
    program = controller(trimtab, cluster, name, folder)
    problem = None
    try:
        cluster.create(name)
        if words is None:
            got = cluster.address(name)
            problem = None if got == "192.0.2.1" else f"address {got}"
        else:
            said = cluster.warning(name)
            missing = [word for word in words if word not in said]
            problem = f"{missing} not in the event: {said}" if missing else None
        if program.process.poll() is not None:
            problem = f"the controller ended: {program.process.returncode}"
    except Exception as e:
        problem = str(e)
    code = program.stop()
    if problem is None and code != 0:
        problem = f"exit {code}"
    report.check(f"{name}: {'served' if words is None else 'said in an event'}, goes on",
                 None if problem is None else f"{problem}\n{program.text()}")


def test_crash(report, trimtab, folder, cluster, name, cause, want):
    """The line names provider, call and Service; the process ends as it would have without it."""
    cluster.create(name)
    for flags, line in (([], f'service="default/{name}" provider="{name}" call="ensure_load_balancer" cause="{cause}"'),
                        (["--logging-format=json"], f'"service":"default/{name}","provider":"{name}",'
                                                    f'"call":"ensure_load_balancer","cause":"{cause}"')):
        program = controller(trimtab, cluster, name, folder, *flags)
        code = program.wait()
        sanitized = "Sanitizer" in program.text()
        good = (code == want or (sanitized and code != 0)) and line in program.text()
        if good and flags:
            last = [text for text in program.errors if line in text][0]
            good = json.loads(last)["msg"] == "The provider ends the process"
        report.check(f"{name}: last words{' in JSON' if flags else ''}",
                     None if good else f"exit {code}, want {want} and {line} in:\n{program.text()[-3000:]}")
    done = explain(trimtab, name, cluster, folder)
    report.check(f"{name}: commands live", None if done.returncode == 1 else str(done))


def release(cluster):
    """Lets go of the lease in the name of a process that died: the next one need not wait until it has run out."""
    cluster.call("PATCH", LEASE, {"spec": {"holderIdentity": ""}}, content_type="application/merge-patch+json")


def died_thrice(trimtab, folder, cluster, name, elects):
    """Three processes die of the Service; the record that they leave."""
    for _ in range(3):
        program = controller(trimtab, cluster, name, folder, f"--leader-elect={str(elects).lower()}")
        code = program.wait()
        if code != -signal.SIGSEGV or "The death in the provider is counted" not in program.text():
            raise RuntimeError(f"exit {code}\n{program.text()}")
        if elects:
            release(cluster)


def test_quarantine(report, trimtab, folder, elects):
    """The fourth process lives and serves the others; an edit of the Service, or the flag, lifts the quarantine."""
    name = "crash-segv"
    what = "lease" if elects else "ConfigMap"
    flags = [f"--leader-elect={str(elects).lower()}"]
    cluster = Cluster(tempfile.mkdtemp(dir=os.path.dirname(folder)))
    program = None
    problem = None
    try:
        cluster.create(name)
        died_thrice(trimtab, folder, cluster, name, elects)
        place = LEASE if elects else "/api/v1/namespaces/kube-system/configmaps/trimtab-quarantine"
        found = cluster.call("GET", place)
        record = json.loads(found["metadata"]["annotations"]["trimtab.io/quarantine"] if elects else found["data"]["record"])
        if record["services"][f"default/{name}"]["deaths"] != 3:
            problem = f"record {record}"
        program = controller(trimtab, cluster, name, folder, *flags)
        said = cluster.warning(name)
        if f"quarantined: provider {name} ended the process 3 times in ensure_load_balancer" not in said:
            problem = f"event: {said}"
        cluster.create("other")
        if cluster.address("other") != "192.0.2.1":
            problem = "another Service is not served"
        if program.process.poll() is not None:
            problem = f"it ended: {program.process.returncode}"
        # an edit: it is called again, and counts from one
        cluster.call("PUT", f"{SERVICES}/{name}", {
            **cluster.call("GET", f"{SERVICES}/{name}"), "spec": {"type": "LoadBalancer", "ports": [{"port": 81}]}})
        code = program.wait()
        if code != -signal.SIGSEGV:
            problem = f"after an edit: exit {code}"
        if elects:
            release(cluster)
        program = controller(trimtab, cluster, name, folder, *flags, "--provider-quarantine=false")
        code = program.wait()
        if code != -signal.SIGSEGV or "is counted" in program.text():
            problem = f"without quarantine: exit {code}"
    except Exception as e:
        problem = repr(e)
    text = program.text() if program is not None else ""
    if program is not None:
        program.stop()
    cluster.sim.stop()
    report.check(f"quarantine in a {what}", None if problem is None else f"{problem}\n{text[-4000:]}")


def test_hang(report, trimtab, folder, cluster):
    """A call that never comes back: told at half of its time and at its end; the others are served by another thread."""
    name = "call-hangs"
    program = controller(trimtab, cluster, name, folder, "--provider-call-deadline=4s")  # half of it is a while on a busy machine
    problem = None
    try:
        cluster.create(name)
        said = cluster.warning(name)
        if "call ensure_load_balancer has not come back after its deadline of 4 s" not in said:
            problem = f"event: {said}"
        cluster.create("other")
        if cluster.address("other") != "192.0.2.1":
            problem = "another Service is not served"
    except Exception as e:
        problem = repr(e)
    program.stop()
    for words in ('"A call into the provider has used half of its time" service="default/call-hangs" call="ensure_load_balancer"',
                  '"A call into the provider is beyond its deadline"', '"A call into the provider does not end, leaving'):
        if problem is None and words not in program.text():
            problem = f"no line {words}"
    report.check("call-hangs: the others are served", None if problem is None else f"{problem}\n{program.text()[-3000:]}")


def test_own(report, trimtab, folder, cluster):
    """A controller of the plugin's own: its finalizer alone, no event of ours, and it ends with the Service."""
    program = controller(trimtab, cluster, "own-affair", folder)
    problem = None
    try:
        cluster.create("one")
        cluster.address("one")
        finalizers = cluster.call("GET", f"{SERVICES}/one")["metadata"]["finalizers"]
        problem = None if finalizers == ["example.com/own"] else f"finalizers {finalizers}"
        cluster.delete("one")
        cluster.gone("one")
    except Exception as e:
        problem = str(e)
    code = program.stop()  # what it had to say is written by now
    events = cluster.call("GET", "/api/v1/namespaces/default/events")["items"]
    if problem is None and (code != 0 or events):
        problem = f"exit {code}, events {[e['reason'] for e in events]}"
    report.check("own-affair: its finalizer, no event of the controller's",
                 None if problem is None else f"{problem}\n{program.text()}")


def explain(trimtab, name, cluster, folder, *more):
    return subprocess.run([trimtab, "explain", "default/one", f"--cloud-provider={name}", f"--provider-plugin-dir={folder}",
                           f"--kubeconfig={cluster.kubeconfig}", *more],
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_explain(report, trimtab, folder, cluster):
    """Rows of this version, a text of an older one, and what may not be handed over."""
    cluster.create("one")
    for name, members in EXPLAINED.items():
        text = explain(trimtab, name, cluster, folder)
        done = explain(trimtab, name, cluster, folder, "-o", "json")
        answer = (json.loads(done.stdout or "[{}]") or [{}])[0]
        wrong = [f"{key}: want {want!r}, got {answer.get(key)!r}" for key, want in members.items() if answer.get(key) != want]
        if (text.returncode, text.stdout) != (0, "".join(line + "\n" for line in members["explanation"])):
            wrong.append(f"text: {text}")
        report.check(f"{name}: explained", wrong)
    for name, words in EXPLAIN_ERROR.items():
        done = explain(trimtab, name, cluster, folder)
        good = done.returncode == 1 and all(word in done.stderr for word in words)
        report.check(f"{name}: explain says what is wrong", None if good else f"want {words}: {done}")


def test_plan(report, trimtab, folder, cluster):
    """A provider that takes few Services in one batch gets no more of them from the command, either."""
    for i in range(5):
        cluster.create(f"of-many-{i}")
    done = subprocess.run([trimtab, "plan", "--cloud-provider=small-batches", f"--provider-plugin-dir={folder}",
                           f"--kubeconfig={cluster.kubeconfig}"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    report.check("small-batches: five Services are planned", None if done.returncode == 0 else f"{done}")


def main():
    report = tap.Report()
    os.umask(0o022)  # what others may write is not loaded
    with tempfile.TemporaryDirectory() as scratch:
        try:
            trimtab, folder = install_and_build(scratch)
        except Exception as e:
            report.check("install, build outside the tree", repr(e))
            return report.end()
        report.check("install, build outside the tree", None)
        modules = make_modules(scratch)
        cluster = Cluster(scratch)
        try:
            test_pool(report, trimtab, folder, cluster)
            test_pool_config(report, trimtab, folder, cluster, scratch)
            for name, words in REFUSED.items():
                test_refused(report, trimtab, modules, cluster, name, words)
        finally:
            cluster.sim.stop()
        for elects in (True, False):
            test_quarantine(report, trimtab, modules, elects)
        for name, (cause, code) in CRASH.items():
            cluster = Cluster(scratch)
            try:
                test_crash(report, trimtab, modules, cluster, name, cause, code)
            finally:
                cluster.sim.stop()
        cluster = Cluster(scratch)
        try:
            test_hang(report, trimtab, modules, cluster)
        finally:
            cluster.sim.stop()
        cluster = Cluster(scratch)
        try:
            test_own(report, trimtab, modules, cluster)
        finally:
            cluster.sim.stop()
        cluster = Cluster(scratch)
        try:
            test_explain(report, trimtab, modules, cluster)
            test_plan(report, trimtab, modules, cluster)
        finally:
            cluster.sim.stop()
        for name, words in list(EVENT.items()) + [(name, None) for name in SERVED]:
            cluster = Cluster(scratch)  # a fresh one: no Services of other providers
            try:
                test_result(report, trimtab, modules, cluster, name, words)
            finally:
                cluster.sim.stop()
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
