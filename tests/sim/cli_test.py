#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of trimtab: plan, explain, check-config, version, completion, help.

    cli_test.py TRIMTAB_SIM TRIMTAB PLUGIN_DIR [TEST…]     (TAP on stdout)

Every command runs as a person would run it, against a simulated cluster and cloud; what is planned must leave both as
they were.  PLUGIN_DIR holds pool.so, a provider that cannot plan.
"""
import glob
import json
import os
import pty
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
PLUGINS = sys.argv[3]
COMMANDS = ("plan", "explain", "trace", "render", "check-config", "orphans", "status", "rbac", "version", "completion")
COLUMNS = 100


def run(*args, stdin="", env=None, cwd=None):
    return subprocess.run([os.path.abspath(PROGRAMS[1]), *args], input=stdin, capture_output=True, text=True,
                          check=False, timeout=180, cwd=cwd,
                          env={"PATH": os.environ["PATH"], **(env or {})})


class Cluster(World):
    """A World whose command line is at hand."""

    def cli(self, command, *args, stdin="", cluster=True):
        flags = ["--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf"]
        if cluster:
            flags.append(f"--kubeconfig={self.kubeconfig}")
        return run(command, *flags, *args, stdin=stdin, env=self.environment(), cwd=self.folder)

    def write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)
        return name

    def frozen(self):
        """The cluster and the cloud, to be compared later."""
        return self.must("GET", "/sim/state")


def manifest(name, meta="", spec=""):
    return (f"apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  namespace: default\n{meta}"
            f"spec:\n  type: LoadBalancer\n  ports: [{{port: 80}}]\n{spec}")


def fits(text):
    wide = [line for line in text.splitlines() if len(line) > COLUMNS and " " in line.strip()]
    assert not wide, wide
    blank = [line for line in text.splitlines() if line != line.rstrip()]
    assert not blank, blank


def on_terminal(argv, env, cwd):
    """Runs with stdout and stderr on a terminal; what it printed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(argv[0], argv, env)
    out = b""
    while True:
        try:
            piece = os.read(fd, 4096)
        except OSError:                             # Linux: the other end is closed
            break
        if not piece:
            break
        out += piece
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode()


# --- help, version, completion -----------------------------------------------------------------------------

def test_help__every_command_fits_the_terminal():
    for args in (["--help"], ["help"], *([c, "--help"] for c in COMMANDS), *(["help", c] for c in COMMANDS),
                 ["plan", "--cloud-provider=gce", "-h"], ["--cloud-provider=gce", "--help"]):
        r = run(*args)
        assert r.returncode == 0 and r.stderr == "", (args, r)
        assert "Usage:\n  trimtab" in r.stdout, (args, r.stdout)
        fits(r.stdout)
    assert run("help", "plan").stdout == run("plan", "--help").stdout
    assert "--enable-l4-deny-firewall" in run("explain", "--cloud-provider=gce", "--help").stdout


def test_help__top_level_names_every_command_first():
    text = run("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", text, re.M), command
    assert text.index("Commands:") < text.index("Generic flags:")
    assert 'Use "trimtab <command> --help" for more' in text


def test_unknown_words__did_you_mean():
    for args, text in (
            (["pln"], 'error: unknown command "pln" for "trimtab"; did you mean "plan"?\n'),
            (["halp"], 'did you mean "help"?'),
            (["help", "explan"], 'error: unknown command "explan" for "trimtab"; did you mean "explain"?'),
            (["zzzzzzzz"], 'error: unknown command "zzzzzzzz" for "trimtab"\n'),
            (["plan", "--kubeconfg=x"], "error: unknown flag: --kubeconfg; did you mean --kubeconfig?"),
            (["plan", "--cloud-provider=gce", "--enable-l4-deny-firewal"], "did you mean --enable-l4-deny-firewall?"),
            (["version", "--outptu=json"], "did you mean --output?"),
            (["completion", "bahs"], 'error: unknown shell "bahs"; allowed: bash, zsh, fish'),
            (["--kubeconfg=x"], "did you mean --kubeconfig?"),
            (["plan", "-x"], "error: unknown shorthand flag: 'x' in -x"),
            (["plan", "--state"], "error: flag needs an argument: --state"),
            (["plan"], "error: --cloud-provider is missing; built in: aws, azure, gce, local"),
            (["plan", "--cloud-provider=gec"], 'error: unknown cloud provider "gec": built in are: aws, azure, gce, local; there is no /'),
            (["plan", "--cloud-provider=gec"], "/trimtab/providers/gec.so"),
            (["explain", "--cloud-provider=gce"], "error: name a Service (NAMESPACE/NAME) or a manifest (-f FILE)"),
            (["version", "x"], 'error: unknown argument "x": only flags are taken here')):
        r = run(*args)
        assert r.returncode == 1 and r.stdout == "" and text in r.stderr, (args, r)
        if not args[0].startswith("-") and "provider=gec" not in args[-1]:
            assert re.search(r"Run 'trimtab .*--help' for usage\.\n$", r.stderr), (args, r.stderr)


