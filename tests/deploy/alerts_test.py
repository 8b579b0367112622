#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The alerts by Prometheus' own rule engine: `promtool test rules`, one row after another of alert_cases.py.

    alerts_test.py SOURCE BUILD [ALERT…]     (TAP on stdout)

promtool is the one of TRIMTAB_PROMTOOL, of BUILD/tools (scripts/lib/setup.sh unpacks it there), or of the PATH; without it the
rows are skipped.  The rest is checked without it: each alert has rows that fire and rows that are silent.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import promtool  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from alert_cases import CASES, MINUTES  # noqa: E402  pylint: disable=wrong-import-position

try:
    import yaml
except ImportError:
    sys.exit(tap.skip("python3-yaml is not installed"))

SOURCE, BUILD = sys.argv[1:3]
RULES = os.path.join(SOURCE, "deploy", "helm", "trimtab", "files", "alerts.yaml")


def rules():
    with open(RULES, encoding="utf-8") as f:
        return {rule["alert"]: rule for rule in yaml.safe_load(f)["groups"][0]["rules"]}


def quiet(rule):
    """The rule with nothing to print: promtool compares annotations, too, and these are texts for people."""
    return {**{k: v for k, v in rule.items() if k != "annotations"}}


def document(alert, rule, rows):
    """The input of `promtool test rules`, for one alert."""
    return {
        "rule_files": [f"{alert}.rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{
            "name": name,
            "interval": "1m",
            "input_series": [{"series": s, "values": v} for s, v in series.items()],
            "alert_rule_test": [{
                "eval_time": f"{minute}m", "alertname": alert,
                "exp_alerts": [{"exp_labels": {**labels, **rule["labels"]}} for labels in fire],
            } for minute, fire in checks],
        } for name, series, checks in rows],
    }


def run_row(program, alert, rule, row):
    """Lines that say what is wrong."""
    with tempfile.TemporaryDirectory(prefix="trimtab-alerts-") as folder:
        with open(os.path.join(folder, f"{alert}.rules.yaml"), "w", encoding="utf-8") as f:
            json.dump({"groups": [{"name": "trimtab", "rules": [quiet(rule)]}]}, f)
        path = os.path.join(folder, "test.yaml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(document(alert, rule, [row]), f)
        done = subprocess.run([program, "test", "rules", path], capture_output=True, text=True, check=False, timeout=120)
        return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


def check_rows(report, alert, rows):
    """Checks that need no promtool."""
    fires = [name for name, _, checks in rows if any(fire for _, fire in checks)]
    silent = [name for name, _, checks in rows if not any(fire for _, fire in checks)]
    names = [name for name, *_ in rows]
    wrong = [] if fires and silent else [f"rows that fire: {fires}; that stay silent: {silent}"]
    wrong += [f"two rows are called {n}" for n in set(names) if names.count(n) > 1]
    wrong += [f"{n}: minute {m} is not looked at" for n, _, checks in rows for m, _ in checks if m > MINUTES]
    report.check(f"{alert}: rows that fire and rows that do not", wrong)


def check_labels(report, alert, rule):
    """An alert is about one installation: what it adds up, it adds up by cluster, namespace and job."""
    sums = re.findall(r"\b(?:sum|min|max|group|count|avg)\s*(by)?\s*(\([^)]*\))", rule["expr"])
    wrong = [f"{by} {labels} loses cluster, namespace or job" for by, labels in sums
             if not by or not {"cluster", "namespace", "job"} <= set(re.findall(r"\w+", labels))]
    report.check(f"{alert}: by cluster, namespace and job", wrong)


def main():
    report, found, program = tap.Report(), rules(), promtool.find(BUILD)
    report.check("each alert has its rows", [f"{a} is in one of both only" for a in set(found) ^ set(CASES)])
    for alert in sys.argv[3:] or CASES:
        check_rows(report, alert, CASES[alert])
        check_labels(report, alert, found[alert])
        for row in CASES[alert]:
            if program is None:
                report.check(f"{alert}: {row[0]}", more=f"SKIP {promtool.ABSENT}")
            else:
                report.check(f"{alert}: {row[0]}", run_row(program, alert, found[alert], row))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
