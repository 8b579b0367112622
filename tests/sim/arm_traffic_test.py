#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated Azure against a recorded client, recorded worlds and the schema packs.

    arm_traffic_test.py TRIMTAB_SIM DATA TEST_SIM_ARM FILE…      (TAP on stdout)

Sends trimtab-sim every request that the Go controller made in the recorded scenarios (statuses must be of the same class),
reads every document of each recorded world, and lets check_traffic.py judge the logs.  Then runs the simulator's own
unit tests and judges what they sent and got: every answer, and every request that was accepted.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, DATA, UNIT_TESTS, FILES = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
sys.path.insert(0, f"{DATA}/schemas")
VERSIONS = {"Microsoft.Network": "2025-05-01", "Microsoft.Compute": "2025-04-01"}
LISTS = {
    "Microsoft.Network": ["loadBalancers", "publicIPAddresses", "networkSecurityGroups", "networkInterfaces",
                          "routeTables", "privateLinkServices", "virtualNetworks/vnet/subnets"],
    "Microsoft.Compute": ["virtualMachines", "virtualMachineScaleSets", "availabilitySets",
                          "virtualMachineScaleSets/vmss/virtualMachines"],
}


class Sim:
    """A running simulator and a client that has a token."""

    def __init__(self, folder, world):
        self.log = os.path.join(folder, "traffic.log")
        self.process = subprocess.Popen(
            [SIM, "--port=0", "--cloud=azure", f"--world={world}", f"--traffic-log={self.log}"],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.token = None
        _, answer = self.call("GET", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x")
        self.token = answer["access_token"]

    def call(self, method, path, body=None, etag=None):
        headers = {"Content-Type": "application/json", "Metadata": "true"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if etag:
            headers["If-Match"] = etag
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


def without_pools(value):
    """The document before any balancer was there."""
    if isinstance(value, dict):
        return {k: without_pools(v) for k, v in value.items() if k not in ("loadBalancerBackendAddressPools", "securityRules")}
    return [without_pools(v) for v in value] if isinstance(value, list) else value


def base_world(folder):
    """The recorded cluster before any controller did anything."""
    with open(f"{DATA}/azure/world-nic.json", encoding="utf-8") as f:
        world = json.load(f)
    azure = {i: without_pools(r) for i, r in world["azure"].items()
             if "/loadBalancers/" not in i and "/publicIPAddresses/" not in i}
    path = os.path.join(folder, "world.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"azure": azure, "cloud_config": world["cloud_config"],
                   "kubernetes": {"nodes": world["kubernetes"]["nodes"]}}, f)
    return path


def replay(sim):
    """Sends recorded requests with the etags of now; those whose status is of another class than the recorded one."""
    wrong, scenarios = [], []
    with open(f"{DATA}/azure/requests.jsonl", encoding="utf-8") as f:
        for line in f:
            entry = json.loads(line)
            if entry["scenario"] not in scenarios:
                scenarios.append(entry["scenario"])
                if entry["scenario"].startswith("node-added"):
                    sim.call("POST", "/sim/nodes", {"count": 1})
            etag = sim.call("GET", entry["path"])[1]["etag"] if entry["if_match"] else None
            status, answer = sim.call(entry["method"], entry["path"], entry["request"], etag)
            if status // 100 != entry["status"] // 100:
                wrong.append(f"{entry['scenario']}: {entry['method']} {entry['path']}: {status}, recorded {entry['status']}: {answer}")
    return len(scenarios), wrong


def read_everything(sim, has_scale_set):
    """Every list of the group, and every document in it by itself; a document that is written back is the same."""
    wrong, seen = [], 0
    for namespace, types in LISTS.items():
        version = f"?api-version={VERSIONS[namespace]}"
        for kind in types:
            if kind.startswith("virtualMachineScaleSets/") and not has_scale_set:
                continue
            status, answer = sim.call("GET", f"/subscriptions/S/resourceGroups/rg/providers/{namespace}/{kind}{version}")
            if status != 200:
                wrong.append(f"list of {kind}: {status} {answer}")
                continue
            for item in answer["value"]:
                seen += 1
                if sim.call("GET", urllib.parse.quote(item["id"]) + version)[1] != item:
                    wrong.append(f"GET {item['id']}: not what the list says")
                status, back = sim.call("PUT", urllib.parse.quote(item["id"]) + version, item)
                if (status, back) != (200, item):
                    wrong.append(f"PUT {item['id']} as it was read: {status} {back}")
    return seen, wrong


def check_log(log):
    run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", log], capture_output=True, text=True, check=False)
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1], lines[:-1] if run.returncode else []


def check_world(report, name):
    with tempfile.TemporaryDirectory() as folder:
        sim = Sim(folder, f"{DATA}/azure/{name}.json")
        _, before = sim.call("GET", "/sim/state")
        sim.call("PUT", "/sim/state", before)
        _, after = sim.call("GET", "/sim/state")
        report.check(f"{name}: a state that is put back is the same", [] if before == after else ["another one"])
        seen, wrong = read_everything(sim, "availability" not in name)
        report.check(f"{name}: {seen} documents are read as they are listed and written as they are read", wrong if seen else ["nothing is listed"])
        sim.stop()
        last, wrong = check_log(sim.log)
        report.check(f"{name}: check_traffic: {last}", wrong)


def judge_unit_test(folder):
    """Violations in the logs of a unit test: of answers, and of requests that were accepted.

    Api-versions that the packs do not have are no violation: the simulator serves some older ones, and refuses the others.
    """
    import check_traffic
    packs = check_traffic.load_packs(f"{DATA}/schemas")
    options = type("Options", (), {"strict_readonly": False, "strict_errors": False})
    wrong, seen = [], 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as log:
            for line in log:
                entry = json.loads(line)
                op, found = check_traffic.check_exchange(packs, entry, options)
                seen += 1
                refused = (entry["status"] or 0) >= 400
                wrong += [f"{name}: {op or entry['path']} {side} {path}: {message}" for side, path, message in found
                          if side == "response" or not (refused or "query parameter api-version" in message)]
    return seen, wrong


def main():
    try:
        import jsonschema  # noqa: F401  the checker needs it
    except ImportError:
        return tap.skip("python3-jsonschema is not installed")
    report = tap.Report()
    with tempfile.TemporaryDirectory() as folder:
        sim = Sim(folder, base_world(folder))
        count, wrong = replay(sim)
        report.check(f"{count} recorded scenarios get statuses of the recorded class", wrong)
        status = sim.stop()
        report.check("SIGTERM ends with 0", [] if status == 0 else [f"exit {status}"])
        last, wrong = check_log(sim.log)
        report.check(f"recorded requests: check_traffic: {last}", wrong)
    for name in ("world-nic", "world-node-ip", "world-availability-sets"):
        check_world(report, name)
    for name in FILES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([UNIT_TESTS, name], env={**os.environ, "TRIMTAB_ARM_LOGS": folder}, capture_output=True, check=False)
            seen, wrong = judge_unit_test(folder)
            report.check(f"test-sim-arm-{name}: {seen} exchanges", wrong if seen else ["nothing was logged"])
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
