#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts and dashboard: each metric and label that they name is on docs/metrics.md, and they are about one installation each.

    monitoring_test.py TREE BUILD     (TAP on stdout)

docs/metrics.md is printed from the tables of the program (serve-docs), and compared with what a running one serves
(sim-served-CLOUD): what is named there is served.  When alerts fire: alerts_test.py.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import promtool  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import tree  # noqa: E402  pylint: disable=wrong-import-position
from metrics_page import metrics_of  # noqa: E402  pylint: disable=wrong-import-position

try:
    import yaml
except ImportError:
    sys.exit(tap.skip("python3-yaml is not installed"))

TREE, BUILD = sys.argv[1:3]
FILES = os.path.join("deploy", "helm", "trimtab", "files")
TARGET = {"cluster", "namespace", "job", "instance", "pod"}    # of scrape targets, as operators set them
VARIABLES = {"job", "cluster", "namespace", "instance"}


def read(*path):
    return tree.read(TREE, *path)


def known():
    """{metric: (type, labels)}"""
    return {"up": ("gauge", set()), **metrics_of(read("docs", "metrics.md"))}


def alerts():
    return [rule for group in yaml.safe_load(read(FILES, "alerts.yaml"))["groups"] for rule in group["rules"]]


def board():
    return json.loads(read(FILES, "dashboard.json"))


def panels():
    return [p for p in board()["panels"] if p["type"] != "row"]


def expressions():
    """(name, expression) of alerts and panels."""
    return [*((r["alert"], r["expr"]) for r in alerts()), *((p["title"], t["expr"]) for p in panels() for t in p["targets"])]


def faults_of(expr, metrics):
    """The faults of the metrics and labels of an expression."""
    wrong, labels = [], set(TARGET)
    selectors = re.findall(r"([a-z_][a-z0-9_]*)\{([^}]*)\}(\[[^]]*\])?", expr)
    for name, inside, _ in selectors:
        base = re.sub("_(bucket|sum|count)$", "", name) if name not in metrics else name
        kind, own = metrics.get(base, (None, set()))
        if kind is None or (base != name) != (kind == "histogram"):
            wrong.append(f"{name} is not a metric of the program")
        own = own | TARGET | ({"le"} if kind == "histogram" else set())
        wrong += [f"{name} has no label {label}" for label in re.findall(r"([a-z_]+)\s*[!=]", inside) if label not in own]
        if 'job="trimtab"' not in inside and 'job=~"$job"' not in inside:
            wrong.append(f"{name} is not bound to the job")
        labels |= own
        if kind == "gauge" and re.search(r"\b(?:rate|increase)\(" + re.escape(name), expr):
            wrong.append(f"{name} is a gauge, and its rate is asked for")
    for listed in re.findall(r"\b(?:by|on) \(([^)]*)\)", expr):
        wrong += [f"no metric here has the label {label}" for label in re.findall(r"\w+", listed) if label not in labels]
    return wrong if selectors else ["it names no metric"]


def test_metrics_and_labels__are_those_of_the_page():
    metrics = known()
    wrong = [f"{name}: {fault}" for name, expr in expressions() for fault in faults_of(expr, metrics)]
    assert not wrong, "\n".join(wrong)


def test_the_check_itself__finds_faults():
    metrics = known()
    for expr, words in (('sum by (kind) (rate(no_such_total{job="trimtab"}[5m]))', "not a metric"),
                        ('sum(rate(trimtab_syncs_total{job="trimtab", odd="y"}[5m]))', "no label odd"),
                        ('sum by (kind) (rate(trimtab_syncs_total{job="trimtab"}[5m]))', "has the label kind"),
                        ('rate(trimtab_syncs_total{verb="x"}[5m])', "not bound"),
                        ('trimtab_syncs_total_bucket{job="trimtab"}', "not a metric"),
                        ('rate(workqueue_depth{job="trimtab"}[5m])', "is a gauge"), ("vector(1)", "names no metric")):
        assert any(words in fault for fault in faults_of(expr, metrics)), (expr, faults_of(expr, metrics))


def test_alerts__are_whole_and_each_has_its_section():
    sections = set(re.findall(r"(?m)^### (Trimtab\w+)$", read("docs", "operations.md")))
    assert sections == {rule["alert"] for rule in alerts()}, sections ^ {rule["alert"] for rule in alerts()}
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning"), rule
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}, rule
        assert f"docs/operations.md#{rule['alert'].lower()}" in rule["annotations"]["runbook"], rule
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m")), rule
        named = set(re.findall(r"\$labels\.(\w+)", "".join(rule["annotations"].values())))
        assert named <= TARGET | set(re.findall(r"\w+", rule["expr"])), (rule["alert"], named)


def test_results_in_alerts__are_words_of_the_program():
    words = set(re.findall(r'X\(\w+, \d+, "([a-z-]+)"\)', read("common", "base", "err.h")))
    used = {w for r in alerts() for found in re.findall(r'result!?~?="?~?"([^"]+)"|result!~"([^"]+)"', r["expr"])
            for text in found for w in text.split("|") if w}
    assert len(used) > 5 and used <= words, used - words


def test_dashboard__has_variables_and_every_panel_uses_them():
    variables = {v["name"]: v for v in board()["templating"]["list"]}
    assert set(variables) == {"datasource", *VARIABLES}, set(variables)
    for name in VARIABLES - {"job"}:
        assert variables[name]["includeAll"] and variables[name]["allValue"] == ".*", name  # also where there is no such label
    assert not variables["job"]["includeAll"]  # all jobs would be every program of the cluster
    metrics = known()
    for v in variables.values():
        for name in re.findall(r"label_values\((\w+)", v.get("definition", "")):
            assert name in metrics, (v["name"], name)
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        for target in panel["targets"]:
            for selector in re.findall(r"\{([^}]*)\}", target["expr"]):
                missing = [n for n in VARIABLES if f'{n}=~"${n}"' not in selector]
                assert not missing, (panel["title"], missing)
            sums = re.findall(r"\b(?:sum|max|min|count)\b([^{]*)", target["expr"])
            assert all("by (cluster, namespace" in s for s in sums), (panel["title"], target["expr"])
            assert target["legendFormat"].startswith("{{cluster}} {{namespace}} "), panel["title"]


def test_dashboard__has_a_panel_for_each_place():
    ids = [p["id"] for p in board()["panels"]]
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board()["panels"]]
    assert len(set(ids)) == len(ids) and len(set(places)) == len(places)
    assert all(p["gridPos"]["x"] + p["gridPos"]["w"] <= 24 for p in board()["panels"])
    assert all(t["expr"].count("(") == t["expr"].count(")") for p in panels() for t in p["targets"])


def test_manifests__hold_what_the_chart_holds():
    rule = yaml.safe_load(read("deploy", "manifests", "monitoring", "prometheusrule.yaml"))
    assert [r for g in rule["spec"]["groups"] for r in g["rules"]] == alerts()
    shown = yaml.safe_load(read("deploy", "manifests", "monitoring", "dashboard.yaml"))
    assert json.loads(shown["data"]["trimtab.json"]) == board()


def test_promtool__takes_the_alerts_and_each_expression_of_the_dashboard():
    program = tap.need(promtool.find(BUILD), promtool.ABSENT)
    tree.run(program, "check", "rules", os.path.join(TREE, FILES, "alerts.yaml"))
    rules = [{"record": f"panel:{i}", "expr": expr.replace("$__rate_interval", "5m")}
             for i, (_, expr) in enumerate(expressions())]
    path = os.path.join(BUILD, "dashboard-rules.yaml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, f)
    tree.run(program, "check", "rules", path)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
