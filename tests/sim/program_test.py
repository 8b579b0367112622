#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program trimtab-sim from outside: flags, files, state, faults and signals.

    program_test.py TRIMTAB_SIM      (TAP on stdout)
"""
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM = sys.argv[1]


class Sim:
    def __init__(self, *flags):
        self.process = subprocess.Popen([SIM, "--port=0", *flags], stdout=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        self.url = self.line.split()[-1]

    def call(self, method, path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def env_of(folder, cloud="gce"):
    return dict(line.split("=", 1) for line in read(folder, f"env-{cloud}").splitlines())


def test_listening_line_and_help():
    sim = Sim()
    assert sim.line.startswith("listening on http://127.0.0.1:"), sim.line
    assert sim.stop() == 0
    run = subprocess.run([SIM, "--help"], capture_output=True, text=True, check=True)
    for flag in ("--world", "--state", "--traffic-log", "--latency", "--write-kubeconfig"):
        assert flag in run.stdout, flag


def test_bad_flags_end_with_2_and_a_sentence():
    for flags, text in ((["--pors=1"], "did you mean --port?"), (["--latency=x"], "none or cloud")):
        run = subprocess.run([SIM, *flags], capture_output=True, text=True, check=False)
        assert run.returncode == 2 and text in run.stderr, run


def test_what_cannot_start_ends_with_1():
    run = subprocess.run([SIM, "--port=0", "--world=/nonexistent"], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "/nonexistent" in run.stderr, run


def test_files_for_clients():
    with tempfile.TemporaryDirectory() as folder:
        conf = os.path.join(folder, "conf")
        sim = Sim("--nodes=2", f"--write-kubeconfig={folder}/kc", f"--write-cloud-config={conf}")
        env = env_of(conf)
        assert env["GCE_METADATA_HOST"] == sim.url.removeprefix("http://")
        assert env["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] == sim.url + "/compute/v1/"
        assert f"api-endpoint = {sim.url}/compute/v1/\n" in read(conf, "gce.conf")
        assert f"server: {sim.url}\n" in read(folder, "kc")
        token = read(env["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"])
        path = f"/compute/v1/projects/{env['CLOUDSDK_CORE_PROJECT']}/zones"
        assert sim.call("GET", path, Authorization="Bearer " + token)[0] == 200
        assert sim.call("GET", path)[0] == 401
        for secret in ("access-token", "service-account.json", "authorized-user.json"):
            assert stat.S_IMODE(os.stat(os.path.join(conf, secret)).st_mode) == 0o600, secret
        sim.stop()


def test_world_brings_its_own_configuration():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/world.json", "w", encoding="utf-8") as f:
            json.dump({"cloud_config": "[global]\nproject-id = p7\napi-endpoint = <endpoint>/compute/v1/\n",
                       "gce": {"projects/p7/zones/r-a": {"name": "r-a"}}}, f)
        sim = Sim(f"--world={folder}/world.json", f"--write-cloud-config={folder}/conf")
        assert read(folder, "conf/gce.conf") == \
            f"[global]\nproject-id = p7\napi-endpoint = {sim.url}/compute/v1/\n"
        assert env_of(f"{folder}/conf")["CLOUDSDK_CORE_PROJECT"] == "p7"
        sim.stop()


def test_files_for_clients_of_azure():
    with tempfile.TemporaryDirectory() as conf:
        sim = Sim("--cloud=azure", "--nodes=2", f"--write-cloud-config={conf}")
        env, config = env_of(conf, "azure"), json.loads(read(conf, "azure.json"))
        assert config["resourceManagerEndpoint"] == sim.url, config
        assert env["AZURE_AUTHORITY_HOST"] == sim.url + "/"
        path = env["IDENTITY_ENDPOINT"].removeprefix(sim.url) + "?api-version=2019-08-01&resource=x"
        status, answer = sim.call("GET", path, **{"X-IDENTITY-HEADER": env["IDENTITY_HEADER"]})
        assert status == 200, answer
        path = (f"/subscriptions/{config['subscriptionId']}/resourceGroups/{config['resourceGroup']}/providers/Microsoft.Compute"
                f"/virtualMachineScaleSets/{config['primaryScaleSetName']}/virtualMachines?api-version=2025-04-01")
        for token in (json.loads(answer)["access_token"], read(conf, "access-token")):
            status, answer = sim.call("GET", path, Authorization="Bearer " + token)
            assert status == 200 and len(json.loads(answer)["value"]) == 2, answer
        assert stat.S_IMODE(os.stat(os.path.join(conf, "access-token")).st_mode) == 0o600
        sim.stop()


def test_the_cloud_is_that_of_the_world():
    with tempfile.TemporaryDirectory() as folder:
        state = f"--state={folder}/state.json"
        sim = Sim("--cloud=azure", "--nodes=1", state)
        assert sim.stop() == 0
        sim = Sim(state)
        assert json.loads(sim.call("POST", "/sim/nodes", {"count": 1})[1]) == {"nodes": ["vmss000001"]}
        sim.stop()


def test_without_a_cloud__kubernetes_alone():
    with tempfile.TemporaryDirectory() as folder:
        world = os.path.join(folder, "world")
        with open(world, "w", encoding="utf-8") as f:
            json.dump({"kubernetes": {"nodes": [{"metadata": {"name": "n1"}, "status": {"addresses": [
                {"type": "InternalIP", "address": "10.1.0.1"}]}}]}}, f)
        sim = Sim("--cloud=none", "--nodes=2", "--ip-families=IPv4,IPv6", "--world=" + world, "--write-kubeconfig=" + os.path.join(folder, "kc"))
        nodes = json.loads(sim.call("GET", "/api/v1/nodes")[1])["items"]
        addresses = {n["metadata"]["name"]: [a["address"] for a in n["status"]["addresses"] if a["type"] == "InternalIP"] for n in nodes}
        assert addresses == {"n1": ["10.1.0.1"], "node-0": ["10.128.0.10", "fd00:10:128::a"], "node-1": ["10.128.0.11", "fd00:10:128::b"]}, addresses
        labels = [n["metadata"].get("labels", {}) for n in nodes]
        assert not [k for one in labels for k in one if "topology" in k or "instance-type" in k], labels
        assert not [n for n in nodes if "providerID" in n.get("spec", {})], nodes
        assert sim.call("GET", "/compute/v1/projects/trimtab-sim/global/firewalls")[0] == 404
        assert json.loads(sim.call("POST", "/sim/nodes", {"count": 1, "zone": "rack-a"})[1]) == {"nodes": ["node-2"]}
        assert sim.call("DELETE", "/sim/nodes/node-2")[0] == 200
        assert sim.call("DELETE", "/sim/nodes/node-2")[0] == 404
        assert list(json.loads(sim.call("GET", "/sim/state")[1])) == ["kubernetes"]
        assert sim.stop() == 0


def test_without_a_cloud__flags_of_a_cloud_are_refused():
    for flag, advice in (("--write-cloud-config=/x", "--cloud-provider=local reads a file of your own"), ("--traffic-log=/x", "--kube-log"),
                         ("--latency=cloud", "leave it out"), ("--quota=X=1", "leave it out"), ("--strict-address-delete", "leave it out")):
        run = subprocess.run([SIM, "--cloud=none", flag], capture_output=True, text=True, check=False)
        assert run.returncode == 2 and "needs a cloud, and --cloud none simulates none; " in run.stderr and advice in run.stderr, run


def test_state_is_saved_and_loaded():
    with tempfile.TemporaryDirectory() as folder:
        state = f"--state={folder}/state.json"
        sim = Sim(state, "--nodes=3", "--services=2")
        before = sim.call("GET", "/sim/state")[1]
        assert sim.stop() == 0
        assert json.loads(read(folder, "state.json")) == json.loads(before)
        sim = Sim(state)
        assert sim.call("GET", "/sim/state")[1] == before
        sim.stop()


def test_faults_from_a_file():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/faults.json", "w", encoding="utf-8") as f:
            json.dump([{"match": {"api": "metadata"}, "do": "refuse", "status": 503}], f)
        sim = Sim(f"--faults={folder}/faults.json")
        path = "/computeMetadata/v1/project/project-id"
        flavor = {"Metadata-Flavor": "Google"}
        assert [sim.call("GET", path, **flavor)[0] for _ in range(2)] == [503, 200]
        sim.stop()


def test_same_seed_same_start():
    dumps = []
    for seed in (7, 7, 8):
        sim = Sim("--nodes=2", f"--seed={seed}")
        state = json.loads(sim.call("GET", "/sim/state")[1])["gce"]
        dumps.append([r.get("tags") for r in state.values()])
        sim.stop()
    assert dumps[0] == dumps[1] != dumps[2]


def test_same_seed_as_the_makers__new_identifiers_are_new():
    """A world goes on in a simulator with the seed of the one that made it, whose numbers begin anew."""
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    for cloud in ("gce", "aws"):
        with tempfile.TemporaryDirectory() as folder:
            counts = []
            for run in range(2):
                sim = Sim(f"--cloud={cloud}", "--seed=7", *([f"--world={folder}/world"] if run else []))
                assert sim.call("POST", "/sim/nodes", {"count": 2})[0] < 300
                for i in range(3):
                    status, text = sim.call("POST", "/api/v1/namespaces/default/services",
                                            service | {"metadata": {"name": f"s{run}-{i}"}}, **{"Content-Type": "application/json"})
                    assert status == 201, text
                text = sim.call("GET", "/sim/state")[1]
                sim.stop()
                uids = re.findall(r'"uid": ?"([^"]+)"', text)
                assert len(uids) == len(set(uids)), (cloud, run, sorted(uids))
                counts.append(len(set(re.findall("\\bi-[0-9a-f]{17}\\b", text))))
                with open(f"{folder}/world", "w", encoding="utf-8") as f:
                    f.write(text)
            assert counts == ([0, 0] if cloud == "gce" else [counts[0], counts[0] + 2]), counts


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[2:])))
