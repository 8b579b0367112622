# SPDX-License-Identifier: Apache-2.0
"""A simulator and a trimtab for whole-program tests: start, look, wait, stop.

Waiting means asking again until a deadline; no test depends on how long something takes.  Both programs write
to files in one scratch folder, which a failing test prints.

With TRIMTAB_TEST_ROLES=FOLDER in the environment the simulator enforces FOLDER/CLOUD.yaml, trimtab is the service account
kube-system/trimtab, and FOLDER/*.calls says what each one asked of the API server (tests/deploy/roles_test.py).
"""
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import confine

confine.watch_programs()

LIMIT_S = 180  # it bounds a hang only
CLEANUP = "service.kubernetes.io/load-balancer-cleanup"
ALONE = ["--leader-elect=false", "--secure-port=0"]
FLAGS = ["--cloud-provider=gce", *ALONE]
CONFIG = {"gce": "gce.conf", "azure": "azure.json", "aws": "aws.conf"}
MUTATIONS = (".insert", ".patch", ".update", ".delete", ".addInstance", ".removeInstance", ".addHealthCheck",
             ".removeHealthCheck", ".setTarget", ".set",
             ".CreateOrUpdate", ".Update", ".Delete")
# With these lines of the log a sync begins.
BEGINS = ('"Ensuring load balancer for service"', '"Updating backends for load balancer"')
COMPLAINT = re.compile(r"^.*(?:(?:Address|Leak|Thread|UndefinedBehavior)Sanitizer|: runtime error:).*$", re.MULTILINE)


