#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated cloud against recorded clients and against the schema pack.

    traffic_test.py TRIMTAB_SIM DATA      (TAP on stdout)

Starts trimtab-sim, sends it every request that the Go controllers made in the recorded scenarios (their answers' statuses
must come back the same), reads every list of the API, and then lets check_traffic.py judge the whole log: neither
requests nor the simulator's answers may violate the schemas.
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, DATA = sys.argv[1], sys.argv[2]
BASE_KINDS = ("networks", "subnetworks", "zones", "regions", "instances")


class Sim:
    """A running simulator and a client that has a token."""

    def __init__(self, folder, world):
        self.log = os.path.join(folder, "traffic.log")
        self.process = subprocess.Popen(
            [SIM, "--port=0", f"--world={world}", f"--traffic-log={self.log}"],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.token = None
        _, answer = self.call("GET", "/computeMetadata/v1/instance/service-accounts/default/token")
        self.token = answer["access_token"]

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json", "Metadata-Flavor": "Google"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def base_world(folder):
    """The recorded project before any controller did anything."""
    with open(f"{DATA}/gce/world-legacy.json", encoding="utf-8") as f:
        world = json.load(f)
    gce = {path: r for path, r in world["gce"].items() if path.split("/")[-2] in BASE_KINDS}
    path = os.path.join(folder, "world.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"gce": gce}, f)
    return path


def late_values(value, into):
    """The first address, IPAddress and fingerprint of an answer: later requests carry them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("address", "IPAddress", "fingerprint") and isinstance(inner, str):
                into.setdefault(key, inner)
            else:
                late_values(inner, into)
    elif isinstance(value, list):
        for inner in value:
            late_values(inner, into)
    return into


def replace_late(text, known):
    for old in sorted(known, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(old)}(?![\w.])", known[old].replace("\\", "\\\\"), text)
    return text


def replay(sim, name, nodes_before):
    """Sends recorded requests; the requests whose status differs from the recorded one."""
    known, wrong, scenarios = {}, [], []
    with open(f"{DATA}/gce/requests-{name}.jsonl", encoding="utf-8") as f:
        for line in f:
            entry = json.loads(line)
            if entry["scenario"] not in scenarios:
                scenarios.append(entry["scenario"])
                if "node-added" in entry["scenario"]:
                    sim.call("POST", "/sim/nodes", {"count": nodes_before})
            body = json.loads(replace_late(json.dumps(entry["request"]), known))
            path = replace_late(entry["path"], known)
            status, answer = sim.call(entry["method"], path, body)
            if status == 200 and isinstance(answer, dict) and answer.get("error"):
                status = answer["error"]
            if status != entry["status"]:
                wrong.append(f"{entry['scenario']}: {entry['method']} {path}: {status}, recorded {entry['status']}")
            ours = late_values(answer, {})
            for key, old in entry.get("answer", {}).items():
                if key in ours and ours[key] != old:
                    known[old] = ours[key]
    return len(scenarios), wrong


def read_everything(sim):
    """Every list of the API, and every resource in it by itself; paths that were not answered with 200."""
    with open(f"{DATA}/schemas/gce.json", encoding="utf-8") as f:
        operations = json.load(f)["operations"]
    wrong, seen = [], 0
    for op in operations:
        path = "/compute/v1/" + op["path"].format_map(collections.defaultdict(
            str, project="p1", region="us-central1", zone="us-central1-a"))
        if op["method"] != "GET" or path.endswith("/") or "//" in path:
            continue
        status, answer = sim.call("GET", path)
        seen += 1
        if status != 200:
            wrong.append(f"GET {path}: {status}")
        for item in (answer.get("items") if isinstance(answer.get("items"), list) else None) or []:
            link = item["selfLink"].split("/compute/v1/", 1)[1]
            if "/operations/" in link:
                continue                            # a look at a running one ends it
            if sim.call("GET", "/compute/v1/" + link)[1] != item:
                wrong.append(f"GET {link}: not what the list says")
    return seen, wrong


def check_log(log):
    checker = f"{DATA}/schemas/check_traffic.py"
    run = subprocess.run([sys.executable, checker, log], capture_output=True, text=True, check=False)
    return run.returncode, (run.stdout + run.stderr).strip().splitlines()


def main():
    try:
        import jsonschema  # noqa: F401  the checker needs it
    except ImportError:
        return tap.skip("python3-jsonschema is not installed")
    report = tap.Report()
    for name, nodes in (("cloud-provider", 1), ("l4", 2)):
        with tempfile.TemporaryDirectory() as folder:
            sim = Sim(folder, base_world(folder))
            count, wrong = replay(sim, name, nodes)
            report.check(f"{name}: {count} recorded scenarios get the recorded statuses", wrong)
            seen, wrong = read_everything(sim)
            report.check(f"{name}: {seen} read operations are served", wrong)
            status = sim.stop()
            report.check(f"{name}: SIGTERM ends with 0", [] if status == 0 else [f"exit {status}"])
            status, lines = check_log(sim.log)
            report.check(f"{name}: check_traffic: {lines[-1]}", lines[:-1] if status else [])
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
