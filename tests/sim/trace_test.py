#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trimtab trace and render: what they print about a dump, about broken input, and about a simulated cluster.

    trace_test.py TRIMTAB_SIM TRIMTAB EXAMPLES DATA [TEST…]     (TAP on stdout)

DATA/trace/NAME.txt is what a person sees: a first line "$ trimtab …", which is run beside the files of EXAMPLES/inside,
then the output, then "exit N".
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
FOLDER = os.path.join(os.path.abspath(sys.argv[3]), "inside")
CASES = os.path.join(os.path.abspath(sys.argv[4]), "trace")
with open(os.path.join(FOLDER, "dump.json"), encoding="utf-8") as dump_file:
    DUMP = json.load(dump_file)


def run(*args, stdin="", env=None):
    return subprocess.run([PROGRAMS[1], *args], input=stdin, capture_output=True, text=True, check=False, timeout=120,
                          cwd=FOLDER, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})})


def trace(dump, *args):
    return run("trace", "-f", "-", *args, stdin=dump if isinstance(dump, str) else json.dumps(dump))


def document(dump, *args):
    r = trace(dump, "-o", "json", *args)
    assert r.returncode in (0, 2), r
    return json.loads(r.stdout)


def edited(change):
    """The dump after `change` was called with each object's kind, name and the object."""
    dump = json.loads(json.dumps(DUMP))
    for o in dump["items"]:
        change(o["kind"], o["metadata"]["name"], o)
    return dump


# --- what is printed ---------------------------------------------------------------------------------------------

def test_golden__every_case():
    names = sorted(name for name in os.listdir(CASES) if name.endswith(".txt"))
    assert len(names) >= 10, names
    wrong = []
    for name in names:
        with open(os.path.join(CASES, name), encoding="utf-8") as f:
            want = f.read()
        words = want.splitlines()[0].split()
        assert words[:2] == ["$", "trimtab"], name
        r = run(*words[2:])
        got = f"{want.splitlines()[0]}\n{r.stdout}{r.stderr}exit {r.returncode}\n"
        if got != want:
            wrong.append(f"{name}\n--- want\n{want}--- got\n{got}")
    assert not wrong, "\n".join(wrong)


def blocks():
    """(command line, lines that are shown) of what the pages show of trace and render."""
    for page in ("README.md", "docs/operations.md"):
        with open(os.path.join(FOLDER, "..", "..", page), encoding="utf-8") as f:
            for block in re.findall(r"^```\n(.*?)^```$", f.read(), re.M | re.S):
                lines = block.splitlines()
                at = [i for i, line in enumerate(lines) if re.match(r"\$ trimtab (trace|render) ", line)]
                if at:
                    yield lines[at[0]], lines[at[0] + 1:]


def test_pages__show_what_is_printed():
    shown = list(blocks())
    assert len(shown) >= 3, shown
    for command, lines in shown:
        assert lines and run(*command.split()[2:]).stdout.splitlines()[:len(lines)] == lines, command


def members(value, path=""):
    if isinstance(value, dict):
        return set().union(*[members(v, f"{path}.{k}" if path else k) for k, v in value.items()])
    if isinstance(value, list):
        return set().union({path + "[]"} if not value or not isinstance(value[0], dict) else set(),
                           *[members(v, path + "[]") for v in value if isinstance(v, dict)])
    return {path}


def test_json__every_member_is_on_the_page():
    with open(os.path.join(FOLDER, "..", "..", "docs", "interfaces.md"), encoding="utf-8") as f:
        section = f.read().split("## trimtab trace -o json\n")[1].split("\n## ")[0]
    page = set(re.findall(r"`([a-z_.\[\]]+)`", "\n".join(line.split(" | ")[0] for line in section.splitlines()
                                                        if line.startswith("| `"))))
    found = members(document(DUMP, "--to=203.0.113.10:80", "--node=node-1"))
    assert found - {"load_balancer.left_out[]"} == page - {"load_balancer", "load_balancer.left_out[].name",
                                                           "load_balancer.left_out[].because"}, found ^ page


def test_text__is_as_wide_as_a_terminal_without_one():
    for words in (["demo/web", "-v"], ["--to=203.0.113.20:80"], ["demo/old"]):
        r = run("trace", "-f", "dump.json", *words)
        assert all(len(line) <= 100 for line in r.stdout.splitlines()), r.stdout


# --- where objects come from ---------------------------------------------------------------------------------------

def test_sources__the_same_answer():
    target = ["--to=203.0.113.10:80", "-o", "json"]
    want = run("trace", "-f", "dump.json", *target).stdout
    assert json.loads(want)["verdict"] == "delivered"
    with tempfile.TemporaryDirectory() as folder:
        for i, o in enumerate(DUMP["items"]):      # one file each, some of them YAML's superset
            with open(os.path.join(folder, f"{i:02}.{'json' if i % 2 else 'yaml'}"), "w", encoding="utf-8") as f:
                json.dump(o, f)
        state = os.path.join(folder, "world")
        plurals = {"Service": "services", "EndpointSlice": "endpointslices", "Node": "nodes", "ConfigMap": "configmaps"}
        world = {plural: [o for o in DUMP["items"] if o["kind"] == kind] for kind, plural in plurals.items()}
        with open(state, "w", encoding="utf-8") as f:
            json.dump({"kubernetes": world}, f)
        typed = "".join(json.dumps({"apiVersion": "v1", "kind": kind + "List", "items": [
            {k: v for k, v in o.items() if k != "kind"} for o in world[plural]]}) + "\n"
            for kind, plural in plurals.items())
        assert run("trace", "-f", folder, *target).stdout == want
        assert run("trace", "-f", "-", *target, stdin=json.dumps(DUMP)).stdout == want
        assert run("trace", "-f", "-", *target, stdin=typed).stdout == want
        assert run("trace", f"--state={state}", *target).stdout == want
        assert run("trace", "-f", state, *target).stdout == want


