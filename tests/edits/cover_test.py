#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every field and annotation that the documents promise is tried by fault-edits, each with more than good values somewhere.

    cover_test.py FAULT-EDITS DOCS-FOLDER

The reference tables of docs/providers are printed from the providers' own; here they are compared with `fault-edits --list`.
What is never tried is printed, and is a failure unless UNTRIED says why."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

# Keys of documents that no edit of a Service can be about, or that need another cluster than the sweep has.
UNTRIED = {
    "gce": {
        "networking.gke.io/custom-forwarding-rule": "NEGs without a load balancer of ours",
        "networking.gke.io/target-pool": "written by us",
        "networking.gke.io/backend-service": "written by us",
        "cloud.google.com/neg-status": "written by us",
        "alpha.cloud.google.com/load-balancer-backend-share": "an older name",
        "cloud.google.com/load-balancer-type": "an older name",
    },
    "azure": {},
    "aws": {},
}
SPEC = ("ports", "loadBalancerIP", "loadBalancerSourceRanges", "sessionAffinity", "externalTrafficPolicy", "loadBalancerClass",
        "allocateLoadBalancerNodePorts", "internalTrafficPolicy", "type")


def tried(program):
    """{cloud: {field: {nature}}}"""
    lines = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {"gce": {}, "azure": {}, "aws": {}}
    for line in lines:
        nature, kind, *rest = line.split(None, 3)
        if nature != "fault":
            names = [rest[0]] if rest[0] != "spec" else ["spec." + key for key in json.loads(rest[1])]
            for name in names:
                found[kind.split("-")[0]].setdefault(name, set()).add(nature)
    return found


def promised(docs, cloud):
    """Keys in the first column of the reference tables."""
    text = open(os.path.join(docs, f"{cloud}.md"), encoding="utf-8").read()
    keys = set()
    for row in re.findall(r"^\| (`[^|]*) \|", text, re.M):
        for name in re.findall(r"`([^`]+)`", row):
            name = name.replace("<port>", "80")
            if cloud == "aws" and re.fullmatch(r"[a-z0-9-]+", name) and f"`{name}` | " in text.split("<!-- annotations: end")[0]:
                keys.add("service.beta.kubernetes.io/aws-load-balancer-" + name)
            elif cloud == "azure" and re.match(r"azure-|port_80_|load-balancer-source-ranges$", name):
                keys.add("service.beta.kubernetes.io/" + name)
            elif cloud == "gce" and re.match(r"(alpha\.)?(cloud\.google\.com|networking\.gke\.io)/(?!l4-regional|standalone)[a-z]", name):
                keys.add(name)
    return keys


def main():
    program, docs = sys.argv[1:3]
    report = tap.Report()
    found = tried(program)
    for cloud, fields in found.items():
        wrong = [f"{cloud}: {key} is never tried" for key in sorted(promised(docs, cloud))
                 if key not in fields and key not in UNTRIED[cloud]]
        wrong += [f"{cloud}: {key} is tried: take it out of UNTRIED" for key in UNTRIED[cloud] if key in fields]
        report.check(f"{cloud}: every annotation of the document is tried", wrong)
        report.check(f"{cloud}: every field of the spec is tried",
                     [f"{cloud}: spec.{name} is never tried" for name in SPEC if f"spec.{name}" not in fields])
        natures = set().union(*fields.values())
        report.check(f"{cloud}: good, bad, impossible and blank values, and other case",
                     [f"{cloud}: no {n} value" for n in ("good", "bad", "impossible", "blank", "case") if n not in natures])
    sys.exit(report.end())


if __name__ == "__main__":
    main()