def test_version__text_and_json():
    r = run("version")
    assert r.returncode == 0 and r.stdout.startswith("trimtab ") and "providers: aws, azure, gce, local\n" in r.stdout, r
    facts = json.loads(run("version", "-o", "json").stdout)
    assert facts["providers"] == ["aws", "azure", "gce", "local"] and facts["kubernetes"] == "1.36" and facts["version"] in r.stdout


def completed(script, *words):
    """The completions that bash offers for the last word."""
    quoted = " ".join(f"'{w}'" for w in words)
    code = (f"compopt() {{ :; }}\n{script}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n_trimtab\n"
            'printf "%s\\n" "${COMPREPLY[@]}"')
    r = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert r.stderr == "", r.stderr
    return set(r.stdout.split())


def test_a_provider_that_cannot_plan_or_list__says_so():
    pool = ["--cloud-provider=pool", f"--provider-plugin-dir={PLUGINS}"]
    r = run(*pool, "--leader-elect=false", "--secure-port=0", "--drift=report")
    assert r.returncode == 1, r
    assert '--drift=report: provider "pool" cannot plan' in r.stderr and "--drift=repair" in r.stderr, r.stderr
    r = run("orphans", *pool)
    assert r.returncode == 1 and "the provider pool cannot list its resources in the cloud" in r.stderr, r


def test_completion__bash_completes():
    r = run("completion", "bash")
    assert r.returncode == 0
    subprocess.run(["bash", "-n"], input=r.stdout, text=True, check=True)
    assert completed(r.stdout, "trimtab", "pl") == {"plan"}
    assert completed(r.stdout, "trimtab", "plan") == {"plan"}
    assert set(COMMANDS) < completed(r.stdout, "trimtab", "")
    assert completed(r.stdout, "trimtab", "plan", "--sta") == {"--state="}
    assert completed(r.stdout, "trimtab", "plan", "--no-") == {"--no-color"}
    assert completed(r.stdout, "trimtab", "plan", "--cloud-provider", "=") == {"aws", "azure", "gce", "local"}
    assert completed(r.stdout, "trimtab", "plan", "--cloud-provider", "=", "g") == {"gce"}
    assert completed(r.stdout, "trimtab", "plan", "-o", "") == {"json"}
    assert completed(r.stdout, "trimtab", "plan", "--validate", "=", "w") == {"warn"}
    assert completed(r.stdout, "trimtab", "status", "-n", "") == set()
    assert completed(r.stdout, "trimtab", "completion", "f") == {"fish"}
    assert completed(r.stdout, "trimtab", "help", "exp") == {"explain"}
    assert completed(r.stdout, "trimtab", "--kube-api-q") == {"--kube-api-qps="}
    assert completed(r.stdout, "trimtab", "plan", "-f", "/etc/host") >= {"/etc/hosts"}
    assert completed(r.stdout, "trimtab", "plan", "--state", "=", "/etc/host") >= {"/etc/hosts"}


def test_completion__every_flag_of_help_is_offered():
    script = run("completion", "bash").stdout
    for command in COMMANDS:
        flags = {f + ("=" if value else "") for f, value in
                 re.findall(r"(--[a-z-]+)(=)?", run(command, "--help").stdout.split("\nFlags:\n")[1])
                 if not f.startswith("--cloud-provider") or value}
        offered = completed(script, "trimtab", command, "--")
        assert {f for f in flags if f != "--provider-plugin-dir"} <= offered, (command, flags - offered)


