#!/usr/bin/env python3
"""Compares trimtab-eval with the answers of upstream's Go code (TAP, one test per function).

    eval_test.py TRIMTAB_EVAL SAMPLES.jsonl DEVIATIONS.json

DEVIATIONS names the samples on which we differ on purpose: {"<id>": "row of docs/deviations.md"}, and the functions
that are not built: {"unsupported": ["prefix", …]}, or not for answers that hold some member:
{"unsupported_answers": {"function": "member"}}.  A listed sample that agrees is an error, too: the list stays true.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position


def same(a, b):
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def verdict(case, answer):
    """None when they agree, else what differs."""
    if answer.get("id") != case["id"]:
        return "id %r came back as %r" % (case["id"], answer.get("id"))
    if "error" in case:
        return None if "error" in answer else "upstream refuses, we answer %s" % json.dumps(answer.get("out"))
    if "out" not in answer:
        return "we refuse: %s" % json.dumps(answer)
    return None if same(case.get("out"), answer["out"]) else "want %s, got %s" % (
        json.dumps(case.get("out"), sort_keys=True), json.dumps(answer["out"], sort_keys=True))


def may_be_unsupported(case, known):
    member = known.get("unsupported_answers", {}).get(case["fn"])
    return case["fn"].startswith(tuple(known.get("unsupported", []))) or (
        member is not None and member in case.get("out", {}))


def main(program, samples, deviations):
    with open(deviations, encoding="utf-8") as f:
        known = json.load(f)
    with open(samples, encoding="utf-8") as f:
        lines = [line for line in f if line.strip()]
    run = subprocess.run([program], input="".join(lines).encode(), capture_output=True, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    results = collections.OrderedDict()
    if run.returncode != 0 or len(answers) != len(lines):
        results["the program answers every line"] = ["exit %d, %d answers for %d lines" % (
            run.returncode, len(answers), len(lines))]
        answers += [{}] * (len(lines) - len(answers))
    for line, answer in zip(lines, answers):
        case = json.loads(line)
        bad = results.setdefault(case["fn"], [])
        if answer.get("unsupported") and may_be_unsupported(case, known):
            continue
        what = verdict(case, answer)
        row = known.get("samples", {}).get(str(case["id"]))
        if row is not None and what is None:
            bad.append("id %s agrees, but is listed as a deviation (%s)" % (case["id"], row))
        elif row is None and what is not None:
            bad.append("id %s: %s; in %s" % (case["id"], what, json.dumps(case["in"])[:400]))
    report = tap.Report(len(results))
    for name, bad in results.items():
        report.check(name, bad[:5])
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
