#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab explain: what is behind a Service inside the cluster, of a saved state and of a simulated cluster.

    explain_inside_test.py TRIMTAB_SIM TRIMTAB EXAMPLES DATA [TEST…]     (TAP on stdout)

DATA/explain/NAME.txt is what a person sees of the Service demo/web of EXAMPLES/inside, in the world NAME of WORLDS, from the
line "Pods:" on.  TRIMTAB_UPDATE_GOLDEN=1 rewrites the files.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:3]]
CASES = os.path.join(os.path.abspath(sys.argv[4]), "explain")
PAGES = os.path.join(os.path.abspath(sys.argv[3]), "..", "docs")
CONFIG = "[global]\nproject-id = p1\nlocal-zone = us-central1-a\nnetwork-name = n\nsubnetwork-name = s\nnode-tags = t\n"
with open(os.path.join(os.path.abspath(sys.argv[3]), "inside", "dump.json"), encoding="utf-8") as dump_file:
    DUMP = json.load(dump_file)


def world(change=lambda kind, o: None):
    """A saved state of the dump, its nodes being instances; `change` may edit each object."""
    plurals = {"Service": "services", "EndpointSlice": "endpointslices", "Node": "nodes"}
    lists = {plural: [] for plural in plurals.values()}
    for o in json.loads(json.dumps(DUMP))["items"]:
        if o["kind"] in plurals:
            if o["kind"] == "Node":
                zone = {"zone-a": "us-central1-a"}.get(o["metadata"]["labels"]["topology.kubernetes.io/zone"], "us-central1-b")
                o["spec"] = {"providerID": f"gce://p1/{zone}/{o['metadata']['name']}"}
            change(o["kind"], o)
            lists[plurals[o["kind"]]].append(o)
    return {"kubernetes": lists}


def is_web(kind, o):
    return o["metadata"]["name"] == "web" if kind == "Service" else o["metadata"]["name"].startswith("web-")


def cluster_policy(kind, o):
    if kind == "Service" and is_web(kind, o):
        o["spec"].update(externalTrafficPolicy="Cluster")
        o["spec"].pop("healthCheckNodePort", None)


def hinted(kind, o):
    cluster_policy(kind, o)
    if kind == "Service" and is_web(kind, o):
        o["spec"]["trafficDistribution"] = "PreferSameZone"
    if kind == "EndpointSlice" and is_web(kind, o):
        for e in o["endpoints"]:
            e["hints"] = {"forZones": [{"name": e["zone"]}]}


def few(kind, o):
    cluster_policy(kind, o)
    if kind == "Service" and is_web(kind, o):
        o["metadata"].setdefault("annotations", {})["service.kubernetes.io/topology-mode"] = "Auto"
    if kind == "EndpointSlice" and is_web(kind, o):
        o["endpoints"] = o["endpoints"][:1]


def going(kind, o):
    if kind == "EndpointSlice" and is_web(kind, o):
        o["endpoints"][0]["conditions"] = {"ready": False, "serving": True, "terminating": True}
        o["endpoints"][1]["conditions"] = {"ready": False, "serving": False, "terminating": False}


def weighted(kind, o):
    if kind == "Service" and is_web(kind, o):
        o["metadata"].setdefault("annotations", {}).update({
            "cloud.google.com/l4-rbs": "enabled", "networking.gke.io/weighted-load-balancing": "pods-per-node"})


def excluded(kind, o):
    if kind == "Node" and o["metadata"]["name"] == "node-1":
        o["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] = "true"


def no_pod_is_ready(kind, o):
    """One terminates and still serves."""
    if kind == "EndpointSlice" and is_web(kind, o):
        for e in o["endpoints"]:
            e["conditions"] = {"ready": False, "serving": False, "terminating": False}
        o["endpoints"][0]["conditions"] = {"ready": False, "serving": True, "terminating": True}


WORLDS = {
    "local": (lambda kind, o: None, []),
    "cluster": (cluster_policy, []),
    "hinted": (hinted, []),
    "few-endpoints": (few, []),
    "terminating": (going, []),
    "excluded": (excluded, []),
    "weighted": (weighted, ["--run-l4-netlb-controller", "--enable-weighted-l4-netlb"]),
}


def run(state, *args, command="explain"):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("state", json.dumps(state)), ("gce.conf", CONFIG)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        return subprocess.run([PROGRAMS[1], command, "demo/web", "--cloud-provider=gce", "--cloud-config=gce.conf",
                            "--state=state", *args], capture_output=True, text=True, check=False, timeout=120, cwd=folder,
                           env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})


def explain(state, *args):
    r = run(state, *args)
    assert r.returncode == 0, r
    return r.stdout


def inside(state, *args):
    return json.loads(explain(state, "-o", "json", *args))[0]["inside"]