def test_completion__zsh_and_fish():
    assert "bashcompinit" in run("completion", "zsh").stdout
    fish = run("completion", "fish").stdout
    assert "-l state -r -d 'the cloud as a saved state, in place of the live one'" in fish
    assert "the provider\\'s configuration file" in fish


# --- check-config ----------------------------------------------------------------------------------------------

def check(folder, text, *args):
    with open(os.path.join(folder, "gce.conf"), "w", encoding="utf-8") as f:
        f.write(text)
    return run("check-config", "--cloud-provider=gce", "--cloud-config=gce.conf", *args, cwd=folder)


def test_check_config__fine_findings_and_faults():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        r = check(w.folder, "[global]\nproject-id = p\nnode-tags = t\n")
        assert (r.returncode, r.stdout, r.stderr) == (0, "gce.conf: fine\n", ""), r
        slip = "[global]\nproject-id = p\nnode-tags = t\nsubnetwrk-name = x\n"
        text = 'gce.conf:4: unknown key "subnetwrk-name" in [global]; did you mean "subnetwork-name"?'
        r = check(w.folder, slip)
        assert r.returncode == 0 and f"warning: {text}\n" in r.stdout, r
        assert check(w.folder, slip, "--strict").returncode == 2
        r = check(w.folder, slip, "--strict", "-o", "json")
        answer = json.loads(r.stdout)
        assert r.returncode == 2 and answer["starts"] is True and answer["config"] == "gce.conf", r
        where, message = text.split(": ", 1)
        assert answer["findings"] == [{"severity": "warning", "where": where, "message": message}], answer
        told = check(w.folder, "[global]\nproject-id = p\n", "--strict")  # what needs no change is no finding
        assert told.returncode == 0 and told.stdout.startswith("info: no node-tags"), told
        r = check(w.folder, "[global]\nregional = maybe\n")
        assert r.returncode == 1 and r.stderr.startswith("error: gce.conf:2"), r
        r = check(w.folder, "[global]\nregional = maybe\n", "-o", "json")
        assert r.returncode == 1 and json.loads(r.stdout)["starts"] is False, r
        assert "regional" in json.loads(r.stdout)["error"], r


# --- plan --------------------------------------------------------------------------------------------------

def shape(answer):
    """interfaces.md: members and types of plan -o json."""
    assert set(answer) == {"format_version", "services", "summary"}, answer.keys()
    assert set(answer["summary"]) >= {"create", "change", "delete", "waves", "calls"}
    assert all(isinstance(v, int) for v in answer["summary"].values())
    counted = {"create": 0, "change": 0, "delete": 0, "keep": 0}
    for s in answer["services"]:
        assert isinstance(s["service"], str) and "/" in s["service"]
        assert s["address"] is None or isinstance(s["address"], str)
        assert all(isinstance(b, str) for b in s["because"])
        for op in s["operations"] or []:
            assert {"n", "verb", "kind", "name", "wave", "why", "owners", "fields"} <= set(op), op
            assert isinstance(op["n"], int) and isinstance(op["wave"], int)
            counted[op["verb"]] += 1
            assert all(set(f) == {"path", "old", "new"} for f in op["fields"]), op
            assert all("/" in o for o in op["owners"])
    names = [s["service"] for s in answer["services"]]
    assert names == sorted(names)
    return counted


def test_plan__new_service_from_a_manifest():
    with Cluster(PROGRAMS, "--nodes=6") as w:
        w.write("web.yaml", manifest("web"))
        before = w.frozen()
        r = w.cli("plan", "-f", "web.yaml")
        assert r.returncode == 2 and r.stderr == "", r
        fits(r.stdout)
        assert r.stdout.startswith("Service default/web  external, target pool, us-central1\n  because  ")
        assert "the cluster does not have it yet" in r.stdout
        assert re.search(r"^ +1  \+ address +a\w{31} ", r.stdout, re.M), r.stdout
        assert re.search(r"Plan: 6 to create \(the reservation is given back at the end\), in 4 waves \(\d+ calls\)\. Nothing "
                         r"has been changed\.$", " ".join(r.stdout.split())), r.stdout
        assert "6 instances in 3 zones" in r.stdout
        answer = json.loads(w.cli("plan", "-f", "web.yaml", "-o", "json").stdout)
        counted = shape(answer)
        assert {k: answer["summary"][k] for k in ("create", "change", "delete")} == \
            {k: counted[k] for k in ("create", "change", "delete")} == {"create": 6, "change": 0, "delete": 1}
        assert w.cli("plan", "-f", "web.yaml").stdout == r.stdout   # the same bytes every time
        assert w.frozen() == before and w.mutations() == {} and w.service_writes() == {}