def complaint_in(path, since=0):
    """Lines of what a sanitizer said in a file, from byte `since` on; none if all is well."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as f:
        f.seek(since)
        text = f.read().decode(errors="replace")
    at = COMPLAINT.search(text)
    return text[at.start():at.start() + 3000].splitlines() if at else []


class Simulator:
    """A running trimtab-sim.  Its `folder` holds what it writes for clients (`conf`, `kubeconfig`) and sim.err."""

    def __init__(self, exe, folder, cloud, *flags):
        self.folder = folder
        self.conf = os.path.join(folder, "conf")
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.err = os.path.join(folder, "sim.err")
        with open(self.err, "ab") as err:
            self.process = subprocess.Popen(
                [exe, f"--cloud={cloud}", "--port=0", "--seed=1", f"--write-kubeconfig={self.kubeconfig}",
                 f"--write-cloud-config={self.conf}", *flags], stdout=subprocess.PIPE, stderr=err, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT_S)
        self.process.stdout.close()


class World:
    """One simulated cluster; use as a context manager."""

    def __init__(self, programs, *sim_flags, cloud="gce", simulator=None):
        """With `simulator`, a running one, its files are copied, and it is not stopped in the end."""
        self.cloud_name, self.headers = cloud, {}
        self.sim_exe, self.trimtab_exe = programs
        self.folder = tempfile.mkdtemp(prefix="trimtab-test-")
        self.conf = os.path.join(self.folder, "conf")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.runs = 0
        self.trimtab = None
        self.leaves_threads = False  # trimtab shall end at once, whatever its threads are at
        self.roles = os.environ.get("TRIMTAB_TEST_ROLES")
        if self.roles:
            calls = os.path.join(self.roles, os.path.basename(self.folder) + ".calls")
            sim_flags += (f"--rbac={self.roles}/{cloud}.yaml", f"--kube-log={calls}", "--tls")  # tokens need TLS
        self.sim = simulator or Simulator(self.sim_exe, self.folder, cloud, *sim_flags)
        if simulator is not None:
            shutil.copytree(simulator.conf, self.conf)
            shutil.copy(simulator.kubeconfig, self.kubeconfig)
        self.url = self.sim.url
        self.sim_tls = None
        if self.roles:
            self.be_service_account()
            self.sim_tls = ssl.create_default_context(cafile=os.path.join(self.conf, "ca.crt"))

    def be_service_account(self):
        """The kubeconfig is trimtab's, without an administrator's rights."""
        with open(self.kubeconfig, encoding="utf-8") as f:
            text = f.read()
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            f.write(text.replace("sim-admin", "sa:kube-system:trimtab"))

    def file(self, name):
        return open(os.path.join(self.folder, name), "ab")  # pylint: disable=consider-using-with

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.trimtab is not None and self.trimtab.poll() is None:
            self.stop()
        self.leave_simulator()
        if confine.died_of_it(self.trimtab):
            print("# trimtab made a system call that deploy/seccomp/trimtab.json does not list")
        if kind is not None:
            print("#", self.log().replace("\n", "\n# "))
        complaints = self.complaints()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not complaints, complaints

    def leave_simulator(self):
        self.sim.stop()

    def complaints(self):
        """A sanitizer's report about one of the programs, anywhere in their output."""
        found = []
        for name in ["sim.err", *(f"{kind}-{run}" for kind in ("run", "out") for run in range(1, self.runs + 1))]:
            found += complaint_in(os.path.join(self.folder, name))
        return "\n".join(found)

    # --- trimtab ---
    def environment(self):
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "ASAN_OPTIONS", "TSAN_OPTIONS",
                                                            "UBSAN_OPTIONS", "LD_LIBRARY_PATH")}
        with open(os.path.join(self.conf, f"env-{self.cloud_name}"), encoding="utf-8") as f:
            env.update(line.strip().split("=", 1) for line in f)
        if self.leaves_threads:
            env["TSAN_OPTIONS"] = env.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"
        return env

    def flags(self):
        return [f"--cloud-provider={self.cloud_name}", *ALONE, f"--cloud-config={self.conf}/{CONFIG[self.cloud_name]}"]

    def start(self, *flags):
        """Starts trimtab and waits until it watches."""
        self.runs += 1
        self.trimtab = subprocess.Popen(
            [self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}", "-v=2", *flags],
            stderr=self.file(f"run-{self.runs}"), env=self.environment())
        self.until("trimtab watches", lambda: '"Watching"' in self.log() or self.trimtab.poll() is not None)
        assert self.trimtab.poll() is None, self.log()
        return self

    def stop(self, number=signal.SIGTERM):
        """Returns exit code and seconds until it was gone."""
        before = time.monotonic()
        self.trimtab.send_signal(number)
        code = self.trimtab.wait(LIMIT_S)
        return code, time.monotonic() - before

    def kill(self):
        self.trimtab.kill()
        self.trimtab.wait(LIMIT_S)

    def log(self, since=0):
        """The log of this run of trimtab, from a byte on."""
        path = os.path.join(self.folder, f"run-{self.runs}")
        if not os.path.exists(path):
            return ""
        with open(path, "rb") as f:
            f.seek(since)
            return f.read().decode(errors="replace")

    def log_bytes(self):
        path = os.path.join(self.folder, f"run-{self.runs}")
        return os.path.getsize(path) if os.path.exists(path) else 0

    def logged(self, *words):
        """Lines that hold all of the words."""
        return [line for line in self.log().splitlines() if all(w in line for w in words)]

    # --- the simulator ---
    def call(self, method, path, body=None, content_type="application/json"):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type, **self.headers}
        if self.roles and path.startswith(("/api/", "/apis/")):
            headers.setdefault("Authorization", "Bearer sim-admin")
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S, context=self.sim_tls) as answer:
                text = answer.read().decode()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read().decode() or "null")

    def must(self, method, path, body=None, **kw):
        status, answer = self.call(method, path, body, **kw)
        assert status < 300, (method, path, status, answer)
        return answer

    def until(self, what, check, progress=lambda: None):
        """Asks until the answer is true.  As long as `progress` (a count) changes, the limit begins anew."""
        deadline, seen = time.monotonic() + LIMIT_S, progress()
        while True:
            before = time.monotonic()
            value = check()
            if value:
                return value
            if progress() != seen:
                deadline, seen = time.monotonic() + LIMIT_S, progress()
            now = time.monotonic()
            assert now < deadline, f"waited {LIMIT_S} s until {what}\n{self.log()}"
            # Asking must not become what the machine is busy with.
            time.sleep(min(0.3, max(0.02, 4 * (now - before))))

    def calls(self):
        return self.must("GET", "/sim/calls")

    def forget_calls(self):
        self.must("DELETE", "/sim/calls")

    def mutations(self):
        """Cloud calls that change something, with their counts."""
        return {op: n for op, n in self.calls()[self.cloud_name].items()
                if (".Describe" not in op if self.cloud_name == "aws" else op.endswith(MUTATIONS))}

    def service_writes(self):
        return {op: n for op, n in self.calls()["kubernetes"].items()
                if op.startswith("services.") and op.split(".")[-1] in ("patch", "update", "create", "delete")}

    def fault(self, **fault):
        return self.must("POST", "/sim/faults", fault)

    def heal(self):
        self.must("DELETE", "/sim/faults")

    # --- Services ---
    def services(self, name=""):
        return "/api/v1/namespaces/default/services" + (f"/{name}" if name else "")

    def create(self, name, meta=None, **spec):
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": name}, **spec}
        return self.must("POST", self.services(), {"apiVersion": "v1", "kind": "Service",
                                                   "metadata": {"name": name, **(meta or {})}, "spec": spec})

    def get(self, name):
        status, answer = self.call("GET", self.services(name))
        return answer if status == 200 else None

    def patch(self, name, body):
        return self.must("PATCH", self.services(name), body, content_type="application/merge-patch+json")

    def edit(self, name, body):
        """Patches a Service, and waits until that is synced."""
        self.until_edited(f"default/{name}", lambda: self.patch(name, body))

    def until_edited(self, key, change):
        """change() edits the Service; this waits for the end of a sync that began after trimtab had seen that.  A provider may look
        at it at any time, too."""
        since = len(self.log())
        change()

        def ended():
            log = self.log()
            at = log.find(f'"Service changed" service="{key}"', since)
            begins = log.find(f'{BEGINS[0]} service="{key}"', at) if at >= 0 else -1
            return begins >= 0 and log.find(f'"Synced" service="{key}"', begins) >= 0
        self.until(f"{key} is synced", ended)

    def until_at_rest(self, key):
        """A sync of the Service has ended, and none is under way: what trimtab said of it last is that it is synced."""
        def rests():
            log = self.log()
            return log.rfind(f'"Synced" service="{key}"') > max(log.rfind(f'{line} service="{key}"') for line in BEGINS)
        self.until(f"{key} is at rest", rests)

    def delete(self, name):
        self.must("DELETE", self.services(name))

    def address(self, name):
        svc = self.get(name) or {}
        ingress = svc.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
        return ingress[0].get("ip") or ingress[0].get("hostname")

    def until_address(self, name):
        return self.until(f"{name} has an address", lambda: self.address(name))

    def until_made(self, name):
        """The address is published before a plan's last operations; this waits for those, too.  Returns the address."""
        self.until(f"{name} is made", lambda: self.address(name) and self.logged('"Synced"', f'service="default/{name}"', 'verb="ensure"'))
        return self.address(name)

    def until_gone(self, name):
        self.until(f"{name} is gone", lambda: self.get(name) is None)

    def events(self, *names):
        items = self.must("GET", "/api/v1/namespaces/default/events")["items"]
        return [(e["type"], e["reason"], e["message"]) for e in items if e["involvedObject"]["name"] in names]

    def until_event(self, name, reason, text=""):
        return self.until(f"{name} has event {reason}",
                          lambda: [e for e in self.events(name) if e[1] == reason and text in e[2]])

    # --- the cloud ---
    def cloud(self, kind):
        """Resources of a kind ("forwardingRules"), by path."""
        state = self.must("GET", "/sim/state")[self.cloud_name]
        return {path: r for path, r in state.items() if f"/{kind}/" in path}

    def members(self):
        return sorted(i.split("/")[-1] for pool in self.cloud("targetPools").values()
                      for i in pool.get("instances", []))