def test_golden__every_world():
    wrong = []
    for name, (change, flags) in WORLDS.items():
        text = explain(world(change), *flags)
        got = text[text.index("\nPods:") + 1:]
        assert all(len(line) <= 100 for line in text.splitlines()), text
        path = os.path.join(CASES, name + ".txt")
        if os.environ.get("TRIMTAB_UPDATE_GOLDEN") == "1":
            with open(path, "w", encoding="utf-8") as f:
                f.write(got)
        with open(path, encoding="utf-8") as f:
            want = f.read()
        if got != want:
            wrong.append(f"{name}\n--- want\n{want}--- got\n{got}")
    assert not wrong, "\n".join(wrong)
    assert sorted(os.listdir(CASES)) == sorted(name + ".txt" for name in WORLDS)


def test_nothing_known__nothing_is_said():
    state = world()
    state["kubernetes"]["endpointslices"] = []
    text = explain(state)
    assert "Health:" in text and "Pods:" not in text and "Source:" not in text, text
    assert inside(state) is None


def test_broken_objects__are_an_error_or_left_out():
    for kind, member, value in [(k, m, v) for k in ("endpointslices", "nodes") for m in ("metadata", "endpoints", "status")
                                for v in (None, True, [], "x")]:
        state = world()
        state["kubernetes"][kind][0][member] = value
        r = run(state)
        assert (r.returncode == 0 and "Health:" in r.stdout) or (r.returncode == 1 and "error: " in r.stderr), \
            (kind, member, value, r)


def test_weights__only_where_the_load_balancer_uses_them():
    change, flags = WORLDS["weighted"]
    assert "X-Load-Balancing-Endpoint-Weight" in explain(world(change), *flags)
    f = inside(world(change), *flags)[0]
    assert f["weighted"] and [(n["health_weight"], round(n["traffic"], 3)) for n in f["nodes"]] == [(2, .667), (1, .333)], f
    f = inside(world(change), "--run-l4-netlb-controller")[0]   # without the flag nodes are alike
    assert not f["weighted"] and [(n["health_weight"], n["traffic"]) for n in f["nodes"]] == [(2, .5), (1, .5)], f


def test_trace__has_the_shares_of_explain():
    """Weights, hints, nodes that are left out, and no healthy node: one rule for both."""
    none_ready = None
    for name, (change, flags) in [*WORLDS.items(), ("none ready", (no_pod_is_ready, []))]:
        state = world(change)
        r = run(state, "-o", "json", *flags, command="trace")
        assert r.returncode in (0, 2), (name, r)
        for x in json.loads(r.stdout):
            want = [f for f in inside(state, *flags) if (f["family"] == "IPv6") == (x["to"][0] == "[")]
            if x["kind"] != "load balancer address" or not want:
                continue
            shares = {p["address"]: round(p["share"], 6) for p in want[0]["pods"] if p["share"] > 0}
            got = {e["address"]: round(e["probability"], 6) for e in x["endpoints"]}
            assert got == shares, (name, got, shares)
            assert x["load_balancer"]["weighted"] == want[0]["weighted"], (name, x["load_balancer"])
            assert x["load_balancer"]["fails_open"] == want[0]["fails_open"], (name, x["load_balancer"])
            none_ready = x["load_balancer"]["fails_open"]
    assert none_ready is True
    assert "sends to all of them" in explain(world(no_pod_is_ready))


def members(value, path):
    if isinstance(value, dict):
        return set().union(*(members(v, f"{path}.{k}") for k, v in value.items()))
    if isinstance(value, list):
        return set().union(*(members(v, path + "[]") for v in value))
    return {path}


def test_json__every_member_is_on_the_page_and_in_the_schema():
    found = members(inside(world(hinted)), "[].inside")
    with open(os.path.join(PAGES, "interfaces.md"), encoding="utf-8") as f:
        rows = [line.split("|")[1] for line in f if line.startswith("| explain `[].inside[]") or
                line.startswith("| explain `[].inside[")]
    page = {m for row in rows for m in re.findall(r"`([^`]+)`", row)}
    assert found == page - {"[].inside[].hints"}, found ^ page
    with open(os.path.join(PAGES, "schemas", "explain.json"), encoding="utf-8") as f:
        schema = json.load(f)["items"]["properties"]["inside"]
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        return
    for change, flags in WORLDS.values():
        jsonschema.validate(inside(world(change), *flags), schema)


def test_cluster__lists_the_services_own_slices():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.create("web")
        w.until_address("web")
        w.until("it is done", lambda: w.logged('"Synced"'))
        def ask():
            return subprocess.run(
                [PROGRAMS[1], "explain", "web", "--cloud-provider=gce", f"--cloud-config={os.path.join(w.conf, 'gce.conf')}",
                 f"--kubeconfig={w.kubeconfig}"], capture_output=True, text=True, check=False, timeout=120,
                env=w.environment(), cwd=w.folder)
        assert "Pods:" not in ask().stdout
        ns = w.get("web")["metadata"]["namespace"]
        w.must("PUT", f"/sim/pods/{ns}/web", {"node-1": 1})
        before = w.mutations()
        r = ask()
        assert r.returncode == 0 and "\nPods:    1 pod on 1 node is ready\n" in r.stdout and not r.stderr, r
        assert w.mutations() == before


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[5:])))