def test_manifest__keeps_what_the_cluster_gave_it():
    """A plan for another policy.  The manifest has no addresses and no node port."""
    edit = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "demo"},
            "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "selector": {"app": "web"},
                     "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}
    r = run("trace", "-f", "dump.json", "-f", "-", "--to=203.0.113.10:80", "-o", "json", stdin=json.dumps(edit))
    d = json.loads(r.stdout)
    assert d["verdict"] == "delivered" and {e["source"] for e in d["endpoints"]} == {"node"}, d
    assert {n["weight"] for n in d["nodes"]} == {1 / 3} and len(d["endpoints"]) == 3, d["nodes"]
    d = json.loads(run("trace", "-f", "dump.json", "-f", "-", "demo/web", "-o", "json", stdin=json.dumps(edit)).stdout)
    assert [t["to"] for t in d] == ["203.0.113.10:80/TCP", "NODE:30080/TCP", "10.96.0.10:80/TCP"], d


def test_mode__config_map_flag_or_said_to_be_assumed():
    bare = edited(lambda kind, name, o: o.update(kind="Other") if kind == "ConfigMap" else None)
    r = trace(bare, "--to=203.0.113.10:80")
    assert "iptables (assumed: no ConfigMap kube-system/kube-proxy in the files)" in r.stdout, r.stdout
    d = document(DUMP, "--to=203.0.113.10:80", "--mode=nftables")
    assert (d["mode"], d["mode_source"]) == ("nftables", "--mode")

    def ipvs(kind, _, o):
        if kind == "ConfigMap":
            o["data"]["config.conf"] = "mode: ipvs\n"
    d = document(edited(ipvs), "--to=203.0.113.10:80")
    assert (d["mode"], d["mode_source"]) == ("ipvs", "ConfigMap kube-system/kube-proxy")

    def broken(kind, _, o):
        if kind == "ConfigMap":
            o["data"]["config.conf"] = "mode: userspace\n"
    r = trace(edited(broken), "--to=203.0.113.10:80")
    assert r.returncode == 0 and "is not a mode of kube-proxy on Linux" in r.stderr and "assumed" in r.stdout, r


# --- shares ------------------------------------------------------------------------------------------------------------

def test_all_nodes__shares_sum_to_one():
    d = document(DUMP, "--to=203.0.113.10:80", "--all-nodes")
    shares = {e["pod"]: e["probability"] for e in d["endpoints"]}
    assert shares == {"web-1": 0.25, "web-2": 0.25, "web-3": 0.5}, shares        # policy Local: by node, then by pod
    assert [(n["name"], n["weight"], n["verdict"], n["ready"]) for n in d["nodes"]] == [
        ("node-1", 0.5, "delivered", 2), ("node-2", 0.5, "delivered", 1), ("node-3", 0, "dropped", 0)], d["nodes"]
    d = document(DUMP, "--to=10.96.0.20:443", "--all-nodes")                     # hints: one zone has one node
    assert {e["pod"]: round(e["probability"], 6) for e in d["endpoints"]} == {
        "api-1": 0.333333, "api-2": 0.333333, "api-3": 0.333333}
    assert {n["topology"] for n in d["nodes"]} == {"zone"}


