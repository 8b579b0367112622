# SPDX-License-Identifier: Apache-2.0
"""The stage for hostile servers: a simulated cluster with one load balancer that is in order, trimtab, and four Fronts
between them (API server, Compute API, metadata server, token source); see hostile.py.

Limits that every scene must keep:

    memory    VmHWM of trimtab stays below MEMORY_MIB, whatever a server sends
    time      SIGTERM ends it within STOP_S
    safety    the load balancer that was in order is as it was
    secrets   nothing that was planted appears in logs, events or plans
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

from hostile import Bell, Front  # noqa: E402  pylint: disable=wrong-import-position
from kept import KeptSimulator, Log  # noqa: E402  pylint: disable=wrong-import-position

MEMORY_MIB = 96
LOOK_S = 0.5    # without any sign a test still looks so often
STILL_S = 120   # without any sign it gives up: trimtab's own pauses are shorter
MOST_S = 600    # and with signs, too
UNPROVOKED = 2  # times that it may give up on an API server that answers
GAVE_UP = re.compile("error: .*timed out waiting for the condition: ")
STOP_S = 30  # what hangs is looked for; how long an exit takes is a figure, not a verdict
PLANTED = {"kubeconfig": "planted-kube-token-4c1f", "token-body": "planted-token-body-77ab"}


def is_sanitized():
    """A sanitizer keeps shadows and freed memory: its figures say nothing about ours."""
    return "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ


def make_certificate(folder):
    """(CA and certificate, key) for 127.0.0.1; None without the openssl program."""
    cert, key = os.path.join(folder, "front.crt"), os.path.join(folder, "front.key")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=front",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    except FileNotFoundError:
        return None
    return cert, key


class Template:
    """Made once: certificates, and a world in which the Services `names` are served.

    Its simulators are kept: a stage takes one that is free, or a new one, and gives it back when all went well."""

    cloud_name = "gce"

    def __init__(self, programs, names=("old",)):
        self.programs = programs
        self.free, self.made, self.lock = [], [], threading.Lock()
        self.folder = tempfile.mkdtemp(prefix="trimtab-hostile-")
        self.tls = make_certificate(self.folder)
        self.world = os.path.join(self.folder, "world.json")
        with World(programs, "--nodes=3", cloud=self.cloud_name) as w:
            w.start()
            for name in names:
                w.create(name, self.meta(name))
            self.addresses = {name: w.until_made(name) for name in names}
            w.stop()
            state = w.must("GET", "/sim/state")
        state["kubernetes"]["events"] = []
        with open(self.world, "w", encoding="utf-8") as f:
            json.dump(state, f)
        self.cloud = self.documents(state)

    def meta(self, _name):
        """The metadata with which a Service is created; None: none."""

    def documents(self, state):
        """The resources in the cloud, by name, from the simulator's state."""
        return {path: r for path, r in state["gce"].items() if "/operations/" not in path}

    def holds(self, now, before):
        """Is the document as it was, as far as it is the old Services'?"""
        return now == before

    def take_simulator(self):
        with self.lock:
            if self.free:
                sim = self.free.pop()
            else:
                sim = KeptSimulator(self, len(self.made))
                self.made.append(sim)
        sim.reset()
        return sim

    def give_back(self, sim):
        with self.lock:
            self.free.append(sim)

    def remove(self):
        """Ends all that was kept; a sanitizer that has a word about that makes it an error."""
        complaints = []
        for sim in self.made:
            sim.stop()
            complaints += sim.complaints()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not complaints, complaints


