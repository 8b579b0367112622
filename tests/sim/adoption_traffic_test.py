#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to Azure and their answers while trimtab takes over, builds, edits and dismantles the recorded worlds.

    adoption_traffic_test.py DATA AZURE_TEST…      (TAP on stdout)

Plays azure_adoption.c and azure_traces.c once more with their calls logged; check_traffic.py judges every log, requests and answers alike.
The last line shows that the logs hold the writes that building, editing and deleting take.  Without python3-jsonschema the test is skipped.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

DATA, PROGRAM, FILES = sys.argv[1], sys.argv[2], sys.argv[3:]
LOGS = {f"{life}.log" for life in (
    "adopt-world-nic", "adopt-world-node-ip", "adopt-world-availability-sets",
    "build-world-nic", "build-world-nic-in-turn", "build-world-node-ip", "build-world-node-ip-in-turn",
    "build-world-availability-sets-in-turn", "edits-nic", "edits-nic-in-turn", "traces")}
# Kinds of resources that must have been written, and how.
WRITTEN = {"PUT loadBalancers", "PUT backendAddressPools", "PUT publicIPAddresses", "PUT networkSecurityGroups",
           "PUT networkInterfaces", "PUT virtualMachines", "DELETE publicIPAddresses",
           "DELETE loadBalancers"}


def judge(path):
    checker = os.path.join(DATA, "schemas", "check_traffic.py")
    run = subprocess.run([sys.executable, checker, path], capture_output=True, text=True, check=False)
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1], lines[:-1] if run.returncode else []


def written(path):
    with open(path, encoding="utf-8") as f:
        entries = [json.loads(line) for line in f]
    return {f"{e['method']} {e['path'].partition('?')[0].split('/')[-2]}" for e in entries if e["method"] != "GET"}


def main():
    try:
        import jsonschema  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        return tap.skip("python3-jsonschema is not installed")
    report = tap.Report()
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            subprocess.run([PROGRAM, name], env={**os.environ, "TRIMTAB_ADOPTION_LOGS": folder}, capture_output=True, check=False)
        names = sorted(os.listdir(folder))
        report.check(f"{len(names)} lives are logged", sorted(LOGS - set(names)))
        seen = set()
        for name in names:
            path = os.path.join(folder, name)
            last, wrong = judge(path)
            report.check(f"{name}: {last}", wrong)
            seen |= written(path)
        report.check(f"{len(seen)} kinds of writes were made", sorted(WRITTEN - seen))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