def test_load_balancer__leaves_out_what_the_controller_leaves_out():
    def exclude(kind, name, o):
        if name == "node-1":
            o["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
    d = document(edited(exclude), "--to=203.0.113.10:80")
    assert [e["pod"] for e in d["endpoints"]] == ["web-3"] and d["load_balancer"]["left_out"][0]["name"] == "node-1", d


def test_terminating__is_used_and_said():
    def drain(kind, name, o):
        if name == "web-abcde":
            for e in o["endpoints"]:
                e["conditions"] = {"ready": False, "serving": True, "terminating": True}
    r = trace(edited(drain), "--to=203.0.113.10:80", "--node=node-1")
    assert r.returncode == 0 and "only terminating pods are left" in r.stdout and "terminating" in r.stdout, r.stdout


def test_client__decides_the_node():
    for client, node in (("pod/demo/web-3", "node-2"), ("10.244.2.10", "node-2"), ("10.0.0.3", "node-3"),
                         ("node/node-1", "node-1"), ("10.244.1.200", "node-1")):
        d = document(DUMP, "--to=10.96.0.10:80", f"--from={client}")
        assert [n["name"] for n in d["nodes"]] == [node], (client, d["nodes"])
    d = document(DUMP, "--to=10.96.0.10:80", "--from=pod/demo/web-3")            # it may meet itself
    assert {e["pod"]: e["source"] for e in d["endpoints"]} == {"web-1": "kept", "web-2": "kept", "web-3": "node"}, d


# --- bad input -----------------------------------------------------------------------------------------------------------

def because(change, to="203.0.113.10:80"):
    r = trace(edited(change), f"--to={to}")
    assert r.returncode == 2, r
    return " ".join(r.stdout.split())


def test_why__each_way_to_have_no_endpoints():
    def on_slices(**members):
        return lambda kind, name, o: o.update(members) if kind == "EndpointSlice" else None

    def gone(kind, name, o):
        if name == "web-abcde":
            o["kind"] = "Other"

    def label(kind, _, o):
        if kind == "EndpointSlice":
            o["metadata"]["labels"]["service.kubernetes.io/headless"] = ""

    def unselected(kind, _, o):
        if kind == "EndpointSlice":
            o["endpoints"] = []
        if kind == "Service":
            o["spec"].pop("selector")
    rows = (
        (gone, "the Service has no EndpointSlice: no pod matches its selector app=web"),
        (on_slices(endpoints=[]), "its EndpointSlices are empty: no pod matches its selector app=web"),
        (unselected, "the Service has no selector"),
        (on_slices(ports=None), "no port named \"http\" of protocol TCP (they have no ports)"),
        (on_slices(ports=[{"name": "web", "port": 80, "protocol": "TCP"}]), "(they have \"web\" TCP)"),
        (on_slices(addressType="FQDN"), "none of its 1 EndpointSlices is of address type IPv4"),
        (label, "all its EndpointSlices have the label service.kubernetes.io/headless"),
        (on_slices(endpoints=[{"addresses": []}]), "none of its 1 endpoints has an address"),
    )
    for change, words in rows:
        text = because(change)
        assert text.startswith("No: ") and words in text and "Next: " in text, (words, text)


def test_why__services_that_kube_proxy_does_not_serve():
    def spec(**members):
        return lambda kind, name, o: o["spec"].update(members) if name == "web" and kind == "Service" else None

    def other_proxy(kind, name, o):
        if name == "web":
            o["metadata"]["labels"] = {"service.kubernetes.io/service-proxy-name": "x"}
    for change, words in ((spec(clusterIP="None", clusterIPs=["None"]), "it is headless"),
                          (spec(clusterIP="", clusterIPs=[]), "it has no cluster IP yet"),
                          (other_proxy, "kube-proxy leaves it to another proxy")):
        assert words in because(change), words


def test_objects__that_cannot_be_read__are_left_out_with_a_warning():
    def wreck(kind, name, o):
        if name == "api-abcde":
            o["endpoints"] = "none"
        if name == "old":
            o["metadata"]["name"] = ""
        if name == "node-3":
            o["metadata"] = 5
    r = trace(edited(wreck), "--to=203.0.113.10:80")
    assert r.returncode == 0 and r.stderr.count("cannot be read and is left out") == 3, r
    assert "EndpointSlice demo/api-abcde" in r.stderr and "metadata.name is missing" in r.stderr, r.stderr


def test_names__that_no_api_server_stores__reach_no_rule_and_no_terminal():
    evil = 'x\n-A INPUT -j ACCEPT', 'x" ; drop', "x\x1b[31m", "x\u202ey"
    for value in evil:
        for where in (lambda o, v: o["metadata"].update(name=v), lambda o, v: o["metadata"].update(namespace=v),
                      lambda o, v: o["spec"]["ports"][0].update(name=v),
                      lambda o, v: o["spec"]["ports"][0].update(protocol=v)):
            def change(kind, name, o, where=where, value=value):
                if kind == "Service" and name == "web":
                    where(o, value)
            for mode in ("iptables", "ipvs", "nftables"):
                r = run("render", "--node=node-1", f"--mode={mode}", "-f", "-", stdin=json.dumps(edited(change)))
                assert r.returncode == 0 and "has characters that the API server allows in no name" in r.stderr, r.stderr
                assert not set("\x1b\u202e").intersection(r.stdout + r.stderr), r
                assert "-A INPUT -j ACCEPT" not in r.stdout and "drop\"" not in r.stdout, r.stdout


def test_files__without_slices():
    for items, words in (([o for o in DUMP["items"] if o["kind"] != "EndpointSlice"], "not known: kubectl get"),
                         ([o if o["kind"] != "EndpointSlice" else {"kind": "Pod", "metadata": {"name": "p"}}
                           for o in DUMP["items"] if o["kind"] != "Node"], "(Pods stand in for them with their Nodes)")):
        r = trace({"kind": "List", "items": items}, "demo/web")
        assert r.returncode == 1 and r.stdout == "" and words in r.stderr, r
        assert r.stderr.startswith("error: there is no EndpointSlice in the files"), r


def test_files__with_pods_in_place_of_slices():
    """Slices computed from the Pods give the same shares as the controller's own."""
    pods = [{"apiVersion": "v1", "kind": "Pod",
             "metadata": {"name": e["targetRef"]["name"], "namespace": "demo", "labels": {"app": "web"}},
             "spec": {"nodeName": e["nodeName"], "containers": [{"name": "c", "ports": [{"containerPort": 8080}]}]},
             "status": {"phase": "Running", "podIP": e["addresses"][0], "podIPs": [{"ip": e["addresses"][0]}],
                        "conditions": [{"type": "Ready", "status": "True"}]}}
            for o in DUMP["items"] if o["metadata"]["name"] == "web-abcde" for e in o["endpoints"]]
    dump = {"kind": "List", "items": [o for o in DUMP["items"] if o["kind"] != "EndpointSlice"] + pods}
    r = trace(dump, "--to=203.0.113.10:80", "-o", "json")
    assert "slices made from the Pods are used instead" in r.stderr, r
    want = {(e["pod"], e["probability"], e["zone"]) for e in document(DUMP, "--to=203.0.113.10:80")["endpoints"]}
    assert {(e["pod"], e["probability"], e["zone"]) for e in json.loads(r.stdout)["endpoints"]} == want, r.stdout
    assert "its EndpointSlices are empty: no pod matches its selector app=shop" in \
        " ".join(trace(dump, "--to=203.0.113.20:80").stdout.split())


def test_files__that_are_no_dump():
    whole = json.dumps(DUMP)
    for text, words in ((whole[:len(whole) // 2], "standard input: "), ("", "there is no Service"), ("[]", "there is no Service"),
                        ("null", "there is no Service"), ("a: [b", "standard input: line "),
                        ('{"kind": "List", "items": 5}', "there is no Service")):
        r = trace(text, "demo/web")
        assert r.returncode == 1 and r.stdout == "" and words in r.stderr and r.stderr.count("\n") == 1, (text[:40], r)


def many(n):
    """The dump, with n endpoints in the one slice of demo/web, the last of them twice."""
    def grow(_, name, o):
        if name == "web-abcde":
            first = o["endpoints"][0]
            o["endpoints"] = [{**first, "addresses": [f"10.{i // 65536 + 1}.{i // 256 % 256}.{i % 256}"]}
                              for i in range(n - 1)]
            o["endpoints"].append(o["endpoints"][-1])
    return edited(grow)


def test_many_endpoints__are_counted_and_cut():
    r = trace(many(20001), "--to=203.0.113.10:80")
    assert r.returncode == 1 and "endpoints: want at most 20000 items, got 20001" in r.stderr, r.stderr
    assert "an EndpointSlice of demo/web cannot be read" in r.stderr and r.stdout == "", r
    d = document(many(20000), "--to=203.0.113.10:80", "--all-nodes")
    assert len(d["endpoints"]) == 19999 and abs(sum(e["probability"] for e in d["endpoints"]) - 1) < 1e-6
    r = trace(many(51), "--to=203.0.113.10:80")
    assert r.returncode == 0 and "… and 30 more pods" in r.stdout, r.stdout[-600:]
    assert "more pods" not in trace(many(51), "--to=203.0.113.10:80", "-v").stdout


# --- render and its comparison ----------------------------------------------------------------------------------------------

BUILT_IN = {"filter": ["INPUT", "FORWARD", "OUTPUT"], "nat": ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"]}
JUMPS = {"filter": [*(f"{c} -m conntrack --ctstate NEW -j {t}" for c, t in (
    ("INPUT", "KUBE-EXTERNAL-SERVICES"), ("FORWARD", "KUBE-EXTERNAL-SERVICES"), ("FORWARD", "KUBE-SERVICES"),
    ("OUTPUT", "KUBE-SERVICES"), ("INPUT", "KUBE-PROXY-FIREWALL"), ("OUTPUT", "KUBE-PROXY-FIREWALL"),
    ("FORWARD", "KUBE-PROXY-FIREWALL"))), "INPUT -j KUBE-NODEPORTS", "FORWARD -j KUBE-FORWARD"],
         "nat": ["PREROUTING -j KUBE-SERVICES", "OUTPUT -j KUBE-SERVICES", "POSTROUTING -j KUBE-POSTROUTING"]}


def node_text(**kw):
    """The output of iptables-save on node-1: counters, built-in chains, and chains of others around kube-proxy's."""
    r = run("render", "--node=node-1", "-f", "dump.json", *(f"--{k}={v}" for k, v in kw.items()))
    assert r.returncode == 0 and r.stdout, r
    out, table = ["# Generated by iptables-save"], ""
    for line in r.stdout.splitlines():
        if line.startswith("*"):
            table = line[1:]
            out += [line, *(f":{c} ACCEPT [12:3456]" for c in BUILT_IN[table]), ":KUBE-KUBELET-CANARY - [0:0]"]
        elif line == "COMMIT":
            out += [*(f"-A {j}" for j in JUMPS[table]), "-A FORWARD -s 172.17.0.0/16 -j ACCEPT", line]
        else:
            out.append(f"[3:180] {line}" if line.startswith("-A") else line)
    return "\n".join(out) + "\n"


def diff(text, *args):
    return run("render", "--node=node-1", "-f", "dump.json", "--diff=-", *args, stdin=text)


def test_diff__of_what_is_rendered__is_none():
    text = node_text()
    for same in (text, text.replace("[3:180] ", ""), text.replace("0x4000", "0x8000"), text.replace(" --random-fully", ""),
                 text.replace("[3:180] -A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP\n", "")):
        r = diff(same)
        assert r.returncode == 0 and r.stdout.startswith("node-1 has what kube-proxy would install"), r
    assert "masqueradeBit is 15 there, 14" in " ".join(diff(text.replace("0x4000", "0x8000")).stdout.split())
    lines = text.splitlines()
    rules = [i for i, line in enumerate(lines) if "-A KUBE-SERVICES -d" in line and i > lines.index("*nat")]
    assert len(rules) > 3 and rules[-1] - rules[0] == len(rules) - 1, rules
    lines[rules[0]:rules[-1] + 1] = reversed(lines[rules[0]:rules[-1] + 1])      # shared chains have no order
    assert diff("\n".join(lines)).returncode == 0


def test_diff__each_kind_of_difference__in_words():
    text = node_text()
    lines = text.splitlines()

    def without(*words):
        return "\n".join(line for line in lines if not all(w in line for w in words)) + "\n"
    sep = next(line.split()[-1] for line in lines if "demo/web:http -> 10.244.1.11:8080" in line)
    foreign = text.replace("COMMIT", "-A KUBE-SVC-AAAAAAAAAAAAAAAA -m comment --comment \"demo/gone -> 10.9.9.9:80\" "
                           "-j KUBE-SEP-AAAAAAAAAAAAAAAA\nCOMMIT")
    rows = (
        (without("KUBE-SERVICES", "10.96.0.10/32"), "demo/web:http", "missing on the node: rule of KUBE-SERVICES (nat)", 1),
        (without(sep), "demo/web:http", f"missing on the node: endpoint 10.244.1.11:8080 ({sep})", 1),
        (foreign, "demo/gone", "only on the node: chain KUBE-SVC-AAAAAAAAAAAAAAAA", 2),
        (without("-A PREROUTING", "KUBE-SERVICES"), "All Services",
         "missing on the node: jump from PREROUTING (nat) to KUBE-SERVICES: no packet", 1),
        (text.replace("--to-destination 10.244.1.10:8080", "--to-destination 10.244.1.99:8080"), "demo/web:http",
         "only on the node: rule of " + "KUBE-SEP-", 2),
    )
    for node, subject, words, count in rows:
        r = diff(node)
        assert r.returncode == 2, (words, r)
        assert subject in r.stdout.splitlines() and words in r.stdout, (words, r.stdout)
        assert f"node-1 differs: {count} difference" in r.stdout, (words, r.stdout)


def test_diff__of_an_old_release__is_said_once():
    text = "\n".join([
        "*nat", ":PREROUTING ACCEPT [0:0]", ":KUBE-SERVICES - [0:0]", ":KUBE-NODEPORTS - [0:0]",
        "-A PREROUTING -j KUBE-SERVICES", "-A OUTPUT -j KUBE-SERVICES", "-A POSTROUTING -j KUBE-POSTROUTING",
        "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000",
        '-A KUBE-SERVICES -d 10.96.0.20/32 -p tcp -m comment --comment "demo/api: cluster IP" -m tcp --dport 443 -j KUBE-SVC-X',
        "COMMIT", ""])
    r = diff(text)
    assert r.returncode == 2 and r.stdout.count("release 1.19 or older") + r.stdout.count("release 1.19 or\n") == 1, r
    assert "missing on the node: endpoint 10.244.1.20:8443" in r.stdout, r.stdout


def test_diff__of_something_else__is_an_error():
    for text, words in (("", "no table filter or nat"), ("hello\n", "line 1 is not one of iptables-save: \"hello\""),
                        ("*nat\nCOMMIT\n", "no chain KUBE-SERVICES in table nat"),
                        ("*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-LOAD-BALANCER - [0:0]\nCOMMIT\n", "rules of mode ipvs"),
                        ("*nat\n-A KUBE-SERVICES " + "x" * 70000, "longer than 65536 bytes")):
        r = diff(text)
        assert r.returncode == 1 and words in r.stderr and r.stdout == "", (words, r)


def test_diff__of_ipvs__servers_and_sets():
    def ipvs(text):
        return run("render", "--node=node-1", "-f", "dump.json", "--mode=ipvs", "--diff=-", stdin=text)
    text = run("render", "--node=node-1", "-f", "dump.json", "--mode=ipvs").stdout
    kernel = text.replace("maxelem 65536", "maxelem 65536 bucketsize 12 initval 0x5a3d2e1f")
    saved = kernel[kernel.index("*nat"):]
    lines = kernel[:kernel.index("*nat")].splitlines()
    only_sets = "\n".join(line for line in lines if line.split(" ")[0] in ("create", "add"))
    mixed = saved.replace("-A ", "[7:420] -A ") + "\n".join(reversed(lines))
    draining = kernel + "-a -t 10.96.0.10:80 -r 10.244.1.77:8080 -m -w 0\n"
    bridge = kernel + "-A -t 172.17.0.1:30080 -s rr\n-a -t 172.17.0.1:30080 -r 10.244.1.10:8080 -m -w 1\n"
    for same, note in ((kernel, ""), (bridge, "1 virtual server for node ports on addresses that the Node object does not"), (mixed, ""), ("\n".join(lines), "rules around"),
                       (saved, "sets are not compared"), (only_sets, "servers are not compared"), (kernel.replace("0x4000", "0x100"), "masqueradeBit is 8"),
                       (draining, "1 real server of weight 0")):
        r = ipvs(same)
        assert r.returncode == 0 and note in r.stdout and "node-1 has what" in r.stdout, (note, r)
    rows = (
        ("-a -t 10.96.0.10:80 -r 10.244.1.11:8080 -m -w 1\n", "", "demo/web:http",
         "- missing on the node: real server 10.244.1.11:8080 of TCP 10.96.0.10:80"),
        ("add KUBE-LOAD-BALANCER-FW 203.0.113.20,tcp:80\n", "", "demo/shop",
         "- missing on the node: entry 203.0.113.20,tcp:80 of the set KUBE-LOAD-BALANCER-FW"),
        ("add KUBE-NODE-PORT-TCP 30081\n", "", "demo/shop", "- missing on the node: entry 30081 of the set KUBE-NODE-PORT-TCP"),
        ("198.51.100.0/24", "198.51.0.0/16", "demo/shop",
         "+ only on the node: entry 203.0.113.20,tcp:80,198.51.0.0/16 of the set KUBE-LOAD-BALANCER-SOURCE-CIDR"),
        ("-A -t 10.0.0.1:30080 -s rr\n", "-A -t 10.0.0.1:30080 -s lc\n", "demo/web:http",
         "~ changed on the node: virtual server TCP 10.0.0.1:30080"),
    )
    for old, new, subject, words in rows:
        assert old in kernel, old
        r = ipvs(kernel.replace(old, new, 1) if old.startswith("-") else kernel.replace(old, new))
        assert r.returncode == 2 and subject in r.stdout.splitlines() and f"  {words}\n" in r.stdout, (words, r.stdout)
    rules = saved.splitlines()
    first = next(i for i, line in enumerate(rules) if line.startswith("-A KUBE-SERVICES"))
    swapped = [*rules[:first], rules[first + 1], rules[first], *rules[first + 2:]]
    rows = (
        ([line for line in rules if "-A KUBE-SOURCE-RANGES-FIREWALL -j DROP" not in line],
         "- missing on the node: rule of KUBE-SOURCE-RANGES-FIREWALL (filter)"),
        (swapped, "~ changed on the node: order of the rules of KUBE-SERVICES"),
        ([*rules[:-1], "-A KUBE-FORWARD -j DROP", "COMMIT"], "+ only on the node: rule of KUBE-FORWARD (filter)"),
        (["*nat", ":PREROUTING ACCEPT [0:0]", "COMMIT", *rules],
         "- missing on the node: jump from PREROUTING (nat) to KUBE-SERVICES: no packet from outside or from pods meets a Service"),
    )
    for some, words in rows:
        r = ipvs("\n".join(some) + "\n")
        assert r.returncode == 2 and f"  {words}\n" in r.stdout, (words, r.stdout, r.stderr)
    for text, words in (("*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n", "these are the rules of mode iptables"), ("hello\n", "no set, no virtual server"),
                        (f"create KUBE-X hash:ip\n\n{saved[:-20]}", "without COMMIT"), ("a\n*nat\nhello\n", "line 3 is not one of")):
        r = ipvs(text)
        assert r.returncode == 1 and words in r.stderr, (words, r)


# --- the rules on the way ----------------------------------------------------------------------------------------

def rendered_lines(mode):
    """{"CHAIN rule"} of node-1, elements of maps among them."""
    found = set()
    for line in run("render", "--node=node-1", "-f", "dump.json", f"--mode={mode}").stdout.splitlines():
        words = line.split(" ", 4)
        if line.startswith("-A KUBE-"):
            found.add(line[3:])
        elif words[:2] in (["add", "rule"], ["add", "element"]):
            found.add(words[4])
    return found


def test_rules__stand_in_what_is_rendered():
    targets = ("203.0.113.10:80", "203.0.113.20:80", "10.96.0.10:80", "10.96.0.20:443", "10.0.0.1:30080", "10.0.0.1:32000", "203.0.113.10:81")
    clients = ([], ["--from=192.0.2.7"], ["--from=198.51.100.9"], ["--from=10.0.0.1"], ["--from=pod/demo/web-1"])
    for mode in ("iptables", "ipvs", "nftables"):
        lines, with_rule, steps = rendered_lines(mode), 0, 0
        for to in targets:
            for client in clients:
                x = document(DUMP, f"--to={to}", "--node=node-1", f"--mode={mode}", *client)
                for hop in (h for h in x["hops"] if h["at"] in ("chain", "set", "map")):
                    steps += 1
                    if hop["rule"] is None:
                        assert hop["why"] is not None or mode == "ipvs", (mode, to, client, hop)
                    elif hop["name"] != "ip_vs":
                        with_rule += 1
                        assert hop["rule"] in lines or f'{hop["name"]} {hop["rule"]}' in lines, (mode, to, client, hop)
                assert x["hops"][-1]["at"] != "pod" or x["hops"][-1]["why"].startswith("probability "), x["hops"]
                assert x["nodes"][0]["hops"] == [h for h in x["hops"] if h["at"] in ("chain", "set", "map")], x
        assert steps > 30 and with_rule > steps * (0.3 if mode == "ipvs" else 0.7), (mode, steps, with_rule)


def test_rules__are_those_that_the_packet_meets():
    def rules(mode, to, *args):
        x = document(DUMP, f"--to={to}", "--node=node-1", f"--mode={mode}", *args)
        return [(h["rule"] or "none", h["why"] or "") for h in x["hops"] if h["at"] in ("chain", "set", "map")]
    rows = (
        (rules("iptables", "203.0.113.20:80", "--from=192.0.2.7"), ("-d 203.0.113.20/32 .*-j KUBE-FW-.*", "none", ".*-j DROP"), "no rule of it"),
        (rules("iptables", "203.0.113.20:80", "--from=198.51.100.9"),
         (".*-j KUBE-FW-.*", "-s 198.51.100.0/24 .*-j KUBE-EXT-.*", "-j KUBE-SVC-.*", "-j MARK .*", ".*--probability 0.5.* -j KUBE-SEP-.*"),
         "the first of 2 rules"),
        (rules("iptables", "203.0.113.10:80", "--from=10.0.0.1"),
         (".*-j KUBE-EXT-.*", ".*--src-type LOCAL -j KUBE-SVC-.*", "-j MARK .*", ".*-j KUBE-SEP-.*"), "its source address becomes the node's"),
        (rules("nftables", "203.0.113.20:80", "--from=192.0.2.7"), (".*vmap @firewall-ips", r"ip saddr != \{ 198.51.100.0/24 \} drop"), "dropped"),
        (rules("ipvs", "203.0.113.20:80", "--from=192.0.2.7"), ("-j DROP",), "dropped"),
    )
    for found, want, why in rows:
        assert len(found) == len(want) and all(re.fullmatch(w, f[0]) for w, f in zip(want, found, strict=True)), (want, found)
        assert any(f[1].startswith(why) or why in f[1] for f in found), (why, found)
    assert all(h["rule"] is None for h in document(DUMP, "--to=203.0.113.10:80", "--node=node-1")["hops"] if h["at"] in ("load balancer", "node", "pod"))


def test_node_itself__is_not_refused_without_endpoints():
    def no_endpoints(kind, _, o):
        if kind == "EndpointSlice":
            o["endpoints"] = []
    dump = edited(no_endpoints)
    rows = (("iptables", "node/node-1", "203.0.113.20:80", "unreachable"), ("iptables", "192.0.2.7", "203.0.113.10:80", "rejected"),
            ("iptables", "10.244.1.10", "203.0.113.10:80", "rejected"), ("iptables", "node/node-1", "10.96.0.10:80", "rejected"),
            ("iptables", "node/node-1", "10.0.0.1:30080", "rejected"), ("nftables", "node/node-1", "203.0.113.10:80", "rejected"))
    for mode, client, to, verdict in rows:
        x = document(dump, f"--mode={mode}", f"--from={client}", f"--to={to}", "--node=node-1")
        assert x["verdict"] == verdict, (mode, client, to, x)
        leaves = verdict == "unreachable"
        assert leaves == ("the packet of its own process leaves it" in x["answer"]), x["answer"]
        assert not leaves or "KUBE-EXTERNAL-SERVICES" not in [h["name"] for h in x["hops"]], x["hops"]


def nft_diff(text, *args):
    return run("render", "--node=node-1", "-f", "dump.json", "--mode=nftables", "--diff=-", *args, stdin=text)


def nft_table():
    """Recorded output of a kernel: `trimtab render --mode=nftables … | nft -f -`, then `nft -j list table ip kube-proxy`, without handles."""
    with open(os.path.join(CASES, "node-1.nft.json"), encoding="utf-8") as f:
        return json.load(f)


def nft_edited(change):
    table = nft_table()
    table["nftables"] = [item for item in table["nftables"] if change(*next(iter(item.items()))) is not False]
    return json.dumps(table)


def nft_turn(kind, o):
    """Counters, handles, and another order of elements and endpoints."""
    o["handle"] = 7
    o.get("elem", []).reverse()
    if kind == "rule":
        o["expr"].insert(-1, {"counter": {"packets": 3, "bytes": 180}})
        o.pop("comment", None)
        for e in o["expr"]:
            if "dnat" in e and "addr" in e["dnat"] and "map" in e["dnat"]["addr"]:
                choices = e["dnat"]["addr"]["map"]["data"]["set"]
                for number, choice in enumerate(reversed(choices)):
                    choice[0] = number


def test_diff__of_nftables__the_same_table_is_equal():
    mine = nft_table()
    mine["nftables"].append({"rule": {"family": "inet", "table": "mine", "chain": "x", "expr": [{"drop": None}]}})
    mine["nftables"].reverse()
    rows = ((json.dumps(nft_table()), ""), (nft_edited(nft_turn), ""), (json.dumps(mine), "1 other rules ignored"),
            (json.dumps(nft_table()).replace("16384", "32768"), "masqueradeBit is 15 there, 14"),
            (json.dumps(nft_table()).replace('"fully-random"', "null"), "without fully-random"))
    for text, note in rows:
        r = nft_diff(text)
        # the rules of a chain stand in a list: the other order of all items is not equal, and is said
        assert r.returncode == (2 if text == json.dumps(mine) else 0) and note in " ".join(r.stdout.split()), (note, r)
    only = [line for line in nft_diff(json.dumps(mine)).stdout.splitlines() if line.startswith("  ")]
    assert only and all("order of the rules of" in line for line in only if line.startswith("  ~")), only


def test_diff__of_nftables__each_kind_of_difference__in_words():
    def choices(o):
        return next((e["dnat"]["addr"]["map"]["data"]["set"] for e in o["expr"] if "map" in e.get("dnat", {}).get("addr", {})), [])

    def an_endpoint_less(kind, o):
        if kind == "rule" and len(choices(o)) > 1 and o["chain"].endswith("demo/web/tcp/http"):
            choices(o).pop()

    def a_map_less(kind, o):
        return not (kind == "map" and o["name"] == "service-nodeports")

    def another_target(kind, o):
        if kind == "map" and o["name"] == "service-ips":
            o["elem"][0][1] = {"drop": None}

    def another_hook(kind, o):
        if kind == "chain" and o["name"] == "nat-prerouting":
            o["prio"] = 0

    def a_port_more(kind, o):
        if kind == "map" and o["name"] == "service-nodeports":
            o["elem"].append([{"concat": ["tcp", 31999]}, {"goto": {"target": "external-AAAAAAAA-demo/gone/tcp/http"}}])

    def an_unknown_statement(kind, o):
        if kind == "rule" and o["chain"] == "services":
            o["expr"].append({"log": {"prefix": "seen"}})
    rows = (
        (an_endpoint_less, "demo/web:http", r"- missing on the node: endpoint 10\.244\.\S+:8080 of chain \S+demo/web/tcp/http"),
        (a_map_less, "All Services", r"- missing on the node: map service-nodeports"),
        (another_target, "demo/[a-z:]+", r"~ changed on the node: \S+ . tcp . \d+ in the map service-ips"),
        (another_hook, "All Services", r"~ changed on the node: hook of nat-prerouting"),
        (a_port_more, "demo/gone:http", r"\+ only on the node: tcp . 31999 in the map service-nodeports"),
        (an_unknown_statement, "All Services", r"\+ only on the node: rule of services\n +have +.* \{\"log\":\{\"prefix\":\"seen\"\}\}"),
    )
    for change, subject, words in rows:
        r = nft_diff(nft_edited(change))
        assert r.returncode == 2 and re.search(rf"(?m)^{subject}$", r.stdout) and re.search(rf"(?m)^  {words}$", r.stdout), (words, r.stdout)


def test_diff__of_nftables__something_else_is_an_error():
    whole = json.dumps(nft_table())
    other = whole.replace('"kube-proxy"', '"other"')
    for text, words in (("", "want the output of nft -j list table ip kube-proxy"), (whole[:-40], "want the output of nft -j"),
                        ("table ip kube-proxy {\n}\n", "what nft prints for people"), ("[]", "no table ip kube-proxy in it"),
                        (other, "no table ip kube-proxy in it"), ('{"nftables": [1, {"rule": 2}, {"chain": null}]}', "no table ip")):
        r = nft_diff(text)
        assert r.returncode == 1 and words in r.stderr and r.stdout == "", (words, r)
    r = nft_diff(whole, "--family=IPv6")
    assert r.returncode == 1 and "no table ip6 kube-proxy" in r.stderr, r
    broken = '{"nftables": [{"table": {"family": "ip", "name": "kube-proxy"}}, {"rule": {"family": "ip", "table": "kube-proxy", '
    for rest in ('"expr": [{"dnat": {"addr": 7}}, {"match": 3}, {"vmap": []}, {"set": null}, 5]}}]}', '"chain": 4, "expr": {}}}]}',
                 '"chain": "services", "expr": [{"match": {"op": "==", "left": {"&": [1]}, "right": {"range": [1]}}}]}}]}'):
        assert nft_diff(broken + rest).returncode == 2, rest


def test_render__every_mode_and_family():
    for args, words in ((["--form=restore"], ":KUBE-SERVICES - [0:0]"), (["--form=load"], "-A PREROUTING -m comment"), (["--mode=ipvs"], "KUBE-LOOP-BACK"),
                        (["--mode=nftables"], "add table ip kube-proxy"), (["--family=IPv6"], "*nat"),
                        (["--mode=nftables", "--family=ipv6"], "add table ip6 kube-proxy")):
        r = run("render", "--node=node-1", "-f", "dump.json", *args)
        assert r.returncode == 0 and words in r.stdout, (args, r.stdout[:300], r.stderr)


# --- a simulated cluster -------------------------------------------------------------------------------------------------------

def test_cluster__is_only_listed__and_follows_pods():
    with World(PROGRAMS, "--nodes=3") as w:
        w.create("web", externalTrafficPolicy="Local")
        ns = w.get("web")["metadata"]["namespace"]
        w.must("PUT", f"/sim/pods/{ns}/web", {"node-0": 2})
        w.forget_calls()
        args = [f"{ns}/web", f"--kubeconfig={w.kubeconfig}", "-o", "json"]
        r = run("trace", *args)
        calls = w.calls()["kubernetes"]
        assert all(name.split(".")[-1] in ("get", "list") for name in calls), calls
        traces = {t["kind"]: t for t in json.loads(r.stdout)}
        assert r.returncode == 2 and traces["load balancer address"]["verdict"] == "unreachable", r     # none yet
        port = traces["node port"]
        assert (port["verdict"], [n["ready"] for n in port["nodes"]]) == ("delivered", [2, 0, 0]), port
        assert {e["node"]: e["probability"] for e in port["endpoints"]} == {"node-0": 0.5}, port
        w.must("PUT", f"/sim/pods/{ns}/web", {})
        after = {t["kind"]: t for t in json.loads(run("trace", *args).stdout)}
        assert after["cluster IP"]["verdict"] == "rejected" and after["node port"]["endpoints"] == [], after


def test_cluster__with_its_load_balancer__asks_the_provider():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*w.flags())
        w.create("web")
        address = w.until_address("web")
        ns = w.get("web")["metadata"]["namespace"]
        w.must("PUT", f"/sim/pods/{ns}/web", {"node-1": 1})
        port = w.get("web")["spec"]["ports"][0]["port"]
        r = run("trace", f"--to={address}:{port}", f"--kubeconfig={w.kubeconfig}", "--cloud-provider=gce",
                f"--cloud-config={os.path.join(w.conf, 'gce.conf')}", "-o", "json", env=w.environment())
        d = json.loads(r.stdout)
        assert r.returncode == 0 and d["verdict"] == "delivered" and d["service"] == f"{ns}/web", r
        assert "is served by" in d["load_balancer"]["explanation"] and d["load_balancer"]["health_check"], d["load_balancer"]
        assert d["endpoints"][0]["probability"] == 1 and d["endpoints"][0]["node"] == "node-1", d["endpoints"]


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[5:])))