class Stage(World):
    """A World whose trimtab sees everything through Fronts.  Use as a context manager."""

    def __init__(self, template, token_lasts=None, token_url=False, streams=True):
        """streams: trimtab begins with streaming lists, as it does by default; else with LIST."""
        super().__init__(template.programs, cloud=template.cloud_name, simulator=template.take_simulator())
        self.template, self.streams = template, streams
        port = int(self.url.rsplit(":", 1)[1])
        twist = None
        if token_lasts is not None:
            def twist(_, answer):
                return {**answer, "expires_in": token_lasts} if "access_token" in answer else answer
        self.kube = Front(port, tls=template.tls)
        self.fronts = (self.kube, *self.make_fronts(port, twist))
        self.bell, self.read = Bell(), None
        self.unprovoked, self.peak_mib = 0, 0
        for front in self.fronts:
            front.bell = self.bell
        self._write_kubeconfig()
        self.write_config(token_url)
        self.known_secrets = set(PLANTED.values())

    def make_fronts(self, port, twist):
        """The cloud's."""
        self.compute = Front(port)
        self.metadata = Front(port, twist=twist)
        self.token = Front(port, twist=twist)
        return self.compute, self.metadata, self.token

    def __exit__(self, kind, value, trace):
        for front in self.fronts:
            front.heal()
        if value is not None:
            value.log = [line[:400] for line in self.log().splitlines()[-15:]]
        self.failed = value is not None
        super().__exit__(None, None, None)

    def leave_simulator(self):
        """Only one that nothing more can come to, and that did its work well, gets another world."""
        for front in self.fronts:
            front.close()
        if not self.failed and not self.sim.complaints():
            self.template.give_back(self.sim)

    def complaints(self):
        return "\n".join(filter(None, [super().complaints(), *self.sim.complaints()]))

    def _write_kubeconfig(self):
        text = open(self.kubeconfig, encoding="utf-8").read()
        ca = f"    certificate-authority: {self.template.tls[0]}\n" if self.template.tls else ""
        text = re.sub(r"    server: .*\n", f"    server: {self.kube.url()}\n{ca}", text)
        text = re.sub(r"token: .*", f"token: {PLANTED['kubeconfig']}", text)
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            f.write(text)

    def write_config(self, token_url):
        """The cloud-config, with the addresses of the Fronts."""
        conf = os.path.join(self.conf, "gce.conf")
        text = open(conf, encoding="utf-8").read()
        text = re.sub(r"(?m)^api-endpoint = .*", f"api-endpoint = {self.compute.url('/compute/v1/')}", text)
        # An alternate source is asked at most every 20 s (as upstream), so only its own scenes have one.
        alternate = f"token-url = {self.token.url('/token')}\ntoken-body = \"{PLANTED['token-body']}\""
        text = re.sub(r"(?m)^token-url = .*", alternate if token_url else "", text)
        with open(conf, "w", encoding="utf-8") as f:
            f.write(text)

    def environment(self):
        return {**super().environment(), **self.cloud_environment(), "KUBE_FEATURE_WatchListClient": str(self.streams).lower()}

    def cloud_environment(self):
        return {"GCE_METADATA_HOST": f"127.0.0.1:{self.metadata.port}"}

    def launch(self, *flags):
        """Starts trimtab without waiting for anything."""
        self.runs += 1
        self.trimtab = subprocess.Popen(
            [self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}", "-v=4",
             "--concurrent-service-syncs=4", *flags],
            stderr=self.file(f"run-{self.runs}"), stdout=self.file(f"out-{self.runs}"), env=self.environment())
        return self

    def until_watching(self):
        self.until("trimtab watches", lambda: '"Watching"' in self.log() or (self.has_ended() and not self.gave_up()))
        self.check_alive()
        return self

    def has_ended(self):
        return self.trimtab is not None and self.trimtab.poll() is not None

    def gave_up(self):
        """trimtab waits 10 s for the API server when it starts, and ends; a busy machine may need longer."""
        return self.has_ended() and self.trimtab.poll() == 1 and GAVE_UP.search(self.log())

    def revive(self):
        """Starts it again if it gave up, as a kubelet would; any other end is an error that check_alive() finds.  While the API
        server answers as it should only a busy machine makes it give up, and not again and again."""
        if self.gave_up():
            self.unprovoked += self.kube.spell is None
            assert self.unprovoked <= UNPROVOKED, f"it gave up {self.unprovoked} times on an API server that answers"
            self.launch()

    def until(self, what, check, progress=lambda: 0):
        """Looks again when something happened: at a Front, or in the log.  A limit is only there for what hangs: as long as
        requests and bytes go through the Fronts, or `progress` (a count) changes, it begins anew."""
        def signs():
            return progress(), *(len(f.seen) for f in self.fronts), *(f.spell.sent for f in self.fronts if f.spell)
        begun = moved = time.monotonic()
        seen = signs()
        while True:
            happened, before = self.happened(), time.monotonic()
            value = check()
            self.note_memory()
            if value:
                return value
            self.revive()
            now = time.monotonic()
            if signs() != seen:
                seen, moved = signs(), now
            assert now - moved < STILL_S and now - begun < MOST_S, f"waited {now - begun:.0f} s until {what}"
            # Looking must not become what the machine is busy with.
            time.sleep(min(0.5, max(0.01, 4 * (now - before))))
            self.until_more(happened)

    def happened(self):
        """Changes with whatever happens: how often the bell rang, how much trimtab said, whether it runs."""
        path = os.path.join(self.folder, f"run-{self.runs}")
        return self.bell.count, os.path.exists(path) and os.path.getsize(path), self.has_ended()

    def until_more(self, happened):
        """Returns when there is more than `happened`, or after LOOK_S."""
        end = time.monotonic() + LOOK_S
        while self.happened() == happened and time.monotonic() < end:
            self.bell.wait(happened[0], 0.05)

    def log(self):
        """Of the run that was begun last; what was read once is not read again."""
        if self.read is None or self.read.run != self.runs:
            self.read = Log(os.path.join(self.folder, f"run-{self.runs}"), self.runs)
        return self.read.all()

    def call(self, method, path, body=None, content_type="application/json"):
        data = None if body is None else json.dumps(body).encode()
        status, text = self.sim.line.ask(method, path, data, content_type, self.headers)
        return status, json.loads(text) if text else None

    # --- limits ---
    def memory_mib(self, which="VmHWM"):
        with open(f"/proc/{self.trimtab.pid}/status", encoding="utf-8") as f:
            return int(re.search(rf"{which}:\s+(\d+) kB", f.read()).group(1)) / 1024

    def note_memory(self):
        """Keeps the peak of a run that may be over before anybody asks: one that gave up and was started again counts, too."""
        with contextlib.suppress(OSError, AttributeError):  # it has not begun, or it has ended
            self.peak_mib = max(self.peak_mib, self.memory_mib())

    def check_memory(self):
        self.note_memory()
        used = self.peak_mib
        assert used > 0, "nobody looked while it ran"
        assert used < MEMORY_MIB or is_sanitized(), f"{used:.0f} MiB"
        return used

    def check_growth(self, before, most_bytes):
        """Since it used `before` MiB."""
        now = self.memory_mib("VmRSS")
        assert now - before < most_bytes / 2**20 or is_sanitized(), f"from {before:.0f} to {now:.0f} MiB"

    def check_alive(self):
        self.revive()
        assert self.trimtab.poll() is None, f"exit {self.trimtab.poll()}"

    def check_stop(self):
        code, took = self.stop()
        assert code == 0, code
        assert took < STOP_S, f"stopping took {took:.1f} s"

    def check_old_untouched(self):
        documents = self.template.documents(self.must("GET", "/sim/state"))
        for path, before in self.template.cloud.items():
            assert self.template.holds(documents.get(path), before), (path, before, documents.get(path))
        for name, address in self.template.addresses.items():
            assert self.address(name) == address, (name, address, self.address(name))

    def secrets(self):
        """Secrets that must appear nowhere: planted texts and every access token that was used."""
        for front in self.fronts:
            for request in front.seen:
                bearer = request.headers.get("authorization", "")
                if bearer.startswith("Bearer ") and len(bearer) > 15:
                    self.known_secrets.add(bearer[len("Bearer "):])
        return self.known_secrets

    def said(self):
        """(file, text) of all that trimtab wrote, in each of its runs."""
        for name in (f"{kind}-{run}" for kind in ("run", "out") for run in range(1, self.runs + 1)):
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as f:
                yield name, f.read()

    def check_secrets(self, *texts):
        events = json.dumps(self.must("GET", "/api/v1/events"))
        for where, text in (*self.said(), ("events", events), *((f"text {i}", t) for i, t in enumerate(texts))):
            for secret in self.secrets():
                at = text.find(secret)
                assert at < 0, f"{secret} in {where}: …{text[max(0, at - 200):at + 100]}…"

    # --- Services ---
    def touch(self, name):
        """A change that makes a sync, now."""
        self.patch(name, {"metadata": {"annotations": {"touched": str(len(self.kube.seen))}}})

    def converge(self, *names):
        """After healing: everybody is served, the old one is as it was, and nothing is left to do."""
        for name in names:
            if self.get(name) is not None:
                self.touch(name)
        for name in names:
            self.until_address(name)
        self.check_old_untouched()