def test_plan__several_documents_files_and_stdin():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        two = manifest("b") + "---\n" + manifest("a", spec="  externalTrafficPolicy: Local\n")
        w.write("two.yaml", two)
        w.write("one.json", {"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "c", "namespace": "default"},
             "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}, {"kind": "ConfigMap"}]})
        r = w.cli("plan", "-f", "two.yaml", "-f", "one.json", "-o=json")
        answer = json.loads(r.stdout)
        shape(answer)
        assert r.returncode == 2
        assert [s["service"] for s in answer["services"]] == ["default/a", "default/b", "default/c"]
        piped = w.cli("plan", "-f", "-", "-o=json", stdin=two)
        assert [s["service"] for s in json.loads(piped.stdout)["services"]] == ["default/a", "default/b"], piped
        local = answer["services"][0]
        assert any("GET :30000/healthz" in (op.get("summary") or "") for op in local["operations"]), local
        assert any("health check's port" in b for b in local["because"]), local
        r = w.cli("plan", "-f", "-", stdin="kind: Pod\n")
        assert r.returncode == 1 and r.stderr == "error: standard input: no object of kind Service in it\n", r
        r = w.cli("plan", "-f", "absent.yaml")
        assert r.returncode == 1 and r.stderr == "error: stat absent.yaml: no such file or directory\n", r


def test_plan__synced_edited_deleted():
    with Cluster(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.create("web")
        address = w.until_made("web")
        w.until("it is done", lambda: w.logged('"Synced"'))
        w.stop()
        r = w.cli("plan")
        assert r.returncode == 0 and r.stdout == \
            f"Service default/web  {address}  up to date (5 resources checked).\n", r
        r = w.cli("plan", "default/web", "-v")
        assert r.returncode == 0 and re.search(r"^ +=  ?firewall|^ +. +=", r.stdout, re.M), r.stdout
        kept = json.loads(w.cli("plan", "-o=json", "-v").stdout)
        assert shape(kept)["keep"] == 5, kept
        edit = manifest("web", spec="  selector: {app: web}\n  loadBalancerSourceRanges: [10.0.0.0/8]\n")
        before = w.frozen()
        w.forget_calls()
        r = w.cli("plan", "-f", "-", stdin=edit)
        assert r.returncode == 2 and "Plan: 0 to create, 1 to change, 0 to delete, in 1 wave" in r.stdout, r
        assert re.search(r"sourceRanges +- 0\.0\.0\.0/0\n +\+ 10\.0\.0\.0/8", r.stdout), r.stdout
        assert f"  {address}\n" in r.stdout and "The address stays." in r.stdout, r.stdout
        fits(r.stdout)
        assert w.mutations() == {} and w.service_writes() == {} and w.frozen() == before
        w.delete("web")
        r = w.cli("plan")
        assert r.returncode == 2 and "to delete" in r.stdout, r
        answer = json.loads(w.cli("plan", "-o", "json").stdout)
        assert shape(answer)["delete"] >= 4 and answer["summary"]["create"] == 0, answer


def test_plan__deletion_is_seen_as_the_controller_sees_it():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.start()
        w.create("ours")
        w.until_made("ours")
        w.until("it is done", lambda: w.logged('"Synced"'))
        w.stop()
        w.patch("ours", {"metadata": {"finalizers": ["gke.networking.io/l4-netlb-v1"]}})   # the provider's own
        w.create("never", {"finalizers": ["example.com/theirs"]})    # deleted before anybody served it
        for name in ("ours", "never"):
            w.delete(name)
        plan = {s["service"]: s for s in json.loads(w.cli("plan", "-o", "json").stdout)["services"]}
        assert {op["verb"] for op in plan["default/ours"]["operations"]} == {"delete"}, plan
        never = json.loads(w.cli("plan", "never", "-o", "json").stdout)["services"][0]
        assert not {op["verb"] for op in never["operations"]} & {"create", "change"}, never
        assert w.cli("explain", "never").stdout == "default/never is being deleted: its load balancer is taken away.\n"


def test_plan__refused_service_is_exit_1_and_the_others_are_planned():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.create("bad", {"annotations": {"cloud.google.com/network-tier": "Gold"}})
        w.create("good")
        r = w.cli("plan")
        assert r.returncode == 1, r
        assert "Service default/bad" in r.stdout and re.search(r'! .*Gold', r.stdout), r.stdout
        assert "Service default/good  external" in r.stdout and "1 Service cannot be planned." in " ".join(r.stdout.split())
        answer = json.loads(w.cli("plan", "-o", "json").stdout)
        bad = answer["services"][0]
        assert bad["service"] == "default/bad" and "Gold" in bad["error"]["message"], bad
        w.create("inner", {"annotations": {"cloud.google.com/l4-rbs": "enabled"}})
        assert w.cli("plan", "inner").returncode == 0   # another controller's is nothing to do, and no error


def members(value, path=""):
    """Where there is something other than an object or a list: {"services[].address", …}."""
    if isinstance(value, dict):
        return set().union(*(members(v, f"{path}.{k}" if path else k) for k, v in value.items()))
    if isinstance(value, list):
        return set().union(*(members(v, f"{path}[]") for v in value))
    return {path}


def documented(section, prefix=""):
    """The members that a section of docs/interfaces.md names in the first column of its table."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "interfaces.md")
    with open(page, encoding="utf-8") as f:
        text = f.read().split(f"\n## {section}\n")[1].split("\n## ")[0]
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith(f"| {prefix}")]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


def test_json__every_member_is_on_the_page_and_every_one_on_the_page_is_there():
    with Cluster(PROGRAMS, "--nodes=2") as w:
        w.start()
        w.create("web")
        address = w.until_made("web")
        w.until("it is done", lambda: w.logged('"Synced"'))
        assert w.logged('detail="TCP 80-80 → pool"')     # a line of the log says which port
        w.stop()
        w.create("bad", {"annotations": {"cloud.google.com/network-tier": "Gold"}})
        w.create("inner", {"annotations": {"cloud.google.com/l4-rbs": "enabled"}})
        w.create("new", {"annotations": {"cloud.google.com/network-teir": "Standard"}})
        w.patch("web", {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}})
        w.must("PATCH", "/api/v1/nodes/node-1", {"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler",
                                                                       "effect": "NoSchedule"}]}},
               content_type="application/merge-patch+json")
        plan = json.loads(w.cli("plan", "-o", "json").stdout)
        assert [s["address"] for s in plan["services"]] == [None, None, None, address], plan
        sometimes = {"services[].operations", "services[].operations[].after[]", "services[].operations[].sent_after",
                     "services[].operations[].n_owners", "services[].left[]"}
        assert members(plan) | sometimes == documented("trimtab plan -o json")
        rest = "trimtab explain, check-config and version -o json"
        w.create("lan", {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}})
        slip = "annotation cloud.google.com/network-teir is unknown and has no effect; is cloud.google.com/network-tier meant?"
        assert [s["findings"] for s in plan["services"]][2] == [
            {"reason": "AnnotationIgnored", "field": "cloud.google.com/network-teir", "message": slip}], plan
        assert "\n  ! annotation cloud.google.com/network-teir is unknown" in w.cli("plan", "new").stdout
        explained = [json.loads(w.cli("explain", "web", "bad", "inner", "new", "-o", "json").stdout),
                     json.loads(w.cli("explain", "lan", "--run-l4-controller", "--enable-l4-neg", "-o", "json").stdout)]
        assert [e["warnings"] for e in explained[0] if e["service"] == "default/new"] == [[slip]], explained
        never = {"[].notes[].subject", "[].notes[].text"}   # not of these Services
        never |= {m for m in documented(rest, "explain") if m.startswith("[].inside[]")}   # explain_inside_test.py
        assert set().union(*map(members, explained)) | never == documented(rest, "explain")
        checks = []
        for content in ("[global]\nregional = maybe\n", "[global]\nnode-tag = t\n"):
            w.write("gce.conf", content)
            checks.append(json.loads(run("check-config", "--cloud-provider=gce", "--cloud-config=gce.conf", "-o", "json",
                                         cwd=w.folder).stdout))
        assert set().union(*map(members, checks)) == documented(rest, "check-config")
        assert members(json.loads(run("version", "-o", "json").stdout)) == documented(rest, "version")


def test_plan__names_and_slips():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.create("web")
        assert w.cli("plan", "web").stdout == w.cli("plan", "default/web").stdout
        r = w.cli("plan", "default/wep")
        assert (r.returncode, r.stderr) == \
            (1, "error: there is no Service default/wep in the cluster; did you mean default/web?\n"), r


def test_plan__nodes_from_a_file_and_no_cluster():
    with Cluster(PROGRAMS, "--nodes=3") as w:
        nodes = w.must("GET", "/api/v1/nodes")
        nodes["items"] = nodes["items"][:2]
        w.write("nodes.json", nodes)
        w.forget_calls()
        r = w.cli("plan", "--nodes=nodes.json", "-f", "-", stdin=manifest("web"), cluster=False)
        assert r.returncode == 2 and "2 instances in 2 zones" in r.stdout, r
        assert w.calls()["kubernetes"] == {}, w.calls()
        assert w.mutations() == {}


def test_plan__saved_state_in_place_of_the_cloud():
    with Cluster(PROGRAMS, "--nodes=3") as w:
        w.start()
        w.create("web")
        w.until_made("web")
        w.until("it is done", lambda: w.logged('"Synced"'))
        w.stop()
        w.write("world.json", w.frozen())
        w.forget_calls()
        r = run("plan", "--cloud-provider=gce", "--cloud-config=conf/gce.conf", "--state=world.json", cwd=w.folder)
        assert r.returncode == 0 and "up to date (5 resources checked)" in r.stdout, r
        edit = manifest("web", spec="  selector: {app: web}\n  sessionAffinity: ClientIP\n")
        r = run("plan", "--cloud-provider=gce", "--cloud-config=conf/gce.conf", "--state=world.json", "-f", "-",
                cwd=w.folder, stdin=edit)
        assert r.returncode == 2 and "CLIENT_IP" in r.stdout, r
        assert set(map(str, w.calls().values())) == {"{}"}, w.calls()
        r = run("plan", "--cloud-provider=gce", "--state=conf/gce.conf", cwd=w.folder)
        assert r.returncode == 1 and "error: conf/gce.conf: line 1" in r.stderr, r


def test_plan__many_services_are_read_in_bulk():
    many = 1000
    with Cluster(PROGRAMS, "--nodes=3", f"--services={many}") as w:
        w.forget_calls()
        before = time.monotonic()
        r = w.cli("plan", "-o", "json")
        took = time.monotonic() - before
        answer = json.loads(r.stdout)
        assert r.returncode == 2 and len(answer["services"]) == many, r.stderr
        shape(answer)
        cloud = w.calls()["gce"]
        print(f"# {many} Services planned in {took:.1f} s with {sum(cloud.values())} reads")
        assert sum(cloud.values()) <= many // 50, cloud
        assert r.stderr == "" and w.mutations() == {}


def test_plan__colour_and_progress_only_on_a_terminal():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        w.create("web")
        argv = [os.path.abspath(PROGRAMS[1]), "plan", "--cloud-provider=gce", f"--cloud-config={w.conf}/gce.conf",
                f"--kubeconfig={w.kubeconfig}"]
        env = {**w.environment(), "TERM": "xterm"}
        assert "\x1b" not in w.cli("plan").stdout
        code, text = on_terminal(argv, env, w.folder)
        assert code == 2 and "\x1b[32m" in text or "\x1b[" in text, text
        for extra, more in (([], {"NO_COLOR": "1"}), (["--no-color"], {})):
            code, plain = on_terminal(argv + extra, {**env, **more}, w.folder)
            assert code == 2 and "\x1b[3" not in plain, plain
        w.fault(match={"api": "kubernetes", "op": "services.list"}, do="delay", ms=2500, count=1)
        code, text = on_terminal(argv, env, w.folder)
        assert code == 2 and re.search(r"reading the cluster, \d s\r\x1b\[K", text), text
        w.fault(match={"api": "kubernetes", "op": "services.list"}, do="delay", ms=2500, count=1)
        assert w.cli("plan").stderr == ""


def test_plan__provider_that_cannot_plan():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        with open(os.path.join(w.folder, "pool.conf"), "w", encoding="utf-8") as f:
            f.write("cidr = 192.0.2.0/28\n")
        w.create("web")
        w.create("gone", {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]})
        w.delete("gone")
        pool = ["--cloud-provider=pool", f"--provider-plugin-dir={PLUGINS}", f"--cloud-config={w.folder}/pool.conf",
                f"--kubeconfig={w.kubeconfig}"]
        r = run("plan", *pool)
        assert r.returncode == 2, r
        assert ("Service default/web\n  a sync would call EnsureLoadBalancer because it is of type LoadBalancer; "
                "the provider pool cannot say more\n") in r.stdout, r.stdout
        assert r.stdout.endswith("\n\nPlan: 2 Services would be synced. Nothing has been changed.\n"), r.stdout
        assert "EnsureLoadBalancerDeleted because it is being deleted" in r.stdout
        answer = json.loads(run("plan", *pool, "-o", "json").stdout)
        shape(answer)
        assert [s["operations"] for s in answer["services"]] == [None, None]
        r = run("explain", "web", *pool)
        assert r.returncode == 0 and r.stdout == (
            "default/web gets an address of the pool.\n"
            "  spec.loadBalancerIP          not set          → the first that is free\n"), r
        assert json.loads(run("explain", "web", *pool, "-o", "json").stdout)[0]["kind"] == "address of the pool"
        r = run("explain", "-f", "-", *pool, stdin=manifest("far", spec="  loadBalancerIP: 192.0.2.250\n"))
        assert r.returncode == 0 and r.stdout.startswith("default/far is refused: "), r
        r = run("check-config", *pool[:3])
        assert r.returncode in (0, 1), r
        assert w.service_writes() == {"services.create": 2, "services.delete": 1}
        w.create("foreign", {}, loadBalancerIP="203.0.113.1")
        r = run("plan", "foreign", *pool)
        assert r.returncode == 1 and "Service default/foreign\n  ! spec.loadBalancerIP is not in the pool: 203.0.113.1" in r.stdout, r
        answer = json.loads(run("plan", "foreign", *pool, "-o", "json").stdout)
        shape(answer)
        assert "not in the pool" in answer["services"][0]["error"]["message"], answer
        r = run("explain", "foreign", *pool)
        assert r.stdout.startswith("default/foreign is refused: spec.loadBalancerIP is not in the pool: 203.0.113.1.\n"), r


# --- explain ------------------------------------------------------------------------------------------------

def test_explain__rule_nodes_and_path():
    with Cluster(PROGRAMS, "--nodes=3") as w:
        w.create("web")
        w.must("PATCH", "/api/v1/nodes/node-1", {"metadata": {"labels": {
            "node.kubernetes.io/exclude-from-external-load-balancers": ""}}},
               content_type="application/merge-patch+json")
        r = w.cli("explain", "web")
        assert r.returncode == 0 and r.stderr == "", r
        fits(r.stdout)
        assert r.stdout.startswith("default/web is served by an external load balancer with a target pool.\n")
        assert "Nodes: 2 of 3 take part\n" in r.stdout
        assert re.search(r"^  node-1 +left out +label node.kubernetes.io/exclude", r.stdout, re.M), r.stdout
        answer = json.loads(w.cli("explain", "web", "-o", "json").stdout)
        assert [(n["name"], n["takes_part"]) for n in answer[0]["nodes"]] == \
            [("node-0", True), ("node-1", False), ("node-2", True)], answer
        assert answer[0]["explanation"][0] == r.stdout.splitlines()[0]
        said = answer[0]
        assert (said["provider"], said["class"], said["verdict"], said["kind"]) == \
            ("gce", None, "served", "external load balancer with a target pool"), said
        assert said["answer"] == "is served by an external load balancer with a target pool.", said
        assert {"subject": "load-balancer-type", "value": "not set", "outcome": "external"} in said["decisions"], said
        assert said["backends"] == {
            "summary": "2 of 3 take part", "taking_part": 2, "of": 3, "rule": None, "zones": [], "left_out": [
                {"node": "node-1", "reason": "label node.kubernetes.io/exclude-from-external-load-balancers"}]}, said
        assert [(hop["at"], hop["name"], hop["port"]) for hop in said["packet"]] == [
            ("client", "client", None), ("load balancer", None, 80), ("backend", "any of 2 instances", 80),
            ("node", "kube-proxy", None), ("pod", "a pod", None)], said
        assert said["health_check"] == {"protocol": "HTTP", "port": 10256, "path": "/healthz", "interval_ms": 8000}, said
        w.create("inner", {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}})
        r = w.cli("explain", "inner")
        assert r.returncode == 0 and r.stdout.startswith(
            "default/inner is served by an internal load balancer with instance groups.\n"), r
        assert re.search(r"^  subsetting +off +→ instance groups$", r.stdout, re.M), r.stdout
        fits(r.stdout)
        r = w.cli("explain", "inner", "--run-l4-controller", "--enable-l4-neg")
        assert r.stdout.startswith("default/inner is served by an internal load balancer with GCE_VM_IP NEGs.\n"), r
        assert re.search(r"^  subsetting +on +→ GCE_VM_IP NEGs$", r.stdout, re.M), r.stdout
        assert "Nodes: 2 of 3 are members of the NEGs, one NEG per zone\n" in r.stdout, r
        fits(r.stdout)
        assert json.loads(w.cli("explain", "inner", "-o", "json").stdout)[0].keys() == \
            {"format_version", "service", "explanation", "nodes", "provider", "class", "verdict", "kind", "answer",
             "addresses", "decisions", "backends", "packet", "health_check", "notes", "warnings", "inside"}
        r = w.cli("explain", "wep")
        assert r.returncode == 1 and "did you mean default/web?" in r.stderr, r
        assert w.mutations() == {}


def test_explain__without_a_load_balancer__only_what_matters():
    with Cluster(PROGRAMS, "--nodes=3") as w:
        w.create("plain", type="ClusterIP")
        w.create("mixed", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}])
        w.create("other", loadBalancerClass="example.com/fast")
        for name, first in (("plain", "default/plain is of type ClusterIP: it gets no load balancer."),
                            ("mixed", "default/mixed is refused: mixed protocol is not supported for LoadBalancer."),
                            ("other", "default/other is served by another controller (loadBalancerClass).")):
            r = w.cli("explain", name)
            assert r.returncode == 0 and r.stderr == "" and r.stdout.splitlines()[0] == first, r
            assert not re.search("^(Nodes|Packet|Health)", r.stdout, re.M), r.stdout
            answer = json.loads(w.cli("explain", name, "-o", "json").stdout)[0]
            assert answer["nodes"] == [] and answer["explanation"][0] == first, answer
            assert ("error" in answer) == (name == "mixed"), answer
            verdict = {"plain": "none", "mixed": "refused", "other": "elsewhere"}[name]
            assert (answer["verdict"], answer["backends"], answer["packet"]) == (verdict, None, []), answer
            assert f"default/{name} {answer['answer']}" == first, answer


# --- trouble ------------------------------------------------------------------------------------------------

def test_trouble__what_to_do_is_said():
    with Cluster(PROGRAMS, "--nodes=1") as w:
        conf = [f"--cloud-config={w.conf}/gce.conf"]
        r = run("plan", "--cloud-provider=gce", *conf, "--kubeconfig=/nonexistent")
        assert r.returncode == 1 and "/nonexistent" in r.stderr, r
        r = run("plan", "--cloud-provider=gce", *conf)
        assert r.returncode == 1 and "name a cluster with --kubeconfig=FILE, or do without one" in r.stderr, r
        r = w.cli("plan", "--cloud-config=/nonexistent")
        assert r.returncode == 1 and "error: --cloud-config: stat /nonexistent: no such file" in r.stderr, r
        w.forget_calls()
        w.fault(match={"api": "kubernetes", "op": "nodes.list"}, do="refuse", status=403, count=0)
        r = w.cli("plan")
        assert r.returncode == 1 and "error: reading the cluster: failed to list *v1.Node" in r.stderr, r
        assert w.calls()["kubernetes"]["nodes.list"] == 1, w.calls()        # a refusal is final
        w.heal()
        w.write("kc", re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", open(w.kubeconfig, encoding="utf-8").read()))
        before = time.monotonic()
        r = run("plan", "--cloud-provider=gce", *conf, "--kubeconfig=kc", env=w.environment(), cwd=w.folder)
        assert r.returncode == 1 and "cannot reach the API server http://127.0.0.1:1" in r.stderr, r
        assert 'check the server address in kc, context "sim"' in r.stderr, r
        assert time.monotonic() - before < 30


if __name__ == "__main__":
    assert glob.glob(os.path.join(PLUGINS, "pool.so")), PLUGINS
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
